//! What the model is shown of a subject. Training and serving call this one function, so they cannot differ.
//!
//! Money stands as the logarithm of a price moved to the subject's day and size, less the comparables' own estimate:
//! the model learns by how much that estimate is off, not what a place costs.

use crate::{
    Segment,
    estimate::{Evidence, History, Shares, Subject, Weighted, median, views, weighted_quantile},
};

/// Names of the numbers, in their order.
pub const NAMES: [&str; 78] = [
    "estimate",
    "spread",
    "effective",
    "comparables",
    "same_building",
    "own_last",
    "own_years",
    "own_count",
    "transfer_years",
    "transfers_3y",
    "line",
    "line_count",
    "line_nearest",
    "line_nearest_floors",
    "building",
    "building_count",
    "building_p25",
    "building_p75",
    "building_days",
    "building_year_count",
    "building_year",
    "lot_below",
    "lot_below_gap",
    "lot_above",
    "lot_above_gap",
    "block",
    "block_count",
    "next_blocks",
    "next_blocks_count",
    "street",
    "street_count",
    "hood",
    "hood_recent",
    "hood_count",
    "hood_spread",
    "zip",
    "gross",
    "land",
    "floor_area_ratio",
    "units",
    "gross_per_unit",
    "year_built",
    "age",
    "class",
    "kind",
    "borough",
    "block_number",
    "zip_code",
    "floor",
    "penthouse",
    "house_number",
    "gross_to_hood",
    "land_to_hood",
    "year_to_hood",
    "level",
    "level_year",
    "season",
    "date",
    "floor_to_building",
    "top_1",
    "top_2",
    "top_3",
    "top_share",
    "mean",
    "building_newest",
    "houses_block",
    "houses_hood",
    "stabilized",
    "stores",
    "per_sqft",
    "per_unit",
    "near_only",
    "wide",
    "strict",
    "long",
    "recent",
    "estimate_per_unit",
    "estimate_per_sqft",
];

/// How many numbers there are.
pub const COUNT: usize = NAMES.len();

/// Numbers of one subject, and the estimate they start from.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// The numbers, in the order of [`NAMES`]; not a number where there is nothing to say.
    pub values: [f64; COUNT],
    /// Logarithm of the comparables' estimate.
    pub base: f64,
}

/// Adjusted prices of sales that share something with the subject.
struct Group(Vec<(f64, i32)>);

impl Group {
    fn of(history: &History, subject: &Subject, ids: &[u32], cutoff: i32) -> Self {
        Self(
            ids.iter()
                .filter_map(|id| history.at(*id))
                .map(|sale| (history.adjusted(subject, sale, cutoff), sale.date))
                .collect(),
        )
    }

    fn middle_since(&self, day: i32) -> f64 {
        let mut values: Vec<f64> = self.0.iter().filter(|v| v.1 >= day).map(|v| v.0).collect();
        median(&mut values).unwrap_or(f64::NAN)
    }

    fn middle(&self) -> f64 {
        self.middle_since(i32::MIN)
    }

    fn middle_of_last(&self, count: usize) -> f64 {
        let from = self.0.len().saturating_sub(count);
        Self(self.0.get(from..).unwrap_or_default().to_vec()).middle()
    }

    fn quantile(&self, q: f64) -> f64 {
        let mut values: Vec<Weighted> = self.0.iter().map(|v| (v.0, 1.0)).collect();
        weighted_quantile(&mut values, q).unwrap_or(f64::NAN)
    }

    fn count(&self) -> f64 {
        self.0.len() as f64
    }
}

fn ln(value: Option<u32>) -> f64 {
    value
        .filter(|v| *v > 0)
        .map_or(f64::NAN, |v| f64::from(v).ln())
}

fn years(days: i32) -> f64 {
    f64::from(days) / 365.25
}

