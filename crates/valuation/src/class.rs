//! Building classes: what was sold, in the city's own codes, and which of them compare with which.

use std::fmt;

use brownstone_domain::PropertyType;

use crate::estimate::UnitPlace;

/// A building class of the Department of Finance: a letter and a digit or second letter (`A1`, `R4`, `CM`).
///
/// The default is "not known".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BuildingClass([u8; 2]);

/// A tax class: `1`, `1A` to `1D`, `2`, `2A` to `2C`, `3`, `4`. The default is "not known".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TaxClass([u8; 2]);

/// Reads a code of at most two letters or digits; all else is "not known".
fn code(text: &[u8]) -> [u8; 2] {
    let text = text.trim_ascii();
    match text {
        [a] if a.is_ascii_alphanumeric() => [a.to_ascii_uppercase(), b' '],
        [a, b] if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() => {
            [a.to_ascii_uppercase(), b.to_ascii_uppercase()]
        }
        _ => [0; 2],
    }
}

fn text(code: &[u8; 2]) -> &str {
    let all = std::str::from_utf8(code).unwrap_or_default();
    all.trim_end_matches([' ', '\0'])
}

impl BuildingClass {
    /// The class written as `text`; what is no class becomes "not known".
    ///
    /// ```
    /// use brownstone_valuation::BuildingClass;
    /// assert_eq!(BuildingClass::read(b" r4").as_str(), "R4");
    /// assert!(!BuildingClass::read(b"n/a").is_known());
    /// ```
    pub fn read(text: &[u8]) -> Self {
        let code = code(text);
        if code[0].is_ascii_alphabetic() && code[1] != b' ' {
            Self(code)
        } else {
            Self::default()
        }
    }

    /// The two characters, or nothing.
    pub fn as_str(&self) -> &str {
        text(&self.0)
    }

    /// Whether there is a class.
    pub const fn is_known(self) -> bool {
        self.0[0] != 0
    }

    /// The two characters as they are kept in an index; zeros for "not known".
    pub const fn bytes(self) -> [u8; 2] {
        self.0
    }

    /// A class of a condominium's lot: `R0` to `RZ`.
    pub const fn is_condominium(self) -> bool {
        self.0[0] == b'R'
    }

    /// What kind of property the class is.
    pub fn kind(self) -> Kind {
        let letter = self.0[0];
        CLASSES
            .iter()
            .find(|(first, seconds, _)| {
                *first == letter && (seconds.is_empty() || seconds.contains(&self.0[1]))
            })
            .map_or(Kind::Other, |(_, _, kind)| *kind)
    }

    /// Which properties it is valued with.
    pub fn segment(self) -> Segment {
        self.kind().segment()
    }
}

impl TaxClass {
    /// The class written as `text`; what is no class becomes "not known".
    pub fn read(text: &[u8]) -> Self {
        let code = code(text);
        Self(if code[0].is_ascii_digit() {
            code
        } else {
            [0; 2]
        })
    }

    /// The class, or nothing.
    pub fn as_str(&self) -> &str {
        text(&self.0)
    }

    /// The two characters as they are kept in an index.
    pub const fn bytes(self) -> [u8; 2] {
        self.0
    }
}

impl fmt::Display for BuildingClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for TaxClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What kind of property was sold, in the words of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A dwelling for one family.
    SingleFamily = 0,
    /// A dwelling for two families.
    TwoFamily,
    /// A dwelling for three families.
    ThreeFamily,
    /// A rental building of four dwellings or more.
    MultiFamily,
    /// A dwelling unit of a condominium, a tax lot of its own.
    Condo,
    /// An apartment of a co-operative: shares in the building whose lot the sale carries.
    Coop,
    /// An apartment of a co-operative that is itself a unit of a condominium.
    Condop,
    /// Dwellings over a store or office.
    MixedUse,
    /// Vacant land.
    Land,
    /// All else: stores, offices, garages, storage units, parking spaces, hotels.
    Other,
}

/// First letter, second characters (none: all the rest of the letter), kind. The first row that fits decides.
///
/// Codes from the city's list of building classes. `R5`, `R7`, `R8` are commercial condominium units, `RR` a whole
/// rental building in a condominium's form, the lettered `R` classes parking, storage, offices and the like: none is a
/// dwelling.
const CLASSES: &[(u8, &[u8], Kind)] = &[
    (b'A', b"", Kind::SingleFamily),
    (b'B', b"", Kind::TwoFamily),
    (b'C', b"0", Kind::ThreeFamily),
    (b'C', b"68C", Kind::Coop),
    (b'C', b"1234579BM", Kind::MultiFamily),
    (b'D', b"04C", Kind::Coop),
    (b'D', b"12356789B", Kind::MultiFamily),
    (b'R', b"12346", Kind::Condo),
    (b'R', b"9", Kind::Condop),
    (b'S', b"", Kind::MixedUse),
    (b'K', b"4", Kind::MixedUse),
    (b'V', b"", Kind::Land),
];

impl Kind {
    /// The API's `property_type`.
    pub const fn property_type(self) -> PropertyType {
        match self {
            Self::SingleFamily => PropertyType::SingleFamily,
            Self::TwoFamily => PropertyType::TwoFamily,
            Self::ThreeFamily => PropertyType::ThreeFamily,
            Self::MultiFamily => PropertyType::MultiFamily,
            Self::Condo => PropertyType::Condo,
            Self::Coop => PropertyType::Coop,
            Self::Condop => PropertyType::Condop,
            Self::MixedUse => PropertyType::MixedUse,
            Self::Land => PropertyType::Land,
            Self::Other => PropertyType::Other,
        }
    }

