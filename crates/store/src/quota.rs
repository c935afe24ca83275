//! The ledger of the memory quota engine: units are written here before they are spent.

use std::time::Duration;

use async_trait::async_trait;
use brownstone_quota::{LedgerMinute, LedgerRow, QuotaUnavailable, SpentLedger};
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;

use crate::error::Fault;
use crate::pool::{many_rows, reading, stating, writing};
use crate::schema::quota_spent;
use crate::store::Store;

/// Time for the whole ledger, at start and at a clean stop.
const WHOLE_LEDGER_WITHIN: Duration = Duration::from_secs(30);

/// Rows in one statement: five values each.
const ROWS_AT_ONCE: usize = 2_000;

/// A row of `quota_spent`.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = quota_spent, treat_none_as_default_value = false)]
struct SpentRow {
    account: String,
    day: i64,
    spent: i64,
    deficit: Option<i64>,
    last_us: Option<i64>,
}

impl TryFrom<&LedgerRow> for SpentRow {
    type Error = Fault;

    fn try_from(row: &LedgerRow) -> Result<Self, Fault> {
        let number = |n: u64| i64::try_from(n).map_err(|_| Fault::OutOfRange("bucket"));
        Ok(Self {
            account: row.account.clone(),
            day: row.day.into(),
            spent: row.spent.into(),
            deficit: row
                .minute
                .map(|minute| number(minute.deficit))
                .transpose()?,
            last_us: row
                .minute
                .map(|minute| number(minute.last_us))
                .transpose()?,
        })
    }
}

impl TryFrom<SpentRow> for LedgerRow {
    type Error = Fault;

    fn try_from(row: SpentRow) -> Result<Self, Fault> {
        let number = |n: i64| u32::try_from(n).map_err(|_| Fault::Unreadable("spent quota"));
        let long = |n: i64| u64::try_from(n).map_err(|_| Fault::Unreadable("bucket"));
        Ok(Self {
            account: row.account,
            day: number(row.day)?,
            spent: number(row.spent)?,
            minute: match row.deficit.zip(row.last_us) {
                Some((deficit, last_us)) => Some(LedgerMinute {
                    deficit: long(deficit)?,
                    last_us: long(last_us)?,
                }),
                None => None,
            },
        })
    }
}

many_rows!(insert_rows, InsertRows, SpentRow, |rows| {
    diesel::insert_into(quota_spent::table).values(rows)
});

#[async_trait]
impl SpentLedger for Store {
    async fn load(&self, from_day: u32) -> Result<Vec<LedgerRow>, QuotaUnavailable> {
        let rows: Result<Vec<SpentRow>, Fault> = reading!(self, within WHOLE_LEDGER_WITHIN, |connection| {
            Ok(quota_spent::table
                .filter(quota_spent::day.ge(i64::from(from_day)))
                .select(SpentRow::as_select())
                .load(connection)
                .await?)
        });
        rows.and_then(|rows| rows.into_iter().map(LedgerRow::try_from).collect())
            .map_err(QuotaUnavailable::silent)
    }

    async fn reserve(
        &self,
        account: &str,
        day: u32,
        spent_up_to: u32,
    ) -> Result<(), QuotaUnavailable> {
        let row = SpentRow {
            account: account.to_owned(),
            day: day.into(),
            spent: spent_up_to.into(),
            deficit: None,
            last_us: None,
        };
        let done: Result<(), Fault> = stating!(self, |connection| {
            let later = excluded(quota_spent::day).gt(quota_spent::day);
            let more = excluded(quota_spent::day)
                .eq(quota_spent::day)
                .and(excluded(quota_spent::spent).gt(quota_spent::spent));
            diesel::insert_into(quota_spent::table)
                .values(row)
                .on_conflict(quota_spent::account)
                .do_update()
                .set((
                    quota_spent::day
                        .eq(case_when(later, excluded(quota_spent::day))
                            .otherwise(quota_spent::day)),
                    quota_spent::spent.eq(case_when(later.or(more), excluded(quota_spent::spent))
                        .otherwise(quota_spent::spent)),
                    quota_spent::deficit.eq(excluded(quota_spent::deficit)),
                    quota_spent::last_us.eq(excluded(quota_spent::last_us)),
                ))
                .execute(connection)
                .await?;
            Ok(())
        });
        done.map_err(QuotaUnavailable::silent)
    }

    async fn settle(&self, rows: &[LedgerRow]) -> Result<(), QuotaUnavailable> {
        let rows: Result<Vec<SpentRow>, Fault> = rows.iter().map(SpentRow::try_from).collect();
        let rows = rows.map_err(QuotaUnavailable::silent)?;
        let done: Result<(), Fault> = writing!(self, within WHOLE_LEDGER_WITHIN, |connection| {
            diesel::delete(quota_spent::table).execute(connection).await?;
            for some in rows.chunks(ROWS_AT_ONCE) {
                connection.insert_rows(some.to_vec()).await?;
            }
            Ok(())
        });
        done.map_err(QuotaUnavailable::silent)
    }
}