/// The numbers of a subject as of a day, from sales before it and what they say; nothing when they say nothing.
pub fn features(
    history: &History,
    subject: &Subject,
    evidence: &Evidence,
    cutoff: i32,
) -> Option<Features> {
    let base = evidence.estimate?;
    let unit = subject.segment().is_unit();
    let group = |ids: &[u32]| Group::of(history, subject, ids, cutoff);
    let before = |shares, most| history.before(shares, subject, cutoff, most);
    let mut values = Vec::with_capacity(COUNT);

    values.extend([
        base,
        evidence.spread,
        evidence.effective,
        evidence.comparables.len() as f64,
    ]);
    values.push(evidence.same_building as f64);

    let own = before(Shares::Lot, 8);
    let last = own.last().and_then(|id| history.at(*id));
    values.push(last.map_or(f64::NAN, |sale| {
        history.adjusted(subject, sale, cutoff) - base
    }));
    values.push(last.map_or(f64::NAN, |sale| years(cutoff - sale.date)));
    values.push(own.len() as f64);
    let transfers = history.transfers_before(subject, cutoff);
    values.push(transfers.last().map_or(f64::NAN, |day| years(cutoff - day)));
    values.push(transfers.iter().filter(|day| cutoff - **day < 1096).count() as f64);

    let line = if unit { before(Shares::Line, 20) } else { &[] };
    let lines = group(line);
    values.extend([lines.middle() - base, lines.count()]);
    let nearest = line
        .iter()
        .filter_map(|id| history.at(*id))
        .filter_map(|sale| {
            Some((
                subject.unit.floor?.abs_diff(sale.subject.unit.floor?),
                -sale.date,
                sale,
            ))
        })
        .min_by_key(|(floors, age, _)| (*floors, *age));
    values.push(nearest.map_or(f64::NAN, |(_, _, sale)| {
        history.adjusted(subject, sale, cutoff) - base
    }));
    values.push(nearest.map_or(f64::NAN, |(floors, _, _)| f64::from(floors)));

    let building = if unit {
        before(Shares::Building, 80)
    } else {
        &[]
    };
    let buildings = group(building);
    values.extend([
        buildings.middle() - base,
        buildings.count(),
        buildings.quantile(0.25) - base,
    ]);
    values.push(buildings.quantile(0.75) - base);
    let newest = building.last().and_then(|id| history.at(*id));
    values.push(newest.map_or(f64::NAN, |sale| f64::from(cutoff - sale.date)));
    values.push(buildings.0.iter().filter(|v| v.1 >= cutoff - 365).count() as f64);
    values.push(buildings.middle_since(cutoff - 365) - base);
    values.extend(lot_neighbours(history, subject, building, cutoff, base));

    let block = group(before(Shares::Block, 30));
    values.extend([block.middle() - base, block.count()]);
    let mut next = Vec::new();
    for steps in [-2, -1, 1, 2] {
        next.extend_from_slice(history.block_before(subject, steps, cutoff, 10));
    }
    let next = group(&next);
    values.extend([next.middle() - base, next.count()]);
    let street: Vec<u32> = before(Shares::Street, 80)
        .iter()
        .copied()
        .filter(|id| {
            history.at(*id).is_some_and(|sale| {
                match (sale.subject.house_number, subject.house_number) {
                    (Some(a), Some(b)) => a.abs_diff(b) <= 60,
                    _ => false,
                }
            })
        })
        .collect();
    let street = group(&street);
    values.extend([street.middle() - base, street.count()]);

    let hood_ids = before(Shares::Neighborhood, 100);
    let hood = group(hood_ids);
    values.extend([
        hood.middle() - base,
        hood.middle_of_last(20) - base,
        hood.count(),
    ]);
    values.push((hood.quantile(0.75) - hood.quantile(0.25)) / 2.0);
    values.push(group(before(Shares::Zip, 60)).middle() - base);

    let (gross, land, units) = (
        ln(subject.gross_sqft),
        ln(subject.land_sqft),
        ln(subject.units),
    );
    values.extend([gross, land, gross - land, units, gross - units]);
    let built = subject.year_built.map_or(f64::NAN, f64::from);
    let today = 1970.0 + years(cutoff);
    values.extend([built, today - built]);
    let [letter, second] = subject.class.bytes();
    values.push(f64::from(letter) * 64.0 + f64::from(second));
    values.extend([f64::from(subject.kind as u8), subject.borough() as f64]);
    values.push((subject.block() % 100_000) as f64);
    values.push(subject.zip.map_or(f64::NAN, f64::from));
    let floor = subject.unit.floor.map_or(f64::NAN, f64::from);
    values.extend([floor, if subject.unit.penthouse { 1.0 } else { 0.0 }]);
    values.push(subject.house_number.map_or(f64::NAN, f64::from));

    let typical = |of: fn(&Subject) -> f64| {
        let mut found: Vec<f64> = hood_ids
            .iter()
            .filter_map(|id| history.at(*id))
            .map(|sale| of(&sale.subject))
            .filter(|value| value.is_finite())
            .collect();
        median(&mut found).unwrap_or(f64::NAN)
    };
    values.push(gross - typical(|s| ln(s.gross_sqft)));
    values.push(land - typical(|s| ln(s.land_sqft)));
    values.push(built - typical(|s| s.year_built.map_or(f64::NAN, f64::from)));

    values.push(history.trend.between(subject, i32::MIN / 2, cutoff));
    values.push(history.trend.between(subject, cutoff - 365, cutoff));
    values.push(today.fract());
    values.push(today);
    let mut floors: Vec<f64> = building
        .iter()
        .filter_map(|id| history.at(*id)?.subject.unit.floor)
        .map(f64::from)
        .collect();
    values.push(floor - median(&mut floors).unwrap_or(f64::NAN));

    let total: f64 = evidence.comparables.iter().map(|c| c.weight).sum();
    for at in 0..3 {
        values.push(
            evidence
                .comparables
                .get(at)
                .map_or(f64::NAN, |c| c.adjusted - base),
        );
    }
    values.push(
        evidence
            .comparables
            .first()
            .map_or(f64::NAN, |c| c.weight / total),
    );
    let mean = evidence
        .comparables
        .iter()
        .map(|c| c.weight * (c.adjusted - base).clamp(-0.7, 0.7))
        .sum::<f64>();
    values.push(mean / total);
    values.push(newest.map_or(f64::NAN, |sale| {
        history.adjusted(subject, sale, cutoff) - base
    }));

    for (shares, most) in [(Shares::Block, 15), (Shares::Neighborhood, 60)] {
        values.push(if subject.segment() == Segment::FourAndMore {
            houses_per_sqft(
                history,
                history.houses_before(shares, subject, cutoff, most),
                cutoff,
            ) + gross
                - base
        } else {
            f64::NAN
        });
    }

    let yes = |is: bool| if is { 1.0 } else { 0.0 };
    values.extend([yes(subject.is_stabilized()), yes(subject.has_stores())]);
    values.extend(views(history, subject, evidence, cutoff).map(|view| view - base));
    values.extend([base - units, base - gross]);

    let values = values.try_into().ok()?;
    Some(Features { values, base })
}

