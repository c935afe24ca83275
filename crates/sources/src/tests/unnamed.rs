//! Rows that name a lot and no building, and the lots a condominium is filed under.

use std::{collections::HashSet, sync::Arc};

use brownstone_domain::{Borough, SourceStatus};
use brownstone_soda::SodaError;
use serde_json::{Map, Value, json};

use super::{
    FakeSoda, ask, ask_ok, bbl, bin, empire,
    fake::{Fault, Table, fake},
    fixtures::{fixture, load},
    lots::footprints,
    registry,
    traps_property::bridge,
};
use crate::{
    Deadlines, Subject,
    catalogue::{FILES, parse},
};

/// The sources whose rows may lack the BIN, and their datasets.
fn with_gaps() -> Vec<(&'static str, String)> {
    FILES
        .iter()
        .map(|(key, text)| (*key, parse(&format!("{key}.toml"), text).unwrap()))
        .filter(|(_, entry)| entry.rules.iter().any(|rule| rule.gaps))
        .map(|(key, entry)| (key, entry.dataset.to_string()))
        .collect()
}

fn each_row(soda: &FakeSoda, dataset: &str, change: impl Fn(usize, &mut Map<String, Value>)) {
    soda.edit(dataset, |table| {
        for (at, row) in table.rows.iter_mut().enumerate() {
            change(at, row);
        }
    });
}

/// The fixture with its building's BIN taken out of every row.
fn nameless(key: &str, dataset: &str) -> (Arc<FakeSoda>, Subject) {
    let (soda, subject) = fixture(key);
    each_row(&soda, dataset, |_, row| {
        if row.get("bin") == Some(&json!("1015862")) {
            row.remove("bin");
        }
    });
    (soda, subject)
}

fn one_of_two(subject: &Subject) -> Subject {
    Subject {
        lot_bins: vec![bin("1015862"), bin("1015999")],
        ..subject.clone()
    }
}

#[test]
fn the_sources_whose_rows_may_lack_the_bin_are_known() {
    let keys: Vec<&str> = with_gaps().into_iter().map(|(key, _)| key).collect();
    assert_eq!(
        keys,
        [
            "nyc_dob",
            "nyc_hpd_violations",
            "nyc_hpd_repair_orders",
            "nyc_hpd_handyman_orders",
            "nyc_hpd_affordable_housing",
            "nyc_evictions",
        ]
    );
}

#[tokio::test]
async fn a_lone_buildings_rows_without_a_bin_are_its_own() {
    for (key, dataset) in with_gaps() {
        let (soda, subject) = fixture(key);
        let before = ask_ok(key, &soda, &subject).await;
        soda.edit(&dataset, |table| {
            let first = table.rows[0].clone();
            for placeholder in [None, Some("1000000")] {
                let mut row = first.clone();
                row.remove("bin");
                row.extend(placeholder.map(|text| ("bin".to_owned(), json!(text))));
                table.rows.push(row.clone());
                // The neighbour's is not.
                row.insert("bbl".into(), json!("1008350042"));
                row.insert("lot".into(), json!("00042"));
                table.rows.push(row);
            }
        });
        let asked = soda.asked_of(&dataset).len();
        let after = ask_ok(key, &soda, &subject).await;
        let count = |data: &Value| data["record_count"].as_u64().unwrap();
        assert_eq!(count(&after), count(&before) + 2, "{key}");
        assert_eq!(after["matched_by"], "bin", "{key}");
        assert_eq!(soda.asked_of(&dataset).len(), asked + 1, "{key}: one query");
    }
}

#[tokio::test]
async fn a_building_whose_rows_all_lack_the_bin_is_found() {
    for (key, dataset) in with_gaps() {
        let (soda, subject) = nameless(key, &dataset);
        let (whole, _) = fixture(key);
        let named = ask_ok(key, &whole, &subject).await;
        let data = ask_ok(key, &soda, &subject).await;
        assert_eq!(data["record_count"], named["record_count"], "{key}");
    }
}

