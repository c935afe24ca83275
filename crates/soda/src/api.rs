//! What a caller asks of SODA and what comes back.

use std::collections::HashMap;

use async_trait::async_trait;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use tokio::time::Instant;

use crate::query::{DatasetId, Query};

/// A row as it came: column to raw JSON; an absent column is null. Keys that begin with `:@` or `@` are dropped.
pub type Row = HashMap<String, Box<RawValue>>;

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The rows, in the order sent.
    pub rows: Vec<Row>,
    /// `X-SODA2-Fields`, where sent.
    pub fields: Option<Vec<String>>,
    /// `X-SODA2-Types`, where sent.
    pub types: Option<Vec<String>>,
}

/// What `/api/views/{id}.json` says.
#[derive(Debug, Clone)]
pub struct Metadata {
    /// The dataset's name.
    pub name: String,
    /// `rowsUpdatedAt`.
    pub rows_updated_at: Option<OffsetDateTime>,
    /// Field name and type of each column.
    pub columns: Vec<(String, String)>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SodaError {
    /// 400 `query.soql.no-such-column`: the schema moved.
    #[error("the dataset has no column {column}")]
    NoSuchColumn {
        /// The column asked for.
        column: String,
    },
    /// Another 400: our fault; not retried. Holds the code alone, never the body.
    #[error("the query was refused: {code}")]
    BadQuery {
        /// `errorCode`, else `code`.
        code: String,
    },
    /// 404, 410, or 403 that is no token trouble.
    #[error("the dataset is gone ({status})")]
    Gone {
        /// HTTP status.
        status: u16,
    },
    /// 429 after the retries.
    #[error("throttled")]
    Throttled,
    /// Everything transient: 5xx, timeout, breaker open, a body that is no JSON array. For the log.
    #[error("unavailable: {0}")]
    Unavailable(String),
}

/// Access to one SODA host.
#[async_trait]
pub trait Soda: Send + Sync {
    /// Runs a query; ends by `deadline`, retries included.
    async fn rows(&self, query: &Query, deadline: Instant) -> Result<Rows, SodaError>;

    /// Reads the dataset's metadata.
    async fn metadata(&self, dataset: &DatasetId, deadline: Instant)
    -> Result<Metadata, SodaError>;
}
