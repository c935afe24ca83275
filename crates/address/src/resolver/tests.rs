use std::sync::LazyLock;

use brownstone_domain::Match;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::pad::{
    testing::{Pad, Row},
    traps::traps,
};

static TRAPS: LazyLock<Resolver> = LazyLock::new(|| Resolver::new(Arc::new(traps().build())));

fn resolve(text: &str) -> Result<Resolved, ResolveError> {
    TRAPS.resolve(text)
}

fn bin(resolved: &Resolved) -> String {
    resolved
        .building
        .bin
        .map(|bin| bin.to_string())
        .unwrap_or_default()
}

#[rstest]
// One building under all its names.
#[case("350 5 Avenue, Manhattan", "1015862")]
#[case("350 Fifth Ave, New York, NY 10118", "1015862")]
#[case("338 5th ave manhattan", "1015862")]
#[case("350A 5 Avenue, Manhattan", "1015862")]
#[case("20 West 34th Street, New York", "1015862")]
#[case("Empire State Building", "1015862")]
#[case("empire state bldg., manhattan", "1015862")]
#[case("350 5th Avenue, Brooklyn", "3020001")]
#[case("350 5 Ave 11215", "3020001")]
// Vanity and real street.
#[case("280 riverside drive manhattan", "1057127")]
#[case("280 RSD 10025", "1057127")]
#[case("327-337 West 100 Street, New York", "1057127")]
#[case("331 W 100th St NYC", "1057127")]
// The same dash, two meanings.
#[case("156-10 Riverside Drive, Manhattan", "1063001")]
#[case("156-158 Riverside Drive, Manhattan", "1033001")]
#[case("10-14 Lexington Avenue, Manhattan", "1018001")]
#[case("10-22 38th Street, Brooklyn", "3336910")]
// Twins, suffixes, ranges of letters.
#[case("1279 37 street brooklyn", "3340270")]
#[case("3622 13 avenue brooklyn", "3340270")]
#[case("1279 garage 37 street brooklyn", "3123204")]
#[case("1279 east 37 street brooklyn", "3209116")]
#[case("331 Tompkins Avenue, Brooklyn", "3329692")]
#[case("331A Tompkins Avenue, Brooklyn", "3329692")]
#[case("12J Barry Road, Governors Island", "1086350")]
#[case("39A Barry Road, Governors Island", "1086352")]
#[case("39B Barry Road, Governors Island", "1088374")]
#[case("104 Andes Road, Governors Island", "1086412")]
#[case("105 Andes Road, Governors Island", "1086412")]
#[case("3333C Broadway, Manhattan", "1060001")]
// Hyphens of Queens.
#[case("6603 Booth Street, Queens", "4074001")]
#[case("66-03 Booth St, Rego Park", "4074001")]
#[case("63101 Alderton Street, Queens", "4074101")]
#[case("13-103 41st Avenue, Queens", "4004001")]
#[case("131-03 41st Avenue, Queens", "4112001")]
#[case("46-012A 189 St, Queens", "4126588")]
#[case("46-12 garage 189th street, flushing", "4486411")]
#[case("43-06 46TH STREET 6 EAST, Queens NY 11104", "4001899")]
#[case("2012 Stanhope Street, Ridgewood", "4080447")]
#[case("187-35 hillside ave jamaica", "4213409")]
// Streets of the same name in one borough.
#[case("239-02 Hillside Avenue, Queens, NY 11426", "4160001")]
#[case("239-02 Hillside Avenue, Queens, NY 11363", "4170001")]
#[case("239-02 Hillside Avenue, Bellerose", "4160001")]
#[case("239-02 HILLSIDE AVENUE BELLEROSE, Queens", "4160001")]
// Law and post office.
#[case("58 Marble Hill Avenue, Bronx, NY 10463", "1064679")]
#[case("58 marble hill ave new york ny 10463", "1064679")]
#[case("58 Marble Hill Ave, Manhattan", "1064679")]
#[case("170 West 225th Street, Bronx, NY 10463", "1064500")]
#[case("18-99 Hazen Street, Queens", "2097900")]
#[case("18-99 Hazen Street, East Elmhurst, NY 11370", "2097900")]
// Names by stretch, aliases, completions.
#[case("96 avenue of the americas", "1008001")]
#[case("2010 Adam Clayton Powell Blvd, New York 10027", "1079502")]
#[case("101 D Avenue, Brooklyn", "3240001")]
#[case("212 146 Street, Manhattan", "1060101")]
#[case("597 Bergan street, Brooklyn", "3007001")]
#[case("188 seely street brooklyn", "3120001")]
#[case("300 West 125 St, New York", "1059001")]
#[case("700 Brook Avenue, Bronx", "2117344")]
#[case("508B brook ave bronx", "2117344")]
#[case("2121 Eastchester Rd, Bronx", "2097543")]
#[case("1401 Pelham Pkwy South, Bronx", "2097546")]
#[case("1401 Pelham Parkway South Bronx", "2097546")]
#[case("Castle Williams", "1086428")]
#[case("Avery Fisher Hall", "1028850")]
#[case("6 BOWERY, NEW YORK, NY 11220", "1003001")]
// Identifiers.
#[case("1015862", "1015862")]
#[case("1008350041", "1015862")]
#[case("1-00835-0041", "1015862")]
#[case("Block 835 Lot 41, Manhattan", "1015862")]
#[case("1000451033", "1001000")]
fn the_building_is(#[case] text: &str, #[case] expected: &str) {
    match resolve(text) {
        Ok(resolved) => assert_eq!(bin(&resolved), expected, "{resolved:#?}"),
        Err(error) => panic!("{text}: {error:?}"),
    }
}

