//! What a word can mean in an address: one table, one look-up for each word.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::LazyLock,
};

/// A street type: `AVENUE`, and everything that is written for it.
pub(crate) const TYPE: u16 = 1;
/// A street's whole name, or its last word: `BROADWAY`, `BOWERY`.
pub(crate) const ALONE: u16 = 1 << 1;
/// A compass direction.
pub(crate) const DIRECTION: u16 = 1 << 2;
/// A number word such as `FIVE`.
pub(crate) const CARDINAL: u16 = 1 << 3;
/// A number word such as `FIFTH`.
pub(crate) const ORDINAL: u16 = 1 << 4;
/// Starts a unit wherever it stands after the street: `APT`.
pub(crate) const UNIT: u16 = 1 << 5;
/// Starts a unit only after a complete street, since streets are named so too: `FRONT`, `SLIP`.
pub(crate) const UNIT_AFTER_STREET: u16 = 1 << 6;
/// A floor, whose number may stand before it.
pub(crate) const FLOOR: u16 = 1 << 7;
/// Noise of a designator, dropped from the unit: `APT`, `NO`.
pub(crate) const NOISE: u16 = 1 << 8;
/// Part of a house number: `REAR`, `GARAGE`.
pub(crate) const HOUSE_SUFFIX: u16 = 1 << 9;
/// Another spelling, replaced wherever it stands: `BLDG`.
pub(crate) const SPELLING: u16 = 1 << 10;
/// Joins two streets: `AND`, `AT`.
pub(crate) const CROSS: u16 = 1 << 11;
/// Says that what follows is between or near other streets.
pub(crate) const NEAR: u16 = 1 << 12;

/// What a word can mean.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Word {
    /// The constants above, together.
    pub(crate) is: u16,
    /// The word in full, where it is short for something.
    pub(crate) full: &'static str,
    /// The value of a number word.
    pub(crate) number: u8,
}

impl Word {
    pub(crate) const fn any(self, flags: u16) -> bool {
        self.is & flags != 0
    }
}

/// A word of the text with its meanings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) word: Word,
}

impl<'a> Token<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            word: WORDS.get(text).copied().unwrap_or_default(),
        }
    }

    pub(crate) const fn any(&self, flags: u16) -> bool {
        self.word.any(flags)
    }

    pub(crate) fn is_break(&self) -> bool {
        self.text == ","
    }

    pub(crate) fn first_byte(&self) -> u8 {
        self.text.bytes().next().unwrap_or(b' ')
    }

    pub(crate) fn starts_with_digit(&self) -> bool {
        self.first_byte().is_ascii_digit()
    }

    pub(crate) fn all_digits(&self) -> bool {
        self.text.bytes().all(|b| b.is_ascii_digit())
    }

    pub(crate) fn is_letter(&self) -> bool {
        self.text.len() == 1 && self.first_byte().is_ascii_uppercase()
    }

    /// `5`, `5TH`: a number as a street's name has it.
    pub(crate) fn is_street_number(&self) -> bool {
        let digits = self.text.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0
            && matches!(
                self.text.get(digits..),
                Some("" | "ST" | "ND" | "RD" | "TH")
            )
    }
}

/// The words of a cleaned text.
pub(crate) fn tokens(clean: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::with_capacity(16);
    tokens.extend(clean.split(' ').filter(|w| !w.is_empty()).map(Token::new));
    tokens
}

/// A hasher for short words of our own tables: no one chooses them to collide, since the tables are fixed and what is
/// looked up is at most 200 characters.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

/// A map from fixed words.
pub(crate) type WordMap<V> = HashMap<&'static str, V, BuildHasherDefault<WordHasher>>;

static WORDS: LazyLock<WordMap<Word>> = LazyLock::new(|| {
    let mut words: WordMap<Word> = HashMap::default();
    for (flags, full, spellings) in TABLE {
        for text in std::iter::once(*full).chain(spellings.split(' ')) {
            if text.is_empty() {
                continue;
            }
            let word = words.entry(text).or_default();
            word.is |= flags;
            if word.full.is_empty() {
                word.full = full;
            }
        }
    }
    for (number, cardinal, ordinal) in NUMBERS {
        for (text, flag) in [(cardinal, CARDINAL), (ordinal, ORDINAL)] {
            let word = words.entry(text).or_default();
            word.is |= flag;
            word.number = *number;
        }
    }
    words
});

