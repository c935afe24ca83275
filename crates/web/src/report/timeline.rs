//! Violations and permits over the years.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use super::Entry;
use crate::{
    chart::{Bar, bars},
    text::year,
};

/// Years that the picture shows, the last one included.
const YEARS: u16 = 30;

/// Source, column of its records with the date, series.
const TABLE: [(&str, &str, usize); 6] = [
    ("nyc_hpd_violations", "inspectiondate", 0),
    ("nyc_ecb", "issue_date", 0),
    ("nyc_dob", "issue_date", 0),
    ("nyc_dob_safety_violations", "violation_issue_date", 0),
    ("nyc_dob_permits", "issuance_date", 1),
    ("nyc_dob_now_permits", "issued_date", 1),
];

/// Names of the series.
const SERIES: [&str; 2] = ["violations", "permits"];

/// The picture; `None` where no record has a date.
pub(super) fn timeline(sources: &IndexMap<String, Entry>) -> Option<String> {
    let mut years: BTreeMap<u16, [u64; 2]> = BTreeMap::new();
    for (source, column, series) in TABLE {
        let records = sources.get(source).map_or(&[][..], Entry::records);
        let dates = records
            .iter()
            .filter_map(|record| record.get(column).and_then(Value::as_str));
        for year in dates.filter_map(year) {
            if let Some(sum) = years.entry(year).or_default().get_mut(series) {
                *sum += 1;
            }
        }
    }
    let last = *years.last_key_value()?.0;
    let first = last
        .saturating_sub(YEARS - 1)
        .max(*years.first_key_value()?.0);
    let all: Vec<Bar> = (first..=last)
        .map(|year| Bar {
            name: year.to_string(),
            parts: years.get(&year).copied().unwrap_or_default().to_vec(),
        })
        .collect();
    bars(
        "Violations and permits by year, of the newest 100 records of each source",
        &SERIES,
        &all,
    )
}
