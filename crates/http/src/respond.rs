//! Successes and failures as HTTP. The one place where an error code becomes a status line.

use std::cell::RefCell;

use actix_web::{
    HttpMessage, HttpRequest, HttpResponse,
    body::BoxBody,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
};
use brownstone_domain::{ErrorBody, ErrorCode, Limits};
use brownstone_quota::{RateLimitFields, fields};
use brownstone_service::{Answer, Failure};
use bytes::Bytes;

use crate::{
    edge::{CallFacts, request_id},
    pieces::{Pieces, takes_gzip},
};

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// What stands before the pieces of `data`.
const HEAD: &[u8] = b"{\"data\":";
/// What stands between them and `meta`.
const FOOT: &[u8] = b",\"meta\":";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"brownstone\"");

/// The envelope around a success: the ready pieces, and `meta` behind them. A piece that is there compressed goes out so to whoever takes
/// that, and nothing is compressed for it.
pub fn success(request: &HttpRequest, answer: &Answer) -> HttpResponse {
    // Room for the longest of them.
    let mut foot = Vec::with_capacity(256);
    foot.extend_from_slice(FOOT);
    answer.meta.write_json(&mut foot);
    foot.push(b'}');
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, JSON));
    response.insert_header((header::CACHE_CONTROL, NO_STORE));
    if let Some(policy) = policy(answer.view.limits()) {
        response.insert_header((RATELIMIT_POLICY, policy));
    }
    if let Ok(left) = HeaderValue::try_from(fields::tighter(&answer.view)) {
        response.insert_header((RATELIMIT, left));
    }
    let Some(packed) = &answer.packed else {
        let mut pieces = Vec::with_capacity(answer.data.len() + 2);
        pieces.push(Bytes::from_static(HEAD));
        pieces.extend_from_slice(&answer.data);
        pieces.push(foot.into());
        // Small, and left to the middleware to compress.
        return response.body(pieces.concat());
    };
    response.insert_header((header::VARY, ACCEPT_ENCODING));
    let mut pieces = Vec::with_capacity(answer.data.len() + 2);
    if takes_gzip(request.headers()) {
        response.insert_header((header::CONTENT_ENCODING, GZIP));
        let (before, rest) = answer.data.split_at(packed.place.min(answer.data.len()));
        let after = rest.get(1..).unwrap_or_default();
        let mut leading = vec![HEAD];
        leading.extend(before.iter().map(|piece| &**piece));
        let mut trailing: Vec<&[u8]> = after.iter().map(|piece| &**piece).collect();
        trailing.push(&foot);
        pieces.extend(packed.packed.gzip(&leading, &trailing));
    } else {
        pieces.push(Bytes::from_static(HEAD));
        pieces.extend_from_slice(&answer.data);
        pieces.push(foot.into());
    }
    response.body(BoxBody::new(Pieces::new(pieces)))
}

/// The error envelope.
pub fn failure(request: &HttpRequest, failure: &Failure) -> HttpResponse {
    note(request, |facts| {
        facts.code = Some(failure.code.as_str());
        facts.internal.clone_from(&failure.internal);
    });
    let status =
        StatusCode::from_u16(failure.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    response.insert_header((header::CACHE_CONTROL, NO_STORE));
    if failure.code == ErrorCode::Unauthorized {
        response.insert_header((header::WWW_AUTHENTICATE, CHALLENGE));
    }
    if let Some(seconds) = failure.retry_after {
        response.insert_header((header::RETRY_AFTER, seconds));
    }
    if let Some(fields) = &failure.fields {
        for (name, value) in ratelimit(fields) {
            response.insert_header((name, value));
        }
    }
    response.json(ErrorBody {
        code: failure.code,
        message: failure.message.clone(),
        request_id: request_id(request),
    })
}

/// A 405 with the methods that the path takes.
pub fn method_not_allowed(request: &HttpRequest, allowed: &'static str) -> HttpResponse {
    let path = request
        .match_pattern()
        .unwrap_or_else(|| "this path".to_owned());
    let fault = Failure::method_not_allowed(request.method().as_str(), &path, allowed);
    let mut response = failure(request, &fault);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Adds what was learnt to the log line of this request.
pub fn note(request: &HttpRequest, add: impl FnOnce(&mut CallFacts)) {
    let mut extensions = request.extensions_mut();
    let mut facts = extensions.remove::<CallFacts>().unwrap_or_default();
    add(&mut facts);
    extensions.insert(facts);
}

/// The value of `RateLimit-Policy`. It is the same for all accounts of the same limits, so the last one is kept.
fn policy(limits: Limits) -> Option<HeaderValue> {
    thread_local! {
        static LAST: RefCell<Option<(Limits, HeaderValue)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((of, value)) if *of == limits => Some(value.clone()),
        _ => {
            let value = HeaderValue::try_from(fields::policy(limits)).ok()?;
            *last = Some((limits, value.clone()));
            Some(value)
        }
    })
}

fn ratelimit(fields: &RateLimitFields) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    [
        (RATELIMIT_POLICY, &fields.policy),
        (RATELIMIT, &fields.rate_limit),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, HeaderValue::from_str(value).ok()?)))
}
