//! Signing in where an issuer vouches for an e-mail address, in the place of a password.

use super::model::NEVER;
use super::oidc::Vouched;
use super::{Before, Grounds, NewSession, Origin, SignIn, SignInError, SignUp, Token};
use crate::{field, model::Account, traits::StoreError};

impl SignIn {
    /// Signs in whoever an issuer vouches for: the account of this address, or a new one where anybody may open one.
    ///
    /// The session is as fresh as the issuer says that it asked who it is, and not fresh at all where it does not say: an issuer that knows
    /// the browser lets it in without a question, and so whoever has only its cookies.
    ///
    /// An account that has a password is entered only by a browser that is signed in to it: opening an account with a password does not prove its
    /// address, and whoever opened it first in another's name would share it with its owner.
    ///
    /// # Errors
    /// [`SignInError::EmailTaken`] for such an account; [`SignInError::SignUpClosed`] where there is no such account and none is opened;
    /// [`SignInError::TooMany`] where this network address has opened all it may; [`SignInError::Field`]; [`SignInError::Changed`].
    pub async fn vouched(
        &self,
        who: &Vouched,
        from: &Origin<'_>,
        replaces: Option<&Token>,
    ) -> Result<NewSession, SignInError> {
        let email = field::normalise_email(&who.email)?;
        let accounts = &self.0.accounts;
        if let Some(account) = accounts.account_by_email(&email).await? {
            return self.enter(&account, who, from, replaces).await;
        }
        if self.0.policy.sign_up != SignUp::Open {
            return Err(SignInError::SignUpClosed);
        }
        let now = self.now();
        let counted = self.0.throttle.count_opening(from.address, now);
        counted.map_err(SignInError::TooMany)?;
        let (account, audit) = self.opened(email, "by an issuer", now);
        match accounts.create_account(&account, &audit).await {
            Ok(()) => self.enter(&account, who, from, replaces).await,
            // Somebody was a moment faster, and it is the same person: the issuer says so.
            Err(StoreError::EmailTaken) => {
                let known = accounts.account_by_email(&account.email).await?;
                let known = known.ok_or(SignInError::EmailTaken)?;
                self.enter(&known, who, from, replaces).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn enter(
        &self,
        account: &Account,
        who: &Vouched,
        from: &Origin<'_>,
        replaces: Option<&Token>,
    ) -> Result<NewSession, SignInError> {
        let password = self.0.store.password(&account.id).await?;
        if password.is_some() {
            let signed = match replaces {
                Some(token) => self.who(token).await?,
                None => None,
            };
            if signed.is_none_or(|signed| signed.account.id != account.id) {
                return Err(SignInError::EmailTaken);
            }
        }
        let old = replaces.map(Token::hash);
        let before = match &old {
            Some(hash) if password.is_some() => Before::GoesOn(hash),
            Some(hash) => Before::Ends(hash),
            None => Before::Nothing,
        };
        let grounds = Grounds {
            password: password.as_ref(),
            before,
        };
        let asked_at = who.asked_at.map_or(NEVER, |at| at.min(self.now()));
        self.begin(&account.id, from, asked_at, grounds).await
    }
}
