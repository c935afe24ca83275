//! The city's identifiers: borough, tax lot (BBL), building (BIN), ZIP.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Text that is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} expected, got {got:?}: {why}")]
pub struct IdError {
    /// The identifier's name.
    pub what: &'static str,
    /// What was given instead, cut to 40 characters.
    pub got: String,
    /// What is allowed.
    pub why: &'static str,
}

fn fault(what: &'static str, got: &str, why: &'static str) -> IdError {
    IdError {
        what,
        got: got.chars().take(40).collect(),
        why,
    }
}

/// Drops the decimals that some datasets print after an identifier: `1008350041.00000000` is `1008350041`.
fn without_decimals(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

/// One of the five boroughs, by the city's digit; stored as that digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
#[repr(u8)]
pub enum Borough {
    /// New York County.
    Manhattan = 1,
    /// Bronx County.
    Bronx = 2,
    /// Kings County.
    Brooklyn = 3,
    /// Queens County.
    Queens = 4,
    /// Richmond County.
    StatenIsland = 5,
}

impl Borough {
    /// All five, by digit.
    pub const ALL: [Self; 5] = [
        Self::Manhattan,
        Self::Bronx,
        Self::Brooklyn,
        Self::Queens,
        Self::StatenIsland,
    ];

    /// The borough with this digit.
    ///
    /// ```
    /// use brownstone_domain::Borough;
    /// assert_eq!(Borough::from_digit(3), Some(Borough::Brooklyn));
    /// assert_eq!(Borough::from_digit(6), None);
    /// ```
    pub const fn from_digit(digit: u8) -> Option<Self> {
        match digit {
            1 => Some(Self::Manhattan),
            2 => Some(Self::Bronx),
            3 => Some(Self::Brooklyn),
            4 => Some(Self::Queens),
            5 => Some(Self::StatenIsland),
            _ => None,
        }
    }

    /// The city's digit, 1 to 5.
    pub const fn digit(self) -> u8 {
        self as u8
    }

    /// `Manhattan`, `Bronx`, `Brooklyn`, `Queens`, `Staten Island`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manhattan => "Manhattan",
            Self::Bronx => "Bronx",
            Self::Brooklyn => "Brooklyn",
            Self::Queens => "Queens",
            Self::StatenIsland => "Staten Island",
        }
    }

    /// The two letters some datasets use: `MN`, `BX`, `BK`, `QN`, `SI`.
    pub const fn letters(self) -> &'static str {
        match self {
            Self::Manhattan => "MN",
            Self::Bronx => "BX",
            Self::Brooklyn => "BK",
            Self::Queens => "QN",
            Self::StatenIsland => "SI",
        }
    }
}

impl From<Borough> for u8 {
    fn from(borough: Borough) -> Self {
        borough.digit()
    }
}

impl TryFrom<u8> for Borough {
    type Error = IdError;

    fn try_from(digit: u8) -> Result<Self, IdError> {
        Self::from_digit(digit).ok_or_else(|| fault("borough", &digit.to_string(), "1 to 5"))
    }
}

impl fmt::Display for Borough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A tax lot: borough digit, five digits of block, four of lot. Written as ten digits.
///
/// Reading accepts what people and datasets write: ten digits, with decimals (`1008350041.00000000`), or borough, block
/// and lot as separate parts (`1-00835-0041`, `1/835/41`, `1 835 41`).
///
/// ```
/// use brownstone_domain::Bbl;
/// let bbl: Bbl = "1008350041.00000000".parse().unwrap();
/// assert_eq!((bbl.borough().digit(), bbl.block(), bbl.lot()), (1, 835, 41));
/// assert_eq!(bbl, "1-00835-0041".parse().unwrap());
/// assert!("1000000000".parse::<Bbl>().is_err(), "block and lot start at 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bbl {
    borough: Borough,
    block: u32,
    lot: u16,
}

impl Bbl {
    /// The lot with these parts: block 1 to 99,999, lot 1 to 9,999.
    ///
    /// # Errors
    /// When block or lot is outside its range.
    pub fn new(borough: Borough, block: u32, lot: u16) -> Result<Self, IdError> {
        if !(1..=99_999).contains(&block) {
            return Err(fault("BBL", &block.to_string(), "block is 1 to 99999"));
        }
        if !(1..=9_999).contains(&lot) {
            return Err(fault("BBL", &lot.to_string(), "lot is 1 to 9999"));
        }
        Ok(Self {
            borough,
            block,
            lot,
        })
    }

    /// Borough of the lot.
    pub const fn borough(self) -> Borough {
        self.borough
    }

    /// Tax block, unpadded.
    pub const fn block(self) -> u32 {
        self.block
    }

    /// Tax lot, unpadded.
    pub const fn lot(self) -> u16 {
        self.lot
    }

    /// A condominium's billing lot (7501 upward): the building, not a unit.
    pub const fn is_billing_lot(self) -> bool {
        self.lot >= 7501
    }

    /// A condominium's unit lot (1001 to 6999).
    pub const fn is_unit_lot(self) -> bool {
        self.lot >= 1001 && self.lot <= 6999
    }
}

impl fmt::Display for Bbl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{:05}{:04}",
            self.borough.digit(),
            self.block,
            self.lot
        )
    }
}

