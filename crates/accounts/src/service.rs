//! What is done to accounts and keys: each change is checked here and written with its audit line.

use std::sync::Arc;

use brownstone_domain::clock::from_micros;
use brownstone_domain::{Clock, LimitError, Limits};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use uuid::Uuid;

use crate::chain::{self, AuditLink, Check};
use crate::field::{self, FieldError};
use crate::key::NoRandomness;
use crate::model::{
    Account, AccountId, AuditEntry, Environment, KeyState, MAX_LIVE_KEYS, Overrides,
    OverridesChange, Role, Suspension, Tier,
};
use crate::traits::{AccountStore, StoreError};

mod keys;

pub use keys::{DEFAULT_KEY_NAME, MAX_OVERLAP, NewKey, Rotation};

/// What stands before support's reason in the detail of a change of limits.
pub const REASON: &str = "; reason: ";

/// Lines of the audit trail that are read at once to check it.
const LINKS_AT_ONCE: u32 = 500;

/// Why a change was not made. The text is fit for whoever asked for it; storage's own words are in the source, for the log.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    /// A value was refused; the text names its field.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A ceiling is out of range.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Another account has this e-mail address.
    #[error("an account with this e-mail address exists")]
    EmailTaken,
    /// No account has this id or e-mail address.
    #[error("there is no such account")]
    NoSuchAccount,
    /// No key has this id.
    #[error("there is no such key")]
    NoSuchKey,
    /// The key is revoked or past its end; make a new one instead.
    #[error("this key is {0} and cannot be rotated; create a new key instead")]
    KeyEnded(KeyState),
    /// The account has as many keys that are good as it may.
    #[error(
        "an account has at most {MAX_LIVE_KEYS} keys that are good at one time; revoke one that is not needed first"
    )]
    TooManyKeys,
    /// The key is for another deployment.
    #[error(
        "this key is for the {0} environment and this deployment is not; rotate it where it belongs"
    )]
    OtherEnvironment(Environment),
    /// No key could be made.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// Storage did not answer; nothing is known to have changed.
    #[error("the account store did not answer; try again")]
    Unavailable(#[source] StoreError),
}

impl AccountsError {
    /// A store's error where `missing` is what [`StoreError::NotFound`] would speak of.
    fn from_store(error: StoreError, missing: Self) -> Self {
        match error {
            StoreError::EmailTaken => Self::EmailTaken,
            StoreError::NotFound(_) => missing,
            StoreError::KeyEnded(state) => Self::KeyEnded(state),
            StoreError::TooManyKeys => Self::TooManyKeys,
            StoreError::Unavailable(_) | StoreError::Changed => Self::Unavailable(error),
        }
    }
}

fn of_account(error: StoreError) -> AccountsError {
    AccountsError::from_store(error, AccountsError::NoSuchAccount)
}

fn of_key(error: StoreError) -> AccountsError {
    AccountsError::from_store(error, AccountsError::NoSuchKey)
}

/// Who makes a change, for the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor<'a> {
    /// An operator's command.
    Command,
    /// A signed-in person.
    Account(&'a AccountId),
}

impl Actor<'_> {
    /// The name in the audit trail.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Command => "command",
            Self::Account(id) => id.as_str(),
        }
    }
}

/// What happened, as the audit trail names it.
#[derive(Debug, Clone, Copy)]
enum Action {
    CreateAccount,
    Suspend,
    Restore,
    SetLimits,
    ClearLimits,
    CreateKey,
    RevokeKey,
    RotateKey,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::CreateAccount => "account.create",
            Self::Suspend => "account.suspend",
            Self::Restore => "account.restore",
            Self::SetLimits => "limits.set",
            Self::ClearLimits => "limits.clear",
            Self::CreateKey => "key.create",
            Self::RevokeKey => "key.revoke",
            Self::RotateKey => "key.rotate",
        }
    }
}

/// Accounts and keys of one deployment.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn AccountStore>,
    clock: Arc<dyn Clock>,
    environment: Environment,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts")
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

impl Accounts {
    /// Accounts kept in `store`, whose keys are for `environment`.
    pub fn new(
        store: Arc<dyn AccountStore>,
        clock: Arc<dyn Clock>,
        environment: Environment,
    ) -> Self {
        Self {
            store,
            clock,
            environment,
        }
    }

