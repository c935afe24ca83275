//! Text of others, with what hides in it made visible; moments and numbers for people.

use std::fmt::Write as _;

use serde_json::Value;
use time::{OffsetDateTime, format_description::FormatItem, macros::format_description};

const MOMENT: &[FormatItem<'_>] = format_description!("[year]-[month]-[day] [hour]:[minute] UTC");

/// Whether a mark hides, reorders or breaks the text around it.
const fn hides(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text as it may stand on a page: control characters and marks of direction are written out. The template escapes what HTML reads.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\r' | '\t') {
            out.push(' ');
        } else if c.is_control() || hides(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\u{27e8}U+{:04X}\u{27e9}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A JSON value in a cell: numbers with the publisher's digits, nothing for null.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => visible(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => visible(&other.to_string()),
    }
}

/// A moment, to the minute.
pub fn moment(at: OffsetDateTime) -> String {
    at.format(MOMENT).unwrap_or_else(|_| at.to_string())
}

/// A whole number with separators.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Dollars, with cents where there are any.
pub fn dollars(amount: f64) -> String {
    let cents = (amount.abs() * 100.0).round();
    if !cents.is_finite() || cents >= 9e15 {
        return format!("${amount}");
    }
    // In range: it was just checked.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let cents = cents as u64;
    let sign = if amount < 0.0 && cents > 0 {
        "\u{2212}"
    } else {
        ""
    };
    match cents % 100 {
        0 => format!("{sign}${}", count(cents / 100)),
        rest => format!("{sign}${}.{rest:02}", count(cents / 100)),
    }
}

/// An amount of dollars.
pub fn money(amount: brownstone_domain::Dollars) -> String {
    let text = amount.to_string();
    text.parse().map_or_else(|_| format!("${text}"), dollars)
}

/// A name such as `open_class_c` for people: `open class c`.
pub fn words(name: &str) -> String {
    visible(&name.replace('_', " ")).trim().to_owned()
}

/// The year of a date as its publisher wrote it: `YYYY-MM-DD`, `YYYYMMDD` or `MM/DD/YYYY`, whatever follows.
pub fn year(date: &str) -> Option<u16> {
    let date = date.trim();
    let bytes = date.as_bytes();
    let digits = |range: std::ops::Range<usize>| -> Option<u16> {
        let part = date.get(range)?;
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse().ok())?
    };
    let year = match (bytes.get(2), bytes.get(4)) {
        (Some(b'/'), _) if bytes.get(5) == Some(&b'/') => digits(6..10),
        (_, Some(b'-')) => digits(0..4),
        (_, Some(_)) if digits(4..8).is_some() => digits(0..4),
        _ => None,
    }?;
    (1850..=2200).contains(&year).then_some(year)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(
            visible("ACME\u{202e}LLC\u{0}"),
            "ACME\u{27e8}U+202E\u{27e9}LLC\u{27e8}U+0000\u{27e9}"
        );
        assert_eq!(visible("two\nlines"), "two lines");
        assert_eq!(visible("Łódź & <b>"), "Łódź & <b>", "the template escapes");
    }

    #[test]
    fn years_are_read_from_each_publishers_form() {
        for (date, expected) in [
            ("2024-03-01", Some(2024)),
            ("2024-03-01T00:00:00.000", Some(2024)),
            ("20240301", Some(2024)),
            ("03/01/2024", Some(2024)),
            ("03/01/2024 10:00:00", Some(2024)),
            ("0", None),
            ("", None),
            ("00000000", None),
            ("é2024-03", None),
            ("March 2024", None),
        ] {
            assert_eq!(year(date), expected, "{date}");
        }
    }

    #[test]
    fn money_and_counts_have_separators() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(dollars(1_455_010.25), "$1,455,010.25");
        assert_eq!(dollars(-40.0), "\u{2212}$40");
        assert_eq!(dollars(f64::NAN), "$NaN");
    }

    proptest! {
        #[test]
        fn nothing_that_hides_is_left(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(!shown.chars().any(|c| c.is_control() || hides(c)));
        }

        #[test]
        fn no_date_breaks_it(text in any::<String>()) {
            let _ = year(&text);
        }
    }
}
