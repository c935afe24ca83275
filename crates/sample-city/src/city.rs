//! The datasets of the city, each made when it is first asked for.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, OnceLock},
};

use serde_json::json;
use time::OffsetDateTime;

use crate::{
    generate::{Record, records},
    market,
    spec::{ColumnSpec, Spec},
    table::{Column, ColumnType, Table, TableParts, Value},
};

/// The files, by dataset: adding one is a file and its line here.
macro_rules! files {
    ($($id:literal),* $(,)?) => {
        const FILES: &[(&str, &str)] = &[
            $(($id, include_str!(concat!("../datasets/", $id, ".toml")))),*
        ];
    };
}

files![
    "2iga-a6mk",
    "3279-pp7v",
    "355w-xvp2",
    "3bkg-usya",
    "3h2n-5cm9",
    "3ub5-4ph8",
    "43nn-pn8j",
    "52dp-yji6",
    "59kj-x8nc",
    "5zhs-2jue",
    "5zyy-y8am",
    "636b-3b5g",
    "64uk-42ks",
    "6bgk-3dad",
    "6v9u-ndjg",
    "6z8x-wfk4",
    "7isb-wh4c",
    "7zb8-7bpk",
    "855j-jady",
    "8h5j-fqxa",
    "8y4t-faws",
    "94g4-w6xz",
    "9p4w-7npp",
    "9rz4-mjek",
    "adax-9mit",
    "bf97-mjsy",
    "bheb-sjfi",
    "bnx9-e6tj",
    "br6q-ssj3",
    "bs8b-p36w",
    "bsin-59hv",
    "buis-pvji",
    "bzxi-2tsw",
    "cp6j-7bjj",
    "dm9a-ab7w",
    "dpm2-m9mq",
    "e5aq-a4j2",
    "eabe-havv",
    "eguu-7ie3",
    "emrz-5p35",
    "erm2-nwe9",
    "f9wb-g8mb",
    "fdkv-4t4z",
    "feu5-w2e2",
    "fn4k-qyk2",
    "g76y-dcqj",
    "gjm4-k24g",
    "gpmc-yuvp",
    "gy3q-4tzp",
    "h4mf-f24e",
    "hcir-3275",
    "hg8x-zxpr",
    "hgx4-8ukb",
    "hn5i-inap",
    "hphy-6g7m",
    "hxm3-23vy",
    "i296-73x5",
    "i9wp-a4ja",
    "ic3t-wcy2",
    "im9z-53hg",
    "ipu4-2q9a",
    "itd7-gx3g",
    "ji82-xba5",
    "jqfp-uff7",
    "jz4z-kudi",
    "kfp4-dz4h",
    "kj4p-ruqc",
    "mdbu-nrqn",
    "muvi-b6kx",
    "myn9-hwsy",
    "n5xc-7jfa",
    "n9v6-gdp6",
    "ncre-qhxs",
    "p8u6-a6it",
    "p937-wjvj",
    "pkdm-hqz6",
    "pwkr-dpni",
    "qt5r-nqxp",
    "rbx6-tga4",
    "rgyu-ii48",
    "rvih-nhyn",
    "sbnd-xujn",
    "scjx-j6np",
    "ssq6-fkht",
    "tb8q-a3ar",
    "tesw-yqqr",
    "usep-8jbt",
    "uvpi-gqnh",
    "vq35-j9qm",
    "w2pb-icbu",
    "w9ak-ipjd",
    "wvxf-dwi5",
    "wycc-5aqt",
    "wz6d-d3jb",
    "xpbf-ithr",
    "xubg-57si",
    "xxbr-ypig",
    "y4fw-iqfr",
    "ygpa-z7cr",
];

/// A dataset read and made.
#[derive(Debug)]
struct Made {
    spec: Spec,
    records: Vec<Record>,
}

static MADE: LazyLock<HashMap<&'static str, OnceLock<Option<Made>>>> =
    LazyLock::new(|| FILES.iter().map(|(id, _)| (*id, OnceLock::new())).collect());

fn made(id: &str) -> Option<&'static Made> {
    MADE.get(id)?.get_or_init(|| make(id)).as_ref()
}

/// A file with a fault is a dataset that is missing, and a failing test of this crate.
fn make(id: &str) -> Option<Made> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == id)?;
    let spec = match Spec::parse(text) {
        Ok(spec) => spec,
        Err(error) => {
            tracing::error!(dataset = id, %error, "a dataset's file does not read");
            return None;
        }
    };
    let parent = match &spec.parent {
        Some(parent) => made(parent)?.records.as_slice(),
        None => &[],
    };
    match records(&spec, parent) {
        Ok(records) => Some(Made { spec, records }),
        Err(error) => {
            tracing::error!(dataset = id, %error, "a dataset's records cannot be made");
            None
        }
    }
}

