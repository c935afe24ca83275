//! What a lookup carries beside its report, where it is asked for. None of it fails the lookup: a warning says what is left out.

use std::time::Duration;

use brownstone_address::geocoder::Resolved;
use brownstone_domain::{Bbl, CompsRequest, rentals::RentalsRequest};
use bytes::Bytes;
use tokio::time::Instant;

use super::Lookups;
use crate::Failure;

/// How much of the call's time is left for its answer. A report may have taken most of it, and a scan of listings may take longer than the
/// rest.
const SPARE: Duration = Duration::from_secs(1);

impl Lookups {
    /// The comparable sales at their defaults, or why there are none.
    pub(super) async fn comps_of(
        &self,
        address: &str,
        resolved: &Resolved,
        unit_bbl: Option<Bbl>,
        ends: Instant,
    ) -> Result<Bytes, &'static str> {
        let comps = self
            .comps
            .as_ref()
            .ok_or("Comparable sales are not offered by this deployment.")?;
        let request = CompsRequest::of(address);
        in_time(ends, comps.bytes(&request, resolved, unit_bbl))
            .await
            .map_err(|failure| {
                tracing::warn!(?failure, "a lookup goes without comparable sales");
                "Comparable sales could not be had; they are left out."
            })
    }

    /// The comparable rentals at their defaults, or why there are none.
    pub(super) async fn rentals_of(
        &self,
        address: &str,
        resolved: &Resolved,
        ends: Instant,
    ) -> Result<Bytes, &'static str> {
        let rentals = self
            .rentals
            .as_ref()
            .ok_or("Comparable rentals are not offered by this deployment.")?;
        let request = RentalsRequest::of(address);
        in_time(ends, rentals.bytes(&request, resolved))
            .await
            .map_err(|failure| {
                tracing::warn!(?failure, "a lookup goes without comparable rentals");
                "Comparable rentals could not be had; they are left out."
            })
    }
}

/// What is had before the call, which ends at `ends`, must answer. What need not wait is had at any time.
async fn in_time<T>(
    ends: Instant,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let until = ends.checked_sub(SPARE).unwrap_or(ends);
    let had = tokio::time::timeout_at(until, work).await;
    had.unwrap_or_else(|_| Err(Failure::upstream("the call's time was up")))
}

#[cfg(test)]
mod tests {
    use brownstone_domain::ErrorCode;

    use super::*;
    use crate::service::CALL_DEADLINE;

    #[tokio::test(start_paused = true)]
    async fn what_is_beside_a_report_leaves_the_call_time_to_answer() {
        let begun = Instant::now();
        let ends = begun + CALL_DEADLINE;
        // A report may take fifteen seconds, a scan eight.
        tokio::time::sleep(Duration::from_secs(15)).await;
        let scan = async {
            tokio::time::sleep(Duration::from_secs(8)).await;
            Ok(())
        };
        let failure = in_time(ends, scan).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::UpstreamError);
        assert!(begun.elapsed() < CALL_DEADLINE, "{:?}", begun.elapsed());
        let at_hand = in_time(ends, async { Ok(7) }).await;
        assert_eq!(at_hand.unwrap(), 7);
    }
}
