//! A report ages, with the clock in the test's hand.

use serde_json::{Value, json};
use time::Duration;

use crate::harness::{Answer, START, Server};

const ADDRESS: &str = "350 5 Avenue, Manhattan";

/// A building whose ECB violations are one request: fewer than the cap.
const SMALL: &str = "700 Brook Avenue, Bronx";

fn cache(answer: &Answer) -> (&str, &str, &str) {
    let cache = &answer.data()["cache"];
    let of = |key: &str| cache[key].as_str().expect("text");
    (of("status"), of("cached_at"), of("refresh_available_at"))
}

fn status<'a>(answer: &'a Answer, source: &str) -> &'a str {
    answer.data()["sources"][source]["status"]
        .as_str()
        .expect("a status")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_report_is_completed_kept_and_made_anew() {
    let server = Server::sample().await;
    server.set_fault("3h2n-5cm9", "error").await;
    let first = server.lookup(ADDRESS).await;
    assert_eq!(
        cache(&first),
        ("partial", "2026-11-27T12:00:00Z", "2026-11-27T12:10:00Z")
    );
    assert_eq!(
        (status(&first, "nyc_dob"), status(&first, "nyc_ecb")),
        ("error", "ok")
    );
    assert_eq!(first.data()["sources"]["nyc_dob"]["data"], Value::Null);

    server.reset_city_calls().await;
    server.set_clock(START + Duration::minutes(10) - Duration::SECOND);
    let kept = server.lookup(ADDRESS).await;
    assert_eq!(kept.data()["sources"], first.data()["sources"]);
    assert!(
        server.city_calls().await.is_empty(),
        "nothing is asked before the wait is over"
    );

    // Still failing: partial again, ten minutes from this attempt.
    server.set_clock(START + Duration::minutes(10));
    let again = server.lookup(ADDRESS).await;
    assert_eq!(
        cache(&again),
        ("partial", "2026-11-27T12:00:00Z", "2026-11-27T12:20:00Z")
    );

    server.clear_faults().await;
    server.reset_city_calls().await;
    server.set_clock(START + Duration::minutes(20));
    let whole = server.lookup(ADDRESS).await;
    let calls = server.city_calls().await;
    assert_eq!(
        calls.keys().collect::<Vec<_>>(),
        ["3h2n-5cm9"],
        "only what erred is asked again"
    );
    assert_eq!(
        cache(&whole),
        ("ok", "2026-11-27T12:00:00Z", "2026-12-04T12:00:00Z")
    );
    assert_eq!(status(&whole, "nyc_dob"), "ok");
    assert_eq!(
        whole.data()["sources"]["nyc_ecb"],
        first.data()["sources"]["nyc_ecb"]
    );

    server.reset_city_calls().await;
    server.set_clock(START + Duration::days(7) - Duration::SECOND);
    assert_eq!(cache(&server.lookup(ADDRESS).await).0, "ok");
    assert!(server.city_calls().await.is_empty());

    server.set_clock(START + Duration::days(7));
    let anew = server.lookup(ADDRESS).await;
    assert_eq!(
        cache(&anew),
        ("ok", "2026-12-04T12:00:00Z", "2026-12-11T12:00:00Z")
    );
    let calls = server.city_calls().await;
    for dataset in [
        "3h2n-5cm9",
        "6bgk-3dad",
        "ic3t-wcy2",
        "64uk-42ks",
        "wvxf-dwi5",
    ] {
        assert!(
            calls.contains_key(dataset),
            "{dataset} is asked anew: {calls:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_report_expires_after_seven_days_too() {
    let server = Server::sample().await;
    server.set_fault("3h2n-5cm9", "error").await;
    server.lookup(ADDRESS).await;
    let late = START + Duration::days(7) - Duration::minutes(5);
    server.set_clock(late);
    let answer = server.lookup(ADDRESS).await;
    assert_eq!(
        cache(&answer),
        ("partial", "2026-11-27T12:00:00Z", "2026-12-04T12:00:00Z"),
        "never later than expiry"
    );
    server.set_clock(START + Duration::days(7));
    assert_eq!(
        cache(&server.lookup(ADDRESS).await).1,
        "2026-12-04T12:00:00Z"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_of_failing_is_an_error_of_its_source_and_a_success_of_the_call() {
    let server = Server::sample().await;
    let addresses = [
        "350 5 Avenue, Manhattan",
        "120 Broadway, Manhattan",
        "280 Riverside Drive, Manhattan",
        "700 Brook Avenue, Bronx",
        "1065 East 99 Street, Brooklyn",
        "43-06 46 Street, Queens",
        "335 Garretson Avenue, Staten Island",
    ];
    let kinds = [
        "error",
        "timeout",
        "slow_drip",
        "cut_body",
        "wrong_json",
        "huge_body",
        "throttle",
    ];
    for (kind, address) in kinds.into_iter().zip(addresses) {
        server.set_fault("6bgk-3dad", kind).await;
        let answer = server.lookup(address).await;
        assert_eq!(status(&answer, "nyc_ecb"), "error", "{kind}");
        assert_eq!(cache(&answer).0, "partial", "{kind}");
        for (key, entry) in answer.data()["sources"].as_object().unwrap() {
            let other = entry["status"].as_str().unwrap();
            assert!(
                key == "nyc_ecb" || matches!(other, "ok" | "not_found" | "gated"),
                "{kind}: {key} is {other}"
            );
        }
        server.clear_faults().await;
    }
}

/// The building's report is whole; what belongs to the unit alone cannot be had now, so this one answer is partial.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_the_units_own_lot_is_partial_and_the_report_stays() {
    let server = Server::sample().await;
    let building = server.lookup(SMALL).await;
    assert_eq!(cache(&building).0, "ok");
    server.set_fault("p8u6-a6it", "error").await;
    server.set_clock(START + Duration::hours(1));
    let unit = server.lookup("700 Brook Avenue Apt 4C, Bronx").await;
    let sources = unit.data()["sources"].as_object().expect("sources");
    assert!(sources.values().any(|entry| entry["status"] == "error"));
    assert_eq!(
        cache(&unit),
        ("partial", "2026-11-27T12:00:00Z", "2026-11-27T13:10:00Z")
    );
    let again = server.lookup(SMALL).await;
    assert_eq!(again.data()["cache"], building.data()["cache"]);
    assert_eq!(again.data()["sources"], building.data()["sources"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_no_source_answers_the_call_is_502_free_and_not_tried_again_at_once() {
    let server = Server::sample().await;
    server.set_fault("*", "error").await;
    let answer = server
        .post("/v1/lookup", &json!({"address": ADDRESS}))
        .await;
    answer.assert_failure(502, "upstream_error");
    assert_eq!(
        server.usage().await["day"]["used"],
        0,
        "only a success is charged"
    );
    server.clear_faults().await;
    server.reset_city_calls().await;
    server
        .post("/v1/lookup", &json!({"address": ADDRESS}))
        .await
        .assert_failure(502, "upstream_error");
    assert!(
        server.city_calls().await.is_empty(),
        "the building is left alone for 30 seconds"
    );
    server.set_clock(START + Duration::seconds(30));
    assert_eq!(cache(&server.lookup(ADDRESS).await).0, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_survives_a_restart() {
    let server = Server::sample().await;
    let made = server.lookup(ADDRESS).await;
    let server = server.restart(crate::harness::Options::default()).await;
    server.reset_city_calls().await;
    let read = server.lookup(ADDRESS).await;
    assert_eq!(made.data()["sources"], read.data()["sources"]);
    assert_eq!(made.data()["cache"], read.data()["cache"]);
    assert!(server.city_calls().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_at_once_make_the_city_work_once() {
    let server = Server::sample().await;
    server.set_latency("6bgk-3dad", 300).await;
    let one = || server.lookup(SMALL);
    let answers = tokio::join!(one(), one(), one(), one(), one(), one(), one(), one());
    assert_eq!(answers.0.data()["sources"], answers.7.data()["sources"]);
    assert_eq!(server.city_calls().await["6bgk-3dad"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_hangs_up_is_charged_for_what_succeeded() {
    let server = Server::sample().await;
    server.set_latency("6bgk-3dad", 3_000).await;
    let call = reqwest::Client::new()
        .post(format!("{}/v1/lookup", server.url))
        .bearer_auth(&server.key)
        .json(&json!({"address": SMALL}));
    let call = tokio::spawn(call.send());
    while !server.city_calls().await.contains_key("6bgk-3dad") {}
    call.abort();
    let left = call.await.expect_err("no answer was read");
    assert!(left.is_cancelled());
    // The next caller waits for the assembly that goes on.
    server.lookup(SMALL).await;
    assert_eq!(server.city_calls().await["6bgk-3dad"], 1);
    let usage = server.usage().await;
    assert_eq!(usage["day"]["used"], 20, "{usage}");
}
