//! What every implementation of [`ListingStore`] must pass, and a macro that stamps a test for each case.
//!
//! Each case keeps to a ZIP of its own, so that all may share one database.

use brownstone_domain::{
    Dollars, ListingEventType, ListingStatus, ListingType, ListingUpdate, Zip,
};
use time::Duration;

use crate::{
    Row,
    made_up::{NOW, row},
    store::{EventHead, EventQuery, Finish, Known, ListingStore, ListingStoreError},
};

/// Stamps one test for each case. Takes an expression that makes a future of
/// `Option<impl Deref<Target = impl ListingStore>>`; `None` where the back end cannot be had here.
#[macro_export]
macro_rules! listing_store_contract {
    ($store:expr) => {
        $crate::listing_store_contract! {
            @ $store,
            pages_are_staged_in_order_and_an_open_scan_is_gone_on_with
            a_stale_scan_or_another_feeds_is_replaced
            a_finished_scan_is_whole_and_numbered
            a_lost_scan_changes_nothing
            listings_come_back_whole_by_key_and_by_building
            events_are_found_by_area_time_type_and_number
            what_is_withheld_goes_and_what_is_concealed_loses_its_address
        }
    };
    (@ $store:expr, $($case:ident)+) => {
        mod listing_store {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(store) = $store.await {
                        $crate::contract::$case(&*store).await;
                    }
                }
            )+
        }
    };
}

fn zip(text: &str) -> Zip {
    match text.parse() {
        Ok(zip) => zip,
        Err(error) => panic!("{error}"),
    }
}

/// A row in a ZIP, with a number that no other case uses.
fn made(area: &str, number: u64) -> Row {
    let base: u64 = area.parse().unwrap_or_default();
    let mut made = row(base * 1_000 + number);
    made.listing.zip_code = Some(zip(area));
    made
}

fn known(row: Row) -> Known {
    Known {
        last_price: row.listing.price(),
        row,
        missing: 0,
        left_at: None,
    }
}

fn update(row: &Row, event_type: ListingEventType, at: time::OffsetDateTime) -> ListingUpdate {
    ListingUpdate {
        event_id: 0,
        event_type,
        detected_at: at,
        occurred_on: Some("2026-11-27".into()),
        previous_price: Some(Dollars::from_cents(110_000_050)),
        current_price: row.listing.price(),
        price_change: Some(Dollars::from_cents(-10_000_050)),
        price_change_percent: Some(-9.09),
        previous_status: Some(ListingStatus::Active),
        current_status: row.listing.status,
        inferred: false,
        listing: row.listing.clone(),
    }
}

/// Opens a scan of a whole page and ends it.
async fn scanned(
    store: &dyn ListingStore,
    area: &str,
    at: time::OffsetDateTime,
    finish: &Finish,
) -> Result<u64, ListingStoreError> {
    let scan = store.open_scan(zip(area), "reso", at, at).await?;
    store.stage(zip(area), scan.id, &[], None).await?;
    store.finish_scan(zip(area), scan.id, at, finish).await
}

/// A page is kept with its cursor, and whoever opens the scan again goes on there.
pub async fn pages_are_staged_in_order_and_an_open_scan_is_gone_on_with(store: &dyn ListingStore) {
    let area = zip("10001");
    let long_ago = NOW - Duration::hours(6);
    let scan = store.open_scan(area, "reso", NOW, long_ago).await.unwrap();
    assert_eq!(
        (scan.cursor.as_deref(), scan.pages, scan.started_at),
        (None, 0, NOW)
    );
    let rows = [made("10001", 1), made("10001", 2), made("10001", 3)];
    store
        .stage(area, scan.id, &rows[..2], Some("next"))
        .await
        .unwrap();
    let again = store
        .open_scan(
            area,
            "reso",
            NOW + Duration::hours(1),
            long_ago + Duration::hours(1),
        )
        .await
        .unwrap();
    assert_eq!(
        (again.id, again.cursor.as_deref(), again.pages),
        (scan.id, Some("next"), 1)
    );
    assert_eq!(again.started_at, NOW);
    store.stage(area, scan.id, &rows[2..], None).await.unwrap();
    assert_eq!(store.staged(area, scan.id).await.unwrap(), rows);
    let last = store.open_scan(area, "reso", NOW, long_ago).await.unwrap();
    assert_eq!((last.cursor, last.pages), (None, 2));
}

/// A scan that is too old, or of another feed, is begun anew and its pages are gone.
pub async fn a_stale_scan_or_another_feeds_is_replaced(store: &dyn ListingStore) {
    let area = zip("10002");
    let long_ago = NOW - Duration::hours(6);
    let first = store.open_scan(area, "reso", NOW, long_ago).await.unwrap();
    store
        .stage(area, first.id, &[made("10002", 1)], Some("x"))
        .await
        .unwrap();
    let second = store
        .open_scan(area, "rentcast", NOW, long_ago)
        .await
        .unwrap();
    assert!(second.id > first.id);
    let later = NOW + Duration::hours(7);
    let third = store.open_scan(area, "rentcast", later, NOW).await.unwrap();
    assert!(third.id > second.id && third.cursor.is_none());
    assert_eq!(store.staged(area, third.id).await.unwrap(), []);
    for lost in [first.id, second.id] {
        let staged = store.stage(area, lost, &[made("10002", 2)], None).await;
        assert_eq!(staged, Err(ListingStoreError::ScanLost));
        let staged = store.staged(area, lost).await;
        assert_eq!(staged, Err(ListingStoreError::ScanLost));
    }
}

