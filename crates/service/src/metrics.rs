//! What is counted of calls and jobs.

use std::time::Duration;

use brownstone_domain::{ErrorCode, OPERATIONS, Operation, Surface};
use metrics::{Counter, Histogram, Unit, describe_counter, describe_gauge, describe_histogram};

const CALLS: &str = "brownstone_calls_total";
const SECONDS: &str = "brownstone_call_seconds";
const UNITS: &str = "brownstone_units_charged_total";
const REFUSED: &str = "brownstone_authentications_refused_total";
const IN_FLIGHT: &str = "brownstone_calls_in_flight";
const SHED: &str = "brownstone_calls_shed_total";
const DECISIONS: &str = "brownstone_quota_decisions_total";
const QUOTA_SECONDS: &str = "brownstone_quota_seconds";
const REFUNDS: &str = "brownstone_refunds_total";
const JOBS: &str = "brownstone_job_runs_total";
const JOB_AT: &str = "brownstone_job_last_success_timestamp_seconds";

/// Tells the recorder what each metric of this crate is.
pub fn describe() {
    describe_counter!(
        CALLS,
        Unit::Count,
        "Calls of known callers, by operation, surface (rest, mcp, web) and outcome: ok, or the error's code."
    );
    describe_histogram!(
        SECONDS,
        Unit::Seconds,
        "Time of a call from its body on, whatever its outcome, by operation."
    );
    describe_counter!(UNITS, Unit::Count, "Units charged and kept, by operation.");
    describe_counter!(
        REFUSED,
        Unit::Count,
        "Credentials that were not let in, by code: unauthorized, forbidden, internal_error."
    );
    describe_gauge!(IN_FLIGHT, Unit::Count, "Calls in flight in this process.");
    describe_counter!(
        SHED,
        Unit::Count,
        "Calls turned away since too many were in flight, by the bound that was reached: process, account, waiting (an account's calls that wait for a report), assemblies."
    );
    describe_counter!(
        DECISIONS,
        Unit::Count,
        "Decisions of the budget, by kind: admitted, short (429 with Retry-After), permanent (429 without), unavailable (the store did not answer)."
    );
    describe_histogram!(
        QUOTA_SECONDS,
        Unit::Seconds,
        "Time of a decision of the budget, the store's answer included."
    );
    describe_counter!(
        REFUNDS,
        Unit::Count,
        "Charges given back since the call failed, by result: done, lost."
    );
    describe_counter!(
        JOBS,
        Unit::Count,
        "Runs of daily work on this instance, by task (listings: an area's scan; sales; purge) and result: ok, error."
    );
    describe_gauge!(
        JOB_AT,
        Unit::Seconds,
        "When daily work last succeeded on this instance, Unix time, by task."
    );
}

/// Handles for the path of every call: what costs a look-up by name is done once.
pub(crate) struct Calls {
    of: [OfOperation; OPERATIONS.len()],
    pub admitted: Counter,
    pub short: Counter,
    pub permanent: Counter,
    pub unavailable: Counter,
    pub quota_seconds: Histogram,
}

struct OfOperation {
    ok: [Counter; Surface::ALL.len()],
    seconds: Histogram,
    units: Counter,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let decision = |kind: &'static str| metrics::counter!(DECISIONS, "decision" => kind);
        Self {
            of: OPERATIONS.map(|spec| {
                let (operation, name) = (spec.operation, spec.name);
                OfOperation {
                    ok: Surface::ALL.map(|surface| count(operation, surface, "ok")),
                    seconds: metrics::histogram!(SECONDS, "operation" => name),
                    units: metrics::counter!(UNITS, "operation" => name),
                }
            }),
            admitted: decision("admitted"),
            short: decision("short"),
            permanent: decision("permanent"),
            unavailable: decision("unavailable"),
            quota_seconds: metrics::histogram!(QUOTA_SECONDS),
        }
    }

    /// A call that ended: with the units it was charged, or with a code.
    pub(crate) fn ended(
        &self,
        operation: Operation,
        surface: Surface,
        outcome: Result<u64, ErrorCode>,
        took: Duration,
    ) {
        let of = self.of.get(operation as usize);
        if let Some(of) = of {
            of.seconds.record(took);
        }
        match (outcome, of) {
            (Ok(units), Some(of)) => {
                of.units.increment(units);
                if let Some(ok) = of.ok.get(surface as usize) {
                    ok.increment(1);
                }
            }
            (Ok(_), None) => {}
            (Err(code), _) => failed(operation, surface, code),
        }
    }
}

fn count(operation: Operation, surface: Surface, outcome: &'static str) -> Counter {
    metrics::counter!(CALLS, "operation" => operation.name(), "surface" => surface.as_str(), "outcome" => outcome)
}

pub(crate) fn failed(operation: Operation, surface: Surface, code: ErrorCode) {
    count(operation, surface, code.as_str()).increment(1);
}

pub(crate) fn not_let_in(code: ErrorCode) {
    metrics::counter!(REFUSED, "code" => code.as_str()).increment(1);
}

pub(crate) fn shed(whose: &'static str) {
    metrics::counter!(SHED, "bound" => whose).increment(1);
}

pub(crate) fn refunded(result: &'static str) {
    metrics::counter!(REFUNDS, "result" => result).increment(1);
}

pub(crate) fn in_flight(calls: usize) {
    metrics::gauge!(IN_FLIGHT).set(u32::try_from(calls).unwrap_or(u32::MAX));
}

/// A run of daily work that ended now.
pub fn job(name: &'static str, ok: bool) {
    let result = if ok { "ok" } else { "error" };
    metrics::counter!(JOBS, "task" => name, "result" => result).increment(1);
    if ok {
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        metrics::gauge!(JOB_AT, "task" => name).set(now as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_and_a_surface_stand_at_their_own_place() {
        for (place, spec) in OPERATIONS.iter().enumerate() {
            assert_eq!(spec.operation as usize, place);
        }
        for (place, surface) in Surface::ALL.into_iter().enumerate() {
            assert_eq!(surface as usize, place);
        }
    }
}
