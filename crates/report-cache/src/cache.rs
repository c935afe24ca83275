//! The hot cache, and one assembly of a report at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use brownstone_domain::{Building, Clock, ReportKey, SourceEntry};
use time::OffsetDateTime;
use tokio::sync::{Semaphore, watch};

use crate::{
    hot::{self, Hot, HotReports},
    lifecycle::{RegistryView, Step, lifecycle, serves_until, to_micros},
    ready::ReadyReport,
    stored::{StoredReport, storage_key},
    traits::{Lease, ReportStore},
};

mod silence;

/// Which sources an assembly asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    All,
    /// These alone.
    Only(Vec<String>),
}

/// What an assembly brings.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The building, with whatever the sources added to it.
    pub building: Building,
    /// One entry for each source that was asked.
    pub entries: Vec<(String, SourceEntry)>,
}

/// Asks sources for one building. The caller of the cache brings it along.
#[async_trait]
pub trait Assembler: Send + Sync {
    /// Asks the wanted sources. `kept` is the building of the report that is being completed, if there is one.
    async fn assemble(&self, wanted: Wanted, kept: Option<&Building>) -> Assembly;
}

/// Why there is no report. Texts are for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// No source answered, now or within the last 30 seconds.
    #[error("no source answered")]
    NothingAnswered,
    /// As many assemblies run as may: this one was not begun.
    #[error("too many reports are being assembled")]
    Crowded,
    /// Another instance holds the assembly and did not finish in time.
    #[error("an assembly elsewhere did not finish")]
    Busy,
    /// Storage did not answer.
    #[error("{0}")]
    Storage(Arc<str>),
    /// The assembly broke: a bug.
    #[error("the assembly broke: {0}")]
    Broken(Arc<str>),
}

impl CacheError {
    /// The name in counters.
    const fn name(&self) -> &'static str {
        match self {
            Self::NothingAnswered => "nothing_answered",
            Self::Crowded => "crowded",
            Self::Busy => "busy",
            Self::Storage(_) => "storage",
            Self::Broken(_) => "broken",
        }
    }
}

/// How a flight ended that had nothing to assemble.
const KEPT: &str = "kept";

/// Settings of the cache.
#[derive(Debug, Clone)]
pub struct CacheConfig {
    /// Bytes of ready reports kept in memory.
    pub hot_bytes: u64,
    /// How long the right to assemble lasts without a sign of life.
    pub lease_ttl: Duration,
    /// How often the right is renewed.
    pub lease_renewal: Duration,
    /// How often an assembly elsewhere is looked for.
    pub poll: Duration,
    /// How long an assembly elsewhere is waited for.
    pub patience: Duration,
    /// How long a building of which no source answered is left alone.
    pub failure_wait: time::Duration,
    /// Reports assembled at once. Each asks about a hundred questions: of more of them none would be done in time.
    pub assemblies: usize,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            hot_bytes: 256 * 1024 * 1024,
            lease_ttl: Duration::from_secs(15),
            lease_renewal: Duration::from_secs(5),
            poll: Duration::from_millis(200),
            patience: Duration::from_secs(30),
            failure_wait: time::Duration::seconds(30),
            assemblies: 32,
        }
    }
}

type Outcome = Result<Arc<ReadyReport>, CacheError>;
type Flights = Mutex<HashMap<ReportKey, watch::Receiver<Option<Outcome>>>>;

/// Reports, ready to serve.
#[derive(Clone)]
pub struct ReportCache(Arc<Inner>);

struct Inner {
    store: Arc<dyn ReportStore>,
    lease: Arc<dyn Lease>,
    clock: Arc<dyn Clock>,
    registry: RegistryView,
    config: CacheConfig,
    hot: HotReports,
    failed: quick_cache::sync::Cache<ReportKey, OffsetDateTime>,
    flights: Flights,
    assemblies: Semaphore,
    /// This process among the instances.
    holder: String,
    reads: crate::metrics::Reads,
}

