//! The protocol over an upstream.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use brownstone_upstream::{Request, Response, SecretString, Upstream, UpstreamError};
use tokio::time::{Instant, sleep};

use crate::answer::{self, Class};
use crate::api::{Metadata, Rows, Soda, SodaError};
use crate::query::{DatasetId, Query};

/// How often an answer that is still being prepared is asked for again.
const MAX_WAITS: u32 = 5;

/// The wait before the first of these; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A refused token is left at home this long, then shown once more: it may have been activated meanwhile.
const TOKEN_REST: Duration = Duration::from_secs(3600);

const TOKEN_HEADER: &str = "X-App-Token";

/// A SODA host.
#[derive(Debug)]
pub struct SodaClient {
    upstream: Upstream,
    token: Option<SecretString>,
    /// When the host last said that the token is not valid.
    token_refused: Mutex<Option<Instant>>,
}

impl SodaClient {
    /// A client of the host that `upstream` names; `app_token` goes to that host alone.
    pub const fn new(upstream: Upstream, app_token: Option<SecretString>) -> Self {
        Self {
            upstream,
            token: app_token,
            token_refused: Mutex::new(None),
        }
    }

    /// The upstream, with its breakers.
    pub const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Whether the host has refused the configured token: a fault of the configuration, to be shown to the operator.
    /// Requests go without it for an hour.
    pub fn token_refused(&self) -> bool {
        let refused = self.token_refused.lock();
        refused
            .unwrap_or_else(PoisonError::into_inner)
            .is_some_and(|at| at.elapsed() < TOKEN_REST)
    }

    fn refuse_token(&self) {
        // Told once, not by each of the requests that were under way with it.
        if !self.token_refused() {
            tracing::error!(
                upstream = self.upstream.name(),
                "the application token is not valid; asking without it"
            );
        }
        *self
            .token_refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Asks until there is an answer with status 200, or none to be had.
    async fn ask(&self, request: Request, deadline: Instant) -> Result<Response, SodaError> {
        let mut token = self.token.as_ref().filter(|_| !self.token_refused());
        let mut waits = 0;
        loop {
            let mut request = request.clone();
            if let Some(token) = token {
                request = request.secret_header(TOKEN_HEADER, token.clone());
            }
            let response = self.upstream.get(request, deadline).await.map_err(fault)?;
            match answer::classify(&response) {
                Class::Good => return Ok(response),
                Class::NotReady => {
                    let wait = FIRST_WAIT * 2_u32.pow(waits);
                    if waits == MAX_WAITS || Instant::now() + wait >= deadline {
                        let text = "the answer is still being prepared";
                        return Err(SodaError::Unavailable(text.to_owned()));
                    }
                    waits += 1;
                    sleep(wait).await;
                }
                // A wrong token is worse than none: public data is refused for it.
                Class::Denied {
                    names_token,
                    may_be_token: true,
                    ..
                } if token.is_some() => {
                    if names_token {
                        self.refuse_token();
                    }
                    token = None;
                }
                Class::Denied { status, .. } => return Err(SodaError::Gone { status }),
                Class::Fault(fault) => return Err(fault),
            }
        }
    }
}

/// What the upstream's trouble means here.
fn fault(fault: UpstreamError) -> SodaError {
    match fault {
        UpstreamError::Status { status: 429, .. } => SodaError::Throttled,
        // Too long a condition, in all likelihood.
        UpstreamError::Refused { .. } => SodaError::BadQuery {
            code: "client.not-sent".to_owned(),
        },
        other => SodaError::Unavailable(other.to_string()),
    }
}

#[async_trait]
impl Soda for SodaClient {
    async fn rows(&self, query: &Query, deadline: Instant) -> Result<Rows, SodaError> {
        let dataset = query.dataset.as_str();
        let mut request = Request::get(["resource".to_owned(), format!("{dataset}.json")])
            .header("accept", "application/json")
            .breaker(dataset);
        for (name, value) in query.params() {
            request = request.query(name, value);
        }
        let response = self.ask(request, deadline).await?;
        answer::rows(&response, query.selects_row_id())
    }

    async fn metadata(
        &self,
        dataset: &DatasetId,
        deadline: Instant,
    ) -> Result<Metadata, SodaError> {
        let path = [
            "api".to_owned(),
            "views".to_owned(),
            format!("{dataset}.json"),
        ];
        // A breaker of its own: a dataset whose description is down still has its rows.
        let request = Request::get(path)
            .header("accept", "application/json")
            .breaker(format!("views/{dataset}"));
        let response = self.ask(request, deadline).await?;
        answer::metadata(&response)
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
