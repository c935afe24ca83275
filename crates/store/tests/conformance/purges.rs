//! Rows that nobody asks for any more go.

use std::time::Duration;

use brownstone_accounts::model::{AccountId, KeyId, UsageBatch, UsageCounts, UsageKey};
use brownstone_accounts::sign_in::{
    Before, Grounds, PasswordHash, Session, SignInStore, TokenHash,
};
use brownstone_accounts::traits::UsageStore;
use brownstone_accounts::{Account, AuditEntry, Overrides, Role, Tier};
use brownstone_domain::{Operation, Surface};
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

/// An account whose owner is signed in.
async fn signed_in(held: &Held, account: &Account, password: &PasswordHash) -> Session {
    let session = Session {
        id: "session".to_owned(),
        hash: TokenHash([7; 32]),
        account: account.id.clone(),
        created_at: NOW,
        last_seen_at: NOW,
        authenticated_at: NOW,
        expires_at: NOW + HOUR,
        address: "192.0.2.1".to_owned(),
        agent: "a browser".to_owned(),
    };
    held.open_account(account, password, &line(account, "account.create"))
        .await
        .expect("a fresh database");
    let grounds = Grounds {
        password: Some(password),
        before: Before::Nothing,
    };
    held.insert_session(&session, grounds, &line(account, "session.start"))
        .await
        .expect("begun");
    session
}

fn line(account: &Account, action: &str) -> AuditEntry {
    AuditEntry {
        at: NOW,
        actor: account.id.as_str().to_owned(),
        action: action.to_owned(),
        account: account.id.clone(),
        detail: String::new(),
    }
}

/// The ledger's row goes and, on PostgreSQL, the record that instances share. A memory engine that still holds the account's budget is told
/// nothing: it writes the row anew at a clean stop, until the budget is idle.
pub(crate) async fn an_erased_account_leaves_no_budget(held: &Held) {
    let account = Account {
        id: AccountId::from("erased"),
        email: "ada@example.com".to_owned(),
        tier: Tier::Pro,
        role: Role::Developer,
        suspension: None,
        overrides: Overrides::default(),
        created_at: NOW,
    };
    let password = PasswordHash::from("a hash".to_owned());
    let session = signed_in(held, &account, &password).await;
    let outsider = held.outsider().await;
    let ledger = held.spent_ledger();
    let (id, columns) = (
        account.id.as_str(),
        "(account, deficit, last_us, day, spent, ceiling)",
    );
    let in_postgres = !matches!(outsider, Outsider::Sqlite(_));
    for account in [id, "other"] {
        ledger.reserve(account, 1, 50).await.expect("noted");
        if in_postgres {
            let values = format!("('{account}', 1, 1, 1, 1, 1)");
            outsider
                .run(&format!("INSERT INTO quota {columns} VALUES {values}"))
                .await;
        }
    }
    held.erase_account(&password, &session.hash, &line(&account, "account.erase"))
        .await
        .expect("erased");
    let rows = ledger.load(0).await.expect("an answer");
    let left: Vec<&str> = rows.iter().map(|row| row.account.as_str()).collect();
    assert_eq!(left, ["other"]);
    if in_postgres {
        let budgets = [held.quota_row(id).await, held.quota_row("other").await];
        assert_eq!(budgets.map(|rows| rows.len()), [0, 1]);
    }
}
