//! Ratio statistics as assessors define them (International Association of Assessing Officers, Standard on Ratio
//! Studies): the ratio is value over price. Nothing is trimmed.

use crate::estimate::median;

/// A value beside the price that was paid, both in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The value.
    pub value: f64,
    /// The price.
    pub price: f64,
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.value / self.price
    }

    /// Absolute error as a share of the price.
    pub fn error(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }
}

/// Median absolute error, percent of the price; nothing of no pairs.
pub fn mdape(pairs: &[Pair]) -> Option<f64> {
    median(&mut pairs.iter().map(Pair::error).collect::<Vec<_>>()).map(|error| 100.0 * error)
}

/// Percent of values that miss the price by at most this share of it.
pub fn within(pairs: &[Pair], share: f64) -> Option<f64> {
    let count = pairs.iter().filter(|pair| pair.error() <= share).count();
    (!pairs.is_empty()).then(|| 100.0 * count as f64 / pairs.len() as f64)
}

/// Median of value over price.
pub fn median_ratio(pairs: &[Pair]) -> Option<f64> {
    median(&mut pairs.iter().map(Pair::ratio).collect::<Vec<_>>())
}

/// Coefficient of dispersion: mean distance of the ratios from their median, percent of the median.
pub fn cod(pairs: &[Pair]) -> Option<f64> {
    let middle = median_ratio(pairs)?;
    let away: f64 = pairs.iter().map(|pair| (pair.ratio() - middle).abs()).sum();
    Some(100.0 / middle * away / pairs.len() as f64)
}

/// Price-related differential: mean ratio over the ratio of the totals. Above one, dear property is valued low.
pub fn prd(pairs: &[Pair]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = pairs.iter().map(Pair::ratio).sum::<f64>() / count;
    let totals = pairs.iter().map(|pair| pair.value).sum::<f64>()
        / pairs.iter().map(|pair| pair.price).sum::<f64>();
    (!pairs.is_empty()).then(|| mean / totals)
}

/// Price-related bias: by what share the ratio moves when the property is worth twice as much. Slope of the ratio's
/// distance from the median, a share of it, on the base-two logarithm of the mean of price and of value over median
/// ratio.
pub fn prb(pairs: &[Pair]) -> Option<f64> {
    let middle = median_ratio(pairs)?;
    let points: Vec<(f64, f64)> = pairs
        .iter()
        .map(|pair| {
            let worth = f64::midpoint(pair.value / middle, pair.price);
            (worth.log2(), (pair.ratio() - middle) / middle)
        })
        .collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let slope: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    (spread > 0.0).then(|| slope / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invented; the statistics of them were computed with the Python package assesspy 2.
    const PAIRS: [(f64, f64); 12] = [
        (310_000.0, 300_000.0),
        (452_000.0, 470_000.0),
        (250_500.0, 245_000.0),
        (780_000.0, 800_000.0),
        (615_000.0, 600_000.0),
        (198_000.0, 215_000.0),
        (925_000.0, 900_000.0),
        (401_000.0, 395_000.0),
        (530_000.0, 560_000.0),
        (1_200_000.0, 1_350_000.0),
        (333_000.0, 310_000.0),
        (476_000.0, 480_000.0),
    ];

    fn pairs() -> Vec<Pair> {
        PAIRS
            .iter()
            .map(|(value, price)| Pair {
                value: *value,
                price: *price,
            })
            .collect()
    }

    #[test]
    fn the_same_as_assesspy() {
        let near = |mine: Option<f64>, theirs: f64| (mine.unwrap() - theirs).abs() < 1e-9;
        assert!(near(cod(&pairs()), 4.263_110_118_177_987));
        assert!(near(prd(&pairs()), 1.013_857_249_543_777_6));
        assert!(
            near(prb(&pairs()), -0.021_217_183_633_984_16),
            "{:?}",
            prb(&pairs())
        );
    }

    #[test]
    fn shares_and_middles() {
        assert_eq!(within(&pairs(), 0.20), Some(100.0));
        assert!((within(&pairs(), 0.05).unwrap() - 66.666_666).abs() < 1e-4);
        assert!(mdape(&pairs()).unwrap() < 5.0);
        assert_eq!(
            (mdape(&[]), cod(&[]), prd(&[]), prb(&[]), within(&[], 0.1)),
            (None, None, None, None, None)
        );
        let one = [Pair {
            value: 2.0,
            price: 1.0,
        }];
        assert_eq!((mdape(&one), prb(&one)), (Some(100.0), None));
    }
}
