//! Listings in the manner of RentCast: `/rentcast/v1/listings/sale` and `/rentcast/v1/listings/rental/long-term`.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{self, Data, ServiceConfig},
};
use serde_json::{Value, json};

use super::faults;
use crate::{
    Control, Fault, FaultKind, RENTCAST,
    listings::{Offer, rentcast_records},
    odata::Entity,
};

/// The key that is valid, in the header `X-Api-Key`.
pub const KEY: &str = "sample-rentcast-key";

pub(super) const ROOT: &str = "/rentcast/v1";
const DEFAULT_LIMIT: usize = 50;
const LARGEST_LIMIT: usize = 500;
/// Miles.
const LARGEST_RADIUS: f64 = 100.0;

pub(super) fn routes(config: &mut ServiceConfig) {
    config.route("/rentcast/v1/{path:.*}", web::route().to(serve));
}

async fn serve(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    let params = web::Query::<Vec<(String, String)>>::from_query(request.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default();
    let pairs: Vec<String> = (params.iter())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let plan = control.begin(RENTCAST, &format!("{}?{}", request.path(), pairs.join("&")));
    let key = request.headers().get("x-api-key");
    if key.is_none_or(|key| key.as_bytes() != KEY.as_bytes()) {
        let text = "The API key is missing or not valid.";
        return refuse(StatusCode::UNAUTHORIZED, "auth/api-key-invalid", text);
    }
    if request.method() != actix_web::http::Method::GET {
        let text = "Only GET is supported.";
        return refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "request/method-not-allowed",
            text,
        );
    }
    if let Some(fault) = plan.fault
        && let Some(answer) = own_shape(fault)
    {
        tokio::time::sleep(plan.latency).await;
        return answer;
    }
    faults::meet(plan, || {
        let path = request.match_info().get("path").unwrap_or("");
        answer(path.trim_end_matches('/'), &params, &control)
    })
    .await
}

/// Faults that this service reports in its own shape.
fn own_shape(fault: Fault) -> Option<HttpResponse> {
    match fault.kind {
        FaultKind::Error => {
            let status = StatusCode::from_u16(fault.status.unwrap_or(500)).ok()?;
            Some(refuse(
                status,
                "server/error",
                "The request could not be processed.",
            ))
        }
        FaultKind::Throttle => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let mut answer = refuse(status, "request/rate-limit", "Too many requests.");
            if let Some(seconds) = fault.retry_after {
                answer
                    .headers_mut()
                    .insert(header::RETRY_AFTER, seconds.into());
            }
            Some(answer)
        }
        _ => None,
    }
}

fn refuse(status: StatusCode, error: &str, message: &str) -> HttpResponse {
    HttpResponse::build(status)
        .json(json!({ "status": status.as_u16(), "error": error, "message": message }))
}

fn nothing() -> HttpResponse {
    let text = "No data found matching the query.";
    refuse(StatusCode::NOT_FOUND, "resource/not-found", text)
}

fn answer(path: &str, params: &[(String, String)], control: &Control) -> HttpResponse {
    const HALVES: [(&str, Offer); 2] = [
        ("listings/sale", Offer::Sale),
        ("listings/rental/long-term", Offer::Rental),
    ];
    let half = (HALVES.into_iter()).find_map(|(half, offer)| {
        let rest = path.strip_prefix(half)?;
        match rest.strip_prefix('/') {
            Some(id) => Some((offer, Some(id))),
            None => rest.is_empty().then_some((offer, None)),
        }
    });
    let Some((offer, id)) = half else {
        return nothing();
    };
    let listings = control.listings();
    let mut entities = listings.entities();
    // Records are made of one home's listings: those of other ZIPs need not be made to be left out.
    let zips = params.iter().filter(|(name, _)| name == "zipCode");
    for (_, zip) in zips.filter(|(_, zip)| zip.len() == 5) {
        entities.retain(|entity| text(entity, "PostalCode") == zip);
    }
    let records = rentcast_records(offer, &entities, listings.now());
    if let Some(id) = id {
        let found = records.into_iter().find(|record| text(record, "id") == id);
        return found.map_or_else(nothing, |record| HttpResponse::Ok().json(record));
    }
    match search(records, params) {
        Ok(answer) => answer,
        Err(name) => {
            let text = format!("The value of {name} is not valid.");
            refuse(StatusCode::BAD_REQUEST, "request/invalid-parameters", &text)
        }
    }
}

