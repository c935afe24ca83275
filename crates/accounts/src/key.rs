//! The key itself: what it looks like, how one is made, what of it is kept.
//!
//! `svc_live_` or `svc_test_`, then 32 base-62 characters from the operating system's generator (190 bits), then the CRC-32 of
//! all that precedes it as 6 base-62 characters. The checksum is no secret and no defence: it refuses a typo without a
//! look-up and lets secret scanners tell a key from a look-alike.

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use crate::model::{Environment, KeyHash};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Both prefixes are this long.
const PREFIX_LEN: usize = 9;
const BODY_LEN: usize = 32;
const CHECKSUM_LEN: usize = 6;

/// Length of every key in characters.
pub const KEY_LEN: usize = PREFIX_LEN + BODY_LEN + CHECKSUM_LEN;

/// A whole key. It is shown to its owner once and then gone: it prints as `[REDACTED]`, is wiped from memory when dropped, and
/// cannot be compared (compare hashes instead).
///
/// ```compile_fail,E0369
/// fn same(one: &brownstone_accounts::ApiKey, other: &brownstone_accounts::ApiKey) -> bool {
///     one == other
/// }
/// ```
#[derive(Clone)]
pub struct ApiKey {
    secret: SecretString,
    environment: Environment,
}

/// Why a text is not a key. For the log: a caller is only told that the key is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedKey {
    /// It begins with neither `svc_live_` nor `svc_test_`.
    #[error("a key begins with svc_live_ or svc_test_")]
    Prefix,
    /// It is too long or too short.
    #[error("a key has {KEY_LEN} characters")]
    Length,
    /// It has a character that no key has.
    #[error("a key has only letters and digits after its prefix")]
    Alphabet,
    /// Its last characters do not fit the rest: a typo.
    #[error("the key's checksum does not fit: a character is wrong")]
    Checksum,
}

/// The operating system gave no random bytes, so no key can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's random generator did not answer")]
pub struct NoRandomness;

impl ApiKey {
    /// A fresh key for `environment`.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn generate(environment: Environment) -> Result<Self, NoRandomness> {
        Self::generate_from(environment, |buffer| {
            getrandom::fill(buffer).map_err(|_| NoRandomness)
        })
    }

    fn generate_from(
        environment: Environment,
        mut fill: impl FnMut(&mut [u8]) -> Result<(), NoRandomness>,
    ) -> Result<Self, NoRandomness> {
        // The exact capacity, so that nothing is moved (and left behind in memory) while it grows.
        let mut text = String::with_capacity(KEY_LEN);
        text.push_str(environment.key_prefix());
        let mut buffer = Zeroizing::new([0_u8; BODY_LEN]);
        while text.len() < PREFIX_LEN + BODY_LEN {
            fill(&mut buffer[..])?;
            let wanted = PREFIX_LEN + BODY_LEN - text.len();
            text.extend(
                buffer
                    .iter()
                    .filter_map(|&byte| unbiased(byte))
                    .take(wanted),
            );
        }
        let sum = checksum(&text);
        text.extend(sum.iter().copied().map(char::from));
        Ok(Self {
            secret: SecretString::from(text),
            environment,
        })
    }

    /// The key that `text` is, if it is well formed. Says nothing about whether such a key exists.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        Ok(Self {
            environment: well_formed(text)?,
            secret: SecretString::from(text),
        })
    }

    /// SHA-256 of the whole key. No slow hash: 190 random bits cannot be guessed.
    pub fn hash(&self) -> KeyHash {
        hash_of(self.expose())
    }

    /// The environment its prefix names. A prefix proves nothing: the stored key's own environment decides.
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// `svc_live_` or `svc_test_`.
    pub fn prefix(&self) -> &'static str {
        self.environment.key_prefix()
    }

    /// Its last four characters, which belong to the checksum: they help to recognise a key and give nothing away.
    pub fn last_four(&self) -> &str {
        // Every key is ASCII and longer than four, or it would not have been made.
        self.expose().get(KEY_LEN - 4..).unwrap_or_default()
    }

    /// The key in clear: to print it for its owner, once.
    pub fn expose(&self) -> &str {
        self.secret.expose_secret()
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey([REDACTED])")
    }
}

