//! What a search takes, what it leaves out, and that it knows nothing of the future.

use brownstone_domain::comps::{
    CompsMode, CompsRequest, SameBuilding, SearchStep, SubjectOverrides,
};
use proptest::prelude::*;
use time::{OffsetDateTime, macros::date};

use super::{Ask, Found, Search, Subject, Target, Valued, answer, search, valuer};
use crate::{Lots, SalesIndex, read::value::days, read_text};

const LOTS: &str = "\
bbl,address,bldgclass,latitude,longitude,zipcode,yearbuilt,bldgarea,lotarea,unitsres,unitstotal
1008350041,10 WEST 33 STREET,D4,40.7487,-73.9858,10001,1920,90000,8000,80,82
1008357501,12 WEST 33 STREET,R4,40.7488,-73.9859,10001,2005,120000,9000,100,101
3010770012,300 8 STREET,A4,40.6675,-73.9820,11215,1901,3000,2000,1,1
3010770014,304 8 STREET,A5,40.6676,-73.9821,11215,1901,3100,2000,1,1
3010770016,308 8 STREET,B1,40.6677,-73.9822,11215,1905,3300,2000,2,2
3010770018,312 8 STREET,A4,40.6678,-73.9823,11215,1901,0,2000,1,1
";

const HEADER: &str = "borough,block,lot,neighborhood,building_class_at_time_of_sale,address,apartment_number,\
zip_code,gross_square_feet,year_built,sale_price,sale_date\n";

const SALES: &str = "\
1,835,1003,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9A\",9A,10001,,2005,900000,2023-06-01
1,835,1004,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9B\",9B,10001,,2005,910000,2022-06-01
1,835,1005,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9C\",9C,10001,,2005,920000,2022-09-01
1,835,1006,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9D\",9D,10001,,2005,0,2022-10-01
1,835,1007,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9E\",9E,10001,,2005,5000,2022-10-01
1,835,1008,MIDTOWN WEST,RG,12 WEST 33 STREET,P1,10001,,2005,60000,2022-10-02
1,835,1009,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9F\",9F,10001,,2005,700000,2018-10-02
1,835,1010,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 10A\",10A,10001,,2005,1500000,2022-11-01
1,835,1011,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 10B\",10B,10001,,2005,1500000,2022-11-01
1,835,41,MIDTOWN WEST,D4,\"10 WEST 33 STREET, 4C\",,10001,,1920,650000,2023-05-01
1,835,41,MIDTOWN WEST,D4,\"10 WEST 33 STREET, 5C\",,10001,,1920,660000,2023-04-01
3,1077,12,PARK SLOPE,A4,300 8 STREET,,11215,3000,1901,2500000,2023-01-15
3,1077,14,PARK SLOPE,A5,304 8 STREET,,11215,3100,1901,2600000,2023-02-15
3,1077,16,PARK SLOPE,B1,308 8 STREET,,11215,3300,1905,2700000,2023-03-15
3,1077,18,PARK SLOPE,A4,312 8 STREET,,11215,0,1901,2400000,2023-03-16
";

fn index_of(sales: &str) -> SalesIndex {
    let loaded = read_text("sales", format!("{HEADER}{sales}").as_bytes()).unwrap();
    SalesIndex::build(loaded, &Lots::read("lots", LOTS.as_bytes()).unwrap())
}

fn target(bbl: &str) -> Target {
    Target {
        bbl: Some(bbl.parse().unwrap()),
        ..Target::default()
    }
}

fn find(index: &SalesIndex, bbl: &str, request: &CompsRequest, cutoff: i32) -> (Subject, Search) {
    let subject = Subject::find(index, &target(bbl), &request.overrides, cutoff).unwrap();
    let search = search(index, &subject, request, cutoff);
    (subject, search)
}

fn prices(search: &Search) -> Vec<u64> {
    search.found.iter().map(|found| found.sale.price).collect()
}

fn july() -> i32 {
    days(2023, 7, 1).unwrap()
}

