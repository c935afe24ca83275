//! The server on a whole city's addresses and a full database: its start, its memory, and whether what it keeps slows it down.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use brownstone_address::resolver::Resolver;
use brownstone_domain::{Bbl, Bin, ReportKey, SourceEntry, SourceStatus};
use brownstone_report_cache::StoredReport;
use brownstone_sample_city::SampleCity;
use rusqlite::{Connection, params};
use serde_json::{json, value::RawValue};

use super::{
    Part,
    address::City,
    warm::{self, Running},
};
use crate::{
    measure::{ROUNDS, Random, median},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "city",
    tells: "start, memory and growth of the server on a whole city's addresses and up to 200,000 stored reports",
    about: "\
The release server on a made-up address release of 1.3 million ranges and on reports put into its SQLite database beforehand: 20,000 of 20 to
600 kB for the start and the memory, 2,000 and 200,000 of 20 to 60 kB for the growth. `start to ready` is from the process's start to the first 200 of
`/readyz`, the median of its rounds. Memory is anonymous resident memory (`RssAnon`): what is mapped from files is the system's to take back. `full`
is after 5,000 different buildings were asked for, with `hot_reports_mb` at 64. Growth: requests a second over the same 1,000 buildings by
`wrk`, 32 connections, alternating rounds of the two databases.",
    run,
};

/// Reports in the database for start and memory.
const REPORTS: usize = 20_000;

/// Reports in the two databases whose speed is compared.
const FEW: usize = 2_000;
const MANY: usize = 200_000;

/// Buildings that are asked for again and again.
const HOT: usize = 1_000;

/// Buildings that are asked for once, for what the memory then is.
const ASKED: usize = 5_000;

/// Different bodies in a database: what is in a report does not matter here, its size does.
const BODIES: u64 = 64;

/// An address that people type, and the name its report is kept under.
pub(super) struct Known {
    pub(super) text: String,
    key: String,
}

fn run() -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let runtime = tokio::runtime::Runtime::new()?;
    let sources = runtime.block_on(SampleCity::start(([127, 0, 0, 1], 0).into()))?;
    let city = City::new()?;
    let deployment = Deployment::of(at, &city, sources.url())?;
    let known = known(&city, &deployment.index()?, REPORTS)?;
    ensure!(known.len() >= ASKED, "{} buildings are known", known.len());

    // One report as the program itself makes it: its registry's mark is in it.
    let template = {
        let server = deployment.serve("none")?;
        server.lookup(&known.first().context("a building")?.text)?;
        drop(server);
        deployment.report("none")?
    };
    let large = bodies(&template, 20_000, 600_000)?;
    let small = bodies(&template, 20_000, 60_000)?;
    for (name, count, bodies) in [
        ("full", REPORTS, &large),
        ("few", FEW, &small),
        ("many", MANY, &small),
    ] {
        deployment.fill(name, count, bodies, &known, &city)?;
    }

    let mut starts = Vec::new();
    for _ in 0..ROUNDS {
        starts.push(deployment.serve("full")?.ready.as_secs_f64() * 1e3);
    }
    let server = deployment.serve("full")?;
    let idle = server.anonymous()?;
    for one in known.iter().take(ASKED) {
        server.lookup(&one.text)?;
    }
    let full = server.anonymous()?;
    drop(server);

    let texts: Vec<String> = known.iter().take(HOT).map(|one| one.text.clone()).collect();
    let (few, many) = (deployment.serve("few")?, deployment.serve("many")?);
    let (mut few_rates, mut many_rates) = (vec![], vec![]);
    let script =
        |server: &Server, name: &str| warm::script(at.join(name), &server.key, "identity", &texts);
    let (few_script, many_script) = (script(&few, "few.lua")?, script(&many, "many.lua")?);
    for round in 0..=warm::LOADS {
        let one = warm::load(&few.running, &few_script, &few.url)?;
        let other = warm::load(&many.running, &many_script, &many.url)?;
        // The first brings what is asked for into memory.
        if round > 0 {
            few_rates.push(one.per_second);
            many_rates.push(other.per_second);
        }
    }
    let (few, many) = (median(few_rates), median(many_rates));
    let row = |what: &str, value: f64, unit| Row::alone(PART.name, what, Figure::new(value, unit));
    let ready = median(starts);
    Ok(vec![
        row(
            "start to ready, 20,000 reports, 1.3 million ranges",
            ready,
            "ms",
        )
        .wanted(Wanted::at_most(ready, 200.0)),
        row("anonymous memory, idle", idle, "MB").wanted(Wanted::at_most(idle, 60.0)),
        row("anonymous memory, full", full, "MB").wanted(Wanted::at_most(full, 250.0)),
        row(
            "1,000 hot buildings, 200,000 reports stored",
            many,
            "requests/s",
        )
        .beside("2,000 stored", Figure::new(few, "requests/s"), many / few)
        .wanted(Wanted::at_least(many / few, 0.9)),
    ])
}

