//! Breakers: an upstream that keeps failing is left alone for a while.
//!
//! Time is an argument, so that thirty seconds are a test and not a wait.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::BreakerConfig;

/// What a breaker does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Lets it through.
    Closed,
    /// Refuses it.
    Open {
        /// Until a probe is let through; zero when the next call will be it.
        retry_in: Duration,
    },
    /// Refuses it, since one probe is under way.
    HalfOpen,
}

impl BreakerState {
    /// `closed`, `open`, `half_open`: for metrics and the operator.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// One breaker, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerView {
    /// The key that requests name: a dataset, for one.
    pub key: String,
    /// What it does now.
    pub state: BreakerState,
    /// Failed calls in a row.
    pub failures: u32,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open { until: Instant },
    Probing,
}

#[derive(Debug, Clone, Copy)]
struct Breaker {
    state: State,
    failures: u32,
}

/// The breakers of one upstream. Only keys in trouble are kept: one that is absent is closed.
#[derive(Debug)]
pub(crate) struct Breakers {
    config: BreakerConfig,
    troubled: Mutex<HashMap<Box<str>, Breaker>>,
}

/// What a call came to, for its breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The upstream answered.
    Well,
    /// It did not, or not well.
    Failed,
    /// Nothing was learnt about it.
    Unknown,
}

/// Leave to make one call. Dropped without a verdict (the caller left), it counts as [`Verdict::Unknown`].
#[derive(Debug)]
pub(crate) struct Leave<'a> {
    breakers: &'a Breakers,
    key: Box<str>,
    probe: bool,
    settled: bool,
}

impl Breakers {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Self {
            config,
            troubled: Mutex::default(),
        }
    }

    // No code panics while it holds the lock, and the map is whole between any two statements.
    fn troubled(&self) -> MutexGuard<'_, HashMap<Box<str>, Breaker>> {
        self.troubled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leave to call, or how long until there may be.
    pub(crate) fn admit(&self, key: &str, now: Instant) -> Result<Leave<'_>, Duration> {
        let mut troubled = self.troubled();
        let probe = match troubled.get_mut(key) {
            None => false,
            Some(breaker) => match breaker.state {
                State::Closed => false,
                State::Open { until } if until > now => {
                    return Err(until.saturating_duration_since(now));
                }
                State::Open { .. } => {
                    breaker.state = State::Probing;
                    true
                }
                State::Probing => return Err(Duration::ZERO),
            },
        };
        Ok(Leave {
            breakers: self,
            key: key.into(),
            probe,
            settled: false,
        })
    }

    fn settle(&self, key: &str, probe: bool, verdict: Verdict, now: Instant) {
        let mut troubled = self.troubled();
        match verdict {
            Verdict::Well => {
                troubled.remove(key);
            }
            Verdict::Failed => {
                let breaker = troubled.entry(key.into()).or_insert(Breaker {
                    state: State::Closed,
                    failures: 0,
                });
                breaker.failures = breaker.failures.saturating_add(1);
                let opens = match breaker.state {
                    State::Closed => breaker.failures >= self.config.failures,
                    State::Probing => probe,
                    // A call from before it opened: what it tells is known already.
                    State::Open { .. } => false,
                };
                if opens {
                    breaker.state = State::Open {
                        until: now + self.config.open_for,
                    };
                    tracing::warn!(key, failures = breaker.failures, "breaker opened");
                }
            }
            // The next call probes in this one's place.
            Verdict::Unknown if probe => {
                if let Some(breaker) = troubled.get_mut(key)
                    && matches!(breaker.state, State::Probing)
                {
                    breaker.state = State::Open { until: now };
                }
            }
            Verdict::Unknown => {}
        }
    }

    /// Every breaker in trouble, by key.
    pub(crate) fn view(&self, now: Instant) -> Vec<BreakerView> {
        let mut all: Vec<BreakerView> = self
            .troubled()
            .iter()
            .map(|(key, breaker)| BreakerView {
                key: key.to_string(),
                state: match breaker.state {
                    State::Closed => BreakerState::Closed,
                    State::Open { until } => BreakerState::Open {
                        retry_in: until.saturating_duration_since(now),
                    },
                    State::Probing => BreakerState::HalfOpen,
                },
                failures: breaker.failures,
            })
            .collect();
        all.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        all
    }
}

