//! Parts of the city by name: ZIPs, boroughs and neighbourhoods. An area is a set of ZIPs.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::LazyLock,
};

use brownstone_address::outside_place;
use brownstone_domain::{AreaQuery, Borough, Zip};

/// A named part of the city, or some ZIPs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// The ZIPs, rising, none twice; never empty.
    pub zips: Vec<Zip>,
    /// Whether the caller named one place, rather than ZIPs one by one.
    pub one_place: bool,
}

/// Why there is no area.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AreaError {
    /// It is not in New York City.
    #[error("{0}")]
    Outside(String),
    /// Nothing in the city has that name.
    #[error("{0}")]
    Unknown(String),
}

struct ZipRow {
    boroughs: Vec<Borough>,
    post_office: &'static str,
    neighborhood: &'static str,
    /// A neighbour of the city, listed so that it is known to be outside.
    outside: bool,
}

/// ZIPs that a name stands for, by borough, with its rank: 1 for the city's own areas, 2 for names in common
/// use, 3 for what is known only by its parts.
#[derive(Default)]
struct Name {
    /// As it is written.
    label: &'static str,
    places: Vec<(u8, Borough, BTreeSet<Zip>)>,
}

struct Tables {
    zips: BTreeMap<Zip, ZipRow>,
    names: HashMap<String, Name>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

/// Borough names as people write them beside the borough's own.
const BOROUGH_NAMES: [(&str, Borough); 13] = [
    ("MANHATTAN", Borough::Manhattan),
    ("NEW YORK", Borough::Manhattan),
    ("NEW YORK COUNTY", Borough::Manhattan),
    ("BRONX", Borough::Bronx),
    ("BRONX COUNTY", Borough::Bronx),
    ("BROOKLYN", Borough::Brooklyn),
    ("BKLYN", Borough::Brooklyn),
    ("KINGS COUNTY", Borough::Brooklyn),
    ("QUEENS", Borough::Queens),
    ("QUEENS COUNTY", Borough::Queens),
    ("STATEN ISLAND", Borough::StatenIsland),
    ("RICHMOND COUNTY", Borough::StatenIsland),
    ("SI", Borough::StatenIsland),
];

/// Names of the whole city.
const CITY_NAMES: [&str; 4] = ["NEW YORK CITY", "NYC", "FIVE BOROUGHS", "ALL BOROUGHS"];

/// What may stand behind a comma and says only that the place is here.
const TAILS: [&str; 7] = [
    "NY",
    "NEW YORK",
    "NEW YORK STATE",
    "USA",
    "US",
    "UNITED STATES",
    "NYC",
];

/// The states and territories whose letters, behind a comma, put a place elsewhere.
const OTHER_STATES: &str = "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY PR NEWJERSEY CONNECTICUT PENNSYLVANIA";

/// How many names a refusal suggests.
const SUGGESTIONS: usize = 5;

/// How like a name must be to be suggested, 0 to 1.
const LIKENESS: f64 = 0.75;

impl Tables {
    fn read() -> Self {
        let mut zips = BTreeMap::new();
        for line in include_str!("../data/zips.csv").lines().skip(1) {
            let mut fields = line.split(',');
            let (Some(zip), Some(digits), Some(post_office), Some(neighborhood), Some(kind)) = (
                fields.next().and_then(|zip| zip.parse::<Zip>().ok()),
                fields.next(),
                fields.next(),
                fields.next(),
                fields.next(),
            ) else {
                continue;
            };
            let boroughs = digits
                .bytes()
                .filter_map(|digit| Borough::from_digit(digit.wrapping_sub(b'0')))
                .collect();
            let row = ZipRow {
                boroughs,
                post_office,
                neighborhood,
                outside: kind == "outside",
            };
            zips.insert(zip, row);
        }
        let mut tables = Self {
            zips,
            names: HashMap::new(),
        };
        for line in include_str!("../data/neighborhoods.csv").lines().skip(1) {
            tables.read_neighborhood(line);
        }
        tables.read_zip_names();
        tables
    }

