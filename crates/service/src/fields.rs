//! Typed fields out of a body's object. Each fault names the field, what came and what is allowed.
//!
//! [`Fields`] is the one reader for all operations. A field that may be left out is `None` when it is absent; `null`
//! counts as left out nowhere: it is a fault.

use std::{fmt::Display, ops::RangeInclusive};

use brownstone_domain::LookupRequest;
use serde_json::{Map, Value};
use time::{Date, macros::format_description};

use crate::body::{BodyFault, kind};

/// The largest amount of dollars that a request may name.
pub const MAX_DOLLARS: i64 = 100_000_000_000;

/// Reads the fields of one body.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a Map<String, Value>);

/// Only a refusal says so.
fn string_of(longest: usize) -> String {
    format!("a string of 1 to {longest} characters")
}

fn wrong(field: &str, allowed: &str, got: Option<&Value>) -> BodyFault {
    BodyFault(match got {
        Some(value) => format!("{field} must be {allowed}; got {}.", kind(value)),
        None => format!("{field} is required: {allowed}."),
    })
}

impl<'a> Fields<'a> {
    /// The value as it was sent.
    pub fn get(&self, field: &str) -> Option<&'a Value> {
        self.0.get(field)
    }

    /// `true` or `false`.
    pub fn boolean(&self, field: &str) -> Result<Option<bool>, BodyFault> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong(field, "true or false", Some(other))),
        }
    }

    /// A whole number within bounds. `3.0` is one, `3.5` and `"3"` are not.
    pub fn integer(
        &self,
        field: &str,
        bounds: RangeInclusive<i64>,
    ) -> Result<Option<i64>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        whole(value)
            .filter(|number| bounds.contains(number))
            .map(Some)
            .ok_or_else(|| {
                let allowed = format!("a whole number from {} to {}", bounds.start(), bounds.end());
                wrong(field, &allowed, Some(value))
            })
    }

    /// Whole dollars, from 0 on.
    pub fn dollars(&self, field: &str) -> Result<Option<i64>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        whole(value)
            .filter(|number| (0..=MAX_DOLLARS).contains(number))
            .map(Some)
            .ok_or_else(|| {
                let allowed = format!("whole US dollars from 0 to {MAX_DOLLARS}");
                wrong(field, &allowed, Some(value))
            })
    }

    /// A number within bounds.
    pub fn number(
        &self,
        field: &str,
        bounds: RangeInclusive<f64>,
    ) -> Result<Option<f64>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        value
            .as_f64()
            .filter(|number| bounds.contains(number))
            .map(Some)
            .ok_or_else(|| {
                let allowed = format!("a number from {} to {}", bounds.start(), bounds.end());
                wrong(field, &allowed, Some(value))
            })
    }

    /// A string of 1 to `longest` characters that is not blank and holds no control characters.
    pub fn text(&self, field: &str, longest: usize) -> Result<Option<&'a str>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        let Value::String(text) = value else {
            return Err(wrong(field, &string_of(longest), Some(value)));
        };
        let length = text.chars().count();
        if text.trim().is_empty() {
            return Err(BodyFault(format!(
                "{field} must be {}; got blank text.",
                string_of(longest)
            )));
        }
        if length > longest {
            return Err(BodyFault(format!(
                "{field} must be {}; got {length} characters.",
                string_of(longest)
            )));
        }
        if text.chars().any(char::is_control) {
            return Err(BodyFault(format!(
                "{field} must not hold control characters such as line breaks or tabs."
            )));
        }
        Ok(Some(text))
    }

    /// The address that three operations require.
    pub fn address(&self) -> Result<&'a str, BodyFault> {
        let longest = LookupRequest::MAX_ADDRESS_CHARS;
        self.text("address", longest)?
            .ok_or_else(|| wrong("address", &string_of(longest), None))
    }

    /// One of a table's names.
    pub fn one_of<T: Copy>(
        &self,
        field: &str,
        table: &[(&str, T)],
    ) -> Result<Option<T>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        named(value, table)
            .map(Some)
            .ok_or_else(|| wrong(field, &one_of_text(table), Some(value)))
    }

    /// An array of a table's names, none twice, at least one.
    pub fn several_of<T: Copy + PartialEq>(
        &self,
        field: &str,
        table: &[(&str, T)],
    ) -> Result<Option<Vec<T>>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        let allowed = || format!("an array with {}", one_of_text(table));
        let Value::Array(items) = value else {
            return Err(wrong(field, &allowed(), Some(value)));
        };
        if items.is_empty() {
            return Err(BodyFault(format!(
                "{field} must be {}; got an empty array.",
                allowed()
            )));
        }
        let mut chosen = Vec::with_capacity(items.len().min(table.len()));
        for item in items {
            let one = named(item, table).ok_or_else(|| wrong(field, &allowed(), Some(item)))?;
            if !chosen.contains(&one) {
                chosen.push(one);
            }
        }
        Ok(Some(chosen))
    }

    /// A number from 0 to `most` in halves, as bathrooms are counted.
    pub fn halves(&self, field: &str, most: f64) -> Result<Option<f64>, BodyFault> {
        match self.number(field, 0.0..=most)? {
            Some(number) if (number * 2.0).fract() != 0.0 => {
                let allowed = format!("a number from 0 to {most} in halves");
                Err(wrong(field, &allowed, self.get(field)))
            }
            number => Ok(number),
        }
    }

    /// A day, as `YYYY-MM-DD`.
    pub fn date(&self, field: &str) -> Result<Option<Date>, BodyFault> {
        let Some(value) = self.get(field) else {
            return Ok(None);
        };
        day(value)
            .map(Some)
            .ok_or_else(|| wrong(field, "a date as YYYY-MM-DD", Some(value)))
    }

    /// Refuses a minimum above its maximum, naming both.
    pub fn ordered<T: PartialOrd + Display>(
        low: (&str, Option<T>),
        high: (&str, Option<T>),
    ) -> Result<(), BodyFault> {
        match (low.1, high.1) {
            (Some(least), Some(most)) if least > most => Err(BodyFault(format!(
                "{} must not be above {}; got {least} and {most}.",
                low.0, high.0
            ))),
            _ => Ok(()),
        }
    }
}

