//! Budgets that instances share, beside the least that their server can be asked.

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use brownstone_domain::{Limits, Units};
use brownstone_quota::{Decision, QuotaStore};
use brownstone_store::{PostgresQuota, RedisQuota, SharedQuotaOptions, Store};
use deadpool_redis::redis;
use tokio::{sync::Mutex, task::JoinSet};

use super::Part;
use crate::{
    measure::{ROUNDS, Stopwatch, median, mix},
    row::{Figure, Row},
};

pub(crate) const PART: Part = Part {
    name: "shared-quota",
    tells: "charges a second in Redis and PostgreSQL, beside a bare PING and SELECT 1",
    about: "\
The servers that `TEST_REDIS_URL` and `TEST_POSTGRES_URL` name, on loopback beside the clients, so that both ends share the
cores: as `make bench` starts them Redis keeps nothing on disk, and PostgreSQL waits for no disk (`synchronous_commit` and `fsync`
off). Calls a second by wall time, the median of alternating rounds, with one client after the other and with 64 at once, over the store's
own number of connections (4 to Redis, each shared by all; 8 to PostgreSQL, one call at a time). The anchor is the smallest
question over as many connections of the same driver: PING, and a prepared SELECT 1. The ratio is the anchor's rate over ours: how many
of the smallest questions a charge costs. `refused by the store` asks with the memory of refusals off; `refused from memory` is
the same with it on, as the program has it.",
    run,
};

/// Accounts that calls are spread over.
const ACCOUNTS: u64 = 100_000;
/// Connections to either server.
const TO_REDIS: usize = 4;
const TO_POSTGRES: usize = 8;
/// Long enough for a machine that does other things: what is slow shall show, not fail.
const PATIENCE: Duration = Duration::from_secs(10);

/// Clients at once, and calls of all of them in one round.
const LOADS: [(usize, usize); 2] = [(1, 3_000), (64, 24_000)];

fn run() -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut rows = Vec::new();
        match std::env::var("TEST_REDIS_URL") {
            Ok(url) => rows.extend(in_redis(&url).await?),
            Err(_) => eprintln!("shared-quota: TEST_REDIS_URL is not set, so Redis is left out"),
        }
        match std::env::var("TEST_POSTGRES_URL") {
            Ok(url) => rows.extend(in_postgres(&url).await?),
            Err(_) => {
                eprintln!("shared-quota: TEST_POSTGRES_URL is not set, so PostgreSQL is left out");
            }
        }
        Ok(rows)
    })
}

