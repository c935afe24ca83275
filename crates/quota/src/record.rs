//! The arithmetic: one account's record, and what a charge, a peek and a refund do to it.
//!
//! Everything here is pure and in whole numbers. It is the reference that every store agrees with.
//!
//! One unit is [`SUB_UNITS`] sub-units, and a microsecond pays back as many sub-units as the minute's ceiling has units:
//! a bucket of any size refills in exactly 60 s, and no time is ever rounded to a whole unit. The record holds what was
//! *used*, not what is left, so that a new ceiling is in force at the next call without converting anything.
//!
//! For stores that compute this elsewhere: the elapsed time must not be capped at 60 s. A refusal writes nothing, so an
//! account whose ceiling was lowered below its debt would never get out of it. To stay inside 64 bits, cap the elapsed
//! time at `deficit / per_minute + 1` microseconds instead: that pays the whole debt.

use brownstone_domain::{Limits, Units};

use crate::decision::{Budget, Charge, View};

/// Sub-units of one unit.
pub const SUB_UNITS: u64 = 60_000_000;
/// Microseconds in which a bucket of any size refills.
pub const MINUTE_US: u64 = 60_000_000;
/// Microseconds of a UTC day.
pub const DAY_US: u64 = 86_400_000_000;

/// The UTC day of a moment: days since the Unix epoch. The one place that says where a day ends.
///
/// ```
/// use brownstone_quota::record::{DAY_US, day_of};
/// assert_eq!(day_of(DAY_US - 1), 0);
/// assert_eq!(day_of(DAY_US), 1);
/// ```
#[inline]
pub const fn day_of(now_us: u64) -> u32 {
    // u64::MAX / DAY_US is 213,503,982: it always fits.
    (now_us / DAY_US) as u32
}

/// What one account has used, 24 bytes. The default is an account that has used nothing; an absent record means the same.
///
/// ```
/// use brownstone_domain::{Limits, Units};
/// use brownstone_quota::{Outcome, Record};
///
/// let limits = Limits::default();
/// let noon = 20_784 * 86_400_000_000 + 43_200_000_000;
/// let Outcome::Admitted { record, view, .. } = Record::default().charge(noon, Units::new(10), limits) else {
///     panic!("a fresh account can afford 10 units");
/// };
/// assert_eq!((view.minute_remaining(), view.daily_remaining()), (230, 9_990));
/// // 4 units a second come back.
/// assert_eq!(record.peek(noon + 1_000_000, limits).minute_remaining(), 234);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Record {
    /// Sub-units missing from the bucket as of `last_us`, or [`Record::WHOLE_BUCKET`].
    pub deficit: u64,
    /// Microseconds since the Unix epoch of the last charge that was admitted.
    pub last_us: u64,
    /// UTC day that `spent` belongs to, in days since the Unix epoch. It never goes back.
    pub day: u32,
    /// Units spent on `day`.
    pub spent: u32,
}

/// What a charge would do. Nothing is written unless it is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// Both budgets can afford it.
    Admitted {
        /// What to write. After a charge of 0 units it is the record as it was.
        record: Record,
        /// What a refund needs.
        charge: Charge,
        /// Both budgets after the charge.
        view: View,
    },
    /// Not now.
    Short {
        /// The budget that keeps the caller waiting longest.
        budget: Budget,
        /// Microseconds from the clock's reading until the same charge is admitted if nothing else happens.
        wait_us: u64,
        /// Both budgets, untouched.
        view: View,
    },
    /// Never: the cost exceeds a whole ceiling.
    TooLarge {
        /// The budget that cannot hold the cost; the smaller one where neither can.
        budget: Budget,
        /// Its ceiling.
        ceiling: Units,
        /// Both budgets, untouched.
        view: View,
    },
}

impl Record {
    /// A `deficit` that stands for the whole bucket, whatever its size: the account's last minute is unknown, as after a
    /// crash. It is paid back 60 s after `last_us` like any other.
    pub const WHOLE_BUCKET: u64 = u64::MAX;

