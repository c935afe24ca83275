//! The client: one upstream, asked politely and never trusted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::breaker::{BreakerView, Breakers, Leave, Verdict};
use crate::config::{ConfigError, RetryConfig, UpstreamConfig};
use crate::error::{Fault, UpstreamError};
use crate::request::Request;
use crate::retry;

/// Room set aside for a body before any of it came.
const FIRST_BYTES: usize = 64 * 1024;

/// An answer with a status that will not pass: 200, but 304 and 404 too. What it means is for the caller to say.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The headers, as sent.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
}

impl Response {
    /// A header's text; `None` when it is absent or no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the status is 2xx.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

/// One upstream. Cheap to clone: clones share its connections, slots and breakers.
#[derive(Clone)]
pub struct Upstream(Arc<Inner>);

struct Inner {
    config: UpstreamConfig,
    base: Url,
    http: reqwest::Client,
    slots: Semaphore,
    /// Bytes of the bodies that are being read.
    held: AtomicUsize,
    breakers: Breakers,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("name", &self.0.config.name)
            .field("base", &self.0.base.as_str())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// Checks the configuration and makes the client. Nothing is asked yet.
    ///
    /// # Errors
    /// [`ConfigError`]: what to change.
    pub fn new(config: UpstreamConfig) -> Result<Self, ConfigError> {
        let base = config.base()?;
        config.check_limits()?;
        let headers = config.header_map()?;
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("brownstone/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(config.connect_timeout)
            .https_only(base.scheme() == "https")
            // A redirect leads where the configuration did not say; it comes back as the answer.
            .redirect(reqwest::redirect::Policy::none())
            // The upstream is where the configuration says, whatever the environment would have.
            .no_proxy()
            .referer(false)
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(config.max_in_flight)
            .tcp_keepalive(Duration::from_secs(30));
        if base.scheme() != "https" {
            // It never speaks TLS: the system's certificates are not read, and need not be there.
            http = http.tls_certs_only([]);
        }
        let http = http.build().map_err(|fault| ConfigError::Client {
            name: config.name.clone(),
            why: chain(&fault.without_url()),
        })?;
        Ok(Self(Arc::new(Inner {
            base,
            http,
            held: AtomicUsize::new(0),
            slots: Semaphore::new(config.max_in_flight.min(Semaphore::MAX_PERMITS)),
            breakers: Breakers::new(config.breaker),
            config,
        })))
    }

    /// The configured name.
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// The base address.
    pub fn base_url(&self) -> &Url {
        &self.0.base
    }

    /// Requests under way.
    pub fn in_flight(&self) -> usize {
        self.0
            .config
            .max_in_flight
            .saturating_sub(self.0.slots.available_permits())
    }

    /// Bytes of the bodies that are being read.
    pub fn bytes_in_flight(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// The breakers in trouble, by key; a key that is not listed is closed and has not failed since it last answered.
    pub fn breakers(&self) -> Vec<BreakerView> {
        self.0.breakers.view(Instant::now())
    }

    /// Asks, with retries, and ends by `deadline`.
    ///
    /// A status that will not pass is an answer: a redirect, a 400, a 404.
    ///
    /// # Errors
    /// [`UpstreamError`]: each variant says what happened.
    pub async fn get(
        &self,
        request: Request,
        deadline: Instant,
    ) -> Result<Response, UpstreamError> {
        self.send(request, deadline).await
    }

    /// Sends a request, a GET or the POST of a form, under the same rules and bounds as [`Upstream::get`].
    ///
    /// # Errors
    /// [`UpstreamError`]: each variant says what happened.
    pub async fn send(
        &self,
        request: Request,
        deadline: Instant,
    ) -> Result<Response, UpstreamError> {
        let begun = Instant::now();
        let outcome = self.settled(request, deadline).await;
        crate::metrics::asked(self.name(), &outcome, begun.elapsed());
        outcome
    }

    async fn settled(
        &self,
        request: Request,
        deadline: Instant,
    ) -> Result<Response, UpstreamError> {
        let inner = &*self.0;
        let at = || {
            format!("{} {}", inner.config.name, request.path())
                .trim_end()
                .to_owned()
        };
        let prepared = request
            .url(&inner.base)
            .and_then(|url| Ok((url, request.header_map()?)));
        let (url, headers) = prepared.map_err(|fault| fault.at(at()))?;
        let sent = Sent {
            url,
            headers,
            body: request.body(),
        };
        let leave = match request.breaker_key() {
            None => None,
            Some(key) => Some(
                inner
                    .breakers
                    .admit(key, Instant::now())
                    .map_err(|retry_in| UpstreamError::BreakerOpen { at: at(), retry_in })?,
            ),
        };
        let mut policy = inner.config.retry;
        if leave.as_ref().is_some_and(Leave::is_probe) {
            // One look is enough to see whether it is back.
            policy.retries = 0;
        }
        let outcome = inner.tries(&policy, &sent, deadline).await;
        if let Some(leave) = leave {
            leave.settle(inner.verdict(&outcome), Instant::now());
        }
        outcome.map_err(|fault| {
            let fault = fault.at(at());
            tracing::debug!(%fault, "upstream failed");
            fault
        })
    }
}

/// The share of one body in the bytes that all of them may have.
struct Held<'a> {
    all: &'a AtomicUsize,
    most: usize,
    mine: usize,
}

impl Held<'_> {
    /// A body that finds no room ends rather than waits: the others may be waiting, too.
    fn add(&mut self, bytes: usize) -> Result<(), Fault> {
        self.mine += bytes;
        let before = self.all.fetch_add(bytes, Ordering::Relaxed);
        match before.saturating_add(bytes) > self.most {
            true => Err(Fault::Busy),
            false => Ok(()),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.mine, Ordering::Relaxed);
    }
}

/// What goes over the wire.
struct Sent {
    url: Url,
    headers: HeaderMap,
    /// A form, where it is a POST.
    body: Option<Bytes>,
}

impl Inner {
    async fn tries(
        &self,
        policy: &RetryConfig,
        sent: &Sent,
        deadline: Instant,
    ) -> Result<Response, Fault> {
        retry::run(policy, deadline, |last| async move {
            // The slot is given back between tries, so that a wait holds up nobody.
            let _slot = self.slot(deadline).await?;
            let now = Instant::now();
            let ends = retry::ends(now, deadline, self.config.total_timeout, last);
            let given = ends.saturating_duration_since(now);
            if given.is_zero() {
                return Err(Fault::Timeout { given });
            }
            self.attempt(sent, ends, given).await
        })
        .await
    }

