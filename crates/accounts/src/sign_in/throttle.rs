//! How often a password may be tried, for one account and from one network address, and how many accounts one such address opens. In the
//! process: a restart forgives.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

/// The span in which tries are counted.
const WINDOW: Duration = Duration::minutes(15);

/// Tries for one account in the span.
const PER_ACCOUNT: u32 = 10;

/// Tries from one network address in the span.
const PER_ADDRESS: u32 = 100;

/// Entries above which those that are over are dropped.
const MANY: usize = 10_000;

/// Accounts that one network address may open in a span of its own: each has a budget, and a script must not open hundreds.
const OPENED: u32 = 20;

/// That span.
const OPENED_WINDOW: Duration = Duration::hours(1);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Whose {
    Account(String),
    Address(String),
    Opened(String),
}

impl Whose {
    /// How many in which span.
    const fn bound(&self) -> (u32, Duration) {
        match self {
            Self::Account(_) => (PER_ACCOUNT, WINDOW),
            Self::Address(_) => (PER_ADDRESS, WINDOW),
            Self::Opened(_) => (OPENED, OPENED_WINDOW),
        }
    }
}

/// Counts tries.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<HashMap<Whose, (OffsetDateTime, u32)>>);

impl Throttle {
    /// Counts a try, before anything is verified, so that tries at one time count too. `Err` holds the seconds to wait.
    ///
    /// # Errors
    /// When the account or the address has had all its tries.
    pub fn count(&self, account: &str, address: IpAddr, now: OffsetDateTime) -> Result<(), u64> {
        let account = Whose::Account(account.to_owned());
        self.count_all([account, Whose::Address(network(address))], now)
    }

    /// Counts an account that is about to be opened. `Err` holds the seconds to wait.
    ///
    /// # Errors
    /// When the address has opened all it may.
    pub fn count_opening(&self, address: IpAddr, now: OffsetDateTime) -> Result<(), u64> {
        self.count_all([Whose::Opened(network(address))], now)
    }

    /// Counts for all, or where one has had all its tries for none.
    fn count_all<const N: usize>(&self, keys: [Whose; N], now: OffsetDateTime) -> Result<(), u64> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() > MANY {
            counts.retain(|key, (start, _)| now - *start < key.bound().1);
        }
        let mut wait = 0;
        for key in &keys {
            let (most, window) = key.bound();
            if let Some((start, count)) = counts.get(key)
                && now - *start < window
                && *count >= most
            {
                let left = (*start + window - now).whole_seconds().max(1);
                wait = wait.max(u64::try_from(left).unwrap_or(1));
            }
        }
        if wait > 0 {
            return Err(wait);
        }
        for key in keys {
            let (_, window) = key.bound();
            let entry = counts.entry(key).or_insert((now, 0));
            if now - entry.0 >= window {
                *entry = (now, 0);
            }
            entry.1 += 1;
        }
        Ok(())
    }

    /// A password that was right: the account begins anew. The address does not, or one good account would pay for many guesses.
    pub fn forgive(&self, account: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&Whose::Account(account.to_owned()));
    }
}

/// An IPv4 address, or the /64 that one IPv6 customer has to itself.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOON: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_account_has_ten_tries_in_a_quarter_of_an_hour_from_anywhere() {
        let throttle = Throttle::default();
        for n in 0..PER_ACCOUNT {
            let from = address(&format!("192.0.2.{n}"));
            assert_eq!(throttle.count("a", from, NOON), Ok(()));
        }
        let other = address("198.51.100.1");
        assert_eq!(throttle.count("a", other, NOON), Err(900));
        assert_eq!(throttle.count("b", other, NOON), Ok(()));
        assert_eq!(throttle.count("a", other, NOON + WINDOW), Ok(()));
    }

    #[test]
    fn a_right_password_forgives_the_account_but_not_the_address() {
        let throttle = Throttle::default();
        let from = address("2001:db8::1");
        for n in 0..PER_ADDRESS {
            let name = format!("account {n}");
            assert_eq!(throttle.count(&name, from, NOON), Ok(()));
            throttle.forgive(&name);
        }
        let neighbour = address("2001:db8::2");
        assert!(throttle.count("another", neighbour, NOON).is_err());
        assert!(
            throttle
                .count("another", address("2001:db8:0:1::1"), NOON)
                .is_ok()
        );
    }

    #[test]
    fn an_address_opens_so_many_accounts_in_an_hour() {
        let throttle = Throttle::default();
        let from = address("192.0.2.1");
        for _ in 0..OPENED {
            assert_eq!(throttle.count_opening(from, NOON), Ok(()));
        }
        assert_eq!(throttle.count_opening(from, NOON), Err(3_600));
        assert_eq!(
            throttle.count("a", from, NOON),
            Ok(()),
            "who is known signs in"
        );
        assert_eq!(throttle.count_opening(address("192.0.2.2"), NOON), Ok(()));
        assert_eq!(throttle.count_opening(from, NOON + OPENED_WINDOW), Ok(()));
    }

    #[test]
    fn refused_tries_do_not_count() {
        let throttle = Throttle::default();
        let from = address("192.0.2.1");
        for _ in 0..PER_ACCOUNT {
            throttle.count("a", from, NOON).unwrap();
        }
        for n in 0..1_000 {
            assert!(
                throttle
                    .count("a", from, NOON + Duration::milliseconds(n))
                    .is_err()
            );
        }
        assert!(throttle.count("b", from, NOON).is_ok());
    }
}
