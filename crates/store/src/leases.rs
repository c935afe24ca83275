//! Rights to do one thing at a time over all instances. Each change is one statement that decides by the store's clock.

use std::time::Duration;

use async_trait::async_trait;
use brownstone_report_cache::traits::{Lease, StorageError};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use time::OffsetDateTime;

use crate::error::Unavailable;
use crate::moment::StoreTime;
use crate::pool::{reading, stating};
use crate::schema::leases;
use crate::store::Store;

/// How long a lease that ended stays, for whoever looks into what happened.
const ENDED_STAY_FOR: Duration = Duration::from_hours(24);

impl Store {
    /// Drops leases that ended more than a day ago: nobody gave them up, since their holder died or let them end by themselves. Returns how
    /// many went. The store's clock decides; `now` is for tests only and `None` otherwise.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn purge_leases(&self, now: Option<OffsetDateTime>) -> Result<u64, Unavailable> {
        let gone: usize = stating!(self, relaxed, |connection| {
            let ended = leases::ends_at.lt(StoreTime::before(ENDED_STAY_FOR, now));
            Ok(diesel::delete(leases::table.filter(ended))
                .execute(connection)
                .await?)
        })?;
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }
}

#[async_trait]
impl Lease for Store {
    async fn acquire(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        now: Option<OffsetDateTime>,
    ) -> Result<bool, StorageError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        let changed: usize = stating!(self, relaxed, |connection| {
            let upsert = diesel::insert_into(leases::table)
                .values((
                    leases::name.eq(name),
                    leases::holder.eq(holder),
                    leases::ends_at.eq(StoreTime::after(ttl, now)),
                ))
                .on_conflict(leases::name)
                .do_update()
                .set((
                    leases::holder.eq(excluded(leases::holder)),
                    leases::ends_at.eq(excluded(leases::ends_at)),
                ));
            // The method's full path: the prelude's `filter` is not found here, and `filter_target` is another thing.
            let upsert = diesel::query_dsl::methods::FilterDsl::filter(
                upsert,
                leases::ends_at
                    .le(StoreTime::now(now))
                    .or(leases::holder.eq(excluded(leases::holder))),
            );
            Ok(upsert.execute(connection).await?)
        })?;
        Ok(changed == 1)
    }

    async fn renew(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        now: Option<OffsetDateTime>,
    ) -> Result<bool, StorageError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        let changed: usize = stating!(self, relaxed, |connection| {
            let held = leases::table
                .filter(leases::name.eq(name))
                .filter(leases::holder.eq(holder))
                .filter(leases::ends_at.gt(StoreTime::now(now)));
            Ok(diesel::update(held)
                .set(leases::ends_at.eq(StoreTime::after(ttl, now)))
                .execute(connection)
                .await?)
        })?;
        Ok(changed == 1)
    }

    async fn is_held(&self, name: &str, now: Option<OffsetDateTime>) -> Result<bool, StorageError> {
        let name = name.to_owned();
        let held: Option<String> = reading!(self, |connection| {
            Ok(leases::table
                .filter(leases::name.eq(name))
                .filter(leases::ends_at.gt(StoreTime::now(now)))
                .select(leases::name)
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(held.is_some())
    }

    async fn release(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        Ok(stating!(self, relaxed, |connection| {
            diesel::delete(
                leases::table
                    .filter(leases::name.eq(name))
                    .filter(leases::holder.eq(holder)),
            )
            .execute(connection)
            .await?;
            Ok(())
        })?)
    }
}
