//! `brownstone sync ...`: fetches now what is otherwise fetched when it is due.

use std::process::ExitCode;

use brownstone_rates::Source;
use brownstone_store::DatabaseKind;
use clap::Subcommand;

use super::{complain, say};
use crate::{
    clock,
    config::Config,
    parts::{self, Origin},
    rates,
};

#[derive(Debug, Subcommand)]
pub(crate) enum SyncCommand {
    /// The mortgage rate series
    Rates,
}

impl SyncCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// What went wrong, for a person.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::Rates => sync_rates(config).await,
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
