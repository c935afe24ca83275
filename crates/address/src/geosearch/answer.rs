//! A GeoSearch answer, as far as it can be trusted.

use brownstone_domain::{Bbl, Bin, Borough};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    area::{self, Boroughs},
    fold::{Spelling, StreetName, fold_text},
    house::HouseKey,
};

/// A building as GeoSearch has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Feature {
    pub(super) number: Option<HouseKey>,
    pub(super) number_shown: String,
    pub(super) street: StreetName,
    pub(super) street_shown: String,
    pub(super) borough: Option<Borough>,
    pub(super) zip: Option<u32>,
    pub(super) bbl: Bbl,
    /// `None` for the city's placeholder.
    pub(super) bin: Option<Bin>,
    /// Degrees north and east.
    pub(super) point: Option<(f64, f64)>,
    identity: String,
}

impl Feature {
    /// What tells buildings apart: the BIN.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether it lies in one of these boroughs, by law or by post office.
    pub(super) fn borough_in(&self, boroughs: Boroughs) -> bool {
        let by_law = self.bbl.borough();
        boroughs.contains(by_law)
            || self.borough.is_some_and(|b| boroughs.contains(b))
            // Marble Hill is typed as the Bronx and Rikers Island as Queens.
            || self.zip.is_some_and(area::is_shared_zip)
                && area::neighbours(by_law).and(boroughs) != Boroughs::default()
    }

    /// Whether house numbers here have hyphens: Queens, and Rikers Island beside it.
    pub(super) fn is_in_queens(&self) -> bool {
        self.borough == Some(Borough::Queens) || self.bbl.borough() == Borough::Queens
    }

    /// The address on one line, so that it can be asked for.
    pub(super) fn line(&self) -> String {
        let city = area::city(self.bbl.borough(), self.zip);
        let mut line = format!("{} {}, {city}, NY", self.number_shown, self.street_shown);
        if let Some(zip) = self.zip {
            line.push_str(&format!(" {zip:05}"));
        }
        line.trim_start().to_owned()
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "type")]
    kind: String,
    features: Vec<Value>,
}

#[derive(Deserialize)]
struct RawFeature {
    #[serde(default)]
    geometry: Value,
    properties: Properties,
}

#[derive(Deserialize)]
struct Properties {
    name: Option<String>,
    housenumber: Option<String>,
    street: Option<String>,
    borough: Option<String>,
    postalcode: Option<String>,
    addendum: Option<Addendum>,
}

#[derive(Deserialize)]
struct Addendum {
    pad: Pad,
}

#[derive(Deserialize)]
struct Pad {
    bbl: String,
    bin: Option<String>,
}

/// The buildings of an answer. Features that are no building of the city's address files (boroughs, neighbourhoods) are
/// left out, and so are those whose parts contradict each other.
///
/// # Errors
/// What it is instead of an answer.
pub(super) fn features(body: &[u8]) -> Result<Vec<Feature>, &'static str> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| "GeoSearch's answer is no feature collection")?;
    if answer.kind != "FeatureCollection" {
        return Err("GeoSearch's answer is no feature collection");
    }
    Ok(answer.features.into_iter().filter_map(feature).collect())
}

fn feature(raw: Value) -> Option<Feature> {
    let raw: RawFeature = serde_json::from_value(raw).ok()?;
    let properties = raw.properties;
    let pad = properties.addendum?.pad;
    let bbl: Bbl = pad.bbl.parse().ok()?;
    let bin: Option<Bin> = pad.bin.and_then(|bin| bin.parse().ok());
    // The city's own data pair lots and buildings of different boroughs now and then.
    if bin.is_some_and(|bin| bin.borough() != bbl.borough()) {
        return None;
    }
    let number_shown = properties
        .housenumber
        .map(|n| n.trim().to_ascii_uppercase())
        .unwrap_or_default();
    let street_shown = properties
        .street
        .or(properties.name)
        .map(|s| s.trim().to_ascii_uppercase())?;
    let number = HouseKey::from_shown(&number_shown);
    if number.is_none() && !number_shown.is_empty() {
        return None;
    }
    let borough = properties
        .borough
        .and_then(|name| Borough::ALL.into_iter().find(|b| b.name() == name));
    Some(Feature {
        number,
        street: fold_text(&street_shown, Spelling::Official),
        number_shown,
        street_shown,
        borough,
        zip: properties.postalcode.and_then(|zip| zip.parse().ok()),
        identity: bin.map_or_else(|| bbl.to_string(), |bin| bin.to_string()),
        bbl,
        bin,
        point: point(&raw.geometry),
    })
}

/// Longitude comes first in GeoJSON; anything outside the city's surroundings is no point of it.
fn point(geometry: &Value) -> Option<(f64, f64)> {
    let coordinates = geometry.get("coordinates")?.as_array()?;
    let east = coordinates.first()?.as_f64()?;
    let north = coordinates.get(1)?.as_f64()?;
    ((40.4..=41.0).contains(&north) && (-74.3..=-73.6).contains(&east)).then_some((north, east))
}
