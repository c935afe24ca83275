//! The store itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use brownstone_accounts::requests::RequestStore;
use brownstone_accounts::sign_in::SignInStore;
use brownstone_accounts::traits::{AccountStore, UsageStore};
use brownstone_listings::store::ListingStore;
use brownstone_quota::SpentLedger;
use brownstone_rates::RateStore;
use brownstone_report_cache::traits::{Lease, ReportStore};

use crate::address::Address;
use crate::error::{StoreOpenError, Unavailable};
use crate::pool::{Database, Runner};

/// A load balancer asks often, and a second is long for a question of one row.
const PING_WITHIN: Duration = Duration::from_secs(1);

/// How a store works with its database.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Connections at most, 8 by default. SQLite has one writer whatever is said here; PostgreSQL's writers have three
    /// quarters of them.
    pub connections: usize,
    /// Longest time to any answer, two seconds by default: a silent database is an error by then. Only a
    /// [migration](Store::migrate) and the whole [ledger](Store::spent_ledger) at start and stop may take longer.
    pub answer_within: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            answer_within: Duration::from_secs(2),
        }
    }
}

/// The database. Cheap to clone: all clones share one pool.
///
/// It implements the storage traits of the crates below. Work runs on the runtime that opened the store, whatever
/// runtime asks for it; a caller who goes away does not stop a change that has begun.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    database: Database,
    runner: Runner,
    answer_within: Duration,
}

impl Store {
    /// Opens `sqlite://PATH` (relative or absolute; the file and its folder are made where they are missing, for this
    /// user only) or `postgres://USER:PASSWORD@HOST:PORT/NAME`. Does not yet speak to a PostgreSQL server:
    /// [`Store::migrate`] and [`Store::ping`] do.
    ///
    /// Call it on the program's multi-thread tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be used. The message is for the operator and never shows a password.
    pub fn open(url: &str) -> Result<Self, StoreOpenError> {
        Self::open_with(url, &StoreOptions::default())
    }

    /// Opens a database with other settings than the defaults.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(url: &str, options: &StoreOptions) -> Result<Self, StoreOpenError> {
        let address = Address::parse(url)?;
        let runner = Runner::here()?;
        let database = Database::open(address, options)?;
        Ok(Self(Arc::new(Inner {
            database,
            runner,
            answer_within: options.answer_within,
        })))
    }

    /// Accounts, keys and their audit trail.
    pub fn accounts(&self) -> Arc<dyn AccountStore> {
        Arc::new(self.clone())
    }

    /// Passwords, sessions and one-time links.
    pub fn sign_in(&self) -> Arc<dyn SignInStore> {
        Arc::new(self.clone())
    }

    /// The newest requests of each account.
    pub fn requests(&self) -> Arc<dyn RequestStore> {
        Arc::new(self.clone())
    }

    /// Usage counters.
    pub fn usage(&self) -> Arc<dyn UsageStore> {
        Arc::new(self.clone())
    }

    /// Reports.
    pub fn reports(&self) -> Arc<dyn ReportStore> {
        Arc::new(self.clone())
    }

    /// Listings, their scans and what changed.
    pub fn listing_store(&self) -> Arc<dyn ListingStore> {
        Arc::new(self.clone())
    }

    /// The last good values of the mortgage rate series.
    pub fn rates(&self) -> Arc<dyn RateStore> {
        Arc::new(self.clone())
    }

    /// Leases.
    pub fn leases(&self) -> Arc<dyn Lease> {
        Arc::new(self.clone())
    }

    /// The ledger of the memory quota engine.
    pub fn spent_ledger(&self) -> Arc<dyn SpentLedger> {
        Arc::new(self.clone())
    }

    /// Whether the database answers and has its schema; for readiness. Answers within a second, or the store's time where
    /// that is shorter.
    ///
    /// # Errors
    /// When it does not; the text is for the log.
    pub async fn ping(&self) -> Result<(), Unavailable> {
        // A table of ours: a question without one would not even open an SQLite file.
        crate::stamp::read_kind(self, self.answer_within().min(PING_WITHIN)).await?;
        Ok(())
    }

    /// `SQLite` or `PostgreSQL`.
    pub fn database_name(&self) -> &'static str {
        match self.database() {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(_) => "SQLite",
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => "PostgreSQL",
        }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.0.answer_within
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.database_name()).finish()
    }
}
