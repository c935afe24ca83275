//! People who sign in: passwords, sessions, one-time links, and how often a password may be tried.

#[cfg(feature = "contract")]
pub mod contract;
#[cfg(feature = "memory")]
pub mod memory;
pub mod model;
pub mod oidc;
pub mod password;
mod terms;
pub mod throttle;
pub mod traits;
mod vouched;

use std::sync::Arc;

use brownstone_domain::clock::from_micros;
use brownstone_domain::{Clock, Limits};
use secrecy::SecretString;
use time::OffsetDateTime;
use tokio::sync::Semaphore;
use uuid::Uuid;

pub use self::model::{Link, Session, SignedIn, Token, TokenHash};
pub use self::password::PasswordHash;
pub use self::terms::{NewSession, Origin, SignInError, SignInPolicy, SignUp};
pub use self::throttle::Throttle;
pub use self::traits::{Before, Grounds, SignInStore};

use self::model::{LINK_LIFETIME, SEEN_EVERY, SESSION_LIFETIME};
use crate::authenticator::{AuthFailure, Caller, CallerInfo, CallerKey};
use crate::field;
use crate::key::NoRandomness;
use crate::model::{Account, AccountId, AuditEntry, KeyId, Overrides, Role};
use crate::service::Actor;
use crate::traits::{AccountStore, StoreError};

/// What stands for a key in the counters of calls that a signed-in person makes on the web host.
pub const WEB_KEY: &str = "web";

/// Hashes that are computed at one time: each takes 19 MiB and a core.
const HASHES_AT_ONCE: usize = 2;

/// Most characters that are kept of a browser's own name.
const AGENT_MAX: usize = 200;

/// Sign-in of one deployment. Cheap to clone.
#[derive(Clone)]
pub struct SignIn(Arc<Inner>);

struct Inner {
    store: Arc<dyn SignInStore>,
    accounts: Arc<dyn AccountStore>,
    clock: Arc<dyn Clock>,
    policy: SignInPolicy,
    throttle: Throttle,
    hashing: Semaphore,
    /// Verified where there is no password, so that the time of an answer does not tell who has an account.
    nobody: PasswordHash,
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn")
            .field("policy", &self.0.policy)
            .finish_non_exhaustive()
    }
}

impl SignIn {
    /// Sign-in over the two stores.
    ///
    /// # Errors
    /// When the operating system has no random bytes.
    pub fn new(
        store: Arc<dyn SignInStore>,
        accounts: Arc<dyn AccountStore>,
        clock: Arc<dyn Clock>,
        policy: SignInPolicy,
    ) -> Result<Self, NoRandomness> {
        let nobody = PasswordHash::of(&SecretString::from(Token::generate()?.expose()))?;
        Ok(Self(Arc::new(Inner {
            store,
            accounts,
            clock,
            policy,
            throttle: Throttle::default(),
            hashing: Semaphore::new(HASHES_AT_ONCE),
            nobody,
        })))
    }

    /// The deployment's policy.
    pub fn policy(&self) -> SignInPolicy {
        self.0.policy
    }

    /// Opens an account and signs in.
    ///
    /// # Errors
    /// [`SignInError::SignUpClosed`], [`SignInError::TooMany`], [`SignInError::Field`], [`SignInError::EmailTaken`].
    pub async fn sign_up(
        &self,
        email: &str,
        password: SecretString,
        from: &Origin<'_>,
    ) -> Result<NewSession, SignInError> {
        if self.0.policy.sign_up != SignUp::Open {
            return Err(SignInError::SignUpClosed);
        }
        let email = field::normalise_email(email)?;
        password::acceptable(&password, &email)?;
        let now = self.now();
        self.try_counts(&email, from, now)?;
        let counted = self.0.throttle.count_opening(from.address, now);
        counted.map_err(SignInError::TooMany)?;
        let hash = self.hash(password).await?;
        let (account, audit) = self.opened(email, "by sign-up", now);
        self.0.store.open_account(&account, &hash, &audit).await?;
        self.0.throttle.forgive(&account.email);
        self.begin_by_password(&account.id, &hash, from, Before::Nothing)
            .await
    }

