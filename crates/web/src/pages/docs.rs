//! The guides. Tables come from the tables that the program itself goes by.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use brownstone_domain::{ErrorCode, Limits, error::ERROR_CODES};
use brownstone_service::SourceInfo;

use crate::{
    host::Host,
    page::{Frame, Stop, show},
    pages::home::{Row, operations},
    visitor::Visitor,
};

/// The guides: path below `/docs`, and title.
const GUIDES: [(&str, &str); 7] = [
    ("quick-start", "Quick start"),
    ("errors", "Errors"),
    ("limits", "Limits"),
    ("caching", "Caching"),
    ("coverage", "Coverage"),
    ("acceptable-use", "Acceptable use"),
    ("versioning", "Versioning"),
];

struct Code {
    name: &'static str,
    status: u16,
    retry: bool,
    meaning: &'static str,
}

#[derive(Template)]
#[template(path = "docs.html")]
struct Guide {
    page: Frame,
    here: &'static str,
    title: &'static str,
    guides: &'static [(&'static str, &'static str)],
    operations: Vec<Row>,
    codes: Vec<Code>,
    sources: Vec<SourceInfo>,
    per_minute: u32,
    per_day: u32,
    per_second: u32,
}

const fn meaning(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unauthorized => {
            "Authentication failed: the key is missing, mistyped, revoked or for another environment."
        }
        ErrorCode::Forbidden => {
            "Access is refused: the account is suspended, or its tier has no API access."
        }
        ErrorCode::InvalidRequest => {
            "The request is malformed, or holds a field that the operation does not accept. The message names it."
        }
        ErrorCode::NotFound => {
            "The address is in the city but has no tax lot on record, or cannot be placed; or there is nothing at this path."
        }
        ErrorCode::OutsideCoverage => {
            "The address or area is outside the five boroughs; a different spelling does not change the answer."
        }
        ErrorCode::RateLimited => {
            "The budget is exhausted. With Retry-After: wait that many seconds. Without it: the cost exceeds the whole ceiling, and retrying never succeeds."
        }
        ErrorCode::QuotaUnavailable => "The budget could not be determined. Retry with backoff.",
        ErrorCode::MethodNotAllowed => {
            "The path exists, but takes another method; see the Allow header."
        }
        ErrorCode::UpstreamError => "The public record could not be reached. Retry with backoff.",
        ErrorCode::InternalError => "A fault of ours. The request id helps support to find it.",
    }
}

/// `GET /docs`
///
/// # Errors
/// When storage is silent.
pub async fn quick_start(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    guide(req, host, "quick-start").await
}

/// `GET /docs/{page}`
///
/// # Errors
/// 404 for a guide that is not there.
pub async fn page(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let asked = req.match_info().get("page").unwrap_or_default().to_owned();
    guide(req, host, &asked).await
}

async fn guide(req: HttpRequest, host: web::Data<Host>, asked: &str) -> Result<HttpResponse, Stop> {
    let found = GUIDES.iter().find(|(path, _)| *path == asked);
    let (here, title) = found.copied().ok_or_else(|| Stop::not_found(&req))?;
    let visitor = Visitor::of(&req, &host).await?;
    let page = Guide {
        page: Frame::of(&host, &visitor, title),
        here,
        title,
        guides: &GUIDES,
        operations: operations(),
        codes: ERROR_CODES
            .iter()
            .map(|row| Code {
                name: row.name,
                status: row.status,
                retry: row.retry,
                meaning: meaning(row.code),
            })
            .collect(),
        sources: if here == "coverage" {
            host.service.sources()
        } else {
            Vec::new()
        },
        per_minute: Limits::DEFAULT_PER_MINUTE,
        per_day: Limits::DEFAULT_PER_DAY,
        per_second: Limits::DEFAULT_PER_MINUTE / 60,
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}
