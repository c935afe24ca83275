//! A bad network between the server and what is behind it: each fault has its honest answer, and all is well when it is over.

use std::time::{Duration, Instant};

use brownstone_sample_city::SampleCity;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    at_hand,
    harness::{Answer, Options, START, Server},
    shared_database::{database, on},
    wire::{Fault, Wire},
};

/// What an answer may take, on a busy machine: beyond it something hangs.
const GENEROUS: Duration = Duration::from_secs(5);
/// How long after a fault all must be well again.
const BACK_WITHIN: Duration = Duration::from_secs(10);
/// Longer than budgets wait for their store.
const LATE: Duration = Duration::from_millis(400);

/// The faults by which a store does not answer in its tenth of a second.
const SILENCING: [Fault; 6] = [
    Fault::Latency(LATE),
    Fault::CutAfter(3),
    Fault::Blackhole,
    Fault::HalfClose,
    Fault::Reset,
    Fault::Cut,
];

const WARM: &str = "350 5 Avenue, Manhattan";

async fn ask(server: &Server, key: &str, address: &str) -> (Answer, Duration) {
    let begun = Instant::now();
    let body = json!({"address": address});
    let answer = server.post_as(key, "/v1/lookup", &body).await;
    (answer, begun.elapsed())
}

/// Lookups until one succeeds, none of them anything but 200 or 503; returns how long that took and how many were in doubt.
async fn back(server: &Server, key: &str) -> (Duration, u64) {
    let begun = Instant::now();
    let mut doubtful = 0;
    loop {
        let (answer, _) = ask(server, key, WARM).await;
        if answer.status == 200 {
            return (begun.elapsed(), doubtful);
        }
        answer.assert_failure(503, "quota_unavailable");
        doubtful += 1;
        assert!(begun.elapsed() < BACK_WITHIN, "it never comes back");
    }
}

/// Under each fault of the budgets' store calls are 503 in time, and after it they go on; no unit is charged twice.
async fn budgets_behind(wire: &Wire, server: &Server) {
    let (account, key) = server.new_account("faults@example.com").await;
    let wide = ["--per-minute", "1000000", "--per-day", "1000000"];
    server
        .operator(&[&["limits", "set", "--account", &account], &wide[..]].concat())
        .await;
    let (_, mut doubtful) = back(server, &key).await;
    let mut granted = 1;
    wire.set(Fault::Latency(Duration::from_millis(5)));
    let (_, more) = back(server, &key).await;
    (granted, doubtful) = (granted + 1, doubtful + more);
    for fault in SILENCING {
        wire.set(fault);
        let mut slowest = Duration::ZERO;
        let mut refused = 0;
        // The first call may still have its answer: the fault comes while the store is asked.
        for n in 0..6 {
            let (answer, took) = ask(server, &key, WARM).await;
            slowest = slowest.max(took);
            if n == 0 && answer.status == 200 {
                granted += 1;
                continue;
            }
            answer.assert_failure(503, "quota_unavailable");
            assert!(answer.header("retry-after").is_some(), "{fault:?}");
            refused += 1;
        }
        doubtful += refused;
        assert!(slowest < GENEROUS, "{fault:?}: {slowest:?}");
        wire.mend();
        let (after, more) = back(server, &key).await;
        (granted, doubtful) = (granted + 1, doubtful + more);
        println!("{fault:?}: the slowest of 6 answers {slowest:.0?}, back after {after:.0?}");
    }
    let begun = Instant::now();
    let usage = loop {
        let answer = server.get_as(&key, "/v1/usage").await;
        if answer.status == 200 {
            break answer;
        }
        assert!(begun.elapsed() < BACK_WITHIN, "{}", answer.text);
    };
    let used = usage.data()["day"]["used"].as_u64().expect("units");
    let most = 10 * (granted + doubtful);
    assert!(
        (10 * granted..=most).contains(&used),
        "{used} units for {granted} answers and {doubtful} in doubt"
    );
}

