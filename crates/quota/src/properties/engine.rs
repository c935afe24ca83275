//! The memory engine against the reference, whatever it drops, copies or refuses.

use std::sync::Arc;

use brownstone_domain::{Limits, ManualClock, Units, clock::from_micros};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

use super::{
    Kept, assert_days, assert_windows, ready,
    strategies::{self, NOON_US},
};
use crate::{
    decision::{Decision, Receipt},
    memory::{AccountRecord, MemoryOptions, MemoryQuota},
    record::{DAY_US, MINUTE_US, Outcome, Record},
    store::{QuotaStore, QuotaUnavailable},
};

/// Names of each form in which an account is kept, two of one.
const ACCOUNTS: [&str; 4] = [
    "a",
    "5b0e93c1d2a47f68",
    "f17d6c3a-9b0e-4c52-8d41-6a7e20b95c38",
    "68f7a4d2c1930e5b",
];

#[derive(Debug, Clone)]
enum Op {
    Charge(usize, Units, Limits),
    Refund(Index),
    Peek(usize, Limits),
    Forward(u64),
    Back(u64),
    Sweep,
    Restart,
}

fn op(clock_steps_back: bool) -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..4_usize, strategies::cost(), strategies::limits())
            .prop_map(|(who, cost, limits)| Op::Charge(who, cost, limits)),
        2 => any::<Index>().prop_map(Op::Refund),
        2 => (0..4_usize, strategies::limits()).prop_map(|(who, limits)| Op::Peek(who, limits)),
        4 => strategies::step().prop_map(Op::Forward),
        3 => strategies::step()
            .prop_map(move |by| if clock_steps_back { Op::Back(by) } else { Op::Forward(by) }),
        2 => Just(Op::Sweep),
        1 => Just(Op::Restart),
    ]
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(from_micros(NOON_US).unwrap()))
}

fn sorted(engine: &MemoryQuota) -> Vec<AccountRecord> {
    let mut records = engine.snapshot();
    records.sort_by(|a, b| a.account.cmp(&b.account));
    records
}

