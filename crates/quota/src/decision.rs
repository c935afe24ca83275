//! The outcome of a charge, and what to tell the caller about both budgets.

use std::sync::OnceLock;

use brownstone_domain::{Limits, Units};

use crate::{
    key::{KeyRef, Name},
    record::{DAY_US, MINUTE_US, Outcome, Record, SUB_UNITS, day_end_us},
};

const SECOND_US: u64 = 1_000_000;

/// One of the two budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Budget {
    /// The token bucket: full capacity comes back continuously over 60 s.
    Minute,
    /// The ceiling of a UTC day; it starts anew at 00:00 UTC.
    Day,
}

impl Budget {
    /// Both, in the order the fields list them.
    pub const ALL: [Self; 2] = [Self::Minute, Self::Day];

    /// The policy's name in the RateLimit fields.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Day => "day",
        }
    }

    /// The window in seconds.
    ///
    /// ```
    /// use brownstone_quota::Budget;
    /// assert_eq!(Budget::ALL.map(Budget::window_seconds), [60, 86_400]);
    /// ```
    pub const fn window_seconds(self) -> u64 {
        match self {
            Self::Minute => MINUTE_US / SECOND_US,
            Self::Day => DAY_US / SECOND_US,
        }
    }

    /// The ceiling, in units.
    pub const fn ceiling(self, limits: Limits) -> u32 {
        match self {
            Self::Minute => limits.per_minute(),
            Self::Day => limits.per_day(),
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Both budgets of one account at one moment, under the limits it was asked with.
///
/// ```
/// use brownstone_domain::Limits;
/// use brownstone_quota::{Budget, Record};
///
/// let view = Record::default().peek(0, Limits::default());
/// assert_eq!((view.minute_remaining(), view.daily_remaining(), view.day_used()), (240, 10_000, 0));
/// assert_eq!(view.budget(Budget::Minute).limit, 240);
/// assert_eq!(view.day_resets_at_us(), 86_400_000_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    limits: Limits,
    /// What the clock said.
    now_us: u64,
    /// The record as of then.
    settled: Record,
}

/// One budget of a [`View`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetView {
    /// Which of the two.
    pub budget: Budget,
    /// `q`: units the budget allots.
    pub limit: u64,
    /// `r`: whole units left.
    pub remaining: u64,
    /// `w`: window in seconds.
    pub window_seconds: u64,
}

impl View {
    /// The view of `record` at `now_us`, in microseconds since the Unix epoch.
    pub fn of(record: &Record, now_us: u64, limits: Limits) -> Self {
        Self {
            limits,
            now_us,
            settled: record.settled(now_us, limits),
        }
    }

    /// The view of a record that is settled at `now_us` already.
    pub(crate) const fn of_settled(settled: Record, now_us: u64, limits: Limits) -> Self {
        Self {
            limits,
            now_us,
            settled,
        }
    }

    /// The limits in force.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// One of the budgets.
    pub fn budget(&self, budget: Budget) -> BudgetView {
        BudgetView {
            budget,
            limit: u64::from(budget.ceiling(self.limits)),
            remaining: match budget {
                Budget::Minute => self.minute_remaining(),
                Budget::Day => self.daily_remaining(),
            },
            window_seconds: budget.window_seconds(),
        }
    }

    /// Whole units left in the bucket.
    pub fn minute_remaining(&self) -> u64 {
        u64::from(self.limits.per_minute()).saturating_sub(self.settled.deficit.div_ceil(SUB_UNITS))
    }

    /// Units left of the day.
    pub fn daily_remaining(&self) -> u64 {
        u64::from(self.limits.per_day().saturating_sub(self.settled.spent))
    }

    /// Units spent today. After a ceiling was lowered it may be above the ceiling.
    pub fn day_used(&self) -> u64 {
        u64::from(self.settled.spent)
    }

    /// The UTC day of these numbers, in days since the Unix epoch. For an admitted charge it is the day that was charged.
    pub const fn day(&self) -> u32 {
        self.settled.day
    }

    /// Units that come back to the bucket each second.
    pub fn refill_per_second(&self) -> f64 {
        f64::from(self.limits.per_minute()) / 60.0
    }

    /// When the bucket is full again if nothing is spent, in microseconds since the Unix epoch. A bucket of no capacity
    /// counts as full.
    pub fn minute_full_at_us(&self) -> u64 {
        let refill_us = match u64::from(self.limits.per_minute()) {
            0 => 0,
            per_minute => self.settled.deficit.div_ceil(per_minute),
        };
        self.settled.last_us.saturating_add(refill_us)
    }

