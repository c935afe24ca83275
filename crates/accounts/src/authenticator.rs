//! From the `Authorization` header to a caller, in memory for all but one call in 1.5 seconds a key.

use std::sync::Arc;

use brownstone_domain::usage::KeyRef;
use brownstone_domain::{Clock, Limits};

use crate::key::hash_if_well_formed;
use crate::last_use::{LastUse, Task};
use crate::model::{Account, AccountId, Environment, KeyId, KeyRecord, Tier};
use crate::traits::{AccountStore, StoreError};
use crate::verdicts::{Silent, Verdict, Verdicts};

/// Who calls. A copy costs one counter.
#[derive(Debug, Clone)]
pub struct Caller(Arc<CallerInfo>);

/// What is known of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerInfo {
    /// Whose budget the call draws on.
    pub account: AccountId,
    /// The account's tier.
    pub tier: Tier,
    /// The account's ceilings, overrides applied.
    pub limits: Limits,
    /// The key that was presented.
    pub key: CallerKey,
    /// Which deployment the key is for.
    pub environment: Environment,
}

/// Enough of a key to recognise it; not secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerKey {
    /// Its identifier.
    pub id: KeyId,
    /// The name its owner gave it.
    pub name: String,
    /// `svc_live_` or `svc_test_`.
    pub prefix: String,
    /// Its last four characters.
    pub last_four: String,
}

impl From<&CallerKey> for KeyRef {
    fn from(key: &CallerKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            prefix: key.prefix.clone(),
            last_four: key.last_four.clone(),
        }
    }
}

impl From<CallerInfo> for Caller {
    fn from(info: CallerInfo) -> Self {
        Self(Arc::new(info))
    }
}

impl From<(KeyRecord, Account)> for Caller {
    fn from((key, account): (KeyRecord, Account)) -> Self {
        Self::from(CallerInfo {
            limits: account.overrides.limits(),
            account: account.id,
            tier: account.tier,
            environment: key.environment,
            key: CallerKey {
                id: key.id,
                name: key.name,
                prefix: key.prefix,
                last_four: key.last_four,
            },
        })
    }
}

impl std::ops::Deref for Caller {
    type Target = CallerInfo;

    fn deref(&self) -> &CallerInfo {
        &self.0
    }
}

/// Why credentials were refused. For the log alone: a caller who could tell these apart would learn which keys exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnauthorizedReason {
    /// There is no `Authorization` header.
    Missing,
    /// The header is not `Bearer` and one well-formed key.
    Malformed,
    /// There is no such key.
    Unknown,
    /// The key was revoked.
    Revoked,
    /// The key is past its end.
    Expired,
    /// The key is for another deployment.
    WrongEnvironment,
}

impl UnauthorizedReason {
    /// The name in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::WrongEnvironment => "wrong_environment",
        }
    }
}

/// Why a call goes no further. The text is what the caller may read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthFailure {
    /// No valid credentials (401).
    #[error(
        "Missing or invalid API key. Send the header Authorization: Bearer <API_KEY> with a key of this environment."
    )]
    Unauthorized(UnauthorizedReason),
    /// Support suspended the account (403), whatever its tier.
    #[error("API access of this account is suspended. Contact support.")]
    Suspended {
        /// The account.
        account: AccountId,
        /// The key that was presented.
        key: KeyId,
    },
    /// The account's tier has no API access (403).
    #[error("The {tier} tier has no API access: the {} tier is needed.", Tier::Pro)]
    NotEntitled {
        /// The account.
        account: AccountId,
        /// The key that was presented.
        key: KeyId,
        /// What the account has.
        tier: Tier,
    },
    /// The account store did not answer, and there is no recent verdict on the key.
    #[error("The API key could not be checked. Try again.")]
    Unavailable,
}

/// Tells callers apart. One for the process; [`authenticate`](Self::authenticate) is called for every request.
///
/// Suspension, revocation and new limits are in force within two seconds of their change, in whichever process it was made, as long
/// as the store answers. While it is silent, a verdict already given stays good for 60 seconds.
pub struct Authenticator {
    verdicts: Verdicts,
    last_use: Arc<LastUse>,
    clock: Arc<dyn Clock>,
    environment: Environment,
    /// Writes the notes of last use; ends with the authenticator.
    _task: Task,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator")
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    /// An authenticator of the deployment `environment`, and its background task, which notes once a minute when keys were last used.
    /// `clock` decides whether a key is past its end.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(
        store: Arc<dyn AccountStore>,
        clock: Arc<dyn Clock>,
        environment: Environment,
    ) -> Self {
        let last_use = Arc::new(LastUse::new(Arc::clone(&store)));
        Self {
            verdicts: Verdicts::new(store),
            _task: last_use.spawn(),
            last_use,
            clock,
            environment,
        }
    }

    /// The caller behind the raw value of an `Authorization` header: `Bearer` in any case, then one key.
    ///
    /// # Errors
    /// In this order: credentials, suspension, entitlement.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Caller, AuthFailure> {
        let unauthorized = AuthFailure::Unauthorized;
        let header = authorization.ok_or(unauthorized(UnauthorizedReason::Missing))?;
        let hash = bearer_token(header)
            .and_then(|token| hash_if_well_formed(token).ok())
            .ok_or(unauthorized(UnauthorizedReason::Malformed))?;

        let known = match self.verdicts.get(&hash).await {
            Ok(Verdict::Known(known)) => known,
            Ok(Verdict::Unknown) => return Err(unauthorized(UnauthorizedReason::Unknown)),
            Err(Silent) => return Err(AuthFailure::Unavailable),
        };
        let caller = &known.caller;
        if caller.environment != self.environment {
            return Err(unauthorized(UnauthorizedReason::WrongEnvironment));
        }
        if known.revoked {
            return Err(unauthorized(UnauthorizedReason::Revoked));
        }
        // Asked on every call: a verdict that was read before the key's end must not outlive it.
        let now = self.clock.now();
        if known.expires_at.is_some_and(|end| end <= now) {
            return Err(unauthorized(UnauthorizedReason::Expired));
        }
        self.last_use.note(&caller.key.id, now);

        if known.suspended {
            return Err(AuthFailure::Suspended {
                account: caller.account.clone(),
                key: caller.key.id.clone(),
            });
        }
        if !caller.tier.has_api_access() {
            return Err(AuthFailure::NotEntitled {
                account: caller.account.clone(),
                key: caller.key.id.clone(),
                tier: caller.tier,
            });
        }
        // Asked on every call too: ceilings that support set until a moment end at it.
        if known.limits_until.is_some_and(|end| end <= now) {
            return Ok(Caller::from(CallerInfo {
                limits: Limits::default(),
                ..CallerInfo::clone(caller)
            }));
        }
        Ok(caller.clone())
    }

    /// Writes at once when keys were last used: for a clean stop.
    ///
    /// # Errors
    /// The store's; the notes wait for the next try.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.last_use.flush().await
    }
}

/// What stands after `Bearer`. That it is one token and no more is for the key's own form to say: no key has a blank.
fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, rest) = header.trim_matches(BLANK).split_once(BLANK)?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| rest.trim_start_matches(BLANK))
}

/// The blanks of an HTTP header.
const BLANK: [char; 2] = [' ', '\t'];

#[cfg(test)]
mod tests;
#[cfg(test)]
mod timing_tests;
