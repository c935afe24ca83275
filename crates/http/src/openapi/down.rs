//! The document in OpenAPI 3.0.3, for tools that read no other. It says the same, a little less precisely.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Keywords of schemas that 3.0 does not have and that only tell people more.
const DROPPED: [&str; 3] = ["propertyNames", "$comment", "contentEncoding"];

/// Where the licence stands: 3.0 knows no identifiers of licences.
const LICENSE: &str = "https://opensource.org/license/mit";

/// The types of the schemas, by the references to them.
type Types = BTreeMap<String, Value>;

/// The document as OpenAPI 3.0.3.
pub fn to_3_0(document: &Value) -> Value {
    let mut down = document.clone();
    down["openapi"] = "3.0.3".into();
    if let Some(Value::Object(info)) = down.get_mut("info") {
        info.remove("summary");
        if let Some(Value::Object(license)) = info.get_mut("license") {
            license.remove("identifier");
            license.insert("url".into(), LICENSE.into());
        }
    }
    let schemas = document["components"]["schemas"].as_object();
    let types: Types = schemas
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let kind = match &schema["type"] {
                Value::Null => "object".into(),
                kind => kind.clone(),
            };
            (format!("#/components/schemas/{name}"), kind)
        })
        .collect();
    walk(&mut down, Place::Other, &types);
    // A source without data has null there, which a strict reader of 3.0 takes for a fault: to it `nullable` beside a
    // reference says nothing. So what is referred to says it, too; nothing else refers to that.
    for data in data_of_entries(&down) {
        if let Some(Value::Object(data)) = down["components"]["schemas"].get_mut(&data) {
            data.insert("nullable".into(), true.into());
        }
    }
    down
}

/// The names of the schemas that the entries of sources have as data.
fn data_of_entries(document: &Value) -> Vec<String> {
    let schemas = document["components"]["schemas"].as_object();
    schemas
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.ends_with("Entry"))
        .filter_map(|(_, entry)| {
            let target = entry["properties"]["data"]["allOf"][0]["$ref"].as_str()?;
            Some(target.rsplit('/').next()?.to_owned())
        })
        .collect()
}

/// What stands where the walk is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// A schema.
    Schema,
    /// Schemas by name.
    Schemas,
    /// Anything else.
    Other,
}

fn walk(value: &mut Value, place: Place, types: &Types) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter_mut() {
                match (place, key.as_str()) {
                    (Place::Schemas, _) => walk(inner, Place::Schema, types),
                    // Values, not schemas.
                    (_, "example" | "examples" | "enum" | "default" | "const") => {}
                    (Place::Schema, "properties") => walk(inner, Place::Schemas, types),
                    (Place::Schema, _) => walk(inner, Place::Schema, types),
                    (Place::Other, "schema") => walk(inner, Place::Schema, types),
                    (Place::Other, "schemas") => walk(inner, Place::Schemas, types),
                    (Place::Other, _) => walk(inner, Place::Other, types),
                }
            }
            if place == Place::Schema {
                schema(object, types);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, place, types)),
        _ => {}
    }
}

fn schema(schema: &mut Map<String, Value>, types: &Types) {
    for key in DROPPED {
        schema.remove(key);
    }
    if let Some(only) = schema.remove("const") {
        schema.insert("enum".into(), json!([only]));
    }
    if let Some(Value::Array(examples)) = schema.remove("examples")
        && let Some(first) = examples.into_iter().next()
    {
        schema.insert("example".into(), first);
    }
    if let Some(Value::Array(kinds)) = schema.get("type").cloned() {
        several(schema, kinds);
    }
    for key in ["oneOf", "anyOf"] {
        choices(schema, key, types);
    }
    // What stands beside a reference is passed over in 3.0.
    if schema.len() > 1
        && let Some(target) = schema.remove("$ref")
    {
        schema.insert("allOf".into(), json!([{ "$ref": target }]));
    }
}

fn several(schema: &mut Map<String, Value>, kinds: Vec<Value>) {
    let nullable = kinds.iter().any(|kind| kind == "null");
    let real: Vec<Value> = kinds.into_iter().filter(|kind| kind != "null").collect();
    match real.as_slice() {
        [only] => {
            schema.insert("type".into(), only.clone());
            if nullable {
                schema.insert("nullable".into(), true.into());
            }
        }
        _ => {
            schema.remove("type");
            let choices: Vec<Value> = real
                .iter()
                .map(|kind| match nullable {
                    true => json!({"type": kind, "nullable": true}),
                    false => json!({"type": kind}),
                })
                .collect();
            schema.insert("anyOf".into(), Value::Array(choices));
        }
    }
}

/// A choice between a schema and null is that schema, nullable.
fn choices(schema: &mut Map<String, Value>, key: &str, types: &Types) {
    let Some(Value::Array(choices)) = schema.get(key) else {
        return;
    };
    let is_null = |choice: &&Value| choice["type"] == "null";
    if !choices.iter().any(|choice| is_null(&choice)) {
        return;
    }
    let real: Vec<Value> = choices
        .iter()
        .filter(|choice| !is_null(choice))
        .cloned()
        .collect();
    let key = match real.len() {
        1 => {
            schema.remove(key);
            "allOf"
        }
        _ => key,
    };
    // There `nullable` says something beside a type alone.
    let kind = real
        .first()
        .and_then(|choice| types.get(choice["$ref"].as_str()?));
    if let Some(kind) = kind {
        schema.insert("type".into(), kind.clone());
    }
    schema.insert(key.into(), Value::Array(real));
    schema.insert("nullable".into(), true.into());
}
