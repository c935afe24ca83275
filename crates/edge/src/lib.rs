#![doc = include_str!("../README.md")]

pub mod body;
pub mod connections;
pub mod request;

pub use body::{BodyFault, read};
pub use connections::{Connections, Limits, listen};
pub use request::{Refusal, refusal};
