//! How much a sale counts for a subject: the nearer, newer and more alike, the more.

use super::{Observation, Subject};
use crate::{Kind, Segment};

/// How fast each kind of unlikeness makes a sale count less. One row a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    /// Days in which weight falls to 1/e.
    pub(super) days: f64,
    /// Logarithm of the ratio of floor areas that does the same.
    pub(super) gross: f64,
    /// The same of land.
    pub(super) land: f64,
    /// Years of construction apart.
    pub(super) years: f64,
    /// Logarithm of the ratio of dwellings that does the same.
    pub(super) units: f64,
    /// Blocks apart.
    pub(super) blocks: f64,
    /// The property's own sale, beside one of the same block.
    pub(super) own: f64,
    /// A sale elsewhere in the neighbourhood counts so much, beside one of the same block.
    pub(super) elsewhere: f64,
    /// One of another neighbourhood, beside one elsewhere in the same.
    pub(super) beyond: f64,
    /// Another kind (two families for one) counts so much.
    pub(super) other_kind: f64,
    /// Another class of the same kind.
    pub(super) other_class: f64,
    /// Rents regulated for free ones, or the other way round.
    pub(super) other_rents: f64,
}

/// Where a kernel's difference does not count.
const NEVER: f64 = f64::INFINITY;

/// Of units: their buildings' sizes say nothing of them.
const UNIT: Kernel = Kernel {
    days: 700.0,
    gross: 1.0,
    land: 1.0,
    years: 12.0,
    units: NEVER,
    blocks: NEVER,
    own: 1.0,
    elsewhere: place::UNIT_ELSEWHERE,
    beyond: 1.0,
    other_kind: 0.5,
    other_class: 0.6,
    other_rents: 1.0,
};

/// One of each segment that is valued, in the order of [`Segment::ALL`].
pub(super) const KERNELS: [Kernel; 4] = [
    // Condominium units.
    UNIT,
    // Apartments of co-operatives.
    Kernel {
        days: 800.0,
        years: 25.0,
        ..UNIT
    },
    // One to three families.
    Kernel {
        days: 500.0,
        gross: 0.30,
        land: 0.45,
        years: 35.0,
        units: NEVER,
        blocks: 4.0,
        own: 1.5,
        elsewhere: 0.12,
        beyond: 1.0,
        other_kind: 0.4,
        other_class: 0.6,
        other_rents: 1.0,
    },
    // Four and more: few and far between, so that the whole neighbourhood speaks, but each for its like. What a square
    // foot is worth the elasticities know; how many dwellings there are, and whose rents, says more of what is alike.
    Kernel {
        days: 900.0,
        gross: 7.0,
        land: 2.4,
        years: 35.0,
        units: 1.0,
        blocks: 2.5,
        own: 1.8,
        elsewhere: 0.35,
        beyond: 0.25,
        other_kind: 0.4,
        other_class: 0.4,
        other_rents: 0.25,
    },
];

/// Weight of a sale by where it is. From the same apartment to the same neighbourhood.
mod place {
    pub(super) const SAME_APARTMENT: f64 = 60.0;
    pub(super) const SAME_LINE: f64 = 4.0;
    pub(super) const SAME_BUILDING: f64 = 1.0;
    pub(super) const UNIT_SAME_BLOCK: f64 = 0.12;
    pub(super) const UNIT_ELSEWHERE: f64 = 0.03;
    pub(super) const SAME_BLOCK: f64 = 1.0;
    pub(super) const SAME_STREET: f64 = 0.9;
    pub(super) const NEXT_BLOCK: f64 = 0.7;
}

fn closeness(subject: &Subject, other: &Subject, kernel: &Kernel) -> f64 {
    if subject.segment().is_unit() {
        unit_closeness(subject, other, kernel.elsewhere)
    } else {
        house_closeness(subject, other, kernel)
    }
}

fn unit_closeness(subject: &Subject, other: &Subject, elsewhere: f64) -> f64 {
    let same_lot = subject.segment() == Segment::Condo && subject.lot == other.lot;
    let same_building = subject.building == other.building;
    // A condominium unit stays that unit when a release writes its building's address another way.
    if same_lot || (same_building && subject.unit.key != 0 && subject.unit.key == other.unit.key) {
        return place::SAME_APARTMENT;
    }
    if !same_building {
        let near = if subject.block() == other.block() {
            place::UNIT_SAME_BLOCK
        } else {
            elsewhere
        };
        return near * if subject.zip == other.zip { 1.0 } else { 0.7 };
    }
    let same_line = subject.unit.line != 0 && subject.unit.line == other.unit.line;
    let floors = match (subject.unit.floor, other.unit.floor) {
        (Some(a), Some(b)) => f64::from(a.abs_diff(b)),
        _ => 6.0,
    };
    if same_line {
        return place::SAME_BUILDING
            + (place::SAME_LINE - place::SAME_BUILDING) * (-floors / 12.0).exp();
    }
    // Lots of a condominium are numbered along its floors: near numbers are near apartments.
    let lots = if subject.segment() == Segment::Condo {
        (-(subject.lot.abs_diff(other.lot) as f64) / 6.0).exp()
    } else {
        0.0
    };
    place::SAME_BUILDING * (0.4 + 0.3 * (-floors / 8.0).exp() + 0.3 * lots)
}

