//! Schemas of the report's sources, from the catalogue.

use brownstone_domain::OPERATIONS;
use brownstone_service::{FieldInfo, FieldKind, SourceInfo, listing_source};
use serde_json::{Map, Value, json};

use super::{
    components::{Schemas, pascal},
    object, reference,
};

/// The listing sources: whichever of them a deployment has, one of them has an entry.
const LISTINGS: [(&str, &str); 3] = [
    (
        "listings",
        "The listing source of a deployment without a listing feed: always `gated`.",
    ),
    (
        listing_source::KEYS[0],
        "The listing source, where the feed is a multiple listing service's: the building's listings, past and present.",
    ),
    (
        listing_source::KEYS[1],
        "The listing source, where the feed is RentCast's: the building's listings, past and present.",
    ),
];

/// The sources that every deployment has.
pub(super) fn fixed(sources: &[SourceInfo]) -> impl Iterator<Item = &SourceInfo> {
    sources
        .iter()
        .filter(|info| LISTINGS.iter().all(|(key, _)| *key != info.key))
}

/// The name of the schema of a source's entry.
fn entry_name(key: &str) -> String {
    format!("{}Entry", pascal(key))
}

/// Adds `data` of a lookup, and what stands in its sources.
pub(super) fn add(schemas: &mut Schemas, sources: &[SourceInfo]) {
    let mut entries = Map::new();
    for info in fixed(sources) {
        entries.insert(info.key.clone(), reference(&entry_name(&info.key)));
        let name = pascal(&info.key);
        schemas.insert(format!("{name}Record"), record(info));
        schemas.insert(
            format!("{name}Data"),
            data(
                info,
                &reference(&format!("{name}Record")),
                &format!("{} {}", info.title, "on this building."),
            ),
        );
        let about = format!(
            "{} {} Published by {}.",
            sentence(&info.title),
            info.tells,
            info.publisher
        );
        schemas.insert(entry_name(&info.key), entry(&about, &format!("{name}Data")));
    }
    let listings = SourceInfo::default();
    schemas.insert(
        "ListingsData".into(),
        data(
            &listings,
            &reference("Listing"),
            "The building's listings, past and present.",
        ),
    );
    for (key, about) in LISTINGS {
        entries.insert(key.into(), reference(&entry_name(key)));
        schemas.insert(entry_name(key), entry(about, "ListingsData"));
    }
    schemas.insert(
        "OtherData".into(),
        data(
            &listings,
            &json!({
                "type": "object",
                "description": "A row in the publisher's columns.",
                "additionalProperties": true,
            }),
            "What a source that is newer than this document has on the building.",
        ),
    );
    schemas.insert(
        "OtherEntry".into(),
        entry("A source that is newer than this document.", "OtherData"),
    );
    schemas.insert(
        "SourceEntries".into(),
        json!({
            "type": "object",
            "description": "One entry for every source of this deployment, always, in the order of the registry.",
            "properties": entries,
            "additionalProperties": reference("OtherEntry"),
        }),
    );
    schemas.insert("LookupAnswer".into(), lookup());
}

fn sentence(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}

fn or_null(schema: &str, about: &str) -> Value {
    json!({"oneOf": [reference(schema), {"type": "null"}], "description": about})
}

fn described(schema: &str, about: &str) -> Value {
    let mut value = object(reference(schema));
    value.insert("description".into(), about.into());
    Value::Object(value)
}

fn lookup() -> Value {
    json!({
        "type": "object",
        "description": format!("`data` of `{}`: the building and what each source has on it.", OPERATIONS[0].name),
        "properties": {
            "property": described("Property", "The building's address in its one canonical form, and what this request typed."),
            "bbl": or_null("Bbl", "The tax lot of the building, the billing lot of a condominium; null when none resolves."),
            "bin": or_null("Bin", "The building; null when the city's address files carry none, or the lot has several."),
            "canonical_path": {"type": ["string", "null"], "description": "The stable path of the report's page on the web host."},
            "sources": described("SourceEntries", "One entry for every source, always."),
            "cache": described("CacheInfo", "When the report was assembled and when it can be refreshed."),
            "comps": or_null("CompsAnswer", "Only with `include_comps`: comparable sales at their defaults; null when they could not be had, and a warning says why."),
            "rentals": or_null("RentalsAnswer", "Only with `include_rentals`: comparable rentals at their defaults; null when they could not be had, and a warning says why."),
        },
    })
}

fn entry(about: &str, data: &str) -> Value {
    json!({
        "type": "object",
        "description": about,
        "properties": {
            "status": described("SourceStatus", "What became of the source."),
            "data": or_null(data, "What it has on the building; null for every status other than `ok`."),
        },
    })
}

