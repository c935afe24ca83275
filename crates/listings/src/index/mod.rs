//! The index: for each area an immutable snapshot, and for each borough its listings in every order. Readers take no lock.

mod entry;
mod region;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use brownstone_domain::{
    Bbl, Bin, Borough, Listing, ListingFilter, ListingSort, ListingStatus, Zip,
};
use time::Date;

pub use entry::{ListingView, days_on_market, last_open_house, price_reduced};
pub(crate) use entry::{left_on, listed_on};

use crate::{ListingKey, Row, area};
use entry::{Entry, Ready};
use region::Region;

/// Miles in a degree of latitude, and of longitude at 40.7 degrees north.
const MILES_PER_DEGREE: (f64, f64) = (69.05, 52.45);

/// The listings of one area as of one scan.
#[derive(Debug)]
pub struct Snapshot {
    zip: Zip,
    /// The version of the area it was made from.
    version: u64,
    /// By key.
    entries: Box<[Entry]>,
    /// South, north, west, east of what has coordinates.
    bounds: Option<[f32; 4]>,
}

impl Snapshot {
    /// A snapshot of the listings that a search can find.
    pub fn new(zip: Zip, version: u64, rows: &[Row]) -> Self {
        let mut entries: Vec<Entry> = rows
            .iter()
            .filter(|row| ListingStatus::SEARCHABLE.contains(&row.listing.status))
            .map(Entry::of)
            .collect();
        entries.sort_unstable_by_key(|entry| entry.key);
        let placed = entries.iter().filter(|entry| !entry.latitude.is_nan());
        let bounds = placed.fold(None, |bounds: Option<[f32; 4]>, entry| {
            let (y, x) = (entry.latitude, entry.longitude);
            let [south, north, west, east] = bounds.unwrap_or([y, y, x, x]);
            Some([south.min(y), north.max(y), west.min(x), east.max(x)])
        });
        Self {
            zip,
            version,
            entries: entries.into_boxed_slice(),
            bounds,
        }
    }

    /// The version of the area it was made from.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// How many listings.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A page of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The listings, in order.
    pub keys: Vec<ListingKey>,
    /// Whether there are more behind them.
    pub has_more: bool,
}

/// Everything at one moment.
#[derive(Debug, Default)]
struct State {
    areas: BTreeMap<Zip, Arc<Snapshot>>,
    regions: [Arc<Region>; 5],
}

/// All areas. Cheap to share; a search sees one moment.
#[derive(Debug, Default)]
pub struct ListingIndex {
    state: ArcSwap<State>,
    /// Held while a new state is made.
    writing: Mutex<()>,
}

