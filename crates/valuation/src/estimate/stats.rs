//! Middle and spread of a few weighted numbers.

/// A number and how much it counts.
pub(crate) type Weighted = (f64, f64);

/// Quantile `q` of weighted numbers, which are sorted on the way; nothing when nothing has weight.
///
/// The cumulative weight at a number is taken at its middle, and the quantile lies on the line between neighbours: with
/// equal weights and `q` one half this is the ordinary median.
pub(crate) fn weighted_quantile(values: &mut [Weighted], q: f64) -> Option<f64> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return None;
    }
    let aim = q * total;
    let mut before = 0.0;
    let mut last: Option<(f64, f64)> = None;
    for (value, weight) in values.iter().filter(|(_, weight)| *weight > 0.0) {
        let here = before + weight / 2.0;
        if here >= aim {
            return Some(match last {
                Some((at, low)) if here > at => low + (value - low) * (aim - at) / (here - at),
                _ => *value,
            });
        }
        last = Some((here, *value));
        before += weight;
    }
    last.map(|(_, value)| value)
}

/// Median of plain numbers, which are reordered.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    let middle = count / 2;
    if count == 0 {
        return None;
    }
    let (below, at, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let at = *at;
    if count % 2 == 1 {
        return Some(at);
    }
    let low = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(f64::midpoint(low, at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ordinary_median() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let mut even = [(4.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.0)];
        assert_eq!(weighted_quantile(&mut even, 0.5), Some(2.5));
        assert_eq!(weighted_quantile(&mut [(1.0, 0.0)], 0.5), None);
    }

    proptest! {
        #[test]
        fn a_quantile_lies_between_the_ends_and_rises(
            mut values in prop::collection::vec((-10.0_f64..10.0, 0.01_f64..5.0), 1..30),
            q in 0.0_f64..1.0,
        ) {
            let low = values.iter().map(|v| v.0).fold(f64::INFINITY, f64::min);
            let high = values.iter().map(|v| v.0).fold(f64::NEG_INFINITY, f64::max);
            let at = weighted_quantile(&mut values, q).unwrap();
            prop_assert!(low <= at && at <= high);
            prop_assert!(weighted_quantile(&mut values, (q + 0.1).min(1.0)).unwrap() >= at);
        }

        #[test]
        fn equal_weights_are_no_weights(values in prop::collection::vec(-10.0_f64..10.0, 1..30)) {
            let mut weighted: Vec<Weighted> = values.iter().map(|v| (*v, 2.0)).collect();
            let mut plain = values;
            let (a, b) = (weighted_quantile(&mut weighted, 0.5).unwrap(), median(&mut plain).unwrap());
            prop_assert!((a - b).abs() < 1e-9);
        }
    }
}