/// At most `most` addresses without a unit, each of another building.
pub(super) fn known(city: &City, resolver: &Resolver, most: usize) -> anyhow::Result<Vec<Known>> {
    let mut seen = HashSet::new();
    let mut known = Vec::new();
    for text in city.texts() {
        let Ok(found) = resolver.resolve(text) else {
            continue;
        };
        if found.unit.is_some() || found.building.bbl.is_none() {
            continue;
        }
        let key = name_of(found.building.bbl, found.building.bin);
        if seen.insert(key.clone()) {
            known.push(Known {
                text: text.to_owned(),
                key,
            });
        }
        if known.len() >= most {
            break;
        }
    }
    Ok(known)
}

/// What a building's report is kept under.
fn name_of(bbl: Option<Bbl>, bin: Option<Bin>) -> String {
    let key = ReportKey {
        bbl,
        bin,
        unit_bbl: None,
    };
    key.to_string()
}

/// Bodies of reports whose JSON has from `least` to `most` bytes, as many small ones as large ones by the logarithm.
fn bodies(template: &StoredReport, least: u32, most: u32) -> anyhow::Result<Vec<Vec<u8>>> {
    let (least, most) = (f64::from(least), f64::from(most));
    let mut random = Random::new(20);
    (0..BODIES)
        .map(|place| {
            let size = least * (most / least).powf(place as f64 / (BODIES - 1) as f64);
            let mut report = template.clone();
            let data = records(size as usize, &mut random)?;
            let entry = report.entries.iter_mut().find(|(key, _)| key == "nyc_ecb");
            let (_, entry) = entry.context("the template has no such source")?;
            *entry = SourceEntry::from_stored(SourceStatus::Ok, Some(data));
            Ok(report.encode()?)
        })
        .collect()
}

/// Invented violations, in the shape of a source's data.
fn records(size: usize, random: &mut Random) -> anyhow::Result<Box<RawValue>> {
    let mut records = Vec::new();
    let mut written = 0;
    while written < size {
        let record = json!({
            "ecb_violation_number": format!("{:08}M", random.below(100_000_000)),
            "violation_type": "Construction", "severity": "CLASS - 2", "penality_imposed": random.below(25_000),
            "violation_description": "WORK WITHOUT A PERMIT", "issue_date": format!("20{:02}-{:02}-11T00:00:00.000", random.below(26), random.below(12) + 1),
        });
        written += record.to_string().len() + 1;
        records.push(record);
    }
    Ok(serde_json::value::to_raw_value(&json!({
        "record_count": records.len(), "records": records,
    }))?)
}

/// Where it all lies.
pub(super) struct Deployment {
    folder: PathBuf,
    sources: String,
}

impl Deployment {
    /// In `folder`, on the addresses of `city`; publishers answer at `sources`.
    pub(super) fn of(folder: &Path, city: &City, sources: String) -> anyhow::Result<Self> {
        let release = folder.join("release");
        fs::create_dir(&release)?;
        city.write(&release)?;
        let deployment = Self {
            folder: folder.to_owned(),
            sources,
        };
        deployment.operator("none", &["import", "pad", &release.display().to_string()])?;
        Ok(deployment)
    }

    fn database(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.db"))
    }

    /// The program, on one of the databases.
    fn command(&self, name: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(warm::program()?);
        command
            .current_dir(&self.folder)
            .env(
                "BROWNSTONE_DATABASE_URL",
                format!("sqlite://{}", self.database(name).display()),
            )
            .env("BROWNSTONE_DATA_DIR", self.folder.join("data"))
            .env("BROWNSTONE_SODA_URL", &self.sources)
            .env("BROWNSTONE_NYS_SODA_URL", &self.sources)
            .env("BROWNSTONE_FEMA_URL", &self.sources)
            .env("BROWNSTONE_GEOCODER", "pad")
            .env("BROWNSTONE_HOT_REPORTS_MB", "64")
            .env("BROWNSTONE_LOG", "warn")
            .env("BROWNSTONE_WEB_ADDR", "127.0.0.1:0")
            .env("BROWNSTONE_METRICS_ADDR", "127.0.0.1:0");
        Ok(command)
    }

