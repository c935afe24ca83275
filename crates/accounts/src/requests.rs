//! The newest requests of each account, for its owner and for support: what was asked when, by which way, and how it went. Never
//! what was asked about.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use brownstone_domain::{Operation, RequestId, Surface};
use foldhash::HashMap;
use time::OffsetDateTime;
use tokio::sync::{Mutex as Turn, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use crate::model::{AccountId, KeyId};
use crate::traits::StoreError;

/// Requests kept of an account: the newest.
pub const KEPT: u32 = 100;

/// How long a request is kept.
pub const KEPT_FOR: time::Duration = time::Duration::days(7);

/// How often requests are written.
const PERIOD: Duration = Duration::from_millis(500);

/// Requests that wait at most, of all accounts; during a long outage of storage later ones are not noted.
const WAITING_MOST: usize = 50_000;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// Its identifier, as the caller was told it.
    pub id: RequestId,
    /// Whose it was.
    pub account: AccountId,
    /// When it was answered.
    pub at: OffsetDateTime,
    /// With which key.
    pub key: KeyId,
    /// By which way.
    pub surface: Surface,
    /// What was asked.
    pub operation: Operation,
    /// `ok`, or the error's code.
    pub outcome: Cow<'static, str>,
    /// Units charged and kept.
    pub units: u64,
}

/// What storage must do for requests.
#[async_trait]
pub trait RequestStore: Send + Sync {
    /// Adds requests, in their order, and drops all but the newest `keep` of each of their accounts. One that is there already is left alone.
    async fn add_requests(&self, lines: &[RequestLine], keep: u32) -> Result<(), StoreError>;

    /// The account's requests, the newest first, at most `limit`.
    async fn requests(
        &self,
        account: &AccountId,
        limit: u32,
    ) -> Result<Vec<RequestLine>, StoreError>;

    /// The request with this identifier.
    async fn request(&self, id: &str) -> Result<Option<RequestLine>, StoreError>;

    /// Drops requests from before; says how many.
    async fn purge_requests(&self, before: OffsetDateTime) -> Result<u64, StoreError>;
}

/// Notes requests behind the call. One for the process.
///
/// [`note`](Self::note) costs a push under a short lock; a task writes every half second. It is a convenience and no account book: the
/// counters of use are exact, and what waits here when the process is killed is lost.
pub struct RequestLog {
    inner: Arc<Inner>,
    /// To the writing task, which ends, after a last write, when this is dropped.
    writer: mpsc::Sender<oneshot::Sender<Result<(), StoreError>>>,
}

impl std::fmt::Debug for RequestLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestLog").finish_non_exhaustive()
    }
}

struct Inner {
    store: Arc<dyn RequestStore>,
    waiting: Mutex<Waiting>,
    /// Held while lines are on their way, so that a reader finds each of them on one side.
    turn: Turn<()>,
}

#[derive(Default)]
struct Waiting {
    lines: HashMap<AccountId, VecDeque<RequestLine>>,
    count: usize,
}

fn most() -> usize {
    usize::try_from(KEPT).unwrap_or(usize::MAX)
}

impl Waiting {
    fn push(&mut self, line: RequestLine) {
        if self.count >= WAITING_MOST {
            return;
        }
        let lines = self.lines.entry(line.account.clone()).or_default();
        lines.push_back(line);
        // Older ones would be dropped by the store anyway.
        if lines.len() > most() {
            lines.pop_front();
        } else {
            self.count += 1;
        }
    }

    fn take(&mut self) -> Vec<RequestLine> {
        self.count = 0;
        self.lines.drain().flat_map(|(_, lines)| lines).collect()
    }

    /// Puts back what was not written, before what came since.
    fn give_back(&mut self, lines: Vec<RequestLine>) {
        let since = self.take();
        lines
            .into_iter()
            .chain(since)
            .for_each(|line| self.push(line));
    }
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let lines = self.waiting().take();
        if lines.is_empty() {
            return Ok(());
        }
        let outcome = self.store.add_requests(&lines, KEPT).await;
        if outcome.is_err() {
            self.waiting().give_back(lines);
        }
        outcome
    }
}

