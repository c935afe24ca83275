//! What is known of a key, remembered for a moment: the cache behind every request.
//!
//! Three times rule it, all on the monotonic clock and none on the wall clock, which may be off by minutes:
//!
//! - A verdict is fresh for [`FRESH`] from the moment before its read began. Whatever changes after that moment is therefore seen in
//!   less than two seconds, even where the read itself was slow and missed the change.
//! - While the store is silent, a verdict already given stays good for [`GOOD_IN_SILENCE`].
//! - After a read failed, the next is tried [`SILENCE`] later: an outage must not cost each call a deadline.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quick_cache::UnitWeighter;
use quick_cache::sync::{Cache, DefaultLifecycle};
use time::OffsetDateTime;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

use crate::authenticator::Caller;
use crate::model::{Account, KeyHash, KeyRecord};
use crate::traits::AccountStore;

/// How long a verdict is taken without asking again, counted from before its read.
pub(crate) const FRESH: Duration = Duration::from_millis(1_500);
/// How long a read may take. Less than [`FRESH`], so that no verdict is stale when it arrives.
pub(crate) const READ_DEADLINE: Duration = Duration::from_secs(1);
/// How long a failed read counts as "the store is silent". With the read that follows it stays within two seconds.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);
/// How long a verdict stays good while the store is silent, counted from before its read.
pub(crate) const GOOD_IN_SILENCE: Duration = Duration::from_secs(60);

/// Keys in use at a time that are remembered.
const KNOWN_CAPACITY: usize = 100_000;
/// Keys that do not exist and are remembered. They have room of their own, so that garbage pushes no real key out.
const UNKNOWN_CAPACITY: usize = 10_000;

/// What the store said of a key.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// There is no such key.
    Unknown,
    /// There is.
    Known(Arc<Known>),
}

/// A key that exists, and what decides about its calls.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) caller: Caller,
    pub(crate) suspended: bool,
    pub(crate) revoked: bool,
    pub(crate) expires_at: Option<OffsetDateTime>,
    /// When the caller's ceilings are the defaults again.
    pub(crate) limits_until: Option<OffsetDateTime>,
}

impl From<(KeyRecord, Account)> for Known {
    fn from((key, account): (KeyRecord, Account)) -> Self {
        Self {
            suspended: account.suspension.is_some(),
            revoked: key.revoked_at.is_some(),
            expires_at: key.expires_at,
            limits_until: account.overrides.until,
            caller: Caller::from((key, account)),
        }
    }
}

/// The store did not answer and there is nothing to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silent;

/// A verdict and its times.
#[derive(Debug, Clone)]
struct Dated {
    verdict: Verdict,
    /// Just before the read that gave it.
    began: Instant,
    /// When a later read failed.
    silent_at: Option<Instant>,
}

impl Dated {
    /// Whether the verdict holds at `now` without another read.
    fn holds(&self, now: Instant) -> bool {
        let silent = || self.silent_at.is_some_and(|at| now < at + SILENCE);
        now < self.began + FRESH || (silent() && self.is_good_in_silence(now))
    }

    fn is_good_in_silence(&self, now: Instant) -> bool {
        now < self.began + GOOD_IN_SILENCE
    }
}

/// Bounded by their number alone: what a verdict is worth is decided by its own times.
type Remembered = Cache<KeyHash, Dated, UnitWeighter, foldhash::fast::RandomState>;

fn remember(capacity: usize) -> Remembered {
    Cache::with(
        capacity,
        capacity as u64,
        UnitWeighter,
        foldhash::fast::RandomState::default(),
        DefaultLifecycle::default(),
    )
}

/// The cache. One read at a time for a key; callers that come meanwhile wait for it.
pub(crate) struct Verdicts {
    store: Arc<dyn AccountStore>,
    known: Remembered,
    unknown: Remembered,
    flights: Flights,
}

impl Verdicts {
    pub(crate) fn new(store: Arc<dyn AccountStore>) -> Self {
        Self::with_capacity(store, KNOWN_CAPACITY, UNKNOWN_CAPACITY)
    }

