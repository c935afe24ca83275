//! The memory engine: the budgets of one process, in sharded maps, with an optional ledger behind it.

mod charge;
mod gate;
mod shard;
mod slot;
mod table;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, TryLockError,
    atomic::{AtomicUsize, Ordering},
};

use brownstone_domain::{Clock, Units};

use self::{
    shard::{Account, Shard},
    slot::{LAST_US, Slot},
};
use crate::{
    key::{KeyRef, Seeds},
    ledger::{LedgerRow, SpentLedger},
    record::{MINUTE_US, Record, day_of},
    store::QuotaUnavailable,
};

/// A power of two: the shard is a slice of the hash.
const SHARDS: usize = 64;
/// Shards, and slots of each, that are looked at before a new account is refused for want of room.
const RECLAIM: (usize, usize) = (8, 64);

/// Settings of the memory engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryOptions {
    /// The most records it holds. Each takes some 46 bytes where accounts are named by 16 lower-case hexadecimal digits,
    /// 56 where they are named by lower-case UUIDs, and about 80 with other short names. Beyond that number a new account gets
    /// [`QuotaUnavailable::Full`]; a live record is never dropped.
    pub max_records: usize,
    /// The least units that are reserved in the ledger at a time, for an account whose day has 200 blocks of them or fewer; another's
    /// block is a two hundredth of its day. At most one block is lost to an account by a crash.
    pub block: Units,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            max_records: 1_000_000,
            block: Units::new(50),
        }
    }
}

/// One account's record, as [`MemoryQuota::snapshot`] takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRecord {
    /// The account.
    pub account: String,
    /// What it has used.
    pub record: Record,
}

/// Budgets in this process's memory.
///
/// Without a ledger, its contents are lost when the process ends, unless the embedder takes a [`snapshot`](Self::snapshot) and
/// [`restore`](Self::restore)s it. With one ([`MemoryQuota::open`]), spending is reserved ahead: after
/// [`close`](Self::close) the next start knows everything exactly, after a crash it assumes at least what was spent.
///
/// ```
/// use std::sync::Arc;
/// use brownstone_domain::{Limits, SystemClock, Units};
/// use brownstone_quota::{Decision, MemoryQuota, QuotaStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let quota = MemoryQuota::new(Arc::new(SystemClock));
/// let limits = Limits::new(20, 100).unwrap();
/// for _ in 0..2 {
///     let decision = quota.charge("account", Units::new(10), limits).await.unwrap();
///     assert!(matches!(decision, Decision::Admitted { .. }));
/// }
/// let decision = quota.charge("account", Units::new(10), limits).await.unwrap();
/// assert!(decision.retry_after_seconds().is_some_and(|s| s <= 30));
/// # }
/// ```
pub struct MemoryQuota {
    clock: Arc<dyn Clock>,
    ledger: Option<Arc<dyn SpentLedger>>,
    options: MemoryOptions,
    seeds: Seeds,
    shards: Box<[Line]>,
    /// Records in all shards. Touched only when one is made or dropped.
    records: AtomicUsize,
    /// The shard that is looked at next for room.
    reclaim_at: AtomicUsize,
}

/// A shard on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Line(Mutex<Shard>);

