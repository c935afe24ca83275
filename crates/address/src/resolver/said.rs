//! What was typed and is not so is said, or nothing is answered: units in front, second boroughs, letters that were words.

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
        .at("1000010004", "1000104", "4", "BROADWAY", "10004")
        .at("1000010005", "1000105", "5", "BROADWAY", "10004")
        .at("1000010012", "1000112", "12", "BROADWAY", "10004")
        .at("3000020001", "3000201", "123", "MAIN STREET", "11215")
        .at("3000030001", "3000301", "1112", "AVENUE S", "11223")
        .at("5000030001", "5000301", "1112", "SOUTH AVENUE", "10314")
        .at("3000030002", "3000302", "7", "S STREET", "11223")
        .range(
            "4000040001",
            "4000401",
            "131-01",
            "131-07",
            "41 AVENUE",
            "11355",
        )
        .at("4000040002", "4000402", "13-103", "41 AVENUE", "11101")
        .typed("Q", "4000040003", "4000000", "141-03", "43 AVENUE", "11355")
        .at("4000040004", "4000404", "14-103", "43 AVENUE", "11101")
        .at("4000040005", "4000405", "151-03", "43 AVENUE", "11355")
        .typed("Q", "4000040006", "4000000", "15-103", "43 AVENUE", "11101")
        .at("4000040007", "4000407", "43-06", "46 STREET", "11104")
        .at("4000040008", "4000408", "41", "46 STREET", "11104")
        .at("3000020002", "3000202", "1", "MAIN STREET", "11215")
        .at("3000020003", "3000203", "2", "MAIN STREET", "11215")
        .at("1000050001", "1000501", "350", "5 AVENUE", "10118")
        .at("3000050001", "3000501", "350", "5 AVENUE", "11215")
        .typed(
            "N",
            "1000070001",
            "1000701",
            "",
            "GRAND AVIARY HALL",
            "10001",
        )
        .at("3000060001", "3000601", "60", "COURT STREET", "11201");
    Resolver::new(Arc::new(pad.build()))
});

fn found(text: &str) -> Resolved {
    match CITY.resolve(text) {
        Ok(resolved) => resolved,
        Err(error) => panic!("{text}: {error:?}"),
    }
}

fn bin(resolved: &Resolved) -> String {
    let bin = resolved.building.bin;
    bin.map(|bin| bin.to_string()).unwrap_or_default()
}

fn is_asked(text: &str) {
    let answer = CITY.resolve(text);
    assert!(
        matches!(answer, Err(ResolveError::Ambiguous { .. })),
        "{text}: {answer:?}"
    );
}

fn is_not_found(text: &str) {
    let answer = CITY.resolve(text);
    assert!(
        matches!(answer, Err(ResolveError::NotFound(_))),
        "{text}: {answer:?}"
    );
}

fn is_outside(text: &str) {
    let answer = CITY.resolve(text);
    assert!(
        matches!(answer, Err(ResolveError::OutsideCoverage(_))),
        "{text}: {answer:?}"
    );
}

#[rstest]
#[case("123 Main Street, Garden Fl, Brooklyn, NY 11215", "GARDEN FL")]
#[case("123 Main Street, Parlor Fl, Brooklyn", "PARLOR FL")]
#[case("123 Main Street, Parlor Fl, NY 11215", "PARLOR FL")]
#[case("123 Main Street, Brooklyn, Garden Fl", "GARDEN FL")]
fn a_floor_in_the_city_is_no_florida(#[case] text: &str, #[case] unit: &str) {
    let resolved = found(text);
    assert_eq!(bin(&resolved), "3000201");
    assert_eq!(resolved.unit.as_deref(), Some(unit));
}

#[rstest]
#[case("120 Broadway, Brooklyn, CT")]
#[case("120 Broadway, Orlando FL")]
#[case("120 Broadway, Miami FL, New York, NY")]
#[case("120 Broadway, Greenwich CT 06830")]
fn a_state_stays_one(#[case] text: &str) {
    is_outside(text);
}

#[rstest]
#[case("4C, 120 Broadway, New York, NY 10271", "1000101", "4C")]
#[case("Apt 4C, 120 Broadway, Manhattan", "1000101", "4C")]
#[case("Apt 4C 120 Broadway, Manhattan", "1000101", "4C")]
fn a_unit_in_front_is_a_unit(#[case] text: &str, #[case] building: &str, #[case] unit: &str) {
    let resolved = found(text);
    assert_eq!(bin(&resolved), building);
    assert_eq!(resolved.unit.as_deref(), Some(unit));
    assert_eq!(resolved.warnings, [""; 0]);
}

