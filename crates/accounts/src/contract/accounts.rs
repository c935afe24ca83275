//! Cases of [`AccountStore`]: accounts and their audit trail.

use brownstone_domain::Limits;
use time::Duration;

use super::fixtures::{MOMENT, a_line, actions, an_account, with_account};
use crate::chain::{AuditHead, Check};
use crate::model::{Account, CeilingChange, Overrides, OverridesChange, Role, Suspension, Tier};
use crate::traits::{AccountStore, StoreError};

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
                until: Some(MOMENT + Duration::DAY),
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

/// A ceiling that is kept stays, the other changes, `Default` clears, and the greatest values (more than 31 bits) survive; what
/// then stands is returned.
pub async fn each_ceiling_changes_alone_and_holds_the_greatest_values(store: &dyn AccountStore) {
    use CeilingChange::{Default, Keep, Set};

    let account = with_account(store).await;
    for (per_minute, per_day, then) in [
        (
            Set(Limits::MAX_PER_MINUTE),
            Set(Limits::MAX_PER_DAY),
            (Some(Limits::MAX_PER_MINUTE), Some(Limits::MAX_PER_DAY)),
        ),
        (Keep, Set(0), (Some(Limits::MAX_PER_MINUTE), Some(0))),
        (Default, Keep, (None, Some(0))),
        (Keep, Keep, (None, Some(0))),
        (Set(7), Default, (Some(7), None)),
        (Default, Default, (None, None)),
    ] {
        let change = OverridesChange {
            per_minute,
            per_day,
            until: None,
        };
        let line = a_line(&account.id, "limits.set", MOMENT);
        let stands = store
            .change_overrides(&account.id, change, &line)
            .await
            .expect("the account is there");
        assert_eq!((stands.per_minute, stands.per_day), then, "{change:?}");
        let found = store.account(&account.id).await.expect("an answer");
        assert_eq!(found.map(|found| found.overrides), Some(stands));
    }
}

/// One changes the minute, another the day, many times at once: neither undoes the other.
pub async fn changes_of_both_ceilings_at_one_time_are_both_kept(store: &dyn AccountStore) {
    let account = with_account(store).await;
    for n in 1..=10 {
        let change = async |change: OverridesChange| {
            let line = a_line(&account.id, "limits.set", MOMENT);
            let done = store.change_overrides(&account.id, change, &line).await;
            done.expect("the account is there");
        };
        tokio::join!(
            change(OverridesChange {
                per_minute: CeilingChange::Set(n),
                ..OverridesChange::default()
            }),
            change(OverridesChange {
                per_day: CeilingChange::Set(n),
                ..OverridesChange::default()
            }),
        );
        let found = store.account(&account.id).await.expect("an answer");
        let both = Overrides {
            per_minute: Some(n),
            per_day: Some(n),
            until: None,
        };
        assert_eq!(found.map(|found| found.overrides), Some(both));
    }
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
            .change_overrides(&account.id, OverridesChange::CLEAR, &line)
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
            .change_overrides(&nobody, OverridesChange::CLEAR, &line)
            .await
            .map(drop),
        store
            .change_overrides(&nobody, OverridesChange::default(), &line)
            .await
            .map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::NotFound(_))),
            "{refused:?}"
        );
    }
    assert!(actions(store, &nobody).await.is_empty());
}

/// The whole chain from its beginning, against this end.
async fn verdict(store: &dyn AccountStore, head: AuditHead) -> crate::chain::Verdict {
    let mut check = Check::new(head);
    loop {
        // A small page, so that several are needed.
        let links = store.audit_links(check.at(), 7).await.expect("an answer");
        if links.is_empty() || !links.iter().all(|link| check.take(link)) {
            return check.end();
        }
    }
}

/// Numbers have no gaps, each hash follows from the one before, and the noted end is the last line's.
pub async fn every_line_is_linked_to_the_one_before(store: &dyn AccountStore) {
    let before = store.audit_head().await.expect("an answer");
    let account = with_account(store).await;
    for n in 0..20 {
        let line = a_line(&account.id, "limits.clear", MOMENT + Duration::seconds(n));
        store
            .change_overrides(&account.id, OverridesChange::CLEAR, &line)
            .await
            .expect("the account is there");
    }
    let head = store.audit_head().await.expect("an answer");
    assert!(head.lines >= before.lines + 21);
    assert_eq!(head.unchained, head.unchained_now);
    let verdict = verdict(store, head).await;
    assert_eq!(verdict.fault, None);
    assert_eq!((verdict.lines, verdict.hash), (head.lines, head.hash));
}

/// Many who write at once are put in one order.
pub async fn lines_at_the_same_time_make_one_chain(store: &dyn AccountStore) {
    let (one, two, three) = (
        with_account(store).await,
        with_account(store).await,
        with_account(store).await,
    );
    let write = async |account: &Account| {
        for _ in 0..10 {
            let line = a_line(&account.id, "limits.clear", MOMENT);
            let done = store
                .change_overrides(&account.id, OverridesChange::CLEAR, &line)
                .await;
            done.expect("the account is there");
        }
    };
    tokio::join!(write(&one), write(&two), write(&three));
    let head = store.audit_head().await.expect("an answer");
    assert_eq!(verdict(store, head).await.fault, None);
}

/// A change that says an end sets it; once it has come, another change starts from the defaults.
pub async fn overrides_end_and_what_ended_does_not_come_back(store: &dyn AccountStore) {
    let account = with_account(store).await;
    let change = async |change: OverridesChange, at| {
        let line = a_line(&account.id, "limits.set", at);
        let stands = store.change_overrides(&account.id, change, &line).await;
        stands.expect("the account is there")
    };
    let end = MOMENT + Duration::HOUR;
    let minute = OverridesChange {
        per_minute: CeilingChange::Set(9),
        until: Some(end),
        ..OverridesChange::default()
    };
    let day = OverridesChange {
        per_day: CeilingChange::Set(7),
        ..OverridesChange::default()
    };
    assert_eq!(change(minute, MOMENT).await.until, Some(end));
    let both = change(
        OverridesChange {
            until: Some(end),
            ..day
        },
        end - Duration::MICROSECOND,
    )
    .await;
    assert_eq!((both.per_minute, both.per_day), (Some(9), Some(7)));
    let after = Overrides {
        per_minute: None,
        per_day: Some(7),
        until: None,
    };
    assert_eq!(change(day, end).await, after);
}

/// What SQL reads as a pattern is an ordinary character of an address.
pub async fn accounts_are_found_by_the_beginning_of_their_address(store: &dyn AccountStore) {
    let unique = an_account().email.replace("@example.com", "");
    let make = async |rest: &str| {
        let account = Account {
            email: format!("{unique}{rest}@example.com"),
            ..an_account()
        };
        let line = a_line(&account.id, "account.create", MOMENT);
        let made = store.create_account(&account, &line).await;
        made.expect("a fresh account");
        account.email
    };
    let (b, a, pattern) = (make("-b").await, make("-a").await, make("%_").await);
    let find = async |prefix: String, limit| {
        let found = store.accounts_by_email_prefix(&prefix, limit).await;
        let found = found.expect("an answer").into_iter();
        found.map(|account| account.email).collect::<Vec<_>>()
    };
    assert_eq!(find(format!("{unique}-"), 10).await, [a.clone(), b]);
    assert_eq!(find(format!("{unique}-"), 1).await, [a]);
    assert_eq!(find(format!("{unique}%"), 10).await, [pattern]);
    assert!(find(format!("{unique}\\"), 10).await.is_empty());
}
