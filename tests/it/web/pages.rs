//! What people do there.

use super::*;

#[tokio::test]
async fn somebody_signs_up_makes_a_key_uses_rotates_and_revokes_it() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let (key, id) = browser.make_key("laptop").await;
    assert!(key.starts_with("svc_test_"));
    assert!(
        !browser.get("/dashboard/keys").await.text.contains(&key),
        "it is shown once"
    );
    assert_eq!(
        server.get_as(&key, "/v1/usage").await.status,
        StatusCode::OK
    );
    let looked = json!({"address": "350 5th Ave, Manhattan"});
    assert_eq!(
        server.post_as(&key, "/v1/lookup", &looked).await.status,
        StatusCode::OK
    );
    let usage = browser.get("/dashboard/usage").await.is(200);
    assert!(
        usage.text.contains("lookupProperty") && usage.text.contains("<svg"),
        "{}",
        usage.text
    );
    assert_eq!(
        browser.get("/dashboard/budget.json").await.json()["day_remaining"],
        "9,990"
    );

    browser.get("/dashboard/keys").await.is(200);
    let path = format!("/dashboard/keys/{id}/rotate");
    browser.post(&path, &[("overlap_hours", "5")]).await.is(400);
    browser.get("/dashboard/keys").await.is(200);
    let rotated = browser
        .post(&path, &[("overlap_hours", "24")])
        .await
        .is(200);
    let second = rotated.between("class=\"secret\" readonly value=\"", "\"");
    assert_ne!(second, key);
    for good in [&key, &second] {
        assert_eq!(
            server.get_as(good, "/v1/usage").await.status,
            StatusCode::OK
        );
    }
    browser.get("/dashboard/keys").await.is(200);
    browser
        .post(&format!("/dashboard/keys/{id}/revoke"), &[])
        .await
        .goes("/dashboard/keys");
    until(&server, &key, 401).await;
    assert_eq!(
        server.get_as(&second, "/v1/usage").await.status,
        StatusCode::OK
    );
    let events = browser.get("/dashboard/account").await.is(200).text;
    for action in [
        "account.create",
        "session.start",
        "key.create",
        "key.rotate",
        "key.revoke",
    ] {
        assert!(events.contains(action), "{action}");
    }
}

#[tokio::test]
async fn a_report_asks_before_it_costs_and_is_free_to_look_at_again() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let left = async |browser: &mut Browser| {
        browser.get("/dashboard/budget.json").await.json()["day_remaining"].clone()
    };
    let asked = browser
        .get("/lookup?address=350+5th+Ave%2C+Manhattan")
        .await
        .is(200);
    assert!(asked.text.contains("10 units"), "{}", asked.text);
    assert_eq!(left(&mut browser).await, "10,000");
    browser
        .get("/lookup?address=350+5th+Ave%2C+Manhattan")
        .await
        .is(200);
    let done = browser
        .post("/lookup", &[("address", "350 5th Ave, Manhattan")])
        .await
        .is(303);
    let path = done.location().to_owned();
    assert_eq!(path, "/property/1008350041/350-5-avenue-new-york-ny-10118");
    assert_eq!(left(&mut browser).await, "9,990");

    let report = browser.get(&path).await.is(200);
    for part in [
        "350 5 AVENUE",
        "1008350041",
        "What needs attention first",
        "verify against the original record",
        "nyc_ecb",
        "<svg",
    ] {
        assert!(report.text.contains(part), "{part}");
    }
    browser
        .get("/property/1008350041/another-slug")
        .await
        .goes(&path);
    browser.get("/property/1008350041").await.goes(&path);
    browser
        .get("/lookup?address=350+5+AVENUE%2C+10118")
        .await
        .goes(&path);
    let kept = browser
        .get("/property/1008350041/report.json")
        .await
        .is(200)
        .json();
    assert_eq!(kept["bbl"], "1008350041");
    assert_eq!(kept["sources"]["nyc_ecb"]["status"], "ok");
    assert_eq!(left(&mut browser).await, "9,990", "looking costs nothing");
    let usage = browser.get("/dashboard/usage").await.is(200).text;
    assert!(usage.contains("<td>WEB</td>"), "{usage}");

    browser
        .get("/lookup?address=1+Main+St%2C+Yonkers+NY")
        .await
        .is(400);
    browser.get("/property/1/x").await.is(404);
    let mut stranger = Browser::new(&server);
    stranger
        .get(&path)
        .await
        .goes(&format!("/sign-in?next={}", path.replace('/', "%2F")));
}

