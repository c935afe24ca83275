//! The memory engine with a ledger behind it: exact after a clean stop, never generous after a crash.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use brownstone_domain::{Limits, ManualClock, Units, clock::from_micros};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    Kept, assert_days, assert_windows, ready,
    strategies::{self, NOON_US},
    test_ledger::{Mode, TestLedger},
};
use crate::{
    decision::{Decision, Receipt},
    ledger::SpentLedger,
    memory::{MemoryOptions, MemoryQuota},
    record::{DAY_US, MINUTE_US, Record, day_of},
    store::{QuotaStore, QuotaUnavailable},
};

fn clock_at(us: u64) -> Arc<ManualClock> {
    Arc::new(ManualClock::at(from_micros(us).unwrap()))
}

fn open(clock: &Arc<ManualClock>, ledger: &Arc<TestLedger>) -> MemoryQuota {
    let opened = MemoryQuota::open(clock.clone(), MemoryOptions::default(), ledger.clone());
    ready(opened).unwrap()
}

fn rig() -> (Arc<ManualClock>, Arc<TestLedger>, MemoryQuota) {
    let (clock, ledger) = (clock_at(NOON_US), Arc::new(TestLedger::default()));
    let engine = open(&clock, &ledger);
    (clock, ledger, engine)
}

fn charge(engine: &MemoryQuota, cost: u32) -> Result<Decision, QuotaUnavailable> {
    ready(engine.charge("a", Units::new(cost), Limits::default()))
}

fn used(engine: &MemoryQuota) -> u64 {
    ready(engine.peek("a", Limits::default()))
        .unwrap()
        .day_used()
}

/// Polls once and drops what is still waiting, as a caller does who hangs up.
fn attempt<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn the_ledger_is_asked_once_a_block() {
    let (_, ledger, engine) = rig();
    // (charges of 10 so far, reservations so far)
    for (charges, reservations) in [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3)] {
        while used(&engine) < charges * 10 {
            assert!(charge(&engine, 10).is_ok());
        }
        assert_eq!(ledger.reservations(), reservations);
    }
    let refused = ready(engine.charge("a", Units::new(241), Limits::default())).unwrap();
    assert!(matches!(refused, Decision::TooLarge { .. }));
    assert_eq!(ledger.reservations(), 3, "a refusal reserves nothing");
}

#[test]
fn a_day_is_reserved_in_two_hundred_blocks_at_most() {
    for (per_day, charges, reservations) in [
        // (a day's ceiling, charges of 10, reservations they take)
        (10_000, 100, 20),
        (20_000, 100, 10),
        (1_000_000, 500, 1),
        (1_000_000, 501, 2),
    ] {
        let (_, ledger, engine) = rig();
        let limits = Limits::new(per_day, per_day).unwrap();
        for _ in 0..charges {
            let decision = ready(engine.charge("a", Units::new(10), limits)).unwrap();
            assert!(matches!(decision, Decision::Admitted { .. }));
        }
        assert_eq!(ledger.reservations(), reservations, "{per_day} a day");
    }
}

#[test]
fn no_more_is_reserved_than_the_day_has() {
    let (_, ledger, engine) = rig();
    let limits = Limits::new(240, 60).unwrap();
    for _ in 0..6 {
        let decision = ready(engine.charge("a", Units::new(10), limits)).unwrap();
        assert!(matches!(decision, Decision::Admitted { .. }));
    }
    let rows = ready(ledger.load(0)).unwrap();
    assert_eq!(rows[0].spent, 60);
}

#[test]
fn what_the_ledger_does_not_take_is_not_spent() {
    let (_, ledger, engine) = rig();
    for mode in [Mode::Fails, Mode::FailsAfterWriting] {
        ledger.set(mode);
        assert!(matches!(
            charge(&engine, 10),
            Err(QuotaUnavailable::Silent { .. })
        ));
        assert!(engine.is_empty());
    }
    ledger.set(Mode::Works);
    assert!(charge(&engine, 40).is_ok());
    ledger.set(Mode::Fails);
    assert!(charge(&engine, 10).is_ok(), "still within the block");
    assert!(charge(&engine, 10).is_err());
    assert_eq!(used(&engine), 50);
    assert!(ready(engine.peek("a", Limits::default())).is_ok());
    let free = ready(engine.charge("a", Units::ZERO, Limits::default()));
    assert!(free.is_ok(), "what costs nothing needs no ledger");
}

#[tokio::test]
async fn calls_at_one_time_share_a_reservation() {
    let (_, ledger, engine) = rig();
    ledger.set(Mode::Yields);
    let engine = Arc::new(engine);
    let calls: Vec<_> = (0..30)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.charge("a", Units::new(10), Limits::default()).await })
        })
        .collect();
    let mut admitted = 0;
    for call in calls {
        if let Decision::Admitted { .. } = call.await.unwrap().unwrap() {
            admitted += 1;
        }
    }
    assert_eq!((admitted, used(&engine)), (24, 240));
    assert_eq!(ledger.reservations(), 5, "240 units are five blocks");
}

