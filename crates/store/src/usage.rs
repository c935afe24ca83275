//! Usage counters.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use brownstone_accounts::model::{AccountId, KeyId, UsageBatch, UsageCounts, UsageKey};
use brownstone_accounts::traits::{StoreError, UsageStore};
use brownstone_domain::{Operation, Surface};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use time::Date;

use crate::error::{Fault, Unavailable};
use crate::moment::StoreTime;
use crate::pool::{many_rows, reading, stating, writing};
use crate::schema::{usage_counts, usage_writers};
use crate::store::Store;

/// How long a writer that says nothing is remembered: far longer than a process is cut off from its database and lives.
const WRITER_REMEMBERED_FOR: Duration = Duration::from_hours(7 * 24);

/// Rows in one statement: ten values each, below every database's bound on values.
const ROWS_AT_ONCE: usize = 1_000;

/// A row of `usage_counts`.
// Without defaults for missing values, SQLite takes many rows in one statement too.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = usage_counts, treat_none_as_default_value = false)]
struct UsageRow {
    account_id: String,
    day: Date,
    key_id: String,
    surface: String,
    operation: String,
    calls: i64,
    failed: i64,
    units: i64,
    rate_limited: i64,
    permanent: i64,
}

impl TryFrom<(UsageKey, UsageCounts)> for UsageRow {
    type Error = Fault;

    fn try_from((key, counts): (UsageKey, UsageCounts)) -> Result<Self, Fault> {
        let count = |n: u64| i64::try_from(n).map_err(|_| Fault::OutOfRange("count"));
        Ok(Self {
            account_id: key.account.as_str().to_owned(),
            day: key.day,
            key_id: key.key.as_str().to_owned(),
            surface: key.surface.as_str().to_owned(),
            operation: key.operation.spec().name.to_owned(),
            calls: count(counts.calls)?,
            failed: count(counts.failed)?,
            units: count(counts.units)?,
            rate_limited: count(counts.rate_limited)?,
            permanent: count(counts.permanent)?,
        })
    }
}

impl TryFrom<UsageRow> for (UsageKey, UsageCounts) {
    type Error = Fault;

    fn try_from(row: UsageRow) -> Result<Self, Fault> {
        let count = |n: i64| u64::try_from(n).map_err(|_| Fault::Unreadable("count"));
        Ok((
            UsageKey {
                account: AccountId::from(row.account_id),
                day: row.day,
                key: KeyId::from(row.key_id),
                surface: Surface::from_name(&row.surface).ok_or(Fault::Unreadable("surface"))?,
                operation: Operation::from_name(&row.operation)
                    .ok_or(Fault::Unreadable("operation"))?,
            },
            UsageCounts {
                calls: count(row.calls)?,
                failed: count(row.failed)?,
                units: count(row.units)?,
                rate_limited: count(row.rate_limited)?,
                permanent: count(row.permanent)?,
            },
        ))
    }
}

/// One row for each counter, in one order for everyone: a statement may not meet a row twice, and two instances must not
/// wait for each other in a ring.
fn merged(counts: &[(UsageKey, UsageCounts)]) -> Result<Vec<UsageRow>, Fault> {
    type Order<'a> = (&'a str, Date, &'a str, &'static str, &'static str);
    let mut sums: BTreeMap<Order<'_>, (&UsageKey, UsageCounts)> = BTreeMap::new();
    for (key, more) in counts {
        let order = (
            key.account.as_str(),
            key.day,
            key.key.as_str(),
            key.surface.as_str(),
            key.operation.spec().name,
        );
        sums.entry(order).or_insert((key, UsageCounts::default())).1 += *more;
    }
    sums.into_values()
        .map(|(key, sum)| UsageRow::try_from((key.clone(), sum)))
        .collect()
}

many_rows!(add_rows, AddRows, UsageRow, |rows| {
    diesel::insert_into(usage_counts::table)
        .values(rows)
        .on_conflict((
            usage_counts::account_id,
            usage_counts::day,
            usage_counts::key_id,
            usage_counts::surface,
            usage_counts::operation,
        ))
        .do_update()
        .set((
            usage_counts::calls.eq(usage_counts::calls + excluded(usage_counts::calls)),
            usage_counts::failed.eq(usage_counts::failed + excluded(usage_counts::failed)),
            usage_counts::units.eq(usage_counts::units + excluded(usage_counts::units)),
            usage_counts::rate_limited
                .eq(usage_counts::rate_limited + excluded(usage_counts::rate_limited)),
            usage_counts::permanent.eq(usage_counts::permanent + excluded(usage_counts::permanent)),
        ))
});