impl ReportCache {
    /// A cache for reports over `registry`. `holder` names this instance among those that share the storage.
    pub fn new(
        store: Arc<dyn ReportStore>,
        lease: Arc<dyn Lease>,
        clock: Arc<dyn Clock>,
        registry: RegistryView,
        holder: String,
        config: CacheConfig,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            lease,
            clock,
            registry,
            hot: hot::reports(config.hot_bytes),
            failed: quick_cache::sync::Cache::new(10_000),
            flights: Mutex::default(),
            assemblies: Semaphore::new(config.assemblies.min(Semaphore::MAX_PERMITS)),
            holder,
            config,
            reads: crate::metrics::Reads::new(),
        }))
    }

    /// The report of `key`, where it is in memory and the rules say that it is served.
    pub fn hot(&self, key: &ReportKey) -> Option<Arc<ReadyReport>> {
        let report = self.0.hot_report(key)?;
        self.0.reads.hot.increment(1);
        Some(report)
    }

    /// The report of `key`: kept, completed or made anew as its age asks.
    ///
    /// The work goes on when the caller leaves; callers that come meanwhile wait for it.
    ///
    /// # Errors
    /// See [`CacheError`].
    pub async fn get_or_assemble(&self, key: ReportKey, assembler: Arc<dyn Assembler>) -> Outcome {
        if let Some(report) = self.hot(&key) {
            return Ok(report);
        }
        let mut flight = self.join_or_start(key, assembler);
        let outcome = flight.wait_for(Option::is_some).await;
        match outcome {
            Ok(outcome) => outcome
                .clone()
                .unwrap_or_else(|| Err(CacheError::Broken("no outcome".into()))),
            Err(_) => Err(CacheError::Broken("the task ended".into())),
        }
    }

    /// The report of `key` as it is kept, nothing asked of anybody: also one that is due for completion, never one that expired.
    ///
    /// # Errors
    /// [`CacheError::Storage`] and [`CacheError::Broken`].
    pub async fn kept(&self, key: &ReportKey) -> Result<Option<Arc<ReadyReport>>, CacheError> {
        let inner = &self.0;
        if let Some(report) = inner.hot_report(key) {
            return Ok(Some(report));
        }
        let body = inner
            .store
            .load(&storage_key(key))
            .await
            .map_err(|e| CacheError::Storage(e.to_string().into()))?;
        let Some(report) = body.and_then(|body| readable(&body)) else {
            return Ok(None);
        };
        if report.life().expires_at() <= inner.clock.now() {
            return Ok(None);
        }
        let ready = ReadyReport::of(&report, key, &inner.registry)
            .map_err(|e| CacheError::Broken(e.to_string().into()))?;
        Ok(Some(Arc::new(ready)))
    }

    /// Sets the gauges, for whoever is about to read them.
    pub fn observe(&self) {
        crate::metrics::hot(self.0.hot.len(), self.0.hot.weight());
    }

    /// Drops reports that expired; returns how many.
    ///
    /// # Errors
    /// When storage does not answer.
    pub async fn purge(&self) -> Result<u64, crate::StorageError> {
        let inner = &self.0;
        let mut gone = 0;
        loop {
            let batch = inner.store.purge(inner.clock.now()).await?;
            gone += batch;
            if batch == 0 {
                return Ok(gone);
            }
        }
    }

    fn join_or_start(
        &self,
        key: ReportKey,
        assembler: Arc<dyn Assembler>,
    ) -> watch::Receiver<Option<Outcome>> {
        let mut flights = lock(&self.0.flights);
        if let Some(flight) = flights.get(&key) {
            self.0.reads.joined.increment(1);
            return flight.clone();
        }
        self.0.reads.flight.increment(1);
        let (done, flight) = watch::channel(None);
        flights.insert(key, flight.clone());
        drop(flights);
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            // Landing must happen however the flight ends, else later callers would wait for a flight that is gone.
            let landing = Landing { inner: &inner, key };
            let outcome = inner.fly(key, assembler).await;
            crate::metrics::landed(match &outcome {
                Ok((end, _)) => end,
                Err(error) => error.name(),
            });
            let outcome = outcome.map(|(_, report)| report);
            drop(landing);
            // Nobody may be left to hear it.
            let _ = done.send(Some(outcome));
        });
        flight
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Landing<'a> {
    inner: &'a Inner,
    key: ReportKey,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        lock(&self.inner.flights).remove(&self.key);
    }
}

