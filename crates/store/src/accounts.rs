//! Accounts, keys and their audit trail. Each change and its audit line are one transaction.

use async_trait::async_trait;
use brownstone_accounts::chain::{AuditHead, AuditLink};
use brownstone_accounts::model::{
    Account, AccountId, AuditEntry, CeilingChange, KeyHash, KeyId, KeyRecord, MAX_LIVE_KEYS,
    Overrides, OverridesChange, Suspension,
};
use brownstone_accounts::traits::{AccountStore, StoreError};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use time::OffsetDateTime;

use crate::account_rows::{AccountRow, AuditRow, KeyRow, hold_account};
use crate::audit::note;
use crate::error::Fault;
use crate::moment::At;
use crate::pool::{reading, writing};
use crate::schema::{accounts, api_keys, audit};
use crate::store::Store;

/// Keys noted in one transaction; the notes need not be made all at once.
const TOUCHED_AT_ONCE: usize = 100;

/// A change that touched no row had no row to touch.
fn found(rows: usize, what: &'static str) -> Result<(), Fault> {
    match rows {
        0 => Err(Fault::Missing(what)),
        _ => Ok(()),
    }
}

/// What a ceiling's column is set to; `None` where it is left alone.
fn replaced(change: CeilingChange) -> Option<Option<i64>> {
    match change {
        CeilingChange::Keep => None,
        CeilingChange::Default => Some(None),
        CeilingChange::Set(units) => Some(Some(units.into())),
    }
}

/// The keys of an account that are good at a moment.
macro_rules! live_keys {
    ($account:expr, $at:expr) => {
        api_keys::table
            .filter(api_keys::account_id.eq($account))
            .filter(api_keys::revoked_at.is_null())
            .filter(
                api_keys::expires_at
                    .is_null()
                    .or(api_keys::expires_at.assume_not_null().gt($at)),
            )
    };
}

/// Adds a key inside a transaction that holds its account, so that nobody counts the same place twice.
macro_rules! add_key {
    ($connection:ident, $row:expr, $account:expr, $at:expr) => {{
        let live: i64 = live_keys!($account, $at)
            .count()
            .get_result($connection)
            .await?;
        if live >= i64::from(MAX_LIVE_KEYS) {
            return Err(Fault::TooManyKeys);
        }
        diesel::insert_into(api_keys::table)
            .values($row)
            .execute($connection)
            .await?;
    }};
}

