//! One pool for each kind of database, and the macros that run a body of queries on whichever is open.
//!
//! A body is written once and compiled once for each database, against that database's own connection.
//!
//! Every piece of work runs as a task of the runtime that opened the store, not of the caller's: a server's worker
//! that is busy then stalls nobody else's query, a connection lives as long as the program and not as the worker that
//! happened to open it, and a caller who goes away cannot leave a statement half way.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::pooled_connection::{
    AsyncDieselConnectionManager, ManagerConfig, PoolableConnection, RecyclingMethod, SetupCallback,
};
use diesel_async::{AsyncConnection, SimpleAsyncConnection};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::address::Address;
use crate::error::{Fault, StoreOpenError};
use crate::store::StoreOptions;

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("brownstone-store needs the feature `sqlite`, `postgres` or both");

#[cfg(feature = "sqlite")]
pub(crate) type SqliteConn =
    diesel_async::sync_connection_wrapper::SyncConnectionWrapper<diesel::SqliteConnection>;
#[cfg(feature = "postgres")]
pub(crate) type PgConn = diesel_async::AsyncPgConnection;

/// The open database.
pub(crate) enum Database {
    #[cfg(feature = "sqlite")]
    Sqlite(Sqlite),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

/// An SQLite file.
#[cfg(feature = "sqlite")]
pub(crate) struct Sqlite {
    pub(crate) path: String,
    /// For reading, and for writing what can be done again.
    pub(crate) pool: Pool<SqliteConn>,
    /// For what must outlive a power cut. One connection: SQLite has one writer.
    pub(crate) durable: Pool<SqliteConn>,
    /// SQLite has one writer. Writers of this process queue here, in order, instead of polling the file's lock.
    pub(crate) writers: Arc<Semaphore>,
}

/// A PostgreSQL database.
#[cfg(feature = "postgres")]
pub(crate) struct Postgres {
    pub(crate) server: Arc<crate::postgres::Server>,
    pub(crate) pool: Pool<PgConn>,
    /// A quarter of the connections is left to readers: writers who wait for a lock must not stop every request.
    pub(crate) writers: Arc<Semaphore>,
}

impl Database {
    pub(crate) fn open(address: Address, options: &StoreOptions) -> Result<Self, StoreOpenError> {
        match address {
            #[cfg(feature = "sqlite")]
            Address::Sqlite(path) => {
                let path = crate::sqlite::make_file(&path)?;
                let within = options.answer_within;
                let relaxed: SetupCallback<SqliteConn> =
                    Box::new(move |path| Box::pin(crate::sqlite::connect_relaxed(path, within)));
                let durable: SetupCallback<SqliteConn> =
                    Box::new(move |path| Box::pin(crate::sqlite::connect(path, within)));
                let one = StoreOptions {
                    connections: 1,
                    ..options.clone()
                };
                Ok(Self::Sqlite(Sqlite {
                    pool: pool(path.clone(), relaxed, options)?,
                    durable: pool(path.clone(), durable, &one)?,
                    path,
                    writers: Arc::new(Semaphore::new(1)),
                }))
            }
            #[cfg(feature = "postgres")]
            Address::Postgres(server) => {
                let server: Arc<crate::postgres::Server> = server.into();
                let each = server.clone();
                let answer_within = options.answer_within;
                let setup: SetupCallback<PgConn> = Box::new(move |_| {
                    let server = each.clone();
                    Box::pin(async move { crate::postgres::connect(&server, answer_within).await })
                });
                // The address, which holds the password, stays out of the pool.
                Ok(Self::Postgres(Postgres {
                    pool: pool(String::new(), setup, options)?,
                    server,
                    writers: Arc::new(Semaphore::new((options.connections * 3 / 4).max(1))),
                }))
            }
        }
    }
}

pub(crate) fn pool<C>(
    address: String,
    setup: SetupCallback<C>,
    options: &StoreOptions,
) -> Result<Pool<C>, StoreOpenError>
where
    C: PoolableConnection + AsyncConnection + 'static,
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager<Type = C>,
{
    let mut config = ManagerConfig::default();
    config.custom_setup = setup;
    // Open transactions and closed sockets are noticed without a question to the database.
    config.recycling_method = RecyclingMethod::Fast;
    let within = Some(options.answer_within);
    Pool::builder(AsyncDieselConnectionManager::new_with_config(
        address, config,
    ))
    .max_size(options.connections.max(1))
    .runtime(Runtime::Tokio1)
    .wait_timeout(within)
    .create_timeout(within)
    .recycle_timeout(within)
    .build()
    .map_err(|error| StoreOpenError::Pool(error.to_string()))
}

/// A connection on loan from its pool.
///
/// It goes back only when its work came to an end. One whose work was cut off (too slow, a panic, a stopped program) may
/// have a statement under way or a transaction open: it is closed, and the database rolls back. So is one that may be
/// broken, before it fails the next caller too.
pub(crate) struct Lent<C>(Option<Object<C>>)
where
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager<Type = C>;

impl<C> Lent<C>
where
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager<Type = C>,
    <AsyncDieselConnectionManager<C> as deadpool::managed::Manager>::Error: fmt::Display,
{
    pub(crate) async fn from(pool: &Pool<C>) -> Result<Self, Fault> {
        match pool.get().await {
            Ok(object) => Ok(Self(Some(object))),
            Err(error) => Err(Fault::Connection(error.to_string())),
        }
    }

    /// As [`Lent::from`], for callers who may stop waiting before a new connection is made: it is made all the same, and the place
    /// is taken for as long.
    #[cfg(feature = "postgres")]
    pub(crate) async fn patiently<P>(pool: &Pool<C>, place: P) -> Result<(Self, P), Fault>
    where
        C: Send + 'static,
        AsyncDieselConnectionManager<C>: 'static,
        P: Send + 'static,
    {
        let (lent, place) = lend(pool, place).await?;
        Ok((Self(Some(lent)), place))
    }

    pub(crate) fn connection(&mut self) -> Result<&mut C, Fault> {
        match &mut self.0 {
            Some(object) => Ok(&mut *object),
            None => Err(Fault::Connection("it was given back".to_owned())),
        }
    }

    /// The work has come to its end, well or badly.
    pub(crate) fn end<T>(mut self, out: &Result<T, Fault>) {
        if !out.as_ref().is_err_and(Fault::may_break_connection) {
            drop(self.0.take());
        }
    }
}

impl<C> Drop for Lent<C>
where
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager<Type = C>,
{
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            drop(Object::take(object));
        }
    }
}

