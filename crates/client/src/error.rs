//! What can go wrong, and what it means for the caller.

use std::time::Duration;

use brownstone_domain::ErrorCode;

/// Settings that no client can be made of.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The base address is none.
    #[error("base_url is {got:?}; an address such as https://api.example.com is expected")]
    BaseUrl {
        /// What came.
        got: String,
    },
    /// The key holds what no header can.
    #[error("the key holds characters that no key has")]
    Key,
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Http(#[source] reqwest::Error),
}

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The service refused; retries, where they could help, did not.
    #[error("{code}: {message} (request {request_id})")]
    Refused {
        /// One of the closed set.
        code: ErrorCode,
        /// What is wrong, for a person.
        message: String,
        /// For support.
        request_id: String,
        /// Where waiting helps, for how long at least.
        retry_after: Option<Duration>,
    },
    /// The service could not be reached, or the connection broke. A call that was sent may have been charged.
    #[error("the service could not be reached")]
    Transport(#[source] reqwest::Error),
    /// An answer that is no answer of this service: a proxy's page, or a version that this client does not know.
    #[error("the answer with status {status} could not be read")]
    Unreadable {
        /// Its status.
        status: u16,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}
