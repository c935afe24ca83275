#![doc = include_str!("../README.md")]

pub mod app;
pub mod edge;
pub mod errors_page;
pub mod metrics;
pub mod openapi;
mod pieces;
pub mod request;
pub mod respond;

pub use app::{Api, Mount, Readiness, serve};
pub use edge::Traffic;