fn data(info: &SourceInfo, record: &Value, about: &str) -> Value {
    let mut properties = object(json!({
        "records": {"type": "array", "maxItems": 100, "items": record, "description": "The publisher's rows, at most 100, newest first."},
        "record_count": {"type": "integer", "minimum": 0, "description": "Every record on the building, whatever the cap."},
        "records_truncated": {"type": "boolean", "description": "Whether `records` holds fewer than `record_count`."},
        "matched_by": described("MatchedBy", "The key of the building that the source was asked by."),
        "source_url": {"type": "string", "description": "The publisher's page of the dataset or record."},
        "source_updated_at": {"type": ["string", "null"], "format": "date-time", "description": "When the publisher last changed the dataset; null where that is not known."},
        "stale": {"type": ["boolean", "null"], "description": "Whether that is later than the publisher's own cadence allows; null where it is not known."},
    }));
    for field in &info.summary {
        properties.insert(field.name.clone(), summary(field));
    }
    json!({"type": "object", "description": about, "properties": properties})
}

fn summary(field: &FieldInfo) -> Value {
    let about = &field.tells;
    match field.kind {
        FieldKind::Text | FieldKind::Date | FieldKind::Identifier => {
            json!({"type": ["string", "null"], "description": about})
        }
        FieldKind::Number | FieldKind::Money => {
            json!({"type": ["number", "string", "null"], "description": format!("{about} What does not parse stays the publisher's text.")})
        }
        FieldKind::Count => {
            json!({"type": ["integer", "null"], "minimum": 0, "description": about})
        }
        FieldKind::Figure => json!({"type": ["number", "null"], "description": about}),
        FieldKind::Checkbox => json!({"type": ["boolean", "null"], "description": about}),
        FieldKind::Counts => json!({
            "type": ["object", "null"],
            "additionalProperties": {"type": "integer", "minimum": 0, "description": "How many."},
            "description": about,
        }),
        FieldKind::Json => json!({"description": about}),
    }
}

fn record(info: &SourceInfo) -> Value {
    let fields: Map<String, Value> = info
        .fields
        .iter()
        .map(|field| (field.name.clone(), column(&info.key, field)))
        .collect();
    json!({
        "type": "object",
        "description": format!("A row of {}, in the publisher's columns. Columns that the publisher adds are passed on.", info.title),
        "properties": fields,
        "additionalProperties": true,
    })
}

/// The dates whose format the contract states.
const DATE_FORMATS: &[(&str, &str, &str, &str)] = &[
    ("nyc_ecb", "issue_date", "YYYYMMDD", "20260807"),
    ("nyc_ecb", "hearing_date", "YYYYMMDD", "20261120"),
    ("nyc_dob", "issue_date", "YYYYMMDD", "20260807"),
    ("nyc_dob", "disposition_date", "YYYYMMDD", "20261120"),
    (
        "nyc_dob_jobs",
        "pre__filing_date",
        "MM/DD/YYYY",
        "08/07/2026",
    ),
];

fn column(source: &str, field: &FieldInfo) -> Value {
    let name = field.name.replace('_', " ");
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    // A column of ours says what it is; the publisher's keep the publisher's meaning.
    let about = match field.tells.as_str() {
        "" => format!("The publisher's column: {name}."),
        tells => tells.to_owned(),
    };
    let unparsed = "What does not parse stays the publisher's text.";
    match field.kind {
        FieldKind::Text => json!({"type": ["string", "null"], "description": about}),
        FieldKind::Identifier => {
            json!({"type": ["string", "null"], "description": format!("{about} It names something and is text, never a number.")})
        }
        FieldKind::Date => {
            let known = DATE_FORMATS
                .iter()
                .find(|(key, column, ..)| *key == source && *column == field.name);
            match known {
                Some((_, _, format, example)) => json!({
                    "type": ["string", "null"],
                    "description": format!("{about} A date as {format}, never reformatted."),
                    "examples": [example],
                }),
                None => {
                    json!({"type": ["string", "null"], "description": format!("{about} A date in the publisher's own format, never reformatted.")})
                }
            }
        }
        FieldKind::Number => {
            json!({"type": ["number", "string", "null"], "description": format!("{about} A number with the publisher's digits. {unparsed}")})
        }
        FieldKind::Money => {
            json!({"type": ["number", "string", "null"], "description": format!("{about} US dollars with the publisher's digits, never cents. {unparsed}")})
        }
        FieldKind::Checkbox => {
            json!({"type": ["boolean", "string", "null"], "description": format!("{about} {unparsed}")})
        }
        FieldKind::Count => {
            json!({"type": ["integer", "null"], "minimum": 0, "description": about})
        }
        FieldKind::Figure => json!({"type": ["number", "null"], "description": about}),
        FieldKind::Json | FieldKind::Counts => {
            json!({"description": format!("{about} A nested value, as published.")})
        }
    }
}
