//! The client against servers that misbehave, on raw sockets.

use std::io::Write;
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::GzEncoder;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::breaker::BreakerState;
use crate::config::BreakerConfig;
use crate::testing::{OK, Server};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn rows() -> Request {
    Request::get(["resource", "6bgk-3dad.json"]).query("bin", "1015862")
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn with_head(head: &str, body: &[u8]) -> Vec<u8> {
    let mut all = format!("HTTP/1.1 200 OK\r\n{head}Connection: close\r\n\r\n").into_bytes();
    all.extend_from_slice(body);
    all
}

#[tokio::test]
async fn an_answer_comes_back_with_its_status_headers_and_body() {
    let body = r#"[{"bin":"1015862"}]"#;
    let zipped = gzip(body.as_bytes());
    let head =
        "Content-Type: application/json\r\nX-SODA2-Types: [\"text\"]\r\nContent-Encoding: gzip\r\n";
    let server = Server::sending(with_head(head, &zipped)).await;
    let answer = server.upstream().get(rows(), soon()).await.unwrap();
    assert_eq!((answer.status, answer.is_success()), (200, true));
    assert_eq!(answer.body, body);
    assert_eq!(answer.header("x-soda2-types"), Some(r#"["text"]"#));
    let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone";
    let server = Server::sending(missing.to_vec()).await;
    let answer = server.upstream().get(rows(), soon()).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (404, &b"gone"[..]));
    assert_eq!(server.hits(), 1, "a 404 is an answer");
}

#[tokio::test]
async fn the_secret_header_is_sent_and_never_shown() {
    let (seen, mut heads) = watch::channel(String::new());
    let server = Server::start(move |_, head, mut socket| {
        seen.send_replace(head);
        async move { socket.write_all(b"garbage\r\n\r\n").await.unwrap() }
    })
    .await;
    let mut config = server.config();
    config.headers = vec![("Accept".into(), "application/json".into())];
    config.secret_header = Some(("X-App-Token".into(), SecretString::from("hunter2")));
    let upstream = Upstream::new(config).unwrap();
    let request = rows().secret_query("api_key", "hunter3".into());
    let fault = upstream.get(request, soon()).await.unwrap_err();
    let head = heads
        .wait_for(|head| !head.is_empty())
        .await
        .unwrap()
        .to_lowercase();
    assert!(head.contains("x-app-token: hunter2"), "{head}");
    assert!(head.contains("api_key=hunter3") && head.contains("accept: application/json"));
    assert!(matches!(fault, UpstreamError::Cut { .. }), "{fault:?}");
    let shown = format!("{fault} {fault:?} {upstream:?} {}", fault.public_message());
    assert!(
        !shown.contains("hunter") && !shown.contains("1015862"),
        "{shown}"
    );
    assert!(shown.contains("/resource/6bgk-3dad.json"), "{shown}");
}

#[tokio::test]
async fn a_form_is_posted_under_the_same_bounds_and_follows_no_redirect() {
    let (seen, mut requests) = watch::channel((String::new(), String::new()));
    let server = Server::start(move |number, head, mut socket| {
        let seen = seen.clone();
        async move {
            let length = head
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            socket.read_exact(&mut body).await.unwrap();
            seen.send_replace((head, String::from_utf8(body).unwrap()));
            let answer: &[u8] = match number {
                0 => b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                1 => OK,
                _ => b"HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            };
            let _ = socket.write_all(answer).await;
        }
    })
    .await;
    let mut config = server.config();
    config.retry.retries = 1;
    let upstream = Upstream::new(config).unwrap();
    let request = Request::post_form(["token"]).field("client_secret", "hunter2&");
    let answer = upstream.send(request.clone(), soon()).await.unwrap();
    assert_eq!((answer.status, server.hits()), (200, 2), "tried again");
    let (head, body) = requests
        .wait_for(|(head, _)| !head.is_empty())
        .await
        .unwrap()
        .clone();
    assert!(head.starts_with("POST /token HTTP/1.1"), "{head}");
    let head = head.to_lowercase();
    assert!(
        head.contains("content-type: application/x-www-form-urlencoded"),
        "{head}"
    );
    assert_eq!(body, "client_secret=hunter2%26");
    let away = upstream.send(request, soon()).await.unwrap();
    assert_eq!((away.status, server.hits()), (307, 3));
    let long = with_head("", &vec![b' '; 200_000]);
    let server = Server::sending(long).await;
    let request = Request::post_form(["token"]).field("client_secret", "hunter2");
    let fault = server.upstream().send(request, soon()).await.unwrap_err();
    let shown = format!("{fault} {fault:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn silence_is_a_timeout_before_the_answer_and_within_it() {
    for start in ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[1,"] {
        let server = Server::start(move |_, _, mut socket| async move {
            socket.write_all(start.as_bytes()).await.unwrap();
            // Holds the connection until the client closes it.
            let _ = socket.read_u8().await;
        })
        .await;
        let began = Instant::now();
        let mut config = server.config();
        config.silence_timeout = Duration::from_millis(300);
        let fault = Upstream::new(config)
            .unwrap()
            .get(rows(), soon())
            .await
            .unwrap_err();
        assert!(matches!(fault, UpstreamError::Timeout { .. }), "{fault:?}");
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "the bound on silence ended it"
        );
    }
}

#[tokio::test]
async fn a_slow_drip_is_never_silent_and_still_ends() {
    let server = Server::start(|_, _, mut socket| async move {
        let _ = socket
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            .await;
        let mut beat = tokio::time::interval(Duration::from_millis(50));
        while socket.write_all(b" ").await.is_ok() {
            beat.tick().await;
        }
    })
    .await;
    let began = Instant::now();
    let mut config = server.config();
    config.total_timeout = Duration::from_secs(1);
    let fault = Upstream::new(config)
        .unwrap()
        .get(rows(), soon())
        .await
        .unwrap_err();
    assert!(matches!(fault, UpstreamError::Timeout { .. }), "{fault:?}");
    let took = began.elapsed();
    assert!(
        (Duration::from_millis(900)..Duration::from_secs(10)).contains(&took),
        "the bound on the whole ended it: {took:?}"
    );
}

#[tokio::test]
async fn a_body_cut_short_is_noticed_and_tried_again() {
    let gz = gzip(&[b'x'; 1000]);
    for cut in [
        with_head("Content-Length: 100\r\n", b"[{\"bin\""),
        with_head("Transfer-Encoding: chunked\r\n", b"10\r\n[{\"bin\""),
        with_head("Content-Encoding: gzip\r\n", &gz[..gz.len() / 2]),
        with_head("Content-Encoding: gzip\r\n", b"not gzip at all"),
        b"HTTP/1.1 2".to_vec(),
        Vec::new(),
    ] {
        let first = cut.clone();
        let server = Server::start(move |number, _, mut socket| {
            let bytes = if number == 0 {
                first.clone()
            } else {
                OK.to_vec()
            };
            async move {
                let _ = socket.write_all(&bytes).await;
                let _ = socket.shutdown().await;
            }
        })
        .await;
        let mut config = server.config();
        let fault = Upstream::new(config.clone())
            .unwrap()
            .get(rows(), soon())
            .await;
        let text = String::from_utf8_lossy(&cut).into_owned();
        assert!(
            matches!(fault, Err(UpstreamError::Cut { .. })),
            "{text}: {fault:?}"
        );
        config.retry.retries = 2;
        server.hits.store(0, Ordering::SeqCst);
        let answer = Upstream::new(config)
            .unwrap()
            .get(rows(), soon())
            .await
            .unwrap();
        assert_eq!((&*answer.body, server.hits()), (&b"[]"[..], 2), "{text}");
    }
}

#[tokio::test]
async fn a_huge_body_is_refused_announced_or_not() {
    let announced = with_head("Content-Length: 100001\r\n", b"[");
    let unannounced = with_head("", &[b' '; 100_001]);
    let fits = with_head("", &[b' '; 100_000]);
    for bytes in [announced, unannounced] {
        let server = Server::sending(bytes).await;
        let mut config = server.config();
        config.retry.retries = 2;
        let fault = Upstream::new(config)
            .unwrap()
            .get(rows(), soon())
            .await
            .unwrap_err();
        assert!(
            matches!(fault, UpstreamError::TooLarge { limit: 100_000, .. }),
            "{fault:?}"
        );
        assert_eq!(server.hits(), 1, "it would be as large again");
    }
    let server = Server::sending(fits).await;
    let answer = server.upstream().get(rows(), soon()).await.unwrap();
    assert_eq!(answer.body.len(), 100_000);
}

#[tokio::test]
async fn bodies_have_a_bound_together_and_give_back_what_they_took() {
    // Each sends half of what all may have, and then nothing until it is told.
    let (go_on, told) = watch::channel(false);
    let server = Server::start(move |_, _, mut socket| {
        let mut told = told.clone();
        async move {
            let _ = socket
                .write_all(&with_head("Content-Length: 40001\r\n", &[b' '; 40_000]))
                .await;
            let _ = told.wait_for(|told| *told).await;
            let _ = socket.write_all(b" ").await;
        }
    })
    .await;
    let mut config = server.config();
    config.max_bytes_in_flight = 80_002;
    config.silence_timeout = Duration::from_secs(5);
    config.total_timeout = Duration::from_secs(5);
    let upstream = Upstream::new(config).unwrap();
    let ask = || {
        let upstream = upstream.clone();
        tokio::spawn(async move { upstream.get(rows(), soon()).await })
    };
    let (one, two) = (ask(), ask());
    while upstream.bytes_in_flight() < 80_000 {
        tokio::task::yield_now().await;
    }
    let third = upstream.get(rows(), soon()).await.unwrap_err();
    assert!(matches!(third, UpstreamError::Busy { .. }), "{third:?}");
    go_on.send_replace(true);
    for answer in [one, two] {
        assert_eq!(answer.await.unwrap().unwrap().body.len(), 40_001);
    }
    assert_eq!(upstream.bytes_in_flight(), 0);
}

#[tokio::test]
async fn a_gzip_bomb_is_noticed_while_it_unfolds() {
    let bomb = gzip(&vec![b' '; 50_000_000]);
    assert!(
        bomb.len() < 100_000,
        "small on the wire: {} bytes",
        bomb.len()
    );
    // The bomb's end never comes: whoever waits for it to unfold runs into the bound on silence.
    let head = format!(
        "Content-Encoding: gzip\r\nContent-Length: {}\r\n",
        bomb.len()
    );
    let bytes = with_head(&head, &bomb[..bomb.len() - 10]);
    let server = Server::start(move |_, _, mut socket| {
        let bytes = bytes.clone();
        async move {
            let _ = socket.write_all(&bytes).await;
            let _ = socket.read_u8().await;
        }
    })
    .await;
    let fault = server.upstream().get(rows(), soon()).await.unwrap_err();
    assert!(matches!(fault, UpstreamError::TooLarge { .. }), "{fault:?}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_no_errand() {
    let canary = Server::sending(OK.to_vec()).await;
    let to = canary.address;
    for status in [301, 302, 303, 307, 308] {
        let redirect = format!(
            "HTTP/1.1 {status} Elsewhere\r\nLocation: http://{to}/secret\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let server = Server::sending(redirect.into_bytes()).await;
        let mut config = server.config();
        config.secret_header = Some(("X-App-Token".into(), SecretString::from("hunter2")));
        let answer = Upstream::new(config)
            .unwrap()
            .get(rows(), soon())
            .await
            .unwrap();
        assert_eq!(answer.status, status);
    }
    assert_eq!(canary.hits(), 0);
}

#[tokio::test]
async fn a_throttled_request_is_tried_again_and_reported_when_it_stays_so() {
    let busy = b"HTTP/1.1 429 Too Many\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::start(move |number, _, mut socket| async move {
        let bytes = if number == 0 { &busy[..] } else { OK };
        socket.write_all(bytes).await.unwrap();
    })
    .await;
    let mut config = server.config();
    config.retry.retries = 2;
    let answer = Upstream::new(config.clone())
        .unwrap()
        .get(rows(), soon())
        .await
        .unwrap();
    assert_eq!((answer.status, server.hits()), (200, 2));
    let server = Server::sending(busy.to_vec()).await;
    config.base_url = format!("http://{}", server.address);
    let fault = Upstream::new(config)
        .unwrap()
        .get(rows(), soon())
        .await
        .unwrap_err();
    assert!(
        matches!(
            fault,
            UpstreamError::Status {
                status: 429,
                retry_after: Some(_),
                ..
            }
        ),
        "{fault:?}"
    );
    assert_eq!(server.hits(), 3);
}

#[tokio::test]
async fn the_deadline_holds_whatever_the_bounds_say() {
    let server = Server::start(|_, _, mut socket| async move {
        let _ = socket.read_u8().await;
    })
    .await;
    let mut config = UpstreamConfig::new("city", format!("http://{}", server.address));
    config.retry.first_delay = Duration::from_millis(1);
    let upstream = Upstream::new(config).unwrap();
    let began = Instant::now();
    let deadline = began + Duration::from_millis(1500);
    let fault = upstream
        .get(rows().breaker("6bgk-3dad"), deadline)
        .await
        .unwrap_err();
    assert!(matches!(fault, UpstreamError::Timeout { .. }), "{fault:?}");
    let took = began.elapsed();
    assert!(
        (Duration::from_millis(1490)..Duration::from_secs(5)).contains(&took),
        "{took:?}"
    );
    assert_eq!(server.hits(), 2, "the first try left time for a second");
    assert_eq!(
        upstream.breakers(),
        [],
        "a caller in a hurry says nothing about the upstream"
    );
    let fault = upstream.get(rows(), Instant::now()).await.unwrap_err();
    assert_eq!(server.hits(), 2, "no time, no request");
    assert!(
        matches!(
            fault,
            UpstreamError::Timeout { .. } | UpstreamError::Busy { .. }
        ),
        "{fault:?}"
    );
}

#[tokio::test]
async fn nobody_listening_is_no_connection() {
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let config = UpstreamConfig::new("city", format!("http://{address}"));
    let fault = Upstream::new(config)
        .unwrap()
        .get(rows(), soon())
        .await
        .unwrap_err();
    assert!(matches!(fault, UpstreamError::Connect { .. }), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_the_limit_are_under_way_and_the_others_wait() {
    let (under_way, mut seen) = watch::channel((0_usize, 0_usize));
    let (open, gate) = watch::channel(false);
    let under_way = Arc::new(under_way);
    let server = Server::start(move |_, _, mut socket| {
        let (under_way, mut gate) = (Arc::clone(&under_way), gate.clone());
        async move {
            under_way.send_modify(|(now, peak)| {
                *now += 1;
                *peak = (*peak).max(*now);
            });
            gate.wait_for(|open| *open).await.unwrap();
            // Counted out before the answer, which lets the next one in.
            under_way.send_modify(|(now, _)| *now -= 1);
            socket.write_all(OK).await.unwrap();
        }
    })
    .await;
    let config = server.config();
    let upstream = Upstream::new(config).unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { upstream.get(rows(), soon()).await })
        })
        .collect();
    seen.wait_for(|(now, _)| *now == 128).await.unwrap();
    assert_eq!(upstream.in_flight(), 128);
    let fault = upstream
        .get(rows(), Instant::now() + Duration::from_millis(50))
        .await;
    assert!(
        matches!(fault, Err(UpstreamError::Busy { .. })),
        "{fault:?}"
    );
    open.send_replace(true);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status, 200);
    }
    let (_, peak) = *seen.borrow();
    assert_eq!((peak, server.hits(), upstream.in_flight()), (128, 200, 0));
}

