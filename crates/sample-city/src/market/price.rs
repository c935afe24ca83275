//! What a home costs: made up, but in proportion, so that an estimate from the sales has something to find.

use brownstone_domain::Borough;
use time::Date;

use crate::seed::Seed;

/// What is sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A house of one to three families.
    House,
    Coop,
    Condo,
    /// A building of four apartments and more.
    Building,
}

/// Where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) borough: Borough,
    pub(crate) neighborhood: &'a str,
    /// What tells the building from its neighbours.
    pub(crate) building: &'a str,
}

/// Dollars a square foot at the beginning of 2024, by borough: house, co-op, condominium, building; and a month's rent.
const LEVELS: [[f64; 5]; 5] = [
    [1_350.0, 1_020.0, 1_480.0, 610.0, 5.4],
    [365.0, 255.0, 370.0, 205.0, 2.6],
    [570.0, 610.0, 930.0, 325.0, 4.1],
    [490.0, 430.0, 670.0, 295.0, 3.2],
    [415.0, 310.0, 405.0, 245.0, 2.4],
];

/// The level of prices on the first of January, from 2015 on.
const INDEX: [f64; 13] = [
    0.80, 0.84, 0.88, 0.91, 0.93, 0.94, 0.92, 0.98, 1.01, 1.00, 1.03, 1.06, 1.09,
];
const FIRST_YEAR: i32 = 2015;

/// The level of prices on a day; the beginning of 2024 is 1.
fn index(day: Date) -> f64 {
    let last = INDEX.len() as i32 - 2;
    let year = (day.year() - FIRST_YEAR).clamp(0, last) as usize;
    let level = |year: usize| INDEX.get(year).copied().unwrap_or(1.0);
    let part = f64::from(day.ordinal()) / 366.0;
    level(year) + (level(year + 1) - level(year)) * part
}

/// A factor between `low` and `low + span`, in thousandths, always the same for the same parts.
fn factor(parts: &[&[u8]], low: u64, span: u64) -> f64 {
    (low + Seed::new(parts).below(span + 1)) as f64 / 1_000.0
}

fn level(place: Place<'_>, column: usize) -> f64 {
    let row = LEVELS.get(usize::from(place.borough.digit()) - 1);
    let level = row.and_then(|row| row.get(column)).copied();
    let around = factor(&[b"neighborhood", place.neighborhood.as_bytes()], 820, 420);
    let building = factor(&[b"quality", place.building.as_bytes()], 930, 140);
    level.unwrap_or(500.0) * around * building
}

/// The price of so many square feet on a day, in dollars, rounded as people round. `floor` lifts an apartment's;
/// `deal` tells one sale from another, by some per cent.
pub(crate) fn price(
    kind: Kind,
    place: Place<'_>,
    sqft: u64,
    floor: u64,
    day: Date,
    deal: &str,
) -> u64 {
    let column = match kind {
        Kind::House => 0,
        Kind::Coop => 1,
        Kind::Condo => 2,
        Kind::Building => 3,
    };
    let height = match kind {
        Kind::Coop | Kind::Condo => 1.0 + floor.min(40) as f64 * 0.006,
        Kind::House | Kind::Building => 1.0,
    };
    let deal = factor(&[b"deal", deal.as_bytes()], 945, 110);
    let price = level(place, column) * sqft as f64 * height * index(day) * deal;
    let step = if price > 2_000_000.0 {
        5_000.0
    } else {
        1_000.0
    };
    (price / step).round() as u64 * step as u64
}

/// A month's rent of an apartment, in dollars.
pub(crate) fn rent(place: Place<'_>, sqft: u64, floor: u64, deal: &str) -> u64 {
    let deal = factor(&[b"rent", deal.as_bytes()], 950, 100);
    // Small apartments cost more a square foot.
    let feet = 160.0 + sqft as f64 * 0.82;
    let rent = level(place, 4) * feet * (1.0 + floor.min(40) as f64 * 0.003) * deal;
    (rent / 25.0).round() as u64 * 25
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    fn place(digit: u8) -> Place<'static> {
        Place {
            borough: Borough::from_digit(digit).expect("a borough"),
            neighborhood: "Midtown",
            building: "1",
        }
    }

    #[test]
    fn prices_are_in_proportion() {
        let at = |digit, sqft, day| price(Kind::Condo, place(digit), sqft, 5, day, "a");
        let small = at(1, 500, date!(2024 - 05 - 01));
        let large = at(1, 1_000, date!(2024 - 05 - 01));
        assert!(large > small * 19 / 10 && large < small * 21 / 10);
        assert!(at(1, 1_000, date!(2018 - 05 - 01)) < large, "time");
        assert!(at(2, 1_000, date!(2024 - 05 - 01)) < large / 2, "borough");
        assert!((500_000..3_000_000).contains(&large), "{large}");
        let high = price(Kind::Condo, place(1), 1_000, 30, date!(2024 - 05 - 01), "a");
        assert!(high > large, "height");
        assert!((2_000..12_000).contains(&rent(place(1), 800, 4, "a")));
    }

    #[test]
    fn every_day_has_a_level() {
        for day in [
            date!(1999 - 01 - 01),
            date!(2016 - 12 - 31),
            date!(2026 - 11 - 30),
            date!(2040 - 01 - 01),
        ] {
            assert!((0.7..1.2).contains(&index(day)), "{day}");
        }
    }
}
