//! Secrets that are none: what a live deployment refuses to start with, and a file that everybody can read.

use std::path::Path;

use anyhow::{bail, ensure};
use url::Url;

use super::{
    Layers, Origin,
    layers::{KEYS, Key},
};

/// The shortest secret that a live deployment takes, in characters.
const SHORTEST: usize = 12;

/// Characters that must differ from each other: `aaaaaaaaaaaa` is no secret.
const DIFFERENT: usize = 5;

/// Words of examples and of first installations: a secret that holds one was never chosen.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "change-me",
    "change_me",
    "password",
    "example",
    "placeholder",
    "secret",
    "sample",
];

fn secrets(layers: &Layers) -> impl Iterator<Item = (&'static Key, &str)> {
    KEYS.iter()
        .filter(|key| key.secret)
        .map(|key| (key, layers.get(key.name)))
        .filter(|(_, value)| !value.is_empty())
}

/// Refuses secrets that are too short, were left at an example's, or are missing where another machine is reached.
///
/// # Errors
/// Names the setting, and never its value.
pub(crate) fn refuse_weak(layers: &Layers) -> anyhow::Result<()> {
    for (key, value) in secrets(layers) {
        let name = key.name;
        let address = Url::parse(value).ok().filter(Url::has_host);
        let Some(address) = address else {
            if !value.contains("://") {
                strong(name, value)?;
            }
            continue;
        };
        match address.password() {
            // As it was typed; what it stands for is no longer.
            Some(password) => strong(name, password)?,
            None if address.scheme().starts_with("postgres") && !is_here(&address) => {
                bail!(
                    "{name} has no password, and live does not reach a database on another machine without one"
                )
            }
            None => {}
        }
    }
    Ok(())
}

fn strong(name: &str, secret: &str) -> anyhow::Result<()> {
    let characters = secret.chars().count();
    ensure!(
        characters >= SHORTEST,
        "{name}: its secret has fewer than {SHORTEST} characters; live wants a longer one"
    );
    let different: std::collections::BTreeSet<char> = secret.chars().collect();
    ensure!(
        different.len() >= DIFFERENT,
        "{name}: its secret is one character over and over; live wants another"
    );
    let low = secret.to_lowercase();
    ensure!(
        !PLACEHOLDERS.iter().any(|word| low.contains(word)),
        "{name}: its secret is that of an example; live wants one of its own"
    );
    Ok(())
}

fn is_here(address: &Url) -> bool {
    matches!(
        address.host_str(),
        Some("localhost" | "127.0.0.1" | "[::1]")
    )
}

/// Says so where a file with secrets can be read by every user of this machine.
pub(crate) fn warn_of_an_open_file(path: &Path, layers: &Layers) {
    use std::os::unix::fs::PermissionsExt as _;
    let holds = secrets(layers).any(|(key, _)| layers.origin(key.name) == Origin::File);
    let Ok(about) = std::fs::metadata(path) else {
        return;
    };
    if holds && about.permissions().mode() & 0o007 != 0 {
        tracing::warn!(
            "{} holds secrets and every user of this machine can read it: chmod 600",
            path.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{super::layers::testing::layers, *};

    #[test]
    fn a_secret_that_is_none_is_refused_by_its_name_alone() {
        for (name, value, part) in [
            ("fred_api_key", "short", "fewer than 12"),
            ("soda_app_token", "aaaaaaaaaaaaaaaaaaaa", "over and over"),
            ("oidc_client_secret", "ChangeMe-0123456789", "an example"),
            ("database_url", "postgres://b:tiny@db/b", "fewer than 12"),
            ("database_url", "postgres://b@db.internal/b", "no password"),
            (
                "quota_url",
                "redis://:password12345@cache:6379",
                "an example",
            ),
        ] {
            let refused = refuse_weak(&layers(None, &[], &[(name, value)]).unwrap());
            let text = refused.unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(part), "{text}");
            assert!(!text.contains(value) && !text.contains("tiny"), "{text}");
        }
    }

    #[test]
    fn a_secret_of_its_own_is_taken_and_so_is_none() {
        for (name, value) in [
            ("fred_api_key", ""),
            ("fred_api_key", "q8Wn2Lx5Vz7T"),
            ("database_url", "sqlite://data/brownstone.db"),
            ("database_url", "postgres://brownstone@127.0.0.1/b"),
            ("database_url", "postgres://b:q8Wn2Lx5Vz7T@db/b"),
            ("quota_url", "redis://valkey:6379"),
        ] {
            let taken = refuse_weak(&layers(None, &[], &[(name, value)]).unwrap());
            assert!(taken.is_ok(), "{name} {value}: {taken:?}");
        }
    }
}
