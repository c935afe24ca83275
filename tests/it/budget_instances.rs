//! Three processes, one account, 64 clients over REST and MCP: what is granted is within capacity and refill to the unit, no day is passed, and
//! what clients saw is what is counted.
//!
//! `TEST_SOAK_SECONDS` says how long; a few in every run, thirty by `make soak-budget`.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use reqwest::StatusCode;
use serde_json::{Value, json};
use time::{OffsetDateTime, macros::datetime};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::Instant,
};

use crate::{
    at_hand,
    harness::{Options, Server, meta},
    shared_database::database,
};

const CLIENTS: usize = 64;
const COST: u64 = 10;

fn seconds() -> u64 {
    match std::env::var("TEST_SOAK_SECONDS") {
        Ok(text) => text.parse().expect("TEST_SOAK_SECONDS is a number"),
        Err(_) => 4,
    }
}

/// Where the budgets are.
struct Place {
    database_url: String,
    variables: Vec<(String, String)>,
}

async fn in_postgres(name: &str) -> Option<Place> {
    Some(Place {
        database_url: database(name).await?,
        variables: vec![],
    })
}

async fn in_redis(name: &str) -> Option<Place> {
    let redis = at_hand::variable("TEST_REDIS_URL", "make test")?;
    Some(Place {
        database_url: database(name).await?,
        variables: vec![("BROWNSTONE_QUOTA_URL".into(), redis)],
    })
}

impl Place {
    /// Three servers, on the machine's clock or on one in the test's hand.
    async fn instances(&self, real_clock: bool) -> [Server; 3] {
        let options = |clock| Options {
            database_url: Some(self.database_url.clone()),
            variables: self.variables.clone(),
            clock,
            real_clock,
            ..Options::default()
        };
        let first = Server::start(options(None)).await;
        let clock = first.clock();
        let second = Server::start(options(Some(clock.clone()))).await;
        let third = Server::start(options(Some(clock))).await;
        [first, second, third]
    }
}

/// What a client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// It was charged; so much of the day is left.
    Granted(u64),
    /// 429, to try again later.
    Refused,
    /// 503: whether the store charged it in the end is not known.
    Doubtful,
}

/// 64 clients, each on one of the servers, that ask without a pause and tell what they hear.
struct Clients {
    told: mpsc::UnboundedReceiver<(u64, Told)>,
    day: Arc<AtomicU64>,
    over: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Clients {
    fn start(servers: &[Server; 3], key: &str) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let (end, over) = watch::channel(false);
        let day = Arc::new(AtomicU64::new(1));
        let mut tasks = JoinSet::new();
        for n in 0..CLIENTS {
            // Every other client is an agent: both surfaces spend one budget.
            let path = ["v1/lookup", "mcp"][n / servers.len() % 2];
            let url = format!("{}/{path}", servers[n % servers.len()].url);
            let (key, tell, over) = (key.to_owned(), tell.clone(), over.clone());
            let day = day.clone();
            let http = reqwest::Client::new();
            tasks.spawn(async move {
                while !*over.borrow() {
                    let asked = day.load(Ordering::SeqCst);
                    let told = ask(&http, &url, &key).await;
                    tell.send((asked, told))
                        .expect("the test listens to the end");
                }
            });
        }
        Self {
            told,
            day,
            over: end,
            tasks,
        }
    }

    /// What is asked from now on is asked on the next day.
    fn next_day(&self) {
        self.day.fetch_add(1, Ordering::SeqCst);
    }

    /// Adds the next answer to a sum; on which day it was asked for, counted from 1, and what it was. On a busy machine there may be
    /// thousands that wait to be heard.
    async fn hear(&mut self, sum: &mut Sum) -> (u64, Told) {
        let (asked, told) = self.told.recv().await.expect("clients go on");
        sum.add(told);
        (asked, told)
    }

    /// Ends them; what is under way is answered and heard, too.
    async fn end(mut self, sum: &mut Sum) {
        self.over.send_replace(true);
        while let Some((_, told)) = self.told.recv().await {
            sum.add(told);
        }
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("no client failed");
        }
    }
}

