//! A real browser, driven over WebDriver: what a person does, and pictures of each page.
//!
//! WebDriver is a handful of JSON requests, so it is spoken here; a client library would bring a second HTTP stack.

use std::path::PathBuf;

use super::*;
use crate::at_hand;

/// The key under which WebDriver gives an element's name.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys as WebDriver names them.
const ARROW_DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";

struct Chromium {
    http: Client,
    session: String,
    base: String,
    /// The accessibility checker's script, where there is one.
    axe: Option<String>,
    /// What it found on the pages so far.
    found: std::sync::Mutex<Vec<String>>,
}

fn driver() -> Option<String> {
    at_hand::variable("TEST_WEBDRIVER_URL", "crates/web/scripts/with-chromium.sh")
}

/// The accessibility checker; without it pages are looked at all the same, and it is said.
fn axe() -> Option<String> {
    let path = at_hand::variable("TEST_AXE", "crates/web/scripts/with-chromium.sh")?;
    Some(std::fs::read_to_string(path).expect("TEST_AXE names a file"))
}

/// Runs the checker, with these rules alone where some are named; gives each serious or critical finding with the elements it is about.
const CHECK: &str = "const [rules, done] = arguments;
axe.run(document, {resultTypes: ['violations'], ...(rules.length ? {runOnly: rules} : {})}).then(
  (found) => done(found.violations
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.any.map((why) => why.message)}`).slice(0, 5).join('; ')}`)),
  (error) => done([`the checker failed: ${error}`]));";

