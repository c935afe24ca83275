//! What is valued, and what was sold, as the numbers an estimate is made of.

use brownstone_domain::Bbl;

use super::UnitPlace;
use crate::{
    BuildingClass, BuildingKey, Flags, Kind, Loaded, Sale, Segment, Texts, block_of,
    clean::{address::street_key, fold},
    lot_number,
};

/// A property whose value is asked for. Sizes are square feet; `None` is "not known".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subject {
    /// The lot's number: the unit's own for a condominium, the building's for a co-operative.
    pub lot: u64,
    /// The building; the same number as its sales carry.
    pub building: BuildingKey,
    /// Building class.
    pub class: BuildingClass,
    /// What kind of property it is.
    pub kind: Kind,
    /// Where a unit is in its building.
    pub unit: UnitPlace,
    /// The street, folded; 0 when not known.
    pub street: u64,
    /// House number on that street; a range is its first number.
    pub house_number: Option<u32>,
    /// The city's neighbourhood, folded; 0 when not known: that of the block's last sale is taken then.
    pub neighborhood: u64,
    /// ZIP code.
    pub zip: Option<u32>,
    /// Dwellings and other units: see [`Subject::set_units`].
    pub units: Option<u32>,
    /// Gross floor area of the building; never used for a unit.
    pub gross_sqft: Option<u32>,
    /// Area of the lot.
    pub land_sqft: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u16>,
}

/// A closed sale as evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What was sold, as it was then.
    pub subject: Subject,
    /// Day of the sale, counted from 1970-01-01.
    pub date: i32,
    /// Natural logarithm of the price in dollars.
    pub log_price: f64,
}

impl Subject {
    /// A subject of which only lot and class are known.
    pub fn new(bbl: Bbl, class: BuildingClass) -> Self {
        Self {
            lot: lot_number(bbl),
            building: BuildingKey(lot_number(bbl)),
            class,
            kind: class.kind(),
            unit: UnitPlace::default(),
            street: 0,
            house_number: None,
            neighborhood: 0,
            zip: None,
            units: None,
            gross_sqft: None,
            land_sqft: None,
            year_built: None,
        }
    }

    /// The property that a sale sold.
    pub fn of_sale(sale: &Sale, texts: &Texts, neighborhoods: &[String]) -> Self {
        let name = neighborhoods
            .get(usize::from(sale.neighborhood))
            .map_or("", String::as_str);
        let mut subject = Self::new(sale.bbl, sale.class_at_sale);
        subject.building = sale.building;
        subject.set_unit(texts.get(sale.unit));
        if sale.flags.has(Flags::APARTMENT) {
            subject.set_kind(sale.kind());
        }
        subject.set_street(texts.get(sale.house_number), texts.get(sale.street));
        subject.set_neighborhood(name);
        subject.zip = sale.zip;
        subject.set_units(sale.total_units, sale.residential_units);
        // A size is never a unit's: it is its building's.
        subject.gross_sqft = sale.gross_sqft.filter(|_| !subject.kind.is_unit());
        subject.land_sqft = sale.land_sqft.filter(|_| !subject.kind.is_unit());
        subject.year_built = sale.year_built;
        subject
    }

    /// Says which unit of the building it is, and with that what kind it is: see [`Kind::with_unit`].
    pub fn set_unit(&mut self, text: &str) {
        self.unit = UnitPlace::read(text);
        self.set_kind(self.kind.with_unit(text));
    }

    fn set_kind(&mut self, kind: Kind) {
        if kind != self.kind {
            self.kind = kind;
            self.gross_sqft = None;
            self.land_sqft = None;
        }
    }

    /// Says how many units it has. Training and serving call this one function, so they cannot differ. A unit is not its
    /// building: sales of a condominium's units all say one, and those of a co-operative's apartments say nothing.
    pub fn set_units(&mut self, total: Option<u32>, residential: Option<u32>) {
        self.units = match self.kind {
            Kind::Condo => Some(1),
            Kind::Coop | Kind::Condop => None,
            _ => total.or(residential).filter(|units| *units > 0),
        };
    }

    /// Says on which street and at which number it stands.
    pub fn set_street(&mut self, house_number: &str, street: &str) {
        self.street = if street.trim().is_empty() {
            0
        } else {
            street_key(b"", street.as_bytes()).max(1)
        };
        self.house_number = house(house_number, self.borough() == 4);
    }

    /// Says which neighbourhood it is in, by the city's name for it.
    pub fn set_neighborhood(&mut self, name: &str) {
        let name = name.trim();
        self.neighborhood = if name.is_empty() {
            0
        } else {
            fold(name.bytes().map(|b| b.to_ascii_uppercase())).max(1)
        };
    }

