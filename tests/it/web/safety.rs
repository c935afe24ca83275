//! What nobody may do there.

use super::*;

#[tokio::test]
async fn the_api_is_elsewhere_and_says_where() {
    let server = Server::sample().await;
    let mut browser = Browser::new(&server);
    for path in ["/v1", "/v1/lookup", "/v1/usage", "/mcp"] {
        for method in [Method::GET, Method::POST] {
            let got = browser.send(method, path, &[], String::new()).await.is(404);
            assert_eq!(got.json()["code"], "not_found");
            let message = got.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&server.url), "{message}");
            assert_eq!(
                got.json()["request_id"],
                got.headers["x-request-id"].to_str().unwrap()
            );
        }
    }
}

#[tokio::test]
async fn pages_are_framed_by_nobody_and_hold_nothing_inline() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    browser
        .get("/lookup?address=350+5th+Ave%2C+Manhattan")
        .await
        .is(200);
    let report = browser
        .post("/lookup", &[("address", "350 5th Ave, Manhattan")])
        .await
        .location()
        .to_owned();
    for path in [
        "/",
        "/docs",
        "/dashboard",
        "/dashboard/keys",
        "/dashboard/usage",
        "/dashboard/account",
        &report,
        "/nothing",
    ] {
        let got = browser.get(path).await;
        let policy = got.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'")
                && policy.contains("frame-ancestors 'none'")
                && !policy.contains("unsafe")
        );
        assert_eq!(got.headers["x-content-type-options"], "nosniff");
        assert_eq!(got.headers["cache-control"], "no-store", "{path}");
        let low = got.text.to_lowercase();
        for inline in [
            "<style",
            " style=",
            " onclick=",
            " onload=",
            "javascript:",
            "src=\"http",
            "<script>",
        ] {
            assert!(!low.contains(inline), "{inline} on {path}");
        }
        let style = got.between("rel=\"stylesheet\" href=\"", "\"");
        let sheet = browser.get(&style).await.is(200);
        assert!(
            sheet.headers["cache-control"]
                .to_str()
                .unwrap()
                .contains("immutable")
        );
    }
}

#[tokio::test]
async fn of_two_accounts_neither_sees_the_others_and_the_answer_is_that_of_nothing() {
    let server = Server::sample().await;
    let mut ada = Browser::sign_up(&server, "ada@example.com").await;
    let (_, own_key) = ada.make_key("laptop").await;
    let mut bob = Browser::sign_up(&server, "bob@example.com").await;
    let (_, key) = bob.make_key("laptop").await;
    let exported = bob.get("/dashboard/account/export.json").await.json();
    let session = exported["sessions"][0]["id"].as_str().unwrap().to_owned();
    let nothing = "0192f3a4-0000-7000-8000-000000000000";
    ada.get("/dashboard/keys").await.is(200);
    let mut answers = Vec::new();
    for path in [
        format!("/dashboard/keys/{key}/rotate"),
        format!("/dashboard/keys/{key}/revoke"),
        format!("/dashboard/account/sessions/{session}"),
        format!("/dashboard/keys/{nothing}/rotate"),
        format!("/dashboard/keys/{nothing}/revoke"),
        format!("/dashboard/account/sessions/{nothing}"),
        "/nowhere".to_owned(),
    ] {
        let got = ada.post(&path, &[("overlap_hours", "0")]).await.is(404);
        let id = got.headers["x-request-id"].to_str().unwrap();
        answers.push(got.text.replace(id, ""));
    }
    let first = &answers[0];
    assert!(answers.iter().all(|answer| answer == first));
    bob.get("/dashboard").await.is(200);
    ada.get("/dashboard/keys").await.is(200);
    ada.post(&format!("/dashboard/keys/{own_key}/revoke"), &[])
        .await
        .goes("/dashboard/keys");
}

