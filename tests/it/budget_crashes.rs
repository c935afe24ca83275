//! `kill -9` at any moment, of the server and of the operator's commands: what was acknowledged is there, what was ended
//! stays ended, and no unit comes back.
//!
//! `TEST_SOAK_ROUNDS` says how many times; a few in every run, thirty by `make soak-budget`.

use std::{
    cell::RefCell,
    hash::{BuildHasher as _, RandomState},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    sync::{Notify, watch},
};

use crate::{
    harness::{Options, START, Server, meta},
    shared_database::{database, on},
};

/// Rounds of one test.
fn rounds() -> u32 {
    match std::env::var("TEST_SOAK_ROUNDS") {
        Ok(text) => text.parse().expect("TEST_SOAK_ROUNDS is a number"),
        Err(_) => 6,
    }
}

/// Clients that charge at the same time.
const CLIENTS: usize = 4;

/// What is known of something whose change may have been cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It works.
    Live,
    /// It was ended, and the end was acknowledged.
    Ended,
    /// Whoever ended it was killed before an answer.
    Either,
}

/// A key that was shown to its owner.
#[derive(Debug)]
struct Key {
    text: String,
    /// Known once a list was read.
    id: Option<String>,
    state: Known,
}

/// What an operator's command came to.
enum Outcome {
    /// It was acknowledged: it ended well, or had said so before it was killed.
    Done(String),
    /// It was killed first.
    Cut,
}

/// What the test knows to be true.
struct Book {
    account: String,
    keys: RefCell<Vec<Key>>,
    /// Keys of commands that were killed after they had made one and before they showed it.
    unseen: usize,
    /// Created by a command that was killed, in this round: 0 or 1.
    cut_creations: RefCell<usize>,
    /// Rotations that were killed, in this round: places in `keys`.
    cut_rotations: RefCell<Vec<usize>>,
    /// The ceiling that stands, and the one that a killed command may have set.
    ceiling: RefCell<(u64, Option<u64>)>,
}

/// Runs a command until its end or the round's.
async fn run(server: &Server, over: &watch::Receiver<bool>, arguments: &[&str]) -> Outcome {
    let mut over = over.clone();
    let mut child = server
        .operator_command(arguments)
        .env("BROWNSTONE_TEST_CLOCK", server.clock())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let (mut said, mut complaint) = (String::new(), String::new());
    let mut output = child.stdout.take().expect("its output is piped");
    let mut errors = child.stderr.take().expect("its errors are piped");
    tokio::select! {
        _ = child.wait() => {}
        _ = over.wait_for(|over| *over) => child.start_kill().expect("it can be killed"),
    }
    let status = child.wait().await.expect("its status is known");
    output.read_to_string(&mut said).await.expect("text");
    errors.read_to_string(&mut complaint).await.expect("text");
    if status.success() || said.ends_with('\n') {
        return Outcome::Done(said.trim().to_owned());
    }
    assert!(*over.borrow(), "{arguments:?}: {complaint}");
    Outcome::Cut
}

/// Keys that may work in a round: there is an end to an account's, which is not what is looked for here.
const KEYS: usize = 60;

/// Makes keys until the round is over.
async fn create_keys(server: &Server, over: &watch::Receiver<bool>, book: &Book) {
    let room = || {
        book.keys
            .borrow()
            .iter()
            .filter(|key| key.state != Known::Ended)
            .count()
            < KEYS
    };
    while !*over.borrow() && room() {
        match run(server, over, &["key", "create", "--account", &book.account]).await {
            Outcome::Done(text) => book.keys.borrow_mut().push(Key {
                text,
                id: None,
                state: Known::Live,
            }),
            Outcome::Cut => *book.cut_creations.borrow_mut() += 1,
        }
    }
}

/// Places of the keys that work, and whose place has this remainder by two: two tasks share the keys.
fn mine(book: &Book, remainder: usize) -> Vec<(usize, String)> {
    let keys = book.keys.borrow();
    keys.iter()
        .enumerate()
        .filter(|(place, key)| place % 2 == remainder && key.state == Known::Live)
        .filter_map(|(place, key)| Some((place, key.id.clone()?)))
        .collect()
}

async fn revoke_keys(server: &Server, over: &watch::Receiver<bool>, book: &Book) {
    for (place, id) in mine(book, 0) {
        if *over.borrow() {
            return;
        }
        let outcome = run(server, over, &["key", "revoke", &id]).await;
        book.keys.borrow_mut()[place].state = match outcome {
            Outcome::Done(_) => Known::Ended,
            Outcome::Cut => Known::Either,
        };
    }
}

async fn rotate_keys(server: &Server, over: &watch::Receiver<bool>, book: &Book) {
    for (place, id) in mine(book, 1) {
        if *over.borrow() {
            return;
        }
        match run(server, over, &["key", "rotate", &id]).await {
            Outcome::Done(text) => {
                let mut keys = book.keys.borrow_mut();
                keys[place].state = Known::Ended;
                keys.push(Key {
                    text,
                    id: None,
                    state: Known::Live,
                });
            }
            Outcome::Cut => {
                book.keys.borrow_mut()[place].state = Known::Either;
                book.cut_rotations.borrow_mut().push(place);
            }
        }
    }
}

