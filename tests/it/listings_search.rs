//! The listing search and the digest of changes over HTTP.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use time::macros::datetime;

use crate::harness::{Answer, Options, Server};

/// How long every area may take to be scanned; generous, since it only bounds a failure.
const SCANNED_WITHIN: Duration = Duration::from_secs(120);

/// A sample server with its listings, once all of the city is scanned.
pub(crate) async fn server(source: &str) -> Server {
    let server = Server::start(Options {
        variables: vec![("BROWNSTONE_LISTINGS_SOURCE".into(), source.into())],
        ..Options::default()
    })
    .await;
    let begun = tokio::time::Instant::now();
    loop {
        let answer = search(&server, json!({"location": "NYC", "limit": 1})).await;
        let status = answer.data()["source_status"].clone();
        if status == json!({"cached": "ok"}) {
            return server;
        }
        assert!(
            begun.elapsed() < SCANNED_WITHIN,
            "not scanned in time: {status}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) async fn search(server: &Server, body: Value) -> Answer {
    let answer = server.post("/v1/search", &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{body}: {}", answer.text);
    answer
}

pub(crate) fn results(answer: &Answer) -> Vec<Value> {
    answer.data()["results"]
        .as_array()
        .expect("an array")
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_area_of_the_sample_is_scanned_and_searched() {
    let server = server("reso").await;
    for (listing_type, price) in [("sale", "list_price"), ("rental", "asking_rent")] {
        let answer = search(
            &server,
            json!({"location": "Manhattan", "listing_type": listing_type, "limit": 100}),
        )
        .await;
        assert_eq!(answer.body["meta"]["units_charged"], 2);
        assert_eq!(answer.body["meta"]["operation"], "searchListings");
        assert_eq!(answer.data()["source_status"], json!({"cached": "ok"}));
        let listings = results(&answer);
        assert!(listings.len() > 20, "{} of {listing_type}", listings.len());
        let priced = listings.iter().filter(|one| one[price].is_number()).count();
        assert!(priced * 10 >= listings.len() * 9, "{priced} have a {price}");
        let placed = listings.iter().filter(|one| one["bbl"].is_string()).count();
        assert!(placed * 10 >= listings.len() * 9, "{placed} have a lot");
        for listing in &listings {
            assert_eq!(listing["listing_type"], listing_type);
            assert_eq!(listing["status"], "active");
            assert_eq!(listing["borough"], "Manhattan");
            assert!(listing["sources"]["reso"]["listing_id"].is_string());
            assert_eq!(listing["discrepancies"], json!([]));
        }
    }
    // All pages, every listing once.
    let mut seen = Vec::new();
    loop {
        let answer = search(
            &server,
            json!({"location": "Manhattan", "sort": "price_desc", "limit": 7, "offset": seen.len()}),
        )
        .await;
        seen.extend(results(&answer));
        if answer.data()["has_more"] == json!(false) {
            break;
        }
    }
    let mut keys: Vec<&str> = seen
        .iter()
        .filter_map(|one| one["listing_key"].as_str())
        .collect();
    let prices: Vec<f64> = seen
        .iter()
        .filter_map(|one| one["list_price"].as_f64())
        .collect();
    assert!(prices.is_sorted_by(|a, b| a >= b));
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all);
    let past = search(&server, json!({"location": "Manhattan", "offset": all})).await;
    assert_eq!(past.data()["results"], json!([]));
    assert_eq!(past.data()["has_more"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_code_of_a_search_and_of_a_digest() {
    let server = server("reso").await;
    let many: Vec<String> = (0..26).map(|number| format!("100{number:02}")).collect();
    for path in ["/v1/search", "/v1/updates"] {
        for (body, code, part) in [
            (json!({"location": "Qqqqq"}), "invalid_request", "location"),
            (
                json!({"location": "Wiliamsburg"}),
                "invalid_request",
                "Nearest: Williamsburg",
            ),
            (
                json!({"location": "Yonkers"}),
                "outside_coverage",
                "Yonkers",
            ),
            (json!({"zip_codes": ["10701"]}), "outside_coverage", "10701"),
            (
                json!({"location": "Chelsea", "zip_codes": ["10001"]}),
                "invalid_request",
                "exclude each other",
            ),
            (
                json!({}),
                "invalid_request",
                "location or zip_codes is required",
            ),
            (
                json!({"zip_codes": many}),
                "invalid_request",
                "got 26 of them",
            ),
            (
                json!({"location": "Chelsea", "min_price": 2, "max_price": 1}),
                "invalid_request",
                "min_price must not be above max_price",
            ),
            (
                json!({"location": "Chelsea", "colour": "red"}),
                "invalid_request",
                "Unknown field(s): colour.",
            ),
        ] {
            let answer = server.post(path, &body).await;
            answer.assert_failure(400, code);
            let message = answer.body["message"].as_str().expect("a message");
            assert!(message.contains(part), "{path} {body}: {message}");
        }
    }
    assert!(server.usage().await["by_operation"]["searchListings"]["failed"].as_u64() >= Some(9));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_feed_become_the_digest_and_a_lookup_knows_the_buildings_listings() {
    let server = server("reso").await;
    let before = server
        .post("/v1/updates", &json!({"location": "Manhattan"}))
        .await;
    assert_eq!(before.status, StatusCode::OK, "{}", before.text);
    assert_eq!(before.body["meta"]["units_charged"], 1);
    assert_eq!(before.data()["source_status"], json!({"cached": "ok"}));
    // The first scan is a baseline.
    assert_eq!(
        before.data()["counts"],
        json!({"new_listings": 0, "price_drops": 0, "off_market": 0})
    );
    assert!(before.data()["coverage"]["first_snapshot_at"].is_string());
    let one =
        results(&search(&server, json!({"location": "Manhattan", "limit": 1})).await).remove(0);
    let bin = one["bin"].as_str().expect("a building");
    let report = server.lookup(bin).await;
    let entry = &report.data()["sources"]["reso"];
    assert_eq!(entry["status"], "ok");
    let records = entry["data"]["records"].as_array().expect("records");
    assert!(
        records
            .iter()
            .any(|record| record["listing_key"] == one["listing_key"])
    );
    assert!(report.data()["sources"].get("listings").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_feed_an_area_is_not_warm_and_the_source_is_gated() {
    let server = Server::sample().await;
    for path in ["/v1/search", "/v1/updates"] {
        let answer = server.post(path, &json!({"location": "Chelsea"})).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        assert_eq!(answer.data()["source_status"], json!({"not_warm": "gated"}));
    }
    let report = server.lookup("350 5 Avenue, Manhattan").await;
    assert_eq!(report.data()["sources"]["listings"]["status"], "gated");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_feed_is_spoken_too_and_a_stale_area_is_scanned_live() {
    let server = server("rentcast").await;
    let answer = search(&server, json!({"location": "Manhattan", "limit": 100})).await;
    let listings = results(&answer);
    assert!(listings.len() > 20);
    assert!(
        listings
            .iter()
            .all(|one| one["sources"]["rentcast"]["listing_id"].is_string())
    );
    let zip = listings[0]["zip_code"].as_str().expect("a ZIP").to_owned();
    // Two days later, with the feed down: what is known is shown, and the source's own name says how it went.
    server.set_fault("rentcast", "error").await;
    server.set_clock(datetime!(2026-11-29 12:00 UTC));
    let answer = search(&server, json!({"zip_codes": [zip]})).await;
    assert!(!results(&answer).is_empty());
    assert_eq!(answer.data()["source_status"], json!({"rentcast": "error"}));
    server.clear_faults().await;
}
