//! Who is measured, each with the same clock and the same keys.

use std::{
    collections::HashMap,
    future::Future,
    hash::{BuildHasherDefault, Hasher},
    num::NonZeroU32,
    pin::pin,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use brownstone_domain::{
    Clock, Limits, Units,
    clock::{from_micros, micros_since_epoch},
};
use brownstone_quota::{Decision, MemoryOptions, MemoryQuota, QuotaStore};
use governor::{
    Quota, RateLimiter, clock::Clock as GovernorClock, middleware::NoOpMiddleware, nanos::Nanos,
    state::keyed::DashMapStateStore,
};
use time::OffsetDateTime;

use super::keys::Keys;
use crate::ALLOCATED;

/// Something that decides.
pub(super) trait Contestant {
    /// One decision a key; returns how many were admitted. The loop is inside, so that nobody pays for a virtual call.
    fn walk(&self, keys: &Keys) -> usize;

    /// Whether it was set up so that nothing is refused.
    fn admits_all(&self) -> bool;
}

/// Monotonic time that has passed, added to a start.
#[derive(Debug, Clone)]
struct Elapsed {
    start_us: u64,
    since: Instant,
}

impl Elapsed {
    fn new() -> Self {
        Self {
            start_us: micros_since_epoch(OffsetDateTime::now_utc()),
            since: Instant::now(),
        }
    }
}

impl Clock for Elapsed {
    fn now(&self) -> OffsetDateTime {
        from_micros(self.now_us()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    fn now_us(&self) -> u64 {
        let passed = self.since.elapsed();
        self.start_us + passed.as_secs() * 1_000_000 + u64::from(passed.subsec_micros())
    }
}

impl GovernorClock for Elapsed {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        let passed = self.since.elapsed();
        let nanos = passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos());
        Nanos::from(self.start_us * 1_000 + nanos)
    }
}

/// The result of a future that never has to wait; `None` for one that does.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn engine() -> MemoryQuota {
    let options = MemoryOptions {
        max_records: usize::MAX,
        ..MemoryOptions::default()
    };
    MemoryQuota::with_options(Arc::new(Elapsed::new()), options)
}

const COST: Units = Units::new(1);

/// The engine, called as a function.
pub(super) struct Direct {
    engine: MemoryQuota,
    limits: Limits,
}

impl Direct {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            engine: engine(),
            limits,
        }
    }
}

impl Contestant for Direct {
    fn walk(&self, keys: &Keys) -> usize {
        keys.texts()
            .filter(|text| {
                let decision = self.engine.try_charge(text, COST, self.limits);
                matches!(decision, Some(Ok(Decision::Admitted { .. })))
            })
            .count()
    }

    fn admits_all(&self) -> bool {
        self.limits.per_minute() == Limits::MAX_PER_MINUTE
    }
}

/// The engine as the server has it.
pub(super) struct Through {
    engine: Arc<dyn QuotaStore>,
    limits: Limits,
}

impl Through {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            engine: Arc::new(engine()),
            limits,
        }
    }
}

impl Contestant for Through {
    fn walk(&self, keys: &Keys) -> usize {
        keys.texts()
            .filter(|text| {
                let decision = ready(self.engine.charge(text, COST, self.limits));
                matches!(decision, Some(Ok(Decision::Admitted { .. })))
            })
            .count()
    }

    fn admits_all(&self) -> bool {
        true
    }
}

type Limiter = RateLimiter<u64, DashMapStateStore<u64>, Elapsed, NoOpMiddleware<Nanos>>;

/// governor's keyed limiter over its usual map.
pub(super) struct Governor {
    limiter: Limiter,
    boundless: bool,
}

impl Governor {
    fn new(quota: Quota, boundless: bool) -> Self {
        Self {
            limiter: RateLimiter::dashmap_with_clock(quota, Elapsed::new()),
            boundless,
        }
    }

    pub(super) fn per_minute(units: u32) -> Self {
        let units = NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN);
        Self::new(Quota::per_minute(units), false)
    }

    /// A thousand million a second: as fast as its nanoseconds go, and every call still writes.
    pub(super) fn boundless() -> Self {
        let quota = Quota::with_period(Duration::from_nanos(1))
            .unwrap_or(Quota::per_second(NonZeroU32::MAX));
        let burst = NonZeroU32::new(1_000_000_000).unwrap_or(NonZeroU32::MAX);
        Self::new(quota.allow_burst(burst), true)
    }
}

impl Contestant for Governor {
    fn walk(&self, keys: &Keys) -> usize {
        (keys.numbers.iter())
            .filter(|key| self.limiter.check_key(key).is_ok())
            .count()
    }

    fn admits_all(&self) -> bool {
        self.boundless
    }
}

/// The hash of rustc's own maps: a rotation, an exclusive or and a multiplication.
#[derive(Default)]
pub(super) struct Fast(u64);

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Counters = HashMap<u64, AtomicU64, BuildHasherDefault<Fast>>;

/// A shard on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Shard(RwLock<Counters>);

/// The least that anything with a map can cost: find the shard, lock it for reading, look up, add.
pub(super) struct Floor {
    shards: Box<[Shard]>,
    clock: Elapsed,
}

impl Floor {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..64).map(|_| Shard::default()).collect(),
            clock: Elapsed::new(),
        }
    }
}

impl Contestant for Floor {
    fn walk(&self, keys: &Keys) -> usize {
        let mut admitted = 0;
        for key in &keys.numbers {
            let now_us = self.clock.now_us();
            let mut hash = Fast::default();
            hash.write_u64(*key);
            let Some(Shard(shard)) = self.shards.get((hash.finish() >> 32) as usize % 64) else {
                continue;
            };
            let counters = shard.read().unwrap_or_else(PoisonError::into_inner);
            match counters.get(key) {
                Some(counter) => {
                    counter.fetch_add(now_us, Ordering::Relaxed);
                }
                None => {
                    drop(counters);
                    let mut counters = shard.write().unwrap_or_else(PoisonError::into_inner);
                    counters.insert(*key, AtomicU64::new(now_us));
                }
            }
            admitted += 1;
        }
        admitted
    }

    fn admits_all(&self) -> bool {
        true
    }
}

/// What every contestant pays: the clock and reading the keys, as text and as numbers.
pub(super) struct Overhead {
    clock: Arc<dyn Clock>,
}

impl Overhead {
    pub(super) fn new() -> Self {
        Self {
            clock: Arc::new(Elapsed::new()),
        }
    }
}

impl Contestant for Overhead {
    fn walk(&self, keys: &Keys) -> usize {
        keys.texts()
            .filter(|text| {
                let seen = self.clock.now_us() ^ text.len() as u64;
                std::hint::black_box(seen) != 0
            })
            .count()
    }

    fn admits_all(&self) -> bool {
        true
    }
}

/// Bytes on the heap for each account, once all of them were charged.
pub(super) fn footprint(make: fn() -> Box<dyn Contestant>, accounts: usize) -> f64 {
    let keys = Keys::each_once(accounts);
    let before = ALLOCATED.allocated();
    let contestant = make();
    contestant.walk(&keys);
    let after = ALLOCATED.allocated();
    after.saturating_sub(before) as f64 / accounts as f64
}
