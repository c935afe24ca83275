//! Who may do what, route by route: the matrices that go through every route there is.

use brownstone_tests::{For, Host, ROUTES, Route};
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};

use crate::{
    harness::{Server, bearer, json_headers},
    web::{Browser, Got, PASSWORD},
};

/// An identifier in the form of ours, of nothing.
const NOTHING: &str = "0192f3a4-0000-7000-8000-000000000000";

fn routes(host: Host) -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(move |route| route.host == host)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_routes_of_the_api_are_the_documents_and_the_few_beside_it() {
    let server = Server::sample().await;
    let document = server
        .send(Method::GET, "/openapi.json", HeaderMap::new(), "")
        .await;
    let told: Vec<&String> = document.body["paths"]
        .as_object()
        .expect("paths")
        .keys()
        .collect();
    for route in routes(Host::Api) {
        let in_document = told.iter().any(|path| *path == route.path);
        assert!(in_document || route.whose == For::Beside, "{}", route.path);
        let answer = server
            .send(Method::DELETE, route.path, bearer(&server.key), "")
            .await;
        assert_eq!(answer.status.as_u16(), 405, "{} is there", route.path);
        if route.whose == For::Key {
            assert!(in_document, "{}", route.path);
            let method = if route.get { Method::GET } else { Method::POST };
            let answer = server
                .send(method, route.path, HeaderMap::new(), "{}")
                .await;
            answer.assert_failure(401, "unauthorized");
        }
    }
    for path in told {
        assert!(routes(Host::Api).any(|route| route.path == path), "{path}");
    }
    // What is for the web host or for the operator is not here.
    for route in routes(Host::Web)
        .map(|route| route.path)
        .chain(["/metrics"])
    {
        if route.contains('{') {
            continue;
        }
        let answer = server
            .send(Method::GET, route, bearer(&server.key), "")
            .await;
        answer.assert_failure(404, "not_found");
    }
}

/// What a route of the web host answered.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// Something of its own: a page, a file, a fault in what was sent.
    Its,
    /// That one signs in first.
    SignIn,
    /// That there is nothing.
    Nothing,
    /// That the form was not this browser's, which is said of what exists.
    Form,
}