#[test]
fn a_condominium_unit_is_compared_in_its_building_and_what_is_left_out_is_counted() {
    let index = index_of(SALES);
    let request = CompsRequest::of("x");
    let (subject, search) = find(&index, "1008357501", &request, july());
    assert_eq!((subject.kind, subject.sqft), (crate::Kind::Condo, None));
    assert_eq!(
        prices(&search),
        [900_000, 920_000, 910_000],
        "the newest is the most alike"
    );
    assert_eq!(search.used.step, SearchStep::SameBuilding);
    let excluded = search.excluded;
    assert_eq!(
        (
            excluded.below_price_floor,
            excluded.package_sale,
            excluded.different_type,
            excluded.too_old
        ),
        (2, 2, 1, 1)
    );
    // Without a floor the transfers are no less transfers, unless the caller wants them.
    let lower = CompsRequest {
        min_sale_price: 0,
        ..request.clone()
    };
    let (_, found) = find(&index, "1008357501", &lower, july());
    assert_eq!(
        (
            found.excluded.below_price_floor,
            found.excluded.non_arms_length
        ),
        (0, 2)
    );
    let all = CompsRequest {
        include_non_arms_length: true,
        ..lower
    };
    assert_eq!(
        find(&index, "1008357501", &all, july()).1.used.usable_sales,
        5
    );
    // The flats of the building next door are shares of a co-operative: another kind.
    let none = CompsRequest {
        same_building: SameBuilding::Exclude,
        ..request
    };
    let (_, found) = find(&index, "1008357501", &none, july());
    assert!(found.found.is_empty());
    assert_eq!(
        found.used.radius_miles,
        Some(1.0),
        "it went to the last step"
    );
}

#[test]
fn a_cooperative_sale_carries_the_building_and_no_area() {
    let index = index_of(SALES);
    let request = CompsRequest::of("x");
    let (subject, search) = find(&index, "1008350041", &request, july());
    assert_eq!(subject.sqft, None, "the building's area is not the flat's");
    let answer = answer(
        &index,
        &request,
        &subject,
        "10 WEST 33 STREET".to_owned(),
        &search,
        None,
        0,
        date!(2023 - 07 - 01),
        OffsetDateTime::UNIX_EPOCH,
    );
    assert_eq!(answer.comp_count, 2);
    for comp in &answer.comps {
        assert_eq!(comp.bbl.to_string(), "1008350041");
        assert_eq!(
            (comp.living_area_sqft, comp.price_per_sqft, comp.units),
            (None, None, Some(1))
        );
        assert!(comp.same_building && comp.unit.is_some());
    }
    assert_eq!(answer.summary.median_sale_price, Some(655_000));
    assert_eq!(answer.query.mode, CompsMode::Comps);
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["comps"][0]["sale_date"], "2023-05-01");
    assert_eq!(json["valuation"], serde_json::Value::Null);
}

#[test]
fn houses_are_compared_by_size_and_widen_by_distance() {
    let index = index_of(SALES);
    let request = CompsRequest::of("x");
    let (subject, found) = find(&index, "3010770012", &request, july());
    assert_eq!(subject.sqft, Some(3000));
    assert_eq!(found.used.radius_miles, Some(0.25));
    assert_eq!(found.excluded.no_size, 1);
    assert_eq!(prices(&found), [2_500_000, 2_600_000, 2_700_000]);
    assert!(
        found
            .found
            .windows(2)
            .all(|pair| pair[0].similarity >= pair[1].similarity)
    );
    // The caller may know better.
    let overrides = SubjectOverrides {
        living_area_sqft: Some(3300),
        units: Some(2),
        property_type: Some(brownstone_domain::PropertyType::TwoFamily),
        ..SubjectOverrides::default()
    };
    let request = CompsRequest {
        overrides,
        ..request
    };
    assert_eq!(
        prices(&find(&index, "3010770012", &request, july()).1)[0],
        2_700_000
    );
}

#[test]
fn one_odd_price_among_many_is_left_out() {
    let mut sales = String::new();
    for (lot, price) in [(1, 800), (2, 820), (3, 840), (4, 860), (5, 15)] {
        sales.push_str(&format!(
            "1,835,{},MIDTOWN WEST,R4,\"12 WEST 33 STREET, {lot}A\",{lot}A,10001,,2005,{}000,2023-05-0{lot}\n",
            1000 + lot,
            price
        ));
    }
    let (_, found) = find(
        &index_of(&sales),
        "1008357501",
        &CompsRequest::of("x"),
        july(),
    );
    assert_eq!(
        (found.used.usable_sales, found.excluded.price_outlier),
        (4, 1)
    );
}

