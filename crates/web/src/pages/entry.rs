//! Ways in and out: signing up and in, the password again, one-time links, signing out.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, http::header, web};
use askama::Template;
use brownstone_accounts::sign_in::{NewSession, SignInError, SignUp, Token};

use crate::{
    form::{Form, encode},
    host::Host,
    page::{Frame, Stop, see, show},
    pages::oidc,
    visitor::{Visitor, no_session, origin, session},
};

/// What a form of this kind says.
struct Words {
    title: &'static str,
    lead: &'static str,
    button: &'static str,
    /// `new-password` or `current-password`, for password managers.
    password: &'static str,
}

const SIGN_UP: Words = Words {
    title: "Create an account",
    lead: "An account holds your API keys and one budget for all of them.",
    button: "Create account",
    password: "new-password",
};

const SIGN_IN: Words = Words {
    title: "Sign in",
    lead: "",
    button: "Sign in",
    password: "current-password",
};

const AGAIN: Words = Words {
    title: "Confirm it is you",
    lead: "You signed in a while ago. Give your password once more to go on.",
    button: "Confirm",
    password: "current-password",
};

const LINK: Words = Words {
    title: "Set your password",
    lead: "This link works once. Other sessions of the account end.",
    button: "Set password",
    password: "new-password",
};

#[derive(Template)]
#[template(path = "entry.html")]
struct Entry {
    page: Frame,
    words: &'static Words,
    action: String,
    /// The e-mail address as typed, or of the account in question.
    email: String,
    /// Whether the address is typed here.
    asks_email: bool,
    next: String,
    problem: String,
    open: bool,
    by_invitation: bool,
    signs_in: bool,
    /// Where the sign-in by an issuer begins; empty where there is none.
    issuer: String,
}

impl Entry {
    fn of(host: &Host, visitor: &Visitor, words: &'static Words, action: &str) -> Self {
        let sign_up = host.sign_in.policy().sign_up;
        Self {
            page: Frame::of(host, visitor, words.title),
            words,
            action: action.to_owned(),
            email: String::new(),
            asks_email: true,
            next: String::new(),
            problem: String::new(),
            open: sign_up == SignUp::Open,
            by_invitation: sign_up == SignUp::Invitation,
            signs_in: action == "/sign-in",
            issuer: match (&host.oidc, action) {
                (Some(_), "/again") => format!("{}?again=1", oidc::BEGIN),
                (Some(_), "/sign-in" | "/sign-up") => format!("{}?again=0", oidc::BEGIN),
                _ => String::new(),
            },
        }
    }

    fn next(mut self, form: &Form) -> Self {
        self.next = form.next("");
        if !self.issuer.is_empty() && !self.next.is_empty() {
            self.issuer.push_str("&next=");
            self.issuer.push_str(&encode(&self.next));
        }
        self
    }
}

fn query(req: &HttpRequest) -> Form {
    Form::parse(req.query_string().as_bytes())
}

fn show_form(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    page: &Entry,
) -> Result<HttpResponse, Stop> {
    show(req, host, visitor, StatusCode::OK, page)
}

/// A form again, with what was wrong. What no form can mend is a page of its own.
fn refused(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    mut page: Entry,
    error: &SignInError,
) -> Result<HttpResponse, Stop> {
    let status = match error {
        SignInError::Field(_) | SignInError::EmailTaken => StatusCode::BAD_REQUEST,
        SignInError::Wrong | SignInError::Changed => StatusCode::UNAUTHORIZED,
        SignInError::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        SignInError::SignUpClosed
        | SignInError::LinkGone
        | SignInError::NoRandomness(_)
        | SignInError::Unavailable(_) => return Err(Stop::sign_in(req, error)),
    };
    page.problem = error.to_string();
    let mut response = show(req, host, visitor, status, &page)?;
    if let SignInError::TooMany(seconds) = error {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, (*seconds).into());
    }
    Ok(response)
}

