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
        let pool = pool(
            String::new(),
            setup,
            &StoreOptions {
                connections: options.connections,
                answer_within: connect_within(options),
            },
        )?;
        let records = PostgresRecords::new(pool, options.connections);
        Ok(Self(Shared::new(records, store.runner().clone(), options)))
    }
}

struct PostgresRecords {
    pool: Pool<PgConn>,
    /// As many as there are connections: whoever holds one never waits for another's.
    places: Arc<Semaphore>,
    /// Half of them at most are refunds' at one time: those can wait for seconds, calls cannot.
    refunds: Arc<Semaphore>,
    hasher: RandomState,
    lanes: Box<[Lane]>,
}

/// The queues of some accounts.
struct Lane {
    /// Whoever is about to lock a record.
    all: Arc<Semaphore>,
    /// Refunds line up here before they line up anywhere else: a burst of one account's holds up neither its calls nor the refunds of others.
    refunds: Arc<Semaphore>,
}

/// A place among refunds, where it is for one; a place in the account's lane, where there is one; and one among the connections.
struct Place {
    _lane_of_refunds: Option<OwnedSemaphorePermit>,
    _refund: Option<OwnedSemaphorePermit>,
    _lane: Option<OwnedSemaphorePermit>,
    connection: Option<OwnedSemaphorePermit>,
}

/// A connection, and the places that end with it.
struct Line {
    lent: Lent<PgConn>,
    _place: Place,
}

impl PostgresRecords {
    fn new(pool: Pool<PgConn>, connections: usize) -> Self {
        let queue = |width| Arc::new(Semaphore::new(width));
        Self {
            pool,
            places: queue(connections.max(1)),
            refunds: queue((connections / 2).max(1)),
            hasher: RandomState::new(),
            lanes: (0..LANES)
                .map(|_| Lane {
                    all: queue(LANE_WIDTH),
                    refunds: queue(LANE_WIDTH),
                })
                .collect(),
        }
    }

    /// The account's lane: one that is busy does not take all connections.
    fn lane(&self, account: &str) -> &Lane {
        // The remainder is below the number of lanes, which fits every integer.
        &self.lanes[(self.hasher.hash_one(account) % LANES as u64) as usize]
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

    async fn place(&self, locked: Option<&str>, refund: bool) -> Place {
        let lane = locked.map(|account| self.lane(account));
        let refunds = lane.filter(|_| refund);
        Place {
            // Among refunds first: one that waits there stands in no call's way.
            _lane_of_refunds: turn(refunds.map(|lane| lane.refunds.clone())).await,
            _refund: turn(refunds.map(|_| self.refunds.clone())).await,
            // The lane before the connection: who waits for it keeps no connection from others.
            _lane: turn(lane.map(|lane| lane.all.clone())).await,
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

    /// The pool does not lend what it knows to be closed, and the driver knows that as soon as this machine does.
    async fn greet(&self, line: Line) -> Result<Line, Fault> {
        Ok(line)
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

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::task::Poll;

    use super::*;

    /// The places that are there at once; the others wait on.
    async fn at_once<F: Future<Output = Place>>(waiting: &mut [Pin<Box<F>>]) -> Vec<Place> {
        poll_fn(|context| {
            let mut there = Vec::new();
            for place in &mut *waiting {
                if let Poll::Ready(place) = place.as_mut().poll(context) {
                    there.push(place);
                }
            }
            Poll::Ready(there)
        })
        .await
    }

    fn records() -> PostgresRecords {
        let nobody: SetupCallback<PgConn> = Box::new(|_| {
            Box::pin(async {
                let why = "nothing is asked".to_owned();
                Err(diesel::ConnectionError::BadConnection(why))
            })
        });
        let pool = pool(String::new(), nobody, &StoreOptions::default()).expect("a pool");
        PostgresRecords::new(pool, 8)
    }

    /// Accounts of which no two share a lane.
    fn apart(records: &PostgresRecords, count: usize) -> Vec<String> {
        let mut accounts: Vec<String> = Vec::new();
        for name in (0..).map(|n: u32| n.to_string()) {
            if accounts.len() == count {
                break;
            }
            let lane = records.lane(&name);
            if !accounts
                .iter()
                .any(|other| std::ptr::eq(records.lane(other), lane))
            {
                accounts.push(name);
            }
        }
        accounts
    }

    #[tokio::test]
    async fn refunds_of_many_accounts_leave_half_of_the_connections_to_calls() {
        let records = records();
        let accounts = apart(&records, 12);
        let each_twice = accounts.iter().chain(&accounts);
        let mut refunds: Vec<_> = each_twice
            .map(|account| Box::pin(records.place(Some(account.as_str()), true)))
            .collect();
        let held = at_once(&mut refunds).await;
        assert_eq!(held.len(), 4);
        // Calls of accounts whose refunds wait do not wait behind them.
        let mut calls: Vec<_> = accounts[8..]
            .iter()
            .map(|account| Box::pin(records.place(Some(account.as_str()), false)))
            .collect();
        assert_eq!(at_once(&mut calls).await.len(), 4);
        drop((refunds, held));
    }

    #[tokio::test]
    async fn refunds_of_one_account_leave_places_to_refunds_of_others() {
        let records = records();
        let accounts = apart(&records, 2);
        let mut burst: Vec<_> = (0..12)
            .map(|_| Box::pin(records.place(Some(accounts[0].as_str()), true)))
            .collect();
        let held = at_once(&mut burst).await;
        assert_eq!(held.len(), LANE_WIDTH);
        let mut other = [Box::pin(records.place(Some(accounts[1].as_str()), true))];
        assert_eq!(at_once(&mut other).await.len(), 1);
        drop((burst, held));
    }
}
