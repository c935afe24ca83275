//! How long sales take to be read, indexed, opened and searched:
//! `cargo run --profile measure -p brownstone-valuation --example measure_sales -- FILES`.
#![allow(clippy::print_stdout, reason = "it is a measuring tool")]

use std::time::{Duration, Instant};

use brownstone_domain::comps::CompsRequest;
use brownstone_valuation::{
    Lots, SalesIndex,
    comps::{Subject, Target, search},
};

/// Copies of the sales, so that the index is as large as the city's whole table.
const COPIES: usize = 2;
/// Every so many sales one is a subject.
const EVERY: usize = 97;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let start = Instant::now();
    let mut loaded = brownstone_valuation::load(&files)?;
    let took = start.elapsed();
    println!(
        "read {} rows in {took:.2?}, {:.0} rows a second; {} sales",
        loaded.rows,
        loaded.rows as f64 / took.as_secs_f64(),
        loaded.sales.len()
    );
    let sales = loaded.sales.clone();
    for _ in 1..COPIES {
        loaded.sales.extend(&sales);
    }
    // The published files have no places; each block gets one, so that the search goes by distance.
    let mut lots = String::from("bbl,latitude,longitude\n");
    for sale in &sales {
        let block = sale.bbl.block();
        let north = 40.55 + f64::from(block % 300) * 0.001;
        let east = -74.15 + f64::from(block / 40 % 400) * 0.001;
        lots.push_str(&format!("{},{north},{east}\n", sale.building_bbl));
    }
    let lots = Lots::read("lots", lots.as_bytes())?;
    let start = Instant::now();
    let index = SalesIndex::build(loaded, &lots);
    println!(
        "indexed {} sales and {} lots in {:.2?}, {:.0} MB",
        index.len(),
        index.lot_count(),
        start.elapsed(),
        index.bytes().len() as f64 / 1e6
    );
    let path = std::env::temp_dir().join(format!("measure-{}.index", std::process::id()));
    index.save(&path)?;
    let start = Instant::now();
    let index = SalesIndex::open(&path)?;
    println!("opened in {:.2?}", start.elapsed());
    std::fs::remove_file(&path)?;
    let request = CompsRequest::of("x");
    let cutoff = sales.last().map_or(0, |sale| sale.date);
    let mut times: Vec<Duration> = sales
        .iter()
        .step_by(EVERY)
        .filter_map(|sale| {
            let target = Target {
                bbl: Some(sale.building_bbl),
                ..Target::default()
            };
            let start = Instant::now();
            let subject = Subject::find(&index, &target, &request.overrides, cutoff)?;
            let found = search(&index, &subject, &request, cutoff);
            std::hint::black_box(found);
            Some(start.elapsed())
        })
        .collect();
    times.sort_unstable();
    let at = |share: usize| {
        times
            .get(times.len() * share / 1000)
            .copied()
            .unwrap_or_default()
    };
    println!(
        "{} searches: median {:.2?}, 99th percentile {:.2?}, longest {:.2?}",
        times.len(),
        at(500),
        at(990),
        at(999)
    );
    Ok(())
}
