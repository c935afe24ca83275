//! No secret is found again: not in a log of any level, a metric, a page, an answer, an export, a command's output or the database.

use std::time::{Duration, Instant};

use brownstone_sample_city::{
    OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, RESO_CLIENT_ID, RESO_CLIENT_SECRET, SampleCity,
};
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::json;

use crate::{
    at_hand,
    harness::{Options, START, Server, command, json_headers},
    shared_database,
    web::{Browser, PASSWORD},
};

const APP_TOKEN: &str = "canary-soda-4c1d77e0b5";
const FRED_KEY: &str = "canary-fred-91ab3e60d2";
const DATABASE_PASSWORD: &str = "canary-base-7d20c8e1f4";
const BUDGET_PASSWORD: &str = "canary-budget-e05b93a6";
const WRONG_PASSWORD: &str = "canary guess at a password";
/// Well formed but for its sum, and so nobody's key.
const WRONG_KEY: &str = "svc_test_CanaryCanaryCanaryCanaryCanary00zzzzzz";

/// Secrets by what they are, and where they must not be.
#[derive(Default)]
struct Search {
    secrets: Vec<(String, String)>,
    places: Vec<(String, Vec<u8>)>,
}

impl Search {
    fn secret(&mut self, what: &str, secret: &str) {
        assert!(secret.len() >= 12, "{what} is too short to be searched for");
        self.secrets.push((what.to_owned(), secret.to_owned()));
    }

    /// A key: what is kept of it for its owner to tell it by is its prefix and its last four.
    fn key(&mut self, what: &str, key: &str) {
        self.secret(what, &key["svc_test_".len()..key.len() - 4]);
    }

    fn place(&mut self, what: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.places.push((what.into(), bytes.into()));
    }

