//! Every building that the sample city promises, by several spellings.

use serde_json::Value;

use crate::harness::Server;

/// Canonical number and street, BBL, BIN, and how people type it.
const BUILDINGS: &[(&str, &str, &str, &[&str])] = &[
    (
        "350 5 AVENUE",
        "1008350041",
        "1015862",
        &[
            "350 5 Avenue, Manhattan",
            "350 Fifth Ave, New York, NY 10118",
            "350 5th ave manhattan",
            "1008350041",
            "1-00835-0041",
            "1015862",
        ],
    ),
    (
        "120 BROADWAY",
        "1000477501",
        "1001026",
        &[
            "120 Broadway, Manhattan",
            "120 broadway new york ny 10271",
            "120 BROADWAY NYC 10271-0001",
        ],
    ),
    (
        "280 RIVERSIDE DRIVE",
        "1018890001",
        "1057127",
        &[
            "280 Riverside Drive, Manhattan",
            "280 riverside dr, new york 10025",
            "327 West 100 Street, Manhattan",
            "337 w 100th st, manhattan",
            "327-337 W 100 St New York NY 10025",
        ],
    ),
    (
        "2121 EASTCHESTER ROAD",
        "2042050001",
        "2097543",
        &[
            "2121 Eastchester Road, Bronx",
            "2121 eastchester rd bx",
            "2121 Eastchester Rd, The Bronx, NY",
        ],
    ),
    (
        "1401 PELHAM PARKWAY SOUTH",
        "2042050001",
        "2097546",
        &[
            "1401 Pelham Parkway South, Bronx",
            "1401 pelham pkwy s, bronx",
            "1401 Pelham Pkwy South Bronx NY",
        ],
    ),
    (
        "700 BROOK AVENUE",
        "2023597501",
        "2117344",
        &[
            "700 Brook Avenue, Bronx",
            "700 brook ave bronx 10455",
            "700 BROOK AV, BX",
        ],
    ),
    (
        "1279 37 STREET",
        "3052960043",
        "3340270",
        &[
            "1279 37 Street, Brooklyn",
            "1279 37th st bklyn",
            "3622 13 Avenue, Brooklyn 11218",
            "3622 thirteenth ave, brooklyn",
        ],
    ),
    (
        "1065 EAST 99 STREET",
        "3082260013",
        "3231074",
        &[
            "1065 East 99 Street, Brooklyn",
            "1065 e 99th st brooklyn 11236",
            "1065 E. 99 St., Bk",
        ],
    ),
    (
        "43-06 46 STREET",
        "4001600029",
        "4001899",
        &[
            "43-06 46 Street, Queens",
            "4306 46th st, sunnyside ny 11104",
            "43-06 46th Street, Queens, NY 11104",
        ],
    ),
    (
        "103-12 97 STREET",
        "4091190011",
        "4189606",
        &[
            "103-12 97 Street, Queens",
            "103-12 97th st, ozone park",
            "10312 97 street queens 11417",
        ],
    ),
    (
        "335 GARRETSON AVENUE",
        "5033780070",
        "5050009",
        &[
            "335 Garretson Avenue, Staten Island",
            "335 garretson ave si 10305",
            "335 Garretson Av, Staten Island NY",
        ],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_promised_building_is_found_by_each_of_its_spellings() {
    let server = Server::sample().await;
    // The spellings together cost more than a minute's budget; the point here is the building.
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-minute",
            "100000",
            "--per-day",
            "100000",
        ])
        .await;
    let waited = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while server.usage().await["minute"]["limit"] != 100_000 {
        assert!(
            tokio::time::Instant::now() < waited,
            "the override is in force"
        );
    }
    let mut wrong = Vec::new();
    for (address, bbl, bin, spellings) in BUILDINGS {
        let mut property: Option<Value> = None;
        for spelling in *spellings {
            let answer = server.lookup(spelling).await;
            let data = answer.data();
            let found = format!(
                "{} {}",
                data["property"]["house_number"].as_str().unwrap_or("-"),
                data["property"]["street"].as_str().unwrap_or("-")
            );
            if found != *address || data["bbl"] != *bbl || data["bin"] != *bin {
                wrong.push(format!(
                    "{spelling}: {found} {} {}",
                    data["bbl"], data["bin"]
                ));
                continue;
            }
            // What speaks of this request aside, every spelling has the one property.
            let mut same = data["property"].clone();
            for own in ["unit", "match", "warnings"] {
                same[own] = Value::Null;
            }
            assert_eq!(
                *property.get_or_insert_with(|| same.clone()),
                same,
                "{spelling}"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_addresses_of_one_building_share_a_report_and_two_buildings_of_one_lot_do_not() {
    let server = Server::sample().await;
    let first = server.lookup("280 Riverside Drive, Manhattan").await;
    server.reset_city_calls().await;
    let second = server.lookup("331 West 100 Street, Manhattan").await;
    assert_eq!(first.data()["cache"], second.data()["cache"]);
    assert_eq!(
        first.data()["canonical_path"],
        second.data()["canonical_path"]
    );
    assert!(
        server.city_calls().await.is_empty(),
        "the report was there already"
    );

    let one = server.lookup("2121 Eastchester Road, Bronx").await;
    let other = server.lookup("1401 Pelham Parkway South, Bronx").await;
    assert!(
        !server.city_calls().await.is_empty(),
        "another building is another report"
    );
    assert_eq!(one.data()["bbl"], other.data()["bbl"]);
    for (answer, bin) in [(&one, "2097543"), (&other, "2097546")] {
        let path = answer.data()["canonical_path"].as_str().unwrap();
        assert!(
            path.starts_with(&format!("/property/2042050001-{bin}/")),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_is_shown_as_typed_and_the_report_is_the_buildings() {
    let server = Server::sample().await;
    let plain = server.lookup("43-06 46 Street, Queens").await;
    let unit = server.lookup("43-06 46 Street Apt 4C, Queens 11104").await;
    assert_eq!(unit.data()["property"]["unit"], "4C");
    assert_eq!(plain.data()["property"]["unit"], Value::Null);
    assert_eq!(plain.data()["cache"], unit.data()["cache"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_building_is_refused_with_the_right_code_and_costs_nothing() {
    let server = Server::sample().await;
    for (address, status, code) in [
        ("10 Main Street, Yonkers, NY", 400, "outside_coverage"),
        (
            "1 Capitol Square, Columbus, OH 43215",
            400,
            "outside_coverage",
        ),
        ("99999 37 Street, Brooklyn", 404, "not_found"),
        ("1279 Zzqqxx Street, Brooklyn", 404, "not_found"),
        ("PO Box 100, Brooklyn", 404, "not_found"),
        ("1000000", 404, "not_found"),
        ("Brooklyn", 404, "not_found"),
    ] {
        let answer = server
            .post("/v1/lookup", &serde_json::json!({"address": address}))
            .await;
        answer.assert_failure(status, code);
    }
    let usage = server.usage().await;
    assert_eq!(usage["day"]["used"], 0, "{usage}");
    assert_eq!(
        usage["by_operation"]["lookupProperty"]["failed"], 7,
        "{usage}"
    );
}
