//! Which sales of a step cost too much or too little to be evidence.

use crate::{Flags, Sale};

/// A price so many times above or below the middle of its step is no evidence.
const OUTLIER: f64 = 4.0;
/// Fewer sales than this have no middle worth the name.
const OUTLIER_NEEDS: usize = 5;

/// Leaves out prices far off the middle of the rest: a square foot's where the sale has a size, else the whole price. Each
/// has a middle of its own; dollars and dollars a square foot say nothing of each other.
pub(super) fn without_outliers<T>(sales: Vec<(T, Sale)>) -> Vec<(T, Sale)> {
    let in_market = || {
        let sales = sales.iter().map(|(_, sale)| sale);
        sales.filter(|sale| is_in_market(sale))
    };
    let by_size = middle(in_market().filter_map(a_square_foot).collect());
    let whole = middle(in_market().map(|sale| sale.price as f64).collect());
    sales
        .into_iter()
        .filter(|(_, sale)| {
            let found = match a_square_foot(sale).zip(by_size) {
                Some(by_size) => Some(by_size),
                None => whole.map(|middle| (sale.price as f64, middle)),
            };
            !is_in_market(sale)
                || found.is_none_or(|(price, middle)| {
                    price <= middle * OUTLIER && price * OUTLIER >= middle
                })
        })
        .collect()
}

/// Transfers are only here when they were asked for, and then they are wanted whatever their price.
const fn is_in_market(sale: &Sale) -> bool {
    !sale.flags.has(Flags::NON_ARMS_LENGTH)
}

fn a_square_foot(sale: &Sale) -> Option<f64> {
    Some(sale.price as f64 / f64::from(sale.unit_safe_sqft()?))
}

fn middle(mut prices: Vec<f64>) -> Option<f64> {
    if prices.len() < OUTLIER_NEEDS {
        return None;
    }
    let half = prices.len() / 2;
    let (_, middle, _) = prices.select_nth_unstable_by(half, f64::total_cmp);
    Some(*middle)
}
