//! The Property Address Directory's files for the city's buildings, in the publisher's layout: quoted, padded with
//! blanks, lines that end in CRLF; the street dictionary in records of 200 bytes.

use std::collections::BTreeMap;

use brownstone_domain::Bbl;

use crate::{
    buildings::{Address, addresses, buildings},
    seed::{self, Seed},
    street::HouseNumber,
};

const NEW_LINE: &str = "\r\n";
/// Every street has one local group here, and each spelling its number in it.
const GROUP: &str = "01";

/// The files by name: `bobaadr.txt`, `bobabbl.txt`, `snd26ccow.txt`.
///
/// ```
/// let files = brownstone_sample_city::pad_files();
/// let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
/// assert_eq!(names, ["bobaadr.txt", "bobabbl.txt", "snd26ccow.txt"]);
/// ```
pub fn pad_files() -> Vec<(&'static str, String)> {
    vec![
        ("bobaadr.txt", address_file()),
        ("bobabbl.txt", lot_file()),
        ("snd26ccow.txt", street_file()),
    ]
}

/// One line of quoted fields, each padded to its width.
fn line(fields: &[(&str, usize)]) -> String {
    let quoted: Vec<String> = (fields.iter())
        .map(|(text, width)| format!("\"{text:<width$}\""))
        .collect();
    quoted.join(",") + NEW_LINE
}

fn header(names: &[&str]) -> String {
    let fields: Vec<(&str, usize)> = names.iter().map(|name| (*name, 0)).collect();
    line(&fields)
}

fn address_file() -> String {
    let mut file = header(&[
        "boro",
        "block",
        "lot",
        "bin",
        "lhnd",
        "lhns",
        "lcontpar",
        "lsos",
        "hhnd",
        "hhns",
        "hcontpar",
        "hsos",
        "scboro",
        "sc5",
        "sclgc",
        "stname",
        "addrtype",
        "realb7sc",
        "validlgcs",
        "dapsflag",
        "naubflag",
        "parity",
        "b10sc",
        "segid",
        "zipcode",
        "physical_id",
    ]);
    for address in addresses() {
        file.push_str(&address_line(address));
    }
    file
}

fn address_line(address: &Address) -> String {
    let bbl = lot_in_directory(address.bbl);
    let (boro, block, lot) = parts(bbl);
    let key = |number: &str| HouseNumber::parse(number).map(|number| number.sort_key());
    let (low, high) = (key(&address.low), key(&address.high));
    let parity = match HouseNumber::parse(&address.low) {
        // A frontage without an entrance has no parity, a place none to have.
        None if matches!(address.kind.as_str(), "W" | "B") => "",
        None => "0",
        Some(number) if number.last() % 2 == 1 => "1",
        Some(_) => "2",
    };
    let side = if parity == "1" { "L" } else { "R" };
    let (street_boro, street_code) = address.street_code.split_at(1);
    let spelling = format!("{}{GROUP}010", address.street_code);
    let real = match address.real_street_code.as_str() {
        "" => String::new(),
        code => format!("{code}{GROUP}"),
    };
    let valid_groups = if parity.is_empty() { "" } else { GROUP };
    let no_building = matches!(address.kind.as_str(), "W" | "B");
    let mut ids = Seed::new(&[
        b"segment",
        address.street_code.as_bytes(),
        address.low.as_bytes(),
    ]);
    let segment = format!("{:07}", 20_000 + ids.below(280_000));
    let physical = format!("{:07}", 1_000 + ids.below(190_000));
    line(&[
        (&boro, 1),
        (&block, 5),
        (&lot, 4),
        (&address.bin, 7),
        (&address.low, 12),
        (low.as_deref().unwrap_or(""), 11),
        ("", 1),
        (side, 1),
        (&address.high, 12),
        (high.as_deref().unwrap_or(""), 11),
        ("", 1),
        (side, 1),
        (street_boro, 1),
        (street_code, 5),
        (GROUP, 2),
        (&address.street, 32),
        (&address.kind, 1),
        (&real, 8),
        (valid_groups, 8),
        ("", 1),
        (if no_building { &address.kind } else { "" }, 1),
        (parity, 1),
        (&spelling, 11),
        (&segment, 7),
        (&address.zip, 5),
        (&physical, 7),
    ])
}

/// The lot under which an address stands. Both ways are met for a condominium: most stand under their billing lot, some
/// under their first unit's, from which the lot file leads on.
fn lot_in_directory(bbl: Bbl) -> Bbl {
    let by_unit = bbl.block() % 2 == 1;
    let building = buildings().iter().find(|building| building.bbl == bbl);
    let first = building
        .and_then(|building| building.condominium.as_ref()?.units.first())
        .map(|unit| unit.bbl);
    match first {
        Some(first) if by_unit => first,
        _ => bbl,
    }
}

fn parts(bbl: Bbl) -> (String, String, String) {
    (
        bbl.borough().digit().to_string(),
        format!("{:05}", bbl.block()),
        format!("{:04}", bbl.lot()),
    )
}

