//! Reports at rest.

use async_trait::async_trait;
use brownstone_report_cache::traits::{ReportStore, StorageError};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use time::OffsetDateTime;

use crate::moment::At;
use crate::pool::{reading, stating};
use crate::schema::reports;
use crate::store::Store;

/// Rows a call of `purge` deletes at most, so that none holds the lock for long.
const PURGE_AT_MOST: i64 = 500;

diesel::alias!(const EXPIRED: Alias<Expired> = reports as expired);

#[async_trait]
impl ReportStore for Store {
    async fn load(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let key = key.to_owned();
        Ok(reading!(self, |connection| {
            Ok(reports::table
                .find(key)
                .select(reports::body)
                .first(connection)
                .await
                .optional()?)
        })?)
    }

    async fn save(
        &self,
        key: &str,
        body: &[u8],
        expires_at: OffsetDateTime,
    ) -> Result<(), StorageError> {
        let (key, body) = (key.to_owned(), body.to_owned());
        Ok(stating!(self, relaxed, |connection| {
            diesel::insert_into(reports::table)
                .values((
                    reports::key.eq(key),
                    reports::body.eq(body),
                    reports::expires_at.eq(At(expires_at)),
                ))
                .on_conflict(reports::key)
                .do_update()
                .set((
                    reports::body.eq(excluded(reports::body)),
                    reports::expires_at.eq(excluded(reports::expires_at)),
                ))
                .execute(connection)
                .await?;
            Ok(())
        })?)
    }

    async fn purge(&self, before: OffsetDateTime) -> Result<u64, StorageError> {
        let gone: usize = stating!(self, relaxed, |connection| {
            let some = EXPIRED
                .filter(EXPIRED.field(reports::expires_at).lt(At(before)))
                .order(EXPIRED.field(reports::expires_at))
                .limit(PURGE_AT_MOST)
                .select(EXPIRED.field(reports::key));
            // Asked again of the row itself: it may have been saved anew since the inner query saw it.
            let still = reports::expires_at.lt(At(before));
            let gone = reports::table
                .filter(reports::key.eq_any(some))
                .filter(still);
            Ok(diesel::delete(gone).execute(connection).await?)
        })?;
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }
}
