//! The listing service in the manner of the RESO Web API: OData 4 below `/reso/odata`, tokens from `/reso/oauth2/token`.

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{self, Data, Form, ServiceConfig},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::faults;
use crate::{
    Control, Fault, FaultKind, RESO, RESO_TOKENS,
    odata::{self, Entity, MEDIA, OPEN_HOUSE, PROPERTY, Refusal, Resource},
};

/// The bearer token that is always valid.
pub const TOKEN: &str = "sample-reso-token";
/// The client that may ask for tokens.
pub const CLIENT_ID: &str = "sample-client";
/// Its secret.
pub const CLIENT_SECRET: &str = "sample-secret";

pub(super) const ROOT: &str = "/reso/odata";
pub(super) const TOKENS: &str = "/reso/oauth2/token";
/// How long a token is said to be good for.
const SECONDS: u32 = 3_600;
const JSON: &str = "application/json;odata.metadata=minimal";

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .route(TOKENS, web::post().to(token))
        .route("/reso/odata", web::get().to(data))
        .route("/reso/odata/{path:.*}", web::get().to(data));
}

async fn data(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    let plan = control.begin(RESO, &decoded(&request));
    if !authorized(&request, &control) {
        let body = error(
            StatusCode::UNAUTHORIZED,
            "The token is missing, unknown or expired.",
            None,
        );
        return with_challenge(body);
    }
    if let Some(fault) = plan.fault
        && let Some(answer) = own_shape(fault)
    {
        tokio::time::sleep(plan.latency).await;
        return answer;
    }
    faults::meet(plan, || answer(&request, &control)).await
}

/// The query as it was meant, for a test to read.
fn decoded(request: &HttpRequest) -> String {
    let params = params(request);
    let pairs: Vec<String> = (params.iter())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{}?{}", request.path(), pairs.join("&"))
}

fn params(request: &HttpRequest) -> Vec<(String, String)> {
    web::Query::<Vec<(String, String)>>::from_query(request.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default()
}

fn authorized(request: &HttpRequest, control: &Control) -> bool {
    let header = request.headers().get(header::AUTHORIZATION);
    (header.and_then(|value| value.to_str().ok()))
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|token| token == TOKEN || control.issued(token))
}

/// Faults that this service reports in its own shape.
fn own_shape(fault: Fault) -> Option<HttpResponse> {
    match fault.kind {
        FaultKind::Error => {
            let status = StatusCode::from_u16(fault.status.unwrap_or(500)).ok()?;
            Some(error(status, "The service could not answer.", None))
        }
        FaultKind::Throttle => {
            let text = "Too many requests.";
            let mut answer = error(StatusCode::TOO_MANY_REQUESTS, text, None);
            if let Some(seconds) = fault.retry_after {
                let headers = answer.headers_mut();
                headers.insert(header::RETRY_AFTER, seconds.into());
            }
            Some(answer)
        }
        FaultKind::Gone => Some(error(
            StatusCode::NOT_FOUND,
            "The resource does not exist.",
            None,
        )),
        _ => None,
    }
}

fn answer(request: &HttpRequest, control: &Control) -> HttpResponse {
    let path = request.match_info().get("path").unwrap_or("");
    let info = request.connection_info().clone();
    let root = format!("{}://{}{ROOT}", info.scheme(), info.host());
    let answered = match path.trim_matches('/') {
        "" => Ok(service_document(&root)),
        "$metadata" => {
            return HttpResponse::Ok()
                .content_type("application/xml")
                .body(odata::metadata());
        }
        path => resource(path, request, control, &root),
    };
    match answered {
        Ok(body) => HttpResponse::Ok()
            .content_type(JSON)
            .insert_header(("odata-version", "4.0"))
            .body(body.to_string()),
        Err(refusal) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            error(status, &refusal.message, Some(refusal.target))
        }
    }
}

fn service_document(root: &str) -> Value {
    let sets = [&PROPERTY, &MEDIA, &OPEN_HOUSE].map(
        |resource| json!({ "name": resource.name, "kind": "EntitySet", "url": resource.name }),
    );
    json!({ "@odata.context": format!("{root}/$metadata"), "value": sets })
}

