//! Boroughs, post-office cities, neighbourhoods and ZIP codes, and the places around the city.

use std::sync::LazyLock;

use brownstone_domain::{Borough, Zip};

use crate::words::WordMap;

/// Some of the five boroughs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boroughs(u8);

impl Boroughs {
    /// All five.
    pub const ALL: Self = Self(0b11111);

    /// Only this one.
    pub const fn only(borough: Borough) -> Self {
        Self(1 << (borough.digit() - 1))
    }

    /// None of them.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether this one is among them.
    pub const fn contains(self, borough: Borough) -> bool {
        self.0 & Self::only(borough).0 != 0
    }

    /// Those in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those in `self` alone.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// In the order of the city's digits.
    pub fn iter(self) -> impl Iterator<Item = Borough> {
        Borough::ALL
            .into_iter()
            .filter(move |borough| self.contains(*borough))
    }

    /// The one, where there is only one.
    pub fn single(self) -> Option<Borough> {
        if self.len() == 1 {
            self.iter().next()
        } else {
            None
        }
    }

    fn from_digits(digits: &str) -> Self {
        digits
            .bytes()
            .filter_map(|b| Borough::from_digit(b.wrapping_sub(b'0')))
            .fold(Self::default(), |all, b| all.or(Self::only(b)))
    }
}

/// What a name of a place says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A borough, by one of its names.
    Borough,
    /// A post-office city of Queens, as good as its borough's name.
    City,
    /// A neighbourhood: a hint of the borough, which a ZIP outweighs.
    Neighborhood,
    /// A village across the Nassau line whose name the city's side shares: only a row decides.
    Line,
    /// Outside the city.
    Outside,
}

/// A place by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) kind: PlaceKind,
    pub(crate) boroughs: Boroughs,
    /// The ZIP codes the place is known by; a hint, not a boundary.
    pub(crate) zips: &'static str,
    /// For the messages: the name, or the county of a place outside.
    pub(crate) label: &'static str,
}

impl Place {
    /// Whether the place is known to have this ZIP.
    pub(crate) fn has_zip(&self, zip: u32) -> bool {
        self.zips
            .split(' ')
            .any(|z| z.parse::<u32>().is_ok_and(|z| z == zip))
    }
}

/// Where a place outside the city is, such as `Westchester County`: by its name in capitals with single blanks. `None` for
/// a name that is not known, or not known to be outside.
///
/// ```
/// assert!(brownstone_address::outside_place("YONKERS").is_some());
/// assert_eq!(brownstone_address::outside_place("ASTORIA"), None);
/// ```
pub fn outside_place(name: &str) -> Option<&'static str> {
    place(name)
        .filter(|place| place.kind == PlaceKind::Outside)
        .map(|place| place.label)
}

/// How many words the longest place's name has that ends in this word; 0 where none does.
pub(crate) fn longest_ending_in(word: &str) -> usize {
    static ENDINGS: LazyLock<WordMap<usize>> = LazyLock::new(|| {
        let mut endings = WordMap::default();
        for name in PLACES.keys() {
            if let Some(last) = name.rsplit(' ').next() {
                let words = endings.entry(last).or_insert(0);
                *words = name.split(' ').count().max(*words);
            }
        }
        endings
    });
    ENDINGS.get(word).copied().unwrap_or(0)
}

/// The place with this name: upper-case words divided by single blanks.
pub(crate) fn place(name: &str) -> Option<Place> {
    PLACES.get(name).copied()
}

