//! How an account is named in memory: in as few bytes as its text needs, and never as another one.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
};

/// An account as it was asked for, in the form it is kept in.
///
/// The forms are exact: a text has one form, and a form has one text. Two accounts never share a record, whatever their
/// hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRef<'a> {
    /// 16 lower-case hexadecimal digits.
    Short(u64),
    /// A UUID: 32 lower-case hexadecimal digits and its four hyphens.
    Uuid(u128),
    /// Any other text.
    Text(&'a str),
}

impl<'a> KeyRef<'a> {
    #[inline]
    pub(crate) fn new(account: &'a str) -> Self {
        let bytes = account.as_bytes();
        let numeric = match bytes.len() {
            16 => short(bytes).map(Self::Short),
            36 => uuid(bytes).map(Self::Uuid),
            _ => None,
        };
        numeric.unwrap_or(Self::Text(account))
    }

    /// The account's own text.
    pub(crate) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Short(number) => Cow::Owned(ShortKey::new(number).text()),
            Self::Uuid(number) => Cow::Owned(UuidKey::new(number).text()),
            Self::Text(text) => Cow::Borrowed(text),
        }
    }
}

/// The same, owned: for a receipt, which carries an account without an allocation that way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    Short(u64),
    /// Both halves.
    Uuid(u64, u64),
    Text(Box<str>),
}

impl From<KeyRef<'_>> for Name {
    #[inline]
    fn from(key: KeyRef<'_>) -> Self {
        match key {
            KeyRef::Short(number) => Self::Short(number),
            KeyRef::Uuid(number) => Self::Uuid((number >> 64) as u64, number as u64),
            KeyRef::Text(text) => Self::Text(text.into()),
        }
    }
}

impl Name {
    pub(crate) fn key(&self) -> KeyRef<'_> {
        match self {
            Self::Short(number) => KeyRef::Short(*number),
            Self::Uuid(high, low) => KeyRef::Uuid(u128::from(*high) << 64 | u128::from(*low)),
            Self::Text(text) => KeyRef::Text(text),
        }
    }
}

/// What a table keeps of an account.
pub(crate) trait Key: Default {
    /// Its hash.
    fn hash(&self, seeds: &Seeds) -> u64;

    /// The account's own text.
    fn text(&self) -> String;
}

/// Kept as two halves, so that an entry is not padded to a multiple of eight bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ShortKey([u32; 2]);

impl ShortKey {
    #[inline]
    pub(crate) const fn new(number: u64) -> Self {
        Self([number as u32, (number >> 32) as u32])
    }

    const fn number(self) -> u64 {
        (self.0[1] as u64) << 32 | self.0[0] as u64
    }
}

impl Key for ShortKey {
    fn hash(&self, seeds: &Seeds) -> u64 {
        seeds.short(self.number())
    }

    fn text(&self) -> String {
        format!("{:016x}", self.number())
    }
}

/// Kept as quarters, for the same reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UuidKey([u32; 4]);

impl UuidKey {
    #[inline]
    pub(crate) const fn new(number: u128) -> Self {
        Self([
            (number >> 96) as u32,
            (number >> 64) as u32,
            (number >> 32) as u32,
            number as u32,
        ])
    }

    fn number(self) -> u128 {
        (self.0.iter()).fold(0, |number, part| number << 32 | u128::from(*part))
    }
}

impl Key for UuidKey {
    fn hash(&self, seeds: &Seeds) -> u64 {
        seeds.uuid(self.number())
    }

    fn text(&self) -> String {
        let digits = format!("{:032x}", self.number());
        let mut text = String::with_capacity(36);
        for (place, digit) in digits.chars().enumerate() {
            if matches!(place, 8 | 12 | 16 | 20) {
                text.push('-');
            }
            text.push(digit);
        }
        text
    }
}

/// Kept as it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TextKey(pub(crate) Box<str>);

impl Key for TextKey {
    fn hash(&self, seeds: &Seeds) -> u64 {
        seeds.text(&self.0)
    }

    fn text(&self) -> String {
        self.0.as_ref().to_owned()
    }
}

/// What makes hashes differ from process to process, so that nobody can choose accounts that collide.
///
/// Texts are hashed with SipHash, as the standard library's maps do. A number is multiplied by a secret and the halves of
/// the product are folded together, twice: a few nanoseconds instead of twenty.
#[derive(Debug)]
pub(crate) struct Seeds {
    texts: RandomState,
    numbers: [u64; 4],
}

impl Seeds {
    pub(crate) fn new() -> Self {
        let texts = RandomState::new();
        let numbers = [0_u64, 1, 2, 3].map(|place| RandomState::new().hash_one(place));
        Self { texts, numbers }
    }

    #[inline]
    pub(crate) fn of(&self, key: KeyRef<'_>) -> u64 {
        match key {
            KeyRef::Short(number) => self.short(number),
            KeyRef::Uuid(number) => self.uuid(number),
            KeyRef::Text(text) => self.text(text),
        }
    }

