//! A page's frame, and the pages of what went wrong.

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use askama::Template;
use brownstone_accounts::{
    AccountsError,
    sign_in::{SignInError, oidc::OidcError},
};
use brownstone_domain::ErrorCode;
use brownstone_service::Failure;

use crate::{
    edge::request_id,
    host::{Host, script_path, style_path},
    visitor::{Visitor, is_staff},
};

/// What stands around every page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Of the window.
    pub title: String,
    /// Path of the style sheet.
    pub style: String,
    /// Path of the script.
    pub script: String,
    /// E-mail address of whoever is signed in.
    pub email: Option<String>,
    /// Whether the support console is theirs.
    pub support: bool,
    /// Token for the page's forms.
    pub csrf: String,
    /// The API's address.
    pub base_url: String,
    /// Whether the records are invented.
    pub sample: bool,
}

impl Frame {
    /// The frame of a page for this visitor.
    pub fn of(host: &Host, visitor: &Visitor, title: &str) -> Self {
        let account = visitor.signed.as_ref().map(|signed| &signed.account);
        Self {
            title: title.to_owned(),
            style: style_path(),
            script: script_path(),
            email: account.map(|account| account.email.clone()),
            support: account.is_some_and(is_staff),
            csrf: visitor.csrf(),
            base_url: host.base_url.clone(),
            sample: host.sample,
        }
    }

    /// The frame of a page for nobody in particular.
    pub(crate) fn bare(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            style: style_path(),
            script: script_path(),
            email: None,
            support: false,
            csrf: String::new(),
            base_url: String::new(),
            sample: false,
        }
    }
}

/// Why a request goes no further.
#[derive(Debug)]
pub enum Stop {
    /// Go there.
    See(String),
    /// A page that says what went wrong.
    Page {
        /// Status.
        status: u16,
        /// One line.
        title: &'static str,
        /// What to do.
        message: String,
        /// The request's identifier.
        request_id: String,
        /// Seconds after which it may succeed.
        retry_after: Option<u64>,
    },
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    page: Frame,
    title: &'a str,
    message: &'a str,
    request_id: &'a str,
}

impl Stop {
    /// Sends the browser to a path of this host.
    pub const fn see(path: String) -> Self {
        Self::See(path)
    }

    fn page(
        req: &HttpRequest,
        status: u16,
        title: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::Page {
            status,
            title,
            message: message.into(),
            request_id: request_id(req).as_str().to_owned(),
            retry_after: None,
        }
    }

    /// Too many in a row: it may succeed after so many seconds.
    pub fn wait(req: &HttpRequest, seconds: u64, message: String) -> Self {
        Self::Page {
            status: 429,
            title: "Too many tries",
            message,
            request_id: request_id(req).as_str().to_owned(),
            retry_after: Some(seconds),
        }
    }

    /// There is nothing here, or nothing of yours: the two are not told apart.
    pub fn not_found(req: &HttpRequest) -> Self {
        Self::page(
            req,
            404,
            "Nothing is here",
            "There is no such page, or it is not yours to see.",
        )
    }

    /// A form that this browser was not given, or that is older than its session.
    pub fn stale_form(req: &HttpRequest) -> Self {
        Self::page(
            req,
            403,
            "That form is out of date",
            "You may have signed in or out since the page was opened. Go back, reload it and try again.",
        )
    }

