//! A made-up address release of the whole city's size: real lots where they are at hand, everything else invented.

use std::{
    fmt::Write as _,
    fs::File,
    io::{BufRead as _, BufReader},
    path::Path,
};

use anyhow::Context as _;
use brownstone_domain::{Bbl, Borough};
use flate2::read::GzDecoder;

use crate::measure::Random;

/// Ranges of house numbers in a release.
const RANGES: usize = 1_300_000;
/// Street names in a release.
const NAMES: usize = 60_000;
/// Lots in the city, for a run without the real ones.
const LOTS: usize = 857_208;
/// Addresses that are asked for.
const QUESTIONS: usize = 200_000;

/// One range on one street, of one building.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) street: usize,
    /// Numbers as they count, one after the other along the street.
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) bbl: Bbl,
    pub(super) bin: u32,
}

/// A street of a borough.
#[derive(Debug)]
pub(super) struct Street {
    pub(super) borough: Borough,
    pub(super) name: String,
    code: usize,
    next: u32,
}

/// An address as someone types it, and which range it means.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) range: usize,
    /// The number asked for.
    pub(super) number: u32,
}

/// The release.
#[derive(Debug)]
pub(crate) struct City {
    pub(super) streets: Vec<Street>,
    pub(super) ranges: Vec<Range>,
    pub(super) lots: Vec<Bbl>,
    /// Whether the lots are the city's own.
    pub(super) real_lots: bool,
    pub(super) questions: Vec<Question>,
}

