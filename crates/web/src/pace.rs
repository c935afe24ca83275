//! How often an account does something in a span of time: no storage, and nothing that grows.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use brownstone_accounts::AccountId;

/// Places for accounts. Two that share one share its bound, which is far above what anybody does by hand.
const PLACES: usize = 1_024;

/// How often each account did it in this span.
pub(crate) struct Pace {
    most: u64,
    hasher: RandomState,
    places: Box<[AtomicU64]>,
}

impl Pace {
    /// So many in a span, at most 65,535.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most: most.min(0xffff),
            hasher: RandomState::new(),
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Counts once more in the span of this number; `false` where there were too many.
    pub(crate) fn allows(&self, account: &AccountId, span: u64) -> bool {
        let hash = self.hasher.hash_one(account.as_str());
        let place = usize::try_from(hash % PLACES as u64).unwrap_or_default();
        let Some(place) = self.places.get(place) else {
            return true;
        };
        // The span above, the count in the lower sixteen bits.
        let counted = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
            let count = if before >> 16 == span {
                before & 0xffff
            } else {
                0
            };
            (count < self.most).then_some(span << 16 | (count + 1))
        });
        counted.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_does_it_so_often_in_a_span() {
        let pace = Pace::new(20);
        let account = AccountId::from("a");
        let done = |span| (0..40).filter(|_| pace.allows(&account, span)).count();
        assert_eq!(done(7), 20);
        assert_eq!(done(7), 0);
        assert_eq!(done(8), 20, "the next span is another");
    }
}
