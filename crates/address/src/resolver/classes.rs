//! Whole classes of ways to type an address, a few of each: what stands first or last, how a number is broken, which words
//! are the street's and which the unit's, what is misspelled.

use std::sync::LazyLock;

use brownstone_domain::Match;
use rstest::rstest;

use super::*;
use crate::pad::testing::Pad;

/// A few invented buildings, and beside each the one that a careless reading would take.
static CITY: LazyLock<Resolver> = LazyLock::new(|| {
    let mut pad = Pad::default();
    pad.at("1000010001", "1000101", "120", "BROADWAY", "10271")
        .at("3000010001", "3000101", "120", "BROADWAY", "11211")
        .at("4000010001", "4000101", "31-07A", "STARR AVENUE", "11101")
        .at("4000010002", "4000102", "31", "STARR AVENUE", "11101")
        .at("4000020001", "4000201", "27-12", "CRESCENT STREET", "11102")
        .at("4000020002", "4000202", "2712", "CRESCENT STREET", "11385")
        .at("4000030001", "4000301", "114-32", "150 AVENUE", "11434")
        .at("3000020001", "3000201", "824", "NEW YORK AVENUE", "11203")
        .at(
            "3000020002",
            "3000202",
            "824",
            "EAST NEW YORK AVENUE",
            "11203",
        )
        .at("2000010001", "2000101", "270", "EAST FORDHAM ROAD", "10458")
        .at("2000010002", "2000102", "270", "WEST FORDHAM ROAD", "10468")
        .at(
            "2000020001",
            "2000201",
            "1660",
            "ANDREWS AVENUE SOUTH",
            "10453",
        )
        .at("2000020002", "2000202", "2272", "ANDREWS AVENUE", "10468")
        .at(
            "2000020003",
            "2000203",
            "2272",
            "ANDREWS AVENUE NORTH",
            "10468",
        )
        .at("2000030001", "2000301", "853", "LONGWOOD AVENUE", "10459")
        .at(
            "2000040001",
            "2000401",
            "1225",
            "MORRIS PARK AVENUE",
            "10461",
        )
        .at("3000030001", "3000301", "50", "COURT STREET", "11201")
        .at("3000040001", "3000401", "802", "AVENUE U", "11223")
        .at("3000050001", "3000501", "1497", "OCEAN PARKWAY", "11230")
        .at("5000010001", "5000101", "1112", "SOUTH AVENUE", "10314")
        .at("1000020001", "1000201", "123", "WEST 42 STREET", "10036")
        .at("1000020002", "1000202", "123", "EAST 42 STREET", "10017")
        .at("1000030001", "1000301", "150", "EAST 125 STREET", "10035")
        .at("4000040001", "4000401", "97-22", "100 STREET", "11416")
        .at("3000060001", "3000601", "5", "TEN EYCK STREET", "11206")
        .at("1000040001", "1000401", "1155", "6 AVENUE", "10036")
        .at("1000050001", "1000501", "405", "LEXINGTON AVENUE", "10174")
        .at("1000060001", "1000601", "20", "CENTRAL PARK WEST", "10023")
        .typed(
            "N",
            "1000050001",
            "1000501",
            "",
            "ZEPPELIN MOORING TOWER",
            "10174",
        )
        .typed(
            "N",
            "1000070001",
            "1000701",
            "",
            "GRAND AVIARY HALL",
            "10001",
        )
        .typed(
            "N",
            "1000070002",
            "1000702",
            "",
            "GRAND APIARY HALL",
            "10001",
        )
        .alias('1', "6 AVENUE", "AVENUE OF THE AMERICAS");
    Resolver::new(Arc::new(pad.build()))
});