    /// The record as of `now_us`: deficit paid down, day rolled over. A clock that stepped back counts as standing still.
    #[inline]
    pub(crate) fn settled(&self, now_us: u64, limits: Limits) -> Self {
        let at = now_us.max(self.last_us);
        let per_minute = u64::from(limits.per_minute());
        let deficit = match (self.deficit, per_minute) {
            // A bucket of no capacity can owe nothing. No charge fits it, so that this is never written.
            (_, 0) => 0,
            (Self::WHOLE_BUCKET, per_minute) => per_minute * SUB_UNITS,
            (deficit, _) => deficit,
        };
        let paid = (at - self.last_us).saturating_mul(per_minute);
        let today = day_of(at);
        let (day, spent) = if today > self.day {
            (today, 0)
        } else {
            (self.day, self.spent)
        };
        Self {
            deficit: deficit.saturating_sub(paid),
            last_us: at,
            day,
            spent,
        }
    }

    /// Both budgets at `now_us`, in microseconds since the Unix epoch.
    pub fn peek(&self, now_us: u64, limits: Limits) -> View {
        View::of(self, now_us, limits)
    }

    /// Decides a charge of `cost` at `now_us`: both budgets are charged, or neither.
    ///
    /// A cost of 0 is always admitted and leaves the record as it is.
    #[inline]
    pub fn charge(&self, now_us: u64, cost: Units, limits: Limits) -> Outcome {
        if cost == Units::ZERO {
            return Outcome::admitted(self, now_us, cost, limits);
        }
        let before = self.settled(now_us, limits);
        match before.bear(cost, limits) {
            Some(after) => Outcome::admitted_settled(after, now_us, cost, limits),
            None => before.refuse(now_us, cost, limits),
        }
    }

    /// The record after a charge of more than 0, where both budgets bear it: what [`Self::charge`] admits, and nothing
    /// around it.
    #[inline]
    pub(crate) fn admit(&self, now_us: u64, cost: Units, limits: Limits) -> Option<Self> {
        self.settled(now_us, limits).bear(cost, limits)
    }

    /// This settled record after a charge, where both budgets bear it.
    #[inline]
    fn bear(&self, cost: Units, limits: Limits) -> Option<Self> {
        let deficit = self.deficit_with(cost);
        let spent = self.spent.checked_add(cost.get())?;
        let fits = deficit <= capacity(limits) && spent <= limits.per_day();
        fits.then_some(Self {
            deficit,
            spent,
            ..*self
        })
    }

    /// Why this settled record does not bear a charge.
    #[cold]
    fn refuse(&self, now_us: u64, cost: Units, limits: Limits) -> Outcome {
        let view = View::of_settled(*self, now_us, limits);
        if let Some((budget, ceiling)) = too_large(cost, limits) {
            return Outcome::TooLarge {
                budget,
                ceiling,
                view,
            };
        }
        // Here cost <= per_minute, hence per_minute >= 1.
        let minute_us = self
            .deficit_with(cost)
            .saturating_sub(capacity(limits))
            .div_ceil(u64::from(limits.per_minute()));
        let spent = u64::from(self.spent) + u64::from(cost.get());
        let day_us = if spent > u64::from(limits.per_day()) {
            day_end_us(self.day).saturating_sub(self.last_us)
        } else {
            0
        };
        let (budget, wait_us) = if day_us > minute_us {
            (Budget::Day, day_us)
        } else {
            (Budget::Minute, minute_us)
        };
        Outcome::Short {
            budget,
            // A clock behind the record must catch up with it first.
            wait_us: (self.last_us - now_us.min(self.last_us)).saturating_add(wait_us),
            view,
        }
    }

    #[inline]
    const fn deficit_with(&self, cost: Units) -> u64 {
        self.deficit.saturating_add(cost.get() as u64 * SUB_UNITS)
    }

