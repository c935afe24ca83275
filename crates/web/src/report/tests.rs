use serde_json::json;
use time::macros::datetime;

use super::*;

fn data() -> Value {
    let record = json!({
        "issue_date": "20240301", "respondent_name": "<b>ACME</b>\u{202e}", "empty": null, "balance_due": 12.5
    });
    json!({
        "property": {
            "address": "350 5 AVENUE, New York, NY 10118", "house_number": "350", "street": "5 AVENUE",
            "unit": null, "unit_bbl": null, "borough": "Manhattan", "borough_code": 1, "city": "New York",
            "state": "NY", "zip_code": "10118", "neighborhood": null, "latitude": 40.7, "longitude": -73.9,
            "match": "exact", "warnings": ["invented"]
        },
        "bbl": "1008350041", "bin": "1015862", "canonical_path": "/property/1008350041/350",
        "sources": {
            "nyc_ecb": {"status": "ok", "data": {
                "records": vec![record; 40], "record_count": 250, "records_truncated": true, "matched_by": "bin",
                "source_url": "javascript:alert(1)", "source_updated_at": "2026-11-27T10:58:21Z", "stale": false,
                "open_violations": 88, "balance_due_total": -3.0, "violations_by_severity": {"CLASS - 1": 3}
            }},
            "nyc_hpd_violations": {"status": "ok", "data": {
                "records": [{"inspectiondate": "2023-05-01"}], "record_count": 1, "open_class_c": 2,
                "source_url": "https://data.cityofnewyork.us/d/wvxf-dwi5"
            }},
            "nyc_dob": {"status": "error", "data": null},
            "nyc_evictions": {"status": "not_found", "data": null},
            "listings": {"status": "gated", "data": null}
        },
        "cache": {"cached_at": "2026-11-28T00:58:27Z", "refresh_available_at": "2026-12-05T00:58:27Z", "status": "partial"}
    })
}

fn view() -> View {
    let text = data().to_string();
    View::of(text.as_bytes(), &[], datetime!(2026-11-28 12:00 UTC)).unwrap()
}

#[test]
fn the_worst_comes_first_and_a_credit_is_no_fault() {
    let lines: Vec<_> = view()
        .attention
        .iter()
        .map(|line| (line.level_name(), line.figure.clone(), line.source))
        .collect();
    assert_eq!(
        lines,
        [
            ("severe", "2".to_owned(), "nyc_hpd_violations"),
            ("serious", "88".to_owned(), "nyc_ecb"),
        ]
    );
}

#[test]
fn every_source_stands_somewhere() {
    let view = view();
    let names: Vec<_> = view.sections.iter().map(|section| section.name).collect();
    assert_eq!(names, ["Buildings department and hearings", "Housing"]);
    assert_eq!(view.silent, ["nyc_dob"]);
    assert_eq!(view.nothing, ["nyc_evictions"]);
    assert_eq!(view.gated, ["listings"]);
    assert!(!view.is_due);
}

#[test]
fn records_are_cut_to_a_page_and_only_https_becomes_a_link() {
    let view = view();
    let ecb = &view.sections[0].sources[0];
    assert_eq!(ecb.rows.len(), 25);
    assert_eq!(ecb.more.as_deref(), Some("225 more records"));
    assert_eq!(
        ecb.columns,
        ["issue date", "respondent name", "balance due"]
    );
    assert_eq!(ecb.rows[0][1], "<b>ACME</b>\u{27e8}U+202E\u{27e9}");
    assert_eq!(ecb.url, None);
    assert!(view.sections[1].sources[0].url.is_some());
    assert_eq!(
        ecb.breakdowns[0].parts,
        [("CLASS - 1".to_owned(), "3".to_owned())]
    );
}

#[test]
fn years_are_counted_by_kind() {
    let svg = view().timeline.unwrap();
    assert!(svg.contains("2024: violations 40, permits 0"), "{svg}");
    assert!(svg.contains("2023: violations 1, permits 0"), "{svg}");
}

#[test]
fn what_is_no_report_is_an_error() {
    assert!(View::of(b"{}", &[], datetime!(2026-11-28 12:00 UTC)).is_err());
    assert!(View::of(b"", &[], datetime!(2026-11-28 12:00 UTC)).is_err());
}

/// A report of two megabytes: forty sources of a hundred records each, no two of them alike.
fn large() -> Vec<u8> {
    let mut seed = 7_u64;
    let mut word = || {
        // A small generator: what repeats would compress better than a record does.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{:x}", seed >> 20)
    };
    let mut data = data();
    for source in 0..40 {
        let records: Vec<Value> = (0..100)
            .map(|_| {
                let columns = (0..20).map(|column| (format!("column_{column}"), json!(word())));
                Value::Object(columns.collect())
            })
            .collect();
        data["sources"][format!("nyc_dob_{source}")] = json!({"status": "ok", "data": {
            "records": records, "record_count": 100, "records_truncated": false, "matched_by": "bin",
            "source_updated_at": "2026-11-20T10:00:00Z", "open_violations": source
        }});
    }
    data.to_string().into_bytes()
}

#[actix_web::test]
async fn a_page_of_two_megabytes_of_records_is_small_on_the_wire() {
    use actix_web::{App, HttpResponse, http::header, middleware::Compress, test, web};

    let report = large();
    assert!(report.len() > 2_000_000, "{}", report.len());
    let now = datetime!(2026-11-28 12:00 UTC);
    let html = crate::pages::property::rendered(&report, &[], now).unwrap();
    assert!(html.contains("2026-11-20, 8 days ago"));
    let app = App::new().wrap(Compress::default()).route(
        "/",
        web::get().to(move || {
            let html = html.clone();
            async move { HttpResponse::Ok().content_type("text/html").body(html) }
        }),
    );
    let app = test::init_service(app).await;
    for encoding in ["br", "gzip"] {
        let request = test::TestRequest::get()
            .uri("/")
            .insert_header((header::ACCEPT_ENCODING, encoding));
        let answer = test::call_service(&app, request.to_request()).await;
        let sent = answer.headers().get(header::CONTENT_ENCODING);
        assert_eq!(sent.unwrap(), encoding);
        let sent = test::read_body(answer).await.len();
        assert!(sent < 400_000, "{sent} bytes of {encoding}");
    }
}

#[test]
fn every_source_is_listed_with_its_answer() {
    let view = view();
    let all: Vec<_> = view
        .all
        .iter()
        .map(|source| {
            (
                source.key.as_str(),
                source.status,
                source.count.as_str(),
                source.age.as_str(),
            )
        })
        .collect();
    assert_eq!(
        all,
        [
            ("nyc_ecb", "on record", "250", "2026-11-27, 1 day ago"),
            ("nyc_hpd_violations", "on record", "1", ""),
            ("nyc_dob", "did not answer", "", ""),
            ("nyc_evictions", "nothing on record", "", ""),
            ("listings", "no licence here", "", ""),
        ]
    );
}
