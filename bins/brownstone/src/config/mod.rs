//! The configuration: built-in defaults, then a file, then the environment, then flags. Unknown keys are errors.

mod layers;
mod secrets;

use std::{net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, anyhow, bail};
use brownstone_accounts::{Environment, Tier, sign_in::SignUp};
use secrecy::SecretString;
use url::Url;

pub(crate) use layers::{Layers, Origin, example};
pub(crate) use secrets::{refuse_weak, warn_of_an_open_file};

/// Where FRED's downloads stand, beside its API.
const FRED_DOWNLOADS: &str = "https://fred.stlouisfed.org";

/// How addresses are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeocoderKind {
    /// PAD where imported, else GeoSearch.
    Auto,
    /// PAD alone.
    Pad,
    /// GeoSearch alone.
    GeoSearch,
}

/// A client of the listing feed's OAuth 2 server.
#[derive(Debug, Clone)]
pub(crate) struct ListingsClient {
    /// Its identifier.
    pub id: String,
    /// Its secret.
    pub secret: SecretString,
    /// The token endpoint.
    pub token_url: Url,
    /// The scope to ask for, where one is wanted.
    pub scope: Option<String>,
}

/// An OpenID Connect issuer, and how this deployment is known to it.
#[derive(Debug, Clone)]
pub(crate) struct Issuer {
    /// Its address, exactly as its tokens name it.
    pub url: String,
    /// Our identifier.
    pub client_id: String,
    /// Our secret.
    pub client_secret: SecretString,
}

/// The settings of the parts that are built, typed.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Where the API listens.
    pub api_addr: SocketAddr,
    /// Where the metrics are read.
    pub metrics_addr: SocketAddr,
    /// Who chose that.
    pub metrics_addr_origin: Origin,
    /// Environment of the deployment.
    pub environment: Environment,
    /// The database.
    pub database_url: String,
    /// Whether the database was named, rather than left to the default.
    pub database_named: bool,
    /// Where budgets are kept, where that is not left to the database's kind.
    pub quota_url: Option<String>,
    /// Where index files live.
    pub data_dir: PathBuf,
    /// Bytes of reports kept in memory, ready to be sent.
    pub hot_report_bytes: u64,
    /// The city's open data.
    pub soda_url: Url,
    /// The state's open data.
    pub nys_soda_url: Url,
    /// Application token of the city's open data.
    pub soda_app_token: Option<SecretString>,
    /// The federal flood layers.
    pub fema_url: Url,
    /// How addresses are resolved.
    pub geocoder: GeocoderKind,
    /// GeoSearch.
    pub geosearch_url: Url,
    /// FRED's API.
    pub fred_url: Url,
    /// FRED's downloads, which need no key: below the same address where one is set.
    pub fred_download_url: Url,
    /// Key of FRED's API.
    pub fred_api_key: Option<SecretString>,
    /// The weekly mortgage survey's publisher.
    pub pmms_url: Url,
    /// Host names under which MCP is reached; empty: those of `base_url` and of this machine.
    pub mcp_allowed_hosts: Vec<String>,
    /// Origins of web pages that may call MCP; empty: those of `base_url` and `web_url`.
    pub mcp_allowed_origins: Vec<String>,
    /// A table of conforming limits, in place of the one that is built in.
    pub conforming_limits: Option<PathBuf>,
    /// Days by which sales are published late, for requests with a date of their own.
    pub comps_publication_lag_days: u32,
    /// Where the web host listens.
    pub web_addr: SocketAddr,
    /// The web host's public address, where one is set.
    pub web_url: Option<Url>,
    /// Who may open an account.
    pub sign_up: SignUp,
    /// The tier of an account that is opened.
    pub sign_up_tier: Tier,
    /// By whom people sign in, beside passwords.
    pub oidc: Option<Issuer>,
    /// The listing feed's kind.
    pub listings_source: Option<String>,
    /// Its address, where it is not the feed's usual one.
    pub listings_url: Option<Url>,
    /// Its credential; without one listings are gated.
    pub listings_token: Option<SecretString>,
    /// A client that fetches its tokens, in place of it.
    pub listings_client: Option<ListingsClient>,
    /// The areas it may be asked for.
    pub listings_areas: String,
    /// When the daily scan begins, UTC.
    pub listings_sync_at: time::Time,
    /// Over how long its areas are spread.
    pub listings_sync_spread: std::time::Duration,
    /// The API's public address, where one is set.
    pub base_url: Option<Url>,
    /// Where spans of calls go.
    pub otlp_endpoint: Option<Url>,
    /// The file that holds the test clock's moment.
    #[cfg(feature = "test-clock")]
    pub test_clock: Option<PathBuf>,
}

