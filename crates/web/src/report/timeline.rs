//! Violations and permits over the years.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use super::Entry;
use crate::{
    chart::{Bar, Chart, bars},
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

/// The picture and what it leaves out.
#[derive(Debug)]
pub struct Timeline {
    /// The picture.
    pub chart: Chart,
    /// Keys of sources of which the newest 100 records alone are counted, and how many they have in all.
    pub cut: Vec<(&'static str, u64)>,
    /// Records without a date that can be read.
    pub undated: u64,
}

/// The picture; `None` where no record has a date.
pub(super) fn timeline(sources: &IndexMap<String, Entry>) -> Option<Timeline> {
    let mut years: BTreeMap<u16, [u64; 2]> = BTreeMap::new();
    let (mut cut, mut undated) = (Vec::new(), 0);
    for (source, column, series) in TABLE {
        let Some(entry) = sources.get(source) else {
            continue;
        };
        if entry.flag("records_truncated") {
            cut.push((source, super::section::total(entry)));
        }
        for record in entry.records() {
            let date = record.get(column).and_then(Value::as_str).and_then(year);
            match date.and_then(|year| years.entry(year).or_default().get_mut(series)) {
                Some(sum) => *sum += 1,
                None => undated += 1,
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
    let chart = bars("Violations and permits by year", &SERIES, &all)?;
    Some(Timeline {
        chart,
        cut,
        undated,
    })
}
