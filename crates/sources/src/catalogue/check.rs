//! From a file's text to an entry that can be run, with errors that name the file and the field.

use std::collections::HashSet;

use brownstone_domain::MatchedBy;
use brownstone_soda::{Column, Condition, DatasetId};

use super::spec::{Fetch, Host, RawEntry, SummaryOf};
use crate::{
    FieldInfo, FieldKind, LotKind, SourceInfo, matching::MatchRule, order::Order, shape::Shape,
    summary::Summary,
};

/// A fault in the catalogue: the program was built wrong and should not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// The file is no TOML, lacks a field, or has one that nobody knows.
    #[error("{file}: {message}")]
    Unreadable {
        /// The file.
        file: String,
        /// What is wrong and where.
        message: String,
    },
    /// A field says something that cannot be.
    #[error("{file}: {field}: {why}")]
    Field {
        /// The file.
        file: String,
        /// The field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// A checked catalogue entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) info: SourceInfo,
    pub(crate) dataset: DatasetId,
    pub(crate) host: Host,
    pub(crate) also: Vec<(String, DatasetId)>,
    pub(crate) module: Option<String>,
    pub(crate) rules: Vec<MatchRule>,
    pub(crate) order: Order,
    pub(crate) fetch: Fetch,
    pub(crate) row_key: Vec<Column>,
    pub(crate) only: Vec<Condition>,
    pub(crate) bounded: bool,
    pub(crate) latest_by: Option<Column>,
    pub(crate) condominium: Option<Column>,
    pub(crate) shape: Shape,
    pub(crate) summary: Vec<Summary>,
    pub(crate) children: Vec<Child>,
    pub(crate) lookups: Vec<Lookup>,
}

/// Rows of another dataset that belong to a record and stand inside it.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) field: String,
    pub(crate) dataset: DatasetId,
    pub(crate) parent: String,
    pub(crate) column: Column,
    pub(crate) literal: super::spec::LiteralType,
    pub(crate) order: Option<Column>,
    pub(crate) shape: Shape,
}

/// A code's text, from the publisher's own table of codes.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    pub(crate) field: String,
    pub(crate) column: String,
    pub(crate) dataset: DatasetId,
    pub(crate) code: Column,
    pub(crate) text: Column,
}

impl Entry {
    /// The dataset a module asks in this role.
    pub(crate) fn also(&self, role: &str) -> Option<&DatasetId> {
        self.also
            .iter()
            .find(|(name, _)| name == role)
            .map(|(_, dataset)| dataset)
    }
}

/// Reads and checks one file.
///
/// # Errors
/// With the file's name, the field, and what is wrong with it.
pub(crate) fn parse(file: &str, text: &str) -> Result<Entry, CatalogueError> {
    let raw: RawEntry = toml::from_str(text).map_err(|error| CatalogueError::Unreadable {
        file: file.to_owned(),
        message: error.to_string(),
    })?;
    Checker { file }.entry(raw)
}

pub(super) struct Checker<'a> {
    file: &'a str,
}

