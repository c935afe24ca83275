//! Where listings come from.

#[cfg(test)]
mod city_tests;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod oauth;
#[cfg(test)]
mod real_rows;
mod rentcast;
mod reso;
mod words;

use async_trait::async_trait;
use brownstone_domain::{Listing, ListingSource, ListingStatus, ListingType, PropertyType, Zip};
use brownstone_upstream::{Response, UpstreamError};
use serde_json::{Map, Value};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::Instant;

pub use oauth::{Client, Credential};
pub use rentcast::RentCast;
pub use reso::Reso;

use crate::{ListingKey, Row, clean::Dropped};

/// Why a feed gave no page. For the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// No answer, or one that may pass.
    #[error("the feed does not answer: {0}")]
    Unavailable(#[from] UpstreamError),
    /// The credential is not accepted.
    #[error("the feed refuses the credential (status {0})")]
    Refused(u16),
    /// All pages were read, and they hold fewer listings than the feed counted when the first was asked for: one was cut
    /// short, or listings went meanwhile. Begun anew, a scan is whole, unless the feed loses rows.
    #[error("the feed counts {counted} listings and gave {given}")]
    Short {
        /// Listings that the feed counted, of what was read.
        counted: u64,
        /// Rows that came.
        given: u64,
    },
    /// An answer that is not what the protocol says.
    #[error("the feed's answer cannot be read: {0}")]
    Unreadable(String),
}

/// Some listings of an area.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeedPage {
    /// The listings, mapped; not yet matched to buildings.
    pub rows: Vec<Row>,
    /// Where the next page begins; `None` after the last, when as many rows came as the feed counted.
    pub next: Option<String>,
    /// Values that could not be, by field.
    pub dropped: Dropped,
}

/// A licensed source of listings.
#[async_trait]
pub trait ListingFeed: Send + Sync {
    /// `reso`, `rentcast`: its name in `sources` and `source_status`.
    fn name(&self) -> &'static str;

    /// A page of an area's listings, from the first on or from a `next` of before. `now` is when they are seen. Ends by
    /// `deadline`.
    ///
    /// # Errors
    /// [`FeedError::Short`] in place of a page that would end the listings too early; the others as they say.
    async fn page(
        &self,
        zip: Zip,
        cursor: Option<&str>,
        now: OffsetDateTime,
        deadline: Instant,
    ) -> Result<FeedPage, FeedError>;
}

/// A listing of which nothing is known but who has it.
pub(crate) fn blank(
    feed: &str,
    listing_type: ListingType,
    id: &str,
    updated_at: Option<OffsetDateTime>,
    now: OffsetDateTime,
) -> Listing {
    Listing {
        listing_key: ListingKey::of(feed, listing_type, id).to_string(),
        source_listing_id: id.to_owned(),
        listing_type,
        status: ListingStatus::Other,
        status_raw: None,
        property_type: PropertyType::Other,
        property_type_raw: None,
        address: None,
        house_number: None,
        street: None,
        unit: None,
        borough: None,
        neighborhood: None,
        zip_code: None,
        bbl: None,
        bin: None,
        latitude: None,
        longitude: None,
        list_price: None,
        asking_rent: None,
        original_list_price: None,
        previous_list_price: None,
        price_change: None,
        price_changed_at: None,
        list_date: None,
        off_market_date: None,
        close_date: None,
        close_price: None,
        days_on_market: None,
        bedrooms: None,
        bathrooms: None,
        bathrooms_full: None,
        bathrooms_half: None,
        rooms: None,
        living_area_sqft: None,
        lot_size_sqft: None,
        price_per_sqft: None,
        year_built: None,
        floor: None,
        common_charges_monthly: None,
        maintenance_monthly: None,
        property_tax_monthly: None,
        net_effective_rent: None,
        months_free: None,
        lease_term_months: None,
        no_fee: None,
        available_date: None,
        furnished: None,
        pets_allowed: None,
        rent_stabilized: None,
        open_houses: vec![],
        photo_urls: vec![],
        listing_url: None,
        broker_name: None,
        office_name: None,
        description: None,
        first_seen_at: now,
        last_seen_at: now,
        sources: [(
            feed.to_owned(),
            ListingSource {
                listing_id: id.to_owned(),
                updated_at,
            },
        )]
        .into(),
        discrepancies: vec![],
    }
}

/// A moment as feeds write it; `None` for anything else.
pub(crate) fn moment(text: Option<String>) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(&text?, &Rfc3339).ok()
}

/// A whole answer of a page, as JSON.
///
/// # Errors
/// A status that is no success, or no JSON.
fn json(answer: &Response) -> Result<Value, FeedError> {
    match answer.status {
        200 => serde_json::from_slice(&answer.body)
            .map_err(|error| FeedError::Unreadable(format!("no JSON: {error}"))),
        status @ (401 | 403) => Err(FeedError::Refused(status)),
        status => Err(FeedError::Unreadable(format!("status {status}"))),
    }
}

/// Maps each row that is an object.
fn map_rows(
    rows: &[Value],
    dropped: &mut Dropped,
    map: impl Fn(&Map<String, Value>, &mut Dropped) -> Option<Row>,
) -> Vec<Row> {
    let mut mapped = Vec::with_capacity(rows.len());
    for row in rows {
        let one = match row {
            Value::Object(row) => map(row, dropped),
            _ => None,
        };
        match one {
            Some(one) => mapped.push(one),
            None => *dropped.entry("listing").or_insert(0) += 1,
        }
    }
    mapped
}