/// Boroughs as people write them, misspellings on record included.
const BOROUGH_NAMES: &[(Borough, &[&str])] = &[
    (
        Borough::Manhattan,
        &[
            "MANHATTAN",
            "MN",
            "NEW YORK COUNTY",
            "MANHTTAN",
            "MANHATAN",
            "MANHATTEN",
            "NEW YORK NEW YORK",
        ],
    ),
    (
        Borough::Bronx,
        &["BRONX", "BX", "THE BRONX", "BRX", "BRONX COUNTY"],
    ),
    (
        Borough::Brooklyn,
        &[
            "BROOKLYN",
            "BK",
            "BKLYN",
            "BKN",
            "BROOKYLN",
            "BKLN",
            "BRKLYN",
            "KINGS COUNTY",
            "BKYLN",
            "BROOLKYN",
            "BROKLYN",
            "BRROKLYN",
        ],
    ),
    (
        Borough::Queens,
        &["QUEENS", "QN", "QNS", "QS", "QUEENS COUNTY", "QUEEN"],
    ),
    (
        Borough::StatenIsland,
        &[
            "STATEN ISLAND",
            "SI",
            "S I",
            "STATENISLAND",
            "STATEN IS",
            "STATEN ISL",
            "RICHMOND COUNTY",
        ],
    ),
];

static PLACES: LazyLock<WordMap<Place>> = LazyLock::new(|| {
    let mut places = WordMap::default();
    for line in include_str!("../data/outside.csv").lines().skip(1) {
        if let Some((name, label)) = line.split_once(',') {
            let place = Place {
                kind: PlaceKind::Outside,
                boroughs: Boroughs::default(),
                zips: "",
                label,
            };
            places.insert(name, place);
        }
    }
    for line in include_str!("../data/areas.csv").lines().skip(1) {
        let mut fields = line.split(',');
        if let (Some(name), Some(digits), Some(kind), Some(zips)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        {
            let place = Place {
                kind: match kind {
                    "city" => PlaceKind::City,
                    "line" => PlaceKind::Line,
                    _ => PlaceKind::Neighborhood,
                },
                boroughs: Boroughs::from_digits(digits),
                zips,
                label: name,
            };
            places.insert(name, place);
        }
    }
    for (borough, names) in BOROUGH_NAMES {
        for name in *names {
            let place = Place {
                kind: PlaceKind::Borough,
                boroughs: Boroughs::only(*borough),
                zips: "",
                label: borough.name(),
            };
            places.insert(name, place);
        }
    }
    places
});

/// A borough whose name is misspelled so: one or two letters off.
pub(crate) fn misspelled_borough(word: &str) -> Option<Borough> {
    [
        (Borough::Brooklyn, "BROOKLYN", 2),
        (Borough::Manhattan, "MANHATTAN", 2),
        (Borough::Queens, "QUEENS", 1),
        (Borough::Bronx, "BRONX", 1),
        (Borough::StatenIsland, "STATEN ISLAND", 2),
    ]
    .into_iter()
    .find(|(_, name, most)| {
        word.len().abs_diff(name.len()) <= *most
            && word.first_letter() == name.first_letter()
            && strsim::osa_distance(word, name) <= *most
    })
    .map(|(borough, ..)| borough)
}

/// The post-office city or neighbourhood whose name is misspelled so: one letter off, two in a long name, and the first
/// one right. `None` where two places are as near, or where one outside the city is.
pub(crate) fn misspelled_city(name: &str) -> Option<Place> {
    /// A shorter name is as near to too many words.
    const SHORTEST: usize = 7;
    let most = match name.len() {
        0..SHORTEST => return None,
        SHORTEST..=10 => 1,
        _ => 2,
    };
    let mut found: Option<(usize, Place)> = None;
    let mut doubtful = false;
    for (other, place) in PLACES.iter() {
        if other.len().abs_diff(name.len()) > most || other.first_letter() != name.first_letter() {
            continue;
        }
        let distance = strsim::osa_distance(name, other);
        if distance > most {
            continue;
        }
        match &found {
            Some((nearest, _)) if distance > *nearest => {}
            Some((nearest, known)) if distance == *nearest => {
                doubtful |= known.boroughs != place.boroughs || known.kind != place.kind;
            }
            _ => {
                doubtful = false;
                found = Some((distance, *place));
            }
        }
    }
    found.map(|(_, place)| place).filter(|place| {
        !doubtful && matches!(place.kind, PlaceKind::City | PlaceKind::Neighborhood)
    })
}

trait FirstLetter {
    fn first_letter(&self) -> Option<u8>;
}

impl FirstLetter for str {
    fn first_letter(&self) -> Option<u8> {
        self.bytes().next()
    }
}

/// What a ZIP code says of where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZipArea {
    /// In the city, in these boroughs.
    City(Boroughs),
    /// Mainly in Nassau, with a few buildings of the city: only a row decides.
    Line(Boroughs),
    /// In New York State, outside the city.
    State,
    /// In another state.
    Elsewhere,
    /// A placeholder such as 00000: says nothing.
    Placeholder,
}

