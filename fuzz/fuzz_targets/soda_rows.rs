//! Any body in place of a publisher's rows makes an entry of the report, whatever the source, and no panic. What is `ok` has data, nothing
//! else has, and the entry is JSON that reads back.
//!
//! The first byte chooses the source, the rest is the answer to each of its queries.
#![no_main]

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use brownstone_domain::{Borough, ManualClock, SourceStatus};
use brownstone_soda::{DatasetId, Metadata, Query, Rows, Soda, SodaError, fuzzing};
use brownstone_sources::{Deadlines, Deps, NoUpdates, Publisher, Registry, Subject};
use libfuzzer_sys::fuzz_target;
use time::macros::datetime;
use tokio::{runtime::Runtime, time::Instant};

/// Answers every query alike.
#[derive(Default)]
struct Host(Mutex<Vec<u8>>);

#[async_trait::async_trait]
impl Soda for Host {
    async fn rows(&self, _: &Query, _: Instant) -> Result<Rows, SodaError> {
        fuzzing::rows(&self.0.lock().expect("nobody panicked"))
    }

    async fn metadata(&self, _: &DatasetId, _: Instant) -> Result<Metadata, SodaError> {
        Err(SodaError::Gone { status: 404 })
    }
}

struct City {
    host: Arc<Host>,
    registry: Registry,
    keys: Vec<String>,
    subject: Arc<Subject>,
    runtime: Runtime,
}

static CITY: LazyLock<City> = LazyLock::new(|| {
    let host = Arc::new(Host::default());
    let publisher = Publisher {
        soda: host.clone(),
        updates: Arc::new(NoUpdates),
    };
    let registry = brownstone_sources::catalogue(Deps {
        city: publisher.clone(),
        state: publisher,
        clock: Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC))),
    })
    .expect("the catalogue is whole");
    let (bbl, bin) = ("1008350041".parse().ok(), "1015862".parse().ok());
    City {
        keys: registry.keys().map(str::to_owned).collect(),
        host,
        registry,
        subject: Arc::new(Subject::of(bbl, bin, Borough::Manhattan)),
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime"),
    }
});

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else {
        return;
    };
    let city = &*CITY;
    let key = &city.keys[usize::from(*choice) % city.keys.len()];
    *city.host.0.lock().expect("nobody panicked") = body.to_vec();
    let only = HashSet::from([key.clone()]);
    let limits = Deadlines {
        source: Duration::from_secs(2),
        report: Duration::from_secs(3),
    };
    let work = city.registry.assemble(city.subject.clone(), Some(&only), limits);
    let entries = city.runtime.block_on(work);
    let [(_, entry)] = &entries[..] else {
        panic!("one source was asked, {} answered", entries.len());
    };
    let text = serde_json::to_string(entry).expect("an entry is JSON");
    let read: serde_json::Value = serde_json::from_str(&text).expect("it reads back");
    let is_ok = entry.status() == SourceStatus::Ok;
    assert_eq!(read["data"].is_null(), !is_ok, "{key}: {text}");
});
