//! Instances end while they are called: by SIGTERM nobody notices, by `kill -9` nobody waits for long or pays twice.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet};

use crate::{
    harness::{Options, START, Server, asked_again},
    shared_database::{database, on},
};

const CLIENTS: usize = 12;
/// A lease is 15 seconds, a call 20.
const CALL: Duration = Duration::from_secs(20);

/// What a proxy in front of instances does: the next one in turn of those that say they are ready, over connections that are kept. One that
/// refuses the connection is passed over; what was sent is not sent again.
struct Balancer {
    instances: Mutex<Vec<Instance>>,
    turn: AtomicUsize,
    http: reqwest::Client,
    passed_over: AtomicUsize,
}

#[derive(Clone)]
struct Instance {
    url: String,
    ready: bool,
}

impl Instance {
    fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            ready: true,
        }
    }
}

impl Balancer {
    fn over(instances: &[&Server]) -> Self {
        let instances = instances.iter().map(|server| Instance::new(&server.url));
        Self {
            instances: Mutex::new(instances.collect()),
            turn: AtomicUsize::new(0),
            http: reqwest::Client::new(),
            passed_over: AtomicUsize::new(0),
        }
    }

    fn set(&self, place: usize, url: &str) {
        self.instances.lock().expect("no panic")[place] = Instance::new(url);
    }

    /// Asks each instance several times a second whether it is ready, until it is over.
    async fn watch(self: Arc<Self>, over: watch::Receiver<bool>) {
        let mut next = tokio::time::interval(Duration::from_millis(100));
        while !*over.borrow() {
            next.tick().await;
            let known = self.instances.lock().expect("no panic").clone();
            for instance in known {
                let answer = self
                    .http
                    .get(format!("{}/readyz", instance.url))
                    .send()
                    .await;
                let ready = answer.is_ok_and(|answer| answer.status() == 200);
                let mut instances = self.instances.lock().expect("no panic");
                let same = instances.iter_mut().find(|other| other.url == instance.url);
                if let Some(same) = same {
                    same.ready = ready;
                }
            }
        }
    }

    /// All of them, the next in turn last, and those that are not ready first.
    fn in_turn(&self) -> Vec<String> {
        let mut instances = self.instances.lock().expect("no panic").clone();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % instances.len();
        instances.rotate_left(turn);
        instances.reverse();
        instances.sort_by_key(|instance| instance.ready);
        instances.into_iter().map(|instance| instance.url).collect()
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        key: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let mut instances = self.in_turn();
        while let Some(url) = instances.pop() {
            let request = self
                .http
                .request(method.clone(), format!("{url}{path}"))
                .bearer_auth(key);
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            match request.send().await {
                // A head that took five seconds, on a machine that is busy with all of this, never was a request.
                Ok(answer) if answer.status() == 408 => instances.push(url),
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let text = answer.text().await.expect("a whole answer");
                    return (status, serde_json::from_str(&text).expect("JSON"));
                }
                Err(fault) if fault.is_connect() => {
                    self.passed_over.fetch_add(1, Ordering::Relaxed);
                }
                Err(fault) => panic!("a call failed: {fault:?}"),
            }
        }
        panic!("no instance takes a connection");
    }
}