/// Meaning, the word in full, and what else is written for it.
const TABLE: &[(u16, &str, &str)] = &[
    (TYPE, "STREET", "STR STRT STREEET STEET SREET"),
    (TYPE, "AVENUE", "AVE AV AVEN AVENU AVN AVNUE AVES"),
    (TYPE, "BOULEVARD", "BLVD BLV BL BOUL BVD BLVRD"),
    (TYPE, "DRIVE", "DR DRV DRI"),
    (TYPE, "PLACE", "PL PLC"),
    (TYPE, "ROAD", "RD ROD"),
    (TYPE, "LANE", "LN LA"),
    (TYPE, "COURT", "CT CRT"),
    (TYPE, "TERRACE", "TER TERR TERRA"),
    (TYPE, "PARKWAY", "PKWY PKY PWY PARKWY PKWAY PKW"),
    (TYPE, "HIGHWAY", "HWY HIGHWY HGWY"),
    (TYPE, "EXPRESSWAY", "EXPY EXPWY EXPR EXPRESSWY EXP EXWY"),
    (TYPE, "SQUARE", "SQ SQR SQU"),
    (TYPE, "PLAZA", "PLZ PLZA"),
    (TYPE, "TURNPIKE", "TPKE TNPK TPK TURNPK"),
    (TYPE, "CIRCLE", "CIR CIRC CRCL"),
    (TYPE, "CONCOURSE", "CONC CONCRSE"),
    (TYPE, "CRESCENT", "CRES CRESC CR"),
    (TYPE, "ALLEY", "ALY"),
    (TYPE, "EXTENSION", "EXT EXTN"),
    (TYPE, "HEIGHTS", "HTS HGTS"),
    (TYPE, "GARDENS", "GDNS"),
    (TYPE, "PARK", "PK"),
    (TYPE, "ROW", ""),
    (TYPE, "WAY", ""),
    (TYPE, "SERVICE", "SR"),
    (TYPE, "WALK", ""),
    (TYPE, "LOOP", ""),
    (TYPE, "OVAL", ""),
    (TYPE, "MEWS", ""),
    (TYPE, "PATH", ""),
    (TYPE, "VILLAGE", "VLG"),
    (TYPE, "LANDING", "LNDG"),
    (TYPE, "ESPLANADE", ""),
    (TYPE, "PROMENADE", ""),
    (TYPE, "GREEN", "GRN"),
    (TYPE, "GREENWAY", ""),
    (TYPE, "APPROACH", ""),
    (TYPE, "BRIDGE", "BRG"),
    (TYPE, "SLIP", ""),
    (ALONE, "BROADWAY", "BWAY BDWAY BDWY BWY BROADWY"),
    (ALONE, "BOWERY", ""),
    (DIRECTION, "NORTH", "N NO"),
    (DIRECTION, "SOUTH", "S SO"),
    (DIRECTION, "EAST", "E"),
    (DIRECTION, "WEST", "W"),
    (DIRECTION, "NORTHEAST", "NE"),
    (DIRECTION, "NORTHWEST", "NW"),
    (DIRECTION, "SOUTHEAST", "SE"),
    (DIRECTION, "SOUTHWEST", "SW"),
    (UNIT | NOISE, "APARTMENT", "APT APPT APMT APTMT APTNO APTO"),
    (UNIT | NOISE, "UNIT", "UNT UNITS"),
    (UNIT | NOISE, "SUITE", "STE SUIT SUITES"),
    (UNIT | NOISE, "ROOM", "RM ROOMS RMS"),
    (UNIT | NOISE, "#", ""),
    (UNIT | FLOOR, "FLOOR", "FL FLR FLOORS FLRS FLS"),
    (UNIT, "PENTHOUSE", "PH PHA PHB PHC"),
    (UNIT, "BASEMENT", "BSMT BSMNT"),
    (UNIT, "LOBBY", "LBBY LBY"),
    (UNIT, "CELLAR", "CLR"),
    (UNIT, "MEZZANINE", "MEZZ MEZ"),
    (UNIT, "OFFICE", "OFC OFCS OFFICES"),
    (UNIT, "GROUND", "GRD GRND GROUNDFL"),
    (UNIT, "DEPARTMENT", "DEPT"),
    (UNIT, "HANGAR", "HNGR"),
    (UNIT, "LEVEL", "LVL"),
    (UNIT, "RIGHTS", ""),
    (UNIT_AFTER_STREET, "BUILDING", "BLDG"),
    (UNIT_AFTER_STREET, "STORE", "STORES"),
    (UNIT_AFTER_STREET, "ENTIRE", "ENT"),
    (UNIT_AFTER_STREET, "ALL", ""),
    (UNIT_AFTER_STREET, "LOT", ""),
    (UNIT_AFTER_STREET, "SIDE", ""),
    (UNIT_AFTER_STREET, "SPACE", "SPC"),
    (UNIT_AFTER_STREET, "STOP", ""),
    (UNIT_AFTER_STREET, "KEY", ""),
    (UNIT_AFTER_STREET, "PIER", ""),
    (UNIT_AFTER_STREET, "STAGE", "STG"),
    (UNIT_AFTER_STREET, "TERMINAL", "TRML TERM"),
    (UNIT_AFTER_STREET, "WING", ""),
    (UNIT_AFTER_STREET, "TOWER", "TWR"),
    (UNIT_AFTER_STREET, "LOWER", "LOWR LWR"),
    (UNIT_AFTER_STREET, "UPPER", "UPPR"),
    (UNIT_AFTER_STREET, "CORRIDOR", "CORR"),
    (UNIT_AFTER_STREET, "COMMERCIAL", "COMM COMMERICAL"),
    (UNIT_AFTER_STREET, "REAR", "REARS"),
    (UNIT_AFTER_STREET, "FRONT", "FRNT"),
    (UNIT_AFTER_STREET, "LEFT", ""),
    (UNIT_AFTER_STREET, "RIGHT", ""),
    (UNIT_AFTER_STREET, "MAIN", ""),
    (UNIT_AFTER_STREET, "TOP", ""),
    (NOISE, "NUMBER", "NO NUM NBR"),
    (HOUSE_SUFFIX, "REAR", ""),
    (HOUSE_SUFFIX, "FRONT", "FRNT"),
    (HOUSE_SUFFIX, "GARAGE", "GAR GARG"),
    (HOUSE_SUFFIX, "CANOPY", ""),
    (SPELLING, "BUILDING", "BLDG BLDNG"),
    (SPELLING, "CENTER", "CTR CNTR"),
    (SPELLING, "CENTRAL", "CENT CNTRL"),
    (SPELLING, "LEXINGTON", "LEX"),
    (SPELLING, "UNIVERSITY", "UNIV"),
    (SPELLING, "WASHINGTON", "WASH"),
    (SPELLING, "HOUSES", "HSES"),
    (SPELLING, "APARTMENTS", "APTS"),
    (SPELLING, "POINT", "PT"),
    (SPELLING, "BEACH", "BCH"),
    (SPELLING, "BEND", "BND"),
    (SPELLING, "COMMONS", "CMNS"),
    (SPELLING, "COVE", "CV"),
    (SPELLING, "CROSSING", "XING"),
    (SPELLING, "ESTATES", "ESTS"),
    (SPELLING, "GLEN", "GLN"),
    (SPELLING, "GROVE", "GRV"),
    (SPELLING, "HARBOR", "HBR"),
    (SPELLING, "HILL", "HL"),
    (SPELLING, "HILLS", "HLS"),
    (SPELLING, "ISLAND", "ISL"),
    (SPELLING, "KNOLL", "KNL"),
    (SPELLING, "MANOR", "MNR"),
    (SPELLING, "MEADOW", "MDW"),
    (SPELLING, "MEADOWS", "MDWS"),
    (SPELLING, "NECK", "NCK"),
    (SPELLING, "RIDGE", "RDG"),
    (SPELLING, "RIVER", "RIV"),
    (SPELLING, "SHORE", "SHR"),
    (SPELLING, "TRAIL", "TRL"),
    (SPELLING, "VALLEY", "VLY"),
    (SPELLING, "VIEW", "VW"),
    (SPELLING, "VISTA", "VIS"),
    (SPELLING, "DOCTOR", ""),
    (SPELLING, "JUNIOR", ""),
    (SPELLING, "REVEREND", "REV"),
    (CROSS, "&", ""),
    (CROSS, "AND", ""),
    (CROSS, "AT", "@"),
    (NEAR, "BETWEEN", "BTWN BTW BET BTWEEN"),
    (NEAR, "CORNER", "COR CRNR"),
    (NEAR, "NEAR", "NR"),
    (NEAR, "INTERSECTION", ""),
    (NEAR, "OPPOSITE", "OPP"),
];

