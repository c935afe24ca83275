//! Cases of [`AccountStore`]: keys.

use time::Duration;

use super::fixtures::{MOMENT, a_key, a_line, actions, an_account, stored, with_account, with_key};
use crate::model::{Account, Environment, KeyRecord, KeyState, MAX_LIVE_KEYS, Suspension};
use crate::traits::{AccountStore, StoreError};

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

/// A key that was revoked, or ended, since its owner looked gives none: whoever holds it must not live on in another.
pub async fn no_key_comes_of_one_that_ended(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let line = a_line(&account.id, "key.rotate", MOMENT);
    let key = |revoked_at, expires_at| KeyRecord {
        revoked_at,
        expires_at,
        ..a_key(&account.id)
    };
    for (old, state) in [
        (key(Some(MOMENT), None), KeyState::Revoked),
        // The clock of whoever revoked it may run ahead.
        (key(Some(MOMENT + Duration::HOUR), None), KeyState::Revoked),
        (key(None, Some(MOMENT)), KeyState::Expired),
        (key(Some(MOMENT), Some(MOMENT)), KeyState::Revoked),
    ] {
        with_key(store, &old).await;
        let new = a_key(&account.id);
        let ends_at = MOMENT + Duration::HOUR;
        let refused = store.rotate_key(&old.id, ends_at, &new, &line).await;
        assert!(
            matches!(refused, Err(StoreError::KeyEnded(told)) if told == state),
            "{refused:?}"
        );
        assert_eq!(store.key(&new.id).await.expect("an answer"), None);
        assert_eq!(stored(store, &old.id).await, old);
    }
    // One that ends a moment later is good.
    let last = key(None, Some(MOMENT + Duration::MICROSECOND));
    with_key(store, &last).await;
    let new = a_key(&account.id);
    let done = store.rotate_key(&last.id, MOMENT, &new, &line).await;
    done.expect("the old key is good");
    // Of two who rotate it away at one time one does.
    let (a, b) = (a_key(&account.id), a_key(&account.id));
    let (first, second) = tokio::join!(
        store.rotate_key(&new.id, MOMENT, &a, &line),
        store.rotate_key(&new.id, MOMENT, &b, &line)
    );
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
    // Another account's key is none.
    let stranger = with_account(store).await;
    let foreign = a_key(&stranger.id);
    let refused = store.rotate_key(&last.id, MOMENT, &foreign, &line).await;
    assert!(
        matches!(refused, Err(StoreError::NotFound(_))),
        "{refused:?}"
    );
}

/// Keys that ended count for nothing; of two who make the last one at one time one does.
pub async fn an_account_has_so_many_keys_that_are_good(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let create = a_line(&account.id, "key.create", MOMENT);
    let rotate = a_line(&account.id, "key.rotate", MOMENT);
    let first = a_key(&account.id);
    with_key(store, &first).await;
    for (revoked_at, expires_at) in [(Some(MOMENT), None), (None, Some(MOMENT))] {
        let ended = KeyRecord {
            revoked_at,
            expires_at,
            ..a_key(&account.id)
        };
        with_key(store, &ended).await;
    }
    for _ in 2..MAX_LIVE_KEYS {
        with_key(store, &a_key(&account.id)).await;
    }
    let (a, b) = (a_key(&account.id), a_key(&account.id));
    let (one, two) = tokio::join!(store.insert_key(&a, &create), store.insert_key(&b, &create));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    let more = a_key(&account.id);
    let refused = store.insert_key(&more, &create).await;
    assert!(
        matches!(refused, Err(StoreError::TooManyKeys)),
        "{refused:?}"
    );
    // A rotation that leaves the old key good for a while adds one, and one that ends it at once does not.
    let later = MOMENT + Duration::HOUR;
    let refused = store.rotate_key(&first.id, later, &more, &rotate).await;
    assert!(
        matches!(refused, Err(StoreError::TooManyKeys)),
        "{refused:?}"
    );
    assert_eq!(stored(store, &first.id).await, first, "nothing was changed");
    let done = store.rotate_key(&first.id, MOMENT, &more, &rotate).await;
    done.expect("one goes and one comes");
    let revoke = a_line(&account.id, "key.revoke", MOMENT);
    let gone = store.revoke_key(&more.id, MOMENT, &revoke).await;
    gone.expect("the key is there");
    let done = store.insert_key(&a_key(&account.id), &create).await;
    done.expect("there is room again");
    with_key(store, &a_key(&with_account(store).await.id)).await;
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
