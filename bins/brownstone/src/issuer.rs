//! What the OpenID Connect issuer is asked, over the one owner of the HTTP client.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use brownstone_accounts::sign_in::oidc::{IssuerHttp, Oidc, OidcSettings};
use brownstone_upstream::{Request, Upstream, UpstreamConfig};
use secrecy::SecretString;
use tokio::{sync::Mutex, time::Instant};

use crate::config::Config;

/// How long somebody who signs in waits for the issuer at most.
const WAIT: Duration = Duration::from_secs(10);

/// More than a description, keys or tokens take.
const MOST_BYTES: usize = 1 << 20;

/// The issuer's addresses, each an upstream of its own: it tells them itself, and they need not share a host.
#[derive(Default)]
struct Http {
    known: Mutex<HashMap<String, Upstream>>,
}

impl Http {
    async fn at(&self, url: &str) -> Result<Upstream, String> {
        let mut known = self.known.lock().await;
        if let Some(upstream) = known.get(url) {
            return Ok(upstream.clone());
        }
        let mut config = UpstreamConfig::new("OpenID issuer", url);
        config.max_body_bytes = MOST_BYTES;
        let upstream = Upstream::new(config).map_err(|error| error.to_string())?;
        known.insert(url.to_owned(), upstream.clone());
        Ok(upstream)
    }
}

#[async_trait]
impl IssuerHttp for Http {
    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let request = Request::get(Vec::<String>::new()).header("accept", "application/json");
        let place = self.at(url).await?;
        let sent = place.send(request, Instant::now() + WAIT);
        let answer = sent.await.map_err(|error| error.to_string())?;
        match answer.status {
            200 => Ok(answer.body.to_vec()),
            status => Err(format!("the issuer's status is {status}")),
        }
    }

    async fn post_form(
        &self,
        url: &str,
        fields: Vec<(&'static str, SecretString)>,
    ) -> Result<(u16, Vec<u8>), String> {
        let mut request =
            Request::post_form(Vec::<String>::new()).header("accept", "application/json");
        for (name, value) in fields {
            request = request.field(name, value);
        }
        let place = self.at(url).await?;
        let sent = place.send(request, Instant::now() + WAIT);
        // A status that says no is an answer here.
        let answer = sent.await.map_err(|error| error.to_string())?;
        Ok((answer.status, answer.body.to_vec()))
    }
}

/// Sign-in by the configured issuer; `web_url` is where browsers come back to.
pub(crate) fn oidc(config: &Config, web_url: &str) -> Option<Oidc> {
    let issuer = config.oidc.as_ref()?;
    let settings = OidcSettings {
        issuer: issuer.url.clone(),
        client_id: issuer.client_id.clone(),
        client_secret: issuer.client_secret.clone(),
        redirect_uri: format!("{web_url}{}", brownstone_web::pages::oidc::CALLBACK),
    };
    Some(Oidc::new(settings, Arc::new(Http::default())))
}