#[tokio::test]
async fn the_support_console_is_for_its_roles_and_asks_for_the_password_again() {
    let server = Server::sample().await;
    let account = server
        .operator(&["account", "create", "--email", "some@example.com"])
        .await;
    let path = format!("/support/accounts/{account}");
    let change = format!("{path}/suspend");
    let mut developer = Browser::sign_up(&server, "ada@example.com").await;
    for page in ["/support", "/support/audit", &path] {
        developer.get(page).await.is(404);
    }
    developer.post("/support/audit", &[]).await.is(404);
    for action in ["suspend", "restore", "limits", "defaults"] {
        developer
            .post(&format!("{path}/{action}"), &[("reason", "r")])
            .await
            .is(404);
    }
    let mut nobody = Browser::new(&server);
    nobody
        .get("/support")
        .await
        .goes("/sign-in?next=%2Fsupport");
    for role in ["support", "admin"] {
        let mut browser = Browser::invited(&server, &format!("{role}@example.com"), role).await;
        browser.get("/support").await.is(200);
        browser.get(&path).await.is(200);
        browser.get("/support/accounts/none").await.is(404);
        browser.get(&path).await.is(200);
        browser.post(&format!("{path}/erase"), &[]).await.is(404);
        let own = browser
            .get("/dashboard/account")
            .await
            .between("<dd><code>", "<");
        let to_self = format!("/support/accounts/{own}/limits");
        let more = [("per_day", "99999"), ("reason", "r")];
        browser.post(&to_self, &more).await.is(400);
    }
    // An account with a role is changed by an admin alone.
    for (role, status) in [("support", 400), ("admin", 303)] {
        let email = format!("{role}.two@example.com");
        let mut browser = Browser::invited(&server, &email, role).await;
        let found = browser
            .get("/support?q=support%40example.com")
            .await
            .is(200);
        let id = found.between("href=\"/support/accounts/", "\"");
        browser
            .get(&format!("/support/accounts/{id}"))
            .await
            .is(200);
        browser
            .post(
                &format!("/support/accounts/{id}/suspend"),
                &[("reason", "r")],
            )
            .await
            .is(status);
    }
    let mut late = Browser::invited(&server, "late@example.com", "support").await;
    server.set_clock(START + Duration::minutes(31));
    late.get("/support").await.goes("/again?next=%2Fsupport");
    late.get("/dashboard/keys").await.is(200);
    late.post(&change, &[("reason", "r")])
        .await
        .goes("/again?next=%2Fdashboard");
    late.get("/again?next=%2Fsupport").await.is(200);
    late.post("/again", &[("password", "wrong"), ("next", "/support")])
        .await
        .is(401);
    late.post("/again", &[("password", PASSWORD), ("next", "/support")])
        .await
        .goes("/support");
    late.get("/support").await.is(200);
}

#[tokio::test]
async fn keys_are_made_only_shortly_after_the_password() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let (_, id) = browser.make_key("laptop").await;
    server.set_clock(START + Duration::minutes(11));
    browser.get("/dashboard/keys").await.is(200);
    let again = "/again?next=%2Fdashboard%2Fkeys";
    browser
        .post("/dashboard/keys", &[("name", "second")])
        .await
        .goes(again);
    browser
        .post(
            &format!("/dashboard/keys/{id}/rotate"),
            &[("overlap_hours", "0")],
        )
        .await
        .goes(again);
    browser
        .post(&format!("/dashboard/keys/{id}/revoke"), &[])
        .await
        .goes("/dashboard/keys");
}

#[tokio::test]
async fn keys_are_made_at_a_pace() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let mut made = 0;
    let refused = loop {
        let got = browser.post("/dashboard/keys", &[("name", "x")]).await;
        if got.status.as_u16() != 200 {
            break got.is(429);
        }
        made += 1;
        browser.get("/dashboard/keys").await.is(200);
        assert!(made <= 30);
    };
    assert_eq!(made, 30);
    let wait = refused.headers["retry-after"].to_str().unwrap();
    assert!((1..=600).contains(&wait.parse::<u64>().unwrap()), "{wait}");
}

