//! One row of a publisher, in the publisher's columns.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;

use crate::money::number_text;

/// A value in a record.
#[derive(Debug, Clone)]
pub enum FieldValue {
    /// The publisher gave no value.
    Null,
    /// Text, letter for letter as published; dates and identifiers too.
    Text(String),
    /// A number with the publisher's digits; make one with [`FieldValue::number`].
    Number(NumberText),
    /// A checkbox.
    Bool(bool),
    /// A point, a link or another nested value, as it came.
    Json(Box<RawValue>),
}

/// A JSON number's text, digits as published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberText(String);

impl NumberText {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FieldValue {
    /// A number where the text is one (`$37300.00`, `1250.00`, `1,234`); else the text itself, as published.
    ///
    /// ```
    /// use brownstone_domain::FieldValue;
    /// assert_eq!(serde_json::to_string(&FieldValue::number("$37300.00")).unwrap(), "37300.00");
    /// assert_eq!(serde_json::to_string(&FieldValue::number("N/A")).unwrap(), "\"N/A\"");
    /// ```
    pub fn number(text: &str) -> Self {
        match number_text(text) {
            Some(digits) => Self::Number(NumberText(digits)),
            None => Self::Text(text.to_owned()),
        }
    }

    /// An identifier: text, without the decimals that some datasets print after it.
    ///
    /// ```
    /// use brownstone_domain::FieldValue;
    /// let id = FieldValue::identifier("1008350041.00000000");
    /// assert_eq!(id.as_str(), Some("1008350041"));
    /// ```
    pub fn identifier(text: &str) -> Self {
        Self::Text(match text.split_once('.') {
            Some((whole, rest))
                if !whole.is_empty()
                    && whole.bytes().all(|b| b.is_ascii_digit())
                    && rest.bytes().all(|b| b == b'0') =>
            {
                whole.to_owned()
            }
            _ => text.to_owned(),
        })
    }

    /// The text of a text or number value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(number) => Some(number.as_str()),
            Self::Null | Self::Bool(_) | Self::Json(_) => None,
        }
    }

    /// Whether the publisher gave nothing.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl PartialEq for FieldValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a.get() == b.get(),
            _ => false,
        }
    }
}

impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => RawValue::from_string(number.0.clone())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Json(raw) => raw.serialize(serializer),
        }
    }
}

/// A row: column names and values, in the catalogue's order, then whatever else the publisher sent.
///
/// ```
/// use brownstone_domain::{FieldValue, Record};
/// let mut record = Record::default();
/// record.push("issue_date", FieldValue::Text("20240131".into()));
/// record.push("balance_due", FieldValue::number("-25.00"));
/// assert_eq!(serde_json::to_string(&record).unwrap(), r#"{"issue_date":"20240131","balance_due":-25.00}"#);
/// assert_eq!(record.text("issue_date"), Some("20240131"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record(Vec<(Arc<str>, FieldValue)>);

impl Record {
    /// Adds a column at the end.
    pub fn push(&mut self, column: impl Into<Arc<str>>, value: FieldValue) {
        self.0.push((column.into(), value));
    }

    /// The value of a column; `None` when the record has no such column.
    pub fn get(&self, column: &str) -> Option<&FieldValue> {
        self.0
            .iter()
            .find(|(name, _)| &**name == column)
            .map(|(_, value)| value)
    }

    /// The text of a column; `None` when it is absent, null or nested.
    pub fn text(&self, column: &str) -> Option<&str> {
        self.get(column).and_then(FieldValue::as_str)
    }

    /// Columns and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// How many columns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, value) in &self.0 {
            map.serialize_entry(&**column, value)?;
        }
        map.end()
    }
}
