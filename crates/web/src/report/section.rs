//! Each source with its summary and records, in sections.

use brownstone_service::SourceInfo;
use indexmap::IndexMap;
use serde_json::Value;
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

use super::Entry;
use crate::text::{cell, count, visible, words};

/// Records of a source that a page shows; the rest is in the JSON.
const ROWS: usize = 25;

/// Columns of a source's table; the rest is in the JSON.
const COLUMNS: usize = 12;

/// Characters of a cell.
const CELL: usize = 240;

/// Fields of an entry's data that a page shows elsewhere.
const GENERAL: [&str; 7] = [
    "records",
    "record_count",
    "records_truncated",
    "matched_by",
    "source_url",
    "source_updated_at",
    "stale",
];

/// Sections in order: a name, and what its sources' keys begin with. The first that fits counts; the last takes the rest.
const SECTIONS: [(&str, &[&str]); 6] = [
    (
        "Ownership and deeds",
        &[
            "nyc_acris",
            "nyc_dof_rolling_sales",
            "nyc_dof_sales",
            "nyc_hpd_registrations",
            "nys_corporations",
            "nyc_city_owned",
            "nyc_hpd_speculation",
        ],
    ),
    ("Property tax", &["nyc_dof_", "nyc_tax_lien"]),
    (
        "Buildings department and hearings",
        &["nyc_ecb", "nyc_dob", "nyc_oath"],
    ),
    ("Housing", &["nyc_hpd_", "nyc_evictions", "nyc_nycha"]),
    (
        "Lot, zoning and landmarks",
        &[
            "nyc_pluto",
            "nyc_building_",
            "nyc_condominium",
            "nyc_zoning",
            "nyc_landmark",
            "nyc_e_designations",
            "nyc_housing_database",
            "nyc_public_spaces",
        ],
    ),
    ("Safety, health and surroundings", &[""]),
];

/// Some sources under one heading.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub name: &'static str,
    /// Its sources, in the report's order.
    pub sources: Vec<Source>,
}

/// A source that has something on the building.
#[derive(Debug)]
pub struct Source {
    /// Its key.
    pub key: String,
    /// Its name for people.
    pub title: String,
    /// What it tells.
    pub tells: String,
    /// The agency.
    pub publisher: String,
    /// Records in all.
    pub count: String,
    /// How old the publisher's data is.
    pub updated: String,
    /// Whether that is older than its own cadence.
    pub stale: bool,
    /// The publisher's page; only an https address becomes a link.
    pub url: Option<String>,
    /// By which of the building's numbers it was matched.
    pub matched_by: String,
    /// Summary fields: a name and a value each.
    pub summary: Vec<(String, String)>,
    /// Summary fields that count by kind.
    pub breakdowns: Vec<Breakdown>,
    /// Columns of the table.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// Records and columns that are not shown here.
    pub more: Option<String>,
}

/// Counts by kind.
#[derive(Debug)]
pub struct Breakdown {
    /// What is counted.
    pub name: String,
    /// A kind and its count each.
    pub parts: Vec<(String, String)>,
}

/// The sources with records, in sections.
pub(super) fn sections(
    entries: &IndexMap<String, Entry>,
    infos: &[SourceInfo],
    now: OffsetDateTime,
) -> Vec<Section> {
    let mut sections = SECTIONS.map(|(name, _)| Section {
        name,
        sources: Vec::new(),
    });
    for (key, entry) in entries {
        let place = SECTIONS
            .iter()
            .position(|(_, starts)| starts.iter().any(|start| key.starts_with(start)));
        if entry.status == "ok"
            && let Some(section) = place.and_then(|place| sections.get_mut(place))
        {
            section.sources.push(source(key, entry, infos, now));
        }
    }
    sections
        .into_iter()
        .filter(|section| !section.sources.is_empty())
        .collect()
}