#[tokio::test]
async fn calls_that_wait_for_a_failing_ledger_fail_with_it() {
    let (_, ledger, engine) = rig();
    ledger.set(Mode::Yields);
    let engine = Arc::new(engine);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.charge("a", Units::new(10), Limits::default()).await })
        })
        .collect();
    let broken = ledger.clone();
    // Runs after the first call has asked the ledger and the others wait for it.
    tokio::spawn(async move { broken.set(Mode::Fails) });
    for call in calls {
        assert!(call.await.unwrap().is_err());
    }
    assert_eq!(ledger.reservations(), 1);
    assert!(engine.is_empty());
    ledger.set(Mode::Works);
    assert!(charge(&engine, 10).is_ok(), "no gate is left closed");
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_hold_the_others() {
    let (_, ledger, engine) = rig();
    ledger.set(Mode::HangsAfterWriting);
    let limits = Limits::default();
    let mut first = Box::pin(engine.charge("a", Units::new(10), limits));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    ledger.set(Mode::Works);
    let mut second = Box::pin(engine.charge("a", Units::new(10), limits));
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!(ledger.reservations(), 1);
    drop(first);
    assert!(matches!(second.await, Ok(Decision::Admitted { .. })));
    assert_eq!(used(&engine), 10, "the one who hung up was not charged");
}

#[test]
fn a_crash_gives_nothing_back() {
    let (clock, ledger, engine) = rig();
    assert!(charge(&engine, 37).is_ok());
    drop(engine);
    let engine = open(&clock, &ledger);
    assert_eq!(used(&engine), 50, "one block at most is lost");
    let limits = Limits::default();
    let Ok(Decision::Short { wait_us, .. }) = charge(&engine, 10) else {
        panic!("the bucket starts empty");
    };
    assert_eq!(wait_us, 2_500_000);
    clock.set(from_micros(NOON_US + MINUTE_US).unwrap());
    let view = ready(engine.peek("a", limits)).unwrap();
    assert_eq!(view.minute_remaining(), 240, "for sixty seconds at most");
    assert_eq!(
        ready(engine.peek("b", limits)).unwrap().minute_remaining(),
        240
    );
}

#[test]
fn a_crash_at_midnight_forgets_no_bucket() {
    let midnight = NOON_US + DAY_US / 2;
    let (clock, ledger) = (
        clock_at(midnight - 1_000_000),
        Arc::new(TestLedger::default()),
    );
    let engine = open(&clock, &ledger);
    assert!(charge(&engine, 240).is_ok());
    drop(engine);
    clock.set(from_micros(midnight + 1_000_000).unwrap());
    let engine = open(&clock, &ledger);
    assert!(matches!(charge(&engine, 10), Ok(Decision::Short { .. })));
    assert_eq!(used(&engine), 0, "the day is a new one");
}

#[test]
fn a_closed_engine_charges_nothing_and_still_answers() {
    let (_, ledger, engine) = rig();
    assert!(charge(&engine, 10).is_ok());
    ledger.set(Mode::Fails);
    assert!(ready(engine.close()).is_err());
    assert_eq!(charge(&engine, 10), Err(QuotaUnavailable::Closed));
    let rows = ready(ledger.load(0)).unwrap();
    assert_eq!(
        (rows[0].spent, rows[0].minute),
        (50, None),
        "as after a crash"
    );
    ledger.set(Mode::Works);
    ready(engine.close()).unwrap();
    assert_eq!(charge(&engine, 10), Err(QuotaUnavailable::Closed));
    assert_eq!(used(&engine), 10);
    let rows = ready(ledger.load(0)).unwrap();
    assert_eq!(rows[0].spent, 10);
}

#[tokio::test]
async fn closing_waits_for_a_reservation_under_way() {
    let (_, ledger, engine) = rig();
    assert!(charge(&engine, 45).is_ok());
    ledger.set(Mode::Yields);
    let (charged, closed) = {
        let charging = engine.charge("a", Units::new(10), Limits::default());
        let closing = engine.close();
        tokio::join!(charging, closing)
    };
    assert_eq!(charged, Err(QuotaUnavailable::Closed));
    closed.unwrap();
    let rows = ready(ledger.load(0)).unwrap();
    assert_eq!(
        rows[0].spent, 45,
        "exact, not blurred by the late reservation"
    );
}

#[derive(Debug, Clone)]
enum Op {
    Charge(u32, Mode),
    Refund(Index),
    Forward(u64),
    Sweep,
    Crash,
    Stop,
}

fn op(refunds: bool) -> impl Strategy<Value = Op> {
    let mode = prop_oneof![
        8 => Just(Mode::Works),
        1 => Just(Mode::Fails),
        1 => Just(Mode::FailsAfterWriting),
        1 => Just(Mode::HangsBeforeWriting),
        1 => Just(Mode::HangsAfterWriting),
    ];
    prop_oneof![
        9 => (1..60_u32, mode).prop_map(|(cost, mode)| Op::Charge(cost, mode)),
        2 => any::<Index>().prop_map(move |which| if refunds { Op::Refund(which) } else { Op::Sweep }),
        4 => strategies::step().prop_map(Op::Forward),
        1 => Just(Op::Sweep),
        1 => Just(Op::Crash),
        1 => Just(Op::Stop),
    ]
}

