//! The live geocoder: the city's GeoSearch v2, every answer checked against what was typed.
//!
//! GeoSearch answers something near in meaning when it has nothing exact, with the same confidence. So nothing that it
//! says of its own certainty counts: number, street, borough and ZIP of each feature are compared with the text. A
//! failed call is never "not found".
//!
//! **One form per building** holds as far as the sources allow. Where the directory knows the lot, and the building
//! is the only one on it, its address is the lot's address in PLUTO, whatever was typed; a building that shares its lot
//! keeps the address by which GeoSearch knows it, which may be one of several.

mod agree;
mod answer;
mod fetch;
mod lots;

use std::sync::Arc;

use async_trait::async_trait;
use brownstone_domain::{Borough, Match};

pub use self::fetch::{Fetch, FetchError};
use self::{
    agree::{Hit, agreeing, zip_agrees},
    answer::Feature,
};
use crate::{
    area::Boroughs,
    fold::StreetName,
    geocoder::{Geocoder, LotDirectory, ResolveError, Resolved},
    house::ReadingKind,
    parse::{AddressText, Kind, Note, Typed, parse},
    resolver::{
        answer::{of_identifier, remarks},
        area::{By, Scope, is_nassau, means_nassau, scope},
        say,
        search::Change,
    },
};

/// Features asked for: aliases of one building fill several places.
const SIZE: &str = "20";

/// GeoSearch cuts longer texts.
const MAX_TEXT: usize = 140;

/// Resolves through GeoSearch, and identifiers through a directory of lots.
pub struct GeoSearchGeocoder {
    fetch: Box<dyn Fetch>,
    directory: Option<Arc<dyn LotDirectory>>,
}

impl std::fmt::Debug for GeoSearchGeocoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GeoSearchGeocoder")
            .field("directory", &self.directory.is_some())
            .finish_non_exhaustive()
    }
}

impl GeoSearchGeocoder {
    /// A geocoder that asks GeoSearch through `fetch` (an `Upstream` whose base address is GeoSearch's is one).
    /// Without a directory, typed identifiers cannot be checked and are unavailable.
    pub fn new(fetch: impl Fetch + 'static, directory: Option<Arc<dyn LotDirectory>>) -> Self {
        Self {
            fetch: Box::new(fetch),
            directory,
        }
    }

    async fn search(&self, text: &str) -> Result<Vec<Feature>, ResolveError> {
        let unavailable = |why: String| ResolveError::Unavailable(why);
        let mut text = text;
        if text.len() > MAX_TEXT {
            // The text is ASCII by now.
            text = text.get(..MAX_TEXT).unwrap_or_default();
        }
        let (status, body) = self
            .fetch
            .get(&["v2", "search"], &[("text", text), ("size", SIZE)])
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        if !(200..300).contains(&status) {
            return Err(unavailable(format!("GeoSearch answered {status}")));
        }
        answer::features(&body).map_err(|why| unavailable(why.to_owned()))
    }

    /// The features for a question; where more than one borough was typed, for the same question in each of them.
    async fn ask(
        &self,
        what: &str,
        typed: &Typed,
        boroughs: Boroughs,
    ) -> Result<Vec<Feature>, ResolveError> {
        if typed.place.also.is_empty() {
            return self
                .search(&question(what, typed, typed.place.borough()))
                .await;
        }
        let mut features = Vec::new();
        for borough in boroughs.iter() {
            features.extend(self.search(&question(what, typed, Some(borough))).await?);
        }
        Ok(features)
    }

    async fn address(
        &self,
        typed: &Typed,
        readings: &[AddressText],
    ) -> Result<Resolved, ResolveError> {
        let place = &typed.place;
        if is_nassau(place) {
            return Err(ResolveError::OutsideCoverage(say::nassau()));
        }
        let scope = scope(place);
        let wanted = scope.boroughs.or(scope.contrary);
        for what in questions(readings) {
            let features = self.ask(&what, typed, scope.boroughs).await?;
            for reading in readings {
                let hits = agreeing(&features, typed, reading, wanted);
                if hits.is_empty() {
                    continue;
                }
                let mut resolved = self.choose(typed, reading, hits, scope).await?;
                // Careless lists write New York for any borough.
                let others = Boroughs::ALL.without(wanted);
                if scope.by == By::NewYork
                    && place.zip.is_none()
                    && agreeing(&features, typed, reading, others)
                        .iter()
                        .any(|hit| hit.feature.bin != resolved.building.bin)
                {
                    resolved.warnings.push(say::MANHATTAN_BY_CITY.to_owned());
                }
                return Ok(resolved);
            }
        }
        if means_nassau(place) {
            return Err(ResolveError::OutsideCoverage(say::nassau()));
        }
        Err(ResolveError::NotFound(not_found(readings, scope.boroughs)))
    }

