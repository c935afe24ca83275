use std::net::Ipv4Addr;

use brownstone_domain::ManualClock;
use time::Duration;
use time::macros::datetime;

use super::memory::MemorySignIn;
use super::oidc::Vouched;
use super::*;
use crate::memory::MemoryStore;
use crate::model::{Environment, Tier};
use crate::service::Accounts;

const PASSWORD: &str = "a long enough password";

struct World {
    clock: Arc<ManualClock>,
    accounts: Accounts,
    sign_in: SignIn,
}

impl World {
    /// The first session of a new account.
    async fn signed_up(&self, email: &str) -> NewSession {
        let from = from();
        let new = self.sign_in.sign_up(email, secret(PASSWORD), &from);
        new.await.unwrap()
    }
}

fn world(sign_up: SignUp) -> World {
    let clock = Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC)));
    let accounts = Arc::new(MemoryStore::new());
    let policy = SignInPolicy {
        sign_up,
        tier: Tier::Pro,
        environment: Environment::Test,
    };
    World {
        sign_in: SignIn::new(
            Arc::new(MemorySignIn::new(accounts.clone())),
            accounts.clone(),
            clock.clone(),
            policy,
        )
        .unwrap(),
        accounts: Accounts::new(accounts, clock.clone(), Environment::Test),
        clock,
    }
}

fn from() -> Origin<'static> {
    Origin {
        address: Ipv4Addr::LOCALHOST.into(),
        agent: "a browser\n",
    }
}

/// Somebody an issuer vouches for without a word about when it asked.
fn said(email: &str) -> Vouched {
    Vouched {
        email: email.to_owned(),
        asked_at: None,
    }
}

fn secret(text: &str) -> SecretString {
    SecretString::from(text)
}

#[tokio::test]
async fn whoever_signs_up_is_signed_in_and_can_sign_in_again() {
    let world = world(SignUp::Open);
    let new = world.signed_up("Demo@Example.com").await;
    let signed = world.sign_in.who(&new.token).await.unwrap().unwrap();
    assert_eq!(signed.account.email, "demo@example.com");
    assert_eq!(signed.account.tier, Tier::Pro);
    assert_eq!(
        signed.session.agent, "a browser",
        "control characters are dropped"
    );
    let twice = world
        .sign_in
        .sign_up("demo@example.com", secret(PASSWORD), &from())
        .await;
    assert!(matches!(twice, Err(SignInError::EmailTaken)));
    let again = world
        .sign_in
        .sign_in(
            "DEMO@example.com",
            secret(PASSWORD),
            &from(),
            Some(&new.token),
        )
        .await
        .unwrap();
    assert!(
        world.sign_in.who(&new.token).await.unwrap().is_none(),
        "rotated"
    );
    assert!(world.sign_in.who(&again.token).await.unwrap().is_some());
}

