//! What storage must do for accounts and usage. `store` implements it.

use async_trait::async_trait;
use time::{Date, OffsetDateTime};

use crate::chain::{AuditHead, AuditLink};
use crate::model::{
    Account, AccountId, AuditEntry, KeyHash, KeyId, KeyRecord, KeyState, Overrides,
    OverridesChange, Suspension, UsageBatch, UsageCounts, UsageKey,
};

/// Why storage could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It did not answer; the text is for the log, never for a caller.
    #[error("storage unavailable: {0}")]
    Unavailable(String),
    /// Another account has this e-mail address.
    #[error("an account with this e-mail address exists")]
    EmailTaken,
    /// There is no such account or key.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The key that was to be rotated has ended.
    #[error("the key is {0}")]
    KeyEnded(KeyState),
    /// The account has as many keys that are good as it may.
    #[error("the account has all the keys it may have")]
    TooManyKeys,
    /// The password or the session that a change stood on is another by now, or gone.
    #[error("what this stood on has changed")]
    Changed,
}

/// Accounts, keys and their audit trail. Each change and its audit line are one transaction.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Adds an account. [`StoreError::EmailTaken`] when the address is in use.
    async fn create_account(&self, account: &Account, audit: &AuditEntry)
    -> Result<(), StoreError>;

    /// The account with this id.
    async fn account(&self, id: &AccountId) -> Result<Option<Account>, StoreError>;

    /// The account with this e-mail address, in lower case.
    async fn account_by_email(&self, email: &str) -> Result<Option<Account>, StoreError>;

    /// Suspends the account, or restores it with `None`.
    async fn set_suspension(
        &self,
        id: &AccountId,
        suspension: Option<&Suspension>,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// Changes the ceilings and returns what then stands. Overrides whose end has come at `audit.at` are gone before the change. The store itself merges, so that two changes at one time, each of
    /// another ceiling, are both kept.
    async fn change_overrides(
        &self,
        id: &AccountId,
        change: OverridesChange,
        audit: &AuditEntry,
    ) -> Result<Overrides, StoreError>;

    /// Adds a key. [`StoreError::NotFound`] when its account is gone, [`StoreError::TooManyKeys`] when
    /// [`MAX_LIVE_KEYS`](crate::model::MAX_LIVE_KEYS) of its keys are good at `audit.at`: of two who add the last one at one time one does.
    async fn insert_key(&self, key: &KeyRecord, audit: &AuditEntry) -> Result<(), StoreError>;

    /// Adds `new` and ends `old` at `ends_at`, or sooner where it already ended sooner, in one transaction. The store itself looks whether `old`
    /// is good at `audit.at`: [`StoreError::KeyEnded`] where it is not. [`StoreError::TooManyKeys`] as for a key that is added.
    async fn rotate_key(
        &self,
        old: &KeyId,
        ends_at: OffsetDateTime,
        new: &KeyRecord,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// Revokes a key at `at`; a key that is revoked already keeps its first moment.
    async fn revoke_key(
        &self,
        id: &KeyId,
        at: OffsetDateTime,
        audit: &AuditEntry,
    ) -> Result<(), StoreError>;

    /// The key with this id.
    async fn key(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError>;

    /// The account's keys, oldest first, ended ones too.
    async fn keys(&self, account: &AccountId) -> Result<Vec<KeyRecord>, StoreError>;

    /// The key with this hash and its account, read together: the path of every request.
    async fn key_by_hash(&self, hash: &KeyHash)
    -> Result<Option<(KeyRecord, Account)>, StoreError>;

    /// Notes when keys were last used; never moves a note back.
    async fn touch_keys(&self, used: &[(KeyId, OffsetDateTime)]) -> Result<(), StoreError>;

    /// The account's audit trail, newest first, at most `limit` lines.
    async fn audit(&self, account: &AccountId, limit: u32) -> Result<Vec<AuditEntry>, StoreError>;

    /// Where the chain of the whole trail ends.
    async fn audit_head(&self) -> Result<AuditHead, StoreError>;

    /// Lines of the whole trail in the chain's order, from number `after` + 1 on, at most `limit`.
    async fn audit_links(&self, after: u64, limit: u32) -> Result<Vec<AuditLink>, StoreError>;

    /// Accounts whose e-mail address begins so, in its order, at most `limit`.
    async fn accounts_by_email_prefix(
        &self,
        prefix: &str,
        limit: u32,
    ) -> Result<Vec<Account>, StoreError>;
}

/// Usage counters.
#[async_trait]
pub trait UsageStore: Send + Sync {
    /// Adds to the counters, all or none, and once: a batch that was kept before is left alone and is no error.
    async fn add_usage(
        &self,
        batch: &UsageBatch,
        counts: &[(UsageKey, UsageCounts)],
    ) -> Result<(), StoreError>;

    /// The account's counters of `from` and later days.
    async fn usage_since(
        &self,
        account: &AccountId,
        from: Date,
    ) -> Result<Vec<(UsageKey, UsageCounts)>, StoreError>;
}