impl FromStr for Bbl {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        const WHY: &str = "ten digits, borough 1 to 5, block and lot above zero";
        let trimmed = without_decimals(text.trim());
        let bad = || fault("BBL", text, WHY);
        let parts: Vec<&str> = trimmed
            .split(['-', '/', ' '])
            .filter(|part| !part.is_empty())
            .collect();
        let digits = |part: &str, most: usize| -> Result<u32, IdError> {
            if part.len() > most || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(bad());
            }
            part.parse().map_err(|_| bad())
        };
        let (borough, block, lot) = match parts.as_slice() {
            [all] if all.len() == 10 && all.is_ascii() => (
                digits(&all[..1], 1)?,
                digits(&all[1..6], 5)?,
                digits(&all[6..], 4)?,
            ),
            [borough, block, lot] => (digits(borough, 1)?, digits(block, 5)?, digits(lot, 5)?),
            _ => return Err(bad()),
        };
        let borough = u8::try_from(borough)
            .ok()
            .and_then(Borough::from_digit)
            .ok_or_else(bad)?;
        let lot = u16::try_from(lot).map_err(|_| bad())?;
        Self::new(borough, block, lot).map_err(|_| bad())
    }
}

/// A building: seven digits, the first its borough's.
///
/// A borough digit followed by six zeros is the city's placeholder for "no building" and is refused.
///
/// ```
/// use brownstone_domain::Bin;
/// let bin: Bin = "1015862".parse().unwrap();
/// assert_eq!(bin.borough().name(), "Manhattan");
/// assert!("1000005".parse::<Bin>().is_ok(), "only exactly six zeros is a placeholder");
/// assert!("3000000".parse::<Bin>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bin(u32);

impl Bin {
    /// Borough of the building.
    pub const fn borough(self) -> Borough {
        match self.0 / 1_000_000 {
            1 => Borough::Manhattan,
            2 => Borough::Bronx,
            3 => Borough::Brooklyn,
            4 => Borough::Queens,
            _ => Borough::StatenIsland,
        }
    }

    /// The number itself, for columns that hold it as one.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// A temporary number of the buildings department (second digit 8), unknown to the city's address files.
    pub const fn is_temporary(self) -> bool {
        self.0 / 100_000 % 10 == 8
    }
}

impl fmt::Display for Bin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:07}", self.0)
    }
}

impl FromStr for Bin {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let trimmed = without_decimals(text.trim());
        if trimmed.len() != 7 || !trimmed.bytes().all(|b| b.is_ascii_digit()) {
            return Err(fault("BIN", text, "seven digits"));
        }
        let number: u32 = trimmed
            .parse()
            .map_err(|_| fault("BIN", text, "seven digits"))?;
        if !(1..=5).contains(&(number / 1_000_000)) {
            return Err(fault("BIN", text, "the first digit is a borough, 1 to 5"));
        }
        if number.is_multiple_of(1_000_000) {
            return Err(fault("BIN", text, "a placeholder that names no building"));
        }
        Ok(Self(number))
    }
}

/// A five-digit ZIP code.
///
/// ```
/// use brownstone_domain::Zip;
/// assert_eq!("10118-0110".parse::<Zip>().unwrap().to_string(), "10118");
/// assert!("1011".parse::<Zip>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Zip(u32);

impl fmt::Display for Zip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:05}", self.0)
    }
}

impl FromStr for Zip {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        const WHY: &str = "five digits, or nine as ZIP+4";
        let bad = || fault("ZIP", text, WHY);
        let trimmed = text.trim();
        let (five, four) = match trimmed.split_once('-') {
            Some((five, four)) => (five, Some(four)),
            None if trimmed.len() == 9 && trimmed.is_ascii() => {
                (&trimmed[..5], Some(&trimmed[5..]))
            }
            None => (trimmed, None),
        };
        let all_digits =
            |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(five, 5) || four.is_some_and(|four| !all_digits(four, 4)) {
            return Err(bad());
        }
        five.parse().map(Self).map_err(|_| bad())
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    )*};
}

as_text!(Bbl, Bin, Zip);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bbl_reads_back_from_each_way_of_writing_it(b in 1u8..=5, block in 1u32..=99_999, lot in 1u16..=9_999) {
            let bbl = Bbl::new(Borough::from_digit(b).unwrap(), block, lot).unwrap();
            for text in [
                bbl.to_string(),
                format!("{bbl}.00000000"),
                format!("{b}-{block}-{lot}"),
                format!("{b}-{block:05}-{lot:04}"),
                format!("{b}/{block}/{lot}"),
                format!("{b} {block:05} {lot:05}"),
            ] {
                prop_assert_eq!(text.parse::<Bbl>().unwrap(), bbl);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Bbl>();
            let _ = text.parse::<Bin>();
            let _ = text.parse::<Zip>();
        }

        #[test]
        fn a_bin_is_read_unless_it_is_a_placeholder(n in 0u32..=9_999_999) {
            let valid = (1..=5).contains(&(n / 1_000_000)) && n % 1_000_000 != 0;
            let read = format!("{n:07}").parse::<Bin>();
            prop_assert_eq!(read.is_ok(), valid);
            if let Ok(bin) = read {
                prop_assert_eq!(u32::from(bin.borough().digit()), n / 1_000_000);
                prop_assert_eq!(bin.to_string(), format!("{n:07}"));
            }
        }
    }

    #[test]
    fn decimals_other_than_zero_are_no_identifier() {
        assert!("1008350041.5".parse::<Bbl>().is_err());
        assert!("1015862.1".parse::<Bin>().is_err());
    }
}
