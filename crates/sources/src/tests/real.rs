//! Real rows, where the folder with them is at hand.

use std::{collections::BTreeMap, sync::Arc};

use brownstone_domain::{Bbl, Bin, Borough, SourceStatus};
use serde_json::{Map, Value, json};

use super::{
    FakeSoda, ask, column, data,
    fake::{Table, Type, fake},
};
use crate::{
    Subject,
    at_hand::real_data,
    catalogue::{Entry, FILES, parse, spec::LiteralType, spec::Part},
};

/// Recorded answers, by dataset. Some are the body itself, some wrap it.
fn recorded() -> Option<BTreeMap<String, Vec<Value>>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let root = real_data("soda")?;
    for part in ["dob_legacy", "dob_now_fdny", "rows", "vcr"] {
        for file in std::fs::read_dir(root.join(part)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let plain = !name.contains("query_") && !name.contains(".http.");
            let Some(dataset) = dataset_in(&name) else {
                continue;
            };
            if !plain || path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            let body: Value =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            if let Value::Array(rows) = body {
                found.entry(dataset).or_default().extend(rows);
            }
        }
    }
    for (part, dataset, whole) in [
        ("pluto_64uk-42ks", "64uk-42ks", "zonedist1"),
        ("zoning_tax_lot", "fdkv-4t4z", "bbl"),
    ] {
        for file in std::fs::read_dir(root.join(part)).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let wrapped: Value = serde_json::from_str(&text).unwrap();
            let body = wrapped["response_body_raw"].as_str().unwrap_or_default();
            if let Ok(Value::Array(rows)) = serde_json::from_str(body) {
                // Some answers are a few columns of a row.
                let rows = rows.into_iter().filter(|row| row.get(whole).is_some());
                found.entry(dataset.into()).or_default().extend(rows);
            }
        }
    }
    Some(found)
}

/// `xxxx-xxxx` in a file's name.
fn dataset_in(name: &str) -> Option<String> {
    let found = name
        .split(['_', '.'])
        .find(|part| brownstone_soda::DatasetId::new(part).is_ok())?;
    Some(found.to_owned())
}

/// Rows of a CSV export, with the API's spelling of its headings.
fn export(file: &str, renamed: &[(&str, &str)]) -> Option<Vec<Value>> {
    let path = real_data(&format!("nycdb/{file}"))?;
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .unwrap();
    let names: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(|heading| {
            let name: String = heading
                .trim()
                .to_lowercase()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                .collect();
            renamed
                .iter()
                .find(|(from, _)| *from == name)
                .map_or(name, |(_, to)| (*to).to_owned())
        })
        .collect();
    let rows = reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            let row: Map<String, Value> = names
                .iter()
                .zip(record.iter())
                // An empty field of an export is an absent one of the API.
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect();
            Value::Object(row)
        })
        .collect();
    Some(rows)
}

fn entry(key: &str) -> Entry {
    let (_, text) = FILES.iter().find(|(name, _)| *name == key).unwrap();
    parse(&format!("{key}.toml"), text).unwrap()
}

/// A publisher of these rows, with the key columns of the types that the catalogue states.
fn publisher(entry: &Entry, rows: Vec<Value>) -> Arc<FakeSoda> {
    let mut table = Table::new(rows, &[]);
    for name in entry.shape.names() {
        table.columns.entry(name.to_owned()).or_insert(Type::Text);
    }
    for part in entry.rules.iter().flat_map(|rule| &rule.columns) {
        let column = part.column.as_str();
        // Names cannot have stood in a column of numbers.
        let numbers = (table.rows.iter())
            .filter_map(|row| row.get(column)?.as_str())
            .all(|text| text.trim().parse::<f64>().is_ok());
        let kind = match part.literal {
            LiteralType::Number if numbers => Type::Number,
            LiteralType::Number | LiteralType::Text => Type::Text,
        };
        table.columns.insert(column.to_owned(), kind);
    }
    let soda = fake();
    soda.put(entry.dataset.as_str(), table);
    // A lot above 7500 may be a condominium's; none of these is known to be.
    if entry.dataset.as_str() != "p8u6-a6it" {
        let columns = ["condo_billing_bbl", "condo_base_bbl", "condo_key"];
        let mut none = Table::new(Vec::new(), &[]);
        for column in columns {
            none.columns.insert(column.to_owned(), Type::Text);
        }
        soda.put("p8u6-a6it", none);
    }
    soda
}

