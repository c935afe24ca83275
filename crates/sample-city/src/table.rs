//! A dataset's rows in memory: typed columns, cells, and an index made for a column when it is first asked by.

use std::{
    collections::HashMap,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::seed::{self, Seed};

/// A column's type, as `/api/views` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// A JSON string.
    Text,
    /// A JSON string of digits, with the column's own number of decimals.
    Number,
    /// `true` or `false`.
    Checkbox,
    /// A date and time without a zone: `2024-01-31T00:00:00.000`.
    CalendarDate,
    /// A GeoJSON point, longitude first.
    Point,
    /// A GeoJSON multipolygon.
    Multipolygon,
    /// The old location object: `latitude`, `longitude`, `human_address`.
    Location,
    /// An object with `url`.
    Url,
}

/// A table from a type to its two names: in `/api/views`, and in `X-SODA2-Types`.
const TYPE_NAMES: [(ColumnType, &str, &str); 8] = [
    (ColumnType::Text, "text", "text"),
    (ColumnType::Number, "number", "number"),
    (ColumnType::Checkbox, "checkbox", "checkbox"),
    (
        ColumnType::CalendarDate,
        "calendar_date",
        "floating_timestamp",
    ),
    (ColumnType::Point, "point", "point"),
    (ColumnType::Multipolygon, "multipolygon", "multipolygon"),
    (ColumnType::Location, "location", "location"),
    (ColumnType::Url, "url", "url"),
];

impl ColumnType {
    /// The name in `/api/views/{id}.json`.
    pub fn metadata_name(self) -> &'static str {
        self.names().1
    }

    /// The name in the `X-SODA2-Types` header.
    pub fn header_name(self) -> &'static str {
        self.names().2
    }

    fn names(self) -> (ColumnType, &'static str, &'static str) {
        TYPE_NAMES
            .into_iter()
            .find(|names| names.0 == self)
            .unwrap_or(TYPE_NAMES[0])
    }
}

/// Text that names no column type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no column type")]
pub struct UnknownType(String);

impl FromStr for ColumnType {
    type Err = UnknownType;

    /// Reads either name.
    fn from_str(name: &str) -> Result<Self, UnknownType> {
        TYPE_NAMES
            .into_iter()
            .find(|(_, metadata, header)| name == *metadata || name == *header)
            .map(|(kind, ..)| kind)
            .ok_or_else(|| UnknownType(name.to_owned()))
    }
}

/// A cell, or what an expression yields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Text(Arc<str>),
    /// The publisher's digits, and their value.
    Number(Arc<str>, Decimal),
    Bool(bool),
    /// `YYYY-MM-DDTHH:MM:SS.mmm`: text order is time order.
    Time(Arc<str>),
    Json(Arc<serde_json::Value>),
}

impl Value {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(value: Decimal) -> Self {
        Self::Number(value.normalize().to_string().into(), value)
    }

    /// A published text as a cell of this type. Text that does not fit a number or date column is kept as text: real
    /// tables hold such cells, and what they compare to is nothing.
    pub(crate) fn of(kind: ColumnType, text: &str) -> Self {
        match kind {
            ColumnType::Number => match Decimal::from_str(text.trim()) {
                Ok(value) => Self::Number(text.trim().into(), value),
                Err(_) => Self::text(text),
            },
            ColumnType::CalendarDate => match timestamp(text) {
                Some(time) => Self::Time(time.into()),
                None => Self::text(text),
            },
            ColumnType::Checkbox => match text {
                "true" => Self::Bool(true),
                "false" => Self::Bool(false),
                other => Self::text(other),
            },
            _ => Self::text(text),
        }
    }

    fn of_json(kind: ColumnType, value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(*flag),
            serde_json::Value::String(text) => Self::of(kind, text),
            serde_json::Value::Number(number) => Self::of(kind, &number.to_string()),
            other => Self::Json(Arc::new(other.clone())),
        }
    }

    /// What the index and `group by` tell cells apart by: numbers by value, all else by text.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Text(text) | Self::Time(text) => Some(text.to_string()),
            Self::Number(_, value) => Some(value.normalize().to_string()),
            Self::Bool(flag) => Some(flag.to_string()),
            Self::Json(value) => Some(value.to_string()),
        }
    }
}