#[tokio::test]
async fn a_form_needs_the_token_of_its_own_browser_and_site() {
    let server = Server::sample().await;
    let mut ada = Browser::sign_up(&server, "ada@example.com").await;
    let mut bob = Browser::sign_up(&server, "bob@example.com").await;
    ada.get("/dashboard/keys").await.is(200);
    bob.get("/dashboard/keys").await.is(200);
    let foreign = bob.csrf.clone();
    let zeros = "0".repeat(128);
    for token in ["", "00", &zeros, &foreign, "zz"] {
        ada.post_with("/dashboard/keys", token, &[("name", "x")])
            .await
            .is(403);
        ada.post_with("/sign-out", token, &[]).await.is(403);
    }
    let mut fresh = Browser::new(&server);
    fresh
        .post_with(
            "/sign-in",
            &foreign,
            &[("email", "ada@example.com"), ("password", PASSWORD)],
        )
        .await
        .is(403);
    ada.get("/dashboard/keys").await.is(200);
    let body = format!("csrf={}&name=x", ada.csrf);
    let sent = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("sec-fetch-site", "cross-site"),
    ];
    ada.send(Method::POST, "/dashboard/keys", &sent, body)
        .await
        .is(403);
    let keys = ada.get("/dashboard/keys").await.is(200).text;
    assert!(keys.contains("No key yet"), "{keys}");
}

#[tokio::test]
async fn a_session_is_new_at_sign_in_its_cookie_is_guarded_and_it_ends_at_sign_out() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let first = browser.cookies["session"].clone();
    browser.get("/").await.is(200);
    let out = browser.post("/sign-out", &[]).await.goes("/");
    assert!(
        out.headers["set-cookie"]
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    let mut thief = Browser::new(&server);
    thief.cookies.insert("session".into(), first.clone());
    thief
        .get("/dashboard")
        .await
        .goes("/sign-in?next=%2Fdashboard");

    // A token that somebody planted is not taken over.
    let planted = "ab".repeat(32);
    browser.cookies.insert("session".into(), planted.clone());
    browser.get("/sign-in").await.is(200);
    let entered = browser
        .post(
            "/sign-in",
            &[("email", "ada@example.com"), ("password", PASSWORD)],
        )
        .await
        .goes("/dashboard");
    let cookie = entered.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/")
    );
    assert!(
        !cookie.contains("Secure"),
        "this host is not reached over TLS"
    );
    let second = browser.cookies["session"].clone();
    assert!(second != planted && second != first);
    browser.get("/dashboard").await.is(200);

    let mut other = Browser::new(&server);
    other.get("/sign-in").await.is(200);
    other
        .post(
            "/sign-in",
            &[("email", "ada@example.com"), ("password", PASSWORD)],
        )
        .await
        .goes("/dashboard");
    browser.get("/dashboard/account").await.is(200);
    browser
        .post("/dashboard/account/sessions/others", &[])
        .await
        .goes("/dashboard/account");
    other
        .get("/dashboard")
        .await
        .goes("/sign-in?next=%2Fdashboard");
    browser.get("/dashboard").await.is(200);
}

