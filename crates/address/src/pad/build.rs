//! From the rows of a release to the bytes of an index. The bytes depend on the set of rows, not on their order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    PadError, PadStats, canonical,
    format::{
        ACROSS, BuildingRecord, Layout, NO_ROW, RowRecord, SECTIONS, SHOWN, StreetRecord, put,
    },
    lots::Lots,
    rows::{AddressKind, AddressRow, AddressRows, StreetCode},
    snd::StreetSpelling,
};
use crate::{
    area,
    fold::{Spelling, fold_text, is_type},
    house::HouseKey,
};

/// A street's display name in the making: the best spelling met so far.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct DisplayName {
    /// How far from the primary, principal name; less is better.
    rank: u8,
    name: Box<str>,
}

/// Builds the file.
pub(super) fn build(
    mut addresses: AddressRows,
    lots: &Lots,
    spellings: &[StreetSpelling],
    stats: &mut PadStats,
) -> Result<Vec<u8>, PadError> {
    for row in &mut addresses.rows {
        row.bbl = lots.billing(row.bbl);
    }
    addresses.rows.sort_unstable();
    addresses.rows.dedup();
    let names = Names::collect(&addresses, spellings);
    let buildings = Buildings::collect(&addresses.rows);

    let streets: Vec<StreetCode> = names.streets.iter().copied().collect();
    let place_of: HashMap<StreetCode, u32> = streets
        .iter()
        .zip(0..)
        .map(|(code, at)| (*code, at))
        .collect();

    let mut out: [Vec<u8>; SECTIONS] = std::array::from_fn(|_| Vec::new());
    let [
        street_bytes,
        street_names,
        text,
        row_bytes,
        building_bytes,
        by_bin,
        lot_bytes,
        unit_bytes,
        base_bytes,
        postings,
        fst_bytes,
    ] = &mut out;

    let rows = write_rows(&addresses.rows, &buildings, row_bytes);
    write_streets(&streets, &names, &rows, street_bytes, street_names, text)?;
    buildings.write(&addresses.rows, &rows, &place_of, building_bytes, by_bin);

    let mut all_lots: BTreeSet<u64> = lots.lots.clone();
    all_lots.extend(addresses.rows.iter().map(|row| row.bbl));
    for bbl in &all_lots {
        put(lot_bytes, *bbl, 5);
    }
    for (low, high, billing) in &lots.units {
        put(unit_bytes, *low, 5);
        put(unit_bytes, *high, 5);
        put(unit_bytes, *billing, 5);
    }
    for (base, billings) in &lots.bases {
        for billing in billings {
            put(base_bytes, *base, 5);
            put(base_bytes, *billing, 5);
        }
    }
    *fst_bytes = names.write(&place_of, postings)?;

    stats.rows = rows.kept;
    stats.lots = all_lots.len() as u64;
    stats.buildings = buildings.list.iter().filter(|b| b.bin != 0).count() as u64;
    stats.streets = streets.len() as u64;
    stats.names = names.keys.len() as u64;
    Ok(Layout::write(&out))
}

/// Names of streets: what each displays, and which keys lead to it.
struct Names {
    streets: BTreeSet<StreetCode>,
    display: BTreeMap<(StreetCode, u8), DisplayName>,
    /// Borough digit and folded name to streets, local groups, and flags.
    keys: BTreeMap<Vec<u8>, BTreeMap<(StreetCode, u8), u8>>,
    /// Streets with rows on another borough's side, to those boroughs' digits.
    across: BTreeMap<StreetCode, BTreeSet<u8>>,
}

