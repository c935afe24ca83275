//! Recorded documents whose own data the register does not give.

use brownstone_domain::SourceStatus;
use serde_json::{Value, json};

use super::{FakeSoda, ask, ask_ok, column, fixtures::fixture};

const LEGALS: &str = "8h5j-fqxa";
const MASTER: &str = "bnx9-e6tj";

fn without_in_master(soda: &FakeSoda, from: &str) {
    soda.edit(MASTER, |table| {
        table.columns.remove(from);
        for row in &mut table.rows {
            row.remove(from);
        }
    });
}

/// They count, and nobody knows as what, nor whether one of them is the newest.
#[tokio::test]
async fn a_document_without_data_of_its_own_is_of_no_kind() {
    let (soda, subject) = fixture("nyc_acris");
    soda.edit(LEGALS, |table| {
        let mut row = table.rows[0].clone();
        row.insert("document_id".into(), json!("2025060100003001"));
        table.rows.push(row);
    });
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    assert_eq!(data["record_count"], 5);
    assert!(column(&data, "document_id").contains(&"2025060100003001".to_owned()));
    for unknown in [
        "deed_count",
        "mortgage_count",
        "other_document_count",
        "documents_by_class",
        "documents_by_type",
        "last_deed_recorded",
        "last_deed_amount",
        "last_mortgage_recorded",
        "newest_recorded",
        "oldest_recorded",
    ] {
        assert_eq!(data[unknown], Value::Null, "{unknown}");
    }
}

#[tokio::test]
async fn a_master_without_any_of_the_documents_is_an_error() {
    let (soda, subject) = fixture("nyc_acris");
    soda.edit(MASTER, |table| table.rows.clear());
    let entry = ask("nyc_acris", &soda, &subject).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}

#[tokio::test]
async fn a_document_counts_once_however_often_the_master_has_it() {
    let (soda, subject) = fixture("nyc_acris");
    soda.edit(MASTER, |table| table.rows.push(table.rows[0].clone()));
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    assert_eq!(
        (&data["record_count"], &data["deed_count"]),
        (&json!(4), &json!(2))
    );
}

#[tokio::test]
async fn without_the_types_column_no_document_is_of_another_kind() {
    let (soda, subject) = fixture("nyc_acris");
    without_in_master(&soda, "doc_type");
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    assert_eq!(data["record_count"], 4);
    for unknown in [
        "deed_count",
        "other_document_count",
        "documents_by_class",
        "last_deed_amount",
    ] {
        assert_eq!(data[unknown], Value::Null, "{unknown}");
    }
    assert_eq!(data["records"][0]["document_class"], Value::Null);
    assert_eq!(data["newest_recorded"], "2024-03-05T00:00:00.000");
}

#[tokio::test]
async fn without_the_recording_date_there_is_no_order() {
    let (soda, subject) = fixture("nyc_acris");
    without_in_master(&soda, "recorded_datetime");
    let entry = ask("nyc_acris", &soda, &subject).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}
