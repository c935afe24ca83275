use brownstone_domain::{AreaQuery, Bounds, Dollars, ListingType, PropertyType};
use proptest::prelude::*;

use super::*;
use crate::made_up::{NOW, any_row};

fn zips(borough: &str) -> Vec<Zip> {
    area::resolve(&AreaQuery::Location(borough.into()))
        .unwrap()
        .zips
}

/// Made-up rows over the first ZIPs of Manhattan, and their index.
fn index(count: u64) -> (Vec<Row>, ListingIndex) {
    let places: Vec<Zip> = zips("Manhattan").into_iter().take(12).collect();
    let rows: Vec<Row> = (0..count)
        .map(|number| any_row(number, places[number as usize % places.len()]))
        .collect();
    let index = ListingIndex::default();
    index.put(places.iter().map(|zip| {
        let here: Vec<Row> = rows
            .iter()
            .filter(|row| row.listing.zip_code == Some(*zip))
            .cloned()
            .collect();
        Snapshot::new(*zip, 1, &here)
    }));
    (rows, index)
}

/// The plain way: every condition as the contract says it, over the listing's own fields.
fn plainly(row: &Row, filter: &ListingFilter, today: Date) -> bool {
    let listing = &row.listing;
    let is = |wanted: Option<bool>, fact: Option<bool>| wanted.is_none() || wanted == fact;
    let cents = listing
        .price()
        .map(|price| u64::try_from(price.cents().expect("in range")).expect("a price is positive"));
    let price = Bounds {
        min: filter.price.min.map(|dollars| dollars * 100),
        max: filter.price.max.map(|dollars| dollars * 100),
    };
    let available = listing
        .available_date
        .as_ref()
        .map(|date| date.parse().unwrap());
    listing.listing_type == filter.listing_type
        && filter.status.contains(&listing.status)
        && (filter.property_types.is_empty()
            || filter.property_types.contains(&listing.property_type))
        && price.allow(cents)
        && filter.bedrooms.allow(listing.bedrooms)
        && filter.bathrooms.allow(listing.bathrooms)
        && filter.living_area_sqft.allow(listing.living_area_sqft)
        && filter.year_built.allow(listing.year_built)
        && filter
            .max_days_on_market
            .is_none_or(|most| days_on_market(listing, today).is_some_and(|days| days <= most))
        && is(filter.price_reduced, price_reduced(listing))
        && is(filter.new_construction, row.new_construction)
        && is(filter.no_fee, listing.no_fee)
        && is(filter.pets_allowed, listing.pets_allowed)
        && is(filter.furnished, listing.furnished)
        && is(
            filter.has_open_house,
            Some(last_open_house(listing).is_some_and(|day| day >= today)),
        )
        && filter.available.allow(available)
}

/// A value to sort by, lowest first; `None` last.
fn place(row: &Row, sort: ListingSort, today: Date) -> (bool, i64, String) {
    let listing = &row.listing;
    let value = match sort {
        ListingSort::Newest => listed_on(listing).map(|day| -i64::from(day.to_julian_day())),
        ListingSort::PriceAsc => listing.price().and_then(Dollars::cents),
        ListingSort::PriceDesc => listing.price().and_then(Dollars::cents).map(|cents| -cents),
        ListingSort::PricePerSqftAsc => listing.price_per_sqft.and_then(Dollars::cents),
        ListingSort::LivingAreaDesc => listing.living_area_sqft.map(|area| -i64::from(area)),
        ListingSort::DaysOnMarketAsc => days_on_market(listing, today).map(i64::from),
    };
    (
        value.is_none(),
        value.unwrap_or(0),
        listing.listing_key.clone(),
    )
}

fn reference(
    rows: &[Row],
    filter: &ListingFilter,
    sort: ListingSort,
    today: Date,
) -> Vec<ListingKey> {
    let mut all: Vec<&Row> = rows
        .iter()
        .filter(|row| plainly(row, filter, today))
        .collect();
    all.sort_by_key(|row| place(row, sort, today));
    all.into_iter().map(Row::key).collect()
}

fn bounds<T: std::fmt::Debug + Copy + 'static>(
    low: impl Strategy<Value = T> + 'static,
    high: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Bounds<T>> {
    (prop::option::of(low), prop::option::of(high)).prop_map(|(min, max)| Bounds { min, max })
}

