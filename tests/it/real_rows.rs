//! The city's real rows through the SODA server and the program: what the report carries is what was published.
//!
//! The rows lie in the folder that `NYC_REAL_DATA` names; without it these tests say that they were skipped.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use brownstone_domain::{Bbl, Bin, money::number_text};
use brownstone_sample_city::{ColumnType, SampleCity};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    at_hand::real_data,
    harness::{Answer, Options, Server},
};

type Row = Map<String, Value>;

/// Where a dataset's rows lie, and how its rows name their building.
struct Rows {
    source: &'static str,
    dataset: &'static str,
    files: &'static [&'static str],
    /// Column of the BIN; where there is none, the BBL is the key.
    bin: Option<&'static str>,
    /// Borough digit, block, lot, or the BBL in one column.
    lot: &'static [&'static str],
    /// Columns that must come out as numbers.
    money: &'static [&'static str],
}

const ROWS: &[Rows] = &[
    Rows {
        source: "nyc_ecb",
        dataset: "6bgk-3dad",
        files: &[
            "soda/soda3/6bgk-3dad_ecb_by_bin_1012699.json",
            "soda/dob_legacy/sample_6bgk-3dad.json",
            "nycdb/ecb_violations.csv",
        ],
        bin: Some("bin"),
        lot: &["boro", "block", "lot"],
        money: &["penality_imposed", "amount_paid", "balance_due"],
    },
    Rows {
        source: "nyc_dob",
        dataset: "3h2n-5cm9",
        files: &[
            "soda/soda3/3h2n-5cm9_dob_violations_by_bin_1012699.json",
            "soda/dob_legacy/sample_3h2n-5cm9.json",
            "nycdb/dob_violations.csv",
        ],
        bin: Some("bin"),
        lot: &["boro", "block", "lot"],
        money: &[],
    },
    Rows {
        source: "nyc_dob_jobs",
        dataset: "ic3t-wcy2",
        files: &[
            "soda/dob_legacy/sample_ic3t-wcy2.json",
            "soda/vcr/ic3t-wcy2_dob_job_filings.json",
        ],
        bin: Some("bin__"),
        lot: &["borough", "block", "lot"],
        money: &["initial_cost", "total_est__fee"],
    },
    Rows {
        source: "nyc_dob_permits",
        dataset: "ipu4-2q9a",
        files: &[
            "soda/dob_legacy/sample_ipu4-2q9a.json",
            "soda/vcr/ipu4-2q9a_dob_permit_issuance.json",
        ],
        bin: Some("bin__"),
        lot: &["borough", "block", "lot"],
        money: &[],
    },
    Rows {
        source: "nyc_dob_complaints",
        dataset: "eabe-havv",
        files: &["soda/dob_legacy/sample_eabe-havv.json"],
        bin: Some("bin"),
        lot: &[],
        money: &[],
    },
    Rows {
        source: "nyc_hpd_violations",
        dataset: "wvxf-dwi5",
        files: &[
            "soda/rows/wvxf-dwi5_hpd_violation_row_2018.json",
            "nycdb/hpd_violations.csv",
        ],
        bin: Some("bin"),
        lot: &["bbl"],
        money: &[],
    },
    Rows {
        source: "nyc_hpd_complaints",
        dataset: "ygpa-z7cr",
        files: &["nycdb/hpd_complaints_and_problems.csv"],
        bin: Some("bin"),
        lot: &["bbl"],
        money: &[],
    },
    Rows {
        source: "nyc_evictions",
        dataset: "6z8x-wfk4",
        files: &[
            "soda/rows/6z8x-wfk4_eviction_row_2026.json",
            "nycdb/executed_evictions.csv",
        ],
        bin: Some("bin"),
        lot: &["bbl"],
        money: &[],
    },
    Rows {
        source: "nyc_pluto",
        dataset: "64uk-42ks",
        files: &["soda/rows/64uk-42ks_pluto_26v2_bbl_3052960043.json"],
        bin: None,
        lot: &["bbl"],
        money: &["assesstot", "assessland"],
    },
];

