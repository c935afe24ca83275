#![doc = include_str!("../README.md")]

pub mod admission;
pub mod body;
pub mod directory;
pub mod failure;
pub mod fields;
pub mod lookup;
pub mod resolutions;
pub mod service;
pub mod units;
pub mod usage;

pub use brownstone_accounts::Caller;
pub use failure::Failure;
pub use lookup::Lookups;
pub use resolutions::Resolutions;
pub use service::{Answer, BUILT, Call, Parts, Service};
