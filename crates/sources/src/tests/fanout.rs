//! All sources at once: deadlines, panics, gates, order.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use async_trait::async_trait;
use brownstone_domain::{SourceEntry, SourceStatus};
use tokio::time::Instant;

use super::{
    empire,
    fake::{Fault, fake},
    fixtures::load,
    registry,
};
use crate::{
    Deadlines, LotKind, Registry, Source, SourceInfo, Subject,
    catalogue::{FILES, parse},
};

fn all() -> (Arc<super::FakeSoda>, Registry) {
    let soda = fake();
    for (key, _) in FILES {
        load(key, &soda);
    }
    let registry = registry(&soda);
    (soda, registry)
}

fn statuses(entries: &[(String, SourceEntry)]) -> Vec<(&str, SourceStatus)> {
    entries
        .iter()
        .map(|(key, entry)| (key.as_str(), entry.status()))
        .collect()
}

#[tokio::test]
async fn there_is_one_entry_a_source_in_registry_order() {
    let (soda, registry) = all();
    let entries = registry
        .assemble(Arc::new(empire()), None, Deadlines::default())
        .await;
    let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, registry.keys().collect::<Vec<_>>());
    assert!(
        entries
            .iter()
            .all(|(_, entry)| entry.status() == SourceStatus::Ok),
        "{:?}",
        statuses(&entries)
    );
    let together = soda.most_in_flight.load(SeqCst);
    assert!(together >= FILES.len(), "{together} at once");
}

#[tokio::test]
async fn only_the_asked_sources_run() {
    let (soda, registry) = all();
    let only: HashSet<String> = ["nyc_evictions".to_owned(), "nyc_ecb".to_owned()].into();
    let entries = registry
        .assemble(Arc::new(empire()), Some(&only), Deadlines::default())
        .await;
    assert_eq!(
        statuses(&entries),
        [
            ("nyc_ecb", SourceStatus::Ok),
            ("nyc_evictions", SourceStatus::Ok)
        ]
    );
    assert_eq!(soda.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silent_source_is_an_error_at_its_deadline_and_leaves_the_others_alone() {
    let (soda, registry) = all();
    soda.fail("6z8x-wfk4", Fault::Silent);
    let start = Instant::now();
    let entries = registry
        .assemble(Arc::new(empire()), None, Deadlines::default())
        .await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    for (key, status) in statuses(&entries) {
        let expected = if key == "nyc_evictions" {
            SourceStatus::Error
        } else {
            SourceStatus::Ok
        };
        assert_eq!(status, expected, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_report_ends_before_its_sources_when_its_own_time_is_over() {
    let (soda, registry) = all();
    soda.fail("6z8x-wfk4", Fault::Silent);
    let start = Instant::now();
    let limits = Deadlines {
        source: Duration::from_secs(10),
        report: Duration::from_secs(3),
    };
    let entries = registry.assemble(Arc::new(empire()), None, limits).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(entries.len(), FILES.len());
}

#[tokio::test]
async fn a_panicking_source_is_an_error_and_leaves_the_others_alone() {
    let (soda, registry) = all();
    soda.fail("6bgk-3dad", Fault::Panic);
    let entries = registry
        .assemble(Arc::new(empire()), None, Deadlines::default())
        .await;
    for (key, status) in statuses(&entries) {
        let expected = if key == "nyc_ecb" {
            SourceStatus::Error
        } else {
            SourceStatus::Ok
        };
        assert_eq!(status, expected, "{key}");
    }
}

/// Any one dataset in any of the ways it can fail: its source errs, no other does.
#[tokio::test]
async fn one_failing_dataset_is_one_error() {
    use brownstone_soda::SodaError;
    let faults = [
        SodaError::Unavailable("the body was cut".into()),
        SodaError::Throttled,
        SodaError::Gone { status: 404 },
        SodaError::BadQuery {
            code: "query.soql.type-mismatch".into(),
        },
        SodaError::NoSuchColumn {
            column: "bin".into(),
        },
    ];
    let (soda, registry) = all();
    let datasets: HashMap<String, Vec<String>> = registry
        .describe()
        .into_iter()
        .map(|info| (info.key, info.datasets))
        .collect();
    for (at, (key, text)) in FILES.iter().enumerate() {
        soda.heal();
        // Anew, so that nothing is remembered of a table that fails now.
        let registry = super::registry(&soda);
        let entry = parse(&format!("{key}.toml"), text).unwrap();
        let fault = faults[at % faults.len()].clone();
        soda.fail(entry.dataset.as_str(), Fault::Error(fault));
        let entries = registry
            .assemble(Arc::new(empire()), None, Deadlines::default())
            .await;
        let shares = |other: &str| datasets[other].contains(&entry.dataset.to_string());
        for (other, status) in statuses(&entries) {
            if other == *key {
                assert_eq!(status, SourceStatus::Error, "{key}");
            } else if !shares(other) {
                assert_eq!(status, SourceStatus::Ok, "{other} while {key} fails");
            }
        }
    }
}

struct Gated(SourceInfo, bool);

#[async_trait]
impl Source for Gated {
    fn info(&self) -> &SourceInfo {
        &self.0
    }

    fn gated(&self) -> bool {
        self.1
    }

    async fn fetch(&self, _: &Subject, _: Instant) -> SourceEntry {
        assert!(!self.1, "a gated source is never fetched");
        SourceEntry::without_data(SourceStatus::NotFound)
    }
}

fn listings(gated: bool) -> Arc<dyn Source> {
    let info = SourceInfo {
        key: "listings".into(),
        ..SourceInfo::default()
    };
    Arc::new(Gated(info, gated))
}

#[tokio::test]
async fn a_gated_source_says_so_and_the_fingerprint_tells() {
    let gated = Registry::new(vec![listings(true)]);
    let free = Registry::new(vec![listings(false)]);
    let subject = Arc::new(empire());
    let limits = Deadlines::default();
    let entries = gated.assemble(Arc::clone(&subject), None, limits).await;
    assert_eq!(statuses(&entries), [("listings", SourceStatus::Gated)]);
    let entries = free.assemble(subject, None, limits).await;
    assert_eq!(statuses(&entries), [("listings", SourceStatus::NotFound)]);
    assert_eq!(gated.gated_keys().collect::<Vec<_>>(), ["listings"]);
    assert_eq!(free.gated_keys().count(), 0);
    assert_ne!(gated.fingerprint(), free.fingerprint());
}

#[test]
fn the_fingerprint_changes_with_every_source() {
    let soda = fake();
    let built_in = registry(&soda);
    let more = built_in.with(listings(true));
    assert_eq!(more.len(), built_in.len() + 1);
    assert_ne!(more.fingerprint(), built_in.fingerprint());
    assert_eq!(built_in.fingerprint(), registry(&soda).fingerprint());
    let repeated = more.with(listings(false));
    assert_eq!(repeated.len(), more.len(), "an entry has one owner");
}

#[test]
fn the_unit_lot_sources_are_known() {
    let registry = registry(&fake());
    let unit: Vec<&str> = registry.unit_lot_keys().collect();
    assert!(unit.contains(&"nyc_acris") && unit.contains(&"nyc_dof_assessments"));
    assert!(!unit.contains(&"nyc_hpd_violations"));
    for info in registry.describe() {
        assert_eq!(unit.contains(&info.key.as_str()), info.lot == LotKind::Unit);
        assert!(!info.fields.is_empty() && !info.url.is_empty() && !info.tells.is_empty());
    }
}
