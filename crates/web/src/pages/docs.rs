//! The guides. Tables come from the tables that the program itself goes by.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use brownstone_domain::{Limits, error::ERROR_CODES};
use brownstone_service::SourceInfo;

use crate::{
    host::Host,
    page::{Frame, Stop, show},
    pages::{
        home::{Row, operations},
        reference::Operation as Described,
    },
    visitor::Visitor,
};

/// The guides: path below `/docs`, and title.
const GUIDES: [(&str, &str); 8] = [
    ("quick-start", "Quick start"),
    ("reference", "API reference"),
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
struct Guide<'a> {
    page: Frame,
    here: &'static str,
    title: &'static str,
    guides: &'static [(&'static str, &'static str)],
    operations: Vec<Row>,
    reference: &'a [Described],
    codes: Vec<Code>,
    sources: Vec<SourceInfo>,
    per_minute: u32,
    per_day: u32,
    per_second: u32,
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
        reference: match here {
            "reference" => &host.reference,
            _ => &[],
        },
        codes: ERROR_CODES
            .iter()
            .map(|row| Code {
                name: row.name,
                status: row.status,
                retry: row.retry,
                meaning: row.cause,
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
