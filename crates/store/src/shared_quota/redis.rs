//! Budgets on Redis or Valkey: one key an account, one script a question.
//!
//! The record is packed into 40 bytes and read and written by the script alone. `SET` carries the end of the key, which
//! only tidies up. The script is sent by its hash; a server that does not know it (a restart, `SCRIPT FLUSH`, a failover)
//! is sent the text.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool::Runtime;
use deadpool::managed::{Manager, Metrics, Pool, RecycleError, RecycleResult};
use deadpool_redis::redis::aio::MultiplexedConnection;
use deadpool_redis::redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo,
    RedisError, Script, ServerErrorKind, cmd,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::shared::{Answer, Given, Records, Shared, quota_store};
use super::{SharedQuotaOptions, connect_within};
use crate::error::{Fault, StoreOpenError};
use crate::pool::{Runner, lend, turn};

/// More sockets than this are no faster: each carries many calls at once.
const CONNECTIONS_AT_MOST: usize = 4;

const TEXT: &str = include_str!("quota.lua");
static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(TEXT));

/// The budgets of all instances on one Redis (6.2 or later) or Valkey server.
///
/// A failover to a replica forgets the charges that had not reached it yet. `maxmemory-policy` should be `noeviction`: a
/// key that is evicted is a gift of units.
///
/// ```no_run
/// use brownstone_domain::{Limits, Units};
/// use brownstone_quota::QuotaStore;
/// use brownstone_store::RedisQuota;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let quota = RedisQuota::open("redis://127.0.0.1:6379")?;
/// let decision = quota.charge("an account", Units::new(10), Limits::default()).await?;
/// # let _ = decision;
/// # Ok(())
/// # }
/// ```
pub struct RedisQuota(Shared<RedisRecords>);

quota_store!(RedisQuota);

impl RedisQuota {
    /// Opens `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`; `valkey://` is the same, `rediss://` and `valkeys://` use TLS and trust
    /// what this machine trusts (or the file that `SSL_CERT_FILE` names). Speaks to nobody yet.
    ///
    /// Call it on the program's multi-thread tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be used. The message is for the operator and never shows a password.
    pub fn open(url: &str) -> Result<Self, StoreOpenError> {
        Self::open_with(url, &SharedQuotaOptions::default())
    }

    /// The same with other settings than the defaults.
    ///
    /// # Errors
    /// As [`RedisQuota::open`].
    pub fn open_with(url: &str, options: &SharedQuotaOptions) -> Result<Self, StoreOpenError> {
        let info = address(url)?;
        let runner = Runner::here()?;
        let connect_within = Some(connect_within(options));
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(connect_within)
            // The deadline is the caller's.
            .set_response_timeout(None);
        let manager = deadpool_redis::Manager::new_with_config(info, config)
            .map_err(|_| StoreOpenError::RedisAddress("cannot be used"))?;
        let pool = Pool::builder(Lines(manager))
            .max_size(options.connections.clamp(1, CONNECTIONS_AT_MOST))
            // The one that rested longest is next, so that calls spread over all.
            .queue_mode(deadpool::managed::QueueMode::Fifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(connect_within)
            .create_timeout(connect_within)
            .build()
            .map_err(|error| StoreOpenError::Pool(error.to_string()))?;
        let records = RedisRecords {
            places: Arc::new(Semaphore::new(pool.status().max_size)),
            pool,
        };
        Ok(Self(Shared::new(records, runner, options)))
    }
}

/// Reads the address. Its reader's own error may quote a piece of it, and that piece may be the password's.
fn address(url: &str) -> Result<ConnectionInfo, StoreOpenError> {
    let refused = StoreOpenError::RedisAddress;
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("redis" | "valkey") => {}
        Some("rediss" | "valkeys") => {
            // The driver asks for the process's own provider, and would have none if two were linked. One that was there before is as good.
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        _ => {
            return Err(refused(
                "has an unknown scheme; allowed are redis:// and, with TLS, rediss://, each with [USER:PASSWORD@]HOST[:PORT][/DATABASE]",
            ));
        }
    }
    let info = url.into_connection_info().map_err(|_| {
        refused("cannot be read; percent-encode what is special in user and password, and check host, port and database")
    })?;
    match info.addr() {
        ConnectionAddr::Tcp(host, _) if !host.is_empty() => Ok(info),
        ConnectionAddr::TcpTls { insecure: true, .. } => Err(refused(
            "asks for TLS without a check of the certificate, which keeps out nobody; leave out #insecure",
        )),
        ConnectionAddr::TcpTls { host, .. } if !host.is_empty() => Ok(info),
        _ => Err(refused("the host is missing")),
    }
}

struct RedisRecords {
    pool: Pool<Lines>,
    /// As many as there are connections, each held only until the connection is: calls share those.
    places: Arc<Semaphore>,
}

/// A connection for one question, and the doubt about it until it was answered.
struct Sent {
    connection: MultiplexedConnection,
    suspicion: Suspicion,
}

/// Makes connections. They are not asked whether they are well before each use, which would double the round trips: one
/// that failed says so itself. Only a refund asks, since it is sent once.
struct Lines(deadpool_redis::Manager);

/// A connection, which many calls share.
struct Line {
    connection: MultiplexedConnection,
    broken: Arc<AtomicBool>,
}

impl Manager for Lines {
    type Type = Line;
    type Error = RedisError;