    /// Signs in.
    ///
    /// # Errors
    /// [`SignInError::Wrong`], after the same work whether the account exists or not; [`SignInError::TooMany`]; [`SignInError::Changed`]
    /// for a password that was changed meanwhile.
    pub async fn sign_in(
        &self,
        email: &str,
        password: SecretString,
        from: &Origin<'_>,
        replaces: Option<&Token>,
    ) -> Result<NewSession, SignInError> {
        let email = field::normalise_email(email).map_err(|_| SignInError::Wrong)?;
        self.try_counts(&email, from, self.now())?;
        let account = self.0.accounts.account_by_email(&email).await?;
        let id = account.as_ref().map(|account| &account.id);
        let Some(hash) = self.verify(id, password).await? else {
            tracing::info!(account = id.map(AccountId::as_str), "a sign-in was refused");
            return Err(SignInError::Wrong);
        };
        let account = account.ok_or(SignInError::Wrong)?;
        self.0.throttle.forgive(&email);
        let old = replaces.map(Token::hash);
        let before = old.as_ref().map_or(Before::Nothing, Before::Ends);
        self.begin_by_password(&account.id, &hash, from, before)
            .await
    }

    /// The password again, in a session that goes on under a new token.
    ///
    /// # Errors
    /// [`SignInError::Wrong`], [`SignInError::TooMany`], [`SignInError::Changed`] for a session that ended meanwhile.
    pub async fn again(
        &self,
        signed: &SignedIn,
        token: &Token,
        password: SecretString,
        from: &Origin<'_>,
    ) -> Result<NewSession, SignInError> {
        let hash = self.check(signed, password).await?;
        self.begin_by_password(
            &signed.account.id,
            &hash,
            from,
            Before::GoesOn(&token.hash()),
        )
        .await
    }

    /// Sets another password: every session ends but a new one.
    ///
    /// # Errors
    /// [`SignInError::Wrong`] for the old one, [`SignInError::Field`] for the new one, [`SignInError::TooMany`], [`SignInError::Changed`].
    pub async fn change_password(
        &self,
        signed: &SignedIn,
        old: SecretString,
        new: SecretString,
        from: &Origin<'_>,
    ) -> Result<NewSession, SignInError> {
        password::acceptable(&new, &signed.account.email)?;
        let was = self.check(signed, old).await?;
        let hash = self.hash(new).await?;
        let id = &signed.account.id;
        let audit = line(
            self.now(),
            Actor::Account(id),
            "password.set",
            id,
            "by its owner".into(),
        );
        self.0.store.set_password(&was, &hash, &audit).await?;
        self.begin_by_password(id, &hash, from, Before::Nothing)
            .await
    }

