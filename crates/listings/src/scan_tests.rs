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
                        crate::ListingKey::of("reso", ListingType::Sale, &id.to_string())
                            .to_string();
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
