//! A building's report: looked at for nothing where it is kept, asked for at the price of a lookup.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, http::header, web};
use askama::Template;
use brownstone_accounts::{Account, Caller};
use brownstone_domain::{Bbl, Bin, Operation, Surface};
use brownstone_service::{Call, Failure, Kept, SourceInfo};
use bytes::Bytes;
use serde_json::json;

use crate::{
    edge::request_id,
    form::{Form, encode},
    host::Host,
    page::{Frame, Stop, see, show},
    report::View,
    text::visible,
    visitor::Visitor,
};

#[derive(Template)]
#[template(path = "report.html")]
struct Report {
    page: Frame,
    report: View,
    /// `/property/{id}`, without the slug.
    path: String,
    /// What a lookup of this building is asked by.
    subject: String,
    cost: u32,
}

#[derive(Template)]
#[template(path = "ask.html")]
struct Ask {
    page: Frame,
    address: String,
    subject: String,
    cost: u32,
    remaining: u64,
}

/// What a page path names: `{bbl}`, or `{bbl}-{bin}` where a lot has several buildings.
struct Subject {
    bbl: Bbl,
    bin: Option<Bin>,
}

impl Subject {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once('-') {
            None => Some(Self {
                bbl: text.parse().ok()?,
                bin: None,
            }),
            Some((bbl, bin)) => Some(Self {
                bbl: bbl.parse().ok()?,
                bin: Some(bin.parse().ok()?),
            }),
        }
    }

    /// What a lookup takes: the narrower of the two.
    fn address(&self) -> String {
        self.bin
            .map_or_else(|| self.bbl.to_string(), |bin| bin.to_string())
    }
}

fn cost() -> u32 {
    Operation::LookupProperty.spec().cost.get()
}

/// Whoever is signed in, as a caller on the account's budget.
///
/// # Errors
/// 403 where the API would answer it.
pub(crate) fn caller(req: &HttpRequest, host: &Host, account: &Account) -> Result<Caller, Stop> {
    let caller = host.sign_in.caller(account);
    caller.map_err(|failure| Stop::failure(req, &Failure::from(failure)))
}

async fn kept(
    req: &HttpRequest,
    host: &Host,
    account: &Account,
    address: &str,
) -> Result<Kept, Stop> {
    let caller = caller(req, host, account)?;
    let kept = host.service.kept(&caller, address).await;
    kept.map_err(|failure| Stop::failure(req, &failure))
}

fn subject(req: &HttpRequest) -> Result<Subject, Stop> {
    let id = req.match_info().get("id").and_then(Subject::parse);
    id.ok_or_else(|| Stop::not_found(req))
}

/// Asks before units are spent.
async fn ask_page(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    address: &str,
    subject: &str,
) -> Result<HttpResponse, Stop> {
    let account = &visitor.signed(req)?.account;
    let caller = caller(req, host, account)?;
    let budget = host.service.budget(&caller).await;
    let budget = budget.map_err(|failure| Stop::failure(req, &failure))?;
    let page = Ask {
        page: Frame::of(host, visitor, "Look up this building?"),
        address: visible(address),
        subject: subject.to_owned(),
        cost: cost(),
        remaining: budget.minute.remaining.min(budget.day.remaining),
    };
    show(req, host, visitor, StatusCode::OK, &page)
}

