//! Spans of the real program: sent where it was built for that (`make test-otel`), refused where not.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::harness::{Options, Server, command, new_folder};

/// Takes one export, and gives what came.
async fn take(mut stream: TcpStream) -> Vec<u8> {
    let mut came = Vec::new();
    loop {
        let mut piece = [0; 16_384];
        let read = stream.read(&mut piece).await.expect("it can be read");
        came.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&came).to_lowercase();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, _)| {
            let (_, length) = head.split_once("content-length: ").expect("a length");
            let length = length.lines().next().expect("a line");
            let length: usize = length.parse().expect("a number");
            came.len() >= head.len() + 4 + length
        });
        if whole || read == 0 {
            break;
        }
    }
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(answer).await.expect("it can be answered");
    came
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_a_collector_or_the_build_says_that_it_has_none() {
    let collector = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", collector.local_addr().expect("an address"));
    let variable = ("BROWNSTONE_OTLP_ENDPOINT".to_owned(), address);
    if std::env::var_os("TEST_OTEL").is_none() {
        let folder = new_folder();
        let output = command(folder.path())
            .args(["serve", "--sample"])
            .envs([variable])
            .output()
            .await
            .expect("it runs");
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("without the feature otel"), "{said}");
        return;
    }
    let mut server = Server::start(Options {
        variables: vec![variable],
        ..Options::default()
    })
    .await;
    let id = server.lookup("350 5 Avenue, Manhattan").await;
    let id = id.header("x-request-id").expect("an id").to_owned();
    let (sent, all) = tokio::sync::oneshot::channel();
    let taking = tokio::spawn(async move {
        let mut came = Vec::new();
        loop {
            let (stream, _) = collector.accept().await.expect("a connection");
            came.extend(take(stream).await);
            let text = String::from_utf8_lossy(&came);
            if text.contains(&id) && text.contains("nyc_ecb") {
                break;
            }
        }
        sent.send(came).expect("the test waits");
    });
    // What waits is sent at the latest now.
    assert!(server.stop().await.success());
    let came = tokio::time::timeout(Duration::from_secs(30), all).await;
    let came = came.expect("in time").expect("an export");
    taking.await.expect("the collector ends");
    let text = String::from_utf8_lossy(&came);
    for part in [
        "POST /v1/traces ",
        "lookupProperty",
        "surface",
        "POST /v1/lookup",
    ] {
        assert!(text.contains(part), "{part}");
    }
    for part in [&server.key, "5 Avenue", "5 AVENUE"] {
        assert!(!text.contains(part), "{part}");
    }
}
