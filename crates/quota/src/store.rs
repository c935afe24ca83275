//! What every store of budgets does.

use async_trait::async_trait;
use brownstone_domain::{Limits, Units};

use crate::decision::{Decision, Receipt, View};

/// The quota could not be determined. Nothing is known to have been charged; the caller may retry with backoff.
///
/// The text of the error is fit for a caller. [`QuotaUnavailable::detail`] is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the quota could not be determined; retry with backoff")]
pub enum QuotaUnavailable {
    /// The store, or the ledger behind it, failed or did not answer in time.
    Silent {
        /// What happened, for the log.
        detail: String,
    },
    /// The store holds as many live records as it may.
    Full,
    /// The store is closed: the process is stopping.
    Closed,
}

impl QuotaUnavailable {
    /// A store that failed or did not answer.
    ///
    /// ```
    /// use brownstone_quota::QuotaUnavailable;
    /// let error = QuotaUnavailable::silent("connection refused");
    /// assert_eq!(error.detail(), "connection refused");
    /// assert!(!error.to_string().contains("refused"), "nothing internal leaves");
    /// ```
    pub fn silent(detail: impl std::fmt::Display) -> Self {
        Self::Silent {
            detail: detail.to_string(),
        }
    }

    /// What happened, for the log and never for a caller.
    pub fn detail(&self) -> &str {
        match self {
            Self::Silent { detail } => detail,
            Self::Full => "as many live records as the store may hold",
            Self::Closed => "the store is closed",
        }
    }
}

/// Keeps the budgets of accounts. Every store agrees with [`Record`](crate::Record) to the microsecond.
///
/// An account is any text that names one; a store never looks inside. Ceilings come with each call, so that an override
/// is in force at once.
#[async_trait]
pub trait QuotaStore: Send + Sync {
    /// Charges both budgets, or neither.
    ///
    /// A cost of 0 is admitted without writing anything.
    ///
    /// # Errors
    /// When the store cannot say. The charge may have been applied all the same; it is not to be assumed.
    async fn charge(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
    ) -> Result<Decision, QuotaUnavailable>;

    /// Gives a charge back: to the day in full while it is the same UTC day, to the minute what has not refilled since.
    ///
    /// # Errors
    /// When the store cannot say. The receipt is gone: a lost refund is safe, a double one is not.
    async fn refund(&self, receipt: Receipt) -> Result<(), QuotaUnavailable>;

    /// Both budgets as they are. Writes nothing.
    ///
    /// # Errors
    /// When the store cannot say.
    async fn peek(&self, account: &str, limits: Limits) -> Result<View, QuotaUnavailable>;
}
