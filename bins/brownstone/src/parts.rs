//! Builds the parts and wires them. Everything a server and a command share.

use std::{path::PathBuf, sync::Arc, time::Duration};

use brownstone_address::{
    geocoder::{Geocoder, LotDirectory},
    geosearch::GeoSearchGeocoder,
    pad::PadIndex,
};
use brownstone_domain::Clock;
use brownstone_quota::{MemoryOptions, MemoryQuota, QuotaStore};
use brownstone_report_cache::{CacheConfig, RegistryView, ReportCache};
use brownstone_service::listing_source::{ListingSlot, ListingSource};
use brownstone_service::{Lookups, Resolutions, directory::SourceDirectory};
use brownstone_soda::{DatasetId, Freshness, Soda, SodaClient};
use brownstone_sources::{Deps, Directory, FloodZones, GatedSource, Publisher, Registry};
use brownstone_store::{DatabaseKind, Store, StoreOpenError, StoreOptions};
use brownstone_upstream::{Upstream, UpstreamConfig};
use secrecy::SecretString;
use tokio::time::Instant;

use crate::{
    addresses::{Addresses, IndexFile},
    config::{Config, GeocoderKind},
    listings,
};

/// The database for a command or a start, neither of which gives up after a request's time.
pub(crate) fn patient_store(config: &Config) -> anyhow::Result<Store> {
    Ok(Store::open_with(
        &config.database_url,
        &StoreOptions::patient(),
    )?)
}

/// Opens the database and brings its schema up to date. A new one is stamped for the city's own records; only
/// `serve --sample` makes one for the sample.
pub(crate) async fn open_store(config: &Config) -> anyhow::Result<Store> {
    let store = patient_store(config)?;
    store.migrate().await?;
    if store.kind().await?.is_none() {
        store.stamp(DatabaseKind::Real).await?;
    }
    Ok(store)
}

/// The city: its records, its addresses.
#[derive(Clone)]
pub(crate) struct City {
    /// Every source.
    pub registry: Registry,
    /// Lots and buildings by their numbers.
    pub directory: Arc<Directory>,
    /// Text to building.
    pub geocoder: Arc<Addresses>,
    /// The index file that imports replace, as it was seen at the start; `None` where none is used.
    pub index_file: Option<IndexFile>,
    /// The upstreams behind it, for the doctor.
    pub upstreams: Vec<Upstream>,
    /// Where the listing source finds the listings, once they are there.
    pub listing_slot: ListingSlot,
    /// What the listing source's `gated` answers depend on.
    listing_terms: String,
    /// The publishers, for the doctor.
    pub deps: Deps,
    /// How fresh each publisher's datasets are.
    freshness: Vec<(Freshness, Vec<DatasetId>)>,
}

impl City {
    /// Asks how fresh the datasets are, so that the first report can say it. Later it is asked in the background.
    pub(crate) async fn warm(&self) {
        let deadline = Instant::now() + WARM_UP;
        for (freshness, datasets) in &self.freshness {
            freshness.warm(datasets.iter().cloned(), deadline).await;
        }
    }
}

/// Where the city comes from.
pub(crate) enum Origin {
    /// The addresses of the configuration; PAD from the data folder where it is imported.
    Configured,
    /// A sample city in this process: everything at its address, PAD in memory.
    Sample {
        /// Where it listens.
        url: String,
        /// Its addresses.
        pad: Arc<PadIndex>,
    },
}

/// How long the question after each dataset's freshness may take at a start.
const WARM_UP: Duration = Duration::from_secs(60);

fn publisher(
    name: &str,
    url: &str,
    token: Option<SecretString>,
    upstreams: &mut Vec<Upstream>,
) -> anyhow::Result<(Publisher, Freshness)> {
    let upstream = Upstream::new(UpstreamConfig::new(name, url))?;
    upstreams.push(upstream.clone());
    let soda: Arc<dyn Soda> = Arc::new(SodaClient::new(upstream, token));
    let freshness = Freshness::new(Arc::clone(&soda));
    let updates = Arc::new(freshness.clone());
    Ok((Publisher { soda, updates }, freshness))
}

