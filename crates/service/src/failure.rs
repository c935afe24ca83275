//! A call that failed: what the caller is told, and what the log is told.

use std::hash::{BuildHasher as _, RandomState};

use brownstone_accounts::AuthFailure;
use brownstone_address::geocoder::ResolveError;
use brownstone_domain::{ErrorCode, OperationSpec};
use brownstone_quota::{Budget, Decision, QuotaUnavailable, RateLimitFields, View};
use brownstone_report_cache::CacheError;

use crate::body::BodyFault;

/// A failure of the closed set.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which of the ten codes.
    pub code: ErrorCode,
    /// For the caller; nothing internal.
    pub message: String,
    /// For the log.
    pub internal: Option<String>,
    /// Seconds after which the same call may succeed.
    pub retry_after: Option<u64>,
    /// The RateLimit fields, where the account's limits are known and the answer shows them (429).
    pub fields: Option<Box<RateLimitFields>>,
}

impl Failure {
    /// A failure that needs no more than its code and a sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            internal: None,
            retry_after: None,
            fields: None,
        }
    }

    /// Adds what only the log may know.
    #[must_use]
    pub fn because(mut self, internal: impl std::fmt::Display) -> Self {
        self.internal = Some(internal.to_string());
        self
    }

    /// Adds the seconds to wait.
    #[must_use]
    pub const fn after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// A path that is no operation.
    pub fn no_such_path() -> Self {
        Self::new(ErrorCode::NotFound, "There is nothing at this path.")
    }

    /// A known path asked with another method.
    pub fn method_not_allowed(sent: &str, path: &str, allowed: &str) -> Self {
        Self::new(
            ErrorCode::MethodNotAllowed,
            format!(
                "{} is not allowed on {path}; use {allowed}.",
                crate::body::shorten(sent)
            ),
        )
    }

    /// A fault of ours.
    pub fn internal(internal: impl std::fmt::Display) -> Self {
        Self::new(
            ErrorCode::InternalError,
            "Something went wrong on our side. The request id helps support to find it.",
        )
        .because(internal)
    }

    /// What the answer needs from upstream could not be had.
    pub fn upstream(internal: impl std::fmt::Display) -> Self {
        Self::new(
            ErrorCode::UpstreamError,
            "The public record could not be reached. Nothing was charged; it is safe to retry later.",
        )
        .because(internal)
    }

    /// The quota store is silent, or full.
    pub fn quota_unavailable(error: &QuotaUnavailable) -> Self {
        Self::new(
            ErrorCode::QuotaUnavailable,
            "The budget could not be determined. No work was done; it is safe to retry.",
        )
        .because(error.detail())
        .after(soon())
    }

    /// The process has all the calls it can take.
    pub fn overloaded() -> Self {
        Self::new(
            ErrorCode::QuotaUnavailable,
            "Too many calls are in flight. Nothing was charged; it is safe to retry.",
        )
        .after(soon())
    }

    /// The account has all the calls in flight that one account may have.
    pub fn too_many_in_flight(view: &View) -> Self {
        Self::refused(
            "This account has too many calls in flight. Wait for some of them to end.".into(),
            waiting(view, 1),
        )
    }

    /// The account made the live geocoder work more than its share.
    pub fn too_many_new_addresses(wait_seconds: u64, view: &View) -> Self {
        Self::refused(
            format!(
                "Too many new addresses were looked up in a short time. Retry after {wait_seconds} seconds."
            ),
            waiting(view, wait_seconds),
        )
    }

    /// A budget that is short for the moment, or a cost above a whole ceiling. `None` for a charge that was admitted.
    pub fn of_decision(spec: &OperationSpec, decision: &Decision) -> Option<Self> {
        if matches!(decision, Decision::Admitted { .. }) {
            return None;
        }
        let fields = RateLimitFields::from(decision);
        let wait = fields.retry_after_seconds.unwrap_or_default();
        let message = match decision {
            Decision::Admitted { .. } => return None,
            Decision::Short { budget, view, .. } => {
                let left = view.budget(*budget).remaining;
                let reset = match budget {
                    Budget::Minute => "",
                    Budget::Day => ", when the day resets at 00:00 UTC",
                };
                format!(
                    "The per-{budget} budget is exhausted: {} costs {} units and {left} are left. Retry after {wait} seconds{reset}.",
                    spec.name, spec.cost
                )
            }
            Decision::TooLarge {
                budget, ceiling, ..
            } => format!(
                "The cost of {} units exceeds this account's limit of {ceiling} units per {budget}. Retrying never succeeds; only a higher limit helps.",
                spec.cost
            ),
        };
        Some(Self::refused(message, fields))
    }

    /// A 429 with the budgets as they are.
    fn refused(message: String, fields: RateLimitFields) -> Self {
        Self {
            retry_after: fields.retry_after_seconds,
            fields: Some(Box::new(fields)),
            ..Self::new(ErrorCode::RateLimited, message)
        }
    }
}

/// One to three seconds: callers who were turned away together don't come back together.
fn soon() -> u64 {
    1 + RandomState::new().hash_one(()) % 3
}

/// The fields of a refusal that is not the budget's own: the budgets as they are, and the wait.
fn waiting(view: &View, seconds: u64) -> RateLimitFields {
    RateLimitFields::from(&Decision::Short {
        budget: view.tighter(),
        wait_us: seconds.saturating_mul(1_000_000),
        view: *view,
    })
}

impl From<BodyFault> for Failure {
    fn from(fault: BodyFault) -> Self {
        Self::new(ErrorCode::InvalidRequest, fault.0)
    }
}

impl From<AuthFailure> for Failure {
    fn from(failure: AuthFailure) -> Self {
        let (code, internal) = match &failure {
            AuthFailure::Unauthorized(reason) => {
                (ErrorCode::Unauthorized, Some(format!("{reason:?}")))
            }
            AuthFailure::Suspended { account, key } => (
                ErrorCode::Forbidden,
                Some(format!("account {account}, key {key}")),
            ),
            AuthFailure::NotEntitled { account, key, .. } => (
                ErrorCode::Forbidden,
                Some(format!("account {account}, key {key}")),
            ),
            AuthFailure::Unavailable => (ErrorCode::InternalError, None),
        };
        Self {
            internal,
            ..Self::new(code, failure.to_string())
        }
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Invalid(message) => Self::new(ErrorCode::InvalidRequest, message),
            ResolveError::NotFound(message) => Self::new(ErrorCode::NotFound, message),
            ResolveError::OutsideCoverage(message) => {
                Self::new(ErrorCode::OutsideCoverage, message)
            }
            ResolveError::Ambiguous { message, .. } => {
                Self::new(ErrorCode::InvalidRequest, message)
            }
            ResolveError::Unavailable(internal) => Self::upstream(internal),
        }
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::Crowded => Self::overloaded(),
            CacheError::NothingAnswered | CacheError::Busy => Self::upstream(error),
            CacheError::Storage(_) | CacheError::Broken(_) => Self::internal(error),
        }
    }
}