    async fn slot(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Fault> {
        match timeout_at(deadline, self.slots.acquire()).await {
            Ok(Ok(slot)) => Ok(slot),
            // Too late, or closed, which nobody does.
            Err(_) | Ok(Err(_)) => Err(Fault::Busy),
        }
    }

    async fn attempt(
        &self,
        sent: &Sent,
        ends: Instant,
        given: Duration,
    ) -> Result<Response, Fault> {
        let silence = Fault::Timeout { given };
        let request = match &sent.body {
            None => self.http.get(sent.url.clone()),
            Some(form) => (self.http.post(sent.url.clone()))
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.clone()),
        };
        let sending = request.headers(sent.headers.clone()).send();
        let mut answer = timeout_at(self.patience(ends), sending)
            .await
            .map_err(|_| silence.clone())?
            .map_err(|fault| sent_fault(fault, given))?;
        let status = answer.status().as_u16();
        if retry::TRANSIENT.contains(&status) {
            return Err(Fault::Status {
                status,
                retry_after: retry::retry_after(answer.headers()),
            });
        }
        let limit = self.config.max_body_bytes;
        let announced = answer.content_length().unwrap_or(0);
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(Fault::TooLarge { limit });
        }
        // An announcement is only a promise: no more is set aside for it than one read would need.
        let mut body = BytesMut::with_capacity(announced.min(FIRST_BYTES));
        let mut held = Held {
            all: &self.held,
            most: self.config.max_bytes_in_flight,
            mine: 0,
        };
        loop {
            let next = timeout_at(self.patience(ends), answer.chunk())
                .await
                .map_err(|_| silence.clone())?
                .map_err(|fault| body_fault(fault, given))?;
            let Some(piece) = next else { break };
            // Pieces come decompressed and small, so a bomb is noticed as it unfolds.
            if piece.len() > limit.saturating_sub(body.len()) {
                return Err(Fault::TooLarge { limit });
            }
            held.add(piece.len())?;
            body.extend_from_slice(&piece);
        }
        Ok(Response {
            status,
            headers: std::mem::take(answer.headers_mut()),
            body: body.freeze(),
        })
    }

    fn patience(&self, ends: Instant) -> Instant {
        ends.min(Instant::now() + self.config.silence_timeout)
    }

    fn verdict(&self, outcome: &Result<Response, Fault>) -> Verdict {
        match outcome {
            Ok(_) => Verdict::Well,
            Err(Fault::Busy | Fault::Refused(_)) => Verdict::Unknown,
            Err(Fault::Timeout { given }) if *given < self.config.breaker.patience => {
                Verdict::Unknown
            }
            Err(_) => Verdict::Failed,
        }
    }
}

fn sent_fault(fault: reqwest::Error, given: Duration) -> Fault {
    if fault.is_connect() {
        Fault::Connect(chain(&fault.without_url()))
    } else if fault.is_timeout() {
        Fault::Timeout { given }
    } else if fault.is_builder() {
        Fault::Refused("the HTTP client does not take the address")
    } else {
        Fault::Cut(chain(&fault.without_url()))
    }
}

fn body_fault(fault: reqwest::Error, given: Duration) -> Fault {
    if fault.is_timeout() {
        Fault::Timeout { given }
    } else {
        Fault::Cut(chain(&fault.without_url()))
    }
}

/// An error and its causes, in one short line.
fn chain(fault: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(fault), |fault| fault.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ").chars().take(300).collect()
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
