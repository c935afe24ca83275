//! Signing in by an OpenID Connect issuer: the authorization code flow with PKCE.
//!
//! Nothing is kept between leaving for the issuer and coming back but one secret in the browser's own cookie: state, nonce and code
//! verifier follow from it, so that any instance can finish what another began, and an answer is good for the browser that asked and
//! once, since the cookie goes with it. Who the issuer says it is counts only where it says that the e-mail address is verified.

use std::sync::{Arc, Mutex as Lock, PoisonError};

use async_trait::async_trait;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use secrecy::SecretString;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use time::{Duration, OffsetDateTime};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::model::{Token, hex};

/// How far the issuer's clock may be from ours.
const LEEWAY: Duration = Duration::seconds(60);

/// How long ago the issuer may have asked who it is, where we asked that it does.
const RECENT: Duration = Duration::minutes(5);

/// How long an issuer's addresses and keys are used before they are asked for again.
const KEPT: Duration = Duration::hours(12);

/// How often keys are asked for again because a token names one that is not known.
const AGAIN: Duration = Duration::minutes(1);

/// How long an issuer that did not answer is left alone: meanwhile everybody is told so at once, and nobody waits in a row for the same silence.
const LEFT_ALONE: std::time::Duration = std::time::Duration::from_secs(5);

/// Signatures that are taken. Never one with a shared secret, and never none.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::RS256, Algorithm::ES256];

/// What may be asked of an issuer. The binary implements it; nothing here knows an HTTP client.
#[async_trait]
pub trait IssuerHttp: Send + Sync {
    /// The body behind an address.
    ///
    /// # Errors
    /// What happened, for the log.
    async fn get(&self, url: &str) -> Result<Vec<u8>, String>;

    /// Sends a form; gives status and body.
    ///
    /// # Errors
    /// What happened, for the log.
    async fn post_form(
        &self,
        url: &str,
        fields: Vec<(&'static str, SecretString)>,
    ) -> Result<(u16, Vec<u8>), String>;
}

/// How this deployment is known to its issuer.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// The issuer's address, as its tokens name it.
    pub issuer: String,
    /// Our identifier there.
    pub client_id: String,
    /// Our secret there.
    pub client_secret: SecretString,
    /// Where the issuer sends the browser back to.
    pub redirect_uri: String,
}

/// Whom an issuer vouches for. Only [`Oidc::finish`] makes one outside of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// The verified e-mail address.
    pub email: String,
    /// When the issuer last asked who it is; `None` where it does not say.
    pub asked_at: Option<OffsetDateTime>,
}

/// Why an issuer's answer lets nobody in. The text is fit for whoever asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OidcError {
    /// The answer is not to a question of this browser, or was used already.
    #[error("This sign-in was not begun in this browser, or is over. Begin again.")]
    State,
    /// The issuer let nobody in.
    #[error("The sign-in was not completed at the identity provider.")]
    Refused,
    /// The issuer does not say that the address is verified.
    #[error("The identity provider does not vouch for an e-mail address of yours.")]
    Unverified,
    /// The token does not hold; the text is for the log.
    #[error("The identity provider's answer could not be trusted. Begin again.")]
    Token(&'static str),
    /// The issuer did not answer; the text is for the log.
    #[error("The identity provider did not answer. Try again in a moment.")]
    Unreachable(String),
}

/// The issuer's own description: <https://openid.net/specs/openid-connect-discovery-1_0.html>.
#[derive(Debug, Clone, Deserialize)]
struct Discovered {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

/// What is known of the issuer.
#[derive(Clone)]
struct Known {
    at: OffsetDateTime,
    issuer: Arc<Discovered>,
    keys: Arc<JwkSet>,
}

/// What was learned of the issuer last.
#[derive(Default)]
struct Memory {
    known: Option<Known>,
    /// When it did not answer, and how.
    failed: Option<(Instant, OidcError)>,
}

#[derive(Deserialize)]
struct Granted {
    id_token: Option<String>,
}

/// The claims that are read.
#[derive(Deserialize)]
struct Claims {
    aud: Audience,
    azp: Option<String>,
    exp: i64,
    iat: Option<i64>,
    nonce: Option<String>,
    auth_time: Option<i64>,
    email: Option<String>,
    email_verified: Option<Verified>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    /// Ours, and nobody else's unless the token was issued to us by name.
    fn is(&self, client: &str, issued_to: Option<&str>) -> bool {
        let issued = issued_to.is_none_or(|party| party == client);
        issued
            && match self {
                Self::One(one) => one == client,
                Self::Several(all) => {
                    all.iter().any(|one| one == client) && (all.len() == 1 || issued_to.is_some())
                }
            }
    }
}

/// Some issuers send the text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Verified {
    Flag(bool),
    Text(String),
}