/// `GET /property/{id}/{slug}`. Any slug leads to the building's own.
///
/// # Errors
/// 404 for what is no building; what a lookup's address may be answered with.
pub async fn property(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let subject = subject(&req)?;
    let address = subject.address();
    let kept = kept(&req, &host, account, &address).await?;
    if let Some(path) = &kept.canonical_path
        && path != req.path()
        && of_same_lot(path, &subject)
    {
        return Ok(see(path));
    }
    let Some(data) = kept.data else {
        return ask_page(&req, &host, &visitor, &kept.address, &address).await;
    };
    let sources = host.service.sources();
    let report = View::of(&data.concat(), &sources, host.sign_in.now());
    let report = report.map_err(|error| Stop::internal(&req, error))?;
    let page = Report {
        page: Frame::of(&host, &visitor, &report.address),
        path: format!(
            "/property/{}",
            req.match_info().get("id").unwrap_or_default()
        ),
        report,
        subject: address,
        cost: cost(),
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}

/// The page of a report for nobody in particular, from `data` of a lookup: what rendering costs, for the bench.
///
/// # Errors
/// When it is no lookup's data.
pub fn rendered(
    data: &[u8],
    sources: &[SourceInfo],
    now: time::OffsetDateTime,
) -> Result<String, serde_json::Error> {
    let report = View::of(data, sources, now)?;
    let page = Report {
        page: Frame::bare(&report.address),
        path: "/property/0".to_owned(),
        report,
        subject: String::new(),
        cost: cost(),
    };
    page.render().map_err(serde::ser::Error::custom)
}

/// Whether a path is of the lot that was asked for: a redirect must not lead to another, nor round in a circle.
fn of_same_lot(path: &str, subject: &Subject) -> bool {
    let rest = path.strip_prefix("/property/").unwrap_or_default();
    let id = rest.split('/').next().and_then(Subject::parse);
    id.is_some_and(|id| {
        id.bbl == subject.bbl
            && (id.bin.is_none() || id.bin == subject.bin || subject.bin.is_none())
    })
}

/// `GET /property/{id}/report.json`: the kept report as a lookup gives it.
///
/// # Errors
/// 404 where none is kept.
pub async fn json(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let address = subject(&req)?.address();
    let kept = kept(&req, &host, account, &address).await?;
    let data = kept.data.ok_or_else(|| Stop::not_found(&req))?;
    let name = format!("attachment; filename=\"brownstone-{address}.json\"");
    Ok(HttpResponse::Ok()
        .content_type("application/json")
        .insert_header((header::CONTENT_DISPOSITION, name))
        .body(data.concat()))
}

/// `GET /lookup?address=`: to the kept report, or asks before units are spent.
///
/// # Errors
/// What a lookup's address may be answered with.
pub async fn ask(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let form = Form::parse(req.query_string().as_bytes());
    let address = form.get("address");
    if address.is_empty() {
        return Ok(see("/"));
    }
    let kept = kept(&req, &host, account, address).await?;
    match (kept.data, kept.canonical_path) {
        (Some(_), Some(path)) => Ok(see(&path)),
        _ => ask_page(&req, &host, &visitor, &kept.address, address).await,
    }
}

/// `POST /lookup`: the lookup itself, on the account's budget, by the surface `web`.
///
/// # Errors
/// What a lookup may be answered with.
pub async fn lookup(
    req: HttpRequest,
    host: web::Data<Host>,
    body: Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let account = &visitor.signed(&req)?.account;
    let address = form.get("address");
    let call = Call {
        surface: Surface::Web,
        operation: Operation::LookupProperty,
        caller: caller(&req, &host, account)?,
        request_id: request_id(&req),
        body: Bytes::from(json!({"address": address}).to_string()),
    };
    let answer = host.service.call(call).await;
    let answer = answer.map_err(|failure| Stop::failure(&req, &failure))?;
    #[derive(serde::Deserialize)]
    struct Where {
        canonical_path: Option<String>,
        bbl: Option<String>,
        bin: Option<String>,
    }
    let place: Where = serde_json::from_slice(&answer.data.concat())
        .map_err(|error| Stop::internal(&req, error))?;
    let path = match (place.canonical_path, place.bbl, place.bin) {
        (Some(path), _, _) => path,
        (None, Some(bbl), Some(bin)) => format!("/property/{bbl}-{bin}"),
        (None, Some(bbl), None) => format!("/property/{bbl}"),
        (None, None, _) => format!("/lookup?address={}", encode(address)),
    };
    Ok(see(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_a_lot_or_a_building_of_it() {
        let one = Subject::parse("1008350041").unwrap();
        assert_eq!(one.address(), "1008350041");
        let two = Subject::parse("1008350041-1015862").unwrap();
        assert_eq!(two.address(), "1015862");
        for bad in [
            "",
            "1",
            "1008350041-",
            "1008350041-1",
            "9008350041",
            "x-y",
            "1008350041-1015862-1",
        ] {
            assert!(Subject::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_redirect_stays_on_its_lot() {
        let lot = Subject::parse("1008350041").unwrap();
        let building = Subject::parse("1008350041-1015862").unwrap();
        assert!(of_same_lot("/property/1008350041/slug", &lot));
        assert!(of_same_lot("/property/1008350041/slug", &building));
        assert!(of_same_lot("/property/1008350041-1015862/slug", &building));
        assert!(!of_same_lot("/property/1008350042/slug", &lot));
        assert!(!of_same_lot("/property/1008350041-1015863/slug", &building));
        assert!(!of_same_lot("//evil.example", &lot));
    }
}
