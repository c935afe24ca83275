//! The document of the API against what the server really sends.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jsonschema::Validator;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderValue},
};
use serde_json::{Map, Value, json};

use crate::{
    harness::{Answer, Options, Server, bearer, json_headers},
    listings_search,
};

mod clients;

/// The document, as a reader that allows nothing it does not say.
pub(crate) struct Contract {
    document: Value,
    components: Value,
    /// By operation and status: making one takes longer than using it.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Contract {
    pub(crate) async fn of(server: &Server) -> Self {
        let answer = server
            .send(Method::GET, "/openapi.json", HeaderMap::new(), "")
            .await;
        assert_eq!(answer.status, 200);
        let mut components = answer.body["components"].clone();
        let mut merged = Vec::new();
        find_merged(&components, &mut merged);
        for (name, schema) in components["schemas"].as_object_mut().expect("schemas") {
            // A schema that stands within another can't know what the other adds.
            strict(schema, !merged.contains(name));
        }
        Self {
            document: answer.body,
            components,
            validators: Mutex::default(),
        }
    }

    /// The response of an operation for a status.
    fn response(&self, path: &str, method: &str, status: u16) -> &Value {
        let response = &self.document["paths"][path][method]["responses"][status.to_string()];
        assert!(response.is_object(), "{method} {path} has no {status}");
        match response["$ref"].as_str() {
            Some(target) => self
                .document
                .pointer(target.trim_start_matches('#'))
                .expect("a response"),
            None => response,
        }
    }

    fn validator(&self, schema: &Value) -> Validator {
        let mut root = schema.as_object().cloned().unwrap_or_default();
        root.insert("components".into(), self.components.clone());
        jsonschema::draft202012::new(&Value::Object(root)).expect("the schema is one")
    }

    /// Asserts that an answer is what the document says, its headers included.
    pub(crate) fn check(&self, path: &str, method: &str, answer: &Answer) {
        let response = self.response(path, method, answer.status.as_u16());
        for (name, header) in response["headers"].as_object().expect("headers") {
            let target = header["$ref"].as_str().expect("a reference");
            let header = self
                .document
                .pointer(target.trim_start_matches('#'))
                .expect("a header");
            if header["required"] == true {
                let sent = answer.header(name);
                assert!(sent.is_some(), "{path} {}: {name}", answer.status);
            }
        }
        let content = &response["content"]["application/json"];
        if content.is_null() {
            assert_eq!(answer.text, "");
            return;
        }
        let place = format!("{method} {path} {}", answer.status);
        let known = self
            .validators
            .lock()
            .expect("no panic")
            .get(&place)
            .cloned();
        let validator = known.unwrap_or_else(|| {
            let made = Arc::new(self.validator(&content["schema"]));
            let mut validators = self.validators.lock().expect("no panic");
            validators.insert(place, Arc::clone(&made));
            made
        });
        let wrong: Vec<_> = validator
            .iter_errors(&answer.body)
            .take(5)
            .map(|error| format!("{}: {error:.300}", error.instance_path()))
            .collect();
        assert!(
            wrong.is_empty(),
            "{method} {path} {}: {wrong:#?}",
            answer.status
        );
    }

    /// The examples of a media type, which must be what its schema allows.
    fn check_examples(&self, place: &str, content: &Value) -> usize {
        let validator = self.validator(&content["schema"]);
        let examples = content["examples"].as_object().into_iter().flatten();
        examples
            .map(|(name, example)| {
                let wrong = validator.iter_errors(&example["value"]).next();
                let wrong = wrong.map(|error| format!("{}: {error:.300}", error.instance_path()));
                assert_eq!(wrong, None, "{place}: the example {name}");
            })
            .count()
    }
}

/// Names of the schemas that stand within an `allOf`.
fn find_merged(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for part in object
                .get("allOf")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if let Some(target) = part["$ref"].as_str() {
                    found.extend(target.rsplit('/').next().map(str::to_owned));
                }
            }
            object.values().for_each(|inner| find_merged(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| find_merged(inner, found)),
        _ => {}
    }
}

