//! The land-use table (PLUTO): its lots, and what they know of the sales' buildings.

use std::collections::HashMap;

use brownstone_domain::Bbl;

use crate::{
    BuildingClass, BuildingKey, Loaded, Lot, Place, ReadError, Sale,
    clean::address,
    index::format::lot_of,
    lot_number,
    read::{
        split::{Fields, Records},
        value::{Number, number},
    },
};

/// Lots by number.
#[derive(Debug, Clone, Default)]
pub struct Lots {
    lots: Vec<Lot>,
    /// House number and street of each lot, folded; beside `lots`.
    streets: Vec<u64>,
}

/// Columns that are read, by the names of the table in lower case. The first is needed.
const NAMES: [&str; 13] = [
    "bbl",
    "latitude",
    "longitude",
    "bldgclass",
    "zipcode",
    "yearbuilt",
    "bldgarea",
    "resarea",
    "lotarea",
    "unitsres",
    "unitstotal",
    "numfloors",
    "address",
];

impl Lots {
    /// Reads the table as delimited text with a header.
    ///
    /// # Errors
    /// When no header names a column `bbl`.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let not_lots = |why| ReadError::NotSales {
            file: name.to_owned(),
            why,
        };
        if u32::try_from(bytes.len()).is_err() {
            return Err(not_lots("it is larger than 4 GiB"));
        }
        let mut records = Records::new(bytes);
        let mut fields = Fields::default();
        records
            .next(&mut fields)
            .ok_or_else(|| not_lots("it is empty"))?;
        let mut columns = [usize::MAX; NAMES.len()];
        for at in 0..fields.len() {
            let cell = fields.get(bytes, at);
            for (slot, known) in columns.iter_mut().zip(NAMES) {
                if cell.eq_ignore_ascii_case(known.as_bytes()) {
                    *slot = at;
                }
            }
        }
        if columns[0] == usize::MAX {
            return Err(not_lots("it has no column of lots (bbl)"));
        }
        let mut rows = Vec::new();
        while records.next(&mut fields).is_some() {
            let cell = |column: usize| {
                columns
                    .get(column)
                    .map(|at| fields.get(bytes, *at))
                    .unwrap_or_default()
            };
            rows.extend(row(&cell));
        }
        Ok(Self::of(rows))
    }

    /// Of several rows of one lot the last counts.
    pub(crate) fn of(mut rows: Vec<(Lot, u64)>) -> Self {
        rows.sort_by_key(|(lot, _)| lot_number(lot.bbl));
        rows.reverse();
        rows.dedup_by_key(|(lot, _)| lot.bbl);
        rows.reverse();
        let (lots, streets) = rows.into_iter().unzip();
        Self { lots, streets }
    }

    /// These lots and the other's; where both have one, the other's.
    pub fn join(self, other: Self) -> Self {
        let rows = |lots: Self| lots.lots.into_iter().zip(lots.streets);
        Self::of(rows(self).chain(rows(other)).collect())
    }

    /// How many lots there are.
    pub fn len(&self) -> usize {
        self.lots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lots.is_empty()
    }

    /// The lots, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Lot> {
        self.lots.iter()
    }

    /// The lots with their folded addresses.
    pub(crate) fn with_streets(&self) -> impl Iterator<Item = (&Lot, u64)> {
        self.lots.iter().zip(self.streets.iter().copied())
    }

    /// The lot.
    pub fn get(&self, bbl: Bbl) -> Option<&Lot> {
        let at = self
            .lots
            .binary_search_by_key(&lot_number(bbl), |lot| lot_number(lot.bbl))
            .ok()?;
        self.lots.get(at)
    }

    /// Fills in what the lots know of the sales: a unit's building, a sale's place (its lot's, else the middle of its
    /// block), and the size, age and units of a building that the sales table leaves out and that stood when it was
    /// sold. A unit is never given its building's size.
    pub fn complete(&self, loaded: &mut Loaded) {
        if self.is_empty() {
            return;
        }
        let blocks = self.blocks();
        let Loaded { sales, texts, .. } = loaded;
        for sale in sales {
            let block = blocks.get(&sale.block());
            if sale.class_at_sale.is_condominium() && sale.bbl.is_unit_lot() {
                let street =
                    address::street_key(texts.bytes(sale.house_number), texts.bytes(sale.street));
                if let Some(billing) = block.and_then(|block| block.billing(street)) {
                    sale.building_bbl = billing;
                    sale.building = BuildingKey(lot_number(billing));
                }
            }
            let lot = self.get(sale.building_bbl);
            sale.place = lot
                .and_then(|lot| lot.place)
                .or(sale.place)
                .or(block.and_then(|block| block.place));
            if let Some(lot) = lot {
                fill(sale, lot);
            }
        }
    }

    fn blocks(&self) -> HashMap<u64, Block> {
        let mut blocks: HashMap<u64, Block> = HashMap::with_capacity(self.lots.len() / 20);
        for (lot, street) in self.lots.iter().zip(&self.streets) {
            let block = blocks.entry(crate::block_of(lot.bbl)).or_default();
            if lot.bbl.is_billing_lot() {
                block.billing.push((lot.bbl, *street));
            }
            // A lot of the block is as near its middle as a quarter mile's search needs.
            block.place = block.place.or(lot.place);
        }
        blocks
    }
}

