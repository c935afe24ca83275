//! Accounts and keys as they are stored.

use std::sync::Arc;

use brownstone_domain::{Limits, Operation, Surface};
use time::{Date, OffsetDateTime};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// Shared text: every call carries one into the log and the counters, so a copy must cost nothing.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

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

/// The names an enum has in commands, answers, logs and storage: one table, read both ways.
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name used in commands, answers, logs and storage.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// The one called `name`.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// May hold keys; every operation on every surface is refused.
    Free,
    /// Has the API and MCP.
    #[default]
    Pro,
}

names!(Tier { Free => "free", Pro => "pro" });

impl Tier {
    /// Whether the tier has the API and MCP.
    pub const fn has_api_access(self) -> bool {
        match self {
            Self::Free => false,
            Self::Pro => true,
        }
    }
}

/// What a person may do on the web host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Their own account.
    #[default]
    Developer,
    /// Other people's accounts, through the support console.
    Support,
    /// Everything.
    Admin,
}

names!(Role { Developer => "developer", Support => "support", Admin => "admin" });

/// Which deployment a key is for. A prefix proves nothing; the column decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// Production; keys begin `svc_live_`.
    Live,
    /// Staging; keys begin `svc_test_`.
    Test,
}

names!(Environment { Live => "live", Test => "test" });

impl Environment {
    /// What keys of this environment begin with.
    pub const fn key_prefix(self) -> &'static str {
        match self {
            Self::Live => "svc_live_",
            Self::Test => "svc_test_",
        }
    }
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
    /// When both end and the defaults hold again; `None` while no end is set.
    pub until: Option<OffsetDateTime>,
}

impl Overrides {
    /// What of them holds at `now`: nothing once their end has come.
    #[must_use]
    pub fn at(self, now: OffsetDateTime) -> Self {
        match self.until {
            Some(end) if end <= now => Self::default(),
            _ => self,
        }
    }

    /// The account's limits while the overrides hold: these where given, else the defaults. Out-of-range values, which no writer
    /// lets in, fall back to the defaults.
    pub fn limits(self) -> Limits {
        Limits::new(
            self.per_minute.unwrap_or(Limits::DEFAULT_PER_MINUTE),
            self.per_day.unwrap_or(Limits::DEFAULT_PER_DAY),
        )
        .unwrap_or_default()
    }
}

/// What is done to one ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CeilingChange {
    /// It stays as it is, whatever that is by then.
    #[default]
    Keep,
    /// Back to the default.
    Default,
    /// So many units.
    Set(u32),
}

impl CeilingChange {
    /// The override that stands after the change, where `now` stood before.
    pub fn of(self, now: Option<u32>) -> Option<u32> {
        match self {
            Self::Keep => now,
            Self::Default => None,
            Self::Set(units) => Some(units),
        }
    }
}

impl From<Option<u32>> for CeilingChange {
    /// A ceiling that is not given stays.
    fn from(given: Option<u32>) -> Self {
        given.map_or(Self::Keep, Self::Set)
    }
}

impl std::fmt::Display for CeilingChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Keep => f.write_str("unchanged"),
            Self::Default => f.write_str("default"),
            Self::Set(units) => write!(f, "{units}"),
        }
    }
}

/// What is done to both ceilings at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OverridesChange {
    /// Units per minute.
    pub per_minute: CeilingChange,
    /// Units per UTC day.
    pub per_day: CeilingChange,
    /// When the overrides that then stand end. Each change says it anew.
    pub until: Option<OffsetDateTime>,
}

impl OverridesChange {
    /// Both back to the defaults.
    pub const CLEAR: Self = Self {
        per_minute: CeilingChange::Default,
        per_day: CeilingChange::Default,
        until: None,
    };

    /// What stands after the change, where `now` stood before: what of it still held, see [`Overrides::at`].
    pub fn of(self, now: Overrides) -> Overrides {
        Overrides {
            until: self.until,
            per_minute: self.per_minute.of(now.per_minute),
            per_day: self.per_day.of(now.per_day),
        }
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

/// Where a key stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// Valid, with no end set.
    Active,
    /// Valid until its end, which a rotation set.
    Ending,
    /// Past its end.
    Expired,
    /// Revoked by a person.
    Revoked,
}

names!(KeyState { Active => "active", Ending => "ending", Expired => "expired", Revoked => "revoked" });

impl KeyState {
    /// Whether the key is refused.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Expired | Self::Revoked)
    }
}

