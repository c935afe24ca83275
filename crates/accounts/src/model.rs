//! Accounts and keys as they are stored.

use brownstone_domain::{Limits, Operation, Surface};
use time::{Date, OffsetDateTime};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// Identifier of an account: a UUID's text.
    AccountId
}
text_id! {
    /// Identifier of a key: a UUID's text. Not secret.
    KeyId
}

/// What an account has bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// May hold keys; every operation on every surface is refused.
    Free,
    /// Has the API and MCP.
    Pro,
}

/// What a person may do on the web host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Their own account.
    Developer,
    /// Other people's accounts, through the support console.
    Support,
    /// Everything.
    Admin,
}

/// Which deployment a key is for. A prefix proves nothing; the column decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// Production; keys begin `svc_live_`.
    Live,
    /// Staging; keys begin `svc_test_`.
    Test,
}

/// Why and since when an account is suspended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspension {
    /// Since when.
    pub at: OffsetDateTime,
    /// Support's reason; never shown to the caller.
    pub reason: String,
}

/// Ceilings that support set for one account; `None` leaves the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Units per minute.
    pub per_minute: Option<u32>,
    /// Units per UTC day.
    pub per_day: Option<u32>,
}

impl Overrides {
    /// The account's limits: the overrides where given, else the defaults. Out-of-range values, which no writer lets in,
    /// fall back to the defaults.
    pub fn limits(self) -> Limits {
        Limits::new(
            self.per_minute.unwrap_or(Limits::DEFAULT_PER_MINUTE),
            self.per_day.unwrap_or(Limits::DEFAULT_PER_DAY),
        )
        .unwrap_or_default()
    }
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its identifier.
    pub id: AccountId,
    /// E-mail address, lower case, unique.
    pub email: String,
    /// Tier.
    pub tier: Tier,
    /// Role of its person.
    pub role: Role,
    /// Set while API access is suspended.
    pub suspension: Option<Suspension>,
    /// Ceilings set by support.
    pub overrides: Overrides,
    /// When it was made.
    pub created_at: OffsetDateTime,
}

/// SHA-256 of a whole key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl std::fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

/// All that is kept of a key: the key itself is shown once and never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its identifier.
    pub id: KeyId,
    /// Whose it is.
    pub account: AccountId,
    /// The name its owner gave it.
    pub name: String,
    /// Which deployment it is for.
    pub environment: Environment,
    /// SHA-256 of the whole key.
    pub hash: KeyHash,
    /// `svc_live_` or `svc_test_`.
    pub prefix: String,
    /// The last four characters.
    pub last_four: String,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it ends; set by a rotation with overlap.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was revoked.
    pub revoked_at: Option<OffsetDateTime>,
    /// About when it was last used; written at most once a minute.
    pub last_used_at: Option<OffsetDateTime>,
}

/// One line of the audit trail, written in the same transaction as what it tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: OffsetDateTime,
    /// Who: `command` for the operator's commands, else an account id.
    pub actor: String,
    /// What: `account.create`, `account.suspend`, `account.restore`, `limits.set`, `limits.clear`, `key.create`,
    /// `key.revoke`, `key.rotate`.
    pub action: String,
    /// On which account.
    pub account: AccountId,
    /// Details for a person; never a secret.
    pub detail: String,
}

/// What a usage counter counts by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UsageKey {
    /// Whose call.
    pub account: AccountId,
    /// UTC day of the charge.
    pub day: Date,
    /// With which key.
    pub key: KeyId,
    /// By which way.
    pub surface: Surface,
    /// Which operation.
    pub operation: Operation,
}

/// A usage counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageCounts {
    /// Calls that succeeded.
    pub calls: u64,
    /// Calls that failed after they were authenticated, refusals of the budget aside.
    pub failed: u64,
    /// Units charged and kept.
    pub units: u64,
    /// Refused for the moment.
    pub rate_limited: u64,
    /// Refused for good: cost above the ceiling.
    pub permanent: u64,
}

impl std::ops::AddAssign for UsageCounts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.units += other.units;
        self.rate_limited += other.rate_limited;
        self.permanent += other.permanent;
    }
}
