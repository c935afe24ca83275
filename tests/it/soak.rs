//! Mixed traffic for a while, with faults that come and go and a clock that runs ahead: no panic, no leak, and every answer is what the
//! document and the life of a report allow.
//!
//! `TEST_SOAK_TRAFFIC` says how many seconds; half a minute in every run, thirty minutes by `make soak`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{
    Method,
    header::{HeaderMap, HeaderValue},
};
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::{sync::watch, task::JoinSet};

use crate::{
    contract::Contract,
    harness::{Answer, Options, START, Server, json_headers, memory},
};

/// Clients, each with buildings of its own, so that what it sees of one comes in order.
const CLIENTS: usize = 4;
/// How long a fault stays, and how long all is well then.
const FAULT: Duration = Duration::from_secs(3);
/// From here on a third is long enough for caches and the allocator to have settled; a shorter run tells its memory and asserts nothing of it.
const LONG: Duration = Duration::from_secs(170);
/// What may come on top of the first third's memory in a run that is long enough to tell, in KiB.
const SETTLING: f64 = 48.0 * 1024.0;
/// And for each minute of it, in KiB: a leak goes on for good.
const SLOPE: f64 = 256.0;

/// A dataset, its fault, for how many requests; those of all datasets open every breaker for half a minute, and come late.
const FAULTS: [(&str, &str, u32); 10] = [
    ("6bgk-3dad", "disconnect", 9),
    ("wvxf-dwi5", "cut_body", 9),
    ("3h2n-5cm9", "html", 2),
    ("reso", "error", 3),
    ("6bgk-3dad", "wrong_json", 3),
    ("wvxf-dwi5", "gzip_bomb", 2),
    ("*", "throttle", 4),
    ("*", "error", 1_000),
    ("6bgk-3dad", "gone", 50),
    ("*", "disconnect", 1_000),
];

const ADDRESSES: [&str; 12] = [
    "350 5 Avenue, Manhattan",
    "120 Broadway, Manhattan",
    "280 Riverside Drive, Manhattan",
    "700 Brook Avenue, Bronx",
    "335 Garretson Avenue, Staten Island",
    "43-06 46 Street, Queens",
    "635 West 42 Street, Manhattan",
    "1113 York Avenue, Manhattan",
    "1570 Broadway, Manhattan",
    "143 Swaim Avenue, Staten Island",
    "120 Broadway 4C, Manhattan",
    "1018890001",
];

fn seconds() -> u64 {
    match std::env::var("TEST_SOAK_TRAFFIC") {
        Ok(text) => text.parse().expect("TEST_SOAK_TRAFFIC is a number"),
        Err(_) => 30,
    }
}

/// What the clients share.
struct Soak {
    server: Server,
    contract: Contract,
    clock: Mutex<OffsetDateTime>,
    statuses: Mutex<BTreeMap<(&'static str, u16), u64>>,
    rerun: AtomicUsize,
}

impl Soak {
    fn now(&self) -> OffsetDateTime {
        *self.clock.lock().expect("no panic")
    }

    fn advance(&self, by: time::Duration) {
        let mut clock = self.clock.lock().expect("no panic");
        *clock += by;
        self.server.set_clock(*clock);
    }

    fn note(&self, what: &'static str, status: u16) {
        let mut statuses = self.statuses.lock().expect("no panic");
        *statuses.entry((what, status)).or_default() += 1;
    }

    /// One call, held to the document.
    async fn call(&self, path: &'static str, body: &Value) -> Answer {
        let answer = match path {
            "/v1/usage" => self.server.get_as(&self.server.key, path).await,
            _ => self.server.post(path, body).await,
        };
        let method = if path == "/v1/usage" { "get" } else { "post" };
        self.contract.check(path, method, &answer);
        let status = answer.status.as_u16();
        let code = answer.body["code"].as_str();
        let may = matches!(
            (status, code),
            (200, None)
                | (502, Some("upstream_error"))
                | (503, Some("quota_unavailable"))
                | (404, Some("not_found"))
        );
        assert!(may, "{path} {body}: {}", answer.text);
        self.note(path, status);
        answer
    }

