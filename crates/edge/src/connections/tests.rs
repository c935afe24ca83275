use std::{
    net::{SocketAddr, TcpListener},
    sync::atomic::AtomicUsize,
};

use actix_web::{App, HttpRequest, HttpResponse, dev::ServerHandle, web};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use super::*;

/// Long enough for a request on a busy machine.
const QUIET: Duration = Duration::from_millis(600);
/// How long a test waits for what must come; only a failure takes as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often `/counted` was asked.
static ASKED: AtomicUsize = AtomicUsize::new(0);
const LARGE: usize = 16 * 1024 * 1024;

#[test]
fn a_burst_of_connections_waits_to_be_accepted() {
    let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let system = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let room = system.trim().parse::<usize>().unwrap().min(300);
    // Nobody accepts. One for whom there is no room is tried again after a second, in vain.
    let burst: Result<Vec<_>, _> = (0..room)
        .map(|_| std::net::TcpStream::connect_timeout(&address, PATIENCE))
        .collect();
    assert_eq!(burst.unwrap().len(), room);
}

/// A server of one worker with these limits: `/` answers, `/peer` says who asks, `/slow` takes three times as long as a connection may be quiet, `/large`
/// is more than the sockets' buffers take.
fn server(limits: Limits) -> (SocketAddr, ServerHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (handle, server) = crate::serve(listener, &limits, 1, || {
        App::new()
            .route("/", web::route().to(HttpResponse::Ok))
            .route(
                "/peer",
                web::get().to(async |request: HttpRequest| {
                    let peer = request.peer_addr().expect("it has one").to_string();
                    HttpResponse::Ok().insert_header(("x-peer", peer)).finish()
                }),
            )
            .route(
                "/slow",
                web::get().to(|| async {
                    tokio::time::sleep(3 * QUIET).await;
                    HttpResponse::Ok().finish()
                }),
            )
            .route(
                "/counted",
                web::post().to(|body: web::Bytes| async move {
                    assert_eq!(body, "x");
                    ASKED.fetch_add(1, Ordering::SeqCst);
                    HttpResponse::Ok().finish()
                }),
            )
            .route("/large", web::get().to(|| async { vec![0_u8; LARGE] }))
    })
    .unwrap();
    tokio::spawn(server);
    (address, handle)
}

fn limits() -> Limits {
    Limits {
        quiet: QUIET,
        ..Limits::default()
    }
}

async fn ask(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let byte = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
        answer.push(
            byte.expect("an answer comes")
                .expect("the connection is open"),
        );
    }
    String::from_utf8(answer).unwrap()
}

/// Sends `piece` again and again, slowly, until the other side has closed.
async fn drip(stream: TcpStream, piece: &[u8]) {
    let (mut from, mut to) = stream.into_split();
    let dripping = async {
        let mut next = tokio::time::interval(QUIET / 20);
        loop {
            next.tick().await;
            if to.write_all(piece).await.is_err() {
                return;
            }
        }
    };
    let closing = async {
        let mut rest = [0; 64];
        while matches!(from.read(&mut rest).await, Ok(read) if read > 0) {}
    };
    tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            () = dripping => {}
            () = closing => {}
        }
    })
    .await
    .expect("it is closed");
}

#[actix_web::test]
async fn a_slow_head_after_an_answer_ends_the_connection() {
    let (address, handle) = server(limits());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let asked = Instant::now();
    let answer = ask(&mut stream, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        .await
        .unwrap();
    drip(stream, b"x").await;
    assert!(asked.elapsed() >= QUIET / 2);
    handle.stop(false).await;
}

#[actix_web::test]
async fn an_endless_body_that_nobody_reads_ends_the_connection() {
    let (address, handle) = server(limits());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = ask(&mut stream, head).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drip(stream, b"1\r\nx\r\n").await;
    handle.stop(false).await;
}

#[actix_web::test]
async fn a_client_that_reads_nothing_is_let_go() {
    let (address, handle) = server(limits());
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .unwrap();
    // What is asked for beside it is answered.
    let mut other = TcpStream::connect(address).await.unwrap();
    ask(&mut other, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    // It hears of its end by what it sends, not by what it reads.
    let mut next = tokio::time::interval(QUIET / 10);
    let let_go = tokio::time::timeout(PATIENCE, async {
        while stream.write_all(b"x").await.is_ok() {
            next.tick().await;
        }
    });
    let_go.await.expect("it is closed");
    handle.stop(false).await;
}

#[actix_web::test]
async fn a_request_that_runs_is_not_disturbed() {
    let (address, handle) = server(limits());
    let mut stream = TcpStream::connect(address).await.unwrap();
    for _ in 0..2 {
        let answer = ask(&mut stream, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    handle.stop(false).await;
}

#[actix_web::test]
async fn more_connections_than_the_bound_wait_for_their_turn() {
    let (address, handle) = server(Limits {
        connections: 2,
        ..Limits::default()
    });
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        ask(&mut stream, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        held.push(stream);
    }
    let mut third = TcpStream::connect(address).await.unwrap();
    third
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .unwrap();
    let early = tokio::time::timeout(QUIET, third.read_u8()).await;
    assert!(early.is_err(), "it is not accepted yet");
    held.pop();
    let byte = tokio::time::timeout(PATIENCE, third.read_u8()).await;
    assert_eq!(byte.expect("its turn comes").unwrap(), b'H');
    handle.stop(false).await;
}

/// A client that asks for everything at once and reads nothing has one request run, and the next one wait; when it reads, all are answered.
#[actix_web::test]
async fn requests_that_are_sent_ahead_have_their_turn_one_by_one() {
    const AHEAD: usize = 2_000;
    let (address, handle) = server(Limits::default());
    let before = ASKED.load(Ordering::SeqCst);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = socket.connect(address).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let large = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
    let counted = "POST /counted HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    let last = "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let all = [large, &counted.repeat(AHEAD), last].concat();
    let sending = tokio::spawn(async move { to.write_all(all.as_bytes()).await });
    // Long after it was all read, were it read ahead: another client is answered, again and again.
    let mut other = TcpStream::connect(address).await.unwrap();
    for _ in 0..50 {
        ask(&mut other, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    }
    assert_eq!(ASKED.load(Ordering::SeqCst), before, "none has its turn");
    let mut answers = Vec::new();
    let reading = tokio::time::timeout(PATIENCE, from.read_to_end(&mut answers));
    reading.await.expect("all are answered").unwrap();
    sending.await.unwrap().unwrap();
    assert_eq!(ASKED.load(Ordering::SeqCst) - before, AHEAD);
    let heads = answers
        .windows(15)
        .filter(|part| *part == b"HTTP/1.1 200 OK")
        .count();
    assert_eq!(heads, AHEAD + 2);
    handle.stop(false).await;
}

#[tokio::test]
async fn a_request_says_whose_it_is() {
    let (address, handle) = server(limits());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let answer = ask(&mut stream, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let own = format!("x-peer: {}\r\n", stream.local_addr().unwrap());
    assert!(answer.contains(&own), "{own} {answer}");
    handle.stop(false).await;
}
