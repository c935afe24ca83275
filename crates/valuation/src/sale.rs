//! A closed sale as the city's Department of Finance records it.

use std::fmt;

use brownstone_domain::Bbl;

use crate::{BuildingClass, Kind, Place, Segment, TaxClass};

/// A sale's own number: the same for the same sale in every release, so that it can be kept and asked for again.
///
/// The city gives a sale no number; this one is made of lot, unit, day and price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SaleId(pub u64);

impl fmt::Display for SaleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which building a sale is in: equal numbers are one building.
///
/// The lot's own number, the billing lot's for a condominium that is known, else a number made of block, house number
/// and street (units of one condominium share them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BuildingKey(pub u64);

/// Text kept elsewhere, in [`Texts`] or in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextRef {
    pub(crate) start: u32,
    pub(crate) len: u16,
}

impl TextRef {
    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The texts of many sales, one after another: no sale owns a string.
#[derive(Debug, Clone, Default)]
pub struct Texts(pub(crate) Vec<u8>);

impl Texts {
    /// The text; nothing when it is not of these texts.
    pub fn get(&self, text: TextRef) -> &str {
        std::str::from_utf8(slice(&self.0, text)).unwrap_or_default()
    }

    pub(crate) fn bytes(&self, text: TextRef) -> &[u8] {
        slice(&self.0, text)
    }
}

pub(crate) fn slice(bytes: &[u8], text: TextRef) -> &[u8] {
    let start = text.start as usize;
    bytes
        .get(start..start + usize::from(text.len))
        .unwrap_or_default()
}

/// What is the matter with a sale. The first three keep it from valuing anything: [`Sale::is_usable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No money, or a token price: a transfer, not a sale in the market.
    pub const NON_ARMS_LENGTH: Self = Self(1);
    /// One total, repeated on several lots the same day.
    pub const PACKAGE: Self = Self(2);
    /// The same lot, unit, day and price once more.
    pub const DUPLICATE: Self = Self(4);
    /// The year of construction could not be true and is left out.
    pub const YEAR_IMPOSSIBLE: Self = Self(8);
    /// A size could not be true and is left out.
    pub const SIZE_IMPOSSIBLE: Self = Self(16);
    /// The total also paid for a parking space, a storage unit or the ground beside: those lots are [`Flags::PACKAGE`],
    /// this one is a sale in the market still.
    pub const WITH_EXTRAS: Self = Self(32);
    /// An apartment of a building whose class is a rental's (a land lease, a conversion): its price is not the building's.
    pub const APARTMENT: Self = Self(64);

    const UNUSABLE: Self = Self(Self::NON_ARMS_LENGTH.0 | Self::PACKAGE.0 | Self::DUPLICATE.0);

    /// Each flag with its word in answers.
    pub const NAMES: [(Self, &'static str); 7] = [
        (Self::NON_ARMS_LENGTH, "non_arms_length"),
        (Self::PACKAGE, "package_sale"),
        (Self::DUPLICATE, "duplicate_recording"),
        (Self::YEAR_IMPOSSIBLE, "year_built_impossible"),
        (Self::SIZE_IMPOSSIBLE, "size_impossible"),
        (Self::WITH_EXTRAS, "with_parking_storage_or_land"),
        (Self::APARTMENT, "apartment_of_a_rental_building"),
    ];

    /// Whether any of the flags is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The words of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.has(*flag))
            .map(|(_, name)| name)
    }
}

/// A closed sale. Money is whole US dollars, sizes are square feet, `None` is "not known".
///
/// A size of the city's table is the lot's: for a unit it is the whole building's or nothing, so
/// [`Sale::unit_safe_sqft`] is what prices are divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sale {
    /// Its number.
    pub id: SaleId,
    /// The lot as sold: the unit's own for a condominium, the building's for a co-operative.
    pub bbl: Bbl,
    /// The building's lot: the billing lot where a condominium's is known, else the lot as sold.
    pub building_bbl: Bbl,
    /// The building.
    pub building: BuildingKey,
    /// Day of the sale, counted from 1970-01-01.
    pub date: i32,
    /// Price in whole dollars; 0 is a transfer without money.
    pub price: u64,
    /// Building class when it was sold.
    pub class_at_sale: BuildingClass,
    /// Building class when the release was made.
    pub class_now: BuildingClass,
    /// Tax class when it was sold.
    pub tax_class_at_sale: TaxClass,
    /// Tax class when the release was made.
    pub tax_class_now: TaxClass,
    /// Address without the unit, as published.
    pub address: TextRef,
    /// House number, a part of the address.
    pub house_number: TextRef,
    /// Street, a part of the address, as published.
    pub street: TextRef,
    /// Unit as published, from its own column or from behind the address.
    pub unit: TextRef,
    /// The city's name for the neighbourhood: a place in `Loaded::neighborhoods`.
    pub neighborhood: u16,
    /// Where it is, where the table says so; an index takes the lot's place instead.
    pub place: Option<Place>,
    /// ZIP code.
    pub zip: Option<u32>,
    /// Dwellings.
    pub residential_units: Option<u32>,
    /// Stores, offices and the like.
    pub commercial_units: Option<u32>,
    /// All units.
    pub total_units: Option<u32>,
    /// Area of the lot.
    pub land_sqft: Option<u32>,
    /// Gross floor area of the building.
    pub gross_sqft: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u16>,
    /// What is the matter with it.
    pub flags: Flags,
}

impl Sale {
    /// What kind of property was sold.
    pub fn kind(&self) -> Kind {
        if self.flags.has(Flags::APARTMENT) {
            Kind::Coop
        } else {
            self.class_at_sale.kind()
        }
    }

    /// Which properties it is valued with.
    pub fn segment(&self) -> Segment {
        self.kind().segment()
    }

    /// The tax block: borough and block as one number.
    pub fn block(&self) -> u64 {
        block_of(self.bbl)
    }

    /// Whether it is a sale in the market, recorded once, of one property.
    pub const fn is_usable(&self) -> bool {
        !self.flags.has(Flags::UNUSABLE)
    }

    /// Floor area that the price was paid for: never a building's for a unit.
    pub fn unit_safe_sqft(&self) -> Option<u32> {
        if self.kind().is_unit() {
            None
        } else {
            self.gross_sqft
        }
    }
}

/// A day as sales count it: from 1970-01-01.
pub fn day_number(date: time::Date) -> i32 {
    date.to_julian_day() - crate::read::value::EPOCH
}

/// A lot's number: its ten digits.
pub fn lot_number(bbl: Bbl) -> u64 {
    u64::from(bbl.borough().digit()) * 1_000_000_000
        + u64::from(bbl.block()) * 10_000
        + u64::from(bbl.lot())
}

/// A lot's block: its first six digits.
pub fn block_of(bbl: Bbl) -> u64 {
    lot_number(bbl) / 10_000
}
