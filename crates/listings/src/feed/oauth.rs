//! Who asks a multiple listing service: a token that somebody was given, or the client credentials of OAuth 2 (RFC 6749,
//! section 4.4), for which tokens are fetched as they are needed.

use std::{fmt, time::Duration};

use brownstone_upstream::{Request, Upstream};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use super::FeedError;

/// How long a token is good for whose server does not say.
const UNSAID: Duration = Duration::from_secs(5 * 60);

/// How long before its end a token is no longer used, so that it does not end on its way; a tenth of its life where that is
/// less.
const BEFORE_THE_END: Duration = Duration::from_secs(60);

/// A token that lives longer is fetched anew all the same.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The credential of a feed.
#[derive(Debug)]
pub enum Credential {
    /// A bearer token that does not end.
    Token(SecretString),
    /// A client that fetches its tokens.
    Client(Client),
}

/// A client of an OAuth 2 server.
pub struct Client {
    /// The token endpoint, whole: its base address is posted to.
    endpoint: Upstream,
    id: String,
    secret: SecretString,
    scope: Option<String>,
    /// The token, and when it is no longer used. Held while one is fetched: who comes meanwhile waits for it.
    kept: Mutex<Option<(SecretString, Instant)>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.endpoint)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// What a token endpoint answers. No `Debug`: it holds the token.
#[derive(Deserialize)]
struct Granted {
    #[serde(deserialize_with = "secret")]
    access_token: SecretString,
    token_type: Option<String>,
    expires_in: Option<Value>,
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

impl Client {
    /// A client with this identifier and secret, whose tokens come from `endpoint`; some servers want a scope named.
    pub fn new(
        endpoint: Upstream,
        id: impl Into<String>,
        secret: SecretString,
        scope: Option<String>,
    ) -> Self {
        Self {
            endpoint,
            id: id.into(),
            secret,
            scope,
            kept: Mutex::default(),
        }
    }

    async fn token(&self, deadline: Instant) -> Result<SecretString, FeedError> {
        let mut kept = self.kept.lock().await;
        if let Some((token, until)) = kept.as_ref()
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let asked = Instant::now();
        let granted = self.fetch(deadline).await?;
        let until = asked + good_for(granted.expires_in.as_ref());
        *kept = Some((granted.access_token.clone(), until));
        Ok(granted.access_token)
    }

    /// No longer uses a token that was refused; another that was fetched meanwhile stays.
    async fn forget(&self, refused: &SecretString) {
        let mut kept = self.kept.lock().await;
        if kept
            .as_ref()
            .is_some_and(|(token, _)| token.expose_secret() == refused.expose_secret())
        {
            *kept = None;
        }
    }

    async fn fetch(&self, deadline: Instant) -> Result<Granted, FeedError> {
        let mut request = Request::post_form(Vec::<String>::new())
            .header("accept", "application/json")
            .breaker("token")
            .field("grant_type", "client_credentials")
            .field("client_id", self.id.as_str())
            .field("client_secret", self.secret.clone());
        if let Some(scope) = &self.scope {
            request = request.field("scope", scope.as_str());
        }
        let answer = self.endpoint.send(request, deadline).await?;
        match answer.status {
            200 => {}
            // RFC 6749 has 400 for an unknown client, too.
            status @ (400 | 401 | 403) => return Err(FeedError::Refused(status)),
            status => {
                return Err(FeedError::Unreadable(format!(
                    "the token endpoint's status is {status}"
                )));
            }
        }
        // Nothing of the answer goes into an error: it may hold the token.
        let unreadable = || FeedError::Unreadable("the token endpoint gives no token".into());
        let granted: Granted = serde_json::from_slice(&answer.body).map_err(|_| unreadable())?;
        let bearer = granted
            .token_type
            .as_deref()
            .is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
        if !bearer || granted.access_token.expose_secret().is_empty() {
            return Err(unreadable());
        }
        Ok(granted)
    }
}

impl Credential {
    /// The token to ask with.
    ///
    /// # Errors
    /// When none can be fetched.
    pub(super) async fn token(&self, deadline: Instant) -> Result<SecretString, FeedError> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::Client(client) => client.token(deadline).await,
        }
    }

    /// Whether another token may be had in the place of one that was refused.
    pub(super) async fn renew(&self, refused: &SecretString) -> bool {
        match self {
            Self::Token(_) => false,
            Self::Client(client) => {
                client.forget(refused).await;
                true
            }
        }
    }
}

/// How long a token is used, of the seconds that its server gives it: as a number, or as text, as some write it.
fn good_for(expires_in: Option<&Value>) -> Duration {
    let seconds = match expires_in {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let life = match seconds {
        Some(seconds) if seconds >= LONGEST.as_secs_f64() => LONGEST,
        Some(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        None => UNSAID,
    };
    life - BEFORE_THE_END.min(life / 10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_used_until_shortly_before_its_end() {
        for (expires_in, seconds) in [
            (json!(3_600), 3_540),
            (json!("3600"), 3_540),
            (json!(3_600.9), 3_540),
            (json!(100), 90),
            (json!(0), 0),
            (json!(-5), 0),
            (json!(1e300), LONGEST.as_secs() - 60),
            (json!("soon"), 270),
            (json!("NaN"), 0),
            (json!(null), 270),
        ] {
            let good = good_for(Some(&expires_in));
            assert_eq!(good.as_secs(), seconds, "{expires_in}");
        }
        assert_eq!(good_for(None).as_secs(), 270);
    }

    proptest! {
        #[test]
        fn no_life_panics_or_outlives_itself(seconds: f64) {
            let good = good_for(Some(&json!(seconds)));
            prop_assert!(good <= LONGEST);
            let good = good_for(Some(&json!(seconds.to_string())));
            prop_assert!(good <= LONGEST && (seconds <= 0.0 || good.as_secs_f64() <= seconds || seconds.is_nan()));
        }
    }
}
