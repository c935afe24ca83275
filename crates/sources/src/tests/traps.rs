//! The traps of the publishers' data, each by name.

use std::sync::Arc;

use brownstone_domain::SourceStatus;
use brownstone_soda::{Condition, Literal, Select};
use serde_json::{Value, json};

use super::{
    FakeSoda, ask, ask_ok, bbl, column, empire,
    fake::{Table, Type, fake},
    fixtures::fixture,
};
use crate::Subject;

fn lot_only(subject: Subject) -> Subject {
    Subject {
        bin: None,
        ..subject
    }
}

/// Adds copies of the first row of a dataset, changed by `change`.
fn add(soda: &FakeSoda, dataset: &str, count: usize, change: impl Fn(usize, &mut Value)) {
    soda.edit(dataset, |table| {
        let first = Value::Object(table.rows[0].clone());
        for at in 0..count {
            let mut row = first.clone();
            change(at, &mut row);
            let Value::Object(row) = row else {
                unreachable!()
            };
            table.rows.push(row);
        }
    });
}

/// 250 ECB violations more, one a day, and one of the fixture's with a rubbish date.
fn many_ecb() -> (Arc<FakeSoda>, Subject) {
    let (soda, subject) = fixture("nyc_ecb");
    add(&soda, "6bgk-3dad", 250, |at, row| {
        row["ecb_violation_number"] = json!(format!("35{at:06}K"));
        row["issue_date"] = json!(format!("2015{:02}{:02}", at / 28 + 1, at % 28 + 1));
        row["penality_imposed"] = json!("100.10");
        row["balance_due"] = json!("-0.10");
    });
    (soda, subject)
}

#[tokio::test]
async fn ecb_lot_is_padded_to_four_or_five() {
    let (soda, subject) = fixture("nyc_ecb");
    let data = ask_ok("nyc_ecb", &soda, &lot_only(subject)).await;
    assert_eq!(data["ecb_total_violations"], 4);
    let lots = column(&data, "lot");
    assert!(lots.contains(&"0041".to_owned()) && lots.contains(&"00041".to_owned()));
}

#[tokio::test]
async fn balance_due_may_be_negative() {
    let (soda, subject) = fixture("nyc_ecb");
    let data = ask_ok("nyc_ecb", &soda, &subject).await;
    let text = ask("nyc_ecb", &soda, &subject).await;
    assert!(
        text.data()
            .unwrap()
            .get()
            .contains("\"balance_due\":-25.00")
    );
    assert_eq!(data["balance_due_total"], json!(3725.00));
}

#[tokio::test]
async fn a_count_never_depends_on_the_cap() {
    let (soda, subject) = many_ecb();
    let data = ask_ok("nyc_ecb", &soda, &subject).await;
    assert_eq!(data["records"].as_array().unwrap().len(), 100);
    assert_eq!(data["record_count"], 254);
    assert_eq!(data["ecb_total_violations"], 254);
    assert_eq!(data["ecb_violations_truncated"], true);
    assert_eq!(data["records_truncated"], true);
    assert_eq!(data["open_violations"], 252);
    assert_eq!(data["violations_by_severity"]["CLASS - 1"], 251);
    // 4250.25 of the fixture and 250 times 100.10, to the cent.
    assert_eq!(data["penalty_imposed_total"], json!(29275.25));
    assert_eq!(data["balance_due_total"], json!(3700.00));
    assert_eq!(data["newest_issue_date"], "20261102");
    assert_eq!(data["oldest_issue_date"], "19981120");
    assert_eq!(column(&data, "issue_date")[..2], ["20261102", "20240105"]);
}

