//! A condominium unit's own tax lot, by what people call the unit.

use std::{sync::Arc, time::Duration};

use brownstone_domain::Bbl;
use brownstone_sources::Directory;
use tokio::time::Instant;

use crate::directory::PATIENCE;

/// How long an answer is remembered.
const MEMORY: Duration = Duration::from_secs(600);

/// What is known of a typed unit's lot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitLot {
    /// No unit was typed, or the building is no condominium.
    None,
    /// The unit has this lot.
    Known(Bbl),
    /// The condominium has no unit that is called so.
    NotOnRecord,
    /// The publisher did not answer.
    Unanswered,
}

/// Finds unit lots, and remembers them.
#[derive(Clone)]
pub struct UnitLots {
    directory: Arc<Directory>,
    known: moka::sync::Cache<(Bbl, String), UnitLot>,
}

impl UnitLots {
    /// Nothing remembered yet.
    pub fn new(directory: Arc<Directory>) -> Self {
        Self {
            directory,
            known: moka::sync::Cache::builder()
                .max_capacity(10_000)
                .time_to_live(MEMORY)
                .build(),
        }
    }

    /// The lot of the unit called `designation` in the condominium with this billing lot. An outage is not remembered.
    pub async fn find(&self, billing: Bbl, designation: &str) -> UnitLot {
        let key = (billing, designation.to_uppercase());
        if let Some(known) = self.known.get(&key) {
            return known;
        }
        let deadline = Instant::now() + PATIENCE;
        match self
            .directory
            .unit_lot(billing, designation, deadline)
            .await
        {
            Ok(found) => {
                let unit = found.map_or(UnitLot::NotOnRecord, UnitLot::Known);
                self.known.insert(key, unit);
                unit
            }
            Err(error) => {
                tracing::warn!(%error, "a unit's lot could not be looked up");
                UnitLot::Unanswered
            }
        }
    }
}
