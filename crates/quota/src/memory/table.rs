//! A hash table that is always nearly full: one place after the other in one array, the record beside its key.
//!
//! A general map doubles, so that it is half empty on the average, and looks in two places: its control bytes and its
//! entries. This one grows by a fifth and finds the key where the record is. Millions of accounts cost half of the memory
//! and half of the cache misses.

use super::slot::{Packed, Slot};
use crate::key::{Key, Seeds};

/// Places of the smallest array.
const FEWEST: usize = 8;

#[derive(Debug, Clone, Default)]
struct Entry<K> {
    key: K,
    slot: Packed,
}

/// Accounts of one form, by linear probing; an entry that goes is closed up, so that no marks of the dead remain.
#[derive(Debug, Default)]
pub(crate) struct Table<K> {
    entries: Box<[Entry<K>]>,
    len: usize,
    /// Where the next sweep goes on.
    cursor: usize,
}

impl<K: Key> Table<K> {
    /// The place of the key that `is` says is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is: impl Fn(&K) -> bool) -> Option<usize> {
        let mut place = self.home(hash);
        // It ends: one place in eight is empty. Where there is no place at all, there is not even a first.
        while let Some(entry) = self.entries.get(place) {
            if !entry.slot.is_taken() {
                // Its key would have been put no further.
                return None;
            }
            if is(&entry.key) {
                return Some(place);
            }
            place += 1;
            if place == self.entries.len() {
                place = 0;
            }
        }
        None
    }

    /// The slot at a place that [`Self::find`] gave.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<Slot> {
        let entry = self.entries.get(place)?;
        entry.slot.is_taken().then(|| entry.slot.into())
    }

    /// Replaces the slot at a place that [`Self::find`] gave.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, slot: Slot) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.slot = slot.into();
        }
    }

    /// Adds a key that is not there.
    pub(crate) fn insert(&mut self, seeds: &Seeds, key: K, slot: Slot) {
        if self.len >= fullest(self.entries.len()) {
            let roomier = self.entries.len() + (self.entries.len() / 5).max(FEWEST);
            self.resize(seeds, roomier);
        }
        let entry = Entry {
            key,
            slot: slot.into(),
        };
        self.put(seeds, entry);
        self.len += 1;
    }

    /// Keys and their slots, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, Slot)> {
        (self.entries.iter())
            .filter(|entry| entry.slot.is_taken())
            .map(|entry| (&entry.key, entry.slot.into()))
    }

    /// Looks at the next `slots` slots, or at some four times as many places where they are sparse, and drops those that are
    /// idle. Returns how many went. Where most are gone the array becomes smaller.
    pub(crate) fn sweep(
        &mut self,
        seeds: &Seeds,
        slots: usize,
        idle: impl Fn(&Slot) -> bool,
    ) -> usize {
        if self.len == 0 {
            return 0;
        }
        let before = self.len;
        let mut left = slots.min(self.len);
        let mut places = self
            .entries
            .len()
            .min(slots.saturating_mul(4).saturating_add(FEWEST));
        while left > 0 && places > 0 {
            if self.cursor >= self.entries.len() {
                self.cursor = 0;
            }
            match self.get(self.cursor) {
                // Another may have moved up to this place: it is looked at next.
                Some(slot) if idle(&slot) => {
                    self.close(seeds, self.cursor);
                    self.len -= 1;
                    left -= 1;
                }
                Some(_) => {
                    self.cursor += 1;
                    left -= 1;
                    places -= 1;
                }
                None => {
                    self.cursor += 1;
                    places -= 1;
                }
            }
        }
        if self.len < before && self.len < self.entries.len() / 4 && self.entries.len() > FEWEST {
            self.resize(seeds, (self.len + self.len / 2).max(FEWEST));
        }
        before - self.len
    }

    /// Where a key of this hash belongs: the hash as a share of the whole, so that any number of places will do.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        // Less than the number of places, hence a usize.
        ((u128::from(hash) * self.entries.len() as u128) >> 64) as usize
    }

    /// Puts an entry at its home or the first empty place after it; there is one.
    fn put(&mut self, seeds: &Seeds, entry: Entry<K>) {
        let home = self.home(entry.key.hash(seeds));
        let (behind, ahead) = self.entries.split_at_mut(home);
        let empty = (ahead.iter_mut().chain(behind)).find(|place| !place.slot.is_taken());
        if let Some(place) = empty {
            *place = entry;
        }
    }

    fn resize(&mut self, seeds: &Seeds, places: usize) {
        let empty = std::iter::repeat_with(Entry::default)
            .take(places)
            .collect();
        let old = std::mem::replace(&mut self.entries, empty);
        self.cursor = 0;
        for entry in old {
            if entry.slot.is_taken() {
                self.put(seeds, entry);
            }
        }
    }

    /// Empties a place and moves up those behind it that it kept from their homes.
    fn close(&mut self, seeds: &Seeds, place: usize) {
        let places = self.entries.len();
        let next = |place: usize| if place + 1 == places { 0 } else { place + 1 };
        let distance = |from: usize, to: usize| {
            if to >= from {
                to - from
            } else {
                to + places - from
            }
        };
        let mut gap = place;
        let mut at = next(place);
        while let Some(entry) = self.entries.get(at)
            && entry.slot.is_taken()
            && at != place
        {
            let home = self.home(entry.key.hash(seeds));
            // It may move up if the gap is not before its home.
            if distance(home, at) >= distance(gap, at) {
                self.entries.swap(gap, at);
                gap = at;
            }
            at = next(at);
        }
        if let Some(entry) = self.entries.get_mut(gap) {
            *entry = Entry::default();
        }
    }
}