/// A date or a time without a zone in its full form, `YYYY-MM-DDTHH:MM:SS.mmm`; `None` for anything else.
pub(crate) fn timestamp(text: &str) -> Option<String> {
    let text = text.trim();
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, time),
        None => (text, ""),
    };
    let mut parts = day.split('-');
    let (year, month, date) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |part: &str, width: usize| {
        part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if parts.next().is_some() || !digits(year, 4) || !digits(month, 2) || !digits(date, 2) {
        return None;
    }
    let month = time::Month::try_from(month.parse::<u8>().ok()?).ok()?;
    time::Date::from_calendar_date(year.parse().ok()?, month, date.parse().ok()?).ok()?;
    if time.is_empty() {
        return Some(format!("{day}T00:00:00.000"));
    }
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "000"));
    let mut clock = clock.split(':');
    let (hour, minute) = (clock.next()?, clock.next()?);
    let second = clock.next().unwrap_or("00");
    let below = |part: &str, bound: u8| {
        digits(part, 2) && part.parse::<u8>().is_ok_and(|value| value < bound)
    };
    if !below(hour, 24) || !below(minute, 60) || !below(second, 60) || clock.next().is_some() {
        return None;
    }
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: String = fraction.chars().chain("00".chars()).take(3).collect();
    Some(format!("{day}T{hour}:{minute}:{second}.{millis}"))
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
}

/// A dataset.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) attribution: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Value>>,
    /// `:id` of each row.
    pub(crate) row_ids: Vec<Arc<str>>,
    /// `rowsUpdatedAt`, Unix seconds.
    pub(crate) updated_at: i64,
    /// The name the errors call it by, such as `hotel.25367`.
    pub(crate) internal_name: String,
    by_name: HashMap<String, usize>,
    index: Vec<OnceLock<HashMap<String, Vec<u32>>>>,
}

/// What a [`Table`] is made of.
pub(crate) struct TableParts {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) attribution: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) updated_at: i64,
}

impl Table {
    pub(crate) fn new(parts: TableParts) -> Self {
        const WORDS: [&str; 6] = ["alpha", "delta", "foxtrot", "hotel", "india", "juliet"];
        let mut seed = Seed::new(&[parts.id.as_bytes()]);
        let word = WORDS[seed.below(WORDS.len() as u64) as usize];
        let internal_name = format!("{word}.{}", 10_000 + seed.below(20_000));
        let row_ids = (0..parts.rows.len())
            .map(|row| Arc::from(row_id(&parts.id, row)))
            .collect();
        Self {
            by_name: (parts.columns.iter().enumerate())
                .map(|(at, column)| (column.name.clone(), at))
                .collect(),
            index: parts.columns.iter().map(|_| OnceLock::new()).collect(),
            id: parts.id,
            name: parts.name,
            attribution: parts.attribution,
            columns: parts.columns,
            rows: parts.rows,
            updated_at: parts.updated_at,
            row_ids,
            internal_name,
        }
    }