impl Leave<'_> {
    /// Whether this call is the one that tries whether the upstream is back.
    pub(crate) const fn is_probe(&self) -> bool {
        self.probe
    }

    pub(crate) fn settle(mut self, verdict: Verdict, now: Instant) {
        self.settled = true;
        self.breakers.settle(&self.key, self.probe, verdict, now);
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.breakers
                .settle(&self.key, self.probe, Verdict::Unknown, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "6bgk-3dad";

    fn breakers() -> Breakers {
        Breakers::new(BreakerConfig::default())
    }

    fn call(breakers: &Breakers, verdict: Verdict, now: Instant) {
        breakers.admit(KEY, now).unwrap().settle(verdict, now);
    }

    fn state(breakers: &Breakers, now: Instant) -> BreakerState {
        breakers
            .view(now)
            .first()
            .map_or(BreakerState::Closed, |view| view.state)
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_a_good_probe_closes_it() {
        let breakers = breakers();
        let t0 = Instant::now();
        for _ in 0..4 {
            call(&breakers, Verdict::Failed, t0);
        }
        call(&breakers, Verdict::Well, t0);
        for _ in 0..4 {
            call(&breakers, Verdict::Failed, t0);
        }
        call(&breakers, Verdict::Unknown, t0);
        assert_eq!(state(&breakers, t0), BreakerState::Closed);
        call(&breakers, Verdict::Failed, t0);
        let open_for = BreakerConfig::default().open_for;
        assert_eq!(
            state(&breakers, t0),
            BreakerState::Open { retry_in: open_for }
        );
        assert_eq!(breakers.admit(KEY, t0).unwrap_err(), open_for);
        assert!(breakers.admit("other", t0).is_ok(), "a breaker a key");
        let t1 = t0 + open_for;
        let probe = breakers.admit(KEY, t1).unwrap();
        assert!(probe.is_probe());
        assert_eq!(state(&breakers, t1), BreakerState::HalfOpen);
        assert_eq!(
            breakers.admit(KEY, t1).unwrap_err(),
            Duration::ZERO,
            "one probe at a time"
        );
        probe.settle(Verdict::Well, t1);
        assert!(!breakers.admit(KEY, t1).unwrap().is_probe());
        assert_eq!(breakers.view(t1), [], "a healthy key takes no room");
    }

    #[test]
    fn a_bad_probe_opens_it_again_and_a_dropped_one_leaves_its_place() {
        let breakers = breakers();
        let t0 = Instant::now();
        for _ in 0..5 {
            call(&breakers, Verdict::Failed, t0);
        }
        let t1 = t0 + BreakerConfig::default().open_for;
        call(&breakers, Verdict::Failed, t1);
        assert!(breakers.admit(KEY, t1).is_err());
        let t2 = t1 + BreakerConfig::default().open_for;
        drop(breakers.admit(KEY, t2).unwrap());
        assert!(breakers.admit(KEY, t2).unwrap().is_probe());
    }

    #[test]
    fn calls_from_before_it_opened_do_not_push_the_probe_back() {
        let breakers = breakers();
        let t0 = Instant::now();
        let late = breakers.admit(KEY, t0).unwrap();
        for _ in 0..5 {
            call(&breakers, Verdict::Failed, t0);
        }
        late.settle(Verdict::Failed, t0 + Duration::from_secs(20));
        assert!(
            breakers
                .admit(KEY, t0 + BreakerConfig::default().open_for)
                .is_ok()
        );
    }

    proptest! {
        /// Whatever happens, a key is asked again once it has been left alone long enough.
        #[test]
        fn no_history_shuts_a_key_for_good(history in prop::collection::vec((0u8..4, 0u64..40), 0..60)) {
            let breakers = breakers();
            let mut now = Instant::now();
            for (what, seconds) in history {
                now += Duration::from_secs(seconds);
                let Ok(leave) = breakers.admit(KEY, now) else { continue };
                match what {
                    0 => leave.settle(Verdict::Well, now),
                    1 => leave.settle(Verdict::Failed, now),
                    2 => leave.settle(Verdict::Unknown, now),
                    _ => drop(leave),
                }
            }
            now += BreakerConfig::default().open_for;
            let admitted = breakers.admit(KEY, now);
            prop_assert!(admitted.is_ok());
        }
    }
}