/// The charges that stand, over every crash and stop.
fn play(
    limits: Limits,
    ops: Vec<Op>,
    mut check: impl FnMut(&MemoryQuota, &[Kept], u64),
) -> Vec<Kept> {
    let (clock, ledger, mut engine) = rig();
    let mut now_us = NOON_US;
    let mut lost: Vec<Kept> = Vec::new();
    let mut receipts: Vec<Receipt> = Vec::new();
    let kept = |receipt: &Receipt| Kept {
        at_us: receipt.charge().charged_at_us,
        day: receipt.charge().day,
        cost: receipt.cost().get(),
    };
    for op in ops {
        match op {
            Op::Charge(cost, mode) => {
                ledger.set(mode);
                let call = engine.charge("a", Units::new(cost), limits);
                if let Some(Ok(Decision::Admitted { receipt, .. })) = attempt(call) {
                    receipts.push(receipt);
                }
                ledger.set(Mode::Works);
            }
            Op::Refund(which) if !receipts.is_empty() => {
                let receipt = receipts.swap_remove(which.index(receipts.len()));
                ready(engine.refund(receipt)).unwrap();
            }
            Op::Refund(_) => {}
            Op::Forward(by) => {
                now_us += by;
                clock.set(from_micros(now_us).unwrap());
            }
            Op::Sweep => {
                engine.sweep(usize::MAX);
            }
            Op::Crash => {
                // Receipts die with the process; their charges stand.
                lost.extend(receipts.drain(..).map(|receipt| kept(&receipt)));
                engine = open(&clock, &ledger);
            }
            Op::Stop => {
                lost.extend(receipts.drain(..).map(|receipt| kept(&receipt)));
                let before = ready(engine.peek("a", limits)).unwrap();
                ready(engine.close()).unwrap();
                engine = open(&clock, &ledger);
                let after = ready(engine.peek("a", limits)).unwrap();
                if engine
                    .snapshot()
                    .iter()
                    .all(|r| r.record.deficit != Record::WHOLE_BUCKET)
                {
                    assert_eq!(after, before, "a clean stop changes nothing");
                }
                assert_eq!(after.day_used(), before.day_used());
                assert!(after.minute_remaining() <= before.minute_remaining());
            }
        }
        let standing: Vec<Kept> = lost
            .iter()
            .copied()
            .chain(receipts.iter().map(kept))
            .collect();
        check(&engine, &standing, now_us);
    }
    lost.extend(receipts.iter().map(kept));
    lost.sort_by_key(|charge| charge.at_us);
    lost
}

fn spent_today(kept: &[Kept], now_us: u64) -> u64 {
    kept.iter()
        .filter(|charge| charge.day == day_of(now_us))
        .map(|charge| u64::from(charge.cost))
        .sum()
}

proptest! {
    #![proptest_config(super::histories())]

    #[test]
    fn no_crash_gives_more_than_the_bounds(
        limits in strategies::limits(),
        ops in vec(op(true), 1..120),
    ) {
        let kept = play(limits, ops, |engine, kept, now_us| {
            let view = ready(engine.peek("a", limits)).unwrap();
            assert!(view.day_used() >= spent_today(kept, now_us), "never less than what stands");
        });
        assert_windows(&kept, limits.per_minute());
        assert_days(&kept, limits.per_day());
    }

    #[test]
    fn each_crash_costs_a_block_at_most(
        limits in strategies::limits(),
        ops in vec(op(false), 1..120),
    ) {
        let block = u64::from((limits.per_day() / 200).max(50));
        // Costs run to 59, so a charge the caller gave up may have reserved two blocks.
        let crashes = ops.iter().filter(|op| matches!(op, Op::Crash)).count() as u64;
        let given_up = ops.iter().any(|op| matches!(op, Op::Charge(_, mode) if *mode != Mode::Works));
        play(limits, ops, |engine, kept, now_us| {
            let view = ready(engine.peek("a", limits)).unwrap();
            let more = view.day_used() - spent_today(kept, now_us);
            if !given_up {
                assert!(more <= crashes * (block - 1), "{more} after {crashes} crashes");
            } else {
                assert!(more <= crashes * (59 + block - 1), "{more} after {crashes} crashes");
            }
        });
    }
}

async fn ledger() -> Arc<dyn SpentLedger> {
    Arc::new(TestLedger::default())
}

mod contract {
    crate::spent_ledger_contract!(super::ledger);
}

/// The engine with a ledger is a store like any other.
mod store_contract {
    async fn rig() -> crate::contract::Rig {
        let (clock, _, engine) = super::rig();
        crate::contract::Rig::new(std::sync::Arc::new(engine), clock)
    }

    crate::quota_store_contract!(rig);
}
