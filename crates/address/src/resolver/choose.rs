//! One building out of the rows that agree, or the reason why there is none.

use brownstone_domain::Borough;

use super::{
    answer,
    area::{By, Scope, is_nassau, means_nassau, scope},
    building, say,
    search::{Change, Found, Hit, completed, exact, respelled},
};
use crate::{
    area::Boroughs,
    fold::StreetName,
    geocoder::{ResolveError, Resolved},
    pad::{PadIndex, RowRecord},
    parse::{AddressText, Note, Typed, Where},
};

/// Most candidates that an ambiguity lists.
pub(super) const CANDIDATES: usize = 5;

/// Walks over a borough's names that one text may cost, where its street's name is misspelled: a name without a type is
/// tried with the five usual ones as well, in two boroughs.
const WALKS: u8 = 12;

/// The building at an address.
pub(super) fn address(
    index: &PadIndex,
    typed: &Typed,
    readings: &[AddressText],
) -> Result<Resolved, ResolveError> {
    let place = &typed.place;
    if is_nassau(place) {
        return Err(ResolveError::OutsideCoverage(say::nassau()));
    }
    let scope = scope(place);
    let (mut found, mut reading) = best(index, place, readings, scope.boroughs);
    let contrary = contrary(index, typed, readings, scope);
    let mut ignores_city = false;
    match contrary {
        Some((hits, other_reading)) if found.hits.is_empty() => {
            found.hits = hits;
            reading = other_reading;
            ignores_city = true;
        }
        Some((mut hits, _)) => {
            hits.extend(found.hits);
            let candidates = candidates(index, &hits);
            return Err(ResolveError::Ambiguous {
                message: say::contradiction(&candidates),
                candidates,
            });
        }
        None => {}
    }
    if found.hits.is_empty()
        && found.street.is_none()
        && found.pseudo.is_none()
        && !matches!(scope.by, By::Nothing | By::State)
    {
        let mut walks = WALKS;
        for candidate in readings {
            let mut respelled = respelled(index, candidate, scope.boroughs, &mut walks);
            respelled
                .hits
                .retain(|hit| !contradicts_zip(place, &hit.row));
            let streets: Vec<u32> = streets(&respelled.hits);
            if streets.len() == 1 && !respelled.hits.is_empty() {
                found.hits = respelled.hits;
                reading = candidate;
                break;
            }
        }
    }
    if found.hits.is_empty() {
        if means_nassau(place) {
            return Err(ResolveError::OutsideCoverage(say::nassau()));
        }
        let boroughs = scope.boroughs;
        return Err(ResolveError::NotFound(say::not_found(
            index, reading, &found, boroughs,
        )));
    }
    let mut warnings: Vec<String> = Vec::new();
    let hit = one(index, typed, found.hits, scope, &mut warnings)?;
    doubt(index, typed, readings, reading, &hit, scope)?;
    let mut corrected = hit.is_corrected() || ignores_city;
    if ignores_city {
        warnings.push(say::OTHER_CITY.to_owned());
    }
    say::changes(index, reading, &hit, &mut warnings);
    if scope.by == By::NewYork && place.zip.is_none() {
        // Careless lists write New York for any borough.
        let others = Boroughs::ALL.without(Boroughs::only(Borough::Manhattan));
        if !exact(index, reading, others).hits.is_empty() {
            warnings.push(say::MANHATTAN_BY_CITY.to_owned());
        }
    }
    corrected |= answer::range_end(index, reading, &hit, &mut warnings);
    Ok(answer::of_hit(
        index, typed, reading, &hit, corrected, warnings,
    ))
}

