use std::collections::VecDeque;

use async_trait::async_trait;
use brownstone_domain::{
    Dollars, ListingEventType, ListingFilter, ListingSort, ListingStatus, ListingType, ManualClock,
};
use time::OffsetDateTime;

use super::*;
use crate::{
    feed::FeedPage,
    made_up::{NOW, row},
    memory::MemoryListings,
    store::EventQuery,
};

const AREA: &str = "10001";

fn zip() -> Zip {
    AREA.parse().unwrap()
}

/// A feed that gives what was put in, two rows a page; a row of `None` is a page that fails.
#[derive(Default)]
struct Script {
    rows: Mutex<Vec<Row>>,
    failures: Mutex<VecDeque<usize>>,
    /// Places whose page is cut to half: only the count tells.
    short: Mutex<VecDeque<usize>>,
    asked: Mutex<Vec<Option<String>>>,
}

#[async_trait]
impl ListingFeed for Script {
    fn name(&self) -> &'static str {
        "reso"
    }

    async fn page(
        &self,
        _: Zip,
        cursor: Option<&str>,
        now: OffsetDateTime,
        _: Instant,
    ) -> Result<FeedPage, FeedError> {
        self.asked.lock().unwrap().push(cursor.map(str::to_owned));
        let from: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let mut failures = self.failures.lock().unwrap();
        if failures.front() == Some(&from) {
            failures.pop_front();
            return Err(FeedError::Refused(503));
        }
        let rows = self.rows.lock().unwrap();
        let next = from + 2;
        let mut short = self.short.lock().unwrap();
        if short.front() == Some(&from) {
            short.pop_front();
            return Err(FeedError::Short {
                counted: rows.len() as u64,
                given: from as u64 + 1,
            });
        }
        let mut page: Vec<Row> = rows.iter().skip(from).take(2).cloned().collect();
        for row in &mut page {
            row.listing.first_seen_at = now;
            row.listing.last_seen_at = now;
        }
        Ok(FeedPage {
            rows: page,
            next: (next < rows.len()).then(|| next.to_string()),
            dropped: Dropped::new(),
        })
    }
}

/// A geocoder that knows no address; rows come with their buildings.
struct Nowhere;

#[async_trait]
impl Geocoder for Nowhere {
    async fn resolve(&self, _: &str) -> Result<Resolved, ResolveError> {
        Err(ResolveError::NotFound("nowhere".into()))
    }

    fn is_live(&self) -> bool {
        false
    }
}

struct Bench {
    script: Arc<Script>,
    store: Arc<MemoryListings>,
    index: Arc<ListingIndex>,
    clock: Arc<ManualClock>,
    scanner: Scanner,
}

fn bench() -> Bench {
    let script = Arc::new(Script::default());
    let store = Arc::new(MemoryListings::default());
    let index = Arc::new(ListingIndex::default());
    let clock = Arc::new(ManualClock::at(NOW));
    let scanner = Scanner::new(
        Arc::<Script>::clone(&script),
        Arc::<MemoryListings>::clone(&store),
        Arc::new(Nowhere),
        Arc::clone(&index),
        Arc::<ManualClock>::clone(&clock),
    );
    Bench {
        script,
        store,
        index,
        clock,
        scanner,
    }
}

impl Bench {
    async fn scan(&self, rows: Vec<Row>) -> Result<ScanReport, ScanError> {
        *self.script.rows.lock().unwrap() = rows;
        self.scanner.scan(zip(), Duration::from_secs(1)).await
    }

    fn shown(&self) -> usize {
        let filter = ListingFilter::active(ListingType::Sale);
        let sort = ListingSort::Newest;
        let found = self
            .index
            .search(&[zip()], &filter, sort, 1_000, 0, self.clock.now().date());
        found.keys.len()
    }

