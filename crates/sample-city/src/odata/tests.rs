use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn rows() -> Vec<Arc<Entity>> {
    let row = |key: &str, zip: &str, price: Option<u64>, status: &str, moment: &str| {
        let row = json!({
            "ListingKey": key,
            "PostalCode": zip,
            "ListPrice": price,
            "StandardStatus": status,
            "OnMarketDate": moment.get(..10),
            "ModificationTimestamp": moment,
            "NewConstructionYN": zip == "10002",
            "StreetName": "O'Sample Place",
            "Media": [{"MediaKey": format!("{key}-P1")}],
        });
        Arc::new(row.as_object().cloned().unwrap_or_default())
    };
    vec![
        row(
            "A",
            "10001",
            Some(900_000),
            "Active",
            "2026-11-01T09:00:00Z",
        ),
        row(
            "B",
            "10002",
            Some(700_000),
            "Active Under Contract",
            "2026-11-02T09:00:00Z",
        ),
        row("C", "10001", None, "Coming Soon", "2026-11-03T09:00:00Z"),
        row(
            "D",
            "11201",
            Some(1_200_000),
            "Closed",
            "2026-11-04T09:00:00.500Z",
        ),
    ]
}

fn ask(params: &[(&str, &str)]) -> Result<Value, Refusal> {
    let params: Vec<_> = (params.iter())
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Ok(page(&PROPERTY, &rows(), &params, None)?.body("http://city", &PROPERTY))
}

fn keys(body: &Value) -> String {
    let rows = body["value"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["ListingKey"].as_str()).collect()
}

#[test]
fn filters_find_what_they_say() {
    for (filter, found) in [
        ("PostalCode eq '10001'", "AC"),
        ("PostalCode ne '10001'", "BD"),
        ("PostalCode in ('10001','10002')", "ABC"),
        ("ListPrice gt 700000", "AD"),
        ("ListPrice ge 700000 and ListPrice le 900000.00", "AB"),
        ("ListPrice lt 800000 or PostalCode eq '11201'", "BD"),
        ("ListPrice eq null", "C"),
        ("ListPrice ne null", "ABD"),
        ("not (ListPrice gt 700000)", "BC"),
        ("NewConstructionYN eq true", "B"),
        ("OnMarketDate ge 2026-11-03", "CD"),
        ("ModificationTimestamp gt 2026-11-03T09:00:00Z", "D"),
        ("ModificationTimestamp gt 2026-11-03T04:00:00-05:00", "D"),
        ("ModificationTimestamp le 2026-11-02T09:00:00.000Z", "AB"),
        ("StandardStatus eq 'Active Under Contract'", "B"),
        ("StandardStatus eq 'ActiveUnderContract'", "B"),
        ("StandardStatus eq org.reso.StandardStatus'ComingSoon'", "C"),
        ("StandardStatus in ('Active', 'Coming Soon')", "AC"),
        (
            "StreetName eq 'O''Sample Place' and PostalCode eq '11201'",
            "D",
        ),
        ("startswith(PostalCode, '100')", "ABC"),
        (
            "contains(tolower(StreetName), 'sample') and endswith(PostalCode,'2')",
            "B",
        ),
        (
            "PostalCode eq '10001' and (ListPrice eq null or ListPrice gt 1)",
            "AC",
        ),
    ] {
        let body =
            ask(&[("$filter", filter)]).unwrap_or_else(|refusal| panic!("{filter}: {refusal:?}"));
        assert_eq!(keys(&body), found, "{filter}");
    }
}

#[test]
fn what_does_not_read_is_refused_with_the_option_at_fault() {
    for (option, value) in [
        ("$filter", "PostalCode eq 10001"),
        ("$filter", "Postalcode eq '10001'"),
        ("$filter", "PostalCode = '10001'"),
        ("$filter", "PostalCode eq '10001"),
        ("$filter", "PostalCode eq"),
        ("$filter", "(PostalCode eq '10001'"),
        ("$filter", "PostalCode eq '10001' '10002'"),
        ("$filter", "ModificationTimestamp gt 2026-11-03"),
        ("$filter", "ModificationTimestamp gt '2026-11-03T09:00:00Z'"),
        ("$filter", "PetsAllowed eq 'Yes'"),
        ("$filter", "contains(ListPrice, '1')"),
        ("$filter", ""),
        ("$orderby", "Nothing"),
        ("$orderby", "ListPrice downward"),
        ("$select", "ListingKey,Nothing"),
        ("$expand", "Rooms"),
        ("$top", "-1"),
        ("$skip", "many"),
        ("$count", "yes"),
        ("$skiptoken", "é"),
        ("$skiptoken", ""),
    ] {
        let refusal = ask(&[(option, value)]).expect_err(value);
        assert_eq!((refusal.status, refusal.target), (400, option), "{value}");
    }
    assert_eq!(
        ask(&[("$fitler", "")]).expect_err("unknown").target,
        "query"
    );
    let deep = format!("{}ListPrice eq 1{}", "(".repeat(500), ")".repeat(500));
    assert!(ask(&[("$filter", &deep)]).is_err());
}

