#![doc = include_str!("../README.md")]

pub mod admission;
pub mod body;
pub mod comps;
pub mod directory;
pub mod failure;
pub mod fields;
pub mod listing_job;
pub mod listing_source;
pub mod lookup;
pub mod metrics;
pub mod rates;
pub mod rentals;
pub mod resolutions;
pub mod search;
pub mod service;
pub mod trace;
pub mod units;
pub mod updates;
pub mod usage;

pub use brownstone_accounts::Caller;
pub use brownstone_sources::{FieldInfo, FieldKind, SourceInfo};
pub use comps::{Comps, Market};
pub use failure::Failure;
pub use lookup::{Kept, Lookups};
pub use rentals::Rentals;
pub use resolutions::Resolutions;
pub use service::{Answer, Call, PackedPiece, Parts, Service};
