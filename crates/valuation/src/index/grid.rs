//! The city in cells of about a quarter mile, row by row from the south-west.

use crate::Place;

/// South-west corner, in millionths of a degree.
const SOUTH: i32 = 40_400_000;
const WEST: i32 = -74_300_000;
/// Size of a cell: some 400 metres either way.
const CELL_NORTH: i32 = 3_600;
const CELL_EAST: i32 = 4_750;
/// Cells north and east of the corner; [`Place::in_city`] lets nothing past them.
const ROWS: u32 = 167;
const COLUMNS: u32 = 148;

/// Cells of the city; the number after the last is that of sales without a place.
pub(super) const CELLS: u32 = ROWS * COLUMNS;

fn step(from: i32, corner: i32, size: i32, most: u32) -> u32 {
    u32::try_from((from - corner).max(0) / size).map_or(0, |at| at.min(most - 1))
}

fn row(north: i32) -> u32 {
    step(north, SOUTH, CELL_NORTH, ROWS)
}

fn column(east: i32) -> u32 {
    step(east, WEST, CELL_EAST, COLUMNS)
}

/// The cell a place is in.
pub(super) fn cell(place: Option<Place>) -> u32 {
    place.map_or(CELLS, |place| {
        row(place.north) * COLUMNS + column(place.east)
    })
}

/// The first and last cell of each row of cells that a distance around a place touches.
pub(super) fn rows_within(place: Place, miles: f64) -> impl Iterator<Item = (u32, u32)> {
    let (north, east) = Place::millionths(miles);
    let first = row(place.north.saturating_sub(north));
    let last = row(place.north.saturating_add(north));
    let west = column(place.east.saturating_sub(east));
    let far_east = column(place.east.saturating_add(east));
    (first..=last).map(move |row| (row * COLUMNS + west, row * COLUMNS + far_east))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_near_is_in_a_cell_that_is_looked_at(
            a in (40.4..41.0_f64, -74.3..-73.6_f64),
            b in (40.4..41.0_f64, -74.3..-73.6_f64),
            miles in 0.05..5.0_f64,
        ) {
            let here = Place::in_city(a.0, a.1).unwrap();
            // Most random pairs are far apart: draw the second towards the first.
            let there = Place::in_city(a.0 + (b.0 - a.0) / 8.0, a.1 + (b.1 - a.1) / 8.0).unwrap();
            let cell = cell(Some(there));
            prop_assert!(cell < CELLS);
            let seen = rows_within(here, miles).any(|(first, last)| (first..=last).contains(&cell));
            prop_assert!(seen || here.miles_to(there) > miles);
        }
    }
}
