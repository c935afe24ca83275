#![doc = include_str!("../README.md")]

pub mod api;
pub mod query;
