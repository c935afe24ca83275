//! Values every sale after a day with what was known the day before it, and says how wrong that was.

mod baselines;
pub mod ratios;
mod table;

pub use baselines::{NAMES as BASELINES, baselines};
pub use ratios::Pair;

use crate::{
    Loaded,
    estimate::{History, evidence},
    model::{BoostError, Group, Model, Settings, Value, spread_over_cores},
};

/// A sale and what was said of it before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// What kind of subject it was.
    pub group: Group,
    /// The borough's digit.
    pub borough: u64,
    /// Price in dollars.
    pub price: f64,
    /// The value, where there was one.
    pub value: Option<Value>,
    /// What the baselines said.
    pub baselines: [Option<f64>; 3],
}

impl Tested {
    /// Value and price.
    pub fn pair(&self) -> Option<Pair> {
        self.value.map(|v| Pair {
            value: v.value,
            price: self.price,
        })
    }

    /// Value by comparable sales alone, and price.
    pub fn by_comparables(&self) -> Option<Pair> {
        self.value.map(|v| Pair {
            value: v.by_comparables,
            price: self.price,
        })
    }

    /// Whether the interval holds the price.
    pub fn holds(&self) -> bool {
        self.value
            .is_some_and(|v| v.low <= self.price && self.price <= v.high)
    }
}

/// What a back-test found.
#[derive(Debug)]
pub struct Backtest {
    /// The model that was trained on what precedes the cut.
    pub model: Model,
    /// Every sale from the cut on.
    pub rows: Vec<Tested>,
}

impl Backtest {
    /// Trains on what was known at the cut, then values every later sale as of the day before it. With a delay, a sale
    /// is known only so many days after it.
    ///
    /// # Errors
    /// When the model cannot be trained.
    pub fn run(
        loaded: &Loaded,
        cut: i32,
        delay_days: i32,
        settings: &Settings,
    ) -> Result<Self, BoostError> {
        let model = Model::train(loaded, cut, delay_days, settings)?;
        let history = History::of(loaded, model.hedonic());
        let observations = history.observations();
        let from = observations.partition_point(|o| o.date < cut);
        let rows = spread_over_cores(observations.get(from..).unwrap_or_default(), |sale| {
            let subject = history.placed(sale.subject);
            let cutoff = sale.date - delay_days;
            let evidence = evidence(&history, &subject, cutoff);
            Some(Tested {
                group: Group::of(&subject, &evidence)?,
                borough: subject.borough(),
                price: sale.log_price.exp(),
                value: model.value(&history, &subject, &evidence, cutoff).ok(),
                baselines: baselines(&history, &subject, cutoff),
            })
        });
        Ok(Self { model, rows })
    }

    /// Value and price of each sale of a group that has a value.
    pub fn pairs(&self, group: Group) -> Vec<Pair> {
        self.rows
            .iter()
            .filter(|row| row.group == group)
            .filter_map(Tested::pair)
            .collect()
    }
}

#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod tests;
