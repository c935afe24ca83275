//! A ledger that fails and hangs when told to.

use std::{collections::BTreeMap, future::pending, sync::Mutex};

use async_trait::async_trait;

use crate::{
    ledger::{LedgerRow, SpentLedger},
    store::QuotaUnavailable,
};

/// What a ledger does with the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    Works,
    Fails,
    FailsAfterWriting,
    HangsBeforeWriting,
    HangsAfterWriting,
    /// Lets others run first.
    Yields,
}

#[derive(Debug, Default)]
struct Inner {
    rows: BTreeMap<String, LedgerRow>,
    mode: Mode,
    reservations: usize,
}

/// A ledger that survives its engines.
#[derive(Debug, Default)]
pub(super) struct TestLedger(Mutex<Inner>);

impl TestLedger {
    pub(super) fn set(&self, mode: Mode) {
        self.0.lock().unwrap().mode = mode;
    }

    fn mode(&self) -> Mode {
        self.0.lock().unwrap().mode
    }

    pub(super) fn reservations(&self) -> usize {
        self.0.lock().unwrap().reservations
    }

    fn note(&self, account: &str, day: u32, spent: u32) {
        let mut inner = self.0.lock().unwrap();
        let row = inner
            .rows
            .entry(account.to_owned())
            .or_insert_with(|| LedgerRow {
                account: account.to_owned(),
                day,
                spent,
                minute: None,
            });
        if day >= row.day {
            row.spent = if day == row.day {
                spent.max(row.spent)
            } else {
                spent
            };
            row.day = day;
            row.minute = None;
        }
    }
}

#[async_trait]
impl SpentLedger for TestLedger {
    async fn load(&self, from_day: u32) -> Result<Vec<LedgerRow>, QuotaUnavailable> {
        let inner = self.0.lock().unwrap();
        let rows = inner.rows.values().filter(|row| row.day >= from_day);
        Ok(rows.cloned().collect())
    }

    async fn reserve(
        &self,
        account: &str,
        day: u32,
        spent_up_to: u32,
    ) -> Result<(), QuotaUnavailable> {
        self.0.lock().unwrap().reservations += 1;
        match self.mode() {
            Mode::Works => {}
            Mode::Fails => return Err(QuotaUnavailable::silent("told to fail")),
            Mode::FailsAfterWriting => {
                self.note(account, day, spent_up_to);
                return Err(QuotaUnavailable::silent("told to fail"));
            }
            Mode::HangsBeforeWriting => pending::<()>().await,
            Mode::HangsAfterWriting => {
                self.note(account, day, spent_up_to);
                pending::<()>().await;
            }
            Mode::Yields => {
                tokio::task::yield_now().await;
                if self.mode() == Mode::Fails {
                    return Err(QuotaUnavailable::silent("told to fail"));
                }
            }
        }
        self.note(account, day, spent_up_to);
        Ok(())
    }

    async fn settle(&self, rows: &[LedgerRow]) -> Result<(), QuotaUnavailable> {
        if self.mode() == Mode::Fails {
            return Err(QuotaUnavailable::silent("told to fail"));
        }
        self.0.lock().unwrap().rows = rows
            .iter()
            .map(|row| (row.account.clone(), row.clone()))
            .collect();
        Ok(())
    }
}
