//! Schemas of the domain's answers, and of the requests by their table.

use std::collections::BTreeMap;

use brownstone_domain::{
    Bin, CacheInfo, CompsAnswer, ErrorBody, Meta, OPERATIONS, Operation, OperationSpec, Property,
    RatesAnswer, SearchAnswer, SourceStatus, UpdatesAnswer,
    arguments::{argument, required},
    rentals::RentalsAnswer,
    report::MatchedBy,
    usage::Usage,
};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{examples, object, reference};

/// The schemas by name.
pub(super) type Schemas = Map<String, Value>;

/// The name of an operation's request schema.
pub(super) fn request_name(spec: &OperationSpec) -> String {
    format!("{}Request", pascal(spec.name))
}

/// The name of an operation's answer schema, envelope included.
pub(super) fn answer_name(spec: &OperationSpec) -> String {
    format!("{}Response", pascal(spec.name))
}

/// `nyc_ecb` and `lookupProperty` as a type is called: `NycEcb`, `LookupProperty`.
pub(super) fn pascal(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut upper = true;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            text.extend(c.to_uppercase());
        } else {
            text.push(c);
        }
    }
    text
}

fn collect<T: ToSchema>(into: &mut BTreeMap<String, Value>) {
    let mut found = Vec::new();
    T::schemas(&mut found);
    found.push((T::name().into_owned(), T::schema()));
    for (name, schema) in found {
        if let Ok(schema) = serde_json::to_value(schema) {
            into.insert(name, schema);
        }
    }
}

/// Every schema but those of the sources.
pub(super) fn schemas() -> Schemas {
    let mut found = BTreeMap::new();
    collect::<ErrorBody>(&mut found);
    collect::<Meta>(&mut found);
    collect::<Property>(&mut found);
    collect::<CacheInfo>(&mut found);
    collect::<SourceStatus>(&mut found);
    collect::<MatchedBy>(&mut found);
    collect::<Bin>(&mut found);
    collect::<SearchAnswer>(&mut found);
    collect::<CompsAnswer>(&mut found);
    collect::<RentalsAnswer>(&mut found);
    collect::<UpdatesAnswer>(&mut found);
    collect::<RatesAnswer>(&mut found);
    collect::<Usage>(&mut found);
    let mut schemas: Schemas = found.into_iter().collect();
    for spec in &OPERATIONS {
        if !spec.fields.is_empty() {
            schemas.insert(request_name(spec), request(spec));
        }
        schemas.insert(answer_name(spec), answer(spec));
    }
    schemas
}

/// The name of `data` of an operation.
pub(super) const fn data_name(operation: Operation) -> &'static str {
    match operation {
        Operation::LookupProperty => "LookupAnswer",
        Operation::SearchListings => "SearchAnswer",
        Operation::GetComps => "CompsAnswer",
        Operation::GetRentalEstimates => "RentalsAnswer",
        Operation::GetListingUpdates => "UpdatesAnswer",
        Operation::GetMortgageRates => "RatesAnswer",
        Operation::GetUsage => "Usage",
    }
}

fn answer(spec: &OperationSpec) -> Value {
    json!({
        "type": "object",
        "description": format!("A success of `{}`.", spec.name),
        "properties": {"data": reference(data_name(spec.operation)), "meta": reference("Meta")},
    })
}

fn request(spec: &OperationSpec) -> Value {
    let mut properties = Map::new();
    for name in spec.fields {
        let Some(row) = argument(spec.operation, name) else {
            continue;
        };
        let mut property = object(json!({"description": row.about}));
        property.extend(row.kind.schema());
        if let Ok(example) = serde_json::from_str::<Value>(row.example) {
            property.insert("examples".into(), json!([example]));
        }
        properties.insert((*name).to_owned(), Value::Object(property));
    }
    let mut schema = object(json!({
        "type": "object",
        "description": format!("The body of `{} {}`. No other field is accepted.", spec.method.as_str(), spec.path),
        "properties": properties,
        "additionalProperties": false,
    }));
    let required = required(spec.operation);
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    Value::Object(schema)
}

/// The part of an answer's object that may be missing; every other key is always there.
const OPTIONAL: &[(&str, &str)] = &[
    ("LookupAnswer", "comps"),
    ("LookupAnswer", "rentals"),
    ("SourceEntries", "listings"),
    ("SourceEntries", "reso"),
    ("SourceEntries", "rentcast"),
];

/// What holds for all answers: which keys are always there, examples, descriptions without the marks of another system.
pub(super) fn finish(schemas: &mut Schemas) {
    for (name, schema) in schemas.iter_mut() {
        if !name.ends_with("Request") {
            always_there(name, schema);
            examples::add(schema);
        }
        plain(schema);
    }
}

fn always_there(name: &str, schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    if let Some(Value::Object(properties)) = object.get("properties") {
        let required: Vec<&String> = properties
            .keys()
            .filter(|key| !OPTIONAL.contains(&(name, key.as_str())))
            .collect();
        let required = json!(required);
        object.insert("required".into(), required);
    }
    if let Some(Value::Array(parts)) = object.get_mut("allOf") {
        for part in parts {
            always_there(name, part);
        }
    }
}

/// Takes the marks of rustdoc's links out of descriptions.
fn plain(value: &mut Value) {
    match value {
        Value::Object(object) => {
            lift(object);
            for (key, inner) in object.iter_mut() {
                match inner {
                    Value::String(text) if key == "description" => {
                        *text = text.replace("[`", "`").replace("`]", "`").trim().to_owned();
                    }
                    _ => plain(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// What is said beside a reference within a choice is said of the choice.
fn lift(schema: &mut Map<String, Value>) {
    if schema.contains_key("description") {
        return;
    }
    let Some(Value::Array(choices)) = schema.get_mut("oneOf") else {
        return;
    };
    let said = choices
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .filter(|choice| choice.contains_key("$ref"))
        .find_map(|choice| choice.remove("description"));
    if let Some(said) = said {
        schema.insert("description".into(), said);
    }
}
