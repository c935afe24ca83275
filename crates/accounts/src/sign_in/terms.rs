//! What sign-in takes and answers: who may, from where, and why not.

use std::net::IpAddr;

use super::model::{Session, Token};
use crate::field::FieldError;
use crate::key::NoRandomness;
use crate::model::{Environment, Tier};
use crate::traits::StoreError;

/// Who may open an account on the web host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignUp {
    /// Anybody.
    Open,
    /// Whoever holds a one-time link of an account that an operator made.
    Invitation,
    /// Nobody.
    Closed,
}

impl SignUp {
    /// The one called `name`: `open`, `invitation` or `closed`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "open" => Some(Self::Open),
            "invitation" => Some(Self::Invitation),
            "closed" => Some(Self::Closed),
            _ => None,
        }
    }
}

/// Why somebody is not signed in. The text is fit for whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// A value was refused; the text names its field.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The e-mail address or the password is wrong: which of them is not told.
    #[error("The e-mail address or the password is not right.")]
    Wrong,
    /// Too many tries.
    #[error("Too many tries. Wait {0} seconds and try again.")]
    TooMany(u64),
    /// An account has this address already.
    #[error("An account with this e-mail address exists. Sign in instead.")]
    EmailTaken,
    /// New accounts are not opened here.
    #[error("New accounts are not opened here.")]
    SignUpClosed,
    /// The link was used, is too old, or never was.
    #[error("This link was used already or is too old. Ask for a new one.")]
    LinkGone,
    /// The password was changed, the session ended or the account was suspended while this was under way.
    #[error("The password or the session has changed meanwhile. Sign in again.")]
    Changed,
    /// No secret could be made.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// Storage did not answer; nothing is known to have changed.
    #[error("The account store did not answer. Try again.")]
    Unavailable(#[source] StoreError),
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::EmailTaken => Self::EmailTaken,
            StoreError::NotFound(_) => Self::LinkGone,
            StoreError::Changed => Self::Changed,
            StoreError::Unavailable(_) | StoreError::KeyEnded(_) | StoreError::TooManyKeys => {
                Self::Unavailable(error)
            }
        }
    }
}

/// Where a request comes from, for throttling and for the list of sessions.
#[derive(Debug, Clone)]
pub struct Origin<'a> {
    /// Network address.
    pub address: IpAddr,
    /// The browser's own name.
    pub agent: &'a str,
}

/// A session just begun. The token goes into the cookie, now or never.
#[derive(Debug)]
pub struct NewSession {
    /// The cookie's secret.
    pub token: Token,
    /// What is kept of it.
    pub session: Session,
}

/// How people get in, on one deployment.
#[derive(Debug, Clone, Copy)]
pub struct SignInPolicy {
    /// Who may open an account.
    pub sign_up: SignUp,
    /// The tier of an account that is opened.
    pub tier: Tier,
    /// The deployment's environment.
    pub environment: Environment,
}
