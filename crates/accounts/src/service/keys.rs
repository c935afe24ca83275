//! What is done to keys.

use std::time::Duration;

use time::OffsetDateTime;

use super::{Accounts, AccountsError, Action, Actor, audit_line, new_id, of_account, of_key};
use crate::field::{self, FieldError};
use crate::key::{ApiKey, NoRandomness};
use crate::model::{AccountId, KeyId, KeyRecord};

/// Longest time that the old key of a rotation stays valid beside the new one.
pub const MAX_OVERLAP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The name of a key whose owner gave none.
pub const DEFAULT_KEY_NAME: &str = "default";

/// A key just made. `key` is shown to its owner now or never: storage has only `record`.
#[derive(Debug)]
pub struct NewKey {
    /// The key itself.
    pub key: ApiKey,
    /// What is kept of it.
    pub record: KeyRecord,
}

/// A rotation just made.
#[derive(Debug)]
pub struct Rotation {
    /// The key that takes over.
    pub new: NewKey,
    /// When the old key ends.
    pub old_ends_at: OffsetDateTime,
}

impl Accounts {
    /// Makes a key for the deployment's environment; [`DEFAULT_KEY_NAME`] when it gets no name.
    ///
    /// # Errors
    /// [`AccountsError::Field`] for a bad name, [`AccountsError::NoSuchAccount`], [`AccountsError::TooManyKeys`], [`AccountsError::NoRandomness`].
    pub async fn create_key(
        &self,
        account: &AccountId,
        name: Option<&str>,
        actor: Actor<'_>,
    ) -> Result<NewKey, AccountsError> {
        let name = field::key_name(name.unwrap_or(DEFAULT_KEY_NAME))?;
        let new = self.make_key(account.clone(), name, self.now())?;
        let detail = shown(&new.record);
        let audit = audit_line(
            new.record.created_at,
            actor,
            Action::CreateKey,
            account,
            detail,
        );
        self.store
            .insert_key(&new.record, &audit)
            .await
            .map_err(of_account)?;
        Ok(new)
    }

    /// The account's keys, oldest first, ended ones too.
    ///
    /// # Errors
    /// [`AccountsError::NoSuchAccount`].
    pub async fn keys(&self, account: &AccountId) -> Result<Vec<KeyRecord>, AccountsError> {
        let keys = self.store.keys(account).await.map_err(of_account)?;
        if keys.is_empty() {
            self.account(account).await?;
        }
        Ok(keys)
    }

    /// What is kept of the key with this id.
    ///
    /// # Errors
    /// [`AccountsError::NoSuchKey`].
    pub async fn key(&self, id: &KeyId) -> Result<KeyRecord, AccountsError> {
        self.store
            .key(id)
            .await
            .map_err(of_key)?
            .ok_or(AccountsError::NoSuchKey)
    }

    /// Makes a key that takes over from `id`, which stays valid for `overlap` more (at most [`MAX_OVERLAP`]), or as long as it would have anyway
    /// where that is shorter. The new key has the old one's account and name.
    ///
    /// # Errors
    /// [`AccountsError::NoSuchKey`], [`AccountsError::KeyEnded`], [`AccountsError::OtherEnvironment`], [`AccountsError::Field`] for an
    /// overlap that is too long, [`AccountsError::TooManyKeys`], [`AccountsError::NoRandomness`].
    pub async fn rotate_key(
        &self,
        id: &KeyId,
        overlap: Duration,
        actor: Actor<'_>,
    ) -> Result<Rotation, AccountsError> {
        const TOO_LONG: FieldError = FieldError {
            field: "overlap",
            problem: "is longer than 7 days",
        };
        if overlap > MAX_OVERLAP {
            return Err(TOO_LONG.into());
        }
        let overlap = time::Duration::try_from(overlap).map_err(|_| TOO_LONG)?;
        let old = self.key(id).await?;
        let now = self.now();
        let state = old.state(now);
        if state.is_ended() {
            return Err(AccountsError::KeyEnded(state));
        }
        if old.environment != self.environment {
            return Err(AccountsError::OtherEnvironment(old.environment));
        }
        let ends_at = now.checked_add(overlap).ok_or(TOO_LONG)?;
        let new = self.make_key(old.account, old.name, now)?;
        let old_ends_at = old.expires_at.map_or(ends_at, |sooner| sooner.min(ends_at));
        let detail = format!(
            "{} replaces {id}, which ends {old_ends_at}",
            shown(&new.record)
        );
        let audit = audit_line(now, actor, Action::RotateKey, &new.record.account, detail);
        self.store
            .rotate_key(id, ends_at, &new.record, &audit)
            .await
            .map_err(of_key)?;
        Ok(Rotation { new, old_ends_at })
    }

    /// Ends a key for good (within two seconds on every instance). Nothing is written for a key that is revoked already.
    ///
    /// # Errors
    /// [`AccountsError::NoSuchKey`].
    pub async fn revoke_key(&self, id: &KeyId, actor: Actor<'_>) -> Result<(), AccountsError> {
        let old = self.key(id).await?;
        if old.revoked_at.is_some() {
            return Ok(());
        }
        let now = self.now();
        let audit = audit_line(now, actor, Action::RevokeKey, &old.account, shown(&old));
        self.store.revoke_key(id, now, &audit).await.map_err(of_key)
    }

    fn make_key(
        &self,
        account: AccountId,
        name: String,
        created_at: OffsetDateTime,
    ) -> Result<NewKey, NoRandomness> {
        let key = ApiKey::generate(self.environment)?;
        let record = KeyRecord {
            id: KeyId::from(new_id()),
            account,
            name,
            environment: self.environment,
            hash: key.hash(),
            prefix: key.prefix().to_owned(),
            last_four: key.last_four().to_owned(),
            created_at,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        Ok(NewKey { key, record })
    }
}

/// A key as the audit trail tells of it: enough to recognise it.
fn shown(key: &KeyRecord) -> String {
    format!(
        "key {} \"{}\" ({}...{})",
        key.id, key.name, key.prefix, key.last_four
    )
}
