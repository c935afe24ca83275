//! Each argument's kind and description, and loose values put right.

use brownstone_domain::{Operation, OperationSpec};
use serde_json::{Map, Value, json};

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Text.
    Text,
    /// Text of five digits.
    Zip,
    /// An array of ZIPs.
    Zips,
    /// A whole number within bounds.
    Integer(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// Whole US dollars.
    Dollars,
    /// Yes or no.
    Boolean,
    /// A day.
    Date,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// Some of these.
    SeveralOf(&'static [&'static str]),
    /// One of these numbers.
    OneNumber(&'static [i64]),
}

const HOMES: &[&str] = &[
    "condo",
    "coop",
    "condop",
    "single_family",
    "two_family",
    "three_family",
    "multi_family",
    "townhouse",
    "mixed_use",
    "land",
    "other",
];
const STATUSES: &[&str] = &["active", "coming_soon", "active_under_contract", "pending"];
const SORTS: &[&str] = &[
    "newest",
    "price_asc",
    "price_desc",
    "price_per_sqft_asc",
    "living_area_desc",
    "days_on_market_asc",
];

type Row = (Option<Operation>, &'static str, Kind, &'static str);

const fn all(name: &'static str, kind: Kind, about: &'static str) -> Row {
    (None, name, kind, about)
}

const fn of(operation: Operation, name: &'static str, kind: Kind, about: &'static str) -> Row {
    (Some(operation), name, kind, about)
}

