//! The sales index: one file, mapped into memory, asked by building, place, block, neighbourhood or ZIP code.

mod build;
pub(crate) mod format;
mod grid;
#[cfg(test)]
mod tests;

use std::{fs::File, io::Write as _, path::Path, sync::Arc};

use brownstone_domain::Bbl;

use self::format::{COLD, Hot, LOT, Layout, Section, u32_at, u64_at};
use crate::{
    BuildingKey, Exclusions, Loaded, Lot, Place, Reason, Sale, TextRef, lot_number, lots::Lots,
    sale::slice,
};

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The file could not be read or written.
    #[error("the sales index: {0}")]
    Io(#[from] std::io::Error),
    /// The bytes are no index, or not the index that was written: it must be made again.
    #[error("the sales index is damaged: {0}")]
    Damaged(&'static str),
}

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

/// Sales and lots of the whole city. Immutable, and cheap to clone. Opening a file maps it and reads its header only.
#[derive(Clone)]
pub struct SalesIndex {
    storage: Arc<Storage>,
    layout: Layout,
}

impl std::fmt::Debug for SalesIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SalesIndex")
            .field("sales", &self.len())
            .field("lots", &self.lot_count())
            .field("bytes", &self.layout.total)
            .finish_non_exhaustive()
    }
}

impl SalesIndex {
    /// Makes an index of sales and lots. What the lots know of the sales' buildings is filled in first: see
    /// [`Lots::complete`].
    pub fn build(mut loaded: Loaded, lots: &Lots) -> Self {
        lots.complete(&mut loaded);
        let bytes = build::build(&loaded, lots);
        let layout = Layout::read(&bytes).unwrap_or_else(|_| Layout::empty());
        Self {
            storage: Arc::new(Storage::Memory(bytes)),
            layout,
        }
    }