proptest! {
    #![proptest_config(super::histories())]

    /// Limits change with every call; records are dropped and carried over a restart anywhere.
    #[test]
    fn every_decision_is_the_references(ops in vec(op(false), 1..80)) {
        let clock = clock();
        let mut engine = MemoryQuota::new(clock.clone());
        let mut records = [Record::default(); 4];
        let mut receipts: Vec<(usize, Receipt)> = Vec::new();
        let mut now_us = NOON_US;
        for op in ops {
            match op {
                Op::Charge(who, cost, limits) => {
                    let before = sorted(&engine);
                    let expected = records[who].charge(now_us, cost, limits);
                    let got = ready(engine.charge(ACCOUNTS[who], cost, limits)).unwrap();
                    prop_assert_eq!(&got, &expected.into_decision(ACCOUNTS[who]));
                    if let Outcome::Admitted { record, .. } = expected {
                        records[who] = record;
                    }
                    match got {
                        Decision::Admitted { receipt, .. } if cost > Units::ZERO => {
                            receipts.push((who, receipt));
                        }
                        _ => {
                            // Idle records may have gone; nothing else has moved, and nothing has come.
                            let after = sorted(&engine);
                            prop_assert!(after.iter().all(|record| before.contains(record)));
                            let gone = before.iter().filter(|record| !after.contains(record));
                            prop_assert!(gone.clone().all(|gone| gone.record.is_idle(now_us)));
                        }
                    }
                }
                Op::Refund(which) if !receipts.is_empty() => {
                    let (who, receipt) = receipts.swap_remove(which.index(receipts.len()));
                    // The engine knows the largest ceiling of the minute; here a refund waits until none is left to know.
                    now_us = now_us.max(receipt.charge().charged_at_us + MINUTE_US);
                    clock.set(from_micros(now_us).unwrap());
                    records[who] = records[who].refund(now_us, receipt.charge(), 0);
                    ready(engine.refund(receipt)).unwrap();
                }
                Op::Peek(who, limits) => {
                    let before = sorted(&engine);
                    let got = ready(engine.peek(ACCOUNTS[who], limits)).unwrap();
                    prop_assert_eq!(got, records[who].peek(now_us, limits));
                    prop_assert_eq!(sorted(&engine), before);
                }
                Op::Forward(by) => {
                    now_us += by;
                    clock.set(from_micros(now_us).unwrap());
                }
                Op::Sweep => {
                    let before = engine.len();
                    let dropped = engine.sweep(usize::MAX);
                    prop_assert_eq!(engine.len(), before - dropped);
                    prop_assert!(engine.snapshot().iter().all(|r| !r.record.is_idle(now_us)));
                }
                Op::Restart => {
                    let next = MemoryQuota::new(clock.clone());
                    next.restore(engine.snapshot()).unwrap();
                    engine = next;
                }
                Op::Refund(_) | Op::Back(_) => {}
            }
        }
    }

    /// Limits stay, and a refund comes at any moment: with them the engine is the reference too.
    #[test]
    fn refunds_are_the_references(
        account in select(&ACCOUNTS),
        limits in strategies::limits(),
        ops in vec(op(false), 1..80),
    ) {
        let clock = clock();
        let engine = MemoryQuota::new(clock.clone());
        let mut record = Record::default();
        let mut receipts: Vec<Receipt> = Vec::new();
        let mut now_us = NOON_US;
        for op in ops {
            match op {
                Op::Charge(_, cost, _) => {
                    let outcome = record.charge(now_us, cost, limits);
                    let got = ready(engine.charge(account, cost, limits)).unwrap();
                    prop_assert_eq!(&got, &outcome.into_decision(account));
                    if let Outcome::Admitted { record: after, .. } = outcome {
                        record = after;
                    }
                    if let Decision::Admitted { receipt, .. } = got {
                        receipts.push(receipt);
                    }
                }
                Op::Refund(which) if !receipts.is_empty() => {
                    let receipt = receipts.swap_remove(which.index(receipts.len()));
                    record = record.refund(now_us, receipt.charge(), 0);
                    ready(engine.refund(receipt)).unwrap();
                }
                Op::Forward(by) => {
                    now_us += by;
                    clock.set(from_micros(now_us).unwrap());
                }
                Op::Sweep => {
                    engine.sweep(usize::MAX);
                }
                _ => {}
            }
            let seen = ready(engine.peek(account, limits)).unwrap();
            prop_assert_eq!(seen, record.peek(now_us, limits));
        }
    }

    /// Ceilings that change in the very minute of a refund: the bounds of the largest still hold.
    #[test]
    fn charges_that_stand_keep_the_bounds_through_raises_refunds_and_steps_back(
        account in select(&ACCOUNTS),
        ops in vec(op(true), 1..120),
    ) {
        let clock = clock();
        let engine = MemoryQuota::new(clock.clone());
        let mut standing: Vec<Receipt> = Vec::new();
        let (mut most_minute, mut most_day) = (0, 0);
        let mut now_us = NOON_US;
        for op in ops {
            match op {
                Op::Charge(_, cost, limits) => {
                    most_minute = most_minute.max(limits.per_minute());
                    most_day = most_day.max(limits.per_day());
                    if let Decision::Admitted { receipt, .. } =
                        ready(engine.charge(account, cost, limits)).unwrap()
                    {
                        standing.push(receipt);
                    }
                }
                Op::Refund(which) if !standing.is_empty() => {
                    let receipt = standing.swap_remove(which.index(standing.len()));
                    ready(engine.refund(receipt)).unwrap();
                }
                Op::Forward(by) => now_us += by,
                Op::Back(by) => now_us = now_us.saturating_sub(by),
                Op::Sweep => {
                    engine.sweep(usize::MAX);
                }
                _ => {}
            }
            clock.set(from_micros(now_us).unwrap());
        }
        let mut kept: Vec<Kept> = standing
            .iter()
            .map(|receipt| Kept {
                at_us: receipt.charge().charged_at_us,
                day: receipt.charge().day,
                cost: receipt.cost().get(),
            })
            .collect();
        kept.sort_by_key(|charge| charge.at_us);
        assert_windows(&kept, most_minute);
        assert_days(&kept, most_day);
    }
}