    /// The record once `charge` is taken back at `now_us`.
    ///
    /// The day gets its units back in full as long as it is the day of the charge, and the minute what has not refilled
    /// since: a full refund of an old charge would let the charges that stand exceed capacity plus refill. Neither falls
    /// below zero.
    ///
    /// `per_minute` is the largest minute ceiling the account was charged under since, for a store that knows it; the
    /// charge's own ceiling is always taken into account.
    ///
    /// ```
    /// use brownstone_domain::{Limits, Units};
    /// use brownstone_quota::{Outcome, Record};
    ///
    /// let limits = Limits::default();
    /// let Outcome::Admitted { record, charge, .. } = Record::default().charge(0, Units::new(10), limits) else {
    ///     panic!("a fresh account can afford 10 units");
    /// };
    /// // A second later 4 units have refilled by themselves: the minute gets the other 6, the day all 10.
    /// let refunded = record.refund(1_000_000, charge, limits.per_minute());
    /// let view = refunded.peek(1_000_000, limits);
    /// assert_eq!((view.minute_remaining(), view.day_used()), (240, 0));
    /// ```
    #[must_use]
    pub fn refund(&self, now_us: u64, charge: Charge, per_minute: u32) -> Self {
        let at = now_us.max(self.last_us);
        let rate = u64::from(per_minute.max(charge.limits.per_minute()));
        let refilled = at.saturating_sub(charge.charged_at_us).saturating_mul(rate);
        let back = (u64::from(charge.cost.get()) * SUB_UNITS).saturating_sub(refilled);
        let same_day = self.day == charge.day && day_of(at) <= charge.day;
        Self {
            deficit: match self.deficit {
                Self::WHOLE_BUCKET => Self::WHOLE_BUCKET,
                deficit => deficit.saturating_sub(back),
            },
            spent: if same_day {
                self.spent.saturating_sub(charge.cost.get())
            } else {
                self.spent
            },
            ..*self
        }
    }

    /// Whether dropping the record changes no later decision, whatever ceilings come with it: nothing spent today, and a
    /// deficit that even a bucket of one unit a minute has paid back.
    pub fn is_idle(&self, now_us: u64) -> bool {
        let today = day_of(now_us);
        let Some(elapsed) = now_us.checked_sub(self.last_us) else {
            return false;
        };
        let paid = match self.deficit {
            Self::WHOLE_BUCKET => elapsed >= MINUTE_US,
            deficit => elapsed >= deficit,
        };
        paid && (self.day < today || (self.day == today && self.spent == 0))
    }
}

impl Outcome {
    /// An admitted charge that left `after`: for stores that decide elsewhere and get the new record back.
    pub fn admitted(after: &Record, now_us: u64, cost: Units, limits: Limits) -> Self {
        let settled = after.settled(now_us, limits);
        match Self::admitted_settled(settled, now_us, cost, limits) {
            Self::Admitted { charge, view, .. } => Self::Admitted {
                record: *after,
                charge,
                view,
            },
            refused => refused,
        }
    }

    /// The same of a record that is settled.
    #[inline]
    pub(crate) const fn admitted_settled(
        after: Record,
        now_us: u64,
        cost: Units,
        limits: Limits,
    ) -> Self {
        Self::Admitted {
            record: after,
            charge: Charge::of(&after, cost, limits),
            view: View::of_settled(after, now_us, limits),
        }
    }
}

/// A full bucket, in sub-units.
#[inline]
fn capacity(limits: Limits) -> u64 {
    u64::from(limits.per_minute()) * SUB_UNITS
}

/// The end of a UTC day, in microseconds since the Unix epoch.
pub(crate) fn day_end_us(day: u32) -> u64 {
    (u64::from(day) + 1).saturating_mul(DAY_US)
}

