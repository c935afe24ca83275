//! The federal flood zone at the building, from the National Flood Hazard Layer.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use brownstone_domain::{FieldValue, MatchedBy, Record, SourceData, SourceEntry};
use brownstone_soda::SodaError;
use brownstone_upstream::{Request, Upstream};
use indexmap::IndexMap;
use moka::future::Cache;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use crate::{
    Directory, FieldInfo, FieldKind, LotKind, Source, SourceInfo, Subject,
    generic::{Failure, entry_of},
    shape::value_of,
    summary::raw_text,
};

const KEY: &str = "us_flood_zones";

/// Columns of the layer, and what each holds.
const COLUMNS: [(&str, FieldKind); 6] = [
    ("FLD_ZONE", FieldKind::Text),
    ("ZONE_SUBTY", FieldKind::Text),
    ("SFHA_TF", FieldKind::Text),
    ("STATIC_BFE", FieldKind::Number),
    ("DFIRM_ID", FieldKind::Text),
    ("SOURCE_CIT", FieldKind::Text),
];

/// What stands where a zone has no base flood elevation.
const NO_ELEVATION: f64 = -9999.0;

/// Flood zones by point. The layer takes some ten seconds to answer and changes once in years: answers are kept a day.
pub struct FloodZones {
    upstream: Upstream,
    directory: Directory,
    zones: Cache<String, Arc<Vec<Zone>>>,
    info: SourceInfo,
}

type Zone = IndexMap<String, Box<RawValue>>;

#[derive(Deserialize)]
struct Answer {
    features: Option<Vec<Feature>>,
    // This service refuses with status 200 and an error of its own.
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Feature {
    attributes: Zone,
}

impl std::fmt::Debug for FloodZones {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FloodZones").finish_non_exhaustive()
    }
}

impl FloodZones {
    /// The source over the layer's host; `directory` gives the coordinates where a subject has none.
    pub fn new(upstream: Upstream, directory: Directory) -> Self {
        let field = |name: &str, kind, tells: &str| FieldInfo {
            name: name.to_owned(),
            kind,
            tells: tells.to_owned(),
        };
        Self {
            upstream,
            directory,
            zones: Cache::builder()
                .max_capacity(10_000)
                .time_to_live(Duration::from_secs(24 * 60 * 60))
                .build(),
            info: SourceInfo {
                key: KEY.to_owned(),
                title: "Federal flood zone".to_owned(),
                tells: "The zone of the effective federal flood map the building stands in, and its base flood elevation.".to_owned(),
                publisher: "Federal Emergency Management Agency (FEMA)".to_owned(),
                datasets: vec!["NFHL layer 28".to_owned()],
                url: "https://msc.fema.gov/portal/home".to_owned(),
                matched_by: vec![MatchedBy::Address],
                lot: LotKind::Billing,
                cadence_days: None,
                fields: COLUMNS
                    .iter()
                    .map(|(name, kind)| field(name, *kind, ""))
                    .collect(),
                summary: vec![
                    field("flood_zone", FieldKind::Text, "Zone at the building: A and V zones flood with a chance of 1% a year."),
                    field("special_flood_hazard_area", FieldKind::Checkbox, "Whether a mortgage there needs flood insurance."),
                    field("base_flood_elevation_feet", FieldKind::Number, "Height the flood of 1% a year reaches; null where the map gives none."),
                ],
                traps: vec![
                    "The effective map of the city dates from 2007; the preliminary one of 2015 is a flag of PLUTO.".to_owned(),
                    "STATIC_BFE is -9999 where there is no elevation.".to_owned(),
                    "A refusal comes with status 200 and an error in the body.".to_owned(),
                ],
                slow: true,
            },
        }
    }

