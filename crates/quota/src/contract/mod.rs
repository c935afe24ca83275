//! What every store must do, as functions that any of them can be run through. Behind the feature `contract`.
//!
//! [`quota_store_contract!`](crate::quota_store_contract) and [`spent_ledger_contract!`](crate::spent_ledger_contract) make
//! one test of each function. The functions panic where the store does something else; they are for tests only.
//!
//! ```text
//! async fn rig() -> Rig {
//!     let clock = Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC)));
//!     let store = Arc::new(MyStore::connect(clock.clone()).await);
//!     Rig::new(store, clock)
//! }
//! brownstone_quota::quota_store_contract!(rig);
//! ```

mod budgets;
mod ledger;

use std::{
    any::Any,
    future::{Future, poll_fn},
    hash::{BuildHasher, RandomState},
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use brownstone_domain::{Limits, ManualClock, Units, clock::from_micros};

pub use self::{budgets::*, ledger::*};
use crate::{
    decision::{Decision, Receipt, View},
    record::{DAY_US, Outcome, Record},
    store::QuotaStore,
};

/// Noon of a day, in microseconds since the Unix epoch: where each function starts the clock.
pub const NOON_US: u64 = 20_784 * DAY_US + DAY_US / 2;

/// A store and the clock that it reads.
pub struct Rig {
    store: Arc<dyn QuotaStore>,
    clock: Arc<ManualClock>,
    _keep: Box<dyn Any + Send + Sync>,
}

impl Rig {
    /// A store that reads its time from `clock` and from nowhere else.
    pub fn new(store: Arc<dyn QuotaStore>, clock: Arc<ManualClock>) -> Self {
        Self::keeping(store, clock, ())
    }

    /// The same, with something to keep alive as long: a folder, a server.
    pub fn keeping(
        store: Arc<dyn QuotaStore>,
        clock: Arc<ManualClock>,
        keep: impl Any + Send + Sync,
    ) -> Self {
        let rig = Self {
            store,
            clock,
            _keep: Box::new(keep),
        };
        rig.set(NOON_US);
        rig
    }

    /// The store.
    pub fn store(&self) -> &dyn QuotaStore {
        &*self.store
    }

    fn set(&self, now_us: u64) {
        self.clock
            .set(from_micros(now_us).expect("a moment before the year 10000"));
    }

    async fn charge(&self, account: &str, cost: u32, limits: Limits) -> Decision {
        self.store
            .charge(account, Units::new(cost), limits)
            .await
            .expect("the store answers")
    }

    async fn admit(&self, account: &str, cost: u32, limits: Limits) -> Receipt {
        match self.charge(account, cost, limits).await {
            Decision::Admitted { receipt, .. } => receipt,
            other => panic!("{cost} units should have been admitted: {other:?}"),
        }
    }

    async fn peek(&self, account: &str, limits: Limits) -> View {
        self.store
            .peek(account, limits)
            .await
            .expect("the store answers")
    }

    async fn refund(&self, receipt: Receipt) {
        self.store.refund(receipt).await.expect("the store answers");
    }

    /// Units left in both budgets.
    async fn left(&self, account: &str, limits: Limits) -> (u64, u64) {
        let view = self.peek(account, limits).await;
        (view.minute_remaining(), view.daily_remaining())
    }
}

/// A name that no earlier run has used, for stores that outlive a test.
fn fresh(name: &str) -> String {
    format!("{name}-{:016x}", RandomState::new().hash_one(name))
}

fn limits(per_minute: u32, per_day: u32) -> Limits {
    Limits::new(per_minute, per_day).expect("within range")
}

/// The same random numbers on every run.
struct Dice(u64);

impl Dice {
    /// Below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len() as u64) as usize]
    }
}

type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all at once in one task, so that they interleave wherever they wait.
async fn together<T>(mut tasks: Vec<Task<'_, T>>) -> Vec<T> {
    let mut done = Vec::with_capacity(tasks.len());
    poll_fn(|context| {
        tasks.retain_mut(|task| match task.as_mut().poll(context) {
            Poll::Ready(value) => {
                done.push(value);
                false
            }
            Poll::Pending => true,
        });
        if tasks.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done
}

/// One test for each function of the contract of [`QuotaStore`](crate::QuotaStore).
///
/// The argument is an async function without arguments that returns a [`Rig`](crate::contract::Rig), or `None` where the
/// server it needs is not there: it says so itself, and the test ends. Needs tokio with `macros` and `rt-multi-thread`
/// where it is used.
#[macro_export]
macro_rules! quota_store_contract {
    ($rig:path) => {
        $crate::quota_store_contract!(@ $rig:
            a_fresh_account_has_everything,
            a_charge_moves_both_budgets,
            a_refusal_writes_nothing,
            nothing_is_charged_for_nothing,
            the_wait_is_exact,
            a_spent_day_starts_anew_at_midnight_utc,
            the_bucket_refills_without_drift,
            a_refund_gives_back_what_is_due,
            new_limits_are_in_force_at_once,
            a_clock_that_steps_back_gives_nothing,
            accounts_do_not_touch_each_other,
            calls_at_one_time_share_one_budget,
            a_random_history_agrees_with_the_reference,
        );
    };
    (@ $rig:path: $($name:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let rig = ::core::option::Option::<$crate::contract::Rig>::from($rig().await);
                if let ::core::option::Option::Some(rig) = rig {
                    $crate::contract::$name(&rig).await;
                }
            }
        )+
    };
}

/// One test for each function of the contract of [`SpentLedger`](crate::SpentLedger).
///
/// The argument is an async function without arguments that returns an empty ledger as `Arc<dyn SpentLedger>`, or a pair of
/// it and something to keep alive as long. Needs tokio with `macros` and `rt-multi-thread` where it is used.
#[macro_export]
macro_rules! spent_ledger_contract {
    ($ledger:path) => {
        $crate::spent_ledger_contract!(@ $ledger:
            a_reservation_is_read_back,
            a_reservation_never_goes_down_within_a_day,
            a_later_day_replaces_an_earlier_one,
            settling_replaces_everything,
            a_reservation_makes_a_settled_bucket_unknown,
            the_greatest_values_fit,
        );
    };
    (@ $ledger:path: $($name:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::contract::$name(&*$ledger().await).await;
            }
        )+
    };
}

/// Charges the reference record; returns what the store should have answered for `account`.
fn reference(
    record: &mut Record,
    now_us: u64,
    account: &str,
    cost: u32,
    limits: Limits,
) -> Decision {
    let outcome = record.charge(now_us, Units::new(cost), limits);
    if let Outcome::Admitted { record: after, .. } = outcome {
        *record = after;
    }
    outcome.into_decision(account)
}
