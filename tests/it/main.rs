//! Drives the real program over HTTP: the sample city behind it, a clock in the test's hand.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says what it measured"
)]

mod addresses;
#[path = "../at_hand.rs"]
mod at_hand;
mod budget;
mod budget_crashes;
mod budget_instances;
mod budget_outages;
mod compressed;
mod comps_answers;
mod comps_sync;
mod contract;
mod credentials;
mod edge;
mod faults;
mod guard;
mod harness;
mod hostile_upstreams;
mod import;
mod lifecycle;
mod listings_feeds;
mod listings_search;
mod logs;
mod mcp;
mod metrics;
mod operator;
mod overload;
mod rates;
mod real_rows;
mod rentals;
mod rest;
mod restore;
mod secrets;
mod shared_database;
mod shutdown;
mod soak;
mod sources;
mod telemetry;
mod web;
mod wire;
