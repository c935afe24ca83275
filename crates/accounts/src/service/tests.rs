use std::time::Duration;

use brownstone_domain::ManualClock;
use time::macros::datetime;

use super::*;
use crate::memory::MemoryStore;
use crate::model::KeyId;

/// With nanoseconds, which no store keeps.
const NOON: OffsetDateTime = datetime!(2026-11-27 12:00:00.123456789 UTC);
const KEPT: OffsetDateTime = datetime!(2026-11-27 12:00:00.123456 UTC);
const COMMAND: Actor<'static> = Actor::Command;

struct World {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    accounts: Accounts,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::at(NOON));
        Self {
            accounts: Accounts::new(store.clone(), clock.clone(), Environment::Test),
            store,
            clock,
        }
    }

    async fn account(&self) -> AccountId {
        self.accounts
            .create("demo@example.com", Tier::Pro, Role::Developer, COMMAND)
            .await
            .unwrap()
            .id
    }

    async fn last_line(&self, account: &AccountId) -> AuditEntry {
        self.accounts
            .audit(account, 1)
            .await
            .unwrap()
            .pop()
            .unwrap()
    }

    async fn lines(&self, account: &AccountId) -> usize {
        self.accounts.audit(account, 100).await.unwrap().len()
    }
}

fn nobody() -> AccountId {
    AccountId::from(new_id())
}

#[tokio::test]
async fn an_account_is_opened_and_found_by_id_and_by_email() {
    let world = World::new();
    let opened = world
        .accounts
        .create("Demo@Example.com", Tier::Free, Role::Support, COMMAND)
        .await
        .unwrap();
    assert_eq!(opened.email, "demo@example.com");
    assert_eq!((opened.tier, opened.role), (Tier::Free, Role::Support));
    assert_eq!(opened.created_at, KEPT, "as storage will give it back");
    for name in [
        opened.id.as_str().to_owned(),
        opened.id.as_str().to_uppercase(),
        format!(" {} ", opened.id),
        "demo@example.com".to_owned(),
        "DEMO@example.COM".to_owned(),
    ] {
        assert_eq!(world.accounts.find(&name).await.unwrap(), opened, "{name}");
    }
    for name in [
        "",
        "demo",
        "demo@example.org",
        "a@b@c",
        "@",
        nobody().as_str(),
    ] {
        let missing = world.accounts.find(name).await.unwrap_err();
        assert!(matches!(missing, AccountsError::NoSuchAccount), "{name:?}");
    }
    assert_eq!(
        world.last_line(&opened.id).await,
        AuditEntry {
            at: KEPT,
            actor: "command".to_owned(),
            action: "account.create".to_owned(),
            account: opened.id.clone(),
            detail: "tier free, role support".to_owned(),
        }
    );
}

#[tokio::test]
async fn an_address_in_use_or_of_no_form_opens_no_account() {
    let world = World::new();
    world.account().await;
    let create = |email: &'static str| {
        world
            .accounts
            .create(email, Tier::Pro, Role::Developer, COMMAND)
    };
    assert!(matches!(
        create("DEMO@example.com").await,
        Err(AccountsError::EmailTaken)
    ));
    let refused = create("demo example.com").await.unwrap_err();
    assert!(matches!(refused, AccountsError::Field(error) if error.field == "email"));
}

