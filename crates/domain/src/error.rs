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
    /// Budget exhausted for the moment, too many calls in flight or new addresses for the account, or a cost above the entire ceiling.
    RateLimited,
    /// The budget could not be determined, or the process sheds load.
    QuotaUnavailable,
    /// Known path, wrong HTTP method.
    MethodNotAllowed,
    /// What the answer needs from upstream could not be fetched.
    UpstreamError,
    /// An error on our side.
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
    /// When it is given.
    pub cause: &'static str,
    /// What a caller does about it.
    pub advice: &'static str,
    /// A message that comes with it.
    pub example: &'static str,
}

/// The whole table, in the order of the contract.
pub const ERROR_CODES: [ErrorSpec; 10] = [
    ErrorSpec {
        code: ErrorCode::Unauthorized,
        name: "unauthorized",
        status: 401,
        retry: false,
        cause: "The key is missing, malformed, unknown, revoked, expired or of another environment; the answer does not say which.",
        advice: "Send the header `Authorization: Bearer <API_KEY>` with a key of this environment that was neither revoked nor replaced by rotation.",
        example: "Missing or invalid API key. Send the header Authorization: Bearer <API_KEY> with a key of this environment.",
    },
    ErrorSpec {
        code: ErrorCode::Forbidden,
        name: "forbidden",
        status: 403,
        retry: false,
        cause: "The account is suspended, or its tier has no API access.",
        advice: "Ask support to lift the suspension, or move to a tier that has API access; the message says which of the two it is.",
        example: "API access of this account is suspended. Contact support.",
    },
    ErrorSpec {
        code: ErrorCode::InvalidRequest,
        name: "invalid_request",
        status: 400,
        retry: false,
        cause: "The request is malformed, names a field that the operation does not accept, or an address that fits several buildings.",
        advice: "Change the request: the message names the field, what came and what is allowed, or lists the buildings to choose from.",
        example: "Unknown field(s): city. POST /v1/lookup accepts: address, include_comps, include_rentals.",
    },
    ErrorSpec {
        code: ErrorCode::NotFound,
        name: "not_found",
        status: 404,
        retry: false,
        cause: "The address is in the city but has no tax lot on record or cannot be placed on a map; also a path that does not exist, and any /v1/ path on the web host.",
        advice: "Check the house number, the street and the borough or ZIP, or send the BBL or BIN; for a path, check the base URL.",
        example: "The address is in New York City but has no tax lot on record.",
    },
    ErrorSpec {
        code: ErrorCode::OutsideCoverage,
        name: "outside_coverage",
        status: 400,
        retry: false,
        cause: "The address or area is outside the five boroughs of New York City.",
        advice: "Nothing to do: another spelling does not change the answer.",
        example: "The address is outside the five boroughs of New York City: another state, by its ZIP code.",
    },
    ErrorSpec {
        code: ErrorCode::RateLimited,
        name: "rate_limited",
        status: 429,
        retry: true,
        cause: "With Retry-After: a budget is exhausted for the moment, the account has too many calls in flight, or it looked up too many new addresses in a short time. Without: the call costs more than the account's entire ceiling.",
        advice: "With Retry-After: wait at least that many seconds, then send the same call; back off exponentially on repeats. Without: only a higher limit helps.",
        example: "The per-minute budget is exhausted: lookupProperty costs 10 units and 4 are left. Retry after 2 seconds.",
    },
    ErrorSpec {
        code: ErrorCode::QuotaUnavailable,
        name: "quota_unavailable",
        status: 503,
        retry: true,
        cause: "The budget could not be determined, or the service has as many calls in flight, or reports being assembled, as it can take. Nothing was charged.",
        advice: "Wait for the seconds of Retry-After, then retry with exponential backoff.",
        example: "The budget could not be determined. No work was done; it is safe to retry.",
    },
    ErrorSpec {
        code: ErrorCode::MethodNotAllowed,
        name: "method_not_allowed",
        status: 405,
        retry: false,
        cause: "The path exists and takes another HTTP method.",
        advice: "Use the method that the header Allow names.",
        example: "GET is not allowed on /v1/lookup; use POST.",
    },
    ErrorSpec {
        code: ErrorCode::UpstreamError,
        name: "upstream_error",
        status: 502,
        retry: true,
        cause: "What the answer needs from the public record could not be fetched in time, or this deployment never loaded it. Nothing was charged.",
        advice: "Retry later with exponential backoff.",
        example: "The public record could not be reached. Nothing was charged; it is safe to retry later.",
    },
    ErrorSpec {
        code: ErrorCode::InternalError,
        name: "internal_error",
        status: 500,
        retry: false,
        cause: "An error on our side. Nothing was charged.",
        advice: "Give support the request id. The same call may succeed later, but there is no guarantee.",
        example: "Something went wrong on our side. The request id helps support to find it.",
    },
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