    /// The deployment's environment: that of every key made here.
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// Opens an account.
    ///
    /// # Errors
    /// [`AccountsError::Field`] for what is no e-mail address, [`AccountsError::EmailTaken`].
    pub async fn create(
        &self,
        email: &str,
        tier: Tier,
        role: Role,
        actor: Actor<'_>,
    ) -> Result<Account, AccountsError> {
        let account = Account {
            id: AccountId::from(new_id()),
            email: field::normalise_email(email)?,
            tier,
            role,
            suspension: None,
            overrides: Overrides::default(),
            created_at: self.now(),
        };
        let audit = audit_line(
            account.created_at,
            actor,
            Action::CreateAccount,
            &account.id,
            format!("tier {tier}, role {role}"),
        );
        self.store
            .create_account(&account, &audit)
            .await
            .map_err(of_account)?;
        Ok(account)
    }

    /// The account that `id_or_email` names: an id, or an e-mail address in any case.
    ///
    /// # Errors
    /// [`AccountsError::NoSuchAccount`], also for a text that is neither.
    pub async fn find(&self, id_or_email: &str) -> Result<Account, AccountsError> {
        let text = id_or_email.trim();
        let found = if text.contains('@') {
            let email = field::normalise_email(text).map_err(|_| AccountsError::NoSuchAccount)?;
            self.store.account_by_email(&email).await
        } else {
            self.store
                .account(&AccountId::from(canonical_id(text)))
                .await
        };
        found
            .map_err(of_account)?
            .ok_or(AccountsError::NoSuchAccount)
    }

    /// The account with this id.
    ///
    /// # Errors
    /// [`AccountsError::NoSuchAccount`].
    pub async fn account(&self, id: &AccountId) -> Result<Account, AccountsError> {
        self.store
            .account(id)
            .await
            .map_err(of_account)?
            .ok_or(AccountsError::NoSuchAccount)
    }

    /// Refuses every call of the account from now on (within two seconds on every instance). An account that is suspended
    /// already stays so since its first moment, with the new reason.
    ///
    /// # Errors
    /// [`AccountsError::Field`] for a bad reason, [`AccountsError::NoSuchAccount`].
    pub async fn suspend(
        &self,
        id: &AccountId,
        reason: &str,
        actor: Actor<'_>,
    ) -> Result<Suspension, AccountsError> {
        let reason = field::reason(reason)?;
        let now = self.now();
        let suspension = Suspension {
            at: self.account(id).await?.suspension.map_or(now, |old| old.at),
            reason,
        };
        let audit = audit_line(now, actor, Action::Suspend, id, suspension.reason.clone());
        self.store
            .set_suspension(id, Some(&suspension), &audit)
            .await
            .map_err(of_account)?;
        Ok(suspension)
    }

    /// Lifts a suspension. Nothing is written for an account that is not suspended.
    ///
    /// # Errors
    /// [`AccountsError::Field`] for a bad reason, [`AccountsError::NoSuchAccount`].
    pub async fn restore(
        &self,
        id: &AccountId,
        reason: &str,
        actor: Actor<'_>,
    ) -> Result<(), AccountsError> {
        let reason = field::reason(reason)?;
        if self.account(id).await?.suspension.is_none() {
            return Ok(());
        }
        let audit = audit_line(self.now(), actor, Action::Restore, id, reason);
        self.store
            .set_suspension(id, None, &audit)
            .await
            .map_err(of_account)
    }

    /// Sets the ceilings that are `Some` in `change` and leaves the others as they are; all that then stands ends at `change.until`,
    /// or not at all. Returns it.
    ///
    /// # Errors
    /// [`AccountsError::Limit`] for a value out of range, [`AccountsError::Field`] when nothing is given, for a bad reason or an end that has passed,
    /// [`AccountsError::NoSuchAccount`].
    pub async fn set_limits(
        &self,
        id: &AccountId,
        change: Overrides,
        reason: &str,
        actor: Actor<'_>,
    ) -> Result<Overrides, AccountsError> {
        let reason = field::reason(reason)?;
        if change.until.is_some_and(|end| end <= self.now()) {
            return Err(FieldError {
                field: "until",
                problem: "has passed already",
            }
            .into());
        }
        if change.per_minute.is_none() && change.per_day.is_none() {
            return Err(FieldError {
                field: "limits",
                problem: "give a ceiling per minute, per day, or both",
            }
            .into());
        }
        Limits::new(
            change.per_minute.unwrap_or_default(),
            change.per_day.unwrap_or_default(),
        )?;
        let change = OverridesChange {
            per_minute: change.per_minute.into(),
            per_day: change.per_day.into(),
            until: change.until,
        };
        self.change_limits(id, change, &reason, Action::SetLimits, actor)
            .await
    }

