//! An identity provider's keys: real ones, made at start and kept nowhere.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use serde_json::{Value, json};

/// Why there are no keys, or no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IssuerError {
    /// No key could be made.
    #[error("no key could be made")]
    NoKey,
    /// The claims could not be signed.
    #[error("the claims could not be signed")]
    NotSigned,
}

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// RSA with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// By a shared secret, which nobody must take.
    Hs256,
}

/// Keys of an identity provider, and tokens signed with them.
pub struct Issuer {
    rsa: EncodingKey,
    ec: EncodingKey,
    keys: Value,
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").finish_non_exhaustive()
    }
}

/// What stands before the key in a PKCS #8 document of a 2048-bit RSA key, which never changes: the signer wants the key alone.
const PKCS8_HEAD: usize = 26;

impl Issuer {
    /// Fresh keys.
    ///
    /// # Errors
    /// [`IssuerError::NoKey`].
    pub fn new() -> Result<Self, IssuerError> {
        let no_key = |_| IssuerError::NoKey;
        let rsa = KeyPair::generate(KeySize::Rsa2048).map_err(|_| IssuerError::NoKey)?;
        let document: Pkcs8V1Der<'_> = rsa.as_der().map_err(|_| IssuerError::NoKey)?;
        let der = document
            .as_ref()
            .get(PKCS8_HEAD..)
            .ok_or(IssuerError::NoKey)?;
        let rsa = EncodingKey::from_rsa_der(der);
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| IssuerError::NoKey)?;
        let ec = EncodingKey::from_ec_der(document.as_ref());
        let mut keys = Vec::new();
        for (name, key, algorithm) in [
            ("rsa", &rsa, Algorithm::RS256),
            ("ec", &ec, Algorithm::ES256),
        ] {
            let mut key = Jwk::from_encoding_key(key, algorithm).map_err(no_key)?;
            key.common.key_id = Some(name.to_owned());
            keys.push(serde_json::to_value(key).map_err(|_| IssuerError::NoKey)?);
        }
        Ok(Self {
            rsa,
            ec,
            keys: json!({"keys": keys}),
        })
    }

    /// The public keys, as a JWK set.
    pub fn keys(&self) -> &Value {
        &self.keys
    }

    /// A token with these claims.
    ///
    /// # Errors
    /// [`IssuerError::NotSigned`].
    pub fn token(&self, signed: Signed, claims: &Value) -> Result<String, IssuerError> {
        let secret = EncodingKey::from_secret(b"shared");
        let (algorithm, key, name) = match signed {
            Signed::Rs256 => (Algorithm::RS256, &self.rsa, "rsa"),
            Signed::Es256 => (Algorithm::ES256, &self.ec, "ec"),
            Signed::Hs256 => (Algorithm::HS256, &secret, "rsa"),
        };
        let mut header = Header::new(algorithm);
        header.kid = Some(name.to_owned());
        encode(&header, claims, key).map_err(|_| IssuerError::NotSigned)
    }
}
