use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::at_hand::real_data;
use crate::testing::response;

fn fault(status: u16, body: &str) -> SodaError {
    match classify(&response(status, &[], body)) {
        Class::Fault(fault) => fault,
        other => panic!("{status} {body}: {other:?}"),
    }
}

#[test]
fn each_status_means_what_the_protocol_says() {
    let bad = |code: &str| SodaError::BadQuery { code: code.into() };
    let drift = r#"{"message":"Query coordinator error: query.soql.no-such-column; No such column: nope; SELECT `owner`",
        "errorCode":"query.soql.no-such-column","data":{"column":"nope","dataset":"hotel.1","position":{"row":1}}}"#;
    let mismatch = r#"{"message":"Type mismatch; SELECT `owner`","errorCode":"query.soql.type-mismatch","data":{}}"#;
    for (status, body, expected) in [
        (
            400,
            drift,
            SodaError::NoSuchColumn {
                column: "nope".into(),
            },
        ),
        (400, mismatch, bad("query.soql.type-mismatch")),
        (
            400,
            r#"{"code":"query.soql.bad-parse","error":true,"message":"x"}"#,
            bad("query.soql.bad-parse"),
        ),
        // A column that is no name is not passed on.
        (
            400,
            r#"{"errorCode":"query.soql.no-such-column","data":{"column":"SELECT `a`, `b`"}}"#,
            bad("query.soql.no-such-column"),
        ),
        (
            400,
            r#"{"errorCode":"SELECT `owner` FROM","message":"x"}"#,
            bad("http.400"),
        ),
        (400, "<html>Bad</html>", bad("http.400")),
        (
            404,
            r#"{"code":"dataset.missing","error":true,"message":"Not found"}"#,
            SodaError::Gone { status: 404 },
        ),
        (410, "", SodaError::Gone { status: 410 }),
        (414, "", bad("http.414")),
        (429, "", SodaError::Throttled),
        (301, "", SodaError::Unavailable("status 301".into())),
        (501, "", SodaError::Unavailable("status 501".into())),
        (0, "", SodaError::Unavailable("status 0".into())),
    ] {
        assert_eq!(fault(status, body), expected, "{status} {body}");
    }
    assert_eq!(classify(&response(200, &[], "")), Class::Good);
    assert_eq!(classify(&response(202, &[], "")), Class::NotReady);
}

#[test]
fn a_refusal_tells_whether_it_is_about_the_token() {
    for (body, names_token, may_be_token) in [
        (
            r#"{"code":"permission_denied","error":true,"message":"Invalid app_token specified"}"#,
            true,
            true,
        ),
        (
            r#"{"code":"permission_denied","error":true,"message":"You must be logged in"}"#,
            false,
            true,
        ),
        ("<html>", false, true),
        (
            r#"{"code":"view.private","error":true,"message":"private"}"#,
            false,
            false,
        ),
    ] {
        let expected = Class::Denied {
            status: 403,
            names_token,
            may_be_token,
        };
        assert_eq!(classify(&response(403, &[], body)), expected, "{body}");
    }
}

#[test]
fn rows_keep_their_digits_and_lose_what_is_the_systems() {
    let body = r#"[{":id":"row-a","bin":"1015862","amount":"1250.00","n":1250.00,"open":true,"gone":null,
        "point":{"type":"Point","coordinates":[-73.9856740,40.7484]},":@computed_region_x":"1","@kind":"x",":updated_at":"x"}
,{}]"#;
    let headers = [
        ("X-SODA2-Fields", r#"[":id","bin",":updated_at","amount"]"#),
        (
            "X-SODA2-Types",
            r#"["row_identifier","text","fixed_timestamp","number"]"#,
        ),
    ];
    let answer = rows(&response(200, &headers, body), false).unwrap();
    let mut shown: Vec<_> = answer.rows[0]
        .iter()
        .map(|(key, value)| (key.as_str(), value.get()))
        .collect();
    shown.sort_unstable();
    assert_eq!(
        shown,
        [
            ("amount", "\"1250.00\""),
            ("bin", "\"1015862\""),
            ("n", "1250.00"),
            ("open", "true"),
            (
                "point",
                r#"{"type":"Point","coordinates":[-73.9856740,40.7484]}"#
            ),
        ]
    );
    assert!(answer.rows[1].is_empty());
    assert_eq!(answer.fields.unwrap(), ["bin", "amount"]);
    assert_eq!(answer.types.unwrap(), ["text", "number"]);
    let answer = rows(&response(200, &headers, body), true).unwrap();
    assert_eq!(answer.rows[0][":id"].get(), "\"row-a\"");
    assert_eq!(answer.fields.unwrap(), [":id", "bin", "amount"]);
}

