//! The nearest subway entrances. The table is small and changes once a year: it is fetched whole once a day and searched
//! here.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use brownstone_domain::{FieldValue, MatchedBy, Record, SourceData, SourceEntry};
use brownstone_soda::{Query, SodaError};
use moka::future::Cache;
use serde_json::value::to_raw_value;
use tokio::time::Instant;

use crate::{
    FieldInfo, FieldKind, Source, SourceInfo, Subject,
    catalogue::Entry,
    deps::Shared,
    generic::{CAP, Failure, Gathered, entry_of, every, source_data},
};

/// Entrances of the whole system at most.
const MOST: usize = 20_000;
/// What is near: a mile, in metres.
const NEAR_METERS: f64 = 1_609.0;
const EARTH_RADIUS_METERS: f64 = 6_371_000.0;

struct Entrance {
    latitude: f64,
    longitude: f64,
    record: Record,
}

/// The source of subway entrances.
pub(crate) struct Subway {
    entry: Entry,
    shared: Arc<Shared>,
    entrances: Cache<(), Arc<[Entrance]>>,
    info: SourceInfo,
}

impl Subway {
    /// The source of `entry`.
    pub(crate) fn new(entry: Entry, shared: Arc<Shared>) -> Self {
        let mut info = entry.info.clone();
        info.matched_by = vec![MatchedBy::Address];
        info.fields.push(FieldInfo {
            name: "distance_meters".to_owned(),
            kind: FieldKind::Figure,
            tells: "Straight distance from the building.".to_owned(),
        });
        for (name, kind, tells) in [
            (
                "nearest_station",
                FieldKind::Text,
                "Name of the nearest station.",
            ),
            (
                "nearest_routes",
                FieldKind::Text,
                "Daytime routes at the nearest entrance.",
            ),
            (
                "nearest_entrance_meters",
                FieldKind::Figure,
                "Straight distance to the nearest entrance.",
            ),
            (
                "stations_within_a_mile",
                FieldKind::Count,
                "Stations with an entrance within a mile.",
            ),
        ] {
            info.summary.push(FieldInfo {
                name: name.to_owned(),
                kind,
                tells: tells.to_owned(),
            });
        }
        Self {
            entry,
            shared,
            entrances: Cache::builder()
                .max_capacity(1)
                .time_to_live(Duration::from_secs(24 * 60 * 60))
                .build(),
            info,
        }
    }

    async fn entrances(&self, deadline: Instant) -> Result<Arc<[Entrance]>, SodaError> {
        let load = async {
            let soda = &self.shared.publisher(self.entry.host).soda;
            let query = Query::of(self.entry.dataset.clone());
            let rows = every(soda.as_ref(), &query, MOST, deadline).await?;
            let header = rows.fields;
            let entrances: Vec<Entrance> = rows
                .rows
                .into_iter()
                .filter_map(|row| {
                    let record = self.entry.shape.record(row, header.as_deref());
                    let degrees = |column: &str| record.text(column)?.trim().parse::<f64>().ok();
                    Some(Entrance {
                        latitude: degrees("entrance_latitude")?,
                        longitude: degrees("entrance_longitude")?,
                        record,
                    })
                })
                .collect();
            // A table without one readable entrance is a changed table, not a city without a subway.
            if entrances.is_empty() {
                return Err(SodaError::Unavailable("no entrance can be read".to_owned()));
            }
            Ok(Arc::from(entrances))
        };
        self.entrances
            .try_get_with((), load)
            .await
            .map_err(|error| SodaError::clone(&error))
    }

    async fn data(
        &self,
        subject: &Subject,
        deadline: Instant,
    ) -> Result<Option<SourceData>, Failure> {
        let Some(here) = self.shared.directory.place(subject, deadline).await? else {
            return Ok(None);
        };
        let entrances = self.entrances(deadline).await?;
        let mut near: Vec<(f64, &Entrance)> = entrances
            .iter()
            .map(|entrance| {
                (
                    meters(here, (entrance.latitude, entrance.longitude)),
                    entrance,
                )
            })
            .filter(|(distance, _)| *distance <= NEAR_METERS)
            .collect();
        near.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let Some((nearest_meters, nearest)) = near.first() else {
            return Ok(None);
        };
        let mut stations: Vec<&str> = near
            .iter()
            .filter_map(|(_, entrance)| entrance.record.text("complex_id"))
            .collect();
        stations.sort_unstable();
        stations.dedup();
        let text = |column: &str| nearest.record.text(column).map(str::trim);
        let summary = vec![
            (
                "nearest_station".to_owned(),
                to_raw_value(&text("stop_name"))?,
            ),
            (
                "nearest_routes".to_owned(),
                to_raw_value(&text("daytime_routes"))?,
            ),
            (
                "nearest_entrance_meters".to_owned(),
                to_raw_value(&whole(*nearest_meters))?,
            ),
            (
                "stations_within_a_mile".to_owned(),
                to_raw_value(&stations.len())?,
            ),
        ];
        let records = near
            .iter()
            .take(CAP)
            .map(|(distance, entrance)| {
                let mut record = entrance.record.clone();
                let meters = FieldValue::number(&whole(*distance).to_string());
                record.push("distance_meters", meters);
                record
            })
            .collect();
        let gathered = Gathered {
            records,
            count: near.len() as u64,
            summary,
        };
        Ok(Some(source_data(
            &self.entry,
            &self.shared,
            MatchedBy::Address,
            gathered,
        )))
    }
}

#[async_trait]
impl Source for Subway {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        entry_of(self.key(), self.data(subject, deadline).await)
    }
}

/// Metres, rounded: a straight line over roofs is no more exact than that.
fn whole(meters: f64) -> u64 {
    meters.round() as u64
}

/// Great-circle distance between two points, each latitude and longitude in degrees.
fn meters(a: (f64, f64), b: (f64, f64)) -> f64 {
    let (lat_a, lat_b) = (a.0.to_radians(), b.0.to_radians());
    let (dlat, dlon) = (lat_b - lat_a, (b.1 - a.1).to_radians());
    let h = (dlat / 2.0).sin().powi(2) + lat_a.cos() * lat_b.cos() * (dlon / 2.0).sin().powi(2);
    2.0 * EARTH_RADIUS_METERS * h.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::meters;

    #[test]
    fn a_known_distance() {
        // Empire State Building to Chrysler Building: some 1.06 km.
        let distance = meters((40.748_441, -73.985_664), (40.751_652, -73.975_311));
        assert!((900.0..1_000.0).contains(&distance), "{distance}");
    }

    proptest! {
        #[test]
        fn distance_is_the_same_both_ways(a in 40.4..41.0_f64, b in -74.3..-73.6_f64, c in 40.4..41.0_f64, d in -74.3..-73.6_f64) {
            let there = meters((a, b), (c, d));
            let back = meters((c, d), (a, b));
            prop_assert!(there >= 0.0 && (there - back).abs() < 1e-6);
            prop_assert!(meters((a, b), (a, b)) == 0.0);
        }
    }
}
