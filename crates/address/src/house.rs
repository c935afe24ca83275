//! House numbers: the city's sort keys, what people type, and the readings a typed number may have.

use std::fmt;

/// A house number as the city sorts it: hyphen flag, left part, right part, suffix.
///
/// Keys of the same hyphen flag order as the numbers do along a street; text and plain integers do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HouseKey(u64);

/// Most that the left part can be: five digits.
pub(crate) const MAX_LEFT: u32 = 99_999;
/// Most that the part right of the hyphen can be: three digits.
pub(crate) const MAX_RIGHT: u32 = 999;

const SUFFIX_BITS: u32 = 11;
const RIGHT_BITS: u32 = 10;
const LEFT_BITS: u32 = 17;

impl HouseKey {
    /// The key of a number; `right` only where the number is hyphenated. `None` where a part is too large.
    pub(crate) fn new(left: u32, right: Option<u32>, suffix: Suffix) -> Option<Self> {
        let hyphenated = u64::from(right.is_some());
        let right = right.unwrap_or(0);
        if left > MAX_LEFT || right > MAX_RIGHT {
            return None;
        }
        let mut key = hyphenated << LEFT_BITS | u64::from(left);
        key = key << RIGHT_BITS | u64::from(right);
        Some(Self(key << SUFFIX_BITS | u64::from(suffix.0)))
    }

    /// The sort format of the address files, eleven characters: `100046012MB`.
    pub(crate) fn from_sort_format(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 11 || !text.is_ascii() {
            return None;
        }
        let digits = |from: usize, to: usize| -> Option<u32> {
            let part = text.get(from..to)?;
            if !part.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            part.parse().ok()
        };
        let left = digits(1, 6)?;
        let right = digits(6, 9)?;
        let hyphenated = match bytes.first()? {
            b'0' => None,
            b'1' => Some(right),
            _ => return None,
        };
        Self::new(left, hyphenated, Suffix::from_code(text.get(9..11)?)?)
    }

    /// A number as it is displayed: `46-12A`, `100 REAR`.
    pub(crate) fn from_shown(shown: &str) -> Option<Self> {
        let digits = shown.bytes().take_while(u8::is_ascii_digit).count();
        let (left, rest) = shown.split_at_checked(digits)?;
        let left = left.parse().ok()?;
        let (right, rest) = match rest.strip_prefix('-') {
            Some(rest) => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let (right, rest) = rest.split_at_checked(digits)?;
                (Some(right.parse().ok()?), rest)
            }
            None => (None, rest),
        };
        let suffix = match rest.trim() {
            "" => Suffix::NONE,
            text => Suffix::from_text(text)?,
        };
        Self::new(left, right, suffix)
    }

    /// The key as a number below 2^40, for storage.
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    /// A key from storage.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn is_hyphenated(self) -> bool {
        self.0 >> (LEFT_BITS + RIGHT_BITS + SUFFIX_BITS) & 1 == 1
    }

    pub(crate) const fn left(self) -> u32 {
        (self.0 >> (RIGHT_BITS + SUFFIX_BITS) & ((1 << LEFT_BITS) - 1)) as u32
    }

    pub(crate) const fn right(self) -> u32 {
        (self.0 >> SUFFIX_BITS & ((1 << RIGHT_BITS) - 1)) as u32
    }

    pub(crate) const fn suffix(self) -> Suffix {
        Suffix((self.0 & ((1 << SUFFIX_BITS) - 1)) as u16)
    }

    /// The number without its suffix.
    pub(crate) const fn base(self) -> u64 {
        self.0 >> SUFFIX_BITS
    }

    pub(crate) const fn with_suffix(self, suffix: Suffix) -> Self {
        Self(self.0 >> SUFFIX_BITS << SUFFIX_BITS | suffix.0 as u64)
    }

    const fn is_odd(self) -> bool {
        let last = if self.is_hyphenated() {
            self.right()
        } else {
            self.left()
        };
        last % 2 == 1
    }

    /// Whether a row from `low` to `high` holds this number.
    ///
    /// A range steps by two; where its ends differ in parity, it holds both. A suffix belongs to one number: it is in
    /// a range only at an end, or among the letters of one number.
    pub(crate) fn is_in(self, low: Self, high: Self) -> bool {
        if self.base() < low.base()
            || self.base() > high.base()
            || self.is_hyphenated() != low.is_hyphenated()
        {
            return false;
        }
        if low.is_odd() == high.is_odd() && self.is_odd() != low.is_odd() {
            return false;
        }
        let suffix = self.suffix();
        let at_low = self.base() == low.base();
        let at_high = self.base() == high.base();
        match (at_low, at_high) {
            (true, true) => {
                suffix == low.suffix()
                    || suffix == high.suffix()
                    || (suffix.is_letter()
                        && (low.suffix().is_none() || low.suffix().is_letter())
                        && high.suffix().is_letter()
                        && low.suffix() <= suffix
                        && suffix <= high.suffix())
            }
            (true, false) => suffix == low.suffix(),
            (false, true) => suffix == high.suffix() || suffix.is_none(),
            (false, false) => suffix.is_none(),
        }
    }
}

