//! What a listing feed says and does not say: listings that may not be shown, pages cut short, tokens, areas outside a licence.

use std::time::Duration;

use brownstone_sample_city::{RESO, RESO_CLIENT_ID, RESO_CLIENT_SECRET, RESO_TOKENS, SampleCity};
use reqwest::StatusCode;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::datetime};

use crate::{
    harness::{Options, Server},
    listings_search::{results, search, server},
};

/// How long a scan of every area may take.
const SCANNED_WITHIN: Duration = Duration::from_secs(30);

/// Waits until an area was scanned at or after a moment of the test's clock.
async fn scanned_since(server: &Server, zip: &str, at: OffsetDateTime) {
    let begun = tokio::time::Instant::now();
    loop {
        let digest = updates(server, zip).await;
        let last = digest["coverage"]["last_complete_scan_at"].as_str();
        let last = last.and_then(|last| OffsetDateTime::parse(last, &Rfc3339).ok());
        if last.is_some_and(|last| last >= at) {
            return;
        }
        assert!(begun.elapsed() < SCANNED_WITHIN, "{zip}: {last:?}");
        // Each question costs a unit of a budget that stands still with the clock.
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

async fn updates(server: &Server, zip: &str) -> Value {
    let body = json!({"zip_codes": [zip], "since": "2026-11-27"});
    let answer = server.post("/v1/updates", &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.data().clone()
}

/// Every listing of a ZIP that a search can show.
async fn all(server: &Server, zip: &str) -> Vec<Value> {
    let status = ["active", "coming_soon", "active_under_contract", "pending"];
    let body = json!({"zip_codes": [zip], "status": status, "limit": 100});
    results(&search(server, body).await)
}

/// Changes a listing of the sample city, by what its feed calls it.
async fn change(server: &Server, listing: &Value, fields: Value) {
    let id = text(&listing["sources"]["reso"]["listing_id"]);
    let url = format!("{}/_control/listings/{id}", server.city);
    let answer = reqwest::Client::new().patch(url).json(&fields).send().await;
    assert_eq!(answer.expect("the city answers").status(), 204);
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn has(listings: &[Value], listing: &Value) -> bool {
    let key = &listing["listing_key"];
    listings.iter().any(|one| one["listing_key"] == *key)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_seller_withholds_is_in_no_answer() {
    let server = server("reso").await;
    let shown = search(&server, json!({"location": "Manhattan", "limit": 100})).await;
    let shown = results(&shown);
    let mut placed = shown.iter().filter(|one| one["bin"].is_string());
    let withheld = placed.next().expect("a listing").clone();
    let concealed = placed.find(|one| one["bin"] != withheld["bin"]);
    let concealed = concealed.expect("another").clone();
    let (zip, other) = (text(&withheld["zip_code"]), text(&concealed["zip_code"]));

    let no = |field: &str| json!({field: false, "ListPrice": 1_000});
    change(&server, &withheld, no("InternetEntireListingDisplayYN")).await;
    change(&server, &concealed, no("InternetAddressDisplayYN")).await;
    let next_day = datetime!(2026-11-28 12:00 UTC);
    server.set_clock(next_day);
    scanned_since(&server, zip, next_day).await;
    scanned_since(&server, other, next_day).await;

    let key = text(&withheld["listing_key"]);
    assert!(!has(&all(&server, zip).await, &withheld));
    let digest = updates(&server, zip).await;
    assert!(!digest.to_string().contains(key), "{digest}");
    let report = server.lookup(text(&withheld["bin"])).await;
    assert!(!report.text.contains(key));

    let there = all(&server, other).await;
    let still = there
        .iter()
        .find(|one| one["listing_key"] == concealed["listing_key"])
        .expect("it is shown");
    assert_eq!(still["list_price"], 1_000);
    for field in [
        "address",
        "house_number",
        "street",
        "unit",
        "bbl",
        "bin",
        "latitude",
        "longitude",
        "listing_url",
    ] {
        assert_eq!(still[field], Value::Null, "{field}");
    }
    // Its cut is told, and tells nothing more.
    let digest = updates(&server, other).await;
    let drops = digest["price_drops"].as_array().expect("an array");
    let drop = drops
        .iter()
        .find(|drop| drop["listing"]["listing_key"] == concealed["listing_key"])
        .expect("it fell");
    assert_eq!(drop["listing"]["address"], Value::Null);
    assert!(!drop.to_string().contains(text(&concealed["address"])));
    let report = server.lookup(text(&concealed["bin"])).await;
    assert!(!report.text.contains(text(&concealed["listing_key"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_cut_short_removes_nothing() {
    let server = server("reso").await;
    let some = results(&search(&server, json!({"location": "Manhattan", "limit": 1})).await);
    let zip = text(&some[0]["zip_code"]).to_owned();
    let before = all(&server, &zip).await;
    assert!(!before.is_empty());
    server.set_fault("reso", "short_page").await;
    // Each time an area that is stale is read while the caller waits; twice without a listing would be its removal.
    for day in 29..=30 {
        let at = datetime!(2026-11-01 12:00 UTC).replace_day(day);
        server.set_clock(at.expect("a day of November"));
        let answer = search(&server, json!({"zip_codes": [zip], "limit": 1})).await;
        assert_eq!(answer.data()["source_status"], json!({"reso": "error"}));
        assert_eq!(all(&server, &zip).await.len(), before.len());
        let digest = updates(&server, &zip).await;
        assert_eq!(digest["counts"]["off_market"], 0, "{digest}");
        let last = text(&digest["coverage"]["last_complete_scan_at"]);
        assert!(last.starts_with("2026-11-27"), "{last}");
    }
    server.clear_faults().await;
    let next = datetime!(2026-12-01 12:00 UTC);
    server.set_clock(next);
    scanned_since(&server, &zip, next).await;
    assert_eq!(all(&server, &zip).await.len(), before.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_fetches_its_tokens_and_asks_for_the_areas_of_its_licence_alone() {
    let city = SampleCity::start(([127, 0, 0, 1], 0).into())
        .await
        .expect("a city");
    // Two ZIPs with a listing on a building that can be looked up, of which the licence has the first.
    let homes: Vec<(String, String)> = city
        .control()
        .listings()
        .all()
        .iter()
        .filter(|row| row["StandardStatus"] == "Active" && row["UnparsedAddress"].is_string())
        .map(|row| {
            let part = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            (part("PostalCode"), part("UnparsedAddress"))
        })
        .collect();
    let (zip, _) = &homes[0];
    let (other, _) = homes.iter().find(|(of, _)| of != zip).expect("another");
    let variables: Vec<(String, String)> = [
        ("SODA_URL", city.url()),
        ("NYS_SODA_URL", city.url()),
        ("FEMA_URL", city.url()),
        ("GEOSEARCH_URL", city.url()),
        ("LISTINGS_SOURCE", "reso".into()),
        ("LISTINGS_URL", format!("{}/reso/odata", city.url())),
        ("LISTINGS_CLIENT_ID", RESO_CLIENT_ID.into()),
        ("LISTINGS_CLIENT_SECRET", RESO_CLIENT_SECRET.into()),
        (
            "LISTINGS_TOKEN_URL",
            format!("{}/reso/oauth2/token", city.url()),
        ),
        ("LISTINGS_TOKEN_SCOPE", "api".into()),
        ("LISTINGS_AREAS", zip.clone()),
    ]
    .map(|(name, value)| (format!("BROWNSTONE_{name}"), value))
    .into();
    let server = Server::start(Options {
        live_sources: true,
        variables: variables.clone(),
        ..Options::default()
    })
    .await;
    let begun = tokio::time::Instant::now();
    loop {
        let answer = search(&server, json!({"zip_codes": [zip]})).await;
        if answer.data()["source_status"] == json!({"cached": "ok"}) {
            break;
        }
        assert!(begun.elapsed() < SCANNED_WITHIN, "{}", answer.text);
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert_eq!(city.control().calls(RESO_TOKENS), 1);
    let statuses = async |zips: &[&str], path: &str| {
        let answer = server.post(path, &json!({"zip_codes": zips})).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.data()["source_status"].clone()
    };
    for path in ["/v1/search", "/v1/updates"] {
        let gated = json!({"not_warm": "gated"});
        assert_eq!(statuses(&[other], path).await, gated, "{path}");
        let both = json!({"cached": "ok", "not_warm": "gated"});
        assert_eq!(statuses(&[zip, other], path).await, both, "{path}");
    }
    let outside = search(&server, json!({"zip_codes": [other]})).await;
    assert_eq!(results(&outside), Vec::<Value>::new());

    // The token has ended; the command has a client of its own, and says what came.
    city.control().expire_reso_tokens();
    let asked = city.control().calls(RESO);
    let mut sync = server.operator_command(&["sync", "listings"]);
    let done = sync
        .envs(variables)
        .output()
        .await
        .expect("the command runs");
    let (said, told) = (
        String::from_utf8_lossy(&done.stdout).into_owned(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    );
    assert!(done.status.success(), "{said}{told}");
    assert!(said.contains(" listings in 1 areas, "), "{said}");
    assert!(said.contains(" withheld, "), "{said}");
    assert!(!format!("{said}{told}").contains(RESO_CLIENT_SECRET));
    assert!(!format!("{said}{told}").contains("issued-"));
    assert!(city.control().calls(RESO) > asked);
    assert_eq!(city.control().calls(RESO_TOKENS), 2);

    // A building outside the licence says so, as a settled answer.
    let outside = homes.iter().filter(|(of, _)| of != zip);
    let mut report = None;
    for (zip, address) in outside {
        let address = format!("{address}, New York, NY {zip}");
        let answer = server
            .post("/v1/lookup", &json!({"address": address}))
            .await;
        if answer.status == StatusCode::OK {
            report = Some(answer);
            break;
        }
    }
    let report = report.expect("a building of the city");
    assert_eq!(
        report.data()["sources"]["reso"],
        json!({"status": "gated", "data": null})
    );
    assert_eq!(report.data()["cache"]["status"], "ok", "{}", report.text);
    city.stop().await;
}
