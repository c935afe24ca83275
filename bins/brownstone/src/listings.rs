//! The listings: the configured feed, its areas, the index, and what keeps them current.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use brownstone_domain::Clock;
use brownstone_listings::{
    Entitlement, ListingIndex, Listings,
    feed::{Client, Credential, ListingFeed, RentCast, Reso},
    scan::Scanner,
};
use brownstone_service::listing_job::{self, Schedule};
use brownstone_store::Store;
use brownstone_upstream::{Upstream, UpstreamConfig};
use time::Time;
use tokio::task::JoinHandle;

use crate::{
    addresses::Addresses,
    config::Config,
    parts::{City, Origin},
};

/// Where RentCast is.
const RENTCAST: &str = "https://api.rentcast.io/v1";

/// Over how long the sample's areas are scanned: all at once.
const SAMPLE_SPREAD: Duration = Duration::ZERO;

/// A feed that can be asked.
struct Feed {
    name: &'static str,
    url: String,
    credential: Credential,
    areas: Entitlement,
}

/// The listing feed's name, where one is configured with a credential; the sample has one unless it
/// is told `none`.
pub(crate) fn source_name(config: &Config, origin: &Origin) -> Option<&'static str> {
    let chosen = config.listings_source.as_deref();
    match (chosen, origin) {
        (Some("none"), _) => None,
        (Some("rentcast"), Origin::Sample { .. }) => Some("rentcast"),
        (_, Origin::Sample { .. }) => Some("reso"),
        (Some("rentcast"), Origin::Configured) => {
            config.listings_token.is_some().then_some("rentcast")
        }
        (Some(_), Origin::Configured) => {
            let has_one = config.listings_token.is_some() || config.listings_client.is_some();
            has_one.then_some("reso")
        }
        (None, Origin::Configured) => None,
    }
}

/// What a `gated` answer of the listing source depends on: the areas, in one way of writing. Empty where there is no feed.
pub(crate) fn terms(config: &Config, origin: &Origin) -> String {
    if matches!(origin, Origin::Sample { .. }) {
        return "all".to_owned();
    }
    let Ok(areas) = Entitlement::parse(&config.listings_areas) else {
        return config.listings_areas.clone();
    };
    let zips: Vec<String> = areas.zips().iter().map(ToString::to_string).collect();
    zips.join(",")
}

fn feed(config: &Config, origin: &Origin) -> anyhow::Result<Option<Feed>> {
    let Some(name) = source_name(config, origin) else {
        return Ok(None);
    };
    let feed = match origin {
        Origin::Sample { url, .. } => {
            let (path, token) = match name {
                "rentcast" => ("rentcast/v1", brownstone_sample_city::RENTCAST_KEY),
                _ => ("reso/odata", brownstone_sample_city::RESO_TOKEN),
            };
            Feed {
                name,
                url: format!("{}/{path}", url.trim_end_matches('/')),
                credential: Credential::Token(token.to_owned().into()),
                areas: Entitlement::parse("all")?,
            }
        }
        Origin::Configured => {
            let url = match (&config.listings_url, name) {
                (Some(url), _) => url.to_string(),
                (None, "rentcast") => RENTCAST.to_owned(),
                (None, _) => anyhow::bail!("listings_url is needed for listings_source reso"),
            };
            Feed {
                name,
                url: url.trim_end_matches('/').to_owned(),
                credential: credential(config)?,
                areas: Entitlement::parse(&config.listings_areas).context("listings_areas")?,
            }
        }
    };
    Ok(Some(feed))
}

/// A token, or a client that fetches its own.
fn credential(config: &Config) -> anyhow::Result<Credential> {
    let Some(client) = &config.listings_client else {
        let token = config.listings_token.clone();
        return Ok(Credential::Token(
            token.context("listings_token is needed")?,
        ));
    };
    let endpoint = UpstreamConfig::new("listing tokens", client.token_url.as_str());
    Ok(Credential::Client(Client::new(
        Upstream::new(endpoint)?,
        client.id.as_str(),
        client.secret.clone(),
        client.scope.clone(),
    )))
}

/// Builds the listings and hands them to the city's listing source.
pub(crate) fn listings(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
    city: &City,
    origin: &Origin,
) -> anyhow::Result<Arc<Listings>> {
    let index = Arc::new(ListingIndex::default());
    let source = match feed(config, origin)? {
        None => None,
        Some(feed) => {
            let upstream = Upstream::new(UpstreamConfig::new(feed.name, feed.url))?;
            let reader: Arc<dyn ListingFeed> = match (feed.name, feed.credential) {
                ("rentcast", Credential::Token(key)) => {
                    Arc::new(RentCast::new(upstream, Some(key)))
                }
                ("rentcast", Credential::Client(_)) => {
                    anyhow::bail!("listings_source rentcast takes a listings_token")
                }
                (_, credential) => Arc::new(Reso::new(upstream, credential)),
            };
            let scanner = Scanner::new(
                reader,
                store.listing_store(),
                Arc::<Addresses>::clone(&city.geocoder),
                Arc::clone(&index),
                Arc::clone(clock),
            );
            Some((scanner, feed.areas))
        }
    };
    let listings = Listings::new(index, store.listing_store(), Arc::clone(clock), source);
    let listings = Arc::new(listings);
    // Only the first is kept; there is one for each city.
    let _ = city.listing_slot.set(Arc::clone(&listings));
    Ok(listings)
}

/// Keeps the listings current until the task is stopped.
pub(crate) fn keep_current(
    config: &Config,
    listings: &Arc<Listings>,
    store: &Store,
    clock: &Arc<dyn Clock>,
    sample: bool,
) -> JoinHandle<()> {
    let schedule = Schedule {
        at: config.listings_sync_at,
        spread: if sample {
            SAMPLE_SPREAD
        } else {
            config.listings_sync_spread
        },
    };
    let holder = uuid::Uuid::now_v7().to_string();
    tokio::spawn(listing_job::run(
        Arc::clone(listings),
        store.leases(),
        Arc::clone(clock),
        holder,
        schedule,
    ))
}

/// A time of day as `HH:MM`.
pub(crate) fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    Time::from_hms(hour.parse().ok()?, minute.parse().ok()?, 0).ok()
}

#[cfg(test)]
mod tests {
    use time::macros::time;

    use super::*;

    #[test]
    fn a_time_of_day_is_hours_and_minutes() {
        assert_eq!(time_of_day("06:30"), Some(time!(6:30)));
        for bad in ["", "6", "24:00", "6:60", "six"] {
            assert_eq!(time_of_day(bad), None, "{bad}");
        }
    }
}
