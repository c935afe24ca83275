//! How GeoSearch is asked.

use std::time::Duration;

use async_trait::async_trait;
use brownstone_upstream::{Request, Upstream};
use bytes::Bytes;
use tokio::time::Instant;

/// How long an address may take: it comes before everything else of a call, which has 20 s.
const PATIENCE: Duration = Duration::from_secs(6);

/// No answer. For the log.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// A GET below GeoSearch's base address.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Status and body; any status that the server sent is an answer.
    ///
    /// # Errors
    /// When there is no answer.
    async fn get(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(u16, Bytes), FetchError>;
}

#[async_trait]
impl Fetch for Upstream {
    async fn get(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(u16, Bytes), FetchError> {
        let mut request = Request::get(segments.iter().copied()).breaker("geosearch");
        for (name, value) in query {
            request = request.query(*name, *value);
        }
        let answer = Self::get(self, request, Instant::now() + PATIENCE)
            .await
            .map_err(|error| FetchError(error.to_string()))?;
        Ok((answer.status, answer.body))
    }
}