/// Calls a second: so many clients make so many calls, each the next when it has its answer.
async fn rate<F, Fut>((clients, calls): (usize, usize), call: F) -> anyhow::Result<f64>
where
    F: Fn(u64) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = anyhow::Result<()>> + Send,
{
    let each = calls / clients;
    let watch = Stopwatch::of_process();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let call = call.clone();
        tasks.spawn(async move {
            for n in 0..each {
                call((client * each + n) as u64).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok((each * clients) as f64 / watch.stop().wall.as_secs_f64())
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Admitted, an account at random.
    Spread,
    /// Admitted, always the same account.
    Hot,
    /// Refused, always the same account.
    Refused,
}

async fn charge(store: &dyn QuotaStore, kind: Kind, n: u64) -> anyhow::Result<()> {
    let account = match kind {
        Kind::Spread => format!("bench-{:06}", mix(n) % ACCOUNTS),
        Kind::Hot => "bench-hot".to_owned(),
        Kind::Refused => "bench-refused".to_owned(),
    };
    let limits = match kind {
        Kind::Refused => Limits::new(1, 1)?,
        _ => Limits::new(Limits::MAX_PER_MINUTE, Limits::MAX_PER_DAY)?,
    };
    let decision = (store.charge(&account, Units::new(1), limits).await)
        .map_err(|error| anyhow::anyhow!("{}", error.detail()))?;
    let admitted = matches!(decision, Decision::Admitted { .. });
    // The first call of an account that is refused is not.
    ensure!(
        admitted || kind == Kind::Refused,
        "a boundless account was refused"
    );
    Ok(())
}

/// The rows of one server: `asking` asks it every time, `remembering` as the program does.
async fn rows<A, Fut>(
    name: &str,
    smallest: &str,
    asking: Arc<dyn QuotaStore>,
    remembering: Arc<dyn QuotaStore>,
    anchor: A,
) -> anyhow::Result<Vec<Row>>
where
    A: Fn(u64) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = anyhow::Result<()>> + Send,
{
    let kinds = [
        ("an account at random", Kind::Spread, &asking),
        ("one hot account", Kind::Hot, &asking),
        ("refused by the store", Kind::Refused, &asking),
        ("refused from memory", Kind::Refused, &remembering),
    ];
    let mut rows = Vec::new();
    for load in LOADS {
        let mut anchors = Vec::new();
        let mut ours: [Vec<f64>; 4] = Default::default();
        // One round more than is counted: connections are made, and scripts and statements introduced.
        for round in 0..=ROUNDS {
            let figure = rate(load, anchor.clone()).await?;
            if round > 0 {
                anchors.push(figure);
            }
            for ((_, kind, store), figures) in kinds.iter().zip(&mut ours) {
                let (kind, store) = (*kind, Arc::clone(store));
                let call = move |n| {
                    let store = Arc::clone(&store);
                    async move { charge(&*store, kind, n).await }
                };
                let figure = rate(load, call).await?;
                if round > 0 {
                    figures.push(figure);
                }
            }
        }
        let anchor = median(anchors);
        for ((what, ..), figures) in kinds.iter().zip(ours) {
            let rate = median(figures);
            let clients = match load.0 {
                1 => "one client".to_owned(),
                many => format!("{many} clients"),
            };
            rows.push(
                Row::alone(
                    PART.name,
                    format!("{name}, {clients}: {what}"),
                    Figure::new(rate, "/s"),
                )
                .beside(smallest, Figure::new(anchor, "/s"), anchor / rate),
            );
        }
    }
    Ok(rows)
}

fn options(connections: usize, remember_refusals_for: Duration) -> SharedQuotaOptions {
    SharedQuotaOptions {
        connections,
        answer_within: PATIENCE,
        remember_refusals_for,
        ..SharedQuotaOptions::default()
    }
}

fn remembering() -> Duration {
    SharedQuotaOptions::default().remember_refusals_for
}

async fn in_redis(url: &str) -> anyhow::Result<Vec<Row>> {
    let asking = RedisQuota::open_with(url, &options(TO_REDIS, Duration::ZERO))?;
    let remembering = RedisQuota::open_with(url, &options(TO_REDIS, remembering()))?;
    let client = redis::Client::open(url).context("TEST_REDIS_URL")?;
    let mut lines = Vec::new();
    for _ in 0..TO_REDIS {
        lines.push(client.get_multiplexed_async_connection().await?);
    }
    let lines: Arc<[_]> = lines.into();
    let ping = move |n: u64| {
        let line = lines.get(n as usize % TO_REDIS).cloned();
        async move {
            let mut line = line.context("a connection")?;
            let _: String = redis::cmd("PING").query_async(&mut line).await?;
            Ok(())
        }
    };
    rows(
        "Redis",
        "PING",
        Arc::new(asking),
        Arc::new(remembering),
        ping,
    )
    .await
}

async fn in_postgres(url: &str) -> anyhow::Result<Vec<Row>> {
    let store = Store::open(url)?;
    store.migrate().await?;
    let asking = PostgresQuota::open_with(&store, &options(TO_POSTGRES, Duration::ZERO))?;
    let remembering = PostgresQuota::open_with(&store, &options(TO_POSTGRES, remembering()))?;
    let mut clients = Vec::new();
    for _ in 0..TO_POSTGRES {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        let select = client.prepare("SELECT 1").await?;
        clients.push(Mutex::new((client, select)));
    }
    let clients: Arc<[_]> = clients.into();
    let select = move |n: u64| {
        let clients = Arc::clone(&clients);
        async move {
            let client = clients.get(n as usize % TO_POSTGRES).context("a client")?;
            let client = client.lock().await;
            client.0.query_one(&client.1, &[]).await?;
            Ok(())
        }
    };
    rows(
        "PostgreSQL",
        "SELECT 1",
        Arc::new(asking),
        Arc::new(remembering),
        select,
    )
    .await
}
