//! The city's sales: read and put into their index, beside the Python package `nycdb` loading its own sample, and what a
//! search and a value cost then.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use brownstone_domain::{
    Borough,
    comps::{CompsMode, CompsRequest},
};
use brownstone_valuation::{
    Loaded, Lots, SalesIndex,
    comps::{Ask, Subject, Target, answer, search, valuer},
    estimate::{History, evidence},
    model::{Model, Settings},
};
use time::OffsetDateTime;

use super::Part;
use crate::{
    measure::{ROUNDS, median},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "sales",
    tells: "loading five years of sales beside nycdb, then searches and values over 500,000",
    about: "\
Real sales: `NYC_REAL_DATA` names the folder that has them. Ours reads the files of 2019 to 2023, cleans them, builds the index, writes
it and opens it; nycdb (`pip install nycdb`; `BENCH_NYCDB` names its program where it is not on the path) loads its own sample of the
sales table, repeated to as many rows, into the PostgreSQL that `TEST_POSTGRES_URL` names. Rows a second by wall time in one run, the median
of five rounds for ours and one load for nycdb, which takes minutes. The index of searches has every sale twice, and a made-up place for each
block. A call of `/v1/comps` is all that is its own: the subject and its sales are found, valued in mode `valuation`, and the answer is
written with 50 of them; the caller, budgets, the address and HTTP are other parts'. Values are the model's own, on all cores, as of the day after
the last sale; the model learned from one borough, since how long a value takes does not depend on what was learned.",
    run,
};

/// Loaded so many times faster than nycdb.
const FASTER: f64 = 5.0;
/// Files of these years are loaded.
const FILES: [&str; 4] = ["2019", "2021", "2022", "2023"];
const VALUES: usize = 50_000;
const VALUES_WITHIN_S: f64 = 60.0;
const SEARCH_WITHIN_MS: f64 = 15.0;
const OPENED_WITHIN_MS: f64 = 50.0;
const BUILT_WITHIN_S: f64 = 30.0;
/// Every so many sales one is a subject of a search.
const EVERY: usize = 97;

fn run() -> anyhow::Result<Vec<Row>> {
    let Ok(folder) = std::env::var("NYC_REAL_DATA").map(PathBuf::from) else {
        eprintln!("sales: NYC_REAL_DATA is not set, so there are no sales to load");
        return Ok(Vec::new());
    };
    let scratch = tempfile::tempdir()?;
    let mut rows = vec![loading(&folder, scratch.path())?];
    let all = [folder.join("sales")];
    let loaded = brownstone_valuation::load(&all)?;
    let mut one_borough = brownstone_valuation::load(&all)?;
    one_borough
        .sales
        .retain(|sale| sale.bbl.borough() == Borough::Bronx);
    let until = loaded.sales.last().map_or(0, |sale| sale.date + 1);
    let model = Model::train(&one_borough, until, 0, &Settings::default())?;
    rows.extend(values(&loaded, &model, until)?);
    rows.extend(searches(loaded, model, scratch.path())?);
    Ok(rows)
}

fn row(what: impl Into<String>, value: f64, unit: &'static str) -> Row {
    Row::alone(PART.name, what, Figure::new(value, unit))
}

fn loading(folder: &Path, scratch: &Path) -> anyhow::Result<Row> {
    let files = FILES.map(|year| {
        folder
            .join("sales")
            .join(format!("dof_sales_{year}.csv.gz"))
    });
    let place = scratch.join("loaded.index");
    let mut count = 0;
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let loaded = brownstone_valuation::load(&files)?;
        count = usize::try_from(loaded.rows)?;
        SalesIndex::build(loaded, &Lots::default()).save(&place)?;
        ensure!(!SalesIndex::open(&place)?.is_empty(), "no sale was loaded");
        rates.push(count as f64 / begun.elapsed().as_secs_f64());
    }
    let ours = median(rates);
    let row = row(format!("load {count} sales"), ours, "rows/s");
    let sample = folder.join("nycdb").join("dof_sales.csv");
    match nycdb(&sample, count, scratch) {
        Ok(theirs) => Ok(row
            .beside("nycdb", Figure::new(theirs, "rows/s"), ours / theirs)
            .wanted(Wanted::at_least(ours / theirs, FASTER))),
        Err(why) => {
            eprintln!("sales: nycdb is left out: {why:#}");
            Ok(row)
        }
    }
}