    fn with_capacity(store: Arc<dyn AccountStore>, known: usize, unknown: usize) -> Self {
        Self {
            store,
            known: remember(known),
            unknown: remember(unknown),
            flights: Flights::default(),
        }
    }

    /// What is known of the key with this hash.
    pub(crate) async fn get(&self, hash: &KeyHash) -> Result<Verdict, Silent> {
        if let Some(verdict) = self.held(hash) {
            return Ok(verdict);
        }
        let seat = self.flights.join(*hash);
        let read = seat.flight.get_or_init(|| self.read(hash)).await;
        if let Some(verdict) = read {
            return Ok(verdict.clone());
        }
        let now = Instant::now();
        self.remembered(hash)
            .filter(|dated| dated.is_good_in_silence(now))
            .map(|dated| dated.verdict)
            .ok_or(Silent)
    }

    fn remembered(&self, hash: &KeyHash) -> Option<Dated> {
        self.known.get(hash).or_else(|| self.unknown.get(hash))
    }

    fn held(&self, hash: &KeyHash) -> Option<Verdict> {
        let dated = self.remembered(hash)?;
        dated.holds(Instant::now()).then_some(dated.verdict)
    }

    /// Asks the store. `None` when it is silent.
    async fn read(&self, hash: &KeyHash) -> Option<Verdict> {
        // Another read may have ended between the look into the cache and the seat on this one.
        if let Some(verdict) = self.held(hash) {
            return Some(verdict);
        }
        let began = Instant::now();
        let row = match timeout(READ_DEADLINE, self.store.key_by_hash(hash)).await {
            Ok(Ok(row)) => row,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a key could not be checked");
                self.note_silence(hash);
                return None;
            }
            Err(_) => {
                tracing::warn!(deadline = ?READ_DEADLINE, "a key was not checked in time");
                self.note_silence(hash);
                return None;
            }
        };
        let (verdict, home, other) = match row {
            Some(row) => (
                Verdict::Known(Arc::new(Known::from(row))),
                &self.known,
                &self.unknown,
            ),
            None => (Verdict::Unknown, &self.unknown, &self.known),
        };
        other.remove(hash);
        home.insert(
            *hash,
            Dated {
                verdict: verdict.clone(),
                began,
                silent_at: None,
            },
        );
        Some(verdict)
    }

    /// Remembers, beside the verdict there is, that the store did not answer.
    fn note_silence(&self, hash: &KeyHash) {
        let Some(dated) = self.remembered(hash) else {
            return;
        };
        let home = match dated.verdict {
            Verdict::Known(_) => &self.known,
            Verdict::Unknown => &self.unknown,
        };
        home.insert(
            *hash,
            Dated {
                silent_at: Some(Instant::now()),
                ..dated
            },
        );
    }
}

/// The outcome of one read, `None` for silence, and the wait for it. If the caller that reads hangs up, the next one that waits reads.
type Flight = OnceCell<Option<Verdict>>;

/// Reads that are under way.
#[derive(Default)]
struct Flights(Mutex<HashMap<KeyHash, Boarded>>);

struct Boarded {
    flight: Arc<Flight>,
    seats: usize,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, HashMap<KeyHash, Boarded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat on the read of this key, a new one if none is under way.
    fn join(&self, hash: KeyHash) -> Seat<'_> {
        let mut flights = self.lock();
        let boarded = flights.entry(hash).or_insert_with(|| Boarded {
            flight: Arc::default(),
            seats: 0,
        });
        boarded.seats += 1;
        Seat {
            flight: Arc::clone(&boarded.flight),
            flights: self,
            hash,
        }
    }
}

/// One caller's part in a read; nothing of the read stays when all seats are given up.
struct Seat<'a> {
    flights: &'a Flights,
    hash: KeyHash,
    flight: Arc<Flight>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.flights.lock().entry(self.hash)
            && Arc::ptr_eq(&entry.get().flight, &self.flight)
        {
            entry.get_mut().seats -= 1;
            // A read that is done takes no more callers: its outcome ages.
            if entry.get().seats == 0 || self.flight.initialized() {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests;