#[tokio::test]
async fn a_suspension_keeps_its_first_moment_and_its_last_reason() {
    let world = World::new();
    let id = world.account().await;
    let first = world
        .accounts
        .suspend(&id, " unpaid ", COMMAND)
        .await
        .unwrap();
    assert_eq!((first.at, first.reason.as_str()), (KEPT, "unpaid"));
    world.clock.advance(time::Duration::DAY);
    let support = nobody();
    let second = world
        .accounts
        .suspend(&id, "abuse", Actor::Account(&support))
        .await
        .unwrap();
    assert_eq!((second.at, second.reason.as_str()), (KEPT, "abuse"));
    assert_eq!(
        world.accounts.account(&id).await.unwrap().suspension,
        Some(second)
    );
    let line = world.last_line(&id).await;
    assert_eq!(
        (line.action.as_str(), line.actor.as_str(), line.at),
        (
            "account.suspend",
            support.as_str(),
            KEPT + time::Duration::DAY
        )
    );
    assert_eq!(line.detail, "abuse");

    world.accounts.restore(&id, "paid", COMMAND).await.unwrap();
    assert_eq!(world.accounts.account(&id).await.unwrap().suspension, None);
    let line = world.last_line(&id).await;
    assert_eq!(
        (line.action.as_str(), line.detail.as_str()),
        ("account.restore", "paid")
    );
    let lines = world.lines(&id).await;
    world.accounts.restore(&id, "again", COMMAND).await.unwrap();
    assert_eq!(
        world.lines(&id).await,
        lines,
        "nothing happened, nothing is told"
    );
}

#[tokio::test]
async fn a_reason_is_required() {
    let world = World::new();
    let id = world.account().await;
    for refused in [
        world.accounts.suspend(&id, " ", COMMAND).await.map(|_| ()),
        world.accounts.restore(&id, "", COMMAND).await,
    ] {
        assert!(matches!(refused, Err(AccountsError::Field(error)) if error.field == "reason"));
    }
    assert_eq!(world.accounts.account(&id).await.unwrap().suspension, None);
}

#[tokio::test]
async fn limits_given_are_set_and_the_others_left() {
    let world = World::new();
    let id = world.account().await;
    let set = |per_minute, per_day| {
        let change = Overrides {
            per_minute,
            per_day,
            until: None,
        };
        world.accounts.set_limits(&id, change, "asked", COMMAND)
    };
    set(Some(7), None).await.unwrap();
    set(None, Some(0)).await.unwrap();
    let both = set(Some(500), None).await.unwrap();
    let expected = Overrides {
        per_minute: Some(500),
        per_day: Some(0),
        until: None,
    };
    assert_eq!(both, expected);
    assert_eq!(
        world.accounts.account(&id).await.unwrap().overrides,
        expected
    );
    let line = world.last_line(&id).await;
    assert_eq!(
        (line.action.as_str(), line.detail.as_str()),
        (
            "limits.set",
            "per minute 500, per day unchanged; reason: asked"
        )
    );

    let lines = world.lines(&id).await;
    for (per_minute, per_day, named) in [
        (Some(Limits::MAX_PER_MINUTE + 1), None, "per_minute"),
        (None, Some(Limits::MAX_PER_DAY + 1), "per_day"),
        (Some(1), Some(u32::MAX), "per_day"),
    ] {
        let refused = set(per_minute, per_day).await.unwrap_err();
        assert!(
            matches!(&refused, AccountsError::Limit(error) if error.budget == named),
            "{refused}"
        );
    }
    assert!(matches!(
        set(None, None).await,
        Err(AccountsError::Field(_))
    ));
    assert_eq!(
        world.accounts.account(&id).await.unwrap().overrides,
        expected
    );
    assert_eq!(world.lines(&id).await, lines);

    world
        .accounts
        .clear_limits(&id, "asked", COMMAND)
        .await
        .unwrap();
    assert_eq!(
        world.accounts.account(&id).await.unwrap().overrides,
        Overrides::default()
    );
    let line = world.last_line(&id).await;
    assert_eq!(
        (line.action.as_str(), line.detail.as_str()),
        (
            "limits.clear",
            "per minute default, per day default; reason: asked"
        )
    );
}

#[tokio::test]
async fn a_key_is_given_once_and_only_its_traces_are_kept() {
    let world = World::new();
    let id = world.account().await;
    let new = world.accounts.create_key(&id, None, COMMAND).await.unwrap();
    assert_eq!(new.record.name, DEFAULT_KEY_NAME);
    assert_eq!(new.record.environment, Environment::Test);
    assert_eq!(new.record.hash, new.key.hash());
    assert_eq!(new.record.prefix, "svc_test_");
    assert!(new.key.expose().ends_with(&new.record.last_four));
    assert_eq!(
        world.accounts.keys(&id).await.unwrap(),
        std::slice::from_ref(&new.record)
    );
    let everything_kept = format!("{:?}", world.store);
    let secret = &new.key.expose()["svc_test_".len()..new.key.expose().len() - 4];
    assert!(everything_kept.contains(&new.record.last_four));
    for start in 0..=secret.len() - 8 {
        assert!(
            !everything_kept.contains(&secret[start..start + 8]),
            "a part of the key is kept"
        );
    }
    let line = world.last_line(&id).await;
    assert_eq!(line.action, "key.create");
    assert!(
        line.detail.contains(new.record.id.as_str()),
        "{}",
        line.detail
    );
}

