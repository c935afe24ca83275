//! The audit trail's chain, as the tables hold it.

use std::sync::Arc;

use brownstone_accounts::chain::Fault;
use brownstone_accounts::{Accounts, Actor, Environment, Role, Tier};
use brownstone_domain::SystemClock;

use crate::harness::Held;

/// A line that nobody may have written stands beside the chain.
const OUTSIDE: Fault = Fault::Outside {
    expected: 0,
    found: 1,
};

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
            OUTSIDE,
            "DELETE FROM audit WHERE number IS NULL",
        ),
        (
            "INSERT INTO audit (at, actor, action, account_id, detail, number) SELECT at, actor, action, account_id, 'put in', 0 FROM audit WHERE number = 1",
            OUTSIDE,
            "DELETE FROM audit WHERE number = 0",
        ),
        (
            "INSERT INTO audit (at, actor, action, account_id, detail, number) SELECT at, actor, action, account_id, 'put in', -7 FROM audit WHERE number = 1",
            OUTSIDE,
            "DELETE FROM audit WHERE number = -7",
        ),
        (
            "INSERT INTO audit (at, actor, action, account_id, detail, number, hash) SELECT at, actor, action, account_id, 'put in', 6, hash FROM audit WHERE number = 1",
            OUTSIDE,
            "DELETE FROM audit WHERE number = 6",
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
