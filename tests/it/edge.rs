//! Malformed, oversized and slow requests over raw sockets: each gets the right code or a closed connection, within bounded memory, while
//! others are served.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    task::JoinSet,
};

use crate::harness::{Options, Server, peak_memory};

mod cases;

/// Which listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listener {
    Api,
    Web,
    Metrics,
}

/// What must come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The parser's own refusal: this status, no body, the connection closed.
    Bare(u16),
    /// The error envelope with its request id.
    Envelope(u16, &'static str),
    /// A JSON-RPC refusal.
    Rpc(u16),
    /// This status, whatever its body.
    Status(u16),
    /// Closed, or this bare status: how far the parser had come decides.
    ClosedOr(u16),
}

/// How the bytes are sent after the first piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// All of it at once.
    Whole,
    /// The second piece again and again, a few times a second, until an answer or the end comes.
    Drip,
    /// The second piece again and again as fast as it goes.
    Flood,
}

/// One hostile request.
struct Case {
    name: &'static str,
    to: Listener,
    first: Vec<u8>,
    again: Vec<u8>,
    pace: Pace,
    outcome: Outcome,
}

/// How long an answer may take; slow cases end by the server's own bounds of five seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the server may need beyond what it had when it was warm, in KiB: fifty hostile clients at once.
const MEMORY_KIB: u64 = 48 * 1024;
/// What twenty clients may cost that read nothing: each has an answer waiting, a part of it in a buffer of its own.
const UNREAD_KIB: u64 = 48 * 1024;

