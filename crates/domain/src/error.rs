//! The closed set of error codes and the envelope around every failure.

use serde::{Deserialize, Serialize};

use crate::RequestId;

/// Every code a failure can carry. The set is closed: a new failure mode maps onto the closest of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Authentication failed.
    Unauthorized,
    /// Access refused: a suspended account, or a tier without API access.
    Forbidden,
    /// Malformed request, or a field the operation does not accept.
    InvalidRequest,
    /// An address in the city that has no tax lot or cannot be placed; an unknown path.
    NotFound,
    /// An address or area outside the five boroughs.
    OutsideCoverage,
    /// Budget exhausted, or the call costs more than the entire ceiling.
    RateLimited,
    /// The quota could not be determined, or the process sheds load.
    QuotaUnavailable,
    /// Known path, wrong HTTP method.
    MethodNotAllowed,
    /// What the answer needs from upstream could not be had.
    UpstreamError,
    /// A fault of ours.
    InternalError,
}

/// One row of the code table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorSpec {
    /// The code.
    pub code: ErrorCode,
    /// Its name in the error envelope.
    pub name: &'static str,
    /// Its HTTP status; it never changes.
    pub status: u16,
    /// Whether the same call may succeed later.
    pub retry: bool,
}

const fn row(code: ErrorCode, name: &'static str, status: u16, retry: bool) -> ErrorSpec {
    ErrorSpec {
        code,
        name,
        status,
        retry,
    }
}

/// The whole table, in the order of the contract.
pub const ERROR_CODES: [ErrorSpec; 10] = [
    row(ErrorCode::Unauthorized, "unauthorized", 401, false),
    row(ErrorCode::Forbidden, "forbidden", 403, false),
    row(ErrorCode::InvalidRequest, "invalid_request", 400, false),
    row(ErrorCode::NotFound, "not_found", 404, false),
    row(ErrorCode::OutsideCoverage, "outside_coverage", 400, false),
    row(ErrorCode::RateLimited, "rate_limited", 429, true),
    row(ErrorCode::QuotaUnavailable, "quota_unavailable", 503, true),
    row(
        ErrorCode::MethodNotAllowed,
        "method_not_allowed",
        405,
        false,
    ),
    row(ErrorCode::UpstreamError, "upstream_error", 502, true),
    row(ErrorCode::InternalError, "internal_error", 500, false),
];

impl ErrorCode {
    /// This code's row of the table.
    pub const fn spec(self) -> &'static ErrorSpec {
        &ERROR_CODES[self as usize]
    }

    /// The name in the envelope.
    pub const fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// The HTTP status.
    ///
    /// ```
    /// use brownstone_domain::ErrorCode;
    /// assert_eq!(ErrorCode::OutsideCoverage.status(), 400);
    /// ```
    pub const fn status(self) -> u16 {
        self.spec().status
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The body of every failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// One of the closed set.
    pub code: ErrorCode,
    /// What went wrong, for a person.
    pub message: String,
    /// The request's identifier, also in `x-request-id`.
    pub request_id: RequestId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_indexed_by_its_codes_and_named_as_serialised() {
        for spec in &ERROR_CODES {
            assert_eq!(spec.code.spec(), spec);
            assert_eq!(
                serde_json::to_value(spec.code).unwrap(),
                serde_json::Value::from(spec.name)
            );
        }
    }
}
