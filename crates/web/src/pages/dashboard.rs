//! The dashboard: the budget as it stands, limits and where they come from, use today and over thirty days.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use brownstone_accounts::{Account, KeyRecord, RequestLine, UsageCounts, UsageKey};
use brownstone_domain::{Limits, OPERATIONS, Surface, usage::Usage};
use serde_json::json;
use time::{Date, Duration, OffsetDateTime};

use crate::{
    chart::{Bar, Chart, bars, rows},
    host::Host,
    page::{Frame, Stop, show},
    text::{count, moment, visible},
    visitor::Visitor,
};

/// Days of the history, today included.
const DAYS: i64 = 30;

/// A ceiling and where it comes from.
pub(crate) struct Ceiling {
    pub(crate) name: &'static str,
    pub(crate) limit: String,
    pub(crate) source: String,
}

/// The ceilings of an account.
pub(crate) fn ceilings(account: &Account, now: OffsetDateTime) -> Vec<Ceiling> {
    let overrides = account.overrides.at(now);
    let limits = overrides.limits();
    let until = overrides.until.map(|end| format!(" until {}", moment(end)));
    let until = until.unwrap_or_default();
    let row = |name, limit: u32, set: Option<u32>, default: u32| Ceiling {
        name,
        limit: count(limit.into()),
        source: match set {
            Some(_) => format!(
                "set by support{until}; the default is {}",
                count(default.into())
            ),
            None => format!("the default of the {} tier", account.tier),
        },
    };
    vec![
        row(
            "Units per minute",
            limits.per_minute(),
            overrides.per_minute,
            Limits::DEFAULT_PER_MINUTE,
        ),
        row(
            "Units per day (UTC)",
            limits.per_day(),
            overrides.per_day,
            Limits::DEFAULT_PER_DAY,
        ),
    ]
}

/// A line of a table of use.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) calls: String,
    pub(crate) failed: String,
    pub(crate) units: String,
}

fn line(name: String, counts: UsageCounts) -> Line {
    Line {
        name,
        calls: count(counts.calls),
        failed: count(counts.failed),
        units: count(counts.units),
    }
}

/// Requests on the dashboard.
const RECENT: u32 = 25;

/// A request, for a table.
pub(crate) struct Asked {
    pub(crate) at: String,
    pub(crate) operation: &'static str,
    pub(crate) surface: String,
    pub(crate) key: String,
    pub(crate) outcome: String,
    pub(crate) ok: bool,
    pub(crate) units: String,
    pub(crate) id: String,
}

/// The account's newest requests.
pub(crate) async fn requests(
    req: &HttpRequest,
    host: &Host,
    account: &Account,
    keys: &[KeyRecord],
    limit: u32,
) -> Result<Vec<Asked>, Stop> {
    let lines = host.requests.recent(&account.id, limit).await;
    let lines = lines.map_err(|error| Stop::internal(req, error))?;
    let asked = |line: &RequestLine| Asked {
        at: moment(line.at),
        operation: line.operation.spec().name,
        surface: line.surface.as_str().to_uppercase(),
        key: keys
            .iter()
            .find(|key| key.id == line.key)
            .map(|key| format!("\u{2026}{}", key.last_four))
            .unwrap_or_default(),
        ok: line.outcome == "ok",
        outcome: visible(&line.outcome),
        units: count(line.units),
        id: visible(line.id.as_str()),
    };
    Ok(lines.iter().map(asked).collect())
}

#[derive(Template)]
#[template(path = "dashboard.html")]
struct Dashboard {
    page: Frame,
    here: &'static str,
    suspended: bool,
    tier: &'static str,
    minute_remaining: String,
    minute_limit: String,
    minute_share: u64,
    day_remaining: String,
    day_limit: String,
    day_share: u64,
    resets: String,
    ceilings: Vec<Ceiling>,
    chart: Option<Chart>,
    today: Vec<Line>,
    today_by_surface: Vec<Line>,
    requests: Vec<Asked>,
    rate_limited: u64,
    permanent: u64,
    has_keys: bool,
}

struct Table {
    title: &'static str,
    head: &'static str,
    rows: Vec<Line>,
}

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    page: Frame,
    here: &'static str,
    suspended: bool,
    charts: Vec<Chart>,
    is_empty: bool,
    tables: Vec<Table>,
}

fn share(part: u64, whole: u64) -> u64 {
    (part.min(whole) * 100).checked_div(whole).unwrap_or(0)
}

