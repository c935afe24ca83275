//! A cold report: every source asked at once, beside the slowest of them asked alone.

use std::{
    collections::HashSet,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use brownstone_domain::{Bbl, Bin, SourceStatus, SystemClock};
use brownstone_sample_city::{FLOOD, SampleCity, VIEWS, dataset_ids};
use brownstone_soda::SodaClient;
use brownstone_sources::{Deadlines, Deps, Directory, FloodZones, Publisher, Registry, Subject};
use brownstone_upstream::{Upstream, UpstreamConfig};

use super::Part;
use crate::{
    measure::{ROUNDS, Random, Spent, Stopwatch, median},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "fan-out",
    tells: "a cold report over all sources, beside the slowest source alone",
    about: "\
A sample city on loopback, each dataset with a latency of its own, evenly from 20 to 400 ms and dealt out at random, the same
in every run. Each measurement starts from nothing: new clients, no connection, no remembered lot or table of codes. First
every source is asked alone. Then, in alternating rounds, the report is assembled and the slowest ones are asked alone again;
the anchor is the largest of their medians: that source's own chain of requests. CPU time is that of the process, the made-up
city included. The clients send at most 128 requests at once to a host, as in the program; one more row shows the same without
that limit. The listing source, which asks no publisher but the index in memory, is not among the 86.",
    run,
};

/// The spread of latencies, in milliseconds.
const LATENCIES: (u64, u64) = (20, 400);
/// How many of the slowest sources are asked again in every round. The others are far from the largest median.
const AGAIN: usize = 6;

/// More requests at once to one host than a report makes: what the courtesy limit of the client costs shows beside it.
const NO_QUEUE: usize = 256;

/// Buildings with records in nearly every dataset: name, BBL, BIN.
const BUILDINGS: [(&str, &str, &str); 2] = [
    ("350 5 AVENUE", "1008350041", "1015862"),
    ("120 BROADWAY, a condominium", "1000477501", "1001026"),
];

fn run() -> anyhow::Result<Vec<Row>> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let city = SampleCity::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        slow_down(&city);
        let mut rows = Vec::new();
        for (name, bbl, bin) in BUILDINGS {
            let bbl: Bbl = bbl.parse()?;
            let bin: Bin = bin.parse()?;
            // Both stand alone on their lots, which a lookup knows before its sources are asked.
            let subject = Arc::new(Subject {
                buildings_on_lot: Some(1),
                ..Subject::of(Some(bbl), Some(bin), bbl.borough())
            });
            rows.extend(building(&city, name, &subject).await?);
        }
        city.stop().await;
        Ok(rows)
    })
}

/// Gives each dataset its latency: evenly over the spread, dealt out by a shuffle that is the same in every run.
fn slow_down(city: &SampleCity) {
    let mut names = dataset_ids();
    names.push(FLOOD);
    names.sort_unstable();
    let mut random = Random::new(400);
    for place in (1..names.len()).rev() {
        let other = random.below(place as u64 + 1) as usize;
        names.swap(place, other);
    }
    let (least, most) = LATENCIES;
    let steps = (names.len().max(2) - 1) as u64;
    for (place, name) in names.into_iter().enumerate() {
        let millis = least + (most - least) * place as u64 / steps;
        city.control()
            .set_latency(name, Duration::from_millis(millis));
    }
}

/// The real sources over the real clients, with nothing remembered.
fn fresh(url: &str, in_flight: Option<usize>) -> anyhow::Result<Registry> {
    let client = |name: &str| {
        let mut config = UpstreamConfig::new(name, url);
        config.max_in_flight = in_flight.unwrap_or(config.max_in_flight);
        Upstream::new(config)
    };
    let city = Publisher::new(Arc::new(SodaClient::new(client("city open data")?, None)));
    let state = Publisher::new(Arc::new(SodaClient::new(client("state open data")?, None)));
    let directory = Directory::new(Arc::clone(&city.soda));
    let flood = FloodZones::new(client("flood zones")?, directory);
    let deps = Deps {
        city,
        state,
        clock: Arc::new(SystemClock),
    };
    Ok(brownstone_sources::catalogue(deps)?.with(Arc::new(flood)))
}