#[async_trait]
impl AccountStore for Store {
    async fn create_account(
        &self,
        account: &Account,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let row = AccountRow::from(account);
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            let rows = diesel::insert_into(accounts::table)
                .values(row)
                .on_conflict(accounts::email)
                .do_nothing()
                .execute(connection)
                .await?;
            if rows == 0 {
                return Err(Fault::EmailTaken);
            }
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn account(&self, id: &AccountId) -> Result<Option<Account>, StoreError> {
        let id = id.clone();
        let row: Option<AccountRow> = reading!(self, |connection| {
            Ok(accounts::table
                .find(id.as_str())
                .select(AccountRow::as_select())
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(row.map(Account::try_from).transpose()?)
    }

    async fn account_by_email(&self, email: &str) -> Result<Option<Account>, StoreError> {
        let email = email.to_owned();
        let row: Option<AccountRow> = reading!(self, |connection| {
            Ok(accounts::table
                .filter(accounts::email.eq(email))
                .select(AccountRow::as_select())
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(row.map(Account::try_from).transpose()?)
    }

    async fn set_suspension(
        &self,
        id: &AccountId,
        suspension: Option<&Suspension>,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let id = id.clone();
        let (at, reason) = suspension
            .map(|suspension| (At(suspension.at), suspension.reason.clone()))
            .unzip();
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            let rows = diesel::update(accounts::table.find(id.as_str()))
                .set((
                    accounts::suspended_at.eq(at),
                    accounts::suspension_reason.eq(reason),
                ))
                .execute(connection)
                .await?;
            found(rows, "account")?;
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn change_overrides(
        &self,
        id: &AccountId,
        change: OverridesChange,
        audit_entry: &AuditEntry,
    ) -> Result<Overrides, StoreError> {
        let id = id.clone();
        let (at, until) = (At(audit_entry.at), change.until.map(At));
        let line = audit_entry.clone();
        let row: AccountRow = writing!(self, |connection| {
            // One statement for each ceiling that changes: what stays is not even mentioned, so nothing is written back that
            // another change has replaced.
            let account = || accounts::table.find(id.as_str());
            // What ended must not come back with a change of the other ceiling.
            diesel::update(account().filter(accounts::overrides_until.le(at)))
                .set((
                    accounts::per_minute.eq(None::<i64>),
                    accounts::per_day.eq(None::<i64>),
                ))
                .execute(connection)
                .await?;
            diesel::update(account())
                .set(accounts::overrides_until.eq(until))
                .execute(connection)
                .await?;
            if let Some(units) = replaced(change.per_minute) {
                diesel::update(account())
                    .set(accounts::per_minute.eq(units))
                    .execute(connection)
                    .await?;
            }
            if let Some(units) = replaced(change.per_day) {
                diesel::update(account())
                    .set(accounts::per_day.eq(units))
                    .execute(connection)
                    .await?;
            }
            let row = account()
                .select(AccountRow::as_select())
                .first(connection)
                .await
                .optional()?
                .ok_or(Fault::Missing("account"))?;
            note!(connection, line);
            Ok(row)
        })?;
        Ok(Account::try_from(row)?.overrides)
    }

    async fn insert_key(
        &self,
        key: &KeyRecord,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let (row, account) = (KeyRow::from(key), key.account.clone());
        let at = At(audit_entry.at);
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            hold_account!(connection, account.as_str());
            add_key!(connection, row, account.as_str(), at);
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn rotate_key(
        &self,
        old: &KeyId,
        ends_at: OffsetDateTime,
        new: &KeyRecord,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let (old, account, ends_at) = (old.clone(), new.account.clone(), At(ends_at));
        let row = KeyRow::from(new);
        let at = At(audit_entry.at);
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            hold_account!(connection, account.as_str());
            // Only a key of the new one's own account, whatever the caller made of it; and only one that is good: it may have been
            // revoked since the caller looked.
            let rows = diesel::update(
                live_keys!(account.as_str(), at).filter(api_keys::id.eq(old.as_str())),
            )
            .set(
                api_keys::expires_at.eq(diesel::dsl::case_when(
                    api_keys::expires_at.lt(ends_at),
                    api_keys::expires_at,
                )
                .otherwise(
                    Some(ends_at).into_sql::<diesel::sql_types::Nullable<crate::moment::Moment>>(),
                )),
            )
            .execute(connection)
            .await?;
            if rows == 0 {
                let ended: Option<KeyRow> = api_keys::table
                    .find(old.as_str())
                    .filter(api_keys::account_id.eq(account.as_str()))
                    .select(KeyRow::as_select())
                    .first(connection)
                    .await
                    .optional()?;
                let ended = ended.ok_or(Fault::Missing("key"))?;
                return Err(Fault::KeyEnded(KeyRecord::try_from(ended)?.state(at.0)));
            }
            add_key!(connection, row, account.as_str(), at);
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn revoke_key(
        &self,
        id: &KeyId,
        at: OffsetDateTime,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let (id, at) = (id.clone(), At(at));
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            let rows = diesel::update(api_keys::table.find(id.as_str()))
                .set(
                    api_keys::revoked_at.eq(diesel::dsl::case_when(
                        api_keys::revoked_at.is_null(),
                        Some(at).into_sql::<diesel::sql_types::Nullable<crate::moment::Moment>>(),
                    )
                    .otherwise(api_keys::revoked_at)),
                )
                .execute(connection)
                .await?;
            found(rows, "key")?;
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn key(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let id = id.clone();
        let row: Option<KeyRow> = reading!(self, |connection| {
            Ok(api_keys::table
                .find(id.as_str())
                .select(KeyRow::as_select())
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(row.map(KeyRecord::try_from).transpose()?)
    }

    async fn keys(&self, account: &AccountId) -> Result<Vec<KeyRecord>, StoreError> {
        let account = account.clone();
        let rows: Vec<KeyRow> = reading!(self, |connection| {
            Ok(api_keys::table
                .filter(api_keys::account_id.eq(account.as_str()))
                .order((api_keys::created_at, api_keys::id))
                .select(KeyRow::as_select())
                .load(connection)
                .await?)
        })?;
        let keys: Result<Vec<KeyRecord>, Fault> =
            rows.into_iter().map(KeyRecord::try_from).collect();
        Ok(keys?)
    }

    async fn key_by_hash(
        &self,
        hash: &KeyHash,
    ) -> Result<Option<(KeyRecord, Account)>, StoreError> {
        let hash = hash.0;
        let row: Option<(KeyRow, AccountRow)> = reading!(self, |connection| {
            Ok(api_keys::table
                .inner_join(accounts::table)
                .filter(api_keys::hash.eq(hash.as_slice()))
                .select((KeyRow::as_select(), AccountRow::as_select()))
                .first(connection)
                .await
                .optional()?)
        })?;
        let both: Result<Option<(KeyRecord, Account)>, Fault> = row
            .map(|(key, account)| Ok((key.try_into()?, account.try_into()?)))
            .transpose();
        Ok(both?)
    }

    async fn touch_keys(&self, used: &[(KeyId, OffsetDateTime)]) -> Result<(), StoreError> {
        let mut used = used.to_vec();
        // One order for everyone: two instances that note the same keys must not wait for each other in a ring.
        used.sort_unstable();
        for some in used.chunks(TOUCHED_AT_ONCE) {
            let some = some.to_vec();
            writing!(self, relaxed, |connection| {
                for (id, at) in some {
                    let at = At(at);
                    let earlier = api_keys::last_used_at
                        .is_null()
                        .or(api_keys::last_used_at.assume_not_null().lt(at));
                    diesel::update(api_keys::table.find(id.as_str()).filter(earlier))
                        .set(api_keys::last_used_at.eq(at))
                        .execute(connection)
                        .await?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    async fn audit(&self, account: &AccountId, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let account = account.clone();
        let rows: Vec<AuditRow> = reading!(self, |connection| {
            Ok(audit::table
                .filter(audit::account_id.eq(account.as_str()))
                .order((audit::at.desc(), audit::id.desc()))
                .limit(i64::from(limit))
                .select(AuditRow::as_select())
                .load(connection)
                .await?)
        })?;
        Ok(rows.into_iter().map(AuditEntry::from).collect())
    }

    async fn audit_head(&self) -> Result<AuditHead, StoreError> {
        self.chain_head().await
    }

    async fn audit_links(&self, after: u64, limit: u32) -> Result<Vec<AuditLink>, StoreError> {
        self.chain_links(after, limit).await
    }

    async fn accounts_by_email_prefix(
        &self,
        prefix: &str,
        limit: u32,
    ) -> Result<Vec<Account>, StoreError> {
        let mut pattern = String::with_capacity(prefix.len() + 1);
        for c in prefix.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('%');
        let rows: Vec<AccountRow> = reading!(self, |connection| {
            Ok(accounts::table
                .filter(accounts::email.like(pattern).escape('\\'))
                .order(accounts::email)
                .limit(i64::from(limit))
                .select(AccountRow::as_select())
                .load(connection)
                .await?)
        })?;
        let all: Result<Vec<Account>, Fault> = rows.into_iter().map(Account::try_from).collect();
        Ok(all?)
    }
}