impl Config {
    /// Reads the layers.
    ///
    /// # Errors
    /// Names the setting, what came and what is allowed.
    pub(crate) fn of(layers: &Layers) -> anyhow::Result<Self> {
        let address = |name: &str| -> anyhow::Result<SocketAddr> {
            let text = layers.get(name);
            text.parse().map_err(|_| {
                anyhow!("{name} is {text:?}; an address such as 127.0.0.1:8080 is expected")
            })
        };
        let url = |name: &str| -> anyhow::Result<Url> {
            let text = layers.get(name);
            match Url::parse(text) {
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
                _ => bail!("{name} is {text:?}; an http or https address is expected"),
            }
        };
        let optional_url = |name: &str| -> anyhow::Result<Option<Url>> {
            match layers.get(name) {
                "" => Ok(None),
                _ => url(name).map(Some),
            }
        };
        let text = |name: &str| Some(layers.get(name).to_owned()).filter(|text| !text.is_empty());
        let sync_at = layers.get("listings_sync_at");
        let sync_at = crate::listings::time_of_day(sync_at).ok_or_else(|| {
            anyhow!("listings_sync_at is {sync_at:?}; a time such as 06:00 is expected")
        })?;
        let sync_minutes = layers.get("listings_sync_minutes");
        let sync_minutes = sync_minutes
            .parse()
            .ok()
            .filter(|minutes| (0..=1_440_u64).contains(minutes))
            .ok_or_else(|| {
                anyhow!("listings_sync_minutes is {sync_minutes:?}; a whole number from 0 to 1440 is expected")
            })?;
        let environment = layers.get("environment");
        let environment = Environment::from_name(environment)
            .ok_or_else(|| anyhow!("environment is {environment:?}; test or live is expected"))?;
        let geocoder = match layers.get("geocoder") {
            "auto" => GeocoderKind::Auto,
            "pad" => GeocoderKind::Pad,
            "geosearch" => GeocoderKind::GeoSearch,
            other => bail!("geocoder is {other:?}; auto, pad or geosearch is expected"),
        };
        match layers.get("listings_source") {
            "" | "reso" | "rentcast" | "none" => {}
            other => {
                bail!("listings_source is {other:?}; reso, rentcast, none or nothing is expected")
            }
        }
        if let Some(url) = text("quota_url") {
            const SCHEMES: [&str; 6] = [
                "redis://",
                "rediss://",
                "valkey://",
                "valkeys://",
                "postgres://",
                "postgresql://",
            ];
            if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
                bail!("quota_url must begin redis://, rediss:// or postgres://, or be empty");
            }
        }
        Ok(Self {
            api_addr: address("api_addr")?,
            metrics_addr: address("metrics_addr")?,
            metrics_addr_origin: layers.origin("metrics_addr"),
            environment,
            database_url: layers.get("database_url").to_owned(),
            database_named: layers.origin("database_url") != Origin::Default,
            quota_url: text("quota_url"),
            data_dir: layers.get("data_dir").into(),
            hot_report_bytes: layers
                .get("hot_reports_mb")
                .parse::<u64>()
                .ok()
                .filter(|mb| (1..=65_536).contains(mb))
                .map(|mb| mb * 1024 * 1024)
                .with_context(|| {
                    let text = layers.get("hot_reports_mb");
                    format!(
                        "hot_reports_mb is {text:?}; a whole number from 1 to 65536 is expected"
                    )
                })?,
            soda_url: url("soda_url")?,
            nys_soda_url: url("nys_soda_url")?,
            soda_app_token: text("soda_app_token").map(SecretString::from),
            fema_url: url("fema_url")?,
            geocoder,
            geosearch_url: url("geosearch_url")?,
            fred_url: url("fred_url")?,
            fred_download_url: match layers.origin("fred_url") {
                Origin::Default => FRED_DOWNLOADS.parse()?,
                _ => url("fred_url")?,
            },
            fred_api_key: text("fred_api_key").map(SecretString::from),
            pmms_url: url("pmms_url")?,
            mcp_allowed_hosts: list(layers.get("mcp_allowed_hosts")),
            mcp_allowed_origins: list(layers.get("mcp_allowed_origins")),
            conforming_limits: text("conforming_limits").map(PathBuf::from),
            comps_publication_lag_days: layers
                .get("comps_publication_lag_days")
                .parse()
                .ok()
                .filter(|days| *days <= 365)
                .context("comps_publication_lag_days: a whole number from 0 to 365 is expected")?,
            web_addr: address("web_addr")?,
            web_url: optional_url("web_url")?,
            sign_up: SignUp::from_name(layers.get("sign_up")).with_context(|| {
                let got = layers.get("sign_up");
                format!("sign_up is {got:?}; open, invitation or closed is expected")
            })?,
            sign_up_tier: Tier::from_name(layers.get("sign_up_tier")).with_context(|| {
                let got = layers.get("sign_up_tier");
                format!("sign_up_tier is {got:?}; pro or free is expected")
            })?,
            oidc: oidc(layers)?,
            listings_source: text("listings_source"),
            listings_url: optional_url("listings_url")?,
            listings_token: text("listings_token").map(SecretString::from),
            listings_client: listings_client(layers)?,
            listings_areas: layers.get("listings_areas").to_owned(),
            listings_sync_at: sync_at,
            listings_sync_spread: std::time::Duration::from_secs(sync_minutes * 60),
            base_url: optional_url("base_url")?,
            otlp_endpoint: optional_url("otlp_endpoint")?,
            #[cfg(feature = "test-clock")]
            test_clock: text("test_clock").map(PathBuf::from),
        })
    }
}

