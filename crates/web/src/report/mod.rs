//! A report as a page shows it.

mod attention;
mod section;
mod timeline;

use brownstone_domain::Property;
use brownstone_service::SourceInfo;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use attention::Attention;
pub use section::{Breakdown, Section, Source};

use crate::text::{cell, moment, visible};

/// `data` of a lookup, as it is sent.
#[derive(Debug, Deserialize)]
struct Data {
    property: Property,
    bbl: Option<String>,
    bin: Option<String>,
    sources: indexmap::IndexMap<String, Entry>,
    cache: brownstone_domain::CacheInfo,
}

/// One entry of `sources`.
#[derive(Debug, Deserialize)]
struct Entry {
    status: String,
    data: Option<Map<String, Value>>,
}

impl Entry {
    fn number(&self, field: &str) -> Option<f64> {
        self.data.as_ref()?.get(field)?.as_f64()
    }

    fn flag(&self, field: &str) -> bool {
        self.data
            .as_ref()
            .and_then(|data| data.get(field)?.as_bool())
            == Some(true)
    }

    fn text(&self, field: &str) -> Option<String> {
        let value = self.data.as_ref()?.get(field)?;
        Some(cell(value)).filter(|text| !text.is_empty())
    }

    fn records(&self) -> &[Value] {
        let records = self
            .data
            .as_ref()
            .and_then(|data| data.get("records")?.as_array());
        records.map_or(&[], Vec::as_slice)
    }
}

/// The report of one building, ready for the template.
#[derive(Debug)]
pub struct View {
    /// Its address on one line.
    pub address: String,
    /// Identifiers and facts of the lot: a name and a value each.
    pub facts: Vec<(&'static str, String)>,
    /// What was corrected, assumed or could not be had.
    pub warnings: Vec<String>,
    /// What needs attention first, the worst first.
    pub attention: Vec<Attention>,
    /// Violations and permits over the years, as a picture.
    pub timeline: Option<String>,
    /// Sources with records, in sections.
    pub sections: Vec<Section>,
    /// Every source, in the report's order.
    pub all: Vec<Listed>,
    /// Sources whose publisher has nothing on this building.
    pub nothing: Vec<String>,
    /// Sources that did not answer.
    pub silent: Vec<String>,
    /// Sources that this deployment has no licence for.
    pub gated: Vec<String>,
    /// When the report was made.
    pub cached_at: String,
    /// When a lookup asks the publishers again.
    pub refresh_at: String,
    /// Whether that time has come.
    pub is_due: bool,
}

/// A source in the list of all.
#[derive(Debug)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its name for people.
    pub title: String,
    /// What its status means for a reader.
    pub status: &'static str,
    /// Whether it has records on this page.
    pub shown: bool,
    /// Records in all; empty where there are none.
    pub count: String,
    /// How old the publisher's data is.
    pub age: String,
    /// Whether that is older than its own cadence.
    pub stale: bool,
}

/// A status of the contract, in words.
fn status_words(status: &str) -> &'static str {
    match status {
        "ok" => "on record",
        "not_found" => "nothing on record",
        "gated" => "no licence here",
        _ => "did not answer",
    }
}

/// Facts of the lot: the field of the record of the tax lot, and its name for people.
const LOT_FACTS: [(&str, &str); 7] = [
    ("yearbuilt", "Year built"),
    ("bldgclass", "Building class"),
    ("unitstotal", "Units"),
    ("unitsres", "Residential units"),
    ("numfloors", "Floors"),
    ("bldgarea", "Building area, sq ft"),
    ("ownername", "Owner on the tax lot"),
];

impl View {
    /// Reads `data` of a lookup. `sources` say what each source is; `now` is the deployment's time.
    ///
    /// # Errors
    /// When it is no lookup's data.
    pub fn of(
        json: &[u8],
        sources: &[SourceInfo],
        now: time::OffsetDateTime,
    ) -> Result<Self, serde_json::Error> {
        let data: Data = serde_json::from_slice(json)?;
        let mut facts = vec![("Borough", visible(&data.property.borough))];
        let known = [("BBL", &data.bbl), ("BIN", &data.bin)];
        for (name, value) in known {
            if let Some(value) = value {
                facts.push((name, visible(value)));
            }
        }
        if let Some(unit) = &data.property.unit_bbl {
            facts.push(("Unit's BBL", unit.to_string()));
        }
        let lot = data
            .sources
            .get("nyc_pluto")
            .and_then(|entry| entry.records().first());
        for (field, name) in LOT_FACTS {
            let value = lot
                .and_then(|lot| lot.get(field))
                .map(cell)
                .unwrap_or_default();
            if !value.is_empty() && value != "0" {
                facts.push((name, value));
            }
        }
        let title = |key: &str| {
            let info = sources.iter().find(|info| info.key == key);
            info.map_or_else(|| visible(key), |info| info.title.clone())
        };
        let named = |status: &str| -> Vec<String> {
            let fits = data
                .sources
                .iter()
                .filter(|(_, entry)| entry.status == status);
            fits.map(|(key, _)| title(key)).collect()
        };
        Ok(Self {
            address: visible(&data.property.address),
            facts,
            warnings: data
                .property
                .warnings
                .iter()
                .map(|text| visible(text))
                .collect(),
            attention: attention::attention(&data.sources),
            timeline: timeline::timeline(&data.sources),
            sections: section::sections(&data.sources, sources, now),
            all: data
                .sources
                .iter()
                .map(|(key, entry)| Listed {
                    title: title(key),
                    status: status_words(&entry.status),
                    shown: entry.status == "ok",
                    count: match entry.status.as_str() {
                        "ok" => section::total(entry).to_string(),
                        _ => String::new(),
                    },
                    age: section::age(entry, now),
                    stale: entry.flag("stale"),
                    key: visible(key),
                })
                .collect(),
            nothing: named("not_found"),
            silent: named("error"),
            gated: named("gated"),
            cached_at: moment(data.cache.cached_at),
            refresh_at: moment(data.cache.refresh_available_at),
            is_due: data.cache.refresh_available_at <= now,
        })
    }
}

#[cfg(test)]
mod tests;
