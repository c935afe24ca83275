//! The operation table as tools.

use std::sync::Arc;

use brownstone_domain::{OPERATIONS, Operation, OperationSpec};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::arguments;

/// What a server says of itself: coverage, the limits of its sources, acceptable use.
pub const INSTRUCTIONS: &str = "Brownstone answers questions about buildings and homes in the five boroughs of New York City, \
and nowhere else. Records are assembled by machine from public agencies and licensed feeds; they can be incomplete, out of \
date or matched to the wrong property: tell the user which source said what, and to verify against the original record before \
acting. Answers are not consumer reports: never use them to decide about credit, insurance, employment, housing or tenancy, to \
screen a tenant, or to steer or exclude anyone on a protected characteristic. Do not resell or republish raw responses in bulk. \
Calls draw on the account's budget of units; every result carries what is left in meta. On rate_limited wait retry_after_seconds. \
Results are cut to 64 KiB and say so in truncated.";

/// What a tool is for.
struct About {
    title: &'static str,
    description: &'static str,
    /// Keys of `data`: name, JSON types, description.
    output: &'static [(&'static str, &'static [&'static str], &'static str)],
}

const OBJECT: &[&str] = &["object"];
const ARRAY: &[&str] = &["array"];
const TEXT: &[&str] = &["string"];
const WHOLE: &[&str] = &["integer"];
const YES_NO: &[&str] = &["boolean"];
const OBJECT_OR_NULL: &[&str] = &["object", "null"];
const TEXT_OR_NULL: &[&str] = &["string", "null"];

