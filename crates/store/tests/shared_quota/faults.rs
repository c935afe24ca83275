//! Servers that are away, silent or slow, and callers that leave. Real time: deadlines and the breaker are about nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brownstone_domain::{Limits, Units};
use brownstone_quota::{Decision, QuotaStore, QuotaUnavailable, Receipt};
use brownstone_store::SharedQuotaOptions;
use tokio::task::JoinSet;

use crate::places::{Place, clock, fresh, patient};
use crate::proxy::{Proxy, Wire};

/// The promise to callers. What is measured is this machine's too, so a test may try again; a store that is too slow by
/// itself fails every time.
const ANSWER_WITHIN: Duration = Duration::from_millis(150);
/// While the breaker is open.
const AT_ONCE: Duration = Duration::from_millis(5);
/// After the server is.
const BACK_WITHIN: Duration = Duration::from_secs(1);

async fn charge(store: &dyn QuotaStore, account: &str) -> Result<Decision, QuotaUnavailable> {
    store
        .charge(account, Units::new(1), Limits::default())
        .await
}

/// Charges a unit; on a machine that is busy with other tests it may take more than one call.
async fn admit(store: &dyn QuotaStore, account: &str) {
    let begun = Instant::now();
    loop {
        match charge(store, account).await {
            Ok(Decision::Admitted { .. }) => return,
            Err(_) if begun.elapsed() < Duration::from_secs(20) => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            other => panic!("a unit should have been admitted: {other:?}"),
        }
    }
}

async fn used(place: &Place, account: &str) -> u64 {
    let view = place
        .instance_with(&patient(), Some(clock()))
        .peek(account, Limits::default())
        .await;
    view.expect("an answer").day_used()
}

/// An instance behind a wire, with a connection that works.
async fn behind(place: &Place, options: &SharedQuotaOptions) -> (Proxy, Arc<dyn QuotaStore>) {
    let proxy = place.proxy().await;
    let store = place.behind(&proxy, options);
    until_it_answers(&*store).await;
    (proxy, store)
}

/// Asks until there is an answer; returns how long it took.
async fn until_it_answers(store: &dyn QuotaStore) -> Duration {
    let (begun, account) = (Instant::now(), fresh("ready"));
    while store.peek(&account, Limits::default()).await.is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it never answers"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    begun.elapsed()
}

/// Measures until it is quick enough, a few times at most; returns the shortest time.
async fn until_within(bound: Duration, mut measure: impl AsyncFnMut() -> Duration) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..8 {
        best = best.min(measure().await);
        if best < bound {
            break;
        }
    }
    best
}

pub(crate) async fn a_dead_store_is_an_error_in_time_and_then_costs_nothing(place: &Place) {
    for wire in [Wire::Down, Wire::Mute] {
        let (proxy, store) = behind(place, &SharedQuotaOptions::default()).await;
        let account = fresh("dead");
        proxy.set(wire);
        // Five that wait for the deadline, and fail.
        let mut calls = JoinSet::new();
        for _ in 0..5 {
            let (store, account) = (store.clone(), account.clone());
            calls.spawn(async move {
                let begun = Instant::now();
                let error = charge(&*store, &account).await.expect_err("nobody answers");
                assert!(
                    matches!(error, QuotaUnavailable::Silent { .. }),
                    "{error:?}"
                );
                begun.elapsed()
            });
        }
        let slowest = calls.join_all().await.into_iter().max();
        let slowest = slowest.expect("five");
        assert!(slowest < Duration::from_secs(10), "{wire:?}: {slowest:?}");
        // Now the breaker answers: no call but a probe each half second goes out.
        let (asked, begun) = (proxy.questions(), Instant::now());
        for _ in 0..1_000 {
            charge(&*store, &account).await.expect_err("nobody answers");
        }
        let probes = begun.elapsed().as_millis() / 500 + 1;
        // A probe may need several packets to connect.
        let sent = (proxy.questions() - asked) as u128;
        assert!(
            sent <= probes * 12,
            "{wire:?}: {sent} packets, {probes} probes"
        );
        let each = until_within(AT_ONCE, async || {
            let begun = Instant::now();
            charge(&*store, &account).await.expect_err("nobody answers");
            begun.elapsed()
        })
        .await;
        assert!(each < AT_ONCE, "{wire:?}: {each:?}");
    }
}