/// Rows a second of nycdb, which loads its sample, repeated to `count` rows.
fn nycdb(sample: &Path, count: usize, scratch: &Path) -> anyhow::Result<f64> {
    let program = std::env::var("BENCH_NYCDB").unwrap_or_else(|_| "nycdb".to_owned());
    let url = std::env::var("TEST_POSTGRES_URL").context("TEST_POSTGRES_URL is not set")?;
    let known = Command::new(&program)
        .arg("--list-datasets")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("{program} cannot be run (pip install nycdb)"))?;
    ensure!(known.success(), "{program} --list-datasets failed");
    let text = std::fs::read_to_string(sample)
        .with_context(|| format!("no sample at {}", sample.display()))?;
    let (head, body) = text.split_once('\n').context("the sample is empty")?;
    let lines: Vec<&str> = body.lines().filter(|line| !line.is_empty()).collect();
    ensure!(!lines.is_empty(), "the sample has no rows");
    let mut blown_up = String::with_capacity(count * 200);
    writeln!(blown_up, "{head}")?;
    for line in lines.iter().cycle().take(count) {
        writeln!(blown_up, "{line}")?;
    }
    let own = scratch.join("dof_sales");
    std::fs::create_dir_all(&own)?;
    std::fs::write(scratch.join("dof_sales.csv"), &blown_up)?;
    std::fs::write(own.join("dof_sales.csv"), &blown_up)?;
    let server: tokio_postgres::Config = url.parse().context("TEST_POSTGRES_URL")?;
    let host = match server.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        _ => "127.0.0.1".to_owned(),
    };
    let port = server.get_ports().first().copied().unwrap_or(5_432);
    let password = server.get_password().unwrap_or_default();
    let begun = Instant::now();
    let done = Command::new(&program)
        .args(["--load", "dof_sales", "--hide-progress", "--root-dir"])
        .arg(scratch)
        .args(["--host", &host, "--port", &port.to_string()])
        .args(["--user", server.get_user().unwrap_or("postgres")])
        .args(["--database", server.get_dbname().unwrap_or("postgres")])
        .args(["--password", &String::from_utf8_lossy(password)])
        .stdout(Stdio::null())
        .output()?;
    let took = begun.elapsed();
    ensure!(
        done.status.success(),
        "it failed: {}",
        String::from_utf8_lossy(&done.stderr)
            .lines()
            .last()
            .unwrap_or_default()
    );
    Ok(count as f64 / took.as_secs_f64())
}

fn values(loaded: &Loaded, model: &Model, until: i32) -> anyhow::Result<Vec<Row>> {
    let history = History::of(loaded, model.hedonic());
    let sold = history.observations();
    let subjects: Vec<_> = sold.iter().cycle().take(VALUES).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let valued: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = subjects
            .chunks(VALUES.div_ceil(cores))
            .map(|share| {
                scope.spawn(|| {
                    share
                        .iter()
                        .filter(|sale| {
                            let evidence = evidence(&history, &sale.subject, until);
                            let value = model.value(&history, &sale.subject, &evidence, until);
                            value.is_ok()
                        })
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0))
            .sum()
    });
    let took = begun.elapsed().as_secs_f64();
    ensure!(
        valued * 10 > VALUES * 9,
        "only {valued} of {VALUES} had a value"
    );
    Ok(vec![
        row(format!("{VALUES} values on {cores} cores"), took, "s")
            .wanted(Wanted::at_most(took, VALUES_WITHIN_S)),
    ])
}

fn searches(mut loaded: Loaded, model: Model, scratch: &Path) -> anyhow::Result<Vec<Row>> {
    let sales = loaded.sales.clone();
    loaded.sales.extend(&sales);
    let mut lots = String::from("bbl,latitude,longitude\n");
    for sale in &sales {
        let block = sale.bbl.block();
        let north = 40.55 + f64::from(block % 300) * 0.001;
        let east = -74.15 + f64::from(block / 40 % 400) * 0.001;
        writeln!(lots, "{},{north},{east}", sale.building_bbl)?;
    }
    let lots = Lots::read("lots", lots.as_bytes())?;
    let place = scratch.join("searched.index");
    let begun = Instant::now();
    let index = SalesIndex::build(loaded, &lots);
    let built = begun.elapsed().as_secs_f64();
    index.save(&place)?;
    let begun = Instant::now();
    let index = SalesIndex::open(&place)?;
    let opened = begun.elapsed().as_secs_f64() * 1e3;
    let valuer = valuer(&index, Some(model));
    let now = OffsetDateTime::now_utc();
    let until = sales.last().map_or(0, |sale| sale.date + 1);
    let as_of = now.date();
    let mut slow = Vec::new();
    for mode in CompsMode::ALL {
        let request = CompsRequest {
            mode: *mode,
            limit: CompsRequest::MAX_LIMIT,
            ..CompsRequest::of("bench")
        };
        let mut times = Vec::with_capacity(sales.len() / EVERY + 1);
        for sale in sales.iter().step_by(EVERY) {
            let target = Target {
                bbl: Some(sale.building_bbl),
                ..Target::default()
            };
            let begun = Instant::now();
            let subject = Subject::find(&index, &target, &request.overrides, until)
                .context("a sale's lot is not in the index")?;
            let search = search(&index, &subject, &request, until);
            let valued = (*mode == CompsMode::Valuation).then(|| {
                valuer.value(&Ask {
                    index: &index,
                    subject: &subject,
                    search: &search,
                    overrides: &request.overrides,
                    cutoff: until,
                    as_of,
                })
            });
            let address = "1 BENCH STREET, New York, NY".to_owned();
            let answer = answer(
                &index, &request, &subject, address, &search, valued, 0, as_of, now,
            );
            std::hint::black_box(serde_json::to_vec(&answer)?);
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let at = times.get(times.len() * 99 / 100);
        let at = at.context("no search was made")?.as_secs_f64() * 1e3;
        slow.push(
            row(
                format!(
                    "/v1/comps, mode {}, 99th percentile of {}",
                    mode.as_str(),
                    times.len()
                ),
                at,
                "ms",
            )
            .wanted(Wanted::at_most(at, SEARCH_WITHIN_MS)),
        );
    }
    let mut rows = vec![
        row(
            format!("build the index of {} sales", index.len()),
            built,
            "s",
        )
        .wanted(Wanted::at_most(built, BUILT_WITHIN_S)),
        row("open it", opened, "ms").wanted(Wanted::at_most(opened, OPENED_WITHIN_MS)),
    ];
    rows.extend(slow);
    Ok(rows)
}
