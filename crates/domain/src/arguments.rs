//! The one table of what a body's fields take: kind, bounds, meaning and an example. The MCP tools and the OpenAPI document are made from it.

use serde_json::{Map, Value, json};

use crate::Operation;

/// The largest amount of dollars that a request may name.
pub const MAX_DOLLARS: i64 = 100_000_000_000;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Text of 1 to this many characters.
    Text(u32),
    /// Text of five digits.
    Zip,
    /// An array of ZIPs.
    Zips,
    /// A whole number within bounds.
    Integer(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// A number from 0 to this, in steps of a half.
    Halves(f64),
    /// Whole US dollars, up to [`MAX_DOLLARS`].
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

/// What a body's field takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument {
    /// The one operation it belongs to; `None` where it means the same in all.
    of: Option<Operation>,
    /// The field's name.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What it means, with its default; one or more sentences.
    pub about: &'static str,
    /// A value, as JSON.
    pub example: &'static str,
}

const fn all(
    name: &'static str,
    kind: Kind,
    about: &'static str,
    example: &'static str,
) -> Argument {
    Argument {
        of: None,
        name,
        kind,
        about,
        example,
    }
}

const fn of(
    operation: Operation,
    name: &'static str,
    kind: Kind,
    about: &'static str,
    example: &'static str,
) -> Argument {
    Argument {
        of: Some(operation),
        ..all(name, kind, about, example)
    }
}

