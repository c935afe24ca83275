//! Examples: by the field's name, and whole answers made of them.

use serde_json::{Map, Value, json};

use super::components::Schemas;

/// What stands as an example beside a field of this name; JSON.
const BY_NAME: &[(&str, &str)] = &[
    ("address", r#""350 5 AVENUE, New York, NY 10118""#),
    ("house_number", r#""350""#),
    ("street", r#""5 AVENUE""#),
    ("unit", r#""5C""#),
    ("borough", r#""Manhattan""#),
    ("borough_code", "1"),
    ("city", r#""New York""#),
    ("state", r#""NY""#),
    ("neighborhood", r#""Midtown""#),
    ("latitude", "40.74844"),
    ("longitude", "-73.98566"),
    (
        "canonical_path",
        r#""/property/1008350041/350-5-avenue-new-york-ny-10118""#,
    ),
    (
        "message",
        r#""address is required: a string of 1 to 200 characters.""#,
    ),
    ("units_charged", "10"),
    ("minute_remaining", "230"),
    ("daily_remaining", "9990"),
    (
        "source_url",
        r#""https://data.cityofnewyork.us/d/6bgk-3dad""#,
    ),
    ("record_count", "1"),
    ("listing_key", r#""sale-1a2b3c""#),
    ("source_listing_id", r#""RX-1""#),
    ("listing_id", r#""RX-1""#),
    ("status_raw", r#""Active""#),
    ("property_type_raw", r#""Condominium""#),
    ("list_price", "1250000"),
    ("original_list_price", "1300000"),
    ("previous_list_price", "1300000"),
    ("price_change", "-50000"),
    ("price_per_sqft", "1250"),
    ("days_on_market", "58"),
    ("bedrooms", "2"),
    ("bathrooms", "1.5"),
    ("rooms", "4"),
    ("living_area_sqft", "1000"),
    ("year_built", "1931"),
    ("floor", "5"),
    ("photo_urls", r#"["https://photos.example/1.jpg"]"#),
    ("listing_url", r#""https://listings.example/RX-1""#),
    ("office_name", r#""Sample Realty""#),
    ("description", r#""Two bedrooms.""#),
    ("start_time", r#""2026-12-05T17:00:00Z""#),
    ("end_time", r#""2026-12-05T18:00:00Z""#),
    ("discrepancies", "[]"),
    ("event_id", "1841"),
    ("price_change_percent", "-3.85"),
    ("previous_price", "1300000"),
    ("current_price", "1250000"),
    ("sale_id", r#""1008350041-20260714-1""#),
    ("sale_price", "1250000"),
    ("building_class", r#""R4""#),
    ("building_class_at_sale", r#""R4""#),
    ("distance_miles", "0.12"),
    ("similarity", "0.91"),
    ("weight", "0.2"),
    ("flags", "[]"),
    ("method", r#""weighted comparable sales""#),
    ("model_version", r#""1""#),
    ("interval_probability", "0.8"),
    ("segment", r#""condo""#),
    ("period", r#""2023-07-01 to 2024-06-30""#),
    ("per", r#""unit""#),
    ("basis", r#""gross""#),
    ("kind", r#""asking""#),
    ("product", r#""conforming_30_year_fixed""#),
    ("rate_percent", "6.95"),
    ("rate_percent_used", "6.95"),
    ("source", r#""Optimal Blue, by FRED""#),
    ("series_id", r#""OBMMIC30YFLVLE80FGE740""#),
    (
        "match_notes",
        r#"["loan_purpose: one series for all purposes"]"#,
    ),
    ("assumptions", r#"["credit_score: 740"]"#),
    (
        "disclaimer",
        r#""These are published averages and no lender's offer.""#,
    ),
    ("loan_amount", "720000"),
    ("home_price", "900000"),
    ("down_payment", "180000"),
    ("ltv_percent", "80"),
    ("credit_score", "740"),
    ("loan_term_years", "30"),
    ("principal_and_interest_monthly", "4765.99"),
    ("tier", r#""pro""#),
    ("environment", r#""live""#),
    ("id", r#""key_01a21fa9""#),
    ("name", r#""Reports""#),
    ("prefix", r#""svc_live_""#),
    ("last_four", r#""x7Qd""#),
    ("limit", "10"),
    ("refill_per_second", "4"),
    ("date", r#""2026-11-27""#),
    ("warnings", "[]"),
];

/// Puts an example beside each field whose name has one and whose schema is its own.
pub(super) fn add(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                for (name, property) in properties.iter_mut() {
                    beside(name, property);
                }
            }
            for (key, inner) in object.iter_mut() {
                if key != "examples" && key != "enum" {
                    add(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(add),
        _ => {}
    }
}

fn beside(name: &str, property: &mut Value) {
    let Value::Object(property) = property else {
        return;
    };
    let typed = property.contains_key("type") && !property.contains_key("enum");
    if !typed || property.contains_key("examples") {
        return;
    }
    let found = BY_NAME.iter().find(|(known, _)| *known == name);
    let Some(example) = found.and_then(|(_, json)| serde_json::from_str::<Value>(json).ok()) else {
        return;
    };
    // A name means the same everywhere, but not always in the same type.
    if fits(property, &example) {
        property.insert("examples".into(), json!([example]));
    }
}

fn fits(schema: &Map<String, Value>, value: &Value) -> bool {
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let typed = match schema.get("type") {
        Some(Value::String(kind)) => is(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => false,
    };
    let pattern = schema.contains_key("pattern") || schema.contains_key("format");
    typed && (!pattern || !value.is_string() || value.as_str().is_some_and(|t| t.len() == 10))
}

/// A value that the schema allows, of the examples within it.
pub(super) fn of(schema: &Value, schemas: &Schemas) -> Value {
    let first = |list: &Value| list.as_array().and_then(|all| all.first()).cloned();
    if let Some(example) = schema.get("examples").and_then(first) {
        return example;
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or_default();
        return schemas
            .get(name)
            .map_or(Value::Null, |schema| of(schema, schemas));
    }
    if let Some(example) = schema.get("enum").and_then(first) {
        return example;
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(Value::Array(choices)) = schema.get(choice) {
            let real = choices.iter().find(|one| one["type"] != "null");
            return real.map_or(Value::Null, |one| of(one, schemas));
        }
    }
    let mut whole = Map::new();
    if let Some(Value::Array(parts)) = schema.get("allOf") {
        for part in parts {
            whole.extend(super::object(of(part, schemas)));
        }
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, property) in properties {
            whole.insert(name.clone(), of(property, schemas));
        }
    }
    if !whole.is_empty() {
        return Value::Object(whole);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find_map(Value::as_str).unwrap_or("null"),
        kind => kind.as_str().unwrap_or("null"),
    };
    match (kind, schema["format"].as_str()) {
        ("string", Some("date-time")) => "2026-11-28T12:00:00Z".into(),
        ("string", Some("date")) => "2026-11-27".into(),
        ("string", _) => "text".into(),
        ("integer" | "number", _) => schema.get("minimum").cloned().unwrap_or(json!(1)),
        ("boolean", _) => false.into(),
        ("array", _) => json!([of(&schema["items"], schemas)]),
        ("object", _) => json!({}),
        _ => Value::Null,
    }
}
