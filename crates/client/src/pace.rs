//! How long a call waits until the minute's budget has its units again. Pure: moments come as arguments.

use std::time::{Duration, Instant};

/// What is known of the minute's budget.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    known: Option<Known>,
    /// Units of calls that are under way.
    under_way: u64,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// Units left at that moment.
    remaining: f64,
    at: Instant,
    /// The bucket's capacity.
    capacity: f64,
    per_second: f64,
}

impl Pace {
    /// Takes a call's units, and says how long it waits before it is sent. While the budget is unknown, nothing waits.
    pub(crate) fn begin(&mut self, cost: u64, now: Instant) -> Duration {
        let ahead = self.under_way;
        self.under_way = self.under_way.saturating_add(cost);
        let Some(known) = self.known else {
            return Duration::ZERO;
        };
        let elapsed = now.saturating_duration_since(known.at).as_secs_f64();
        let left = (known.remaining + elapsed * known.per_second).min(known.capacity);
        let short = (cost as f64 + ahead as f64) - left;
        // A call that no bucket can hold is the service's to refuse.
        if short <= 0.0 || cost as f64 > known.capacity || known.per_second <= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(short / known.per_second).unwrap_or_default()
    }

    /// Gives back the units that [`Pace::begin`] took: the call has ended, and its cost is already taken off `remaining`.
    pub(crate) fn end(&mut self, cost: u64) {
        self.under_way = self.under_way.saturating_sub(cost);
    }

    /// Learns what a success says: units left in the minute, and the policy of the header.
    pub(crate) fn learn(&mut self, remaining: u64, policy: Option<&str>, now: Instant) {
        let (capacity, window) = match (policy.and_then(minute), self.known) {
            (Some((quota, window)), _) => (quota as f64, window as f64),
            (None, Some(known)) => (known.capacity, known.capacity / known.per_second),
            (None, None) => return,
        };
        if window <= 0.0 {
            return;
        }
        self.known = Some(Known {
            remaining: remaining as f64,
            at: now,
            capacity,
            per_second: capacity / window,
        });
    }
}

/// Quota and window of the member `"minute"` of a `RateLimit-Policy`.
fn minute(policy: &str) -> Option<(u64, u64)> {
    let member = policy
        .split(',')
        .map(str::trim)
        .find(|member| member.starts_with("\"minute\""))?;
    let parameter = |name: &str| {
        member
            .split(';')
            .filter_map(|part| part.trim().split_once('='))
            .find(|(key, _)| *key == name)?
            .1
            .parse()
            .ok()
    };
    Some((parameter("q")?, parameter("w")?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const POLICY: &str = r#""minute";q=240;w=60, "day";q=10000;w=86400"#;

    #[test]
    fn the_policy_is_read() {
        assert_eq!(minute(POLICY), Some((240, 60)));
        for odd in ["", "\"day\";q=1;w=2", "\"minute\";q=x;w=60", "\"minute\""] {
            assert_eq!(minute(odd), None, "{odd}");
        }
    }

    #[test]
    fn nobody_waits_before_anything_is_known() {
        let mut pace = Pace::default();
        assert_eq!(pace.begin(10, Instant::now()), Duration::ZERO);
    }

    #[test]
    fn a_call_waits_for_what_it_and_those_before_it_lack() {
        let now = Instant::now();
        let mut pace = Pace::default();
        pace.learn(12, Some(POLICY), now);
        assert_eq!(pace.begin(10, now), Duration::ZERO);
        assert_eq!(
            pace.begin(10, now),
            Duration::from_secs(2),
            "8 short at 4 a second"
        );
        pace.end(10);
        pace.end(10);
        let later = now + Duration::from_secs(2);
        assert_eq!(pace.begin(10, later), Duration::ZERO);
        assert_eq!(pace.begin(1_000, later), Duration::ZERO, "no wait helps");
    }

    proptest! {
        #[test]
        fn after_its_wait_a_call_has_its_units(remaining in 0_u64..=240, cost in 1_u64..=240, elapsed in 0_u64..120) {
            let now = Instant::now();
            let mut pace = Pace::default();
            pace.learn(remaining, Some(POLICY), now);
            let begun = now + Duration::from_secs(elapsed);
            let wait = pace.begin(cost, begun);
            let refilled = (begun + wait - now).as_secs_f64() * 4.0;
            prop_assert!((remaining as f64 + refilled).min(240.0) + 1e-6 >= cost as f64);
            prop_assert!(wait <= Duration::from_secs(60));
        }
    }
}
