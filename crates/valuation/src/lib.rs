#![doc = include_str!("../README.md")]

#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
pub mod backtest;
pub mod class;
pub mod clean;
pub mod comps;
pub mod estimate;
pub mod index;
pub mod lot;
pub mod lots;
pub mod model;
pub mod read;
pub mod rents;
pub mod sale;
pub mod sync;

pub use class::{BuildingClass, Kind, Segment, TaxClass};
pub use clean::{Exclusions, Reason, TOKEN_PRICE, TOKEN_PRICE_A_DWELLING};
pub use index::{IndexError, SalesIndex};
pub use lot::{Lot, Place};
pub use lots::Lots;
pub use read::{Loaded, ReadError, load, read_text, read_texts};
pub use sale::{
    BuildingKey, Flags, Sale, SaleId, TextRef, Texts, block_of, day_number, lot_number,
};
