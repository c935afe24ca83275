//! Gradient boosting under absolute error.
//!
//! The trees come from the crate `forust-ml`, which knows squared error. Absolute error is reached by reweighting:
//! in each round every row counts one over the size of its residual, so that a leaf's weighted mean is a step towards
//! its median, and the next few trees are grown on what the trees before have left.

use forust_ml::{GradientBooster, Matrix, objective::ObjectiveType, sampler::SampleMethod};

/// Why a model could not be trained.
#[derive(Debug, thiserror::Error)]
#[error("the trees could not be grown: {0}")]
pub struct BoostError(String);

/// So many rows need one forest; half as many two.
pub(super) const MANY_ROWS: usize = 200_000;

/// How trees are grown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Times the rows are weighted anew.
    pub rounds: usize,
    /// Trees a round.
    pub trees: usize,
    /// How much of a tree's step is taken.
    pub step: f32,
    /// Leaves of a tree.
    pub leaves: usize,
    /// Rows a leaf has at least.
    pub leaf_rows: f32,
    /// Share of the columns a tree sees.
    pub columns: f64,
    /// Forests that are grown apart and averaged where there are few rows: as many as 200,000 holds
    /// the rows, at most this number.
    pub forests: usize,
    /// Residual below which a row counts no more than its neighbours.
    pub near: f64,
}

/// Up to so many rows, trees are small and their steps short: [`Settings::for_rows`].
const FEW_ROWS: usize = 10_000;

impl Settings {
    /// These settings for so many rows. Few rows, whose prices lie far apart, are learned by heart by large trees.
    #[must_use]
    pub fn for_rows(self, rows: usize) -> Self {
        if rows > FEW_ROWS {
            return self;
        }
        Self {
            leaves: self.leaves.min(16),
            step: self.step.min(0.04),
            columns: self.columns.min(0.4),
            ..self
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rounds: 10,
            trees: 40,
            step: 0.06,
            leaves: 40,
            leaf_rows: 25.0,
            columns: 0.5,
            forests: 8,
            near: 0.05,
        }
    }
}

/// A place in a tree: a question, or an answer when `feature` is [`LEAF`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    pub(crate) feature: u16,
    /// Where the question divides; the answer in a leaf.
    pub(crate) value: f64,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) missing: u32,
}

/// The `feature` of an answer.
pub(crate) const LEAF: u16 = u16::MAX;

/// Trees whose answers are added up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Booster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) roots: Vec<u32>,
}

impl Booster {
    /// Grows trees for `target` from rows of numbers; not a number is "not known".
    ///
    /// # Errors
    /// When the crate refuses the data.
    pub fn train<const N: usize>(
        rows: &[[f64; N]],
        target: &[f64],
        settings: &Settings,
    ) -> Result<Self, BoostError> {
        let mut out = Self::default();
        let count = rows.len().min(target.len());
        let kept = useful_columns(rows);
        if count == 0 || kept.is_empty() {
            return Ok(out);
        }
        let mut columns = Vec::with_capacity(count * kept.len());
        for column in &kept {
            columns.extend(
                rows.iter()
                    .take(count)
                    .map(|row| row.get(*column).copied().unwrap_or(f64::NAN)),
            );
        }
        let data = Matrix::new(&columns, count, kept.len());
        let target = target.get(..count).unwrap_or_default();
        let forests = (MANY_ROWS / count).clamp(1, settings.forests.max(1));
        for forest in 0..forests {
            out.grow(&data, target, &kept, settings, (forest, forests))?;
        }
        Ok(out)
    }

    /// Adds one forest of several.
    fn grow(
        &mut self,
        data: &Matrix<'_, f64>,
        target: &[f64],
        kept: &[usize],
        settings: &Settings,
        (forest, forests): (usize, usize),
    ) -> Result<(), BoostError> {
        let mut left = target.to_vec();
        for round in 0..settings.rounds {
            let mut weights: Vec<f64> = left.iter().map(|r| 1.0 / r.hypot(settings.near)).collect();
            let mean = weights.iter().sum::<f64>() / weights.len() as f64;
            weights.iter_mut().for_each(|weight| *weight /= mean);
            let mut booster = GradientBooster::default()
                .set_objective_type(ObjectiveType::SquaredLoss)
                .set_iterations(settings.trees)
                .set_learning_rate(settings.step)
                .set_max_leaves(settings.leaves)
                .set_max_depth(10)
                .set_min_leaf_weight(settings.leaf_rows)
                .set_l2(1.0)
                .set_nbins(200)
                .set_colsample_bytree(settings.columns)
                .set_sample_method(SampleMethod::Random)
                .set_subsample(0.7)
                .set_initialize_base_score(false)
                .set_base_score(0.0)
                .set_seed((forest * settings.rounds + round) as u64)
                .set_parallel(true);
            booster
                .fit(data, &left, &weights, None)
                .map_err(|error| BoostError(error.to_string()))?;
            for (left, step) in left.iter_mut().zip(booster.predict(data, true)) {
                *left -= step;
            }
            for tree in &booster.trees {
                self.take(tree, kept, 1.0 / forests as f64);
            }
        }
        Ok(())
    }