#[tokio::test]
async fn a_kept_report_of_the_building_stands_for_no_unit_of_a_condominium() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let building = browser
        .post("/lookup", &[("address", "120 Broadway, Manhattan")])
        .await
        .is(303);
    let unit = "/lookup?address=120+Broadway+Apt+5C%2C+Manhattan";
    let asked = browser.get(unit).await.is(200);
    assert!(asked.text.contains("unit 5C"), "{}", asked.text);
    let done = browser
        .post("/lookup", &[("address", "120 Broadway Apt 5C, Manhattan")])
        .await
        .is(303);
    assert_ne!(done.location(), building.location());
    browser.get(unit).await.goes(done.location());
}

#[tokio::test]
async fn an_operators_account_gets_in_by_a_link_once() {
    let server = Server::sample().await;
    let mut first = Browser::invited(&server, "grace@example.com", "developer").await;
    let link = server
        .operator(&["account", "invite", "--account", "grace@example.com"])
        .await;
    let (_, token) = link.split_once("/link/").unwrap();
    let path = format!("/link/{token}");
    let mut browser = Browser::new(&server);
    browser.get(&path).await.is(200);
    browser.post(&path, &[("password", "short")]).await.is(400);
    browser
        .post(&path, &[("password", "another long sentence")])
        .await
        .goes("/dashboard");
    browser.get(&path).await.is(404);
    first
        .get("/dashboard")
        .await
        .goes("/sign-in?next=%2Fdashboard");
}

#[tokio::test]
async fn support_suspends_and_restores_and_sets_limits() {
    let server = Server::sample().await;
    let mut owner = Browser::sign_up(&server, "ada@example.com").await;
    let (key, _) = owner.make_key("laptop").await;
    let mut support = Browser::invited(&server, "help@example.com", "support").await;
    let found = support.get("/support?q=ADA%40example.com").await.is(200);
    let id = found.between("href=\"/support/accounts/", "\"");
    let four = &key[key.len() - 4..];
    let by_key = support.get(&format!("/support?q={four}")).await.is(200);
    assert!(by_key.text.contains(&id));
    let path = format!("/support/accounts/{id}");
    support.get(&path).await.is(200);
    support
        .post(&format!("{path}/suspend"), &[("reason", "")])
        .await
        .is(400);
    support.get(&path).await.is(200);
    support
        .post(&format!("{path}/suspend"), &[("reason", "resale <b>")])
        .await
        .goes(&path);
    until(&server, &key, 403).await;
    let shown = owner.get("/dashboard").await.is(200).text;
    assert!(
        shown.contains("suspended") && !shown.contains("resale"),
        "{shown}"
    );
    let account = owner.get("/dashboard/account").await.is(200).text;
    assert!(
        account.contains("account.suspend") && !account.contains("resale"),
        "{account}"
    );
    owner
        .get("/lookup?address=350+5th+Ave%2C+Manhattan")
        .await
        .is(403);
    let seen = support.get(&path).await.is(200).text;
    assert!(seen.contains("resale &#60;b&#62;"), "{seen}");
    support
        .post(&format!("{path}/restore"), &[("reason", "cleared")])
        .await
        .goes(&path);
    until(&server, &key, 200).await;
    support.get(&path).await.is(200);
    support
        .post(
            &format!("{path}/limits"),
            &[("per_minute", "x"), ("per_day", ""), ("reason", "r")],
        )
        .await
        .is(400);
    support.get(&path).await.is(200);
    support
        .post(
            &format!("{path}/limits"),
            &[("per_minute", ""), ("per_day", "77"), ("reason", "")],
        )
        .await
        .is(400);
    support.get(&path).await.is(200);
    let past = [
        ("per_day", "77"),
        ("reason", "trial"),
        ("until", "2020-01-01"),
    ];
    support.post(&format!("{path}/limits"), &past).await.is(400);
    support.get(&path).await.is(200);
    let week = START + Duration::days(7);
    let until = week.date().to_string();
    let fields = [
        ("per_minute", ""),
        ("per_day", "77"),
        ("reason", "a secret trial"),
        ("until", until.as_str()),
    ];
    support
        .post(&format!("{path}/limits"), &fields)
        .await
        .goes(&path);
    let limits = owner.get("/dashboard").await.is(200).text;
    assert!(
        limits.contains(">77<") && limits.contains(&format!("set by support until {until}")),
        "{limits}"
    );
    let told = owner.get("/dashboard/account").await.is(200).text;
    assert!(
        told.contains("per day 77") && !told.contains("secret trial"),
        "{told}"
    );
    let told = support.get(&path).await.is(200).text;
    assert!(told.contains("reason: a secret trial"), "{told}");
    // The end comes by itself, on every surface.
    server.set_clock(week);
    let limit = async || {
        let usage = server.get_as(&key, "/v1/usage").await;
        usage.data()["day"]["limit"].clone()
    };
    assert_eq!(limit().await, 10_000);
    let mut again = Browser::new(&server);
    again.get("/sign-in").await.is(200);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    again.post("/sign-in", &fields).await.goes("/dashboard");
    let limits = again.get("/dashboard").await.is(200).text;
    assert!(!limits.contains("set by support"), "{limits}");
}

