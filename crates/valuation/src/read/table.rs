//! One file's sales: its rows read through its columns, its texts in one place.

use std::collections::HashMap;

use brownstone_domain::{Bbl, Borough};

use super::{
    columns::{Column, Columns},
    split::Fields,
    value::{Evidence, Number, RawDate, date, number},
};
use crate::{
    BuildingClass, BuildingKey, Flags, Place, Reason, Sale, SaleId, TaxClass, TextRef, Texts,
    clean::{
        Exclusions,
        address::{self, Parts},
    },
    sale::lot_number,
};

/// A row: the sale as far as it is known, and what is needed to know the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) sale: Sale,
    pub(crate) date: RawDate,
    /// Of all cells: equal rows have equal prints.
    pub(crate) print: u64,
}

/// The rows of one file or one answer.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    pub(crate) texts: Texts,
    pub(crate) neighborhoods: Names,
    pub(crate) evidence: Evidence,
    pub(crate) exclusions: Exclusions,
    /// Data rows seen, blank ones included.
    pub(crate) seen: u64,
}

/// Names that many rows share, by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) list: Vec<String>,
    numbers: HashMap<Vec<u8>, u16>,
    last: Option<(Vec<u8>, u16)>,
}

impl Names {
    /// The name's number. The files are sorted by neighbourhood, so the last answer is mostly the next.
    pub(crate) fn number(&mut self, name: &[u8]) -> u16 {
        if let Some((last, number)) = &self.last
            && last.as_slice() == name
        {
            return *number;
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                // A table has some 250 names; past 65,535 all share the last.
                let number = u16::try_from(self.list.len()).unwrap_or(u16::MAX);
                self.list.push(String::from_utf8_lossy(name).into_owned());
                self.numbers.insert(name.to_vec(), number);
                number
            }
        };
        self.last = Some((name.to_vec(), number));
        number
    }
}

impl Table {
    /// Reads one record.
    pub(crate) fn push(&mut self, columns: &Columns, bytes: &[u8], fields: &Fields, print: u64) {
        self.seen += 1;
        if fields.len() < columns.width() {
            let reason = if fields.is_blank(bytes) {
                Reason::EmptyRow
            } else {
                Reason::Ragged
            };
            self.exclusions.add(reason);
            return;
        }
        let cell = |column: Column| {
            columns
                .get(column)
                .map(|at| fields.get(bytes, at))
                .unwrap_or_default()
        };
        let Some(bbl) = lot(&cell) else {
            let reason = if fields.is_blank(bytes) {
                Reason::EmptyRow
            } else {
                Reason::ImpossibleLot
            };
            self.exclusions.add(reason);
            return;
        };
        let date = date(cell(Column::Date));
        if date == RawDate::Bad {
            self.exclusions.add(Reason::ImpossibleDate);
            return;
        }
        let price = match number(cell(Column::Price)) {
            Number::Is(price) => price,
            Number::Blank | Number::Bad => {
                self.exclusions.add(Reason::UnreadablePrice);
                return;
            }
        };
        self.evidence.see(date);
        let count = |column: Column| number(cell(column)).narrow::<u32>();
        let size = |column: Column| number(cell(column)).size::<u32>();
        let class_now = BuildingClass::read(cell(Column::ClassNow));
        let class_at_sale = BuildingClass::read(cell(Column::ClassAtSale));
        let mut flags = Flags::default();
        let mut checked = |value: Option<u32>, most: u32, flag: Flags| match value {
            Some(value) if value > most => {
                flags.set(flag);
                None
            }
            other => other,
        };
        let land_sqft = checked(size(Column::LandSqft), MOST_SQFT, Flags::SIZE_IMPOSSIBLE);
        let gross_sqft = checked(size(Column::GrossSqft), MOST_SQFT, Flags::SIZE_IMPOSSIBLE);
        let mut year_built = number(cell(Column::YearBuilt)).size::<u16>();
        if year_built.is_some_and(|year| !(FIRST_YEAR..=LAST_YEAR).contains(&year)) {
            year_built = None;
            flags.set(Flags::YEAR_IMPOSSIBLE);
        }
        let raw_address = cell(Column::Address);
        let parts = address::split(raw_address, cell(Column::Unit));
        if parts.unit_in_address {
            self.exclusions.add(Reason::UnitInAddress);
        }
        let [address, house_number, street, unit] = self.keep(&parts);
        let neighborhood = self.neighborhoods.number(cell(Column::Neighborhood));
        let sale = Sale {
            id: SaleId(0),
            bbl,
            building_bbl: bbl,
            building: BuildingKey(lot_number(bbl)),
            date: 0,
            price,
            class_at_sale: if class_at_sale.is_known() {
                class_at_sale
            } else {
                class_now
            },
            class_now,
            tax_class_at_sale: TaxClass::read(cell(Column::TaxClassAtSale)),
            tax_class_now: TaxClass::read(cell(Column::TaxClassNow)),
            address,
            house_number,
            street,
            unit,
            neighborhood,
            place: place(cell(Column::Latitude), cell(Column::Longitude)),
            zip: count(Column::Zip).filter(|zip| (10_001..=11_697).contains(zip)),
            residential_units: count(Column::ResidentialUnits),
            commercial_units: count(Column::CommercialUnits),
            total_units: size(Column::TotalUnits),
            land_sqft,
            gross_sqft,
            year_built,
            flags,
        };
        self.rows.push(Row { sale, date, print });
    }

