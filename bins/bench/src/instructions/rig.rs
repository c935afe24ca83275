//! The API host without a listener, over one report of 50 kB: everything else is the program's own.

use std::{future::poll_fn, pin::pin, sync::Arc};

use actix_web::{
    body::MessageBody as _,
    http::{StatusCode, header},
    test::{TestRequest, init_service},
};
use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use brownstone_accounts::{
    Accounts, Actor, Authenticator, Environment, Overrides, RequestLog, Role, Tier, UsageRecorder,
};
use brownstone_address::{pad::PadIndex, resolver::PadGeocoder};
use brownstone_domain::{Clock, SourceEntry, SourceStatus, SystemClock, Units};
use brownstone_http::{Api, app::app, metrics::Wire};
use brownstone_listings::Listings;
use brownstone_quota::{MemoryOptions, MemoryQuota};
use brownstone_rates::{ConformingLimits, Feeds, Fred, Rates};
use brownstone_report_cache::{CacheConfig, RegistryView, ReportCache};
use brownstone_service::{Lookups, Parts, Resolutions, Service, admission::AdmissionLimits};
use brownstone_soda::SodaClient;
use brownstone_sources::{Directory, Registry, Source, SourceInfo, Subject};
use brownstone_store::Store;
use brownstone_upstream::{Upstream, UpstreamConfig};
use serde_json::{json, value::RawValue};
use tokio::time::Instant;

use crate::parts::address::City;

/// Bytes of the report.
const SIZE: usize = 50_000;

/// Texts that are asked in turn.
const TEXTS: usize = 1_000;

/// Nobody listens there, and nothing of what is counted asks.
const NOWHERE: &str = "http://127.0.0.1:1";

/// Enough for every run.
const ROOM: Overrides = Overrides {
    per_minute: Some(100_000_000),
    per_day: Some(1_000_000_000),
    until: None,
};

/// The one source: the same records whatever the building.
struct Records {
    info: SourceInfo,
    data: Box<RawValue>,
}

impl Records {
    fn new() -> anyhow::Result<Self> {
        let mut records = Vec::new();
        let mut size = 0;
        while size < SIZE {
            let number = records.len();
            let record = json!({
                "ecb_violation_number": format!("{:08}M", 35_000_000 + number * 7_919),
                "violation_type": "Construction", "severity": "CLASS - 2", "penality_imposed": number * 131 % 25_000,
                "violation_description": "WORK WITHOUT A PERMIT", "issue_date": format!("2024-{:02}-11T00:00:00.000", number % 12 + 1),
            });
            size += record.to_string().len() + 1;
            records.push(record);
        }
        Ok(Self {
            info: SourceInfo {
                key: "nyc_ecb".to_owned(),
                ..SourceInfo::default()
            },
            data: serde_json::value::to_raw_value(&json!({ "records": records }))?,
        })
    }
}

#[async_trait]
impl Source for Records {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    async fn fetch(&self, _: &Subject, _: Instant) -> SourceEntry {
        SourceEntry::from_stored(SourceStatus::Ok, Some(self.data.clone()))
    }
}

/// The service, a key, and addresses it knows.
struct Rig {
    service: Service,
    key: String,
    texts: Vec<String>,
    // Dropped last: the database lies in it.
    _folder: tempfile::TempDir,
}