#[tokio::test]
async fn a_request_is_on_its_owners_dashboard_and_support_finds_the_account_by_it() {
    let server = Server::sample().await;
    let mut owner = Browser::sign_up(&server, "ada.lovelace@example.com").await;
    let (key, _) = owner.make_key("laptop").await;
    let looked = server
        .post_as(
            &key,
            "/v1/lookup",
            &json!({"address": "350 5th Ave, Manhattan"}),
        )
        .await;
    let id = looked.body["meta"]["request_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let refused = server
        .post_as(
            &key,
            "/v1/lookup",
            &json!({"address": "1 Main St, Yonkers NY"}),
        )
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let other = refused.body["request_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = owner.get("/dashboard").await.is(200).text;
    for part in [
        &id,
        &other,
        "outside_coverage",
        "lookupProperty",
        "<td>REST</td>",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("Yonkers") && !shown.contains("5th Ave"));
    let exported = owner.get("/dashboard/account/export.json").await.is(200);
    assert_eq!(exported.json()["recent_requests"][1]["request_id"], id);
    // One who may not see it sees nothing of it.
    let mut stranger = Browser::sign_up(&server, "bob@example.com").await;
    assert!(!stranger.get("/dashboard").await.text.contains(&id));
    let mut support = Browser::invited(&server, "help@example.com", "support").await;
    for query in [&id, &other, "ada.love", "ADA.LOVELACE@example.com"] {
        let found = support.get(&format!("/support?q={query}")).await.is(200);
        assert!(
            found.text.contains(">ada.lovelace@example.com</a>"),
            "{query}: {}",
            found.text
        );
        assert!(!found.text.contains(">bob@example.com</a>"));
    }
    for query in ["ada%25", "0192f3a4-0000-7000-8000-000000000000", "ad"] {
        let found = support.get(&format!("/support?q={query}")).await.is(200);
        assert!(
            found.text.contains("No account fits"),
            "{query}: {}",
            found.text
        );
    }
}

#[tokio::test]
async fn the_audit_trail_is_one_chain_that_a_page_and_a_command_check() {
    let server = Server::sample().await;
    let mut owner = Browser::sign_up(&server, "ada@example.com").await;
    owner.make_key("laptop").await;
    let mut support = Browser::invited(&server, "help@example.com", "support").await;
    let page = support.get("/support/audit").await.is(200);
    assert!(page.text.contains("key.create") && !page.text.contains("chain is whole"));
    let checked = support.post("/support/audit", &[]).await.is(200);
    assert!(
        checked.text.contains("The chain is whole"),
        "{}",
        checked.text
    );
    let end = checked.between("It ends in <code>", "<");
    let told = server.operator(&["audit", "verify"]).await;
    assert!(
        told.starts_with("whole: ") && told.ends_with(&end),
        "{told}"
    );
}

#[tokio::test]
async fn an_account_is_exported_and_deleted_by_its_owner() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let (key, _) = browser.make_key("laptop").await;
    let all = browser.get("/dashboard/account/export.json").await.is(200);
    assert_eq!(all.json()["account"]["email"], "ada@example.com");
    assert_eq!(all.json()["keys"][0]["name"], "laptop");
    assert!(!all.text.contains(&key) && !all.text.contains("argon2"));
    browser.get("/dashboard/account").await.is(200);
    let path = "/dashboard/account/delete";
    browser
        .post(path, &[("email", "x"), ("password", PASSWORD)])
        .await
        .is(400);
    browser.get("/dashboard/account").await.is(200);
    browser
        .post(path, &[("email", "ada@example.com"), ("password", "wrong")])
        .await
        .is(400);
    browser.get("/dashboard/account").await.is(200);
    browser
        .post(
            path,
            &[("email", "ada@example.com"), ("password", PASSWORD)],
        )
        .await
        .goes("/");
    until(&server, &key, 401).await;
    browser
        .get("/dashboard")
        .await
        .goes("/sign-in?next=%2Fdashboard");
    Browser::sign_up(&server, "ada@example.com").await;
}

#[tokio::test]
async fn every_guide_stands_and_speaks_of_this_deployment() {
    let server = Server::sample().await;
    let mut browser = Browser::new(&server);
    for page in [
        "",
        "/quick-start",
        "/reference",
        "/errors",
        "/limits",
        "/caching",
        "/coverage",
        "/acceptable-use",
        "/versioning",
    ] {
        browser.get(&format!("/docs{page}")).await.is(200);
    }
    assert!(browser.get("/docs").await.text.contains(&server.url));
    let reference = browser.get("/docs/reference").await.text;
    for part in [
        "<h2 id=\"lookupProperty\">",
        "<code>include_comps</code>",
        "<code>cache.refresh_available_at</code>",
        "<h2 id=\"getUsage\">",
    ] {
        assert!(reference.contains(part), "{part}");
    }
    assert!(
        browser
            .get("/docs/errors")
            .await
            .text
            .contains("quota_unavailable")
    );
    assert!(
        browser
            .get("/docs/coverage")
            .await
            .text
            .contains("nyc_hpd_violations")
    );
    browser.get("/docs/nothing").await.is(404);
}

#[tokio::test]
async fn addresses_are_suggested_as_somebody_types_and_cost_nothing() {
    let server = Server::sample().await;
    let mut stranger = Browser::new(&server);
    stranger.get("/suggest?q=350+5th").await.is(401);
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let home = browser.get("/").await.is(200);
    assert!(home.text.contains("data-suggest=\"/suggest\""));
    for (typed, first) in [
        ("350+5th+a", "350 5 AVENUE, New York, NY 10118"),
        ("120+broadw%2C+man", "120 BROADWAY, New York, NY 10271"),
    ] {
        let got = browser.get(&format!("/suggest?q={typed}")).await.is(200);
        assert_eq!(got.json()["suggestions"][0], first, "{}", got.text);
        // What is suggested is one building.
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("address", first)
            .finish();
        browser.get(&format!("/lookup?{query}")).await.is(200);
    }
    for nothing in ["", "q=", "q=%00", "q=zzzzzz", "q=99999+5th"] {
        let got = browser.get(&format!("/suggest?{nothing}")).await.is(200);
        assert_eq!(got.json()["suggestions"], json!([]), "{nothing}");
    }
    // The clock stands still, so that all of these are in one second.
    let mut refused = 0;
    for _ in 0..30 {
        let got = browser.get("/suggest?q=350+5th").await;
        refused += i32::from(got.status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused > 0, "questions have a pace");
    let left = browser.get("/dashboard/budget.json").await.json();
    assert_eq!(left["day_remaining"], "10,000");
}

#[tokio::test]
async fn calls_refused_before_they_ran_are_among_the_requests_and_usage_is_drawn() {
    let server = Server::sample().await;
    let mut owner = Browser::sign_up(&server, "ada@example.com").await;
    let (key, _) = owner.make_key("laptop").await;
    // No content type: it fails before there is an operation to run.
    let headers = crate::harness::bearer(&key);
    let untyped = server.send(Method::POST, "/v1/lookup", headers, "{}").await;
    assert_eq!(untyped.status, StatusCode::BAD_REQUEST);
    let looked = json!({"address": "350 5th Ave, Manhattan"});
    server.post_as(&key, "/v1/lookup", &looked).await;
    let listed = |shown: &str, answer: &crate::harness::Answer, code: &str| {
        let id = answer.body["request_id"].as_str().expect("an id");
        assert!(
            shown.contains(id) && shown.contains(code),
            "{code}: {shown}"
        );
    };
    // Before the many calls that the wait below makes: the page has the newest ones.
    let shown = owner.get("/dashboard").await.is(200).text;
    listed(&shown, &untyped, "invalid_request");
    server
        .operator(&[
            "account",
            "suspend",
            "--account",
            "ada@example.com",
            "--reason",
            "resale",
        ])
        .await;
    until(&server, &key, 403).await;
    let suspended = server.get_as(&key, "/v1/usage").await;
    assert_eq!(suspended.status, StatusCode::FORBIDDEN);
    let shown = owner.get("/dashboard").await.is(200).text;
    listed(&shown, &suspended, "forbidden");
    assert!(shown.contains("Units spent today, by operation and surface"));
    assert!(shown.contains("<title>lookupProperty: REST 10</title>"));
    let usage = owner.get("/dashboard/usage").await.is(200).text;
    for what in ["by operation", "by surface"] {
        assert!(
            usage.contains(&format!("Units spent each day, {what}")),
            "{what}"
        );
    }
    // Two pictures of each: one is for phones.
    assert_eq!(usage.matches("<svg").count(), 6);
}