/// `Property`, or `Property('SMP100001')`.
fn resource(
    path: &str,
    request: &HttpRequest,
    control: &Control,
    root: &str,
) -> Result<Value, Refusal> {
    let (name, key) = match path.split_once('(') {
        None => (path, None),
        Some((name, rest)) => {
            let key = rest
                .strip_prefix('\'')
                .and_then(|rest| rest.strip_suffix("')"));
            (name, Some(key.ok_or_else(|| Refusal::not_found(path))?))
        }
    };
    let resource: &Resource = [&PROPERTY, &MEDIA, &OPEN_HOUSE]
        .into_iter()
        .find(|resource| resource.name == name)
        .ok_or_else(|| Refusal::not_found(&format!("The resource {name}")))?;
    let listings = control.listings().entities();
    let entities = if resource.name == PROPERTY.name {
        listings
    } else {
        parts(resource.name, &listings)
    };
    let params = params(request);
    match key {
        Some(key) => odata::entity(resource, &entities, key, &params, root),
        None => {
            let page = odata::page(resource, &entities, &params, preferred(request))?;
            Ok(page.body(root, resource))
        }
    }
}

/// What hangs on the listings.
fn parts(name: &str, listings: &[Arc<Entity>]) -> Vec<Arc<Entity>> {
    let of = |listing: &Arc<Entity>| -> Vec<Arc<Entity>> {
        let parts = listing.get(name).and_then(Value::as_array);
        (parts.into_iter().flatten())
            .filter_map(|part| Some(Arc::new(part.as_object()?.clone())))
            .collect()
    };
    listings.iter().flat_map(of).collect()
}

/// `Prefer: odata.maxpagesize=N`, with or without the prefix.
fn preferred(request: &HttpRequest) -> Option<usize> {
    let header = request.headers().get("prefer")?.to_str().ok()?;
    (header.split(','))
        .filter_map(|part| part.trim().split_once("maxpagesize="))
        .find_map(|(_, size)| size.trim().parse().ok())
        .filter(|size| *size > 0)
}

/// The error of OData.
fn error(status: StatusCode, message: &str, target: Option<&str>) -> HttpResponse {
    let mut body = json!({ "code": status.as_u16().to_string(), "message": message });
    if let (Some(target), Some(body)) = (target, body.as_object_mut()) {
        body.insert("target".into(), target.into());
    }
    HttpResponse::build(status)
        .content_type(JSON)
        .insert_header(("odata-version", "4.0"))
        .body(json!({ "error": body }).to_string())
}

fn with_challenge(mut answer: HttpResponse) -> HttpResponse {
    let challenge = header::HeaderValue::from_static("Bearer realm=\"sample-listing-service\"");
    answer
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, challenge);
    answer
}

#[derive(Debug, Deserialize)]
struct TokenRequest {
    grant_type: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
}

/// OAuth 2, client credentials, in the form or in the header.
async fn token(
    request: HttpRequest,
    form: Form<TokenRequest>,
    control: Data<Control>,
) -> HttpResponse {
    let plan = control.begin(RESO_TOKENS, form.grant_type.as_deref().unwrap_or(""));
    let basic = basic(&request);
    faults::meet(plan, || {
        let form = form.into_inner();
        let refuse = |status: StatusCode, error: &str| {
            HttpResponse::build(status).json(json!({ "error": error }))
        };
        if form.grant_type.as_deref() != Some("client_credentials") {
            return refuse(StatusCode::BAD_REQUEST, "unsupported_grant_type");
        }
        let (id, secret) = basic.unwrap_or((
            form.client_id.unwrap_or_default(),
            form.client_secret.unwrap_or_default(),
        ));
        if (id.as_str(), secret.as_str()) != (CLIENT_ID, CLIENT_SECRET) {
            return refuse(StatusCode::UNAUTHORIZED, "invalid_client");
        }
        HttpResponse::Ok()
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .json(json!({
                "access_token": control.issue_reso_token(),
                "token_type": "Bearer",
                "expires_in": SECONDS,
                "scope": "api",
            }))
    })
    .await
}

/// The client of `Authorization: Basic`. Only one is known, so that nothing needs decoding.
fn basic(request: &HttpRequest) -> Option<(String, String)> {
    /// `sample-client:sample-secret`
    const KNOWN: &str = "c2FtcGxlLWNsaWVudDpzYW1wbGUtc2VjcmV0";
    let header = request
        .headers()
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?;
    let given = header.strip_prefix("Basic ")?;
    match given == KNOWN {
        true => Some((CLIENT_ID.to_owned(), CLIENT_SECRET.to_owned())),
        false => Some((String::new(), String::new())),
    }
}
