//! The digest of listing changes: the body's fields, and the answer's bytes.

use std::collections::BTreeSet;

use brownstone_domain::{
    ListingEventType, ListingType, ListingUpdate, PropertyType, UpdatesAnswer, UpdatesCounts,
    UpdatesCoverage, UpdatesRequest, UpdatesWindow, Zip,
};
use brownstone_listings::{
    Area, Listings,
    index::shown,
    store::{EventHead, EventQuery, ListingStore, ListingStoreError},
};
use bytes::Bytes;
use serde_json::{Map, Value};
use time::{Date, Duration, OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::Instant;

use crate::{
    Failure,
    body::{BodyFault, kind},
    fields::{Fields, day},
    search::{self, LIVE_WITHIN, names},
};

/// Where nothing is said, the digest is of this long.
const DEFAULT_WINDOW: Duration = Duration::hours(24);

/// How old the last scan may be at a window's end: a day, and what a daily job may be late.
const WATCHED: Duration = Duration::hours(26);

/// Events that are read at a time, far above what a borough has in thirty days.
const AT_A_TIME: usize = 100_000;

/// The greatest number that JSON's readers agree on.
const MAX_EVENT_ID: i64 = 9_007_199_254_740_991;

fn moment(
    fields: &Fields<'_>,
    field: &str,
    of_day: impl Fn(Date) -> OffsetDateTime,
) -> Result<Option<OffsetDateTime>, BodyFault> {
    let Some(value) = fields.get(field) else {
        return Ok(None);
    };
    let exact = value
        .as_str()
        .and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
    exact
        .or_else(|| day(value).map(of_day))
        .map(Some)
        .ok_or_else(|| {
            BodyFault(format!(
                "{field} must be a date as YYYY-MM-DD or a moment as in RFC 3339; got {}.",
                kind(value)
            ))
        })
}

/// Reads the request. A date is a day in UTC: `since` its beginning, `until` its end.
///
/// # Errors
/// Names the first field that is wrong.
pub fn fields(
    object: &Map<String, Value>,
    now: OffsetDateTime,
) -> Result<UpdatesRequest, BodyFault> {
    let fields = Fields(object);
    let area = search::area(&fields)?;
    let since = moment(&fields, "since", |day| day.midnight().assume_utc())?;
    let until = moment(&fields, "until", |day| {
        day.midnight().assume_utc().saturating_add(Duration::DAY)
    })?;
    let oldest = (now.date() - Duration::days(UpdatesRequest::MAX_DAYS))
        .midnight()
        .assume_utc();
    for (field, at) in [("since", since), ("until", until)] {
        if at.is_some_and(|at| at < oldest) {
            return Err(BodyFault(format!(
                "{field} must be at most {} days back, at or after {}.",
                UpdatesRequest::MAX_DAYS,
                oldest.date()
            )));
        }
    }
    let end = until.map_or(now, |until| until.min(now));
    if since.is_some_and(|since| since >= end) {
        return Err(BodyFault(
            "since must be before until, which is now where it is left out or later.".into(),
        ));
    }
    let limit = fields.integer("limit", 1..=i64::from(UpdatesRequest::MAX_LIMIT))?;
    let after = fields.integer("after_event_id", 0..=MAX_EVENT_ID)?;
    Ok(UpdatesRequest {
        area,
        listing_type: fields
            .one_of(
                "listing_type",
                &names(ListingType::ALL, ListingType::as_str),
            )?
            .unwrap_or(ListingType::Sale),
        property_types: fields
            .several_of(
                "property_types",
                &names(PropertyType::ALL, PropertyType::as_str),
            )?
            .unwrap_or_default(),
        price: search::price(&fields)?,
        bedrooms: search::whole(&fields, ("min_bedrooms", "max_bedrooms"), 100)?,
        since,
        until,
        min_price_drop_percent: fields.number("min_price_drop_percent", 0.0..=100.0)?,
        limit: limit
            .and_then(|limit| u32::try_from(limit).ok())
            .unwrap_or(UpdatesRequest::DEFAULT_LIMIT),
        after_event_id: after.and_then(|id| u64::try_from(id).ok()),
    })
}

/// The window of a request.
fn window(request: &UpdatesRequest, now: OffsetDateTime) -> UpdatesWindow {
    let to_at = request.until.map_or(now, |until| until.min(now));
    UpdatesWindow {
        from_at: request.since.unwrap_or(to_at - DEFAULT_WINDOW),
        to_at,
    }
}

/// The three groups of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    New,
    Drop,
    Off,
}

