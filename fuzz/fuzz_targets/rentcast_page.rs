//! Any body in place of a page of RentCast is listings or none, without a panic; each has a key that reads back and is JSON.
//!
//! The first byte chooses sales or rentals.
#![no_main]

use brownstone_domain::ListingType;
use brownstone_listings::feed::fuzzing;
use libfuzzer_sys::fuzz_target;
use time::macros::datetime;

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else {
        return;
    };
    let offer = [ListingType::Sale, ListingType::Rental][usize::from(choice % 2)];
    let Some(rows) = fuzzing::rentcast_page(body, offer, datetime!(2026-11-27 12:00 UTC)) else {
        return;
    };
    for row in rows {
        assert_eq!(row.listing.listing_key.parse(), Ok(row.key()));
        assert_eq!(row.listing.listing_type, offer);
        serde_json::to_string(&row.listing).expect("a listing is JSON");
    }
});
