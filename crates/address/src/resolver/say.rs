//! What the caller is told: whole sentences, nothing internal.

use brownstone_domain::Borough;

use super::search::{Change, Found, Hit, near, neighbours_of};
use crate::{
    area::Boroughs,
    pad::{PadIndex, bbl_of},
    parse::{AddressText, Kind},
};

pub(crate) const ONE_BOROUGH: &str =
    "More than one borough was typed; the address agrees with only one of them.";
pub(crate) const OTHER_CITY: &str =
    "The city typed does not have this address; the ZIP code's borough does.";
pub(crate) const MANHATTAN_BY_CITY: &str =
    "New York was read as Manhattan; other boroughs have this address, too.";
pub(crate) const MANHATTAN_BY_STATE: &str =
    "NY was read as Manhattan; other boroughs have this address, too.";

pub(crate) fn outside(place: &str) -> String {
    format!("The address is outside the five boroughs of New York City: {place}.")
}

pub(crate) fn nassau() -> String {
    outside("no building of the city has it, and across the line it is Nassau County's")
}

/// Text that names no building.
pub(crate) const fn no_building(kind: &Kind) -> &'static str {
    match kind {
        Kind::Intersection => {
            "The text names an intersection or a stretch between streets, not a building; ask for a house number."
        }
        Kind::PostBox => "A post box is not a building.",
        _ => "The text names no building; a house number and a street are needed.",
    }
}

/// Words after a street's name that were passed over.
pub(crate) fn dropped(text: &str) -> String {
    format!("\"{text}\" after the street's name was ignored.")
}

/// Several candidates.
pub(crate) fn several(candidates: &[String]) -> String {
    format!(
        "The address fits several buildings; add a borough or a ZIP code, or ask for one of these: {}.",
        candidates.join("; ")
    )
}

/// One candidate that is too uncertain to be taken.
pub(crate) fn uncertain(candidates: &[String]) -> String {
    format!(
        "The address is not certain as typed; did you mean {}?",
        candidates.join(" or ")
    )
}

/// Parts that contradict each other.
pub(crate) fn contradiction(candidates: &[String]) -> String {
    format!(
        "The city and the ZIP code contradict each other; ask for one of these: {}.",
        candidates.join("; ")
    )
}

pub(crate) fn names(boroughs: Boroughs) -> String {
    if boroughs == Boroughs::ALL {
        return "New York City".to_owned();
    }
    let names: Vec<&str> = boroughs.iter().map(Borough::name).collect();
    names.join(" or ")
}

/// Why an address inside the city is no building.
pub(crate) fn not_found(
    index: &PadIndex,
    reading: &AddressText,
    found: &Found,
    boroughs: Boroughs,
) -> String {
    let number = reading.number.to_string();
    let street = reading
        .street()
        .map(|s| s.street.name.as_str())
        .unwrap_or_default();
    let place = names(boroughs);
    if let Some(bbl) = found.pseudo.and_then(bbl_of) {
        return format!(
            "{number} {street} is a number that the city made up for a frontage of tax lot {bbl}; no building has it."
        );
    }
    if let Some((other, group)) = found.other_name {
        let other = index.street_name(other, group);
        return format!(
            "{street} does not go by that name at number {number}; there the street is {other}."
        );
    }
    if let Some(known) = found.street {
        let shown = index.street_name(known.street, known.group);
        let mut text = format!("There is no number {number} on {shown} in {place}");
        let wanted = reading.number.readings().iter().next();
        if let Some(wanted) = wanted {
            match neighbours_of(index, known.street, wanted.low) {
                (Some(below), Some(above)) => {
                    text.push_str(&format!("; the nearest are {below} and {above}"));
                }
                (Some(one), None) | (None, Some(one)) => {
                    text.push_str(&format!("; the nearest is {one}"));
                }
                (None, None) => {}
            }
        }
        text.push('.');
        return text;
    }
    let mut text = format!("There is no street {street} in {place}");
    let mut similar: Vec<&str> = Vec::new();
    if let Some(name) = reading.street()
        && boroughs.len() <= 2
    {
        for posting in boroughs.iter().flat_map(|b| near(index, &name.street, b)) {
            let shown = index.street_name(posting.street, posting.group);
            if !similar.contains(&shown) && similar.len() < 3 {
                similar.push(shown);
            }
        }
    }
    if !similar.is_empty() {
        text.push_str(&format!("; similar names are {}", similar.join(", ")));
    }
    text.push('.');
    text
}

/// What was changed or assumed to reach a row.
pub(crate) fn changes(
    index: &PadIndex,
    reading: &AddressText,
    hit: &Hit,
    warnings: &mut Vec<String>,
) {
    let typed = reading
        .streets
        .get(hit.text)
        .map(|s| s.street.name.as_str())
        .unwrap_or_default();
    if hit.name != Change::None {
        let shown = index.street_name(hit.street, hit.row.group);
        warnings.push(format!("\"{typed}\" was read as {shown}."));
    }
    match hit.number {
        Change::DashDropped => warnings.push(format!(
            "House number {} was read as {}.",
            reading.number, hit.reading.low
        )),
        Change::SuffixDropped => warnings.push(format!(
            "There is no {} {typed}; the building at {} was taken.",
            reading.number, hit.reading.low
        )),
        _ => {}
    }
}
