//! Bars, as a picture that needs neither style nor script: a plotting library would write styles into it, which the content policy
//! forbids, and its colours would not follow light and dark.

use std::fmt::Write as _;

use crate::text::{count, visible};

/// One bar: its name, and a part for each series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Below it, and in its tooltip.
    pub name: String,
    /// From the bottom up.
    pub parts: Vec<u64>,
}

const WIDTH: u64 = 720;
const HEIGHT: u64 = 180;
const LEFT: u64 = 52;
const BOTTOM: u64 = 24;
const TOP: u64 = 10;

/// A bar chart as SVG text; `series` names the parts, `what` says what is shown. `None` where there is nothing to show.
pub fn bars(what: &str, series: &[&str], bars: &[Bar]) -> Option<String> {
    let total = |bar: &Bar| {
        bar.parts
            .iter()
            .fold(0_u64, |sum, part| sum.saturating_add(*part))
    };
    let most = bars.iter().map(total).max().filter(|most| *most > 0)?;
    let top = nice(most);
    let plot = HEIGHT - BOTTOM - TOP;
    let tall = |value: u64| scale(value, top, plot);
    let step = (WIDTH - LEFT) / u64::try_from(bars.len()).ok()?.max(1);
    let wide = (step * 3 / 4).max(1);
    let mut svg = String::new();
    let described = escape(what);
    // Writing to a String cannot fail.
    let _ = write!(
        svg,
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{described}\">"
    );
    for mark in [top, top / 2, 0] {
        let y = TOP + plot - tall(mark);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y}\" y2=\"{y}\"/><text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 6,
            y + 4,
            count(mark)
        );
    }
    let every = bars.len().div_ceil(8).max(1);
    for (at, bar) in bars.iter().enumerate() {
        let x = LEFT + step * u64::try_from(at).unwrap_or_default() + (step - wide) / 2;
        let told: Vec<String> = series
            .iter()
            .zip(&bar.parts)
            .map(|(name, part)| format!("{name} {}", count(*part)))
            .collect();
        let _ = write!(
            svg,
            "<g><title>{}: {}</title>",
            escape(&bar.name),
            escape(&told.join(", "))
        );
        let mut below = 0_u64;
        for (series, part) in bar.parts.iter().enumerate() {
            let (from, to) = (tall(below), tall(below.saturating_add(*part)));
            below = below.saturating_add(*part);
            let height = if *part > 0 { (to - from).max(1) } else { 0 };
            let _ = write!(
                svg,
                "<rect class=\"s{series}\" x=\"{x}\" y=\"{}\" width=\"{wide}\" height=\"{height}\"/>",
                TOP + plot - from - height
            );
        }
        svg.push_str("</g>");
        if at.is_multiple_of(every) {
            let _ = write!(
                svg,
                "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x + wide / 2,
                HEIGHT - 6,
                escape(&bar.name)
            );
        }
    }
    svg.push_str("</svg>");
    Some(svg)
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

    #[test]
    fn names_are_escaped_and_no_style_is_inside() {
        let one = Bar {
            name: "<2024>".into(),
            parts: vec![3, 4],
        };
        let svg = bars("a \"b\"", &["x&y", "z"], &[one]).unwrap();
        assert!(svg.contains("&lt;2024&gt;: x&amp;y 3, z 4"), "{svg}");
        assert!(!svg.contains("style"), "{svg}");
        assert_eq!(bars("a", &["x"], &[]), None);
    }

    proptest! {
        #[test]
        fn every_bar_stays_inside_its_picture(parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..4), 0..60)) {
            let all: Vec<Bar> = parts.into_iter().map(|parts| Bar { name: "n".into(), parts }).collect();
            if let Some(svg) = bars("w", &["a"], &all) {
                for y in svg.split(" y=\"").skip(1) {
                    let y: u64 = y.split('"').next().unwrap().parse().unwrap();
                    prop_assert!(y <= HEIGHT);
                }
            }
        }

        #[test]
        fn a_nice_top_is_enough(most in any::<u64>()) {
            prop_assert!(nice(most) >= most);
        }
    }
}
