//! The same operations over MCP: both eras of the protocol, the same keys, the same budget.

use std::time::Duration;

use reqwest::{
    Method, StatusCode,
    header::{HeaderMap, HeaderValue},
};
use serde_json::{Value, json};

use crate::harness::{Answer, Options, Server, json_headers};

mod clients;
mod parity;

const MODERN: &str = "2026-07-28";

/// Headers of a call; the modern era names version, method and tool beside the body.
fn headers(key: &str, modern: Option<(&str, Option<&str>)>) -> HeaderMap {
    let mut headers = json_headers(key);
    let mut put = |name: &'static str, value: &str| {
        headers.insert(name, HeaderValue::from_str(value).expect("visible text"));
    };
    put("accept", "application/json, text/event-stream");
    if let Some((method, name)) = modern {
        put("mcp-protocol-version", MODERN);
        put("mcp-method", method);
        if let Some(name) = name {
            put("mcp-name", name);
        }
    }
    headers
}

fn request(method: &str, mut params: Value, modern: bool) -> Value {
    if modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

async fn send(server: &Server, headers: HeaderMap, body: &Value) -> Answer {
    server
        .send(Method::POST, "/mcp", headers, body.to_string())
        .await
}

/// With the sample city's listings, which other tests do without.
fn with_listings(mut options: Options) -> Options {
    let source = ("BROWNSTONE_LISTINGS_SOURCE".into(), "reso".into());
    options.variables.push(source);
    options
}

/// Waits until every area is scanned: one that is scanned meanwhile would answer differently a moment later.
async fn scanned(server: &Server) {
    let everywhere = json!({"location": "NYC", "limit": 1});
    let scanned = async {
        while server.post("/v1/search", &everywhere).await.body["data"]["source_status"]
            != json!({"cached": "ok"})
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), scanned)
        .await
        .expect("every area is scanned");
}

async fn rpc(server: &Server, method: &str, params: Value, modern: bool) -> Value {
    let name = params["name"].as_str().map(str::to_owned);
    let headers = headers(&server.key, modern.then_some((method, name.as_deref())));
    let answer = send(server, headers, &request(method, params, modern)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.body["id"], json!(7));
    answer.body
}

