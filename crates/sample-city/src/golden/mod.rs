//! What the made-up record holds, pinned.

mod traps;

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;

use crate::{
    buildings::{BuildingKind, buildings},
    city::{City, dataset_ids, records_of, spec_of},
    soql,
};

/// The named buildings, by BIN.
const EMPIRE_STATE: &str = "1015862";
const GARRETSON: &str = "5050009";

fn rows(city: &City, dataset: &str, condition: &str) -> Vec<Json> {
    let table = city
        .table(dataset)
        .unwrap_or_else(|| panic!("{dataset} is there"));
    let params = [("$where", condition), ("$limit", "50000")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let output =
        soql::answer(&table, &params).unwrap_or_else(|refusal| panic!("{dataset}: {refusal}"));
    match serde_json::from_str(&output.body) {
        Ok(Json::Array(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

fn texts(rows: &[Json], column: &str) -> Vec<String> {
    rows.iter()
        .filter_map(|row| row.get(column)?.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn every_file_is_listed_reads_and_makes_records() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let files: HashSet<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .filter_map(|entry| {
            entry
                .ok()?
                .file_name()
                .to_str()?
                .strip_suffix(".toml")
                .map(str::to_owned)
        })
        .collect();
    let listed: HashSet<String> = dataset_ids().map(str::to_owned).collect();
    assert_eq!(files, listed);
    for id in dataset_ids() {
        let spec = spec_of(id).unwrap_or_else(|| panic!("{id} does not read; see the log"));
        assert_eq!(spec.id, id);
        let count = records_of(id).len();
        assert!(count >= 10, "{id} has {count} records");
    }
}

/// How many records each dataset has of each named building, and in all. A change here is a change of the demo.
#[test]
fn records_of_the_named_buildings() {
    let mut counts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let named: Vec<_> = (buildings().iter())
        .filter(|building| building.kind == BuildingKind::Named)
        .collect();
    for id in dataset_ids() {
        let records = records_of(id);
        let mut line: Vec<usize> = (named.iter())
            .map(|building| {
                records
                    .iter()
                    .filter(|record| record.is_of(building))
                    .count()
            })
            .collect();
        line.push(records.len());
        counts.insert(id, line);
    }
    let heads: Vec<String> = (named.iter())
        .map(|building| format!("{} {}", building.house_number, building.street))
        .collect();
    let mut text = format!("{}; in all\n", heads.join(", "));
    for (id, line) in counts {
        let line: Vec<String> = line.iter().map(|count| format!("{count:4}")).collect();
        text.push_str(&format!("{id} {}\n", line.join("")));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_dataset_but_the_lookups_has_records_of_a_named_building() {
    let without: Vec<&str> = dataset_ids()
        .filter(|id| {
            let of_named = |record: &crate::generate::Record| {
                buildings()
                    .iter()
                    .any(|building| building.kind == BuildingKind::Named && record.is_of(building))
            };
            !records_of(id).iter().any(of_named)
        })
        .collect();
    assert_eq!(
        without,
        [
            "6v9u-ndjg",
            "7isb-wh4c",
            "7zb8-7bpk",
            "94g4-w6xz",
            "myn9-hwsy"
        ]
    );
}

#[test]
fn the_empire_state_building_has_250_ecb_violations_and_one_date_that_is_none() {
    let rows = rows(
        &City::made_up(),
        "6bgk-3dad",
        &format!("bin = '{EMPIRE_STATE}'"),
    );
    assert_eq!(rows.len(), 250);
    let rubbish: Vec<String> = (texts(&rows, "issue_date").into_iter())
        .filter(|date| date.len() != 8 || date.bytes().any(|byte| !byte.is_ascii_digit()))
        .collect();
    assert_eq!(rubbish, ["Y9990120"]);
}

#[test]
fn one_building_has_paid_more_than_it_owed() {
    let rows = rows(
        &City::made_up(),
        "6bgk-3dad",
        &format!("bin = '{GARRETSON}'"),
    );
    let mut balances = texts(&rows, "balance_due");
    balances.sort();
    assert_eq!(balances, ["-250.5", "0"]);
}

#[test]
fn ecb_dob_and_jobs_have_data_in_a_named_building() {
    let city = City::made_up();
    for (dataset, column) in [
        ("6bgk-3dad", "bin"),
        ("3h2n-5cm9", "bin"),
        ("ic3t-wcy2", "bin__"),
    ] {
        let condition = format!("{column} = '{EMPIRE_STATE}'");
        assert!(!rows(&city, dataset, &condition).is_empty(), "{dataset}");
    }
}

#[test]
fn one_building_has_nothing_but_its_lot() {
    let building = (buildings().iter())
        .find(|building| building.kind == BuildingKind::PlutoOnly)
        .expect("one");
    let with_records: Vec<&str> = dataset_ids()
        .filter(|id| records_of(id).iter().any(|record| record.is_of(building)))
        .collect();
    assert_eq!(with_records, ["64uk-42ks"], "PLUTO");
}

#[test]
fn one_lot_has_no_building_number() {
    let building = (buildings().iter())
        .find(|building| building.bin.is_none())
        .expect("one");
    let pluto = rows(
        &City::made_up(),
        "64uk-42ks",
        &format!("bbl = {}", building.bbl),
    );
    assert_eq!(pluto.len(), 1);
    let by_bin = records_of("6bgk-3dad");
    assert!(by_bin.iter().all(|record| !record.is_of(building)));
}

#[test]
fn no_person_is_named() {
    let names = [
        "first_name",
        "last_name",
        "firstname",
        "lastname",
        "middleinitial",
        "qewi_name",
        "owner_name",
        "phone",
    ];
    for id in dataset_ids() {
        let spec = spec_of(id).expect("reads");
        for (at, column) in spec.columns.iter().enumerate() {
            if !names.iter().any(|name| column.name.contains(name)) {
                continue;
            }
            for record in records_of(id) {
                let cell = record
                    .cells
                    .get(at)
                    .and_then(Option::as_deref)
                    .unwrap_or("");
                let company = ["", "LLC", "INC", "LP", "CORP"]
                    .iter()
                    .any(|end| cell.ends_with(end) && (!end.is_empty() || cell.is_empty()));
                assert!(company, "{id} {} {cell:?}", column.name);
            }
        }
    }
}

#[test]
fn what_belongs_together_joins() {
    let city = City::made_up();
    for (child, column, parent, key) in [
        ("feu5-w2e2", "registrationid", "tesw-yqqr", "registrationid"),
        ("bnx9-e6tj", "document_id", "8h5j-fqxa", "document_id"),
        ("636b-3b5g", "document_id", "8h5j-fqxa", "document_id"),
        ("eabe-havv", "disposition_code", "6v9u-ndjg", "code"),
        ("eguu-7ie3", "condo_key", "p8u6-a6it", "condo_key"),
    ] {
        let keys: HashSet<String> = texts(&rows(&city, parent, &format!("{key} is not null")), key)
            .into_iter()
            .collect();
        let of = texts(
            &rows(&city, child, &format!("{column} is not null")),
            column,
        );
        assert!(!of.is_empty());
        assert!(of.iter().all(|value| keys.contains(value)), "{child}");
    }
}

#[test]
fn nothing_was_issued_after_the_city_was_made() {
    let city = City::made_up();
    for (dataset, column, last) in [
        ("6bgk-3dad", "issue_date", "20261130"),
        ("3h2n-5cm9", "issue_date", "20261130"),
        ("wvxf-dwi5", "inspectiondate", "2026-11-30T00:00:00.000"),
        ("6z8x-wfk4", "executed_date", "2026-11-30T00:00:00.000"),
        ("bnx9-e6tj", "recorded_datetime", "2026-11-30T00:00:00.000"),
    ] {
        let later = rows(&city, dataset, &format!("{column} > '{last}'"));
        let only_rubbish = texts(&later, column)
            .iter()
            .all(|date| date.starts_with('Y'));
        assert!(only_rubbish, "{dataset}");
    }
}

/// The real columns, where a recording of the publisher's metadata is at hand.
#[test]
fn columns_and_types_are_the_publisher_s() {
    let Some(folder) = crate::at_hand::real_data("soda") else {
        return;
    };
    let mut compared = 0;
    for (file, many) in [
        ("dob_legacy/views_metadata_extract_17_datasets.json", true),
        ("dob_now_fdny/views_metadata_extract_16_datasets.json", true),
        ("pluto_64uk-42ks/F08_api_views_columns_snapshot.json", false),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("the file");
        let json: Json = serde_json::from_str(&text).expect("JSON");
        let views: Vec<Json> = if many {
            let all = json.get("datasets").unwrap_or(&json);
            all.as_object()
                .map(|all| all.values().cloned().collect())
                .unwrap_or_default()
        } else {
            let raw = json["response_body_raw"].as_str().expect("a body");
            vec![serde_json::from_str(raw).expect("JSON")]
        };
        for view in views {
            let Some(spec) = view["id"].as_str().and_then(spec_of) else {
                continue;
            };
            for column in &spec.columns {
                let real = view["columns"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .find(|real| real["fieldName"].as_str() == Some(column.name.as_str()));
                let kind = real.and_then(|real| real["dataTypeName"].as_str());
                assert_eq!(
                    kind,
                    Some(column.kind.metadata_name()),
                    "{} {}",
                    spec.id,
                    column.name
                );
            }
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}
