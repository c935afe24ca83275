//! What an upstream is told at start.

use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

/// A configuration that cannot be used. The text is for the operator and never repeats the address, which may hold a
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The base address is no address.
    #[error("{name}: the base address is not a URL: {why}")]
    NotAUrl {
        /// The upstream's name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Plain HTTP to another machine.
    #[error("{name}: the base address must be https, unless its host is this machine")]
    NotHttps {
        /// The upstream's name.
        name: String,
    },
    /// A user name or password in the address.
    #[error("{name}: the base address must not hold a user name or password")]
    Credentials {
        /// The upstream's name.
        name: String,
    },
    /// A query or fragment in the address.
    #[error("{name}: the base address must end with its path: no `?`, no `#`")]
    Query {
        /// The upstream's name.
        name: String,
    },
    /// A header that cannot be sent.
    #[error("{name}: the header {header} cannot be sent: its name or value is not allowed in HTTP")]
    Header {
        /// The upstream's name.
        name: String,
        /// The header's name.
        header: String,
    },
    /// A limit of nothing.
    #[error("{name}: {limit} must be above zero")]
    Zero {
        /// The upstream's name.
        name: String,
        /// Which limit.
        limit: &'static str,
    },
    /// The HTTP client cannot be built: no certificates on this machine, for one.
    #[error("{name}: no HTTP client: {why}")]
    Client {
        /// The upstream's name.
        name: String,
        /// What it said.
        why: String,
    },
}

/// When and how a request is tried again. Only what may pass is: no connection, no answer in time, an answer cut
/// short, 429, 500, 502, 503, 504.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryConfig {
    /// How many times after the first.
    pub retries: usize,
    /// The wait before the first retry, without its jitter of up to as much again; it doubles.
    pub first_delay: Duration,
    /// The longest wait, jitter aside. A `Retry-After` may be longer.
    pub max_delay: Duration,
}

impl Default for RetryConfig {
    /// Twice, after about 0.2 and 0.5 seconds.
    fn default() -> Self {
        Self {
            retries: 2,
            first_delay: Duration::from_millis(150),
            max_delay: Duration::from_secs(5),
        }
    }
}

/// When a breaker opens and how long it stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerConfig {
    /// Consecutive failed calls (not attempts) that open it.
    pub failures: u32,
    /// How long it refuses calls before it lets one probe through.
    pub open_for: Duration,
    /// A call that ran out of time counts as failed only when its last attempt was given at least this long: a caller in
    /// a hurry says nothing about the upstream.
    pub patience: Duration,
}

impl Default for BreakerConfig {
    /// Five failures, 30 seconds, a second's patience.
    fn default() -> Self {
        Self {
            failures: 5,
            open_for: Duration::from_secs(30),
            patience: Duration::from_secs(1),
        }
    }
}

/// One upstream: where it is and how much of it we bear.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    /// For errors and logs.
    pub name: String,
    /// `https://` and a host, a path if the upstream lives below one. Plain `http://` only on this machine.
    pub base_url: String,
    /// Requests under way at once; others wait within their deadline.
    pub max_in_flight: usize,
    /// Largest body in bytes, counted after decompression.
    pub max_body_bytes: usize,
    /// The bodies under way, all together.
    pub max_bytes_in_flight: usize,
    /// For one connection.
    pub connect_timeout: Duration,
    /// Longest pause between two pieces of an answer, and before the first.
    pub silence_timeout: Duration,
    /// Longest time for one attempt, however briskly it drips.
    pub total_timeout: Duration,
    /// Retries.
    pub retry: RetryConfig,
    /// Breakers, one for each key that requests name.
    pub breaker: BreakerConfig,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Sent with every request too; never logged, and since no redirect is followed, never sent to another host.
    pub secret_header: Option<(String, SecretString)>,
}