fn house_closeness(subject: &Subject, other: &Subject, kernel: &Kernel) -> f64 {
    if subject.lot == other.lot {
        return kernel.own;
    }
    let mut near = kernel.elsewhere;
    if subject.neighborhood != other.neighborhood {
        near *= kernel.beyond;
    }
    if subject.borough() == other.borough() {
        let blocks = subject.block().abs_diff(other.block());
        near = near.max(match blocks {
            0 => place::SAME_BLOCK,
            1..=6 => place::NEXT_BLOCK * (-(blocks as f64 - 1.0) / kernel.blocks).exp(),
            _ => 0.0,
        });
        if subject.street != 0
            && subject.street == other.street
            && let (Some(a), Some(b)) = (subject.house_number, other.house_number)
        {
            near = near.max(place::SAME_STREET * (-f64::from(a.abs_diff(b)) / 60.0).exp());
        }
    }
    near * if subject.zip == other.zip { 1.0 } else { 0.7 }
}

fn apart<T: Into<f64>>(a: Option<T>, b: Option<T>, scale: f64, unknown: f64) -> f64 {
    match (a, b) {
        (Some(a), Some(b)) => (-(a.into() - b.into()).abs() / scale).exp(),
        _ => unknown,
    }
}

pub(super) fn ln(value: Option<u32>) -> Option<f64> {
    value.filter(|v| *v > 0).map(|v| f64::from(v).ln())
}

/// Like for like: a sale speaks for its own segment alone, but that a house of three dwellings also speaks for a small
/// rental building: both are bought for their rents.
fn speaks_for(other: &Subject, subject: &Subject) -> bool {
    other.segment() == subject.segment()
        || (subject.segment() == Segment::FourAndMore && other.kind == Kind::ThreeFamily)
}

/// How much a sale counts for a subject that is valued as of the cutoff. It depends on the two alone, and never grows
/// with distance, age or unlikeness.
pub fn weight(subject: &Subject, sale: &Observation, cutoff: i32) -> f64 {
    KERNELS
        .get(subject.segment() as usize)
        .map_or(0.0, |kernel| weight_by(kernel, subject, sale, cutoff))
}

/// As [`weight`], by other kernels than the segment's own.
pub(super) fn weight_by(
    kernel: &Kernel,
    subject: &Subject,
    sale: &Observation,
    cutoff: i32,
) -> f64 {
    let other = &sale.subject;
    if !speaks_for(other, subject) {
        return 0.0;
    }
    let days = f64::from((cutoff - sale.date).max(0));
    let same_building = subject.segment().is_unit() && subject.building == other.building;
    let alike = if same_building {
        1.0
    } else if subject.class == other.class {
        apart(subject.year_built, other.year_built, kernel.years, 0.5)
    } else if subject.kind == other.kind {
        kernel.other_class * apart(subject.year_built, other.year_built, kernel.years, 0.5)
    } else {
        kernel.other_kind * apart(subject.year_built, other.year_built, kernel.years, 0.5)
    };
    let rents = if subject.is_stabilized() == other.is_stabilized() {
        1.0
    } else {
        kernel.other_rents
    };
    let units = if kernel.units == NEVER {
        1.0
    } else {
        apart(ln(subject.units), ln(other.units), kernel.units, 0.6)
    };
    closeness(subject, other, kernel)
        * (-days / kernel.days).exp()
        * alike
        * rents
        * units
        * apart(
            ln(subject.gross_sqft),
            ln(other.gross_sqft),
            kernel.gross,
            if subject.segment().is_unit() {
                1.0
            } else {
                0.4
            },
        )
        * apart(
            ln(subject.land_sqft),
            ln(other.land_sqft),
            kernel.land,
            if subject.segment().is_unit() {
                1.0
            } else {
                0.6
            },
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::BuildingClass;

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
    fn the_same_line_says_more_than_the_same_building() {
        let unit = |lot: &str, designation: &str| {
            let mut subject = Subject::new(lot.parse().unwrap(), BuildingClass::read(b"D4"));
            subject.set_unit(designation);
            subject
        };
        let subject = unit("1008350041", "5C");
        let at = |designation| {
            weight(
                &subject,
                &sold(unit("1008350041", designation), 19_000, 1e6),
                19_100,
            )
        };
        assert!(at("5C") > at("6C"));
        assert!(at("6C") > at("9C"));
        assert!(at("9C") > at("5D"));
        assert!(at("5D") > at("12D"));
        let elsewhere = sold(unit("1008350042", "5C"), 19_000, 1e6);
        assert!(at("12D") > weight(&subject, &elsewhere, 19_100));
        let house = sold(house("4062000010"), 19_000, 1e6);
        assert_eq!(weight(&subject, &house, 19_100), 0.0);
    }

    proptest! {
        #[test]
        fn nearer_newer_and_more_alike_never_counts_less(
            block in 0_u32..8, farther in 0_u32..8,
            age in 0_i32..2000, older in 0_i32..2000,
            size in 0_u32..2000, bigger in 0_u32..2000,
        ) {
            let subject = house("4062000010");
            let one = |block: u32, age: i32, size: u32| {
                let mut other = house(&format!("4{:05}0020", 6_200 + block));
                other.gross_sqft = Some(1_500 + size);
                weight(&subject, &sold(other, 19_000 - age, 1e6), 19_000)
            };
            let best = one(block, age, size);
            prop_assert!(best >= one(block + farther, age, size));
            prop_assert!(best >= one(block, age + older, size));
            prop_assert!(best >= one(block, age, size + bigger));
            prop_assert!(best > 0.0);
        }
    }
}
