//! The one address of a building.
//!
//! Of the building's rows with real numbers (vanity rows only where it has no other, a place's name only where it has
//! no number) the street with the most ranges, on it the lowest number, numbers without a suffix first. Equal streets
//! are told apart by their code. So the address depends on the set of rows alone, not on their order, on the spelling
//! asked for, or on other sources.

use super::{AddressKind, rows::AddressRow};
use crate::house::HouseKey;

/// The canonical row among those of one building, as a place in `rows`.
pub(super) fn choose(rows: &[AddressRow], of_building: &[u32]) -> Option<u32> {
    let row = |at: u32| rows.get(at as usize);
    let of = |wanted: &[AddressKind]| -> Vec<u32> {
        of_building
            .iter()
            .copied()
            .filter(|at| row(*at).is_some_and(|r| wanted.contains(&r.kind)))
            .collect()
    };
    let known = |at: &u32| {
        row(*at).is_some_and(|r| {
            [r.low, r.high].into_iter().all(|bits| {
                let suffix = HouseKey::from_bits(bits).suffix();
                suffix.is_none() || !suffix.text().is_empty()
            })
        })
    };
    for kinds in [
        &[AddressKind::Real, AddressKind::RealOfVanity][..],
        &[AddressKind::Vanity],
    ] {
        let mut candidates = of(kinds);
        candidates.retain(known);
        if let Some(best) = best(rows, &candidates) {
            return Some(best);
        }
    }
    // A place's name: the lowest street code, to choose one.
    of(&[AddressKind::Place, AddressKind::ComplexPart])
        .into_iter()
        .min_by_key(|at| row(*at).map(|r| (r.street, r.group)))
}

fn best(rows: &[AddressRow], candidates: &[u32]) -> Option<u32> {
    let row = |at: u32| rows.get(at as usize);
    let mut ranges: Vec<(u32, u64, u64)> = candidates
        .iter()
        .filter_map(|at| row(*at))
        .map(|r| (r.street, r.low, r.high))
        .collect();
    ranges.sort_unstable();
    ranges.dedup();
    let count = |street: u32| ranges.iter().filter(|(s, ..)| *s == street).count();
    candidates.iter().copied().min_by_key(|at| {
        row(*at).map(|r| {
            let (low, high) = (HouseKey::from_bits(r.low), HouseKey::from_bits(r.high));
            let plain = low.suffix().is_none() && high.suffix().is_none();
            (
                std::cmp::Reverse(count(r.street)),
                r.street,
                !plain,
                low,
                high,
                r.group,
            )
        })
    })
}
