//! The end of a charge: it stands where the operation succeeded, and is given back where it did not.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
};

use brownstone_quota::{QuotaStore, Receipt};
use tokio::time::Instant;

use crate::Failure;

/// Runs what was charged for, until `ends`. A panic is a failure like any other: whatever is not a success costs nothing.
pub(super) async fn settled<T>(
    quota: &dyn QuotaStore,
    receipt: Receipt,
    ends: Instant,
    mut work: Pin<&mut impl Future<Output = Result<T, Failure>>>,
) -> Result<T, Failure> {
    let caught = std::future::poll_fn(|context| {
        let polled = AssertUnwindSafe(|| work.as_mut().poll(context));
        catch_unwind(polled).unwrap_or_else(|_| {
            // What it said is in the log already: the process's panic hook put it there.
            Poll::Ready(Err(Failure::internal("the operation panicked")))
        })
    });
    let outcome = tokio::time::timeout_at(ends, caught)
        .await
        .unwrap_or_else(|_| Err(Failure::upstream("the call's deadline passed")));
    if outcome.is_err() {
        refund(quota, receipt).await;
    }
    outcome
}

/// A refund is sent once. One that is lost costs the caller units, one sent twice would cost the budget its meaning.
async fn refund(quota: &dyn QuotaStore, receipt: Receipt) {
    match quota.refund(receipt).await {
        Ok(_) => crate::metrics::refunded("done"),
        Err(error) => {
            crate::metrics::refunded("lost");
            tracing::error!(%error, "a refund was lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::Arc};

    use brownstone_domain::{ErrorCode, Limits, ManualClock, Units};
    use brownstone_quota::{Decision, MemoryQuota};
    use time::macros::datetime;

    use super::*;
    use crate::service::CALL_DEADLINE;

    const ACCOUNT: &str = "acc";

    /// What a charge of ten units comes to: the outcome, and the units that are spent.
    async fn charged(
        work: impl Future<Output = Result<u8, Failure>>,
    ) -> (Result<u8, ErrorCode>, u64) {
        let clock = Arc::new(ManualClock::at(datetime!(2026-11-28 12:00 UTC)));
        let quota = MemoryQuota::new(clock);
        let limits = Limits::default();
        let charge = quota.charge(ACCOUNT, Units::new(10), limits).await;
        let Ok(Decision::Admitted { receipt, .. }) = charge else {
            panic!("ten units are there");
        };
        let ends = Instant::now() + CALL_DEADLINE;
        let outcome = settled(&quota, receipt, ends, pin!(work)).await;
        let view = quota.peek(ACCOUNT, limits).await.unwrap();
        let spent = |all: u32, left: u64| u64::from(all) - left;
        let day = spent(limits.per_day(), view.daily_remaining());
        assert_eq!(day, spent(limits.per_minute(), view.minute_remaining()));
        (outcome.map_err(|failure| failure.code), day)
    }

    async fn broken() -> Result<u8, Failure> {
        tokio::task::yield_now().await;
        panic!("on purpose")
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_success_is_charged() {
        assert_eq!(charged(async { Ok(7) }).await, (Ok(7), 10));
        let refused = charged(async { Err(Failure::upstream("silent")) }).await;
        assert_eq!(refused, (Err(ErrorCode::UpstreamError), 0));
        let late = charged(std::future::pending()).await;
        assert_eq!(late, (Err(ErrorCode::UpstreamError), 0));
    }

    #[tokio::test]
    async fn a_panic_after_the_charge_gives_it_back() {
        let outcome = charged(broken()).await;
        assert_eq!(outcome, (Err(ErrorCode::InternalError), 0));
    }
}
