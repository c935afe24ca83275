//! The feeds against the sample city's servers.

use std::time::Duration;

use brownstone_domain::Zip;
use brownstone_sample_city::{
    Control, Fault, FaultKind, RENTCAST, RENTCAST_KEY, RESO, RESO_CLIENT_ID, RESO_CLIENT_SECRET,
    RESO_TOKEN, RESO_TOKENS, SampleCity,
};
use brownstone_upstream::{Upstream, UpstreamConfig};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    time::Instant,
};

use super::*;
use crate::made_up::NOW;

async fn city() -> SampleCity {
    SampleCity::start(([127, 0, 0, 1], 0).into()).await.unwrap()
}

/// An upstream that is asked once.
fn upstream(url: String) -> Upstream {
    let mut config = UpstreamConfig::new("feed", url);
    config.retry.retries = 0;
    Upstream::new(config).unwrap()
}

fn client(city: &SampleCity, secret: &str) -> Credential {
    let endpoint = upstream(format!("{}/reso/oauth2/token", city.url()));
    Credential::Client(Client::new(
        endpoint,
        RESO_CLIENT_ID,
        secret.to_owned().into(),
        Some("api".into()),
    ))
}

fn reso(city: &SampleCity, credential: Credential) -> Reso {
    Reso::new(upstream(format!("{}/reso/odata", city.url())), credential)
}

fn token() -> Credential {
    Credential::Token(RESO_TOKEN.to_owned().into())
}

fn rentcast(city: &SampleCity) -> RentCast {
    let key = RENTCAST_KEY.to_owned().into();
    RentCast::new(upstream(format!("{}/rentcast/v1", city.url())), Some(key))
}

