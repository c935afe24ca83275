//! What the log says of a call, whichever way it came.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{
    harness::{Options, Server},
    mcp,
    web::Browser,
};

/// The log's lines with this message, once `enough` says that what is waited for is among them: a line is written after its answer.
async fn lines(server: &Server, message: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    // Generous: every area is scanned for one of them.
    let give_up = tokio::time::Instant::now() + Duration::from_secs(120);
    loop {
        let log = server.log();
        let found: Vec<Value> = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["fields"]["message"] == message)
            .collect();
        if enough(&found) {
            return found;
        }
        assert!(tokio::time::Instant::now() < give_up, "{log}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_has_its_line_with_surface_operation_account_units_and_the_lines_of_its_sources() {
    let server = Server::start(Options {
        log: Some("info,brownstone_sources=debug"),
        ..Options::default()
    })
    .await;
    let rest = server.lookup("350 5 Avenue, Manhattan").await;
    let rest = rest.header("x-request-id").expect("an id").to_owned();
    let asked = json!({"address": "700 Brook Avenue, Bronx"});
    let tool = mcp::call(&server, "lookup_property", asked, true).await;
    let tool = tool["_meta"]["nyc.brownstone/meta"]["request_id"].clone();
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    browser.get("/lookup?address=120+Broadway").await.is(200);
    let page = browser
        .post("/lookup", &[("address", "120 Broadway, Manhattan")])
        .await;
    let page = page.headers["x-request-id"].to_str().unwrap().to_owned();

    for (surface, message, id) in [
        ("rest", "call", &json!(rest)),
        ("mcp", "call", &tool),
        ("web", "page", &json!(page)),
    ] {
        assert!(id.is_string(), "{surface}");
        let of_it = |line: &Value| line["span"]["request_id"] == *id;
        let found = lines(&server, message, |lines| lines.iter().any(of_it)).await;
        let span = &found.iter().find(|line| of_it(line)).unwrap()["span"];
        assert_eq!(span["surface"], surface, "{span}");
        assert_eq!(span["operation"], "lookupProperty", "{span}");
        assert_eq!(span["units"], 10, "{span}");
        assert!(span["account"].is_string(), "{span}");

        // Each source has a line of its own, with its time, below the same call.
        let sources = lines(&server, "source", |_| true).await;
        let timed: BTreeSet<&str> = sources
            .iter()
            .filter(|line| of_it(line) && line["span"]["surface"] == surface)
            .filter(|line| line["fields"]["millis"].is_u64())
            .filter_map(|line| line["fields"]["source"].as_str())
            .collect();
        assert!(timed.len() > 50, "{surface}: {timed:?}");
    }

    let log = server.log();
    for part in ["Broadway", "BROADWAY", "Brook", "BROOK", "350 5"] {
        assert!(!log.contains(part), "{part}: an address is in the log");
    }

    // A call that fails is told alike.
    let failed = server.post("/v1/comps", &json!({"nothing": 1})).await;
    failed.assert_failure(400, "invalid_request");
    let id = json!(failed.header("x-request-id"));
    let of_it = |line: &Value| line["span"]["request_id"] == id;
    let found = lines(&server, "call", |lines| lines.iter().any(of_it)).await;
    let line = found.iter().find(|line| of_it(line)).unwrap();
    assert_eq!(
        (&line["span"]["surface"], &line["span"]["operation"]),
        (&json!("rest"), &json!("getComps"))
    );
    assert_eq!(
        (&line["span"]["units"], &line["fields"]["code"]),
        (&json!(0), &json!("invalid_request"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_of_listings_is_one_line_and_the_start_is_short() {
    let server = Server::start(Options {
        log: Some("info"),
        variables: vec![("BROWNSTONE_LISTINGS_SOURCE".into(), "reso".into())],
        ..Options::default()
    })
    .await;
    let rounds = lines(&server, "listings were scanned", |lines| !lines.is_empty()).await;
    let [round] = &rounds[..] else {
        panic!("one round is expected: {rounds:?}");
    };
    assert!(round["fields"]["areas"].as_u64() > Some(100), "{round}");
    assert_eq!(round["fields"]["failed"], 0, "{round}");
    let lines = server.log().lines().count();
    assert!(lines < 20, "{}", server.log());
}