    async fn events(&self) -> Vec<(ListingEventType, u64, String)> {
        let query = EventQuery {
            zips: vec![zip()],
            listing_type: ListingType::Sale,
            from: NOW,
            to: NOW + time::Duration::days(1_000),
            after: 0,
        };
        let heads = self.store.event_heads(&query, usize::MAX).await.unwrap();
        let ids: Vec<u64> = heads.iter().map(|head| head.id).collect();
        let events = self.store.events(&ids).await.unwrap();
        let day = |at: OffsetDateTime| u64::try_from((at - NOW).whole_days()).unwrap();
        events
            .into_iter()
            .map(|event| {
                (
                    event.event_type,
                    day(event.detected_at),
                    event.listing.source_listing_id,
                )
            })
            .collect()
    }
}

#[tokio::test]
async fn a_scan_that_broke_off_leaves_the_old_snapshot_and_is_gone_on_with() {
    let bench = bench();
    bench.scan((0..3).map(row).collect()).await.unwrap();
    assert_eq!(bench.shown(), 3);
    bench.clock.advance(time::Duration::DAY);
    bench.script.asked.lock().unwrap().clear();
    bench.script.failures.lock().unwrap().push_back(4);
    let more: Vec<Row> = (0..7).map(row).collect();
    let failed = bench.scan(more.clone()).await;
    assert!(matches!(failed, Err(ScanError::Feed(_))));
    assert_eq!(bench.shown(), 3, "nothing is swapped in by half");
    assert!(bench.events().await.is_empty());
    let report = bench.scan(more).await.unwrap();
    assert_eq!((report.listings, report.events), (7, 4));
    assert_eq!(bench.shown(), 7);
    let asked = bench.script.asked.lock().unwrap().clone();
    let asked: Vec<&str> = asked
        .iter()
        .map(|cursor| cursor.as_deref().unwrap_or("-"))
        .collect();
    assert_eq!(asked, ["-", "2", "4", "4", "6"], "no page is read twice");
}

#[tokio::test]
async fn a_scan_that_broke_off_long_ago_is_begun_anew() {
    let bench = bench();
    bench.script.failures.lock().unwrap().push_back(2);
    assert!(bench.scan((0..4).map(row).collect()).await.is_err());
    bench.clock.advance(time::Duration::hours(7));
    bench.scan((0..4).map(row).collect()).await.unwrap();
    let asked = bench.script.asked.lock().unwrap().clone();
    assert_eq!(asked.iter().filter(|cursor| cursor.is_none()).count(), 2);
    assert_eq!(bench.shown(), 4);
}

#[tokio::test]
async fn a_scan_that_is_short_is_read_anew_once_and_removes_nothing() {
    let bench = bench();
    let rows = || (0..5).map(row).collect::<Vec<Row>>();
    bench.scan(rows()).await.unwrap();
    let asked = || -> Vec<String> {
        let asked = std::mem::take(&mut *bench.script.asked.lock().unwrap());
        let asked = asked.into_iter();
        asked
            .map(|cursor| cursor.unwrap_or_else(|| "-".into()))
            .collect()
    };
    asked();
    // Once short: the second reading is whole.
    bench.clock.advance(time::Duration::DAY);
    bench.script.short.lock().unwrap().push_back(2);
    assert_eq!(bench.scan(rows()).await.unwrap().listings, 5);
    assert_eq!(asked(), ["-", "2", "-", "2", "4"]);
    // Always short: nothing is swapped in, and nothing is gone on with.
    for _ in 0..3 {
        bench.clock.advance(time::Duration::DAY);
        bench.script.short.lock().unwrap().extend([2, 2]);
        let outcome = bench.scan(rows()).await;
        assert!(
            matches!(
                outcome,
                Err(ScanError::Feed(FeedError::Short {
                    counted: 5,
                    given: 3
                }))
            ),
            "{outcome:?}"
        );
        assert_eq!(asked(), ["-", "2", "-", "2"]);
        assert_eq!(bench.shown(), 5);
    }
    assert_eq!(bench.events().await, []);
    let areas = bench.store.areas().await.unwrap();
    let scanned = areas[0].last_complete_scan_at;
    assert_eq!(scanned, Some(NOW + time::Duration::DAY));
    // Whole again, moments later.
    assert_eq!(bench.scan(rows()).await.unwrap().listings, 5);
    assert_eq!(asked(), ["-", "2", "4"]);
}

