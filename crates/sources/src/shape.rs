//! A publisher's row made into a record.

use std::{collections::HashMap, sync::Arc};

use brownstone_domain::{FieldValue, Record};
use brownstone_soda::Row;
use serde_json::value::RawValue;

use crate::{FieldInfo, FieldKind};

/// The columns the catalogue knows, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    columns: Vec<(Arc<str>, FieldKind)>,
    /// Columns that are not shown.
    left_out: Vec<String>,
    /// Whether columns that are not known are not shown either.
    private: bool,
}

impl Shape {
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, FieldKind)>) -> Self {
        Self {
            columns: columns
                .into_iter()
                .map(|(name, kind)| (Arc::from(name), kind))
                .collect(),
            ..Self::default()
        }
    }

    /// The same shape, showing less.
    pub(crate) fn without(mut self, left_out: Vec<String>, private: bool) -> Self {
        (self.left_out, self.private) = (left_out, private);
        self
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| &**name == column)
    }

    /// Whether the column is known and not shown.
    pub(crate) fn leaves_out(&self, column: &str) -> bool {
        self.private || self.left_out.iter().any(|name| name == column)
    }

    pub(crate) fn kind(&self, column: &str) -> Option<FieldKind> {
        self.columns
            .iter()
            .find(|(name, _)| &**name == column)
            .map(|(_, kind)| *kind)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn fields(&self) -> Vec<FieldInfo> {
        self.columns
            .iter()
            .map(|(name, kind)| FieldInfo {
                name: name.to_string(),
                kind: *kind,
                tells: String::new(),
            })
            .collect()
    }

    /// The record of a row: every known column in order, null where the publisher left it out, then what else came, in
    /// the publisher's order where its header tells one and by name where it does not.
    pub(crate) fn record(&self, mut row: Row, header: Option<&[String]>) -> Record {
        let mut record = Record::default();
        for (name, kind) in &self.columns {
            let value = row
                .remove(&**name)
                .map_or(FieldValue::Null, |raw| value_of(raw, *kind));
            record.push(Arc::clone(name), value);
        }
        if self.private {
            return record;
        }
        row.retain(|name, _| !self.left_out.contains(name));
        for (name, raw) in rest_in_order(row, header) {
            record.push(name, value_of(raw, FieldKind::Text));
        }
        record
    }
}

fn rest_in_order(
    mut row: HashMap<String, Box<RawValue>>,
    header: Option<&[String]>,
) -> Vec<(String, Box<RawValue>)> {
    // The row's identifier is the platform's, made anew whenever the publisher replaces the table.
    row.retain(|name, _| !name.starts_with([':', '@']));
    if row.is_empty() {
        return Vec::new();
    }
    let mut rest = Vec::with_capacity(row.len());
    for name in header.unwrap_or_default() {
        if let Some(value) = row.remove(name) {
            rest.push((name.clone(), value));
        }
    }
    let mut unlisted: Vec<_> = row.into_iter().collect();
    unlisted.sort_by(|a, b| a.0.cmp(&b.0));
    rest.extend(unlisted);
    rest
}

/// A value by what its column holds. What does not fit stays as the publisher sent it.
pub(crate) fn value_of(raw: Box<RawValue>, kind: FieldKind) -> FieldValue {
    let text = raw.get();
    match text.as_bytes().first() {
        None | Some(b'n') => FieldValue::Null,
        Some(b't' | b'f') => FieldValue::Bool(text == "true"),
        Some(b'"') => match serde_json::from_str::<String>(text) {
            Ok(text) => match kind {
                FieldKind::Number | FieldKind::Money => FieldValue::number(&text),
                FieldKind::Identifier => FieldValue::identifier(&text),
                _ => FieldValue::Text(text),
            },
            Err(_) => FieldValue::Json(raw),
        },
        Some(b'{' | b'[') => FieldValue::Json(raw),
        Some(_) => match kind {
            FieldKind::Identifier => FieldValue::identifier(text),
            FieldKind::Number | FieldKind::Money => match FieldValue::number(text) {
                number @ FieldValue::Number(_) => number,
                // A number in a writing of its own, such as an exponent, is still a number.
                _ => FieldValue::Json(raw),
            },
            _ => FieldValue::Json(raw),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(json: &str) -> Row {
        serde_json::from_str(json).unwrap()
    }

    fn shape() -> Shape {
        Shape::new([
            ("bbl".to_owned(), FieldKind::Identifier),
            ("balance_due".to_owned(), FieldKind::Money),
            ("initial_cost".to_owned(), FieldKind::Money),
            ("issue_date".to_owned(), FieldKind::Date),
            ("splitzone".to_owned(), FieldKind::Checkbox),
        ])
    }

    fn json(record: &Record) -> String {
        serde_json::to_string(record).unwrap()
    }

    #[test]
    fn known_columns_come_in_order_and_null_where_omitted() {
        let record = shape().record(
            row(r#"{"issue_date":"20240131","bbl":"1008350041.00000000"}"#),
            None,
        );
        assert_eq!(
            json(&record),
            r#"{"bbl":"1008350041","balance_due":null,"initial_cost":null,"issue_date":"20240131","splitzone":null}"#
        );
    }

    #[test]
    fn money_keeps_its_digits_and_what_is_no_number_stays_text() {
        let record = shape().record(
            row(r#"{"balance_due":"-25.10","initial_cost":"$37300.00","splitzone":true}"#),
            None,
        );
        assert_eq!(
            json(&record),
            r#"{"bbl":null,"balance_due":-25.10,"initial_cost":37300.00,"issue_date":null,"splitzone":true}"#
        );
        let record = shape().record(row(r#"{"balance_due":"Not Available"}"#), None);
        assert_eq!(record.text("balance_due"), Some("Not Available"));
    }

    #[test]
    fn unknown_columns_follow_in_the_publishers_order() {
        let header = ["zeta".to_owned(), "bbl".to_owned(), "alpha".to_owned()];
        let sent = r#"{"alpha":"1","zeta":{"type":"Point","coordinates":[1,2]},"mu":7,":id":"row-1","bbl":"1"}"#;
        let record = shape().record(row(sent), Some(&header));
        let names: Vec<&str> = record.iter().map(|(name, _)| name).skip(5).collect();
        assert_eq!(names, ["zeta", "alpha", "mu"]);
    }

    proptest! {
        #[test]
        fn no_text_is_lost(text in "\\PC{0,20}") {
            let raw = serde_json::value::to_raw_value(&text).unwrap();
            prop_assert_eq!(value_of(raw.clone(), FieldKind::Text), FieldValue::Text(text.clone()));
            prop_assert_eq!(value_of(raw.clone(), FieldKind::Date), FieldValue::Text(text.clone()));
            match value_of(raw, FieldKind::Money) {
                FieldValue::Text(same) => prop_assert_eq!(same, text),
                FieldValue::Number(number) => prop_assert!(serde_json::from_str::<serde_json::Value>(number.as_str()).unwrap().is_number()),
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
