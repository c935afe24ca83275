//! Paths, responses and headers.

use brownstone_domain::{
    ERROR_CODES, ErrorCode, Method, OPERATIONS, Operation, OperationSpec, arguments::argument,
};
use brownstone_service::SourceInfo;
use serde_json::{Map, Value, json};

use super::{
    components::{Schemas, answer_name, request_name},
    examples, object, reference, sources,
};

/// An operation in words.
struct About {
    tag: &'static str,
    summary: &'static str,
    description: &'static str,
    /// Fields of the shortest request that makes sense, beside the one of every field.
    least: &'static [&'static str],
    /// Fields that exclude others, and stay out of the request with every field.
    apart: &'static [&'static str],
}

const fn about(operation: Operation) -> About {
    match operation {
        Operation::LookupProperty => About {
            tag: "Properties",
            summary: "Full property report for one address",
            description: "Resolves the address to one building and returns the whole public record of it, by source. A report is kept for seven days; one in which a source erred is completed after about ten minutes. A source that fails is `error` in its entry and no failure of the call.",
            least: &["address"],
            apart: &[],
        },
        Operation::SearchListings => About {
            tag: "Listings",
            summary: "Browse listings in a ZIP code or area with filters",
            description: "Homes for sale or for rent in an area, a page at a time, from the index that is refreshed daily. Send exactly one of `location` and `zip_codes`. A filter on a fact that a listing does not state leaves the listing out. There is no total count: `has_more` says whether another page exists at `offset` plus the number of results.",
            least: &["location"],
            apart: &["zip_codes"],
        },
        Operation::GetComps => About {
            tag: "Market",
            summary: "Comparable sold homes, or a valuation, for an address",
            description: "Closed sales comparable to an address, the most alike first; with `mode` `valuation` an estimate of its value, too, with an interval and what a back-test measured. The search widens in steps until it has three usable sales, and says which step won.",
            least: &["address"],
            apart: &[],
        },
        Operation::GetRentalEstimates => About {
            tag: "Market",
            summary: "Comparable active rentals, or a rent estimate, for an address",
            description: "Active rental listings comparable to an address, the most alike first; with `mode` `estimate` an estimate of its rent, too.",
            least: &["address"],
            apart: &[],
        },
        Operation::GetListingUpdates => About {
            tag: "Listings",
            summary: "Digest of new, price-dropped and off-market listings for an area",
            description: "What changed in an area within a window, by default the last 24 hours. Send exactly one of `location` and `zip_codes`. Where `truncated`, go on with the last `event_id` as `after_event_id`. To follow an area and miss nothing, let each window begin an hour before the last one ended and send the greatest `event_id` seen: an event is shown a little after its `detected_at`, but never after one with a greater number.",
            least: &["location"],
            apart: &["zip_codes"],
        },
        Operation::GetMortgageRates => About {
            tag: "Market",
            summary: "Current US mortgage rates for a loan scenario",
            description: "Published rates that answer a loan scenario, how closely each does, and the monthly payment of principal and interest. Every field is optional: any two of price, down payment, loan and ratio fix the rest, and a contradiction is 400.",
            least: &[],
            apart: &["down_payment", "ltv_percent"],
        },
        Operation::GetUsage => About {
            tag: "Account",
            summary: "Current rate-limit and quota usage",
            description: "The account's budgets and what was used of them, by operation, surface and key. Free, and answered even when a budget is spent. It takes no query and no body.",
            least: &[],
            apart: &[],
        },
    }
}

pub(super) fn tags() -> Value {
    json!([
        {"name": "Properties", "description": "The public record of a building."},
        {"name": "Listings", "description": "Homes on the market, and what changed."},
        {"name": "Market", "description": "Comparable sales and rentals, values, rents and mortgage rates."},
        {"name": "Account", "description": "Budgets and their use."},
        {"name": "Service", "description": "For machines that look after the service. They need no key."},
    ])
}

/// The codes that an operation can answer with, by what it does.
fn codes(operation: Operation) -> Vec<ErrorCode> {
    use ErrorCode::{
        Forbidden, InternalError, InvalidRequest, MethodNotAllowed, NotFound, OutsideCoverage,
        QuotaUnavailable, RateLimited, Unauthorized, UpstreamError,
    };
    let mut codes = vec![
        InvalidRequest,
        Unauthorized,
        Forbidden,
        MethodNotAllowed,
        RateLimited,
        InternalError,
        QuotaUnavailable,
    ];
    if operation != Operation::GetUsage {
        codes.extend([OutsideCoverage, UpstreamError]);
    }
    if matches!(
        operation,
        Operation::LookupProperty | Operation::GetComps | Operation::GetRentalEstimates
    ) {
        codes.push(NotFound);
    }
    codes
}

