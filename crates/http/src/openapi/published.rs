//! What has been published of the answers: each field's path and type, each code's status. It only grows.

use std::collections::{BTreeMap, BTreeSet};

use brownstone_domain::ERROR_CODES;
use serde_json::Value;

/// Each response field of a document with its type, by its path: `lookupProperty 200 data.bbl` is `null|string`.
pub fn fields(document: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for row in &ERROR_CODES {
        found.insert(format!("error {}", row.name), row.status.to_string());
    }
    let paths = document["paths"].as_object().into_iter().flatten();
    for operation in paths.flat_map(|(_, item)| item.as_object().into_iter().flatten()) {
        let (_, operation) = operation;
        let id = operation["operationId"].as_str().unwrap_or_default();
        let responses = operation["responses"].as_object().into_iter().flatten();
        for (status, response) in responses {
            let response = resolve(document, response);
            let schema = &response["content"]["application/json"]["schema"];
            if !schema.is_null() {
                walk(document, schema, &format!("{id} {status} "), &mut found, 0);
            }
        }
    }
    found
}

/// What a document took back or changed of what was published: one line each.
pub fn broken(published: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    published
        .iter()
        .filter_map(|(path, kind)| match now.get(path) {
            None => Some(format!("{path} was {kind} and is gone")),
            Some(other) if other != kind => Some(format!("{path} was {kind} and is {other}")),
            Some(_) => None,
        })
        .collect()
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(target) => document
            .pointer(target.trim_start_matches('#'))
            .unwrap_or(&Value::Null),
        None => value,
    }
}

/// Deeper than any answer: a schema that holds itself ends here.
const DEEPEST: usize = 24;

fn walk(
    document: &Value,
    schema: &Value,
    path: &str,
    found: &mut BTreeMap<String, String>,
    depth: usize,
) {
    if depth > DEEPEST {
        return;
    }
    let schema = resolve(document, schema);
    let deeper = |schema: &Value, path: &str, found: &mut BTreeMap<String, String>| {
        walk(document, schema, path, found, depth + 1);
    };
    for key in ["allOf", "oneOf", "anyOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            deeper(part, path, found);
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let inner = match path.ends_with(' ') {
            true => format!("{path}{name}"),
            false => format!("{path}.{name}"),
        };
        found.insert(inner.clone(), kind(document, property));
        deeper(property, &inner, found);
    }
    if schema["items"].is_object() {
        deeper(&schema["items"], &format!("{path}[]"), found);
    }
    if schema["additionalProperties"].is_object() {
        deeper(
            &schema["additionalProperties"],
            &format!("{path}{{}}"),
            found,
        );
    }
}

/// The types that a schema allows, in order.
fn kind(document: &Value, schema: &Value) -> String {
    let mut kinds = BTreeSet::new();
    gather(document, schema, &mut kinds);
    let kinds: Vec<_> = kinds.into_iter().collect();
    match kinds.is_empty() {
        true => "any".to_owned(),
        false => kinds.join("|"),
    }
}

fn gather(document: &Value, schema: &Value, kinds: &mut BTreeSet<String>) {
    let schema = resolve(document, schema);
    match &schema["type"] {
        Value::String(kind) => {
            kinds.insert(kind.clone());
        }
        Value::Array(several) => {
            kinds.extend(several.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        _ => {}
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            gather(document, part, kinds);
        }
    }
}

/// One line a field, in order, as it is kept in the repository.
pub fn to_text(fields: &BTreeMap<String, String>) -> String {
    fields
        .iter()
        .map(|(path, kind)| format!("{path}: {kind}\n"))
        .collect()
}

/// Reads what [`to_text`] wrote.
pub fn from_text(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.rsplit_once(": "))
        .map(|(path, kind)| (path.to_owned(), kind.to_owned()))
        .collect()
}
