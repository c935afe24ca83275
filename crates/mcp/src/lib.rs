#![doc = include_str!("../README.md")]

pub mod arguments;
mod guard;
mod handler;
pub mod mount;
pub mod result;
pub mod tools;

pub use mount::{Mcp, MountError};