    fn read_neighborhood(&mut self, line: &'static str) {
        let mut fields = line.split(',');
        let (Some(borough), Some(name), Some(rank), Some(zips), Some(aliases)) = (
            fields
                .next()
                .and_then(|digit| digit.parse().ok())
                .and_then(Borough::from_digit),
            fields.next(),
            fields.next().and_then(|rank| rank.parse().ok()),
            fields.next(),
            fields.next(),
        ) else {
            return;
        };
        let zips: BTreeSet<Zip> = zips.split(' ').filter_map(|zip| zip.parse().ok()).collect();
        self.add(name, rank, borough, &zips);
        let aliases = aliases.split(';').filter(|alias| !alias.is_empty());
        // `Chelsea-Hudson Yards` is where both Chelsea and Hudson Yards are.
        let parts = name.split('-').filter(|part| *part != name);
        for other in aliases.chain(parts) {
            self.add(other, rank, borough, &zips);
        }
        // `Crown Heights (North)` is a part of Crown Heights.
        if let Some((whole, _)) = name.split_once(" (")
            && !name.contains('-')
        {
            self.add(whole, 3, borough, &zips);
        }
    }

    /// Names that the ZIP table alone has.
    fn read_zip_names(&mut self) {
        let mut found: BTreeMap<(&'static str, Borough), BTreeSet<Zip>> = BTreeMap::new();
        for (zip, row) in &self.zips {
            for name in row.neighborhood.split('/').filter(|name| !name.is_empty()) {
                for borough in &row.boroughs {
                    found.entry((name, *borough)).or_default().insert(*zip);
                }
            }
            // Post-office cities of Queens are how people there say where they live.
            if row.boroughs == [Borough::Queens] {
                let city = (row.post_office, Borough::Queens);
                found.entry(city).or_default().insert(*zip);
            }
        }
        for ((name, borough), zips) in found {
            let known = self
                .names
                .get(&fold(name))
                .is_some_and(|known| known.places.iter().any(|(_, other, _)| *other == borough));
            if !known {
                self.add(name, 2, borough, &zips);
            }
        }
    }

    fn add(&mut self, name: &'static str, rank: u8, borough: Borough, zips: &BTreeSet<Zip>) {
        let entry = self.names.entry(fold(name)).or_default();
        if entry.label.is_empty() {
            entry.label = name.trim();
        }
        match entry
            .places
            .iter_mut()
            .find(|(old, place, _)| *place == borough && *old == rank)
        {
            Some((_, _, known)) => known.extend(zips),
            None => entry.places.push((rank, borough, zips.clone())),
        }
    }

    fn borough(&self, borough: Borough) -> Vec<Zip> {
        self.zips
            .iter()
            // A ZIP that two boroughs share is its post office's: half of what a borough lists must not lie in another.
            .filter(|(_, row)| !row.outside && row.boroughs.first() == Some(&borough))
            .map(|(zip, _)| *zip)
            .collect()
    }
}

/// A name as it is compared: capitals, single blanks, no punctuation, no `THE` in front.
fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\'' | '’' | '.' => {}
            '&' => folded.push_str(" AND "),
            c if c.is_alphanumeric() => folded.extend(c.to_uppercase()),
            _ => folded.push(' '),
        }
    }
    let words: Vec<&str> = folded.split_whitespace().collect();
    let words = match words.as_slice() {
        ["THE", rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    words.join(" ")
}

/// Every ZIP of the city, rising.
pub fn city_zips() -> Vec<Zip> {
    let inside = TABLES.zips.iter().filter(|(_, row)| !row.outside);
    inside.map(|(zip, _)| *zip).collect()
}

/// Whether a ZIP is the city's.
pub fn is_city_zip(zip: Zip) -> bool {
    TABLES.zips.get(&zip).is_some_and(|row| !row.outside)
}

/// The borough of a ZIP, by post office; `None` outside the city.
pub fn borough_of(zip: Zip) -> Option<Borough> {
    let row = TABLES.zips.get(&zip).filter(|row| !row.outside)?;
    row.boroughs.first().copied()
}

/// The boroughs of a ZIP: one, but for two ZIPs that are shared; none outside the city.
pub fn boroughs_of(zip: Zip) -> impl Iterator<Item = Borough> {
    let row = TABLES.zips.get(&zip).filter(|row| !row.outside);
    row.into_iter().flat_map(|row| row.boroughs.iter().copied())
}

/// The first of a ZIP's neighbourhoods, where one is known.
pub fn neighborhood_of(zip: Zip) -> Option<&'static str> {
    let row = TABLES.zips.get(&zip)?;
    row.neighborhood
        .split('/')
        .next()
        .filter(|name| !name.is_empty())
}

