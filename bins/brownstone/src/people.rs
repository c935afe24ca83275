//! The web host: its parts, its listener, and the sign-in that commands share with it.

use std::{net::TcpListener, sync::Arc, time::Duration};

use anyhow::Context as _;
use brownstone_accounts::{
    Accounts, RequestLog, UsageRecorder,
    sign_in::{SignIn, SignInPolicy, oidc::Oidc},
};
use brownstone_domain::Clock;
use brownstone_service::Service;
use brownstone_store::Store;
use brownstone_web::{Host, pages::reference::Reference};

use crate::config::Config;

/// How often sessions and links that ended are dropped.
const PURGE_EVERY: Duration = Duration::from_secs(3_600);

/// Sign-in over this database.
pub(crate) fn sign_in(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<SignIn> {
    let policy = SignInPolicy {
        sign_up: config.sign_up,
        tier: config.sign_up_tier,
        environment: config.environment,
    };
    let clock = Arc::clone(clock);
    Ok(SignIn::new(
        store.sign_in(),
        store.accounts(),
        clock,
        policy,
    )?)
}

/// The web host's public address: as configured, else where it listens.
pub(crate) fn web_url(config: &Config, listening: std::net::SocketAddr) -> String {
    match &config.web_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{listening}"),
    }
}

/// Opens the web host's listener.
pub(crate) fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    brownstone_edge::listen(config.web_addr)
        .with_context(|| format!("the web host cannot listen on {}", config.web_addr))
}

/// What the web host is made of.
pub(crate) struct People {
    /// The pipeline and its operations.
    pub service: Service,
    /// Accounts and keys.
    pub accounts: Accounts,
    /// Counters of use.
    pub usage: Arc<UsageRecorder>,
    /// The newest requests of each account.
    pub requests: Arc<RequestLog>,
    /// Passwords and sessions.
    pub sign_in: SignIn,
    /// By whom people sign in, beside passwords.
    pub oidc: Option<Oidc>,
    /// The API reference.
    pub reference: Reference,
}

impl People {
    /// The web host of this deployment.
    pub(crate) fn host(self, base_url: &str, web_url: &str, sample: bool) -> Host {
        Host {
            service: self.service,
            accounts: self.accounts,
            sign_in: self.sign_in,
            oidc: self.oidc,
            reference: self.reference,
            usage: self.usage,
            requests: self.requests,
            base_url: base_url.to_owned(),
            web_url: web_url.to_owned(),
            sample,
        }
    }
}

/// Drops what ended, again and again.
pub(crate) async fn purge(sign_in: SignIn, requests: Arc<RequestLog>) {
    let mut next = tokio::time::interval(PURGE_EVERY);
    loop {
        next.tick().await;
        match sign_in.purge().await {
            Ok(gone) => tracing::debug!(gone, "sessions and links that ended were dropped"),
            Err(error) => tracing::warn!(%error, "sessions that ended could not be dropped"),
        }
        if let Err(error) = requests.purge(sign_in.now()).await {
            tracing::warn!(%error, "old requests could not be dropped");
        }
    }
}
