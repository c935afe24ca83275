//! Tests of work that is cut off half way through a transaction.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use tokio::sync::Semaphore;

use crate::error::Fault;
use crate::harness::Held;
use crate::pool::{reading, writing};
use crate::schema::leases;
use crate::store::{Store, StoreOptions};

const SHORT: Duration = Duration::from_millis(300);

async fn names(store: &Store) -> Vec<String> {
    let names: Result<Vec<String>, Fault> = reading!(store, |connection| {
        Ok(leases::table
            .select(leases::name)
            .order(leases::name)
            .load(connection)
            .await?)
    });
    names.expect("an answer")
}

async fn insert(store: &Store, name: &'static str) -> Result<(), Fault> {
    writing!(store, |connection| {
        diesel::insert_into(leases::table)
            .values(row(name))
            .execute(connection)
            .await?;
        Ok(())
    })
}

type Row = (
    diesel::dsl::Eq<leases::name, &'static str>,
    diesel::dsl::Eq<leases::holder, &'static str>,
    diesel::dsl::Eq<leases::ends_at, crate::moment::StoreTime>,
);

fn row(name: &'static str) -> Row {
    (
        leases::name.eq(name),
        leases::holder.eq("a"),
        leases::ends_at.eq(crate::moment::StoreTime::now(None)),
    )
}

/// More cut-off transactions than there are connections: each is rolled back, and the pool goes on.
async fn cut_off_by_time(held: &Held) {
    let options = StoreOptions {
        connections: 2,
        ..StoreOptions::default()
    };
    let store = held.again(&options);
    let reached = Arc::new(Semaphore::new(0));
    // On a busy machine the time may be over before the row is written.
    for _ in 0..50 {
        if reached.available_permits() == 5 {
            break;
        }
        let begun = reached.clone();
        let cut: Result<(), Fault> = writing!(store, within SHORT, |connection| {
            diesel::insert_into(leases::table)
                .values(row("cut off"))
                .execute(connection)
                .await?;
            begun.add_permits(1);
            pending::<Result<(), Fault>>().await
        });
        assert!(matches!(cut, Err(Fault::Silent(_))), "{cut:?}");
    }
    assert_eq!(
        reached.available_permits(),
        5,
        "each wrote its row before it was cut off"
    );
    insert(&store, "whole").await.expect("kept");
    assert_eq!(names(&store).await, ["whole"]);
}

/// A body that panics is rolled back as well.
async fn cut_off_by_a_panic(held: &Held) {
    let options = StoreOptions {
        connections: 2,
        ..StoreOptions::default()
    };
    let store = held.again(&options);
    for _ in 0..5 {
        let cut: Result<(), Fault> = writing!(store, |connection| {
            diesel::insert_into(leases::table)
                .values(row("cut off"))
                .execute(connection)
                .await?;
            assert!(connection_is_never_this(), "a bug in a body");
            Ok(())
        });
        assert!(matches!(cut, Err(Fault::Stopped(_))), "{cut:?}");
    }
    insert(&store, "whole").await.expect("kept");
    assert_eq!(names(&store).await, ["whole"]);
}

/// Hides from the compiler that the assertion fails.
fn connection_is_never_this() -> bool {
    std::hint::black_box(false)
}

/// An error in the body rolls back and keeps the connection.
async fn an_error_rolls_back(held: &Held) {
    let failed: Result<(), Fault> = writing!(held, |connection| {
        diesel::insert_into(leases::table)
            .values(row("rolled back"))
            .execute(connection)
            .await?;
        Err(Fault::Missing("account"))
    });
    assert!(matches!(failed, Err(Fault::Missing("account"))));
    let failed = insert(held, "whole").await;
    failed.expect("kept");
    // A statement that the database itself refuses.
    assert!(matches!(insert(held, "whole").await, Err(Fault::Query(_))));
    assert_eq!(names(held).await, ["whole"]);
}

macro_rules! stamp {
    ($database:ident: $($case:ident)+) => {
        mod $database {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(held) = crate::harness::$database().await {
                        super::$case(&held).await;
                    }
                }
            )+
        }
    };
}

macro_rules! both {
    ($($case:ident)+) => {
        #[cfg(feature = "sqlite")]
        stamp!(sqlite: $($case)+);
        #[cfg(feature = "postgres")]
        stamp!(postgres: $($case)+);
    };
}

both!(cut_off_by_time cut_off_by_a_panic an_error_rolls_back);