/// The response of a status in `components`: one for each set of codes that share it.
fn failure_name(status: u16, codes: &[ErrorCode]) -> &'static str {
    match status {
        400 if codes.contains(&ErrorCode::OutsideCoverage) => "BadRequest",
        400 => "InvalidRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        429 => "RateLimited",
        502 => "UpstreamError",
        503 => "QuotaUnavailable",
        _ => "InternalError",
    }
}

/// The responses of failures, by name.
pub(super) fn failures() -> Map<String, Value> {
    let mut responses = Map::new();
    for operation in [Operation::LookupProperty, Operation::GetUsage] {
        let codes = codes(operation);
        for code in &codes {
            let name = failure_name(code.status(), &codes);
            responses
                .entry(name)
                .or_insert_with(|| failure(code.status(), &codes));
        }
    }
    responses
}

fn failure(status: u16, codes: &[ErrorCode]) -> Value {
    let rows = || {
        ERROR_CODES
            .iter()
            .filter(|row| row.status == status && codes.contains(&row.code))
    };
    let description: Vec<String> = rows()
        .map(|row| format!("`{}`: {} {}", row.name, row.cause, row.advice))
        .collect();
    let mut examples: Map<String, Value> = rows()
        .map(|row| {
            let value = json!({
                "code": row.name,
                "message": row.example,
                "request_id": "01a21fa9-1f5a-7437-8517-e93e3af0f950",
            });
            (
                row.name.to_owned(),
                json!({"summary": row.cause, "value": value}),
            )
        })
        .collect();
    if status == 429 {
        examples.insert("permanent".into(), json!({
            "summary": "The cost exceeds the account's entire ceiling: no Retry-After.",
            "value": {
                "code": "rate_limited",
                "message": "The cost of 10 units exceeds this account's limit of 5 units per minute. Retrying never succeeds; only a higher limit helps.",
                "request_id": "01a21fa9-1f5a-7437-8517-e93e3af0f950",
            },
        }));
    }
    let mut headers = common();
    match status {
        401 => headers.extend(header("WWW-Authenticate", "WwwAuthenticate")),
        405 => headers.extend(header("Allow", "Allow")),
        429 => {
            headers.extend(header("RateLimit", "RateLimit"));
            headers.extend(header("RateLimit-Policy", "RateLimitPolicy"));
            headers.extend(header("Retry-After", "RetryAfter"));
        }
        503 => headers.extend(header("Retry-After", "RetryAfter")),
        _ => {}
    }
    json!({
        "description": description.join("\n\n"),
        "headers": headers,
        "content": {"application/json": {"schema": reference("ErrorBody"), "examples": examples}},
    })
}

fn header(name: &str, component: &str) -> Map<String, Value> {
    object(json!({ name: {"$ref": format!("#/components/headers/{component}")} }))
}

/// What every answer of an operation carries.
fn common() -> Map<String, Value> {
    let mut headers = header("x-request-id", "RequestId");
    headers.extend(header("Cache-Control", "NoStore"));
    headers.extend(header("Access-Control-Allow-Origin", "AllowOrigin"));
    headers.extend(header("Access-Control-Expose-Headers", "ExposeHeaders"));
    headers
}

/// The headers, by name.
pub(super) fn headers() -> Value {
    let text = |about: &str, required: bool, example: &str| json!({"description": about, "required": required, "schema": {"type": "string"}, "example": example});
    json!({
        "RequestId": text("The identifier of this request, fresh for each; also in the body.", true, "01a21fa9-1f5a-7437-8517-e93e3af0f950"),
        "NoStore": text("Answers are not to be stored.", true, "no-store"),
        "AllowOrigin": text("Any origin may read the answer; sent to requests that have an `Origin`.", false, "*"),
        "ExposeHeaders": text("The headers that a page of another origin may read; sent to requests that have an `Origin`.", false, "x-request-id, ratelimit, ratelimit-policy, retry-after"),
        "RateLimit": text("What is left of the tighter budget and when more comes, in the shape of the IETF draft: `r` units left, `t` seconds.", true, "\"minute\";r=230;t=3"),
        "RateLimitPolicy": text("The budgets, in the shape of the IETF draft: `q` units in `w` seconds.", true, "\"minute\";q=240;w=60, \"day\";q=10000;w=86400"),
        "RetryAfter": {
            "description": "Seconds to wait at least before the same call. Absent where no wait helps: a call that costs more than the account's entire ceiling.",
            "required": false,
            "schema": {"type": "integer", "minimum": 0},
            "example": 2,
        },
        "Allow": text("The methods that the path takes.", true, "POST"),
        "WwwAuthenticate": text("How to authenticate.", true, "Bearer realm=\"brownstone\""),
        "ETag": text("Tells this document from others, for `If-None-Match`.", true, "\"3b1f0a5c9d2e4f60718293a4b5c6d7e8\""),
        "Revalidate": text("The document may be kept and is asked after by its `ETag`.", true, "no-cache"),
    })
}

