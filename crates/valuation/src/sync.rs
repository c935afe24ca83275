//! Whole datasets through SODA: the two tables of sales, and the land-use table.
//!
//! Rows are turned into the delimited text of the published files as their pages come, so that one reader, and one set
//! of rules, serves both; a page is forgotten once it is text.

use std::time::Duration;

use brownstone_soda::{Column, Condition, DatasetId, Literal, Query, Row, Select, Soda, SodaError};
use tokio::time::Instant;

use crate::{Loaded, Lots, ReadError, read::read_texts};

/// The annualized sales: whole years, since 2016.
pub const ANNUAL_SALES: &str = "w2pb-icbu";
/// The rolling sales: the last twelve months.
pub const ROLLING_SALES: &str = "usep-8jbt";
/// The land-use table (PLUTO).
pub const LAND_USE: &str = "64uk-42ks";

/// Rows a page: fifteen pages for a year of rolling sales twice over, and none larger than some 20 MB.
const PAGE: u32 = 10_000;
/// How long one page may take, retries included.
const PATIENCE: Duration = Duration::from_secs(120);
/// More rows than either table will have in this century: a walk that does not end is a fault of the host.
const MOST_ROWS: usize = 10_000_000;

/// Why a dataset could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The publisher did not answer.
    #[error("dataset {dataset}: {source}")]
    Soda {
        /// The dataset's id.
        dataset: &'static str,
        /// Why.
        source: SodaError,
    },
    /// The publisher answered without a single row: whatever is loaded stays.
    #[error("dataset {0} has no rows")]
    Empty(&'static str),
    /// The answer was no table of that kind.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A column of the text, and the names it has in the datasets, the first that a row has counting.
type Columns = &'static [(&'static str, &'static [&'static str])];

const SALES: Columns = &[
    ("borough", &["borough"]),
    ("neighborhood", &["neighborhood"]),
    (
        "tax class at present",
        &["tax_class_at_present", "tax_class_as_of_final_roll"],
    ),
    ("block", &["block"]),
    ("lot", &["lot"]),
    (
        "building class at present",
        &[
            "building_class_at_present",
            "building_class_as_of_final",
            "building_class_as_of_final_roll",
        ],
    ),
    ("address", &["address"]),
    ("apartment number", &["apartment_number"]),
    ("zip code", &["zip_code"]),
    ("residential units", &["residential_units"]),
    ("commercial units", &["commercial_units"]),
    ("total units", &["total_units"]),
    ("land square feet", &["land_square_feet"]),
    ("gross square feet", &["gross_square_feet"]),
    ("year built", &["year_built"]),
    (
        "tax class at time of sale",
        &["tax_class_at_time_of_sale", "tax_class_at_time_of"],
    ),
    (
        "building class at time of sale",
        &[
            "building_class_at_time_of",
            "building_class_at_time_of_sale",
        ],
    ),
    ("latitude", &["latitude"]),
    ("longitude", &["longitude"]),
    ("sale price", &["sale_price"]),
    ("sale date", &["sale_date"]),
];

const LOTS: Columns = &[
    ("bbl", &["bbl"]),
    ("latitude", &["latitude"]),
    ("longitude", &["longitude"]),
    ("bldgclass", &["bldgclass"]),
    ("zipcode", &["zipcode"]),
    ("yearbuilt", &["yearbuilt"]),
    ("bldgarea", &["bldgarea"]),
    ("resarea", &["resarea"]),
    ("lotarea", &["lotarea"]),
    ("unitsres", &["unitsres"]),
    ("unitstotal", &["unitstotal"]),
    ("numfloors", &["numfloors"]),
    ("address", &["address"]),
];

