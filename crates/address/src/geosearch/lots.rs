//! Identifiers, and a building's form, through the directory of lots.

use brownstone_domain::{Bbl, Bin, Building, Match};

use super::{GeoSearchGeocoder, answer::Feature};
use crate::{
    area::{self, Boroughs},
    fold::is_type,
    geocoder::{DirectoryEntry, LotDirectory, ResolveError, Resolved},
    house::HouseKey,
    resolver::{ids::several_buildings, say},
};

impl GeoSearchGeocoder {
    fn directory(&self) -> Result<&dyn LotDirectory, ResolveError> {
        self.directory.as_deref().ok_or_else(|| {
            ResolveError::Unavailable("no directory of lots to check an identifier by".to_owned())
        })
    }

    pub(super) async fn by_bbl(&self, bbl: Bbl) -> Result<Resolved, ResolveError> {
        let entry = self
            .directory()?
            .by_bbl(bbl)
            .await
            .map_err(|error| ResolveError::Unavailable(error.to_string()))?
            .ok_or_else(|| {
                ResolveError::NotFound(format!("There is no tax lot {bbl} in the city's tables."))
            })?;
        let unit_bbl = (bbl.is_unit_lot() && entry.bbl != bbl).then_some(bbl);
        let mut warnings = Vec::new();
        match entry.bins.as_slice() {
            [_] => {}
            [] => warnings.push("The lot has no building in the city's tables.".to_owned()),
            several => {
                let bins: Vec<u32> = several.iter().map(|bin| bin.get()).collect();
                warnings.push(several_buildings(&bins));
            }
        }
        Ok(of(of_entry(&entry, entry.bin), unit_bbl, warnings))
    }

    pub(super) async fn by_bin(&self, bin: Bin) -> Result<Resolved, ResolveError> {
        let entry = self
            .directory()?
            .by_bin(bin)
            .await
            .map_err(|error| ResolveError::Unavailable(error.to_string()))?
            .ok_or_else(|| {
                ResolveError::NotFound(format!("There is no building {bin} in the city's tables."))
            })?;
        Ok(of(of_entry(&entry, Some(bin)), None, Vec::new()))
    }

    pub(super) async fn by_block_and_lot(
        &self,
        block: u32,
        lot: u16,
        boroughs: Boroughs,
    ) -> Result<Resolved, ResolveError> {
        let directory = self.directory()?;
        let mut found = Vec::new();
        for bbl in boroughs
            .iter()
            .filter_map(|borough| Bbl::new(borough, block, lot).ok())
        {
            let entry = directory
                .by_bbl(bbl)
                .await
                .map_err(|error| ResolveError::Unavailable(error.to_string()))?;
            if entry.is_some() {
                found.push(bbl);
            }
        }
        match found.as_slice() {
            [] => Err(ResolveError::NotFound(format!(
                "There is no block {block} lot {lot} in the city's tables."
            ))),
            [one] => self.by_bbl(*one).await,
            several => {
                let candidates: Vec<String> = several
                    .iter()
                    .map(|bbl| format!("Block {block} Lot {lot}, {}", bbl.borough()))
                    .collect();
                Err(ResolveError::Ambiguous {
                    message: say::several(&candidates),
                    candidates,
                })
            }
        }
    }