    async fn zones(
        &self,
        (latitude, longitude): (f64, f64),
        deadline: Instant,
    ) -> Result<Arc<Vec<Zone>>, SodaError> {
        let point = format!("{longitude:.6},{latitude:.6}");
        let load = async {
            let path = "arcgis/rest/services/public/NFHL/MapServer/28/query";
            let columns: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
            let request = Request::get(path.split('/'))
                .query("f", "json")
                .query("geometry", point.as_str())
                .query("geometryType", "esriGeometryPoint")
                .query("inSR", "4326")
                .query("spatialRel", "esriSpatialRelIntersects")
                .query("outFields", columns.join(","))
                .query("returnGeometry", "false")
                .breaker(KEY);
            let response = self
                .upstream
                .get(request, deadline)
                .await
                .map_err(|error| SodaError::Unavailable(error.to_string()))?;
            if !response.is_success() {
                return Err(SodaError::Gone {
                    status: response.status,
                });
            }
            zones_in(&response.body).map(Arc::new)
        };
        self.zones
            .try_get_with(point.clone(), load)
            .await
            .map_err(|error| SodaError::clone(&error))
    }

    async fn data(
        &self,
        subject: &Subject,
        deadline: Instant,
    ) -> Result<Option<SourceData>, Failure> {
        let Some(place) = self.directory.place(subject, deadline).await? else {
            return Ok(None);
        };
        let zones = self.zones(place, deadline).await?;
        let Some(zone) = zones.first() else {
            return Ok(None);
        };
        let text = |column: &str| zone.get(column).and_then(|raw| raw_text(raw));
        let elevation = zone
            .get("STATIC_BFE")
            .filter(|_| text("STATIC_BFE").is_some_and(|feet| feet.parse() != Ok(NO_ELEVATION)));
        // Anything but T and F is nothing we know how to read.
        let hazard = match text("SFHA_TF").as_deref() {
            Some("T") => Some(true),
            Some("F") => Some(false),
            _ => None,
        };
        let records = zones.iter().map(record).collect::<Vec<_>>();
        let mut data = SourceData {
            record_count: records.len() as u64,
            records,
            records_truncated: false,
            matched_by: MatchedBy::Address,
            source_url: self.info.url.clone(),
            source_updated_at: None,
            stale: None,
            summary: vec![("flood_zone".to_owned(), to_raw_value(&text("FLD_ZONE"))?)],
        };
        data.summarise("special_flood_hazard_area", &hazard)?;
        data.summarise("base_flood_elevation_feet", &elevation)?;
        Ok(Some(data))
    }
}

/// The zones of an answer. A refusal comes with status 200.
fn zones_in(body: &[u8]) -> Result<Vec<Zone>, SodaError> {
    let unavailable = |why: &str| SodaError::Unavailable(why.to_owned());
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|_| unavailable("the answer is no answer of the layer"))?;
    match answer {
        Answer {
            features: Some(features),
            error: None,
        } => Ok(features
            .into_iter()
            .map(|feature| feature.attributes)
            .collect()),
        _ => Err(unavailable("the layer refused")),
    }
}

fn record(zone: &Zone) -> Record {
    let mut record = Record::default();
    for (name, kind) in COLUMNS {
        let value = zone
            .get(name)
            .map_or(FieldValue::Null, |raw| value_of(raw.clone(), kind));
        record.push(name, value);
    }
    record
}

#[async_trait]
impl Source for FloodZones {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        entry_of(KEY, self.data(subject, deadline).await)
    }
}

#[cfg(test)]
mod tests {
    use super::zones_in;

    #[test]
    fn a_refusal_with_status_200_is_no_empty_answer() {
        let refused =
            br#"{"error":{"code":400,"message":"Unable to complete operation.","details":[]}}"#;
        assert!(zones_in(refused).is_err());
        assert!(zones_in(b"{}").is_err());
        assert!(zones_in(b"<html>").is_err());
        assert!(zones_in(br#"{"features":[]}"#).unwrap().is_empty());
        let one = br#"{"features":[{"attributes":{"FLD_ZONE":"AE","STATIC_BFE":11.0}}]}"#;
        assert_eq!(zones_in(one).unwrap().len(), 1);
    }
}
