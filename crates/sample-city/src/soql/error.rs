//! Why a query is refused, in the publisher's words.

use serde_json::{Map, Value, json};

/// A refusal: always status 400.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SoqlError {
    /// `errorCode`.
    pub(crate) code: &'static str,
    /// What follows the code in `message`.
    pub(crate) what: String,
    /// `data`, without `dataset` and `position`.
    pub(crate) data: Map<String, Value>,
    /// The expression at fault.
    pub(crate) at: Option<u32>,
}

impl SoqlError {
    fn new(code: &'static str, what: String, data: Value, at: Option<u32>) -> Self {
        let data = match data {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        Self {
            code,
            what,
            data,
            at,
        }
    }

    pub(crate) fn no_such_column(column: &str, at: Option<u32>) -> Self {
        Self::new(
            "query.soql.no-such-column",
            format!("No such column: {column}"),
            json!({ "column": column }),
            at,
        )
    }

    pub(crate) fn type_mismatch(function: &str, found: &str, at: Option<u32>) -> Self {
        Self::new(
            "query.soql.type-mismatch",
            format!("Type mismatch for {function}, is {found}"),
            json!({ "function": function, "type": found }),
            at,
        )
    }

    pub(crate) fn no_such_function(function: &str, at: Option<u32>) -> Self {
        Self::new(
            "query.soql.no-such-function",
            format!("No such function: {function}"),
            json!({ "function": function }),
            at,
        )
    }

    pub(crate) fn aggregate_here(function: &str, at: Option<u32>) -> Self {
        Self::new(
            "query.soql.aggregate-in-ungrouped-context",
            format!("Aggregate function `{function}' in ungrouped context"),
            json!({ "function": function }),
            at,
        )
    }

    pub(crate) fn not_in_group_by(column: &str, at: Option<u32>) -> Self {
        Self::new(
            "query.soql.column-not-in-group-bys",
            format!("Column not in group bys: {column}"),
            json!({ "column": column }),
            at,
        )
    }

    pub(crate) fn duplicate_alias(alias: &str, at: Option<u32>) -> Self {
        Self::new(
            "query.soql.duplicate-alias",
            format!("Duplicate alias: {alias}"),
            json!({ "name": alias }),
            at,
        )
    }

    pub(crate) fn bad_parse(expected: &str, found: &str) -> Self {
        Self::new(
            "query.soql.bad-parse",
            format!("Expected {expected}, but got {found}"),
            json!({ "expected": expected, "found": found }),
            None,
        )
    }

    pub(crate) fn unterminated_string() -> Self {
        Self::new(
            "query.soql.unterminated-string",
            "Unterminated string".to_owned(),
            Value::Null,
            None,
        )
    }

    pub(crate) fn unexpected_character(character: char) -> Self {
        Self::new(
            "query.soql.unexpected-character",
            format!("Unexpected character {character:?}"),
            json!({ "character": character.to_string() }),
            None,
        )
    }

    /// A cast met a cell it cannot read. That this is a 400 is known; its code is not, and so is ours.
    pub(crate) fn bad_cast(text: &str, target: &str) -> Self {
        Self::new(
            "query.soql.invalid-cast",
            format!("Unable to cast {text:?} to {target}"),
            json!({ "type": target }),
            None,
        )
    }

    /// A parameter whose value is no number, or that no client should send.
    pub(crate) fn bad_parameter(name: &str) -> Self {
        Self::new(
            "query.soql.bad-parse",
            format!("Unrecognized or malformed parameter: {name}"),
            json!({ "parameter": name }),
            None,
        )
    }
}
