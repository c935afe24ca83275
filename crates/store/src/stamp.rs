//! What a database was made for. Made-up records and the city's must never mix.

use std::fmt;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::error::{Fault, StampError, Unavailable};
use crate::pool::{reading, writing};
use crate::schema::database_stamp;
use crate::store::Store;

/// What a database was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// The made-up city.
    Sample,
    /// The city's own records.
    Real,
}

impl DatabaseKind {
    const ALL: [Self; 2] = [Self::Sample, Self::Real];

    /// `sample` or `real`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Real => "real",
        }
    }
}

impl fmt::Display for DatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The table has one row.
const ROW: i32 = 1;

fn kind_of(text: &str) -> Result<DatabaseKind, Fault> {
    DatabaseKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or(Fault::Unreadable("database stamp"))
}

pub(crate) async fn read_kind(
    store: &Store,
    within: Duration,
) -> Result<Option<DatabaseKind>, Fault> {
    let text: Option<String> = reading!(store, within within, |connection| {
        Ok(database_stamp::table
            .find(ROW)
            .select(database_stamp::kind)
            .first(connection)
            .await
            .optional()?)
    })?;
    text.as_deref().map(kind_of).transpose()
}

impl Store {
    /// Stamps a new database as made for `kind`; one that is stamped `kind` already stays as it is.
    ///
    /// # Errors
    /// [`StampError::OtherKind`] when it was made for the other kind.
    pub async fn stamp(&self, kind: DatabaseKind) -> Result<(), StampError> {
        let stored: String = writing!(self, |connection| {
            diesel::insert_into(database_stamp::table)
                .values((
                    database_stamp::id.eq(ROW),
                    database_stamp::kind.eq(kind.as_str()),
                ))
                .on_conflict(database_stamp::id)
                .do_nothing()
                .execute(connection)
                .await?;
            // Reads another start's stamp too: the insert waited for it to be committed.
            Ok(database_stamp::table
                .find(ROW)
                .select(database_stamp::kind)
                .first(connection)
                .await?)
        })?;
        match kind_of(&stored)? {
            is if is == kind => Ok(()),
            is => Err(StampError::OtherKind { is, wanted: kind }),
        }
    }

    /// What the database was made for; `None` before it was stamped.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn kind(&self) -> Result<Option<DatabaseKind>, Unavailable> {
        Ok(read_kind(self, self.answer_within()).await?)
    }
}
