//! What was refused a moment ago: it is refused again here, without asking the store.
//!
//! Other instances only add to a record, refunds aside, so the record of a refusal is a lower bound: where even that does
//! not fit, the store would refuse too. This never admits anything.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brownstone_domain::{Limits, Units};
use brownstone_quota::{Decision, Outcome, Record};

const SHARDS: usize = 16;
/// Refusals kept in a shard.
const KEPT: usize = 1_024;
/// Two clocks that are being slewed drift apart by less than one part in this.
const DRIFT: u64 = 500;

/// A refusal, and when it was.
#[derive(Debug, Clone, Copy)]
struct Denial {
    record: Record,
    /// The store's clock, read at some moment between the next two.
    now_us: u64,
    asked: Instant,
    answered: Instant,
}

/// Recent refusals of accounts.
#[derive(Debug)]
pub(super) struct Denials {
    keep_for: Duration,
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    denials: HashMap<Box<str>, Denial>,
    /// How often something was given back: an answer that was under way meanwhile may be from before it.
    refunds: u64,
}

/// A charge about to be asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    at: Instant,
    refunds: u64,
}

impl Denials {
    /// Keeps refusals for some time; zero keeps none.
    pub(super) fn new(keep_for: Duration) -> Self {
        Self {
            keep_for,
            hasher: RandomState::new(),
            shards: Default::default(),
        }
    }

    /// The refusal that the store would give too. `clock_us` is a test's clock; without it the store's is estimated.
    pub(super) fn refuse(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
        clock_us: Option<u64>,
        now: Instant,
    ) -> Option<Decision> {
        let denial = {
            let mut shard = self.shard(account);
            let denial = *shard.denials.get(account)?;
            if now.saturating_duration_since(denial.asked) >= self.keep_for {
                shard.denials.remove(account);
                return None;
            }
            denial
        };
        let micros = |since: Instant| {
            u64::try_from(now.saturating_duration_since(since).as_micros()).unwrap_or(u64::MAX)
        };
        let (latest, earliest) = match clock_us {
            Some(clock_us) => (clock_us, clock_us),
            None => {
                let most = micros(denial.asked);
                (
                    denial.now_us.saturating_add(most + most / DRIFT + 1),
                    denial.now_us.saturating_add(micros(denial.answered)),
                )
            }
        };
        // Refused where even the latest time that it can be there has not paid enough back; the wait counts from the
        // earliest, so that it is never too short.
        let Outcome::Short { .. } = denial.record.charge(latest, cost, limits) else {
            return None;
        };
        match denial.record.charge(earliest, cost, limits) {
            short @ Outcome::Short { .. } => Some(short.into_decision(account)),
            _ => None,
        }
    }

    /// To be taken before the store is asked.
    pub(super) fn asking(&self, account: &str, now: Instant) -> Asked {
        Asked {
            at: now,
            refunds: self.shard(account).refunds,
        }
    }

    /// The store admitted and left this record: what is remembered of the account is brought up to date.
    pub(super) fn admitted(
        &self,
        account: &str,
        record: Record,
        now_us: u64,
        asked: Asked,
        now: Instant,
    ) {
        let mut shard = self.shard(account);
        if shard.refunds != asked.refunds {
            return;
        }
        if let Some(denial) = shard.denials.get_mut(account) {
            *denial = Denial {
                record,
                now_us,
                asked: asked.at,
                answered: now,
            };
        }
    }

    /// The store refused, with this record at this time of its clock.
    pub(super) fn refused(
        &self,
        account: &str,
        record: Record,
        now_us: u64,
        asked: Asked,
        now: Instant,
    ) {
        if self.keep_for.is_zero() {
            return;
        }
        let mut shard = self.shard(account);
        if shard.refunds != asked.refunds {
            return;
        }
        if shard.denials.len() >= KEPT && !shard.denials.contains_key(account) {
            let keep_for = self.keep_for;
            shard
                .denials
                .retain(|_, denial| now.saturating_duration_since(denial.asked) < keep_for);
            if shard.denials.len() >= KEPT {
                // More abuse than is worth remembering: the store decides.
                return;
            }
        }
        let denial = Denial {
            record,
            now_us,
            asked: asked.at,
            answered: now,
        };
        shard.denials.insert(account.into(), denial);
    }

    /// Something was given back to the account, or may have been.
    pub(super) fn refunded(&self, account: &str) {
        let mut shard = self.shard(account);
        shard.refunds = shard.refunds.wrapping_add(1);
        shard.denials.remove(account);
    }

    // No code panics while it holds the lock.
    fn shard(&self, account: &str) -> MutexGuard<'_, Shard> {
        let hash = self.hasher.hash_one(account);
        // The remainder is below the number of shards, which fits every integer.
        let shard = &self.shards[(hash % SHARDS as u64) as usize];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use brownstone_quota::record::{DAY_US, SUB_UNITS, day_of};
    use proptest::prelude::*;

