//! An answer as a tool's result, cut to what an agent can take.

use brownstone_domain::{Operation, OperationSpec};
use brownstone_quota::RateLimitFields;
use brownstone_service::{Answer, Failure};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};

/// A whole result at most, text and structure counted together.
pub const MAX_RESULT_BYTES: usize = 64 * 1024;

/// Where the call's own facts stand in `_meta`.
pub const META_KEY: &str = "nyc.brownstone/meta";

/// Room for one of the two copies: the text is quoted once more than the structure, so its quotation marks count double, and
/// the rest of the message takes some.
const COPIES: usize = MAX_RESULT_BYTES - 2 * 1024;

/// The longest text that stays when room is short.
const SHORT_TEXT: usize = 200;

/// The longest list that stays in a record which is too large by itself.
const SHORT_LIST: usize = 5;

/// The longest link that stays in such a record: a part of one leads nowhere.
const SHORT_LINK: usize = 2_048;

/// A success: the envelope of the REST answer, records left out where it would be too large.
///
/// # Errors
/// When the answer is no JSON, which is a fault of ours.
pub fn success(spec: &OperationSpec, answer: &Answer) -> Result<CallToolResult, serde_json::Error> {
    let data: Value = serde_json::from_slice(&answer.data.concat())?;
    let meta = serde_json::to_value(&answer.meta)?;
    let envelope = fitted(spec, data, &meta);
    let mut result = CallToolResult::structured(envelope);
    let fields = RateLimitFields::from(&answer.view);
    let mut own = match meta {
        Value::Object(own) => own,
        _ => Map::new(),
    };
    own.insert("ratelimit".into(), fields.rate_limit.into());
    own.insert("ratelimit_policy".into(), fields.policy.into());
    let mut object = MetaObject::new();
    object.0.insert(META_KEY.to_owned(), Value::Object(own));
    result.meta = Some(object);
    Ok(result)
}

/// A failure as an agent reads it: the error envelope as text, no structure, since clients that check it would hide the text.
pub fn failure(failure: &Failure, request_id: &str) -> CallToolResult {
    let envelope = envelope(failure, request_id);
    CallToolResult::error(vec![ContentBlock::text(envelope.to_string())])
}

/// The error envelope, with the seconds to wait where there are any.
pub fn envelope(failure: &Failure, request_id: &str) -> Value {
    let mut envelope = json!({
        "code": failure.code.as_str(),
        "message": failure.message,
        "request_id": request_id,
    });
    if let Some(seconds) = failure.retry_after {
        envelope["retry_after_seconds"] = seconds.into();
    }
    envelope
}

/// What a value costs in both copies: as structure, and as text inside a JSON string.
fn cost(value: &Value) -> usize {
    let text = value.to_string();
    let escaped = text
        .bytes()
        .filter(|byte| matches!(byte, b'"' | b'\\'))
        .count();
    2 * text.len() + escaped
}

/// The envelope, within its room.
fn fitted(spec: &OperationSpec, data: Value, meta: &Value) -> Value {
    let envelope = [
        ("data".to_owned(), data),
        ("meta".to_owned(), meta.clone()),
        ("truncated".to_owned(), false.into()),
    ];
    let mut cut = Value::Object(envelope.into_iter().collect());
    if cost(&cut) <= COPIES {
        return cut;
    }
    cut["truncated"] = true.into();
    cut["truncation_note"] = note(spec, &cut["data"]).into();
    let mut lists = Vec::new();
    take_lists(&mut cut["data"], &mut Vec::new(), &mut lists);
    if cost(&cut) > COPIES {
        shorten(&mut cut["data"], SHORT_TEXT);
    }
    if cost(&cut) > COPIES {
        strip_sources(&mut cut["data"]);
    }
    let mut room = COPIES
        .saturating_sub(cost(&cut))
        .saturating_sub(marks(&lists));
    // Where a caller goes on page by page, what was left out is on the next one.
    let goes_on = match spec.operation {
        Operation::SearchListings => Some("has_more"),
        Operation::GetListingUpdates => Some("truncated"),
        _ => None,
    };
    for list in &mut lists {
        list.slim(room);
    }
    match spec.operation {
        Operation::GetListingUpdates => deal_in_order(&mut lists, &mut room),
        _ => deal(&mut lists, &mut room),
    }
    if let Some(goes_on) = goes_on
        && lists.iter().any(List::is_cut)
    {
        cut["data"][goes_on] = true.into();
    }
    for list in lists {
        give_back(&mut cut["data"], list);
    }
    cut
}

