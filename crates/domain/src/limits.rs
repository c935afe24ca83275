//! Units and ceilings.

use serde::{Deserialize, Serialize};

/// Units of budget. One unit is what the cheapest call costs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Units(u32);

impl Units {
    /// No units.
    pub const ZERO: Self = Self(0);

    /// `n` units.
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// The plain number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl std::fmt::Display for Units {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The two ceilings of an account: units per minute (capacity of a bucket that refills continuously over 60 s) and
/// units per UTC day.
///
/// ```
/// use brownstone_domain::Limits;
/// let limits = Limits::default();
/// assert_eq!((limits.per_minute(), limits.per_day()), (240, 10_000));
/// assert!(Limits::new(150_000_001, 1).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    per_minute: u32,
    per_day: u32,
}

/// A ceiling that is too large for the arithmetic of the budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{budget} is {got}; allowed is 0 to {max}")]
pub struct LimitError {
    /// `per_minute` or `per_day`.
    pub budget: &'static str,
    /// What was given.
    pub got: u32,
    /// The largest value allowed.
    pub max: u32,
}

impl Limits {
    /// Units per minute of a new account.
    pub const DEFAULT_PER_MINUTE: u32 = 240;
    /// Units per day of a new account.
    pub const DEFAULT_PER_DAY: u32 = 10_000;
    /// The largest per-minute ceiling: exact in 53-bit arithmetic, which shared stores use.
    pub const MAX_PER_MINUTE: u32 = 150_000_000;
    /// The largest per-day ceiling.
    pub const MAX_PER_DAY: u32 = 4_000_000_000;

    /// Limits within the range the budgets can hold.
    ///
    /// # Errors
    /// Names the budget that is out of range.
    pub const fn new(per_minute: u32, per_day: u32) -> Result<Self, LimitError> {
        if per_minute > Self::MAX_PER_MINUTE {
            return Err(LimitError {
                budget: "per_minute",
                got: per_minute,
                max: Self::MAX_PER_MINUTE,
            });
        }
        if per_day > Self::MAX_PER_DAY {
            return Err(LimitError {
                budget: "per_day",
                got: per_day,
                max: Self::MAX_PER_DAY,
            });
        }
        Ok(Self {
            per_minute,
            per_day,
        })
    }

    /// Units per minute.
    pub const fn per_minute(self) -> u32 {
        self.per_minute
    }

    /// Units per UTC day.
    pub const fn per_day(self) -> u32 {
        self.per_day
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_minute: Self::DEFAULT_PER_MINUTE,
            per_day: Self::DEFAULT_PER_DAY,
        }
    }
}
