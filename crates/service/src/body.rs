//! A request body: one JSON object, read strictly.

use std::{cell::RefCell, fmt};

use brownstone_domain::OperationSpec;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// The largest body, in bytes.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 32;

/// Why a body is refused: a whole sentence for the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BodyFault(pub String);

/// Reads the body of an operation: UTF-8 JSON, one object, no field that the operation does not accept, no key twice,
/// not nested too deep.
///
/// # Errors
/// Names the fault. Unknown fields come before any other fault, all of them, in the order sent.
pub fn parse(bytes: &[u8], spec: &OperationSpec) -> Result<Map<String, Value>, BodyFault> {
    let fault = |text: String| Err(BodyFault(text));
    if bytes.len() > MAX_BODY_BYTES {
        return fault(format!(
            "The request body is larger than {MAX_BODY_BYTES} bytes."
        ));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return fault("The request body is not valid UTF-8.".into());
    };
    if text.trim().is_empty() {
        return fault("The request body is empty; a JSON object is expected.".into());
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let (value, twice) = match noting(&mut reader) {
        Ok(read) => read,
        Err(_) if depth(text) > MAX_DEPTH => return fault(too_deep()),
        Err(error) => {
            return fault(format!(
                "The request body is not valid JSON (line {}, column {}).",
                error.line(),
                error.column()
            ));
        }
    };
    if reader.end().is_err() {
        return fault("The request body holds more than one JSON value.".into());
    }
    let Value::Object(object) = value else {
        return fault(format!(
            "The request body must be a JSON object; got {}.",
            kind(&value)
        ));
    };
    let unknown = unknown_fields(object.keys().map(String::as_str), spec);
    if let Some(fault) = unknown {
        return Err(fault);
    }
    if let Some(key) = twice {
        return Err(duplicate_field(&key));
    }
    // Each level has two brackets.
    if text.len() > 2 * MAX_DEPTH && depth(text) > MAX_DEPTH {
        return fault(too_deep());
    }
    Ok(object)
}

/// The contract's sentence about fields that an operation does not accept, `None` when it accepts all of them.
pub fn unknown_fields<'a>(
    sent: impl Iterator<Item = &'a str>,
    spec: &OperationSpec,
) -> Option<BodyFault> {
    let unknown: Vec<String> = sent
        .filter(|name| !spec.fields.contains(name))
        .map(shorten)
        .collect();
    if unknown.is_empty() {
        return None;
    }
    Some(BodyFault(format!(
        "Unknown field(s): {}. {} {} accepts: {}.",
        unknown.join(", "),
        spec.method.as_str(),
        spec.path,
        spec.fields.join(", ")
    )))
}

/// The sentence about a key that came twice.
pub fn duplicate_field(key: &str) -> BodyFault {
    BodyFault(format!(
        "Duplicate field: {}. Each field may be sent once.",
        shorten(key)
    ))
}

/// Reads one JSON value, and the first key in it that comes twice: the first value of such a key stays.
///
/// # Errors
/// When it is no JSON.
pub fn read(bytes: &[u8]) -> serde_json::Result<(Value, Option<String>)> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = noting(&mut reader)?;
    reader.end()?;
    Ok(read)
}

fn noting<'de, R: serde_json::de::Read<'de>>(
    reader: &mut serde_json::Deserializer<R>,
) -> serde_json::Result<(Value, Option<String>)> {
    let findings = Findings::default();
    let seed = Seed {
        findings: &findings,
    };
    let value = seed.deserialize(reader)?;
    Ok((value, findings.duplicate.into_inner()))
}

fn too_deep() -> String {
    format!("The request body is nested deeper than {MAX_DEPTH} levels.")
}

/// What a caller sent, short enough for a message: at most 60 characters, control characters shown as escapes.
pub fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).flat_map(escape).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}

fn escape(c: char) -> impl Iterator<Item = char> {
    let bidi =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let escaped: String = if c.is_control() || bidi {
        c.escape_unicode().collect()
    } else {
        c.into()
    };
    escaped.chars().collect::<Vec<_>>().into_iter()
}

/// What a value is, for a message: `a number`, `the string "x"` and so on.
pub fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {}", shorten(&number.to_string())),
        Value::String(text) => format!("the string \"{}\"", shorten(text)),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// The deepest nesting of brackets outside strings.