#[tokio::test]
async fn a_feed_that_leads_in_circles_is_left() {
    struct Circle;
    #[async_trait]
    impl ListingFeed for Circle {
        fn name(&self) -> &'static str {
            "reso"
        }
        async fn page(
            &self,
            _: Zip,
            _: Option<&str>,
            _: OffsetDateTime,
            _: Instant,
        ) -> Result<FeedPage, FeedError> {
            Ok(FeedPage {
                next: Some("again".into()),
                ..FeedPage::default()
            })
        }
    }
    let bench = bench();
    let scanner = Scanner::new(
        Arc::new(Circle),
        Arc::<MemoryListings>::clone(&bench.store),
        Arc::new(Nowhere),
        Arc::clone(&bench.index),
        Arc::<ManualClock>::clone(&bench.clock),
    );
    let outcome = scanner.scan(zip(), Duration::from_secs(1)).await;
    assert!(matches!(outcome, Err(ScanError::Endless(_))));
}

/// A row of a feed by which its listing may not be shown.
fn withheld(number: u64) -> Row {
    let id = row(number).listing.source_listing_id;
    Row {
        listing: crate::feed::blank("reso", ListingType::Rental, &id, None, NOW),
        new_construction: None,
        display: Display::Withheld,
    }
}

#[tokio::test]
async fn a_listing_that_is_withheld_is_nowhere_and_nothing_tells_of_it() {
    let bench = bench();
    let rows: Vec<Row> = [row(0), withheld(1)].into();
    let report = bench.scan(rows).await.unwrap();
    assert_eq!((report.listings, report.withheld), (1, 1));
    assert_eq!(bench.shown(), 1);
    // It is shown, changes, and is withheld again, as another listing type than it was.
    bench.clock.advance(time::Duration::DAY);
    bench.scan((0..2).map(row).collect()).await.unwrap();
    assert_eq!((bench.shown(), bench.events().await.len()), (2, 1));
    bench.clock.advance(time::Duration::DAY);
    let report = bench.scan([row(0), withheld(1)].into()).await.unwrap();
    assert_eq!((report.withheld, report.events), (1, 0));
    assert_eq!(bench.shown(), 1);
    assert_eq!(bench.events().await, [], "no removal, and what was is gone");
    let known = bench.store.known(zip()).await.unwrap();
    let keys: Vec<_> = known.iter().map(|known| known.row.key()).collect();
    assert_eq!(keys, [row(0).key()]);
    // A page that moved while it was read has it twice, once as it was before.
    let report = bench.scan([row(0), row(1), withheld(1)].into()).await;
    assert_eq!(report.unwrap().listings, 1);
    // Neither does a home that is offered again under another identifier tell of it.
    bench.clock.advance(time::Duration::DAY);
    let mut again = row(1);
    again.listing.source_listing_id = "again".into();
    again.listing.listing_key = ListingKey::of("reso", ListingType::Sale, "again").to_string();
    bench
        .scan([row(0), again, withheld(1)].into())
        .await
        .unwrap();
    let events = bench.events().await;
    assert_eq!(
        events,
        [(ListingEventType::NewListing, 3, "again".to_owned())]
    );
}

