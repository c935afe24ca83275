//! Databases for tests: each test has one to itself.
//!
//! Shared by several suites, none of which needs all of it.
#![allow(dead_code)]

use std::ops::Deref;

use brownstone_store::{Store, StoreOptions};

/// A database that goes when the test ends.
pub(crate) struct Held {
    store: Store,
    url: String,
    place: Place,
}

enum Place {
    #[cfg(feature = "sqlite")]
    File {
        path: std::path::PathBuf,
        _folder: tempfile::TempDir,
    },
    #[cfg(feature = "postgres")]
    Schema(postgres::Schema),
}

impl Deref for Held {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl Held {
    /// The address of the database.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same database, opened anew.
    pub(crate) fn again(&self, options: &StoreOptions) -> Store {
        Store::open_with(&self.url, options).expect("it was opened before")
    }

    /// Runs SQL beside the store.
    pub(crate) async fn sql(&self, sql: &str) {
        let outsider = self.outsider().await;
        outsider.run(sql).await;
    }

    /// A connection beside the store.
    pub(crate) async fn outsider(&self) -> Outsider {
        match &self.place {
            #[cfg(feature = "sqlite")]
            Place::File { path, .. } => Outsider::Sqlite(sqlite::connect(path)),
            #[cfg(feature = "postgres")]
            Place::Schema(schema) => Outsider::Postgres(schema.connect().await),
        }
    }

    /// The path of the database's file, where it is one.
    #[cfg(feature = "sqlite")]
    pub(crate) fn path(&self) -> Option<&std::path::Path> {
        match &self.place {
            Place::File { path, .. } => Some(path),
            #[cfg(feature = "postgres")]
            Place::Schema(_) => None,
        }
    }

    /// All of an account's row in `quota`, down to where it lies, which transaction wrote it and which locked it.
    #[cfg(feature = "postgres")]
    pub(crate) async fn quota_row(&self, account: &str) -> Vec<String> {
        match self.outsider().await {
            #[cfg(feature = "sqlite")]
            Outsider::Sqlite(_) => Vec::new(),
            Outsider::Postgres(client) => client
                .query(
                    "SELECT concat_ws(' ', ctid, xmin, xmax, deficit, last_us, day, spent, ceiling) \
                     FROM quota WHERE account = $1",
                    &[&account],
                )
                .await
                .expect("the statement runs")
                .iter()
                .map(|row| row.get(0))
                .collect(),
        }
    }

    async fn migrated(self) -> Self {
        self.store.migrate().await.expect("a fresh database");
        self
    }
}

/// A connection that the store knows nothing of.
pub(crate) enum Outsider {
    #[cfg(feature = "sqlite")]
    Sqlite(std::sync::Mutex<diesel::SqliteConnection>),
    #[cfg(feature = "postgres")]
    Postgres(tokio_postgres::Client),
}

impl Outsider {
    /// Runs SQL.
    pub(crate) async fn run(&self, sql: &str) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => diesel::connection::SimpleConnection::batch_execute(
                &mut *connection.lock().expect("no test panics here"),
                sql,
            )
            .expect("the statement runs"),
            #[cfg(feature = "postgres")]
            Self::Postgres(client) => client.batch_execute(sql).await.expect("the statement runs"),
        }
    }

    /// Whether the database refuses SQL.
    pub(crate) async fn refuses(&self, sql: &str) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => diesel::connection::SimpleConnection::batch_execute(
                &mut *connection.lock().expect("no test panics here"),
                sql,
            )
            .is_err(),
            #[cfg(feature = "postgres")]
            Self::Postgres(client) => client.batch_execute(sql).await.is_err(),
        }
    }

    /// Takes away what keeps the audit trail from being rewritten, as one with full rights could.
    pub(crate) async fn unguard_audit(&self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => {
                self.run("DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_cut")
                    .await;
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => self.run("DROP TRIGGER audit_is_not_changed ON audit").await,
        }
    }

    /// Takes the lock that keeps all others from writing accounts, until `ROLLBACK`.
    pub(crate) async fn lock(&self) {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => self.run("BEGIN IMMEDIATE").await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                self.run("BEGIN; LOCK TABLE accounts, usage_counts IN EXCLUSIVE MODE")
                    .await;
            }
        }
    }
}

