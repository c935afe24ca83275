//! The contract of a store.

use brownstone_domain::Limits;

use super::{Dice, NOON_US, Rig, Task, fresh, limits, reference, together};
use crate::{
    decision::{Budget, Decision, Receipt},
    record::{DAY_US, MINUTE_US, Record},
};

/// An absent record is a full bucket and an unspent day.
pub async fn a_fresh_account_has_everything(rig: &Rig) {
    let view = rig.peek(&fresh("fresh"), Limits::default()).await;
    assert_eq!(
        (view.minute_remaining(), view.daily_remaining()),
        (240, 10_000)
    );
    assert_eq!((view.day_used(), view.minute_full_at_us()), (0, NOON_US));
    assert_eq!(view.day_resets_at_us(), NOON_US + DAY_US / 2);
}

/// One charge, both budgets, and a receipt that says what happened.
pub async fn a_charge_moves_both_budgets(rig: &Rig) {
    let account = fresh("both");
    let l = Limits::default();
    let Decision::Admitted { receipt, view } = rig.charge(&account, 10, l).await else {
        panic!("a fresh account can afford 10 units");
    };
    assert_eq!(
        (view.minute_remaining(), view.daily_remaining()),
        (230, 9_990)
    );
    assert_eq!(receipt.account(), account);
    let charge = receipt.charge();
    assert_eq!((charge.cost.get(), charge.charged_at_us), (10, NOON_US));
    assert_eq!(
        (u64::from(charge.day), charge.limits),
        (NOON_US / DAY_US, l)
    );
    assert_eq!(rig.peek(&account, l).await, view, "a look sees the same");
}

/// Short in either budget, or too large for one: both stay as they are.
pub async fn a_refusal_writes_nothing(rig: &Rig) {
    let account = fresh("refusal");
    let l = limits(100, 150);
    rig.admit(&account, 95, l).await;
    let before = rig.peek(&account, l).await;
    for _ in 0..3 {
        let refused = rig.charge(&account, 10, l).await;
        assert!(
            matches!(
                refused,
                Decision::Short {
                    budget: Budget::Minute,
                    ..
                }
            ),
            "{refused:?}"
        );
        assert_eq!(refused.view(), &before);
        let never = rig.charge(&account, 101, l).await;
        assert!(
            matches!(never, Decision::TooLarge { budget: Budget::Minute, ceiling, .. } if ceiling.get() == 100),
            "{never:?}"
        );
    }
    assert_eq!(rig.peek(&account, l).await, before);

    rig.set(NOON_US + MINUTE_US);
    let before = rig.peek(&account, l).await;
    let refused = rig.charge(&account, 60, l).await;
    assert!(
        matches!(
            refused,
            Decision::Short {
                budget: Budget::Day,
                ..
            }
        ),
        "{refused:?}"
    );
    assert_eq!(
        rig.peek(&account, l).await,
        before,
        "the bucket had room and was left alone"
    );
    rig.admit(&account, 55, l).await;
}

/// A cost of 0 is admitted even where nothing is left.
pub async fn nothing_is_charged_for_nothing(rig: &Rig) {
    let account = fresh("nothing");
    let l = limits(10, 10);
    rig.admit(&account, 10, l).await;
    let before = rig.peek(&account, l).await;
    let receipt = rig.admit(&account, 0, l).await;
    rig.refund(receipt).await;
    rig.admit(&fresh("nothing"), 0, limits(0, 0)).await;
    assert_eq!(rig.peek(&account, l).await, before);
}

/// The wait is honoured exactly: not a microsecond early, not one late.
pub async fn the_wait_is_exact(rig: &Rig) {
    for (per_minute, first, second) in [(240, 237, 10), (7, 7, 1), (13, 13, 13), (1, 1, 1)] {
        let account = fresh("wait");
        let l = limits(per_minute, 1_000);
        rig.set(NOON_US);
        rig.admit(&account, first, l).await;
        let Decision::Short { wait_us, .. } = rig.charge(&account, second, l).await else {
            panic!("{second} units are not there");
        };
        rig.set(NOON_US + wait_us - 1);
        let early = rig.charge(&account, second, l).await;
        assert!(
            matches!(early, Decision::Short { wait_us: 1, .. }),
            "{early:?}"
        );
        rig.set(NOON_US + wait_us);
        rig.admit(&account, second, l).await;
    }
}