const NUMBERS: &[(u8, &str, &str)] = &[
    (1, "ONE", "FIRST"),
    (2, "TWO", "SECOND"),
    (3, "THREE", "THIRD"),
    (4, "FOUR", "FOURTH"),
    (5, "FIVE", "FIFTH"),
    (6, "SIX", "SIXTH"),
    (7, "SEVEN", "SEVENTH"),
    (8, "EIGHT", "EIGHTH"),
    (9, "NINE", "NINTH"),
    (10, "TEN", "TENTH"),
    (11, "ELEVEN", "ELEVENTH"),
    (12, "TWELVE", "TWELFTH"),
    (13, "THIRTEEN", "THIRTEENTH"),
    (14, "FOURTEEN", "FOURTEENTH"),
    (15, "FIFTEEN", "FIFTEENTH"),
    (16, "SIXTEEN", "SIXTEENTH"),
    (17, "SEVENTEEN", "SEVENTEENTH"),
    (18, "EIGHTEEN", "EIGHTEENTH"),
    (19, "NINETEEN", "NINETEENTH"),
    (20, "TWENTY", "TWENTIETH"),
    (30, "THIRTY", "THIRTIETH"),
    (40, "FORTY", "FORTIETH"),
    (50, "FIFTY", "FIFTIETH"),
    (60, "SIXTY", "SIXTIETH"),
    (70, "SEVENTY", "SEVENTIETH"),
    (80, "EIGHTY", "EIGHTIETH"),
    (90, "NINETY", "NINETIETH"),
    (100, "HUNDRED", "HUNDREDTH"),
];

