//! All of it together: what an operation asks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use brownstone_domain::{Bbl, Bin, Clock, Listing, ListingSourceStatus, SourceStatus, Zip};
use time::OffsetDateTime;
use tokio::{sync::Semaphore, time::Instant};

use crate::{
    Area, ListingIndex, ListingKey, Snapshot,
    area::city_zips,
    index::shown,
    scan::{ScanError, ScanReport, Scanner},
    store::{AreaState, ListingStore, ListingStoreError},
};

/// How long a scan is fresh: a day, and what a daily job may be late.
const FRESH: time::Duration = time::Duration::hours(26);

/// Areas that one request may have scanned while it waits.
const LIVE_AREAS: usize = 3;

/// Live scans at a time, of all requests.
const LIVE_AT_ONCE: usize = 4;

/// How long a request waits for live scans.
const LIVE_WITHIN: Duration = Duration::from_secs(8);

/// How long an area that could not be scanned live is left alone.
const LIVE_PAUSE: time::Duration = time::Duration::seconds(60);

/// Which areas a deployment may ask its feed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entitlement(Vec<Zip>);

/// Why a list of areas cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no ZIP of New York City; ZIPs with commas, or all, are expected")]
pub struct NotAnArea(pub String);

impl Entitlement {
    /// Reads ZIPs with commas, or `all`.
    ///
    /// ```
    /// use brownstone_listings::Entitlement;
    /// assert_eq!(Entitlement::parse("10001, 10002").unwrap().zips().len(), 2);
    /// assert!(Entitlement::parse("all").unwrap().zips().len() > 200);
    /// assert!(Entitlement::parse("10701").is_err());
    /// ```
    ///
    /// # Errors
    /// Names the first that is no ZIP of the city.
    pub fn parse(text: &str) -> Result<Self, NotAnArea> {
        if text.trim().eq_ignore_ascii_case("all") {
            return Ok(Self(city_zips()));
        }
        let words = text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty());
        let mut zips = words
            .map(|word| {
                let zip = word.parse().ok();
                zip.filter(|zip| crate::area::is_city_zip(*zip))
                    .ok_or_else(|| NotAnArea(word.chars().take(20).collect()))
            })
            .collect::<Result<Vec<Zip>, _>>()?;
        zips.sort_unstable();
        zips.dedup();
        Ok(Self(zips))
    }

    /// The areas, rising.
    pub fn zips(&self) -> &[Zip] {
        &self.0
    }

    /// Whether an area is among them.
    pub fn has(&self, zip: Zip) -> bool {
        self.0.binary_search(&zip).is_ok()
    }
}

/// The listings of a deployment: its feed, its areas, its index. Without a feed there are areas without entitlement only.
pub struct Listings {
    index: Arc<ListingIndex>,
    store: Arc<dyn ListingStore>,
    clock: Arc<dyn Clock>,
    source: Option<(Scanner, Entitlement)>,
    areas: ArcSwap<BTreeMap<Zip, AreaState>>,
    live: Semaphore,
    /// Areas that were scanned live in vain, and when.
    failed: Mutex<BTreeMap<Zip, OffsetDateTime>>,
    /// One scan of an area at a time.
    turns: Mutex<BTreeMap<Zip, Arc<tokio::sync::Mutex<()>>>>,
}

impl Listings {
    /// Puts the parts together; `source` is the scanner of the configured feed and the areas it may be asked for.
    pub fn new(
        index: Arc<ListingIndex>,
        store: Arc<dyn ListingStore>,
        clock: Arc<dyn Clock>,
        source: Option<(Scanner, Entitlement)>,
    ) -> Self {
        Self {
            index,
            store,
            clock,
            source,
            areas: ArcSwap::default(),
            live: Semaphore::new(LIVE_AT_ONCE),
            failed: Mutex::default(),
            turns: Mutex::default(),
        }
    }

    /// The index.
    pub fn index(&self) -> &ListingIndex {
        &self.index
    }

    /// Storage.
    pub fn store(&self) -> &Arc<dyn ListingStore> {
        &self.store
    }

