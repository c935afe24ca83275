//! Comparable rentals and rents over HTTP, on the sample city's listings.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Options, Server};

/// How long every area may take to be scanned; generous, since it only bounds a failure.
const SCANNED_WITHIN: Duration = Duration::from_secs(120);

/// A sample server whose listings are scanned, and a rental in it that stands on a lot.
async fn server_and_rental() -> (Server, Value) {
    let server = Server::start(Options {
        variables: vec![("BROWNSTONE_LISTINGS_SOURCE".into(), "reso".into())],
        ..Options::default()
    })
    .await;
    let begun = tokio::time::Instant::now();
    loop {
        let body = json!({"location": "Manhattan", "listing_type": "rental", "limit": 100});
        let answer = server.post("/v1/search", &body).await;
        let data = answer.data();
        if data["source_status"] == json!({"cached": "ok"}) {
            let results = data["results"].as_array().expect("an array");
            let placed = results.iter().find(|one| {
                one["bbl"].is_string() && one["bedrooms"].is_u64() && one["latitude"].is_f64()
            });
            return (server, placed.expect("a rental on a lot").clone());
        }
        assert!(begun.elapsed() < SCANNED_WITHIN, "not scanned in time");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rentals_are_compared_counted_and_make_a_rent() {
    let (server, rental) = server_and_rental().await;
    let body = json!({
        "address": rental["bbl"], "mode": "estimate", "bedrooms": rental["bedrooms"],
        "max_age_days": 365, "radius_miles": 5, "limit": 50,
    });
    let answer = server.post("/v1/rentals", &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.body["meta"]["operation"], "getRentalEstimates");
    assert_eq!(answer.body["meta"]["units_charged"], 5);
    let data = answer.data();
    let rentals = data["rentals"].as_array().expect("an array");
    assert_eq!(data["rental_count"], rentals.len());
    assert!(!rentals.is_empty(), "{}", answer.text);
    for found in rentals {
        assert_eq!(
            (&found["listing_type"], &found["status"]),
            (&json!("rental"), &json!("active"))
        );
        assert!((0.0..=1.0).contains(&found["similarity"].as_f64().expect("a number")));
        if found["rent_stabilized"] == json!(true) {
            assert_eq!(found["weight"], 0.0);
        }
    }
    // Addresses by PAD come without coordinates: the lot has them, and so neighbours are found.
    assert!(data["subject"]["latitude"].is_f64(), "{}", data["subject"]);
    let miles = |found: &Value| found["distance_miles"].as_f64();
    assert!(rentals.iter().any(|found| {
        found["same_building"] == json!(false) && miles(found).is_some_and(|miles| miles > 0.0)
    }));
    let statistics = &data["statistics"];
    let enough = statistics["sample_size"].as_u64().expect("a number") >= 3;
    assert_eq!(statistics["median"].is_number(), enough, "{statistics}");
    let rent = &data["rent_estimate"];
    assert_eq!(
        (&rent["basis"], &rent["kind"], &rent["per"]),
        (&json!("gross"), &json!("asking"), &json!("unit"))
    );
    assert_eq!(
        rent["rent"].is_u64(),
        rent["no_estimate_reason"].is_null(),
        "{rent}"
    );
    assert_eq!(rent["accuracy"], Value::Null);

    let listed = server
        .post("/v1/rentals", &json!({"address": rental["bbl"]}))
        .await;
    assert_eq!(listed.data()["rent_estimate"], Value::Null);
    let report = json!({"address": rental["bbl"], "include_rentals": true});
    let report = server.post("/v1/lookup", &report).await;
    assert!(
        report.data()["rentals"]["statistics"].is_object(),
        "{}",
        report.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_listing_source_it_is_an_upstreams_error() {
    let server = Server::start(Options {
        variables: vec![("BROWNSTONE_LISTINGS_SOURCE".into(), "none".into())],
        ..Options::default()
    })
    .await;
    let answer = server
        .post("/v1/rentals", &json!({"address": "1000477501"}))
        .await;
    answer.assert_failure(502, "upstream_error");
    assert_eq!(
        server.usage().await["day"]["used"],
        0,
        "and it is not charged"
    );
}
