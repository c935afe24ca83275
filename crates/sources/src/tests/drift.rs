//! When a publisher changes its table: the source keeps working or errs, and never shows wrong data as right.

use std::sync::Arc;

use brownstone_domain::SourceStatus;
use brownstone_soda::DatasetId;
use serde_json::{Value, json};
use time::{OffsetDateTime, macros::datetime};

use super::{FakeSoda, ask, ask_ok, column, data, deps, fake::Type, fixtures::fixture, soon};
use crate::{
    CatalogueError, Source, Updates, built_in,
    catalogue::{FILES, parse},
    deps::Shared,
};

fn rename(soda: &FakeSoda, dataset: &str, from: &str, to: &str) {
    soda.edit(dataset, |table| {
        if let Some(kind) = table.columns.remove(from) {
            table.columns.insert(to.to_owned(), kind);
        }
        for row in &mut table.rows {
            if let Some(value) = row.remove(from) {
                row.insert(to.to_owned(), value);
            }
        }
    });
}

fn many(soda: &FakeSoda) {
    soda.edit("6bgk-3dad", |table| {
        for at in 0..200 {
            let mut row = table.rows[0].clone();
            row.insert("ecb_violation_number".into(), json!(format!("37{at:06}K")));
            table.rows.push(row);
        }
    });
}

#[tokio::test]
async fn a_missing_key_column_is_an_error() {
    let (soda, subject) = fixture("nyc_ecb");
    rename(&soda, "6bgk-3dad", "bin", "building_bin");
    let entry = ask("nyc_ecb", &soda, &subject).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}

#[tokio::test]
async fn a_key_column_that_changes_its_type_is_asked_the_other_way_and_remembered() {
    let (soda, subject) = fixture("nyc_ecb");
    soda.edit("6bgk-3dad", |table| {
        table.columns.insert("bin".into(), Type::Number);
    });
    let source = super::source("nyc_ecb", &soda);
    let entry = source.fetch(&subject, soon()).await;
    assert_eq!(data(&entry)["ecb_total_violations"], 4);
    assert_eq!(soda.asked().len(), 2);
    source.fetch(&subject, soon()).await;
    assert_eq!(
        soda.asked().len(),
        3,
        "the second report asks right at once"
    );
    // The publisher takes it back.
    soda.edit("6bgk-3dad", |table| {
        table.columns.insert("bin".into(), Type::Text);
    });
    let entry = source.fetch(&subject, soon()).await;
    assert_eq!(entry.status(), SourceStatus::Ok);
}

#[tokio::test]
async fn a_missing_order_column_is_an_error() {
    for key in ["nyc_ecb", "nyc_dob_jobs"] {
        let (soda, subject) = fixture(key);
        rename(&soda, "6bgk-3dad", "issue_date", "date_issued");
        rename(&soda, "ic3t-wcy2", "pre__filing_date", "filed");
        let entry = ask(key, &soda, &subject).await;
        assert_eq!(entry.status(), SourceStatus::Error, "{key}");
    }
}

#[tokio::test]
async fn a_missing_summary_column_makes_its_summary_unknown_and_not_zero() {
    for capped in [false, true] {
        let (soda, subject) = fixture("nyc_ecb");
        if capped {
            many(&soda);
        }
        rename(&soda, "6bgk-3dad", "ecb_violation_status", "status");
        let data = ask_ok("nyc_ecb", &soda, &subject).await;
        assert_eq!(data["open_violations"], Value::Null, "capped: {capped}");
        assert_eq!(data["ecb_total_violations"], if capped { 204 } else { 4 });
        assert!(data["violations_by_severity"].is_object());
        assert_eq!(data["records"][0]["ecb_violation_status"], Value::Null);
        assert!(
            data["records"][0]["status"].is_string(),
            "the new column is shown as it comes"
        );
    }
}

/// Without a header the first to notice is the aggregate: it is refused, and the count alone remains.
#[tokio::test]
async fn an_aggregate_that_is_refused_leaves_the_count() {
    let (soda, subject) = fixture("nyc_ecb");
    many(&soda);
    rename(&soda, "6bgk-3dad", "severity", "severity_level");
    let mut soda = Arc::into_inner(soda).unwrap();
    soda.headers = false;
    let data = ask_ok("nyc_ecb", &Arc::new(soda), &subject).await;
    assert_eq!(data["ecb_total_violations"], 204);
    assert_eq!(data["violations_by_severity"], Value::Null);
    assert_eq!(data["open_violations"], Value::Null);
}

