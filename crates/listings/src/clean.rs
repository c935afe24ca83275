//! What a feed says that cannot be: fill values and impossible numbers become "not known", and are counted by field.

use std::collections::BTreeMap;

use brownstone_domain::{Dollars, Listing, ListingType, published::parse_day};
use serde_json::{Map, Value};

/// How many values of each field were dropped.
pub type Dropped = BTreeMap<&'static str, u64>;

/// Numbers that feeds write where they have none. The first is the greatest 32-bit integer, which overflowed columns show.
const FILLS: [i64; 7] = [
    2_147_483_647,
    4_294_967_295,
    999_999_999,
    9_999_999_999,
    111_111_111,
    123_456_789,
    1_234_567_890,
];

/// Prices in dollars that a listing of each type can have: below are tokens, above mistakes.
const fn price_bounds(listing_type: ListingType) -> (i64, i64) {
    match listing_type {
        ListingType::Sale => (1_000, 1_000_000_000),
        ListingType::Rental => (100, 1_000_000),
    }
}

/// Living areas in square feet that a home can have.
const LIVING_AREA: (i64, i64) = (50, 250_000);

/// The city's bounding box: degrees north, degrees east.
const CITY_BOX: ((f64, f64), (f64, f64)) = ((40.45, 40.95), (-74.30, -73.65));

/// A row of a feed, read field by field; what cannot be is counted.
pub(crate) struct Facts<'a> {
    row: &'a Map<String, Value>,
    dropped: &'a mut Dropped,
}

impl<'a> Facts<'a> {
    pub(crate) const fn new(row: &'a Map<String, Value>, dropped: &'a mut Dropped) -> Self {
        Self { row, dropped }
    }

