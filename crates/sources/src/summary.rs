//! What a source says about all of a building's records: counts, sums, newest and oldest.
//!
//! One fold serves both ways of getting there: over the records themselves where all of them are at hand, and over the
//! publisher's own groups where there are too many.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use brownstone_domain::{Dollars, FieldValue, Record, published::parse_day};
use brownstone_soda::Row;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::{RawValue, to_raw_value};
use time::Date;

use crate::{FieldKind, catalogue::spec::SummaryOf};

/// A summary field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) of: SummaryOf,
    pub(crate) tells: String,
    /// What is counted, added or shown; empty where the kind needs none.
    pub(crate) column: String,
    /// `count_by`: the value up to this text.
    pub(crate) upto: Option<String>,
    pub(crate) conditions: Vec<Test>,
}

/// A test of one column. Blanks around a value do not matter, nor does its case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) column: String,
    pub(crate) holds: Holds,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holds {
    In(Vec<String>),
    /// Any other value, and none.
    NotIn(Vec<String>),
    StartsWith(Vec<String>),
    Contains(String),
    /// Has no such text in it, or is absent.
    Lacks(String),
    Null(bool),
    /// A date of today or later.
    ToCome,
    /// A number of at least this.
    AtLeast(Dollars),
    /// A date in the newest fiscal year of all.
    NewestFiscalYear,
}

impl Test {
    fn passes(&self, facts: &impl Facts, today: Date, newest_year: Option<i32>) -> bool {
        let value = facts.text(&self.column);
        let value = value
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let same = |wanted: &String| value.is_some_and(|text| text.eq_ignore_ascii_case(wanted));
        match &self.holds {
            Holds::In(wanted) => wanted.iter().any(same),
            Holds::NotIn(unwanted) => !unwanted.iter().any(same),
            Holds::StartsWith(wanted) => value.is_some_and(|text| {
                wanted.iter().any(|start| {
                    text.get(..start.len())
                        .is_some_and(|head| head.eq_ignore_ascii_case(start))
                })
            }),
            Holds::Contains(part) => value.is_some_and(|text| text.contains(part.as_str())),
            Holds::Lacks(part) => value.is_none_or(|text| !text.contains(part.as_str())),
            Holds::Null(wanted) => value.is_none() == *wanted,
            Holds::ToCome => value.and_then(parse_day).is_some_and(|day| day >= today),
            Holds::AtLeast(least) => value
                .and_then(|text| text.parse::<Dollars>().ok())
                .is_some_and(|number| number >= *least),
            Holds::NewestFiscalYear => {
                newest_year.is_some() && value.and_then(fiscal_year) == newest_year
            }
        }
    }
}

impl Test {
    /// The newest fiscal year of those that pass the other tests, where this one is about it. Years beyond the coming
    /// one are slips.
    fn newest_year<F: Facts>(&self, others: &[Self], all: &[F], today: Date) -> Option<i32> {
        if self.holds != Holds::NewestFiscalYear {
            return None;
        }
        let others: Vec<&Self> = others
            .iter()
            .filter(|other| other.holds != Holds::NewestFiscalYear)
            .collect();
        all.iter()
            .filter(|facts| others.iter().all(|other| other.passes(*facts, today, None)))
            .filter_map(|facts| fiscal_year(facts.text(&self.column)?.as_ref()))
            .filter(|year| *year <= today.year() + 2)
            .max()
    }
}

/// The city's fiscal year of a date: from July on it is the next calendar year's.
fn fiscal_year(text: &str) -> Option<i32> {
    let day = parse_day(text)?;
    Some(day.year() + i32::from(u8::from(day.month()) >= 7))
}

impl Summary {
    /// The columns whose values decide the field, when the publisher's groups are to give it.
    pub(crate) fn group_columns(&self) -> impl Iterator<Item = &str> {
        let by = (self.of == SummaryOf::CountBy).then_some(self.column.as_str());
        self.conditions
            .iter()
            .map(|test| test.column.as_str())
            .chain(by)
    }