#[tokio::test]
async fn a_failing_key_is_left_alone_while_others_are_asked() {
    let broken = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::start(move |_, head, mut socket| async move {
        let bytes = if head.contains("broken") {
            &broken[..]
        } else {
            OK
        };
        socket.write_all(bytes).await.unwrap();
    })
    .await;
    let mut config = server.config();
    config.breaker = BreakerConfig {
        failures: 3,
        open_for: Duration::from_secs(3600),
        ..BreakerConfig::default()
    };
    let upstream = Upstream::new(config).unwrap();
    let bad = || Request::get(["broken"]).breaker("broken");
    for _ in 0..3 {
        let fault = upstream.get(bad(), soon()).await.unwrap_err();
        assert!(
            matches!(fault, UpstreamError::Status { status: 500, .. }),
            "{fault:?}"
        );
    }
    let fault = upstream.get(bad(), soon()).await.unwrap_err();
    assert!(
        matches!(fault, UpstreamError::BreakerOpen { .. }),
        "{fault:?}"
    );
    assert_eq!(server.hits(), 3, "the refused call asked nothing");
    assert!(
        upstream
            .get(rows().breaker("6bgk-3dad"), soon())
            .await
            .is_ok()
    );
    let view = upstream.breakers();
    assert_eq!(
        (view.len(), view[0].key.as_str(), view[0].failures),
        (1, "broken", 3)
    );
    assert!(matches!(view[0].state, BreakerState::Open { .. }));
}