    /// The feed's name; `None` where none is configured.
    pub fn source_name(&self) -> Option<&'static str> {
        Some(self.source.as_ref()?.0.feed_name())
    }

    /// Values that could not be and were dropped, by field, since the process started; for metrics.
    pub fn dropped(&self) -> crate::Dropped {
        self.source
            .as_ref()
            .map(|(scanner, _)| scanner.dropped())
            .unwrap_or_default()
    }

    /// The areas the feed may be asked for.
    pub fn entitled(&self) -> &[Zip] {
        self.source.as_ref().map_or(&[], |(_, areas)| areas.zips())
    }

    /// Whether the feed may be asked for an area.
    fn is_entitled_to(&self, zip: Zip) -> bool {
        let source = self.source.as_ref();
        source.is_some_and(|(_, areas)| areas.has(zip))
    }

    /// Whether the feed may be asked for every area of the city.
    pub fn is_entitled_to_all(&self) -> bool {
        // Both are the city's ZIPs alone, none twice.
        self.entitled().len() == city_zips().len()
    }

    /// The areas as storage had them at the last look.
    pub fn areas(&self) -> Arc<BTreeMap<Zip, AreaState>> {
        self.areas.load_full()
    }

    /// Whether the present licence covers a listing: its ZIP, and whose feed it came from.
    fn may_show(&self, listing: &Listing) -> bool {
        let ours = |feed| listing.sources.contains_key(feed);
        listing.zip_code.is_some_and(|zip| self.is_entitled_to(zip))
            && self.source_name().is_some_and(ours)
    }

    /// Takes up what was scanned elsewhere since the last look: by another instance, or by a command. Returns how many
    /// areas were swapped in. What was scanned under a licence that has ended stays in storage, and out of the index.
    ///
    /// # Errors
    /// When storage does not answer; the index stands as it was.
    pub async fn refresh(&self) -> Result<usize, ListingStoreError> {
        let areas = self.store.areas().await?;
        let have = self.index.versions();
        let mut snapshots = Vec::new();
        for area in areas.iter().filter(|area| self.is_entitled_to(area.zip)) {
            if have
                .get(&area.zip)
                .is_none_or(|version| *version < area.version)
            {
                let known = self.store.known(area.zip).await?;
                let rows: Vec<_> = known
                    .into_iter()
                    .map(|known| known.row)
                    .filter(|row| self.may_show(&row.listing))
                    .collect();
                snapshots.push(Snapshot::new(area.zip, area.version, &rows));
            }
        }
        let count = snapshots.len();
        self.index.put(snapshots);
        self.note(areas);
        Ok(count)
    }

    fn note(&self, areas: Vec<AreaState>) {
        self.areas.store(Arc::new(
            areas.into_iter().map(|area| (area.zip, area)).collect(),
        ));
    }

    /// Scans an area now.
    ///
    /// # Errors
    /// When the scan was not completed. `None` where there is no feed, or the area is none of its.
    pub async fn scan(&self, zip: Zip, within: Duration) -> Option<Result<ScanReport, ScanError>> {
        let (scanner, entitled) = self.source.as_ref()?;
        if !entitled.has(zip) {
            return None;
        }
        let turn = self.turn(zip);
        let _turn = turn.lock().await;
        let outcome = scanner.scan(zip, within).await;
        if outcome.is_ok() {
            let now = self.clock.now();
            self.areas.rcu(|areas| {
                let mut areas = BTreeMap::clone(areas);
                let area = areas.entry(zip).or_insert(AreaState {
                    zip,
                    version: 0,
                    first_snapshot_at: Some(now),
                    last_complete_scan_at: None,
                });
                area.last_complete_scan_at = Some(now);
                areas
            });
        }
        Some(outcome)
    }

    fn turn(&self, zip: Zip) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(zip).or_default())
    }

    /// Scans an area that never was, or waits for the scan that is under way. Whether it has been scanned whole then.
    pub async fn scanned_once(&self, zip: Zip, deadline: Instant) -> bool {
        let is_in = || self.index.count(zip).is_some();
        if is_in() {
            return true;
        }
        let work = async {
            let turn = self.turn(zip);
            drop(turn.lock().await);
            if !is_in() {
                let within = deadline.saturating_duration_since(Instant::now());
                if let Some(Err(error)) = self.scan(zip, within).await {
                    tracing::warn!(%zip, %error, "an area could not be scanned");
                }
            }
        };
        // What was staged by then is gone on with by the next scan.
        let _ = tokio::time::timeout_at(deadline, work).await;
        is_in()
    }

    /// Whether an area was scanned whole within a day.
    pub fn is_fresh(&self, zip: Zip) -> bool {
        let now = self.clock.now();
        let areas = self.areas.load();
        let last = areas.get(&zip).and_then(|area| area.last_complete_scan_at);
        last.is_some_and(|last| now - last <= FRESH)
    }

    /// Makes an area ready for a question, and says how: areas that were not scanned within a day are scanned now, a few
    /// of them and for a few seconds.
    ///
    /// One key for each kind of call, with its worst value. Where the caller named one place, it has no listing only where
    /// none of its ZIPs has one.
    pub async fn ready(&self, area: &Area, deadline: Instant) -> ListingSourceStatus {
        let now = self.clock.now();
        let mut kinds: BTreeMap<&'static str, Vec<SourceStatus>> = BTreeMap::new();
        let mut note = |kind, status| kinds.entry(kind).or_default().push(status);
        let (entitled, others): (Vec<Zip>, Vec<Zip>) =
            area.zips.iter().partition(|zip| self.is_entitled_to(**zip));
        for _ in others {
            note(NOT_WARM, SourceStatus::Gated);
        }
        let stale: Vec<Zip> = entitled
            .iter()
            .copied()
            .filter(|zip| !self.is_fresh(*zip))
            .collect();
        let live = self.scan_live(&stale, now, deadline).await;
        for zip in entitled {
            let count = self.index.count(zip);
            let found = match count {
                Some(0) => SourceStatus::NotFound,
                _ => SourceStatus::Ok,
            };
            match (live.get(&zip), count) {
                (Some(true), _) => note(self.source_name().unwrap_or(NOT_WARM), found),
                (Some(false), _) => {
                    note(self.source_name().unwrap_or(NOT_WARM), SourceStatus::Error);
                }
                // What is known is shown, but it is no answer of today.
                (None, Some(_)) if stale.contains(&zip) => note(CACHED, SourceStatus::Error),
                (None, Some(_)) => note(CACHED, found),
                // Never scanned, and no live call can be made just now.
                (None, None) => note(NOT_WARM, SourceStatus::Error),
            }
        }
        kinds
            .into_iter()
            .map(|(kind, statuses)| (kind.to_owned(), worst(&statuses, area.one_place)))
            .collect()
    }

    /// Scans some stale areas; by area whether it worked. Those that are not in it were left as they are.
    async fn scan_live(
        &self,
        stale: &[Zip],
        now: OffsetDateTime,
        deadline: Instant,
    ) -> BTreeMap<Zip, bool> {
        let due: Vec<Zip> = {
            let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            let rested = |zip: &&Zip| failed.get(zip).is_none_or(|at| now - *at >= LIVE_PAUSE);
            stale
                .iter()
                .filter(rested)
                .take(LIVE_AREAS)
                .copied()
                .collect()
        };
        let deadline = deadline.min(Instant::now() + LIVE_WITHIN);
        let scans = due.into_iter().map(|zip| async move {
            let work = async {
                let _place = self.live.acquire().await.ok()?;
                let within = deadline.saturating_duration_since(Instant::now());
                self.scan(zip, within).await
            };
            let worked = match tokio::time::timeout_at(deadline, work).await {
                Ok(Some(Ok(_))) => true,
                Ok(Some(Err(error))) => {
                    tracing::warn!(%zip, %error, "an area could not be scanned");
                    false
                }
                Ok(None) | Err(_) => false,
            };
            if !worked {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.insert(zip, now);
            }
            (zip, worked)
        });
        futures::future::join_all(scans).await.into_iter().collect()
    }

    /// Whole listings, in the order of their keys here, as they are shown today. One that is gone is left out.
    ///
    /// # Errors
    /// When storage does not answer.
    pub async fn load(&self, keys: &[ListingKey]) -> Result<Vec<Listing>, ListingStoreError> {
        if keys.is_empty() {
            return Ok(vec![]);
        }
        let today = self.clock.now().date();
        let mut by_key: BTreeMap<ListingKey, Listing> = self
            .store
            .listings(keys)
            .await?
            .into_iter()
            .map(|known| (known.row.key(), known.row.listing))
            .collect();
        let found = keys.iter().filter_map(|key| by_key.remove(key));
        Ok(found.map(|listing| shown(listing, today)).collect())
    }

    /// Every listing in a building that the licence covers, past ones too, newest first.
    ///
    /// # Errors
    /// When storage does not answer.
    pub async fn history(
        &self,
        bbl: Option<Bbl>,
        bin: Option<Bin>,
    ) -> Result<Vec<Listing>, ListingStoreError> {
        let today = self.clock.now().date();
        let known = self.store.in_building(bbl, bin).await?;
        let mut listings: Vec<Listing> = known
            .into_iter()
            .filter(|known| self.may_show(&known.row.listing))
            .map(|known| shown(known.row.listing, today))
            .collect();
        listings.sort_by(|a, b| {
            let day = |listing: &Listing| crate::index::listed_on(listing);
            day(b)
                .cmp(&day(a))
                .then_with(|| a.listing_key.cmp(&b.listing_key))
        });
        Ok(listings)
    }
}

