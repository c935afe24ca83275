//! On the city's own sales.

// Says what it measured.
#![allow(clippy::print_stdout)]

use super::*;
use crate::at_hand::real_data;

/// Three years of one borough, quickly: the long run is `make backtest`.
#[test]
fn real_sales_of_staten_island_are_valued() {
    let Some(sales) = real_data("sales") else {
        return;
    };
    let files = [
        "dof_sales_2021.csv.gz",
        "dof_sales_2022.csv.gz",
        "dof_sales_2023.csv.gz",
    ]
    .map(|file| sales.join(file));
    let mut loaded = crate::load(&files).unwrap();
    loaded.sales.retain(|sale| sale.block() / 100_000 == 5);
    let settings = Settings {
        rounds: 3,
        trees: 15,
        step: 0.15,
        leaves: 16,
        ..Settings::default()
    };
    // 2023-07-01.
    let test = Backtest::run(&loaded, 19_539, 0, &settings).unwrap();
    let pairs = test.pairs(Group::OneToThree);
    println!(
        "{} of {} sales valued\n{}",
        pairs.len(),
        test.rows.len(),
        test.table()
    );
    assert!(pairs.len() > 800);
    let error = ratios::mdape(&pairs).unwrap();
    assert!((5.0..13.0).contains(&error), "{error}");
    let middle = ratios::median_ratio(&pairs).unwrap();
    assert!((0.95..1.05).contains(&middle), "{middle}");
}
