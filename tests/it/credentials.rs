//! Who may call.

use std::time::Duration;

use reqwest::{
    Method,
    header::{HeaderMap, HeaderValue},
};
use serde_json::json;
use tokio::time::Instant;

use crate::harness::{Answer, Server, bearer, json_headers};

/// Suspension, revocation and new limits are in force everywhere within this.
const BOUND: Duration = Duration::from_secs(2);

fn lookup() -> serde_json::Value {
    json!({"address": "350 5 Avenue, Manhattan"})
}

fn assert_unauthorized(answer: &Answer) {
    answer.assert_failure(401, "unauthorized");
    assert_eq!(
        answer.header("www-authenticate"),
        Some("Bearer realm=\"brownstone\"")
    );
    assert_eq!(answer.header("ratelimit"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_none_are_401_and_told_apart_nowhere() {
    let server = Server::sample().await;
    let live = server
        .operator_command(&[
            "--environment",
            "live",
            "key",
            "create",
            "--account",
            "demo@example.com",
        ])
        .output()
        .await
        .unwrap();
    let live = String::from_utf8(live.stdout).unwrap().trim().to_owned();
    assert!(
        live.starts_with("svc_live_"),
        "a key for the deployment's environment"
    );
    let mut typo = server.key.clone();
    let last = if typo.ends_with('A') { 'B' } else { 'A' };
    typo.pop();
    typo.push(last);
    let mut messages = std::collections::HashSet::new();
    for authorization in [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some("Bearer nonsense".to_owned()),
        Some(format!("Basic {}", server.key)),
        Some(server.key.clone()),
        Some(format!("Bearer {} {}", server.key, server.key)),
        Some(format!("Bearer {typo}")),
        Some(format!("Bearer {live}")),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(value) = &authorization {
            headers.insert("authorization", HeaderValue::from_str(value).unwrap());
        }
        let answer = server
            .send(Method::POST, "/v1/lookup", headers, lookup().to_string())
            .await;
        assert_unauthorized(&answer);
        messages.insert(answer.message().to_owned());
    }
    let mut twice = bearer(&server.key);
    twice.append(
        "authorization",
        HeaderValue::from_str(&format!("Bearer {}", server.key)).unwrap(),
    );
    let answer = server.send(Method::GET, "/v1/usage", twice, "").await;
    assert_unauthorized(&answer);
    messages.insert(answer.message().to_owned());
    assert_eq!(messages.len(), 1, "one answer for all of them");

    let in_query = format!("/v1/usage?api_key={}", server.key);
    assert_unauthorized(
        &server
            .send(Method::GET, &in_query, HeaderMap::new(), "")
            .await,
    );
    let mut cookie = HeaderMap::new();
    cookie.insert(
        "cookie",
        HeaderValue::from_str(&format!("key={}", server.key)).unwrap(),
    );
    assert_unauthorized(&server.send(Method::GET, "/v1/usage", cookie, "").await);
    let mut lower = json_headers(&server.key);
    lower.insert(
        "authorization",
        HeaderValue::from_str(&format!("bearer {}", server.key)).unwrap(),
    );
    let answer = server.send(Method::GET, "/v1/usage", lower, "").await;
    assert_eq!(
        answer.status.as_u16(),
        200,
        "the scheme's case does not matter"
    );
}

/// Calls until the answer is `wanted`, and asserts that this took no longer than the bound.
async fn within_the_bound(server: &Server, key: &str, wanted: u16) -> Answer {
    let begun = Instant::now();
    loop {
        let asked = begun.elapsed();
        let answer = server.get_as(key, "/v1/usage").await;
        if answer.status.as_u16() == wanted {
            return answer;
        }
        assert!(
            asked < BOUND,
            "{wanted} is not in force after {asked:?}: {}",
            answer.text
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_401_within_two_seconds() {
    let server = Server::sample().await;
    let (account, key) = server.new_account("dev@example.com").await;
    assert_eq!(server.get_as(&key, "/v1/usage").await.status.as_u16(), 200);
    let list = server
        .operator(&["key", "list", "--account", &account])
        .await;
    assert!(!list.contains(&key), "a list never shows a key");
    let id = list.split_whitespace().next().unwrap().to_owned();
    server.operator(&["key", "revoke", &id]).await;
    assert_unauthorized(&within_the_bound(&server, &key, 401).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_account_is_403_on_every_operation_until_it_is_restored() {
    let server = Server::sample().await;
    let (_, key) = server.new_account("dev@example.com").await;
    let (_, other) = server.new_account("other@example.com").await;
    assert_eq!(server.get_as(&key, "/v1/usage").await.status.as_u16(), 200);
    let reason = "unpaid bill 7741";
    server
        .operator(&[
            "account",
            "suspend",
            "--account",
            "dev@example.com",
            "--reason",
            reason,
        ])
        .await;
    let answer = within_the_bound(&server, &key, 403).await;
    answer.assert_failure(403, "forbidden");
    assert!(
        !answer.text.contains("7741"),
        "support's reason is not the caller's"
    );
    server
        .post_as(&key, "/v1/lookup", &lookup())
        .await
        .assert_failure(403, "forbidden");
    server
        .post_as(&key, "/v1/lookup", &json!({"nonsense": 1}))
        .await
        .assert_failure(403, "forbidden");
    assert_eq!(
        server.get_as(&other, "/v1/usage").await.status.as_u16(),
        200
    );
    server
        .operator(&[
            "account",
            "restore",
            "--account",
            "dev@example.com",
            "--reason",
            "paid",
        ])
        .await;
    within_the_bound(&server, &key, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_free_tier_holds_keys_and_calls_nothing() {
    let server = Server::sample().await;
    let account = server
        .operator(&[
            "account",
            "create",
            "--email",
            "free@example.com",
            "--tier",
            "free",
        ])
        .await;
    let key = server
        .operator(&["key", "create", "--account", &account])
        .await;
    let answer = server.get_as(&key, "/v1/usage").await;
    answer.assert_failure(403, "forbidden");
    assert!(answer.message().contains("pro"), "{}", answer.message());
    server
        .operator(&[
            "account",
            "suspend",
            "--account",
            &account,
            "--reason",
            "both",
        ])
        .await;
    let suspended = within_message(&server, &key, "suspended").await;
    suspended.assert_failure(403, "forbidden");
}

async fn within_message(server: &Server, key: &str, part: &str) -> Answer {
    let begun = Instant::now();
    loop {
        let asked = begun.elapsed();
        let answer = server.get_as(key, "/v1/usage").await;
        if answer.message().contains(part) {
            return answer;
        }
        assert!(
            asked < BOUND,
            "suspension comes before entitlement: {}",
            answer.text
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_lives_on_for_its_overlap_and_not_a_moment_longer() {
    let server = Server::sample().await;
    let (account, old) = server.new_account("dev@example.com").await;
    let list = server
        .operator(&["key", "list", "--account", &account])
        .await;
    let id = list.split_whitespace().next().unwrap().to_owned();
    let new = server
        .operator(&["key", "rotate", &id, "--overlap", "24h"])
        .await;
    for key in [&old, &new] {
        assert_eq!(server.get_as(key, "/v1/usage").await.status.as_u16(), 200);
    }
    server.set_clock(crate::harness::START + time::Duration::hours(24) - time::Duration::SECOND);
    assert_eq!(server.get_as(&old, "/v1/usage").await.status.as_u16(), 200);
    server.set_clock(crate::harness::START + time::Duration::hours(24));
    within_the_bound(&server, &old, 401).await;
    assert_eq!(server.get_as(&new, "/v1/usage").await.status.as_u16(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_key_but_its_hash_prefix_and_last_four_is_kept() {
    let mut server = Server::sample().await;
    let (_, key) = server.new_account("dev@example.com").await;
    server.post_as(&key, "/v1/lookup", &lookup()).await;
    assert!(server.stop().await.success());
    let secret = &key["svc_test_".len()..key.len() - 4];
    for entry in std::fs::read_dir(server.folder()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for canary in [secret, &server.key["svc_test_".len()..server.key.len() - 4]] {
            let found = bytes
                .windows(canary.len())
                .any(|window| window == canary.as_bytes());
            assert!(!found, "{} holds a key", path.display());
        }
    }
}
