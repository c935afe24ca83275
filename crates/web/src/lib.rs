#![doc = include_str!("../README.md")]

pub mod chart;
pub mod edge;
pub mod form;
pub mod host;
mod pace;
pub mod page;
pub mod pages;
pub mod report;
pub mod text;
pub mod visitor;

pub use host::{Host, serve};
