//! Random histories: every answer is the reference's, and what stands keeps the bounds.

use std::collections::BTreeMap;
use std::sync::Arc;

use brownstone_domain::{Limits, Units};
use brownstone_quota::contract::NOON_US;
use brownstone_quota::record::{DAY_US, MINUTE_US, SUB_UNITS};
use brownstone_quota::{Decision, Outcome, QuotaStore, Receipt, Record};
use brownstone_store::SharedQuotaOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::places::{Place, clock, fresh, moment, patient};

const HISTORIES: usize = 500;
const INSTANCES: usize = 3;
const ACCOUNTS: usize = 2;

#[derive(Debug, Clone)]
enum Op {
    Charge(usize, Index, Units),
    Refund(usize, Index, Index),
    Peek(usize, Index),
    Forward(u64),
    Back(u64),
    Limits(Limits),
}

fn limits() -> impl Strategy<Value = Limits> {
    (
        select(vec![0, 1, 7, 13, 240, 240, 480, Limits::MAX_PER_MINUTE]),
        select(vec![0, 1, 50, 300, 10_000, 10_000, Limits::MAX_PER_DAY]),
    )
        .prop_map(|(per_minute, per_day)| Limits::new(per_minute, per_day).expect("within range"))
}

fn cost() -> impl Strategy<Value = Units> {
    prop_oneof![
        6 => select(vec![0, 1, 2, 5, 10, 10, 100]),
        1 => 0..500_u32,
        1 => select(vec![Limits::MAX_PER_MINUTE, Limits::MAX_PER_MINUTE - 1, u32::MAX]),
    ]
    .prop_map(Units::new)
}

fn step() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => select(vec![0, 1, 249_999, 250_000, 1_000_000, 7_777_777]),
        2 => 0..20_000_000_u64,
        1 => select(vec![MINUTE_US - 1, MINUTE_US, DAY_US / 2, DAY_US, 3 * DAY_US]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let account = 0..ACCOUNTS;
    prop_oneof![
        8 => (account.clone(), any::<Index>(), cost()).prop_map(|(a, i, c)| Op::Charge(a, i, c)),
        3 => (account.clone(), any::<Index>(), any::<Index>()).prop_map(|(a, i, r)| Op::Refund(a, i, r)),
        1 => (account, any::<Index>()).prop_map(|(a, i)| Op::Peek(a, i)),
        4 => step().prop_map(Op::Forward),
        1 => step().prop_map(Op::Back),
        1 => limits().prop_map(Op::Limits),
    ]
}

/// The reference for one account: its record, and the largest ceiling since it last paused for a minute.
#[derive(Debug, Default)]
struct Model {
    record: Record,
    ceiling: u32,
    receipts: Vec<(Receipt, Receipt)>,
    most: (u32, u32),
}

impl Model {
    fn charge(&mut self, now_us: u64, account: &str, cost: Units, limits: Limits) -> Decision {
        let outcome = self.record.charge(now_us, cost, limits);
        if let Outcome::Admitted { record, .. } = outcome {
            if cost != Units::ZERO {
                self.ceiling = if record.last_us - self.record.last_us < MINUTE_US {
                    self.ceiling.max(limits.per_minute())
                } else {
                    limits.per_minute()
                };
            }
            self.record = record;
        }
        self.most.0 = self.most.0.max(limits.per_minute());
        self.most.1 = self.most.1.max(limits.per_day());
        outcome.into_decision(account)
    }

    /// The charges that stand, of which nothing was given back, by when they were made.
    fn assert_bounds(&self) {
        let mut kept: Vec<(u64, u32, u32)> = self
            .receipts
            .iter()
            .map(|(receipt, _)| {
                let charge = receipt.charge();
                (charge.charged_at_us, charge.day, charge.cost.get())
            })
            .collect();
        kept.sort_unstable();
        assert_window(&kept, self.most.0);
        let mut days = BTreeMap::<u32, u64>::new();
        for (_, day, cost) in kept {
            *days.entry(day).or_default() += u64::from(cost);
        }
        for (day, spent) in days {
            assert!(spent <= u64::from(self.most.1), "day {day}: {spent}");
        }
    }
}

/// In every window, in sub-units and without tolerance: no more than the bucket and what refilled.
pub(crate) fn assert_window(kept: &[(u64, u32, u32)], per_minute: u32) {
    let rate = u128::from(per_minute);
    for (i, (from, ..)) in kept.iter().enumerate() {
        let mut units = 0_u128;
        for (to, _, cost) in &kept[i..] {
            units += u128::from(*cost);
            let allowed = rate * (u128::from(SUB_UNITS) + u128::from(to - from));
            assert!(
                units * u128::from(SUB_UNITS) <= allowed,
                "{units} units in {} us",
                to - from
            );
        }
    }
}

