//! The same inputs over REST and MCP: the same answers, for the same units.
//!
//! Inputs are drawn from the published schemas of the tools, so that an argument that is added is tried without a word here.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{call, headers, request, rpc, scanned, send, with_listings};
use crate::harness::{Options, Server};

/// Inputs an operation. Half of them are meant to be good.
const INPUTS: usize = 200;

const OPERATIONS: &[(&str, &str)] = &[
    ("lookup_property", "/v1/lookup"),
    ("search_listings", "/v1/search"),
    ("get_comps", "/v1/comps"),
    ("get_rental_estimates", "/v1/rentals"),
    ("get_listing_updates", "/v1/updates"),
    ("get_mortgage_rates", "/v1/rates"),
];

const ADDRESSES: &[&str] = &[
    "350 5th Ave, Manhattan",
    "350 Fifth Avenue, New York",
    "700 Brook Avenue, Bronx",
    "1000477501",
    "1018890001",
    "4091190011",
    "1 Main Street, Hoboken, NJ",
    "99999 Broadway, Manhattan",
    "Broadway",
    "",
];
const PLACES: &[&str] = &[
    "11215",
    "Park Slope",
    "Manhattan",
    "NYC",
    "Nowhere Heights",
    "90210",
    "",
];
const ZIPS: &[&str] = &["10118", "11215", "10451", "07030", "1", "00000"];
const DAYS: &[&str] = &[
    "2026-11-26",
    "2026-11-01",
    "2025-06-30",
    "2027-01-15",
    "1850-01-01",
    "tomorrow",
];

/// Numbers that are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64*, by Vigna.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(drawn).expect("31 bits") % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A value of the property that `schema` describes, seldom one that it forbids.
    fn value(&mut self, name: &str, schema: &Value) -> Value {
        if let Some(options) = schema["enum"].as_array() {
            return options[self.below(options.len())].clone();
        }
        let wild = self.below(12) == 0;
        match (name, schema["type"].as_str().expect("a type")) {
            ("address", _) => self.one(ADDRESSES).into(),
            ("location", _) => self.one(PLACES).into(),
            (_, "boolean") => (self.below(2) == 0).into(),
            (_, "array") if schema["items"]["enum"].is_array() => {
                let many = self.below(4);
                (0..many)
                    .map(|_| self.value(name, &schema["items"]))
                    .collect()
            }
            (_, "array") => {
                let many = if wild { 26 } else { 1 + self.below(3) };
                (0..many).map(|_| self.one(&ZIPS[..4])).collect()
            }
            (_, "integer") => {
                let bound = |key: &str, other: i64| schema[key].as_i64().unwrap_or(other);
                let (low, high) = (bound("minimum", 0), bound("maximum", 3_000_000));
                // Wide bounds are seldom what a caller means.
                let span = high.saturating_sub(low).clamp(1, 2_000_000);
                let span = usize::try_from(span).expect("a span is positive");
                let drawn = i64::try_from(self.below(span + 1)).expect("small");
                if wild { low - 1 } else { low + drawn }.into()
            }
            (_, "number") => {
                let bound = |key: &str, other: f64| schema[key].as_f64().unwrap_or(other);
                let (low, high) = (bound("minimum", 0.0), bound("maximum", 100.0));
                let halves = [low, (low + high) / 2.0, high, 1.0, 1.5, high + 1.0];
                halves[self.below(halves.len())].into()
            }
            ("zip_code", _) => self.one(ZIPS).into(),
            (_, "string") => self.one(DAYS).into(),
            (_, other) => panic!("{name}: no value of type {other} is drawn"),
        }
    }

    /// Arguments of a tool.
    fn arguments(&mut self, schema: &Value) -> Value {
        let properties = schema["properties"].as_object().expect("properties");
        let required = schema["required"].as_array();
        let must = |name: &str| {
            required.is_some_and(|required| required.iter().any(|known| *known == name))
        };
        let mut arguments = Map::new();
        let extra = self.below(4);
        for (name, schema) in properties {
            // An area is required as one of two.
            let area = name == "location" && self.below(8) != 0;
            let chosen = self.below(properties.len()) < extra;
            if (must(name) && self.below(20) != 0) || area || chosen {
                arguments.insert(name.clone(), self.value(name, schema));
            }
        }
        if self.below(25) == 0 {
            arguments.insert("colour".into(), "blue".into());
        }
        Value::Object(arguments)
    }
}

