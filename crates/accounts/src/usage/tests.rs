use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brownstone_domain::{Operation, Surface};
use time::macros::date;
use tokio::time::advance;

use super::*;
use crate::doubles::{Probe, When};
use crate::model::KeyId;

const DAY: Date = date!(2026 - 11 - 27);

fn account() -> AccountId {
    AccountId::from("a")
}

fn counter(operation: Operation) -> UsageKey {
    UsageKey {
        account: account(),
        day: DAY,
        key: KeyId::from("k"),
        surface: Surface::Rest,
        operation,
    }
}

fn one_call() -> UsageCounts {
    UsageCounts {
        calls: 1,
        units: 10,
        ..UsageCounts::default()
    }
}

fn total(rows: &[(UsageKey, UsageCounts)]) -> (u64, u64) {
    rows.iter().fold((0, 0), |(calls, units), (_, counts)| {
        (calls + counts.calls, units + counts.units)
    })
}

async fn stored(store: &Probe) -> (u64, u64) {
    total(&store.inner.usage_since(&account(), DAY).await.unwrap())
}

/// Lets other tasks run until they wait.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn counts_are_written_behind_within_a_second_and_read_at_once() {
    let store = Arc::new(Probe::default());
    let recorder = UsageRecorder::start(store.clone());
    settle().await;
    recorder.record(counter(Operation::LookupProperty), one_call());
    recorder.record(counter(Operation::LookupProperty), one_call());
    recorder.record(counter(Operation::GetUsage), UsageCounts::default());
    assert_eq!(stored(&store).await, (0, 0), "not by the call");
    let rows = recorder.usage(&account(), DAY).await.unwrap();
    assert_eq!(rows.len(), 1, "nothing to count makes no counter");
    assert_eq!(total(&rows), (2, 20));

    advance(PERIOD).await;
    settle().await;
    assert_eq!(stored(&store).await, (2, 20));
    let rows = recorder.usage(&account(), DAY).await.unwrap();
    assert_eq!(total(&rows), (2, 20));
}

#[tokio::test(start_paused = true)]
async fn a_read_is_of_one_account_and_begins_with_its_day() {
    let recorder = UsageRecorder::start(Arc::new(Probe::default()));
    let yesterday = UsageKey {
        day: DAY.previous_day().unwrap(),
        ..counter(Operation::GetComps)
    };
    let stranger = UsageKey {
        account: AccountId::from("b"),
        ..counter(Operation::GetComps)
    };
    // Once in the store, once waiting.
    for key in [&yesterday, &stranger, &counter(Operation::GetComps)] {
        recorder.record(key.clone(), one_call());
    }
    recorder.flush().await.unwrap();
    for key in [&yesterday, &stranger, &counter(Operation::GetComps)] {
        recorder.record(key.clone(), one_call());
    }
    let today = recorder.usage(&account(), DAY).await.unwrap();
    assert_eq!(total(&today), (2, 20));
    let both = recorder.usage(&account(), yesterday.day).await.unwrap();
    assert_eq!((both.len(), total(&both)), (2, (4, 40)));
}

