//! The market in the city's own tables: yearly sales, sales of the last twelve months, and lots.

use time::{Date, macros::date};

use super::{
    home,
    lots::{Lot, area, kind_of, lots},
    price::{Kind, Place, price},
    sales::{Sale, sales},
};
use crate::buildings::{Building, Unit};

/// The yearly releases, and the last twelve months. Their ends overlap, as they do at the publisher.
const YEARLY: (Date, Date) = (date!(2016 - 01 - 05), date!(2025 - 12 - 30));
const ROLLING: (Date, Date) = (date!(2025 - 10 - 01), date!(2026 - 09 - 30));

/// A row as pairs of column and text; what is absent is left out.
type Row = Vec<(&'static str, String)>;

/// The rows that the market adds to a dataset.
pub(crate) fn rows(dataset: &str) -> Vec<Row> {
    let between = |(from, to): (Date, Date)| {
        (sales().iter()).filter(move |sale| (from..=to).contains(&sale.date))
    };
    // One row in so many stands twice, to the letter.
    let twice = |rows: Vec<(u64, Row)>| {
        (rows.into_iter())
            .flat_map(|(number, row)| {
                let again = (number % 150 == 60).then(|| row.clone());
                std::iter::once(row).chain(again)
            })
            .collect()
    };
    match dataset {
        "w2pb-icbu" => twice(
            between(YEARLY)
                .map(|sale| (sale.number, yearly(sale)))
                .collect(),
        ),
        "usep-8jbt" => twice(
            between(ROLLING)
                .map(|sale| (sale.number, rolling(sale)))
                .collect(),
        ),
        "64uk-42ks" => (lots().iter()).filter(|lot| !lot.own).map(pluto).collect(),
        _ => Vec::new(),
    }
}

/// The city's categories, by the letter of a class, and by its second sign where that matters.
const CATEGORIES: [(&str, &str); 15] = [
    ("A", "01 ONE FAMILY DWELLINGS"),
    ("B", "02 TWO FAMILY DWELLINGS"),
    ("C0", "03 THREE FAMILY DWELLINGS"),
    ("C6", "09 COOPS - WALKUP APARTMENTS"),
    ("C8", "09 COOPS - WALKUP APARTMENTS"),
    ("C", "07 RENTALS - WALKUP APARTMENTS"),
    ("D0", "10 COOPS - ELEVATOR APARTMENTS"),
    ("D4", "10 COOPS - ELEVATOR APARTMENTS"),
    ("D", "08 RENTALS - ELEVATOR APARTMENTS"),
    ("R", "13 CONDOS - ELEVATOR APARTMENTS"),
    ("G", "29 COMMERCIAL GARAGES"),
    ("I", "32 HOSPITAL AND HEALTH FACILITIES"),
    ("K", "22 STORE BUILDINGS"),
    ("O", "21 OFFICE BUILDINGS"),
    ("S", "14 RENTALS - 4-10 UNIT"),
];

/// The category of a class.
pub(crate) fn category(class: &str) -> &'static str {
    (CATEGORIES.iter())
        .find(|(start, _)| class.starts_with(start))
        .map_or("31 COMMERCIAL VACANT LAND", |(_, name)| name)
}

/// The tax class of a class.
pub(crate) fn tax_class(class: &str) -> &'static str {
    match class.as_bytes() {
        [b'A' | b'B', ..] | [b'C', b'0'] => "1",
        [b'C' | b'D' | b'R' | b'S', ..] => "2",
        _ => "4",
    }
}

/// What a building, or a unit of it, would have sold for on a day.
pub(crate) fn value(building: &Building, unit: Option<&Unit>, day: Date) -> u64 {
    let id = building.bbl.to_string();
    let place = Place {
        borough: building.borough(),
        neighborhood: &building.neighborhood,
        building: &id,
    };
    let deal = format!("{id} {day}");
    match (kind_of(&building.class), unit) {
        (kind @ (Kind::Coop | Kind::Condo), unit) => {
            let named = unit.and_then(|unit| home(&id, &unit.designation));
            let (sqft, floor) = named.map_or((1_100, 2), |home| (home.sqft, home.floor));
            price(kind, place, sqft, floor, day, &deal)
        }
        (kind, _) => price(kind, place, area(building), 0, day, &deal),
    }
}

/// Digits with thousands commas, here and there with blanks around them.
fn padded(number: u64, sale: &Sale) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    match sale.number % 20 {
        7 => format!(" {text} "),
        _ => text,
    }
}

/// What both releases say in the same words.
fn common(sale: &Sale) -> Row {
    let lot = sale.lot;
    let line = format!("{} {}", lot.house_number, lot.of.street);
    let unit = sale.unit.as_deref();
    // A co-operative's unit stands in the address, a condominium's in its own column, and now and then in both.
    let both = lot.kind == Kind::Coop || sale.number % 9 == 4;
    let address = match unit.filter(|_| both) {
        Some(unit) => format!("{line}, {unit}"),
        None => line,
    };
    let address = match sale.number % 17 {
        5 => format!("{address:<40}"),
        _ => address,
    };
    let category = category(&lot.class);
    let category = match (sale.date.year(), category.split_once(' ')) {
        // The older releases have two blanks.
        (..=2017, Some((number, name))) => format!("{number}  {name}"),
        _ => category.to_owned(),
    };
    let mut row = vec![
        ("borough", lot.of.borough().digit().to_string()),
        ("neighborhood", lot.of.neighborhood.to_uppercase()),
        ("building_class_category", category),
        ("block", sale.bbl.block().to_string()),
        ("lot", sale.bbl.lot().to_string()),
        ("address", address),
        ("zip_code", lot.of.zip.clone()),
        (
            "tax_class_at_time_of_sale",
            tax_class(class(sale)).to_owned(),
        ),
        ("building_class_at_time_of", class(sale).to_owned()),
        ("sale_price", sale.price.to_string()),
        ("sale_date", format!("{}T00:00:00.000", sale.date)),
    ];
    if let Some(unit) = unit.filter(|_| lot.kind == Kind::Condo) {
        row.push(("apartment_number", unit.to_owned()));
    }
    // One year in a hundred or so is none.
    let year = match sale.number % 90 {
        31 => 0,
        67 => 1018,
        _ => lot.year_built,
    };
    row.push(("year_built", year.to_string()));
    row
}

