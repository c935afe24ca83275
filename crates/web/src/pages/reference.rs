//! The API reference: the OpenAPI document's operations, as rows that a page can show.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use serde_json::Value;

/// The reference, made of the document when somebody first reads it.
pub type Reference = Arc<LazyLock<Vec<Operation>, Box<dyn FnOnce() -> Vec<Operation> + Send>>>;

/// A reference of the document that `document` will give.
pub fn reference(document: impl FnOnce() -> Value + Send + 'static) -> Reference {
    Arc::new(LazyLock::new(Box::new(move || operations(&document()))))
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// HTTP method.
    pub method: String,
    /// Path on the API host.
    pub path: String,
    /// What it is, in a line.
    pub summary: String,
    /// What it does.
    pub description: String,
    /// Fields of its body.
    pub fields: Vec<Field>,
    /// Fields of `data`.
    pub answer: Vec<Field>,
    /// Statuses it can have, but for 200.
    pub failures: String,
}

/// A field of a body or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its path within `data`.
    pub name: String,
    /// Its type, with bounds.
    pub kind: String,
    /// Whether a body must have it.
    pub required: bool,
    /// What it means.
    pub about: String,
    /// A value.
    pub example: String,
}

/// Entries of sources have a list of their own.
const ELSEWHERE: &str = "SourceEntries";

/// Every operation that needs a key, in the document's order.
pub fn operations(document: &Value) -> Vec<Operation> {
    let items = document["paths"].as_object().into_iter().flatten();
    items
        .filter(|(path, _)| path.starts_with("/v1/"))
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| of(document, path, method, operation))
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn of(document: &Value, path: &str, method: &str, operation: &Value) -> Operation {
    let json = |value: &Value| value["content"]["application/json"]["schema"].clone();
    let mut fields = Vec::new();
    let body = json(&operation["requestBody"]);
    Walk::new(document).fields(&body, "", &mut fields);
    let mut answer = Vec::new();
    let success = json(&operation["responses"]["200"]);
    let mut walk = Walk::new(document);
    let data = walk.resolve(&success)["properties"]["data"].clone();
    walk.fields(&data, "", &mut answer);
    let statuses = operation["responses"].as_object().into_iter().flatten();
    let failures: Vec<&str> = statuses
        .map(|(status, _)| status.as_str())
        .filter(|status| *status != "200")
        .collect();
    Operation {
        name: text(&operation["operationId"]),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(&operation["summary"]),
        description: text(&operation["description"]),
        fields,
        answer,
        failures: failures.join(", "),
    }
}

/// A walk through an answer: each schema is shown once, where it stands first.
struct Walk<'a> {
    document: &'a Value,
    shown: HashSet<String>,
}

impl<'a> Walk<'a> {
    fn new(document: &'a Value) -> Self {
        Self {
            document,
            shown: HashSet::new(),
        }
    }

    fn resolve<'v>(&self, schema: &'v Value) -> &'v Value
    where
        'a: 'v,
    {
        match schema["$ref"].as_str() {
            Some(target) => self
                .document
                .pointer(target.trim_start_matches('#'))
                .unwrap_or(&Value::Null),
            None => schema,
        }
    }

    fn fields(&mut self, schema: &Value, path: &str, rows: &mut Vec<Field>) {
        if let Some(target) = schema["$ref"].as_str() {
            let name = target.rsplit('/').next().unwrap_or_default();
            if name == ELSEWHERE || !self.shown.insert(name.to_owned()) {
                return;
            }
        }
        let schema = self.resolve(schema).clone();
        for key in ["allOf", "oneOf"] {
            for part in schema[key].as_array().into_iter().flatten() {
                self.fields(part, path, rows);
            }
        }
        if schema["items"].is_object() {
            self.fields(&schema["items"], &format!("{path}[]"), rows);
        }
        let required = |name: &str| {
            let names = schema["required"].as_array().into_iter().flatten();
            names.into_iter().any(|one| one == name)
        };
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            rows.push(Field {
                kind: self.kind(property),
                required: required(name),
                about: self.about(property),
                example: example(property),
                name: path.clone(),
            });
            self.fields(property, &path, rows);
        }
    }

    /// The type in words: `integer, 1 to 50`; `string or null`.
    fn kind(&self, schema: &Value) -> String {
        let own = self.resolve(schema);
        let mut kinds: Vec<String> = match &own["type"] {
            Value::String(kind) => vec![kind.clone()],
            Value::Array(kinds) => kinds.iter().map(text).collect(),
            _ => Vec::new(),
        };
        for key in ["oneOf", "allOf"] {
            for part in own[key].as_array().into_iter().flatten() {
                let kind = self.kind(part);
                if !kind.is_empty() && !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        let bound = |key: &str| own[key].as_number().map(ToString::to_string);
        let mut kind = kinds.join(" or ");
        match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(most)) => kind.push_str(&format!(", {least} to {most}")),
            (Some(least), None) if least != "0" => kind.push_str(&format!(", from {least}")),
            _ => {}
        }
        if let Some(values) = own["enum"].as_array() {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            kind.push_str(&format!(": {}", values.join(", ")));
        }
        kind
    }

    /// What is said of the field itself, else of its type; the first line of it.
    fn about(&self, schema: &Value) -> String {
        let said = match schema["description"].as_str() {
            Some(said) => said,
            None => self.resolve(schema)["description"]
                .as_str()
                .unwrap_or_default(),
        };
        said.lines().next().unwrap_or_default().replace('`', "")
    }
}

fn example(schema: &Value) -> String {
    match &schema["examples"][0] {
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_is_its_fields_in_words() {
        let document = json!({
            "paths": {
                "/healthz": {"get": {"operationId": "getHealth"}},
                "/v1/comps": {"post": {
                    "operationId": "getComps", "summary": "Sales", "description": "Closed sales.",
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}},
                    "responses": {
                        "200": {"content": {"application/json": {"schema": {"properties": {"data": {"$ref": "#/components/schemas/Data"}}}}}},
                        "400": {},
                    },
                }},
            },
            "components": {"schemas": {
                "Request": {"type": "object", "required": ["limit"], "properties": {
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many.", "examples": [5]},
                }},
                "Data": {"properties": {
                    "first": {"oneOf": [{"$ref": "#/components/schemas/Sale"}, {"type": "null"}], "description": "The first."},
                    "sales": {"type": "array", "items": {"$ref": "#/components/schemas/Sale"}, "description": "All."},
                }},
                "Sale": {"type": "object", "properties": {"price": {"type": ["integer", "null"], "description": "`US` dollars."}}},
            }},
        });
        let all = operations(&document);
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!(
            (one.method.as_str(), one.failures.as_str()),
            ("POST", "400")
        );
        let row = |field: &Field| {
            format!(
                "{}: {} ({}) {}",
                field.name, field.kind, field.about, field.example
            )
        };
        assert_eq!(
            one.fields.iter().map(row).collect::<Vec<_>>(),
            ["limit: integer, 1 to 50 (How many.) 5"]
        );
        assert!(one.fields[0].required);
        // A schema is shown once.
        assert_eq!(
            one.answer.iter().map(row).collect::<Vec<_>>(),
            [
                "first: object or null (The first.) ",
                "first.price: integer or null (US dollars.) ",
                "sales: array (All.) ",
            ]
        );
    }
}
