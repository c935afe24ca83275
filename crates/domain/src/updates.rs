//! Request and answer of the digest of listing changes.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::{
    AreaQuery, Bounds, Dollars, Listing, ListingSourceStatus, ListingStatus, ListingType,
    PropertyType, PublishedDate, listing::named,
};

named! {
    /// What happened to a listing.
    ListingEventType {
        /// It is new.
        NewListing = "new_listing",
        /// The same home was listed again within 90 days.
        Relisted = "relisted",
        /// Its price is lower than when it was last seen.
        PriceDrop = "price_drop",
        /// It left the market.
        OffMarket = "off_market",
    }
}

/// What `POST /v1/updates` accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdatesRequest {
    /// Where.
    pub area: AreaQuery,
    /// For sale or for rent.
    pub listing_type: ListingType,
    /// One of these; empty for any.
    pub property_types: Vec<PropertyType>,
    /// Whole dollars, of the price at the event.
    pub price: Bounds<u64>,
    /// Bedrooms.
    pub bedrooms: Bounds<u32>,
    /// Events at or after this moment; `None` for 24 hours before the end.
    pub since: Option<OffsetDateTime>,
    /// Events before this moment; `None` for now.
    pub until: Option<OffsetDateTime>,
    /// Price drops of at least this much, in percent of the price before.
    pub min_price_drop_percent: Option<f64>,
    /// How many of each group, 1 to 200.
    pub limit: u32,
    /// Only events after this one.
    pub after_event_id: Option<u64>,
}

impl UpdatesRequest {
    /// The most items in a group.
    pub const MAX_LIMIT: u32 = 200;
    /// Items in a group where the request does not say.
    pub const DEFAULT_LIMIT: u32 = 50;
    /// How far back a digest goes, in days.
    pub const MAX_DAYS: i64 = 30;
}

/// The period that a digest covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdatesWindow {
    /// From this moment.
    #[serde(with = "time::serde::rfc3339")]
    pub from_at: OffsetDateTime,
    /// Up to this moment, which is not included.
    #[serde(with = "time::serde::rfc3339")]
    pub to_at: OffsetDateTime,
}

/// What can be known about an area in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdatesCoverage {
    /// When every part of the area had been scanned completely for the first time: earlier changes are not known.
    #[serde(with = "time::serde::rfc3339::option")]
    pub first_snapshot_at: Option<OffsetDateTime>,
    /// When every part of the area was last scanned completely: later changes are not known yet.
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_complete_scan_at: Option<OffsetDateTime>,
    /// Whether the whole area was watched over the whole window, up to a day before its end.
    pub complete: bool,
}

/// How many events there are in each group of the window, regardless of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdatesCounts {
    /// New and relisted.
    pub new_listings: u64,
    /// Price drops.
    pub price_drops: u64,
    /// Off the market.
    pub off_market: u64,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListingUpdate {
    /// Its number: always rising, never used twice.
    pub event_id: u64,
    /// What happened.
    pub event_type: ListingEventType,
    /// When we saw it.
    #[serde(with = "time::serde::rfc3339")]
    pub detected_at: OffsetDateTime,
    /// When it happened, as published; null where the feed does not say.
    pub occurred_on: Option<PublishedDate>,
    /// The asking price before.
    pub previous_price: Option<Dollars>,
    /// The asking price, or the last one.
    pub current_price: Option<Dollars>,
    /// The difference: negative for a drop.
    pub price_change: Option<Dollars>,
    /// The same in percent of the price before, to two decimals.
    pub price_change_percent: Option<f64>,
    /// Its status before; null for a new listing.
    pub previous_status: Option<ListingStatus>,
    /// Its status.
    pub current_status: ListingStatus,
    /// Whether it was inferred from the listing being missing in two scans, and not read from the feed.
    pub inferred: bool,
    /// The listing as it was then.
    pub listing: Listing,
}

/// `data` of a digest. Each group is in the order of `event_id`. Where `truncated`, it holds every event up to its last
/// one: ask again with that as `after_event_id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdatesAnswer {
    /// The period it covers.
    pub window: UpdatesWindow,
    /// What can be known.
    pub coverage: UpdatesCoverage,
    /// How many there are.
    pub counts: UpdatesCounts,
    /// New and relisted.
    pub new_listings: Vec<ListingUpdate>,
    /// Price drops.
    pub price_drops: Vec<ListingUpdate>,
    /// Off the market.
    pub off_market: Vec<ListingUpdate>,
    /// Whether there are more events in the window.
    pub truncated: bool,
    /// How it went, by kind of listing call.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, crate::SourceStatus>))]
    pub source_status: ListingSourceStatus,
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::{SearchAnswer, SourceStatus};

    fn status() -> ListingSourceStatus {
        [("cached".to_owned(), SourceStatus::Ok)].into()
    }

    #[test]
    fn a_digest_has_the_keys_of_the_contract_in_order() {
        let answer = UpdatesAnswer {
            window: UpdatesWindow {
                from_at: datetime!(2026-11-27 12:00 UTC),
                to_at: datetime!(2026-11-28 12:00 UTC),
            },
            coverage: UpdatesCoverage {
                first_snapshot_at: Some(datetime!(2026-11-01 6:00 UTC)),
                last_complete_scan_at: None,
                complete: false,
            },
            counts: UpdatesCounts {
                price_drops: 1,
                ..UpdatesCounts::default()
            },
            new_listings: vec![],
            price_drops: vec![ListingUpdate {
                event_id: 7,
                event_type: ListingEventType::PriceDrop,
                detected_at: datetime!(2026-11-28 6:00 UTC),
                occurred_on: Some("2026-11-27".into()),
                previous_price: Some("1300000".parse().unwrap()),
                current_price: Some("1250000".parse().unwrap()),
                price_change: Some("-50000".parse().unwrap()),
                price_change_percent: Some(-3.85),
                previous_status: Some(ListingStatus::Active),
                current_status: ListingStatus::Active,
                inferred: false,
                listing: crate::listing::tests::listing(),
            }],
            off_market: vec![],
            truncated: false,
            source_status: status(),
        };
        insta::assert_snapshot!(serde_json::to_string_pretty(&answer).unwrap());
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(
            serde_json::from_str::<UpdatesAnswer>(&text).unwrap(),
            answer
        );
    }

    #[test]
    fn a_search_has_the_keys_of_the_contract_in_order() {
        let answer = SearchAnswer {
            results: vec![],
            has_more: false,
            source_status: status(),
        };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            r#"{"results":[],"has_more":false,"source_status":{"cached":"ok"}}"#
        );
    }
}