pub(crate) async fn call(server: &Server, tool: &str, arguments: Value, modern: bool) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    rpc(server, "tools/call", params, modern).await["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_and_called_in_both_eras_on_the_budget_of_rest() {
    let server = Server::sample().await;
    for modern in [false, true] {
        let listed = rpc(&server, "tools/list", json!({}), modern).await;
        let tools = listed["result"]["tools"].as_array().expect("tools");
        let names: Vec<_> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert!(names.contains(&"lookup_property") && names.contains(&"get_mortgage_rates"));
        if modern {
            assert_eq!(listed["result"]["cacheScope"], "private");
            assert_eq!(listed["result"]["ttlMs"], json!(300_000));
        }
        assert!(serde_json::to_string(&tools).expect("JSON").len() < 32_000);
    }
    assert_eq!(
        server.usage().await["day"]["used"],
        json!(0),
        "lists are free"
    );

    // Loose values, as agents write them.
    let arguments = json!({"home_price": "$1,000,000", "zip_code": 10118, "loan_term_years": "30", "occupancy": null});
    let result = call(&server, "get_mortgage_rates", arguments, true).await;
    assert_ne!(result["isError"], json!(true), "{result}");
    let envelope = &result["structuredContent"];
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text"))
        .expect("the text is the structure");
    assert_eq!(&text, envelope);
    assert_eq!(envelope["truncated"], json!(false));
    assert_eq!(envelope["data"]["scenario"]["loan_amount"], json!(800_000));
    let own = &result["_meta"]["nyc.brownstone/meta"];
    assert_eq!(own["daily_remaining"], json!(9_999));
    assert_eq!(own["request_id"], envelope["meta"]["request_id"]);

    // The same over REST: the same data, one unit further.
    let rest = server
        .post(
            "/v1/rates",
            &json!({"home_price": 1_000_000, "zip_code": "10118"}),
        )
        .await;
    let (mut over_rest, mut over_mcp) = (rest.data().clone(), envelope["data"].clone());
    for answer in [&mut over_rest, &mut over_mcp] {
        answer["as_of_at"] = Value::Null;
    }
    assert_eq!(over_rest, over_mcp);
    assert_eq!(rest.body["meta"]["daily_remaining"], json!(9_998));
    assert_eq!(server.usage().await["by_surface"]["mcp"]["units"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_cut_to_what_an_agent_can_take_and_says_so() {
    let server = Server::sample().await;
    let arguments = json!({"address": "350 5th Ave, Manhattan"});
    let params = json!({"name": "lookup_property", "arguments": arguments});
    let answer = send(
        &server,
        headers(&server.key, None),
        &request("tools/call", params, false),
    )
    .await;
    assert!(answer.text.len() <= 65_536, "{} bytes", answer.text.len());
    let envelope = &answer.body["result"]["structuredContent"];
    assert_eq!(envelope["truncated"], json!(true));
    assert!(
        envelope["truncation_note"]
            .as_str()
            .expect("a note")
            .contains("POST /v1/lookup")
    );
    let rest = server.lookup("350 5th Ave, Manhattan").await;
    for key in ["property", "bbl", "bin", "canonical_path"] {
        assert_eq!(envelope["data"][key], rest.data()[key], "{key}");
    }
    let all = rest.data()["sources"].as_object().expect("sources");
    for (key, entry) in all {
        let cut = &envelope["data"]["sources"][key];
        assert_eq!(cut["status"], entry["status"], "{key}");
        assert_eq!(
            cut["data"]["record_count"], entry["data"]["record_count"],
            "{key}"
        );
        let (Some(shown), Some(whole)) = (
            cut["data"]["records"].as_array(),
            entry["data"]["records"].as_array(),
        ) else {
            continue;
        };
        assert_eq!(shown[..], whole[..shown.len()], "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_results_with_the_error_envelope_and_cost_nothing() {
    let server = Server::sample().await;
    for (tool, arguments, code) in [
        (
            "get_mortgage_rates",
            json!({"loan_term_years": 20}),
            "invalid_request",
        ),
        ("get_mortgage_rates", json!({"term": 30}), "invalid_request"),
        (
            "get_mortgage_rates",
            json!({"term": null}),
            "invalid_request",
        ),
        (
            "get_mortgage_rates",
            json!({"zip_code": "07030"}),
            "outside_coverage",
        ),
        (
            "lookup_property",
            json!({"address": "1 Main Street, Hoboken, NJ"}),
            "outside_coverage",
        ),
        ("lookup_property", json!({}), "invalid_request"),
    ] {
        let result = call(&server, tool, arguments, true).await;
        assert_eq!(result["isError"], json!(true), "{result}");
        assert_eq!(result.get("structuredContent"), None);
        let text = result["content"][0]["text"].as_str().expect("text");
        let envelope: Value = serde_json::from_str(text).expect("an envelope");
        assert_eq!(envelope["code"], code, "{text}");
        assert!(envelope["request_id"].is_string());
    }
    assert_eq!(server.usage().await["day"]["used"], json!(0));
    let unknown = rpc(&server, "tools/call", json!({"name": "get_usage"}), false).await;
    assert_eq!(unknown["error"]["code"], json!(-32_602));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_comes_twice_has_no_meaning() {
    let server = Server::sample().await;
    let post = async |method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,{method},"params":{params}}}"#);
        let headers = headers(&server.key, None);
        server.send(Method::POST, "/mcp", headers, body).await
    };
    let call = r#""method":"tools/call""#;
    for (arguments, message) in [
        (
            r#"{"credit_score":700,"credit_score":800}"#,
            "Duplicate field: credit_score. Each field may be sent once.",
        ),
        (r#"{"colour":1,"colour":2}"#, "Unknown field(s): colour."),
    ] {
        let params = format!(r#"{{"name":"get_mortgage_rates","arguments":{arguments}}}"#);
        let answer = post(call, &params).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let result = &answer.body["result"];
        assert_eq!(result["isError"], json!(true), "{result}");
        let text = result["content"][0]["text"].as_str().expect("text");
        let envelope: Value = serde_json::from_str(text).expect("an envelope");
        assert_eq!(envelope["code"], "invalid_request");
        let said = envelope["message"].as_str().expect("a message");
        assert!(said.starts_with(message), "{said}");
    }
    // What the protocol itself reads is refused before it.
    for (method, params) in [
        (r#""method":"tools/list","method":"tools/call""#, "{}"),
        (
            call,
            r#"{"name":"get_comps","name":"get_mortgage_rates","arguments":{}}"#,
        ),
    ] {
        let answer = post(method, params).await;
        let code = &answer.body["error"]["code"];
        assert_eq!((answer.status.as_u16(), code), (400, &json!(-32_600)));
    }
    let usage = server.usage().await;
    assert_eq!(usage["day"]["used"], json!(0));
    assert_eq!(
        usage["by_operation"]["getMortgageRates"]["failed"],
        json!(2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_budget_is_a_result_with_the_seconds_to_wait() {
    let server = Server::sample().await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-day",
            "1",
        ])
        .await;
    let key = server
        .operator(&["key", "create", "--account", "demo@example.com"])
        .await;
    let once = async || {
        let params = json!({"name": "get_mortgage_rates", "arguments": {}});
        let body = request("tools/call", params, false);
        send(&server, headers(&key, None), &body).await.body["result"].clone()
    };
    assert_ne!(once().await["isError"], json!(true));
    let refused = once().await;
    let text = refused["content"][0]["text"].as_str().expect("text");
    let envelope: Value = serde_json::from_str(text).expect("an envelope");
    assert_eq!(envelope["code"], "rate_limited");
    assert!(envelope["retry_after_seconds"].as_u64().expect("seconds") > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_and_bodies_are_checked_before_the_protocol() {
    let server = Server::sample().await;
    let list = request("tools/list", json!({}), false);
    let refused = |answer: &Answer, status: u16, code: i64| {
        assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
        assert_eq!(answer.body["jsonrpc"], "2.0");
        assert_eq!(answer.body.get("id"), Some(&Value::Null));
        assert_eq!(answer.body["error"]["code"], json!(code), "{}", answer.text);
    };
    let mut none = headers(&server.key, None);
    none.remove("authorization");
    let answer = send(&server, none, &list).await;
    refused(&answer, 401, 401);
    assert_eq!(answer.body["error"]["data"]["code"], "unauthorized");
    assert_eq!(
        answer.header("www-authenticate"),
        Some("Bearer realm=\"brownstone\"")
    );
    let answer = send(&server, headers("svc_test_wrong", None), &list).await;
    refused(&answer, 401, 401);
    assert!(
        answer
            .header("www-authenticate")
            .expect("a challenge")
            .contains("invalid_token")
    );

    let post = async |headers: HeaderMap, body: String| {
        server.send(Method::POST, "/mcp", headers, body).await
    };
    let good = || headers(&server.key, None);
    refused(&post(good(), "{".into()).await, 400, -32_700);
    refused(&post(good(), "[]".into()).await, 400, -32_600);
    refused(&post(good(), "{}".into()).await, 400, -32_600);
    let large = json!({"jsonrpc": "2.0", "padding": "x".repeat(70_000)}).to_string();
    refused(&post(good(), large).await, 413, -32_600);
    let mut encoded = good();
    encoded.insert("content-encoding", HeaderValue::from_static("gzip"));
    refused(&post(encoded, list.to_string()).await, 415, -32_600);
    let mut foreign = good();
    foreign.insert("origin", HeaderValue::from_static("https://evil.example"));
    refused(&post(foreign, list.to_string()).await, 403, -32_600);
    let mut host = good();
    host.insert("host", HeaderValue::from_static("evil.example"));
    refused(&post(host, list.to_string()).await, 403, -32_600);

    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let answer = server.send(method, "/mcp", good(), "").await;
        refused(&answer, 405, -32_600);
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    // What a client may look for where it expects OAuth: JSON, and no promise of it.
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/register",
    ] {
        let answer = server.send(Method::GET, path, HeaderMap::new(), "").await;
        answer.assert_failure(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_on_rest_is_suspended_here_within_two_seconds() {
    let server = Server::sample().await;
    let list = request("tools/list", json!({}), false);
    let (account, key) = server.new_account("agent@example.com").await;
    let answer = send(&server, headers(&key, None), &list).await;
    assert_eq!(answer.status, StatusCode::OK);
    server
        .operator(&[
            "account",
            "suspend",
            "--account",
            &account,
            "--reason",
            "test",
        ])
        .await;
    let suspended = async {
        loop {
            let answer = send(&server, headers(&key, None), &list).await;
            if answer.status == StatusCode::FORBIDDEN {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(5), suspended)
        .await
        .expect("a suspension holds within two seconds, and a busy machine's slack");
    assert_eq!(answer.body["error"]["data"]["code"], "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_of_the_modern_transport_holds() {
    let server = Server::sample().await;
    let discovered = rpc(&server, "server/discover", json!({}), true).await;
    let result = &discovered["result"];
    let versions = result["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!(MODERN)), "{result}");
    assert!(
        result["instructions"]
            .as_str()
            .expect("text")
            .contains("five boroughs")
    );
    assert_eq!(result["resultType"], "complete");

    let list = request("tools/list", json!({}), true);
    let good = || headers(&server.key, Some(("tools/list", None)));
    let mut other = good();
    other.insert("mcp-method", HeaderValue::from_static("tools/call"));
    let answer = send(&server, other, &list).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["error"]["code"]),
        (400, &json!(-32_020))
    );
    let mut version = list.clone();
    version["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let mut future = good();
    future.insert(
        "mcp-protocol-version",
        HeaderValue::from_static("2030-01-01"),
    );
    let answer = send(&server, future, &version).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["error"]["code"]),
        (400, &json!(-32_022)),
        "{}",
        answer.text
    );
    let mut narrow = good();
    narrow.insert("accept", HeaderValue::from_static("application/json"));
    assert_eq!(send(&server, narrow, &list).await.status.as_u16(), 406);
    let unknown = request("tools/nothing", json!({}), true);
    let answer = send(
        &server,
        headers(&server.key, Some(("tools/nothing", None))),
        &unknown,
    )
    .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["error"]["code"]),
        (404, &json!(-32_601))
    );
    // A notification has no answer.
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = send(&server, headers(&server.key, None), &note).await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (202, ""));
    // The legacy era opens with a handshake, and may leave it out.
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let opened = rpc(&server, "initialize", hello, false).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(opened["result"]["serverInfo"]["name"], "brownstone");
}