async fn budget_of(req: &HttpRequest, host: &Host, account: &Account) -> Result<Usage, Stop> {
    let caller = host.sign_in.watcher(account);
    let usage = host.service.budget(&caller).await;
    usage.map_err(|failure| Stop::failure(req, &failure))
}

/// `GET /dashboard`
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn dashboard(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let usage = budget_of(&req, &host, account).await?;
    let keys = host.accounts.keys(&account.id).await;
    let keys = keys.map_err(|error| Stop::accounts(&req, &error))?;
    let (_, counters) = counters(&req, &host, account).await?;
    let today = usage
        .by_operation
        .0
        .iter()
        .filter(|(_, counts)| counts.calls + counts.failed > 0)
        .map(|(name, counts)| Line {
            name: name.clone(),
            calls: count(counts.calls),
            failed: count(counts.failed),
            units: count(counts.units),
        })
        .collect();
    let today_by_surface = usage
        .by_surface
        .0
        .iter()
        .filter(|(_, counts)| counts.calls + counts.failed > 0)
        .map(|(name, counts)| Line {
            name: name.to_uppercase(),
            calls: count(counts.calls),
            failed: count(counts.failed),
            units: count(counts.units),
        })
        .collect();
    let page = Dashboard {
        page: Frame::of(&host, &visitor, "Dashboard"),
        here: "dashboard",
        suspended: account.suspension.is_some(),
        tier: account.tier.as_str(),
        minute_remaining: count(usage.minute.remaining),
        minute_limit: count(usage.minute.limit),
        minute_share: share(usage.minute.remaining, usage.minute.limit),
        day_remaining: count(usage.day.remaining),
        day_limit: count(usage.day.limit),
        day_share: share(usage.day.remaining, usage.day.limit),
        resets: moment(usage.day.resets_at),
        ceilings: ceilings(account, host.sign_in.now()),
        chart: today_chart(host.sign_in.now().date(), &counters),
        today,
        today_by_surface,
        requests: requests(&req, &host, account, &keys, RECENT).await?,
        rate_limited: usage.refused.rate_limited,
        permanent: usage.refused.permanent,
        has_keys: !keys.is_empty(),
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}

/// `GET /dashboard/budget.json`: what is left now, for the page's script.
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn budget(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let usage = budget_of(&req, &host, &visitor.signed(&req)?.account).await?;
    Ok(HttpResponse::Ok().json(json!({
        "minute_remaining": count(usage.minute.remaining),
        "minute_share": share(usage.minute.remaining, usage.minute.limit),
        "day_remaining": count(usage.day.remaining),
        "day_share": share(usage.day.remaining, usage.day.limit),
    })))
}

/// The account's counters of the last thirty days.
pub(crate) async fn counters(
    req: &HttpRequest,
    host: &Host,
    account: &Account,
) -> Result<(Date, Vec<(UsageKey, UsageCounts)>), Stop> {
    let today = host.sign_in.now().date();
    let first = today
        .checked_sub(Duration::days(DAYS - 1))
        .unwrap_or(Date::MIN);
    let counters = host.usage.usage(&account.id, first).await;
    Ok((first, counters.map_err(|error| Stop::internal(req, error))?))
}

/// Sums by whatever `by` says, in its order.
pub(crate) fn sums<K: Ord>(
    counters: &[(UsageKey, UsageCounts)],
    by: impl Fn(&UsageKey) -> K,
) -> BTreeMap<K, UsageCounts> {
    let mut sums = BTreeMap::new();
    for (key, counts) in counters {
        *sums.entry(by(key)).or_insert_with(UsageCounts::default) += *counts;
    }
    sums
}

fn days(first: Date) -> impl Iterator<Item = Date> {
    (0..DAYS).filter_map(move |n| first.checked_add(Duration::days(n)))
}

/// Units of a day by operation and surface, as a picture.
fn today_chart(today: Date, counters: &[(UsageKey, UsageCounts)]) -> Option<Chart> {
    let mut sums = BTreeMap::new();
    for (key, counts) in counters.iter().filter(|(key, _)| key.day == today) {
        *sums.entry((key.operation, key.surface)).or_default() += counts.units;
    }
    let all: Vec<Bar> = OPERATIONS
        .iter()
        .map(|row| Bar {
            name: row.name.to_owned(),
            parts: SURFACES
                .iter()
                .map(|(surface, _)| sums.get(&(row.operation, *surface)).copied().unwrap_or(0))
                .collect(),
        })
        .filter(|bar| bar.parts.iter().any(|part| *part > 0))
        .collect();
    let names = SURFACES.map(|(_, name)| name);
    rows("Units spent today, by operation and surface", &names, &all)
}

/// The surfaces by the names people know them by.
const SURFACES: [(Surface, &str); 3] = [
    (Surface::Rest, "REST"),
    (Surface::Mcp, "MCP"),
    (Surface::Web, "web host"),
];

fn surfaces_chart(first: Date, counters: &[(UsageKey, UsageCounts)]) -> Option<Chart> {
    let sums = sums(counters, |key| (key.day, key.surface));
    let all: Vec<Bar> = days(first)
        .map(|day| Bar {
            name: day.to_string(),
            parts: SURFACES
                .iter()
                .map(|(surface, _)| sums.get(&(day, *surface)).map_or(0, |counts| counts.units))
                .collect(),
        })
        .collect();
    let names = SURFACES.map(|(_, name)| name);
    bars("Units spent each day, by surface", &names, &all)
}

/// Units a day by operation, as a picture.
pub(crate) fn units_chart(first: Date, counters: &[(UsageKey, UsageCounts)]) -> Option<Chart> {
    let sums = sums(counters, |key| (key.day, key.operation));
    let names: Vec<&str> = OPERATIONS.iter().map(|row| row.name).collect();
    let all: Vec<Bar> = days(first)
        .map(|day| Bar {
            name: day.to_string(),
            parts: OPERATIONS
                .iter()
                .map(|row| {
                    sums.get(&(day, row.operation))
                        .map_or(0, |counts| counts.units)
                })
                .collect(),
        })
        .collect();
    bars("Units spent each day, by operation", &names, &all)
}

fn calls_chart(first: Date, counters: &[(UsageKey, UsageCounts)]) -> Option<Chart> {
    let sums = sums(counters, |key| key.day);
    let all: Vec<Bar> = days(first)
        .map(|day| {
            let counts = sums.get(&day).copied().unwrap_or_default();
            Bar {
                name: day.to_string(),
                parts: vec![
                    counts.calls,
                    counts.failed,
                    counts.rate_limited + counts.permanent,
                ],
            }
        })
        .collect();
    bars("Calls each day", &["succeeded", "failed", "refused"], &all)
}

/// `GET /dashboard/usage`
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn usage(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let (first, counters) = counters(&req, &host, account).await?;
    let keys = host.accounts.keys(&account.id).await;
    let keys = keys.map_err(|error| Stop::accounts(&req, &error))?;
    let key_name = |id: &str| match keys.iter().find(|key| key.id.as_str() == id) {
        Some(key) => format!(
            "{} ({}\u{2026}{})",
            visible(&key.name),
            key.prefix,
            key.last_four
        ),
        None => "this web host".to_owned(),
    };
    let by_operation = sums(&counters, |key| key.operation);
    let by_surface = sums(&counters, |key| key.surface.as_str());
    let table = |title, head, rows| Table { title, head, rows };
    let operations = OPERATIONS
        .iter()
        .filter_map(|row| {
            Some(line(
                row.name.to_owned(),
                *by_operation.get(&row.operation)?,
            ))
        })
        .collect();
    let surfaces = Surface::ALL
        .iter()
        .filter_map(|surface| {
            let name = surface.as_str();
            Some(line(name.to_uppercase(), *by_surface.get(name)?))
        })
        .collect();
    let by_key = sums(&counters, |key| key.key.to_string())
        .into_iter()
        .map(|(id, counts)| line(key_name(&id), counts))
        .collect();
    let by_day = sums(&counters, |key| key.day)
        .into_iter()
        .rev()
        .map(|(day, counts)| line(day.to_string(), counts))
        .collect();
    let page = UsagePage {
        page: Frame::of(&host, &visitor, "Usage"),
        here: "usage",
        suspended: account.suspension.is_some(),
        charts: [
            units_chart(first, &counters),
            surfaces_chart(first, &counters),
            calls_chart(first, &counters),
        ]
        .into_iter()
        .flatten()
        .collect(),
        is_empty: counters.is_empty(),
        tables: vec![
            table("By operation", "Operation", operations),
            table("By surface", "Surface", surfaces),
            table("By key", "Key", by_key),
            table("By day", "Day (UTC)", by_day),
        ],
    };
    show(&req, &host, &visitor, StatusCode::OK, &page)
}
