//! The listing source of a lookup: the building's listings, past and present.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use brownstone_domain::{
    FieldValue, Listing, MatchedBy, Record, SourceData, SourceEntry, SourceStatus,
};
use brownstone_listings::Listings;
use brownstone_sources::{Source, SourceInfo, Subject};
use serde_json::value::RawValue;
use tokio::time::Instant;

/// Listings of a building that an entry shows.
const SHOWN: usize = 100;

/// The keys of listing sources. Our own index answers for them even when no publisher does.
pub const KEYS: [&str; 2] = ["reso", "rentcast"];

/// Where the listings are, once they are there: the registry is made before what the listings need.
pub type ListingSlot = Arc<OnceLock<Arc<Listings>>>;

/// The configured listing feed as a source.
pub struct ListingSource {
    info: SourceInfo,
    listings: ListingSlot,
}

impl ListingSource {
    /// The source of the feed `name`, `reso` or `rentcast`.
    pub fn new(name: &str, listings: ListingSlot) -> Self {
        let (publisher, url) = match name {
            "rentcast" => ("RentCast", "https://www.rentcast.io/"),
            _ => (
                "A multiple listing service",
                "https://www.reso.org/reso-web-api/",
            ),
        };
        let info = SourceInfo {
            key: name.to_owned(),
            title: "Listings".to_owned(),
            tells: "Homes for sale and for rent at the building, past and present, from a licensed feed."
                .to_owned(),
            publisher: publisher.to_owned(),
            url: url.to_owned(),
            matched_by: vec![MatchedBy::Bin, MatchedBy::Bbl],
            cadence_days: Some(1),
            ..SourceInfo::default()
        };
        Self { info, listings }
    }

    async fn entry(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        let without = SourceEntry::without_data;
        let Some(listings) = self.listings.get() else {
            return without(SourceStatus::Error);
        };
        let entitled = listings.entitled();
        // A building without a ZIP is in no area that anybody is entitled to, unless to all.
        let may = match subject.zip {
            Some(zip) => entitled.binary_search(&zip).is_ok(),
            None => listings.is_entitled_to_all(),
        };
        if !may {
            // What was scanned under a licence that has ended is not shown either.
            return without(SourceStatus::Gated);
        }
        if let Some(zip) = subject.zip
            && !listings.scanned_once(zip, deadline).await
        {
            return without(SourceStatus::Error);
        }
        let found = match listings.history(subject.bbl, subject.bin).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "a building's listings could not be read");
                return without(SourceStatus::Error);
            }
        };
        let areas = listings.areas();
        let scanned = subject
            .zip
            .and_then(|zip| areas.get(&zip)?.last_complete_scan_at);
        if found.is_empty() {
            return without(SourceStatus::NotFound);
        }
        let data = SourceData {
            records: found.iter().take(SHOWN).filter_map(record).collect(),
            record_count: found.len() as u64,
            records_truncated: found.len() > SHOWN,
            matched_by: if subject.bin.is_some() {
                MatchedBy::Bin
            } else {
                MatchedBy::Bbl
            },
            source_url: self.info.url.clone(),
            source_updated_at: scanned,
            stale: subject.zip.map(|zip| !listings.is_fresh(zip)),
            summary: vec![],
        };
        SourceEntry::ok(&data).unwrap_or_else(|error| {
            tracing::error!(%error, "listings that are no JSON");
            without(SourceStatus::Error)
        })
    }
}

/// A listing's fields as columns, every digit kept.
fn record(listing: &Listing) -> Option<Record> {
    let text = serde_json::to_string(listing).ok()?;
    let columns: indexmap::IndexMap<String, Box<RawValue>> = serde_json::from_str(&text).ok()?;
    let mut record = Record::default();
    for (name, value) in columns {
        let value = match value.get() {
            "null" => FieldValue::Null,
            _ => FieldValue::Json(value),
        };
        record.push(name, value);
    }
    Some(record)
}

#[async_trait]
impl Source for ListingSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        let entry = tokio::time::timeout_at(deadline, self.entry(subject, deadline)).await;
        entry.unwrap_or(SourceEntry::without_data(SourceStatus::Error))
    }
}
