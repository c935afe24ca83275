#![doc = include_str!("../README.md")]

pub mod authenticator;
pub mod chain;
#[cfg(feature = "contract")]
pub mod contract;
#[cfg(test)]
mod doubles;
pub mod field;
pub mod key;
mod last_use;
#[cfg(feature = "memory")]
pub mod memory;
pub mod model;
pub mod requests;
pub mod service;
pub mod sign_in;
pub mod traits;
pub mod usage;
mod verdicts;

pub use authenticator::{
    AuthFailure, Authenticator, Caller, CallerInfo, CallerKey, UnauthorizedReason,
};
pub use field::FieldError;
pub use key::{ApiKey, MalformedKey};
pub use model::{
    Account, AccountId, AuditEntry, CeilingChange, Environment, KeyHash, KeyId, KeyRecord,
    KeyState, Overrides, OverridesChange, Role, Suspension, Tier, UsageBatch, UsageCounts,
    UsageKey,
};
pub use requests::{RequestLine, RequestLog, RequestStore};
pub use service::{Accounts, AccountsError, Actor, NewKey, Rotation};
pub use traits::{AccountStore, StoreError, UsageStore};
pub use usage::UsageRecorder;
