use brownstone_domain::PropertyType;

use super::*;
use crate::made_up::{NOW, row};

const DAY: Duration = Duration::DAY;

fn priced(number: u64, dollars: i64) -> Row {
    let mut row = row(number);
    row.listing.list_price = Some(Dollars::from_cents(dollars * 100));
    row
}

fn with_status(mut row: Row, status: ListingStatus) -> Row {
    row.listing.status = status;
    row
}

/// Runs scans a day apart, the first a baseline; the events of each by type and listing.
fn scans(days: &[Vec<Row>]) -> Vec<Vec<(ListingEventType, String)>> {
    let mut known: BTreeMap<ListingKey, Known> = BTreeMap::new();
    let mut all = Vec::new();
    for (number, rows) in days.iter().enumerate() {
        let now = NOW + DAY * i32::try_from(number).unwrap();
        let mut rows = rows.clone();
        for row in &mut rows {
            row.listing.last_seen_at = now;
        }
        let finish = difference(known.values().cloned().collect(), rows, number == 0, now);
        for one in finish.known {
            known.insert(one.row.key(), one);
        }
        let events = finish.events.into_iter();
        all.push(
            events
                .map(|event| (event.event_type, event.listing.source_listing_id))
                .collect(),
        );
    }
    all
}

#[test]
fn the_first_scan_is_a_baseline() {
    assert_eq!(scans(&[vec![row(1), row(2)]]), [vec![]]);
}

#[test]
fn a_removal_needs_two_complete_scans() {
    let off = (ListingEventType::OffMarket, "M-1".to_owned());
    let there = vec![row(1)];
    assert_eq!(
        scans(&[there.clone(), vec![], there.clone(), vec![], vec![], vec![]]),
        [vec![], vec![], vec![], vec![], vec![off], vec![]]
    );
}

#[test]
fn the_feeds_word_is_enough_for_a_removal_and_pending_is_off_the_market() {
    for status in [
        ListingStatus::Closed,
        ListingStatus::Pending,
        ListingStatus::Withdrawn,
    ] {
        let events = scans(&[
            vec![row(1)],
            vec![with_status(row(1), status)],
            vec![],
            vec![],
        ]);
        assert_eq!(events[1], [(ListingEventType::OffMarket, "M-1".to_owned())]);
        assert!(events[2].is_empty() && events[3].is_empty());
    }
    let under = with_status(row(1), ListingStatus::ActiveUnderContract);
    assert_eq!(scans(&[vec![row(1)], vec![under]]), [vec![], vec![]]);
}

#[test]
fn a_drop_is_against_the_price_seen_last() {
    let mut unknown = priced(1, 1);
    unknown.listing.list_price = None;
    let events = scans(&[
        vec![priced(1, 900_000)],
        vec![unknown],
        vec![priced(1, 950_000)],
        vec![priced(1, 925_000)],
        vec![priced(1, 925_000)],
    ]);
    let drops: Vec<bool> = events.iter().map(|events| !events.is_empty()).collect();
    assert_eq!(drops, [false, false, false, true, false]);
}

#[test]
fn the_same_home_within_ninety_days_is_relisted_under_whatever_identifier() {
    let mut again = row(7);
    again.listing.unit.clone_from(&row(1).listing.unit);
    again.listing.bin = row(1).listing.bin;
    let closed = with_status(row(1), ListingStatus::Closed);
    let gap = |days: usize| {
        let mut scanned = vec![vec![row(1)], vec![closed.clone()]];
        scanned.extend(std::iter::repeat_n(vec![closed.clone()], days - 1));
        scanned.push(vec![closed.clone(), again.clone()]);
        scans(&scanned).pop().unwrap()
    };
    assert_eq!(gap(90), [(ListingEventType::Relisted, "M-7".to_owned())]);
    assert_eq!(gap(91), [(ListingEventType::NewListing, "M-7".to_owned())]);
    // The identifier changes from one scan to the next: nothing left the market.
    let events = scans(&[
        vec![row(1)],
        vec![again.clone()],
        vec![again.clone()],
        vec![again],
    ]);
    assert_eq!(events[1], [(ListingEventType::Relisted, "M-7".to_owned())]);
    assert!(events[2].is_empty() && events[3].is_empty());
}