/// The first reading that exists, or what all of them met.
fn best<'r>(
    index: &PadIndex,
    place: &Where,
    readings: &'r [AddressText],
    boroughs: Boroughs,
) -> (Found, &'r AddressText) {
    let mut all = Found::default();
    let mut first = None;
    let mut corrected = None;
    for reading in readings {
        first.get_or_insert(reading);
        let found = exact(index, reading, boroughs);
        if found.hits.iter().any(|hit| !hit.is_corrected()) {
            return (found, reading);
        }
        if found.hits.is_empty() {
            all.or(found);
        } else {
            corrected.get_or_insert((found, reading));
        }
    }
    // What agrees as it was typed comes before what would agree if it were changed: `824E NEW YORK AVENUE` is 824 EAST NEW
    // YORK AVENUE, and no 824 NEW YORK AVENUE without its letter.
    if let Some(found) = corrected {
        return found;
    }
    if all.street.is_none() && all.pseudo.is_none() && all.other_name.is_none() {
        for reading in readings {
            let found = completed(index, reading, boroughs);
            if !found.hits.is_empty() {
                return (found, reading);
            }
            all.or(found);
        }
    }
    if all.pseudo.is_none() && all.other_name.is_none() {
        for reading in readings {
            let hits = beyond(index, place, reading, boroughs);
            if !hits.is_empty() {
                all.hits = hits;
                return (all, reading);
            }
        }
    }
    match first {
        Some(first) => (all, first),
        // The parser gives an address at least one reading.
        None => (all, EMPTY.get_or_init(empty_reading)),
    }
}

/// What agrees where a street of this name is known but lacks the number, and the ZIP says which other was meant: its twin
/// in the East or the West (`330 109 STREET, 10029`), or the one that is named after the neighbourhood as well
/// (`239-02 HILLSIDE AVENUE, 11426`).
fn beyond(index: &PadIndex, place: &Where, reading: &AddressText, boroughs: Boroughs) -> Vec<Hit> {
    let Some(zip) = place.zip else {
        return Vec::new();
    };
    let mut hits = completed(index, reading, boroughs).hits;
    hits.retain(|hit| hit.name == Change::DirectionAdded && hit.number == Change::None);
    let last = reading.streets.len().saturating_sub(1);
    if let Some(street) = reading.street() {
        for area in crate::area::neighborhood(zip)
            .unwrap_or_default()
            .split(['/', '-'])
        {
            let area = crate::fold::fold_text(area, crate::fold::Spelling::Typed);
            if area.name.is_empty() {
                continue;
            }
            let mut longer = reading.clone();
            let mut named = street.clone();
            named.street = street.street.with_last(&area.name);
            longer.streets = vec![named];
            hits.extend(
                exact(index, &longer, boroughs)
                    .hits
                    .into_iter()
                    .map(|mut hit| {
                        hit.name = Change::TypeAdded;
                        hit.text = last;
                        hit
                    }),
            );
        }
    }
    hits.retain(|hit| has_zip(place, &hit.row));
    hits
}

static EMPTY: std::sync::OnceLock<AddressText> = std::sync::OnceLock::new();

fn empty_reading() -> AddressText {
    AddressText {
        number: crate::house::TypedNumber::plain(0, crate::house::Suffix::NONE),
        streets: Vec::new(),
    }
}

/// Where city and ZIP contradict: what agrees with number, street and ZIP.
///
/// There the direction may be one too many or too few as well: `450 W 37 ST, NEW YORK, NY 11232` may be 450 37 STREET.
fn contrary<'r>(
    index: &PadIndex,
    typed: &Typed,
    readings: &'r [AddressText],
    scope: Scope,
) -> Option<(Vec<Hit>, &'r AddressText)> {
    if scope.contrary.is_empty() {
        return None;
    }
    for reading in readings {
        let mut hits = exact(index, reading, scope.contrary).hits;
        hits.retain(|hit| has_zip(&typed.place, &hit.row));
        if hits.is_empty() {
            hits = completed(index, reading, scope.contrary).hits;
            hits.retain(|hit| has_zip(&typed.place, &hit.row));
        }
        if hits.is_empty()
            && let Some(bare) = without_direction(reading)
        {
            hits = exact(index, &bare, scope.contrary).hits;
            hits.retain(|hit| has_zip(&typed.place, &hit.row));
            for hit in &mut hits {
                hit.name = Change::DirectionAdded;
                hit.text = reading.streets.len().saturating_sub(1);
            }
        }
        if !hits.is_empty() {
            return Some((hits, reading));
        }
    }
    None
}