#[tokio::test]
async fn a_listing_without_its_address_is_shown_and_found_in_no_building() {
    let bench = bench();
    let open = row(1);
    let bin = open.listing.bin;
    bench.scan([row(0)].into()).await.unwrap();
    bench.clock.advance(time::Duration::DAY);
    bench.scan([row(0), open.clone()].into()).await.unwrap();
    assert_eq!(bench.store.in_building(None, bin).await.unwrap().len(), 1);
    bench.clock.advance(time::Duration::DAY);
    let mut hidden = open.clone();
    crate::conceal(&mut hidden.listing);
    hidden.display = Display::WithoutAddress;
    hidden.listing.list_price = Some(Dollars::from_cents(90_000_000));
    let report = bench.scan([row(0), hidden.clone()].into()).await.unwrap();
    assert_eq!((report.listings, report.concealed), (2, 1));
    assert_eq!(bench.shown(), 2);
    assert!(bench.store.in_building(None, bin).await.unwrap().is_empty());
    let kept = bench.store.listings(&[hidden.key()]).await.unwrap();
    let events = bench.store.events(&(0..100).collect::<Vec<_>>()).await;
    let events = events.unwrap();
    assert_eq!(events.len(), 2, "it came, and its price fell");
    let told = events.iter().map(|event| &event.listing);
    for listing in told.chain(kept.iter().map(|known| &known.row.listing)) {
        let text = serde_json::to_string(listing).unwrap();
        for secret in [
            open.listing.address.as_deref(),
            open.listing.unit.as_deref(),
            Some("5 AVENUE"),
        ] {
            assert!(!text.contains(secret.unwrap()), "{text}");
        }
        assert_eq!((listing.bin, listing.bbl), (None, None));
        assert_eq!(listing.zip_code, Some(zip()));
    }
    // The address is told again.
    bench.scan([row(0), open].into()).await.unwrap();
    assert_eq!(bench.store.in_building(None, bin).await.unwrap().len(), 1);
}

/// A listing of a feed that is not asked any more.
fn of_another_feed(number: u64) -> Row {
    let mut row = row(number);
    let source = row.listing.sources.remove("reso").unwrap();
    row.listing.sources.insert("rentcast".into(), source);
    row
}

#[tokio::test]
async fn the_first_scan_by_another_feed_is_a_baseline_and_ends_none_of_the_listings_before() {
    let bench = bench();
    bench
        .scan((10..13).map(of_another_feed).collect())
        .await
        .unwrap();
    for day in 0..4 {
        bench.clock.advance(time::Duration::DAY);
        bench.scan((0..2).map(row).collect()).await.unwrap();
        assert_eq!(bench.shown(), 2, "day {day}");
    }
    assert!(bench.events().await.is_empty());
    bench.scan((0..3).map(row).collect()).await.unwrap();
    let events = bench.events().await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].0, ListingEventType::NewListing);
}

#[tokio::test]
async fn what_the_licence_does_not_cover_is_not_shown_in_its_building_either() {
    let bench = bench();
    let bin = row(1).listing.bin;
    let (mut elsewhere, mut before) = (row(2), of_another_feed(3));
    (elsewhere.listing.bin, before.listing.bin) = (bin, bin);
    let other: Zip = "10002".parse().unwrap();
    elsewhere.listing.zip_code = Some(other);
    bench.scan([row(1), before].into()).await.unwrap();
    *bench.script.rows.lock().unwrap() = vec![elsewhere];
    let within = Duration::from_secs(1);
    bench.scanner.scan(other, within).await.unwrap();
    let licensed = |areas: &str| {
        let entitled = crate::Entitlement::parse(areas).unwrap();
        let scanner = Scanner::new(
            Arc::<Script>::clone(&bench.script),
            Arc::<MemoryListings>::clone(&bench.store),
            Arc::new(Nowhere),
            Arc::default(),
            Arc::<ManualClock>::clone(&bench.clock),
        );
        crate::Listings::new(
            Arc::default(),
            Arc::<MemoryListings>::clone(&bench.store),
            Arc::<ManualClock>::clone(&bench.clock),
            Some((scanner, entitled)),
        )
    };
    for (areas, shown) in [("10001,10002", vec!["M-1", "M-2"]), ("10001", vec!["M-1"])] {
        let listings = licensed(areas);
        let mut found: Vec<String> = (listings.history(None, bin).await.unwrap())
            .into_iter()
            .map(|listing| listing.source_listing_id)
            .collect();
        found.sort();
        assert_eq!(found, shown, "{areas}");
        listings.refresh().await.unwrap();
        let index = listings.index();
        assert_eq!(index.count(zip()), Some(1), "{areas}");
        assert_eq!(index.count(other).is_some(), areas.contains("10002"));
    }
}

