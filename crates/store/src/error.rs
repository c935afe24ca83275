//! What can go wrong, by what it means for the caller.

use std::io;
use std::time::Duration;

use brownstone_accounts::model::KeyState;
use brownstone_accounts::traits::StoreError;
use brownstone_rates::RateStoreError;
use brownstone_report_cache::traits::StorageError;

use crate::stamp::DatabaseKind;

/// A database address that cannot be used. Made for the operator who wrote the address; never shows a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreOpenError {
    /// Not an address of a database we know.
    #[error(
        "database address has an unknown scheme; allowed are sqlite://PATH and postgres://USER:PASSWORD@HOST:PORT/NAME"
    )]
    UnknownScheme,
    /// The program was built without this database.
    #[error("this program was built without {database}: build it with the feature `{feature}`")]
    NotBuilt {
        /// The database's name.
        database: &'static str,
        /// The cargo feature that adds it.
        feature: &'static str,
    },
    /// An SQLite address without a usable path.
    #[error("sqlite:// address: {0}")]
    SqlitePath(&'static str),
    /// The SQLite file or its folder cannot be made or opened.
    #[error("database file {path}: {source}")]
    SqliteFile {
        /// The path the operator gave.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A PostgreSQL address that cannot be read.
    #[error("postgres:// address: {0}")]
    PostgresAddress(&'static str),
    /// A Redis address that cannot be used.
    #[error("redis:// address: {0}")]
    RedisAddress(&'static str),
    /// Budgets that instances share were asked of an SQLite file.
    #[error(
        "an SQLite file keeps no budgets for several instances; use PostgreSQL or Redis, or the budgets in memory"
    )]
    QuotaOnSqlite,
    /// There is no runtime to work on, or it has one thread only.
    #[error("the store must be opened on a multi-thread tokio runtime")]
    Runtime,
    /// The pool refused its settings.
    #[error("connection pool: {0}")]
    Pool(String),
}

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// A newer program made this database; this one would misread it.
    #[error(
        "the database's schema {found} is newer than this program's {known}: use the newer program, or restore a backup"
    )]
    SchemaTooNew {
        /// Newest version in the database.
        found: String,
        /// Newest version this program knows.
        known: String,
    },
    /// The database did not answer, or another start held the lock for too long; the text is for the log.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// A migration failed and was rolled back; the text is for the log.
    #[error("schema change failed: {0}")]
    Failed(String),
}

/// Why a database could not be stamped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StampError {
    /// Sample and real records must never mix.
    #[error(
        "this database holds {is} records and cannot be used for {wanted} ones: name another database"
    )]
    OtherKind {
        /// What the database was made for.
        is: DatabaseKind,
        /// What was asked for.
        wanted: DatabaseKind,
    },
    /// The database did not answer; the text is for the log.
    #[error("database unavailable: {0}")]
    Unavailable(String),
}

/// Why a database was not copied. Made for the operator who asked for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// PostgreSQL has better tools of its own.
    #[error("a PostgreSQL database is backed up with pg_dump, or with its server's own tools")]
    UsePgDump,
    /// A backup never replaces anything.
    #[error("{path} is there already: name a new file")]
    Exists {
        /// The path the operator gave.
        path: String,
    },
    /// The new file cannot be made or written.
    #[error("{path}: {source}")]
    File {
        /// The path the operator gave.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The database could not be read, or the copy not be written; no file was left.
    #[error("backup failed: {0}")]
    Failed(String),
}

/// Why an index file was not kept or not fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFileError {
    /// Another import of the same name ran at the same time and took parts away: import again.
    #[error("another import of the same name ran at the same time; import again")]
    Disturbed,
    /// Newer versions have pushed this one out: ask for the newest again.
    #[error("this version is kept no longer")]
    Gone,
    /// The bytes are not those that were put: import again.
    #[error("the bytes in the database are not those that were put")]
    Damaged,
    /// The place for the bytes cannot be written.
    #[error("{0}")]
    Write(io::Error),
    /// The database did not answer; the text is for the log.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The database did not do what it was asked; the text is for the log, never for a caller.
#[derive(Debug, thiserror::Error)]
#[error("database unavailable: {0}")]
pub struct Unavailable(pub String);

/// Inside the crate: why a piece of work did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("no connection: {0}")]
    Connection(String),
    #[error("no answer within {} ms", .0.as_millis())]
    Silent(Duration),
    #[error("{0}")]
    Query(diesel::result::Error),
    #[error("the database's disk is full: free some space; what was under way was not kept")]
    DiskFull,
    #[error(
        "the database cannot be written: check the rights of its file and folder, and that neither it nor its disk is read-only"
    )]
    ReadOnly,
    #[error("a stored {0} that this program cannot read")]
    Unreadable(&'static str),
    #[error("a {0} that the database cannot hold")]
    OutOfRange(&'static str),
    #[error("the work was stopped: {0}")]
    Stopped(String),
    #[error("the e-mail address is taken")]
    EmailTaken,
    #[error("no such {0}")]
    Missing(&'static str),
    #[error("the key is {0}")]
    KeyEnded(KeyState),
    #[error("the account has all the keys it may have")]
    TooManyKeys,
    #[error("what this stood on has changed")]
    Changed,
}

impl Fault {
    /// Whether the connection may be unusable after this. A refusal by one of our own constraints says that it is well; a
    /// server that ends a connection answers with any error at all.
    ///
    /// A server that cannot be written any longer has become another's copy: its successor is found by connecting anew.
    pub(crate) fn may_break_connection(&self) -> bool {
        use diesel::result::DatabaseErrorKind as Kind;
        use diesel::result::Error::DatabaseError;

        match self {
            Self::Query(DatabaseError(kind, _)) => !matches!(
                kind,
                Kind::UniqueViolation
                    | Kind::ForeignKeyViolation
                    | Kind::NotNullViolation
                    | Kind::CheckViolation
            ),
            Self::DiskFull | Self::ReadOnly => true,
            _ => false,
        }
    }

    /// What an operator can do something about, told by the words that SQLite and PostgreSQL have had for it for decades:
    /// diesel keeps no number.
    pub(crate) fn told_by(text: &str) -> Option<Self> {
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        if says(&["database or disk is full", "No space left on device"]) {
            Some(Self::DiskFull)
        } else if says(&["attempt to write a readonly database"]) {
            Some(Self::ReadOnly)
        } else {
            None
        }
    }
}

impl From<diesel::result::Error> for Fault {
    fn from(error: diesel::result::Error) -> Self {
        use diesel::result::DatabaseErrorKind as Kind;
        use diesel::result::Error::DatabaseError;

        let told = match &error {
            DatabaseError(Kind::ReadOnlyTransaction, _) => Some(Self::ReadOnly),
            DatabaseError(_, told) => Self::told_by(told.message()),
            _ => None,
        };
        told.unwrap_or(Self::Query(error))
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::EmailTaken => Self::EmailTaken,
            Fault::Missing(what) => Self::NotFound(what),
            Fault::KeyEnded(state) => Self::KeyEnded(state),
            Fault::TooManyKeys => Self::TooManyKeys,
            Fault::Changed => Self::Changed,
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl From<Fault> for StorageError {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

impl From<Fault> for RateStoreError {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

impl From<Fault> for Unavailable {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

impl From<Fault> for MigrateError {
    fn from(fault: Fault) -> Self {
        Self::Unavailable(fault.to_string())
    }
}

impl From<Fault> for StampError {
    fn from(fault: Fault) -> Self {
        Self::Unavailable(fault.to_string())
    }
}