/// A wire to the server of this URL, and the URL by it.
async fn wired(url: &str) -> (Wire, String) {
    let mut url = url::Url::parse(url).expect("an address");
    let host = url.host_str().expect("a host").to_owned();
    let wire = Wire::to(format!("{host}:{}", url.port().expect("a port"))).await;
    url.set_port(Some(wire.port())).expect("a port");
    (wire, url.as_str().trim_end_matches('/').to_owned())
}

fn quiet() -> (String, String) {
    ("BROWNSTONE_LOG".to_owned(), "off".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_network_to_redis_is_unavailable_budgets_and_passes() {
    let (Some(redis), Some(url)) = (
        at_hand::variable("TEST_REDIS_URL", "make test"),
        database("brownstone_it_faults_redis").await,
    ) else {
        return;
    };
    let (wire, redis) = wired(&redis).await;
    let server = Server::start(Options {
        variables: vec![("BROWNSTONE_QUOTA_URL".to_owned(), redis), quiet()],
        ..on(&url)
    })
    .await;
    budgets_behind(&wire, &server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_network_to_postgresql_is_unavailable_budgets_and_passes() {
    let Some(url) = database("brownstone_it_faults").await else {
        return;
    };
    let (wire, url) = wired(&url).await;
    let server = Server::start(Options {
        variables: vec![quiet()],
        ..on(&url)
    })
    .await;
    budgets_behind(&wire, &server).await;
}

/// The statuses of a report's sources.
fn count(answer: &Answer, status: &str) -> usize {
    let sources = answer.data()["sources"].as_object().expect("sources");
    let is = |entry: &&Value| entry["status"] == status;
    sources.values().filter(is).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_network_to_the_publishers_is_in_the_sources_and_passes() {
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let (wire, records) = wired(&city.url()).await;
    let server = Server::start(Options {
        live_sources: true,
        variables: [
            ("SODA_URL", records.clone()),
            ("NYS_SODA_URL", city.url()),
            ("FEMA_URL", city.url()),
            ("GEOSEARCH_URL", city.url()),
        ]
        .map(|(name, value)| (format!("BROWNSTONE_{name}"), value))
        .into_iter()
        .chain([quiet()])
        .collect(),
        ..Options::default()
    })
    .await;
    let key = server.key.clone();
    let wide = ["--per-minute", "100000", "--per-day", "100000"];
    server
        .operator(
            &[
                &["limits", "set", "--account", "owner@example.com"],
                &wide[..],
            ]
            .concat(),
        )
        .await;
    let mut now = START;
    for (fault, address) in [
        (Fault::Reset, "120 Broadway, Manhattan"),
        (Fault::CutAfter(40), "280 Riverside Drive, Manhattan"),
        (Fault::HalfClose, "700 Brook Avenue, Bronx"),
        (Fault::Blackhole, "335 Garretson Avenue, Staten Island"),
    ] {
        wire.set(fault);
        let (answer, took) = ask(&server, &key, address).await;
        assert!(took < Duration::from_secs(19), "{fault:?}: {took:?}");
        // The state's and the federal sources answer: a report, and the city's are errors in it.
        assert_eq!(answer.status, 200, "{fault:?}: {}", answer.text);
        assert_eq!(answer.data()["cache"]["status"], "partial", "{fault:?}");
        let failed = count(&answer, "error");
        assert!(failed > 40, "{fault:?}: {failed}");
        wire.mend();
        // Ten minutes later what failed is asked again, and no breaker is open any more.
        now = whole_after(&server, address, now, failed).await;
        println!("{fault:?}: {failed} sources were errors after {took:.1?}, and answered later");
    }
}

/// Moves the clock by ten minutes until the report is whole; returns the clock. A breaker is open for 30 seconds of the machine's time.
async fn whole_after(
    server: &Server,
    address: &str,
    mut now: OffsetDateTime,
    failed: usize,
) -> OffsetDateTime {
    let begun = Instant::now();
    loop {
        now += time::Duration::minutes(11);
        server.set_clock(now);
        let (answer, _) = ask(server, &server.key, address).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let errors = count(&answer, "error");
        assert!(errors <= failed, "{errors} errors after {failed}");
        if answer.data()["cache"]["status"] == "ok" {
            return now;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{errors} errors");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