/// They may be the other building's: they are no part of a count by BIN.
#[tokio::test]
async fn one_building_of_several_is_asked_for_by_its_bin() {
    for (key, dataset) in with_gaps() {
        let (soda, subject) = fixture(key);
        let subject = one_of_two(&subject);
        let before = ask_ok(key, &soda, &subject).await;
        soda.edit(&dataset, |table| {
            let mut row = table.rows[0].clone();
            row.remove("bin");
            table.rows.push(row);
        });
        let after = ask_ok(key, &soda, &subject).await;
        assert_eq!(after["record_count"], before["record_count"], "{key}");
        assert_eq!(after["matched_by"], "bin", "{key}");
    }
}

#[tokio::test]
async fn where_one_of_several_has_nothing_the_lots_rows_without_a_bin_are_shown_as_the_lots() {
    for (key, dataset) in with_gaps() {
        let (soda, subject) = nameless(key, &dataset);
        let subject = one_of_two(&subject);
        let data = ask_ok(key, &soda, &subject).await;
        assert_eq!(data["matched_by"], "bbl", "{key}");
        // Rows of the other building are no rows without one.
        each_row(&soda, &dataset, |_, row| {
            row.insert("bin".into(), json!("1015999"));
        });
        let entry = ask(key, &soda, &subject).await;
        assert_eq!(entry.status(), SourceStatus::NotFound, "{key}");
    }
}

#[tokio::test]
async fn whether_a_building_stands_alone_is_the_footprints_to_say() {
    let key = "nyc_hpd_affordable_housing";
    let (soda, subject) = nameless(key, "hg8x-zxpr");
    let unsure = Subject {
        lot_bins: Vec::new(),
        ..subject
    };
    let lot = "1008350041";
    let own = ("1015862", lot, lot, "2100");
    // A number may count a garage, too.
    for buildings_on_lot in [None, Some(2)] {
        let unsure = Subject {
            buildings_on_lot,
            ..unsure.clone()
        };
        for (standing, matched_by) in [
            (vec![own, ("1015999", lot, lot, "5110")], "bin"),
            (vec![own, ("1015999", lot, lot, "2100")], "bbl"),
        ] {
            soda.put("5zhs-2jue", footprints(&standing));
            let data = ask_ok(key, &soda, &unsure).await;
            assert_eq!(data["matched_by"], matched_by, "{buildings_on_lot:?}");
            assert_eq!(data["record_count"], 2, "{buildings_on_lot:?}");
        }
        soda.fail("5zhs-2jue", Fault::Error(SodaError::Throttled));
        let entry = ask(key, &soda, &unsure).await;
        assert_eq!(entry.status(), SourceStatus::Error, "{buildings_on_lot:?}");
        soda.heal();
    }
    // One needs no footprints.
    soda.fail("5zhs-2jue", Fault::Error(SodaError::Throttled));
    let counted = Subject {
        buildings_on_lot: Some(1),
        ..unsure
    };
    assert_eq!(ask_ok(key, &soda, &counted).await["matched_by"], "bin");
}

/// 1279 37 STREET, Brooklyn: a house and its garage, which a number makes two buildings.
#[tokio::test]
async fn a_garage_takes_no_rows_from_its_house() {
    let lot = "1008350041";
    for (key, dataset) in with_gaps() {
        let (soda, subject) = fixture(key);
        let before = ask_ok(key, &soda, &subject).await;
        soda.edit(&dataset, |table| {
            let mut row = table.rows[0].clone();
            row.remove("bin");
            table.rows.push(row);
        });
        soda.put(
            "5zhs-2jue",
            footprints(&[("1015862", lot, lot, "2100"), ("1015999", lot, lot, "5110")]),
        );
        let counted = Subject {
            lot_bins: Vec::new(),
            buildings_on_lot: Some(2),
            ..subject
        };
        let after = ask_ok(key, &soda, &counted).await;
        let count = |data: &Value| data["record_count"].as_u64().unwrap();
        assert_eq!(count(&after), count(&before) + 1, "{key}");
        assert_eq!(after["matched_by"], "bin", "{key}");
    }
}