struct ZipEntry {
    zip: u32,
    boroughs: Boroughs,
    city: &'static str,
    neighborhood: &'static str,
    kind: &'static str,
}

static ZIPS: LazyLock<Vec<ZipEntry>> = LazyLock::new(|| {
    let mut zips: Vec<ZipEntry> = include_str!("../data/zips.csv")
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split(',');
            Some(ZipEntry {
                zip: fields.next()?.parse().ok()?,
                boroughs: Boroughs::from_digits(fields.next()?),
                city: fields.next()?,
                neighborhood: fields.next()?,
                kind: fields.next()?,
            })
        })
        .collect();
    zips.sort_by_key(|entry| entry.zip);
    zips
});

fn zip_entry(zip: u32) -> Option<&'static ZipEntry> {
    let zips = &*ZIPS;
    let at = zips.binary_search_by_key(&zip, |entry| entry.zip).ok()?;
    zips.get(at)
}

/// Where a ZIP code is.
pub(crate) fn zip_area(zip: u32) -> ZipArea {
    match zip_entry(zip) {
        Some(entry) if entry.kind == "outside" => ZipArea::State,
        Some(entry) if entry.kind == "line" => ZipArea::Line(entry.boroughs),
        Some(entry) => ZipArea::City(entry.boroughs),
        None => match zip {
            0..=100 | 11_111 | 12_345 | 99_999 => ZipArea::Placeholder,
            501 | 544 | 6_390 | 10_000..=14_999 => ZipArea::State,
            _ => ZipArea::Elsewhere,
        },
    }
}

/// The post-office city of a building: by its ZIP where it has one, else its borough's.
pub(crate) fn city(borough: Borough, zip: Option<u32>) -> &'static str {
    zip.and_then(zip_entry)
        .map(|entry| entry.city)
        .filter(|city| !city.is_empty())
        .unwrap_or(match borough {
            Borough::Manhattan => "New York",
            other => other.name(),
        })
}

/// The neighbourhood of a ZIP, where one is known.
pub(crate) fn neighborhood(zip: u32) -> Option<&'static str> {
    zip_entry(zip)
        .map(|entry| entry.neighborhood)
        .filter(|name| !name.is_empty())
}

/// Boroughs that share a ZIP with this one, by law on the other side of the line: Marble Hill and Rikers Island.
pub(crate) fn neighbours(borough: Borough) -> Boroughs {
    match borough {
        Borough::Manhattan => Boroughs::only(Borough::Bronx),
        Borough::Bronx => Boroughs::only(Borough::Manhattan).or(Boroughs::only(Borough::Queens)),
        Borough::Queens => Boroughs::only(Borough::Bronx),
        _ => Boroughs::default(),
    }
}

/// The tax blocks of Marble Hill: Manhattan by law, the Bronx to the post office and to those who live there.
pub(crate) const MARBLE_HILL: std::ops::RangeInclusive<u32> = 2214..=2217;

