//! A charge, a refund and a look at the memory engine.

use std::sync::Arc;

use async_trait::async_trait;
use brownstone_domain::{Limits, Units};

use super::{
    Line, MemoryQuota,
    gate::{End, Gate},
    shard::Account,
    slot::Slot,
};
use crate::{
    decision::{Decision, Receipt, View},
    key::KeyRef,
    record::{MINUTE_US, Outcome, Record},
    store::{QuotaStore, QuotaUnavailable},
};

/// Slots that a charge looks at, once a millisecond, to drop idle records.
const SWEEP_SLOTS: usize = 32;

/// Into how many blocks a day's ceiling is cut at most: half a percent of a day for the largest block.
const RESERVATIONS_A_DAY: u32 = 200;

/// Units of a day that the ledger has noted.
#[derive(Debug, Clone, Copy)]
struct Granted {
    day: u32,
    up_to: u32,
}

/// Where a charge of more than 0 stands after one look under the lock.
enum Step {
    /// Charged at `now_us`; the account's record is `after`.
    Charged {
        after: Record,
        now_us: u64,
    },
    Refused(Outcome),
    /// Nothing is decided without the ledger, and the caller only wanted to look.
    Ask,
    /// The ledger must note `granted` first. With a new gate where the caller does not hold one.
    Reserve(Granted, Option<Arc<Gate>>),
    /// Another call is asking the ledger for this account.
    Wait(Arc<Gate>),
}

/// What a look under the lock may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A decision, or nothing.
    Look,
    /// A gate, to ask the ledger or to wait for another call that asks it.
    Ask,
    /// The caller holds the account's gate.
    Holding,
}

/// Holds an account's gate; takes it away and opens it however the call ends.
struct Holding<'a> {
    line: &'a Line,
    account: Account<'a>,
    gate: Arc<Gate>,
    end: End,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.line.lock().take_gate(self.account);
        self.gate.open(self.end);
    }
}

impl MemoryQuota {
    /// One look under the lock: decides, writes, or says what must happen first.
    #[inline(always)]
    fn step(
        &self,
        account: Account<'_>,
        cost: Units,
        limits: Limits,
        granted: Option<Granted>,
        mode: Mode,
    ) -> Result<Step, QuotaUnavailable> {
        let now_us = self.now_us();
        let mut shard = self.line(account).lock();
        if shard.closed {
            return Err(QuotaUnavailable::Closed);
        }
        if shard.is_sweep_due(now_us) {
            self.drop_idle(&mut shard, SWEEP_SLOTS, now_us);
        }

        let found = shard.find(account);
        let (before, reserved) = found.map_or((shard.absent(), 0), |(_, slot)| {
            (slot.record, slot.reserved)
        });
        let Some(after) = before.admit(now_us, cost, limits) else {
            return Ok(Step::Refused(before.charge(now_us, cost, limits)));
        };
        let of_today = |known: Granted| {
            if known.day == after.day {
                known.up_to
            } else {
                0
            }
        };
        let remembered = Granted {
            day: before.day,
            up_to: reserved,
        };
        let reserved = of_today(remembered).max(granted.map_or(0, of_today));
        let may_write = self.ledger.is_none() || after.spent <= reserved;

        if may_write && let Some((place, slot)) = found {
            let slot = Slot {
                record: after,
                reserved,
                per_minute: if after.last_us - before.last_us < MINUTE_US {
                    slot.per_minute.max(limits.per_minute())
                } else {
                    limits.per_minute()
                },
            };
            shard.set(account, place, slot);
            return Ok(Step::Charged { after, now_us });
        }
        if found.is_none() && !self.has_room(&mut shard, now_us) {
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
            shard.insert(&self.seeds, account, slot);
            return Ok(Step::Charged { after, now_us });
        }
        let wanted = Granted {
            day: after.day,
            up_to: self.reservation(after.spent, limits),
        };
        match mode {
            Mode::Look => return Ok(Step::Ask),
            Mode::Holding => return Ok(Step::Reserve(wanted, None)),
            Mode::Ask => {}
        }
        if let Some(gate) = shard.gate(account) {
            return Ok(Step::Wait(gate));
        }
        let gate = Arc::new(Gate::default());
        shard.put_gate(account, Arc::clone(&gate));
        Ok(Step::Reserve(wanted, Some(gate)))
    }