    /// Whether its rents are likely regulated: six dwellings and more, built before 1974. The city publishes no list, but
    /// these two decide it, and such a building is worth a quarter less.
    pub fn is_stabilized(&self) -> bool {
        self.units.is_some_and(|units| units >= 6)
            && self.year_built.is_some_and(|year| year < 1974)
    }

    /// Whether it is an elevator building: class D.
    pub fn has_elevator(&self) -> bool {
        self.class.bytes()[0] == b'D'
    }

    /// Whether its class says that there are stores in it, beside the dwellings.
    pub fn has_stores(&self) -> bool {
        matches!(&self.class.bytes(), b"C7" | b"D6" | b"D7")
    }

    /// Which properties it is valued with.
    pub fn segment(&self) -> Segment {
        self.kind.segment()
    }

    /// The tax block: borough and block as one number.
    pub const fn block(&self) -> u64 {
        self.lot / 10_000
    }

    /// The borough's digit.
    pub const fn borough(&self) -> u64 {
        self.lot / 1_000_000_000
    }

    /// What changes hands as one: the lot, and in a co-operative the apartment.
    pub const fn ownership(&self) -> u64 {
        if matches!(self.kind.segment(), Segment::Coop) {
            mix(self.lot, self.unit.key)
        } else {
            self.lot
        }
    }
}

impl Observation {
    /// A sale as evidence; nothing when it is none (no market sale, or of a kind that is not valued).
    pub fn of_sale(sale: &Sale, texts: &Texts, neighborhoods: &[String]) -> Option<Self> {
        if !sale.is_usable() || sale.segment() == Segment::Other {
            return None;
        }
        let subject = Subject::of_sale(sale, texts, neighborhoods);
        Some(Self {
            subject,
            date: sale.date,
            log_price: (sale.price as f64).ln(),
        })
    }

    /// All that are evidence in a list of sales, with the place of each in the list.
    pub fn all(loaded: &Loaded) -> Vec<(usize, Self)> {
        loaded
            .sales
            .iter()
            .enumerate()
            .filter_map(|(at, sale)| {
                let observation = Self::of_sale(sale, &loaded.texts, &loaded.neighborhoods)?;
                Some((at, observation))
            })
            .collect()
    }
}

/// Two numbers as one, so that different pairs hardly ever meet.
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    let wide =
        (a ^ 0x9e37_79b9_7f4a_7c15) as u128 * (b.rotate_left(32) ^ 0xa076_1d64_78bd_642f) as u128;
    (wide >> 64) as u64 ^ wide as u64
}

/// A house number as a place on its street. In Queens `142-20` is number 20 behind 142nd Street.
fn house(text: &str, queens: bool) -> Option<u32> {
    let mut parts = text.split('-').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok().filter(|n| *n < 100_000)
    });
    let first = parts.next()??;
    match parts.next() {
        Some(Some(second)) if queens && second < 100 => Some(first * 100 + second),
        _ => Some(first),
    }
}

/// The lot's block, for a caller that has a lot and no subject.
pub fn block_number(bbl: Bbl) -> u64 {
    block_of(bbl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn house_numbers() {
        assert_eq!(house("445", false), Some(445));
        assert_eq!(house("445A", false), Some(445));
        assert_eq!(house("142-20", true), Some(14_220));
        assert_eq!(house("21-23", false), Some(21));
        assert_eq!(house("", false), None);
        assert_eq!(house("N/A", true), None);
    }

    #[test]
    fn an_apartment_in_a_rental_building_is_no_building() {
        let mut flat = Subject::new("1000160195".parse().unwrap(), BuildingClass::read(b"D8"));
        flat.gross_sqft = Some(356_483);
        flat.set_unit("20");
        assert_eq!(flat.segment(), Segment::FourAndMore);
        flat.set_unit("11N");
        assert_eq!((flat.segment(), flat.gross_sqft), (Segment::Coop, None));
    }

    #[test]
    fn an_apartment_of_a_cooperative_changes_hands_by_itself() {
        let bbl = "1008350041".parse().unwrap();
        let mut flat = Subject::new(bbl, BuildingClass::read(b"D4"));
        flat.unit = UnitPlace::read("4C");
        let mut other = flat;
        other.unit = UnitPlace::read("5C");
        assert_ne!(flat.ownership(), other.ownership());
        assert_eq!(flat.block(), 100_835);
        assert_eq!(flat.borough(), 1);
        let house = Subject::new(bbl, BuildingClass::read(b"A1"));
        assert_eq!(house.ownership(), house.lot);
    }
}