async fn set_limits(server: &Server, over: &watch::Receiver<bool>, book: &Book) {
    while !*over.borrow() {
        let next = book.ceiling.borrow().0 + 1;
        let text = next.to_string();
        let arguments = [
            "limits",
            "set",
            "--account",
            &book.account,
            "--per-minute",
            &text,
        ];
        match run(server, over, &arguments).await {
            Outcome::Done(_) => *book.ceiling.borrow_mut() = (next, None),
            Outcome::Cut => book.ceiling.borrow_mut().1 = Some(next),
        }
    }
}

/// Suspends and restores by turns; returns what is known at the end: `Live` is not suspended.
async fn suspend(
    server: &Server,
    over: &watch::Receiver<bool>,
    account: &str,
    mut state: Known,
) -> Known {
    while !*over.borrow() {
        let (what, then) = match state {
            Known::Live => ("suspend", Known::Ended),
            _ => ("restore", Known::Live),
        };
        let arguments = ["account", what, "--account", account, "--reason", "a test"];
        match run(server, over, &arguments).await {
            Outcome::Done(_) => state = then,
            Outcome::Cut => return Known::Either,
        }
    }
    state
}

/// Units that a client was told it spent, and units of calls that had no good answer.
#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    surely: u64,
    perhaps: u64,
}

async fn charge(
    url: String,
    key: String,
    over: watch::Receiver<bool>,
    charged: Arc<Notify>,
) -> Spent {
    let http = reqwest::Client::new();
    let mut spent = Spent::default();
    while !*over.borrow() {
        let call = http
            .post(format!("{url}/v1/lookup"))
            .bearer_auth(&key)
            .json(&json!({"address": "350 5 Avenue, Manhattan"}));
        match call.send().await {
            Ok(answer) if answer.status() == 200 => match answer.text().await {
                Ok(body) => {
                    assert_eq!(meta(&body)["units_charged"], 10);
                    spent.surely += 10;
                    charged.notify_one();
                }
                Err(_) => spent.perhaps += 10,
            },
            // The store was too slow for its deadline, and may have charged.
            Ok(answer) if answer.status() == 503 => spent.perhaps += 10,
            // A head that took five seconds never was a request.
            Ok(answer) if answer.status() == 408 => {}
            Ok(answer) => panic!("{}", answer.status()),
            Err(_) => spent.perhaps += 10,
        }
    }
    spent
}

async fn status(server: &Server, key: &str) -> u16 {
    server.get_as(key, "/v1/usage").await.status.as_u16()
}

