//! Texts that are harder than a generated city's: collected ones, and some that were made to cost much.

use brownstone_address::resolver::Resolver;

use super::PART;
use crate::{
    measure::{ROUNDS, Stopwatch},
    row::{Figure, Row, Wanted},
};

/// Texts that people and forms wrote; the first column.
const CASES: &str = include_str!("../../../../../crates/address/tests/data/address-cases.csv");

/// Texts that were made to cost much.
const NASTY: &str = include_str!("../../../../../crates/address/tests/data/nasty.txt");

/// No text may take longer.
const LONGEST_MS: f64 = 5.0;

/// The first column of a comma-separated line, which may be quoted.
fn first_column(line: &str) -> &str {
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
        None => line.split(',').next().unwrap_or(line),
    }
}

/// Measures both on the whole city's index.
pub(super) fn measure(resolver: &Resolver) -> Vec<Row> {
    let cases: Vec<&str> = CASES.lines().skip(1).map(first_column).collect();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let watch = Stopwatch::of_thread();
        for text in &cases {
            // What comes of it is another page's matter.
            let _ = resolver.resolve(text);
        }
        best = best.min(watch.stop().cpu_ms());
    }
    let nasty: Vec<&str> = NASTY.lines().collect();
    let slowest = nasty
        .iter()
        .map(|text| {
            (0..ROUNDS)
                .map(|_| {
                    let watch = Stopwatch::of_thread();
                    let _ = resolver.resolve(text);
                    watch.stop().wall_ms()
                })
                .fold(f64::INFINITY, f64::min)
        })
        .fold(0.0, f64::max);
    let row =
        |what: String, value: f64, unit| Row::alone(PART.name, what, Figure::new(value, unit));
    vec![
        row(
            format!("the {} collected cases, a text", cases.len()),
            best * 1e3 / cases.len() as f64,
            "µs",
        ),
        row(
            format!("slowest of {} costly texts, wall", nasty.len()),
            slowest,
            "ms",
        )
        .wanted(Wanted::at_most(slowest, LONGEST_MS)),
    ]
}
