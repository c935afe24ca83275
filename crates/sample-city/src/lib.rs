#![doc = include_str!("../README.md")]

mod buildings;
mod city;
mod control;
mod day;
mod generate;
#[cfg(test)]
mod golden;
mod pad;
mod seed;
mod server;
mod soql;
mod spec;
mod street;
mod table;
mod template;

pub use control::{Control, EVERY_DATASET, FLOOD, Fault, FaultKind, GEOSEARCH, VIEWS};
pub use pad::pad_files;
pub use server::SampleCity;
pub use table::{ColumnType, UnknownType};

/// The ids of the datasets the city has.
pub fn dataset_ids() -> Vec<&'static str> {
    city::dataset_ids().collect()
}