/// The sources of a report share the answer.
#[tokio::test]
async fn the_footprints_of_a_lot_are_asked_for_once() {
    let soda = fake();
    for (key, _) in with_gaps() {
        load(key, &soda);
    }
    let lot = "1008350041";
    soda.put("5zhs-2jue", footprints(&[("1015862", lot, lot, "2100")]));
    let subject = Subject {
        lot_bins: Vec::new(),
        buildings_on_lot: Some(2),
        ..empire()
    };
    let keys: HashSet<String> = with_gaps()
        .into_iter()
        .map(|(key, _)| key.to_owned())
        .collect();
    let entries = registry(&soda)
        .assemble(Arc::new(subject), Some(&keys), Deadlines::default())
        .await;
    assert_eq!(entries.len(), keys.len());
    assert_eq!(soda.asked_of("5zhs-2jue").len(), 1);
}

/// The departments file a condominium under its billing lot or under a lot it was built on.
#[tokio::test]
async fn a_condominium_is_asked_for_by_its_billing_and_its_base_lots() {
    for (key, dataset) in [
        ("nyc_hpd_violations", "wvxf-dwi5"),
        ("nyc_ecb", "6bgk-3dad"),
        ("nyc_dob_now_jobs", "w9ak-ipjd"),
    ] {
        let (soda, building) = fixture(key);
        let named = ask_ok(key, &soda, &building).await["record_count"].clone();
        let condominium = bridge(&soda);
        soda.edit(dataset, |table| {
            let mut row = table.rows[0].clone();
            row.insert("bbl".into(), json!("1008357501"));
            row.insert("lot".into(), json!("7501"));
            table.rows.push(row);
        });
        let data = ask_ok(key, &soda, &condominium).await;
        assert_eq!(data["matched_by"], "bbl", "{key}");
        assert_eq!(
            data["record_count"].as_u64(),
            named.as_u64().map(|count| count + 1),
            "{key}"
        );
    }
}

/// Billing lot 7501 on lots 1 and 9; another condominium on lot 1, too.
fn two_condominiums(soda: &FakeSoda) -> Subject {
    let row = |base: &str, condo: &str, billing: &str| json!({"condo_base_bbl": base, "condo_key": condo, "condo_billing_bbl": billing});
    soda.put(
        "p8u6-a6it",
        Table::new(
            vec![
                row("1000470001", "10871", "1000477501"),
                row("1000470009", "10871", "1000477501"),
                row("1000470001", "10999", "1000477502"),
            ],
            &[],
        ),
    );
    Subject::of(Some(bbl("1000477501")), None, Borough::Manhattan)
}

fn shared_lot() -> (Arc<FakeSoda>, Subject) {
    let (soda, _) = fixture("nyc_hpd_violations");
    let condominium = two_condominiums(&soda);
    let rows = [
        (Some("1001026"), "1000470001"),
        // The other condominium's.
        (Some("1009999"), "1000470001"),
        (None, "1000470009"),
        // Either's.
        (None, "1000470001"),
    ];
    each_row(&soda, "wvxf-dwi5", |at, row| {
        if let Some((bin, bbl)) = rows.get(at) {
            row.remove("bin");
            row.extend(bin.map(|bin| ("bin".to_owned(), json!(bin))));
            row.insert("bbl".into(), json!(bbl));
        }
    });
    (soda, condominium)
}