/// The types of the city's streets, the usual ones first: what is tried where a type is missing.
pub(crate) const STREET_TYPES: &[&str] = &[
    "STREET",
    "AVENUE",
    "ROAD",
    "PLACE",
    "BOULEVARD",
    "DRIVE",
    "LANE",
    "COURT",
    "TERRACE",
    "PARKWAY",
    "PLAZA",
    "SQUARE",
    "CRESCENT",
    "CIRCLE",
    "TURNPIKE",
    "HIGHWAY",
    "EXPRESSWAY",
    "CONCOURSE",
    "LOOP",
    "WALK",
    "OVAL",
    "ROW",
    "ALLEY",
    "SLIP",
];

/// The four directions that stand before a street's name.
pub(crate) const DIRECTIONS: &[&str] = &["EAST", "WEST", "NORTH", "SOUTH"];

/// Streets known by their initials.
pub(crate) const INITIALS: &[(&str, &str)] = &[
    ("RSD", "RIVERSIDE DRIVE"),
    ("CPW", "CENTRAL PARK WEST"),
    ("CPS", "CENTRAL PARK SOUTH"),
    ("CPN", "CENTRAL PARK NORTH"),
    ("PPW", "PROSPECT PARK WEST"),
    ("PPSW", "PROSPECT PARK SOUTHWEST"),
    ("WEA", "WEST END AVENUE"),
    ("PAS", "PARK AVENUE SOUTH"),
    ("RSB", "RIVERSIDE BOULEVARD"),
    ("WTC", "WORLD TRADE CENTER"),
    ("AOA", "AVENUE OF THE AMERICAS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_mean_several_things() {
        let front = Token::new("FRONT");
        assert!(front.any(UNIT_AFTER_STREET) && front.any(HOUSE_SUFFIX));
        let slip = Token::new("SLIP");
        assert!(slip.any(TYPE));
        let no = Token::new("NO");
        assert!(no.any(DIRECTION) && no.any(NOISE));
        assert_eq!(Token::new("AVE").word.full, "AVENUE");
        assert_eq!(Token::new("TWELFTH").word.number, 12);
        assert_eq!(Token::new("ZQX").word.is, 0);
    }

    #[test]
    fn street_numbers_are_digits_with_or_without_an_ending() {
        for text in ["5", "5TH", "201ST", "2ND", "3RD"] {
            assert!(Token::new(text).is_street_number(), "{text}");
        }
        for text in ["", "TH", "5A", "5-10", "FIVE"] {
            assert!(!Token::new(text).is_street_number(), "{text}");
        }
    }
}
