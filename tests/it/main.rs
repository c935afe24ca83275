//! Drives the real program over HTTP: the sample city behind it, a clock in the test's hand.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that is skipped says so"
)]

mod addresses;
mod budget;
mod credentials;
mod harness;
mod import;
mod lifecycle;
mod operator;
mod real_rows;
mod rest;
mod shared_database;
mod sources;
