#![doc = include_str!("../README.md")]

#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod decision;
pub mod fields;
mod key;
pub mod ledger;
pub mod memory;
#[cfg(test)]
mod properties;
pub mod record;
pub mod store;

pub use decision::{Budget, BudgetView, Charge, Decision, Receipt, View};
pub use fields::RateLimitFields;
pub use ledger::{LedgerMinute, LedgerRow, SpentLedger};
pub use memory::{AccountRecord, MemoryOptions, MemoryQuota};
pub use record::{Outcome, Record};
pub use store::{QuotaStore, QuotaUnavailable};
