#![doc = include_str!("../README.md")]

mod acris;
#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
mod built_in;
pub mod canary;
mod catalogue;
mod corporations;
mod deps;
pub mod directory;
pub mod flood;
pub mod gated;
mod generic;
mod keys;
mod matching;
pub mod metrics;
mod order;
pub mod page;
pub mod registry;
mod shape;
pub mod source;
pub mod subject;
mod subway;
mod summary;

pub use catalogue::CatalogueError;
pub use deps::{Deps, NoUpdates, Publisher, Updates};
pub use directory::{Directory, Footprint, Lot};
pub use flood::FloodZones;
pub use gated::GatedSource;
pub use registry::{Deadlines, Registry};
pub use source::{FieldInfo, FieldKind, LotKind, Source, SourceInfo};
pub use subject::Subject;

/// Every built-in source, in the order of the report.
///
/// # Errors
/// When a file of the catalogue is wrong: the program was built so, and should not start.
pub fn catalogue(deps: Deps) -> Result<Registry, CatalogueError> {
    built_in::registry(deps)
}

#[cfg(test)]
mod tests;
