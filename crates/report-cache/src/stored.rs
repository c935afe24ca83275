//! A report as it is kept: JSON whose source data was serialised once, compressed with zstd.

use brownstone_domain::{
    Building, ReportKey, SourceEntry, SourceStatus,
    clock::{from_micros, micros_since_epoch},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::lifecycle::{Life, RegistryView};

/// The layout of the bytes; another number is a report of another release and is made anew.
const VERSION: u8 = 1;

/// Cheap enough for the path of a lookup, and within a few per cent of the best ratio on these texts.
const ZSTD_LEVEL: i32 = 3;

/// No report is near this size; what claims to be larger is no report of ours.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The bytes are no report of this release.
#[derive(Debug, thiserror::Error)]
#[error("not a stored report of this release: {0}")]
pub struct NotAReport(String);

/// A report: the building and what every source said of it.
#[derive(Debug, Clone)]
pub struct StoredReport {
    /// The building, coordinates included.
    pub building: Building,
    /// When the report was first assembled.
    pub first_assembled_at: OffsetDateTime,
    /// When sources were last asked.
    pub attempted_at: OffsetDateTime,
    /// What every source said.
    pub entries: Vec<(String, SourceEntry)>,
    /// The mark of the registry under which sources were last asked.
    pub asked_under: u64,
}

#[derive(Serialize, Deserialize)]
struct Layout {
    version: u8,
    first_us: u64,
    attempted_us: u64,
    building: Building,
    entries: Vec<EntryLayout>,
    /// Not in the reports of earlier releases.
    #[serde(default)]
    asked_under: u64,
}

#[derive(Serialize, Deserialize)]
struct EntryLayout {
    key: String,
    status: SourceStatus,
    data: Option<Box<RawValue>>,
}

impl StoredReport {
    /// What the rules need to know.
    pub fn life(&self) -> Life {
        Life::new(
            self.first_assembled_at,
            self.attempted_at,
            self.entries
                .iter()
                .map(|(key, entry)| (key.clone(), entry.status()))
                .collect(),
        )
        .asked_under(self.asked_under)
    }

    /// Puts newly fetched entries in the place of the old ones.
    pub fn merge(&mut self, fresh: Vec<(String, SourceEntry)>, attempted_at: OffsetDateTime) {
        for (key, entry) in fresh {
            match self.entries.iter_mut().find(|(name, _)| *name == key) {
                Some((_, old)) => *old = entry,
                None => self.entries.push((key, entry)),
            }
        }
        self.attempted_at = attempted_at;
    }

    /// One entry for every registered source, in registry order: what the report has, `gated` where the source is gated
    /// now, `error` where it was never asked.
    pub fn in_registry_order(&self, registry: &RegistryView) -> Vec<(String, SourceEntry)> {
        registry
            .sources()
            .iter()
            .map(|(key, gated)| {
                let known = self.entries.iter().find(|(name, _)| name == key);
                let entry = match (known, gated) {
                    (_, true) => SourceEntry::without_data(SourceStatus::Gated),
                    (Some((_, entry)), false) => entry.clone(),
                    (None, false) => SourceEntry::without_data(SourceStatus::Error),
                };
                (key.clone(), entry)
            })
            .collect()
    }

    /// The bytes to keep.
    ///
    /// # Errors
    /// When the report cannot be written as JSON or compressed.
    pub fn encode(&self) -> Result<Vec<u8>, NotAReport> {
        let layout = Layout {
            version: VERSION,
            first_us: micros_since_epoch(self.first_assembled_at),
            attempted_us: micros_since_epoch(self.attempted_at),
            building: self.building.clone(),
            asked_under: self.asked_under,
            entries: self
                .entries
                .iter()
                .map(|(key, entry)| EntryLayout {
                    key: key.clone(),
                    status: entry.status(),
                    data: entry.data().map(ToOwned::to_owned),
                })
                .collect(),
        };
        let json = serde_json::to_vec(&layout).map_err(|e| NotAReport(e.to_string()))?;
        zstd::bulk::compress(&json, ZSTD_LEVEL).map_err(|e| NotAReport(e.to_string()))
    }

    /// Reads bytes that were kept.
    ///
    /// # Errors
    /// When they are damaged, too large, or of another release.
    pub fn decode(bytes: &[u8]) -> Result<Self, NotAReport> {
        let fault = |e: &dyn std::fmt::Display| NotAReport(e.to_string());
        let json = zstd::bulk::decompress(bytes, MAX_BYTES).map_err(|e| fault(&e))?;
        let layout: Layout = serde_json::from_slice(&json).map_err(|e| fault(&e))?;
        if layout.version != VERSION {
            return Err(NotAReport(format!("version {}", layout.version)));
        }
        let moment = |us| from_micros(us).ok_or_else(|| NotAReport("a moment past 9999".into()));
        Ok(Self {
            building: layout.building,
            asked_under: layout.asked_under,
            first_assembled_at: moment(layout.first_us)?,
            attempted_at: moment(layout.attempted_us)?,
            entries: layout
                .entries
                .into_iter()
                .map(|e| (e.key, SourceEntry::from_stored(e.status, e.data)))
                .collect(),
        })
    }
}

/// The name under which a report is kept and leased.
pub fn storage_key(key: &ReportKey) -> String {
    key.to_string()
}