fn note(spec: &OperationSpec, data: &Value) -> String {
    let next = match spec.operation {
        Operation::SearchListings => " The next page begins at offset plus the results here.",
        Operation::GetListingUpdates => {
            " Go on with after_event_id, the greatest event_id that is here."
        }
        _ => "",
    };
    let page = data["canonical_path"]
        .as_str()
        .map(|path| format!(" and the page {path} has it"))
        .unwrap_or_default();
    format!(
        "Records were left out to fit {MAX_RESULT_BYTES} bytes; beside each list that was cut, a key ending in _shown says how many are here; a record too large by itself has its long texts, lists and links cut. {} {} returns the whole result{page}.{next}",
        spec.method.as_str(),
        spec.path
    )
}

/// A list of records that was taken out of the result.
struct List {
    /// Keys from `data` to the list.
    path: Vec<String>,
    records: std::vec::IntoIter<Value>,
    next: Option<Value>,
    of: usize,
    shown: Vec<Value>,
}

impl List {
    fn is_cut(&self) -> bool {
        self.shown.len() < self.of
    }

    /// Shortens each record that would not fit into `room` by itself: it would hide those after it, and a caller who goes on would come back to it
    /// for ever.
    fn slim(&mut self, room: usize) {
        let fitting = |mut record: Value| {
            if cost(&record) + 2 > room {
                slim(&mut record);
            }
            record
        };
        self.next = self.next.take().map(fitting);
        let rest: Vec<Value> = self.records.by_ref().map(fitting).collect();
        self.records = rest.into_iter();
    }

    /// Gives the next record back where it fits. Never a part of one.
    fn give(&mut self, room: &mut usize) -> bool {
        let Some(record) = self.next.take() else {
            return false;
        };
        // A comma in each copy.
        let needs = cost(&record) + 2;
        if needs > *room {
            // The list ends here: a later record must not stand before an earlier one.
            return false;
        }
        *room -= needs;
        self.shown.push(record);
        self.next = self.records.next();
        true
    }
}

/// Whether a text is a link.
fn is_link(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

fn is_long_link(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| is_link(text) && text.len() > SHORT_LINK)
}

/// Leaves of each long text its beginning and of each long list its first ones; a link stays whole or goes.
fn slim(value: &mut Value) {
    match value {
        Value::String(text) if is_link(text) => {}
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(SHORT_TEXT) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => {
            items.retain(|item| !is_long_link(item));
            items.truncate(SHORT_LIST);
            items.iter_mut().for_each(slim);
        }
        Value::Object(object) => {
            for inner in object.values_mut() {
                if is_long_link(inner) {
                    *inner = Value::Null;
                } else {
                    slim(inner);
                }
            }
        }
        _ => {}
    }
}

/// Takes every list of objects out: they are what a result is large of.
fn take_lists(value: &mut Value, path: &mut Vec<String>, lists: &mut Vec<List>) {
    let Value::Object(object) = value else {
        return;
    };
    for (key, inner) in object {
        path.push(key.clone());
        match inner {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let items = std::mem::take(items);
                let of = items.len();
                let mut records = items.into_iter();
                lists.push(List {
                    path: path.clone(),
                    next: records.next(),
                    records,
                    of,
                    shown: Vec::new(),
                });
            }
            Value::Object(_) => take_lists(inner, path, lists),
            _ => {}
        }
        path.pop();
    }
}

/// What it takes to mark every list as cut.
fn marks(lists: &[List]) -> usize {
    let mark = |list: &List| 2 * (list.path.last().map_or(0, String::len) + 20);
    lists.iter().map(mark).sum()
}