#[rstest]
#[case("99999 37 street brooklyn", "no number 99999 on 37 STREET")]
#[case("1279 zzqqxx street brooklyn", "no street ZZQQXX STREET in Brooklyn")]
#[case(
    "336 5 Avenue, Manhattan",
    "made up for a frontage of tax lot 1008350041"
)]
#[case(
    "375 Adam C Powell Boulevard, Manhattan",
    "there the street is 7 AVENUE"
)]
#[case("39D Barry Road, Governors Island", "no number 39D")]
#[case("927 37 Street, Brooklyn", "the nearest are 450 and 1279")]
#[case("Lincoln Center", "its tax lot is 1011340001")]
#[case("Governors Island Fort Jay", "its tax lot is 1000010010")]
#[case("5 Avenue, Manhattan", "a house number is needed")]
#[case("Brooklyn", "house number and a street")]
#[case("broadway & w 100 st nyc", "intersection")]
#[case("P.O. BOX 145595", "post box")]
#[case("2000000", "placeholder")]
#[case("8234567", "ten digits")]
#[case("1999999", "no building 1999999")]
#[case("1899999", "temporary")]
#[case("5099990001", "no tax lot 5099990001")]
#[case("30-53 8ND STREET, JACKSON HEIGHTS, NY 11370", "no street 8 STREET")]
#[case("1 E 37 Street, Manhattan", "37 STREET")]
#[case("!!", "names no building")]
fn nothing_is_found(#[case] text: &str, #[case] why: &str) {
    match resolve(text) {
        Err(ResolveError::NotFound(message)) => {
            assert!(message.contains(why), "{message}");
            assert!(message.ends_with('.'), "{message}");
        }
        other => panic!("{text}: {other:#?}"),
    }
}

#[rstest]
#[case("350 5th Ave", 2)]
#[case("120 Broadway", 2)]
#[case("300 125th st", 2)]
#[case("239-02 hillside ave", 2)]
#[case("33-33 broadway", 1)]
#[case("207 37 Street, Springfield", 1)]
#[case("207 37 Street Springfield", 1)]
#[case("450 w 37th st, new york, ny 11232", 2)]
#[case("1000930020", 2)]
fn several_fit(#[case] text: &str, #[case] count: usize) {
    match resolve(text) {
        Err(ResolveError::Ambiguous {
            message,
            candidates,
        }) => {
            assert_eq!(candidates.len(), count, "{candidates:?}");
            for candidate in candidates {
                assert!(message.contains(&candidate), "{message}");
                let there = resolve(&candidate);
                assert!(there.is_ok(), "{candidate}: {there:?}");
            }
        }
        other => panic!("{text}: {other:#?}"),
    }
}

