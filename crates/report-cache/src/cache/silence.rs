//! The wait after no source answered, over all instances: a lease of its own, which ends with the wait.

use brownstone_domain::ReportKey;

use super::{CacheError, Inner};
use crate::stored::storage_key;

/// The lease that stands for the wait after no source answered.
fn silence(key: &ReportKey) -> String {
    format!("silence:{}", storage_key(key))
}

impl Inner {
    /// Whether no source answered for the building a moment ago, asked from here or from another instance.
    pub(super) async fn is_left_alone(&self, key: &ReportKey) -> Result<bool, CacheError> {
        if let Some(until) = self.failed.get(key) {
            if self.clock.now() < until {
                return Ok(true);
            }
            self.failed.remove(key);
            self.release(&silence(key)).await;
        }
        self.lease
            .is_held(&silence(key), None)
            .await
            .map_err(|e| CacheError::Storage(e.to_string().into()))
    }

    /// Tells the other instances, before they get the right to assemble: they would ask the same publishers in vain. It outlasts this
    /// process, as the wait does.
    pub(super) async fn leave_alone(&self, key: &ReportKey) {
        let wait = self.config.failure_wait.unsigned_abs();
        let told = self
            .lease
            .acquire(&silence(key), &self.holder, wait, None)
            .await;
        if let Err(error) = told {
            tracing::warn!(%error, "other instances could not be told that no source answers");
        }
    }
}
