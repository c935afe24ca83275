//! The warm lookup over HTTP, beside a bare handler and nginx that return the same bytes.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::Part;
use crate::{
    measure::{Random, median},
    open::{Open, percentile},
    row::{Figure, Row, Wanted},
};

pub(crate) const PART: Part = Part {
    name: "warm",
    tells: "the warm lookup over HTTP, beside a bare actix handler and nginx with the same bytes",
    about: "\
The release server on the sample city, one account with room for all of it, one warm report asked for by 1,000 different texts; beside it, in
alternating rounds of a second, a bare actix handler that reads a body and returns the same bytes, and nginx that serves a file of them (by GET). `wrk` with one thread
and 32 connections loads one of them at a time. What is compared is the server process's CPU time for a request (`/proc/PID/stat`), since the load's
generator shares the machine; requests a second stand where the bar asks for them. The 99th percentile is of an open load at half of our peak rate,
the same for both, from when a request was due to its answer's last byte: the median of 41 alternating rounds of 0.3 seconds, the first
third of each left out, since machines are seen to stand nearly still for a tenth of a second now and then, which no server can mend.",
    run,
};

/// How long `wrk` loads one server in a round.
const SECONDS: u64 = 1;

/// Rounds of `wrk`. Some machines are slow for a tenth of a second now and then: many short rounds keep that out of the median.
pub(super) const LOADS: usize = 15;

/// How long a round of the open load takes, and how many there are.
const LATE: Duration = Duration::from_millis(300);
const LATE_ROUNDS: usize = 41;

/// Connections at a time.
const CONNECTIONS: u32 = 32;

/// Texts that name the building.
const TEXTS: usize = 1_000;

/// The report that is asked for: of the sample city's, one of about 50 kB.
const ADDRESSES: [&str; 4] = [
    "335 Garretson Avenue, Staten Island",
    "103 Surf Drive, Bronx",
    "150 Court Street, Brooklyn",
    "120 Broadway, Manhattan",
];

/// Size that the bars are made for.
const SIZE: u64 = 50_000;

/// A process that ends with its owner.
pub(super) struct Running(Child);

impl Running {
    pub(super) const fn of(child: Child) -> Self {
        Self(child)
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// CPU time so far, in seconds.
    fn cpu(&self) -> anyhow::Result<f64> {
        let mut ticks = 0;
        for id in family(self.0.id()) {
            let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
            // The name may hold blanks; it ends with the last bracket.
            let (_, rest) = stat.rsplit_once(')').context("a process's state")?;
            let fields: Vec<&str> = rest.split_whitespace().collect();
            for place in [11, 12] {
                ticks += fields.get(place).context("CPU ticks")?.parse::<u64>()?;
            }
        }
        Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

/// A process and its children: nginx works in one of them.
fn family(id: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|id| id.parse().ok());
    std::iter::once(id).chain(children).collect()
}

impl Drop for Running {
    fn drop(&mut self) {
        let family = family(self.0.id());
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
        // Whom it started, if anybody, is left: a server that is killed cannot end its workers.
        for child in family.iter().skip(1) {
            let child = i32::try_from(*child).ok().and_then(Pid::from_raw);
            if let Some(child) = child {
                let _ = kill_process(child, Signal::KILL);
            }
        }
    }
}

/// Our server, and what it printed.
struct Server {
    running: Running,
    url: String,
    key: String,
}

pub(super) fn program() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("BENCH_SERVER") {
        return Ok(path.into());
    }
    let path = std::env::current_exe()?.with_file_name("brownstone");
    ensure!(
        path.exists(),
        "{} is missing: `make bench` builds it",
        path.display()
    );
    Ok(path)
}

impl Server {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let program = program()?;
        let database = format!("sqlite://{}", folder.join("sample.db").display());
        let mut child = Command::new(&program)
            .args(["serve", "--sample", "--api-addr", "127.0.0.1:0"])
            .args(["--database-url", &database])
            .env("BROWNSTONE_WEB_ADDR", "127.0.0.1:0")
            .env("BROWNSTONE_METRICS_ADDR", "127.0.0.1:0")
            .env("BROWNSTONE_LISTINGS_SOURCE", "none")
            .env("BROWNSTONE_LOG", "warn")
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
        let running = Running(child);
        let (mut url, mut key) = (None, None);
        for line in lines {
            let line = line?;
            if let Some((_, rest)) = line.split_once("API listening on ") {
                url = Some(rest.to_owned());
            }
            if let Some((_, rest)) = line.split_once("key for demo@example.com: ") {
                key = Some(rest.to_owned());
                break;
            }
        }
        let status = Command::new(&program)
            .args(["limits", "set", "--account", "demo@example.com"])
            .args(["--per-minute", "150000000", "--per-day", "4000000000"])
            .env("BROWNSTONE_DATABASE_URL", &database)
            .current_dir(folder)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "the account's limits could not be set");
        let server = Self {
            running,
            url: url.context("it did not say where it listens")?,
            key: key.context("it printed no key")?,
        };
        // New limits are in force within two seconds.
        for _ in 0..100 {
            if server.curl("/v1/usage", None)?.contains("4000000000") {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the new limits are not in force")
    }

    fn curl(&self, path: &str, body: Option<&str>) -> anyhow::Result<String> {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail"]).args([
            "-H",
            &format!("Authorization: Bearer {}", self.key),
            "-H",
            "Content-Type: application/json",
        ]);
        if let Some(body) = body {
            command.args(["-d", body]);
        }
        let output = command.arg(format!("{}{path}", self.url)).output()?;
        ensure!(
            output.status.success(),
            "{path}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    fn lookup(&self, address: &str) -> anyhow::Result<String> {
        self.curl(
            "/v1/lookup",
            Some(&format!("{{\"address\":\"{address}\"}}")),
        )
    }
}