    /// Puts the account back on the default ceilings.
    ///
    /// # Errors
    /// [`AccountsError::Field`] for a bad reason, [`AccountsError::NoSuchAccount`].
    pub async fn clear_limits(
        &self,
        id: &AccountId,
        reason: &str,
        actor: Actor<'_>,
    ) -> Result<(), AccountsError> {
        let reason = field::reason(reason)?;
        self.change_limits(
            id,
            OverridesChange::CLEAR,
            &reason,
            Action::ClearLimits,
            actor,
        )
        .await?;
        Ok(())
    }

    async fn change_limits(
        &self,
        id: &AccountId,
        change: OverridesChange,
        reason: &str,
        action: Action,
        actor: Actor<'_>,
    ) -> Result<Overrides, AccountsError> {
        let until = change.until.and_then(|end| end.format(&Rfc3339).ok());
        let until = until
            .map(|end| format!(", until {end}"))
            .unwrap_or_default();
        let detail = format!(
            "per minute {}, per day {}{until}{REASON}{reason}",
            change.per_minute, change.per_day
        );
        let audit = audit_line(self.now(), actor, action, id, detail);
        self.store
            .change_overrides(id, change, &audit)
            .await
            .map_err(of_account)
    }

    /// The account's audit trail, newest first, at most `limit` lines.
    ///
    /// # Errors
    /// [`AccountsError::Unavailable`].
    pub async fn audit(
        &self,
        account: &AccountId,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, AccountsError> {
        self.store.audit(account, limit).await.map_err(of_account)
    }

    /// Accounts whose e-mail address begins so, at most twenty.
    ///
    /// # Errors
    /// [`AccountsError::Unavailable`].
    pub async fn by_email_prefix(&self, prefix: &str) -> Result<Vec<Account>, AccountsError> {
        let prefix = prefix.trim().to_lowercase();
        let found = self.store.accounts_by_email_prefix(&prefix, 20).await;
        found.map_err(of_account)
    }

    /// Reads the whole audit trail and checks that it is the chain that was written.
    ///
    /// # Errors
    /// [`AccountsError::Unavailable`]; what is wrong with the chain is no error of this call.
    pub async fn verify_audit(&self) -> Result<chain::Verdict, AccountsError> {
        let mut check = Check::new(self.store.audit_head().await.map_err(of_account)?);
        loop {
            let links = self.store.audit_links(check.at(), LINKS_AT_ONCE).await;
            let links = links.map_err(of_account)?;
            if links.is_empty() || !links.iter().all(|link| check.take(link)) {
                return Ok(check.end());
            }
        }
    }

    /// The newest lines of the whole trail, newest first, at most `limit`.
    ///
    /// # Errors
    /// [`AccountsError::Unavailable`].
    pub async fn audit_tail(&self, limit: u32) -> Result<Vec<AuditLink>, AccountsError> {
        let head = self.store.audit_head().await.map_err(of_account)?;
        let after = head.lines.saturating_sub(limit.into());
        let links = self.store.audit_links(after, limit).await;
        let mut links = links.map_err(of_account)?;
        links.reverse();
        Ok(links)
    }

    /// Now, in whole microseconds: what storage can keep, so that what is returned here is what is read back later.
    fn now(&self) -> OffsetDateTime {
        from_micros(self.clock.now_us()).unwrap_or_else(|| self.clock.now())
    }
}

/// One line of the audit trail.
fn audit_line(
    at: OffsetDateTime,
    actor: Actor<'_>,
    action: Action,
    account: &AccountId,
    detail: String,
) -> AuditEntry {
    AuditEntry {
        at,
        actor: actor.as_str().to_owned(),
        action: action.as_str().to_owned(),
        account: account.clone(),
        detail,
    }
}

/// Version 7, so that ids sort by their time of making.
fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// A UUID the way ids are kept, whatever case and dashes it was typed with; other text as it is, which names nothing.
fn canonical_id(text: &str) -> String {
    Uuid::parse_str(text).map_or_else(|_| text.to_owned(), |id| id.to_string())
}

#[cfg(test)]
mod tests;
