//! More calls than the server can take.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use brownstone_sample_city::SampleCity;

use super::{
    Part,
    address::City,
    city::{Deployment, Known, Server, known},
};
use crate::{
    measure::median,
    open::{Came, Open, percentile},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "overload",
    tells: "the server under 50 to 400 % of what it can take, warm lookups beside cold ones",
    about: "\
The release server on a made-up address release of 1.3 million ranges, its publishers in the load's own process. One call in twenty asks for a building that nobody
asked for before, all others for one whose report is in memory. Capacity is what 24 connections get that ask again as soon as they were answered: few enough that nobody is turned
away. Then an open load, 20 seconds each: a call begins when it is due, and is timed from that moment, over 256 connections. Goodput is answers of 200; whoever is turned away gets
429 or 503. A 99th percentile is the median of those of all quarters of a second, since machines are seen to stand nearly still for a twentieth of a second and more, once in a second
or two, which no server can mend; that of all calls stands in brackets. The load's generator and the publishers share the two cores with the server; the publishers, who would be
elsewhere, give way to the others.",
    run,
};

/// Each load's time.
const SECONDS: u64 = 20;

/// Shares of the capacity.
const LOADS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// One call in so many is for a building that nobody asked for.
const COLD_IN: usize = 20;

/// Calls that the capacity is taken from.
const CALIBRATION: usize = 4_000;

/// How often: the one in the middle counts.
const CALIBRATIONS: usize = 5;

/// Connections of that: fewer than reports are assembled at once, so that all of them are.
const IN_FLIGHT: usize = 24;

/// By how much the publishers' threads give way: the generator must keep its times.
const PUBLISHERS_NICE: i32 = 10;

/// Connections of a load.
const CONNECTIONS: usize = 256;

/// Buildings that may be asked for once.
const BUILDINGS: usize = 150_000;

/// Each has a percentile of its own. Short enough that most are without one of the spells in which the machine itself stands.
const WINDOW: Duration = Duration::from_millis(250);

/// Within so many seconds all must be as before.
const RECOVERY: u64 = 5;

/// What came of a load.
struct Outcome {
    offered: f64,
    goodput: f64,
    /// The 99th percentile of warm lookups that succeeded, in microseconds: the median of the windows.
    warm: f64,
    /// That of all of them.
    warm_whole: f64,
    turned_away: usize,
    warm_turned_away: usize,
    others: usize,
}

struct Mix<'a> {
    server: &'a Server,
    warm: &'a Known,
    cold: std::slice::Iter<'a, Known>,
}

impl Mix<'_> {
    fn requests(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        (0..count)
            .map(|number| {
                let known = match number % COLD_IN {
                    0 => self.cold.next().context("more buildings")?,
                    _ => self.warm,
                };
                Ok(self.server.request(&known.text, "keep-alive"))
            })
            .collect()
    }

    fn load(
        &mut self,
        rate: f64,
        time: Duration,
        connections: usize,
    ) -> anyhow::Result<(Vec<Came>, f64)> {
        let requests = self.requests((rate * time.as_secs_f64()) as usize)?;
        let load = Open {
            to: self.server.address().parse()?,
            requests: &requests,
            rate,
            time,
            connections,
        };
        let begun = Instant::now();
        let came = load.run()?;
        Ok((came, begun.elapsed().as_secs_f64()))
    }

    /// Calls a second where none is turned away.
    fn capacity(&mut self) -> anyhow::Result<f64> {
        // All are due at once: each connection sends the next as soon as it has its answer.
        let time = Duration::from_millis(1);
        let (came, took) = self.load(CALIBRATION as f64 * 1e3, time, IN_FLIGHT)?;
        ensure!(
            successes(&came) == came.len(),
            "a call failed below the capacity"
        );
        Ok(came.len() as f64 / took)
    }

    fn under(&mut self, rate: f64, time: Duration) -> anyhow::Result<(Outcome, Vec<Came>)> {
        let (came, took) = self.load(rate, time, CONNECTIONS)?;
        let of = |wanted: fn(u16) -> bool| came.iter().filter(|one| wanted(one.status)).count();
        let outcome = Outcome {
            offered: rate,
            goodput: successes(&came) as f64 / took,
            warm: typical(&came, rate),
            warm_whole: percentile(warm_ones(&came), 0.99),
            turned_away: of(|status| matches!(status, 429 | 503)),
            warm_turned_away: (came.iter())
                .filter(|one| is_warm(one) && matches!(one.status, 429 | 503))
                .count(),
            others: of(|status| !matches!(status, 200 | 429 | 503)),
        };
        Ok((outcome, came))
    }
}

fn successes(came: &[Came]) -> usize {
    came.iter().filter(|one| one.status == 200).count()
}

/// Whether it asked for the building whose report is in memory.
fn is_warm(one: &Came) -> bool {
    !one.number.is_multiple_of(COLD_IN)
}

