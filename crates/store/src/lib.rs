#![doc = include_str!("../README.md")]

mod account_rows;
mod accounts;
mod address;
mod error;
mod leases;
mod migrate;
mod moment;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod quota;
mod reports;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stamp;
mod store;
mod usage;

#[cfg(test)]
mod cut_off;
#[cfg(test)]
extern crate self as brownstone_store;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../tests/conformance/harness.rs"]
mod harness;

pub use error::{MigrateError, StampError, StoreOpenError, Unavailable};
pub use stamp::DatabaseKind;
pub use store::{Store, StoreOptions};
