//! The configuration: built-in defaults, then a file, then the environment, then flags. Unknown keys are errors.

use std::{collections::BTreeMap, fmt, net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, anyhow, bail};
use brownstone_accounts::{Environment, Tier, sign_in::SignUp};
use secrecy::SecretString;
use url::Url;

/// Prefix of the variables.
const PREFIX: &str = "BROWNSTONE_";

/// Where FRED's downloads stand, beside its API.
const FRED_DOWNLOADS: &str = "https://fred.stlouisfed.org";

/// One setting.
pub(crate) struct Key {
    /// Its name in the file; upper case and prefixed in the environment, with dashes as a flag.
    pub name: &'static str,
    /// Its built-in value.
    pub default: &'static str,
    /// Whether its value is hidden when the configuration is printed.
    pub secret: bool,
    /// What it is for.
    pub help: &'static str,
}

const fn key(name: &'static str, default: &'static str, help: &'static str) -> Key {
    Key {
        name,
        default,
        secret: false,
        help,
    }
}

const fn secret(name: &'static str, help: &'static str) -> Key {
    Key {
        name,
        default: "",
        secret: true,
        help,
    }
}

/// Every setting there is.
pub(crate) const KEYS: &[Key] = &[
    key(
        "api_addr",
        "127.0.0.1:8080",
        "where the API listens; port 0 picks a free one",
    ),
    key("web_addr", "127.0.0.1:8081", "where the web host listens"),
    key(
        "metrics_addr",
        "127.0.0.1:9090",
        "where the metrics are read",
    ),
    key(
        "base_url",
        "",
        "the API's public address; empty: http:// and its listener",
    ),
    key(
        "web_url",
        "",
        "the web host's public address; empty: http:// and its listener",
    ),
    key(
        "sign_up",
        "open",
        "who may open an account on the web host: open, invitation (by a link of account invite) or closed",
    ),
    key(
        "sign_up_tier",
        "pro",
        "tier of an account that is opened there: pro or free",
    ),
    key(
        "environment",
        "test",
        "test or live; decides the key prefix",
    ),
    Key {
        name: "database_url",
        default: "sqlite://data/brownstone.db",
        secret: true,
        help: "sqlite://PATH or postgres://USER:PASSWORD@HOST/NAME",
    },
    key("data_dir", "data", "where index files live"),
    Key {
        name: "quota_url",
        default: "",
        secret: true,
        help: "where budgets are kept: redis://..., postgres://..., or empty: in this process beside SQLite, else in the database",
    },
    key(
        "soda_url",
        "https://data.cityofnewyork.us",
        "the city's open data",
    ),
    key(
        "nys_soda_url",
        "https://data.ny.gov",
        "the state's open data",
    ),
    secret(
        "soda_app_token",
        "application token of the city's open data",
    ),
    key(
        "fema_url",
        "https://hazards.fema.gov",
        "the federal flood layers",
    ),
    key(
        "geocoder",
        "auto",
        "auto (PAD where imported, else GeoSearch), pad or geosearch",
    ),
    key(
        "geosearch_url",
        "https://geosearch.planninglabs.nyc",
        "GeoSearch",
    ),
    key(
        "fred_url",
        "https://api.stlouisfed.org",
        "FRED, for mortgage rates",
    ),
    secret("fred_api_key", "key of FRED"),
    key(
        "pmms_url",
        "https://www.freddiemac.com",
        "the weekly mortgage survey",
    ),
    key(
        "mcp_allowed_hosts",
        "",
        "host names under which MCP is reached, with commas; empty: base_url's and this machine's",
    ),
    key(
        "mcp_allowed_origins",
        "",
        "web pages that may call MCP, with commas, such as https://app.example.com:443; empty: base_url's and web_url's",
    ),
    key(
        "conforming_limits",
        "",
        "a file of conforming loan limits by year and county; empty: the built-in table",
    ),
    key(
        "comps_publication_lag_days",
        "0",
        "days by which the city publishes sales late: a request with as_of_date does not see so many days before it",
    ),
    key(
        "listings_source",
        "",
        "reso or rentcast; empty: listings are gated; none: in the sample, too",
    ),
    key("listings_url", "", "address of the listing feed"),
    secret("listings_token", "credential of the listing feed"),
    key(
        "listings_areas",
        "",
        "ZIPs the deployment is entitled to, with commas, or all",
    ),
    key(
        "listings_sync_at",
        "06:00",
        "when the daily scan of the listings begins, HH:MM in UTC",
    ),
    key(
        "listings_sync_minutes",
        "120",
        "over how many minutes the areas of the daily scan are spread",
    ),
    key(
        "log",
        "info",
        "log filter, such as warn or brownstone_sources=debug,info",
    ),
    key(
        "log_format",
        "pretty",
        "pretty or json; logs go to standard error",
    ),
    #[cfg(feature = "test-clock")]
    key(
        "test_clock",
        "",
        "a file that holds the moment the clock shows",
    ),
];

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Built in.
    Default,
    /// The configuration file.
    File,
    /// A `BROWNSTONE_` variable.
    Environment,
    /// A flag.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        })
    }
}

