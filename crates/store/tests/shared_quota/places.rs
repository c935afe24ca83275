//! Where budgets are kept: each test has accounts, on PostgreSQL a schema too, to itself.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use brownstone_domain::{Clock, ManualClock, clock::from_micros};
use brownstone_quota::QuotaStore;
use brownstone_quota::contract::{NOON_US, Rig};
#[cfg(feature = "redis")]
use brownstone_store::RedisQuota;
use brownstone_store::SharedQuotaOptions;
#[cfg(feature = "postgres")]
use brownstone_store::{PostgresQuota, Store};

#[cfg(feature = "postgres")]
use crate::harness::Held;
use crate::proxy::Proxy;

/// A server with nothing of ours on it yet.
pub(crate) enum Place {
    #[cfg(feature = "postgres")]
    Postgres(Held),
    #[cfg(feature = "redis")]
    Redis(String),
}

#[cfg(feature = "postgres")]
pub(crate) async fn postgres() -> Option<Place> {
    Some(Place::Postgres(crate::harness::postgres().await?))
}

#[cfg(feature = "redis")]
pub(crate) async fn redis() -> Option<Place> {
    let url = crate::at_hand::variable("TEST_REDIS_URL", "make test")?;
    Some(Place::Redis(url))
}

/// Settings that ask the store every time, with all the time it may need.
pub(crate) fn patient() -> SharedQuotaOptions {
    SharedQuotaOptions {
        answer_within: Duration::from_secs(20),
        send_refunds_within: Duration::from_secs(20),
        remember_refusals_for: Duration::ZERO,
        ..SharedQuotaOptions::default()
    }
}

/// A name that no other test uses.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}-{:016x}", RandomState::new().hash_one(name))
}

/// A clock in the test's hand.
pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(moment(NOON_US)))
}

pub(crate) fn moment(us: u64) -> time::OffsetDateTime {
    from_micros(us).expect("a moment before the year 10000")
}

impl Place {
    /// An instance, with a clock of the test's where one is given.
    pub(crate) fn instance_with(
        &self,
        options: &SharedQuotaOptions,
        clock: Option<Arc<ManualClock>>,
    ) -> Arc<dyn QuotaStore> {
        self.open(self.address(), options, clock)
    }

    /// An instance that reaches the server through a proxy, whatever the hour: its clock stands at a noon.
    pub(crate) fn behind(
        &self,
        proxy: &Proxy,
        options: &SharedQuotaOptions,
    ) -> Arc<dyn QuotaStore> {
        let server = self.host_and_port();
        let address = self
            .address()
            .replace(&server, &format!("127.0.0.1:{}", proxy.port()));
        self.open(&address, options, Some(clock()))
    }

    /// A proxy before the server.
    pub(crate) async fn proxy(&self) -> Proxy {
        Proxy::before(self.host_and_port()).await
    }

    /// Answers that come before a refund is sent.
    pub(crate) fn greetings(&self) -> usize {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => 0,
            #[cfg(feature = "redis")]
            Self::Redis(_) => 1,
        }
    }

    pub(crate) async fn rig(self) -> Rig {
        let clock = clock();
        let options = SharedQuotaOptions {
            // The product's own, but for a machine that is busy with other tests.
            answer_within: Duration::from_secs(20),
            ..SharedQuotaOptions::default()
        };
        let store = self.open(self.address(), &options, Some(clock.clone()));
        Rig::keeping(store, clock, std::sync::Mutex::new(self))
    }

    fn address(&self) -> &str {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(held) => held.url(),
            #[cfg(feature = "redis")]
            Self::Redis(url) => url,
        }
    }

    fn host_and_port(&self) -> String {
        let (_, rest) = self.address().split_once("://").expect("an address");
        let authority = rest.split(['/', '?']).next().expect("an authority");
        let server = authority.rsplit('@').next().expect("a server");
        assert!(server.contains(':'), "tests name the port: {server}");
        server.to_owned()
    }

    fn open(
        &self,
        address: &str,
        options: &SharedQuotaOptions,
        clock: Option<Arc<ManualClock>>,
    ) -> Arc<dyn QuotaStore> {
        let clock = clock.map(|clock| -> Arc<dyn Clock> { clock });
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {
                let store = Store::open(address).expect("an address");
                let quota = PostgresQuota::open_with(&store, options).expect("PostgreSQL");
                match clock {
                    Some(clock) => Arc::new(quota.reading(clock)),
                    None => Arc::new(quota),
                }
            }
            #[cfg(feature = "redis")]
            Self::Redis(_) => {
                let quota = RedisQuota::open_with(address, options).expect("an address");
                match clock {
                    Some(clock) => Arc::new(quota.reading(clock)),
                    None => Arc::new(quota),
                }
            }
        }
    }

    /// Everything that is stored of an account, down to where and when it was written.
    pub(crate) async fn bytes(&self, account: &str) -> Vec<String> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(held) => held.quota_row(account).await,
            #[cfg(feature = "redis")]
            Self::Redis(url) => {
                use deadpool_redis::redis::cmd;

                let mut connection = raw(url).await;
                let key = format!("quota:{{{account}}}");
                let value: Option<Vec<u8>> = cmd("GET")
                    .arg(&key)
                    .query_async(&mut connection)
                    .await
                    .expect("an answer");
                let ends: i64 = cmd("PEXPIRETIME")
                    .arg(&key)
                    .query_async(&mut connection)
                    .await
                    .expect("an answer");
                vec![format!("{value:?}"), ends.to_string()]
            }
        }
    }
}

/// A connection beside the store.
#[cfg(feature = "redis")]
pub(crate) async fn raw(url: &str) -> deadpool_redis::redis::aio::MultiplexedConnection {
    deadpool_redis::redis::Client::open(url)
        .expect("an address")
        .get_multiplexed_async_connection()
        .await
        .expect("a server")
}