#[tokio::test]
async fn a_key_name_is_checked_and_two_keys_may_share_one() {
    let world = World::new();
    let id = world.account().await;
    let refused = world
        .accounts
        .create_key(&id, Some("a\u{7}b"), COMMAND)
        .await
        .unwrap_err();
    assert!(matches!(refused, AccountsError::Field(error) if error.field == "name"));
    for _ in 0..2 {
        world
            .accounts
            .create_key(&id, Some(" ci "), COMMAND)
            .await
            .unwrap();
    }
    let names: Vec<_> = world
        .accounts
        .keys(&id)
        .await
        .unwrap()
        .into_iter()
        .map(|key| key.name)
        .collect();
    assert_eq!(names, ["ci", "ci"]);
}

#[tokio::test]
async fn a_rotation_takes_over_name_and_account_and_ends_the_old_key() {
    let world = World::new();
    let id = world.account().await;
    let old = world
        .accounts
        .create_key(&id, Some("ci"), COMMAND)
        .await
        .unwrap()
        .record;
    let day = Duration::from_secs(24 * 60 * 60);
    let rotation = world
        .accounts
        .rotate_key(&old.id, day, COMMAND)
        .await
        .unwrap();
    let new = &rotation.new.record;
    assert_eq!((new.name.as_str(), &new.account), ("ci", &id));
    assert_ne!(new.hash, old.hash);
    assert_eq!(rotation.old_ends_at, KEPT + time::Duration::DAY);
    let kept = world.accounts.key(&old.id).await.unwrap();
    assert_eq!(kept.expires_at, Some(rotation.old_ends_at));
    assert_eq!(kept.state(NOON), KeyState::Ending);
    let line = world.last_line(&id).await;
    assert_eq!(line.action, "key.rotate");
    assert!(line.detail.contains(old.id.as_str()) && line.detail.contains(new.id.as_str()));

    // Again, with a longer overlap: the end that is set stands.
    let again = world
        .accounts
        .rotate_key(&old.id, MAX_OVERLAP, COMMAND)
        .await
        .unwrap();
    assert_eq!(again.old_ends_at, rotation.old_ends_at);
    // And with none: it ends now.
    let now = world
        .accounts
        .rotate_key(&old.id, Duration::ZERO, COMMAND)
        .await
        .unwrap();
    assert_eq!(now.old_ends_at, KEPT);
    let kept = world.accounts.key(&old.id).await.unwrap();
    assert_eq!(kept.state(NOON), KeyState::Expired);
}