const fn group(event_type: ListingEventType) -> Group {
    match event_type {
        ListingEventType::NewListing | ListingEventType::Relisted => Group::New,
        ListingEventType::PriceDrop => Group::Drop,
        ListingEventType::OffMarket => Group::Off,
    }
}

fn wanted(request: &UpdatesRequest, head: &EventHead) -> bool {
    let price = brownstone_domain::Bounds {
        min: request.price.min.map(|dollars| dollars.saturating_mul(100)),
        max: request.price.max.map(|dollars| dollars.saturating_mul(100)),
    };
    let cents = head.price_cents.and_then(|cents| u64::try_from(cents).ok());
    let deep = match (group(head.event_type), request.min_price_drop_percent) {
        (Group::Drop, Some(least)) => match (head.price_cents, head.previous_cents) {
            // Exact enough: both are far below 2^53.
            (Some(now), Some(before)) if before > 0 => {
                (before - now) as f64 * 100.0 >= least * before as f64
            }
            _ => false,
        },
        _ => true,
    };
    deep && (request.property_types.is_empty()
        || request.property_types.contains(&head.property_type))
        && price.allow(cents)
        && request.bedrooms.allow(head.bedrooms)
}

/// Counts the events, and picks those of the answer: all of them in their order, up to the first for which its group has
/// no room. So the last one picked says where to go on.
fn pick(heads: &[EventHead], limit: u32) -> (UpdatesCounts, Vec<u64>, bool) {
    let mut counts = UpdatesCounts::default();
    let mut picked = Vec::new();
    let mut truncated = false;
    for head in heads {
        let count = match group(head.event_type) {
            Group::New => &mut counts.new_listings,
            Group::Drop => &mut counts.price_drops,
            Group::Off => &mut counts.off_market,
        };
        *count += 1;
        truncated |= *count > u64::from(limit);
        if !truncated {
            picked.push(head.id);
        }
    }
    (counts, picked, truncated)
}

fn coverage(
    listings: &Listings,
    area: &Area,
    zips: &[Zip],
    window: UpdatesWindow,
) -> UpdatesCoverage {
    let areas = listings.areas();
    let states: Vec<_> = zips.iter().map(|zip| areas.get(zip)).collect();
    let first = states.iter().map(|state| (*state)?.first_snapshot_at);
    let last = states.iter().map(|state| (*state)?.last_complete_scan_at);
    let whole = zips.len() == area.zips.len();
    let first = first
        .collect::<Option<BTreeSet<_>>>()
        .and_then(|all| all.last().copied());
    let last = last
        .collect::<Option<BTreeSet<_>>>()
        .and_then(|all| all.first().copied());
    UpdatesCoverage {
        first_snapshot_at: first,
        last_complete_scan_at: last,
        complete: whole
            && first.is_some_and(|first| first <= window.from_at)
            && last.is_some_and(|last| last >= window.to_at - WATCHED),
    }
}

/// All events of a query that are wanted, in their order, read some at a time.
async fn heads(
    store: &dyn ListingStore,
    mut query: EventQuery,
    at_a_time: usize,
    wanted: impl Fn(&EventHead) -> bool,
) -> Result<Vec<EventHead>, ListingStoreError> {
    let mut heads = Vec::new();
    loop {
        let some = store.event_heads(&query, at_a_time).await?;
        let more = some.len() == at_a_time;
        query.after = some.last().map_or(query.after, |head| head.id);
        heads.extend(some.into_iter().filter(&wanted));
        if !more {
            return Ok(heads);
        }
    }
}

/// An event as it is told on a day: the days on the market are the day's, as in a search.
fn told(event: ListingUpdate, today: Date) -> ListingUpdate {
    ListingUpdate {
        listing: shown(event.listing, today),
        ..event
    }
}

