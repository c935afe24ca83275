//! `brownstone serve`.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use brownstone_accounts::{Accounts, Authenticator, Environment, RequestLog, UsageRecorder};
use brownstone_domain::Clock;
use brownstone_http::{Api, Readiness, Traffic};
use brownstone_service::{Comps, Parts, Rentals, Service, admission::AdmissionLimits};
use brownstone_store::{DatabaseKind, Store};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    addresses::{self, Addresses, IndexFile},
    clock,
    commands::say,
    config::Config,
    issuer, listings, metrics, open_files,
    parts::{self, Origin},
    people::{self, People},
    rates,
    sales::{self, SalesFile},
    sample, stop, threads,
};

/// The sample server's own file.
const SAMPLE_FILE: &str = "sample.db";

/// How long counters of use are kept: a year, and the month after it in which somebody may look back.
const USAGE_KEPT_FOR: time::Duration = time::Duration::days(400);

/// How often a finished import is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Runs the API until it is told to stop.
pub(crate) async fn serve(mut config: Config, sample: bool) -> anyhow::Result<()> {
    if sample {
        ensure!(
            config.environment != Environment::Live,
            "--sample is refused in the live environment"
        );
        if !config.database_named {
            let path = config.data_dir.join(SAMPLE_FILE);
            config.database_url = format!("sqlite://{}", path.display());
        }
    }
    let recorder = metrics::start()?;
    let clock = clock::clock(&config)?;
    let _only_one = lock_file(&config.database_url)?;
    let patient = parts::patient_store(&config)?;
    patient.migrate().await?;
    let kind = if sample {
        DatabaseKind::Sample
    } else {
        DatabaseKind::Real
    };
    patient.stamp(kind).await?;
    let store = Store::open(&config.database_url)?;
    let (sample_city, origin) = if sample {
        let (city, origin) = sample::start().await?;
        (Some(city), origin)
    } else {
        (None, Origin::Configured)
    };
    if !sample {
        addresses::bring_up_to_date(&config, &store).await;
    }
    let city = parts::city(&config, &clock, &origin)?;
    let budgets = parts::Budgets::open(&config, &store, &clock).await?;
    let usage = Arc::new(UsageRecorder::start(store.usage()));
    let requests = Arc::new(RequestLog::start(store.requests()));
    let authenticator = Arc::new(Authenticator::start(
        store.accounts(),
        Arc::clone(&clock),
        config.environment,
    ));
    let comps = Comps::new(Arc::clone(&clock), config.comps_publication_lag_days);
    let lookups = parts::lookups(&config, &store, &city, &clock, sample).with_comps(comps.clone());
    let listings = listings::listings(&config, &store, &clock, &city, &origin)?;
    listings.refresh().await?;
    let rentals = Rentals::new(Arc::clone(&listings), comps.clone(), Arc::clone(&clock));
    let lookups = lookups.with_rentals(rentals);
    let keeping_listings = listings::keep_current(&config, &listings, &store, &clock, sample);
    let parts = Parts {
        listings: Arc::clone(&listings),
        authenticator: Arc::clone(&authenticator),
        quota: Arc::clone(&budgets.quota),
        usage: Arc::clone(&usage),
        lookups: lookups.clone(),
        rates: rates::rates(&config, &store, &clock, &origin)?,
        clock: Arc::clone(&clock),
        admission: AdmissionLimits::default(),
        runtime: tokio::runtime::Handle::current(),
    };
    let service = Service::noting(parts, Arc::clone(&requests));

    let selling = sell(&config, &store, &city, &clock, comps.clone(), sample).await?;
    let traffic = Arc::<Traffic>::default();
    let listener = brownstone_edge::listen(config.api_addr)
        .with_context(|| format!("the API cannot listen on {}", config.api_addr))?;
    let address = listener.local_addr()?;
    let base_url = match &config.base_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{address}"),
    };
    let api = Api {
        base_url: base_url.clone(),
        document: Arc::default(),
        service: service.clone(),
        traffic: Arc::clone(&traffic),
        readiness: readiness(&store, &traffic, &city, &comps),
        version: json!({
            "version": env!("CARGO_PKG_VERSION"),
            "environment": config.environment.as_str(),
            "sample": sample,
        }),
        beside: vec![mcp(&config, &service, address)?],
    };
    // Before the listener takes calls, so that a signal is never missed.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let (api_limits, web_limits) = open_files::connections();
    let (handle, server) = brownstone_http::serve(listener, api, &api_limits, workers)?;
    let server = threads::drive(server)?;

    let accounts = Accounts::new(store.accounts(), Arc::clone(&clock), config.environment);
    let web_listener = people::listen(&config)?;
    let web_url = people::web_url(&config, web_listener.local_addr()?);
    let sign_in = people::sign_in(&config, &store, &clock)?;
    let people = People {
        service: service.clone(),
        accounts: accounts.clone(),
        usage: Arc::clone(&usage),
        requests: Arc::clone(&requests),
        sign_in: sign_in.clone(),
        oidc: issuer::oidc(&config, &web_url),
        reference: brownstone_web::pages::reference::reference({
            let (service, base_url) = (service.clone(), base_url.clone());
            move || brownstone_http::openapi::document(&service.sources(), &base_url)
        }),
    };
    let host = people.host(&base_url, &web_url, sample);
    let (web_handle, web_server) = brownstone_web::serve(web_listener, host, &web_limits, workers)?;
    let web_server = threads::drive(web_server)?;
    say(&format!("web host listening on {web_url}"));
    let upstreams = city.upstreams.clone();
    let observed = service.clone();
    let render = metrics::render(recorder, move || {
        observed.observe();
        upstreams
            .iter()
            .for_each(brownstone_upstream::metrics::observe);
    });
    let metrics_server = match metrics::listen(&config)? {
        Some(listener) => {
            say(&format!(
                "metrics listening on http://{}/metrics",
                listener.local_addr()?
            ));
            let (handle, server) = brownstone_http::metrics::serve_metrics(listener, render)?;
            Some((handle, threads::drive(server)?))
        }
        None => None,
    };
    let purging_sessions = tokio::spawn(people::purge(sign_in, Arc::clone(&requests)));
    announce(
        &base_url,
        &config,
        &city,
        sample_city
            .as_ref()
            .map(brownstone_sample_city::SampleCity::url),
    );
    if sample {
        let accounts = Accounts::new(patient.accounts(), Arc::clone(&clock), config.environment);
        let key = sample::fresh_key(&accounts, clock.now()).await?;
        introduce(&base_url, &key);
    }
    drop(patient);
    let watching = city.index_file.clone().map(|file| {
        let geocoder = Arc::clone(&city.geocoder);
        let shared = addresses::is_shared(&config).then(|| store.clone());
        tokio::spawn(watch_imports(file, geocoder, lookups.clone(), shared))
    });
    let purging = tokio::spawn(purge_daily(lookups, store.clone(), Arc::clone(&clock)));
    let warming = tokio::spawn(async move { city.warm().await });

    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: running calls finish first");
    traffic.stop();
    stop::drain(&service, &traffic).await;
    tokio::join!(handle.stop(true), web_handle.stop(true));
    server.await.context("the server's thread broke")??;
    web_server.await.context("the web host's thread broke")??;
    if let Some((handle, server)) = metrics_server {
        handle.stop(false).await;
        server.await.context("the metrics' thread broke")??;
    }
    purging_sessions.abort();
    keeping_listings.abort();
    if let Some(watching) = watching {
        watching.abort();
    }
    for task in selling {
        task.abort();
    }
    purging.abort();
    warming.abort();
    stop::settle(|| service.in_flight()).await;
    // What was counted and spent is written before the process ends.
    if let Err(error) = stop::write_last(async || usage.flush().await).await {
        tracing::error!(%error, "usage could not be written");
    }
    if let Err(error) = requests.flush().await {
        tracing::error!(%error, "recent requests could not be written");
    }
    if let Err(error) = authenticator.flush().await {
        tracing::error!(%error, "last uses of keys could not be written");
    }
    budgets.close().await;
    if let Some(city) = sample_city {
        city.stop().await;
    }
    tracing::info!("stopped");
    Ok(())
}

