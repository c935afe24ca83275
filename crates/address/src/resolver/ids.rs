//! Typed identifiers, checked against the index.

use brownstone_domain::{Bbl, Bin, Borough, Building, Match};

use super::{building, say};
use crate::{
    area::{Boroughs, MARBLE_HILL},
    geocoder::{ResolveError, Resolved},
    pad::{NO_ROW, PadIndex, bbl_number, bbl_of, bin_of},
};

/// Most BINs that a warning lists.
const LISTED: usize = 30;

/// The building of a lot, or the lot where it has none or several.
pub(crate) fn by_bbl(index: &PadIndex, bbl: Bbl) -> Result<Resolved, ResolveError> {
    let number = bbl_number(bbl);
    if has_buildings(index, number) {
        return Ok(of_lot(index, number, None, Vec::new()));
    }
    if bbl.is_unit_lot()
        && let Some(billing) = index.billing_of_unit(number)
    {
        return Ok(of_lot(index, billing, Some(bbl), Vec::new()));
    }
    let billings: Vec<u64> = index.billings_of_base(number).collect();
    match billings.as_slice() {
        [] => {}
        [one] => {
            let warning = format!(
                "Lot {bbl} is a condominium's land; its billing lot {} was taken.",
                lot_text(*one)
            );
            return Ok(of_lot(index, *one, None, vec![warning]));
        }
        several => {
            let candidates: Vec<String> = several.iter().map(|b| lot_text(*b)).take(5).collect();
            return Err(ResolveError::Ambiguous {
                message: format!(
                    "Lot {bbl} has several billing lots; ask for one of them: {}.",
                    candidates.join(", ")
                ),
                candidates,
            });
        }
    }
    if index.has_lot(number) {
        return Ok(of_lot(index, number, None, Vec::new()));
    }
    if bbl.borough() == Borough::Bronx
        && MARBLE_HILL.contains(&bbl.block())
        && let Ok(legal) = Bbl::new(Borough::Manhattan, bbl.block(), bbl.lot())
        && index.has_lot(bbl_number(legal))
    {
        let warning = format!("Marble Hill is Manhattan by law; lot {legal} was taken.");
        return Ok(of_lot(index, bbl_number(legal), None, vec![warning]));
    }
    Err(ResolveError::NotFound(format!(
        "There is no tax lot {bbl} in the city's address files."
    )))
}

/// The lot in one of these boroughs, where the text does not say in which.
pub(crate) fn by_block_and_lot(
    index: &PadIndex,
    block: u32,
    lot: u16,
    boroughs: Boroughs,
) -> Result<Resolved, ResolveError> {
    let lots: Vec<Bbl> = boroughs
        .iter()
        .filter_map(|borough| Bbl::new(borough, block, lot).ok())
        .filter(|bbl| index.has_lot(bbl_number(*bbl)) || has_buildings(index, bbl_number(*bbl)))
        .collect();
    match lots.as_slice() {
        [] => Err(ResolveError::NotFound(format!(
            "There is no block {block} lot {lot} in the city's address files."
        ))),
        [one] => by_bbl(index, *one),
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

/// The building with a number.
pub(crate) fn by_bin(index: &PadIndex, bin: Bin) -> Result<Resolved, ResolveError> {
    let mut found: Vec<_> = index.by_bin(bin).collect();
    if found.len() > 1 {
        // The files may name one building on two lots; the one with its address is meant.
        let addressed: Vec<_> = found
            .iter()
            .copied()
            .filter(|(_, b)| b.row != NO_ROW)
            .collect();
        if addressed.len() == 1 {
            found = addressed;
        }
    }
    match found.as_slice() {
        [] if bin.is_temporary() => Err(ResolveError::NotFound(format!(
            "BIN {bin} is a temporary number of the buildings department, which the address files do not know."
        ))),
        [] => Err(ResolveError::NotFound(format!(
            "There is no building {bin} in the city's address files."
        ))),
        [(place, _)] => Ok(exact(building::at(index, *place), None, Vec::new())),
        several => {
            let candidates: Vec<String> = several
                .iter()
                .map(|(_, b)| lot_text(b.bbl))
                .take(5)
                .collect();
            Err(ResolveError::Ambiguous {
                message: format!(
                    "Building {bin} stands on several lots; ask for one of them: {}.",
                    candidates.join(", ")
                ),
                candidates,
            })
        }
    }
}

fn has_buildings(index: &PadIndex, bbl: u64) -> bool {
    index.buildings_of(bbl).next().is_some()
}

fn lot_text(bbl: u64) -> String {
    bbl_of(bbl).map(|bbl| bbl.to_string()).unwrap_or_default()
}

/// A lot's one building, or the lot.
fn of_lot(
    index: &PadIndex,
    bbl: u64,
    unit_bbl: Option<Bbl>,
    mut warnings: Vec<String>,
) -> Resolved {
    let buildings: Vec<_> = index
        .buildings_of(bbl)
        .filter(|(_, record)| record.bin != 0)
        .collect();
    let corrected = !warnings.is_empty();
    let building = match buildings.as_slice() {
        [(place, _)] => building::at(index, *place),
        [] => {
            warnings
                .push("The lot has no building of its own in the city's address files.".to_owned());
            building::lot(index, bbl)
        }
        several => {
            let bins: Vec<u32> = several.iter().map(|(_, b)| b.bin).collect();
            warnings.push(several_buildings(&bins));
            building::lot(index, bbl)
        }
    };
    let mut resolved = exact(building, unit_bbl, warnings);
    if corrected {
        resolved.matched = Match::Corrected;
    }
    resolved
}

/// The warning that lists a lot's buildings.
pub(crate) fn several_buildings(bins: &[u32]) -> String {
    let listed: Vec<String> = bins
        .iter()
        .filter_map(|bin| bin_of(*bin))
        .take(LISTED)
        .map(|bin| bin.to_string())
        .collect();
    let more = bins.len().saturating_sub(listed.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "The lot has {} buildings; ask for one by its BIN: {}{more}.",
        bins.len(),
        listed.join(", ")
    )
}

fn exact(building: Building, unit_bbl: Option<Bbl>, warnings: Vec<String>) -> Resolved {
    Resolved {
        building,
        unit: None,
        unit_bbl,
        matched: Match::Exact,
        warnings,
    }
}