pub(crate) async fn it_is_back_within_a_second(place: &Place) {
    for wire in [Wire::Down, Wire::Mute] {
        let (proxy, store) = behind(place, &SharedQuotaOptions::default()).await;
        let account = fresh("back");
        let back = until_within(BACK_WITHIN, async || {
            proxy.set(wire);
            for _ in 0..10 {
                charge(&*store, &account).await.expect_err("nobody answers");
            }
            proxy.set(Wire::Well);
            until_it_answers(&*store).await
        })
        .await;
        assert!(back < BACK_WITHIN, "{wire:?}: {back:?}");
        admit(&*store, &account).await;
    }
}

pub(crate) async fn an_answer_that_comes_too_late_is_an_error_and_what_it_charged_stays(
    place: &Place,
) {
    // One connection, so that what it was taught is known.
    let options = SharedQuotaOptions {
        connections: 1,
        ..SharedQuotaOptions::default()
    };
    let (proxy, store) = behind(place, &options).await;
    let account = fresh("late");
    for wire in [Wire::Slow(Duration::from_millis(400)), Wire::Mute] {
        let mut applied = 0;
        let took = until_within(ANSWER_WITHIN, async || {
            proxy.set(Wire::Well);
            until_it_answers(&*store).await;
            // The first charge of a connection may have to introduce its statement or script.
            admit(&*store, &account).await;
            let before = used(place, &account).await;
            let asked = proxy.questions();
            proxy.set(wire);
            let begun = Instant::now();
            charge(&*store, &account).await.expect_err("too late");
            let took = begun.elapsed();
            // Sent once.
            assert!(proxy.questions() - asked <= 1, "{wire:?}");
            let more = used(place, &account).await - before;
            assert!(more <= 1, "{wire:?}: {more}");
            applied += more;
            // A server that was too slow itself proves nothing.
            if more == 0 { Duration::MAX } else { took }
        })
        .await;
        assert!(took < ANSWER_WITHIN, "{wire:?}: {took:?}");
        // It reached the server, and nobody took it back.
        assert!(applied > 0, "{wire:?}");
    }
}

pub(crate) async fn a_store_that_dies_during_calls_fails_them_at_once(place: &Place) {
    let options = SharedQuotaOptions {
        answer_within: Duration::from_secs(30),
        ..SharedQuotaOptions::default()
    };
    let (proxy, store) = behind(place, &options).await;
    let asked = proxy.questions();
    proxy.set(Wire::Mute);
    let mut calls = JoinSet::new();
    for n in 0..4 {
        let store = store.clone();
        let account = fresh(&format!("dies-{n}"));
        calls.spawn(async move { charge(&*store, &account).await });
    }
    // One of them is under way, at least.
    while proxy.questions() == asked {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    proxy.set(Wire::Down);
    for outcome in calls.join_all().await {
        outcome.expect_err("it died");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "not the deadline"
    );
    proxy.set(Wire::Well);
    until_it_answers(&*store).await;
    admit(&*store, &fresh("after")).await;
}

/// Sixty-four calls of one account, and one of another amidst them.
pub(crate) async fn a_busy_account_does_not_keep_others_waiting(place: &Place) {
    let store = place.instance_with(&patient(), Some(clock()));
    let (busy, other) = (fresh("busy"), fresh("other"));
    let limits = Limits::new(Limits::MAX_PER_MINUTE, Limits::MAX_PER_DAY).expect("within range");
    let mut calls = JoinSet::new();
    for _ in 0..64 {
        let (store, busy) = (store.clone(), busy.clone());
        calls.spawn(async move {
            for _ in 0..10 {
                let decision = store.charge(&busy, Units::new(1), limits).await;
                assert!(
                    matches!(decision, Ok(Decision::Admitted { .. })),
                    "{decision:?}"
                );
            }
        });
    }
    admit(&*store, &other).await;
    assert!(!calls.is_empty());
    calls.join_all().await;
    let view = store.peek(&busy, limits).await.expect("an answer");
    assert_eq!(view.day_used(), 640);
}

pub(crate) async fn callers_who_leave_break_nothing(place: &Place) {
    let store = place.instance_with(&patient(), None);
    let account = fresh("leaves");
    let limits = Limits::new(10_000, 10_000).expect("within range");
    let begun = Arc::new(tokio::sync::Semaphore::new(0));
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (store, account, begun) = (store.clone(), account.clone(), begun.clone());
            tokio::spawn(async move {
                begun.add_permits(1);
                store
                    .charge(&account, Units::new(1), limits)
                    .await
                    .map(drop)
            })
        })
        .collect();
    drop(begun.acquire_many(50).await.expect("open"));
    for call in &calls {
        call.abort();
    }
    let mut answered = 0;
    for call in calls {
        if let Ok(outcome) = call.await {
            outcome.expect("an answer");
            answered += 1;
        }
    }
    for _ in 0..10 {
        let decision = store.charge(&account, Units::new(1), limits).await;
        assert!(
            matches!(decision, Ok(Decision::Admitted { .. })),
            "{decision:?}"
        );
    }
    let view = store.peek(&account, limits).await.expect("an answer");
    let counted = view.day_used();
    assert!((answered + 10..=60).contains(&counted), "{counted}");
}

