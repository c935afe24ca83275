//! The record against its promises.

use brownstone_domain::{Limits, Units};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{
    Kept, assert_days, assert_windows,
    strategies::{self, NOON_US},
};
use crate::{
    decision::Charge,
    record::{DAY_US, Outcome, Record, SUB_UNITS},
};

#[derive(Debug, Clone)]
enum Op {
    Charge(Units),
    Refund(Index),
    Forward(u64),
    Back(u64),
    Limits(Limits),
}

fn op(limits_change: bool, clock_steps_back: bool) -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => strategies::cost().prop_map(Op::Charge),
        3 => any::<Index>().prop_map(Op::Refund),
        4 => strategies::step().prop_map(Op::Forward),
        2 => strategies::step()
            .prop_map(move |by| if clock_steps_back { Op::Back(by) } else { Op::Forward(by) }),
        1 => strategies::limits()
            .prop_map(move |new| if limits_change { Op::Limits(new) } else { Op::Forward(1) }),
    ]
}

/// Plays a history on one record and returns the charges that stand, with the largest ceilings that were in force.
fn play(first: Limits, ops: Vec<Op>) -> (Vec<Kept>, Limits) {
    let mut record = Record::default();
    let mut limits = first;
    let (mut most_minute, mut most_day) = (limits.per_minute(), limits.per_day());
    let mut now_us = NOON_US;
    let mut charges: Vec<Charge> = Vec::new();
    for op in ops {
        match op {
            Op::Charge(cost) => match record.charge(now_us, cost, limits) {
                Outcome::Admitted {
                    record: after,
                    charge,
                    view,
                } => {
                    assert_eq!(after, if cost == Units::ZERO { record } else { after });
                    assert!(view.day_used() <= u64::from(limits.per_day()) || cost == Units::ZERO);
                    record = after;
                    charges.push(charge);
                }
                Outcome::Short { wait_us, .. } => assert!(wait_us > 0),
                Outcome::TooLarge { ceiling, .. } => assert!(cost > ceiling),
            },
            Op::Refund(which) if !charges.is_empty() => {
                let charge = charges.swap_remove(which.index(charges.len()));
                let before = record;
                record = record.refund(now_us, charge, most_minute);
                let back = before.deficit - record.deficit;
                assert!(back <= u64::from(charge.cost.get()) * SUB_UNITS);
                assert!(before.spent - record.spent <= charge.cost.get());
                assert_eq!((record.last_us, record.day), (before.last_us, before.day));
            }
            Op::Refund(_) => {}
            Op::Forward(by) => now_us += by,
            Op::Back(by) => now_us = now_us.saturating_sub(by),
            Op::Limits(new) => {
                limits = new;
                most_minute = most_minute.max(new.per_minute());
                most_day = most_day.max(new.per_day());
            }
        }
    }
    let mut kept: Vec<Kept> = charges
        .into_iter()
        .map(|charge| Kept {
            at_us: charge.charged_at_us,
            day: charge.day,
            cost: charge.cost.get(),
        })
        .collect();
    kept.sort_by_key(|charge| charge.at_us);
    (kept, Limits::new(most_minute, most_day).unwrap())
}

