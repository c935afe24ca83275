//! Time in the database: `TIMESTAMPTZ` on PostgreSQL, microseconds since the epoch in a 64-bit integer on SQLite.
//!
//! Diesel's own zoned types differ between the two, so they cannot share a schema; its unzoned one forgets that it is UTC.

use std::time::Duration;

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::{
    AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate,
};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::{BigInt, SqlOrd, SqlType};
use diesel::{QueryResult, expression::AsExpression};
use time::OffsetDateTime;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Longest life of anything that is given in a duration: far beyond every use, far below an overflow.
const LONGEST: Duration = Duration::from_hours(24 * 366);

/// The SQL type.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[cfg_attr(feature = "sqlite", diesel(sqlite_type(name = "Long")))]
#[cfg_attr(
    feature = "postgres",
    diesel(postgres_type(oid = 1184, array_oid = 1185))
)]
pub struct Moment;

impl SqlOrd for Moment {}

/// A moment in UTC, to the microsecond: what is finer is dropped when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = Moment)]
pub(crate) struct At(pub(crate) OffsetDateTime);

impl At {
    fn micros(self) -> i64 {
        // Within range by far: the years of `OffsetDateTime` are four-digit.
        self.0.unix_timestamp() * MICROS_PER_SECOND + i64::from(self.0.microsecond())
    }

    /// Built from seconds and microseconds: the constructor that takes nanoseconds truncates what is out of range.
    fn from_micros(micros: i64) -> Option<Self> {
        let rest = u32::try_from(micros.rem_euclid(MICROS_PER_SECOND)).ok()?;
        OffsetDateTime::from_unix_timestamp(micros.div_euclid(MICROS_PER_SECOND))
            .ok()?
            .replace_microsecond(rest)
            .ok()
            .map(Self)
    }
}

const OUT_OF_RANGE: &str = "a moment outside the years -9999 to 9999";

#[cfg(feature = "sqlite")]
mod sqlite {
    use diesel::serialize::IsNull;
    use diesel::sqlite::{Sqlite, SqliteValue};

    use super::*;

    impl ToSql<Moment, Sqlite> for At {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
            out.set_value(self.micros());
            Ok(IsNull::No)
        }
    }

    impl FromSql<Moment, Sqlite> for At {
        fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
            let micros = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
            Self::from_micros(micros).ok_or_else(|| OUT_OF_RANGE.into())
        }
    }

    impl QueryFragment<Sqlite> for StoreTime {
        fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
            pass.push_bind_param::<Moment, At>(&self.at)
        }
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use diesel::pg::{Pg, PgValue};

    use super::*;

    /// PostgreSQL counts from 2000-01-01.
    const EPOCH_MICROS: i64 = 946_684_800 * MICROS_PER_SECOND;

    impl ToSql<Moment, Pg> for At {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
            let micros = self.micros() - EPOCH_MICROS;
            <i64 as ToSql<BigInt, Pg>>::to_sql(&micros, &mut out.reborrow())
        }
    }

    impl FromSql<Moment, Pg> for At {
        fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
            // `infinity` is the greatest integer and ends here too.
            <i64 as FromSql<BigInt, Pg>>::from_sql(value)?
                .checked_add(EPOCH_MICROS)
                .and_then(Self::from_micros)
                .ok_or_else(|| OUT_OF_RANGE.into())
        }
    }

    impl QueryFragment<Pg> for StoreTime {
        fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
            if self.given {
                return pass.push_bind_param::<Moment, At>(&self.at);
            }
            pass.push_sql("(clock_timestamp() + ");
            pass.push_bind_param::<BigInt, i64>(&self.after_micros)?;
            pass.push_sql(" * INTERVAL '1 microsecond')");
            Ok(())
        }
    }
}

/// "Now" by the store's clock, or some time after or before it, as an expression in a statement.
///
/// PostgreSQL's own clock where several instances share it; the system's on SQLite, which one machine has to itself.
/// A test hands in its own moment.
#[derive(Debug, Clone, Copy)]
// Only PostgreSQL has a clock of its own.
#[cfg_attr(not(feature = "postgres"), allow(dead_code))]
pub(crate) struct StoreTime {
    given: bool,
    at: At,
    after_micros: i64,
}

impl StoreTime {
    /// The present moment.
    pub(crate) fn now(given: Option<OffsetDateTime>) -> Self {
        Self::after(Duration::ZERO, given)
    }

    /// `wait` after the present moment.
    pub(crate) fn after(wait: Duration, given: Option<OffsetDateTime>) -> Self {
        let wait = wait.min(LONGEST);
        let base = given.unwrap_or_else(OffsetDateTime::now_utc);
        Self {
            given: given.is_some(),
            at: At(base.saturating_add(time::Duration::try_from(wait).unwrap_or_default())),
            after_micros: i64::try_from(wait.as_micros()).unwrap_or_default(),
        }
    }
}

impl StoreTime {
    /// `age` before the present moment.
    pub(crate) fn before(age: Duration, given: Option<OffsetDateTime>) -> Self {
        let Self { given, at, .. } = Self::now(given);
        let age = age.min(LONGEST);
        Self {
            given,
            at: At(at
                .0
                .saturating_sub(time::Duration::try_from(age).unwrap_or_default())),
            after_micros: i64::try_from(age.as_micros())
                .unwrap_or_default()
                .saturating_neg(),
        }
    }
}

impl Expression for StoreTime {
    type SqlType = Moment;
}

impl<T> AppearsOnTable<T> for StoreTime {}
impl<T> SelectableExpression<T> for StoreTime {}

impl<G> ValidGrouping<G> for StoreTime {
    type IsAggregate = is_aggregate::Never;
}

impl QueryId for StoreTime {
    type QueryId = ();
    // The text depends on the value, so the statement is cached by its text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    proptest! {
        #[test]
        fn a_moment_comes_back_to_the_microsecond(seconds in -377_705_116_800i64..=253_402_300_799, micros in 0u32..1_000_000) {
            let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap().replace_microsecond(micros).unwrap();
            prop_assert_eq!(At::from_micros(At(at).micros()), Some(At(at)));
        }

        #[test]
        fn no_number_panics(micros in any::<i64>()) {
            if let Some(at) = At::from_micros(micros) {
                prop_assert_eq!(at.micros(), micros);
            }
        }

        #[test]
        fn order_in_the_database_is_order_in_time(a in any::<i64>(), b in any::<i64>()) {
            if let (Some(first), Some(second)) = (At::from_micros(a), At::from_micros(b)) {
                prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            }
        }
    }

    #[test]
    fn what_is_finer_than_a_microsecond_is_dropped_before_and_after_the_epoch() {
        let at = datetime!(2026-11-27 12:00:00.123456789 UTC);
        assert_eq!(
            At::from_micros(At(at).micros()),
            Some(At(datetime!(2026-11-27 12:00:00.123456 UTC)))
        );
        let before = datetime!(1969-12-31 23:59:59.9999999 UTC);
        assert_eq!(At(before).micros(), -1);
    }

    #[test]
    fn an_endless_wait_is_cut_and_does_not_overflow() {
        let end = StoreTime::after(Duration::MAX, Some(datetime!(9999-12-31 23:59 UTC)));
        assert!(end.at.0 >= datetime!(9999-12-31 23:59 UTC));
        assert_eq!(i128::from(end.after_micros), LONGEST.as_micros() as i128);
    }
}
