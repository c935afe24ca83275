//! Rows that nobody asks for any more go.

use std::sync::Arc;
use std::time::Duration;

use brownstone_accounts::model::{AccountId, KeyId, UsageBatch, UsageCounts, UsageKey};
use brownstone_accounts::sign_in::SignInStore;
use brownstone_accounts::traits::UsageStore;
use brownstone_accounts::{Accounts, Actor, AuditEntry, Environment, Role, Tier};
use brownstone_domain::{Operation, Surface, SystemClock};
use brownstone_report_cache::traits::Lease;
use time::macros::{date, datetime};
use time::{Date, OffsetDateTime};

use crate::harness::{Held, Outsider};

const FIRST_KEPT: Date = date!(2026 - 01 - 01);
const NOW: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);
const HOUR: Duration = Duration::from_hours(1);
const MICRO: Duration = Duration::from_micros(1);

fn counter(account: &str, day: Date) -> (UsageKey, UsageCounts) {
    let key = UsageKey {
        account: AccountId::from(account),
        day,
        key: KeyId::from("k"),
        surface: Surface::Rest,
        operation: Operation::LookupProperty,
    };
    let counts = UsageCounts {
        calls: 1,
        units: 10,
        ..UsageCounts::default()
    };
    (key, counts)
}

async fn days(held: &Held, account: &str) -> Vec<Date> {
    let rows = held
        .usage_since(&AccountId::from(account), date!(2000 - 01 - 01))
        .await
        .expect("an answer");
    rows.into_iter().map(|(key, _)| key.day).collect()
}

pub(crate) async fn counters_of_days_long_ago_go_and_the_others_stay(held: &Held) {
    let eve = FIRST_KEPT.previous_day().expect("a day");
    let counters = [
        counter("both", date!(2020 - 02 - 29)),
        counter("both", eve),
        counter("both", FIRST_KEPT),
        counter("new", FIRST_KEPT),
        counter("old", eve),
    ];
    held.add_usage(&UsageBatch::first(), &counters)
        .await
        .expect("kept");
    assert_eq!(held.purge_usage(FIRST_KEPT).await.expect("an answer"), 3);
    assert_eq!(days(held, "both").await, [FIRST_KEPT]);
    assert_eq!(days(held, "new").await, [FIRST_KEPT]);
    assert_eq!(days(held, "old").await, []);
    assert_eq!(held.purge_usage(FIRST_KEPT).await.expect("an answer"), 0);
}

pub(crate) async fn a_lease_goes_a_day_after_its_end(held: &Held) {
    for (name, ttl) in [("gone", HOUR - MICRO), ("ended", HOUR), ("held", HOUR * 48)] {
        let taken = held.acquire(name, "a", ttl, Some(NOW)).await;
        assert!(taken.expect("an answer"));
    }
    let day_after = NOW + HOUR + HOUR * 24;
    let gone = held.purge_leases(Some(day_after)).await;
    assert_eq!(gone.expect("an answer"), 1);
    let held_still = held.acquire("held", "b", HOUR, Some(day_after)).await;
    assert!(!held_still.expect("an answer"), "it has not ended");
    let gone = held.purge_leases(Some(day_after + MICRO)).await;
    assert_eq!(gone.expect("an answer"), 1);
}

pub(crate) async fn by_the_stores_clock_a_lease_that_ended_now_stays(held: &Held) {
    let taken = held.acquire("report", "a", Duration::ZERO, None).await;
    assert!(taken.expect("an answer"));
    let yesterday = OffsetDateTime::now_utc() - HOUR * 30;
    let taken = held.acquire("old", "a", HOUR, Some(yesterday)).await;
    assert!(taken.expect("an answer"));
    assert_eq!(held.purge_leases(None).await.expect("an answer"), 1);
    let lasts = held.renew("old", "a", HOUR, Some(yesterday)).await;
    assert!(!lasts.expect("an answer"), "it is gone");
}

/// On SQLite the budgets are in the ledger, whose row goes too.
pub(crate) async fn an_erased_account_leaves_no_budget(held: &Held) {
    let accounts = Accounts::new(held.accounts(), Arc::new(SystemClock), Environment::Test);
    let made = accounts
        .create(
            "ada@example.com",
            Tier::Pro,
            Role::Developer,
            Actor::Command,
        )
        .await
        .expect("a fresh database");
    let outsider = held.outsider().await;
    let (id, columns) = (
        made.id.as_str(),
        "(account, deficit, last_us, day, spent, ceiling)",
    );
    let in_postgres = !matches!(outsider, Outsider::Sqlite(_));
    if in_postgres {
        for account in [id, "other"] {
            let values = format!("('{account}', 1, 1, 1, 1, 1)");
            outsider
                .run(&format!("INSERT INTO quota {columns} VALUES {values}"))
                .await;
        }
    }
    let line = AuditEntry {
        at: NOW,
        actor: "command".to_owned(),
        action: "account.erase".to_owned(),
        account: made.id.clone(),
        detail: String::new(),
    };
    held.erase_account(&line).await.expect("erased");
    if in_postgres {
        let budgets = [held.quota_row(id).await, held.quota_row("other").await];
        assert_eq!(budgets.map(|rows| rows.len()), [0, 1]);
    }
}
