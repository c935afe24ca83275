//! The storage trait in memory, for tests.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use brownstone_domain::{Bbl, Bin, ListingUpdate, Zip};
use time::OffsetDateTime;

use crate::{
    ListingKey, Row, conceal,
    store::{
        AreaState, EventHead, EventQuery, Finish, Known, ListingStore, ListingStoreError, OpenScan,
    },
};

/// Listings, scans and events in memory.
#[derive(Debug, Default)]
pub struct MemoryListings(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    areas: BTreeMap<Zip, AreaState>,
    open: BTreeMap<Zip, (String, OpenScan, Vec<Row>)>,
    listings: BTreeMap<ListingKey, (Zip, Known)>,
    events: BTreeMap<u64, (Zip, ListingUpdate)>,
    last: u64,
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn open(
        &mut self,
        zip: Zip,
        scan: u64,
    ) -> Result<&mut (String, OpenScan, Vec<Row>), ListingStoreError> {
        self.open
            .get_mut(&zip)
            .filter(|(_, open, _)| open.id == scan)
            .ok_or(ListingStoreError::ScanLost)
    }
}

impl MemoryListings {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ListingStore for MemoryListings {
    async fn areas(&self) -> Result<Vec<AreaState>, ListingStoreError> {
        Ok(self.state().areas.values().cloned().collect())
    }

    async fn open_scan(
        &self,
        zip: Zip,
        feed: &str,
        now: OffsetDateTime,
        stale_before: OffsetDateTime,
    ) -> Result<OpenScan, ListingStoreError> {
        let mut state = self.state();
        if let Some((of, open, _)) = state.open.get(&zip)
            && of == feed
            && open.started_at > stale_before
        {
            return Ok(open.clone());
        }
        let open = OpenScan {
            id: state.next(),
            started_at: now,
            cursor: None,
            pages: 0,
        };
        state
            .open
            .insert(zip, (feed.to_owned(), open.clone(), vec![]));
        Ok(open)
    }

    async fn stage(
        &self,
        zip: Zip,
        scan: u64,
        rows: &[Row],
        next: Option<&str>,
    ) -> Result<(), ListingStoreError> {
        let mut state = self.state();
        let (_, open, staged) = state.open(zip, scan)?;
        open.cursor = next.map(str::to_owned);
        open.pages += 1;
        staged.extend_from_slice(rows);
        Ok(())
    }

    async fn staged(&self, zip: Zip, scan: u64) -> Result<Vec<Row>, ListingStoreError> {
        let mut state = self.state();
        let (_, _, staged) = state.open(zip, scan)?;
        Ok(staged.clone())
    }

    async fn known(&self, zip: Zip) -> Result<Vec<Known>, ListingStoreError> {
        let state = self.state();
        let all = state.listings.values().filter(|(of, _)| *of == zip);
        Ok(all.map(|(_, known)| known.clone()).collect())
    }

    async fn finish_scan(
        &self,
        zip: Zip,
        scan: u64,
        at: OffsetDateTime,
        finish: &Finish,
    ) -> Result<u64, ListingStoreError> {
        let mut state = self.state();
        state.open(zip, scan)?;
        state.open.remove(&zip);
        for known in &finish.known {
            state.listings.insert(known.row.key(), (zip, known.clone()));
        }
        for update in &finish.events {
            let event_id = state.next();
            let update = ListingUpdate {
                event_id,
                ..update.clone()
            };
            state.events.insert(event_id, (zip, update));
        }
        let key_of = |update: &ListingUpdate| update.listing.listing_key.parse().ok();
        for key in &finish.withheld {
            state.listings.remove(key);
            state
                .events
                .retain(|_, (_, update)| key_of(update) != Some(*key));
        }
        for (_, update) in state.events.values_mut() {
            if key_of(update).is_some_and(|key| finish.concealed.contains(&key)) {
                conceal(&mut update.listing);
            }
        }
        let version = state.next();
        let first = state
            .areas
            .get(&zip)
            .and_then(|area| area.first_snapshot_at);
        state.areas.insert(
            zip,
            AreaState {
                zip,
                version,
                first_snapshot_at: first.or(Some(at)),
                last_complete_scan_at: Some(at),
            },
        );
        Ok(version)
    }

    async fn listings(&self, keys: &[ListingKey]) -> Result<Vec<Known>, ListingStoreError> {
        let state = self.state();
        let found = keys.iter().filter_map(|key| state.listings.get(key));
        Ok(found.map(|(_, known)| known.clone()).collect())
    }

    async fn in_building(
        &self,
        bbl: Option<Bbl>,
        bin: Option<Bin>,
    ) -> Result<Vec<Known>, ListingStoreError> {
        let state = self.state();
        let here = |known: &&Known| {
            let listing = &known.row.listing;
            match (bin, listing.bin) {
                (Some(bin), Some(other)) => bin == other,
                _ => bbl.is_some() && listing.bbl == bbl,
            }
        };
        let all = state.listings.values().map(|(_, known)| known);
        Ok(all.filter(here).cloned().collect())
    }

    async fn event_heads(
        &self,
        query: &EventQuery,
        limit: usize,
    ) -> Result<Vec<EventHead>, ListingStoreError> {
        let state = self.state();
        let wanted = |(zip, update): &&(Zip, ListingUpdate)| {
            query.zips.contains(zip)
                && update.listing.listing_type == query.listing_type
                && update.detected_at >= query.from
                && update.detected_at < query.to
                && update.event_id > query.after
        };
        let found = state.events.values().filter(wanted).take(limit);
        Ok(found.map(|(_, update)| EventHead::of(update)).collect())
    }

    async fn events(&self, ids: &[u64]) -> Result<Vec<ListingUpdate>, ListingStoreError> {
        let state = self.state();
        let wanted = |id: &&u64| ids.contains(id);
        let found = state.events.iter().filter(|(id, _)| wanted(id));
        Ok(found.map(|(_, (_, update))| update.clone()).collect())
    }
}
