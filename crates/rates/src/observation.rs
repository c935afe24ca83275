//! What the publishers' answers hold: dated values, read without trust.

use brownstone_domain::PublishedDate;
use serde::Deserialize;
use time::Date;

/// The highest rate that is taken for one, in percent a year. The survey's own record is 18.63, of October 1981.
const HIGHEST_PERCENT: f64 = 30.0;

/// An answer that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It has another form: an error page, another series, a file without its columns.
    #[error("the answer is not of the expected form: {0}")]
    Form(&'static str),
    /// It has the form and no value up to the day.
    #[error("the answer holds no value")]
    NoValue,
}

/// One published value.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The publisher's date, as published.
    pub date: PublishedDate,
    /// Percent a year.
    pub rate_percent: f64,
    /// Fees and points, in percent of the loan, where the publisher gives them.
    pub points: Option<f64>,
}

impl Observation {
    /// The day it is of.
    pub fn day(&self) -> Option<Date> {
        self.date.parse()
    }
}

/// The newest value and the one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Newest {
    /// The newest.
    pub latest: Observation,
    /// The one published before; `None` where the answer holds no other.
    pub previous: Option<Observation>,
}

/// Picks by date, not by position. Values after `until` are no observations yet and are passed over.
fn newest(
    observations: impl Iterator<Item = Observation>,
    until: Date,
) -> Result<Newest, Unreadable> {
    let mut found: [Option<(Date, Observation)>; 2] = [None, None];
    for observation in observations {
        let Some(day) = observation.day().filter(|day| *day <= until) else {
            continue;
        };
        let [latest, previous] = &mut found;
        let after = |held: &Option<(Date, Observation)>| {
            held.as_ref().is_none_or(|(other, _)| day > *other)
        };
        if after(latest) {
            *previous = latest.replace((day, observation));
        } else if latest.as_ref().is_some_and(|(other, _)| *other == day) {
            // A row that stands twice: the later line is the correction.
            *latest = Some((day, observation));
        } else if after(previous) {
            *previous = Some((day, observation));
        }
    }
    let [latest, previous] = found;
    match latest {
        Some((_, latest)) => Ok(Newest {
            latest,
            previous: previous.map(|(_, previous)| previous),
        }),
        None => Err(Unreadable::NoValue),
    }
}

/// A rate. A full stop, a blank and nothing are no value; so is what no mortgage rate can be.
fn percent(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value > 0.0 && value <= HIGHEST_PERCENT).then_some(value)
}

/// Fees and points; they may be below zero.
fn points(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.abs() <= HIGHEST_PERCENT).then_some(value)
}

#[derive(Deserialize)]
struct FredAnswer {
    observations: Vec<FredRow>,
}

#[derive(Deserialize)]
struct FredRow {
    date: String,
    value: String,
}

/// Reads FRED's `series/observations` as JSON. A full stop is no value.
///
/// # Errors
/// [`Unreadable`].
pub fn fred_json(body: &[u8], until: Date) -> Result<Newest, Unreadable> {
    let answer: FredAnswer = serde_json::from_slice(body)
        .map_err(|_| Unreadable::Form("no JSON with observations of date and value"))?;
    let rows = answer.observations.into_iter();
    let observations = rows.filter_map(|row| {
        Some(Observation {
            rate_percent: percent(&row.value)?,
            date: PublishedDate::from(row.date.as_str()),
            points: None,
        })
    });
    newest(observations, until)
}

/// Reads FRED's download of one series: two columns, the first the date under any name, the second named after the series.
///
/// # Errors
/// [`Unreadable`].
pub fn fred_csv(body: &[u8], id: &str, until: Date) -> Result<Newest, Unreadable> {
    let mut table = table(body);
    let headers = table
        .headers()
        .map_err(|_| Unreadable::Form("no CSV"))?
        .clone();
    if headers.get(1) != Some(id) {
        return Err(Unreadable::Form("the second column is not the series"));
    }
    let rows = table.records().filter_map(Result::ok);
    let observations = rows.filter_map(|row| {
        Some(Observation {
            rate_percent: percent(row.get(1)?)?,
            date: PublishedDate::from(row.get(0)?),
            points: None,
        })
    });
    newest(observations, until)
}

/// Reads columns of the survey's file, by name. Rows may have fewer columns than the header, quoted or not, and blanks for
/// no value.
///
/// # Errors
/// [`Unreadable`].
pub fn pmms_csv(
    body: &[u8],
    rate: &str,
    points_column: &str,
    until: Date,
) -> Result<Newest, Unreadable> {
    let mut table = table(body);
    let headers = table.headers().map_err(|_| Unreadable::Form("no CSV"))?;
    let column = |name: &str| {
        headers.iter().position(|header| {
            header
                .trim_start_matches('\u{feff}')
                .eq_ignore_ascii_case(name)
        })
    };
    let (Some(date), Some(rate)) = (column("date"), column(rate)) else {
        return Err(Unreadable::Form("the columns of the survey are missing"));
    };
    let points_at = column(points_column);
    let rows = table.records().filter_map(Result::ok);
    let observations = rows.filter_map(|row| {
        Some(Observation {
            rate_percent: percent(row.get(rate)?)?,
            date: PublishedDate::from(row.get(date)?),
            points: points_at.and_then(|at| points(row.get(at)?)),
        })
    });
    newest(observations, until)
}

fn table(body: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(body)
}

#[cfg(test)]
#[path = "observation_tests.rs"]
mod tests;