/// Gives records back in turn, one a list, as long as they fit: every list shows its newest before any shows its tenth.
fn deal(lists: &mut [List], room: &mut usize) {
    loop {
        let mut dealt = false;
        for list in lists.iter_mut() {
            dealt |= list.give(room);
        }
        if !dealt {
            return;
        }
    }
}

/// Gives events back in the order of their numbers over all lists, up to the first that does not fit: the greatest number shown is where
/// the next call goes on, so that none below it may be missing.
fn deal_in_order(lists: &mut [List], room: &mut usize) {
    let number = |list: &List| list.next.as_ref()?["event_id"].as_u64();
    while let Some((_, first)) = lists
        .iter_mut()
        .filter_map(|list| Some((number(list)?, list)))
        .min_by_key(|(number, _)| *number)
    {
        if !first.give(room) {
            return;
        }
    }
}

fn give_back(data: &mut Value, list: List) {
    let Some((key, parents)) = list.path.split_last() else {
        return;
    };
    let mut at = data;
    for parent in parents {
        // A source whose data was stripped has no place for its records any more.
        let Some(next) = at.get_mut(parent) else {
            return;
        };
        at = next;
    }
    let Value::Object(object) = at else {
        return;
    };
    if list.is_cut() {
        object.insert(format!("{key}_shown"), list.shown.len().into());
    }
    object.insert(key.clone(), Value::Array(list.shown));
}

/// Takes long texts and plain lists out of each source's summary.
fn shorten(data: &mut Value, longest: usize) {
    for entry in sources(data) {
        if let Some(Value::Object(summary)) = entry.get_mut("data") {
            summary.retain(|key, value| {
                key == "records"
                    || match value {
                        Value::String(text) => text.len() <= longest,
                        Value::Array(items) => items.is_empty(),
                        Value::Object(inner) => inner.len() <= 8,
                        _ => true,
                    }
            });
        }
    }
}

/// Leaves of each source its status and its count.
fn strip_sources(data: &mut Value) {
    for entry in sources(data) {
        if let Some(Value::Object(summary)) = entry.get_mut("data") {
            summary.retain(|key, _| matches!(key.as_str(), "records" | "record_count"));
        }
    }
}

fn sources(data: &mut Value) -> impl Iterator<Item = &mut Value> {
    data.get_mut("sources")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(|sources| sources.values_mut())
}

#[cfg(test)]
mod tests {
    use brownstone_domain::{ErrorCode, Operation};
    use proptest::prelude::*;

    use super::*;

    fn meta() -> Value {
        json!({"request_id": "0190", "operation": "lookupProperty", "units_charged": 10, "minute_remaining": 230, "daily_remaining": 9_990})
    }

    fn fit(data: Value) -> Value {
        fitted(Operation::LookupProperty.spec(), data, &meta())
    }

    fn size(value: &Value) -> usize {
        let result = CallToolResult::structured(value.clone());
        serde_json::to_string(&result).unwrap().len()
    }

    /// A report of `sources` sources with `records` records each, of about `width` bytes.
    fn report(sources: usize, records: usize, width: usize) -> Value {
        let entries: Map<String, Value> = (0..sources)
            .map(|source| {
                let records: Vec<Value> = (0..records)
                    .map(|record| json!({"number": record, "text": "\"x\" ".repeat(width / 4)}))
                    .collect();
                let data = json!({
                    "records": records, "record_count": 5_000, "records_truncated": true, "matched_by": "bin",
                    "source_url": "https://data.cityofnewyork.us/d/6bgk-3dad", "open_violations": 12,
                });
                (format!("nyc_{source}"), json!({"status": "ok", "data": data}))
            })
            .collect();
        json!({
            "property": {"address": "350 5 AVENUE"}, "bbl": "1008350041", "bin": "1015862",
            "canonical_path": "/property/1008350041/350-5-avenue", "sources": entries,
            "cache": {"status": "ok"},
        })
    }

    #[test]
    fn a_small_answer_is_whole() {
        let data = report(2, 3, 40);
        let fitted = fit(data.clone());
        assert_eq!(fitted["truncated"], json!(false));
        assert_eq!(fitted["data"], data);
    }

