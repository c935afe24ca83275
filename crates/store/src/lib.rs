#![doc = include_str!("../README.md")]

mod account_rows;
mod accounts;
mod address;
mod audit;
mod backup;
mod error;
mod index_files;
mod leases;
mod listings;
mod migrate;
mod moment;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod quota;
mod rates;
mod reports;
mod requests;
mod schema;
mod shared_quota;
mod sign_in;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stamp;
mod store;
#[cfg(feature = "postgres")]
mod tls;
mod usage;

#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
#[cfg(test)]
mod cut_off;
#[cfg(all(test, feature = "sqlite"))]
mod durability;
#[cfg(test)]
extern crate self as brownstone_store;
#[cfg(test)]
#[path = "../tests/conformance/harness.rs"]
mod harness;

pub use error::{
    BackupError, IndexFileError, MigrateError, StampError, StoreOpenError, Unavailable,
};
pub use index_files::IndexVersion;
#[cfg(feature = "postgres")]
pub use shared_quota::PostgresQuota;
#[cfg(feature = "redis")]
pub use shared_quota::RedisQuota;
#[cfg(feature = "test-clock")]
pub use shared_quota::redis_quota_reading;
pub use shared_quota::{SharedQuotaOptions, redis_quota};
pub use stamp::DatabaseKind;
pub use store::{Store, StoreOptions};