/// How long the warm lookups took that succeeded.
fn warm_ones<'a>(came: impl IntoIterator<Item = &'a Came>) -> Vec<f64> {
    came.into_iter()
        .filter(|one| is_warm(one) && one.status == 200)
        .map(|one| one.took)
        .collect()
}

/// The 99th percentile of the warm lookups that were due in a window, of the window in the middle.
fn typical(came: &[Came], rate: f64) -> f64 {
    let each = ((rate * WINDOW.as_secs_f64()) as usize).max(1);
    let mut windows: HashMap<usize, Vec<&Came>> = HashMap::new();
    for one in came {
        windows.entry(one.number / each).or_default().push(one);
    }
    let percentiles = (windows.into_values())
        .map(warm_ones)
        .filter(|took| !took.is_empty())
        .map(|took| percentile(took, 0.99));
    median(percentiles)
}

fn run() -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(|| {
            // Where it may not, they are as the others.
            let _ = rustix::process::nice(PUBLISHERS_NICE);
        })
        .build()?;
    let sources = runtime.block_on(SampleCity::start(([127, 0, 0, 1], 0).into()))?;
    let city = City::new()?;
    let deployment = Deployment::of(folder.path(), &city, sources.url())?;
    let known = known(&city, &deployment.index()?, BUILDINGS)?;
    let server = deployment.serve("overload")?;
    let (warm, cold) = known.split_first().context("a building")?;
    server.lookup(&warm.text)?;
    let mut mix = Mix {
        server: &server,
        warm,
        cold: cold.iter(),
    };
    // The first brings connections and tables to where they will be.
    mix.capacity()?;
    let mut capacities = Vec::new();
    for _ in 0..CALIBRATIONS {
        capacities.push(mix.capacity()?);
    }
    let capacity = median(capacities);
    let whole = Duration::from_secs(SECONDS);
    let mut outcomes = Vec::new();
    for share in LOADS {
        outcomes.push(mix.under(capacity * share, whole)?.0);
    }
    let [half, .., most] = &outcomes[..] else {
        bail!("no load")
    };
    let (_, after) = mix.under(capacity / 2.0, Duration::from_secs(RECOVERY))?;
    let last = (capacity / 2.0 * (RECOVERY - 1) as f64) as usize;
    let last: Vec<Came> = (after.into_iter())
        .filter(|one| one.number >= last)
        .collect();
    ensure!(!last.is_empty(), "nothing came in the last second");
    let recovered = typical(&last, capacity / 2.0);

    let peak = (outcomes.iter()).fold(0.0_f64, |peak, one| peak.max(one.goodput));
    let mut rows = vec![Row::alone(
        PART.name,
        "capacity, one call in twenty cold",
        Figure::new(capacity, "calls/s"),
    )];
    for (outcome, share) in outcomes.iter().zip(LOADS) {
        let percent = share * 100.0;
        rows.push(
            Row::alone(
                PART.name,
                format!(
                    "{percent:.0} %: goodput ({} turned away, {} of them warm; {} other errors)",
                    outcome.turned_away, outcome.warm_turned_away, outcome.others
                ),
                Figure::new(outcome.goodput, "calls/s"),
            )
            .beside(
                "offered",
                Figure::new(outcome.offered, "calls/s"),
                outcome.goodput / outcome.offered,
            ),
        );
        rows.push(
            Row::alone(
                PART.name,
                format!(
                    "{percent:.0} %: warm lookups that succeeded, 99th percentile (of all {:.1} ms)",
                    outcome.warm_whole / 1e3
                ),
                Figure::new(outcome.warm / 1e3, "ms"),
            )
            .beside(
                "at 50 %",
                Figure::new(half.warm / 1e3, "ms"),
                outcome.warm / half.warm,
            ),
        );
    }
    let others: usize = outcomes.iter().map(|one| one.others).sum();
    rows.extend([
        Row::alone(
            PART.name,
            "goodput at 400 % over the peak",
            Figure::new(most.goodput, "calls/s"),
        )
        .beside("peak", Figure::new(peak, "calls/s"), most.goodput / peak)
        .wanted(Wanted::at_least(most.goodput / peak, 0.8)),
        Row::alone(
            PART.name,
            "99th percentile of warm lookups at 400 %",
            Figure::new(most.warm / 1e3, "ms"),
        )
        .beside(
            "at 50 %",
            Figure::new(half.warm / 1e3, "ms"),
            most.warm / half.warm,
        )
        .wanted(Wanted::at_most(most.warm / half.warm, 3.0)),
        Row::alone(
            PART.name,
            "errors but 429 and 503",
            Figure::new(others as f64, "calls"),
        )
        .wanted(Wanted::at_most(others as f64, 0.0)),
        Row::alone(
            PART.name,
            "99th percentile of warm lookups in the fifth second after, at 50 %",
            Figure::new(recovered / 1e3, "ms"),
        )
        .beside(
            "before",
            Figure::new(half.warm / 1e3, "ms"),
            recovered / half.warm,
        )
        .wanted(Wanted::at_most(recovered / half.warm, 1.5)),
    ]);
    Ok(rows)
}
