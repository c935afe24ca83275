//! What the cases are made of.

use time::OffsetDateTime;
use time::macros::datetime;
use uuid::Uuid;

use crate::model::{
    Account, AccountId, AuditEntry, Environment, KeyHash, KeyId, KeyRecord, Overrides, Role, Tier,
};
use crate::traits::AccountStore;

/// A moment that loses something unless microseconds are kept.
pub(super) const MOMENT: OffsetDateTime = datetime!(2026-11-27 23:59:59.123456 UTC);

pub(super) fn an_account() -> Account {
    let id = Uuid::new_v4();
    Account {
        id: AccountId::from(id.to_string()),
        email: format!("{}@example.com", id.simple()),
        tier: Tier::Pro,
        role: Role::Developer,
        suspension: None,
        overrides: Overrides::default(),
        created_at: MOMENT,
    }
}

pub(super) fn a_key(account: &AccountId) -> KeyRecord {
    let id = Uuid::new_v4();
    let mut hash = [0; 32];
    for (byte, random) in hash.iter_mut().zip(
        id.into_bytes()
            .into_iter()
            .chain(Uuid::new_v4().into_bytes()),
    ) {
        *byte = random;
    }
    KeyRecord {
        id: KeyId::from(id.to_string()),
        account: account.clone(),
        name: "nightly \"import\" é".to_owned(),
        environment: Environment::Test,
        hash: KeyHash(hash),
        prefix: "svc_test_".to_owned(),
        last_four: "aZ09".to_owned(),
        created_at: MOMENT,
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    }
}

pub(super) fn a_line(account: &AccountId, action: &str, at: OffsetDateTime) -> AuditEntry {
    AuditEntry {
        at,
        actor: "command".to_owned(),
        action: action.to_owned(),
        account: account.clone(),
        detail: format!("detail of {action}"),
    }
}

pub(super) async fn with_account(store: &dyn AccountStore) -> Account {
    let account = an_account();
    store
        .create_account(&account, &a_line(&account.id, "account.create", MOMENT))
        .await
        .expect("an account with a fresh id and address");
    account
}

pub(super) async fn with_key(store: &dyn AccountStore, key: &KeyRecord) {
    store
        .insert_key(key, &a_line(&key.account, "key.create", MOMENT))
        .await
        .expect("a key with a fresh id and hash");
}

pub(super) async fn stored(store: &dyn AccountStore, id: &KeyId) -> KeyRecord {
    store
        .key(id)
        .await
        .expect("the store answers")
        .expect("the key is there")
}

pub(super) async fn actions(store: &dyn AccountStore, account: &AccountId) -> Vec<String> {
    let lines = store.audit(account, 100).await.expect("the store answers");
    lines.into_iter().map(|line| line.action).collect()
}