/// MCP beside REST, for clients that use the host's public name or this machine's.
fn mcp(
    config: &Config,
    service: &Service,
    address: std::net::SocketAddr,
) -> anyhow::Result<brownstone_http::Mount> {
    let (hosts, origins) = config.mcp_access(address);
    let mcp = brownstone_mcp::Mcp::new(service.clone(), hosts, origins)?;
    Ok(Arc::new(move |paths| mcp.configure(paths)))
}

fn announce(base_url: &str, config: &Config, city: &parts::City, sample_url: Option<String>) {
    let kind = match sample_url {
        Some(_) => "sample city: the records are invented",
        None => "the city's own records",
    };
    say(&format!(
        "Brownstone {} ({}), {kind}; {} sources, addresses by {}",
        env!("CARGO_PKG_VERSION"),
        config.environment.as_str(),
        city.registry.len(),
        city.geocoder.name(),
    ));
    if let Some(url) = sample_url {
        say(&format!("sample city listening on {url}"));
    }
    say(&format!("API listening on {base_url}"));
}

fn introduce(base_url: &str, key: &str) {
    say(&format!("key for {}: {key}", sample::EMAIL));
    say("try:");
    say(&format!(
        "  curl -s {base_url}/v1/lookup -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{{\"address\":\"350 5th Ave, Manhattan\"}}'"
    ));
}