fn without_direction(reading: &AddressText) -> Option<AddressText> {
    let street = reading.street()?;
    let (first, rest) = street.street.name.split_once(' ')?;
    if !crate::fold::is_direction(first) {
        return None;
    }
    let mut street = street.clone();
    street.street = StreetName::of_words(rest.split(' '));
    Some(AddressText {
        number: reading.number,
        streets: vec![street],
    })
}

pub(super) fn has_zip(place: &Where, row: &RowRecord) -> bool {
    place.zip.is_some_and(|zip| zip == u32::from(row.zip))
}

/// Whether a ZIP that means something was typed, and the row has another.
fn contradicts_zip(place: &Where, row: &RowRecord) -> bool {
    is_another_zip(place, u32::from(row.zip))
}

/// Whether a ZIP that means something was typed, and this one, where there is one, is another.
pub(crate) fn is_another_zip(place: &Where, there: u32) -> bool {
    there != 0 && place.zip.is_some_and(|zip| zip != there) && says_zip(place)
}

fn says_zip(place: &Where) -> bool {
    !matches!(
        place.zip_area(),
        None | Some(crate::area::ZipArea::Placeholder)
    )
}

fn streets(hits: &[Hit]) -> Vec<u32> {
    let mut streets: Vec<u32> = hits.iter().map(|hit| hit.street).collect();
    streets.sort_unstable();
    streets.dedup();
    streets
}

fn buildings(hits: &[Hit]) -> Vec<u32> {
    let mut buildings: Vec<u32> = hits.iter().map(|hit| hit.row.building).collect();
    buildings.sort_unstable();
    buildings.dedup();
    buildings
}

/// Keeps those that pass, where some do.
fn prefer(hits: &mut Vec<Hit>, passes: impl Fn(&Hit) -> bool) {
    if hits.iter().any(&passes) {
        hits.retain(passes);
    }
}

/// The one building of these rows, by what else was typed.
fn one(
    index: &PadIndex,
    typed: &Typed,
    mut hits: Vec<Hit>,
    scope: Scope,
    warnings: &mut Vec<String>,
) -> Result<Hit, ResolveError> {
    let place = &typed.place;
    prefer(&mut hits, |hit| !hit.is_corrected());
    prefer(&mut hits, |hit| has_zip(place, &hit.row));
    prefer(&mut hits, |hit| !contradicts_zip(place, &hit.row));
    if buildings(&hits).len() > 1 {
        // A row of just this number tells more than a range that happens to contain it.
        let just = |hit: &Hit| hit.row.low == hit.reading.low && hit.row.high == hit.reading.high;
        let explicit: Vec<Hit> = hits.iter().copied().filter(just).collect();
        // Two ways to read one number are two addresses, and neither row tells which is meant.
        let one_number = hits.windows(2).all(|pair| match pair {
            [a, b] => a.reading.low == b.reading.low,
            _ => true,
        });
        if !explicit.is_empty() && streets(&hits).len() == 1 && one_number {
            hits = explicit;
        }
    }
    if buildings(&hits).len() > 1
        && let Some(area) = place.area
    {
        let there: Vec<Hit> = hits
            .iter()
            .copied()
            .filter(|hit| area.0.has_zip(u32::from(hit.row.zip)))
            .collect();
        if buildings(&there).len() == 1 {
            hits = there;
        }
    }
    // Words behind the street that were passed over may have been the city.
    let all_read = !typed.notes.iter().any(|n| matches!(n, Note::Ignored(_)));
    if buildings(&hits).len() > 1 && scope.by == By::State && all_read {
        // `NY` alone is Manhattan's city as well as the state.
        let manhattan: Vec<Hit> = hits
            .iter()
            .copied()
            .filter(|hit| index.street_code(hit.street) / 100_000 == 1)
            .collect();
        if buildings(&manhattan).len() == 1 {
            hits = manhattan;
            warnings.push(say::MANHATTAN_BY_STATE.to_owned());
        }
    }
    if buildings(&hits).len() > 1 {
        let candidates = candidates(index, &hits);
        return Err(ResolveError::Ambiguous {
            message: say::several(&candidates),
            candidates,
        });
    }
    // Rows of one building: the canonical one first, so that the match does not depend on their order.
    let canonical = hits.first().map(|hit| index.building(hit.row.building).row);
    hits.iter()
        .copied()
        .min_by_key(|hit| (Some(hit.at) != canonical, hit.at))
        .ok_or_else(|| ResolveError::NotFound("There is no such address.".to_owned()))
}