#[tokio::test]
async fn sign_up_is_refused_where_it_is_not_open() {
    for policy in [SignUp::Invitation, SignUp::Closed] {
        let outcome = world(policy)
            .sign_in
            .sign_up("demo@example.com", secret(PASSWORD), &from())
            .await;
        assert!(matches!(outcome, Err(SignInError::SignUpClosed)));
    }
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_look_alike_and_tries_end() {
    let world = world(SignUp::Open);
    world.signed_up("demo@example.com").await;
    for (email, password) in [
        ("demo@example.com", "another long password"),
        ("nobody@example.com", PASSWORD),
        ("no address", PASSWORD),
    ] {
        let outcome = world
            .sign_in
            .sign_in(email, secret(password), &from(), None)
            .await;
        assert!(matches!(outcome, Err(SignInError::Wrong)), "{email}");
    }
    let mut waits = 0;
    for _ in 0..10 {
        let outcome = world
            .sign_in
            .sign_in("demo@example.com", secret("wrong"), &from(), None)
            .await;
        waits += u32::from(matches!(outcome, Err(SignInError::TooMany(_))));
    }
    assert!(waits > 0);
    let right = world
        .sign_in
        .sign_in("demo@example.com", secret(PASSWORD), &from(), None)
        .await;
    assert!(
        matches!(right, Err(SignInError::TooMany(_))),
        "a right one waits too"
    );
    world.clock.advance(Duration::minutes(15));
    let right = world
        .sign_in
        .sign_in("demo@example.com", secret(PASSWORD), &from(), None)
        .await;
    assert!(right.is_ok());
}

#[tokio::test]
async fn an_account_made_by_command_has_no_password_until_its_link_is_used() {
    let world = world(SignUp::Closed);
    let account = world
        .accounts
        .create("demo@example.com", Tier::Pro, Role::Support, Actor::Command)
        .await
        .unwrap();
    let outcome = world
        .sign_in
        .sign_in("demo@example.com", secret(PASSWORD), &from(), None)
        .await;
    assert!(matches!(outcome, Err(SignInError::Wrong)));
    let (token, ends) = world
        .sign_in
        .invite(&account.id, Actor::Command)
        .await
        .unwrap();
    assert_eq!(world.sign_in.invited(&token).await.unwrap().id, account.id);
    let short = world.sign_in.redeem(&token, secret("short"), &from()).await;
    assert!(matches!(short, Err(SignInError::Field(_))));
    let new = world
        .sign_in
        .redeem(&token, secret(PASSWORD), &from())
        .await
        .unwrap();
    assert!(world.sign_in.who(&new.token).await.unwrap().is_some());
    let again = world
        .sign_in
        .redeem(&token, secret(PASSWORD), &from())
        .await;
    assert!(matches!(again, Err(SignInError::LinkGone)));
    let (late, _) = world
        .sign_in
        .invite(&account.id, Actor::Command)
        .await
        .unwrap();
    world.clock.set(ends + Duration::DAY);
    assert!(matches!(
        world.sign_in.invited(&late).await,
        Err(SignInError::LinkGone)
    ));
}

#[tokio::test]
async fn a_session_ends_when_it_is_told_to_and_when_its_time_is_over() {
    let world = world(SignUp::Open);
    let new = world.signed_up("demo@example.com").await;
    let signed = world.sign_in.who(&new.token).await.unwrap().unwrap();
    let fresh = world
        .sign_in
        .again(&signed, &new.token, secret(PASSWORD), &from())
        .await
        .unwrap();
    assert!(world.sign_in.who(&new.token).await.unwrap().is_none());
    let id = &signed.account.id;
    assert!(world.sign_in.end(id, &fresh.session.id).await.unwrap());
    assert!(world.sign_in.who(&fresh.token).await.unwrap().is_none());
    let third = world
        .sign_in
        .sign_in("demo@example.com", secret(PASSWORD), &from(), None)
        .await
        .unwrap();
    world.clock.advance(model::SESSION_IDLE);
    assert!(world.sign_in.who(&third.token).await.unwrap().is_none());
}

#[tokio::test]
async fn a_person_can_change_the_password_and_delete_the_account() {
    let world = world(SignUp::Open);
    let first = world.signed_up("demo@example.com").await;
    let signed = world.sign_in.who(&first.token).await.unwrap().unwrap();
    let wrong = world
        .sign_in
        .change_password(
            &signed,
            secret("not this one"),
            secret("another long one"),
            &from(),
        )
        .await;
    assert!(matches!(wrong, Err(SignInError::Wrong)));
    let second = world
        .sign_in
        .change_password(
            &signed,
            secret(PASSWORD),
            secret("another long one"),
            &from(),
        )
        .await
        .unwrap();
    assert!(world.sign_in.who(&first.token).await.unwrap().is_none());
    let signed = world.sign_in.who(&second.token).await.unwrap().unwrap();
    world
        .sign_in
        .erase(&signed, secret("another long one"))
        .await
        .unwrap();
    assert!(world.sign_in.who(&second.token).await.unwrap().is_none());
    assert!(world.accounts.find("demo@example.com").await.is_err());
    let trail = world.accounts.audit(&signed.account.id, 10).await.unwrap();
    assert_eq!(
        trail.first().map(|line| line.action.as_str()),
        Some("account.erase")
    );
    assert!(
        trail
            .iter()
            .all(|line| !line.detail.contains("example.com"))
    );
}

#[tokio::test]
async fn a_suspended_person_is_no_caller_and_may_watch() {
    let world = world(SignUp::Open);
    let mut account = world
        .accounts
        .create(
            "demo@example.com",
            Tier::Free,
            Role::Developer,
            Actor::Command,
        )
        .await
        .unwrap();
    assert!(matches!(
        world.sign_in.caller(&account),
        Err(AuthFailure::NotEntitled { .. })
    ));
    account.tier = Tier::Pro;
    assert_eq!(
        world.sign_in.caller(&account).unwrap().key.id.as_str(),
        WEB_KEY
    );
    account.suspension = Some(crate::model::Suspension {
        at: account.created_at,
        reason: "r".into(),
    });
    assert!(matches!(
        world.sign_in.caller(&account),
        Err(AuthFailure::Suspended { .. })
    ));
    assert_eq!(world.sign_in.watcher(&account).account, account.id);
}

#[tokio::test]
async fn whoever_an_issuer_vouches_for_has_the_account_of_that_address() {
    let open = world(SignUp::Open);
    let first = open.signed_up("ada@example.com").await;
    let known = open
        .sign_in
        .vouched(&said("Ada@Example.com"), &from(), Some(&first.token))
        .await
        .unwrap();
    assert_eq!(known.session.account, first.session.account);
    let old = open.sign_in.who(&first.token).await.unwrap();
    assert!(old.is_none(), "the session before is replaced");
    // Whoever opened it with a password did not prove the address: from elsewhere, or signed in to another account, nobody gets in.
    let other = open.signed_up("bob@example.com").await;
    for replaces in [None, Some(&first.token), Some(&other.token)] {
        let refused = open
            .sign_in
            .vouched(&said("ada@example.com"), &from(), replaces)
            .await;
        assert!(matches!(refused, Err(SignInError::EmailTaken)));
    }
    // Nobody of that address yet: an account without a password is opened, once.
    let new = open
        .sign_in
        .vouched(&said("new@example.com"), &from(), None)
        .await
        .unwrap();
    let again = open
        .sign_in
        .vouched(&said("new@example.com"), &from(), None)
        .await
        .unwrap();
    assert_eq!(new.session.account, again.session.account);
    let signed = open.sign_in.who(&again.token).await.unwrap().unwrap();
    assert_eq!(signed.account.tier, Tier::Pro);
    let by_password = open
        .sign_in
        .sign_in("new@example.com", secret(PASSWORD), &from(), None)
        .await;
    assert!(matches!(by_password, Err(SignInError::Wrong)));
    for closed in [SignUp::Invitation, SignUp::Closed] {
        let world = world(closed);
        let refused = world
            .sign_in
            .vouched(&said("new@example.com"), &from(), None)
            .await;
        assert!(matches!(refused, Err(SignInError::SignUpClosed)));
        world
            .accounts
            .create(
                "new@example.com",
                Tier::Pro,
                Role::Developer,
                Actor::Command,
            )
            .await
            .unwrap();
        let let_in = world
            .sign_in
            .vouched(&said("new@example.com"), &from(), None)
            .await;
        assert!(let_in.is_ok(), "an account made by command");
    }
}

#[tokio::test]
async fn a_session_is_as_fresh_as_its_issuer_says_and_never_where_it_does_not() {
    let world = world(SignUp::Open);
    let now = world.sign_in.now();
    let age = Duration::minutes(10);
    for (asked_at, fresh) in [
        (Some(now), true),
        (Some(now - Duration::minutes(9)), true),
        (Some(now - Duration::minutes(10)), false),
        (None, false),
    ] {
        let who = Vouched {
            asked_at,
            ..said("ada@example.com")
        };
        let new = world.sign_in.vouched(&who, &from(), None).await.unwrap();
        assert_eq!(new.session.is_fresh(now, age), fresh, "{asked_at:?}");
    }
    // An issuer whose clock runs ahead makes no session that is fresh for longer.
    let who = Vouched {
        asked_at: Some(now + Duration::minutes(1)),
        ..said("ada@example.com")
    };
    let new = world.sign_in.vouched(&who, &from(), None).await.unwrap();
    assert_eq!(new.session.authenticated_at, now);
}

#[tokio::test]
async fn an_issuer_opens_no_more_accounts_for_an_address_than_it_may_open() {
    let world = world(SignUp::Open);
    for n in 0..20 {
        let who = said(&format!("one{n}@example.com"));
        world.sign_in.vouched(&who, &from(), None).await.unwrap();
    }
    let who = said("another@example.com");
    let refused = world.sign_in.vouched(&who, &from(), None).await;
    assert!(matches!(refused, Err(SignInError::TooMany(3_600))));
    let known = said("one0@example.com");
    let let_in = world.sign_in.vouched(&known, &from(), None).await;
    assert!(let_in.is_ok(), "who has an account gets in");
}

#[tokio::test]
async fn a_stranger_who_guesses_keeps_nobody_out_who_is_in() {
    let world = world(SignUp::Open);
    let new = world.signed_up("ada@example.com").await;
    let signed = world.sign_in.who(&new.token).await.unwrap().unwrap();
    let guess = async || {
        let wrong = secret("not hers at all");
        world
            .sign_in
            .sign_in("ada@example.com", wrong, &from(), None)
            .await
    };
    while !matches!(guess().await, Err(SignInError::TooMany(_))) {}
    let again = world
        .sign_in
        .again(&signed, &new.token, secret(PASSWORD), &from())
        .await
        .unwrap();
    // Guessing inside a session ends, too.
    let signed = world.sign_in.who(&again.token).await.unwrap().unwrap();
    for _ in 0..10 {
        let wrong = world
            .sign_in
            .again(&signed, &again.token, secret("wrong"), &from())
            .await;
        assert!(matches!(wrong, Err(SignInError::Wrong)));
    }
    let ended = world
        .sign_in
        .again(&signed, &again.token, secret(PASSWORD), &from())
        .await;
    assert!(matches!(ended, Err(SignInError::TooMany(900))));
}

#[tokio::test]
async fn a_session_that_ended_does_not_go_on_by_its_password() {
    let world = world(SignUp::Open);
    let new = world.signed_up("ada@example.com").await;
    let signed = world.sign_in.who(&new.token).await.unwrap().unwrap();
    let id = &signed.account.id;
    assert!(world.sign_in.end(id, &signed.session.id).await.unwrap());
    let again = world
        .sign_in
        .again(&signed, &new.token, secret(PASSWORD), &from())
        .await;
    assert!(matches!(again, Err(SignInError::Changed)));
    assert!(world.sign_in.sessions(id).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_account_is_erased_only_on_what_still_stands() {
    let world = world(SignUp::Open);
    let new = world.signed_up("ada@example.com").await;
    let signed = world.sign_in.who(&new.token).await.unwrap().unwrap();
    let id = &signed.account.id;
    let erase = async || world.sign_in.erase(&signed, secret(PASSWORD)).await;
    // Each after the request was let in.
    let suspended = world.accounts.suspend(id, "reason", Actor::Command).await;
    suspended.unwrap();
    assert!(matches!(erase().await, Err(SignInError::Changed)));
    let restored = world.accounts.restore(id, "reason", Actor::Command).await;
    restored.unwrap();
    assert!(world.sign_in.end(id, &signed.session.id).await.unwrap());
    assert!(matches!(erase().await, Err(SignInError::Changed)));
    assert!(world.accounts.find("ada@example.com").await.is_ok());
}

#[tokio::test]
async fn right_passwords_in_sessions_come_to_an_end_too() {
    let world = world(SignUp::Open);
    let mut last = world.signed_up("ada@example.com").await;
    let again = async |last: &NewSession| {
        let signed = world.sign_in.who(&last.token).await.unwrap().unwrap();
        world
            .sign_in
            .again(&signed, &last.token, secret(PASSWORD), &from())
            .await
    };
    for _ in 0..30 {
        last = again(&last).await.unwrap();
    }
    let refused = again(&last).await;
    assert!(matches!(refused, Err(SignInError::TooMany(900))));
    let other = world.signed_up("bob@example.com").await;
    assert!(again(&other).await.is_ok(), "another account has its own");
    world.clock.advance(Duration::minutes(15));
    assert!(again(&last).await.is_ok());
}
