//! The anchor: the same ranges in a table with an index, in SQLite.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::city::City;

/// An open table.
#[derive(Debug)]
pub(super) struct Sqlite(Connection);

impl Sqlite {
    /// Writes the table and its index, in place of an older file.
    pub(super) fn import(path: &Path, city: &City) -> anyhow::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             CREATE TABLE ranges (
                 borough INTEGER NOT NULL, street TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
                 bin INTEGER NOT NULL, bbl INTEGER NOT NULL
             );",
        )?;
        let transaction = connection.transaction()?;
        let mut insert =
            transaction.prepare("INSERT INTO ranges VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for range in &city.ranges {
            if let Some(street) = city.streets.get(range.street) {
                let bbl: i64 = range.bbl.to_string().parse()?;
                insert.execute(params![
                    street.borough.digit(),
                    street.name,
                    range.low,
                    range.high,
                    range.bin,
                    bbl
                ])?;
            }
        }
        drop(insert);
        transaction.commit()?;
        connection
            .execute_batch("CREATE INDEX by_place ON ranges (borough, street, low); ANALYZE;")?;
        Ok(())
    }

    /// The whole file mapped, so that nothing is read twice.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch("PRAGMA mmap_size = 1073741824; PRAGMA cache_size = -262144;")?;
        Ok(Self(connection))
    }

    /// Asks everything in one transaction, so that no look-up locks the file for itself; returns how many answers were the right building.
    pub(super) fn ask(&self, city: &City) -> anyhow::Result<usize> {
        let transaction = self.0.unchecked_transaction()?;
        let mut statement = transaction.prepare(
            "SELECT bin FROM ranges
             WHERE borough = ?1 AND street = ?2 AND low <= ?3 AND high >= ?3 AND low % 2 = ?3 % 2
             ORDER BY low DESC LIMIT 1",
        )?;
        let mut right = 0;
        for question in &city.questions {
            let Some(range) = city.ranges.get(question.range) else {
                continue;
            };
            let Some(street) = city.streets.get(range.street) else {
                continue;
            };
            let asked = params![street.borough.digit(), street.name, question.number];
            let bin: u32 = statement.query_row(asked, |row| row.get(0))?;
            right += usize::from(bin == range.bin);
        }
        Ok(right)
    }
}