/// Whether what MCP says is what REST says, but for records that were left out where `cut`.
fn same(rest: &Value, mcp: &Value, cut: bool, at: &str) -> Result<(), String> {
    match (rest, mcp) {
        // When an answer was made is its own.
        _ if at.ends_with(".as_of_at") => Ok(()),
        // What was left out is on the next page.
        (_, Value::Bool(true)) if cut && ["data.has_more", "data.truncated"].contains(&at) => {
            Ok(())
        }
        (Value::Object(rest), Value::Object(mcp)) => {
            for key in mcp.keys() {
                let mark = cut && key.ends_with("_shown");
                if !rest.contains_key(key) && !mark {
                    return Err(format!("{at}.{key} is only over MCP"));
                }
            }
            for (key, value) in rest {
                match mcp.get(key) {
                    Some(other) => same(value, other, cut, &format!("{at}.{key}"))?,
                    None if cut => {}
                    None => return Err(format!("{at}.{key} is missing over MCP")),
                }
            }
            Ok(())
        }
        (Value::Array(rest), Value::Array(mcp)) => {
            let whole = rest.len() == mcp.len();
            if mcp.len() > rest.len() || !(cut || whole) {
                return Err(format!("{at}: {} for {} items", mcp.len(), rest.len()));
            }
            rest.iter()
                .zip(mcp)
                .try_for_each(|(rest, mcp)| same(rest, mcp, cut, at))
        }
        _ if rest == mcp => Ok(()),
        _ => Err(format!("{at}: {rest} over REST, {mcp} over MCP")),
    }
}