/// Headings of the CSV export that the API spells otherwise than the rule says.
const HEADINGS: &[(&str, &str, &str)] = &[
    ("wvxf-dwi5", "borough", "boro"),
    ("wvxf-dwi5", "postcode", "zip"),
    ("6z8x-wfk4", "eviction_apartment_number", "eviction_apt_num"),
    (
        "6z8x-wfk4",
        "residential_commercial",
        "residential_commercial_ind",
    ),
    (
        "6z8x-wfk4",
        "eviction_legal_possession",
        "eviction_possession",
    ),
    ("6z8x-wfk4", "eviction_postcode", "eviction_zip"),
];

/// How many buildings of a dataset are looked up.
const BUILDINGS: usize = 12;

fn read(folder: &Path, dataset: &str, file: &str) -> Vec<Row> {
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if file.ends_with(".json") {
        let rows: Vec<Row> = serde_json::from_str(&text).expect("rows are JSON");
        return rows
            .into_iter()
            .map(|row| {
                row.into_iter()
                    .filter(|(key, _)| !key.starts_with([':', '@']))
                    .collect()
            })
            .collect();
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headings: Vec<String> = reader
        .headers()
        .expect("a heading line")
        .iter()
        .map(|heading| field_name(dataset, heading))
        .collect();
    reader
        .records()
        .map(|record| {
            let record = record.expect("a line");
            headings
                .iter()
                .zip(record.iter())
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| (name.clone(), Value::from(value)))
                .collect()
        })
        .collect()
}

/// A display heading as the API names the column.
fn field_name(dataset: &str, heading: &str) -> String {
    let name: String = heading
        .trim()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    HEADINGS
        .iter()
        .find(|(of, from, _)| *of == dataset && *from == name)
        .map_or(name, |(_, _, to)| (*to).to_owned())
}

/// The CSV export prints `MM/DD/YYYY` where the API prints a timestamp: rows from there are put into the API's shape.
fn as_api(columns: &HashMap<String, String>, mut row: Row) -> Row {
    for (name, value) in &mut row {
        let is_date = columns
            .get(name)
            .is_some_and(|kind| kind == "calendar_date");
        if is_date
            && let Some(text) = value.as_str()
            && text.contains('/')
            && let Some(day) = brownstone_domain::published::parse_day(text)
        {
            *value = format!("{day}T00:00:00.000").into();
        }
    }
    row
}

async fn columns(city: &SampleCity, dataset: &str) -> HashMap<String, String> {
    let url = format!("{}/api/views/{dataset}.json", city.url());
    let view: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
    view["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|column| {
            let of = |key: &str| column[key].as_str().expect("text").to_owned();
            (of("fieldName"), of("dataTypeName"))
        })
        .collect()
}

/// The columns' types when these rows were published: a date column that holds other text was a text column then.
fn types(columns: &HashMap<String, String>, rows: &[Row]) -> Vec<(String, ColumnType)> {
    columns
        .iter()
        .map(|(name, kind)| {
            let timestamps = rows
                .iter()
                .filter_map(|row| text(row, name))
                .all(|value| value.contains('T'));
            let kind = if kind == "calendar_date" && !timestamps {
                ColumnType::Text
            } else {
                kind.parse().expect("a column's type")
            };
            (name.clone(), kind)
        })
        .collect()
}

fn text<'a>(row: &'a Row, column: &str) -> Option<&'a str> {
    row.get(column)?.as_str()
}

fn bin_of(rows: &Rows, row: &Row) -> Option<Bin> {
    text(row, rows.bin?)?.parse().ok()
}

fn bbl_of(rows: &Rows, row: &Row) -> Option<Bbl> {
    match rows.lot {
        [bbl] => text(row, bbl)?.parse().ok(),
        [borough, block, lot] => {
            let borough = match text(row, borough)? {
                "MANHATTAN" => "1",
                "BRONX" => "2",
                "BROOKLYN" => "3",
                "QUEENS" => "4",
                "STATEN ISLAND" => "5",
                digit => digit,
            };
            format!("{borough}-{}-{}", text(row, block)?, text(row, lot)?)
                .parse()
                .ok()
        }
        _ => None,
    }
}

/// A lot for a building whose rows name none: past every real block.
fn lot_past_the_map(bin: Bin, n: u16) -> Bbl {
    Bbl::new(bin.borough(), 99_990, n).expect("a lot")
}

