//! Usage counters: counted in memory by the call, written behind by a task, read as if they had been written at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::Date;
use tokio::sync::{RwLock, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use crate::model::{AccountId, UsageCounts, UsageKey};
use crate::traits::{StoreError, UsageStore};

/// How often counts are written.
pub(crate) const PERIOD: Duration = Duration::from_millis(500);
/// Counters in one write.
const BATCH: usize = 500;

/// Counts calls. One for the process.
///
/// [`record`](Self::record) costs a map entry under a short lock. A task adds what was counted to the store every half second, each
/// batch whole or not at all; what fails is counted again at the next turn. Counts that are still waiting when the process is killed
/// are lost: at most a second's, while the store answers.
pub struct UsageRecorder {
    counters: Arc<Counters>,
    /// To the writing task, which ends, after a last write, when this is dropped.
    writer: mpsc::Sender<Flushed>,
}

/// Where the task answers whether a write that was asked for succeeded.
type Flushed = oneshot::Sender<Result<(), StoreError>>;

impl std::fmt::Debug for UsageRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageRecorder").finish_non_exhaustive()
    }
}

impl UsageRecorder {
    /// A recorder that writes to `store`, and its task.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(store: Arc<dyn UsageStore>) -> Self {
        let counters = Arc::new(Counters {
            store,
            waiting: Mutex::default(),
            writing: RwLock::new(()),
        });
        let (writer, asked) = mpsc::channel(1);
        tokio::spawn(write_behind(Arc::clone(&counters), asked));
        Self { counters, writer }
    }

    /// Adds to a counter.
    pub fn record(&self, key: UsageKey, counts: UsageCounts) {
        if !counts.is_zero() {
            *self.counters.waiting().fresh.entry(key).or_default() += counts;
        }
    }

    /// Writes at once all that was recorded before this call: for a clean stop.
    ///
    /// # Errors
    /// The store's; the counts are kept for the next try.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let ended = || StoreError::Unavailable("the task that writes usage has ended".to_owned());
        let (flushed, outcome) = oneshot::channel();
        self.writer.send(flushed).await.map_err(|_| ended())?;
        outcome.await.map_err(|_| ended())?
    }

    /// The account's counters of `from_day` and later, every recorded call counted exactly once, written yet or not. In no order. Waits for
    /// a write that is under way, because until that ends nobody can say on which side its counts are.
    ///
    /// # Errors
    /// The store's.
    pub async fn usage(
        &self,
        account: &AccountId,
        from_day: Date,
    ) -> Result<Vec<(UsageKey, UsageCounts)>, StoreError> {
        // No write begins while this is held, so nothing moves from `waiting` into the store between the two looks.
        let _no_write = self.counters.writing.read().await;
        let stored = self.counters.store.usage_since(account, from_day).await?;
        let mut sums = HashMap::with_capacity(stored.len());
        for (key, counts) in stored {
            *sums.entry(key).or_default() += counts;
        }
        let waiting = self.counters.waiting();
        for (key, counts) in waiting.all() {
            if key.account == *account && key.day >= from_day {
                // Looked up first: most counters that wait are in the store already, and need no copy of their key.
                if let Some(sum) = sums.get_mut(key) {
                    *sum += *counts;
                } else {
                    sums.insert(key.clone(), *counts);
                }
            }
        }
        drop(waiting);
        Ok(sums.into_iter().collect())
    }
}

struct Counters {
    store: Arc<dyn UsageStore>,
    waiting: Mutex<Waiting>,
    /// Held for writing while a batch is neither surely stored nor surely not. Its holders wait for the store, so it is taken by the task
    /// and by readers of usage only, never by a call that counts.
    writing: RwLock<()>,
}

/// Counts that are not in the store.
#[derive(Default)]
struct Waiting {
    /// Counted since the last turn.
    fresh: HashMap<UsageKey, UsageCounts>,
    /// What this turn has still to write.
    queue: Vec<(UsageKey, UsageCounts)>,
}

impl Waiting {
    fn all(&self) -> impl Iterator<Item = (&UsageKey, &UsageCounts)> {
        let queued = self.queue.iter().map(|(key, counts)| (key, counts));
        self.fresh.iter().chain(queued)
    }

    /// Puts what was counted so far in line; what comes later waits for the next turn, so that a turn ends.
    fn begin_turn(&mut self) {
        self.queue.extend(self.fresh.drain());
    }

    fn next_batch(&mut self) -> Vec<(UsageKey, UsageCounts)> {
        let rest = self.queue.len().saturating_sub(BATCH);
        self.queue.split_off(rest)
    }

    /// Takes back what was not written. Merged by key, so that an outage costs memory by the number of counters, not by its length.
    fn give_back(&mut self, batch: Vec<(UsageKey, UsageCounts)>) {
        for (key, counts) in batch.into_iter().chain(self.queue.drain(..)) {
            *self.fresh.entry(key).or_default() += counts;
        }
    }
}

impl Counters {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all that was counted before. Called by the one task only, which is never dropped half way: a write given up in the middle
    /// may or may not have happened.
    async fn write(&self) -> Result<(), StoreError> {
        self.waiting().begin_turn();
        loop {
            let _writing = self.writing.write().await;
            let batch = self.waiting().next_batch();
            if batch.is_empty() {
                return Ok(());
            }
            if let Err(error) = self.store.add_usage(&batch).await {
                self.waiting().give_back(batch);
                return Err(error);
            }
        }
    }
}

/// The task: writes every [`PERIOD`], when asked, and once more when the recorder is gone.
async fn write_behind(counters: Arc<Counters>, mut asked: mpsc::Receiver<Flushed>) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        let request = tokio::select! {
            _ = ticks.tick() => None,
            request = asked.recv() => Some(request),
        };
        let outcome = counters.write().await;
        // One line when an outage begins and one when it ends, not two a second.
        match (&outcome, failing) {
            (Err(error), false) => {
                tracing::warn!(%error, "usage was not written; it is kept and tried again");
            }
            (Ok(()), true) => tracing::info!("usage is written again"),
            _ => {}
        }
        failing = outcome.is_err();
        match request {
            None => {}
            Some(Some(flushed)) => {
                // Whoever asked may have gone: then nobody wants to know.
                let _ = flushed.send(outcome);
            }
            Some(None) => {
                if failing {
                    tracing::error!(
                        "usage counted since the outage began is lost with the process"
                    );
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
