//! Bounds on calls in flight: for the process and for an account.
//!
//! An account's calls that wait for a report are counted apart from its others: however many of them wait, what is answered from
//! memory goes on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brownstone_accounts::AccountId;
use foldhash::HashMap;

/// The bounds.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Calls in flight in the whole process.
    pub process: usize,
    /// Calls in flight of one account: of those that wait for a report, and of the others.
    pub account: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            process: 4096,
            account: 64,
        }
    }
}

/// Why a call is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The process has all it can take.
    Process,
    /// The account has all its calls in flight.
    Account,
}

/// The account has all its calls in flight that wait for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWait;

/// Counts calls in flight.
#[derive(Debug, Clone)]
pub struct Admission {
    limits: AdmissionLimits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    process: usize,
    accounts: HashMap<AccountId, OfAccount>,
}

#[derive(Debug, Default)]
struct OfAccount {
    /// Calls that wait for a report which is not in memory.
    waiting: usize,
    others: usize,
}

/// A place among the calls in flight; dropping it gives it back.
#[derive(Debug)]
pub struct Place {
    account: AccountId,
    waits: bool,
    admission: Admission,
}

impl Admission {
    /// No call in flight yet.
    pub fn new(limits: AdmissionLimits) -> Self {
        Self {
            limits,
            counts: Arc::default(),
        }
    }

    /// Takes a place for a call of `account`.
    ///
    /// # Errors
    /// Says whose bound is reached; the process's comes first.
    pub fn enter(&self, account: &AccountId) -> Result<Place, Refusal> {
        let mut counts = self.counts();
        if counts.process >= self.limits.process {
            return Err(Refusal::Process);
        }
        match counts.accounts.get_mut(account) {
            Some(of) if of.others >= self.limits.account => return Err(Refusal::Account),
            Some(of) => of.others += 1,
            None => {
                let first = OfAccount {
                    waiting: 0,
                    others: 1,
                };
                counts.accounts.insert(account.clone(), first);
            }
        }
        counts.process += 1;
        drop(counts);
        Ok(Place {
            account: account.clone(),
            waits: false,
            admission: self.clone(),
        })
    }

    /// Calls in flight now.
    pub fn in_flight(&self) -> usize {
        self.counts().process
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Moves to the account's calls that wait for a report, to the end of the call.
    ///
    /// # Errors
    /// When there are as many of them as may be.
    pub fn wait(&mut self) -> Result<(), TooManyWait> {
        let mut counts = self.admission.counts();
        if let Some(of) = counts.accounts.get_mut(&self.account)
            && !self.waits
        {
            if of.waiting >= self.admission.limits.account {
                return Err(TooManyWait);
            }
            of.others -= 1;
            of.waiting += 1;
        }
        drop(counts);
        self.waits = true;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.admission.counts();
        counts.process = counts.process.saturating_sub(1);
        if let Some(of) = counts.accounts.get_mut(&self.account) {
            match self.waits {
                true => of.waiting -= 1,
                false => of.others -= 1,
            }
            if of.waiting == 0 && of.others == 0 {
                counts.accounts.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let admission = Admission::new(AdmissionLimits {
            process: 3,
            account: 2,
        });
        let (a, b) = (AccountId::from("a"), AccountId::from("b"));
        let first = admission.enter(&a).unwrap();
        let _second = admission.enter(&a).unwrap();
        assert_eq!(admission.enter(&a).unwrap_err(), Refusal::Account);
        let _third = admission.enter(&b).unwrap();
        assert_eq!(admission.enter(&b).unwrap_err(), Refusal::Process);
        drop(first);
        assert_eq!(admission.in_flight(), 2);
        assert!(admission.enter(&a).is_ok());
        assert_eq!(admission.in_flight(), 2, "a place that is dropped is free");
    }
    #[test]
    fn calls_that_wait_leave_room_for_those_that_do_not() {
        let admission = Admission::new(AdmissionLimits {
            process: 5,
            account: 2,
        });
        let a = AccountId::from("a");
        let mut waiting = Vec::new();
        for _ in 0..2 {
            let mut place = admission.enter(&a).unwrap();
            place.wait().unwrap();
            place.wait().expect("it waits already");
            waiting.push(place);
        }
        let mut third = admission.enter(&a).expect("those that wait do not count");
        assert_eq!(third.wait().unwrap_err(), TooManyWait);
        let _fourth = admission.enter(&a).expect("the third is the only other");
        assert_eq!(admission.enter(&a).unwrap_err(), Refusal::Account);
        waiting.pop();
        third.wait().expect("a place that is dropped is free");
        assert_eq!(admission.in_flight(), 3, "the process counts all of them");
        drop((third, waiting));
        assert_eq!(admission.in_flight(), 1);
    }
}
