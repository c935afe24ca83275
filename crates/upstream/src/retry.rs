//! When to try again, and how long each try may take.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::time::{Instant, sleep};

use crate::config::RetryConfig;
use crate::error::Fault;

/// Statuses that may pass.
pub(crate) const TRANSIENT: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// Less than this before the deadline is no time for another try.
const LEAST_TRY: Duration = Duration::from_millis(50);

/// The share of the time left that a try gets which is not the last, in percent: enough for a slow answer, and something
/// remains for another try.
const SHARE_PERCENT: u32 = 60;

/// When a try that starts `now` must end.
///
/// The last one gets all that is left; none gets more than `most`.
pub(crate) fn ends(now: Instant, deadline: Instant, most: Duration, last: bool) -> Instant {
    let left = deadline.saturating_duration_since(now);
    let share = if last {
        left
    } else {
        left * SHARE_PERCENT / 100
    };
    now + share.min(most)
}

/// What an answer asks us to wait: seconds, or a date, which is read against the answer's own `Date` so that no clock
/// has to agree with another.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let until = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    let sent = OffsetDateTime::parse(headers.get(DATE)?.to_str().ok()?.trim(), &Rfc2822).ok()?;
    Some(Duration::try_from(until - sent).unwrap_or(Duration::ZERO))
}

