//! The answer for a row: the building, how it stands to what was typed, and what the caller must know.

use brownstone_domain::Match;

use super::{
    building,
    choose::is_another_zip,
    ids, say,
    search::{Change, Hit},
};
use crate::{
    geocoder::Resolved,
    house::ReadingKind,
    pad::{PadIndex, RowRecord},
    parse::{AddressText, Note, Typed},
};

/// Says whether the end of a typed range is not in the building.
pub(super) fn range_end(
    index: &PadIndex,
    reading: &AddressText,
    hit: &Hit,
    warnings: &mut Vec<String>,
) -> bool {
    if hit.reading.kind != ReadingKind::Range {
        return false;
    }
    let ends: Vec<u32> = index
        .rows_at(hit.street, hit.reading.high)
        .map(|(_, row)| row.building)
        .collect();
    if ends.contains(&hit.row.building) {
        return false;
    }
    let why = if ends.is_empty() {
        format!("there is no {}", hit.reading.high)
    } else {
        format!("{} is another building", hit.reading.high)
    };
    warnings.push(format!(
        "{} was read as a range and {} taken; {why}.",
        reading.number, hit.reading.low
    ));
    true
}

/// The answer for a row.
pub(super) fn of_hit(
    index: &PadIndex,
    typed: &Typed,
    reading: &AddressText,
    hit: &Hit,
    corrected: bool,
    mut warnings: Vec<String>,
) -> Resolved {
    let (place, own) = building_of(index, hit.row.building, &mut warnings);
    let street = reading.streets.get(hit.text);
    let dropped = street.and_then(|street| street.dropped.as_deref());
    if let Some(dropped) = dropped {
        warnings.push(say::dropped(dropped));
    }
    let corrected = corrected || dropped.is_some();
    let canonical =
        own && index.building(place).row == hit.at && (hit.shown || hit.name == Change::TypeAdded);
    Resolved {
        unit: street.and_then(|street| street.unit.clone()),
        ..of_place(
            index,
            typed,
            &hit.row,
            place,
            (corrected, canonical),
            warnings,
        )
    }
}

/// The answer for a building that a row leads to. `how` says whether something was changed already, and whether the row
/// is the canonical one.
pub(super) fn of_place(
    index: &PadIndex,
    typed: &Typed,
    row: &RowRecord,
    place: u32,
    (mut corrected, canonical): (bool, bool),
    mut warnings: Vec<String>,
) -> Resolved {
    corrected |= remarks(typed, Some(u32::from(row.zip)), &mut warnings);
    Resolved {
        building: building::at(index, place),
        unit: None,
        unit_bbl: None,
        matched: match (corrected, canonical) {
            (true, _) => Match::Corrected,
            (false, true) => Match::Exact,
            (false, false) => Match::Alias,
        },
        warnings,
    }
}

/// Says what was typed and is not so, beside number and street: a second borough, another ZIP than the answer's, words that
/// were passed over or set right. `true` where something was changed.
pub(crate) fn remarks(typed: &Typed, there: Option<u32>, warnings: &mut Vec<String>) -> bool {
    let mut corrected = false;
    if !typed.place.also.is_empty() {
        corrected = true;
        warnings.push(say::ONE_BOROUGH.to_owned());
    }
    if let (Some(zip), Some(there)) = (typed.place.zip, there)
        && is_another_zip(&typed.place, there)
    {
        corrected = true;
        warnings.push(format!(
            "ZIP code {zip:05} was ignored: the address is in {there:05}."
        ));
    }
    for note in &typed.notes {
        corrected |= note.is_correction();
        warnings.push(Note::sentence(note));
    }
    corrected
}

/// A lot or a building that was asked for by its number, with what else was typed.
pub(crate) fn of_identifier(mut resolved: Resolved, typed: &Typed) -> Resolved {
    let zip = resolved.building.zip.as_ref();
    let there = zip.and_then(|zip| zip.to_string().parse().ok());
    if remarks(typed, there, &mut resolved.warnings) {
        resolved.matched = Match::Corrected;
    }
    resolved
}

/// The building to answer with for a row's: itself, or where the files give the address none the lot's only building,
/// or the lot. Says whether it is the row's own.
fn building_of(index: &PadIndex, place: u32, warnings: &mut Vec<String>) -> (u32, bool) {
    let record = index.building(place);
    if record.bin != 0 {
        return (place, true);
    }
    let others: Vec<(u32, u32)> = index
        .buildings_of(record.bbl)
        .filter(|(_, other)| other.bin != 0)
        .map(|(at, other)| (at, other.bin))
        .collect();
    if let [(only, _)] = others.as_slice() {
        // The lot's path would lead to its one building, too.
        warnings.push(
            "The city's files give this address no building; the lot's only building was taken."
                .to_owned(),
        );
        return (*only, false);
    }
    warnings.push("The city's files give this address no building, only its lot.".to_owned());
    if !others.is_empty() {
        let bins: Vec<u32> = others.iter().map(|(_, bin)| *bin).collect();
        warnings.push(ids::several_buildings(&bins));
    }
    (place, true)
}