const fn about(operation: Operation) -> About {
    match operation {
        Operation::LookupProperty => About {
            title: "Property report",
            description: "The whole public record of one building: violations, permits, complaints, deeds, taxes, evictions and more, by source, newest records first. Use it for questions about a building's condition, history or owner. For prices use get_comps, for rents get_rental_estimates, for homes on the market search_listings.",
            output: &[
                (
                    "property",
                    OBJECT,
                    "The building's canonical address, with warnings about what was corrected",
                ),
                ("bbl", TEXT_OR_NULL, "Borough, block and lot, ten digits"),
                (
                    "bin",
                    TEXT_OR_NULL,
                    "Building Identification Number, seven digits",
                ),
                (
                    "canonical_path",
                    TEXT_OR_NULL,
                    "Path of the whole report on the web host",
                ),
                (
                    "sources",
                    OBJECT,
                    "One entry a source: status ok, not_found, error or gated, and its data",
                ),
                (
                    "cache",
                    OBJECT,
                    "When the report was assembled and when it can be refreshed",
                ),
                ("comps", OBJECT_OR_NULL, "With include_comps"),
                ("rentals", OBJECT_OR_NULL, "With include_rentals"),
            ],
        },
        Operation::SearchListings => About {
            title: "Search listings",
            description: "Homes for sale or for rent in a ZIP, neighborhood or borough, by price, size and more, a page at a time. Use it to find homes. For what changed since yesterday use get_listing_updates, for one building's record lookup_property.",
            output: &[
                ("results", ARRAY, "The listings of this page"),
                (
                    "has_more",
                    YES_NO,
                    "Whether a page follows at offset plus results",
                ),
                (
                    "source_status",
                    OBJECT,
                    "How the answer was had: cached, not_warm or the source's name",
                ),
            ],
        },
        Operation::GetComps => About {
            title: "Comparable sales",
            description: "Closed sales comparable to an address, most alike first, then the newest, and with mode valuation an estimate of its value with an interval and its measured accuracy. Use it for what a home is worth or sold for. For asking prices use search_listings, for rents get_rental_estimates.",
            output: &[
                ("subject", OBJECT, "The home that is compared"),
                ("query", OBJECT, "The bounds that were used"),
                (
                    "search_used",
                    OBJECT,
                    "The step of the widening search that won",
                ),
                ("comps", ARRAY, "Comparable sales"),
                ("comp_count", WHOLE, "How many were used"),
                (
                    "excluded_counts",
                    OBJECT,
                    "How many sales each rule removed",
                ),
                ("summary", OBJECT, "Median, quartiles and dates"),
                ("valuation", OBJECT_OR_NULL, "With mode valuation"),
                ("as_of_at", TEXT, "When this was put together, RFC 3339"),
            ],
        },
        Operation::GetRentalEstimates => About {
            title: "Comparable rentals",
            description: "Active rental listings comparable to an address, and with mode estimate an estimate of its rent. Use it for what a home rents for. For sale prices use get_comps, to browse rentals search_listings with listing_type rental.",
            output: &[
                ("subject", OBJECT, "The home that is compared"),
                ("query", OBJECT, "The bounds that were used"),
                (
                    "search_used",
                    OBJECT,
                    "The step of the widening search that won",
                ),
                ("rentals", ARRAY, "Comparable rentals"),
                ("rental_count", WHOLE, "How many were used"),
                ("statistics", OBJECT, "Median, quartiles and sample sizes"),
                ("rent_estimate", OBJECT_OR_NULL, "With mode estimate"),
                ("as_of_at", TEXT, "When this was put together, RFC 3339"),
            ],
        },
        Operation::GetListingUpdates => About {
            title: "Listing updates",
            description: "What changed in an area since a moment: new listings, price drops, homes off the market. Use it to watch an area. To see everything on the market use search_listings.",
            output: &[
                ("window", OBJECT, "The time that is covered"),
                (
                    "coverage",
                    OBJECT,
                    "Since when and how completely the area is watched",
                ),
                ("counts", OBJECT, "Items of each group"),
                ("new_listings", ARRAY, "New and relisted homes"),
                ("price_drops", ARRAY, "Homes whose price fell"),
                ("off_market", ARRAY, "Homes that left the market"),
                (
                    "truncated",
                    YES_NO,
                    "Whether more events follow: go on with after_event_id",
                ),
                ("source_status", OBJECT, "How the answer was had"),
            ],
        },
        Operation::GetMortgageRates | Operation::GetUsage => About {
            title: "Mortgage rates",
            description: "Current published US mortgage rates for a loan scenario, how closely they match, and the monthly payment of principal and interest. Every argument is optional. Use it for what a loan costs, not for a lender's offer. For a home's price use get_comps.",
            output: &[
                (
                    "scenario",
                    OBJECT,
                    "The request with all that follows from it",
                ),
                (
                    "rates",
                    ARRAY,
                    "Published rates that answer it, the closest first",
                ),
                ("benchmarks", ARRAY, "The weekly survey's averages"),
                (
                    "estimated_payment",
                    OBJECT_OR_NULL,
                    "Principal and interest a month; null without an amount",
                ),
                ("as_of_at", TEXT, "When this was put together, RFC 3339"),
                ("disclaimer", TEXT, "What these numbers are not"),
            ],
        },
    }
}

/// The operation behind a tool.
pub fn operation(name: &str) -> Option<&'static OperationSpec> {
    OPERATIONS.iter().find(|spec| spec.mcp_tool == Some(name))
}

