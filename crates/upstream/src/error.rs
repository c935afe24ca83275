//! Why an upstream gave no answer.

use std::time::Duration;

/// Why there is no answer. `at` is the upstream's name and the path asked for, never the query or a header.
///
/// Its text is for the log; [`UpstreamError::public_message`] is for a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// Silence, or the deadline came first.
    #[error("{at}: no answer in time")]
    Timeout {
        /// Where.
        at: String,
    },
    /// No connection.
    #[error("{at}: no connection: {why}")]
    Connect {
        /// Where.
        at: String,
        /// What the machine said.
        why: String,
    },
    /// The answer ended before its end, or was no HTTP or no gzip.
    #[error("{at}: the answer was cut short: {why}")]
    Cut {
        /// Where.
        at: String,
        /// What was noticed.
        why: String,
    },
    /// The answer is longer than we bear.
    #[error("{at}: more than {limit} bytes")]
    TooLarge {
        /// Where.
        at: String,
        /// The limit, in bytes after decompression.
        limit: usize,
    },
    /// Refused here, since the last calls failed.
    #[error("{at}: not asked, the last calls failed; again in {retry_in:?}")]
    BreakerOpen {
        /// Where.
        at: String,
        /// When a call may be let through; zero while another one tries.
        retry_in: Duration,
    },
    /// No slot became free before the deadline.
    #[error("{at}: too many requests under way")]
    Busy {
        /// Where.
        at: String,
    },
    /// A status that may pass (429, 500, 502, 503, 504), and had not when the retries were used up or the deadline left
    /// no room for another.
    #[error("{at}: status {status}")]
    Status {
        /// Where.
        at: String,
        /// The last status.
        status: u16,
        /// What the last answer asked us to wait.
        retry_after: Option<Duration>,
    },
    /// A request that is never sent: an empty path segment, a dot segment, a header HTTP does not allow, an address too
    /// long. Our fault.
    #[error("{at}: the request was not sent: {why}")]
    Refused {
        /// Where.
        at: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl UpstreamError {
    /// What may be told to a caller of ours: no host, no path.
    pub const fn public_message(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "The publisher did not answer in time.",
            Self::Connect { .. } => "The publisher could not be reached.",
            Self::Cut { .. } | Self::TooLarge { .. } => "The publisher's answer could not be read.",
            Self::BreakerOpen { .. } => "The publisher has failed repeatedly and is being rested.",
            Self::Busy { .. } => "Too many requests to the publisher are under way.",
            Self::Status { status: 429, .. } => "The publisher is throttling requests.",
            Self::Status { .. } => "The publisher reported a fault of its own.",
            Self::Refused { .. } => "The request to the publisher could not be made.",
        }
    }
}

/// What one attempt came to, before it is known where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `given` is how long the attempt was let run.
    Timeout {
        given: Duration,
    },
    Connect(String),
    Cut(String),
    TooLarge {
        limit: usize,
    },
    Busy,
    Status {
        status: u16,
        retry_after: Option<Duration>,
    },
    Refused(&'static str),
}

impl Fault {
    /// Whether the same request may succeed later.
    pub(crate) const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. } | Self::Connect(_) | Self::Cut(_) | Self::Status { .. }
        )
    }

    pub(crate) fn at(self, at: String) -> UpstreamError {
        match self {
            Self::Timeout { .. } => UpstreamError::Timeout { at },
            Self::Connect(why) => UpstreamError::Connect { at, why },
            Self::Cut(why) => UpstreamError::Cut { at, why },
            Self::TooLarge { limit } => UpstreamError::TooLarge { at, limit },
            Self::Busy => UpstreamError::Busy { at },
            Self::Status {
                status,
                retry_after,
            } => UpstreamError::Status {
                at,
                status,
                retry_after,
            },
            Self::Refused(why) => UpstreamError::Refused { at, why },
        }
    }
}
