//! `/_control/listings/...`: homes come, go and change their price, over HTTP.

use actix_web::{
    HttpResponse,
    web::{self, Data, Json, Path, Query, ServiceConfig},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{Control, ListingError};

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .route("/_control/listings", web::get().to(all))
        .route("/_control/listings", web::put().to(replace))
        .route("/_control/listings", web::delete().to(reset))
        .route("/_control/listings/clock", web::get().to(clock))
        .route("/_control/listings/clock", web::put().to(set_clock))
        .route("/_control/listings/tokens", web::delete().to(expire))
        .route("/_control/listings/{key}", web::put().to(put))
        .route("/_control/listings/{key}", web::patch().to(change))
        .route("/_control/listings/{key}", web::delete().to(remove));
}

fn done(result: Result<(), ListingError>) -> HttpResponse {
    match result {
        Ok(()) => HttpResponse::NoContent().finish(),
        Err(error) => {
            let body = json!({ "message": error.to_string() });
            match error {
                ListingError::Unknown(_) => HttpResponse::NotFound().json(body),
                ListingError::Keyless => HttpResponse::BadRequest().json(body),
            }
        }
    }
}

async fn all(control: Data<Control>) -> HttpResponse {
    HttpResponse::Ok().json(control.listings().all())
}

async fn replace(rows: Json<Vec<Map<String, Value>>>, control: Data<Control>) -> HttpResponse {
    done(control.listings().replace(rows.into_inner()))
}

async fn reset(control: Data<Control>) -> HttpResponse {
    control.listings().reset();
    done(Ok(()))
}

async fn clock(control: Data<Control>) -> HttpResponse {
    let now = control
        .listings()
        .now()
        .format(&Rfc3339)
        .unwrap_or_default();
    HttpResponse::Ok().json(json!({ "now": now }))
}

/// `{"now": "2026-12-01T06:00:00Z"}`, or `{"advance_seconds": 86400}`.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Clock {
    Now {
        #[serde(with = "time::serde::rfc3339")]
        now: OffsetDateTime,
    },
    Advance {
        advance_seconds: i64,
    },
}

async fn set_clock(clock: Json<Clock>, control: Data<Control>) -> HttpResponse {
    match clock.into_inner() {
        Clock::Now { now } => control.listings().set_now(now),
        Clock::Advance { advance_seconds } => {
            control
                .listings()
                .advance(Duration::seconds(advance_seconds));
        }
    }
    done(Ok(()))
}

async fn expire(control: Data<Control>) -> HttpResponse {
    control.expire_reso_tokens();
    done(Ok(()))
}

/// `?like=SMP100001`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Like {
    like: Option<String>,
}

async fn put(
    key: Path<String>,
    like: Query<Like>,
    fields: Json<Map<String, Value>>,
    control: Data<Control>,
) -> HttpResponse {
    done(
        control
            .listings()
            .put(&key, fields.into_inner(), like.like.as_deref()),
    )
}

async fn change(
    key: Path<String>,
    fields: Json<Map<String, Value>>,
    control: Data<Control>,
) -> HttpResponse {
    done(control.listings().change(&key, fields.into_inner()))
}

async fn remove(key: Path<String>, control: Data<Control>) -> HttpResponse {
    if control.listings().remove(&key) {
        done(Ok(()))
    } else {
        done(Err(ListingError::Unknown(key.into_inner())))
    }
}
