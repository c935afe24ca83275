//! The catalogue against metadata: what the canary sees, and the page that is made of it.

use std::{collections::BTreeMap, sync::Arc};

use brownstone_soda::SodaError;
use serde_json::Value;

use super::{
    FakeSoda, deps,
    fake::{Fault, Type, fake},
    fixtures::load,
    registry, soon,
};
use crate::{NoUpdates, canary::drifts, catalogue::FILES, page::markdown};

fn all() -> Arc<FakeSoda> {
    let soda = fake();
    for (key, _) in FILES {
        load(key, &soda);
    }
    soda
}

async fn of(soda: &Arc<FakeSoda>, source: &str) -> Vec<crate::canary::Drift> {
    let mut found = drifts(&deps(soda, Arc::new(NoUpdates)), soon())
        .await
        .unwrap();
    found.retain(|drift| drift.source == source);
    found
}

#[tokio::test]
async fn the_canary_names_what_differs() {
    let soda = all();
    assert_eq!(of(&soda, "nyc_ecb").await, []);
    soda.edit("6bgk-3dad", |table| {
        table.columns.remove("severity");
        table.columns.insert("severity_level".into(), Type::Text);
        table.columns.insert("bin".into(), Type::Number);
        table.columns.remove("lot");
    });
    let [drift] = of(&soda, "nyc_ecb").await.try_into().unwrap();
    assert_eq!(drift.missing, ["severity"]);
    assert_eq!(drift.unknown, ["severity_level"]);
    assert_eq!(drift.retyped, [("bin".to_owned(), "number".to_owned())]);
    assert_eq!(drift.keys_gone, ["lot"]);
}

#[tokio::test]
async fn a_dataset_that_cannot_be_looked_at_is_named() {
    let soda = all();
    soda.unpublish("6z8x-wfk4");
    let [drift] = of(&soda, "nyc_evictions").await.try_into().unwrap();
    assert!(drift.unreadable.is_some());
    // A fault of the rows is none of the metadata.
    soda.fail("6bgk-3dad", Fault::Error(SodaError::Throttled));
    assert_eq!(of(&soda, "nyc_ecb").await, []);
}

#[test]
fn the_page_has_a_chapter_for_each_source() {
    let sources = registry(&fake()).describe();
    let page = markdown(&sources);
    assert_eq!(page, markdown(&sources));
    for source in &sources {
        assert!(page.contains(&format!("\n## {}\n", source.key)));
        for part in [&source.title, &source.tells, &source.publisher, &source.url] {
            assert!(page.contains(part.as_str()), "{}: {part}", source.key);
        }
        for text in source
            .traps
            .iter()
            .chain(source.summary.iter().map(|field| &field.tells))
        {
            assert!(page.contains(text.as_str()), "{}: {text}", source.key);
        }
    }
    assert!(sources.len() >= 48);
}

/// Types of a dataset's columns as the city published them.
fn published() -> Option<BTreeMap<String, BTreeMap<String, String>>> {
    let root = crate::at_hand::real_data("soda")?;
    let mut found = BTreeMap::new();
    for file in [
        "dob_legacy/views_metadata_extract_17_datasets.json",
        "dob_now_fdny/views_metadata_extract_16_datasets.json",
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let all: Value = serde_json::from_str(&text).unwrap();
        let all = all
            .get("datasets")
            .unwrap_or(&all)
            .as_object()
            .unwrap()
            .clone();
        for (id, view) in all {
            let Some(columns) = view["columns"].as_array() else {
                continue;
            };
            let columns = columns
                .iter()
                .filter_map(|column| {
                    let name = column["fieldName"].as_str()?.to_owned();
                    Some((name, column["dataTypeName"].as_str()?.to_owned()))
                })
                .collect();
            found.insert(id, columns);
        }
    }
    Some(found)
}

/// Every key column is there with the type that is asked by, every date that the publisher sorts is one that sorts, and
/// every column of the catalogue is the publisher's.
#[test]
fn the_catalogue_agrees_with_published_metadata() {
    use crate::catalogue::{
        parse,
        spec::{Fetch, Layout, LiteralType, OrderBy},
    };
    let Some(published) = published() else { return };
    let mut compared = 0;
    for (key, text) in FILES {
        let entry = parse(&format!("{key}.toml"), text).unwrap();
        let Some(columns) = published.get(entry.dataset.as_str()) else {
            continue;
        };
        compared += 1;
        for part in entry.rules.iter().flat_map(|rule| &rule.columns) {
            let kind = columns.get(part.column.as_str());
            let stated = match part.literal {
                LiteralType::Number => "number",
                LiteralType::Text => "text",
            };
            assert_eq!(
                kind.map(String::as_str),
                Some(stated),
                "{key}: {}",
                part.column
            );
        }
        for order in &entry.order.keys {
            let kind = columns[order.column.as_str()].as_str();
            if order.by == OrderBy::Date && entry.fetch == Fetch::Newest {
                let sorts = match order.layout {
                    Layout::Iso => kind == "calendar_date",
                    Layout::Compact => kind == "text",
                    Layout::Mixed => false,
                };
                assert!(sorts, "{key}: {} is {kind}", order.column);
            }
        }
        let unknown: Vec<&str> = entry
            .shape
            .names()
            .filter(|name| !columns.contains_key(*name))
            .collect();
        assert!(
            unknown.is_empty(),
            "{key}: {unknown:?} are no columns of the publisher"
        );
        for field in entry.summary.iter().filter(|field| {
            field.of == crate::catalogue::spec::SummaryOf::Sum && entry.fetch == Fetch::Newest
        }) {
            assert_eq!(
                columns[&field.column], "number",
                "{key}: only numbers add up"
            );
        }
    }
    assert!(compared >= 18, "{compared} datasets compared");
}
