//! What a complete scan says beside the one before: which listings are kept, and what happened. Pure.
//!
//! The rules: the first scan of an area is a baseline and makes no event; a listing that is missing leaves the market with
//! the second complete scan without it, or as soon as the feed says so; the same home listed again within 90 days is
//! `relisted`; a drop is against the price that was seen last.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use brownstone_domain::{
    Dollars, Listing, ListingEventType, ListingStatus, ListingUpdate, PublishedDate,
};
use time::{Date, Duration, OffsetDateTime};

use crate::{
    ListingKey, Row,
    store::{Finish, Known},
};

/// How long after it left the market a home that is listed again is relisted, not new.
pub const RELISTED_WITHIN: Duration = Duration::days(90);

/// Complete scans without a listing after which it has left.
const MISSING_SCANS: u8 = 2;

/// Drops listings that offer the same home twice, under two identifiers. Returns what stays and how many went.
///
/// Of several, the one that is most on the market stays, then one that is known, then the one listed first.
pub fn without_duplicates(rows: Vec<Row>, known: &BTreeSet<ListingKey>) -> (Vec<Row>, u64) {
    let searchable = |row: &Row| ListingStatus::SEARCHABLE.contains(&row.listing.status);
    let order = |row: &Row| {
        let rank = ListingStatus::SEARCHABLE
            .iter()
            .position(|status| *status == row.listing.status);
        let listed = crate::index::listed_on(&row.listing);
        (
            rank,
            !known.contains(&row.key()),
            listed.is_none(),
            listed,
            row.key(),
        )
    };
    let mut best: HashMap<String, ListingKey> = HashMap::new();
    let mut by_key: BTreeMap<ListingKey, Row> = BTreeMap::new();
    let mut gone = 0;
    for row in rows {
        // The same identifier twice: pages that moved while they were read. The later change counts.
        let key = row.key();
        if let Some(other) = by_key.get(&key) {
            gone += 1;
            if updated_at(&row.listing) <= updated_at(&other.listing) {
                continue;
            }
        }
        by_key.insert(key, row);
    }
    for (key, row) in &by_key {
        let Some(offer) = row.offer().filter(|_| searchable(row)) else {
            continue;
        };
        let holder = best.entry(offer).or_insert(*key);
        if by_key
            .get(holder)
            .is_some_and(|other| order(row) < order(other))
        {
            *holder = *key;
        }
    }
    let kept: BTreeSet<ListingKey> = best.into_values().collect();
    let before = by_key.len();
    let rows: Vec<Row> = by_key
        .into_iter()
        .filter(|(key, row)| kept.contains(key) || !searchable(row) || row.offer().is_none())
        .map(|(_, row)| row)
        .collect();
    let dropped = u64::try_from(before - rows.len()).unwrap_or(0);
    (rows, gone + dropped)
}

fn updated_at(listing: &Listing) -> Option<OffsetDateTime> {
    listing
        .sources
        .values()
        .filter_map(|source| source.updated_at)
        .max()
}

/// What a complete scan changes. `rows` are its listings, duplicates dropped, matched to buildings; `baseline` when the area
/// was never scanned whole before; `now` is when the scan began.
pub fn difference(
    known: Vec<Known>,
    rows: Vec<Row>,
    baseline: bool,
    now: OffsetDateTime,
) -> Finish {
    let mut before: BTreeMap<ListingKey, Known> = known
        .into_iter()
        .map(|known| (known.row.key(), known))
        .collect();
    // The home's latest listing that is over, or that this scan does not have.
    let seen: BTreeSet<ListingKey> = rows.iter().map(Row::key).collect();
    let mut past: HashMap<String, Past> = HashMap::new();
    for (key, known) in &before {
        let gone = !known.row.listing.status.on_market() || !seen.contains(key);
        if let (Some(home), Some(this)) = (known.row.home().filter(|_| gone), Past::of(known)) {
            let newer = past
                .get(&home)
                .is_none_or(|other| other.last_on < this.last_on);
            if newer {
                past.insert(home, this);
            }
        }
    }
    let mut finish = Finish::default();
    let mut homes: BTreeSet<String> = BTreeSet::new();
    for mut row in rows {
        let prior = before.remove(&row.key());
        if let Some(home) = row.home().filter(|_| row.listing.status.on_market()) {
            homes.insert(home);
        }
        if let Some(prior) = &prior {
            remember(&mut row.listing, prior, now);
        }
        let elsewhere = row.home().and_then(|home| past.get(&home).copied());
        let event = event_of(&row.listing, prior.as_ref(), elsewhere, now);
        let last_price = row
            .listing
            .price()
            .or(prior.as_ref().and_then(|prior| prior.last_price));
        let was_on = prior
            .as_ref()
            .is_some_and(|prior| prior.row.listing.status.on_market());
        let left_at = match (row.listing.status.on_market(), was_on) {
            (true, _) => None,
            (false, true) => Some(now),
            (false, false) => prior.as_ref().and_then(|prior| prior.left_at),
        };
        finish.events.extend(event.filter(|_| !baseline));
        finish.known.push(Known {
            row,
            missing: 0,
            last_price,
            left_at,
        });
    }
    for missed in before.into_values() {
        finish_missing(missed, &homes, now, &mut finish);
    }
    finish
}

/// A listing that was on the market.
#[derive(Debug, Clone, Copy)]
struct Past {
    last_on: OffsetDateTime,
    last_price: Option<Dollars>,
    status: ListingStatus,
}

