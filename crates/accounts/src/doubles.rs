//! Stores that a test can stop in the middle, and a small world to call in.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use brownstone_domain::ManualClock;
use time::macros::datetime;
use time::{Date, OffsetDateTime};
use tokio::sync::Semaphore;

use crate::authenticator::{AuthFailure, Authenticator, Caller, UnauthorizedReason};
use crate::memory::MemoryStore;
use crate::model::{
    Account, AccountId, AuditEntry, Environment, KeyHash, KeyId, KeyRecord, Overrides,
    OverridesChange, Role, Suspension, Tier, UsageBatch, UsageCounts, UsageKey,
};
use crate::service::{Accounts, Actor, NewKey};
use crate::traits::{AccountStore, StoreError, UsageStore};

pub(crate) const NOON: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

pub(crate) fn unauthorized(reason: UnauthorizedReason) -> AuthFailure {
    AuthFailure::Unauthorized(reason)
}

/// A place where a call waits until the test lets it go.
#[derive(Debug)]
pub(crate) struct Gate {
    reached: Semaphore,
    release: Semaphore,
}

impl Gate {
    fn new() -> Self {
        Self {
            reached: Semaphore::new(0),
            release: Semaphore::new(0),
        }
    }

    async fn pass(&self) {
        self.reached.add_permits(1);
        self.release.acquire().await.unwrap().forget();
    }

    /// Waits until a call stands at the gate.
    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    /// Lets one call go.
    pub(crate) fn open(&self) {
        self.release.add_permits(1);
    }
}

/// A [`MemoryStore`] that counts and can be stopped at the calls that matter.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    pub(crate) inner: MemoryStore,
    reads: AtomicUsize,
    touches: Mutex<Vec<Vec<(KeyId, OffsetDateTime)>>>,
    /// Where a read by hash waits, after it has read.
    read_gate: Mutex<Option<Arc<Gate>>>,
    /// Where a write of usage waits, before or after it has written.
    write_gate: Mutex<Option<(Arc<Gate>, When)>>,
    /// Whether writes of usage are carried out and then answered with an error, as when a connection breaks at the commit.
    answers_lost: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    BeforeWrite,
    AfterWrite,
}

impl Probe {
    /// Reads by hash so far.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    /// Writes of last use so far.
    pub(crate) fn touches(&self) -> Vec<Vec<(KeyId, OffsetDateTime)>> {
        self.touches.lock().unwrap().clone()
    }

