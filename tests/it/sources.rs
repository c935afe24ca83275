//! What a report says of the sources.

use serde_json::{Value, json};

use crate::harness::{START, Server};

const SOURCES: [&str; 12] = [
    "nyc_ecb",
    "nyc_dob",
    "nyc_dob_jobs",
    "nyc_dob_permits",
    "nyc_dob_complaints",
    "nyc_hpd_violations",
    "nyc_hpd_complaints",
    "nyc_hpd_registrations",
    "nyc_pluto",
    "nyc_acris",
    "nyc_evictions",
    "nyc_dof_assessments",
];

const NAMED: [&str; 11] = [
    "350 5 Avenue, Manhattan",
    "120 Broadway, Manhattan",
    "280 Riverside Drive, Manhattan",
    "2121 Eastchester Road, Bronx",
    "1401 Pelham Parkway South, Bronx",
    "700 Brook Avenue, Bronx",
    "1279 37 Street, Brooklyn",
    "1065 East 99 Street, Brooklyn",
    "43-06 46 Street, Queens",
    "103-12 97 Street, Queens",
    "335 Garretson Avenue, Staten Island",
];

/// The reports of the named buildings. A source that a machine busy with other tests kept from answering in time is asked again when its time
/// has come; one that errs by itself does so each time.
async fn reports(server: &Server) -> Vec<Value> {
    let mut reports = Vec::new();
    let mut now = START;
    for address in NAMED {
        let mut report = server.lookup(address).await;
        for _ in 0..4 {
            if report.data()["cache"]["status"] == "ok" {
                break;
            }
            now += time::Duration::minutes(10);
            server.set_clock(now);
            report = server.lookup(address).await;
        }
        reports.push(report.data().clone());
    }
    reports
}

#[tokio::test(flavor = "multi_thread")]
async fn every_source_stands_in_every_report_in_registry_order_and_none_errs() {
    let server = Server::sample().await;
    let listed = server.operator(&["sources"]).await;
    let listed: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let reports = reports(&server).await;
    for report in &reports {
        let sources = report["sources"].as_object().unwrap();
        let keys: Vec<&str> = sources.keys().map(String::as_str).collect();
        assert_eq!(keys, listed);
        for (key, entry) in sources {
            let status = entry["status"].as_str().unwrap();
            assert!(
                matches!(status, "ok" | "not_found" | "gated"),
                "{key} is {status}"
            );
            assert_eq!(entry["data"].is_null(), status != "ok", "{key}");
            assert_eq!(
                entry.as_object().unwrap().keys().collect::<Vec<_>>(),
                ["status", "data"]
            );
        }
    }
    for source in SOURCES {
        assert!(listed.contains(&source), "{source} is registered");
        let somewhere = reports
            .iter()
            .any(|report| report["sources"][source]["status"] == "ok");
        assert!(somewhere, "{source} has data in a named building");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_general_fields_come_first_and_counts_do_not_depend_on_the_cap() {
    let server = Server::sample().await;
    let reports = reports(&server).await;
    let mut capped = 0;
    for report in &reports {
        for (key, entry) in report["sources"].as_object().unwrap() {
            let Some(data) = entry["data"].as_object() else {
                continue;
            };
            let keys: Vec<_> = data.keys().take(7).collect();
            assert_eq!(
                keys,
                [
                    "records",
                    "record_count",
                    "records_truncated",
                    "matched_by",
                    "source_url",
                    "source_updated_at",
                    "stale"
                ],
                "{key}"
            );
            let shown = data["records"].as_array().unwrap().len() as u64;
            let count = data["record_count"].as_u64().unwrap();
            assert!(shown <= 100 && shown <= count, "{key}");
            assert_eq!(data["records_truncated"], shown < count, "{key}");
            capped += u64::from(shown < count);
        }
    }
    assert!(capped > 0, "some building is over the cap");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_building_with_250_ecb_violations_shows_the_newest_100_and_counts_all() {
    let server = Server::sample().await;
    let reports = reports(&server).await;
    let ecb = reports
        .iter()
        .map(|report| &report["sources"]["nyc_ecb"]["data"])
        .find(|data| data["record_count"] == 250)
        .expect("one named building has 250");
    assert_eq!(ecb["ecb_total_violations"], 250);
    assert_eq!(ecb["ecb_violations_truncated"], true);
    let dates: Vec<&str> = ecb["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["issue_date"].as_str().unwrap())
        .collect();
    assert_eq!(dates.len(), 100);
    assert!(dates.is_sorted_by(|a, b| a >= b), "newest first: {dates:?}");
    assert!(
        dates
            .iter()
            .all(|date| date.len() == 8 && ("19000101"..="20261127").contains(date)),
        "as published, rubbish last: {dates:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn money_is_a_number_with_its_cents_and_identifiers_are_text() {
    let server = Server::sample().await;
    let reports = reports(&server).await;
    let mut checked = 0;
    for report in &reports {
        for record in report["sources"]["nyc_ecb"]["data"]["records"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert!(
                record["penality_imposed"].is_number() || record["penality_imposed"].is_null(),
                "{record}"
            );
            assert!(
                record["balance_due"].is_number() || record["balance_due"].is_null(),
                "{record}"
            );
            assert!(record["ecb_violation_number"].is_string(), "{record}");
            checked += 1;
        }
        for record in report["sources"]["nyc_pluto"]["data"]["records"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let bbl = record["bbl"].as_str().expect("an identifier is text");
            assert_eq!(bbl.len(), 10, "{bbl}");
            assert_eq!(bbl, report["bbl"]);
            checked += 1;
        }
        for record in report["sources"]["nyc_dob_jobs"]["data"]["records"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert!(
                record["initial_cost"].is_number() || record["initial_cost"].is_null(),
                "{record}"
            );
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sample_reports_say_that_they_are_invented_and_carry_coordinates() {
    let server = Server::sample().await;
    for report in reports(&server).await {
        let property = &report["property"];
        let warnings = property["warnings"].as_array().unwrap();
        assert!(
            warnings.contains(&json!("Sample data: the records are invented.")),
            "{warnings:?}"
        );
        let keys: Vec<_> = property.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "address",
                "house_number",
                "street",
                "unit",
                "unit_bbl",
                "borough",
                "borough_code",
                "city",
                "state",
                "zip_code",
                "neighborhood",
                "latitude",
                "longitude",
                "match",
                "warnings"
            ]
        );
        let latitude = property["latitude"].as_f64().expect("PLUTO's latitude");
        assert!((40.4..41.0).contains(&latitude), "{property}");
    }
}
