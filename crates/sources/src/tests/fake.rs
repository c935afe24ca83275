//! A SODA host in memory, as strict as the real one: unknown columns and types that do not fit are refused, nulls come
//! first in a falling order, a null field is left out, every value of a number column is text.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use async_trait::async_trait;
use brownstone_domain::Dollars;
use brownstone_soda::{
    api::{Metadata, Row, Rows, Soda, SodaError},
    query::{Column, Condition, DatasetId, Literal, Query, Select},
};
use serde_json::{Map, Value, json, value::to_raw_value};
use tokio::time::Instant;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Number,
    Checkbox,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) columns: BTreeMap<String, Type>,
    pub(crate) rows: Vec<Map<String, Value>>,
}

impl Table {
    /// A table of these rows; columns are text unless `types` or the values say otherwise.
    pub(crate) fn new(rows: Vec<Value>, types: &[(&str, Type)]) -> Self {
        let mut table = Self::default();
        for row in rows {
            let Value::Object(row) = row else {
                panic!("a row is an object");
            };
            for (name, value) in &row {
                let kind = if value.is_boolean() {
                    Type::Checkbox
                } else {
                    Type::Text
                };
                table.columns.entry(name.clone()).or_insert(kind);
            }
            table.rows.push(row);
        }
        for (name, kind) in types {
            table.columns.insert((*name).to_owned(), *kind);
        }
        table
    }
}

/// What a dataset does instead of answering.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Error(SodaError),
    /// Never answers.
    Silent,
    Panic,
}

#[derive(Default)]
pub(crate) struct FakeSoda {
    tables: Mutex<HashMap<String, Table>>,
    faults: Mutex<HashMap<String, Fault>>,
    log: Mutex<Vec<Query>>,
    /// Whether answers carry the header of fields.
    pub(crate) headers: bool,
    in_flight: AtomicUsize,
    pub(crate) most_in_flight: AtomicUsize,
}

fn refused(code: &str) -> SodaError {
    SodaError::BadQuery {
        code: code.to_owned(),
    }
}

impl FakeSoda {
    pub(crate) fn new() -> Self {
        Self {
            headers: true,
            ..Self::default()
        }
    }

    pub(crate) fn put(&self, dataset: &str, table: Table) {
        self.tables
            .lock()
            .unwrap()
            .insert(dataset.to_owned(), table);
    }

    pub(crate) fn edit(&self, dataset: &str, edit: impl FnOnce(&mut Table)) {
        edit(
            self.tables
                .lock()
                .unwrap()
                .entry(dataset.to_owned())
                .or_default(),
        );
    }

    pub(crate) fn fail(&self, dataset: &str, fault: Fault) {
        self.faults
            .lock()
            .unwrap()
            .insert(dataset.to_owned(), fault);
    }

    /// Ends every fault.
    pub(crate) fn heal(&self) {
        self.faults.lock().unwrap().clear();
    }

    /// Takes a dataset away.
    pub(crate) fn unpublish(&self, dataset: &str) {
        self.tables.lock().unwrap().remove(dataset);
    }

    /// The queries so far.
    pub(crate) fn asked(&self) -> Vec<Query> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn asked_of(&self, dataset: &str) -> Vec<Query> {
        let mut asked = self.asked();
        asked.retain(|query| query.dataset.as_str() == dataset);
        asked
    }

    fn answer(&self, query: &Query) -> Result<Rows, SodaError> {
        let tables = self.tables.lock().unwrap();
        let table = tables
            .get(query.dataset.as_str())
            .ok_or(SodaError::Gone { status: 404 })?;
        let rows: Vec<(String, &Map<String, Value>)> = table
            .rows
            .iter()
            .enumerate()
            .map(|(at, row)| (format!("row-{at:08}"), row))
            .collect();
        let mut kept = Vec::new();
        for (id, row) in rows {
            if match &query.filter {
                Some(filter) => holds(table, &id, row, filter)?,
                None => true,
            } {
                kept.push((id, row));
            }
        }
        let mut answer = if query.is_aggregate() {
            aggregate(table, query, &kept)?
        } else {
            for (column, descending) in query.order.iter().rev() {
                kind(table, column)?;
                kept.sort_by(|a, b| {
                    let order = compare(table, column, a, b);
                    if *descending { order.reverse() } else { order }
                });
            }
            for what in &query.select {
                if let Select::Column(column) = what {
                    kind(table, column)?;
                }
            }
            kept.iter()
                .map(|(id, row)| {
                    let mut sent: Map<String, Value> = (*row).clone();
                    sent.retain(|_, value| !value.is_null());
                    if !query.select.is_empty() && !query.select.contains(&Select::All) {
                        sent.retain(|name, _| {
                            query.select.iter().any(
                                |what| matches!(what, Select::Column(column) if column.as_str() == name),
                            )
                        });
                    }
                    if query.selects_row_id() {
                        sent.insert(":id".to_owned(), json!(id));
                    }
                    sent
                })
                .collect()
        };
        answer = answer
            .into_iter()
            .skip(query.offset as usize)
            .take(query.limit as usize)
            .collect();
        Ok(Rows {
            rows: answer.into_iter().map(row_of).collect(),
            fields: (self.headers && !query.is_aggregate())
                .then(|| table.columns.keys().cloned().collect()),
            types: None,
        })
    }
}

