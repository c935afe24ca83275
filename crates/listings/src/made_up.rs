//! Made-up listings for tests and benchmarks, without chance: the same from the same number.

use brownstone_domain::{
    Dollars, ListingStatus, ListingType, OpenHouse, PropertyType, PublishedDate, Zip,
};
use time::{Date, Duration, OffsetDateTime, macros::datetime};

use crate::{Display, Row, clean, feed::blank};

/// When made-up listings are seen: noon, 28 November 2026.
pub const NOW: OffsetDateTime = datetime!(2026-11-28 12:00 UTC);

/// The feed made-up listings come from.
pub const FEED: &str = "reso";

/// A stream of numbers from one start.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// `None` once in `of`.
    fn mostly<T>(&mut self, of: u64, value: T) -> Option<T> {
        (self.below(of) != 0).then_some(value)
    }
}

fn date(day: Date) -> PublishedDate {
    day.to_string().as_str().into()
}

/// An active sale of a condominium unit in ZIP 10001, every fact set; each number another unit.
pub fn row(number: u64) -> Row {
    let mut listing = blank(
        FEED,
        ListingType::Sale,
        &format!("M-{number}"),
        Some(NOW),
        NOW,
    );
    listing.status = ListingStatus::Active;
    listing.status_raw = Some("Active".into());
    listing.property_type = PropertyType::Condo;
    listing.address = Some(format!("{} 5 AVENUE {number}A", 100 + number));
    listing.house_number = Some((100 + number).to_string());
    listing.street = Some("5 AVENUE".into());
    listing.unit = Some(format!("{number}A"));
    listing.zip_code = "10001".parse().ok();
    listing.bin = format!("1{:06}", 1 + number % 900_000).parse().ok();
    listing.list_price = Some(Dollars::from_cents(100_000_000));
    listing.list_date = Some("2026-11-01".into());
    listing.bedrooms = Some(2);
    listing.bathrooms = Some(1.5);
    listing.living_area_sqft = Some(1_000);
    listing.price_per_sqft = clean::price_per_sqft(listing.list_price, Some(1_000));
    Row {
        listing,
        new_construction: Some(false),
        display: Display::Whole,
    }
}

/// A listing of any kind, with facts missing here and there.
pub fn any_row(number: u64, zip: Zip) -> Row {
    let mut numbers = Numbers(number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bd1_e995);
    let mut row = row(number);
    let listing = &mut row.listing;
    let rental = numbers.below(2) == 0;
    listing.listing_type = if rental {
        ListingType::Rental
    } else {
        ListingType::Sale
    };
    listing.listing_key =
        crate::ListingKey::of(FEED, listing.listing_type, &listing.source_listing_id).to_string();
    listing.zip_code = Some(zip);
    // Nine in ten are active, and a few are over.
    listing.status = match numbers.below(40) {
        0 => ListingStatus::ComingSoon,
        1 => ListingStatus::ActiveUnderContract,
        2 => ListingStatus::Pending,
        3 => ListingStatus::Closed,
        _ => ListingStatus::Active,
    };
    listing.property_type =
        PropertyType::ALL[numbers.below(PropertyType::ALL.len() as u64) as usize];
    let dollars = if rental {
        1_500 + numbers.below(200) * 50
    } else {
        200_000 + numbers.below(400) * 12_500
    };
    let price = numbers.mostly(10, Dollars::from_cents(dollars as i64 * 100));
    listing.list_price = None;
    if rental {
        listing.asking_rent = price;
    } else {
        listing.list_price = price;
    }
    if numbers.below(4) == 0 {
        let before = dollars as i64 * 100 + (numbers.below(5) as i64 - 2) * 100_000;
        listing.previous_list_price = Some(Dollars::from_cents(before));
        listing.price_change = price.map(|_| Dollars::from_cents(dollars as i64 * 100 - before));
    }
    let listed = NOW.date() - Duration::days(numbers.below(200) as i64);
    listing.list_date = numbers.mostly(12, date(listed));
    if listing.list_date.is_none() {
        let days = u32::try_from((NOW.date() - listed).whole_days()).unwrap_or(0);
        listing.days_on_market = numbers.mostly(2, days);
    }
    if listing.status == ListingStatus::Pending || listing.status == ListingStatus::Closed {
        listing.off_market_date = Some(date(NOW.date() - Duration::days(2)));
    }
    let bedrooms = numbers.below(6) as u32;
    listing.bedrooms = numbers.mostly(9, bedrooms);
    let bathrooms = 1.0 + numbers.below(7) as f64 / 2.0;
    listing.bathrooms = numbers.mostly(9, bathrooms);
    let area = 300 + numbers.below(3_000) as u32;
    listing.living_area_sqft = numbers.mostly(3, area);
    listing.price_per_sqft = clean::price_per_sqft(price, listing.living_area_sqft);
    let year = 1880 + numbers.below(147) as u32;
    listing.year_built = numbers.mostly(6, year);
    row.new_construction = [None, Some(true), Some(false)][numbers.below(3) as usize];
    let listing = &mut row.listing;
    let mut maybe = || [None, Some(true), Some(false)][numbers.below(3) as usize];
    listing.no_fee = maybe();
    listing.pets_allowed = maybe();
    listing.furnished = maybe();
    listing.rent_stabilized = maybe();
    if numbers.below(5) == 0 {
        let day = NOW.date() + Duration::days(numbers.below(10) as i64 - 5);
        listing.open_houses = vec![OpenHouse {
            date: Some(date(day)),
            start_time: None,
            end_time: None,
        }];
    }
    if rental {
        let day = NOW.date() + Duration::days(numbers.below(90) as i64 - 30);
        listing.available_date = numbers.mostly(4, date(day));
    }
    listing.latitude = Some(40.70 + numbers.below(1_000) as f64 / 10_000.0);
    listing.longitude = Some(-74.01 + numbers.below(1_000) as f64 / 10_000.0);
    row
}
