//! Where the last good values are kept.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use time::OffsetDateTime;

use crate::observation::Observation;

/// The storage did not answer; the text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RateStoreError(pub String);

/// The last good value of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The publisher's name of the series.
    pub series_id: String,
    /// The newest value.
    pub latest: Observation,
    /// The one published before it.
    pub previous: Option<Observation>,
    /// When it was read.
    pub fetched_at: OffsetDateTime,
}

/// Keeps the last good value of each series, for all instances and over restarts.
#[async_trait]
pub trait RateStore: Send + Sync {
    /// Every series that was ever read, by id.
    ///
    /// # Errors
    /// When the storage does not answer.
    async fn load(&self) -> Result<Vec<Kept>, RateStoreError>;

    /// Keeps values, all or none. One that was read earlier than what is kept changes nothing.
    ///
    /// # Errors
    /// When the storage does not answer.
    async fn save(&self, values: &[Kept]) -> Result<(), RateStoreError>;
}

/// Values kept in this process alone.
#[derive(Debug, Default)]
pub struct MemoryRates(Mutex<BTreeMap<String, Kept>>);

#[async_trait]
impl RateStore for MemoryRates {
    async fn load(&self) -> Result<Vec<Kept>, RateStoreError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(kept.values().cloned().collect())
    }

    async fn save(&self, values: &[Kept]) -> Result<(), RateStoreError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for value in values {
            let newer = kept
                .get(&value.series_id)
                .is_none_or(|old| old.fetched_at <= value.fetched_at);
            if newer {
                kept.insert(value.series_id.clone(), value.clone());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn store() -> Option<Box<MemoryRates>> {
        Some(Box::default())
    }

    crate::rate_store_contract!(store());
}