fn row_of(row: Map<String, Value>) -> Row {
    row.into_iter()
        .map(|(name, value)| (name, to_raw_value(&value).unwrap()))
        .collect()
}

fn kind(table: &Table, column: &Column) -> Result<Type, SodaError> {
    if column.is_row_id() {
        return Ok(Type::Text);
    }
    table
        .columns
        .get(column.as_str())
        .copied()
        .ok_or_else(|| SodaError::NoSuchColumn {
            column: column.as_str().to_owned(),
        })
}

fn fits(kind: Type, literal: &Literal) -> Result<(), SodaError> {
    match (kind, literal) {
        (Type::Text, Literal::Text(_))
        | (Type::Number, Literal::Number(_))
        | (Type::Checkbox, Literal::Bool(_)) => Ok(()),
        _ => Err(refused("query.soql.type-mismatch")),
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    text(value)?.trim().parse().ok()
}

fn against(kind: Type, value: Option<&Value>, literal: &Literal) -> Option<Ordering> {
    match (kind, literal) {
        (Type::Number, Literal::Number(wanted)) => number(value)?.partial_cmp(&(*wanted as f64)),
        (_, Literal::Text(wanted)) => Some(text(value)?.cmp(wanted)),
        (_, Literal::Bool(wanted)) => Some(value?.as_bool()?.cmp(wanted)),
        _ => None,
    }
}

fn holds(
    table: &Table,
    id: &str,
    row: &Map<String, Value>,
    condition: &Condition,
) -> Result<bool, SodaError> {
    let value = |column: &Column| row.get(column.as_str());
    Ok(match condition {
        Condition::Eq(column, literal) => {
            let kind = kind(table, column)?;
            fits(kind, literal)?;
            against(kind, value(column), literal) == Some(Ordering::Equal)
        }
        Condition::In(column, literals) => {
            let kind = kind(table, column)?;
            assert!(!literals.is_empty() && literals.len() <= Condition::MAX_IN);
            for literal in literals {
                fits(kind, literal)?;
            }
            literals
                .iter()
                .any(|literal| against(kind, value(column), literal) == Some(Ordering::Equal))
        }
        Condition::Between(column, from, to) => {
            let kind = kind(table, column)?;
            fits(kind, from)?;
            fits(kind, to)?;
            against(kind, value(column), from).is_some_and(Ordering::is_ge)
                && against(kind, value(column), to).is_some_and(Ordering::is_le)
        }
        Condition::StartsWith(column, start) => {
            fits(kind(table, column)?, &Literal::Text(start.clone()))?;
            text(value(column)).is_some_and(|text| text.starts_with(start))
        }
        Condition::Contains(column, part) => {
            fits(kind(table, column)?, &Literal::Text(part.clone()))?;
            text(value(column)).is_some_and(|text| text.contains(part))
        }
        Condition::Gt(column, literal) => {
            let kind = kind(table, column)?;
            fits(kind, literal)?;
            let id = json!(id);
            let value = if column.is_row_id() {
                Some(&id)
            } else {
                value(column)
            };
            against(kind, value, literal) == Some(Ordering::Greater)
        }
        Condition::NotNull(column) | Condition::Null(column) => {
            kind(table, column)?;
            let wanted = matches!(condition, Condition::NotNull(_));
            text(value(column)).is_some() == wanted
        }
        Condition::And(all) => {
            let mut every = true;
            for part in all {
                every &= holds(table, id, row, part)?;
            }
            every
        }
        Condition::Or(any) => {
            let mut some = false;
            for part in any {
                some |= holds(table, id, row, part)?;
            }
            some
        }
    })
}

/// Rising, nulls greatest: so that they come first in a falling order.
fn compare(
    table: &Table,
    column: &Column,
    a: &(String, &Map<String, Value>),
    b: &(String, &Map<String, Value>),
) -> Ordering {
    if column.is_row_id() {
        return a.0.cmp(&b.0);
    }
    let (a, b) = (a.1.get(column.as_str()), b.1.get(column.as_str()));
    match (text(a), text(b)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(left), Some(right)) => {
            if table.columns.get(column.as_str()) == Some(&Type::Number) {
                number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal)
            } else {
                left.cmp(&right)
            }
        }
    }
}

