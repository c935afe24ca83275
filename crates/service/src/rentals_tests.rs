//! Answers over listings in memory.

use async_trait::async_trait;
use brownstone_address::geocoder::{Geocoder, ResolveError};
use brownstone_domain::{Borough, Dollars, ErrorCode, ManualClock, Match, Zip};
use brownstone_listings::{
    Entitlement, ListingIndex, Row,
    feed::{FeedError, FeedPage, ListingFeed},
    made_up::{FEED, NOW, row},
    memory::MemoryListings,
    scan::Scanner,
    store::{Finish, Known, ListingStore as _},
};
use time::OffsetDateTime;

use super::*;

/// Where the made-up homes stand, and who asks for them.
const PLACE: (f64, f64) = (40.75, -73.99);

/// A feed that gives no page, and a geocoder that knows no address.
struct Silent;

#[async_trait]
impl ListingFeed for Silent {
    fn name(&self) -> &'static str {
        FEED
    }

    async fn page(
        &self,
        _: Zip,
        _: Option<&str>,
        _: OffsetDateTime,
        _: Instant,
    ) -> Result<FeedPage, FeedError> {
        Err(FeedError::Refused(503))
    }
}

#[async_trait]
impl Geocoder for Silent {
    async fn resolve(&self, _: &str) -> Result<Resolved, ResolveError> {
        Err(ResolveError::NotFound("nowhere".into()))
    }

    fn is_live(&self) -> bool {
        false
    }
}

fn zip(text: &str) -> Zip {
    text.parse().unwrap()
}

/// A home for rent in an area; each number another building.
fn for_rent(number: u64, area: &str) -> Row {
    let mut row = row(number);
    let listing = &mut row.listing;
    listing.listing_type = ListingType::Rental;
    listing.listing_key =
        ListingKey::of(FEED, ListingType::Rental, &listing.source_listing_id).to_string();
    listing.zip_code = Some(zip(area));
    listing.list_price = None;
    listing.asking_rent = Some(Dollars::from_cents(300_000));
    (listing.latitude, listing.longitude) = (Some(PLACE.0), Some(PLACE.1));
    row
}

/// Keeps what a scan of an area saw.
async fn scanned(store: &MemoryListings, area: &str, rows: &[Row]) {
    let open = store
        .open_scan(zip(area), FEED, NOW, NOW - time::Duration::DAY)
        .await
        .unwrap();
    let known = rows.iter().map(|row| Known {
        row: row.clone(),
        missing: 0,
        last_price: None,
        left_at: None,
    });
    let finish = Finish {
        known: known.collect(),
        ..Finish::default()
    };
    store
        .finish_scan(zip(area), open.id, NOW, &finish)
        .await
        .unwrap();
}

/// Rentals by what is kept, under a licence for some areas.
async fn licensed(store: &Arc<MemoryListings>, areas: &str) -> Rentals {
    let index = Arc::new(ListingIndex::default());
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(NOW));
    let scanner = Scanner::new(
        Arc::new(Silent),
        Arc::<MemoryListings>::clone(store),
        Arc::new(Silent),
        Arc::clone(&index),
        Arc::clone(&clock),
    );
    let listings = Listings::new(
        index,
        Arc::<MemoryListings>::clone(store),
        Arc::clone(&clock),
        Some((scanner, Entitlement::parse(areas).unwrap())),
    );
    listings.refresh().await.unwrap();
    let lots = Comps::new(Arc::clone(&clock), 0);
    Rentals::new(Arc::new(listings), lots, clock)
}

/// A building without a listing of its own.
fn building(area: &str) -> Building {
    Building {
        bbl: None,
        bin: None,
        house_number: Some("1".into()),
        street: Some("5 AVENUE".into()),
        borough: Borough::Manhattan,
        city: "New York".into(),
        zip: Some(zip(area)),
        neighborhood: None,
        latitude: Some(PLACE.0),
        longitude: Some(PLACE.1),
        buildings_on_lot: None,
    }
}

async fn answer(rentals: &Rentals, building: Building) -> Result<Vec<Option<Zip>>, ErrorCode> {
    let resolved = Resolved {
        building,
        unit: None,
        unit_bbl: None,
        matched: Match::Exact,
        warnings: vec![],
    };
    let request = RentalsRequest::of("1 5 Avenue");
    let answer = rentals.answer(&request, &resolved).await;
    let answer = answer.map_err(|failure| failure.code)?;
    let areas = answer.rentals.iter().map(|found| found.listing.zip_code);
    Ok(areas.collect())
}

#[tokio::test]
async fn what_was_scanned_under_a_licence_that_has_ended_is_not_shown() {
    let store = Arc::new(MemoryListings::default());
    scanned(&store, "10001", &[for_rent(1, "10001")]).await;
    scanned(&store, "10002", &[for_rent(2, "10002")]).await;
    let (here, ended) = (zip("10001"), zip("10002"));
    let both = licensed(&store, "10001,10002").await;
    let found = answer(&both, building("10001")).await.unwrap();
    assert!(found.contains(&Some(here)) && found.contains(&Some(ended)));

    let one = licensed(&store, "10001").await;
    let found = answer(&one, building("10001")).await;
    assert_eq!(found, Ok(vec![Some(here)]));

    // Nor does such a listing place the building that it stands in.
    let unplaced = Building {
        bin: for_rent(2, "10002").listing.bin,
        latitude: None,
        longitude: None,
        ..building("10002")
    };
    assert!(both.place(&unplaced).is_some());
    assert_eq!(one.place(&unplaced), None);
}

#[tokio::test]
async fn nothing_found_is_an_answer_only_where_somebody_looked() {
    let store = Arc::new(MemoryListings::default());
    scanned(&store, "10001", &[]).await;
    let rentals = licensed(&store, "10001,10002").await;
    assert_eq!(answer(&rentals, building("10001")).await, Ok(vec![]));
    // Neither an area that the feed gives nothing of nor one outside the licence was ever looked at.
    for area in ["10002", "10003"] {
        let found = answer(&rentals, building(area)).await;
        assert_eq!(found, Err(ErrorCode::UpstreamError), "{area}");
    }
    let nowhere = |area| Building {
        zip: None,
        ..building(area)
    };
    assert_eq!(answer(&rentals, nowhere("10001")).await, Ok(vec![]));

    // What neighbours offer is an answer, too.
    scanned(&store, "10001", &[for_rent(1, "10001")]).await;
    let rentals = licensed(&store, "10001,10002").await;
    let found = answer(&rentals, building("10002")).await;
    assert_eq!(found, Ok(vec![Some(zip("10001"))]));
    let empty = licensed(&Arc::default(), "10001").await;
    let found = answer(&empty, nowhere("10001")).await;
    assert_eq!(found, Err(ErrorCode::UpstreamError));
}
