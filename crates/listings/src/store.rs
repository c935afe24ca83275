//! What storage must do for listings. `store` implements it on SQLite and PostgreSQL.

use async_trait::async_trait;
use brownstone_domain::{
    Bbl, Bin, Dollars, ListingEventType, ListingType, ListingUpdate, PropertyType, Zip,
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::{ListingKey, Row};

/// Storage did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListingStoreError {
    /// It does not answer, or not with what was kept; the text is for the log, never for a caller.
    #[error("listing storage unavailable: {0}")]
    Unavailable(String),
    /// The scan is no longer the area's open one: another took its place.
    #[error("another scan of the area took over")]
    ScanLost,
}

/// One area as storage knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaState {
    /// The area.
    pub zip: Zip,
    /// Rises with each scan that was finished, over all areas; 0 before the first.
    pub version: u64,
    /// When the first scan was finished: the baseline.
    pub first_snapshot_at: Option<OffsetDateTime>,
    /// When the last scan was finished.
    pub last_complete_scan_at: Option<OffsetDateTime>,
}

/// A scan that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenScan {
    /// Its number: rising, never given twice.
    pub id: u64,
    /// When it began; what it sees is seen then.
    pub started_at: OffsetDateTime,
    /// Where it goes on; `None` at the beginning.
    pub cursor: Option<String>,
    /// Pages that are staged.
    pub pages: u64,
}

/// A listing that an area's scans have seen, and what they made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// As it was seen last.
    pub row: Row,
    /// Complete scans in a row that did not see it.
    pub missing: u8,
    /// What it asked when it last asked something.
    pub last_price: Option<Dollars>,
    /// When it left the market; `None` while it is on it, and for what no scan saw on it.
    #[serde(with = "time::serde::rfc3339::option")]
    pub left_at: Option<OffsetDateTime>,
}

/// What a finished scan changes, all of it or nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Finish {
    /// Listings to keep as they are now.
    pub known: Vec<Known>,
    /// What happened, in order; each `event_id` is 0 until storage gives it a number.
    pub events: Vec<ListingUpdate>,
    /// Listings that may not be shown: they are dropped, and everything that ever happened to them. Most are not there.
    pub withheld: Vec<ListingKey>,
    /// Listings whose address may not be shown: what happened to them before loses it ([`crate::conceal`]).
    pub concealed: Vec<ListingKey>,
}

/// Which events are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Of these areas.
    pub zips: Vec<Zip>,
    /// Of this type.
    pub listing_type: ListingType,
    /// Seen at or after this moment.
    pub from: OffsetDateTime,
    /// Seen before this one.
    pub to: OffsetDateTime,
    /// With a greater number than this.
    pub after: u64,
}

/// An event without its listing.
#[derive(Debug, Clone, PartialEq)]
pub struct EventHead {
    /// Its number.
    pub id: u64,
    /// What happened.
    pub event_type: ListingEventType,
    /// Of which kind of home.
    pub property_type: PropertyType,
    /// What it asks, in cents.
    pub price_cents: Option<i64>,
    /// What it asked before, in cents.
    pub previous_cents: Option<i64>,
    /// Bedrooms.
    pub bedrooms: Option<u32>,
}

impl EventHead {
    /// The head of a numbered event.
    pub fn of(update: &ListingUpdate) -> Self {
        Self {
            id: update.event_id,
            event_type: update.event_type,
            property_type: update.listing.property_type,
            price_cents: update.current_price.and_then(Dollars::cents),
            previous_cents: update.previous_price.and_then(Dollars::cents),
            bedrooms: update.listing.bedrooms,
        }
    }
}

/// Listings, scans and events at rest.
#[async_trait]
pub trait ListingStore: Send + Sync {
    /// Every area that was ever scanned whole, by ZIP.
    async fn areas(&self) -> Result<Vec<AreaState>, ListingStoreError>;

    /// The area's open scan of this feed where it began after `stale_before`; else a new one, which begins at `now` and
    /// takes the place of any other with all that it staged.
    async fn open_scan(
        &self,
        zip: Zip,
        feed: &str,
        now: OffsetDateTime,
        stale_before: OffsetDateTime,
    ) -> Result<OpenScan, ListingStoreError>;

    /// Keeps a page of an open scan, and where the next begins.
    ///
    /// # Errors
    /// [`ListingStoreError::ScanLost`] when the scan is no longer open.
    async fn stage(
        &self,
        zip: Zip,
        scan: u64,
        rows: &[Row],
        next: Option<&str>,
    ) -> Result<(), ListingStoreError>;

    /// All rows that an open scan staged, in order.
    async fn staged(&self, zip: Zip, scan: u64) -> Result<Vec<Row>, ListingStoreError>;

    /// Every listing of an area, those that left the market included.
    async fn known(&self, zip: Zip) -> Result<Vec<Known>, ListingStoreError>;

    /// Ends a scan: keeps its listings, numbers its events, drops what is withheld, conceals what is concealed, gives the area
    /// a new version and drops what was staged; all of it or nothing. Returns the version.
    ///
    /// # Errors
    /// [`ListingStoreError::ScanLost`] when the scan is no longer open; nothing is changed then.
    async fn finish_scan(
        &self,
        zip: Zip,
        scan: u64,
        at: OffsetDateTime,
        finish: &Finish,
    ) -> Result<u64, ListingStoreError>;

    /// The listings with these keys, in no order; what is not there is left out.
    async fn listings(&self, keys: &[ListingKey]) -> Result<Vec<Known>, ListingStoreError>;

    /// Every listing in a building, or on a lot without a known building, past ones included; in no order.
    async fn in_building(
        &self,
        bbl: Option<Bbl>,
        bin: Option<Bin>,
    ) -> Result<Vec<Known>, ListingStoreError>;

    /// Events by number, without their listings; at most `limit`.
    async fn event_heads(
        &self,
        query: &EventQuery,
        limit: usize,
    ) -> Result<Vec<EventHead>, ListingStoreError>;

    /// The events with these numbers, by number.
    async fn events(&self, ids: &[u64]) -> Result<Vec<ListingUpdate>, ListingStoreError>;
}