/// Refuses what a schema does not name, so that a field that is sent and not in the document is found.
fn strict(schema: &mut Value, outer: bool) {
    let Value::Object(object) = schema else {
        return;
    };
    let open = object.contains_key("additionalProperties");
    let shaped = object.contains_key("properties") || object.contains_key("allOf");
    if outer && shaped && !open {
        object.insert("unevaluatedProperties".into(), Value::Bool(false));
    }
    for (key, inner) in object.iter_mut() {
        match (key.as_str(), inner) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|one| strict(one, true));
            }
            ("items" | "additionalProperties", inner) => strict(inner, true),
            ("oneOf" | "anyOf", Value::Array(choices)) => {
                choices.iter_mut().for_each(|one| strict(one, true));
            }
            ("allOf", Value::Array(parts)) => parts.iter_mut().for_each(|one| strict(one, false)),
            _ => {}
        }
    }
}

/// Buildings of the sample city of every kind, a unit, a lot with several buildings.
const ADDRESSES: [&str; 9] = [
    "350 5 Avenue, Manhattan",
    "120 Broadway, Manhattan",
    "120 Broadway 4C, Manhattan",
    "1000477501",
    "1018890001",
    "2023597501",
    "4091190011",
    "5033780070",
    "4001600029",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_what_the_document_says() {
    let server = listings_search::server("reso").await;
    let contract = Contract::of(&server).await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-minute",
            "100000",
        ])
        .await;
    let mut bodies: Vec<(&str, Value)> = Vec::new();
    for address in ADDRESSES {
        bodies.push(("/v1/lookup", json!({"address": address})));
        bodies.push(("/v1/comps", json!({"address": address})));
        bodies.push((
            "/v1/comps",
            json!({"address": address, "mode": "valuation"}),
        ));
        bodies.push(("/v1/rentals", json!({"address": address})));
        bodies.push((
            "/v1/rentals",
            json!({"address": address, "mode": "estimate", "radius_miles": 5, "max_age_days": 365}),
        ));
    }
    for address in &ADDRESSES[..4] {
        let body = json!({"address": address, "include_comps": true, "include_rentals": true});
        bodies.push(("/v1/lookup", body));
    }
    for kind in ["sale", "rental"] {
        bodies.push(("/v1/search", json!({"location": "NYC", "listing_type": kind, "limit": 100, "status": ["active", "pending"]})));
        bodies.push((
            "/v1/updates",
            json!({"location": "NYC", "listing_type": kind}),
        ));
        bodies.push((
            "/v1/updates",
            json!({"location": "NYC", "listing_type": kind, "since": "2026-11-01", "limit": 200}),
        ));
    }
    bodies.push((
        "/v1/search",
        json!({"zip_codes": ["10118"], "max_price": 1}),
    ));
    bodies.push(("/v1/rates", json!({})));
    bodies.push(("/v1/rates", json!({"home_price": 2_000_000, "down_payment": 400_000, "loan_term_years": 15, "zip_code": "11201", "occupancy": "investment", "property_type": "two_family"})));
    let mut sources = Map::new();
    for (path, body) in bodies {
        let answer = server.post(path, &body).await;
        if answer.status != 200 {
            // Not every kind of building has every answer; that a failure is as said is checked, too.
            assert!(
                [400, 404].contains(&answer.status.as_u16()),
                "{path} {body}: {}",
                answer.text
            );
        }
        contract.check(path, "post", &answer);
        let entries = answer.data()["sources"].as_object();
        for (key, entry) in entries.into_iter().flatten() {
            if entry["status"] == "ok" {
                sources.insert(key.clone(), Value::Bool(true));
            }
        }
    }
    // Of nearly every source some building has records.
    assert!(
        sources.len() > 70,
        "{}: {:?}",
        sources.len(),
        sources.keys()
    );
    let usage = server.get_as(&server.key, "/v1/usage").await;
    contract.check("/v1/usage", "get", &usage);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_is_what_the_document_says() {
    let server = Server::sample().await;
    let contract = Contract::of(&server).await;
    let (account, key) = server.new_account("small@example.com").await;
    let no_key = server
        .send(Method::POST, "/v1/lookup", HeaderMap::new(), "{}")
        .await;
    contract.check(
        "/v1/lookup",
        "post",
        no_key.assert_failure(401, "unauthorized"),
    );
    let get = server
        .send(Method::GET, "/v1/lookup", json_headers(&key), "")
        .await;
    contract.check(
        "/v1/lookup",
        "post",
        get.assert_failure(405, "method_not_allowed"),
    );
    for (path, body, status, code) in [
        ("/v1/lookup", json!({"city": 1}), 400, "invalid_request"),
        (
            "/v1/comps",
            json!({"address": "10 Main Street, Hoboken, NJ"}),
            400,
            "outside_coverage",
        ),
        (
            "/v1/lookup",
            json!({"address": "99999 5 Avenue, Manhattan"}),
            404,
            "not_found",
        ),
        (
            "/v1/rates",
            json!({"ltv_percent": 0}),
            400,
            "invalid_request",
        ),
    ] {
        let answer = server.post_as(&key, path, &body).await;
        contract.check(path, "post", answer.assert_failure(status, code));
    }
    let query = server.get_as(&key, "/v1/usage?all=1").await;
    contract.check(
        "/v1/usage",
        "get",
        query.assert_failure(400, "invalid_request"),
    );

    let lookup = json!({"address": "350 5 Avenue, Manhattan"});
    let limit = |units: &'static str| {
        [
            "limits",
            "set",
            "--account",
            "small@example.com",
            "--per-minute",
            units,
        ]
    };
    server.operator(&limit("12")).await;
    let full = server.post_as(&key, "/v1/rates", &json!({})).await;
    contract.check("/v1/rates", "post", &full);
    let short = loop {
        let answer = server.post_as(&key, "/v1/rates", &json!({})).await;
        if answer.status != 200 {
            break answer;
        }
    };
    contract.check(
        "/v1/rates",
        "post",
        short.assert_failure(429, "rate_limited"),
    );
    assert!(short.header("retry-after").is_some());
    server.operator(&limit("3")).await;
    let never = loop {
        let answer = server.post_as(&key, "/v1/lookup", &lookup).await;
        // The limit is in force within two seconds.
        if answer.header("retry-after").is_none() && answer.status == 429 {
            break answer;
        }
    };
    contract.check(
        "/v1/lookup",
        "post",
        never.assert_failure(429, "rate_limited"),
    );

    server
        .operator(&[
            "account",
            "suspend",
            "--account",
            &account,
            "--reason",
            "a test",
        ])
        .await;
    let refused = loop {
        let answer = server.get_as(&key, "/v1/usage").await;
        if answer.status != 200 {
            break answer;
        }
    };
    contract.check("/v1/usage", "get", refused.assert_failure(403, "forbidden"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_down_is_what_the_document_says() {
    // A port that nobody listens on.
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let variables = [
        "SODA_URL",
        "NYS_SODA_URL",
        "GEOSEARCH_URL",
        "FEMA_URL",
        "FRED_URL",
        "PMMS_URL",
    ];
    let server = Server::start(Options {
        live_sources: true,
        variables: variables
            .map(|name| (format!("BROWNSTONE_{name}"), nowhere.clone()))
            .into(),
        ..Options::default()
    })
    .await;
    let contract = Contract::of(&server).await;
    let body = json!({"address": "350 5 Avenue, Manhattan"});
    let broken = server.post("/v1/lookup", &body).await;
    contract.check(
        "/v1/lookup",
        "post",
        broken.assert_failure(502, "upstream_error"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served_without_a_key_and_its_examples_hold() {
    let server = Server::sample().await;
    let contract = Contract::of(&server).await;
    let document = &contract.document;
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["servers"][0]["url"], server.url.as_str());
    for path in ["/healthz", "/readyz", "/version", "/openapi.json"] {
        let answer = server.send(Method::GET, path, HeaderMap::new(), "").await;
        contract.check(path, "get", &answer);
        let etag = answer.header("etag").map(str::to_owned);
        if let Some(etag) = etag {
            let mut headers = bearer(&server.key);
            headers.insert(
                "if-none-match",
                HeaderValue::from_str(&etag).expect("a tag"),
            );
            let same = server.send(Method::GET, path, headers, "").await;
            assert_eq!(same.status, 304);
            contract.check(path, "get", &same);
        }
    }
    let mut examples = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for operation in item.as_object().expect("operations").values() {
            let body = &operation["requestBody"]["content"]["application/json"];
            if body.is_object() {
                examples += contract.check_examples(path, body);
            }
            for status in operation["responses"]
                .as_object()
                .expect("responses")
                .keys()
            {
                let status = status.parse().expect("a status");
                let method = if body.is_object() { "post" } else { "get" };
                let response = contract.response(path, method, status);
                let content = &response["content"]["application/json"];
                if content.is_object() {
                    examples += contract.check_examples(&format!("{path} {status}"), content);
                }
            }
        }
    }
    assert!(examples > 60, "{examples}");
}
