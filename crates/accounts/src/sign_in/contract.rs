//! What every implementation of [`SignInStore`] must pass. A case makes its own accounts, so that all may share one database.

use time::macros::datetime;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::model::{Link, Session, Token};
use super::password::PasswordHash;
use super::traits::{Before, Grounds, SignInStore};
use crate::model::{Account, AccountId, AuditEntry, Overrides, Role, Suspension, Tier};
use crate::traits::StoreError;

/// Stamps one test for each case. Takes what [`account_store_contract!`](crate::account_store_contract) takes, for a `SignInStore`.
#[macro_export]
macro_rules! sign_in_store_contract {
    ($store:expr) => {
        mod sign_in_store {
            #[allow(unused_imports)]
            use super::*;

            $crate::sign_in_store_contract!(@ $store,
                an_account_is_opened_whole_or_not_at_all
                a_new_password_ends_sessions_and_links
                a_link_is_used_once_and_in_its_time
                a_link_replaces_the_one_before
                of_two_who_use_a_link_one_does
                sessions_come_back_whole_with_their_account
                a_session_takes_the_place_of_another
                a_session_begins_only_on_the_password_that_was_verified
                an_account_is_erased_only_on_what_was_verified
                a_session_goes_on_only_while_it_is_there
                a_session_begun_while_the_password_is_set_does_not_stay
                sessions_end_one_by_one_and_all_but_one
                a_session_that_goes_on_while_the_others_are_ended_does_not_stay
                a_purge_takes_what_ended
                an_erased_account_leaves_its_trail_alone
            );
        }
    };
    (@ $store:expr, $($case:ident)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(store) = $store.await {
                    $crate::sign_in::contract::$case(&*store).await;
                }
            }
        )+
    };
}

const MOMENT: OffsetDateTime = datetime!(2026-11-27 23:59:59.123456 UTC);

fn line(account: &AccountId, action: &str, at: OffsetDateTime) -> AuditEntry {
    AuditEntry {
        at,
        actor: account.to_string(),
        action: action.to_owned(),
        account: account.clone(),
        detail: "detail".to_owned(),
    }
}

fn password(text: &str) -> PasswordHash {
    PasswordHash::from(format!("$argon2id$v=19${text}"))
}

async fn opened(store: &dyn SignInStore) -> Account {
    opened_as(store, None).await
}

async fn opened_as(store: &dyn SignInStore, suspension: Option<Suspension>) -> Account {
    let id = Uuid::new_v4();
    let account = Account {
        id: AccountId::from(id.to_string()),
        email: format!("{}@example.com", id.simple()),
        tier: Tier::Pro,
        role: Role::Support,
        suspension,
        overrides: Overrides::default(),
        created_at: MOMENT,
    };
    let audit = line(&account.id, "account.create", MOMENT);
    store
        .open_account(&account, &password("first"), &audit)
        .await
        .expect("a fresh account");
    account
}

fn a_session(account: &AccountId, after: i64) -> Session {
    let at = MOMENT + Duration::seconds(after);
    Session {
        id: Uuid::new_v4().to_string(),
        hash: Token::generate().expect("random bytes").hash(),
        account: account.clone(),
        created_at: at,
        last_seen_at: at,
        authenticated_at: at,
        expires_at: at + Duration::DAY,
        address: "2001:db8::1".to_owned(),
        agent: "a browser \"é\"".to_owned(),
    }
}

/// Begins the session on this password.
async fn begin(
    store: &dyn SignInStore,
    session: &Session,
    password: Option<&PasswordHash>,
    before: Before<'_>,
) -> Result<(), StoreError> {
    let audit = line(&session.account, "session.start", MOMENT);
    store
        .insert_session(session, Grounds { password, before }, &audit)
        .await
}

async fn begun(store: &dyn SignInStore, account: &AccountId, after: i64) -> Session {
    let session = a_session(account, after);
    let first = password("first");
    begin(store, &session, Some(&first), Before::Nothing)
        .await
        .expect("a fresh session");
    session
}

async fn linked(store: &dyn SignInStore, account: &AccountId) -> Link {
    let link = Link {
        hash: Token::generate().expect("random bytes").hash(),
        account: account.clone(),
        created_at: MOMENT,
        expires_at: MOMENT + Duration::HOUR,
    };
    store
        .insert_link(&link, &line(account, "link.create", MOMENT))
        .await
        .expect("a fresh link");
    link
}

async fn kept(store: &dyn SignInStore, account: &AccountId) -> Option<PasswordHash> {
    store.password(account).await.expect("the store answers")
}

