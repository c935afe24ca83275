//! Places by name: a building without a number, a complex, a street alone.

use super::{
    answer::of_place,
    area::{means_nassau, scope},
    choose::{CANDIDATES, has_zip},
    say,
};
use crate::{
    fold::StreetName,
    geocoder::{ResolveError, Resolved},
    pad::{AddressKind, PadIndex, RowRecord},
    parse::Typed,
};

/// The building that a place's name means.
pub(super) fn place(
    index: &PadIndex,
    typed: &Typed,
    names: &[StreetName],
) -> Result<Resolved, ResolveError> {
    let scope = scope(&typed.place);
    let mut numbered = None;
    let mut lot_only = None;
    for name in names {
        let mut hits: Vec<(u32, u32, RowRecord)> = Vec::new();
        for posting in scope
            .boroughs
            .iter()
            .flat_map(|b| index.streets(b, &name.key))
        {
            for (at, row) in index.rows_of(posting.street) {
                if row.kind.is_numbered() {
                    numbered = Some(posting);
                    // Places stand before numbers.
                    break;
                }
                let building = index.building(row.building);
                if row.kind == AddressKind::Complex || building.bin == 0 {
                    lot_only = Some((posting, building.bbl));
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
        match hits.as_slice() {
            [] => {}
            [(_, at, row)] => {
                return {
                    let canonical = index.building(row.building).row == *at;
                    let how = (false, canonical);
                    Ok(of_place(index, typed, row, row.building, how, Vec::new()))
                };
            }
            several => {
                let candidates: Vec<String> = several
                    .iter()
                    .take(CANDIDATES)
                    .filter_map(|(.., row)| crate::pad::bin_of(index.building(row.building).bin))
                    .map(|bin| bin.to_string())
                    .collect();
                return Err(ResolveError::Ambiguous {
                    message: format!(
                        "{} has several buildings; ask for one by its BIN: {}.",
                        name.name,
                        candidates.join(", ")
                    ),
                    candidates,
                });
            }
        }
    }
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