    async fn create(&self) -> Result<Line, RedisError> {
        Ok(Line {
            connection: self.0.create().await?,
            broken: Arc::default(),
        })
    }

    async fn recycle(&self, line: &mut Line, _: &Metrics) -> RecycleResult<RedisError> {
        if line.broken.load(Ordering::Relaxed) {
            return Err(RecycleError::message("it failed"));
        }
        Ok(())
    }
}

/// Marks a connection as broken unless its call came to a good end: a bad answer and one that nobody waited for any
/// longer alike.
struct Suspicion(Option<Arc<AtomicBool>>);

impl Suspicion {
    fn lift(mut self) {
        self.0 = None;
    }
}

impl Drop for Suspicion {
    fn drop(&mut self) {
        if let Some(broken) = &self.0 {
            broken.store(true, Ordering::Relaxed);
        }
    }
}

impl RedisRecords {
    async fn ask(&self, line: Sent, op: &str, given: &Given) -> Result<Answer, Fault> {
        let Sent {
            mut connection,
            suspicion,
        } = line;
        let by_hash = invocation("EVALSHA", SCRIPT.get_hash(), op, given);
        let mut reply: Result<Vec<i64>, RedisError> = by_hash.query_async(&mut connection).await;
        if reply.as_ref().is_err_and(is_unknown_script) {
            // Nothing ran. The text is remembered by the server for the calls to come.
            reply = invocation("EVAL", TEXT, op, given)
                .query_async(&mut connection)
                .await;
        }
        let reply = reply.map_err(|error| Fault::Connection(error.to_string()))?;
        suspicion.lift();
        match reply[..] {
            [charged, deficit, last_us, day, spent, now_us] => {
                Answer::read(charged == 1, [deficit, last_us, day, spent, now_us])
            }
            _ => Err(Fault::Unreadable("quota record")),
        }
    }
}

fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// A user who may run the script need not be allowed anything else. That is an answer, too.
fn is_forbidden(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
}

/// The one key is named, and in braces the account: keys of an account that may join it later stay on its server.
fn invocation(by: &str, script: &str, op: &str, given: &Given) -> Cmd {
    let mut invocation = cmd(by);
    invocation
        .arg(script)
        .arg(1)
        .arg(format!("quota:{{{}}}", given.account))
        .arg(op)
        .arg(given.cost)
        .arg(given.per_minute)
        .arg(given.per_day)
        .arg(given.charged_at_us)
        .arg(given.charged_day);
    match given.clock_us {
        Some(clock_us) => invocation.arg(clock_us),
        None => invocation.arg(""),
    };
    invocation
}

impl Records for RedisRecords {
    type Place = Option<OwnedSemaphorePermit>;
    type Line = Sent;

    /// A place is held for a moment, and not until there is an answer: refunds keep nobody from one.
    async fn place(&self, _: Option<&str>, _: bool) -> Self::Place {
        turn(Some(self.places.clone())).await
    }

    async fn connect(&self, place: Self::Place) -> Result<Sent, Fault> {
        // Connection and place go back at once: the next user's call is sent behind this one, without waiting for the answer.
        let (line, _place) = lend(&self.pool, place).await?;
        Ok(Sent {
            connection: line.connection.clone(),
            suspicion: Suspicion(Some(line.broken.clone())),
        })
    }

    async fn greet(&self, mut line: Sent) -> Result<Sent, Fault> {
        let pong: Result<(), RedisError> = cmd("PING").query_async(&mut line.connection).await;
        match pong {
            Err(error) if !is_forbidden(&error) => Err(Fault::Connection(error.to_string())),
            _ => Ok(line),
        }
    }

    async fn charge(&self, line: Sent, given: &Given) -> Result<Answer, Fault> {
        self.ask(line, "charge", given).await
    }

    async fn refund(&self, line: Sent, given: &Given) -> Result<(), Fault> {
        self.ask(line, "refund", given).await.map(drop)
    }

    async fn peek(&self, line: Sent, given: &Given) -> Result<Answer, Fault> {
        self.ask(line, "peek", given).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_a_refused_one_does_not_show_its_password() {
        for url in [
            "redis://127.0.0.1",
            "redis://127.0.0.1:6380/2",
            "valkey://h:6379",
            "redis://u:p%40ss@h:6379/0",
            "redis://:secret@h",
            "rediss://u:p%40ss@h:6380/0",
        ] {
            assert!(address(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "h:6379",
            "http://u:hunter2@h",
            "rediss://u:hunter2@h:6379/#insecure",
            "redis://u:hunter2@h:notaport",
            "redis://u:hunter2@h/notadatabase",
            "redis://",
            "redis+unix:///tmp/hunter2",
        ] {
            let error = address(url).expect_err(url);
            let text = format!("{error} {error:?}");
            assert!(text.starts_with("redis:// address"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn the_key_is_the_accounts_alone() {
        let key = |account: &str| {
            let given = Given {
                account: account.to_owned(),
                ..Given::default()
            };
            invocation("EVALSHA", "hash", "peek", &given).get_packed_command()
        };
        assert!(String::from_utf8_lossy(&key("a}b")).contains("quota:{a}b}"));
        assert_ne!(key("a"), key("A"));
    }
}
