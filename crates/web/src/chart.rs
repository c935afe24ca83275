//! Bars, as a picture that needs neither style nor script: a plotting library would write styles into it, which the content policy
//! forbids, and its colours would not follow light and dark.
//!
//! Each picture is drawn twice, for a wide page and for a phone, since text inside a picture shrinks with it; the style sheet shows one.

use std::fmt::Write as _;

use crate::text::{count, visible};

/// One bar: its name, and a part for each series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Beside it, and in its tooltip.
    pub name: String,
    /// From the axis outward.
    pub parts: Vec<u64>,
}

/// A picture with what a reader needs beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// What is shown.
    pub what: String,
    /// Number and name of each series that has something to show.
    pub legend: Vec<(usize, String)>,
    /// The pictures.
    pub svg: String,
}

/// Measures of a picture, in its own units.
#[derive(Debug, Clone, Copy)]
struct Size {
    class: &'static str,
    width: u64,
    height: u64,
    /// Room for the marks of upright bars.
    left: u64,
    /// Room for the names of lying bars.
    names: u64,
    /// Names below upright bars at most.
    labels: usize,
}

const SIZES: [Size; 2] = [
    Size {
        class: "chart wide-only",
        width: 720,
        height: 180,
        left: 52,
        names: 150,
        labels: 8,
    },
    Size {
        class: "chart narrow-only",
        width: 360,
        height: 190,
        left: 46,
        names: 124,
        labels: 4,
    },
];

const BOTTOM: u64 = 24;
const TOP: u64 = 10;

/// Height of a lying bar with its gap, and room for the number at its end.
const ROW: u64 = 26;
const NUMBER: u64 = 58;

fn total(bar: &Bar) -> u64 {
    bar.parts
        .iter()
        .fold(0_u64, |sum, part| sum.saturating_add(*part))
}

fn chart(
    what: &str,
    series: &[&str],
    bars: &[Bar],
    draw: impl Fn(&mut String, Size, u64),
) -> Option<Chart> {
    let most = bars.iter().map(total).max().filter(|most| *most > 0)?;
    let has = |at: usize| {
        bars.iter()
            .any(|bar| bar.parts.get(at).is_some_and(|part| *part > 0))
    };
    let mut svg = String::new();
    for size in SIZES {
        draw(&mut svg, size, most);
    }
    Some(Chart {
        what: what.to_owned(),
        legend: series
            .iter()
            .enumerate()
            .filter(|(at, _)| has(*at))
            .map(|(at, name)| (at, (*name).to_owned()))
            .collect(),
        svg,
    })
}

fn begin(svg: &mut String, size: Size, height: u64, what: &str) {
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        svg,
        "<svg class=\"{}\" viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"{}\">",
        size.class,
        size.width,
        escape(what)
    );
}

fn tooltip(svg: &mut String, bar: &Bar, series: &[&str]) {
    let told: Vec<String> = series
        .iter()
        .zip(&bar.parts)
        .filter(|(_, part)| **part > 0)
        .map(|(name, part)| format!("{name} {}", count(*part)))
        .collect();
    let told = if told.is_empty() {
        "0".to_owned()
    } else {
        told.join(", ")
    };
    let _ = write!(
        svg,
        "<g><title>{}: {}</title>",
        escape(&bar.name),
        escape(&told)
    );
}

/// Upright bars, for what goes on in time; `series` names the parts, `what` says what is shown. `None` where there is nothing to show.
pub fn bars(what: &str, series: &[&str], bars: &[Bar]) -> Option<Chart> {
    chart(what, series, bars, |svg, size, most| {
        let top = nice(most);
        let plot = size.height - BOTTOM - TOP;
        let tall = |value: u64| scale(value, top, plot);
        let columns = u64::try_from(bars.len()).unwrap_or(u64::MAX).max(1);
        let step = ((size.width - size.left) / columns).max(1);
        let wide = (step * 3 / 4).max(1);
        begin(svg, size, size.height, what);
        for mark in [top, top / 2, 0] {
            let y = TOP + plot - tall(mark);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                size.left,
                size.width,
                size.left - 6,
                y + 4,
                count(mark)
            );
        }
        let every = bars.len().div_ceil(size.labels).max(1);
        for (at, bar) in bars.iter().enumerate() {
            let x = size.left + step * u64::try_from(at).unwrap_or_default() + (step - wide) / 2;
            tooltip(svg, bar, series);
            let mut below = 0_u64;
            for (series, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0) {
                let (from, to) = (tall(below), tall(below.saturating_add(*part)));
                below = below.saturating_add(*part);
                let height = (to - from).max(1);
                let y = (TOP + plot).saturating_sub(from + height);
                let _ = write!(
                    svg,
                    "<rect class=\"s{series}\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{height}\"/>"
                );
            }
            svg.push_str("</g>");
            // The last name is left out where it would run over the edge.
            if at.is_multiple_of(every) && x + wide / 2 + 30 <= size.width {
                let _ = write!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    x + wide / 2,
                    size.height - 6,
                    escape(&bar.name)
                );
            }
        }
        svg.push_str("</svg>");
    })
}

