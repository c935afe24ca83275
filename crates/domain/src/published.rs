//! A date as an agency published it.

use serde::{Deserialize, Serialize};
use time::{Date, Month};

/// An agency's date, kept letter for letter. It is never reformatted; [`PublishedDate::parse`] reads a copy to sort by.
///
/// ```
/// use brownstone_domain::PublishedDate;
/// use time::macros::date;
/// for text in ["20240131", "2024-01-31", "2024-01-31T00:00:00.000", "01/31/2024", "2024-01-31 "] {
///     assert_eq!(PublishedDate::from(text).parse(), Some(date!(2024-01-31)), "{text}");
/// }
/// assert_eq!(PublishedDate::from("Y9990120").parse(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublishedDate(String);

impl PublishedDate {
    /// The text as published.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The day it names, whatever the format; `None` for text that is not a date.
    pub fn parse(&self) -> Option<Date> {
        parse_day(&self.0)
    }
}

impl From<&str> for PublishedDate {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::fmt::Display for PublishedDate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The day in any of the formats the city's datasets use: `YYYYMMDD` (more digits may follow), ISO with or without a
/// time, `MM/DD/YYYY` with or without a time, `MM/DD/YY`.
///
/// Two-digit years are taken as 1950 to 2049. Blanks around the text do not matter.
///
/// ```
/// use brownstone_domain::published::parse_day;
/// use time::macros::date;
/// assert_eq!(parse_day("05/12/22 11:04:00 AM"), Some(date!(2022-05-12)));
/// assert_eq!(parse_day("20260717101500"), Some(date!(2026-07-17)));
/// assert_eq!(parse_day("02/30/2024"), None);
/// ```
pub fn parse_day(text: &str) -> Option<Date> {
    let text = text.trim();
    // The day is what stands before a time of day.
    let day = text.split(['T', ' ']).next()?;
    if let Some((month, rest)) = day.split_once('/') {
        let (dom, year) = rest.split_once('/')?;
        let year = match year.len() {
            4 => number(year)?,
            2 => match number(year)? {
                short @ 50.. => 1900 + short,
                short => 2000 + short,
            },
            _ => return None,
        };
        return civil(year, number(month)?, number(dom)?);
    }
    if let Some((year, rest)) = day.split_once('-') {
        let (month, dom) = rest.split_once('-')?;
        if year.len() != 4 {
            return None;
        }
        return civil(number(year)?, number(month)?, number(dom)?);
    }
    if matches!(day.len(), 8 | 14) && day.bytes().all(|b| b.is_ascii_digit()) {
        return civil(number(&day[..4])?, number(&day[4..6])?, number(&day[6..8])?);
    }
    None
}

fn number(text: &str) -> Option<i32> {
    if text.is_empty() || text.len() > 4 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

fn civil(year: i32, month: i32, day: i32) -> Option<Date> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_format_of_a_day_reads_the_same(ordinal in 0i64..80_000) {
            let day = Date::from_calendar_date(1900, Month::January, 1).unwrap() + time::Duration::days(ordinal);
            let (y, m, d) = (day.year(), u8::from(day.month()), day.day());
            for text in [
                format!("{y:04}{m:02}{d:02}"),
                format!("{y:04}-{m:02}-{d:02}"),
                format!("{y:04}-{m:02}-{d:02}T00:00:00.000"),
                format!("{y:04}-{m:02}-{d:02} "),
                format!("{m:02}/{d:02}/{y:04}"),
                format!("{m:02}/{d:02}/{y:04} 00:00:00"),
            ] {
                prop_assert_eq!(parse_day(&text), Some(day), "{}", text);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = parse_day(&text);
        }
    }
}
