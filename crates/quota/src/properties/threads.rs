//! Real threads on one engine.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use brownstone_domain::{Clock, Limits, ManualClock, Units, clock::from_micros};

use super::{ready, strategies::NOON_US};
use crate::{
    decision::Decision,
    memory::MemoryQuota,
    record::{MINUTE_US, SUB_UNITS},
    store::QuotaStore,
};

const THREADS: u64 = 4;

fn engine() -> (Arc<ManualClock>, MemoryQuota) {
    let clock = Arc::new(ManualClock::at(from_micros(NOON_US).unwrap()));
    (clock.clone(), MemoryQuota::new(clock))
}

#[test]
fn threads_on_one_account_spend_the_day_to_the_last_unit() {
    let (_, engine) = engine();
    let limits = Limits::new(Limits::MAX_PER_MINUTE, 20_000).unwrap();
    let kept = AtomicU64::new(0);
    let start = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (engine, kept, start) = (&engine, &kept, &start);
            scope.spawn(move || {
                start.wait();
                // Some charges are given back, so that refunds race with charges; the last word is a full day.
                for call in 0..8_000_u64 {
                    let cost = Units::new(1 + (call % 3) as u32);
                    if let Decision::Admitted { receipt, .. } =
                        ready(engine.charge("a", cost, limits)).unwrap()
                    {
                        if (call + thread) % 5 == 0 {
                            ready(engine.refund(receipt)).unwrap();
                        } else {
                            kept.fetch_add(u64::from(cost.get()), Ordering::Relaxed);
                        }
                    }
                }
                while let Decision::Admitted { .. } =
                    ready(engine.charge("a", Units::new(1), limits)).unwrap()
                {
                    kept.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(kept.into_inner(), 20_000);
    let view = ready(engine.peek("a", limits)).unwrap();
    assert_eq!((view.day_used(), view.daily_remaining()), (20_000, 0));
}

#[test]
fn threads_never_exceed_capacity_and_refill_while_the_clock_runs() {
    let (clock, engine) = engine();
    let limits = Limits::new(240, Limits::MAX_PER_DAY).unwrap();
    let kept = AtomicU64::new(0);
    let running = AtomicBool::new(true);
    let start = Barrier::new(THREADS as usize + 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (engine, kept, start, running) = (&engine, &kept, &start, &running);
            scope.spawn(move || {
                start.wait();
                while running.load(Ordering::Relaxed) {
                    if let Decision::Admitted { .. } =
                        ready(engine.charge("a", Units::new(2), limits)).unwrap()
                    {
                        kept.fetch_add(2, Ordering::Relaxed);
                    }
                }
            });
        }
        start.wait();
        for tick in 0..20_000_u64 {
            // Mostly forward, now and then back.
            let at = NOON_US + tick * 10_000 - if tick % 7 == 0 { 5_000 } else { 0 };
            clock.set(from_micros(at).unwrap());
            std::thread::yield_now();
        }
        running.store(false, Ordering::Relaxed);
    });
    let ran_us = clock.now_us() - NOON_US;
    let kept = kept.into_inner();
    let allowed = 240 * (MINUTE_US + ran_us);
    assert!(kept * SUB_UNITS <= allowed, "{kept} units in {ran_us} us");
    assert!(kept >= 240, "the whole bucket at least was there to take");
}

#[test]
fn threads_on_many_accounts_count_every_record() {
    let (clock, engine) = engine();
    let limits = Limits::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let engine = &engine;
            scope.spawn(move || {
                for i in 0..2_000 {
                    let account = format!("{}", (i * (thread + 1)) % 1_500);
                    let decision = ready(engine.charge(&account, Units::new(1), limits)).unwrap();
                    assert!(matches!(decision, Decision::Admitted { .. }));
                }
            });
        }
    });
    let records = engine.snapshot();
    assert_eq!(engine.len(), records.len());
    let spent: u64 = records.iter().map(|r| u64::from(r.record.spent)).sum();
    assert_eq!(spent, THREADS * 2_000);
    clock.set(from_micros(NOON_US + 2 * 86_400_000_000).unwrap());
    assert_eq!(engine.sweep(usize::MAX), records.len());
    assert!(engine.is_empty());
}
