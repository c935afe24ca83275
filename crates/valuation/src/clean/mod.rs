//! What is left of the rows when repeats are dropped, and what is said of those that stay.
//!
//! A row is **dropped** when it holds no sale (blank, cut short, no lot, day or price) or one that is held already (the
//! same row again, or the same sale in another release). A sale stays but is **marked**, and values nothing, when it
//! is no sale in the market (no money or a token), one of a package (one total on several lots), or recorded again. A
//! year or size that cannot be true is left out of the sale, which is **mended**. Each rule has a name and a count.

pub(crate) mod address;
mod marks;

use brownstone_domain::Bbl;

use crate::{
    Flags, Loaded, Sale, SaleId, TextRef, Texts,
    read::{
        table::{Row, Table},
        value::DayOrder,
    },
    sale::{BuildingKey, block_of, lot_number},
};

/// A rule that left a row out, marked it or mended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Reason {
    /// Dropped: a row without any text.
    EmptyRow,
    /// Dropped: a row with too few fields.
    Ragged,
    /// Dropped: borough, block and lot are no tax lot.
    ImpossibleLot,
    /// Dropped: the day of sale is no day.
    ImpossibleDate,
    /// Dropped: the price is no number, or blank.
    UnreadablePrice,
    /// Dropped: the same row again in one file.
    ExactDuplicate,
    /// Dropped: the same sale in another release.
    ReleaseOverlap,
    /// Marked: the same lot, unit, day and price in a row that differs elsewhere.
    DuplicateRecording,
    /// Marked: one price on several lots the same day, or on one of several.
    PackageSale,
    /// Marked: a transfer without money.
    ZeroPrice,
    /// Marked: a price below [`TOKEN_PRICE`].
    TokenPrice,
    /// Marked: a house or rental building below [`TOKEN_PRICE_A_DWELLING`] for each dwelling.
    TokenPriceADwelling,
    /// Marked: one of several deeds of a house or rental building on one day.
    OneOfSeveralDeeds,
    /// Mended: a year of construction that cannot be true, or lies years after the sale.
    ImpossibleYear,
    /// Mended: a size that cannot be true.
    ImpossibleSize,
    /// Mended: the unit stood in the address.
    UnitInAddress,
}

impl Reason {
    /// All, with their names in reports.
    pub const ALL: [(Self, &'static str); 16] = [
        (Self::EmptyRow, "empty_row"),
        (Self::Ragged, "ragged_row"),
        (Self::ImpossibleLot, "impossible_lot"),
        (Self::ImpossibleDate, "impossible_date"),
        (Self::UnreadablePrice, "unreadable_price"),
        (Self::ExactDuplicate, "exact_duplicate"),
        (Self::ReleaseOverlap, "release_overlap"),
        (Self::DuplicateRecording, "duplicate_recording"),
        (Self::PackageSale, "package_sale"),
        (Self::ZeroPrice, "zero_price"),
        (Self::TokenPrice, "token_price"),
        (Self::TokenPriceADwelling, "token_price_a_dwelling"),
        (Self::OneOfSeveralDeeds, "one_of_several_deeds"),
        (Self::ImpossibleYear, "impossible_year"),
        (Self::ImpossibleSize, "impossible_size"),
        (Self::UnitInAddress, "unit_in_address"),
    ];

    /// Whether the row is gone, and not only marked or mended.
    pub const fn drops(self) -> bool {
        (self as usize) <= Self::ReleaseOverlap as usize
    }
}

/// How often each rule was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exclusions {
    counts: [u64; Reason::ALL.len()],
}

impl Exclusions {
    /// How often this rule was used.
    pub fn get(&self, reason: Reason) -> u64 {
        self.counts.get(reason as usize).copied().unwrap_or(0)
    }

    /// Every rule with its name and count.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, &'static str, u64)> + '_ {
        Reason::ALL
            .into_iter()
            .map(|(reason, name)| (reason, name, self.get(reason)))
    }

    /// Rows that are gone.
    pub fn dropped(&self) -> u64 {
        self.iter()
            .filter(|(reason, _, _)| reason.drops())
            .map(|(_, _, count)| count)
            .sum()
    }

    pub(crate) fn set(&mut self, reason: Reason, count: u64) {
        if let Some(slot) = self.counts.get_mut(reason as usize) {
            *slot = count;
        }
    }

    pub(crate) fn add(&mut self, reason: Reason) {
        if let Some(count) = self.counts.get_mut(reason as usize) {
            *count += 1;
        }
    }

    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }
}