fn text<'a>(record: &'a Entity, field: &str) -> &'a str {
    record.get(field).and_then(Value::as_str).unwrap_or("")
}

fn value(record: &Entity, field: &str) -> Option<f64> {
    record.get(field).and_then(Value::as_f64)
}

/// A page of what fits; on refusal the parameter at fault.
fn search(mut records: Vec<Entity>, params: &[(String, String)]) -> Result<HttpResponse, String> {
    let (mut limit, mut offset, mut total) = (DEFAULT_LIMIT, 0_usize, false);
    let mut centre: [Option<f64>; 3] = [None; 3];
    for (name, wanted) in params {
        let bad = || name.clone();
        match name.as_str() {
            "limit" => {
                limit = wanted.parse().map_err(|_| bad())?;
                if !(1..=LARGEST_LIMIT).contains(&limit) {
                    return Err(bad());
                }
            }
            "offset" => offset = wanted.parse().map_err(|_| bad())?,
            "includeTotalCount" => total = wanted.parse().map_err(|_| bad())?,
            "address" => records.retain(|record| text(record, "formattedAddress") == wanted),
            "status" => {
                if !matches!(wanted.as_str(), "Active" | "Inactive") {
                    return Err(bad());
                }
                records.retain(|record| text(record, "status") == wanted);
            }
            // Several values stand apart by a bar.
            "zipCode" | "city" | "state" | "propertyType" => {
                records.retain(|record| wanted.split('|').any(|one| one == text(record, name)));
            }
            "bedrooms" | "bathrooms" | "squareFootage" | "lotSize" | "yearBuilt" | "price" => {
                let ranges = ranges(wanted).ok_or_else(bad)?;
                records.retain(|record| fits(value(record, name), &ranges));
            }
            "daysOld" => {
                let ranges = ranges(wanted).ok_or_else(bad)?;
                records.retain(|record| fits(value(record, "daysOnMarket"), &ranges));
            }
            "latitude" | "longitude" | "radius" => {
                let at = ["latitude", "longitude", "radius"]
                    .iter()
                    .position(|known| known == name);
                let number = wanted.parse().map_err(|_| bad())?;
                if let Some(slot) = at.and_then(|at| centre.get_mut(at)) {
                    *slot = Some(number);
                }
            }
            // The service itself may well ignore what it does not know; here a slip must show.
            _ => return Err(bad()),
        }
    }
    match centre {
        [None, None, None] => {}
        [Some(latitude), Some(longitude), Some(radius)]
            if (0.0..=LARGEST_RADIUS).contains(&radius) =>
        {
            records.retain(|record| {
                let here = value(record, "latitude").zip(value(record, "longitude"));
                here.is_some_and(|here| miles((latitude, longitude), here) <= radius)
            });
        }
        _ => return Err("radius".to_owned()),
    }
    let found = records.len();
    if found == 0 {
        return Ok(nothing());
    }
    let page: Vec<Entity> = records.into_iter().skip(offset).take(limit).collect();
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header(("x-limit", limit))
        .insert_header(("x-offset", offset));
    if total {
        answer.insert_header(("x-total-count", found));
    }
    Ok(answer.json(page))
}

/// `2`, `1|3`, `2:4`, `2:*`.
fn ranges(text: &str) -> Option<Vec<(f64, f64)>> {
    let bound = |text: &str, open: f64| match text {
        "*" => Some(open),
        text => text.parse::<f64>().ok().filter(|number| number.is_finite()),
    };
    (text.split('|'))
        .map(|part| match part.split_once(':') {
            Some((low, high)) => {
                Some((bound(low, f64::NEG_INFINITY)?, bound(high, f64::INFINITY)?))
            }
            None => {
                let number = bound(part, f64::NAN).filter(|number| !number.is_nan())?;
                Some((number, number))
            }
        })
        .collect()
}

fn fits(value: Option<f64>, ranges: &[(f64, f64)]) -> bool {
    value.is_some_and(|value| {
        ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&value))
    })
}

/// The distance of two places, near enough at the size of a city.
fn miles(from: (f64, f64), to: (f64, f64)) -> f64 {
    const MILES_A_DEGREE: f64 = 69.05;
    let north = (to.0 - from.0) * MILES_A_DEGREE;
    let east = (to.1 - from.1) * MILES_A_DEGREE * from.0.to_radians().cos();
    north.hypot(east)
}