#[rstest]
#[case("693 Henderson Street, Jersey City, NJ 07302")]
#[case("23 Bushnell Place, Mount Vernon, NY 10550")]
#[case("350 5 Avenue, Yonkers")]
#[case("2400 MARCUS AVE, NEW HYDE PARK, NY")]
#[case("2400 MARCUS AVE, NEW HYDE PARK, NY 11042")]
#[case("100 Jericho Turnpike, Floral Park, NY 11001")]
#[case("120 Broadway, Columbus, OH 43215")]
fn places_outside(#[case] text: &str) {
    assert!(matches!(
        resolve(text),
        Err(ResolveError::OutsideCoverage(_))
    ));
}

#[rstest]
#[case("")]
#[case("350 5 Ave\nNew York")]
fn invalid_texts(#[case] text: &str) {
    assert!(matches!(resolve(text), Err(ResolveError::Invalid(_))));
    assert!(matches!(
        resolve(&"5".repeat(201)),
        Err(ResolveError::Invalid(_))
    ));
}

#[rstest]
#[case("350 5 Avenue, Manhattan", Match::Exact, "")]
#[case("338-350 Fifth Ave, Manhattan", Match::Exact, "")]
#[case("20 West 34th Street, New York", Match::Alias, "")]
#[case("280 Riverside Drive, Manhattan", Match::Alias, "")]
#[case("2010 Adam C Powell Blvd, Manhattan", Match::Alias, "")]
#[case("2010 7 Avenue, Manhattan", Match::Exact, "")]
#[case(
    "350 5 Avenue, Manhattan 10001",
    Match::Corrected,
    "ZIP code 10001 was ignored: the address is in 10118."
)]
#[case(
    "58 Marble Hill Ave 10467",
    Match::Corrected,
    "ZIP code 10467 was ignored: the address is in 10463."
)]
#[case(
    "6 BOWERY, NEW YORK, NY 11220",
    Match::Corrected,
    "ZIP code 11220 was ignored"
)]
#[case(
    "188 seely street brooklyn",
    Match::Corrected,
    "\"SEELY STREET\" was read as SEELEY STREET."
)]
#[case(
    "212 146 Street, Manhattan",
    Match::Corrected,
    "was read as WEST 146 STREET"
)]
#[case(
    "10-22 38th Street, Brooklyn",
    Match::Corrected,
    "House number 10-22 was read as 1022."
)]
#[case(
    "1022 rear 38th Street, Brooklyn",
    Match::Corrected,
    "There is no 1022 REAR 38 STREET"
)]
#[case("10-20 Lexington Ave, Manhattan", Match::Corrected, "there is no 20")]
#[case(
    "207 37 Street, Brookllyn",
    Match::Corrected,
    "\"BROOKLLYN\" was read as Brooklyn."
)]
#[case(
    "207 37 Street construction project, Brooklyn",
    Match::Corrected,
    "\"CONSTRUCTION PROJECT\" after the street's name was ignored."
)]
#[case(
    "207 37 Stret, Brooklyn",
    Match::Corrected,
    "\"37 STRET\" was read as 37 STREET."
)]
#[case(
    "1401 Pelham Parkwey S, Bronx",
    Match::Corrected,
    "was read as PELHAM PARKWAY SOUTH"
)]
#[case("96 6th, Manhattan", Match::Exact, "\"6\" was read as 6 AVENUE.")]
#[case("450 West 37 Street, New York", Match::Exact, "")]
#[case(
    "350 5 Avenue, New York",
    Match::Exact,
    "other boroughs have this address, too"
)]
#[case("120 Broadway, NY", Match::Exact, "NY was read as Manhattan")]
#[case(
    "207 37 Street, New York, NY 11232",
    Match::Corrected,
    "The city typed does not have this address"
)]
#[case("1015862", Match::Exact, "")]
#[case("1022150065", Match::Exact, "")]
#[case("2022150065", Match::Corrected, "Marble Hill is Manhattan by law")]
#[case(
    "337 Garretson Ave, Staten Island",
    Match::Alias,
    "the lot's only building was taken"
)]
#[case(
    "77 Vacant Place, Staten Island",
    Match::Exact,
    "no building, only its lot"
)]
fn how_it_stands_to_what_was_typed(
    #[case] text: &str,
    #[case] matched: Match,
    #[case] warning: &str,
) {
    let resolved = resolve(text).unwrap();
    assert_eq!(resolved.matched, matched, "{resolved:#?}");
    let all = resolved.warnings.join(" ");
    assert!(all.contains(warning), "{all}");
    assert_eq!(warning.is_empty(), resolved.warnings.is_empty(), "{all}");
}