/// The subject a row is about, by the key columns of the source's own rules.
fn subject_of(entry: &Entry, row: &Value) -> Option<Subject> {
    let text = |column: &str| row.get(column).and_then(Value::as_str);
    let (mut bbl, mut bin) = (None::<Bbl>, None::<Bin>);
    for rule in &entry.rules {
        let mut parts: BTreeMap<u8, &str> = BTreeMap::new();
        for part in &rule.columns {
            if let Some(value) = text(part.column.as_str()) {
                parts.insert(part.part as u8, value.trim());
            }
        }
        let part = |part: Part| parts.get(&(part as u8)).copied();
        bin = bin.or_else(|| part(Part::Bin)?.parse().ok());
        bbl = bbl.or_else(|| part(Part::Bbl)?.parse().ok()).or_else(|| {
            let borough = Borough::ALL.into_iter().find(|borough| {
                let stated = part(Part::Borough).unwrap_or_default();
                stated == borough.digit().to_string() || stated.eq_ignore_ascii_case(borough.name())
            })?;
            Bbl::new(
                borough,
                part(Part::Block)?.parse().ok()?,
                part(Part::Lot)?.parse().ok()?,
            )
            .ok()
        });
    }
    let borough = bin.map(Bin::borough).or_else(|| bbl.map(Bbl::borough))?;
    Some(Subject {
        lot_bins: bin.into_iter().collect(),
        ..Subject::of(bbl, bin, borough)
    })
}

/// Every row that names a building is found again by asking for that building, with its dates and texts letter for
/// letter, and nobody else's rows with it.
async fn each_row_is_found_again(key: &str, rows: Vec<Value>) -> usize {
    let entry = entry(key);
    let soda = publisher(&entry, rows.clone());
    let mut found = 0;
    for row in rows.iter().take(120) {
        let Some(subject) = subject_of(&entry, row) else {
            continue;
        };
        let answer = ask(key, &soda, &subject).await;
        assert_eq!(answer.status(), SourceStatus::Ok, "{key}: {subject:?}");
        let data = data(&answer);
        let records = data["records"].as_array().unwrap();
        let dates =
            entry.info.fields.iter().filter(|field| {
                matches!(field.kind, crate::FieldKind::Date | crate::FieldKind::Text)
            });
        let dates: Vec<&str> = dates.map(|field| field.name.as_str()).collect();
        let same = |record: &Value| {
            dates
                .iter()
                .all(|name| row.get(*name).unwrap_or(&Value::Null) == &record[*name])
        };
        // Of rows that repeat each other one is shown.
        let one_for_many = !entry.row_key.is_empty();
        assert!(
            records.iter().any(same) || data["records_truncated"] == true || one_for_many,
            "{key}: the row is not among its building's records: {row}"
        );
        found += 1;
    }
    found
}