/// The post-office city of a ZIP.
pub fn post_office_of(zip: Zip) -> Option<&'static str> {
    TABLES.zips.get(&zip).map(|row| row.post_office)
}

/// The ZIPs that a caller means.
///
/// ```
/// use brownstone_domain::AreaQuery;
/// use brownstone_listings::area::{AreaError, resolve};
/// let chelsea = resolve(&AreaQuery::Location("Chelsea".into())).unwrap();
/// assert!(chelsea.zips.contains(&"10011".parse().unwrap()));
/// let yonkers = resolve(&AreaQuery::Location("Yonkers".into()));
/// assert!(matches!(yonkers, Err(AreaError::Outside(_))));
/// ```
///
/// # Errors
/// When a ZIP or a name is outside the city, or a name fits no part of it.
pub fn resolve(query: &AreaQuery) -> Result<Area, AreaError> {
    match query {
        AreaQuery::ZipCodes(zips) => {
            let zips: BTreeSet<Zip> = zips.iter().copied().collect();
            let outside: Vec<String> = zips
                .iter()
                .filter(|zip| !is_city_zip(**zip))
                .map(ToString::to_string)
                .collect();
            if !outside.is_empty() {
                return Err(AreaError::Outside(format!(
                    "zip_codes: {} {} outside New York City's five boroughs.",
                    outside.join(", "),
                    if outside.len() == 1 { "is" } else { "are" }
                )));
            }
            Ok(Area {
                zips: zips.into_iter().collect(),
                one_place: false,
            })
        }
        AreaQuery::Location(text) => location(text),
    }
}

fn location(text: &str) -> Result<Area, AreaError> {
    let outside = || {
        AreaError::Outside(format!(
            "location: {} is outside New York City's five boroughs.",
            shown(text)
        ))
    };
    let one_place = |zips: Vec<Zip>| Area {
        zips,
        one_place: true,
    };
    let mut parts: Vec<String> = text
        .split(',')
        .map(fold)
        .filter(|part| !part.is_empty())
        .collect();
    // A ZIP says it all, wherever it stands: `Astoria, NY 11102`.
    let zip = text
        .split([',', ' '])
        .rev()
        .filter(|word| word.bytes().take_while(u8::is_ascii_digit).count() == 5)
        .find_map(|word| word.parse::<Zip>().ok());
    if let Some(zip) = zip {
        return match is_city_zip(zip) {
            true => Ok(one_place(vec![zip])),
            false => Err(outside()),
        };
    }
    while parts.len() > 1
        && parts
            .last()
            .is_some_and(|tail| TAILS.contains(&tail.as_str()))
    {
        parts.pop();
    }
    let state = parts.last().map(|tail| tail.replace(' ', ""));
    if parts.len() > 1 && state.is_some_and(|tail| OTHER_STATES.split(' ').any(|s| s == tail)) {
        return Err(outside());
    }
    let mut borough = None;
    if parts.len() > 1 {
        let tail = parts.last().and_then(|tail| borough_named(tail));
        if tail.is_some() {
            borough = tail;
            parts.pop();
        }
    }
    let name = parts.join(" ");
    if CITY_NAMES.contains(&name.as_str()) {
        return Ok(one_place(city_zips()));
    }
    if let Some(whole) = borough_named(&name)
        && borough.is_none_or(|borough| borough == whole)
    {
        return Ok(one_place(TABLES.borough(whole)));
    }
    let known = TABLES.names.get(&name).or_else(|| {
        // `Astoria Queens`, `Chelsea NY`: the tail without its comma.
        let (head, tail) = name.rsplit_once(' ')?;
        let (head, of) = match borough_named(tail) {
            Some(of) => (head, Some(of)),
            None if tail == "NY" => (head, None),
            None => {
                let head = name.strip_suffix(" STATEN ISLAND")?;
                (head, Some(Borough::StatenIsland))
            }
        };
        borough = borough.or(of);
        TABLES.names.get(head)
    });
    if let Some(zips) = known.and_then(|known| chosen(known, borough)) {
        return Ok(one_place(zips));
    }
    if outside_place(&name).is_some() {
        return Err(outside());
    }
    Err(AreaError::Unknown(format!(
        "location must be a ZIP, or the name of a borough or neighborhood of New York City; got {}.{}",
        shown(text),
        suggestions(&name)
    )))
}

