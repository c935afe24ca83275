//! One shard of the memory engine: the records of the accounts whose hash falls here, swept a few slots at a time.

use std::{collections::HashMap, sync::Arc};

use super::{
    gate::Gate,
    slot::{LAST_US, Slot},
    table::Table,
};
use crate::{
    key::{Key as _, KeyRef, Name, Seeds, ShortKey, TextKey, UuidKey},
    record::{Record, day_of},
};

/// How often charges look for idle slots, however many there are.
const SWEEP_EVERY_US: u64 = 1_000;

/// An account in the form it is kept in, with its hash, which also chose the shard: both are computed once a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'a> {
    pub(crate) key: KeyRef<'a>,
    pub(crate) hash: u64,
}

impl<'a> Account<'a> {
    #[inline]
    pub(crate) fn new(seeds: &Seeds, key: KeyRef<'a>) -> Self {
        Self {
            key,
            hash: seeds.of(key),
        }
    }
}

/// The accounts whose hash falls here: a table for each form that a name has.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    short: Table<ShortKey>,
    uuids: Table<UuidKey>,
    texts: Table<TextKey>,
    /// Stands for every account without a slot. It used nothing, as of the last time something was dropped: a clock that
    /// ran ahead, made the shard drop a day's spending and was then set back must not hand that day out again.
    absent: Record,
    /// When a charge last looked for idle slots.
    swept_us: u64,
    /// Reservations under way. Only an engine with a ledger has any.
    reserving: HashMap<Name, Arc<Gate>>,
    /// Exact values were written to the ledger; nothing may be charged any more.
    pub(crate) closed: bool,
}

impl Shard {
    /// The account's slot, and where it stands until something is added or dropped.
    #[inline]
    pub(crate) fn find(&self, account: Account<'_>) -> Option<(usize, Slot)> {
        let hash = account.hash;
        match account.key {
            KeyRef::Short(number) => {
                let key = ShortKey::new(number);
                let place = self.short.find(hash, |other| *other == key)?;
                Some((place, self.short.get(place)?))
            }
            KeyRef::Uuid(number) => {
                let key = UuidKey::new(number);
                let place = self.uuids.find(hash, |other| *other == key)?;
                Some((place, self.uuids.get(place)?))
            }
            KeyRef::Text(text) => {
                let place = self.texts.find(hash, |other| *other.0 == *text)?;
                Some((place, self.texts.get(place)?))
            }
        }
    }

    /// Replaces the account's slot, which [`Self::find`] found at `place`.
    #[inline]
    pub(crate) fn set(&mut self, account: Account<'_>, place: usize, slot: Slot) {
        match account.key {
            KeyRef::Short(_) => self.short.set(place, slot),
            KeyRef::Uuid(_) => self.uuids.set(place, slot),
            KeyRef::Text(_) => self.texts.set(place, slot),
        }
    }

    /// The account's record, or what stands for none.
    pub(crate) fn record(&self, account: Account<'_>) -> Record {
        self.find(account)
            .map_or(self.absent, |(_, slot)| slot.record)
    }

    /// Adds the slot of an account that has none.
    pub(crate) fn insert(&mut self, seeds: &Seeds, account: Account<'_>, slot: Slot) {
        match account.key {
            KeyRef::Short(number) => self.short.insert(seeds, ShortKey::new(number), slot),
            KeyRef::Uuid(number) => self.uuids.insert(seeds, UuidKey::new(number), slot),
            KeyRef::Text(text) => self.texts.insert(seeds, TextKey(text.into()), slot),
        }
    }

    /// The gate of a reservation that is under way for the account.
    pub(crate) fn gate(&self, account: Account<'_>) -> Option<Arc<Gate>> {
        self.reserving.get(&Name::from(account.key)).map(Arc::clone)
    }

    /// Puts up a gate for the account.
    pub(crate) fn put_gate(&mut self, account: Account<'_>, gate: Arc<Gate>) {
        self.reserving.insert(account.key.into(), gate);
    }

    /// Takes the account's gate away.
    pub(crate) fn take_gate(&mut self, account: Account<'_>) {
        self.reserving.remove(&Name::from(account.key));
    }

    /// All gates that are up.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &Arc<Gate>> {
        self.reserving.values()
    }

    /// What stands for an account without a slot.
    pub(crate) const fn absent(&self) -> Record {
        self.absent
    }

    /// Accounts and their records.
    pub(crate) fn records(&self) -> impl Iterator<Item = (String, Record)> {
        let short = self
            .short
            .iter()
            .map(|(key, slot)| (key.text(), slot.record));
        let uuids = self
            .uuids
            .iter()
            .map(|(key, slot)| (key.text(), slot.record));
        let texts = self
            .texts
            .iter()
            .map(|(key, slot)| (key.text(), slot.record));
        short.chain(uuids).chain(texts)
    }

    /// Whether a charge should look for idle slots: not again within the same millisecond.
    #[inline]
    pub(crate) const fn is_sweep_due(&mut self, now_us: u64) -> bool {
        // A clock may step back.
        let due = now_us.abs_diff(self.swept_us) >= SWEEP_EVERY_US;
        if due {
            self.swept_us = now_us;
        }
        due
    }

    /// Looks at the next `slots` slots of each table and drops those that are idle. Returns how many went.
    pub(crate) fn sweep(&mut self, seeds: &Seeds, slots: usize, now_us: u64) -> usize {
        let idle = |slot: &Slot| slot.record.is_idle(now_us);
        let dropped = self.short.sweep(seeds, slots, idle)
            + self.uuids.sweep(seeds, slots, idle)
            + self.texts.sweep(seeds, slots, idle);
        if dropped > 0 {
            let now_us = now_us.min(LAST_US);
            self.absent.last_us = self.absent.last_us.max(now_us);
            self.absent.day = self.absent.day.max(day_of(now_us));
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_slots_are_looked_for_once_in_a_millisecond_and_whenever_a_clock_steps_back() {
        let mut shard = Shard::default();
        let at = 20_000 * 1_000_000;
        for (now_us, due) in [
            (at, true),
            (at, false),
            (at + 999, false),
            (at + 1_000, true),
            (at + 1_999, false),
            (at + 5_000, true),
            (at + 4_001, false),
            (at + 4_000, true),
        ] {
            assert_eq!(shard.is_sweep_due(now_us), due, "{now_us}");
        }
    }
}
