//! US dollars that keep the publisher's digits.

use std::str::FromStr;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

/// An amount in US dollars, exact, with as many decimals as the publisher gave.
///
/// It serialises as a JSON number with those digits: `1250.00` stays `1250.00`. Never cents, never rounded.
///
/// ```
/// use brownstone_domain::Dollars;
/// let penalty: Dollars = "$1,250.00".parse().unwrap();
/// let credit: Dollars = "-0.50".parse().unwrap();
/// assert_eq!(serde_json::to_string(&penalty).unwrap(), "1250.00");
/// assert_eq!((penalty + credit).to_string(), "1249.50");
/// assert!("N/A".parse::<Dollars>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dollars(Decimal);

/// Text that is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an amount of dollars")]
pub struct NotDollars;

impl Dollars {
    /// Nothing.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Whether the amount is below zero: a credit.
    pub const fn is_negative(self) -> bool {
        self.0.is_sign_negative() && !self.0.is_zero()
    }

    /// An amount of this many cents.
    ///
    /// ```
    /// use brownstone_domain::Dollars;
    /// assert_eq!(Dollars::from_cents(125_050).to_string(), "1250.50");
    /// assert_eq!(Dollars::from_cents(125_000).to_string(), "1250");
    /// ```
    pub fn from_cents(cents: i64) -> Self {
        if cents % 100 == 0 {
            Self(Decimal::from(cents / 100))
        } else {
            Self(Decimal::new(cents, 2))
        }
    }

    /// The amount in cents, to calculate and compare with; smaller fractions are rounded to the nearest cent. `None` past 64 bits.
    ///
    /// ```
    /// use brownstone_domain::Dollars;
    /// let rent: Dollars = "2999.995".parse().unwrap();
    /// assert_eq!(rent.cents(), Some(300_000));
    /// ```
    pub fn cents(self) -> Option<i64> {
        use rust_decimal::{RoundingStrategy::MidpointAwayFromZero, prelude::ToPrimitive as _};
        self.0
            .checked_mul(Decimal::ONE_HUNDRED)?
            .round_dp_with_strategy(0, MidpointAwayFromZero)
            .to_i64()
    }

    /// The sum; `None` beyond 28 digits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

impl std::ops::Add for Dollars {
    type Output = Self;

    /// The exact sum; it saturates past 28 digits, far above any amount the city prints.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Dollars {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, |sum, amount| sum + amount)
    }
}

impl std::fmt::Display for Dollars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Dollars {
    type Err = NotDollars;

    fn from_str(text: &str) -> Result<Self, NotDollars> {
        let digits = number_text(text).ok_or(NotDollars)?;
        Decimal::from_str_exact(&digits)
            .map(Self)
            .map_err(|_| NotDollars)
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string())
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    /// Reads a JSON number, digit for digit.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        raw.get().parse().map_err(de::Error::custom)
    }
}

/// The JSON number in a publisher's text, with the publisher's digits; `None` when the text is no plain number.
///
/// A dollar sign, thousands commas and blanks around it are dropped. Leading zeros, which JSON forbids, are dropped too.
///
/// ```
/// use brownstone_domain::money::number_text;
/// assert_eq!(number_text("$37300.00").as_deref(), Some("37300.00"));
/// assert_eq!(number_text(" 1,234 ").as_deref(), Some("1234"));
/// assert_eq!(number_text("-5.10").as_deref(), Some("-5.10"));
/// assert_eq!(number_text("007").as_deref(), Some("7"));
/// assert_eq!(number_text("1-2"), None);
/// assert_eq!(number_text("1,23"), None, "a comma that parts no thousands");
/// ```
pub fn number_text(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let (sign, rest) = match trimmed.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", trimmed),
    };
    let rest = rest.strip_prefix('$').unwrap_or(rest).trim_start();
    let (sign, rest) = match rest.strip_prefix('-') {
        Some(rest) if sign.is_empty() => ("-", rest),
        _ => (sign, rest),
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let whole: String = if whole.contains(',') {
        let mut groups = whole.split(',');
        let first = groups.next()?;
        if !(1..=3).contains(&first.len()) || !groups.clone().all(|group| group.len() == 3) {
            return None;
        }
        whole.split(',').collect()
    } else {
        whole.to_owned()
    };
    if !all_digits(&whole) || fraction.is_some_and(|f| f.is_empty() || !all_digits(f)) {
        return None;
    }
    if whole.is_empty() && fraction.is_none() {
        return None;
    }
    let stripped = whole.trim_start_matches('0');
    let whole = if stripped.is_empty() { "0" } else { stripped };
    Some(match fraction {
        Some(fraction) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{whole}"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_taken_for_a_number_is_json(text in "[-$, .0-9]{0,14}") {
            if let Some(number) = number_text(&text) {
                let parsed: serde_json::Value = serde_json::from_str(&number).unwrap();
                prop_assert!(parsed.is_number(), "{number}");
            }
        }

        #[test]
        fn cents_are_never_lost(cents in -1_000_000_000_i64..1_000_000_000, count in 1usize..50) {
            let text = format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100);
            let one: Dollars = text.parse().unwrap();
            let sum: Dollars = std::iter::repeat_n(one, count).sum();
            let expected = i128::from(cents) * count as i128;
            prop_assert_eq!(sum, format!("{}{}.{:02}", if expected < 0 { "-" } else { "" }, expected.abs() / 100, expected.abs() % 100).parse().unwrap());
        }
    }
}
