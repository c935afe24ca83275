//! Properties that hold over random histories, for the arithmetic and for the memory engine.

mod arithmetic;
mod engine;
mod ledger;
pub(crate) mod strategies;
mod test_ledger;
mod threads;

use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use proptest::prelude::ProptestConfig;

use crate::record::SUB_UNITS;

/// Histories in one run of each property; more where `PROPTEST_CASES` says so.
const HISTORIES: u32 = 10_000;

fn histories() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: config.cases.max(HISTORIES),
        ..config
    }
}

/// The result of a future that never has to wait.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits, though there is nothing to wait for"),
    }
}

/// A charge that was admitted and stands.
#[derive(Debug, Clone, Copy)]
struct Kept {
    at_us: u64,
    day: u32,
    cost: u32,
}

/// In every window the charges that stand cost at most the capacity and what refilled in it: in sub-units, no tolerance.
fn assert_windows(kept: &[Kept], per_minute: u32) {
    let rate = u128::from(per_minute);
    for (i, first) in kept.iter().enumerate() {
        let mut cost = 0_u128;
        for last in &kept[i..] {
            cost += u128::from(last.cost) * u128::from(SUB_UNITS);
            let window = u128::from(last.at_us - first.at_us);
            let allowed = rate * (u128::from(SUB_UNITS) + window);
            assert!(
                cost <= allowed,
                "{cost} sub-units in {window} us, {allowed} allowed: {kept:?}"
            );
        }
    }
}

/// On every UTC day the charges that stand cost at most the ceiling.
fn assert_days(kept: &[Kept], per_day: u32) {
    let mut days = BTreeMap::<u32, u64>::new();
    for charge in kept {
        *days.entry(charge.day).or_default() += u64::from(charge.cost);
    }
    for (day, spent) in days {
        assert!(
            spent <= u64::from(per_day),
            "day {day}: {spent} of {per_day}: {kept:?}"
        );
    }
}
