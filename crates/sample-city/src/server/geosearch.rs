//! GeoSearch v2. Its faults are the original's: 0.8 and `fallback` on right and wrong answers alike, and something nearby
//! where nothing fits.

use std::cmp::Reverse;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data, ServiceConfig},
};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use super::faults;
use crate::{
    Control, GEOSEARCH,
    buildings::{Address, Building, addresses, buildings},
    seed,
    street::{HouseNumber, words},
};

const DEFAULT_SIZE: usize = 10;
const MAX_SIZE: usize = 40;
/// A longer text is cut, with a warning.
const MAX_TEXT: usize = 140;
const JSON: &str = "application/json; charset=utf-8";

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .route("/v2/search", web::get().to(search))
        .route("/v2/autocomplete", web::get().to(autocomplete))
        .route("/v2/{rest:.*}", web::route().to(refused))
        .route("/v1/{rest:.*}", web::route().to(retired));
}

async fn refused() -> HttpResponse {
    HttpResponse::Forbidden().finish()
}

async fn retired() -> HttpResponse {
    HttpResponse::Gone()
        .content_type(JSON)
        .body(r#"{"message":"v1 of this service is gone, use v2"}"#)
}

async fn search(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    serve(&request, &control, true).await
}

async fn autocomplete(request: HttpRequest, control: Data<Control>) -> HttpResponse {
    serve(&request, &control, false).await
}

async fn serve(request: &HttpRequest, control: &Control, scored: bool) -> HttpResponse {
    let params = web::Query::<Vec<(String, String)>>::from_query(request.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default();
    let param = |name: &str| {
        (params.iter().find(|(known, _)| known == name)).map(|(_, value)| value.as_str())
    };
    let plan = control.begin(GEOSEARCH, request.query_string());
    let known = control.city().has_records();
    faults::meet(plan, || answer(param("text"), param("size"), known, scored)).await
}

fn answer(text: Option<&str>, size: Option<&str>, known: bool, scored: bool) -> HttpResponse {
    let mut warnings = Vec::new();
    let mut text = text.unwrap_or("").trim().to_owned();
    if text.chars().count() > MAX_TEXT {
        text = text.chars().take(MAX_TEXT).collect();
        warnings.push(format!("param 'text' truncated to {MAX_TEXT} characters"));
    }
    let mut size = size
        .and_then(|size| size.parse().ok())
        .unwrap_or(DEFAULT_SIZE);
    if size > MAX_SIZE {
        size = MAX_SIZE;
        warnings.push(format!("out-of-range integer 'size', using {MAX_SIZE}"));
    }
    let asked = Asked::read(&text);
    let mut geocoding = geocoding(&text, &asked, size);
    if text.is_empty() {
        let errors = json!(["invalid param 'text': text length, must be >0"]);
        geocoding.insert("errors".into(), errors);
        return HttpResponse::BadRequest().content_type(JSON).body(
            json!({ "geocoding": geocoding, "type": "FeatureCollection", "features": [] })
                .to_string(),
        );
    }
    if !warnings.is_empty() {
        geocoding.insert("warnings".into(), json!(warnings));
    }
    let found = if known {
        asked.nearest(size)
    } else {
        Vec::new()
    };
    let features: Vec<Value> = (found.iter())
        .map(|address| feature(address, &asked, scored))
        .collect();
    let mut body = Map::new();
    body.insert("geocoding".into(), geocoding.into());
    body.insert("type".into(), "FeatureCollection".into());
    body.insert("features".into(), features.into());
    if let Some(bounds) = bounds(&found) {
        body.insert("bbox".into(), bounds);
    }
    HttpResponse::Ok()
        .content_type(JSON)
        .insert_header(("access-control-allow-origin", "*"))
        .insert_header(("cache-control", "public,private"))
        .insert_header(("x-powered-by", "pelias"))
        .body(Value::from(body).to_string())
}

/// A typed text, taken apart roughly, as a search engine does.
#[derive(Debug)]
struct Asked {
    subject: String,
    number: Option<HouseNumber>,
    number_text: String,
    street: Vec<String>,
    borough: Option<&'static str>,
    zip: Option<String>,
}

/// A word of a borough's name, and the name.
const BOROUGHS: [(&str, &str); 5] = [
    ("MANHATTAN", "Manhattan"),
    ("BRONX", "Bronx"),
    ("BROOKLYN", "Brooklyn"),
    ("QUEENS", "Queens"),
    ("STATEN", "Staten Island"),
];

impl Asked {
    fn read(text: &str) -> Self {
        let all = words(text);
        let zip = (all.iter().skip(1))
            .find(|word| word.len() == 5 && word.bytes().all(|byte| byte.is_ascii_digit()))
            .cloned();
        let borough = (BOROUGHS.iter())
            .find(|(word, _)| all.iter().any(|typed| typed == word))
            .map(|(_, name)| *name);
        // The street ends where the comma, the borough or the ZIP begins.
        let subject = text.split(',').next().unwrap_or("").trim().to_owned();
        let mut street: Vec<String> = (words(&subject).into_iter())
            .take_while(|word| {
                !BOROUGHS.iter().any(|(borough, _)| borough == word) && Some(word) != zip.as_ref()
            })
            .collect();
        let mut number_text = String::new();
        let first = street.first().and_then(|word| HouseNumber::parse(word));
        if first.is_some() && street.len() > 1 {
            number_text = street.remove(0);
            let suffix = |word: &String| matches!(word.as_str(), "GARAGE" | "REAR" | "FRONT");
            if street.len() > 1 && street.first().is_some_and(suffix) {
                number_text = format!("{number_text} {}", street.remove(0));
            }
        }
        Self {
            number: HouseNumber::parse(&number_text),
            number_text,
            subject,
            street,
            borough,
            zip,
        }
    }

    /// What is most like what was asked, however little that is.
    fn nearest(&self, size: usize) -> Vec<&'static Address> {
        let mut scored: Vec<(Reverse<u32>, u64, &'static Address)> = (addresses().iter())
            // The importer drops walls, frontages and buildings without an address.
            .filter(|address| !matches!(address.kind.as_str(), "W" | "F" | "B"))
            .map(|address| {
                let place = format!("{} {}", address.low, address.street);
                let tie = seed::hash(&[b"geosearch", place.as_bytes(), address.bin.as_bytes()]);
                (Reverse(self.score(address)), tie, address)
            })
            .filter(|(score, ..)| score.0 > 0)
            .collect();
        scored.sort_by_key(|(score, tie, _)| (*score, *tie));
        scored
            .into_iter()
            .take(size)
            .map(|(.., address)| address)
            .collect()
    }

    fn score(&self, address: &Address) -> u32 {
        let street = words(&address.street);
        let shared = self
            .street
            .iter()
            .filter(|word| street.contains(word))
            .count() as u32;
        let whole = u32::from(street == self.street);
        if shared == 0 && self.number.is_none() {
            return 0;
        }
        let numbers = (HouseNumber::parse(&address.low)).zip(HouseNumber::parse(&address.high));
        let number = match (&self.number, &numbers) {
            (Some(asked), Some((low, high))) if asked.is_between(low, high) => 60,
            // The same number under another suffix.
            (Some(asked), Some((low, _))) if (asked.left, asked.right) == (low.left, low.right) => {
                40
            }
            _ => 0,
        };
        let borough = self.borough == Some(address.bbl.borough().name());
        let zip = self.zip.as_ref() == Some(&address.zip);
        number + 15 * shared + 40 * whole + 20 * u32::from(borough) + 10 * u32::from(zip)
    }
}

fn geocoding(text: &str, asked: &Asked, size: usize) -> Map<String, Value> {
    let mut parsed = Map::new();
    parsed.insert("subject".into(), asked.subject.to_lowercase().into());
    if !asked.number_text.is_empty() {
        parsed.insert(
            "housenumber".into(),
            asked.number_text.to_lowercase().into(),
        );
    }
    if !asked.street.is_empty() {
        parsed.insert(
            "street".into(),
            asked.street.join(" ").to_lowercase().into(),
        );
    }
    if let Some(borough) = asked.borough {
        parsed.insert("locality".into(), borough.to_lowercase().into());
        parsed.insert("admin".into(), borough.to_lowercase().into());
    }
    let value = json!({
        "version": "0.2",
        "attribution": "http://geosearch.planninglabs.nyc/attribution",
        "query": {
            "text": text,
            "size": size,
            "private": false,
            "lang": { "name": "English", "iso6391": "en", "iso6393": "eng", "via": "default", "defaulted": true },
            "querySize": size.max(20),
            "parser": "pelias",
            "parsed_text": parsed,
        },
        "engine": { "name": "Pelias", "author": "Mapzen", "version": "1.0" },
        "timestamp": OffsetDateTime::now_utc().unix_timestamp() * 1_000,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn building_of(address: &Address) -> Option<&'static Building> {
    (buildings().iter())
        .find(|building| {
            building
                .bin
                .is_some_and(|bin| bin.to_string() == address.bin)
        })
        .or_else(|| {
            buildings()
                .iter()
                .find(|building| building.bbl == address.bbl)
        })
}

fn coordinates(address: &Address) -> Option<(f64, f64)> {
    let building = building_of(address)?;
    Some((
        building.longitude.parse().ok()?,
        building.latitude.parse().ok()?,
    ))
}

fn feature(address: &Address, asked: &Asked, scored: bool) -> Value {
    // County, its letters, its id, and the borough's.
    const COUNTIES: [(&str, &str, u32, u32); 5] = [
        ("New York County", "NE", 102_081_863, 421_205_771),
        ("Bronx County", "BX", 102_081_835, 421_205_773),
        ("Kings County", "BK", 102_082_361, 421_205_765),
        ("Queens County", "QN", 102_082_377, 421_205_767),
        ("Richmond County", "RC", 102_085_415, 421_205_775),
    ];
    let borough = address.bbl.borough();
    let (county, letters, county_id, borough_id) = COUNTIES
        .get(usize::from(borough.digit()) - 1)
        .copied()
        .unwrap_or(COUNTIES[0]);
    let inside = (HouseNumber::parse(&address.low).zip(HouseNumber::parse(&address.high)))
        .zip(asked.number.as_ref())
        .is_some_and(|((low, high), number)| number.is_between(&low, &high));
    let number = if inside {
        &asked.number_text
    } else {
        &address.low
    };
    let name = format!("{number} {}", address.street).trim().to_owned();
    let city = match borough.name() {
        "Manhattan" => "New York",
        name => name,
    };
    let id = seed::hash(&[name.as_bytes(), address.bin.as_bytes()]) % 9_000_000 + 1_000_000;
    let (lon, lat) = coordinates(address).unwrap_or_default();
    let mut properties = Map::new();
    let mut put = |name: &str, value: Value| properties.insert(name.to_owned(), value);
    put("id", id.to_string().into());
    put("gid", format!("nycpad:venue:{id}").into());
    put("layer", "venue".into());
    put("source", "nycpad".into());
    put("source_id", id.to_string().into());
    put("country_code", "US".into());
    put("name", name.clone().into());
    if !number.is_empty() {
        put("housenumber", number.clone().into());
    }
    put("street", address.street.clone().into());
    if !address.zip.is_empty() {
        put("postalcode", address.zip.clone().into());
    }
    if scored {
        put("confidence", json!(0.8));
        put("match_type", "fallback".into());
    }
    put("accuracy", "point".into());
    put("country", "United States".into());
    put("country_gid", "whosonfirst:country:85633793".into());
    put("country_a", "USA".into());
    put("region", "New York".into());
    put("region_gid", "whosonfirst:region:85688543".into());
    put("region_a", "NY".into());
    put("county", county.into());
    put(
        "county_gid",
        format!("whosonfirst:county:{county_id}").into(),
    );
    put("county_a", letters.into());
    put("locality", "New York".into());
    put("locality_gid", "whosonfirst:locality:85977539".into());
    put("locality_a", "NYC".into());
    put("borough", borough.name().into());
    put(
        "borough_gid",
        format!("whosonfirst:borough:{borough_id}").into(),
    );
    if let Some(building) = building_of(address) {
        put("neighbourhood", building.neighborhood.clone().into());
    }
    put("label", format!("{name}, {city}, NY, USA").into());
    let pad = json!({ "bbl": address.bbl.to_string(), "bin": address.bin, "version": "26c" });
    put("addendum", json!({ "pad": pad }));
    json!({
        "type": "Feature",
        "geometry": { "type": "Point", "coordinates": [lon, lat] },
        "properties": properties,
    })
}

/// West, south, east, north.
fn bounds(found: &[&Address]) -> Option<Value> {
    let places: Vec<(f64, f64)> = found
        .iter()
        .filter_map(|address| coordinates(address))
        .collect();
    let (first, rest) = places.split_first()?;
    let (mut west, mut south, mut east, mut north) = (first.0, first.1, first.0, first.1);
    for (lon, lat) in rest {
        west = west.min(*lon);
        east = east.max(*lon);
        south = south.min(*lat);
        north = north.max(*lat);
    }
    Some(json!([west, south, east, north]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> String {
        let found = Asked::read(text).nearest(3);
        let address = found.first().expect("an answer");
        format!("{} {} {}", address.low, address.street, address.bin)
    }

    #[test]
    fn what_is_there_comes_first() {
        for (text, answer) in [
            ("1279 37 street brooklyn", "1279 37 STREET 3340270"),
            (
                "1279 garage 37 street brooklyn",
                "1279 GARAGE 37 STREET 3123204",
            ),
            ("3622 13 avenue brooklyn", "3622 13 AVENUE 3340270"),
            ("350 Fifth Ave, New York, NY 10118", "350 5 AVENUE 1015862"),
            (
                "333 W 100th St, New York, NY 10025",
                "327 WEST 100 STREET 1057127",
            ),
            ("43-06 46th Street, Queens 11104", "43-06 46 STREET 4001899"),
            ("Empire State Building", " EMPIRE STATE BUILDING 1015862"),
        ] {
            assert_eq!(first(text), answer, "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_answered_too() {
        assert_ne!(first("99999 37 street brooklyn"), "");
        assert!(first("99999 37 street brooklyn").contains("37 STREET"));
        assert!(first("1279 zzqqxx street brooklyn").starts_with("1279"));
        assert!(
            !Asked::read("1 Capitol Square, Columbus, OH 43215")
                .nearest(1)
                .is_empty()
        );
    }

    #[test]
    fn an_ambiguous_text_has_several_answers() {
        let found = Asked::read("1279 37 street").nearest(3);
        let bins: std::collections::HashSet<_> = found.iter().map(|found| &found.bin).collect();
        assert!(bins.len() > 1, "{found:?}");
    }
}
