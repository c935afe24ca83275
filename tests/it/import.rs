//! A release of the city's address files is imported while a server runs.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use brownstone_sample_city::SampleCity;
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::json;

use crate::{
    harness::{Options, Server},
    shared_database::database,
};

const ADDRESS: &str = "350 5 Avenue, Manhattan";

/// A server looks each second; it is generous, since it only bounds a failure.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(30);

async fn server_without_addresses(city: &SampleCity) -> Server {
    server_on(city, "pad", None).await
}

async fn server_on(city: &SampleCity, geocoder: &str, database_url: Option<&str>) -> Server {
    let mut variables: Vec<(String, String)> = [
        "BROWNSTONE_SODA_URL",
        "BROWNSTONE_NYS_SODA_URL",
        "BROWNSTONE_FEMA_URL",
        "BROWNSTONE_GEOSEARCH_URL",
    ]
    .map(|name| (name.to_owned(), city.url()))
    .to_vec();
    variables.push(("BROWNSTONE_GEOCODER".to_owned(), geocoder.to_owned()));
    Server::start(Options {
        live_sources: true,
        variables,
        database_url: database_url.map(str::to_owned),
        ..Options::default()
    })
    .await
}

fn write_release(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in brownstone_sample_city::pad_files() {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

async fn readiness(server: &Server) -> serde_json::Value {
    server
        .send(Method::GET, "/readyz", HeaderMap::new(), "")
        .await
        .body
}

async fn addresses_by(server: &Server) -> String {
    readiness(server).await["addresses"]
        .as_str()
        .expect("a name")
        .to_owned()
}

/// Waits until a server resolves by PAD, as long as it may take, and returns the version of its index.
async fn taken_up(server: &Server) -> String {
    let begun = Instant::now();
    // A server that does not reach its database just now says nothing of addresses.
    while readiness(server).await["addresses"] != "PAD" {
        assert!(begun.elapsed() < TAKEN_UP_WITHIN, "not taken up in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    readiness(server).await["indexes"]["pad"]
        .as_str()
        .expect("a version")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_takes_up_an_import_and_a_bad_one_changes_nothing() {
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let server = server_without_addresses(&city).await;
    let request = json!({"address": ADDRESS});
    server
        .post("/v1/lookup", &request)
        .await
        .assert_failure(502, "upstream_error");
    assert_eq!(addresses_by(&server).await, "none: PAD is not imported");

    let release = server.folder().join("release");
    write_release(&release);
    let said = server
        .operator(&["import", "pad", release.to_str().unwrap()])
        .await;
    assert!(said.starts_with("imported "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    taken_up(&server).await;
    assert_eq!(server.lookup(ADDRESS).await.data()["bin"], "1015862");
    server.operator(&["resolve", ADDRESS]).await;

    // Garbage for a release: refused, and nothing is left but the index that was there.
    let index = server.folder().join("data").join("pad.index");
    let before = std::fs::read(&index).unwrap();
    let bobaadr = release.join("bobaadr.txt");
    let good = std::fs::read_to_string(&bobaadr).unwrap();
    for garbage in [
        "no address file at all\n".to_owned(),
        good + &"?\n".repeat(1_000),
    ] {
        std::fs::write(&bobaadr, garbage).unwrap();
        let refused = server
            .operator_output(&["import", "pad", release.to_str().unwrap()])
            .await;
        assert!(!refused.status.success());
        let why = String::from_utf8_lossy(&refused.stderr);
        assert!(why.contains("bobaadr.txt"), "{why}");
    }
    assert_eq!(std::fs::read(&index).unwrap(), before);
    assert_eq!(
        std::fs::read_dir(server.folder().join("data"))
            .unwrap()
            .count(),
        1,
        "no half-written file is left"
    );
    server.lookup(ADDRESS).await;
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_database_is_not_imported_into() {
    let server = Server::sample().await;
    let release = server.folder().join("release");
    write_release(&release);
    let refused = server
        .operator_output(&["import", "pad", release.to_str().unwrap()])
        .await;
    assert!(!refused.status.success());
    assert!(!server.folder().join("data").join("pad.index").exists());
    let answer = server
        .post("/v1/lookup", &json!({"address": ADDRESS}))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_on_one_instance_reaches_the_others_through_their_database() {
    let Some(url) = database("brownstone_it_import").await else {
        return;
    };
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let one = server_on(&city, "pad", Some(&url)).await;
    let two = server_on(&city, "auto", Some(&url)).await;
    assert_eq!(addresses_by(&two).await, "GeoSearch");
    assert_eq!(readiness(&two).await["indexes"]["pad"], json!(null));

    let release = one.folder().join("release");
    write_release(&release);
    one.operator(&["import", "pad", release.to_str().unwrap()])
        .await;
    let (first, second) = tokio::join!(taken_up(&one), taken_up(&two));
    assert_eq!(first, second, "both answer from the same index");
    assert_eq!(two.lookup(ADDRESS).await.data()["bin"], "1015862");
    let file = |server: &Server| std::fs::read(server.folder().join("data/pad.index")).unwrap();
    assert!(file(&one) == file(&two), "byte for byte");

    // One that starts later has it from its first call on, and so has a command beside it.
    let three = server_on(&city, "pad", Some(&url)).await;
    assert_eq!(taken_up(&three).await, first);
    three.lookup(ADDRESS).await;
    std::fs::remove_file(three.folder().join("data/pad.index")).unwrap();
    let said = three.operator(&["resolve", ADDRESS]).await;
    assert!(said.contains("BIN 1015862"), "{said}");
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_import_takes_over_from_the_live_geocoder() {
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let server = server_on(&city, "auto", None).await;
    assert_eq!(addresses_by(&server).await, "GeoSearch");
    let live = server.lookup(ADDRESS).await;
    let release = server.folder().join("release");
    write_release(&release);
    server
        .operator(&["import", "pad", release.to_str().unwrap()])
        .await;
    taken_up(&server).await;
    let imported = server.lookup(ADDRESS).await;
    for field in ["bbl", "bin"] {
        assert_eq!(live.data()[field], imported.data()[field], "{field}");
    }
    city.stop().await;
}