#[test]
fn what_came_in_off_the_market_and_is_offered_again_is_relisted() {
    let of = |status, day: Option<&str>| {
        let mut row = with_status(row(1), status);
        row.listing.off_market_date = day.map(Into::into);
        row
    };
    // The first scan is on 28 November 2026, and the home is back two days later.
    for (status, day, relisted) in [
        (ListingStatus::Pending, None, true),
        (ListingStatus::Pending, Some("2026-11-01"), true),
        (ListingStatus::Pending, Some("2026-08-01"), false),
        (ListingStatus::Withdrawn, Some("2026-09-01"), true),
        (ListingStatus::Withdrawn, Some("2026-08-01"), false),
        (ListingStatus::Withdrawn, None, false),
        // A day to come is no later than the scan that saw it off the market.
        (ListingStatus::Closed, Some("2027-11-01"), true),
    ] {
        let came = of(status, day);
        let (back, id) = match relisted {
            true => (ListingEventType::Relisted, "M-1".to_owned()),
            false => (ListingEventType::NewListing, "M-1".to_owned()),
        };
        for first in [vec![came.clone()], vec![]] {
            let events = scans(&[first, vec![came.clone()], vec![row(1)]]);
            assert!(events[1].is_empty());
            assert_eq!(events[2], [(back, id.clone())], "{status} {day:?}");
        }
    }
    // Pending, then nowhere for a while.
    let pending = of(ListingStatus::Pending, None);
    let events = scans(&[vec![pending], vec![], vec![], vec![], vec![row(1)]]);
    assert!(events[..4].iter().all(Vec::is_empty));
    assert_eq!(events[4], [(ListingEventType::Relisted, "M-1".to_owned())]);
}

#[test]
fn apartments_for_rent_without_a_number_are_not_one_home() {
    let flat = |number, dollars: i64| {
        let mut flat = row(number);
        flat.listing.listing_type = brownstone_domain::ListingType::Rental;
        flat.listing.property_type = PropertyType::MultiFamily;
        flat.listing.list_price = None;
        flat.listing.asking_rent = Some(Dollars::from_cents(dollars * 100));
        flat.listing.unit = None;
        flat.listing.bin = row(1).listing.bin;
        flat
    };
    let both = vec![flat(1, 3_000), flat(2, 3_400)];
    assert_eq!(without_duplicates(both.clone(), &BTreeSet::new()).1, 0);
    // One is let, and another comes on the market in the same building.
    let events = scans(&[
        both,
        vec![
            with_status(flat(1, 3_000), ListingStatus::Closed),
            flat(2, 3_400),
        ],
        vec![flat(2, 3_400), flat(3, 3_500)],
    ]);
    assert_eq!(
        events[1..],
        [
            vec![(ListingEventType::OffMarket, "M-1".to_owned())],
            vec![(ListingEventType::NewListing, "M-3".to_owned())],
        ]
    );
}

#[test]
fn a_price_change_that_the_feed_does_not_tell_is_remembered() {
    let known = difference(vec![], vec![priced(1, 900_000)], true, NOW).known;
    let finish = difference(known, vec![priced(1, 850_000)], false, NOW + DAY);
    let listing = &finish.known[0].row.listing;
    assert_eq!(listing.previous_list_price.unwrap().to_string(), "900000");
    assert_eq!(listing.price_change.unwrap().to_string(), "-50000");
    assert_eq!(listing.price_changed_at, Some(NOW + DAY));
    let event = &finish.events[0];
    assert_eq!(event.price_change_percent, Some(-5.56));
    assert_eq!(event.occurred_on, None);
    let kept = difference(finish.known, vec![priced(1, 850_000)], false, NOW + DAY * 2).known;
    assert_eq!(kept[0].row.listing.price_changed_at, Some(NOW + DAY));
}

#[test]
fn a_home_that_is_offered_twice_is_shown_once() {
    let mut twin = row(2);
    twin.listing.bin = row(1).listing.bin;
    twin.listing.unit = Some("Apt 1a".into());
    let known = BTreeSet::from([twin.key()]);
    let (rows, gone) = without_duplicates(vec![row(1), twin.clone(), row(3)], &known);
    assert_eq!((rows.len(), gone), (2, 1));
    assert!(
        rows.iter().any(|row| row.key() == twin.key()),
        "the known one stays"
    );
    // A past listing of the home is no duplicate, and neither is an apartment without a number.
    let past = with_status(twin.clone(), ListingStatus::Closed);
    assert_eq!(
        without_duplicates(vec![row(1), past], &BTreeSet::new()).1,
        0
    );
    let bare = |number| {
        let mut bare = priced(number, 500_000 + i64::try_from(number).unwrap());
        bare.listing.unit = None;
        bare.listing.bin = row(1).listing.bin;
        bare
    };
    assert_eq!(
        without_duplicates(vec![bare(1), bare(2)], &BTreeSet::new()).1,
        0
    );
    let same = |number| {
        let mut same = bare(5);
        same.listing.listing_key = row(number).listing.listing_key;
        same
    };
    assert_eq!(
        without_duplicates(vec![same(1), same(2)], &BTreeSet::new()).1,
        1
    );
    let house = |number| {
        let mut house = bare(number);
        house.listing.property_type = PropertyType::SingleFamily;
        house
    };
    assert_eq!(
        without_duplicates(vec![house(1), house(2)], &BTreeSet::new()).1,
        1
    );
}

#[test]
fn an_identifier_that_comes_twice_counts_as_it_was_changed_last() {
    let mut later = priced(1, 800_000);
    later.listing.sources.get_mut("reso").unwrap().updated_at = Some(NOW + DAY);
    let (rows, gone) = without_duplicates(vec![later.clone(), row(1)], &BTreeSet::new());
    assert_eq!((rows, gone), (vec![later], 1));
}
