//! The federal flood layer: a point to its flood zone, in the manner of ArcGIS REST.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data, ServiceConfig},
};
use serde_json::{Value, json};

use super::faults;
use crate::{
    Control, FLOOD,
    buildings::{Building, buildings},
};

pub(super) const PATH: &str = "/arcgis/rest/services/public/NFHL/MapServer/28/query";
/// How near a point must be to a building, in degrees, to be at it.
const NEAR: f64 = 0.0015;
/// ZIP codes by the water.
const BY_THE_WATER: [&str; 6] = ["11691", "11692", "11693", "11694", "11414", "10305"];

pub(super) fn routes(config: &mut ServiceConfig) {
    config.route(PATH, web::get().to(zone));
}

async fn zone(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    let params = web::Query::<Vec<(String, String)>>::from_query(request.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default();
    let geometry = (params.iter().find(|(name, _)| name == "geometry")).map(|(_, value)| value);
    let plan = control.begin(FLOOD, request.query_string());
    let known = control.city().has_records();
    faults::meet(plan, || {
        // This service refuses with 200 and an `error` of its own.
        let body = match geometry.and_then(|geometry| point(geometry)) {
            Some(point) => json!({ "features": features(point, known) }),
            None => json!({ "error": { "code": 400, "message": "Unable to complete operation.", "details": [] } }),
        };
        HttpResponse::Ok()
            .content_type("application/json;charset=utf-8")
            .body(body.to_string())
    })
    .await
}

/// `lon,lat`, or the JSON of a point.
fn point(text: &str) -> Option<(f64, f64)> {
    if let Ok(json) = serde_json::from_str::<Value>(text) {
        return Some((json.get("x")?.as_f64()?, json.get("y")?.as_f64()?));
    }
    let (lon, lat) = text.split_once(',')?;
    Some((lon.trim().parse().ok()?, lat.trim().parse().ok()?))
}

fn features((lon, lat): (f64, f64), known: bool) -> Vec<Value> {
    let at = |building: &&Building| {
        let degrees = |text: &str, to: f64| {
            text.parse::<f64>()
                .is_ok_and(|from| (from - to).abs() < NEAR)
        };
        degrees(&building.longitude, lon) && degrees(&building.latitude, lat)
    };
    let Some(building) = buildings().iter().find(at).filter(|_| known) else {
        return Vec::new();
    };
    let wet = BY_THE_WATER.contains(&building.zip.as_str());
    let (zone, subtype, special, elevation) = if wet {
        ("AE", Value::Null, "T", 11.0)
    } else {
        ("X", "AREA OF MINIMAL FLOOD HAZARD".into(), "F", -9999.0)
    };
    vec![json!({ "attributes": {
        "FLD_ZONE": zone,
        "ZONE_SUBTY": subtype,
        "SFHA_TF": special,
        "STATIC_BFE": elevation,
        "DFIRM_ID": "360497",
        "SOURCE_CIT": "360497_STUDY1",
    } })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_building_by_the_water_is_in_a_flood_zone() {
        let zone = |lon: f64, lat: f64| {
            features((lon, lat), true)
                .first()
                .map(|found| found["attributes"]["FLD_ZONE"].clone())
        };
        assert_eq!(
            zone(-74.07545, 40.60146),
            Some("AE".into()),
            "335 Garretson Avenue"
        );
        assert_eq!(zone(-73.98566, 40.74844), Some("X".into()), "350 5 Avenue");
        assert_eq!(zone(0.0, 0.0), None);
    }

    #[test]
    fn a_point_comes_in_two_forms() {
        assert_eq!(point("-73.98566,40.74844"), Some((-73.98566, 40.74844)));
        assert_eq!(
            point(r#"{"x": -73.98566, "y": 40.74844}"#),
            Some((-73.98566, 40.74844))
        );
        assert_eq!(point("here"), None);
    }
}