/// The middle of what houses cost a square foot, as a logarithm, moved to the day.
fn houses_per_sqft(history: &History, ids: &[u32], cutoff: i32) -> f64 {
    let mut found: Vec<f64> = ids
        .iter()
        .filter_map(|id| history.at(*id))
        .map(|sale| {
            sale.log_price - ln(sale.subject.gross_sqft)
                + history.trend.between(&sale.subject, sale.date, cutoff)
        })
        .filter(|value| value.is_finite())
        .collect();
    median(&mut found).unwrap_or(f64::NAN)
}

/// In a condominium: the nearest lots below and above that were sold, and how far away they are.
fn lot_neighbours(
    history: &History,
    subject: &Subject,
    building: &[u32],
    cutoff: i32,
    base: f64,
) -> [f64; 4] {
    let mut out = [f64::NAN; 4];
    if subject.segment() != Segment::Condo {
        return out;
    }
    let (mut below, mut above) = (u64::MAX, u64::MAX);
    // Newest first: of two sales of one lot the later one speaks.
    for sale in building.iter().rev().filter_map(|id| history.at(*id)) {
        let gap = subject.lot.abs_diff(sale.subject.lot);
        let price = || history.adjusted(subject, sale, cutoff) - base;
        if sale.subject.lot < subject.lot && gap < below {
            below = gap;
            out = [price(), gap as f64, out[2], out[3]];
        } else if sale.subject.lot > subject.lot && gap < above {
            above = gap;
            out = [out[0], out[1], price(), gap as f64];
        }
    }
    out
}
