//! The quota engine of one process beside governor's keyed limiter and a bare sharded map.

mod contestants;
mod keys;

use brownstone_domain::Limits;

use self::{
    contestants::{Contestant, Direct, Floor, Governor, Overhead, Through, footprint},
    keys::{Keys, Order},
};
use super::Part;
use crate::{
    measure::{Stopwatch, lowest, median},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "quota",
    tells: "decisions a second and bytes an account, beside governor and a sharded map",
    about: "\
One thread. CPU time of the thread for one decision, the lowest of 9 alternating repetitions of 1,048,576 decisions; the
median stands in brackets. All accounts exist beforehand, the order of the keys is made beforehand and read in a row, every
clock is the same (monotonic time that has passed, added to a start), and every call is admitted unless the row says
otherwise. Ours decides two budgets and gives back a receipt and what is left; governor decides one; the floor is 64 read-write
locks around hash maps with a fast hash, look up and add. Keys are 64 bits: governor and the floor get them as `u64`, ours as
the text of 16 hexadecimal digits, since it names accounts by text. `direct` is `MemoryQuota::try_charge`; `through the trait` is
what the server calls, a boxed future by `dyn QuotaStore`. The ratio is the anchor's time over ours. Bytes are what a counting
allocator saw, over the number of accounts.",
    run,
};

/// Accounts of the large runs.
const ACCOUNTS: usize = 1_000_000;
/// Repetitions of each measurement, alternating.
const REPETITIONS: usize = 9;
/// Numbers of accounts whose bytes are averaged: a table is fuller at some sizes than at others.
const SIZES: [usize; 5] = [500_000, 750_000, 1_000_000, 1_500_000, 2_000_000];

/// Ceilings that no run reaches.
fn boundless() -> anyhow::Result<Limits> {
    Ok(Limits::new(Limits::MAX_PER_MINUTE, Limits::MAX_PER_DAY)?)
}

fn run() -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let orders = [
        (Order::Hot, 0.6),
        (Order::Uniform, 0.75),
        (Order::Zipf, 0.75),
    ];
    for (order, bar) in orders {
        rows.extend(speed(order, bar)?);
    }
    rows.extend(bytes());
    Ok(rows)
}

/// CPU time of one decision.
struct Cost {
    lowest: f64,
    median: f64,
}

impl Cost {
    fn figure(&self) -> Figure {
        Figure::new(self.lowest, "ns")
    }
}

fn speed(order: Order, bar: f64) -> anyhow::Result<Vec<Row>> {
    let accounts = match order {
        Order::Hot => 1,
        Order::Uniform | Order::Zipf => ACCOUNTS,
    };
    let all = Keys::each_once(accounts);
    let keys = Keys::ordered(order, accounts);
    let contestants: [Box<dyn Contestant>; 7] = [
        Box::new(Direct::new(boundless()?)),
        Box::new(Through::new(boundless()?)),
        Box::new(Direct::new(Limits::default())),
        Box::new(Governor::boundless()),
        Box::new(Governor::per_minute(Limits::DEFAULT_PER_MINUTE)),
        Box::new(Floor::new()),
        Box::new(Overhead::new()),
    ];
    let mut samples: [Vec<f64>; 7] = Default::default();
    for contestant in &contestants {
        contestant.walk(&all);
        contestant.walk(&keys);
    }
    for _ in 0..REPETITIONS {
        for (contestant, samples) in contestants.iter().zip(&mut samples) {
            let watch = Stopwatch::of_thread();
            let admitted = contestant.walk(&keys);
            let spent = watch.stop();
            anyhow::ensure!(
                admitted == keys.len() || !contestant.admits_all(),
                "{admitted} of {} calls were admitted",
                keys.len()
            );
            samples.push(spent.cpu_ns() / keys.len() as f64);
        }
    }
    let [
        direct,
        through,
        usual,
        governor,
        governor_usual,
        floor,
        overhead,
    ] = samples.map(|samples| Cost {
        lowest: lowest(samples.iter().copied()),
        median: median(samples),
    });
    let name = order.name();
    let row = |what: &str, cost: &Cost| {
        let what = format!("{name}: {what} ({:.1})", cost.median);
        Row::alone(PART.name, what, cost.figure())
    };
    let ratio = governor.lowest / direct.lowest;
    Ok(vec![
        row("direct", &direct)
            .beside("governor", governor.figure(), ratio)
            .wanted(Wanted::at_least(ratio, bar)),
        row("direct", &direct).beside("sharded map", floor.figure(), floor.lowest / direct.lowest),
        row("through the trait", &through).beside(
            "governor",
            governor.figure(),
            governor.lowest / through.lowest,
        ),
        row("direct at 240 a minute, 10,000 a day, some refused", &usual).beside(
            "governor at 240 a minute",
            governor_usual.figure(),
            governor_usual.lowest / usual.lowest,
        ),
        row("of each, the clock and the walk over the keys", &overhead),
    ])
}

fn bytes() -> Vec<Row> {
    let mean = |make: fn() -> Box<dyn Contestant>| {
        let each = SIZES.map(|accounts| footprint(make, accounts));
        each.iter().sum::<f64>() / each.len() as f64
    };
    let ours = mean(|| Box::new(Direct::new(Limits::default())));
    let governor = mean(|| Box::new(Governor::boundless()));
    let floor = mean(|| Box::new(Floor::new()));
    let unit = "bytes";
    vec![
        Row::alone(
            PART.name,
            "an account, mean over 0.5, 0.75, 1, 1.5 and 2 million",
            Figure::new(ours, unit),
        )
        .beside("governor", Figure::new(governor, unit), ours / governor)
        .wanted(Wanted::at_most(ours, 48.0)),
        Row::alone(PART.name, "the same", Figure::new(ours, unit)).beside(
            "sharded map",
            Figure::new(floor, unit),
            ours / floor,
        ),
    ]
}
