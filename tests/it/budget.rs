//! The two budgets, from outside.

use reqwest::StatusCode;
use serde_json::json;
use time::Duration;

use crate::{
    harness::{Answer, START, Server},
    rest::list,
};

async fn lookup(server: &Server) -> Answer {
    server
        .post("/v1/lookup", &json!({"address": "350 5 Avenue, Manhattan"}))
        .await
}

/// What `RateLimit` says: policy, `r`, `t`.
fn limit(answer: &Answer) -> (String, i64, i64) {
    let items = list(answer.header("ratelimit").expect("RateLimit is sent"));
    let (name, parameters) = items.into_iter().next().expect("one policy");
    let of = |key: &str| {
        parameters
            .iter()
            .find(|(k, _)| k == key)
            .expect("r and t")
            .1
    };
    let (r, t) = (of("r"), of("t"));
    (name, r, t)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_ends_in_429_and_waiting_exactly_as_long_as_told_succeeds() {
    let server = Server::sample().await;
    for left in (0..24).rev() {
        let answer = lookup(&server).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.body["meta"]["minute_remaining"], left * 10);
    }
    let refused = lookup(&server).await;
    refused.assert_failure(429, "rate_limited");
    // 10 units at 4 a second: 2.5 s, rounded up.
    assert_eq!(refused.header("retry-after"), Some("3"));
    assert_eq!(limit(&refused), ("minute".into(), 0, 3));

    server.set_clock(START + Duration::seconds(2));
    lookup(&server).await.assert_failure(429, "rate_limited");
    server.set_clock(START + Duration::seconds(3));
    assert_eq!(lookup(&server).await.status, StatusCode::OK);

    let usage = server.usage().await;
    assert_eq!(usage["refused"], json!({"rate_limited": 2, "permanent": 0}));
    assert_eq!(usage["day"]["used"], 250);
    assert_eq!(
        usage["by_operation"]["lookupProperty"],
        json!({"calls": 25, "failed": 0, "units": 250})
    );
    assert_eq!(usage["minute"]["remaining"], 2);
    assert_eq!(usage["minute"]["refill_per_second"], 4.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_ends_at_midnight_utc() {
    let server = Server::sample().await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-day",
            "25",
        ])
        .await;
    while server.usage().await["day"]["limit"] != 25 {}
    assert_eq!(lookup(&server).await.status, StatusCode::OK);
    assert_eq!(lookup(&server).await.body["meta"]["daily_remaining"], 5);
    let refused = lookup(&server).await;
    refused.assert_failure(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("43200"));
    assert_eq!(limit(&refused), ("day".into(), 5, 43_200));
    server.set_clock(START + Duration::hours(12) - Duration::SECOND);
    assert_eq!(lookup(&server).await.header("retry-after"), Some("1"));
    server.set_clock(START + Duration::hours(12));
    assert_eq!(lookup(&server).await.status, StatusCode::OK);
    let usage = server.usage().await;
    assert_eq!(usage["day"]["used"], 10);
    assert_eq!(usage["day"]["resets_at"], "2026-11-29T00:00:00Z");
    let history = usage["history"].as_array().unwrap();
    let days: Vec<_> = history
        .iter()
        .map(|day| (&day["date"], &day["units"]))
        .collect();
    assert_eq!(
        days,
        [
            (&json!("2026-11-28"), &json!(10)),
            (&json!("2026-11-27"), &json!(20))
        ]
    );
    assert_eq!(history[0]["calls"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_over_midnight_counts_on_the_day_that_paid_for_it() {
    let server = Server::sample().await;
    server.set_latency("6bgk-3dad", 2_000).await;
    let midnight = START + Duration::hours(12);
    server.set_clock(midnight - Duration::SECOND);
    let late = async {
        while !server.city_calls().await.contains_key("6bgk-3dad") {}
        server.set_clock(midnight + Duration::SECOND);
    };
    let (answer, ()) = tokio::join!(server.lookup("700 Brook Avenue, Bronx"), late);
    assert_eq!(answer.status, StatusCode::OK);
    let usage = server.usage().await;
    assert_eq!(usage["day"]["used"], 0);
    assert_eq!(
        usage["by_operation"]["lookupProperty"],
        json!({"calls": 0, "failed": 0, "units": 0})
    );
    let history = usage["history"].as_array().unwrap();
    let yesterday = history
        .iter()
        .find(|day| day["date"] == "2026-11-27")
        .expect("the day that was charged");
    assert_eq!(
        (&yesterday["calls"], &yesterday["units"]),
        (&json!(1), &json!(10))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_above_the_whole_ceiling_is_refused_for_good() {
    let server = Server::sample().await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-minute",
            "8",
        ])
        .await;
    while server.usage().await["minute"]["limit"] != 8 {}
    let refused = lookup(&server).await;
    refused.assert_failure(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), None);
    assert!(
        refused
            .message()
            .contains("exceeds this account's limit of 8 units per minute"),
        "{}",
        refused.message()
    );
    assert_eq!(limit(&refused), ("minute".into(), 8, 60));
    assert_eq!(
        list(refused.header("ratelimit-policy").unwrap())[0].1[0],
        ("q".into(), 8)
    );
    assert_eq!(server.usage().await["refused"]["permanent"], 1);
    server
        .operator(&["limits", "clear", "--account", "demo@example.com"])
        .await;
    while server.usage().await["minute"]["limit"] != 240 {}
    assert_eq!(lookup(&server).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_free_answers_a_spent_budget_and_counts_failures() {
    let server = Server::sample().await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-minute",
            "10",
            "--per-day",
            "10",
        ])
        .await;
    while server.usage().await["day"]["limit"] != 10 {}
    assert_eq!(lookup(&server).await.status, StatusCode::OK);
    server
        .post("/v1/lookup", &json!({}))
        .await
        .assert_failure(400, "invalid_request");
    let answer = server.get_as(&server.key, "/v1/usage").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.body["meta"]["units_charged"], 0);
    assert_eq!(answer.body["meta"]["daily_remaining"], 0);
    let usage = answer.data();
    let keys: Vec<_> = usage.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "tier",
            "environment",
            "key",
            "minute",
            "day",
            "by_operation",
            "by_surface",
            "by_key",
            "refused",
            "history",
            "costs"
        ]
    );
    assert_eq!(usage["tier"], "pro");
    assert_eq!(usage["environment"], "test");
    assert_eq!(usage["key"]["name"], "sample");
    assert_eq!(
        usage["key"]["last_four"],
        server.key[server.key.len() - 4..]
    );
    assert_eq!(
        usage["by_operation"]["lookupProperty"],
        json!({"calls": 1, "failed": 1, "units": 10})
    );
    assert_eq!(usage["by_surface"]["rest"]["units"], 10);
    assert_eq!(usage["costs"]["lookupProperty"], 10);
    assert_eq!(usage["costs"]["getUsage"], 0);
    let with_body = server
        .send(
            reqwest::Method::GET,
            "/v1/usage",
            crate::harness::json_headers(&server.key),
            "{}",
        )
        .await;
    with_body.assert_failure(400, "invalid_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_is_known_after_a_stop_and_never_less_after_a_crash() {
    let server = Server::sample().await;
    let (_, key) = server.new_account("dev@example.com").await;
    let ask = json!({"address": "350 5 Avenue, Manhattan"});
    for _ in 0..3 {
        assert_eq!(
            server.post_as(&key, "/v1/lookup", &ask).await.status,
            StatusCode::OK
        );
    }
    let server = server.restart(crate::harness::Options::default()).await;
    let usage = server.get_as(&key, "/v1/usage").await;
    assert_eq!(usage.data()["day"]["used"], 30, "exact after a stop");
    assert_eq!(usage.data()["by_operation"]["lookupProperty"]["units"], 30);
    assert_eq!(
        usage.data()["minute"]["remaining"],
        210,
        "the clock stood still"
    );

    let server = server.crash(crate::harness::Options::default()).await;
    let used = server.get_as(&key, "/v1/usage").await.data()["day"]["used"]
        .as_u64()
        .unwrap();
    assert!(
        (30..=80).contains(&used),
        "a crash never gives units back and costs a block at most: {used}"
    );
}
