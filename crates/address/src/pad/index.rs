//! The index, in memory or mapped from its file, and what it can be asked.

use std::{
    fs::File,
    io::{BufReader, Read, Write},
    path::Path,
    sync::Arc,
};

use brownstone_domain::{Bbl, Bin, Borough};
use fst::{Automaton, IntoStreamer, Streamer};

use super::{
    AddressKind, PadError, PadStats, build,
    format::{
        ACROSS, BuildingRecord, LOT_BYTES, Layout, NAME_BYTES, POSTING_BYTES, RowRecord, SHOWN,
        Section, StreetRecord, u8_at, u32_at, uint_at,
    },
    lots, rows, snd,
};
use crate::house::HouseKey;

/// The bytes of an index.
enum Storage {
    Memory(Vec<u8>),
    Mapped(memmap2::Mmap),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// A part of the bytes, for the map of names to read.
struct Part {
    storage: Arc<Storage>,
    start: usize,
    end: usize,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.storage
            .bytes()
            .get(self.start..self.end)
            .unwrap_or_default()
    }
}

#[cfg(test)]
thread_local! {
    static WORK: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((0, 0)) };
}

/// An address index of the whole city.
///
/// It is immutable, and cheap to share. Opening a file maps it and reads its header only.
pub struct PadIndex {
    storage: Arc<Storage>,
    layout: Layout,
    names: fst::Map<Part>,
}

impl std::fmt::Debug for PadIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PadIndex")
            .field("bytes", &self.layout.total)
            .field("names", &self.names.len())
            .finish_non_exhaustive()
    }
}

/// A street that a name leads to, and the local group of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) street: u32,
    pub(crate) group: u8,
    /// The name is the one that the street displays.
    pub(crate) shown: bool,
    /// The street's code is another borough's: only its rows on this borough's side count.
    pub(crate) across: bool,
}

impl PadIndex {
    /// Builds an index from the files of a release: addresses, lots and, where there is one, the street dictionary.
    /// Without it the names on the address rows are the only ones.
    ///
    /// # Errors
    /// When a file cannot be read, lacks a column, or has more than one bad line in a thousand; when there is no address to look for.
    pub fn read(
        addresses: impl Read,
        lots: impl Read,
        dictionary: Option<impl Read>,
    ) -> Result<(Self, PadStats), PadError> {
        let mut stats = PadStats::default();
        let addresses = rows::read(addresses, &mut stats)?;
        // Blank walls are kept for their buildings' sake; nobody asks for one.
        if (addresses.rows.iter()).all(|row| row.kind == AddressKind::None) {
            return Err(PadError::Layout {
                file: rows::FILE,
                why: "it has no address".to_owned(),
            });
        }
        let lots = lots::read(lots, &mut stats)?;
        let spellings = match dictionary {
            Some(dictionary) => snd::read(dictionary, &mut stats)?,
            None => Vec::new(),
        };
        let bytes = build::build(addresses, &lots, &spellings, &mut stats)?;
        Ok((Self::of(Storage::Memory(bytes))?, stats))
    }

