//! The web host as a browser without a script sees it.

use std::collections::BTreeMap;

use reqwest::{
    Client, Method, StatusCode,
    header::{HeaderMap, HeaderValue},
    redirect::Policy,
};
use serde_json::{Value, json};
use time::Duration;

use crate::harness::{START, Server};

mod browser;
mod oidc;
mod pages;
mod safety;
mod search;

pub(crate) const PASSWORD: &str = "a sentence that nobody else has";

/// A browser: cookies, and the form token of the page it looks at.
pub(crate) struct Browser {
    pub(crate) http: Client,
    pub(crate) base: String,
    pub(crate) cookies: BTreeMap<String, String>,
    pub(crate) csrf: String,
}

/// What it got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn location(&self) -> &str {
        let location = self.headers.get("location");
        location.map_or("", |value| value.to_str().expect("visible"))
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(
            self.status.as_u16(),
            status,
            "{} {}",
            self.location(),
            self.text
        );
        self
    }

    #[track_caller]
    pub(crate) fn goes(self, path: &str) -> Self {
        assert_eq!(
            (self.status.as_u16(), self.location()),
            (303, path),
            "{}",
            self.text
        );
        self
    }

    /// What stands between two texts.
    pub(crate) fn between(&self, before: &str, after: &str) -> String {
        let (_, rest) = self
            .text
            .split_once(before)
            .unwrap_or_else(|| panic!("no {before} in {}", self.text));
        rest.split_once(after).expect("it ends").0.to_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("JSON")
    }
}

impl Browser {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            http: Client::builder()
                .redirect(Policy::none())
                .build()
                .expect("a client"),
            base: server.web.clone(),
            cookies: BTreeMap::new(),
            csrf: String::new(),
        }
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        extra: &[(&'static str, &str)],
        body: String,
    ) -> Got {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .body(body);
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        for (name, value) in extra {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("the web host answers");
        let (status, headers) = (response.status(), response.headers().clone());
        for cookie in headers.get_all("set-cookie") {
            let cookie = cookie.to_str().expect("visible");
            let (name, value) = cookie
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='))
                .expect("a cookie");
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let text = response.text().await.expect("text");
        if let Some((_, rest)) = text.split_once("name=\"csrf\" value=\"") {
            self.csrf = rest.split('"').next().unwrap_or_default().to_owned();
        }
        Got {
            status,
            headers,
            text,
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Got {
        self.send(Method::GET, path, &[], String::new()).await
    }

    /// Sends a form with the token of the page looked at last.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Got {
        self.post_with(path, &self.csrf.clone(), fields).await
    }

    pub(crate) async fn post_with(
        &mut self,
        path: &str,
        csrf: &str,
        fields: &[(&str, &str)],
    ) -> Got {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("csrf", csrf)
            .extend_pairs(fields)
            .finish();
        let form = [("content-type", "application/x-www-form-urlencoded")];
        self.send(Method::POST, path, &form, body).await
    }

    pub(crate) async fn sign_up(server: &Server, email: &str) -> Self {
        let mut browser = Self::new(server);
        browser.get("/sign-up").await.is(200);
        browser
            .post("/sign-up", &[("email", email), ("password", PASSWORD)])
            .await
            .goes("/dashboard/keys");
        browser.get("/dashboard/keys").await.is(200);
        browser
    }

    /// By a one-time link, as for an account that an operator made.
    pub(crate) async fn invited(server: &Server, email: &str, role: &str) -> Self {
        server
            .operator(&["account", "create", "--email", email, "--role", role])
            .await;
        let link = server
            .operator(&["account", "invite", "--account", email])
            .await;
        let (_, token) = link.split_once("/link/").expect("a link");
        let mut browser = Self::new(server);
        let path = format!("/link/{token}");
        browser.get(&path).await.is(200);
        browser
            .post(&path, &[("password", PASSWORD)])
            .await
            .goes("/dashboard");
        browser.get("/dashboard").await.is(200);
        browser
    }

    /// Makes a key; returns it and its id.
    pub(crate) async fn make_key(&mut self, name: &str) -> (String, String) {
        let made = self
            .post("/dashboard/keys", &[("name", name)])
            .await
            .is(200);
        let key = made.between("class=\"secret\" readonly value=\"", "\"");
        let list = self.get("/dashboard/keys").await.is(200);
        let id = list.between("action=\"/dashboard/keys/", "/");
        (key, id)
    }
}

/// Calls until the answer is this; the answer changes within two seconds.
async fn until(server: &Server, key: &str, status: u16) {
    let give_up = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let answer = server.get_as(key, "/v1/usage").await;
        if answer.status.as_u16() == status {
            return;
        }
        assert!(tokio::time::Instant::now() < give_up, "{}", answer.text);
    }
}