impl Names {
    fn collect(addresses: &AddressRows, spellings: &[StreetSpelling]) -> Self {
        let mut out = Self {
            streets: BTreeSet::new(),
            display: BTreeMap::new(),
            keys: BTreeMap::new(),
            across: across(&addresses.rows),
        };
        let mut duplicates: BTreeSet<StreetCode> = addresses
            .rows
            .iter()
            .filter(|row| row.duplicate)
            .map(|row| row.street)
            .collect();
        duplicates.extend(spellings.iter().filter(|s| s.duplicate).map(|s| s.street));
        for spelling in spellings {
            let rank = match (spelling.primary, spelling.principal) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                // A row's own name is better than a variant that may be a known misspelling.
                (false, false) => 4,
            };
            let of = (spelling.street, spelling.group);
            out.add(of, &spelling.name, rank, duplicates.contains(&of.0));
        }
        for (of, names) in &addresses.names {
            for name in names {
                out.add(*of, name, 3, duplicates.contains(&of.0));
            }
        }
        let shown: Vec<((StreetCode, u8), String)> = out
            .display
            .iter()
            .map(|(of, display)| (*of, fold_text(&display.name, Spelling::Official).key))
            .collect();
        for (of, key) in shown {
            out.key(of, &key, SHOWN);
        }
        out
    }

    fn add(&mut self, of: (StreetCode, u8), name: &str, rank: u8, duplicate: bool) {
        self.streets.insert(of.0);
        let folded = fold_text(name, Spelling::Official);
        self.key(of, &folded.key, 0);
        if duplicate && let Some(base) = without_neighborhood(&folded.name) {
            self.key(of, &fold_text(base, Spelling::Official).key, 0);
        }
        let display = DisplayName {
            rank,
            // The files pad numbers within a name: `PIER  102`.
            name: name.split_whitespace().collect::<Vec<_>>().join(" ").into(),
        };
        match self.display.get_mut(&of) {
            Some(known) if *known <= display => {}
            Some(known) => *known = display,
            None => {
                self.display.insert(of, display);
            }
        }
    }

    fn key(&mut self, of: (StreetCode, u8), folded: &str, flags: u8) {
        if folded.is_empty() {
            return;
        }
        let own = borough_digit(of.0);
        let others = self.across.get(&of.0).into_iter().flatten();
        let boroughs: Vec<(u8, u8)> = std::iter::once((own, flags))
            .chain(others.map(|digit| (*digit, flags | ACROSS)))
            .collect();
        for (digit, flags) in boroughs {
            let mut key = Vec::with_capacity(folded.len() + 1);
            key.push(digit);
            key.extend_from_slice(folded.as_bytes());
            *self.keys.entry(key).or_default().entry(of).or_insert(0) |= flags;
        }
    }

    /// Writes the postings, and the map from names to them.
    fn write(
        &self,
        place_of: &HashMap<StreetCode, u32>,
        postings: &mut Vec<u8>,
    ) -> Result<Vec<u8>, PadError> {
        let mut map = fst::MapBuilder::memory();
        let mut written: u64 = 0;
        for (key, of) in &self.keys {
            let first = written;
            for ((street, group), flags) in of {
                let place = place_of.get(street).copied().unwrap_or(0);
                put(postings, u64::from(place), 4);
                postings.push(*group);
                postings.push(*flags);
                written += 1;
            }
            // Keys come sorted and once each, so that the map cannot refuse them.
            map.insert(key, first << 16 | (written - first).min(0xffff))
                .map_err(|_| PadError::Damaged("its names could not be sorted"))?;
        }
        map.into_inner()
            .map_err(|_| PadError::Damaged("its names could not be written"))
    }
}

/// Streets whose code is one borough's and some of whose rows are on another's side: by law, or because a ZIP reaches
/// over the line, so that Marble Hill is typed as the Bronx and Rikers Island as Queens.
fn across(rows: &[AddressRow]) -> BTreeMap<StreetCode, BTreeSet<u8>> {
    let mut out: BTreeMap<StreetCode, BTreeSet<u8>> = BTreeMap::new();
    for row in rows {
        let own = borough_digit(row.street);
        let Some(bbl) = super::bbl_of(row.bbl) else {
            continue;
        };
        let law = bbl.borough();
        let typed = area::typed_borough(law, bbl.block(), u32::from(row.zip)).unwrap_or(law);
        for digit in [law, typed].map(|borough| b'0' + borough.digit()) {
            if digit != own {
                out.entry(row.street).or_default().insert(digit);
            }
        }
    }
    out
}

/// The ASCII digit that keys of a borough start with.
fn borough_digit(street: StreetCode) -> u8 {
    // The cast is exact: street codes are below 600,000.
    b'0' + (street / 100_000) as u8
}

/// `HILLSIDE AVENUE` of `HILLSIDE AVENUE BELLEROSE`, for streets that differ by their neighbourhood alone.
fn without_neighborhood(name: &str) -> Option<&str> {
    let mut end = 0;
    let mut at = 0;
    for word in name.split(' ') {
        at += word.len();
        if end == 0 && at > word.len() && is_type(word) {
            end = at;
        }
        at += 1;
    }
    (end > 0 && end < name.len()).then(|| name.get(..end))?
}

/// The rows that were kept.
struct KeptRows {
    kept: u64,
    /// For each row of the release its place in the index, or [`NO_ROW`].
    places: Vec<u32>,
    /// Street to its first row and how many it has.
    streets: HashMap<StreetCode, (u32, u32)>,
}

