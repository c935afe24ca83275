use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use brownstone_sample_city::{Issuer, Signed};
use proptest::prelude::*;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use time::macros::datetime;

use super::*;

const ISSUER: &str = "https://issuer.example";
const NOW: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

/// An issuer that signs whatever claims it is given.
struct Double {
    keys: Issuer,
    signed: Signed,
    claims: Value,
    status: u16,
    asked: AtomicUsize,
    /// Whether it answers nothing, after a while.
    silent: AtomicBool,
    sent: std::sync::Mutex<Vec<(&'static str, String)>>,
}

impl Double {
    fn of(attempt: &Token) -> Self {
        let now = NOW.unix_timestamp();
        Self {
            keys: Issuer::new().unwrap(),
            signed: Signed::Rs256,
            claims: json!({
                "iss": ISSUER, "sub": "1", "aud": "us", "iat": now, "exp": now + 600, "nonce": nonce(attempt),
                "auth_time": now, "email": "Ada@example.com", "email_verified": true
            }),
            status: 200,
            asked: AtomicUsize::new(0),
            silent: AtomicBool::new(false),
            sent: std::sync::Mutex::default(),
        }
    }
}

#[async_trait]
impl IssuerHttp for Double {
    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.silent.load(Ordering::SeqCst) {
            tokio::time::sleep(std::time::Duration::from_secs(10)).await;
            return Err("silence".to_owned());
        }
        let body = if url.ends_with("/.well-known/openid-configuration") {
            json!({
                "issuer": ISSUER, "authorization_endpoint": "https://issuer.example/enter?tenant=1",
                "token_endpoint": "https://issuer.example/token", "jwks_uri": "https://issuer.example/keys"
            })
        } else {
            self.keys.keys().clone()
        };
        Ok(body.to_string().into_bytes())
    }