#[tokio::test]
async fn recorded_answers_run_through_their_sources() {
    let Some(recorded) = recorded() else { return };
    let mut ran = Vec::new();
    for (key, _) in FILES {
        let dataset = entry(key).dataset.to_string();
        let Some(rows) = recorded.get(&dataset) else {
            continue;
        };
        let rows: Vec<Value> = rows.iter().filter(|row| row.is_object()).cloned().collect();
        if each_row_is_found_again(key, rows).await > 0 {
            ran.push(*key);
        }
    }
    for expected in [
        "nyc_dob_safety_violations",
        "nyc_dob_now_jobs",
        "nyc_dob_now_permits",
        "nyc_dob_limited_alterations",
        "nyc_dob_electrical_permits",
        "nyc_dob_now_certificates",
        "nyc_dob_certificates",
        "nyc_dob_after_hours_variances",
        "nyc_dob_stalled_sites",
        "nyc_dob_incidents",
        "nyc_dob_elevators",
        "nyc_dob_elevator_permits",
        "nyc_dob_boilers",
        "nyc_dob_facades",
        "nyc_hpd_nycha_violations",
        "nyc_zoning_tax_lots",
        "nyc_ecb",
        "nyc_dob_complaints",
        "nyc_dob_jobs",
        "nyc_dob_permits",
        "nyc_pluto",
        "nyc_evictions",
        "nyc_hpd_violations",
    ] {
        assert!(
            ran.contains(&expected),
            "{expected} ran on nothing; ran: {ran:?}"
        );
    }
}

/// A source, a file, and the headings that are spelt otherwise in the API.
type Export = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const EXPORTS: &[Export] = &[
    ("nyc_ecb", "ecb_violations.csv", &[]),
    ("nyc_dob", "dob_violations.csv", &[]),
    ("nyc_dob_complaints", "dob_complaints.csv", &[]),
    ("nyc_dob_jobs", "dobjobs.csv", &[]),
    (
        "nyc_dob_safety_violations",
        "dob_safety_violations.csv",
        &[("postcode", "zip")],
    ),
    ("nyc_dob_now_jobs", "dob_now_jobs.csv", &[]),
    (
        "nyc_dob_now_certificates",
        "dob_now_certificate_occupancy.csv",
        &[("c_of_o_sequence__", "c_of_o_sequence")],
    ),
    (
        "nyc_dob_certificates",
        "dob_certificate_occupancy.csv",
        &[("number", "house_number"), ("street", "street_name")],
    ),
    (
        "nyc_hpd_violations",
        "hpd_violations.csv",
        &[("borough", "boro"), ("postcode", "zip")],
    ),
    ("nyc_hpd_complaints", "hpd_complaints_and_problems.csv", &[]),
    ("nyc_hpd_registrations", "hpd_registrations.csv", &[]),
    (
        "nyc_hpd_litigation",
        "hpd_litigations.csv",
        &[("boro", "boroid"), ("openjudgement", "casejudgement")],
    ),
    (
        "nyc_hpd_vacate_orders",
        "hpd_vacateorders.csv",
        &[
            ("borough", "boro_short_name"),
            ("number", "house_number"),
            ("street", "street_name"),
            ("postcode", "postoce"),
            ("rescind_date", "actual_rescind_date"),
        ],
    ),
    ("nyc_hpd_buildings", "hpd_jurisdiction.csv", &[]),
    (
        "nyc_hpd_repair_orders",
        "hpd_omo_charges.csv",
        &[("boro_id", "boroid")],
    ),
    ("nyc_hpd_handyman_orders", "hpd_hwo_charges.csv", &[]),
    ("nyc_hpd_fees", "hpd_fee_charges.csv", &[]),
    (
        "nyc_hpd_alternative_enforcement",
        "hpd_aep.csv",
        &[
            ("borough", "boro"),
            ("number", "phn"),
            ("street", "street_address"),
        ],
    ),
    (
        "nyc_hpd_underlying_conditions",
        "hpd_underlying_conditions.csv",
        &[],
    ),
    ("nyc_hpd_no_harassment_list", "hpd_conh.csv", &[]),
    (
        "nyc_hpd_affordable_housing",
        "hpd_affordable_building.csv",
        &[("number", "house_number"), ("street", "street_name")],
    ),
    (
        "nyc_hpd_speculation_watch",
        "speculation_watch_list.csv",
        &[],
    ),
    ("nyc_evictions", "executed_evictions.csv", &[]),
    (
        "nyc_oath_hearings",
        "oath_hearings.csv",
        &[
            ("violation_location__borough_", "violation_location_borough"),
            (
                "violation_location__block_no__",
                "violation_location_block_no",
            ),
            ("violation_location__lot_no__", "violation_location_lot_no"),
        ],
    ),
    (
        "nyc_rodent_inspections",
        "dohmh_rodent_inspections.csv",
        &[],
    ),
    ("nyc_tax_lien_notices", "dof_tax_lien_sale_list.csv", &[]),
    ("nyc_dof_exemptions", "dof_exemptions.csv", &[]),
    ("nyc_dof_rolling_sales", "dof_sales.csv", &[]),
    (
        "nyc_dof_assessments",
        "dof_property_valuation_and_assessments.csv",
        &[],
    ),
];