/// Records of an entry in all.
pub(super) fn total(entry: &Entry) -> u64 {
    let total = entry.number("record_count").unwrap_or_default().max(0.0);
    // A count of records is whole and small.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let total = total as u64;
    total
}

/// How old a publisher's data is: the day and how long ago that is. Empty where it is not known.
pub(super) fn age(entry: &Entry, now: OffsetDateTime) -> String {
    let Some(text) = entry.text("source_updated_at") else {
        return String::new();
    };
    let Ok(at) = OffsetDateTime::parse(&text, &Rfc3339) else {
        return text;
    };
    let day = at.to_offset(UtcOffset::UTC).date();
    match (now.date() - day).whole_days() {
        ..=0 => format!("{day}, today"),
        1 => format!("{day}, 1 day ago"),
        days => format!("{day}, {days} days ago"),
    }
}

fn source(key: &str, entry: &Entry, infos: &[SourceInfo], now: OffsetDateTime) -> Source {
    let info = infos.iter().find(|info| info.key == key);
    let of = |text: fn(&SourceInfo) -> &str| info.map_or("", text).to_owned();
    let (mut summary, mut breakdowns) = (Vec::new(), Vec::new());
    for (name, value) in entry.data.iter().flatten() {
        match value {
            _ if GENERAL.contains(&name.as_str()) => {}
            Value::Object(parts) => {
                let parts: Vec<_> = parts
                    .iter()
                    .take(30)
                    .map(|(kind, value)| (visible(kind), cell(value)))
                    .collect();
                if !parts.is_empty() {
                    breakdowns.push(Breakdown {
                        name: words(name),
                        parts,
                    });
                }
            }
            Value::Null | Value::Array(_) => {}
            other => summary.push((words(name), cell(other))),
        }
    }
    let records = entry.records();
    let all = columns(records);
    let columns: Vec<&str> = all.iter().copied().take(COLUMNS).collect();
    let rows: Vec<Vec<String>> = records
        .iter()
        .take(ROWS)
        .map(|record| {
            let value = |column: &&str| record.get(*column).map(cell).unwrap_or_default();
            columns
                .iter()
                .map(|column| shorten(value(column)))
                .collect()
        })
        .collect();
    let total = total(entry);
    let hidden = total.saturating_sub(u64::try_from(rows.len()).unwrap_or(u64::MAX));
    let more = match (hidden, all.len() - columns.len()) {
        (0, 0) => None,
        (0, columns) => Some(format!("{columns} more columns")),
        (records, 0) => Some(format!("{} more records", count(records))),
        (records, columns) => Some(format!(
            "{} more records and {columns} more columns",
            count(records)
        )),
    };
    Source {
        key: key.to_owned(),
        title: info.map_or_else(|| visible(key), |info| info.title.clone()),
        tells: of(|info| &info.tells),
        publisher: of(|info| &info.publisher),
        count: count(total),
        updated: age(entry, now),
        stale: entry.flag("stale"),
        url: entry
            .text("source_url")
            .filter(|url| url.starts_with("https://")),
        matched_by: entry.text("matched_by").unwrap_or_default().to_uppercase(),
        summary,
        breakdowns,
        columns: columns.into_iter().map(words).collect(),
        rows,
        more,
    }
}

/// Columns in which some record that is shown has a value, in the records' order.
fn columns(records: &[Value]) -> Vec<&str> {
    let mut filled: IndexMap<&str, bool> = IndexMap::new();
    for record in records.iter().take(ROWS).filter_map(Value::as_object) {
        for (name, value) in record {
            let has = match value {
                Value::Null => false,
                Value::String(text) => !text.trim().is_empty(),
                _ => true,
            };
            *filled.entry(name.as_str()).or_default() |= has;
        }
    }
    filled
        .into_iter()
        .filter(|(_, has)| *has)
        .map(|(name, _)| name)
        .collect()
}

fn shorten(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(CELL) {
        text.truncate(at);
        text.push('\u{2026}');
    }
    text
}
