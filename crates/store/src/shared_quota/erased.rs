//! The budget of an account that is erased, where it stands in the account's own database.

use std::future::Future;

use diesel::QueryResult;

/// A connection of a database in which budgets may be kept.
pub(crate) trait Budgets {
    /// Drops the account's record, in the transaction that is open.
    fn drop_budget(&mut self, account: &str) -> impl Future<Output = QueryResult<()>> + Send;
}

/// One SQLite file has one server, which keeps the budgets itself.
#[cfg(feature = "sqlite")]
impl Budgets for crate::pool::SqliteConn {
    async fn drop_budget(&mut self, _: &str) -> QueryResult<()> {
        Ok(())
    }
}

#[cfg(feature = "postgres")]
impl Budgets for crate::pool::PgConn {
    async fn drop_budget(&mut self, account: &str) -> QueryResult<()> {
        let drop_it = diesel::sql_query("DELETE FROM quota WHERE account = $1")
            .bind::<diesel::sql_types::Text, _>(account);
        diesel_async::RunQueryDsl::execute(drop_it, self).await?;
        Ok(())
    }
}
