//! `bobaadr.txt`: one row for each range of numbers on a street of a building.

use std::{collections::HashMap, io::Read};

use super::{
    PadError, PadStats,
    files::{self, Column, Line},
};
use crate::house::HouseKey;

pub(super) const FILE: &str = "bobaadr.txt";

/// What an address row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum AddressKind {
    /// A range of numbers.
    Real = 0,
    /// The real street of a building that also has a vanity address.
    RealOfVanity = 1,
    /// A street on which the entrance is not.
    Vanity = 2,
    /// A number made up for a frontage: no building.
    Pseudo = 3,
    /// A place by name alone.
    Place = 4,
    /// A complex by name: many buildings.
    Complex = 5,
    /// A part of a complex by name.
    ComplexPart = 6,
    /// No address to look for: a vacant frontage, a blank wall, a building without an address. Counts as a building
    /// of its lot, and is found by its BIN.
    None = 7,
}

impl AddressKind {
    fn from_code(code: &str) -> Option<Self> {
        Some(match code {
            "" => Self::Real,
            "R" => Self::RealOfVanity,
            "V" => Self::Vanity,
            "Q" => Self::Pseudo,
            "N" => Self::Place,
            "G" => Self::Complex,
            "X" => Self::ComplexPart,
            "F" | "B" | "W" => Self::None,
            _ => return None,
        })
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Real,
            1 => Self::RealOfVanity,
            2 => Self::Vanity,
            3 => Self::Pseudo,
            4 => Self::Place,
            5 => Self::Complex,
            6 => Self::ComplexPart,
            _ => Self::None,
        }
    }

    /// Whether the row has house numbers.
    pub(crate) const fn is_numbered(self) -> bool {
        matches!(
            self,
            Self::Real | Self::RealOfVanity | Self::Vanity | Self::Pseudo
        )
    }

    /// Whether the row is a name alone.
    pub(crate) const fn is_place(self) -> bool {
        matches!(self, Self::Place | Self::Complex | Self::ComplexPart)
    }
}

/// A street: the borough's digit and five digits (B5SC), as one number.
pub(super) type StreetCode = u32;

/// One row, its texts as numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressRow {
    pub(super) street: StreetCode,
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) bbl: u64,
    /// 0 for none.
    pub(super) bin: u32,
    pub(super) kind: AddressKind,
    /// The local group of the name on this row.
    pub(super) group: u8,
    /// The groups whose names are valid along this stretch.
    pub(super) valid: [u8; 4],
    /// 0 for none.
    pub(super) zip: u16,
    /// Whether the street is one of several of the same name.
    pub(super) duplicate: bool,
}

/// The rows, and each name that they give a street.
#[derive(Debug, Default)]
pub(super) struct AddressRows {
    pub(super) rows: Vec<AddressRow>,
    /// Street and local group to the names on rows.
    pub(super) names: HashMap<(StreetCode, u8), Vec<Box<str>>>,
}

struct Columns {
    boro: Column,
    block: Column,
    lot: Column,
    bin: Column,
    lhnd: Column,
    lhns: Column,
    hhnd: Column,
    hhns: Column,
    scboro: Column,
    sc5: Column,
    sclgc: Column,
    stname: Column,
    addrtype: Column,
    validlgcs: Column,
    dapsflag: Column,
    zipcode: Column,
}

pub(super) fn read(input: impl Read, stats: &mut PadStats) -> Result<AddressRows, PadError> {
    let mut out = AddressRows::default();
    files::read(
        FILE,
        input,
        stats,
        |header| {
            Ok(Columns {
                boro: header.column("boro")?,
                block: header.column("block")?,
                lot: header.column("lot")?,
                bin: header.column("bin")?,
                lhnd: header.column("lhnd")?,
                lhns: header.column("lhns")?,
                hhnd: header.column("hhnd")?,
                hhns: header.column("hhns")?,
                scboro: header.column("scboro")?,
                sc5: header.column("sc5")?,
                sclgc: header.column("sclgc")?,
                stname: header.column("stname")?,
                addrtype: header.column("addrtype")?,
                validlgcs: header.column("validlgcs")?,
                dapsflag: header.column("dapsflag")?,
                zipcode: header.column("zipcode")?,
            })
        },
        |columns, line| {
            let row = row(columns, line)?;
            let name = line.text(columns.stname);
            let names = out.names.entry((row.street, row.group)).or_default();
            if !name.is_empty() && !names.iter().any(|n| &**n == name) {
                names.push(name.into());
            }
            out.rows.push(row);
            Ok(())
        },
    )?;
    Ok(out)
}

