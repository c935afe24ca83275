//! How alike a sale is to the subject: one number from 0 to 1, 1 for the subject itself sold today.
//!
//! `similarity = exp(-sum of unlikenesses)`. Each unlikeness is zero for "the same" and grows with the difference, so
//! that nearer, newer and more alike never scores lower. What is not known counts as a middling difference, the same
//! for every sale. The figures below are how much one unit of difference takes away.

/// What sets a sale apart from the subject. `None` is "not known of one of them".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Whether what is compared are units of buildings.
    pub units_of_buildings: bool,
    /// In the subject's building.
    pub same_building: bool,
    /// Distance in miles.
    pub miles: f64,
    /// Days since the sale.
    pub days: u32,
    /// Another kind of property of the same segment: two families for one.
    pub other_kind: bool,
    /// Ratio of the floor areas, the greater by the smaller.
    pub size_ratio: Option<f64>,
    /// Years between the constructions.
    pub years: Option<u32>,
    /// Ratio of the numbers of dwellings, the greater by the smaller.
    pub dwellings_ratio: Option<f64>,
}

/// A mile away.
const PER_MILE: f64 = 0.8;
/// In another building, for a unit.
const OTHER_BUILDING: f64 = 0.25;
/// A year ago.
const PER_YEAR_AGO: f64 = 0.35;
/// Another kind.
const OTHER_KIND: f64 = 0.3;
/// By the logarithm of the ratio of floor areas: a tenth larger takes 0.14.
const PER_LOG_SIZE: f64 = 1.5;
/// A size that is not known: as one 30 percent off.
const SIZE_UNKNOWN: f64 = 0.4;
/// A year of construction apart; thirty years take 0.18.
const PER_YEAR_APART: f64 = 0.006;
/// An age that is not known.
const AGE_UNKNOWN: f64 = 0.15;
/// By the logarithm of the ratio of dwellings.
const PER_LOG_DWELLINGS: f64 = 0.3;

impl Difference {
    /// The similarity, above 0 and at most 1.
    ///
    /// ```
    /// use brownstone_valuation::comps::Difference;
    /// let same = Difference {
    ///     units_of_buildings: true, same_building: true, miles: 0.0, days: 0, other_kind: false,
    ///     size_ratio: None, years: Some(0), dwellings_ratio: None,
    /// };
    /// assert_eq!(same.similarity(), 1.0);
    /// assert!(Difference { days: 365, ..same }.similarity() < 0.8);
    /// ```
    pub fn similarity(&self) -> f64 {
        let mut unlike = self.miles.max(0.0) * PER_MILE;
        unlike += f64::from(self.days) / 365.0 * PER_YEAR_AGO;
        if self.other_kind {
            unlike += OTHER_KIND;
        }
        unlike += self
            .years
            .map_or(AGE_UNKNOWN, |years| f64::from(years) * PER_YEAR_APART);
        if self.units_of_buildings {
            if !self.same_building {
                unlike += OTHER_BUILDING;
            }
        } else {
            unlike += self
                .size_ratio
                .map_or(SIZE_UNKNOWN, |ratio| ratio.max(1.0).ln() * PER_LOG_SIZE);
            unlike += self
                .dwellings_ratio
                .map_or(0.0, |ratio| ratio.max(1.0).ln() * PER_LOG_DWELLINGS);
        }
        (-unlike).exp()
    }
}

/// The greater by the smaller of two sizes.
pub(super) fn ratio(a: Option<u32>, b: Option<u32>) -> Option<f64> {
    let (a, b) = (f64::from(a?), f64::from(b?));
    (a > 0.0 && b > 0.0).then(|| (a / b).max(b / a))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn difference()(
            units_of_buildings in any::<bool>(),
            same_building in any::<bool>(),
            miles in 0.0..5.0_f64,
            days in 0_u32..2_000,
            other_kind in any::<bool>(),
            size_ratio in prop::option::of(1.0..20.0_f64),
            years in prop::option::of(0_u32..300),
            dwellings_ratio in prop::option::of(1.0..20.0_f64),
        ) -> Difference {
            Difference {
                units_of_buildings, same_building, miles, days, other_kind, size_ratio, years, dwellings_ratio,
            }
        }
    }

    proptest! {
        #[test]
        fn nearer_newer_and_more_alike_never_scores_lower(
            sale in difference(), miles in 0.0..2.0_f64, days in 0_u32..900, years in 0_u32..90, size in 1.0..4.0_f64,
        ) {
            let score = sale.similarity();
            prop_assert!(score > 0.0 && score <= 1.0);
            let worse = [
                Difference { miles: sale.miles + miles, ..sale },
                Difference { days: sale.days + days, ..sale },
                Difference { years: sale.years.map(|y| y + years), ..sale },
                Difference { size_ratio: sale.size_ratio.map(|r| r * size), ..sale },
                Difference { dwellings_ratio: sale.dwellings_ratio.map(|r| r * size), ..sale },
                Difference { other_kind: true, ..sale },
                Difference { same_building: false, ..sale },
            ];
            for worse in worse {
                prop_assert!(worse.similarity() <= score, "{worse:?} of {sale:?}");
            }
        }

        #[test]
        fn a_ratio_does_not_depend_on_which_is_greater(a in 1_u32..100_000, b in 1_u32..100_000) {
            prop_assert_eq!(ratio(Some(a), Some(b)), ratio(Some(b), Some(a)));
            prop_assert!(ratio(Some(a), Some(b)).unwrap() >= 1.0);
        }
    }
}
