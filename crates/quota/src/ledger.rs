//! Where the memory engine writes ahead what accounts spend, so that a crash never gives units back.
//!
//! A ledger that lives as long as its process shows what one has to do:
//!
//! ```
//! use std::{collections::BTreeMap, sync::{Arc, Mutex}};
//! use async_trait::async_trait;
//! use brownstone_domain::{Limits, ManualClock, Units};
//! use brownstone_quota::{LedgerRow, MemoryOptions, MemoryQuota, QuotaStore, QuotaUnavailable, SpentLedger};
//! use time::macros::datetime;
//!
//! #[derive(Default)]
//! struct Notebook(Mutex<BTreeMap<String, LedgerRow>>);
//!
//! #[async_trait]
//! impl SpentLedger for Notebook {
//!     async fn load(&self, from_day: u32) -> Result<Vec<LedgerRow>, QuotaUnavailable> {
//!         let rows = self.0.lock().map_err(QuotaUnavailable::silent)?;
//!         Ok(rows.values().filter(|row| row.day >= from_day).cloned().collect())
//!     }
//!
//!     async fn reserve(&self, account: &str, day: u32, spent_up_to: u32) -> Result<(), QuotaUnavailable> {
//!         let mut rows = self.0.lock().map_err(QuotaUnavailable::silent)?;
//!         let known = rows.get(account).map_or((0, 0), |row| (row.day, row.spent));
//!         let (day, spent) = known.max((day, spent_up_to));
//!         rows.insert(account.into(), LedgerRow { account: account.into(), day, spent, minute: None });
//!         Ok(())
//!     }
//!
//!     async fn settle(&self, exact: &[LedgerRow]) -> Result<(), QuotaUnavailable> {
//!         let mut rows = self.0.lock().map_err(QuotaUnavailable::silent)?;
//!         *rows = exact.iter().map(|row| (row.account.clone(), row.clone())).collect();
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), QuotaUnavailable> {
//! let notebook = Arc::new(Notebook::default());
//! let clock = Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC)));
//! let open = || MemoryQuota::open(clock.clone(), MemoryOptions::default(), notebook.clone());
//! let limits = Limits::default();
//!
//! let quota = open().await?;
//! quota.charge("account", Units::new(10), limits).await?;
//! quota.close().await?;
//! let view = open().await?.peek("account", limits).await?;
//! assert_eq!((view.day_used(), view.minute_remaining()), (10, 230), "exact after a clean stop");
//!
//! let quota = open().await?;
//! quota.charge("account", Units::new(10), limits).await?;
//! drop(quota); // A crash.
//! let view = open().await?.peek("account", limits).await?;
//! assert_eq!(view.day_used(), 50, "the block that was reserved");
//! assert_eq!(view.minute_remaining(), 0, "the last minute is unknown");
//! # Ok(())
//! # }
//! ```

use async_trait::async_trait;

use crate::{
    record::{MINUTE_US, Record, day_of},
    store::QuotaUnavailable,
};

/// One account's line in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The account.
    pub account: String,
    /// UTC day of `spent`, in days since the Unix epoch.
    pub day: u32,
    /// Units spent on `day`, or reserved to be spent: never less than what was.
    pub spent: u32,
    /// The bucket; `None` where it is not known, because the row was reserved and not written at a clean stop.
    pub minute: Option<LedgerMinute>,
}

/// The state of a bucket at a clean stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerMinute {
    /// Sub-units missing as of `last_us`.
    pub deficit: u64,
    /// Microseconds since the Unix epoch of the last charge.
    pub last_us: u64,
}

/// A ledger of spent units. Only one engine at a time writes to it.
///
/// The engine asks for a reservation before it lets an account spend past the last one, once for each block of units, and
/// writes exact rows when it is closed. Units that it could not reserve cannot be spent. An implementation bounds its own
/// time and answers [`QuotaUnavailable::Silent`] past it.
#[async_trait]
pub trait SpentLedger: Send + Sync {
    /// The rows of `from_day` and later days.
    ///
    /// # Errors
    /// When they cannot be read.
    async fn load(&self, from_day: u32) -> Result<Vec<LedgerRow>, QuotaUnavailable>;

    /// Durably notes that the account may have spent up to `spent_up_to` units on `day`.
    ///
    /// It keeps the greater of two values of one day, so that a call that comes late or twice takes nothing back; a later
    /// day replaces an earlier one, never the reverse. It clears the row's `minute`. The call may be dropped before it
    /// ends; it may then take effect or not.
    ///
    /// # Errors
    /// When it is not certain that the note was made.
    async fn reserve(
        &self,
        account: &str,
        day: u32,
        spent_up_to: u32,
    ) -> Result<(), QuotaUnavailable>;

    /// Replaces the whole ledger by `rows`, all or nothing: an account without a row has spent nothing and its bucket is
    /// full.
    ///
    /// # Errors
    /// When it is not certain that the rows were written; the old ones then stand.
    async fn settle(&self, rows: &[LedgerRow]) -> Result<(), QuotaUnavailable>;
}

impl LedgerRow {
    /// The row for a record at `now_us`. It is a row of today, so that the next start reads it whatever the day
    /// of the last charge.
    pub(crate) fn of(account: &str, record: &Record, now_us: u64) -> Self {
        let minute = match record.deficit {
            // Still unknown, unless a minute has passed since the start.
            Record::WHOLE_BUCKET if now_us.saturating_sub(record.last_us) < MINUTE_US => None,
            Record::WHOLE_BUCKET => Some(0),
            deficit => Some(deficit),
        };
        let today = day_of(now_us);
        Self {
            account: account.to_owned(),
            day: record.day.max(today),
            spent: if today > record.day { 0 } else { record.spent },
            minute: minute.map(|deficit| LedgerMinute {
                deficit,
                last_us: record.last_us,
            }),
        }
    }

    /// The record to start from at `now_us`. An unknown bucket counts as spent whole.
    pub(crate) fn to_record(&self, now_us: u64) -> Record {
        let minute = self.minute.unwrap_or(LedgerMinute {
            deficit: Record::WHOLE_BUCKET,
            last_us: now_us,
        });
        Record {
            deficit: minute.deficit,
            last_us: minute.last_us,
            day: self.day,
            spent: self.spent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::DAY_US;

    const NOON: u64 = 20_784 * DAY_US + DAY_US / 2;

    #[test]
    fn a_row_is_of_today_and_yesterdays_units_are_not_in_it() {
        let record = Record {
            deficit: 5,
            last_us: NOON,
            day: 20_784,
            spent: 70,
        };
        // (now, day, spent): the day of the charge, the next one, and a clock that went back to the day before.
        for (now_us, day, spent) in [
            (NOON, 20_784, 70),
            (NOON + DAY_US, 20_785, 0),
            (NOON - DAY_US, 20_784, 70),
        ] {
            let row = LedgerRow::of("a", &record, now_us);
            assert_eq!((row.day, row.spent), (day, spent));
            let minute = LedgerMinute {
                deficit: 5,
                last_us: NOON,
            };
            assert_eq!(row.minute, Some(minute));
        }
    }

    #[test]
    fn an_unknown_bucket_is_full_again_a_minute_after_the_start() {
        let record = Record {
            deficit: Record::WHOLE_BUCKET,
            last_us: NOON,
            ..Record::default()
        };
        let known = |since| LedgerRow::of("a", &record, NOON + since).minute.is_some();
        assert!(!known(MINUTE_US - 1));
        assert!(known(MINUTE_US));
    }
}