pub(crate) async fn refusals_are_remembered_until_a_refund(place: &Place) {
    let options = SharedQuotaOptions {
        answer_within: Duration::from_secs(20),
        // Longer than the test takes.
        remember_refusals_for: Duration::from_secs(600),
        ..SharedQuotaOptions::default()
    };
    let (proxy, store) = behind(place, &options).await;
    let account = fresh("remembered");
    // The day is spent: nothing comes back while the test runs.
    let limits = Limits::new(240, 20).expect("within range");
    let mut receipts = Vec::new();
    for _ in 0..2 {
        let decision = store.charge(&account, Units::new(10), limits).await;
        let Ok(Decision::Admitted { receipt, .. }) = decision else {
            panic!("{decision:?}");
        };
        receipts.push(receipt);
    }
    let refused = async || {
        let decision = store.charge(&account, Units::new(10), limits).await;
        matches!(decision.expect("an answer"), Decision::Short { .. })
    };
    assert!(refused().await);
    let asked = proxy.questions();
    for _ in 0..100 {
        assert!(refused().await);
    }
    assert_eq!(proxy.questions(), asked, "the store was not asked again");
    // Raised, it asks.
    let raised = Limits::new(240, 30).expect("within range");
    let decision = store.charge(&account, Units::new(10), raised).await;
    assert!(
        matches!(decision, Ok(Decision::Admitted { .. })),
        "{decision:?}"
    );
    assert!(proxy.questions() > asked);
    // Given back, it asks.
    assert!(refused().await);
    for receipt in receipts {
        store.refund(receipt).await.expect("an answer");
    }
    assert!(!refused().await);
}

/// Charges a unit, so often; on a machine that is busy with other tests a charge may take more than one call.
async fn receipts(store: &dyn QuotaStore, account: &str, count: usize) -> Vec<Receipt> {
    let limits = Limits::new(10_000, 10_000).expect("within range");
    let mut receipts = Vec::new();
    while receipts.len() < count {
        if let Ok(Decision::Admitted { receipt, .. }) =
            store.charge(account, Units::new(1), limits).await
        {
            receipts.push(receipt);
        }
    }
    receipts
}

