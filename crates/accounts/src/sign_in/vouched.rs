//! Signing in where an issuer vouches for an e-mail address, in the place of a password.

use super::{NewSession, Origin, SignIn, SignInError, SignUp, Token};
use crate::{field, model::Account, traits::StoreError};

impl SignIn {
    /// Signs in whoever an issuer vouches for: the account of this address, or a new one where anybody may open one. Call it with an
    /// address that [`Oidc::finish`](super::oidc::Oidc::finish) gave, and no other.
    ///
    /// An account that has a password is entered only by a browser that is signed in to it: opening an account with a password does not prove its
    /// address, and whoever opened it first in another's name would share it with its owner.
    ///
    /// # Errors
    /// [`SignInError::EmailTaken`] for such an account; [`SignInError::SignUpClosed`] where there is no such account and none is opened; [`SignInError::Field`].
    pub async fn vouched(
        &self,
        email: &str,
        from: &Origin<'_>,
        replaces: Option<&Token>,
    ) -> Result<NewSession, SignInError> {
        let email = field::normalise_email(email)?;
        let accounts = &self.0.accounts;
        if let Some(account) = accounts.account_by_email(&email).await? {
            return self.enter(&account, from, replaces).await;
        }
        if self.0.policy.sign_up != SignUp::Open {
            return Err(SignInError::SignUpClosed);
        }
        let (account, audit) = self.opened(email, "by an issuer", self.now());
        match accounts.create_account(&account, &audit).await {
            Ok(()) => self.begin(&account.id, from, replaces).await,
            // Somebody was a moment faster, and it is the same person: the issuer says so.
            Err(StoreError::EmailTaken) => {
                let known = accounts.account_by_email(&account.email).await?;
                let known = known.ok_or(SignInError::EmailTaken)?;
                self.enter(&known, from, replaces).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn enter(
        &self,
        account: &Account,
        from: &Origin<'_>,
        replaces: Option<&Token>,
    ) -> Result<NewSession, SignInError> {
        if self.0.store.password(&account.id).await?.is_some() {
            let signed = match replaces {
                Some(token) => self.who(token).await?,
                None => None,
            };
            if signed.is_none_or(|signed| signed.account.id != account.id) {
                return Err(SignInError::EmailTaken);
            }
        }
        self.begin(&account.id, from, replaces).await
    }
}
