//! Counts and sums by the publisher, where a building has more records than are shown.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use brownstone_soda::{Column, Condition, Query, Row, Rows, Select, SodaError};
use time::Date;
use tokio::time::Instant;

use super::{Failure, SodaSource};
use crate::{
    catalogue::{Entry, spec::SummaryOf},
    summary::{Group, Summary, raw_text, sum_alias},
};

/// Groups a summary is made of at most; more means that a column is no word of a small set.
const MOST_GROUPS: u32 = 5_000;

impl SodaSource {
    /// The publisher's counts and sums by every combination of the columns that the summaries need. What the dataset no
    /// longer has or can no longer add up is left out step by step; the count itself always remains.
    pub(super) async fn groups(
        &self,
        condition: &Condition,
        missing: &HashSet<String>,
        deadline: Instant,
    ) -> Result<(Vec<Group>, Vec<String>, HashSet<String>), Failure> {
        let soda = self.soda();
        let mut by: Vec<String> = Vec::new();
        let mut summed: Vec<String> = Vec::new();
        let usable = |field: &&Summary| field.needs().all(|column| !missing.contains(column));
        for field in self.entry.summary.iter().filter(usable) {
            by.extend(field.group_columns().map(str::to_owned));
            if field.of == SummaryOf::Sum {
                summed.push(field.column.clone());
            }
        }
        for columns in [&mut by, &mut summed] {
            columns.sort();
            columns.dedup();
        }
        let plans = [
            (by.clone(), summed.clone()),
            (by.clone(), Vec::new()),
            (Vec::new(), Vec::new()),
        ];
        let mut refused = None;
        for (by, summed) in plans {
            let lost: HashSet<String> = missing
                .iter()
                .cloned()
                .chain(self.columns_lost(&by, &summed))
                .collect();
            let query = grouped(&self.entry, condition, &by, &summed)?;
            match soda.rows(&query, deadline).await {
                Ok(rows) if rows.rows.len() >= MOST_GROUPS as usize => {
                    refused = Some(Failure::Drift("a column has too many values to count by"));
                }
                Ok(rows) => return Ok((groups_of(rows)?, summed, lost)),
                Err(error @ (SodaError::NoSuchColumn { .. } | SodaError::BadQuery { .. })) => {
                    tracing::warn!(source = %self.entry.info.key, %error, "summary");
                    refused = Some(error.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused.unwrap_or(Failure::Drift("nothing can be counted")))
    }

    /// The columns of summaries that a plan cannot give.
    fn columns_lost(&self, by: &[String], summed: &[String]) -> Vec<String> {
        self.entry
            .summary
            .iter()
            .flat_map(|field| {
                let grouped = field
                    .group_columns()
                    .map(str::to_owned)
                    .filter(|column| !by.contains(column));
                let sum = (field.of == SummaryOf::Sum && !summed.contains(&field.column))
                    .then(|| field.column.clone());
                grouped.chain(sum).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Distinct values, of the row key and where a summary wants them.
    pub(super) async fn distinct(
        &self,
        condition: &Condition,
        missing: &HashSet<String>,
        deadline: Instant,
    ) -> Result<BTreeMap<String, u64>, Failure> {
        let wanted = self
            .entry
            .summary
            .iter()
            .filter(|field| field.of == SummaryOf::Distinct)
            .map(|field| field.column.as_str());
        let mut columns: Vec<&str> = wanted
            .chain(self.entry.row_key.iter().map(Column::as_str))
            .filter(|column| !missing.contains(*column))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        if columns.is_empty() {
            return Ok(BTreeMap::new());
        }
        let select = columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                Ok(Select::CountDistinct(
                    name(column)?,
                    name(&format!("distinct_{at}"))?,
                ))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let query = Query::of(self.entry.dataset.clone())
            .select(select)
            .filter(condition.clone())
            .limit(1);
        let soda = self.soda();
        match soda.rows(&query, deadline).await {
            Ok(rows) => Ok(columns
                .iter()
                .enumerate()
                .filter_map(|(at, column)| {
                    let row = rows.rows.first()?;
                    let count = whole_number(row, &format!("distinct_{at}"))?;
                    Some(((*column).to_owned(), count))
                })
                .collect()),
            Err(error @ (SodaError::NoSuchColumn { .. } | SodaError::BadQuery { .. })) => {
                tracing::warn!(source = %self.entry.info.key, %error, "distinct");
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The oldest date that can be believed, as published.
    pub(super) async fn oldest(
        &self,
        condition: &Condition,
        today: Date,
        deadline: Instant,
    ) -> Result<Option<String>, Failure> {
        let wanted = self
            .entry
            .summary
            .iter()
            .any(|field| field.of == SummaryOf::Oldest);
        let (Some(key), Some(window), true) = (
            self.entry.order.date_column(),
            self.entry.order.window(today),
            wanted,
        ) else {
            return Ok(None);
        };
        let query = Query::of(self.entry.dataset.clone())
            .select([Select::Min(key.column.clone(), name("oldest")?)])
            .filter(condition.clone().and(window))
            .limit(1);
        let soda = self.soda();
        let rows = soda.rows(&query, deadline).await?;
        Ok(rows
            .rows
            .first()
            .and_then(|row| row.get("oldest"))
            .and_then(|raw| raw_text(raw).map(Cow::into_owned)))
    }
}

fn grouped(
    entry: &Entry,
    condition: &Condition,
    by: &[String],
    summed: &[String],
) -> Result<Query, Failure> {
    let by = by
        .iter()
        .map(|column| name(column))
        .collect::<Result<Vec<_>, _>>()?;
    let mut select: Vec<Select> = by.iter().cloned().map(Select::Column).collect();
    select.push(Select::Count(name("row_total")?));
    for (at, column) in summed.iter().enumerate() {
        select.push(Select::Sum(name(column)?, name(&sum_alias(at))?));
    }
    Ok(Query::of(entry.dataset.clone())
        .select(select)
        .filter(condition.clone())
        .group(by)
        .limit(MOST_GROUPS))
}

fn groups_of(rows: Rows) -> Result<Vec<Group>, Failure> {
    rows.rows
        .into_iter()
        .map(|row| {
            let count =
                whole_number(&row, "row_total").ok_or(Failure::Drift("a count is no number"))?;
            Ok(Group { count, row })
        })
        .collect()
}

fn whole_number(row: &Row, column: &str) -> Option<u64> {
    row.get(column)
        .and_then(|raw| raw_text(raw)?.trim().parse().ok())
}

/// A column name that was checked before, or is our own.
fn name(column: &str) -> Result<Column, Failure> {
    Column::new(column).map_err(|_| Failure::Drift("a column's name is no name"))
}