impl fmt::Display for HouseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.left())?;
        if self.is_hyphenated() {
            write!(f, "-{:02}", self.right())?;
        }
        match self.suffix().text() {
            "" => Ok(()),
            letter if letter.len() == 1 => f.write_str(letter),
            words => write!(f, " {words}"),
        }
    }
}

/// What stands after a house number, as the city's two-character code: a letter, `REAR`, `GARAGE`, `1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Suffix(u16);

impl Suffix {
    /// No suffix: code `AA`.
    pub(crate) const NONE: Self = Self(10 * 36 + 10);

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
    fn letter(place: u8) -> Self {
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

/// A house number as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedNumber {
    pub(crate) left: u32,
    pub(crate) left_suffix: Suffix,
    /// What stands after a dash, and with how many digits.
    pub(crate) dash: Option<Dash>,
    /// The end of a range of hyphenated numbers, as in `43-06 - 43-12`.
    pub(crate) to: Option<(u32, Dash)>,
}

/// The part right of a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dash {
    pub(crate) value: u32,
    pub(crate) digits: u8,
    pub(crate) suffix: Suffix,
}

/// One way to read a typed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) kind: ReadingKind,
    /// The number, or the low end of the range.
    pub(crate) low: HouseKey,
    /// The high end; `low` again for a single number.
    pub(crate) high: HouseKey,
}

/// What a reading does to what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingKind {
    /// The number as typed.
    AsTyped,
    /// The dash divides the ends of a range.
    Range,
    /// The dash is dropped: `10-22` for 1022.
    DashDropped,
    /// A hyphen is put in: `6603` for 66-03.
    HyphenAdded,
}

impl TypedNumber {
    pub(crate) const fn plain(left: u32, left_suffix: Suffix) -> Self {
        Self {
            left,
            left_suffix,
            dash: None,
            to: None,
        }
    }

    /// The readings in the order in which they are tried: the first that exists is meant.
    pub(crate) fn readings(&self) -> Readings {
        let mut out = Readings::default();
        match (self.dash, self.to) {
            (None, _) => {
                out.single(ReadingKind::AsTyped, self.left, None, self.left_suffix);
                // The right part has two digits, or three.
                for tens in [100, 1000] {
                    let right = self.left % tens;
                    if self.left >= tens && (tens == 100 || right >= 100) {
                        out.single(
                            ReadingKind::HyphenAdded,
                            self.left / tens,
                            Some(right),
                            self.left_suffix,
                        );
                    }
                }
            }
            (Some(dash), Some((left, end))) => {
                out.range(
                    (self.left, Some(dash.value), dash.suffix),
                    (left, Some(end.value), end.suffix),
                );
            }
            (Some(dash), None) => self.dash_readings(dash, &mut out),
        }
        out
    }

