#![doc = include_str!("../README.md")]

mod account_rows;
mod accounts;
mod address;
mod backup;
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
mod shared_quota;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stamp;
mod store;
mod usage;

#[cfg(test)]
mod cut_off;
#[cfg(all(test, feature = "sqlite"))]
mod durability;
#[cfg(test)]
extern crate self as brownstone_store;
#[cfg(test)]
#[path = "../tests/conformance/harness.rs"]
mod harness;

pub use error::{BackupError, MigrateError, StampError, StoreOpenError, Unavailable};
#[cfg(feature = "postgres")]
pub use shared_quota::PostgresQuota;
#[cfg(feature = "redis")]
pub use shared_quota::RedisQuota;
pub use shared_quota::{SharedQuotaOptions, redis_quota};
pub use stamp::DatabaseKind;
pub use store::{Store, StoreOptions};
