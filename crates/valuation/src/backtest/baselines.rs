//! What is easily said of a property, that an estimate has to beat. Each knows only the sales before the cutoff.

use crate::{
    Segment,
    estimate::{History, Shares, Subject, median},
};

/// The three, in the order of the table.
pub const NAMES: [&str; 3] = [
    "ZIP and class, price per sq ft",
    "last sale, indexed",
    "same building or block",
];

/// Sales of a ZIP that are looked at.
const MOST: usize = 400;
/// Sales a median is taken of at least.
const FEWEST: usize = 3;

/// What each baseline says, in dollars; nothing where it has nothing to go by.
pub fn baselines(history: &History, subject: &Subject, cutoff: i32) -> [Option<f64>; 3] {
    [
        per_sqft(history, subject, cutoff),
        last_sale(history, subject, cutoff),
        building_or_block(history, subject, cutoff),
    ]
}

/// Median price per square foot of the last two years' sales of the ZIP and class, times the area. Units have no area
/// in the city's table: theirs is the median price.
fn per_sqft(history: &History, subject: &Subject, cutoff: i32) -> Option<f64> {
    let area = |s: &Subject| {
        if s.segment().is_unit() {
            Some(1.0)
        } else {
            s.gross_sqft.filter(|area| *area > 0).map(f64::from)
        }
    };
    let mine = area(subject)?;
    let mut found: Vec<f64> = history
        .before(Shares::Zip, subject, cutoff, MOST)
        .iter()
        .filter_map(|id| history.at(*id))
        .filter(|sale| sale.subject.class == subject.class && sale.date >= cutoff - 730)
        .filter_map(|sale| Some(sale.log_price.exp() / area(&sale.subject)?))
        .collect();
    if found.len() < FEWEST {
        return None;
    }
    median(&mut found).map(|each| each * mine)
}

/// The lot's own last sale, moved by the index.
fn last_sale(history: &History, subject: &Subject, cutoff: i32) -> Option<f64> {
    let id = history.before(Shares::Lot, subject, cutoff, 1).last()?;
    let sale = history.at(*id)?;
    let moved = history.trend.between(subject, sale.date, cutoff);
    Some((sale.log_price + moved).exp())
}

/// Median price of the last sales of the same building, for a house of the same block.
fn building_or_block(history: &History, subject: &Subject, cutoff: i32) -> Option<f64> {
    let shares = match subject.segment() {
        Segment::Condo | Segment::Coop => Shares::Building,
        _ => Shares::Block,
    };
    let mut found: Vec<f64> = history
        .before(shares, subject, cutoff, 40)
        .iter()
        .filter_map(|id| history.at(*id))
        .map(|sale| sale.log_price.exp())
        .collect();
    if found.len() < FEWEST {
        return None;
    }
    median(&mut found)
}