async fn ask(http: &reqwest::Client, url: &str, key: &str) -> Told {
    let arguments = json!({"address": "350 5 Avenue, Manhattan"});
    let over_mcp = url.ends_with("/mcp");
    let body = if over_mcp {
        let params = json!({"name": "lookup_property", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    } else {
        arguments
    };
    let answer = loop {
        let call = http
            .post(url)
            .bearer_auth(key)
            .header("accept", "application/json, text/event-stream")
            .json(&body);
        let answer = call.send().await.expect("an answer");
        // A request whose head took five seconds, on a machine that is busy with all of this, never was one.
        if answer.status() != StatusCode::REQUEST_TIMEOUT {
            break answer;
        }
    };
    let status = answer.status().as_u16();
    let waits = answer.headers().contains_key("retry-after");
    let text = answer.text().await.expect("the whole answer");
    match status {
        200 if over_mcp => told_by_result(&text),
        200 => Told::Granted(meta(&text)["daily_remaining"].as_u64().expect("a number")),
        429 => {
            assert!(waits, "{text}");
            Told::Refused
        }
        503 => Told::Doubtful,
        other => panic!("{other}: {text}"),
    }
}

fn told_by_result(text: &str) -> Told {
    let answer: Value = serde_json::from_str(text).expect("it is JSON");
    let result = &answer["result"];
    if result["isError"] != json!(true) {
        let left = &result["structuredContent"]["meta"]["daily_remaining"];
        return Told::Granted(left.as_u64().expect("a number"));
    }
    let envelope = result["content"][0]["text"].as_str().expect("text");
    let envelope: Value = serde_json::from_str(envelope).expect("an envelope");
    match envelope["code"].as_str() {
        Some("rate_limited") => {
            assert!(envelope["retry_after_seconds"].is_u64(), "{envelope}");
            Told::Refused
        }
        Some("quota_unavailable") => Told::Doubtful,
        _ => panic!("{envelope}"),
    }
}

/// What all of them were told together.
#[derive(Debug, Default)]
struct Sum {
    /// How often each figure of what is left was seen.
    left: BTreeMap<u64, u64>,
    refused: u64,
    doubtful: u64,
}

impl Sum {
    fn add(&mut self, told: Told) {
        match told {
            Told::Granted(left) => *self.left.entry(left).or_default() += 1,
            Told::Refused => self.refused += 1,
            Told::Doubtful => self.doubtful += 1,
        }
    }

    fn calls(&self) -> u64 {
        self.left.values().sum()
    }
}

/// Asserts that each server's usage, and so the one counter behind them, tells what clients saw: so much of the day used, and
/// every call that was granted.
async fn assert_counted(servers: &[Server; 3], key: &str, sum: &Sum, used: RangeInclusive<u64>) {
    let begun = Instant::now();
    let number = |value: &Value| value.as_u64().expect("a number");
    for server in servers {
        loop {
            let answer = server.get_as(key, "/v1/usage").await;
            let patient = begun.elapsed() < Duration::from_secs(20);
            if answer.status == 503 && patient {
                continue;
            }
            assert_eq!(answer.status, 200, "{}", answer.text);
            let usage = answer.data();
            let today = number(&usage["day"]["used"]);
            assert!(
                used.contains(&today),
                "{today} used, {used:?} expected, {sum:?}"
            );
            let history = usage["history"].as_array().expect("days");
            let calls = history.iter().map(|day| number(&day["units"])).sum::<u64>() / COST;
            // Another instance's counters are written a second later at most.
            if calls == sum.calls() {
                break;
            }
            assert!(
                calls <= sum.calls(),
                "{calls} calls counted, {} seen",
                sum.calls()
            );
            assert!(patient, "{calls} calls counted, {} seen", sum.calls());
        }
    }
}

async fn new_account(servers: &[Server; 3], limits: [&str; 4]) -> String {
    let (account, key) = servers[0].new_account("many@example.com").await;
    let set = ["limits", "set", "--account", &account];
    servers[0].operator(&[&set[..], &limits[..]].concat()).await;
    // The report is made, so that calls are quick; the sample's key is that of the last one started.
    servers[2].warm().await;
    key
}

/// On the machine's and the store's own clock.
async fn within_capacity_and_refill(place: Place) {
    const CAPACITY: u64 = 1_200;
    const DAY: u64 = 1_000_000;
    let servers = place.instances(true).await;
    let key = new_account(&servers, ["--per-minute", "1200", "--per-day", "1000000"]).await;
    let whole = Duration::from_secs(seconds());
    let (today, begun) = (OffsetDateTime::now_utc().date(), Instant::now());
    let mut clients = Clients::start(&servers, &key);
    let mut sum = Sum::default();
    while begun.elapsed() < whole {
        clients.hear(&mut sum).await;
    }
    clients.end(&mut sum).await;
    let took = begun.elapsed();
    let granted = sum.calls() * COST;
    // 20 units a second.
    let bound = CAPACITY + (took.as_micros() * 20).div_ceil(1_000_000) as u64;
    eprintln!(
        "{took:.1?}: {granted} units granted, {bound} allowed; {} refusals, {} doubtful",
        sum.refused, sum.doubtful
    );
    if OffsetDateTime::now_utc().date() != today {
        at_hand::skipped("it was midnight meanwhile");
        return;
    }
    assert!(granted <= bound, "{granted} granted, {bound} allowed");
    let doubtful = sum.doubtful * COST;
    let due = CAPACITY + whole.as_secs().saturating_sub(3) * 20 - COST;
    assert!(
        granted + doubtful >= due,
        "{granted} granted, {due} are due"
    );
    // Every charge saw another figure; without a doubtful one there is no gap between them.
    assert!(
        sum.left.values().all(|times| *times == 1),
        "a unit was spent twice: {sum:?}"
    );
    if sum.doubtful == 0 {
        let seen: Vec<u64> = sum.left.keys().rev().copied().collect();
        let due: Vec<u64> = (1..=sum.calls()).map(|n| DAY - n * COST).collect();
        assert_eq!(seen, due);
    }
    assert_counted(&servers, &key, &sum, granted..=granted + doubtful).await;
}

/// The clock is in the test's hand, and midnight comes while all ask.
async fn no_day_is_passed_over_midnight(place: Place) {
    const DAY: u64 = 300;
    let servers = place.instances(false).await;
    let key = new_account(&servers, ["--per-minute", "100000", "--per-day", "300"]).await;
    servers[0].set_clock(datetime!(2026-11-27 23:59:30 UTC));
    let mut clients = Clients::start(&servers, &key);
    let mut sum = Sum::default();
    for day in 1..=2 {
        // Who asks on this day and is refused found all of it spent. Everybody is for some time.
        let mut refused = 0;
        while refused < 5 * CLIENTS {
            refused += usize::from(clients.hear(&mut sum).await == (day, Told::Refused));
        }
        assert!(sum.calls() <= day * DAY / COST, "day {day}: {sum:?}");
        if day == 1 {
            servers[0].set_clock(datetime!(2026-11-28 0:00:10 UTC));
            clients.next_day();
        }
    }
    clients.end(&mut sum).await;
    eprintln!(
        "two days: {} calls, {} refusals, {} doubtful",
        sum.calls(),
        sum.refused,
        sum.doubtful
    );
    assert!(sum.left.values().all(|times| *times <= 2), "{sum:?}");
    if sum.doubtful == 0 {
        let due: BTreeMap<u64, u64> = (0..DAY / COST).map(|n| (n * COST, 2)).collect();
        assert_eq!(sum.left, due, "each unit of both days once");
    }
    // Somebody was refused, so it is all spent.
    assert_counted(&servers, &key, &sum, DAY..=DAY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_on_postgresql_grant_no_unit_too_many() {
    if let Some(place) = in_postgres("brownstone_it_three").await {
        within_capacity_and_refill(place).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_on_redis_grant_no_unit_too_many() {
    if let Some(place) = in_redis("brownstone_it_three_redis").await {
        within_capacity_and_refill(place).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_on_postgresql_pass_no_day_over_midnight() {
    if let Some(place) = in_postgres("brownstone_it_midnight").await {
        no_day_is_passed_over_midnight(place).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_on_redis_pass_no_day_over_midnight() {
    if let Some(place) = in_redis("brownstone_it_midnight_redis").await {
        no_day_is_passed_over_midnight(place).await;
    }
}
