//! What storage must do for people who sign in. `store` implements it.

use async_trait::async_trait;
use time::OffsetDateTime;

use super::model::{Link, Session, TokenHash};
use super::password::PasswordHash;
use crate::model::{Account, AccountId, AuditEntry};
use crate::traits::StoreError;

/// What a new session stands on. The store looks at it once more, in the transaction that begins the session: between a password that was
/// right and its session the password may be changed, which ends all sessions there are, and this one would come after.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// The account's password as it was read; `None` where it had none.
    pub password: Option<&'a PasswordHash>,
    /// The session that the new one comes for.
    pub before: Before<'a>,
}

/// A session that ends where a new one begins.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    /// None.
    Nothing,
    /// Whichever the browser had: it ends if it is still there, and whoever's it is.
    Ends(&'a TokenHash),
    /// One of the same account that goes on in the new one, and must be there for that.
    GoesOn(&'a TokenHash),
}

/// Passwords, sessions and one-time links. Each change and its audit line are one transaction.
#[async_trait]
pub trait SignInStore: Send + Sync {
    /// Adds an account with its password. [`StoreError::EmailTaken`] when the address is in use.
    async fn open_account(
        &self,
        account: &Account,
        password: &PasswordHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// The account's password, if it has one.
    async fn password(&self, account: &AccountId) -> Result<Option<PasswordHash>, StoreError>;

    /// Sets the account's password in the place of `was` and ends its sessions and links. [`StoreError::Changed`] where `was` is not its
    /// password any more.
    async fn set_password(
        &self,
        was: &PasswordHash,
        password: &PasswordHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// Adds a link; the account's link before it ends.
    async fn insert_link(&self, link: &Link, audit: &AuditEntry) -> Result<(), StoreError>;

    /// The link with this hash, also one that is past its end.
    async fn link(&self, hash: &TokenHash) -> Result<Option<Link>, StoreError>;

    /// Uses a link up: sets the password of `audit.account` and ends its sessions. [`StoreError::NotFound`] when the link is gone, is
    /// past its end at `audit.at`, or is another account's; of two who use it at one time one does.
    async fn redeem_link(
        &self,
        hash: &TokenHash,
        password: &PasswordHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// Adds a session, if what it stands on still holds; else [`StoreError::Changed`], and nothing is changed.
    async fn insert_session(
        &self,
        session: &Session,
        grounds: Grounds<'_>,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// The session with this hash and its account, read together: the path of every page. Also one that is past its end.
    async fn session(&self, hash: &TokenHash) -> Result<Option<(Session, Account)>, StoreError>;

    /// Notes when a session was last used; never moves a note back.
    async fn touch_session(&self, hash: &TokenHash, at: OffsetDateTime) -> Result<(), StoreError>;

    /// The account's sessions, the newest first.
    async fn sessions(&self, account: &AccountId) -> Result<Vec<Session>, StoreError>;

    /// Ends a session of the account by its id; `false` when there is none.
    async fn end_session(&self, account: &AccountId, id: &str) -> Result<bool, StoreError>;

    /// Ends the account's sessions but this one; says how many.
    async fn end_other_sessions(&self, account: &AccountId, id: &str) -> Result<u64, StoreError>;

    /// Drops sessions and links that ended before `now`; says how many.
    async fn purge_sign_in(&self, now: OffsetDateTime) -> Result<u64, StoreError>;

    /// Deletes the account `audit.account` and all that is its own: password, sessions, links, keys, counters. The audit trail stays; it
    /// names the account by its id alone. [`StoreError::Changed`], and nothing is deleted, where `was` is not its password any more, `session`
    /// is none of its sessions any more, or it is suspended.
    async fn erase_account(
        &self,
        was: &PasswordHash,
        session: &TokenHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// Accounts with a key whose last four characters are these, at most `limit`.
    async fn accounts_by_key_ending(
        &self,
        last_four: &str,
        limit: u32,
    ) -> Result<Vec<Account>, StoreError>;
}
