//! `Lease`.

use std::time::Duration;

use brownstone_report_cache::traits::Lease;
use time::OffsetDateTime;
use time::macros::datetime;
use tokio::task::JoinSet;

use crate::harness::Held;

const NOW: OffsetDateTime = datetime!(2026-11-27 12:00:00.000001 UTC);
const TTL: Duration = Duration::from_secs(15);
const MICRO: Duration = Duration::from_micros(1);

async fn acquire(store: &Held, holder: &str, now: OffsetDateTime) -> bool {
    store
        .acquire("report", holder, TTL, Some(now))
        .await
        .expect("an answer")
}

async fn renew(store: &Held, holder: &str, now: OffsetDateTime) -> bool {
    store
        .renew("report", holder, TTL, Some(now))
        .await
        .expect("an answer")
}

pub(crate) async fn a_held_lease_is_refused_to_others(store: &Held) {
    assert!(acquire(store, "a", NOW).await);
    assert!(!acquire(store, "b", NOW).await);
    // Another name is another lease.
    let other = store.acquire("daily job", "b", TTL, Some(NOW)).await;
    assert!(other.expect("an answer"));
}

pub(crate) async fn a_lease_is_free_at_its_very_end(store: &Held) {
    assert!(acquire(store, "a", NOW).await);
    assert!(!acquire(store, "b", NOW + TTL - MICRO).await);
    assert!(acquire(store, "b", NOW + TTL).await);
    assert!(!acquire(store, "a", NOW + TTL).await);
}

pub(crate) async fn a_holder_takes_its_own_lease_again(store: &Held) {
    assert!(acquire(store, "a", NOW).await);
    assert!(acquire(store, "a", NOW + TTL / 3).await);
    assert!(!acquire(store, "b", NOW + TTL).await, "it was extended");
}

pub(crate) async fn a_renewal_extends_and_needs_a_lease_that_lasts(store: &Held) {
    assert!(!renew(store, "a", NOW).await, "there is none");
    assert!(acquire(store, "a", NOW).await);
    assert!(!renew(store, "b", NOW).await, "it is another's");
    assert!(renew(store, "a", NOW + TTL - MICRO).await);
    assert!(!acquire(store, "b", NOW + TTL).await, "it was extended");
    assert!(
        !renew(store, "a", NOW + 2 * TTL - MICRO).await,
        "it has ended"
    );
}

pub(crate) async fn a_lost_lease_is_not_renewed(store: &Held) {
    assert!(acquire(store, "a", NOW).await);
    assert!(acquire(store, "b", NOW + TTL).await);
    assert!(!renew(store, "a", NOW + TTL).await);
    assert!(renew(store, "b", NOW + TTL).await);
}

pub(crate) async fn only_the_holder_gives_a_lease_up(store: &Held) {
    assert!(acquire(store, "a", NOW).await);
    store.release("report", "b").await.expect("an answer");
    store.release("other", "a").await.expect("an answer");
    assert!(!acquire(store, "b", NOW).await);
    store.release("report", "a").await.expect("an answer");
    assert!(acquire(store, "b", NOW).await);
    // What is gone already is no error.
    store.release("report", "a").await.expect("an answer");
    assert!(!acquire(store, "a", NOW).await);
}

pub(crate) async fn whether_a_lease_is_held_is_seen_without_taking_it(store: &Held) {
    let held = async |now| {
        let held = store.is_held("report", now).await;
        held.expect("an answer")
    };
    assert!(!held(Some(NOW)).await, "there is none");
    assert!(acquire(store, "a", NOW).await);
    assert!(held(Some(NOW + TTL - MICRO)).await);
    assert!(!held(Some(NOW + TTL)).await, "it has ended");
    assert!(acquire(store, "b", NOW + TTL).await, "nobody took it");
    // By the store's own clock.
    let taken = store.acquire("report", "b", TTL, None).await;
    assert!(taken.expect("an answer"));
    assert!(held(None).await);
    store.release("report", "b").await.expect("an answer");
    assert!(!held(None).await);
}

pub(crate) async fn the_stores_clock_decides_where_no_time_is_given(store: &Held) {
    let ask = async |holder: &str, ttl| {
        store
            .acquire("report", holder, ttl, None)
            .await
            .expect("an answer")
    };
    assert!(ask("a", Duration::from_hours(1)).await);
    assert!(!ask("b", TTL).await);
    let renewed = store.renew("report", "a", Duration::ZERO, None).await;
    assert!(renewed.expect("an answer"), "it lasted");
    // It ends at once now.
    assert!(ask("b", Duration::from_hours(1)).await);
    assert!(!ask("a", TTL).await);
    // And the hour is an hour from now, by our clock too.
    let soon = OffsetDateTime::now_utc() + Duration::from_secs(3_000);
    assert!(!acquire(store, "c", soon).await);
    let late = OffsetDateTime::now_utc() + Duration::from_secs(4_200);
    assert!(acquire(store, "c", late).await);
}

pub(crate) async fn the_longest_time_is_no_error(store: &Held) {
    for now in [Some(NOW), None] {
        let name = format!("{now:?}");
        let taken = store.acquire(&name, "a", Duration::MAX, now).await;
        assert!(taken.expect("an answer"));
        let renewed = store.renew(&name, "a", Duration::MAX, now).await;
        assert!(renewed.expect("an answer"));
    }
}

/// Forty tasks ask at once; returns those that were told they hold the lease.
async fn race(store: &Held) -> Vec<String> {
    let mut tasks = JoinSet::new();
    for n in 0..40 {
        let leases = store.leases();
        tasks.spawn(async move {
            let holder = format!("task {n}");
            let won = leases.acquire("report", &holder, TTL, None).await;
            won.expect("an answer").then_some(holder)
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

pub(crate) async fn forty_who_race_for_a_free_lease_are_one_holder(store: &Held) {
    let holders = race(store).await;
    assert_eq!(holders.len(), 1, "{holders:?}");
    let held = store.renew("report", &holders[0], TTL, None).await;
    assert!(held.expect("an answer"), "the winner holds it");
}

pub(crate) async fn forty_who_race_for_an_ended_lease_are_one_holder(store: &Held) {
    let ended = store
        .acquire("report", "before", Duration::ZERO, None)
        .await;
    assert!(ended.expect("an answer"));
    let holders = race(store).await;
    assert_eq!(holders.len(), 1, "{holders:?}");
    let lost = store.renew("report", "before", TTL, None).await;
    assert!(!lost.expect("an answer"));
}
