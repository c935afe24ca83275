//! Typed fields out of a body's object. Each fault names the field, what came and what is allowed.

use brownstone_domain::LookupRequest;
use serde_json::{Map, Value};

use crate::body::{BodyFault, kind};

fn wrong(field: &str, allowed: &str, got: Option<&Value>) -> BodyFault {
    BodyFault(match got {
        Some(value) => format!("{field} must be {allowed}; got {}.", kind(value)),
        None => format!("{field} is required: {allowed}."),
    })
}

/// A field that may be left out; `null` counts as left out nowhere: it is a fault.
fn boolean(object: &Map<String, Value>, field: &str, default: bool) -> Result<bool, BodyFault> {
    match object.get(field) {
        None => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(other) => Err(wrong(field, "true or false", Some(other))),
    }
}

/// Reads the request of a lookup.
///
/// # Errors
/// Names the first field that is wrong.
pub fn lookup(object: &Map<String, Value>) -> Result<LookupRequest, BodyFault> {
    const ALLOWED: &str = "a string of 1 to 200 characters";
    let address = match object.get("address") {
        Some(Value::String(text)) => text,
        other => return Err(wrong("address", ALLOWED, other)),
    };
    let length = address.chars().count();
    if address.trim().is_empty() {
        return Err(BodyFault(format!(
            "address must be {ALLOWED}; got blank text."
        )));
    }
    if length > LookupRequest::MAX_ADDRESS_CHARS {
        return Err(BodyFault(format!(
            "address must be {ALLOWED}; got {length} characters."
        )));
    }
    if address.chars().any(char::is_control) {
        return Err(BodyFault(
            "address must not hold control characters such as line breaks or tabs.".into(),
        ));
    }
    Ok(LookupRequest {
        address: address.clone(),
        include_comps: boolean(object, "include_comps", false)?,
        include_rentals: boolean(object, "include_rentals", false)?,
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
}