impl Config {
    /// The host names and origins that MCP takes, for a server that listens on `address`.
    pub(crate) fn mcp_access(&self, address: SocketAddr) -> (Vec<String>, Vec<String>) {
        let public = self.base_url.as_ref();
        let mut hosts = self.mcp_allowed_hosts.clone();
        if hosts.is_empty() {
            hosts = ["localhost", "127.0.0.1", "[::1]"]
                .map(str::to_owned)
                .into();
            hosts.push(address.ip().to_string());
            hosts.extend(public.and_then(Url::host_str).map(str::to_owned));
        }
        let mut origins = self.mcp_allowed_origins.clone();
        if origins.is_empty() {
            let urls = public.into_iter().chain(&self.web_url);
            origins = urls
                .filter_map(|url| {
                    let port = url.port_or_known_default()?;
                    Some(format!("{}://{}:{port}", url.scheme(), url.host_str()?))
                })
                .collect();
        }
        if origins.is_empty() {
            // No public address: pages of this machine alone.
            origins = ["http://localhost:*", "http://127.0.0.1:*"]
                .map(str::to_owned)
                .into();
        }
        (hosts, origins)
    }
}

/// The OpenID Connect issuer: all of its settings, or none.
fn oidc(layers: &Layers) -> anyhow::Result<Option<Issuer>> {
    let names = ["oidc_issuer", "oidc_client_id", "oidc_client_secret"];
    let [issuer, client_id, client_secret] = names.map(|name| layers.get(name));
    if [issuer, client_id, client_secret]
        .iter()
        .all(|text| text.is_empty())
    {
        return Ok(None);
    }
    for name in names {
        if layers.get(name).is_empty() {
            bail!("{name} is empty; {} go together", names.join(", "));
        }
    }
    match Url::parse(issuer) {
        Ok(url)
            if matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.query().is_none() => {}
        _ => bail!("oidc_issuer is {issuer:?}; an http or https address is expected"),
    }
    Ok(Some(Issuer {
        url: issuer.to_owned(),
        client_id: client_id.to_owned(),
        client_secret: client_secret.to_owned().into(),
    }))
}

/// The listing feed's client: all of its settings, or none.
fn listings_client(layers: &Layers) -> anyhow::Result<Option<ListingsClient>> {
    let names = [
        "listings_client_id",
        "listings_client_secret",
        "listings_token_url",
    ];
    let [id, secret, token_url] = names.map(|name| layers.get(name));
    if [id, secret, token_url].iter().all(|text| text.is_empty()) {
        return Ok(None);
    }
    for name in names {
        if layers.get(name).is_empty() {
            bail!("{name} is empty; {} go together", names.join(", "));
        }
    }
    for (name, value, allowed) in [
        ("listings_token", layers.get("listings_token"), ""),
        ("listings_source", layers.get("listings_source"), "reso"),
    ] {
        if value != allowed {
            bail!("{name} must be {allowed:?} beside listings_client_id");
        }
    }
    Ok(Some(ListingsClient {
        id: id.to_owned(),
        secret: secret.to_owned().into(),
        token_url: match Url::parse(token_url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
            _ => bail!("listings_token_url is {token_url:?}; an http or https address is expected"),
        },
        scope: Some(layers.get("listings_token_scope").to_owned()).filter(|text| !text.is_empty()),
    }))
}

