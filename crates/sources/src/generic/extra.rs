//! What is added to the records that are shown: words for codes, rows of another dataset.

use std::{collections::HashMap, sync::Arc};

use brownstone_domain::{FieldValue, Record};
use brownstone_soda::{Condition, Literal, Query, SodaError};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{Failure, MOST_ROWS, SodaSource, every};
use crate::{
    catalogue::{Child, spec::LiteralType},
    summary::raw_text,
};

/// Codes to words, where the table could be had.
pub(crate) type CodeTable = Option<Arc<HashMap<String, String>>>;

impl SodaSource {
    /// Puts the rows of another dataset into the records they belong to.
    pub(super) async fn add_children(
        &self,
        child: &Child,
        records: &mut [Record],
        deadline: Instant,
    ) -> Result<(), Failure> {
        let parents: Vec<Option<String>> = records
            .iter()
            .map(|record| record.text(&child.parent).map(plain_key))
            .collect();
        let mut wanted: Vec<&String> = parents.iter().flatten().collect();
        wanted.sort();
        wanted.dedup();
        let mut found: HashMap<String, Vec<Record>> = HashMap::new();
        for chunk in wanted.chunks(Condition::MAX_IN) {
            let values = chunk.iter().filter_map(|value| match child.literal {
                LiteralType::Text => Some(Literal::Text((*value).clone())),
                LiteralType::Number => value.parse().ok().map(Literal::Number),
            });
            let Some(condition) = Condition::any_of(child.column.clone(), values) else {
                continue;
            };
            let query = Query::of(child.dataset.clone()).filter(condition);
            let soda = self.soda();
            let mut rows = match every(soda, &query, MOST_ROWS, deadline).await {
                Ok(rows) => rows,
                // The other dataset moved: its rows are not known, which is not to say that there are none.
                Err(
                    error @ (SodaError::NoSuchColumn { .. }
                    | SodaError::BadQuery { .. }
                    | SodaError::Gone { .. }),
                ) => {
                    tracing::warn!(source = %self.entry.info.key, dataset = %child.dataset, %error, "rows of records");
                    for record in records {
                        record.push(child.field.as_str(), FieldValue::Null);
                    }
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            if let Some(order) = &child.order {
                rows.rows.sort_by_cached_key(|row| {
                    row.get(order.as_str()).and_then(|raw| sortable(raw))
                });
            }
            let header = rows.fields;
            for row in rows.rows {
                let record = child.shape.record(row, header.as_deref());
                if let Some(key) = record.text(child.column.as_str()).map(plain_key) {
                    found.entry(key).or_default().push(record);
                }
            }
        }
        let nothing = Vec::new();
        for (record, parent) in records.iter_mut().zip(parents) {
            let rows = parent.and_then(|key| found.get(&key)).unwrap_or(&nothing);
            let json = serde_json::value::to_raw_value(rows)?;
            record.push(child.field.as_str(), FieldValue::Json(json));
        }
        Ok(())
    }

    /// The publisher's tables of codes, one for each look-up; `None` where one could not be had.
    pub(crate) async fn code_tables(&self, deadline: Instant) -> Vec<CodeTable> {
        let tables = self
            .entry
            .lookups
            .iter()
            .map(|lookup| self.shared.codes(self.entry.host, lookup, deadline));
        futures::future::join_all(tables).await
    }

    /// Adds the words for the codes.
    pub(crate) fn add_texts(&self, records: &mut [Record], tables: &[CodeTable]) {
        for (lookup, table) in self.entry.lookups.iter().zip(tables) {
            for record in &mut *records {
                let text = table
                    .as_ref()
                    .and_then(|table| table.get(record.text(&lookup.column)?.trim()))
                    .map_or(FieldValue::Null, |text| FieldValue::Text(text.clone()));
                record.push(lookup.field.as_str(), text);
            }
        }
    }
}

/// A key as it joins: without blanks and without a number's decimals.
fn plain_key(text: &str) -> String {
    match FieldValue::identifier(text.trim()) {
        FieldValue::Text(plain) => plain,
        _ => text.to_owned(),
    }
}

/// Numbers by size, then texts.
fn sortable(raw: &RawValue) -> Option<(u64, String)> {
    let text = raw_text(raw)?;
    Some((text.parse().unwrap_or(u64::MAX), text.into_owned()))
}
