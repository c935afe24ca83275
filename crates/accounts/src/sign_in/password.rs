//! Passwords: which are let in, and how they are kept.

use argon2::{Algorithm, Argon2, Params, Version};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use super::model::{hex, unhex};
use crate::field::FieldError;
use crate::key::NoRandomness;

/// Fewest characters of a password.
pub const PASSWORD_MIN: usize = 12;

/// Most characters of a password: hashing must not be made expensive by its length.
pub const PASSWORD_MAX: usize = 128;

type Cost = (u32, u32, u32);

/// Memory in KiB, passes and lanes: what the Open Worldwide Application Security Project gives as the least for argon2id.
const COST: Cost = (19_456, 2, 1);

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// A password as it is kept: argon2id with its parameters and salt.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

impl From<String> for PasswordHash {
    /// The text that storage kept.
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl PasswordHash {
    /// The text for storage.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Hashes a password with a fresh salt. Takes tens of milliseconds: not for a transport's own thread.
    ///
    /// # Errors
    /// When the operating system has no random bytes, or no memory for it.
    pub fn of(password: &SecretString) -> Result<Self, NoRandomness> {
        let mut salt = [0_u8; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| NoRandomness)?;
        let sum = digest(password, &salt, COST).ok_or(NoRandomness)?;
        let (memory, passes, lanes) = COST;
        Ok(Self(format!(
            "$argon2id$v=19$m={memory},t={passes},p={lanes}${}${}",
            hex(&salt),
            hex(&sum)
        )))
    }

    /// Whether `password` is the one that was hashed. A text that is no hash of ours fits nothing.
    pub fn fits(&self, password: &SecretString) -> bool {
        let Some((cost, salt, kept)) = self.parts() else {
            return false;
        };
        digest(password, &salt, cost).is_some_and(|sum| sum.as_slice().ct_eq(&kept).into())
    }

    fn parts(&self) -> Option<(Cost, Vec<u8>, Vec<u8>)> {
        let mut parts = self.0.strip_prefix("$argon2id$v=19$")?.split('$');
        let mut cost = parts.next()?.split(',');
        let mut number = |name: &str| cost.next()?.strip_prefix(name)?.parse().ok();
        let cost = (number("m=")?, number("t=")?, number("p=")?);
        Some((cost, unhex(parts.next()?)?, unhex(parts.next()?)?))
    }
}

fn digest(
    password: &SecretString,
    salt: &[u8],
    (memory, passes, lanes): Cost,
) -> Option<[u8; HASH_BYTES]> {
    let params = Params::new(memory, passes, lanes, Some(HASH_BYTES)).ok()?;
    let mut out = [0; HASH_BYTES];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(password.expose_secret().as_bytes(), salt, &mut out)
        .ok()?;
    Some(out)
}

/// A password that may be set: 12 to 128 characters, not the e-mail address, not one character or a short run over and over.
///
/// # Errors
/// Names the field and what is wrong.
pub fn acceptable(password: &SecretString, email: &str) -> Result<(), FieldError> {
    let refuse = |problem| {
        Err(FieldError {
            field: "password",
            problem,
        })
    };
    let text = password.expose_secret();
    let count = text.chars().count();
    if count < PASSWORD_MIN {
        return refuse("has fewer than 12 characters");
    }
    if count > PASSWORD_MAX {
        return refuse("has more than 128 characters");
    }
    if text.eq_ignore_ascii_case(email) {
        return refuse("is the e-mail address");
    }
    let mut kinds: Vec<char> = text.chars().collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() < 5 {
        return refuse("repeats too few characters; use at least five different ones");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    #[test]
    fn a_hash_fits_its_password_and_no_other() {
        let hash = PasswordHash::of(&secret("correct horse battery")).unwrap();
        assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let kept = PasswordHash::from(hash.as_str().to_owned());
        assert!(kept.fits(&secret("correct horse battery")));
        assert!(!kept.fits(&secret("correct horse batterz")));
        assert!(!kept.fits(&secret("")));
        let again = PasswordHash::of(&secret("correct horse battery")).unwrap();
        assert_ne!(again, hash, "each has its own salt");
    }

    #[test]
    fn a_text_that_is_no_hash_fits_nothing() {
        for text in [
            "",
            "$argon2id$v=19$",
            "$argon2id$v=19$m=1,t=1,p=1$zz$zz",
            "plain",
        ] {
            assert!(
                !PasswordHash::from(text.to_owned()).fits(&secret("plain")),
                "{text}"
            );
        }
    }

    #[test]
    fn passwords_are_judged_by_length_and_variety() {
        for (password, problem) in [
            ("short", "fewer than 12"),
            ("aaaaaaaaaaaaaaaa", "too few"),
            ("abababababababab", "too few"),
            ("demo@example.com", "e-mail"),
        ] {
            let error = acceptable(&secret(password), "demo@example.com").unwrap_err();
            assert!(error.problem.contains(problem), "{password}: {error}");
        }
        assert!(acceptable(&secret(&"abcdefg ".repeat(17)), "x").is_err());
        assert!(acceptable(&secret("a long enough one"), "demo@example.com").is_ok());
    }
}
