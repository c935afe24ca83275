//! Both storage traits in memory, for tests: nothing outlives the process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use time::{Date, OffsetDateTime};

use crate::chain::{self, AuditHead, AuditLink};
use crate::model::{
    Account, AccountId, AuditEntry, KeyHash, KeyId, KeyRecord, MAX_LIVE_KEYS, Overrides,
    OverridesChange, Suspension, UsageBatch, UsageCounts, UsageKey,
};
use crate::requests::{RequestLine, RequestStore};
use crate::traits::{AccountStore, StoreError, UsageStore};

/// Accounts, keys, audit trail and usage counters, as long as the value lives.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    silent: bool,
    accounts: Vec<Account>,
    keys: Vec<KeyRecord>,
    audit: Vec<AuditEntry>,
    usage: HashMap<UsageKey, UsageCounts>,
    requests: Vec<RequestLine>,
    /// The last batch of each writer.
    written: HashMap<String, u64>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// With `true` every call fails as if the database were away, until it is called with `false`.
    pub fn set_silent(&self, silent: bool) {
        self.lock().silent = silent;
    }

    /// Adds a line to the audit trail.
    pub(crate) fn note(&self, audit: &AuditEntry) {
        self.lock().audit.push(audit.clone());
    }

    /// Drops an account with its keys and counters.
    pub(crate) fn forget(&self, id: &AccountId) {
        let mut tables = self.lock();
        tables.accounts.retain(|account| account.id != *id);
        tables.keys.retain(|key| key.account != *id);
        tables.usage.retain(|key, _| key.account != *id);
    }

    /// Accounts with a key that ends in these characters.
    pub(crate) fn by_key_ending(&self, last_four: &str, limit: u32) -> Vec<Account> {
        let tables = self.lock();
        let fits = |account: &&Account| {
            tables
                .keys
                .iter()
                .any(|key| key.account == account.id && key.last_four == last_four)
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        tables
            .accounts
            .iter()
            .filter(fits)
            .take(limit)
            .cloned()
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables, unless the store plays dead.
    fn tables(&self) -> Result<MutexGuard<'_, Tables>, StoreError> {
        let tables = self.lock();
        if tables.silent {
            return Err(StoreError::Unavailable("told to be silent".to_owned()));
        }
        Ok(tables)
    }
}

impl Tables {
    fn links(&self) -> Vec<AuditLink> {
        let mut hash = chain::BEGINNING;
        let numbered = (1..).zip(&self.audit);
        numbered
            .map(|(number, entry)| {
                hash = chain::link(&hash, number, entry);
                AuditLink {
                    number,
                    hash,
                    entry: entry.clone(),
                }
            })
            .collect()
    }

    fn account_mut(&mut self, id: &AccountId) -> Result<&mut Account, StoreError> {
        self.accounts
            .iter_mut()
            .find(|account| account.id == *id)
            .ok_or(StoreError::NotFound("account"))
    }

    fn key_mut(&mut self, id: &KeyId) -> Result<&mut KeyRecord, StoreError> {
        self.keys
            .iter_mut()
            .find(|key| key.id == *id)
            .ok_or(StoreError::NotFound("key"))
    }

    /// Adds a key at `at`; `ending` are those of the account that end with it.
    fn add_key(
        &mut self,
        key: &KeyRecord,
        at: OffsetDateTime,
        ending: usize,
    ) -> Result<(), StoreError> {
        self.account_mut(&key.account)?;
        let live = self
            .keys
            .iter()
            .filter(|old| old.account == key.account && !old.state(at).is_ended())
            .count();
        let most = usize::try_from(MAX_LIVE_KEYS).unwrap_or(usize::MAX);
        if live.saturating_sub(ending) >= most {
            return Err(StoreError::TooManyKeys);
        }
        if self
            .keys
            .iter()
            .any(|old| old.id == key.id || old.hash == key.hash)
        {
            return Err(StoreError::Unavailable(
                "a key with this id or hash exists".to_owned(),
            ));
        }
        self.keys.push(key.clone());
        Ok(())
    }
}