    #[test]
    fn a_large_report_shows_the_newest_of_each_source_and_says_where_the_rest_is() {
        let data = report(87, 100, 200);
        let fitted = fit(data.clone());
        assert_eq!(fitted["truncated"], json!(true));
        let sources = fitted["data"]["sources"].as_object().unwrap();
        assert_eq!(sources.len(), 87);
        for (key, entry) in sources {
            let summary = &entry["data"];
            assert_eq!(
                (&entry["status"], &summary["record_count"]),
                (&json!("ok"), &json!(5_000))
            );
            let shown = summary["records"].as_array().unwrap();
            assert_eq!(summary["records_shown"], json!(shown.len()));
            let whole = data["sources"][key]["data"]["records"].as_array().unwrap();
            assert_eq!(
                shown[..],
                whole[..shown.len()],
                "whole records, newest first"
            );
        }
        let note = fitted["truncation_note"].as_str().unwrap();
        assert!(
            note.contains("POST /v1/lookup") && note.contains("/property/1008350041"),
            "{note}"
        );
        for key in ["property", "bbl", "bin", "cache"] {
            assert_eq!(fitted["data"][key], data[key]);
        }
    }

    #[test]
    fn a_page_of_listings_is_cut_at_its_end() {
        let results: Vec<Value> = (0..100)
            .map(|n| json!({"listing_key": n, "description": "bright ".repeat(100)}))
            .collect();
        let data =
            json!({"results": results, "has_more": false, "source_status": {"cached": "ok"}});
        let fitted = fitted(Operation::SearchListings.spec(), data.clone(), &meta());
        let shown = fitted["data"]["results"].as_array().unwrap();
        assert!(shown.len() > 10 && shown.len() < 100, "{}", shown.len());
        assert_eq!(shown[..], results_of(&data)[..shown.len()]);
        assert_eq!(fitted["data"]["results_shown"], json!(shown.len()));
        // The rest is on the next page, at offset plus what is shown.
        assert_eq!(fitted["data"]["has_more"], json!(true));
        assert!(size(&fitted) <= MAX_RESULT_BYTES, "{}", size(&fitted));
    }

    #[test]
    fn a_listing_too_large_for_a_result_is_shortened_and_not_stood_before_for_ever() {
        let photos: Vec<String> = (0..400)
            .map(|n| format!("https://photos.example/{n}/{}.jpg", "x".repeat(80)))
            .collect();
        let large =
            json!({"listing_key": 1, "description": "bright ".repeat(5_000), "photo_urls": photos});
        let small = json!({"listing_key": 2, "description": "bright ".repeat(100)});
        let data = json!({"results": [large, small], "has_more": false, "source_status": {"cached": "ok"}});
        let fitted = fitted(Operation::SearchListings.spec(), data, &meta());
        let shown = fitted["data"]["results"].as_array().unwrap();
        assert_eq!(shown[0]["listing_key"], 1);
        assert_eq!(shown[0]["photo_urls"].as_array().unwrap().len(), SHORT_LIST);
        let description = shown[0]["description"].as_str().unwrap();
        assert!(description.starts_with("bright ") && description.ends_with('…'));
        assert_eq!(shown[1], small);
        assert_eq!(fitted["data"]["has_more"], json!(false));
        assert!(size(&fitted) <= MAX_RESULT_BYTES, "{}", size(&fitted));
    }