/// An SQLite file in a folder of its own, with its schema.
#[cfg(feature = "sqlite")]
pub(crate) async fn sqlite() -> Option<Held> {
    Some(sqlite_bare().await?.migrated().await)
}

/// An SQLite file without a schema, in memory where `TEST_FOLDERS` names a place there: each commit waits for the disk, and nothing here cuts
/// the power.
#[cfg(feature = "sqlite")]
pub(crate) async fn sqlite_bare() -> Option<Held> {
    let place = std::env::var_os("TEST_FOLDERS").filter(|place| !place.is_empty());
    let folder = match place {
        Some(place) => tempfile::tempdir_in(place),
        None => tempfile::tempdir(),
    }
    .expect("a temporary folder");
    let path = folder.path().join("data").join("brownstone.db");
    let url = format!("sqlite://{}", path.display());
    Some(Held {
        store: Store::open_with(&url, &StoreOptions::patient()).expect("a new file"),
        url,
        place: Place::File {
            path,
            _folder: folder,
        },
    })
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use diesel::Connection;

    pub(super) fn connect(path: &std::path::Path) -> std::sync::Mutex<diesel::SqliteConnection> {
        let path = path.to_str().expect("temporary folders have plain names");
        std::sync::Mutex::new(diesel::SqliteConnection::establish(path).expect("the file is there"))
    }
}

/// A schema of its own in the database of `TEST_POSTGRES_URL`, with our tables; `None` where that is not set.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres() -> Option<Held> {
    Some(postgres_bare().await?.migrated().await)
}

/// A schema without tables.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres_bare() -> Option<Held> {
    let schema = postgres::Schema::make().await?;
    let url = schema.url();
    Some(Held {
        store: Store::open_with(&url, &StoreOptions::patient())
            .expect("the address was used before"),
        url,
        place: Place::Schema(schema),
    })
}

#[cfg(feature = "postgres")]
mod postgres {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    pub(super) struct Schema {
        server: String,
        name: String,
    }

    impl Schema {
        pub(super) async fn make() -> Option<Self> {
            let server = crate::at_hand::variable("TEST_POSTGRES_URL", "make test")?;
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let nanos = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("the clock is right")
                .as_nanos();
            let name = format!("t_{}_{nanos}_{number}", std::process::id());
            connect(&server)
                .await
                .batch_execute(&format!("CREATE SCHEMA {name}"))
                .await
                .expect("the user may make schemas");
            Some(Self { server, name })
        }

        pub(super) fn url(&self) -> String {
            let join = if self.server.contains('?') { '&' } else { '?' };
            format!(
                "{}{join}options=-c%20search_path%3D{}",
                self.server, self.name
            )
        }

        pub(super) async fn connect(&self) -> tokio_postgres::Client {
            connect(&self.url()).await
        }
    }

    impl Drop for Schema {
        fn drop(&mut self) {
            let sql = format!("SET lock_timeout = '5s'; DROP SCHEMA {} CASCADE", self.name);
            let server = self.server.clone();
            // A thread and a runtime of its own: the test's runtime may be ending.
            let dropped = std::thread::spawn(move || {
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime")
                    .block_on(async { connect(&server).await.batch_execute(&sql).await })
            })
            .join();
            if !std::thread::panicking() {
                dropped
                    .expect("the thread ends")
                    .expect("the schema is dropped");
            }
        }
    }

    async fn connect(url: &str) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
            .await
            .expect("TEST_POSTGRES_URL names a server that answers");
        tokio::spawn(connection);
        client
    }
}
