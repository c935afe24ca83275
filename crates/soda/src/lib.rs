#![doc = include_str!("../README.md")]

mod answer;
pub mod api;
#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
pub mod client;
pub mod freshness;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod name;
pub mod paging;
pub mod query;
#[cfg(test)]
mod testing;

pub use api::{Metadata, Row, Rows, Soda, SodaError};
pub use client::SodaClient;
pub use freshness::Freshness;
pub use paging::{Bounds, Walked, all_rows};
pub use query::{Column, Condition, DatasetId, Literal, Query, QueryError, Select};
