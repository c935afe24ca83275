//! How much a difference in size, age or floor is worth, for moving a sale's price to the subject it is compared with.

use std::collections::HashMap;

use super::{Observation, Subject, subject::mix};
use crate::{Kind, Segment};

/// The differences that are priced, in this order.
const TERMS: usize = 11;
const GROSS: usize = 0;
const LAND: usize = 1;
const UNITS: usize = 2;
const YEAR: usize = 3;
const FAMILIES: usize = 4;
const FLOOR: usize = 5;
const PENTHOUSE: usize = 6;
const STABILIZED: usize = 7;
const ELEVATOR: usize = 8;
const STORES: usize = 9;
const HOUSE: usize = 10;

/// Which terms each segment has: a unit is never compared by its building's area.
const fn used(segment: Segment) -> &'static [usize] {
    match segment {
        Segment::OneToThree => &[GROSS, LAND, YEAR, FAMILIES],
        Segment::FourAndMore => &[
            GROSS, LAND, UNITS, YEAR, STABILIZED, ELEVATOR, STORES, HOUSE,
        ],
        Segment::Condo | Segment::Coop => &[FLOOR, PENTHOUSE],
        Segment::Other => &[],
    }
}

/// A coefficient a segment and term: the logarithm of the price moves by so much for one of the term's unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Hedonic {
    coefficients: [[f64; TERMS]; Segment::ALL.len()],
}

/// Rows whose residual is further out than this are no evidence of what a square foot is worth.
const FAR_OUT: f64 = 0.6;
/// The same for rental buildings, whose prices lie further apart.
const FAR_OUT_RENTAL: f64 = 0.9;
/// Rows a segment needs before its coefficients are estimated.
const FEWEST_ROWS: usize = 200;

/// The last of a segment's rows that set its elasticities: rental buildings are few, and a house of three dwellings is
/// bought for its rents, too.
fn sets_elasticities_of(subject: &Subject, segment: Segment) -> bool {
    subject.segment() == segment
        || (segment == Segment::FourAndMore && subject.kind == Kind::ThreeFamily)
}

fn terms(subject: &Subject) -> [Option<f64>; TERMS] {
    let ln = |value: Option<u32>| value.filter(|v| *v > 0).map(|v| f64::from(v).ln());
    let families = match subject.kind {
        Kind::SingleFamily => 0.0,
        Kind::TwoFamily => 1.0,
        _ => 2.0,
    };
    let yes = |is: bool| Some(if is { 1.0 } else { 0.0 });
    [
        ln(subject.gross_sqft),
        ln(subject.land_sqft),
        ln(subject.units),
        subject
            .year_built
            .map(|year| (f64::from(year) - 1900.0) / 100.0),
        Some(families),
        subject
            .unit
            .floor
            .map(|floor| f64::from(floor.min(60)) / 10.0),
        yes(subject.unit.penthouse),
        yes(subject.is_stabilized()),
        yes(subject.has_elevator()),
        yes(subject.has_stores()),
        yes(subject.segment() == Segment::OneToThree),
    ]
}

/// What was measured on the city's sales of 2010 to June 2022, for segments with too few sales to measure it and for whoever
/// may not know any sale: these hardly move from year to year.
const TYPICAL: [[f64; TERMS]; Segment::ALL.len()] = {
    let mut all = [[0.0; TERMS]; Segment::ALL.len()];
    all[Segment::Condo as usize][FLOOR] = 0.14;
    all[Segment::Coop as usize][FLOOR] = 0.05;
    let houses = &mut all[Segment::OneToThree as usize];
    houses[GROSS] = 0.35;
    houses[LAND] = 0.22;
    houses[YEAR] = 0.16;
    houses[FAMILIES] = 0.04;
    let rentals = &mut all[Segment::FourAndMore as usize];
    rentals[GROSS] = 0.44;
    rentals[LAND] = 0.12;
    rentals[UNITS] = 0.29;
    rentals[YEAR] = 0.03;
    rentals[STABILIZED] = -0.21;
    rentals[ELEVATOR] = 0.08;
    rentals[STORES] = 0.15;
    rentals[HOUSE] = 0.05;
    all
};

