//! Budgets on PostgreSQL: one row an account, one statement a question.
//!
//! A charge that does not fit what it sees is refused without touching anything. Otherwise it locks the row, reads the clock
//! once it has the lock, computes, and updates the row if the cost fits; whatever comes of it, one row says so. The statements are written by hand, since diesel has no words for them, and are
//! prepared once a connection. They rely on READ COMMITTED: a statement that waited for a row goes on with what the
//! one before left there.

use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::sync::Arc;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::SetupCallback;
use diesel_async::pooled_connection::deadpool::Pool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::shared::{Answer, Given, Records, Shared, quota_store};
use super::{SharedQuotaOptions, connect_within};
use crate::error::{Fault, StoreOpenError};
use crate::pool::{Database, Lent, PgConn, pool, turn};
use crate::store::{Store, StoreOptions};

/// Accounts are dealt out over so many lanes, each of which may use [`LANE_WIDTH`] connections at once.
const LANES: usize = 256;
/// One call holds the account's row, the next is on its way to it. More would only wait, and keep others from connections.
const LANE_WIDTH: usize = 2;
/// Two first charges of an account at once: the second one's statement does not see the first one's row yet.
const ATTEMPTS: usize = 3;

/// The budgets of all instances on one PostgreSQL database.
///
/// It needs the schema of [`Store::migrate`].
///
/// ```no_run
/// use brownstone_domain::{Limits, Units};
/// use brownstone_quota::QuotaStore;
/// use brownstone_store::{PostgresQuota, Store};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Store::open("postgres://brownstone@127.0.0.1/brownstone")?;
/// store.migrate().await?;
/// let quota = PostgresQuota::open(&store)?;
/// let decision = quota.charge("an account", Units::new(10), Limits::default()).await?;
/// # let _ = decision;
/// # Ok(())
/// # }
/// ```
pub struct PostgresQuota(Shared<PostgresRecords>);

quota_store!(PostgresQuota);

impl PostgresQuota {
    /// The budgets in a store's database, over connections of their own.
    ///
    /// # Errors
    /// When the store is an SQLite file.
    pub fn open(store: &Store) -> Result<Self, StoreOpenError> {
        Self::open_with(store, &SharedQuotaOptions::default())
    }

    /// The same with other settings than the defaults.
    ///
    /// # Errors
    /// As [`PostgresQuota::open`].
    pub fn open_with(store: &Store, options: &SharedQuotaOptions) -> Result<Self, StoreOpenError> {
        let server = match store.database() {
            Database::Postgres(postgres) => postgres.server.clone(),
            #[cfg(feature = "sqlite")]
            Database::Sqlite(_) => return Err(StoreOpenError::QuotaOnSqlite),
        };
        let answer_within = options.answer_within;
        let setup: SetupCallback<PgConn> = Box::new(move |_| {
            let server = server.clone();
            // The server ends a statement when its caller stops waiting, so that little is charged unheard.
            Box::pin(async move { crate::postgres::connect(&server, answer_within).await })
        });
        let records = PostgresRecords {
            pool: pool(
                String::new(),
                setup,
                &StoreOptions {
                    connections: options.connections,
                    answer_within: connect_within(options),
                },
            )?,
            places: Arc::new(Semaphore::new(options.connections.max(1))),
            hasher: RandomState::new(),
            lanes: (0..LANES)
                .map(|_| Arc::new(Semaphore::new(LANE_WIDTH)))
                .collect(),
        };
        Ok(Self(Shared::new(records, store.runner().clone(), options)))
    }
}

struct PostgresRecords {
    pool: Pool<PgConn>,
    /// As many as there are connections: whoever holds one never waits for another's.
    places: Arc<Semaphore>,
    hasher: RandomState,
    lanes: Box<[Arc<Semaphore>]>,
}

/// A place in the account's lane, where there is one, and one among the connections.
struct Place {
    _lane: Option<OwnedSemaphorePermit>,
    connection: Option<OwnedSemaphorePermit>,
}

/// A connection, and the places that end with it.
struct Line {
    lent: Lent<PgConn>,
    _place: Place,
}

impl PostgresRecords {
    /// The account's lane: one that is busy does not take all connections.
    fn lane(&self, account: &str) -> Arc<Semaphore> {
        // The remainder is below the number of lanes, which fits every integer.
        self.lanes[(self.hasher.hash_one(account) % LANES as u64) as usize].clone()
    }
}

/// One question and its answer, `None` where no row came.
async fn ask<K: Kind>(lent: &mut Lent<PgConn>, given: &Given) -> Result<Option<Answer>, Fault> {
    let statement = Statement::<K>::of(given)?;
    let rows: Vec<Row> = RunQueryDsl::load(statement, lent.connection()?).await?;
    match rows.into_iter().next() {
        Some((charged, deficit, last_us, day, spent, now_us)) => {
            Answer::read(charged, [deficit, last_us, day, spent, now_us]).map(Some)
        }
        None => Ok(None),
    }
}

