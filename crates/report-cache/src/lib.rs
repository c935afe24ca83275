#![doc = include_str!("../README.md")]

pub mod cache;
mod hot;
pub mod lifecycle;
pub mod metrics;
pub mod packed;
pub mod ready;
pub mod stored;
pub mod traits;

pub use cache::{Assembler, Assembly, CacheConfig, CacheError, ReportCache, Wanted};
pub use lifecycle::{Life, RegistryView, Step, lifecycle};
pub use packed::Packed;
pub use ready::ReadyReport;
pub use stored::StoredReport;
pub use traits::{Lease, ReportStore, StorageError};