/// The same text with letters large and small, in as many ways as are asked for.
pub(crate) fn ways(address: &str, count: usize) -> Vec<String> {
    let mut random = Random::new(11);
    (0..count)
        .map(|_| {
            address
                .chars()
                .map(|letter| match random.below(2) {
                    0 => letter.to_ascii_uppercase(),
                    _ => letter.to_ascii_lowercase(),
                })
                .collect()
        })
        .collect()
}

/// Nothing but a body read and bytes returned, on a port that it prints.
pub(crate) fn bare(file: &Path) -> anyhow::Result<()> {
    let body = bytes::Bytes::from(fs::read(file)?);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let workers = std::thread::available_parallelism()?.get();
    actix_web::rt::System::new().block_on(async move {
        HttpServer::new(move || {
            let body = body.clone();
            App::new().default_service(web::to(move |read: web::Bytes| {
                let body = body.clone();
                async move {
                    drop(read);
                    HttpResponse::Ok()
                        .content_type("application/json")
                        .body(body)
                }
            }))
        })
        .workers(workers)
        .listen(listener)?
        .run()
        .await
    })?;
    Ok(())
}

fn start_bare(file: &Path) -> anyhow::Result<(Running, String)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--bare")
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
    Ok((Running(child), format!("http://{}", line.trim())))
}

/// nginx with one worker for each core on a file of the bytes; `None` where it is not installed.
fn start_nginx(folder: &Path, file: &str) -> anyhow::Result<Option<(Running, String)>> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let at = folder.display();
    let settings = format!(
        "daemon off; worker_processes auto; pid {at}/nginx.pid; error_log {at}/nginx.log;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=10;\n\
         client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
         server {{ listen 127.0.0.1:{port}; root {at}; location / {{ default_type application/json; }} }} }}\n"
    );
    let path = folder.join("nginx.conf");
    fs::write(&path, settings)?;
    let Ok(child) = Command::new("nginx")
        .arg("-c")
        .arg(&path)
        .stderr(Stdio::null())
        .spawn()
    else {
        eprintln!("warm: nginx is not installed, so it is left out");
        return Ok(None);
    };
    let running = Running(child);
    for _ in 0..100 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(Some((running, format!("http://127.0.0.1:{port}/{file}"))));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!(
        "nginx does not listen: see {}",
        folder.join("nginx.log").display()
    )
}

/// What one load of one server came to.
#[derive(Clone, Copy)]
pub(super) struct Load {
    cpu_us: f64,
    pub(super) per_second: f64,
}

pub(super) fn load(of: &Running, script: &Path, url: &str) -> anyhow::Result<Load> {
    let before = of.cpu()?;
    let output = Command::new("wrk")
        .args([
            "-t1",
            &format!("-c{CONNECTIONS}"),
            &format!("-d{SECONDS}s"),
            "-s",
        ])
        .arg(script)
        .arg(url)
        .output()
        .context("wrk is needed: install the package wrk")?;
    let cpu = of.cpu()? - before;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "wrk: {text}");
    ensure!(
        !text.contains("Non-2xx") && !text.contains("Socket errors"),
        "{url}: {text}"
    );
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<f64>().ok());
    let per_second = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    let requests = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in").map(|(n, _)| n));
    let (Some(per_second), Some(requests)) = (number(per_second), number(requests)) else {
        bail!("wrk says {text}");
    };
    Ok(Load {
        cpu_us: cpu * 1e6 / requests,
        per_second,
    })
}

/// A script for wrk: a POST of each body in turn, or a GET.
pub(super) fn script(
    path: PathBuf,
    key: &str,
    encoding: &str,
    texts: &[String],
) -> anyhow::Result<PathBuf> {
    let mut text = format!(
        "local headers = {{[\"Authorization\"] = \"Bearer {key}\", [\"Content-Type\"] = \"application/json\", [\"Accept-Encoding\"] = \"{encoding}\"}}\n\
         local ready = {{}}\n"
    );
    for (place, body) in texts.iter().enumerate() {
        text.push_str(&format!(
            "ready[{}] = wrk.format(\"POST\", \"/v1/lookup\", headers, '{{\"address\":\"{body}\"}}')\n",
            place + 1
        ));
    }
    text.push_str(
        "local at = 0\nrequest = function() at = at % #ready + 1; return ready[at] end\n",
    );
    // wrk.format needs the address, which is known when a thread begins.
    let text = match texts {
        [] => String::new(),
        _ => {
            let (head, rest) = text.split_once("local at = 0").context("the script")?;
            let head = head.replace("local ready = {}\n", "ready = {}\nfunction init(args)\n");
            format!("{head}end\nlocal at = 0{rest}")
        }
    };
    fs::write(&path, text)?;
    Ok(path)
}

