//! Any body in place of the weekly survey, or of FRED in either form, is a rate that can be or a fault, without a panic.
//!
//! The first byte chooses the form.
#![no_main]

use brownstone_rates::observation::{fred_csv, fred_json, pmms_csv};
use libfuzzer_sys::fuzz_target;
use time::macros::date;

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else {
        return;
    };
    let until = date!(2026 - 11 - 27);
    let read = match choice % 3 {
        0 => pmms_csv(body, "pmms30", "pmms30p", until),
        1 => fred_csv(body, "MORTGAGE30US", until),
        _ => fred_json(body, until),
    };
    if let Ok(newest) = read {
        let found = newest.latest;
        assert!(found.rate_percent.is_finite() && found.rate_percent >= 0.0);
        assert!(found.day().is_some_and(|day| day <= until), "{found:?}");
    }
});
