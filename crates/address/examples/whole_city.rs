//! Builds an address release of the whole city's size from invented rows, and measures the index and the resolver on it.
//!
//! `cargo run --release -p brownstone-address --example whole_city [FOLDER]`: with a folder, the files are kept there.
//!
//! Streets, numbers and buildings are invented; their counts are those of a real release: 1.3 million ranges on 60,000
//! names.

// Its output is its purpose.
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use brownstone_address::{pad::PadIndex, resolver::Resolver};

const RANGES: usize = 1_300_000;
const STREETS: usize = 30_000;
const QUESTIONS: usize = 200_000;

/// A small generator, so that every run makes the same city.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % sides
    }
}

const FIRST: &[&str] = &[
    "", "EAST ", "WEST ", "NORTH ", "SOUTH ", "", "", "BEACH ", "BAY ", "",
];
const TYPES: &[&str] = &[
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
const SYLLABLES: &[&str] = &[
    "BAL", "COR", "DEN", "FAR", "GRA", "HOL", "KEN", "LIN", "MAR", "NOR", "OAK", "PEL", "QUI",
    "ROS", "SUM", "TRE", "VAN", "WIL", "YOR", "ZEL",
];
const ENDINGS: &[&str] = &[
    "TON", "FORD", "LEY", "WOOD", "HAM", "FIELD", "SON", "MONT", "DALE", "BURY",
];
const ZIPS: [&[&str]; 5] = [
    &["10001", "10025", "10040"],
    &["10451", "10467"],
    &["11201", "11218", "11236"],
    &["11101", "11375", "11434"],
    &["10301", "10314"],
];

struct Street {
    borough: usize,
    name: String,
    next: usize,
}

fn streets(dice: &mut Dice) -> Vec<Street> {
    let mut streets = Vec::with_capacity(STREETS);
    for at in 0..STREETS {
        let borough = at % 5;
        let number = at / 50;
        let kind = TYPES[at / 5 % TYPES.len()];
        let first = FIRST[dice.roll(FIRST.len())];
        let name = if at % 3 == 0 {
            format!("{first}{} {kind}", 1 + number)
        } else {
            let middle = SYLLABLES[dice.roll(SYLLABLES.len())];
            format!(
                "{first}{}{middle}{} {kind}",
                SYLLABLES[at / 100 % SYLLABLES.len()],
                ENDINGS[at / 2000 % ENDINGS.len()]
            )
        };
        streets.push(Street {
            borough,
            name,
            next: 1 + dice.roll(2),
        });
    }
    streets
}

/// Number as displayed and in sort format.
fn number(street: &Street, value: usize) -> (String, String) {
    if street.borough == 3 && !street.name.starts_with("BEACH") {
        let (left, right) = (10 + value / 60, value % 60);
        (
            format!("{left}-{right:02}"),
            format!("1{left:05}{right:03}AA"),
        )
    } else {
        (value.to_string(), format!("0{value:05}000AA"))
    }
}

struct City {
    addresses: String,
    lots: String,
    names: String,
    questions: Vec<String>,
}

fn city() -> City {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut streets = streets(&mut dice);
    let mut out = City {
        addresses: String::with_capacity(RANGES * 240),
        lots: String::with_capacity(RANGES * 100),
        names: String::new(),
        questions: Vec::with_capacity(QUESTIONS),
    };
    out.addresses.push_str("\"boro\",\"block\",\"lot\",\"bin\",\"lhnd\",\"lhns\",\"lcontpar\",\"lsos\",\"hhnd\",\"hhns\",\"hcontpar\",\"hsos\",\"scboro\",\"sc5\",\"sclgc\",\"stname\",\"addrtype\",\"realb7sc\",\"validlgcs\",\"dapsflag\",\"naubflag\",\"parity\",\"b10sc\",\"segid\",\"zipcode\",\"physical_id\"\r\n");
    out.lots.push_str("\"loboro\",\"loblock\",\"lolot\",\"lobblscc\",\"hiboro\",\"hiblock\",\"hilot\",\"hibblscc\",\"boro\",\"block\",\"lot\",\"bblscc\",\"billboro\",\"billblock\",\"billlot\",\"billbblscc\",\"condoflag\",\"condonum\",\"coopnum\",\"numbf\",\"numaddr\",\"vacant\",\"interior\"\r\n");
    for (at, street) in streets.iter().enumerate() {
        let borough = street.borough + 1;
        let code = 10_000 + at / 5 * 10 % 80_000;
        let spellings = [
            (street.name.clone(), "PF"),
            (
                street.name.replace("STREET", "ST").replace("AVENUE", "AVE"),
                "VS",
            ),
        ];
        for (name, flags) in spellings {
            let mut line = format!(
                "1{borough}{name:<32.32}{flags}{borough}{code:05}01010    {:02}{name:<32.32}",
                name.len().min(32)
            );
            line.push_str(&" ".repeat(200 - line.len()));
            out.names.push_str(&line);
            out.names.push_str("\r\n");
        }
    }
    let every = RANGES / QUESTIONS;
    for at in 0..RANGES {
        let place = dice.roll(STREETS);
        let street = &mut streets[place];
        let borough = street.borough + 1;
        let span = [0, 0, 0, 2, 4, 8][dice.roll(6)];
        let (low, low_sort) = number(street, street.next);
        let (high, high_sort) = number(street, street.next + span);
        let asked = number(street, street.next + span / 2 / 2 * 2).0;
        street.next += span + 2 + 2 * dice.roll(3);
        let lot = at * 2 / 3;
        let (block, lot_number) = (1 + lot / 60, 1 + lot % 60);
        let bin = borough * 1_000_000 + 1 + at * 4 / 5 % 799_999;
        let code = 10_000 + place / 5 * 10 % 80_000;
        let zip = ZIPS[street.borough][place % ZIPS[street.borough].len()];
        let _ = write!(
            out.addresses,
            "\"{borough}\",\"{block:05}\",\"{lot_number:04}\",\"{bin}\",\"{low:<12}\",\"{low_sort}\",\" \",\"L\",\"{high:<12}\",\"{high_sort}\",\" \",\"L\",\"{borough}\",\"{code:05}\",\"01\",\"{:<32.32}\",\" \",\"        \",\"01      \",\" \",\" \",\"1\",\"{borough}{code:05}01010\",\"0000001\",\"{zip}\",\"0000001\"\r\n",
            street.name
        );
        if at % 3 != 1 {
            let _ = write!(
                out.lots,
                "\"{borough}\",\"{block:05}\",\"{lot_number:04}\",\"7\",\"{borough}\",\"{block:05}\",\"{lot_number:04}\",\"7\",\"{borough}\",\"{block:05}\",\"{lot_number:04}\",\"7\",\" \",\"     \",\"    \",\" \",\" \",\"    \",\"    \",\"   1\",\"   1\",\" \",\" \"\r\n"
            );
        }
        if at % every == 0 && out.questions.len() < QUESTIONS {
            let city = [
                "New York, NY",
                "Bronx",
                "Brooklyn, NY",
                "Queens",
                "Staten Island",
            ][street.borough];
            let short = street
                .name
                .replace("STREET", "St")
                .replace("AVENUE", "Ave")
                .replace("EAST ", "E ");
            out.questions.push(match at % 3 {
                0 => format!("{asked} {short}, {city} {zip}"),
                1 => format!("{asked} {short} Apt 4C, {city}"),
                _ => format!("{} {}", asked, street.name.to_lowercase()) + ", " + city,
            });
        }
    }
    out
}

/// Resident memory in kilobytes, where the system tells it.
fn resident() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("VmRSS:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(0)
}

fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn main() -> Result<(), Box<dyn Error>> {
    let city = city();
    let folder = std::env::args().nth(1);
    if let Some(folder) = &folder {
        let folder = Path::new(folder);
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("bobaadr.txt"), &city.addresses)?;
        std::fs::write(folder.join("bobabbl.txt"), &city.lots)?;
        std::fs::write(folder.join("snd26ccow.txt"), &city.names)?;
    }
    let start = Instant::now();
    let (index, stats) = PadIndex::read(
        city.addresses.as_bytes(),
        city.lots.as_bytes(),
        Some(city.names.as_bytes()),
    )?;
    println!(
        "import        {:>8.2} s   {stats:?}",
        start.elapsed().as_secs_f64()
    );
    println!("index         {:>8.1} MB", index.size() as f64 / 1e6);
    let path = std::env::temp_dir().join(format!("whole-city-{}.index", std::process::id()));
    let start = Instant::now();
    index.save(&path)?;
    println!("save          {:>8.2} s", start.elapsed().as_secs_f64());
    drop(index);
    let questions = city.questions;
    drop((city.addresses, city.lots, city.names));

    let before = resident();
    let start = Instant::now();
    let resolver = Resolver::open(&path)?;
    println!(
        "open          {:>8.3} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    let mut found = 0;
    let start = Instant::now();
    for question in &questions {
        found += usize::from(resolver.resolve(question).is_ok());
    }
    let cold = start.elapsed();
    // More rounds give a profiler something to look at.
    let rounds: u32 = std::env::var("ROUNDS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or(1);
    let start = Instant::now();
    for _ in 0..rounds {
        found = 0;
        for question in &questions {
            found += usize::from(resolver.resolve(question).is_ok());
        }
    }
    let warm = start.elapsed() / rounds;
    println!(
        "resolve       {:>8.0} a second cold, {:.0} warm; {} of {} found",
        per_second(questions.len(), cold),
        per_second(questions.len(), warm),
        found,
        questions.len()
    );
    println!(
        "resident      {:>8.1} MB more",
        resident().saturating_sub(before) as f64 / 1e3
    );
    let parse_start = Instant::now();
    let mut parsed = 0;
    for question in &questions {
        parsed += usize::from(brownstone_address::parse::parse(question).is_ok());
    }
    println!(
        "parse         {:>8.0} a second ({parsed})",
        per_second(questions.len(), parse_start.elapsed())
    );

    let mut slowest = (Duration::ZERO, "");
    let misspelled: Vec<String> = questions
        .iter()
        .step_by(997)
        .map(|q| {
            q.replace("TON", "TXN")
                .replace("Ave", "Avv")
                .replace("ER", "RE")
        })
        .collect();
    for question in misspelled.iter().chain(questions.iter().step_by(97)) {
        let start = Instant::now();
        let _ = resolver.resolve(question);
        let took = start.elapsed();
        if took > slowest.0 {
            slowest = (took, question);
        }
    }
    println!(
        "slowest       {:>8.3} ms   {}",
        slowest.0.as_secs_f64() * 1e3,
        slowest.1
    );
    std::fs::remove_file(path)?;
    Ok(())
}