/// The write stands still just before or just after the counts are in the store: either way a read counts each call once.
#[tokio::test(start_paused = true)]
async fn a_read_during_a_write_counts_every_call_once() {
    for when in [When::BeforeWrite, When::AfterWrite] {
        let store = Arc::new(Probe::default());
        let recorder = Arc::new(UsageRecorder::start(store.clone()));
        recorder.record(counter(Operation::LookupProperty), one_call());
        recorder.record(counter(Operation::GetComps), one_call());
        let gate = store.stop_writes(when);
        let flush = {
            let recorder = Arc::clone(&recorder);
            tokio::spawn(async move { recorder.flush().await })
        };
        gate.reached().await;
        // Calls go on meanwhile, and do not wait.
        recorder.record(counter(Operation::LookupProperty), one_call());
        let read = {
            let recorder = Arc::clone(&recorder);
            tokio::spawn(async move { recorder.usage(&account(), DAY).await })
        };
        settle().await;
        recorder.record(counter(Operation::GetComps), one_call());
        store.stop_writes_no_more();
        gate.open();
        let rows = read.await.unwrap().unwrap();
        assert_eq!((rows.len(), total(&rows)), (2, (4, 40)), "{when:?}");
        flush.await.unwrap().unwrap();
        recorder.flush().await.unwrap();
        assert_eq!(stored(&store).await, (4, 40));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_loses_nothing_and_is_tried_again() {
    let store = Arc::new(Probe::default());
    let recorder = UsageRecorder::start(store.clone());
    store.inner.set_silent(true);
    // More than one batch.
    let day = |n: usize| DAY + time::Duration::days(n as i64);
    for n in 0..BATCH * 2 + 1 {
        recorder.record(
            UsageKey {
                day: day(n),
                ..counter(Operation::LookupProperty)
            },
            one_call(),
        );
    }
    recorder.flush().await.unwrap_err();
    recorder.flush().await.unwrap_err();
    recorder.usage(&account(), DAY).await.unwrap_err();
    recorder.record(counter(Operation::LookupProperty), one_call());
    store.inner.set_silent(false);
    let all = BATCH as u64 * 2 + 2;
    let rows = recorder.usage(&account(), DAY).await.unwrap();
    assert_eq!(total(&rows), (all, all * 10));
    advance(PERIOD).await;
    settle().await;
    assert_eq!(stored(&store).await, (all, all * 10));
}

/// The store has the batch and its answer does not arrive: what is counted meanwhile, read, and sent again counts once.
#[tokio::test(start_paused = true)]
async fn a_batch_whose_answer_is_lost_is_counted_once() {
    let store = Arc::new(Probe::default());
    let recorder = UsageRecorder::start(store.clone());
    recorder.record(counter(Operation::LookupProperty), one_call());
    store.lose_answers(true);
    for _ in 0..3 {
        recorder.flush().await.unwrap_err();
        recorder.record(counter(Operation::LookupProperty), one_call());
        assert_eq!(stored(&store).await, (1, 10), "the same batch, once");
    }
    recorder.usage(&account(), DAY).await.unwrap_err();
    store.lose_answers(false);
    let rows = recorder.usage(&account(), DAY).await.unwrap();
    assert_eq!(total(&rows), (4, 40), "read before it is written");
    recorder.flush().await.unwrap();
    assert_eq!(stored(&store).await, (4, 40));
    // And the batches after it are not taken for it.
    recorder.record(counter(Operation::LookupProperty), one_call());
    recorder.flush().await.unwrap();
    assert_eq!(stored(&store).await, (5, 50));
}

/// A reader who settles a doubtful batch, and leaves in the middle.
#[tokio::test(start_paused = true)]
async fn a_reader_who_leaves_while_a_batch_is_sent_again_loses_nothing() {
    let store = Arc::new(Probe::default());
    let recorder = Arc::new(UsageRecorder::start(store.clone()));
    recorder.record(counter(Operation::LookupProperty), one_call());
    store.lose_answers(true);
    recorder.flush().await.unwrap_err();
    store.lose_answers(false);
    let gate = store.stop_writes(When::AfterWrite);
    let read = {
        let recorder = Arc::clone(&recorder);
        tokio::spawn(async move { recorder.usage(&account(), DAY).await })
    };
    gate.reached().await;
    read.abort();
    assert!(read.await.unwrap_err().is_cancelled());
    store.stop_writes_no_more();
    let rows = recorder.usage(&account(), DAY).await.unwrap();
    assert_eq!(total(&rows), (1, 10));
    recorder.flush().await.unwrap();
    assert_eq!(stored(&store).await, (1, 10));
}

#[tokio::test(start_paused = true)]
async fn a_flush_that_is_given_up_loses_nothing() {
    let store = Arc::new(Probe::default());
    let recorder = Arc::new(UsageRecorder::start(store.clone()));
    recorder.record(counter(Operation::LookupProperty), one_call());
    let gate = store.stop_writes(When::AfterWrite);
    let flush = {
        let recorder = Arc::clone(&recorder);
        tokio::spawn(async move { recorder.flush().await })
    };
    gate.reached().await;
    flush.abort();
    assert!(flush.await.unwrap_err().is_cancelled());
    store.stop_writes_no_more();
    gate.open();
    recorder.flush().await.unwrap();
    assert_eq!(stored(&store).await, (1, 10));
}

#[tokio::test(start_paused = true)]
async fn what_is_counted_when_the_recorder_goes_is_still_written() {
    let store = Arc::new(Probe::default());
    let recorder = UsageRecorder::start(store.clone());
    settle().await;
    recorder.record(counter(Operation::LookupProperty), one_call());
    drop(recorder);
    settle().await;
    assert_eq!(stored(&store).await, (1, 10));
}

/// Threads count, a reader reads, the store fails now and then: no reading is below what was counted before it began or above what
/// was counted when it ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readings_lie_between_what_was_counted_before_and_after() {
    const WRITERS: u64 = 3;
    const CALLS: u64 = 3_000;
    let store = Arc::new(Probe::default());
    let recorder = Arc::new(UsageRecorder::start(store.clone()));
    // A call is announced before it is counted and confirmed after.
    let announced = Arc::new(AtomicU64::new(0));
    let confirmed = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicBool::new(false));

    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (recorder, announced, confirmed) = (
                Arc::clone(&recorder),
                Arc::clone(&announced),
                Arc::clone(&confirmed),
            );
            tokio::spawn(async move {
                for n in 0..CALLS {
                    let operation = if n % 2 == 0 {
                        Operation::LookupProperty
                    } else {
                        Operation::GetComps
                    };
                    announced.fetch_add(1, Ordering::SeqCst);
                    recorder.record(counter(operation), one_call());
                    confirmed.fetch_add(1, Ordering::SeqCst);
                    if n % 50 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    let flusher = {
        let (recorder, store, done) =
            (Arc::clone(&recorder), Arc::clone(&store), Arc::clone(&done));
        tokio::spawn(async move {
            let mut turn = 0_u32;
            while !done.load(Ordering::SeqCst) {
                turn += 1;
                store.inner.set_silent(turn.is_multiple_of(3));
                let _ = recorder.flush().await;
                tokio::task::yield_now().await;
            }
            store.inner.set_silent(false);
        })
    };
    let mut readings = 0;
    while confirmed.load(Ordering::SeqCst) < WRITERS * CALLS || readings < 10 {
        let before = confirmed.load(Ordering::SeqCst);
        if let Ok(rows) = recorder.usage(&account(), DAY).await {
            let (calls, units) = total(&rows);
            let after = announced.load(Ordering::SeqCst);
            assert!(
                (before..=after).contains(&calls),
                "{before} <= {calls} <= {after}"
            );
            assert_eq!(units, calls * 10);
            readings += 1;
        }
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    flusher.await.unwrap();
    recorder.flush().await.unwrap();
    let all = WRITERS * CALLS;
    assert_eq!(stored(&store).await, (all, all * 10));
}
