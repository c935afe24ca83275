//! The audit trail's chain, as the tables hold it.

use std::sync::Arc;

use brownstone_accounts::chain::Fault;
use brownstone_accounts::{Accounts, Actor, Environment, Role, Tier};
use brownstone_domain::SystemClock;

use crate::harness::Held;

/// Five lines of one account.
async fn with_lines(held: &Held) -> Accounts {
    let accounts = Accounts::new(held.accounts(), Arc::new(SystemClock), Environment::Test);
    let made = accounts
        .create(
            "ada@example.com",
            Tier::Pro,
            Role::Developer,
            Actor::Command,
        )
        .await
        .expect("a fresh database");
    for reason in ["first", "second"] {
        let id = &made.id;
        accounts
            .suspend(id, reason, Actor::Command)
            .await
            .expect("suspended");
        accounts
            .restore(id, reason, Actor::Command)
            .await
            .expect("restored");
    }
    let verdict = accounts.verify_audit().await.expect("an answer");
    assert_eq!((verdict.lines, verdict.fault), (5, None));
    accounts
}

pub(crate) async fn a_line_cannot_be_changed_or_taken_out(held: &Held) {
    with_lines(held).await;
    let outsider = held.outsider().await;
    for sql in [
        "UPDATE audit SET detail = 'other' WHERE number = 2",
        "DELETE FROM audit WHERE number = 5",
    ] {
        assert!(outsider.refuses(sql).await, "{sql}");
    }
}

pub(crate) async fn what_was_tampered_with_is_found_at_its_line(held: &Held) {
    let accounts = with_lines(held).await;
    let outsider = held.outsider().await;
    outsider.unguard_audit().await;
    let fault = async || accounts.verify_audit().await.expect("an answer").fault;
    for (tamper, found, mend) in [
        (
            "UPDATE audit SET detail = 'other' WHERE number = 2",
            Fault::Altered(2),
            "UPDATE audit SET detail = 'first' WHERE number = 2",
        ),
        (
            "UPDATE audit SET number = NULL WHERE number = 3",
            Fault::Missing(3),
            "UPDATE audit SET number = 3 WHERE number IS NULL",
        ),
        (
            "INSERT INTO audit (at, actor, action, account_id, detail) SELECT at, actor, action, account_id, 'put in' FROM audit WHERE number = 1",
            Fault::Outside {
                expected: 0,
                found: 1,
            },
            "DELETE FROM audit WHERE number IS NULL",
        ),
        (
            "UPDATE audit_head SET lines = 6",
            Fault::Missing(6),
            "UPDATE audit_head SET lines = 5",
        ),
    ] {
        outsider.run(tamper).await;
        assert_eq!(fault().await, Some(found), "{tamper}");
        outsider.run(mend).await;
        assert_eq!(fault().await, None, "{mend}");
    }
    outsider.run("DELETE FROM audit WHERE number = 5").await;
    assert_eq!(fault().await, Some(Fault::Missing(5)));
}
