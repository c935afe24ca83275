//! The engine on a table of five rows.

use serde_json::{Value as Json, json};

use super::answer;
use crate::table::{ColumnType, Table};

/// Five violations, told apart by `n`.
fn table() -> Table {
    let rows = [
        json!({"n": "1", "bin": "1015862", "status": "ACTIVE", "amount": "500.25", "open": true, "at": "2024-01-31T00:00:00.000", "place": {"type": "Point", "coordinates": [-73.98566, 40.74844]}}),
        json!({"n": "2", "bin": "1015862", "status": "RESOLVE", "amount": "0", "open": false, "at": "2023-05-02T10:30:00.000"}),
        json!({"n": "3", "bin": "1001026", "status": "ACTIVE", "amount": "1250.5000", "at": "2022-12-31T23:59:59.000"}),
        json!({"n": "4", "bin": "3340270", "status": "O'BRIEN", "amount": "-20", "open": true}),
        json!({"n": "5", "status": "ACTIVE", "at": "2024-02-01T00:00:00.000"}),
    ];
    let rows: Vec<_> = rows
        .iter()
        .filter_map(|row| row.as_object().cloned())
        .collect();
    let columns = [
        ("n", ColumnType::Number),
        ("bin", ColumnType::Text),
        ("status", ColumnType::Text),
        ("amount", ColumnType::Number),
        ("open", ColumnType::Checkbox),
        ("at", ColumnType::CalendarDate),
        ("place", ColumnType::Point),
    ];
    let columns = columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
    Table::from_json("aaaa-bbbb", "Five".into(), columns, rows, 1_790_000_000)
}