    async fn choose(
        &self,
        typed: &Typed,
        reading: &AddressText,
        mut hits: Vec<Hit<'_>>,
        scope: Scope,
    ) -> Result<Resolved, ResolveError> {
        let prefer = |hits: &mut Vec<Hit<'_>>, passes: &dyn Fn(&Hit<'_>) -> bool| {
            if hits.iter().any(passes) {
                hits.retain(passes);
            }
        };
        // Against a city typed, only an address with the very ZIP counts.
        let contrary = |hit: &Hit<'_>| hit.feature.borough_in(scope.contrary);
        hits.retain(|hit| !contrary(hit) || hit.feature.zip == typed.place.zip);
        let contradicts = hits.iter().any(contrary) && !hits.iter().all(contrary);
        if contradicts {
            let candidates = candidates(&hits);
            return Err(ResolveError::Ambiguous {
                message: say::contradiction(&candidates),
                candidates,
            });
        }
        let ignores_city = hits.iter().any(contrary);
        prefer(&mut hits, &|hit| !hit.change.is_correction());
        if let Some(first) = hits.iter().map(|hit| hit.rank).min() {
            hits.retain(|hit| hit.rank == first);
        }
        prefer(&mut hits, &|hit| hit.zip_agrees);
        let mut warnings = Vec::new();
        // Words behind the street that were passed over may have been the city.
        let all_read = !typed.notes.iter().any(|n| matches!(n, Note::Ignored(_)));
        if scope.by == By::State && all_read && buildings(&hits).len() > 1 {
            // `NY` alone is Manhattan's city as well as the state.
            let there = |hit: &Hit<'_>| hit.feature.borough == Some(Borough::Manhattan);
            if hits.iter().any(there) {
                hits.retain(there);
                warnings.push(say::MANHATTAN_BY_STATE.to_owned());
            }
        }
        if buildings(&hits).len() > 1 {
            let candidates = candidates(&hits);
            return Err(ResolveError::Ambiguous {
                message: say::several(&candidates),
                candidates,
            });
        }
        let Some(hit) = hits.into_iter().next() else {
            return Err(ResolveError::NotFound(not_found(
                std::slice::from_ref(reading),
                scope.boroughs,
            )));
        };
        let unchecked = typed.place.unknown_city
            || reading
                .streets
                .get(hit.text)
                .is_some_and(|street| street.dropped.is_some());
        let corrected = hit.change.is_correction() && hit.change != Change::DirectionAdded;
        let uncertain = match scope.by {
            By::Nothing | By::State => unchecked || corrected,
            // The address as typed may stand in another borough, which was not asked for.
            By::Zip => corrected || !hit.zip_agrees,
            _ => false,
        };
        if uncertain {
            let candidates = vec![hit.feature.line()];
            return Err(ResolveError::Ambiguous {
                message: say::uncertain(&candidates),
                candidates,
            });
        }
        self.resolved(typed, reading, &hit, ignores_city, warnings)
            .await
    }

    async fn resolved(
        &self,
        typed: &Typed,
        reading: &AddressText,
        hit: &Hit<'_>,
        ignores_city: bool,
        mut warnings: Vec<String>,
    ) -> Result<Resolved, ResolveError> {
        let doubtful = typed
            .notes
            .iter()
            .any(|note| matches!(note, Note::DoubtfulOrdinal(_)));
        if doubtful && (typed.place.zip.is_none() || !hit.zip_agrees) {
            return Err(ResolveError::NotFound(not_found(
                std::slice::from_ref(reading),
                Boroughs::ALL,
            )));
        }
        let (building, canonical) = self.building(hit.feature).await?;
        let mut corrected = hit.change.is_correction() || ignores_city;
        if ignores_city {
            warnings.push(say::OTHER_CITY.to_owned());
        }
        let street = reading.streets.get(hit.text);
        if let Some(dropped) = street.and_then(|s| s.dropped.as_deref()) {
            corrected = true;
            warnings.push(say::dropped(dropped));
        }
        if hit.change != Change::None
            && let Some(street) = street
            && street.street.key != hit.feature.street.key
        {
            warnings.push(format!(
                "\"{}\" was read as {}.",
                street.street.name, hit.feature.street_shown
            ));
        }
        match hit.kind {
            ReadingKind::DashDropped => {
                corrected = true;
                warnings.push(format!(
                    "House number {} was read as {}.",
                    reading.number, hit.feature.number_shown
                ));
            }
            ReadingKind::Range => warnings.push(format!(
                "{} was read as a range and {} taken.",
                reading.number, hit.feature.number_shown
            )),
            _ => {}
        }
        corrected |= remarks(typed, hit.feature.zip, &mut warnings);
        Ok(Resolved {
            building,
            unit: street.and_then(|s| s.unit.clone()),
            unit_bbl: None,
            matched: matched(corrected, canonical),
            warnings,
        })
    }

    async fn place(&self, typed: &Typed, names: &[StreetName]) -> Result<Resolved, ResolveError> {
        let scope = scope(&typed.place);
        let shown = names.first().map(|n| n.name.as_str()).unwrap_or_default();
        let features = self.ask(shown, typed, scope.boroughs).await?;
        let mut hits: Vec<Hit<'_>> = features
            .iter()
            .filter(|f| f.number.is_none() && f.bin.is_some() && f.borough_in(scope.boroughs))
            .filter(|f| names.iter().any(|n| n.key == f.street.key))
            .map(|feature| Hit {
                feature,
                rank: 0,
                change: Change::None,
                text: 0,
                zip_agrees: zip_agrees(&typed.place, feature),
                kind: ReadingKind::AsTyped,
            })
            .collect();
        if hits.iter().any(|hit| hit.zip_agrees) {
            hits.retain(|hit| hit.zip_agrees);
        }
        let several = buildings(&hits).len() > 1;
        match hits.into_iter().next() {
            Some(hit) if !several => {
                let (building, canonical) = self.building(hit.feature).await?;
                let mut warnings = Vec::new();
                let corrected = remarks(typed, hit.feature.zip, &mut warnings);
                Ok(Resolved {
                    building,
                    unit: None,
                    unit_bbl: None,
                    matched: matched(corrected, canonical),
                    warnings,
                })
            }
            _ if means_nassau(&typed.place) => Err(ResolveError::OutsideCoverage(say::nassau())),
            _ => Err(ResolveError::NotFound(format!(
                "{shown} is no building's address and no place of one building in {}; a house number and a street are needed.",
                say::names(scope.boroughs)
            ))),
        }
    }
}