impl Line {
    fn lock(&self) -> MutexGuard<'_, Shard> {
        // A record is replaced in one assignment: a panic elsewhere cannot have left half of one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Shard>> {
        match self.0.try_lock() {
            Ok(shard) => Some(shard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl MemoryQuota {
    /// An empty engine without a ledger, with the default settings.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_options(clock, MemoryOptions::default())
    }

    /// An empty engine without a ledger.
    pub fn with_options(clock: Arc<dyn Clock>, options: MemoryOptions) -> Self {
        Self::build(clock, options, None)
    }

    /// An engine that goes on from what `ledger` knows.
    ///
    /// # Errors
    /// When the ledger cannot be read, or holds more accounts than `options` has room for.
    pub async fn open(
        clock: Arc<dyn Clock>,
        options: MemoryOptions,
        ledger: Arc<dyn SpentLedger>,
    ) -> Result<Self, QuotaUnavailable> {
        let now_us = clock.now_us();
        // Just after midnight yesterday's rows tell whose bucket may still be in debt.
        let rows = ledger
            .load(day_of(now_us.saturating_sub(MINUTE_US)))
            .await?;
        let engine = Self::build(clock, options, Some(ledger));
        for row in rows {
            engine.adopt(&row.account, row.to_record(now_us), row.spent)?;
        }
        Ok(engine)
    }

    fn build(
        clock: Arc<dyn Clock>,
        options: MemoryOptions,
        ledger: Option<Arc<dyn SpentLedger>>,
    ) -> Self {
        Self {
            clock,
            ledger,
            options,
            seeds: Seeds::new(),
            shards: (0..SHARDS).map(|_| Line::default()).collect(),
            records: AtomicUsize::new(0),
            reclaim_at: AtomicUsize::new(0),
        }
    }

    /// Ends the engine and writes exact values to the ledger: from here on every charge gets
    /// [`QuotaUnavailable::Closed`]. To be called once the calls that run have ended; a refund that comes later is lost.
    ///
    /// # Errors
    /// When the ledger could not write them. The next start is then as after a crash; calling it again tries again.
    pub async fn close(&self) -> Result<(), QuotaUnavailable> {
        let now_us = self.now_us();
        let mut rows = Vec::new();
        let mut gates = Vec::new();
        for line in &self.shards {
            let mut shard = line.lock();
            shard.closed = true;
            gates.extend(shard.gates().map(Arc::clone));
            rows.extend(
                shard
                    .records()
                    .filter(|(_, record)| !record.is_idle(now_us))
                    .map(|(account, record)| LedgerRow::of(&account, &record, now_us)),
            );
        }
        // A reservation that lands after the exact values would blur them.
        for gate in gates {
            gate.opened().await;
        }
        match &self.ledger {
            Some(ledger) => ledger.settle(&rows).await,
            None => Ok(()),
        }
    }

    /// A copy of every record, for an embedder that carries them over a restart. Looks at all of them, a shard at a time.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use brownstone_domain::{Limits, SystemClock, Units};
    /// use brownstone_quota::{MemoryQuota, QuotaStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let before = MemoryQuota::new(Arc::new(SystemClock));
    /// let limits = Limits::new(10, 10_000).unwrap();
    /// before.charge("account", Units::new(10), limits).await.unwrap();
    ///
    /// let after = MemoryQuota::new(Arc::new(SystemClock));
    /// after.restore(before.snapshot()).unwrap();
    /// assert!(after.peek("account", limits).await.unwrap().minute_remaining() < 10);
    /// # }
    /// ```
    pub fn snapshot(&self) -> Vec<AccountRecord> {
        let mut records = Vec::with_capacity(self.len());
        for line in &self.shards {
            let shard = line.lock();
            records.extend(
                shard
                    .records()
                    .map(|(account, record)| AccountRecord { account, record }),
            );
        }
        records
    }

    /// Adds the records of an earlier engine. An account that was charged here already keeps what it has.
    ///
    /// # Errors
    /// When there is no room for all of them; those that fit have been added.
    pub fn restore(
        &self,
        records: impl IntoIterator<Item = AccountRecord>,
    ) -> Result<(), QuotaUnavailable> {
        records
            .into_iter()
            .try_for_each(|AccountRecord { account, record }| self.adopt(&account, record, 0))
    }

    /// Records held.
    pub fn len(&self) -> usize {
        self.records.load(Ordering::Relaxed)
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks at up to `slots` slots of each shard and drops the idle ones; returns how many went. Charges do this by
    /// themselves a little at a time; an embedder may call it from a timer to give memory back while nothing happens.
    pub fn sweep(&self, slots: usize) -> usize {
        let now_us = self.now_us();
        self.shards
            .iter()
            .map(|line| self.drop_idle(&mut line.lock(), slots, now_us))
            .sum()
    }

    /// The time, as far as a record can hold it: a clock past the end of the engine's time stands still, and nothing
    /// refills.
    #[inline]
    fn now_us(&self) -> u64 {
        self.clock.now_us().min(LAST_US)
    }

    #[inline]
    fn account<'a>(&self, key: KeyRef<'a>) -> Account<'a> {
        Account::new(&self.seeds, key)
    }

    #[inline]
    fn line(&self, account: Account<'_>) -> &Line {
        // The low bits: the place inside the shard's table is a matter of the high ones.
        &self.shards[account.hash as usize % SHARDS]
    }

    fn drop_idle(&self, shard: &mut Shard, slots: usize, now_us: u64) -> usize {
        let dropped = shard.sweep(&self.seeds, slots, now_us);
        if dropped > 0 {
            self.records.fetch_sub(dropped, Ordering::Relaxed);
        }
        dropped
    }

    /// Counts one record more, if there is room.
    fn take_room(&self) -> bool {
        self.records
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |records| {
                (records < self.options.max_records).then_some(records + 1)
            })
            .is_ok()
    }

    /// Whether there is room for another record. Where there is none it looks at a few slots here and elsewhere for some;
    /// the next call goes on where this one stopped.
    fn has_room(&self, shard: &mut Shard, now_us: u64) -> bool {
        let (shards, slots) = RECLAIM;
        let room = || self.len() < self.options.max_records;
        if room() || self.drop_idle(shard, slots, now_us) > 0 {
            return true;
        }
        for _ in 0..shards {
            let at = self.reclaim_at.fetch_add(1, Ordering::Relaxed) % SHARDS;
            // This shard's own lock is held: to wait for another could wait for ever.
            if let Some(mut other) = self.shards[at].try_lock() {
                self.drop_idle(&mut other, slots, now_us);
            }
            if room() {
                return true;
            }
        }
        false
    }

    /// Takes in a record from before this engine. Where there is one already the later and larger spending stays.
    fn adopt(&self, account: &str, record: Record, reserved: u32) -> Result<(), QuotaUnavailable> {
        let account = self.account(KeyRef::new(account));
        let mut shard = self.line(account).lock();
        let adopted = Slot {
            record,
            reserved,
            per_minute: 0,
        };
        if shard.closed {
            return Err(QuotaUnavailable::Closed);
        }
        match shard.find(account) {
            Some((place, slot)) => {
                if (slot.record.day, slot.record.spent) < (record.day, record.spent)
                    && slot.per_minute == 0
                {
                    shard.set(account, place, adopted);
                }
                Ok(())
            }
            None if self.take_room() => {
                shard.insert(&self.seeds, account, adopted);
                Ok(())
            }
            None => Err(QuotaUnavailable::Full),
        }
    }
}

impl std::fmt::Debug for MemoryQuota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryQuota")
            .field("records", &self.len())
            .field("options", &self.options)
            .field("ledger", &self.ledger.is_some())
            .finish_non_exhaustive()
    }
}