#[test]
fn records_are_made_by_charges_alone() {
    let engine = MemoryQuota::new(clock());
    let limits = Limits::new(10, 100).unwrap();
    ready(engine.peek("a", limits)).unwrap();
    let free = ready(engine.charge("a", Units::ZERO, limits)).unwrap();
    let never = ready(engine.charge("a", Units::new(11), limits)).unwrap();
    assert!(matches!(never, Decision::TooLarge { .. }));
    let Decision::Admitted { receipt, .. } = free else {
        panic!("nothing is always admitted");
    };
    ready(engine.refund(receipt)).unwrap();
    assert!(engine.is_empty());
    let receipt = match ready(engine.charge("a", Units::new(10), limits)).unwrap() {
        Decision::Admitted { receipt, .. } => receipt,
        other => panic!("{other:?}"),
    };
    assert_eq!(engine.len(), 1);
    assert!(!engine.is_empty());
    ready(engine.refund(receipt)).unwrap();
    assert_eq!(
        engine.sweep(1),
        1,
        "given back at once: nothing is left to remember"
    );
    assert!(engine.is_empty());
}

#[test]
fn a_full_engine_refuses_newcomers_until_a_record_is_idle() {
    let clock = clock();
    let options = MemoryOptions {
        max_records: 100,
        ..MemoryOptions::default()
    };
    let engine = MemoryQuota::with_options(clock.clone(), options);
    let limits = Limits::default();
    let charge = |account: &str| ready(engine.charge(account, Units::new(10), limits));
    for i in 0..100 {
        assert!(charge(&format!("first {i}")).is_ok());
    }
    for i in 0..100 {
        assert_eq!(charge(&format!("second {i}")), Err(QuotaUnavailable::Full));
        assert!(charge(&format!("first {i}")).is_ok(), "live records go on");
    }
    assert_eq!(engine.len(), 100);
    let view = ready(engine.peek("first 0", limits)).unwrap();
    assert_eq!(view.day_used(), 20, "none was dropped");

    clock.set(from_micros(NOON_US + DAY_US).unwrap());
    let admitted = (0..1_000)
        .filter(|i| charge(&format!("third {i}")).is_ok())
        .count();
    assert_eq!(admitted, 100, "the day is over for the first hundred");
    assert_eq!(engine.len(), 100);
    let restored = MemoryQuota::with_options(
        clock.clone(),
        MemoryOptions {
            max_records: 99,
            ..options
        },
    );
    assert_eq!(
        restored.restore(engine.snapshot()),
        Err(QuotaUnavailable::Full)
    );
    assert_eq!(restored.len(), 99);
}

/// Three names, one of each form.
fn names(n: u64) -> [String; 3] {
    [
        format!("{n:016x}"),
        format!("00000000-0000-4000-8000-{n:012x}"),
        format!("account {n}"),
    ]
}

#[test]
fn charges_drop_what_is_idle_a_little_at_a_time() {
    let clock = clock();
    let engine = MemoryQuota::new(clock.clone());
    let limits = Limits::default();
    let charge = |account: &str| {
        let decision = ready(engine.charge(account, Units::new(10), limits)).unwrap();
        assert!(matches!(decision, Decision::Admitted { .. }));
    };
    for n in 0..1_000 {
        names(n).iter().for_each(|name| charge(name));
    }
    assert_eq!(engine.len(), 3_000);
    for n in 0..2_000 {
        clock.set(from_micros(NOON_US + DAY_US + n * 1_000).unwrap());
        charge(&format!("of the next day {n}"));
    }
    assert_eq!(engine.len(), 2_000);
}

#[test]
fn a_sweep_says_how_many_went() {
    let clock = clock();
    let engine = MemoryQuota::new(clock.clone());
    for name in (0..50).flat_map(names) {
        let decision = ready(engine.charge(&name, Units::new(10), Limits::default()));
        assert!(matches!(decision, Ok(Decision::Admitted { .. })));
    }
    clock.set(from_micros(NOON_US + DAY_US).unwrap());
    assert_eq!(engine.sweep(usize::MAX), 150);
    assert!(engine.is_empty());
    assert_eq!(engine.sweep(usize::MAX), 0);
}

#[test]
fn a_newcomer_finds_the_room_that_another_shard_has() {
    let options = MemoryOptions {
        max_records: 1,
        ..MemoryOptions::default()
    };
    for name in 0..20 {
        let clock = clock();
        let engine = MemoryQuota::with_options(clock.clone(), options);
        let charge =
            |account: &str| ready(engine.charge(account, Units::new(10), Limits::default()));
        assert!(charge("old").is_ok());
        let newcomer = format!("new {name}");
        assert!(charge(&newcomer).is_err());
        clock.set(from_micros(NOON_US + DAY_US).unwrap());
        let tries = (1..=8).find(|_| charge(&newcomer).is_ok());
        assert!(tries.is_some(), "eight calls look at every shard");
        assert_eq!(engine.len(), 1);
    }
}

