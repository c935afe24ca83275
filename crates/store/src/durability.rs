//! Tests of what is on the disk when it is answered, and of disks that take nothing.

use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

use crate::error::Fault;
use crate::pool::{reading, stating, writing};
use crate::schema::leases;

#[derive(QueryableByName)]
struct Level {
    #[diesel(sql_type = Integer)]
    synchronous: i32,
}

/// What the connection of a body is set to.
macro_rules! level {
    ($way:ident!($($before:tt)*)) => {{
        let levels: Result<Vec<Level>, Fault> = $way!($($before)*, |connection| {
            Ok(diesel::sql_query("PRAGMA synchronous").load(connection).await?)
        });
        levels.expect("an answer")[0].synchronous
    }};
}

const NORMAL: i32 = 1;
const FULL: i32 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_outlive_a_power_cut_unless_they_can_be_made_again() {
    let held = crate::harness::sqlite().await.expect("always there");
    // More often than there are connections.
    for _ in 0..10 {
        assert_eq!(level!(writing!(held)), FULL);
        assert_eq!(level!(stating!(held)), FULL);
        assert_eq!(level!(writing!(held, relaxed)), NORMAL);
        assert_eq!(level!(stating!(held, relaxed)), NORMAL);
        assert_eq!(level!(reading!(held)), NORMAL);
    }
}

fn leases_of(length: usize) -> impl Iterator<Item = String> {
    (0..1_000).map(move |n| format!("{n}{}", "x".repeat(length)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_says_so_and_the_database_goes_on_when_there_is_room() {
    let held = crate::harness::sqlite().await.expect("always there");
    let full: Result<(), Fault> = stating!(held, |connection| {
        // As many pages as there are: SQLite's own way to say that the disk is full.
        connection
            .batch_execute("PRAGMA max_page_count = 1")
            .await?;
        for name in leases_of(1_000) {
            diesel::insert_into(leases::table)
                .values((
                    leases::name.eq(name),
                    leases::holder.eq("a"),
                    leases::ends_at.eq(crate::moment::StoreTime::now(None)),
                ))
                .execute(connection)
                .await?;
        }
        Ok(())
    });
    assert!(matches!(full, Err(Fault::DiskFull)), "{full:?}");
    assert!(full.unwrap_err().to_string().contains("disk is full"));
    // The next connection is another one, and knows of no such bound.
    held.stamp(crate::DatabaseKind::Real)
        .await
        .expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_be_written_says_so() {
    let held = crate::harness::sqlite().await.expect("always there");
    let refused: Result<(), Fault> = stating!(held, |connection| {
        connection.batch_execute("PRAGMA query_only = ON").await?;
        diesel::delete(leases::table).execute(connection).await?;
        Ok(())
    });
    assert!(matches!(refused, Err(Fault::ReadOnly)), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("read-only"));
    held.stamp(crate::DatabaseKind::Real)
        .await
        .expect("written");
}
