//! The back-test's table, as Markdown.

use std::fmt::Write as _;

use super::{
    Backtest, Tested,
    baselines::NAMES,
    ratios::{self, Pair},
};
use crate::model::Group;

const BOROUGHS: [&str; 5] = ["Manhattan", "Bronx", "Brooklyn", "Queens", "Staten Island"];

const HEAD: &str = "| | sales | hit rate % | MdAPE % | comparables alone | PPE10 % | PPE20 % | median ratio | COD | PRD | PRB | 80 % interval holds % |\n\
|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// A number with so many decimals, or a dash.
fn shown(value: Option<f64>, decimals: usize) -> String {
    value
        .filter(|value| value.is_finite())
        .map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

impl Backtest {
    /// By segment, by borough and by tenth of the price, then beside the baselines.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let mut section = |title: &str, rows: Vec<(String, Vec<&Tested>)>| {
            let _ = writeln!(out, "\n### {title}\n\n{HEAD}{}", body(&rows));
        };
        let groups = Group::ALL.map(|group| {
            let mine = self.rows.iter().filter(|row| row.group == group).collect();
            (group.name().to_owned(), mine)
        });
        section("By segment", groups.into());
        let boroughs = (1_u64..).zip(BOROUGHS).map(|(digit, name)| {
            let mine = self
                .rows
                .iter()
                .filter(|row| row.borough == digit)
                .collect();
            (name.to_owned(), mine)
        });
        section("By borough", boroughs.collect());
        section("By tenth of the price", self.deciles());
        let _ = writeln!(out, "\n### Beside three baselines\n");
        out.push_str(
            "MdAPE of the estimate and of the baseline, on the sales that both value.\n\n| |",
        );
        NAMES.iter().for_each(|name| {
            let _ = write!(out, " {name}: sales | estimate | baseline |");
        });
        out.push_str("\n|---|---|---|---|---|---|---|---|---|---|\n");
        for group in Group::ALL {
            let _ = write!(out, "| {} |", group.name());
            for at in 0..NAMES.len() {
                let (mine, theirs) = self.beside(group, at);
                let _ = write!(
                    out,
                    " {} | {} | {} |",
                    mine.len(),
                    shown(ratios::mdape(&mine), 2),
                    shown(ratios::mdape(&theirs), 2)
                );
            }
            out.push('\n');
        }
        out
    }

    fn deciles(&self) -> Vec<(String, Vec<&Tested>)> {
        let mut rows: Vec<&Tested> = self.rows.iter().collect();
        rows.sort_by(|a, b| a.price.total_cmp(&b.price));
        let share = rows.len().div_ceil(10).max(1);
        rows.chunks(share)
            .map(|chunk| {
                let end = |row: Option<&&Tested>| row.map_or(0.0, |row| row.price / 1000.0);
                let name = format!("${:.0} k to {:.0} k", end(chunk.first()), end(chunk.last()));
                (name, chunk.to_vec())
            })
            .collect()
    }

    /// Pairs of the estimate and of a baseline on the sales that both value.
    pub fn beside(&self, group: Group, baseline: usize) -> (Vec<Pair>, Vec<Pair>) {
        self.rows
            .iter()
            .filter(|row| row.group == group)
            .filter_map(|row| {
                let theirs = row.baselines.get(baseline).copied().flatten()?;
                Some((
                    row.pair()?,
                    Pair {
                        value: theirs,
                        price: row.price,
                    },
                ))
            })
            .unzip()
    }
}

fn body(rows: &[(String, Vec<&Tested>)]) -> String {
    let mut out = String::new();
    for (name, rows) in rows {
        let pairs: Vec<Pair> = rows.iter().filter_map(|row| row.pair()).collect();
        let alone: Vec<Pair> = rows.iter().filter_map(|row| row.by_comparables()).collect();
        let held = rows.iter().filter(|row| row.holds()).count() as f64;
        let share = |part: f64, whole: usize| (whole > 0).then(|| 100.0 * part / whole as f64);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            rows.len(),
            shown(share(pairs.len() as f64, rows.len()), 1),
            shown(ratios::mdape(&pairs), 2),
            shown(ratios::mdape(&alone), 2),
            shown(ratios::within(&pairs, 0.10), 1),
            shown(ratios::within(&pairs, 0.20), 1),
            shown(ratios::median_ratio(&pairs), 3),
            shown(ratios::cod(&pairs), 1),
            shown(ratios::prd(&pairs), 3),
            shown(ratios::prb(&pairs), 3),
            shown(share(held, pairs.len()), 1),
        );
    }
    out
}