/// Where the pages of the city's datasets stand.
const CITY_PAGES: &str = "https://data.cityofnewyork.us/";

/// Where the pages of the state's datasets stand.
const STATE_PAGES: &str = "https://data.ny.gov/";

/// The main datasets of the sources whose pages stand on this host.
fn datasets(registry: &Registry, pages: &str) -> Vec<DatasetId> {
    registry
        .describe()
        .iter()
        .filter(|info| info.url.starts_with(pages))
        .filter_map(|info| DatasetId::new(info.datasets.first()?).ok())
        .collect()
}

/// Builds the city.
pub(crate) fn city(
    config: &Config,
    clock: &Arc<dyn Clock>,
    origin: &Origin,
) -> anyhow::Result<City> {
    let mut upstreams = Vec::new();
    let (soda_url, nys_url, fema_url, geosearch_url) = match origin {
        Origin::Configured => (
            config.soda_url.as_str(),
            config.nys_soda_url.as_str(),
            config.fema_url.as_str(),
            config.geosearch_url.as_str(),
        ),
        Origin::Sample { url, .. } => {
            let all = url.as_str();
            (all, all, all, all)
        }
    };
    let token = match origin {
        Origin::Configured => config.soda_app_token.clone(),
        Origin::Sample { .. } => None,
    };
    let (city, city_freshness) = publisher("city open data", soda_url, token, &mut upstreams)?;
    let (state, state_freshness) = publisher("state open data", nys_url, None, &mut upstreams)?;
    let soda = Arc::clone(&city.soda);
    let deps = Deps {
        city,
        state,
        clock: Arc::clone(clock),
    };
    let directory = Arc::new(Directory::new(Arc::clone(&soda)));
    let fema = Upstream::new(UpstreamConfig::new("federal flood layer", fema_url))?;
    upstreams.push(fema.clone());
    let flood = FloodZones::new(fema, Directory::clone(&directory));
    let listing_slot = ListingSlot::default();
    let registry = brownstone_sources::catalogue(deps.clone())?.with(Arc::new(flood));
    let registry = match listings::source_name(config, origin) {
        None => registry.with(Arc::new(GatedSource::listings())),
        Some(name) => registry.with(Arc::new(ListingSource::new(
            name,
            Arc::clone(&listing_slot),
        ))),
    };
    let lots: Arc<dyn LotDirectory> = Arc::new(SourceDirectory(Arc::clone(&directory)));
    let mut index_file = match origin {
        Origin::Configured if config.geocoder != GeocoderKind::GeoSearch => {
            Some(IndexFile::at(pad_index(config)))
        }
        Origin::Configured | Origin::Sample { .. } => None,
    };
    let pad = match (origin, &mut index_file) {
        (Origin::Sample { pad, .. }, _) => Some(Arc::clone(pad)),
        (Origin::Configured, Some(file)) => file.look()?,
        (Origin::Configured, None) => None,
    };
    let geosearch = |upstreams: &mut Vec<Upstream>| -> anyhow::Result<Arc<dyn Geocoder>> {
        let upstream = Upstream::new(UpstreamConfig::new("GeoSearch", geosearch_url))?;
        upstreams.push(upstream.clone());
        let directory = Some(Arc::clone(&lots));
        Ok(Arc::new(GeoSearchGeocoder::new(upstream, directory)))
    };
    let geocoder = match (config.geocoder, pad) {
        (GeocoderKind::Auto | GeocoderKind::Pad, Some(pad)) => Addresses::on(pad),
        (GeocoderKind::Pad, None) => {
            tracing::warn!("no address index is imported; lookups answer upstream_error");
            Addresses::none()
        }
        (GeocoderKind::Auto | GeocoderKind::GeoSearch, _) => {
            Addresses::without_pad(geosearch(&mut upstreams)?, "GeoSearch")
        }
    };
    Ok(City {
        directory,
        geocoder: Arc::new(geocoder),
        index_file,
        upstreams,
        freshness: vec![
            (city_freshness, datasets(&registry, CITY_PAGES)),
            (state_freshness, datasets(&registry, STATE_PAGES)),
        ],
        registry,
        listing_slot,
        listing_terms: listings::terms(config, origin),
        deps,
    })
}

