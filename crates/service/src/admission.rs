//! Bounds on calls in flight: for the process and for an account.

use std::sync::{Arc, Mutex, PoisonError};

use brownstone_accounts::AccountId;
use foldhash::HashMap;

/// The bounds.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Calls in flight in the whole process.
    pub process: usize,
    /// Calls in flight of one account.
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

/// Counts calls in flight.
#[derive(Debug, Clone)]
pub struct Admission {
    limits: AdmissionLimits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    process: usize,
    accounts: HashMap<AccountId, usize>,
}

/// A place among the calls in flight; dropping it gives it back.
#[derive(Debug)]
pub struct Place {
    account: AccountId,
    counts: Arc<Mutex<Counts>>,
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
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.process >= self.limits.process {
            return Err(Refusal::Process);
        }
        match counts.accounts.get_mut(account) {
            Some(n) if *n >= self.limits.account => return Err(Refusal::Account),
            Some(n) => *n += 1,
            None => {
                counts.accounts.insert(account.clone(), 1);
            }
        }
        counts.process += 1;
        drop(counts);
        Ok(Place {
            account: account.clone(),
            counts: Arc::clone(&self.counts),
        })
    }

    /// Calls in flight now.
    pub fn in_flight(&self) -> usize {
        self.counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .process
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.process = counts.process.saturating_sub(1);
        if let Some(n) = counts.accounts.get_mut(&self.account) {
            *n -= 1;
            if *n == 0 {
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
}
