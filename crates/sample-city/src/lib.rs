#![doc = include_str!("../README.md")]

#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
mod buildings;
mod city;
mod control;
mod day;
mod generate;
#[cfg(test)]
mod golden;
mod issuer;
mod listings;
mod market;
mod odata;
mod pad;
mod seed;
mod server;
mod soql;
mod spec;
mod street;
mod table;
mod template;

pub use control::{
    Control, EVERY_DATASET, FLOOD, FRED, Fault, FaultKind, GEOSEARCH, PMMS, RENTCAST, RESO,
    RESO_TOKENS, VIEWS,
};
pub use issuer::{Issuer, IssuerError, Signed};
pub use listings::{ListingError, Listings};
pub use pad::pad_files;
pub use server::{
    OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, RENTCAST_KEY, RESO_CLIENT_ID, RESO_CLIENT_SECRET,
    RESO_TOKEN, SampleCity,
};
pub use table::{ColumnType, UnknownType};

/// The ids of the datasets the city has.
pub fn dataset_ids() -> Vec<&'static str> {
    city::dataset_ids().collect()
}