/// An operation's own row comes before the one for all.
const ARGUMENTS: &[Argument] = {
    use Kind::{
        Boolean, Date, Dollars, Halves, Integer, Number, OneNumber, OneOf, SeveralOf, Text, Zip,
        Zips,
    };
    use Operation::{
        GetComps, GetListingUpdates, GetMortgageRates, GetRentalEstimates, SearchListings,
    };
    &[
        all(
            "address",
            Text(200),
            "Address in New York City, 1 to 200 characters, with borough or ZIP; a unit may follow. Also a 10-digit BBL or a 7-digit BIN.",
            r#""350 5th Ave, Manhattan""#,
        ),
        all(
            "include_comps",
            Boolean,
            "Add comparable sales at their defaults to the report; no extra cost.",
            "false",
        ),
        all(
            "include_rentals",
            Boolean,
            "Add comparable rentals at their defaults to the report; no extra cost.",
            "false",
        ),
        all(
            "location",
            Text(100),
            "A ZIP, neighborhood or borough of New York City; send this or zip_codes, not both.",
            r#""Park Slope""#,
        ),
        all(
            "zip_codes",
            Zips,
            "1 to 25 five-digit ZIPs of New York City, instead of location.",
            r#"["11215", "11217"]"#,
        ),
        all(
            "listing_type",
            OneOf(&["sale", "rental"]),
            "Homes for sale or for rent; default sale.",
            r#""sale""#,
        ),
        all(
            "status",
            SeveralOf(STATUSES),
            "Statuses to include; default active only.",
            r#"["active", "pending"]"#,
        ),
        all(
            "property_types",
            SeveralOf(HOMES),
            "Kinds of home; absent is all.",
            r#"["condo", "coop"]"#,
        ),
        all(
            "min_price",
            Dollars,
            "Lowest price in whole US dollars; monthly rent for rentals.",
            "500000",
        ),
        all(
            "max_price",
            Dollars,
            "Highest price in whole US dollars; monthly rent for rentals.",
            "1200000",
        ),
        all(
            "min_bedrooms",
            Integer(0, 100),
            "Fewest bedrooms; 0 is a studio.",
            "2",
        ),
        all(
            "max_bedrooms",
            Integer(0, 100),
            "Most bedrooms; 0 is a studio.",
            "3",
        ),
        all(
            "min_bathrooms",
            Halves(100.0),
            "Fewest bathrooms, in halves.",
            "1.5",
        ),
        all(
            "max_bathrooms",
            Halves(100.0),
            "Most bathrooms, in halves.",
            "2",
        ),
        all(
            "min_living_area_sqft",
            Integer(0, 1_000_000),
            "Smallest living area in square feet.",
            "700",
        ),
        all(
            "max_living_area_sqft",
            Integer(0, 1_000_000),
            "Largest living area in square feet.",
            "1500",
        ),
        all(
            "min_year_built",
            Integer(0, 9_999),
            "Earliest year built.",
            "1920",
        ),
        all(
            "max_year_built",
            Integer(0, 9_999),
            "Latest year built.",
            "2010",
        ),
        all(
            "max_days_on_market",
            Integer(0, 100_000),
            "Most days on the market.",
            "30",
        ),
        all(
            "price_reduced",
            Boolean,
            "Only homes whose price was cut, or only others; absent: either.",
            "true",
        ),
        all(
            "new_construction",
            Boolean,
            "Only new buildings, or only others; absent: either.",
            "true",
        ),
        all(
            "no_fee",
            Boolean,
            "Rentals without a broker's fee, or with one; absent: either.",
            "true",
        ),
        all(
            "pets_allowed",
            Boolean,
            "Homes that allow pets, or do not; absent: either.",
            "true",
        ),
        all(
            "furnished",
            Boolean,
            "Furnished homes, or unfurnished; absent: either.",
            "false",
        ),
        all(
            "has_open_house",
            Boolean,
            "Homes with a future open house, or without; absent: either.",
            "true",
        ),
        all(
            "available_from",
            Date,
            "Rentals available on or after this day, YYYY-MM-DD.",
            r#""2027-01-01""#,
        ),
        all(
            "available_to",
            Date,
            "Rentals available on or before this day, YYYY-MM-DD.",
            r#""2027-02-01""#,
        ),
        all(
            "sort",
            OneOf(SORTS),
            "Order of the results; default newest.",
            r#""price_asc""#,
        ),
        of(
            SearchListings,
            "limit",
            Integer(1, 100),
            "Listings per page; default 25. A smaller page leaves room for other results.",
            "10",
        ),
        all(
            "offset",
            Integer(0, 1_000_000_000),
            "Listings to skip: offset of the page before plus its results.",
            "25",
        ),
        of(
            GetComps,
            "mode",
            OneOf(&["comps", "valuation"]),
            "comps: comparable sales alone; valuation: an estimate of value, too. Default comps.",
            r#""valuation""#,
        ),
        of(
            GetRentalEstimates,
            "mode",
            OneOf(&["rentals", "estimate"]),
            "rentals: comparable rentals alone; estimate: an estimate of rent, too. Default rentals.",
            r#""estimate""#,
        ),
        of(
            GetMortgageRates,
            "property_type",
            OneOf(HOMES),
            "Kind of home; its number of homes decides the conforming limit.",
            r#""two_family""#,
        ),
        all(
            "property_type",
            OneOf(HOMES),
            "Kind of the subject, where the record is wrong or silent.",
            r#""condo""#,
        ),
        all(
            "bedrooms",
            Integer(0, 50),
            "Bedrooms of the subject; 0 is a studio.",
            "2",
        ),
        all(
            "bathrooms",
            Halves(50.0),
            "Bathrooms of the subject, in halves.",
            "1.5",
        ),
        of(
            GetRentalEstimates,
            "living_area_sqft",
            Integer(1, 1_000_000),
            "Living area of the subject in square feet.",
            "950",
        ),
        all(
            "living_area_sqft",
            Integer(1, 10_000_000),
            "Living area of the subject in square feet.",
            "950",
        ),
        all(
            "year_built",
            Integer(1650, 2100),
            "Year the subject was built.",
            "1931",
        ),
        all(
            "units",
            Integer(1, 20_000),
            "Homes in the subject building.",
            "2",
        ),
        all(
            "radius_miles",
            Number(0.05, 5.0),
            "How far to look, in miles; absent: as far as needed.",
            "0.5",
        ),
        all(
            "lookback_months",
            Integer(1, 60),
            "How far back sales count, in months.",
            "24",
        ),
        of(
            GetComps,
            "limit",
            Integer(1, 50),
            "Comparable sales to return; default 10.",
            "5",
        ),
        of(
            GetRentalEstimates,
            "limit",
            Integer(1, 50),
            "Comparable rentals to return; default 15.",
            "5",
        ),
        all(
            "same_building",
            OneOf(&["prefer", "only", "exclude"]),
            "Whether the subject's own building counts; default prefer.",
            r#""only""#,
        ),
        all(
            "min_sale_price",
            Dollars,
            "Sales below this many US dollars are left out; default 10000.",
            "100000",
        ),
        all(
            "max_sale_price",
            Dollars,
            "Sales above this many US dollars are left out.",
            "5000000",
        ),
        all(
            "include_non_arms_length",
            Boolean,
            "Also sales between related parties; default false.",
            "false",
        ),
        all(
            "as_of_date",
            Date,
            "Use only sales dated before this day, YYYY-MM-DD; default today.",
            r#""2026-06-30""#,
        ),
        all(
            "max_age_days",
            Integer(1, 365),
            "Oldest rental listing to use, in days; default 30.",
            "60",
        ),
        all(
            "since",
            Text(40),
            "Start of the digest: a day as YYYY-MM-DD or an RFC 3339 moment; default 24 hours ago, at most 30 days.",
            r#""2026-11-26""#,
        ),
        all(
            "until",
            Text(40),
            "End of the digest: a day as YYYY-MM-DD or an RFC 3339 moment; default now.",
            r#""2026-11-27""#,
        ),
        all(
            "min_price_drop_percent",
            Number(0.0, 100.0),
            "Smallest price drop to report, in percent.",
            "5",
        ),
        of(
            GetListingUpdates,
            "limit",
            Integer(1, 200),
            "Items in each group; default 50.",
            "20",
        ),
        all(
            "after_event_id",
            Integer(0, 9_007_199_254_740_991),
            "Only what follows this event_id: the last of a truncated digest, or the greatest seen so far.",
            "1841",
        ),
        all(
            "loan_purpose",
            OneOf(&["purchase", "refinance", "cash_out_refinance"]),
            "What the loan is for; default purchase.",
            r#""purchase""#,
        ),
        all(
            "home_price",
            Dollars,
            "Price of the home in whole US dollars. Any two of price, down payment, loan and ratio fix the rest.",
            "900000",
        ),
        all(
            "down_payment",
            Dollars,
            "Down payment in whole US dollars.",
            "180000",
        ),
        all(
            "loan_amount",
            Dollars,
            "Loan in whole US dollars.",
            "720000",
        ),
        all(
            "ltv_percent",
            Number(0.01, 100.0),
            "Loan in percent of the price.",
            "80",
        ),
        all(
            "credit_score",
            Integer(300, 850),
            "FICO score; default 740.",
            "720",
        ),
        all(
            "loan_type",
            OneOf(&["conventional", "fha", "va", "usda", "jumbo"]),
            "Loan programme; default conventional, which above the conforming limit is priced as jumbo.",
            r#""fha""#,
        ),
        all(
            "loan_term_years",
            OneNumber(&[30, 15]),
            "Term in years; default 30.",
            "15",
        ),
        all(
            "rate_type",
            OneOf(&["fixed"]),
            "Only fixed rates are published.",
            r#""fixed""#,
        ),
        all(
            "occupancy",
            OneOf(&["primary_residence", "second_home", "investment"]),
            "Who lives there.",
            r#""primary_residence""#,
        ),
        all(
            "zip_code",
            Zip,
            "Five-digit ZIP in New York City.",
            r#""11201""#,
        ),
    ]
};

