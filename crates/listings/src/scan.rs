//! The scan of one area: read whole, matched to buildings, compared with what was known, swapped in only when complete.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use brownstone_address::geocoder::{Geocoder, ResolveError, Resolved};
use brownstone_domain::{Clock, Listing, ListingType, Zip};
use futures::future::join_all;
use tokio::time::Instant;

use crate::{
    Display, ListingIndex, ListingKey, Row, Snapshot,
    area::{borough_of, neighborhood_of, post_office_of},
    clean::Dropped,
    diff::{difference, without_duplicates},
    feed::{FeedError, ListingFeed},
    store::{Finish, Known, ListingStore, ListingStoreError, OpenScan},
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
    /// Those that may not be shown, by the word of who offers them; not among the listings.
    pub withheld: usize,
    /// Those of which all but the address may be shown.
    pub concealed: usize,
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
        let mut report = ScanReport::default();
        let scan = self.read(zip, within, &mut report).await?;
        let mut known = self.store.known(zip).await?;
        let before = known.len();
        // Of another feed's listings this one says nothing, and the first scan by it is a baseline of its own.
        known.retain(|known| {
            let sources = &known.row.listing.sources;
            sources.contains_key(self.feed.name())
        });
        let changed_feed = known.is_empty() && before > 0;
        let scanned = self
            .store
            .areas()
            .await?
            .iter()
            .any(|area| area.zip == zip && area.first_snapshot_at.is_some());
        let baseline = changed_feed || !scanned;
        let staged = self.store.staged(zip, scan.id).await?;
        let (withheld, staged, count) = self.without_withheld(staged);
        report.withheld = count;
        let mut rows: Vec<Row> = staged
            .into_iter()
            // Feeds have their own ideas of a ZIP; what they say of the listing counts.
            .filter(|row| row.listing.zip_code.is_none_or(|of| of == zip))
            .collect();
        report.listings = rows.len();
        // Without a word: that it left the market would tell of it.
        known.retain(|known| !withheld.contains(&known.row.key()));
        let concealed: Vec<ListingKey> = rows
            .iter()
            .filter(|row| row.display == Display::WithoutAddress)
            .map(Row::key)
            .collect();
        report.concealed = concealed.len();
        self.place(zip, &mut rows, &known).await;
        report.unplaced = rows.iter().filter(|row| row.listing.bbl.is_none()).count();
        let keys = known
            .iter()
            .map(|known| known.row.key())
            .collect::<BTreeSet<_>>();
        let (rows, duplicates) = without_duplicates(rows, &keys);
        report.duplicates = duplicates;
        let at = self.clock.now();
        let finish = Finish {
            withheld: withheld.into_iter().collect(),
            concealed,
            ..difference(known, rows, baseline, at)
        };
        report.events = finish.events.len();
        report.version = self.store.finish_scan(zip, scan.id, at, &finish).await?;
        let rows: Vec<Row> = finish.known.into_iter().map(|known| known.row).collect();
        self.index.put([Snapshot::new(zip, report.version, &rows)]);
        let values: u64 = report.dropped.values().sum();
        tracing::debug!(
            %zip,
            listings = report.listings,
            duplicates = report.duplicates,
            withheld = report.withheld,
            concealed = report.concealed,
            unplaced = report.unplaced,
            events = report.events,
            dropped = values,
            dropped_by_field = ?report.dropped,
            "an area was scanned"
        );
        Ok(report)
    }

    /// Reads all pages. Where they hold fewer listings than the feed counted, once more from the beginning: what went
    /// meanwhile is not in the new count, and a page that was cut short is whole now.
    async fn read(
        &self,
        zip: Zip,
        within: Duration,
        report: &mut ScanReport,
    ) -> Result<OpenScan, ScanError> {
        let now = self.clock.now();
        let mut scan = self
            .store
            .open_scan(zip, self.feed.name(), now, now - RESUMABLE)
            .await?;
        let mut again = true;
        loop {
            match self.pages(zip, &scan, within, &mut report.dropped).await {
                Ok(()) => return Ok(scan),
                Err(ScanError::Feed(short @ FeedError::Short { .. })) => {
                    // What is staged is of no use: nobody goes on with it.
                    let now = self.clock.now();
                    let none_is_so_new = now + RESUMABLE;
                    scan = self
                        .store
                        .open_scan(zip, self.feed.name(), now, none_is_so_new)
                        .await?;
                    report.dropped.clear();
                    if !again {
                        return Err(short.into());
                    }
                    tracing::warn!(%zip, %short, "an area is read anew");
                    again = false;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Stages the pages from where a scan is to the last.
    async fn pages(
        &self,
        zip: Zip,
        scan: &OpenScan,
        within: Duration,
        dropped: &mut Dropped,
    ) -> Result<(), ScanError> {
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
            self.count(&page.dropped, dropped);
            cursor = page.next;
            more = cursor.is_some();
            pages += 1;
        }
        Ok(())
    }

    /// The keys of listings that may not be shown, the rows of all others, and how many are withheld. A listing is withheld as whatever it is
    /// offered: the key has the listing type in it, which such a row need not say.
    fn without_withheld(&self, staged: Vec<Row>) -> (BTreeSet<ListingKey>, Vec<Row>, usize) {
        let (withheld, others): (Vec<Row>, Vec<Row>) = staged
            .into_iter()
            .partition(|row| row.display == Display::Withheld);
        let feed = self.feed.name();
        let ids = withheld
            .iter()
            .filter_map(|row| Some(row.listing.sources.get(feed)?.listing_id.as_str()));
        let keys: BTreeSet<ListingKey> = ids
            .flat_map(|id| ListingType::ALL.iter().map(move |of| (*of, id)))
            .map(|(of, id)| ListingKey::of(feed, of, id))
            .collect();
        let shown = |row: &Row| !keys.contains(&row.key());
        let others = others.into_iter().filter(shown).collect();
        (keys, others, withheld.len())
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
            let concealed = row.display != Display::Whole;
            let listing = &mut row.listing;
            listing.zip_code = Some(zip);
            if concealed {
                // Where it is stays unknown.
            } else if let Some(old) = before.get(&key).filter(|old| same_place(old, listing)) {
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
            let concealed = row.display != Display::Whole;
            let listing = &mut row.listing;
            if !concealed
                && listing.bbl.is_none()
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
