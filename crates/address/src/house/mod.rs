//! House numbers: the city's sort keys, what people type, and the readings a typed number may have.

mod suffix;
mod typed;

use std::fmt;

pub(crate) use self::typed::{Reading, ReadingKind};
pub use self::{
    suffix::Suffix,
    typed::{Dash, TypedNumber},
};

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
        Some(Self(key << SUFFIX_BITS | u64::from(suffix.to_bits())))
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
        Suffix::from_bits((self.0 & ((1 << SUFFIX_BITS) - 1)) as u16)
    }

    /// The number without its suffix.
    pub(crate) const fn base(self) -> u64 {
        self.0 >> SUFFIX_BITS
    }

    pub(crate) const fn with_suffix(self, suffix: Suffix) -> Self {
        Self(self.0 >> SUFFIX_BITS << SUFFIX_BITS | suffix.to_bits() as u64)
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
                blank: false,
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
