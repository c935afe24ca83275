//! TLS to PostgreSQL: always with the server's certificate and name checked, or not at all.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::StoreOpenError;

/// Whose signature on a server's certificate is good.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing is encrypted.
    NoTls,
    /// The authorities that this machine trusts.
    System,
    /// Those in a file, PEM.
    File(PathBuf),
}

const REFUSED: fn(&'static str) -> StoreOpenError = StoreOpenError::PostgresAddress;

/// Takes `sslmode` and `sslrootcert` out of an address, whose reader knows less of them. What is left says whether TLS is wanted.
///
/// `require` is as strict as `verify-full`: encryption to anybody keeps out nobody. Nothing, or `prefer`, is no encryption, since a
/// server that offers a certificate nobody can check would otherwise be lost.
pub(crate) fn taken_from(url: &str) -> Result<(Cow<'_, str>, Trust), StoreOpenError> {
    let Some((address, query)) = url.split_once('?') else {
        return Ok((Cow::Borrowed(url), Trust::NoTls));
    };
    let (mut encrypted, mut file) = (false, None);
    let mut rest = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", "disable" | "prefer")) => encrypted = false,
            Some(("sslmode", "require" | "verify-full")) => encrypted = true,
            Some(("sslmode", _)) => {
                return Err(REFUSED(
                    "sslmode is none of disable, prefer (no TLS either), require and verify-full (both check certificate and name)",
                ));
            }
            Some(("sslrootcert", path)) => {
                let path = percent_decode_str(path)
                    .decode_utf8()
                    .map_err(|_| REFUSED("sslrootcert is no UTF-8"))?;
                file = Some(PathBuf::from(path.as_ref()));
            }
            _ => rest.push(parameter),
        }
    }
    let trust = match (encrypted, file) {
        (true, Some(path)) if path == Path::new("system") => Trust::System,
        (true, Some(path)) => Trust::File(path),
        (true, None) => Trust::System,
        (false, None) => Trust::NoTls,
        (false, Some(_)) => {
            return Err(REFUSED(
                "sslrootcert is given without sslmode=verify-full, so nothing would be checked",
            ));
        }
    };
    rest.push(if encrypted {
        "sslmode=require"
    } else {
        "sslmode=disable"
    });
    Ok((Cow::Owned(format!("{address}?{}", rest.join("&"))), trust))
}

/// Trusts what this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name other places for it.
pub(crate) fn by_the_system() -> Result<MakeRustlsConnect, StoreOpenError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some that cannot be read are usual; what they signed is refused.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(REFUSED(
            "this machine trusts no authority; install its certificates, or name a file by sslrootcert",
        ));
    }
    connector(roots)
}

/// Trusts the authorities in a file.
pub(crate) fn by_file(path: &Path) -> Result<MakeRustlsConnect, StoreOpenError> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|_| REFUSED("the file of sslrootcert cannot be read as PEM"))?;
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err(REFUSED("the file of sslrootcert holds no certificate"));
    }
    connector(roots)
}

fn connector(roots: RootCertStore) -> Result<MakeRustlsConnect, StoreOpenError> {
    // Named, since a program that has two providers linked would have no default.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| REFUSED("this program cannot speak TLS"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_address_says_of_tls_is_taken_out_of_it() {
        for (url, left, trust) in [
            ("postgres://h/d", "postgres://h/d", Trust::NoTls),
            (
                "postgres://h/d?sslmode=prefer&connect_timeout=3",
                "postgres://h/d?connect_timeout=3&sslmode=disable",
                Trust::NoTls,
            ),
            (
                "postgres://h/d?sslmode=require",
                "postgres://h/d?sslmode=require",
                Trust::System,
            ),
            (
                "postgres://h/d?sslrootcert=system&sslmode=verify-full",
                "postgres://h/d?sslmode=require",
                Trust::System,
            ),
            (
                "postgres://h/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fa%20b.pem",
                "postgres://h/d?sslmode=require",
                Trust::File("/etc/a b.pem".into()),
            ),
        ] {
            let (got, how) = taken_from(url).expect(url);
            assert_eq!((got.as_ref(), how), (left, trust), "{url}");
        }
    }

    #[test]
    fn what_could_not_be_kept_is_refused() {
        for url in [
            "postgres://h/d?sslmode=verify-ca",
            "postgres://h/d?sslmode=allow",
            "postgres://h/d?sslmode=",
            "postgres://h/d?sslrootcert=a.pem",
            "postgres://h/d?sslmode=require&sslrootcert=%ff",
        ] {
            let error = taken_from(url).expect_err(url).to_string();
            assert!(error.starts_with("postgres:// address: ssl"), "{error}");
        }
    }
}
