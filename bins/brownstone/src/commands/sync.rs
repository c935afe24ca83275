//! `brownstone sync ...`: fetches now what is otherwise fetched when it is due.

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use brownstone_rates::Source;
use brownstone_soda::Soda;
use brownstone_store::{DatabaseKind, Store};
use brownstone_valuation::{Loaded, Lots, sync};
use clap::Subcommand;
use indicatif::ProgressBar;

use super::{complain, say};
use crate::{
    clock,
    config::Config,
    parts::{self, Origin},
    rates, sales,
};

#[derive(Debug, Subcommand)]
pub(crate) enum SyncCommand {
    /// Every area of the listing feed; a running server takes each up as it is done
    Listings,
    /// The mortgage rate series
    Rates,
    /// The city's sales, annualized and rolling, into the sales index; a running server takes it up within two seconds
    Sales {
        /// Published files (CSV, plain or gzip, XLSX), or folders of them, instead of the city's open data
        #[arg(long, value_name = "FILE", num_args = 1..)]
        from: Vec<PathBuf>,
    },
    /// The land-use table, into the sales index: place, size, age, units and class of every lot
    Pluto {
        /// A published file (CSV) instead of the city's open data
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
}

impl SyncCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// What went wrong, for a person.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::Listings => super::sync_listings::sync(config).await,
            Self::Rates => sync_rates(config).await,
            Self::Sales { from } => sync_sales(config, &from).await,
            Self::Pluto { from } => sync_pluto(config, from).await,
        }
    }
}

/// One line a series. It is a success when any was read: what failed keeps its last good value.
async fn sync_rates(config: &Config) -> anyhow::Result<ExitCode> {
    let clock = clock::clock(config)?;
    let store = parts::open_store(config).await?;
    // Real rates never go into a sample's database.
    store.stamp(DatabaseKind::Real).await?;
    let rates = rates::rates(config, &store, &clock, &Origin::Configured)?;
    let mut read = 0;
    for synced in rates.sync().await {
        match synced.outcome {
            Ok(found) => {
                for (series, newest) in found {
                    read += 1;
                    say(&format!(
                        "{:<28} {:>7} percent, {}",
                        series.id, newest.latest.rate_percent, newest.latest.date
                    ));
                }
            }
            Err(error) => {
                let what = match synced.source {
                    Source::Fred(id) => id,
                    Source::PmmsFile => "the survey's file",
                };
                complain(&format!("{what}: {error}"));
            }
        }
    }
    say(&format!("{read} series read"));
    Ok(if read > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// New sales, with the lots that are there.
async fn sync_sales(config: &Config, from: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let (soda, store) = city(config).await?;
    let loaded = if from.is_empty() {
        let bar = bar();
        let loaded = sync::fetch_sales(soda.as_ref(), &mut |rows| {
            bar.set_message(format!("{rows} sales"));
        })
        .await;
        bar.finish_and_clear();
        loaded?
    } else {
        brownstone_valuation::load(from)?
    };
    let rows = loaded.rows;
    let counts: Vec<_> = loaded.exclusions.iter().collect();
    for (reason, name, count) in counts {
        if count > 0 {
            let what = if reason.drops() {
                "left out"
            } else {
                "marked or mended"
            };
            say(&format!("{count:>10} {what}: {name}"));
        }
    }
    let place = sales::sales_index(config);
    let shared = newest(config, &store, &place).await?;
    let lots = sales::in_place(&place).map_or_else(Lots::default, |index| index.lots());
    let index = sales::build(loaded, lots).await?;
    say("learning from the sales");
    let model = sales::train(&index).await?;
    let said = format!(
        "{rows} rows read; the index has {} sales and {} lots, {:.1} MB",
        index.len(),
        index.lot_count(),
        index.bytes().len() as f64 / 1e6,
    );
    sales::publish(shared, index, Some(model), &place).await?;
    say(&said);
    Ok(ExitCode::SUCCESS)
}

/// New lots, with the sales that are there.
async fn sync_pluto(config: &Config, from: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let (soda, store) = city(config).await?;
    let lots = match from {
        Some(path) => {
            let bytes = std::fs::read(&path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            Lots::read(&path.display().to_string(), &bytes)?
        }
        None => {
            let bar = bar();
            let lots = sync::fetch_lots(soda.as_ref(), &mut |rows| {
                bar.set_message(format!("{rows} lots"));
            })
            .await;
            bar.finish_and_clear();
            lots?
        }
    };
    let place = sales::sales_index(config);
    let shared = newest(config, &store, &place).await?;
    let loaded = sales::in_place(&place).map_or_else(Loaded::default, |index| index.to_loaded());
    let index = sales::build(loaded, lots).await?;
    let said = format!(
        "the index has {} lots and {} sales, {:.1} MB",
        index.lot_count(),
        index.len(),
        index.bytes().len() as f64 / 1e6,
    );
    sales::publish(shared, index, None, &place).await?;
    say(&said);
    Ok(ExitCode::SUCCESS)
}

/// The city's open data, and a database that holds the city's own records.
async fn city(config: &Config) -> anyhow::Result<(Arc<dyn Soda>, Store)> {
    let store = parts::open_store(config).await?;
    store.stamp(DatabaseKind::Real).await?;
    let clock = clock::clock(config)?;
    let city = parts::city(config, &clock, &Origin::Configured)?;
    Ok((city.deps.city.soda, store))
}

/// What is new comes beside what is there: where a database keeps it for several instances, the newest of it, whoever
/// made it.
async fn newest<'a>(
    config: &Config,
    store: &'a Store,
    place: &Path,
) -> anyhow::Result<Option<&'a Store>> {
    let shared = sales::shared_store(config, store);
    if let Some(store) = shared {
        sales::Copy::of(store.clone(), place.to_owned())
            .fetch_newest()
            .await?;
    }
    Ok(shared)
}

/// A spinner on a terminal; elsewhere nothing.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