/// What storage has, and what is to be done about it.
enum Found {
    Served(Arc<ReadyReport>),
    Due(Option<Box<StoredReport>>, Wanted),
}

impl Inner {
    fn hot_report(&self, key: &ReportKey) -> Option<Arc<ReadyReport>> {
        let hot = self.hot.get(key)?;
        let serves = hot.until.is_some_and(|until| self.clock.now() < until);
        serves.then_some(hot.report)
    }

    /// The report, and how it was come by.
    async fn fly(
        &self,
        key: ReportKey,
        assembler: Arc<dyn Assembler>,
    ) -> Result<(&'static str, Arc<ReadyReport>), CacheError> {
        // A flight that landed a moment ago may have brought it.
        if let Some(report) = self.hot_report(&key) {
            return Ok((KEPT, report));
        }
        if let Found::Served(report) = self.find(&key).await? {
            return Ok((KEPT, report));
        }
        if self.is_left_alone(&key).await? {
            return Err(CacheError::NothingAnswered);
        }
        let Ok(_place) = self.assemblies.try_acquire() else {
            return Err(CacheError::Crowded);
        };
        let name = format!("report:{}", storage_key(&key));
        let give_up = tokio::time::Instant::now() + self.config.patience;
        loop {
            let held = self
                .lease
                .acquire(&name, &self.holder, self.config.lease_ttl, None)
                .await
                .map_err(|e| CacheError::Storage(e.to_string().into()))?;
            // Whoever held it may have finished in between: look again before asking the city.
            match self.find(&key).await {
                Ok(Found::Served(report)) => {
                    if held {
                        self.release(&name).await;
                    }
                    return Ok((KEPT, report));
                }
                Ok(Found::Due(kept, wanted)) if held => {
                    let made = self
                        .assemble_held(&name, key, kept, wanted, &*assembler)
                        .await;
                    self.release(&name).await;
                    return made;
                }
                Ok(Found::Due(..)) => {}
                Err(error) => {
                    if held {
                        self.release(&name).await;
                    }
                    return Err(error);
                }
            }
            if tokio::time::Instant::now() >= give_up {
                return Err(CacheError::Busy);
            }
            tokio::time::sleep(self.config.poll).await;
        }
    }

    /// Assembles under the lease, unless whoever held it before found that nobody answers.
    async fn assemble_held(
        &self,
        name: &str,
        key: ReportKey,
        kept: Option<Box<StoredReport>>,
        wanted: Wanted,
        assembler: &dyn Assembler,
    ) -> Result<(&'static str, Arc<ReadyReport>), CacheError> {
        if self.is_left_alone(&key).await? {
            return Err(CacheError::NothingAnswered);
        }
        let kind = match kept {
            Some(_) => "completed",
            None => "assembled",
        };
        let begun = tokio::time::Instant::now();
        let outcome = self
            .assemble_renewing(name, key, kept, wanted, assembler)
            .await;
        crate::metrics::assembled(kind, begun.elapsed());
        if matches!(outcome, Err(CacheError::NothingAnswered)) {
            self.leave_alone(&key).await;
        }
        outcome.map(|report| (kind, report))
    }