#[test]
fn a_price_is_never_held_against_a_price_a_square_foot() {
    let mut sales = String::new();
    for (lot, sqft, price) in [
        (12, 3000, 2_500_000),
        (14, 3100, 2_600_000),
        (16, 3300, 2_700_000),
        (20, 2900, 2_450_000),
        (22, 2800, 2_350_000),
        (24, 3000, 300_000),
        (26, 0, 2_400_000),
        (28, 0, 400_000),
    ] {
        sales.push_str(&format!(
            "3,1077,{lot},PARK SLOPE,A4,{} 8 STREET,,11215,{sqft},1901,{price},2023-05-{lot}\n",
            276 + lot * 2
        ));
    }
    // The subject's size is not known: sales without one are taken, too.
    let request = CompsRequest::of("x");
    let (subject, found) = find(&index_of(&sales), "3010770018", &request, july());
    assert_eq!(
        (subject.kind, subject.sqft),
        (crate::Kind::SingleFamily, None)
    );
    assert!(prices(&found).contains(&2_400_000), "as dear as the others");
    assert_eq!(
        (found.used.usable_sales, found.excluded.price_outlier),
        (6, 2),
        "one is cheap a square foot, one is cheap as a whole"
    );
}

#[test]
fn a_part_of_a_borough_ends_at_the_river() {
    const LOTS: &str = "\
bbl,address,bldgclass,latitude,longitude,zipcode,yearbuilt,bldgarea,lotarea,unitsres,unitstotal
1014000001,1 EAST 60 STREET,D1,40.7600,-73.9600,10022,1920,20000,2500,20,20
1014500001,1 EAST 82 STREET,D1,40.7850,-73.9600,10028,1920,20000,2500,20,20
1014510001,3 EAST 82 STREET,D1,40.7851,-73.9600,10028,1920,20000,2500,20,20
4005000001,1 31 AVENUE,D1,40.7600,-73.9450,11106,1920,20000,2500,20,20
4006000001,3 31 AVENUE,D1,40.7600,-73.9300,11106,1920,20000,2500,20,20
4006010001,5 31 AVENUE,D1,40.7601,-73.9300,11106,1920,20000,2500,20,20
";
    let mut sales = String::new();
    for (number, line) in [
        "1,1450,1,UPPER EAST SIDE,D1,1 EAST 82 STREET,,10028",
        "1,1451,1,UPPER EAST SIDE,D1,3 EAST 82 STREET,,10028",
        "4,500,1,ASTORIA,D1,1 31 AVENUE,,11106",
        "4,600,1,ASTORIA,D1,3 31 AVENUE,,11106",
        "4,601,1,ASTORIA,D1,5 31 AVENUE,,11106",
    ]
    .iter()
    .enumerate()
    {
        let day = number + 1;
        sales.push_str(&format!("{line},20000,1920,{day}100000,2023-05-0{day}\n"));
    }
    let loaded = read_text("sales", format!("{HEADER}{sales}").as_bytes()).unwrap();
    let lots = Lots::read("lots", LOTS.as_bytes()).unwrap();
    let index = SalesIndex::build(loaded, &lots);
    let (_, found) = find(&index, "1014000001", &CompsRequest::of("x"), july());
    assert_eq!(found.used.step, SearchStep::BoroughPart);
    let mut taken = prices(&found);
    taken.sort_unstable();
    // What an earlier step had within a mile stays, on whichever bank.
    assert_eq!(taken, [1_100_000, 2_100_000, 3_100_000]);
}

#[test]
fn where_the_place_is_not_known_the_block_and_the_neighbourhood_are_searched() {
    let loaded = read_text("sales", format!("{HEADER}{SALES}").as_bytes()).unwrap();
    let index = SalesIndex::build(loaded, &Lots::default());
    let (subject, found) = find(&index, "3010770012", &CompsRequest::of("x"), july());
    assert_eq!(subject.place, None);
    assert_eq!(found.used.step, SearchStep::Block);
    assert_eq!(found.found.len(), 3);
    assert!(
        found
            .found
            .iter()
            .filter(|f| !f.same_building)
            .all(|f| f.miles.is_none())
    );
    // A lot without sales finds its block's neighbourhood.
    let (_, found) = find(&index, "3010770099", &CompsRequest::of("x"), july());
    assert!(found.found.is_empty(), "its kind is not known");
    let house = CompsRequest {
        overrides: SubjectOverrides {
            property_type: Some(brownstone_domain::PropertyType::SingleFamily),
            ..SubjectOverrides::default()
        },
        ..CompsRequest::of("x")
    };
    assert_eq!(find(&index, "3010770099", &house, july()).1.found.len(), 4);
}