/// A thousand rubbish dates above the true ones do not displace them, nor do absent ones.
#[tokio::test]
async fn rubbish_dates_do_not_displace_the_newest() {
    let (soda, subject) = many_ecb();
    add(&soda, "6bgk-3dad", 600, |at, row| {
        row["issue_date"] = if at % 2 == 0 {
            json!(format!("Y99901{:02}", at % 28))
        } else {
            Value::Null
        };
        row["ecb_violation_number"] = json!(format!("36{at:06}K"));
    });
    let data = ask_ok("nyc_ecb", &soda, &subject).await;
    assert_eq!(data["ecb_total_violations"], 854);
    let dates = column(&data, "issue_date");
    assert_eq!(dates.len(), 100);
    assert_eq!(dates[..2], ["20261102", "20240105"]);
    assert!(dates.iter().all(|date| date.starts_with("20")), "{dates:?}");
    assert!(dates.windows(2).all(|pair| pair[0] >= pair[1]));
    assert_eq!(data["newest_issue_date"], "20261102");
    // Rows, the true newest, groups, oldest; nothing more.
    assert_eq!(soda.asked().len(), 4);
}

/// Where the believable rows are fewer than the cap, the undated fill the rest, last.
#[tokio::test]
async fn undated_rows_fill_what_the_cap_leaves() {
    let (soda, subject) = fixture("nyc_ecb");
    add(&soda, "6bgk-3dad", 300, |at, row| {
        row["issue_date"] = Value::Null;
        row["ecb_violation_number"] = json!(format!("36{at:06}K"));
    });
    let data = ask_ok("nyc_ecb", &soda, &subject).await;
    let dates = column(&data, "issue_date");
    assert_eq!(dates.len(), 100);
    assert_eq!(dates[..4], ["20261102", "20240105", "19981120", "null"]);
    assert_eq!(data["record_count"], 304);
}

#[tokio::test]
async fn dob_violations_may_be_dated_y9990120() {
    let (soda, subject) = fixture("nyc_dob");
    let data = ask_ok("nyc_dob", &soda, &subject).await;
    assert_eq!(
        column(&data, "issue_date"),
        ["20230711", "20180406", "19970916", "Y9990120"]
    );
    assert_eq!(data["newest_issue_date"], "20230711");
    assert_eq!(data["dob_total_violations"], 4);
    assert_eq!(data["dob_violations_truncated"], false);
}

#[tokio::test]
async fn a_star_in_the_category_means_dismissed_or_resolved() {
    let (soda, subject) = fixture("nyc_dob");
    let data = ask_ok("nyc_dob", &soda, &subject).await;
    assert_eq!(data["open_violations"], 2);
}

#[tokio::test]
async fn violation_type_is_counted_by_its_code() {
    let (soda, subject) = fixture("nyc_dob");
    let data = ask_ok("nyc_dob", &soda, &subject).await;
    assert_eq!(
        data["violations_by_type"],
        json!({"AEUHAZ1": 1, "E": 1, "LBLVIO": 1, "LL6291": 1})
    );
}

#[tokio::test]
async fn the_test_row_without_a_bin_is_on_no_building() {
    let (soda, subject) = fixture("nyc_dob");
    let data = ask_ok("nyc_dob", &soda, &subject).await;
    assert!(!column(&data, "house_number").contains(&"TEST".to_owned()));
}

#[tokio::test]
async fn job_filings_bbl_may_be_a_bin() {
    let (soda, subject) = fixture("nyc_dob_jobs");
    // A neighbour's filing has this building's BIN in its bbl column, and this building's filing no BBL at all.
    let data = ask_ok("nyc_dob_jobs", &soda, &lot_only(subject)).await;
    assert_eq!(data["record_count"], 4);
    let asked = format!("{:?}", soda.asked());
    assert!(
        !asked.contains("\"bbl\""),
        "the bbl column is never asked by"
    );
    // Shown as published all the same.
    assert!(column(&data, "bbl").contains(&"1015862".to_owned()));
}

#[tokio::test]
async fn text_dates_do_not_sort() {
    let (soda, subject) = fixture("nyc_dob_jobs");
    let data = ask_ok("nyc_dob_jobs", &soda, &subject).await;
    assert_eq!(
        column(&data, "pre__filing_date"),
        ["02/03/2020", "12/30/2018", "12/30/2018", "2011-06-30 "]
    );
    assert_eq!(data["oldest_pre_filing_date"], "2011-06-30 ");
}