/// The borough that people type for a lot which is another's by law: the Bronx for Marble Hill, Queens for Rikers Island.
/// A row may lack its ZIP; Marble Hill is known by its blocks as well.
pub(crate) fn typed_borough(law: Borough, block: u32, zip: u32) -> Option<Borough> {
    match law {
        Borough::Manhattan if zip == 10_463 || MARBLE_HILL.contains(&block) => Some(Borough::Bronx),
        Borough::Bronx if zip == 11_370 => Some(Borough::Queens),
        _ => None,
    }
}

/// Whether a ZIP belongs to more boroughs than one.
pub(crate) fn is_shared_zip(zip: u32) -> bool {
    zip_entry(zip).is_some_and(|entry| entry.boroughs.len() > 1)
}

/// A ZIP for an answer; `None` for 0, which stands for "no ZIP" in our tables.
pub(crate) fn zip(zip: u32) -> Option<Zip> {
    if zip == 0 || zip > 99_999 {
        return None;
    }
    let mut digits = [0_u8; 5];
    let mut rest = zip;
    for digit in digits.iter_mut().rev() {
        // The cast is exact: a digit.
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_tables_read_whole() {
        assert_eq!(
            ZIPS.len() + 1,
            include_str!("../data/zips.csv").lines().count()
        );
        for line in include_str!("../data/areas.csv").lines().skip(1) {
            let name = line.split(',').next().unwrap();
            assert!(place(name).is_some(), "{name}");
            assert!(name.split(' ').count() <= 10, "{name}");
        }
        for entry in ZIPS.iter() {
            assert_eq!(entry.boroughs.is_empty(), entry.kind == "outside");
        }
    }

    #[rstest]
    #[case(10118, ZipArea::City(Boroughs::only(Borough::Manhattan)))]
    #[case(10463, ZipArea::City(Boroughs(0b00011)))]
    #[case(11370, ZipArea::City(Boroughs(0b01010)))]
    #[case(11040, ZipArea::Line(Boroughs::only(Borough::Queens)))]
    #[case(10550, ZipArea::State)]
    #[case(12207, ZipArea::State)]
    #[case(11042, ZipArea::State)]
    #[case(7302, ZipArea::Elsewhere)]
    #[case(43215, ZipArea::Elsewhere)]
    #[case(0, ZipArea::Placeholder)]
    #[case(99_999, ZipArea::Placeholder)]
    fn zips_are_placed(#[case] zip: u32, #[case] area: ZipArea) {
        assert_eq!(zip_area(zip), area);
    }

    #[test]
    fn cities_are_post_offices() {
        assert_eq!(city(Borough::Manhattan, Some(10118)), "New York");
        assert_eq!(city(Borough::Manhattan, Some(10463)), "Bronx");
        assert_eq!(city(Borough::Queens, Some(11101)), "Long Island City");
        assert_eq!(city(Borough::Queens, None), "Queens");
        assert_eq!(city(Borough::Manhattan, Some(0)), "New York");
        assert!(neighborhood(10451).is_some());
        assert_eq!(neighborhood(10008), None);
    }

    #[rstest]
    #[case("BROOKLIN", Some(Borough::Brooklyn))]
    #[case("MANHATAN", Some(Borough::Manhattan))]
    #[case("QUENS", Some(Borough::Queens))]
    #[case("BROOME", None)]
    #[case("BROOK", None)]
    #[case("CROOKLYN", None)]
    fn boroughs_are_recognised_misspelled(#[case] word: &str, #[case] borough: Option<Borough>) {
        assert_eq!(misspelled_borough(word), borough);
    }

    #[test]
    fn names_shared_by_two_boroughs_say_so() {
        assert_eq!(place("BAY TERRACE").unwrap().boroughs.len(), 2);
        assert_eq!(place("MARBLE HILL").unwrap().boroughs.len(), 2);
        assert_eq!(place("YONKERS").unwrap().kind, PlaceKind::Outside);
        assert_eq!(place("NEW HYDE PARK").unwrap().kind, PlaceKind::Line);
        assert!(place("FOREST HILLS").unwrap().has_zip(11375));
    }
}