#[tokio::test]
async fn a_number_column_that_becomes_text_has_no_sum() {
    let (soda, subject) = fixture("nyc_ecb");
    soda.edit("6bgk-3dad", |table| {
        table.columns.insert("penality_imposed".into(), Type::Text);
        table.rows[0].insert("penality_imposed".into(), json!("see note"));
    });
    let small = ask_ok("nyc_ecb", &soda, &subject).await;
    assert_eq!(small["penalty_imposed_total"], Value::Null);
    assert_eq!(small["records"][1]["penality_imposed"], "see note");
    assert_eq!(small["amount_paid_total"], json!(525.25));
    many(&soda);
    let large = ask_ok("nyc_ecb", &soda, &subject).await;
    assert_eq!(large["penalty_imposed_total"], Value::Null);
    assert_eq!(
        large["open_violations"], 202,
        "what needs no sum is still counted"
    );
}

/// Extracts and rows that repeat each other would each count.
#[tokio::test]
async fn without_what_tells_repeated_rows_apart_there_is_no_count() {
    for (key, dataset, column) in [
        ("nyc_dof_charges", "scjx-j6np", "extractdt"),
        ("nyc_dof_charges", "scjx-j6np", "code"),
        ("nyc_dof_abatements", "rgyu-ii48", "extractdt"),
        ("nyc_dob_permits", "ipu4-2q9a", "permit_si_no"),
        ("nyc_hpd_bedbugs", "wz6d-d3jb", "building_id"),
    ] {
        let (soda, subject) = fixture(key);
        rename(&soda, dataset, column, "renamed");
        let entry = ask(key, &soda, &subject).await;
        assert_eq!(entry.status(), SourceStatus::Error, "{key}: {column}");
    }
    // Without a header no row says which extract it is of.
    let (soda, subject) = fixture("nyc_dof_abatements");
    rename(&soda, "rgyu-ii48", "extractdt", "renamed");
    let mut soda = Arc::into_inner(soda).unwrap();
    soda.headers = false;
    let entry = ask("nyc_dof_abatements", &Arc::new(soda), &subject).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}

/// Blank is not zero. Where nothing applies, zero is true.
#[tokio::test]
async fn a_sum_of_values_that_nobody_stated_is_not_known() {
    for capped in [false, true] {
        let (soda, subject) = fixture("nyc_ecb");
        if capped {
            many(&soda);
        }
        soda.edit("6bgk-3dad", |table| {
            for row in &mut table.rows {
                row.remove("penality_imposed");
            }
        });
        let data = ask_ok("nyc_ecb", &soda, &subject).await;
        assert_eq!(data["penalty_imposed_total"], Value::Null, "{capped}");
        assert!(data["amount_paid_total"].is_number(), "{capped}");
    }
    let (soda, subject) = fixture("nyc_dob_jobs");
    soda.edit("ic3t-wcy2", |table| {
        for row in &mut table.rows {
            row.insert("doc__".into(), json!("02"));
        }
    });
    let data = ask_ok("nyc_dob_jobs", &soda, &subject).await;
    assert_eq!(data["initial_cost_total"], 0);
}

#[tokio::test]
async fn a_date_format_nobody_told_us_of_is_an_error() {
    let (soda, subject) = fixture("nyc_dob_jobs");
    soda.edit("ic3t-wcy2", |table| {
        for row in &mut table.rows {
            row.insert("pre__filing_date".into(), json!("3rd of May 2021"));
        }
    });
    let entry = ask("nyc_dob_jobs", &soda, &subject).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}

#[tokio::test]
async fn iso_dates_where_text_was_are_understood() {
    let (soda, subject) = fixture("nyc_dob_complaints");
    soda.edit("eabe-havv", |table| {
        for (row, date) in
            table
                .rows
                .iter_mut()
                .zip(["2026-01-15", "2019-12-31", "2020-06-05", "2020-06-05"])
        {
            row.insert("date_entered".into(), json!(format!("{date}T00:00:00.000")));
        }
    });
    let data = ask_ok("nyc_dob_complaints", &soda, &subject).await;
    assert_eq!(column(&data, "date_entered")[0], "2026-01-15T00:00:00.000");
    assert_eq!(column(&data, "date_entered")[3], "2019-12-31T00:00:00.000");
}

#[tokio::test]
async fn new_columns_are_shown_as_they_come() {
    let (soda, subject) = fixture("nyc_evictions");
    soda.edit("6z8x-wfk4", |table| {
        table.columns.insert("courthouse".into(), Type::Text);
        table.rows[0].insert("courthouse".into(), json!("New York County"));
    });
    let data = ask_ok("nyc_evictions", &soda, &subject).await;
    assert_eq!(data["records"][0]["courthouse"], "New York County");
}

