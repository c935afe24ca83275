//! The breaker: a store that does not answer costs microseconds and not the whole deadline.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures that open it, with no answer in between.
const FAILURES: usize = 5;
/// The time within which they fall.
const WITHIN: Duration = Duration::from_secs(1);
/// While it is open, one call per this time is let through to see.
const PROBE_EVERY: Duration = Duration::from_millis(500);

/// Lets calls through while the store answers, and one now and then while it does not.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// Whether there is anything in `state`: a store that is well costs one load.
    troubled: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The last failures since the last answer, oldest first.
    failures: VecDeque<Instant>,
    /// When the next call is let through; `None` while it is closed.
    probe_at: Option<Instant>,
}

impl Breaker {
    /// Whether a call would be refused now. Asking costs no probe: whoever has to wait for something else first asks here.
    pub(super) fn refuses(&self, now: Instant) -> bool {
        self.troubled.load(Ordering::Acquire) && self.state().probe_at.is_some_and(|at| now < at)
    }

    /// Whether a call may be made now.
    pub(super) fn admits(&self, now: Instant) -> bool {
        if !self.troubled.load(Ordering::Acquire) {
            return true;
        }
        let mut state = self.state();
        match state.probe_at {
            Some(at) if now < at => false,
            Some(_) => {
                // A probe whose caller left, or that is slow, is followed by another.
                state.probe_at = Some(now + PROBE_EVERY);
                true
            }
            None => true,
        }
    }

    /// The store answered.
    pub(super) fn answered(&self) {
        if !self.troubled.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state();
        if state.probe_at.is_some() {
            tracing::info!("the quota store answers again");
        }
        *state = State::default();
        self.troubled.store(false, Ordering::Release);
    }

    /// It did not, or not well.
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.state();
        self.troubled.store(true, Ordering::Release);
        if state.probe_at.is_some() {
            return;
        }
        state.failures.push_back(now);
        if state.failures.len() > FAILURES {
            state.failures.pop_front();
        }
        let first = state.failures.front().copied().unwrap_or(now);
        if state.failures.len() == FAILURES && now.saturating_duration_since(first) <= WITHIN {
            state.probe_at = Some(now + PROBE_EVERY);
            tracing::warn!("the quota store does not answer; calls are refused until it does");
        }
    }

    // No code panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn opened(at: Instant) -> Breaker {
        let breaker = Breaker::default();
        for n in 0..5 {
            assert!(breaker.admits(at), "{n} failures");
            breaker.failed(at);
        }
        breaker
    }

    #[test]
    fn five_failures_within_a_second_open_it() {
        let start = Instant::now();
        let breaker = opened(start);
        assert!(!breaker.admits(start));
        assert!(!breaker.admits(start + 499 * MS));
    }

    #[test]
    fn failures_far_apart_or_with_an_answer_between_do_not() {
        let start = Instant::now();
        let slow = Breaker::default();
        for n in 0..20 {
            slow.failed(start + n * 251 * MS);
        }
        assert!(slow.admits(start + 20 * 251 * MS));
        let mixed = Breaker::default();
        for _ in 0..5 {
            for _ in 0..4 {
                mixed.failed(start);
            }
            mixed.answered();
        }
        assert!(mixed.admits(start));
    }

    #[test]
    fn an_open_one_lets_one_call_through_each_half_second() {
        let start = Instant::now();
        let breaker = opened(start);
        for round in 1..4 {
            let now = start + round * PROBE_EVERY;
            assert!(breaker.admits(now), "round {round}");
            assert!(!breaker.admits(now), "one only");
            breaker.failed(now + 100 * MS);
            assert!(!breaker.admits(now + 499 * MS));
        }
    }

    #[test]
    fn asking_whether_it_refuses_uses_up_no_probe() {
        let start = Instant::now();
        assert!(!Breaker::default().refuses(start));
        let breaker = opened(start);
        assert!(breaker.refuses(start + 499 * MS));
        for _ in 0..3 {
            assert!(!breaker.refuses(start + PROBE_EVERY));
        }
        assert!(breaker.admits(start + PROBE_EVERY));
        assert!(breaker.refuses(start + PROBE_EVERY));
        breaker.answered();
        assert!(!breaker.refuses(start + PROBE_EVERY));
    }

    #[test]
    fn an_answer_closes_it_and_the_count_begins_anew() {
        let start = Instant::now();
        let breaker = opened(start);
        assert!(breaker.admits(start + PROBE_EVERY));
        breaker.answered();
        let later = start + PROBE_EVERY;
        for _ in 0..4 {
            assert!(breaker.admits(later));
            breaker.failed(later);
        }
        assert!(breaker.admits(later));
        breaker.failed(later);
        assert!(!breaker.admits(later));
    }

    #[test]
    fn a_probe_that_was_never_heard_of_again_is_followed_by_another() {
        let start = Instant::now();
        let breaker = opened(start);
        assert!(breaker.admits(start + PROBE_EVERY));
        assert!(!breaker.admits(start + PROBE_EVERY + 499 * MS));
        assert!(breaker.admits(start + 2 * PROBE_EVERY));
    }
}