/// The file that an import of addresses puts in place.
pub(crate) fn pad_index(config: &Config) -> PathBuf {
    config.data_dir.join("pad.index")
}

/// The budgets, and what must be written when the process ends.
pub(crate) struct Budgets {
    /// The store of budgets.
    pub(crate) quota: Arc<dyn QuotaStore>,
    /// The engine in this process, where the budgets are kept here.
    memory: Option<Arc<MemoryQuota>>,
}

impl Budgets {
    /// Opens the budgets: in the process beside SQLite, in PostgreSQL beside PostgreSQL, or where `quota_url` says.
    pub(crate) async fn open(
        config: &Config,
        store: &Store,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let shared = |quota| Self {
            quota,
            memory: None,
        };
        match config.quota_url.as_deref() {
            Some(url) if url.starts_with("postgres") => {
                let own = Store::open(url)?;
                own.migrate().await?;
                Ok(shared(in_postgres(config, &own, clock)?))
            }
            Some(url) => Ok(shared(in_redis(config, url, clock)?)),
            None if config.database_url.starts_with("postgres") => {
                Ok(shared(in_postgres(config, store, clock)?))
            }
            None => {
                let ledger = store.spent_ledger();
                let options = MemoryOptions::default();
                let memory = MemoryQuota::open(Arc::clone(clock), options, ledger)
                    .await
                    .map_err(|error| {
                        anyhow::anyhow!("the budgets cannot be read: {}", error.detail())
                    })?;
                let memory = Arc::new(memory);
                Ok(Self {
                    quota: Arc::<MemoryQuota>::clone(&memory),
                    memory: Some(memory),
                })
            }
        }
    }

    /// Writes what was spent, exactly.
    pub(crate) async fn close(&self) {
        if let Some(memory) = &self.memory
            && let Err(error) = memory.close().await
        {
            tracing::error!(detail = error.detail(), "budgets could not be written");
        }
    }
}

/// Shared budgets go by their server's own clock, which all instances see alike; under a test's clock by that.
fn in_redis(
    config: &Config,
    url: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn QuotaStore>, StoreOpenError> {
    #[cfg(feature = "test-clock")]
    if config.test_clock.is_some() {
        return brownstone_store::redis_quota_reading(url, Arc::clone(clock));
    }
    let _ = (config, clock);
    brownstone_store::redis_quota(url)
}

/// The same in PostgreSQL.
fn in_postgres(
    config: &Config,
    store: &Store,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn QuotaStore>, StoreOpenError> {
    #[cfg(feature = "test-clock")]
    if config.test_clock.is_some() {
        return store.postgres_quota_reading(Arc::clone(clock));
    }
    let _ = (config, clock);
    store.postgres_quota()
}

/// Builds the lookup over a store and a city.
pub(crate) fn lookups(
    config: &Config,
    store: &Store,
    city: &City,
    clock: &Arc<dyn Clock>,
    sample: bool,
) -> Lookups {
    let gated: std::collections::HashSet<&str> = city.registry.gated_keys().collect();
    let registry = RegistryView::new(
        city.registry
            .keys()
            .map(|key| (key.to_owned(), gated.contains(key))),
    )
    .on_terms(&city.listing_terms);
    let reports = ReportCache::new(
        store.reports(),
        store.leases(),
        Arc::clone(clock),
        registry,
        format!("{}-{}", std::process::id(), holder()),
        CacheConfig {
            hot_bytes: config.hot_report_bytes,
            ..CacheConfig::default()
        },
    );
    Lookups::new(
        Resolutions::new(Arc::<Addresses>::clone(&city.geocoder), Arc::clone(clock)),
        reports,
        city.registry.clone(),
        Arc::clone(&city.directory),
        Arc::clone(clock),
        sample,
    )
}

/// Tells this process from others that share the storage, on this machine and on others.
fn holder() -> String {
    uuid::Uuid::now_v7().to_string()
}
