//! Addresses as somebody types.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, http::header, web};
use serde_json::json;

use crate::{form::Form, host::Host, pace::Pace, page::Stop, visitor::Visitor};

/// Questions of one account in a second: more than anybody types.
const A_SECOND: u64 = 20;

static PACE: LazyLock<Pace> = LazyLock::new(|| Pace::new(A_SECOND));

/// `GET /suggest?q=`: addresses that go on as `q` begins, as JSON. No unit, nothing is counted.
///
/// # Errors
/// 401 for whoever is not signed in; 429 above twenty questions a second.
pub async fn suggest(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let Some(signed) = &visitor.signed else {
        return Ok(none(StatusCode::UNAUTHORIZED));
    };
    let second = u64::try_from(host.sign_in.now().unix_timestamp()).unwrap_or_default();
    if !PACE.allows(&signed.account.id, second) {
        let mut wait = none(StatusCode::TOO_MANY_REQUESTS);
        let headers = wait.headers_mut();
        headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        return Ok(wait);
    }
    let form = Form::parse(req.query_string().as_bytes());
    let suggestions = host.service.suggest(form.get("q"));
    Ok(HttpResponse::Ok().json(json!({"suggestions": suggestions})))
}

fn none(status: StatusCode) -> HttpResponse {
    HttpResponse::build(status).json(json!({"suggestions": []}))
}
