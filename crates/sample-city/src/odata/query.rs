//! The query options to a page of entities.

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Entity,
    evaluate::in_order,
    fields::{Edm, Resource},
    filter,
};

/// Entities of a page where the client does not say.
const DEFAULT_PAGE: usize = 100;
/// Entities of a page, whatever the client says.
const LARGEST_PAGE: usize = 200;
const IN_A_QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A request that cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The option at fault.
    pub(crate) target: &'static str,
}

impl Refusal {
    fn new(target: &'static str, message: String) -> Self {
        Self {
            status: 400,
            message,
            target,
        }
    }

    pub(super) fn filter(why: &str) -> Self {
        Self::new("$filter", format!("The filter does not read: {why}."))
    }

    pub(super) fn no_field(resource: &Resource, target: &'static str, field: &str) -> Self {
        let message = format!(
            "Could not find a property named '{field}' on {}.",
            resource.name
        );
        Self::new(target, message)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self {
            status: 404,
            message: format!("{what} does not exist."),
            target: "path",
        }
    }
}

/// What is asked for.
#[derive(Debug, Default)]
struct Options {
    filter: Option<filter::Condition>,
    order: Vec<(String, Edm, bool)>,
    select: Option<Vec<String>>,
    expand: Vec<&'static str>,
    top: Option<usize>,
    skip: usize,
    count: bool,
    /// Where the page begins: after this key, or at this place.
    from: Option<Start>,
    /// What the next page is asked with, besides where it begins.
    kept: Vec<(String, String)>,
}

#[derive(Debug)]
enum Start {
    Key(String),
    Place(usize),
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    entities: Vec<Entity>,
    count: Option<usize>,
    /// The query of the next page.
    next: Option<String>,
}

impl Page {
    /// The body. `root` is the address of the service.
    pub(crate) fn body(self, root: &str, resource: &Resource) -> Value {
        let mut body = serde_json::Map::new();
        let name = resource.name;
        body.insert(
            "@odata.context".into(),
            format!("{root}/$metadata#{name}").into(),
        );
        if let Some(count) = self.count {
            body.insert("@odata.count".into(), count.into());
        }
        body.insert("value".into(), json!(self.entities));
        if let Some(next) = self.next {
            body.insert(
                "@odata.nextLink".into(),
                format!("{root}/{name}?{next}").into(),
            );
        }
        body.into()
    }
}

/// Reads a number of entities.
fn number(name: &'static str, value: &str) -> Result<usize, Refusal> {
    (value.trim().parse()).map_err(|_| {
        Refusal::new(
            name,
            format!("Invalid value '{value}' for {name}: a whole number from 0."),
        )
    })
}

fn options(resource: &Resource, params: &[(String, String)]) -> Result<Options, Refusal> {
    let mut options = Options::default();
    for (name, value) in params {
        let mut keep = true;
        match name.as_str() {
            "$filter" => options.filter = Some(filter::parse(resource, value)?),
            "$orderby" => {
                for part in value.split(',') {
                    let mut words = part.split_whitespace();
                    let field = words.next().unwrap_or("");
                    let kind = (resource.field(field))
                        .ok_or_else(|| Refusal::no_field(resource, "$orderby", field))?;
                    let descending = match words.next() {
                        None | Some("asc") => false,
                        Some("desc") => true,
                        Some(word) => {
                            let message = format!("'{word}' is neither asc nor desc.");
                            return Err(Refusal::new("$orderby", message));
                        }
                    };
                    options.order.push((field.to_owned(), kind, descending));
                }
            }
            "$select" => {
                let mut fields = vec![resource.key.to_owned()];
                for field in value.split(',').map(str::trim) {
                    if resource.field(field).is_none() {
                        return Err(Refusal::no_field(resource, "$select", field));
                    }
                    if !fields.iter().any(|known| known == field) {
                        fields.push(field.to_owned());
                    }
                }
                options.select = Some(fields);
            }
            "$expand" => {
                for name in value.split(',').map(str::trim) {
                    let known = resource.expands.iter().find(|known| **known == name);
                    let known =
                        known.ok_or_else(|| Refusal::no_field(resource, "$expand", name))?;
                    options.expand.push(known);
                }
            }
            "$top" => {
                options.top = Some(number("$top", value)?);
                keep = false;
            }
            "$skip" => {
                options.skip = number("$skip", value)?;
                keep = false;
            }
            "$count" => {
                options.count = match value.as_str() {
                    "true" => true,
                    "false" => false,
                    _ => {
                        let message = format!("Invalid value '{value}' for $count: true or false.");
                        return Err(Refusal::new("$count", message));
                    }
                }
            }
            "$skiptoken" => {
                let bad = || Refusal::new("$skiptoken", "The token is not one of ours.".into());
                options.from = Some(match value.split_at_checked(1).ok_or_else(bad)? {
                    ("k", key) => Start::Key(key.to_owned()),
                    ("p", place) => Start::Place(place.parse().map_err(|_| bad())?),
                    _ => return Err(bad()),
                });
                keep = false;
            }
            _ => {
                let message = format!("The query option '{name}' is not supported.");
                return Err(Refusal::new("query", message));
            }
        }
        if keep {
            options.kept.push((name.clone(), value.clone()));
        }
    }
    Ok(options)
}