    async fn post_form(
        &self,
        _: &str,
        fields: Vec<(&'static str, SecretString)>,
    ) -> Result<(u16, Vec<u8>), String> {
        let fields = fields.into_iter();
        *self.sent.lock().unwrap() = fields
            .map(|(name, value)| (name, value.expose_secret().to_owned()))
            .collect();
        let token = self.keys.token(self.signed, &self.claims).unwrap();
        let body = json!({"id_token": token}).to_string();
        Ok((self.status, body.into_bytes()))
    }
}

fn oidc(http: Arc<Double>) -> Oidc {
    let settings = OidcSettings {
        issuer: ISSUER.to_owned(),
        client_id: "us".to_owned(),
        client_secret: "canary".to_owned().into(),
        redirect_uri: "https://web.example/sign-in/oidc/callback".to_owned(),
    };
    Oidc::new(settings, http)
}

async fn finish(attempt: &Token, double: Double, again: bool) -> Result<Vouched, OidcError> {
    let state = state(attempt);
    let oidc = oidc(Arc::new(double));
    oidc.finish(attempt, &state, "code", again, NOW).await
}

#[tokio::test]
async fn a_browser_goes_to_the_issuer_and_comes_back() {
    let attempt = Token::generate().unwrap();
    let double = Arc::new(Double::of(&attempt));
    let oidc = oidc(Arc::clone(&double));
    let url = oidc.begin(&attempt, true, NOW).await.unwrap();
    let challenge = base64url(&Sha256::digest(verifier(&attempt).as_bytes()));
    for part in [
        "https://issuer.example/enter?tenant=1&response_type=code&scope=openid%20email&client_id=us",
        "redirect_uri=https%3A%2F%2Fweb.example%2Fsign-in%2Foidc%2Fcallback",
        &format!("state={}", state(&attempt)),
        &format!("code_challenge={challenge}&code_challenge_method=S256"),
        "prompt=login",
    ] {
        assert!(url.contains(part), "{part} in {url}");
    }
    // The secret itself is in none of it.
    assert!(!url.contains(attempt.expose()) && !url.contains(&verifier(&attempt)));
    let who = oidc
        .finish(&attempt, &state(&attempt), "code", true, NOW)
        .await
        .unwrap();
    assert_eq!(who.email, "Ada@example.com");
    assert_eq!(who.asked_at, Some(NOW));
    let sent = double.sent.lock().unwrap().clone();
    assert!(sent.contains(&("code_verifier", verifier(&attempt))));
    assert!(sent.contains(&("client_secret", "canary".to_owned())));
    assert_eq!(double.asked.load(Ordering::SeqCst), 2, "asked once, kept");
    assert!(!format!("{oidc:?}").contains("canary"));
}

#[tokio::test]
async fn both_kinds_of_keys_are_taken_and_no_shared_secret() {
    let attempt = Token::generate().unwrap();
    for (signed, good) in [
        (Signed::Rs256, true),
        (Signed::Es256, true),
        (Signed::Hs256, false),
    ] {
        let double = Double {
            signed,
            ..Double::of(&attempt)
        };
        assert_eq!(
            finish(&attempt, double, false).await.is_ok(),
            good,
            "{signed:?}"
        );
    }
    // Signed well, by somebody else.
    let mut stranger = Double::of(&attempt);
    let token = stranger
        .keys
        .token(Signed::Rs256, &stranger.claims)
        .unwrap();
    stranger.keys = Issuer::new().unwrap();
    let keys: JwkSet = serde_json::from_value(stranger.keys.keys().clone()).unwrap();
    let checked = oidc(Arc::new(stranger)).check(&token, &keys, &attempt, false, NOW);
    assert!(matches!(checked, Err(OidcError::Token(_))), "{checked:?}");
}

#[tokio::test]
async fn each_claim_counts() {
    let attempt = Token::generate().unwrap();
    let now = NOW.unix_timestamp();
    for (claim, value, good) in [
        ("nonce", json!("another"), false),
        ("nonce", Value::Null, false),
        ("aud", json!("them"), false),
        ("aud", json!(["us"]), true),
        ("aud", json!(["them", "us"]), false),
        ("azp", json!("them"), false),
        ("azp", json!("us"), true),
        ("iss", json!("https://else.example"), false),
        ("exp", json!(now - 61), false),
        ("exp", json!(now - 30), true),
        ("iat", json!(now + 120), false),
        ("sub", Value::Null, false),
        ("email_verified", json!(false), false),
        ("email_verified", Value::Null, false),
        ("email_verified", json!("true"), true),
        ("email", Value::Null, false),
        ("email", json!(""), false),
    ] {
        let mut double = Double::of(&attempt);
        match &value {
            Value::Null => {
                double.claims.as_object_mut().unwrap().remove(claim);
            }
            value => double.claims[claim] = value.clone(),
        }
        let got = finish(&attempt, double, false).await;
        assert_eq!(got.is_ok(), good, "{claim} {value}: {got:?}");
        if claim.starts_with("email") && !good {
            assert!(matches!(got, Err(OidcError::Unverified)), "{got:?}");
        }
    }
    // Who is to be asked again was asked a moment ago, and not an hour.
    let mut old = Double::of(&attempt);
    old.claims["auth_time"] = json!(now - 3_600);
    assert!(finish(&attempt, old, true).await.is_err());
}

#[tokio::test]
async fn when_it_asked_is_the_issuers_to_say_and_no_moment_to_come() {
    let attempt = Token::generate().unwrap();
    let now = NOW.unix_timestamp();
    for (said, seconds) in [
        (json!(now - 3_600), Some(-3_600)),
        (json!(now + 60), Some(60)),
        (json!(now + 61), None),
        (json!(i64::MAX), None),
        (Value::Null, None),
    ] {
        let double = || {
            let mut double = Double::of(&attempt);
            double.claims["auth_time"] = said.clone();
            double
        };
        let who = finish(&attempt, double(), false).await.unwrap();
        let expected = seconds.map(|seconds| NOW + Duration::seconds(seconds));
        assert_eq!(who.asked_at, expected, "{said}");
        // Whoever is to be asked again must have been.
        let again = finish(&attempt, double(), true).await;
        assert_eq!(again.is_ok(), seconds == Some(60), "{said}: {again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_did_not_answer_is_left_alone_for_a_moment() {
    let attempt = Token::generate().unwrap();
    let double = Arc::new(Double {
        silent: true.into(),
        ..Double::of(&attempt)
    });
    let oidc = oidc(Arc::clone(&double));
    let begin = || oidc.begin(&attempt, false, NOW);
    // Those who come at one time wait for one silence, and whoever comes after for none.
    let (one, two, three) = tokio::join!(begin(), begin(), begin());
    for got in [one, two, three, begin().await] {
        assert!(matches!(got, Err(OidcError::Unreachable(_))), "{got:?}");
    }
    assert_eq!(double.asked.load(Ordering::SeqCst), 1);
    double.silent.store(false, Ordering::SeqCst);
    tokio::time::advance(LEFT_ALONE).await;
    begin().await.unwrap();
    assert_eq!(double.asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn an_answer_is_for_the_browser_that_asked() {
    let (attempt, other) = (Token::generate().unwrap(), Token::generate().unwrap());
    let oidc = oidc(Arc::new(Double::of(&attempt)));
    for wrong in [
        state(&other),
        String::new(),
        state(&attempt)[1..].to_owned(),
    ] {
        let got = oidc.finish(&attempt, &wrong, "code", false, NOW).await;
        assert!(matches!(got, Err(OidcError::State)), "{got:?}");
    }
    for (status, unreachable) in [(400, false), (401, false), (500, true)] {
        let double = Double {
            status,
            ..Double::of(&attempt)
        };
        let got = finish(&attempt, double, false).await;
        assert_eq!(
            matches!(got, Err(OidcError::Unreachable(_))),
            unreachable,
            "{got:?}"
        );
        assert!(got.is_err());
    }
}

#[test]
fn the_published_example_of_a_challenge_holds() {
    // RFC 7636, appendix B.
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(
        base64url(&Sha256::digest(verifier.as_bytes())),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}

proptest! {
    #[test]
    fn no_value_breaks_out_of_a_query(text in "\\PC{0,60}") {
        let out = escaped(&text);
        prop_assert!(out.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
    }
}