    #[inline]
    const fn short(&self, number: u64) -> u64 {
        let [a, b, c, _] = self.numbers;
        fold(fold(number ^ a, b) ^ c, 0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    const fn uuid(&self, number: u128) -> u64 {
        let [a, b, c, d] = self.numbers;
        let (high, low) = ((number >> 64) as u64, number as u64);
        fold(fold(high ^ a, low ^ b) ^ c, (d ^ low) | 1)
    }

    fn text(&self, text: &str) -> u64 {
        self.texts.hash_one(text)
    }
}

/// Both halves of the product, folded together.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product >> 64) as u64 ^ product as u64
}

/// The number that eight lower-case hexadecimal digits spell; `None` when one of them is none. All eight at once, since this
/// stands before every decision.
#[inline]
fn digits(eight: [u8; 8]) -> Option<u32> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let text = u64::from_be_bytes(eight);
    // A letter has bit 6 set, and its low nibble counts from 1. At most 24: no byte reaches into the next.
    let values = (text & (0x0f * EACH)) + 9 * ((text >> 6) & EACH);
    // Written back, they must be the text.
    let letters = ((values + 6 * EACH) >> 4) & EACH;
    let back = values + u64::from(b'0') * EACH + letters * u64::from(b'a' - b'0' - 10);
    if back != text || values & (0xf0 * EACH) != 0 {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    Some((fours | fours >> 16) as u32)
}

#[inline]
fn short(bytes: &[u8]) -> Option<u64> {
    let high = digits(*bytes.first_chunk()?)?;
    let low = digits(*bytes.last_chunk()?)?;
    Some(u64::from(high) << 32 | u64::from(low))
}

#[inline]
fn uuid(bytes: &[u8]) -> Option<u128> {
    let &[
        a0,
        a1,
        a2,
        a3,
        a4,
        a5,
        a6,
        a7,
        b'-',
        b0,
        b1,
        b2,
        b3,
        b'-',
        b4,
        b5,
        b6,
        b7,
        b'-',
        c0,
        c1,
        c2,
        c3,
        b'-',
        c4,
        c5,
        c6,
        c7,
        ref d @ ..,
    ] = bytes
    else {
        return None;
    };
    let parts = [
        digits([a0, a1, a2, a3, a4, a5, a6, a7])?,
        digits([b0, b1, b2, b3, b4, b5, b6, b7])?,
        digits([c0, c1, c2, c3, c4, c5, c6, c7])?,
        digits(d.try_into().ok()?)?,
    ];
    Some((parts.iter()).fold(0, |number, part| number << 32 | u128::from(*part)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn back(account: &str) -> String {
        let key = KeyRef::new(account);
        let name = Name::from(key);
        assert_eq!(name.key(), key);
        name.key().text().into_owned()
    }

    #[test]
    fn only_the_exact_forms_are_numbers() {
        assert_eq!(KeyRef::new("00000000000000ff"), KeyRef::Short(255));
        let uuid = "0192f0c1-2345-7890-abcd-ef0123456789";
        let number = 0x0192_f0c1_2345_7890_abcd_ef01_2345_6789;
        assert_eq!(KeyRef::new(uuid), KeyRef::Uuid(number));
        for text in [
            "",
            "ff",
            "00000000000000FF",
            "00000000000000fg",
            "0192F0C1-2345-7890-abcd-ef0123456789",
            "0192f0c1-2345-7890-abcd-ef012345678g",
            "0192f0c1-2345-7890-abcdef-0123456789",
            "0192f0c12345-7890-abcd-ef01234567890",
            "éééééééé",
            "éééééééééééééééééé",
        ] {
            assert_eq!(KeyRef::new(text), KeyRef::Text(text));
        }
    }

    #[test]
    fn every_byte_is_a_digit_or_none_in_every_place() {
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut eight = *b"01289abf";
                eight[place] = byte;
                let spelled = std::str::from_utf8(&eight)
                    .ok()
                    .filter(|text| !text.contains(|c: char| c == '+' || c.is_ascii_uppercase()))
                    .and_then(|text| u32::from_str_radix(text, 16).ok());
                assert_eq!(digits(eight), spelled, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn a_key_hashes_as_the_account_it_was_made_of() {
        let seeds = Seeds::new();
        let short = KeyRef::Short(77);
        assert_eq!(seeds.of(short), ShortKey::new(77).hash(&seeds));
        let uuid = KeyRef::Uuid(77 << 64);
        assert_eq!(seeds.of(uuid), UuidKey::new(77 << 64).hash(&seeds));
        let text = KeyRef::Text("seventy-seven");
        assert_eq!(seeds.of(text), TextKey("seventy-seven".into()).hash(&seeds));
    }

    #[test]
    fn every_bit_of_a_number_counts_whatever_the_secret() {
        for _ in 0..32 {
            let seeds = Seeds::new();
            for number in [0, u128::MAX, 0x0192_f0c1_2345_7890_abcd_ef01_2345_6789] {
                for bit in 0..128 {
                    let other = number ^ 1 << bit;
                    assert_ne!(seeds.uuid(number), seeds.uuid(other), "{bit}");
                }
                let number = number as u64;
                for bit in 0..64 {
                    let other = number ^ 1 << bit;
                    assert_ne!(seeds.short(number), seeds.short(other), "{bit}");
                }
            }
        }
    }

    #[test]
    fn numbers_in_a_row_spread_over_shards_and_places() {
        let seeds = Seeds::new();
        let mut shards = [0_u32; 64];
        let mut places = [0_u32; 64];
        for number in 0..64_000_u64 {
            for hash in [seeds.short(number), seeds.uuid(u128::from(number))] {
                shards[(hash % 64) as usize] += 1;
                places[(hash >> 58) as usize] += 1;
            }
        }
        for count in shards.iter().chain(&places) {
            assert!((1_600..2_400).contains(count), "{shards:?} {places:?}");
        }
    }

    proptest! {
        #[test]
        fn a_key_gives_its_account_back(
            account in prop_oneof![
                ".{0,40}",
                "[0-9a-fA-F]{16}",
                "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                "[0-9a-f-]{36}",
            ],
        ) {
            prop_assert_eq!(back(&account), account);
        }
    }
}
