use tokio::time::advance;

use super::*;
use crate::doubles::{Probe, World};

fn a_hash(n: u32) -> KeyHash {
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&n.to_be_bytes());
    KeyHash(hash)
}

impl Verdicts {
    fn entries(&self) -> (usize, usize) {
        (self.known.len(), self.unknown.len())
    }

    fn reads_under_way(&self) -> usize {
        self.flights.lock().len()
    }
}

#[tokio::test(start_paused = true)]
async fn garbage_fills_no_memory_and_pushes_no_real_key_out() {
    let world = World::new().await;
    let verdicts = Verdicts::with_capacity(world.store.clone(), 10, 100);
    let hash = world.key.record.hash;
    assert!(matches!(verdicts.get(&hash).await, Ok(Verdict::Known(_))));
    for n in 0..5_000 {
        assert!(matches!(
            verdicts.get(&a_hash(n)).await,
            Ok(Verdict::Unknown)
        ));
    }
    let (known, unknown) = verdicts.entries();
    assert_eq!(known, 1);
    assert!((1..=100).contains(&unknown), "{unknown}");
    assert_eq!(verdicts.reads_under_way(), 0);
    let reads = world.store.reads();
    assert!(matches!(verdicts.get(&hash).await, Ok(Verdict::Known(_))));
    assert_eq!(world.store.reads(), reads, "still remembered");
}

#[tokio::test(start_paused = true)]
async fn silence_about_unseen_keys_leaves_nothing_behind() {
    let store = Arc::new(Probe::default());
    store.inner.set_silent(true);
    let verdicts = Verdicts::new(store);
    for n in 0..100 {
        assert_eq!(verdicts.get(&a_hash(n)).await.unwrap_err(), Silent);
    }
    assert_eq!(verdicts.entries(), (0, 0));
    assert_eq!(verdicts.reads_under_way(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_everyone_gave_up_leaves_nothing_behind() {
    for callers in [1, 2, 5] {
        let store = Arc::new(Probe::default());
        let gate = store.stop_reads();
        let verdicts = Arc::new(Verdicts::new(store));
        let calls: Vec<_> = (0..callers)
            .map(|_| {
                let verdicts = Arc::clone(&verdicts);
                tokio::spawn(async move { verdicts.get(&a_hash(1)).await })
            })
            .collect();
        gate.reached().await;
        for call in calls {
            assert_eq!(verdicts.reads_under_way(), 1, "{callers}: one waits yet");
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled());
        }
        assert_eq!(verdicts.reads_under_way(), 0, "{callers}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_appears_or_goes_changes_its_place() {
    let world = World::new().await;
    let verdicts = Verdicts::new(world.store.clone());
    let late = crate::key::ApiKey::generate(crate::model::Environment::Test).unwrap();
    let hash = late.hash();
    assert!(matches!(verdicts.get(&hash).await, Ok(Verdict::Unknown)));
    let record = KeyRecord {
        id: "late".into(),
        hash,
        ..world.key.record.clone()
    };
    let line = world.accounts.audit(&world.account, 1).await.unwrap();
    world.store.insert_key(&record, &line[0]).await.unwrap();
    assert!(matches!(verdicts.get(&hash).await, Ok(Verdict::Unknown)));
    advance(FRESH).await;
    assert!(matches!(verdicts.get(&hash).await, Ok(Verdict::Known(_))));
    assert_eq!(verdicts.entries(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_comes_just_as_a_read_ends_reads_no_more() {
    let world = World::new().await;
    let verdicts = Verdicts::new(world.store.clone());
    let hash = world.key.record.hash;
    verdicts.get(&hash).await.unwrap();
    // As after a look into the cache that was made before that read ended.
    assert!(matches!(
        verdicts.read(&hash).await,
        Some(Verdict::Known(_))
    ));
    assert_eq!(world.store.reads(), 1);
}

#[test]
fn a_read_that_is_done_takes_no_more_callers() {
    let flights = Flights::default();
    let first = flights.join(a_hash(1));
    let second = flights.join(a_hash(1));
    assert!(Arc::ptr_eq(&first.flight, &second.flight));
    assert!(first.flight.set(Some(Verdict::Unknown)).is_ok());
    drop(first);
    // The second has not looked at the outcome yet; its seat keeps it.
    let third = flights.join(a_hash(1));
    assert!(!Arc::ptr_eq(&second.flight, &third.flight));
    assert!(third.flight.get().is_none());
    drop(second);
    let fourth = flights.join(a_hash(1));
    assert!(
        Arc::ptr_eq(&third.flight, &fourth.flight),
        "a late seat of the first read ends no other"
    );
    drop((third, fourth));
    assert!(flights.lock().is_empty());
}

/// Calls, changes and outages in any order: a verdict is never older than promised.
mod in_any_order {
    use proptest::prelude::*;

    use super::*;
    use crate::service::Actor;

    #[derive(Debug, Clone)]
    enum Step {
        Wait(u16),
        Call,
        Suspend(bool),
        Silent(bool),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (1_u16..1_200).prop_map(Step::Wait),
            4 => Just(Step::Call),
            2 => any::<bool>().prop_map(Step::Suspend),
            1 => any::<bool>().prop_map(Step::Silent),
        ];
        prop::collection::vec(step, 1..60)
    }

    async fn run(steps: Vec<Step>) {
        let world = World::new().await;
        let verdicts = Verdicts::new(world.store.clone());
        let hash = world.key.record.hash;
        let mut silent = false;
        let mut suspended = false;
        // Since when the store has answered and the account has been as it is.
        let mut steady_since = Instant::now();
        let start = Instant::now();
        for step in steps {
            match step {
                Step::Wait(millis) => advance(Duration::from_millis(millis.into())).await,
                Step::Suspend(to) if !silent => {
                    if to != suspended {
                        steady_since = Instant::now();
                        suspended = to;
                    }
                    let id = &world.account;
                    if to {
                        world
                            .accounts
                            .suspend(id, "abuse", Actor::Command)
                            .await
                            .unwrap();
                    } else {
                        world
                            .accounts
                            .restore(id, "paid", Actor::Command)
                            .await
                            .unwrap();
                    }
                }
                Step::Suspend(_) => {}
                Step::Silent(to) => {
                    if silent && !to {
                        steady_since = Instant::now();
                    }
                    silent = to;
                    world.store.inner.set_silent(to);
                }
                Step::Call => match verdicts.get(&hash).await {
                    Ok(Verdict::Known(known)) => {
                        if !silent && steady_since.elapsed() >= Duration::from_millis(1_500) {
                            assert_eq!(known.suspended, suspended);
                        }
                    }
                    Ok(Verdict::Unknown) => panic!("the key exists"),
                    Err(Silent) => assert!(silent, "the store answers"),
                },
            }
            if start.elapsed() > 10 * GOOD_IN_SILENCE {
                break;
            }
        }
    }

    proptest! {
        #[test]
        fn a_verdict_is_never_older_than_promised(steps in steps()) {
            tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap()
                .block_on(run(steps));
        }
    }
}