/// The tool of an operation; `None` where it has none.
pub fn tool(spec: &OperationSpec) -> Option<Tool> {
    let name = spec.mcp_tool?;
    let about = about(spec.operation);
    let unit = if spec.cost.get() == 1 {
        "unit"
    } else {
        "units"
    };
    let description = format!("{} Costs {} {unit}.", about.description, spec.cost);
    let annotations = ToolAnnotations::with_title(about.title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Some(
        Tool::new(name, description, Arc::new(arguments::schema(spec)))
            .with_title(about.title)
            .with_raw_output_schema(Arc::new(output(&about)))
            .with_annotations(annotations),
    )
}

/// The tools, in the order of the table of operations.
pub fn all() -> impl Iterator<Item = Tool> {
    OPERATIONS.iter().filter_map(tool)
}

fn output(about: &About) -> Map<String, Value> {
    let data: Map<String, Value> = about
        .output
        .iter()
        .map(|(name, types, description)| {
            let kind = match types {
                [one] => json!(one),
                several => json!(several),
            };
            (
                (*name).to_owned(),
                json!({"type": kind, "description": description}),
            )
        })
        .collect();
    let count = |description: &str| json!({"type": "integer", "description": description});
    let schema = json!({
        "type": "object",
        "properties": {
            "data": {"type": "object", "description": "The operation's result", "properties": data},
            "meta": {
                "type": "object",
                "description": "The call and what it left of the budget",
                "properties": {
                    "request_id": {"type": "string", "description": "Identifier of the request"},
                    "operation": {"type": "string", "description": "Name of the operation"},
                    "units_charged": count("Units this call cost"),
                    "minute_remaining": count("Units left of the per-minute budget"),
                    "daily_remaining": count("Units left of the per-day budget"),
                },
            },
            "truncated": {"type": "boolean", "description": "Whether records were left out to fit 64 KiB"},
            "truncation_note": {"type": "string", "description": "What was left out and where the rest is"},
        },
        "required": ["data", "meta", "truncated"],
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tool, built or not.
    fn every() -> Vec<Tool> {
        OPERATIONS.iter().filter_map(tool).collect()
    }

    #[test]
    fn the_tools_are_the_contracts() {
        let names: Vec<_> = every().iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(
            names,
            [
                "lookup_property",
                "search_listings",
                "get_comps",
                "get_rental_estimates",
                "get_listing_updates",
                "get_mortgage_rates"
            ]
        );
        for tool in all() {
            assert!(operation(&tool.name).is_some());
        }
        assert!(operation("get_usage").is_none());
    }

    fn walk(value: &Value, path: &str, wrong: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                for key in object.keys() {
                    if [
                        "$ref",
                        "$defs",
                        "anyOf",
                        "oneOf",
                        "allOf",
                        "if",
                        "definitions",
                    ]
                    .contains(&key.as_str())
                    {
                        wrong.push(format!("{path} has {key}"));
                    }
                }
                if let Some(format) = object.get("format").and_then(Value::as_str)
                    && format != "date"
                {
                    wrong.push(format!("{path} has the format {format}"));
                }
                if let Some(Value::Object(properties)) = object.get("properties") {
                    for (name, property) in properties {
                        if property["description"].as_str().is_none_or(str::is_empty) {
                            wrong.push(format!("{path}.{name} has no description"));
                        }
                        if property.get("type").is_none() {
                            wrong.push(format!("{path}.{name} has no type"));
                        }
                    }
                }
                for (key, inner) in object {
                    walk(inner, &format!("{path}.{key}"), wrong);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path, wrong)),
            _ => {}
        }
    }

    #[test]
    fn no_schema_has_what_clients_stumble_over() {
        let mut wrong = Vec::new();
        for tool in every() {
            let input = Value::Object((*tool.input_schema).clone());
            assert_eq!(input["type"], "object");
            assert_eq!(input["additionalProperties"], json!(false));
            walk(&input, &tool.name, &mut wrong);
            let output = tool.output_schema.expect("every tool has one");
            let output = Value::Object((*output).clone());
            assert_eq!(output["type"], "object");
            walk(&output, &format!("{} output", tool.name), &mut wrong);
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_whole_list_stays_under_eight_thousand_tokens() {
        let bytes = serde_json::to_string(&every()).unwrap().len();
        assert!(bytes / 4 < 8_000, "{bytes} bytes");
    }

    #[test]
    fn every_description_says_its_cost_and_names_another_tool() {
        let names: Vec<_> = every().iter().map(|tool| tool.name.to_string()).collect();
        for tool in every() {
            let text = tool.description.expect("every tool has one");
            assert!(text.contains("Costs "), "{text}");
            let other = names
                .iter()
                .any(|name| *name != tool.name && text.contains(name.as_str()));
            assert!(other, "{text}");
            let hints = tool.annotations.expect("every tool has them");
            assert_eq!(
                (
                    hints.read_only_hint,
                    hints.destructive_hint,
                    hints.idempotent_hint,
                    hints.open_world_hint
                ),
                (Some(true), Some(false), Some(true), Some(false))
            );
        }
    }
}
