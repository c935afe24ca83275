//! The city's own tables as a directory of lots and buildings, for where no address index says it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use brownstone_address::geocoder::{DirectoryEntry, DirectoryError, LotDirectory};
use brownstone_domain::{Bbl, Bin};
use brownstone_sources::{Directory, Footprint};
use tokio::time::Instant;

/// How long a question about a building may take, before its report is asked for. Three such questions, one after the other, and the sources' ten
/// seconds fit into a call's twenty: a publisher that is silent makes a report with errors, not a call that fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// [`LotDirectory`] over the sources' directory.
#[derive(Debug, Clone)]
pub struct SourceDirectory(pub Arc<Directory>);

/// The buildings of a lot that count as such: no garages, unless a garage is what was asked for.
pub fn standing(footprints: &[Footprint], asked: Option<Bin>) -> Vec<Bin> {
    footprints
        .iter()
        .filter(|footprint| !footprint.garage || Some(footprint.bin) == asked)
        .map(|footprint| footprint.bin)
        .collect()
}

impl SourceDirectory {
    async fn lot(
        &self,
        bbl: Bbl,
        bin: Option<Bin>,
        deadline: Instant,
    ) -> Result<Option<DirectoryEntry>, DirectoryError> {
        let (lot, footprints) = tokio::join!(
            self.0.lot(bbl, deadline),
            self.0.buildings_on(bbl, deadline)
        );
        let (Some(lot), footprints) = (
            lot.map_err(|error| DirectoryError(error.to_string()))?,
            footprints.map_err(|error| DirectoryError(error.to_string()))?,
        ) else {
            return Ok(None);
        };
        let bins = standing(&footprints, bin);
        let only = match bins.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        Ok(Some(DirectoryEntry {
            bbl: lot.bbl,
            bin: bin.or(only),
            address: lot.address,
            zip: lot.zip.map(|zip| zip.to_string()),
            latitude: lot.latitude,
            longitude: lot.longitude,
            bins,
        }))
    }
}

#[async_trait]
impl LotDirectory for SourceDirectory {
    async fn by_bbl(&self, bbl: Bbl) -> Result<Option<DirectoryEntry>, DirectoryError> {
        let deadline = Instant::now() + PATIENCE;
        let billing = if bbl.is_unit_lot() {
            self.0
                .billing_lot(bbl, deadline)
                .await
                .map_err(|error| DirectoryError(error.to_string()))?
        } else {
            None
        };
        self.lot(billing.unwrap_or(bbl), None, deadline).await
    }

    async fn by_bin(&self, bin: Bin) -> Result<Option<DirectoryEntry>, DirectoryError> {
        let deadline = Instant::now() + PATIENCE;
        let footprint = self
            .0
            .building(bin, deadline)
            .await
            .map_err(|error| DirectoryError(error.to_string()))?;
        let Some(bbl) = footprint.and_then(|footprint| footprint.bbl.or(footprint.base_bbl)) else {
            return Ok(None);
        };
        self.lot(bbl, Some(bin), deadline).await
    }
}