#[rstest]
// A place in front.
#[case("Brooklyn 120 Broadway", "3000101")]
#[case("Brooklyn NY 11211, 120 Broadway", "3000101")]
#[case("11211 120 Broadway", "3000101")]
#[case("10271, 120 Broadway", "1000101")]
#[case("New York, NY: 120 Broadway", "1000101")]
#[case("Brooklyn 1497 Ocean Parkway", "3000501")]
#[case("The shop at 123 West 42 Street, Manhattan", "1000201")]
// A place at the end, or before it.
#[case("120 Broadway, 11211 Brooklyn", "3000101")]
#[case("120 Broadway, 10271 New York", "1000101")]
#[case("120 Broadway, Brooklyn, Apt 4, New York, NY", "3000101")]
#[case("31-07A Starr Ave, Long Isl City", "4000101")]
#[case("1112 South, Staten Island", "5000101")]
#[case("1112 South Ave, Staten Iland", "5000101")]
#[case("27-12 Crescent St, Astroia Heights", "4000201")]
// A number in pieces.
#[case("31 07A Starr Avenue, Queens", "4000101")]
#[case("27 12 Crescent Street, Queens", "4000201")]
#[case("27-12 Crescent, Queens", "4000201")]
#[case("114 - 32 150 Avenue, Queens", "4000301")]
#[case("One Twenty Broadway, Brooklyn", "3000101")]
#[case("One Hundred Twenty Broadway, Brooklyn", "3000101")]
#[case("Five Ten Eyck Street, Brooklyn", "3000601")]
// A direction that was glued on, moved, or is the unit's.
#[case("824E New York Avenue, Brooklyn", "3000202")]
#[case("824 New York Avenue, Brooklyn", "3000201")]
#[case("270E Fordham Road, Bronx", "2000101")]
#[case("123 42 Street West, Manhattan", "1000201")]
#[case("1660 Andrews South, Bronx", "2000201")]
#[case("2272 Andrews Ave No. 4, Bronx", "2000202")]
#[case("2272 Andrews Ave N, Bronx", "2000203")]
#[case("853 Longwood Avenue East Wing, Bronx", "2000301")]
// Types and words in short.
#[case("50 Ct St, Brooklyn", "3000301")]
#[case("802 Aveune U, Brooklyn", "3000401")]
#[case("1225 Morris Park, Bronx", "2000401")]
#[case("150 East Hundred Twenty-Fifth St, Manhattan", "1000301")]
#[case("97-22 One Hundredth Street, Queens", "4000401")]
#[case("1155 Ave of Americas, Manhattan", "1000401")]
#[case("405 Lex, Manhattan", "1000501")]
#[case("20 Cent Pk W, Manhattan", "1000601")]
fn the_building_is(#[case] text: &str, #[case] expected: &str) {
    match CITY.resolve(text) {
        Ok(resolved) => {
            let bin = resolved.building.bin.map(|bin| bin.to_string());
            assert_eq!(bin.as_deref(), Some(expected), "{resolved:#?}");
        }
        Err(error) => panic!("{text}: {error:?}"),
    }
}

#[rstest]
#[case("1 Broadway, Cambridge MA")]
#[case("120 Broadway, Greenwich CT")]
#[case("120 Broadway, London")]
#[case("120 Broadway, Toronto, Canada")]
#[case("120 Broadway, Sag Harbor")]
#[case("120 Broadway, Great Neck Plaza, NY")]
fn places_outside(#[case] text: &str) {
    let answer = CITY.resolve(text);
    assert!(
        matches!(answer, Err(ResolveError::OutsideCoverage(_))),
        "{answer:?}"
    );
}

#[test]
fn a_place_is_spelled_right_where_one_is_near() {
    let resolved = CITY.resolve("Zepelin Mooring Tower").unwrap();
    assert_eq!(resolved.matched, Match::Corrected);
    assert_eq!(
        resolved.warnings,
        ["\"ZEPELIN MOORING TOWER\" was read as ZEPPELIN MOORING TOWER."]
    );
    // Two are as near: none is taken.
    assert!(CITY.resolve("Grand Aciary Hall").is_err());
    assert!(CITY.resolve("Zepelin").is_err());
}

#[test]
fn the_state_means_no_borough_where_words_were_passed_over() {
    let state = CITY.resolve("120 Broadway, NY").unwrap();
    assert_eq!(
        state.building.one_line(),
        "120 BROADWAY, New York, NY 10271"
    );
    let passed_over = CITY.resolve("120 Broadway, Somewhere There Nearby, NY");
    assert!(passed_over.is_err(), "{passed_over:?}");
}