/// A server of the program itself, not of a sample, over real rows.
async fn server_over(city: &SampleCity) -> Server {
    let server = Server::start(Options {
        live_sources: true,
        variables: [
            ("BROWNSTONE_SODA_URL", city.url()),
            ("BROWNSTONE_NYS_SODA_URL", city.url()),
            ("BROWNSTONE_GEOSEARCH_URL", city.url()),
            ("BROWNSTONE_GEOCODER", "geosearch".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec(),
        ..Options::default()
    })
    .await;
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "owner@example.com",
            "--per-minute",
            "1000000",
            "--per-day",
            "1000000",
        ])
        .await;
    while server.usage().await["minute"]["limit"] != 1_000_000 {}
    server
}

#[derive(Deserialize)]
struct Envelope {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    sources: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    status: String,
    data: Option<EntryData>,
}

#[derive(Deserialize)]
struct EntryData {
    records: Vec<BTreeMap<String, Box<RawValue>>>,
    record_count: u64,
}

fn sources(answer: &Answer) -> BTreeMap<String, Entry> {
    let envelope: Envelope = serde_json::from_str(&answer.text).expect("the envelope");
    envelope.data.sources
}

/// Whether the report's value is what was published: the same text, the same digits, or an identifier without decimals.
fn carries(published: &Value, reported: &str) -> bool {
    let json = |value: &Value| value.to_string();
    let Some(text) = published.as_str() else {
        return json(published) == reported;
    };
    let quoted = |text: &str| json(&text.into()) == reported;
    let identifier = text
        .split_once('.')
        .is_some_and(|(whole, rest)| rest.bytes().all(|b| b == b'0') && quoted(whole));
    quoted(text) || number_text(text).is_some_and(|digits| digits == reported) || identifier
}

