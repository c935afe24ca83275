#![doc = include_str!("../README.md")]

pub mod body;
mod connections;
pub mod encodings;
mod framing;
pub mod request;
mod server;
mod turns;

pub use body::{BodyFault, read};
pub use connections::{Limits, listen};
pub use request::{Refusal, refusal};
pub use server::serve;
