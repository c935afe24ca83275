//! A charge, a refund and a look at the memory engine.

use std::sync::Arc;

use async_trait::async_trait;
use brownstone_domain::{Limits, Units};

use super::{
    Line, MemoryQuota,
    gate::{End, Gate},
    shard::{KeyRef, Slot},
};
use crate::{
    decision::{Decision, Receipt, View},
    record::{MINUTE_US, Outcome},
    store::{QuotaStore, QuotaUnavailable},
};

/// Slots that a charge looks at to drop idle records.
const SWEEP_SLOTS: usize = 2;

/// Units of a day that the ledger has noted.
#[derive(Debug, Clone, Copy)]
struct Granted {
    day: u32,
    up_to: u32,
}

/// Where a charge stands after one look under the lock.
enum Step {
    Decided(Outcome),
    /// The ledger must note `granted` first. With a new gate where the caller does not hold one.
    Reserve(Granted, Option<Arc<Gate>>),
    /// Another call is asking the ledger for this account.
    Wait(Arc<Gate>),
}

/// Holds an account's gate; takes it away and opens it however the call ends.
struct Holding<'a> {
    line: &'a Line,
    key: KeyRef<'a>,
    gate: Arc<Gate>,
    end: End,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.line.lock().take_gate(self.key);
        self.gate.open(self.end);
    }
}

impl MemoryQuota {
    /// One look under the lock: decides, writes, or says what must happen first.
    fn step(
        &self,
        key: KeyRef<'_>,
        cost: Units,
        limits: Limits,
        granted: Option<Granted>,
        holding: bool,
    ) -> Result<Step, QuotaUnavailable> {
        let now_us = self.clock.now_us();
        let mut shard = self.line(key).lock();
        if shard.closed {
            return Err(QuotaUnavailable::Closed);
        }
        self.drop_idle(&mut shard, SWEEP_SLOTS, now_us);

        let absent = shard.absent();
        let mut slot = shard.get_mut(key);
        let (before, reserved) = slot
            .as_ref()
            .map_or((absent, 0), |slot| (slot.record, slot.reserved));
        let outcome = before.charge(now_us, cost, limits);
        let Outcome::Admitted { record: after, .. } = outcome else {
            return Ok(Step::Decided(outcome));
        };
        let reserved = [
            Granted {
                day: before.day,
                up_to: reserved,
            },
            granted.unwrap_or(Granted { day: 0, up_to: 0 }),
        ]
        .into_iter()
        .filter(|known| known.day == after.day)
        .map(|known| known.up_to)
        .max()
        .unwrap_or(0);
        let may_write = self.ledger.is_none() || after.spent <= reserved;

        if may_write && let Some(slot) = slot.as_deref_mut() {
            *slot = Slot {
                record: after,
                reserved,
                per_minute: if after.last_us - before.last_us < MINUTE_US {
                    slot.per_minute.max(limits.per_minute())
                } else {
                    limits.per_minute()
                },
            };
            return Ok(Step::Decided(outcome));
        }
        let is_new = slot.is_none();
        if is_new && !self.has_room(&mut shard, now_us) {
            return Err(QuotaUnavailable::Full);
        }
        if may_write {
            if !self.take_room() {
                return Err(QuotaUnavailable::Full);
            }
            let slot = Slot {
                record: after,
                reserved,
                per_minute: limits.per_minute(),
            };
            shard.insert(key, slot);
            return Ok(Step::Decided(outcome));
        }
        let wanted = Granted {
            day: after.day,
            up_to: self.reservation(after.spent, limits),
        };
        if holding {
            return Ok(Step::Reserve(wanted, None));
        }
        if let Some(gate) = shard.gate(key) {
            return Ok(Step::Wait(gate));
        }
        let gate = Arc::new(Gate::default());
        shard.put_gate(key, Arc::clone(&gate));
        Ok(Step::Reserve(wanted, Some(gate)))
    }

    /// What to reserve for `spent` units, which the day has: whole blocks, but no more than the day's ceiling.
    fn reservation(&self, spent: u32, limits: Limits) -> u32 {
        spent
            .checked_next_multiple_of(self.options.block.get().max(1))
            .unwrap_or(u32::MAX)
            .min(limits.per_day())
    }
}

#[async_trait]
impl QuotaStore for MemoryQuota {
    async fn charge(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
    ) -> Result<Decision, QuotaUnavailable> {
        let key = self.key(account);
        if cost == Units::ZERO {
            let record = self.line(key).lock().record(key);
            let outcome = record.charge(self.clock.now_us(), cost, limits);
            return Ok(outcome.into_decision(account));
        }
        let mut granted = None;
        let mut holding: Option<Holding<'_>> = None;
        loop {
            match self.step(key, cost, limits, granted, holding.is_some())? {
                Step::Decided(outcome) => return Ok(outcome.into_decision(account)),
                Step::Wait(gate) => {
                    if gate.opened().await == End::Failed {
                        return Err(QuotaUnavailable::silent(
                            "the ledger failed another call's reservation of this account",
                        ));
                    }
                }
                Step::Reserve(wanted, gate) => {
                    if let Some(gate) = gate {
                        holding = Some(Holding {
                            line: self.line(key),
                            key,
                            gate,
                            end: End::Look,
                        });
                    }
                    if let Some(ledger) = &self.ledger {
                        let noted = ledger.reserve(account, wanted.day, wanted.up_to).await;
                        if let (Err(_), Some(holding)) = (&noted, &mut holding) {
                            holding.end = End::Failed;
                        }
                        noted?;
                    }
                    granted = Some(wanted);
                }
            }
        }
    }

    async fn refund(&self, receipt: Receipt) -> Result<(), QuotaUnavailable> {
        if receipt.cost() != Units::ZERO {
            let key = self.key(receipt.account());
            let now_us = self.clock.now_us();
            // No slot: the charge decayed, and its day is over.
            if let Some(slot) = self.line(key).lock().get_mut(key) {
                slot.record = slot
                    .record
                    .refund(now_us, receipt.charge(), slot.per_minute);
            }
        }
        Ok(())
    }

    async fn peek(&self, account: &str, limits: Limits) -> Result<View, QuotaUnavailable> {
        let key = self.key(account);
        let record = self.line(key).lock().record(key);
        Ok(record.peek(self.clock.now_us(), limits))
    }
}
