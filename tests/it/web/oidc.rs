//! Signing in by an OpenID Connect issuer: the sample city's own, with keys that were made a moment ago.

use brownstone_sample_city::{OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, SampleCity};

use super::*;
use crate::harness::Options;

/// A server whose issuer is the city that is given with it.
async fn with_issuer(sign_up: &str) -> (Server, SampleCity) {
    let city = SampleCity::start(([127, 0, 0, 1], 0).into())
        .await
        .expect("an issuer");
    let variables = [
        ("BROWNSTONE_OIDC_ISSUER", format!("{}/oidc", city.url())),
        ("BROWNSTONE_OIDC_CLIENT_ID", OIDC_CLIENT_ID.to_owned()),
        (
            "BROWNSTONE_OIDC_CLIENT_SECRET",
            OIDC_CLIENT_SECRET.to_owned(),
        ),
        ("BROWNSTONE_SIGN_UP", sign_up.to_owned()),
    ];
    let options = Options {
        variables: variables
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        ..Options::default()
    };
    (Server::start(options).await, city)
}

/// Goes to the issuer, which does as `extra` says, and gives the path that it sends the browser back to.
async fn at_issuer(browser: &mut Browser, begin: &str, extra: &[(&str, &str)]) -> String {
    let sent = browser.get(begin).await.is(303);
    let cookie = sent.headers.get("set-cookie").expect("a cookie");
    let cookie = cookie.to_str().expect("visible");
    assert!(
        cookie.starts_with("attempt=") && cookie.contains("HttpOnly; SameSite=Lax; Max-Age=600"),
        "{cookie}"
    );
    let mut url: url::Url = sent.location().parse().expect("an address");
    let now = START.unix_timestamp().to_string();
    url.query_pairs_mut()
        .append_pair("sample_now", &now)
        .extend_pairs(extra);
    let answer = browser
        .http
        .get(url)
        .send()
        .await
        .expect("the issuer answers");
    assert_eq!(answer.status(), StatusCode::FOUND);
    let back = answer.headers()["location"].to_str().expect("visible");
    let back = back.strip_prefix(&browser.base).expect("this host");
    assert!(back.starts_with("/sign-in/oidc/callback?"), "{back}");
    back.to_owned()
}