/// Lying bars, each with its name and number: for what is compared. `None` where there is nothing to show.
pub fn rows(what: &str, series: &[&str], bars: &[Bar]) -> Option<Chart> {
    chart(what, series, bars, |svg, size, most| {
        let room = size.width - size.names - NUMBER;
        let height = ROW * u64::try_from(bars.len()).unwrap_or_default() + 4;
        begin(svg, size, height, what);
        for (at, bar) in bars.iter().enumerate() {
            let y = ROW * u64::try_from(at).unwrap_or_default() + 4;
            tooltip(svg, bar, series);
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                size.names - 8,
                y + 13,
                escape(&bar.name)
            );
            let (mut below, mut x) = (0_u64, size.names);
            for (series, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0) {
                let from = scale(below, most, room);
                below = below.saturating_add(*part);
                let width = (scale(below, most, room) - from).max(1);
                x = (size.names + from).min(size.width - NUMBER);
                let _ = write!(
                    svg,
                    "<rect class=\"s{series}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"18\"/>"
                );
                x += width;
            }
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{}\">{}</text></g>",
                x + 6,
                y + 13,
                count(total(bar))
            );
        }
        svg.push_str("</svg>");
    })
}

fn scale(value: u64, top: u64, plot: u64) -> u64 {
    let product = u128::from(value.min(top)) * u128::from(plot) / u128::from(top.max(1));
    u64::try_from(product).unwrap_or(plot)
}

/// The next of 2, 4, 10, 20, 40, 100 and so on: its half is whole.
fn nice(most: u64) -> u64 {
    let mut ten = 1_u64;
    loop {
        for step in [2, 4, 10] {
            let mark = ten.saturating_mul(step);
            if mark >= most {
                return mark;
            }
        }
        ten = ten.saturating_mul(10);
    }
}

fn escape(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(svg: &str, attribute: &str) -> Vec<u64> {
        let mark = format!(" {attribute}=\"");
        svg.split(&mark)
            .skip(1)
            .map(|part| part.split('"').next().unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn names_are_escaped_and_no_style_is_inside() {
        let one = Bar {
            name: "<2024>".into(),
            parts: vec![3, 0, 4],
        };
        for draw in [bars, rows] {
            let chart = draw(
                "a \"b\"",
                &["x&y", "nothing", "z"],
                std::slice::from_ref(&one),
            )
            .unwrap();
            assert!(
                chart.svg.contains("&lt;2024&gt;: x&amp;y 3, z 4"),
                "{chart:?}"
            );
            assert!(chart.svg.contains("aria-label=\"a &quot;b&quot;\""));
            assert!(!chart.svg.contains("style"), "{chart:?}");
            assert_eq!(chart.legend, [(0, "x&y".to_owned()), (2, "z".to_owned())]);
            assert_eq!(
                chart.svg.matches("<svg").count(),
                2,
                "one wide, one for phones"
            );
            assert_eq!(draw("a", &["x"], &[]), None);
        }
    }

    proptest! {
        #[test]
        fn every_bar_stays_inside_its_picture(parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..4), 0..60)) {
            let bars_of: Vec<Bar> = parts.into_iter().map(|parts| Bar { name: "n".into(), parts }).collect();
            for chart in [bars("w", &["a"], &bars_of), rows("w", &["a"], &bars_of)].into_iter().flatten() {
                for (svg, size) in chart.svg.split("<svg").skip(1).zip(SIZES) {
                    let height = svg.split("viewBox=\"0 0 ").nth(1).unwrap().split(['"', ' ']).nth(1).unwrap();
                    let height: u64 = height.parse().unwrap();
                    prop_assert!(all(svg, "y").iter().all(|y| *y <= height), "{svg}");
                    // Many parts of one unit each may add a few units to a bar.
                    prop_assert!(all(svg, "x").iter().all(|x| *x <= size.width + 4), "{svg}");
                }
            }
        }

        #[test]
        fn a_nice_top_is_enough(most in any::<u64>()) {
            prop_assert!(nice(most) >= most);
        }
    }
}