impl Hedonic {
    /// What is typical of the city, measured once: it knows no sale of the index it is used with.
    pub const fn typical() -> Self {
        Self {
            coefficients: TYPICAL,
        }
    }

    /// Least squares of the price's logarithm within neighbourhood and year (for a unit within its building and two
    /// years), twice, the second time without what lies far out. A segment with too few sales has what is
    /// [`typical`](Self::typical).
    pub fn fit(observations: &[Observation]) -> Self {
        let mut out = Self::typical();
        for segment in Segment::ALL {
            let used = used(segment);
            if used.is_empty() {
                continue;
            }
            let mut rows: Vec<(u64, Vec<f64>)> = observations
                .iter()
                .filter(|o| sets_elasticities_of(&o.subject, segment))
                .filter_map(|o| row(o, segment, used))
                .collect();
            if rows.len() < FEWEST_ROWS {
                continue;
            }
            demean(&mut rows);
            let mut solved = vec![0.0; used.len()];
            let far_out = match segment {
                Segment::FourAndMore => FAR_OUT_RENTAL,
                _ => FAR_OUT,
            };
            for _ in 0..2 {
                let near = |values: &[f64]| residual(values, &solved).abs() < far_out;
                let kept = rows.iter().map(|(_, values)| values.as_slice());
                if let Some(next) = least_squares(kept.filter(|v| near(v)), used.len()) {
                    solved = next;
                }
            }
            if let Some(slots) = out.coefficients.get_mut(segment as usize) {
                for (term, value) in used.iter().zip(solved) {
                    if let Some(slot) = slots.get_mut(*term) {
                        *slot = value;
                    }
                }
            }
        }
        out
    }

    /// What to add to the logarithm of `other`'s price to make it the subject's. A term that either lacks adds nothing.
    pub fn difference(&self, subject: &Subject, other: &Subject) -> f64 {
        let Some(coefficients) = self.coefficients.get(subject.segment() as usize) else {
            return 0.0;
        };
        coefficients
            .iter()
            .zip(terms(subject).into_iter().zip(terms(other)))
            .map(|(coefficient, pair)| match pair {
                (Some(mine), Some(theirs)) => coefficient * (mine - theirs),
                _ => 0.0,
            })
            .sum::<f64>()
            .clamp(-2.0, 2.0)
    }

    /// All coefficients, for a file.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.coefficients.iter().flatten().copied()
    }

    /// How many [`Hedonic::values`] there are.
    pub(crate) const COUNT: usize = TERMS * Segment::ALL.len();

    /// Back from [`Hedonic::values`].
    pub(crate) fn from_values(values: &[f64]) -> Self {
        let mut out = Self::default();
        for (slot, value) in out.coefficients.iter_mut().flatten().zip(values) {
            *slot = *value;
        }
        out
    }
}

/// Terms, then the price's logarithm, under the number of the group they are compared in.
fn row(observation: &Observation, segment: Segment, used: &[usize]) -> Option<(u64, Vec<f64>)> {
    let subject = &observation.subject;
    let all = terms(subject);
    let mut values = Vec::with_capacity(used.len() + 1);
    for term in used {
        values.push(all.get(*term).copied().flatten()?);
    }
    values.push(observation.log_price);
    // Fewer of these are sold: more years make a group.
    let (place, days) = match segment {
        Segment::Condo | Segment::Coop => (subject.building.0, 730),
        Segment::FourAndMore => (subject.neighborhood, 1096),
        _ => (subject.neighborhood, 365),
    };
    let period = u64::from(observation.date.div_euclid(days).unsigned_abs());
    Some((mix(mix(place, period), segment as u64), values))
}

fn demean(rows: &mut Vec<(u64, Vec<f64>)>) {
    let mut sums: HashMap<u64, (f64, Vec<f64>)> = HashMap::new();
    for (group, values) in rows.iter() {
        let (count, sum) = sums
            .entry(*group)
            .or_insert_with(|| (0.0, vec![0.0; values.len()]));
        *count += 1.0;
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += value;
        }
    }
    rows.retain_mut(|(group, values)| {
        let Some((count, sum)) = sums.get(group).filter(|(count, _)| *count >= 3.0) else {
            return false;
        };
        for (value, sum) in values.iter_mut().zip(sum) {
            *value -= sum / count;
        }
        true
    });
}

