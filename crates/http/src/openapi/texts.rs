//! The longer texts of the document.

/// `info.description`.
pub(super) const ABOUT: &str = "\
One call returns the city's whole public record of a New York City building, next to listings, comparable sales, values, rents and \
mortgage rates. Coverage is the five boroughs of New York City.

**Units.** Each account has two budgets that REST and MCP share: 240 units a minute, refilled at 4 a second, and 10,000 units a UTC day, \
unless support set others. Only a success is charged. `meta` of every success says what is left and is the stable contract for it; the \
RateLimit headers report whichever budget is tighter.

**Errors.** Every failure has the error envelope `{code, message, request_id}`. The set of codes is closed and a code keeps its status. A \
path that does not exist is 404 `not_found`; another method on a known path is 405 `method_not_allowed`. What the HTTP parser itself \
refuses (400, 408, 431) has no body.

**Beside the operations.** `HEAD` is answered like `GET`, without a body, on `/healthz`, `/readyz`, `/version` and `/openapi.json`; it is \
no operation of its own here, since its answer has nothing to describe. `/mcp` is not in this document: it is one path for all messages \
of the Model Context Protocol, JSON-RPC over POST, and its tools describe themselves (`tools/list`). A preflight (`OPTIONS` with an \
`Origin`) is 204 on every path and carries no request id.

**Values.** `null` is \"not known\", and a key of a fixed object is never missing; 0 is a true zero. Money is US dollars, never cents. A \
publisher's date is passed through letter for letter, in the publisher's own format; our own clocks end in `_at` and are RFC 3339 in UTC.

**Versions.** A published response field is neither removed nor given another meaning. Fields may be added: readers should pass over what \
they do not know.

**Acceptable use.** Answers are assembled from public records by machine. They can be incomplete, out of date or about the wrong property: \
check the original record before acting. They are not consumer reports and must not be used as a factor in eligibility for credit, \
insurance, employment, housing or tenancy, to screen tenants, or to steer or exclude anyone on a protected characteristic. Raw answers \
must not be resold or republished in bulk.";

/// The security scheme.
pub(super) const KEYS: &str = "\
An API key as `Authorization: Bearer <API_KEY>`; no other header, cookie or query parameter authenticates. Keys are made on the web \
host's dashboard and shown once. Keys of production begin `svc_live_`, those of other environments `svc_test_`, and neither is valid in \
the other.";