/// The hash to look a presented key up by, made without a copy of the key: the path of every request.
pub(crate) fn hash_if_well_formed(text: &str) -> Result<KeyHash, MalformedKey> {
    well_formed(text)?;
    Ok(hash_of(text))
}

fn hash_of(text: &str) -> KeyHash {
    KeyHash(Sha256::digest(text.as_bytes()).into())
}

/// Checks everything that can be checked without a look-up. Returns the environment that the prefix names.
fn well_formed(text: &str) -> Result<Environment, MalformedKey> {
    let (environment, rest) = Environment::ALL
        .iter()
        .find_map(|one| Some((*one, text.strip_prefix(one.key_prefix())?)))
        .ok_or(MalformedKey::Prefix)?;
    if text.len() != KEY_LEN {
        return Err(MalformedKey::Length);
    }
    if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(MalformedKey::Alphabet);
    }
    let (payload, sum) = text
        .split_at_checked(KEY_LEN - CHECKSUM_LEN)
        .ok_or(MalformedKey::Length)?;
    // Both sides are public: whoever has the key can compute its checksum.
    if sum.as_bytes() == checksum(payload) {
        Ok(environment)
    } else {
        Err(MalformedKey::Checksum)
    }
}

/// The base-62 character of a random byte. Bytes from 248 (4 x 62) up are thrown away, else the first eight characters would
/// come up more often than the others.
fn unbiased(byte: u8) -> Option<char> {
    const USABLE: usize = ALPHABET.len() * (256 / ALPHABET.len());
    let byte = usize::from(byte);
    (byte < USABLE).then(|| char::from(ALPHABET[byte % ALPHABET.len()]))
}

