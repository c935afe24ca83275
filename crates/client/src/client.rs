//! The calls.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use brownstone_domain::{
    CompsAnswer, CompsRequest, Envelope, ErrorBody, LookupAnswer, LookupRequest, Method, Operation,
    RatesAnswer, RatesRequest, SearchAnswer, SearchRequest, UpdatesAnswer, UpdatesRequest,
    rentals::{RentalsAnswer, RentalsRequest},
    usage::Usage,
};
use reqwest::{
    Response, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ConfigError, Error, Retry, body, pace::Pace};

/// How long a call may take: the service's own deadline of 20 s, and the network.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client for one account. Share it by reference: concurrent calls are paced together.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    base_url: Url,
    retry: Retry,
    /// `None` where calls are not paced.
    pace: Option<Mutex<Pace>>,
}

impl Client {
    /// A client of the service at `base_url` with an API key; it retries and paces calls by the defaults.
    ///
    /// # Errors
    /// When the address is not an http(s) URL, or the key contains what a header cannot.
    pub fn new(base_url: &str, key: &str) -> Result<Self, ConfigError> {
        let fault = || ConfigError::BaseUrl {
            got: base_url.to_owned(),
        };
        let base_url = Url::parse(base_url).map_err(|_| fault())?;
        if base_url.cannot_be_a_base() || !["http", "https"].contains(&base_url.scheme()) {
            return Err(fault());
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ConfigError::Key)?;
        // Kept out of what is printed.
        authorization.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
        let http = reqwest::Client::builder()
            .default_headers(headers)
            .timeout(TIMEOUT)
            // The key is for this host alone.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(ConfigError::Http)?;
        Ok(Self {
            http,
            base_url,
            retry: Retry::default(),
            pace: Some(Mutex::default()),
        })
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn retrying(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Turns pacing off: each call is sent at once. For a caller that paces its calls itself.
    #[must_use]
    pub fn unpaced(mut self) -> Self {
        self.pace = None;
        self
    }

    /// Full property report for one address.
    ///
    /// # Errors
    /// The service refused the call, or the connection failed.
    pub async fn lookup(&self, request: &LookupRequest) -> Result<Envelope<LookupAnswer>, Error> {
        self.call(Operation::LookupProperty, body::lookup(request))
            .await
    }

    /// A page of listings in an area.
    ///
    /// # Errors
    /// As [`Client::lookup`].
    pub async fn search(&self, request: &SearchRequest) -> Result<Envelope<SearchAnswer>, Error> {
        self.call(Operation::SearchListings, body::search(request))
            .await
    }

    /// Comparable sales; in mode `valuation` also a value.
    ///
    /// # Errors
    /// As [`Client::lookup`].
    pub async fn comps(&self, request: &CompsRequest) -> Result<Envelope<CompsAnswer>, Error> {
        self.call(Operation::GetComps, body::comps(request)).await
    }

    /// Comparable rentals; in mode `estimate` also a rent.
    ///
    /// # Errors
    /// As [`Client::lookup`].
    pub async fn rentals(
        &self,
        request: &RentalsRequest,
    ) -> Result<Envelope<RentalsAnswer>, Error> {
        self.call(Operation::GetRentalEstimates, body::rentals(request))
            .await
    }

    /// What changed in an area.
    ///
    /// # Errors
    /// As [`Client::lookup`], and [`Error::Moment`] for a bound that RFC 3339 cannot express.
    pub async fn updates(
        &self,
        request: &UpdatesRequest,
    ) -> Result<Envelope<UpdatesAnswer>, Error> {
        self.call(Operation::GetListingUpdates, body::updates(request)?)
            .await
    }

    /// Published mortgage rates for a scenario.
    ///
    /// # Errors
    /// As [`Client::lookup`].
    pub async fn rates(&self, request: &RatesRequest) -> Result<Envelope<RatesAnswer>, Error> {
        self.call(Operation::GetMortgageRates, body::rates(request))
            .await
    }

    /// The account's budgets and usage. Costs nothing.
    ///
    /// # Errors
    /// As [`Client::lookup`].
    pub async fn usage(&self) -> Result<Envelope<Usage>, Error> {
        self.call(Operation::GetUsage, Value::Null).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        operation: Operation,
        body: Value,
    ) -> Result<Envelope<T>, Error> {
        let mut attempt = 1;
        loop {
            let error = match self.attempt(operation, &body).await {
                Ok(envelope) => return Ok(envelope),
                Err(error) => error,
            };
            let wait = match &error {
                Error::Refused {
                    code, retry_after, ..
                } => self.retry.wait(attempt, *code, *retry_after),
                Error::Transport(cause) if cause.is_connect() => {
                    self.retry.wait_for_connection(attempt)
                }
                Error::Transport(_) | Error::Unreadable { .. } | Error::Moment { .. } => None,
            };
            let Some(wait) = wait else {
                return Err(error);
            };
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt<T: DeserializeOwned>(
        &self,
        operation: Operation,
        body: &Value,
    ) -> Result<Envelope<T>, Error> {
        let spec = operation.spec();
        let _units = match &self.pace {
            Some(pace) => {
                let cost = u64::from(spec.cost.get());
                let (units, wait) = Units::take(pace, cost);
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                Some(units)
            }
            None => None,
        };
        let mut url = self.base_url.clone();
        let path = format!("{}{}", url.path().trim_end_matches('/'), spec.path);
        url.set_path(&path);
        let request = match spec.method {
            Method::Get => self.http.get(url),
            Method::Post => self
                .http
                .post(url)
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string()),
        };
        let response = request.send().await.map_err(Error::Transport)?;
        self.read(response).await
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<Envelope<T>, Error> {
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.map_err(Error::Transport)?;
        let unreadable = |source| Error::Unreadable {
            status: status.as_u16(),
            source,
        };
        if status == StatusCode::OK {
            let envelope: Envelope<T> = serde_json::from_slice(&bytes).map_err(unreadable)?;
            if let Some(pace) = &self.pace {
                let policy = headers.get("ratelimit-policy");
                let policy = policy.and_then(|value| value.to_str().ok());
                lock(pace).learn(envelope.meta.minute_remaining, policy, Instant::now());
            }
            return Ok(envelope);
        }
        let failure: ErrorBody = serde_json::from_slice(&bytes).map_err(unreadable)?;
        let seconds = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Err(Error::Refused {
            code: failure.code,
            message: failure.message,
            request_id: failure.request_id.as_str().to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        })
    }
}

/// Nothing panics while it holds the lock, and what is behind it is a guess at worst.
fn lock(pace: &Mutex<Pace>) -> MutexGuard<'_, Pace> {
    pace.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The units of a call that is under way; given back however it ends.
struct Units<'a> {
    pace: &'a Mutex<Pace>,
    cost: u64,
}

impl<'a> Units<'a> {
    fn take(pace: &'a Mutex<Pace>, cost: u64) -> (Self, Duration) {
        let wait = lock(pace).begin(cost, Instant::now());
        (Self { pace, cost }, wait)
    }
}

impl Drop for Units<'_> {
    fn drop(&mut self) {
        lock(self.pace).end(self.cost);
    }
}

#[cfg(test)]
mod tests {
    use brownstone_domain::ErrorCode;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
        task::JoinHandle,
    };

    use super::*;

    /// A server that gives these answers, one a connection; its task ends with how many were asked for.
    async fn scripted(
        answers: Vec<(u16, &'static str, String)>,
    ) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            let mut seen = Vec::new();
            for (status, headers, body) in answers {
                let (mut caller, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                let length = |text: &str| -> usize {
                    let lower = text.to_lowercase();
                    let after = lower.split("content-length: ").nth(1);
                    after
                        .and_then(|rest| rest.split("\r\n").next()?.parse().ok())
                        .unwrap_or(0)
                };
                loop {
                    caller.read_buf(&mut request).await.unwrap();
                    let text = String::from_utf8_lossy(&request).into_owned();
                    if let Some((head, rest)) = text.split_once("\r\n\r\n")
                        && rest.len() >= length(head)
                    {
                        seen.push(text);
                        break;
                    }
                }
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
                    body.len()
                );
                caller.write_all(answer.as_bytes()).await.unwrap();
                caller.shutdown().await.unwrap();
            }
            seen
        });
        (url, task)
    }

    fn failure(code: &str) -> String {
        format!(r#"{{"code":"{code}","message":"no","request_id":"r"}}"#)
    }

    fn answer() -> String {
        r#"{"data":{"results":[],"has_more":false,"source_status":{}},"meta":{"request_id":"r","operation":"searchListings","units_charged":2,"minute_remaining":238,"daily_remaining":9998}}"#.into()
    }

    fn anywhere() -> SearchRequest {
        SearchRequest {
            area: brownstone_domain::AreaQuery::Location("NYC".into()),
            filter: brownstone_domain::ListingFilter::active(brownstone_domain::ListingType::Sale),
            sort: brownstone_domain::ListingSort::Newest,
            limit: 1,
            offset: 0,
        }
    }

    #[tokio::test]
    async fn what_may_pass_is_sent_again_with_the_key_and_the_body() {
        let (url, task) = scripted(vec![
            (429, "retry-after: 0\r\n", failure("rate_limited")),
            (200, "ratelimit-policy: \"minute\";q=240;w=60\r\n", answer()),
        ])
        .await;
        let client = Client::new(&url, "svc_test_x").unwrap();
        let found = client.search(&anywhere()).await.unwrap();
        assert_eq!(found.meta.minute_remaining, 238);
        let seen = task.await.unwrap();
        for request in &seen {
            assert!(request.starts_with("POST /v1/search "), "{request}");
            assert!(
                request.contains("authorization: Bearer svc_test_x\r\n"),
                "{request}"
            );
            assert!(request.contains(r#""location":"NYC""#), "{request}");
        }
        assert_eq!(seen.len(), 2);
    }

    #[tokio::test]
    async fn what_cannot_pass_is_given_back_at_once() {
        for (status, code) in [
            (429, "rate_limited"),
            (404, "not_found"),
            (403, "forbidden"),
        ] {
            let (url, task) = scripted(vec![(status, "", failure(code))]).await;
            let client = Client::new(&url, "svc_test_x").unwrap();
            match client.search(&anywhere()).await {
                Err(Error::Refused { code: got, .. }) => assert_eq!(got.as_str(), code),
                other => panic!("{other:?}"),
            }
            assert_eq!(task.await.unwrap().len(), 1);
        }
    }

    #[tokio::test]
    async fn the_page_of_a_proxy_is_no_answer() {
        let (url, _task) = scripted(vec![(502, "", "<html>".into())]).await;
        let client = Client::new(&url, "k").unwrap();
        match client.search(&anywhere()).await {
            Err(Error::Unreadable { status: 502, .. }) => {}
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_wait_that_is_too_long_is_told() {
        let (url, _task) = scripted(vec![(
            429,
            "retry-after: 4000\r\n",
            failure("rate_limited"),
        )])
        .await;
        let client = Client::new(&url, "k").unwrap();
        match client.search(&anywhere()).await {
            Err(Error::Refused {
                code: ErrorCode::RateLimited,
                retry_after: Some(wait),
                ..
            }) => {
                assert_eq!(wait, Duration::from_secs(4_000));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_address_or_key_is_refused_and_the_key_is_never_printed() {
        for url in [
            "",
            "api.example.com",
            "ftp://api.example.com",
            "mailto:a@b.example",
        ] {
            assert!(
                matches!(Client::new(url, "k"), Err(ConfigError::BaseUrl { .. })),
                "{url}"
            );
        }
        assert!(matches!(
            Client::new("http://a.example", "a\nb"),
            Err(ConfigError::Key)
        ));
        let client = Client::new("http://a.example", "svc_test_secret").unwrap();
        assert!(!format!("{client:?}").contains("secret"));
    }
}