/// `row` as one of another building and another lot of block 47.
fn filed(row: &Map<String, Value>, bin: &str, lot: u16) -> Map<String, Value> {
    let mut filed = row.clone();
    for (column, text) in [
        ("bin", bin.to_owned()),
        ("bin__", bin.to_owned()),
        ("bbl", format!("100047{lot:04}")),
        ("block", "00047".to_owned()),
        ("lot", format!("{lot:05}")),
    ] {
        if let Some(value) = filed.get_mut(column) {
            *value = json!(text);
        }
    }
    filed
}

#[tokio::test]
async fn on_a_lot_of_two_condominiums_the_buildings_are_asked_for() {
    let (soda, condominium) = shared_lot();
    soda.put(
        "5zhs-2jue",
        footprints(&[("1001026", "1000470001", "1000477501", "2100")]),
    );
    let data = ask_ok("nyc_hpd_violations", &soda, &condominium).await;
    assert_eq!(data["matched_by"], "bin");
    assert_eq!(data["record_count"], 2);
}

#[tokio::test]
async fn where_no_building_is_known_a_lot_of_two_condominiums_is_not_asked_for() {
    let (soda, condominium) = shared_lot();
    soda.put(
        "5zhs-2jue",
        footprints(&[("1009999", "1000480001", "1000480001", "2100")]),
    );
    let data = ask_ok("nyc_hpd_violations", &soda, &condominium).await;
    assert_eq!(data["matched_by"], "bbl");
    assert_eq!(data["record_count"], 1);
}

/// What is filed under lots that are its own is its own, whichever building it names; once, where that is its own, too.
#[tokio::test]
async fn beside_its_buildings_a_condominiums_own_lots_are_asked_for() {
    let rows = [
        ("1001026", 1),
        ("1001026", 7501),
        ("1000000", 7501),
        // No longer drawn.
        ("1001999", 9),
        // The other condominium's.
        ("1009999", 1),
        // Either's.
        ("1000000", 1),
    ];
    for (key, dataset) in [
        ("nyc_ecb", "6bgk-3dad"),
        ("nyc_hpd_complaints", "ygpa-z7cr"),
        ("nyc_dob_jobs", "ic3t-wcy2"),
        ("nyc_hpd_violations", "wvxf-dwi5"),
    ] {
        let (soda, _) = fixture(key);
        let condominium = two_condominiums(&soda);
        soda.put(
            "5zhs-2jue",
            footprints(&[("1001026", "1000470001", "1000477501", "2100")]),
        );
        soda.edit(dataset, |table| {
            let first = table.rows[0].clone();
            table.rows = rows
                .iter()
                .map(|(bin, lot)| filed(&first, bin, *lot))
                .collect();
        });
        let data = ask_ok(key, &soda, &condominium).await;
        assert_eq!(data["record_count"], 4, "{key}");
        assert_eq!(data["matched_by"], "bin", "{key}");
    }
}

/// A request names some of the buildings, and one of the requests their lots: a row may meet two of them.
#[tokio::test]
async fn rows_of_hundreds_of_buildings_and_their_lots_count_once() {
    let (soda, _) = fixture("nyc_dob_jobs");
    let condominium = two_condominiums(&soda);
    let bins: Vec<String> = (0..450).map(|at| format!("10{at:05}")).collect();
    soda.edit("ic3t-wcy2", |table| {
        let first = table.rows[0].clone();
        // Two rows that say the same are two.
        table.rows = bins
            .iter()
            .zip([7501, 1].into_iter().cycle())
            .flat_map(|(bin, lot)| [filed(&first, bin, lot), filed(&first, bin, lot)])
            .chain([filed(&first, "1000000", 9)])
            .collect();
    });
    let condominium = Subject {
        lot_bins: bins.iter().skip(1).map(|text| bin(text)).collect(),
        ..condominium
    };
    let data = ask_ok("nyc_dob_jobs", &soda, &condominium).await;
    assert_eq!(data["record_count"], 901);
    assert!(soda.asked_of("ic3t-wcy2").len() > 1, "in parts");
}