#[tokio::test(flavor = "multi_thread")]
async fn real_rows_come_out_as_they_were_published() {
    let Some(folder) = real_data("") else {
        return;
    };
    let city = SampleCity::start_empty("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    // Every row by its building, and what the directory needs to know of each.
    let mut by_building: Vec<(&Rows, Bin, Vec<Row>)> = Vec::new();
    let mut lots: BTreeMap<Bin, Bbl> = BTreeMap::new();
    for rows in ROWS.iter().filter(|rows| rows.bin.is_some()) {
        let columns = columns(&city, rows.dataset).await;
        let all: Vec<Row> = rows
            .files
            .iter()
            .flat_map(|file| read(&folder, rows.dataset, file))
            .map(|row| as_api(&columns, row))
            .collect();
        let mut buildings: BTreeMap<Bin, Vec<Row>> = BTreeMap::new();
        for row in &all {
            if let Some(bin) = bin_of(rows, row) {
                buildings.entry(bin).or_default().push(row.clone());
                if let Some(bbl) = bbl_of(rows, row) {
                    lots.entry(bin).or_insert(bbl);
                }
            }
        }
        assert!(!buildings.is_empty(), "{} has rows", rows.dataset);
        by_building.extend(
            buildings
                .into_iter()
                .take(BUILDINGS)
                .map(|(bin, of_building)| (rows, bin, of_building)),
        );
        city.control()
            .load(rows.dataset, types(&columns, &all), all);
    }
    for (n, (_, bin, _)) in (1..).zip(&by_building) {
        lots.entry(*bin)
            .or_insert_with(|| lot_past_the_map(*bin, n));
    }
    let footprints = lots.iter().map(|(bin, bbl)| {
        json!({"bin": bin.to_string(), "base_bbl": bbl.to_string(), "mappluto_bbl": bbl.to_string(), "feature_code": "2100"})
    });
    city.control()
        .load("5zhs-2jue", vec![], footprints.map(object).collect());
    let mut bbls: Vec<Bbl> = lots.values().copied().collect();
    bbls.sort_unstable();
    bbls.dedup();
    let pluto = bbls.iter().map(|bbl| {
        json!({"bbl": format!("{bbl}.00000000"), "borocode": bbl.borough().digit().to_string(), "block": bbl.block().to_string(), "lot": bbl.lot().to_string()})
    });
    city.control()
        .load("64uk-42ks", vec![], pluto.map(object).collect());

    let server = server_over(&city).await;
    let mut checked = 0;
    for (rows, bin, published) in &by_building {
        let answer = server.lookup(&bin.to_string()).await;
        assert_eq!(answer.data()["bin"], bin.to_string());
        let sources = sources(&answer);
        for (key, entry) in &sources {
            let fine: &[&str] = if key == "listings" {
                &["gated"]
            } else {
                &["ok", "not_found"]
            };
            assert!(
                fine.contains(&entry.status.as_str()),
                "{bin}: {key} is {}",
                entry.status
            );
        }
        let entry = &sources[rows.source];
        assert_eq!(entry.status, "ok", "{bin}: {}", rows.source);
        let data = entry.data.as_ref().expect("ok has data");
        assert_eq!(
            data.record_count,
            published.len() as u64,
            "{bin}: {}",
            rows.source
        );
        for row in published {
            let closest = data
                .records
                .iter()
                .map(|record| differences(row, record))
                .min_by_key(Vec::len)
                .expect("a record");
            assert!(closest.is_empty(), "{bin}: {}: {closest:?}", rows.source);
            checked += 1;
        }
        for record in &data.records {
            for column in rows.money {
                let reported = record.get(*column).map_or("absent", |raw| raw.get());
                let number = reported == "null" || reported.parse::<f64>().is_ok();
                assert!(number, "{bin}: {column} is {reported}");
            }
        }
    }
    assert!(checked >= 60, "only {checked} real rows were checked");
    println!("{checked} real rows came out as they were published");
    city.stop().await;
}

/// Columns whose value in the report is not what was published.
fn differences(row: &Row, record: &BTreeMap<String, Box<RawValue>>) -> Vec<String> {
    row.iter()
        .filter_map(|(column, value)| {
            let reported = record.get(column).map_or("absent", |raw| raw.get());
            (!carries(value, reported)).then(|| format!("{column}: {value} became {reported}"))
        })
        .collect()
}

fn object(value: Value) -> Row {
    match value {
        Value::Object(object) => object,
        other => panic!("an object is wanted, got {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_lot_keeps_its_digits_and_sources_without_rows_say_not_found() {
    let Some(folder) = real_data("") else {
        return;
    };
    let city = SampleCity::start_empty("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let pluto = ROWS
        .iter()
        .find(|rows| rows.source == "nyc_pluto")
        .expect("a row");
    let lot = read(&folder, pluto.dataset, pluto.files[0]);
    city.control().load(pluto.dataset, vec![], lot.clone());
    let joined = std::fs::read_to_string(
        folder.join("soda/rows/bnx9-e6tj_acris_master_and_8h5j-fqxa_legals_row.json"),
    )
    .unwrap();
    let joined: Value = serde_json::from_str(&joined).unwrap();
    // The real document, on the real lot of this test.
    let master = object(joined["bnx9-e6tj_master"].clone());
    let mut legal = object(joined["8h5j-fqxa_legals"].clone());
    legal.insert("block".into(), "5296".into());
    legal.insert("lot".into(), "43".into());
    city.control()
        .load("bnx9-e6tj", vec![], vec![master.clone()]);
    city.control().load("8h5j-fqxa", vec![], vec![legal]);

    let server = server_over(&city).await;
    let answer = server.lookup("3-05296-0043").await;
    let property = &answer.data()["property"];
    assert_eq!(
        property["latitude"], 40.641_976_3,
        "PLUTO's coordinates are kept with the report: {property}"
    );
    let sources = sources(&answer);
    let record = &sources["nyc_pluto"].data.as_ref().expect("ok").records[0];
    for (column, value) in &lot[0] {
        let reported = record[column].get();
        assert!(
            carries(value, reported),
            "{column}: {value} became {reported}"
        );
    }
    assert_eq!(
        record["assesstot"].get(),
        "331200.00000",
        "the publisher's digits"
    );
    assert_eq!(
        record["bbl"].get(),
        "\"3052960043\"",
        "an identifier has no decimals"
    );
    let deed = &sources["nyc_acris"].data.as_ref().expect("ok").records[0];
    assert_eq!(deed["document_amt"].get(), "352500.00");
    for column in ["document_date", "recorded_datetime"] {
        assert!(carries(&master[column], deed[column].get()), "{column}");
    }
    for source in [
        "nyc_ecb",
        "nyc_dob",
        "nyc_hpd_violations",
        "nyc_evictions",
        "nyc_dof_assessments",
    ] {
        assert_eq!(sources[source].status, "not_found", "{source}");
        assert!(sources[source].data.is_none());
    }
    city.stop().await;
}