/// An answer as it came over the wire.
#[derive(Debug, Default)]
struct Raw {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Raw {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (sent, value) = line.split_once(':')?;
            sent.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Reads one answer; `None` where the connection ends without one.
async fn answer(from: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<Raw> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(from.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).expect("a head is text");
    let status = head.split(' ').nth(1)?.parse().expect("a status");
    let mut raw = Raw {
        status,
        head,
        body: Vec::new(),
    };
    let length = raw.header("content-length").map(str::parse);
    raw.body = vec![0; length.unwrap_or(Ok(0)).expect("a length")];
    // A reset may cut the body of a refusal to a client that still sends.
    from.read_exact(&mut raw.body).await.ok()?;
    Some(raw)
}

/// Plays one case; returns what came, and whether the connection was closed then.
async fn play(case: &Case, address: &str) -> (Option<Raw>, bool) {
    let stream = TcpStream::connect(address).await.expect("it is accepted");
    let (mut from, mut to) = stream.into_split();
    let sending = async {
        // The server may close while we send: that is one of the right outcomes.
        let mut open = to.write_all(&case.first).await.is_ok();
        let mut next = tokio::time::interval(Duration::from_millis(200));
        while open && case.pace != Pace::Whole {
            if case.pace == Pace::Drip {
                next.tick().await;
            }
            open = to.write_all(&case.again).await.is_ok();
        }
        std::future::pending::<()>().await;
    };
    let heard = async {
        let mut raw = answer(&mut from).await;
        while matches!(&raw, Some(raw) if raw.status == 100) {
            raw = answer(&mut from).await;
        }
        let may_go_on = matches!(
            case.outcome,
            Outcome::Envelope(..) | Outcome::Rpc(_) | Outcome::Status(_)
        );
        if raw.is_none() || may_go_on {
            let closed = raw.is_none();
            return (raw, closed);
        }
        let mut rest = Vec::new();
        // The end may be a reset.
        let _ended = from.read_to_end(&mut rest).await;
        (raw, true)
    };
    let playing = async {
        tokio::select! {
            () = sending => unreachable!("sending never ends"),
            outcome = heard => outcome,
        }
    };
    tokio::time::timeout(PATIENCE, playing)
        .await
        .unwrap_or_else(|_| panic!("{}: no answer and no end", case.name))
}

fn judge(case: &Case, came: &Option<Raw>, closed: bool) -> Result<(), String> {
    let status = came.as_ref().map(|raw| raw.status);
    let json = |raw: &Raw| serde_json::from_slice::<Value>(&raw.body).unwrap_or_default();
    let right = match (case.outcome, came) {
        (Outcome::Bare(wanted), Some(raw)) => raw.status == wanted && raw.body.is_empty() && closed,
        (Outcome::Envelope(wanted, code), Some(raw)) => {
            let body = json(raw);
            raw.status == wanted
                && body["code"] == code
                && body["request_id"].is_string()
                && body["request_id"].as_str() == raw.header("x-request-id")
        }
        (Outcome::Rpc(wanted), Some(raw)) => {
            raw.status == wanted
                && json(raw)["error"]["message"].is_string()
                && raw.header("x-request-id").is_some()
        }
        (Outcome::Status(wanted), Some(raw)) => raw.status == wanted,
        (Outcome::ClosedOr(wanted), Some(raw)) => raw.status == wanted && closed,
        (Outcome::ClosedOr(_), None) => closed,
        _ => false,
    };
    if right {
        return Ok(());
    }
    let body = came
        .as_ref()
        .map(|raw| String::from_utf8_lossy(&raw.body).into_owned());
    Err(format!(
        "{}: {:?} wanted, {status:?} came, closed: {closed}, {body:?}",
        case.name, case.outcome
    ))
}

/// Asks for usage on a connection of its own until it is told that the others are done; returns how often, and the slowest.
async fn good_client(url: String, key: String, over: watch::Receiver<bool>) -> (u32, Duration) {
    let http = reqwest::Client::new();
    let (mut answered, mut slowest) = (0, Duration::ZERO);
    while !*over.borrow() {
        let begun = Instant::now();
        let call = http.get(format!("{url}/v1/usage")).bearer_auth(&key);
        let answer = call.send().await.expect("a good request is answered");
        assert_eq!(answer.status(), 200);
        answered += 1;
        slowest = slowest.max(begun.elapsed());
    }
    (answered, slowest)
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_are_refused_and_disturb_nobody() {
    let server = Server::start(Options {
        log: Some("info"),
        ..Options::default()
    })
    .await;
    server.warm().await;
    let place = |url: &str| {
        url.trim_start_matches("http://")
            .trim_end_matches("/metrics")
            .to_owned()
    };
    let (api, web) = (place(&server.url), place(&server.web));
    let metrics = place(&server.metrics);
    let before = peak_memory(server.pid());
    let (end, over) = watch::channel(false);
    let good = tokio::spawn(good_client(server.url.clone(), server.key.clone(), over));
    let cases = cases::all(&server.key);
    let count = cases.len();
    assert!(count >= 40, "{count}");
    let mut playing = JoinSet::new();
    for case in cases {
        let address = match case.to {
            Listener::Api => api.clone(),
            Listener::Web => web.clone(),
            Listener::Metrics => metrics.clone(),
        };
        playing.spawn(async move {
            let (came, closed) = play(&case, &address).await;
            judge(&case, &came, closed).err()
        });
    }
    let mut wrong = Vec::new();
    while let Some(judged) = playing.join_next().await {
        wrong.extend(judged.expect("a case is played"));
    }
    end.send_replace(true);
    let (answered, slowest) = good.await.expect("the good client is served");
    let grown = peak_memory(server.pid()) - before;
    println!(
        "{count} hostile requests; {answered} good ones beside them, the slowest {slowest:.0?}; peak memory {before} KiB and {grown} more"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Whoever sends nonsense all day must not be able to fill a log: what the parser refuses leaves no line in it.
    let log = server.log();
    let noise: Vec<&str> = log.lines().filter(|line| line.contains("actix")).collect();
    assert!(noise.is_empty(), "{noise:#?}");
    assert!(answered > 0);
    assert!(grown < MEMORY_KIB, "{grown} KiB more");
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() {
    let server = Server::sample().await;
    let address = server.url.trim_start_matches("http://");
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (mut from, mut to) = stream.into_split();
    let paths = ["healthz", "nothing", "version", "v1/usage"];
    let mut sent = String::new();
    for n in 0..60 {
        let path = paths[n % paths.len()];
        sent.push_str(&format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    let writing = tokio::spawn(async move {
        to.write_all(sent.as_bytes()).await.expect("it is taken");
        to
    });
    for n in 0..60 {
        let raw = tokio::time::timeout(PATIENCE, answer(&mut from)).await;
        let raw = raw.expect("in time").expect("an answer for each");
        assert_eq!(raw.status, [200, 404, 200, 401][n % paths.len()], "{n}");
    }
    writing.await.expect("all was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_costs_little_and_holds_up_nobody() {
    let server = Server::sample().await;
    server.warm().await;
    let address = server.url.trim_start_matches("http://").to_owned();
    let before = peak_memory(server.pid());
    let body = r#"{"address":"350 5 Avenue, Manhattan"}"#;
    let request = format!(
        "POST /v1/lookup HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.key,
        body.len()
    );
    // More answers than the sockets hold, and behind them requests as short as they can be: none of these may be made one of before its turn.
    let ahead = [
        "GET /openapi.json HTTP/1.1\r\nHost:a\r\n\r\n".repeat(8),
        "GET / HTTP/1.1\r\nHost:a\r\n\r\n".repeat(20_000),
    ]
    .concat();
    let mut held = Vec::new();
    for _ in 0..20 {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let place = address.parse().expect("an address");
        let mut stream = socket.connect(place).await.expect("a connection");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is taken");
        let asking = stream.write_all(ahead.as_bytes());
        let _not_taken = tokio::time::timeout(Duration::from_millis(100), asking).await;
        held.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(server.get_as(&server.key, "/v1/usage").await.status, 200);
    }
    let grown = peak_memory(server.pid()) - before;
    println!("20 clients that read nothing: {grown} KiB more");
    assert!(grown < UNREAD_KIB, "{grown} KiB more");
    drop(held);
}
