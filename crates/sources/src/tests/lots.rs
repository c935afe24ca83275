//! Which key a source is asked by, and the city's tables that join lots, buildings and units.

use std::sync::Arc;

use brownstone_domain::{Borough, SourceStatus};
use brownstone_soda::SodaError;
use serde_json::{Value, json};

use super::{
    ask, ask_ok, bbl, bin, column, eastchester, empire,
    fake::{FakeSoda, Fault, Table, Type, fake},
    fixtures::fixture,
    soon,
};
use crate::{Directory, Subject};

fn complaints(bins: &[&str]) -> Table {
    Table::new(
        bins.iter()
            .enumerate()
            .map(|(at, bin)| {
                json!({"complaint_number": format!("21{at:05}"), "bin": bin, "status": "ACTIVE",
                       "date_entered": format!("{:02}/01/2024", at + 1)})
            })
            .collect(),
        &[
            ("disposition_code", Type::Text),
            ("complaint_category", Type::Text),
        ],
    )
}

pub(super) fn footprints(rows: &[(&str, &str, &str, &str)]) -> Table {
    Table::new(
        rows.iter()
            .map(|(bin, base, pluto, code)| {
                json!({"bin": bin, "base_bbl": base, "mappluto_bbl": pluto, "feature_code": code,
                       "the_geom": {"type": "MultiPolygon", "coordinates": []}})
            })
            .collect(),
        &[("bin", Type::Number), ("feature_code", Type::Number)],
    )
}

#[tokio::test]
async fn a_lots_report_asks_a_bin_only_set_for_every_building() {
    let soda = fake();
    soda.put("eabe-havv", complaints(&["2097543", "2097546", "2097999"]));
    let data = ask_ok("nyc_dob_complaints", &soda, &eastchester()).await;
    assert_eq!(data["record_count"], 2);
    assert_eq!(data["matched_by"], "bin");
}

#[tokio::test]
async fn without_known_buildings_the_footprints_say_which() {
    let soda = fake();
    soda.put("eabe-havv", complaints(&["2097543", "2097546", "2097999"]));
    soda.put(
        "5zhs-2jue",
        footprints(&[
            ("2097543", "2042050001", "2042050001", "2100"),
            ("2097546", "2042050001", "2042050001", "2100"),
            ("2000000", "2042050001", "2042050001", "2100"),
        ]),
    );
    let lot = Subject {
        lot_bins: Vec::new(),
        ..eastchester()
    };
    let data = ask_ok("nyc_dob_complaints", &soda, &lot).await;
    assert_eq!(data["record_count"], 2);
}

/// A publisher who knows buildings only has nothing on a lot without one: the city answered so. While nobody answers,
/// it is not known.
#[tokio::test]
async fn a_lot_without_buildings_is_not_found_and_a_silent_city_is_an_error() {
    let soda = fake();
    soda.put("eabe-havv", complaints(&["2097543"]));
    soda.put("5zhs-2jue", footprints(&[]));
    soda.edit("5zhs-2jue", |table| {
        for name in ["bin", "feature_code"] {
            table.columns.insert(name.into(), Type::Number);
        }
        for name in ["base_bbl", "mappluto_bbl"] {
            table.columns.insert(name.into(), Type::Text);
        }
    });
    let vacant = Subject::of(Some(bbl("2042059999")), None, Borough::Bronx);
    let entry = ask("nyc_dob_complaints", &soda, &vacant).await;
    assert_eq!(entry.status(), SourceStatus::NotFound);
    soda.fail("5zhs-2jue", Fault::Error(SodaError::Throttled));
    let entry = ask("nyc_dob_complaints", &soda, &vacant).await;
    assert_eq!(entry.status(), SourceStatus::Error);
}

#[tokio::test]
async fn without_a_bin_the_lot_is_asked() {
    for key in [
        "nyc_ecb",
        "nyc_dob",
        "nyc_dob_jobs",
        "nyc_dob_permits",
        "nyc_hpd_violations",
        "nyc_hpd_complaints",
        "nyc_hpd_registrations",
        "nyc_evictions",
    ] {
        let (soda, subject) = fixture(key);
        let by_bin = ask_ok(key, &soda, &subject).await;
        let lot = Subject {
            bin: None,
            ..subject
        };
        let by_lot = ask_ok(key, &soda, &lot).await;
        assert_eq!(by_lot["matched_by"], "bbl", "{key}");
        assert_eq!(by_lot["record_count"], by_bin["record_count"], "{key}");
    }
}

#[tokio::test]
async fn a_building_without_a_lot_asks_by_the_lot_it_stands_on() {
    let (soda, subject) = fixture("nyc_pluto");
    soda.put(
        "5zhs-2jue",
        footprints(&[("1015862", "1008350041", "1008350041", "2100")]),
    );
    let lotless = Subject {
        bbl: None,
        ..subject
    };
    let data = ask_ok("nyc_pluto", &soda, &lotless).await;
    assert_eq!(data["matched_by"], "bbl");
    assert_eq!(column(&data, "address"), ["350 5 AVENUE"]);
}

#[tokio::test]
async fn a_unit_has_its_own_values_and_deeds_and_the_buildings_violations() {
    let unit = Some(bbl("1008350042"));
    for (key, matched) in [
        ("nyc_dof_assessments", "unit_bbl"),
        ("nyc_acris", "unit_bbl"),
        ("nyc_hpd_violations", "bin"),
        ("nyc_pluto", "bbl"),
    ] {
        let (soda, subject) = fixture(key);
        let typed = Subject {
            unit_bbl: unit,
            ..subject
        };
        let data = ask_ok(key, &soda, &typed).await;
        assert_eq!(data["matched_by"], matched, "{key}");
    }
}

