//! Places by name: a building without a number, a complex, a street alone.

use super::{
    answer::of_place,
    area::{means_nassau, scope},
    choose::{CANDIDATES, has_zip},
    say,
    search::near,
};
use crate::{
    fold::StreetName,
    geocoder::{ResolveError, Resolved},
    pad::{AddressKind, PadIndex, Posting, RowRecord},
    parse::Typed,
};

/// Letters and digits of the shortest place's name whose spelling is corrected.
const SHORTEST: usize = 10;

/// What a search for a place met beside its buildings.
#[derive(Default)]
struct Met {
    /// A street of this name that has numbers.
    numbered: Option<Posting>,
    /// A place without one building of its own, and its lot.
    lot_only: Option<(Posting, u64)>,
}

fn is_street(index: &PadIndex, posting: Posting) -> bool {
    index
        .rows_of(posting.street)
        .next_back()
        .is_some_and(|(_, row)| row.kind.is_numbered())
}

/// A row of a place: its street, where it stands in the index, and itself.
type Hit = (u32, u32, RowRecord);

/// The buildings, one row of each, that are places by these names; those in the ZIP that was typed where some are.
fn buildings(
    index: &PadIndex,
    typed: &Typed,
    postings: impl Iterator<Item = Posting>,
    met: &mut Met,
) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for posting in postings {
        for (at, row) in index.rows_of(posting.street) {
            if row.kind.is_numbered() {
                met.numbered = Some(posting);
                // Places stand before numbers.
                break;
            }
            let building = index.building(row.building);
            if row.kind == AddressKind::Complex || building.bin == 0 {
                met.lot_only = Some((posting, building.bbl));
            } else {
                hits.push((posting.street, at, row));
            }
        }
    }
    if hits.iter().any(|(.., row)| has_zip(&typed.place, row)) {
        hits.retain(|(.., row)| has_zip(&typed.place, row));
    }
    hits.sort_unstable_by_key(|(_, at, row)| (row.building, *at));
    hits.dedup_by_key(|(.., row)| row.building);
    hits
}

/// The answer for the buildings of one name; `None` where there is none. `said` is what was corrected on the way.
fn one(
    index: &PadIndex,
    typed: &Typed,
    name: &str,
    hits: &[Hit],
    said: Option<String>,
) -> Option<Result<Resolved, ResolveError>> {
    match hits {
        [] => None,
        [(_, at, row)] => {
            let canonical = index.building(row.building).row == *at;
            let how = (said.is_some(), canonical);
            let warnings = said.into_iter().collect();
            Some(Ok(of_place(index, typed, row, row.building, how, warnings)))
        }
        several => {
            let candidates: Vec<String> = several
                .iter()
                .take(CANDIDATES)
                .filter_map(|(.., row)| crate::pad::bin_of(index.building(row.building).bin))
                .map(|bin| bin.to_string())
                .collect();
            Some(Err(ResolveError::Ambiguous {
                message: format!(
                    "{name} has several buildings; ask for one by its BIN: {}.",
                    candidates.join(", ")
                ),
                candidates,
            }))
        }
    }
}

/// The building that a place's name means.
pub(super) fn place(
    index: &PadIndex,
    typed: &Typed,
    names: &[StreetName],
) -> Result<Resolved, ResolveError> {
    let scope = scope(&typed.place);
    let mut met = Met::default();
    for name in names {
        let postings = scope
            .boroughs
            .iter()
            .flat_map(|b| index.streets(b, &name.key));
        let hits = buildings(index, typed, postings, &mut met);
        if let Some(answer) = one(index, typed, &name.name, &hits, None) {
            return answer;
        }
    }
    if met.numbered.is_none() && met.lot_only.is_none() {
        // No one has the name: one that is near, where only one place is.
        for name in names
            .iter()
            .filter(|name| name.key.len() >= SHORTEST)
            .take(2)
        {
            let near: Vec<_> = scope
                .boroughs
                .iter()
                .flat_map(|b| near(index, name, b))
                .collect();
            let hits = buildings(index, typed, near.iter().copied(), &mut Met::default());
            // A street that is as near may have been meant.
            let street = near.iter().any(|posting| is_street(index, *posting));
            if let [(street_at, ..)] = hits.as_slice()
                && !street
            {
                let shown = near
                    .iter()
                    .find(|p| p.street == *street_at)
                    .map(|p| index.street_name(p.street, p.group))
                    .unwrap_or_default();
                let said = format!("\"{}\" was read as {shown}.", name.name);
                if let Some(answer) = one(index, typed, &name.name, &hits, Some(said)) {
                    return answer;
                }
            }
        }
    }
    let Met { numbered, lot_only } = met;
    let shown = names.first().map(|n| n.name.as_str()).unwrap_or_default();
    if let Some((posting, bbl)) = lot_only
        && let Some(bbl) = crate::pad::bbl_of(bbl)
    {
        let name = index.street_name(posting.street, posting.group);
        return Err(ResolveError::NotFound(format!(
            "{name} is a place without one building of its own; its tax lot is {bbl}."
        )));
    }
    if means_nassau(&typed.place) {
        return Err(ResolveError::OutsideCoverage(say::nassau()));
    }
    Err(ResolveError::NotFound(if numbered.is_some() {
        format!("{shown} is a street; a house number is needed.")
    } else {
        format!(
            "{shown} is no building's address and no place known in {}; a house number and a street are needed.",
            say::names(scope.boroughs)
        )
    }))
}
