//! What can go wrong, and what it means for the caller.

use std::time::Duration;

use brownstone_domain::ErrorCode;
use time::OffsetDateTime;

/// Settings from which a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is not a valid http(s) URL.
    #[error("base_url is {got:?}; an address such as https://api.example.com is expected")]
    BaseUrl {
        /// What was given.
        got: String,
    },
    /// The key contains characters that an HTTP header cannot.
    #[error("the key contains characters that no key has")]
    Key,
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Http(#[source] reqwest::Error),
}

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The service refused the call, and retries, where they could help, did not succeed.
    #[error("{code}: {message} (request {request_id})")]
    Refused {
        /// One of the closed set of codes.
        code: ErrorCode,
        /// What is wrong, for a person.
        message: String,
        /// The request's identifier, for support.
        request_id: String,
        /// The shortest wait after which a retry can succeed; `None` where waiting does not help.
        retry_after: Option<Duration>,
    },
    /// A time in the request that RFC 3339 cannot express; nothing was sent.
    #[error("{field} is {at}, which is not in the years 0 to 9999 in UTC")]
    Moment {
        /// The request's field.
        field: &'static str,
        /// Its value.
        at: OffsetDateTime,
    },
    /// The service could not be reached, or the connection broke. A call that was sent may have been charged.
    #[error("the service could not be reached")]
    Transport(#[source] reqwest::Error),
    /// An answer that did not come from this service, such as a proxy's page, or from a version that this client does not know.
    #[error("the answer with status {status} could not be read")]
    Unreadable {
        /// Its status.
        status: u16,
        /// Why it could not be read.
        #[source]
        source: serde_json::Error,
    },
}
