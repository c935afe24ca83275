//! The last good values of the mortgage rate series.

use async_trait::async_trait;
use brownstone_domain::PublishedDate;
use brownstone_rates::{Kept, RateStore, RateStoreError, observation::Observation};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;

use crate::moment::At;
use crate::pool::{reading, writing};
use crate::schema::rate_series;
use crate::store::Store;

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = rate_series)]
struct Row {
    id: String,
    observed_on: String,
    rate_percent: f64,
    points: Option<f64>,
    previous_observed_on: Option<String>,
    previous_rate_percent: Option<f64>,
    previous_points: Option<f64>,
    fetched_at: At,
}

impl From<&Kept> for Row {
    fn from(kept: &Kept) -> Self {
        let previous = kept.previous.as_ref();
        Self {
            id: kept.series_id.clone(),
            observed_on: kept.latest.date.as_str().to_owned(),
            rate_percent: kept.latest.rate_percent,
            points: kept.latest.points,
            previous_observed_on: previous.map(|before| before.date.as_str().to_owned()),
            previous_rate_percent: previous.map(|before| before.rate_percent),
            previous_points: previous.and_then(|before| before.points),
            fetched_at: At(kept.fetched_at),
        }
    }
}

impl From<Row> for Kept {
    fn from(row: Row) -> Self {
        let previous = row.previous_observed_on.zip(row.previous_rate_percent);
        Self {
            series_id: row.id,
            latest: Observation {
                date: PublishedDate::from(row.observed_on.as_str()),
                rate_percent: row.rate_percent,
                points: row.points,
            },
            previous: previous.map(|(date, rate_percent)| Observation {
                date: PublishedDate::from(date.as_str()),
                rate_percent,
                points: row.previous_points,
            }),
            fetched_at: row.fetched_at.0,
        }
    }
}

#[async_trait]
impl RateStore for Store {
    async fn load(&self) -> Result<Vec<Kept>, RateStoreError> {
        let rows: Vec<Row> = reading!(self, |connection| {
            Ok(rate_series::table
                .order(rate_series::id)
                .select(Row::as_select())
                .load(connection)
                .await?)
        })?;
        Ok(rows.into_iter().map(Kept::from).collect())
    }

    async fn save(&self, values: &[Kept]) -> Result<(), RateStoreError> {
        if values.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<Row> = values.iter().map(Row::from).collect();
        // One order for all writers: two that save the same rows cannot wait for each other.
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        // Kept for its own sake by nobody: a power cut costs a question to the publisher.
        Ok(writing!(self, relaxed, |connection| {
            for row in rows {
                let upsert = diesel::insert_into(rate_series::table)
                    .values(row)
                    .on_conflict(rate_series::id)
                    .do_update()
                    .set((
                        rate_series::observed_on.eq(excluded(rate_series::observed_on)),
                        rate_series::rate_percent.eq(excluded(rate_series::rate_percent)),
                        rate_series::points.eq(excluded(rate_series::points)),
                        rate_series::previous_observed_on
                            .eq(excluded(rate_series::previous_observed_on)),
                        rate_series::previous_rate_percent
                            .eq(excluded(rate_series::previous_rate_percent)),
                        rate_series::previous_points.eq(excluded(rate_series::previous_points)),
                        rate_series::fetched_at.eq(excluded(rate_series::fetched_at)),
                    ));
                diesel::query_dsl::methods::FilterDsl::filter(
                    upsert,
                    rate_series::fetched_at.le(excluded(rate_series::fetched_at)),
                )
                .execute(connection)
                .await?;
            }
            Ok(())
        })?)
    }
}
