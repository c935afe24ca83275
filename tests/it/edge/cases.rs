//! The table of hostile requests.

use std::io::Write as _;

use super::{Case, Listener, Outcome, Pace};

use Listener::{Api, Metrics, Web};
use Outcome::{Bare, ClosedOr, Envelope, Rpc, Status};

const INVALID: Outcome = Envelope(400, "invalid_request");

fn case(name: &'static str, to: Listener, first: impl Into<Vec<u8>>, outcome: Outcome) -> Case {
    Case {
        name,
        to,
        first: first.into(),
        again: Vec::new(),
        pace: Pace::Whole,
        outcome,
    }
}

/// A request line and headers after it, each line ended as it should be.
fn head(lines: &[&str]) -> String {
    format!("{}\r\n\r\n", lines.join("\r\n"))
}

/// 100 MB of blanks, in about 100 KB.
fn bomb() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..100 {
        encoder.write_all(&blanks).expect("into memory");
    }
    encoder.finish().expect("into memory")
}

/// All of them; `key` is good.
pub(super) fn all(key: &str) -> Vec<Case> {
    let mut cases = by_the_parser();
    cases.extend(by_the_edge(key));
    cases.extend(bodies(key));
    cases.extend(slow(key));
    cases
}

/// What is no request at all: refused by the HTTP parser, with its bare status, on whichever listener.
fn by_the_parser() -> Vec<Case> {
    const POST: &str = "POST /v1/lookup HTTP/1.1";
    const GET: &str = "GET /healthz HTTP/1.1";
    let lines: [(&'static str, &[&str]); 25] = [
        (
            "a length and chunks",
            &[
                POST,
                "Host: a",
                "Content-Length: 4",
                "Transfer-Encoding: chunked",
            ],
        ),
        (
            "chunks and a length",
            &[
                POST,
                "Host: a",
                "Transfer-Encoding: chunked",
                "Content-Length: 4",
            ],
        ),
        (
            "two lengths",
            &[POST, "Host: a", "Content-Length: 4", "Content-Length: 5"],
        ),
        (
            "two equal lengths",
            &[POST, "Host: a", "Content-Length: 4", "Content-Length: 4"],
        ),
        (
            "a list of lengths",
            &[POST, "Host: a", "Content-Length: 4, 4"],
        ),
        (
            "a length with a sign",
            &[POST, "Host: a", "Content-Length: +4"],
        ),
        (
            "a negative length",
            &[POST, "Host: a", "Content-Length: -1"],
        ),
        (
            "a hexadecimal length",
            &[POST, "Host: a", "Content-Length: 0x4"],
        ),
        (
            "a length past 64 bits",
            &[POST, "Host: a", "Content-Length: 18446744073709551616"],
        ),
        (
            "an unknown coding",
            &[POST, "Host: a", "Transfer-Encoding: xchunked"],
        ),
        (
            "two codings",
            &[POST, "Host: a", "Transfer-Encoding: chunked, identity"],
        ),
        (
            "two coding headers",
            &[
                POST,
                "Host: a",
                "Transfer-Encoding: chunked",
                "Transfer-Encoding: identity",
            ],
        ),
        (
            "identity as a coding",
            &[POST, "Host: a", "Transfer-Encoding: identity"],
        ),
        (
            "chunks in HTTP/1.0",
            &[
                "POST /v1/lookup HTTP/1.0",
                "Host: a",
                "Transfer-Encoding: chunked",
            ],
        ),
        (
            "a blank before the colon",
            &[POST, "Host: a", "Transfer-Encoding : chunked"],
        ),
        ("a folded header", &[GET, "Host: a", "X-A: b", " c"]),
        ("a NUL in a header", &[GET, "Host: a", "X-A: b\0c"]),
        ("a bare CR in a header", &[GET, "Host: a", "X-A: b\rc"]),
        ("a header without a name", &[GET, "Host: a", ": b"]),
        (
            "a NUL in the address",
            &["GET /heal\0thz HTTP/1.1", "Host: a"],
        ),
        ("no host", &[GET]),
        ("two hosts", &[GET, "Host: a", "Host: b"]),
        ("a method that is none", &["G@T\t/ HTTP/1.1", "Host: a"]),
        (
            "a version that is none",
            &["GET /healthz HTTP/7.3", "Host: a"],
        ),
        ("HTTP/0.9", &["GET /healthz"]),
    ];
    let mut cases: Vec<Case> = lines
        .into_iter()
        .zip([Api, Web, Api, Metrics].into_iter().cycle())
        .map(|((name, lines), to)| case(name, to, head(lines), Bare(400)))
        .collect();
    cases.push(case(
        "the preface of HTTP/2",
        Api,
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        Bare(400),
    ));
    cases.push(case(
        "TLS",
        Api,
        *b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        Bare(400),
    ));
    for to in [Api, Web] {
        let many: String = (0..120).map(|n| format!("X-{n}: y\r\n")).collect();
        cases.push(case(
            "120 headers",
            to,
            format!("{GET}\r\nHost: a\r\n{many}\r\n"),
            Bare(431),
        ));
        let long = "x".repeat(200_000);
        cases.push(case(
            "a header of 200 KB",
            to,
            format!("{GET}\r\nHost: a\r\nX: {long}\r\n\r\n"),
            Bare(431),
        ));
        cases.push(case(
            "an address of 200 KB",
            to,
            format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
            Bare(431),
        ));
    }
    cases
}

/// Whole requests that are refused by their head.
fn by_the_edge(key: &str) -> Vec<Case> {
    let long = "x".repeat(9_000);
    let key_line = format!("Authorization: Bearer {key}");
    let get = |target: &str| head(&[&format!("GET {target} HTTP/1.1"), "Host: a", &key_line]);
    let by =
        |method: &str, target: &str| head(&[&format!("{method} {target} HTTP/1.1"), "Host: a"]);
    let not_found = Envelope(404, "not_found");
    vec![
        case("an address of 9 KB", Api, get(&format!("/{long}")), INVALID),
        case(
            "a query of 9 KB",
            Api,
            get(&format!("/v1/usage?{long}")),
            INVALID,
        ),
        case(
            "an address of 9 KB",
            Web,
            get(&format!("/{long}")),
            Status(414),
        ),
        case(
            "TRACE of an operation",
            Api,
            by("TRACE", "/v1/lookup"),
            Envelope(405, "method_not_allowed"),
        ),
        case("TRACE of a page", Web, by("TRACE", "/"), Status(405)),
        case("CONNECT", Api, by("CONNECT", "b:443"), not_found),
        case(
            "CONNECT to the web host",
            Web,
            by("CONNECT", "b:443"),
            Status(405),
        ),
        case(
            "OPTIONS without an origin",
            Api,
            by("OPTIONS", "/v1/usage"),
            Envelope(405, "method_not_allowed"),
        ),
        case(
            "another host's address",
            Api,
            get("http://evil.example/v1/nothing"),
            not_found,
        ),
        case(
            "an address that climbs",
            Api,
            get("/v1/../v1/usage"),
            not_found,
        ),
        case("a doubled slash", Api, get("//v1/usage"), not_found),
        case("an encoded NUL", Api, get("/v1/usage%00"), not_found),
        case(
            "two credentials",
            Api,
            head(&["GET /v1/usage HTTP/1.1", "Host: a", &key_line, &key_line]),
            Envelope(401, "unauthorized"),
        ),
        case(
            "an upgrade",
            Api,
            head(&[
                "GET /v1/usage HTTP/1.1",
                "Host: a",
                &key_line,
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: x",
            ]),
            INVALID,
        ),
        case(
            "a header that is no text",
            Api,
            b"GET /v1/usage HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \xff\xfe\r\n\r\n"
                .as_slice(),
            Envelope(401, "unauthorized"),
        ),
        case(
            "bare LF between lines",
            Api,
            "GET /healthz HTTP/1.1\nHost: a\n\n",
            Status(200),
        ),
    ]
}

/// Requests with bodies that nobody should read to their end.
fn bodies(key: &str) -> Vec<Case> {
    let start = |path: &str, more: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{more}\r\n\r\n"
        )
    };
    let whole = |path: &str, body: &[u8], more: &str| {
        let length = format!("Content-Length: {}{more}", body.len());
        [start(path, &length).as_bytes(), body].concat()
    };
    let lookup = |body: &[u8]| whole("/v1/lookup", body, "");
    let chunked = |body: &str| start("/v1/lookup", "Transfer-Encoding: chunked") + body;
    let bomb = bomb();
    let deep = [b"{\"address\":".as_slice(), &[b'['; 60_000]].concat();
    let digits = format!("{{\"address\":{}}}", "9".repeat(50_000));
    let large = format!("{{\"address\":\"{}\"}}", "x".repeat(70_000));
    let mut cases = vec![
        case("JSON 60,000 deep", Api, lookup(&deep), INVALID),
        case(
            "JSON 60,000 deep over MCP",
            Api,
            whole("/mcp", &deep, ""),
            Rpc(400),
        ),
        case(
            "a number of 50,000 digits",
            Api,
            lookup(digits.as_bytes()),
            INVALID,
        ),
        case(
            "a number past all bounds",
            Api,
            lookup(b"{\"address\":1e99999}"),
            INVALID,
        ),
        case(
            "a name twice",
            Api,
            lookup(b"{\"address\":\"a\",\"address\":\"b\"}"),
            INVALID,
        ),
        case(
            "no UTF-8",
            Api,
            lookup(b"{\"address\":\"\xff\xfe\"}"),
            INVALID,
        ),
        case(
            "half a surrogate",
            Api,
            lookup(b"{\"address\":\"\\ud800\"}"),
            INVALID,
        ),
        case("a body of 70 KB", Api, lookup(large.as_bytes()), INVALID),
        case(
            "a body of 70 KB over MCP",
            Api,
            whole("/mcp", large.as_bytes(), ""),
            Rpc(413),
        ),
        case(
            "a form of 70 KB",
            Web,
            whole("/sign-in", large.as_bytes(), ""),
            Status(413),
        ),
        case(
            "a gzip bomb",
            Api,
            whole("/v1/lookup", &bomb, "\r\nContent-Encoding: gzip"),
            INVALID,
        ),
        case(
            "a gzip bomb over MCP",
            Api,
            whole("/mcp", &bomb, "\r\nContent-Encoding: gzip"),
            Rpc(415),
        ),
        case(
            "a gzip bomb as a form",
            Web,
            whole("/sign-in", &bomb, "\r\nContent-Encoding: gzip"),
            Status(415),
        ),
        case(
            "a gzip bomb to no path",
            Api,
            whole("/nothing", &bomb, "\r\nContent-Encoding: gzip"),
            Envelope(404, "not_found"),
        ),
        case(
            "a gzip bomb to the metrics",
            Metrics,
            whole("/metrics", &bomb, "\r\nContent-Encoding: gzip"),
            Status(404),
        ),
        case(
            "a chunk size that is none",
            Api,
            chunked("zz\r\n{}\r\n0\r\n\r\n"),
            ClosedOr(400),
        ),
        case(
            "a chunk size past 64 bits",
            Api,
            chunked("fffffffffffffffff\r\n{}"),
            ClosedOr(400),
        ),
        case(
            "bare LF after a chunk size",
            Api,
            chunked("2\n{}\n0\n\n"),
            ClosedOr(400),
        ),
        case(
            "a chunk longer than it says",
            Api,
            chunked("1\r\n{}}}}\r\n0\r\n\r\n"),
            ClosedOr(400),
        ),
    ];
    let floods = [
        (
            "a body without end",
            Api,
            start("/v1/lookup", "Content-Length: 10000000000"),
            "x".repeat(4096),
            INVALID,
        ),
        (
            "chunks without end",
            Api,
            start("/v1/lookup", "Transfer-Encoding: chunked"),
            format!("1000\r\n{}\r\n", "x".repeat(4096)),
            INVALID,
        ),
        (
            "chunks without end over MCP",
            Api,
            start("/mcp", "Transfer-Encoding: chunked"),
            format!("1000\r\n{}\r\n", "x".repeat(4096)),
            Rpc(413),
        ),
        (
            "a form without end",
            Web,
            start("/sign-in", "Content-Length: 10000000000"),
            "x".repeat(4096),
            Status(413),
        ),
        (
            "a body without end to no path",
            Api,
            start("/nothing", "Content-Length: 10000000000"),
            "x".repeat(4096),
            Envelope(404, "not_found"),
        ),
        (
            "a header without end",
            Api,
            "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ".to_owned(),
            "x".repeat(4096),
            ClosedOr(431),
        ),
    ];
    cases.extend(floods.map(|(name, to, first, again, outcome)| Case {
        again: again.into(),
        pace: Pace::Flood,
        ..case(name, to, first, outcome)
    }));
    cases
}

