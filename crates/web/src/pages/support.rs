//! The support console: find an account, look at it, suspend and restore it, set its ceilings.

use std::collections::HashSet;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use brownstone_accounts::{
    Account, AccountId, AccountsError, Actor, Overrides, Role, requests::KEPT, sign_in::model::hex,
};
use time::{Date, OffsetDateTime, Time, format_description::well_known::Iso8601};

use crate::{
    form::{Form, encode},
    host::Host,
    page::{Frame, Stop, see, show},
    pages::{
        account::Event,
        dashboard::{Asked, Ceiling, ceilings, counters, requests, sums, units_chart},
        keys,
    },
    text::{count, moment, visible},
    visitor::{Visitor, is_support},
};

/// Events shown.
const EVENTS: u32 = 200;

struct Found {
    id: String,
    email: String,
    tier: &'static str,
    role: &'static str,
    suspended: bool,
}

impl From<Account> for Found {
    fn from(account: Account) -> Self {
        Self {
            id: account.id.to_string(),
            tier: account.tier.as_str(),
            role: account.role.as_str(),
            suspended: account.suspension.is_some(),
            email: account.email,
        }
    }
}

#[derive(Template)]
#[template(path = "support.html")]
struct Search {
    page: Frame,
    query: String,
    found: Vec<Found>,
}

#[derive(Template)]
#[template(path = "support_account.html")]
struct AccountPage {
    page: Frame,
    account: Found,
    created: String,
    suspension: Option<(String, String)>,
    ceilings: Vec<Ceiling>,
    keys: Vec<keys::Row>,
    requests: Vec<Asked>,
    units: Option<String>,
    days: Vec<(String, String, String, String)>,
    events: Vec<Event>,
    own: bool,
}

