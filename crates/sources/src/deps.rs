//! What the sources are given from outside.

use std::{collections::HashMap, sync::Arc, time::Duration};

use brownstone_domain::Clock;
use brownstone_soda::{Column, DatasetId, Freshness, Query, Soda, SodaError};
use moka::future::Cache;
use time::OffsetDateTime;
use tokio::time::Instant;

use crate::{
    Directory,
    catalogue::{Lookup, spec::Host},
    summary::raw_text,
};

/// When a publisher last changed a dataset. Asked on the way of a report, so it must not wait for anything.
pub trait Updates: Send + Sync {
    /// `rowsUpdatedAt`, where it is known by now.
    fn updated_at(&self, dataset: &DatasetId) -> Option<OffsetDateTime>;
}

/// Nothing is known about any dataset.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUpdates;

impl Updates for NoUpdates {
    fn updated_at(&self, _: &DatasetId) -> Option<OffsetDateTime> {
        None
    }
}

impl Updates for Freshness {
    fn updated_at(&self, dataset: &DatasetId) -> Option<OffsetDateTime> {
        Self::updated_at(self, dataset)
    }
}

/// One SODA host.
#[derive(Clone)]
pub struct Publisher {
    /// Access to its rows.
    pub soda: Arc<dyn Soda>,
    /// When its datasets changed.
    pub updates: Arc<dyn Updates>,
}

impl Publisher {
    /// A host whose datasets' dates are asked for as they are needed.
    pub fn new(soda: Arc<dyn Soda>) -> Self {
        Self {
            updates: Arc::new(Freshness::new(Arc::clone(&soda))),
            soda,
        }
    }
}

/// What the built-in sources need.
#[derive(Clone)]
pub struct Deps {
    /// `data.cityofnewyork.us`.
    pub city: Publisher,
    /// `data.ny.gov`.
    pub state: Publisher,
    /// The time of day: what "not after today" and `stale` mean.
    pub clock: Arc<dyn Clock>,
}

/// What the sources of one registry share.
pub(crate) struct Shared {
    pub(crate) deps: Deps,
    pub(crate) directory: Directory,
    codes: Cache<(DatasetId, Column), Arc<HashMap<String, String>>>,
}

impl Shared {
    pub(crate) fn new(deps: Deps) -> Self {
        Self {
            directory: Directory::new(Arc::clone(&deps.city.soda)),
            deps,
            // Tables of codes change once in years.
            codes: Cache::builder()
                .max_capacity(32)
                .time_to_live(Duration::from_secs(24 * 60 * 60))
                .build(),
        }
    }

    pub(crate) fn publisher(&self, host: Host) -> &Publisher {
        match host {
            Host::City => &self.deps.city,
            Host::State => &self.deps.state,
        }
    }

    /// The publisher's table of codes. It decorates: without it a code stands alone, so it is not waited for long.
    pub(crate) async fn codes(
        &self,
        host: Host,
        lookup: &Lookup,
        deadline: Instant,
    ) -> Option<Arc<HashMap<String, String>>> {
        let soda = &self.publisher(host).soda;
        let deadline = deadline.min(Instant::now() + Duration::from_secs(2));
        let load = async {
            let query = Query::of(lookup.dataset.clone())
                .order_asc(lookup.code.clone())
                .limit(5_000);
            let rows = soda.rows(&query, deadline).await?;
            let mut table = HashMap::with_capacity(rows.rows.len());
            for row in &rows.rows {
                let text = |column: &str| row.get(column).and_then(|raw| raw_text(raw));
                if let (Some(code), Some(text)) =
                    (text(lookup.code.as_str()), text(lookup.text.as_str()))
                {
                    table
                        .entry(code.trim().to_owned())
                        .or_insert_with(|| text.trim().to_owned());
                }
            }
            Ok::<_, SodaError>(Arc::new(table))
        };
        let table = (lookup.dataset.clone(), lookup.text.clone());
        match self.codes.try_get_with(table, load).await {
            Ok(table) => Some(table),
            Err(error) => {
                tracing::warn!(dataset = %lookup.dataset, %error, "table of codes");
                None
            }
        }
    }
}
