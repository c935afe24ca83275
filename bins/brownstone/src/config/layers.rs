//! Every setting there is, and its text: built-in defaults, then a file, then the environment, then flags.

use std::{collections::BTreeMap, fmt};

use anyhow::{Context as _, bail};
use url::Url;

/// Prefix of the variables.
const PREFIX: &str = "BROWNSTONE_";

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
        "oidc_issuer",
        "",
        "an OpenID Connect issuer by which people sign in, too, as its tokens name it; empty: passwords alone",
    ),
    key("oidc_client_id", "", "our identifier there"),
    secret("oidc_client_secret", "our secret there"),
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
    key(
        "hot_reports_mb",
        "256",
        "memory for reports that are ready to be sent, in MB: 1 to 65536",
    ),
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
        "listings_client_id",
        "",
        "reso: client that fetches its tokens (OAuth 2 client credentials), in place of listings_token",
    ),
    secret("listings_client_secret", "its secret"),
    key(
        "listings_token_url",
        "",
        "where its tokens come from: the whole address of the token endpoint",
    ),
    key(
        "listings_token_scope",
        "",
        "scope that is asked for, where the endpoint wants one, such as api",
    ),
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
    key(
        "otlp_endpoint",
        "",
        "a collector that takes spans over OTLP, such as http://127.0.0.1:4318; wants a build with the feature otel",
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
            // An address may hold a password wherever it stands.
            let shown = if key.secret || has_password(value) {
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

/// A configuration file with every key at its default, as it stands in packaging/brownstone.example.toml.
pub(crate) fn example() -> String {
    use fmt::Write as _;
    let mut text = String::from(
        "# brownstone.toml: every key, its default, and what it is for. A key that is left out keeps its default; an unknown one is\n\
         # an error. The environment wins over the file (BROWNSTONE_API_ADDR for api_addr), a flag over both. Secrets are better kept\n\
         # in the environment than here; if they are here, chmod 600 this file.\n",
    );
    for key in KEYS
        .iter()
        .filter(|key| !key.help.is_empty() && key.name != "test_clock")
    {
        let secret = if key.secret { " (secret)" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n# {}{secret}\n# {} = {:?}\n",
            key.help, key.name, key.default
        );
    }
    text
}

fn has_password(value: &str) -> bool {
    Url::parse(value).is_ok_and(|url| url.password().is_some())
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

#[cfg(test)]
pub(super) mod testing {
    use super::Layers;

    pub(in crate::config) fn layers(
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
}

#[cfg(test)]
mod tests {
    use super::{testing::layers, *};

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
                ("BROWNSTONE_LISTINGS_CLIENT_SECRET", "canary-client"),
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
}
