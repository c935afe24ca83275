//! The city over HTTP, as an upstream's client meets it.

use std::time::{Duration, Instant};

use brownstone_sample_city::{Control, FLOOD, Fault, FaultKind, GEOSEARCH, SampleCity, VIEWS};
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

async fn broken(control: &Control, city: &SampleCity, fault: Fault) -> Response {
    control.set_fault(ECB, fault);
    let answer = ask(city, ECB, &[("$limit", "50")]).await;
    control.clear_faults();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_that_end() {
    let city = city().await;
    let control = city.control().clone();
    let fault = |kind| Fault::new(kind);
    let status = async |fault| broken(&control, &city, fault).await.status().as_u16();
    assert_eq!(status(fault(FaultKind::Error)).await, 500);
    assert_eq!(status(fault(FaultKind::Error).status(503)).await, 503);
    assert_eq!(status(fault(FaultKind::Gone)).await, 404);
    assert_eq!(status(fault(FaultKind::Preparing)).await, 202);
    let throttled = broken(&control, &city, fault(FaultKind::Throttle).retry_after(7)).await;
    assert_eq!(throttled.status(), 429);
    assert_eq!(
        throttled
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()),
        Some("7")
    );
    let wrong = broken(&control, &city, fault(FaultKind::WrongJson)).await;
    assert!(wrong.json::<Value>().await.expect("JSON").is_object());
    let page = broken(&control, &city, fault(FaultKind::Html)).await;
    assert_eq!(page.status(), 200);
    assert!(page.text().await.expect("text").starts_with("<html>"));
    let cut = broken(&control, &city, fault(FaultKind::CutBody)).await;
    assert_eq!(cut.status(), 200);
    assert!(cut.text().await.is_err(), "the body ends in the middle");
    control.set_fault(ECB, Fault::new(FaultKind::Disconnect));
    let url = format!("{}/resource/{ECB}.json", city.url());
    let dropped = Client::new().get(url).send().await.expect_err("no answer");
    assert!(!dropped.is_timeout() && !dropped.is_connect());
    control.clear_fault(ECB);
    assert_eq!(
        rows(&city, ECB, &[("$limit", "50")]).await.len(),
        50,
        "and then it is well"
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_that_do_not_end() {
    let city = city().await;
    let control = city.control();
    control.set_fault(ECB, Fault::new(FaultKind::Timeout));
    let url = format!("{}/resource/{ECB}.json", city.url());
    let impatient = Client::builder()
        .timeout(Duration::from_millis(300))
        .build()
        .expect("a client");
    let silent = impatient.get(&url).send().await.expect_err("no answer");
    assert!(silent.is_timeout());
    // A drip sends its head and some bytes, and never the end.
    control.set_fault(ECB, Fault::new(FaultKind::SlowDrip));
    let mut dripping = Client::new().get(&url).send().await.expect("a head");
    for _ in 0..2 {
        assert!(dripping.chunk().await.expect("a byte").is_some());
    }
    drop(dripping);
    // A huge body and a bomb are more than anyone should read.
    for kind in [FaultKind::HugeBody, FaultKind::GzipBomb] {
        control.set_fault(ECB, Fault::new(kind));
        let mut huge = Client::new().get(&url).send().await.expect("a head");
        let mut read = 0;
        while read < (8 << 20) {
            read += huge.chunk().await.expect("more").expect("more").len();
        }
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_for_one_call_and_a_latency() {
    let city = city().await;
    let control = city.control();
    control.set_fault("*", Fault::new(FaultKind::Error).times(1));
    assert_eq!(ask(&city, ECB, &[]).await.status(), 500);
    assert_eq!(ask(&city, ECB, &[]).await.status(), 200);
    assert_eq!(control.calls(ECB), 2);
    control.reset_calls();
    control.set_latency(ECB, Duration::from_millis(150));
    let start = Instant::now();
    ask(&city, ECB, &[("$limit", "1")]).await;
    assert!(start.elapsed() >= Duration::from_millis(150));
    assert_eq!(control.calls(ECB), 1);
    assert_eq!(control.queries(ECB), ["$limit=1"]);
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

/// The keys of an object, in order.
fn keys(value: &Value) -> Vec<&str> {
    (value.as_object().into_iter().flatten())
        .map(|(key, _)| key.as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::print_stderr)]
async fn bodies_have_the_recorded_shape() {
    let Ok(folder) = std::env::var("NYC_REAL_DATA") else {
        eprintln!("skipped: NYC_REAL_DATA is not set, there are no recorded bodies to compare");
        return;
    };
    let read = |file: &str| -> Value {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).expect("the file");
        serde_json::from_str(&text).expect("JSON")
    };
    let raw = |file: &str| -> Value {
        let body = read(file)["response_body_raw"]
            .as_str()
            .expect("a body")
            .to_owned();
        serde_json::from_str(&body).expect("JSON")
    };
    let city = city().await;
    for (recorded, params) in [
        (
            raw("soda/pluto_64uk-42ks/F13_schema_drift_no_such_column_400.json"),
            ("$select", "nonexistent_col"),
        ),
        (
            raw("soda/pluto_64uk-42ks/F13b_non_drift_400_type_mismatch.json"),
            ("$where", "splitzone='Y'"),
        ),
    ] {
        let ours: Value = ask(&city, "64uk-42ks", &[params])
            .await
            .json()
            .await
            .expect("JSON");
        assert_eq!(keys(&ours), keys(&recorded));
        assert_eq!(keys(&ours["data"]), keys(&recorded["data"]));
        assert_eq!(
            keys(&ours["data"]["position"]),
            keys(&recorded["data"]["position"])
        );
        assert_eq!(ours["errorCode"], recorded["errorCode"]);
        let begin = |body: &Value| -> String {
            let message = body["message"].as_str().expect("a message");
            message
                .split("; position")
                .next()
                .expect("a beginning")
                .to_owned()
        };
        assert_eq!(begin(&ours), begin(&recorded));
    }
    // A row of PLUTO has no key that the publisher's have not, and its numbers as many decimals.
    let recorded = raw("soda/pluto_64uk-42ks/F02a_condo_billing_lot.json");
    let ours = rows(&city, "64uk-42ks", &[("$where", "bbl = 1000477501")]).await;
    for (key, value) in ours[0].as_object().expect("a row") {
        let Some(theirs) = recorded[0].get(key).and_then(Value::as_str) else {
            continue;
        };
        let decimals = |text: &str| {
            text.split_once('.')
                .map_or(0, |(_, decimals)| decimals.len())
        };
        if theirs.parse::<f64>().is_ok() && !matches!(key.as_str(), "latitude" | "longitude") {
            assert_eq!(
                decimals(value.as_str().expect("text")),
                decimals(theirs),
                "{key}"
            );
        }
    }
    let recorded = read("geosearch/v2_search_1279_37_street_size3.json");
    let url = format!("{}/v2/search", city.url());
    let request = Client::new()
        .get(url)
        .query(&[("text", "1279 37 street brooklyn"), ("size", "3")]);
    let ours: Value = request
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    assert_eq!(keys(&ours), keys(&recorded));
    let names = |feature: &Value| {
        let mut names: Vec<String> = keys(&feature["properties"])
            .into_iter()
            .map(str::to_owned)
            .collect();
        names.retain(|name| name != "neighbourhood_gid");
        names
    };
    for at in 0..3 {
        let (ours, theirs) = (&ours["features"][at], &recorded["features"][at]);
        assert_eq!(names(ours), names(theirs));
        assert_eq!(ours["properties"]["label"], theirs["properties"]["label"]);
        assert_eq!(
            ours["properties"]["addendum"],
            theirs["properties"]["addendum"]
        );
    }
    city.stop().await;
}