/// Plays a history on the instances, each step on one of them, and on the reference.
async fn play(
    instances: &[Arc<dyn QuotaStore>],
    clock: &brownstone_domain::ManualClock,
    first: Limits,
    ops: Vec<Op>,
) {
    let names: Vec<String> = (0..ACCOUNTS).map(|_| fresh("history")).collect();
    let mut models: Vec<Model> = (0..ACCOUNTS).map(|_| Model::default()).collect();
    let (mut limits, mut now_us) = (first, NOON_US);
    clock.set(moment(now_us));
    for (at, op) in ops.into_iter().enumerate() {
        let text = format!("step {at}: {op:?} at {now_us} under {limits:?}");
        match op {
            Op::Charge(who, via, cost) => {
                let (name, model) = (&names[who], &mut models[who]);
                let expected = model.charge(now_us, name, cost, limits);
                let got = via.get(instances).charge(name, cost, limits).await;
                let got = got.unwrap_or_else(|error| panic!("{text}: {}", error.detail()));
                assert_eq!(got, expected, "{text}");
                if let (
                    Decision::Admitted { receipt: ours, .. },
                    Decision::Admitted { receipt, .. },
                ) = (expected, got)
                {
                    model.receipts.push((ours, receipt));
                }
            }
            Op::Refund(who, via, which) => {
                let model = &mut models[who];
                if model.receipts.is_empty() {
                    continue;
                }
                let (ours, theirs) = model
                    .receipts
                    .swap_remove(which.index(model.receipts.len()));
                if ours.cost() != Units::ZERO {
                    model.record = model.record.refund(now_us, ours.charge(), model.ceiling);
                }
                let done = via.get(instances).refund(theirs).await;
                done.unwrap_or_else(|error| panic!("{text}: {}", error.detail()));
            }
            Op::Peek(who, via) => {
                let view = via.get(instances).peek(&names[who], limits).await;
                let view = view.unwrap_or_else(|error| panic!("{text}: {}", error.detail()));
                assert_eq!(view, models[who].record.peek(now_us, limits), "{text}");
            }
            Op::Forward(by) => now_us += by,
            Op::Back(by) => now_us -= by,
            Op::Limits(new) => limits = new,
        }
        clock.set(moment(now_us));
    }
    for (name, model) in names.iter().zip(&models) {
        let view = instances[0].peek(name, limits).await.expect("an answer");
        assert_eq!(view, model.record.peek(now_us, limits), "at the end");
        model.assert_bounds();
    }
}

async fn agree(
    place: &Place,
    options: &SharedQuotaOptions,
    instances: usize,
    ops: impl Strategy<Value = Vec<Op>>,
) {
    let clock = clock();
    let instances: Vec<Arc<dyn QuotaStore>> = (0..instances)
        .map(|_| place.instance_with(options, Some(clock.clone())))
        .collect();
    let strategy = (limits(), ops);
    let mut runner = TestRunner::new(Config::default());
    for _ in 0..HISTORIES {
        let tree = strategy.new_tree(&mut runner).expect("no filter");
        let (first, ops) = tree.current();
        play(&instances, &clock, first, ops).await;
    }
}

pub(crate) async fn three_instances_agree_with_the_reference(place: &Place) {
    agree(place, &patient(), INSTANCES, vec(op(), 1..40)).await;
}

pub(crate) async fn an_instance_that_remembers_refusals_agrees_with_the_reference(place: &Place) {
    let options = SharedQuotaOptions {
        remember_refusals_for: SharedQuotaOptions::default().remember_refusals_for,
        ..patient()
    };
    agree(place, &options, 1, vec(op(), 1..40)).await;
}

/// Small budgets, many calls, refunds in numbers, clocks that jump over midnight and back.
pub(crate) async fn charges_that_stand_keep_the_bounds_whatever_the_clock_and_the_limits_do(
    place: &Place,
) {
    let tight = select(vec![(7, 50), (13, 50), (20, 300), (240, 300)]);
    let tight = tight
        .prop_map(|(per_minute, per_day)| Limits::new(per_minute, per_day).expect("within range"));
    let op = prop_oneof![
        10 => (any::<Index>(), select(vec![1, 2, 5, 10]))
            .prop_map(|(via, cost)| Op::Charge(0, via, Units::new(cost))),
        4 => (any::<Index>(), any::<Index>()).prop_map(|(via, which)| Op::Refund(0, via, which)),
        4 => (0..15_000_000_u64).prop_map(Op::Forward),
        1 => select(vec![MINUTE_US, DAY_US / 2, DAY_US]).prop_map(Op::Forward),
        1 => select(vec![1, 1_000_000, DAY_US]).prop_map(Op::Back),
        1 => tight.prop_map(Op::Limits),
    ];
    agree(place, &patient(), INSTANCES, vec(op, 10..40)).await;
}
