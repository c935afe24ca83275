//! Homes for sale and for rent: the RESO Web API, RentCast, and the switches over both.

use std::collections::HashSet;

use brownstone_sample_city::{
    Fault, FaultKind, RENTCAST, RENTCAST_KEY, RESO, RESO_CLIENT_ID, RESO_CLIENT_SECRET, RESO_TOKEN,
    RESO_TOKENS, SampleCity,
};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::city;

async fn reso(city: &SampleCity, path: &str, params: &[(&str, &str)]) -> Response {
    let url = format!("{}/reso/odata/{path}", city.url());
    let request = Client::new().get(url).query(params).bearer_auth(RESO_TOKEN);
    request.send().await.expect("an answer")
}

async fn rentcast(city: &SampleCity, path: &str, params: &[(&str, &str)]) -> Response {
    let url = format!("{}/rentcast/v1/listings/{path}", city.url());
    let request = Client::new()
        .get(url)
        .query(params)
        .header("X-Api-Key", RENTCAST_KEY);
    request.send().await.expect("an answer")
}

async fn json(answer: Response) -> Value {
    assert_eq!(answer.status(), 200);
    answer.json().await.expect("JSON")
}

fn rows(body: &Value) -> &[Value] {
    let rows = if body.is_array() {
        body
    } else {
        &body["value"]
    };
    rows.as_array().map_or(&[], Vec::as_slice)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_links_of_reso_lead_over_every_listing_once() {
    let city = city().await;
    let first = reso(
        &city,
        "Property",
        &[("$count", "true"), ("$select", "ListingKey")],
    )
    .await;
    assert_eq!(first.headers()["odata-version"], "4.0");
    let mut page = json(first).await;
    let count = page["@odata.count"].as_u64().expect("a count");
    let mut keys = HashSet::new();
    let mut pages = 1;
    loop {
        assert!(rows(&page).len() <= 100);
        for row in rows(&page) {
            let key = row["ListingKey"].as_str().expect("a key").to_owned();
            assert!(keys.insert(key), "{row} came twice");
        }
        let Some(link) = page["@odata.nextLink"].as_str() else {
            break;
        };
        let next = Client::new().get(link).bearer_auth(RESO_TOKEN).send().await;
        page = json(next.expect("an answer")).await;
        pages += 1;
    }
    assert_eq!(keys.len() as u64, count);
    assert!(pages > 2, "{pages}");
    assert_eq!(city.control().calls(RESO), pages);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reso_speaks_odata() {
    let city = city().await;
    let filter = "StandardStatus eq 'Active' and CountyOrParish eq 'New York'";
    let params = [
        ("$filter", filter),
        ("$expand", "Media,OpenHouse"),
        ("$top", "200"),
    ];
    let body = json(reso(&city, "Property", &params).await).await;
    assert!(rows(&body).len() > 40);
    assert!(
        rows(&body)
            .iter()
            .any(|row| !row["Media"].as_array().expect("media").is_empty())
    );
    let key = rows(&body)[0]["ListingKey"].as_str().expect("a key");
    let one = json(reso(&city, &format!("Property('{key}')"), &[]).await).await;
    assert_eq!(one["ListingKey"], key);
    let photos = format!("ResourceRecordKey eq '{key}'");
    let media = json(reso(&city, "Media", &[("$filter", &photos)]).await).await;
    assert_eq!(Some(rows(&media).len() as u64), one["PhotosCount"].as_u64());
    let houses = json(reso(&city, "OpenHouse", &[("$top", "1")]).await).await;
    assert_eq!(rows(&houses).len(), 1);
    let sets = json(reso(&city, "", &[]).await).await;
    assert_eq!(sets["value"].as_array().map(Vec::len), Some(3));
    let metadata = reso(&city, "$metadata", &[])
        .await
        .text()
        .await
        .expect("text");
    assert!(metadata.contains(r#"<Property Name="ListPrice" Type="Edm.Decimal"/>"#));
    for (path, option, status) in [
        ("Property", ("$filter", "PostalCode eq 10001"), 400),
        ("Property", ("$top", "x"), 400),
        ("Prop", ("$top", "1"), 404),
        ("Property('SMP0')", ("$select", "ListPrice"), 404),
        ("Property('SMP0", ("$select", "ListPrice"), 404),
    ] {
        let answer = reso(&city, path, &[option]).await;
        assert_eq!(answer.status(), status, "{path}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["error"]["code"], status.to_string());
        assert!(body["error"]["message"].is_string());
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reso_wants_a_token_and_gives_them_to_its_client() {
    let city = city().await;
    let url = format!("{}/reso/odata/Property?$top=1", city.url());
    let status = async |token: &str| {
        let answer = Client::new().get(&url).bearer_auth(token).send().await;
        answer.expect("an answer").status().as_u16()
    };
    let none = Client::new().get(&url).send().await.expect("an answer");
    assert_eq!(none.status(), 401);
    assert!(none.headers().contains_key("www-authenticate"));
    assert_eq!(status("wrong").await, 401);
    let ask = async |grant: &str, id: &str, secret: &str| {
        let form = format!("grant_type={grant}&client_id={id}&client_secret={secret}");
        let request = Client::new()
            .post(format!("{}/reso/oauth2/token", city.url()))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        request.send().await.expect("an answer")
    };
    let body = json(ask("client_credentials", RESO_CLIENT_ID, RESO_CLIENT_SECRET).await).await;
    assert_eq!(
        (&body["token_type"], &body["expires_in"]),
        (&json!("Bearer"), &json!(3_600))
    );
    let token = body["access_token"].as_str().expect("a token");
    assert_eq!(status(token).await, 200);
    city.control().expire_reso_tokens();
    assert_eq!(status(token).await, 401);
    assert_eq!(
        ask("client_credentials", RESO_CLIENT_ID, "wrong")
            .await
            .status(),
        401
    );
    assert_eq!(
        ask("password", RESO_CLIENT_ID, RESO_CLIENT_SECRET)
            .await
            .status(),
        400
    );
    let basic = Client::new()
        .post(format!("{}/reso/oauth2/token", city.url()))
        .basic_auth(RESO_CLIENT_ID, Some(RESO_CLIENT_SECRET))
        .header("content-type", "application/x-www-form-urlencoded")
        .body("grant_type=client_credentials");
    assert_eq!(basic.send().await.expect("an answer").status(), 200);
    assert_eq!(city.control().calls(RESO_TOKENS), 4);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rentcast_gives_pages_and_single_listings() {
    let city = city().await;
    let params = [
        ("status", "Active"),
        ("limit", "500"),
        ("includeTotalCount", "true"),
    ];
    let answer = rentcast(&city, "sale", &params).await;
    let total: usize = (answer.headers()["x-total-count"].to_str().ok())
        .and_then(|total| total.parse().ok())
        .expect("a total");
    let all = json(answer).await;
    assert_eq!(rows(&all).len(), total);
    let mut ids = HashSet::new();
    for offset in (0..total).step_by(20) {
        let offset = offset.to_string();
        let params = [("status", "Active"), ("limit", "20"), ("offset", &offset)];
        let page = json(rentcast(&city, "sale", &params).await).await;
        ids.extend(rows(&page).iter().map(|row| row["id"].to_string()));
    }
    assert_eq!(ids.len(), total);
    let past = [("offset", "100000")];
    assert_eq!(json(rentcast(&city, "sale", &past).await).await, json!([]));
    let first = &rows(&all)[0];
    let id = first["id"].as_str().expect("an id");
    assert_eq!(
        json(rentcast(&city, &format!("sale/{id}"), &[]).await).await["id"],
        id
    );
    let zip = first["zipCode"].as_str().expect("a ZIP");
    let here = json(rentcast(&city, "sale", &[("zipCode", zip)]).await).await;
    assert!(rows(&here).iter().all(|row| row["zipCode"] == zip));
    let near = [
        ("latitude", "40.75"),
        ("longitude", "-73.98"),
        ("radius", "3"),
        ("bedrooms", "1:2"),
    ];
    let near = json(rentcast(&city, "rental/long-term", &near).await).await;
    assert!(!rows(&near).is_empty());
    assert!(rows(&near).iter().all(|row| row["state"] == "NY"));
    for (path, params, status, error) in [
        ("sale", ("zipCode", "10701"), 404, "resource/not-found"),
        ("sale/nowhere", ("", ""), 404, "resource/not-found"),
        ("sale", ("limit", "501"), 400, "request/invalid-parameters"),
        (
            "sale",
            ("status", "active"),
            400,
            "request/invalid-parameters",
        ),
        ("sale", ("radius", "2"), 400, "request/invalid-parameters"),
        ("sale", ("zip", "10001"), 400, "request/invalid-parameters"),
        ("lease", ("limit", "1"), 404, "resource/not-found"),
    ] {
        let answer = rentcast(&city, path, &[params]).await;
        assert_eq!(answer.status(), status, "{path} {params:?}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(
            (&body["status"], &body["error"]),
            (&json!(status), &json!(error))
        );
        assert!(body["message"].is_string());
    }
    let url = format!("{}/rentcast/v1/listings/sale", city.url());
    for request in [
        Client::new().get(&url),
        Client::new().get(&url).header("X-Api-Key", "wrong"),
    ] {
        assert_eq!(request.send().await.expect("an answer").status(), 401);
    }
    let post = Client::new().post(&url).header("X-Api-Key", RENTCAST_KEY);
    assert_eq!(post.send().await.expect("an answer").status(), 405);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_feeds_fail_in_their_own_way() {
    let city = city().await;
    let control = city.control();
    let throttle = Fault::new(FaultKind::Throttle).retry_after(3).times(1);
    control.set_fault(RESO, throttle);
    let answer = reso(&city, "Property", &[]).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (429, &"3".parse().expect("a header"))
    );
    assert_eq!(
        answer.json::<Value>().await.expect("JSON")["error"]["code"],
        "429"
    );
    control.set_fault(RENTCAST, throttle);
    let answer = rentcast(&city, "sale", &[]).await;
    assert_eq!(answer.json::<Value>().await.expect("JSON")["status"], 429);
    // The third page fails.
    control.set_fault(RESO, Fault::new(FaultKind::Error).status(503).after(2));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(reso(&city, "Property", &[]).await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 503, 503]);
    // Half a page that looks like the last one: only the count tells.
    control.set_fault(RESO, Fault::new(FaultKind::ShortPage));
    let body = json(reso(&city, "Property", &[("$count", "true")]).await).await;
    assert_eq!((rows(&body).len(), body.get("@odata.nextLink")), (50, None));
    assert!(
        body["@odata.count"]
            .as_u64()
            .is_some_and(|count| count > 200)
    );
    control.set_fault(RENTCAST, Fault::new(FaultKind::ShortPage));
    let params = [("limit", "20"), ("includeTotalCount", "true")];
    let answer = rentcast(&city, "sale", &params).await;
    assert!(answer.headers().contains_key("x-total-count"));
    assert_eq!(rows(&json(answer).await).len(), 10);
    control.set_fault(RENTCAST, Fault::new(FaultKind::CutBody));
    assert!(rentcast(&city, "sale", &[]).await.text().await.is_err());
    control.set_fault(RESO, Fault::new(FaultKind::Html));
    assert!(
        reso(&city, "Property", &[])
            .await
            .json::<Value>()
            .await
            .is_err()
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn homes_come_go_and_change_over_http() {
    let city = city().await;
    let client = Client::new();
    let control = |path: &str| format!("{}/_control/listings{path}", city.url());
    let clock = json!({"now": "2026-12-01T06:00:00Z"});
    let put = async |path: &str, body: &Value| {
        let request = client.put(control(path)).json(body);
        request.send().await.expect("an answer").status().as_u16()
    };
    assert_eq!(put("/clock", &clock).await, 204);
    json(reso(&city, "Property", &[("$top", "1")]).await).await;
    assert_eq!(put("/clock", &json!({"advance_seconds": 3_600})).await, 204);
    assert_eq!(put("/clock", &json!({"later": 1})).await, 400);
    let now = json(
        client
            .get(control("/clock"))
            .send()
            .await
            .expect("an answer"),
    )
    .await;
    assert_eq!(now["now"], "2026-12-01T07:00:00Z");
    let changed = async || -> Vec<String> {
        let filter = [("$filter", "ModificationTimestamp ge 2026-12-01T07:00:00Z")];
        let body = json(reso(&city, "Property", &filter).await).await;
        (rows(&body).iter())
            .filter_map(|row| row["ListingKey"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(changed().await, Vec::<String>::new());
    let cut = client
        .patch(control("/SMP100003"))
        .json(&json!({"ListPrice": 1_000}));
    assert_eq!(cut.send().await.expect("an answer").status(), 204);
    assert_eq!(changed().await, ["SMP100003"], "replicated by its stamp");
    assert_eq!(
        put("/NEW1?like=SMP100003", &json!({"UnitNumber": "99Z"})).await,
        204
    );
    assert_eq!(put("/NEW2?like=SMP0", &json!({})).await, 404);
    assert_eq!(changed().await, ["NEW1", "SMP100003"]);
    let remove = async |path: &str| {
        let answer = client.delete(control(path)).send().await;
        answer.expect("an answer").status().as_u16()
    };
    assert_eq!(remove("/NEW1").await, 204);
    assert_eq!(remove("/NEW1").await, 404);
    assert_eq!(changed().await, ["SMP100003"]);
    assert_eq!(
        put("", &json!([{"ListingKey": "ONE", "PostalCode": "10001"}])).await,
        204
    );
    let all = json(client.get(control("")).send().await.expect("an answer")).await;
    assert_eq!(all.as_array().map(Vec::len), Some(1));
    assert_eq!(remove("").await, 204);
    let all = json(client.get(control("")).send().await.expect("an answer")).await;
    assert!(all.as_array().is_some_and(|all| all.len() > 200));
    assert_eq!(remove("/tokens").await, 204);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_city_has_no_listings() {
    let bind = ([127, 0, 0, 1], 0).into();
    let city = SampleCity::start_empty(bind).await.expect("starts");
    let body = json(reso(&city, "Property", &[("$count", "true")]).await).await;
    assert_eq!(body["@odata.count"], 0);
    assert_eq!(rentcast(&city, "sale", &[]).await.status(), 404);
    city.stop().await;
}