#[test]
fn all_addresses_of_a_building_have_one_form() {
    let forms: Vec<_> = [
        "350 5 Avenue, Manhattan",
        "20 W 34 St, NYC",
        "Empire State Building",
        "1015862",
        "1008350041",
    ]
    .into_iter()
    .map(|text| resolve(text).unwrap().building)
    .collect();
    assert!(forms.windows(2).all(|pair| pair[0] == pair[1]));
    let building = &forms[0];
    assert_eq!(building.one_line(), "338-350 5 AVENUE, New York, NY 10118");
    assert_eq!(building.buildings_on_lot, Some(1));
    assert_eq!(
        building.canonical_path(None).as_deref(),
        Some("/property/1008350041/338-350-5-avenue-new-york-ny-10118")
    );
}

#[test]
fn the_canonical_address_is_of_the_real_street_with_most_rows() {
    let line = |text: &str| resolve(text).unwrap().building.one_line();
    // Never the vanity address.
    assert_eq!(
        line("1057127"),
        "327-337 WEST 100 STREET, New York, NY 10025"
    );
    // Numbers without a letter come first.
    assert_eq!(line("2117344"), "700 BROOK AVENUE, Bronx, NY 10455");
    // Equal streets go by their code.
    assert_eq!(line("3340270"), "1279 37 STREET, Brooklyn, NY 11218");
    assert_eq!(
        line("4001899"),
        "43-06 - 43-12 46 STREET, Sunnyside, NY 11104"
    );
    assert_eq!(line("1086428"), "CASTLE WILLIAMS, New York, NY 10004");
    assert_eq!(line("1064679"), "58 MARBLE HILL AVENUE, Bronx, NY 10463");
    // The dictionary's primary name, not the row's.
    assert_eq!(line("1008001"), "96 6 AVENUE, New York, NY 10013");
}

#[test]
fn a_lot_with_several_buildings_is_a_lot() {
    let resolved = resolve("2042050001").unwrap();
    assert_eq!(resolved.building.bin, None);
    assert_eq!(resolved.building.street, None);
    assert_eq!(resolved.building.buildings_on_lot, Some(2));
    assert_eq!(
        resolved.warnings,
        ["The lot has 2 buildings; ask for one by its BIN: 2097543, 2097546."]
    );
    // An address of the lot without a building has the lot's form.
    let island = resolve("502 Governors Island").unwrap();
    assert_eq!(island.building, resolve("1000010010").unwrap().building);
    assert!(island.warnings.iter().any(|w| w.contains("only its lot")));
}

#[test]
fn a_typed_unit_lot_keeps_its_own_number() {
    let resolved = resolve("1000451033").unwrap();
    assert_eq!(resolved.unit_bbl, Some("1000451033".parse().unwrap()));
    assert_eq!(resolved.building.bbl, Some("1000457501".parse().unwrap()));
    assert_eq!(resolve("1000457501").unwrap().building, resolved.building);
}

#[test]
fn the_unit_is_as_typed() {
    let unit = |text: &str| resolve(text).unwrap().unit;
    assert_eq!(
        unit("350 5 Avenue Apt 4C, Manhattan").as_deref(),
        Some("4C")
    );
    assert_eq!(unit("350 5 Ave #PH-2, Manhattan").as_deref(), Some("PH 2"));
    assert_eq!(unit("350 5 Ave, Manhattan"), None);
}