/// 120 BROADWAY: billing lot 7501, built on lot 1, units 1001 and on.
fn condominium() -> Arc<FakeSoda> {
    let soda = fake();
    soda.put(
        "p8u6-a6it",
        Table::new(
            vec![
                json!({"condo_base_bbl": "1000470001", "condo_key": "10871", "condo_billing_bbl": "1000477501"}),
                json!({"condo_base_bbl": "1000470009", "condo_key": "10871", "condo_billing_bbl": "1000477501"}),
                // Another condominium on one of the same lots.
                json!({"condo_base_bbl": "1000470001", "condo_key": "10999", "condo_billing_bbl": "1000477502"}),
            ],
            &[],
        ),
    );
    let unit = |lot: u16, name: &str, condo: &str| json!({"condo_base_bbl": "1000470001", "condo_key": condo, "unit_bbl": format!("100047{lot}"), "unit_designation": name});
    soda.put(
        "eguu-7ie3",
        Table::new(
            vec![
                unit(1001, "4C", "10871"),
                unit(1002, "UNIT 5-C", "10871"),
                unit(1003, "PH", "10871"),
                unit(1004, "PH", "10871"),
                unit(1101, "9A", "10999"),
            ],
            &[],
        ),
    );
    soda
}

#[tokio::test]
async fn a_units_lot_and_its_billing_lot_are_joined_by_the_condominium() {
    let directory = Directory::new(condominium());
    let billing = bbl("1000477501");
    let unit = |name: &'static str| {
        let directory = directory.clone();
        async move { directory.unit_lot(billing, name, soon()).await.unwrap() }
    };
    assert_eq!(unit("4C").await, Some(bbl("1000471001")));
    assert_eq!(unit("apt 5c").await, Some(bbl("1000471002")));
    assert_eq!(unit("PH").await, None, "two units are called so");
    assert_eq!(unit("9A").await, None, "a unit of the other condominium");
    assert_eq!(unit("77Z").await, None);
    let of = |lot: &'static str| {
        let directory = directory.clone();
        async move { directory.billing_lot(bbl(lot), soon()).await.unwrap() }
    };
    assert_eq!(of("1000471001").await, Some(billing));
    assert_eq!(of("1000471101").await, Some(bbl("1000477502")));
    assert_eq!(of("1000471999").await, None);
    assert_eq!(
        directory.base_lots(billing, soon()).await.unwrap(),
        [bbl("1000470001"), bbl("1000470009")]
    );
}

#[tokio::test]
async fn a_silent_bridge_is_an_error_and_not_no_unit() {
    let soda = condominium();
    soda.fail(
        "eguu-7ie3",
        Fault::Error(SodaError::Unavailable("cut".into())),
    );
    let directory = Directory::new(soda);
    assert!(
        directory
            .unit_lot(bbl("1000477501"), "4C", soon())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn lots_and_buildings_are_read_from_pluto_and_footprints() {
    let (soda, _) = fixture("nyc_pluto");
    soda.put(
        "5zhs-2jue",
        footprints(&[
            ("3340270", "3052960043", "3052960043", "2100"),
            ("3123204", "3052960043", "3052960043", "5110"),
            ("1001026", "1000470001", "1000477501", "2100"),
        ]),
    );
    let directory = Directory::new(soda.clone());
    let lot = directory
        .lot(bbl("1008350041"), soon())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lot.address.as_deref(), Some("350 5 AVENUE"));
    assert_eq!(lot.zip, Some("10118".parse().unwrap()));
    assert_eq!(
        (lot.latitude, lot.longitude, lot.buildings),
        (Some(40.7484), Some(-73.9857), Some(1))
    );
    assert_eq!(
        directory.lot(bbl("1008351001"), soon()).await.unwrap(),
        None
    );

    let on_lot = directory
        .buildings_on(bbl("3052960043"), soon())
        .await
        .unwrap();
    let garages: Vec<(String, bool)> = on_lot
        .iter()
        .map(|building| (building.bin.to_string(), building.garage))
        .collect();
    assert_eq!(
        garages,
        [("3123204".to_owned(), true), ("3340270".to_owned(), false)]
    );
    let condominium = directory
        .building(bin("1001026"), soon())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(condominium.bbl, Some(bbl("1000477501")));
    assert_eq!(condominium.base_bbl, Some(bbl("1000470001")));
    // Asked again it is remembered.
    let before = soda.asked().len();
    directory
        .buildings_on(bbl("3052960043"), soon())
        .await
        .unwrap();
    assert_eq!(soda.asked().len(), before);
}

#[tokio::test]
async fn a_subject_without_any_key_finds_nothing() {
    let (soda, subject) = fixture("nyc_ecb");
    let nobody = Subject {
        bbl: None,
        bin: None,
        lot_bins: Vec::new(),
        ..subject
    };
    let entry = ask("nyc_ecb", &soda, &nobody).await;
    assert_eq!(entry.status(), SourceStatus::NotFound);
    assert!(soda.asked().is_empty());
    let empire: Value = ask_ok("nyc_ecb", &soda, &empire()).await;
    assert_eq!(empire["matched_by"], "bin");
}
