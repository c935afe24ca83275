//! The same service on PostgreSQL, and one database behind several processes.

use crate::harness::{Options, Server};

/// A database of this test's own, where a PostgreSQL is at hand.
async fn database(name: &str) -> Option<String> {
    let Ok(server) = std::env::var("TEST_POSTGRES_URL") else {
        eprintln!("skipped: TEST_POSTGRES_URL is not set (make test sets it)");
        return None;
    };
    let created = tokio::process::Command::new("psql")
        .args([
            &server,
            "--quiet",
            "--command",
            &format!("create database {name}"),
        ])
        .status()
        .await
        .expect("psql runs");
    assert!(created.success());
    let mut url = url::Url::parse(&server).expect("an address");
    url.set_path(name);
    Some(url.into())
}

fn on(url: &str) -> Options {
    Options {
        database_url: Some(url.to_owned()),
        ..Options::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_made_by_one_process_is_served_by_another() {
    let Some(url) = database("brownstone_it_reports").await else {
        return;
    };
    let one = Server::start(on(&url)).await;
    let made = one.lookup("350 5 Avenue, Manhattan").await;
    let two = Server::start(on(&url)).await;
    let read = two.lookup("350 Fifth Avenue, New York").await;
    assert_eq!(made.data()["sources"], read.data()["sources"]);
    assert_eq!(made.data()["cache"], read.data()["cache"]);
    assert!(two.city_calls().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_live_on_postgresql_as_on_sqlite() {
    let Some(url) = database("brownstone_it_accounts").await else {
        return;
    };
    let server = Server::start(on(&url)).await;
    let (account, key) = server.new_account("dev@example.com").await;
    assert_eq!(server.get_as(&key, "/v1/usage").await.status.as_u16(), 200);
    server
        .operator(&[
            "account",
            "suspend",
            "--account",
            &account,
            "--reason",
            "test",
        ])
        .await;
    let begun = tokio::time::Instant::now();
    while server.get_as(&key, "/v1/usage").await.status.as_u16() != 403 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(3));
    }
    let server = server.restart(on(&url)).await;
    server
        .get_as(&key, "/v1/usage")
        .await
        .assert_failure(403, "forbidden");
    assert_eq!(server.usage().await["day"]["used"], 0);
}
