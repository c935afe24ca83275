//! Cases of [`AccountStore`](crate::traits::AccountStore).

use brownstone_domain::Limits;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use crate::model::{
    Account, AccountId, AuditEntry, Environment, KeyHash, KeyId, KeyRecord, Overrides, Role,
    Suspension, Tier,
};
use crate::traits::{AccountStore, StoreError};

/// A moment that loses something unless microseconds are kept.
const MOMENT: OffsetDateTime = datetime!(2026-11-27 23:59:59.123456 UTC);

fn an_account() -> Account {
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

fn a_key(account: &AccountId) -> KeyRecord {
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

fn a_line(account: &AccountId, action: &str, at: OffsetDateTime) -> AuditEntry {
    AuditEntry {
        at,
        actor: "command".to_owned(),
        action: action.to_owned(),
        account: account.clone(),
        detail: format!("detail of {action}"),
    }
}

async fn with_account(store: &dyn AccountStore) -> Account {
    let account = an_account();
    store
        .create_account(&account, &a_line(&account.id, "account.create", MOMENT))
        .await
        .expect("an account with a fresh id and address");
    account
}

async fn with_key(store: &dyn AccountStore, key: &KeyRecord) {
    store
        .insert_key(key, &a_line(&key.account, "key.create", MOMENT))
        .await
        .expect("a key with a fresh id and hash");
}

async fn stored(store: &dyn AccountStore, id: &KeyId) -> KeyRecord {
    store
        .key(id)
        .await
        .expect("the store answers")
        .expect("the key is there")
}

async fn actions(store: &dyn AccountStore, account: &AccountId) -> Vec<String> {
    let lines = store.audit(account, 100).await.expect("the store answers");
    lines.into_iter().map(|line| line.action).collect()
}

/// Every field is read back as written, microseconds included, by id and by e-mail address; an unknown one is `None`.
pub async fn accounts_come_back_whole(store: &dyn AccountStore) {
    for (tier, role) in [
        (Tier::Free, Role::Support),
        (Tier::Pro, Role::Developer),
        (Tier::Pro, Role::Admin),
    ] {
        let account = Account {
            tier,
            role,
            suspension: Some(Suspension {
                at: MOMENT + Duration::MICROSECOND,
                reason: "unpaid; asked twice é".to_owned(),
            }),
            overrides: Overrides {
                per_minute: Some(0),
                per_day: None,
            },
            ..an_account()
        };
        store
            .create_account(&account, &a_line(&account.id, "account.create", MOMENT))
            .await
            .expect("a fresh account");
        let by_id = store.account(&account.id).await.expect("an answer");
        assert_eq!(by_id.as_ref(), Some(&account));
        let by_email = store
            .account_by_email(&account.email)
            .await
            .expect("an answer");
        assert_eq!(by_email.as_ref(), Some(&account));
    }
    let stranger = an_account();
    assert_eq!(store.account(&stranger.id).await.expect("an answer"), None);
    assert_eq!(
        store
            .account_by_email(&stranger.email)
            .await
            .expect("an answer"),
        None
    );
}

/// A second account with an address that is in use is refused, and nothing of it stays.
pub async fn an_email_address_belongs_to_one_account(store: &dyn AccountStore) {
    let first = with_account(store).await;
    let second = Account {
        email: first.email.clone(),
        ..an_account()
    };
    let refused = store
        .create_account(&second, &a_line(&second.id, "account.create", MOMENT))
        .await;
    assert!(
        matches!(refused, Err(StoreError::EmailTaken)),
        "{refused:?}"
    );
    assert_eq!(store.account(&second.id).await.expect("an answer"), None);
    assert!(actions(store, &second.id).await.is_empty());
    let owner = store
        .account_by_email(&first.email)
        .await
        .expect("an answer");
    assert_eq!(owner, Some(first));
}

/// A suspension is kept with moment and reason, replaced by the next, lifted by `None`; other accounts are left alone.
pub async fn a_suspension_is_set_replaced_and_lifted(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let other = with_account(store).await;
    let mut suspension = Suspension {
        at: MOMENT,
        reason: "first".to_owned(),
    };
    for reason in ["first", "second"] {
        suspension.reason = reason.to_owned();
        store
            .set_suspension(
                &account.id,
                Some(&suspension),
                &a_line(&account.id, "account.suspend", MOMENT),
            )
            .await
            .expect("the account is there");
        let found = store.account(&account.id).await.expect("an answer");
        assert_eq!(
            found.and_then(|found| found.suspension),
            Some(suspension.clone())
        );
    }
    let found = store.account(&other.id).await.expect("an answer");
    assert_eq!(found, Some(other));
    store
        .set_suspension(
            &account.id,
            None,
            &a_line(&account.id, "account.restore", MOMENT),
        )
        .await
        .expect("the account is there");
    let found = store.account(&account.id).await.expect("an answer");
    assert_eq!(found, Some(account));
}

/// Both ceilings are replaced at once, `None` clears, and the greatest values (more than 31 bits) survive.
pub async fn ceilings_are_replaced_both_and_hold_the_greatest_values(store: &dyn AccountStore) {
    let account = with_account(store).await;
    for overrides in [
        Overrides {
            per_minute: Some(Limits::MAX_PER_MINUTE),
            per_day: Some(Limits::MAX_PER_DAY),
        },
        Overrides {
            per_minute: None,
            per_day: Some(0),
        },
        Overrides::default(),
    ] {
        store
            .set_overrides(
                &account.id,
                overrides,
                &a_line(&account.id, "limits.set", MOMENT),
            )
            .await
            .expect("the account is there");
        let found = store.account(&account.id).await.expect("an answer");
        assert_eq!(found.map(|found| found.overrides), Some(overrides));
    }
}

/// Every field of a key is read back as written; by its hash it comes with its account as that is now.
pub async fn keys_come_back_whole_and_by_hash_with_their_account(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let key = KeyRecord {
        environment: Environment::Live,
        prefix: "svc_live_".to_owned(),
        expires_at: Some(MOMENT + Duration::microseconds(1)),
        revoked_at: Some(MOMENT + Duration::microseconds(2)),
        last_used_at: Some(MOMENT + Duration::microseconds(3)),
        ..a_key(&account.id)
    };
    with_key(store, &key).await;
    let plain = a_key(&account.id);
    with_key(store, &plain).await;
    assert_eq!(stored(store, &key.id).await, key);
    assert_eq!(stored(store, &plain.id).await, plain);

    let suspension = Suspension {
        at: MOMENT,
        reason: "abuse".to_owned(),
    };
    store
        .set_suspension(
            &account.id,
            Some(&suspension),
            &a_line(&account.id, "account.suspend", MOMENT),
        )
        .await
        .expect("the account is there");
    let suspended = Account {
        suspension: Some(suspension),
        ..account
    };
    for key in [key, plain] {
        let found = store.key_by_hash(&key.hash).await.expect("an answer");
        assert_eq!(found, Some((key, suspended.clone())));
    }
    let stranger = a_key(&suspended.id);
    assert_eq!(
        store.key_by_hash(&stranger.hash).await.expect("an answer"),
        None
    );
    assert_eq!(store.key(&stranger.id).await.expect("an answer"), None);
}

/// A key of an account that is not there is refused, and nothing of it stays.
pub async fn a_key_needs_its_account(store: &dyn AccountStore) {
    let nobody = an_account().id;
    let key = a_key(&nobody);
    let refused = store
        .insert_key(&key, &a_line(&nobody, "key.create", MOMENT))
        .await;
    assert!(
        matches!(refused, Err(StoreError::NotFound(_))),
        "{refused:?}"
    );
    assert_eq!(store.key(&key.id).await.expect("an answer"), None);
    assert!(actions(store, &nobody).await.is_empty());
}

/// A list holds all keys of one account by their time of making, whatever the order they were added in.
pub async fn keys_are_listed_oldest_first_and_ended_ones_too(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let other = with_account(store).await;
    with_key(store, &a_key(&other.id)).await;
    let mut made = Vec::new();
    for micros in [2_i64, 0, 1] {
        let key = KeyRecord {
            created_at: MOMENT + Duration::microseconds(micros),
            revoked_at: (micros == 0).then_some(MOMENT),
            expires_at: (micros == 1).then_some(MOMENT),
            ..a_key(&account.id)
        };
        with_key(store, &key).await;
        made.push(key);
    }
    made.sort_by_key(|key| key.created_at);
    assert_eq!(store.keys(&account.id).await.expect("an answer"), made);
    let nobody = an_account().id;
    assert!(store.keys(&nobody).await.expect("an answer").is_empty());
}

/// A rotation adds the new key, ends the old one at the moment given, and touches nothing else.
pub async fn a_rotation_adds_the_new_key_and_ends_the_old(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let (old, bystander, new) = (a_key(&account.id), a_key(&account.id), a_key(&account.id));
    with_key(store, &old).await;
    with_key(store, &bystander).await;
    let ends_at = MOMENT + Duration::days(7) + Duration::MICROSECOND;
    store
        .rotate_key(
            &old.id,
            ends_at,
            &new,
            &a_line(&account.id, "key.rotate", MOMENT),
        )
        .await
        .expect("the old key is there");
    assert_eq!(stored(store, &new.id).await, new);
    assert_eq!(stored(store, &bystander.id).await, bystander);
    let ended = KeyRecord {
        expires_at: Some(ends_at),
        ..old
    };
    assert_eq!(stored(store, &ended.id).await, ended);
    assert!(
        actions(store, &account.id)
            .await
            .contains(&"key.rotate".to_owned())
    );
}

/// A second rotation may bring the old key's end forward, never put it off.
pub async fn a_rotation_never_moves_an_end_later(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let old = a_key(&account.id);
    with_key(store, &old).await;
    for (asked, kept) in [(3, 3), (5, 3), (1, 1), (2, 1)] {
        store
            .rotate_key(
                &old.id,
                MOMENT + Duration::hours(asked),
                &a_key(&account.id),
                &a_line(&account.id, "key.rotate", MOMENT),
            )
            .await
            .expect("the old key is there");
        assert_eq!(
            stored(store, &old.id).await.expires_at,
            Some(MOMENT + Duration::hours(kept)),
            "asked for {asked} hours"
        );
    }
}

/// When either half of a rotation cannot be done, neither is, and no audit line stays.
pub async fn a_rotation_happens_whole_or_not_at_all(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let line = a_line(&account.id, "key.rotate", MOMENT);
    let ends_at = MOMENT + Duration::HOUR;

    let new = a_key(&account.id);
    let unknown = a_key(&account.id).id;
    let refused = store.rotate_key(&unknown, ends_at, &new, &line).await;
    assert!(
        matches!(refused, Err(StoreError::NotFound(_))),
        "{refused:?}"
    );
    assert_eq!(store.key(&new.id).await.expect("an answer"), None);

    let (old, neighbour) = (a_key(&account.id), a_key(&account.id));
    with_key(store, &old).await;
    with_key(store, &neighbour).await;
    let same_hash = KeyRecord {
        hash: neighbour.hash,
        ..a_key(&account.id)
    };
    let same_id = KeyRecord {
        id: neighbour.id.clone(),
        ..a_key(&account.id)
    };
    for new in [same_hash, same_id] {
        assert!(
            store
                .rotate_key(&old.id, ends_at, &new, &line)
                .await
                .is_err()
        );
        assert_eq!(stored(store, &old.id).await, old, "the old key still ends");
        assert_eq!(stored(store, &neighbour.id).await, neighbour);
    }
    assert!(
        !actions(store, &account.id)
            .await
            .contains(&"key.rotate".to_owned())
    );
}

/// The first revocation's moment stays, also against an earlier one; an unknown key is [`StoreError::NotFound`].
pub async fn a_revocation_keeps_its_first_moment(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let key = a_key(&account.id);
    with_key(store, &key).await;
    let line = a_line(&account.id, "key.revoke", MOMENT);
    for shift in [0, 60, -60] {
        store
            .revoke_key(&key.id, MOMENT + Duration::seconds(shift), &line)
            .await
            .expect("the key is there");
        assert_eq!(stored(store, &key.id).await.revoked_at, Some(MOMENT));
    }
    let unknown = a_key(&account.id).id;
    let refused = store.revoke_key(&unknown, MOMENT, &line).await;
    assert!(
        matches!(refused, Err(StoreError::NotFound(_))),
        "{refused:?}"
    );
}

/// Lines come newest first, of one moment the one written last first; every field survives; no more than asked for.
pub async fn the_audit_trail_is_newest_first_and_limited(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let other = with_account(store).await;
    let mut written = vec![a_line(&account.id, "account.create", MOMENT)];
    for (micros, action) in [
        (1, "limits.set"),
        (2, "limits.clear"),
        (2, "limits.set"),
        (3, "limits.clear"),
    ] {
        let line = a_line(&account.id, action, MOMENT + Duration::microseconds(micros));
        store
            .set_overrides(&account.id, Overrides::default(), &line)
            .await
            .expect("the account is there");
        written.push(line);
    }
    written.reverse();
    let all = store.audit(&account.id, 100).await.expect("an answer");
    assert_eq!(all, written);
    let newest = store.audit(&account.id, 2).await.expect("an answer");
    assert_eq!(newest.as_slice(), written.get(..2).expect("five lines"));
    assert!(
        store
            .audit(&account.id, 0)
            .await
            .expect("an answer")
            .is_empty()
    );
    assert_eq!(actions(store, &other.id).await, ["account.create"]);
}

/// A change on an account that is not there is [`StoreError::NotFound`], and the trail does not tell of it.
pub async fn a_change_that_fails_leaves_no_audit_line(store: &dyn AccountStore) {
    let nobody = an_account().id;
    let line = a_line(&nobody, "account.suspend", MOMENT);
    let suspension = Suspension {
        at: MOMENT,
        reason: "r".to_owned(),
    };
    for refused in [
        store
            .set_suspension(&nobody, Some(&suspension), &line)
            .await,
        store.set_suspension(&nobody, None, &line).await,
        store
            .set_overrides(&nobody, Overrides::default(), &line)
            .await,
    ] {
        assert!(
            matches!(refused, Err(StoreError::NotFound(_))),
            "{refused:?}"
        );
    }
    assert!(actions(store, &nobody).await.is_empty());
}

/// A note of last use moves forward only; unknown keys and an empty list are no error.
pub async fn last_use_never_moves_back(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let (first, second) = (a_key(&account.id), a_key(&account.id));
    with_key(store, &first).await;
    with_key(store, &second).await;
    let unknown = a_key(&account.id).id;
    store.touch_keys(&[]).await.expect("nothing to do");
    store
        .touch_keys(&[
            (unknown, MOMENT),
            (first.id.clone(), MOMENT),
            (second.id.clone(), MOMENT + Duration::MINUTE),
        ])
        .await
        .expect("notes are taken");
    for (moved, kept) in [(-60, 0), (60, 60), (0, 60)] {
        store
            .touch_keys(&[(first.id.clone(), MOMENT + Duration::seconds(moved))])
            .await
            .expect("notes are taken");
        assert_eq!(
            stored(store, &first.id).await.last_used_at,
            Some(MOMENT + Duration::seconds(kept)),
            "moved by {moved} s"
        );
    }
    let untouched = KeyRecord {
        last_used_at: Some(MOMENT + Duration::MINUTE),
        ..second
    };
    assert_eq!(stored(store, &untouched.id).await, untouched);
}