/// An address belongs to one account, with the password it was opened with.
pub async fn an_account_is_opened_whole_or_not_at_all(store: &dyn SignInStore) {
    let account = opened(store).await;
    assert_eq!(kept(store, &account.id).await, Some(password("first")));
    let mut other = account.clone();
    other.id = AccountId::from(Uuid::new_v4().to_string());
    let outcome = store
        .open_account(
            &other,
            &password("second"),
            &line(&other.id, "account.create", MOMENT),
        )
        .await;
    assert!(matches!(outcome, Err(StoreError::EmailTaken)));
    assert_eq!(kept(store, &other.id).await, None);
    assert_eq!(kept(store, &account.id).await, Some(password("first")));
}

/// Whoever had the old password is out.
pub async fn a_new_password_ends_sessions_and_links(store: &dyn SignInStore) {
    let (account, other) = (opened(store).await, opened(store).await);
    let session = begun(store, &account.id, 0).await;
    let others = begun(store, &other.id, 0).await;
    let link = linked(store, &account.id).await;
    let audit = line(&account.id, "password.set", MOMENT);
    store
        .set_password(&password("first"), &password("second"), &audit)
        .await
        .unwrap();
    assert_eq!(kept(store, &account.id).await, Some(password("second")));
    assert!(store.session(&session.hash).await.unwrap().is_none());
    assert!(store.link(&link.hash).await.unwrap().is_none());
    assert!(store.session(&others.hash).await.unwrap().is_some());
    // Whoever verified the one before is late, too.
    let late = store
        .set_password(&password("first"), &password("third"), &audit)
        .await;
    assert!(matches!(late, Err(StoreError::Changed)), "{late:?}");
    assert_eq!(kept(store, &account.id).await, Some(password("second")));
    let stranger = AccountId::from(Uuid::new_v4().to_string());
    let audit = line(&stranger, "password.set", MOMENT);
    let outcome = store
        .set_password(&password("first"), &password("x"), &audit)
        .await;
    assert!(matches!(outcome, Err(StoreError::NotFound(_))));
}

/// Once, before its end, for its own account.
pub async fn a_link_is_used_once_and_in_its_time(store: &dyn SignInStore) {
    let (account, other) = (opened(store).await, opened(store).await);
    let link = linked(store, &account.id).await;
    assert_eq!(store.link(&link.hash).await.unwrap(), Some(link.clone()));
    let late = line(&account.id, "password.set", link.expires_at);
    let foreign = line(&other.id, "password.set", MOMENT);
    let fine = line(&account.id, "password.set", MOMENT + Duration::MINUTE);
    for refused in [&late, &foreign] {
        let outcome = store
            .redeem_link(&link.hash, &password("no"), refused)
            .await;
        assert!(
            matches!(outcome, Err(StoreError::NotFound(_))),
            "{refused:?}"
        );
    }
    assert_eq!(kept(store, &account.id).await, Some(password("first")));
    store
        .redeem_link(&link.hash, &password("second"), &fine)
        .await
        .unwrap();
    let again = store
        .redeem_link(&link.hash, &password("third"), &fine)
        .await;
    assert!(matches!(again, Err(StoreError::NotFound(_))));
    assert_eq!(kept(store, &account.id).await, Some(password("second")));
    assert_eq!(kept(store, &other.id).await, Some(password("first")));
}

/// One link an account.
pub async fn a_link_replaces_the_one_before(store: &dyn SignInStore) {
    let account = opened(store).await;
    let first = linked(store, &account.id).await;
    let second = linked(store, &account.id).await;
    assert!(store.link(&first.hash).await.unwrap().is_none());
    assert!(store.link(&second.hash).await.unwrap().is_some());
}

/// Two at one time.
pub async fn of_two_who_use_a_link_one_does(store: &dyn SignInStore) {
    let account = opened(store).await;
    let link = linked(store, &account.id).await;
    let audit = line(&account.id, "password.set", MOMENT);
    let (a, b) = (password("a"), password("b"));
    let (first, second) = tokio::join!(
        store.redeem_link(&link.hash, &a, &audit),
        store.redeem_link(&link.hash, &b, &audit)
    );
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
    let expected = if first.is_ok() { a } else { b };
    assert_eq!(kept(store, &account.id).await, Some(expected));
}

/// Every column, and a note of last use that never moves back.
pub async fn sessions_come_back_whole_with_their_account(store: &dyn SignInStore) {
    let account = opened(store).await;
    let mut session = begun(store, &account.id, 0).await;
    let found = store.session(&session.hash).await.unwrap();
    assert_eq!(found, Some((session.clone(), account.clone())));
    let later = session.last_seen_at + Duration::MINUTE;
    store.touch_session(&session.hash, later).await.unwrap();
    store.touch_session(&session.hash, MOMENT).await.unwrap();
    session.last_seen_at = later;
    assert_eq!(
        store.session(&session.hash).await.unwrap(),
        Some((session, account))
    );
    let unknown = Token::generate().expect("random bytes").hash();
    assert_eq!(store.session(&unknown).await.unwrap(), None);
}

