//! A report as it goes over the wire: whole, or compressed once at its assembly; every client reads the same.

use std::io::Write as _;

use reqwest::{Method, StatusCode, header::HeaderValue};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    at_hand,
    harness::{Server, json_headers},
};

const ADDRESS: &str = "350 5 Avenue, Manhattan";

/// The answer to a request that takes `encodings`, as the bytes that came.
async fn raw(server: &Server, encodings: &str) -> reqwest::Response {
    let mut headers = json_headers(&server.key);
    headers.insert(
        "accept-encoding",
        HeaderValue::from_str(encodings).expect("text"),
    );
    // This client would unpack it.
    let client = reqwest::Client::builder().no_gzip().build().expect("one");
    client
        .request(Method::POST, format!("{}/v1/lookup", server.url))
        .headers(headers)
        .body(json!({"address": ADDRESS}).to_string())
        .send()
        .await
        .expect("it answers")
}

fn unpacked(member: &[u8]) -> String {
    let mut out = flate2::write::GzDecoder::new(Vec::new());
    out.write_all(member).expect("gzip");
    String::from_utf8(out.finish().expect("a whole member")).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_sent_as_the_caller_takes_it_and_is_the_same_report() {
    let server = Server::sample().await;
    let plain = server.lookup(ADDRESS).await;
    let encoding = |answer: &reqwest::Response| answer.headers().get("content-encoding").cloned();
    for (takes, sent) in [
        ("identity", None),
        ("gzip", Some("gzip")),
        ("gzip, deflate, br, zstd", Some("gzip")),
        ("gzip;q=0, identity", None),
        ("br;q=0.5, gzip;q=0.4", Some("gzip")),
    ] {
        let answer = raw(&server, takes).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(
            encoding(&answer).as_ref().map(HeaderValue::as_bytes),
            sent.map(str::as_bytes)
        );
        assert_eq!(answer.headers()["vary"], "accept-encoding");
        let length = answer.content_length().expect("a length is announced");
        let body = answer.bytes().await.expect("all of it");
        assert_eq!(body.len() as u64, length);
        let text = match sent {
            Some(_) => unpacked(&body),
            None => String::from_utf8(body.to_vec()).expect("text"),
        };
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read["data"], plain.body["data"], "{takes}");
        assert_eq!(read["meta"]["units_charged"], 10);
        if sent.is_some() {
            assert!(
                body.len() * 3 < text.len(),
                "{} of {}",
                body.len(),
                text.len()
            );
        }
    }
}

/// Runs a client of somebody else's, which prints the answer's `data.bbl` and its last member; `None` where it is not installed.
async fn client(server: &Server, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .env("URL", format!("{}/v1/lookup", server.url))
        .env("KEY", &server.key)
        .env("BODY", json!({"address": ADDRESS}).to_string())
        .output()
        .await;
    let Ok(output) = output else {
        at_hand::skipped(&format!("{program} is not installed"));
        return None;
    };
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_others_read_a_compressed_report() {
    let server = Server::sample().await;
    let plain = server.lookup(ADDRESS).await;
    let check = |text: &str| {
        let read: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(read["data"], plain.body["data"]);
        assert_eq!(read["meta"]["operation"], "lookupProperty");
    };
    let curl = r#"curl --silent --show-error --fail --compressed -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "$BODY" "$URL""#;
    let python = r"
import gzip, os, sys, urllib.request
request = urllib.request.Request(os.environ['URL'], os.environ['BODY'].encode(), {
    'Authorization': 'Bearer ' + os.environ['KEY'], 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip'})
answer = urllib.request.urlopen(request)
assert answer.headers['content-encoding'] == 'gzip'
sys.stdout.buffer.write(gzip.decompress(answer.read()))
";
    let node = r"
const answer = await fetch(process.env.URL, {method: 'POST', body: process.env.BODY, headers: {
    'Authorization': 'Bearer ' + process.env.KEY, 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip'}});
if (answer.headers.get('content-encoding') !== 'gzip') throw new Error('not compressed');
process.stdout.write(await answer.text());
";
    for (program, arguments) in [
        ("bash", &["-c", curl][..]),
        ("python3", &["-c", python]),
        ("node", &["--input-type=module", "-e", node]),
    ] {
        if let Some(text) = client(&server, program, arguments).await {
            check(&text);
        }
    }
    // And the one that this project itself uses.
    let answer = reqwest::Client::builder()
        .gzip(true)
        .build()
        .expect("one")
        .post(format!("{}/v1/lookup", server.url))
        .headers(json_headers(&server.key))
        .body(json!({"address": ADDRESS}).to_string())
        .send()
        .await
        .expect("it answers");
    check(&answer.text().await.expect("it unpacks"));
}
