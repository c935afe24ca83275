//! Mortgage rates over HTTP.

use reqwest::StatusCode;
use serde_json::{Value, json};
use time::Duration;

use crate::harness::{Answer, Options, START, Server};

const BEST: &str = "OBMMIC30YFLVLE80FGE740";

async fn rates(server: &Server, body: Value) -> Answer {
    let answer = server.post("/v1/rates", &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer
}

fn first(answer: &Answer) -> (&str, &str) {
    let row = &answer.data()["rates"][0];
    let of = |key: &str| row[key].as_str().expect("text");
    (of("series_id"), of("match"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_is_answered_from_the_published_series_for_one_unit() {
    let server = Server::sample().await;
    let answer = rates(
        &server,
        json!({"home_price": 1_000_000, "down_payment": 250_000, "credit_score": 745, "zip_code": "10118"}),
    )
    .await;
    assert_eq!(first(&answer), (BEST, "bucket"));
    let data = answer.data();
    let keys: Vec<&str> = data
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "scenario",
            "rates",
            "benchmarks",
            "estimated_payment",
            "as_of_at",
            "disclaimer"
        ]
    );
    let scenario = &data["scenario"];
    assert_eq!(scenario["loan_amount"], json!(750_000));
    assert_eq!(scenario["ltv_percent"], json!(75.0));
    assert_eq!(scenario["credit_bucket"], "740_and_up");
    assert_eq!(scenario["is_jumbo"], json!(false));
    // The payment by the textbook's formula, from the rate that is shown.
    let rate = data["rates"][0]["rate_percent"].as_f64().expect("a rate") / 1_200.0;
    let textbook = 750_000.0 * rate / (1.0 - (1.0 + rate).powi(-360));
    let payment = data["estimated_payment"]["principal_and_interest_monthly"]
        .as_f64()
        .expect("a payment");
    assert!(
        (payment - textbook).abs() <= 0.005_001,
        "{payment} {textbook}"
    );
    assert_eq!(data["benchmarks"].as_array().map(Vec::len), Some(2));
    let meta = &answer.body["meta"];
    assert_eq!(meta["operation"], "getMortgageRates");
    assert_eq!(
        (&meta["units_charged"], &meta["daily_remaining"]),
        (&json!(1), &json!(9_999))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_scenario_is_named_and_costs_nothing() {
    let server = Server::sample().await;
    for (body, part) in [
        (
            json!({"term": 30}),
            "Unknown field(s): term. POST /v1/rates accepts: loan_purpose,",
        ),
        (
            json!({"loan_term_years": 20}),
            "loan_term_years must be 30 or 15; got the number 20.",
        ),
        (
            json!({"home_price": 500_000, "loan_amount": 600_000}),
            "home_price and loan_amount",
        ),
        (
            json!({"home_price": 1_000_000, "loan_amount": 500_000, "ltv_percent": 80}),
            "home_price, loan_amount and ltv_percent contradict each other",
        ),
    ] {
        let answer = server.post("/v1/rates", &body).await;
        answer.assert_failure(400, "invalid_request");
        assert!(answer.message().contains(part), "{}", answer.message());
    }
    let outside = server
        .post("/v1/rates", &json!({"zip_code": "07030"}))
        .await;
    outside.assert_failure(400, "outside_coverage");
    assert_eq!(server.usage().await["day"]["used"], json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_good_rate_stands_while_its_publishers_are_down() {
    let server = Server::sample().await;
    let good = rates(&server, json!({})).await;
    server.set_fault("fred", "error").await;
    server.set_fault("pmms", "html").await;
    server.set_clock(START + Duration::days(5));
    let kept = rates(&server, json!({})).await;
    for key in ["rate_percent", "observation_date", "fetched_at"] {
        assert_eq!(
            kept.data()["rates"][0][key],
            good.data()["rates"][0][key],
            "{key}"
        );
    }
    assert_eq!(good.data()["estimated_payment"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_rate_the_call_fails_and_is_given_back_until_a_sync_has_read_one() {
    let publisher = Server::sample().await;
    publisher.set_fault("fred", "gone").await;
    publisher.set_fault("pmms", "gone").await;
    let addresses = ["BROWNSTONE_FRED_URL", "BROWNSTONE_PMMS_URL"]
        .map(|name| (name.to_owned(), publisher.city.clone()));
    let server = Server::start(Options {
        live_sources: true,
        variables: addresses.to_vec(),
        ..Options::default()
    })
    .await;
    let failed = server.post("/v1/rates", &json!({})).await;
    failed.assert_failure(502, "upstream_error");
    assert_eq!(server.usage().await["day"]["used"], json!(0));

    publisher.clear_faults().await;
    let mut sync = server.operator_command(&["sync", "rates"]);
    let output = sync
        .env("BROWNSTONE_TEST_CLOCK", server.folder().join("clock"))
        .envs(addresses)
        .output()
        .await
        .expect("the command runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(printed.contains("20 series read"), "{printed}");
    assert_eq!(first(&rates(&server, json!({})).await), (BEST, "bucket"));
}