/// One measurement of some sources, or of all.
async fn ask(
    city: &SampleCity,
    subject: &Arc<Subject>,
    only: Option<&HashSet<String>>,
    in_flight: Option<usize>,
) -> anyhow::Result<(Spent, Vec<SourceStatus>)> {
    let registry = fresh(&city.url(), in_flight)?;
    let watch = Stopwatch::of_process();
    let entries = registry
        .assemble(Arc::clone(subject), only, Deadlines::default())
        .await;
    let spent = watch.stop();
    let statuses = entries.iter().map(|(_, entry)| entry.status()).collect();
    Ok((spent, statuses))
}

/// One source alone, in milliseconds.
async fn alone(city: &SampleCity, subject: &Arc<Subject>, key: &str) -> anyhow::Result<f64> {
    let only = HashSet::from([key.to_owned()]);
    let (spent, _) = ask(city, subject, Some(&only), None).await?;
    Ok(spent.wall_ms())
}

async fn building(
    city: &SampleCity,
    name: &str,
    subject: &Arc<Subject>,
) -> anyhow::Result<Vec<Row>> {
    let registry = fresh(&city.url(), None)?;
    let mut slowest = Vec::new();
    for key in registry.keys() {
        slowest.push((alone(city, subject, key).await?, key));
    }
    slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
    slowest.truncate(AGAIN);

    let mut chains: Vec<Vec<f64>> = vec![Vec::new(); slowest.len()];
    let mut totals = Vec::new();
    let mut unbounded = Vec::new();
    let mut statuses = Vec::new();
    let mut requests = 0;
    for _ in 0..ROUNDS {
        city.control().reset_calls();
        let (spent, seen) = ask(city, subject, None, None).await?;
        requests = (city.control().all_calls().iter())
            .filter(|(asked, _)| *asked != VIEWS)
            .map(|(_, calls)| calls)
            .sum();
        totals.push(spent);
        statuses = seen;
        unbounded.push(ask(city, subject, None, Some(NO_QUEUE)).await?.0.wall_ms());
        for ((_, key), chain) in slowest.iter().zip(&mut chains) {
            chain.push(alone(city, subject, key).await?);
        }
    }
    let count = |wanted: SourceStatus| statuses.iter().filter(|one| **one == wanted).count();
    anyhow::ensure!(
        count(SourceStatus::Error) == 0,
        "{} of {} sources failed: this is not the report that was to be measured",
        count(SourceStatus::Error),
        statuses.len()
    );
    let (chain, key) = (chains.into_iter().map(median))
        .zip(slowest.iter().map(|(_, key)| *key))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .context("there are no sources")?;
    let anchor = format!("{key} alone");
    let unbounded = median(unbounded);
    let total = median(totals.iter().map(Spent::wall_ms));
    let cpu = median(totals.iter().map(Spent::cpu_ms));
    let sources = format!("{name}, {} sources", statuses.len());
    Ok(vec![
        Row::alone(
            PART.name,
            format!("{sources}: cold report, wall"),
            Figure::new(total, "ms"),
        )
        .beside(&anchor, Figure::new(chain, "ms"), total / chain)
        .wanted(Wanted {
            text: "<= 1.05 x + 10 ms".to_owned(),
            holds: total <= chain * 1.05 + 10.0,
        }),
        Row::alone(
            PART.name,
            format!("{sources}: the same, {NO_QUEUE} requests to a host at once"),
            Figure::new(unbounded, "ms"),
        )
        .beside(&anchor, Figure::new(chain, "ms"), unbounded / chain),
        Row::alone(
            PART.name,
            format!("{sources}: CPU, both ends"),
            Figure::new(cpu, "ms"),
        ),
        Row::alone(
            PART.name,
            format!(
                "{sources}: requests ({} ok, {} not found, {} gated)",
                count(SourceStatus::Ok),
                count(SourceStatus::NotFound),
                count(SourceStatus::Gated)
            ),
            Figure::new(requests as f64, "requests"),
        ),
    ])
}
