//! `ReportStore`.

use brownstone_report_cache::traits::ReportStore;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use tokio::task::JoinSet;

use crate::harness::Held;

const END: OffsetDateTime = datetime!(2026-12-04 12:00:00.123456 UTC);

async fn load(store: &Held, key: &str) -> Option<Vec<u8>> {
    store.load(key).await.expect("an answer")
}

async fn save(store: &Held, key: &str, body: &[u8], expires_at: OffsetDateTime) {
    store.save(key, body, expires_at).await.expect("kept");
}

pub(crate) async fn a_report_comes_back_byte_for_byte(store: &Held) {
    let every_byte: Vec<u8> = (0..=u8::MAX).cycle().take(1_000_000).collect();
    save(store, "1008350041/1015862/-", &every_byte, END).await;
    save(store, "1000477501/1001026/-", b"", END).await;
    assert!(load(store, "1008350041/1015862/-").await == Some(every_byte));
    assert_eq!(load(store, "1000477501/1001026/-").await, Some(Vec::new()));
    assert_eq!(load(store, "1008350041/1015862/1008351001").await, None);
}

pub(crate) async fn a_report_saved_again_replaces_the_one_before(store: &Held) {
    save(store, "a", b"first", END).await;
    save(store, "b", b"other", END).await;
    save(store, "a", b"second", END + Duration::DAY).await;
    assert_eq!(load(store, "a").await.as_deref(), Some(&b"second"[..]));
    assert_eq!(load(store, "b").await.as_deref(), Some(&b"other"[..]));
    // Its end was replaced too.
    assert_eq!(
        store.purge(END + Duration::HOUR).await.expect("an answer"),
        1
    );
    assert_eq!(load(store, "a").await.as_deref(), Some(&b"second"[..]));
    assert_eq!(load(store, "b").await, None);
}

pub(crate) async fn an_expired_report_is_still_loaded(store: &Held) {
    save(
        store,
        "old",
        b"body",
        OffsetDateTime::UNIX_EPOCH - Duration::DAY,
    )
    .await;
    assert_eq!(load(store, "old").await.as_deref(), Some(&b"body"[..]));
}

pub(crate) async fn a_purge_takes_what_expired_before_and_nothing_else(store: &Held) {
    for (key, micros) in [("before", -1), ("at", 0), ("after", 1)] {
        save(store, key, b"body", END + Duration::microseconds(micros)).await;
    }
    assert_eq!(store.purge(END).await.expect("an answer"), 1);
    assert_eq!(load(store, "before").await, None);
    assert!(load(store, "at").await.is_some());
    assert!(load(store, "after").await.is_some());
    assert_eq!(store.purge(END).await.expect("an answer"), 0);
}

pub(crate) async fn a_purge_takes_at_most_five_hundred(store: &Held) {
    let mut saves = JoinSet::new();
    for n in 0_i64..520 {
        let reports = store.reports();
        saves.spawn(async move {
            let end = END + Duration::seconds(n);
            reports.save(&format!("report {n}"), b"body", end).await
        });
        // Few at a time: each has only the store's time, waiting for its turn included.
        if saves.len() >= 16 {
            saves
                .join_next()
                .await
                .expect("one")
                .expect("no panic")
                .expect("kept");
        }
    }
    while let Some(saved) = saves.join_next().await {
        saved.expect("no panic").expect("kept");
    }
    let all = END + Duration::DAY;
    assert_eq!(store.purge(all).await.expect("an answer"), 500);
    // The longest expired went first.
    assert_eq!(load(store, "report 499").await, None);
    assert!(load(store, "report 500").await.is_some());
    assert_eq!(store.purge(all).await.expect("an answer"), 20);
}
