#![doc = include_str!("../README.md")]

mod body;
pub mod client;
pub mod error;
mod pace;
pub mod retry;
#[cfg(feature = "sample-server")]
pub mod sample;

pub use client::Client;
pub use error::{ConfigError, Error};
pub use retry::Retry;