fn run() -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    // nginx's workers may be another user's.
    fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )?;
    let at = folder.path();
    let server = Server::start(at)?;
    let mut found: Vec<(u64, &str, String)> = Vec::new();
    for address in ADDRESSES {
        if let Ok(report) = server.lookup(address) {
            found.push((report.len() as u64, address, report));
        }
    }
    let nearest = found
        .into_iter()
        .min_by_key(|(size, ..)| size.abs_diff(SIZE));
    let (size, address, report) = nearest.context("no report could be had")?;
    let texts = ways(address, TEXTS);
    for text in &texts {
        server.lookup(text)?;
    }
    let file = at.join("report.json");
    fs::write(&file, &report)?;
    let plain = script(at.join("plain.lua"), &server.key, "identity", &texts)?;
    let gzip = script(at.join("gzip.lua"), &server.key, "gzip", &texts)?;
    let get = script(at.join("get.lua"), "", "identity", &[])?;
    let (bare, bare_url) = start_bare(&file)?;
    let nginx = start_nginx(at, "report.json")?;

    let (mut ours, mut packed, mut bares, mut files) = (vec![], vec![], vec![], vec![]);
    for _ in 0..LOADS {
        ours.push(load(&server.running, &plain, &server.url)?);
        bares.push(load(&bare, &plain, &bare_url)?);
        packed.push(load(&server.running, &gzip, &server.url)?);
        if let Some((nginx, url)) = &nginx {
            files.push(load(nginx, &get, url)?);
        }
    }
    let cpu = |loads: &[Load]| median(loads.iter().map(|load| load.cpu_us));
    let rate = |loads: &[Load]| median(loads.iter().map(|load| load.per_second));
    let what = |text: &str| format!("{text}, {} kB, 1,000 texts", size / 1_000);
    let us = |value| Figure::new(value, "us of CPU");
    let share = cpu(&bares) / cpu(&ours);
    let (late, bare_late) = late(&server, &bare_url, &texts, rate(&ours) / 2.0)?;
    let mut rows = vec![
        Row::alone("warm", what("identity"), us(cpu(&ours)))
            .beside("bare handler", us(cpu(&bares)), share)
            .wanted(Wanted::at_least(share, 0.8)),
    ];
    if !files.is_empty() {
        let share = cpu(&files) / cpu(&ours);
        rows.push(
            Row::alone("warm", what("identity"), us(cpu(&ours)))
                .beside("nginx, a file", us(cpu(&files)), share)
                .wanted(Wanted::at_least(share, 0.7)),
        );
    }
    let faster = rate(&packed) / rate(&ours);
    rows.push(
        Row::alone(
            "warm",
            what("gzip"),
            Figure::new(rate(&packed), "requests/s"),
        )
        .beside("identity", Figure::new(rate(&ours), "requests/s"), faster)
        .wanted(Wanted::at_least(faster, 1.5)),
    );
    rows.push(Row::alone("warm", what("gzip"), us(cpu(&packed))));
    rows.push(
        Row::alone(
            "warm",
            format!(
                "99th percentile at {:.0} requests/s, half of the peak",
                rate(&ours) / 2.0
            ),
            Figure::new(late, "us"),
        )
        .beside(
            "bare handler",
            Figure::new(bare_late, "us"),
            late / bare_late,
        )
        .wanted(Wanted::at_most(late / bare_late, 1.5)),
    );
    Ok(rows)
}

/// The 99th percentile of both at one rate, in microseconds: the median of alternating rounds.
fn late(
    server: &Server,
    bare_url: &str,
    texts: &[String],
    rate: f64,
) -> anyhow::Result<(f64, f64)> {
    let requests: Vec<Vec<u8>> = (texts.iter())
        .map(|text| {
            let body = format!("{{\"address\":\"{text}\"}}");
            format!(
                "POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                server.key,
                body.len()
            )
            .into_bytes()
        })
        .collect();
    let load = |url: &str| -> anyhow::Result<f64> {
        let load = Open {
            to: url.trim_start_matches("http://").parse()?,
            requests: &requests,
            rate,
            time: LATE,
            connections: CONNECTIONS as usize,
        };
        let came = load.run()?;
        ensure!(
            came.iter().all(|one| one.status == 200),
            "not all calls succeeded"
        );
        // Connections are opened in the first third.
        let settled = came.iter().filter(|one| one.number > came.len() / 3);
        Ok(percentile(settled.map(|one| one.took).collect(), 0.99))
    };
    let (mut ours, mut bares) = (vec![], vec![]);
    for _ in 0..LATE_ROUNDS {
        ours.push(load(&server.url)?);
        bares.push(load(bare_url)?);
    }
    Ok((median(ours), median(bares)))
}