impl Rig {
    async fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let city = City::small();
        city.write(folder.path())?;
        let (index, _) = PadIndex::open_dir(folder.path())?;
        let store = Store::open(&format!(
            "sqlite://{}",
            folder.path().join("rig.db").display()
        ))?;
        store.migrate().await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(store.accounts(), Arc::clone(&clock), Environment::Test);
        let account = accounts
            .create(
                "rig@example.com",
                Tier::Pro,
                Role::Developer,
                Actor::Command,
            )
            .await?;
        let key = accounts
            .create_key(&account.id, None, Actor::Command)
            .await?;
        accounts
            .set_limits(&account.id, ROOM, "to be measured", Actor::Command)
            .await?;
        let upstream = || Upstream::new(UpstreamConfig::new("nowhere", NOWHERE));
        let directory = Arc::new(Directory::new(Arc::new(SodaClient::new(upstream()?, None))));
        let registry = Registry::new(vec![Arc::new(Records::new()?)]);
        let reports = ReportCache::new(
            store.reports(),
            store.leases(),
            Arc::clone(&clock),
            RegistryView::new(registry.keys().map(|key| (key.to_owned(), false))),
            "rig".to_owned(),
            CacheConfig::default(),
        );
        let geocoder = Arc::new(PadGeocoder::new(Arc::new(index)));
        let lookups = Lookups::new(
            Resolutions::new(geocoder, Arc::clone(&clock)),
            reports,
            registry,
            directory,
            Arc::clone(&clock),
            false,
        );
        let quota = MemoryQuota::open(
            Arc::clone(&clock),
            MemoryOptions {
                block: Units::new(100_000_000),
                ..MemoryOptions::default()
            },
            store.spent_ledger(),
        );
        let service = Service::noting(
            Parts {
                authenticator: Arc::new(Authenticator::start(
                    store.accounts(),
                    Arc::clone(&clock),
                    Environment::Test,
                )),
                quota: Arc::new(quota.await?),
                usage: Arc::new(UsageRecorder::start(store.usage())),
                lookups,
                listings: Arc::new(Listings::new(
                    Arc::default(),
                    store.listing_store(),
                    Arc::clone(&clock),
                    None,
                )),
                rates: Rates::new(
                    Feeds::new(Fred::Download(upstream()?), upstream()?),
                    store.rates(),
                    Arc::clone(&clock),
                    ConformingLimits::built_in()?,
                ),
                clock: Arc::clone(&clock),
                admission: AdmissionLimits::default(),
                runtime: tokio::runtime::Handle::current(),
            },
            Arc::new(RequestLog::start(store.requests())),
        );
        // One building, in as many ways of writing as are asked for.
        let text = city.texts().next().context("the city has an address")?;
        Ok(Self {
            service,
            key: key.key.expose().to_owned(),
            texts: crate::parts::warm::ways(text, TEXTS),
            _folder: folder,
        })
    }
}

/// One lookup after the other, each by the next text.
pub(super) fn warm_lookup(measure: &mut dyn FnMut(&mut dyn FnMut())) -> anyhow::Result<()> {
    let background = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let rig = background.block_on(Rig::start())?;
    let api = Api {
        service: rig.service.clone(),
        traffic: Arc::default(),
        readiness: Arc::new(|| Box::pin(async { Ok(json!({})) })),
        version: json!({}),
        beside: vec![],
        base_url: NOWHERE.to_owned(),
        document: Arc::default(),
    };
    let wire = Arc::new(Wire::default());
    let system = actix_web::rt::System::new();
    let host = system.block_on(init_service(app(&api, &wire)));
    let authorization = format!("Bearer {}", rig.key);
    let bodies: Vec<String> = (rig.texts.iter())
        .map(|text| json!({ "address": text }).to_string())
        .collect();
    let ask = async |body: &str| {
        let request = TestRequest::post()
            .uri("/v1/lookup")
            .insert_header((header::AUTHORIZATION, authorization.as_str()))
            .insert_header((header::CONTENT_TYPE, "application/json"))
            .set_payload(body.to_owned())
            .to_request();
        let answer = actix_web::test::call_service(&host, request).await;
        let status = answer.status();
        // Not put together: a copy of the body would be most of what is counted, and differs from one processor to the next.
        let mut body = pin!(answer.into_body());
        let mut size = 0;
        while let Some(Ok(piece)) = poll_fn(|context| body.as_mut().poll_next(context)).await {
            size += piece.len();
        }
        (status, size)
    };
    // The first makes the report; of the others each makes its text known.
    for body in &bodies {
        let (status, size) = system.block_on(ask(body));
        ensure!(
            status == StatusCode::OK && size > SIZE,
            "{status}, {size} bytes for {body}"
        );
    }
    let mut next = bodies.iter().cycle();
    let mut failed = 0;
    measure(&mut || {
        if let Some(body) = next.next() {
            let (status, _) = system.block_on(ask(body));
            failed += usize::from(status != StatusCode::OK);
        }
    });
    ensure!(failed == 0, "{failed} lookups failed");
    Ok(())
}