    /// The session and account behind a cookie's token, if it is good.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn who(&self, token: &Token) -> Result<Option<SignedIn>, SignInError> {
        let hash = token.hash();
        let now = self.now();
        let Some((session, account)) = self.0.store.session(&hash).await? else {
            return Ok(None);
        };
        if !session.is_alive(now) {
            return Ok(None);
        }
        if now - session.last_seen_at >= SEEN_EVERY
            && let Err(error) = self.0.store.touch_session(&hash, now).await
        {
            // The session is good; only its note is late.
            tracing::warn!(%error, "a session's last use was not written");
        }
        Ok(Some(SignedIn { session, account }))
    }

    /// The account's sessions that are good, the newest first.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn sessions(&self, account: &AccountId) -> Result<Vec<Session>, SignInError> {
        let now = self.now();
        let mut sessions = self.0.store.sessions(account).await?;
        sessions.retain(|session| session.is_alive(now));
        Ok(sessions)
    }

    /// Ends a session of the account; `false` when it has none of this id.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn end(&self, account: &AccountId, id: &str) -> Result<bool, SignInError> {
        Ok(self.0.store.end_session(account, id).await?)
    }

    /// Ends all sessions of the account but this one.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn end_others(&self, signed: &SignedIn) -> Result<u64, SignInError> {
        let others = self
            .0
            .store
            .end_other_sessions(&signed.account.id, &signed.session.id);
        Ok(others.await?)
    }

    /// Makes a one-time link to set a password; the one before ends.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn invite(
        &self,
        account: &AccountId,
        actor: Actor<'_>,
    ) -> Result<(Token, OffsetDateTime), SignInError> {
        let token = Token::generate()?;
        let now = self.now();
        let link = Link {
            hash: token.hash(),
            account: account.clone(),
            created_at: now,
            expires_at: now + LINK_LIFETIME,
        };
        let detail = "a link to set a password".to_owned();
        let audit = line(now, actor, "link.create", account, detail);
        self.0.store.insert_link(&link, &audit).await?;
        Ok((token, link.expires_at))
    }

    /// The account whose password a link sets.
    ///
    /// # Errors
    /// [`SignInError::LinkGone`].
    pub async fn invited(&self, token: &Token) -> Result<Account, SignInError> {
        let link = self.0.store.link(&token.hash()).await?;
        let link = link.filter(|link| self.now() < link.expires_at);
        let link = link.ok_or(SignInError::LinkGone)?;
        let account = self.0.accounts.account(&link.account).await?;
        account.ok_or(SignInError::LinkGone)
    }

    /// Uses a link up: the password is set, other sessions end, and its holder is signed in.
    ///
    /// # Errors
    /// [`SignInError::LinkGone`], [`SignInError::Field`].
    pub async fn redeem(
        &self,
        token: &Token,
        password: SecretString,
        from: &Origin<'_>,
    ) -> Result<NewSession, SignInError> {
        let account = self.invited(token).await?;
        password::acceptable(&password, &account.email)?;
        let hash = self.hash(password).await?;
        let id = &account.id;
        let audit = line(
            self.now(),
            Actor::Account(id),
            "password.set",
            id,
            "by a link".into(),
        );
        self.0
            .store
            .redeem_link(&token.hash(), &hash, &audit)
            .await?;
        self.begin_by_password(id, &hash, from, Before::Nothing)
            .await
    }

    /// Deletes the account and all that is its own, after the password was given once more.
    ///
    /// # Errors
    /// [`SignInError::Wrong`], [`SignInError::TooMany`], [`SignInError::Changed`] where the password was changed, the session ended or the account
    /// was suspended meanwhile.
    pub async fn erase(
        &self,
        signed: &SignedIn,
        password: SecretString,
    ) -> Result<(), SignInError> {
        let was = self.check(signed, password).await?;
        let id = &signed.account.id;
        let audit = line(
            self.now(),
            Actor::Account(id),
            "account.erase",
            id,
            "by its owner".into(),
        );
        let session = &signed.session.hash;
        let erased = self.0.store.erase_account(&was, session, &audit);
        Ok(erased.await?)
    }

    /// Accounts with a key that ends in these four characters, at most 20.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn by_key_ending(&self, last_four: &str) -> Result<Vec<Account>, SignInError> {
        Ok(self.0.store.accounts_by_key_ending(last_four, 20).await?)
    }

    /// Drops what ended.
    ///
    /// # Errors
    /// [`SignInError::Unavailable`].
    pub async fn purge(&self) -> Result<u64, SignInError> {
        Ok(self.0.store.purge_sign_in(self.now()).await?)
    }

    /// The caller for the pipeline: a signed-in person, on the account's own budget.
    ///
    /// # Errors
    /// In this order: suspension, entitlement.
    pub fn caller(&self, account: &Account) -> Result<Caller, AuthFailure> {
        let key = KeyId::from(WEB_KEY);
        if account.suspension.is_some() {
            return Err(AuthFailure::Suspended {
                account: account.id.clone(),
                key,
            });
        }
        if !account.tier.has_api_access() {
            return Err(AuthFailure::NotEntitled {
                account: account.id.clone(),
                key,
                tier: account.tier,
            });
        }
        Ok(self.watcher(account))
    }

    /// The caller for looking at one's own budget, which a suspended person may.
    pub fn watcher(&self, account: &Account) -> Caller {
        let limits: Limits = account.overrides.at(self.now()).limits();
        Caller::from(CallerInfo {
            account: account.id.clone(),
            tier: account.tier,
            limits,
            key: CallerKey {
                id: KeyId::from(WEB_KEY),
                name: "web host".to_owned(),
                prefix: String::new(),
                last_four: String::new(),
            },
            environment: self.0.policy.environment,
        })
    }

    /// The deployment's time, in whole microseconds: what storage keeps.
    pub fn now(&self) -> OffsetDateTime {
        let clock = &self.0.clock;
        from_micros(clock.now_us()).unwrap_or_else(|| clock.now())
    }

    /// An account as it is opened here, with its first line of the audit trail.
    fn opened(&self, email: String, how: &str, now: OffsetDateTime) -> (Account, AuditEntry) {
        let account = Account {
            id: AccountId::from(Uuid::now_v7().to_string()),
            email,
            tier: self.0.policy.tier,
            role: Role::Developer,
            suspension: None,
            overrides: Overrides::default(),
            created_at: now,
        };
        let detail = format!("tier {}, {how}", account.tier);
        let by = Actor::Account(&account.id);
        let audit = line(now, by, "account.create", &account.id, detail);
        (account, audit)
    }

    /// That the password of whoever is signed in is this one; gives it as it is kept. Tries are counted for the session: those of a
    /// stranger, for the same account or from the same address, must not keep somebody out who is in. A right one is counted for the account and
    /// not forgiven: each may begin another session, and the work must end.
    async fn check(
        &self,
        signed: &SignedIn,
        password: SecretString,
    ) -> Result<PasswordHash, SignInError> {
        let (throttle, session) = (&self.0.throttle, &signed.session.id);
        let counted = throttle.count_session(session, self.now());
        counted.map_err(SignInError::TooMany)?;
        let right = self.verify(Some(&signed.account.id), password).await?;
        let hash = right.ok_or(SignInError::Wrong)?;
        let proved = throttle.count_proved(signed.account.id.as_str(), self.now());
        proved.map_err(SignInError::TooMany)?;
        throttle.forgive_session(session);
        Ok(hash)
    }

    fn try_counts(
        &self,
        email: &str,
        from: &Origin<'_>,
        now: OffsetDateTime,
    ) -> Result<(), SignInError> {
        let counted = self.0.throttle.count(email, from.address, now);
        counted.map_err(SignInError::TooMany)
    }

    /// The account's password as it is kept, where `password` is it.
    async fn verify(
        &self,
        account: Option<&AccountId>,
        password: SecretString,
    ) -> Result<Option<PasswordHash>, SignInError> {
        let kept = match account {
            Some(id) => self.0.store.password(id).await?,
            None => None,
        };
        let hash = kept.clone().unwrap_or_else(|| self.0.nobody.clone());
        let fits = self.work(move || hash.fits(&password)).await?;
        Ok(kept.filter(|_| fits))
    }

    async fn hash(&self, password: SecretString) -> Result<PasswordHash, SignInError> {
        Ok(self.work(move || PasswordHash::of(&password)).await??)
    }

    /// Hashing, in its turn and off the transport's threads.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SignInError> {
        let stopped = |error: String| SignInError::Unavailable(StoreError::Unavailable(error));
        let _turn = self
            .0
            .hashing
            .acquire()
            .await
            .map_err(|e| stopped(e.to_string()))?;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| stopped(error.to_string()))
    }

    /// Begins a session of whoever has just given the password that is kept as `hash`.
    async fn begin_by_password(
        &self,
        account: &AccountId,
        hash: &PasswordHash,
        from: &Origin<'_>,
        before: Before<'_>,
    ) -> Result<NewSession, SignInError> {
        let grounds = Grounds {
            password: Some(hash),
            before,
        };
        self.begin(account, from, self.now(), grounds).await
    }

    /// Begins a session. `asked_at` is when its owner was asked who it is.
    async fn begin(
        &self,
        account: &AccountId,
        from: &Origin<'_>,
        asked_at: OffsetDateTime,
        grounds: Grounds<'_>,
    ) -> Result<NewSession, SignInError> {
        let token = Token::generate()?;
        let now = self.now();
        let agent = from.agent.chars().filter(|c| !c.is_control());
        let session = Session {
            id: Uuid::now_v7().to_string(),
            hash: token.hash(),
            account: account.clone(),
            created_at: now,
            last_seen_at: now,
            authenticated_at: asked_at,
            expires_at: now + SESSION_LIFETIME,
            address: from.address.to_canonical().to_string(),
            agent: agent.take(AGENT_MAX).collect(),
        };
        let detail = format!("session {} from {}", session.id, session.address);
        let audit = line(
            now,
            Actor::Account(account),
            "session.start",
            account,
            detail,
        );
        let inserted = self.0.store.insert_session(&session, grounds, &audit);
        inserted.await?;
        Ok(NewSession { token, session })
    }
}

fn line(
    at: OffsetDateTime,
    actor: Actor<'_>,
    action: &str,
    account: &AccountId,
    detail: String,
) -> AuditEntry {
    AuditEntry {
        at,
        actor: actor.as_str().to_owned(),
        action: action.to_owned(),
        account: account.clone(),
        detail,
    }
}

#[cfg(test)]
mod tests;