impl Chromium {
    /// A fresh browser; `None` where there is none to drive.
    async fn start(server: &Server) -> Option<Self> {
        let driver = driver()?;
        let http = Client::new();
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900"]},
        }}});
        let made: Value = http
            .post(format!("{driver}/session"))
            .json(&wanted)
            .send()
            .await
            .expect("the driver answers")
            .json()
            .await
            .expect("JSON");
        let id = made["value"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session: {made}"));
        let browser = Self {
            session: format!("{driver}/session/{id}"),
            http,
            base: server.web.clone(),
            axe: axe(),
            found: std::sync::Mutex::default(),
        };
        // A busy machine takes its time over a long page.
        browser.ask("/timeouts", json!({"script": 120_000})).await;
        Some(browser)
    }

    async fn ask(&self, path: &str, body: Value) -> Value {
        let request = self
            .http
            .post(format!("{}{path}", self.session))
            .json(&body);
        let answer: Value = request
            .send()
            .await
            .expect("the driver answers")
            .json()
            .await
            .expect("JSON");
        assert!(
            answer["value"].get("error").is_none(),
            "{path} {body}: {answer}"
        );
        answer["value"].clone()
    }

    async fn go(&self, path: &str) {
        self.ask("/url", json!({"url": format!("{}{path}", self.base)}))
            .await;
    }

    async fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", json!({"script": script, "args": []}))
            .await
    }

    async fn find(&self, css: &str) -> String {
        let found = self
            .ask("/element", json!({"using": "css selector", "value": css}))
            .await;
        found[ELEMENT].as_str().expect("an element").to_owned()
    }

    async fn fill(&self, css: &str, text: &str) {
        let element = self.find(css).await;
        self.ask(&format!("/element/{element}/clear"), json!({}))
            .await;
        self.ask(&format!("/element/{element}/value"), json!({"text": text}))
            .await;
    }

    /// Clicks what leads to another page, and waits until that page is there: the window's mark is gone with the one before.
    async fn click(&self, css: &str) {
        self.run("window.before = true").await;
        let element = self.find(css).await;
        self.ask(&format!("/element/{element}/click"), json!({}))
            .await;
        let arrived = "return !window.before && document.readyState === 'complete'";
        let body = json!({"script": arrived, "args": []});
        let give_up = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
        loop {
            // While a page goes, a script may be refused.
            let request = self.http.post(format!("{}/execute/sync", self.session));
            let answer: Value = match request.json(&body).send().await {
                Ok(answer) => answer.json().await.expect("JSON"),
                Err(error) => panic!("the driver is gone: {error}"),
            };
            if answer["value"] == json!(true) {
                return;
            }
            assert!(
                tokio::time::Instant::now() < give_up,
                "{css} led nowhere: {answer}"
            );
        }
    }

    /// Keys, into a field that has a text already.
    async fn press(&self, css: &str, keys: &str) {
        let element = self.find(css).await;
        self.ask(&format!("/element/{element}/value"), json!({"text": keys}))
            .await;
    }

    /// Waits until a script says so.
    async fn until(&self, script: &str) {
        let give_up = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.run(script).await != true {
            assert!(tokio::time::Instant::now() < give_up, "never: {script}");
        }
    }

    async fn text(&self) -> String {
        let text = self.run("return document.body.innerText").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    async fn path(&self) -> String {
        let path = self.run("return location.pathname").await;
        path.as_str().unwrap_or_default().to_owned()
    }

    async fn value(&self, css: &str) -> String {
        let script =
            format!("const one = document.querySelector({css:?}); return one && one.value");
        match self.run(&script).await {
            Value::String(value) => value,
            _ => panic!("no {css} on {}: {}", self.path().await, self.text().await),
        }
    }

    async fn devtools(&self, command: &str, params: Value) -> Value {
        self.ask(
            "/goog/cdp/execute",
            json!({"cmd": command, "params": params}),
        )
        .await
    }

    /// The page in light and dark, wide and narrow: nothing may run out of it. Pictures where a folder is named for them.
    async fn look(&self, name: &str) {
        let pictures = std::env::var_os("SCREENSHOTS");
        for (width, kind) in [(1280, "desktop"), (390, "phone")] {
            let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": kind == "phone"});
            self.devtools("Emulation.setDeviceMetricsOverride", size)
                .await;
            for scheme in ["light", "dark"] {
                if pictures.is_none() && (kind, scheme) == ("phone", "dark") {
                    // Neither colours nor widths that were not looked at already.
                    continue;
                }
                let media =
                    json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
                self.devtools("Emulation.setEmulatedMedia", media).await;
                let over = self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth").await;
                assert!(
                    over.as_i64().unwrap_or(1) <= 0,
                    "{name} runs out of a {kind} by {over}"
                );
                // What depends on neither colours nor width is the same in each.
                let rules: Option<&[&str]> = match (kind, scheme) {
                    ("desktop", "light") => Some(&[]),
                    ("desktop", _) => Some(&["color-contrast"]),
                    (_, "light") => Some(&["scrollable-region-focusable", "color-contrast"]),
                    _ => None,
                };
                if let Some(rules) = rules {
                    self.check(&format!("{name}, {kind}, {scheme}"), rules)
                        .await;
                }
                let Some(folder) = &pictures else {
                    continue;
                };
                let shot = self
                    .devtools(
                        "Page.captureScreenshot",
                        json!({"captureBeyondViewport": true}),
                    )
                    .await;
                let path = PathBuf::from(folder).join(format!("{name}-{kind}-{scheme}.png"));
                std::fs::write(&path, base64(shot["data"].as_str().unwrap_or_default()))
                    .expect("a picture is written");
            }
        }
        self.devtools("Emulation.clearDeviceMetricsOverride", json!({}))
            .await;
    }

    /// Notes what the checker finds on the page as it stands; all its rules where none is named.
    async fn check(&self, name: &str, rules: &[&str]) {
        let Some(found) = self.faults(rules).await else {
            return;
        };
        let mut all = self.found.lock().expect("no test panics here");
        all.extend(found.iter().map(|one| format!("{name}: {one}")));
    }

    /// What the checker finds; `None` without a checker.
    async fn faults(&self, rules: &[&str]) -> Option<Vec<Value>> {
        let axe = self.axe.as_ref()?;
        if self.run("return typeof axe").await != "object" {
            self.run(axe).await;
        }
        let found = self
            .ask("/execute/async", json!({"script": CHECK, "args": [rules]}))
            .await;
        Some(found.as_array().expect("an array").clone())
    }

    /// That the checker does find a fault, so that a page without one means something.
    async fn check_the_checker(&self) {
        self.run("const one = document.createElement('img'); one.id = 'fault'; one.src = '/robots.txt'; document.body.append(one)")
            .await;
        if let Some(found) = self.faults(&[]).await {
            assert_eq!(found.len(), 1, "{found:?}");
        }
        self.run("document.getElementById('fault').remove()").await;
    }

    /// Nothing serious was found on any page.
    async fn end(self) {
        let found = self.found.lock().expect("no test panics here").join("\n");
        assert!(found.is_empty(), "{found}");
        let ended = self.http.delete(&self.session).send().await;
        assert!(ended.is_ok_and(|answer| answer.status().is_success()));
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(value).collect();
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let word = four
            .iter()
            .fold(0_u32, |word, digit| word << 6 | u32::from(*digit))
            << (6 * (4 - four.len()));
        out.extend(word.to_be_bytes().iter().skip(1).take(four.len() - 1));
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_walks_the_whole_way_in_a_browser() {
    if driver().is_none() {
        return;
    }
    // With its listings scanned, so that there is something to page through.
    let server = crate::listings_search::server("reso").await;
    let Some(page) = Chromium::start(&server).await else {
        return;
    };
    page.go("/").await;
    page.check_the_checker().await;
    page.look("home").await;
    page.go("/sign-in").await;
    page.look("sign-in").await;
    page.go("/sign-up").await;
    page.fill("#email", "ada@example.com").await;
    page.fill("#password", "short").await;
    page.click("form.stack button").await;
    assert!(page.text().await.contains("fewer than 12"));
    page.look("sign-up-refused").await;
    page.fill("#password", PASSWORD).await;
    page.click("form.stack button").await;
    assert_eq!(page.path().await, "/dashboard/keys");

    page.fill("#name", "laptop").await;
    page.click("form.inline button").await;
    let key = page.value("#key").await;
    page.look("new-key").await;
    let looked = json!({"address": "350 5th Ave, Manhattan"});
    assert_eq!(
        server.post_as(&key, "/v1/lookup", &looked).await.status,
        StatusCode::OK
    );
    page.go("/dashboard").await;
    assert!(page.text().await.contains("9,990"));
    page.look("dashboard").await;
    page.go("/dashboard/usage").await;
    assert!(page.text().await.contains("lookupProperty"));
    page.look("usage").await;
    page.go("/dashboard/account").await;
    page.look("account").await;

    page.go("/dashboard/keys").await;
    page.click(".acts .second").await;
    let second = page.value("#key").await;
    assert!(second.starts_with("svc_test_") && second != key);
    until(&server, &key, 401).await;
    page.go("/dashboard/keys").await;
    page.look("keys").await;

    page.go("/").await;
    page.look("home-signed-in").await;
    // All at once: what was found for the first letters would be replaced while one of it is chosen.
    page.run("const field = document.getElementById('address'); field.focus(); field.value = '120 broadw'; field.dispatchEvent(new Event('input', {bubbles: true}))")
        .await;
    page.until("return document.querySelectorAll('[role=option]').length > 0")
        .await;
    page.press("#address", ARROW_DOWN).await;
    let chosen = page
        .run("const field = document.getElementById('address'); return [field.getAttribute('aria-expanded'), document.getElementById(field.getAttribute('aria-activedescendant')).textContent]")
        .await;
    assert_eq!(chosen, json!(["true", "120 BROADWAY, New York, NY 10271"]));
    page.look("home-suggestions").await;
    page.press("#address", ENTER).await;
    assert_eq!(
        page.value("#address").await,
        "120 BROADWAY, New York, NY 10271"
    );
    assert_eq!(
        page.run("return document.querySelector('[role=listbox]').hidden")
            .await,
        true
    );
    page.click("form.lookup button").await;
    assert!(
        page.text().await.contains("costs 10 units"),
        "{}",
        page.text().await
    );
    page.look("ask").await;
    page.click("main form button").await;
    assert!(
        page.path().await.starts_with("/property/"),
        "{}",
        page.text().await
    );
    assert!(page.text().await.contains("What needs attention first"));
    page.look("report").await;
    // A few of each shape: they are all one template, and the checker reads every cell.
    page.run("for (const one of [...document.querySelectorAll('details.source')].filter((_, n) => n % 12 === 0)) one.open = true")
        .await;
    page.look("report-open").await;

    page.go("/search").await;
    page.fill("#location", "Manhattan").await;
    page.look("search-form").await;
    page.click("form.filters button").await;
    assert!(
        page.text().await.contains("Results 1 to 25"),
        "{}",
        page.text().await
    );
    page.look("search").await;
    page.click("a[rel~=next]").await;
    assert!(page.text().await.contains("Earlier results"));
    page.run("document.querySelector('details.more').open = true")
        .await;
    page.look("search-filters").await;

    let support = Browser::invited(&server, "help@example.com", "support").await;
    let owner = server
        .operator(&[
            "account",
            "suspend",
            "--account",
            "ada@example.com",
            "--reason",
            "resale",
        ])
        .await;
    until(&server, &second, 403).await;
    page.go("/dashboard").await;
    assert!(page.text().await.contains("suspended"));
    page.look("dashboard-suspended").await;
    let cookie = json!({"cookie": {"name": "session", "value": support.cookies["session"], "path": "/", "httpOnly": true}});
    page.ask("/cookie", cookie).await;
    page.go("/support").await;
    page.fill("#q", "ada@example.com").await;
    page.click("form[role=search] button").await;
    page.look("support").await;
    let id = owner.rsplit(' ').next().expect("its id");
    page.go(&format!("/support/accounts/{id}")).await;
    page.look("support-account").await;
    page.go("/support/audit").await;
    page.click("main form button").await;
    assert!(page.text().await.contains("The chain is whole"));
    page.look("support-audit").await;
    page.go(&format!("/support/accounts/{id}")).await;
    page.fill("#reason", "cleared").await;
    page.click(".card form button").await;
    until(&server, &second, 200).await;
    for guide in [
        "quick-start",
        "errors",
        "limits",
        "caching",
        "coverage",
        "acceptable-use",
        "versioning",
    ] {
        page.go(&format!("/docs/{guide}")).await;
        page.look(&format!("docs-{guide}")).await;
    }
    page.go("/nothing").await;
    page.look("nothing").await;
    page.end().await;
}

/// Asks for a report as a page does, and tells what came: the text, and how many bytes it was on the wire and after.
const FETCH: &str = "const [key, body, done] = arguments;
(async () => {
  const seen = new Promise((found) => new PerformanceObserver((list) => list.getEntries()
    .filter((one) => one.name.endsWith('/v1/lookup')).forEach(found)).observe({type: 'resource', buffered: true}));
  const answer = await fetch('/v1/lookup', {method: 'POST', body,
    headers: {'authorization': `Bearer ${key}`, 'content-type': 'application/json'}});
  const text = await answer.text();
  const {encodedBodySize: sent, decodedBodySize: read} = await seen;
  return {status: answer.status, encoding: answer.headers.get('content-encoding'), text, sent, read};
})().then(done, (error) => done(String(error)));";

/// A report is compressed once and spliced into each answer: a browser reads it to the end, as one member.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_reads_a_compressed_report() {
    const ADDRESS: &str = "350 5 Avenue, Manhattan";
    let server = Server::sample().await;
    let Some(browser) = Chromium::start(&server).await else {
        return;
    };
    let plain = server.lookup(ADDRESS).await;
    let page = json!({"url": format!("{}/version", server.url)});
    browser.ask("/url", page).await;
    let body = json!({"address": ADDRESS}).to_string();
    let came = browser
        .ask(
            "/execute/async",
            json!({"script": FETCH, "args": [server.key, body]}),
        )
        .await;
    assert_eq!(came["status"], 200, "{came}");
    assert_eq!(came["encoding"], "gzip");
    let text = came["text"].as_str().expect("text");
    let read: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(read["data"], plain.body["data"]);
    assert_eq!(came["read"], text.len());
    let sent = came["sent"].as_u64().expect("a number");
    assert!(
        sent > 0 && sent * 3 < text.len() as u64,
        "{sent} of {}",
        text.len()
    );
    browser.end().await;
}
