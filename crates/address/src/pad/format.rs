//! The index file: sections of fixed-size records, read in place.
//!
//! All numbers are little-endian and read byte by byte, so that a mapped file needs no alignment. Every read is
//! bounds-checked: a damaged file gives no answers rather than a panic.

use super::{AddressKind, PadError};
use crate::house::HouseKey;

/// The first bytes of the file.
pub(super) const MAGIC: &[u8; 8] = b"BRNSPAD\x02";

/// The sections, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Streets by code.
    Streets,
    /// Display names by street and local group.
    StreetNames,
    /// The names' bytes.
    Text,
    /// Address rows by street and number.
    Rows,
    /// Buildings by lot and BIN.
    Buildings,
    /// Buildings by BIN.
    ByBin,
    /// Lots.
    Lots,
    /// Unit lots to billing lots.
    Units,
    /// Base lots to billing lots.
    Bases,
    /// What a name leads to.
    Postings,
    /// Folded names to postings: a finite-state map.
    Names,
}

/// How many sections there are.
pub(super) const SECTIONS: usize = 11;

/// Bytes of the header: magic, total length, checksum of the body, a place and a length for each section, checksum
/// of what is before it.
pub(super) const HEADER: usize = 8 + 8 + 4 + SECTIONS * 16 + 4;

/// Where each section is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ranges: [(usize, usize); SECTIONS],
    pub(super) total: usize,
    pub(super) body_sum: u32,
}

impl Layout {
    /// Puts a file together.
    pub(super) fn write(sections: &[Vec<u8>; SECTIONS]) -> Vec<u8> {
        let total = HEADER + sections.iter().map(Vec::len).sum::<usize>();
        let mut file = Vec::with_capacity(total);
        let mut sum = crc32fast::Hasher::new();
        for section in sections {
            sum.update(section);
        }
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&(total as u64).to_le_bytes());
        file.extend_from_slice(&sum.finalize().to_le_bytes());
        let mut at = HEADER;
        for section in sections {
            file.extend_from_slice(&(at as u64).to_le_bytes());
            file.extend_from_slice(&(section.len() as u64).to_le_bytes());
            at += section.len();
        }
        let header_sum = crc32fast::hash(&file);
        file.extend_from_slice(&header_sum.to_le_bytes());
        for section in sections {
            file.extend_from_slice(section);
        }
        file
    }

    /// Reads the header of a file, and checks it against itself and the file's length.
    pub(super) fn read(file: &[u8]) -> Result<Self, PadError> {
        let header = file
            .get(..HEADER)
            .ok_or(PadError::Damaged("it is too short"))?;
        if header.get(..8) != Some(MAGIC.as_slice()) {
            return Err(PadError::Damaged("it is no index of this version"));
        }
        let (head, sum) = header
            .split_at_checked(HEADER - 4)
            .ok_or(PadError::Damaged("its header is cut"))?;
        if u32_at(sum, 0) != crc32fast::hash(head) {
            return Err(PadError::Damaged("its header is changed"));
        }
        let total = usize_at(head, 8).ok_or(PadError::Damaged("its length is too large"))?;
        if total != file.len() {
            return Err(PadError::Damaged("it is cut or grown"));
        }
        let mut ranges = [(0, 0); SECTIONS];
        for (at, range) in ranges.iter_mut().enumerate() {
            let start = usize_at(head, 20 + at * 16);
            let length = usize_at(head, 28 + at * 16);
            *range = match (start, length) {
                (Some(start), Some(length))
                    if start.checked_add(length).is_some_and(|end| end <= total) =>
                {
                    (start, start + length)
                }
                _ => return Err(PadError::Damaged("a section is outside it")),
            };
        }
        Ok(Self {
            ranges,
            total,
            body_sum: u32_at(head, 16),
        })
    }

    /// Checks every byte. Opening does not: it would read the whole file.
    pub(super) fn verify(&self, file: &[u8]) -> Result<(), PadError> {
        let body = file
            .get(HEADER..)
            .ok_or(PadError::Damaged("it is too short"))?;
        if crc32fast::hash(body) == self.body_sum {
            Ok(())
        } else {
            Err(PadError::Damaged("its contents are changed"))
        }
    }
}

fn usize_at(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 8)?;
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// A number of up to eight bytes; 0 outside the slice.
pub(super) fn uint_at(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut out = [0; 8];
    if let (Some(from), Some(to)) = (bytes.get(at..at + width), out.get_mut(..width)) {
        to.copy_from_slice(from);
    }
    u64::from_le_bytes(out)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    // The cast is exact: four bytes were read.
    uint_at(bytes, at, 4) as u32
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    // The cast is exact: two bytes were read.
    uint_at(bytes, at, 2) as u16
}