/// An operation's own row comes before the one for all.
const ROWS: &[Row] = {
    use Kind::{
        Boolean, Date, Dollars, Integer, Number, OneNumber, OneOf, SeveralOf, Text, Zip, Zips,
    };
    use Operation::{
        GetComps, GetListingUpdates, GetMortgageRates, GetRentalEstimates, SearchListings,
    };
    &[
        all(
            "address",
            Text,
            "Address in New York City, 1 to 200 characters, with borough or ZIP; a unit may follow. Also a 10-digit BBL or a 7-digit BIN. Example: \"350 5th Ave, Manhattan\".",
        ),
        all(
            "include_comps",
            Boolean,
            "Add comparable sales at their defaults to the report; no extra cost. Example: false.",
        ),
        all(
            "include_rentals",
            Boolean,
            "Add comparable rentals at their defaults to the report; no extra cost. Example: false.",
        ),
        all(
            "location",
            Text,
            "A ZIP, neighborhood or borough of New York City; send this or zip_codes, not both. Example: \"Park Slope\".",
        ),
        all(
            "zip_codes",
            Zips,
            "1 to 25 five-digit ZIPs of New York City, instead of location. Example: [\"11215\", \"11217\"].",
        ),
        all(
            "listing_type",
            OneOf(&["sale", "rental"]),
            "Homes for sale or for rent; default sale. Example: \"sale\".",
        ),
        all(
            "status",
            SeveralOf(STATUSES),
            "Statuses to include; default active alone. Example: [\"active\", \"pending\"].",
        ),
        all(
            "property_types",
            SeveralOf(HOMES),
            "Kinds of home; absent is all. Example: [\"condo\", \"coop\"].",
        ),
        all(
            "min_price",
            Dollars,
            "Lowest price in whole US dollars; monthly rent for rentals. Example: 500000.",
        ),
        all(
            "max_price",
            Dollars,
            "Highest price in whole US dollars; monthly rent for rentals. Example: 1200000.",
        ),
        all(
            "min_bedrooms",
            Integer(0, 50),
            "Fewest bedrooms; 0 is a studio. Example: 2.",
        ),
        all(
            "max_bedrooms",
            Integer(0, 50),
            "Most bedrooms; 0 is a studio. Example: 3.",
        ),
        all(
            "min_bathrooms",
            Number(0.0, 50.0),
            "Fewest bathrooms, in halves. Example: 1.5.",
        ),
        all(
            "max_bathrooms",
            Number(0.0, 50.0),
            "Most bathrooms, in halves. Example: 2.",
        ),
        all(
            "min_living_area_sqft",
            Integer(0, 1_000_000),
            "Smallest living area in square feet. Example: 700.",
        ),
        all(
            "max_living_area_sqft",
            Integer(0, 1_000_000),
            "Largest living area in square feet. Example: 1500.",
        ),
        all(
            "min_year_built",
            Integer(1600, 2100),
            "Earliest year built. Example: 1920.",
        ),
        all(
            "max_year_built",
            Integer(1600, 2100),
            "Latest year built. Example: 2010.",
        ),
        all(
            "max_days_on_market",
            Integer(0, 100_000),
            "Most days on the market. Example: 30.",
        ),
        all(
            "price_reduced",
            Boolean,
            "Only homes whose price was cut, or only others; absent is either. Example: true.",
        ),
        all(
            "new_construction",
            Boolean,
            "Only new buildings, or only others; absent is either. Example: true.",
        ),
        all(
            "no_fee",
            Boolean,
            "Rentals without a broker's fee, or with one; absent is either. Example: true.",
        ),
        all(
            "pets_allowed",
            Boolean,
            "Homes that allow pets, or do not; absent is either. Example: true.",
        ),
        all(
            "furnished",
            Boolean,
            "Furnished homes, or unfurnished; absent is either. Example: false.",
        ),
        all(
            "has_open_house",
            Boolean,
            "Homes with an open house to come, or without; absent is either. Example: true.",
        ),
        all(
            "available_from",
            Date,
            "Rentals available on or after this day, YYYY-MM-DD. Example: \"2027-01-01\".",
        ),
        all(
            "available_to",
            Date,
            "Rentals available on or before this day, YYYY-MM-DD. Example: \"2027-02-01\".",
        ),
        all(
            "sort",
            OneOf(SORTS),
            "Order of the results; default newest. Example: \"price_asc\".",
        ),
        of(
            SearchListings,
            "limit",
            Integer(1, 100),
            "Listings a page; default 25. A smaller page leaves room for other results. Example: 10.",
        ),
        all(
            "offset",
            Integer(0, 100_000),
            "Listings to pass over: offset plus the results of the page before. Example: 25.",
        ),
        of(
            GetComps,
            "mode",
            OneOf(&["comps", "valuation"]),
            "comps: comparable sales alone; valuation: an estimate of value, too. Default comps. Example: \"valuation\".",
        ),
        of(
            GetRentalEstimates,
            "mode",
            OneOf(&["rentals", "estimate"]),
            "rentals: comparable rentals alone; estimate: an estimate of rent, too. Default rentals. Example: \"estimate\".",
        ),
        of(
            GetMortgageRates,
            "property_type",
            OneOf(HOMES),
            "Kind of home; its number of homes decides the conforming limit. Example: \"two_family\".",
        ),
        all(
            "property_type",
            OneOf(HOMES),
            "Kind of the subject, where the record is wrong or silent. Example: \"condo\".",
        ),
        all(
            "bedrooms",
            Integer(0, 50),
            "Bedrooms of the subject; 0 is a studio. Example: 2.",
        ),
        all(
            "bathrooms",
            Number(0.0, 50.0),
            "Bathrooms of the subject, in halves. Example: 1.5.",
        ),
        of(
            GetRentalEstimates,
            "living_area_sqft",
            Integer(1, 1_000_000),
            "Living area of the subject in square feet. Example: 950.",
        ),
        all(
            "living_area_sqft",
            Integer(1, 10_000_000),
            "Living area of the subject in square feet. Example: 950.",
        ),
        all(
            "year_built",
            Integer(1650, 2100),
            "Year the subject was built. Example: 1931.",
        ),
        all(
            "units",
            Integer(1, 20_000),
            "Homes in the subject building. Example: 2.",
        ),
        all(
            "radius_miles",
            Number(0.05, 5.0),
            "How far to look, in miles; absent: as far as needed. Example: 0.5.",
        ),
        all(
            "lookback_months",
            Integer(1, 60),
            "How far back sales count, in months. Example: 24.",
        ),
        of(
            GetComps,
            "limit",
            Integer(1, 50),
            "Comparable sales to return; default 10. Example: 5.",
        ),
        of(
            GetRentalEstimates,
            "limit",
            Integer(1, 50),
            "Comparable rentals to return; default 15. Example: 5.",
        ),
        all(
            "same_building",
            OneOf(&["prefer", "only", "exclude"]),
            "Whether the subject's own building counts; default prefer. Example: \"only\".",
        ),
        all(
            "min_sale_price",
            Dollars,
            "Sales below this many US dollars are left out; default 10000. Example: 100000.",
        ),
        all(
            "max_sale_price",
            Dollars,
            "Sales above this many US dollars are left out. Example: 5000000.",
        ),
        all(
            "include_non_arms_length",
            Boolean,
            "Also sales between related parties; default false. Example: false.",
        ),
        all(
            "as_of_date",
            Date,
            "Use only sales dated before this day, YYYY-MM-DD; default today. Example: \"2026-06-30\".",
        ),
        all(
            "max_age_days",
            Integer(1, 365),
            "Oldest rental listing to use, in days; default 30. Example: 60.",
        ),
        all(
            "since",
            Text,
            "Begin of the digest: a day as YYYY-MM-DD or an RFC 3339 moment; default 24 hours ago, at most 30 days. Example: \"2026-11-26\".",
        ),
        all(
            "until",
            Text,
            "End of the digest: a day as YYYY-MM-DD or an RFC 3339 moment; default now. Example: \"2026-11-27\".",
        ),
        all(
            "min_price_drop_percent",
            Number(0.0, 100.0),
            "Smallest price drop to report, in percent. Example: 5.",
        ),
        of(
            GetListingUpdates,
            "limit",
            Integer(1, 200),
            "Items of each group; default 50. Example: 20.",
        ),
        all(
            "after_event_id",
            Integer(0, i64::MAX),
            "Go on after this event_id of a truncated digest. Example: 1841.",
        ),
        all(
            "loan_purpose",
            OneOf(&["purchase", "refinance", "cash_out_refinance"]),
            "What the loan is for; default purchase. Example: \"purchase\".",
        ),
        all(
            "home_price",
            Dollars,
            "Price of the home in whole US dollars. Any two of price, down payment, loan and ratio fix the rest. Example: 900000.",
        ),
        all(
            "down_payment",
            Dollars,
            "Down payment in whole US dollars. Example: 180000.",
        ),
        all(
            "loan_amount",
            Dollars,
            "Loan in whole US dollars. Example: 720000.",
        ),
        all(
            "ltv_percent",
            Number(0.01, 100.0),
            "Loan in percent of the price. Example: 80.",
        ),
        all(
            "credit_score",
            Integer(300, 850),
            "FICO score; default 740. Example: 720.",
        ),
        all(
            "loan_type",
            OneOf(&["conventional", "fha", "va", "usda", "jumbo"]),
            "Programme; default conventional, which above the conforming limit is priced as jumbo. Example: \"fha\".",
        ),
        all(
            "loan_term_years",
            OneNumber(&[30, 15]),
            "Term in years; default 30. Example: 15.",
        ),
        all(
            "rate_type",
            OneOf(&["fixed"]),
            "Only fixed rates are published. Example: \"fixed\".",
        ),
        all(
            "occupancy",
            OneOf(&["primary_residence", "second_home", "investment"]),
            "Who lives there. Example: \"primary_residence\".",
        ),
        all(
            "zip_code",
            Zip,
            "Five-digit ZIP in New York City. Example: \"11201\".",
        ),
    ]
};