/// A number without a fraction; `3.0` counts.
fn whole(value: &Value) -> Option<i64> {
    /// Beyond this a double no longer tells whole numbers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        // The cast is exact: a whole number within the range of a double's.
        (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
    })
}

fn named<T: Copy>(value: &Value, table: &[(&str, T)]) -> Option<T> {
    let text = value.as_str()?;
    table
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, chosen)| *chosen)
}

fn one_of_text<T>(table: &[(&str, T)]) -> String {
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    match names.as_slice() {
        [only] => format!("\"{only}\""),
        _ => format!("one of {}", names.join(", ")),
    }
}

/// A day as `YYYY-MM-DD`, and nothing looser.
pub fn day(value: &Value) -> Option<Date> {
    let text = value.as_str().filter(|text| text.len() == 10)?;
    Date::parse(text, format_description!("[year]-[month]-[day]")).ok()
}

/// Reads the request of a lookup.
///
/// # Errors
/// Names the first field that is wrong.
pub fn lookup(object: &Map<String, Value>) -> Result<LookupRequest, BodyFault> {
    let fields = Fields(object);
    Ok(LookupRequest {
        address: fields.address()?.to_owned(),
        include_comps: fields.boolean("include_comps")?.unwrap_or(false),
        include_rentals: fields.boolean("include_rentals")?.unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<LookupRequest, String> {
        let Value::Object(object) = value else {
            panic!("an object is wanted")
        };
        lookup(&object).map_err(|fault| fault.0)
    }

    #[test]
    fn a_lookup_is_read_with_its_defaults() {
        let request = read(json!({"address": "350 5 Avenue"})).unwrap();
        assert_eq!(
            (request.include_comps, request.include_rentals),
            (false, false)
        );
        assert!(
            read(json!({"address": "x", "include_comps": true}))
                .unwrap()
                .include_comps
        );
    }

    #[test]
    fn each_fault_names_its_field_what_came_and_what_is_allowed() {
        let long = "x".repeat(201);
        for (body, message) in [
            (
                json!({}),
                "address is required: a string of 1 to 200 characters.",
            ),
            (
                json!({"address": 5}),
                "address must be a string of 1 to 200 characters; got the number 5.",
            ),
            (
                json!({"address": null}),
                "address must be a string of 1 to 200 characters; got null.",
            ),
            (
                json!({"address": "  "}),
                "address must be a string of 1 to 200 characters; got blank text.",
            ),
            (
                json!({"address": long}),
                "address must be a string of 1 to 200 characters; got 201 characters.",
            ),
            (
                json!({"address": "a\tb"}),
                "address must not hold control characters such as line breaks or tabs.",
            ),
            (
                json!({"address": "a", "include_comps": "yes"}),
                "include_comps must be true or false; got the string \"yes\".",
            ),
            (
                json!({"address": "a", "include_rentals": null}),
                "include_rentals must be true or false; got null.",
            ),
        ] {
            assert_eq!(read(body).unwrap_err(), message);
        }
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert!(read(json!({"address": "é".repeat(200)})).is_ok());
    }

    fn fault<T: std::fmt::Debug>(outcome: Result<T, BodyFault>) -> String {
        outcome.unwrap_err().0
    }

    #[test]
    fn values_of_every_kind_are_read() {
        let body = json!({
            "n": 3.0, "f": 1.5, "d": 900_000, "k": "b", "s": ["b", "a", "b"], "day": "2024-02-29", "t": "x", "y": true,
        });
        let Value::Object(object) = body else {
            panic!("an object is wanted")
        };
        let fields = Fields(&object);
        let table = [("a", 1), ("b", 2)];
        assert_eq!(fields.integer("n", 1..=3).unwrap(), Some(3));
        assert_eq!(fields.number("f", 0.5..=1.5).unwrap(), Some(1.5));
        assert_eq!(fields.dollars("d").unwrap(), Some(900_000));
        assert_eq!(fields.one_of("k", &table).unwrap(), Some(2));
        assert_eq!(fields.several_of("s", &table).unwrap(), Some(vec![2, 1]));
        assert_eq!(
            fields.date("day").unwrap(),
            Some(time::macros::date!(2024 - 02 - 29))
        );
        assert_eq!(fields.text("t", 1).unwrap(), Some("x"));
        assert_eq!(fields.boolean("y").unwrap(), Some(true));
        assert_eq!(fields.integer("absent", 1..=3).unwrap(), None);
        assert_eq!(fields.several_of("absent", &table).unwrap(), None);
    }

    #[test]
    fn a_value_that_is_not_allowed_is_named() {
        let body = json!({
            "n": 3.5, "far": 1e300, "f": 9, "neg": -1, "k": "c", "s": ["a", 7], "e": [], "day": "2023-02-29",
            "loose": "2023-2-9", "null": null,
        });
        let Value::Object(object) = body else {
            panic!("an object is wanted")
        };
        let fields = Fields(&object);
        let table = [("a", 1), ("b", 2)];
        let cases = [
            (
                fault(fields.integer("n", 1..=100)),
                "n must be a whole number from 1 to 100; got the number 3.5.",
            ),
            (
                fault(fields.integer("far", 0..=10)),
                "far must be a whole number from 0 to 10; got the number 1e+300.",
            ),
            (
                fault(fields.number("f", 0.05..=5.0)),
                "f must be a number from 0.05 to 5; got the number 9.",
            ),
            (
                fault(fields.dollars("neg")),
                "neg must be whole US dollars from 0 to 100000000000; got the number -1.",
            ),
            (
                fault(fields.one_of("k", &table)),
                "k must be one of a, b; got the string \"c\".",
            ),
            (
                fault(fields.several_of("s", &table)),
                "s must be an array with one of a, b; got the number 7.",
            ),
            (
                fault(fields.several_of("e", &table)),
                "e must be an array with one of a, b; got an empty array.",
            ),
            (
                fault(fields.date("day")),
                "day must be a date as YYYY-MM-DD; got the string \"2023-02-29\".",
            ),
            (
                fault(fields.date("loose")),
                "loose must be a date as YYYY-MM-DD; got the string \"2023-2-9\".",
            ),
            (
                fault(fields.integer("null", 0..=1)),
                "null must be a whole number from 0 to 1; got null.",
            ),
            (
                fault(Fields::ordered(("min_x", Some(5)), ("max_x", Some(4)))),
                "min_x must not be above max_x; got 5 and 4.",
            ),
        ];
        for (message, wanted) in cases {
            assert_eq!(message, wanted);
        }
        assert!(Fields::ordered(("a", Some(4)), ("b", Some(4))).is_ok());
        assert!(Fields::ordered(("a", Some(4)), ("b", None)).is_ok());
    }
}