/// A change to a filter. A function cannot be shown: the filter is.
#[derive(Clone)]
struct Change(Arc<dyn Fn(&mut ListingFilter)>);

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a change")
    }
}

/// One change to a filter.
fn condition() -> impl Strategy<Value = Change> {
    fn set<T: Clone + 'static>(value: T, put: impl Fn(&mut ListingFilter, T) + 'static) -> Change {
        Change(Arc::new(move |filter: &mut ListingFilter| {
            put(filter, value.clone());
        }))
    }
    let today = NOW.date();
    prop_oneof![
        prop::sample::subsequence(ListingStatus::SEARCHABLE.to_vec(), 1..=4)
            .prop_map(|v| set(v, |f, v| f.status = v)),
        prop::sample::subsequence(PropertyType::ALL.to_vec(), 1..=5)
            .prop_map(|v| set(v, |f, v| f.property_types = v)),
        bounds(0_u64..3_000_000, 1_000_u64..6_000_000).prop_map(|v| set(v, |f, v| f.price = v)),
        bounds(0_u32..6, 0_u32..300).prop_map(|v| set(v, |f, v| f.bedrooms = v)),
        bounds(
            (0_u32..8).prop_map(|h| f64::from(h) / 2.0),
            (0_u32..400).prop_map(|h| f64::from(h) / 2.0)
        )
        .prop_map(|v| set(v, |f, v| f.bathrooms = v)),
        bounds(0_u32..3_000, 300_u32..4_000).prop_map(|v| set(v, |f, v| f.living_area_sqft = v)),
        bounds(1_600_u32..2_000, 1_900_u32..70_000).prop_map(|v| set(v, |f, v| f.year_built = v)),
        (0_u32..220).prop_map(|v| set(v, |f, v| f.max_days_on_market = Some(v))),
        any::<bool>().prop_map(|v| set(v, |f, v| f.price_reduced = Some(v))),
        any::<bool>().prop_map(|v| set(v, |f, v| f.new_construction = Some(v))),
        any::<bool>().prop_map(|v| set(v, |f, v| f.no_fee = Some(v))),
        any::<bool>().prop_map(|v| set(v, |f, v| f.pets_allowed = Some(v))),
        any::<bool>().prop_map(|v| set(v, |f, v| f.furnished = Some(v))),
        any::<bool>().prop_map(|v| set(v, |f, v| f.has_open_house = Some(v))),
        bounds(
            (-30_i64..60).prop_map(move |d| today + time::Duration::days(d)),
            (-30_i64..60).prop_map(move |d| today + time::Duration::days(d))
        )
        .prop_map(|v| set(v, |f, v| f.available = v)),
    ]
}

