//! The first page.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use brownstone_accounts::sign_in::SignUp;
use brownstone_domain::OPERATIONS;

use crate::{
    host::Host,
    page::{Frame, Stop, show},
    visitor::Visitor,
};

/// An operation, for a table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) cost: u32,
    pub(crate) tool: &'static str,
}

/// The operations, in the order of their table.
pub(crate) fn operations() -> Vec<Row> {
    OPERATIONS
        .iter()
        .map(|spec| Row {
            name: spec.name,
            method: spec.method.as_str(),
            path: spec.path,
            cost: spec.cost.get(),
            tool: spec.mcp_tool.unwrap_or_default(),
        })
        .collect()
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    page: Frame,
    operations: Vec<Row>,
    sources: usize,
    open: bool,
}

/// `GET /`
///
/// # Errors
/// When storage is silent.
pub async fn home(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let page = Home {
        page: Frame::of(
            &host,
            &visitor,
            "The public record of a New York City building",
        ),
        operations: operations(),
        sources: host.service.sources().len(),
        open: host.sign_in.policy().sign_up == SignUp::Open,
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}
