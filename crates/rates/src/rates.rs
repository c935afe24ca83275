//! The rates: what is known, when more is fetched, and by whom.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use brownstone_domain::{Clock, RatesAnswer, RatesRequest};
use futures::future::join_all;
use time::OffsetDateTime;

use crate::{
    answer::{self, Good},
    due::{Attempt, is_due},
    feeds::{FeedError, Feeds, Found, Source},
    limits::ConformingLimits,
    scenario::{self, ScenarioError},
    series,
    store::{Kept, RateStore},
};

/// How often the storage is looked into for what another process read, so that a running server uses it.
const LOOK: time::Duration = time::Duration::seconds(1);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RatesError {
    /// The request contradicts itself, or is of a place outside the city.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// No rate that could answer was ever read from a publisher. It is safe to retry.
    #[error("no mortgage rate could be read from its publishers")]
    NeverRead,
}

/// The rates. Cheap to clone: clones share what is known.
#[derive(Clone)]
pub struct Rates(Arc<Inner>);

struct Inner {
    feeds: Feeds,
    store: Arc<dyn RateStore>,
    clock: Arc<dyn Clock>,
    limits: ConformingLimits,
    table: Mutex<Table>,
    /// One fetch of a source at a time; whoever waited finds it done.
    flights: HashMap<Source, tokio::sync::Mutex<()>>,
    /// Whether somebody looks into the storage now.
    looking: AtomicBool,
}

#[derive(Default)]
struct Table {
    good: HashMap<&'static str, Good>,
    attempts: HashMap<Source, Attempt>,
    looked_at: Option<OffsetDateTime>,
}

/// What a fetch came to, for the operator.
#[derive(Debug)]
pub struct Synced {
    /// What was fetched.
    pub source: Source,
    /// The values found, or why there are none.
    pub outcome: Result<Found, FeedError>,
}

impl Rates {
    /// Puts the parts together. Nothing is read or fetched yet.
    pub fn new(
        feeds: Feeds,
        store: Arc<dyn RateStore>,
        clock: Arc<dyn Clock>,
        limits: ConformingLimits,
    ) -> Self {
        let flights = Source::all()
            .into_iter()
            .map(|source| (source, tokio::sync::Mutex::default()))
            .collect();
        Self(Arc::new(Inner {
            feeds,
            store,
            clock,
            limits,
            table: Mutex::default(),
            flights,
            looking: AtomicBool::new(false),
        }))
    }

    /// Answers a scenario from the last good values. What is due is fetched behind the call; a call waits only for series
    /// that were never read.
    ///
    /// # Errors
    /// [`RatesError`].
    pub async fn answer(&self, request: &RatesRequest) -> Result<RatesAnswer, RatesError> {
        let now = self.0.clock.now();
        let scenario = scenario::resolve(request, &self.0.limits, now.year())?;
        self.look(now).await;
        let mut sources: Vec<Source> = Vec::new();
        // Both terms of the survey stand in every answer.
        let wanted = answer::candidates(&scenario)
            .chain(series::benchmarks(30))
            .chain(series::benchmarks(15));
        for source in wanted.map(Source::of) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let mut waited_for = Vec::new();
        for source in sources {
            if !self.0.due(source, now) {
                continue;
            }
            let known = self.0.knows(source);
            let inner = Arc::clone(&self.0);
            // A task of its own: a caller who leaves does not stop what others wait for.
            let flight = tokio::spawn(async move { inner.refresh(source).await });
            if !known {
                waited_for.push(flight);
            }
        }
        for ended in join_all(waited_for).await {
            if let Err(error) = ended {
                tracing::error!(%error, "a fetch of rates broke");
            }
        }
        let table = self.0.table();
        let good = |id: &str| table.good.get(id);
        answer::compose(scenario, good, now).map_err(|_| RatesError::NeverRead)
    }

    /// Fetches every series now, due or not, and keeps what is found. For the operator.
    pub async fn sync(&self) -> Vec<Synced> {
        self.0.load().await;
        let fetches = Source::all().into_iter().map(|source| async move {
            let _flight = match self.0.flights.get(&source) {
                Some(flight) => Some(flight.lock().await),
                None => None,
            };
            Synced {
                source,
                outcome: self.0.fetch(source).await,
            }
        });
        join_all(fetches).await
    }

