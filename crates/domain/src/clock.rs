//! Time, handed in. Seven days and midnight UTC are tests, not waits.

use time::OffsetDateTime;

/// Where the product reads the time of day.
///
/// Every crate takes one of these instead of asking the system, so that a test can move time by hand.
/// It may step back (a corrected wall clock); whoever needs monotonic time clamps.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The present moment, in UTC.
    fn now(&self) -> OffsetDateTime;

    /// Microseconds since the Unix epoch; what the budgets count in.
    fn now_us(&self) -> u64 {
        micros_since_epoch(self.now())
    }
}

/// Microseconds from the Unix epoch to `at`; moments before the epoch count as 0.
///
/// ```
/// use brownstone_domain::clock::micros_since_epoch;
/// use time::macros::datetime;
/// assert_eq!(micros_since_epoch(datetime!(1970-01-01 0:00:01.5 UTC)), 1_500_000);
/// ```
pub fn micros_since_epoch(at: OffsetDateTime) -> u64 {
    u64::try_from(at.unix_timestamp_nanos() / 1_000).unwrap_or(0)
}

/// The moment `micros` microseconds after the Unix epoch, `None` past the year 9999.
///
/// ```
/// use brownstone_domain::clock::{from_micros, micros_since_epoch};
/// let at = from_micros(1_795_000_000_123_456).unwrap();
/// assert_eq!(micros_since_epoch(at), 1_795_000_000_123_456);
/// assert!(from_micros(u64::MAX).is_none());
/// ```
pub fn from_micros(micros: u64) -> Option<OffsetDateTime> {
    let seconds = i64::try_from(micros / 1_000_000).ok()?;
    let rest = u32::try_from(micros % 1_000_000).ok()?;
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()?
        .replace_microsecond(rest)
        .ok()
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }
}

/// A clock that stands still until a test moves it.
///
/// ```
/// use brownstone_domain::{Clock, ManualClock};
/// use time::{Duration, macros::datetime};
/// let clock = ManualClock::at(datetime!(2026-11-27 12:00 UTC));
/// clock.advance(Duration::days(7));
/// assert_eq!(clock.now(), datetime!(2026-12-04 12:00 UTC));
/// ```
#[cfg(feature = "test-clock")]
#[derive(Debug)]
pub struct ManualClock(std::sync::Mutex<OffsetDateTime>);

#[cfg(feature = "test-clock")]
impl ManualClock {
    /// A clock that shows `at`.
    pub fn at(at: OffsetDateTime) -> Self {
        Self(std::sync::Mutex::new(at))
    }

    /// Moves the clock by `by`, backwards when negative.
    pub fn advance(&self, by: time::Duration) {
        let mut now = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *now += by;
    }

    /// Puts the clock to `at`.
    pub fn set(&self, at: OffsetDateTime) {
        *self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = at;
    }
}

#[cfg(feature = "test-clock")]
impl Clock for ManualClock {
    fn now(&self) -> OffsetDateTime {
        *self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
