//! The scan of one area: read whole, matched to buildings, compared with what was known, swapped in only when complete.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use brownstone_address::geocoder::{Geocoder, ResolveError, Resolved};
use brownstone_domain::{Clock, Listing, Zip};
use futures::future::join_all;
use tokio::time::Instant;

use crate::{
    ListingIndex, Row, Snapshot,
    area::{borough_of, neighborhood_of, post_office_of},
    clean::Dropped,
    diff::{difference, without_duplicates},
    feed::{FeedError, ListingFeed},
    store::{Known, ListingStore, ListingStoreError},
};

/// How long a scan that was broken off may be gone on with. After that the feed has moved on.
const RESUMABLE: time::Duration = time::Duration::hours(6);

/// Pages of one area at most: a feed that never ends is not read for ever.
const MAX_PAGES: u64 = 2_000;

/// Addresses that are resolved at a time.
const AT_ONCE: usize = 8;

/// Why an area was not scanned. The old snapshot stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The feed gave no page. What was read so far is kept, and gone on with by the next scan.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] ListingStoreError),
    /// The feed leads in circles, or has no end.
    #[error("the feed has no end: {0} pages")]
    Endless(u64),
}

/// What a complete scan came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanReport {
    /// Listings of the feed.
    pub listings: usize,
    /// Those that offer a home twice.
    pub duplicates: u64,
    /// Those without a building.
    pub unplaced: usize,
    /// Events.
    pub events: usize,
    /// Values that could not be, by field; of the pages that this process read.
    pub dropped: Dropped,
    /// The area's new version.
    pub version: u64,
}

/// Scans areas. It holds no state of its own but counters.
pub struct Scanner {
    feed: Arc<dyn ListingFeed>,
    store: Arc<dyn ListingStore>,
    geocoder: Arc<dyn Geocoder>,
    index: Arc<ListingIndex>,
    clock: Arc<dyn Clock>,
    dropped: Mutex<Dropped>,
}

impl Scanner {
    /// Puts the parts together.
    pub fn new(
        feed: Arc<dyn ListingFeed>,
        store: Arc<dyn ListingStore>,
        geocoder: Arc<dyn Geocoder>,
        index: Arc<ListingIndex>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            feed,
            store,
            geocoder,
            index,
            clock,
            dropped: Mutex::default(),
        }
    }

    /// The feed's name.
    pub fn feed_name(&self) -> &'static str {
        self.feed.name()
    }

    /// Values that could not be and were dropped, by field, since the process started; for metrics.
    pub fn dropped(&self) -> Dropped {
        self.dropped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Scans an area whole, from where a scan before was broken off. `within` bounds each page.
    ///
    /// # Errors
    /// When the scan was not completed: nothing that anybody sees has changed.
    pub async fn scan(&self, zip: Zip, within: Duration) -> Result<ScanReport, ScanError> {
        let now = self.clock.now();
        let scan = self
            .store
            .open_scan(zip, self.feed.name(), now, now - RESUMABLE)
            .await?;
        let mut report = ScanReport::default();
        let mut cursor = scan.cursor.clone();
        // A scan with staged pages and no cursor had read its last page.
        let mut more = cursor.is_some() || scan.pages == 0;
        let mut pages = scan.pages;
        while more {
            if pages >= MAX_PAGES {
                return Err(ScanError::Endless(pages));
            }
            let deadline = Instant::now() + within;
            let page = self
                .feed
                .page(zip, cursor.as_deref(), self.clock.now(), deadline)
                .await?;
            if page.next.is_some() && page.next == cursor {
                return Err(ScanError::Endless(pages));
            }
            self.store
                .stage(zip, scan.id, &page.rows, page.next.as_deref())
                .await?;
            self.count(&page.dropped, &mut report.dropped);
            cursor = page.next;
            more = cursor.is_some();
            pages += 1;
        }
        let known = self.store.known(zip).await?;
        let baseline = !self
            .store
            .areas()
            .await?
            .iter()
            .any(|area| area.zip == zip && area.first_snapshot_at.is_some());
        let staged = self.store.staged(zip, scan.id).await?;
        let mut rows: Vec<Row> = staged
            .into_iter()
            // Feeds have their own ideas of a ZIP; what they say of the listing counts.
            .filter(|row| row.listing.zip_code.is_none_or(|of| of == zip))
            .collect();
        report.listings = rows.len();
        self.place(zip, &mut rows, &known).await;
        report.unplaced = rows.iter().filter(|row| row.listing.bbl.is_none()).count();
        let keys = known
            .iter()
            .map(|known| known.row.key())
            .collect::<BTreeSet<_>>();
        let (rows, duplicates) = without_duplicates(rows, &keys);
        report.duplicates = duplicates;
        let at = self.clock.now();
        let finish = difference(known, rows, baseline, at);
        report.events = finish.events.len();
        report.version = self.store.finish_scan(zip, scan.id, at, &finish).await?;
        let rows: Vec<Row> = finish.known.into_iter().map(|known| known.row).collect();
        self.index.put([Snapshot::new(zip, report.version, &rows)]);
        tracing::debug!(%zip, ?report, "an area was scanned");
        Ok(report)
    }

    fn count(&self, page: &Dropped, report: &mut Dropped) {
        let mut all = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        for (field, count) in page {
            *report.entry(field).or_insert(0) += count;
            *all.entry(field).or_insert(0) += count;
        }
    }

    /// The building of an address; `None` where there is none, or nobody can say just now.
    async fn resolve(&self, text: String) -> Option<(String, Resolved)> {
        match self.geocoder.resolve(&text).await {
            Ok(resolved) => Some((text, resolved)),
            Err(ResolveError::Unavailable(why)) => {
                // It is asked again by the next scan.
                tracing::warn!(%why, "a listing's address could not be looked up");
                None
            }
            Err(_) => None,
        }
    }

    /// Finds each listing's building. An address that was resolved before is not asked again.
    async fn place(&self, zip: Zip, rows: &mut [Row], known: &[Known]) {
        let before: BTreeMap<_, _> = known
            .iter()
            .filter(|known| known.row.listing.bbl.is_some())
            .map(|known| (known.row.key(), &known.row.listing))
            .collect();
        let mut asked: BTreeSet<String> = BTreeSet::new();
        for row in rows.iter_mut() {
            let key = row.key();
            let listing = &mut row.listing;
            listing.zip_code = Some(zip);
            if let Some(old) = before.get(&key).filter(|old| same_place(old, listing)) {
                copy_place(listing, old);
            } else if let Some(text) = question(listing, zip) {
                asked.insert(text);
            }
            if listing.borough.is_none() {
                listing.borough = borough_of(zip).map(|borough| borough.name().to_owned());
            }
            if listing.neighborhood.is_none() {
                listing.neighborhood = neighborhood_of(zip).map(str::to_owned);
            }
        }
        let texts: Vec<String> = asked.into_iter().collect();
        let mut answers: HashMap<String, Resolved> = HashMap::new();
        for some in texts.chunks(AT_ONCE) {
            let asked = some.iter().map(|text| self.resolve(text.clone()));
            answers.extend(join_all(asked).await.into_iter().flatten());
        }
        for row in rows {
            let listing = &mut row.listing;
            if listing.bbl.is_none()
                && let Some(text) = question(listing, zip)
                && let Some(resolved) = answers.get(&text)
            {
                settle(listing, resolved);
            }
        }
    }
}