    /// The index of these bytes, as [`SalesIndex::bytes`] gave them.
    ///
    /// # Errors
    /// When they are no index.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, IndexError> {
        Self::of(Storage::Memory(bytes))
    }

    /// Maps a file that [`SalesIndex::save`] wrote. The file must not be changed while it is open; `save` never changes
    /// one, it replaces it.
    ///
    /// # Errors
    /// When it cannot be read or its header does not fit it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, IndexError> {
        let file = File::open(path)?;
        // SAFETY: the map is only read. Files are put in place whole by a rename and never written afterwards; should
        // someone truncate one by hand, the process may be stopped by the system, but no memory is misread.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Self::of(Storage::Mapped(map))
    }

    /// Writes the index to a file: beside it first, then in its place in one step.
    ///
    /// # Errors
    /// When the file cannot be written; the old one is then untouched.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), IndexError> {
        let path = path.as_ref();
        let mut name = path
            .file_name()
            .ok_or(IndexError::Damaged("its path names no file"))?
            .to_os_string();
        name.push(format!(".{}.new", std::process::id()));
        let beside = path.with_file_name(name);
        let written = (|| {
            let mut file = File::create(&beside)?;
            file.write_all(self.bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, path)
        })();
        if written.is_err() {
            // The first error is the one that matters.
            let _ = std::fs::remove_file(&beside);
        }
        Ok(written?)
    }

    fn of(storage: Storage) -> Result<Self, IndexError> {
        let layout = Layout::read(storage.bytes())?;
        Ok(Self {
            storage: Arc::new(storage),
            layout,
        })
    }

    /// Checks every byte against the sum in the header. Reads the whole file.
    ///
    /// # Errors
    /// When a byte is changed.
    pub fn verify(&self) -> Result<(), IndexError> {
        self.layout.verify(self.bytes())
    }

    /// What tells this index from one of other contents: eight hexadecimal digits of its sum.
    pub fn version(&self) -> String {
        format!("{:08x}", self.layout.body_sum)
    }

    /// The whole index, to be kept elsewhere.
    pub fn bytes(&self) -> &[u8] {
        self.storage.bytes()
    }

    fn section(&self, section: Section) -> &[u8] {
        self.layout.section(self.bytes(), section)
    }

    /// How many sales there are.
    pub fn len(&self) -> usize {
        self.section(Section::Hot).len() / Hot::BYTES
    }

    /// Whether no sales were loaded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many lots there are.
    pub fn lot_count(&self) -> usize {
        self.section(Section::Lots).len() / LOT
    }

    /// Rows that were read, and how many of them each rule left out, marked or mended.
    pub fn counts(&self) -> (u64, Vec<(&'static str, u64)>) {
        let stats = self.section(Section::Stats);
        let counts = Reason::ALL
            .iter()
            .enumerate()
            .map(|(at, (_, name))| (*name, u64_at(stats, 8 + at * 8)))
            .collect();
        (u64_at(stats, 0), counts)
    }

    fn exclusions(&self) -> Exclusions {
        let stats = self.section(Section::Stats);
        let mut exclusions = Exclusions::default();
        for (at, (reason, _)) in Reason::ALL.iter().enumerate() {
            exclusions.set(*reason, u64_at(stats, 8 + at * 8));
        }
        exclusions
    }

    /// All lots, as they were when the index was made.
    pub fn lots(&self) -> Lots {
        let records = self.section(Section::Lots).chunks_exact(LOT);
        Lots::of(
            records
                .filter_map(|record| Some((format::read_lot(record)?, u64_at(record, LOT - 8))))
                .collect(),
        )
    }

    /// The sale at a place; `None` past the last.
    pub fn sale(&self, at: u32) -> Option<Sale> {
        let at = at as usize;
        let hot = self
            .section(Section::Hot)
            .get(at * Hot::BYTES..(at + 1) * Hot::BYTES)?;
        let cold = self
            .section(Section::Cold)
            .get(at * COLD..(at + 1) * COLD)?;
        format::read_sale(hot, cold)
    }

    /// All sales, in the order of their cells.
    pub fn sales(&self) -> impl Iterator<Item = Sale> + '_ {
        let count = u32::try_from(self.len()).unwrap_or(u32::MAX);
        (0..count).filter_map(|at| self.sale(at))
    }

    /// The sales and their texts as one list, sorted by day, then lot, as they were when the index was made.
    pub fn to_loaded(&self) -> Loaded {
        let mut sales: Vec<Sale> = self.sales().collect();
        sales.sort_unstable_by_key(|sale| (sale.date, lot_number(sale.bbl), sale.id));
        Loaded {
            sales,
            texts: crate::Texts(self.section(Section::Text).to_vec()),
            neighborhoods: self.names().map(str::to_owned).collect(),
            exclusions: self.exclusions(),
            rows: self.counts().0,
        }
    }

    pub(crate) fn hot(&self, at: u32) -> Hot {
        let at = at as usize;
        Hot::read(
            self.section(Section::Hot)
                .get(at * Hot::BYTES..(at + 1) * Hot::BYTES)
                .unwrap_or_default(),
        )
    }

    /// A text of a sale.
    pub fn text(&self, text: TextRef) -> &str {
        std::str::from_utf8(slice(self.section(Section::Text), text)).unwrap_or_default()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::str::from_utf8(self.section(Section::Names))
            .unwrap_or_default()
            .split('\n')
    }

    /// A neighbourhood's name; nothing when it has none.
    pub fn neighborhood(&self, number: u16) -> &str {
        self.names().nth(usize::from(number)).unwrap_or_default()
    }

    /// The lot's row of the land-use table.
    pub fn lot(&self, bbl: Bbl) -> Option<Lot> {
        let lots = self.section(Section::Lots);
        let at = search(lots, LOT, lot_number(bbl))?;
        format::read_lot(lots.get(at * LOT..(at + 1) * LOT)?)
    }

    /// Sales of a building, newest first.
    pub fn in_building(&self, building: BuildingKey) -> impl Iterator<Item = u32> + '_ {
        self.group(Section::Buildings, building.0)
    }

    /// Sales of a tax block ([`crate::block_of`]), newest first.
    pub fn in_block(&self, block: u64) -> impl Iterator<Item = u32> + '_ {
        self.group(Section::Blocks, block)
    }

    /// Sales of a neighbourhood, newest first.
    pub fn in_neighborhood(&self, number: u16) -> impl Iterator<Item = u32> + '_ {
        self.group(Section::Neighborhoods, u64::from(number))
    }

    /// Sales of a ZIP code, newest first.
    pub fn in_zip(&self, zip: u32) -> impl Iterator<Item = u32> + '_ {
        self.group(Section::Zips, u64::from(zip))
    }

    fn group(&self, section: Section, key: u64) -> impl Iterator<Item = u32> + '_ {
        let groups = self.section(section);
        let (first, count) = search(groups, 16, key).map_or((0, 0), |at| {
            (
                u32_at(groups, at * 16 + 8) as usize,
                u32_at(groups, at * 16 + 12) as usize,
            )
        });
        self.section(Section::Postings)
            .get(first * 4..(first + count) * 4)
            .unwrap_or_default()
            .chunks_exact(4)
            .map(|posting| u32_at(posting, 0))
    }

    /// Hands each sale within a distance of a place to `each`, with its distance in miles.
    pub(crate) fn within(&self, place: Place, miles: f64, mut each: impl FnMut(u32, &Hot, f64)) {
        let hot = self.section(Section::Hot);
        let cells = self.section(Section::Cells);
        for (first, last) in grid::rows_within(place, miles) {
            let start = u32_at(cells, first as usize * 4);
            let end = u32_at(cells, (last as usize + 1) * 4);
            let records = hot
                .get(start as usize * Hot::BYTES..end as usize * Hot::BYTES)
                .unwrap_or_default()
                .chunks_exact(Hot::BYTES);
            for (at, record) in (start..).zip(records) {
                let sale = Hot::read(record);
                if let Some(there) = sale.place {
                    let distance = place.miles_to(there);
                    if distance <= miles {
                        each(at, &sale, distance);
                    }
                }
            }
        }
    }

    /// Hands every sale of a borough to `each`: for a subject of which nothing nearer is known.
    pub(crate) fn in_borough(&self, borough: u8, mut each: impl FnMut(u32, &Hot)) {
        let records = self.section(Section::Hot).chunks_exact(Hot::BYTES);
        for (at, record) in (0_u32..).zip(records) {
            let sale = Hot::read(record);
            if sale.borough == borough {
                each(at, &sale);
            }
        }
    }
}

/// Where the record with this key is, among sorted records of `width` bytes that begin with theirs.
fn search(records: &[u8], width: usize, key: u64) -> Option<usize> {
    let (mut low, mut high) = (0, records.len() / width);
    while low < high {
        let middle = usize::midpoint(low, high);
        let here = u64_at(records, middle * width);
        match here.cmp(&key) {
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}