/// A connection of a pool, for callers who may stop waiting before a new one is made: it is made all the same, in a task of
/// its own, and is there for the next caller. Otherwise a server that is slow to greet would never be reached. The caller's place goes
/// along, so that no more connections are on their way than there are places.
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(crate) async fn lend<M, P>(
    pool: &deadpool::managed::Pool<M>,
    place: P,
) -> Result<(deadpool::managed::Object<M>, P), Fault>
where
    M: deadpool::managed::Manager<Type: Send, Error: fmt::Display + Send> + 'static,
    P: Send + 'static,
{
    let (lent, place) = if pool.status().available > 0 {
        (pool.get().await, place)
    } else {
        let pool = pool.clone();
        tokio::spawn(async move { (pool.get().await, place) })
            .await
            .map_err(|stopped| Fault::Stopped(stopped.to_string()))?
    };
    match lent {
        Ok(lent) => Ok((lent, place)),
        Err(error) => Err(Fault::Connection(error.to_string())),
    }
}

/// A writer's place in the queue, held until the work is done; a reader needs none.
pub(crate) async fn turn(queue: Option<Arc<Semaphore>>) -> Option<OwnedSemaphorePermit> {
    // The queue is never closed.
    queue?.acquire_owned().await.ok()
}

/// Where the work runs.
#[derive(Debug, Clone)]
pub(crate) struct Runner(Handle);

