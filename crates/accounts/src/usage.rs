//! Usage counters: counted in memory by the call, written behind by a task, read as if they had been written at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt as _};
use time::Date;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use crate::model::{AccountId, UsageBatch, UsageCounts, UsageKey};
use crate::traits::{StoreError, UsageStore};

/// How often counts are written.
pub(crate) const PERIOD: Duration = Duration::from_millis(500);
/// Counters in one write.
const BATCH: usize = 500;

/// Counts calls. One for the process.
///
/// [`record`](Self::record) costs a map entry under a short lock. A task adds what was counted to the store every half second, each
/// batch whole or not at all; one whose answer is lost is sent again under its number, so that it counts once. Counts that are still
/// waiting when the process is killed are lost: at most a second's, while the store answers.
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
            waiting: Mutex::new(Waiting::new()),
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
        let _no_write = self.counters.all_sure().await?;
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
    /// Held for writing while a batch is on its way to the store. Its holders wait for the store, so it is taken by the task
    /// and by readers of usage only, never by a call that counts.
    writing: RwLock<()>,
}

/// A batch that was sent and not yet answered for.
struct Sent {
    batch: UsageBatch,
    counts: Vec<(UsageKey, UsageCounts)>,
}

/// Counts that are not in the store, or not surely.
struct Waiting {
    /// Counted since the last turn.
    fresh: HashMap<UsageKey, UsageCounts>,
    /// What this turn has still to write.
    queue: Vec<(UsageKey, UsageCounts)>,
    /// The one batch that may be in the store or not.
    sent: Option<Arc<Sent>>,
    /// What the next batch is called.
    next: UsageBatch,
}

impl Waiting {
    fn new() -> Self {
        Self {
            fresh: HashMap::new(),
            queue: Vec::new(),
            sent: None,
            next: UsageBatch::first(),
        }
    }

    /// What is surely not in the store, as long as no batch is sent.
    fn all(&self) -> impl Iterator<Item = (&UsageKey, &UsageCounts)> {
        let queued = self.queue.iter().map(|(key, counts)| (key, counts));
        self.fresh.iter().chain(queued)
    }

    /// Puts what was counted so far in line; what comes later waits for the next turn, so that a turn ends.
    fn begin_turn(&mut self) {
        self.queue.extend(self.fresh.drain());
    }

    /// Sees to it that there is a batch to send: the one whose answer is still due, else the next. `false` when nothing is left.
    fn take_batch(&mut self) -> bool {
        if self.sent.is_none() && !self.queue.is_empty() {
            let rest = self.queue.len().saturating_sub(BATCH);
            let next = self.next.next();
            self.sent = Some(Arc::new(Sent {
                batch: std::mem::replace(&mut self.next, next),
                counts: self.queue.split_off(rest),
            }));
        }
        self.sent.is_some()
    }

    /// Takes back what was not sent. Merged by key, so that an outage costs memory by the number of counters, not by its length.
    fn give_back(&mut self) {
        for (key, counts) in self.queue.drain(..) {
            *self.fresh.entry(key).or_default() += counts;
        }
    }
}

impl Counters {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all that was counted before. Called by the one task only.
    async fn write(&self) -> Result<(), StoreError> {
        self.waiting().begin_turn();
        loop {
            let writing = self.writing.write().await;
            if !self.waiting().take_batch() {
                return Ok(());
            }
            if let Err(error) = self.settle(&writing).await {
                self.waiting().give_back();
                return Err(error);
            }
        }
    }

    /// Sends the batch that was taken until the store says that it has it. Whoever does so may leave half way: the batch
    /// stays where it is, and the store takes it once.
    async fn settle(&self, _writing: &RwLockWriteGuard<'_, ()>) -> Result<(), StoreError> {
        let Some(sent) = self.waiting().sent.clone() else {
            return Ok(());
        };
        self.store.add_usage(&sent.batch, &sent.counts).await?;
        self.waiting().sent = None;
        Ok(())
    }

    /// Keeps writes away, at a moment when every count is surely in the store or surely not.
    async fn all_sure(&self) -> Result<RwLockReadGuard<'_, ()>, StoreError> {
        loop {
            let no_write = self.writing.read().await;
            if self.waiting().sent.is_none() {
                return Ok(no_write);
            }
            drop(no_write);
            // A batch whose answer was lost. Nobody knows until it is sent again.
            let writing = self.writing.write().await;
            self.settle(&writing).await?;
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