/// Every setting's text and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Layers(BTreeMap<&'static str, (String, Origin)>);

impl Layers {
    /// Lays file, environment and flags over the defaults.
    ///
    /// # Errors
    /// Names the key that does not exist, or the value that is no text.
    pub(crate) fn read(
        file: Option<&str>,
        environment: impl Iterator<Item = (String, String)>,
        flags: impl Iterator<Item = (&'static str, String)>,
    ) -> anyhow::Result<Self> {
        let mut layers = Self(
            KEYS.iter()
                .map(|key| (key.name, (key.default.to_owned(), Origin::Default)))
                .collect(),
        );
        if let Some(text) = file {
            let table: toml::Table = text.parse().context("the configuration file is no TOML")?;
            for (name, value) in table {
                let text = match value {
                    toml::Value::String(text) => text,
                    toml::Value::Integer(number) => number.to_string(),
                    toml::Value::Boolean(flag) => flag.to_string(),
                    other => bail!(
                        "{name} in the configuration file must be text; got {}",
                        other.type_str()
                    ),
                };
                layers.set(&name, text, Origin::File)?;
            }
        }
        for (variable, value) in environment {
            if let Some(name) = variable.strip_prefix(PREFIX) {
                layers
                    .set(&name.to_ascii_lowercase(), value, Origin::Environment)
                    .with_context(|| format!("environment variable {variable}"))?;
            }
        }
        for (name, value) in flags {
            layers.set(name, value, Origin::Flag)?;
        }
        Ok(layers)
    }

    fn set(&mut self, name: &str, value: String, origin: Origin) -> anyhow::Result<()> {
        let Some(slot) = self.0.get_mut(name) else {
            let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
            bail!("unknown setting {name}; known are {}", known.join(", "));
        };
        *slot = (value, origin);
        Ok(())
    }

    /// A value's text.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |(value, _)| value)
    }

    /// Where a value came from.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.0
            .get(name)
            .map_or(Origin::Default, |(_, origin)| *origin)
    }

    /// One line a setting, secrets hidden.
    pub(crate) fn describe(&self) -> String {
        use fmt::Write as _;
        let mut text = String::new();
        for key in KEYS {
            let value = self.get(key.name);
            let shown = if key.secret {
                hidden(value)
            } else {
                value.to_owned()
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{} = {shown:?}  # {}; {}",
                key.name,
                self.origin(key.name),
                key.help
            );
        }
        text
    }
}

/// A secret as it may be shown: nothing of it, but for the parts of an address that are none.
fn hidden(value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    match Url::parse(value) {
        Ok(mut url) if url.has_host() || url.scheme() == "sqlite" => {
            if url.password().is_some() {
                // An address that has a password can have it replaced.
                let _ = url.set_password(Some("hidden"));
            }
            url.set_query(None);
            url.to_string()
        }
        _ => "hidden".to_owned(),
    }
}

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

