//! Sales are synced while a server runs: from the city's open data, from files, and not at all.

use std::time::{Duration, Instant};

use brownstone_sample_city::SampleCity;
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::json;

use crate::{
    harness::{Options, Server, asked_again},
    shared_database::database,
};

/// A server looks each second and makes a model of the sales; it is generous, since it only bounds a failure.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(60);

const COOP: &str = "1018890001";

const FILE: &str = "\
Sales of a borough,,,,,,,,
BOROUGH,NEIGHBORHOOD,BLOCK,LOT,BUILDING CLASS AT TIME OF SALE,ADDRESS,ZIP CODE, SALE PRICE ,SALE DATE
1,MORNINGSIDE HEIGHTS,1889,1,D4,\"1 RIVERSIDE DRIVE, 1A\",10025,\" 500,000 \",06/20/26
1,MORNINGSIDE HEIGHTS,1889,1,D4,\"1 RIVERSIDE DRIVE, 1A\",10025,\" 500,000 \",06/20/26
1,MORNINGSIDE HEIGHTS,1889,1,D4,\"1 RIVERSIDE DRIVE, 2A\",10025,\" 510,000 \",05/20/26
1,MORNINGSIDE HEIGHTS,1889,1,D4,\"1 RIVERSIDE DRIVE, 3A\",10025,\" 520,000 \",04/20/26
1,MORNINGSIDE HEIGHTS,1889,1,D4,\"1 RIVERSIDE DRIVE, 4A\",10025, - ,04/21/26
";

fn upstreams(city: &SampleCity) -> Vec<(String, String)> {
    [
        "BROWNSTONE_SODA_URL",
        "BROWNSTONE_NYS_SODA_URL",
        "BROWNSTONE_FEMA_URL",
        "BROWNSTONE_GEOSEARCH_URL",
    ]
    .map(|name| (name.to_owned(), city.url()))
    .to_vec()
}

