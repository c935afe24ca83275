//! Who asks: cookies, the session, and the token that a form must bring back.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::{
    HttpRequest,
    http::header::{self, HeaderValue},
};
use brownstone_accounts::{
    Account, Role,
    sign_in::{
        Origin, SignedIn, Token,
        model::{SESSION_LIFETIME, hex, unhex},
    },
};
use subtle::ConstantTimeEq as _;
use time::Duration;

use crate::{
    form::{Form, encode},
    host::Host,
    page::Stop,
};

/// How long after the password was given keys may be made and rotated.
pub const FRESH_FOR_KEYS: Duration = Duration::minutes(10);

/// How long after the password was given support may work.
pub const FRESH_FOR_SUPPORT: Duration = Duration::minutes(30);

/// The field of a form that holds its token.
pub const CSRF_FIELD: &str = "csrf";

const MASK_BYTES: usize = 32;

/// Whoever sent a request.
pub struct Visitor {
    /// The session, where somebody is signed in.
    pub signed: Option<SignedIn>,
    /// The cookie's token: the session's, or one that only ties forms to this browser.
    token: Token,
    /// Whether the token is new and the browser must be told.
    fresh_cookie: bool,
}

impl Visitor {
    /// Reads the cookies.
    ///
    /// # Errors
    /// When storage is silent.
    pub async fn of(req: &HttpRequest, host: &Host) -> Result<Self, Stop> {
        if let Some(token) = token_cookie(req, session_cookie(host)) {
            let signed = host.sign_in.who(&token).await;
            let signed = signed.map_err(|error| Stop::sign_in(req, &error))?;
            if signed.is_some() {
                return Ok(Self {
                    signed,
                    token,
                    fresh_cookie: false,
                });
            }
        }
        if let Some(token) = token_cookie(req, visitor_cookie(host)) {
            return Ok(Self {
                signed: None,
                token,
                fresh_cookie: false,
            });
        }
        let token = Token::generate().map_err(|error| Stop::internal(req, error))?;
        Ok(Self {
            signed: None,
            token,
            fresh_cookie: true,
        })
    }

    /// The session.
    ///
    /// # Errors
    /// Sends everybody else to sign in, and back.
    pub fn signed(&self, req: &HttpRequest) -> Result<&SignedIn, Stop> {
        self.signed
            .as_ref()
            .ok_or_else(|| Stop::see(format!("/sign-in?next={}", encode(&here(req)))))
    }

    /// The session of support's people, shortly after the password was given. To everybody else there is nothing here.
    ///
    /// # Errors
    /// 404 without the role, or while it is suspended; else sends to give the password again.
    pub fn support(&self, req: &HttpRequest, host: &Host) -> Result<&SignedIn, Stop> {
        let signed = self.signed(req)?;
        if !is_staff(&signed.account) {
            return Err(Stop::not_found(req));
        }
        self.fresh(req, host, FRESH_FOR_SUPPORT, &here(req))
    }

    /// That somebody of support is signed in, however long ago: before a form is read, so that to everybody else there is nothing here.
    ///
    /// # Errors
    /// 404 without the role, or while it is suspended.
    pub fn has_role(&self, req: &HttpRequest) -> Result<(), Stop> {
        let signed = self.signed.as_ref();
        if signed.is_some_and(|signed| is_staff(&signed.account)) {
            Ok(())
        } else {
            Err(Stop::not_found(req))
        }
    }

    /// The session, where the password was given within `age`.
    ///
    /// # Errors
    /// Sends to give it again, and then to `next`.
    pub fn fresh(
        &self,
        req: &HttpRequest,
        host: &Host,
        age: Duration,
        next: &str,
    ) -> Result<&SignedIn, Stop> {
        let signed = self.signed(req)?;
        if signed.session.is_fresh(host.sign_in.now(), age) {
            return Ok(signed);
        }
        Err(Stop::see(format!("/again?next={}", encode(next))))
    }

    /// The cookie's token.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The token for a form on this page: another text each time, so that compression cannot give it away.
    pub fn csrf(&self) -> String {
        let mut mask = [0_u8; MASK_BYTES];
        // Without a mask the token is still secret; only the compression's side is open.
        let _ = getrandom::fill(&mut mask);
        let secret = self.token.derive(CSRF_FIELD);
        let masked: Vec<u8> = secret.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        format!("{}{}", hex(&mask), hex(&masked))
    }

