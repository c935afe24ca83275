//! Any body of any operation is a request or a fault that names what is wrong, and no panic.
//!
//! The first byte chooses the operation.
#![no_main]

use brownstone_domain::{OPERATIONS, Operation};
use brownstone_service::{body, comps, fields, rates, rentals, search, updates};
use libfuzzer_sys::fuzz_target;
use time::macros::datetime;

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else {
        return;
    };
    let spec = &OPERATIONS[usize::from(*choice) % OPERATIONS.len()];
    let read = body::parse(body, spec);
    let fault = match &read {
        Err(fault) => Some(fault.clone()),
        Ok(object) => match spec.operation {
            Operation::LookupProperty => fields::lookup(object).err(),
            Operation::GetComps => comps::fields(object).err(),
            Operation::GetRentalEstimates => rentals::fields(object).err(),
            Operation::SearchListings => search::fields(object).err(),
            Operation::GetListingUpdates => {
                updates::fields(object, datetime!(2026-11-27 12:00 UTC)).err()
            }
            Operation::GetMortgageRates => rates::fields(object).err(),
            Operation::GetUsage => None,
        },
    };
    if let Some(fault) = fault {
        let told = brownstone_service::Failure::from(fault);
        assert!(!told.message.is_empty() && told.message.chars().count() < 2_000);
        assert!(!told.message.chars().any(char::is_control), "{:?}", told.message);
    }
});
