//! What stands after a house number: letters, `REAR`, `GARAGE`, fractions.

/// What stands after a house number, as the city's two-character code: a letter, `REAR`, `GARAGE`, `1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Suffix(u16);

impl Suffix {
    /// No suffix: code `AA`.
    pub(crate) const NONE: Self = Self(10 * 36 + 10);

    /// The code as a number below 2^11, for storage.
    pub(crate) const fn to_bits(self) -> u16 {
        self.0
    }

    /// A code from storage.
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The suffix with this code, whether or not we know its words.
    pub(crate) fn from_code(code: &str) -> Option<Self> {
        let mut value = 0;
        let mut chars = 0;
        for byte in code.bytes() {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'A'..=b'Z' => byte - b'A' + 10,
                _ => return None,
            };
            value = value * 36 + u16::from(digit);
            chars += 1;
        }
        (chars == 2).then_some(Self(value))
    }

    /// The suffix written so, such as `B`, `REAR`, `1/2`.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut bytes = text.bytes();
        if let (Some(byte @ b'A'..=b'Z'), None) = (bytes.next(), bytes.next()) {
            return Some(Self::letter(byte - b'A'));
        }
        WORDS
            .iter()
            .find(|(_, words)| *words == text)
            .and_then(|(code, _)| Self::from_code(code))
    }

    /// The letter with this place in the alphabet, from 0. The codes leave gaps: A to I, J to R, S to Z.
    pub(super) fn letter(place: u8) -> Self {
        let (first, second) = match place {
            0..=8 => (b'M', place + 1),
            9..=17 => (b'N', place - 8),
            _ => (b'O', place - 16),
        };
        Self(u16::from(first - b'A' + 10) * 36 + u16::from(second) + 10)
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub(crate) fn is_letter(self) -> bool {
        self.text().len() == 1
    }

    /// The suffix in words; empty for none and for codes we do not know.
    pub(crate) fn text(self) -> &'static str {
        const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        if self.is_none() {
            return "";
        }
        let (first, second) = (self.0 / 36, self.0 % 36);
        let place = match (first, second) {
            (22, 11..=19) => Some(second - 11),
            (23, 11..=19) => Some(second - 11 + 9),
            (24, 12..=19) => Some(second - 12 + 18),
            _ => None,
        };
        if let Some(place) = place.map(usize::from) {
            return LETTERS.get(place..=place).unwrap_or_default();
        }
        WORDS
            .iter()
            .find(|(code, _)| Self::from_code(code) == Some(self))
            .map_or("", |(_, words)| words)
    }
}

/// The codes that are not letters.
const WORDS: &[(&str, &str)] = &[
    ("AB", "FRONT"),
    ("AC", "REAR"),
    ("AD", "FRONT A"),
    ("AE", "FRONT B"),
    ("AF", "REAR A"),
    ("AG", "REAR B"),
    ("AH", "1/2"),
    ("AI", "1/2 A"),
    ("AJ", "1/2 B"),
    ("AO", "NORTH"),
    ("AP", "SOUTH"),
    ("BA", "1/2 FRONT"),
    ("B1", "1/2 REAR"),
    ("BF", "AIR RGTS"),
    ("BG", "COMMERCE"),
    ("BH", "GARAGE"),
    ("BI", "UNDRGRND"),
    ("BJ", "1/3"),
    ("BK", "1/4"),
    ("BL", "WEST"),
    ("BM", "EAST"),
    ("C2", "1/5"),
    ("CB", "INTER"),
    ("CD", "AA"),
    ("CN", "INTER A"),
    ("CO", "INTER B"),
    ("CP", "INTER C"),
    ("DA", "2/3"),
    ("DH", "A GARAGE"),
    ("DI", "3/4"),
    ("DJ", "AF"),
    ("DK", "AS"),
    ("DL", "BB"),
    ("DM", "SF"),
    ("DN", "ED"),
    ("DO", "BA"),
    ("DP", "B GARAGE"),
    ("EA", "C GARAGE"),
    ("EB", "E-BLDG"),
    ("ED", "W-BLDG"),
];