    pub(crate) fn stop_reads(&self) -> Arc<Gate> {
        let gate = Arc::new(Gate::new());
        *self.read_gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    pub(crate) fn stop_reads_no_more(&self) {
        *self.read_gate.lock().unwrap() = None;
    }

    pub(crate) fn stop_writes(&self, when: When) -> Arc<Gate> {
        let gate = Arc::new(Gate::new());
        *self.write_gate.lock().unwrap() = Some((Arc::clone(&gate), when));
        gate
    }

    pub(crate) fn stop_writes_no_more(&self) {
        *self.write_gate.lock().unwrap() = None;
    }

    pub(crate) fn lose_answers(&self, lost: bool) {
        self.answers_lost.store(lost, Ordering::SeqCst);
    }

    async fn write_point(&self, here: When) {
        let gate = self
            .write_gate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((gate, when)) = gate
            && when == here
        {
            gate.pass().await;
        }
    }
}

/// Methods that go straight to the inner store.
macro_rules! straight {
    ($($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl AccountStore for Probe {
            $(
                async fn $name(&self, $($arg: $type),*) -> Result<$answer, StoreError> {
                    self.inner.$name($($arg),*).await
                }
            )+

            async fn key_by_hash(
                &self,
                hash: &KeyHash,
            ) -> Result<Option<(KeyRecord, Account)>, StoreError> {
                self.reads.fetch_add(1, Ordering::SeqCst);
                let row = self.inner.key_by_hash(hash).await;
                let gate = self.read_gate.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(gate) = gate {
                    gate.pass().await;
                }
                row
            }

            async fn touch_keys(&self, used: &[(KeyId, OffsetDateTime)]) -> Result<(), StoreError> {
                self.touches
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(used.to_vec());
                self.inner.touch_keys(used).await
            }
        }
    };
}

straight! {
    create_account(account: &Account, audit: &AuditEntry) -> ();
    account(id: &AccountId) -> Option<Account>;
    account_by_email(email: &str) -> Option<Account>;
    set_suspension(id: &AccountId, suspension: Option<&Suspension>, audit: &AuditEntry) -> ();
    change_overrides(id: &AccountId, change: OverridesChange, audit: &AuditEntry) -> Overrides;
    insert_key(key: &KeyRecord, audit: &AuditEntry) -> ();
    rotate_key(old: &KeyId, ends_at: OffsetDateTime, new: &KeyRecord, audit: &AuditEntry) -> ();
    revoke_key(id: &KeyId, at: OffsetDateTime, audit: &AuditEntry) -> ();
    key(id: &KeyId) -> Option<KeyRecord>;
    keys(account: &AccountId) -> Vec<KeyRecord>;
    audit(account: &AccountId, limit: u32) -> Vec<AuditEntry>;
    audit_head() -> crate::chain::AuditHead;
    audit_links(after: u64, limit: u32) -> Vec<crate::chain::AuditLink>;
    accounts_by_email_prefix(prefix: &str, limit: u32) -> Vec<Account>;
}

#[async_trait]
impl UsageStore for Probe {
    async fn add_usage(
        &self,
        batch: &UsageBatch,
        counts: &[(UsageKey, UsageCounts)],
    ) -> Result<(), StoreError> {
        self.write_point(When::BeforeWrite).await;
        self.inner.add_usage(batch, counts).await?;
        self.write_point(When::AfterWrite).await;
        if self.answers_lost.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the answer was lost".to_owned()));
        }
        Ok(())
    }

    async fn usage_since(
        &self,
        account: &AccountId,
        from: Date,
    ) -> Result<Vec<(UsageKey, UsageCounts)>, StoreError> {
        self.inner.usage_since(account, from).await
    }
}

/// A deployment of the test environment with one account and one key.
pub(crate) struct World {
    pub(crate) store: Arc<Probe>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) accounts: Accounts,
    pub(crate) account: AccountId,
    pub(crate) key: NewKey,
    pub(crate) authenticator: Arc<Authenticator>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::of_tier(Tier::Pro).await
    }

    pub(crate) async fn of_tier(tier: Tier) -> Self {
        let store = Arc::new(Probe::default());
        let clock = Arc::new(ManualClock::at(NOON));
        let accounts = Accounts::new(store.clone(), clock.clone(), Environment::Test);
        let account = accounts
            .create("demo@example.com", tier, Role::Developer, Actor::Command)
            .await
            .unwrap()
            .id;
        let key = accounts
            .create_key(&account, Some("laptop"), Actor::Command)
            .await
            .unwrap();
        let authenticator = Arc::new(Authenticator::start(
            store.clone(),
            clock.clone(),
            Environment::Test,
        ));
        Self {
            store,
            clock,
            accounts,
            account,
            key,
            authenticator,
        }
    }

    /// A call with the world's key.
    pub(crate) async fn call(&self) -> Result<Caller, AuthFailure> {
        self.call_with(self.key.key.expose()).await
    }

    /// A call with this key.
    pub(crate) async fn call_with(&self, key: &str) -> Result<Caller, AuthFailure> {
        let header = format!("Bearer {key}");
        self.authenticator.authenticate(Some(&header)).await
    }

    /// A call with the world's key that runs beside the test.
    pub(crate) fn spawn_call(&self) -> tokio::task::JoinHandle<Result<Caller, AuthFailure>> {
        let header = format!("Bearer {}", self.key.key.expose());
        let authenticator = Arc::clone(&self.authenticator);
        tokio::spawn(async move { authenticator.authenticate(Some(&header)).await })
    }
}
