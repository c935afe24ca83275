//! What is Redis's own: a server that does not know the script, and the end of a key.

use brownstone_domain::{Limits, Units};
use brownstone_quota::contract::NOON_US;
use brownstone_quota::record::{DAY_US, SUB_UNITS};
use brownstone_quota::{Decision, QuotaStore};
use deadpool_redis::redis::cmd;

use crate::places::{Place, clock, fresh, moment, patient, raw, redis};

async fn admit(store: &dyn QuotaStore, account: &str, cost: u32, limits: Limits) {
    let decision = store.charge(account, Units::new(cost), limits).await;
    assert!(
        matches!(decision, Ok(Decision::Admitted { .. })),
        "{decision:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgot_the_script_is_told_it_again() {
    let Some(place) = redis().await else { return };
    #[allow(irrefutable_let_patterns)]
    let Place::Redis(url) = &place else {
        panic!("Redis was asked for");
    };
    let store = place.instance_with(&patient(), None);
    let account = fresh("forgot");
    let mut connection = raw(url).await;
    for round in 1..=5 {
        let () = cmd("SCRIPT")
            .arg("FLUSH")
            .query_async(&mut connection)
            .await
            .expect("an answer");
        admit(&*store, &account, 10, Limits::default()).await;
        let view = store
            .peek(&account, Limits::default())
            .await
            .expect("an answer");
        assert_eq!(view.day_used(), round * 10, "charged once");
    }
}

/// Not even the same bytes again: a write is work for every replica. `EXEC` runs only where nobody wrote the key since it
/// was watched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_no_write() {
    let Some(place) = redis().await else { return };
    #[allow(irrefutable_let_patterns)]
    let Place::Redis(url) = &place else {
        panic!("Redis was asked for");
    };
    let store = place.instance_with(&patient(), None);
    let account = fresh("watched");
    let limits = Limits::new(240, 10).expect("within range");
    admit(&*store, &account, 10, limits).await;
    let mut connection = raw(url).await;
    // Whether something wrote the key while the account was asked for so many units.
    let mut written = async |cost: u32, limits: Limits| {
        let mut tell = async |words: &[&str]| -> deadpool_redis::redis::Value {
            let mut command = cmd(words[0]);
            for word in &words[1..] {
                command.arg(*word);
            }
            command
                .query_async(&mut connection)
                .await
                .expect("an answer")
        };
        tell(&["WATCH", &format!("quota:{{{account}}}")]).await;
        let decision = store.charge(&account, Units::new(cost), limits).await;
        let _ = decision.expect("an answer");
        tell(&["MULTI"]).await;
        tell(&["PING"]).await;
        tell(&["EXEC"]).await == deadpool_redis::redis::Value::Nil
    };
    for cost in [0, 1, 10, 11] {
        assert!(!written(cost, limits).await, "{cost}");
    }
    assert!(
        written(1, Limits::default()).await,
        "an admitted charge is one"
    );
}

/// The key outlives its day, and its debt at the lowest ceiling there can be; not by much.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_ends_when_it_says_nothing_any_more() {
    let Some(place) = redis().await else { return };
    #[allow(irrefutable_let_patterns)]
    let Place::Redis(url) = &place else {
        panic!("Redis was asked for");
    };
    let mut connection = raw(url).await;
    let clock = clock();
    let store = place.instance_with(&patient(), Some(clock.clone()));
    let midnight = NOON_US + DAY_US / 2;
    let huge = Limits::new(Limits::MAX_PER_MINUTE, Limits::MAX_PER_DAY).expect("within range");
    // (charged at, cost, latest of midnight and the end of the debt)
    for (at_us, cost, ends_us) in [
        (NOON_US, 1, midnight),
        (NOON_US, 240, midnight),
        (midnight - 1, 1, midnight + SUB_UNITS),
        (midnight - 1, 240, midnight + 240 * SUB_UNITS),
        (
            NOON_US,
            Limits::MAX_PER_MINUTE,
            NOON_US + u64::from(Limits::MAX_PER_MINUTE) * SUB_UNITS,
        ),
    ] {
        clock.set(moment(at_us));
        let account = fresh("ends");
        admit(&*store, &account, cost, huge).await;
        let left_ms: u64 = cmd("PTTL")
            .arg(format!("quota:{{{account}}}"))
            .query_async(&mut connection)
            .await
            .expect("an answer");
        let least_ms = (ends_us - at_us) / 1_000;
        // A minute more for clocks that are set back, and what passed since it was written.
        assert!(
            (least_ms..=least_ms + 60_001).contains(&left_ms),
            "{cost} at {at_us}: {left_ms} ms, {least_ms} needed"
        );
    }
}

/// Without a clock of the test's, the server's own ends the key: not before the next midnight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_clock_ends_a_record() {
    let Some(place) = redis().await else { return };
    #[allow(irrefutable_let_patterns)]
    let Place::Redis(url) = &place else {
        panic!("Redis was asked for");
    };
    let mut connection = raw(url).await;
    let store = place.instance_with(&patient(), None);
    let account = fresh("real");
    admit(&*store, &account, 1, Limits::default()).await;
    let ends_ms: u64 = cmd("PEXPIRETIME")
        .arg(format!("quota:{{{account}}}"))
        .query_async(&mut connection)
        .await
        .expect("an answer");
    let view = store
        .peek(&account, Limits::default())
        .await
        .expect("an answer");
    let midnight_ms = view.day_resets_at_us() / 1_000;
    // A minute or two after it, or after the unit has come back where that is later.
    assert!(
        (midnight_ms..=midnight_ms + 121_000).contains(&ends_ms),
        "{ends_ms}, midnight is {midnight_ms}"
    );
}