#[async_trait]
impl Geocoder for GeoSearchGeocoder {
    async fn resolve(&self, text: &str) -> Result<Resolved, ResolveError> {
        let typed = parse(text).map_err(|why| ResolveError::Invalid(why.to_owned()))?;
        if let Some(place) = typed.place.outside() {
            return Err(ResolveError::OutsideCoverage(say::outside(place)));
        }
        let named = match &typed.kind {
            Kind::Address(readings) => return self.address(&typed, readings).await,
            Kind::Place(names) => return self.place(&typed, names).await,
            Kind::Bbl(bbl) => self.by_bbl(*bbl).await,
            Kind::Bin(bin) => self.by_bin(*bin).await,
            Kind::BlockLot(block, lot) => {
                let boroughs = scope(&typed.place).boroughs;
                self.by_block_and_lot(*block, *lot, boroughs).await
            }
            Kind::BadIdentifier(why) => Err(ResolveError::NotFound((*why).to_owned())),
            other => Err(ResolveError::NotFound(say::no_building(other).to_owned())),
        };
        named.map(|resolved| of_identifier(resolved, &typed))
    }

    fn is_live(&self) -> bool {
        true
    }
}

/// What to ask, in turn: the address as read; the low number of a range, which GeoSearch does not know as one.
fn questions(readings: &[AddressText]) -> Vec<String> {
    let mut out = Vec::new();
    let Some(reading) = readings.first() else {
        return out;
    };
    let Some(street) = reading.street() else {
        return out;
    };
    let name = &street.street.name;
    out.push(format!("{} {name}", reading.number));
    for other in reading.number.readings().iter().skip(1) {
        if other.kind == ReadingKind::Range {
            out.push(format!("{} {name}", other.low));
        }
    }
    out
}

/// A text with the borough, and what else was typed of where it is.
fn question(what: &str, typed: &Typed, borough: Option<Borough>) -> String {
    let mut text = what.to_owned();
    if let Some(borough) = borough {
        text.push_str(", ");
        text.push_str(borough.name());
    }
    if let Some(zip) = typed.place.zip
        && !typed.place.zip_boroughs().is_empty()
    {
        text.push_str(&format!(" {zip:05}"));
    }
    text
}

const fn matched(corrected: bool, canonical: bool) -> Match {
    match (corrected, canonical) {
        (true, _) => Match::Corrected,
        (false, true) => Match::Exact,
        (false, false) => Match::Alias,
    }
}

fn buildings<'h>(hits: &'h [Hit<'_>]) -> Vec<&'h str> {
    let mut ids: Vec<&str> = hits.iter().map(|hit| hit.feature.identity()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn candidates(hits: &[Hit<'_>]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut out = Vec::new();
    for hit in hits {
        let line = hit.feature.line();
        if !seen.contains(&hit.feature.identity()) && !out.contains(&line) && out.len() < 5 {
            seen.push(hit.feature.identity());
            out.push(line);
        }
    }
    out
}

fn not_found(readings: &[AddressText], boroughs: Boroughs) -> String {
    let place = say::names(boroughs);
    match readings.first().and_then(|r| Some((r, r.street()?))) {
        Some((reading, street)) => format!(
            "There is no building at {} {} in {place}.",
            reading.number, street.street.name
        ),
        None => format!("There is no such building in {place}."),
    }
}

#[cfg(test)]
mod tests;
