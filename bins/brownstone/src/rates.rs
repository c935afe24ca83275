//! Builds the mortgage rates.

use std::sync::Arc;

use anyhow::Context as _;
use brownstone_domain::Clock;
use brownstone_rates::{ConformingLimits, Feeds, Fred, Rates};
use brownstone_store::Store;
use brownstone_upstream::{Upstream, UpstreamConfig};

use crate::{config::Config, parts::Origin};

/// The publishers, and the upstreams behind them, for the doctor: FRED's API where there is a key, else its download.
pub(crate) fn feeds(config: &Config, origin: &Origin) -> anyhow::Result<(Feeds, [Upstream; 2])> {
    let (fred_url, download_url, pmms_url, key) = match origin {
        Origin::Configured => (
            config.fred_url.as_str(),
            config.fred_download_url.as_str(),
            config.pmms_url.as_str(),
            config.fred_api_key.clone(),
        ),
        Origin::Sample { url, .. } => (url.as_str(), url.as_str(), url.as_str(), None),
    };
    let base = if key.is_some() {
        fred_url
    } else {
        download_url
    };
    let fred = Upstream::new(UpstreamConfig::new("FRED", base))?;
    let pmms = Upstream::new(UpstreamConfig::new("mortgage survey", pmms_url))?;
    let way = match key {
        Some(key) => Fred::Api {
            upstream: fred.clone(),
            key,
        },
        None => Fred::Download(fred.clone()),
    };
    Ok((Feeds::new(way, pmms.clone()), [fred, pmms]))
}

/// Builds the rates over a store.
pub(crate) fn rates(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
    origin: &Origin,
) -> anyhow::Result<Rates> {
    let limits = match &config.conforming_limits {
        None => ConformingLimits::built_in()?,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("conforming_limits: cannot read {}", path.display()))?;
            ConformingLimits::parse(&text)
                .with_context(|| format!("conforming_limits: {}", path.display()))?
        }
    };
    let (feeds, _) = feeds(config, origin)?;
    Ok(Rates::new(feeds, store.rates(), Arc::clone(clock), limits))
}