/// Far more than can be under way for one account within the time of one answer, on a wire that takes its time.
pub(crate) async fn a_burst_of_refunds_of_one_account_loses_none_and_shuts_out_nobody(
    place: &Place,
) {
    const CALLS: usize = 128;
    let slow = Wire::Slow(Duration::from_millis(5));
    let mut lost = usize::MAX;
    // What is measured is this machine's too: it may try again.
    for _ in 0..8 {
        let (proxy, store) = behind(place, &SharedQuotaOptions::default()).await;
        let (account, other) = (fresh("burst"), fresh("bystander"));
        // By an instance that hears of every charge: one that is made and not heard of would seem a lost refund.
        let calm = place.instance_with(&patient(), Some(clock()));
        let receipts = receipts(&*calm, &account, CALLS).await;
        proxy.set(slow);
        let mut refunds = JoinSet::new();
        for receipt in receipts {
            let store = store.clone();
            refunds.spawn(async move { store.refund(receipt).await });
        }
        let mut shut_out = 0;
        while !refunds.is_empty() {
            shut_out += usize::from(charge(&*store, &other).await.is_err());
            while let Some(done) = refunds.try_join_next() {
                // A lost one is seen in what is used.
                let _ = done.expect("no panic");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        proxy.set(Wire::Well);
        lost = usize::try_from(used(place, &account).await).expect("few") + shut_out;
        if lost == 0 {
            break;
        }
    }
    assert_eq!(lost, 0);
}

/// More than all connections can make within the time that a charge waits for one.
pub(crate) async fn a_burst_of_refunds_of_many_accounts_loses_none_and_shuts_out_nobody(
    place: &Place,
) {
    const ACCOUNTS: usize = 300;
    let slow = Wire::Slow(Duration::from_millis(5));
    // By an instance that hears of every charge.
    let calm = place.instance_with(&patient(), Some(clock()));
    let mut lost = usize::MAX;
    // What is measured is this machine's too: it may try again.
    for _ in 0..8 {
        let (proxy, store) = behind(place, &SharedQuotaOptions::default()).await;
        let other = fresh("bystander");
        let mut charges = JoinSet::new();
        for n in 0..ACCOUNTS {
            let (calm, account) = (calm.clone(), fresh(&format!("many-{n}")));
            charges.spawn(async move { receipts(&*calm, &account, 1).await });
        }
        let receipts: Vec<Receipt> = charges.join_all().await.into_iter().flatten().collect();
        // Several at once, so that the connections are there before they are slow.
        let mut ready = JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            ready.spawn(async move { until_it_answers(&*store).await });
        }
        ready.join_all().await;
        proxy.set(slow);
        let mut refunds = JoinSet::new();
        for receipt in receipts {
            let store = store.clone();
            refunds.spawn(async move { store.refund(receipt).await });
        }
        lost = 0;
        while !refunds.is_empty() {
            lost += usize::from(charge(&*store, &other).await.is_err());
            while let Some(done) = refunds.try_join_next() {
                lost += usize::from(done.expect("no panic").is_err());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if lost == 0 {
            break;
        }
    }
    assert_eq!(lost, 0);
}

pub(crate) async fn a_refund_is_not_sent_on_a_connection_that_died_at_rest(place: &Place) {
    let options = SharedQuotaOptions {
        answer_within: Duration::from_secs(10),
        send_refunds_within: Duration::from_secs(20),
        ..SharedQuotaOptions::default()
    };
    let proxy = place.proxy().await;
    let store = place.behind(&proxy, &options);
    // At once, so that several connections are made.
    let mut calls = JoinSet::new();
    for _ in 0..4 {
        let store = store.clone();
        calls.spawn(async move { admit(&*store, &fresh("rests")).await });
    }
    calls.join_all().await;
    let account = fresh("died");
    let mut receipts = receipts(&*store, &account, 2).await;
    // It is away for a moment, and nobody asks meanwhile.
    for wire in [Wire::Down, Wire::Well] {
        proxy.set(wire);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let receipt = receipts.pop().expect("two");
    store.refund(receipt).await.expect("sent on a new one");
    assert_eq!(used(place, &account).await, 1);
}

pub(crate) async fn a_refund_waits_for_a_store_that_is_away_and_is_made_once(place: &Place) {
    let options = SharedQuotaOptions {
        answer_within: Duration::from_secs(10),
        send_refunds_within: Duration::from_secs(20),
        ..SharedQuotaOptions::default()
    };
    let (proxy, store) = behind(place, &options).await;
    let account = fresh("waits");
    let mut receipts = receipts(&*store, &account, 2).await;
    proxy.set(Wire::Down);
    for _ in 0..10 {
        charge(&*store, &account)
            .await
            .expect_err("nobody is there");
    }
    let refund = tokio::spawn({
        let (store, receipt) = (store.clone(), receipts.pop().expect("two"));
        async move { store.refund(receipt).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!refund.is_finished(), "it was not sent and not given up");
    proxy.set(Wire::Well);
    refund.await.expect("no panic").expect("sent in the end");
    assert_eq!(used(place, &account).await, 1);
}

pub(crate) async fn a_refund_that_cannot_be_sent_is_given_up_in_the_end(place: &Place) {
    let options = SharedQuotaOptions {
        send_refunds_within: Duration::from_millis(500),
        ..SharedQuotaOptions::default()
    };
    let (proxy, store) = behind(place, &options).await;
    let account = fresh("given-up");
    let receipts = receipts(&*store, &account, 1).await;
    proxy.set(Wire::Down);
    for receipt in receipts {
        store.refund(receipt).await.expect_err("nobody is there");
    }
}

pub(crate) async fn a_refund_whose_fate_is_not_known_is_never_sent_again(place: &Place) {
    let options = SharedQuotaOptions {
        answer_within: Duration::from_secs(2),
        connections: 1,
        ..SharedQuotaOptions::default()
    };
    let (proxy, store) = behind(place, &options).await;
    let account = fresh("fate");
    let mut receipts = receipts(&*store, &account, 3).await;
    // The first refund of a connection may have to introduce its statement.
    let first = receipts.pop().expect("three");
    store.refund(first).await.expect("an answer");
    let before = used(place, &account).await;
    let asked = proxy.questions();
    let greetings = place.greetings();
    proxy.set(Wire::Few(greetings));
    let second = receipts.pop().expect("two");
    store.refund(second).await.expect_err("nobody answers");
    assert!(proxy.questions() - asked <= greetings + 1, "sent once");
    proxy.set(Wire::Well);
    until_it_answers(&*store).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let given_back = before - used(place, &account).await;
    assert!(given_back <= 1, "{given_back}");
}
