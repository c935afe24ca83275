//! The identity of a request.

use serde::{Deserialize, Serialize};

/// A request's identifier: fresh for each request, in the answer, the `x-request-id` header and the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
