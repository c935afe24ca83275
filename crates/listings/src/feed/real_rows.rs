//! Scraped homes for sale, with every fault that feeds have, read as if RentCast had sent them. They are used where the
//! folder with them is named, and are no part of this repository.

use std::{collections::BTreeSet, io::Read as _};

use brownstone_domain::{Dollars, PropertyType};
use serde_json::{Value, json};

use super::rentcast;
use crate::{
    Row,
    clean::Dropped,
    diff::without_duplicates,
    index::{ListingIndex, Snapshot},
    made_up::NOW,
};

/// The mean that stands where the size is not known.
const FILL_AREA: &str = "2184.207862";

/// The rows, `None` where they are not here.
fn rows() -> Option<Vec<csv::StringRecord>> {
    let path = crate::at_hand::real_data("listings/ny_house_sale_listings.csv.gz")?;
    let mut text = Vec::new();
    let file = std::fs::File::open(&path).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut text)
        .unwrap();
    let mut reader = csv::Reader::from_reader(text.as_slice());
    Some(reader.records().map(|record| record.unwrap()).collect())
}

fn number(text: &str) -> Value {
    text.parse::<i64>()
        .map(Value::from)
        .or_else(|_| text.parse::<f64>().map(Value::from))
        .unwrap_or(Value::Null)
}

fn read(number_of: usize, record: &csv::StringRecord, dropped: &mut Dropped) -> Row {
    let field = |at: usize| record.get(at).unwrap_or_default();
    let zip = field(7).rsplit(' ').next().unwrap_or_default();
    let row = json!({
        "id": number_of.to_string(),
        "propertyType": field(1).trim_end_matches(" for sale").trim_end_matches(" home"),
        "status": "Active",
        "price": number(field(2)), "bedrooms": number(field(3)), "bathrooms": number(field(4)),
        "squareFootage": number(field(5)), "addressLine1": field(6), "zipCode": zip,
        "latitude": number(field(15)), "longitude": number(field(16)),
    });
    let Value::Object(row) = row else {
        panic!("an object")
    };
    rentcast::map(&row, brownstone_domain::ListingType::Sale, NOW, dropped).unwrap()
}

#[test]
fn fill_values_of_real_rows_are_not_known_and_everything_else_is_kept() {
    let Some(records) = rows() else { return };
    let mut dropped = Dropped::new();
    let (mut areas, mut baths, mut prices) = (0_u64, 0_u64, 0_u64);
    let mut mapped = Vec::new();
    for (at, record) in records.iter().enumerate() {
        let row = read(at, record, &mut dropped);
        let listing = &row.listing;
        let (price, bath, area) = (&record[2], &record[4], &record[5]);
        if area.starts_with(FILL_AREA) {
            assert_eq!(listing.living_area_sqft, None);
            areas += 1;
        } else if let Ok(sqft) = area.parse::<f64>().map(|sqft| sqft as u32)
            && (50..=250_000).contains(&sqft)
        {
            assert_eq!(listing.living_area_sqft, Some(sqft), "{area}");
        }
        if bath.contains('.') && bath.len() > 6 {
            assert_eq!(listing.bathrooms, None);
            baths += 1;
        }
        if price == "2147483647" {
            assert_eq!(listing.list_price, None);
            prices += 1;
        } else {
            let cents = listing.list_price.and_then(Dollars::cents);
            let dollars: i64 = price.parse().unwrap();
            assert!(cents.is_none_or(|cents| cents == dollars * 100));
            assert!(cents.is_some() || dollars < 1_000, "{price}");
        }
        mapped.push(row);
    }
    assert!(
        areas > 1_000 && baths > 100,
        "{areas} sizes, {baths} bathrooms"
    );
    assert!(dropped["living_area_sqft"] >= areas && dropped["bathrooms"] >= baths);
    assert!(dropped.get("list_price").copied().unwrap_or(0) >= prices);
    let condos = mapped
        .iter()
        .filter(|row| row.listing.property_type == PropertyType::Condo);
    assert!(condos.count() > 500);
    let coops = mapped
        .iter()
        .filter(|row| row.listing.property_type == PropertyType::Coop);
    assert!(coops.count() > 500);
}

#[test]
fn duplicates_among_real_rows_are_shown_once() {
    let Some(records) = rows() else { return };
    let mut dropped = Dropped::new();
    let mapped: Vec<Row> = records
        .iter()
        .enumerate()
        .map(|(at, record)| read(at, record, &mut dropped))
        .collect();
    let count = mapped.len();
    let (rows, gone) = without_duplicates(mapped, &BTreeSet::new());
    assert_eq!(rows.len() + usize::try_from(gone).unwrap(), count);
    assert!(gone > 50, "{gone} duplicates");
    // Nothing that stays offers the same home twice.
    let offers: Vec<String> = rows.iter().filter_map(Row::offer).collect();
    let distinct: BTreeSet<&String> = offers.iter().collect();
    assert_eq!(distinct.len(), offers.len());
    let index = ListingIndex::default();
    let zip = "10001".parse().unwrap();
    index.put([Snapshot::new(zip, 1, &rows)]);
    assert_eq!(index.count(zip), Some(rows.len()));
    assert!(index.resident_bytes() / rows.len() <= 600);
}