    /// Builds an index from a folder that holds `bobaadr.txt`, `bobabbl.txt` and, where there is one, `snd*cow.txt`.
    ///
    /// # Errors
    /// As [`PadIndex::read`]; also when one of the first two is missing.
    pub fn open_dir(path: impl AsRef<Path>) -> Result<(Self, PadStats), PadError> {
        let mut addresses = None;
        let mut lots = None;
        let mut dictionary = None;
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            let slot = if name == rows::FILE {
                &mut addresses
            } else if name == lots::FILE {
                &mut lots
            } else if name.starts_with(snd::FILE) && name.ends_with(".txt") {
                &mut dictionary
            } else {
                continue;
            };
            *slot = Some(entry.path());
        }
        let open = |path: &Path| File::open(path).map(BufReader::new);
        let addresses = open(&addresses.ok_or(PadError::Missing(rows::FILE))?)?;
        let lots = open(&lots.ok_or(PadError::Missing(lots::FILE))?)?;
        let dictionary = dictionary.as_deref().map(open).transpose()?;
        Self::read(addresses, lots, dictionary)
    }

    /// Maps an index file that [`PadIndex::save`] wrote.
    ///
    /// The file must not be changed while it is open; `save` never changes one, it replaces it.
    ///
    /// # Errors
    /// When the file cannot be read or its header does not fit it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PadError> {
        let file = File::open(path)?;
        // SAFETY: the map is only read. Files are put in place whole by a rename and never written afterwards; should
        // someone truncate one by hand, the process may be stopped by the system, but no memory is misread.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Self::of(Storage::Mapped(map))
    }

    /// Writes the index to a file: beside it first, then in its place in one step, so that a reader sees the old file
    /// or the new one. An index that is open goes on with the bytes it has.
    ///
    /// # Errors
    /// When the file cannot be written; the old one is then untouched.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PadError> {
        let path = path.as_ref();
        let mut name = path
            .file_name()
            .ok_or(PadError::Damaged("its path names no file"))?
            .to_os_string();
        name.push(format!(".{}.new", std::process::id()));
        let beside = path.with_file_name(name);
        let written = (|| {
            let mut file = File::create(&beside)?;
            file.write_all(self.storage.bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, path)
        })();
        if written.is_err() {
            // The first error is the one that matters.
            let _ = std::fs::remove_file(&beside);
        }
        Ok(written?)
    }

    /// Checks every byte against the sum in the header. Reads the whole file.
    ///
    /// # Errors
    /// When a byte is changed.
    pub fn verify(&self) -> Result<(), PadError> {
        self.layout.verify(self.storage.bytes())?;
        self.names
            .as_fst()
            .verify()
            .map_err(|_| PadError::Damaged("its names are changed"))
    }

    fn of(storage: Storage) -> Result<Self, PadError> {
        let storage = Arc::new(storage);
        let layout = Layout::read(storage.bytes())?;
        let (start, end) = layout
            .ranges
            .get(Section::Names as usize)
            .copied()
            .unwrap_or_default();
        let names = fst::Map::new(Part {
            storage: Arc::clone(&storage),
            start,
            end,
        })
        .map_err(|_| PadError::Damaged("its names cannot be read"))?;
        Ok(Self {
            storage,
            layout,
            names,
        })
    }

    /// What tells this index from one of other contents: eight hexadecimal digits of its sum.
    pub fn version(&self) -> String {
        format!("{:08x}", self.layout.body_sum)
    }

    /// Size of the index in bytes.
    pub fn size(&self) -> usize {
        self.layout.total
    }

    fn section(&self, section: Section) -> &[u8] {
        let (start, end) = self
            .layout
            .ranges
            .get(section as usize)
            .copied()
            .unwrap_or_default();
        self.storage.bytes().get(start..end).unwrap_or_default()
    }

    fn record(&self, section: Section, at: u32, bytes: usize) -> &[u8] {
        let start = at as usize * bytes;
        self.section(section)
            .get(start..start + bytes)
            .unwrap_or_default()
    }

    /// How many names were looked up and how many walks over names were made on this thread: a measure of work that no
    /// busy machine changes.
    #[cfg(test)]
    pub(crate) fn work() -> (usize, usize) {
        WORK.get()
    }

    #[cfg(test)]
    fn tally(lookups: usize, walks: usize) {
        let (a, b) = WORK.get();
        WORK.set((a + lookups, b + walks));
    }

    /// The streets of a borough with this folded name.
    pub(crate) fn streets(
        &self,
        borough: Borough,
        key: &str,
    ) -> impl Iterator<Item = Posting> + '_ {
        #[cfg(test)]
        Self::tally(1, 0);
        let mut bytes = [0_u8; 128];
        let length = key.len() + 1;
        let value = bytes.get_mut(..length).and_then(|full| {
            let (first, rest) = full.split_first_mut()?;
            *first = b'0' + borough.digit();
            rest.copy_from_slice(key.as_bytes());
            self.names.get(full)
        });
        self.postings(value.unwrap_or(0))
    }

    fn postings(&self, value: u64) -> impl Iterator<Item = Posting> + '_ {
        let first = value >> 16;
        let count = value & 0xffff;
        (first..first + count).map(|at| {
            let record = self.record(
                Section::Postings,
                u32::try_from(at).unwrap_or(u32::MAX),
                POSTING_BYTES,
            );
            let flags = u8_at(record, 5);
            Posting {
                street: u32_at(record, 0),
                group: u8_at(record, 4),
                shown: flags & SHOWN != 0,
                across: flags & ACROSS != 0,
            }
        })
    }

    /// The streets of a borough whose folded names an automaton accepts, at most `most` of them.
    pub(crate) fn similar(
        &self,
        borough: Borough,
        automaton: impl Automaton,
        most: usize,
    ) -> Vec<Posting> {
        #[cfg(test)]
        Self::tally(0, 1);
        let first = [b'0' + borough.digit()];
        let after = [b'1' + borough.digit()];
        let mut found = self
            .names
            .search(automaton)
            .ge(first)
            .lt(after)
            .into_stream();
        let mut out = Vec::new();
        while let Some((_, value)) = found.next() {
            out.extend(self.postings(value));
            if out.len() >= most {
                break;
            }
        }
        out
    }

    /// The streets of a borough whose folded names begin with `start` and go on with a byte of `next`, in the order of the names, with
    /// the length of each name: at most `most` names are read.
    pub(crate) fn beginning(
        &self,
        borough: Borough,
        start: &str,
        next: std::ops::Range<u8>,
        most: usize,
        mut each: impl FnMut(usize, Posting),
    ) {
        #[cfg(test)]
        Self::tally(0, 1);
        let mut first = [0_u8; 128];
        let length = start.len() + 2;
        let Some((head, rest)) = first.get_mut(..length).and_then(<[u8]>::split_first_mut) else {
            return;
        };
        *head = b'0' + borough.digit();
        let Some((last, middle)) = rest.split_last_mut() else {
            return;
        };
        middle.copy_from_slice(start.as_bytes());
        *last = next.start;
        let mut after = first;
        if let Some(last) = after.get_mut(length - 1) {
            *last = next.end;
        }
        let bounds = (first.get(..length), after.get(..length));
        let (Some(first), Some(after)) = bounds else {
            return;
        };
        let mut found = self.names.range().ge(first).lt(after).into_stream();
        for _ in 0..most {
            #[cfg(test)]
            Self::tally(1, 0);
            let Some((name, value)) = found.next() else {
                return;
            };
            let length = name.len() - 1;
            for posting in self.postings(value) {
                each(length, posting);
            }
        }
    }

    fn street(&self, street: u32) -> StreetRecord {
        let mut record =
            StreetRecord::read(self.record(Section::Streets, street, StreetRecord::BYTES));
        // A damaged count must not send a search through rows that do not exist.
        let rows = self.count(Section::Rows, RowRecord::BYTES);
        record.rows = record.rows.min(rows.saturating_sub(record.first_row));
        record
    }

    /// The street's code: borough digit and five digits.
    pub(crate) fn street_code(&self, street: u32) -> u32 {
        self.street(street).code
    }

    /// The name to show for a street, as its local group has it: primary and principal where there is a dictionary.
    pub(crate) fn street_name(&self, street: u32, group: u8) -> &str {
        let record = self.street(street);
        let mut shown = None;
        for at in 0..u32::from(record.names) {
            let name = self.record(Section::StreetNames, record.first_name + at, NAME_BYTES);
            let this = u8_at(name, 0) == group;
            if this || shown.is_none() {
                let start = u32_at(name, 1) as usize;
                let end = start + usize::from(u8_at(name, 5));
                shown = self.section(Section::Text).get(start..end);
            }
            if this {
                break;
            }
        }
        shown
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    pub(crate) fn row(&self, at: u32) -> RowRecord {
        RowRecord::read(self.record(Section::Rows, at, RowRecord::BYTES))
    }

    /// All rows of a street, with their places, in the order of numbers.
    pub(crate) fn rows_of(
        &self,
        street: u32,
    ) -> impl DoubleEndedIterator<Item = (u32, RowRecord)> + '_ {
        let record = self.street(street);
        (record.first_row..record.first_row + record.rows).map(|at| (at, self.row(at)))
    }

    /// The rows of a street that hold a number.
    pub(crate) fn rows_at(
        &self,
        street: u32,
        number: HouseKey,
    ) -> impl Iterator<Item = (u32, RowRecord)> + '_ {
        let record = self.street(street);
        let first = record.first_row;
        // The first row whose low number is above this one.
        let (mut low, mut high) = (0, record.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row_low(first + middle).base() <= number.base() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (first..first + low)
            .rev()
            .map(|at| (at, self.row(at)))
            .take_while(move |(_, row)| row.reach.base() >= number.base())
            .filter(move |(_, row)| row.kind.is_numbered() && number.is_in(row.low, row.high))
    }

    fn row_low(&self, at: u32) -> HouseKey {
        HouseKey::from_bits(uint_at(
            self.record(Section::Rows, at, RowRecord::BYTES),
            4,
            5,
        ))
    }

    pub(crate) fn building(&self, at: u32) -> BuildingRecord {
        BuildingRecord::read(self.record(Section::Buildings, at, BuildingRecord::BYTES))
    }

    fn count(&self, section: Section, bytes: usize) -> u32 {
        u32::try_from(self.section(section).len() / bytes).unwrap_or(u32::MAX)
    }

    /// The first place at which `is_before` no longer holds.
    fn partition(count: u32, is_before: impl Fn(u32) -> bool) -> u32 {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The buildings of a lot by their places; the entry with BIN 0 stands for addresses without a building.
    pub(crate) fn buildings_of(
        &self,
        bbl: u64,
    ) -> impl Iterator<Item = (u32, BuildingRecord)> + '_ {
        let count = self.count(Section::Buildings, BuildingRecord::BYTES);
        let first = Self::partition(count, |at| self.building(at).bbl < bbl);
        (first..count)
            .map(|at| (at, self.building(at)))
            .take_while(move |(_, building)| building.bbl == bbl)
    }

    /// How many buildings stand on the lot of the building at this place, itself included.
    pub(crate) fn buildings_beside(&self, at: u32) -> u32 {
        let bbl = self.building(at).bbl;
        let count = self.count(Section::Buildings, BuildingRecord::BYTES);
        let same = |record: &BuildingRecord| record.bbl == bbl;
        let before = (0..at).rev().map(|at| self.building(at)).take_while(same);
        let after = (at..count).map(|at| self.building(at)).take_while(same);
        let buildings = before.chain(after).filter(|record| record.bin != 0).count();
        u32::try_from(buildings).unwrap_or(u32::MAX)
    }

    /// The buildings with a BIN: mostly one; more where the files put one BIN on two lots.
    pub(crate) fn by_bin(&self, bin: Bin) -> impl Iterator<Item = (u32, BuildingRecord)> + '_ {
        let bin = bin.get();
        let count = self.count(Section::ByBin, 4);
        let place = |at: u32| u32_at(self.record(Section::ByBin, at, 4), 0);
        let first = Self::partition(count, |at| self.building(place(at)).bin < bin);
        (first..count)
            .map(place)
            .map(|at| (at, self.building(at)))
            .take_while(move |(_, building)| building.bin == bin)
    }

    /// Whether the files know the lot.
    pub(crate) fn has_lot(&self, bbl: u64) -> bool {
        let count = self.count(Section::Lots, LOT_BYTES);
        let lot = |at| uint_at(self.record(Section::Lots, at, LOT_BYTES), 0, 5);
        let at = Self::partition(count, |at| lot(at) < bbl);
        at < count && lot(at) == bbl
    }

    /// The billing lot of a condominium's unit lot.
    pub(crate) fn billing_of_unit(&self, bbl: u64) -> Option<u64> {
        let count = self.count(Section::Units, 15);
        let after = Self::partition(count, |at| {
            uint_at(self.record(Section::Units, at, 15), 0, 5) <= bbl
        });
        let record = self.record(Section::Units, after.checked_sub(1)?, 15);
        (uint_at(record, 5, 5) >= bbl).then(|| uint_at(record, 10, 5))
    }

    /// The billing lots of the condominium that stands on a base lot.
    pub(crate) fn billings_of_base(&self, bbl: u64) -> impl Iterator<Item = u64> + '_ {
        let count = self.count(Section::Bases, 10);
        let base = |at| uint_at(self.record(Section::Bases, at, 10), 0, 5);
        let first = Self::partition(count, |at| base(at) < bbl);
        (first..count)
            .take_while(move |at| base(*at) == bbl)
            .map(|at| uint_at(self.record(Section::Bases, at, 10), 5, 5))
    }
}

/// A lot as the number of its ten digits.
pub(crate) fn bbl_number(bbl: Bbl) -> u64 {
    u64::from(bbl.borough().digit()) * 1_000_000_000
        + u64::from(bbl.block()) * 10_000
        + u64::from(bbl.lot())
}

/// A lot from the number of its ten digits.
pub(crate) fn bbl_of(number: u64) -> Option<Bbl> {
    let borough = Borough::from_digit(u8::try_from(number / 1_000_000_000).ok()?)?;
    let block = u32::try_from(number / 10_000 % 100_000).ok()?;
    let lot = u16::try_from(number % 10_000).ok()?;
    Bbl::new(borough, block, lot).ok()
}

/// A building's number from the index; `None` for 0.
pub(crate) fn bin_of(number: u32) -> Option<Bin> {
    let mut digits = [0_u8; 7];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        // The cast is exact: a digit.
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    std::str::from_utf8(&digits).ok()?.parse().ok()
}