/// `GET /support?q=`: by e-mail address or its beginning, account id, a key's last four characters, or the id of a request of the last
/// seven days.
///
/// # Errors
/// 404 without the role.
pub async fn find(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.support(&req, &host)?;
    let form = Form::parse(req.query_string().as_bytes());
    let query = form.get("q");
    let mut found = Vec::new();
    if !query.is_empty() {
        match host.accounts.find(query).await {
            Ok(account) => found.push(account),
            Err(AccountsError::NoSuchAccount) => {}
            Err(error) => return Err(Stop::accounts(&req, &error)),
        }
    }
    if query.len() >= 3 {
        let beginning = host.accounts.by_email_prefix(query).await;
        found.extend(beginning.map_err(|error| Stop::accounts(&req, &error))?);
    }
    if let Ok(id) = uuid::Uuid::parse_str(query) {
        let line = host.requests.find(&id.to_string()).await;
        if let Some(line) = line.map_err(|error| Stop::internal(&req, error))? {
            match host.accounts.account(&line.account).await {
                Ok(account) => found.push(account),
                Err(AccountsError::NoSuchAccount) => {}
                Err(error) => return Err(Stop::accounts(&req, &error)),
            }
        }
    }
    if query.len() == 4 {
        let holders = host.sign_in.by_key_ending(query).await;
        found.extend(holders.map_err(|error| Stop::sign_in(&req, &error))?);
    }
    let mut seen = HashSet::new();
    found.retain(|account: &Account| seen.insert(account.id.clone()));
    let page = Search {
        page: Frame::of(&host, &visitor, "Support"),
        query: visible(query),
        found: found.into_iter().map(Found::from).collect(),
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}

async fn named(req: &HttpRequest, host: &Host) -> Result<Account, Stop> {
    let id = AccountId::from(req.match_info().get("id").unwrap_or_default());
    let account = host.accounts.account(&id).await;
    account.map_err(|error| Stop::accounts(req, &error))
}

/// `GET /support/accounts/{id}`
///
/// # Errors
/// 404 without the role, and for an account that is not there.
pub async fn account(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let signed = visitor.support(&req, &host)?;
    let account = named(&req, &host).await?;
    let keys = host.accounts.keys(&account.id).await;
    let keys = keys.map_err(|error| Stop::accounts(&req, &error))?;
    let events = host.accounts.audit(&account.id, EVENTS).await;
    let events = events.map_err(|error| Stop::accounts(&req, &error))?;
    let (first, counters) = counters(&req, &host, &account).await?;
    let page = AccountPage {
        page: Frame::of(&host, &visitor, &format!("Support: {}", account.email)),
        created: moment(account.created_at),
        suspension: account
            .suspension
            .as_ref()
            .map(|suspension| (moment(suspension.at), visible(&suspension.reason))),
        ceilings: ceilings(&account, host.sign_in.now()),
        requests: requests(&req, &host, &account, &keys, KEPT).await?,
        keys: keys::rows(&keys, host.sign_in.now()),
        units: units_chart(first, &counters),
        days: sums(&counters, |key| key.day)
            .into_iter()
            .rev()
            .map(|(day, counts)| {
                let refused = counts.rate_limited + counts.permanent;
                (
                    day.to_string(),
                    count(counts.calls),
                    count(counts.units),
                    count(refused),
                )
            })
            .collect(),
        events: events
            .iter()
            .map(|entry| Event {
                at: moment(entry.at),
                actor: visible(&entry.actor),
                action: entry.action.clone(),
                detail: visible(&entry.detail),
            })
            .collect(),
        own: account.id == signed.account.id,
        account: Found::from(account),
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}

/// A ceiling as typed; empty leaves it as it is.
fn ceiling(req: &HttpRequest, form: &Form, field: &'static str) -> Result<Option<u32>, Stop> {
    match form.get(field) {
        "" => Ok(None),
        typed => typed.parse().map(Some).map_err(|_| {
            Stop::bad(
                req,
                format!(
                    "{field}: a whole number is expected; got {}",
                    visible(typed)
                ),
            )
        }),
    }
}

/// The day on which ceilings end, at its beginning; empty for no end.
fn until(req: &HttpRequest, form: &Form) -> Result<Option<OffsetDateTime>, Stop> {
    match form.get("until") {
        "" => Ok(None),
        typed => match Date::parse(typed, &Iso8601::DATE) {
            Ok(day) => Ok(Some(day.with_time(Time::MIDNIGHT).assume_utc())),
            Err(_) => Err(Stop::bad(
                req,
                format!(
                    "until: a day such as 2026-12-31 is expected; got {}",
                    visible(typed)
                ),
            )),
        },
    }
}

/// Lines of the whole trail that the page shows.
const TAIL: u32 = 100;

/// A line of the whole trail.
struct Linked {
    number: u64,
    event: Event,
    account: String,
    hash: String,
}

#[derive(Template)]
#[template(path = "support_audit.html")]
struct AuditPage {
    page: Frame,
    lines: Vec<Linked>,
    verdict: Option<Checked>,
}

/// What a check of the chain found.
struct Checked {
    lines: String,
    unchained: String,
    hash: String,
    fault: Option<String>,
}

async fn audit_page(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    verdict: Option<Checked>,
) -> Result<HttpResponse, Stop> {
    let tail = host.accounts.audit_tail(TAIL).await;
    let tail = tail.map_err(|error| Stop::accounts(req, &error))?;
    let lines = tail.iter().map(|link| Linked {
        number: link.number,
        account: visible(link.entry.account.as_str()),
        hash: hex(link.hash.first_chunk::<6>().unwrap_or(&[0; 6])),
        event: Event {
            at: moment(link.entry.at),
            actor: visible(&link.entry.actor),
            action: visible(&link.entry.action),
            detail: visible(&link.entry.detail),
        },
    });
    let page = AuditPage {
        page: Frame::of(host, visitor, "Audit trail"),
        lines: lines.collect(),
        verdict,
    };
    show(req, host, visitor, StatusCode::OK, &page)
}

/// `GET /support/audit`: the newest lines of the whole trail.
///
/// # Errors
/// 404 without the role.
pub async fn audit(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.support(&req, &host)?;
    audit_page(&req, &host, &visitor, None).await
}

/// `POST /support/audit`: checks the whole chain, which reads all of it.
///
/// # Errors
/// 404 without the role.
pub async fn verify(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.has_role(&req)?;
    visitor.form(&req, &body)?;
    visitor.support(&req, &host)?;
    let verdict = host.accounts.verify_audit().await;
    let verdict = verdict.map_err(|error| Stop::accounts(&req, &error))?;
    if let Some(fault) = verdict.fault {
        tracing::error!(%fault, "the audit trail is not as it was written");
    }
    let checked = Checked {
        lines: count(verdict.lines),
        unchained: count(verdict.unchained),
        hash: hex(&verdict.hash),
        fault: verdict.fault.map(|fault| fault.to_string()),
    };
    audit_page(&req, &host, &visitor, Some(checked)).await
}

/// `POST /support/accounts/{id}/{action}`: `suspend`, `restore`, `limits` or `defaults`. Each is written with its line of the audit trail.
///
/// # Errors
/// 404 without the role; 400 for a reason or a ceiling that cannot be.
pub async fn change(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    // Before the form: to everybody else there is nothing here, whatever they send.
    visitor.has_role(&req)?;
    let form = visitor.form(&req, &body)?;
    let account = named(&req, &host).await?;
    let back = format!("/support/accounts/{}", encode(account.id.as_str()));
    let signed = visitor.support(&req, &host)?;
    if account.id == signed.account.id {
        return Err(Stop::bad(&req, "Nobody changes their own account here."));
    }
    if is_support(account.role) && signed.account.role != Role::Admin {
        return Err(Stop::bad(
            &req,
            "An account of support or of an admin is changed by an admin alone.",
        ));
    }
    let (id, actor) = (&account.id, Actor::Account(&signed.account.id));
    let reason = form.get("reason");
    let done = match req.match_info().get("action").unwrap_or_default() {
        "suspend" => host.accounts.suspend(id, reason, actor).await.map(|_| ()),
        "restore" => host.accounts.restore(id, reason, actor).await,
        "limits" => {
            let change = Overrides {
                per_minute: ceiling(&req, &form, "per_minute")?,
                per_day: ceiling(&req, &form, "per_day")?,
                until: until(&req, &form)?,
            };
            host.accounts
                .set_limits(id, change, reason, actor)
                .await
                .map(|_| ())
        }
        "defaults" => host.accounts.clear_limits(id, reason, actor).await,
        _ => return Err(Stop::not_found(&req)),
    };
    done.map_err(|error| Stop::accounts(&req, &error))?;
    Ok(see(&back))
}