    /// The next 00:00 UTC, in microseconds since the Unix epoch.
    pub fn day_resets_at_us(&self) -> u64 {
        day_end_us(self.settled.day)
    }

    /// The budget to report where only one is reported: the one with fewer units left, or with the larger `t` on a tie.
    pub fn tighter(&self) -> Budget {
        let minute = (
            self.minute_remaining(),
            self.effective_seconds(Budget::Minute),
        );
        let day = (self.daily_remaining(), self.effective_seconds(Budget::Day));
        if day.0 < minute.0 || (day.0 == minute.0 && day.1 > minute.1) {
            Budget::Day
        } else {
            Budget::Minute
        }
    }

    /// `t` of a budget: the seconds within which a caller should use no more than what is left, at least 1.
    ///
    /// For the day, what remains of it. For the minute, the time in which the units left refill, so that a caller who
    /// spreads them over `t` spends exactly at the refill rate; where none is left, the time to the next whole unit.
    pub fn effective_seconds(&self, budget: Budget) -> u64 {
        let seconds = match budget {
            Budget::Day => seconds_until(self.day_resets_at_us(), self.now_us),
            Budget::Minute => {
                let per_minute = u64::from(self.limits.per_minute());
                match self.minute_remaining() {
                    // Nothing ever comes back to a bucket of no capacity: its window is as good as any number.
                    0 if per_minute == 0 => Budget::Minute.window_seconds(),
                    0 => {
                        let owed = self
                            .settled
                            .deficit
                            .saturating_sub((per_minute - 1) * SUB_UNITS);
                        let at = self
                            .settled
                            .last_us
                            .saturating_add(owed.div_ceil(per_minute));
                        seconds_until(at, self.now_us)
                    }
                    left => (left * Budget::Minute.window_seconds()).div_ceil(per_minute),
                }
            }
        };
        seconds.max(1)
    }
}

/// Seconds from `now_us` to `at_us`, rounded up: rounding down names a moment before it.
fn seconds_until(at_us: u64, now_us: u64) -> u64 {
    at_us.saturating_sub(now_us).div_ceil(SECOND_US)
}

/// What was charged, when, and under which limits: all a refund needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// Units charged.
    pub cost: Units,
    /// When it was charged, in microseconds since the Unix epoch.
    pub charged_at_us: u64,
    /// The UTC day that was charged, in days since the Unix epoch.
    pub day: u32,
    /// The limits at the charge.
    pub limits: Limits,
}

impl Charge {
    /// The charge that left this record.
    #[inline]
    pub(crate) const fn of(after: &Record, cost: Units, limits: Limits) -> Self {
        Self {
            cost,
            charged_at_us: after.last_us,
            day: after.day,
            limits,
        }
    }
}

/// Proof of one charge. It can be given back once: it is not `Clone`, and a refund consumes it. Dropping it keeps the
/// charge.
///
/// ```
/// use std::sync::Arc;
/// use brownstone_domain::{Limits, SystemClock, Units};
/// use brownstone_quota::{Decision, MemoryQuota, QuotaStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let quota = MemoryQuota::new(Arc::new(SystemClock));
/// let decision = quota.charge("account", Units::new(10), Limits::default()).await.unwrap();
/// let Decision::Admitted { receipt, .. } = decision else { panic!("a fresh account") };
/// assert_eq!((receipt.account(), receipt.cost()), ("account", Units::new(10)));
/// quota.refund(receipt).await.unwrap();
/// assert_eq!(quota.peek("account", Limits::default()).await.unwrap().day_used(), 0);
/// # }
/// ```
pub struct Receipt {
    account: Name,
    /// The account's text, once it was asked for. Few receipts are.
    text: OnceLock<Box<str>>,
    charge: Charge,
}

impl PartialEq for Receipt {
    fn eq(&self, other: &Self) -> bool {
        (&self.account, self.charge) == (&other.account, other.charge)
    }
}

impl Eq for Receipt {}

impl std::fmt::Debug for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receipt")
            .field("account", &self.account())
            .field("charge", &self.charge)
            .finish()
    }
}

impl Receipt {
    /// A receipt; for stores.
    #[inline]
    pub fn new(account: &str, charge: Charge) -> Self {
        Self {
            account: Name::from(KeyRef::new(account)),
            text: OnceLock::new(),
            charge,
        }
    }

