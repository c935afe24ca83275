//! How a server ends: no call is cut off, and what was counted is written.

use std::{fmt::Display, time::Duration};

use brownstone_http::Traffic;
use brownstone_service::{Service, service::CALL_DEADLINE};
use tokio::time::{Instant, sleep};

/// How long calls that are running at a stop may take: the deadline of a call, and a little.
const DRAIN: Duration = CALL_DEADLINE.saturating_add(Duration::from_secs(2));

/// How long no call must have come before the listener closes: a proxy that asks twice a second whether this instance is ready, and believes the
/// second no, has turned away by then.
const QUIET: Duration = Duration::from_millis(1_500);

/// How long calls have that still run when the listeners are closed: one may have come just before, and a refund may wait for the
/// store of the budgets besides.
const SETTLE: Duration = CALL_DEADLINE.saturating_add(Duration::from_secs(5));

/// How long the last write is tried: a database that is being restarted is back by then.
const WRITE: Duration = Duration::from_secs(30);

/// Between two tries of it.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Between two looks at what runs.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until no call runs and none has come for a little, for as long as a call may take. New calls are still served: whoever
/// balances the load has `/readyz` to see, and a connection that is opened or used while the listener closes would be lost.
pub(crate) async fn drain(service: &Service, traffic: &Traffic) {
    let begun = Instant::now();
    let (mut came, mut since) = (traffic.requests(), begun);
    loop {
        sleep(LOOK).await;
        let now = Instant::now();
        if traffic.requests() != came || service.in_flight() > 0 {
            (came, since) = (traffic.requests(), now);
        }
        if now - since >= QUIET || now - begun >= DRAIN {
            return;
        }
    }
}

/// Waits until the calls that outlived their connections are settled: a call whose caller hung up is in no listener's count, and would be
/// charged and cut off. To be called when the listeners are closed, so that none comes any more.
pub(crate) async fn settle(in_flight: impl Fn() -> usize) {
    let begun = Instant::now();
    // Twice: a call gives its place up a moment before it is counted.
    let mut looks_at_none = 0;
    while looks_at_none < 2 {
        if begun.elapsed() >= SETTLE {
            tracing::error!(calls = in_flight(), "calls did not end and are cut off");
            return;
        }
        looks_at_none = if in_flight() == 0 {
            looks_at_none + 1
        } else {
            0
        };
        sleep(LOOK).await;
    }
}

/// Writes what was counted, again and again for half a minute: a batch that may have been written is known by its number, and counts once.
pub(crate) async fn write_last<E: Display>(
    mut write: impl AsyncFnMut() -> Result<(), E>,
) -> Result<(), E> {
    let begun = Instant::now();
    loop {
        match write().await {
            Err(error) if begun.elapsed() < WRITE => {
                tracing::warn!(%error, "the last counts are not written yet; it is tried again");
                sleep(TRY_AGAIN).await;
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_outlives_the_listeners_is_waited_for() {
        let begun = Instant::now();
        let ends = begun + Duration::from_secs(12);
        settle(|| usize::from(Instant::now() < ends)).await;
        assert!(Instant::now() >= ends);
        assert!(Instant::now() < ends + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_never_ends_is_waited_for_longer_than_a_call_may_take_and_no_longer() {
        let begun = Instant::now();
        settle(|| 1).await;
        assert!(begun.elapsed() > CALL_DEADLINE);
        assert!(begun.elapsed() < CALL_DEADLINE * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn where_nothing_runs_nothing_is_waited_for() {
        let begun = Instant::now();
        settle(|| 0).await;
        assert!(begun.elapsed() < Duration::from_millis(100));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_write_is_tried_until_the_database_is_back() {
        let (begun, tries) = (Instant::now(), Cell::new(0));
        let written = write_last(async || {
            tries.set(tries.get() + 1);
            // As long as the store takes to say that nobody answers.
            sleep(Duration::from_secs(2)).await;
            if begun.elapsed() < Duration::from_secs(20) {
                return Err("nobody answers");
            }
            Ok(())
        })
        .await;
        assert_eq!(written, Ok(()));
        assert!(tries.get() > 5);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_write_is_given_up_in_the_end() {
        let begun = Instant::now();
        let written = write_last(async || Err::<(), _>("nobody answers")).await;
        assert_eq!(written, Err("nobody answers"));
        assert!((WRITE..WRITE * 2).contains(&begun.elapsed()));
    }
}