pub(super) fn paths(schemas: &Schemas, sources: &[SourceInfo]) -> Map<String, Value> {
    let mut paths = Map::new();
    for spec in &OPERATIONS {
        let method = match spec.method {
            Method::Get => "get",
            Method::Post => "post",
        };
        paths.insert(
            spec.path.to_owned(),
            json!({ method: operation(spec, schemas, sources) }),
        );
    }
    paths.extend(object(service()));
    paths
}

fn operation(spec: &OperationSpec, schemas: &Schemas, sources: &[SourceInfo]) -> Value {
    let about = about(spec.operation);
    let cost = match spec.cost.get() {
        0 => "Free.".to_owned(),
        1 => "Costs 1 unit.".to_owned(),
        cost => format!("Costs {cost} units."),
    };
    let tool = spec
        .mcp_tool
        .map_or_else(String::new, |tool| format!(" As an MCP tool: `{tool}`."));
    let mut operation = object(json!({
        "operationId": spec.name,
        "tags": [about.tag],
        "summary": about.summary,
        "description": format!("{} {cost}{tool}", about.description),
    }));
    if !spec.fields.is_empty() {
        operation.insert("requestBody".into(), json!({
            "description": "One JSON object of at most 64 KiB.",
            "required": true,
            "content": {"application/json": {
                "schema": reference(&request_name(spec)),
                "examples": {
                    "short": {"summary": "With its defaults", "value": request(spec, about.least)},
                    "full": {"summary": "With every field that goes together", "value": request(spec, &every(spec, &about))},
                },
            }},
        }));
    }
    let mut headers = common();
    headers.extend(header("RateLimit", "RateLimit"));
    headers.extend(header("RateLimit-Policy", "RateLimitPolicy"));
    let mut responses = object(json!({"200": {
        "description": format!("{}: the answer and what it did to the budget.", about.summary),
        "headers": headers,
        "content": {"application/json": {
            "schema": reference(&answer_name(spec)),
            "examples": {"answer": {"summary": "An answer", "value": answer(spec, schemas, sources)}},
        }},
    }}));
    let codes = codes(spec.operation);
    for row in &ERROR_CODES {
        if codes.contains(&row.code) {
            let name = failure_name(row.status, &codes);
            responses.insert(
                row.status.to_string(),
                json!({"$ref": format!("#/components/responses/{name}")}),
            );
        }
    }
    responses.sort_keys();
    operation.insert("responses".into(), Value::Object(responses));
    Value::Object(operation)
}

fn every(spec: &OperationSpec, about: &About) -> Vec<&'static str> {
    let apart = |name: &&str| !about.apart.contains(name);
    spec.fields.iter().copied().filter(apart).collect()
}

fn request(spec: &OperationSpec, names: &[&str]) -> Value {
    let value = |name: &&str| {
        let row = argument(spec.operation, name)?;
        Some(((*name).to_owned(), serde_json::from_str(row.example).ok()?))
    };
    Value::Object(names.iter().filter_map(value).collect())
}

/// An answer made of the fields' examples.
fn answer(spec: &OperationSpec, schemas: &Schemas, known: &[SourceInfo]) -> Value {
    let mut value = match schemas.get(&answer_name(spec)) {
        Some(schema) => examples::of(schema, schemas),
        None => Value::Null,
    };
    value["meta"]["operation"] = spec.name.into();
    value["meta"]["units_charged"] = spec.cost.get().into();
    if spec.operation == Operation::LookupProperty {
        let entries: Map<String, Value> = sources::fixed(known)
            .map(|info| {
                let full = value["data"]["sources"][&info.key].take();
                let entry = match info.key.as_str() {
                    "nyc_ecb" => full,
                    _ => json!({"status": "not_found", "data": null}),
                };
                (info.key.clone(), entry)
            })
            .chain([(
                "listings".to_owned(),
                json!({"status": "gated", "data": null}),
            )])
            .collect();
        value["data"]["sources"] = Value::Object(entries);
        if let Some(data) = value["data"].as_object_mut() {
            data.remove("comps");
            data.remove("rentals");
        }
    }
    value
}