/// The day ends at 00:00 UTC and nowhere else.
pub async fn a_spent_day_starts_anew_at_midnight_utc(rig: &Rig) {
    let account = fresh("day");
    let l = limits(240, 240);
    rig.admit(&account, 240, l).await;
    let midnight = NOON_US + DAY_US / 2;
    rig.set(midnight - 1);
    let late = rig.charge(&account, 1, l).await;
    assert!(
        matches!(
            late,
            Decision::Short {
                budget: Budget::Day,
                wait_us: 1,
                ..
            }
        ),
        "{late:?}"
    );
    assert_eq!(rig.left(&account, l).await, (240, 0));
    rig.set(midnight);
    assert_eq!(rig.left(&account, l).await, (240, 240));
    rig.admit(&account, 1, l).await;
    assert_eq!(rig.peek(&account, l).await.day_used(), 1);
}

/// Charges at every moment that a unit is whole lose nothing to rounding, at any ceiling.
pub async fn the_bucket_refills_without_drift(rig: &Rig) {
    for per_minute in [7, 13, 240] {
        let account = fresh("drift");
        let l = limits(per_minute, 10_000);
        rig.set(NOON_US);
        rig.admit(&account, per_minute, l).await;
        for unit in 1..=u64::from(per_minute) {
            rig.set(NOON_US + (unit * MINUTE_US).div_ceil(u64::from(per_minute)));
            rig.admit(&account, 1, l).await;
        }
        assert_eq!(rig.left(&account, l).await.0, 0);
    }
}

/// The day in full on its own day, the minute less what refilled; neither above its ceiling.
pub async fn a_refund_gives_back_what_is_due(rig: &Rig) {
    let l = Limits::default();
    let midnight = DAY_US / 2;
    // Each case on a day of its own: time only goes forward here.
    let mut noon = NOON_US;
    // (microseconds between charge and refund, left then)
    for (later, left) in [
        (0, (240, 10_000)),
        (1_000_000, (240, 10_000)),
        (MINUTE_US, (240, 10_000)),
        (midnight - 1, (240, 10_000)),
        (midnight, (239, 9_999)),
    ] {
        let account = fresh("refund");
        rig.set(noon);
        let receipt = rig.admit(&account, 10, l).await;
        rig.set(noon + later);
        if later == midnight {
            // Today's first charge must not be given back for yesterday's.
            rig.admit(&account, 1, l).await;
        }
        rig.refund(receipt).await;
        assert_eq!(rig.left(&account, l).await, left, "{later}");
        noon += DAY_US;
    }
    // With the bucket in debt, only what has not refilled comes back: 10 - 4 after a second.
    let account = fresh("refund");
    rig.set(noon);
    let receipt = rig.admit(&account, 10, l).await;
    rig.admit(&account, 230, l).await;
    rig.set(noon + 1_000_000);
    assert_eq!(rig.left(&account, l).await, (4, 9_760));
    rig.refund(receipt).await;
    assert_eq!(rig.left(&account, l).await, (10, 9_770));
}

/// What was used stays; the ceilings of the call decide.
pub async fn new_limits_are_in_force_at_once(rig: &Rig) {
    let account = fresh("limits");
    rig.admit(&account, 200, limits(240, 1_000)).await;
    assert_eq!(rig.left(&account, limits(100, 150)).await, (0, 0));
    let low = rig.charge(&account, 10, limits(100, 1_000)).await;
    // 200 used, 90 allowed beside the cost: 110 units at 100 a minute.
    assert!(
        matches!(
            low,
            Decision::Short {
                budget: Budget::Minute,
                wait_us: 66_000_000,
                ..
            }
        ),
        "{low:?}"
    );
    rig.admit(&account, 280, limits(480, 480)).await;
    assert_eq!(rig.left(&account, limits(480, 480)).await, (0, 0));
    // A debt far above the new ceiling ends all the same, at the wait that was told.
    let Decision::Short { wait_us, .. } = rig.charge(&account, 5, limits(10, 1_000)).await else {
        panic!("the bucket is in debt");
    };
    assert_eq!(wait_us, 475 * MINUTE_US / 10);
    rig.set(NOON_US + wait_us);
    rig.admit(&account, 5, limits(10, 1_000)).await;
}

/// Time that goes back counts as standing still; a day that came is not undone.
pub async fn a_clock_that_steps_back_gives_nothing(rig: &Rig) {
    let account = fresh("back");
    let l = limits(240, 300);
    rig.admit(&account, 240, l).await;
    rig.set(NOON_US - 30_000_000);
    let Decision::Short { wait_us, .. } = rig.charge(&account, 4, l).await else {
        panic!("nothing has refilled");
    };
    assert_eq!(wait_us, 31_000_000, "the clock catches up first");
    rig.set(NOON_US - 30_000_000 + wait_us);
    rig.admit(&account, 4, l).await;

    rig.set(NOON_US + DAY_US);
    rig.admit(&account, 200, l).await;
    rig.set(NOON_US);
    assert_eq!(rig.left(&account, l).await, (40, 100), "no third budget");
    rig.admit(&account, 40, l).await;
    rig.set(NOON_US + DAY_US);
    assert_eq!(rig.left(&account, l).await, (0, 60));
}

