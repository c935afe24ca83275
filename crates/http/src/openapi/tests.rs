use brownstone_domain::MatchedBy;
use brownstone_service::{FieldInfo, FieldKind};

use super::*;

fn source(key: &str) -> SourceInfo {
    let field = |name: &str, kind, tells: &str| FieldInfo {
        name: name.into(),
        kind,
        tells: tells.into(),
    };
    SourceInfo {
        key: key.into(),
        title: "DOB ECB violations".into(),
        tells: "Summonses.".into(),
        publisher: "Department of Buildings (DOB)".into(),
        matched_by: vec![MatchedBy::Bin],
        fields: vec![
            field("issue_date", FieldKind::Date, ""),
            field("balance_due", FieldKind::Money, ""),
            field("location", FieldKind::Json, ""),
        ],
        summary: vec![field("by_kind", FieldKind::Counts, "Violations by kind.")],
        ..SourceInfo::default()
    }
}

fn sample() -> Value {
    document(&[source("nyc_ecb"), source("nyc_dob")], DEFAULT_BASE_URL)
}

/// Visits every schema with its path.
fn schemas(value: &Value, path: &str, see: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let path = format!("{path}/{key}");
                if ["example", "examples", "enum"].contains(&key.as_str()) {
                    continue;
                }
                if ["schema", "items", "additionalProperties"].contains(&key.as_str())
                    && inner.is_object()
                {
                    see(&path, inner);
                }
                if ["properties", "schemas"].contains(&key.as_str()) {
                    for (name, schema) in inner.as_object().into_iter().flatten() {
                        see(&format!("{path}/{name}"), schema);
                    }
                }
                schemas(inner, &path, see);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| schemas(item, path, see)),
        _ => {}
    }
}

/// The document with the whole catalogue; a test of the program holds it to the code.
fn committed() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let text = std::fs::read_to_string(path).expect("docs/openapi.json");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn everything_is_described() {
    for document in [sample(), committed()] {
        described(&document);
    }
}

fn described(document: &Value) {
    let mut missing = Vec::new();
    let mut seen = 0;
    let said = |value: &Value| {
        value["description"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    };
    schemas(document, "", &mut |path, schema| {
        seen += 1;
        // A schema of a header, of a list's items or of a map's values may lean on what holds it.
        let leans = ["/schema", "/items", "/additionalProperties"]
            .iter()
            .any(|end| path.ends_with(end));
        if !leans
            && !said(schema)
            && (schema.get("$ref").is_none() || !path.contains("/properties/"))
        {
            missing.push(path.to_owned());
        }
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(!text.contains("[`"), "{path}: {text}");
    });
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            for part in [operation, &operation["requestBody"]] {
                if !part.is_null() && !said(part) {
                    missing.push(format!("{path} {method}"));
                }
            }
        }
    }
    for part in ["responses", "headers"] {
        for (name, value) in document["components"][part].as_object().expect(part) {
            if !said(value) {
                missing.push(format!("{part} {name}"));
            }
        }
    }
    assert!(seen > 300, "{seen}");
    assert!(missing.is_empty(), "{missing:#?}");
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                match inner.as_str() {
                    Some(target) if key == "$ref" => found.push(target),
                    _ => references(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = sample();
    let mut found = Vec::new();
    references(&document, &mut found);
    for target in &found {
        assert!(
            document.pointer(target.trim_start_matches('#')).is_some(),
            "{target}"
        );
    }
    for name in document["components"]["schemas"]
        .as_object()
        .expect("schemas")
        .keys()
    {
        let target = format!("#/components/schemas/{name}");
        assert!(found.contains(&target.as_str()), "nothing uses {name}");
    }
}

#[test]
fn every_code_is_answered_somewhere_with_an_example() {
    let document = sample();
    let text = document["components"]["responses"].to_string();
    for row in &brownstone_domain::ERROR_CODES {
        assert!(
            text.contains(&format!("\"code\":\"{}\"", row.name)),
            "{}",
            row.name
        );
    }
}

#[test]
fn deployments_differ_in_their_servers_alone() {
    let mut one = document(&[source("nyc_ecb"), source("listings")], DEFAULT_BASE_URL);
    let other = document(&[source("nyc_ecb"), source("reso")], "https://api.example");
    assert_ne!(one, other);
    one["servers"] = other["servers"].clone();
    assert_eq!(one, other);
}

#[test]
fn the_older_version_has_nothing_of_the_newer() {
    fn look(value: &Value, path: &str, wrong: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                let kind = object.get("type");
                if kind.is_some_and(|kind| kind.is_array() || kind == "null") {
                    wrong.push(path.to_owned());
                }
                // In a media type `examples` is an object.
                if object.get("examples").is_some_and(Value::is_array)
                    || object.contains_key("const")
                {
                    wrong.push(format!("{path} has a keyword"));
                }
                for (key, inner) in object {
                    look(inner, &format!("{path}/{key}"), wrong);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| look(item, path, wrong)),
            _ => {}
        }
    }
    let down = to_3_0(&sample());
    assert_eq!(down["openapi"], "3.0.3");
    let mut wrong = Vec::new();
    look(&down, "", &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let bbl = &down["components"]["schemas"]["LookupAnswer"]["properties"]["bbl"];
    assert_eq!(
        (&bbl["nullable"], &bbl["type"]),
        (&json!(true), &json!("string"))
    );
    assert_eq!(bbl["allOf"][0]["$ref"], "#/components/schemas/Bbl");
    let due = &down["components"]["schemas"]["NycEcbRecord"]["properties"]["balance_due"];
    assert_eq!(
        due["anyOf"],
        json!([{"type": "number", "nullable": true}, {"type": "string", "nullable": true}])
    );
    let _ = look;
}

#[test]
fn what_was_published_is_kept_by_path_and_type() {
    let now = published::fields(&sample());
    assert_eq!(now["lookupProperty 200 data.bbl"], "null|string");
    assert_eq!(
        now["lookupProperty 200 data.sources.nyc_ecb.data.records[].balance_due"],
        "null|number|string"
    );
    assert_eq!(
        now["searchListings 200 data.results[].list_price"],
        "null|number"
    );
    assert_eq!(now["error outside_coverage"], "400");
    assert_eq!(published::from_text(&published::to_text(&now)), now);
    let mut later = now.clone();
    later.insert("lookupProperty 200 data.new".into(), "string".into());
    assert!(published::broken(&now, &later).is_empty());
    later.remove("getUsage 200 data.tier");
    later.insert("lookupProperty 200 data.bbl".into(), "string".into());
    assert_eq!(
        published::broken(&now, &later),
        [
            "getUsage 200 data.tier was string and is gone",
            "lookupProperty 200 data.bbl was null|string and is string",
        ]
    );
}
