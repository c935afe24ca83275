//! Answers gone wrong.

use std::{io, time::Duration};

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::{Fault, FaultKind, control::Plan};

const JSON: &str = "application/json;charset=utf-8";
/// Between two bytes of a drip: well below what any client takes for silence.
const DRIP: Duration = Duration::from_millis(100);
/// Before a connection is cut.
const PAUSE: Duration = Duration::from_millis(20);
const HUGE_CHUNK: usize = 64 << 10;
const HUGE_CHUNKS: usize = (1 << 30) / HUGE_CHUNK;

/// What stands in the way of the answer, if anything does. The right answer is made only where it is needed.
pub(super) async fn meet(plan: Plan, right: impl FnOnce() -> HttpResponse) -> HttpResponse {
    if !plan.latency.is_zero() {
        tokio::time::sleep(plan.latency).await;
    }
    let Some(fault) = plan.fault else {
        return right();
    };
    tracing::debug!(?fault, "a fault answers");
    match fault.kind {
        FaultKind::Timeout => std::future::pending().await,
        FaultKind::CutBody => cut(right()).await,
        FaultKind::ShortPage => short(right()).await,
        _ => wrong(fault),
    }
}

/// The first half of the rows: of an array, or of the `value` of an OData page, which then has no next one.
async fn short(right: HttpResponse) -> HttpResponse {
    let (head, body) = right.into_parts();
    let whole = actix_web::body::to_bytes(body).await.unwrap_or_default();
    let mut json: Value = serde_json::from_slice(&whole).unwrap_or_default();
    let rows = match &mut json {
        Value::Object(page) => {
            page.remove("@odata.nextLink");
            page.get_mut("value")
        }
        array => Some(array),
    };
    if let Some(Value::Array(rows)) = rows {
        rows.truncate(rows.len() / 2);
    }
    head.set_body(json.to_string()).map_into_boxed_body()
}

fn wrong(fault: Fault) -> HttpResponse {
    let status = |status: u16| StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    match fault.kind {
        FaultKind::Throttle => {
            let mut answer = HttpResponse::TooManyRequests();
            if let Some(seconds) = fault.retry_after {
                answer.insert_header((header::RETRY_AFTER, seconds));
            }
            answer.content_type(JSON).body("")
        }
        FaultKind::WrongJson => HttpResponse::Ok()
            .content_type(JSON)
            .body(r#"{"rows": "none of what was asked"}"#),
        FaultKind::Html => HttpResponse::Ok()
            .content_type("text/html")
            .body("<html><body><h1>Scheduled maintenance</h1></body></html>"),
        FaultKind::Disconnect => {
            let end = stream::once(async { Err::<Bytes, _>(io::Error::other("disconnected")) });
            HttpResponse::Ok().streaming(end)
        }
        FaultKind::Gone => missing("gone"),
        FaultKind::Preparing => HttpResponse::Accepted().content_type(JSON).body("{}"),
        FaultKind::SlowDrip => {
            let drip = stream::unfold((), |()| async {
                tokio::time::sleep(DRIP).await;
                Some((Ok::<_, io::Error>(Bytes::from_static(b" ")), ()))
            });
            let first = stream::once(async { Ok(Bytes::from_static(b"[")) });
            HttpResponse::Ok()
                .content_type(JSON)
                .streaming(first.chain(drip))
        }
        FaultKind::HugeBody | FaultKind::GzipBomb => {
            let chunk = Bytes::from(vec![b' '; HUGE_CHUNK]);
            let chunks =
                stream::iter((0..HUGE_CHUNKS).map(move |_| Ok::<_, io::Error>(chunk.clone())));
            let first = stream::once(async { Ok(Bytes::from_static(b"[")) });
            HttpResponse::Ok()
                .content_type(JSON)
                .streaming(first.chain(chunks))
        }
        FaultKind::Error | FaultKind::Timeout | FaultKind::CutBody | FaultKind::ShortPage => HttpResponse::build(status(
            fault.status.unwrap_or(500),
        ))
        .content_type(JSON)
        .body(
            json!({ "message": "Internal error", "errorCode": "internal-error", "data": {} })
                .to_string(),
        ),
    }
}

/// The first half of an answer, and then the end of the connection.
async fn cut(right: HttpResponse) -> HttpResponse {
    let (head, body) = right.into_parts();
    let whole = actix_web::body::to_bytes(body).await.unwrap_or_default();
    let half = whole.slice(..whole.len() / 2);
    // The pause lets what is written leave before the connection ends.
    let end = stream::once(async { Ok(half) }).chain(stream::once(async {
        tokio::time::sleep(PAUSE).await;
        Err(io::Error::other("cut"))
    }));
    let mut answer = HttpResponse::build(head.status());
    for (name, value) in head.headers() {
        if name != header::CONTENT_LENGTH {
            answer.append_header((name, value));
        }
    }
    answer.streaming(end)
}

/// 404 in the documented shape.
pub(super) fn missing(id: &str) -> HttpResponse {
    HttpResponse::NotFound().content_type(JSON).body(
        json!({ "code": "dataset.missing", "error": true, "message": "Not found", "data": { "id": id } })
            .to_string(),
    )
}
