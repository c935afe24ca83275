//! The index file: sections of fixed-size records, read in place.
//!
//! Numbers are little-endian and read byte by byte, so that a mapped file needs no alignment, and every read is
//! bounds-checked: a damaged file gives no answers rather than a panic.

use brownstone_domain::{Bbl, Borough};

use super::IndexError;
use crate::{BuildingClass, BuildingKey, Flags, Lot, Place, Sale, SaleId, TaxClass, TextRef};

/// The first bytes of the file.
const MAGIC: &[u8; 8] = b"BRNSSAL\x02";

/// The sections, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// What a search looks at, in the order of the cells.
    Hot,
    /// All else of the sales, in the same order.
    Cold,
    /// First sale of each cell of the grid.
    Cells,
    /// Buildings, blocks, neighbourhoods, ZIP codes: key, first posting, count.
    Buildings,
    Blocks,
    Neighborhoods,
    Zips,
    /// Places of sales.
    Postings,
    /// Texts of the sales.
    Text,
    /// Names of neighbourhoods, a line each.
    Names,
    /// Lots by number.
    Lots,
    /// Counts: see `Stats`.
    Stats,
}

pub(super) const SECTIONS: usize = 12;

/// Magic, total length, checksum of the body, place and length of each section, checksum of what is before it.
const HEADER: usize = 8 + 8 + 4 + SECTIONS * 16 + 4;

/// Where each section is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    ranges: [(usize, usize); SECTIONS],
    pub(super) total: usize,
    pub(super) body_sum: u32,
}

impl Layout {
    /// Of no bytes: every section is empty.
    pub(super) const fn empty() -> Self {
        Self {
            ranges: [(0, 0); SECTIONS],
            total: 0,
            body_sum: 0,
        }
    }

    pub(super) fn write(sections: &[Vec<u8>; SECTIONS]) -> Vec<u8> {
        let total = HEADER + sections.iter().map(Vec::len).sum::<usize>();
        let mut file = Vec::with_capacity(total);
        let mut sum = crc32fast::Hasher::new();
        for section in sections {
            sum.update(section);
        }
        file.extend_from_slice(MAGIC);
        put(&mut file, total as u64, 8);
        put(&mut file, u64::from(sum.finalize()), 4);
        let mut at = HEADER;
        for section in sections {
            put(&mut file, at as u64, 8);
            put(&mut file, section.len() as u64, 8);
            at += section.len();
        }
        let header_sum = crc32fast::hash(&file);
        put(&mut file, u64::from(header_sum), 4);
        for section in sections {
            file.extend_from_slice(section);
        }
        file
    }

    /// Reads the header, and checks it against itself and the file's length.
    pub(super) fn read(file: &[u8]) -> Result<Self, IndexError> {
        let damaged = IndexError::Damaged;
        let header = file.get(..HEADER).ok_or(damaged("it is too short"))?;
        if header.get(..8) != Some(MAGIC.as_slice()) {
            return Err(damaged("it is no sales index of this version"));
        }
        let (head, sum) = header
            .split_at_checked(HEADER - 4)
            .ok_or(damaged("its header is cut"))?;
        if u32_at(sum, 0) != crc32fast::hash(head) {
            return Err(damaged("its header is changed"));
        }
        let length = |at: usize| usize::try_from(u64_at(head, at)).ok();
        if length(8) != Some(file.len()) {
            return Err(damaged("it is cut or grown"));
        }
        let mut ranges = [(0, 0); SECTIONS];
        for (at, range) in ranges.iter_mut().enumerate() {
            let start = length(20 + at * 16);
            let end = start
                .zip(length(28 + at * 16))
                .and_then(|(a, b)| a.checked_add(b));
            *range = match (start, end) {
                (Some(start), Some(end)) if end <= file.len() => (start, end),
                _ => return Err(damaged("a section is outside it")),
            };
        }
        Ok(Self {
            ranges,
            total: file.len(),
            body_sum: u32_at(head, 16),
        })
    }