impl Checker<'_> {
    pub(super) fn fault<T>(
        &self,
        field: impl Into<String>,
        why: impl Into<String>,
    ) -> Result<T, CatalogueError> {
        Err(CatalogueError::Field {
            file: self.file.to_owned(),
            field: field.into(),
            why: why.into(),
        })
    }

    fn entry(&self, raw: RawEntry) -> Result<Entry, CatalogueError> {
        if format!("{}.toml", raw.key) != self.file {
            return self.fault("key", "is not the file's name");
        }
        let well_named = ["nyc_", "nys_", "us_"]
            .iter()
            .any(|start| raw.key.starts_with(start))
            && raw
                .key
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !well_named {
            return self.fault("key", "begins with nyc_, nys_ or us_, lower case");
        }
        for (field, text) in [
            ("title", &raw.title),
            ("tells", &raw.tells),
            ("publisher", &raw.publisher),
        ] {
            if text.trim().is_empty() {
                return self.fault(field, "is empty");
            }
        }
        let dataset = self.dataset("dataset", &raw.dataset)?;
        let shape = self
            .shape("columns", &raw.columns)?
            .without(raw.leave_out, raw.private);
        // A module may ask one dataset and show another.
        let rules = self.rules(
            &raw.matches,
            raw.fetch,
            raw.module.is_none().then_some(&shape),
        )?;
        if rules.is_empty() && raw.module.is_none() {
            return self.fault("match", "a source without a module needs a way to be asked");
        }
        let mut key_columns = rules.iter().flat_map(|rule| &rule.columns);
        if raw.lot == LotKind::Building && key_columns.any(|column| column.listed) {
            return self.fault(
                "match",
                "a list is looked through for one kind of key: no lot = \"building\"",
            );
        }
        let order = self.order(&raw.order, raw.fetch, &shape)?;
        let row_key = raw
            .row_key
            .iter()
            .map(|column| self.known("row_key", column, &shape))
            .collect::<Result<Vec<_>, _>>()?;
        if row_key.len() > 1 && raw.fetch == Fetch::Newest {
            return self.fault(
                "row_key",
                "the publisher counts distinct values of one column only: fetch all, or name one",
            );
        }
        if raw.bounded && order.date_column().is_none() {
            return self.fault("bounded", "needs a date to be bounded by");
        }
        if raw.latest_by.is_some() && raw.fetch == Fetch::Newest {
            return self.fault("latest_by", "needs every row: fetch = \"all\"");
        }
        let latest_by = raw
            .latest_by
            .as_deref()
            .map(|column| self.known("latest_by", column, &shape))
            .transpose()?;
        if raw.condominium.is_some() && (raw.fetch == Fetch::Newest || raw.lot != LotKind::Base) {
            return self.fault("condominium", "needs every row of the base lots");
        }
        let condominium = raw
            .condominium
            .as_deref()
            .map(|column| self.known("condominium", column, &shape))
            .transpose()?;
        let mut only = Vec::new();
        for part in &raw.only {
            let column = self.known("only", &part.column, &shape)?;
            let values = part.one_of.iter().map(String::as_str);
            match Condition::any_of(column, values) {
                Some(condition) => only.push(condition),
                None => return self.fault("only", "names no value"),
            }
        }
        let mut names = HashSet::new();
        let summary = raw
            .summary
            .iter()
            .map(|field| self.summary(field, raw.fetch, &shape, &mut names))
            .collect::<Result<Vec<_>, _>>()?;
        let mut children = Vec::new();
        for child in &raw.child {
            let at = format!("child {}", child.field);
            if shape.has(&child.field) {
                return self.fault(at, "is also a column");
            }
            if !shape.has(&child.parent) {
                return self.fault(at, format!("no column {}", child.parent));
            }
            children.push(Child {
                field: child.field.clone(),
                dataset: self.dataset(&at, &child.dataset)?,
                parent: child.parent.clone(),
                column: self.column(&at, &child.column)?,
                literal: child.literal,
                order: child
                    .order
                    .as_deref()
                    .map(|column| self.column(&at, column))
                    .transpose()?,
                shape: self.shape(&at, &child.columns)?,
            });
        }
        let mut lookups = Vec::new();
        for lookup in &raw.lookup {
            let at = format!("lookup {}", lookup.field);
            if shape.has(&lookup.field) {
                return self.fault(at, "is also a column");
            }
            if !shape.has(&lookup.column) {
                return self.fault(at, format!("no column {}", lookup.column));
            }
            lookups.push(Lookup {
                field: lookup.field.clone(),
                column: lookup.column.clone(),
                dataset: self.dataset(&at, &lookup.dataset)?,
                code: self.column(&at, &lookup.code)?,
                text: self.column(&at, &lookup.text)?,
            });
        }
        let also = raw
            .also
            .iter()
            .map(|also| Ok((also.role.clone(), self.dataset("also", &also.dataset)?)))
            .collect::<Result<Vec<_>, CatalogueError>>()?;

        let mut datasets = vec![raw.dataset.clone()];
        datasets.extend(
            also.iter()
                .map(|(_, dataset)| dataset)
                .chain(children.iter().map(|child| &child.dataset))
                .chain(lookups.iter().map(|lookup| &lookup.dataset))
                .map(ToString::to_string),
        );
        let mut fields = shape.fields();
        fields.extend(raw.lookup.iter().map(|lookup| FieldInfo {
            name: lookup.field.clone(),
            kind: FieldKind::Text,
            tells: lookup.tells.clone(),
        }));
        fields.extend(raw.child.iter().map(|child| FieldInfo {
            name: child.field.clone(),
            kind: FieldKind::Json,
            tells: child.tells.clone(),
        }));
        let host = match raw.host {
            Host::City => "data.cityofnewyork.us",
            Host::State => "data.ny.gov",
        };
        let info = SourceInfo {
            key: raw.key,
            title: raw.title,
            tells: raw.tells,
            publisher: raw.publisher,
            url: raw
                .page
                .unwrap_or_else(|| format!("https://{host}/d/{dataset}")),
            datasets,
            matched_by: matched_by(&rules, raw.lot),
            lot: raw.lot,
            cadence_days: raw.cadence_days,
            fields,
            summary: summary
                .iter()
                .map(|field| FieldInfo {
                    name: field.name.clone(),
                    kind: match field.of {
                        SummaryOf::First => shape.kind(&field.column).unwrap_or(FieldKind::Text),
                        _ => field.kind(),
                    },
                    tells: field.tells.clone(),
                })
                .collect(),
            traps: raw.traps,
            slow: raw.slow,
        };
        Ok(Entry {
            info,
            dataset,
            host: raw.host,
            also,
            module: raw.module,
            rules,
            order,
            fetch: raw.fetch,
            row_key,
            only,
            bounded: raw.bounded,
            latest_by,
            condominium,
            shape,
            summary,
            children,
            lookups,
        })
    }

    fn dataset(&self, field: &str, id: &str) -> Result<DatasetId, CatalogueError> {
        DatasetId::new(id).or_else(|error| self.fault(field, error.to_string()))
    }

    pub(super) fn column(&self, field: &str, name: &str) -> Result<Column, CatalogueError> {
        Column::new(name).or_else(|error| self.fault(field, error.to_string()))
    }

    pub(super) fn known(
        &self,
        field: &str,
        name: &str,
        shape: &Shape,
    ) -> Result<Column, CatalogueError> {
        if !shape.has(name) {
            return self.fault(field, format!("{name} is not among the columns"));
        }
        self.column(field, name)
    }

    /// `name` or `name: kind`.
    fn shape(&self, field: &str, columns: &[String]) -> Result<Shape, CatalogueError> {
        if columns.is_empty() {
            return self.fault(field, "is empty");
        }
        let mut seen = HashSet::new();
        let mut checked = Vec::with_capacity(columns.len());
        for column in columns {
            let (name, kind) = column
                .split_once(':')
                .map_or((column.as_str(), "text"), |(name, kind)| {
                    (name, kind.trim())
                });
            let kind = match kind {
                "text" => FieldKind::Text,
                "date" => FieldKind::Date,
                "id" => FieldKind::Identifier,
                "number" => FieldKind::Number,
                "money" => FieldKind::Money,
                "checkbox" => FieldKind::Checkbox,
                "json" => FieldKind::Json,
                other => {
                    return self.fault(field, format!("{name}: {other} is no kind of column"));
                }
            };
            self.column(field, name)?;
            if !seen.insert(name) {
                return self.fault(field, format!("{name} stands twice"));
            }
            checked.push((name.to_owned(), kind));
        }
        Ok(Shape::new(checked))
    }
}

fn matched_by(rules: &[MatchRule], lot: LotKind) -> Vec<MatchedBy> {
    let mut all = Vec::new();
    for rule in rules {
        let ways: &[MatchedBy] = match (rule.by_bin(), lot) {
            (true, _) => &[MatchedBy::Bin],
            (false, LotKind::Unit) => &[MatchedBy::UnitBbl, MatchedBy::Bbl],
            (false, _) => &[MatchedBy::Bbl],
        };
        for way in ways {
            if !all.contains(way) {
                all.push(*way);
            }
        }
    }
    all
}