fn params(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    (pairs.iter())
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn ask(pairs: &[(&str, &str)]) -> Vec<Json> {
    let output = answer(&table(), &params(pairs)).unwrap_or_else(|refusal| panic!("{refusal}"));
    match serde_json::from_str(&output.body) {
        Ok(Json::Array(rows)) => rows,
        other => panic!("no array: {other:?}"),
    }
}

/// The code of the refusal, and the refusal.
fn refused(pairs: &[(&str, &str)]) -> (String, Json) {
    let refusal = answer(&table(), &params(pairs)).expect_err("refused");
    let code = refusal["errorCode"].as_str().unwrap_or("none").to_owned();
    (code, refusal)
}

/// `n` of the rows that pass, in the order of `n`.
fn passing(condition: &str) -> String {
    let rows = ask(&[("$where", condition), ("$order", "n"), ("$select", "n")]);
    rows.iter().filter_map(|row| row["n"].as_str()).collect()
}

#[test]
fn every_operator() {
    for (condition, rows) in [
        ("bin = '1015862'", "12"),
        ("bin != '1015862'", "34"),
        ("bin <> '1015862'", "34"),
        ("amount < 500.25", "24"),
        ("amount <= 500.25", "124"),
        ("amount > 500.25", "3"),
        ("amount >= 500.25", "13"),
        ("amount = 1250.5", "3"),
        ("amount = '1250.50'", "3"),
        ("amount = -20", "4"),
        ("status = 'ACTIVE' and amount > 600", "3"),
        ("n = 1 or n = 2", "12"),
        ("not status = 'ACTIVE'", "24"),
        ("not (n = 1 or n = 2)", "345"),
        ("bin is null", "5"),
        ("bin is not null", "1234"),
        ("n in (1, 3, 9)", "13"),
        ("bin in ('1015862', '3340270')", "124"),
        ("n not in (1, 2)", "345"),
        ("n between 2 and 4", "234"),
        ("n not between 2 and 4", "15"),
        ("status like 'A%'", "135"),
        ("status not like 'A%'", "24"),
        ("status like '_ESOLVE'", "2"),
        ("starts_with(status, 'RES')", "2"),
        ("upper(status) = 'ACTIVE'", "135"),
        ("lower(status) = 'active'", "135"),
        ("status = 'O''BRIEN'", "4"),
        ("open = true", "14"),
        ("open", "14"),
        ("not open", "2"),
        ("at > '2024-01-31'", "5"),
        ("at >= '2024-01-31T00:00:00'", "15"),
        ("at between '2023-01-01' and '2023-12-31'", "2"),
        ("date_extract_y(at) = 2024", "15"),
        ("n::text = '3'", "3"),
        ("amount * 2 + 1 = 1001.5", "1"),
        ("status || bin = 'ACTIVE1001026'", "3"),
        ("within_circle(place, 40.7484, -73.9857, 50)", "1"),
        ("case(n = 1, 'a', true, 'b') = 'a'", "1"),
        ("`bin` = '1001026'", "3"),
        ("BIN = '1001026' AND Status IS NOT NULL", "3"),
    ] {
        assert_eq!(passing(condition), rows, "{condition}");
    }
}

#[test]
fn what_compares_with_nothing_is_neither_true_nor_false() {
    assert_eq!(passing("bin = '1' or bin != '1'"), "1234");
    assert_eq!(passing("not (bin = '1')"), "1234");
    assert_eq!(passing("bin = null"), "");
    assert_eq!(passing("n not in (1, null)"), "2345");
    assert_eq!(passing("open = true or status = 'ACTIVE'"), "1345");
}

#[test]
fn types_are_strict() {
    for (condition, function, found) in [
        ("bin = 1015862", "op$=", "number"),
        ("amount = 'much'", "op$=", "text"),
        ("open = 'Y'", "op$=", "text"),
        ("at = 'yesterday'", "op$=", "text"),
        ("at > 20240131", "op$>", "number"),
        ("bin in (1015862)", "#IN", "number"),
        ("bin between 1 and 2", "#BETWEEN", "number"),
        ("n like '1%'", "#LIKE", "number"),
        ("starts_with(n, '1')", "starts_with", "number"),
    ] {
        let (code, refusal) = refused(&[("$where", condition)]);
        assert_eq!(code, "query.soql.type-mismatch", "{condition}");
        assert_eq!(refusal["data"]["function"], function, "{condition}");
        assert_eq!(refusal["data"]["type"], found, "{condition}");
        assert!(
            refusal["data"]["position"]["line"].is_string(),
            "{condition}"
        );
    }
}

#[test]
fn other_refusals_have_their_codes() {
    for (pairs, code) in [
        (vec![("$where", "no_such = 1")], "query.soql.no-such-column"),
        (vec![("$select", "no_such")], "query.soql.no-such-column"),
        (vec![("$order", "no_such")], "query.soql.no-such-column"),
        (vec![("no_such", "1")], "query.soql.no-such-column"),
        (
            vec![("$where", "soundex(bin) = 'x'")],
            "query.soql.no-such-function",
        ),
        (
            vec![("$where", "bin = 'x")],
            "query.soql.unterminated-string",
        ),
        (
            vec![("$where", "bin = ;")],
            "query.soql.unexpected-character",
        ),
        (vec![("$where", "bin =")], "query.soql.bad-parse"),
        (
            vec![("$where", "count(*) > 1")],
            "query.soql.aggregate-in-ungrouped-context",
        ),
        (
            vec![("$select", "bin, count(*)")],
            "query.soql.column-not-in-group-bys",
        ),
        (
            vec![("$select", "bin, n as bin")],
            "query.soql.duplicate-alias",
        ),
        (vec![("$select", "sum(bin)")], "query.soql.type-mismatch"),
        (
            vec![("$where", "status::number = 1")],
            "query.soql.invalid-cast",
        ),
        (vec![("$limit", "many")], "query.soql.bad-parse"),
        (vec![("$having", "count(*) > 1")], "query.soql.bad-parse"),
        (vec![("amount", "much")], "query.soql.type-mismatch"),
    ] {
        assert_eq!(refused(&pairs).0, code, "{pairs:?}");
    }
}

#[test]
fn the_position_points_at_the_culprit() {
    let (_, refusal) = refused(&[("$select", "bin, no_such"), ("$limit", "1")]);
    let position = &refusal["data"]["position"];
    let line = position["line"].as_str().expect("a line");
    let (query, caret) = line.split_once('\n').expect("two lines");
    assert_eq!(
        query,
        "SELECT `n`, `bin`, `status`, `amount`, `open`, `at`, `place` |> SELECT `bin`, `no_such` LIMIT 1"
    );
    let column = caret.len();
    assert_eq!(position["column"], column);
    assert!(
        query
            .get(column - 1..)
            .is_some_and(|rest| rest.starts_with("`no_such`"))
    );
}

#[test]
fn plain_filters_take_the_column_s_type() {
    assert_eq!(ask(&[("bin", "1015862")]).len(), 2);
    assert_eq!(ask(&[("n", "1")]).len(), 1);
    assert_eq!(ask(&[("open", "true")]).len(), 2);
    assert_eq!(ask(&[("bin", "1015862"), ("status", "ACTIVE")]).len(), 1);
    assert_eq!(
        ask(&[("bin", "1015862"), ("$where", "amount > 0")]).len(),
        1
    );
    assert_eq!(
        ask(&[("bin", "01015862")]).len(),
        0,
        "another padding is another text"
    );
}

#[test]
fn absent_values_are_left_out_and_digits_are_kept() {
    let rows = ask(&[("$where", "n in (3, 5)"), ("$order", "n")]);
    assert_eq!(
        rows,
        [
            json!({"n": "3", "bin": "1001026", "status": "ACTIVE", "amount": "1250.5000", "at": "2022-12-31T23:59:59.000"}),
            json!({"n": "5", "status": "ACTIVE", "at": "2024-02-01T00:00:00.000"}),
        ]
    );
}

#[test]
fn order_by_several_with_what_is_absent_last_ascending_and_first_descending() {
    let order = |order: &str| -> String {
        let rows = ask(&[("$order", order), ("$select", "n")]);
        rows.iter().filter_map(|row| row["n"].as_str()).collect()
    };
    assert_eq!(order("amount"), "42135");
    assert_eq!(order("amount DESC"), "53124");
    assert_eq!(order("status, n desc"), "53142");
    assert_eq!(order("status desc, amount"), "24135");
}

#[test]
fn without_an_order_rows_come_scrambled_and_always_the_same() {
    let many: Vec<_> = (0..50)
        .filter_map(|n| json!({"n": n.to_string()}).as_object().cloned())
        .collect();
    let columns = vec![("n".to_owned(), ColumnType::Number)];
    let table = Table::from_json("aaaa-bbbb", "Many".into(), columns, many, 0);
    let first = answer(&table, &[]).expect("rows").body;
    assert_eq!(first, answer(&table, &[]).expect("rows").body);
    let ordered = answer(&table, &params(&[("$order", "n")]))
        .expect("rows")
        .body;
    assert_ne!(first, ordered);
}

#[test]
fn limit_and_offset_walk_all_rows_once() {
    let mut seen = Vec::new();
    for offset in ["0", "2", "4", "6"] {
        let rows = ask(&[("$order", ":id"), ("$limit", "2"), ("$offset", offset)]);
        seen.extend(
            rows.iter()
                .filter_map(|row| row["n"].as_str().map(str::to_owned)),
        );
    }
    seen.sort();
    assert_eq!(seen, ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_walk_by_row_id_meets_each_row_once() {
    let mut seen = Vec::new();
    let mut last = String::new();
    loop {
        let condition = format!(":id > '{last}'");
        let rows = ask(&[
            ("$select", ":id, n"),
            ("$order", ":id"),
            ("$limit", "2"),
            ("$where", &condition),
        ]);
        let Some(row) = rows.last() else { break };
        last = row[":id"].as_str().expect("an id").to_owned();
        seen.extend(
            rows.iter()
                .filter_map(|row| row["n"].as_str().map(str::to_owned)),
        );
    }
    seen.sort();
    assert_eq!(seen, ["1", "2", "3", "4", "5"]);
    let rows = ask(&[("$select", ":*,*"), ("$limit", "1")]);
    assert!(rows[0][":id"].is_string() && rows[0][":updated_at"].is_string());
}

#[test]
fn aggregates_with_and_without_groups() {
    assert_eq!(ask(&[("$select", "count(*)")]), [json!({"count": "5"})]);
    assert_eq!(
        ask(&[("$select", "count(bin)")]),
        [json!({"count_bin": "4"})]
    );
    assert_eq!(
        ask(&[(
            "$select",
            "count(distinct bin) as buildings, sum(amount) as owed, min(at), max(amount)"
        )]),
        [
            json!({"buildings": "3", "owed": "1730.75", "min_at": "2022-12-31T23:59:59.000", "max_amount": "1250.5000"})
        ]
    );
    assert_eq!(
        ask(&[
            ("$select", "count(*) as n, sum(amount)"),
            ("$where", "bin = '0'")
        ]),
        [json!({"n": "0"})],
        "a sum over nothing is absent"
    );
    assert_eq!(
        ask(&[
            ("$select", "status, count(*) as n"),
            ("$group", "status"),
            ("$order", "n desc, status")
        ]),
        [
            json!({"status": "ACTIVE", "n": "3"}),
            json!({"status": "O'BRIEN", "n": "1"}),
            json!({"status": "RESOLVE", "n": "1"}),
        ]
    );
    let years = ask(&[
        ("$select", "date_extract_y(at) as year, count(*)"),
        ("$group", "year"),
        ("$order", "year"),
    ]);
    assert_eq!(years[0], json!({"year": "2022", "count": "1"}));
    assert_eq!(ask(&[("$group", "status"), ("$select", "status")]).len(), 3);
    assert_eq!(
        ask(&[
            ("$select", "bin, count(*)"),
            ("$group", "bin"),
            ("$limit", "2")
        ])
        .len(),
        2
    );
}

#[test]
fn the_header_s_types_are_those_of_the_columns() {
    let output = answer(
        &table(),
        &params(&[("$select", "n, at, open, place, count"), ("$limit", "1")]),
    );
    assert!(output.is_err(), "count is no column");
    let output =
        answer(&table(), &params(&[("$select", "n, at, open, place, :id")])).expect("rows");
    assert_eq!(
        output.types,
        [
            "number",
            "floating_timestamp",
            "checkbox",
            "point",
            "row_identifier"
        ]
    );
    assert_eq!(output.fields, ["n", "at", "open", "place", ":id"]);
}

#[test]
fn an_index_finds_what_a_scan_finds() {
    // The same question in a form that the index serves, and in one that it cannot.
    for (indexed, scanned) in [
        ("bin = '1015862'", "bin || '' = '1015862'"),
        ("n in (1, 4)", "n + 0 in (1, 4)"),
        (
            "amount = 1250.50 and n = 3",
            "amount + 0 = 1250.50 and n + 0 = 3",
        ),
    ] {
        assert_eq!(passing(indexed), passing(scanned), "{indexed}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_engine_panic(text in ".{0,60}", name in "\\$(select|where|order|group|limit|offset)") {
        let _ = answer(&table(), &[(name, text)]);
    }

    #[test]
    fn a_doubled_quote_is_one_quote(text in "[ -~]{0,30}") {
        let rows = [serde_json::json!({"t": text})];
        let rows: Vec<_> = rows.iter().filter_map(|row| row.as_object().cloned()).collect();
        let table = Table::from_json("aaaa-bbbb", "T".into(), vec![("t".into(), ColumnType::Text)], rows, 0);
        let condition = format!("t = '{}'", text.replace('\'', "''"));
        let body = answer(&table, &[("$where".into(), condition)]).expect("rows").body;
        proptest::prop_assert!(body.contains("\"t\""));
    }
}
