//! What storage must do for reports. `store` implements it.

use std::time::Duration;

use async_trait::async_trait;
use time::OffsetDateTime;

/// Storage did not do what it was asked; the text is for the log, never for a caller.
#[derive(Debug, thiserror::Error)]
#[error("storage unavailable: {0}")]
pub struct StorageError(pub String);

/// Reports at rest: opaque bytes by key.
#[async_trait]
pub trait ReportStore: Send + Sync {
    /// The report kept under `key`, expired ones too: whether it still counts is not storage's to say.
    async fn load(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;

    /// Keeps a report, replacing the one before.
    async fn save(
        &self,
        key: &str,
        body: &[u8],
        expires_at: OffsetDateTime,
    ) -> Result<(), StorageError>;

    /// Drops reports that expired before `before`, at most 500 a call. Returns how many went.
    async fn purge(&self, before: OffsetDateTime) -> Result<u64, StorageError>;
}

/// A right to do one thing at a time over all instances: a row that ends by itself.
///
/// The store's clock decides; `now` is for tests only and `None` otherwise.
#[async_trait]
pub trait Lease: Send + Sync {
    /// Takes the lease for `holder` if it is free, ended, or already this holder's. `true` when it is now `holder`'s.
    async fn acquire(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        now: Option<OffsetDateTime>,
    ) -> Result<bool, StorageError>;

    /// Extends a lease that is still `holder`'s and has not ended. `false` when it was lost.
    async fn renew(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        now: Option<OffsetDateTime>,
    ) -> Result<bool, StorageError>;

    /// Whether anybody holds the lease. Takes nothing.
    async fn is_held(&self, name: &str, now: Option<OffsetDateTime>) -> Result<bool, StorageError>;

    /// Gives the lease up if it is `holder`'s.
    async fn release(&self, name: &str, holder: &str) -> Result<(), StorageError>;
}
