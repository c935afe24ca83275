use super::*;
use crate::query::{Column, Condition};
use crate::testing::Host;

const ROWS: &str = r#"[{"bin":"1015862"}]"#;
const BAD_TOKEN: &str =
    r#"{"code":"permission_denied","error":true,"message":"Invalid app_token specified"}"#;

fn query() -> Query {
    Query::of(DatasetId::new("6bgk-3dad").unwrap())
        .filter(Condition::eq(Column::new("bin").unwrap(), "1015862"))
        .limit(101)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn has_token(head: &str) -> bool {
    head.to_lowercase().contains("x-app-token: hunter2")
}

#[tokio::test]
async fn a_query_is_asked_with_its_parameters_and_token() {
    let host = Host::start(|_, _| (200, ROWS.to_owned())).await;
    let client = SodaClient::new(host.upstream(), Some("hunter2".into()));
    let answer = client.rows(&query(), soon()).await.unwrap();
    assert_eq!(answer.rows[0]["bin"].get(), "\"1015862\"");
    assert_eq!(answer.fields.unwrap(), ["bin"]);
    assert_eq!(answer.types.unwrap(), ["text"]);
    let head = &host.heads()[0];
    assert!(
        head.starts_with(
            "GET /resource/6bgk-3dad.json?%24where=bin%20%3D%20%271015862%27&%24limit=101 HTTP/1.1\r\n"
        ),
        "{head}"
    );
    assert!(has_token(head));
    assert!(!format!("{client:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_wrong_token_is_left_at_home_and_reported() {
    let host = Host::start(|_, head| {
        if has_token(head) {
            (403, BAD_TOKEN.to_owned())
        } else {
            (200, ROWS.to_owned())
        }
    })
    .await;
    let client = SodaClient::new(host.upstream(), Some("hunter2".into()));
    assert!(!client.token_refused());
    for _ in 0..2 {
        assert_eq!(client.rows(&query(), soon()).await.unwrap().rows.len(), 1);
    }
    assert!(client.token_refused());
    let sent: Vec<bool> = host.heads().iter().map(|head| has_token(head)).collect();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test]
async fn a_dataset_that_is_gone_does_not_cost_the_token() {
    let denied = r#"{"code":"permission_denied","error":true,"message":"You cannot see this"}"#;
    let host = Host::start(move |_, head| match head {
        head if head.contains("6bgk") => (403, denied.to_owned()),
        _ => (404, r#"{"code":"dataset.missing","error":true}"#.to_owned()),
    })
    .await;
    let client = SodaClient::new(host.upstream(), Some("hunter2".into()));
    assert_eq!(
        client.rows(&query(), soon()).await.unwrap_err(),
        SodaError::Gone { status: 403 }
    );
    assert!(!client.token_refused());
    assert_eq!(host.heads().len(), 2, "with the token, and once without");
    let missing = DatasetId::new("aaaa-0000").unwrap();
    assert_eq!(
        client.metadata(&missing, soon()).await.unwrap_err(),
        SodaError::Gone { status: 404 }
    );
    assert!(host.heads()[2].starts_with("GET /api/views/aaaa-0000.json HTTP"));
    assert!(has_token(&host.heads()[2]));
    let without = SodaClient::new(host.upstream(), None);
    assert!(without.rows(&query(), soon()).await.is_err());
    assert_eq!(host.heads().len(), 4, "nothing to leave at home");
}

#[tokio::test]
async fn an_answer_in_preparation_is_asked_for_again_within_bounds() {
    let host = Host::start(|number, _| match number {
        0 => (202, String::new()),
        _ => (200, ROWS.to_owned()),
    })
    .await;
    let client = SodaClient::new(host.upstream(), None);
    assert_eq!(client.rows(&query(), soon()).await.unwrap().rows.len(), 1);
    let host = Host::start(|_, _| (202, String::new())).await;
    let client = SodaClient::new(host.upstream(), None);
    let deadline = Instant::now() + Duration::from_millis(1400);
    let fault = client.rows(&query(), deadline).await.unwrap_err();
    assert!(matches!(fault, SodaError::Unavailable(_)), "{fault:?}");
    assert!(Instant::now() < deadline, "no wait that cannot end in time");
    assert_eq!(host.heads().len(), 2);
}

#[tokio::test]
async fn trouble_upstream_is_told_apart() {
    for (status, body, tries, expected) in [
        (429, "", 3, Some(SodaError::Throttled)),
        (503, "", 3, None),
        (200, "<html>maintenance</html>", 1, None),
        (
            400,
            r#"{"errorCode":"query.soql.no-such-column","data":{"column":"bin"}}"#,
            1,
            Some(SodaError::NoSuchColumn {
                column: "bin".into(),
            }),
        ),
    ] {
        let host = Host::start(move |_, _| (status, body.to_owned())).await;
        let client = SodaClient::new(host.upstream(), None);
        let fault = client.rows(&query(), soon()).await.unwrap_err();
        match expected {
            Some(expected) => assert_eq!(fault, expected),
            None => assert!(matches!(fault, SodaError::Unavailable(_)), "{fault:?}"),
        }
        assert_eq!(host.heads().len(), tries, "{status}");
    }
}

#[tokio::test]
async fn a_condition_too_long_to_send_is_our_fault() {
    let host = Host::start(|_, _| (200, ROWS.to_owned())).await;
    let client = SodaClient::new(host.upstream(), None);
    let ids = (0..5000).map(|n| format!("{n:016}"));
    let query =
        query().filter(Condition::any_of(Column::new("document_id").unwrap(), ids).unwrap());
    let fault = client.rows(&query, soon()).await.unwrap_err();
    assert!(matches!(fault, SodaError::BadQuery { .. }), "{fault:?}");
    assert!(host.heads().is_empty());
}