struct Fixed(Option<OffsetDateTime>);

impl Updates for Fixed {
    fn updated_at(&self, _: &DatasetId) -> Option<OffsetDateTime> {
        self.0
    }
}

#[tokio::test]
async fn a_dataset_later_than_its_cadence_is_stale() {
    let (soda, subject) = fixture("nyc_ecb");
    let (_, text) = FILES.iter().find(|(key, _)| *key == "nyc_ecb").unwrap();
    for (updated, stale) in [
        (Some(datetime!(2026-11-25 5:00 UTC)), json!(false)),
        (Some(datetime!(2026-11-20 5:00 UTC)), json!(true)),
        (None, Value::Null),
    ] {
        let shared = Arc::new(Shared::new(deps(&soda, Arc::new(Fixed(updated)))));
        let source: Arc<dyn Source> = built_in::source("nyc_ecb.toml", text, &shared).unwrap();
        let data = data(&source.fetch(&subject, soon()).await);
        assert_eq!(data["stale"], stale, "{updated:?}");
        assert_eq!(data["source_updated_at"].is_null(), updated.is_none());
    }
}

fn faulty(change: impl Fn(&str) -> String) -> CatalogueError {
    let (_, text) = FILES.iter().find(|(key, _)| *key == "nyc_ecb").unwrap();
    let changed = change(text);
    assert_ne!(*text, changed, "the change did not take");
    parse("nyc_ecb.toml", &changed).unwrap_err()
}

#[test]
fn faults_of_the_catalogue_name_file_and_field() {
    let cases: [(&str, &str, &str); 14] = [
        ("cadence_days = 7", "cadence = 7", "cadence"),
        (
            "dataset = \"6bgk-3dad\"",
            "dataset = \"6bgk3dad\"",
            "dataset",
        ),
        ("key = \"nyc_ecb\"", "key = \"nyc_dob\"", "key"),
        (
            "column = \"bin\", part = \"bin\"",
            "column = \"bim\", part = \"bin\"",
            "match 1",
        ),
        ("part = \"block\"", "part = \"lot\"", "match 2"),
        ("part = \"bin\"", "part = \"bin\", listed = true", "match 1"),
        (
            "[[order]]",
            "[[match]]\ngaps = true\ncolumns = [{ column = \"bin\", part = \"bbl\" }]\n[[order]]",
            "match 3",
        ),
        (
            "lot = \"building\"",
            "lot = \"building\"\ncondominium = \"bin\"",
            "condominium",
        ),
        (
            "layout = \"compact\"",
            "layout = \"mixed\"",
            "order issue_date",
        ),
        (
            "column = \"severity\"",
            "column = \"harshness\"",
            "summary violations_by_severity",
        ),
        (
            "column = \"penality_imposed\"",
            "column = \"severity\"",
            "summary penalty_imposed_total",
        ),
        (
            "name = \"open_violations\"",
            "name = \"record_count\"",
            "summary record_count",
        ),
        ("balance_due: money", "balance_due: gold", "columns"),
        ("\"bin: id\"", "\"bin: id\", \"bin: id\"", "columns"),
    ];
    for (from, to, field) in cases {
        let error = faulty(|text| text.replacen(from, to, 1)).to_string();
        assert!(error.starts_with("nyc_ecb.toml: "), "{error}");
        assert!(error.contains(field), "{error} should name {field}");
    }
}

#[test]
fn a_list_is_not_looked_through_for_a_condominiums_buildings_and_lots() {
    let error = faulty(|text| {
        text.replacen("lot =", "fetch = \"all\"\nlot =", 1)
            .replacen("part = \"bin\"", "part = \"bin\", listed = true", 1)
    });
    let error = error.to_string();
    assert!(error.starts_with("nyc_ecb.toml: match: "), "{error}");
}

#[test]
fn an_unknown_module_is_refused() {
    let (soda, _) = fixture("nyc_ecb");
    let shared = Arc::new(Shared::new(deps(&soda, Arc::new(Fixed(None)))));
    let (_, text) = FILES.iter().find(|(key, _)| *key == "nyc_acris").unwrap();
    let text = text.replace("module = \"acris\"", "module = \"akris\"");
    let error = built_in::source("nyc_acris.toml", &text, &shared)
        .err()
        .unwrap();
    assert!(error.to_string().contains("akris"), "{error}");
}
