//! A running server, its sample city, its clock, and the operator's commands on its database.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use reqwest::{
    Method, Response, StatusCode,
    header::{HeaderMap, HeaderValue},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::datetime};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
};

/// Where every test's clock starts.
pub(crate) const START: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

/// How long a step may take before a test gives up on it; generous, since it only bounds a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a log that is kept stands in a server's folder.
const LOG: &str = "log";

/// The program under test: built beside this test binary, or named by `TEST_BROWNSTONE_BIN`.
pub(crate) fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("TEST_BROWNSTONE_BIN") {
        return path.into();
    }
    let exe = std::env::current_exe().expect("a running test has a path");
    let target = exe
        .ancestors()
        .nth(2)
        .expect("tests run from target/<profile>/deps");
    let program = target.join("brownstone");
    assert!(
        program.exists(),
        "{} is missing: build it with `cargo build -p brownstone --features test-clock`",
        program.display()
    );
    program
}

/// A command of the program, with nothing of this process's environment but what a program needs.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .kill_on_drop(true);
    command
}

/// A folder for a server and its database. SQLite waits for the disk at each commit, and a disk that others write to may keep it waiting
/// for seconds: `TEST_FOLDERS` names a place in memory, where there is one. Nothing here cuts the power.
pub(crate) fn new_folder() -> TempDir {
    match std::env::var_os("TEST_FOLDERS").filter(|place| !place.is_empty()) {
        Some(place) => tempfile::tempdir_in(place),
        None => tempfile::tempdir(),
    }
    .expect("a temporary folder")
}

/// What a server is started with.
#[derive(Default)]
pub(crate) struct Options {
    /// Without the sample city.
    pub live_sources: bool,
    /// Another database than a file of its own.
    pub database_url: Option<String>,
    /// More variables.
    pub variables: Vec<(String, String)>,
    /// The clock of another server, for one that shares its database; `None` for one of its own.
    pub clock: Option<PathBuf>,
    /// The machine's own clock.
    pub real_clock: bool,
    /// A filter of the log, which is then kept, a JSON object a line, for [`Server::log`].
    pub log: Option<&'static str>,
}

/// Asks until budgets that are shared have answered, as a client should: they have a tenth of a second, which a machine that is busy with
/// other tests may miss. Returns how often they did not, too: such a call may have been charged.
pub(crate) async fn asked_again(mut ask: impl AsyncFnMut() -> Answer) -> (Answer, u64) {
    let begun = tokio::time::Instant::now();
    let mut doubtful = 0;
    loop {
        let answer = ask().await;
        if answer.status != StatusCode::SERVICE_UNAVAILABLE {
            return (answer, doubtful);
        }
        answer.assert_failure(503, "quota_unavailable");
        assert!(begun.elapsed() < PATIENCE, "the budgets never answer");
        doubtful += 1;
    }
}

/// A running server.
pub(crate) struct Server {
    folder: TempDir,
    database_url: String,
    child: Child,
    _output: tokio::io::Lines<BufReader<ChildStdout>>,
    /// The API's address.
    pub url: String,
    /// The web host's address.
    pub web: String,
    /// Where its metrics are read.
    pub metrics: String,
    /// The sample city's address.
    pub city: String,
    /// A key of the sample account.
    pub key: String,
    http: reqwest::Client,
}

impl Server {
    /// A server on the sample city.
    pub(crate) async fn sample() -> Self {
        Self::start(Options::default()).await
    }

    /// A server with `options`.
    pub(crate) async fn start(options: Options) -> Self {
        let folder = new_folder();
        Self::start_in(folder, options).await
    }