/// The key of an answer from the index.
pub const CACHED: &str = "cached";

/// The key of an area without entitlement, or never scanned.
pub const NOT_WARM: &str = "not_warm";

/// The worst of several: `error`, `gated`, `not_found`, `ok`. In one place, only nothing at all is `not_found`.
fn worst(statuses: &[SourceStatus], one_place: bool) -> SourceStatus {
    let has = |status| statuses.contains(&status);
    if has(SourceStatus::Error) {
        SourceStatus::Error
    } else if has(SourceStatus::Gated) {
        SourceStatus::Gated
    } else if has(SourceStatus::NotFound) && !(one_place && has(SourceStatus::Ok)) {
        SourceStatus::NotFound
    } else {
        SourceStatus::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_areas_wins() {
        use SourceStatus::{Error, Gated, NotFound, Ok};
        for (statuses, list, place) in [
            (vec![Ok, Error, Gated], Error, Error),
            (vec![Ok, NotFound, Gated], Gated, Gated),
            (vec![Ok, NotFound], NotFound, Ok),
            (vec![NotFound, NotFound], NotFound, NotFound),
            (vec![Ok], Ok, Ok),
        ] {
            assert_eq!(worst(&statuses, false), list, "{statuses:?}");
            assert_eq!(worst(&statuses, true), place, "{statuses:?}");
        }
    }
}