/// The area gets a baseline once and a rising version; its listings are replaced by key.
pub async fn a_finished_scan_is_whole_and_numbered(store: &dyn ListingStore) {
    let (one, mut two) = (made("10003", 1), made("10003", 2));
    let finish = Finish {
        known: vec![known(one.clone()), known(two.clone())],
        ..Finish::default()
    };
    let first = scanned(store, "10003", NOW, &finish).await.unwrap();
    two.listing.status = ListingStatus::OffMarket;
    let gone = Known {
        missing: 2,
        left_at: Some(NOW + Duration::days(1)),
        ..known(two)
    };
    let later = NOW + Duration::days(1);
    let finish = Finish {
        known: vec![gone.clone()],
        ..Finish::default()
    };
    let second = scanned(store, "10003", later, &finish).await.unwrap();
    assert!(second > first);
    let areas = store.areas().await.unwrap();
    let area = areas.iter().find(|area| area.zip == zip("10003")).unwrap();
    assert_eq!(area.version, second);
    assert_eq!(area.first_snapshot_at, Some(NOW));
    assert_eq!(area.last_complete_scan_at, Some(later));
    let mut all = store.known(zip("10003")).await.unwrap();
    all.sort_by_key(|known| known.missing);
    assert_eq!(all, [known(one), gone]);
}

/// A scan that another replaced, or that has ended, ends nothing.
pub async fn a_lost_scan_changes_nothing(store: &dyn ListingStore) {
    let area = zip("10004");
    let lost = store.open_scan(area, "reso", NOW, NOW).await.unwrap();
    let taken = store.open_scan(area, "reso", NOW, NOW).await.unwrap();
    let row = made("10004", 1);
    let finish = Finish {
        events: vec![update(&row, ListingEventType::NewListing, NOW)],
        known: vec![known(row)],
        ..Finish::default()
    };
    let ended = store.finish_scan(area, lost.id, NOW, &finish).await;
    assert_eq!(ended, Err(ListingStoreError::ScanLost));
    assert_eq!(store.known(area).await.unwrap(), []);
    assert!(
        store
            .areas()
            .await
            .unwrap()
            .iter()
            .all(|state| state.zip != area)
    );
    store
        .finish_scan(area, taken.id, NOW, &finish)
        .await
        .unwrap();
    let twice = store.finish_scan(area, taken.id, NOW, &finish).await;
    assert_eq!(twice, Err(ListingStoreError::ScanLost));
    let query = EventQuery {
        zips: vec![area],
        listing_type: ListingType::Sale,
        from: NOW,
        to: NOW + Duration::SECOND,
        after: 0,
    };
    assert_eq!(store.event_heads(&query, 10).await.unwrap().len(), 1);
}

/// Every field, digit and moment comes back; past listings of a building too.
pub async fn listings_come_back_whole_by_key_and_by_building(store: &dyn ListingStore) {
    let mut one = made("10005", 1);
    one.listing.bbl = "1000050001".parse().ok();
    one.listing.bin = "1800501".parse().ok();
    one.listing.description = Some("Ünïcode ☂ and \"quotes\"".into());
    one.listing.common_charges_monthly = "1100.50".parse().ok();
    let mut past = made("10005", 2);
    past.listing.bbl = "1000050001".parse().ok();
    past.listing.bin = "1800501".parse().ok();
    past.listing.status = ListingStatus::Closed;
    let mut lot = made("10005", 3);
    lot.listing.bbl = "1000050001".parse().ok();
    lot.listing.bin = None;
    let mut other = made("10005", 4);
    other.listing.bbl = "1000050001".parse().ok();
    other.listing.bin = "1800502".parse().ok();
    let all = [&one, &past, &lot, &other].map(|row| known(row.clone()));
    let finish = Finish {
        known: all.to_vec(),
        ..Finish::default()
    };
    scanned(store, "10005", NOW, &finish).await.unwrap();
    let keys = [one.key(), made("10005", 9).key()];
    let found = store.listings(&keys).await.unwrap();
    assert_eq!(found, [known(one.clone())]);
    let here = |bin: Option<&str>| {
        let bin = bin.map(|bin| bin.parse().unwrap());
        let bbl = one.listing.bbl;
        async move {
            let mut here = store.in_building(bbl, bin).await.unwrap();
            here.sort_by_key(|known| known.row.listing.source_listing_id.clone());
            here
        }
    };
    assert_eq!(here(Some("1800501")).await, all[..3]);
    assert_eq!(here(None).await, all);
    assert_eq!(store.listings(&[]).await.unwrap(), []);
}

