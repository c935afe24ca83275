//! Cases of [`UsageStore`]. Counters stand on their own: the cases count for accounts that no table has.

use brownstone_domain::{Operation, Surface};
use time::macros::date;
use time::{Date, Duration};
use uuid::Uuid;

use crate::model::{AccountId, KeyId, UsageBatch, UsageCounts, UsageKey};
use crate::traits::{StoreError, UsageStore};

const DAY: Date = date!(2026 - 11 - 27);

fn a_counter() -> UsageKey {
    UsageKey {
        account: AccountId::from(Uuid::new_v4().to_string()),
        day: DAY,
        key: KeyId::from(Uuid::new_v4().to_string()),
        surface: Surface::Rest,
        operation: Operation::LookupProperty,
    }
}

/// Counts whose five numbers all differ.
fn counts(n: u64) -> UsageCounts {
    UsageCounts {
        calls: n,
        failed: n + 1,
        units: n + 2,
        rate_limited: n + 3,
        permanent: n + 4,
    }
}

/// Adds a batch that nobody sent before.
async fn add(store: &dyn UsageStore, counts: &[(UsageKey, UsageCounts)]) -> Result<(), StoreError> {
    store.add_usage(&UsageBatch::first(), counts).await
}

async fn read(
    store: &dyn UsageStore,
    account: &AccountId,
    from: Date,
) -> Vec<(UsageKey, UsageCounts)> {
    let mut rows = store
        .usage_since(account, from)
        .await
        .expect("the store answers");
    rows.sort_by_key(|(_, counts)| counts.calls);
    rows
}

/// Counts add up over batches and within one; an empty batch is no error.
pub async fn counts_accumulate(store: &dyn UsageStore) {
    let key = a_counter();
    assert!(read(store, &key.account, DAY).await.is_empty());
    add(store, &[]).await.expect("nothing to do");
    add(store, &[(key.clone(), counts(1))]).await.expect("kept");
    add(
        store,
        &[(key.clone(), counts(10)), (key.clone(), counts(100))],
    )
    .await
    .expect("kept");
    let sum = UsageCounts {
        calls: 111,
        failed: 114,
        units: 117,
        rate_limited: 120,
        permanent: 123,
    };
    assert_eq!(read(store, &key.account.clone(), DAY).await, [(key, sum)]);
}

/// Day, key, surface and operation each make a counter of their own.
pub async fn every_part_of_the_key_counts_apart(store: &dyn UsageStore) {
    let base = a_counter();
    let mut rows: Vec<_> = [
        base.clone(),
        UsageKey {
            day: DAY + Duration::DAY,
            ..base.clone()
        },
        UsageKey {
            key: KeyId::from(Uuid::new_v4().to_string()),
            ..base.clone()
        },
        UsageKey {
            surface: Surface::Mcp,
            ..base.clone()
        },
        UsageKey {
            surface: Surface::Web,
            ..base.clone()
        },
        UsageKey {
            operation: Operation::GetUsage,
            ..base.clone()
        },
    ]
    .into_iter()
    .zip(1..)
    .map(|(key, n)| (key, counts(n)))
    .collect();
    add(store, &rows).await.expect("kept");
    rows.sort_by_key(|(_, counts)| counts.calls);
    assert_eq!(read(store, &base.account, DAY).await, rows);
}

/// A read has its first day and all later ones, and no other account's.
pub async fn a_read_begins_with_its_day_and_is_of_one_account(store: &dyn UsageStore) {
    let base = a_counter();
    let stranger = a_counter();
    let on = |shift| UsageKey {
        day: DAY + Duration::days(shift),
        ..base.clone()
    };
    add(
        store,
        &[
            (on(-1), counts(1)),
            (on(0), counts(2)),
            (on(40), counts(3)),
            (stranger, counts(4)),
        ],
    )
    .await
    .expect("kept");
    assert_eq!(
        read(store, &base.account, DAY).await,
        [(on(0), counts(2)), (on(40), counts(3))]
    );
}

/// Counts beyond 32 bits survive.
pub async fn great_counts_survive(store: &dyn UsageStore) {
    let key = a_counter();
    let great = counts(9_007_199_254_740_993);
    add(store, &[(key.clone(), great)]).await.expect("kept");
    assert_eq!(read(store, &key.account.clone(), DAY).await, [(key, great)]);
}

/// Either the whole batch is kept or an error says that nothing is; a counter beyond 63 bits, which not every database can hold, may
/// be refused.
pub async fn a_batch_is_kept_whole_or_not_at_all(store: &dyn UsageStore) {
    let first = a_counter();
    let too_great = UsageKey {
        surface: Surface::Mcp,
        ..first.clone()
    };
    let batch = [
        (first.clone(), counts(1)),
        (
            too_great,
            UsageCounts {
                units: u64::MAX,
                ..UsageCounts::default()
            },
        ),
    ];
    let outcome = add(store, &batch).await;
    let kept = read(store, &first.account, DAY).await;
    let expected = if outcome.is_ok() { 2 } else { 0 };
    assert_eq!(kept.len(), expected, "{outcome:?}");
}

/// Writers of the same counters in opposite orders neither lose a count nor block each other for good.
pub async fn batches_at_the_same_time_lose_nothing(store: &dyn UsageStore) {
    let first = a_counter();
    let second = UsageKey {
        operation: Operation::GetComps,
        ..first.clone()
    };
    let there = [(first.clone(), counts(1)), (second.clone(), counts(1))];
    let back = [(second, counts(1)), (first.clone(), counts(1))];
    for _ in 0..8 {
        let (a, b, c, d) = tokio::join!(
            add(store, &there),
            add(store, &back),
            add(store, &there),
            add(store, &back),
        );
        for outcome in [a, b, c, d] {
            outcome.expect("kept");
        }
    }
    let rows = read(store, &first.account, DAY).await;
    assert_eq!(rows.len(), 2);
    for (key, sum) in rows {
        assert_eq!((sum.calls, sum.permanent), (32, 160), "{key:?}");
    }
}

/// A batch is added once, however often it is sent, and also when two send it at the same time; its writer's next one, and another
/// writer's of the same number, count.
pub async fn a_batch_sent_again_counts_once(store: &dyn UsageStore) {
    let key = a_counter();
    let (first, stranger) = (UsageBatch::first(), UsageBatch::first());
    let one = [(key.clone(), counts(1))];
    let (a, b) = tokio::join!(store.add_usage(&first, &one), store.add_usage(&first, &one));
    a.and(b).expect("kept");
    store.add_usage(&first, &one).await.expect("no error");
    let calls = async || read(store, &key.account, DAY).await[0].1.calls;
    assert_eq!(calls().await, 1);
    store
        .add_usage(&first.next(), &one)
        .await
        .expect("the next");
    store
        .add_usage(&stranger, &one)
        .await
        .expect("another writer's");
    assert_eq!(calls().await, 3);
    store.add_usage(&first, &one).await.expect("long kept");
    assert_eq!(calls().await, 3);
}

/// A batch that was refused was not kept, so it counts when it is sent again.
pub async fn a_batch_that_was_refused_may_be_sent_again(store: &dyn UsageStore) {
    let key = a_counter();
    let batch = UsageBatch::first();
    let too_great = UsageCounts {
        units: u64::MAX,
        ..UsageCounts::default()
    };
    if store
        .add_usage(&batch, &[(key.clone(), too_great)])
        .await
        .is_err()
    {
        store
            .add_usage(&batch, &[(key.clone(), counts(1))])
            .await
            .expect("kept");
        assert_eq!(read(store, &key.account, DAY).await[0].1, counts(1));
    }
}