/// Clients that send so little that only a bound in time ends them.
fn slow(key: &str) -> Vec<Case> {
    let post = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: 1000\r\n\r\n"
        )
    };
    let drips = [
        (
            "a slow request line",
            Api,
            "GET /".to_owned(),
            "x",
            ClosedOr(408),
        ),
        (
            "a slow header",
            Web,
            "GET / HTTP/1.1\r\nHost: a\r\n".to_owned(),
            "X: y\r\n",
            ClosedOr(408),
        ),
        (
            "a slow header",
            Metrics,
            "GET /metrics HTTP/1.1\r\n".to_owned(),
            "X: y\r\n",
            ClosedOr(408),
        ),
        ("a slow body", Api, post("/v1/lookup"), " ", INVALID),
        ("a slow body over MCP", Api, post("/mcp"), " ", Rpc(408)),
        ("a slow form", Web, post("/sign-in"), " ", Status(408)),
    ];
    let mut cases: Vec<Case> = drips
        .into_iter()
        .map(|(name, to, first, again, outcome)| Case {
            again: again.into(),
            pace: Pace::Drip,
            ..case(name, to, first, outcome)
        })
        .collect();
    // Nothing at all: the connection is for somebody who has something to say.
    cases.push(case("silence", Api, "", ClosedOr(408)));
    let silent = |to| case("half a request line", to, "GET", ClosedOr(408));
    cases.extend([silent(Api), silent(Web)]);
    cases
}
