//! One shard of the memory engine: a map from account to record, swept a few slots at a time.

use std::{
    hash::{BuildHasherDefault, Hash, Hasher},
    sync::Arc,
};

use indexmap::{Equivalent, IndexMap};

use super::gate::Gate;
use crate::record::{Record, day_of};

/// An account with its hash, which also chose the shard: it is computed once a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    hash: u64,
    account: Box<str>,
}

/// The same, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyRef<'a> {
    pub(crate) hash: u64,
    pub(crate) account: &'a str,
}

impl KeyRef<'_> {
    fn to_key(self) -> Key {
        Key {
            hash: self.hash,
            account: self.account.into(),
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.hash == key.hash && *self.account == *key.account
    }
}

/// Passes a finished hash through.
#[derive(Debug, Default)]
pub(crate) struct Finished(u64);

impl Hasher for Finished {
    fn write(&mut self, bytes: &[u8]) {
        // Keys only ever write their u64; anything else is still hashed, if poorly.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Prehashed = BuildHasherDefault<Finished>;

/// What is kept of one account, 32 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) record: Record,
    /// Units of `record.day` that the ledger allows to be spent.
    pub(crate) reserved: u32,
    /// The largest minute ceiling it was charged under since it last paused for a minute: what refilled since an older
    /// charge is counted with it. After such a pause no older charge has anything left to give back.
    pub(crate) per_minute: u32,
}

/// The accounts whose hash falls here.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    slots: IndexMap<Key, Slot, Prehashed>,
    /// Stands for every account without a slot. It used nothing, as of the last time something was dropped: a clock that
    /// ran ahead, made the shard drop a day's spending and was then set back must not hand that day out again.
    absent: Record,
    /// Where the next sweep goes on.
    cursor: usize,
    /// Reservations under way.
    reserving: IndexMap<Key, Arc<Gate>, Prehashed>,
    /// Exact values were written to the ledger; nothing may be charged any more.
    pub(crate) closed: bool,
}

impl Shard {
    /// The account's slot.
    pub(crate) fn get_mut(&mut self, key: KeyRef<'_>) -> Option<&mut Slot> {
        self.slots.get_mut(&key)
    }

    /// The account's record, or what stands for none.
    pub(crate) fn record(&self, key: KeyRef<'_>) -> Record {
        self.slots.get(&key).map_or(self.absent, |slot| slot.record)
    }

    /// Adds the slot of an account that has none.
    pub(crate) fn insert(&mut self, key: KeyRef<'_>, slot: Slot) {
        self.slots.insert(key.to_key(), slot);
    }

    /// The gate of a reservation that is under way for the account.
    pub(crate) fn gate(&self, key: KeyRef<'_>) -> Option<Arc<Gate>> {
        self.reserving.get(&key).map(Arc::clone)
    }

    /// Puts up a gate for the account.
    pub(crate) fn put_gate(&mut self, key: KeyRef<'_>, gate: Arc<Gate>) {
        self.reserving.insert(key.to_key(), gate);
    }

    /// Takes the account's gate away.
    pub(crate) fn take_gate(&mut self, key: KeyRef<'_>) {
        self.reserving.swap_remove(&key);
    }

    /// All gates that are up.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &Arc<Gate>> {
        self.reserving.values()
    }

    /// What stands for an account without a slot.
    pub(crate) const fn absent(&self) -> Record {
        self.absent
    }

    /// Accounts and their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Slot)> {
        self.slots.iter().map(|(key, slot)| (&*key.account, slot))
    }

    /// Looks at the next `slots` slots and drops those that are idle. Returns how many went.
    pub(crate) fn sweep(&mut self, slots: usize, now_us: u64) -> usize {
        let mut dropped = 0;
        for _ in 0..slots.min(self.slots.len()) {
            if self.cursor >= self.slots.len() {
                self.cursor = 0;
            }
            match self.slots.get_index(self.cursor) {
                // The last slot takes the place of the dropped one and is looked at next.
                Some((_, slot)) if slot.record.is_idle(now_us) => {
                    self.slots.swap_remove_index(self.cursor);
                    dropped += 1;
                }
                Some(_) => self.cursor += 1,
                None => break,
            }
        }
        if dropped > 0 {
            self.absent.last_us = self.absent.last_us.max(now_us);
            self.absent.day = self.absent.day.max(day_of(now_us));
        }
        dropped
    }
}
