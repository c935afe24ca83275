//! `brownstone sync listings`: every area, now.

use std::{io::IsTerminal as _, process::ExitCode, sync::Arc, time::Duration};

use anyhow::bail;
use brownstone_domain::Zip;
use brownstone_listings::{
    Listings,
    scan::{ScanError, ScanReport},
};
use brownstone_service::listing_job::{LEASE, LEASE_FOR, PAGE_WITHIN};
use brownstone_store::DatabaseKind;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

use super::{complain, say};
use crate::{
    addresses, clock,
    config::Config,
    listings,
    parts::{self, Origin},
};

/// Areas scanned at a time.
const AT_ONCE: usize = 4;

/// Scans every area whole. An area that broke off is gone on with by the next run; a running server takes up each area
/// as it is done.
pub(super) async fn sync(config: &Config) -> anyhow::Result<ExitCode> {
    let clock = clock::clock(config)?;
    let store = parts::open_store(config).await?;
    // Real listings never go into a sample's database.
    store.stamp(DatabaseKind::Real).await?;
    addresses::bring_up_to_date(config, &store).await;
    let city = parts::city(config, &clock, &Origin::Configured)?;
    let listings = listings::listings(config, &store, &clock, &city, &Origin::Configured)?;
    let areas = listings.entitled();
    if areas.is_empty() {
        bail!(
            "there is nothing to scan: listings_source, its credential and listings_areas must be set"
        );
    }
    let (leases, holder) = (store.leases(), uuid::Uuid::now_v7().to_string());
    let bar = bar(areas.len() as u64);
    let (mut sum, mut failed) = (ScanReport::default(), 0_u64);
    for some in areas.chunks(AT_ONCE) {
        if !leases.acquire(LEASE, &holder, LEASE_FOR, None).await? {
            bar.finish_and_clear();
            bail!("another process scans the listings just now; it does the same work");
        }
        for (zip, outcome) in scan(&listings, some).await {
            match outcome {
                Ok(report) => {
                    sum.listings += report.listings;
                    sum.duplicates += report.duplicates;
                    sum.unplaced += report.unplaced;
                    sum.withheld += report.withheld;
                    sum.concealed += report.concealed;
                    sum.events += report.events;
                    for (field, count) in report.dropped {
                        *sum.dropped.entry(field).or_insert(0) += count;
                    }
                }
                Err(error) => {
                    failed += 1;
                    bar.suspend(|| complain(&format!("{zip}: {error}")));
                }
            }
            bar.inc(1);
        }
    }
    leases.release(LEASE, &holder).await?;
    bar.finish_and_clear();
    for (field, count) in &sum.dropped {
        // A row without an identifier is no listing; everything else is a value.
        let what = match *field {
            "listing" => "rows without an identifier dropped".to_owned(),
            field => format!("impossible values dropped: {field}"),
        };
        say(&format!("{count:>10} {what}"));
    }
    say(&format!(
        "{} listings in {} areas, {} twice, {} without a building, {} without their address; {} withheld, {} changes; \
         {failed} areas failed",
        sum.listings,
        areas.len(),
        sum.duplicates,
        sum.unplaced,
        sum.concealed,
        sum.withheld,
        sum.events,
    ));
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn scan(listings: &Arc<Listings>, zips: &[Zip]) -> Vec<(Zip, Result<ScanReport, ScanError>)> {
    let mut scans = JoinSet::new();
    for zip in zips.iter().copied() {
        let listings = Arc::clone(listings);
        scans.spawn(async move { (zip, listings.scan(zip, PAGE_WITHIN).await) });
    }
    let outcomes = scans.join_all().await;
    outcomes
        .into_iter()
        .filter_map(|(zip, outcome)| Some((zip, outcome?)))
        .collect()
}

/// Progress on a terminal; elsewhere nothing.
fn bar(areas: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(areas);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {wide_bar} {pos} of {len} areas {elapsed}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
