//! The sources as a whole, over a publisher in memory.

mod documents;
mod drift;
mod fake;
mod fanout;
mod fixtures;
mod lots;
mod metadata;
mod real;
mod traps;
mod traps_buildings;
mod traps_property;
mod unnamed;

use std::sync::Arc;

use brownstone_domain::{Bbl, Bin, Borough, ManualClock, SourceEntry, SourceStatus};
use serde_json::Value;
use time::{OffsetDateTime, macros::datetime};
use tokio::time::Instant;

use self::fake::{FakeSoda, fake};
use crate::{
    Deadlines, Deps, NoUpdates, Publisher, Registry, Source, Subject, Updates, built_in,
    catalogue::{FILES, parse},
    deps::Shared,
};

pub(crate) const NOW: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

pub(crate) fn deps(soda: &Arc<FakeSoda>, updates: Arc<dyn Updates>) -> Deps {
    let publisher = Publisher {
        soda: soda.clone(),
        updates,
    };
    Deps {
        city: publisher.clone(),
        state: publisher,
        clock: Arc::new(ManualClock::at(NOW)),
    }
}

/// One built-in source over `soda`.
pub(crate) fn source(key: &str, soda: &Arc<FakeSoda>) -> Arc<dyn Source> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == key).unwrap();
    let shared = Arc::new(Shared::new(deps(soda, Arc::new(NoUpdates))));
    built_in::source(&format!("{key}.toml"), text, &shared).unwrap()
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Deadlines::default().source
}

pub(crate) async fn ask(key: &str, soda: &Arc<FakeSoda>, subject: &Subject) -> SourceEntry {
    source(key, soda).fetch(subject, soon()).await
}

/// `data` of an entry that must be `ok`.
pub(crate) fn data(entry: &SourceEntry) -> Value {
    assert_eq!(entry.status(), SourceStatus::Ok);
    serde_json::from_str(entry.data().unwrap().get()).unwrap()
}

pub(crate) async fn ask_ok(key: &str, soda: &Arc<FakeSoda>, subject: &Subject) -> Value {
    data(&ask(key, soda, subject).await)
}

pub(crate) fn bbl(text: &str) -> Bbl {
    text.parse().unwrap()
}

pub(crate) fn bin(text: &str) -> Bin {
    text.parse().unwrap()
}

/// 350 5 AVENUE.
pub(crate) fn empire() -> Subject {
    Subject {
        lot_bins: vec![bin("1015862")],
        house_number: Some("350".into()),
        street: Some("5 AVENUE".into()),
        latitude: Some(40.7484),
        longitude: Some(-73.9857),
        zip: Some("10118".parse().unwrap()),
        ..Subject::of(
            Some(bbl("1008350041")),
            Some(bin("1015862")),
            Borough::Manhattan,
        )
    }
}

/// The lot of 2121 EASTCHESTER ROAD and 1401 PELHAM PARKWAY SOUTH: two buildings, so no BIN.
pub(crate) fn eastchester() -> Subject {
    Subject {
        lot_bins: vec![bin("2097543"), bin("2097546")],
        ..Subject::of(Some(bbl("2042050001")), None, Borough::Bronx)
    }
}

pub(crate) fn registry(soda: &Arc<FakeSoda>) -> Registry {
    crate::catalogue(deps(soda, Arc::new(NoUpdates))).unwrap()
}

/// A column of the records, in order.
pub(crate) fn column(data: &Value, name: &str) -> Vec<String> {
    data["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| match &record[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect()
}

#[test]
fn every_file_of_the_catalogue_is_right() {
    for (key, text) in FILES {
        if let Err(error) = parse(&format!("{key}.toml"), text) {
            panic!("{error}");
        }
    }
    let keys: Vec<String> = registry(&fake()).keys().map(str::to_owned).collect();
    assert_eq!(keys.len(), FILES.len());
    for fixed in ["nyc_ecb", "nyc_dob", "nyc_dob_jobs"] {
        assert!(keys.iter().any(|key| key == fixed), "{fixed}");
    }
}