    /// Checks every byte. Opening does not: it would read the whole file.
    pub(super) fn verify(&self, file: &[u8]) -> Result<(), IndexError> {
        let body = file.get(HEADER..).unwrap_or_default();
        if crc32fast::hash(body) == self.body_sum {
            Ok(())
        } else {
            Err(IndexError::Damaged("its contents are changed"))
        }
    }

    pub(super) fn section<'a>(&self, file: &'a [u8], section: Section) -> &'a [u8] {
        let (start, end) = self
            .ranges
            .get(section as usize)
            .copied()
            .unwrap_or_default();
        file.get(start..end).unwrap_or_default()
    }
}

/// A number of `N` bytes; 0 outside the slice.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..at + N)
        .and_then(|slice| slice.try_into().ok())
        .unwrap_or([0; N])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes_at(bytes, at))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, at))
}

/// Writes the low `width` bytes of a number.
pub(super) fn put(out: &mut Vec<u8>, value: u64, width: usize) {
    out.extend(value.to_le_bytes().iter().take(width));
}

/// Of a place that is not known.
const NOWHERE: i32 = i32::MIN;

fn put_place(out: &mut Vec<u8>, place: Option<Place>) {
    let (north, east) = place.map_or((NOWHERE, NOWHERE), |place| (place.north, place.east));
    out.extend_from_slice(&north.to_le_bytes());
    out.extend_from_slice(&east.to_le_bytes());
}

fn place_at(bytes: &[u8], at: usize) -> Option<Place> {
    let (north, east) = (i32_at(bytes, at), i32_at(bytes, at + 4));
    (north != NOWHERE).then_some(Place { north, east })
}

/// What a search looks at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hot {
    pub(crate) place: Option<Place>,
    pub(crate) date: i32,
    /// Whole dollars, at most 4.29 billion; the cold record has the rest.
    pub(crate) price: u32,
    pub(crate) kind: u8,
    pub(crate) flags: Flags,
    pub(crate) borough: u8,
    pub(crate) has_size: bool,
}

impl Hot {
    pub(super) const BYTES: usize = 20;