fn aggregate(
    table: &Table,
    query: &Query,
    rows: &[(String, &Map<String, Value>)],
) -> Result<Vec<Map<String, Value>>, SodaError> {
    for column in &query.group {
        kind(table, column)?;
    }
    let mut groups: BTreeMap<Vec<Option<String>>, Vec<&Map<String, Value>>> = BTreeMap::new();
    if query.group.is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    for (_, row) in rows {
        let key = query
            .group
            .iter()
            .map(|column| text(row.get(column.as_str())))
            .collect();
        groups.entry(key).or_default().push(row);
    }
    groups
        .into_values()
        .map(|rows| {
            let mut answer = Map::new();
            for what in &query.select {
                let (name, value) = match what {
                    Select::Column(column) => {
                        if !query.group.contains(column) {
                            return Err(refused("query.soql.column-not-in-group-bys"));
                        }
                        let value = rows.first().and_then(|row| row.get(column.as_str()));
                        (column.as_str(), value.cloned())
                    }
                    Select::All | Select::RowId => {
                        return Err(refused("query.soql.column-not-in-group-bys"));
                    }
                    Select::Count(alias) => (alias.as_str(), Some(json!(rows.len().to_string()))),
                    Select::CountDistinct(column, alias) => {
                        kind(table, column)?;
                        let distinct: HashSet<String> = rows
                            .iter()
                            .filter_map(|row| text(row.get(column.as_str())))
                            .collect();
                        (alias.as_str(), Some(json!(distinct.len().to_string())))
                    }
                    Select::Sum(column, alias) => {
                        if kind(table, column)? != Type::Number {
                            return Err(refused("query.soql.type-mismatch"));
                        }
                        let values: Vec<Dollars> = rows
                            .iter()
                            .filter_map(|row| text(row.get(column.as_str()))?.parse().ok())
                            .collect();
                        // The sum of no value is no value.
                        let sum = (!values.is_empty()).then(|| values.into_iter().sum::<Dollars>());
                        (alias.as_str(), sum.map(|sum| json!(sum.to_string())))
                    }
                    Select::Min(column, alias) | Select::Max(column, alias) => {
                        kind(table, column)?;
                        let values = rows.iter().filter_map(|row| text(row.get(column.as_str())));
                        let value = if matches!(what, Select::Min(..)) {
                            values.min()
                        } else {
                            values.max()
                        };
                        (alias.as_str(), value.map(|text| json!(text)))
                    }
                };
                if let Some(value) = value {
                    answer.insert(name.to_owned(), value);
                }
            }
            Ok(answer)
        })
        .collect()
}

#[async_trait]
impl Soda for FakeSoda {
    async fn rows(&self, query: &Query, deadline: Instant) -> Result<Rows, SodaError> {
        self.log.lock().unwrap().push(query.clone());
        let now = self.in_flight.fetch_add(1, SeqCst) + 1;
        self.most_in_flight.fetch_max(now, SeqCst);
        // Lets the other requests of the same moment start.
        tokio::task::yield_now().await;
        let fault = self
            .faults
            .lock()
            .unwrap()
            .get(query.dataset.as_str())
            .cloned();
        let answer = match fault {
            Some(Fault::Error(error)) => Err(error),
            Some(Fault::Panic) => panic!("a fault of {}", query.dataset),
            Some(Fault::Silent) => {
                tokio::time::sleep_until(deadline + std::time::Duration::from_secs(3_600)).await;
                Err(SodaError::Unavailable("silent".into()))
            }
            None => self.answer(query),
        };
        self.in_flight.fetch_sub(1, SeqCst);
        answer
    }

    async fn metadata(&self, dataset: &DatasetId, _: Instant) -> Result<Metadata, SodaError> {
        let tables = self.tables.lock().unwrap();
        let table = tables
            .get(dataset.as_str())
            .ok_or(SodaError::Gone { status: 404 })?;
        Ok(Metadata {
            name: dataset.to_string(),
            rows_updated_at: None,
            columns: table
                .columns
                .iter()
                .map(|(name, kind)| {
                    let kind = match kind {
                        Type::Text => "text",
                        Type::Number => "number",
                        Type::Checkbox => "checkbox",
                    };
                    (name.clone(), kind.to_owned())
                })
                .collect(),
        })
    }
}

/// A shared fake.
pub(crate) fn fake() -> Arc<FakeSoda> {
    Arc::new(FakeSoda::new())
}