/// CSV exports of the same datasets: other headings, dates as MM/DD/YYYY.
#[tokio::test]
async fn exports_run_through_their_sources() {
    for (key, file, renamed) in EXPORTS {
        let Some(rows) = export(file, renamed) else {
            return;
        };
        let mut rows = rows;
        if *key == "nyc_hpd_registrations" {
            // The contacts are another file; here the registrations alone are asked for.
            rows.truncate(40);
        }
        let found = if *key == "nyc_hpd_registrations" {
            registrations_with_contacts(rows).await
        } else {
            each_row_is_found_again(key, rows).await
        };
        assert!(found > 0, "{key} ran on nothing");
    }
}

async fn registrations_with_contacts(rows: Vec<Value>) -> usize {
    let key = "nyc_hpd_registrations";
    let entry = entry(key);
    let soda = publisher(&entry, rows.clone());
    let contacts = export("hpd_contacts.csv", &[]).unwrap_or_default();
    soda.put(
        "feu5-w2e2",
        Table::new(
            contacts,
            &[
                ("registrationid", Type::Number),
                ("registrationcontactid", Type::Number),
            ],
        ),
    );
    let mut found = 0;
    for row in &rows {
        let Some(subject) = subject_of(&entry, row) else {
            continue;
        };
        let data = data(&ask(key, &soda, &subject).await);
        let wanted = row["lastregistrationdate"].as_str().unwrap_or("null");
        assert!(column(&data, "lastregistrationdate").contains(&wanted.to_owned()));
        assert!(data["records"][0]["contacts"].is_array());
        found += 1;
    }
    found
}

/// The real master and legals rows of one mortgage.
#[tokio::test]
async fn a_real_mortgage_is_joined() {
    let Some(path) = real_data("soda/rows/bnx9-e6tj_acris_master_and_8h5j-fqxa_legals_row.json")
    else {
        return;
    };
    let rows: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let soda = fake();
    let numbers = [
        ("borough", Type::Number),
        ("block", Type::Number),
        ("lot", Type::Number),
    ];
    soda.put(
        "8h5j-fqxa",
        Table::new(vec![rows["8h5j-fqxa_legals"].clone()], &numbers),
    );
    soda.put(
        "bnx9-e6tj",
        Table::new(vec![rows["bnx9-e6tj_master"].clone()], &[]),
    );
    soda.put(
        "636b-3b5g",
        Table::new(Vec::new(), &[("document_id", Type::Text)]),
    );
    let subject = Subject::of(Some("3-7713-146".parse().unwrap()), None, Borough::Brooklyn);
    let entry = ask("nyc_acris", &soda, &subject).await;
    assert!(
        entry
            .data()
            .unwrap()
            .get()
            .contains(r#""document_amt":352500.00"#)
    );
    let data = data(&entry);
    assert_eq!(data["mortgage_count"], 1);
    assert_eq!(
        column(&data, "recorded_datetime"),
        ["2020-06-01T00:00:00.000"]
    );
}
