//! Every source on invented rows in the publisher's own shape, and a snapshot of its entry.

use std::{collections::BTreeMap, sync::Arc};

use brownstone_domain::SourceStatus;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    ask, data, eastchester, empire,
    fake::{FakeSoda, Table, Type},
};
use crate::{
    Subject,
    catalogue::{FILES, parse},
};

#[derive(Deserialize)]
struct Fixture {
    subject: String,
    tables: Vec<FixtureTable>,
}

#[derive(Deserialize)]
struct FixtureTable {
    dataset: String,
    types: BTreeMap<String, String>,
    rows: Vec<Value>,
}

/// The fixture of a source as a publisher, and the subject it is about.
pub(crate) fn fixture(key: &str) -> (Arc<FakeSoda>, Subject) {
    let soda = Arc::new(FakeSoda::new());
    let subject = load(key, &soda);
    (soda, subject)
}

/// Puts a source's fixture into `soda`.
pub(crate) fn load(key: &str, soda: &FakeSoda) -> Subject {
    let path = format!("{}/fixtures/{key}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no fixture {key}.json"));
    let fixture: Fixture =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{key}: {error}"));
    let (_, file) = FILES.iter().find(|(name, _)| *name == key).unwrap();
    let entry = parse(&format!("{key}.toml"), file).unwrap();
    for table in fixture.tables {
        let mut made = Table::new(table.rows, &[]);
        // The columns no row of the fixture happens to fill.
        if entry.module.is_none() && table.dataset == entry.dataset.as_str() {
            for name in entry.shape.names() {
                made.columns.entry(name.to_owned()).or_insert(Type::Text);
            }
        }
        for (name, kind) in table.types {
            let kind = match kind.as_str() {
                "number" => Type::Number,
                "checkbox" => Type::Checkbox,
                other => panic!("{key}: {other}"),
            };
            made.columns.insert(name, kind);
        }
        soda.put(&table.dataset, made);
    }
    match fixture.subject.as_str() {
        "empire" => empire(),
        "eastchester" => eastchester(),
        other => panic!("{key}: nobody knows {other}"),
    }
}

/// An entry's data, a field a line, as sent: the order of keys and the digits of numbers are part of it. Columns that
/// are null are left out; another test holds that they are there.
fn as_lines(data: &RawValue) -> String {
    type Fields = IndexMap<String, Box<RawValue>>;
    let mut lines = String::new();
    let fields: Fields = serde_json::from_str(data.get()).unwrap();
    for (name, value) in fields {
        if name != "records" {
            lines += &format!("{name}: {}\n", value.get());
            continue;
        }
        let records: Vec<Fields> = serde_json::from_str(value.get()).unwrap();
        for record in records {
            lines += "record:\n";
            for (name, value) in record {
                if value.get() != "null" {
                    lines += &format!("  {name}: {}\n", value.get());
                }
            }
        }
    }
    lines
}

#[tokio::test]
async fn every_source_has_a_fixture_and_a_snapshot() {
    for (key, _) in FILES {
        let (soda, subject) = fixture(key);
        let entry = ask(key, &soda, &subject).await;
        assert_eq!(entry.status(), SourceStatus::Ok, "{key}");
        insta::assert_snapshot!(*key, as_lines(entry.data().unwrap()));
    }
}

/// Most sources are one request; the few that are more say so here.
#[tokio::test]
async fn a_source_asks_no_more_than_it_needs() {
    let several: BTreeMap<&str, usize> = [
        ("nyc_acris", 5),
        ("nyc_dob_complaints", 2),
        ("nyc_dof_exemptions", 2),
        ("nyc_hpd_registrations", 2),
        ("nyc_hpd_repair_orders", 2),
        ("nyc_zoning_applications", 2),
        ("nys_corporations", 2),
    ]
    .into();
    for (key, _) in FILES {
        let (soda, subject) = fixture(key);
        ask(key, &soda, &subject).await;
        let expected = several.get(key).copied().unwrap_or(1);
        assert_eq!(soda.asked().len(), expected, "{key}: {:#?}", soda.asked());
    }
}

#[tokio::test]
async fn nothing_on_a_building_is_not_found() {
    for (key, _) in FILES {
        let (soda, subject) = fixture(key);
        let elsewhere = Subject {
            bbl: Some(super::bbl("5033780070")),
            bin: Some(super::bin("5050009")),
            lot_bins: vec![super::bin("5050009")],
            borough: brownstone_domain::Borough::StatenIsland,
            latitude: Some(40.5834),
            longitude: Some(-74.0955),
            ..subject
        };
        let entry = ask(key, &soda, &elsewhere).await;
        assert_eq!(entry.status(), SourceStatus::NotFound, "{key}");
        assert!(entry.data().is_none(), "{key}");
    }
}

#[tokio::test]
async fn a_missing_header_changes_nothing() {
    for (key, _) in FILES {
        let (soda, subject) = fixture(key);
        let with = data(&ask(key, &soda, &subject).await);
        let mut bare = FakeSoda::new();
        bare.headers = false;
        load(key, &bare);
        let without = data(&ask(key, &Arc::new(bare), &subject).await);
        assert_eq!(with, without, "{key}");
    }
}

#[tokio::test]
async fn every_record_has_every_known_column_in_order() {
    for (key, _) in FILES {
        let (soda, subject) = fixture(key);
        let source = super::source(key, &soda);
        let entry = source.fetch(&subject, super::soon()).await;
        let data = data(&entry);
        let known: Vec<&str> = source
            .info()
            .fields
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        for record in data["records"].as_array().unwrap() {
            let names: Vec<&str> = record
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .filter(|name| known.contains(name))
                .collect();
            assert_eq!(names, known, "{key}");
        }
        for field in &source.info().summary {
            assert!(data.get(&field.name).is_some(), "{key}: {}", field.name);
        }
    }
}
