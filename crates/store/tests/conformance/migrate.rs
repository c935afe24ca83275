//! The schema.

use brownstone_store::{MigrateError, StoreOptions};
use tokio::task::JoinSet;

use crate::harness::Held;

pub(crate) async fn a_second_migration_does_nothing(store: &Held) {
    assert_eq!(store.migrate().await.expect("up to date"), 0);
    let other_start = store.again(&StoreOptions::default());
    assert_eq!(other_start.migrate().await.expect("up to date"), 0);
}

pub(crate) async fn a_newer_schema_is_refused_and_left_alone(store: &Held) {
    store
        .sql("INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000000')")
        .await;
    for _ in 0..2 {
        let refused = store.migrate().await;
        let Err(MigrateError::SchemaTooNew { found, known }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(found, "99991231000000");
        assert!(known < found, "{known}");
    }
}

pub(crate) async fn starts_at_once_do_not_collide(store: &Held) {
    let mut starts = JoinSet::new();
    for _ in 0..8 {
        // A pool of its own each, as another process would have.
        let start = store.again(&StoreOptions::default());
        starts.spawn(async move { start.migrate().await.expect("one waits for the other") });
    }
    let mut run = starts.join_all().await;
    run.sort_unstable();
    let (all, none) = (run[7], &run[..7]);
    assert!(all > 0, "one start made the schema");
    assert!(none.iter().all(|n| *n == 0), "the others found it: {run:?}");
    store.ping().await.expect("ready");
}

pub(crate) async fn an_unmade_schema_is_not_ready(store: &Held) {
    assert!(store.ping().await.is_err());
    store.migrate().await.expect("a fresh database");
    store.ping().await.expect("ready");
}
