#![doc = include_str!("../README.md")]

pub mod api;
pub mod query;

pub use api::{Metadata, Row, Rows, Soda, SodaError};
pub use query::{Column, Condition, DatasetId, Literal, Query, QueryError, Select};