impl Store {
    /// Drops counters of days before `before`; returns how many went.
    ///
    /// An account at a time, by the table's own order: no statement reads more than one account's rows, however many there are, and where
    /// nothing is old nothing is locked.
    ///
    /// # Errors
    /// When the database does not answer. What went is gone.
    pub async fn purge_usage(&self, before: Date) -> Result<u64, Unavailable> {
        let (mut gone, mut last) = (0, String::new());
        while let Some((account, oldest)) = self.next_counted(last).await? {
            if oldest < before {
                gone += self.purge_usage_of(account.clone(), before).await?;
            }
            last = account;
        }
        Ok(gone)
    }

    /// The first account after `last` that has counters, and the oldest day of them.
    async fn next_counted(&self, last: String) -> Result<Option<(String, Date)>, Fault> {
        reading!(self, |connection| {
            Ok(usage_counts::table
                .filter(usage_counts::account_id.gt(last))
                .order((usage_counts::account_id, usage_counts::day))
                .select((usage_counts::account_id, usage_counts::day))
                .first(connection)
                .await
                .optional()?)
        })
    }

    async fn purge_usage_of(&self, account: String, before: Date) -> Result<u64, Fault> {
        let gone: usize = stating!(self, relaxed, |connection| {
            let old = usage_counts::table
                .filter(usage_counts::account_id.eq(account))
                .filter(usage_counts::day.lt(before));
            Ok(diesel::delete(old).execute(connection).await?)
        })?;
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }
}

#[async_trait]
impl UsageStore for Store {
    async fn add_usage(
        &self,
        batch: &UsageBatch,
        counts: &[(UsageKey, UsageCounts)],
    ) -> Result<(), StoreError> {
        let rows = merged(counts)?;
        if rows.is_empty() {
            return Ok(());
        }
        let writer = batch.writer.clone();
        let number = i64::try_from(batch.number).map_err(|_| Fault::OutOfRange("batch"))?;
        Ok(writing!(self, relaxed, |connection| {
            // First, so that the same batch sent twice waits here for itself, and then finds that it is in.
            let noted = diesel::insert_into(usage_writers::table)
                .values((
                    usage_writers::writer.eq(writer),
                    usage_writers::batch.eq(number),
                    usage_writers::forget_at.eq(StoreTime::after(WRITER_REMEMBERED_FOR, None)),
                ))
                .on_conflict(usage_writers::writer)
                .do_update()
                .set((
                    usage_writers::batch.eq(excluded(usage_writers::batch)),
                    usage_writers::forget_at.eq(excluded(usage_writers::forget_at)),
                ));
            let noted = diesel::query_dsl::methods::FilterDsl::filter(
                noted,
                usage_writers::batch.lt(excluded(usage_writers::batch)),
            )
            .execute(connection)
            .await?;
            if noted == 0 {
                return Ok(());
            }
            if number == 1 {
                // Once a process: writers that are long gone.
                diesel::delete(
                    usage_writers::table.filter(usage_writers::forget_at.le(StoreTime::now(None))),
                )
                .execute(connection)
                .await?;
            }
            for some in rows.chunks(ROWS_AT_ONCE) {
                connection.add_rows(some.to_vec()).await?;
            }
            Ok(())
        })?)
    }

    async fn usage_since(
        &self,
        account: &AccountId,
        from: Date,
    ) -> Result<Vec<(UsageKey, UsageCounts)>, StoreError> {
        let account = account.clone();
        let rows: Vec<UsageRow> = reading!(self, |connection| {
            Ok(usage_counts::table
                .filter(usage_counts::account_id.eq(account.as_str()))
                .filter(usage_counts::day.ge(from))
                .order((
                    usage_counts::day,
                    usage_counts::key_id,
                    usage_counts::surface,
                    usage_counts::operation,
                ))
                .select(UsageRow::as_select())
                .load(connection)
                .await?)
        })?;
        let counts: Result<Vec<_>, Fault> = rows.into_iter().map(TryFrom::try_from).collect();
        Ok(counts?)
    }
}
