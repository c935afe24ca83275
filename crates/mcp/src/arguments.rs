//! The schema of each tool's arguments, and loose values put right.

use brownstone_domain::{
    Operation, OperationSpec,
    arguments::{Kind, argument, required},
};
use serde_json::{Map, Value, json};

/// The schema of an operation's arguments: one object, nothing behind a reference, nothing that clients stumble over.
pub fn schema(spec: &OperationSpec) -> Map<String, Value> {
    let mut properties = Map::new();
    for name in spec.fields {
        let Some(row) = argument(spec.operation, name) else {
            continue;
        };
        let mut property = row.kind.schema();
        let about = format!("{} Example: {}.", row.about, row.example);
        property.insert("description".into(), about.into());
        properties.insert((*name).to_owned(), Value::Object(property));
    }
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Value::Object(properties));
    let required = required(spec.operation);
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.insert("additionalProperties".into(), Value::Bool(false));
    schema
}

/// An operation's body from arguments as agents write them: a null is an argument left out, a digit id may be a number, a
/// number may be text with a dollar sign and commas. What cannot be read or is no argument stays as it came: the operation says what is
/// wrong.
pub fn body(operation: Operation, arguments: Map<String, Value>) -> Map<String, Value> {
    let accepted = operation.spec().fields;
    arguments
        .into_iter()
        .filter(|(name, value)| !(value.is_null() && accepted.contains(&name.as_str())))
        .map(|(name, value)| {
            let value = match argument(operation, &name) {
                Some(row) => put_right(row.kind, value),
                None => value,
            };
            (name, value)
        })
        .collect()
}

fn put_right(kind: Kind, value: Value) -> Value {
    match kind {
        Kind::Text(_) | Kind::Date => text(value, 0),
        Kind::Zip => text(value, 5),
        Kind::Zips => match value {
            Value::Array(zips) => zips.into_iter().map(|zip| text(zip, 5)).collect(),
            // One ZIP is a list of one.
            one @ (Value::String(_) | Value::Number(_)) => Value::Array(vec![text(one, 5)]),
            other => other,
        },
        Kind::Integer(..)
        | Kind::Number(..)
        | Kind::Halves(_)
        | Kind::Dollars
        | Kind::OneNumber(_) => number(value),
        Kind::Boolean => match value.as_str() {
            Some("true") => Value::Bool(true),
            Some("false") => Value::Bool(false),
            _ => value,
        },
        Kind::OneOf(_) => value,
        Kind::SeveralOf(_) => match value {
            one @ Value::String(_) => Value::Array(vec![one]),
            other => other,
        },
    }
}

/// Text of a whole number, with zeros in front up to `width`.
fn text(value: Value, width: usize) -> Value {
    match value.as_u64() {
        Some(number) => Value::String(format!("{number:0>width$}")),
        None => value,
    }
}

fn number(value: Value) -> Value {
    let Value::String(text) = &value else {
        return value;
    };
    let plain = brownstone_domain::money::number_text(text);
    let read = plain.and_then(|plain| serde_json::from_str(&plain).ok());
    read.filter(Value::is_number).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use brownstone_domain::OPERATIONS;
    use proptest::prelude::*;

    use super::*;

    /// What the operation says of one argument beside those it must have; `None` for an operation whose reader needs more.
    fn accepts(operation: Operation, name: &str, value: Value) -> Option<bool> {
        use brownstone_service::{comps, rates, rentals, search};
        let mut body = Map::new();
        let base = match operation {
            Operation::GetComps | Operation::GetRentalEstimates => Some(("address", "1000477501")),
            Operation::SearchListings => Some(("location", "11215")),
            _ => None,
        };
        body.extend(base.map(|(name, value)| (name.to_owned(), value.into())));
        body.insert(name.to_owned(), value);
        match operation {
            Operation::GetComps => Some(comps::fields(&body).is_ok()),
            Operation::GetRentalEstimates => Some(rentals::fields(&body).is_ok()),
            Operation::SearchListings => Some(search::fields(&body).is_ok()),
            Operation::GetMortgageRates => Some(rates::fields(&body).is_ok()),
            _ => None,
        }
    }

    #[test]
    fn what_a_schema_bounds_the_operation_accepts() {
        let mut tried = 0;
        for spec in OPERATIONS.iter().filter(|spec| spec.mcp_tool.is_some()) {
            for name in spec.fields {
                let row = argument(spec.operation, name).expect("a row");
                let bounds = match row.kind {
                    Kind::Integer(least, most) => [json!(least), json!(most)],
                    Kind::Number(least, most) => [json!(least), json!(most)],
                    _ => continue,
                };
                for bound in bounds {
                    if let Some(accepted) = accepts(spec.operation, name, bound.clone()) {
                        assert!(accepted, "{} of {}: {bound}", name, spec.name);
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 30, "{tried}");
    }

    fn read(operation: Operation, arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        Value::Object(body(operation, arguments))
    }

    #[test]
    fn loose_values_are_put_right() {
        assert_eq!(
            read(
                Operation::LookupProperty,
                json!({"address": 1_008_350_041, "include_comps": "true", "include_rentals": null})
            ),
            json!({"address": "1008350041", "include_comps": true})
        );
        assert_eq!(
            read(
                Operation::GetMortgageRates,
                json!({"home_price": "$1,000,000", "ltv_percent": "80.5", "loan_term_years": "15", "zip_code": 10118})
            ),
            json!({"home_price": 1_000_000, "ltv_percent": 80.5, "loan_term_years": 15, "zip_code": "10118"})
        );
        assert_eq!(
            read(
                Operation::SearchListings,
                json!({"zip_codes": [11215, "11217"], "status": "active", "limit": "5"})
            ),
            json!({"zip_codes": ["11215", "11217"], "status": ["active"], "limit": 5})
        );
        assert_eq!(
            read(Operation::SearchListings, json!({"zip_codes": 501})),
            json!({"zip_codes": ["00501"]})
        );
    }

    #[test]
    fn what_cannot_be_read_is_left_to_the_operation() {
        let odd = json!({"home_price": "a million", "credit_score": true, "unknown": 5, "term": null, "limit": null});
        assert_eq!(read(Operation::GetMortgageRates, odd.clone()), odd);
    }

    proptest! {
        #[test]
        fn right_values_stay_as_they_are(price in 0_i64..1_000_000_000, ltv in 1.0_f64..100.0, zip in 10_001_u32..11_697) {
            let right = json!({"home_price": price, "ltv_percent": ltv, "zip_code": zip.to_string()});
            prop_assert_eq!(read(Operation::GetMortgageRates, right.clone()), right);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}") {
            for spec in &OPERATIONS {
                let arguments = spec.fields.iter().map(|name| ((*name).to_owned(), json!(text))).collect();
                body(spec.operation, arguments);
            }
        }
    }
}