impl City {
    /// The same one in every run on the same lots.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let real = match std::env::var_os("NYC_REAL_DATA").filter(|path| !path.is_empty()) {
            Some(folder) => Some(real_lots(Path::new(&folder))?),
            None => None,
        };
        let real_lots = real.is_some();
        Ok(Self::over(
            real.unwrap_or_else(made_up_lots),
            real_lots,
            RANGES,
            NAMES,
            QUESTIONS,
        ))
    }

    /// A small one, for what does not need a whole city.
    pub(crate) fn small() -> Self {
        let mut lots = made_up_lots();
        lots.retain(|bbl| bbl.block() <= 20);
        Self::over(lots, false, 9_000, 5_000, 2_000)
    }

    /// What is asked, as people type it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> + Clone {
        self.questions.iter().map(|question| question.text.as_str())
    }

    /// The lot and the number of each building, in the order they stand.
    pub(crate) fn buildings(&self) -> impl Iterator<Item = (Bbl, u32)> {
        self.ranges.iter().map(|range| (range.bbl, range.bin))
    }

    fn over(
        lots: Vec<Bbl>,
        real_lots: bool,
        ranges: usize,
        names: usize,
        questions: usize,
    ) -> Self {
        let mut random = Random::new(60_000);
        let streets = Borough::ALL
            .into_iter()
            .flat_map(|borough| streets(borough, names / Borough::ALL.len()))
            .collect();
        let mut city = Self {
            streets,
            ranges: Vec::with_capacity(ranges),
            lots,
            real_lots,
            questions: Vec::with_capacity(questions),
        };
        city.lay_out(ranges, names / Borough::ALL.len(), &mut random);
        for _ in 0..questions.min(city.ranges.len()) {
            let range = random.below(city.ranges.len() as u64) as usize;
            city.questions.extend(city.ask(range, &mut random));
        }
        city
    }

    /// Gives every lot a range on the street of its side of the block, and some of them another one round the corner.
    fn lay_out(&mut self, ranges: usize, names: usize, random: &mut Random) {
        let mut buildings = [0_u32; 5];
        let lots = self.lots.len().max(1);
        for place in 0..self.lots.len() {
            let Some(bbl) = self.lots.get(place).copied() else {
                continue;
            };
            let borough = bbl.borough();
            let at = usize::from(borough.digit()) - 1;
            let Some(buildings) = buildings.get_mut(at) else {
                continue;
            };
            *buildings += 1;
            let bin = u32::from(borough.digit()) * 1_000_000 + *buildings;
            // Adds up to the number of ranges.
            let wanted = (place + 1) * ranges / lots - place * ranges / lots;
            for _ in 0..wanted {
                let street = at * names + random.below(names as u64) as usize;
                if let Some(on) = self.streets.get_mut(street) {
                    let span = [0, 0, 0, 2, 4, 8][random.below(6) as usize];
                    let low = on.next;
                    on.next += span + 2 + 2 * random.below(3) as u32;
                    self.ranges.push(Range {
                        street,
                        low,
                        high: low + span,
                        bbl,
                        bin,
                    });
                }
            }
        }
    }

    fn ask(&self, place: usize, random: &mut Random) -> Option<Question> {
        let range = self.ranges.get(place)?;
        let street = self.streets.get(range.street)?;
        let steps = u64::from((range.high - range.low) / 2) + 1;
        let number = range.low + 2 * random.below(steps) as u32;
        let shown = street.number(number).0;
        let short = street
            .name
            .replace("STREET", "St")
            .replace("AVENUE", "Ave")
            .replace("EAST ", "E ");
        let (city, zip) = (city_of(street.borough), zip_of(range.bbl));
        let text = match random.below(3) {
            0 => format!("{shown} {short}, {city}, NY {zip}"),
            1 => format!("{shown} {short} Apt 4C, {city}"),
            _ => format!("{shown} {}, {city}", street.name.to_lowercase()),
        };
        Some(Question {
            text,
            range: place,
            number,
        })
    }

    /// Writes the three files of a release.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let files = [
            ("bobaadr.txt", self.addresses()),
            ("bobabbl.txt", self.lots_file()),
            ("snd26dcow.txt", self.dictionary()),
        ];
        for (name, text) in files {
            std::fs::write(folder.join(name), text).context("the release cannot be written")?;
        }
        Ok(())
    }

    fn addresses(&self) -> String {
        let mut text = String::with_capacity(self.ranges.len() * 240);
        text.push_str("\"boro\",\"block\",\"lot\",\"bin\",\"lhnd\",\"lhns\",\"lcontpar\",\"lsos\",\"hhnd\",\"hhns\",\"hcontpar\",\"hsos\",\"scboro\",\"sc5\",\"sclgc\",\"stname\",\"addrtype\",\"realb7sc\",\"validlgcs\",\"dapsflag\",\"naubflag\",\"parity\",\"b10sc\",\"segid\",\"zipcode\",\"physical_id\"\r\n");
        for range in &self.ranges {
            let Some(street) = self.streets.get(range.street) else {
                continue;
            };
            let (low, low_sort) = street.number(range.low);
            let (high, high_sort) = street.number(range.high);
            let (borough, code) = (street.borough.digit(), street.code);
            let parity = if range.low % 2 == 0 { 2 } else { 1 };
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "\"{borough}\",\"{:05}\",\"{:04}\",\"{}\",\"{low:<12}\",\"{low_sort}\",\" \",\"L\",\"{high:<12}\",\"{high_sort}\",\" \",\"L\",\"{borough}\",\"{code:05}\",\"01\",\"{:<32.32}\",\" \",\"        \",\"01      \",\" \",\" \",\"{parity}\",\"{borough}{code:05}01010\",\"0000001\",\"{}\",\"0000001\"\r\n",
                range.bbl.block(),
                range.bbl.lot(),
                range.bin,
                street.name,
                zip_of(range.bbl),
            );
        }
        text
    }

    fn lots_file(&self) -> String {
        let mut text = String::with_capacity(self.lots.len() * 160);
        text.push_str("\"loboro\",\"loblock\",\"lolot\",\"lobblscc\",\"hiboro\",\"hiblock\",\"hilot\",\"hibblscc\",\"boro\",\"block\",\"lot\",\"bblscc\",\"billboro\",\"billblock\",\"billlot\",\"billbblscc\",\"condoflag\",\"condonum\",\"coopnum\",\"numbf\",\"numaddr\",\"vacant\",\"interior\"\r\n");
        for bbl in &self.lots {
            let lot = format!(
                "\"{}\",\"{:05}\",\"{:04}\",\"7\"",
                bbl.borough().digit(),
                bbl.block(),
                bbl.lot()
            );
            let _ = write!(
                text,
                "{lot},{lot},{lot},\" \",\"     \",\"    \",\" \",\" \",\"    \",\"    \",\"   1\",\"   1\",\" \",\" \"\r\n"
            );
        }
        text
    }

    fn dictionary(&self) -> String {
        let mut text = String::with_capacity(self.streets.len() * 202);
        for street in &self.streets {
            let (borough, name, code) = (street.borough.digit(), &street.name, street.code);
            let start = text.len();
            let _ = write!(
                text,
                "1{borough}{name:<32.32}PF{borough}{code:05}01010    {:02}{name:<32.32}",
                name.len().min(32)
            );
            let width = text.len() - start;
            let _ = write!(text, "{:1$}\r\n", "", 200_usize.saturating_sub(width));
        }
        text
    }
}

impl Street {
    /// A number as it is shown and as it is sorted. In Queens it has a hyphen.
    fn number(&self, value: u32) -> (String, String) {
        if self.borough == Borough::Queens {
            let (left, right) = (10 + value / 60, value % 60);
            (
                format!("{left}-{right:02}"),
                format!("1{left:05}{right:03}AA"),
            )
        } else {
            (value.to_string(), format!("0{value:05}000AA"))
        }
    }
}