fn row(columns: &Columns, line: &Line<'_>) -> Result<AddressRow, &'static str> {
    let bbl = super::lots::bbl(line, columns.boro, columns.block, columns.lot)
        .filter(|bbl| *bbl != 0)
        .ok_or("borough, block and lot are no tax lot")?;
    let borough = line.number(columns.scboro).unwrap_or(0);
    let code = line.number(columns.sc5).unwrap_or(0);
    if !(1..=5).contains(&borough) || code > 99_999 {
        return Err("no street code");
    }
    let kind = AddressKind::from_code(line.text(columns.addrtype))
        .ok_or("an address type that is not known")?;
    let (low, high) = if kind.is_numbered() {
        let low = key(line.text(columns.lhns), line.text(columns.lhnd))
            .ok_or("the low house number is none")?;
        let high = key(line.text(columns.hhns), line.text(columns.hhnd)).unwrap_or(low);
        if high.base() < low.base() || high.is_hyphenated() != low.is_hyphenated() {
            return Err("the house numbers run backwards");
        }
        (low.to_bits(), high.to_bits())
    } else {
        (0, 0)
    };
    Ok(AddressRow {
        street: borough * 100_000 + code,
        low,
        high,
        bbl,
        bin: bin(line.text(columns.bin)).ok_or("no building number")?,
        kind,
        group: group(line.text(columns.sclgc)),
        valid: groups(line.text(columns.validlgcs)),
        zip: line
            .number(columns.zipcode)
            .and_then(|zip| u16::try_from(zip).ok())
            .unwrap_or(0),
        duplicate: !line.text(columns.dapsflag).is_empty(),
    })
}

/// A building's number; 0 for a placeholder of six zeros and for none.
fn bin(text: &str) -> Option<u32> {
    if text.is_empty() {
        return Some(0);
    }
    if text.len() != 7 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bin: u32 = text.parse().ok()?;
    (1_000_000..6_000_000)
        .contains(&bin)
        .then_some(if bin.is_multiple_of(1_000_000) {
            0
        } else {
            bin
        })
}

/// The key of a number: its sort format, or where that is missing what is displayed.
fn key(sort: &str, shown: &str) -> Option<HouseKey> {
    HouseKey::from_sort_format(sort).or_else(|| HouseKey::from_shown(shown))
}

/// A local group code; 0 for none.
fn group(text: &str) -> u8 {
    text.parse().unwrap_or(0)
}

fn groups(text: &str) -> [u8; 4] {
    let mut out = [0; 4];
    // Two digits each; unpadded, a single digit is one group.
    if text.len() < 2 {
        out[0] = group(text);
        return out;
    }
    for (slot, at) in out.iter_mut().zip((0..).step_by(2)) {
        *slot = text.get(at..at + 2).map_or(0, |code| group(code.trim()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_exactly_six_zeros() {
        assert_eq!(bin("1000000"), Some(0));
        assert_eq!(bin("1000005"), Some(1_000_005));
        assert_eq!(bin(""), Some(0));
        assert_eq!(bin("300000"), None);
        assert_eq!(bin("7000001"), None);
    }

    #[test]
    fn group_codes_come_in_pairs() {
        assert_eq!(groups("0104"), [1, 4, 0, 0]);
        assert_eq!(groups("01020304"), [1, 2, 3, 4]);
        assert_eq!(groups(""), [0; 4]);
        assert_eq!(groups("1"), [1, 0, 0, 0]);
        assert_eq!(groups("é1"), [0; 4]);
    }

    #[test]
    fn a_number_without_a_sort_key_is_read_as_displayed() {
        assert_eq!(key("", "46-12A"), HouseKey::from_sort_format("100046012MB"));
        assert_eq!(
            key("", "100 REAR"),
            HouseKey::from_sort_format("000100000AC")
        );
        assert_eq!(key("", "ABC"), None);
    }
}
