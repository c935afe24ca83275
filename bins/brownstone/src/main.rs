//! `brownstone`: reads the configuration, builds the parts, wires them, runs. No rule of the product lives here.

mod addresses;
mod clock;
mod commands;
mod config;
mod issuer;
mod listings;
mod logging;
mod metrics;
mod open_files;
mod parts;
mod people;
mod rates;
mod sales;
mod sample;
mod serve;
mod stop;
mod threads;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::commands::Cli;

/// The system's keeps what large bodies leave behind, in an arena for each of many threads.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match cli.serves() {
        true => threads::giving_way(),
        false => threads::plain(),
    };
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.into()),
    };
    match runtime.block_on(cli.run()) {
        Ok(code) => code,
        Err(error) => fail(&error),
    }
}

/// One line for a person: what went wrong, and why.
fn fail(error: &anyhow::Error) -> ExitCode {
    let name = Cli::command().get_name().to_owned();
    commands::complain(&format!("{name}: {error:#}"));
    ExitCode::FAILURE
}
