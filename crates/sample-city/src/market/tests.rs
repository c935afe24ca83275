use std::collections::{HashMap, HashSet};

use super::{
    Kind,
    lots::lots,
    rows,
    sales::{Sale, sales},
};
use crate::buildings::buildings;

/// Miles between two lots, near enough at the size of a city.
fn miles(from: (&str, &str), to: (&str, &str)) -> f64 {
    let degrees = |text: &str| text.parse::<f64>().expect("degrees");
    let north = (degrees(to.0) - degrees(from.0)) * 69.05;
    let east = (degrees(to.1) - degrees(from.1)) * 69.05 * 0.758;
    north.hypot(east)
}

#[test]
fn neighbours_are_near_and_stand_on_lots_of_their_own() {
    let mut seen = HashSet::new();
    for lot in lots() {
        assert!(seen.insert(lot.bbl), "{}", lot.bbl);
        let of = lot.of;
        let here = (of.latitude.as_str(), of.longitude.as_str());
        assert!(
            miles(here, (&lot.latitude, &lot.longitude)) < 0.2,
            "{lot:?}"
        );
        let known = buildings().iter().any(|building| building.bbl == lot.bbl);
        assert_eq!(known, lot.own, "{}", lot.bbl);
        assert_eq!(lot.kind == Kind::Condo, lot.bbl.is_billing_lot(), "{lot:?}");
    }
    assert!(lots().len() > 1_200, "{}", lots().len());
}

#[test]
fn the_named_buildings_can_be_compared() {
    let market = |sale: &&Sale| sale.price >= 10_000;
    for (bbl, kind) in [
        ("1000477501", Kind::Condo),
        ("2023597501", Kind::Condo),
        ("1018890001", Kind::Coop),
        ("3082260013", Kind::House),
        ("4091190011", Kind::House),
        ("5033780070", Kind::House),
        ("4001600029", Kind::Building),
    ] {
        let near: Vec<&Sale> = (sales().iter())
            .filter(market)
            .filter(|sale| sale.lot.of.bbl.to_string() == bbl && sale.lot.kind == kind)
            .collect();
        assert!(near.len() >= 6, "{bbl}: {}", near.len());
        let same = near.iter().filter(|sale| sale.lot.own).count();
        let flats = matches!(kind, Kind::Condo | Kind::Coop);
        assert!(!flats || same >= 6, "{bbl}: {same} in the building itself");
        // What is like in kind and place is like in price.
        let mut each: Vec<u64> = near.iter().map(|sale| price_a_foot(sale)).collect();
        each.sort_unstable();
        let (low, high) = (each[each.len() / 10], each[each.len() * 9 / 10]);
        assert!(high < low * 2, "{bbl}: {low} to {high} a foot");
    }
}

fn price_a_foot(sale: &Sale) -> u64 {
    let home = sale
        .unit
        .as_deref()
        .and_then(|unit| super::home(&sale.lot.bbl.to_string(), unit));
    sale.price / home.map_or(sale.lot.area, |home| home.sqft)
}

type Row = [(&'static str, String)];

fn find<'a>(row: &'a Row, column: &str) -> &'a str {
    let cell = row.iter().find(|(name, _)| *name == column);
    cell.map_or("", |(_, text)| text)
}

#[test]
fn thousands_of_sales_with_every_fault_of_the_files() {
    let (yearly, rolling) = (rows("w2pb-icbu"), rows("usep-8jbt"));
    assert!(yearly.len() > 2_500, "{}", yearly.len());
    assert!(rolling.len() > 500, "{}", rolling.len());
    let has = |what: &str, test: &dyn Fn(&Row) -> bool| {
        assert!(yearly.iter().any(|row| test(row)), "{what}");
    };
    has("no price", &|row| find(row, "sale_price") == "0");
    has("a token", &|row| find(row, "sale_price") == "10");
    has("commas", &|row| {
        find(row, "gross_square_feet").contains(',')
    });
    has("blanks", &|row| {
        find(row, "land_square_feet").starts_with(' ')
    });
    has("no size", &|row| find(row, "gross_square_feet") == "0");
    has("a unit in the address", &|row| {
        find(row, "address").contains(", ")
    });
    has("a padded address", &|row| {
        find(row, "address").ends_with("  ")
    });
    has("two blanks", &|row| {
        find(row, "building_class_category").contains("  ")
    });
    has("no year", &|row| find(row, "year_built") == "1018");
    has("no lot number", &|row| find(row, "bbl").is_empty());
    let key = |row: &Row| {
        [
            "borough",
            "block",
            "lot",
            "address",
            "sale_date",
            "sale_price",
        ]
        .map(|column| find(row, column).to_owned())
    };
    let first: HashSet<_> = yearly.iter().map(|row| key(row)).collect();
    assert!(first.len() < yearly.len(), "a row stands twice");
    let both = rolling
        .iter()
        .filter(|row| first.contains(&key(row)))
        .count();
    assert!(both > 50, "{both} sales are in both releases");
    let mut packages: HashMap<(&str, &str, &str), HashSet<&str>> = HashMap::new();
    for row in &yearly {
        let price = find(row, "sale_price");
        if price.len() > 5 {
            let day = (find(row, "sale_date"), price, find(row, "block"));
            packages.entry(day).or_default().insert(find(row, "lot"));
        }
    }
    assert!(packages.values().any(|lots| lots.len() >= 3), "a package");
}

#[test]
fn lots_have_place_size_age_and_class() {
    let rows = rows("64uk-42ks");
    assert!(rows.len() > 1_000);
    for row in &rows {
        for column in [
            "bbl",
            "latitude",
            "longitude",
            "bldgarea",
            "unitsres",
            "yearbuilt",
            "bldgclass",
        ] {
            assert!(!find(row, column).is_empty(), "{column}");
        }
    }
    let condominiums = rows.iter().filter(|row| !find(row, "condono").is_empty());
    assert!(condominiums.count() > 20);
    assert!(super::rows("6bgk-3dad").is_empty());
}