async fn client(
    balancer: Arc<Balancer>,
    n: usize,
    key: String,
    over: watch::Receiver<bool>,
) -> (u64, u64) {
    let warm = json!({"address": "350 5 Avenue, Manhattan"});
    let (mut answered, mut doubtful) = (0, 0);
    while !*over.borrow() {
        let (method, path, body) = match n % 3 {
            0 => (Method::GET, "/v1/usage", None),
            _ => (Method::POST, "/v1/lookup", Some(&warm)),
        };
        let (status, body) = balancer.call(method, path, &key, body).await;
        match (status, body["code"].as_str()) {
            (200, _) => answered += 1,
            // The store of the budgets has a tenth of a second, which this machine does not always give it.
            (503, Some("quota_unavailable")) => doubtful += 1,
            _ => panic!("{status}: {body}"),
        }
    }
    (answered, doubtful)
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_replaced_one_by_one_and_no_call_fails() {
    let Some(url) = database("brownstone_it_rolling").await else {
        return;
    };
    let mut instances = [Server::start(on(&url)).await, Server::start(on(&url)).await];
    let (account, key) = instances[0].new_account("rolling@example.com").await;
    let wide = ["--per-minute", "1000000", "--per-day", "10000000"];
    instances[0]
        .operator(&[&["limits", "set", "--account", &account], &wide[..]].concat())
        .await;
    instances[1].warm().await;
    let usage = || instances[0].get_as(&key, "/v1/usage");
    while usage().await.data()["minute"]["limit"] != 1_000_000 {}

    let balancer = Arc::new(Balancer::over(&[&instances[0], &instances[1]]));
    let (end, over) = watch::channel(false);
    let mut clients = JoinSet::new();
    for n in 0..CLIENTS {
        clients.spawn(client(Arc::clone(&balancer), n, key.clone(), over.clone()));
    }
    clients.spawn({
        let (balancer, over) = (Arc::clone(&balancer), over.clone());
        async move {
            balancer.watch(over).await;
            (0, 0)
        }
    });
    for place in [0, 1, 0] {
        let turn = balancer.turn.load(Ordering::Relaxed);
        while balancer.turn.load(Ordering::Relaxed) < turn + 100 {
            tokio::task::yield_now().await;
        }
        let begun = Instant::now();
        assert!(instances[place].stop().await.success());
        println!("instance {place} ended after {:.2?}", begun.elapsed());
        instances[place] = Server::start(on(&url)).await;
        balancer.set(place, &instances[place].url);
    }
    end.send_replace(true);
    let (mut answered, mut doubtful) = (0, 0);
    while let Some(ended) = clients.join_next().await {
        let (more, in_doubt) = ended.expect("no call failed");
        (answered, doubtful) = (answered + more, doubtful + in_doubt);
    }
    let passed_over = balancer.passed_over.load(Ordering::Relaxed);
    println!("{answered} calls answered, {doubtful} in doubt, {passed_over} connections refused");
    assert!(answered > 300, "{answered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_stops_says_so_closes_connections_and_ends_its_calls() {
    let mut server = Server::sample().await;
    server.set_latency("6bgk-3dad", 2_000).await;
    let http = reqwest::Client::new();
    let lookup = http
        .post(format!("{}/v1/lookup", server.url))
        .bearer_auth(&server.key)
        .json(&json!({"address": "700 Brook Avenue, Bronx"}))
        .send();
    let lookup = tokio::spawn(lookup);
    while !server.city_calls().await.contains_key("6bgk-3dad") {}
    server.terminate();
    loop {
        let ready = server
            .send(Method::GET, "/readyz", HeaderMap::new(), "")
            .await;
        if ready.status == 503 {
            assert_eq!(ready.header("connection"), Some("close"));
            break;
        }
    }
    let answer = lookup.await.expect("it ends").expect("it is answered");
    assert_eq!(answer.status(), 200);
    assert!(server.ended().await.success());
}

/// A call that was cut off by `kill -9`, and the next one, of whoever serves then: `used` units at most were taken for both.
async fn after_a_kill(next: &Server, key: &str, address: &str, calls: u64) {
    let mut begun = Instant::now();
    let (answer, doubtful) = asked_again(async || {
        begun = Instant::now();
        next.post_as(key, "/v1/lookup", &json!({"address": address}))
            .await
    })
    .await;
    let took = begun.elapsed();
    let calls = calls + doubtful;
    println!("the lookup after the kill took {took:.1?}");
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(took < CALL, "{took:?}");
    let usage = next.usage_as(key).await;
    let used = usage["day"]["used"].as_u64().expect("units");
    assert!(
        (10..=10 * calls).contains(&used),
        "{used} for {calls} calls"
    );
}

/// Kills the server while it assembles a report; returns the calls that may have been charged.
async fn kill_in_assembly(server: &Server, key: &str, address: &str) -> u64 {
    server.set_latency("6bgk-3dad", 9_000).await;
    server.reset_city_calls().await;
    let ask = || {
        let call = reqwest::Client::new()
            .post(format!("{}/v1/lookup", server.url))
            .bearer_auth(key)
            .json(&json!({"address": address}));
        tokio::spawn(call.send())
    };
    let (mut call, mut calls) = (ask(), 1);
    while !server.city_calls().await.contains_key("6bgk-3dad") {
        // Shared budgets may miss their tenth of a second on a busy machine.
        if call.is_finished() {
            let answer = call.await.expect("it ends").expect("an answer");
            assert_eq!(answer.status(), 503);
            call = ask();
            calls += 1;
        }
    }
    server.kill();
    call.await.expect("it ends").expect_err("nobody answers");
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_killed_in_an_assembly_leaves_it_to_the_other() {
    let Some(url) = database("brownstone_it_killed").await else {
        return;
    };
    let (one, two) = (Server::start(on(&url)).await, Server::start(on(&url)).await);
    let (_, key) = one.new_account("killed@example.com").await;
    let address = "700 Brook Avenue, Bronx";
    let killed = kill_in_assembly(&one, &key, address).await;
    after_a_kill(&two, &key, address, killed + 1).await;
    // It was assembled once: who asks again has it from the cache.
    two.reset_city_calls().await;
    two.lookup(address).await;
    assert!(two.city_calls().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_an_assembly_takes_it_up_when_it_is_back() {
    let server = Server::sample().await;
    let (_, key) = server.new_account("killed@example.com").await;
    let address = "700 Brook Avenue, Bronx";
    kill_in_assembly(&server, &key, address).await;
    let server = server.crash(Options::default()).await;
    // A crash empties the minute's bucket.
    server.set_clock(START + time::Duration::minutes(2));
    // On SQLite a crash may cost what was set aside of the day: 50 units, or five calls.
    after_a_kill(&server, &key, address, 7).await;
}