/// Events rise, and are found by what is asked and by nothing else.
pub async fn events_are_found_by_area_time_type_and_number(store: &dyn ListingStore) {
    let (one, mut rental) = (made("10006", 1), made("10006", 2));
    rental.listing.listing_type = ListingType::Rental;
    let later = NOW + Duration::days(1);
    for at in [NOW, later] {
        let finish = Finish {
            events: vec![
                update(&one, ListingEventType::PriceDrop, at),
                update(&rental, ListingEventType::NewListing, at),
            ],
            ..Finish::default()
        };
        scanned(store, "10006", at, &finish).await.unwrap();
    }
    let query = EventQuery {
        zips: vec![zip("10006"), zip("10007")],
        listing_type: ListingType::Sale,
        from: NOW,
        to: later + Duration::SECOND,
        after: 0,
    };
    let heads = store.event_heads(&query, 10).await.unwrap();
    assert_eq!(heads.len(), 2);
    assert!(heads[0].id < heads[1].id);
    assert_eq!(heads[0].event_type, ListingEventType::PriceDrop);
    assert_eq!(heads[0].price_cents, Some(100_000_000));
    assert_eq!(heads[0].previous_cents, Some(110_000_050));
    assert_eq!(heads[0].bedrooms, Some(2));
    let ids = |heads: Vec<EventHead>| heads.into_iter().map(|head| head.id).collect::<Vec<_>>();
    let (first, second) = (heads[0].id, heads[1].id);
    for (query, expected) in [
        (
            EventQuery {
                to: later,
                ..query.clone()
            },
            vec![first],
        ),
        (
            EventQuery {
                from: later,
                ..query.clone()
            },
            vec![second],
        ),
        (
            EventQuery {
                after: first,
                ..query.clone()
            },
            vec![second],
        ),
        (
            EventQuery {
                zips: vec![zip("10007")],
                ..query.clone()
            },
            vec![],
        ),
        (
            EventQuery {
                zips: vec![],
                ..query.clone()
            },
            vec![],
        ),
    ] {
        assert_eq!(ids(store.event_heads(&query, 10).await.unwrap()), expected);
    }
    assert_eq!(ids(store.event_heads(&query, 1).await.unwrap()), [first]);
    let rentals = EventQuery {
        listing_type: ListingType::Rental,
        ..query
    };
    assert_eq!(store.event_heads(&rentals, 10).await.unwrap().len(), 2);
    let whole = store.events(&[second, first]).await.unwrap();
    let expected = [(first, NOW), (second, later)].map(|(event_id, at)| ListingUpdate {
        event_id,
        ..update(&one, ListingEventType::PriceDrop, at)
    });
    assert_eq!(whole, expected);
}

/// A listing that may not be shown takes its events along, whatever area they were seen in; one whose address may not be
/// shown keeps them without it.
pub async fn what_is_withheld_goes_and_what_is_concealed_loses_its_address(
    store: &dyn ListingStore,
) {
    let area = "10008";
    let (gone, mut hidden, kept) = (made(area, 1), made(area, 2), made(area, 3));
    let all = [&gone, &hidden, &kept];
    let finish = Finish {
        known: all.map(|row| known(row.clone())).to_vec(),
        events: all
            .map(|row| update(row, ListingEventType::NewListing, NOW))
            .to_vec(),
        ..Finish::default()
    };
    scanned(store, area, NOW, &finish).await.unwrap();
    crate::conceal(&mut hidden.listing);
    hidden.display = crate::Display::WithoutAddress;
    let finish = Finish {
        known: vec![known(hidden.clone())],
        events: vec![update(&hidden, ListingEventType::PriceDrop, NOW)],
        withheld: vec![gone.key(), made(area, 9).key()],
        concealed: vec![hidden.key()],
    };
    scanned(store, area, NOW, &finish).await.unwrap();
    let mut left = store.known(zip(area)).await.unwrap();
    left.sort_by_key(|known| known.row.listing.source_listing_id.clone());
    assert_eq!(left, [known(hidden.clone()), known(kept.clone())]);
    let query = EventQuery {
        zips: vec![zip(area)],
        listing_type: ListingType::Sale,
        from: NOW,
        to: NOW + Duration::SECOND,
        after: 0,
    };
    let heads = store.event_heads(&query, 10).await.unwrap();
    let ids: Vec<u64> = heads.iter().map(|head| head.id).collect();
    let events = store.events(&ids).await.unwrap();
    let listings: Vec<_> = events.into_iter().map(|event| event.listing).collect();
    assert_eq!(
        listings,
        [hidden.listing.clone(), kept.listing, hidden.listing]
    );
}

#[cfg(test)]
mod tests {
    use crate::memory::MemoryListings;

    async fn store() -> Option<Box<MemoryListings>> {
        Some(Box::default())
    }

    crate::listing_store_contract!(store());
}
