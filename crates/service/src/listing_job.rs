//! The daily scan of every area: one instance at a time, spread over some hours, gone on with after a stop.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use brownstone_domain::{Clock, Zip};
use brownstone_listings::{Listings, store::AreaState};
use brownstone_report_cache::Lease;
use time::{OffsetDateTime, Time};

/// Who scans.
pub const LEASE: &str = "listings";

/// How long the right to scan lasts where nobody renews it.
pub const LEASE_FOR: Duration = Duration::from_secs(60);

/// How long a page of the feed may take.
pub const PAGE_WITHIN: Duration = Duration::from_secs(30);

/// How often work is looked for, and what others have scanned is taken up.
const LOOK: Duration = Duration::from_secs(1);

/// Areas scanned at a time.
const AT_ONCE: usize = 4;

/// Areas scanned before the lease is renewed and work is looked for again.
const AT_A_TIME: usize = 16;

/// How long an area that could not be scanned is left alone.
const PAUSE: time::Duration = time::Duration::minutes(10);

/// When areas are scanned each day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// When the first is due, UTC.
    pub at: Time,
    /// Over how long the others follow.
    pub spread: Duration,
}

impl Schedule {
    /// The areas that are due: never scanned, or not since their moment of the day. Those that waited longest first.
    pub fn due(
        &self,
        entitled: &[Zip],
        areas: &BTreeMap<Zip, AreaState>,
        now: OffsetDateTime,
    ) -> Vec<Zip> {
        let count = u32::try_from(entitled.len()).unwrap_or(u32::MAX).max(1);
        let mut due: Vec<(Option<OffsetDateTime>, Zip)> = (0_u32..)
            .zip(entitled)
            .filter_map(|(number, zip)| {
                let last = areas.get(zip).and_then(|area| area.last_complete_scan_at);
                let slot = now.replace_time(self.at) + self.spread / count * number;
                // The latest such moment that has come: today's, yesterday's, or the day before's where the spread is long.
                let days = (0..=2).map(time::Duration::days);
                let slot = days.map(|days| slot - days).find(|slot| *slot <= now)?;
                last.is_none_or(|last| last < slot).then_some((last, *zip))
            })
            .collect();
        due.sort();
        due.into_iter().map(|(_, zip)| zip).collect()
    }
}

/// Keeps the listings current until it is dropped: scans what is due, and takes up what others have scanned.
pub async fn run(
    listings: Arc<Listings>,
    lease: Arc<dyn Lease>,
    clock: Arc<dyn Clock>,
    holder: String,
    schedule: Schedule,
) {
    let mut next = tokio::time::interval(LOOK);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut failed: BTreeMap<Zip, OffsetDateTime> = BTreeMap::new();
    loop {
        next.tick().await;
        if let Err(error) = listings.refresh().await {
            tracing::warn!(%error, "listings could not be looked at");
            continue;
        }
        let mut held = false;
        let mut round = Round::default();
        loop {
            let now = clock.now();
            let rested = |zip: &Zip| failed.get(zip).is_none_or(|at| now - *at >= PAUSE);
            let mut due = schedule.due(listings.entitled(), &listings.areas(), now);
            due.retain(rested);
            due.truncate(AT_A_TIME);
            if due.is_empty() {
                break;
            }
            match lease.acquire(LEASE, &holder, LEASE_FOR, None).await {
                Ok(true) => held = true,
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "the right to scan listings could not be had");
                    break;
                }
            }
            for (zip, worked) in scan(&listings, &due).await {
                crate::metrics::job("listings", worked);
                round.count(worked);
                if worked {
                    failed.remove(&zip);
                } else {
                    failed.insert(zip, clock.now());
                }
            }
        }
        if held && let Err(error) = lease.release(LEASE, &holder).await {
            // It ends by itself.
            tracing::warn!(%error, "the right to scan listings could not be given up");
        }
        round.tell();
    }
}

/// What a look for work came to: one line in the log, and not one an area.
#[derive(Debug, Default)]
struct Round {
    areas: usize,
    failed: usize,
}

impl Round {
    fn count(&mut self, worked: bool) {
        self.areas += 1;
        self.failed += usize::from(!worked);
    }

    fn tell(&self) {
        if self.areas > 0 {
            tracing::info!(
                areas = self.areas,
                failed = self.failed,
                "listings were scanned"
            );
        }
    }
}

/// Scans some areas, a few at a time; by area whether it worked.
async fn scan(listings: &Arc<Listings>, zips: &[Zip]) -> Vec<(Zip, bool)> {
    let mut outcomes = Vec::with_capacity(zips.len());
    for some in zips.chunks(AT_ONCE) {
        let mut scans = tokio::task::JoinSet::new();
        for zip in some.iter().copied() {
            let listings = Arc::clone(listings);
            scans.spawn(async move {
                match listings.scan(zip, PAGE_WITHIN).await {
                    Some(Ok(_)) => (zip, true),
                    Some(Err(error)) => {
                        tracing::warn!(%zip, %error, "an area could not be scanned");
                        (zip, false)
                    }
                    None => (zip, false),
                }
            });
        }
        while let Some(outcome) = scans.join_next().await {
            outcomes.extend(outcome.ok());
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use time::macros::{datetime, time};

    use super::*;

    fn zip(text: &str) -> Zip {
        text.parse().unwrap()
    }

    #[test]
    fn areas_are_due_at_their_moment_of_the_day() {
        let schedule = Schedule {
            at: time!(6:00),
            spread: Duration::from_secs(2 * 3_600),
        };
        let entitled = [zip("10001"), zip("10002")];
        let scanned = |zip: Zip, at| AreaState {
            zip,
            version: 1,
            first_snapshot_at: Some(at),
            last_complete_scan_at: Some(at),
        };
        let yesterday = datetime!(2026-11-27 7:30 UTC);
        let mut areas = BTreeMap::new();
        let now = datetime!(2026-11-28 3:00 UTC);
        assert_eq!(
            schedule.due(&entitled, &areas, now),
            entitled,
            "never scanned"
        );
        for zip in entitled {
            areas.insert(zip, scanned(zip, yesterday));
        }
        let due = |at| schedule.due(&entitled, &areas, at);
        assert!(due(datetime!(2026-11-28 5:59 UTC)).is_empty());
        assert_eq!(due(datetime!(2026-11-28 6:00 UTC)), [zip("10001")]);
        assert_eq!(due(datetime!(2026-11-28 7:00 UTC)), entitled);
        assert_eq!(due(datetime!(2026-11-30 0:00 UTC)), entitled);
    }
}