    /// The account in the form it is kept in.
    pub(crate) fn key(&self) -> KeyRef<'_> {
        self.account.key()
    }

    /// The account that was charged.
    pub fn account(&self) -> &str {
        match &self.account {
            Name::Text(text) => text,
            name => self.text.get_or_init(|| name.key().text().into()),
        }
    }

    /// What was charged.
    pub const fn charge(&self) -> Charge {
        self.charge
    }

    /// Units charged.
    pub const fn cost(&self) -> Units {
        self.charge.cost
    }
}

/// The outcome of a charge.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// Both budgets were charged.
    Admitted {
        /// Gives the charge back if the call fails.
        receipt: Receipt,
        /// Both budgets after the charge.
        view: View,
    },
    /// A budget lacks units for now. Nothing was charged.
    Short {
        /// The budget that keeps the caller waiting longest.
        budget: Budget,
        /// Microseconds until the same charge is admitted if nothing else happens.
        wait_us: u64,
        /// Both budgets as they are.
        view: View,
    },
    /// The cost exceeds a whole ceiling: waiting does not help. Nothing was charged.
    TooLarge {
        /// The budget that cannot hold the cost; the smaller one where neither can.
        budget: Budget,
        /// Its ceiling.
        ceiling: Units,
        /// Both budgets as they are.
        view: View,
    },
}

impl Decision {
    /// A charge that was admitted and left this record.
    #[inline]
    pub(crate) fn admitted(
        account: KeyRef<'_>,
        after: Record,
        now_us: u64,
        cost: Units,
        limits: Limits,
    ) -> Self {
        Self::Admitted {
            receipt: Receipt {
                account: account.into(),
                text: OnceLock::new(),
                charge: Charge::of(&after, cost, limits),
            },
            view: View::of_settled(after, now_us, limits),
        }
    }

    /// Both budgets as the decision left them.
    pub const fn view(&self) -> &View {
        match self {
            Self::Admitted { view, .. }
            | Self::Short { view, .. }
            | Self::TooLarge { view, .. } => view,
        }
    }

    /// Whole seconds to wait before the same call, rounded up and at least 1; `None` where waiting does not help: the
    /// call was admitted, or never will be.
    ///
    /// ```
    /// use brownstone_domain::{Limits, Units};
    /// use brownstone_quota::{Outcome, Record};
    ///
    /// let limits = Limits::default();
    /// let Outcome::Admitted { record, .. } = Record::default().charge(0, Units::new(237), limits) else {
    ///     panic!("a fresh account can afford 237 units");
    /// };
    /// // 7 units are missing, and 4 come back each second: 1.75 s.
    /// let refused = record.charge(0, Units::new(10), limits).into_decision("account");
    /// assert_eq!(refused.retry_after_seconds(), Some(2));
    /// let never = record.charge(0, Units::new(241), limits).into_decision("account");
    /// assert_eq!(never.retry_after_seconds(), None);
    /// ```
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self {
            Self::Short { wait_us, .. } => Some(wait_us.div_ceil(SECOND_US).max(1)),
            Self::Admitted { .. } | Self::TooLarge { .. } => None,
        }
    }
}

