//! Rents: which active rentals compare with a home, what they ask, and what the home would be offered for.
//!
//! Asking rents are gross; a net effective rent (free months spread over the lease) is another figure, told apart and
//! never mixed in. A stabilised unit's rent is set by law: it is listed and counted, and no estimate rests on it.

use std::collections::BTreeMap;

use brownstone_domain::{
    comps::{Confidence, SameBuilding},
    rentals::{BedroomRents, NoEstimateReason, RentStatistics, RentSummary},
};

use crate::estimate::{Weighted, weighted_quantile};

/// Rentals a step needs, and figures are made of at least.
pub const FEWEST: usize = 3;
/// The steps in miles, after the building itself.
pub const STEPS_MILES: [f64; 3] = [0.25, 0.5, 1.0];
/// Which rules make the estimate; raised when they change.
pub const VERSION: &str = "rents-1";

/// Rent grows more slowly than area: by so much of a percent for a percent.
const AREA_ELASTICITY: f64 = 0.5;
/// Half the distance of the weighted quartiles, of the logarithms, above which there is no estimate.
const MOST_SPREAD: f64 = 0.45;
/// No estimate errs by less, however alike the rentals are: rooms, light and condition are not compared.
const LEAST_ERROR: f64 = 0.08;
/// The quartiles of a normal distribution are so many standard deviations from its middle.
const QUARTILE: f64 = 0.6745;
/// Standard deviations between which 80 percent of a normal distribution lie.
const EIGHTY_PERCENT: f64 = 1.2816;

/// The home, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Home {
    /// Bedrooms; 0 is a studio.
    pub bedrooms: Option<u32>,
    /// Bathrooms.
    pub bathrooms: Option<f64>,
    /// Living area in square feet.
    pub sqft: Option<u32>,
}

/// An active rental beside the home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// The caller's name for it.
    pub id: u64,
    /// Gross asking rent, dollars a month.
    pub asking: f64,
    /// Rent with free months spread over the lease.
    pub net_effective: Option<f64>,
    /// What it has.
    pub home: Home,
    /// Whether its rent is stabilised.
    pub stabilized: bool,
    /// Whether it is in the home's building.
    pub same_building: bool,
    /// How far away it is; nothing when its place is not known.
    pub miles: Option<f64>,
    /// Days since it was listed.
    pub age_days: Option<u32>,
}

/// A step of the search and what it found.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The radius; nothing for the building itself.
    pub miles: Option<f64>,
    /// Which step it was, from 1.
    pub number: u32,
    /// The rentals it found, the most alike first.
    pub offers: Vec<Offer>,
}

/// Widens until three rentals are found that the home compares with; the widest step when none finds as many.
///
/// With the number of bedrooms known, only rentals with as many count towards the three, and a step lists no others once
/// it has them.
pub fn search(home: &Home, offers: &[Offer], same: SameBuilding, radius: Option<f64>) -> Step {
    let radii: &[f64] = radius.as_ref().map_or(&STEPS_MILES, std::slice::from_ref);
    let mut steps: Vec<Option<f64>> = Vec::new();
    if same != SameBuilding::Exclude {
        steps.push(None);
    }
    if same != SameBuilding::Only {
        steps.extend(radii.iter().copied().map(Some));
    }
    let mut best = Step {
        miles: None,
        number: 1,
        offers: Vec::new(),
    };
    for (number, miles) in (1..).zip(steps) {
        let here = |offer: &&Offer| match miles {
            None => offer.same_building,
            Some(_) if same == SameBuilding::Exclude && offer.same_building => false,
            Some(miles) => offer.same_building || offer.miles.is_some_and(|far| far <= miles),
        };
        let mut found: Vec<Offer> = offers.iter().filter(here).copied().collect();
        let fits = |offer: &Offer| home.bedrooms.is_none() || offer.home.bedrooms == home.bedrooms;
        let enough = found.iter().filter(|offer| fits(offer)).count() >= FEWEST;
        if enough {
            found.retain(fits);
        }
        found.sort_by(|a, b| {
            similarity(home, b)
                .total_cmp(&similarity(home, a))
                .then(a.id.cmp(&b.id))
        });
        best = Step {
            miles,
            number,
            offers: found,
        };
        if enough {
            break;
        }
    }
    best
}

/// How alike a rental is, 0 to 1: nearer, newer and more alike never scores lower. Something that is not known counts as
/// somewhat unlike.
pub fn similarity(home: &Home, offer: &Offer) -> f64 {
    let unlike =
        |apart: Option<f64>, scale: f64| apart.map_or(0.7, |apart| (-apart.abs() / scale).exp());
    let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a - b);
    let place = if offer.same_building {
        1.0
    } else {
        0.85 * unlike(offer.miles, 0.8)
    };
    let bedrooms = both(
        home.bedrooms.map(f64::from),
        offer.home.bedrooms.map(f64::from),
    );
    let area = both(ln(home.sqft), ln(offer.home.sqft));
    place
        * unlike(bedrooms, 1.2)
        * unlike(both(home.bathrooms, offer.home.bathrooms), 3.0)
        * unlike(area, 0.6)
        * unlike(offer.age_days.map(f64::from), 120.0)
}