/// The kind and the description of an operation's argument; `None` for a name that is in no table.
pub fn argument(operation: Operation, name: &str) -> Option<(Kind, &'static str)> {
    let mut rows = ROWS.iter().filter(|(_, known, ..)| *known == name);
    let own = rows.clone().find(|(of, ..)| *of == Some(operation));
    own.or_else(|| rows.find(|(of, ..)| of.is_none()))
        .map(|(_, _, kind, about)| (*kind, *about))
}

/// The arguments that a call must have.
pub const fn required(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::LookupProperty | Operation::GetComps | Operation::GetRentalEstimates => {
            &["address"]
        }
        _ => &[],
    }
}

/// The schema of an operation's arguments: one object, nothing behind a reference, nothing that clients stumble over.
pub fn schema(spec: &OperationSpec) -> Map<String, Value> {
    let mut properties = Map::new();
    for name in spec.fields {
        let (kind, about) = argument(spec.operation, name).unwrap_or((Kind::Text, ""));
        let mut property = of_kind(kind);
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

fn of_kind(kind: Kind) -> Map<String, Value> {
    let value = match kind {
        Kind::Text => json!({"type": "string", "minLength": 1, "maxLength": 200}),
        Kind::Zip => json!({"type": "string", "pattern": "^[0-9]{5}$"}),
        Kind::Zips => json!({
            "type": "array", "minItems": 1, "maxItems": 25, "items": {"type": "string", "pattern": "^[0-9]{5}$"},
        }),
        Kind::Integer(least, i64::MAX) => json!({"type": "integer", "minimum": least}),
        Kind::Integer(least, most) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Kind::Number(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
        Kind::Dollars => json!({"type": "integer", "minimum": 0}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Date => json!({"type": "string", "format": "date"}),
        Kind::OneOf(names) => json!({"type": "string", "enum": names}),
        Kind::SeveralOf(names) => {
            json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": names}})
        }
        Kind::OneNumber(numbers) => json!({"type": "integer", "enum": numbers}),
    };
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// An operation's body from arguments as agents write them: a null is an argument left out, a digit id may be a number, a
/// number may be text with a dollar sign and commas. What cannot be read stays as it came: the operation says what is wrong.
pub fn body(operation: Operation, arguments: Map<String, Value>) -> Map<String, Value> {
    arguments
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| {
            let value = match argument(operation, &name) {
                Some((kind, _)) => put_right(kind, value),
                None => value,
            };
            (name, value)
        })
        .collect()
}

fn put_right(kind: Kind, value: Value) -> Value {
    match kind {
        Kind::Text | Kind::Date => text(value, 0),
        Kind::Zip => text(value, 5),
        Kind::Zips => match value {
            Value::Array(zips) => zips.into_iter().map(|zip| text(zip, 5)).collect(),
            // One ZIP is a list of one.
            one @ (Value::String(_) | Value::Number(_)) => Value::Array(vec![text(one, 5)]),
            other => other,
        },
        Kind::Integer(..) | Kind::Number(..) | Kind::Dollars | Kind::OneNumber(_) => number(value),
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

    #[test]
    fn every_field_of_every_tool_is_described_with_an_example() {
        for spec in OPERATIONS.iter().filter(|spec| spec.mcp_tool.is_some()) {
            for name in spec.fields {
                let (_, about) = argument(spec.operation, name)
                    .unwrap_or_else(|| panic!("{} of {} has no row", name, spec.name));
                assert!(about.contains("Example: "), "{name}: {about}");
            }
        }
    }

    #[test]
    fn every_row_is_of_some_field() {
        for (operation, name, ..) in ROWS {
            let used = OPERATIONS.iter().any(|spec| {
                spec.fields.contains(name) && operation.is_none_or(|own| own == spec.operation)
            });
            assert!(used, "{name}");
        }
    }

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
                let (kind, _) = argument(spec.operation, name).expect("a row");
                let bounds = match kind {
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
        let odd = json!({"home_price": "a million", "credit_score": true, "unknown": 5});
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