    /// Reads a form and checks its token.
    ///
    /// # Errors
    /// 403 for a form that this browser was not given.
    pub fn form(&self, req: &HttpRequest, body: &[u8]) -> Result<Form, Stop> {
        let form = Form::parse(body);
        let given = unhex(form.get(CSRF_FIELD)).unwrap_or_default();
        let (mask, masked) = given.split_at(given.len().min(MASK_BYTES));
        let sent: Vec<u8> = mask.iter().zip(masked).map(|(a, b)| a ^ b).collect();
        let secret = self.token.derive(CSRF_FIELD);
        if given.len() == 2 * MASK_BYTES && bool::from(sent.as_slice().ct_eq(&secret)) {
            Ok(form)
        } else {
            Err(Stop::stale_form(req))
        }
    }

    /// The cookie that this visitor's browser lacks.
    pub fn cookie(&self, host: &Host) -> Option<HeaderValue> {
        let name = visitor_cookie(host);
        self.fresh_cookie
            .then(|| set_cookie(host.is_secure(), name, self.token.expose(), None))
            .flatten()
    }
}

/// Whether the support console is this account's. To somebody who is suspended it is not: a suspension is how an account is taken away from
/// whoever has it.
pub const fn is_staff(account: &Account) -> bool {
    is_support(account.role) && account.suspension.is_none()
}

/// Whether an account of this role is one of support's.
pub const fn is_support(role: Role) -> bool {
    matches!(role, Role::Support | Role::Admin)
}

/// The cookie of a session just begun.
pub fn session(host: &Host, token: &Token) -> Option<HeaderValue> {
    let age = SESSION_LIFETIME.whole_seconds();
    set_cookie(
        host.is_secure(),
        session_cookie(host),
        token.expose(),
        Some(age),
    )
}

/// Takes the session's cookie away.
pub fn no_session(host: &Host) -> Option<HeaderValue> {
    set_cookie(host.is_secure(), session_cookie(host), "", Some(0))
}

/// Where a request comes from. Only the connection's own address is believed: any header can be made up.
pub fn origin(req: &HttpRequest) -> Origin<'_> {
    let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let agent = req.headers().get(header::USER_AGENT);
    Origin {
        address: req.peer_addr().map_or(unknown, |address| address.ip()),
        agent: agent
            .and_then(|value| value.to_str().ok())
            .unwrap_or("unknown"),
    }
}

fn here(req: &HttpRequest) -> String {
    match req.uri().path_and_query() {
        // A form's target is no page: go where it stood.
        _ if req.method() != actix_web::http::Method::GET => "/dashboard".to_owned(),
        Some(path) => path.as_str().to_owned(),
        None => "/".to_owned(),
    }
}

// Over TLS the name itself makes the browser see to it that the cookie is this host's own.
fn session_cookie(host: &Host) -> &'static str {
    if host.is_secure() {
        "__Host-session"
    } else {
        "session"
    }
}

fn visitor_cookie(host: &Host) -> &'static str {
    if host.is_secure() {
        "__Host-visitor"
    } else {
        "visitor"
    }
}

/// The cookie that goes with a browser to an issuer and back.
pub(crate) fn attempt_cookie(host: &Host) -> &'static str {
    if host.is_secure() {
        "__Host-attempt"
    } else {
        "attempt"
    }
}

/// A cookie for this host alone, that no script reads; gone with the browser where it has no age, at once where that is 0.
pub(crate) fn set_cookie(
    secure: bool,
    name: &str,
    value: &str,
    age: Option<i64>,
) -> Option<HeaderValue> {
    let mut text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax");
    if let Some(age) = age {
        text.push_str("; Max-Age=");
        text.push_str(&age.to_string());
    }
    if secure {
        text.push_str("; Secure");
    }
    HeaderValue::from_str(&text).ok()
}

fn token_cookie(req: &HttpRequest, name: &str) -> Option<Token> {
    cookie(req, name).and_then(|value| Token::parse(&value))
}

/// What a cookie holds.
pub(crate) fn cookie(req: &HttpRequest, name: &str) -> Option<String> {
    let sent = req.headers().get_all(header::COOKIE);
    sent.filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(sent, _)| *sent == name)
        .map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_tls_a_cookie_is_for_tls_alone() {
        let cookie = |secure, age| {
            let value = set_cookie(secure, "n", "v", age).unwrap();
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(
            cookie(true, None),
            "n=v; Path=/; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            cookie(false, Some(9)),
            "n=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=9"
        );
        assert!(set_cookie(true, "n", "a\r\nb", None).is_none());
    }

    #[test]
    fn support_is_for_two_roles() {
        let may: Vec<bool> = Role::ALL.iter().map(|role| is_support(*role)).collect();
        assert_eq!(may, [false, true, true]);
    }
}