/// Runs `attempt` until it succeeds, fails for good, or the retries or the time are used up.
///
/// `attempt` is told whether it is the last. After a try that ran out of time the next is the last: it gets all the
/// time that remains instead of a smaller share of it.
pub(crate) async fn run<T, F, Fut>(
    config: &RetryConfig,
    deadline: Instant,
    mut attempt: F,
) -> Result<T, Fault>
where
    F: FnMut(bool) -> Fut,
    Fut: Future<Output = Result<T, Fault>>,
{
    let mut delays = ExponentialBuilder::default()
        .with_min_delay(config.first_delay)
        .with_max_delay(config.max_delay)
        .with_factor(2.0)
        .with_max_times(config.retries)
        .with_jitter()
        .build();
    let mut last = config.retries == 0;
    let mut tries = 0;
    let mut before: Option<Fault> = None;
    loop {
        let fault = match attempt(last).await {
            Ok(answer) => return Ok(answer),
            // The time went by in the queue: what failed before says more.
            Err(Fault::Busy) => return Err(before.unwrap_or(Fault::Busy)),
            Err(fault) => fault,
        };
        if last || !fault.is_transient() {
            return Err(fault);
        }
        let Some(delay) = delays.next() else {
            return Err(fault);
        };
        // Jitter on top of what was asked for, or all who were told the same would come back together.
        let wait = match fault {
            Fault::Status {
                retry_after: Some(asked),
                ..
            } => asked.saturating_add(delay),
            _ => delay,
        };
        if deadline.saturating_duration_since(Instant::now()) < wait.saturating_add(LEAST_TRY) {
            return Err(fault);
        }
        tracing::debug!(?fault, ?wait, "trying again");
        sleep(wait).await;
        tries += 1;
        last = tries == config.retries || matches!(fault, Fault::Timeout { .. });
        before = Some(fault);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// Runs a script of attempts, each with its duration in milliseconds; gives the result, whether each was the last, and
    /// the milliseconds all took.
    async fn play(
        script: Vec<(u64, Result<u8, Fault>)>,
        within: Duration,
    ) -> (Result<u8, Fault>, Vec<bool>, u128) {
        let start = Instant::now();
        let script = RefCell::new(VecDeque::from(script));
        let lasts = RefCell::new(Vec::new());
        let result = run(&RetryConfig::default(), start + within, |last| {
            lasts.borrow_mut().push(last);
            let (takes, outcome) = script.borrow_mut().pop_front().unwrap();
            async move {
                sleep(Duration::from_millis(takes)).await;
                outcome
            }
        })
        .await;
        (result, lasts.into_inner(), start.elapsed().as_millis())
    }

    fn status(status: u16, seconds: Option<u64>) -> Fault {
        Fault::Status {
            status,
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_twice_more() {
        let ten = Duration::from_secs(10);
        for fault in [
            status(429, None),
            status(503, None),
            Fault::Connect(String::new()),
            Fault::Cut(String::new()),
        ] {
            let script = vec![(5, Err(fault.clone())), (5, Err(fault.clone())), (5, Ok(7))];
            let (result, lasts, took) = play(script, ten).await;
            assert_eq!(
                (result, lasts.as_slice()),
                (Ok(7), [false, false, true].as_slice())
            );
            assert!((450..1000).contains(&took), "{took} ms");
            let (result, lasts, _) = play(vec![(5, Err(fault.clone())); 3], ten).await;
            assert_eq!((result, lasts.len()), (Err(fault), 3));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_is_not_tried_again() {
        for fault in [Fault::TooLarge { limit: 1 }, Fault::Refused("no")] {
            let (result, lasts, _) =
                play(vec![(5, Err(fault.clone()))], Duration::from_secs(10)).await;
            assert_eq!((result, lasts.len()), (Err(fault), 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_obeyed_where_it_fits_and_ends_the_call_where_not() {
        let ten = Duration::from_secs(10);
        let (result, _, took) = play(vec![(0, Err(status(429, Some(4)))), (0, Ok(1))], ten).await;
        assert_eq!(result, Ok(1));
        assert!((4150..4350).contains(&took), "{took} ms");
        let (result, _, took) = play(vec![(3, Err(status(429, Some(60))))], ten).await;
        assert_eq!((result, took), (Err(status(429, Some(60))), 3));
        let (result, _, _) = play(vec![(3, Err(status(503, Some(u64::MAX))))], ten).await;
        assert_eq!(result, Err(status(503, Some(u64::MAX))));
    }

    #[tokio::test(start_paused = true)]
    async fn after_silence_one_more_try_gets_all_that_is_left() {
        let silence = Fault::Timeout {
            given: Duration::from_secs(6),
        };
        let script = vec![(6000, Err(silence.clone())), (1000, Err(silence.clone()))];
        let (result, lasts, _) = play(script, Duration::from_secs(10)).await;
        assert_eq!(
            (result, lasts.as_slice()),
            (Err(silence), [false, true].as_slice())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_on_the_second_try_tells_of_the_first() {
        let script = vec![(1, Err(status(502, None))), (1, Err(Fault::Busy))];
        let (result, ..) = play(script, Duration::from_secs(10)).await;
        assert_eq!(result, Err(status(502, None)));
        let (result, ..) = play(vec![(1, Err(Fault::Busy))], Duration::from_secs(10)).await;
        assert_eq!(result, Err(Fault::Busy));
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_a_date() {
        let read = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, after.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            retry_after(&headers)
        };
        let date = Some("Mon, 09 Feb 2026 14:00:38 GMT");
        assert_eq!(read("120", None), Some(Duration::from_secs(120)));
        assert_eq!(
            read("Mon, 09 Feb 2026 14:01:00 GMT", date),
            Some(Duration::from_secs(22))
        );
        assert_eq!(
            read("Mon, 09 Feb 2026 13:00:00 GMT", date),
            Some(Duration::ZERO)
        );
        assert_eq!(read("Mon, 09 Feb 2026 14:01:00 GMT", None), None);
        assert_eq!(read("soon", date), None);
        assert_eq!(read("-5", date), None);
        assert_eq!(read("99999999999999999999", date), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    proptest! {
        #[test]
        fn no_try_outlives_its_bounds(left in 0u64..100_000, most in 1u64..50_000, last: bool) {
            let now = Instant::now();
            let deadline = now + Duration::from_millis(left);
            let most = Duration::from_millis(most);
            let end = ends(now, deadline, most, last);
            prop_assert!(end >= now && end <= deadline && end <= now + most);
            if last {
                prop_assert_eq!(end, deadline.min(now + most));
            } else if left > 0 && end < now + most {
                prop_assert!(end < deadline, "nothing would remain for another try");
            }
        }

        #[test]
        fn no_header_panics(text in "[ -~]{0,40}") {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            headers.insert(DATE, "Mon, 09 Feb 2026 14:00:38 GMT".parse().unwrap());
            let _ = retry_after(&headers);
        }
    }
}
