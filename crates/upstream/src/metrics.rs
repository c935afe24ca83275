//! What is counted of upstreams.

use std::time::Duration;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

use crate::{Response, UpstreamError, client::Upstream};

const REQUESTS: &str = "brownstone_upstream_requests_total";
const SECONDS: &str = "brownstone_upstream_request_seconds";
const IN_FLIGHT: &str = "brownstone_upstream_requests_in_flight";
const BREAKERS: &str = "brownstone_upstream_breakers";

/// Tells the recorder what each metric of this crate is.
pub fn describe() {
    describe_counter!(
        REQUESTS,
        Unit::Count,
        "Requests to upstreams, retries within one request not counted, by upstream and outcome: ok (any status that will not pass but 401 and 403), denied (those), timeout, connect, cut, too_large, breaker_open, busy, status, refused."
    );
    describe_histogram!(
        SECONDS,
        Unit::Seconds,
        "Time of a request to an upstream with its retries, by upstream."
    );
    describe_gauge!(IN_FLIGHT, Unit::Count, "Requests under way, by upstream.");
    describe_gauge!(
        BREAKERS,
        Unit::Count,
        "Breakers that are not closed, by upstream and state: open, half_open."
    );
}

pub(crate) fn asked(upstream: &str, outcome: &Result<Response, UpstreamError>, took: Duration) {
    let name = upstream.to_owned();
    let outcome = label(outcome);
    metrics::counter!(REQUESTS, "upstream" => name.clone(), "outcome" => outcome).increment(1);
    metrics::histogram!(SECONDS, "upstream" => name).record(took);
}

fn label(outcome: &Result<Response, UpstreamError>) -> &'static str {
    match outcome {
        // A licence or a key that ran out: an answer, and yet not what was asked for.
        Ok(answer) if matches!(answer.status, 401 | 403) => "denied",
        Ok(_) => "ok",
        Err(UpstreamError::Timeout { .. }) => "timeout",
        Err(UpstreamError::Connect { .. }) => "connect",
        Err(UpstreamError::Cut { .. }) => "cut",
        Err(UpstreamError::TooLarge { .. }) => "too_large",
        Err(UpstreamError::BreakerOpen { .. }) => "breaker_open",
        Err(UpstreamError::Busy { .. }) => "busy",
        Err(UpstreamError::Status { .. }) => "status",
        Err(UpstreamError::Refused { .. }) => "refused",
    }
}

/// Sets the gauges of `upstream`, for whoever is about to read them.
pub fn observe(upstream: &Upstream) {
    let name = upstream.name();
    let in_flight = u32::try_from(upstream.in_flight()).unwrap_or(u32::MAX);
    metrics::gauge!(IN_FLIGHT, "upstream" => name.to_owned()).set(in_flight);
    let breakers = upstream.breakers();
    for state in ["open", "half_open"] {
        let count = breakers
            .iter()
            .filter(|breaker| breaker.state.as_str() == state)
            .count();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        metrics::gauge!(BREAKERS, "upstream" => name.to_owned(), "state" => state).set(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_ran_out_is_no_good_answer() {
        for (status, told) in [
            (200, "ok"),
            (400, "ok"),
            (401, "denied"),
            (403, "denied"),
            (404, "ok"),
        ] {
            let answer = Response {
                status,
                ..Response::default()
            };
            assert_eq!(label(&Ok(answer)), told, "{status}");
        }
    }
}