/// The sales: in the sample fetched now, else the index in place and what takes its place.
async fn sell(
    config: &Config,
    store: &Store,
    city: &parts::City,
    clock: &Arc<dyn Clock>,
    comps: Comps,
    sample: bool,
) -> anyhow::Result<Vec<tokio::task::JoinHandle<()>>> {
    let soda = Arc::clone(&city.deps.city.soda);
    if sample {
        sales::take_up_sample(&comps, sample::sales(soda.as_ref()).await?);
        return Ok(vec![]);
    }
    let path = sales::sales_index(config);
    let shared = sales::shared_store(config, store).cloned();
    let mut copy = shared
        .clone()
        .map(|store| sales::Copy::of(store, path.clone()));
    if let Some(copy) = &mut copy
        && let Err(error) = copy.fetch_newest().await
    {
        tracing::warn!("{error:#}");
    }
    let mut file = SalesFile::at(path.clone());
    match file.look() {
        Ok(Some(index)) => sales::take_up(&comps, index, &path).await,
        Ok(None) => tracing::info!("no sales are loaded: brownstone sync sales does it"),
        Err(error) => tracing::warn!("{error:#}"),
    }
    Ok(vec![
        tokio::spawn(sales::watch(file, comps, copy)),
        tokio::spawn(sales::refresh_daily(
            path,
            soda,
            store.leases(),
            Arc::clone(clock),
            shared,
        )),
    ])
}

fn readiness(
    store: &Store,
    traffic: &Arc<Traffic>,
    city: &parts::City,
    comps: &Comps,
) -> Readiness {
    let (store, traffic) = (store.clone(), Arc::clone(traffic));
    let (geocoder, comps) = (Arc::clone(&city.geocoder), comps.clone());
    Arc::new(move || {
        let (store, geocoder, comps) = (store.clone(), Arc::clone(&geocoder), comps.clone());
        let stopping = traffic.is_stopping();
        Box::pin(async move {
            if stopping {
                return Err(json!({"status": "stopping"}));
            }
            match store.ping().await {
                Ok(()) => Ok(
                    json!({"status": "ready", "database": store.database_name(), "addresses": geocoder.name(),
                           "indexes": {"pad": geocoder.version(), "sales": comps.version()}}),
                ),
                Err(error) => {
                    tracing::error!(%error, "not ready");
                    Err(json!({"status": "not ready", "database": "unreachable"}))
                }
            }
        })
    })
}

/// Takes up each finished import of addresses: this machine's, and where the database is shared another's.
async fn watch_imports(
    mut file: IndexFile,
    geocoder: Arc<Addresses>,
    lookups: brownstone_service::Lookups,
    shared: Option<Store>,
) {
    let mut next = tokio::time::interval(LOOK);
    let mut last_fault = None;
    loop {
        next.tick().await;
        // An import on another instance is in the shared database first.
        if let Some(store) = &shared {
            let fault = addresses::fetch_newest(store, file.path())
                .await
                .err()
                .map(|error| format!("{error:#}"));
            if let Some(fault) = fault.as_ref().filter(|_| fault != last_fault) {
                tracing::warn!("{fault}; addresses are resolved as before");
            }
            last_fault = fault;
        }
        match file.look() {
            Ok(None) => {}
            Ok(Some(index)) => {
                geocoder.take_up(index);
                lookups.forget_addresses();
                tracing::info!("an imported address index is in use");
            }
            Err(error) => {
                tracing::warn!("{error:#}; addresses are resolved as before");
            }
        }
    }
}

/// Drops once a day what nobody asks for any more: expired reports, counters of long ago, leases that ended.
async fn purge_daily(lookups: brownstone_service::Lookups, store: Store, clock: Arc<dyn Clock>) {
    let mut daily = tokio::time::interval(Duration::from_secs(86_400));
    loop {
        daily.tick().await;
        let long_ago = clock.now().date().saturating_sub(USAGE_KEPT_FOR);
        let outcomes = [
            ("reports", lookups.purge().await.map_err(|e| e.to_string())),
            (
                "counters of use",
                store.purge_usage(long_ago).await.map_err(|e| e.to_string()),
            ),
            (
                "leases",
                store.purge_leases(None).await.map_err(|e| e.to_string()),
            ),
        ];
        let all_well = outcomes.iter().all(|(_, outcome)| outcome.is_ok());
        brownstone_service::metrics::job("purge", all_well);
        for (what, outcome) in outcomes {
            match outcome {
                Ok(gone) => tracing::debug!(gone, "old {what} were dropped"),
                Err(error) => tracing::warn!(%error, "old {what} could not be dropped"),
            }
        }
    }
}

/// Two servers on one SQLite file would be two budgets. The lock ends with the process, however it ends.
fn lock_file(database_url: &str) -> anyhow::Result<Option<File>> {
    let Some(path) = database_url.strip_prefix("sqlite://") else {
        return Ok(None);
    };
    let mut lock_path = PathBuf::from(path).into_os_string();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    if let Some(folder) = lock_path.parent().filter(|f| *f != Path::new("")) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .with_context(|| format!("cannot open {}", lock_path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => {
            bail!("another server runs on {path}: two would be two budgets")
        }
        Err(std::fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", lock_path.display()))
        }
    }
}
