//! How often a password may be tried, for one account, in one session and from one network address, how often a right one may be given by those
//! who are signed in, and how many accounts one network address opens. In the process: a restart forgives.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use time::{Duration, OffsetDateTime};

/// The span in which tries are counted.
const WINDOW: Duration = Duration::minutes(15);

/// Tries for one account in the span, and in one session.
const PER_ACCOUNT: u32 = 10;

/// Right passwords in all sessions of one account in the span: each costs a hash and a line of the audit trail.
const PROVED: u32 = 30;

/// Tries from one network address in the span.
const PER_ADDRESS: u32 = 100;

/// Tries from one IPv6 /48 in the span: a site with 65,536 networks to itself, or some of its customers.
const PER_SITE: u32 = 1_000;

/// Accounts that one network address may open in a span of its own: each has a budget, and a script must not open hundreds.
const OPENED: u32 = 20;

/// Accounts that one IPv6 /48 may open in that span.
const OPENED_BY_SITE: u32 = 100;

/// That span.
const OPENED_WINDOW: Duration = Duration::hours(1);

/// How often counters that are over are dropped: it takes a look at each.
const SWEPT_EVERY: Duration = Duration::MINUTE;

/// Most counters that are kept. A counter is never given up for another, or whoever fills the room would begin anew with every account: where
/// there is no room, who is not counted yet waits for some.
const MOST: usize = 100_000;

/// Room that is left to those who are signed in: no stranger can fill it.
const MOST_WITH_SESSIONS: usize = MOST + MOST / 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Whose {
    Account(String),
    Session(String),
    Proved(String),
    Address(String),
    Site(String),
    Opened(String),
    OpenedBySite(String),
}

impl Whose {
    /// How many in which span.
    const fn bound(&self) -> (u32, Duration) {
        match self {
            Self::Account(_) | Self::Session(_) => (PER_ACCOUNT, WINDOW),
            Self::Proved(_) => (PROVED, WINDOW),
            Self::Address(_) => (PER_ADDRESS, WINDOW),
            Self::Site(_) => (PER_SITE, WINDOW),
            Self::Opened(_) => (OPENED, OPENED_WINDOW),
            Self::OpenedBySite(_) => (OPENED_BY_SITE, OPENED_WINDOW),
        }
    }

