//! Homes for sale and for rent in the made-up city: invented listings on its buildings, as a multiple listing service
//! keeps them. No person is named.

mod address;
mod book;
mod fields;
mod generate;
mod offers;
mod rentcast;
#[cfg(test)]
mod tests;

pub use book::{ListingError, Listings};
pub(crate) use rentcast::{Offer, records as rentcast_records};