#[tokio::test]
async fn a_job_has_several_rows() {
    let (soda, subject) = fixture("nyc_dob_jobs");
    let data = ask_ok("nyc_dob_jobs", &soda, &subject).await;
    assert_eq!(
        (&data["record_count"], &data["job_count"]),
        (&json!(4), &json!(3))
    );
    // The second document repeats the job's cost.
    assert_eq!(data["initial_cost_total"], json!(1292300.50));
}

#[tokio::test]
async fn costs_have_a_dollar_sign_and_become_numbers() {
    let (soda, subject) = fixture("nyc_dob_jobs");
    let entry = ask("nyc_dob_jobs", &soda, &subject).await;
    let text = entry.data().unwrap().get();
    assert!(text.contains(r#""initial_cost":1250000.50,"total_est__fee":12650.10"#));
}

#[tokio::test]
async fn permits_mix_two_date_formats() {
    let (soda, subject) = fixture("nyc_dob_permits");
    let data = ask_ok("nyc_dob_permits", &soda, &subject).await;
    assert_eq!(
        column(&data, "issuance_date"),
        ["2020-06-05 ", "01/16/2019", "12/31/1995"]
    );
    assert_eq!(data["newest_issuance_date"], "2020-06-05 ");
    assert_eq!(data["unexpired_permits"], 1);
}

#[tokio::test]
async fn one_permit_is_counted_once() {
    let (soda, subject) = fixture("nyc_dob_permits");
    let data = ask_ok("nyc_dob_permits", &soda, &subject).await;
    assert_eq!(data["record_count"], 3, "one row came twice");
    assert_eq!(data["sidewalk_shed_permits"], 1);
}

/// More rows than a page: all are fetched by their identifier, and the newest are still the newest.
#[tokio::test]
async fn thousands_of_text_dated_rows_are_all_fetched() {
    let (soda, subject) = fixture("nyc_dob_complaints");
    add(&soda, "eabe-havv", 2_500, |at, row| {
        row["complaint_number"] = json!(format!("1{at:06}"));
        row["date_entered"] = json!(format!(
            "{:02}/{:02}/{}",
            at % 12 + 1,
            at % 28 + 1,
            1990 + at % 30
        ));
    });
    let data = ask_ok("nyc_dob_complaints", &soda, &subject).await;
    assert_eq!(data["record_count"], 2_504);
    assert_eq!(column(&data, "date_entered")[0], "01/15/2026");
    let pages = soda.asked_of("eabe-havv");
    assert_eq!(pages.len(), 3);
    assert!(
        pages
            .iter()
            .all(|page| page.select.contains(&Select::RowId))
    );
}

#[tokio::test]
async fn stop_work_orders_are_disposition_codes() {
    let (soda, subject) = fixture("nyc_dob_complaints");
    let data = ask_ok("nyc_dob_complaints", &soda, &subject).await;
    assert_eq!(data["stop_work_orders_issued"], 1);
    assert_eq!(data["stop_work_orders_rescinded"], 1);
    let texts = column(&data, "disposition_text");
    assert!(texts.contains(&"FULL STOP WORK ORDER SERVED".to_owned()));
    assert!(texts.contains(&"null".to_owned()), "ZZ is in no table");
}

/// The table of codes decorates: without it the source still answers.
#[tokio::test]
async fn complaints_do_without_the_table_of_codes() {
    let (soda, subject) = fixture("nyc_dob_complaints");
    soda.fail(
        "6v9u-ndjg",
        super::fake::Fault::Error(brownstone_soda::SodaError::Gone { status: 404 }),
    );
    let data = ask_ok("nyc_dob_complaints", &soda, &subject).await;
    assert!(
        column(&data, "disposition_text")
            .iter()
            .all(|text| text == "null")
    );
    assert_eq!(column(&data, "disposition_code")[3], "A3");
}

#[tokio::test]
async fn hpd_closed_is_close() {
    let (soda, subject) = fixture("nyc_hpd_violations");
    let data = ask_ok("nyc_hpd_violations", &soda, &subject).await;
    assert_eq!(data["open_violations"], 3);
    assert_eq!(data["open_class_c"], 1);
    assert_eq!(data["hmc_violation_count"], 4);
    assert_eq!(data["hmc_violations_truncated"], false);
    assert_eq!(
        data["violations_by_class"],
        json!({"A": 1, "B": 1, "C": 1, "I": 1})
    );
}

#[tokio::test]
async fn hpd_violations_on_a_placeholder_bin_are_on_no_building() {
    let (soda, subject) = fixture("nyc_hpd_violations");
    let data = ask_ok("nyc_hpd_violations", &soda, &subject).await;
    assert!(!column(&data, "bin").contains(&"1000000".to_owned()));
}

#[tokio::test]
async fn a_complaint_has_several_problems() {
    let (soda, subject) = fixture("nyc_hpd_complaints");
    let data = ask_ok("nyc_hpd_complaints", &soda, &subject).await;
    assert_eq!(
        (
            &data["record_count"],
            &data["complaint_count"],
            &data["duplicate_problems"]
        ),
        (&json!(3), &json!(2), &json!(1))
    );
    // And where there are too many to fetch, the publisher counts them.
    add(&soda, "ygpa-z7cr", 200, |at, row| {
        row["problem_id"] = json!(format!("4{at:07}"));
        row["complaint_id"] = json!(format!("2{:07}", at / 4));
    });
    let data = ask_ok("nyc_hpd_complaints", &soda, &subject).await;
    assert_eq!(
        (
            &data["record_count"],
            &data["complaint_count"],
            &data["open_problems"]
        ),
        (&json!(203), &json!(52), &json!(202))
    );
}

#[tokio::test]
async fn registrations_have_no_bbl_and_bring_their_contacts() {
    let (soda, subject) = fixture("nyc_hpd_registrations");
    let data = ask_ok("nyc_hpd_registrations", &soda, &lot_only(subject)).await;
    assert_eq!(data["matched_by"], "bbl");
    assert_eq!(data["valid_registrations"], 1);
    let records = data["records"].as_array().unwrap();
    assert_eq!(records[0]["registrationid"], "100200");
    let contacts = records[0]["contacts"].as_array().unwrap();
    let roles: Vec<&Value> = contacts.iter().map(|contact| &contact["type"]).collect();
    assert_eq!(roles, ["CorporateOwner", "Agent"]);
    assert_eq!(records[1]["contacts"], json!([]));
    // A registration whose contacts could not be had is no registration without contacts.
    soda.fail(
        "feu5-w2e2",
        super::fake::Fault::Error(brownstone_soda::SodaError::Throttled),
    );
    let entry = ask("nyc_hpd_registrations", &soda, &empire()).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}

#[tokio::test]
async fn evictions_without_coordinates_are_on_no_building() {
    let (soda, subject) = fixture("nyc_evictions");
    let data = ask_ok("nyc_evictions", &soda, &subject).await;
    assert_eq!(data["record_count"], 2);
    assert_eq!(data["residential_evictions"], 1);
}

#[tokio::test]
async fn pluto_prints_a_bbl_with_eight_decimals() {
    let (soda, subject) = fixture("nyc_pluto");
    let data = ask_ok("nyc_pluto", &soda, &subject).await;
    assert_eq!(column(&data, "bbl"), ["1008350041"]);
    assert_eq!(data["records"][0]["splitzone"], true);
    assert_eq!(data["records"][0]["landuse"], "5");
    let filter = soda.asked()[0].filter.clone();
    assert!(
        matches!(
            filter,
            Some(Condition::Eq(_, Literal::Number(1_008_350_041)))
        ),
        "a number is asked bare"
    );
}

#[tokio::test]
async fn a_condominiums_pluto_row_is_on_the_billing_lot() {
    let soda = fake();
    soda.put(
        "64uk-42ks",
        Table::new(
            vec![json!({"bbl": "1000477501.00000000", "address": "120 BROADWAY"})],
            &[("bbl", Type::Number)],
        ),
    );
    let unit = Subject {
        unit_bbl: Some(bbl("1000471001")),
        ..Subject::of(
            Some(bbl("1000477501")),
            None,
            brownstone_domain::Borough::Manhattan,
        )
    };
    let data = ask_ok("nyc_pluto", &soda, &unit).await;
    assert_eq!(column(&data, "address"), ["120 BROADWAY"]);
}

#[tokio::test]
async fn the_final_roll_comes_before_the_tentative_one() {
    let (soda, subject) = fixture("nyc_dof_assessments");
    let data = ask_ok("nyc_dof_assessments", &soda, &subject).await;
    assert_eq!(column(&data, "year"), ["2027", "2027", "2026", "2025"]);
    assert_eq!(column(&data, "period"), ["3", "1", "3", "3"]);
    assert_eq!(data["market_value_total"], json!(925_500_000));
    assert_eq!(
        (&data["fiscal_year"], &data["assessment_period"]),
        (&json!("2027"), &json!("3"))
    );
}

#[tokio::test]
async fn acris_sorts_by_recording_and_not_by_document_date() {
    let (soda, subject) = fixture("nyc_acris");
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    assert_eq!(
        column(&data, "document_id"),
        [
            "2024030100002001",
            "2013101500001002",
            "2013101500001001",
            "FT_1110000000001"
        ]
    );
    assert_eq!(data["oldest_recorded"], "1981-05-04T00:00:00.000");
    assert_eq!(data["last_deed_amount"], json!(500_000_000.00));
}

#[tokio::test]
async fn party_one_of_a_deed_sells() {
    let (soda, subject) = fixture("nyc_acris");
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    let deed = &data["records"][2];
    assert_eq!(
        deed["parties"],
        json!([
            {"name": "FORMER OWNER ASSOCIATES LP", "party_type": "1", "role": "seller"},
            {"name": "EXAMPLE TOWER LLC", "party_type": "2", "role": "buyer"},
        ])
    );
    let mortgage = &data["records"][1];
    assert_eq!(mortgage["parties"][0]["role"], "borrower");
    assert!(
        !data.to_string().contains("EXAMPLE PLAZA"),
        "addresses are left out"
    );
}

#[tokio::test]
async fn a_document_may_be_about_many_lots() {
    let (soda, subject) = fixture("nyc_acris");
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    assert_eq!(data["records"][0]["lots_in_document"], 3);
    assert_eq!(data["records"][0]["unit"], "PH1");
    assert_eq!(data["record_count"], 4, "a document counts once");
}

/// 450 documents: the master is asked in chunks that a request can carry, all are counted, the newest 100 shown.
#[tokio::test]
async fn hundreds_of_documents_are_counted_by_kind() {
    let (soda, subject) = fixture("nyc_acris");
    for dataset in ["8h5j-fqxa", "bnx9-e6tj"] {
        add(&soda, dataset, 450, |at, row| {
            row["document_id"] = json!(format!("2005{at:012}"));
            row["doc_type"] = json!(if at % 3 == 0 { "DEED" } else { "SAT" });
            row["recorded_datetime"] = json!(format!(
                "2005-{:02}-{:02}T00:00:00.000",
                at / 40 + 1,
                at % 28 + 1
            ));
        });
    }
    let data = ask_ok("nyc_acris", &soda, &subject).await;
    assert_eq!(data["record_count"], 454);
    assert_eq!(data["deed_count"], 152);
    assert_eq!(data["documents_by_class"]["satisfaction"], 300);
    assert_eq!(data["records"].as_array().unwrap().len(), 100);
    assert_eq!(soda.asked_of("bnx9-e6tj").len(), 3);
    assert_eq!(soda.asked_of("636b-3b5g").len(), 1);
}