#[async_trait]
impl AccountStore for MemoryStore {
    async fn create_account(
        &self,
        account: &Account,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        if tables.accounts.iter().any(|old| old.email == account.email) {
            return Err(StoreError::EmailTaken);
        }
        if tables.accounts.iter().any(|old| old.id == account.id) {
            return Err(StoreError::Unavailable(
                "an account with this id exists".to_owned(),
            ));
        }
        tables.accounts.push(account.clone());
        tables.audit.push(audit.clone());
        Ok(())
    }

    async fn account(&self, id: &AccountId) -> Result<Option<Account>, StoreError> {
        let tables = self.tables()?;
        Ok(tables.accounts.iter().find(|one| one.id == *id).cloned())
    }

    async fn account_by_email(&self, email: &str) -> Result<Option<Account>, StoreError> {
        let tables = self.tables()?;
        Ok(tables
            .accounts
            .iter()
            .find(|one| one.email == email)
            .cloned())
    }

    async fn set_suspension(
        &self,
        id: &AccountId,
        suspension: Option<&Suspension>,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        tables.account_mut(id)?.suspension = suspension.cloned();
        tables.audit.push(audit.clone());
        Ok(())
    }

    async fn change_overrides(
        &self,
        id: &AccountId,
        change: OverridesChange,
        audit: &AuditEntry,
    ) -> Result<Overrides, StoreError> {
        let mut tables = self.tables()?;
        let account = tables.account_mut(id)?;
        account.overrides = change.of(account.overrides.at(audit.at));
        let overrides = account.overrides;
        tables.audit.push(audit.clone());
        Ok(overrides)
    }

    async fn insert_key(&self, key: &KeyRecord, audit: &AuditEntry) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        tables.add_key(key, audit.at, 0)?;
        tables.audit.push(audit.clone());
        Ok(())
    }

    async fn rotate_key(
        &self,
        old: &KeyId,
        ends_at: OffsetDateTime,
        new: &KeyRecord,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        let before = tables.key_mut(old)?;
        // Only a key of the new one's own account, whatever the caller made of it.
        if before.account != new.account {
            return Err(StoreError::NotFound("key"));
        }
        let state = before.state(audit.at);
        if state.is_ended() {
            return Err(StoreError::KeyEnded(state));
        }
        // The step that can fail comes before the first write.
        tables.add_key(new, audit.at, usize::from(ends_at <= audit.at))?;
        let old = tables.key_mut(old)?;
        old.expires_at = Some(old.expires_at.map_or(ends_at, |sooner| sooner.min(ends_at)));
        tables.audit.push(audit.clone());
        Ok(())
    }

    async fn revoke_key(
        &self,
        id: &KeyId,
        at: OffsetDateTime,
        audit: &AuditEntry,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        let key = tables.key_mut(id)?;
        key.revoked_at = key.revoked_at.or(Some(at));
        tables.audit.push(audit.clone());
        Ok(())
    }

    async fn key(&self, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let tables = self.tables()?;
        Ok(tables.keys.iter().find(|key| key.id == *id).cloned())
    }

    async fn keys(&self, account: &AccountId) -> Result<Vec<KeyRecord>, StoreError> {
        let tables = self.tables()?;
        let mut keys: Vec<_> = tables
            .keys
            .iter()
            .filter(|key| key.account == *account)
            .cloned()
            .collect();
        keys.sort_by_key(|key| key.created_at);
        Ok(keys)
    }

    async fn key_by_hash(
        &self,
        hash: &KeyHash,
    ) -> Result<Option<(KeyRecord, Account)>, StoreError> {
        let tables = self.tables()?;
        let Some(key) = tables.keys.iter().find(|key| key.hash == *hash) else {
            return Ok(None);
        };
        let account = tables.accounts.iter().find(|one| one.id == key.account);
        Ok(account.map(|account| (key.clone(), account.clone())))
    }

    async fn touch_keys(&self, used: &[(KeyId, OffsetDateTime)]) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        for (id, at) in used {
            // A key that is gone has no last use to note.
            if let Ok(key) = tables.key_mut(id) {
                key.last_used_at = key.last_used_at.max(Some(*at));
            }
        }
        Ok(())
    }

    async fn audit(&self, account: &AccountId, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let tables = self.tables()?;
        let mut lines: Vec<_> = tables
            .audit
            .iter()
            .rev()
            .filter(|line| line.account == *account)
            .cloned()
            .collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.at));
        lines.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(lines)
    }

    async fn audit_head(&self) -> Result<AuditHead, StoreError> {
        let links = self.tables()?.links();
        Ok(AuditHead {
            lines: links.last().map_or(0, |last| last.number),
            hash: links.last().map_or(chain::BEGINNING, |last| last.hash),
            unchained: 0,
            unchained_now: 0,
        })
    }

    async fn audit_links(&self, after: u64, limit: u32) -> Result<Vec<AuditLink>, StoreError> {
        let links = self.tables()?.links();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let later = links.into_iter().filter(|link| link.number > after);
        Ok(later.take(limit).collect())
    }

    async fn accounts_by_email_prefix(
        &self,
        prefix: &str,
        limit: u32,
    ) -> Result<Vec<Account>, StoreError> {
        let tables = self.tables()?;
        let fits = |account: &&Account| account.email.starts_with(prefix);
        let mut found: Vec<_> = tables.accounts.iter().filter(fits).cloned().collect();
        found.sort_by(|a, b| a.email.cmp(&b.email));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }
}

