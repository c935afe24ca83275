//! Redis and PostgreSQL stop under a running server: calls get an honest answer in time, and service is back when they are.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

use crate::{
    at_hand,
    harness::{Answer, Options, Server, asked_again, signal},
    shared_database::{database, on},
    wire::Wire,
};

/// The promise. What is measured is this machine's too, so a test may try again; a server that is too slow by itself
/// fails every time.
const ANSWER_WITHIN: Duration = Duration::from_millis(150);
/// After the store is.
const BACK_WITHIN: Duration = Duration::from_secs(1);
/// Beyond it something hangs, however busy the machine is.
const GENEROUS: Duration = Duration::from_secs(5);

/// A Redis or Valkey of this test's own, which it may stop.
struct Redis {
    program: PathBuf,
    folder: TempDir,
    port: u16,
    child: Child,
}

/// The first of these that is installed.
fn installed(names: &[String]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

impl Redis {
    async fn start() -> Option<Self> {
        let names = match std::env::var("BROWNSTONE_REDIS_SERVER") {
            Ok(program) => vec![program],
            Err(_) => vec!["redis-server".to_owned(), "valkey-server".to_owned()],
        };
        let Some(program) = installed(&names) else {
            at_hand::skipped("no Redis server is installed (make test installs one)");
            return None;
        };
        let folder = crate::harness::new_folder();
        // A port that is free now may be taken a moment later: the server ends then, and another is tried.
        for _ in 0..5 {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let port = listener.local_addr().expect("bound").port();
            drop(listener);
            let mut child = Self::spawn(&program, &folder, port);
            if Self::answers(&mut child, port).await {
                return Some(Self {
                    program,
                    folder,
                    port,
                    child,
                });
            }
        }
        panic!("{} does not start", program.display());
    }

    fn spawn(program: &std::path::Path, folder: &TempDir, port: u16) -> Child {
        Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts")
    }

    /// Waits until it answers; `false` when it ended instead.
    async fn answers(child: &mut Child, port: u16) -> bool {
        while child.try_wait().expect("its status is known").is_none() {
            if let Ok(mut line) = TcpStream::connect(("127.0.0.1", port)).await {
                let mut answer = [0; 7];
                let asked = line.write_all(b"PING\r\n").await;
                if asked.is_ok() && line.read_exact(&mut answer).await.is_ok() {
                    return &answer == b"+PONG\r\n";
                }
            }
            tokio::task::yield_now().await;
        }
        false
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// It keeps its connections and says nothing.
    fn freeze(&self) {
        signal(&self.child, "STOP");
    }

    fn thaw(&self) {
        signal(&self.child, "CONT");
    }

    /// It is gone, and its port with it.
    async fn kill(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// A new one at the same address.
    async fn again(&mut self) {
        self.child = Self::spawn(&self.program, &self.folder, self.port);
        let port = self.port;
        assert!(
            Self::answers(&mut self.child, port).await,
            "its port is free"
        );
    }
}

/// Budgets in Redis, or with the database, and no log of the hundreds of failures that are asked for here.
fn quietly(redis: Option<String>) -> Vec<(String, String)> {
    let redis = redis.map(|url| ("BROWNSTONE_QUOTA_URL".to_owned(), url));
    redis
        .into_iter()
        .chain([("BROWNSTONE_LOG".to_owned(), "off".to_owned())])
        .collect()
}

fn warm() -> Value {
    json!({"address": "350 5 Avenue, Manhattan"})
}

/// One lookup and how long it took.
async fn timed(server: &Server, key: &str) -> (Answer, Duration) {
    let begun = Instant::now();
    let answer = server.post_as(key, "/v1/lookup", &warm()).await;
    (answer, begun.elapsed())
}

/// Lookups until one succeeds; returns how long that took.
async fn until_back(server: &Server, key: &str) -> Duration {
    let begun = Instant::now();
    loop {
        let (answer, _) = timed(server, key).await;
        match answer.status.as_u16() {
            200 => return begun.elapsed(),
            503 => assert!(
                begun.elapsed() < Duration::from_secs(30),
                "it never comes back"
            ),
            _ => panic!("{}", answer.text),
        }
    }
}

/// Calls while the budgets' store is away: the first ones wait for its deadline, the others not even that.
async fn honest_and_in_time(server: &Server, key: &str, what: &str) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..30 {
        let (answer, took) = timed(server, key).await;
        answer.assert_failure(503, "quota_unavailable");
        let wait: u64 = answer
            .header("retry-after")
            .expect("when to try again")
            .parse()
            .expect("seconds");
        assert!((1..=5).contains(&wait));
        assert_eq!(answer.header("ratelimit"), None, "nothing is known of it");
        slowest = slowest.max(took);
    }
    server
        .get_as(key, "/v1/usage")
        .await
        .assert_failure(503, "quota_unavailable");
    eprintln!("{what}: the slowest of 30 answers took {slowest:.1?}");
    assert!(slowest < GENEROUS, "{what}: {slowest:?}");
    slowest
}

/// The store goes away and comes back. What is measured is this machine's too, so it may happen again for a while; a server that is too
/// slow by itself is so every time.
async fn away_and_back(server: &Server, key: &str, what: &str, mut set: impl AsyncFnMut(bool)) {
    let begun = Instant::now();
    let (mut answered, mut back) = (Duration::MAX, Duration::MAX);
    loop {
        set(true).await;
        answered = answered.min(honest_and_in_time(server, key, what).await);
        set(false).await;
        back = back.min(until_back(server, key).await);
        let well = answered < ANSWER_WITHIN && back < BACK_WITHIN;
        if well || begun.elapsed() > Duration::from_secs(60) {
            break;
        }
    }
    eprintln!("{what}: answers in {answered:.1?}, back in {back:.1?}");
    assert!(answered < ANSWER_WITHIN, "{what}: {answered:?}");
    assert!(back < BACK_WITHIN, "{what}: {back:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_stops_and_comes_back() {
    let Some(mut redis) = Redis::start().await else {
        return;
    };
    let server = Server::start(Options {
        variables: quietly(Some(redis.url())),
        ..Options::default()
    })
    .await;
    let (account, key) = server.new_account("outage@example.com").await;
    let wide = ["--per-minute", "1000000", "--per-day", "10000000"];
    server
        .operator(&[&["limits", "set", "--account", &account], &wide[..]].concat())
        .await;
    until_back(&server, &key).await;

    away_and_back(&server, &key, "Redis is frozen", async |away| {
        if away {
            redis.freeze();
        } else {
            redis.thaw();
        }
    })
    .await;
    away_and_back(&server, &key, "Redis is gone", async |away| {
        if away {
            redis.kill().await;
        } else {
            redis.again().await;
        }
    })
    .await;
}

/// A database of this test's own behind a wire, and its address by it.
async fn behind_a_wire(name: &str) -> Option<(Wire, String)> {
    let url = database(name).await?;
    let mut url = url::Url::parse(&url).expect("an address");
    let host = url.host_str().expect("a host");
    let wire = Wire::to(format!("{host}:{}", url.port().expect("a port"))).await;
    url.set_port(Some(wire.port())).expect("a port");
    Some((wire, url.into()))
}

/// How long calls go on without the database: some seconds in every run, the whole minute and past it where
/// `TEST_SOAK_SECONDS` allows for it.
fn whole_minute() -> bool {
    std::env::var("TEST_SOAK_SECONDS").is_ok_and(|text| {
        let seconds: u64 = text.parse().expect("TEST_SOAK_SECONDS is a number");
        seconds >= 30
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_stops_and_warm_lookups_go_on_by_the_last_verdict() {
    let Some(redis) = at_hand::variable("TEST_REDIS_URL", "make test") else {
        return;
    };
    let Some((wire, url)) = behind_a_wire("brownstone_it_outage").await else {
        return;
    };
    let server = Server::start(Options {
        variables: quietly(Some(redis)),
        ..on(&url)
    })
    .await;
    let (account, key) = server.new_account("outage@example.com").await;
    let (_, other) = server.new_account("other@example.com").await;
    let wide = ["--per-minute", "1000000", "--per-day", "10000000"];
    server
        .operator(&[&["limits", "set", "--account", &account], &wide[..]].concat())
        .await;
    while server.get_as(&key, "/v1/usage").await.data()["minute"]["limit"] != 1_000_000 {}
    until_back(&server, &key).await;

    wire.cut();
    let cut_at = Instant::now();
    let goes_on = Duration::from_secs(if whole_minute() { 55 } else { 5 });
    let mut warm_calls = 0;
    while cut_at.elapsed() < goes_on {
        let (answer, _) = timed(&server, &key).await;
        // A busy machine may miss the deadline of the budgets, which are well.
        if answer.status != 503 {
            assert_eq!(answer.status, 200, "{}", answer.text);
            warm_calls += 1;
        }
    }
    eprintln!("PostgreSQL is gone: {warm_calls} warm lookups in {goes_on:.1?}");
    assert!(warm_calls > 0);
    // What needs the database says so: a report that is not warm, usage, a key that nobody asked for yet.
    let cold = json!({"address": "700 Brook Avenue, Bronx"});
    let (lookup, _) = asked_again(async || server.post_as(&key, "/v1/lookup", &cold).await).await;
    lookup.assert_failure(500, "internal_error");
    let (usage, _) = asked_again(async || server.get_as(&key, "/v1/usage").await).await;
    usage.assert_failure(500, "internal_error");
    server
        .post_as(&other, "/v1/lookup", &warm())
        .await
        .assert_failure(500, "internal_error");
    let ready = server
        .send(reqwest::Method::GET, "/readyz", Default::default(), "")
        .await;
    assert_eq!(ready.status, 503);
    if whole_minute() {
        while cut_at.elapsed() < Duration::from_secs(62) {
            timed(&server, &key).await;
        }
        let (answer, _) = timed(&server, &key).await;
        answer.assert_failure(500, "internal_error");
        eprintln!("after a minute the verdict is no good any more");
    }

    wire.mend();
    let mended = Instant::now();
    loop {
        let usage = server.get_as(&key, "/v1/usage").await;
        let theirs = server.post_as(&other, "/v1/lookup", &warm()).await;
        if usage.status == 200 && theirs.status == 200 {
            break;
        }
        assert!(
            mended.elapsed() < Duration::from_secs(20),
            "{} {}",
            usage.text,
            theirs.text
        );
    }
    eprintln!(
        "PostgreSQL is back: all is well after {:.1?}",
        mended.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn budgets_in_a_postgresql_that_stops_are_unavailable_in_time() {
    let Some((wire, url)) = behind_a_wire("brownstone_it_outage_quota").await else {
        return;
    };
    let server = Server::start(Options {
        variables: quietly(None),
        ..on(&url)
    })
    .await;
    let (_, key) = server.new_account("outage@example.com").await;
    until_back(&server, &key).await;
    away_and_back(&server, &key, "PostgreSQL is gone", async |away| {
        if away {
            wire.cut();
        } else {
            wire.mend();
        }
    })
    .await;
}