fn residual(values: &[f64], solved: &[f64]) -> f64 {
    let fitted: f64 = values.iter().zip(solved).map(|(x, b)| x * b).sum();
    values.last().copied().unwrap_or_default() - fitted
}

/// Normal equations with a little ridge; nothing when there are no rows.
fn least_squares<'a>(rows: impl Iterator<Item = &'a [f64]>, terms: usize) -> Option<Vec<f64>> {
    let mut left = vec![vec![0.0; terms + 1]; terms];
    let mut count = 0_u32;
    for row in rows {
        count += 1;
        for (i, equation) in left.iter_mut().enumerate() {
            let Some(x) = row.get(i) else { continue };
            for (slot, other) in equation.iter_mut().zip(row) {
                *slot += x * other;
            }
        }
    }
    if count == 0 {
        return None;
    }
    for (i, equation) in left.iter_mut().enumerate() {
        if let Some(diagonal) = equation.get_mut(i) {
            *diagonal += 1.0;
        }
    }
    solve(left)
}

/// Gauss-Jordan on a positive definite system, right side in the last column.
fn solve(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = system.len();
    for at in 0..size {
        let pivot_row = system.get(at)?.clone();
        let pivot = *pivot_row.get(at)?;
        if pivot.abs() < 1e-12 {
            return None;
        }
        for (row_at, row) in system.iter_mut().enumerate() {
            if row_at == at {
                row.iter_mut().for_each(|value| *value /= pivot);
                continue;
            }
            let factor = *row.get(at)? / pivot;
            for (value, from) in row.iter_mut().zip(&pivot_row) {
                *value -= factor * from;
            }
        }
    }
    system.iter().map(|row| row.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildingClass;

    fn house(gross: u32, land: u32, log_price: f64, day: i32) -> Observation {
        let mut subject = Subject::new("4012340001".parse().unwrap(), BuildingClass::read(b"A1"));
        subject.neighborhood = 7;
        subject.gross_sqft = Some(gross);
        subject.land_sqft = Some(land);
        subject.year_built = Some(1930);
        Observation {
            subject,
            date: day,
            log_price,
        }
    }

    #[test]
    fn elasticities_of_made_up_prices_are_found_again() {
        let houses: Vec<Observation> = (0..600_u32)
            .map(|i| {
                let gross = 900 + (i * 37) % 1900;
                let land = 1800 + (i * 53) % 3100;
                let mut price = 6.0 + 0.6 * f64::from(gross).ln() + 0.2 * f64::from(land).ln();
                if i % 20 == 0 {
                    price -= 1.5; // Between relatives.
                }
                house(gross, land, price, 18_000)
            })
            .collect();
        let hedonic = Hedonic::fit(&houses);
        let (big, small) = (&house(2000, 2500, 0.0, 0), &house(1000, 2500, 0.0, 0));
        let worth = hedonic.difference(&big.subject, &small.subject) / 2.0_f64.ln();
        assert!((worth - 0.6).abs() < 0.05, "{worth}");
        let kept: Vec<f64> = hedonic.values().collect();
        assert_eq!(kept.len(), Hedonic::COUNT);
        assert_eq!(Hedonic::from_values(&kept), hedonic);
    }

    #[test]
    fn what_is_not_known_adds_nothing() {
        let mut subject = house(2000, 2500, 0.0, 0).subject;
        let other = subject;
        subject.gross_sqft = None;
        subject.land_sqft = Some(0);
        assert_eq!(Hedonic::default().difference(&subject, &other), 0.0);
        assert_eq!(Hedonic::fit(&[]), Hedonic::typical());
    }

    #[test]
    fn a_larger_and_newer_building_is_worth_more_before_any_sale_is_known() {
        let other = house(2000, 2500, 0.0, 0).subject;
        let mut subject = other;
        subject.gross_sqft = Some(4000);
        let twice = Hedonic::typical().difference(&subject, &other);
        assert!((twice - 0.35 * 2.0_f64.ln()).abs() < 1e-9, "{twice}");
        assert_eq!(
            Hedonic::typical().difference(&other, &subject),
            -twice,
            "and the other way round"
        );
    }
}
