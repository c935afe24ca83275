//! Signing in by an OpenID Connect issuer, where the deployment has one.
//!
//! A cookie of its own goes with the browser to the issuer and back: everything that proves the answer follows from it, and it is taken
//! away when the answer comes, so that an answer is good once.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web,
};
use brownstone_accounts::sign_in::{
    Token,
    oidc::{Oidc, OidcError},
};

use crate::{
    form::Form,
    host::Host,
    page::{Stop, see},
    pages::entry::entered,
    visitor::{Visitor, attempt_cookie, cookie, origin, set_cookie},
};

/// How long somebody may stay at the issuer.
const SECONDS: i64 = 600;

/// Where a sign-in by an issuer begins.
pub(crate) const BEGIN: &str = "/sign-in/oidc";

/// Where the issuer sends browsers back to, below the web host's address.
pub const CALLBACK: &str = "/sign-in/oidc/callback";

fn issuer<'a>(req: &HttpRequest, host: &'a Host) -> Result<&'a Oidc, Stop> {
    host.oidc.as_ref().ok_or_else(|| Stop::not_found(req))
}

/// What the cookie holds: the secret, whether the person is to be asked again, and where to go then.
fn packed(attempt: &Token, again: bool, next: &str) -> String {
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    format!("{}.{}.{next}", attempt.expose(), u8::from(again))
}

fn unpacked(text: &str) -> Option<(Token, bool, String)> {
    let mut parts = text.splitn(3, '.');
    let attempt = Token::parse(parts.next()?)?;
    let again = parts.next()? == "1";
    let query = format!("next={}", parts.next()?);
    let next = Form::parse(query.as_bytes()).next("/dashboard");
    Some((attempt, again, next))
}

/// `GET /sign-in/oidc`: to the issuer. `again=1` has it ask who it is; whoever leaves that out gets a session that is as fresh as the issuer says.
///
/// # Errors
/// 404 where there is no issuer; 502 where it does not answer.
pub async fn begin(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let oidc = issuer(&req, &host)?;
    let form = Form::parse(req.query_string().as_bytes());
    let again = form.get("again") == "1";
    let attempt = Token::generate().map_err(|error| Stop::internal(&req, error))?;
    let url = oidc.begin(&attempt, again, host.sign_in.now()).await;
    let url = url.map_err(|error| Stop::oidc(&req, &error))?;
    let value = packed(&attempt, again, &form.next("/dashboard"));
    let mut response = see(&url);
    let name = attempt_cookie(&host);
    if let Some(cookie) = set_cookie(host.is_secure(), name, &value, Some(SECONDS)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response.headers_mut().insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    Ok(response)
}

/// `GET /sign-in/oidc/callback`: from the issuer.
///
/// # Errors
/// 403 for an answer that this browser did not ask for, that was used, or that does not hold; 404 where there is no issuer.
pub async fn callback(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let mut response = match finish(&req, &host).await {
        Ok(response) => response,
        Err(stop) => actix_web::ResponseError::error_response(&stop),
    };
    // However it went: the answer is used up.
    let name = attempt_cookie(&host);
    if let Some(cookie) = set_cookie(host.is_secure(), name, "", Some(0)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response.headers_mut().insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    Ok(response)
}

async fn finish(req: &HttpRequest, host: &Host) -> Result<HttpResponse, Stop> {
    let oidc = issuer(req, host)?;
    let refused = |error: OidcError| Stop::oidc(req, &error);
    let held = cookie(req, attempt_cookie(host));
    let (attempt, again, next) = held
        .as_deref()
        .and_then(unpacked)
        .ok_or_else(|| refused(OidcError::State))?;
    let form = Form::parse(req.query_string().as_bytes());
    if form.get("code").is_empty() {
        return Err(refused(OidcError::Refused));
    }
    let (state, code) = (form.get("state"), form.get("code"));
    let now = host.sign_in.now();
    let who = oidc.finish(&attempt, state, code, again, now).await;
    let who = who.map_err(refused)?;
    let visitor = Visitor::of(req, host).await?;
    let old = visitor.signed.as_ref().map(|_| visitor.token());
    let new = host.sign_in.vouched(&who, &origin(req), old).await;
    let new = new.map_err(|error| Stop::sign_in(req, &error))?;
    Ok(entered(host, &new, &next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back_as_it_was_and_leads_nowhere_else() {
        let attempt = Token::generate().unwrap();
        let text = packed(&attempt, true, "/property/1?a=b.c&d=e");
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b';')
        );
        let (token, again, next) = unpacked(&text).unwrap();
        assert_eq!(token.expose(), attempt.expose());
        assert_eq!((again, next.as_str()), (true, "/property/1?a=b.c&d=e"));
        let (_, _, next) = unpacked(&packed(&attempt, false, "//evil.example")).unwrap();
        assert_eq!(next, "/dashboard");
        for bad in ["", "x", "..", &format!("{}.1", attempt.expose())] {
            assert!(unpacked(bad).is_none(), "{bad}");
        }
    }
}
