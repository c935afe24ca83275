//! Any body in place of a page of a RESO Web API is listings or none, without a panic; each has a key that reads back and is JSON.
#![no_main]

use brownstone_listings::feed::fuzzing;
use libfuzzer_sys::fuzz_target;
use time::macros::datetime;

fuzz_target!(|body: &[u8]| {
    let Some((rows, _)) = fuzzing::reso_page(body, datetime!(2026-11-27 12:00 UTC)) else {
        return;
    };
    for row in rows {
        assert_eq!(row.listing.listing_key.parse(), Ok(row.key()));
        serde_json::to_string(&row.listing).expect("a listing is JSON");
    }
});
