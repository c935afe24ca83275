//! The operator's commands, starts and stops.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Options, Server, command};

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_file_is_refused() {
    let server = Server::sample().await;
    let second = server
        .operator_output(&["serve", "--sample", "--api-addr", "127.0.0.1:0"])
        .await;
    assert!(!second.status.success());
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(error.contains("another server runs"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_database_is_refused_for_real_records_and_sample_in_live() {
    let mut server = Server::sample().await;
    assert!(server.stop().await.success());
    let real = server
        .operator_output(&["serve", "--api-addr", "127.0.0.1:0"])
        .await;
    assert!(!real.status.success());
    let error = String::from_utf8(real.stderr).unwrap();
    assert!(error.contains("sample"), "{error}");

    let live = server
        .operator_output(&[
            "--environment",
            "live",
            "serve",
            "--sample",
            "--api-addr",
            "127.0.0.1:0",
        ])
        .await;
    assert!(!live.status.success());
    let error = String::from_utf8(live.stderr).unwrap();
    assert!(error.contains("live"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_runs_on_a_machine_without_certificates() {
    let none = crate::harness::new_folder();
    let path = none.path().display().to_string();
    let server = Server::start(Options {
        variables: vec![
            ("SSL_CERT_FILE".into(), format!("{path}/none.pem")),
            ("SSL_CERT_DIR".into(), path),
        ],
        ..Options::default()
    })
    .await;
    server.lookup("350 5 Avenue, Manhattan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_running_calls_finish_turns_readyz_off_and_exits_with_0() {
    let mut server = Server::sample().await;
    server.set_latency("6bgk-3dad", 1_500).await;
    server.reset_city_calls().await;
    let url = server.url.clone();
    let lookup = reqwest::Client::new()
        .post(format!("{url}/v1/lookup"))
        .bearer_auth(&server.key)
        .json(&json!({"address": "350 5 Avenue, Manhattan"}))
        .send();
    let lookup = tokio::spawn(lookup);
    while server.city_calls().await.get("6bgk-3dad").is_none() {}
    server.terminate();
    let not_ready = tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            let ready = reqwest::get(format!("{url}/readyz")).await;
            match ready {
                Ok(answer) if answer.status().as_u16() == 503 => return,
                Ok(_) => {}
                Err(error) => panic!("the listener closed while a call ran: {error}"),
            }
        }
    });
    not_ready.await.expect("readyz turns 503 while a call runs");
    let answer = lookup.await.unwrap().unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["data"]["sources"]["nyc_ecb"]["status"], "ok");
    assert_eq!(server.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_key_of_the_start_before_is_revoked() {
    let server = Server::sample().await;
    let old = server.key.clone();
    let server = server.restart(Options::default()).await;
    assert_ne!(old, server.key);
    server
        .get_as(&old, "/v1/usage")
        .await
        .assert_failure(401, "unauthorized");
    let keys = server
        .operator(&["key", "list", "--account", "demo@example.com"])
        .await;
    assert_eq!(keys.lines().count(), 2, "{keys}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_refuse_what_is_wrong_and_say_what_is_allowed() {
    let server = Server::sample().await;
    for (arguments, part) in [
        (&["account", "create", "--email", "nobody"][..], "email"),
        (
            &["account", "create", "--email", "DEMO@example.com"],
            "exists",
        ),
        (
            &[
                "account",
                "create",
                "--email",
                "a@example.com",
                "--tier",
                "gold",
            ],
            "pro or free",
        ),
        (
            &[
                "account",
                "suspend",
                "--account",
                "nobody@example.com",
                "--reason",
                "x",
            ],
            "no such account",
        ),
        (
            &["limits", "set", "--account", "demo@example.com"],
            "--per-minute",
        ),
        (
            &[
                "limits",
                "set",
                "--account",
                "demo@example.com",
                "--per-minute",
                "999999999",
            ],
            "150000000",
        ),
        (&["key", "revoke", "0190"], "no such key"),
        (&["key", "rotate", "0190", "--overlap", "8d"], ""),
        (&["--database-url", "mysql://x", "migrate"], "sqlite"),
    ] {
        let output = server.operator_output(arguments).await;
        assert!(!output.status.success(), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(part), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_runs_in_the_terminal_against_any_city() {
    let server = Server::sample().await;
    let output = command(server.folder())
        .args([
            "--geocoder",
            "geosearch",
            "lookup",
            "350 5 Avenue, Manhattan",
            "--json",
        ])
        .env("BROWNSTONE_SODA_URL", &server.city)
        .env("BROWNSTONE_NYS_SODA_URL", &server.city)
        .env("BROWNSTONE_GEOSEARCH_URL", &server.city)
        .env(
            "BROWNSTONE_DATABASE_URL",
            format!("sqlite://{}", server.folder().join("real.db").display()),
        )
        .output()
        .await
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["bbl"], &report["bin"]),
        (&json!("1008350041"), &json!("1015862"))
    );
    assert_eq!(report["sources"]["nyc_pluto"]["status"], "ok");

    let resolve = command(server.folder())
        .args([
            "--geocoder",
            "geosearch",
            "resolve",
            "99999 37 Street, Brooklyn",
            "--json",
        ])
        .env("BROWNSTONE_SODA_URL", &server.city)
        .env("BROWNSTONE_GEOSEARCH_URL", &server.city)
        .output()
        .await
        .unwrap();
    let line: Value = serde_json::from_slice(&resolve.stdout).unwrap();
    assert_eq!(line["status"], "not_found", "{line}");
    assert_eq!(
        line.as_object().unwrap().keys().collect::<Vec<_>>(),
        [
            "input",
            "status",
            "address",
            "bbl",
            "bin",
            "match",
            "warnings",
            "candidates"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_every_part_well_and_every_dataset_as_the_catalogue_says() {
    let server = Server::sample().await;
    let doctor = || {
        server
            .operator_command(&["doctor", "--sources"])
            .env("BROWNSTONE_SODA_URL", &server.city)
            .env("BROWNSTONE_NYS_SODA_URL", &server.city)
            .env("BROWNSTONE_FEMA_URL", &server.city)
            .env("BROWNSTONE_GEOSEARCH_URL", &server.city)
            .env("BROWNSTONE_FRED_URL", &server.city)
            .env("BROWNSTONE_PMMS_URL", &server.city)
            .output()
    };
    let well = doctor().await.unwrap();
    let said = String::from_utf8(well.stdout).unwrap();
    assert!(well.status.success(), "{said}");
    for part in [
        "database",
        "budgets",
        "clock",
        "keys",
        "addresses",
        "city open data",
    ] {
        assert!(said.contains(&format!("ok    {part}")), "{part}: {said}");
    }

    server.set_fault("views", "gone").await;
    let ill = doctor().await.unwrap();
    let said = String::from_utf8(ill.stdout).unwrap();
    assert!(!ill.status.success(), "{said}");
    assert!(said.contains("FAIL  nyc_ecb (6bgk-3dad)"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_a_database_of_its_own_and_never_overwrites() {
    let server = Server::sample().await;
    server.lookup("700 Brook Avenue, Bronx").await;
    let path = server.folder().join("backup.db");
    let path = path.to_str().unwrap();
    server.operator(&["backup", path]).await;
    let again = server.operator_output(&["backup", path]).await;
    assert!(
        !again.status.success(),
        "a file that exists is not overwritten"
    );
    let keys = server
        .operator_command(&["key", "list", "--account", "demo@example.com"])
        .env("BROWNSTONE_DATABASE_URL", format!("sqlite://{path}"))
        .output()
        .await
        .unwrap();
    let keys = String::from_utf8(keys.stdout).unwrap();
    assert!(keys.contains("sample"), "{keys}");
}
