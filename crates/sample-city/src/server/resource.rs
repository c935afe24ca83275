//! `/resource/{id}.json`: the rows of a dataset.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{self, Data, Path, ServiceConfig},
};
use serde_json::json;
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

use super::faults;
use crate::{
    Control, seed,
    soql::{self, Output},
    table::Table,
};

/// A longer address is refused, as the publisher refuses it.
const MAX_URI: usize = 16_000;
/// Headers longer than this are left out, as the publisher leaves them out.
const MAX_HEADER: usize = 4_096;

pub(super) fn routes(config: &mut ServiceConfig) {
    config.route("/resource/{id}.json", web::get().to(rows));
}

/// The switch's name for a path: a dataset's id, one of the other upstreams' names, or nothing.
pub(super) fn dataset_of(path: &str) -> &str {
    if path.starts_with("/v2/") {
        return crate::GEOSEARCH;
    }
    if path.starts_with("/api/views/") {
        return crate::VIEWS;
    }
    if path == super::flood::PATH {
        return crate::FLOOD;
    }
    for (prefix, name) in [
        (super::reso::ROOT, crate::RESO),
        (super::reso::TOKENS, crate::RESO_TOKENS),
        (super::rentcast::ROOT, crate::RENTCAST),
    ] {
        if path.starts_with(prefix) {
            return name;
        }
    }
    (path.strip_prefix("/resource/"))
        .and_then(|rest| rest.strip_suffix(".json"))
        .unwrap_or("")
}

async fn rows(request: HttpRequest, id: Path<String>, control: Data<Control>) -> HttpResponse {
    let id = id.into_inner();
    let Ok(params) = web::Query::<Vec<(String, String)>>::from_query(request.query_string()) else {
        return HttpResponse::BadRequest().finish();
    };
    let query: Vec<String> = (params.iter())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let plan = control.begin(&id, &query.join("&"));
    if request.uri().to_string().len() > MAX_URI {
        return HttpResponse::UriTooLong().finish();
    }
    let header = request.headers().get("x-app-token");
    let token = (header.and_then(|token| token.to_str().ok())).or_else(|| {
        params
            .iter()
            .find(|(name, _)| name == "$$app_token")
            .map(|(_, token)| token.as_str())
    });
    if token.is_some_and(|token| control.refuses(token)) {
        return with_common(HttpResponse::Forbidden()).body(
            json!({ "code": "permission_denied", "error": true, "message": "Invalid app_token specified" })
                .to_string(),
        );
    }
    faults::meet(plan, || answer(&control, &id, &params)).await
}

fn answer(control: &Control, id: &str, params: &[(String, String)]) -> HttpResponse {
    let Some(table) = control.table(id) else {
        return faults::missing(id);
    };
    match soql::answer(&table, params) {
        Ok(output) => rows_answer(&table, output),
        Err(refusal) => with_common(HttpResponse::BadRequest()).body(refusal.to_string()),
    }
}

fn rows_answer(table: &Table, output: Output) -> HttpResponse {
    let mut answer = with_common(HttpResponse::Ok());
    let tag = seed::hash(&[table.id.as_bytes(), output.body.as_bytes()]);
    answer.insert_header((header::ETAG, format!("W/\"{tag:016x}---gzip\"")));
    if let Some(at) = OffsetDateTime::from_unix_timestamp(table.updated_at)
        .ok()
        .and_then(|at| at.format(&Rfc2822).ok())
    {
        let at = at.replace("+0000", "GMT");
        answer.insert_header((header::LAST_MODIFIED, at.clone()));
        answer.insert_header(("x-soda2-truth-last-modified", at.clone()));
        answer.insert_header(("x-soda2-secondary-last-modified", at));
    }
    answer.insert_header(("x-soda2-data-out-of-date", "false"));
    for (name, value) in [
        ("x-soda2-fields", json!(output.fields).to_string()),
        ("x-soda2-types", json!(output.types).to_string()),
    ] {
        if value.len() <= MAX_HEADER {
            answer.insert_header((name, value));
        }
    }
    answer.body(output.body)
}

/// The headers of every answer.
fn with_common(mut answer: actix_web::HttpResponseBuilder) -> actix_web::HttpResponseBuilder {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut id = String::with_capacity(32);
    for half in [b"request", b"reseque"] {
        let _ = write!(id, "{:016x}", seed::hash(&[half, &count.to_le_bytes()]));
    }
    answer
        .content_type("application/json;charset=utf-8")
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header(("x-socrata-region", "sample-city"))
        .insert_header(("x-socrata-requestid", id));
    answer
}
