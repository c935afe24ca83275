//! A dataset's file: its name, its columns with their types, and how its records are made.

use std::collections::BTreeMap;

use serde::Deserialize;
use time::{Date, macros::format_description};

use crate::{
    table::ColumnType,
    template::{Template, TemplateError},
};

/// A dataset, as its file says it.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) agency: String,
    /// How long before the city started its rows changed.
    pub(crate) updated_hours_ago: i64,
    /// The days of its records, first and last.
    pub(crate) dates: (Date, Date),
    /// Of a hundred records, how many are closed.
    pub(crate) closed: u64,
    /// Facts without which a building has no records here.
    pub(crate) needs: Vec<String>,
    /// The dataset whose records these belong to.
    pub(crate) parent: Option<String>,
    pub(crate) vars: Vec<(String, Value)>,
    pub(crate) columns: Vec<ColumnSpec>,
    pub(crate) records: Vec<Block>,
}

#[derive(Debug)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
    pub(crate) value: Value,
}

/// Templates of which the first that says anything is the value.
pub(crate) type Value = Vec<Template>;

/// A set of records.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) each: Each,
    pub(crate) which: Which,
    /// Records of each subject, at least and at most.
    pub(crate) rows: (u64, u64),
    /// Whether lots with a condominium are among the subjects.
    pub(crate) condominiums: bool,
    /// Records over all subjects; stands in place of `rows`.
    pub(crate) total: Option<u64>,
    /// Values by which each record is made once more.
    pub(crate) series: Vec<(String, Vec<String>)>,
    /// Other values for columns and variables.
    pub(crate) set: Vec<(String, Value)>,
    /// Rows in full, column by column; an empty text is absent.
    pub(crate) data: Vec<Vec<String>>,
    pub(crate) dates: Option<(Date, Date)>,
}

/// What a record is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Each {
    Building,
    Lot,
    /// A unit of a condominium.
    Unit,
    /// A lot of a condominium's ground.
    Base,
    /// A record of the parent.
    Parent,
    /// Nothing: the rows stand in the file.
    Row,
}

/// Which buildings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    /// All but the one of which nothing is recorded.
    All,
    Named,
    Others,
    /// That one too.
    Everything,
    /// BINs or BBLs.
    #[serde(untagged)]
    These(Vec<String>),
}

/// A file that does not say what it must.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpecError {
    #[error("the file does not read: {0}")]
    Toml(#[from] toml::de::Error),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("{0:?} is no range")]
    Range(String),
    #[error("column {0} stands twice")]
    Twice(String),
    #[error("{0} is set, and is neither a column nor a variable")]
    Unset(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: String,
    name: String,
    agency: String,
    updated_hours_ago: i64,
    #[serde(default = "default_dates")]
    dates: String,
    #[serde(default = "default_closed")]
    closed: u64,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    vars: Vec<(String, Alternatives)>,
    columns: Vec<(String, ColumnType, Alternatives)>,
    #[serde(default)]
    records: Vec<BlockFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockFile {
    #[serde(default = "default_each")]
    each: Each,
    #[serde(default = "default_which")]
    which: Which,
    #[serde(default = "default_rows")]
    rows: String,
    #[serde(default = "yes")]
    condominiums: bool,
    #[serde(default)]
    total: Option<u64>,
    #[serde(default)]
    series: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    set: BTreeMap<String, Alternatives>,
    #[serde(default)]
    data: Vec<Vec<String>>,
    #[serde(default)]
    dates: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Alternatives {
    One(String),
    Several(Vec<String>),
}

fn default_dates() -> String {
    "2012-01-09..2026-10-30".to_owned()
}

fn default_closed() -> u64 {
    60
}

fn default_each() -> Each {
    Each::Building
}

fn default_which() -> Which {
    Which::All
}

fn yes() -> bool {
    true
}

fn default_rows() -> String {
    "1".to_owned()
}

impl Alternatives {
    fn parse(self) -> Result<Value, TemplateError> {
        match self {
            Self::One(text) => Ok(vec![Template::parse(&text)?]),
            Self::Several(texts) => texts.iter().map(|text| Template::parse(text)).collect(),
        }
    }
}

/// A day, or `A..B`.
fn days(text: &str) -> Result<(Date, Date), SpecError> {
    let bad = || SpecError::Range(text.to_owned());
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let day = |text: &str| {
        Date::parse(text, format_description!("[year]-[month]-[day]")).map_err(|_| bad())
    };
    let (from, to) = (day(from)?, day(to)?);
    if to < from {
        Err(bad())
    } else {
        Ok((from, to))
    }
}

/// A number, or `A..B`.
fn range(text: &str) -> Result<(u64, u64), SpecError> {
    let bad = |_| SpecError::Range(text.to_owned());
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (from.parse().map_err(bad)?, to.parse().map_err(bad)?);
    if to < from {
        return Err(SpecError::Range(text.to_owned()));
    }
    Ok((from, to))
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Self, SpecError> {
        let file: File = toml::from_str(text)?;
        let vars = (file.vars.into_iter())
            .map(|(name, value)| Ok((name, value.parse()?)))
            .collect::<Result<Vec<_>, SpecError>>()?;
        let mut columns: Vec<ColumnSpec> = Vec::with_capacity(file.columns.len());
        for (name, kind, value) in file.columns {
            if columns.iter().any(|column| column.name == name) {
                return Err(SpecError::Twice(name));
            }
            let value = value.parse()?;
            columns.push(ColumnSpec { name, kind, value });
        }
        let known = |name: &str| {
            columns.iter().any(|column| column.name == name)
                || vars.iter().any(|(var, _)| var == name)
        };
        let mut records = Vec::with_capacity(file.records.len());
        for block in file.records {
            let mut set = Vec::with_capacity(block.set.len());
            for (name, value) in block.set {
                if !known(&name) {
                    return Err(SpecError::Unset(name));
                }
                set.push((name, value.parse()?));
            }
            records.push(Block {
                each: block.each,
                which: block.which,
                rows: range(&block.rows)?,
                condominiums: block.condominiums,
                total: block.total,
                series: block.series.into_iter().collect(),
                set,
                data: block.data,
                dates: block.dates.as_deref().map(days).transpose()?,
            });
        }
        Ok(Self {
            id: file.id,
            name: file.name,
            agency: file.agency,
            updated_hours_ago: file.updated_hours_ago,
            dates: days(&file.dates)?,
            closed: file.closed,
            needs: file.needs,
            parent: file.parent,
            vars,
            columns,
            records,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_fault_is_refused() {
        let good = r#"
            id = "aaaa-bbbb"
            name = "A"
            agency = "B"
            updated_hours_ago = 5
            columns = [["a", "text", "{bin}"]]
            [[records]]
            rows = "1..2"
        "#;
        assert!(Spec::parse(good).is_ok());
        for (good_part, bad_part) in [
            ("\"text\"", "\"texts\""),
            ("{bin}", "{bin"),
            ("1..2", "2..1"),
            ("rows", "row"),
            (
                "[[\"a\", \"text\", \"{bin}\"]]",
                "[[\"a\", \"text\", \"\"], [\"a\", \"text\", \"\"]]",
            ),
        ] {
            assert!(
                Spec::parse(&good.replace(good_part, bad_part)).is_err(),
                "{bad_part}"
            );
        }
    }
}