#[rstest]
#[case("5, 120 Broadway, Manhattan", "1000101", "5")]
#[case("12, 120 Broadway, Brooklyn", "3000101", "12")]
#[case("41, 43-06 46 Street, Queens", "4000407", "41")]
fn a_number_in_front_that_was_read_as_a_unit_is_said(
    #[case] text: &str,
    #[case] building: &str,
    #[case] unit: &str,
) {
    let resolved = found(text);
    assert_eq!(bin(&resolved), building);
    assert_eq!(resolved.unit.as_deref(), Some(unit));
    assert_eq!(
        resolved.warnings,
        [format!("\"{unit}\" was read as a unit.")]
    );
}

#[rstest]
#[case("1, 2 and 3 Main Street, Brooklyn")]
#[case("1, 2, 3 Main Street, Brooklyn")]
#[case("1 & 2 Main Street, Brooklyn")]
fn the_first_of_a_list_is_taken(#[case] text: &str) {
    let resolved = found(text);
    assert_eq!(bin(&resolved), "3000202");
    assert_eq!(resolved.unit, None);
    assert_eq!(
        resolved.warnings,
        ["Several house numbers were typed; the first was taken."]
    );
}

#[test]
fn a_blank_divides_no_range() {
    is_not_found("12 120 Broadway, Manhattan");
    assert_eq!(bin(&found("12-120 Broadway, Manhattan")), "1000112");
}

#[test]
fn a_second_borough_is_seen_wherever_it_stands() {
    is_asked("120 Broadway, Brooklyn, Manhattan");
    is_asked("Brooklyn, 120 Broadway, Manhattan");
    is_asked("120 Broadway, Brooklyn, Apt 4, Manhattan");
    for text in [
        "Brooklyn, 4 Broadway, Manhattan",
        "4 Broadway, Brooklyn, Apt 4, Manhattan",
    ] {
        let resolved = found(text);
        assert_eq!(resolved.matched, Match::Corrected);
        assert_eq!(resolved.warnings, [say::ONE_BOROUGH]);
    }
    // With a ZIP it is two against one.
    let zip = found("Brooklyn NY 11211, 120 Broadway, Manhattan");
    assert_eq!(
        (bin(&zip).as_str(), zip.matched),
        ("3000101", Match::Corrected)
    );
    is_asked("Broadway 120, Brooklyn, Apt 4, Manhattan");
    // New York is Brooklyn's state.
    assert_eq!(
        found("New York, NY: 120 Broadway, Brooklyn").warnings,
        [""; 0]
    );
}

#[test]
fn words_in_front_are_said() {
    assert_eq!(
        found("Acme Corp, 4 Broadway, Manhattan").warnings,
        ["\"ACME CORP\" is no part of the address and was ignored."]
    );
    assert_eq!(
        found("The shop at 4 Broadway, Manhattan").warnings,
        ["\"THE SHOP AT\" is no part of the address and was ignored."]
    );
}

#[test]
fn words_in_front_are_no_city_unless_they_name_one() {
    let resolved = found("Acme Corp, 120 Broadway, NY");
    assert_eq!(bin(&resolved), "1000101");
    assert_eq!(
        resolved.warnings,
        [
            say::MANHATTAN_BY_STATE,
            "\"ACME CORP\" is no part of the address and was ignored."
        ]
    );
    is_asked("Yonkers, 120 Broadway, NY");
    is_asked("120 Broadway, The Old Town Over There, NY");
}

#[test]
fn what_stands_beside_a_place_is_said() {
    let resolved = found("Grand Aviary Hall, Brooklyn, Apt 4, Manhattan");
    assert_eq!(resolved.matched, Match::Corrected);
    assert_eq!(
        resolved.warnings,
        [
            say::ONE_BOROUGH,
            "\"4\" is no part of the address and was ignored."
        ]
    );
}

#[test]
fn a_direction_in_full_is_no_letter() {
    is_not_found("1112 South Avenue, Brooklyn");
    is_not_found("7 South Street, Brooklyn");
    assert_eq!(bin(&found("1112 S Avenue, Brooklyn")), "3000301");
    assert_eq!(bin(&found("7 S Street, Brooklyn")), "3000302");
    assert_eq!(bin(&found("1112 South Avenue, Staten Island")), "5000301");
}