    /// What to reserve for `spent` units, which the day has: whole blocks, but no more than the day's ceiling. A block grows with that
    /// ceiling, so that an account asks the ledger so many times a day at most, however much it may spend.
    fn reservation(&self, spent: u32, limits: Limits) -> u32 {
        let block = self.options.block.get();
        let block = block.max(limits.per_day() / RESERVATIONS_A_DAY).max(1);
        spent
            .checked_next_multiple_of(block)
            .unwrap_or(u32::MAX)
            .min(limits.per_day())
    }

    /// A charge that never waits: `None` when the ledger must be asked first, and nothing is charged then. Without a
    /// ledger there is always a decision, so that neither a runtime nor an allocation stands between a caller and it.
    ///
    /// # Errors
    /// As for [`QuotaStore::charge`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use brownstone_domain::{Limits, SystemClock, Units};
    /// use brownstone_quota::{Decision, MemoryQuota};
    ///
    /// let quota = MemoryQuota::new(Arc::new(SystemClock));
    /// let decision = quota.try_charge("account", Units::new(10), Limits::default());
    /// assert!(matches!(decision, Some(Ok(Decision::Admitted { .. }))));
    /// ```
    pub fn try_charge(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
    ) -> Option<Result<Decision, QuotaUnavailable>> {
        let name = account;
        let account = self.account(KeyRef::new(name));
        if cost == Units::ZERO {
            let record = self.line(account).lock().record(account);
            let outcome = record.charge(self.now_us(), cost, limits);
            return Some(Ok(outcome.into_decision(name)));
        }
        match self.step(account, cost, limits, None, Mode::Look) {
            Ok(Step::Charged { after, now_us }) => {
                let key = account.key;
                Some(Ok(Decision::admitted(key, after, now_us, cost, limits)))
            }
            Ok(Step::Refused(outcome)) => Some(Ok(outcome.into_decision(name))),
            Ok(Step::Ask | Step::Reserve(..) | Step::Wait(_)) => None,
            Err(unavailable) => Some(Err(unavailable)),
        }
    }

    /// A charge that asks the ledger first.
    async fn charge_ahead(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
    ) -> Result<Decision, QuotaUnavailable> {
        let name = account;
        let account = self.account(KeyRef::new(name));
        let mut granted = None;
        let mut holding: Option<Holding<'_>> = None;
        loop {
            let mode = if holding.is_some() {
                Mode::Holding
            } else {
                Mode::Ask
            };
            match self.step(account, cost, limits, granted, mode)? {
                Step::Charged { after, now_us } => {
                    let key = account.key;
                    return Ok(Decision::admitted(key, after, now_us, cost, limits));
                }
                Step::Refused(outcome) => return Ok(outcome.into_decision(name)),
                Step::Wait(gate) => {
                    if gate.opened().await == End::Failed {
                        return Err(QuotaUnavailable::silent(
                            "the ledger failed another call's reservation of this account",
                        ));
                    }
                }
                // Only a look ends so.
                Step::Ask => {}
                Step::Reserve(wanted, gate) => {
                    if let Some(gate) = gate {
                        holding = Some(Holding {
                            line: self.line(account),
                            account,
                            gate,
                            end: End::Look,
                        });
                    }
                    if let Some(ledger) = &self.ledger {
                        let noted = ledger.reserve(name, wanted.day, wanted.up_to).await;
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
}

#[async_trait]
impl QuotaStore for MemoryQuota {
    async fn charge(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
    ) -> Result<Decision, QuotaUnavailable> {
        match self.try_charge(account, cost, limits) {
            Some(decided) => decided,
            // Boxed apart: the future of the usual case stays small.
            None => Box::pin(self.charge_ahead(account, cost, limits)).await,
        }
    }

    async fn refund(&self, receipt: Receipt) -> Result<(), QuotaUnavailable> {
        if receipt.cost() != Units::ZERO {
            let account = self.account(receipt.key());
            let now_us = self.now_us();
            let mut shard = self.line(account).lock();
            // No slot: the charge decayed, and its day is over.
            if let Some((place, slot)) = shard.find(account) {
                let refunded = Slot {
                    record: slot
                        .record
                        .refund(now_us, receipt.charge(), slot.per_minute),
                    ..slot
                };
                shard.set(account, place, refunded);
            }
        }
        Ok(())
    }

    async fn peek(&self, account: &str, limits: Limits) -> Result<View, QuotaUnavailable> {
        let account = self.account(KeyRef::new(account));
        let record = self.line(account).lock().record(account);
        Ok(record.peek(self.now_us(), limits))
    }
}