    /// Every column the field needs.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &str> {
        self.conditions
            .iter()
            .map(|test| test.column.as_str())
            .chain((!self.column.is_empty()).then_some(self.column.as_str()))
    }

    pub(crate) fn kind(&self) -> FieldKind {
        match self.of {
            SummaryOf::Total | SummaryOf::Count | SummaryOf::Distinct => FieldKind::Count,
            SummaryOf::Truncated | SummaryOf::Any => FieldKind::Checkbox,
            SummaryOf::CountBy => FieldKind::Counts,
            SummaryOf::Sum => FieldKind::Figure,
            SummaryOf::Newest | SummaryOf::Oldest => FieldKind::Date,
            SummaryOf::First => FieldKind::Text,
        }
    }
}

/// Something that can be counted: a record, or a group of them.
pub(crate) trait Facts {
    /// The value of a column.
    fn text(&self, column: &str) -> Option<Cow<'_, str>>;
    /// How many records it stands for.
    fn count(&self) -> u64;
    /// The sum of a column over them: `Ok(None)` where no value was given.
    fn sum(&self, column: &str) -> Result<Option<Dollars>, NoNumber>;
    /// The record, if it is one and no group.
    fn record(&self) -> Option<&Record>;
}

/// A value that should be a number and is none: a sum that left it out would be wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoNumber;

impl Facts for Record {
    fn text(&self, column: &str) -> Option<Cow<'_, str>> {
        match self.get(column)? {
            FieldValue::Text(text) => Some(Cow::Borrowed(text)),
            FieldValue::Number(number) => Some(Cow::Borrowed(number.as_str())),
            FieldValue::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
            FieldValue::Null | FieldValue::Json(_) => None,
        }
    }

    fn count(&self) -> u64 {
        1
    }

    fn sum(&self, column: &str) -> Result<Option<Dollars>, NoNumber> {
        dollars(self.get(column).unwrap_or(&FieldValue::Null))
    }

    fn record(&self) -> Option<&Record> {
        Some(self)
    }
}

fn dollars(value: &FieldValue) -> Result<Option<Dollars>, NoNumber> {
    let text = match value {
        FieldValue::Null => return Ok(None),
        FieldValue::Text(text) if text.trim().is_empty() => return Ok(None),
        FieldValue::Text(text) => text,
        FieldValue::Number(number) => number.as_str(),
        FieldValue::Bool(_) | FieldValue::Json(_) => return Err(NoNumber),
    };
    text.parse().map(Some).map_err(|_| NoNumber)
}

/// A row of a grouped answer.
pub(crate) struct Group {
    pub(crate) count: u64,
    pub(crate) row: Row,
}

/// The name under which a grouped answer carries the sum of the `at`th summed column.
pub(crate) fn sum_alias(at: usize) -> String {
    format!("sum_{at}")
}

/// A grouped answer's rows, with the aliases its sums have.
pub(crate) struct GroupFacts<'a> {
    pub(crate) group: &'a Group,
    pub(crate) summed: &'a [String],
}

impl Facts for GroupFacts<'_> {
    fn text(&self, column: &str) -> Option<Cow<'_, str>> {
        raw_text(self.group.row.get(column)?)
    }

    fn count(&self) -> u64 {
        self.group.count
    }

    fn sum(&self, column: &str) -> Result<Option<Dollars>, NoNumber> {
        let Some(at) = self.summed.iter().position(|summed| summed == column) else {
            return Err(NoNumber);
        };
        match self.group.row.get(&sum_alias(at)) {
            None => Ok(None),
            Some(raw) => match raw_text(raw) {
                None => Ok(None),
                Some(text) => text.parse().map(Some).map_err(|_| NoNumber),
            },
        }
    }

    fn record(&self) -> Option<&Record> {
        None
    }
}

/// The text of a JSON text, number or boolean.
pub(crate) fn raw_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(text).ok().map(Cow::Owned),
        b'n' | b'{' | b'[' => None,
        _ => Some(Cow::Borrowed(text)),
    }
}

/// What the fold cannot know by itself.
pub(crate) struct Whole<'a> {
    pub(crate) total: u64,
    pub(crate) truncated: bool,
    /// Newest first.
    pub(crate) first: Option<&'a Record>,
    pub(crate) newest: Option<String>,
    pub(crate) oldest: Option<String>,
    /// Columns the dataset no longer has: what needs them is not known.
    pub(crate) missing: &'a HashSet<String>,
    /// Distinct values of a column, where the publisher counted them; empty where the fold does.
    pub(crate) distinct: &'a BTreeMap<String, u64>,
    pub(crate) today: Date,
}