    async fn agent(&self, address: &str) {
        let mut headers = json_headers(&self.server.key);
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert("accept", accept);
        let params = json!({"name": "lookup_property", "arguments": {"address": address}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = self
            .server
            .send(Method::POST, "/mcp", headers, call.to_string())
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(
            answer.body["result"]["content"].is_array(),
            "{}",
            answer.text
        );
        self.note("/mcp", 200);
    }
}

/// What a client has seen of a building.
#[derive(Default)]
struct Seen {
    cached_at: String,
    /// Data of the sources that answered.
    answered: HashMap<String, Value>,
}

fn moment(value: &Value) -> OffsetDateTime {
    OffsetDateTime::parse(value.as_str().expect("a moment"), &Rfc3339).expect("a moment")
}

impl Seen {
    /// Holds a report to the life that reports have; the call ran between the two moments.
    fn check(
        &mut self,
        soak: &Soak,
        answer: &Answer,
        before: OffsetDateTime,
        after: OffsetDateTime,
    ) {
        let (week, again) = (time::Duration::days(7), time::Duration::minutes(10));
        let data = answer.data();
        let cache = &data["cache"];
        let (cached_at, refresh) = (
            moment(&cache["cached_at"]),
            moment(&cache["refresh_available_at"]),
        );
        let sources = data["sources"].as_object().expect("sources");
        let failed = sources
            .values()
            .filter(|entry| entry["status"] == "error")
            .count();
        let expires = cached_at + week;
        let slack = time::Duration::seconds(1);
        assert!(
            cached_at <= after + slack,
            "made later than it was served: {cache}"
        );
        assert!(before < expires + slack, "served after its end: {cache}");
        match cache["status"].as_str() {
            Some("ok") => {
                assert_eq!(failed, 0, "{cache}");
                assert_eq!(refresh, expires, "{cache}");
            }
            Some("partial") => {
                assert!(failed > 0, "{cache}");
                assert!(
                    refresh <= expires && refresh <= after + again + slack,
                    "{cache}"
                );
            }
            _ => panic!("{cache}"),
        }
        let made = cache["cached_at"].as_str().unwrap_or_default();
        if made != self.cached_at {
            assert!(
                self.cached_at.is_empty() || moment(&json!(self.cached_at)) < cached_at,
                "an older report came back"
            );
            *self = Self {
                cached_at: made.to_owned(),
                ..Self::default()
            };
        }
        for (key, entry) in sources {
            let status = entry["status"].as_str().expect("a status");
            match self.answered.get(key) {
                // What succeeded is never asked again while the report lives.
                Some(known) => assert_eq!(known, entry, "{key} changed within a report's life"),
                None if matches!(status, "ok" | "not_found") => {
                    if !self.answered.is_empty() {
                        soak.rerun.fetch_add(1, Ordering::Relaxed);
                    }
                    self.answered.insert(key.clone(), entry.clone());
                }
                None => {}
            }
        }
    }
}

async fn client(soak: Arc<Soak>, n: usize, over: watch::Receiver<bool>) {
    let mine: Vec<&str> = ADDRESSES.iter().skip(n).step_by(CLIENTS).copied().collect();
    let mut seen: HashMap<&str, Seen> = HashMap::new();
    let mut turn = n;
    while !*over.borrow() {
        turn += 1;
        let address = mine[turn % mine.len()];
        let at = json!({"address": address});
        match turn % 9 {
            0 => drop(soak.call("/v1/comps", &at).await),
            1 => drop(soak.call("/v1/rentals", &at).await),
            2 => drop(
                soak.call("/v1/search", &json!({"location": "Manhattan", "limit": 20}))
                    .await,
            ),
            3 => drop(
                soak.call("/v1/updates", &json!({"location": "Brooklyn"}))
                    .await,
            ),
            4 => drop(
                soak.call(
                    "/v1/rates",
                    &json!({"home_price": 900_000, "down_payment": 180_000}),
                )
                .await,
            ),
            5 => drop(soak.call("/v1/usage", &Value::Null).await),
            6 => soak.agent(address).await,
            _ => {
                let before = soak.now();
                let answer = soak.call("/v1/lookup", &at).await;
                let after = soak.now();
                if answer.status == 200 {
                    seen.entry(address)
                        .or_default()
                        .check(&soak, &answer, before, after);
                }
            }
        }
    }
}

/// Faults and the clock, until it is over. Each round something breaks, then all is well and time has passed.
async fn trouble(soak: Arc<Soak>, over: watch::Receiver<bool>) -> usize {
    let mut next = tokio::time::interval(FAULT);
    let mut rounds = 0;
    next.tick().await;
    while !*over.borrow() {
        let (dataset, kind, count) = FAULTS[rounds % FAULTS.len()];
        let fault = json!({"kind": kind, "count": count});
        soak.server.put_fault(dataset, &fault).await;
        soak.advance(time::Duration::minutes(11));
        next.tick().await;
        soak.server.clear_faults().await;
        // Every third round a report's whole life.
        let by = match rounds % 3 {
            2 => time::Duration::days(7),
            _ => time::Duration::minutes(11),
        };
        soak.advance(by);
        next.tick().await;
        rounds += 1;
    }
    rounds
}

/// KiB a minute, by least squares.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let (x, y) = samples
        .iter()
        .fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
    let (x, y) = (x / count, y / count);
    let over: f64 = samples.iter().map(|(a, b)| (a - x) * (b - y)).sum();
    let under: f64 = samples.iter().map(|(a, _)| (a - x).powi(2)).sum();
    60.0 * over / under
}

#[test]
fn the_slope_is_that_of_the_line() {
    let line: Vec<_> = (0..60)
        .map(|n| (f64::from(n), 500.0 + 2.0 * f64::from(n)))
        .collect();
    assert!((slope(&line) - 120.0).abs() < 1e-9);
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_traffic_with_faults_leaks_nothing_and_breaks_no_rule() {
    let server = Server::start(Options {
        variables: vec![("BROWNSTONE_LISTINGS_SOURCE".into(), "reso".into())],
        log: Some("warn"),
        ..Options::default()
    })
    .await;
    let wide = ["--per-minute", "10000000", "--per-day", "100000000"];
    server
        .operator(
            &[
                &["limits", "set", "--account", "demo@example.com"],
                &wide[..],
            ]
            .concat(),
        )
        .await;
    while server.usage().await["minute"]["limit"] != 10_000_000 {}
    let contract = Contract::of(&server).await;
    let soak = Arc::new(Soak {
        server,
        contract,
        clock: Mutex::new(START),
        statuses: Mutex::default(),
        rerun: AtomicUsize::new(0),
    });
    let (end, over) = watch::channel(false);
    let mut clients = JoinSet::new();
    for n in 0..CLIENTS {
        clients.spawn(client(Arc::clone(&soak), n, over.clone()));
    }
    let troubles = tokio::spawn(trouble(Arc::clone(&soak), over));
    let whole = Duration::from_secs(seconds());
    let begun = Instant::now();
    let mut samples = Vec::new();
    let mut next = tokio::time::interval(Duration::from_millis(500));
    while begun.elapsed() < whole {
        tokio::select! {
            _ = next.tick() => {
                let resident = memory(soak.server.pid(), "VmRSS:");
                samples.push((begun.elapsed().as_secs_f64(), resident as f64));
            }
            // Clients go on until they are told: one that ends has failed.
            ended = clients.join_next() => ended.expect("clients").expect("no client failed"),
        }
    }
    end.send_replace(true);
    while let Some(ended) = clients.join_next().await {
        ended.expect("no client failed");
    }
    let rounds = troubles.await.expect("the faults went on");
    let later = &samples[samples.len() / 3..];
    let (first, last) = (later[0].1, later[later.len() - 1].1);
    let slope = slope(later);
    let statuses = soak.statuses.lock().expect("no panic").clone();
    println!(
        "{whole:.0?}: {statuses:?}; {rounds} faults, {} sources answered after they had failed; resident {first} KiB after a third, {last} at the end, {slope:.0} KiB a minute",
        soak.rerun.load(Ordering::Relaxed)
    );
    let calls = |path: &str, status: u16| {
        let found = statuses
            .iter()
            .find(|((p, s), _)| *p == path && *s == status);
        found.map_or(0, |(_, count)| *count)
    };
    for path in [
        "/v1/lookup",
        "/v1/comps",
        "/v1/rentals",
        "/v1/search",
        "/v1/updates",
        "/v1/rates",
        "/v1/usage",
        "/mcp",
    ] {
        assert!(calls(path, 200) > 0, "{path}: {statuses:?}");
    }
    assert!(
        soak.rerun.load(Ordering::Relaxed) > 0,
        "no report was completed"
    );
    let ready = soak
        .server
        .send(Method::GET, "/readyz", HeaderMap::new(), "")
        .await;
    assert_eq!(ready.status, 200);
    let text = soak.server.log();
    let panics: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("panicked"))
        .collect();
    assert!(panics.is_empty(), "{panics:?}");
    if whole >= LONG {
        let allowed = SETTLING + SLOPE * whole.as_secs_f64() / 60.0;
        assert!(last - first < allowed, "{first} KiB, then {last}");
    }
}