/// CRC-32 as six base-62 digits, most significant first; six always hold 32 bits.
fn checksum(payload: &str) -> [u8; CHECKSUM_LEN] {
    let mut rest = crc32fast::hash(payload.as_bytes()) as usize;
    let mut digits = [ALPHABET[0]; CHECKSUM_LEN];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[rest % ALPHABET.len()];
        rest /= ALPHABET.len();
    }
    digits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn environments() -> impl Strategy<Value = Environment> {
        prop_oneof![Just(Environment::Live), Just(Environment::Test)]
    }

    /// A key whose random bytes come from proptest, so that a failure can be shrunk and repeated.
    fn keys() -> impl Strategy<Value = ApiKey> {
        (environments(), any::<u64>()).prop_map(|(environment, seed)| {
            let mut state = seed;
            ApiKey::generate_from(environment, |buffer| {
                for byte in buffer {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    *byte = (state >> 56) as u8;
                }
                Ok(())
            })
            .unwrap()
        })
    }

    proptest! {
        #[test]
        fn every_generated_key_parses(environment in environments()) {
            let key = ApiKey::generate(environment).unwrap();
            prop_assert_eq!(key.expose().len(), KEY_LEN);
            let parsed = ApiKey::parse(key.expose()).unwrap();
            prop_assert_eq!(parsed.environment(), environment);
            prop_assert_eq!(parsed.prefix(), environment.key_prefix());
            prop_assert_eq!(parsed.hash(), key.hash());
            prop_assert!(key.expose().ends_with(parsed.last_four()));
            prop_assert_eq!(parsed.last_four().len(), 4);
            prop_assert_eq!(hash_if_well_formed(key.expose()), Ok(key.hash()));
        }

        #[test]
        fn any_change_of_one_character_is_refused(
            key in keys(),
            place in 0..KEY_LEN,
            other in any::<char>(),
        ) {
            let mut characters: Vec<char> = key.expose().chars().collect();
            prop_assume!(characters[place] != other);
            characters[place] = other;
            let changed: String = characters.into_iter().collect();
            prop_assert!(ApiKey::parse(&changed).is_err(), "{}", changed);
        }

        #[test]
        fn any_change_of_one_letter_or_digit_is_refused(
            key in keys(),
            place in PREFIX_LEN..KEY_LEN,
            other in 0..ALPHABET.len(),
        ) {
            let mut bytes = key.expose().as_bytes().to_vec();
            prop_assume!(bytes[place] != ALPHABET[other]);
            bytes[place] = ALPHABET[other];
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(ApiKey::parse(&changed).unwrap_err(), MalformedKey::Checksum);
        }

        #[test]
        fn a_wrong_prefix_is_refused(key in keys(), prefix in "[a-z]{3}_[a-z]{4}_") {
            prop_assume!(Environment::ALL.iter().all(|one| one.key_prefix() != prefix));
            // With a checksum that fits, so that the prefix alone is at fault.
            let mut text = format!("{prefix}{}", &key.expose()[PREFIX_LEN..KEY_LEN - CHECKSUM_LEN]);
            let sum = checksum(&text);
            text.extend(sum.iter().copied().map(char::from));
            prop_assert_eq!(ApiKey::parse(&text).unwrap_err(), MalformedKey::Prefix);
        }

        #[test]
        fn the_other_environments_prefix_does_not_fit_the_checksum(key in keys()) {
            let other = match key.environment() {
                Environment::Live => Environment::Test,
                Environment::Test => Environment::Live,
            };
            let text = format!("{}{}", other.key_prefix(), &key.expose()[PREFIX_LEN..]);
            prop_assert_eq!(ApiKey::parse(&text).unwrap_err(), MalformedKey::Checksum);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>(), tail in any::<String>()) {
            prop_assert!(ApiKey::parse(&text).is_err());
            let with_prefix = format!("svc_test_{tail}");
            let _ = ApiKey::parse(&with_prefix);
        }
    }

    #[test]
    fn a_key_is_too_short_or_too_long_before_it_is_anything_else() {
        let key = ApiKey::generate(Environment::Test).unwrap();
        let short = &key.expose()[..KEY_LEN - 1];
        let long = format!("{}0", key.expose());
        for text in [short, &long, "svc_test_", "svc_live_"] {
            assert_eq!(ApiKey::parse(text).unwrap_err(), MalformedKey::Length);
        }
        assert_eq!(ApiKey::parse("").unwrap_err(), MalformedKey::Prefix);
    }

    #[test]
    fn a_text_of_the_right_length_in_bytes_may_still_be_no_key() {
        let text = format!("svc_test_{}é{}", "a".repeat(BODY_LEN - 2), "0".repeat(6));
        assert_eq!(text.len(), KEY_LEN);
        assert_eq!(ApiKey::parse(&text).unwrap_err(), MalformedKey::Alphabet);
        // A character that lies across the checksum's border.
        let text = format!("svc_test_{}é{}", "a".repeat(BODY_LEN - 1), "0".repeat(5));
        assert_eq!(text.len(), KEY_LEN);
        assert_eq!(ApiKey::parse(&text).unwrap_err(), MalformedKey::Alphabet);
    }

    #[test]
    fn the_checksum_is_crc_32_in_base_62() {
        // CRC-32 of "123456789" is 0xCBF43926, its published check value.
        let digits = checksum("123456789");
        let value = digits.iter().fold(0_u64, |sum, digit| {
            let place = ALPHABET.iter().position(|one| one == digit).unwrap();
            sum * 62 + place as u64
        });
        assert_eq!(value, 0xCBF4_3926);
    }

    #[test]
    fn every_character_comes_from_equally_many_bytes() {
        let mut counts = std::collections::BTreeMap::new();
        for byte in 0..=u8::MAX {
            if let Some(character) = unbiased(byte) {
                *counts.entry(character).or_insert(0) += 1;
            }
        }
        assert_eq!(counts.len(), 62);
        assert!(counts.values().all(|&count| count == 4), "{counts:?}");
    }

    #[test]
    fn bytes_that_would_bias_are_drawn_again_and_a_silent_generator_is_an_error() {
        let mut draws = 0;
        let key = ApiKey::generate_from(Environment::Live, |buffer| {
            draws += 1;
            buffer.fill(if draws == 1 { 255 } else { 61 });
            Ok(())
        })
        .unwrap();
        assert_eq!(draws, 2);
        assert!(
            key.expose()
                .starts_with(&format!("svc_live_{}", "z".repeat(BODY_LEN)))
        );
        assert_eq!(
            ApiKey::generate_from(Environment::Live, |_| Err(NoRandomness)).unwrap_err(),
            NoRandomness
        );
    }

    #[test]
    fn a_key_never_prints_itself() {
        let key = ApiKey::generate(Environment::Test).unwrap();
        let printed = format!("{key:?} {:?}", key.hash());
        assert!(!printed.contains(key.last_four()), "{printed}");
        assert!(printed.contains("REDACTED"));
    }
}
