//! The catalogue: one TOML file a source, read and checked once at start.

pub(crate) mod check;
mod files;
mod parts;
pub(crate) mod spec;

pub use check::CatalogueError;
pub(crate) use check::{Child, Entry, Lookup, parse};
pub(crate) use files::FILES;