    /// Keeps the address's texts; house number and street are parts of the address and take no place of their own.
    fn keep(&mut self, parts: &Parts<'_>) -> [TextRef; 4] {
        let address = self.put(parts.address);
        let within = |start: usize, text: &[u8]| TextRef {
            start: address.start + u32::try_from(start).unwrap_or(0),
            len: u16::try_from(text.len()).unwrap_or(0),
        };
        // Bytes that are no text would shift the parts; such an address is kept whole only.
        let whole = usize::from(address.len) == parts.address.len();
        let (house, street) = if whole {
            (
                within(0, parts.house_number),
                within(parts.address.len() - parts.street.len(), parts.street),
            )
        } else {
            (TextRef::default(), TextRef::default())
        };
        let unit = self.put(parts.unit);
        [address, house, street, unit]
    }

    fn put(&mut self, text: &[u8]) -> TextRef {
        if text.is_empty() {
            return TextRef::default();
        }
        let start = self.texts.0.len();
        match std::str::from_utf8(text) {
            Ok(_) => self.texts.0.extend_from_slice(text),
            Err(_) => self
                .texts
                .0
                .extend_from_slice(String::from_utf8_lossy(text).as_bytes()),
        }
        let kept = |start: usize, len: usize| {
            Some(TextRef {
                start: u32::try_from(start).ok()?,
                len: u16::try_from(len).ok()?,
            })
        };
        let len = self.texts.0.len() - start;
        // A cell of more than 65,535 bytes is no address.
        kept(start, len).unwrap_or_default()
    }
}

/// More floor area or land than any lot of the city has: 16 million square feet is Stuyvesant Town and its park.
const MOST_SQFT: u32 = 20_000_000;
/// The oldest houses that still stand are of the 1660s; earlier years are slips of the keyboard.
const FIRST_YEAR: u16 = 1650;
/// Later years are slips, too.
const LAST_YEAR: u16 = 2100;

fn place(latitude: &[u8], longitude: &[u8]) -> Option<Place> {
    let degrees = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    Place::in_city(degrees(latitude)?, degrees(longitude)?)
}

fn lot<'a>(cell: &impl Fn(Column) -> &'a [u8]) -> Option<Bbl> {
    let parts = || {
        let borough = borough(cell(Column::Borough))?;
        let block = number(cell(Column::Block)).size::<u32>()?;
        let lot = number(cell(Column::Lot)).size::<u16>()?;
        Bbl::new(borough, block, lot).ok()
    };
    parts().or_else(|| {
        let all = number(cell(Column::Bbl)).size::<u64>()?;
        let borough = Borough::from_digit(u8::try_from(all / 1_000_000_000).ok()?)?;
        let block = u32::try_from(all / 10_000 % 100_000).ok()?;
        let lot = u16::try_from(all % 10_000).ok()?;
        Bbl::new(borough, block, lot).ok()
    })
}

/// A borough by its digit, or by its name as older answers print it.
fn borough(text: &[u8]) -> Option<Borough> {
    match text {
        [digit @ b'1'..=b'5'] => Borough::from_digit(digit - b'0'),
        _ => Borough::ALL.into_iter().find(|borough| {
            text.eq_ignore_ascii_case(borough.name().as_bytes())
                || text.eq_ignore_ascii_case(borough.letters().as_bytes())
        }),
    }
}