    #[test]
    fn a_rental_too_large_for_a_result_hides_no_other_and_keeps_its_links_whole() {
        let link =
            |n: usize, width: usize| format!("https://photos.example/{n}?s={}", "x".repeat(width));
        let photos: Vec<String> = (0..50)
            .map(|n| link(n, if n == 1 { 3_000 } else { 450 }))
            .collect();
        let visits: Vec<Value> = (0..50)
            .map(|_| json!({"start_time": "s".repeat(400), "end_time": "e".repeat(400)}))
            .collect();
        let large = json!({"listing_key": 1, "listing_url": link(0, 5_000), "photo_urls": photos, "open_houses": visits});
        let small: Vec<Value> = (2..16).map(|n| json!({"listing_key": n})).collect();
        let rentals: Vec<Value> = std::iter::once(large).chain(small.clone()).collect();
        let data = json!({"rentals": rentals, "rental_count": 15});
        let fitted = fitted(Operation::GetRentalEstimates.spec(), data, &meta());
        let shown = fitted["data"]["rentals"].as_array().unwrap();
        assert_eq!(shown[1..], small[..]);
        assert_eq!(shown[0]["listing_url"], Value::Null);
        let kept: Vec<String> = [0, 2, 3, 4, 5].map(|n| link(n, 450)).into();
        assert_eq!(shown[0]["photo_urls"], json!(kept));
        assert_eq!(
            shown[0]["open_houses"].as_array().unwrap().len(),
            SHORT_LIST
        );
        assert!(size(&fitted) <= MAX_RESULT_BYTES, "{}", size(&fitted));
    }

    #[test]
    fn a_page_that_fits_says_what_the_operation_said() {
        let data = json!({"results": [{"listing_key": 1}], "has_more": false, "source_status": {}});
        let fitted = fitted(Operation::SearchListings.spec(), data.clone(), &meta());
        assert_eq!(fitted["data"], data);
    }

    fn results_of(data: &Value) -> &Vec<Value> {
        data["results"].as_array().unwrap()
    }

    const GROUPS: [&str; 3] = ["new_listings", "price_drops", "off_market"];

    /// A digest of these events, each in its group and of its width, its number its place.
    fn digest(events: &[(usize, usize)], after: u64) -> Value {
        let mut data = json!({
            "window": {"from_at": "2026-11-26T12:00:00Z"}, "counts": {"new_listings": 3},
            "new_listings": [], "price_drops": [], "off_market": [], "truncated": false,
            "source_status": {"cached": "ok"},
        });
        for (number, (group, width)) in (1_u64..).zip(events) {
            if number > after {
                let event =
                    json!({"event_id": number, "listing": {"description": "x".repeat(*width)}});
                data[GROUPS[*group]].as_array_mut().unwrap().push(event);
            }
        }
        data
    }

    #[test]
    fn a_failure_is_text_with_the_wait_and_no_structure() {
        let refused = Failure::new(ErrorCode::RateLimited, "Wait.").after(7);
        let result = failure(&refused, "0190");
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, None);
        let text = serde_json::to_value(&result.content).unwrap()[0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"code": "rate_limited", "message": "Wait.", "request_id": "0190", "retry_after_seconds": 7})
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_result_is_larger_than_its_room(sources in 1_usize..120, records in 0_usize..40, width in 0_usize..900) {
            let fitted = fit(report(sources, records, width));
            prop_assert!(size(&fitted) <= MAX_RESULT_BYTES, "{}", size(&fitted));
        }

        #[test]
        fn a_digest_that_was_cut_and_gone_on_with_gives_every_event_once(
            events in prop::collection::vec((0..3_usize, 0..6_000_usize), 0..60),
        ) {
            let spec = Operation::GetListingUpdates.spec();
            let mut seen: Vec<u64> = Vec::new();
            loop {
                let after = seen.iter().max().copied().unwrap_or_default();
                let fitted = fitted(spec, digest(&events, after), &meta());
                prop_assert!(size(&fitted) <= MAX_RESULT_BYTES, "{}", size(&fitted));
                let groups = GROUPS.iter().flat_map(|group| fitted["data"][group].as_array().unwrap());
                let mut here: Vec<u64> = groups.map(|event| event["event_id"].as_u64().unwrap()).collect();
                here.sort_unstable();
                prop_assert_eq!(&fitted["truncated"], &fitted["data"]["truncated"]);
                let is_cut = fitted["truncated"] == json!(true);
                prop_assert!(!is_cut || !here.is_empty());
                seen.extend(here);
                if !is_cut {
                    break;
                }
            }
            let all: Vec<u64> = (1..).take(events.len()).collect();
            prop_assert_eq!(seen, all);
        }
    }
}