#[tokio::test]
async fn a_question_says_how_it_was_answered() {
    use brownstone_domain::SourceStatus::{Error, Gated, NotFound, Ok};
    let bench = bench();
    *bench.script.rows.lock().unwrap() = (0..3).map(row).collect();
    let entitled = crate::Entitlement::parse("10001,10002").unwrap();
    let listings = crate::Listings::new(
        Arc::clone(&bench.index),
        Arc::<MemoryListings>::clone(&bench.store),
        Arc::<ManualClock>::clone(&bench.clock),
        Some((bench.scanner, entitled)),
    );
    let ask = async |zips: &[&str]| {
        let area = crate::Area {
            zips: zips.iter().map(|zip| zip.parse().unwrap()).collect(),
            one_place: false,
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        listings.ready(&area, deadline).await
    };
    let is = |said: &[(&str, _)]| -> brownstone_domain::ListingSourceStatus {
        said.iter()
            .map(|(kind, status)| ((*kind).to_owned(), *status))
            .collect()
    };
    let fail = || bench.script.failures.lock().unwrap().push_back(0);
    assert_eq!(ask(&["10003"]).await, is(&[("not_warm", Gated)]));
    fail();
    assert_eq!(ask(&["10001"]).await, is(&[("reso", Error)]));
    // It is left alone for a minute: no live call can be made.
    assert_eq!(ask(&["10001"]).await, is(&[("not_warm", Error)]));
    bench.clock.advance(time::Duration::seconds(61));
    assert_eq!(ask(&["10001"]).await, is(&[("reso", Ok)]));
    assert_eq!(ask(&["10001"]).await, is(&[("cached", Ok)]));
    let both = is(&[("cached", Ok), ("reso", NotFound)]);
    assert_eq!(ask(&["10001", "10002"]).await, both);
    // One key for a kind of call, with the worst of its areas.
    let three = is(&[("cached", NotFound), ("not_warm", Gated)]);
    assert_eq!(ask(&["10001", "10002", "10003"]).await, three);
    bench.clock.advance(time::Duration::days(2));
    fail();
    let stale = ask(&["10001"]).await;
    assert_eq!(stale, is(&[("reso", Error)]));
    // Left alone for a minute: what is known is shown, and nobody is told that it is of today.
    assert_eq!(ask(&["10001"]).await, is(&[("cached", Error)]));
    assert_eq!(ask(&["10002"]).await, is(&[("reso", NotFound)]));
    assert_eq!(ask(&["10002"]).await, is(&[("cached", NotFound)]));
}

/// Draws without chance.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What a reader of the rules expects of one home, scan after scan.
#[derive(Default, Clone)]
struct Home {
    /// Identifier and price, while it is on the market.
    on: Option<(u64, i64)>,
    absent: u32,
    left: Option<u64>,
}

impl Home {
    /// `view`: identifier, price and whether it is on the market, or absent.
    fn scanned(
        &mut self,
        view: Option<(u64, i64, bool)>,
        day: u64,
        baseline: bool,
    ) -> Option<(ListingEventType, u64)> {
        let event = match (self.on, view) {
            (None, Some((id, price, true))) => {
                let again = self.left.is_some_and(|left| day - left <= 90);
                self.on = Some((id, price));
                Some((
                    if again {
                        ListingEventType::Relisted
                    } else {
                        ListingEventType::NewListing
                    },
                    id,
                ))
            }
            (Some((was, last)), Some((id, price, true))) => {
                self.on = Some((id, price));
                if was != id {
                    Some((ListingEventType::Relisted, id))
                } else {
                    (price < last).then_some((ListingEventType::PriceDrop, id))
                }
            }
            (Some((was, _)), Some((id, _, false))) if was == id => {
                self.on = None;
                self.left = Some(day);
                Some((ListingEventType::OffMarket, id))
            }
            (Some((was, _)), _) => {
                self.absent += 1;
                if self.absent == 2 {
                    self.on = None;
                    self.left = Some(day);
                    self.absent = 0;
                    return Some((ListingEventType::OffMarket, was));
                }
                return None;
            }
            (None, _) => None,
        };
        self.absent = 0;
        event.filter(|_| !baseline)
    }
}

/// A hundred and thirty days of scans over thirty homes, with failures, partial scans, price moves, absences, closings and
/// relistings under new identifiers: exactly the events that the rules give, none twice.
#[tokio::test]
async fn months_of_scans_give_exactly_the_expected_events() {
    const HOMES: u64 = 30;
    for seed in 1..=4 {
        let bench = bench();
        let mut draw = Draw(seed);
        let mut truth: Vec<Option<(u64, i64, bool)>> = vec![None; HOMES as usize];
        let mut homes = vec![Home::default(); HOMES as usize];
        let mut next_id = 1_000 * seed;
        let mut expected = Vec::new();
        let mut complete = 0;
        for day in 0..130_u64 {
            for view in &mut truth {
                *view = match (*view, draw.below(40)) {
                    (None, 0..4) => {
                        next_id += 1;
                        Some((next_id, 500_000 + 1_000 * draw.below(500) as i64, true))
                    }
                    (Some((id, price, true)), 0..2) => Some((id, price - 5_000, true)),
                    (Some((id, price, true)), 2) => Some((id, price + 5_000, true)),
                    (Some((id, price, true)), 3) => Some((id, price, false)),
                    (Some((id, price, false)), 4..8) => Some((id, price, true)),
                    (Some((_, price, _)), 8) => {
                        next_id += 1;
                        Some((next_id, price, true))
                    }
                    (Some(_), 9..11) => None,
                    (same, _) => same,
                };
            }
            let rows: Vec<Row> = truth
                .iter()
                .enumerate()
                .filter_map(|(home, view)| {
                    let (id, price, on) = (*view)?;
                    let mut row = row(home as u64);
                    row.listing.source_listing_id = id.to_string();
                    row.listing.listing_key =
                        ListingKey::of("reso", ListingType::Sale, &id.to_string()).to_string();
                    row.listing.list_price = Some(Dollars::from_cents(price * 100));
                    row.listing.status = if on {
                        ListingStatus::Active
                    } else {
                        ListingStatus::Closed
                    };
                    Some(row)
                })
                .collect();
            // A day in five the feed fails at its first page or later, and the next day reads it anew.
            let fails = draw.below(5) == 0;
            if fails {
                let at = if rows.len() > 2 {
                    2 * draw.below(rows.len() as u64 / 2) as usize
                } else {
                    0
                };
                bench.script.failures.lock().unwrap().push_back(at);
            }
            let outcome = bench.scan(rows).await;
            assert_eq!(outcome.is_err(), fails, "day {day} of {seed}");
            if !fails {
                for (home, view) in homes.iter_mut().zip(&truth) {
                    if let Some((event_type, id)) = home.scanned(*view, day, complete == 0) {
                        expected.push((event_type, day, id.to_string()));
                    }
                }
                complete += 1;
            }
            bench.clock.advance(time::Duration::DAY);
        }
        let mut events = bench.events().await;
        events.sort();
        expected.sort();
        type Event = (ListingEventType, u64, String);
        let without = |some: &[Event], others: &[Event]| -> Vec<Event> {
            some.iter()
                .filter(|one| !others.contains(one))
                .cloned()
                .collect()
        };
        assert_eq!(without(&events, &expected), [], "seed {seed}: too many");
        assert_eq!(without(&expected, &events), [], "seed {seed}: missing");
        assert_eq!(events.len(), expected.len(), "seed {seed}: some twice");
        for kind in ListingEventType::ALL {
            assert!(
                expected.iter().any(|(of, ..)| of == kind),
                "{kind} never happened"
            );
        }
    }
}
