//! Cases of [`RequestStore`].

use brownstone_domain::{Operation, Surface};
use time::Duration;
use uuid::Uuid;

use super::fixtures::MOMENT;
use crate::model::{AccountId, KeyId};
use crate::requests::{RequestLine, RequestStore};

fn some(account: &AccountId, count: u32) -> Vec<RequestLine> {
    (0..count)
        .map(|n| RequestLine {
            id: Uuid::now_v7().to_string().into(),
            account: account.clone(),
            at: MOMENT + Duration::seconds(i64::from(n)),
            key: KeyId::from("a key"),
            surface: Surface::Mcp,
            operation: Operation::SearchListings,
            outcome: "rate_limited".into(),
            units: u64::from(n),
        })
        .collect()
}

fn fresh() -> AccountId {
    AccountId::from(Uuid::new_v4().to_string())
}

/// Every field is read back, the newest first, of one account, no more than asked for.
pub async fn requests_come_back_whole_and_newest_first(store: &dyn RequestStore) {
    let (account, other) = (fresh(), fresh());
    let (lines, others) = (some(&account, 3), some(&other, 1));
    let both: Vec<_> = lines.iter().chain(&others).cloned().collect();
    store.add_requests(&both, 10).await.expect("kept");
    let found = store.requests(&account, 10).await.expect("an answer");
    let reversed: Vec<_> = lines.iter().rev().cloned().collect();
    assert_eq!(found, reversed);
    let two = store.requests(&account, 2).await.expect("an answer");
    assert_eq!(two.as_slice(), reversed.get(..2).expect("three"));
    let first = lines.first().expect("three");
    let one = store.request(first.id.as_str()).await.expect("an answer");
    assert_eq!(one.as_ref(), Some(first));
    assert_eq!(store.request("none").await.expect("an answer"), None);
}

/// Of each account the newest are kept; a line that is sent again is there once.
pub async fn the_newest_requests_are_kept(store: &dyn RequestStore) {
    let (account, other) = (fresh(), fresh());
    let lines = some(&account, 25);
    store
        .add_requests(&some(&other, 3), 10)
        .await
        .expect("kept");
    for part in lines.chunks(8) {
        store.add_requests(part, 10).await.expect("kept");
        store.add_requests(part, 10).await.expect("kept once");
    }
    let found = store.requests(&account, 100).await.expect("an answer");
    let newest: Vec<_> = lines.iter().rev().take(10).cloned().collect();
    assert_eq!(found, newest);
    let others = store.requests(&other, 100).await.expect("an answer");
    assert_eq!(others.len(), 3);
}

/// A purge takes what is from before, and nothing else.
pub async fn old_requests_are_purged(store: &dyn RequestStore) {
    let account = fresh();
    // Far in the past, so that the cases that share this database lose nothing.
    let lines: Vec<_> = some(&account, 3)
        .into_iter()
        .map(|line| RequestLine {
            at: line.at - Duration::days(3_650),
            ..line
        })
        .collect();
    store.add_requests(&lines, 10).await.expect("kept");
    let second = lines.get(1).expect("three").at;
    assert!(store.purge_requests(second).await.expect("an answer") >= 1);
    let left = store.requests(&account, 10).await.expect("an answer");
    assert_eq!(left.len(), 2);
}