/// Fetches both tables of sales and puts them together, the rolling release last. `progress` hears how many rows came.
///
/// # Errors
/// When either table cannot be had whole.
pub async fn fetch_sales(
    soda: &dyn Soda,
    progress: &mut (dyn FnMut(usize) + Send),
) -> Result<Loaded, SyncError> {
    let annual = fetch(soda, ANNUAL_SALES, SALES, progress).await?;
    let rolling = fetch(soda, ROLLING_SALES, SALES, progress).await?;
    Ok(read_texts(&[
        (ANNUAL_SALES, annual.as_slice()),
        (ROLLING_SALES, rolling.as_slice()),
    ])?)
}

/// Fetches the land-use table.
///
/// # Errors
/// When it cannot be had whole.
pub async fn fetch_lots(
    soda: &dyn Soda,
    progress: &mut (dyn FnMut(usize) + Send),
) -> Result<Lots, SyncError> {
    let text = fetch(soda, LAND_USE, LOTS, progress).await?;
    Ok(Lots::read(LAND_USE, &text)?)
}

/// Every row of a dataset, as text with a header.
async fn fetch(
    soda: &dyn Soda,
    dataset: &'static str,
    columns: Columns,
    progress: &mut (dyn FnMut(usize) + Send),
) -> Result<Vec<u8>, SyncError> {
    let failed = |source| SyncError::Soda { dataset, source };
    let broken = || {
        failed(SodaError::Unavailable(
            "its pages cannot be told apart".to_owned(),
        ))
    };
    let id = DatasetId::new(dataset).map_err(|_| SyncError::Empty(dataset))?;
    let mut text = Vec::new();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    text.extend_from_slice(names.join(",").as_bytes());
    text.push(b'\n');
    let mut last: Option<String> = None;
    let mut rows = 0;
    loop {
        let mut query = Query::of(id.clone())
            .select([Select::All, Select::RowId])
            .order_asc(Column::row_id())
            .limit(PAGE);
        // Behind the last row of the page before: this stays right while rows are added.
        if let Some(last) = &last {
            query = query.filter(Condition::Gt(Column::row_id(), Literal::Text(last.clone())));
        }
        let page = soda
            .rows(&query, Instant::now() + PATIENCE)
            .await
            .map_err(failed)?
            .rows;
        for row in &page {
            put_row(&mut text, row, columns);
        }
        rows += page.len();
        progress(rows);
        if page.len() < PAGE as usize {
            break;
        }
        let next = page
            .last()
            .and_then(|row| cell(row, &[":id"]))
            .ok_or_else(broken)?;
        if last.as_ref() == Some(&next) || rows > MOST_ROWS {
            return Err(broken());
        }
        last = Some(next);
    }
    if rows == 0 {
        return Err(SyncError::Empty(dataset));
    }
    Ok(text)
}