/// Addresses of different buildings, in the order of boroughs.
fn candidates(index: &PadIndex, hits: &[Hit]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut out: Vec<String> = Vec::new();
    let mut sorted: Vec<&Hit> = hits.iter().collect();
    sorted.sort_by_key(|hit| (index.street_code(hit.street), hit.at));
    for hit in sorted {
        if seen.contains(&hit.row.building) {
            continue;
        }
        seen.push(hit.row.building);
        let mut line = building::candidate(index, hit.street, &hit.row);
        if out.contains(&line) {
            // The same address on two lots.
            let bbl = index.building(hit.row.building).bbl;
            line = crate::pad::bbl_of(bbl).map_or(line, |bbl| bbl.to_string());
        }
        out.push(line);
        if out.len() == CANDIDATES {
            break;
        }
    }
    out
}

/// Refuses what is too uncertain: a correction where little was typed to check it by.
fn doubt(
    index: &PadIndex,
    typed: &Typed,
    readings: &[AddressText],
    reading: &AddressText,
    hit: &Hit,
    scope: Scope,
) -> Result<(), ResolveError> {
    let place = &typed.place;
    let doubtful_ordinal = typed
        .notes
        .iter()
        .any(|note| matches!(note, Note::DoubtfulOrdinal(_)));
    if doubtful_ordinal && !has_zip(place, &hit.row) {
        return Err(ResolveError::NotFound(say::not_found(
            index,
            reading,
            &Found::default(),
            scope.boroughs,
        )));
    }
    let unchecked = place.unknown_city
        || reading
            .streets
            .get(hit.text)
            .is_some_and(|street| street.dropped.is_some());
    let contradicts = scope.by == By::Zip && contradicts_zip(place, &hit.row);
    if !hit.is_corrected() && !unchecked && !contradicts {
        return Ok(());
    }
    let refuse = |hits: &[Hit]| {
        let candidates = candidates(index, hits);
        Err(ResolveError::Ambiguous {
            message: say::uncertain(&candidates),
            candidates,
        })
    };
    match scope.by {
        By::Nothing | By::State if unchecked || hit.name != Change::DirectionAdded => {
            refuse(&[*hit])
        }
        // The ZIP alone said where, and the number or the street is changed, or the ZIP is another after all: the address
        // as typed may stand in another borough.
        By::Zip if hit.is_corrected() || contradicts => {
            let mut elsewhere: Vec<Hit> = readings
                .iter()
                .flat_map(|r| exact(index, r, Boroughs::ALL.without(scope.boroughs)).hits)
                .filter(|other| {
                    // Over a line between boroughs, one building is posted in both.
                    !other.is_corrected() && other.row.building != hit.row.building
                })
                .collect();
            if elsewhere.is_empty() {
                return Ok(());
            }
            elsewhere.push(*hit);
            refuse(&elsewhere)
        }
        _ => Ok(()),
    }
}