    /// How many counters there may be with a new one of this kind.
    const fn room(&self) -> usize {
        match self {
            Self::Session(_) | Self::Proved(_) => MOST_WITH_SESSIONS,
            _ => MOST,
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    all: HashMap<Whose, (OffsetDateTime, u32)>,
    /// When what was over was dropped last.
    swept: Option<OffsetDateTime>,
}

impl Counts {
    /// Drops what is over, now and then.
    fn sweep(&mut self, now: OffsetDateTime) {
        // A clock that was put back must not keep it from ever happening again.
        let due = |at: OffsetDateTime| (now - at).abs() >= SWEPT_EVERY;
        if self.swept.is_none_or(due) {
            self.all
                .retain(|key, (start, _)| now - *start < key.bound().1);
            self.swept = Some(now);
        }
    }

    /// Seconds until this one may be counted, with `fresh` that are not counted yet; 0 for at once.
    fn wait(&self, key: &Whose, fresh: usize, now: OffsetDateTime) -> u64 {
        let (most, window) = key.bound();
        let end = match self.all.get(key) {
            Some((start, count)) if now - *start < window && *count >= most => *start + window,
            Some(_) => return 0,
            None if self.all.len() + fresh <= key.room() => return 0,
            // After the next sweep there may be room.
            None => self.swept.unwrap_or(now) + SWEPT_EVERY,
        };
        u64::try_from((end - now).whole_seconds().max(1)).unwrap_or(1)
    }

    fn add(&mut self, key: Whose, now: OffsetDateTime) {
        let (_, window) = key.bound();
        let entry = self.all.entry(key).or_insert((now, 0));
        if now - entry.0 >= window {
            *entry = (now, 0);
        }
        entry.1 += 1;
    }
}

/// Counts tries.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Counts>);

impl Throttle {
    /// Counts a try, before anything is verified, so that tries at one time count too. `Err` holds the seconds to wait.
    ///
    /// # Errors
    /// When the account or the address has had all its tries.
    pub fn count(&self, account: &str, address: IpAddr, now: OffsetDateTime) -> Result<(), u64> {
        let site = site(address).map(Whose::Site);
        let keys = [
            Whose::Account(account.to_owned()),
            Whose::Address(network(address)),
        ];
        self.count_all(keys.into_iter().chain(site).collect(), now)
    }

    /// Counts a try of somebody who is signed in. `Err` holds the seconds to wait.
    ///
    /// # Errors
    /// When the session has had all its tries.
    pub fn count_session(&self, session: &str, now: OffsetDateTime) -> Result<(), u64> {
        self.count_all(vec![Whose::Session(session.to_owned())], now)
    }

    /// Counts a right password of somebody who is signed in to the account: no stranger has one to spend, and nothing forgives it. `Err` holds
    /// the seconds to wait.
    ///
    /// # Errors
    /// When the account has given all it may.
    pub fn count_proved(&self, account: &str, now: OffsetDateTime) -> Result<(), u64> {
        self.count_all(vec![Whose::Proved(account.to_owned())], now)
    }

    /// Counts an account that is about to be opened. `Err` holds the seconds to wait.
    ///
    /// # Errors
    /// When the address has opened all it may.
    pub fn count_opening(&self, address: IpAddr, now: OffsetDateTime) -> Result<(), u64> {
        let site = site(address).map(Whose::OpenedBySite);
        let keys = [Whose::Opened(network(address))];
        self.count_all(keys.into_iter().chain(site).collect(), now)
    }

    /// Counts for all, or where one has had all its tries for none.
    fn count_all(&self, keys: Vec<Whose>, now: OffsetDateTime) -> Result<(), u64> {
        let mut counts = self.counts();
        counts.sweep(now);
        let fresh = keys.iter().filter(|key| !counts.all.contains_key(key));
        let fresh = fresh.count();
        let waits = keys.iter().map(|key| counts.wait(key, fresh, now));
        let wait = waits.max().unwrap_or_default();
        if wait > 0 {
            return Err(wait);
        }
        for key in keys {
            counts.add(key, now);
        }
        Ok(())
    }

    /// A password that was right: the account begins anew. The address does not, or one good account would pay for many guesses.
    pub fn forgive(&self, account: &str) {
        let mut counts = self.counts();
        counts.all.remove(&Whose::Account(account.to_owned()));
    }

    /// A password that was right in a session.
    pub fn forgive_session(&self, session: &str) {
        let mut counts = self.counts();
        counts.all.remove(&Whose::Session(session.to_owned()));
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The /48 of an IPv6 address.
fn site(address: IpAddr) -> Option<String> {
    match address.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => {
            let [a, b, c, ..] = v6.segments();
            Some(format!("{a:x}:{b:x}:{c:x}::/48"))
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

    #[test]
    fn a_site_with_many_networks_is_counted_too() {
        let throttle = Throttle::default();
        let at = |network: u32| address(&format!("2001:db8:1:{network:x}::1"));
        for n in 0..PER_SITE {
            assert_eq!(throttle.count(&format!("account {n}"), at(n), NOON), Ok(()));
        }
        let next = at(PER_SITE);
        assert_eq!(throttle.count("another", next, NOON), Err(900));
        let elsewhere = address("2001:db8:2::1");
        assert_eq!(throttle.count("another", elsewhere, NOON), Ok(()));
        for n in 0..OPENED_BY_SITE {
            assert_eq!(throttle.count_opening(at(n), NOON), Ok(()));
        }
        assert_eq!(throttle.count_opening(next, NOON), Err(3_600));
        assert_eq!(throttle.count_opening(elsewhere, NOON), Ok(()));
    }

    #[test]
    fn a_session_is_counted_apart_from_the_account_and_its_addresses() {
        let throttle = Throttle::default();
        for _ in 0..PER_ACCOUNT {
            assert_eq!(throttle.count_session("s", NOON), Ok(()));
        }
        assert_eq!(throttle.count_session("s", NOON), Err(900));
        assert_eq!(throttle.count_session("another", NOON), Ok(()));
        throttle.forgive_session("s");
        assert_eq!(throttle.count_session("s", NOON), Ok(()));
    }

    #[test]
    fn right_passwords_in_sessions_are_counted_apart_and_nothing_forgives_them() {
        let throttle = Throttle::default();
        for _ in 0..PROVED {
            assert_eq!(throttle.count_proved("a", NOON), Ok(()));
            throttle.forgive("a");
            throttle.forgive_session("a");
        }
        assert_eq!(throttle.count_proved("a", NOON), Err(900));
        assert_eq!(throttle.count_proved("b", NOON), Ok(()));
        assert_eq!(throttle.count("a", address("192.0.2.1"), NOON), Ok(()));
        assert_eq!(throttle.count_session("a", NOON), Ok(()));
        assert_eq!(throttle.count_proved("a", NOON + WINDOW), Ok(()));
    }

    /// As many counters as there is room for, from many addresses, one account each but for the first.
    fn filled(throttle: &Throttle) {
        for n in 0..PER_ACCOUNT {
            let from = address(&format!("192.0.2.{n}"));
            throttle.count("guessed", from, NOON).unwrap();
        }
        let mut n = 0_u32;
        while throttle.counts().all.len() + 1 < MOST {
            let from = IpAddr::V4((0x0a00_0000 + n).into());
            throttle.count(&format!("account {n}"), from, NOON).unwrap();
            n += 1;
        }
    }

    #[test]
    fn whoever_fills_the_room_resets_no_counter_and_keeps_nobody_out_who_is_in() {
        let throttle = Throttle::default();
        filled(&throttle);
        let from = address("198.51.100.1");
        for later in [0, 59, 61, 300] {
            let now = NOON + Duration::seconds(later);
            let waits = throttle.count("new", from, now);
            assert!(waits.is_err_and(|wait| wait <= 60), "{later}: {waits:?}");
            let known = address("192.0.2.1");
            assert!(throttle.count("guessed", known, now).is_err(), "{later}");
            let session = format!("session {later}");
            assert_eq!(throttle.count_session(&session, now), Ok(()), "{later}");
            let account = format!("own {later}");
            assert_eq!(throttle.count_proved(&account, now), Ok(()), "{later}");
        }
        assert!(throttle.counts().all.len() <= MOST + 8);
        // What is over makes room.
        assert_eq!(throttle.count("new", from, NOON + WINDOW), Ok(()));
        assert!(throttle.counts().all.len() < 10);
    }

    #[test]
    fn what_is_over_is_looked_for_once_a_minute() {
        let throttle = Throttle::default();
        let swept = |at| {
            throttle.count_session("s", at).unwrap();
            throttle.counts().swept
        };
        assert_eq!(swept(NOON), Some(NOON));
        assert_eq!(swept(NOON + Duration::seconds(59)), Some(NOON));
        let later = NOON + Duration::MINUTE;
        assert_eq!(swept(later), Some(later));
    }
}
