//! When each dataset was last updated by its publisher. Known or not, no report waits for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use crate::api::{Soda, SodaError};
use crate::query::DatasetId;

/// A date is good for an hour.
const GOOD_FOR: Duration = Duration::from_secs(3600);

/// After a failure the host is left alone this long.
const REST: Duration = Duration::from_secs(60);

/// For one question.
const PATIENCE: Duration = Duration::from_secs(10);

/// Questions at once: reports come first.
const AT_ONCE: usize = 4;

/// What is known of each dataset's last update. Cheap to clone: clones share it.
///
/// [`Freshness::updated_at`] answers at once with what is known and, when that is older than an hour, asks anew in the
/// background, once however many callers there are. A failure changes nothing but the time of the next question.
#[derive(Clone)]
pub struct Freshness(Arc<Inner>);

struct Inner {
    soda: Arc<dyn Soda>,
    known: Mutex<HashMap<DatasetId, Entry>>,
    slots: Semaphore,
    /// Told whenever a question ends.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Entry {
    updated_at: Option<OffsetDateTime>,
    /// When to ask again; at once when never asked.
    due: Option<Instant>,
    in_flight: bool,
}

impl fmt::Debug for Freshness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Freshness").field(&*self.0.known()).finish()
    }
}

impl Freshness {
    /// Nothing known yet; `soda` is who is asked.
    pub fn new(soda: Arc<dyn Soda>) -> Self {
        Self(Arc::new(Inner {
            soda,
            known: Mutex::default(),
            slots: Semaphore::new(AT_ONCE),
            ended: watch::Sender::new(()),
        }))
    }

    /// The dataset's last update as far as it is known. Never waits; outside of a runtime it does not ask either.
    pub fn updated_at(&self, dataset: &DatasetId) -> Option<OffsetDateTime> {
        let (updated_at, ask) = self.0.look(dataset, Instant::now());
        if ask {
            self.ask(dataset);
        }
        updated_at
    }

    /// Asks for each of these that is not known or too old, and waits until all are answered or `deadline`.
    ///
    /// For a server's start, in a task of its own, so that the first report has its dates.
    pub async fn warm(&self, datasets: impl IntoIterator<Item = DatasetId>, deadline: Instant) {
        let mut ended = self.0.ended.subscribe();
        let datasets: Vec<DatasetId> = datasets.into_iter().collect();
        for dataset in &datasets {
            self.updated_at(dataset);
        }
        let all_answered = |(): &()| {
            let known = self.0.known();
            let waits = |dataset| {
                known
                    .get(dataset)
                    .is_some_and(|entry: &Entry| entry.in_flight)
            };
            !datasets.iter().any(waits)
        };
        // Too late is as good as answered: what is missing comes later.
        let _ = timeout_at(deadline, ended.wait_for(all_answered)).await;
    }

    fn ask(&self, dataset: &DatasetId) {
        let question = Question {
            inner: Arc::clone(&self.0),
            dataset: dataset.clone(),
            outcome: None,
        };
        // Without a runtime the question is dropped, which ends it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(question.run());
        }
    }
}

impl Inner {
    // No code panics while it holds the lock, and the map is whole between any two statements.
    fn known(&self) -> MutexGuard<'_, HashMap<DatasetId, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known, and whether the caller is to ask.
    fn look(&self, dataset: &DatasetId, now: Instant) -> (Option<OffsetDateTime>, bool) {
        let mut known = self.known();
        // Looked up before it is inserted: the name is copied once, not at every look.
        if !known.contains_key(dataset) {
            known.insert(dataset.clone(), Entry::default());
        }
        let Some(entry) = known.get_mut(dataset) else {
            return (None, false);
        };
        let ask = !entry.in_flight && entry.due.is_none_or(|due| due <= now);
        entry.in_flight |= ask;
        (entry.updated_at, ask)
    }
}

/// One question under way. However it ends, its dataset can be asked about again.
struct Question {
    inner: Arc<Inner>,
    dataset: DatasetId,
    outcome: Option<Result<Option<OffsetDateTime>, SodaError>>,
}

impl Question {
    async fn run(mut self) {
        let inner = Arc::clone(&self.inner);
        let Ok(_slot) = inner.slots.acquire().await else {
            return;
        };
        let deadline = Instant::now() + PATIENCE;
        let answer = inner.soda.metadata(&self.dataset, deadline).await;
        self.outcome = Some(answer.map(|metadata| metadata.rows_updated_at));
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let now = Instant::now();
        if let Some(entry) = self.inner.known().get_mut(&self.dataset) {
            entry.in_flight = false;
            match self.outcome.take() {
                Some(Ok(updated_at)) => {
                    entry.updated_at = updated_at.or(entry.updated_at);
                    entry.due = Some(now + GOOD_FOR);
                }
                Some(Err(fault)) => {
                    tracing::debug!(dataset = %self.dataset, %fault, "the last update is not known");
                    // What is gone is not back in a minute.
                    let gone = matches!(fault, SodaError::Gone { .. });
                    entry.due = Some(now + if gone { GOOD_FOR } else { REST });
                }
                None => {}
            }
        }
        self.inner.ended.send_replace(());
    }
}

#[cfg(test)]
#[path = "freshness_tests.rs"]
mod tests;