/// What one input came to on both surfaces: its code, or its units.
async fn compare(
    server: &Server,
    (tool, path): (&str, &str),
    input: &Value,
) -> Result<Result<u64, String>, String> {
    let rest = server.post(path, input).await;
    let params = json!({"name": tool, "arguments": input});
    let body = request("tools/call", params, false);
    let answer = send(server, headers(&server.key, None), &body).await;
    let result = &answer.body["result"];
    if rest.status.is_success() {
        let envelope = &result["structuredContent"];
        if envelope.is_null() {
            return Err(format!("only over REST: {result}"));
        }
        let (ours, theirs) = (&rest.body["meta"], &envelope["meta"]);
        for key in ["operation", "units_charged"] {
            if ours[key] != theirs[key] {
                return Err(format!("{key}: {} and {}", ours[key], theirs[key]));
            }
        }
        let units = ours["units_charged"].as_u64().expect("units");
        let day = |meta: &Value| meta["daily_remaining"].as_u64().expect("a number");
        assert_eq!(day(ours), day(theirs) + units, "one budget");
        // What RateLimit says over REST stands in `_meta` here, and agrees with the envelope.
        let own = &result["_meta"]["nyc.brownstone/meta"];
        assert_eq!(own["daily_remaining"], theirs["daily_remaining"]);
        assert_eq!(own["minute_remaining"], theirs["minute_remaining"]);
        let field = own["ratelimit"].as_str().expect("a field");
        let tighter = [&theirs["minute_remaining"], &theirs["daily_remaining"]]
            .iter()
            .any(|left| field.contains(&format!(";r={left};")));
        assert!(tighter, "{field}: {theirs}");
        let policy = rest.header("ratelimit-policy");
        assert_eq!(own["ratelimit_policy"].as_str(), policy);
        let cut = envelope["truncated"] == json!(true);
        same(rest.data(), &envelope["data"], cut, "data")?;
        return Ok(Ok(units));
    }
    let code = rest.body["code"].as_str().expect("a code").to_owned();
    if result["isError"] != json!(true) {
        return Err(format!("{code} over REST alone: {result}"));
    }
    let text = result["content"][0]["text"].as_str().expect("text");
    let envelope: Value = serde_json::from_str(text).expect("an envelope");
    for key in ["code", "message"] {
        if rest.body[key] != envelope[key] {
            return Err(format!("{}, but {}", rest.body[key], envelope[key]));
        }
    }
    Ok(Err(code))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_inputs_an_operation_come_to_the_same_on_both_surfaces() {
    let server = Server::start(with_listings(Options::default())).await;
    scanned(&server).await;
    let account = ["limits", "set", "--account", "demo@example.com"];
    let much = ["--per-minute", "1000000", "--per-day", "1000000"];
    server.operator(&[account.as_slice(), &much].concat()).await;
    // A server that runs takes new limits up within two seconds.
    while server.usage().await["day"]["limit"] != json!(1_000_000) {}
    let tools = rpc(&server, "tools/list", json!({}), false).await;
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    assert_eq!(tools.len(), OPERATIONS.len());
    let mut draw = Draw(0x9E37_79B9_7F4A_7C15);
    for operation in OPERATIONS {
        let tool = tools.iter().find(|tool| tool["name"] == operation.0);
        let schema = &tool.expect("a tool of that name")["inputSchema"];
        let (mut good, mut bad) = (0, 0);
        for _ in 0..INPUTS {
            let input = draw.arguments(schema);
            let outcome = match compare(&server, *operation, &input).await {
                Ok(outcome) => outcome,
                // A report or a value may have become newer between the two: then it is the same now.
                Err(_) => compare(&server, *operation, &input)
                    .await
                    .unwrap_or_else(|why| panic!("{}: {input}: {why}", operation.0)),
            };
            match outcome {
                Ok(_) => good += 1,
                Err(_) => bad += 1,
            }
        }
        assert!(good >= INPUTS / 4, "{}: {good} of {INPUTS}", operation.0);
        assert!(bad >= INPUTS / 40, "{}: {bad} of {INPUTS}", operation.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_hangs_up_pays_once_for_what_succeeds() {
    let server = Server::sample().await;
    let params =
        json!({"name": "lookup_property", "arguments": {"address": "700 Brook Avenue, Bronx"}});
    let body = request("tools/call", params.clone(), false).to_string();
    server.set_latency("6bgk-3dad", 3_000).await;
    server.reset_city_calls().await;
    // The call is sent whole, and its connection closed once the city is asked for it.
    let hung_up = {
        let url = format!("{}/mcp", server.url);
        let headers = headers(&server.key, None);
        tokio::spawn(async move {
            let call = reqwest::Client::new().post(url).headers(headers).body(body);
            call.send().await.map(|answer| answer.status())
        })
    };
    while server.city_calls().await.get("6bgk-3dad").is_none() {}
    hung_up.abort();
    assert!(
        hung_up
            .await
            .expect_err("no answer was read")
            .is_cancelled(),
        "the city is slower than the caller's patience"
    );
    // The next caller shares the work that goes on, and pays for its own answer.
    let arguments = params["arguments"].clone();
    let result = call(&server, "lookup_property", arguments, true).await;
    assert_ne!(result["isError"], json!(true), "{result}");
    assert_eq!(
        server.city_calls().await["6bgk-3dad"],
        1,
        "the work was shared"
    );
    let used = async {
        loop {
            let used = server.usage().await["day"]["used"].clone();
            if used == json!(20) {
                return;
            }
            assert!(used.as_u64() < Some(20), "{used} units for two calls");
        }
    };
    tokio::time::timeout(Duration::from_secs(30), used)
        .await
        .expect("both calls are charged");
    // Nor is it charged later: a third call counts on from there.
    let rates = call(&server, "get_mortgage_rates", json!({}), true).await;
    let own = &rates["_meta"]["nyc.brownstone/meta"];
    assert_eq!(own["daily_remaining"], json!(10_000 - 21));
}