/// Rotation.
pub async fn a_session_takes_the_place_of_another(store: &dyn SignInStore) {
    let account = opened(store).await;
    let old = begun(store, &account.id, 0).await;
    let other = begun(store, &account.id, 1).await;
    let new = a_session(&account.id, 2);
    let first = password("first");
    begin(store, &new, Some(&first), Before::Ends(&old.hash))
        .await
        .unwrap();
    assert!(store.session(&old.hash).await.unwrap().is_none());
    // What is gone already is in nobody's way.
    let newer = a_session(&account.id, 3);
    begin(store, &newer, Some(&first), Before::Ends(&old.hash))
        .await
        .unwrap();
    assert_eq!(
        store.sessions(&account.id).await.unwrap(),
        [newer, new, other]
    );
}

/// A password that was right a moment ago and is not any more begins nothing, and neither does none where there is one by now.
pub async fn a_session_begins_only_on_the_password_that_was_verified(store: &dyn SignInStore) {
    let account = opened(store).await;
    let old = begun(store, &account.id, 0).await;
    let (other, first) = (password("other"), password("first"));
    for was in [Some(&other), None] {
        let late = a_session(&account.id, 1);
        let refused = begin(store, &late, was, Before::Ends(&old.hash)).await;
        assert!(matches!(refused, Err(StoreError::Changed)), "{refused:?}");
        assert!(store.session(&late.hash).await.unwrap().is_none());
        let kept = store.session(&old.hash).await.unwrap();
        assert!(kept.is_some(), "nothing was changed");
    }
    let stranger = AccountId::from(Uuid::new_v4().to_string());
    let nobodys = a_session(&stranger, 2);
    for was in [Some(&first), None] {
        let refused = begin(store, &nobodys, was, Before::Nothing).await;
        assert!(
            matches!(refused, Err(StoreError::NotFound(_))),
            "{refused:?}"
        );
    }
}

/// A password or a session that was good a moment ago and is not any more erases nothing, and neither does the owner of an account that was
/// suspended.
pub async fn an_account_is_erased_only_on_what_was_verified(store: &dyn SignInStore) {
    let (account, other) = (opened(store).await, opened(store).await);
    let suspension = Suspension {
        at: MOMENT,
        reason: "reason".to_owned(),
    };
    let suspended = opened_as(store, Some(suspension)).await;
    let own = begun(store, &account.id, 0).await;
    let ended = begun(store, &account.id, 1).await;
    assert!(store.end_session(&account.id, &ended.id).await.unwrap());
    let foreign = begun(store, &other.id, 0).await;
    let locked = begun(store, &suspended.id, 0).await;
    let (first, second) = (password("first"), password("second"));
    for (whose, was, by) in [
        (&account, &second, &own),
        (&account, &first, &ended),
        (&account, &first, &foreign),
        (&suspended, &first, &locked),
    ] {
        let audit = line(&whose.id, "account.erase", MOMENT);
        let refused = store.erase_account(was, &by.hash, &audit).await;
        assert!(matches!(refused, Err(StoreError::Changed)), "{refused:?}");
        assert_eq!(kept(store, &whose.id).await, Some(password("first")));
    }
    for session in [&own, &foreign, &locked] {
        let kept = store.session(&session.hash).await.unwrap();
        assert!(kept.is_some(), "nothing was changed");
    }
    let audit = line(&account.id, "account.erase", MOMENT);
    store
        .erase_account(&first, &own.hash, &audit)
        .await
        .unwrap();
    assert_eq!(kept(store, &account.id).await, None);
}

/// A session that ended, or is another account's, goes on in none.
pub async fn a_session_goes_on_only_while_it_is_there(store: &dyn SignInStore) {
    let (account, other) = (opened(store).await, opened(store).await);
    let old = begun(store, &account.id, 0).await;
    let foreign = begun(store, &other.id, 0).await;
    let first = password("first");
    let next = a_session(&account.id, 1);
    let goes_on = Before::GoesOn(&old.hash);
    begin(store, &next, Some(&first), goes_on).await.unwrap();
    let late = a_session(&account.id, 2);
    for gone in [&old, &foreign] {
        let goes_on = Before::GoesOn(&gone.hash);
        let refused = begin(store, &late, Some(&first), goes_on).await;
        assert!(matches!(refused, Err(StoreError::Changed)), "{refused:?}");
    }
    assert_eq!(store.sessions(&account.id).await.unwrap(), [next]);
    assert_eq!(store.sessions(&other.id).await.unwrap(), [foreign]);
}