impl Runner {
    /// The runtime of the caller. It must have several threads: SQLite's driver and the migrations block one of them.
    pub(crate) fn here() -> Result<Self, StoreOpenError> {
        match Handle::try_current() {
            Ok(handle) if handle.runtime_flavor() != RuntimeFlavor::CurrentThread => {
                Ok(Self(handle))
            }
            _ => Err(StoreOpenError::Runtime),
        }
    }

    /// Runs work that watches its own time and never blocks a thread.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) async fn briefly<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Fault> {
        match self.0.spawn(work).await {
            Ok(out) => out,
            Err(stopped) => Err(Fault::Stopped(stopped.to_string())),
        }
    }

    /// Runs the work and answers within `within`, even where stopping it takes longer: a driver that blocks a thread
    /// is left to end by itself.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Fault> {
        let watched = async move {
            let mut task = tokio::spawn(work);
            match tokio::time::timeout(within, &mut task).await {
                Ok(Ok(out)) => out,
                Ok(Err(stopped)) => Err(Fault::Stopped(stopped.to_string())),
                Err(_) => {
                    task.abort();
                    Err(Fault::Silent(within))
                }
            }
        };
        match self.0.spawn(watched).await {
            Ok(out) => out,
            Err(stopped) => Err(Fault::Stopped(stopped.to_string())),
        }
    }
}

/// Runs SQL statements that are not diesel's, on a connection that is being set up.
pub(crate) async fn prepare<C: SimpleAsyncConnection>(
    connection: &mut C,
    sql: &str,
) -> diesel::ConnectionResult<()> {
    connection
        .batch_execute(sql)
        .await
        .map_err(diesel::ConnectionError::CouldntSetupConfiguration)
}

/// Runs a body of reading queries: `reading!(store, |connection| body)`.
///
/// The body is an expression of type `Result<_, Fault>` that owns what it uses. `within DURATION,` before it gives it
/// another time than the store's.
macro_rules! reading {
    ($store:expr, |$connection:ident| $body:expr) => {
        $crate::pool::reading!($store, within $store.answer_within(), |$connection| $body)
    };
    ($store:expr, within $within:expr, |$connection:ident| $body:expr) => {
        $crate::pool::on_connection!($store, pool, $within, |_writers| None, |$connection| $body)
    };
}

/// Runs a body of one writing statement, which needs no transaction to be whole: `stating!(store, |connection| body)`, with
/// the body as in [`reading!`]. `relaxed,` before it is for what can be done again: a power cut may undo it.
macro_rules! stating {
    ($store:expr, |$connection:ident| $body:expr) => {
        $crate::pool::stating!(@ $store, durable, |$connection| $body)
    };
    ($store:expr, relaxed, |$connection:ident| $body:expr) => {
        $crate::pool::stating!(@ $store, pool, |$connection| $body)
    };
    (@ $store:expr, $pool:ident, |$connection:ident| $body:expr) => {
        $crate::pool::on_connection!(
            $store,
            $pool,
            $store.answer_within(),
            |writers| Some(writers),
            |$connection| $body
        )
    };
}

/// Runs a body on a connection of one of SQLite's two pools, or of PostgreSQL's, after its turn in the queue that is made of the database's writers.
macro_rules! on_connection {
    ($store:expr, $pool:ident, $within:expr, |$writers:ident| $queue:expr, |$connection:ident| $body:expr) => {
        match $store.database() {
            #[cfg(feature = "sqlite")]
            $crate::pool::Database::Sqlite(sqlite) => {
                let (pool, $writers) = (sqlite.$pool.clone(), sqlite.writers.clone());
                let work = async move {
                    let _turn = $crate::pool::turn($queue).await;
                    let mut lent = $crate::pool::Lent::from(&pool).await?;
                    let $connection: &mut $crate::pool::SqliteConn = lent.connection()?;
                    let out: Result<_, $crate::error::Fault> = async move { $body }.await;
                    lent.end(&out);
                    out
                };
                $store.runner().run($within, work).await
            }
            #[cfg(feature = "postgres")]
            $crate::pool::Database::Postgres(postgres) => {
                let (pool, $writers) = (postgres.pool.clone(), postgres.writers.clone());
                let work = async move {
                    let _turn = $crate::pool::turn($queue).await;
                    let mut lent = $crate::pool::Lent::from(&pool).await?;
                    let $connection: &mut $crate::pool::PgConn = lent.connection()?;
                    let out: Result<_, $crate::error::Fault> = async move { $body }.await;
                    lent.end(&out);
                    out
                };
                $store.runner().run($within, work).await
            }
        }
    };
}

