//! Estimates of value.

mod comparables;
mod hedonic;
mod history;
mod stats;
mod subject;
mod trend;
mod unit;
mod weight;

pub(crate) use comparables::views;
pub use comparables::{Comparable, Evidence, evidence};
pub use hedonic::Hedonic;
pub use history::History;
pub use subject::{Observation, Subject, block_number};
pub use trend::Trend;
pub use unit::UnitPlace;
pub use weight::weight;

pub(crate) use history::Shares;
pub(crate) use stats::{Weighted, median, weighted_quantile};
