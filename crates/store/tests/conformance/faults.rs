//! A database that is slow, away or busy, and callers that go away.

use std::time::{Duration, Instant};

use brownstone_accounts::model::{
    Account, AccountId, AuditEntry, KeyId, Overrides, Role, Tier, UsageBatch, UsageCounts, UsageKey,
};
use brownstone_accounts::traits::{AccountStore, StoreError, UsageStore};
use brownstone_domain::{Operation, Surface};
use brownstone_store::{Store, StoreOptions};
use time::macros::{date, datetime};

use crate::harness::Held;

/// Generous beyond the store's own time: it only has to tell "in time" from "never".
const LATEST: Duration = Duration::from_secs(10);

fn an_account(email: &str) -> Account {
    Account {
        id: AccountId::from(format!("id of {email}")),
        email: email.to_owned(),
        tier: Tier::Pro,
        role: Role::Developer,
        suspension: None,
        overrides: Overrides::default(),
        created_at: datetime!(2026-11-27 12:00 UTC),
    }
}

async fn create(store: &Store, account: &Account) -> Result<(), StoreError> {
    let line = AuditEntry {
        at: account.created_at,
        actor: "command".to_owned(),
        action: "account.create".to_owned(),
        account: account.id.clone(),
        detail: String::new(),
    };
    store.create_account(account, &line).await
}

fn a_counter() -> UsageKey {
    UsageKey {
        account: AccountId::from("a"),
        day: date!(2026 - 11 - 27),
        key: KeyId::from("k"),
        surface: Surface::Rest,
        operation: Operation::LookupProperty,
    }
}

fn impatient() -> StoreOptions {
    StoreOptions {
        answer_within: Duration::from_millis(200),
        connections: 2,
    }
}

pub(crate) async fn a_locked_database_is_an_error_in_time_and_nothing_stays_of_it(held: &Held) {
    let store = held.again(&impatient());
    let account = an_account("locked@example.com");
    let outsider = held.outsider().await;
    outsider.lock().await;

    let begun = Instant::now();
    // More than there are connections.
    for _ in 0..4 {
        let refused = create(&store, &account).await;
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }
    assert!(begun.elapsed() < LATEST, "{:?}", begun.elapsed());
    // Reading goes on.
    let found = held.account(&account.id).await.expect("an answer");
    assert_eq!(found, None);

    outsider.run("ROLLBACK").await;
    // A store with time enough: the one before may have to wait for the driver to let go of the file.
    create(held, &account).await.expect("the lock is gone");
    let lines = held.audit(&account.id, 10).await.expect("an answer");
    assert_eq!(lines.len(), 1, "nothing of the others was kept");
}

pub(crate) async fn callers_who_go_away_leave_a_store_that_works(held: &Held) {
    let key = a_counter();
    let counts = UsageCounts {
        calls: 1,
        units: 10,
        ..UsageCounts::default()
    };
    let begun = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let callers: Vec<_> = (0..30)
        .map(|_| {
            let (usage, key, begun) = (held.usage(), key.clone(), begun.clone());
            tokio::spawn(async move {
                begun.add_permits(1);
                usage
                    .add_usage(&UsageBatch::first(), &[(key, counts)])
                    .await
            })
        })
        .collect();
    // Each was polled once at least before it is cut off, some to their end.
    let all = begun.acquire_many(30).await.expect("open");
    drop(all);
    for caller in &callers {
        caller.abort();
    }
    for caller in callers {
        if let Ok(outcome) = caller.await {
            outcome.expect("kept");
        }
    }
    // The store works at once, on each of its connections, and counted nothing by halves.
    for _ in 0..10 {
        held.add_usage(&UsageBatch::first(), &[(key.clone(), counts)])
            .await
            .expect("kept");
    }
    let rows = held
        .usage_since(&key.account, key.day)
        .await
        .expect("an answer");
    assert_eq!(rows.len(), 1);
    let sum = rows[0].1;
    assert!((10..=40).contains(&sum.calls), "{sum:?}");
    assert_eq!(sum.units, sum.calls * 10);
}

pub(crate) async fn a_store_serves_other_runtimes_and_outlives_them(held: &Held) {
    // As a server's worker does: a runtime of one thread that ends with calls under way.
    for round in 0..4 {
        let store = (**held).clone();
        let worker = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let under_way = store.clone();
                tokio::spawn(async move {
                    let account = an_account(&format!("under-way-{round}@example.com"));
                    create(&under_way, &account).await
                });
                tokio::task::yield_now().await;
                create(&store, &an_account(&format!("worker-{round}@example.com"))).await
            })
        });
        let outcome = tokio::task::spawn_blocking(move || worker.join())
            .await
            .expect("it joins");
        outcome.expect("no panic").expect("the account is made");
        let email = format!("worker-{round}@example.com");
        let found = held.account_by_email(&email).await.expect("an answer");
        assert!(found.is_some());
    }
}

pub(crate) async fn readers_do_not_wait_for_a_writer(held: &Held) {
    let account = an_account("reader@example.com");
    create(held, &account).await.expect("made");
    let outsider = held.outsider().await;
    outsider.lock().await;
    // Writers in number wait for the outsider; readers find connections all the same.
    let writers: Vec<_> = (0..20)
        .map(|n| {
            let store = (**held).clone();
            tokio::spawn(
                async move { create(&store, &an_account(&format!("{n}@example.com"))).await },
            )
        })
        .collect();
    let found = held.account(&account.id).await;
    outsider.run("ROLLBACK").await;
    assert_eq!(found.expect("an answer"), Some(account));
    for writer in writers {
        writer.await.expect("no panic").expect("made");
    }
}
