//! Budgets that several instances share: the store decides, by its own clock, and nobody else.
//!
//! What PostgreSQL and Redis have in common stands here: a deadline for all of it, nothing sent twice, a breaker, and a memory
//! of refusals that never admits anything. A store that does not answer is an error and never a local count: as many
//! instances would grant as many budgets.

#[cfg(any(feature = "postgres", feature = "redis"))]
mod breaker;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod denials;
mod erased;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod shared;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod watched;

use std::sync::Arc;
use std::time::Duration;

use brownstone_quota::QuotaStore;

pub(crate) use self::erased::Budgets;
#[cfg(feature = "postgres")]
pub use self::postgres::PostgresQuota;
#[cfg(feature = "redis")]
pub use self::redis::RedisQuota;
use crate::error::StoreOpenError;
use crate::store::Store;

/// How a shared quota store works.
#[derive(Debug, Clone)]
pub struct SharedQuotaOptions {
    /// Connections at most, 8 by default. They are the quota's own, so that no other query eats its time. Redis shares
    /// each among many calls and needs no more than 4.
    pub connections: usize,
    /// Longest time to any answer, the wait for a connection included; 100 ms by default.
    pub answer_within: Duration,
    /// Longest time that a refund waits until it can be sent, 3 s by default: for its turn, for a connection, and for a
    /// store that is away. It is sent once.
    pub send_refunds_within: Duration,
    /// How long an account that was refused is refused again without asking, while it still cannot fit; 1 s by default,
    /// zero for never. For as long, at most, another instance's refund is not seen.
    pub remember_refusals_for: Duration,
}

impl Default for SharedQuotaOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            answer_within: Duration::from_millis(100),
            send_refunds_within: Duration::from_secs(3),
            remember_refusals_for: Duration::from_secs(1),
        }
    }
}

/// Longest time for a new connection. It may be longer than a call waits, since the next call may find it made, and is shorter
/// than the breaker's time between two probes, so that each of them finds room for a connection of its own.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn connect_within(options: &SharedQuotaOptions) -> Duration {
    options.answer_within.max(Duration::from_millis(400))
}

/// Opens the budgets of `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`; `valkey://` is the same, `rediss://` and `valkeys://` use TLS. Speaks to nobody
/// yet.
///
/// Call it on the program's multi-thread tokio runtime.
///
/// # Errors
/// When the address cannot be used. The message is for the operator and never shows a password.
pub fn redis_quota(url: &str) -> Result<Arc<dyn QuotaStore>, StoreOpenError> {
    #[cfg(feature = "redis")]
    return Ok(Arc::new(RedisQuota::open(url)?));
    #[cfg(not(feature = "redis"))]
    {
        let _ = url;
        Err(StoreOpenError::NotBuilt {
            database: "Redis",
            feature: "redis",
        })
    }
}

/// As [`redis_quota`], with the time of a test's clock instead of the server's.
///
/// # Errors
/// As [`redis_quota`].
#[cfg(feature = "test-clock")]
pub fn redis_quota_reading(
    url: &str,
    clock: Arc<dyn brownstone_domain::Clock>,
) -> Result<Arc<dyn QuotaStore>, StoreOpenError> {
    #[cfg(feature = "redis")]
    return Ok(Arc::new(RedisQuota::open(url)?.reading(clock)));
    #[cfg(not(feature = "redis"))]
    {
        drop(clock);
        redis_quota(url)
    }
}

impl Store {
    /// Budgets in this PostgreSQL database, over a few connections of their own.
    ///
    /// # Errors
    /// When the database is an SQLite file: it has one server, whose memory engine is the place.
    pub fn postgres_quota(&self) -> Result<Arc<dyn QuotaStore>, StoreOpenError> {
        #[cfg(feature = "postgres")]
        return Ok(Arc::new(PostgresQuota::open(self)?));
        #[cfg(not(feature = "postgres"))]
        Err(StoreOpenError::NotBuilt {
            database: "PostgreSQL",
            feature: "postgres",
        })
    }

    /// As [`Store::postgres_quota`], with the time of a test's clock instead of the server's.
    ///
    /// # Errors
    /// As [`Store::postgres_quota`].
    #[cfg(feature = "test-clock")]
    pub fn postgres_quota_reading(
        &self,
        clock: Arc<dyn brownstone_domain::Clock>,
    ) -> Result<Arc<dyn QuotaStore>, StoreOpenError> {
        #[cfg(feature = "postgres")]
        return Ok(Arc::new(PostgresQuota::open(self)?.reading(clock)));
        #[cfg(not(feature = "postgres"))]
        {
            drop(clock);
            self.postgres_quota()
        }
    }
}
