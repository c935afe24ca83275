//! Passwords, sessions and one-time links. Each change and its audit line are one transaction.

use async_trait::async_trait;
use brownstone_accounts::model::{Account, AccountId, AuditEntry};
use brownstone_accounts::sign_in::{
    Before, Grounds, Link, PasswordHash, Session, SignInStore, TokenHash,
};
use brownstone_accounts::traits::StoreError;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error as QueryError};
use diesel_async::RunQueryDsl;
use time::OffsetDateTime;

use crate::account_rows::{AccountRow, hold_account};
use crate::audit::note;
use crate::error::Fault;
use crate::moment::At;
use crate::pool::{reading, stating, writing};
use crate::schema::{
    accounts, api_keys, passwords, quota_spent, requests, sessions, sign_in_links, usage_counts,
};
use crate::shared_quota::Budgets as _;
use crate::store::Store;

/// A row of `sessions`.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = sessions)]
struct SessionRow {
    id: String,
    hash: Vec<u8>,
    account_id: String,
    created_at: At,
    last_seen_at: At,
    authenticated_at: At,
    expires_at: At,
    address: String,
    agent: String,
}

impl From<&Session> for SessionRow {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.clone(),
            hash: session.hash.0.to_vec(),
            account_id: session.account.as_str().to_owned(),
            created_at: At(session.created_at),
            last_seen_at: At(session.last_seen_at),
            authenticated_at: At(session.authenticated_at),
            expires_at: At(session.expires_at),
            address: session.address.clone(),
            agent: session.agent.clone(),
        }
    }
}

impl TryFrom<SessionRow> for Session {
    type Error = Fault;

    fn try_from(row: SessionRow) -> Result<Self, Fault> {
        Ok(Self {
            id: row.id,
            hash: token_hash(row.hash)?,
            account: AccountId::from(row.account_id),
            created_at: row.created_at.0,
            last_seen_at: row.last_seen_at.0,
            authenticated_at: row.authenticated_at.0,
            expires_at: row.expires_at.0,
            address: row.address,
            agent: row.agent,
        })
    }
}

fn token_hash(bytes: Vec<u8>) -> Result<TokenHash, Fault> {
    let bytes = bytes.try_into();
    bytes
        .map(TokenHash)
        .map_err(|_| Fault::Unreadable("token hash"))
}

/// Rows here stand on their account.
fn without_account(error: QueryError) -> Fault {
    match error {
        QueryError::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => {
            Fault::Missing("account")
        }
        other => other.into(),
    }
}

/// The account's password is this one, or there is none, in a transaction that holds the account.
macro_rules! same_password {
    ($connection:ident, $account:expr, $was:expr) => {{
        let was: Option<String> = $was;
        let now: Option<String> = passwords::table
            .find($account)
            .select(passwords::hash)
            .first($connection)
            .await
            .optional()?;
        if now != was {
            return Err(Fault::Changed);
        }
    }};
}

/// Ends a session of the account that must be there for what follows, in a transaction that holds the account.
macro_rules! end_standing {
    ($connection:ident, $account:expr, $session:expr) => {{
        let session: TokenHash = $session;
        let rows = diesel::delete(
            sessions::table
                .filter(sessions::hash.eq(session.0.as_slice()))
                .filter(sessions::account_id.eq($account)),
        )
        .execute($connection)
        .await?;
        if rows == 0 {
            return Err(Fault::Changed);
        }
    }};
}

/// Sets a password inside a transaction that holds the account: links and sessions of the account end.
macro_rules! set_password {
    ($connection:ident, $account:expr, $hash:expr, $at:expr) => {{
        let account: &str = $account;
        diesel::delete(passwords::table.find(account))
            .execute($connection)
            .await?;
        diesel::insert_into(passwords::table)
            .values((
                passwords::account_id.eq(account),
                passwords::hash.eq($hash),
                passwords::changed_at.eq($at),
            ))
            .execute($connection)
            .await
            .map_err(without_account)?;
        diesel::delete(sign_in_links::table.find(account))
            .execute($connection)
            .await?;
        diesel::delete(sessions::table.filter(sessions::account_id.eq(account)))
            .execute($connection)
            .await?;
    }};
}

