//! Random accounts, limits, costs and moments.

use brownstone_domain::{Limits, Units};
use proptest::{prelude::*, sample::select};

use crate::record::{DAY_US, MINUTE_US, Record, SUB_UNITS, day_of};

/// Noon of a day.
pub(crate) const NOON_US: u64 = 20_784 * DAY_US + DAY_US / 2;

/// Ceilings at the edges and between.
pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (
        prop_oneof![
            select(vec![0, 1, 7, 13, 240, Limits::MAX_PER_MINUTE]),
            0..1_000_u32
        ],
        prop_oneof![
            select(vec![0, 1, 50, 300, 10_000, Limits::MAX_PER_DAY]),
            0..2_000_u32
        ],
    )
        .prop_map(|(per_minute, per_day)| Limits::new(per_minute, per_day).unwrap())
}

/// Costs, nothing among them.
pub(crate) fn cost() -> impl Strategy<Value = Units> {
    prop_oneof![
        6 => select(vec![0, 1, 2, 5, 10]),
        2 => 0..500_u32,
        1 => any::<u32>(),
    ]
    .prop_map(Units::new)
}

/// Moments around noon and around midnight, and anywhere to the year 9999.
pub(crate) fn moment() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => NOON_US..NOON_US + 2 * MINUTE_US,
        3 => NOON_US + DAY_US / 2 - MINUTE_US..NOON_US + DAY_US / 2 + MINUTE_US,
        1 => 0..253_402_300_800_000_000_u64,
    ]
}

/// Any record that a store could hold, and some that none should.
pub(crate) fn record() -> impl Strategy<Value = Record> {
    let deficit = prop_oneof![
        3 => 0..300 * SUB_UNITS,
        1 => 0..=u64::from(Limits::MAX_PER_MINUTE) * SUB_UNITS,
        1 => Just(Record::WHOLE_BUCKET),
    ];
    let spent = prop_oneof![3 => 0..12_000_u32, 1 => any::<u32>()];
    (deficit, moment(), 0..3_u32, spent).prop_map(|(deficit, last_us, ahead, spent)| Record {
        deficit,
        last_us,
        // A day behind, of the last charge, or ahead of it.
        day: (day_of(last_us) + ahead).saturating_sub(1),
        spent,
    })
}

/// A step of the clock, forwards.
pub(crate) fn step() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => select(vec![0, 0, 1, 249_999, 250_000, 1_000_000]),
        3 => 0..20_000_000_u64,
        1 => select(vec![MINUTE_US - 1, MINUTE_US, DAY_US / 2, DAY_US, 3 * DAY_US]),
    ]
}
