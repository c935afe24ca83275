#![doc = include_str!("../README.md")]

pub mod class;
pub mod clean;
pub mod lot;
pub mod read;
pub mod sale;

pub use class::{BuildingClass, Kind, Segment, TaxClass};
pub use clean::{Exclusions, Reason, TOKEN_PRICE};
pub use lot::{Lot, Place};
pub use read::{Loaded, ReadError, load, read_text};
pub use sale::{BuildingKey, Flags, Sale, SaleId, TextRef, Texts, block_of, lot_number};
