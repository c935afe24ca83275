//! One's own account: events, sessions, password, export, deletion.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, http::header, web};
use askama::Template;
use brownstone_accounts::{AuditEntry, requests::KEPT, service::REASON};
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    host::Host,
    page::{Frame, Stop, see, show},
    pages::dashboard::counters,
    text::{moment, visible},
    visitor::{Visitor, no_session, origin, session},
};

/// Events shown on the page.
const EVENTS: u32 = 100;

/// Events in an export.
const ALL_EVENTS: u32 = 10_000;

/// An event of an account, for a table.
pub(crate) struct Event {
    pub(crate) at: String,
    pub(crate) actor: String,
    pub(crate) action: String,
    pub(crate) detail: String,
}

struct SessionRow {
    id: String,
    begun: String,
    seen: String,
    address: String,
    agent: String,
    this: bool,
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    page: Frame,
    here: &'static str,
    suspended: bool,
    id: String,
    email: String,
    tier: &'static str,
    created: String,
    sessions: Vec<SessionRow>,
    events: Vec<Event>,
}

/// What the owner of an account may read of an event: not who of support it was, nor their reasons.
fn own_event(entry: &AuditEntry) -> Event {
    let own = entry.actor == entry.account.as_str();
    let support = !own && matches!(entry.action.as_str(), "account.suspend" | "account.restore");
    let told = match entry.detail.split_once(REASON) {
        Some((told, _)) if !own => told,
        _ => &entry.detail,
    };
    Event {
        at: moment(entry.at),
        actor: if own { "you" } else { "support" }.to_owned(),
        action: entry.action.clone(),
        detail: if support {
            String::new()
        } else {
            visible(told)
        },
    }
}

