//! Which features agree with a reading of an address.

use super::answer::Feature;
use crate::{
    area::Boroughs,
    house::{HouseKey, ReadingKind},
    parse::{AddressText, Typed, Where},
    resolver::{
        choose::is_another_zip,
        search::{Change, variants},
    },
};

/// A feature that agrees with a reading.
pub(super) struct Hit<'f> {
    pub(super) feature: &'f Feature,
    /// Its place among the readings of the number; less is likelier.
    pub(super) rank: usize,
    pub(super) change: Change,
    /// The street typed.
    pub(super) text: usize,
    /// Its ZIP is the one typed, or either is missing.
    pub(super) zip_agrees: bool,
    pub(super) kind: ReadingKind,
}

/// Whether a feature's ZIP is not another than the one typed.
pub(super) fn zip_agrees(place: &Where, feature: &Feature) -> bool {
    !feature.zip.is_some_and(|zip| is_another_zip(place, zip))
}

/// The features that agree with a reading of number, street and borough.
pub(super) fn agreeing<'f>(
    features: &'f [Feature],
    typed: &Typed,
    reading: &AddressText,
    boroughs: Boroughs,
) -> Vec<Hit<'f>> {
    let completed = reading.streets.last().map(variants).unwrap_or_default();
    let known = |key: &str| {
        reading
            .streets
            .iter()
            .position(|s| same_street(&s.street.key, key))
            .map(|at| (Change::None, at))
            .or_else(|| {
                completed
                    .iter()
                    .find(|(name, _)| name.key == key)
                    .map(|(_, change)| (*change, reading.streets.len().saturating_sub(1)))
            })
    };
    let mut hits: Vec<Hit<'f>> = features
        .iter()
        .filter(|f| f.bin.is_some() && f.borough_in(boroughs))
        .filter_map(|feature| {
            let number = number_of(feature, features)?;
            let (rank, kind) = reading
                .number
                .readings()
                .iter()
                .enumerate()
                .find(|(_, r)| same_number(r.low, number, feature))
                .map(|(rank, r)| match r.kind {
                    // Where the hyphen belongs no one can tell: 131-03 is as likely as 13-103.
                    ReadingKind::HyphenAdded => (1, r.kind),
                    kind => (rank, kind),
                })?;
            let (change, text) = known(&feature.street.key)?;
            // Whether the street without the direction exists is not known here: only a ZIP can confirm it.
            if change == Change::DirectionAdded
                && (typed.place.zip.is_none() || typed.place.zip != feature.zip)
            {
                return None;
            }
            Some(Hit {
                feature,
                rank,
                change,
                text,
                zip_agrees: zip_agrees(&typed.place, feature),
                kind,
            })
        })
        .collect();
    // A direction is missing only where no street has the name without it.
    if hits.iter().any(|hit| hit.change == Change::None) {
        hits.retain(|hit| hit.change == Change::None);
    }
    hits
}

/// A number without its hyphen: 13103 for 131-03, and for 13-103.
fn bare(key: HouseKey) -> u32 {
    if key.is_hyphenated() {
        let shift = if key.right() < 100 { 100 } else { 1000 };
        key.left() * shift + key.right()
    } else {
        key.left()
    }
}

/// A feature's number; GeoSearch keeps those of Queens with and without their hyphen, and of one without, another feature
/// of the building says where it belongs.
fn number_of(feature: &Feature, features: &[Feature]) -> Option<HouseKey> {
    let number = feature.number?;
    if number.is_hyphenated() || !feature.is_in_queens() {
        return Some(number);
    }
    let hyphenated = features
        .iter()
        .filter(|other| other.identity() == feature.identity())
        .filter_map(|other| other.number)
        .find(|other| {
            other.is_hyphenated()
                && bare(*other) == number.left()
                && other.suffix() == number.suffix()
        });
    Some(hyphenated.unwrap_or(number))
}

/// Two numbers that are one: GeoSearch keeps Queens numbers with and without their hyphen.
fn same_number(typed: HouseKey, there: HouseKey, feature: &Feature) -> bool {
    typed == there
        || (feature.is_in_queens()
            && typed.is_hyphenated()
            && !there.is_hyphenated()
            && bare(typed) == bare(there)
            && typed.suffix() == there.suffix())
}

/// Names that the dictionary gives one stretch of street; GeoSearch answers with either.
fn same_street(typed: &str, there: &str) -> bool {
    const AMERICAS: [&str; 2] = ["6AVENUE", "AVENUEOFTHEAMERICAS"];
    typed == there || (AMERICAS.contains(&typed) && AMERICAS.contains(&there))
}
