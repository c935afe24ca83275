//! Around every request: its identity, CORS, the log line.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use actix_web::{
    HttpMessage, HttpRequest, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        ConnectionType, Method, StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    middleware::Next,
};
use brownstone_domain::{ErrorCode, RequestId};
use brownstone_edge::{Refusal, refusal, request::MAX_URI_BYTES};
use brownstone_service::Failure;
use tracing::Instrument as _;

use crate::{metrics::Wire, respond};

/// The header that carries the request's identity.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name",
);
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("x-request-id, ratelimit, ratelimit-policy, retry-after");
const ANY: HeaderValue = HeaderValue::from_static("*");
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("3600");

/// How a request failed, for the log line; what is known of the call stands in its span.
#[derive(Debug, Clone, Default)]
pub struct CallFacts {
    /// Error code.
    pub code: Option<&'static str>,
    /// What only the log may know of a failure.
    pub internal: Option<String>,
}

/// Paths of those who look after the process: that they ask says nothing about whether callers still come.
const LOOKED_AFTER: [&str; 2] = ["/healthz", "/readyz"];

/// What comes over the wire, as the end of the process needs to know it.
#[derive(Debug, Default)]
pub struct Traffic {
    stopping: AtomicBool,
    requests: AtomicU64,
}

impl Traffic {
    /// From now on each answer closes its connection, so that a proxy keeps none that is about to go.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Whether the process was told to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Requests that came so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// The identity of this request; the edge made it.
pub fn request_id(request: &HttpRequest) -> RequestId {
    match request.extensions().get::<RequestId>() {
        Some(id) => id.clone(),
        None => RequestId::from("unknown"),
    }
}

/// The middleware.
///
/// # Errors
/// Those of the service it wraps.
pub(crate) async fn edge(
    wire: Arc<Wire>,
    traffic: Arc<Traffic>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    if !LOOKED_AFTER.contains(&request.path()) {
        traffic.requests.fetch_add(1, Ordering::Relaxed);
    }
    if is_preflight(&request) {
        return Ok(request.into_response(preflight()));
    }
    let mut text = uuid::Uuid::encode_buffer();
    let id = RequestId::from(&*uuid::Uuid::now_v7().hyphenated().encode_lower(&mut text));
    let header = HeaderValue::from_str(id.as_str()).ok();
    let client_request_id = client_request_id(request.headers());
    let origin = request.headers().contains_key(header::ORIGIN);
    let span = brownstone_service::request_span!("request", id);
    // The transports beside this one read it, too.
    request.extensions_mut().insert(id);
    let method = request.method().clone();
    let begun = Instant::now();
    let mut response = match refusal(request.method(), request.uri()) {
        Some(Refusal::LongAddress) => {
            let refused = respond::failure(request.request(), &long_address());
            request.into_response(refused)
        }
        // A method that a path does not take is the router's to refuse: it knows those that it does.
        Some(Refusal::Method) | None => {
            brownstone_edge::encodings::admit_one(&mut request);
            let answer = next.call(request).instrument(span.clone()).await?;
            answer.map_into_boxed_body()
        }
    };
    if traffic.is_stopping() {
        response
            .response_mut()
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
    if let Some(header) = header {
        response.headers_mut().insert(REQUEST_ID, header);
    }
    if origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
    wire.answered(response.status().as_u16(), begun.elapsed());
    // A line of the log is within a span; where neither is wanted, nothing is made ready for them.
    if !span.is_disabled() || response.status().is_server_error() {
        // The matched route, never the path as sent: a path may hold anything.
        let route = response.request().match_pattern();
        let (sent, route) = (client_request_id.as_deref(), route.as_deref());
        span.in_scope(|| log(&response, &method, route, sent, begun));
        let status = response.status().as_u16();
        brownstone_service::trace::answered(&span, method.as_str(), route, status);
    }
    Ok(response)
}

fn log(
    response: &ServiceResponse<impl MessageBody>,
    method: &Method,
    route: Option<&str>,
    client_request_id: Option<&str>,
    begun: Instant,
) {
    let facts = response.request().extensions_mut().remove::<CallFacts>();
    let (code, reason) = facts.map_or((None, None), |facts| (facts.code, facts.internal));
    let millis = begun.elapsed().as_secs_f64() * 1_000.0;
    let status = response.status().as_u16();
    // Whoever looks after the process hears 503 while it ends, and a caller who is turned away hears it, too: neither is a fault.
    let expected = status == 503 && reason.is_none();
    if status >= 500 && !expected {
        tracing::error!(
            status, %method, route, millis, client_request_id, code, reason, "call failed"
        );
    } else {
        tracing::info!(
            status, %method, route, millis, client_request_id, code, reason, "call"
        );
    }
}

/// 414 is not in the closed set.
fn long_address() -> Failure {
    Failure::new(
        ErrorCode::InvalidRequest,
        format!("The request's address is longer than {MAX_URI_BYTES} bytes."),
    )
}

fn is_preflight(request: &ServiceRequest) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ORIGIN)
}

fn preflight() -> HttpResponse<BoxBody> {
    let mut response = HttpResponse::new(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
    response
}

/// A client's own identifier: never taken for ours, noted when it is 1 to 128 visible ASCII characters.
fn client_request_id(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(REQUEST_ID)?.to_str().ok()?;
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_visible_and_short_client_id_is_noted() {
        let mut headers = HeaderMap::new();
        assert_eq!(client_request_id(&headers), None);
        for (sent, noted) in [
            ("order-17", true),
            ("has blank", false),
            ("", false),
            (&*"x".repeat(128), true),
            (&*"x".repeat(129), false),
        ] {
            headers.insert(REQUEST_ID, HeaderValue::from_str(sent).unwrap());
            assert_eq!(client_request_id(&headers).is_some(), noted, "{sent}");
        }
    }
}