impl Verified {
    fn is_true(&self) -> bool {
        match self {
            Self::Flag(flag) => *flag,
            Self::Text(text) => text == "true",
        }
    }
}

/// Sign-in by one issuer. Cheap to clone.
#[derive(Clone)]
pub struct Oidc(Arc<Inner>);

struct Inner {
    settings: OidcSettings,
    http: Arc<dyn IssuerHttp>,
    memory: Lock<Memory>,
    /// Whose turn it is to ask: one at a time. Who needs only what is remembered does not wait for it.
    asking: Mutex<()>,
}

impl std::fmt::Debug for Oidc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oidc")
            .field("issuer", &self.0.settings.issuer)
            .finish_non_exhaustive()
    }
}

impl Oidc {
    /// Sign-in by this issuer. Nothing is asked yet.
    pub fn new(settings: OidcSettings, http: Arc<dyn IssuerHttp>) -> Self {
        Self(Arc::new(Inner {
            settings,
            http,
            memory: Lock::default(),
            asking: Mutex::new(()),
        }))
    }

    /// Where to send the browser that holds `attempt`. `again`: the issuer is to ask who it is, whoever it remembers.
    ///
    /// # Errors
    /// [`OidcError::Unreachable`], [`OidcError::Token`] for an issuer that describes itself wrongly.
    pub async fn begin(
        &self,
        attempt: &Token,
        again: bool,
        now: OffsetDateTime,
    ) -> Result<String, OidcError> {
        let settings = &self.0.settings;
        let known = self.known(now, None).await?;
        let challenge = base64url(&Sha256::digest(verifier(attempt).as_bytes()));
        let mut url = known.issuer.authorization_endpoint.clone();
        url.push(if url.contains('?') { '&' } else { '?' });
        let (state, nonce) = (state(attempt), nonce(attempt));
        let mut fields = vec![
            ("response_type", "code"),
            ("scope", "openid email"),
            ("client_id", &settings.client_id),
            ("redirect_uri", &settings.redirect_uri),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        if again {
            fields.extend([("prompt", "login"), ("max_age", "0")]);
        }
        let query: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        url.push_str(&query.join("&"));
        Ok(url)
    }

    /// Whoever the issuer sent back with `state` and `code` to the browser that holds `attempt`.
    ///
    /// # Errors
    /// [`OidcError`]: each variant says what happened.
    pub async fn finish(
        &self,
        attempt: &Token,
        sent_state: &str,
        code: &str,
        again: bool,
        now: OffsetDateTime,
    ) -> Result<Vouched, OidcError> {
        if !bool::from(sent_state.as_bytes().ct_eq(state(attempt).as_bytes())) {
            return Err(OidcError::State);
        }
        let settings = &self.0.settings;
        let known = self.known(now, None).await?;
        let fields = vec![
            ("grant_type", SecretString::from("authorization_code")),
            ("code", SecretString::from(code)),
            ("redirect_uri", settings.redirect_uri.as_str().into()),
            ("client_id", settings.client_id.as_str().into()),
            ("client_secret", settings.client_secret.clone()),
            ("code_verifier", verifier(attempt).into()),
        ];
        let sent = self.0.http.post_form(&known.issuer.token_endpoint, fields);
        let (status, body) = sent.await.map_err(OidcError::Unreachable)?;
        match status {
            200 => {}
            // A code that is none, was used, or is another client's.
            400 | 401 | 403 => return Err(OidcError::Refused),
            other => {
                return Err(OidcError::Unreachable(format!(
                    "the token endpoint's status is {other}"
                )));
            }
        }
        // Nothing of the body goes into an error: it may hold tokens.
        let granted: Granted = serde_json::from_slice(&body)
            .map_err(|_| OidcError::Token("the token endpoint's answer is no JSON"))?;
        let token = granted
            .id_token
            .ok_or(OidcError::Token("there is no ID token"))?;
        let header = decode_header(&token).map_err(|_| OidcError::Token("no header"))?;
        let keys = match &header.kid {
            Some(kid) if known.keys.find(kid).is_none() => self.known(now, Some(AGAIN)).await?.keys,
            _ => known.keys,
        };
        self.check(&token, &keys, attempt, again, now)
    }

    /// What the token says, once its signature and its claims hold.
    fn check(
        &self,
        token: &str,
        keys: &JwkSet,
        attempt: &Token,
        again: bool,
        now: OffsetDateTime,
    ) -> Result<Vouched, OidcError> {
        let settings = &self.0.settings;
        let header = decode_header(token).map_err(|_| OidcError::Token("no header"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(OidcError::Token("an algorithm that is not taken"));
        }
        let key = match (&header.kid, keys.keys.as_slice()) {
            (Some(kid), _) => keys.find(kid),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        let key = key.ok_or(OidcError::Token(
            "signed with a key that is not the issuer's",
        ))?;
        let key = DecodingKey::from_jwk(key).map_err(|_| OidcError::Token("an unusable key"))?;
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&settings.issuer]);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // By this deployment's clock and rules, below.
        rules.validate_exp = false;
        rules.validate_aud = false;
        let claims = decode::<Claims>(token, &key, &rules)
            .map_err(|_| OidcError::Token("its signature or issuer is wrong"))?
            .claims;
        let moment = |seconds: i64| OffsetDateTime::from_unix_timestamp(seconds).ok();
        if !claims.aud.is(&settings.client_id, claims.azp.as_deref()) {
            return Err(OidcError::Token("it is for another client"));
        }
        if moment(claims.exp).is_none_or(|end| end + LEEWAY <= now) {
            return Err(OidcError::Token("it is past its end"));
        }
        if claims
            .iat
            .and_then(moment)
            .is_some_and(|at| at > now + LEEWAY)
        {
            return Err(OidcError::Token("it is from the future"));
        }
        let ours = nonce(attempt);
        let sent = claims.nonce.unwrap_or_default();
        if !bool::from(sent.as_bytes().ct_eq(ours.as_bytes())) {
            return Err(OidcError::Token("its nonce is not ours"));
        }
        // A moment that is yet to come says nothing.
        let asked_at = claims.auth_time.and_then(moment);
        let asked_at = asked_at.filter(|at| *at <= now + LEEWAY);
        if again && asked_at.is_none_or(|at| at + RECENT < now) {
            return Err(OidcError::Token("nobody was asked who it is"));
        }
        let verified = claims.email_verified.is_some_and(|flag| flag.is_true());
        let email = claims.email.filter(|email| verified && !email.is_empty());
        let email = email.ok_or(OidcError::Unverified)?;
        Ok(Vouched { email, asked_at })
    }

    /// The issuer's addresses and keys: those kept, while they are younger than `age`.
    async fn known(&self, now: OffsetDateTime, age: Option<Duration>) -> Result<Known, OidcError> {
        let age = age.unwrap_or(KEPT);
        if let Some(remembered) = self.remembered(now, age) {
            return remembered;
        }
        let _turn = self.0.asking.lock().await;
        // Whoever was before may have learned it, or met with silence.
        if let Some(remembered) = self.remembered(now, age) {
            return remembered;
        }
        let learned = self.learn(now).await;
        let mut memory = self.memory();
        match &learned {
            Ok(known) => {
                memory.known = Some(known.clone());
                memory.failed = None;
            }
            Err(error) => memory.failed = Some((Instant::now(), error.clone())),
        }
        learned
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What need not be asked: what is younger than `age`, or that the issuer did not answer a moment ago.
    fn remembered(&self, now: OffsetDateTime, age: Duration) -> Option<Result<Known, OidcError>> {
        let memory = self.memory();
        if let Some(known) = memory.known.as_ref()
            && now - known.at < age
        {
            return Some(Ok(known.clone()));
        }
        let (at, error) = memory.failed.as_ref()?;
        (at.elapsed() < LEFT_ALONE).then(|| Err(error.clone()))
    }

    /// Asks the issuer for its addresses and keys.
    async fn learn(&self, now: OffsetDateTime) -> Result<Known, OidcError> {
        let issuer = &self.0.settings.issuer;
        let place = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let http = &self.0.http;
        let described = http.get(&place).await.map_err(OidcError::Unreachable)?;
        let described: Discovered = serde_json::from_slice(&described)
            .map_err(|_| OidcError::Token("the issuer's description cannot be read"))?;
        if described.issuer != *issuer {
            return Err(OidcError::Token("the issuer calls itself otherwise"));
        }
        let keys = http.get(&described.jwks_uri).await;
        let keys = keys.map_err(OidcError::Unreachable)?;
        let keys = serde_json::from_slice(&keys)
            .map_err(|_| OidcError::Token("the issuer's keys cannot be read"))?;
        Ok(Known {
            at: now,
            issuer: Arc::new(described),
            keys: Arc::new(keys),
        })
    }
}

fn state(attempt: &Token) -> String {
    hex(&attempt.derive("oidc state"))
}

fn nonce(attempt: &Token) -> String {
    hex(&attempt.derive("oidc nonce"))
}

fn verifier(attempt: &Token) -> String {
    hex(&attempt.derive("oidc verifier"))
}

/// Base 64 for addresses, without padding.
fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for three in bytes.chunks(3) {
        let word = three
            .iter()
            .chain([&0, &0])
            .take(3)
            .fold(0_usize, |word, byte| word << 8 | usize::from(*byte));
        for place in 0..=three.len() {
            let digit = word >> (18 - 6 * place) & 63;
            out.extend(DIGITS.get(digit).map(|byte| char::from(*byte)));
        }
    }
    out
}

/// A value inside a query.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