    fn run(&self) {
        assert!(self.secrets.len() > 15 && self.places.len() > 15);
        let mut found = Vec::new();
        for (place, bytes) in &self.places {
            assert!(!bytes.is_empty(), "{place} is empty");
            // Secrets are plain text, which other bytes beside them don't hide.
            let text = String::from_utf8_lossy(bytes);
            for (what, secret) in &self.secrets {
                for form in forms(secret) {
                    if let Some(at) = text.find(&form) {
                        let before: String = text[..at].chars().rev().take(200).collect();
                        let before: String = before.chars().rev().collect();
                        found.push(format!("{what} in {place}, after {before}"));
                    }
                }
            }
        }
        // The search finds what is there: an address of a person is no secret to its owner.
        let known = self
            .places
            .iter()
            .filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains("ada@example.com"));
        assert!(known.count() > 3);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

/// A secret as it is, and as an address has it.
fn forms(secret: &str) -> Vec<String> {
    let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let mut forms = vec![secret.to_owned()];
    if encoded != secret {
        forms.push(encoded);
    }
    forms
}

fn variables(city: &SampleCity, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let url = city.url();
    let own = [
        ("SODA_URL", url.clone()),
        ("NYS_SODA_URL", url.clone()),
        ("FEMA_URL", url.clone()),
        ("GEOSEARCH_URL", url.clone()),
        ("FRED_URL", url.clone()),
        ("PMMS_URL", url.clone()),
        ("SODA_APP_TOKEN", APP_TOKEN.to_owned()),
        ("FRED_API_KEY", FRED_KEY.to_owned()),
        ("LISTINGS_SOURCE", "reso".to_owned()),
        ("LISTINGS_URL", format!("{url}/reso/odata")),
        ("LISTINGS_CLIENT_ID", RESO_CLIENT_ID.to_owned()),
        ("LISTINGS_CLIENT_SECRET", RESO_CLIENT_SECRET.to_owned()),
        ("LISTINGS_TOKEN_URL", format!("{url}/reso/oauth2/token")),
        ("LISTINGS_AREAS", "10118".to_owned()),
        ("OIDC_ISSUER", format!("{url}/oidc")),
        ("OIDC_CLIENT_ID", OIDC_CLIENT_ID.to_owned()),
        ("OIDC_CLIENT_SECRET", OIDC_CLIENT_SECRET.to_owned()),
    ];
    let own = own.map(|(name, value)| (format!("BROWNSTONE_{name}"), value));
    let more = more
        .iter()
        .map(|(name, value)| (format!("BROWNSTONE_{name}"), (*value).to_owned()));
    own.into_iter().chain(more).collect()
}

/// Everything that handles a secret is done once; what came back is searched, and what was secret is noted.
async fn live_a_life(server: &Server, variables: &[(String, String)], search: &mut Search) {
    search.key("the first key", &server.key);
    // By a password: right and wrong.
    let mut browser = Browser::sign_up(server, "ada@example.com").await;
    search.secret("a session's cookie", &browser.cookies["session"]);
    let mut guess = Browser::new(server);
    guess.get("/sign-in").await.is(200);
    let fields = [("email", "ada@example.com"), ("password", WRONG_PASSWORD)];
    let refused = guess.post("/sign-in", &fields).await.is(401);
    search.place("the page of a refused sign-in", refused.text);
    // Keys, on the dashboard.
    let (key, id) = browser.make_key("laptop").await;
    search.key("a key of the dashboard", &key);
    let rotated = browser
        .post(
            &format!("/dashboard/keys/{id}/rotate"),
            &[("overlap_hours", "1")],
        )
        .await
        .is(200);
    let successor = rotated.between("class=\"secret\" readonly value=\"", "\"");
    search.key("its successor", &successor);
    let list = browser.get("/dashboard/keys").await.is(200);
    let ids: Vec<String> = list
        .text
        .split("action=\"/dashboard/keys/")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("/revoke\"")?.0.to_owned()))
        .collect();
    // By an issuer.
    let mut vouched = Browser::new(server);
    let begun = vouched.get("/sign-in/oidc").await.is(303);
    search.secret("an attempt's cookie", &vouched.cookies["attempt"]);
    let mut at: url::Url = begun.location().parse().expect("an address");
    let now = START.unix_timestamp().to_string();
    at.query_pairs_mut()
        .append_pair("sample_now", &now)
        .append_pair("sample_email", "vera@example.com");
    let back = vouched
        .http
        .get(at)
        .send()
        .await
        .expect("the issuer answers");
    let back: url::Url = back.headers()["location"]
        .to_str()
        .expect("visible")
        .parse()
        .expect("an address");
    for (name, value) in back.query_pairs() {
        if name == "code" || name == "state" {
            search.secret(&format!("the issuer's {name}"), &value);
        }
    }
    let path = format!("{}?{}", back.path(), back.query().expect("a code"));
    vouched.get(&path).await.goes("/dashboard");
    search.secret("the issuer's session", &vouched.cookies["session"]);
    // By a link, with a role.
    let admin = Browser::invited(server, "root@example.com", "admin").await;
    search.secret("an admin's cookie", &admin.cookies["session"]);
    let link = server
        .operator(&["account", "invite", "--account", "ada@example.com"])
        .await;
    let (_, token) = link.split_once("/link/").expect("a link");
    search.secret("a link to set a password", token.trim());
    Browser::new(server)
        .get(&format!("/link/{}", token.trim()))
        .await
        .is(200);
    // By the operator.
    let (account, made) = server.new_account("cole@example.com").await;
    search.key("an operator's key", &made);
    let keys = ["key", "list", "--account", &account];
    let listed = server.operator(&keys).await;
    let made_id = listed.split_whitespace().next().expect("an id").to_owned();
    let next = server.operator(&["key", "rotate", &made_id]).await;
    search.key("its successor by the operator", next.trim());
    server.operator(&["key", "revoke", &made_id]).await;

    // Calls, with what is right and what is not.
    let ask = json!({"address": "350 5 Avenue, Manhattan"});
    for (what, key) in [
        ("the key", server.key.as_str()),
        ("a rotated key", key.as_str()),
        ("its successor", successor.as_str()),
        ("a wrong key", WRONG_KEY),
    ] {
        for (path, body) in [
            ("/v1/lookup", ask.clone()),
            ("/v1/rates", json!({"home_price": 1_000_000})),
            ("/v1/search", json!({"zip_codes": ["10118"]})),
            ("/v1/comps", json!({"key": key})),
        ] {
            let answer = server.post_as(key, path, &body).await;
            search.place(format!("{path} by {what}"), answer.text);
        }
        let tool = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "get_mortgage_rates", "arguments": {"home_price": 1_000_000}}});
        let mut headers = json_headers(key);
        headers.insert(
            "accept",
            "application/json, text/event-stream"
                .parse()
                .expect("visible"),
        );
        let answer = server
            .send(Method::POST, "/mcp", headers, tool.to_string())
            .await;
        search.place(format!("/mcp by {what}"), answer.text);
        let misplaced = format!("/v1/usage?api_key={key}");
        let answer = server
            .send(Method::GET, &misplaced, HeaderMap::new(), "")
            .await;
        search.place(format!("the query with {what}"), answer.text);
    }
    // A body that is none, with a key in it: the fault is told without it.
    let body = format!("{{\"address\": {:?}, ", server.key);
    let broken = server
        .send(Method::POST, "/v1/lookup", json_headers(&server.key), body)
        .await;
    broken.assert_failure(400, "invalid_request");
    search.place("the answer to a broken body", broken.text);

    for id in &ids {
        browser
            .post(&format!("/dashboard/keys/{id}/revoke"), &[])
            .await;
    }
    pages(&mut browser, admin, search).await;
    commands(server, variables, search).await;
}

