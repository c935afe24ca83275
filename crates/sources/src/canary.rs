//! Whether the publishers' tables still are what the catalogue says, told by their own metadata.

use std::collections::BTreeMap;

use brownstone_soda::{DatasetId, Metadata, SodaError};
use futures::{StreamExt, stream};
use tokio::time::Instant;

use crate::{
    CatalogueError, Deps, Publisher,
    catalogue::{Entry, FILES, parse, spec::Host, spec::LiteralType},
    shape::Shape,
};

/// Questions at a time: this is an operator's look, not a report.
const AT_ONCE: usize = 8;

/// What differs between a dataset and what the catalogue says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The source that asks the dataset.
    pub source: String,
    /// The dataset.
    pub dataset: DatasetId,
    /// Columns the catalogue knows and the dataset does not have: null in records, and what is summed up from them is
    /// not known.
    pub missing: Vec<String>,
    /// Columns the dataset has and the catalogue does not know: shown as they come.
    pub unknown: Vec<String>,
    /// Key columns of another type than the catalogue states, and the type they have: asked the other way.
    pub retyped: Vec<(String, String)>,
    /// Key columns that are gone: the source errs until the catalogue is changed.
    pub keys_gone: Vec<String>,
    /// Why the dataset could not be looked at, where it could not.
    pub unreadable: Option<String>,
}

impl Drift {
    /// Whether nothing differs.
    pub fn is_none(&self) -> bool {
        self.missing.is_empty()
            && self.unknown.is_empty()
            && self.retyped.is_empty()
            && self.keys_gone.is_empty()
            && self.unreadable.is_none()
    }
}

/// Compares every dataset of the catalogue with its publisher's metadata; what differs, in the order of the report.
///
/// # Errors
/// When a file of the catalogue is wrong. A publisher who does not answer is no error but a [`Drift::unreadable`].
pub async fn drifts(deps: &Deps, deadline: Instant) -> Result<Vec<Drift>, CatalogueError> {
    let mut checks = Vec::new();
    for (key, text) in FILES {
        let entry = parse(&format!("{key}.toml"), text)?;
        let keys = keys_of(&entry);
        // A module's records are put together from several datasets: of its main one only the keys are known.
        let shape = entry.module.is_none().then(|| entry.shape.clone());
        checks.push(Check {
            source: (*key).to_owned(),
            host: entry.host,
            dataset: entry.dataset.clone(),
            shape,
            keys,
        });
        for child in entry.children {
            checks.push(Check {
                source: (*key).to_owned(),
                host: entry.host,
                dataset: child.dataset,
                keys: BTreeMap::from([(child.column.as_str().to_owned(), child.literal)]),
                shape: Some(child.shape),
            });
        }
    }
    let drifts: Vec<Drift> = stream::iter(checks)
        .map(|check| async move {
            let publisher: &Publisher = match check.host {
                Host::City => &deps.city,
                Host::State => &deps.state,
            };
            let metadata = publisher.soda.metadata(&check.dataset, deadline).await;
            check.against(metadata)
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    Ok(drifts
        .into_iter()
        .filter(|drift| !drift.is_none())
        .collect())
}

struct Check {
    source: String,
    host: Host,
    dataset: DatasetId,
    /// Key columns and the types that the catalogue states.
    keys: BTreeMap<String, LiteralType>,
    shape: Option<Shape>,
}

fn keys_of(entry: &Entry) -> BTreeMap<String, LiteralType> {
    entry
        .rules
        .iter()
        .flat_map(|rule| &rule.columns)
        .map(|part| (part.column.as_str().to_owned(), part.literal))
        .collect()
}

impl Check {
    fn against(self, metadata: Result<Metadata, SodaError>) -> Drift {
        let mut drift = Drift {
            source: self.source,
            dataset: self.dataset,
            missing: Vec::new(),
            unknown: Vec::new(),
            retyped: Vec::new(),
            keys_gone: Vec::new(),
            unreadable: None,
        };
        let columns = match metadata {
            Ok(metadata) => metadata.columns,
            Err(error) => {
                drift.unreadable = Some(error.to_string());
                return drift;
            }
        };
        let kind_of = |name: &str| {
            columns
                .iter()
                .find(|(column, _)| column == name)
                .map(|(_, kind)| kind.as_str())
        };
        for (key, stated) in &self.keys {
            match kind_of(key) {
                None => drift.keys_gone.push(key.clone()),
                Some(kind) if (kind == "number") != (*stated == LiteralType::Number) => {
                    drift.retyped.push((key.clone(), kind.to_owned()));
                }
                Some(_) => {}
            }
        }
        let Some(shape) = self.shape else {
            return drift;
        };
        drift.missing = shape
            .names()
            .filter(|name| kind_of(name).is_none() && !self.keys.contains_key(*name))
            .map(str::to_owned)
            .collect();
        drift.unknown = columns
            .into_iter()
            .map(|(column, _)| column)
            // What begins so is the platform's own.
            .filter(|column| !column.starts_with([':', '@']))
            .filter(|column| !shape.has(column) && !shape.leaves_out(column))
            .collect();
        drift
    }
}