    async fn release(&self, name: &str) {
        if let Err(error) = self.lease.release(name, &self.holder).await {
            tracing::warn!(%error, "could not give up a lease; it ends by itself");
        }
    }

    async fn find(&self, key: &ReportKey) -> Result<Found, CacheError> {
        let body = self
            .store
            .load(&storage_key(key))
            .await
            .map_err(|e| CacheError::Storage(e.to_string().into()))?;
        let Some(report) = body.and_then(|body| readable(&body)) else {
            return Ok(Found::Due(None, Wanted::All));
        };
        match lifecycle(&report.life(), &self.registry, self.clock.now()) {
            Step::Serve => self.ready(key, &report).map(Found::Served),
            Step::Rerun(due) => Ok(Found::Due(Some(Box::new(report)), Wanted::Only(due))),
            Step::Assemble => Ok(Found::Due(None, Wanted::All)),
        }
    }

    fn ready(&self, key: &ReportKey, report: &StoredReport) -> Outcome {
        let ready = ReadyReport::of(report, key, &self.registry)
            .map_err(|e| CacheError::Broken(e.to_string().into()))?;
        let ready = Arc::new(ready);
        let hot = Hot {
            report: Arc::clone(&ready),
            until: serves_until(&report.life(), &self.registry, self.clock.now()),
        };
        self.hot.insert(*key, hot);
        Ok(ready)
    }

    async fn assemble_renewing(
        &self,
        name: &str,
        key: ReportKey,
        kept: Option<Box<StoredReport>>,
        wanted: Wanted,
        assembler: &dyn Assembler,
    ) -> Outcome {
        let work = self.assemble(key, kept, wanted, assembler);
        tokio::pin!(work);
        let mut renewal = tokio::time::interval(self.config.lease_renewal);
        renewal.tick().await;
        loop {
            tokio::select! {
                outcome = &mut work => return outcome,
                _ = renewal.tick() => {
                    match self.lease.renew(name, &self.holder, self.config.lease_ttl, None).await {
                        Ok(true) => {}
                        // Another instance may assemble too; both bring the same, so this one goes on.
                        Ok(false) => tracing::warn!("the lease of an assembly was lost"),
                        Err(error) => tracing::warn!(%error, "the lease of an assembly could not be renewed"),
                    }
                }
            }
        }
    }

    async fn assemble(
        &self,
        key: ReportKey,
        kept: Option<Box<StoredReport>>,
        wanted: Wanted,
        assembler: &dyn Assembler,
    ) -> Outcome {
        let assembly = assembler
            .assemble(wanted, kept.as_ref().map(|report| &report.building))
            .await;
        let now = to_micros(self.clock.now());
        let report = match kept {
            Some(mut report) => {
                report.merge(assembly.entries, now);
                report.building = assembly.building;
                report.asked_under = self.registry.mark();
                report
            }
            None => Box::new(StoredReport {
                building: assembly.building,
                first_assembled_at: now,
                attempted_at: now,
                entries: assembly.entries,
                asked_under: self.registry.mark(),
            }),
        };
        let life = report.life();
        if !life.any_answered() {
            self.failed.insert(key, now + self.config.failure_wait);
            return Err(CacheError::NothingAnswered);
        }
        self.failed.remove(&key);
        let body = report
            .encode()
            .map_err(|e| CacheError::Broken(e.to_string().into()))?;
        if let Err(error) = self
            .store
            .save(&storage_key(&key), &body, life.expires_at())
            .await
        {
            // The answer is good; it is only not kept for the next.
            tracing::error!(%error, "a report could not be kept");
        }
        self.ready(&key, &report)
    }
}

/// A kept report, or none where the bytes are damaged or of another release: it is made anew.
fn readable(body: &[u8]) -> Option<StoredReport> {
    match StoredReport::decode(body) {
        Ok(report) => Some(report),
        Err(error) => {
            tracing::warn!(%error, "a kept report cannot be read and is made anew");
            None
        }
    }
}
