//! Around every request: its identity, the headers that keep a browser safe, the log line.

use std::time::Instant;

use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method, StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
    middleware::Next,
};
use brownstone_domain::RequestId;
use brownstone_edge::{BodyFault, Refusal, refusal, request::is_encoded};
use tracing::Instrument as _;

use crate::host::FORM_BYTES;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What every answer says. No script or style but our own files, no frame around us, no form to anywhere else.
const SAFE: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=(), payment=()",
    ),
];

/// The identity of this request; the edge made it.
pub fn request_id(request: &HttpRequest) -> RequestId {
    let id = request.extensions().get::<RequestId>().cloned();
    id.unwrap_or_else(|| RequestId::from("unknown"))
}

/// The middleware. `secure`: browsers reach this host over TLS.
///
/// # Errors
/// Those of the service it wraps.
pub async fn edge(
    secure: bool,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let id = RequestId::from(uuid::Uuid::now_v7().to_string());
    let id_header = HeaderValue::from_str(id.as_str()).ok();
    let span = brownstone_service::request_span!("page", id);
    request.extensions_mut().insert(id);
    let method = request.method().clone();
    let begun = Instant::now();
    let mut response = match refuse(&mut request).await {
        Some(refused) => request.into_response(refused),
        None => {
            brownstone_edge::encodings::admit_one(&mut request);
            let answer = next.call(request).instrument(span.clone()).await?;
            answer.map_into_boxed_body()
        }
    };
    let headers = response.headers_mut();
    if let Some(id) = id_header {
        headers.insert(REQUEST_ID, id);
    }
    for (name, value) in SAFE {
        // A page may be stricter.
        if !headers.contains_key(name) {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
    }
    if secure {
        let year = HeaderValue::from_static("max-age=31536000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    // Pages speak of a person, or of who is signed in; only our own files are kept.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    span.in_scope(|| {
        tracing::info!(
            status = response.status().as_u16(), %method, route = response.request().match_pattern(),
            millis = begun.elapsed().as_secs_f64() * 1_000.0, "page"
        );
    });
    let route = response.request().match_pattern();
    let status = response.status().as_u16();
    brownstone_service::trace::answered(&span, method.as_str(), route.as_deref(), status);
    Ok(response)
}

/// What no page sees. A body that passes was read here, within its bounds, and is there to be read again.
async fn refuse(request: &mut ServiceRequest) -> Option<HttpResponse> {
    let refused = |status, why: &'static str| {
        let kind = "text/plain; charset=utf-8";
        Some(HttpResponse::build(status).content_type(kind).body(why))
    };
    match refusal(request.method(), request.uri()) {
        Some(Refusal::LongAddress) => {
            return refused(StatusCode::URI_TOO_LONG, "This address is too long.");
        }
        Some(Refusal::Method) => {
            let mut response = HttpResponse::MethodNotAllowed();
            response.insert_header((header::ALLOW, "GET, HEAD, POST"));
            return Some(response.finish());
        }
        None => {}
    }
    if is_foreign(request) {
        return refused(
            StatusCode::FORBIDDEN,
            "This request came from another site.",
        );
    }
    if is_encoded(request.headers()) {
        return refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Encoding is not accepted.",
        );
    }
    match brownstone_edge::read(request.take_payload(), FORM_BYTES).await {
        Ok(body) => {
            request.set_payload(body.into());
            None
        }
        Err(BodyFault::TooLarge) => refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            "This form is larger than 64 KiB.",
        ),
        Err(BodyFault::TooSlow) => refused(
            StatusCode::REQUEST_TIMEOUT,
            "This form did not arrive in time.",
        ),
        Err(BodyFault::Broken(_)) => {
            refused(StatusCode::BAD_REQUEST, "This form could not be read.")
        }
    }
}

/// A change that a browser says another site made. The token in each form is the protection; this spares the work.
fn is_foreign(request: &ServiceRequest) -> bool {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let site = request.headers().get(SITE).map(HeaderValue::as_bytes);
    !reads && matches!(site, Some(b"cross-site" | b"same-site"))
}