    fn dash_readings(&self, dash: Dash, out: &mut Readings) {
        if self.left_suffix.is_none() && dash.digits <= 3 {
            out.single(
                ReadingKind::AsTyped,
                self.left,
                Some(dash.value),
                dash.suffix,
            );
        }
        // `338-50` is 338 to 350.
        let mut end = dash.value;
        if end < self.left {
            let place = 10_u32.saturating_pow(u32::from(dash.digits));
            end = end.saturating_add(self.left - self.left % place);
        }
        if end > self.left || (end == self.left && dash.suffix > self.left_suffix) {
            out.range(
                (self.left, None, self.left_suffix),
                (end, None, dash.suffix),
            );
        }
        if self.left_suffix.is_none() && dash.digits <= 3 {
            let shift = if dash.value < 100 { 100 } else { 1000 };
            let joined = self.left.saturating_mul(shift).saturating_add(dash.value);
            out.single(ReadingKind::DashDropped, joined, None, dash.suffix);
        }
    }
}

impl fmt::Display for TypedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn suffix(f: &mut fmt::Formatter<'_>, suffix: Suffix) -> fmt::Result {
            match suffix.text() {
                "" => Ok(()),
                letter if letter.len() == 1 => f.write_str(letter),
                words => write!(f, " {words}"),
            }
        }
        write!(f, "{}", self.left)?;
        suffix(f, self.left_suffix)?;
        if let Some(dash) = self.dash {
            let width = usize::from(dash.digits.min(2));
            write!(f, "-{:0width$}", dash.value)?;
            suffix(f, dash.suffix)?;
        }
        if let Some((left, dash)) = self.to {
            write!(f, " - {left}-{:02}", dash.value)?;
            suffix(f, dash.suffix)?;
        }
        Ok(())
    }
}

/// At most three readings, without an allocation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Readings {
    list: [Option<Reading>; 3],
}