    /// An object in a column, read like a row.
    pub(crate) fn within(&mut self, name: &str) -> Option<Facts<'_>> {
        match self.row.get(name) {
            Some(Value::Object(row)) => Some(Facts {
                row,
                dropped: self.dropped,
            }),
            _ => None,
        }
    }

    fn drop<T>(&mut self, field: &'static str) -> Option<T> {
        *self.dropped.entry(field).or_insert(0) += 1;
        None
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.row.get(name).filter(|value| !value.is_null())
    }

    /// Text without blanks around it; numbers as their digits; several values with commas. `None` for blank text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        text_of(self.value(name)?)
    }

    /// The first of several columns that says something.
    pub(crate) fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// A number, written as one or as text. `None` where there is none or it is neither.
    fn number(&self, name: &str) -> Option<f64> {
        let number = match self.value(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => {
                brownstone_domain::money::number_text(text).and_then(|digits| digits.parse().ok())
            }
            _ => None,
        };
        number.filter(|number| number.is_finite())
    }

    /// `true` or `false`, as such or in words.
    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Bool(value) => Some(*value),
            Value::Number(number) => match number.as_u64() {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "y" | "1" => Some(true),
                "false" | "no" | "n" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A whole number within bounds; anything else that is a number is dropped.
    pub(crate) fn whole(
        &mut self,
        name: &str,
        field: &'static str,
        bounds: (i64, i64),
    ) -> Option<u32> {
        let number = self.number(name)?;
        // The casts are exact: the bounds are far below 2^53.
        if number.fract() == 0.0 && number >= bounds.0 as f64 && number <= bounds.1 as f64 {
            Some(number as u32)
        } else {
            self.drop(field)
        }
    }

    /// A number of halves up to 100, quarters rounded down to the half; a longer fraction is a mean somebody filled in.
    pub(crate) fn halves(&mut self, name: &str, field: &'static str) -> Option<f64> {
        let number = self.number(name)?;
        if !(0.0..=100.0).contains(&number) || (number * 4.0).fract() != 0.0 {
            return self.drop(field);
        }
        Some((number * 2.0).floor() / 2.0)
    }

    /// Square feet of a home. `to_sqft` converts the feed's unit, of which two decimals are a measurement and more a mean
    /// that somebody filled in.
    pub(crate) fn living_area(&mut self, name: &str, to_sqft: f64) -> Option<u32> {
        self.area(name, "living_area_sqft", to_sqft, LIVING_AREA)
    }

    /// Square feet of ground; see [`Facts::living_area`].
    pub(crate) fn lot_size(&mut self, name: &str, to_sqft: f64) -> Option<u32> {
        self.area(name, "lot_size_sqft", to_sqft, (100, 500_000_000))
    }

    fn area(
        &mut self,
        name: &str,
        field: &'static str,
        to_sqft: f64,
        bounds: (i64, i64),
    ) -> Option<u32> {
        let number = self.number(name)?;
        // An acre is measured to four decimals.
        let digits = if to_sqft > 1_000.0 { 10_000.0 } else { 100.0 };
        let shifted = number * digits;
        let measured = (shifted - shifted.round()).abs() < 1e-3;
        let sqft = (number * to_sqft).round();
        let filled = FILLS.iter().any(|fill| number == *fill as f64);
        if measured && !filled && sqft >= bounds.0 as f64 && sqft <= bounds.1 as f64 {
            Some(sqft as u32)
        } else {
            self.drop(field)
        }
    }

    /// An amount of a price's size.
    pub(crate) fn price(
        &mut self,
        name: &str,
        field: &'static str,
        listing_type: ListingType,
        per_month: Rate,
    ) -> Option<Dollars> {
        let (low, high) = price_bounds(listing_type);
        self.amount(name, field, per_month, (low, high))
    }

    /// A charge that recurs, by the month; 0 is a charge of nothing.
    pub(crate) fn charge(
        &mut self,
        name: &str,
        field: &'static str,
        per_month: Rate,
    ) -> Option<Dollars> {
        self.amount(name, field, per_month, (0, 1_000_000))
    }

    fn amount(
        &mut self,
        name: &str,
        field: &'static str,
        rate: Rate,
        bounds: (i64, i64),
    ) -> Option<Dollars> {
        // A number that came as a fraction has lost its digits already; two decimals are what money has.
        let amount: Option<Dollars> = match self.value(name)? {
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => whole.to_string().parse().ok(),
                // The cast saturates, far above any price.
                (None, Some(fraction)) => {
                    Some(Dollars::from_cents((fraction * 100.0).round() as i64))
                }
                (None, None) => None,
            },
            Value::String(text) => text.parse().ok(),
            _ => return None,
        };
        let Some(cents) = amount.and_then(Dollars::cents) else {
            return if amount.is_none() && matches!(self.value(name), Some(Value::String(_))) {
                None
            } else {
                self.drop(field)
            };
        };
        if FILLS.contains(&(cents / 100)) {
            return self.drop(field);
        }
        let monthly = rate.apply(cents);
        if monthly < bounds.0 * 100 || monthly > bounds.1 * 100 {
            return self.drop(field);
        }
        // What needed no reckoning keeps the feed's digits.
        if rate == Rate::MONTHLY {
            amount
        } else {
            Some(Dollars::from_cents(monthly))
        }
    }

    /// Degrees north and east, where both lie in the city.
    pub(crate) fn place(&mut self, north: &str, east: &str) -> Option<(f64, f64)> {
        let (latitude, longitude) = (self.number(north)?, self.number(east)?);
        let ((south, top), (west, right)) = CITY_BOX;
        if (south..=top).contains(&latitude) && (west..=right).contains(&longitude) {
            Some((latitude, longitude))
        } else {
            self.drop("latitude")
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(text_of).collect();
            texts.join(", ")
        }
        Value::Null | Value::Object(_) => String::new(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// How many of a charge there are in a month, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(pub(crate) i64, pub(crate) i64);

impl Rate {
    /// Once a month.
    pub(crate) const MONTHLY: Self = Self(1, 1);
    /// Once a year.
    pub(crate) const ANNUALLY: Self = Self(1, 12);

    /// Cents a month, rounded to the nearest.
    fn apply(self, cents: i64) -> i64 {
        let scaled = i128::from(cents) * i128::from(self.0) * 2 + i128::from(self.1);
        i64::try_from(scaled.div_euclid(i128::from(self.1) * 2)).unwrap_or(i64::MAX)
    }
}

/// Dates that contradict each other: what cannot be is dropped. Then what follows from the rest is reckoned.
pub(crate) fn finish(listing: &mut Listing, dropped: &mut Dropped) {
    let mut drop = |field| *dropped.entry(field).or_insert(0) += 1;
    let day = |date: &Option<brownstone_domain::PublishedDate>| {
        date.as_ref().and_then(|date| parse_day(date.as_str()))
    };
    let (listed, closed) = (day(&listing.list_date), day(&listing.close_date));
    if listed
        .zip(closed)
        .is_some_and(|(listed, closed)| listed > closed)
    {
        listing.list_date = None;
        drop("list_date");
    }
    let (listed, off) = (day(&listing.list_date), day(&listing.off_market_date));
    if listed.zip(off).is_some_and(|(listed, off)| listed > off) {
        listing.off_market_date = None;
        drop("off_market_date");
    }
    if let (Some(price), Some(previous), None) = (
        listing.price(),
        listing.previous_list_price,
        listing.price_change,
    ) && let (Some(now), Some(before)) = (price.cents(), previous.cents())
    {
        listing.price_change = (now != before).then(|| Dollars::from_cents(now - before));
    }
    listing.price_per_sqft = price_per_sqft(listing.price(), listing.living_area_sqft);
}

/// Dollars a square foot, to the cent.
pub(crate) fn price_per_sqft(price: Option<Dollars>, sqft: Option<u32>) -> Option<Dollars> {
    let (cents, sqft) = (price?.cents()?, i64::from(sqft?));
    if sqft == 0 {
        return None;
    }
    let each = (cents * 2 + sqft).div_euclid(sqft * 2);
    // Always two decimals: it is a quotient.
    format!("{}.{:02}", each / 100, each % 100).parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value)] // it is made where it is handed over
    fn with<T>(value: Value, read: impl FnOnce(&mut Facts<'_>) -> T) -> (T, u64) {
        let row = json!({"x": value});
        let mut dropped = Dropped::new();
        let Value::Object(row) = row else { panic!() };
        let out = read(&mut Facts::new(&row, &mut dropped));
        (out, dropped.values().sum())
    }

    #[rstest]
    #[case(json!(1_250_000), Some("1250000"), 0)]
    #[case(json!("1250000.00"), Some("1250000.00"), 0)]
    #[case(json!(1.25e6), Some("1250000"), 0)]
    #[case(json!(1250000.5), Some("1250000.50"), 0)]
    #[case(json!(2_147_483_647), None, 1)]
    #[case(json!(2_147_483_647_i64 * 3), None, 1)]
    #[case(json!(999_999_999), None, 1)]
    #[case(json!(0), None, 1)]
    #[case(json!(1), None, 1)]
    #[case(json!(-5), None, 1)]
    #[case(json!("call for price"), None, 0)]
    #[case(json!(null), None, 0)]
    fn a_price_is_one_or_is_not_known(
        #[case] value: Value,
        #[case] price: Option<&str>,
        #[case] dropped: u64,
    ) {
        let (read, count) = with(value, |facts| {
            facts.price("x", "list_price", ListingType::Sale, Rate::MONTHLY)
        });
        assert_eq!(read.map(|price| price.to_string()).as_deref(), price);
        assert_eq!(count, dropped);
    }

    #[rstest]
    #[case(json!(2184.207862), 1.0, None)]
    #[case(json!(1400), 1.0, Some(1400))]
    #[case(json!("1,400"), 1.0, Some(1400))]
    #[case(json!(92.9), 10.763_910_416_7, Some(1000))]
    #[case(json!(3), 1.0, None)]
    #[case(json!(0), 1.0, None)]
    #[case(json!(2_147_483_647), 1.0, None)]
    fn an_area_is_measured_or_is_not_known(
        #[case] value: Value,
        #[case] unit: f64,
        #[case] sqft: Option<u32>,
    ) {
        assert_eq!(with(value, |facts| facts.living_area("x", unit)).0, sqft);
    }

    #[rstest]
    #[case(json!(2.373_860_857_968_437_3), None)]
    #[case(json!(1.5), Some(1.5))]
    #[case(json!(1.75), Some(1.5))]
    #[case(json!(2), Some(2.0))]
    #[case(json!(-1), None)]
    #[case(json!(400), None)]
    fn bathrooms_are_halves(#[case] value: Value, #[case] bathrooms: Option<f64>) {
        assert_eq!(
            with(value, |facts| facts.halves("x", "bathrooms")).0,
            bathrooms
        );
    }

    #[test]
    fn recurring_charges_are_by_the_month() {
        let monthly = |rate| {
            with(json!(1200), |facts| {
                facts.charge("x", "common_charges_monthly", rate)
            })
            .0
        };
        assert_eq!(monthly(Rate::ANNUALLY).unwrap().to_string(), "100");
        assert_eq!(monthly(Rate(52, 12)).unwrap().to_string(), "5200");
        assert_eq!(monthly(Rate::MONTHLY).unwrap().to_string(), "1200");
    }

    #[test]
    fn dates_that_contradict_each_other_are_dropped() {
        let mut dropped = Dropped::new();
        let mut listing = crate::made_up::row(1).listing;
        listing.list_date = Some("2026-05-02".into());
        listing.close_date = Some("2026-05-01".into());
        finish(&mut listing, &mut dropped);
        assert_eq!((listing.list_date, dropped["list_date"]), (None, 1));
    }

    #[test]
    fn dollars_a_foot_have_two_decimals() {
        let each = |price: &str, sqft| {
            price_per_sqft(price.parse().ok(), Some(sqft)).map(|d| d.to_string())
        };
        assert_eq!(each("1000000", 800).as_deref(), Some("1250.00"));
        assert_eq!(each("1000000", 3).as_deref(), Some("333333.33"));
        assert_eq!(each("1", 0), None);
    }

    proptest! {
        #[test]
        fn no_value_panics(number in any::<f64>(), text in "\\PC{0,12}", whole in any::<i64>()) {
            for value in [json!(number), json!(text), json!(whole), json!([text]), json!({"a": 1})] {
                let _ = with(value, |facts| {
                    let _ = facts.price("x", "p", ListingType::Rental, Rate(26, 12));
                    let _ = facts.charge("x", "p", Rate::ANNUALLY);
                    let _ = (facts.living_area("x", 1.0), facts.halves("x", "b"), facts.boolean("x"));
                    let _ = (facts.whole("x", "w", (0, 100)), facts.place("x", "x"), facts.text("x"));
                });
            }
        }
    }
}