    use super::*;

    const NOON: u64 = 20_784 * DAY_US + DAY_US / 2;
    const SECOND: Duration = Duration::from_secs(1);

    fn spent(units: u64) -> Record {
        Record {
            deficit: units * SUB_UNITS,
            last_us: NOON,
            day: day_of(NOON),
            spent: units as u32,
        }
    }

    fn refuse(denials: &Denials, cost: u32, now: Instant) -> Option<Decision> {
        denials.refuse("a", Units::new(cost), Limits::default(), None, now)
    }

    fn denied(record: Record, start: Instant) -> Denials {
        let denials = Denials::new(SECOND);
        let asked = denials.asking("a", start);
        denials.refused("a", record, NOON, asked, start + Duration::from_millis(20));
        denials
    }

    #[test]
    fn what_was_refused_is_refused_again_until_it_may_fit() {
        let start = Instant::now();
        let denials = denied(spent(240), start);
        let at = |ms| start + Duration::from_millis(ms);
        // 4 units a second come back: one after 250 ms of the store's time.
        let Some(Decision::Short { wait_us, .. }) = refuse(&denials, 1, at(120)) else {
            panic!("it cannot fit yet");
        };
        // Counted from the answer, which came 20 ms after the question: never too short.
        assert_eq!(wait_us, 150_000);
        assert!(refuse(&denials, 1, at(251)).is_none(), "it may fit by now");
        assert!(refuse(&denials, 10, at(251)).is_some(), "this one may not");
    }

    #[test]
    fn it_is_forgotten_after_a_second_or_a_refund() {
        let start = Instant::now();
        let denials = denied(spent(240), start);
        assert!(refuse(&denials, 240, start + SECOND / 2).is_some());
        assert!(refuse(&denials, 240, start + SECOND).is_none());
        let denials = denied(spent(240), start);
        denials.refunded("a");
        assert!(refuse(&denials, 240, start).is_none());
    }

    #[test]
    fn an_answer_that_a_refund_overtook_is_not_kept() {
        let start = Instant::now();
        let denials = Denials::new(SECOND);
        let asked = denials.asking("a", start);
        denials.refunded("a");
        denials.refused("a", spent(240), NOON, asked, start);
        assert!(refuse(&denials, 240, start).is_none());
    }

    #[test]
    fn new_limits_are_heeded() {
        let start = Instant::now();
        let denials = denied(spent(240), start);
        let raised = Limits::new(480, 10_000).unwrap();
        let now = start + Duration::from_millis(20);
        assert!(
            denials
                .refuse("a", Units::new(240), raised, None, now)
                .is_none()
        );
        assert!(
            denials
                .refuse("a", Units::new(480), raised, None, now)
                .is_some()
        );
    }

    #[test]
    fn no_more_than_a_bounded_number_is_kept() {
        let start = Instant::now();
        let denials = Denials::new(SECOND);
        for n in 0..100_000 {
            let account = n.to_string();
            let asked = denials.asking(&account, start);
            denials.refused(&account, spent(240), NOON, asked, start);
        }
        let kept: usize = denials
            .shards
            .iter()
            .map(|shard| shard.lock().unwrap().denials.len())
            .sum();
        assert_eq!(kept, SHARDS * KEPT);
        // What has expired makes room.
        let asked = denials.asking("late", start + SECOND);
        denials.refused("late", spent(240), NOON, asked, start + SECOND);
        let again = denials.refuse(
            "late",
            Units::new(240),
            Limits::default(),
            None,
            start + SECOND,
        );
        assert!(again.is_some());
    }

    proptest! {
        /// Whatever others added since, what is refused here the store refuses too.
        #[test]
        fn nothing_is_refused_that_the_store_would_admit(
            units in 0..=240_u64,
            added in 0..240_u32,
            cost in 1..=240_u32,
            read_after in 0..=20_000_u64,
            later in 20_000..900_000_u64,
        ) {
            let start = Instant::now();
            let denials = denied(spent(units), start);
            // The store read its clock `read_after` the question was sent, and says NOON.
            let store_now = NOON + later - read_after;
            if refuse(&denials, cost, start + Duration::from_micros(later)).is_some() {
                let mut record = spent(units);
                if let Outcome::Admitted { record: more, .. } =
                    record.charge(NOON, Units::new(added), Limits::default())
                {
                    record = more;
                }
                let outcome = record.charge(store_now, Units::new(cost), Limits::default());
                prop_assert!(matches!(outcome, Outcome::Short { .. }), "{:?}", outcome);
            }
        }
    }
}