/// Runs a body of queries in one writing transaction, which an error rolls back: `writing!(store, |connection| body)`, with
/// the body as in [`reading!`]. `relaxed,` before it is for what can be done again: a power cut may undo it.
///
/// Writers wait for their turn before they take a connection, so that readers always find one. SQLite takes its lock before
/// the first read, so that the transaction cannot fail half way for want of it.
macro_rules! writing {
    ($store:expr, |$connection:ident| $body:expr) => {
        $crate::pool::writing!(@ $store, durable, $store.answer_within(), |$connection| $body)
    };
    ($store:expr, within $within:expr, |$connection:ident| $body:expr) => {
        $crate::pool::writing!(@ $store, durable, $within, |$connection| $body)
    };
    ($store:expr, relaxed, |$connection:ident| $body:expr) => {
        $crate::pool::writing!(@ $store, pool, $store.answer_within(), |$connection| $body)
    };
    (@ $store:expr, $pool:ident, $within:expr, |$connection:ident| $body:expr) => {
        match $store.database() {
            #[cfg(feature = "sqlite")]
            $crate::pool::Database::Sqlite(sqlite) => {
                let (pool, writers) = (sqlite.$pool.clone(), sqlite.writers.clone());
                let work = async move {
                    let _turn = $crate::pool::turn(Some(writers)).await;
                    let mut lent = $crate::pool::Lent::from(&pool).await?;
                    let out: Result<_, $crate::error::Fault> = lent
                        .connection()?
                        .immediate_transaction(
                            async move |$connection: &mut $crate::pool::SqliteConn| $body,
                        )
                        .await;
                    lent.end(&out);
                    out
                };
                $store.runner().run($within, work).await
            }
            #[cfg(feature = "postgres")]
            $crate::pool::Database::Postgres(postgres) => {
                let (pool, writers) = (postgres.pool.clone(), postgres.writers.clone());
                let work = async move {
                    let _turn = $crate::pool::turn(Some(writers)).await;
                    let mut lent = $crate::pool::Lent::from(&pool).await?;
                    let out: Result<_, $crate::error::Fault> =
                        diesel_async::AsyncConnection::transaction(
                            lent.connection()?,
                            async move |$connection: &mut $crate::pool::PgConn| $body,
                        )
                        .await;
                    lent.end(&out);
                    out
                };
                $store.runner().run($within, work).await
            }
        }
    };
}

/// A statement of many rows, for both databases: `many_rows!(method, Trait, Row, |rows| statement)` gives connections the
/// method. Diesel knows such statements on SQLite only through its own connection, which blocks a thread.
macro_rules! many_rows {
    ($method:ident, $trait:ident, $row:ty, |$rows:ident| $statement:expr) => {
        trait $trait {
            fn $method(
                &mut self,
                rows: Vec<$row>,
            ) -> impl Future<Output = diesel::QueryResult<usize>> + Send;
        }

        #[cfg(feature = "sqlite")]
        impl $trait for $crate::pool::SqliteConn {
            async fn $method(&mut self, rows: Vec<$row>) -> diesel::QueryResult<usize> {
                self.spawn_blocking(move |connection| {
                    let $rows = &rows;
                    diesel::RunQueryDsl::execute($statement, connection)
                })
                .await
            }
        }

        #[cfg(feature = "postgres")]
        impl $trait for $crate::pool::PgConn {
            async fn $method(&mut self, rows: Vec<$row>) -> diesel::QueryResult<usize> {
                let $rows = &rows;
                diesel_async::RunQueryDsl::execute($statement, self).await
            }
        }
    };
}

pub(crate) use {many_rows, on_connection, reading, stating, writing};
