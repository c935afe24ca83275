//! What a call tells of itself: fields of the transport's span, so that every line written within the call carries them.

use brownstone_accounts::AccountId;
use brownstone_domain::{Operation, Surface};
use tracing::Span;

/// A span that takes the fields below, empty until they are known; the first is its name. A transport opens one a request.
#[macro_export]
macro_rules! request_span {
    ($name:literal, $request_id:expr) => {
        $crate::trace::info_span!(
            $name,
            request_id = %$request_id,
            surface = $crate::trace::Empty,
            operation = $crate::trace::Empty,
            account = $crate::trace::Empty,
            units = $crate::trace::Empty,
            method = $crate::trace::Empty,
            route = $crate::trace::Empty,
            status = $crate::trace::Empty,
        )
    };
}

#[doc(hidden)]
pub use tracing::{field::Empty, info_span};

/// Tells the span at hand which call this is.
pub fn begun(surface: Surface, operation: Operation, account: Option<&AccountId>) {
    let span = Span::current();
    if span.is_disabled() {
        return;
    }
    span.record("surface", surface.as_str());
    span.record("operation", operation.name());
    if let Some(account) = account {
        span.record("account", account.as_str());
    }
}

/// Tells it what the call cost.
pub(crate) fn charged(units: u64) {
    Span::current().record("units", units);
}

/// Tells a span how the request was answered. After the line in the log, which has that in its own fields: nothing is told twice.
pub fn answered(span: &Span, method: &str, route: Option<&str>, status: u16) {
    if span.is_disabled() {
        return;
    }
    span.record("method", method);
    // A path that is none of ours may hold anything, and is not told.
    span.record("route", route.unwrap_or("-"));
    span.record("status", status);
}