/// The value under which records without one are counted.
const NOT_STATED: &str = "not stated";

/// All summary fields over `all`, in order.
pub(crate) fn summarise<F: Facts>(
    fields: &[Summary],
    all: &[F],
    whole: &Whole<'_>,
) -> Result<Vec<(String, Box<RawValue>)>, serde_json::Error> {
    fields
        .iter()
        .map(|field| Ok((field.name.clone(), value(field, all, whole)?)))
        .collect()
}

fn value<F: Facts>(
    field: &Summary,
    all: &[F],
    whole: &Whole<'_>,
) -> Result<Box<RawValue>, serde_json::Error> {
    if field.needs().any(|column| whole.missing.contains(column)) {
        return to_raw_value(&());
    }
    let tests: Vec<(&Test, Option<i32>)> = field
        .conditions
        .iter()
        .map(|test| {
            let year = test.newest_year(&field.conditions, all, whole.today);
            (test, year)
        })
        .collect();
    // Of no year nothing is known: neither a count nor a sum.
    let yearless = |(test, year): &(&Test, Option<i32>)| {
        test.holds == Holds::NewestFiscalYear && year.is_none()
    };
    if tests.iter().any(yearless) {
        return to_raw_value(&());
    }
    let mut passing = all.iter().filter(|facts| {
        tests
            .iter()
            .all(|(test, newest_year)| test.passes(*facts, whole.today, *newest_year))
    });
    match field.of {
        SummaryOf::Total => to_raw_value(&whole.total),
        SummaryOf::Truncated => to_raw_value(&whole.truncated),
        SummaryOf::Count => to_raw_value(&passing.map(Facts::count).sum::<u64>()),
        SummaryOf::Any => to_raw_value(&passing.any(|facts| facts.count() > 0)),
        SummaryOf::CountBy => {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for facts in passing {
                let text = facts.text(&field.column);
                let text = text.as_deref().unwrap_or_default();
                let text = match &field.upto {
                    Some(end) => text.split(end.as_str()).next().unwrap_or(text),
                    None => text,
                };
                let name = match text.trim() {
                    "" => NOT_STATED,
                    stated => stated,
                };
                *counts.entry(name.to_owned()).or_default() += facts.count();
            }
            let mut counts: Vec<_> = counts.into_iter().collect();
            // Most frequent first; the sort is stable, so equals stay in the order of their names.
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            to_raw_value(&Counts(&counts))
        }
        SummaryOf::Sum => {
            let mut passing = passing.peekable();
            // Nothing applies: a true zero. What applies and states no value is not known.
            let none = passing.peek().is_none().then_some(Dollars::ZERO);
            let sum = passing.try_fold(none, |sum, facts| match facts.sum(&field.column)? {
                Some(amount) => {
                    let sum = sum.unwrap_or(Dollars::ZERO).checked_add(amount);
                    sum.map(Some).ok_or(NoNumber)
                }
                None => Ok(sum),
            });
            to_raw_value(&sum.ok().flatten())
        }
        SummaryOf::Distinct => match whole.distinct.get(&field.column) {
            Some(counted) => to_raw_value(counted),
            None => {
                let values: HashSet<String> = passing
                    .filter_map(|facts| facts.text(&field.column).map(Cow::into_owned))
                    .collect();
                to_raw_value(&values.len())
            }
        },
        SummaryOf::Newest => to_raw_value(&whole.newest),
        SummaryOf::Oldest => to_raw_value(&whole.oldest),
        SummaryOf::First => {
            // Records come newest first; of groups, the newest record is at hand beside them.
            let record = match passing.next() {
                Some(facts) => facts.record().or(whole.first),
                None => None,
            };
            match record.and_then(|record| record.get(&field.column)) {
                Some(value) => to_raw_value(value),
                None => to_raw_value(&()),
            }
        }
    }
}

/// Values and their counts, as an object in order.
struct Counts<'a>(&'a [(String, u64)]);

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, count) in self.0 {
            map.serialize_entry(name, count)?;
        }
        map.end()
    }
}
