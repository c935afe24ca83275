//! Value by comparable sales alone: each is moved to the subject's day and size, weighted by how alike it is, and the
//! weighted median is the estimate. Nothing here is learned but the index and the elasticities.

use super::{
    History, Subject,
    history::Shares,
    stats::{Weighted, weighted_quantile},
    weight::{KERNELS, Kernel, ln, weight, weight_by},
};
use crate::Segment;

/// A sale that speaks for the subject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparable {
    /// Its place in the history.
    pub id: u32,
    /// Logarithm of its price, moved to the subject's day and size.
    pub adjusted: f64,
    /// How much it counts: nearer, newer and more alike never counts less.
    pub weight: f64,
}

/// What comparable sales say of a subject.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The sales, heaviest first.
    pub comparables: Vec<Comparable>,
    /// Logarithm of the value; nothing when there is no comparable sale.
    pub estimate: Option<f64>,
    /// Half the distance of the weighted quartiles, of the logarithms.
    pub spread: f64,
    /// How many equally weighted sales would be as good.
    pub effective: f64,
    /// Sales of the same building.
    pub same_building: usize,
}

/// Sales further back than this are not looked at while newer ones suffice.
const OLDEST_DAYS: i32 = 365 * 5;

/// Which sales are looked at, and at most how many: the nearer first.
fn candidates(history: &History, subject: &Subject, cutoff: i32) -> Vec<u32> {
    let mut ids: Vec<u32> = Vec::with_capacity(400);
    let mut add = |shares: Shares, most: usize| {
        ids.extend_from_slice(history.before(shares, subject, cutoff, most));
    };
    match subject.segment() {
        Segment::Condo | Segment::Coop => {
            add(Shares::Building, 80);
            add(Shares::Line, 20);
            add(Shares::Lot, 3);
            add(Shares::Block, 30);
            add(Shares::Street, 30);
        }
        Segment::FourAndMore => {
            add(Shares::Lot, 8);
            add(Shares::Block, 30);
            add(Shares::Street, 60);
            add(Shares::Zip, 120);
            add(Shares::Neighborhood, 240);
            for (shares, most) in [
                (Shares::Block, 20),
                (Shares::Street, 20),
                (Shares::Neighborhood, 80),
            ] {
                ids.extend_from_slice(history.three_families_before(shares, subject, cutoff, most));
            }
        }
        _ => {
            add(Shares::Lot, 3);
            add(Shares::Block, 30);
            add(Shares::Street, 60);
        }
    }
    let few = ids.len() < 12;
    if !subject.segment().is_unit() || few {
        for steps in [-1, 1, -2, 2, -3, 3, -4, 4] {
            ids.extend_from_slice(history.block_before(subject, steps, cutoff, 14));
        }
        ids.extend_from_slice(history.before(Shares::Neighborhood, subject, cutoff, 120));
    }
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < 12 {
        ids.extend_from_slice(history.before(Shares::Zip, subject, cutoff, 60));
    }
    if ids.len() < 3 {
        ids.extend_from_slice(history.before(Shares::Borough, subject, cutoff, 100));
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// What sales dated before the cutoff say of the subject.
pub fn evidence(history: &History, subject: &Subject, cutoff: i32) -> Evidence {
    let mut comparables: Vec<Comparable> = candidates(history, subject, cutoff)
        .into_iter()
        .filter_map(|id| {
            let sale = history.at(id)?;
            let weight = weight(subject, sale, cutoff);
            (weight > 0.0).then(|| Comparable {
                id,
                adjusted: history.adjusted(subject, sale, cutoff),
                weight,
            })
        })
        .collect();
    let recent = |c: &Comparable| {
        history
            .at(c.id)
            .is_some_and(|sale| sale.date >= cutoff - OLDEST_DAYS)
    };
    if comparables.iter().filter(|c| recent(c)).count() >= 10 {
        comparables.retain(recent);
    }
    comparables.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(b.id.cmp(&a.id)));
    let mut values: Vec<Weighted> = comparables.iter().map(|c| (c.adjusted, c.weight)).collect();
    let estimate = weighted_quantile(&mut values, 0.5);
    let quarter = |q| weighted_quantile(&mut values.clone(), q).unwrap_or_default();
    let total: f64 = comparables.iter().map(|c| c.weight).sum();
    let squares: f64 = comparables.iter().map(|c| c.weight * c.weight).sum();
    let mut same_building = history.before(Shares::Building, subject, cutoff, 80).len();
    if subject.segment().is_unit() && same_building == 0 {
        same_building = history.before(Shares::Lot, subject, cutoff, 1).len();
    }
    Evidence {
        estimate,
        spread: (quarter(0.75) - quarter(0.25)) / 2.0,
        effective: if squares > 0.0 {
            total * total / squares
        } else {
            0.0
        },
        same_building,
        comparables,
    }
}

/// How a sale is moved to the subject, beside [`History::adjusted`].
#[derive(Debug, Clone, Copy)]
enum By {
    /// By the elasticities.
    Elasticities,
    /// By its price a square foot.
    SquareFoot,
    /// By its price a dwelling.
    Dwelling,
}

/// Names of the [`views`], in their order.
pub(crate) const VIEWS: [&str; 7] = [
    "per_sqft",
    "per_unit",
    "near_only",
    "wide",
    "strict",
    "long",
    "recent",
];

/// What the comparables of a rental building say when they are weighted otherwise, as logarithms of a value: by square
/// foot and by dwelling alone, nearer, wider, only the most alike, over many years, and of late. Where the views differ,
/// the estimate is off more often, and which one is right depends on the place: that is for a model to learn. Not a
/// number for other kinds, and where nothing says anything.
pub(crate) fn views(
    history: &History,
    subject: &Subject,
    evidence: &Evidence,
    cutoff: i32,
) -> [f64; VIEWS.len()] {
    let mut out = [f64::NAN; VIEWS.len()];
    let Some(plain) = KERNELS
        .get(subject.segment() as usize)
        .filter(|_| subject.segment() == Segment::FourAndMore)
    else {
        return out;
    };
    let kernels = [
        (By::SquareFoot, *plain),
        (By::Dwelling, *plain),
        (
            By::Elasticities,
            Kernel {
                blocks: 1.5,
                elsewhere: 0.02,
                beyond: 0.5,
                ..*plain
            },
        ),
        (
            By::Elasticities,
            Kernel {
                blocks: 1.0,
                elsewhere: 1.0,
                beyond: 0.5,
                ..*plain
            },
        ),
        (
            By::Elasticities,
            Kernel {
                gross: 0.4,
                units: 0.5,
                years: 15.0,
                elsewhere: 0.5,
                beyond: 0.6,
                other_kind: 0.01,
                other_class: 0.15,
                other_rents: 0.05,
                ..*plain
            },
        ),
        (
            By::Elasticities,
            Kernel {
                days: 4_000.0,
                ..*plain
            },
        ),
        (
            By::Elasticities,
            Kernel {
                days: 250.0,
                elsewhere: 0.5,
                beyond: 0.5,
                ..*plain
            },
        ),
    ];
    for (slot, (by, kernel)) in out.iter_mut().zip(kernels) {
        let mut values: Vec<Weighted> = evidence
            .comparables
            .iter()
            .filter_map(|c| {
                let sale = history.at(c.id)?;
                let moved = |mine: Option<u32>, theirs: Option<u32>| {
                    let then = history.trend.between(&sale.subject, sale.date, cutoff);
                    Some(sale.log_price + then + ln(mine)? - ln(theirs)?)
                };
                let adjusted = match by {
                    By::Elasticities => c.adjusted,
                    By::SquareFoot => moved(subject.gross_sqft, sale.subject.gross_sqft)?,
                    By::Dwelling => moved(subject.units, sale.subject.units)?,
                };
                Some((adjusted, weight_by(&kernel, subject, sale, cutoff)))
            })
            .collect();
        *slot = weighted_quantile(&mut values, 0.5).unwrap_or(f64::NAN);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BuildingClass,
        estimate::{Hedonic, Observation},
    };

    fn house(lot: &str) -> Subject {
        let mut subject = Subject::new(lot.parse().unwrap(), BuildingClass::read(b"A1"));
        subject.zip = Some(11_361);
        subject.neighborhood = 3;
        subject.gross_sqft = Some(1_500);
        subject.land_sqft = Some(4_000);
        subject.year_built = Some(1_930);
        subject
    }

    fn sold(subject: Subject, date: i32, price: f64) -> Observation {
        Observation {
            subject,
            date,
            log_price: price.ln(),
        }
    }

    #[test]
    fn sales_after_the_cutoff_say_nothing() {
        let before: Vec<Observation> = (1..9_u32)
            .map(|i| {
                let lot = format!("40620000{i:02}");
                sold(
                    house(&lot),
                    19_000 + i as i32 * 20,
                    700_000.0 + f64::from(i) * 5_000.0,
                )
            })
            .collect();
        let mut all = before.clone();
        all.extend(
            (20..60_u32).map(|i| sold(house(&format!("40620000{i}")), 19_200 + i as i32, 9e6)),
        );
        let subject = house("4062000010");
        let known = History::build(before, [], Hedonic::default());
        let more = History::build(all, [], Hedonic::default());
        let (without, with) = (
            evidence(&known, &subject, 19_200),
            evidence(&more, &subject, 19_200),
        );
        assert_eq!(without, with);
        assert_eq!(without.comparables.len(), 8);
        let value = without.estimate.unwrap().exp();
        assert!((700_000.0..745_000.0).contains(&value), "{value}");
    }
}