impl Records for PostgresRecords {
    type Place = Place;
    type Line = Line;

    async fn place(&self, locked: Option<&str>) -> Place {
        // The lane first: who waits for it keeps no connection from others.
        Place {
            _lane: turn(locked.map(|account| self.lane(account))).await,
            connection: turn(Some(self.places.clone())).await,
        }
    }

    async fn connect(&self, mut place: Place) -> Result<Line, Fault> {
        let (lent, connection) = Lent::patiently(&self.pool, place.connection.take()).await?;
        place.connection = connection;
        Ok(Line {
            lent,
            _place: place,
        })
    }

    async fn charge(&self, mut line: Line, given: &Given) -> Result<Answer, Fault> {
        let mut out = Ok(None);
        for _ in 0..ATTEMPTS {
            out = ask::<ChargeIt>(&mut line.lent, given).await;
            if !matches!(out, Ok(None)) {
                break;
            }
        }
        line.lent.end(&out);
        out?.ok_or(Fault::Missing("quota record"))
    }

    async fn refund(&self, mut line: Line, given: &Given) -> Result<(), Fault> {
        let statement = Statement::<RefundIt>::of(given)?;
        let out = RunQueryDsl::execute(statement, line.lent.connection()?)
            .await
            .map_err(Fault::from);
        line.lent.end(&out);
        out.map(drop)
    }

    async fn peek(&self, mut line: Line, given: &Given) -> Result<Answer, Fault> {
        let out = ask::<PeekAtIt>(&mut line.lent, given).await;
        line.lent.end(&out);
        out?.ok_or(Fault::Missing("quota record"))
    }
}

/// Whether it was charged; deficit, last_us, day, spent; the clock.
type Row = (bool, i64, i64, i64, i64, i64);
type RowType = (Bool, BigInt, BigInt, BigInt, BigInt, BigInt);

/// What follows the table `given`, which holds the values of a [`Given`] in one row.
trait Kind: Send + Sync + 'static {
    const SQL: &'static str;
}

struct ChargeIt;

impl Kind for ChargeIt {
    const SQL: &'static str = include_str!("charge.sql");
}

struct RefundIt;

impl Kind for RefundIt {
    const SQL: &'static str = include_str!("refund.sql");
}

struct PeekAtIt;

impl Kind for PeekAtIt {
    const SQL: &'static str = include_str!("peek.sql");
}

/// A statement with its values. Its text is always the same, so that diesel prepares it once and finds it by its type;
/// `sql_query` would prepare it anew for each call.
struct Statement<'a, K> {
    account: &'a str,
    clock_us: Option<i64>,
    cost: i64,
    per_minute: i64,
    per_day: i64,
    charged_at_us: i64,
    charged_day: i64,
    kind: PhantomData<K>,
}

impl<'a, K> Statement<'a, K> {
    fn of(given: &'a Given) -> Result<Self, Fault> {
        let moment = |us: u64| i64::try_from(us).map_err(|_| Fault::OutOfRange("moment"));
        Ok(Self {
            account: &given.account,
            clock_us: given.clock_us.map(moment).transpose()?,
            cost: given.cost.into(),
            per_minute: given.per_minute.into(),
            per_day: given.per_day.into(),
            charged_at_us: moment(given.charged_at_us)?,
            charged_day: given.charged_day.into(),
            kind: PhantomData,
        })
    }
}

impl<K: Kind> QueryId for Statement<'_, K> {
    type QueryId = Statement<'static, K>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<K> Query for Statement<'_, K> {
    type SqlType = RowType;
}

impl<K: Kind> QueryFragment<Pg> for Statement<'_, K> {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        pass.push_sql("WITH given AS MATERIALIZED (SELECT ");
        pass.push_bind_param::<Text, _>(self.account)?;
        pass.push_sql("::text AS account, ");
        pass.push_bind_param::<Nullable<BigInt>, _>(&self.clock_us)?;
        pass.push_sql("::bigint AS clock_us");
        for (value, name) in [
            (&self.cost, "cost"),
            (&self.per_minute, "per_minute"),
            (&self.per_day, "per_day"),
            (&self.charged_at_us, "charged_at_us"),
            (&self.charged_day, "charged_day"),
        ] {
            pass.push_sql(", ");
            pass.push_bind_param::<BigInt, _>(value)?;
            pass.push_sql("::bigint AS ");
            pass.push_sql(name);
        }
        pass.push_sql(")");
        pass.push_sql(K::SQL);
        Ok(())
    }
}
