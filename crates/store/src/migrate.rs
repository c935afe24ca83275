//! Bringing the schema up to date.

use std::time::Duration;

use diesel::backend::Backend;
use diesel::migration::{MigrationSource, MigrationVersion};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::error::{Fault, MigrateError};
use crate::pool::Database;
use crate::store::Store;

#[cfg(feature = "sqlite")]
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
#[cfg(feature = "postgres")]
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Longest wait for another start that migrates, and longest migration.
const WITHIN: Duration = Duration::from_secs(300);

/// Session lock on PostgreSQL: any number that no other program uses in this database.
#[cfg(feature = "postgres")]
const LOCK: i64 = 0x6272_6f77_6e73_746f;

impl Store {
    /// Brings the schema up to date. Two starts at once do not collide: one waits for the other. Returns how many
    /// migrations were run.
    ///
    /// # Errors
    /// [`MigrateError::SchemaTooNew`] when a newer program made this database; nothing is changed then, nor when a
    /// migration fails.
    pub async fn migrate(&self) -> Result<usize, MigrateError> {
        match self.database() {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(sqlite) => {
                let path = sqlite.path.clone();
                self.runner()
                    .run(WITHIN, on_thread(move || sqlite_file(&path)))
                    .await?
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(postgres) => {
                let server = postgres.server.clone();
                let answer_within = self.answer_within();
                self.runner()
                    .run(WITHIN, async move {
                        use diesel_async::RunQueryDsl;

                        // A connection of its own: its lock ends with it, whatever happens.
                        let plain = crate::postgres::plain(&server);
                        let mut connection = tokio::time::timeout(answer_within, plain)
                            .await
                            .map_err(|_| Fault::Silent(answer_within))?
                            .map_err(|error| Fault::Connection(error.to_string()))?;
                        diesel::sql_query("SELECT pg_advisory_lock($1)")
                            .bind::<diesel::sql_types::BigInt, _>(LOCK)
                            .execute(&mut connection)
                            .await?;
                        on_thread(move || {
                            let mut connection =
                                diesel_async::async_connection_wrapper::AsyncConnectionWrapper::<
                                    crate::pool::PgConn,
                                >::from(connection);
                            bring_up(&mut connection, POSTGRES)
                        })
                        .await
                    })
                    .await?
            }
        }
    }
}

/// The migration harness blocks its thread.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|stopped| Fault::Stopped(stopped.to_string()))
}

/// One transaction around all: SQLite's lock is taken before the first look at what is there, and each migration's own
/// transaction becomes a savepoint in it.
#[cfg(feature = "sqlite")]
fn sqlite_file(path: &str) -> Result<usize, MigrateError> {
    use diesel::Connection;
    use diesel::connection::SimpleConnection;

    let mut connection = diesel::SqliteConnection::establish(path)
        .map_err(|error| Fault::Connection(error.to_string()))?;
    // Another start may be at a long migration.
    connection
        .batch_execute(&crate::sqlite::settings(WITHIN))
        .map_err(Fault::from)?;
    connection
        .immediate_transaction(|connection| bring_up(connection, SQLITE).map_err(Rollback::Because))
        .map_err(|rollback| match rollback {
            Rollback::Because(error) => error,
            Rollback::Transaction(error) => Fault::from(error).into(),
        })
}

/// Why the transaction around SQLite's migrations did not end well.
#[cfg(feature = "sqlite")]
enum Rollback {
    Because(MigrateError),
    Transaction(diesel::result::Error),
}

#[cfg(feature = "sqlite")]
impl From<diesel::result::Error> for Rollback {
    fn from(error: diesel::result::Error) -> Self {
        Self::Transaction(error)
    }
}

fn bring_up<DB: Backend>(
    connection: &mut impl MigrationHarness<DB>,
    source: EmbeddedMigrations,
) -> Result<usize, MigrateError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        let text = error.to_string();
        Fault::told_by(&text).map_or(MigrateError::Failed(text), MigrateError::from)
    };
    let migrations = MigrationSource::<DB>::migrations(&source).map_err(failed)?;
    let known: Vec<MigrationVersion<'static>> = migrations
        .iter()
        .map(|migration| migration.name().version().as_owned())
        .collect();
    let found = connection.applied_migrations().map_err(failed)?;
    if let Some(stranger) = found
        .iter()
        .filter(|version| !known.contains(version))
        .max()
    {
        return Err(MigrateError::SchemaTooNew {
            found: stranger.to_string(),
            known: known
                .iter()
                .max()
                .map(ToString::to_string)
                .unwrap_or_default(),
        });
    }
    let run = connection.run_pending_migrations(source).map_err(failed)?;
    if !run.is_empty() {
        tracing::info!(migrations = run.len(), "database schema brought up to date");
    }
    Ok(run.len())
}