#[derive(Default)]
struct Block {
    billing: Vec<(Bbl, u64)>,
    place: Option<Place>,
}

impl Block {
    /// The condominium of a unit: the one with its address, else the block's only one.
    fn billing(&self, street: u64) -> Option<Bbl> {
        self.billing
            .iter()
            .find(|(_, own)| *own == street)
            .or(match self.billing.as_slice() {
                [only] => Some(only),
                _ => None,
            })
            .map(|(bbl, _)| *bbl)
    }
}

fn fill(sale: &mut Sale, lot: &Lot) {
    let sold_in = 1970 + sale.date.div_euclid(365);
    // What was built after the sale was not sold.
    if lot.year_built.is_none_or(|year| i32::from(year) > sold_in) {
        return;
    }
    sale.year_built = sale.year_built.or(lot.year_built);
    if !sale.kind().is_unit() && !sale.bbl.is_unit_lot() {
        sale.gross_sqft = sale.gross_sqft.or(lot.building_sqft);
        sale.land_sqft = sale.land_sqft.or(lot.lot_sqft);
        sale.total_units = sale.total_units.or(lot.total_units);
        sale.residential_units = sale.residential_units.or(lot.residential_units);
    }
    sale.zip = sale.zip.or(lot.zip);
}

fn row<'a>(cell: &impl Fn(usize) -> &'a [u8]) -> Option<(Lot, u64)> {
    let bbl = lot_of(number(cell(0)).size::<u64>()?)?;
    let degrees = |column: usize| std::str::from_utf8(cell(column)).ok()?.parse::<f64>().ok();
    let size = |column: usize| number(cell(column)).size::<u32>();
    let place = degrees(1)
        .zip(degrees(2))
        .and_then(|(latitude, longitude)| Place::in_city(latitude, longitude));
    let year = number(cell(5)).size::<u16>();
    let parts = address::split(cell(12), b"");
    let street = address::street_key(parts.house_number, parts.street);
    let floors = degrees(11).filter(|floors| (0.1..200.0).contains(floors));
    let lot = Lot {
        bbl,
        place,
        class: BuildingClass::read(cell(3)),
        zip: size(4).filter(|zip| (10_001..=11_697).contains(zip)),
        year_built: year.filter(|year| (1650..=2100).contains(year)),
        building_sqft: size(6),
        residential_sqft: size(7),
        lot_sqft: size(8),
        residential_units: match number(cell(9)) {
            Number::Is(units) => u32::try_from(units).ok(),
            Number::Blank | Number::Bad => None,
        },
        total_units: size(10),
        // The cast is exact: the number was just checked to be small.
        floors_hundredths: floors.map(|floors| (floors * 100.0).round() as u32),
    };
    Some((lot, street))
}