/// All datasets.
#[derive(Debug)]
pub(crate) struct City {
    has_records: bool,
    started: i64,
    tables: HashMap<&'static str, OnceLock<Option<Arc<Table>>>>,
}

impl City {
    pub(crate) fn made_up() -> Self {
        Self::new(true)
    }

    pub(crate) fn empty() -> Self {
        Self::new(false)
    }

    fn new(has_records: bool) -> Self {
        Self {
            has_records,
            started: OffsetDateTime::now_utc().unix_timestamp(),
            tables: FILES.iter().map(|(id, _)| (*id, OnceLock::new())).collect(),
        }
    }

    /// When it started, Unix seconds.
    pub(crate) fn started(&self) -> i64 {
        self.started
    }

    /// Whether it has buildings, and records of them.
    pub(crate) fn has_records(&self) -> bool {
        self.has_records
    }

    pub(crate) fn table(&self, id: &str) -> Option<Arc<Table>> {
        (self.tables.get(id)?.get_or_init(|| self.make_table(id))).clone()
    }

    fn make_table(&self, id: &str) -> Option<Arc<Table>> {
        let made = made(id)?;
        let spec = &made.spec;
        let records: &[Record] = if self.has_records { &made.records } else { &[] };
        let mut rows: Vec<Vec<Value>> = (records.iter())
            .map(|record| {
                (spec.columns.iter().zip(&record.cells))
                    .map(|(column, cell)| match cell {
                        Some(text) => cell_value(column.kind, text),
                        None => Value::Null,
                    })
                    .collect()
            })
            .collect();
        // What the market around the buildings adds.
        for row in self
            .has_records
            .then(|| market::rows(id))
            .into_iter()
            .flatten()
        {
            let cell = |column: &ColumnSpec| {
                let found = row.iter().find(|(name, _)| *name == column.name);
                found.map_or(Value::Null, |(_, text)| cell_value(column.kind, text))
            };
            rows.push(spec.columns.iter().map(cell).collect());
        }
        Some(Arc::new(Table::new(TableParts {
            id: spec.id.clone(),
            name: spec.name.clone(),
            attribution: spec.agency.clone(),
            columns: (spec.columns.iter())
                .map(|column| Column {
                    name: column.name.clone(),
                    kind: column.kind,
                })
                .collect(),
            rows,
            updated_at: self.started - spec.updated_hours_ago * 3_600,
        })))
    }
}

/// A made value as a cell. Places are written `longitude latitude`.
fn cell_value(kind: ColumnType, text: &str) -> Value {
    let place = || {
        let (lon, lat) = text.split_once(' ')?;
        Some((lon.parse::<f64>().ok()?, lat.parse::<f64>().ok()?))
    };
    // Half the side of a lot, in degrees.
    const HALF: f64 = 0.0001;
    let shape = match (kind, place()) {
        (ColumnType::Point, Some((lon, lat))) => {
            json!({ "type": "Point", "coordinates": [lon, lat] })
        }
        (ColumnType::Multipolygon, Some((lon, lat))) => {
            let corner = |east: f64, north: f64| {
                let round = |degrees: f64| (degrees * 1e6).round() / 1e6;
                json!([round(lon + east * HALF), round(lat + north * HALF)])
            };
            let ring = [
                corner(-1.0, -1.0),
                corner(1.0, -1.0),
                corner(1.0, 1.0),
                corner(-1.0, 1.0),
                corner(-1.0, -1.0),
            ];
            json!({ "type": "MultiPolygon", "coordinates": [[ring]] })
        }
        (ColumnType::Location, Some((lon, lat))) => json!({
            "latitude": lat.to_string(),
            "longitude": lon.to_string(),
            "human_address": r#"{"address": "", "city": "", "state": "", "zip": ""}"#,
        }),
        (ColumnType::Url, _) => json!({ "url": text }),
        _ => return Value::of(kind, text),
    };
    Value::Json(Arc::new(shape))
}

/// The ids of all datasets.
pub(crate) fn dataset_ids() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(id, _)| *id)
}

#[cfg(test)]
pub(crate) fn spec_of(id: &str) -> Option<&'static Spec> {
    made(id).map(|made| &made.spec)
}

#[cfg(test)]
pub(crate) fn records_of(id: &str) -> &'static [Record] {
    made(id).map_or(&[], |made| &made.records)
}
