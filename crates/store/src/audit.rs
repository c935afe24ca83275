//! The audit trail's chain: each line is written with a hash of itself and of the line before.

use brownstone_accounts::chain::{AuditHead, AuditLink, LinkHash};
use brownstone_accounts::traits::StoreError;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::account_rows::AuditRow;
use crate::error::Fault;
use crate::pool::reading;
use crate::schema::{audit, audit_head};
use crate::store::Store;

/// The one row of `audit_head`.
pub(crate) const HEAD: i32 = 1;

/// Writes a line at the end of the chain, as the last step of a transaction.
///
/// The head's row is changed first, which locks it: of two transactions the second waits, and reads what the first left. It is taken
/// after every other row, so that no two can wait for each other.
macro_rules! note {
    ($connection:ident, $entry:expr) => {{
        use $crate::schema::{audit, audit_head};

        let entry: brownstone_accounts::model::AuditEntry = $entry;
        diesel::update(audit_head::table.find($crate::audit::HEAD))
            .set(audit_head::lines.eq(audit_head::lines + 1))
            .execute($connection)
            .await?;
        let (number, before): (i64, Vec<u8>) = audit_head::table
            .find($crate::audit::HEAD)
            .select((audit_head::lines, audit_head::hash))
            .first($connection)
            .await?;
        let (row, hash) = $crate::account_rows::AuditRow::linked(&entry, number, before)?;
        diesel::insert_into(audit::table)
            .values(row)
            .execute($connection)
            .await?;
        diesel::update(audit_head::table.find($crate::audit::HEAD))
            .set(audit_head::hash.eq(hash.as_slice()))
            .execute($connection)
            .await?;
    }};
}
pub(crate) use note;

/// A hash as it is stored.
pub(crate) fn link_hash(bytes: Vec<u8>) -> Result<LinkHash, Fault> {
    let bytes = bytes.try_into();
    bytes.map_err(|_| Fault::Unreadable("audit hash"))
}

fn number(stored: i64) -> Result<u64, Fault> {
    u64::try_from(stored).map_err(|_| Fault::Unreadable("audit number"))
}

impl Store {
    /// Where the chain ends, and what stands outside it.
    pub(crate) async fn chain_head(&self) -> Result<AuditHead, StoreError> {
        let (lines, hash, unchained, now): (i64, Vec<u8>, i64, i64) =
            reading!(self, |connection| {
                let (lines, hash, unchained): (i64, Vec<u8>, i64) = audit_head::table
                    .find(HEAD)
                    .select((audit_head::lines, audit_head::hash, audit_head::unchained))
                    .first(connection)
                    .await?;
                // One statement, so that a line that is written meanwhile is inside by the same look that finds it.
                let end = audit_head::table.find(HEAD).select(audit_head::lines);
                let outside = audit::number
                    .is_null()
                    .or(audit::number.lt(1_i64))
                    .or(audit::number.gt(end.single_value()));
                let now: i64 = audit::table
                    .filter(outside)
                    .select(count_star())
                    .first(connection)
                    .await?;
                Ok((lines, hash, unchained, now))
            })?;
        Ok(AuditHead {
            lines: number(lines)?,
            hash: link_hash(hash)?,
            unchained: number(unchained)?,
            unchained_now: number(now)?,
        })
    }

    /// Lines of the chain from `after` + 1 on.
    pub(crate) async fn chain_links(
        &self,
        after: u64,
        limit: u32,
    ) -> Result<Vec<AuditLink>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows: Vec<AuditRow> = reading!(self, |connection| {
            Ok(audit::table
                .filter(audit::number.gt(after))
                .order(audit::number)
                .limit(i64::from(limit))
                .select(AuditRow::as_select())
                .load(connection)
                .await?)
        })?;
        let links: Result<Vec<AuditLink>, Fault> =
            rows.into_iter().map(AuditLink::try_from).collect();
        Ok(links?)
    }
}
