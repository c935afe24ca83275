//! Schemas that no derive can make: names with their meanings, identifiers, money.

use utoipa::openapi::{
    RefOr, Schema,
    schema::{ObjectBuilder, Type},
};

use crate::{
    Bbl, Bin, Dollars, ERROR_CODES, ErrorCode, OPERATIONS, Operation, PublishedDate, RequestId, Zip,
};

/// Text that is one of these, each with what it means.
pub(crate) fn one_of(about: &str, values: &[(&str, &str)]) -> RefOr<Schema> {
    let mut description = about.trim().to_owned();
    for (name, meaning) in values {
        description.push_str(&format!("\n- `{name}`: {}", meaning.trim()));
    }
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(values.iter().map(|(name, _)| *name)))
        .description(Some(description))
        .into()
}

fn text(about: &str, pattern: Option<&str>, example: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .pattern(pattern)
        .examples([serde_json::Value::from(example)])
        .into()
}

macro_rules! schemas {
    ($($name:ident: $schema:expr;)*) => {
        $(
            impl utoipa::PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    $schema
                }
            }

            impl utoipa::ToSchema for $name {}
        )*
    };
}

schemas! {
    Bbl: text(
        "A tax lot as ten digits: one of borough, five of block, four of lot.",
        Some("^[1-5][0-9]{9}$"),
        "1008350041",
    );
    Bin: text(
        "A Building Identification Number: seven digits, the first its borough's.",
        Some("^[1-5][0-9]{6}$"),
        "1015862",
    );
    Zip: text("A ZIP code: five digits.", Some("^[0-9]{5}$"), "10118");
    PublishedDate: text(
        "A date letter for letter as its publisher wrote it; it is never reformatted.",
        None,
        "2026-11-27",
    );
    RequestId: text(
        "The identifier of one request, the same as in the header x-request-id.",
        None,
        "01a21fa9-1f5a-7437-8517-e93e3af0f950",
    );
    Dollars: ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some("US dollars, with the publisher's digits; never cents."))
        .into();
    ErrorCode: {
        let values = ERROR_CODES.map(|row| (row.name, row.cause));
        one_of("What went wrong. The set is closed, and a code keeps its status.", &values)
    };
    Operation: {
        let values = OPERATIONS.map(|row| (row.name, row.path));
        one_of("The operation's name.", &values)
    };
}