#[test]
fn an_index_can_be_exchanged_while_it_is_used() {
    let geocoder = PadGeocoder::new(Arc::new(traps().build()));
    let before = geocoder.resolver();
    let mut other = Pad::default();
    other.at("1000010001", "1000001", "1", "NEW STREET", "10004");
    geocoder.swap(Arc::new(other.build()));
    assert!(before.resolve("1015862").is_ok());
    assert!(geocoder.resolver().resolve("1015862").is_err());
    assert!(
        geocoder
            .resolver()
            .resolve("1 New Street, Manhattan")
            .is_ok()
    );
    assert!(!geocoder.is_live());
}

#[tokio::test]
async fn the_geocoder_answers_as_the_resolver_does() {
    let geocoder = PadGeocoder::new(Arc::new(traps().build()));
    assert_eq!(
        geocoder.resolve("350 5 Avenue, Manhattan").await,
        resolve("350 5 Avenue, Manhattan")
    );
}

/// Every building of an index resolves from its own canonical line to itself.
fn round_trip(resolver: &Resolver, bins: &[String]) -> Vec<String> {
    bins.iter()
        .filter_map(|bin| {
            let building = resolver.resolve(bin).ok()?.building;
            // A building without an address has its lot's line.
            if building.bin.is_some() && building.street.is_none() {
                return None;
            }
            let line = building.one_line();
            let again = resolver.resolve(&line);
            match again {
                Ok(again) if again.building == building => None,
                other => Some(format!("{bin}: {line}: {other:?}")),
            }
        })
        .collect()
}

#[test]
fn a_canonical_line_leads_to_its_building() {
    let pad = traps();
    let mut ids: Vec<String> = pad
        .rows
        .iter()
        .flat_map(|row| {
            let field = |at: usize| row.split(',').nth(at).unwrap().trim_matches('"').to_owned();
            [field(3), format!("{}{}{}", field(0), field(1), field(2))]
        })
        .collect();
    ids.sort();
    ids.dedup();
    assert!(ids.len() > 90);
    let lost = round_trip(&TRAPS, &ids);
    assert!(lost.is_empty(), "{lost:#?}");
}

#[derive(Debug, Clone)]
struct MadeUp {
    borough: u8,
    street: usize,
    low: u32,
    span: u32,
    suffix: usize,
    building: u32,
}

const STREETS: &[&str] = &[
    "5 AVENUE",
    "EAST 12 STREET",
    "WEST 12 STREET",
    "12 STREET",
    "AVENUE S",
    "SAINT MARKS PLACE",
    "PARK AVENUE SOUTH",
    "BROADWAY",
    "AVENUE OF THE AMERICAS",
    "BEACH 22 STREET",
    "MC DONALD AVENUE",
    "PARK AVENUE",
    "WEST FARMS SQUARE PLAZA",
    "KINGS HIGHWAY",
    "FRONT STREET",
    "EAST NEW YORK AVENUE",
    "F D R DRIVE",
    "DR M L KING JR BOULEVARD",
    "QUEENS PLAZA SOUTH",
    "STATEN ISLAND BOULEVARD",
];

fn made_up() -> impl Strategy<Value = Vec<MadeUp>> {
    let one = (
        1_u8..=5,
        0..STREETS.len(),
        1_u32..400,
        0_u32..4,
        0_usize..6,
        1_u32..60,
    )
        .prop_map(|(borough, street, low, span, suffix, building)| MadeUp {
            borough,
            street,
            low,
            span,
            suffix,
            building,
        });
    proptest::collection::vec(one, 1..25)
}

/// Rows without two buildings at one number: that would be an error of the files, and is refused.
fn city(rows: &[MadeUp]) -> Pad {
    let mut pad = Pad::default();
    for (borough, street) in ('1'..='5').flat_map(|b| STREETS.iter().map(move |s| (b, s))) {
        pad.spelling(borough, street, "01", street, "PF", ' ');
    }
    let zips = ["10003", "10457", "11218", "11101", "10305"];
    let mut taken: Vec<(u8, usize, u32)> = Vec::new();
    for row in rows {
        // Ranges step by two, and no two of them meet.
        let block = row.low / 10 * 10;
        if taken.contains(&(row.borough, row.street, block)) {
            continue;
        }
        taken.push((row.borough, row.street, block));
        let bbl = format!(
            "{}{:05}{:04}",
            row.borough,
            100 + row.building,
            1 + row.building % 7
        );
        let bin = format!("{}{:06}", row.borough, 100 + row.building);
        let suffix = ["", "", "", "A", " REAR", " 1/2"][row.suffix];
        let high = if suffix.is_empty() {
            block + row.span * 2
        } else {
            block
        };
        let shown = |number: u32| {
            if row.borough == 4 && row.street != 9 {
                format!("{}-{:02}{suffix}", 10 + block / 10, number - block + 1)
            } else {
                format!("{}{suffix}", number + 1)
            }
        };
        pad.row(&Row::new(
            &bbl,
            &bin,
            (&shown(block), &shown(high)),
            STREETS[row.street],
            zips[usize::from(row.borough) - 1],
        ));
    }
    pad
}