const TYPES: [&str; 10] = [
    "STREET",
    "AVENUE",
    "PLACE",
    "ROAD",
    "DRIVE",
    "LANE",
    "COURT",
    "BOULEVARD",
    "TERRACE",
    "PARKWAY",
];
const SYLLABLES: [&str; 20] = [
    "BAL", "COR", "DEN", "FAR", "GRA", "HOL", "KEN", "LIN", "MAR", "NOR", "OAK", "PEL", "QUI",
    "ROS", "SUM", "TRE", "VAN", "WIL", "YOR", "ZEL",
];
const ENDINGS: [&str; 10] = [
    "TON", "FORD", "LEY", "WOOD", "HAM", "FIELD", "SON", "MONT", "DALE", "BURY",
];
/// Names of every borough that are a number: 200 streets, east and west or not.
const NUMBERED: usize = 600;

/// The streets of a borough: some numbered, the same in all boroughs, the others named, partly the same as elsewhere.
fn streets(borough: Borough, count: usize) -> impl Iterator<Item = Street> {
    (0..count).map(move |place| {
        let name = if place < NUMBERED {
            let side = ["", "EAST ", "WEST "][place % 3];
            format!("{side}{} STREET", 1 + place / 3)
        } else {
            let at = place + usize::from(borough.digit()) * 5_000;
            format!(
                "{}{}{} {}",
                SYLLABLES[at % 20],
                SYLLABLES[at / 20 % 20],
                ENDINGS[at / 400 % 10],
                TYPES[at / 4_000 % 10],
            )
        };
        Street {
            borough,
            name,
            code: 10_000 + place,
            next: 1 + (place % 2) as u32,
        }
    })
}

fn city_of(borough: Borough) -> &'static str {
    match borough {
        Borough::Manhattan => "New York",
        Borough::Bronx => "Bronx",
        Borough::Brooklyn => "Brooklyn",
        Borough::Queens => "Queens",
        Borough::StatenIsland => "Staten Island",
    }
}

/// One ZIP a block.
fn zip_of(bbl: Bbl) -> &'static str {
    let zips: &[&str] = match bbl.borough() {
        Borough::Manhattan => &["10001", "10025", "10040"],
        Borough::Bronx => &["10451", "10467"],
        Borough::Brooklyn => &["11201", "11218", "11236"],
        Borough::Queens => &["11101", "11375", "11434"],
        Borough::StatenIsland => &["10301", "10314"],
    };
    let at = usize::try_from(bbl.block()).unwrap_or(0) % zips.len();
    zips.get(at).copied().unwrap_or("10001")
}

/// Every lot of the city.
fn real_lots(folder: &Path) -> anyhow::Result<Vec<Bbl>> {
    let file = File::open(folder.join("lots/nyc_tax_lot_bbls.txt.gz"))
        .context("the real lots cannot be read")?;
    let mut lots = Vec::with_capacity(LOTS);
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        // A few lines are no lots: their block is 0.
        lots.extend(line?.trim().parse::<Bbl>());
    }
    Ok(lots)
}

/// As many lots as the city has, 60 a block.
fn made_up_lots() -> Vec<Bbl> {
    let each = LOTS / Borough::ALL.len();
    let lots = |borough: Borough| {
        (0..each).filter_map(move |place| {
            let (block, lot) = (1 + place / 60, 1 + place % 60);
            format!("{}{block:05}{lot:04}", borough.digit())
                .parse()
                .ok()
        })
    };
    Borough::ALL.into_iter().flat_map(lots).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use brownstone_address::{pad::PadIndex, resolver::Resolver};

    use super::*;

    #[test]
    fn it_has_as_many_of_each_as_asked_for() {
        let city = City::small();
        assert_eq!(city.lots.len(), 5 * 20 * 60);
        assert_eq!(city.ranges.len(), 9_000);
        assert_eq!(city.questions.len(), 2_000);
        let names: HashSet<_> = (city.streets.iter())
            .map(|street| (street.borough.digit(), &street.name))
            .collect();
        assert_eq!(names.len(), 5_000, "no street twice in a borough");
    }

    #[test]
    fn its_release_is_one_that_the_index_reads_and_every_question_has_its_building() {
        let city = City::small();
        let folder = tempfile::tempdir().unwrap();
        city.write(folder.path()).unwrap();
        let (index, stats) = PadIndex::open_dir(folder.path()).unwrap();
        assert_eq!((stats.bad_lines, stats.rows), (0, 9_000), "{stats:?}");
        let resolver = Resolver::new(std::sync::Arc::new(index));
        for question in &city.questions {
            let bin = city.ranges[question.range].bin.to_string();
            let resolved = resolver.resolve(&question.text);
            let found = resolved.map(|resolved| resolved.building.bin.map(|bin| bin.to_string()));
            assert_eq!(found.unwrap(), Some(bin), "{}", question.text);
        }
    }
}
