//! Many at once on one account, on the store's own clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brownstone_domain::{Limits, Units};
use brownstone_quota::{Decision, Receipt};
use brownstone_store::SharedQuotaOptions;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::histories::assert_window;
use crate::places::{Place, clock, fresh, patient};

fn by_time(receipts: &[Receipt]) -> Vec<(u64, u32, u32)> {
    let mut kept: Vec<(u64, u32, u32)> = receipts
        .iter()
        .map(|receipt| {
            let charge = receipt.charge();
            (charge.charged_at_us, charge.day, charge.cost.get())
        })
        .collect();
    kept.sort_unstable();
    kept
}

pub(crate) async fn forty_tasks_take_the_bucket_to_the_last_unit(place: &Place) {
    // Time stands still: 40 of 10 against 240 are exactly 24, over three instances.
    let clock = clock();
    let instances: Vec<_> = (0..3)
        .map(|_| place.instance_with(&patient(), Some(clock.clone())))
        .collect();
    let account = fresh("forty");
    let start = Arc::new(Barrier::new(40));
    let mut tasks = JoinSet::new();
    for n in 0..40 {
        let (store, account, start) = (instances[n % 3].clone(), account.clone(), start.clone());
        tasks.spawn(async move {
            start.wait().await;
            let decision = store
                .charge(&account, Units::new(10), Limits::default())
                .await;
            matches!(decision.expect("an answer"), Decision::Admitted { .. })
        });
    }
    let admitted = tasks.join_all().await.into_iter().filter(|a| *a).count();
    assert_eq!(admitted, 24);
    let view = instances[0].peek(&account, Limits::default()).await;
    let view = view.expect("an answer");
    assert_eq!((view.minute_remaining(), view.day_used()), (0, 240));
}

/// Refusals are remembered here as in the product; charges that fail are given back now and then.
pub(crate) async fn sixty_four_workers_on_three_instances_stay_within_the_bound(place: &Place) {
    let options = SharedQuotaOptions {
        answer_within: Duration::from_secs(20),
        send_refunds_within: Duration::from_secs(20),
        ..SharedQuotaOptions::default()
    };
    let instances: Vec<_> = (0..3)
        .map(|_| place.instance_with(&options, None))
        .collect();
    let account = fresh("workers");
    let limits = Limits::default();
    let start = Arc::new(Barrier::new(64));
    let mut workers = JoinSet::new();
    for n in 0..64_u32 {
        let store = instances[n as usize % 3].clone();
        let (account, start) = (account.clone(), start.clone());
        workers.spawn(async move {
            let mut receipts = Vec::new();
            start.wait().await;
            let begun = Instant::now();
            let mut calls = 0_u32;
            while begun.elapsed() < Duration::from_millis(1_500) {
                let cost = Units::new([1, 2, 5, 10][(calls + n) as usize % 4]);
                calls += 1;
                let decision = store.charge(&account, cost, limits).await;
                if let Decision::Admitted { receipt, .. } = decision.expect("an answer") {
                    if (calls + n).is_multiple_of(5) {
                        store.refund(receipt).await.expect("an answer");
                    } else {
                        receipts.push(receipt);
                    }
                }
            }
            receipts
        });
    }
    let receipts: Vec<Receipt> = workers.join_all().await.into_iter().flatten().collect();
    let kept = by_time(&receipts);
    assert_window(&kept, limits.per_minute());
    let (first, last) = (kept[0], kept[kept.len() - 1]);
    let sum: u64 = kept.iter().map(|(_, _, cost)| u64::from(*cost)).sum();
    // One unit is always wanted by somebody: the bucket went empty, but for what was given back last.
    assert!(sum >= 200, "{sum} units");
    if first.1 == last.1 {
        let view = instances[1]
            .peek(&account, limits)
            .await
            .expect("an answer");
        assert_eq!(view.day_used(), sum, "what clients saw is what is counted");
    }
}

pub(crate) async fn first_charges_at_once_make_one_record(place: &Place) {
    let clock = clock();
    let instances: Vec<_> = (0..3)
        .map(|_| place.instance_with(&patient(), Some(clock.clone())))
        .collect();
    for _ in 0..20 {
        let account = fresh("first");
        let start = Arc::new(Barrier::new(12));
        let mut tasks = JoinSet::new();
        for n in 0..12 {
            let (store, account, start) =
                (instances[n % 3].clone(), account.clone(), start.clone());
            tasks.spawn(async move {
                start.wait().await;
                let decision = store
                    .charge(&account, Units::new(10), Limits::default())
                    .await;
                assert!(
                    matches!(decision, Ok(Decision::Admitted { .. })),
                    "{decision:?}"
                );
            });
        }
        tasks.join_all().await;
        let view = instances[0].peek(&account, Limits::default()).await;
        assert_eq!(view.expect("an answer").day_used(), 120);
    }
}