#[test]
fn a_missing_hyphen_is_asked_for_where_two_places_fit() {
    // Neither a row of just the number nor the likelier place of the hyphen decides.
    is_asked("13103 41 Avenue, Queens");
    assert_eq!(bin(&found("13103 41 Avenue, Queens 11101")), "4000402");
    assert_eq!(bin(&found("13103 41 Avenue, Queens 11355")), "4000401");
    assert_eq!(bin(&found("13105 41 Avenue, Queens")), "4000401");
}

#[test]
fn a_made_up_number_leads_to_no_other_hyphen() {
    is_not_found("14103 43 Avenue, Queens");
    assert_eq!(bin(&found("14-103 43 Avenue, Queens")), "4000404");
    assert_eq!(bin(&found("15103 43 Avenue, Queens")), "4000405");
}

#[rstest]
#[case("120 Broadway, Tower A, Apt 4C, Manhattan", "4C", "TOWER A")]
#[case("120 Broadway, Apt 4C, Tower A, Manhattan", "4C", "TOWER A")]
#[case("120 Broadway Tower A, Apt 4C, Manhattan", "4C", "TOWER A")]
#[case("120 Broadway Apt 4C, 2nd Floor, Manhattan", "4C", "2ND FLOOR")]
fn no_unit_is_lost(#[case] text: &str, #[case] unit: &str, #[case] other: &str) {
    let resolved = found(text);
    assert_eq!(resolved.unit.as_deref(), Some(unit));
    assert_eq!(
        resolved.warnings,
        [format!(
            "\"{other}\" stands beside the unit and was ignored."
        )]
    );
}

#[test]
fn a_zip_between_is_no_unit() {
    let resolved = found("120 Broadway, 11211, Apt 4, Brooklyn");
    assert_eq!(resolved.unit.as_deref(), Some("4"));
    assert_eq!(resolved.warnings, [""; 0]);
    let wrong = found("120 Broadway, 11215, Apt 4, Brooklyn");
    assert_eq!(
        wrong.warnings,
        ["ZIP code 11215 was ignored: the address is in 11211."]
    );
    let twice = found("120 Broadway, 11215, Apt 4, Brooklyn 11211");
    assert_eq!(
        twice.warnings,
        ["\"11215\" is no part of the address and was ignored."]
    );
    assert_eq!(found("10271, 120 Broadway, Manhattan").warnings, [""; 0]);
}

#[test]
fn a_zip_that_is_wrong_does_not_say_where() {
    is_asked("350 5 Avenue, 11201");
    assert_eq!(bin(&found("350 5 Avenue, 11215")), "3000501");
    let only = found("60 Court Street, 11215");
    assert_eq!(only.matched, Match::Corrected);
    assert_eq!(bin(&only), "3000601");
}

#[test]
fn a_lot_is_checked_against_what_else_was_typed() {
    is_outside("Block 1 Lot 1, Brooklyn, CT");
    is_asked("Block 1 Lot 1, Brooklyn, Manhattan");
    is_asked("Brooklyn, Block 1 Lot 1, Manhattan");
    let right = found("Block 1 Lot 1, Brooklyn 11211");
    assert_eq!((right.matched, right.warnings.len()), (Match::Exact, 0));
    for (text, warning) in [
        (
            "Block 1 Lot 1, Brookllyn",
            "\"BROOKLLYN\" was read as Brooklyn.",
        ),
        (
            "Block 1 Lot 1, Brooklyn 11215",
            "ZIP code 11215 was ignored: the address is in 11211.",
        ),
    ] {
        let resolved = found(text);
        assert_eq!(bin(&resolved), "3000101");
        assert_eq!(resolved.matched, Match::Corrected);
        assert_eq!(resolved.warnings, [warning]);
    }
}

#[rstest]
#[case("Block 1 Lot 1, 350 5 Avenue, Manhattan", "350 5 AVENUE")]
#[case("Block 1 Lot 1, Apt 5C, Manhattan", "APT 5C")]
#[case("Block: 1, Lot: 1, 5, Manhattan", "5")]
fn what_stands_beside_a_lot_is_said(#[case] text: &str, #[case] ignored: &str) {
    let resolved = found(text);
    assert_eq!(bin(&resolved), "1000101");
    assert_eq!(
        resolved.warnings,
        [format!(
            "\"{ignored}\" is no part of the address and was ignored."
        )]
    );
}

#[test]
fn the_numbers_of_a_lot_may_be_parts_of_their_own() {
    for text in [
        "Block: 1, Lot: 1, Manhattan",
        "Block: #1, Lot: #1, Manhattan",
    ] {
        let resolved = found(text);
        assert_eq!(bin(&resolved), "1000101");
        assert_eq!(resolved.warnings, [""; 0]);
    }
}
