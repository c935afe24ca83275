//! [`SignInStore`] in memory, beside the accounts of a [`MemoryStore`]: for tests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use time::OffsetDateTime;

use super::model::{Link, Session, TokenHash};
use super::password::PasswordHash;
use super::traits::{Before, Grounds, SignInStore};
use crate::memory::MemoryStore;
use crate::model::{Account, AccountId, AuditEntry};
use crate::traits::{AccountStore as _, StoreError};

/// Passwords, sessions and links, as long as the value lives.
#[derive(Debug, Default)]
pub struct MemorySignIn {
    accounts: Arc<MemoryStore>,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    passwords: Vec<(AccountId, PasswordHash)>,
    links: Vec<Link>,
    sessions: Vec<Session>,
}

impl Tables {
    fn password(&self, account: &AccountId) -> Option<&PasswordHash> {
        let mut all = self.passwords.iter();
        let found = all.find(|(whose, _)| whose == account);
        found.map(|(_, password)| password)
    }

    fn set_password(&mut self, account: &AccountId, password: &PasswordHash) {
        self.passwords.retain(|(whose, _)| whose != account);
        self.passwords.push((account.clone(), password.clone()));
        self.links.retain(|link| link.account != *account);
        self.sessions.retain(|session| session.account != *account);
    }
}

impl MemorySignIn {
    /// Nothing yet, beside these accounts.
    pub fn new(accounts: Arc<MemoryStore>) -> Self {
        Self {
            accounts,
            tables: Mutex::default(),
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn known(&self, id: &AccountId) -> Result<Account, StoreError> {
        let account = self.accounts.account(id).await?;
        account.ok_or(StoreError::NotFound("account"))
    }
}

#[async_trait]
impl SignInStore for MemorySignIn {
    async fn open_account(
        &self,
        account: &Account,
        password: &PasswordHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        self.accounts.create_account(account, audit).await?;
        self.tables().set_password(&account.id, password);
        Ok(())
    }

    async fn password(&self, account: &AccountId) -> Result<Option<PasswordHash>, StoreError> {
        Ok(self.tables().password(account).cloned())
    }

    async fn set_password(
        &self,
        was: &PasswordHash,
        password: &PasswordHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        self.known(&audit.account).await?;
        let mut tables = self.tables();
        if tables.password(&audit.account) != Some(was) {
            return Err(StoreError::Changed);
        }
        tables.set_password(&audit.account, password);
        self.accounts.note(audit);
        Ok(())
    }

    async fn insert_link(&self, link: &Link, audit: &AuditEntry) -> Result<(), StoreError> {
        self.known(&link.account).await?;
        let mut tables = self.tables();
        tables.links.retain(|old| old.account != link.account);
        tables.links.push(link.clone());
        self.accounts.note(audit);
        Ok(())
    }

    async fn link(&self, hash: &TokenHash) -> Result<Option<Link>, StoreError> {
        let tables = self.tables();
        Ok(tables.links.iter().find(|link| link.hash == *hash).cloned())
    }

    async fn redeem_link(
        &self,
        hash: &TokenHash,
        password: &PasswordHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables();
        let fits = |link: &Link| {
            link.hash == *hash && link.account == audit.account && audit.at < link.expires_at
        };
        if !tables.links.iter().any(fits) {
            return Err(StoreError::NotFound("link"));
        }
        tables.set_password(&audit.account, password);
        self.accounts.note(audit);
        Ok(())
    }

    async fn insert_session(
        &self,
        session: &Session,
        grounds: Grounds<'_>,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        self.known(&session.account).await?;
        let mut tables = self.tables();
        if tables.password(&session.account) != grounds.password {
            return Err(StoreError::Changed);
        }
        match grounds.before {
            Before::Nothing => {}
            Before::Ends(hash) => tables.sessions.retain(|old| old.hash != *hash),
            Before::GoesOn(hash) => {
                let before = tables.sessions.len();
                tables
                    .sessions
                    .retain(|old| old.hash != *hash || old.account != session.account);
                if tables.sessions.len() == before {
                    return Err(StoreError::Changed);
                }
            }
        }
        tables.sessions.push(session.clone());
        self.accounts.note(audit);
        Ok(())
    }

    async fn session(&self, hash: &TokenHash) -> Result<Option<(Session, Account)>, StoreError> {
        let found = {
            let tables = self.tables();
            tables
                .sessions
                .iter()
                .find(|one| one.hash == *hash)
                .cloned()
        };
        let Some(session) = found else {
            return Ok(None);
        };
        let account = self.accounts.account(&session.account).await?;
        Ok(account.map(|account| (session, account)))
    }

    async fn touch_session(&self, hash: &TokenHash, at: OffsetDateTime) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if let Some(session) = tables.sessions.iter_mut().find(|one| one.hash == *hash) {
            session.last_seen_at = session.last_seen_at.max(at);
        }
        Ok(())
    }

    async fn sessions(&self, account: &AccountId) -> Result<Vec<Session>, StoreError> {
        let tables = self.tables();
        let own = tables.sessions.iter().filter(|one| one.account == *account);
        let mut sessions: Vec<_> = own.cloned().collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.created_at));
        Ok(sessions)
    }

    async fn end_session(&self, account: &AccountId, id: &str) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let before = tables.sessions.len();
        tables
            .sessions
            .retain(|one| one.account != *account || one.id != id);
        Ok(tables.sessions.len() < before)
    }

    async fn end_other_sessions(&self, account: &AccountId, id: &str) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        let before = tables.sessions.len();
        tables
            .sessions
            .retain(|one| one.account != *account || one.id == id);
        Ok(u64::try_from(before - tables.sessions.len()).unwrap_or(u64::MAX))
    }

    async fn purge_sign_in(&self, now: OffsetDateTime) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        let before = tables.sessions.len() + tables.links.len();
        tables.sessions.retain(|session| now < session.expires_at);
        tables.links.retain(|link| now < link.expires_at);
        let left = tables.sessions.len() + tables.links.len();
        Ok(u64::try_from(before - left).unwrap_or(u64::MAX))
    }

    async fn erase_account(
        &self,
        was: &PasswordHash,
        session: &TokenHash,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        let account = self.known(&audit.account).await?;
        let mut tables = self.tables();
        let lasts = |one: &Session| one.hash == *session && one.account == audit.account;
        if account.suspension.is_some()
            || tables.password(&audit.account) != Some(was)
            || !tables.sessions.iter().any(lasts)
        {
            return Err(StoreError::Changed);
        }
        tables
            .passwords
            .retain(|(whose, _)| *whose != audit.account);
        tables.links.retain(|link| link.account != audit.account);
        tables.sessions.retain(|one| one.account != audit.account);
        self.accounts.forget(&audit.account);
        self.accounts.note(audit);
        Ok(())
    }

    async fn accounts_by_key_ending(
        &self,
        last_four: &str,
        limit: u32,
    ) -> Result<Vec<Account>, StoreError> {
        Ok(self.accounts.by_key_ending(last_four, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::sign_in_store_contract!(async { Some(Box::new(MemorySignIn::default())) });
}
