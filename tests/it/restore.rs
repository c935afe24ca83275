//! A backup that is taken while others call is the state of its moment: what was answered before is in it, and nothing is half.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use reqwest::StatusCode;
use serde_json::json;

use crate::{
    harness::{Options, START, Server},
    web::Browser,
};

/// Calls that must have been answered before the copy is made.
const ENOUGH: u64 = 300;

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_restores_to_what_was_answered_before_it() {
    let server = Server::sample().await;
    let (account, key) = server.new_account("load@example.com").await;
    let raise = ["--per-minute", "100000", "--per-day", "1000000"];
    let limits = [&["limits", "set", "--account", &account][..], &raise].concat();
    server.operator(&limits).await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let (revoked, id) = browser.make_key("first").await;
    browser
        .post(&format!("/dashboard/keys/{id}/revoke"), &[])
        .await
        .goes("/dashboard/keys");
    let report = server.lookup("700 Brook Avenue, Bronx").await;

    let stop = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicU64::new(0));
    let url = format!("{}/v1/rates", server.url);
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            let (url, key) = (url.clone(), key.clone());
            tokio::spawn(async move {
                let http = reqwest::Client::new();
                while !stop.load(Ordering::SeqCst) {
                    let call = http
                        .post(&url)
                        .bearer_auth(&key)
                        .json(&json!({"home_price": 1_000_000}));
                    let answer = call.send().await.expect("an answer");
                    // New limits hold within two seconds.
                    match answer.status() {
                        StatusCode::OK => _ = answered.fetch_add(1, Ordering::SeqCst),
                        status => assert_eq!(status, StatusCode::TOO_MANY_REQUESTS),
                    }
                }
            })
        })
        .collect();
    // Keys are made meanwhile, and the copy comes between two of them.
    let mut keys = Vec::new();
    while keys.len() < 3 || answered.load(Ordering::SeqCst) < ENOUGH {
        if keys.len() < 20 {
            browser.get("/dashboard/keys").await.is(200);
            keys.push(browser.make_key(&format!("key {}", keys.len())).await.0);
        } else {
            tokio::task::yield_now().await;
        }
    }
    let before = answered.load(Ordering::SeqCst);
    let folder = crate::harness::new_folder();
    let copy = folder.path().join("restored.db");
    server
        .operator(&["backup", copy.to_str().expect("text")])
        .await;
    let after = answered.load(Ordering::SeqCst);
    browser.get("/dashboard/keys").await.is(200);
    let (late, _) = browser.make_key("late").await;
    stop.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.expect("it made no mistake");
    }

    // The machine is gone; the copy is what there is.
    drop(server);
    let restored = Server::start(Options {
        database_url: Some(format!("sqlite://{}", copy.display())),
        ..Options::default()
    })
    .await;
    for key in &keys {
        let usage = restored.get_as(key, "/v1/usage").await;
        assert_eq!(usage.status, StatusCode::OK, "{}", usage.text);
    }
    for gone in [&revoked, &late] {
        restored
            .get_as(gone, "/v1/usage")
            .await
            .assert_failure(401, "unauthorized");
    }
    let usage = restored.get_as(&key, "/v1/usage").await;
    let day = &usage.data()["day"];
    assert_eq!(day["limit"], json!(1_000_000), "{}", usage.text);
    let used = day["used"].as_u64().expect("a number");
    // Written ahead, in blocks of a two hundredth of the day: never less than was answered, and little more.
    assert!(used >= before, "{used} of {before}");
    assert!(
        used <= after + 5_000 + 200,
        "{used}, {after} at the end of the copy"
    );
    let found = restored.operator(&["audit", "verify"]).await;
    assert!(found.starts_with("whole"), "{found}");
    // After what was no clean stop a bucket fills anew.
    restored.set_clock(START + time::Duration::minutes(1));
    restored.reset_city_calls().await;
    let kept = restored.lookup("700 Brook Avenue, Bronx").await;
    assert_eq!(kept.data()["cache"], report.data()["cache"]);
    assert_eq!(kept.data()["sources"], report.data()["sources"]);
    assert!(restored.city_calls().await.is_empty(), "no source is asked");
}