/// The paths without a key.
fn service() -> Value {
    let one = |id: &str, summary: &str, about: &str, responses: Value| {
        json!({"get": {
            "operationId": id, "tags": ["Service"], "summary": summary, "description": about, "security": [], "responses": responses,
        }})
    };
    let plain = |about: &str, schema: Value, example: Value| {
        let mut headers = header("x-request-id", "RequestId");
        headers.extend(header("Access-Control-Allow-Origin", "AllowOrigin"));
        headers.extend(header("Access-Control-Expose-Headers", "ExposeHeaders"));
        json!({
            "description": about,
            "headers": headers,
            "content": {"application/json": {"schema": schema, "examples": {"answer": {"summary": "An answer", "value": example}}}},
        })
    };
    let status = |values: Value| json!({"type": "string", "enum": values, "description": "In one word or two."});
    let refused = json!({"$ref": "#/components/responses/MethodNotAllowed"});
    json!({
        "/healthz": one("getHealth", "Whether the process runs", "It answers as long as the process does.", json!({
            "200": plain("It runs.", json!({
                "type": "object", "description": "A process that runs.", "required": ["status"], "properties": {"status": status(json!(["ok"]))},
            }), json!({"status": "ok"})),
            "405": refused,
        })),
        "/readyz": one("getReadiness", "Whether this instance can serve", "503 while its storage cannot be reached, and while it ends the calls that run.", json!({
            "200": plain("It serves.", json!({
                "type": "object", "description": "What it serves from.", "required": ["status", "database", "addresses", "indexes"],
                "properties": {
                    "status": status(json!(["ready"])),
                    "database": {"type": "string", "description": "The kind of database."},
                    "addresses": {"type": "string", "description": "What resolves addresses."},
                    "indexes": {
                        "type": "object", "description": "The versions of the index files; null where there is none.", "required": ["pad", "sales"],
                        "properties": {
                            "pad": {"type": ["string", "null"], "description": "The city's address file."},
                            "sales": {"type": ["string", "null"], "description": "The city's sales."},
                        },
                    },
                },
            }), json!({"status": "ready", "database": "SQLite", "addresses": "PAD", "indexes": {"pad": "26c", "sales": null}})),
            "405": refused,
            "503": plain("It does not serve.", json!({
                "type": "object", "description": "Why it does not serve.", "required": ["status"],
                "properties": {
                    "status": status(json!(["stopping", "not ready"])),
                    "database": {"type": "string", "description": "What is the matter with the database."},
                },
            }), json!({"status": "stopping"})),
        })),
        "/version": one("getVersion", "What runs here", "The program's version and the deployment's environment.", json!({
            "200": plain("What runs here.", json!({
                "type": "object", "description": "What runs here.", "required": ["version", "environment", "sample"],
                "properties": {
                    "version": {"type": "string", "description": "The program's version."},
                    "environment": {"type": "string", "enum": ["live", "test"], "description": "The deployment's environment; keys are of one."},
                    "sample": {"type": "boolean", "description": "Whether the records are invented."},
                },
            }), json!({"version": "0.1.0", "environment": "test", "sample": false})),
            "405": refused,
        })),
        "/openapi.json": {"get": {
            "operationId": "getOpenApi", "tags": ["Service"], "summary": "This document", "security": [],
            "description": "The OpenAPI document of this deployment.",
            "parameters": [{
                "name": "If-None-Match", "in": "header", "required": false, "description": "The `ETag` of a copy that is at hand.",
                "schema": {"type": "string"}, "example": "\"3b1f0a5c9d2e4f60718293a4b5c6d7e8\"",
            }],
            "responses": {
                "200": {
                    "description": "The document.",
                    "headers": document_headers(),
                    "content": {"application/json": {"schema": {
                        "type": "object", "description": "An OpenAPI document.", "required": ["openapi"],
                        "properties": {"openapi": {"type": "string", "description": "The version of OpenAPI.", "examples": ["3.1.0"]}},
                        "additionalProperties": true,
                    }}},
                },
                "304": {"description": "The copy at hand is this document.", "headers": document_headers()},
                "405": refused,
            },
        }},
    })
}

fn document_headers() -> Map<String, Value> {
    let mut headers = header("x-request-id", "RequestId");
    headers.extend(header("ETag", "ETag"));
    headers.extend(header("Cache-Control", "Revalidate"));
    headers
}