fn lot_file() -> String {
    let mut file = header(&[
        "loboro",
        "loblock",
        "lolot",
        "lobblscc",
        "hiboro",
        "hiblock",
        "hilot",
        "hibblscc",
        "boro",
        "block",
        "lot",
        "bblscc",
        "billboro",
        "billblock",
        "billlot",
        "billbblscc",
        "condoflag",
        "condonum",
        "coopnum",
        "numbf",
        "numaddr",
        "vacant",
        "interior",
    ]);
    // In the order of the lots, each once.
    let lots: BTreeMap<Bbl, _> = (buildings().iter())
        .map(|building| (building.bbl, building.condominium.as_ref()))
        .collect();
    for (bbl, condominium) in lots {
        let Some(condominium) = condominium else {
            file.push_str(&lot_line(bbl, bbl, bbl, None, 0));
            continue;
        };
        let number = condominium.number;
        if let (Some(first), Some(last)) = (condominium.units.first(), condominium.units.last()) {
            file.push_str(&lot_line(first.bbl, last.bbl, first.bbl, Some(bbl), number));
        }
        file.push_str(&lot_line(bbl, bbl, bbl, Some(bbl), number));
    }
    file
}

fn lot_line(low: Bbl, high: Bbl, key: Bbl, billing: Option<Bbl>, condominium: u32) -> String {
    let with_check = |bbl: Bbl| {
        let (boro, block, lot) = parts(bbl);
        [boro, block, lot, check(bbl)]
    };
    let (low, high, key_parts) = (with_check(low), with_check(high), with_check(key));
    let billing = billing.map(with_check).unwrap_or_default();
    let of_lot = addresses()
        .iter()
        .filter(|address| lot_in_directory(address.bbl) == key)
        .count();
    let frontages = format!("{:02}", of_lot.min(99));
    let count = format!("{of_lot:04}");
    let (flag, number) = match billing.first().map(String::as_str) {
        Some("") | None => ("", String::new()),
        Some(_) => ("C", format!("{condominium:04}")),
    };
    let mut fields: Vec<(&str, usize)> = Vec::with_capacity(23);
    for parts in [&low, &high, &key_parts, &billing] {
        for (part, width) in parts.iter().zip([1, 5, 4, 1]) {
            fields.push((part, width));
        }
    }
    fields.extend([
        (flag, 1),
        (number.as_str(), 4),
        ("", 4),
        (frontages.as_str(), 2),
        (count.as_str(), 4),
        ("", 1),
        ("", 1),
    ]);
    line(&fields)
}

/// The self-check character after each lot, which is no part of it.
fn check(bbl: Bbl) -> String {
    let digit = seed::hash(&[b"check", bbl.to_string().as_bytes()]) % 10;
    digit.to_string()
}

/// Spellings that are no street's first: the file holds what people write, misspellings too.
const VARIANTS: [(&str, &str); 12] = [
    ("SAINT ", "ST "),
    ("SAINT ", "ST. "),
    ("MC DONALD", "MCDONALD"),
    ("MC BRIDE", "MCBRIDE"),
    ("MAC DONOUGH", "MACDONOUGH"),
    ("MT HOPE", "MOUNT HOPE"),
    ("ELLIOTT", "ELLIOT"),
    ("5 AVENUE", "FIFTH AVENUE"),
    ("3 AVENUE", "THIRD AVENUE"),
    ("2 AVENUE", "SECOND AVENUE"),
    ("7 AVENUE", "SEVENTH AVENUE"),
    ("9 AVENUE", "NINTH AVENUE"),
];

fn street_file() -> String {
    let mut file = format!("{:<200}{NEW_LINE}", "0PUBLIC STREET NAME DICTIONARY 26C");
    let streets: BTreeMap<(&str, &str), &Address> = (addresses().iter())
        .map(|address| {
            (
                (address.street_code.as_str(), address.street.as_str()),
                address,
            )
        })
        .collect();
    for ((code, name), address) in streets {
        let feature = if address.kind == "N" {
            'N'
        } else if address.low.contains('-') {
            'M'
        } else {
            ' '
        };
        file.push_str(&street_line(code, name, 'P', feature, 10));
        let variants = VARIANTS.iter().filter_map(|(first, other)| {
            // A whole word at the start, or the whole name: 25 AVENUE is no FIFTH AVENUE.
            let whole = name == *first || (name.starts_with(first) && !first.ends_with("AVENUE"));
            let inside = name.contains(first) && *first == "ELLIOTT";
            (whole || inside).then(|| name.replacen(first, other, 1))
        });
        for (at, variant) in variants.enumerate() {
            file.push_str(&street_line(code, &variant, 'V', feature, (at + 2) * 10));
        }
    }
    file
}

