//! A report as it is served: everything but `property` serialised once.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use brownstone_domain::{Bbl, Bin, Building, CacheInfo, Match, Property, ReportKey, SourceEntry};
use bytes::Bytes;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::{
    lifecycle::{Life, RegistryView},
    packed::Packed,
    stored::StoredReport,
};

/// A report in the shape of the answer.
#[derive(Debug, Clone)]
pub struct ReadyReport {
    /// The building, in the report's one form.
    pub building: Building,
    /// The unit whose report this is.
    pub unit_bbl: Option<Bbl>,
    /// What the rules need to know of it.
    pub life: Life,
    /// The members of `data` that follow `property`: `"bbl":…,"bin":…,"canonical_path":…,"sources":{…},"cache":{…}`.
    pub tail: Bytes,
    /// The same, compressed.
    pub packed: Arc<Packed>,
    /// What stands before the members, as it was first written: most requests of a building see the same.
    head: OnceLock<Head>,
}

/// `{"property":…,` of some requests.
#[derive(Debug, Clone)]
struct Head {
    unit: Option<String>,
    matched: Match,
    warnings: Vec<String>,
    bytes: Bytes,
}

#[derive(Serialize)]
struct Tail<'a> {
    bbl: Option<Bbl>,
    bin: Option<Bin>,
    canonical_path: Option<String>,
    sources: Sources<'a>,
    cache: CacheInfo,
}

struct Sources<'a>(&'a [(String, SourceEntry)]);

impl Serialize for Sources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, entry) in self.0 {
            map.serialize_entry(key, entry)?;
        }
        map.end()
    }
}

/// The members again, each as it was written.
#[derive(Serialize, Deserialize)]
struct Members {
    bbl: Box<RawValue>,
    bin: Box<RawValue>,
    canonical_path: Box<RawValue>,
    sources: IndexMap<String, Box<RawValue>>,
    cache: CacheInfo,
}

/// The members of an object, without its braces: they stand inside another. In memory of their own size: what grew by doubling may
/// hold nearly as much again, for as long as the report is kept.
fn members(object: &[u8]) -> Bytes {
    let inner = object.get(1..object.len().saturating_sub(1));
    Bytes::copy_from_slice(inner.unwrap_or_default())
}

impl ReadyReport {
    /// What stands before the members: `{"property":…,` as one request sees the building.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn head(
        &self,
        unit: Option<&str>,
        matched: Match,
        warnings: Vec<String>,
    ) -> Result<Bytes, serde_json::Error> {
        if let Some(head) = self.head.get()
            && head.unit.as_deref() == unit
            && head.matched == matched
            && head.warnings == warnings
        {
            return Ok(head.bytes.clone());
        }
        let unit = unit.map(str::to_owned);
        let property = Property::of(
            &self.building,
            unit.clone(),
            self.unit_bbl,
            matched,
            warnings.clone(),
        );
        let mut bytes = b"{\"property\":".to_vec();
        serde_json::to_writer(&mut bytes, &property)?;
        bytes.push(b',');
        let bytes = Bytes::from(bytes);
        // Another request may have been quicker; then that one's stays.
        let _ = self.head.set(Head {
            unit,
            matched,
            warnings,
            bytes: bytes.clone(),
        });
        Ok(bytes)
    }

    /// The members with `keys` shown as `error`: for one answer that cannot have those sources now. Such an answer is partial as one of a
    /// report whose sources erred now, and may be complete as soon. The report itself stays.
    ///
    /// # Errors
    /// When the members cannot be read or written.
    pub fn with_errors(
        &self,
        keys: &HashSet<&str>,
        now: OffsetDateTime,
    ) -> Result<Bytes, serde_json::Error> {
        let object = [b"{", &*self.tail, b"}"].concat();
        let mut all: Members = serde_json::from_slice(&object)?;
        let error = SourceEntry::without_data(brownstone_domain::SourceStatus::Error);
        for (key, entry) in &mut all.sources {
            if keys.contains(key.as_str()) {
                *entry = serde_json::value::to_raw_value(&error)?;
                all.cache = self.life.cache_info_of_partial(now);
            }
        }
        serde_json::to_vec(&all).map(|object| members(&object))
    }

    /// Lays a report out for `registry`.
    ///
    /// # Errors
    /// When a value cannot be written as JSON.
    pub fn of(
        report: &StoredReport,
        key: &ReportKey,
        registry: &RegistryView,
    ) -> Result<Self, serde_json::Error> {
        let entries = report.in_registry_order(registry);
        let life = Life::new(
            report.first_assembled_at,
            report.attempted_at,
            entries
                .iter()
                .map(|(key, entry)| (key.clone(), entry.status()))
                .collect(),
        );
        let tail = serde_json::to_vec(&Tail {
            bbl: report.building.bbl,
            bin: report.building.bin,
            canonical_path: report.building.canonical_path(key.unit_bbl),
            sources: Sources(&entries),
            cache: life.cache_info(),
        })?;
        let tail = members(&tail);
        Ok(Self {
            building: report.building.clone(),
            unit_bbl: key.unit_bbl,
            life,
            packed: Arc::new(Packed::of(&tail)),
            tail,
            head: OnceLock::new(),
        })
    }
}