/// Answers the operation.
///
/// # Errors
/// 500 when storage does not answer.
pub async fn answer(
    listings: &Listings,
    now: OffsetDateTime,
    request: &UpdatesRequest,
    area: &Area,
) -> Result<Vec<Bytes>, Failure> {
    let source_status = listings.ready(area, Instant::now() + LIVE_WITHIN).await;
    let zips = search::entitled(listings, area);
    let window = window(request, now);
    let query = EventQuery {
        zips: zips.clone(),
        listing_type: request.listing_type,
        from: window.from_at,
        // What was seen at this very moment has been seen.
        to: if window.to_at == now {
            now + Duration::MICROSECOND
        } else {
            window.to_at
        },
        after: request.after_event_id.unwrap_or(0),
    };
    let heads = heads(&**listings.store(), query, AT_A_TIME, |head| {
        wanted(request, head)
    })
    .await?;
    let (counts, picked, truncated) = pick(&heads, request.limit);
    let events = match picked.as_slice() {
        [] => vec![],
        ids => {
            let events = listings.store().events(ids).await?.into_iter();
            events.map(|event| told(event, now.date())).collect()
        }
    };
    let of = |wanted: Group| -> Vec<ListingUpdate> {
        let these = events
            .iter()
            .filter(|event| group(event.event_type) == wanted);
        these.cloned().collect()
    };
    let answer = UpdatesAnswer {
        window,
        coverage: coverage(listings, area, &zips, window),
        counts,
        new_listings: of(Group::New),
        price_drops: of(Group::Drop),
        off_market: of(Group::Off),
        truncated,
        source_status,
    };
    let data = serde_json::to_vec(&answer).map_err(Failure::internal)?;
    Ok(vec![data.into()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-11-28 12:00 UTC);

    fn read(value: Value) -> Result<UpdatesRequest, String> {
        let Value::Object(object) = value else {
            panic!("an object is wanted")
        };
        fields(&object, NOW).map_err(|fault| fault.0)
    }

    #[test]
    fn a_window_is_the_last_day_or_what_is_asked() {
        let of = |body| {
            let window = window(&read(body).unwrap(), NOW);
            (window.from_at, window.to_at)
        };
        let a_day_ago = NOW - Duration::DAY;
        assert_eq!(of(json!({"location": "x"})), (a_day_ago, NOW));
        assert_eq!(
            of(json!({"location": "x", "since": "2026-11-20", "until": "2026-11-21"})),
            (
                datetime!(2026-11-20 0:00 UTC),
                datetime!(2026-11-22 0:00 UTC)
            )
        );
        assert_eq!(
            of(
                json!({"location": "x", "since": "2026-11-20T05:00:00-05:00", "until": "2027-01-01"})
            ),
            (datetime!(2026-11-20 10:00 UTC), NOW)
        );
        assert_eq!(of(json!({"location": "x", "since": "2026-10-29"})).1, NOW);
    }

    #[test]
    fn faults_name_their_field() {
        for (body, message) in [
            (
                json!({"location": "x", "since": "2026-10-28"}),
                "since must be at most 30 days back",
            ),
            (
                json!({"location": "x", "since": "yesterday"}),
                "since must be a date as YYYY-MM-DD",
            ),
            (
                json!({"location": "x", "since": "2026-11-27", "until": "2026-11-26"}),
                "since must be before until",
            ),
            (
                json!({"location": "x", "since": "2026-11-29"}),
                "since must be before until",
            ),
            (
                json!({"location": "x", "limit": 201}),
                "limit must be a whole number from 1 to 200",
            ),
            (
                json!({"location": "x", "after_event_id": "7"}),
                "after_event_id must be",
            ),
            (
                json!({"location": "x", "min_price_drop_percent": 101}),
                "min_price_drop_percent must be",
            ),
            (
                json!({"location": "x", "min_bedrooms": 3, "max_bedrooms": 2}),
                "min_bedrooms must not be above",
            ),
            (
                json!({"zip_codes": ["10001"], "location": "x"}),
                "exclude each other",
            ),
        ] {
            let fault = read(body.clone()).unwrap_err();
            assert!(fault.contains(message), "{body}: {fault}");
        }
    }

    fn head(id: u64, event_type: ListingEventType) -> EventHead {
        EventHead {
            id,
            event_type,
            property_type: PropertyType::Condo,
            price_cents: Some(90_000_000),
            previous_cents: Some(100_000_000),
            bedrooms: Some(2),
        }
    }

    fn an_event(number: u64) -> ListingUpdate {
        let row = brownstone_listings::made_up::row(number);
        ListingUpdate {
            event_id: 0,
            event_type: ListingEventType::NewListing,
            detected_at: NOW,
            occurred_on: None,
            previous_price: None,
            current_price: None,
            price_change: None,
            price_change_percent: None,
            previous_status: None,
            current_status: row.listing.status,
            inferred: false,
            listing: row.listing,
        }
    }

    #[tokio::test]
    async fn no_event_is_missed_where_they_are_read_some_at_a_time() {
        let store = brownstone_listings::memory::MemoryListings::default();
        let area: Zip = "10001".parse().unwrap();
        let open = store
            .open_scan(area, "reso", NOW, NOW - Duration::DAY)
            .await
            .unwrap();
        let finish = brownstone_listings::store::Finish {
            events: (1..=5).map(an_event).collect(),
            ..Default::default()
        };
        store
            .finish_scan(area, open.id, NOW, &finish)
            .await
            .unwrap();
        let query = EventQuery {
            zips: vec![area],
            listing_type: ListingType::Sale,
            from: NOW,
            to: NOW + Duration::DAY,
            after: 0,
        };
        let all = heads(&store, query.clone(), 100, |_| true).await.unwrap();
        assert_eq!(all.len(), 5);
        for at_a_time in 1..=6 {
            let read = heads(&store, query.clone(), at_a_time, |_| true).await;
            assert_eq!(read.unwrap(), all, "{at_a_time} at a time");
        }
        let last = all[4].id;
        let only = heads(&store, query, 2, |head| head.id == last).await;
        assert_eq!(only.unwrap(), all[4..]);
    }

    #[test]
    fn an_event_is_told_with_the_days_on_the_market_of_today() {
        let event = an_event(1);
        assert_eq!(event.listing.list_date, Some("2026-11-01".into()));
        let told = told(event, NOW.date());
        assert_eq!(told.listing.days_on_market, Some(27));
    }

    #[test]
    fn a_drop_counts_by_its_percent() {
        let drop = head(1, ListingEventType::PriceDrop);
        for (least, takes) in [(5, true), (10, true), (11, false)] {
            let body = json!({"location": "x", "min_price_drop_percent": least});
            assert_eq!(wanted(&read(body).unwrap(), &drop), takes, "{least}");
        }
        let body = json!({"location": "x", "min_price_drop_percent": 50});
        let off = head(1, ListingEventType::OffMarket);
        assert!(
            wanted(&read(body).unwrap(), &off),
            "only drops have a depth"
        );
    }

    proptest! {
        #[test]
        fn a_truncated_digest_gone_on_with_gives_every_event_once(
            kinds in prop::collection::vec(0..4_usize, 0..120),
            limit in 1_u32..20,
        ) {
            let heads: Vec<EventHead> = kinds
                .iter()
                .zip(1..)
                .map(|(kind, id)| head(id, ListingEventType::ALL[*kind]))
                .collect();
            let mut seen: Vec<u64> = Vec::new();
            let mut after = 0;
            loop {
                let rest: Vec<EventHead> = heads.iter().filter(|head| head.id > after).cloned().collect();
                let (counts, picked, truncated) = pick(&rest, limit);
                let all = counts.new_listings + counts.price_drops + counts.off_market;
                prop_assert_eq!(all, rest.len() as u64);
                prop_assert!(!truncated || !picked.is_empty());
                seen.extend(&picked);
                if !truncated {
                    break;
                }
                after = picked[picked.len() - 1];
            }
            let ids: Vec<u64> = heads.iter().map(|head| head.id).collect();
            prop_assert_eq!(seen, ids);
        }
    }
}
