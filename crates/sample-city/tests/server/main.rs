//! The city over HTTP, as an upstream's client meets it.

#[path = "../../../../tests/at_hand.rs"]
mod at_hand;
mod faults;
mod listings;
mod market;
mod shape;

use brownstone_sample_city::{FLOOD, Fault, FaultKind, GEOSEARCH, SampleCity, VIEWS};
use reqwest::{Client, Response};
use serde_json::{Value, json};

const ECB: &str = "6bgk-3dad";

async fn city() -> SampleCity {
    let bind = ([127, 0, 0, 1], 0).into();
    SampleCity::start(bind).await.expect("starts")
}

async fn get(city: &SampleCity, path: &str) -> Response {
    let url = format!("{}{path}", city.url());
    Client::new().get(url).send().await.expect("an answer")
}

/// A query of a dataset; parameters are encoded here.
async fn ask(city: &SampleCity, dataset: &str, params: &[(&str, &str)]) -> Response {
    let url = format!("{}/resource/{dataset}.json", city.url());
    let request = Client::new().get(url).query(params);
    request.send().await.expect("an answer")
}

async fn rows(city: &SampleCity, dataset: &str, params: &[(&str, &str)]) -> Vec<Value> {
    let answer = ask(city, dataset, params).await;
    assert_eq!(answer.status(), 200);
    answer.json().await.expect("an array")
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_with_the_publisher_s_headers_and_layout() {
    let city = city().await;
    let answer = ask(
        &city,
        ECB,
        &[
            ("$where", "bin='1015862'"),
            ("$limit", "2"),
            ("$order", "issue_date DESC"),
        ],
    )
    .await;
    assert_eq!(answer.status(), 200);
    let header = |name: &str| {
        let value = answer.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or("")
            .to_owned()
    };
    assert_eq!(header("content-type"), "application/json;charset=utf-8");
    assert!(header("x-soda2-fields").starts_with("[\"isn_dob_bis_extract\""));
    assert!(header("x-soda2-types").contains("\"number\""));
    assert_eq!(header("x-soda2-data-out-of-date"), "false");
    assert_eq!(header("x-socrata-requestid").len(), 32);
    assert!(header("last-modified").ends_with(" GMT"));
    assert!(!header("etag").is_empty());
    let body = answer.text().await.expect("text");
    assert!(
        body.starts_with("[{") && body.ends_with("}]\n") && body.contains("\n,{"),
        "{body}"
    );
    let rows: Vec<Value> = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        rows[0]["issue_date"], "Y9990120",
        "rubbish comes first in text order"
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gzip_is_spoken_and_nothing_else() {
    let city = city().await;
    let url = format!("{}/resource/{ECB}.json", city.url());
    for (accepts, encoding) in [("br, zstd, gzip", Some("gzip")), ("br", None)] {
        let answer = Client::builder().no_gzip().build().expect("a client");
        let answer = answer
            .get(&url)
            .header("accept-encoding", accepts)
            .send()
            .await
            .expect("an answer");
        let found = answer
            .headers()
            .get("content-encoding")
            .and_then(|value| value.to_str().ok());
        assert_eq!(found, encoding, "{accepts}");
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_pages_and_wrong_keys() {
    let city = city().await;
    let count = rows(
        &city,
        ECB,
        &[
            ("$select", "count(*) as n, sum(balance_due) as owed"),
            ("$where", "bin='1015862'"),
        ],
    )
    .await;
    assert_eq!(count[0]["n"], "250");
    assert!(count[0]["owed"].is_string());
    assert_eq!(rows(&city, ECB, &[("bin", "1015862")]).await.len(), 250);
    assert_eq!(
        rows(
            &city,
            ECB,
            &[("$where", "bin='1015862'"), ("$limit", "101")]
        )
        .await
        .len(),
        101
    );
    assert_eq!(
        rows(&city, ECB, &[("$where", "bin='01015862'")])
            .await
            .len(),
        0
    );
    let mismatch = ask(&city, ECB, &[("$where", "bin=1015862")]).await;
    assert_eq!(mismatch.status(), 400);
    let body: Value = mismatch.json().await.expect("JSON");
    assert_eq!(body["errorCode"], "query.soql.type-mismatch");
    let missing = ask(&city, "aaaa-aaaa", &[]).await;
    assert_eq!(missing.status(), 404);
    let body: Value = missing.json().await.expect("JSON");
    assert_eq!(body["code"], "dataset.missing");
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_says_names_types_and_when() {
    let city = city().await;
    let view: Value = get(&city, "/api/views/64uk-42ks.json")
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(view["name"], "Primary Land Use Tax Lot Output (PLUTO)");
    assert!(
        view["rowsUpdatedAt"]
            .as_i64()
            .is_some_and(|at| at > 1_600_000_000)
    );
    let columns = view["columns"].as_array().expect("columns");
    assert_eq!(columns.len(), 108);
    let splitzone = columns
        .iter()
        .find(|column| column["fieldName"] == "splitzone")
        .expect("splitzone");
    assert_eq!(splitzone["dataTypeName"], "checkbox");
    assert_eq!(city.control().calls(VIEWS), 1);
    assert_eq!(get(&city, "/api/views/aaaa-aaaa.json").await.status(), 404);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_found_and_wrong_ones_are_answered_alike() {
    let city = city().await;
    let search = async |text: &str| -> Value {
        let url = format!("{}/v2/search", city.url());
        let request = Client::new()
            .get(url)
            .query(&[("text", text), ("size", "3")]);
        request
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .expect("JSON")
    };
    let right = search("1279 37 street brooklyn").await;
    let first = &right["features"][0]["properties"];
    assert_eq!(
        first["addendum"]["pad"],
        json!({"bbl": "3052960043", "bin": "3340270", "version": "26c"})
    );
    assert_eq!(right["features"].as_array().map(Vec::len), Some(3));
    let wrong = search("99999 37 street brooklyn").await;
    let other = &wrong["features"][0]["properties"];
    for properties in [first, other] {
        assert_eq!(properties["confidence"], 0.8);
        assert_eq!(properties["match_type"], "fallback");
        assert_eq!(properties["layer"], "venue");
    }
    assert_ne!(other["housenumber"], "99999");
    let empty = get(&city, "/v2/search?text=").await;
    assert_eq!(empty.status(), 400);
    let body: Value = empty.json().await.expect("JSON");
    assert_eq!(
        body["geocoding"]["errors"][0],
        "invalid param 'text': text length, must be >0"
    );
    let long = search(&"1279 37 street ".repeat(20)).await;
    assert!(long["geocoding"]["warnings"][0].is_string());
    assert_eq!(get(&city, "/v1/search?text=a").await.status(), 410);
    assert_eq!(city.control().calls(GEOSEARCH), 4);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flood_layer_answers_a_point() {
    let city = city().await;
    let zone = async || -> Response {
        let path = "/arcgis/rest/services/public/NFHL/MapServer/28/query";
        let url = format!("{}{path}", city.url());
        let request = Client::new()
            .get(url)
            .query(&[("geometry", "-73.98566,40.74844"), ("f", "json")]);
        request.send().await.expect("an answer")
    };
    let body: Value = zone().await.json().await.expect("JSON");
    assert_eq!(body["features"][0]["attributes"]["FLD_ZONE"], "X");
    city.control()
        .set_fault(FLOOD, Fault::new(FaultKind::Error));
    assert_eq!(zone().await.status(), 500);
    assert_eq!(city.control().calls(FLOOD), 2);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_worse_than_none() {
    let city = city().await;
    city.control().require_app_token(Some("right".to_owned()));
    let url = format!("{}/resource/{ECB}.json?$limit=1", city.url());
    for (token, status) in [(Some("right"), 200), (Some("wrong"), 403), (None, 200)] {
        let mut request = Client::new().get(&url);
        if let Some(token) = token {
            request = request.header("X-App-Token", token);
        }
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), status, "{token:?}");
        if status == 403 {
            let body: Value = answer.json().await.expect("JSON");
            assert_eq!(
                (&body["code"], &body["error"]),
                (&json!("permission_denied"), &json!(true))
            );
        }
    }
    assert_eq!(
        get(&city, &format!("/resource/{ECB}.json?$$app_token=wrong"))
            .await
            .status(),
        403
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_switches_work_over_http() {
    let city = city().await;
    let client = Client::new();
    let control = |path: &str| format!("{}/_control/{path}", city.url());
    let put = async |path: &str, body: Value| {
        let answer = client
            .put(control(path))
            .json(&body)
            .send()
            .await
            .expect("an answer");
        answer.status().as_u16()
    };
    assert_eq!(
        put("faults/6bgk-3dad", json!({"kind": "throttle", "count": 1})).await,
        204
    );
    assert_eq!(
        put("faults/6bgk-3dad", json!({"kind": "unheard of"})).await,
        400
    );
    assert_eq!(ask(&city, ECB, &[]).await.status(), 429);
    assert_eq!(ask(&city, ECB, &[]).await.status(), 200);
    assert_eq!(
        put("faults/geosearch", json!({"kind": "error", "status": 502})).await,
        204
    );
    assert_eq!(get(&city, "/v2/search?text=a").await.status(), 502);
    assert_eq!(put("faults/views", json!({"kind": "html"})).await, 204);
    assert!(
        get(&city, "/api/views/64uk-42ks.json")
            .await
            .json::<Value>()
            .await
            .is_err()
    );
    client
        .delete(control("faults"))
        .send()
        .await
        .expect("an answer");
    assert!(
        get(&city, "/api/views/64uk-42ks.json")
            .await
            .json::<Value>()
            .await
            .is_ok()
    );
    let calls: Value = get(&city, "/_control/calls")
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(calls, json!({"6bgk-3dad": 2, "geosearch": 1, "views": 2}));
    client
        .delete(control("calls"))
        .send()
        .await
        .expect("an answer");
    let calls: Value = get(&city, "/_control/calls")
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(calls, json!({}));
    assert_eq!(put("latency/6bgk-3dad", json!({"millis": 1})).await, 204);
    assert_eq!(put("app_token", json!({"token": "right"})).await, 204);
    assert_eq!(
        get(&city, "/resource/6bgk-3dad.json?$$app_token=wrong")
            .await
            .status(),
        403
    );
    let load = json!({"columns": [["bin", "text"], ["n", "number"]], "rows": [{"bin": "1015862", "n": "1.50"}]});
    assert_eq!(put("datasets/6bgk-3dad", load).await, 204);
    assert_eq!(
        rows(&city, ECB, &[("$where", "n = 1.5")]).await,
        [json!({"bin": "1015862", "n": "1.50"})]
    );
    client
        .delete(control("datasets/6bgk-3dad"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(rows(&city, ECB, &[("bin", "1015862")]).await.len(), 250);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_city_has_every_dataset_and_takes_rows() {
    let bind = ([127, 0, 0, 1], 0).into();
    let city = SampleCity::start_empty(bind).await.expect("starts");
    assert_eq!(
        rows(&city, ECB, &[("$where", "bin='1015862'")]).await.len(),
        0
    );
    let row = json!({"bin": "1015862", "balance_due": "-1.50", "new_column": "seen"});
    city.control().load(
        ECB,
        Vec::new(),
        row.as_object().cloned().into_iter().collect(),
    );
    assert_eq!(
        rows(&city, ECB, &[("$where", "balance_due < 0")]).await,
        [row]
    );
    let found: Value = get(&city, "/v2/search?text=350+5+avenue")
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(found["features"], json!([]));
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_address_is_refused() {
    let city = city().await;
    let ids: Vec<String> = (0..1_100).map(|n| format!("'20200504005{n:05}'")).collect();
    let condition = format!("document_id in ({})", ids.join(","));
    assert_eq!(
        ask(&city, "bnx9-e6tj", &[("$where", &condition)])
            .await
            .status(),
        414
    );
    let condition = format!(
        "document_id in ({})",
        ids.get(..200).expect("ids").join(",")
    );
    assert_eq!(
        ask(&city, "bnx9-e6tj", &[("$where", &condition)])
            .await
            .status(),
        200
    );
    city.stop().await;
}
