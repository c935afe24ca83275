//! The one table of operations. Nothing else repeats a path, a name or a cost.

use serde::{Deserialize, Serialize};

use crate::Units;

/// What can be asked of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Full property report for one address.
    LookupProperty,
    /// Browse listings in an area.
    SearchListings,
    /// Comparable sales, or a valuation.
    GetComps,
    /// Comparable rentals, or a rent estimate.
    GetRentalEstimates,
    /// Digest of listing changes in an area.
    GetListingUpdates,
    /// Current mortgage rates for a scenario.
    GetMortgageRates,
    /// Current use of the budget.
    GetUsage,
}

/// HTTP method of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
}

impl Method {
    /// The method as it stands in a request line and in `Allow`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationSpec {
    /// Which operation.
    pub operation: Operation,
    /// `meta.operation`.
    pub name: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Path on the API host.
    pub path: &'static str,
    /// Name of the MCP tool; `None` where there is none.
    pub mcp_tool: Option<&'static str>,
    /// Units that a success costs.
    pub cost: Units,
    /// Names of the body's fields, in the order messages list them.
    pub fields: &'static [&'static str],
}

const fn row(
    operation: Operation,
    name: &'static str,
    method: Method,
    path: &'static str,
    mcp_tool: Option<&'static str>,
    cost: u32,
    fields: &'static [&'static str],
) -> OperationSpec {
    OperationSpec {
        operation,
        name,
        method,
        path,
        mcp_tool,
        cost: Units::new(cost),
        fields,
    }
}

/// Every operation of the contract.
pub const OPERATIONS: [OperationSpec; 7] = [
    row(
        Operation::LookupProperty,
        "lookupProperty",
        Method::Post,
        "/v1/lookup",
        Some("lookup_property"),
        10,
        &["address", "include_comps", "include_rentals"],
    ),
    row(
        Operation::SearchListings,
        "searchListings",
        Method::Post,
        "/v1/search",
        Some("search_listings"),
        2,
        &[
            "location",
            "zip_codes",
            "listing_type",
            "status",
            "property_types",
            "min_price",
            "max_price",
            "min_bedrooms",
            "max_bedrooms",
            "min_bathrooms",
            "max_bathrooms",
            "min_living_area_sqft",
            "max_living_area_sqft",
            "min_year_built",
            "max_year_built",
            "max_days_on_market",
            "price_reduced",
            "new_construction",
            "no_fee",
            "pets_allowed",
            "furnished",
            "has_open_house",
            "available_from",
            "available_to",
            "sort",
            "limit",
            "offset",
        ],
    ),
    row(
        Operation::GetComps,
        "getComps",
        Method::Post,
        "/v1/comps",
        Some("get_comps"),
        5,
        &[
            "address",
            "mode",
            "property_type",
            "bedrooms",
            "bathrooms",
            "living_area_sqft",
            "year_built",
            "units",
            "radius_miles",
            "lookback_months",
            "limit",
            "same_building",
            "min_sale_price",
            "max_sale_price",
            "include_non_arms_length",
            "as_of_date",
        ],
    ),
    row(
        Operation::GetRentalEstimates,
        "getRentalEstimates",
        Method::Post,
        "/v1/rentals",
        Some("get_rental_estimates"),
        5,
        &[
            "address",
            "mode",
            "bedrooms",
            "bathrooms",
            "living_area_sqft",
            "furnished",
            "radius_miles",
            "max_age_days",
            "limit",
            "same_building",
        ],
    ),
    row(
        Operation::GetListingUpdates,
        "getListingUpdates",
        Method::Post,
        "/v1/updates",
        Some("get_listing_updates"),
        1,
        &[
            "location",
            "zip_codes",
            "listing_type",
            "property_types",
            "min_price",
            "max_price",
            "min_bedrooms",
            "max_bedrooms",
            "since",
            "until",
            "min_price_drop_percent",
            "limit",
            "after_event_id",
        ],
    ),
    row(
        Operation::GetMortgageRates,
        "getMortgageRates",
        Method::Post,
        "/v1/rates",
        Some("get_mortgage_rates"),
        1,
        &[
            "loan_purpose",
            "home_price",
            "down_payment",
            "loan_amount",
            "ltv_percent",
            "credit_score",
            "loan_type",
            "loan_term_years",
            "rate_type",
            "property_type",
            "occupancy",
            "zip_code",
        ],
    ),
    row(
        Operation::GetUsage,
        "getUsage",
        Method::Get,
        "/v1/usage",
        None,
        0,
        &[],
    ),
];

impl Operation {
    /// This operation's row of the table.
    ///
    /// ```
    /// use brownstone_domain::Operation;
    /// assert_eq!(Operation::GetComps.spec().path, "/v1/comps");
    /// ```
    pub const fn spec(self) -> &'static OperationSpec {
        &OPERATIONS[self as usize]
    }

    /// `meta.operation`.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The operation called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        OPERATIONS
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.operation)
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_indexed_by_its_operations_and_named_as_serialised() {
        for spec in &OPERATIONS {
            assert_eq!(spec.operation.spec(), spec);
            assert_eq!(
                serde_json::to_value(spec.operation).unwrap(),
                serde_json::Value::from(spec.name)
            );
        }
    }

    #[test]
    fn costs_are_the_contracts() {
        let costs: Vec<_> = OPERATIONS.iter().map(|o| (o.path, o.cost.get())).collect();
        assert_eq!(
            costs,
            [
                ("/v1/lookup", 10),
                ("/v1/search", 2),
                ("/v1/comps", 5),
                ("/v1/rentals", 5),
                ("/v1/updates", 1),
                ("/v1/rates", 1),
                ("/v1/usage", 0)
            ]
        );
    }
}