    /// Takes up what another process kept: at once where nothing is known yet, else behind the call.
    async fn look(&self, now: OffsetDateTime) {
        let (recent, empty) = {
            let table = self.0.table();
            let recent = table
                .looked_at
                .is_some_and(|at| at <= now && now - at < LOOK);
            (recent, table.good.is_empty())
        };
        if empty {
            self.0.load().await;
        } else if !recent && !self.0.looking.swap(true, Ordering::AcqRel) {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move {
                inner.load().await;
                inner.looking.store(false, Ordering::Release);
            });
        }
    }
}

impl Inner {
    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether each of its series has a value.
    fn knows(&self, source: Source) -> bool {
        let table = self.table();
        source
            .series()
            .all(|series| table.good.contains_key(series.id))
    }

    fn due(&self, source: Source, now: OffsetDateTime) -> bool {
        let table = self.table();
        let values = source
            .series()
            .map(|series| (series, table.good.get(series.id)));
        is_due(values, table.attempts.get(&source), now)
    }

    /// Fetches a source that is due, unless somebody else did meanwhile, in this process or in another one.
    async fn refresh(&self, source: Source) {
        let Some(flight) = self.flights.get(&source) else {
            return;
        };
        let _flight = flight.lock().await;
        if !self.due(source, self.clock.now()) {
            return;
        }
        self.load().await;
        if !self.due(source, self.clock.now()) {
            return;
        }
        if let Err(error) = self.fetch(source).await {
            tracing::warn!(?source, %error, "a rate could not be read; the last good value stands");
        }
    }

    /// Fetches and keeps.
    async fn fetch(&self, source: Source) -> Result<Found, FeedError> {
        let now = self.clock.now();
        let outcome = self.feeds.fetch(source, now.date()).await;
        let mut kept = Vec::new();
        {
            let mut table = self.table();
            let mut news = false;
            for (series, newest) in outcome.iter().flatten() {
                let old = table.good.get(series.id);
                let good = merged(old, newest.clone(), now);
                news |= old.is_none_or(|old| old.latest.date != good.latest.date);
                kept.push(Kept {
                    series_id: series.id.to_owned(),
                    latest: good.latest.clone(),
                    previous: good.previous.clone(),
                    fetched_at: now,
                });
                table.good.insert(series.id, good);
            }
            let before = table.attempts.get(&source).copied();
            table
                .attempts
                .insert(source, Attempt::after(before, now, news));
        }
        if !kept.is_empty()
            && let Err(error) = self.store.save(&kept).await
        {
            tracing::error!(%error, "rates could not be kept; they serve until this process ends");
        }
        outcome
    }

    /// Reads what is kept, this process's own values and other ones'.
    async fn load(&self) {
        let kept = match self.store.load().await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::error!(%error, "kept rates could not be read");
                return;
            }
        };
        let now = self.clock.now();
        let mut table = self.table();
        table.looked_at = Some(now);
        for value in kept {
            // A series that this program no longer reads is left alone.
            let Some(series) = series::by_id(&value.series_id) else {
                continue;
            };
            let newer = table
                .good
                .get(series.id)
                .is_none_or(|own| own.fetched_at < value.fetched_at);
            if newer {
                let good = Good {
                    latest: value.latest,
                    previous: value.previous,
                    fetched_at: value.fetched_at,
                };
                table.good.insert(series.id, good);
            }
        }
    }
}

/// What is known after a reading. A publisher that shows less than before takes nothing away.
fn merged(old: Option<&Good>, new: crate::observation::Newest, now: OffsetDateTime) -> Good {
    let mut good = Good {
        latest: new.latest,
        previous: new.previous,
        fetched_at: now,
    };
    if let Some(old) = old {
        let (was, is) = (old.latest.day(), good.latest.day());
        if is < was {
            good.latest = old.latest.clone();
            good.previous.clone_from(&old.previous);
        } else if good.previous.is_none() {
            good.previous = if is > was {
                Some(old.latest.clone())
            } else {
                old.previous.clone()
            };
        }
    }
    good
}
