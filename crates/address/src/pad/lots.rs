//! `bobabbl.txt`: the city's lots, and which billing lot stands for a condominium's units.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use super::{
    PadError, PadStats,
    files::{self, Column, Line},
};

pub(super) const FILE: &str = "bobabbl.txt";

/// Lots by their ten digits as a number.
#[derive(Debug, Default)]
pub(super) struct Lots {
    /// Every lot that has a row of its own.
    pub(super) lots: BTreeSet<u64>,
    /// Unit lots from low to high, and the billing lot they belong to.
    pub(super) units: BTreeSet<(u64, u64, u64)>,
    /// The lot a condominium stands on to its billing lots: mostly one, sometimes two.
    pub(super) bases: BTreeMap<u64, BTreeSet<u64>>,
}

struct Columns {
    low: [Column; 3],
    high: [Column; 3],
    key: [Column; 3],
    billing: [Column; 3],
}

pub(super) fn read(input: impl Read, stats: &mut PadStats) -> Result<Lots, PadError> {
    let mut out = Lots::default();
    files::read(
        FILE,
        input,
        stats,
        |header| {
            Ok(Columns {
                low: [
                    header.column("loboro")?,
                    header.column("loblock")?,
                    header.column("lolot")?,
                ],
                high: [
                    header.column("hiboro")?,
                    header.column("hiblock")?,
                    header.column("hilot")?,
                ],
                key: [
                    header.column("boro")?,
                    header.column("block")?,
                    header.column("lot")?,
                ],
                billing: [
                    header.column("billboro")?,
                    header.column("billblock")?,
                    header.column("billlot")?,
                ],
            })
        },
        |columns, line| {
            let part = |c: [Column; 3]| bbl(line, c[0], c[1], c[2]);
            let low = part(columns.low)
                .filter(|bbl| *bbl != 0)
                .ok_or("the low lot is none")?;
            let high = part(columns.high)
                .filter(|bbl| *bbl != 0)
                .ok_or("the high lot is none")?;
            let key = part(columns.key).ok_or("the lot is none")?;
            let billing = part(columns.billing).unwrap_or(0);
            if high < low {
                return Err("the lots run backwards");
            }
            out.add(low, high, key, billing);
            Ok(())
        },
    )?;
    Ok(out)
}

impl Lots {
    fn add(&mut self, low: u64, high: u64, key: u64, billing: u64) {
        let units = is_unit(low) && is_unit(high);
        if units {
            if billing != 0 {
                self.units.insert((low, high, billing));
            }
        } else {
            self.lots.insert(low);
        }
        if billing != 0 {
            self.lots.insert(billing);
        }
        if key != 0 && !is_unit(key) {
            self.lots.insert(key);
            if billing != 0 && billing != key {
                self.bases.entry(key).or_default().insert(billing);
            }
        }
    }

    /// The lot that a row's lot counts under: the billing lot of a unit's, else itself.
    pub(super) fn billing(&self, bbl: u64) -> u64 {
        if !is_unit(bbl) {
            return bbl;
        }
        self.units
            .range(..=(bbl, u64::MAX, u64::MAX))
            .next_back()
            .filter(|(_, high, _)| *high >= bbl)
            .map_or(bbl, |(_, _, billing)| *billing)
    }
}

/// Whether the lot is a condominium unit's: 1001 to 6999.
const fn is_unit(bbl: u64) -> bool {
    let lot = bbl % 10_000;
    lot >= 1001 && lot <= 6999
}

/// A lot from its three columns, as the number of its ten digits; 0 where all are blank or zero.
pub(super) fn bbl(line: &Line<'_>, boro: Column, block: Column, lot: Column) -> Option<u64> {
    let (boro, block, lot) = (line.number(boro)?, line.number(block)?, line.number(lot)?);
    if boro == 0 && block == 0 && lot == 0 {
        return Some(0);
    }
    let valid =
        (1..=5).contains(&boro) && (1..=99_999).contains(&block) && (1..=9_999).contains(&lot);
    valid.then_some(u64::from(boro) * 1_000_000_000 + u64::from(block) * 10_000 + u64::from(lot))
}
