use std::time::Duration;

use tokio::time::advance;

use super::*;
use crate::doubles::{NOON, Probe, World, unauthorized};
use crate::key::ApiKey;
use crate::model::Role;
use crate::service::{Accounts, Actor};
use crate::verdicts::FRESH;

#[tokio::test(start_paused = true)]
async fn a_valid_key_gives_its_caller_whatever_the_case_of_the_scheme() {
    let world = World::new().await;
    for scheme in ["Bearer ", "bearer ", "BEARER  ", " bEaReR\t"] {
        let header = format!("{scheme}{}", world.key.key.expose());
        let caller = world
            .authenticator
            .authenticate(Some(&header))
            .await
            .unwrap();
        assert_eq!(caller.account, world.account);
        assert_eq!(caller.tier, Tier::Pro);
        assert_eq!(caller.limits, Limits::default());
        assert_eq!(caller.environment, Environment::Test);
        let record = &world.key.record;
        assert_eq!(
            KeyRef::from(&caller.key),
            KeyRef {
                id: record.id.to_string(),
                name: "laptop".to_owned(),
                prefix: "svc_test_".to_owned(),
                last_four: record.last_four.clone(),
            }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_is_no_bearer_key_is_refused_without_a_look_up() {
    let world = World::new().await;
    let key = world.key.key.expose();
    assert_eq!(
        world.authenticator.authenticate(None).await.unwrap_err(),
        unauthorized(UnauthorizedReason::Missing)
    );
    for header in [
        String::new(),
        " ".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        key.to_owned(),
        format!("Basic {key}"),
        format!("Bearer{key}"),
        format!("Bearer: {key}"),
        format!("Bearer {key} {key}"),
        format!("Bearer {key},Bearer {key}"),
        format!("Bearer \"{key}\""),
        format!("Bearer {}", &key[..key.len() - 1]),
        format!("Bearer {key}0"),
        format!("Bearer {}", key.to_uppercase()),
        format!("Bearer {}", key.replace("svc_", "xyz_")),
        "Bearer \u{e9}\u{0}".to_owned(),
    ] {
        assert_eq!(
            world
                .authenticator
                .authenticate(Some(&header))
                .await
                .unwrap_err(),
            unauthorized(UnauthorizedReason::Malformed),
            "{header:?}"
        );
    }
    assert_eq!(world.store.reads(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_refused_and_remembered() {
    let world = World::new().await;
    let stranger = ApiKey::generate(Environment::Test).unwrap();
    for _ in 0..10 {
        assert_eq!(
            world.call_with(stranger.expose()).await.unwrap_err(),
            unauthorized(UnauthorizedReason::Unknown)
        );
    }
    assert_eq!(world.store.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_keys_environment_decides_and_its_prefix_proves_nothing() {
    let world = World::new().await;
    let elsewhere = Accounts::new(world.store.clone(), world.clock.clone(), Environment::Live);
    let live = elsewhere
        .create_key(&world.account, None, Actor::Command)
        .await
        .unwrap();
    assert_eq!(
        world.call_with(live.key.expose()).await.unwrap_err(),
        unauthorized(UnauthorizedReason::WrongEnvironment)
    );

    // A key whose prefix says `live`, while its record is of this environment.
    let key = ApiKey::generate(Environment::Live).unwrap();
    let record = KeyRecord {
        id: KeyId::from("odd"),
        hash: key.hash(),
        prefix: key.prefix().to_owned(),
        ..world.key.record.clone()
    };
    let line = world.accounts.audit(&world.account, 1).await.unwrap();
    world.store.insert_key(&record, &line[0]).await.unwrap();
    let caller = world.call_with(key.expose()).await.unwrap();
    assert_eq!(caller.key.id, record.id);
}

#[tokio::test(start_paused = true)]
async fn credentials_come_first_then_suspension_then_entitlement() {
    let world = World::of_tier(Tier::Free).await;
    let (account, key) = (world.account.clone(), world.key.record.id.clone());
    let refused = world.call().await.unwrap_err();
    assert_eq!(
        refused,
        AuthFailure::NotEntitled {
            account: account.clone(),
            key: key.clone(),
            tier: Tier::Free
        }
    );
    assert!(refused.to_string().contains("the pro tier"), "{refused}");

    world
        .accounts
        .suspend(&account, "chargeback", Actor::Command)
        .await
        .unwrap();
    advance(FRESH).await;
    let refused = world.call().await.unwrap_err();
    assert_eq!(
        refused,
        AuthFailure::Suspended {
            account,
            key: key.clone()
        }
    );
    assert!(
        !refused.to_string().contains("chargeback"),
        "support's reason is not for the caller"
    );

    world
        .accounts
        .revoke_key(&key, Actor::Command)
        .await
        .unwrap();
    advance(FRESH).await;
    assert_eq!(
        world.call().await.unwrap_err(),
        unauthorized(UnauthorizedReason::Revoked)
    );
}

#[test]
fn refused_credentials_read_the_same_and_are_told_apart_in_the_log() {
    use UnauthorizedReason::{Expired, Malformed, Missing, Revoked, Unknown, WrongEnvironment};
    let reasons = [
        Missing,
        Malformed,
        Unknown,
        Revoked,
        Expired,
        WrongEnvironment,
    ];
    let texts: std::collections::HashSet<_> = reasons
        .iter()
        .map(|reason| unauthorized(*reason).to_string())
        .collect();
    assert_eq!(texts.len(), 1);
    let names: std::collections::HashSet<_> = reasons.iter().map(|one| one.as_str()).collect();
    assert_eq!(names.len(), reasons.len());
}

#[tokio::test(start_paused = true)]
async fn last_use_is_written_once_a_minute_and_not_by_the_call() {
    let world = World::new().await;
    let id = world.key.record.id.clone();
    for _ in 0..50 {
        world.call().await.unwrap();
        world.clock.advance(time::Duration::SECOND);
    }
    assert!(world.store.touches().is_empty());
    advance(Duration::from_secs(60)).await;
    tokio::task::yield_now().await;
    let last = NOON + time::Duration::seconds(49);
    assert_eq!(world.store.touches(), [vec![(id.clone(), last)]]);
    let kept = world.accounts.key(&id).await.unwrap();
    assert_eq!(kept.last_used_at, Some(last));

    advance(Duration::from_secs(120)).await;
    tokio::task::yield_now().await;
    assert_eq!(
        world.store.touches().len(),
        1,
        "a key that rests is not written"
    );
}

#[tokio::test(start_paused = true)]
async fn last_use_that_could_not_be_written_is_written_later() {
    let world = World::new().await;
    world.call().await.unwrap();
    world.store.inner.set_silent(true);
    world.authenticator.flush().await.unwrap_err();
    world.store.inner.set_silent(false);
    world.authenticator.flush().await.unwrap();
    let kept = world.accounts.key(&world.key.record.id).await.unwrap();
    assert_eq!(kept.last_used_at, Some(NOON));
}

#[tokio::test(start_paused = true)]
async fn last_use_keeps_the_latest_moment_when_the_clock_steps_back() {
    let world = World::new().await;
    world.call().await.unwrap();
    world.clock.advance(-time::Duration::MINUTE);
    world.call().await.unwrap();
    world.authenticator.flush().await.unwrap();
    let kept = world.accounts.key(&world.key.record.id).await.unwrap();
    assert_eq!(kept.last_used_at, Some(NOON));
}

#[tokio::test(start_paused = true)]
async fn no_note_is_lost_where_many_wait_and_a_write_fails() {
    const KEYS: usize = 1_201;
    let store = Arc::new(Probe::default());
    let notes = LastUse::new(store.clone());
    for n in 0..KEYS {
        notes.note(&KeyId::from(n.to_string()), NOON);
    }
    store.inner.set_silent(true);
    notes.flush().await.unwrap_err();
    store.inner.set_silent(false);
    let tried = store.touches().len();
    notes.flush().await.unwrap();
    let written: std::collections::HashSet<_> = store
        .touches()
        .into_iter()
        .skip(tried)
        .flatten()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(written.len(), KEYS);
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_was_not_used_and_a_suspended_accounts_key_was() {
    let world = World::new().await;
    let id = world.key.record.id.clone();
    world
        .accounts
        .suspend(&world.account, "abuse", Actor::Command)
        .await
        .unwrap();
    world.call().await.unwrap_err();
    world.authenticator.flush().await.unwrap();
    let noted = |record: KeyRecord| record.last_used_at;
    assert_eq!(noted(world.accounts.key(&id).await.unwrap()), Some(NOON));

    world
        .accounts
        .revoke_key(&id, Actor::Command)
        .await
        .unwrap();
    advance(FRESH).await;
    world.clock.advance(time::Duration::HOUR);
    world.call().await.unwrap_err();
    world.authenticator.flush().await.unwrap();
    assert_eq!(noted(world.accounts.key(&id).await.unwrap()), Some(NOON));
}

#[tokio::test(start_paused = true)]
async fn accounts_do_not_share_verdicts() {
    let world = World::new().await;
    let other = world
        .accounts
        .create(
            "other@example.com",
            Tier::Pro,
            Role::Developer,
            Actor::Command,
        )
        .await
        .unwrap();
    let key = world
        .accounts
        .create_key(&other.id, None, Actor::Command)
        .await
        .unwrap();
    assert_eq!(world.call().await.unwrap().account, world.account);
    assert_eq!(
        world.call_with(key.key.expose()).await.unwrap().account,
        other.id
    );
}