impl ListingIndex {
    /// Swaps areas in, all at once. A snapshot that is older than what stands is left out.
    pub fn put(&self, snapshots: impl IntoIterator<Item = Snapshot>) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.state.load_full();
        let mut areas = now.areas.clone();
        let mut touched: Vec<Borough> = Vec::new();
        for snapshot in snapshots {
            let zip = snapshot.zip;
            if areas
                .get(&zip)
                .is_some_and(|old| old.version > snapshot.version)
            {
                continue;
            }
            areas.insert(zip, Arc::new(snapshot));
            touched.extend(area::boroughs_of(zip));
        }
        let mut regions = now.regions.clone();
        for (borough, region) in Borough::ALL.into_iter().zip(&mut regions) {
            if touched.contains(&borough) {
                *region = Arc::new(Region::new(borough, &areas));
            }
        }
        self.state.store(Arc::new(State { areas, regions }));
    }

    /// The version of each area that is in.
    pub fn versions(&self) -> BTreeMap<Zip, u64> {
        let state = self.state.load();
        let areas = state.areas.iter();
        areas
            .map(|(zip, snapshot)| (*zip, snapshot.version))
            .collect()
    }

    /// How many listings an area has; `None` for one that is not in.
    pub fn count(&self, zip: Zip) -> Option<usize> {
        self.state
            .load()
            .areas
            .get(&zip)
            .map(|snapshot| snapshot.len())
    }

    /// The page of a search at `offset`. Ties are broken by key, so that pages neither overlap nor skip while the areas
    /// stay as they are.
    pub fn search(
        &self,
        zips: &[Zip],
        filter: &ListingFilter,
        sort: ListingSort,
        limit: usize,
        offset: u64,
        today: Date,
    ) -> Found {
        let state = self.state.load();
        let ready = Ready::new(filter, today);
        // One more than the page, to know whether another exists.
        let Some(wanted) = usize::try_from(offset)
            .ok()
            .and_then(|offset| offset.checked_add(limit)?.checked_add(1))
        else {
            return Found::default();
        };
        let region = state.regions.iter().find(|region| region.covers(zips));
        let mut ordered = match region.and_then(|region| region.ordered(&ready, sort, wanted)) {
            Some(keys) => keys,
            None => {
                let areas = zips.iter().filter_map(|zip| state.areas.get(zip));
                scan(areas.map(Arc::as_ref), &ready, sort, wanted)
            }
        };
        let has_more = ordered.len() == wanted;
        ordered.truncate(wanted - 1);
        let skip = ordered.len().min(wanted - 1 - limit);
        Found {
            keys: ordered.split_off(skip),
            has_more,
        }
    }

    /// Active rentals, of those that `filter` takes, within `miles` of a point, with their distance in miles; nearest
    /// first, then by key.
    pub fn rentals_near(
        &self,
        latitude: f64,
        longitude: f64,
        miles: f64,
        filter: &ListingFilter,
        today: Date,
    ) -> Vec<(ListingView, f64)> {
        let state = self.state.load();
        let ready = Ready::new(filter, today);
        let (dy, dx) = (miles / MILES_PER_DEGREE.0, miles / MILES_PER_DEGREE.1);
        let near = |bounds: &[f32; 4]| {
            let [south, north, west, east] = bounds.map(f64::from);
            latitude >= south - dy
                && latitude <= north + dy
                && longitude >= west - dx
                && longitude <= east + dx
        };
        let mut found: Vec<(ListingView, f64)> = state
            .areas
            .values()
            .filter(|snapshot| snapshot.bounds.as_ref().is_some_and(near))
            .flat_map(|snapshot| snapshot.entries.iter())
            .filter(|entry| ready.takes(entry))
            .filter_map(|entry| {
                let y = (f64::from(entry.latitude) - latitude) * MILES_PER_DEGREE.0;
                let x = (f64::from(entry.longitude) - longitude) * MILES_PER_DEGREE.1;
                let distance = x.hypot(y);
                // Without coordinates the distance is no number, and within nothing.
                (distance <= miles).then(|| (entry.view(), distance))
            })
            .collect();
        found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.key.cmp(&b.0.key)));
        found
    }

    /// Listings, of those that `filter` takes, in a building, or on a lot where the building is not known. By key.
    pub fn in_building(
        &self,
        bbl: Option<Bbl>,
        bin: Option<Bin>,
        filter: &ListingFilter,
        today: Date,
    ) -> Vec<ListingView> {
        let state = self.state.load();
        let ready = Ready::new(filter, today);
        let here = |entry: &&Entry| match (bin, entry.bin) {
            (Some(bin), Some(other)) => bin == other,
            _ => bbl.is_some() && bbl == entry.bbl,
        };
        let all = state
            .areas
            .values()
            .flat_map(|snapshot| snapshot.entries.iter());
        let mut found: Vec<ListingView> = all
            .filter(here)
            .filter(|entry| ready.takes(entry))
            .map(Entry::view)
            .collect();
        found.sort_by_key(|view| view.key);
        found
    }

    /// Bytes that the index holds for its listings, orders included.
    pub fn resident_bytes(&self) -> usize {
        let state = self.state.load();
        let entries: usize = state.areas.values().map(|snapshot| snapshot.len()).sum();
        let orders: usize = state
            .regions
            .iter()
            .map(|region| region.resident_bytes())
            .sum();
        entries * size_of::<Entry>() + orders
    }
}

/// The first `wanted` of all that the filter takes, for areas that no order covers.
fn scan<'a>(
    areas: impl Iterator<Item = &'a Snapshot>,
    ready: &Ready,
    sort: ListingSort,
    wanted: usize,
) -> Vec<ListingKey> {
    let mut found: Vec<(u64, u64)> = areas
        .flat_map(|snapshot| snapshot.entries.iter())
        .filter(|entry| ready.takes(entry))
        .map(|entry| (entry.rank(sort, ready.today()), entry.key))
        .collect();
    if found.len() > wanted {
        found.select_nth_unstable(wanted - 1);
        found.truncate(wanted);
    }
    found.sort_unstable();
    found.into_iter().map(|(_, key)| ListingKey(key)).collect()
}

/// A listing as an answer shows it on `today`.
pub fn shown(mut listing: Listing, today: Date) -> Listing {
    listing.days_on_market = days_on_market(&listing, today);
    listing
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
