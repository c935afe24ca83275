//! An index gives back what was put in, from memory and from a file, and finds it by every way.

use std::collections::BTreeSet;

use super::{IndexError, SalesIndex};
use crate::{BuildingKey, Lots, Place, lot_number, read_text};

const SALES: &str = "\
BOROUGH,NEIGHBORHOOD,BLOCK,LOT,BUILDING CLASS AT PRESENT,BUILDING CLASS AT TIME OF SALE,TAX CLASS AT TIME OF SALE,\
ADDRESS,APARTMENT NUMBER,ZIP CODE,RESIDENTIAL UNITS,TOTAL UNITS,LAND SQUARE FEET,GROSS SQUARE FEET,YEAR BUILT,\
SALE PRICE,SALE DATE
1,MIDTOWN WEST,835,41,D4,D4,2,\"10 WEST 33 STREET, 4C\",,10001,,,,,1920,650000,2023-05-01
1,MIDTOWN WEST,835,1003,R4,R4,2,\"12 WEST 33 STREET, 9A\",9A,10001,1,1,,,2005,900000,2023-06-01
1,MIDTOWN WEST,835,1004,R4,R4,2,\"12 WEST 33RD ST, 9B\",9B,10001,1,1,,,2005,910000,2022-06-01
3,PARK SLOPE,1077,12,A4,A4,1,300 8 STREET,,11215,1,1,2000,3000,1901,2500000,2023-01-15
3,PARK SLOPE,1077,14,B1,B1,1,304 8 STREET,,11215,2,2,0,0,0,2100000000,2021-01-15
";

const LOTS: &str = "\
bbl,address,bldgclass,latitude,longitude,zipcode,yearbuilt,bldgarea,lotarea,unitsres,unitstotal,numfloors
1008350041.00000000,10 WEST 33 STREET,D4,40.7487,-73.9858,10001,1920,90000,8000,80,82,12.0000000
1008357501,12 WEST 33 STREET,R4,40.7488,-73.9859,10001,2005,120000,9000,100,101,20
3010770012,300 8 STREET,A4,40.6675,-73.9820,11215,1901,3000,2000,1,1,3.5
3010770014,304 8 STREET,B1,,,11215,1899,3200,2100,2,2,3
";

fn index() -> SalesIndex {
    let loaded = read_text("sales", SALES.as_bytes()).unwrap();
    let lots = Lots::read("lots", LOTS.as_bytes()).unwrap();
    SalesIndex::build(loaded, &lots)
}

fn prices(index: &SalesIndex, places: impl Iterator<Item = u32>) -> Vec<u64> {
    places
        .filter_map(|at| Some(index.sale(at)?.price))
        .collect()
}

#[test]
fn every_sale_comes_back_as_it_went_in() {
    let mut loaded = read_text("sales", SALES.as_bytes()).unwrap();
    let lots = Lots::read("lots", LOTS.as_bytes()).unwrap();
    let index = SalesIndex::build(read_text("sales", SALES.as_bytes()).unwrap(), &lots);
    lots.complete(&mut loaded);
    let back = index.to_loaded();
    assert_eq!(back.sales, loaded.sales);
    assert_eq!(back.neighborhoods, loaded.neighborhoods);
    for (a, b) in back.sales.iter().zip(&loaded.sales) {
        assert_eq!(back.texts.get(a.address), loaded.texts.get(b.address));
        assert_eq!(index.text(a.unit), loaded.texts.get(b.unit));
        assert_eq!(
            index.neighborhood(a.neighborhood),
            loaded.neighborhoods[usize::from(b.neighborhood)]
        );
    }
    let (rows, counts) = index.counts();
    assert_eq!(rows, 5);
    assert!(counts.contains(&("unit_in_address", 1)), "{counts:?}");
    for lot in lots.iter() {
        assert_eq!(index.lot(lot.bbl), Some(*lot));
    }
    assert_eq!(index.lot("5000010001".parse().unwrap()), None);
}

#[test]
fn lots_say_where_a_unit_is_and_what_a_house_is_like() {
    let index = index();
    let by_price = |price| index.sales().find(|sale| sale.price == price).unwrap();
    let unit = by_price(900_000);
    assert_eq!(unit.building_bbl.to_string(), "1008357501");
    assert_eq!(unit.building, BuildingKey(1_008_357_501));
    assert_eq!((unit.gross_sqft, unit.unit_safe_sqft()), (None, None));
    assert_eq!(unit.place, Place::in_city(40.7488, -73.9859));
    let flat = by_price(650_000);
    assert_eq!(
        flat.building_bbl, flat.bbl,
        "a co-operative's sale carries the building's lot"
    );
    assert_eq!(flat.unit_safe_sqft(), None);
    // The sales table had zeros for these.
    let house = by_price(2_100_000_000);
    assert_eq!(
        (house.gross_sqft, house.land_sqft),
        (Some(3200), Some(2100))
    );
    assert_eq!(house.year_built, Some(1899));
    assert_eq!(
        house.place,
        Place::in_city(40.6675, -73.982),
        "its block's, for want of its own"
    );
}

