#![doc = include_str!("../README.md")]

pub mod model;
pub mod traits;