fn borough_named(name: &str) -> Option<Borough> {
    let (_, borough) = BOROUGH_NAMES.iter().find(|(known, _)| *known == name)?;
    Some(*borough)
}

/// The places of a name in one borough, or those of the best rank; several boroughs' where they are equal.
fn chosen(name: &Name, borough: Option<Borough>) -> Option<Vec<Zip>> {
    let here = |place: &&(u8, Borough, BTreeSet<Zip>)| borough.is_none_or(|b| b == place.1);
    let best = name
        .places
        .iter()
        .filter(here)
        .map(|(rank, ..)| *rank)
        .min()?;
    let zips: BTreeSet<Zip> = name
        .places
        .iter()
        .filter(here)
        .filter(|(rank, ..)| *rank == best)
        .flat_map(|(_, _, zips)| zips.iter().copied())
        .collect();
    Some(zips.into_iter().collect())
}

/// What was typed, fit for a message.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    if text.chars().count() > 60 {
        short.push('…');
    }
    format!("\"{short}\"")
}

/// ` Nearest: A, B.`, or nothing where no name is like it.
fn suggestions(name: &str) -> String {
    let boroughs = Borough::ALL
        .iter()
        .map(|b| (b.name().to_uppercase(), b.name()));
    let names = TABLES
        .names
        .iter()
        .map(|(folded, name)| (folded.clone(), name.label));
    let mut scored: Vec<(f64, &str)> = boroughs
        .chain(names)
        .map(|(folded, label)| (strsim::jaro_winkler(name, &folded), label))
        .filter(|(score, _)| *score >= LIKENESS)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    let nearest: Vec<&str> = scored
        .iter()
        .take(SUGGESTIONS)
        .map(|(_, label)| *label)
        .collect();
    if nearest.is_empty() {
        String::new()
    } else {
        format!(" Nearest: {}.", nearest.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn at(text: &str) -> Result<String, AreaError> {
        let area = resolve(&AreaQuery::Location(text.into()))?;
        let zips: Vec<String> = area.zips.iter().map(ToString::to_string).collect();
        Ok(zips.join(" "))
    }

    #[rstest]
    #[case("10118", "10118")]
    #[case("Astoria, NY 11102", "11102")]
    #[case("West Village", "10014")]
    #[case("the west village", "10014")]
    #[case("WEST-VILLAGE, Manhattan, NY", "10014")]
    #[case("Hell’s Kitchen", "10018 10019 10020 10036 10103 10110 10111 10112")]
    #[case("Hudson Yards", "10001 10011 10119 10199")]
    #[case("Sunnyside, Staten Island", "10301")]
    #[case("Sunnyside Staten Island", "10301")]
    #[case("Crown Heights", "11213 11216 11225 11233 11238")]
    #[case("Nolita NY", "10012")]
    #[case("Marble Hill, Manhattan", "10463")]
    fn names_stand_for_zips(#[case] text: &str, #[case] zips: &str) {
        assert_eq!(at(text).unwrap(), zips);
    }

    #[test]
    fn boroughs_and_the_city_are_areas() {
        let all: usize = Borough::ALL
            .iter()
            .map(|borough| at(borough.name()).unwrap().split(' ').count())
            .sum();
        assert_eq!(all, city_zips().len());
        assert_eq!(at("The Bronx").unwrap(), at("bronx, new york").unwrap());
        assert_eq!(at("nyc").unwrap().split(' ').count(), city_zips().len());
        assert!(at("Manhattan").unwrap().contains("10118"));
    }

    #[test]
    fn a_name_of_two_boroughs_is_the_citys_own_area_or_both() {
        assert_eq!(at("Chelsea").unwrap(), "10001 10011 10119 10199");
        assert_eq!(at("Chelsea, Staten Island").unwrap(), "10314");
        let hill = at("Murray Hill").unwrap();
        assert!(hill.contains("10016") && hill.contains("113"), "{hill}");
    }

    #[rstest]
    #[case("Yonkers")]
    #[case("Jersey City, NJ")]
    #[case("Chelsea, MA")]
    #[case("10701")]
    #[case("90210")]
    #[case("Mount Vernon, NY")]
    fn what_is_outside_is_told_from_what_is_unknown(#[case] text: &str) {
        assert!(matches!(at(text), Err(AreaError::Outside(_))), "{text}");
    }

    #[test]
    fn an_unknown_name_is_met_with_the_nearest() {
        let error = at("Wiliamsburgh").unwrap_err().to_string();
        assert!(error.contains("Nearest: Williamsburg"), "{error}");
        assert!(error.contains("\"Wiliamsburgh\""), "{error}");
        let error = at("Qqqqq").unwrap_err();
        assert!(matches!(error, AreaError::Unknown(_)));
    }

    #[test]
    fn zips_are_sorted_and_named_when_outside() {
        let zips = |list: &[&str]| {
            AreaQuery::ZipCodes(list.iter().map(|zip| zip.parse().unwrap()).collect())
        };
        let area = resolve(&zips(&["11201", "10001", "11201"])).unwrap();
        assert_eq!(area.zips.len(), 2);
        assert!(!area.one_place && area.zips.is_sorted());
        let error = resolve(&zips(&["10001", "10701", "07030"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "zip_codes: 07030, 10701 are outside New York City's five boroughs."
        );
    }

    #[test]
    fn the_tables_read_whole() {
        let lines = include_str!("../data/zips.csv").lines().count();
        assert_eq!(TABLES.zips.len() + 1, lines);
        for line in include_str!("../data/neighborhoods.csv").lines().skip(1) {
            let name = line.split(',').nth(1).unwrap();
            let borough = line[..1]
                .parse()
                .ok()
                .and_then(Borough::from_digit)
                .unwrap();
            let zips = at(&format!("{name}, {}", borough.name())).unwrap();
            assert!(!zips.is_empty(), "{line}");
            for zip in zips.split(' ') {
                assert!(is_city_zip(zip.parse().unwrap()), "{line}: {zip}");
            }
        }
        let zip = |text: &str| text.parse().unwrap();
        assert_eq!(neighborhood_of(zip("10001")), Some("Chelsea"));
        assert_eq!(neighborhood_of(zip("10008")), None);
        assert_eq!(post_office_of(zip("11101")), Some("Long Island City"));
        assert_eq!(borough_of(zip("10463")), Some(Borough::Bronx));
        assert_eq!(borough_of(zip("10701")), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = at(&text);
        }
    }
}