    /// The building of a feature in its form, and whether that is the address of the feature.
    ///
    /// A directory that does not answer costs the count of buildings on the lot, not the address.
    pub(super) async fn building(
        &self,
        feature: &Feature,
    ) -> Result<(Building, bool), ResolveError> {
        let entry = match (&self.directory, feature.bin) {
            (Some(directory), Some(bin)) => directory.by_bin(bin).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "a geocoded building could not be completed");
                None
            }),
            _ => None,
        };
        // Footprints may give a building another lot than the address files of today do; these are the newer ones.
        let entry = entry.filter(|entry| entry.bbl == feature.bbl);
        let own = || Building {
            bbl: Some(feature.bbl),
            bin: feature.bin,
            house_number: (!feature.number_shown.is_empty()).then(|| feature.number_shown.clone()),
            street: Some(feature.street_shown.clone()),
            borough: feature.bbl.borough(),
            city: area::city(feature.bbl.borough(), feature.zip).to_owned(),
            zip: feature.zip.and_then(area::zip),
            neighborhood: feature.zip.and_then(area::neighborhood).map(str::to_owned),
            latitude: feature.point.map(|(north, _)| north),
            longitude: feature.point.map(|(_, east)| east),
            buildings_on_lot: None,
        };
        let Some(entry) = entry else {
            return Ok((own(), true));
        };
        let alone = matches!(entry.bins.as_slice(), [only] if Some(*only) == feature.bin);
        let mut building = if alone && entry.address.is_some() {
            of_entry(&entry, feature.bin)
        } else {
            own()
        };
        building.buildings_on_lot = u32::try_from(entry.bins.len()).ok();
        if let Some((north, east)) = feature.point {
            building.latitude = Some(north);
            building.longitude = Some(east);
        }
        let same = building.house_number.as_deref() == Some(&feature.number_shown)
            && building.street.as_deref() == Some(&feature.street_shown);
        Ok((building, same))
    }
}

fn of(building: Building, unit_bbl: Option<Bbl>, warnings: Vec<String>) -> Resolved {
    Resolved {
        building,
        unit: None,
        unit_bbl,
        matched: Match::Exact,
        warnings,
    }
}

/// A lot or building as the directory has it. The lot's address is the building's where it is the only one.
fn of_entry(entry: &DirectoryEntry, bin: Option<Bin>) -> Building {
    let zip = entry.zip.as_deref().and_then(|zip| zip.parse().ok());
    let alone = match (entry.bins.as_slice(), bin) {
        ([], None) => true,
        ([only], Some(bin)) => *only == bin,
        _ => false,
    };
    let (house_number, street) = entry
        .address
        .as_deref()
        .filter(|_| alone)
        .map_or((None, None), split);
    Building {
        bbl: Some(entry.bbl),
        bin,
        house_number,
        street,
        borough: entry.bbl.borough(),
        city: area::city(entry.bbl.borough(), zip).to_owned(),
        zip: zip.and_then(area::zip),
        neighborhood: zip.and_then(area::neighborhood).map(str::to_owned),
        latitude: entry.latitude,
        longitude: entry.longitude,
        buildings_on_lot: u32::try_from(entry.bins.len()).ok(),
    }
}

/// `350 5 AVENUE` as number and street; a street alone where there is no number.
fn split(address: &str) -> (Option<String>, Option<String>) {
    let address = address.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut best = None;
    for (at, _) in address.match_indices(' ') {
        let (number, street) = address.split_at(at);
        let street = street.trim_start();
        // `1279 GARAGE 37 STREET`: the longest start that is a number and leaves a name.
        if HouseKey::from_shown(number).is_some() && !is_type(street) {
            best = Some((number.to_owned(), street.to_owned()));
        }
    }
    match best {
        Some((number, street)) => (Some(number), Some(street)),
        None if address.is_empty() => (None, None),
        None => (None, Some(address)),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("350 5 AVENUE", Some("350"), Some("5 AVENUE"))]
    #[case("43-06  46 STREET", Some("43-06"), Some("46 STREET"))]
    #[case("1279 GARAGE 37 STREET", Some("1279 GARAGE"), Some("37 STREET"))]
    #[case("10 A STREET", Some("10"), Some("A STREET"))]
    #[case("BEACH 9 STREET", None, Some("BEACH 9 STREET"))]
    #[case("", None, None)]
    fn addresses_of_lots_are_split(
        #[case] address: &str,
        #[case] number: Option<&str>,
        #[case] street: Option<&str>,
    ) {
        let (n, s) = split(address);
        assert_eq!((n.as_deref(), s.as_deref()), (number, street));
    }
}