proptest! {
    #![proptest_config(super::histories())]

    #[test]
    fn charges_that_stand_never_exceed_capacity_and_refill(
        limits in strategies::limits(),
        ops in vec(op(false, false), 1..120),
    ) {
        let (kept, _) = play(limits, ops);
        assert_windows(&kept, limits.per_minute());
        assert_days(&kept, limits.per_day());
    }

    #[test]
    fn nor_do_they_exceed_the_largest_limits_when_limits_change(
        limits in strategies::limits(),
        ops in vec(op(true, false), 1..120),
    ) {
        let (kept, most) = play(limits, ops);
        assert_windows(&kept, most.per_minute());
        assert_days(&kept, most.per_day());
    }

    #[test]
    fn nor_when_the_clock_steps_back(
        limits in strategies::limits(),
        ops in vec(op(false, true), 1..120),
    ) {
        let (kept, _) = play(limits, ops);
        assert_windows(&kept, limits.per_minute());
        assert_days(&kept, limits.per_day());
    }

    #[test]
    fn a_wait_is_exact_to_the_microsecond(
        record in strategies::record(),
        now_us in strategies::moment(),
        cost in strategies::cost(),
        limits in strategies::limits(),
    ) {
        if let Outcome::Short { wait_us, .. } = record.charge(now_us, cost, limits) {
            prop_assert!(wait_us > 0);
            let at = |later: u64| record.charge(now_us + later, cost, limits);
            let on_time = matches!(at(wait_us), Outcome::Admitted { .. });
            prop_assert!(on_time, "still refused after {wait_us}");
            let early = matches!(at(wait_us - 1), Outcome::Short { wait_us: 1, .. });
            prop_assert!(early, "not refused a microsecond before {wait_us}");
        }
    }

    #[test]
    fn a_view_says_what_a_charge_then_finds(
        record in strategies::record(),
        now_us in strategies::moment(),
        limits in strategies::limits(),
    ) {
        let view = record.peek(now_us, limits);
        let left = view.minute_remaining().min(view.daily_remaining());
        let left = u32::try_from(left).unwrap();
        let admits = |cost| matches!(
            record.charge(now_us, Units::new(cost), limits),
            Outcome::Admitted { .. }
        );
        prop_assert!(admits(left), "all that is left can be spent");
        prop_assert!(!admits(left + 1), "and nothing more");
        let full = record.peek(view.minute_full_at_us(), limits);
        prop_assert_eq!(full.minute_remaining(), u64::from(limits.per_minute()));
        let reset = record.peek(view.day_resets_at_us(), limits);
        prop_assert_eq!(reset.day_used(), 0);
        let same_day = record.peek(view.day_resets_at_us() - 1, limits);
        prop_assert_eq!(same_day.day_used(), view.day_used());
    }

    #[test]
    fn looking_in_between_changes_nothing(
        record in strategies::record(),
        now_us in strategies::moment(),
        pauses in vec(strategies::step(), 1..6),
        limits in strategies::limits(),
    ) {
        let end = now_us + pauses.iter().sum::<u64>();
        let mut looked_at = record;
        let mut at = now_us;
        for pause in pauses {
            looked_at = looked_at.settled(at, limits);
            at += pause;
        }
        prop_assert_eq!(looked_at.settled(end, limits), record.settled(end, limits));
    }

    #[test]
    fn an_idle_record_is_an_absent_one_under_any_limits(
        record in strategies::record(),
        now_us in strategies::moment(),
        later in strategies::step(),
        cost in strategies::cost(),
        limits in strategies::limits(),
    ) {
        if record.is_idle(now_us) {
            let absent = Record::default().charge(now_us + later, cost, limits);
            let present = record.charge(now_us + later, cost, limits);
            match (present, absent) {
                // A cost of 0 hands the record back as it was, and this one differs from none in its bytes alone.
                (
                    Outcome::Admitted { charge, view, .. },
                    Outcome::Admitted { charge: other, view: same, .. },
                ) => prop_assert_eq!((charge, view), (other, same)),
                (present, absent) => prop_assert_eq!(present, absent),
            }
        }
    }

    #[test]
    fn a_refund_in_a_new_day_leaves_that_day_alone(
        cost in 1..200_u32,
        today in 0..200_u32,
        into_the_day in 0..DAY_US,
    ) {
        let limits = Limits::default();
        let Outcome::Admitted { record, charge, .. } =
            Record::default().charge(NOON_US, Units::new(cost), limits)
        else {
            panic!("a fresh account can afford {cost}");
        };
        let now_us = NOON_US + DAY_US / 2 + into_the_day;
        let Outcome::Admitted { record, .. } = record.charge(now_us, Units::new(today), limits) else {
            panic!("a new day can afford {today}");
        };
        let refunded = record.refund(now_us, charge, 0);
        prop_assert_eq!(
            refunded.peek(now_us, limits).day_used(),
            u64::from(today)
        );
    }
}