/// The settings of the parts that are built, typed.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Where the API listens.
    pub api_addr: SocketAddr,
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
    /// The listing feed's kind.
    pub listings_source: Option<String>,
    /// Its address, where it is not the feed's usual one.
    pub listings_url: Option<Url>,
    /// Its credential; without it listings are gated.
    pub listings_token: Option<SecretString>,
    /// The areas it may be asked for.
    pub listings_areas: String,
    /// When the daily scan begins, UTC.
    pub listings_sync_at: time::Time,
    /// Over how long its areas are spread.
    pub listings_sync_spread: std::time::Duration,
    /// The API's public address, where one is set.
    pub base_url: Option<Url>,
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
        for name in ["metrics_addr"] {
            address(name)?;
        }
        for name in ["fred_url", "pmms_url"] {
            url(name)?;
        }
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
            environment,
            database_url: layers.get("database_url").to_owned(),
            database_named: layers.origin("database_url") != Origin::Default,
            quota_url: text("quota_url"),
            data_dir: layers.get("data_dir").into(),
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
            listings_source: text("listings_source"),
            listings_url: optional_url("listings_url")?,
            listings_token: text("listings_token").map(SecretString::from),
            listings_areas: layers.get("listings_areas").to_owned(),
            listings_sync_at: sync_at,
            listings_sync_spread: std::time::Duration::from_secs(sync_minutes * 60),
            base_url: optional_url("base_url")?,
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
    use super::*;

    fn layers(
        file: Option<&str>,
        environment: &[(&str, &str)],
        flags: &[(&'static str, &str)],
    ) -> anyhow::Result<Layers> {
        Layers::read(
            file,
            environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
            flags
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        )
    }

    #[test]
    fn flags_win_over_the_environment_over_the_file_over_the_defaults() {
        let all = layers(
            Some("api_addr = \"127.0.0.1:1\"\nsoda_url = \"http://127.0.0.1:2\"\nlog = \"warn\""),
            &[
                ("BROWNSTONE_SODA_URL", "http://127.0.0.1:3"),
                ("BROWNSTONE_LOG", "debug"),
                ("PATH", "/bin"),
            ],
            &[("log", "trace")],
        )
        .unwrap();
        let got = ["api_addr", "soda_url", "log", "geocoder"]
            .map(|name| (all.get(name), all.origin(name)));
        assert_eq!(
            got,
            [
                ("127.0.0.1:1", Origin::File),
                ("http://127.0.0.1:3", Origin::Environment),
                ("trace", Origin::Flag),
                ("auto", Origin::Default)
            ]
        );
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let file = layers(Some("api_adr = \"x\""), &[], &[]).unwrap_err();
        assert!(
            format!("{file:#}").contains("unknown setting api_adr"),
            "{file:#}"
        );
        let variable = layers(None, &[("BROWNSTONE_API_ADR", "x")], &[]).unwrap_err();
        assert!(
            format!("{variable:#}").contains("BROWNSTONE_API_ADR"),
            "{variable:#}"
        );
    }

    #[test]
    fn every_variable_of_the_operators_contract_is_known() {
        for name in [
            "API_ADDR",
            "WEB_ADDR",
            "METRICS_ADDR",
            "BASE_URL",
            "WEB_URL",
            "ENVIRONMENT",
            "DATABASE_URL",
            "DATA_DIR",
            "QUOTA_URL",
            "SODA_URL",
            "NYS_SODA_URL",
            "SODA_APP_TOKEN",
            "FEMA_URL",
            "GEOCODER",
            "GEOSEARCH_URL",
            "FRED_URL",
            "FRED_API_KEY",
            "PMMS_URL",
            "LISTINGS_SOURCE",
            "LISTINGS_URL",
            "LISTINGS_TOKEN",
            "LISTINGS_AREAS",
        ] {
            let known = KEYS.iter().any(|key| key.name.to_uppercase() == name);
            assert!(known, "{name}");
        }
    }

    #[test]
    fn no_secret_is_printed() {
        let all = layers(
            None,
            &[
                ("BROWNSTONE_SODA_APP_TOKEN", "canary-token"),
                ("BROWNSTONE_LISTINGS_TOKEN", "canary-listings"),
                ("BROWNSTONE_FRED_API_KEY", "canary-fred"),
                (
                    "BROWNSTONE_DATABASE_URL",
                    "postgres://me:canary-password@db/brownstone?sslkey=canary",
                ),
            ],
            &[],
        )
        .unwrap();
        let printed = all.describe();
        assert!(!printed.contains("canary"), "{printed}");
        assert!(
            printed.contains("postgres://me:hidden@db/brownstone"),
            "{printed}"
        );
    }

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
    fn the_defaults_are_a_configuration() {
        let config = Config::of(&layers(None, &[], &[]).unwrap()).unwrap();
        assert_eq!(config.environment, Environment::Test);
        assert!(!config.database_named);
    }
}