/// A ZIP with more than one listing.
fn zip(control: &Control) -> Zip {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for row in control.listings().all() {
        let zip = row["PostalCode"].as_str().unwrap_or_default().to_owned();
        *counts.entry(zip).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
    assert!(most.1 > 3, "{most:?}");
    most.0.parse().unwrap()
}

async fn all(feed: &dyn ListingFeed, zip: Zip) -> Result<Vec<Row>, FeedError> {
    let mut rows = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let deadline = Instant::now() + Duration::from_secs(20);
        let page = feed.page(zip, cursor.as_deref(), NOW, deadline).await?;
        rows.extend(page.rows);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(rows),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_cut_short_is_told_by_the_count() {
    let city = city().await;
    let control = city.control();
    let zip = zip(control);
    let (reso, rentcast) = (reso(&city, token()), rentcast(&city));
    let feeds: [(&str, &str, &dyn ListingFeed); 2] = [
        (RESO, "$count=true", &reso),
        (RENTCAST, "includeTotalCount=true", &rentcast),
    ];
    for (name, asked, feed) in feeds {
        let whole = all(feed, zip).await.unwrap().len();
        assert!(whole > 1, "{name}");
        assert!(control.queries(name)[0].contains(asked), "{name}");
        control.set_fault(name, Fault::new(FaultKind::ShortPage).times(1));
        let short = all(feed, zip).await.unwrap_err();
        let FeedError::Short { counted, given } = short else {
            panic!("{name}: {short}")
        };
        assert!(
            given < counted && counted <= whole as u64,
            "{name}: {given}"
        );
        assert_eq!(all(feed, zip).await.unwrap().len(), whole, "{name}");
        // Nothing there at all is whole.
        assert_eq!(all(feed, "11697".parse().unwrap()).await.unwrap(), []);
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_not_there_is_no_empty_area() {
    let city = city().await;
    let control = city.control();
    let zip = zip(control);
    let rentcast = rentcast(&city);
    control.set_fault(RENTCAST, Fault::new(FaultKind::Gone));
    let gone = all(&rentcast, zip).await.unwrap_err();
    assert_eq!(gone, FeedError::Unreadable("status 404".into()));
    control.clear_faults();
    assert!(!all(&rentcast, zip).await.unwrap().is_empty());
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pages_carry_their_count_along() {
    let city = city().await;
    let control = city.control();
    let zip = zip(control);
    let like = control.listings().all().into_iter().find(|row| {
        row["PostalCode"] == zip.to_string() && row["InternetEntireListingDisplayYN"] == true
    });
    let like = like.unwrap()["ListingKey"].as_str().unwrap().to_owned();
    for number in 0..450 {
        let put = control
            .listings()
            .put(&format!("MANY{number}"), Map::new(), Some(&like));
        put.unwrap();
    }
    let reso = reso(&city, token());
    let rows = all(&reso, zip).await.unwrap();
    assert!(rows.len() > 450);
    assert!(control.calls(RESO) >= 3, "{}", control.calls(RESO));
    // The second of the pages is cut, and looks like the last.
    control.set_fault(RESO, Fault::new(FaultKind::ShortPage).after(1).times(1));
    let counted = rows.len() as u64;
    let short = all(&reso, zip).await.unwrap_err();
    assert_eq!(
        short,
        FeedError::Short {
            counted,
            given: 300
        }
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_fetches_a_token_keeps_it_and_fetches_another_once_it_is_refused() {
    let city = city().await;
    let control = city.control();
    let zip = zip(control);
    let reso = reso(&city, client(&city, RESO_CLIENT_SECRET));
    let whole = all(&reso, zip).await.unwrap().len();
    // Several at a time share one token.
    let many = futures::future::join_all((0..8).map(|_| all(&reso, zip))).await;
    assert!(
        many.iter()
            .all(|rows| rows.as_ref().unwrap().len() == whole)
    );
    assert_eq!(control.calls(RESO_TOKENS), 1);
    control.expire_reso_tokens();
    let before = control.calls(RESO);
    assert_eq!(all(&reso, zip).await.unwrap().len(), whole);
    assert_eq!(control.calls(RESO_TOKENS), 2);
    assert_eq!(control.calls(RESO) - before, 2, "refused, and asked again");
    // The endpoint is down: what is kept is used, and no more than that.
    control.set_fault(RESO_TOKENS, Fault::new(FaultKind::Error).status(503));
    assert_eq!(all(&reso, zip).await.unwrap().len(), whole);
    control.expire_reso_tokens();
    let down = all(&reso, zip).await.unwrap_err();
    assert!(matches!(down, FeedError::Unavailable(_)), "{down:?}");
    // An answer that is no token.
    for kind in [FaultKind::WrongJson, FaultKind::Html] {
        control.set_fault(RESO_TOKENS, Fault::new(kind));
        let odd = all(&reso, zip).await.unwrap_err();
        assert!(matches!(odd, FeedError::Unreadable(_)), "{odd:?}");
    }
    control.clear_faults();
    assert_eq!(all(&reso, zip).await.unwrap().len(), whole);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_is_refused_is_tried_once_and_never_told() {
    let city = city().await;
    let control = city.control();
    let zip = zip(control);
    let wrong = "hunter2-wrong";
    let by_client = reso(&city, client(&city, wrong));
    let refused = all(&by_client, zip).await.unwrap_err();
    assert_eq!(refused, FeedError::Refused(401));
    assert_eq!((control.calls(RESO_TOKENS), control.calls(RESO)), (1, 0));
    let by_token = reso(&city, Credential::Token(wrong.to_owned().into()));
    let refused = all(&by_token, zip).await.unwrap_err();
    assert_eq!(refused, FeedError::Refused(401));
    assert_eq!(control.calls(RESO), 1);
    let shown = format!("{by_client:?} {by_token:?} {refused:?} {refused}");
    assert!(!shown.contains("hunter2"), "{shown}");
    city.stop().await;
}

/// A server that refuses options it does not have: its address, and what it was asked for.
async fn refusing(
    options: &'static [&'static str],
) -> (String, tokio::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (told, asked) = tokio::sync::mpsc::channel(100);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = socket.read_u8().await else {
                    return;
                };
                head.push(byte);
            }
            let head = String::from_utf8(head).unwrap();
            let line = head.lines().next().unwrap_or_default().to_owned();
            let refused = options.iter().any(|option| line.contains(option));
            let (status, body) = match refused {
                true => ("400 Bad Request", "{}"),
                false => ("200 OK", r#"{"value": [{"ListingKey": "K1"}]}"#),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            // The one who asks may be gone.
            let _ = told.send(line).await;
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    (url, asked)
}

#[tokio::test]
async fn a_server_that_lacks_an_option_is_asked_without_it_from_then_on() {
    let zip = "10001".parse().unwrap();
    for (lacks, first, then) in [
        (&[][..], 1, 1),
        (&["expand"][..], 2, 1),
        (&["count"][..], 3, 1),
        (&["expand", "count"][..], 4, 1),
    ] {
        let (url, mut asked) = refusing(lacks).await;
        let reso = Reso::new(upstream(url), token());
        for times in [first, then] {
            assert_eq!(all(&reso, zip).await.unwrap().len(), 1, "{lacks:?}");
            for _ in 0..times {
                assert!(asked.recv().await.is_some());
            }
            assert!(asked.try_recv().is_err(), "{lacks:?}: asked once too often");
        }
    }
    // One that takes nothing at all is unreadable, and is asked in full the next time.
    let (url, mut asked) = refusing(&["filter"]).await;
    let reso = Reso::new(upstream(url), token());
    for _ in 0..2 {
        let odd = all(&reso, zip).await.unwrap_err();
        assert_eq!(odd, FeedError::Unreadable("status 400".into()));
        assert!(asked.recv().await.unwrap().contains("count"));
        for _ in 0..3 {
            assert!(asked.recv().await.is_some());
        }
    }
}
