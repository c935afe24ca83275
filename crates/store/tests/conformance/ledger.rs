//! `SpentLedger`.

use std::collections::BTreeMap;
use std::sync::Arc;

use brownstone_domain::{Clock, Limits, ManualClock, Units};
use brownstone_quota::{
    Decision, LedgerMinute, LedgerRow, MemoryOptions, MemoryQuota, QuotaStore, SpentLedger,
};
use time::macros::datetime;
use tokio::task::JoinSet;

use crate::harness::Held;

const DAY: u32 = 20_784;

fn row(account: &str, day: u32, spent: u32, minute: Option<(u64, u64)>) -> LedgerRow {
    LedgerRow {
        account: account.to_owned(),
        day,
        spent,
        minute: minute.map(|(deficit, last_us)| LedgerMinute { deficit, last_us }),
    }
}

async fn load(store: &Held, from_day: u32) -> Vec<LedgerRow> {
    let mut rows = SpentLedger::load(&**store, from_day)
        .await
        .expect("an answer");
    rows.sort_by(|a, b| a.account.cmp(&b.account));
    rows
}

async fn reserve(store: &Held, account: &str, day: u32, spent_up_to: u32) {
    store
        .reserve(account, day, spent_up_to)
        .await
        .expect("noted");
}

pub(crate) async fn an_empty_ledger_has_no_rows(store: &Held) {
    assert_eq!(load(store, 0).await, []);
}

pub(crate) async fn a_reservation_keeps_the_greater(store: &Held) {
    for (asked, kept) in [(50, 50), (100, 100), (50, 100), (100, 100)] {
        reserve(store, "a", DAY, asked).await;
        assert_eq!(load(store, DAY).await, [row("a", DAY, kept, None)]);
    }
    reserve(store, "b", DAY, u32::MAX).await;
    assert_eq!(
        load(store, DAY).await,
        [row("a", DAY, 100, None), row("b", DAY, u32::MAX, None)]
    );
}

pub(crate) async fn a_later_day_replaces_an_earlier_one_never_the_reverse(store: &Held) {
    reserve(store, "a", DAY, 500).await;
    reserve(store, "a", DAY + 1, 50).await;
    assert_eq!(load(store, 0).await, [row("a", DAY + 1, 50, None)]);
    reserve(store, "a", DAY, 900).await;
    assert_eq!(load(store, 0).await, [row("a", DAY + 1, 50, None)]);
    // A read begins with its day.
    assert_eq!(load(store, DAY + 1).await.len(), 1);
    assert_eq!(load(store, DAY + 2).await, []);
}

pub(crate) async fn a_reservation_forgets_the_bucket(store: &Held) {
    let settled = [
        row("a", DAY, 70, Some((1, 2))),
        row("b", DAY, 70, Some((3, 4))),
    ];
    store.settle(&settled).await.expect("written");
    reserve(store, "a", DAY, 50).await;
    assert_eq!(
        load(store, DAY).await,
        [row("a", DAY, 70, None), settled[1].clone()],
        "what was spent stays, where the bucket stood does not"
    );
}

pub(crate) async fn settling_replaces_the_whole_ledger(store: &Held) {
    reserve(store, "gone", DAY, 50).await;
    let exact = [
        row(
            "a",
            DAY,
            37,
            Some((9_007_199_254_740_991, 1_795_824_000_123_456)),
        ),
        row("b", DAY - 1, 0, None),
    ];
    store.settle(&exact).await.expect("written");
    assert_eq!(load(store, 0).await, exact);
    store.settle(&[]).await.expect("written");
    assert_eq!(load(store, 0).await, []);
}

pub(crate) async fn settling_is_all_or_nothing(store: &Held) {
    let before = [row("a", DAY, 37, Some((5, 6)))];
    store.settle(&before).await.expect("written");
    let twice = [row("b", DAY, 1, None), row("b", DAY, 2, None)];
    let beyond = [
        row("b", DAY, 1, None),
        row("c", DAY, 1, Some((u64::MAX, 0))),
    ];
    for refused in [&twice[..], &beyond[..]] {
        assert!(store.settle(refused).await.is_err());
        assert_eq!(load(store, 0).await, before);
    }
}

pub(crate) async fn a_great_ledger_settles(store: &Held) {
    let rows: BTreeMap<String, LedgerRow> = (0..5_003)
        .map(|n| {
            let account = format!("account {n:05}");
            (account.clone(), row(&account, DAY, n, Some((n.into(), 1))))
        })
        .collect();
    let rows: Vec<LedgerRow> = rows.into_values().collect();
    store.settle(&rows).await.expect("written");
    assert!(load(store, DAY).await == rows);
}

pub(crate) async fn reservations_at_once_keep_the_greatest(store: &Held) {
    let mut tasks = JoinSet::new();
    for n in 1..=20 {
        let ledger = store.spent_ledger();
        tasks.spawn(async move { ledger.reserve("a", DAY, n * 50).await });
    }
    for noted in tasks.join_all().await {
        noted.expect("noted");
    }
    assert_eq!(load(store, DAY).await, [row("a", DAY, 1_000, None)]);
}

pub(crate) async fn the_memory_engine_goes_on_where_it_stopped(store: &Held) {
    let clock = Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC)));
    let limits = Limits::default();
    let open = async || {
        let clock: Arc<dyn Clock> = clock.clone();
        MemoryQuota::open(clock, MemoryOptions::default(), store.spent_ledger())
            .await
            .expect("the ledger is read")
    };
    let spend = async |engine: &MemoryQuota, times: u32| {
        for _ in 0..times {
            let decision = engine.charge("a", Units::new(10), limits).await;
            let decision = decision.expect("the ledger answers");
            assert!(
                matches!(decision, Decision::Admitted { .. }),
                "{decision:?}"
            );
        }
    };
    let used = async |engine: &MemoryQuota| {
        let view = engine.peek("a", limits).await.expect("in memory");
        (view.day_used(), view.minute_remaining())
    };

    let engine = open().await;
    spend(&engine, 7).await;
    assert_eq!(used(&engine).await, (70, 170));
    // A crash: what was spent counts, and the rest of the block with it; nothing is given back.
    drop(engine);
    let engine = open().await;
    assert_eq!(used(&engine).await, (100, 0));

    // A minute later the bucket is known again, and a clean stop keeps all exactly.
    clock.advance(time::Duration::MINUTE);
    spend(&engine, 3).await;
    engine.close().await.expect("written");
    let engine = open().await;
    assert_eq!(used(&engine).await, (130, 210));

    // The next day begins at nothing spent.
    clock.advance(time::Duration::DAY);
    let engine = open().await;
    assert_eq!(used(&engine).await, (0, 240));
}