#[test]
fn rows_are_ordered_cut_and_counted() {
    let body = ask(&[
        ("$orderby", "PostalCode asc, ListPrice desc"),
        ("$count", "true"),
    ]);
    let body = body.expect("a page");
    assert_eq!(keys(&body), "ACBD", "no price comes last when it descends");
    assert_eq!(body["@odata.count"], 4);
    let body = ask(&[("$skip", "1"), ("$top", "2"), ("$count", "true")]).expect("a page");
    assert_eq!(
        (keys(&body).as_str(), &body["@odata.count"]),
        ("BC", &json!(4))
    );
    assert!(
        body.get("@odata.nextLink").is_none(),
        "no more than was asked for"
    );
    let body = ask(&[("$select", "ListPrice"), ("$top", "1")]).expect("a page");
    assert_eq!(
        body["value"],
        json!([{"ListingKey": "A", "ListPrice": 900_000}])
    );
    let body = ask(&[("$expand", "Media"), ("$top", "1")]).expect("a page");
    assert_eq!(body["value"][0]["Media"][0]["MediaKey"], "A-P1");
    let body = ask(&[("$top", "1")]).expect("a page");
    assert!(body["value"][0].get("Media").is_none());
    assert_eq!(keys(&ask(&[("$top", "0")]).expect("a page")), "");
}

fn many(count: usize) -> Vec<Arc<Entity>> {
    (0..count)
        .map(|at| {
            let row = json!({"ListingKey": format!("K{at:04}"), "ListPrice": at % 7});
            Arc::new(row.as_object().cloned().unwrap_or_default())
        })
        .collect()
}

/// All keys, page after page by the links alone.
fn walk(
    rows: &[Arc<Entity>],
    first: &[(&str, String)],
    size: Option<usize>,
) -> (Vec<String>, usize) {
    let mut params: Vec<(String, String)> = (first.iter())
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let body = page(&PROPERTY, rows, &params, size).expect("a page");
        let body = body.body("http://city", &PROPERTY);
        pages += 1;
        let keys = body["value"].as_array().into_iter().flatten();
        found.extend(keys.filter_map(|row| Some(row["ListingKey"].as_str()?.to_owned())));
        let Some(link) = body["@odata.nextLink"].as_str() else {
            return (found, pages);
        };
        let (_, query) = link.split_once('?').expect("a query");
        params = (query.split('&'))
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| {
                let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
                (name.to_owned(), value.into_owned())
            })
            .collect();
    }
}

#[test]
fn a_page_holds_a_hundred_and_never_more_than_two() {
    let rows = many(450);
    assert_eq!(walk(&rows, &[], None).1, 5);
    assert_eq!(walk(&rows, &[("$top", "1000".into())], None).1, 3);
    assert_eq!(walk(&rows, &[], Some(5_000)).1, 3);
    let (found, pages) = walk(&rows, &[("$top", "250".into())], None);
    assert_eq!((found.len(), pages), (250, 2));
}

#[test]
fn pages_by_key_survive_a_change() {
    for order in [None, Some("ListingKey"), Some("ListingKey asc")] {
        let mut params: Vec<(String, String)> = Vec::new();
        params.extend(order.map(|order| ("$orderby".into(), order.into())));
        let mut rows = many(300);
        let first = page(&PROPERTY, &rows, &params, None).expect("a page");
        let first = first.body("", &PROPERTY);
        let link = first["@odata.nextLink"].as_str().expect("a link");
        let token = link.split_once("$skiptoken=").expect("a token").1;
        params.push(("$skiptoken".into(), token.to_owned()));
        rows.drain(..50);
        let next = page(&PROPERTY, &rows, &params, None).expect("a page");
        let next = next.body("", &PROPERTY);
        assert_eq!(next["value"][0]["ListingKey"], "K0100", "none is missed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the size of a page, the links lead over every row once.
    #[test]
    fn links_lead_over_every_row_once(
        count in 0_usize..450,
        size in proptest::option::of(1_usize..260),
        top in proptest::option::of(0_usize..500),
        ordered in any::<bool>(),
    ) {
        let mut first: Vec<(&str, String)> = Vec::new();
        if let Some(top) = top {
            first.push(("$top", top.to_string()));
        }
        if ordered {
            first.push(("$orderby", "ListPrice desc".into()));
        }
        let (mut found, _) = walk(&many(count), &first, size);
        let wanted = top.unwrap_or(count).min(count);
        prop_assert_eq!(found.len(), wanted);
        found.sort();
        found.dedup();
        prop_assert_eq!(found.len(), wanted);
    }

    /// No text of a filter is a panic.
    #[test]
    fn any_filter_is_answered_or_refused(text in "[A-Za-z0-9'(), .:eqand-]{0,60}") {
        let _ = ask(&[("$filter", &text)]);
    }
}