#[test]
fn headers_that_do_not_fit_are_left_out() {
    let read = |fields: &str, types: &str| {
        let headers = [("X-SODA2-Fields", fields), ("X-SODA2-Types", types)];
        let answer = rows(&response(200, &headers, "[]"), false).unwrap();
        (answer.fields, answer.types)
    };
    let bin = || Some(vec!["bin".to_owned()]);
    assert_eq!(read(r#"["bin"]"#, r#"["text","number"]"#), (bin(), None));
    assert_eq!(read(r#"["bin"]"#, "text"), (bin(), None));
    assert_eq!(read("bin", r#"["text"]"#), (None, None));
    let answer = rows(&response(200, &[], "[]"), false).unwrap();
    assert!(answer.fields.is_none() && answer.types.is_none());
}

#[test]
fn a_success_that_is_no_array_of_rows_is_unavailable() {
    for body in [
        "",
        "<html><body>We are down for maintenance, secret-marker</body></html>",
        r#"{"error":true,"code":"x","message":"secret-marker"}"#,
        r#"["secret-marker"]"#,
        r#"[{"a":"secret-marker"}"#,
        r#"[{"a":1}] secret-marker"#,
        "null",
        "[1,2]",
    ] {
        let fault = rows(&response(200, &[], body), false).unwrap_err();
        assert!(
            matches!(fault, SodaError::Unavailable(_)),
            "{body}: {fault:?}"
        );
        assert!(!fault.to_string().contains("secret"), "{fault}");
    }
}

#[test]
fn metadata_is_read_with_and_without_its_date() {
    let body = r#"{"id":"6bgk-3dad","name":"ECB","rowsUpdatedAt":1784244422,"columns":[
        {"fieldName":"bin","dataTypeName":"text","name":"BIN"},{"fieldName":":@computed_region_x","dataTypeName":"number"}]}"#;
    let read = metadata(&response(200, &[], body)).unwrap();
    assert_eq!(read.name, "ECB");
    assert_eq!(
        read.rows_updated_at.unwrap().unix_timestamp(),
        1_784_244_422
    );
    assert_eq!(read.columns, [("bin".to_owned(), "text".to_owned())]);
    for body in [
        "{}",
        r#"{"rowsUpdatedAt":null}"#,
        r#"{"rowsUpdatedAt":99999999999999}"#,
    ] {
        assert_eq!(
            metadata(&response(200, &[], body)).unwrap().rows_updated_at,
            None
        );
    }
    let fault = metadata(&response(200, &[], "[]")).unwrap_err();
    assert!(matches!(fault, SodaError::Unavailable(_)));
}

proptest! {
    /// Whatever stands in an error's body, its sentences stay there.
    #[test]
    fn no_text_of_a_body_gets_out(
        status in prop::sample::select(vec![200u16, 400, 401, 403, 404, 414, 429, 500]),
        code in prop_oneof!["[a-z.-]{0,20}", Just(NO_SUCH_COLUMN.to_owned()), "[ A-Z`]{1,20}"],
        shape in prop::sample::select(vec!["errorCode", "code"]),
    ) {
        let body = serde_json::json!({
            shape: code,
            "message": "secret marker SELECT `owner_name`",
            "data": {"column": "secret marker", "position": {"line": "secret marker"}},
        }).to_string();
        let answer = response(status, &[], &body);
        let shown = match classify(&answer) {
            Class::Fault(fault) => format!("{fault} {fault:?}"),
            Class::Good => format!("{:?}", rows(&answer, false).unwrap_err()),
            other => format!("{other:?}"),
        };
        prop_assert!(!shown.contains("secret") && !shown.contains("owner_name"), "{shown}");
    }

    #[test]
    fn no_body_panics(status in 0u16..600, body in prop_oneof!["\\PC{0,60}", "[\\[\\]{}\",:a0 ]{0,40}"]) {
        let answer = response(status, &[("X-SODA2-Fields", "[\"a\"]"), ("X-SODA2-Types", "[]")], &body);
        let _ = classify(&answer);
        let _ = rows(&answer, true);
        let _ = metadata(&answer);
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// A recorded request and its body, where the file holds both.
fn recorded(path: &Path) -> Response {
    let file = value(path);
    let status = file["http_status"].as_u64().unwrap().try_into().unwrap();
    response(status, &[], file["response_body_raw"].as_str().unwrap())
}

#[test]
fn recorded_bodies_with_their_headers_are_read() {
    let Some(soda) = real_data("soda") else {
        return;
    };
    let mut read = 0;
    for entry in std::fs::read_dir(soda.join("vcr")).unwrap() {
        let head = entry.unwrap().path();
        let Some(stem) = head.to_str().unwrap().strip_suffix(".http.json") else {
            continue;
        };
        let file = value(&head);
        let headers: Vec<(&str, &str)> = file["headers"]
            .as_object()
            .unwrap()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
            .collect();
        let body = text(Path::new(&format!("{stem}.json")));
        let answer = rows(&response(200, &headers, &body), false).unwrap();
        let plain: Vec<Value> = serde_json::from_str(&body).unwrap();
        assert_eq!(answer.rows.len(), plain.len(), "{stem}");
        let fields = answer.fields.unwrap();
        assert_eq!(answer.types.unwrap().len(), fields.len(), "{stem}");
        for field in &fields {
            assert!(Column::new(field).is_ok(), "{stem}: {field}");
        }
        for (row, plain) in answer.rows.iter().zip(&plain) {
            for (key, raw) in row {
                assert!(fields.contains(key), "{stem}: {key}");
                assert_eq!(
                    serde_json::from_str::<Value>(raw.get()).unwrap(),
                    plain[key]
                );
            }
        }
        read += 1;
    }
    assert!(read >= 4, "{read} recordings");
}

#[test]
fn recorded_refusals_name_the_column_or_the_code_and_nothing_else() {
    let Some(soda) = real_data("soda") else {
        return;
    };
    let raw = |path: &str| response(400, &[], &text(&soda.join(path)));
    for (answer, expected) in [
        (
            recorded(&soda.join("pluto_64uk-42ks/F13_schema_drift_no_such_column_400.json")),
            SodaError::NoSuchColumn {
                column: "nonexistent_col".into(),
            },
        ),
        (
            recorded(&soda.join("pluto_64uk-42ks/F13b_non_drift_400_type_mismatch.json")),
            SodaError::BadQuery {
                code: "query.soql.type-mismatch".into(),
            },
        ),
        (
            raw("dob_legacy/query_ipu4-2q9a_bad-column_http400.json"),
            SodaError::NoSuchColumn {
                column: "not_a_real_column".into(),
            },
        ),
        (
            raw("dob_now_fdny/query_e5aq-a4j2_bad-column_http400.json"),
            SodaError::NoSuchColumn {
                column: "filing_date".into(),
            },
        ),
    ] {
        assert_eq!(classify(&answer), Class::Fault(expected));
    }
}

#[test]
fn recorded_metadata_and_malformed_answers_are_told_apart() {
    let (Some(soda), Some(bad)) = (real_data("soda"), real_data("bad/arcgis_soda_synthetic"))
    else {
        return;
    };
    let view = recorded(&soda.join("pluto_64uk-42ks/F08_api_views_columns_snapshot.json"));
    let read = metadata(&view).unwrap();
    assert!(
        read.rows_updated_at.is_some() && read.columns.len() > 90,
        "{read:?}"
    );
    assert!(
        read.columns
            .contains(&("bbl".to_owned(), "number".to_owned()))
    );
    for malformed in [
        "ZT94_malformed_not_array_synthetic.json",
        "ZT95_malformed_truncated_synthetic.json",
    ] {
        let answer = recorded(&bad.join(malformed));
        assert!(
            matches!(rows(&answer, false), Err(SodaError::Unavailable(_))),
            "{malformed}"
        );
    }
    let empty = recorded(&soda.join("pluto_64uk-42ks/F03b_no_match_valid_bbl.json"));
    assert!(rows(&empty, false).unwrap().rows.is_empty());
}