    /// The kind that the API's `property_type` means. The city has no class of its own for a townhouse: it is a house.
    pub const fn of(property_type: PropertyType) -> Self {
        match property_type {
            PropertyType::SingleFamily | PropertyType::Townhouse => Self::SingleFamily,
            PropertyType::TwoFamily => Self::TwoFamily,
            PropertyType::ThreeFamily => Self::ThreeFamily,
            PropertyType::MultiFamily => Self::MultiFamily,
            PropertyType::Condo => Self::Condo,
            PropertyType::Coop => Self::Coop,
            PropertyType::Condop => Self::Condop,
            PropertyType::MixedUse => Self::MixedUse,
            PropertyType::Land => Self::Land,
            PropertyType::Other => Self::Other,
        }
    }

    /// The kind of what is sold under a unit's designation. An apartment in a building whose class is a rental's (a land
    /// lease, a conversion) is valued with apartments: its price is not the building's. A bare small number is no
    /// apartment there: the table also writes how many there are.
    #[must_use]
    pub fn with_unit(self, unit: &str) -> Self {
        let unit = unit.trim();
        let small_number = unit.len() < 3 && unit.bytes().all(|b| b.is_ascii_digit());
        if self == Self::MultiFamily && !small_number && UnitPlace::read(unit).key != 0 {
            Self::Coop
        } else {
            self
        }
    }

    /// Which properties it is valued with.
    pub const fn segment(self) -> Segment {
        match self {
            Self::Condo => Segment::Condo,
            Self::Coop | Self::Condop => Segment::Coop,
            Self::SingleFamily | Self::TwoFamily | Self::ThreeFamily => Segment::OneToThree,
            Self::MultiFamily => Segment::FourAndMore,
            Self::MixedUse | Self::Land | Self::Other => Segment::Other,
        }
    }

    /// Whether what is sold is a unit in a building, never the building.
    pub const fn is_unit(self) -> bool {
        matches!(self, Self::Condo | Self::Coop | Self::Condop)
    }
}

/// Properties that are valued with each other. Sales of one segment never price another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Segment {
    /// Dwelling units of condominiums.
    Condo = 0,
    /// Apartments of co-operatives.
    Coop = 1,
    /// Dwellings of one to three families.
    OneToThree = 2,
    /// Rental buildings of four dwellings and more.
    FourAndMore = 3,
    /// All else, which has no value estimate.
    Other = 4,
}

impl Segment {
    /// The four that are valued, and the rest.
    pub const ALL: [Self; 5] = [
        Self::Condo,
        Self::Coop,
        Self::OneToThree,
        Self::FourAndMore,
        Self::Other,
    ];

    /// The word for it in answers and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Condo => "condo",
            Self::Coop => "coop",
            Self::OneToThree => "one_to_three_family",
            Self::FourAndMore => "four_family_and_more",
            Self::Other => "other",
        }
    }

    /// Whether what is sold is a unit in a building.
    pub const fn is_unit(self) -> bool {
        matches!(self, Self::Condo | Self::Coop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dwelling_class_has_its_kind() {
        let rows = [
            (
                "A0 A1 A2 A3 A4 A5 A6 A7 A8 A9",
                Kind::SingleFamily,
                Segment::OneToThree,
            ),
            ("B1 B2 B3 B9", Kind::TwoFamily, Segment::OneToThree),
            ("C0", Kind::ThreeFamily, Segment::OneToThree),
            (
                "C1 C2 C3 C4 C5 C7 C9 CB CM",
                Kind::MultiFamily,
                Segment::FourAndMore,
            ),
            (
                "D1 D2 D3 D5 D6 D7 D8 D9 DB",
                Kind::MultiFamily,
                Segment::FourAndMore,
            ),
            ("C6 C8 CC D0 D4 DC", Kind::Coop, Segment::Coop),
            ("R9", Kind::Condop, Segment::Coop),
            ("R1 R2 R3 R4 R6", Kind::Condo, Segment::Condo),
            (
                "R0 R5 R7 R8 RA RB RG RH RI RK RP RR RS RT RW",
                Kind::Other,
                Segment::Other,
            ),
            ("S0 S1 S2 S3 S4 S5 S9 K4", Kind::MixedUse, Segment::Other),
            ("V0 V1 V9", Kind::Land, Segment::Other),
            (
                "K1 O5 G7 H2 E1 W1 Z9 M1 I5 F9 L1 N2 P5 Q1 T2 U7 Y1",
                Kind::Other,
                Segment::Other,
            ),
        ];
        for (codes, kind, segment) in rows {
            for code in codes.split(' ') {
                let class = BuildingClass::read(code.as_bytes());
                assert_eq!(class.as_str(), code);
                assert_eq!(class.kind(), kind, "{code}");
                assert_eq!(class.segment(), segment, "{code}");
            }
        }
    }

    #[test]
    fn what_is_no_class_is_not_known() {
        for text in ["", " ", "1", "R", "R44", "--", "4A"] {
            let class = BuildingClass::read(text.as_bytes());
            assert!(!class.is_known(), "{text}");
            assert_eq!(class.as_str(), "");
            assert_eq!(class.segment(), Segment::Other);
        }
        assert_eq!(TaxClass::read(b"2A").as_str(), "2A");
        assert_eq!(TaxClass::read(b" 1 ").as_str(), "1");
        assert_eq!(TaxClass::read(b"x").as_str(), "");
    }
}
