//! The made-up city's address files, through the reader and the resolver.

use std::sync::{Arc, LazyLock};

use brownstone_address::{
    geocoder::{ResolveError, Resolved},
    pad::PadIndex,
    resolver::Resolver,
};
use rstest::rstest;

static CITY: LazyLock<Resolver> = LazyLock::new(|| {
    let files = brownstone_sample_city::pad_files();
    let file = |start: &str| {
        files
            .iter()
            .find(|(name, _)| name.starts_with(start))
            .map(|(_, text)| text.as_bytes())
            .unwrap()
    };
    let (index, stats) =
        PadIndex::read(file("bobaadr"), file("bobabbl"), Some(file("snd"))).unwrap();
    assert_eq!(stats.bad_lines, 0, "{:?}", stats.bad_line_samples);
    assert!(stats.buildings >= 190, "{stats:?}");
    Resolver::new(Arc::new(index))
});

fn resolve(text: &str) -> Result<Resolved, ResolveError> {
    CITY.resolve(text)
}

#[rstest]
#[case("350 5 AVENUE, New York, NY 10118", "1015862", &["350 Fifth Ave, Manhattan", "1008350041", "350 5th avenue apt 4C nyc"])]
#[case("120 BROADWAY, New York, NY 10271", "1001026", &["120 Broadway, New York", "1000477501", "120 BWAY 10271"])]
#[case("280 RIVERSIDE DRIVE, New York, NY 10025", "1057127", &["280 RSD 10025", "331 W 100th St, Manhattan", "327-337 West 100 Street, New York, NY"])]
#[case("2121 EASTCHESTER ROAD, Bronx, NY 10461", "2097543", &["2121 eastchester rd bronx", "2121 Eastchester Road, The Bronx", "2097543"])]
#[case("1401 PELHAM PARKWAY SOUTH, Bronx, NY 10461", "2097546", &["1401 Pelham Pkwy S, Bronx", "1401 pelham pky south bx", "1401 Pelham Pkwy South Bronx NY", "2097546"])]
#[case("700 BROOK AVENUE, Bronx, NY 10455", "2117344", &["700 Brook Ave, Bronx", "2-02359-7501", "700 BROOK AV BX 10455"])]
#[case("1279 37 STREET, Brooklyn, NY 11218", "3340270", &["1279 37th St, Brooklyn", "3622 13 avenue brooklyn", "3622 Thirteenth Ave, BK"])]
#[case("1065 EAST 99 STREET, Brooklyn, NY 11236", "3231074", &["1065 E 99th St Brooklyn", "1065 EAST 99TH STREET 99TH FLOOR, Brooklyn NY 11236", "3082260013"])]
#[case("43-06 46 STREET, Sunnyside, NY 11104", "4001899", &["43-06 46th Street, Queens", "4306 46 st sunnyside", "43-06 46TH STREET 6 EAST, Queens NY 11104"])]
#[case("103-12 97 STREET, Ozone Park, NY 11417", "4189606", &["103-12 97 st ozone park", "10312 97th Street, Queens", "4091190011"])]
#[case("335 GARRETSON AVENUE, Staten Island, NY 10305", "5050009", &["335 Garretson Ave SI", "335 GARRETSON AVENUE, Staten Island, NY 10305", "5033780070"])]
fn the_named_buildings_have_their_addresses(
    #[case] address: &str,
    #[case] bin: &str,
    #[case] spellings: &[&str],
) {
    let canonical = resolve(bin).unwrap().building;
    assert_eq!(canonical.one_line(), address);
    for text in spellings {
        assert_eq!(resolve(text).unwrap().building, canonical, "{text}");
    }
    assert_eq!(resolve(address).unwrap().building, canonical);
}

#[test]
fn a_garage_is_a_building_of_its_own() {
    let garage = resolve("1279 GARAGE 37 Street, Brooklyn").unwrap().building;
    assert_eq!(garage.bin, Some("3123204".parse().unwrap()));
    assert_eq!(garage.buildings_on_lot, Some(2));
}

#[test]
fn what_is_not_in_the_city_is_not_found() {
    assert!(matches!(
        resolve("99999 37 street brooklyn"),
        Err(ResolveError::NotFound(_))
    ));
    assert!(matches!(
        resolve("1279 zzqqxx street brooklyn"),
        Err(ResolveError::NotFound(_))
    ));
}