impl Outcome {
    /// The decision for `account`, with a receipt where it was admitted.
    #[inline]
    pub fn into_decision(self, account: &str) -> Decision {
        match self {
            Self::Admitted { charge, view, .. } => Decision::Admitted {
                receipt: Receipt::new(account, charge),
                view,
            },
            Self::Short {
                budget,
                wait_us,
                view,
            } => Decision::Short {
                budget,
                wait_us,
                view,
            },
            Self::TooLarge {
                budget,
                ceiling,
                view,
            } => Decision::TooLarge {
                budget,
                ceiling,
                view,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 20_784 * DAY_US + DAY_US / 2;

    #[test]
    fn the_minutes_t_is_the_time_its_units_take_to_grow_back() {
        // (units spent, r, t)
        for (spent, r, t) in [(10, 230, 58), (239, 1, 1), (240, 0, 1), (0, 240, 60)] {
            let record = Record {
                deficit: spent * SUB_UNITS,
                last_us: NOON,
                ..Record::default()
            };
            let view = record.peek(NOON, Limits::default());
            assert_eq!(view.minute_remaining(), r);
            assert_eq!(view.effective_seconds(Budget::Minute), t);
        }
    }

    #[test]
    fn a_view_tells_what_was_spent_and_how_fast_it_grows_back() {
        for (per_minute, per_second) in [(0, 0.0), (30, 0.5), (240, 4.0)] {
            let limits = Limits::new(per_minute, 10_000).unwrap();
            let record = Record {
                day: 20_784,
                spent: 7,
                last_us: NOON,
                ..Record::default()
            };
            let view = record.peek(NOON, limits);
            assert_eq!(view.refill_per_second().to_bits(), f64::to_bits(per_second));
            assert_eq!((view.day_used(), view.daily_remaining()), (7, 9_993));
        }
        let names = Budget::ALL.map(|budget| budget.to_string());
        assert_eq!(names, ["minute", "day"]);
    }

    #[test]
    fn a_receipt_keeps_the_account_however_long_its_name() {
        let charge = Charge {
            cost: Units::new(1),
            charged_at_us: NOON,
            day: 0,
            limits: Limits::default(),
        };
        for name in ["", "a", "0192f0c1-2345-7890-abcd-ef0123456789"]
            .map(str::to_owned)
            .into_iter()
            .chain([38, 39, 40, 400].map(|len| "x".repeat(len)))
            .chain([18, 19, 20].map(|len| "é".repeat(len)))
        {
            let receipt = Receipt::new(&name, charge);
            assert_eq!(receipt.account(), name);
            assert!(format!("{receipt:?}").contains(&format!("{name:?}")));
        }
    }

    #[test]
    fn a_slow_bucket_says_when_its_next_unit_is_whole() {
        let limits = Limits::new(1, 10).unwrap();
        let record = Record {
            deficit: SUB_UNITS,
            last_us: NOON,
            ..Record::default()
        };
        assert_eq!(
            record.peek(NOON, limits).effective_seconds(Budget::Minute),
            60
        );
        let later = record.peek(NOON + 30_000_001, limits);
        assert_eq!(later.effective_seconds(Budget::Minute), 30);
    }

    #[test]
    fn the_tighter_budget_has_fewer_units_or_on_a_tie_the_longer_t() {
        let cases = [
            (240, 10_000, Budget::Minute),
            (240, 35, Budget::Day),
            (240, 240, Budget::Day),
        ];
        for (per_minute, per_day, tighter) in cases {
            let limits = Limits::new(per_minute, per_day).unwrap();
            assert_eq!(Record::default().peek(NOON, limits).tighter(), tighter);
        }
        // Thirty units left of both: the day's t is what remains of it, the minute's 30 seconds.
        let limits = Limits::new(60, 30).unwrap();
        let record = Record {
            deficit: 30 * SUB_UNITS,
            ..Record::default()
        };
        for (seconds, tighter) in [
            (10, Budget::Minute),
            (30, Budget::Minute),
            (31, Budget::Day),
        ] {
            let now_us = NOON + DAY_US / 2 - seconds * SECOND_US;
            let record = Record {
                last_us: now_us,
                ..record
            };
            let view = record.peek(now_us, limits);
            assert_eq!((view.minute_remaining(), view.daily_remaining()), (30, 30));
            assert_eq!(view.tighter(), tighter, "{seconds} seconds before midnight");
        }
    }

    #[test]
    fn receipts_are_equal_where_account_and_charge_are() {
        let charge = Charge {
            cost: Units::new(1),
            charged_at_us: NOON,
            day: 0,
            limits: Limits::default(),
        };
        let dearer = Charge {
            cost: Units::new(2),
            ..charge
        };
        let receipt = Receipt::new("a", charge);
        assert_eq!(receipt.account(), "a");
        // That one was asked for its text makes no difference.
        assert_eq!(receipt, Receipt::new("a", charge));
        assert_ne!(receipt, Receipt::new("b", charge));
        assert_ne!(receipt, Receipt::new("a", dearer));
    }

    #[test]
    fn budgets_without_capacity_are_told_without_dividing_by_it() {
        let limits = Limits::new(0, 0).unwrap();
        let record = Record {
            deficit: 5,
            last_us: NOON,
            ..Record::default()
        };
        let view = record.peek(NOON, limits);
        assert_eq!(view.effective_seconds(Budget::Minute), 60);
        assert_eq!(view.minute_full_at_us(), NOON);
        assert_eq!((view.minute_remaining(), view.daily_remaining()), (0, 0));
    }

    #[test]
    fn a_clock_behind_the_record_counts_from_its_own_reading() {
        let record = Record {
            deficit: 240 * SUB_UNITS,
            last_us: NOON,
            ..Record::default()
        };
        let behind = NOON - 10_000_000;
        let view = record.peek(behind, Limits::default());
        assert_eq!(view.effective_seconds(Budget::Minute), 11);
        assert_eq!(view.minute_full_at_us(), NOON + MINUTE_US);
    }
}