/// The row's value under the first of these names that it has; `None` when it has none.
fn cell(row: &Row, names: &[&str]) -> Option<String> {
    let raw = names.iter().find_map(|name| row.get(*name))?.get();
    match serde_json::from_str(raw).ok()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn put_row(text: &mut Vec<u8>, row: &Row, columns: Columns) {
    for (at, (_, names)) in columns.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        let Some(value) = cell(row, names) else {
            continue;
        };
        if value.contains(['"', ',', '\r', '\n']) {
            text.push(b'"');
            text.extend_from_slice(value.replace('"', "\"\"").as_bytes());
            text.push(b'"');
        } else {
            text.extend_from_slice(value.as_bytes());
        }
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use brownstone_soda::{Metadata, Rows};
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;
    use crate::{Flags, SalesIndex};

    /// A host that answers each dataset with the pages it was given.
    struct Host(Mutex<Vec<(&'static str, Vec<Value>)>>);

    #[async_trait]
    impl Soda for Host {
        async fn rows(&self, query: &Query, _: Instant) -> Result<Rows, SodaError> {
            let mut pages = self.0.lock().unwrap();
            let at = pages
                .iter()
                .position(|(dataset, _)| query.dataset.as_str() == *dataset)
                .ok_or(SodaError::Gone { status: 404 })?;
            let (_, rows) = pages.remove(at);
            let row = |value: &Value| {
                value
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(key, value)| (key.clone(), to_raw_value(value).unwrap()))
                    .collect()
            };
            Ok(Rows {
                rows: rows.iter().map(row).collect(),
                ..Rows::default()
            })
        }

        async fn metadata(&self, _: &DatasetId, _: Instant) -> Result<Metadata, SodaError> {
            Err(SodaError::Throttled)
        }
    }

    #[tokio::test]
    async fn both_tables_of_sales_and_the_lots_become_one_index() {
        let annual = json!({
            ":id": "row-a", "borough": "1", "neighborhood": "MIDTOWN WEST", "block": "835", "lot": "41",
            "tax_class_as_of_final_roll": "2", "building_class_as_of_final": "D4",
            "address": "10 WEST 33 STREET, 4C", "zip_code": "10001", "gross_square_feet": "1,200",
            "building_class_at_time_of": "D4", "sale_price": "650000", "sale_date": "2023-05-01T00:00:00.000",
            "latitude": "40.7487", "longitude": "-73.9858",
        });
        // The rolling table repeats the sale under other names, and has one of its own.
        let again = json!({
            "borough": "MANHATTAN", "neighborhood": "MIDTOWN WEST", "block": 835, "lot": 41,
            "building_class_at_present": "D4", "address": "10 WEST 33 STREET, 4C",
            "building_class_at_time_of_sale": "D4", "sale_price": "650,000", "sale_date": "2023-05-01T00:00:00.000",
        });
        let new = json!({
            "borough": "1", "block": "835", "lot": "41", "address": "10 WEST 33 STREET, \"5C\"",
            "building_class_at_time_of": "D4", "sale_price": "0", "sale_date": "2024-01-02T00:00:00.000",
        });
        let lot = json!({
            "bbl": "1008350041.00000000", "address": "10 WEST 33 STREET", "bldgclass": "D4", "yearbuilt": "1920",
            "latitude": "40.7487001", "longitude": "-73.9858", "bldgarea": "90000", "numfloors": "12.0000000",
        });
        let host = Host(Mutex::new(vec![
            (ANNUAL_SALES, vec![annual]),
            (ROLLING_SALES, vec![again, new]),
            (LAND_USE, vec![lot]),
        ]));
        let mut seen = Vec::new();
        let loaded = fetch_sales(&host, &mut |rows| seen.push(rows))
            .await
            .unwrap();
        assert_eq!(seen, [1, 2]);
        assert_eq!(loaded.exclusions.get(crate::Reason::ReleaseOverlap), 1);
        let lots = fetch_lots(&host, &mut |_| {}).await.unwrap();
        let index = SalesIndex::build(loaded, &lots);
        assert_eq!((index.len(), index.lot_count()), (2, 1));
        let mut sales: Vec<_> = index.sales().collect();
        sales.sort_by_key(|sale| sale.date);
        assert_eq!(index.text(sales[0].unit), "4C");
        assert_eq!(sales[0].year_built, Some(1920));
        assert!(sales[1].flags.has(Flags::NON_ARMS_LENGTH));
        // What an index holds can be taken out and put in again, with other lots.
        let again = SalesIndex::build(index.to_loaded(), &index.lots());
        assert_eq!(again.bytes(), index.bytes());
    }

    #[tokio::test]
    async fn an_outage_or_an_empty_table_is_no_table() {
        let host = Host(Mutex::new(vec![(ANNUAL_SALES, vec![])]));
        let error = fetch_sales(&host, &mut |_| {}).await.unwrap_err();
        assert!(matches!(error, SyncError::Empty(ANNUAL_SALES)), "{error}");
        let error = fetch_lots(&host, &mut |_| {}).await.unwrap_err();
        assert!(matches!(
            error,
            SyncError::Soda {
                dataset: LAND_USE,
                ..
            }
        ));
    }
}
