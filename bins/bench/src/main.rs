#![doc = include_str!("../README.md")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal: the table goes to stdout, what it is doing to stderr"
)]

mod instructions;
mod machine;
mod measure;
mod open;
mod parts;
mod report;
mod row;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;

use crate::{parts::PARTS, report::Section};

/// Counts what is allocated, for bytes an account and the growth of an open index. Without a limit.
#[global_allocator]
static ALLOCATED: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);

/// Measures parts of Brownstone beside their anchors, in one run, and prints ratios.
#[derive(Debug, Parser)]
struct Arguments {
    /// The parts to measure; all of them without one.
    parts: Vec<String>,
    /// Lists the parts and ends.
    #[arg(long)]
    list: bool,
    /// Also puts the sections of these parts into this Markdown file; other sections stay.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Instead, serves this file by a bare handler: an anchor of the part `warm`.
    #[arg(long, value_name = "FILE", hide = true)]
    bare: Option<PathBuf>,
    /// Instead, counts the instructions of the hot paths and compares them with this file. Needs valgrind.
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Puts the counts into the file in place of a comparison.
    #[arg(long, requires = "instructions")]
    accept: bool,
    /// Instead, runs this path for callgrind to count.
    #[arg(long, value_name = "PATH", hide = true)]
    count: Option<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(file) = &arguments.bare {
        return parts::warm::bare(file);
    }
    if let Some(name) = &arguments.count {
        return instructions::one(name);
    }
    if let Some(baseline) = &arguments.instructions {
        return instructions::check(baseline, arguments.accept);
    }
    if arguments.list {
        for part in PARTS {
            println!("{:<10} {}", part.name, part.tells);
        }
        return Ok(());
    }
    let chosen = parts::choose(&arguments.parts)?;
    let mut rows = Vec::new();
    for part in chosen {
        eprintln!("{}: {}", part.name, part.tells);
        let section = Section::measure(part)?;
        if let Some(path) = &arguments.write {
            // Part by part: what took minutes is not lost to a fault in the next one.
            report::put(path, &section)?;
        }
        rows.extend(section.rows);
    }
    println!("{}", machine::describe());
    print!("{}", row::table(&rows, true));
    Ok(())
}