/// The smaller of the ceilings that cannot hold `cost`.
fn too_large(cost: Units, limits: Limits) -> Option<(Budget, Units)> {
    [
        (Budget::Minute, Units::new(limits.per_minute())),
        (Budget::Day, Units::new(limits.per_day())),
    ]
    .into_iter()
    .filter(|(_, ceiling)| cost > *ceiling)
    .min_by_key(|(_, ceiling)| *ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 20_784 * DAY_US + DAY_US / 2;

    fn limits(per_minute: u32, per_day: u32) -> Limits {
        Limits::new(per_minute, per_day).unwrap()
    }

    #[test]
    fn a_refusal_names_the_budget_that_has_to_be_waited_for() {
        // Two seconds before midnight, no unit left in a bucket that gets one a second.
        let now_us = NOON + DAY_US / 2 - 2_000_000;
        let record = Record {
            deficit: 60 * SUB_UNITS,
            last_us: now_us,
            day: 20_784,
            spent: 60,
        };
        let refused = |cost, per_day| match record.charge(now_us, cost, limits(60, per_day)) {
            Outcome::Short {
                budget, wait_us, ..
            } => (budget, wait_us),
            other => panic!("{other:?}"),
        };
        // The day bears one more unit exactly; not one more than that; and then both open at the same moment.
        assert_eq!(refused(Units::new(1), 61), (Budget::Minute, 1_000_000));
        assert_eq!(refused(Units::new(1), 60), (Budget::Day, 2_000_000));
        assert_eq!(refused(Units::new(2), 60), (Budget::Minute, 2_000_000));
    }

    fn admitted(outcome: Outcome) -> Record {
        match outcome {
            Outcome::Admitted { record, .. } => record,
            other => panic!("admitted expected, got {other:?}"),
        }
    }

    fn wait(outcome: Outcome) -> (Budget, u64) {
        match outcome {
            Outcome::Short {
                budget, wait_us, ..
            } => (budget, wait_us),
            other => panic!("short expected, got {other:?}"),
        }
    }

    #[test]
    fn the_whole_bucket_can_be_spent_at_once_and_not_a_unit_more() {
        let l = Limits::default();
        let empty = admitted(Record::default().charge(NOON, Units::new(240), l));
        assert_eq!(
            wait(empty.charge(NOON, Units::new(1), l)),
            (Budget::Minute, 250_000)
        );
        assert_eq!(
            empty.peek(NOON + 250_000, l).minute_remaining(),
            1,
            "a unit is whole exactly then"
        );
        assert_eq!(empty.peek(NOON + 249_999, l).minute_remaining(), 0);
        assert_eq!(empty.peek(NOON, l).minute_full_at_us(), NOON + MINUTE_US);
    }

    #[test]
    fn three_units_left_and_ten_wanted_wait_a_second_and_three_quarters() {
        let l = Limits::default();
        let record = admitted(Record::default().charge(NOON, Units::new(237), l));
        assert_eq!(
            wait(record.charge(NOON, Units::new(10), l)),
            (Budget::Minute, 1_750_000)
        );
    }

    #[test]
    fn a_spent_day_waits_for_midnight_even_when_the_bucket_is_empty_too() {
        let l = limits(240, 240);
        let record = admitted(Record::default().charge(NOON, Units::new(240), l));
        assert_eq!(
            wait(record.charge(NOON, Units::new(10), l)),
            (Budget::Day, DAY_US / 2)
        );
        let midnight = NOON + DAY_US / 2;
        assert!(matches!(
            record.charge(midnight - 1, Units::new(1), l),
            Outcome::Short { .. }
        ));
        let next = admitted(record.charge(midnight, Units::new(10), l));
        assert_eq!((next.day, next.spent), (day_of(midnight), 10));
    }

    #[test]
    fn a_bucket_that_takes_longer_than_midnight_names_the_minute() {
        let l = limits(60, 60);
        let late = NOON + DAY_US / 2 - 1_000_000;
        let record = admitted(Record::default().charge(late, Units::new(60), l));
        assert_eq!(
            wait(record.charge(late, Units::new(10), l)),
            (Budget::Minute, 10_000_000)
        );
    }

    #[test]
    fn a_cost_above_a_ceiling_is_refused_for_good_and_names_the_smaller_one() {
        let cases = [
            ((8, 10_000), 10, Budget::Minute, 8),
            ((240, 5), 10, Budget::Day, 5),
            ((8, 5), 10, Budget::Day, 5),
            ((0, 0), 1, Budget::Minute, 0),
        ];
        for ((per_minute, per_day), cost, budget, ceiling) in cases {
            let l = limits(per_minute, per_day);
            let outcome = Record::default().charge(NOON, Units::new(cost), l);
            assert_eq!(
                outcome,
                Outcome::TooLarge {
                    budget,
                    ceiling: Units::new(ceiling),
                    view: Record::default().peek(NOON, l)
                }
            );
        }
        let day_is_nearly_spent = Record {
            day: day_of(NOON),
            spent: 9_995,
            ..Record::default()
        };
        assert_eq!(
            wait(day_is_nearly_spent.charge(NOON, Units::new(10), Limits::default())).0,
            Budget::Day,
            "what is left of a day is never a permanent refusal"
        );
    }

    #[test]
    fn nothing_is_charged_for_nothing() {
        let l = limits(0, 0);
        let record = Record {
            deficit: 7,
            last_us: 9,
            day: 3,
            spent: 11,
        };
        assert_eq!(admitted(record.charge(NOON, Units::ZERO, l)), record);
    }

    #[test]
    fn a_ceiling_lowered_below_the_debt_is_left_behind_after_a_finite_wait() {
        let record = admitted(Record::default().charge(NOON, Units::new(240), Limits::default()));
        let low = limits(7, 10_000);
        let (_, wait_us) = wait(record.charge(NOON, Units::new(7), low));
        assert_eq!(wait_us, (240 * SUB_UNITS).div_ceil(7));
        let hours_later = NOON + wait_us;
        assert!(matches!(
            record.charge(hours_later - 1, Units::new(7), low),
            Outcome::Short { .. }
        ));
        admitted(record.charge(hours_later, Units::new(7), low));
    }

    #[test]
    fn an_unknown_minute_is_paid_back_in_sixty_seconds_at_any_ceiling() {
        for per_minute in [1, 7, 13, 240, Limits::MAX_PER_MINUTE] {
            let l = limits(per_minute, Limits::MAX_PER_DAY);
            let record = Record {
                deficit: Record::WHOLE_BUCKET,
                last_us: NOON,
                day: day_of(NOON),
                spent: 50,
            };
            let all = Units::new(per_minute);
            assert_eq!(
                wait(record.charge(NOON, all, l)),
                (Budget::Minute, MINUTE_US)
            );
            admitted(record.charge(NOON + MINUTE_US, all, l));
            assert_eq!(record.peek(NOON, l).day_used(), 50);
        }
    }

    #[test]
    fn a_refund_gives_the_minute_what_has_not_refilled_and_the_day_everything() {
        let l = Limits::default();
        let Outcome::Admitted { record, charge, .. } =
            Record::default().charge(NOON, Units::new(10), l)
        else {
            panic!("admitted expected");
        };
        // (microseconds later, deficit in the record, spent)
        for (later, deficit, spent) in [
            (0, 0, 0),
            (1_000_000, 4 * SUB_UNITS, 0),
            (2_500_000, 10 * SUB_UNITS, 0),
            (DAY_US / 2 - 1, 10 * SUB_UNITS, 0),
            (DAY_US / 2, 10 * SUB_UNITS, 10),
        ] {
            let refunded = record.refund(NOON + later, charge, 0);
            assert_eq!(
                (refunded.deficit, refunded.spent),
                (deficit, spent),
                "{later}"
            );
            assert_eq!(refunded.last_us, record.last_us);
        }
        let raised = record.refund(NOON + 1_000_000, charge, 480);
        assert_eq!(raised.deficit, 8 * SUB_UNITS);
    }

    #[test]
    fn idle_means_that_no_ceiling_could_tell() {
        let l = Limits::default();
        let record = admitted(Record::default().charge(NOON, Units::new(10), l));
        let midnight = NOON + DAY_US / 2;
        assert!(!record.is_idle(midnight - 1), "spent today");
        assert!(record.is_idle(midnight));
        let late = admitted(Record::default().charge(midnight - 1, Units::new(10), l));
        assert!(
            !late.is_idle(midnight + MINUTE_US),
            "a ceiling of 1 still sees 9"
        );
        assert!(late.is_idle(midnight - 1 + 10 * SUB_UNITS));
        assert!(
            !record.is_idle(NOON - 1),
            "a clock that stepped back decides nothing"
        );
    }
}
