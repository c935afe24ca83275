//! When keys were last used: noted in memory by the call, written by a task, so that no call waits for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use time::OffsetDateTime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::model::KeyId;
use crate::traits::{AccountStore, StoreError};

/// How often notes are written; so a key's is written at most once a minute.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);
/// Notes in one write.
const BATCH: usize = 500;

/// Notes that wait to be written: one for each key in use, so as many as there are keys at most.
pub(crate) struct LastUse {
    store: Arc<dyn AccountStore>,
    waiting: Mutex<HashMap<KeyId, OffsetDateTime>>,
}

impl LastUse {
    pub(crate) fn new(store: Arc<dyn AccountStore>) -> Self {
        Self {
            store,
            waiting: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<KeyId, OffsetDateTime>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `key` was used at `at`.
    pub(crate) fn note(&self, key: &KeyId, at: OffsetDateTime) {
        let mut waiting = self.waiting();
        if let Some(noted) = waiting.get_mut(key) {
            *noted = at.max(*noted);
        } else {
            waiting.insert(key.clone(), at);
        }
    }

    /// Writes what waits. What could not be written waits on.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let notes: Vec<_> = std::mem::take(&mut *self.waiting()).into_iter().collect();
        let mut batches = notes.chunks(BATCH);
        while let Some(batch) = batches.next() {
            if let Err(error) = self.store.touch_keys(batch).await {
                for (key, at) in batch.iter().chain(batches.flatten()) {
                    self.note(key, *at);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// A task that writes once a [`PERIOD`].
    pub(crate) fn spawn(self: &Arc<Self>) -> Task {
        let notes = Arc::clone(self);
        // The first minute begins now, not when the task is first run.
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Task(tokio::spawn(async move {
            loop {
                ticks.tick().await;
                if let Err(error) = notes.flush().await {
                    tracing::warn!(%error, "last use of keys was not written; trying again in a minute");
                }
            }
        }))
    }
}

/// A background task that ends with this value.
pub(crate) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