impl Past {
    /// `None` for one of which nobody knows that it was, or until when.
    fn of(known: &Known) -> Option<Self> {
        let listing = &known.row.listing;
        let last_on = match known.left_at {
            Some(left_at) => left_at,
            None if listing.status.on_market() => listing.last_seen_at,
            // It was off the market when it was first seen: the feed's day counts, which is no later than that. A pending one
            // was on it before the offer; where nobody says until when, it is given the benefit of the doubt.
            None => match crate::index::left_on(listing) {
                Some(day) => end_of(day).min(listing.last_seen_at),
                None if listing.status == ListingStatus::Pending => listing.last_seen_at,
                None => return None,
            },
        };
        Some(Self {
            last_on,
            last_price: known.last_price,
            status: listing.status,
        })
    }
}

fn end_of(day: Date) -> OffsetDateTime {
    day.midnight().assume_utc().saturating_add(Duration::DAY)
}

/// A listing that the scan does not have.
fn finish_missing(
    mut known: Known,
    homes: &BTreeSet<String>,
    now: OffsetDateTime,
    finish: &mut Finish,
) {
    let status = known.row.listing.status;
    if !ListingStatus::SEARCHABLE.contains(&status) {
        // Long over: nothing changes.
        return;
    }
    let elsewhere = known.row.home().is_some_and(|home| homes.contains(&home));
    known.missing = known.missing.saturating_add(1);
    if elsewhere || known.missing >= MISSING_SCANS {
        // Before it loses the status that says so.
        known.left_at = Past::of(&known).map(|past| past.last_on);
        known.row.listing.status = ListingStatus::OffMarket;
        known.row.listing.status_raw = None;
        if status.on_market() {
            known.left_at = Some(now);
            // The home is still to be had, under another identifier: nothing left the market.
            if !elsewhere {
                finish.events.push(ListingUpdate {
                    inferred: true,
                    ..event(
                        ListingEventType::OffMarket,
                        &known.row.listing,
                        (known.last_price, Some(status)),
                        known.last_price,
                        None,
                        now,
                    )
                });
            }
        }
    }
    finish.known.push(known);
}

/// What only we know of a listing: when it was seen first, and price changes that the feed does not tell.
fn remember(listing: &mut Listing, prior: &Known, now: OffsetDateTime) {
    let old = &prior.row.listing;
    listing.first_seen_at = old.first_seen_at;
    if listing.previous_list_price.is_some() || listing.price_change.is_some() {
        return;
    }
    match (listing.price(), prior.last_price) {
        (Some(price), Some(last)) if price != last => {
            listing.previous_list_price = Some(last);
            listing.price_change = difference_of(price, last);
            listing.price_changed_at = Some(now);
        }
        _ => {
            listing.previous_list_price = old.previous_list_price;
            listing.price_change = old.price_change;
            listing.price_changed_at = old.price_changed_at;
        }
    }
}

fn difference_of(price: Dollars, last: Dollars) -> Option<Dollars> {
    Some(Dollars::from_cents(
        price.cents()?.checked_sub(last.cents()?)?,
    ))
}

fn event_of(
    listing: &Listing,
    prior: Option<&Known>,
    elsewhere: Option<Past>,
    now: OffsetDateTime,
) -> Option<ListingUpdate> {
    let old = prior.map(|prior| prior.row.listing.status);
    let was_on = old.is_some_and(ListingStatus::on_market);
    let last = prior.and_then(|prior| prior.last_price);
    match (was_on, listing.status.on_market()) {
        (false, true) => {
            let own = prior.and_then(Past::of);
            let again = [own, elsewhere]
                .into_iter()
                .flatten()
                .max_by_key(|past| past.last_on)
                .filter(|past| now - past.last_on <= RELISTED_WITHIN);
            let event_type = match again {
                Some(_) => ListingEventType::Relisted,
                None => ListingEventType::NewListing,
            };
            Some(event(
                event_type,
                listing,
                (
                    again.and_then(|again| again.last_price),
                    again.map(|again| again.status),
                ),
                listing.price(),
                listing.list_date.clone(),
                now,
            ))
        }
        (true, false) => {
            let when = listing
                .off_market_date
                .clone()
                .or(listing.close_date.clone());
            let price = listing.price().or(last);
            Some(event(
                ListingEventType::OffMarket,
                listing,
                (last, old),
                price,
                when,
                now,
            ))
        }
        (true, true) if listing.price()? < last? => {
            let when = listing.price_changed_at.filter(|at| *at != now);
            Some(event(
                ListingEventType::PriceDrop,
                listing,
                (last, old),
                listing.price(),
                when.map(|at| at.date().to_string().as_str().into()),
                now,
            ))
        }
        _ => None,
    }
}

fn event(
    event_type: ListingEventType,
    listing: &Listing,
    (previous_price, previous_status): (Option<Dollars>, Option<ListingStatus>),
    current_price: Option<Dollars>,
    occurred_on: Option<PublishedDate>,
    now: OffsetDateTime,
) -> ListingUpdate {
    let change = current_price
        .zip(previous_price)
        .and_then(|(now, before)| difference_of(now, before));
    let percent = change.zip(previous_price).and_then(|(change, before)| {
        let (change, before) = (change.cents()?, before.cents()?);
        // Exact enough: both are far below 2^53.
        (before > 0).then(|| (change as f64 / before as f64 * 10_000.0).round() / 100.0)
    });
    ListingUpdate {
        event_id: 0,
        event_type,
        detected_at: now,
        occurred_on,
        previous_price,
        current_price,
        price_change: change,
        price_change_percent: percent,
        previous_status,
        current_status: listing.status,
        inferred: false,
        listing: listing.clone(),
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
