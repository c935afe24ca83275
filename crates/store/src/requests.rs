//! The newest requests of each account.

use std::collections::BTreeSet;

use async_trait::async_trait;
use brownstone_accounts::model::{AccountId, KeyId};
use brownstone_accounts::requests::{RequestLine, RequestStore};
use brownstone_accounts::traits::StoreError;
use brownstone_domain::{OPERATIONS, Surface};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use time::OffsetDateTime;

use crate::error::Fault;
use crate::moment::At;
use crate::pool::{many_rows, reading, stating, writing};
use crate::schema::requests;
use crate::store::Store;

/// Rows in one statement: eight values each, below every database's bound on values.
const ROWS_AT_ONCE: usize = 1_000;

/// A row of `requests`; the database numbers it.
// Without defaults for missing values, SQLite takes many rows in one statement too.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = requests, treat_none_as_default_value = false)]
struct RequestRow {
    id: String,
    account_id: String,
    at: At,
    key_id: String,
    surface: String,
    operation: String,
    outcome: String,
    units: i64,
}

impl TryFrom<&RequestLine> for RequestRow {
    type Error = Fault;

    fn try_from(line: &RequestLine) -> Result<Self, Fault> {
        Ok(Self {
            id: line.id.as_str().to_owned(),
            account_id: line.account.as_str().to_owned(),
            at: At(line.at),
            key_id: line.key.as_str().to_owned(),
            surface: line.surface.as_str().to_owned(),
            operation: line.operation.spec().name.to_owned(),
            outcome: line.outcome.clone().into_owned(),
            units: i64::try_from(line.units).map_err(|_| Fault::OutOfRange("units"))?,
        })
    }
}

impl TryFrom<RequestRow> for RequestLine {
    type Error = Fault;

    fn try_from(row: RequestRow) -> Result<Self, Fault> {
        let operation = OPERATIONS.iter().find(|spec| spec.name == row.operation);
        let surface = Surface::ALL
            .iter()
            .find(|surface| surface.as_str() == row.surface);
        Ok(Self {
            id: row.id.into(),
            account: AccountId::from(row.account_id),
            at: row.at.0,
            key: KeyId::from(row.key_id),
            surface: *surface.ok_or(Fault::Unreadable("surface"))?,
            operation: operation.ok_or(Fault::Unreadable("operation"))?.operation,
            outcome: row.outcome.into(),
            units: u64::try_from(row.units).map_err(|_| Fault::Unreadable("units"))?,
        })
    }
}

many_rows!(add_requests, AddRequests, RequestRow, |rows| {
    diesel::insert_into(requests::table)
        .values(rows)
        .on_conflict(requests::id)
        .do_nothing()
});

#[async_trait]
impl RequestStore for Store {
    async fn add_requests(&self, lines: &[RequestLine], keep: u32) -> Result<(), StoreError> {
        let rows: Result<Vec<RequestRow>, Fault> = lines.iter().map(RequestRow::try_from).collect();
        let rows = rows?;
        // In one order for everyone: two instances that trim the same accounts must not wait for each other in a ring.
        let accounts: BTreeSet<String> = rows.iter().map(|row| row.account_id.clone()).collect();
        let keep = i64::from(keep);
        Ok(writing!(self, relaxed, |connection| {
            for some in rows.chunks(ROWS_AT_ONCE) {
                connection.add_requests(some.to_vec()).await?;
            }
            for account in accounts {
                let own = requests::account_id.eq(account);
                let over: Option<i64> = requests::table
                    .filter(own.clone())
                    .order(requests::sequence.desc())
                    .offset(keep)
                    .limit(1)
                    .select(requests::sequence)
                    .first(connection)
                    .await
                    .optional()?;
                if let Some(over) = over {
                    let old = requests::table
                        .filter(own)
                        .filter(requests::sequence.le(over));
                    diesel::delete(old).execute(connection).await?;
                }
            }
            Ok(())
        })?)
    }

    async fn requests(
        &self,
        account: &AccountId,
        limit: u32,
    ) -> Result<Vec<RequestLine>, StoreError> {
        let account = account.clone();
        let rows: Vec<RequestRow> = reading!(self, |connection| {
            Ok(requests::table
                .filter(requests::account_id.eq(account.as_str()))
                .order(requests::sequence.desc())
                .limit(i64::from(limit))
                .select(RequestRow::as_select())
                .load(connection)
                .await?)
        })?;
        let lines: Result<Vec<RequestLine>, Fault> =
            rows.into_iter().map(RequestLine::try_from).collect();
        Ok(lines?)
    }

    async fn request(&self, id: &str) -> Result<Option<RequestLine>, StoreError> {
        let id = id.to_owned();
        let row: Option<RequestRow> = reading!(self, |connection| {
            Ok(requests::table
                .filter(requests::id.eq(id))
                .select(RequestRow::as_select())
                .first(connection)
                .await
                .optional()?)
        })?;
        Ok(row.map(RequestLine::try_from).transpose()?)
    }

    async fn purge_requests(&self, before: OffsetDateTime) -> Result<u64, StoreError> {
        let before = At(before);
        let rows: usize = stating!(self, relaxed, |connection| {
            let old = requests::table.filter(requests::at.lt(before));
            Ok(diesel::delete(old).execute(connection).await?)
        })?;
        Ok(u64::try_from(rows).unwrap_or(u64::MAX))
    }
}