/// The version of the sales that a server says it answers from.
async fn version(server: &Server) -> serde_json::Value {
    let ready = server
        .send(Method::GET, "/readyz", HeaderMap::new(), "")
        .await;
    ready.body["indexes"]["sales"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_takes_up_files_and_open_data() {
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let variables = upstreams(&city);
    let server = Server::start(Options {
        live_sources: true,
        variables: variables.clone(),
        ..Options::default()
    })
    .await;
    // It is asked again and again.
    let key = server.unlimited("comps@example.com").await;
    let request = json!({"address": COOP, "limit": 50});
    server
        .post("/v1/comps", &request)
        .await
        .assert_failure(502, "upstream_error");
    let lookup = json!({"address": COOP, "include_comps": true});
    let lookup = server.post("/v1/lookup", &lookup).await;
    assert_eq!(lookup.status, StatusCode::OK, "{}", lookup.text);
    assert_eq!(lookup.data()["comps"], serde_json::Value::Null);
    let warnings = lookup.data()["property"]["warnings"].to_string();
    assert!(
        warnings.contains("Comparable sales could not be had"),
        "{warnings}"
    );

    assert_eq!(version(&server).await, json!(null));
    let file = server.folder().join("sales.csv");
    std::fs::write(&file, FILE).unwrap();
    let said = server
        .operator(&["sync", "sales", "--from", file.to_str().unwrap()])
        .await;
    assert!(said.contains("1 left out: exact_duplicate"), "{said}");
    assert!(
        said.contains("5 rows read; the index has 4 sales"),
        "{said}"
    );
    taken_up(&server, &key, &request, |prices| {
        prices == [500_000, 510_000, 520_000]
    })
    .await;

    let of_the_file = version(&server).await;
    assert_eq!(of_the_file.as_str().map(str::len), Some(8), "{of_the_file}");

    // The same from the open data, and the lots beside them.
    let mut sync = server.operator_command(&["sync", "sales"]);
    let done = sync.envs(variables.clone()).output().await.unwrap();
    assert!(done.status.success(), "{done:?}");
    taken_up(&server, &key, &request, |prices| {
        prices.len() >= 3 && prices != [500_000, 510_000, 520_000]
    })
    .await;
    assert_ne!(version(&server).await, of_the_file);
    let mut sync = server.operator_command(&["sync", "pluto"]);
    let done = sync.envs(variables).output().await.unwrap();
    assert!(done.status.success(), "{done:?}");
    let asked = Instant::now();
    loop {
        let answer = server.post_as(&key, "/v1/comps", &request).await;
        if answer.data()["subject"]["latitude"].is_number()
            && answer.data()["comps"][0]["latitude"].is_number()
        {
            break;
        }
        assert!(asked.elapsed() < TAKEN_UP_WITHIN, "{}", answer.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    // Garbage for a file: refused, and the sales stay.
    std::fs::write(&file, "no sales").unwrap();
    let refused = server
        .operator_output(&["sync", "sales", "--from", file.to_str().unwrap()])
        .await;
    assert!(!refused.status.success());
    let answer = server.post("/v1/comps", &request).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    city.stop().await;
}

/// Waits until the server lists prices like these.
async fn taken_up(
    server: &Server,
    key: &str,
    request: &serde_json::Value,
    like: impl Fn(&[u64]) -> bool,
) {
    let asked = Instant::now();
    loop {
        let answer = server.post_as(key, "/v1/comps", request).await;
        let prices: Vec<u64> = answer.body["data"]["comps"]
            .as_array()
            .map(|comps| {
                comps
                    .iter()
                    .filter_map(|comp| comp["sale_price"].as_u64())
                    .collect()
            })
            .unwrap_or_default();
        if like(&prices) {
            return;
        }
        assert!(asked.elapsed() < TAKEN_UP_WITHIN, "{}", answer.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_on_one_instance_reaches_the_others_through_their_database() {
    let Some(url) = database("brownstone_it_sales").await else {
        return;
    };
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let start = || {
        Server::start(Options {
            live_sources: true,
            variables: upstreams(&city),
            database_url: Some(url.clone()),
            ..Options::default()
        })
    };
    let (one, two) = (start().await, start().await);
    assert_eq!(version(&two).await, json!(null));
    let mut sync = one.operator_command(&["sync", "sales"]);
    let done = sync.envs(upstreams(&city)).output().await.unwrap();
    assert!(done.status.success(), "{done:?}");
    let key = one.unlimited("comps@example.com").await;
    let request = json!({"address": COOP, "mode": "valuation"});
    taken_up(&two, &key, &request, |prices| prices.len() >= 3).await;
    taken_up(&one, &key, &request, |prices| prices.len() >= 3).await;
    let first = version(&one).await;
    assert_eq!(version(&two).await, first);
    let file = |server: &Server, name: &str| {
        std::fs::read(server.folder().join("data").join(name)).unwrap()
    };
    for name in ["sales.index", "valuation.model"] {
        assert!(
            file(&one, name) == file(&two, name),
            "{name}, byte for byte"
        );
    }
    let comps = async |server: &Server| {
        let (answer, _) =
            asked_again(async || server.post_as(&key, "/v1/comps", &request).await).await;
        answer
    };
    let worth = async |server: &Server| comps(server).await.data()["valuation"].clone();
    let value = worth(&one).await;
    assert!(value["value"].is_number(), "{value}");
    assert_eq!(worth(&two).await, value, "the same model");

    // The other way round, from a file: beside what is there the lots stay, and what was synced last is what counts.
    let sales = two.folder().join("sales.csv");
    std::fs::write(&sales, FILE).unwrap();
    two.operator(&["sync", "sales", "--from", sales.to_str().unwrap()])
        .await;
    taken_up(&one, &key, &request, |prices| {
        prices == [500_000, 510_000, 520_000]
    })
    .await;
    assert_ne!(version(&one).await, first);

    // One that starts later has them from its first call on.
    let three = start().await;
    assert_eq!(version(&three).await, version(&one).await);
    let answer = comps(&three).await;
    assert_eq!(answer.data()["comp_count"], 3, "{}", answer.text);
    city.stop().await;
}