/// A page of the entities. `preferred` is the page size of the `Prefer` header.
pub(crate) fn page(
    resource: &Resource,
    entities: &[Arc<Entity>],
    params: &[(String, String)],
    preferred: Option<usize>,
) -> Result<Page, Refusal> {
    let options = options(resource, params)?;
    let mut found: Vec<&Arc<Entity>> = (entities.iter())
        .filter(|entity| (options.filter.as_ref()).is_none_or(|filter| filter.holds(entity)))
        .collect();
    let by_key =
        |left: &&Arc<Entity>, right: &&Arc<Entity>| in_order(Edm::Text, resource.key, left, right);
    found.sort_by(|left, right| {
        for (field, kind, descending) in &options.order {
            let ordering = in_order(*kind, field, left, right);
            let ordering = if *descending {
                ordering.reverse()
            } else {
                ordering
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        by_key(left, right)
    });
    let count = options.count.then_some(found.len());
    let key_of = |entity: &Entity| {
        let key = entity.get(resource.key).and_then(Value::as_str);
        key.unwrap_or("").to_owned()
    };
    let start = match &options.from {
        // Behind the key: what came or went meanwhile moves nothing.
        Some(Start::Key(key)) => found.partition_point(|entity| key_of(entity) <= *key),
        Some(Start::Place(place)) => *place,
        None => options.skip,
    };
    let most = preferred.unwrap_or(DEFAULT_PAGE.max(options.top.unwrap_or(0)));
    let wanted = options.top.unwrap_or(usize::MAX);
    let size = wanted.min(most).min(LARGEST_PAGE);
    let shown = found.get(start..).unwrap_or(&[]);
    let shown = shown.get(..size).unwrap_or(shown);
    let end = start.saturating_add(shown.len());
    let more = end < found.len() && wanted > size && size > 0;
    let next = more.then(|| {
        let mut params = options.kept.clone();
        if options.top.is_some() {
            params.push(("$top".into(), (wanted - size).to_string()));
        }
        let last = shown
            .last()
            .map(|entity| key_of(entity))
            .unwrap_or_default();
        // By the key, which is the order where none is asked for, a page begins behind the last one's end; by anything
        // else at a place.
        let by_key = match options.order.as_slice() {
            [] => true,
            [(field, _, descending), ..] => field == resource.key && !descending,
        };
        let token = match by_key {
            true => format!("k{last}"),
            false => format!("p{end}"),
        };
        params.push(("$skiptoken".into(), token));
        let encode = |(name, value): &(String, String)| {
            format!("{name}={}", utf8_percent_encode(value, IN_A_QUERY))
        };
        params.iter().map(encode).collect::<Vec<_>>().join("&")
    });
    Ok(Page {
        entities: shown
            .iter()
            .map(|entity| view(resource, entity, &options))
            .collect(),
        count,
        next,
    })
}

/// The entity with this key.
pub(crate) fn entity(
    resource: &Resource,
    entities: &[Arc<Entity>],
    key: &str,
    params: &[(String, String)],
    root: &str,
) -> Result<Value, Refusal> {
    let options = options(resource, params)?;
    let found = (entities.iter())
        .find(|entity| entity.get(resource.key).and_then(Value::as_str) == Some(key))
        .ok_or_else(|| Refusal::not_found(&format!("{}('{key}')", resource.name)))?;
    let mut body = Entity::new();
    let context = format!("{root}/$metadata#{}/$entity", resource.name);
    body.insert("@odata.context".into(), context.into());
    body.extend(view(resource, found, &options));
    Ok(body.into())
}

/// What is shown of an entity: what is selected, and of what hangs on it what is expanded.
fn view(resource: &Resource, entity: &Entity, options: &Options) -> Entity {
    let shown = |name: &str| {
        if resource.expands.contains(&name) {
            return options.expand.contains(&name);
        }
        (options.select.as_ref()).is_none_or(|fields| fields.iter().any(|field| field == name))
    };
    (entity.iter())
        .filter(|(name, _)| shown(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
