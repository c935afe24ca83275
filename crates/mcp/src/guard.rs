//! Before the protocol: credentials, and a body that is small, quick, plain and JSON. Behind it: every refusal as JSON.

use std::collections::HashMap;

use actix_web::{
    HttpMessage as _, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{
        Method, StatusCode,
        header::{self, HeaderMap, HeaderValue},
    },
    middleware::Next,
};
use brownstone_domain::{ErrorCode, RequestId, Surface};
use brownstone_edge::{BodyFault, request::is_encoded};
use brownstone_service::{
    Failure, Service,
    body::{self, MAX_BODY_BYTES},
};
use bytes::Bytes;
use serde_json::{Value, json, value::RawValue};
use tracing::Span;

use crate::{handler::Identity, result};

/// JSON-RPC: no JSON.
const PARSE_ERROR: i64 = -32_700;
/// JSON-RPC: JSON that is no request.
const INVALID_REQUEST: i64 = -32_600;

/// A refusal before the protocol sees the request.
struct Refusal {
    status: StatusCode,
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Refusal {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            data: None,
        }
    }

    /// `id` is null and present: clients cannot read a refusal without it.
    fn response(self) -> HttpResponse {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = self.data {
            error["data"] = data;
        }
        HttpResponse::build(self.status)
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .json(json!({"jsonrpc": "2.0", "id": null, "error": error}))
    }
}

/// The middleware.
pub(crate) async fn guard(
    service: Service,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .cloned()
        .unwrap_or_else(|| RequestId::from("unknown"));
    let authorization = single(request.headers());
    // On every request, before its body is read.
    let caller = match service.authenticate(authorization.as_deref()).await {
        Ok(caller) => caller,
        Err(failure) => {
            Span::current().record("surface", Surface::Mcp.as_str());
            let sent = request.headers().contains_key(header::AUTHORIZATION);
            let response = refused(&failure, &request_id, sent);
            return Ok(request.into_response(response));
        }
    };
    let mut twice = None;
    if request.method() == Method::POST {
        match message(&mut request).await {
            Ok(message) => {
                twice = message.twice;
                request.set_payload(Payload::from(message.body));
            }
            Err(refusal) => {
                let late = refusal.status == StatusCode::REQUEST_TIMEOUT;
                let mut response = refusal.response();
                if late {
                    response
                        .head_mut()
                        .set_connection_type(actix_web::http::ConnectionType::Close);
                }
                return Ok(request.into_response(response));
            }
        }
    }
    request.extensions_mut().insert(Identity {
        caller,
        request_id,
        twice,
        span: Span::current(),
    });
    let response = next.call(request).await?.map_into_boxed_body();
    Ok(as_json(response))
}

/// The header, where there is exactly one.
fn single(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(header::AUTHORIZATION);
    let one = all.next()?.to_str().ok()?.to_owned();
    all.next().is_none().then_some(one)
}

/// 401, 403 or 500, with the error envelope where a client looks for details.
fn refused(failure: &Failure, request_id: &RequestId, key_sent: bool) -> HttpResponse {
    if let Some(internal) = &failure.internal {
        tracing::info!(code = failure.code.as_str(), internal, "refused");
    }
    let status = failure.code.status();
    let refusal = Refusal {
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        // Our own codes stand outside the range that JSON-RPC keeps for itself.
        code: i64::from(status),
        message: failure.message.clone(),
        data: Some(result::envelope(failure, request_id.as_str())),
    };
    let mut response = refusal.response();
    if failure.code == ErrorCode::Unauthorized {
        // No `resource_metadata`: there is no authorization server, and a client would look for one.
        let challenge = if key_sent {
            "Bearer realm=\"brownstone\", error=\"invalid_token\""
        } else {
            "Bearer realm=\"brownstone\""
        };
        response.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static(challenge),
        );
    }
    response
}

/// A message that the protocol may see.
struct Message {
    body: Bytes,
    /// A key that came twice among a tool's arguments, or inside one of them.
    twice: Option<String>,
}

async fn message(request: &mut ServiceRequest) -> Result<Message, Refusal> {
    if is_encoded(request.headers()) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            INVALID_REQUEST,
            "Content-Encoding is not supported; send the body as it is.",
        ));
    }
    let read = brownstone_edge::read(request.take_payload(), MAX_BODY_BYTES).await;
    let body = read.map_err(|fault| match fault {
        BodyFault::Broken(_) => Refusal::new(
            StatusCode::BAD_REQUEST,
            INVALID_REQUEST,
            "The request body could not be read.",
        ),
        BodyFault::TooLarge => Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            INVALID_REQUEST,
            format!("The request body is larger than {MAX_BODY_BYTES} bytes."),
        ),
        BodyFault::TooSlow => Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            INVALID_REQUEST,
            "The request body did not arrive in time.",
        ),
    })?;
    let Ok((message, twice)) = body::read(&body) else {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            PARSE_ERROR,
            "The request body is not valid JSON.",
        ));
    };
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            INVALID_REQUEST,
            "The request body must be one JSON-RPC 2.0 message; batches are not supported.",
        ));
    }
    let Some(key) = twice else {
        return Ok(Message { body, twice: None });
    };
    // An argument is the operation's matter, and what is wrong with it a result that an agent sees. What the protocol itself reads has one
    // meaning or none.
    match twice_in_arguments(&body) {
        None => Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            INVALID_REQUEST,
            body::duplicate_field(&key).0,
        )),
        twice => Ok(Message { body, twice }),
    }
}

/// The first key that comes twice in `params.arguments`.
fn twice_in_arguments(message: &[u8]) -> Option<String> {
    type Members<'a> = HashMap<String, &'a RawValue>;
    let message: Members<'_> = serde_json::from_slice(message).ok()?;
    let params: Members<'_> = serde_json::from_str(message.get("params")?.get()).ok()?;
    let (_, twice) = body::read(params.get("arguments")?.get().as_bytes()).ok()?;
    twice
}

/// The protocol's library refuses some requests in plain text; on this host every body is JSON.
fn as_json(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| {
            kind.as_bytes().starts_with(b"application/json")
                || kind.as_bytes().starts_with(b"text/event-stream")
        });
    if !(status.is_client_error() || status.is_server_error()) || is_json {
        return response;
    }
    let message = match status {
        StatusCode::METHOD_NOT_ALLOWED => "This endpoint takes POST alone.",
        StatusCode::FORBIDDEN => "This Host or Origin is not allowed.",
        StatusCode::NOT_ACCEPTABLE => "Accept must list application/json and text/event-stream.",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "Content-Type must be application/json.",
        _ => "The request is no request of this protocol.",
    };
    let allow = response.headers().get(header::ALLOW).cloned();
    let (request, _) = response.into_parts();
    let mut json = Refusal::new(status, INVALID_REQUEST, message).response();
    if let Some(allow) = allow {
        json.headers_mut().insert(header::ALLOW, allow);
    }
    ServiceResponse::new(request, json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_twice_is_found_among_the_arguments_alone() {
        for (message, twice) in [
            (
                r#"{"params":{"arguments":{"address":"a","address":"b"}}}"#,
                Some("address"),
            ),
            (r#"{"params":{"arguments":{"a":{"x":1,"x":2}}}}"#, Some("x")),
            (r#"{"params":{"name":"a","name":"b","arguments":{}}}"#, None),
            (
                r#"{"method":"a","method":"b","params":{"arguments":{"x":1}}}"#,
                None,
            ),
            (r#"{"method":"a","method":"b"}"#, None),
        ] {
            let found = twice_in_arguments(message.as_bytes());
            assert_eq!(found.as_deref(), twice, "{message}");
        }
    }
}