fn bins_of(pad: &Pad) -> Vec<String> {
    pad.rows
        .iter()
        .map(|row| row.split(',').nth(3).unwrap().trim_matches('"').to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn canonical_lines_lead_back_in_any_city(rows in made_up()) {
        let pad = city(&rows);
        let resolver = Resolver::new(Arc::new(pad.build()));
        let lost = round_trip(&resolver, &bins_of(&pad));
        prop_assert!(lost.is_empty(), "{:#?}", lost);
    }

    #[test]
    fn the_order_of_rows_changes_no_form(rows in made_up(), seed: u64) {
        let pad = city(&rows);
        let mut shuffled = pad.clone();
        let mut state = seed | 1;
        for at in (1..shuffled.rows.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.rows.swap(at, (state >> 33) as usize % (at + 1));
        }
        let a = Resolver::new(Arc::new(pad.build()));
        let b = Resolver::new(Arc::new(shuffled.build()));
        for bin in bins_of(&pad) {
            prop_assert_eq!(a.resolve(&bin), b.resolve(&bin));
        }
    }

    #[test]
    fn spelling_does_not_matter(rows in made_up(), lower: bool, short: bool, dots: bool) {
        let pad = city(&rows);
        let resolver = Resolver::new(Arc::new(pad.build()));
        for bin in bins_of(&pad) {
            let building = resolver.resolve(&bin).unwrap().building;
            let mut line = format!(
                "{} {}, {}",
                building.house_number.clone().unwrap(),
                building.street.clone().unwrap(),
                building.borough.name()
            );
            if short {
                for (long, abbreviation) in [
                    ("AVENUE", "AVE"), ("STREET", "ST"), ("BOULEVARD", "BLVD"), ("EAST ", "E "), ("WEST ", "W "),
                    ("SAINT ", "ST "), ("HIGHWAY", "HWY"), ("PLACE", "PL"), ("PLAZA", "PLZ"),
                ] {
                    line = line.replace(long, abbreviation);
                }
            }
            if dots {
                line = line.replace(' ', "  ").replace(',', " ,");
            }
            if lower {
                line = line.to_lowercase();
            }
            let resolved = resolver.resolve(&line);
            prop_assert!(
                resolved.as_ref().is_ok_and(|r| r.building == building && r.matched != Match::Corrected),
                "{}: {:?}", line, resolved
            );
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = resolve(&text);
    }

    #[test]
    fn an_answer_agrees_with_what_was_typed(number in 1_u32..4000, street in 0_usize..12, borough in 0_usize..6) {
        let streets = ["37 Street", "E 37 St", "5 Ave", "Broadway", "Brook Ave", "189 St", "Barry Rd", "38 St", "41 Ave",
            "Riverside Dr", "Bergen St", "Avenue D"];
        let boroughs = ["", ", Manhattan", ", Bronx", ", Brooklyn", ", Queens", ", Staten Island"];
        let text = format!("{number} {}{}", streets[street], boroughs[borough]);
        if let Ok(resolved) = resolve(&text) {
            let corrected = resolved.matched == Match::Corrected;
            if borough > 0 && !corrected {
                let name = resolved.building.borough.name();
                prop_assert!(boroughs[borough].ends_with(name), "{}: {:?}", text, resolved);
            }
            prop_assert_eq!(corrected, corrected && !resolved.warnings.is_empty());
        }
    }
}
