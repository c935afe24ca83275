//! Publishers that misbehave: their sources fail, the others answer, memory stays bounded, and nothing is asked of anybody else.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use brownstone_sample_city::SampleCity;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::harness::{Answer, Options, Server, peak_memory};

/// All bodies under way may hold 64 MB; a buffer that grows is there twice for a moment, and the allocator keeps some.
const MEMORY_KIB: u64 = 256 * 1024;

/// How a publisher answers everything.
#[derive(Debug, Clone)]
enum Manner {
    /// These bytes, and the connection's end.
    Bytes(Arc<[u8]>),
    /// This head, and then blanks until the other side has had enough.
    Endless(Arc<[u8]>),
    /// Nothing, over an open connection.
    Silence,
}

/// A publisher on a raw socket.
struct Publisher {
    url: String,
    asked: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Publisher {
    async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(socket, manner.clone()));
            }
        });
        Self {
            url,
            asked,
            listening,
        }
    }
}

async fn answer(mut socket: TcpStream, manner: Manner) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    match manner {
        Manner::Bytes(bytes) => {
            // The server may leave first.
            let _left = socket.write_all(&bytes).await;
        }
        Manner::Endless(head) => {
            let blanks = [b' '; 64 * 1024];
            let mut open = socket.write_all(&head).await.is_ok();
            while open {
                open = socket.write_all(&blanks).await.is_ok();
            }
        }
        Manner::Silence => {
            let _left = socket.read_u8().await;
        }
    }
}

fn ok(headers: &str, body: &[u8]) -> Arc<[u8]> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat().into()
}

/// A gigabyte of blanks, in a megabyte.
fn bomb() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..1024 {
        encoder.write_all(&blanks).expect("into memory");
    }
    encoder.finish().expect("into memory")
}

/// A server whose city records come from `publisher`, everything else from a city that is well; and one lookup.
async fn looked_up(publisher: &Publisher, city: &SampleCity) -> (Answer, Duration, u64) {
    let server = Server::start(Options {
        live_sources: true,
        variables: [
            ("SODA_URL", publisher.url.clone()),
            ("NYS_SODA_URL", city.url()),
            ("FEMA_URL", city.url()),
            ("GEOSEARCH_URL", city.url()),
            ("LOG", "off".to_owned()),
        ]
        .map(|(name, value)| (format!("BROWNSTONE_{name}"), value))
        .into(),
        ..Options::default()
    })
    .await;
    let before = peak_memory(server.pid());
    let begun = Instant::now();
    let answer = server
        .post("/v1/lookup", &json!({"address": "350 5 Avenue, Manhattan"}))
        .await;
    let took = begun.elapsed();
    assert_eq!(server.get_as(&server.key, "/v1/usage").await.status, 200);
    (answer, took, peak_memory(server.pid()) - before)
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_publishers_are_errors_in_their_sources_and_no_more() {
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let canary = Publisher::start(Manner::Bytes(ok("", b"[]"))).await;
    let elsewhere = format!(
        "HTTP/1.1 302 Found\r\nLocation: {}/secret\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        canary.url
    );
    let no_length = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[".as_slice();
    let page = b"<html><script>alert(1)</script></html>";
    for (what, manner) in [
        (
            "a redirect to another host",
            Manner::Bytes(elsewhere.into_bytes().into()),
        ),
        ("a body without end", Manner::Endless(no_length.into())),
        ("silence", Manner::Silence),
        (
            "a decompression bomb",
            Manner::Bytes(ok("Content-Encoding: gzip\r\n", &bomb())),
        ),
        (
            "rows that are no rows",
            Manner::Bytes(ok("", br#"[1, "two", null, [{}]]"#)),
        ),
        (
            "an object for rows",
            Manner::Bytes(ok("", br#"{"rows": []}"#)),
        ),
        ("a page", Manner::Bytes(ok("", page))),
        (
            "no HTTP",
            Manner::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".as_slice().into()),
        ),
    ] {
        let publisher = Publisher::start(manner).await;
        let (answer, took, grown) = looked_up(&publisher, &city).await;
        assert!(publisher.asked.load(Ordering::SeqCst) > 0, "{what}");
        assert!(took < Duration::from_secs(20), "{what}: {took:?}");
        assert_eq!(answer.status, 200, "{what}: {}", answer.text);
        let sources = answer.data()["sources"].as_object().expect("sources");
        let errors = sources.values().filter(|entry| entry["status"] == "error");
        let (errors, all) = (errors.count(), sources.len());
        println!("{what}: {errors} of {all} sources are errors, {took:.1?}, {grown} KiB more");
        assert!(errors > 40, "{what}: {errors}");
        assert_eq!(answer.data()["cache"]["status"], "partial", "{what}");
        assert!(grown < MEMORY_KIB, "{what}: {grown} KiB");
    }
    assert_eq!(canary.asked.load(Ordering::SeqCst), 0, "nobody followed");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_text_is_passed_as_published_and_the_answer_stays_json() {
    let city = SampleCity::start("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let odd = "NUL \u{0} bidi \u{202e}LRT\u{2066} <script>alert(1)</script> \u{feff}\u{2028}";
    let rows = json!([{"bin": "1015862", "bbl": "1008350041", "respondent_name": odd, "issue_date": [], "penality_imposed": {"a": 1}}]);
    let publisher = Publisher::start(Manner::Bytes(ok("", rows.to_string().as_bytes()))).await;
    let (answer, _, _) = looked_up(&publisher, &city).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let sources = answer.data()["sources"].as_object().expect("sources");
    for (key, entry) in sources {
        let status = entry["status"].as_str().expect("a status");
        assert!(
            ["ok", "not_found", "error", "gated"].contains(&status),
            "{key}: {status}"
        );
        if status != "ok" {
            assert_eq!(entry["data"], Value::Null, "{key}");
        }
    }
    // Nothing that a terminal or a log would obey stands in the answer as it is sent.
    assert!(!answer.text.contains('\0'));
    for entry in sources.values() {
        for row in entry["data"]["records"].as_array().into_iter().flatten() {
            if let Some(text) = row["respondent_name"].as_str() {
                assert_eq!(text, odd, "as published");
            }
        }
    }
}