/// Below this many dollars a price is a token (1, 10, 100): no property of the city sells for it.
pub const TOKEN_PRICE: u64 = 10_000;
/// The same for each dwelling of a house or rental building: a share, a sale within a family, a transfer to an agency. In
/// the cheapest market of the published files (the Bronx of 2010) one building in forty is sold for so little a dwelling,
/// in those after it hardly one in a hundred, and between this and three times as much there is next to nothing.
pub const TOKEN_PRICE_A_DWELLING: u64 = 20_000;
/// A building is sold before it is finished, but not longer before.
const YEARS_BEFORE_BUILT: i32 = 5;

/// A 64-bit sum of bytes, eight at a time, good enough to tell rows apart; the same in every run and on every machine.
pub(crate) fn print(bytes: &[u8]) -> u64 {
    let mut sum = Sum::default();
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        if let Ok(eight) = chunk.try_into() {
            sum.add(u64::from_le_bytes(eight));
        }
    }
    let mut last = [0_u8; 8];
    for (slot, byte) in last.iter_mut().zip(chunks.remainder()) {
        *slot = *byte;
    }
    sum.add(u64::from_le_bytes(last));
    sum.add(bytes.len() as u64);
    sum.end()
}

/// A sum of bytes that come one by one.
pub(crate) fn fold(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut sum = Sum::default();
    for byte in bytes {
        sum.add(u64::from(byte));
    }
    sum.end()
}

/// The multiply and fold of wyhash: each word is mixed over all 64 bits.
#[derive(Default)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
        #[allow(clippy::cast_possible_truncation)] // The two halves are what is folded.
        let folded = (wide >> 64) as u64 ^ wide as u64;
        self.0 = folded.rotate_left(23) ^ word;
    }

    fn end(mut self) -> u64 {
        self.add(0xe703_7ed1_a0b4_28db);
        self.0
    }
}

/// What makes a sale that sale, in the order the list is sorted by, and where its row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    date: i32,
    lot: u64,
    price: u64,
    unit: u64,
    file: u32,
    row: u32,
}

impl Key {
    const fn same_sale(&self, other: &Self) -> bool {
        self.date == other.date
            && self.lot == other.lot
            && self.price == other.price
            && self.unit == other.unit
    }
}

/// Puts the tables of several files together.
pub(crate) fn merge(mut tables: Vec<Table>) -> Loaded {
    let mut out = Loaded::default();
    let mut keys = Vec::with_capacity(tables.iter().map(|table| table.rows.len()).sum());
    let mut names = crate::read::table::Names::default();
    for (file, table) in tables.iter_mut().enumerate() {
        out.rows += table.seen;
        out.exclusions.join(&table.exclusions);
        let base = u32::try_from(out.texts.0.len()).unwrap_or(u32::MAX);
        let renamed: Vec<u16> = table
            .neighborhoods
            .list
            .iter()
            .map(|name| names.number(name.as_bytes()))
            .collect();
        let order = table.evidence.order();
        for (at, row) in table.rows.iter_mut().enumerate() {
            if let Some(key) = finish(row, order, base, &renamed, &table.texts) {
                keys.push(Key {
                    file: u32::try_from(file).unwrap_or(u32::MAX),
                    row: u32::try_from(at).unwrap_or(u32::MAX),
                    ..key
                });
            } else {
                out.exclusions.add(Reason::ImpossibleDate);
            }
        }
        // Four gigabytes of addresses are forty times the city's whole table; what lies past them has no text.
        if out.texts.0.len() + table.texts.0.len() <= u32::MAX as usize {
            out.texts.0.append(&mut table.texts.0);
        }
    }
    out.neighborhoods = names.list;
    keys.sort_unstable();
    let mut kept = Vec::with_capacity(keys.len());
    let row =
        |key: &Key| -> Option<&Row> { tables.get(key.file as usize)?.rows.get(key.row as usize) };
    for same in keys.chunk_by(Key::same_sale) {
        choose(same, &row, &mut kept, &mut out.exclusions);
    }
    out.sales = kept;
    for day in out.sales.chunk_by_mut(|a, b| a.date == b.date) {
        marks::mark(day);
    }
    marks::count(&out.sales, &mut out.exclusions);
    out
}

