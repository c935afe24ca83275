//! Comparable sales and values over HTTP, on the sample city's market.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

/// Buildings of the sample city: a condominium in each of two boroughs, a co-operative, houses, a rental building.
const CONDO: &str = "1000477501";
const COOP: &str = "1018890001";
const HOUSE: &str = "4091190011";
const VALUED: [(&str, &str); 6] = [
    (CONDO, "unit"),
    ("2023597501", "unit"),
    (COOP, "unit"),
    (HOUSE, "building"),
    ("5033780070", "building"),
    ("4001600029", "building"),
];

async fn comps(server: &Server, body: Value) -> Answer {
    let answer = server.post("/v1/comps", &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("a number, not {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn named_buildings_get_a_value_within_its_interval() {
    let server = Server::sample().await;
    for (bbl, basis) in VALUED {
        let answer = comps(&server, json!({"address": bbl, "mode": "valuation"})).await;
        let data = answer.data();
        let valuation = &data["valuation"];
        assert!(valuation["value"].is_u64(), "{bbl}: {valuation}");
        assert_eq!(valuation["basis"], basis, "{bbl}");
        let value = number(&valuation["value"]);
        assert!(number(&valuation["low"]) <= value && value <= number(&valuation["high"]));
        assert_eq!(valuation["interval_probability"], json!(0.8));
        assert_eq!(valuation["no_value_reason"], Value::Null);
        assert_eq!(valuation["valuation_date"], "2026-11-27");
        assert!(number(&valuation["comp_count"]) >= 3.0);
        let accuracy = valuation.as_object().expect("an object").get("accuracy");
        assert!(accuracy.is_some(), "{bbl}");
        for comp in data["comps"].as_array().expect("sales") {
            assert!(comp["time_adjusted_price"].is_u64(), "{comp}");
            assert!((0.0..=1.0).contains(&number(&comp["weight"])), "{comp}");
        }
    }
    let charged = 5 * VALUED.len();
    assert_eq!(server.usage().await["day"]["used"], json!(charged));
}

#[tokio::test(flavor = "multi_thread")]
async fn sales_are_like_for_like_the_most_alike_first_and_counted() {
    let server = Server::sample().await;
    let answer = comps(&server, json!({"address": COOP, "limit": 50})).await;
    assert_eq!(answer.body["meta"]["operation"], "getComps");
    assert_eq!(answer.body["meta"]["units_charged"], 5);
    let data = answer.data();
    let keys: Vec<&String> = data.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        [
            "subject",
            "query",
            "search_used",
            "comps",
            "comp_count",
            "excluded_counts",
            "summary",
            "valuation",
            "as_of_at"
        ]
    );
    assert_eq!(data["valuation"], Value::Null);
    assert_eq!(data["subject"]["property_type"], "coop");
    assert_eq!(data["subject"]["living_area_sqft"], Value::Null);
    assert_eq!(data["search_used"]["step"], "same_building");
    let listed = data["comps"].as_array().expect("sales");
    assert!(listed.len() >= 3, "{data}");
    assert_eq!(data["comp_count"], json!(listed.len()));
    let mut last = 1.0;
    for comp in listed {
        assert_eq!(
            comp["bbl"], COOP,
            "a co-operative's sale carries the building's lot"
        );
        assert_eq!(comp["property_type"], "coop");
        assert_eq!(
            comp["living_area_sqft"],
            Value::Null,
            "never the building's"
        );
        assert_eq!(comp["arms_length"], true);
        assert!(number(&comp["sale_price"]) >= 10_000.0);
        let similarity = number(&comp["similarity"]);
        assert!(similarity > 0.0 && similarity <= last, "{comp}");
        last = similarity;
    }
    let house = comps(&server, json!({"address": HOUSE})).await;
    let house = house.data();
    assert_eq!(house["subject"]["property_type"], "single_family");
    assert!(house["search_used"]["radius_miles"].is_number(), "{house}");
    for comp in house["comps"].as_array().expect("sales") {
        assert!(number(&comp["price_per_sqft"]) > 0.0, "{comp}");
        assert!(number(&comp["distance_miles"]) <= number(&house["search_used"]["radius_miles"]));
    }
    assert!(house["excluded_counts"]["different_type"].is_u64());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_date_of_its_own_sees_nothing_later() {
    let server = Server::sample().await;
    let body =
        json!({"address": CONDO, "mode": "valuation", "as_of_date": "2024-03-01", "limit": 50});
    let answer = comps(&server, body).await;
    let data = answer.data();
    assert!(data["valuation"]["value"].is_u64(), "{data}");
    assert_eq!(data["valuation"]["valuation_date"], "2024-03-01");
    for comp in data["comps"].as_array().expect("sales") {
        assert!(
            comp["sale_date"].as_str().expect("a date") < "2024-03-01",
            "{comp}"
        );
    }
    let later = json!({"address": CONDO, "as_of_date": "2030-01-01"});
    let refused = server.post("/v1/comps", &later).await;
    refused.assert_failure(400, "invalid_request");
    assert_eq!(
        refused.message(),
        "as_of_date must not be after today, 2026-11-27; got 2030-01-01."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_body_cost_nothing() {
    let server = Server::sample().await;
    for (body, message) in [
        (
            json!({"address": CONDO, "radius": 1}),
            "Unknown field(s): radius. POST /v1/comps accepts: address, mode, property_type, bedrooms, bathrooms, \
             living_area_sqft, year_built, units, radius_miles, lookback_months, limit, same_building, min_sale_price, \
             max_sale_price, include_non_arms_length, as_of_date.",
        ),
        (
            json!({"address": CONDO, "limit": 51}),
            "limit must be a whole number from 1 to 50; got the number 51.",
        ),
        (
            json!({"address": CONDO, "max_sale_price": 1}),
            "min_sale_price must not be above max_sale_price; got 10000 and 1.",
        ),
    ] {
        let answer = server.post("/v1/comps", &body).await;
        answer.assert_failure(400, "invalid_request");
        assert_eq!(answer.message(), message);
    }
    let outside = server
        .post(
            "/v1/comps",
            &json!({"address": "1 Main Street, Hoboken, NJ"}),
        )
        .await;
    outside.assert_failure(400, "outside_coverage");
    assert_eq!(server.usage().await["day"]["used"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_carries_the_sales_it_asks_for() {
    let server = Server::sample().await;
    let body = json!({"address": COOP, "include_comps": true});
    let answer = server.post("/v1/lookup", &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.body["meta"]["units_charged"], 10);
    let inside = &answer.data()["comps"];
    let own = comps(&server, json!({"address": COOP})).await;
    assert_eq!(inside["comps"], own.data()["comps"]);
    assert_eq!(inside["query"], own.data()["query"]);
    let without = server.lookup(COOP).await;
    assert_eq!(without.data().get("comps"), None);
}