#[tokio::test]
async fn an_ended_unknown_or_foreign_key_is_not_rotated() {
    let world = World::new();
    let id = world.account().await;
    let make = || async {
        world
            .accounts
            .create_key(&id, None, COMMAND)
            .await
            .unwrap()
            .record
            .id
    };
    let accounts = &world.accounts;
    let rotate = |key: KeyId, overlap| async move {
        accounts
            .rotate_key(&key, overlap, COMMAND)
            .await
            .map(|_| ())
    };

    let revoked = make().await;
    world.accounts.revoke_key(&revoked, COMMAND).await.unwrap();
    assert!(matches!(
        rotate(revoked, Duration::ZERO).await,
        Err(AccountsError::KeyEnded(KeyState::Revoked))
    ));

    let expired = make().await;
    rotate(expired.clone(), Duration::ZERO).await.unwrap();
    assert!(matches!(
        rotate(expired, Duration::ZERO).await,
        Err(AccountsError::KeyEnded(KeyState::Expired))
    ));

    let live = make().await;
    let too_long = MAX_OVERLAP + Duration::from_nanos(1);
    for overlap in [too_long, Duration::MAX] {
        assert!(matches!(
            rotate(live.clone(), overlap).await,
            Err(AccountsError::Field(error)) if error.field == "overlap"
        ));
    }
    rotate(live, MAX_OVERLAP).await.unwrap();

    assert!(matches!(
        rotate(KeyId::from("none"), Duration::ZERO).await,
        Err(AccountsError::NoSuchKey)
    ));

    let elsewhere = Accounts::new(world.store.clone(), world.clock.clone(), Environment::Live);
    let foreign = elsewhere
        .create_key(&id, None, COMMAND)
        .await
        .unwrap()
        .record
        .id;
    assert!(matches!(
        rotate(foreign, Duration::ZERO).await,
        Err(AccountsError::OtherEnvironment(Environment::Live))
    ));
}

#[tokio::test]
async fn the_bound_of_keys_is_said() {
    let world = World::new();
    let id = world.account().await;
    let create = async || world.accounts.create_key(&id, None, COMMAND).await;
    let first = create().await.unwrap().record.id;
    for _ in 1..MAX_LIVE_KEYS {
        create().await.unwrap();
    }
    let refused = create().await.unwrap_err();
    assert!(matches!(refused, AccountsError::TooManyKeys));
    assert!(
        refused.to_string().contains("at most 100 keys"),
        "{refused}"
    );
    let overlap = Duration::from_secs(60);
    let refused = world.accounts.rotate_key(&first, overlap, COMMAND).await;
    assert!(matches!(refused, Err(AccountsError::TooManyKeys)));
    world.accounts.revoke_key(&first, COMMAND).await.unwrap();
    create().await.unwrap();
}

#[tokio::test]
async fn a_revocation_is_told_of_once_and_keeps_its_moment() {
    let world = World::new();
    let id = world.account().await;
    let key = world
        .accounts
        .create_key(&id, None, COMMAND)
        .await
        .unwrap()
        .record
        .id;
    world.accounts.revoke_key(&key, COMMAND).await.unwrap();
    let lines = world.lines(&id).await;
    world.clock.advance(time::Duration::HOUR);
    world.accounts.revoke_key(&key, COMMAND).await.unwrap();
    assert_eq!(
        world.accounts.key(&key).await.unwrap().revoked_at,
        Some(KEPT)
    );
    assert_eq!(world.lines(&id).await, lines);
    assert_eq!(world.last_line(&id).await.action, "key.revoke");
    assert!(matches!(
        world.accounts.revoke_key(&"none".into(), COMMAND).await,
        Err(AccountsError::NoSuchKey)
    ));
}

#[tokio::test]
async fn what_is_done_to_nobody_says_so() {
    let world = World::new();
    let id = nobody();
    let change = Overrides {
        per_minute: Some(1),
        per_day: None,
        until: None,
    };
    let accounts = &world.accounts;
    for refused in [
        accounts.account(&id).await.map(|_| ()),
        accounts.suspend(&id, "r", COMMAND).await.map(|_| ()),
        accounts.restore(&id, "r", COMMAND).await,
        accounts
            .set_limits(&id, change, "asked", COMMAND)
            .await
            .map(|_| ()),
        accounts.clear_limits(&id, "asked", COMMAND).await,
        accounts.create_key(&id, None, COMMAND).await.map(|_| ()),
        accounts.keys(&id).await.map(|_| ()),
    ] {
        assert!(
            matches!(refused, Err(AccountsError::NoSuchAccount)),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_silent_store_is_named_without_its_own_words() {
    let world = World::new();
    let id = world.account().await;
    world.store.set_silent(true);
    let error = world
        .accounts
        .create_key(&id, None, COMMAND)
        .await
        .unwrap_err();
    assert!(matches!(error, AccountsError::Unavailable(_)));
    assert!(!error.to_string().contains("silent"), "{error}");
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.to_string().contains("silent"), "for the log");
}