#[test]
fn found_by_building_block_neighbourhood_zip_and_place() {
    let index = index();
    let condo = BuildingKey(1_008_357_501);
    assert_eq!(
        prices(&index, index.in_building(condo)),
        [900_000, 910_000],
        "newest first"
    );
    assert_eq!(
        prices(&index, index.in_block(100_835)),
        [900_000, 650_000, 910_000]
    );
    assert_eq!(
        prices(&index, index.in_zip(11_215)),
        [2_500_000, 2_100_000_000]
    );
    let house = index.sales().find(|sale| sale.price == 2_500_000).unwrap();
    assert_eq!(
        prices(&index, index.in_neighborhood(house.neighborhood)),
        [2_500_000, 2_100_000_000]
    );
    assert_eq!(index.in_zip(10_999).count(), 0);
    let mut near = BTreeSet::new();
    index.within(
        Place::in_city(40.7487, -73.9858).unwrap(),
        0.25,
        |at, _, miles| {
            assert!(miles <= 0.25);
            near.insert(index.sale(at).unwrap().price);
        },
    );
    assert_eq!(near, BTreeSet::from([650_000, 900_000, 910_000]));
    let mut brooklyn = 0;
    index.in_borough(3, |_, _| brooklyn += 1);
    assert_eq!(brooklyn, 2);
}

#[test]
fn without_lots_a_condominium_is_its_block_and_address() {
    let loaded = read_text("sales", SALES.as_bytes()).unwrap();
    let index = SalesIndex::build(loaded, &Lots::default());
    let units: Vec<_> = index
        .sales()
        .filter(|sale| sale.bbl.is_unit_lot())
        .collect();
    let [a, b] = units.as_slice() else {
        panic!("two units")
    };
    assert_eq!(a.building, b.building, "33 STREET and 33RD ST are one");
    assert_ne!(a.building.0, lot_number(a.bbl));
    assert_eq!(a.place, None);
    assert_eq!(index.in_building(a.building).count(), 2);
    assert_eq!(index.in_block(100_835).count(), 3);
}

#[test]
fn a_file_is_mapped_and_a_damaged_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sales.index");
    let index = index();
    index.save(&path).unwrap();
    let opened = SalesIndex::open(&path).unwrap();
    opened.verify().unwrap();
    assert_eq!(opened.len(), 5);
    assert_eq!(opened.to_loaded().sales, index.to_loaded().sales);

    let bytes = index.bytes().to_vec();
    assert!(SalesIndex::from_bytes(Vec::new()).is_err());
    assert!(SalesIndex::from_bytes(bytes[..bytes.len() - 1].to_vec()).is_err());
    let mut changed = bytes.clone();
    changed[10] ^= 1;
    assert!(matches!(
        SalesIndex::from_bytes(changed),
        Err(IndexError::Damaged(_))
    ));
    let mut body = bytes;
    let last = body.len() - 1;
    body[last] ^= 1;
    let damaged = SalesIndex::from_bytes(body).unwrap();
    assert!(
        damaged.verify().is_err(),
        "the body is checked when asked for"
    );
    assert!(SalesIndex::open(folder.path().join("none")).is_err());
}

#[test]
fn real_land_use_tables_of_ten_years_are_read() {
    let Some(folder) = crate::at_hand::real_data("") else {
        return;
    };
    for (name, rows) in [
        ("pluto/pluto_16v2_500lots.csv", 500),
        ("pluto/pluto_18v1_lots.csv", 50),
        ("nycdb/pluto_latest.csv", 5),
    ] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let lots = Lots::read(name, &bytes).unwrap();
        assert_eq!(lots.len(), rows, "{name}");
        let built = lots
            .iter()
            .filter(|lot| lot.year_built.is_some() && lot.class.is_known())
            .count();
        assert!(built * 3 > rows, "{name}: {built}");
    }
    let latest = std::fs::read(folder.join("nycdb/pluto_latest.csv")).unwrap();
    let lots = Lots::read("latest", &latest).unwrap();
    assert!(lots.iter().all(|lot| lot.place.is_some()));
    assert!(
        Lots::read(
            "pointer",
            &std::fs::read(folder.join("bad/git_lfs_pointer_instead_of_csv.csv")).unwrap()
        )
        .is_err()
    );
}