    async fn start_in(folder: TempDir, options: Options) -> Self {
        let clock = folder.path().join("clock");
        if !clock.exists() {
            show(&clock, START);
        }
        let database_url = options
            .database_url
            .clone()
            .unwrap_or_else(|| format!("sqlite://{}", folder.path().join("test.db").display()));
        let mut command = command(folder.path());
        if !options.real_clock {
            command.env(
                "BROWNSTONE_TEST_CLOCK",
                options.clock.as_ref().unwrap_or(&clock),
            );
        }
        command
            .arg("serve")
            .args(["--api-addr", "127.0.0.1:0", "--database-url", &database_url])
            .env("BROWNSTONE_LOG", "warn")
            .env("BROWNSTONE_WEB_ADDR", "127.0.0.1:0")
            .env("BROWNSTONE_METRICS_ADDR", "127.0.0.1:0")
            // A scan of every area, and its calls to the sample city, are for the tests that ask for it.
            .env("BROWNSTONE_LISTINGS_SOURCE", "none")
            .envs(options.variables.iter().cloned())
            .stdout(Stdio::piped());
        if !options.live_sources {
            command.arg("--sample");
        }
        if let Some(filter) = options.log {
            let log = std::fs::File::options()
                .create(true)
                .append(true)
                .open(folder.path().join(LOG))
                .expect("the log can be written");
            command
                .env("BROWNSTONE_LOG", filter)
                .env("BROWNSTONE_LOG_FORMAT", "json")
                .stderr(log);
        }
        let mut child = command.spawn().expect("the program starts");
        let output = child.stdout.take().expect("its output is piped");
        let mut output = BufReader::new(output).lines();
        let (mut url, mut web, mut metrics) = (None, None, None);
        let (mut city, mut key) = (None, None);
        let ready = async {
            while let Some(line) = output.next_line().await.expect("its output is text") {
                let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest.to_owned());
                url = url.take().or_else(|| after("API listening on "));
                web = web.take().or_else(|| after("web host listening on "));
                metrics = metrics.take().or_else(|| after("metrics listening on "));
                city = city.take().or_else(|| after("sample city listening on "));
                key = key.take().or_else(|| after("key for demo@example.com: "));
                if url.is_some() && (key.is_some() || options.live_sources) {
                    return;
                }
            }
            panic!("the program ended before it was ready");
        };
        tokio::time::timeout(PATIENCE, ready)
            .await
            .expect("the program becomes ready");
        let mut server = Self {
            folder,
            database_url,
            child,
            _output: output,
            url: url.expect("it says where it listens"),
            web: web.expect("it says where the web host listens"),
            metrics: metrics.expect("it says where metrics are read"),
            city: city.unwrap_or_default(),
            key: key.unwrap_or_default(),
            http: reqwest::Client::new(),
        };
        if options.live_sources {
            // On a database that servers may share, an account of its own.
            let email = match &options.database_url {
                None => "owner@example.com".to_owned(),
                Some(_) => format!("owner{}@example.com", server.child.id().unwrap_or_default()),
            };
            server.key = server.new_account(&email).await.1;
        }
        server
    }

    /// Stops the server as an operator does, and starts one on the same folder and database.
    pub(crate) async fn restart(mut self, options: Options) -> Self {
        assert!(self.stop().await.success());
        let Self { folder, .. } = self;
        Self::start_in(folder, options).await
    }

    /// Kills the server, and starts one on the same folder and database.
    pub(crate) async fn crash(mut self, options: Options) -> Self {
        self.child.kill().await.expect("it can be killed");
        let Self { folder, .. } = self;
        Self::start_in(folder, options).await
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        signal(&self.child, "TERM");
    }

    /// Sends SIGKILL, at once; [`Server::crash`] then starts the next one.
    pub(crate) fn kill(&self) {
        signal(&self.child, "KILL");
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends")
            .expect("its status is known")
    }

    /// SIGTERM and the wait.
    pub(crate) async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.ended().await
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Its clock, for another server.
    pub(crate) fn clock(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    /// The folder it runs in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(LOG)).expect("the log is kept")
    }

    /// Moves the clock.
    pub(crate) fn set_clock(&self, at: OffsetDateTime) {
        show(&self.folder.path().join("clock"), at);
    }

    /// Runs an operator's command on this server's database; returns what it printed.
    pub(crate) async fn operator(&self, arguments: &[&str]) -> String {
        let output = self.operator_output(arguments).await;
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .expect("it prints text")
            .trim()
            .to_owned()
    }

    /// The same, with its status and errors.
    pub(crate) async fn operator_output(&self, arguments: &[&str]) -> std::process::Output {
        self.operator_command(arguments)
            .env("BROWNSTONE_TEST_CLOCK", self.folder.path().join("clock"))
            .output()
            .await
            .expect("the command runs")
    }

    /// An operator's command on this server's database, by the machine's own clock.
    pub(crate) fn operator_command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.folder.path());
        command
            .env("BROWNSTONE_DATABASE_URL", &self.database_url)
            .args(arguments);
        command
    }

    /// A new account and a key of it.
    pub(crate) async fn new_account(&self, email: &str) -> (String, String) {
        let account = self
            .operator(&["account", "create", "--email", email])
            .await;
        let key = self
            .operator(&["key", "create", "--account", &account])
            .await;
        (account, key)
    }

    /// A request as it is, no credentials added.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .headers(headers)
            .body(body);
        Answer::of(request.send().await.expect("the server answers")).await
    }

    /// An operation with the sample key.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(&self.key, path, body).await
    }

    /// An operation with this key.
    pub(crate) async fn post_as(&self, key: &str, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, json_headers(key), body.to_string())
            .await
    }

    /// `GET` with this key.
    pub(crate) async fn get_as(&self, key: &str, path: &str) -> Answer {
        self.send(Method::GET, path, bearer(key), "").await
    }

    /// A lookup that succeeds.
    pub(crate) async fn lookup(&self, address: &str) -> Answer {
        let ask = json!({"address": address});
        let (answer, doubtful) = asked_again(async || self.post("/v1/lookup", &ask).await).await;
        assert_eq!(answer.status, StatusCode::OK, "{address}: {}", answer.text);
        let shares_budgets = self.database_url.starts_with("postgres");
        assert!(doubtful == 0 || shares_budgets, "its own budgets answer");
        answer
    }

    /// Sees to it that the report of 350 5 Avenue is made.
    pub(crate) async fn warm(&self) {
        self.lookup("350 5 Avenue, Manhattan").await;
    }

    /// Usage with the sample key.
    pub(crate) async fn usage(&self) -> Value {
        self.usage_as(&self.key).await
    }

    /// Usage with this key.
    pub(crate) async fn usage_as(&self, key: &str) -> Value {
        let (answer, _) = asked_again(async || self.get_as(key, "/v1/usage").await).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.body["data"].clone()
    }

    /// A key of a new account whose limits nothing here reaches.
    pub(crate) async fn unlimited(&self, email: &str) -> String {
        let (account, key) = self.new_account(email).await;
        let wide = ["--per-minute", "100000000", "--per-day", "1000000000"];
        self.operator(&[&["limits", "set", "--account", &account], &wide[..]].concat())
            .await;
        while self.usage_as(&key).await["minute"]["limit"] != 100_000_000 {}
        key
    }

    /// Makes a dataset of the sample city fail.
    pub(crate) async fn set_fault(&self, dataset: &str, kind: &str) {
        self.put_fault(dataset, &json!({"kind": kind})).await;
    }

    /// The same with all that a fault may say.
    pub(crate) async fn put_fault(&self, dataset: &str, fault: &Value) {
        let url = format!("{}/_control/faults/{dataset}", self.city);
        let sent = self.http.put(url).json(fault).send().await;
        let answer = sent.expect("the city answers");
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Ends all faults of the sample city.
    pub(crate) async fn clear_faults(&self) {
        let url = format!("{}/_control/faults", self.city);
        let answer = self
            .http
            .delete(url)
            .send()
            .await
            .expect("the city answers");
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Adds latency to a dataset of the sample city.
    pub(crate) async fn set_latency(&self, dataset: &str, millis: u64) {
        let url = format!("{}/_control/latency/{dataset}", self.city);
        let answer = self
            .http
            .put(url)
            .json(&json!({"millis": millis}))
            .send()
            .await
            .expect("the city answers");
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Calls that each dataset of the sample city has had.
    pub(crate) async fn city_calls(&self) -> serde_json::Map<String, Value> {
        let url = format!("{}/_control/calls", self.city);
        let answer = self.http.get(url).send().await.expect("the city answers");
        let calls: Value = answer.json().await.expect("calls are JSON");
        let mut calls = calls.as_object().expect("calls are an object").clone();
        // What no caller asks for: how fresh the datasets are, and the rates of the day.
        for background in ["views", "fred", "pmms"] {
            calls.remove(background);
        }
        calls
    }

    /// Forgets the calls so far.
    pub(crate) async fn reset_city_calls(&self) {
        let url = format!("{}/_control/calls", self.city);
        let answer = self
            .http
            .delete(url)
            .send()
            .await
            .expect("the city answers");
        assert!(answer.status().is_success(), "{}", answer.status());
    }
}

/// The most memory that a process has ever had, in KiB.
pub(crate) fn peak_memory(pid: u32) -> u64 {
    memory(pid, "VmHWM:")
}

/// A line of what the system knows of a process's memory, in KiB.
pub(crate) fn memory(pid: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    let number = found.and_then(|rest| rest.split_whitespace().next());
    number.expect("the line").parse().expect("a number")
}

/// Sends a signal to a child that runs.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().expect("it runs");
    let sent = std::process::Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .status()
        .expect("kill runs");
    assert!(sent.success());
}

/// Puts a moment on a clock, all at once: the program may read it at any time.
fn show(clock: &Path, at: OffsetDateTime) {
    let next = clock.with_extension("next");
    std::fs::write(&next, at.format(&Rfc3339).expect("a moment has a text"))
        .expect("the clock can be written");
    std::fs::rename(&next, clock).expect("the clock can be moved");
}

/// The `meta` of a success, without reading the report before it: a client that reads all of it measures itself.
pub(crate) fn meta(body: &str) -> Value {
    let (_, rest) = body.rsplit_once("\"meta\":").expect("a success has meta");
    let meta = rest.trim_end().strip_suffix('}').expect("it is the last");
    serde_json::from_str(meta).expect("it is JSON")
}

/// `Authorization` alone.
pub(crate) fn bearer(key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {key}")).expect("a key is visible text");
    headers.insert("authorization", value);
    headers
}

/// `Authorization` and `Content-Type`.
pub(crate) fn json_headers(key: &str) -> HeaderMap {
    let mut headers = bearer(key);
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// The body as JSON; null where it is empty.
    pub body: Value,
    /// The body as text.
    pub text: String,
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.expect("the body is text");
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).expect("every body of the API host is JSON"),
        };
        Self {
            status,
            headers,
            body,
            text,
        }
    }

    /// A header's text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The report's `data`.
    pub(crate) fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// Asserts the error envelope and its identity.
    #[track_caller]
    pub(crate) fn assert_failure(&self, status: u16, code: &str) -> &Self {
        assert_eq!(
            (self.status.as_u16(), &self.body["code"]),
            (status, &json!(code)),
            "{}",
            self.text
        );
        let keys: Vec<_> = self.body.as_object().expect("an envelope").keys().collect();
        assert_eq!(keys, ["code", "message", "request_id"]);
        assert_eq!(
            self.body["request_id"].as_str(),
            self.header("x-request-id")
        );
        self
    }

    /// The message of a failure.
    pub(crate) fn message(&self) -> &str {
        self.body["message"]
            .as_str()
            .expect("a failure has a message")
    }
}
