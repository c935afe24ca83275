#![doc = include_str!("../README.md")]

pub mod area;
#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
mod clean;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod diff;
pub mod feed;
pub mod index;
mod listings;
#[cfg(any(test, feature = "contract"))]
pub mod made_up;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod row;
pub mod scan;
pub mod store;

pub use area::{Area, AreaError};
pub use clean::Dropped;
pub use index::{Found, ListingIndex, ListingView, Snapshot};
pub use listings::{CACHED, Entitlement, Listings, NOT_WARM, NotAnArea};
pub use row::{Display, ListingKey, NotAKey, Row, conceal};