    /// What an operator's command prints.
    fn operator(&self, name: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command(name)?.args(arguments).output()?;
        ensure!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    pub(super) fn index(&self) -> anyhow::Result<Resolver> {
        let files = fs::read_dir(self.folder.join("data"))?;
        for file in files {
            if let Ok(resolver) = Resolver::open(file?.path()) {
                return Ok(resolver);
            }
        }
        bail!("the import left no index")
    }

    /// The one report of a database.
    fn report(&self, name: &str) -> anyhow::Result<StoredReport> {
        let database = Connection::open(self.database(name))?;
        let body: Vec<u8> = database.query_row("SELECT body FROM reports", [], |row| row.get(0))?;
        Ok(StoredReport::decode(&body)?)
    }

    /// A database of `count` reports: of the known buildings, then of others of the city.
    fn fill(
        &self,
        name: &str,
        count: usize,
        bodies: &[Vec<u8>],
        known: &[Known],
        city: &City,
    ) -> anyhow::Result<()> {
        // Made by the program: its tables and its account.
        drop(self.serve(name)?);
        let mut database = Connection::open(self.database(name))?;
        let expires: i64 = {
            let from = Connection::open(self.database("none"))?;
            from.query_row("SELECT expires_at FROM reports", [], |row| row.get(0))?
        };
        let others = city
            .buildings()
            .map(|(bbl, bin)| name_of(Some(bbl), bin.to_string().parse().ok()));
        let keys = known.iter().map(|one| one.key.clone()).chain(others);
        let transaction = database.transaction()?;
        let mut stored = 0;
        {
            let mut insert = transaction.prepare(
                "INSERT OR IGNORE INTO reports (key, body, expires_at) VALUES (?1, ?2, ?3)",
            )?;
            for (key, body) in keys.zip(bodies.iter().cycle()) {
                stored += insert.execute(params![key, body, expires])?;
                if stored == count {
                    break;
                }
            }
        }
        transaction.commit()?;
        ensure!(stored == count, "{name}: {stored} of {count} reports");
        Ok(())
    }

    pub(super) fn serve(&self, name: &str) -> anyhow::Result<Server> {
        let begun = Instant::now();
        let mut child = self
            .command(name)?
            .args(["serve", "--api-addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("its output")?;
        let running = Running::of(child);
        let url = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, url) = line.split_once("API listening on ")?;
                Some(url.to_owned())
            })
            .context("it did not say where it listens")?;
        let to = url.trim_start_matches("http://");
        while !is_ready(to) {
            ensure!(
                begun.elapsed() < Duration::from_secs(60),
                "it is never ready"
            );
        }
        let ready = begun.elapsed();
        let email = "bench@example.com";
        // There is one account; it may be there from before.
        let _ = self.operator(name, &["account", "create", "--email", email]);
        self.operator(
            name,
            &[
                "limits",
                "set",
                "--account",
                email,
                "--per-minute",
                "150000000",
                "--per-day",
                "4000000000",
            ],
        )?;
        let key = self.operator(name, &["key", "create", "--account", email])?;
        let key = key.lines().last().context("a key")?.to_owned();
        Ok(Server {
            running,
            url,
            key,
            ready,
        })
    }
}

/// Whether `/readyz` answers 200.
fn is_ready(to: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.starts_with("HTTP/1.1 200"))
    };
    ask().unwrap_or(false)
}

pub(super) struct Server {
    running: Running,
    url: String,
    key: String,
    /// From its start to the first 200 of `/readyz`.
    ready: Duration,
}

impl Server {
    /// Where it listens, `host:port`.
    pub(super) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// A lookup, as it is sent.
    pub(super) fn request(&self, text: &str, connection: &str) -> Vec<u8> {
        let body = json!({ "address": text }).to_string();
        let (key, length) = (&self.key, body.len());
        format!(
            "POST /v1/lookup HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: {connection}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    pub(super) fn lookup(&self, text: &str) -> anyhow::Result<()> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.write_all(&self.request(text, "close"))?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let head = String::from_utf8_lossy(answer.get(..200).unwrap_or(&answer)).into_owned();
        ensure!(head.starts_with("HTTP/1.1 200"), "{text}: {head}");
        Ok(())
    }

    /// Anonymous resident memory, in MB.
    fn anonymous(&self) -> anyhow::Result<f64> {
        let path = Path::new("/proc")
            .join(self.running.id().to_string())
            .join("status");
        let status = fs::read_to_string(path)?;
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
            .context("the system does not tell anonymous memory")?;
        Ok(kib / 1024.0)
    }
}