async fn pages(browser: &mut Browser, mut admin: Browser, search: &mut Search) {
    for path in [
        "/dashboard",
        "/dashboard/keys",
        "/dashboard/usage",
        "/dashboard/account",
        "/dashboard/account/export.json",
    ] {
        // Its budget is asked for, and may not be had just now.
        let begun = Instant::now();
        let page = loop {
            let page = browser.get(path).await;
            if page.status != 503 || begun.elapsed() > Duration::from_secs(20) {
                break page;
            }
        };
        search.place(path, page.is(200).text);
    }
    for path in ["/support?q=ada%40example.com", "/support/audit"] {
        let page = admin.get(path).await.is(200);
        if let Some((_, rest)) = page.text.split_once("href=\"/support/accounts/") {
            let (id, _) = rest.split_once('"').expect("it ends");
            let account = admin.get(&format!("/support/accounts/{id}")).await.is(200);
            search.place("an account, to support", account.text);
        }
        search.place(path, page.text);
    }
}

async fn commands(server: &Server, variables: &[(String, String)], search: &mut Search) {
    for arguments in [
        &["config"][..],
        &["doctor"],
        &["doctor", "--sources"],
        &["audit", "verify"],
        &["key", "list", "--account", "ada@example.com"],
        &["sync", "rates"],
        &["sync", "listings"],
        &["lookup", "350 5 Avenue, Manhattan", "--json"],
    ] {
        let output = server
            .operator_command(arguments)
            .envs(variables.iter().cloned())
            .env("BROWNSTONE_LOG", "trace")
            .env("BROWNSTONE_TEST_CLOCK", server.clock())
            .output()
            .await
            .expect("the command runs");
        search.place(
            format!("{arguments:?}"),
            [output.stdout, output.stderr].concat(),
        );
    }
}

/// What is left once the server has stopped: its log, its files, what a metric said.
async fn what_is_left(server: &mut Server, search: &mut Search) {
    let metrics = reqwest::get(&server.metrics).await.expect("metrics");
    assert_eq!(metrics.status(), StatusCode::OK);
    search.place("metrics", metrics.text().await.expect("text"));
    assert!(server.stop().await.success());
    let log = server.log();
    for level in ["TRACE", "DEBUG", "INFO", "WARN"] {
        assert!(log.contains(&format!("\"level\":\"{level}\"")), "{level}");
    }
    let mut folders = vec![server.folder().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("a file");
            if !bytes.is_empty() {
                search.place(path.display().to_string(), bytes);
            }
        }
    }
}