fn many(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

#[async_trait]
impl SignInStore for Store {
    async fn open_account(
        &self,
        account: &Account,
        password: &PasswordHash,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let row = AccountRow::from(account);
        let id = account.id.clone();
        let (hash, at) = (password.as_str().to_owned(), At(audit_entry.at));
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
            set_password!(connection, id.as_str(), hash, at);
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn password(&self, account: &AccountId) -> Result<Option<PasswordHash>, StoreError> {
        let account = account.clone();
        let hash: Option<String> = reading!(self, |connection| {
            Ok(passwords::table
                .find(account.as_str())
                .select(passwords::hash)
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(hash.map(PasswordHash::from))
    }

    async fn set_password(
        &self,
        was: &PasswordHash,
        password: &PasswordHash,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let account = audit_entry.account.clone();
        let was = was.as_str().to_owned();
        let (hash, at) = (password.as_str().to_owned(), At(audit_entry.at));
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            hold_account!(connection, account.as_str());
            same_password!(connection, account.as_str(), Some(was));
            set_password!(connection, account.as_str(), hash, at);
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn insert_link(&self, link: &Link, audit_entry: &AuditEntry) -> Result<(), StoreError> {
        let link = link.clone();
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            diesel::delete(sign_in_links::table.find(link.account.as_str()))
                .execute(connection)
                .await?;
            diesel::insert_into(sign_in_links::table)
                .values((
                    sign_in_links::account_id.eq(link.account.as_str()),
                    sign_in_links::hash.eq(link.hash.0.as_slice()),
                    sign_in_links::created_at.eq(At(link.created_at)),
                    sign_in_links::expires_at.eq(At(link.expires_at)),
                ))
                .execute(connection)
                .await
                .map_err(without_account)?;
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn link(&self, hash: &TokenHash) -> Result<Option<Link>, StoreError> {
        let hash = *hash;
        let row: Option<(String, At, At)> = reading!(self, |connection| {
            Ok(sign_in_links::table
                .filter(sign_in_links::hash.eq(hash.0.as_slice()))
                .select((
                    sign_in_links::account_id,
                    sign_in_links::created_at,
                    sign_in_links::expires_at,
                ))
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(row.map(|(account, created, expires)| Link {
            hash,
            account: AccountId::from(account),
            created_at: created.0,
            expires_at: expires.0,
        }))
    }

    async fn redeem_link(
        &self,
        hash: &TokenHash,
        password: &PasswordHash,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let link = *hash;
        let account = audit_entry.account.clone();
        let (hash, at) = (password.as_str().to_owned(), At(audit_entry.at));
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            hold_account!(connection, account.as_str());
            // The row goes first: of two who use one link the second finds none.
            let rows = diesel::delete(
                sign_in_links::table
                    .find(account.as_str())
                    .filter(sign_in_links::hash.eq(link.0.as_slice()))
                    .filter(sign_in_links::expires_at.gt(at)),
            )
            .execute(connection)
            .await?;
            if rows == 0 {
                return Err(Fault::Missing("link"));
            }
            set_password!(connection, account.as_str(), hash, at);
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn insert_session(
        &self,
        session: &Session,
        grounds: Grounds<'_>,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let (row, account) = (SessionRow::from(session), session.account.clone());
        let password = grounds.password.map(|hash| hash.as_str().to_owned());
        let (ends, goes_on) = match grounds.before {
            Before::Nothing => (None, None),
            Before::Ends(hash) => (Some(*hash), None),
            Before::GoesOn(hash) => (None, Some(*hash)),
        };
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            hold_account!(connection, account.as_str());
            same_password!(connection, account.as_str(), password);
            if let Some(old) = ends {
                diesel::delete(sessions::table.filter(sessions::hash.eq(old.0.as_slice())))
                    .execute(connection)
                    .await?;
            }
            if let Some(old) = goes_on {
                end_standing!(connection, account.as_str(), old);
            }
            diesel::insert_into(sessions::table)
                .values(row)
                .execute(connection)
                .await?;
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn session(&self, hash: &TokenHash) -> Result<Option<(Session, Account)>, StoreError> {
        let hash = *hash;
        let row: Option<(SessionRow, AccountRow)> = reading!(self, |connection| {
            Ok(sessions::table
                .inner_join(accounts::table)
                .filter(sessions::hash.eq(hash.0.as_slice()))
                .select((SessionRow::as_select(), AccountRow::as_select()))
                .first(connection)
                .await
                .optional()?)
        })?;
        let both: Result<Option<(Session, Account)>, Fault> = row
            .map(|(session, account)| Ok((session.try_into()?, account.try_into()?)))
            .transpose();
        Ok(both?)
    }

    async fn touch_session(&self, hash: &TokenHash, at: OffsetDateTime) -> Result<(), StoreError> {
        let (hash, at) = (*hash, At(at));
        stating!(self, relaxed, |connection| {
            let earlier = sessions::table
                .filter(sessions::hash.eq(hash.0.as_slice()))
                .filter(sessions::last_seen_at.lt(at));
            Ok(diesel::update(earlier)
                .set(sessions::last_seen_at.eq(at))
                .execute(connection)
                .await?)
        })?;
        Ok(())
    }

    async fn sessions(&self, account: &AccountId) -> Result<Vec<Session>, StoreError> {
        let account = account.clone();
        let rows: Vec<SessionRow> = reading!(self, |connection| {
            Ok(sessions::table
                .filter(sessions::account_id.eq(account.as_str()))
                .order((sessions::created_at.desc(), sessions::id.desc()))
                .select(SessionRow::as_select())
                .load(connection)
                .await?)
        })?;
        let all: Result<Vec<Session>, Fault> = rows.into_iter().map(Session::try_from).collect();
        Ok(all?)
    }

    async fn end_session(&self, account: &AccountId, id: &str) -> Result<bool, StoreError> {
        let (account, id) = (account.clone(), id.to_owned());
        let rows: usize = stating!(self, |connection| {
            let own = sessions::table
                .filter(sessions::id.eq(id))
                .filter(sessions::account_id.eq(account.as_str()));
            Ok(diesel::delete(own).execute(connection).await?)
        })?;
        Ok(rows > 0)
    }

    async fn end_other_sessions(&self, account: &AccountId, id: &str) -> Result<u64, StoreError> {
        let (account, id) = (account.clone(), id.to_owned());
        let rows: Result<usize, Fault> = writing!(self, |connection| {
            // Without it a session that another is about to go on in would not be seen.
            hold_account!(connection, account.as_str());
            let others = sessions::table
                .filter(sessions::account_id.eq(account.as_str()))
                .filter(sessions::id.ne(id));
            Ok(diesel::delete(others).execute(connection).await?)
        });
        match rows {
            Err(Fault::Missing(_)) => Ok(0),
            rows => Ok(many(rows?)),
        }
    }

    async fn purge_sign_in(&self, now: OffsetDateTime) -> Result<u64, StoreError> {
        let now = At(now);
        let rows: usize = writing!(self, relaxed, |connection| {
            let sessions = diesel::delete(sessions::table.filter(sessions::expires_at.le(now)))
                .execute(connection)
                .await?;
            let links =
                diesel::delete(sign_in_links::table.filter(sign_in_links::expires_at.le(now)))
                    .execute(connection)
                    .await?;
            Ok(sessions + links)
        })?;
        Ok(many(rows))
    }

    async fn erase_account(
        &self,
        was: &PasswordHash,
        session: &TokenHash,
        audit_entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let account = audit_entry.account.clone();
        let (was, session) = (was.as_str().to_owned(), *session);
        let line = audit_entry.clone();
        Ok(writing!(self, |connection| {
            let id = account.as_str();
            hold_account!(connection, id);
            same_password!(connection, id, Some(was));
            let suspended: bool = accounts::table
                .find(id)
                .select(accounts::suspended_at.is_not_null())
                .first(connection)
                .await?;
            if suspended {
                return Err(Fault::Changed);
            }
            end_standing!(connection, id, session);
            diesel::delete(passwords::table.find(id))
                .execute(connection)
                .await?;
            diesel::delete(sign_in_links::table.find(id))
                .execute(connection)
                .await?;
            diesel::delete(sessions::table.filter(sessions::account_id.eq(id)))
                .execute(connection)
                .await?;
            diesel::delete(api_keys::table.filter(api_keys::account_id.eq(id)))
                .execute(connection)
                .await?;
            diesel::delete(usage_counts::table.filter(usage_counts::account_id.eq(id)))
                .execute(connection)
                .await?;
            diesel::delete(requests::table.filter(requests::account_id.eq(id)))
                .execute(connection)
                .await?;
            // A memory engine that still holds the account's budget writes this row anew at a clean stop, until the budget is idle.
            diesel::delete(quota_spent::table.find(id))
                .execute(connection)
                .await?;
            connection.drop_budget(id).await?;
            diesel::delete(accounts::table.find(id))
                .execute(connection)
                .await?;
            note!(connection, line);
            Ok(())
        })?)
    }

    async fn accounts_by_key_ending(
        &self,
        last_four: &str,
        limit: u32,
    ) -> Result<Vec<Account>, StoreError> {
        let last_four = last_four.to_owned();
        let rows: Vec<AccountRow> = reading!(self, |connection| {
            let holders = api_keys::table
                .filter(api_keys::last_four.eq(last_four))
                .select(api_keys::account_id);
            Ok(accounts::table
                .filter(accounts::id.eq_any(holders))
                .order(accounts::id)
                .limit(i64::from(limit))
                .select(AccountRow::as_select())
                .load(connection)
                .await?)
        })?;
        let all: Result<Vec<Account>, Fault> = rows.into_iter().map(Account::try_from).collect();
        Ok(all?)
    }
}
