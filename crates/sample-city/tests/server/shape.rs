//! The recorded answers of the originals, where they are at hand.

use reqwest::Client;
use serde_json::Value;

use super::{ask, city, rows};

/// The keys of an object, in order.
fn keys(value: &Value) -> Vec<&str> {
    (value.as_object().into_iter().flatten())
        .map(|(key, _)| key.as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_have_the_recorded_shape() {
    let Some(folder) = crate::at_hand::real_data("") else {
        return;
    };
    let read = |file: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(file)).expect("the file");
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
