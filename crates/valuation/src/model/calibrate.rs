//! What a hold-out says of the errors to expect: an interval by group and by how much the comparables disagree.

use super::Group;

/// Probability that the interval holds the price.
pub const INTERVAL_PROBABILITY: f64 = 0.80;
/// How many bins of disagreement a group has.
pub(crate) const BINS: usize = 3;
/// A bin with fewer sales takes the whole group's quantiles.
const FEWEST: usize = 60;

/// What was measured for a group of subjects, on sales later than all it was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Accuracy {
    /// Median of the absolute error, a share of the price.
    pub mdape: f64,
    /// Share of values within 10 % of the price.
    pub ppe10: f64,
    /// Share of values within 20 % of the price.
    pub ppe20: f64,
    /// How many sales were valued.
    pub sample_size: u32,
    /// First day of the sales, counted from 1970-01-01.
    pub from: i32,
    /// The day after the last.
    pub until: i32,
}

/// Errors to expect: logarithms of price over value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Bin {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) fsd: f64,
}

/// A group's hold-out.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Calibration {
    pub(crate) use_model: bool,
    /// Disagreement that divides the bins.
    pub(crate) bounds: [f64; BINS - 1],
    pub(crate) bins: [Bin; BINS],
    pub(crate) accuracy: Accuracy,
}

/// One valued sale of the hold-out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) group: Group,
    /// How much the comparables disagree.
    pub(crate) spread: f64,
    /// Logarithm of price over the comparables' value.
    pub(crate) comparables: f64,
    /// Logarithm of price over the model's value.
    pub(crate) model: f64,
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    // One more than there are: what conformal prediction asks for, so that the share is kept with few sales.
    let at = (q * (last as f64 + 2.0) - 1.0).clamp(0.0, last as f64);
    let (low, part) = (at.floor() as usize, at.fract());
    let value = |at: usize| sorted.get(at.min(last)).copied().unwrap_or_default();
    value(low) + part * (value(low + 1) - value(low))
}

fn bin_of(errors: &mut [f64]) -> Bin {
    errors.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - INTERVAL_PROBABILITY) / 2.0;
    Bin {
        low: quantile(errors, tail),
        high: quantile(errors, 1.0 - tail),
        // Half of what holds 68 %: a standard deviation that far-out errors do not stretch.
        fsd: (quantile(errors, 0.84) - quantile(errors, 0.16)) / 2.0,
    }
}

/// Share of a price by which a value that is off by this logarithm misses it.
fn miss(error: f64) -> f64 {
    ((-error).exp() - 1.0).abs()
}

fn mdape(errors: impl Iterator<Item = f64>) -> f64 {
    let mut misses: Vec<f64> = errors.map(miss).collect();
    crate::estimate::median(&mut misses).unwrap_or(f64::INFINITY)
}

/// An error this large, as a logarithm, is a price outside the market: how much larger it is says nothing of a method.
const OUTSIDE: f64 = 0.7;

/// Mean size of the errors, none counted for more than [`OUTSIDE`]. What chooses a method: in a segment with few sales a
/// median goes one way or the other by chance.
fn typical_miss(errors: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = errors.len();
    errors.map(|error| error.abs().min(OUTSIDE)).sum::<f64>() / count as f64
}

impl Calibration {
    pub(crate) fn of(held: &[Held], from: i32, until: i32) -> Self {
        if held.is_empty() {
            return Self::default();
        }
        let use_model = typical_miss(held.iter().map(|h| h.model))
            < typical_miss(held.iter().map(|h| h.comparables));
        let error = |h: &Held| if use_model { h.model } else { h.comparables };
        let mut spreads: Vec<f64> = held.iter().map(|h| h.spread).collect();
        spreads.sort_unstable_by(f64::total_cmp);
        let mut bounds = [0.0; BINS - 1];
        for (at, bound) in bounds.iter_mut().enumerate() {
            *bound = quantile(&spreads, (at + 1) as f64 / BINS as f64);
        }
        let mut out = Self {
            use_model,
            bounds,
            ..Self::default()
        };
        let whole = bin_of(&mut held.iter().map(error).collect::<Vec<_>>());
        for at in 0..BINS {
            let mut errors: Vec<f64> = held
                .iter()
                .filter(|h| out.bin_at(h.spread) == at)
                .map(error)
                .collect();
            let bin = if errors.len() < FEWEST {
                whole
            } else {
                bin_of(&mut errors)
            };
            if let Some(slot) = out.bins.get_mut(at) {
                *slot = bin;
            }
        }
        let share = |within: f64| {
            held.iter().filter(|h| miss(error(h)) <= within).count() as f64 / held.len() as f64
        };
        out.accuracy = Accuracy {
            mdape: mdape(held.iter().map(error)),
            ppe10: share(0.10),
            ppe20: share(0.20),
            sample_size: u32::try_from(held.len()).unwrap_or(u32::MAX),
            from,
            until,
        };
        out
    }

    fn bin_at(&self, spread: f64) -> usize {
        self.bounds.iter().filter(|bound| spread > **bound).count()
    }

    /// Errors to expect where the comparables disagree so much.
    pub(crate) fn bin(&self, spread: f64) -> Bin {
        self.bins
            .get(self.bin_at(spread))
            .copied()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn held(spread: f64, comparables: f64, model: f64) -> Held {
        Held {
            group: Group::Coop,
            spread,
            comparables,
            model,
        }
    }

    #[test]
    fn the_better_of_the_two_is_used() {
        let sales: Vec<Held> = (0..300)
            .map(|i| {
                let error = f64::from(i % 21 - 10) / 50.0;
                held(f64::from(i % 30), error, error / 2.0)
            })
            .collect();
        let calibration = Calibration::of(&sales, 10, 20);
        assert!(calibration.use_model);
        assert_eq!(calibration.accuracy.sample_size, 300);
        assert!(calibration.accuracy.ppe10 > 0.9);
        let swapped: Vec<Held> = sales
            .iter()
            .map(|h| held(h.spread, h.model, h.comparables))
            .collect();
        assert!(!Calibration::of(&swapped, 10, 20).use_model);
        assert_eq!(Calibration::of(&[], 0, 0), Calibration::default());
    }

    proptest! {
        #[test]
        fn four_fifths_of_the_hold_out_lie_in_the_interval(
            errors in prop::collection::vec(-0.5_f64..0.5, 300..500),
        ) {
            let sales: Vec<Held> =
                errors.iter().enumerate().map(|(i, e)| held((i % 7) as f64, *e, *e)).collect();
            let calibration = Calibration::of(&sales, 0, 1);
            let inside = sales.iter().filter(|h| {
                let bin = calibration.bin(h.spread);
                bin.low <= h.model && h.model <= bin.high
            });
            let share = inside.count() as f64 / sales.len() as f64;
            prop_assert!((0.76..=0.85).contains(&share), "{}", share);
        }
    }
}
