//! What a part measured: a row of the one table.

use std::fmt::{Display, Write as _};

/// A figure with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    value: f64,
    unit: &'static str,
}

impl Figure {
    pub(crate) const fn new(value: f64, unit: &'static str) -> Self {
        Self { value, unit }
    }
}

impl Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = match self.value.abs() {
            value if value >= 1_000.0 || value.fract() == 0.0 => 0,
            value if value >= 10.0 => 1,
            _ => 2,
        };
        let text = format!("{:.decimals$}", self.value);
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let (sign, digits) = match whole.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", whole),
        };
        f.write_str(sign)?;
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_char(',')?;
            }
            f.write_char(digit)?;
        }
        if !fraction.is_empty() {
            write!(f, ".{fraction}")?;
        }
        write!(f, " {}", self.unit)
    }
}

/// What a row is held to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// The bar, for people.
    pub(crate) text: String,
    /// Whether it is reached.
    pub(crate) holds: bool,
}

impl Wanted {
    pub(crate) fn at_least(value: f64, bar: f64) -> Self {
        Self {
            text: format!(">= {bar}"),
            holds: value >= bar,
        }
    }

    pub(crate) fn at_most(value: f64, bar: f64) -> Self {
        Self {
            text: format!("<= {bar}"),
            holds: value <= bar,
        }
    }
}

/// One measurement beside its anchor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) part: &'static str,
    pub(crate) what: String,
    pub(crate) ours: Figure,
    /// What it stands beside, and its figure in the same run.
    pub(crate) anchor: Option<(String, Figure)>,
    pub(crate) ratio: Option<f64>,
    pub(crate) wanted: Option<Wanted>,
}

impl Row {
    /// A row without an anchor.
    pub(crate) fn alone(part: &'static str, what: impl Into<String>, ours: Figure) -> Self {
        Self {
            part,
            what: what.into(),
            ours,
            anchor: None,
            ratio: None,
            wanted: None,
        }
    }

    #[must_use]
    pub(crate) fn beside(mut self, anchor: impl Into<String>, figure: Figure, ratio: f64) -> Self {
        self.anchor = Some((anchor.into(), figure));
        self.ratio = Some(ratio);
        self
    }

    #[must_use]
    pub(crate) fn wanted(mut self, wanted: Wanted) -> Self {
        self.wanted = Some(wanted);
        self
    }

    fn cells(&self) -> [String; 6] {
        [
            self.part.to_owned(),
            self.what.clone(),
            self.ours.to_string(),
            (self.anchor.as_ref())
                .map(|(name, figure)| format!("{name}: {figure}"))
                .unwrap_or_default(),
            self.ratio
                .map(|ratio| format!("{ratio:.2}"))
                .unwrap_or_default(),
            (self.wanted.as_ref())
                .map(|wanted| {
                    let verdict = if wanted.holds { "holds" } else { "MISSED" };
                    format!("{} {verdict}", wanted.text)
                })
                .unwrap_or_default(),
        ]
    }
}

const HEAD: [&str; 6] = ["part", "what", "ours", "anchor", "ratio", "wanted"];

/// The rows as a Markdown table, which is also how the terminal shows them; `aligned` pads the columns.
pub(crate) fn table(rows: &[Row], aligned: bool) -> String {
    let cells: Vec<_> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| {
        let widest = cells.iter().map(|row| row[column].chars().count()).max();
        if aligned { widest.unwrap_or(0) } else { 0 }
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for (place, row) in cells.iter().enumerate() {
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a String cannot fail.
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if place == 0 {
            for width in widths {
                let _ = write!(text, "|{:-<1$}", "", width.max(1) + 2);
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_their_thousands_apart() {
        for (value, text) in [
            (1_234_567.8, "1,234,568 ns"),
            (999.4, "999.4 ns"),
            (45.04, "45.0 ns"),
            (1.234, "1.23 ns"),
            (20.0, "20 ns"),
            (-1_500.0, "-1,500 ns"),
            (100.0, "100 ns"),
        ] {
            assert_eq!(Figure::new(value, "ns").to_string(), text);
        }
    }

    #[test]
    fn a_missed_bar_shows() {
        let row = |ratio: f64| {
            Row::alone("part", "what", Figure::new(2.0, "ns"))
                .beside("floor", Figure::new(1.0, "ns"), ratio)
                .wanted(Wanted::at_least(ratio, 0.6))
        };
        let text = table(&[row(0.59), row(0.6)], false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| part | what | ours | anchor | ratio | wanted |");
        assert_eq!(
            lines[2],
            "| part | what | 2 ns | floor: 1 ns | 0.59 | >= 0.6 MISSED |"
        );
        assert!(lines[3].ends_with("| 0.60 | >= 0.6 holds |"));
        assert!(!Wanted::at_most(1.1, 1.0).holds);
    }

    #[test]
    fn aligned_columns_are_equally_wide() {
        let rows = [
            Row::alone("part", "short", Figure::new(2.0, "ns")),
            Row::alone("part", "a good deal longer", Figure::new(20_000.5, "ns")),
        ];
        let text = table(&rows, true);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
    }
}