impl KeyRecord {
    /// Where the key stands at `now`. A revocation counts whatever its moment says: the clock of the instance that wrote it
    /// may run ahead of this one's.
    pub fn state(&self, now: OffsetDateTime) -> KeyState {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(end)) if end <= now => KeyState::Expired,
            (None, Some(_)) => KeyState::Ending,
            (None, None) => KeyState::Active,
        }
    }
}

/// Most keys of an account that are good at one time: whoever runs away with a session makes no thousands.
pub const MAX_LIVE_KEYS: u32 = 100;

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

/// A batch of counts, by who writes it. A store adds each batch once, however often it is sent: a writer that was not
/// answered cannot know, and sends it again under the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageBatch {
    /// The writer: one for each process, never used again.
    pub writer: String,
    /// Its batches, from 1. The next is sent when this one is known to be kept, so a writer's last number says it all.
    pub number: u64,
}

impl UsageBatch {
    /// The first batch of a new writer.
    pub fn first() -> Self {
        Self {
            writer: uuid::Uuid::now_v7().to_string(),
            number: 1,
        }
    }

    /// The writer's next batch.
    #[must_use]
    pub fn next(&self) -> Self {
        Self {
            writer: self.writer.clone(),
            number: self.number.saturating_add(1),
        }
    }
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

impl UsageCounts {
    /// Whether there is nothing to count.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// Sums stop at the top rather than wrap: a counter must never fall.
impl std::ops::AddAssign for UsageCounts {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failed = self.failed.saturating_add(other.failed);
        self.units = self.units.saturating_add(other.units);
        self.rate_limited = self.rate_limited.saturating_add(other.rate_limited);
        self.permanent = self.permanent.saturating_add(other.permanent);
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for tier in Tier::ALL {
            assert_eq!(Tier::from_name(tier.as_str()), Some(*tier));
        }
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.as_str()), Some(*role));
        }
        for environment in Environment::ALL {
            assert_eq!(
                Environment::from_name(environment.as_str()),
                Some(*environment)
            );
        }
        assert_eq!(Tier::from_name("Pro"), None, "names are exact");
        assert_eq!(Role::from_name(""), None);
        assert_eq!(Environment::from_name("svc_live_"), None);
    }

    #[test]
    fn only_pro_has_the_api_and_new_accounts_are_pro_developers() {
        assert!(Tier::default().has_api_access());
        assert!(!Tier::Free.has_api_access());
        assert_eq!(Role::default(), Role::Developer);
    }

    #[test]
    fn a_key_ends_at_its_very_moment_and_a_revocation_counts_whenever_it_is_dated() {
        let end = datetime!(2026-11-27 12:00 UTC);
        let mut key = KeyRecord {
            id: KeyId::from("k"),
            account: AccountId::from("a"),
            name: "n".into(),
            environment: Environment::Test,
            hash: KeyHash([0; 32]),
            prefix: "svc_test_".into(),
            last_four: "abcd".into(),
            created_at: end - time::Duration::DAY,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        assert_eq!(key.state(end), KeyState::Active);
        key.expires_at = Some(end);
        assert_eq!(
            key.state(end - time::Duration::MICROSECOND),
            KeyState::Ending
        );
        assert_eq!(key.state(end), KeyState::Expired);
        key.revoked_at = Some(end + time::Duration::HOUR);
        assert_eq!(key.state(end), KeyState::Revoked);
        assert!(key.state(end).is_ended());
    }

    #[test]
    fn overrides_out_of_range_fall_back_to_the_defaults() {
        let limits = |per_minute, per_day| {
            Overrides {
                per_minute,
                per_day,
                until: None,
            }
            .limits()
        };
        assert_eq!(limits(None, Some(5)).per_day(), 5);
        assert_eq!(limits(Some(0), None).per_minute(), 0, "zero is a ceiling");
        assert_eq!(limits(Some(u32::MAX), None), Limits::default());
        let end = datetime!(2026-11-27 12:00 UTC);
        let ends = Overrides {
            per_minute: Some(1),
            per_day: None,
            until: Some(end),
        };
        assert_eq!(ends.at(end - time::Duration::MICROSECOND), ends);
        assert_eq!(ends.at(end), Overrides::default());
    }

    #[test]
    fn counts_stop_at_the_top() {
        let mut counts = UsageCounts {
            units: u64::MAX - 1,
            ..UsageCounts::default()
        };
        counts += UsageCounts {
            calls: 1,
            units: 10,
            ..UsageCounts::default()
        };
        assert_eq!((counts.calls, counts.units), (1, u64::MAX));
    }
}