fn valued(index: &SalesIndex, bbl: &str, cutoff: i32) -> Valued {
    let request = CompsRequest::of("x");
    let (subject, search) = find(index, bbl, &request, cutoff);
    valuer(index, None).value(&Ask {
        index,
        subject: &subject,
        search: &search,
        overrides: &request.overrides,
        cutoff,
        as_of: date!(2023 - 07 - 01),
    })
}

#[test]
fn a_value_lies_within_its_interval_and_a_missing_one_says_why() {
    let index = index_of(SALES);
    let valued = valued(&index, "1008357501", july());
    let valuation = valued.valuation;
    let value = valuation.value.unwrap();
    assert!((800_000..1_000_000).contains(&value), "{value}");
    assert!(valuation.low.unwrap() <= value && value <= valuation.high.unwrap());
    assert_eq!(valuation.basis, brownstone_domain::comps::ValueBasis::Unit);
    assert_eq!(valued.adjusted.len(), 3);
    assert!(
        valued
            .adjusted
            .values()
            .all(|adjusted| adjusted.weight > 0.0 && adjusted.weight <= 1.0)
    );
    let house = super::tests::valued(&index, "3010770012", july()).valuation;
    assert_eq!(house.basis, brownstone_domain::comps::ValueBasis::Building);
    let parking = SalesIndex::build(
        read_text(
            "s",
            format!("{HEADER}1,900,7,M,K1,1 BROADWAY,,10001,500,1950,900000,2023-01-01\n")
                .as_bytes(),
        )
        .unwrap(),
        &Lots::default(),
    );
    let none = super::tests::valued(&parking, "1009000007", july()).valuation;
    assert_eq!(none.value, None);
    assert_eq!(
        none.no_value_reason,
        Some(brownstone_domain::comps::NoValueReason::UnsupportedPropertyType)
    );
}

#[test]
fn a_time_adjusted_price_is_the_same_house_at_another_time() {
    let index = index_of(SALES);
    let (_, found) = find(&index, "3010770012", &CompsRequest::of("x"), july());
    let valued = valued(&index, "3010770012", july());
    assert_eq!(found.found.len(), 3);
    for Found { sale, .. } in &found.found {
        // So few sales move no index. Their sizes and ages are none of the subject's, and stay their own.
        let adjusted = valued.adjusted.get(&sale.id).unwrap();
        assert_eq!(adjusted.price, sale.price);
    }
}

/// A rental building, some of whose apartments were sold (a land lease), beside a whole building.
const LAND_LEASE: &str = "\
1,836,10,MIDTOWN WEST,D8,\"20 WEST 33 STREET, 4A\",4A,10001,,1960,600000,2023-01-01
1,836,10,MIDTOWN WEST,D8,\"20 WEST 33 STREET, 5A\",5A,10001,,1960,610000,2023-02-01
1,836,10,MIDTOWN WEST,D8,\"20 WEST 33 STREET, 6A\",6A,10001,,1960,620000,2023-03-01
1,836,20,MIDTOWN WEST,D8,24 WEST 33 STREET,,10001,50000,1960,30000000,2023-03-01
1,836,22,MIDTOWN WEST,D1,26 WEST 33 STREET,,10001,40000,1960,25000000,2023-03-02
1,836,24,MIDTOWN WEST,D1,28 WEST 33 STREET,,10001,45000,1960,28000000,2023-03-03
";