/// The most entries of so many places: seven in eight.
const fn fullest(places: usize) -> usize {
    places - places.div_ceil(8)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{key::ShortKey, record::Record};

    fn slot(spent: u32) -> Slot {
        Slot {
            record: Record {
                spent,
                ..Record::default()
            },
            reserved: 0,
            per_minute: 0,
        }
    }

    fn find(table: &Table<ShortKey>, seeds: &Seeds, number: u64) -> Option<usize> {
        let key = ShortKey::new(number);
        table.find(key.hash(seeds), |other| *other == key)
    }

    #[test]
    fn an_empty_table_finds_nothing_and_takes_nothing() {
        let table = Table::<ShortKey>::default();
        assert_eq!(find(&table, &Seeds::new(), 1), None);
        assert_eq!(table.entries.len(), 0);
    }

    #[test]
    fn it_is_between_seven_tenths_and_seven_eighths_full_and_gives_memory_back() {
        let seeds = Seeds::new();
        let mut table = Table::default();
        let (mut sizes, mut places) = (0, 0);
        for number in 0..20_000 {
            table.insert(&seeds, ShortKey::new(number), slot(1));
            if table.entries.len() > places {
                places = table.entries.len();
                sizes += 1;
            }
            let full = table.len as f64 / table.entries.len() as f64;
            assert!(full <= 0.875, "{full}");
            assert!(full >= 0.7 || table.len < 100, "{full} at {}", table.len);
        }
        assert!(sizes < 50, "by a fifth each time: {sizes}");
        assert_eq!(table.sweep(&seeds, 19_000, |_| true), 19_000);
        assert_eq!(table.entries.len(), 1_500);
        assert_eq!(table.iter().count(), 1_000);
    }

    fn of_a_thousand(seeds: &Seeds) -> Table<ShortKey> {
        let mut table = Table::default();
        for number in 0..1_000 {
            table.insert(seeds, ShortKey::new(number), slot(1));
        }
        table
    }

    #[test]
    fn homes_are_spread_over_all_places() {
        let table = of_a_thousand(&Seeds::new());
        let places = table.entries.len();
        let homes = [0, u64::MAX / 4 + 1, u64::MAX / 2 + 1, u64::MAX].map(|hash| table.home(hash));
        assert_eq!(homes, [0, places / 4, places / 2, places - 1]);
    }

    #[test]
    fn a_sweep_looks_at_no_more_than_it_may() {
        let seeds = Seeds::new();
        let mut table = of_a_thousand(&seeds);
        let looked = std::cell::Cell::new(0);
        let look = |goes: bool| {
            let looked = &looked;
            move |_: &Slot| {
                looked.set(looked.get() + 1);
                goes
            }
        };
        assert_eq!(table.sweep(&seeds, 10, look(false)), 0);
        assert_eq!(looked.take(), 10);
        assert_eq!(table.sweep(&seeds, 10, look(true)), 10);
        assert_eq!(looked.take(), 10);
        // Half of the places without a slot: there it gives up after four places for each slot, and a few.
        let half = table.entries.len() / 2;
        for place in 0..half {
            if table.get(place).is_some() {
                table.set(place, slot(2));
            }
        }
        while table.sweep(&seeds, usize::MAX, |slot| slot.record.spent == 2) > 0 {}
        let empty = (0..half)
            .take_while(|&place| table.get(place).is_none())
            .count();
        assert!(empty > 100, "{empty}");
        table.cursor = 0;
        assert_eq!(table.sweep(&seeds, 10, look(false)), 0);
        assert_eq!((looked.take(), table.cursor), (0, 4 * 10 + FEWEST));
    }

    #[test]
    fn a_sweep_of_a_few_comes_round_to_all() {
        let seeds = Seeds::new();
        let mut table = Table::default();
        for number in 0..1_000 {
            table.insert(
                &seeds,
                ShortKey::new(number),
                slot(u32::from(number % 2 == 0)),
            );
        }
        let idle = |slot: &Slot| slot.record.spent == 0;
        // An entry may move up past the cursor at the end of the array: the next round finds it.
        let mut went = 0;
        for _round in 0..10 {
            went += (0..table.entries.len())
                .map(|_| table.sweep(&seeds, 2, idle))
                .sum::<usize>();
        }
        assert_eq!(went, 500);
        assert!(
            (0..1_000).all(|number| find(&table, &seeds, number).is_some() == (number % 2 == 0))
        );
    }

    proptest! {
        /// Whatever comes and goes, it knows what a map of the standard library knows.
        #[test]
        fn it_holds_what_a_map_holds(steps in vec((0..200_u64, 0..3_u32), 0..600)) {
            let seeds = Seeds::new();
            let mut table = Table::default();
            let mut map = HashMap::new();
            for (number, action) in steps {
                match (action, find(&table, &seeds, number)) {
                    (0, _) => {
                        // Drops every slot that spent this much modulo 7.
                        let goes = |slot: &Slot| u64::from(slot.record.spent) % 7 == number % 7;
                        // An entry may move up past the cursor; a round that drops nothing has seen all.
                        while table.sweep(&seeds, usize::MAX, goes) > 0 {}
                        map.retain(|_, spent: &mut u32| u64::from(*spent) % 7 != number % 7);
                    }
                    (_, Some(place)) => {
                        let spent = table.get(place).unwrap().record.spent + action;
                        table.set(place, slot(spent));
                        map.insert(number, spent);
                    }
                    (_, None) => {
                        table.insert(&seeds, ShortKey::new(number), slot(action));
                        prop_assert_eq!(map.insert(number, action), None);
                    }
                }
                prop_assert_eq!(table.len, map.len());
            }
            for (number, spent) in &map {
                let place = find(&table, &seeds, *number);
                let found = place.and_then(|place| table.get(place));
                prop_assert_eq!(found, Some(slot(*spent)));
            }
            prop_assert_eq!(table.iter().count(), map.len());
        }
    }
}