#[test]
fn a_refund_counts_what_refilled_at_the_largest_ceiling_of_its_minute() {
    let clock = clock();
    let engine = MemoryQuota::new(clock.clone());
    let (low, high) = (Limits::default(), Limits::new(480, 10_000).unwrap());
    let charge =
        |cost: u32, limits: Limits| match ready(engine.charge("a", Units::new(cost), limits))
            .unwrap()
        {
            Decision::Admitted { receipt, .. } => receipt,
            other => panic!("{other:?}"),
        };
    let left = || ready(engine.peek("a", low)).unwrap().minute_remaining();

    let receipt = charge(240, low);
    clock.set(from_micros(NOON_US + 10_000_000).unwrap());
    charge(1, high);
    charge(1, low);
    assert_eq!(left(), 78, "80 units came back at the higher ceiling");
    ready(engine.refund(receipt)).unwrap();
    assert_eq!(left(), 238, "160 were due, and the two charges stand");

    // After a pause of a minute the higher ceiling is history.
    let later = NOON_US + 10_000_000 + MINUTE_US;
    clock.set(from_micros(later).unwrap());
    let receipt = charge(10, low);
    charge(100, low);
    clock.set(from_micros(later + 1_000_000).unwrap());
    assert_eq!(left(), 134);
    ready(engine.refund(receipt)).unwrap();
    assert_eq!(left(), 140);
}

#[test]
fn a_day_dropped_by_a_clock_that_ran_ahead_is_not_handed_out_again() {
    let clock = clock();
    let engine = MemoryQuota::new(clock.clone());
    let limits = Limits::new(100, 100).unwrap();
    let charge = || ready(engine.charge("a", Units::new(100), limits)).unwrap();
    assert!(matches!(charge(), Decision::Admitted { .. }));
    clock.set(from_micros(NOON_US + DAY_US).unwrap());
    assert_eq!(engine.sweep(usize::MAX), 1);
    clock.set(from_micros(NOON_US + MINUTE_US).unwrap());
    let Decision::Admitted { receipt, .. } = charge() else {
        panic!("tomorrow's budget is there");
    };
    assert_eq!(u64::from(receipt.charge().day), (NOON_US + DAY_US) / DAY_US);
    assert!(matches!(charge(), Decision::Short { .. }));
    clock.set(from_micros(NOON_US + DAY_US + MINUTE_US).unwrap());
    assert!(matches!(charge(), Decision::Short { .. }), "and only once");
}

#[test]
fn a_restored_record_does_not_replace_what_was_charged_since() {
    let limits = Limits::default();
    let old = MemoryQuota::new(clock());
    let new = MemoryQuota::new(clock());
    for (engine, cost) in [(&old, 30), (&new, 10)] {
        let decision = ready(engine.charge("a", Units::new(cost), limits)).unwrap();
        assert!(matches!(decision, Decision::Admitted { .. }));
    }
    new.restore(old.snapshot()).unwrap();
    assert_eq!(ready(new.peek("a", limits)).unwrap().day_used(), 10);
}

#[test]
fn of_two_restored_records_the_later_and_larger_stays_in_either_order() {
    let limits = Limits::default();
    let spent = |days: u64, cost: u32| {
        let clock = clock();
        clock.set(from_micros(NOON_US + days * DAY_US).unwrap());
        let engine = MemoryQuota::new(clock);
        let decision = ready(engine.charge("a", Units::new(cost), limits));
        assert!(matches!(decision, Ok(Decision::Admitted { .. })));
        engine.snapshot()
    };
    for (stays, goes) in [(spent(1, 30), spent(1, 10)), (spent(1, 10), spent(0, 30))] {
        for order in [[&stays, &goes], [&goes, &stays]] {
            let new = MemoryQuota::new(clock());
            for records in order {
                new.restore(records.iter().cloned()).unwrap();
            }
            assert_eq!(new.snapshot(), stays);
        }
    }
}

async fn rig() -> crate::contract::Rig {
    let clock = clock();
    crate::contract::Rig::new(Arc::new(MemoryQuota::new(clock.clone())), clock)
}

mod contract {
    crate::quota_store_contract!(super::rig);
}