#[test]
fn an_apartment_of_a_rental_building_is_valued_as_a_unit_and_the_building_as_a_building() {
    use crate::Kind;
    let index = index_of(LAND_LEASE);
    let ask = |unit: Option<&str>, overrides: SubjectOverrides| {
        let request = CompsRequest {
            overrides,
            ..CompsRequest::of("x")
        };
        let target = Target {
            unit: unit.map(str::to_owned),
            ..target("1008360010")
        };
        let subject = Subject::find(&index, &target, &request.overrides, july()).unwrap();
        let found = search(&index, &subject, &request, july());
        let valuation = valuer(&index, None)
            .value(&Ask {
                index: &index,
                subject: &subject,
                search: &found,
                overrides: &request.overrides,
                cutoff: july(),
                as_of: date!(2023 - 07 - 01),
            })
            .valuation;
        (subject, found, valuation)
    };
    let (flat, found, valuation) = ask(Some("7A"), SubjectOverrides::default());
    assert_eq!((flat.kind, flat.sqft), (Kind::Coop, None));
    assert_eq!(prices(&found), [620_000, 610_000, 600_000]);
    assert_eq!(found.used.step, SearchStep::SameBuilding);
    let value = valuation.value.unwrap();
    assert!((590_000..640_000).contains(&value), "{value}");
    assert_eq!(valuation.basis, brownstone_domain::comps::ValueBasis::Unit);

    let (building, found, valuation) = ask(None, SubjectOverrides::default());
    assert_eq!(building.kind, Kind::MultiFamily);
    assert!(prices(&found).iter().all(|price| *price >= 25_000_000));
    assert!(valuation.value.unwrap() > 20_000_000);
    assert_eq!(
        valuation.basis,
        brownstone_domain::comps::ValueBasis::Building
    );
    // What the caller calls it counts more.
    let (called, _, valuation) = ask(
        Some("7A"),
        SubjectOverrides {
            property_type: Some(brownstone_domain::PropertyType::MultiFamily),
            ..SubjectOverrides::default()
        },
    );
    assert_eq!(called.kind, Kind::MultiFamily);
    assert_eq!(
        valuation.basis,
        brownstone_domain::comps::ValueBasis::Building
    );
    assert!(valuation.value.unwrap() > 20_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is recorded on the day or later changes nothing: no sale, no count, no fact of the subject.
    #[test]
    fn nothing_recorded_later_is_known(
        rows in prop::collection::vec((0_u32..4, 0_u32..40, 200_000_u32..3_000_000, 1_u32..1_500), 0..40),
        cutoff in 300_u32..1_200,
    ) {
        let line = |(what, lot, price, day): &(u32, u32, u32, u32)| {
            let date = time::Date::from_julian_day(i32::try_from(*day).unwrap() + 2_458_850).unwrap();
            match what {
                0 => format!("1,835,{},M,R4,\"12 WEST 33 STREET, {lot}\",{lot},10001,,2005,{price},{date}\n", 1001 + lot),
                1 => format!("1,835,41,M,D4,\"10 WEST 33 STREET, {lot}\",,10001,,1920,{price},{date}\n"),
                2 => format!("3,1077,{},P,A4,{lot} 8 STREET,,11215,{},1901,{price},{date}\n", 10 + lot, 1000 + lot * 100),
                _ => format!("1,835,{},M,RG,12 WEST 33 STREET,{lot},10001,,2005,{price},{date}\n", 1001 + lot),
            }
        };
        let cutoff_day = i32::try_from(cutoff).unwrap() + 2_458_850 - crate::read::value::EPOCH;
        let past: String = rows.iter().filter(|row| row.3 < cutoff).map(line).collect();
        let all: String = rows.iter().map(line).collect();
        let (past, all) = (index_of(&past), index_of(&all));
        for bbl in ["1008357501", "1008350041", "3010770012"] {
            let request = CompsRequest::of("x");
            let (subject, found) = find(&past, bbl, &request, cutoff_day);
            let (later_subject, later) = find(&all, bbl, &request, cutoff_day);
            prop_assert_eq!(found.excluded, later.excluded);
            prop_assert_eq!(&found.used, &later.used);
            let ids = |search: &Search| search.found.iter().map(|f| (f.sale.id, f.similarity)).collect::<Vec<_>>();
            prop_assert_eq!(ids(&found), ids(&later));
            prop_assert_eq!((subject.kind, subject.class), (later_subject.kind, later_subject.class));
            let value = |index: &SalesIndex| valued(index, bbl, cutoff_day);
            let (before, after) = (value(&past), value(&all));
            prop_assert_eq!(before.valuation, after.valuation);
            prop_assert_eq!(before.adjusted, after.adjusted);
            prop_assert!(later.found.iter().all(|f| f.sale.date < cutoff_day));
        }
    }
}