    /// A table of rows as JSON. A key that `columns` does not name becomes a column of its own, typed by its value.
    pub(crate) fn from_json(
        id: &str,
        name: String,
        columns: Vec<(String, ColumnType)>,
        rows: Vec<Map<String, serde_json::Value>>,
        updated_at: i64,
    ) -> Self {
        let mut columns: Vec<Column> = (columns.into_iter())
            .map(|(name, kind)| Column { name, kind })
            .collect();
        let mut at: HashMap<String, usize> = (columns.iter().enumerate())
            .map(|(at, column)| (column.name.clone(), at))
            .collect();
        for (key, value) in rows.iter().flatten() {
            if !at.contains_key(key) && !value.is_null() {
                at.insert(key.clone(), columns.len());
                let kind = match value {
                    serde_json::Value::Bool(_) => ColumnType::Checkbox,
                    serde_json::Value::Number(_) => ColumnType::Number,
                    serde_json::Value::Object(object) if object.contains_key("coordinates") => {
                        ColumnType::Point
                    }
                    _ => ColumnType::Text,
                };
                let name = key.clone();
                columns.push(Column { name, kind });
            }
        }
        let rows = (rows.into_iter())
            .map(|row| {
                (columns.iter())
                    .map(|column| match row.get(&column.name) {
                        Some(value) => Value::of_json(column.kind, value),
                        None => Value::Null,
                    })
                    .collect()
            })
            .collect();
        Self::new(TableParts {
            id: id.to_owned(),
            name,
            attribution: String::new(),
            columns,
            rows,
            updated_at,
        })
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The rows whose cell in `column` is `value`.
    pub(crate) fn rows_with(&self, column: usize, value: &Value) -> &[u32] {
        let (Some(slot), Some(key)) = (self.index.get(column), value.key()) else {
            return &[];
        };
        let index = slot.get_or_init(|| {
            let mut index: HashMap<String, Vec<u32>> = HashMap::new();
            for (at, row) in self.rows.iter().enumerate() {
                if let Some(key) = row.get(column).and_then(Value::key) {
                    index.entry(key).or_default().push(at as u32);
                }
            }
            index
        });
        index.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Where a row stands when no order is asked for: nowhere in particular, and always the same.
    pub(crate) fn scrambled(&self, row: u32) -> u64 {
        seed::hash(&[self.id.as_bytes(), b"order", &row.to_le_bytes()])
    }
}

/// A row's `:id`: opaque, unique, and in no order a reader could use.
fn row_id(dataset: &str, row: usize) -> String {
    let mut bits = seed::hash(&[dataset.as_bytes(), b"id", &row.to_le_bytes()]);
    let mut text = String::from("row-");
    for place in 0..12 {
        match place {
            4 => text.push(if bits & 1 == 0 { '-' } else { '_' }),
            8 => text.push(if bits & 1 == 0 { '.' } else { '~' }),
            _ => {}
        }
        let digit = (bits % 32) as u32;
        bits /= 32;
        text.push(char::from_digit(digit, 32).unwrap_or('0'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_and_a_time_come_in_their_full_form() {
        for (text, full) in [
            ("2024-01-31", "2024-01-31T00:00:00.000"),
            ("2024-01-31T08:05:09", "2024-01-31T08:05:09.000"),
            ("2024-01-31T08:05:09.5", "2024-01-31T08:05:09.500"),
            ("2024-01-31 08:05", "2024-01-31T08:05:00.000"),
        ] {
            assert_eq!(timestamp(text).as_deref(), Some(full), "{text}");
        }
        for text in [
            "",
            "20240131",
            "2024-02-30",
            "2024-01-31T25:00:00",
            "01/31/2024",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn row_ids_are_unique() {
        let ids: std::collections::HashSet<String> =
            (0..20_000).map(|row| row_id("aaaa-bbbb", row)).collect();
        assert_eq!(ids.len(), 20_000);
    }

    #[test]
    fn a_key_without_a_column_becomes_one() {
        let rows = [serde_json::json!({"a": "1", "b": true, "c": 2})];
        let rows: Vec<_> = rows
            .iter()
            .filter_map(|row| row.as_object().cloned())
            .collect();
        let columns = vec![("a".to_owned(), ColumnType::Number)];
        let table = Table::from_json("aaaa-bbbb", "A".into(), columns, rows, 0);
        let kinds: Vec<_> = table.columns.iter().map(|column| column.kind).collect();
        assert_eq!(
            kinds,
            [ColumnType::Number, ColumnType::Checkbox, ColumnType::Number]
        );
        assert_eq!(table.rows_with(0, &Value::number(Decimal::ONE)), [0]);
        assert!(table.rows_with(0, &Value::number(Decimal::TWO)).is_empty());
    }
}