/// At one time: whichever comes first, nobody who had only the old password is in when both are done.
pub async fn a_session_begun_while_the_password_is_set_does_not_stay(store: &dyn SignInStore) {
    let (first, second) = (password("first"), password("second"));
    for _ in 0..8 {
        let account = opened(store).await;
        let session = a_session(&account.id, 0);
        let audit = line(&account.id, "password.set", MOMENT);
        let (begun, set) = tokio::join!(
            begin(store, &session, Some(&first), Before::Nothing),
            store.set_password(&first, &second, &audit),
        );
        set.unwrap();
        assert!(
            matches!(begun, Ok(()) | Err(StoreError::Changed)),
            "{begun:?}"
        );
        assert!(store.sessions(&account.id).await.unwrap().is_empty());
    }
}

/// Only one's own.
pub async fn sessions_end_one_by_one_and_all_but_one(store: &dyn SignInStore) {
    let (account, other) = (opened(store).await, opened(store).await);
    let mut own = Vec::new();
    for after in 0..4 {
        own.push(begun(store, &account.id, after).await);
    }
    let foreign = begun(store, &other.id, 0).await;
    assert!(!store.end_session(&account.id, &foreign.id).await.unwrap());
    assert!(!store.end_session(&account.id, "none").await.unwrap());
    let [first, second, ..] = own.as_slice() else {
        panic!("four were made");
    };
    assert!(store.end_session(&account.id, &first.id).await.unwrap());
    assert!(store.session(&first.hash).await.unwrap().is_none());
    assert_eq!(
        store
            .end_other_sessions(&account.id, &second.id)
            .await
            .unwrap(),
        2
    );
    let left = store.sessions(&account.id).await.unwrap();
    assert_eq!(left, std::slice::from_ref(second));
    assert_eq!(store.sessions(&other.id).await.unwrap(), [foreign]);
    let stranger = AccountId::from(Uuid::new_v4().to_string());
    let none = store.end_other_sessions(&stranger, &second.id).await;
    assert_eq!(none.unwrap(), 0);
}

/// At one time: whichever comes first, one session is ended and one is left.
pub async fn a_session_that_goes_on_while_the_others_are_ended_does_not_stay(
    store: &dyn SignInStore,
) {
    let first = password("first");
    for _ in 0..8 {
        let account = opened(store).await;
        let own = begun(store, &account.id, 0).await;
        let other = begun(store, &account.id, 1).await;
        let next = a_session(&account.id, 2);
        let goes_on = Before::GoesOn(&other.hash);
        let (begun, ended) = tokio::join!(
            begin(store, &next, Some(&first), goes_on),
            store.end_other_sessions(&account.id, &own.id),
        );
        assert!(
            matches!(begun, Ok(()) | Err(StoreError::Changed)),
            "{begun:?}"
        );
        assert_eq!(ended.unwrap(), 1);
        assert_eq!(store.sessions(&account.id).await.unwrap(), [own]);
    }
}

/// What ended goes, and what lasts stays.
pub async fn a_purge_takes_what_ended(store: &dyn SignInStore) {
    let account = opened(store).await;
    let ended = begun(store, &account.id, 0).await;
    let lasts = begun(store, &account.id, 100_000).await;
    let link = linked(store, &account.id).await;
    assert!(store.purge_sign_in(ended.expires_at).await.unwrap() >= 2);
    assert!(store.session(&ended.hash).await.unwrap().is_none());
    assert!(store.link(&link.hash).await.unwrap().is_none());
    assert!(store.session(&lasts.hash).await.unwrap().is_some());
}

/// Nothing of the account is left, and its address is free again.
pub async fn an_erased_account_leaves_its_trail_alone(store: &dyn SignInStore) {
    let (account, other) = (opened(store).await, opened(store).await);
    let session = begun(store, &account.id, 0).await;
    let link = linked(store, &account.id).await;
    let audit = line(&account.id, "account.erase", MOMENT);
    let first = password("first");
    store
        .erase_account(&first, &session.hash, &audit)
        .await
        .unwrap();
    assert!(store.session(&session.hash).await.unwrap().is_none());
    assert!(store.link(&link.hash).await.unwrap().is_none());
    assert_eq!(kept(store, &account.id).await, None);
    assert_eq!(kept(store, &other.id).await, Some(password("first")));
    let again = store.erase_account(&first, &session.hash, &audit).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))));
    let mut anew = account.clone();
    anew.id = AccountId::from(Uuid::new_v4().to_string());
    store
        .open_account(
            &anew,
            &password("x"),
            &line(&anew.id, "account.create", MOMENT),
        )
        .await
        .expect("the address is free");
}