fn ln(value: Option<u32>) -> Option<f64> {
    value
        .filter(|value| *value > 0)
        .map(|value| f64::from(value).ln())
}

/// What a step's rentals ask.
pub fn statistics(offers: &[Offer]) -> RentStatistics {
    let per_sqft: Vec<f64> = offers
        .iter()
        .filter_map(|offer| {
            Some(offer.asking / f64::from(offer.home.sqft.filter(|sqft| *sqft > 0)?))
        })
        .collect();
    let mut bedrooms: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for offer in offers {
        if let Some(count) = offer.home.bedrooms {
            bedrooms.entry(count).or_default().push(offer.asking);
        }
    }
    let each = summary(&per_sqft);
    RentStatistics {
        asking: summary(&offers.iter().map(|offer| offer.asking).collect::<Vec<_>>()),
        median_per_sqft: each.median,
        median_per_sqft_sample_size: each.sample_size,
        by_bedrooms: bedrooms
            .into_iter()
            .map(|(bedrooms, rents)| BedroomRents {
                bedrooms,
                rents: summary(&rents),
            })
            .collect(),
        net_effective: summary(
            &offers
                .iter()
                .filter_map(|offer| offer.net_effective)
                .collect::<Vec<_>>(),
        ),
        rent_stabilized_count: count(offers.iter().filter(|offer| offer.stabilized).count()),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Figures of some amounts, to the cent; none under three.
fn summary(amounts: &[f64]) -> RentSummary {
    let sample_size = count(amounts.len());
    if amounts.len() < FEWEST {
        return RentSummary {
            sample_size,
            ..RentSummary::default()
        };
    }
    let mut weighted: Vec<Weighted> = amounts.iter().map(|amount| (*amount, 1.0)).collect();
    let cents = |amount: f64| (amount * 100.0).round() / 100.0;
    let mut at = |q| weighted_quantile(&mut weighted, q).map(cents);
    RentSummary {
        sample_size,
        median: at(0.5),
        p25: at(0.25),
        p75: at(0.75),
        min: at(0.0),
        max: at(1.0),
    }
}

/// What the home would be offered for, dollars a month.
#[derive(Debug, Clone, PartialEq)]
pub struct Rent {
    /// The rent.
    pub rent: f64,
    /// Low end of the interval.
    pub low: f64,
    /// Its high end.
    pub high: f64,
    /// How far it is to be trusted; never high, since it was not measured.
    pub confidence: Confidence,
}

/// Each rental's share of the estimate, in the offers' order, and the estimate: the weighted median of asking rents, each
/// moved to the home's area.
///
/// # Errors
/// When fewer than three rentals without a stabilised rent are left, or they differ too much.
pub fn estimate(home: &Home, offers: &[Offer]) -> (Vec<f64>, Result<Rent, NoEstimateReason>) {
    let weight = |offer: &Offer| {
        if offer.stabilized {
            0.0
        } else {
            similarity(home, offer).powi(2)
        }
    };
    let total: f64 = offers.iter().map(weight).sum();
    let shares: Vec<f64> = offers
        .iter()
        .map(|offer| {
            if total > 0.0 {
                weight(offer) / total
            } else {
                0.0
            }
        })
        .collect();
    let free = offers.iter().filter(|offer| !offer.stabilized).count();
    if free < FEWEST {
        return (shares, Err(NoEstimateReason::TooFewRentals));
    }
    let mut rents: Vec<Weighted> = offers
        .iter()
        .zip(&shares)
        .map(|(offer, share)| {
            let larger = ln(home.sqft)
                .zip(ln(offer.home.sqft))
                .map_or(0.0, |(mine, its)| mine - its);
            (
                offer.asking.ln() + AREA_ELASTICITY * larger.clamp(-0.7, 0.7),
                *share,
            )
        })
        .collect();
    let mut at = |q| weighted_quantile(&mut rents, q);
    let (Some(low), Some(middle), Some(high)) = (at(0.25), at(0.5), at(0.75)) else {
        return (shares, Err(NoEstimateReason::TooFewRentals));
    };
    let spread = (high - low) / 2.0;
    if spread > MOST_SPREAD {
        return (shares, Err(NoEstimateReason::RentalsTooDispersed));
    }
    let error = (spread / QUARTILE).max(LEAST_ERROR);
    let confidence = if home.bedrooms.is_some() && free >= 5 && error < 0.2 {
        Confidence::Medium
    } else {
        Confidence::Low
    };
    let rent = Rent {
        rent: middle.exp(),
        low: (middle - EIGHTY_PERCENT * error).exp(),
        high: (middle + EIGHTY_PERCENT * error).exp(),
        confidence,
    };
    (shares, Ok(rent))
}

#[cfg(test)]
mod tests;
