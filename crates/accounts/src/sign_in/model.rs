//! Sessions, one-time links and their tokens as they are stored.

use sha2::{Digest as _, Sha256};
use time::{Duration, OffsetDateTime};

use crate::key::NoRandomness;
use crate::model::{Account, AccountId};

/// How long a session lasts at most, used or not.
pub const SESSION_LIFETIME: Duration = Duration::days(14);

/// How long a session lasts without use.
pub const SESSION_IDLE: Duration = Duration::days(3);

/// How long a one-time link can be used.
pub const LINK_LIFETIME: Duration = Duration::days(3);

/// Stands for the moment at which somebody was asked who it is, where none is known: no session that has it is fresh.
pub const NEVER: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

/// How often the last use of a session is written.
pub const SEEN_EVERY: Duration = Duration::minutes(5);

/// A secret of 256 random bits in the hand of its owner: a session's cookie, a link's tail. Only its hash is kept.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token([REDACTED])")
    }
}

impl Token {
    /// Length of a token's text.
    pub const LENGTH: usize = 64;

    /// A fresh one.
    ///
    /// # Errors
    /// When the operating system has no random bytes.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(hex(&bytes)))
    }

    /// The token that a request carries; `None` for what cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == Self::LENGTH
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        fits.then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the cookie or the link.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// Another secret that follows from this one and the purpose, and tells nothing of it.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut sum = Sha256::new();
        sum.update(b"brownstone/");
        sum.update(purpose.as_bytes());
        sum.update([0]);
        sum.update(self.0.as_bytes());
        sum.finalize().into()
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| DIGITS.get(usize::from(digit)).copied())
        .map(char::from)
        .collect()
}

/// The reverse of [`hex`]; `None` for other text.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// SHA-256 of a token. The token has 256 bits: no slow hash is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// A person who is signed in somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name in lists; not secret.
    pub id: String,
    /// Hash of the cookie's token.
    pub hash: TokenHash,
    /// Whose it is.
    pub account: AccountId,
    /// When it began.
    pub created_at: OffsetDateTime,
    /// About when it was last used.
    pub last_seen_at: OffsetDateTime,
    /// When the password was last given for it, here or at an issuer; [`NEVER`] where an issuer does not say.
    pub authenticated_at: OffsetDateTime,
    /// When it ends at the latest.
    pub expires_at: OffsetDateTime,
    /// The network address it began at, for its owner to recognise it by.
    pub address: String,
    /// The browser's own name, for its owner to recognise it by.
    pub agent: String,
}

impl Session {
    /// Whether the session is good at `now`.
    pub fn is_alive(&self, now: OffsetDateTime) -> bool {
        now < self.expires_at && now - self.last_seen_at < SESSION_IDLE
    }

    /// Whether the password was given within `age`.
    pub fn is_fresh(&self, now: OffsetDateTime, age: Duration) -> bool {
        now - self.authenticated_at < age
    }
}

/// A session and its account: who asks.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// Its account, as it stands now.
    pub account: Account,
}

/// A link by which the owner of an account sets a password, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Hash of its token.
    pub hash: TokenHash,
    /// Whose password it sets.
    pub account: AccountId,
    /// When it was made.
    pub created_at: OffsetDateTime,
    /// When it ends.
    pub expires_at: OffsetDateTime,
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn a_token_is_read_as_it_was_made_and_nothing_else_is_one() {
        let token = Token::generate().unwrap();
        assert_eq!(Token::parse(token.expose()).unwrap().hash(), token.hash());
        assert_eq!(format!("{token:?}"), "Token([REDACTED])");
        for text in ["", "abc", &"A".repeat(64), &"0".repeat(65), &"g".repeat(64)] {
            assert!(Token::parse(text).is_none(), "{text}");
        }
        assert_ne!(token.derive("csrf"), token.hash().0);
        assert_ne!(token.derive("csrf"), token.derive("other"));
    }

    #[test]
    fn hexadecimal_goes_both_ways() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        assert_eq!(unhex("0"), None);
        assert_eq!(unhex("é"), None);
    }

    #[test]
    fn a_session_ends_by_age_and_by_rest() {
        let start = datetime!(2026-11-27 12:00 UTC);
        let mut session = Session {
            id: "s".into(),
            hash: TokenHash([0; 32]),
            account: AccountId::from("a"),
            created_at: start,
            last_seen_at: start,
            authenticated_at: start,
            expires_at: start + SESSION_LIFETIME,
            address: String::new(),
            agent: String::new(),
        };
        assert!(session.is_alive(start + SESSION_IDLE - Duration::SECOND));
        assert!(!session.is_alive(start + SESSION_IDLE));
        session.last_seen_at = start + SESSION_LIFETIME - Duration::SECOND;
        assert!(session.is_alive(start + SESSION_LIFETIME - Duration::SECOND));
        assert!(!session.is_alive(start + SESSION_LIFETIME));
        assert!(session.is_fresh(start, Duration::SECOND));
        assert!(!session.is_fresh(start + Duration::SECOND, Duration::SECOND));
    }
}
