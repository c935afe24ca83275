//! Reading the address of a database.

#[cfg(feature = "sqlite")]
use std::path::PathBuf;

use crate::error::StoreOpenError;

/// A database address, checked.
pub(crate) enum Address {
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(Box<crate::postgres::Server>),
}

/// Schemes and who reads what follows them.
type Reader = fn(&str) -> Result<Address, StoreOpenError>;
const SCHEMES: [(&str, Reader); 3] = [
    ("sqlite", sqlite),
    ("postgres", postgres),
    ("postgresql", postgres),
];

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, StoreOpenError> {
        let (scheme, _) = url.split_once("://").ok_or(StoreOpenError::UnknownScheme)?;
        let (_, reader) = SCHEMES
            .iter()
            .find(|(name, _)| *name == scheme)
            .ok_or(StoreOpenError::UnknownScheme)?;
        reader(url)
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(url: &str) -> Result<Address, StoreOpenError> {
    let path = url.strip_prefix("sqlite://").unwrap_or(url);
    let fault = if path.is_empty() {
        Some("the path is missing")
    } else if path == ":memory:" {
        Some("a database in memory would be another one for each connection; name a file")
    } else if path.contains('\0') {
        Some("the path contains a NUL")
    } else if path.contains('?') {
        Some("takes a path and no parameters")
    } else {
        None
    };
    match fault {
        Some(fault) => Err(StoreOpenError::SqlitePath(fault)),
        None => Ok(Address::Sqlite(PathBuf::from(path))),
    }
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_: &str) -> Result<Address, StoreOpenError> {
    Err(StoreOpenError::NotBuilt {
        database: "SQLite",
        feature: "sqlite",
    })
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<Address, StoreOpenError> {
    use crate::postgres::Server;
    use crate::tls::{self, Trust};

    let (url, trust) = tls::taken_from(url)?;
    // The reader's own error may quote a piece of the address, and with a password that was not percent-encoded that
    // piece may be the password's.
    let mut config: tokio_postgres::Config = url.parse().map_err(|_| {
        StoreOpenError::PostgresAddress(
            "cannot be read; percent-encode what is special in user and password, and check the parameters",
        )
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(StoreOpenError::PostgresAddress("the host is missing"));
    }
    if config.get_application_name().is_none() {
        config.application_name("brownstone");
    }
    let tls = match trust {
        Trust::NoTls => None,
        Trust::System => Some(tls::by_the_system()?),
        Trust::File(path) => Some(tls::by_file(&path)?),
    };
    Ok(Address::Postgres(Box::new(Server { config, tls })))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &str) -> Result<Address, StoreOpenError> {
    Err(StoreOpenError::NotBuilt {
        database: "PostgreSQL",
        feature: "postgres",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        match Address::parse(url) {
            Ok(_) => panic!("{url} was taken"),
            Err(error) => format!("{error} {error:?}"),
        }
    }

    #[test]
    fn an_unknown_scheme_says_what_is_allowed() {
        for url in [
            "",
            "data/brownstone.db",
            "mysql://root:hunter2@h/db",
            "SQLITE://a",
            "://",
        ] {
            let text = refusal(url);
            assert!(text.contains("sqlite://PATH"), "{text}");
            assert!(text.contains("postgres://"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn sqlite_takes_relative_and_absolute_paths_and_nothing_else() {
        for (url, path) in [
            ("sqlite://data/brownstone.db", "data/brownstone.db"),
            ("sqlite:///var/lib/b.db", "/var/lib/b.db"),
            ("sqlite://file:odd", "file:odd"),
        ] {
            match Address::parse(url) {
                Ok(Address::Sqlite(got)) => assert_eq!(got, PathBuf::from(path)),
                _ => panic!("{url}"),
            }
        }
        for url in [
            "sqlite://",
            "sqlite://:memory:",
            "sqlite://a\0b",
            "sqlite://a?mode=ro",
        ] {
            assert!(refusal(url).starts_with("sqlite:// address:"));
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_refused_postgres_address_does_not_show_its_password() {
        for url in [
            "postgres://",
            "postgres:///db",
            "postgres://u:hunter2@h:notaport/db",
            "postgres://h/db?password=a&hunter2=1",
            "postgres://u:hunter2@h/db?wrong=1",
            "postgres://u:hunter2@h/db?sslmode=verify-ca",
            "postgres://u:hunter2@h/db?sslmode=require&sslrootcert=%2Fnowhere%2Fhunter2",
            "postgres://u:hunter2@h/db?sslmode=disable&sslrootcert=a.pem",
        ] {
            let text = refusal(url);
            assert!(text.starts_with("postgres:// address:"), "{url}: {text}");
            assert!(!text.contains("hunter2"), "{url}: {text}");
        }
        assert!(matches!(
            Address::parse("postgresql://u:p%40ss@h/db?options=-c%20search_path%3Dx"),
            Ok(Address::Postgres(_))
        ));
    }

    #[cfg(not(feature = "postgres"))]
    #[test]
    fn a_database_that_was_left_out_says_so() {
        assert!(refusal("postgres://u:hunter2@h/db").contains("feature `postgres`"));
    }

    #[cfg(not(feature = "sqlite"))]
    #[test]
    fn a_database_that_was_left_out_says_so() {
        assert!(refusal("sqlite://a.db").contains("feature `sqlite`"));
    }
}
