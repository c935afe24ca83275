//! Listings, their scans and what changed.

use std::time::Duration;

use async_trait::async_trait;
use brownstone_domain::{Bbl, Bin, ListingEventType, ListingUpdate, PropertyType, Zip};
use brownstone_listings::{
    ListingKey, Row, conceal,
    store::{
        AreaState, EventHead, EventQuery, Finish, Known, ListingStore, ListingStoreError, OpenScan,
    },
};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use serde::{Serialize, de::DeserializeOwned};
use time::OffsetDateTime;

use crate::error::Fault;
use crate::moment::At;
use crate::pool::{many_rows, reading, writing};
use crate::schema::{
    listing_areas, listing_events, listing_numbers, listing_pages, listing_scans, listings,
};
use crate::store::Store;

/// An area is read and written whole, by a job that can wait.
const WHOLE_AREA: Duration = Duration::from_secs(60);

/// Rows in one statement: eleven values each at most, below every database's bound on values.
const ROWS_AT_ONCE: usize = 500;

/// What an open scan is called where there is none.
const OPEN_SCAN: &str = "open scan";

impl From<Fault> for ListingStoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Missing(OPEN_SCAN) => Self::ScanLost,
            other => Self::Unavailable(other.to_string()),
        }
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = listings, treat_none_as_default_value = false)]
struct ListingRow {
    key: String,
    zip: String,
    bbl: Option<String>,
    bin: Option<String>,
    body: Vec<u8>,
}

#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = listing_events, treat_none_as_default_value = false)]
struct EventRow {
    id: i64,
    key: Option<String>,
    zip: String,
    listing_type: String,
    detected_at: At,
    event_type: String,
    property_type: String,
    price: Option<i64>,
    previous_price: Option<i64>,
    bedrooms: Option<i64>,
    body: Vec<u8>,
}

many_rows!(put_listings, PutListings, ListingRow, |rows| {
    diesel::insert_into(listings::table)
        .values(rows)
        .on_conflict(listings::key)
        .do_update()
        .set((
            listings::zip.eq(excluded(listings::zip)),
            listings::bbl.eq(excluded(listings::bbl)),
            listings::bin.eq(excluded(listings::bin)),
            listings::body.eq(excluded(listings::body)),
        ))
});

many_rows!(add_events, AddEvents, EventRow, |rows| {
    diesel::insert_into(listing_events::table).values(rows)
});

fn write<T: Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value).map_err(|_| Fault::OutOfRange(what))
}

fn read<T: DeserializeOwned>(what: &'static str, body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|_| Fault::Unreadable(what))
}