/// Whoever has just signed in, on the way to a page.
pub(crate) fn entered(host: &Host, new: &NewSession, path: &str) -> HttpResponse {
    let mut response = see(path);
    if let Some(cookie) = session(host, &new.token) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// `GET /sign-up`
///
/// # Errors
/// 404 where accounts are closed.
pub async fn sign_up_form(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    if host.sign_in.policy().sign_up == SignUp::Closed {
        return Err(Stop::not_found(&req));
    }
    let visitor = Visitor::of(&req, &host).await?;
    if visitor.signed.is_some() {
        return Ok(see("/dashboard"));
    }
    let page = Entry::of(&host, &visitor, &SIGN_UP, "/sign-up").next(&query(&req));
    show_form(&req, &host, &visitor, &page)
}

/// `POST /sign-up`
///
/// # Errors
/// 404 where accounts are not opened here.
pub async fn sign_up(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let email = form.get("email");
    let new = host
        .sign_in
        .sign_up(email, form.secret("password"), &origin(&req))
        .await;
    match new {
        Ok(new) => Ok(entered(&host, &new, &form.next("/dashboard/keys"))),
        Err(error) => {
            let mut page = Entry::of(&host, &visitor, &SIGN_UP, "/sign-up").next(&form);
            email.clone_into(&mut page.email);
            refused(&req, &host, &visitor, page, &error)
        }
    }
}

/// `GET /sign-in`
///
/// # Errors
/// When storage is silent.
pub async fn sign_in_form(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let query = query(&req);
    if visitor.signed.is_some() {
        return Ok(see(&query.next("/dashboard")));
    }
    let page = Entry::of(&host, &visitor, &SIGN_IN, "/sign-in").next(&query);
    show_form(&req, &host, &visitor, &page)
}

/// `POST /sign-in`
///
/// # Errors
/// 403 for a form that is out of date.
pub async fn sign_in(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let email = form.get("email");
    // Whatever session this browser had ends: a token that somebody planted in it is worth nothing.
    let old = visitor.signed.as_ref().map(|_| visitor.token());
    let new = host
        .sign_in
        .sign_in(email, form.secret("password"), &origin(&req), old)
        .await;
    match new {
        Ok(new) => Ok(entered(&host, &new, &form.next("/dashboard"))),
        Err(error) => {
            let mut page = Entry::of(&host, &visitor, &SIGN_IN, "/sign-in").next(&form);
            email.clone_into(&mut page.email);
            refused(&req, &host, &visitor, page, &error)
        }
    }
}

/// `GET /again`
///
/// # Errors
/// Sends whoever is not signed in to sign in.
pub async fn again_form(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let page = again_page(&req, &host, &visitor, &query(&req))?;
    show_form(&req, &host, &visitor, &page)
}

fn again_page(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    form: &Form,
) -> Result<Entry, Stop> {
    let mut page = Entry::of(host, visitor, &AGAIN, "/again").next(form);
    page.email.clone_from(&visitor.signed(req)?.account.email);
    page.asks_email = false;
    Ok(page)
}

/// `POST /again`
///
/// # Errors
/// 403 for a form that is out of date.
pub async fn again(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let signed = visitor.signed(&req)?;
    let new = host
        .sign_in
        .again(
            signed,
            visitor.token(),
            form.secret("password"),
            &origin(&req),
        )
        .await;
    match new {
        Ok(new) => Ok(entered(&host, &new, &form.next("/dashboard"))),
        Err(error) => {
            let page = again_page(&req, &host, &visitor, &form)?;
            refused(&req, &host, &visitor, page, &error)
        }
    }
}

fn link_token(req: &HttpRequest) -> Result<Token, Stop> {
    let sent = req.match_info().get("token").and_then(Token::parse);
    sent.ok_or_else(|| Stop::sign_in(req, &SignInError::LinkGone))
}

async fn link_page(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    token: &Token,
) -> Result<Entry, Stop> {
    let invited = host.sign_in.invited(token).await;
    let account = invited.map_err(|error| Stop::sign_in(req, &error))?;
    let action = format!("/link/{}", token.expose());
    let mut page = Entry::of(host, visitor, &LINK, &action);
    page.email = account.email;
    page.asks_email = false;
    Ok(page)
}

/// `GET /link/{token}`
///
/// # Errors
/// 404 for a link that is over.
pub async fn link_form(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let page = link_page(&req, &host, &visitor, &link_token(&req)?).await?;
    let mut response = show_form(&req, &host, &visitor, &page)?;
    // The address is the secret.
    response.headers_mut().insert(
        header::REFERRER_POLICY,
        header::HeaderValue::from_static("no-referrer"),
    );
    Ok(response)
}

/// `POST /link/{token}`
///
/// # Errors
/// 404 for a link that is over.
pub async fn link(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let form = visitor.form(&req, &body)?;
    let token = link_token(&req)?;
    let new = host
        .sign_in
        .redeem(&token, form.secret("password"), &origin(&req))
        .await;
    match new {
        Ok(new) => Ok(entered(&host, &new, "/dashboard")),
        Err(error) => {
            let page = link_page(&req, &host, &visitor, &token).await?;
            refused(&req, &host, &visitor, page, &error)
        }
    }
}

/// `POST /sign-out`
///
/// # Errors
/// 403 for a form that is out of date.
pub async fn sign_out(
    req: HttpRequest,
    host: web::Data<Host>,
    body: web::Bytes,
) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    visitor.form(&req, &body)?;
    if let Some(signed) = &visitor.signed {
        let ended = host
            .sign_in
            .end(&signed.account.id, &signed.session.id)
            .await;
        ended.map_err(|error| Stop::sign_in(&req, &error))?;
    }
    let mut response = see("/");
    if let Some(cookie) = no_session(&host) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
