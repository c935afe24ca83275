//! The city's Property Address Directory (PAD): its files, and the index built from them.
//!
//! [`PadIndex::read`] takes the three files of a release, [`PadIndex::open_dir`] finds them in a folder,
//! [`PadIndex::save`] writes the index as one file and [`PadIndex::open`] maps such a file into memory.

mod build;
mod canonical;
mod error;
mod files;
mod format;
mod index;
mod lots;
mod rows;
mod snd;

pub use self::{
    error::{BadLine, PadError, PadStats},
    index::PadIndex,
};
pub(crate) use self::{
    format::{BuildingRecord, NO_ROW, RowRecord},
    index::{Posting, bbl_number, bbl_of, bin_of},
    rows::AddressKind,
};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod traps;
