//! Keys: made, rotated, revoked. The whole key stands on one page, once.

use std::{sync::LazyLock, time::Duration};

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use brownstone_accounts::{Account, Actor, ApiKey, KeyId, KeyRecord};

use crate::{
    host::Host,
    pace::Pace,
    page::{Frame, Stop, see, show},
    text::{moment, visible},
    visitor::{FRESH_FOR_KEYS, Visitor},
};

/// Keys that an account makes and rotates in a span: far more than by hand, and each is a row that stays.
const MADE: u64 = 30;

/// That span, in seconds.
const MADE_IN: u64 = 600;

static PACE: LazyLock<Pace> = LazyLock::new(|| Pace::new(MADE));

/// Counts a key that is about to be made.
fn paced(req: &HttpRequest, host: &Host, account: &Account) -> Result<(), Stop> {
    let now = u64::try_from(host.sign_in.now().unix_timestamp()).unwrap_or_default();
    if PACE.allows(&account.id, now / MADE_IN) {
        return Ok(());
    }
    let message = format!("An account makes at most {MADE} keys in ten minutes.");
    Err(Stop::wait(req, MADE_IN - now % MADE_IN, message))
}

/// Overlaps that a rotation offers: hours and their name.
const OVERLAPS: [(u64, &str); 4] = [
    (0, "ends at once"),
    (1, "lives 1 hour more"),
    (24, "lives 1 day more"),
    (168, "lives 7 days more"),
];

/// A key, for a table.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) shown: String,
    pub(crate) state: &'static str,
    pub(crate) ended: bool,
    pub(crate) created: String,
    pub(crate) used: String,
    pub(crate) ends: String,
}

/// The rows of an account's keys, the newest first.
pub(crate) fn rows(keys: &[KeyRecord], now: time::OffsetDateTime) -> Vec<Row> {
    let row = |key: &KeyRecord| {
        let state = key.state(now);
        Row {
            id: key.id.to_string(),
            name: visible(&key.name),
            shown: format!("{}\u{2026}{}", key.prefix, key.last_four),
            state: state.as_str(),
            ended: state.is_ended(),
            created: moment(key.created_at),
            used: key.last_used_at.map_or_else(|| "never".to_owned(), moment),
            ends: key.expires_at.map(moment).unwrap_or_default(),
        }
    };
    keys.iter().rev().map(row).collect()
}

#[derive(Template)]
#[template(path = "keys.html")]
struct Keys {
    page: Frame,
    here: &'static str,
    suspended: bool,
    keys: Vec<Row>,
    fresh: bool,
    overlaps: &'static [(u64, &'static str)],
}

#[derive(Template)]
#[template(path = "key.html")]
struct Shown {
    page: Frame,
    name: String,
    key: String,
    note: String,
}

async fn list(req: &HttpRequest, host: &Host, account: &Account) -> Result<Vec<Row>, Stop> {
    let keys = host.accounts.keys(&account.id).await;
    let keys = keys.map_err(|error| Stop::accounts(req, &error))?;
    Ok(rows(&keys, host.sign_in.now()))
}

/// `GET /dashboard/keys`
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn keys(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let signed = visitor.signed(&req)?;
    let page = Keys {
        page: Frame::of(&host, &visitor, "Keys"),
        here: "keys",
        suspended: signed.account.suspension.is_some(),
        keys: list(&req, &host, &signed.account).await?,
        fresh: signed.session.is_fresh(host.sign_in.now(), FRESH_FOR_KEYS),
        overlaps: &OVERLAPS,
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}

fn show_key(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    name: &str,
    key: &ApiKey,
    note: String,
) -> Result<HttpResponse, Stop> {
    let page = Shown {
        page: Frame::of(host, visitor, "Your new key"),
        name: visible(name),
        key: key.expose().to_owned(),
        note,
    };
    show(req, host, visitor, StatusCode::OK, &page)
}

/// `POST /dashboard/keys`
///
/// # Errors
/// Sends to give the password again where that was long ago; 400 for a bad name, or where there are enough keys; 429 for too many in a row.
pub async fn create(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let signed = visitor.fresh(&req, &host, FRESH_FOR_KEYS, "/dashboard/keys")?;
    let name = Some(form.get("name")).filter(|name| !name.is_empty());
    paced(&req, &host, &signed.account)?;
    let id = &signed.account.id;
    let new = host.accounts.create_key(id, name, Actor::Account(id)).await;
    let new = new.map_err(|error| Stop::accounts(&req, &error))?;
    show_key(
        &req,
        &host,
        &visitor,
        &new.record.name,
        &new.key,
        String::new(),
    )
}

/// A key of this account. Another's is not told apart from none.
async fn own(req: &HttpRequest, host: &Host, account: &Account) -> Result<KeyRecord, Stop> {
    let id = KeyId::from(req.match_info().get("id").unwrap_or_default());
    let key = host.accounts.key(&id).await;
    let key = key.map_err(|error| Stop::accounts(req, &error))?;
    if key.account == account.id {
        Ok(key)
    } else {
        Err(Stop::not_found(req))
    }
}

/// `POST /dashboard/keys/{id}/rotate`
///
/// # Errors
/// 404 for a key that is not one's own; 400 for one that ended; 429 for too many in a row.
pub async fn rotate(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let signed = visitor.fresh(&req, &host, FRESH_FOR_KEYS, "/dashboard/keys")?;
    let key = own(&req, &host, &signed.account).await?;
    let hours = form.get("overlap_hours").parse::<u64>().ok();
    let hours = hours.filter(|hours| OVERLAPS.iter().any(|(offered, _)| offered == hours));
    let hours =
        hours.ok_or_else(|| Stop::bad(&req, "overlap_hours: 0, 1, 24 or 168 is expected"))?;
    let overlap = Duration::from_secs(hours * 3_600);
    paced(&req, &host, &signed.account)?;
    let actor = Actor::Account(&signed.account.id);
    let rotation = host.accounts.rotate_key(&key.id, overlap, actor).await;
    let rotation = rotation.map_err(|error| Stop::accounts(&req, &error))?;
    let note = format!("The key before ends {}.", moment(rotation.old_ends_at));
    show_key(
        &req,
        &host,
        &visitor,
        &rotation.new.record.name,
        &rotation.new.key,
        note,
    )
}

/// `POST /dashboard/keys/{id}/revoke`
///
/// # Errors
/// 404 for a key that is not one's own.
pub async fn revoke(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.form(&req, &body)?;
    let signed = visitor.signed(&req)?;
    let key = own(&req, &host, &signed.account).await?;
    let actor = Actor::Account(&signed.account.id);
    let revoked = host.accounts.revoke_key(&key.id, actor).await;
    revoked.map_err(|error| Stop::accounts(&req, &error))?;
    Ok(see("/dashboard/keys"))
}