/// What the geocoder is asked for a listing; `None` where it has no address.
fn question(listing: &Listing, zip: Zip) -> Option<String> {
    let city = post_office_of(zip).unwrap_or("New York");
    let line = match (&listing.house_number, &listing.street) {
        (Some(number), Some(street)) => format!("{number} {street}"),
        _ => listing.address.clone()?,
    };
    if line.contains(&zip.to_string()) {
        return Some(line);
    }
    Some(format!("{line}, {city}, NY {zip}"))
}

fn same_place(one: &Listing, other: &Listing) -> bool {
    one.address == other.address
        && other
            .house_number
            .as_ref()
            .is_none_or(|number| one.house_number.as_ref() == Some(number))
        && other
            .street
            .as_ref()
            .is_none_or(|street| one.street.as_ref() == Some(street))
}

fn copy_place(listing: &mut Listing, old: &Listing) {
    listing.bbl = old.bbl;
    listing.bin = old.bin;
    listing.borough.clone_from(&old.borough);
    listing.neighborhood.clone_from(&old.neighborhood);
    listing.latitude = listing.latitude.or(old.latitude);
    listing.longitude = listing.longitude.or(old.longitude);
    for (field, old) in [
        (&mut listing.house_number, &old.house_number),
        (&mut listing.street, &old.street),
        (&mut listing.unit, &old.unit),
    ] {
        if field.is_none() {
            field.clone_from(old);
        }
    }
}

fn settle(listing: &mut Listing, resolved: &Resolved) {
    let building = &resolved.building;
    listing.bbl = building.bbl;
    listing.bin = building.bin;
    listing.borough = Some(building.borough.name().to_owned());
    if let Some(neighborhood) = &building.neighborhood {
        listing.neighborhood = Some(neighborhood.clone());
    }
    if listing.latitude.is_none() || listing.longitude.is_none() {
        listing.latitude = building.latitude;
        listing.longitude = building.longitude;
    }
    for (field, found) in [
        (&mut listing.house_number, &building.house_number),
        (&mut listing.street, &building.street),
        (&mut listing.unit, &resolved.unit),
    ] {
        if field.is_none() {
            field.clone_from(found);
        }
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