/// `GET /dashboard/account`
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn account(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let signed = visitor.signed(&req)?;
    let account = &signed.account;
    let sessions = host.sign_in.sessions(&account.id).await;
    let sessions = sessions.map_err(|error| Stop::sign_in(&req, &error))?;
    let events = host.accounts.audit(&account.id, EVENTS).await;
    let events = events.map_err(|error| Stop::accounts(&req, &error))?;
    let page = AccountPage {
        page: Frame::of(&host, &visitor, "Account"),
        here: "account",
        suspended: account.suspension.is_some(),
        id: account.id.to_string(),
        email: account.email.clone(),
        tier: account.tier.as_str(),
        created: moment(account.created_at),
        sessions: sessions
            .into_iter()
            .map(|row| SessionRow {
                begun: moment(row.created_at),
                seen: moment(row.last_seen_at),
                address: row.address,
                agent: visible(&row.agent),
                this: row.id == signed.session.id,
                id: row.id,
            })
            .collect(),
        events: events.iter().map(own_event).collect(),
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}

/// `POST /dashboard/account/password`
///
/// # Errors
/// 400 with what is wrong with either password.
pub async fn password(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let signed = visitor.signed(&req)?;
    let (old, new) = (form.secret("current"), form.secret("password"));
    let new = host
        .sign_in
        .change_password(signed, old, new, &origin(&req))
        .await;
    let new = new.map_err(|error| Stop::sign_in(&req, &error))?;
    let mut response = see("/dashboard/account");
    if let Some(cookie) = session(&host, &new.token) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `POST /dashboard/account/sessions/{id}`: ends a session.
///
/// # Errors
/// 404 for a session that is not one's own.
pub async fn end(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.form(&req, &body)?;
    let signed = visitor.signed(&req)?;
    let id = req.match_info().get("id").unwrap_or_default();
    let ended = host.sign_in.end(&signed.account.id, id).await;
    if !ended.map_err(|error| Stop::sign_in(&req, &error))? {
        return Err(Stop::not_found(&req));
    }
    Ok(see("/dashboard/account"))
}

/// `POST /dashboard/account/sessions/others`
///
/// # Errors
/// 403 for a form that is out of date.
pub async fn end_others(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.form(&req, &body)?;
    let ended = host.sign_in.end_others(visitor.signed(&req)?).await;
    ended.map_err(|error| Stop::sign_in(&req, &error))?;
    Ok(see("/dashboard/account"))
}

fn at(moment: OffsetDateTime) -> Value {
    moment.format(&Rfc3339).map_or(Value::Null, Value::from)
}

/// `GET /dashboard/account/export.json`: all that is kept of the account, but for what is secret.
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn export(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let keys = host.accounts.keys(&account.id).await;
    let keys = keys.map_err(|error| Stop::accounts(&req, &error))?;
    let sessions = host.sign_in.sessions(&account.id).await;
    let sessions = sessions.map_err(|error| Stop::sign_in(&req, &error))?;
    let events = host.accounts.audit(&account.id, ALL_EVENTS).await;
    let events = events.map_err(|error| Stop::accounts(&req, &error))?;
    let (_, usage) = counters(&req, &host, account).await?;
    let requests = host.requests.recent(&account.id, KEPT).await;
    let requests = requests.map_err(|error| Stop::internal(&req, error))?;
    let all = json!({
        "account": {
            "id": account.id.as_str(), "email": account.email, "tier": account.tier.as_str(),
            "created_at": at(account.created_at), "suspended": account.suspension.is_some(),
            "overrides": {"per_minute": account.overrides.per_minute, "per_day": account.overrides.per_day,
                "until": account.overrides.until.map(at)},
        },
        "keys": keys.iter().map(|key| json!({
            "id": key.id.as_str(), "name": key.name, "prefix": key.prefix, "last_four": key.last_four,
            "created_at": at(key.created_at), "expires_at": key.expires_at.map(at),
            "revoked_at": key.revoked_at.map(at), "last_used_at": key.last_used_at.map(at),
        })).collect::<Vec<_>>(),
        "sessions": sessions.iter().map(|session| json!({
            "id": session.id, "address": session.address, "agent": session.agent,
            "created_at": at(session.created_at), "last_seen_at": at(session.last_seen_at),
        })).collect::<Vec<_>>(),
        "events": events.iter().map(|entry| {
            let event = own_event(entry);
            json!({"at": at(entry.at), "actor": event.actor, "action": event.action, "detail": event.detail})
        }).collect::<Vec<_>>(),
        "recent_requests": requests.iter().map(|line| json!({
            "request_id": line.id, "at": at(line.at), "key": line.key.as_str(), "surface": line.surface.as_str(),
            "operation": line.operation, "outcome": line.outcome, "units": line.units,
        })).collect::<Vec<_>>(),
        "usage_last_30_days": usage.iter().map(|(key, counts)| json!({
            "date": key.day.to_string(), "key": key.key.as_str(), "surface": key.surface.as_str(),
            "operation": key.operation, "calls": counts.calls, "failed": counts.failed, "units": counts.units,
            "rate_limited": counts.rate_limited, "permanent": counts.permanent,
        })).collect::<Vec<_>>(),
    });
    Ok(HttpResponse::Ok()
        .insert_header((
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"brownstone-account.json\"",
        ))
        .json(all))
}

/// `POST /dashboard/account/delete`: with the password, and the address typed once more.
///
/// # Errors
/// 400 when either is not right, or what the request stood on has changed meanwhile.
pub async fn delete(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let signed = visitor.signed(&req)?;
    if !form
        .get("email")
        .eq_ignore_ascii_case(&signed.account.email)
    {
        return Err(Stop::bad(
            &req,
            "email: type the account's own address to delete it",
        ));
    }
    if signed.account.suspension.is_some() {
        return Err(Stop::bad(
            &req,
            "A suspended account is deleted by support alone.",
        ));
    }
    let erased = host.sign_in.erase(signed, form.secret("password")).await;
    erased.map_err(|error| Stop::sign_in(&req, &error))?;
    let mut response = see("/");
    if let Some(cookie) = no_session(&host) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