/// Reads usage; a machine that is busy may need a second try within the store's deadline.
async fn usage(server: &Server, key: &str) -> Value {
    let begun = tokio::time::Instant::now();
    loop {
        let answer = server.get_as(key, "/v1/usage").await;
        if answer.status == 200 {
            return answer.data().clone();
        }
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// Compares what is there with what was acknowledged, and learns what was left open.
async fn check_keys(server: &Server, book: &mut Book) {
    let texts: Vec<(String, Known)> = (book.keys.borrow().iter())
        .map(|key| (key.text.clone(), key.state))
        .collect();
    for (place, (text, known)) in texts.into_iter().enumerate() {
        let works = match status(server, &text).await {
            401 => false,
            200 | 503 => true,
            other => panic!("key {place}: {other}"),
        };
        match known {
            Known::Live => assert!(works, "key {place} was made, and is gone"),
            Known::Ended => assert!(!works, "key {place} was ended, and is back"),
            Known::Either => {
                book.keys.borrow_mut()[place].state =
                    if works { Known::Live } else { Known::Ended };
            }
        }
    }
    let list = server
        .operator(&["key", "list", "--account", &book.account])
        .await;
    // A rotation ends the old key and makes the new one, or does neither.
    let mut keys = book.keys.borrow_mut();
    let rotated = (book.cut_rotations.take().into_iter())
        .filter(|place| keys[*place].state == Known::Ended)
        .count();
    let active: Vec<&str> = list
        .lines()
        .filter(|line| line.contains("  active  "))
        .collect();
    let seen = keys.iter().filter(|key| key.state == Known::Live).count();
    let more = active.len().checked_sub(seen + book.unseen + rotated);
    let more = more.unwrap_or_else(|| {
        panic!(
            "{seen} keys work, {} too, {rotated} more:\n{list}",
            book.unseen
        )
    });
    assert!(
        more <= book.cut_creations.take(),
        "{more} keys out of nothing"
    );
    book.unseen += rotated + more;
    // Their ids, for the next round.
    for key in keys.iter_mut().filter(|key| key.state == Known::Live) {
        let mark = format!("…{}  ", &key.text[key.text.len() - 4..]);
        let mut ids = active.iter().filter(|line| line.contains(&mark));
        let line = ids.next().expect("a key that works is in the list");
        // Two that look alike are left alone.
        key.id = match ids.next() {
            None => line.split_whitespace().next().map(str::to_owned),
            Some(_) => None,
        };
    }
}

/// `block` is what a crash may cost an account beyond what it spent.
async fn what_was_acknowledged_is_there(options: impl Fn() -> Options, block: u64) {
    let mut server = Server::start(options()).await;
    let (account, first) = server.new_account("keys@example.com").await;
    let (watched, watched_key) = server.new_account("watched@example.com").await;
    let (spender, spender_key) = server.new_account("spender@example.com").await;
    let wide = ["--per-minute", "1000000", "--per-day", "1000000"];
    server
        .operator(&[&["limits", "set", "--account", &spender], &wide[..]].concat())
        .await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            &account,
            "--per-minute",
            "1000",
        ])
        .await;
    let mut book = Book {
        account,
        keys: RefCell::new(vec![Key {
            text: first.clone(),
            id: None,
            state: Known::Live,
        }]),
        unseen: 0,
        cut_creations: RefCell::default(),
        cut_rotations: RefCell::default(),
        ceiling: RefCell::new((1_000, None)),
    };
    let mut suspension = Known::Live;
    let mut used = 0;
    let (mut changes, mut charged) = (0, 0);
    // The report is made before the first round, and the new ceilings are in force.
    while usage(&server, &spender_key).await["minute"]["limit"] != 1_000_000 {}
    server.warm().await;
    check_keys(&server, &mut book).await;
    for round in 1..=rounds() {
        let random = RandomState::new().hash_one(round);
        let moment = Duration::from_millis(50 + random % 1_200);
        let (end, over) = watch::channel(false);
        let paid = Arc::new(Notify::new());
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                tokio::spawn(charge(
                    server.url.clone(),
                    spender_key.clone(),
                    over.clone(),
                    paid.clone(),
                ))
            })
            .collect();
        let kill = async {
            // Every other time while calls are charged, whatever the machine is busy with; else at any moment of a start.
            if round % 2 == 0 {
                let paid = tokio::time::timeout(Duration::from_secs(60), paid.notified());
                paid.await.expect("a call is charged");
            }
            tokio::time::sleep(moment).await;
            server.kill();
            end.send_replace(true);
        };
        let known = book.keys.borrow().len();
        let ((), (), (), (), (), now) = tokio::join!(
            kill,
            create_keys(&server, &over, &book),
            revoke_keys(&server, &over, &book),
            rotate_keys(&server, &over, &book),
            set_limits(&server, &over, &book),
            suspend(&server, &over, &watched, suspension),
        );
        suspension = now;
        changes += book.keys.borrow().len() - known;
        let mut spent = Spent::default();
        for client in clients {
            let one = client.await.expect("it ends");
            spent.surely += one.surely;
            spent.perhaps += one.perhaps;
        }
        charged += spent.surely;

        server = server.crash(options()).await;
        // A bucket that crashed is empty for a minute.
        server.set_clock(START + 61 * time::Duration::SECOND * round);
        check_keys(&server, &mut book).await;
        suspension = match (suspension, status(&server, &watched_key).await) {
            (Known::Live | Known::Either, 200 | 503) => Known::Live,
            (Known::Ended | Known::Either, 403) => Known::Ended,
            (known, status) => panic!("round {round}: suspension {known:?}, answer {status}"),
        };
        let after = usage(&server, &spender_key).await["day"]["used"]
            .as_u64()
            .expect("a number");
        assert!(
            (used + spent.surely..=used + spent.surely + spent.perhaps + block).contains(&after),
            "round {round}, killed after {moment:?}: {after} used, after {used} and {spent:?}"
        );
        used = after;
        let owner = (book.keys.borrow().iter())
            .find(|key| key.state == Known::Live)
            .map(|key| key.text.clone());
        if let Some(key) = owner {
            let limit = usage(&server, &key).await["minute"]["limit"]
                .as_u64()
                .expect("a number");
            let (sure, perhaps) = *book.ceiling.borrow();
            assert!(
                limit == sure || Some(limit) == perhaps,
                "round {round}: {limit}, {sure} was acknowledged"
            );
            *book.ceiling.borrow_mut() = (limit, None);
        }
    }
    let ended = (book.keys.borrow().iter())
        .filter(|key| key.state == Known::Ended)
        .count();
    eprintln!(
        "{} rounds: {changes} keys made, {ended} ended, {charged} units charged, {used} counted",
        rounds()
    );
    assert!(
        changes > 0 && ended > 0 && charged > 0,
        "something happened"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_every_kill_on_sqlite() {
    what_was_acknowledged_is_there(Options::default, 5_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_every_kill_on_postgresql() {
    if let Some(url) = database("brownstone_it_crashes").await {
        what_was_acknowledged_is_there(|| on(&url), 0).await;
    }
}
