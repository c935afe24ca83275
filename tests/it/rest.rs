//! The surface of the API host: routes, methods, bodies, headers.

use reqwest::{
    Method,
    header::{HeaderMap, HeaderValue},
};
use serde_json::json;
use sfv::{BareItem, List, ListEntry, Parser};

use crate::harness::{Server, bearer, json_headers};

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_no_coding_at_all_is_answered_in_json_all_the_same() {
    let server = Server::sample().await;
    for takes in ["identity;q=0", "*;q=0", "gzip;q=0, *;q=0"] {
        let with = |mut headers: HeaderMap| {
            headers.insert("accept-encoding", HeaderValue::from_static(takes));
            headers
        };
        let post = async |path: &str, headers: HeaderMap, body: serde_json::Value| {
            let headers = with(headers);
            server
                .send(Method::POST, path, headers, body.to_string())
                .await
        };
        let get = async |path: &str, headers: HeaderMap| {
            server.send(Method::GET, path, with(headers), "").await
        };
        let ask = json!({"address": "350 5 Avenue, Manhattan"});
        let lookup = post("/v1/lookup", json_headers(&server.key), ask.clone()).await;
        assert_eq!(lookup.status, 200, "{takes}: {}", lookup.text);
        let rates = post("/v1/rates", json_headers(&server.key), json!({})).await;
        assert_eq!(rates.status, 200, "{takes}: {}", rates.text);
        assert_eq!(rates.header("content-encoding"), None);
        assert_eq!(get("/v1/usage", bearer(&server.key)).await.status, 200);
        assert_eq!(get("/healthz", HeaderMap::new()).await.status, 200);
        // A failure keeps its own code and envelope.
        let refused = post("/v1/lookup", json_headers("svc_test_wrong"), ask).await;
        refused.assert_failure(401, "unauthorized");
        let gone = get("/v1/nothing", HeaderMap::new()).await;
        gone.assert_failure(404, "not_found");
        let mut agent = json_headers(&server.key);
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        agent.insert("accept", accept);
        let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
        let listed = post("/mcp", agent, list).await;
        assert_eq!(listed.status, 200, "{takes}: {}", listed.text);
        let page = reqwest::Client::new().get(format!("{}/", server.web));
        let page = page.header("accept-encoding", takes).send().await;
        assert_eq!(page.expect("the web host answers").status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_wrong_are_refused_with_the_contracts_sentences() {
    let server = Server::sample().await;
    let long = "x".repeat(201);
    let deep = format!("{{\"address\":{}{}}}", "[".repeat(40), "]".repeat(40));
    let large = format!("{{\"address\":\"{}\"}}", "x".repeat(70_000));
    for (body, message) in [
        (
            r#"{"city":"x","address":"350 5 Avenue","zip":1}"#,
            "Unknown field(s): city, zip. POST /v1/lookup accepts: address, include_comps, include_rentals.",
        ),
        (
            "{}",
            "address is required: a string of 1 to 200 characters.",
        ),
        (
            r#"{"address":"a","address":"b"}"#,
            "Duplicate field: address. Each field may be sent once.",
        ),
        (
            r#"{"address":7}"#,
            "address must be a string of 1 to 200 characters; got the number 7.",
        ),
        (
            &format!(r#"{{"address":"{long}"}}"#),
            "address must be a string of 1 to 200 characters; got 201 characters.",
        ),
        (
            r#"{"address":"a\u0000b"}"#,
            "address must not hold control characters such as line breaks or tabs.",
        ),
        (
            r#"{"address":"a","include_comps":1}"#,
            "include_comps must be true or false; got the number 1.",
        ),
        (
            "[]",
            "The request body must be a JSON object; got an array.",
        ),
        ("", "The request body is empty; a JSON object is expected."),
        (
            "{",
            "The request body is not valid JSON (line 1, column 1).",
        ),
        (&deep, "The request body is nested deeper than 32 levels."),
        (&large, "The request body is larger than 65536 bytes."),
    ] {
        let answer = server
            .send(
                Method::POST,
                "/v1/lookup",
                json_headers(&server.key),
                body.to_owned(),
            )
            .await;
        answer.assert_failure(400, "invalid_request");
        assert_eq!(answer.message(), message);
    }
    assert_eq!(server.usage().await["day"]["used"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_type_encoding_and_query_are_checked() {
    let server = Server::sample().await;
    let body = json!({"address": "350 5 Avenue, Manhattan"}).to_string();
    for (header, value, part) in [
        (
            "content-type",
            "text/plain",
            "application/json; got text/plain",
        ),
        (
            "content-type",
            "application/json; charset=latin1",
            "application/json; got",
        ),
        (
            "content-encoding",
            "gzip",
            "Content-Encoding is not accepted",
        ),
    ] {
        let mut headers = json_headers(&server.key);
        headers.insert(header, HeaderValue::from_static(value));
        let answer = server
            .send(Method::POST, "/v1/lookup", headers, body.clone())
            .await;
        answer.assert_failure(400, "invalid_request");
        assert!(answer.message().contains(part), "{}", answer.message());
    }
    let missing = server
        .send(
            Method::POST,
            "/v1/lookup",
            bearer(&server.key),
            body.clone(),
        )
        .await;
    missing.assert_failure(400, "invalid_request");
    let query = server
        .send(
            Method::POST,
            "/v1/lookup?pretty=1",
            json_headers(&server.key),
            body,
        )
        .await;
    query.assert_failure(400, "invalid_request");
    assert!(
        query.message().contains("no query parameters"),
        "{}",
        query.message()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_405_with_allow_and_unknown_paths_404() {
    let server = Server::sample().await;
    for (method, path, allow) in [
        (Method::GET, "/v1/lookup", "POST"),
        (Method::PUT, "/v1/lookup", "POST"),
        (Method::OPTIONS, "/v1/lookup", "POST"),
        (Method::TRACE, "/v1/lookup", "POST"),
        (Method::POST, "/v1/usage", "GET"),
        (Method::POST, "/healthz", "GET, HEAD"),
    ] {
        // No key: the method is checked before the credentials.
        let answer = server
            .send(method.clone(), path, HeaderMap::new(), "")
            .await;
        answer.assert_failure(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
    let head = server
        .send(Method::HEAD, "/v1/lookup", HeaderMap::new(), "")
        .await;
    assert_eq!(
        (head.status.as_u16(), head.header("allow")),
        (405, Some("POST"))
    );
    assert!(head.header("x-request-id").is_some());
    for path in ["/", "/v1", "/v1/nothing", "/v2/lookup", "/v1/lookup/"] {
        let answer = server.post(path, &json!({})).await;
        answer.assert_failure(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_needs_no_key_and_carries_no_request_id() {
    let server = Server::sample().await;
    let mut headers = HeaderMap::new();
    headers.insert(
        "origin",
        HeaderValue::from_static("https://app.example.com"),
    );
    headers.insert(
        "access-control-request-method",
        HeaderValue::from_static("POST"),
    );
    headers.insert(
        "access-control-request-headers",
        HeaderValue::from_static("authorization,content-type"),
    );
    let answer = server
        .send(Method::OPTIONS, "/v1/lookup", headers, "")
        .await;
    assert_eq!(answer.status.as_u16(), 204);
    assert_eq!(answer.header("x-request-id"), None);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(
        answer.header("access-control-allow-methods"),
        Some("GET, POST")
    );
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let allowed = answer.header("access-control-allow-headers").unwrap();
    for name in [
        "authorization",
        "content-type",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
    ] {
        assert!(allowed.contains(name), "{allowed}");
    }

    let mut headers = json_headers(&server.key);
    headers.insert(
        "origin",
        HeaderValue::from_static("https://app.example.com"),
    );
    let body = json!({"address": "350 5 Avenue, Manhattan"}).to_string();
    let answer = server.send(Method::POST, "/v1/lookup", headers, body).await;
    assert_eq!(answer.status.as_u16(), 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(
        answer.header("access-control-expose-headers"),
        Some("x-request-id, ratelimit, ratelimit-policy, retry-after")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_a_fresh_request_id_that_is_never_the_clients() {
    let server = Server::sample().await;
    let mut seen = std::collections::HashSet::new();
    for path in [
        "/v1/lookup",
        "/v1/usage",
        "/nothing",
        "/healthz",
        "/readyz",
        "/version",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE, Method::HEAD] {
            let mut headers = json_headers(&server.key);
            headers.insert("x-request-id", HeaderValue::from_static("mine"));
            let answer = server.send(method, path, headers, "{}").await;
            let id = answer.header("x-request-id").expect("an id").to_owned();
            assert_ne!(id, "mine");
            assert!(seen.insert(id), "an id came twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_has_the_envelope_and_its_headers_parse_as_structured_fields() {
    let server = Server::sample().await;
    let answer = server.lookup("350 5 Avenue, Manhattan").await;
    let keys: Vec<_> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["data", "meta"]);
    let keys: Vec<_> = answer.data().as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "property",
            "bbl",
            "bin",
            "canonical_path",
            "sources",
            "cache"
        ]
    );
    assert_eq!(
        answer.body["meta"],
        json!({
            "request_id": answer.header("x-request-id").unwrap(),
            "operation": "lookupProperty",
            "units_charged": 10,
            "minute_remaining": 230,
            "daily_remaining": 9990,
        })
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let policy = list(answer.header("ratelimit-policy").unwrap());
    assert_eq!(
        policy,
        [
            ("minute".into(), vec![("q".into(), 240), ("w".into(), 60)]),
            (
                "day".into(),
                vec![("q".into(), 10_000), ("w".into(), 86_400)]
            )
        ]
    );
    let limit = list(answer.header("ratelimit").unwrap());
    assert_eq!(
        limit,
        [("minute".into(), vec![("r".into(), 230), ("t".into(), 58)])]
    );
    assert_eq!(answer.header("retry-after"), None);
}

type Items = Vec<(String, Vec<(String, i64)>)>;

/// A structured field: strings with integer parameters.
pub(crate) fn list(text: &str) -> Items {
    let list: List = Parser::new(text).parse().expect("a structured field list");
    list.into_iter()
        .map(|entry| {
            let ListEntry::Item(item) = entry else {
                panic!("an item is wanted")
            };
            let BareItem::String(name) = item.bare_item else {
                panic!("a string is wanted")
            };
            let parameters = item
                .params
                .into_iter()
                .map(|(key, value)| match value {
                    BareItem::Integer(number) => (key.as_str().to_owned(), number.into()),
                    other => panic!("an integer is wanted, got {other:?}"),
                })
                .collect();
            (name.as_str().to_owned(), parameters)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_compressed_as_negotiated() {
    let server = Server::sample().await;
    let plain = server.lookup("350 5 Avenue, Manhattan").await;
    assert_eq!(plain.header("content-encoding"), None);
    for encoding in ["gzip", "br", "zstd"] {
        let mut headers = json_headers(&server.key);
        headers.insert("accept-encoding", HeaderValue::from_str(encoding).unwrap());
        let body = json!({"address": "350 5 Avenue, Manhattan"}).to_string();
        let response = reqwest::Client::builder()
            .no_gzip()
            .build()
            .unwrap()
            .post(format!("{}/v1/lookup", server.url))
            .headers(headers)
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["content-encoding"], encoding);
        let bytes = response.bytes().await.unwrap();
        assert!(
            bytes.len() < plain.text.len() / 2,
            "{encoding}: {} of {}",
            bytes.len(),
            plain.text.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_readiness_and_version_are_json_and_need_no_key() {
    let server = Server::sample().await;
    let health = server
        .send(Method::GET, "/healthz", HeaderMap::new(), "")
        .await;
    assert_eq!(
        (health.status.as_u16(), &health.body),
        (200, &json!({"status": "ok"}))
    );
    let ready = server
        .send(Method::GET, "/readyz", HeaderMap::new(), "")
        .await;
    assert_eq!(
        (ready.status.as_u16(), &ready.body["status"]),
        (200, &json!("ready"))
    );
    let version = server
        .send(Method::GET, "/version", HeaderMap::new(), "")
        .await;
    assert_eq!(version.body["environment"], "test");
}