#[async_trait]
impl RequestStore for MemoryStore {
    async fn add_requests(&self, lines: &[RequestLine], keep: u32) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        for line in lines {
            if !tables.requests.iter().any(|old| old.id == line.id) {
                tables.requests.push(line.clone());
            }
            let all = tables
                .requests
                .iter()
                .filter(|old| old.account == line.account)
                .count();
            let over = all.saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
            let mut seen = 0;
            tables.requests.retain(|old| {
                seen += usize::from(old.account == line.account);
                old.account != line.account || seen > over
            });
        }
        Ok(())
    }

    async fn requests(
        &self,
        account: &AccountId,
        limit: u32,
    ) -> Result<Vec<RequestLine>, StoreError> {
        let tables = self.tables()?;
        let own = tables
            .requests
            .iter()
            .rev()
            .filter(|line| line.account == *account);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(own.take(limit).cloned().collect())
    }

    async fn request(&self, id: &str) -> Result<Option<RequestLine>, StoreError> {
        let tables = self.tables()?;
        Ok(tables
            .requests
            .iter()
            .find(|line| line.id.as_str() == id)
            .cloned())
    }

    async fn purge_requests(&self, before: OffsetDateTime) -> Result<u64, StoreError> {
        let mut tables = self.tables()?;
        let all = tables.requests.len();
        tables.requests.retain(|line| line.at >= before);
        Ok(u64::try_from(all - tables.requests.len()).unwrap_or(u64::MAX))
    }
}

#[async_trait]
impl UsageStore for MemoryStore {
    async fn add_usage(
        &self,
        batch: &UsageBatch,
        counts: &[(UsageKey, UsageCounts)],
    ) -> Result<(), StoreError> {
        let mut tables = self.tables()?;
        let last = tables.written.entry(batch.writer.clone()).or_default();
        if *last >= batch.number {
            return Ok(());
        }
        *last = batch.number;
        for (key, more) in counts {
            *tables.usage.entry(key.clone()).or_default() += *more;
        }
        Ok(())
    }

    async fn usage_since(
        &self,
        account: &AccountId,
        from: Date,
    ) -> Result<Vec<(UsageKey, UsageCounts)>, StoreError> {
        let tables = self.tables()?;
        Ok(tables
            .usage
            .iter()
            .filter(|(key, _)| key.account == *account && key.day >= from)
            .map(|(key, counts)| (key.clone(), *counts))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::account_store_contract!(async { Some(Box::new(MemoryStore::new())) });
    crate::request_store_contract!(async { Some(Box::new(MemoryStore::new())) });
    crate::usage_store_contract!(async { Some(Box::new(MemoryStore::new())) });
}
