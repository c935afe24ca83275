//! A report as it is served: everything but `property` serialised once.

use std::sync::Arc;

use brownstone_domain::{Bbl, Bin, Building, CacheInfo, ReportKey, SourceEntry};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    lifecycle::{Life, RegistryView},
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
    /// The registry it was laid out for.
    pub fingerprint: Arc<str>,
    /// The members of `data` that follow `property`: `"bbl":…,"bin":…,"canonical_path":…,"sources":{…},"cache":{…}`.
    pub tail: Bytes,
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

impl ReadyReport {
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
        // The braces go: the members stand inside `data`, behind `property`.
        let members = Bytes::from(tail);
        let members = members.slice(1..members.len() - 1);
        Ok(Self {
            building: report.building.clone(),
            unit_bbl: key.unit_bbl,
            life,
            fingerprint: registry.fingerprint().into(),
            tail: members,
        })
    }
}