    pub(super) fn write(sale: &Sale, out: &mut Vec<u8>) {
        put_place(out, sale.place);
        out.extend_from_slice(&sale.date.to_le_bytes());
        let price = u32::try_from(sale.price).unwrap_or(u32::MAX);
        out.extend_from_slice(&price.to_le_bytes());
        out.push(sale.kind() as u8);
        out.push(sale.flags.0);
        out.push(sale.bbl.borough().digit());
        out.push(u8::from(sale.unit_safe_sqft().is_some()));
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        Self {
            place: place_at(bytes, 0),
            date: i32_at(bytes, 8),
            price: u32_at(bytes, 12),
            kind: byte(16),
            flags: Flags(byte(17)),
            borough: byte(18),
            has_size: byte(19) != 0,
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: TextRef) {
    out.extend_from_slice(&text.start.to_le_bytes());
    out.extend_from_slice(&text.len.to_le_bytes());
}

fn text_at(bytes: &[u8], at: usize) -> TextRef {
    TextRef {
        start: u32_at(bytes, at),
        len: u16_at(bytes, at + 4),
    }
}

/// A size of 0 is not known, and a number of units not known is the largest number.
fn some(value: u32) -> Option<u32> {
    (value != u32::MAX).then_some(value)
}

pub(super) const COLD: usize = 8 + 8 + 8 + 8 + 8 + 8 + 24 + 2 + 2 + 4 * 6;

/// The parts of a sale that are not in its [`Hot`] record.
pub(super) fn write_cold(sale: &Sale, out: &mut Vec<u8>) {
    put(out, sale.id.0, 8);
    put(out, crate::lot_number(sale.bbl), 8);
    put(out, crate::lot_number(sale.building_bbl), 8);
    put(out, sale.building.0, 8);
    put(out, sale.price, 8);
    out.extend_from_slice(&sale.class_at_sale.bytes());
    out.extend_from_slice(&sale.class_now.bytes());
    out.extend_from_slice(&sale.tax_class_at_sale.bytes());
    out.extend_from_slice(&sale.tax_class_now.bytes());
    for text in [sale.address, sale.house_number, sale.street, sale.unit] {
        put_text(out, text);
    }
    put(out, u64::from(sale.neighborhood), 2);
    put(out, u64::from(sale.year_built.unwrap_or(0)), 2);
    put(out, u64::from(sale.zip.unwrap_or(u32::MAX)), 4);
    put(
        out,
        u64::from(sale.residential_units.unwrap_or(u32::MAX)),
        4,
    );
    for value in [
        sale.commercial_units,
        sale.total_units,
        sale.land_sqft,
        sale.gross_sqft,
    ] {
        put(out, u64::from(value.unwrap_or(u32::MAX)), 4);
    }
}

/// The sale of both its records; `None` when they are damaged.
pub(super) fn read_sale(hot: &[u8], cold: &[u8]) -> Option<Sale> {
    let here = Hot::read(hot);
    let class = |at: usize| cold.get(at..at + 2).unwrap_or_default();
    Some(Sale {
        id: SaleId(u64_at(cold, 0)),
        bbl: lot_of(u64_at(cold, 8))?,
        building_bbl: lot_of(u64_at(cold, 16))?,
        building: BuildingKey(u64_at(cold, 24)),
        date: here.date,
        price: u64_at(cold, 32),
        class_at_sale: BuildingClass::read(class(40)),
        class_now: BuildingClass::read(class(42)),
        tax_class_at_sale: TaxClass::read(class(44)),
        tax_class_now: TaxClass::read(class(46)),
        address: text_at(cold, 48),
        house_number: text_at(cold, 54),
        street: text_at(cold, 60),
        unit: text_at(cold, 66),
        neighborhood: u16_at(cold, 72),
        year_built: Some(u16_at(cold, 74)).filter(|year| *year != 0),
        place: here.place,
        zip: some(u32_at(cold, 76)),
        residential_units: some(u32_at(cold, 80)),
        commercial_units: some(u32_at(cold, 84)),
        total_units: some(u32_at(cold, 88)),
        land_sqft: some(u32_at(cold, 92)),
        gross_sqft: some(u32_at(cold, 96)),
        flags: here.flags,
    })
}

/// The lot of a number; `None` when it is none.
pub(crate) fn lot_of(number: u64) -> Option<Bbl> {
    let borough = Borough::from_digit(u8::try_from(number / 1_000_000_000).ok()?)?;
    let block = u32::try_from(number / 10_000 % 100_000).ok()?;
    let lot = u16::try_from(number % 10_000).ok()?;
    Bbl::new(borough, block, lot).ok()
}

/// A lot and its folded address.
pub(super) const LOT: usize = 56;

pub(super) fn write_lot(lot: &Lot, street: u64, out: &mut Vec<u8>) {
    put(out, crate::lot_number(lot.bbl), 8);
    put_place(out, lot.place);
    out.extend_from_slice(&lot.class.bytes());
    put(out, u64::from(lot.year_built.unwrap_or(0)), 2);
    for value in [
        lot.zip,
        lot.building_sqft,
        lot.residential_sqft,
        lot.lot_sqft,
        lot.residential_units,
        lot.total_units,
        lot.floors_hundredths,
    ] {
        put(out, u64::from(value.unwrap_or(u32::MAX)), 4);
    }
    put(out, street, 8);
}

pub(super) fn read_lot(bytes: &[u8]) -> Option<Lot> {
    Some(Lot {
        bbl: lot_of(u64_at(bytes, 0))?,
        place: place_at(bytes, 8),
        class: BuildingClass::read(bytes.get(16..18)?),
        year_built: Some(u16_at(bytes, 18)).filter(|year| *year != 0),
        zip: some(u32_at(bytes, 20)),
        building_sqft: some(u32_at(bytes, 24)),
        residential_sqft: some(u32_at(bytes, 28)),
        lot_sqft: some(u32_at(bytes, 32)),
        residential_units: some(u32_at(bytes, 36)),
        total_units: some(u32_at(bytes, 40)),
        floors_hundredths: some(u32_at(bytes, 44)),
    })
}