impl Readings {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Reading> + '_ {
        self.list.iter().copied().flatten()
    }

    fn push(&mut self, reading: Reading) {
        if let Some(free) = self.list.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(reading);
        }
    }

    fn single(&mut self, kind: ReadingKind, left: u32, right: Option<u32>, suffix: Suffix) {
        if let Some(key) = HouseKey::new(left, right, suffix) {
            self.push(Reading {
                kind,
                low: key,
                high: key,
            });
        }
    }

    fn range(&mut self, low: (u32, Option<u32>, Suffix), high: (u32, Option<u32>, Suffix)) {
        let low = HouseKey::new(low.0, low.1, low.2);
        let high = HouseKey::new(high.0, high.1, high.2);
        if let (Some(low), Some(high)) = (low, high) {
            self.push(Reading {
                kind: ReadingKind::Range,
                low,
                high,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn key(text: &str) -> HouseKey {
        HouseKey::from_sort_format(text).unwrap()
    }

    #[rstest]
    #[case("100046012MB", "46-12A")]
    #[case("000280000AA", "280")]
    #[case("000012000NJ", "12R")]
    #[case("001279000BH", "1279 GARAGE")]
    #[case("100063101AA", "63-101")]
    #[case("100014001AA", "14-01")]
    #[case("000120000AH", "120 1/2")]
    #[case("000001000OJ", "1Z")]
    #[case("000001000OC", "1S")]
    #[case("000001000NB", "1J")]
    fn the_sort_format_reads_as_displayed(#[case] sort: &str, #[case] shown: &str) {
        assert_eq!(key(sort).to_string(), shown);
    }

    #[rstest]
    #[case("")]
    #[case("00028000AA")]
    #[case("200280000AA")]
    #[case("0002 0000AA")]
    #[case("000280000a ")]
    #[case("é00280000A")]
    fn bad_sort_formats_are_refused(#[case] sort: &str) {
        assert_eq!(HouseKey::from_sort_format(sort), None);
    }

    #[test]
    fn letters_read_back_over_the_gaps_of_their_codes() {
        for letter in 'A'..='Z' {
            let text = letter.to_string();
            let suffix = Suffix::from_text(&text).unwrap();
            assert_eq!(suffix.text(), text);
            assert!(suffix.is_letter());
        }
        assert_eq!(Suffix::from_text("I"), Suffix::from_code("MJ"));
        assert_eq!(Suffix::from_text("J"), Suffix::from_code("NB"));
        assert_eq!(Suffix::from_text("S"), Suffix::from_code("OC"));
    }

    #[rstest]
    #[case("000046000AA", "000052000AA", "000050000AA", true)] // 46-52 holds 50
    #[case("000046000AA", "000052000AA", "000049000AA", false)] // the other side of the street
    #[case("000046000AA", "000053000AA", "000049000AA", true)] // mixed parity holds both
    #[case("000046000AA", "000052000AA", "000050000MB", false)] // 50A is a number of its own
    #[case("000331000AA", "000331000MB", "000331000AA", true)] // 331 to 331A
    #[case("000331000AA", "000331000MB", "000331000MB", true)]
    #[case("000012000MD", "000012000NJ", "000012000NB", true)] // 12C to 12R holds 12J
    #[case("000012000MD", "000012000NJ", "000012000MC", false)] // but not 12B
    #[case("000012000MD", "000012000NJ", "000012000AA", false)] // nor 12
    #[case("000331000AA", "000331000MB", "000331000AC", false)] // nor a REAR
    #[case("100156000AA", "100156020AA", "000156000AA", false)] // the hyphen divides
    #[case("100043006AA", "100043012AA", "100043010AA", true)]
    #[case("100043006AA", "100043012AA", "100043011AA", false)]
    #[case("000508000MB", "000508000MC", "000508000MC", true)]
    fn rows_hold_numbers(
        #[case] low: &str,
        #[case] high: &str,
        #[case] number: &str,
        #[case] holds: bool,
    ) {
        assert_eq!(key(number).is_in(key(low), key(high)), holds);
    }

    fn shown(number: TypedNumber) -> Vec<String> {
        number
            .readings()
            .iter()
            .map(|r| {
                if r.low == r.high {
                    r.low.to_string()
                } else {
                    format!("{}..{}", r.low, r.high)
                }
            })
            .collect()
    }

    fn dashed(left: u32, value: u32, digits: u8) -> TypedNumber {
        TypedNumber {
            dash: Some(Dash {
                value,
                digits,
                suffix: Suffix::NONE,
            }),
            ..TypedNumber::plain(left, Suffix::NONE)
        }
    }

    #[test]
    fn a_typed_number_has_readings_in_order() {
        assert_eq!(shown(TypedNumber::plain(45, Suffix::NONE)), ["45"]);
        assert_eq!(
            shown(TypedNumber::plain(6603, Suffix::NONE)),
            ["6603", "66-03", "6-603"]
        );
        assert_eq!(
            shown(TypedNumber::plain(63_101, Suffix::NONE)),
            ["63101", "631-01", "63-101"]
        );
        // 156158 would have too many digits.
        assert_eq!(shown(dashed(156, 158, 3)), ["156-158", "156..158"]);
        assert_eq!(shown(dashed(10, 14, 2)), ["10-14", "10..14", "1014"]);
        assert_eq!(shown(dashed(338, 50, 2)), ["338-50", "338..350", "33850"]);
        assert_eq!(shown(dashed(33, 33, 2)), ["33-33", "3333"]);
    }

    proptest! {
        #[test]
        fn a_key_reads_back(left in 0u32..=99_999, right in proptest::option::of(0u32..=999), letter in 0u8..26) {
            let key = HouseKey::new(left, right, Suffix::letter(letter)).unwrap();
            prop_assert!(key.to_bits() < 1 << 40);
            prop_assert_eq!(HouseKey::from_bits(key.to_bits()), key);
            prop_assert_eq!(key.left(), left);
            prop_assert_eq!(key.is_hyphenated(), right.is_some());
            prop_assert_eq!(key.right(), right.unwrap_or(0));
            prop_assert!(key.is_in(key, key));
        }

        #[test]
        fn keys_of_one_kind_order_as_numbers_do(a in (0u32..=99_999, 0u32..=999), b in (0u32..=99_999, 0u32..=999)) {
            let key = |(left, right)| HouseKey::new(left, Some(right), Suffix::NONE).unwrap();
            prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
        }

        #[test]
        fn no_number_panics(left: u32, value: u32, digits in 0u8..12, suffix in 0u8..26) {
            let mut number = dashed(left, value, digits);
            let _ = number.readings();
            number.left_suffix = Suffix::letter(suffix);
            let _ = (number.readings(), number.to_string());
        }
    }
}
