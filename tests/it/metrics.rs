//! The metrics' listener: what was done is what is counted, and nothing that is nobody's business is in it.

use reqwest::StatusCode;
use serde_json::json;

use crate::harness::Server;

/// The value of a series, by its whole name with labels; zero where it is not there yet.
fn value(text: &str, series: &str) -> f64 {
    text.lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
        .map_or(0.0, |value| value.parse().expect("a number"))
}

async fn read(server: &Server) -> String {
    let answer = reqwest::get(&server.metrics).await.expect("it answers");
    assert_eq!(answer.status(), StatusCode::OK);
    let kind = answer.headers()["content-type"].to_str().expect("text");
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    answer.text().await.expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_counted_and_no_name_of_anybody_is_in_it() {
    let server = Server::sample().await;
    server.lookup("350 5 Avenue, Manhattan").await;
    server.lookup("350 5th Ave, Manhattan").await;
    let outside = json!({"address": "1 Main Street, Yonkers NY"});
    server
        .post("/v1/lookup", &outside)
        .await
        .assert_failure(400, "outside_coverage");
    server
        .post("/v1/lookup", &json!({"addr": "x"}))
        .await
        .assert_failure(400, "invalid_request");
    server
        .post_as("svc_test_nobody", "/v1/lookup", &outside)
        .await
        .assert_failure(401, "unauthorized");
    server.usage().await;

    let text = read(&server).await;
    let calls = |operation: &str, outcome: &str| {
        let labels =
            format!("{{operation=\"{operation}\",surface=\"rest\",outcome=\"{outcome}\"}}");
        value(&text, &format!("brownstone_calls_total{labels}"))
    };
    for (series, expected) in [
        (calls("lookupProperty", "ok"), 2.0),
        (calls("lookupProperty", "outside_coverage"), 1.0),
        (calls("lookupProperty", "invalid_request"), 1.0),
        (calls("getUsage", "ok"), 1.0),
        (
            value(
                &text,
                "brownstone_units_charged_total{operation=\"lookupProperty\"}",
            ),
            20.0,
        ),
        (
            value(
                &text,
                "brownstone_quota_decisions_total{decision=\"admitted\"}",
            ),
            3.0,
        ),
        (
            value(&text, "brownstone_refunds_total{result=\"done\"}"),
            1.0,
        ),
        (
            value(
                &text,
                "brownstone_authentications_refused_total{code=\"unauthorized\"}",
            ),
            1.0,
        ),
        (
            value(&text, "brownstone_report_reads_total{found=\"flight\"}"),
            1.0,
        ),
        (
            value(&text, "brownstone_report_reads_total{found=\"hot\"}"),
            1.0,
        ),
        (
            value(&text, "brownstone_report_flights_total{end=\"assembled\"}"),
            1.0,
        ),
        (
            value(
                &text,
                "brownstone_source_answers_total{source=\"nyc_ecb\",status=\"ok\"}",
            ),
            1.0,
        ),
        (
            value(
                &text,
                "brownstone_call_seconds_count{operation=\"lookupProperty\"}",
            ),
            4.0,
        ),
        (value(&text, "brownstone_calls_in_flight"), 0.0),
        (
            value(&text, "brownstone_http_responses_total{class=\"2xx\"}"),
            3.0,
        ),
        (
            value(&text, "brownstone_http_responses_total{class=\"4xx\"}"),
            3.0,
        ),
    ] {
        assert!(
            (series - expected).abs() < f64::EPSILON,
            "{expected}: {text}"
        );
    }
    assert!(value(&text, "brownstone_report_hot_bytes") >= 0.0);

    // Every series is on the page that lists them, and has its kind and its words.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations/metrics.md");
    let page = std::fs::read_to_string(page).expect("the page of metrics");
    let mut series = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split(['{', ' ']);
        if line.starts_with('#') {
            continue;
        }
        let name = words.next().expect("a name");
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .filter(|base| text.contains(&format!("# TYPE {base} histogram")))
            .unwrap_or(name);
        assert!(page.contains(&format!("| `{base}` |")), "{name}");
        assert!(text.contains(&format!("# HELP {base} ")), "{name}");
        series += 1;
    }
    assert!(series > 100, "{series}");
    for secret in [
        &server.key,
        "demo@example.com",
        "5 AVENUE",
        "5th Ave",
        "1008350041",
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_is_seen() {
    let server = Server::sample().await;
    server.set_fault("6bgk-3dad", "error").await;
    server.lookup("350 5 Avenue, Manhattan").await;
    let text = read(&server).await;
    let failed = "brownstone_source_answers_total{source=\"nyc_ecb\",status=\"error\"}";
    assert!((value(&text, failed) - 1.0).abs() < f64::EPSILON, "{text}");
    let asked =
        "brownstone_upstream_requests_total{upstream=\"city open data\",outcome=\"status\"}";
    assert!(value(&text, asked) >= 1.0, "{text}");
}
