//! The address index of a whole city beside SQLite with an index on the same table.

mod city;
mod hard;
mod sqlite;

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use brownstone_address::{pad::PadIndex, resolver::Resolver};

use self::sqlite::Sqlite;
use super::Part;
use crate::{
    ALLOCATED,
    measure::{ROUNDS, Spent, Stopwatch, median},
    row::{Figure, Row, Wanted},
};
pub(crate) use city::City;

pub(crate) const PART: Part = Part {
    name: "address",
    tells: "import, open and ask a whole city's address index, beside SQLite on the same table",
    about: "\
A made-up release of 1.3 million ranges on 60,000 street names, over the city's real lots where `NYC_REAL_DATA` is set. One
thread; medians of alternating rounds. 200,000 questions in random order: ours gets them as people type them (abbreviations,
apartments, lower case) and answers with the whole canonical address; SQLite gets borough, name and number already taken apart
and spelled as in its table, by one prepared statement in one transaction over an index on the three, and answers with the BIN. So the ratio is that
of a resolver to a bare look-up, and not of two like things. Rates are by CPU time of the thread, the rate by wall time in brackets.
Import is from the files to the index on disk; SQLite's is from rows in memory to the indexed table. Resident growth is what the
process gained in mapped pages and on the heap by opening the index and asking everything once. The collected cases are texts that
people and forms wrote, most of them of streets that this city lacks, so that every correction is tried; how many are right is in
`address-quality.md`. The costly texts were made to be: long lists, many digits and commas, near misses; the slowest by the best of
its rounds.",
    run,
};

/// What one contestant took in one round.
#[derive(Debug, Default)]
struct Rounds {
    import: Vec<Spent>,
    open: Vec<Spent>,
    ask: Vec<Spent>,
}

impl Rounds {
    fn import_seconds(&self) -> f64 {
        median(self.import.iter().map(Spent::cpu_ms)) / 1e3
    }

    fn open_ms(&self) -> f64 {
        median(self.open.iter().map(Spent::wall_ms))
    }

    /// By CPU time and by wall time.
    fn per_second(&self, questions: usize) -> (f64, f64) {
        let rate = |ms: f64| questions as f64 / (ms / 1e3);
        (
            rate(median(self.ask.iter().map(Spent::cpu_ms))),
            rate(median(self.ask.iter().map(Spent::wall_ms))),
        )
    }
}

fn run() -> anyhow::Result<Vec<Row>> {
    let city = City::new()?;
    let folder = tempfile::tempdir()?;
    let release = folder.path().join("release");
    std::fs::create_dir(&release)?;
    city.write(&release)?;
    let index_file = folder.path().join("pad.index");
    let table_file = folder.path().join("pad.db");

    let (mut ours, mut table) = (Rounds::default(), Rounds::default());
    for _ in 0..ROUNDS {
        ours.import.push(import(&release, &index_file)?);
        let watch = Stopwatch::of_thread();
        Sqlite::import(&table_file, &city)?;
        table.import.push(watch.stop());
    }
    // Before anything of the index is in memory.
    let growth = growth(&index_file, &city)?;
    let mut right = 0;
    for _ in 0..ROUNDS {
        let watch = Stopwatch::of_thread();
        let resolver = Resolver::open(&index_file)?;
        ours.open.push(watch.stop());
        let (spent, found) = ask(&resolver, &city);
        ours.ask.push(spent);
        right = found;

        let watch = Stopwatch::of_thread();
        let sqlite = Sqlite::open(&table_file)?;
        table.open.push(watch.stop());
        let watch = Stopwatch::of_thread();
        let found = sqlite.ask(&city)?;
        table.ask.push(watch.stop());
        anyhow::ensure!(
            found == city.questions.len(),
            "SQLite finds {found} of {} questions",
            city.questions.len()
        );
    }
    let hard = hard::measure(&Resolver::open(&index_file)?);
    let size = |path: &Path| Ok::<_, std::io::Error>(std::fs::metadata(path)?.len() as f64 / 1e6);
    let sizes = (size(&index_file)?, size(&table_file)?);
    let mut rows = rows(&city, &ours, &table, sizes, growth, right);
    rows.extend(hard);
    Ok(rows)
}