fn depth(text: &str) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

#[derive(Default)]
struct Findings {
    duplicate: RefCell<Option<String>>,
}

/// Reads a value like `serde_json::Value` does, and notes the first key that comes twice.
#[derive(Clone, Copy)]
struct Seed<'f> {
    findings: &'f Findings,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(Key(key)) = entries.next_key()? {
            let value = entries.next_value_seed(self)?;
            if object.contains_key(&key) {
                self.findings.duplicate.borrow_mut().get_or_insert(key);
            } else {
                object.insert(key, value);
            }
        }
        Ok(Value::Object(object))
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Key(String);

#[cfg(test)]
mod tests {
    use brownstone_domain::Operation;
    use proptest::prelude::*;

    use super::*;

    fn lookup(body: &str) -> Result<Map<String, Value>, String> {
        parse(body.as_bytes(), Operation::LookupProperty.spec()).map_err(|fault| fault.0)
    }

    #[test]
    fn unknown_fields_are_named_in_the_order_sent_and_before_any_other_fault() {
        let nested = "[".repeat(40) + &"]".repeat(40);
        for body in [
            r#"{"b":1,"address":"x","a":2}"#.to_owned(),
            r#"{"b":1,"a":2,"address":5,"address":6}"#.to_owned(),
            format!(r#"{{"b":{nested},"a":2}}"#),
        ] {
            assert_eq!(
                lookup(&body).unwrap_err(),
                "Unknown field(s): b, a. POST /v1/lookup accepts: address, include_comps, include_rentals."
            );
        }
    }

    #[test]
    fn a_key_that_comes_twice_is_refused_at_any_depth() {
        for (body, key) in [
            (r#"{"address":"a","address":"b"}"#, "address"),
            (r#"{"address":{"x":1,"x":2}}"#, "x"),
        ] {
            let message = lookup(body).unwrap_err();
            assert_eq!(
                message,
                format!("Duplicate field: {key}. Each field may be sent once.")
            );
        }
    }

    #[test]
    fn nesting_is_bounded_below_the_parsers_own_limit() {
        let nested = |levels: usize| {
            format!(
                r#"{{"address":{}{}}}"#,
                "[".repeat(levels - 1),
                "]".repeat(levels - 1)
            )
        };
        assert!(lookup(&nested(32)).is_ok());
        for levels in [33, 200, 20_000] {
            assert_eq!(
                lookup(&nested(levels)).unwrap_err(),
                "The request body is nested deeper than 32 levels."
            );
        }
    }

    #[test]
    fn brackets_inside_strings_are_no_nesting() {
        let body = format!(r#"{{"address":"{}\"["}}"#, "[".repeat(100));
        assert!(lookup(&body).is_ok());
    }

    #[test]
    fn other_faults_say_what_came() {
        for (body, part) in [
            ("", "empty"),
            ("[]", "got an array"),
            ("\"x\"", "got the string \"x\""),
            ("{\"address\":\"x\"", "not valid JSON (line 1"),
            ("{} {}", "more than one JSON value"),
        ] {
            let message = lookup(body).unwrap_err();
            assert!(message.contains(part), "{body}: {message}");
        }
        let message = parse(b"{\"address\":\"\xff\"}", Operation::LookupProperty.spec());
        assert!(message.unwrap_err().0.contains("UTF-8"));
        let large = format!(r#"{{"address":"{}"}}"#, "x".repeat(MAX_BODY_BYTES));
        assert!(lookup(&large).unwrap_err().contains("larger than 65536"));
    }

    #[test]
    fn control_and_direction_characters_of_a_field_name_are_shown_as_escapes() {
        let message = lookup("{\"a\\u0000b\\u202e\":1}").unwrap_err();
        assert!(message.contains("a\\u{0}b\\u{202e}"), "{message}");
    }

    proptest! {
        #[test]
        fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&body, Operation::LookupProperty.spec());
        }

        #[test]
        fn what_is_accepted_is_what_serde_reads(text in "[a-zA-Z0-9 ,.#-]{0,40}", comps in any::<bool>()) {
            let body = serde_json::json!({"address": text, "include_comps": comps});
            prop_assert_eq!(Value::Object(lookup(&body.to_string()).unwrap()), body);
        }
    }
}