fn given(search: &mut Search) {
    search.secret("a password", PASSWORD);
    search.secret("a wrong password", WRONG_PASSWORD);
    search.key("a wrong key", WRONG_KEY);
    search.secret("the city's token", APP_TOKEN);
    search.secret("FRED's key", FRED_KEY);
    search.secret("the issuer's secret", OIDC_CLIENT_SECRET);
    search.secret("the feed's secret", RESO_CLIENT_SECRET);
    // Whatever follows.
    search
        .secrets
        .push(("the feed's token".to_owned(), "issued-".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_found_again_on_sqlite() {
    let city = SampleCity::start(([127, 0, 0, 1], 0).into())
        .await
        .expect("a city");
    let variables = variables(&city, &[]);
    let mut server = Server::start(Options {
        live_sources: true,
        variables: variables.clone(),
        log: Some("trace"),
        ..Options::default()
    })
    .await;
    let mut search = Search::default();
    given(&mut search);
    live_a_life(&server, &variables, &mut search).await;
    let copy = server.folder().join("copy.db");
    server
        .operator(&["backup", copy.to_str().expect("text")])
        .await;
    what_is_left(&mut server, &mut search).await;
    search.run();
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_found_again_on_postgresql_and_redis() {
    let Some(url) = shared_database::database("brownstone_it_secrets").await else {
        return;
    };
    let Some(budgets) = at_hand::variable("TEST_REDIS_URL", "make test") else {
        return;
    };
    let city = SampleCity::start(([127, 0, 0, 1], 0).into())
        .await
        .expect("a city");
    let with = |url: &str, user: &str, password: &str| {
        let mut url: url::Url = url.parse().expect("an address");
        url.set_username(user).expect("a user");
        url.set_password(Some(password)).expect("a password");
        String::from(url)
    };
    // Both servers of these tests take any password.
    let database = with(&url, "brownstone", DATABASE_PASSWORD);
    let budgets = with(&budgets, "default", BUDGET_PASSWORD);
    let variables = variables(&city, &[("QUOTA_URL", &budgets)]);
    let mut server = Server::start(Options {
        live_sources: true,
        database_url: Some(database),
        variables: variables.clone(),
        log: Some("trace"),
        ..Options::default()
    })
    .await;
    let mut search = Search::default();
    given(&mut search);
    search.secret("the database's password", DATABASE_PASSWORD);
    search.secret("the budgets' password", BUDGET_PASSWORD);
    live_a_life(&server, &variables, &mut search).await;
    what_is_left(&mut server, &mut search).await;
    let dump = tokio::process::Command::new("pg_dump")
        .args(["--data-only", "--inserts", &url])
        .output()
        .await
        .expect("pg_dump runs");
    assert!(dump.status.success());
    assert!(String::from_utf8_lossy(&dump.stdout).contains("ada@example.com"));
    search.place("the database", dump.stdout);
    search.run();
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_is_told_without_its_password() {
    let folder = crate::harness::new_folder();
    // Port 1 answers nobody.
    for (name, url) in [
        (
            "database_url",
            "postgres://b:canary-base-7d20c8e1f4@127.0.0.1:1/b",
        ),
        (
            "quota_url",
            "redis://default:canary-base-7d20c8e1f4@127.0.0.1:1",
        ),
    ] {
        for arguments in [&["doctor"][..], &["config"]] {
            let output = command(folder.path())
                .args(arguments)
                .env(format!("BROWNSTONE_{}", name.to_uppercase()), url)
                .env("BROWNSTONE_LOG", "trace")
                .output()
                .await
                .expect("the command runs");
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(!said.contains(DATABASE_PASSWORD), "{name}: {said}");
            assert!(!said.is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_everybody_reads_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let city = SampleCity::start(([127, 0, 0, 1], 0).into())
        .await
        .expect("a city");
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        let folder = crate::harness::new_folder();
        let file = folder.path().join("own.toml");
        let text = format!("soda_app_token = \"{APP_TOKEN}\"\n");
        std::fs::write(&file, text).expect("it can be written");
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&file, permissions).expect("they can be set");
        let url = city.url();
        // A port that another has: it gets as far as the listener, and ends.
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let output = command(folder.path())
            .args(["--config", "own.toml", "serve"])
            .env("BROWNSTONE_SODA_URL", &url)
            .env("BROWNSTONE_GEOSEARCH_URL", &url)
            .env(
                "BROWNSTONE_API_ADDR",
                taken.local_addr().expect("an address").to_string(),
            )
            .output()
            .await
            .expect("the command runs");
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot listen"), "{said}");
        assert_eq!(
            said.contains("every user of this machine"),
            warned,
            "{said}"
        );
        assert!(!said.contains(APP_TOKEN), "{said}");
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_does_not_start_with_a_secret_that_is_none() {
    let folder = crate::harness::new_folder();
    for (name, value) in [
        ("SODA_APP_TOKEN", "short"),
        ("FRED_API_KEY", "changeme-changeme"),
        ("DATABASE_URL", "postgres://brownstone@db.internal/b"),
    ] {
        let output = command(folder.path())
            .args(["--environment", "live", "serve"])
            .env(format!("BROWNSTONE_{name}"), value)
            .output()
            .await
            .expect("the command runs");
        assert!(!output.status.success(), "{name}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&name.to_lowercase()), "{said}");
        assert!(!said.contains(value), "{said}");
        assert!(!folder.path().join("data").exists(), "nothing was made");
    }
}