fn known(bodies: &[Vec<u8>]) -> Result<Vec<Known>, ListingStoreError> {
    let read = bodies.iter().map(|body| read("listing", body));
    Ok(read.collect::<Result<_, Fault>>()?)
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

impl ListingRow {
    fn of(zip: &str, known: &Known) -> Result<Self, Fault> {
        let listing = &known.row.listing;
        Ok(Self {
            key: known.row.key().to_string(),
            zip: zip.to_owned(),
            bbl: listing.bbl.map(|bbl| bbl.to_string()),
            bin: listing.bin.map(|bin| bin.to_string()),
            body: write("listing", known)?,
        })
    }
}

impl EventRow {
    /// The event without its number, which it gets in the transaction that keeps it.
    fn of(zip: &str, update: &ListingUpdate) -> Result<Self, Fault> {
        let head = EventHead::of(update);
        Ok(Self {
            id: 0,
            key: Some(update.listing.listing_key.clone()),
            zip: zip.to_owned(),
            listing_type: update.listing.listing_type.as_str().to_owned(),
            detected_at: At(update.detected_at),
            event_type: head.event_type.as_str().to_owned(),
            property_type: head.property_type.as_str().to_owned(),
            price: head.price_cents,
            previous_price: head.previous_cents,
            bedrooms: head.bedrooms.map(i64::from),
            body: write("event", update)?,
        })
    }
}

/// The event's bytes without the listing's address; `None` where they have none.
fn concealed(body: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let update: ListingUpdate = read("event", body)?;
    let mut without = update.clone();
    conceal(&mut without.listing);
    if without == update {
        return Ok(None);
    }
    write("event", &without).map(Some)
}

fn texts(keys: &[ListingKey]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

type HeadRow = (i64, String, String, Option<i64>, Option<i64>, Option<i64>);

fn head(row: HeadRow) -> Result<EventHead, Fault> {
    let (id, event_type, property_type, price_cents, previous_cents, bedrooms) = row;
    Ok(EventHead {
        id: unsigned(id),
        event_type: ListingEventType::from_name(&event_type).ok_or(Fault::Unreadable("event"))?,
        property_type: PropertyType::from_name(&property_type).ok_or(Fault::Unreadable("event"))?,
        price_cents,
        previous_cents,
        bedrooms: bedrooms.and_then(|bedrooms| u32::try_from(bedrooms).ok()),
    })
}

#[async_trait]
impl ListingStore for Store {
    async fn areas(&self) -> Result<Vec<AreaState>, ListingStoreError> {
        let rows: Vec<(String, i64, At, At)> = reading!(self, |connection| {
            Ok(listing_areas::table
                .order(listing_areas::zip)
                .load(connection)
                .await?)
        })?;
        let area =
            |(zip, version, first, last): (String, i64, At, At)| -> Result<AreaState, Fault> {
                Ok(AreaState {
                    zip: zip.parse().map_err(|_| Fault::Unreadable("area"))?,
                    version: unsigned(version),
                    first_snapshot_at: Some(first.0),
                    last_complete_scan_at: Some(last.0),
                })
            };
        Ok(rows.into_iter().map(area).collect::<Result<_, Fault>>()?)
    }

    async fn open_scan(
        &self,
        zip: Zip,
        feed: &str,
        now: OffsetDateTime,
        stale_before: OffsetDateTime,
    ) -> Result<OpenScan, ListingStoreError> {
        let (zip, feed) = (zip.to_string(), feed.to_owned());
        Ok(writing!(self, relaxed, |connection| {
            // The number first: its row is everybody's lock.
            let id: i64 = diesel::update(listing_numbers::table.find(1))
                .set(listing_numbers::last.eq(listing_numbers::last + 1))
                .returning(listing_numbers::last)
                .get_result(connection)
                .await?;
            let open: Option<(i64, String, At, Option<String>, i64)> = listing_scans::table
                .find(&zip)
                .select((
                    listing_scans::id,
                    listing_scans::feed,
                    listing_scans::started_at,
                    listing_scans::next_page,
                    listing_scans::pages,
                ))
                .first(connection)
                .await
                .optional()?;
            if let Some((old, of, started_at, cursor, pages)) = open {
                if of == feed && started_at.0 > stale_before {
                    return Ok(OpenScan {
                        id: unsigned(old),
                        started_at: started_at.0,
                        cursor,
                        pages: unsigned(pages),
                    });
                }
                diesel::delete(listing_pages::table.filter(listing_pages::scan.eq(old)))
                    .execute(connection)
                    .await?;
                diesel::delete(listing_scans::table.find(&zip))
                    .execute(connection)
                    .await?;
            }
            diesel::insert_into(listing_scans::table)
                .values((
                    listing_scans::zip.eq(&zip),
                    listing_scans::id.eq(id),
                    listing_scans::feed.eq(&feed),
                    listing_scans::started_at.eq(At(now)),
                    listing_scans::pages.eq(0_i64),
                ))
                .execute(connection)
                .await?;
            Ok(OpenScan {
                id: unsigned(id),
                started_at: now,
                cursor: None,
                pages: 0,
            })
        })?)
    }

    async fn stage(
        &self,
        zip: Zip,
        scan: u64,
        rows: &[Row],
        next: Option<&str>,
    ) -> Result<(), ListingStoreError> {
        let (zip, scan, next) = (zip.to_string(), number(scan), next.map(str::to_owned));
        let body = write("page", &rows)?;
        Ok(writing!(self, relaxed, |connection| {
            let open = listing_scans::table
                .filter(listing_scans::zip.eq(zip))
                .filter(listing_scans::id.eq(scan));
            let page: Option<i64> = diesel::update(open)
                .set((
                    listing_scans::next_page.eq(next),
                    listing_scans::pages.eq(listing_scans::pages + 1),
                ))
                .returning(listing_scans::pages)
                .get_result(connection)
                .await
                .optional()?;
            let Some(page) = page else {
                return Err(Fault::Missing(OPEN_SCAN));
            };
            diesel::insert_into(listing_pages::table)
                .values((
                    listing_pages::scan.eq(scan),
                    listing_pages::page.eq(page),
                    listing_pages::body.eq(body),
                ))
                .execute(connection)
                .await?;
            Ok(())
        })?)
    }

    async fn staged(&self, zip: Zip, scan: u64) -> Result<Vec<Row>, ListingStoreError> {
        let (zip, scan) = (zip.to_string(), number(scan));
        let pages: Vec<Vec<u8>> = reading!(self, within WHOLE_AREA, |connection| {
            let open: i64 = listing_scans::table
                .filter(listing_scans::zip.eq(zip))
                .filter(listing_scans::id.eq(scan))
                .count()
                .get_result(connection)
                .await?;
            if open == 0 {
                return Err(Fault::Missing(OPEN_SCAN));
            }
            Ok(listing_pages::table
                .filter(listing_pages::scan.eq(scan))
                .order(listing_pages::page)
                .select(listing_pages::body)
                .load(connection)
                .await?)
        })?;
        let mut rows = Vec::new();
        for page in pages {
            let page: Vec<Row> = read("page", &page)?;
            rows.extend(page);
        }
        Ok(rows)
    }

    async fn known(&self, zip: Zip) -> Result<Vec<Known>, ListingStoreError> {
        let zip = zip.to_string();
        let bodies: Vec<Vec<u8>> = reading!(self, within WHOLE_AREA, |connection| {
            Ok(listings::table
                .filter(listings::zip.eq(zip))
                .select(listings::body)
                .load(connection)
                .await?)
        })?;
        known(&bodies)
    }

    async fn finish_scan(
        &self,
        zip: Zip,
        scan: u64,
        at: OffsetDateTime,
        finish: &Finish,
    ) -> Result<u64, ListingStoreError> {
        let (zip, scan) = (zip.to_string(), number(scan));
        let rows: Vec<ListingRow> = finish
            .known
            .iter()
            .map(|known| ListingRow::of(&zip, known))
            .collect::<Result<_, Fault>>()?;
        let mut events: Vec<EventRow> = finish
            .events
            .iter()
            .map(|update| EventRow::of(&zip, update))
            .collect::<Result<_, Fault>>()?;
        let (withheld, hidden) = (texts(&finish.withheld), texts(&finish.concealed));
        let version: i64 = writing!(self, within WHOLE_AREA, |connection| {
            // One number for each event and one for the version. The row is locked until the end, so that numbers are seen
            // in their order.
            let count = number(events.len() as u64) + 1;
            let last: i64 = diesel::update(listing_numbers::table.find(1))
                .set(listing_numbers::last.eq(listing_numbers::last + count))
                .returning(listing_numbers::last)
                .get_result(connection)
                .await?;
            let open = listing_scans::table
                .filter(listing_scans::zip.eq(&zip))
                .filter(listing_scans::id.eq(scan));
            let ended = diesel::delete(open).execute(connection).await?;
            if ended == 0 {
                return Err(Fault::Missing(OPEN_SCAN));
            }
            diesel::delete(listing_pages::table.filter(listing_pages::scan.eq(scan)))
                .execute(connection)
                .await?;
            for (id, event) in (last - count + 1..).zip(&mut events) {
                event.id = id;
            }
            for some in rows.chunks(ROWS_AT_ONCE) {
                connection.put_listings(some.to_vec()).await?;
            }
            for some in events.chunks(ROWS_AT_ONCE) {
                connection.add_events(some.to_vec()).await?;
            }
            for some in withheld.chunks(ROWS_AT_ONCE) {
                diesel::delete(listings::table.filter(listings::key.eq_any(some)))
                    .execute(connection)
                    .await?;
                diesel::delete(listing_events::table.filter(listing_events::key.eq_any(some)))
                    .execute(connection)
                    .await?;
            }
            for some in hidden.chunks(ROWS_AT_ONCE) {
                let told: Vec<(i64, Vec<u8>)> = listing_events::table
                    .filter(listing_events::key.eq_any(some))
                    .select((listing_events::id, listing_events::body))
                    .load(connection)
                    .await?;
                for (id, body) in told {
                    if let Some(body) = concealed(&body)? {
                        diesel::update(listing_events::table.find(id))
                            .set(listing_events::body.eq(body))
                            .execute(connection)
                            .await?;
                    }
                }
            }
            diesel::insert_into(listing_areas::table)
                .values((
                    listing_areas::zip.eq(&zip),
                    listing_areas::version.eq(last),
                    listing_areas::first_snapshot_at.eq(At(at)),
                    listing_areas::last_complete_scan_at.eq(At(at)),
                ))
                .on_conflict(listing_areas::zip)
                .do_update()
                .set((
                    listing_areas::version.eq(last),
                    listing_areas::last_complete_scan_at.eq(At(at)),
                ))
                .execute(connection)
                .await?;
            Ok(last)
        })?;
        Ok(unsigned(version))
    }

    async fn listings(&self, keys: &[ListingKey]) -> Result<Vec<Known>, ListingStoreError> {
        let keys = texts(keys);
        let bodies: Vec<Vec<u8>> = reading!(self, |connection| {
            Ok(listings::table
                .filter(listings::key.eq_any(keys))
                .select(listings::body)
                .load(connection)
                .await?)
        })?;
        known(&bodies)
    }

    async fn in_building(
        &self,
        bbl: Option<Bbl>,
        bin: Option<Bin>,
    ) -> Result<Vec<Known>, ListingStoreError> {
        let (bbl, bin) = (
            bbl.map(|bbl| bbl.to_string()),
            bin.map(|bin| bin.to_string()),
        );
        let bodies: Vec<Vec<u8>> = reading!(self, |connection| {
            let mut bodies: Vec<Vec<u8>> = Vec::new();
            if let Some(bin) = &bin {
                let here: Vec<Vec<u8>> = listings::table
                    .filter(listings::bin.eq(bin))
                    .select(listings::body)
                    .load(connection)
                    .await?;
                bodies.extend(here);
            }
            if let Some(bbl) = bbl {
                let lot = listings::table.filter(listings::bbl.eq(bbl));
                let here: Vec<Vec<u8>> = if bin.is_some() {
                    lot.filter(listings::bin.is_null())
                        .select(listings::body)
                        .load(connection)
                        .await?
                } else {
                    lot.select(listings::body).load(connection).await?
                };
                bodies.extend(here);
            }
            Ok(bodies)
        })?;
        known(&bodies)
    }

    async fn event_heads(
        &self,
        query: &EventQuery,
        limit: usize,
    ) -> Result<Vec<EventHead>, ListingStoreError> {
        let query = query.clone();
        let zips: Vec<String> = query.zips.iter().map(ToString::to_string).collect();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<HeadRow> = reading!(self, |connection| {
            Ok(listing_events::table
                .filter(listing_events::zip.eq_any(zips))
                .filter(listing_events::listing_type.eq(query.listing_type.as_str()))
                .filter(listing_events::detected_at.ge(At(query.from)))
                .filter(listing_events::detected_at.lt(At(query.to)))
                .filter(listing_events::id.gt(number(query.after)))
                .order(listing_events::id)
                .limit(limit)
                .select((
                    listing_events::id,
                    listing_events::event_type,
                    listing_events::property_type,
                    listing_events::price,
                    listing_events::previous_price,
                    listing_events::bedrooms,
                ))
                .load(connection)
                .await?)
        })?;
        Ok(rows.into_iter().map(head).collect::<Result<_, Fault>>()?)
    }

    async fn events(&self, ids: &[u64]) -> Result<Vec<ListingUpdate>, ListingStoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| number(*id)).collect();
        let rows: Vec<(i64, Vec<u8>)> = reading!(self, |connection| {
            Ok(listing_events::table
                .filter(listing_events::id.eq_any(ids))
                .order(listing_events::id)
                .select((listing_events::id, listing_events::body))
                .load(connection)
                .await?)
        })?;
        let event = |(id, body): (i64, Vec<u8>)| -> Result<ListingUpdate, Fault> {
            let update: ListingUpdate = read("event", &body)?;
            Ok(ListingUpdate {
                event_id: unsigned(id),
                ..update
            })
        };
        Ok(rows.into_iter().map(event).collect::<Result<_, Fault>>()?)
    }
}