impl UpstreamConfig {
    /// The defaults: 128 in flight, so that a report, which asks about a hundred questions, waits for others alone; 32 MB each and 64 MB together, 3 s to connect, 10 s of silence, 20 s in all.
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            max_in_flight: 128,
            max_body_bytes: 32 * 1024 * 1024,
            max_bytes_in_flight: 64 * 1024 * 1024,
            connect_timeout: Duration::from_secs(3),
            silence_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(20),
            retry: RetryConfig::default(),
            breaker: BreakerConfig::default(),
            headers: Vec::new(),
            secret_header: None,
        }
    }

    /// The base address, checked.
    pub(crate) fn base(&self) -> Result<Url, ConfigError> {
        let name = || self.name.clone();
        let not_a_url = |why: String| ConfigError::NotAUrl { name: name(), why };
        let url = Url::parse(&self.base_url).map_err(|fault| not_a_url(fault.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ConfigError::Credentials { name: name() });
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(ConfigError::Query { name: name() });
        }
        let Some(host) = url.host() else {
            return Err(not_a_url("no host".to_owned()));
        };
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_loopback(&host) => Ok(url),
            _ => Err(ConfigError::NotHttps { name: name() }),
        }
    }

    pub(crate) fn check_limits(&self) -> Result<(), ConfigError> {
        let zero = [
            ("max_in_flight", self.max_in_flight == 0),
            ("max_body_bytes", self.max_body_bytes == 0),
            ("max_bytes_in_flight", self.max_bytes_in_flight == 0),
            ("connect_timeout", self.connect_timeout.is_zero()),
            ("silence_timeout", self.silence_timeout.is_zero()),
            ("total_timeout", self.total_timeout.is_zero()),
            ("breaker.failures", self.breaker.failures == 0),
        ];
        match zero.into_iter().find(|(_, zero)| *zero) {
            Some((limit, _)) => Err(ConfigError::Zero {
                name: self.name.clone(),
                limit,
            }),
            None => Ok(()),
        }
    }

    /// Every header of every request, the secret one marked so that nothing prints it.
    pub(crate) fn header_map(&self) -> Result<reqwest::header::HeaderMap, ConfigError> {
        let plain = self
            .headers
            .iter()
            .map(|(header, value)| (header, value.as_str(), false));
        let secret = self
            .secret_header
            .iter()
            .map(|(header, value)| (header, value.expose_secret(), true));
        plain
            .chain(secret)
            .map(|(header, value, sensitive)| {
                header_pair(header, value, sensitive).ok_or_else(|| ConfigError::Header {
                    name: self.name.clone(),
                    header: header.clone(),
                })
            })
            .collect()
    }
}

/// A header as the wire has it; `None` when HTTP does not allow it.
pub(crate) fn header_pair(
    header: &str,
    value: &str,
    sensitive: bool,
) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(header.as_bytes()).ok()?;
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(sensitive);
    Some((name, value))
}

/// Names of this machine. An IPv6 address that maps an IPv4 one is not among them: nobody types it in good faith.
fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(url: &str) -> Result<Url, ConfigError> {
        UpstreamConfig::new("city", url).base()
    }

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for url in [
            "https://data.cityofnewyork.us",
            "https://data.cityofnewyork.us/base/",
            "http://127.0.0.1:8080",
            "http://127.8.8.8",
            "http://localhost:1",
            "http://[::1]:80/",
        ] {
            assert!(base(url).is_ok(), "{url}");
        }
        for url in [
            "http://data.cityofnewyork.us",
            "http://10.0.0.1",
            "http://0.0.0.0",
            "http://[::ffff:127.0.0.1]/",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "ftp://127.0.0.1",
        ] {
            assert_eq!(
                base(url),
                Err(ConfigError::NotHttps {
                    name: "city".into()
                }),
                "{url}"
            );
        }
    }

    #[test]
    fn an_address_with_more_than_a_place_is_refused_and_not_repeated() {
        for url in [
            "https://me:hunter2@data.cityofnewyork.us",
            "https://hunter2@data.cityofnewyork.us",
            "https://data.cityofnewyork.us/?token=hunter2",
            "https://data.cityofnewyork.us/#hunter2",
            "hunter2",
            "",
            "data:hunter2",
        ] {
            let fault = base(url).unwrap_err();
            assert!(!format!("{fault} {fault:?}").contains("hunter2"), "{fault}");
        }
    }

    #[test]
    fn limits_of_nothing_are_refused() {
        let mut config = UpstreamConfig::new("city", "https://data.cityofnewyork.us");
        assert_eq!(config.check_limits(), Ok(()));
        config.max_in_flight = 0;
        assert_eq!(
            config.check_limits().unwrap_err().to_string(),
            "city: max_in_flight must be above zero"
        );
    }

    #[test]
    fn a_header_that_would_split_is_refused() {
        let mut config = UpstreamConfig::new("city", "https://data.cityofnewyork.us");
        config.secret_header = Some(("X-App-Token".into(), "hunter2\r\nX-Evil: 1".into()));
        let fault = config.header_map().unwrap_err();
        assert!(!format!("{fault:?}").contains("hunter2"));
        assert!(!format!("{config:?}").contains("hunter2"));
        config.secret_header = Some(("X-App-Token".into(), "hunter2".into()));
        let headers = config.header_map().unwrap();
        assert_eq!(headers["x-app-token"], "hunter2");
        assert!(!format!("{headers:?}").contains("hunter2"));
    }
}
