//! A small SoQL engine: text to tree, tree to typed steps, steps over a table.

mod aggregate;
mod ast;
mod check;
mod code;
mod error;
mod functions;
mod lexer;
mod parser;
mod query;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use error::SoqlError;
pub(crate) use query::{Output, answer};
