#![doc = include_str!("../README.md")]

mod area;
#[cfg(test)]
#[path = "../../../tests/at_hand.rs"]
mod at_hand;
mod fold;
mod fuzzy;
pub mod geocoder;
pub mod geosearch;
pub mod house;
pub mod pad;
pub mod parse;
pub mod resolver;
mod text;
mod words;

pub use area::outside_place;
