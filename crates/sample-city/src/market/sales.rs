//! What was sold: homes at prices that hang together, and among them what the city's files have besides: deeds without a
//! price, packages, sales in both releases.

use std::sync::LazyLock;

use brownstone_domain::Bbl;
use time::{Date, Duration, macros::date};

use super::{
    home, lines,
    lots::{Lot, lots},
    price::{Kind, Place, price},
};
use crate::seed::Seed;

/// The first and the last day of the sales.
const FROM: Date = date!(2016 - 01 - 05);
const TO: Date = date!(2026 - 09 - 30);
/// Half of the sales are at most so old: the market is lively.
const RECENT_DAYS: u64 = 900;

/// A sale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sale {
    pub(crate) lot: &'static Lot,
    /// What the row stands on: the lot, or a condominium unit's own.
    pub(crate) bbl: Bbl,
    pub(crate) unit: Option<String>,
    pub(crate) date: Date,
    /// Dollars; 0 is a deed without a sale.
    pub(crate) price: u64,
    /// Square feet of what was sold, where the city says it.
    pub(crate) sqft: Option<u64>,
    /// Tells one row's slips of the pen from another's.
    pub(crate) number: u64,
}

/// All sales, in no particular order.
pub(crate) fn sales() -> &'static [Sale] {
    &SALES
}

static SALES: LazyLock<Vec<Sale>> = LazyLock::new(|| {
    let mut sales = Vec::new();
    for lot in lots() {
        of_lot(lot, &mut sales);
    }
    packages(&mut sales);
    sales
});

fn of_lot(lot: &'static Lot, sales: &mut Vec<Sale>) {
    let id = lot.bbl.to_string();
    let mut seed = Seed::new(&[b"sales", id.as_bytes()]);
    let count = match (lot.kind, lot.own) {
        (Kind::Coop | Kind::Condo, true) => 10 + seed.below(5),
        (Kind::Coop | Kind::Condo, false) => 4 + seed.below(3),
        // What the record says of a building itself stands in its own file.
        (_, true) => 0,
        (Kind::House | Kind::Building, false) => 1 + seed.below(2),
    };
    let mut units: Vec<String> = Vec::new();
    for _ in 0..count {
        let date = day(&mut seed);
        let number = sales.len() as u64;
        let deal = format!("{id} {number}");
        let place = Place {
            borough: lot.of.borough(),
            neighborhood: &lot.of.neighborhood,
            building: &id,
        };
        let (bbl, unit, sqft, value) = if matches!(lot.kind, Kind::Coop | Kind::Condo) {
            let Some((bbl, unit)) = unit(lot, &mut units, &mut seed) else {
                continue;
            };
            let Some(home) = home(&id, &unit) else {
                continue;
            };
            let value = price(lot.kind, place, home.sqft, home.floor, date, &deal);
            // Of a condominium's unit the city sometimes says how large it is, of a co-operative's never.
            let known = lot.kind == Kind::Condo && seed.below(100) < 40;
            (bbl, Some(unit), known.then_some(home.sqft), value)
        } else {
            let value = price(lot.kind, place, lot.area, 0, date, &deal);
            (lot.bbl, None, Some(lot.area), value)
        };
        // In the files three deeds of ten are no sale; fewer here, for there is less of everything.
        let price = match seed.below(100) {
            0..=11 => 0,
            12 => 1,
            13 => 10,
            14 => 100,
            _ => value,
        };
        sales.push(Sale {
            lot,
            bbl,
            unit,
            date,
            price,
            sqft,
            number,
        });
    }
}

fn day(seed: &mut Seed) -> Date {
    let all = (TO - FROM).whole_days().unsigned_abs();
    let span = if seed.below(100) < 55 {
        RECENT_DAYS
    } else {
        all
    };
    TO.saturating_sub(Duration::days(seed.below(span) as i64))
}

/// A unit of the building: one more, or one that was sold before. A condominium's has a lot of its own.
fn unit(lot: &Lot, units: &mut Vec<String>, seed: &mut Seed) -> Option<(Bbl, String)> {
    let lines = lines(lot.floors, lot.units.max(lot.floors * 4));
    let line = seed.below(lines.len() as u64) as usize;
    let floor = 1 + seed.below(lot.floors.clamp(1, 60));
    let unit = match seed.below(6) {
        0 if !units.is_empty() => units.get(seed.below(units.len() as u64) as usize)?.clone(),
        _ => format!("{floor}{}", lines.get(line)?.0),
    };
    let at = match units.iter().position(|known| *known == unit) {
        Some(at) => at,
        None => {
            units.push(unit.clone());
            units.len() - 1
        }
    };
    let bbl = match lot.kind {
        Kind::Condo => {
            let own = lot.first_unit + u16::try_from(at).ok()?;
            Bbl::new(lot.bbl.borough(), lot.bbl.block(), own).ok()?
        }
        _ => lot.bbl,
    };
    Some((bbl, unit))
}

/// Some neighbours changed hands together: each row has the whole price.
fn packages(sales: &mut Vec<Sale>) {
    let together: Vec<&[Lot]> = (lots().chunk_by(|left, right| left.of.bbl == right.of.bbl))
        .step_by(12)
        .collect();
    for group in together {
        let houses: Vec<&'static Lot> = (lots().iter())
            .filter(|lot| {
                group
                    .first()
                    .is_some_and(|first| first.of.bbl == lot.of.bbl)
            })
            .filter(|lot| !lot.own && matches!(lot.kind, Kind::House | Kind::Building))
            .take(4)
            .collect();
        let Some(first) = houses.first().filter(|_| houses.len() >= 3) else {
            continue;
        };
        let mut seed = Seed::new(&[b"package", first.bbl.to_string().as_bytes()]);
        let (date, price) = (day(&mut seed), 2_400_000 + seed.below(90) * 100_000);
        for lot in houses {
            let number = sales.len() as u64;
            sales.push(Sale {
                lot,
                bbl: lot.bbl,
                unit: None,
                date,
                price,
                sqft: Some(lot.area),
                number,
            });
        }
    }
}