async fn email(browser: &mut Browser) -> String {
    let account = browser.get("/dashboard/account").await.is(200);
    account.between("<span class=\"email\" title=\"", "\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_comes_by_an_issuer_makes_a_key_and_comes_back_to_the_same_account() {
    let (server, city) = with_issuer("open").await;
    let mut browser = Browser::new(&server);
    let page = browser.get("/sign-in?next=/dashboard/keys").await.is(200);
    assert!(page.text.contains("identity provider"), "{}", page.text);
    let begin = page
        .between("button second\" href=\"", "\"")
        .replace("&#38;", "&");
    assert_eq!(begin, "/sign-in/oidc?again=0&next=%2Fdashboard%2Fkeys");
    for alg in ["RS256", "ES256"] {
        let extra = [("sample_email", "Ada@example.com"), ("sample_alg", alg)];
        let back = at_issuer(&mut browser, &begin, &extra).await;
        browser.get(&back).await.goes("/dashboard/keys");
        assert_eq!(email(&mut browser).await, "ada@example.com");
        // The answer is good once, in this browser or another.
        browser.get(&back).await.is(403);
        Browser::new(&server).get(&back).await.is(403);
    }
    browser.get("/dashboard/keys").await.is(200);
    let (key, _) = browser.make_key("laptop").await;
    assert_eq!(
        server.get_as(&key, "/v1/usage").await.status,
        StatusCode::OK
    );
    // A while later who it is has to be asked again, and the issuer must have asked.
    server.set_clock(START + Duration::minutes(30));
    browser
        .post("/dashboard/keys", &[("name", "second")])
        .await
        .goes("/again?next=%2Fdashboard%2Fkeys");
    let page = browser.get("/again?next=/dashboard/keys").await.is(200);
    let begin = page
        .between("button second\" href=\"", "\"")
        .replace("&#38;", "&");
    let later = (START + Duration::minutes(30)).unix_timestamp().to_string();
    let stale = [
        ("sample_email", "ada@example.com"),
        ("sample_fault", "stale"),
        ("sample_now", &later),
    ];
    let back = at_issuer(&mut browser, &begin, &stale).await;
    browser.get(&back).await.is(403);
    let fresh = [("sample_email", "ada@example.com"), ("sample_now", &later)];
    let back = at_issuer(&mut browser, &begin, &fresh).await;
    browser.get(&back).await.goes("/dashboard/keys");
    browser.get("/dashboard/keys").await.is(200);
    browser.make_key("second").await;
    city.stop().await;
    // An issuer that is gone is said, and passwords go on.
    Browser::new(&server).get("/sign-in").await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_asks_nobody_makes_no_session_that_is_fresh() {
    let (server, city) = with_issuer("open").await;
    let mut browser = Browser::new(&server);
    // It asked an hour ago, and lets the browser in by its own session: whoever leads it there says nothing of asking again.
    let silent = [
        ("sample_email", "ada@example.com"),
        ("sample_fault", "stale"),
    ];
    for begin in ["/sign-in/oidc", "/sign-in/oidc?again=0"] {
        let back = at_issuer(&mut browser, begin, &silent).await;
        browser.get(&back).await.goes("/dashboard");
        browser.get("/dashboard/keys").await.is(200);
        browser
            .post("/dashboard/keys", &[("name", "laptop")])
            .await
            .goes("/again?next=%2Fdashboard%2Fkeys");
    }
    // Asked again, it lets on.
    let asked = [("sample_email", "ada@example.com")];
    let back = at_issuer(&mut browser, "/sign-in/oidc?again=1", &asked).await;
    browser.get(&back).await.goes("/dashboard");
    browser.get("/dashboard/keys").await.is(200);
    browser.make_key("laptop").await;
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_hold_lets_nobody_in() {
    let (server, city) = with_issuer("open").await;
    let begin = "/sign-in/oidc";
    for fault in [
        "nonce",
        "audience",
        "issuer",
        "expired",
        "unverified",
        "denied",
    ] {
        let mut browser = Browser::new(&server);
        let back = at_issuer(&mut browser, begin, &[("sample_fault", fault)]).await;
        let refused = browser.get(&back).await.is(403);
        assert!(refused.text.contains("You are not signed in"), "{fault}");
        assert!(!browser.cookies.contains_key("session"), "{fault}");
        assert!(!browser.cookies.contains_key("attempt"), "{fault}");
        browser.get("/dashboard").await.is(303);
    }
    let mut browser = Browser::new(&server);
    let back = at_issuer(&mut browser, begin, &[("sample_alg", "HS256")]).await;
    browser.get(&back).await.is(403);
    // Another's answer, put into this browser.
    let mut thief = Browser::new(&server);
    let stolen = at_issuer(&mut thief, begin, &[]).await;
    let mut victim = Browser::new(&server);
    at_issuer(&mut victim, begin, &[]).await;
    victim.get(&stolen).await.is(403);
    assert!(!victim.cookies.contains_key("session"));
    // The link leads to no other host afterwards.
    let mut browser = Browser::new(&server);
    let back = at_issuer(&mut browser, "/sign-in/oidc?next=//evil.example", &[]).await;
    browser.get(&back).await.goes("/dashboard");
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_opens_no_account_where_nobody_may() {
    let (server, city) = with_issuer("closed").await;
    let mut browser = Browser::new(&server);
    let extra = [("sample_email", "new@example.com")];
    let back = at_issuer(&mut browser, "/sign-in/oidc", &extra).await;
    browser.get(&back).await.is(404);
    server
        .operator(&["account", "create", "--email", "new@example.com"])
        .await;
    let back = at_issuer(&mut browser, "/sign-in/oidc", &extra).await;
    browser.get(&back).await.goes("/dashboard");
    assert_eq!(email(&mut browser).await, "new@example.com");
    city.stop().await;
    let plain = Server::sample().await;
    let mut browser = Browser::new(&plain);
    browser.get("/sign-in/oidc").await.is(404);
    browser.get("/sign-in/oidc/callback?code=1").await.is(404);
    let page = browser.get("/sign-in").await.is(200);
    assert!(!page.text.contains("identity provider"));
}
