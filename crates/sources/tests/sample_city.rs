//! All sources over HTTP, against the made-up city, which is as strict about types, paddings and columns as the real one.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use brownstone_domain::{Bbl, Bin, ManualClock, SourceEntry, SourceStatus};
use brownstone_sample_city::{FLOOD, Fault, FaultKind, SampleCity};
use brownstone_soda::SodaClient;
use brownstone_sources::{Deadlines, Deps, Directory, FloodZones, Publisher, Registry, Subject};
use brownstone_upstream::{Upstream, UpstreamConfig};
use serde_json::{Map, Value, json};
use time::macros::datetime;
use tokio::time::Instant;

fn upstream(city: &SampleCity, name: &str) -> Upstream {
    Upstream::new(UpstreamConfig::new(name, city.url())).unwrap()
}

fn registry(city: &SampleCity) -> (Registry, Directory) {
    let soda = |name| Arc::new(SodaClient::new(upstream(city, name), None));
    let publisher = Publisher::new(soda("city"));
    let directory = Directory::new(Arc::clone(&publisher.soda));
    let deps = Deps {
        city: publisher,
        state: Publisher::new(soda("state")),
        clock: Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC))),
    };
    let flood = FloodZones::new(upstream(city, "flood"), directory.clone());
    let registry = brownstone_sources::catalogue(deps).unwrap();
    (registry.with(Arc::new(flood)), directory)
}

async fn city() -> SampleCity {
    SampleCity::start(([127, 0, 0, 1], 0).into()).await.unwrap()
}

/// A building of the made-up city, with coordinates and neighbours from the city's own tables.
async fn subject(directory: &Directory, bbl: &str, bin: Option<&str>) -> Subject {
    let bbl: Bbl = bbl.parse().unwrap();
    let deadline = Instant::now() + Deadlines::default().source;
    let lot = directory.lot(bbl, deadline).await.unwrap();
    let buildings = directory.buildings_on(bbl, deadline).await.unwrap();
    let mut subject = Subject::of(
        Some(bbl),
        bin.map(|bin| bin.parse().unwrap()),
        bbl.borough(),
    );
    subject.lot_bins = buildings
        .iter()
        .map(|building| building.bin)
        .collect::<Vec<Bin>>();
    if let Some(lot) = lot {
        (subject.latitude, subject.longitude, subject.zip) = (lot.latitude, lot.longitude, lot.zip);
    }
    subject
}

/// The buildings that the made-up city knows by name: lot and building.
const NAMED: [(&str, Option<&str>); 12] = [
    ("1008350041", Some("1015862")),
    ("1000477501", Some("1001026")),
    ("1018890001", Some("1057127")),
    ("2042050001", Some("2097543")),
    ("2042050001", Some("2097546")),
    ("2023597501", Some("2117344")),
    ("3052960043", Some("3340270")),
    ("3082260013", Some("3231074")),
    ("4001600029", Some("4001899")),
    ("4091190011", Some("4189606")),
    ("5033780070", Some("5050009")),
    // The lot's own report, which has no BIN.
    ("2042050001", None),
];

