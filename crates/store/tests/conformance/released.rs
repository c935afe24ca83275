//! Databases of schemas that were released, brought up to date: nothing of what an owner has is lost.
//!
//! `tests/fixtures/<database>/<last migration>.sql` is a whole database of invented rows, as that schema's program left it. A schema that is released
//! adds one, and none is changed.

use std::{path::Path, sync::Arc};

use brownstone_accounts::{Accounts, Environment, Overrides, Role, Tier};
use brownstone_domain::SystemClock;
use brownstone_report_cache::StoredReport;
use brownstone_store::{DatabaseKind, Store};

/// The first schema there was.
const FIRST: &str = "20261127000000";

/// A database of a schema that was released.
struct Fixture {
    /// Its last migration.
    schema: String,
    sql: String,
    is_newest: bool,
}

/// Those of a kind of database, the oldest first.
fn fixtures(kind: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(folder.join(kind)).expect("the fixtures");
    let mut all: Vec<Fixture> = entries
        .map(|entry| {
            let path = entry.expect("readable").path();
            let schema = path.file_stem().expect("a name").to_string_lossy();
            Fixture {
                schema: schema.into_owned(),
                sql: std::fs::read_to_string(&path).expect("text"),
                is_newest: false,
            }
        })
        .collect();
    all.sort_by(|one, other| one.schema.cmp(&other.schema));
    let schemas: Vec<&str> = all.iter().map(|one| one.schema.as_str()).collect();
    assert!(schemas.len() > 1 && schemas[0] == FIRST, "{schemas:?}");
    if let Some(last) = all.last_mut() {
        last.is_newest = true;
    }
    all
}

/// What every fixture holds, whatever its schema.
async fn holds_everything(store: &Store, schema: &str) {
    assert_eq!(
        store.kind().await.expect("an answer"),
        Some(DatabaseKind::Sample),
        "{schema}"
    );
    let accounts = store.accounts();
    let account = async |email: &str| {
        let found = accounts.account_by_email(email).await.expect("an answer");
        found.unwrap_or_else(|| panic!("{schema}: {email} is lost"))
    };
    let ada = account("ada@example.com").await;
    let overrides = Overrides {
        per_minute: Some(480),
        per_day: Some(20_000),
        until: None,
    };
    assert_eq!(
        (ada.role, ada.tier, ada.overrides),
        (Role::Developer, Tier::Pro, overrides),
        "{schema}"
    );
    let sam = account("sam@example.com").await;
    assert_eq!(
        (sam.role, sam.tier),
        (Role::Support, Tier::Free),
        "{schema}"
    );
    let eve = account("eve@example.com").await;
    let suspension = eve.suspension.expect("suspended");
    assert_eq!(suspension.reason, "scraping", "{schema}");

    let keys = accounts.keys(&ada.id).await.expect("an answer");
    let named: Vec<_> = keys
        .iter()
        .map(|key| (key.name.as_str(), key.revoked_at.is_some()))
        .collect();
    assert_eq!(named, [("laptop", false), ("old", true)], "{schema}");
    for key in &keys {
        let found = accounts.key_by_hash(&key.hash).await.expect("an answer");
        let (found, owner) = found.expect("it is found by its hash");
        assert_eq!((found.id, owner.id), (key.id.clone(), ada.id.clone()));
    }

    let report = store.reports().load("4056010050/4126588/-").await;
    let report = report.expect("an answer").expect("it is kept");
    let report = StoredReport::decode(&report).expect("it is read");
    assert!(report.entries.len() > 50, "{schema}");

    let spent = store.spent_ledger().load(0).await.expect("an answer");
    let [row] = &spent[..] else {
        panic!("{schema}: {spent:?}");
    };
    assert_eq!((row.account.as_str(), row.spent), (ada.id.as_str(), 40));
    let since = time::macros::date!(2026 - 11 - 01);
    let usage = store.usage().usage_since(&ada.id, since).await;
    let units: u64 = usage
        .expect("an answer")
        .iter()
        .map(|(_, counts)| counts.units)
        .sum();
    assert_eq!(units, 40, "{schema}");
    let lines = accounts.audit(&ada.id, 100).await.expect("an answer");
    assert_eq!(lines.len(), 6, "{schema}");
    assert_eq!(lines[0].action, "key.revoke", "{schema}: the newest first");

    // The trail goes on, whether it was a chain or becomes one now.
    let service = Accounts::new(store.accounts(), Arc::new(SystemClock), Environment::Test);
    service
        .restore(
            &eve.id,
            "it was a mistake",
            brownstone_accounts::Actor::Command,
        )
        .await
        .expect("restored");
    let verdict = service.verify_audit().await.expect("an answer");
    assert_eq!(verdict.fault, None, "{schema}");
}

/// Brings a database up to date that `fixture` has just made, and looks whether all is there.
async fn comes_up_to_date(store: &Store, fixture: &Fixture) {
    let ran = store.migrate().await.expect("it comes up to date");
    assert!(fixture.is_newest || ran > 0, "{}: {ran}", fixture.schema);
    holds_everything(store, &fixture.schema).await;
    assert_eq!(store.migrate().await.expect("up to date"), 0);
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_schema_of_sqlite_comes_up_to_date_with_all_it_holds() {
    use diesel::{Connection as _, connection::SimpleConnection as _};

    for fixture in fixtures("sqlite") {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("released.db");
        let mut file = diesel::SqliteConnection::establish(path.to_str().expect("a plain name"));
        let file = file.as_mut().expect("a new file");
        file.batch_execute(&fixture.sql)
            .expect("the fixture is whole");
        let store = Store::open(&format!("sqlite://{}", path.display())).expect("a file");
        comes_up_to_date(&store, &fixture).await;
    }
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_schema_of_postgres_comes_up_to_date_with_all_it_holds() {
    for fixture in fixtures("postgres") {
        let Some(held) = crate::harness::postgres_bare().await else {
            return;
        };
        held.sql(&fixture.sql).await;
        comes_up_to_date(&held, &fixture).await;
    }
}
