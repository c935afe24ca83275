//! Storage in memory, sources that obey the test, and caches over them.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use brownstone_domain::{
    Borough, Building, Clock, ManualClock, MatchedBy, ReportKey, SourceData, SourceEntry,
    SourceStatus,
};
use brownstone_report_cache::{
    Assembler, Assembly, CacheConfig, Lease, RegistryView, ReportCache, ReportStore, StorageError,
    Wanted,
};
use time::{OffsetDateTime, macros::datetime};
use tokio::sync::{Notify, Semaphore};

/// Storage that several caches can share, as instances share a database.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) bodies: Mutex<HashMap<String, (Vec<u8>, OffsetDateTime)>>,
    pub(crate) leases: Mutex<HashMap<String, (String, tokio::time::Instant)>>,
}

pub(crate) fn lost(shelf: &Shelf) -> Option<Vec<u8>> {
    shelf
        .bodies
        .lock()
        .unwrap()
        .values()
        .next()
        .map(|(body, _)| body.clone())
}

#[async_trait]
impl ReportStore for Shelf {
    async fn load(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self
            .bodies
            .lock()
            .unwrap()
            .get(key)
            .map(|(body, _)| body.clone()))
    }

    async fn save(
        &self,
        key: &str,
        body: &[u8],
        expires_at: OffsetDateTime,
    ) -> Result<(), StorageError> {
        self.bodies
            .lock()
            .unwrap()
            .insert(key.into(), (body.to_vec(), expires_at));
        Ok(())
    }

    async fn purge(&self, before: OffsetDateTime) -> Result<u64, StorageError> {
        let mut bodies = self.bodies.lock().unwrap();
        let all = bodies.len();
        bodies.retain(|_, (_, expires_at)| *expires_at >= before);
        Ok((all - bodies.len()) as u64)
    }
}

#[async_trait]
impl Lease for Shelf {
    async fn acquire(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        _: Option<OffsetDateTime>,
    ) -> Result<bool, StorageError> {
        let now = tokio::time::Instant::now();
        let mut leases = self.leases.lock().unwrap();
        match leases.get(name) {
            Some((other, until)) if other != holder && *until > now => Ok(false),
            _ => {
                leases.insert(name.into(), (holder.into(), now + ttl));
                Ok(true)
            }
        }
    }

    async fn renew(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        _: Option<OffsetDateTime>,
    ) -> Result<bool, StorageError> {
        let now = tokio::time::Instant::now();
        let mut leases = self.leases.lock().unwrap();
        match leases.get_mut(name) {
            Some((owner, until)) if owner == holder && *until > now => {
                *until = now + ttl;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    async fn is_held(&self, name: &str, _: Option<OffsetDateTime>) -> Result<bool, StorageError> {
        let now = tokio::time::Instant::now();
        let leases = self.leases.lock().unwrap();
        Ok(leases.get(name).is_some_and(|(_, until)| *until > now))
    }

    async fn release(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        self.leases
            .lock()
            .unwrap()
            .retain(|n, (owner, _)| n != name || owner != holder);
        Ok(())
    }
}

/// Sources that fail when told to, and remember what they were asked.
pub(crate) struct City {
    pub(crate) failing: Mutex<HashSet<String>>,
    /// Sources whose licence does not cover the building.
    pub(crate) gated: Mutex<HashSet<String>>,
    pub(crate) asked: Mutex<Vec<Vec<String>>>,
    pub(crate) gate: Semaphore,
    pub(crate) started: Notify,
    pub(crate) runs: AtomicUsize,
    pub(crate) panics: Mutex<bool>,
}

pub(crate) const SOURCES: [&str; 3] = ["nyc_ecb", "nyc_dob", "nyc_pluto"];

impl City {
    pub(crate) fn open() -> Arc<Self> {
        let city = Self::closed();
        city.gate.add_permits(Semaphore::MAX_PERMITS / 2);
        city
    }

    /// Assemblies start and then wait until the test adds permits.
    pub(crate) fn closed() -> Arc<Self> {
        Arc::new(Self {
            failing: Mutex::default(),
            gated: Mutex::default(),
            asked: Mutex::default(),
            gate: Semaphore::new(0),
            started: Notify::new(),
            runs: AtomicUsize::new(0),
            panics: Mutex::new(false),
        })
    }

    pub(crate) fn fail(&self, sources: &[&str]) {
        *self.failing.lock().unwrap() = sources.iter().map(ToString::to_string).collect();
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Assembler for City {
    async fn assemble(&self, wanted: Wanted, _: Option<&Building>) -> Assembly {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        self.started.notify_one();
        self.gate.acquire().await.unwrap().forget();
        assert!(!*self.panics.lock().unwrap(), "told to break");
        let asked: Vec<String> = match wanted {
            Wanted::All => SOURCES.iter().map(ToString::to_string).collect(),
            Wanted::Only(some) => some,
        };
        self.asked.lock().unwrap().push(asked.clone());
        let failing = self.failing.lock().unwrap().clone();
        let gated = self.gated.lock().unwrap().clone();
        let entries = asked
            .into_iter()
            .map(|key| {
                let entry = if failing.contains(&key) {
                    SourceEntry::without_data(SourceStatus::Error)
                } else if gated.contains(&key) {
                    SourceEntry::without_data(SourceStatus::Gated)
                } else {
                    let mut data = SourceData {
                        records: vec![],
                        record_count: 0,
                        records_truncated: false,
                        matched_by: MatchedBy::Bin,
                        source_url: "https://example.com".into(),
                        source_updated_at: None,
                        stale: None,
                        summary: vec![],
                    };
                    data.summarise("run", &run).unwrap();
                    SourceEntry::ok(&data).unwrap()
                };
                (key, entry)
            })
            .collect();
        Assembly {
            building: building(),
            entries,
        }
    }
}

pub(crate) fn building() -> Building {
    Building {
        bbl: Some("1018890001".parse().unwrap()),
        bin: Some("1057127".parse().unwrap()),
        house_number: Some("280".into()),
        street: Some("RIVERSIDE DRIVE".into()),
        borough: Borough::Manhattan,
        city: "New York".into(),
        zip: Some("10025".parse().unwrap()),
        neighborhood: None,
        latitude: None,
        longitude: None,
        buildings_on_lot: Some(1),
    }
}

pub(crate) fn key() -> ReportKey {
    ReportKey {
        bbl: building().bbl,
        bin: building().bin,
        unit_bbl: None,
    }
}

pub(crate) const START: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

pub(crate) fn cache_over(
    shelf: &Arc<Shelf>,
    clock: &Arc<ManualClock>,
    holder: &str,
) -> ReportCache {
    cache_with(shelf, clock, holder, &SOURCES.map(|key| (key, false)))
}

pub(crate) fn cache_with(
    shelf: &Arc<Shelf>,
    clock: &Arc<ManualClock>,
    holder: &str,
    registry: &[(&str, bool)],
) -> ReportCache {
    ReportCache::new(
        Arc::<Shelf>::clone(shelf),
        Arc::<Shelf>::clone(shelf),
        Arc::<ManualClock>::clone(clock) as Arc<dyn Clock>,
        RegistryView::new(registry.iter().map(|(key, gated)| (*key, *gated))),
        holder.into(),
        CacheConfig::default(),
    )
}

pub(crate) fn setup() -> (Arc<Shelf>, Arc<ManualClock>, ReportCache) {
    let shelf = Arc::<Shelf>::default();
    let clock = Arc::new(ManualClock::at(START));
    let cache = cache_over(&shelf, &clock, "one");
    (shelf, clock, cache)
}