pub(super) fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Writes the low `width` bytes of a number.
pub(super) fn put(out: &mut Vec<u8>, value: u64, width: usize) {
    out.extend(value.to_le_bytes().iter().take(width));
}

/// No row: a building without an address.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// An address row, as the index keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowRecord {
    /// Its building's place.
    pub(crate) building: u32,
    pub(crate) low: HouseKey,
    pub(crate) high: HouseKey,
    /// The highest number of this row and those before it on its street: where a search backwards can stop.
    pub(crate) reach: HouseKey,
    /// 0 for none.
    pub(crate) zip: u16,
    pub(crate) kind: AddressKind,
    pub(crate) group: u8,
    pub(crate) valid: [u8; 4],
}

impl RowRecord {
    pub(super) const BYTES: usize = 27;

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put(out, u64::from(self.building), 4);
        put(out, self.low.to_bits(), 5);
        put(out, self.high.to_bits(), 5);
        put(out, self.reach.to_bits(), 5);
        put(out, u64::from(self.zip), 2);
        out.push(self.kind as u8);
        out.push(self.group);
        out.extend_from_slice(&self.valid);
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        Self {
            building: u32_at(bytes, 0),
            low: HouseKey::from_bits(uint_at(bytes, 4, 5)),
            high: HouseKey::from_bits(uint_at(bytes, 9, 5)),
            reach: HouseKey::from_bits(uint_at(bytes, 14, 5)),
            zip: u16_at(bytes, 19),
            kind: AddressKind::from_bits(u8_at(bytes, 21)),
            group: u8_at(bytes, 22),
            valid: [
                u8_at(bytes, 23),
                u8_at(bytes, 24),
                u8_at(bytes, 25),
                u8_at(bytes, 26),
            ],
        }
    }

    /// Whether a name of this local group is valid along the row's stretch. Rows without a list take every name.
    pub(crate) fn takes(&self, group: u8) -> bool {
        group == self.group || self.valid == [0; 4] || (group != 0 && self.valid.contains(&group))
    }
}

/// A building on a lot; one with BIN 0 stands for the lot's addresses that have no building.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BuildingRecord {
    /// Ten digits as a number.
    pub(crate) bbl: u64,
    /// 0 for none.
    pub(crate) bin: u32,
    /// The row of the canonical address, or [`NO_ROW`].
    pub(crate) row: u32,
    /// The canonical address's street.
    pub(crate) street: u32,
    /// 0 for none.
    pub(crate) zip: u16,
}

impl BuildingRecord {
    pub(super) const BYTES: usize = 19;

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.bbl, 5);
        put(out, u64::from(self.bin), 4);
        put(out, u64::from(self.row), 4);
        put(out, u64::from(self.street), 4);
        put(out, u64::from(self.zip), 2);
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        Self {
            bbl: uint_at(bytes, 0, 5),
            bin: u32_at(bytes, 5),
            row: u32_at(bytes, 9),
            street: u32_at(bytes, 13),
            zip: u16_at(bytes, 17),
        }
    }
}

/// A street: its code, its rows and its display names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreetRecord {
    pub(super) code: u32,
    pub(super) first_row: u32,
    pub(super) rows: u32,
    pub(super) first_name: u32,
    pub(super) names: u16,
}

impl StreetRecord {
    pub(super) const BYTES: usize = 18;

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put(out, u64::from(self.code), 4);
        put(out, u64::from(self.first_row), 4);
        put(out, u64::from(self.rows), 4);
        put(out, u64::from(self.first_name), 4);
        put(out, u64::from(self.names), 2);
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        Self {
            code: u32_at(bytes, 0),
            first_row: u32_at(bytes, 4),
            rows: u32_at(bytes, 8),
            first_name: u32_at(bytes, 12),
            names: u16_at(bytes, 16),
        }
    }
}

/// A display name: local group, place and length of its text.
pub(super) const NAME_BYTES: usize = 6;

/// A posting: street, local group, flags.
pub(super) const POSTING_BYTES: usize = 6;
/// The name is the one that is displayed.
pub(super) const SHOWN: u8 = 1;
/// The street's code is another borough's: only its rows on this borough's side count.
pub(super) const ACROSS: u8 = 2;

/// A lot.
pub(super) const LOT_BYTES: usize = 5;