fn told(got: &Got) -> Told {
    match got.status.as_u16() {
        303 if got.location().starts_with("/sign-in?") => Told::SignIn,
        401 => Told::SignIn,
        // What a suspended account is told where its key is refused, too.
        403 if got.text.contains("API access is refused") => Told::Its,
        403 => Told::Form,
        404 => Told::Nothing,
        _ => Told::Its,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_web_host_by_nobody_a_developer_support_and_an_admin() {
    let server = Server::sample().await;
    let some = server
        .operator(&["account", "create", "--email", "some@example.com"])
        .await;
    let mut visitors = [
        ("nobody", Browser::new(&server)),
        (
            "developer",
            Browser::sign_up(&server, "ada@example.com").await,
        ),
        (
            "support",
            Browser::invited(&server, "help@example.com", "support").await,
        ),
        (
            "admin",
            Browser::invited(&server, "root@example.com", "admin").await,
        ),
        (
            "suspended support",
            Browser::invited(&server, "was.help@example.com", "support").await,
        ),
        (
            "suspended admin",
            Browser::invited(&server, "was.root@example.com", "admin").await,
        ),
    ];
    for email in ["was.help@example.com", "was.root@example.com"] {
        let arguments = ["account", "suspend", "--account", email, "--reason", "r"];
        server.operator(&arguments).await;
    }
    let mut wrong = Vec::new();
    for route in routes(Host::Web) {
        // A page that is there for whoever may see it.
        let path = route
            .path
            .replace("/property/{id}", "/property/1008350041")
            .replace("/docs/{page}", "/docs/errors")
            .replace("{slug}", "350-5-avenue-new-york-ny-10118")
            .replace("{token}", NOTHING)
            .replace("{action}", "suspend")
            .replace("/accounts/{id}", &format!("/accounts/{some}"))
            .replace("{id}", NOTHING);
        for (who, browser) in &mut visitors {
            let (signed, staff) = (*who != "nobody", ["support", "admin"].contains(who));
            if route.get {
                let seen = browser.get(&path).await;
                let fine = match (route.whose, told(&seen)) {
                    (For::Signed | For::Owner, told) if !signed => told == Told::SignIn,
                    (For::Support, told) if !signed => told == Told::SignIn,
                    (For::Support, told) => told == if staff { Told::Its } else { Told::Nothing },
                    // No link and no issuer of that name: there is nothing, for everybody alike.
                    (For::All, told) => told != Told::SignIn && told != Told::Form,
                    (_, told) => told != Told::SignIn && told != Told::Form,
                };
                if !fine {
                    wrong.push(format!(
                        "GET {path} by {who}: {} {}",
                        seen.status,
                        seen.location()
                    ));
                }
            }
            if route.post {
                let sent = browser.post_with(&path, "", &[("reason", "r")]).await;
                let fine = match told(&sent) {
                    Told::Nothing => route.whose == For::Support && !staff,
                    Told::Form => route.whose != For::Support || staff || !signed,
                    Told::SignIn | Told::Its => false,
                };
                if !fine {
                    wrong.push(format!(
                        "POST {path} by {who}: {} {}",
                        sent.status,
                        sent.location()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Nobody is shown a way to where there is nothing.
    for (who, browser) in &mut visitors {
        let seen = browser.get("/").await.is(200);
        let led = seen.text.contains("href=\"/support\"");
        assert_eq!(led, ["support", "admin"].contains(who), "{who}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_another_is_nothing_on_every_route_that_takes_an_id() {
    let server = Server::sample().await;
    let mut ada = Browser::sign_up(&server, "ada@example.com").await;
    let mut bob = Browser::sign_up(&server, "bob@example.com").await;
    let (bobs_secret, key) = bob.make_key("laptop").await;
    let export = bob
        .get("/dashboard/account/export.json")
        .await
        .is(200)
        .json();
    let session = export["sessions"][0]["id"]
        .as_str()
        .expect("a session")
        .to_owned();
    let account = export["account"]["id"]
        .as_str()
        .expect("an account")
        .to_owned();
    ada.get("/dashboard/keys").await.is(200);
    let mut answers = Vec::new();
    for route in ROUTES.iter().filter(|route| route.path.contains("{id}")) {
        // A new route is told whose ids it takes, or this test fails.
        let ids: &[&str] = match route.path {
            "/dashboard/keys/{id}/rotate" | "/dashboard/keys/{id}/revoke" => {
                &[&key, NOTHING, "%00"]
            }
            "/dashboard/account/sessions/{id}" => &[&session, NOTHING, "%00"],
            "/support/accounts/{id}" => &[&account, NOTHING],
            "/support/accounts/{id}/{action}" => &[&account, NOTHING],
            // The public record's own numbers: a building is nobody's.
            path if path.starts_with("/property/{id}") => continue,
            other => panic!("{other}: whose ids does it take?"),
        };
        for id in ids {
            let path = route.path.replace("{id}", id).replace("{action}", "limits");
            let got = if route.post {
                let fields = [("overlap_hours", "0"), ("per_minute", "1"), ("reason", "r")];
                ada.post(&path, &fields).await
            } else {
                ada.get(&path).await
            };
            let got = got.is(404);
            let id = got.headers["x-request-id"].to_str().expect("visible");
            answers.push((path, got.text.replace(id, "")));
        }
    }
    assert!(answers.len() > 10);
    let (_, first) = &answers[0];
    for (path, answer) in &answers {
        assert_eq!(answer, first, "{path}");
    }
    // What is Bob's is as it was.
    let usage = server.get_as(&bobs_secret, "/v1/usage").await;
    assert_eq!(usage.status.as_u16(), 200, "{}", usage.text);
    assert_eq!(usage.data()["minute"]["limit"], json!(240));
    bob.get("/dashboard").await.is(200);
    // A request's id stands before its owner alone.
    let id = usage.header("x-request-id").expect("an id").to_owned();
    for path in ["/dashboard", "/dashboard/account/export.json"] {
        let own = bob.get(path).await.is(200);
        assert!(own.text.contains(&id), "{path}: {}", own.text);
        let other = ada.get(path).await.is(200);
        assert!(!other.text.contains(&id), "{path}: {}", other.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_service_decides_is_taken_from_no_request() {
    let server = Server::sample().await;
    let owned = [
        ("role", json!("admin")),
        ("tier", json!("pro")),
        ("account", json!("demo@example.com")),
        ("account_id", json!(NOTHING)),
        ("per_minute", json!(1_000_000)),
        ("per_day", json!(1_000_000)),
        ("units_charged", json!(0)),
        ("environment", json!("live")),
        ("request_id", json!("mine")),
    ];
    for route in routes(Host::Api).filter(|route| route.whose == For::Key && route.post) {
        for (name, value) in &owned {
            let body = json!({"address": "350 5 Avenue, Manhattan", (*name): value});
            let answer = server
                .send(
                    Method::POST,
                    route.path,
                    json_headers(&server.key),
                    body.to_string(),
                )
                .await;
            answer.assert_failure(400, "invalid_request");
            assert!(answer.message().contains(name), "{}", answer.text);
        }
    }
    assert_eq!(server.usage().await["day"]["used"], json!(0));

    // Forms: the page takes what it asks for, and nothing else.
    let more = [
        ("role", "admin"),
        ("tier", "free"),
        ("per_minute", "1000000"),
        ("per_day", "1000000"),
        ("account", "demo@example.com"),
        ("account_id", NOTHING),
        ("id", NOTHING),
        ("environment", "live"),
        ("suspended", "false"),
    ];
    let with = |own: &[(&'static str, &'static str)]| [own, &more].concat();
    let mut browser = Browser::new(&server);
    browser.get("/sign-up").await.is(200);
    let fields = with(&[("email", "ada@example.com"), ("password", PASSWORD)]);
    browser
        .post("/sign-up", &fields)
        .await
        .goes("/dashboard/keys");
    browser.get("/dashboard/keys").await.is(200);
    let made = browser
        .post("/dashboard/keys", &with(&[("name", "laptop")]))
        .await
        .is(200);
    let key = made.between("class=\"secret\" readonly value=\"", "\"");
    assert!(key.starts_with("svc_test_"));
    browser.get("/dashboard/account").await.is(200);
    let changed = with(&[
        ("current", PASSWORD),
        ("password", "another sentence of hers"),
    ]);
    browser.post("/dashboard/account/password", &changed).await;
    browser.get("/support").await.is(404);
    let export = browser
        .get("/dashboard/account/export.json")
        .await
        .is(200)
        .json();
    let account = &export["account"];
    assert_eq!(
        (
            &account["tier"],
            &account["email"],
            &account["overrides"]["per_minute"]
        ),
        (&json!("pro"), &json!("ada@example.com"), &json!(null)),
        "{export}"
    );
    assert_ne!(account["id"], NOTHING);
    let usage = server.get_as(&key, "/v1/usage").await;
    assert_eq!(
        usage.data()["minute"]["limit"],
        json!(240),
        "{}",
        usage.text
    );
    assert_eq!(usage.data()["day"]["limit"], json!(10_000));
    let demos = server
        .operator(&["key", "list", "--account", "demo@example.com"])
        .await;
    assert_eq!(demos.lines().count(), 1, "{demos}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_opens_no_hundred_accounts() {
    let server = Server::sample().await;
    let mut opened = 0;
    let refused = loop {
        let mut browser = Browser::new(&server);
        browser.get("/sign-up").await.is(200);
        let email = format!("one{opened}@example.com");
        let fields = [("email", email.as_str()), ("password", PASSWORD)];
        let got = browser.post("/sign-up", &fields).await;
        if got.status.as_u16() != 303 {
            break got.is(429);
        }
        opened += 1;
        assert!(opened < 100);
    };
    assert_eq!(opened, 20);
    assert_eq!(refused.headers["retry-after"], "3600");
    // Who has an account gets in.
    let mut browser = Browser::new(&server);
    browser.get("/sign-in").await.is(200);
    let fields = [("email", "one0@example.com"), ("password", PASSWORD)];
    browser.post("/sign-in", &fields).await.goes("/dashboard");
}

/// Names that differ from answer to answer, and those that say how its bytes travel.
const VARY: &[&str] = &[
    "connection",
    "content-length",
    "date",
    "etag",
    "transfer-encoding",
    "vary",
    "x-request-id",
];

/// All others; of a cookie its name and its attributes.
fn fixed(headers: &HeaderMap) -> Vec<String> {
    let mut all: Vec<String> = headers
        .iter()
        .filter(|(name, _)| !VARY.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = value.to_str().expect("visible");
            let cookie = (name == "set-cookie").then(|| value.split_once('='));
            match cookie.flatten().zip(value.split_once(';')) {
                Some(((cookie, _), (_, attributes))) => format!("{name}: {cookie};{attributes}"),
                None => format!("{name}: {value}"),
            }
        })
        .collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_header_of_an_answer_is_one_that_was_meant() {
    const JSON: [&str; 2] = ["cache-control: no-store", "content-type: application/json"];
    let server = Server::sample().await;
    let ask = json!({"address": "350 5 Avenue, Manhattan"});
    let answer = server.post("/v1/lookup", &ask).await;
    let budgets = [
        "ratelimit-policy: \"minute\";q=240;w=60, \"day\";q=10000;w=86400",
        "ratelimit: \"minute\";r=230;t=58",
    ];
    assert_eq!(fixed(&answer.headers), [JSON, budgets].concat());
    let stranger = server
        .send(Method::POST, "/v1/lookup", HeaderMap::new(), "{}")
        .await;
    let challenge = ["www-authenticate: Bearer realm=\"brownstone\""];
    assert_eq!(fixed(&stranger.headers), [&JSON[..], &challenge].concat());
    let ask = async |method, path| server.send(method, path, HeaderMap::new(), "").await;
    let missing = ask(Method::GET, "/nothing").await;
    assert_eq!(fixed(&missing.headers), JSON);
    let method = ask(Method::DELETE, "/v1/usage").await;
    assert_eq!(
        fixed(&method.headers),
        [&["allow: GET"][..], &JSON].concat()
    );
    let health = ask(Method::GET, "/healthz").await;
    assert_eq!(fixed(&health.headers), JSON[1..]);

    let page = [
        "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "content-type: text/html; charset=utf-8",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "permissions-policy: camera=(), geolocation=(), microphone=(), payment=()",
        "referrer-policy: same-origin",
    ];
    let (cookie, safe) = (
        "set-cookie: visitor; Path=/; HttpOnly; SameSite=Lax",
        ["x-content-type-options: nosniff", "x-frame-options: DENY"],
    );
    let mut browser = Browser::new(&server);
    let seen = browser.get("/docs").await.is(200);
    let expected = [&JSON[..1], &page, &[cookie], &safe].concat();
    assert_eq!(fixed(&seen.headers), expected);
    let seen = browser.get("/nothing").await.is(404);
    assert_eq!(fixed(&seen.headers), [&JSON[..1], &page, &safe].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_is_reflected_nowhere() {
    let server = Server::sample().await;
    for origin in ["https://evil.example", "null"] {
        let mut headers = json_headers(&server.key);
        headers.insert("origin", origin.parse().expect("visible"));
        for (method, path) in [
            (Method::POST, "/v1/rates"),
            (Method::GET, "/v1/usage"),
            (Method::GET, "/nothing"),
            (Method::GET, "/openapi.json"),
        ] {
            let answer = server.send(method, path, headers.clone(), "").await;
            assert_eq!(
                answer.header("access-control-allow-origin"),
                Some("*"),
                "{path}"
            );
            assert_eq!(answer.header("access-control-allow-credentials"), None);
            let told = format!("{:?}{}", answer.headers, answer.text);
            assert!(!told.contains("evil"), "{told}");
        }
        // MCP takes no foreign page at all, and the web host lets none read it.
        headers.insert(
            "accept",
            "application/json, text/event-stream"
                .parse()
                .expect("visible"),
        );
        let tools = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let answer = server.send(Method::POST, "/mcp", headers, tools).await;
        assert_eq!(answer.status.as_u16(), 403, "{}", answer.text);
        let mut browser = Browser::sign_up(&server, &format!("{}@example.com", origin.len())).await;
        for path in ["/", "/dashboard", "/dashboard/budget.json", "/support"] {
            let sent = [("origin", origin)];
            let got = browser.send(Method::GET, path, &sent, String::new()).await;
            assert!(
                !got.headers
                    .keys()
                    .any(|name| name.as_str().starts_with("access-control")),
                "{path}: {:?}",
                got.headers
            );
            assert!(!got.text.contains("evil"), "{path}");
        }
    }
}

/// A one-time link and an issuer's code are secrets in an address, and what people type stands in one.
#[test]
fn the_proxy_that_is_shipped_logs_no_address_and_bounds_tries() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/nginx.conf");
    let text = std::fs::read_to_string(path).expect("the file");
    let said = |word: &str| -> Vec<&str> {
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| line.split_whitespace().next() == Some(word))
            .collect()
    };
    let formats = said("log_format");
    assert_eq!(formats.len(), 1, "{formats:?}");
    let format = formats[0].replace("$request_method", "");
    let format = format.replace("$request_time", "");
    for variable in [
        "$request",
        "$uri",
        "$document_uri",
        "$args",
        "$query_string",
        "$arg_",
        "$http_",
        "$cookie_",
        "$is_args",
    ] {
        assert!(!format.contains(variable), "{variable} in {format}");
    }
    let logs = said("access_log");
    assert!(!logs.is_empty() && logs.iter().all(|log| log.ends_with(" facts;")));
    let errors = said("error_log");
    assert!(!errors.is_empty() && errors.iter().all(|log| log.ends_with(" crit;")));
    // Each server counts in a zone of its own: who has many calls under way still finds the dashboard.
    let servers = said("listen").len();
    let zones = said("limit_conn");
    assert_eq!(zones.len(), servers);
    let zones = zones
        .iter()
        .filter_map(|line| line.split_whitespace().nth(1));
    let zones: std::collections::HashSet<&str> = zones.collect();
    assert_eq!(zones.len(), servers, "{zones:?}");
    assert_eq!(said("limit_req").len(), 1);
    // What the proxy refuses by itself says when to come again, and a caller of the API finds the envelope it knows.
    assert_eq!(
        said("error_page"),
        vec!["error_page 429 = @crowded;"; servers]
    );
    let added = said("add_header");
    let told = |name: &str| {
        let name = format!("add_header {name} ");
        added.iter().filter(|line| line.starts_with(&name)).count()
    };
    assert_eq!(told("Retry-After"), servers);
    assert_eq!(told("x-request-id"), 1);
    assert!(added.iter().all(|line| line.ends_with(" always;")));
    let envelopes: Vec<Value> = said("return")
        .iter()
        .filter_map(|line| line.strip_prefix("return 429 '")?.strip_suffix("';"))
        .map(|body| serde_json::from_str(body).expect("JSON"))
        .collect();
    let envelope = json!({
        "code": "rate_limited",
        "message": "Too many calls at once from this address.",
        "request_id": "$request_id",
    });
    assert_eq!(envelopes, [envelope]);
    // Every form that takes a password or a link is counted there.
    let counted: String = said("\"~^POST").join("\n");
    for path in [
        "sign-in", "sign-up", "again", "/link/", "password", "delete",
    ] {
        assert!(counted.contains(path), "{path}");
    }
}