/// The class of what was sold: a condominium's flat has its own, whatever else is in the building.
fn class(sale: &Sale) -> &'static str {
    match sale.lot.kind {
        Kind::Condo => "R4",
        _ => &sale.lot.class,
    }
}

/// Residential units: one of a flat.
fn units(sale: &Sale) -> u64 {
    match sale.unit {
        Some(_) => 1,
        None => sale.lot.units,
    }
}

fn rolling(sale: &Sale) -> Row {
    let mut row = common(sale);
    let class = class(sale);
    row.push(("tax_class_at_present", tax_class(class).to_owned()));
    row.push(("building_class_at_present", class.to_owned()));
    row.push(("residential_units", units(sale).to_string()));
    row.push(("commercial_units", "0".to_owned()));
    row.push(("total_units", units(sale).to_string()));
    // An unknown size is absent here, and 0 in the yearly files.
    if let Some(sqft) = sale.sqft {
        row.push(("gross_square_feet", sqft.to_string()));
    }
    if sale.unit.is_none() {
        row.push(("land_square_feet", sale.lot.lot_area.to_string()));
    }
    row
}

fn yearly(sale: &Sale) -> Row {
    let mut row = common(sale);
    let (lot, class) = (sale.lot, class(sale));
    row.push(("tax_class_as_of_final_roll", tax_class(class).to_owned()));
    row.push(("building_class_as_of_final", class.to_owned()));
    row.push(("residential_units", units(sale).to_string()));
    row.push(("commercial_units", "0".to_owned()));
    row.push(("total_units", units(sale).to_string()));
    let ground = if sale.unit.is_some() { 0 } else { lot.lot_area };
    row.push(("gross_square_feet", padded(sale.sqft.unwrap_or(0), sale)));
    row.push(("land_square_feet", padded(ground, sale)));
    row.push(("latitude", lot.latitude.clone()));
    row.push(("longitude", lot.longitude.clone()));
    row.push(("community_board", lot.of.community_district.clone()));
    row.push(("council_district", lot.of.council_district.clone()));
    row.push(("census_tract_2020", lot.of.census_tract.clone()));
    row.push(("nta", lot.of.neighborhood.clone()));
    if let Some(bin) = lot.of.bin.filter(|_| lot.own) {
        row.push(("bin", bin.to_string()));
    }
    // A few rows have no lot number but its parts.
    if sale.number % 70 != 33 {
        row.push(("bbl", sale.bbl.to_string()));
    }
    row
}

fn pluto(lot: &Lot) -> Row {
    let of = lot.of;
    let ten = |bbl: brownstone_domain::Bbl| format!("{bbl}.00000000");
    let mut row = vec![
        ("borough", of.borough().letters().to_owned()),
        ("borocode", of.borough().digit().to_string()),
        ("block", lot.bbl.block().to_string()),
        ("lot", lot.bbl.lot().to_string()),
        ("bbl", ten(lot.bbl)),
        ("cd", of.community_district.clone()),
        ("ct2010", of.census_tract.clone()),
        ("council", of.council_district.clone()),
        ("zipcode", of.zip.clone()),
        ("address", format!("{} {}", lot.house_number, of.street)),
        (
            "zonedist1",
            if lot.floors > 6 { "R8" } else { "R5" }.to_owned(),
        ),
        ("splitzone", "false".to_owned()),
        ("bldgclass", lot.class.clone()),
        ("landuse", land_use(lot).to_owned()),
        ("easements", "0".to_owned()),
        ("lotarea", lot.lot_area.to_string()),
        ("bldgarea", lot.area.to_string()),
        ("comarea", "0".to_owned()),
        ("resarea", lot.area.to_string()),
        ("areasource", "2".to_owned()),
        ("numbldgs", "1".to_owned()),
        ("numfloors", format!("{}.0000000", lot.floors)),
        ("unitsres", lot.units.to_string()),
        ("unitstotal", lot.units.to_string()),
        ("yearbuilt", lot.year_built.to_string()),
        ("yearalter1", "0".to_owned()),
        ("yearalter2", "0".to_owned()),
        ("latitude", lot.latitude.clone()),
        ("longitude", lot.longitude.clone()),
        ("plutomapid", "1".to_owned()),
        ("version", "26v2".to_owned()),
    ];
    if let Some((ground, number)) = lot.condominium {
        row.push(("condono", number.to_string()));
        row.push(("appbbl", ten(ground)));
    }
    row
}

fn land_use(lot: &Lot) -> &'static str {
    match (lot.kind, lot.floors) {
        (Kind::House, _) => "1",
        (Kind::Building, 0..=4) => "2",
        _ => "3",
    }
}
