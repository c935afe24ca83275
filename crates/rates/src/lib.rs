#![doc = include_str!("../README.md")]

pub mod answer;
#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
#[cfg(feature = "contract")]
pub mod contract;
pub mod due;
pub mod feeds;
pub mod limits;
pub mod observation;
pub mod payment;
pub mod rates;
pub mod scenario;
pub mod series;
pub mod store;

pub use feeds::{FeedError, Feeds, Fred, Source};
pub use limits::{ConformingLimits, LimitsError};
pub use rates::{Rates, RatesError, Synced};
pub use store::{Kept, MemoryRates, RateStore, RateStoreError};
