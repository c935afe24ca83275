//! Opening a database: what is made, what is refused, and what never answers.

use brownstone_store::{Store, StoreOpenError};

#[test]
fn a_runtime_of_one_thread_or_none_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite://{}/b.db", folder.path().display());
    let url = if cfg!(feature = "sqlite") {
        url
    } else {
        "postgres://u@h/db".to_owned()
    };
    assert!(matches!(Store::open(&url), Err(StoreOpenError::Runtime)));
    let one_thread = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let refused = one_thread.block_on(async { Store::open(&url) });
    assert!(matches!(refused, Err(StoreOpenError::Runtime)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_scheme_is_refused() {
    let refused = Store::open("mysql://root:hunter2@localhost/db");
    assert!(matches!(refused, Err(StoreOpenError::UnknownScheme)));
}

#[cfg(all(feature = "sqlite", unix))]
mod file {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use brownstone_store::{MigrateError, StoreOptions};

    use super::*;
    use crate::harness;

    fn mode(path: &std::path::Path) -> u32 {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_new_file_and_all_beside_it_are_for_their_user_only() {
        let held = harness::sqlite().await.expect("always there");
        held.stamp(brownstone_store::DatabaseKind::Real)
            .await
            .expect("it is new");
        let file = std::path::PathBuf::from(held.url().trim_start_matches("sqlite://"));
        let folder = file.parent().expect("a folder");
        assert_eq!(mode(folder), 0o700);
        let mut names: Vec<String> = Vec::new();
        for entry in fs::read_dir(folder).expect("readable") {
            let entry = entry.expect("readable");
            assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        assert!(
            names.contains(&"brownstone.db-wal".to_owned()),
            "WAL: {names:?}"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_that_is_there_is_kept_with_its_rights_and_contents() {
        let held = harness::sqlite().await.expect("always there");
        held.stamp(brownstone_store::DatabaseKind::Real)
            .await
            .expect("it is new");
        let file = std::path::PathBuf::from(held.url().trim_start_matches("sqlite://"));
        fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("ours");
        let again = held.again(&StoreOptions::default());
        assert_eq!(mode(&file), 0o640);
        assert_eq!(
            again.kind().await.expect("an answer"),
            Some(brownstone_store::DatabaseKind::Real)
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_no_file_is_refused_by_its_path() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| format!("sqlite://{}/{name}", folder.path().display());
        fs::write(folder.path().join("plain"), "text").expect("ours");
        for url in [at(""), at("plain/b.db")] {
            let refused = Store::open(&url);
            let Err(error @ StoreOpenError::SqliteFile { .. }) = refused else {
                panic!("{refused:?}");
            };
            assert!(error.to_string().starts_with("database file "), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_of_something_else_is_an_error_and_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notes.txt");
        let text = "not a database, and longer than the header of one would be: ".repeat(20);
        fs::write(&path, &text).expect("ours");
        let store = Store::open(&format!("sqlite://{}", path.display())).expect("it is a file");
        assert!(matches!(
            store.migrate().await,
            Err(MigrateError::Unavailable(_))
        ));
        assert!(store.ping().await.is_err());
        assert_eq!(fs::read_to_string(&path).expect("readable"), text);
    }

    #[test]
    fn a_program_that_stops_with_work_under_way_leaves_a_sound_file() {
        use brownstone_accounts::traits::UsageStore;

        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite://{}/b.db", folder.path().display());
        let runtime = || {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime")
        };
        let first = runtime();
        let store = first.block_on(async {
            let store = Store::open(&url).expect("a new file");
            store.migrate().await.expect("a fresh database");
            store
        });
        for n in 0..200_u64 {
            let store = store.clone();
            first.spawn(async move {
                let key = brownstone_accounts::model::UsageKey {
                    account: "a".into(),
                    day: time::macros::date!(2026 - 11 - 27),
                    key: n.to_string().into(),
                    surface: brownstone_domain::Surface::Rest,
                    operation: brownstone_domain::Operation::LookupProperty,
                };
                let counts = brownstone_accounts::model::UsageCounts::default();
                store
                    .add_usage(
                        &brownstone_accounts::model::UsageBatch::first(),
                        &[(key, counts)],
                    )
                    .await
            });
        }
        drop(first);
        drop(store);
        runtime().block_on(async {
            let store = Store::open(&url).expect("the file");
            assert_eq!(store.migrate().await.expect("a sound file"), 0);
            store.ping().await.expect("a sound file");
        });
    }
}

#[cfg(feature = "postgres")]
mod server {
    use std::time::{Duration, Instant};

    use brownstone_store::StoreOptions;

    use super::*;
    use crate::harness;

    fn impatient() -> StoreOptions {
        StoreOptions {
            answer_within: Duration::from_millis(200),
            ..StoreOptions::default()
        }
    }

    async fn failures(url: &str) -> Vec<String> {
        let store = Store::open_with(url, &impatient()).expect("opening asks nobody");
        let begun = Instant::now();
        let mut texts = vec![
            format!("{:?}", store.ping().await.expect_err("nobody answers")),
            format!("{:?}", store.migrate().await.expect_err("nobody answers")),
            format!(
                "{:?}",
                store
                    .stamp(brownstone_store::DatabaseKind::Real)
                    .await
                    .expect_err("nobody answers")
            ),
        ];
        let load = store.reports().load("1008350041/1015862/-").await;
        texts.push(load.expect_err("nobody answers").to_string());
        texts.push(format!("{store:?}"));
        assert!(begun.elapsed() < Duration::from_secs(10), "in time");
        texts
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_silent_server_is_an_error_in_time_without_the_password() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let silence = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((socket, _)) = listener.accept().await {
                open.push(socket);
            }
        });
        for text in failures(&format!("postgres://u:hunter2@127.0.0.1:{port}/db")).await {
            assert!(!text.contains("hunter2"), "{text}");
        }
        silence.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_absent_server_is_an_error_without_the_password() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let url = format!("postgres://u:hunter2@127.0.0.1:{port}/db");
        let store = Store::open(&url).expect("opening asks nobody");
        let why = format!("{:?}", store.ping().await.expect_err("nobody answers"));
        assert!(why.contains("refused"), "says why: {why}");
        let texts = failures(&url).await;
        for text in texts.into_iter().chain([why]) {
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tls_is_spoken_and_the_certificate_checked() {
        let Some(held) = harness::postgres().await else {
            return;
        };
        let Some(authority) =
            crate::at_hand::variable("TEST_POSTGRES_CA", "with-postgres.sh, where openssl is,")
        else {
            return;
        };
        for mode in ["require", "verify-full"] {
            let name = format!("tls_{}", mode.replace('-', "_"));
            let url = format!(
                "{}&application_name={name}&sslmode={mode}&sslrootcert={authority}",
                held.url()
            );
            let store = Store::open(&url).expect("an address");
            store.ping().await.expect("the certificate is good");
            held.sql(&format!(
                "DO $$ BEGIN ASSERT (SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE application_name = '{name}'); END $$",
            ))
            .await;
            // An authority that this machine does not trust.
            let stranger = format!("{}&sslmode={mode}", held.url());
            match Store::open(&stranger) {
                Ok(store) => {
                    let error = store.ping().await.expect_err("nobody signed it");
                    assert!(format!("{error:?}").contains("certificate"), "{error:?}");
                }
                // A machine without any authorities says that at once.
                Err(error) => assert!(error.to_string().contains("trusts no authority"), "{error}"),
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_drops_its_connections_is_used_again() {
        let Some(held) = harness::postgres().await else {
            return;
        };
        let options = StoreOptions {
            connections: 4,
            ..StoreOptions::default()
        };
        let url = format!("{}&application_name=to_be_dropped", held.url());
        let store = Store::open_with(&url, &options).expect("the address was used before");
        for round in 0..3 {
            let pings: Vec<_> = (0..8)
                .map(|_| {
                    let store = store.clone();
                    tokio::spawn(async move { store.ping().await })
                })
                .collect();
            let mut answered = 0;
            for ping in pings {
                answered += usize::from(ping.await.expect("no panic").is_ok());
            }
            // A connection that was dropped unseen fails one call.
            assert!(answered >= 4, "round {round}: {answered}");
            held.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE application_name = 'to_be_dropped'",
            )
            .await;
        }
        let mut left = 0;
        while store.ping().await.is_err() {
            left += 1;
            assert!(left <= 4, "each connection fails once at most");
        }
    }
}
