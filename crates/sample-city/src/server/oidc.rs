//! An identity provider: the authorization code flow with PKCE, as OpenID Connect has it, below `/oidc`.
//!
//! It lets everybody in without asking. Whoever calls `/oidc/authorize` may add `sample_email`, `sample_now` (seconds), `sample_alg`
//! (`RS256`, `ES256`, `HS256`) and `sample_fault`, one of the names in [`fault`], to see what a client does.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{self, Form, Query, ServiceConfig},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::issuer::{Issuer, Signed};

/// The client that is known here.
pub const CLIENT_ID: &str = "sample-web";
/// Its secret.
pub const CLIENT_SECRET: &str = "sample-web-secret";

const ROOT: &str = "/oidc";
/// How long a token is good for.
const SECONDS: i64 = 600;

struct Provider {
    /// `None` where the system makes no keys.
    keys: Option<Issuer>,
    /// Codes that were given and not used.
    codes: Mutex<HashMap<String, HashMap<String, String>>>,
}

static PROVIDER: LazyLock<Provider> = LazyLock::new(|| Provider {
    keys: Issuer::new().ok(),
    codes: Mutex::default(),
});

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .route(
            "/oidc/.well-known/openid-configuration",
            web::get().to(described),
        )
        .route("/oidc/keys", web::get().to(keys))
        .route("/oidc/authorize", web::get().to(authorize))
        .route("/oidc/token", web::post().to(token));
}

fn root(request: &HttpRequest) -> String {
    let info = request.connection_info();
    format!("{}://{}{ROOT}", info.scheme(), info.host())
}

async fn described(request: HttpRequest) -> HttpResponse {
    let root = root(&request);
    HttpResponse::Ok().json(json!({
        "issuer": root,
        "authorization_endpoint": format!("{root}/authorize"),
        "token_endpoint": format!("{root}/token"),
        "jwks_uri": format!("{root}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
    }))
}

async fn keys() -> HttpResponse {
    match &PROVIDER.keys {
        Some(keys) => HttpResponse::Ok().json(keys.keys()),
        None => HttpResponse::InternalServerError().finish(),
    }
}

fn refused(error: &str) -> HttpResponse {
    HttpResponse::BadRequest().json(json!({"error": error}))
}

async fn authorize(query: Query<HashMap<String, String>>) -> HttpResponse {
    let asked = query.into_inner();
    let get = |name: &str| asked.get(name).map_or("", String::as_str);
    let back = get("redirect_uri").to_owned();
    let known = get("client_id") == CLIENT_ID
        && get("response_type") == "code"
        && get("scope").split(' ').any(|scope| scope == "openid")
        && get("code_challenge_method") == "S256"
        && get("code_challenge").len() == 43
        && back.starts_with("http");
    if !known {
        return refused("invalid_request");
    }
    let state = get("state").to_owned();
    let sent = if get("sample_fault") == "denied" {
        format!("{back}?error=access_denied&state={state}")
    } else {
        let mut codes = PROVIDER
            .codes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut sum = Sha256::new();
        sum.update(get("code_challenge"));
        sum.update(codes.len().to_string());
        let code: String = sum
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        codes.insert(code.clone(), asked);
        format!("{back}?code={code}&state={state}")
    };
    HttpResponse::Found()
        .insert_header((header::LOCATION, sent))
        .finish()
}

async fn token(request: HttpRequest, form: Form<HashMap<String, String>>) -> HttpResponse {
    let sent = |name: &str| form.get(name).map_or("", String::as_str);
    if (sent("client_id"), sent("client_secret")) != (CLIENT_ID, CLIENT_SECRET) {
        return HttpResponse::Unauthorized().json(json!({"error": "invalid_client"}));
    }
    // A code is good once.
    let asked = PROVIDER
        .codes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(sent("code"));
    let Some(asked) = asked else {
        return refused("invalid_grant");
    };
    let get = |name: &str| asked.get(name).map_or("", String::as_str);
    let challenge = base64url(&Sha256::digest(sent("code_verifier").as_bytes()));
    if sent("grant_type") != "authorization_code"
        || sent("redirect_uri") != get("redirect_uri")
        || challenge != get("code_challenge")
    {
        return refused("invalid_grant");
    }
    let signed = match get("sample_alg") {
        "ES256" => Signed::Es256,
        "HS256" => Signed::Hs256,
        _ => Signed::Rs256,
    };
    let token = PROVIDER
        .keys
        .as_ref()
        .and_then(|keys| keys.token(signed, &claims(&root(&request), &asked)).ok());
    match token {
        Some(token) => HttpResponse::Ok()
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .json(json!({"access_token": "sample", "token_type": "Bearer", "id_token": token})),
        None => HttpResponse::InternalServerError().finish(),
    }
}

/// What the token says of whoever was let in.
fn claims(root: &str, asked: &HashMap<String, String>) -> Value {
    let get = |name: &str| asked.get(name).map(String::as_str);
    let now = get("sample_now").and_then(|text| text.parse().ok());
    let now: i64 = now.unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        })
    });
    let email = get("sample_email").unwrap_or("visitor@example.com");
    let mut claims = json!({
        "iss": root, "sub": email, "aud": CLIENT_ID, "iat": now, "exp": now + SECONDS,
        "nonce": get("nonce"), "auth_time": now, "email": email, "email_verified": true,
    });
    if let Some((name, value)) = get("sample_fault").and_then(|name| fault(name, now)) {
        claims[name] = value;
    }
    claims
}

/// A claim that is wrong, by the fault's name.
fn fault(name: &str, now: i64) -> Option<(&'static str, Value)> {
    Some(match name {
        "nonce" => ("nonce", json!("another")),
        "audience" => ("aud", json!("another-client")),
        "issuer" => ("iss", json!("https://elsewhere.example")),
        "expired" => ("exp", json!(now - 120)),
        "unverified" => ("email_verified", json!(false)),
        "stale" => ("auth_time", json!(now - 3_600)),
        _ => return None,
    })
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    let mut bits = 0_u32;
    let mut held = 0_u32;
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 6 {
            bits -= 6;
            let digit = usize::try_from(held >> bits & 63).unwrap_or_default();
            out.extend(DIGITS.get(digit).map(|byte| char::from(*byte)));
        }
    }
    if bits > 0 {
        let digit = usize::try_from(held << (6 - bits) & 63).unwrap_or_default();
        out.extend(DIGITS.get(digit).map(|byte| char::from(*byte)));
    }
    out
}