/// What an operation's field takes; `None` for a name that is in no table.
///
/// ```
/// use brownstone_domain::{Operation, arguments::{Kind, argument}};
/// let limit = argument(Operation::GetComps, "limit").unwrap();
/// assert_eq!(limit.kind, Kind::Integer(1, 50));
/// assert_eq!(limit.example, "5");
/// ```
pub fn argument(operation: Operation, name: &str) -> Option<&'static Argument> {
    let mut rows = ARGUMENTS.iter().filter(|row| row.name == name);
    let own = rows.clone().find(|row| row.of == Some(operation));
    own.or_else(|| rows.find(|row| row.of.is_none()))
}

/// The fields that a call must contain.
pub const fn required(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::LookupProperty | Operation::GetComps | Operation::GetRentalEstimates => {
            &["address"]
        }
        _ => &[],
    }
}

impl Kind {
    /// The kind as a JSON schema, the same in every draft.
    pub fn schema(self) -> Map<String, Value> {
        let value = match self {
            Self::Text(longest) => json!({"type": "string", "minLength": 1, "maxLength": longest}),
            Self::Zip => json!({"type": "string", "pattern": "^[0-9]{5}$"}),
            Self::Zips => json!({
                "type": "array", "minItems": 1, "maxItems": 25, "items": {"type": "string", "pattern": "^[0-9]{5}$"},
            }),
            Self::Integer(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Self::Number(least, most) => {
                json!({"type": "number", "minimum": least, "maximum": most})
            }
            Self::Halves(most) => {
                json!({"type": "number", "minimum": 0, "maximum": most, "multipleOf": 0.5})
            }
            Self::Dollars => json!({"type": "integer", "minimum": 0, "maximum": MAX_DOLLARS}),
            Self::Boolean => json!({"type": "boolean"}),
            Self::Date => json!({"type": "string", "format": "date"}),
            Self::OneOf(names) => json!({"type": "string", "enum": names}),
            Self::SeveralOf(names) => {
                json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": names}})
            }
            Self::OneNumber(numbers) => json!({"type": "integer", "enum": numbers}),
        };
        match value {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OPERATIONS;

    #[test]
    fn every_field_of_every_operation_is_described_with_an_example() {
        for spec in &OPERATIONS {
            for name in spec.fields {
                let row = argument(spec.operation, name)
                    .unwrap_or_else(|| panic!("{name} of {} has no row", spec.name));
                assert!(row.about.ends_with('.'), "{name}: {}", row.about);
                let example: Value = serde_json::from_str(row.example).expect(name);
                let fits = match row.kind {
                    Kind::Text(_) | Kind::Zip | Kind::Date => example.is_string(),
                    Kind::Zips => example.is_array(),
                    Kind::Integer(least, most) => example
                        .as_i64()
                        .is_some_and(|n| (least..=most).contains(&n)),
                    Kind::Number(least, most) => example
                        .as_f64()
                        .is_some_and(|n| (least..=most).contains(&n)),
                    Kind::Halves(most) => example
                        .as_f64()
                        .is_some_and(|n| (0.0..=most).contains(&n) && (n * 2.0).fract() == 0.0),
                    Kind::Dollars => example.as_i64().is_some_and(|n| n >= 0),
                    Kind::Boolean => example.is_boolean(),
                    Kind::OneOf(names) => example.as_str().is_some_and(|n| names.contains(&n)),
                    Kind::SeveralOf(names) => example.as_array().is_some_and(|all| {
                        all.iter()
                            .all(|one| one.as_str().is_some_and(|n| names.contains(&n)))
                    }),
                    Kind::OneNumber(numbers) => {
                        example.as_i64().is_some_and(|n| numbers.contains(&n))
                    }
                };
                assert!(fits, "{name}: {}", row.example);
            }
        }
    }

    #[test]
    fn every_row_is_of_some_field() {
        for row in ARGUMENTS {
            let used = OPERATIONS.iter().any(|spec| {
                spec.fields.contains(&row.name) && row.of.is_none_or(|own| own == spec.operation)
            });
            assert!(used, "{}", row.name);
        }
    }
}