#[test]
fn every_filter_alone_and_in_pairs_agrees_with_the_plain_way() {
    let (rows, index) = index(600);
    let manhattan = zips("Manhattan");
    let some: Vec<Zip> = manhattan.iter().copied().step_by(3).collect();
    let here: Vec<Row> = rows
        .iter()
        .filter(|row| some.contains(&row.listing.zip_code.unwrap()))
        .cloned()
        .collect();
    let cases = (
        prop::collection::vec(condition(), 1..=2),
        any::<bool>(),
        prop::sample::select(ListingSort::ALL.to_vec()),
        0_usize..60,
        1_usize..40,
        any::<bool>(),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 5_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let cases = cases.prop_map(|(changes, rental, sort, offset, limit, whole)| {
        let mut filter = ListingFilter::active(if rental {
            ListingType::Rental
        } else {
            ListingType::Sale
        });
        for change in changes {
            (change.0)(&mut filter);
        }
        (filter, sort, offset, limit, whole)
    });
    let today = NOW.date();
    runner
        .run(&cases, |(filter, sort, offset, limit, whole)| {
            let (zips, rows) = if whole {
                (&manhattan, &rows)
            } else {
                (&some, &here)
            };
            let all = reference(rows, &filter, sort, today);
            let expected: Vec<ListingKey> = all.iter().copied().skip(offset).take(limit).collect();
            let found = index.search(zips, &filter, sort, limit, offset as u64, today);
            prop_assert_eq!(found.has_more, all.len() > offset + limit);
            prop_assert_eq!(found.keys, expected);
            Ok(())
        })
        .unwrap();
}

#[test]
fn pages_return_every_listing_once() {
    let (rows, index) = index(500);
    let filter = ListingFilter::active(ListingType::Sale);
    for sort in ListingSort::ALL {
        for (zips, limit) in [(zips("Manhattan"), 7), (zips("NYC"), 100)] {
            let mut seen = Vec::new();
            loop {
                let at = seen.len() as u64;
                let page = index.search(&zips, &filter, *sort, limit, at, NOW.date());
                seen.extend(page.keys);
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(seen, reference(&rows, &filter, *sort, NOW.date()));
        }
    }
}

#[test]
fn an_offset_past_the_end_is_an_empty_last_page() {
    let (_, index) = index(50);
    let filter = ListingFilter::active(ListingType::Sale);
    for offset in [50, 1_000_000, u64::MAX] {
        let found = index.search(
            &zips("Manhattan"),
            &filter,
            ListingSort::Newest,
            25,
            offset,
            NOW.date(),
        );
        assert_eq!(found, Found::default());
    }
}

#[test]
fn a_refresh_moves_only_what_changed() {
    let (mut rows, index) = index(300);
    let filter = ListingFilter::active(ListingType::Rental);
    let all = zips("Manhattan");
    let page = |offset| {
        index
            .search(&all, &filter, ListingSort::PriceAsc, 20, offset, NOW.date())
            .keys
    };
    let first = page(0);
    // One listing of the first page becomes the dearest between two pages.
    let moved = first[3];
    let row = rows.iter_mut().find(|row| row.key() == moved).unwrap();
    row.listing.asking_rent = "900000".parse().ok();
    let zip = row.listing.zip_code.unwrap();
    let here: Vec<Row> = rows
        .iter()
        .filter(|row| row.listing.zip_code == Some(zip))
        .cloned()
        .collect();
    index.put([Snapshot::new(zip, 2, &here)]);
    let second = page(20);
    let expected = reference(&rows, &filter, ListingSort::PriceAsc, NOW.date());
    assert_eq!(second, expected[20..40]);
    assert!(second.iter().all(|key| !first.contains(key)));
}

#[test]
fn an_older_snapshot_does_not_replace_a_newer_one() {
    let (rows, index) = index(60);
    let zip = rows[0].listing.zip_code.unwrap();
    let count = index.count(zip).unwrap();
    index.put([Snapshot::new(zip, 0, &[])]);
    assert_eq!(index.count(zip), Some(count));
    index.put([Snapshot::new(zip, 2, &[])]);
    assert_eq!(index.count(zip), Some(0));
    assert_eq!(index.versions()[&zip], 2);
}

#[test]
fn rentals_are_found_around_a_point_and_in_a_building() {
    let (rows, index) = index(400);
    let filter = ListingFilter::active(ListingType::Rental);
    let (latitude, longitude) = (40.75, -73.96);
    let near = index.rentals_near(latitude, longitude, 1.0, &filter, NOW.date());
    let plain = rows
        .iter()
        .filter(|row| plainly(row, &filter, NOW.date()))
        .filter(|row| {
            let y = (row.listing.latitude.unwrap() - latitude) * MILES_PER_DEGREE.0;
            let x = (row.listing.longitude.unwrap() - longitude) * MILES_PER_DEGREE.1;
            x.hypot(y) <= 1.0
        })
        .count();
    assert!(plain > 10);
    // A listing within a metre of the edge may fall on either side of it.
    assert!(
        near.len().abs_diff(plain) <= 1,
        "{} and {plain}",
        near.len()
    );
    assert!(near.is_sorted_by(|a, b| a.1 <= b.1));
    let one = rows.iter().find(|row| row.key() == near[0].0.key).unwrap();
    let here = index.in_building(None, one.listing.bin, &filter, NOW.date());
    assert!(here.iter().any(|view| view.key == one.key()));
    assert_eq!(near[0].0.price, one.listing.asking_rent);
    assert_eq!(near[0].0.bedrooms, one.listing.bedrooms);
}

#[test]
fn a_listing_takes_few_bytes() {
    let (rows, index) = index(600);
    let searchable = rows
        .iter()
        .filter(|row| ListingStatus::SEARCHABLE.contains(&row.listing.status))
        .count();
    let each = index.resident_bytes() / searchable;
    assert!(each <= 160, "{each} bytes a listing");
}