/// What one account does is nothing to another, however alike their names.
pub async fn accounts_do_not_touch_each_other(rig: &Rig) {
    let one = fresh("account");
    let names = [
        one.clone(),
        format!("{one} "),
        one.to_uppercase(),
        format!("{one}'--%_\u{e9}"),
    ];
    let l = limits(100, 100);
    for (i, name) in names.iter().enumerate() {
        rig.admit(name, 10 + i as u32, l).await;
    }
    for (i, name) in names.iter().enumerate() {
        let left = 90 - i as u64;
        assert_eq!(rig.left(name, l).await, (left, left), "{name}");
    }
}

/// Many calls at one moment are admitted to the last unit and not one further.
pub async fn calls_at_one_time_share_one_budget(rig: &Rig) {
    for (l, admitted_of_50) in [(limits(240, 10_000), 24), (limits(10_000, 170), 17)] {
        let account = fresh("race");
        let calls: Vec<Task<'_, Decision>> = (0..50)
            .map(|_| Box::pin(rig.charge(&account, 10, l)) as Task<'_, Decision>)
            .collect();
        let receipts: Vec<Receipt> = together(calls)
            .await
            .into_iter()
            .filter_map(|decision| match decision {
                Decision::Admitted { receipt, .. } => Some(receipt),
                _ => None,
            })
            .collect();
        assert_eq!(receipts.len(), admitted_of_50);
        let refunds: Vec<Task<'_, ()>> = receipts
            .into_iter()
            .map(|receipt| Box::pin(rig.refund(receipt)) as Task<'_, ()>)
            .collect();
        together(refunds).await;
        let all = (u64::from(l.per_minute()), u64::from(l.per_day()));
        assert_eq!(rig.left(&account, l).await, all);
    }
}

/// Charges, refunds, new limits and moves of the clock, forward only: every answer is the reference's.
pub async fn a_random_history_agrees_with_the_reference(rig: &Rig) {
    const LIMITS: [(u32, u32); 6] = [
        (240, 10_000),
        (240, 300),
        (7, 10_000),
        (13, 20),
        (1, 1_000),
        (150_000_000, 4_000_000_000),
    ];
    const COSTS: [u32; 8] = [0, 1, 2, 5, 10, 10, 13, 240];
    const STEPS: [u64; 8] = [
        0,
        1,
        249_999,
        250_000,
        1_000_000,
        7_777_777,
        60_000_000,
        DAY_US / 3,
    ];
    let names = [fresh("history"), fresh("history"), fresh("history")];
    let mut records = [Record::default(); 3];
    let mut receipts: [Vec<(Receipt, Receipt)>; 3] = Default::default();
    let mut limits_now = limits(240, 10_000);
    let mut now_us = NOON_US;
    let mut dice = Dice(20_784);
    for step in 0..400 {
        now_us += dice.pick(&STEPS) * dice.roll(2);
        rig.set(now_us);
        let who = dice.roll(3) as usize;
        let (name, record) = (names[who].as_str(), &mut records[who]);
        match dice.roll(10) {
            0 => {
                let (per_minute, per_day) = dice.pick(&LIMITS);
                // A raise within the minute between a charge and its refund is the one case in which stores may differ:
                // some know of it and give less back.
                receipts.iter_mut().for_each(Vec::clear);
                now_us += MINUTE_US;
                limits_now = limits(per_minute, per_day);
            }
            1 | 2 => {
                if let Some((ours, theirs)) = receipts[who].pop() {
                    *record = record.refund(now_us, ours.charge(), 0);
                    rig.refund(theirs).await;
                }
            }
            3 => {
                let seen = rig.peek(name, limits_now).await;
                assert_eq!(seen, record.peek(now_us, limits_now), "step {step}");
            }
            _ => {
                let cost = dice.pick(&COSTS);
                let expected = reference(record, now_us, name, cost, limits_now);
                let got = rig.charge(name, cost, limits_now).await;
                assert_eq!(got, expected, "step {step}, cost {cost}");
                if let (
                    Decision::Admitted { receipt: ours, .. },
                    Decision::Admitted {
                        receipt: theirs, ..
                    },
                ) = (expected, got)
                {
                    receipts[who].push((ours, theirs));
                }
            }
        }
    }
}