#[tokio::test]
async fn a_probe_is_one_try_and_closes_the_breaker() {
    let broken = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let server = Server::start(move |number, _, mut socket| async move {
        let bytes = if number < 4 { &broken[..] } else { OK };
        socket.write_all(bytes).await.unwrap();
    })
    .await;
    let mut config = server.config();
    config.retry.retries = 2;
    config.breaker = BreakerConfig {
        failures: 1,
        open_for: Duration::ZERO,
        ..BreakerConfig::default()
    };
    let upstream = Upstream::new(config).unwrap();
    let request = || rows().breaker("6bgk-3dad");
    assert!(upstream.get(request(), soon()).await.is_err());
    assert_eq!(server.hits(), 3);
    assert!(upstream.get(request(), soon()).await.is_err());
    assert_eq!(server.hits(), 4, "the probe is one try");
    assert!(upstream.get(request(), soon()).await.is_ok());
    assert_eq!((server.hits(), upstream.breakers()), (5, vec![]));
}

#[tokio::test]
async fn a_request_that_would_wander_is_not_sent() {
    let server = Server::sending(OK.to_vec()).await;
    let upstream = server.upstream();
    for request in [
        Request::get([".."]),
        Request::get(["resource", ""]),
        Request::get(["resource"]).query("", "x"),
        Request::get(["resource"]).header("accept", "a\nb"),
    ] {
        let fault = upstream.get(request, soon()).await.unwrap_err();
        assert!(matches!(fault, UpstreamError::Refused { .. }), "{fault:?}");
    }
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn a_host_that_speaks_no_tls_hears_nothing_in_the_clear() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; 4096];
        let length = socket.read(&mut heard).await.unwrap();
        heard.truncate(length);
        socket.write_all(OK).await.unwrap();
        heard
    });
    let mut config = UpstreamConfig::new("city", format!("https://{address}"));
    config.retry.retries = 0;
    config.secret_header = Some(("X-App-Token".into(), SecretString::from("hunter2")));
    let fault = Upstream::new(config)
        .unwrap()
        .get(rows(), soon())
        .await
        .unwrap_err();
    assert!(matches!(fault, UpstreamError::Connect { .. }), "{fault:?}");
    let heard = heard.await.unwrap();
    assert_eq!(heard[0], 22, "a TLS handshake and nothing else");
    assert!(!String::from_utf8_lossy(&heard).contains("hunter2"));
}