fn data(entry: &SourceEntry) -> Value {
    serde_json::from_str(entry.data().unwrap().get()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_source_errs_on_any_named_building_and_nearly_all_have_something() {
    let city = city().await;
    let (registry, directory) = registry(&city);
    let mut with_data: HashSet<String> = HashSet::new();
    for (bbl, bin) in NAMED {
        let subject = Arc::new(subject(&directory, bbl, bin).await);
        let entries = registry.assemble(subject, None, Deadlines::default()).await;
        assert_eq!(entries.len(), registry.len());
        for (key, entry) in &entries {
            assert_ne!(
                entry.status(),
                SourceStatus::Error,
                "{key} on {bbl} {bin:?}"
            );
            if entry.status() == SourceStatus::Ok {
                with_data.insert(key.clone());
            }
        }
    }
    let without: Vec<&str> = registry
        .keys()
        .filter(|key| !with_data.contains(*key))
        .collect();
    assert!(
        without.is_empty(),
        "nothing on any named building: {without:?}"
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_and_order_hold_over_the_wire() {
    let city = city().await;
    let (registry, directory) = registry(&city);
    let mut most = (0, String::new());
    for (bbl, bin) in NAMED {
        let subject = Arc::new(subject(&directory, bbl, bin).await);
        let only = HashSet::from(["nyc_ecb".to_owned()]);
        let entries = registry
            .assemble(subject, Some(&only), Deadlines::default())
            .await;
        let Some((_, entry)) = entries.first().filter(|(_, entry)| entry.data().is_some()) else {
            continue;
        };
        let data = data(entry);
        let count = data["ecb_total_violations"].as_u64().unwrap();
        if count > most.0 {
            most = (count, bbl.to_owned());
        }
        let records = data["records"].as_array().unwrap();
        assert_eq!(records.len() as u64, count.min(100));
        assert_eq!(data["ecb_violations_truncated"], count > 100);
        let dates: Vec<&str> = records
            .iter()
            .map(|record| record["issue_date"].as_str().unwrap_or_default())
            .filter(|date| (&"19000101"..=&"20261128").contains(&date) && date.len() == 8)
            .collect();
        assert!(dates.windows(2).all(|pair| pair[0] >= pair[1]), "{dates:?}");
    }
    // One named building has 250 violations, a rubbish date among them.
    assert_eq!(most.0, 250, "on {}", most.1);
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_fault_is_one_error() {
    let city = city().await;
    let (_, directory) = registry(&city);
    let subject = Arc::new(subject(&directory, NAMED[0].0, NAMED[0].1).await);
    let kinds = [
        FaultKind::Error,
        FaultKind::Timeout,
        FaultKind::SlowDrip,
        FaultKind::Disconnect,
        FaultKind::CutBody,
        FaultKind::WrongJson,
        FaultKind::Html,
        FaultKind::HugeBody,
        FaultKind::GzipBomb,
        FaultKind::Throttle,
        FaultKind::Gone,
        FaultKind::Preparing,
    ];
    for kind in kinds {
        // A city of its own: a breaker that one fault opened would answer for the next.
        let (registry, _) = registry(&city);
        city.control().clear_faults();
        city.control().set_fault("6z8x-wfk4", Fault::new(kind));
        let mut limits = Deadlines::default();
        let mut only = None;
        if matches!(kind, FaultKind::Timeout | FaultKind::SlowDrip) {
            // Silence takes a source's whole time: here it is given less. So few others have enough of it on a busy machine.
            limits.source = limits.source.min(std::time::Duration::from_secs(6));
            let keys = ["nyc_evictions", "nyc_ecb", "nyc_hpd_violations"];
            only = Some(HashSet::from(keys.map(str::to_owned)));
        }
        let entries = registry
            .assemble(Arc::clone(&subject), only.as_ref(), limits)
            .await;
        let errors: BTreeMap<&str, SourceStatus> = entries
            .iter()
            .filter(|(_, entry)| entry.status() == SourceStatus::Error)
            .map(|(key, entry)| (key.as_str(), entry.status()))
            .collect();
        assert_eq!(
            errors.keys().copied().collect::<Vec<_>>(),
            ["nyc_evictions"],
            "{kind:?}"
        );
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_without_a_bin_and_lists_of_lots_are_found_over_the_wire() {
    fn rows(rows: Value) -> Vec<Map<String, Value>> {
        serde_json::from_value(rows).unwrap()
    }
    let city = city().await;
    let (registry, directory) = registry(&city);
    city.control().load(
        "hg8x-zxpr",
        vec![],
        rows(json!([
            {"project_id": "1", "bbl": "1008350041"},
            {"project_id": "2", "bbl": "1008350041", "bin": "1000000"},
            {"project_id": "3", "bbl": "1008350042"},
        ])),
    );
    city.control().load(
        "5zyy-y8am",
        vec![],
        rows(json!([
            {"report_year": "2024", "nyc_borough_block_and_lot": "1008350099;1008350041"},
            {"report_year": "2023", "nyc_borough_block_and_lot": "11008350041"},
        ])),
    );
    let mut subject = subject(&directory, NAMED[0].0, NAMED[0].1).await;
    subject.lot_bins = subject.bin.into_iter().collect();
    let wanted = ["nyc_hpd_affordable_housing", "nyc_energy_benchmarking"].map(str::to_owned);
    let only = HashSet::from(wanted);
    let entries = registry
        .assemble(Arc::new(subject), Some(&only), Deadlines::default())
        .await;
    let counts: BTreeMap<&str, Value> = entries
        .iter()
        .map(|(key, entry)| (key.as_str(), data(entry)["record_count"].clone()))
        .collect();
    assert_eq!(counts["nyc_hpd_affordable_housing"], 2);
    assert_eq!(counts["nyc_energy_benchmarking"], 1);
    city.stop().await;
}

/// A typed unit with a lot of its own: its values and deeds, the building's violations, the base lots' zoning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_of_a_condominium_has_its_own_values() {
    let city = city().await;
    let (registry, directory) = registry(&city);
    let billing: Bbl = "1000477501".parse().unwrap();
    let deadline = Instant::now() + Deadlines::default().source;
    let building = subject(&directory, "1000477501", Some("1001026")).await;
    let bases = directory.base_lots(billing, deadline).await.unwrap();
    assert!(!bases.is_empty());

    let only = |keys: &[&str]| {
        keys.iter()
            .map(|key| (*key).to_owned())
            .collect::<HashSet<_>>()
    };
    let units = registry
        .assemble(
            Arc::new(building.clone()),
            Some(&only(&["nyc_condominium_units", "nyc_zoning_tax_lots"])),
            Deadlines::default(),
        )
        .await;
    let units: BTreeMap<String, SourceEntry> = units.into_iter().collect();
    let listed = data(&units["nyc_condominium_units"]);
    assert_eq!(units["nyc_zoning_tax_lots"].status(), SourceStatus::Ok);

    // A unit of the list is found by its name, and leads back to the building.
    let mut valued = 0;
    for record in listed["records"].as_array().unwrap() {
        let unit: Bbl = record["unit_bbl"].as_str().unwrap().parse().unwrap();
        let named = record["unit_designation"].as_str().unwrap_or_default();
        let found = directory.unit_lot(billing, named, deadline).await.unwrap();
        assert_eq!(found, Some(unit), "{named}");
        let back = directory.billing_lot(unit, deadline).await.unwrap();
        assert_eq!(back, Some(billing));
        let typed = Subject {
            unit_bbl: Some(unit),
            ..building.clone()
        };
        let entries = registry
            .assemble(
                Arc::new(typed),
                Some(&only(&["nyc_dof_assessments", "nyc_hpd_violations"])),
                Deadlines::default(),
            )
            .await;
        for (key, entry) in &entries {
            assert_ne!(entry.status(), SourceStatus::Error, "{key}");
            if key == "nyc_dof_assessments" && entry.status() == SourceStatus::Ok {
                assert_eq!(data(entry)["matched_by"], "unit_bbl");
                valued += 1;
            }
        }
    }
    assert!(valued > 0, "no unit has values of its own");
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_zone_without_an_elevation_has_none() {
    let city = city().await;
    let (registry, directory) = registry(&city);
    let flood = HashSet::from(["us_flood_zones".to_owned()]);
    let mut seen = BTreeMap::new();
    for (bbl, bin) in [NAMED[0], NAMED[10]] {
        let subject = Arc::new(subject(&directory, bbl, bin).await);
        let entries = registry
            .assemble(subject, Some(&flood), Deadlines::default())
            .await;
        let data = data(&entries[0].1);
        seen.insert(
            data["flood_zone"].as_str().unwrap().to_owned(),
            (
                data["special_flood_hazard_area"].clone(),
                data["base_flood_elevation_feet"].clone(),
            ),
        );
    }
    assert_eq!(seen["X"], (Value::from(false), Value::Null));
    assert_eq!(seen["AE"].0, Value::from(true));
    assert!(seen["AE"].1.is_number());
    // Kept for a day: a layer that fails after it answered is not asked again for the same place.
    city.control()
        .set_fault(FLOOD, Fault::new(FaultKind::WrongJson));
    let again = registry
        .assemble(
            Arc::new(subject(&directory, NAMED[0].0, NAMED[0].1).await),
            Some(&flood),
            Deadlines::default(),
        )
        .await;
    assert_eq!(again[0].1.status(), SourceStatus::Ok);
    let elsewhere = registry
        .assemble(
            Arc::new(subject(&directory, NAMED[8].0, NAMED[8].1).await),
            Some(&flood),
            Deadlines::default(),
        )
        .await;
    assert_eq!(elsewhere[0].1.status(), SourceStatus::Error);
    city.stop().await;
}