#[tokio::test]
async fn nobody_is_sent_to_another_host() {
    let server = Server::sample().await;
    Browser::sign_up(&server, "ada@example.com").await;
    for next in [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "evil",
        "/\t/evil.example",
    ] {
        let mut browser = Browser::new(&server);
        browser.get("/sign-in").await.is(200);
        let fields = [
            ("email", "ada@example.com"),
            ("password", PASSWORD),
            ("next", next),
        ];
        browser.post("/sign-in", &fields).await.goes("/dashboard");
    }
    let mut browser = Browser::new(&server);
    let evil = [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
    ];
    for path in ["/", "/sign-in", "/docs", "/dashboard", "/nothing"] {
        let got = browser.send(Method::GET, path, &evil, String::new()).await;
        assert!(
            !got.text.contains("evil") && !got.location().contains("evil"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn guessing_ends_and_tells_nothing() {
    let server = Server::sample().await;
    Browser::sign_up(&server, "ada@example.com").await;
    let mut browser = Browser::new(&server);
    browser.get("/sign-in").await.is(200);
    let mut told = Vec::new();
    for email in ["ada@example.com", "nobody@example.com"] {
        let fields = [("email", email), ("password", "not this one at all")];
        let got = browser.post("/sign-in", &fields).await.is(401);
        told.push(got.between("role=\"alert\">", "<"));
    }
    assert_eq!(told[0], told[1]);
    for _ in 0..9 {
        browser
            .post(
                "/sign-in",
                &[("email", "ada@example.com"), ("password", "wrong")],
            )
            .await
            .is(401);
    }
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let refused = browser.post("/sign-in", &fields).await.is(429);
    assert_eq!(
        refused.headers["retry-after"],
        HeaderValue::from_static("900")
    );
}

#[tokio::test]
async fn where_accounts_are_not_opened_there_is_no_way_in() {
    for (policy, status) in [("invitation", 200), ("closed", 404)] {
        let server = Server::start(crate::harness::Options {
            variables: vec![("BROWNSTONE_SIGN_UP".into(), policy.into())],
            ..crate::harness::Options::default()
        })
        .await;
        let mut browser = Browser::new(&server);
        let shown = browser.get("/sign-up").await.is(status);
        assert!(!shown.text.contains("name=\"password\""));
        browser.get("/sign-in").await.is(200);
        let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
        browser.post("/sign-up", &fields).await.is(404);
    }
}

/// Each path that takes a form, and what it answers to one without a token of its own: to those of support there is nothing here.
const FORMS: [(&str, u16); 17] = [
    ("/sign-up", 403),
    ("/sign-in", 403),
    ("/again", 403),
    ("/sign-out", 403),
    ("/lookup", 403),
    ("/dashboard/keys", 403),
    ("/dashboard/keys/some/rotate", 403),
    ("/dashboard/keys/some/revoke", 403),
    ("/dashboard/account/password", 403),
    ("/dashboard/account/sessions/others", 403),
    ("/dashboard/account/sessions/some", 403),
    ("/dashboard/account/delete", 403),
    ("/support/audit", 404),
    ("/support/accounts/some/suspend", 404),
    ("/support/accounts/some/restore", 404),
    ("/support/accounts/some/limits", 404),
    ("/support/accounts/some/defaults", 404),
];

#[tokio::test]
async fn every_form_needs_its_token_and_supports_are_there_for_support_alone() {
    let server = Server::sample().await;
    let account = server
        .operator(&["account", "create", "--email", "some@example.com"])
        .await;
    let mut developer = Browser::sign_up(&server, "ada@example.com").await;
    let mut support = Browser::invited(&server, "help@example.com", "support").await;
    let mut admin = Browser::invited(&server, "root@example.com", "admin").await;
    for (path, status) in FORMS {
        let path = path.replace("accounts/some", &format!("accounts/{account}"));
        developer.post_with(&path, "", &[]).await.is(status);
        // With the role the page is there, and the form is still refused.
        for browser in [&mut support, &mut admin] {
            browser.post_with(&path, "", &[]).await.is(403);
        }
        let mut nobody = Browser::new(&server);
        let got = nobody.post_with(&path, "", &[("reason", "r")]).await;
        assert!(
            [403, 404].contains(&got.status.as_u16()),
            "{path}: {}",
            got.status
        );
    }
    let found = server.operator(&["audit", "verify"]).await;
    assert!(found.starts_with("whole"), "{found}");
    let account = support
        .get(&format!("/support/accounts/{account}"))
        .await
        .is(200);
    assert!(!account.text.contains("Suspended since"));
}