fn rows(
    city: &City,
    ours: &Rounds,
    table: &Rounds,
    sizes: (f64, f64),
    growth: f64,
    right: usize,
) -> Vec<Row> {
    let questions = city.questions.len();
    let lots = if city.real_lots { "real" } else { "made-up" };
    let (rate, rate_by_wall) = ours.per_second(questions);
    let (look_ups, _) = table.per_second(questions);
    let row =
        |what: String, value: f64, unit| Row::alone(PART.name, what, Figure::new(value, unit));
    let share = right as f64 / questions as f64;
    vec![
        row(
            format!("resolutions (by wall time {rate_by_wall:.0})"),
            rate,
            "/s",
        )
        .beside(
            "SQLite look-up",
            Figure::new(look_ups, "/s"),
            rate / look_ups,
        )
        .wanted(Wanted::at_least(rate, 200_000.0)),
        row(
            format!("of {questions} questions, the right building"),
            100.0 * share,
            "%",
        ),
        row(
            format!(
                "import, {} ranges, {} names, {} {lots} lots, CPU",
                city.ranges.len(),
                city.streets.len(),
                city.lots.len()
            ),
            ours.import_seconds(),
            "s",
        )
        .beside(
            "SQLite",
            Figure::new(table.import_seconds(), "s"),
            ours.import_seconds() / table.import_seconds(),
        ),
        row(
            "import, wall".to_owned(),
            median(ours.import.iter().map(Spent::wall_ms)) / 1e3,
            "s",
        )
        .wanted(Wanted::at_most(
            median(ours.import.iter().map(Spent::wall_ms)) / 1e3,
            60.0,
        )),
        row("size".to_owned(), sizes.0, "MB")
            .beside("SQLite", Figure::new(sizes.1, "MB"), sizes.0 / sizes.1)
            .wanted(Wanted::at_most(sizes.0, 90.0)),
        row("open, wall".to_owned(), ours.open_ms(), "ms")
            .beside(
                "SQLite",
                Figure::new(table.open_ms(), "ms"),
                ours.open_ms() / table.open_ms(),
            )
            .wanted(Wanted::at_most(ours.open_ms(), 50.0)),
        row("resident growth".to_owned(), growth, "MB").wanted(Wanted::at_most(growth, 120.0)),
    ]
}

/// From the files of a release to the index on disk.
fn import(release: &Path, index_file: &Path) -> anyhow::Result<Spent> {
    let watch = Stopwatch::of_process();
    let (index, stats) = PadIndex::open_dir(release)?;
    index.save(index_file)?;
    let spent = watch.stop();
    anyhow::ensure!(stats.bad_lines == 0, "{} bad lines", stats.bad_lines);
    Ok(spent)
}

/// Asks everything; returns how many answers were the right building.
fn ask(resolver: &Resolver, city: &City) -> (Spent, usize) {
    let watch = Stopwatch::of_thread();
    let answers = (city.questions.iter()).map(|question| {
        let resolved = resolver.resolve(&question.text).ok()?;
        Some((question, resolved.building.bin?))
    });
    let mut right = 0;
    for (question, bin) in answers.flatten() {
        let meant = city.ranges.get(question.range).map(|range| range.bin);
        right += usize::from(meant == Some(bin.get()));
    }
    (watch.stop(), right)
}

/// Megabytes that opening the index and asking everything adds to the process.
fn growth(index_file: &Path, city: &City) -> anyhow::Result<f64> {
    let (mapped, heap) = (mapped_bytes()?, ALLOCATED.allocated());
    let index = Arc::new(PadIndex::open(index_file)?);
    ask(&Resolver::new(Arc::clone(&index)), city);
    let bytes = mapped_bytes()?.saturating_sub(mapped) + ALLOCATED.allocated().saturating_sub(heap);
    drop(index);
    Ok(bytes as f64 / 1e6)
}

/// Resident bytes of mapped files.
fn mapped_bytes() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")
        .context("resident memory is measured on Linux only")?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("RssFile:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok())
        .context("the system does not tell resident memory")?;
    Ok(kib * 1024)
}