/// The parts of a list with commas.
fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{layers::testing::layers, *};

    #[test]
    fn bad_values_name_the_setting_what_came_and_what_is_allowed() {
        for (name, value, part) in [
            ("api_addr", "here", "an address such as"),
            ("environment", "prod", "test or live"),
            ("geocoder", "google", "auto, pad or geosearch"),
            ("soda_url", "ftp://x", "http or https"),
            ("listings_source", "zillow", "reso, rentcast"),
        ] {
            let error = Config::of(&layers(None, &[], &[(name, value)]).unwrap()).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(name) && text.contains(value) && text.contains(part),
                "{text}"
            );
        }
    }

    #[test]
    fn mcp_takes_the_public_names_or_this_machines_and_never_all() {
        let address = "127.0.0.1:8080".parse().unwrap();
        let access = |flags: &[(&'static str, &str)]| {
            let config = Config::of(&layers(None, &[], flags).unwrap()).unwrap();
            config.mcp_access(address)
        };
        let (hosts, origins) = access(&[]);
        assert!(hosts.contains(&"localhost".to_owned()) && !origins.is_empty());
        let (hosts, origins) = access(&[
            ("base_url", "https://api.example.com"),
            ("web_url", "https://app.example.com:8443"),
        ]);
        assert!(hosts.contains(&"api.example.com".to_owned()), "{hosts:?}");
        assert_eq!(
            origins,
            [
                "https://api.example.com:443",
                "https://app.example.com:8443"
            ]
        );
        let (hosts, _) = access(&[("mcp_allowed_hosts", "a.example.com, b.example.com,")]);
        assert_eq!(hosts, ["a.example.com", "b.example.com"]);
    }

    #[test]
    fn a_listing_client_has_all_of_its_settings_or_none() {
        let all = [
            ("listings_source", "reso"),
            ("listings_client_id", "client"),
            ("listings_client_secret", "canary"),
            ("listings_token_url", "https://tokens.example.com/token"),
        ];
        let of = |flags: &[(&'static str, &str)]| Config::of(&layers(None, &[], flags).unwrap());
        let client = of(&all).unwrap().listings_client.unwrap();
        assert_eq!((client.id.as_str(), client.scope.clone()), ("client", None));
        assert!(!format!("{client:?}").contains("canary"));
        for missing in 0..4 {
            let mut some = all.to_vec();
            let (name, _) = some.remove(missing);
            let text = of(&some).unwrap_err().to_string();
            assert!(text.contains(name) && !text.contains("canary"), "{text}");
        }
        for (name, value) in [
            ("listings_token", "canary"),
            ("listings_token_url", "ftp://x"),
            ("listings_source", "rentcast"),
        ] {
            let mut more: Vec<_> = all.iter().filter(|(of, _)| *of != name).copied().collect();
            more.push((name, value));
            let text = of(&more).unwrap_err().to_string();
            assert!(text.contains(name) && !text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn an_issuer_has_all_of_its_settings_or_none() {
        let all = [
            ("oidc_issuer", "https://login.example.com/realm"),
            ("oidc_client_id", "brownstone"),
            ("oidc_client_secret", "canary"),
        ];
        let of = |flags: &[(&'static str, &str)]| Config::of(&layers(None, &[], flags).unwrap());
        let issuer = of(&all).unwrap().oidc.unwrap();
        assert_eq!(issuer.url, "https://login.example.com/realm");
        assert!(!format!("{issuer:?}").contains("canary"));
        for missing in 0..3 {
            let mut some = all.to_vec();
            let (name, _) = some.remove(missing);
            let text = of(&some).unwrap_err().to_string();
            assert!(text.contains(name) && !text.contains("canary"), "{text}");
        }
        for wrong in ["login.example.com", "ftp://x", "https://x/?a=b"] {
            let text = of(&[("oidc_issuer", wrong), all[1], all[2]]).unwrap_err();
            assert!(text.to_string().contains("oidc_issuer is"), "{text}");
        }
        assert!(of(&[]).unwrap().oidc.is_none());
    }

    #[test]
    fn the_defaults_are_a_configuration() {
        let config = Config::of(&layers(None, &[], &[]).unwrap()).unwrap();
        assert_eq!(config.environment, Environment::Test);
        assert!(!config.database_named);
    }
}