    fn take(&mut self, tree: &forust_ml::tree::Tree, kept: &[usize], share: f64) {
        let start = self.nodes.len() as u32;
        self.roots.push(start);
        self.nodes.extend(tree.nodes.iter().map(|node| Node {
            feature: if node.is_leaf {
                LEAF
            } else {
                kept.get(node.split_feature).map_or(LEAF, |at| *at as u16)
            },
            value: if node.is_leaf {
                share * f64::from(node.weight_value)
            } else {
                node.split_value
            },
            left: start + node.left_child as u32,
            right: start + node.right_child as u32,
            missing: start + node.missing_node as u32,
        }));
    }

    /// The sum of the trees' answers for one row.
    pub fn predict(&self, row: &[f64]) -> f64 {
        self.roots.iter().map(|root| self.answer(*root, row)).sum()
    }

    fn answer(&self, root: u32, row: &[f64]) -> f64 {
        let mut at = root;
        // A tree is no deeper than it has nodes; a file is checked when it is read.
        while let Some(node) = self.nodes.get(at as usize) {
            if node.feature == LEAF {
                return node.value;
            }
            let value = row
                .get(usize::from(node.feature))
                .copied()
                .unwrap_or(f64::NAN);
            at = if value.is_nan() {
                node.missing
            } else if value < node.value {
                node.left
            } else {
                node.right
            };
        }
        0.0
    }

    /// How many trees there are.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }
}

/// Columns that differ from row to row: the others ask nothing.
fn useful_columns<const N: usize>(rows: &[[f64; N]]) -> Vec<usize> {
    let Some(first) = rows.first() else {
        return Vec::new();
    };
    (0..N)
        .filter(|at| {
            let bits = |row: &[f64; N]| row.get(*at).map(|value| value.to_bits());
            rows.iter().any(|row| bits(row) != bits(first))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> (Vec<[f64; 3]>, Vec<f64>) {
        (0..2000_u32)
            .map(|i| {
                let x = f64::from(i % 97) / 97.0;
                let y = if i % 5 == 0 {
                    f64::NAN
                } else {
                    f64::from(i % 31) / 31.0
                };
                let mut target = 2.0 * x + if y.is_nan() { 0.5 } else { y };
                if i % 11 == 0 {
                    target -= 5.0; // One in eleven is far out, always to one side.
                }
                ([x, y, 1.0], target)
            })
            .unzip()
    }

    #[test]
    fn the_middle_is_learned_and_not_the_mean() {
        let (rows, target) = rows();
        let settings = Settings {
            columns: 1.0,
            leaf_rows: 5.0,
            ..Settings::default()
        };
        let booster = Booster::train(&rows, &target, &settings).unwrap();
        let mut away: Vec<f64> = rows
            .iter()
            .zip(&target)
            .map(|(row, t)| (booster.predict(row) - t).abs())
            .collect();
        away.sort_by(f64::total_cmp);
        // The mean is 0.45 below the middle.
        assert!(away[away.len() / 2] < 0.1, "{}", away[away.len() / 2]);
        assert!(
            booster
                .nodes
                .iter()
                .all(|node| node.feature == LEAF || node.feature < 2)
        );
        let again = Booster::train(&rows, &target, &settings).unwrap();
        assert_eq!(again, booster, "the same rows give the same trees");
    }

    #[test]
    fn no_rows_no_trees() {
        let booster = Booster::train::<3>(&[], &[], &Settings::default()).unwrap();
        assert_eq!((booster.trees(), booster.predict(&[1.0])), (0, 0.0));
    }
}
