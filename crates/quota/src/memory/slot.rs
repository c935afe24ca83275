//! What the engine keeps of an account, and the 28 bytes it fits in.

use brownstone_domain::Limits;

use crate::record::Record;

/// Bits of each field. A bucket's debt is at most the largest ceiling in sub-units, which 53 bits hold; time is good for
/// more than four thousand years, days for as long.
const DEFICIT_BITS: u32 = 53;
const TIME_BITS: u32 = 57;
const PER_MINUTE_BITS: u32 = 28;

const DEFICIT_MASK: u64 = (1 << DEFICIT_BITS) - 1;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
const PER_MINUTE_MASK: u32 = (1 << PER_MINUTE_BITS) - 1;
/// Bits of the day that stand above the deficit, above the time, and above the minute ceiling.
const DAY_SPLIT: [u32; 3] = [64 - DEFICIT_BITS, 64 - TIME_BITS, 3];
const DAY_MAX: u32 = (1 << (DAY_SPLIT[0] + DAY_SPLIT[1] + DAY_SPLIT[2])) - 1;
/// Stands for [`Record::WHOLE_BUCKET`]; every real debt is below it.
const WHOLE: u64 = DEFICIT_MASK;
/// Set in every slot that is taken.
const TAKEN: u32 = 1 << 31;

/// The last microsecond the engine knows, in the year 6537. To it, a clock past this moment stands still.
pub(crate) const LAST_US: u64 = TIME_MASK;

/// What is kept of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) record: Record,
    /// Units of `record.day` that the ledger allows to be spent.
    pub(crate) reserved: u32,
    /// The largest minute ceiling it was charged under since it last paused for a minute: what refilled since an older
    /// charge is counted with it. After such a pause no older charge has anything left to give back.
    pub(crate) per_minute: u32,
}

/// A slot in 28 bytes; all zeros is an empty place. The low halves of the two long fields stand first, so that on the usual
/// machines each is read and written whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Packed([u32; 7]);

impl Packed {
    #[inline]
    pub(crate) const fn is_taken(&self) -> bool {
        self.0[4] & TAKEN != 0
    }
}

impl From<Slot> for Packed {
    /// What no store could hold (a debt beyond the largest ceiling, a moment after [`LAST_US`]) becomes the nearest that
    /// one could: nothing is ever given back by it.
    #[inline]
    fn from(slot: Slot) -> Self {
        let Slot {
            record,
            reserved,
            per_minute,
        } = slot;
        let deficit = match record.deficit {
            Record::WHOLE_BUCKET => WHOLE,
            deficit => deficit.min(WHOLE - 1),
        };
        let day = u64::from(record.day.min(DAY_MAX));
        let time = record.last_us.min(LAST_US);
        let [first, second, _] = DAY_SPLIT;
        let a = deficit | day << DEFICIT_BITS;
        let b = time | (day >> first) << TIME_BITS;
        let day_top = (day >> (first + second)) as u32;
        let c = per_minute.min(Limits::MAX_PER_MINUTE) | day_top << PER_MINUTE_BITS | TAKEN;
        Self([
            a as u32,
            (a >> 32) as u32,
            b as u32,
            (b >> 32) as u32,
            c,
            record.spent,
            reserved,
        ])
    }
}

impl From<Packed> for Slot {
    #[inline]
    fn from(Packed([a0, a1, b0, b1, c, spent, reserved]): Packed) -> Self {
        let a = u64::from(a1) << 32 | u64::from(a0);
        let b = u64::from(b1) << 32 | u64::from(b0);
        let [first, second, _] = DAY_SPLIT;
        let day_top = u64::from((c & !TAKEN) >> PER_MINUTE_BITS);
        let day = a >> DEFICIT_BITS | (b >> TIME_BITS) << first | day_top << (first + second);
        Self {
            record: Record {
                deficit: match a & DEFICIT_MASK {
                    WHOLE => Record::WHOLE_BUCKET,
                    deficit => deficit,
                },
                last_us: b & TIME_MASK,
                day: day as u32,
                spent,
            },
            reserved,
            per_minute: c & PER_MINUTE_MASK,
        }
    }
}

// The fields must hold what they are for.
const _: () = {
    assert!(Limits::MAX_PER_MINUTE as u64 * crate::record::SUB_UNITS < WHOLE);
    assert!(Limits::MAX_PER_MINUTE <= PER_MINUTE_MASK);
    assert!(crate::record::day_of(LAST_US) < DAY_MAX);
    assert!(size_of::<Packed>() == 28);
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::SUB_UNITS;

    #[test]
    fn an_empty_place_is_not_taken_and_a_slot_of_nothing_is() {
        assert!(!Packed::default().is_taken());
        let nothing = Slot {
            record: Record::default(),
            reserved: 0,
            per_minute: 0,
        };
        assert!(Packed::from(nothing).is_taken());
    }

    #[test]
    fn what_no_store_could_hold_gives_nothing_back() {
        let slot = Slot {
            record: Record {
                deficit: u64::MAX - 1,
                last_us: u64::MAX,
                day: u32::MAX,
                spent: u32::MAX,
            },
            reserved: u32::MAX,
            per_minute: u32::MAX,
        };
        let kept = Slot::from(Packed::from(slot));
        assert!(kept.record.deficit >= u64::from(Limits::MAX_PER_MINUTE) * SUB_UNITS);
        assert_ne!(kept.record.deficit, Record::WHOLE_BUCKET);
        assert_eq!(kept.record.last_us, LAST_US);
        assert_eq!(kept.record.day, DAY_MAX);
        assert_eq!((kept.record.spent, kept.reserved), (u32::MAX, u32::MAX));
        assert_eq!(kept.per_minute, Limits::MAX_PER_MINUTE);
    }

    proptest! {
        #[test]
        fn a_slot_comes_back_as_it_was(
            deficit in prop_oneof![
                0..=u64::from(Limits::MAX_PER_MINUTE) * SUB_UNITS,
                Just(Record::WHOLE_BUCKET),
            ],
            last_us in 0..=LAST_US,
            day in 0..=DAY_MAX,
            spent: u32,
            reserved: u32,
            per_minute in 0..=Limits::MAX_PER_MINUTE,
        ) {
            let record = Record { deficit, last_us, day, spent };
            let slot = Slot { record, reserved, per_minute };
            prop_assert_eq!(Slot::from(Packed::from(slot)), slot);
        }
    }
}
