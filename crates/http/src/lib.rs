#![doc = include_str!("../README.md")]

pub mod app;
pub mod edge;
pub mod metrics;
mod pieces;
pub mod request;
pub mod respond;

pub use app::{Api, Mount, Readiness, serve};
