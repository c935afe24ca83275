//! What a request must look like before the pipeline sees it.

use actix_web::{
    HttpRequest,
    http::header::{self, HeaderMap},
    web,
};
use brownstone_domain::{ErrorCode, Method, OperationSpec};
use brownstone_edge::{BodyFault, body::BODY_TIME, request::is_encoded};
use brownstone_service::{
    Failure,
    body::{MAX_BODY_BYTES, shorten},
};
use bytes::Bytes;

/// The credentials as sent: the one `Authorization` header. Two of them, or one that is no visible text, are malformed,
/// which the empty text stands for.
pub fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(header::AUTHORIZATION);
    let first = sent.next()?;
    if sent.next().is_some() {
        return Some("");
    }
    Some(first.to_str().unwrap_or(""))
}

/// Reads the body of an operation.
///
/// # Errors
/// 400 `invalid_request` for query parameters, another content type, a content encoding, a body that is too large or
/// too slow, or one where none is taken.
pub async fn body(
    request: &HttpRequest,
    payload: web::Payload,
    spec: &OperationSpec,
) -> Result<Bytes, Failure> {
    let invalid = |message: String| Err(Failure::new(ErrorCode::InvalidRequest, message));
    if !request.query_string().is_empty() {
        return invalid(format!(
            "{} {} takes no query parameters; send the fields in the JSON body.",
            spec.method.as_str(),
            spec.path
        ));
    }
    if spec.method == Method::Get {
        let body = read(payload).await?;
        if !body.is_empty() {
            return invalid(format!("GET {} takes no body.", spec.path));
        }
        return Ok(body);
    }
    // Before any byte is read: nothing of ours inflates a request.
    if is_encoded(request.headers()) {
        return invalid("Content-Encoding is not accepted; send the JSON body as it is.".into());
    }
    match content_type(request.headers()) {
        ContentType::Json => {}
        ContentType::Missing => {
            return invalid("Content-Type is missing; application/json is expected.".into());
        }
        ContentType::Other(sent) => {
            return invalid(format!(
                "Content-Type must be application/json; got {}.",
                shorten(&sent)
            ));
        }
    }
    read(payload).await
}

enum ContentType {
    Json,
    Missing,
    Other(String),
}

/// `application/json`, with no parameter but `charset=utf-8`.
fn content_type(headers: &HeaderMap) -> ContentType {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return ContentType::Missing;
    };
    if value == "application/json" {
        return ContentType::Json;
    }
    let text = String::from_utf8_lossy(value.as_bytes());
    let mut parts = text.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    let utf8 = parts.filter(|part| !part.is_empty()).all(|part| {
        part.eq_ignore_ascii_case("charset=utf-8") || part.eq_ignore_ascii_case("charset=\"utf-8\"")
    });
    if json && utf8 {
        ContentType::Json
    } else {
        ContentType::Other(text.into_owned())
    }
}

async fn read(payload: web::Payload) -> Result<Bytes, Failure> {
    let invalid = |message: String| Failure::new(ErrorCode::InvalidRequest, message);
    brownstone_edge::read(payload, MAX_BODY_BYTES)
        .await
        .map_err(|fault| match fault {
            BodyFault::TooLarge => invalid(format!(
                "The request body is larger than {MAX_BODY_BYTES} bytes."
            )),
            BodyFault::TooSlow => invalid(format!(
                "The request body did not arrive within {} seconds.",
                BODY_TIME.as_secs()
            )),
            BodyFault::Broken(error) => {
                invalid("The request body could not be read.".into()).because(error)
            }
        })
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn json_is_known_by_its_essence() {
        for (sent, json) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; charset=latin1", false),
            ("application/jsonp", false),
            ("text/plain", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(sent).unwrap());
            assert_eq!(
                matches!(content_type(&headers), ContentType::Json),
                json,
                "{sent}"
            );
        }
    }

    #[test]
    fn two_credentials_are_malformed() {
        let mut headers = HeaderMap::new();
        assert_eq!(authorization(&headers), None);
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        assert_eq!(authorization(&headers), Some("Bearer a"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer b"));
        assert_eq!(authorization(&headers), Some(""));
    }
}
