//! A report's page, from the bytes that are kept to HTML.

use std::time::Instant;

use brownstone_web::pages::property::rendered;
use serde_json::{Value, json};
use time::macros::datetime;

use super::Part;
use crate::{
    measure::{ROUNDS, Random, median},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "report-page",
    tells: "a report of two megabytes becomes a page",
    about: "\
A made-up report of more than two megabytes, 40 sources of 100 records of 20 columns, is read and written as the page that people see.
One thread; the median of the rounds by wall time. That the page stays under 400 KB on the wire, by brotli and by gzip, is a test of the
web host.",
    run,
};

/// Pages in a round.
const PAGES: u32 = 20;

fn report() -> Vec<u8> {
    let mut random = Random::new(7);
    let mut sources = serde_json::Map::new();
    for source in 0..40 {
        let records: Vec<Value> = (0..100)
            .map(|_| {
                let columns = (0..20).map(|column| {
                    (
                        format!("column_{column}"),
                        json!(format!("{:x}", random.below(u64::MAX >> 12))),
                    )
                });
                Value::Object(columns.collect())
            })
            .collect();
        let data = json!({
            "records": records, "record_count": 100, "records_truncated": false, "matched_by": "bin",
            "source_url": "https://data.cityofnewyork.us/d/6bgk-3dad", "source_updated_at": "2026-11-20T10:00:00Z",
            "stale": false, "open_violations": source
        });
        sources.insert(
            format!("nyc_dob_{source}"),
            json!({"status": "ok", "data": data}),
        );
    }
    let report = json!({
        "property": {
            "address": "350 5 AVENUE, New York, NY 10118", "house_number": "350", "street": "5 AVENUE", "unit": null,
            "unit_bbl": null, "borough": "Manhattan", "borough_code": 1, "city": "New York", "state": "NY",
            "zip_code": "10118", "neighborhood": null, "latitude": 40.7, "longitude": -73.9, "match": "exact", "warnings": []
        },
        "bbl": "1008350041", "bin": "1015862", "canonical_path": "/property/1008350041/350",
        "sources": sources,
        "cache": {"cached_at": "2026-11-28T00:58:27Z", "refresh_available_at": "2026-12-05T00:58:27Z", "status": "ok"}
    });
    report.to_string().into_bytes()
}

fn run() -> anyhow::Result<Vec<Row>> {
    let report = report();
    anyhow::ensure!(report.len() > 2_000_000, "the report is too small");
    let now = datetime!(2026-11-28 12:00 UTC);
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..PAGES {
            std::hint::black_box(rendered(&report, &[], now)?);
        }
        rounds.push(begun.elapsed().as_secs_f64() * 1e3 / f64::from(PAGES));
    }
    let page = median(rounds);
    Ok(vec![
        Row::alone(
            PART.name,
            "a page of 2 MB of records",
            Figure::new(page, "ms"),
        )
        .wanted(Wanted::at_most(page, 50.0)),
    ])
}