/// Writes the rows that can be looked up: those of streets and places, not those of blank walls.
fn write_rows(rows: &[AddressRow], buildings: &Buildings, out: &mut Vec<u8>) -> KeptRows {
    let mut kept = KeptRows {
        kept: 0,
        places: vec![NO_ROW; rows.len()],
        streets: HashMap::new(),
    };
    out.reserve(rows.len() * RowRecord::BYTES);
    let mut next: u32 = 0;
    let mut street = 0;
    let mut reach = 0;
    for (row, place) in rows.iter().zip(&mut kept.places) {
        if row.kind == AddressKind::None {
            continue;
        }
        if row.street != street {
            street = row.street;
            reach = 0;
        }
        reach = reach.max(row.high);
        let record = RowRecord {
            building: buildings.place(row.bbl, row.bin),
            low: HouseKey::from_bits(row.low),
            high: HouseKey::from_bits(row.high),
            reach: HouseKey::from_bits(reach),
            zip: row.zip,
            kind: row.kind,
            group: row.group,
            valid: row.valid,
        };
        record.write(out);
        *place = next;
        kept.streets.entry(street).or_insert((next, 0)).1 += 1;
        next += 1;
    }
    kept.kept = u64::from(next);
    kept
}

fn write_streets(
    streets: &[StreetCode],
    names: &Names,
    rows: &KeptRows,
    out: &mut Vec<u8>,
    name_records: &mut Vec<u8>,
    text: &mut Vec<u8>,
) -> Result<(), PadError> {
    let mut texts: HashMap<&str, u32> = HashMap::new();
    let mut first_name: u32 = 0;
    for code in streets {
        let mut count: u16 = 0;
        for ((_, group), display) in names.display.range((*code, 0)..=(*code, u8::MAX)) {
            let name: &str = &display.name;
            let place = match texts.get(name) {
                Some(place) => *place,
                None => {
                    let place = u32::try_from(text.len())
                        .map_err(|_| PadError::Damaged("its names are too long"))?;
                    text.extend_from_slice(name.as_bytes());
                    texts.insert(name, place);
                    place
                }
            };
            name_records.push(*group);
            put(name_records, u64::from(place), 4);
            // Names have at most 32 characters by the files' layout.
            name_records.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            count += 1;
        }
        let (first_row, row_count) = rows.streets.get(code).copied().unwrap_or((0, 0));
        StreetRecord {
            code: *code,
            first_row,
            rows: row_count,
            first_name,
            names: count,
        }
        .write(out);
        first_name += u32::from(count);
    }
    Ok(())
}

/// The buildings: each pair of lot and BIN on a row.
struct Buildings {
    list: Vec<Building>,
}

struct Building {
    bbl: u64,
    bin: u32,
    /// Places of its rows in the release.
    rows: Vec<u32>,
}

impl Buildings {
    fn collect(rows: &[AddressRow]) -> Self {
        let mut keys: Vec<(u64, u32)> = rows.iter().map(|row| (row.bbl, row.bin)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut out = Self {
            list: keys
                .into_iter()
                .map(|(bbl, bin)| Building {
                    bbl,
                    bin,
                    rows: Vec::new(),
                })
                .collect(),
        };
        for (row, at) in rows.iter().zip(0..) {
            let place = out.place(row.bbl, row.bin);
            if let Some(building) = out.list.get_mut(place as usize) {
                building.rows.push(at);
            }
        }
        out
    }

    /// Every row has a building, so that the search finds one.
    fn place(&self, bbl: u64, bin: u32) -> u32 {
        self.list
            .binary_search_by_key(&(bbl, bin), |b| (b.bbl, b.bin))
            .ok()
            .and_then(|at| u32::try_from(at).ok())
            .unwrap_or(u32::MAX)
    }

    fn write(
        &self,
        rows: &[AddressRow],
        kept: &KeptRows,
        place_of: &HashMap<StreetCode, u32>,
        out: &mut Vec<u8>,
        by_bin: &mut Vec<u8>,
    ) {
        let row = |at: u32| rows.get(at as usize);
        for building in &self.list {
            let chosen = canonical::choose(rows, &building.rows);
            let zip = chosen
                .and_then(row)
                .map(|row| row.zip)
                .filter(|zip| *zip != 0)
                .or_else(|| {
                    let zips = building
                        .rows
                        .iter()
                        .filter_map(|at| row(*at))
                        .map(|r| r.zip);
                    zips.filter(|zip| *zip != 0).min()
                })
                .unwrap_or(0);
            BuildingRecord {
                bbl: building.bbl,
                bin: building.bin,
                row: chosen
                    .and_then(|at| kept.places.get(at as usize).copied())
                    .unwrap_or(NO_ROW),
                street: chosen
                    .and_then(row)
                    .and_then(|row| place_of.get(&row.street).copied())
                    .unwrap_or(0),
                zip,
            }
            .write(out);
        }
        let mut bins: Vec<(u32, u64, u32)> = self
            .list
            .iter()
            .zip(0..)
            .filter(|(b, _)| b.bin != 0)
            .map(|(b, at)| (b.bin, b.bbl, at))
            .collect();
        bins.sort_unstable();
        for (_, _, at) in bins {
            put(by_bin, u64::from(at), 4);
        }
    }
}