fn street_line(code: &str, name: &str, primary: char, feature: char, spelling: usize) -> String {
    let boro = code.get(..1).unwrap_or("0");
    // The sort format sets a number to the right of four places.
    let sorted: Vec<String> = (name.split(' '))
        .map(|word| match word.parse::<u32>() {
            Ok(number) => format!("{number:>4}"),
            Err(_) => word.to_owned(),
        })
        .collect();
    let sorted = sorted.join(" ");
    let numbered = if name.bytes().any(|byte| byte.is_ascii_digit()) {
        'N'
    } else {
        ' '
    };
    let record = format!(
        "1{boro}{sorted:<32.32}{primary}F{code}{GROUP}{spelling:03}  {numbered}{feature}{length:02}{name:<32.32}",
        length = name.len(),
    );
    format!("{record:<200}{NEW_LINE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        (pad_files().into_iter())
            .find(|(known, _)| *known == name)
            .map(|(_, text)| text)
            .expect("the file")
    }

    fn rows(name: &str) -> Vec<Vec<String>> {
        (csv::Reader::from_reader(file(name).as_bytes()).into_records())
            .map(|row| row.expect("reads").iter().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn every_address_line_has_the_publisher_s_widths() {
        const WIDTHS: [usize; 26] = [
            1, 5, 4, 7, 12, 11, 1, 1, 12, 11, 1, 1, 1, 5, 2, 32, 1, 8, 8, 1, 1, 1, 11, 7, 5, 7,
        ];
        let text = file("bobaadr.txt");
        assert!(text.lines().count() > 200);
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        for row in rows("bobaadr.txt") {
            let widths: Vec<usize> = row.iter().map(String::len).collect();
            assert_eq!(widths, WIDTHS, "{row:?}");
        }
        let width: usize = WIDTHS.iter().sum::<usize>() + 26 * 2 + 25;
        assert!(text.lines().skip(1).all(|line| line.len() == width));
    }

    #[test]
    fn aliases_ranges_and_what_is_no_building_are_there() {
        let rows = rows("bobaadr.txt");
        let find = |bin: &str, low: &str, street: &str| {
            (rows.iter())
                .find(|row| row[3] == bin && row[4].trim() == low && row[15].trim() == street)
                .unwrap_or_else(|| panic!("{bin} {low} {street}"))
        };
        let range = find("1057127", "327", "WEST 100 STREET");
        assert_eq!((range[8].trim(), range[21].as_str()), ("337", "1"));
        assert_eq!(range[5], "000327000AA");
        find("1057127", "280", "RIVERSIDE DRIVE");
        find("3340270", "3622", "13 AVENUE");
        assert_eq!(
            find("3123204", "1279 GARAGE", "37 STREET")[5],
            "001279000BH"
        );
        assert_eq!(find("4001899", "43-06", "46 STREET")[5], "100043006AA");
        assert_eq!(find("1000000", "336", "5 AVENUE")[16], "Q");
        assert_eq!(find("1000000", "1570", "BROADWAY")[16], " ");
        let vanity = find("1045277", "2", "SUTTON PLACE NORTH");
        assert_eq!(vanity[16], "V");
        assert_eq!(find("1045277", "1113", "YORK AVENUE")[16], "R");
        assert_eq!(
            vanity[17].trim(),
            find("1045277", "1113", "YORK AVENUE")[22]
                .get(..8)
                .expect("a code")
        );
        let wall = find("1015862", "", "WEST 34 STREET");
        assert_eq!(
            (wall[16].as_str(), wall[21].as_str(), wall[24].trim()),
            ("W", " ", "")
        );
        assert_eq!(find("1015862", "", "EMPIRE STATE BUILDING")[16], "N");
    }

    #[test]
    fn a_condominium_s_unit_lots_lead_to_its_billing_lot() {
        let rows = rows("bobabbl.txt");
        let broadway = (rows.iter())
            .find(|row| row[1] == "00047" && row[2] == "1001")
            .expect("the range");
        assert_eq!(
            (broadway[6].as_str(), broadway[14].as_str()),
            ("1008", "7501")
        );
        assert_eq!(broadway[16], "C");
        for row in &rows {
            let widths: Vec<usize> = row.iter().map(String::len).collect();
            let four = [1, 5, 4, 1];
            assert_eq!(
                widths.get(..16),
                Some([four, four, four, four].concat().as_slice())
            );
            assert_eq!(row.len(), 23);
        }
        // Some addresses stand under a unit's lot.
        let under_units = self::rows("bobaadr.txt")
            .iter()
            .filter(|row| row[2].starts_with('1'))
            .count();
        assert!(under_units > 3);
    }

    #[test]
    fn the_street_dictionary_has_records_of_two_hundred_bytes() {
        let text = file("snd26ccow.txt");
        assert!(
            text.split_terminator("\r\n")
                .all(|record| record.len() == 200)
        );
        let fifth = (text.lines())
            .find(|record| {
                record
                    .get(53..85)
                    .is_some_and(|name| name.trim() == "5 AVENUE")
                    && record.starts_with("11")
            })
            .expect("5 AVENUE");
        assert_eq!(fifth.get(2..34).map(str::trim_end), Some("   5 AVENUE"));
        assert_eq!(fifth.get(34..36), Some("PF"));
        assert_eq!(fifth.get(36..47), Some("11041001010"));
        assert!(text.contains("FIFTH AVENUE"));
    }
}