impl RequestLog {
    /// A log that writes to `store`, and its task.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(store: Arc<dyn RequestStore>) -> Self {
        let inner = Arc::new(Inner {
            store,
            waiting: Mutex::default(),
            turn: Turn::new(()),
        });
        let (writer, asked) = mpsc::channel(1);
        tokio::spawn(write_behind(Arc::clone(&inner), asked));
        Self { inner, writer }
    }

    /// Notes a request.
    pub fn note(&self, line: RequestLine) {
        self.inner.waiting().push(line);
    }

    /// Writes at once what was noted before this call: for a clean stop.
    ///
    /// # Errors
    /// The store's; the lines are kept for the next try.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let ended = || StoreError::Unavailable("the task that writes requests has ended".into());
        let (flushed, outcome) = oneshot::channel();
        self.writer.send(flushed).await.map_err(|_| ended())?;
        outcome.await.map_err(|_| ended())?
    }

    /// The account's requests, the newest first, written yet or not.
    ///
    /// # Errors
    /// The store's.
    pub async fn recent(
        &self,
        account: &AccountId,
        limit: u32,
    ) -> Result<Vec<RequestLine>, StoreError> {
        let _turn = self.inner.turn.lock().await;
        let stored = self.inner.store.requests(account, limit).await?;
        let mut lines: Vec<RequestLine> = {
            let waiting = self.inner.waiting();
            let own = waiting.lines.get(account).into_iter().flatten();
            own.rev().cloned().collect()
        };
        lines.extend(stored);
        lines.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(lines)
    }

    /// The request with this identifier.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, id: &str) -> Result<Option<RequestLine>, StoreError> {
        let _turn = self.inner.turn.lock().await;
        let waiting = {
            let waiting = self.inner.waiting();
            let found = waiting
                .lines
                .values()
                .flatten()
                .find(|line| line.id.as_str() == id);
            found.cloned()
        };
        match waiting {
            Some(line) => Ok(Some(line)),
            None => self.inner.store.request(id).await,
        }
    }

    /// Drops what is older than [`KEPT_FOR`] at `now`.
    ///
    /// # Errors
    /// The store's.
    pub async fn purge(&self, now: OffsetDateTime) -> Result<u64, StoreError> {
        let before = now.checked_sub(KEPT_FOR).unwrap_or(now);
        self.inner.store.purge_requests(before).await
    }
}

async fn write_behind(
    inner: Arc<Inner>,
    mut asked: mpsc::Receiver<oneshot::Sender<Result<(), StoreError>>>,
) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        let request = tokio::select! {
            _ = ticks.tick() => None,
            request = asked.recv() => Some(request),
        };
        let outcome = inner.write().await;
        if let (Err(error), false) = (&outcome, failing) {
            tracing::warn!(%error, "recent requests were not written; the newest are kept and tried again");
        }
        failing = outcome.is_err();
        match request {
            None => {}
            Some(Some(flushed)) => {
                // Whoever asked may have gone: then nobody wants to know.
                let _ = flushed.send(outcome);
            }
            Some(None) => return,
        }
    }
}

#[cfg(all(test, feature = "memory"))]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::memory::MemoryStore;

    fn line(account: &str, n: u32) -> RequestLine {
        RequestLine {
            id: format!("{account}-{n}").into(),
            account: AccountId::from(account),
            at: datetime!(2026-11-27 12:00 UTC) + time::Duration::seconds(n.into()),
            key: KeyId::from("k"),
            surface: Surface::Rest,
            operation: Operation::LookupProperty,
            outcome: "ok".into(),
            units: 10,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_are_kept_written_or_not_and_an_outage_is_bounded() {
        let store = Arc::new(MemoryStore::new());
        let log = RequestLog::start(store.clone());
        let (a, b) = (AccountId::from("a"), AccountId::from("b"));
        for n in 0..150 {
            log.note(line("a", n));
        }
        log.note(line("b", 1));
        store.set_silent(true);
        assert!(log.flush().await.is_err());
        log.note(line("a", 150));
        store.set_silent(false);
        let recent = log.recent(&a, 1_000).await.unwrap();
        assert_eq!(recent.len(), 100);
        assert_eq!(recent.first().unwrap().id.as_str(), "a-150");
        log.flush().await.unwrap();
        let again = log.recent(&a, 1_000).await.unwrap();
        assert_eq!(again, recent);
        assert_eq!(log.recent(&b, 5).await.unwrap().len(), 1);
        assert_eq!(log.find("a-150").await.unwrap().unwrap().account, a);
        assert_eq!(log.find("a-1").await.unwrap(), None);
        log.note(line("b", 2));
        assert!(log.find("b-2").await.unwrap().is_some());
        assert_eq!(log.recent(&b, 1).await.unwrap()[0].id.as_str(), "b-2");
    }
}