    /// A fault of ours.
    pub fn internal(req: &HttpRequest, error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "a page failed");
        Self::page(
            req,
            500,
            "Something went wrong on our side",
            "It was written to our log. The request id below helps support to find it.",
        )
    }

    /// A failure of the pipeline.
    pub fn failure(req: &HttpRequest, failure: &Failure) -> Self {
        let title = match failure.code {
            ErrorCode::NotFound => "No such building on record",
            ErrorCode::OutsideCoverage => "Outside New York City",
            ErrorCode::InvalidRequest => "That address needs more",
            ErrorCode::RateLimited => "The budget is spent for now",
            ErrorCode::Forbidden => "API access is refused",
            ErrorCode::UpstreamError => "The public record did not answer",
            ErrorCode::QuotaUnavailable => "The budget could not be read",
            ErrorCode::Unauthorized | ErrorCode::MethodNotAllowed | ErrorCode::InternalError => {
                "Something went wrong on our side"
            }
        };
        if let Some(internal) = &failure.internal {
            tracing::warn!(
                code = failure.code.as_str(),
                reason = internal,
                "a page's call failed"
            );
        }
        Self::Page {
            status: failure.code.status(),
            title,
            message: failure.message.clone(),
            request_id: request_id(req).as_str().to_owned(),
            retry_after: failure.retry_after,
        }
    }

    /// A failure of sign-in that no form can show.
    pub fn sign_in(req: &HttpRequest, error: &SignInError) -> Self {
        match error {
            SignInError::Unavailable(inner) => Self::internal(req, inner),
            SignInError::NoRandomness(inner) => Self::internal(req, inner),
            SignInError::SignUpClosed => Self::not_found(req),
            SignInError::LinkGone => Self::page(req, 404, "This link is over", error.to_string()),
            SignInError::TooMany(seconds) => Self::wait(req, *seconds, error.to_string()),
            SignInError::Field(_)
            | SignInError::Wrong
            | SignInError::Changed
            | SignInError::EmailTaken => {
                Self::page(req, 400, "That was not right", error.to_string())
            }
        }
    }

    /// A sign-in by an issuer that lets nobody in. What was wrong with a token stands in the log alone.
    pub fn oidc(req: &HttpRequest, error: &OidcError) -> Self {
        let (status, title) = match error {
            OidcError::State | OidcError::Refused | OidcError::Unverified => {
                (403, "You are not signed in")
            }
            OidcError::Token(why) => {
                tracing::warn!(reason = why, "an issuer's answer does not hold");
                (403, "You are not signed in")
            }
            OidcError::Unreachable(why) => {
                tracing::error!(reason = why, "the issuer cannot be reached");
                (502, "The identity provider did not answer")
            }
        };
        Self::page(req, status, title, error.to_string())
    }

    /// A failure of a change to accounts or keys.
    pub fn accounts(req: &HttpRequest, error: &AccountsError) -> Self {
        match error {
            AccountsError::NoSuchAccount | AccountsError::NoSuchKey => Self::not_found(req),
            AccountsError::Unavailable(inner) => Self::internal(req, inner),
            AccountsError::NoRandomness(inner) => Self::internal(req, inner),
            AccountsError::Field(_)
            | AccountsError::Limit(_)
            | AccountsError::EmailTaken
            | AccountsError::KeyEnded(_)
            | AccountsError::TooManyKeys
            | AccountsError::OtherEnvironment(_) => {
                Self::page(req, 400, "That was not right", error.to_string())
            }
        }
    }

    /// A value that a form sent and that cannot be used.
    pub fn bad(req: &HttpRequest, message: impl Into<String>) -> Self {
        Self::page(req, 400, "That was not right", message)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::See(path) => write!(f, "see {path}"),
            Self::Page { title, .. } => f.write_str(title),
        }
    }
}

impl ResponseError for Stop {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::See(_) => StatusCode::SEE_OTHER,
            Self::Page { status, .. } => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            Self::See(path) => see(path),
            Self::Page {
                title,
                message,
                request_id,
                retry_after,
                ..
            } => {
                let page = ErrorPage {
                    page: Frame::bare(title),
                    title,
                    message,
                    request_id,
                };
                let text = page.render().unwrap_or_else(|_| (*title).to_owned());
                let mut response = HttpResponse::build(self.status_code());
                if let Some(seconds) = retry_after {
                    response.insert_header((header::RETRY_AFTER, *seconds));
                }
                response.content_type("text/html; charset=utf-8").body(text)
            }
        }
    }
}

/// Sends the browser to a path of this host with a fresh request.
pub fn see(path: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, path))
        .finish()
}

/// A page, and the cookie that the visitor's browser lacks.
///
/// # Errors
/// When the template cannot be written.
pub fn show(
    req: &HttpRequest,
    host: &Host,
    visitor: &Visitor,
    status: StatusCode,
    page: &impl Template,
) -> Result<HttpResponse, Stop> {
    let text = page.render().map_err(|error| Stop::internal(req, error))?;
    let mut response = HttpResponse::build(status);
    if let Some(cookie) = visitor.cookie(host) {
        response.append_header((header::SET_COOKIE, cookie));
    }
    Ok(response.content_type("text/html; charset=utf-8").body(text))
}