/// Completes a row now that the file's order of day and month is known; `None` when its day is no day.
fn finish(row: &mut Row, order: DayOrder, base: u32, names: &[u16], texts: &Texts) -> Option<Key> {
    let sale = &mut row.sale;
    sale.date = row.date.day(order)?;
    let unit = address::unit_key(texts.bytes(sale.unit));
    if marks::is_apartment(sale, texts.get(sale.unit)) {
        sale.flags.set(Flags::APARTMENT);
    }
    if sale.class_at_sale.is_condominium() && sale.bbl.is_unit_lot() {
        let street = address::street_key(texts.bytes(sale.house_number), texts.bytes(sale.street));
        sale.building = unit_building(sale.bbl, street);
    }
    // A year after the sale is a building to come; decades after are a slip.
    let sold_in = 1970 + sale.date.div_euclid(365);
    if let Some(year) = sale.year_built
        && i32::from(year) > sold_in + YEARS_BEFORE_BUILT
    {
        sale.year_built = None;
        sale.flags.set(Flags::YEAR_IMPOSSIBLE);
    }
    if sale.price < marks::lowest_price(sale) {
        sale.flags.set(Flags::NON_ARMS_LENGTH);
    }
    sale.neighborhood = names
        .get(usize::from(sale.neighborhood))
        .copied()
        .unwrap_or_default();
    for text in [
        &mut sale.address,
        &mut sale.house_number,
        &mut sale.street,
        &mut sale.unit,
    ] {
        if !text.is_empty() {
            *text = text
                .start
                .checked_add(base)
                .map_or(TextRef::default(), |start| TextRef { start, ..*text });
        }
    }
    Some(Key {
        date: sale.date,
        lot: lot_number(sale.bbl),
        price: sale.price,
        unit,
        file: 0,
        row: 0,
    })
}

/// The building of a condominium's unit whose billing lot is not known: block, house number and street. The top bit
/// keeps it apart from a lot's own number.
pub(crate) fn unit_building(unit: Bbl, street: u64) -> BuildingKey {
    let mut sum = Sum::default();
    sum.add(block_of(unit));
    sum.add(street);
    BuildingKey(sum.end() | 1 << 63)
}

/// Of the rows of one sale, keeps those of one file: the one that holds most of them, else the latest. Within it,
/// equal rows are one, and others are the same sale recorded again.
fn choose<'a>(
    same: &[Key],
    row: &impl Fn(&Key) -> Option<&'a Row>,
    kept: &mut Vec<Sale>,
    exclusions: &mut Exclusions,
) {
    let mut best: &[Key] = &[];
    let mut distinct: Vec<u64> = Vec::new();
    let mut most = 0;
    for file in same.chunk_by(|a, b| a.file == b.file) {
        let count = if file.len() == 1 {
            1
        } else {
            distinct.clear();
            distinct.extend(file.iter().filter_map(|key| Some(row(key)?.print)));
            distinct.sort_unstable();
            distinct.dedup();
            for _ in distinct.len()..file.len() {
                exclusions.add(Reason::ExactDuplicate);
            }
            distinct.len()
        };
        for _ in 0..count {
            exclusions.add(Reason::ReleaseOverlap);
        }
        if count >= most {
            (best, most) = (file, count);
        }
    }
    // What is kept was counted as an overlap above.
    exclusions.take(Reason::ReleaseOverlap, most);
    distinct.clear();
    for key in best {
        let Some(row) = row(key) else { continue };
        if distinct.contains(&row.print) {
            continue;
        }
        let mut sale = row.sale;
        let mut sum = Sum::default();
        for word in [key.lot, key.price, key.unit, distinct.len() as u64] {
            sum.add(word);
        }
        sum.add(u64::from(key.date.unsigned_abs()));
        sale.id = SaleId(sum.end());
        if !distinct.is_empty() {
            sale.flags.set(Flags::DUPLICATE);
        }
        distinct.push(row.print);
        kept.push(sale);
    }
}

impl Exclusions {
    fn take(&mut self, reason: Reason, count: usize) {
        if let Some(slot) = self.counts.get_mut(reason as usize) {
            *slot = slot.saturating_sub(count as u64);
        }
    }
}
