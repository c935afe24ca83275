//! The operator's commands.

mod accounts;
mod backtest;
mod contract;
mod doctor;
mod import;
mod records;
mod sync;
mod sync_listings;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use brownstone_accounts::Environment;
use clap::{Args, CommandFactory as _, Parser, Subcommand};

use crate::{
    config::{Config, Layers, refuse_weak, warn_of_an_open_file},
    serve,
};

/// The configuration file, where no other is named.
const DEFAULT_FILE: &str = "brownstone.toml";

/// What does the record know about this New York City building? One call answers.
#[derive(Debug, Parser)]
#[command(name = "brownstone", version, propagate_version = true)]
pub(crate) struct Cli {
    /// Configuration file; without it brownstone.toml, where there is one
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Command,
}

/// Settings as flags; each wins over its variable and the file.
#[derive(Debug, Args)]
struct Flags {
    /// Where the API listens; port 0 picks a free one
    #[arg(long, global = true, value_name = "ADDR")]
    api_addr: Option<String>,
    /// Database: sqlite://PATH or postgres://...
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Where index files live
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// Deployment: test or live
    #[arg(long, global = true, value_name = "NAME")]
    environment: Option<String>,
    /// How addresses are resolved: auto, pad or geosearch
    #[arg(long, global = true, value_name = "KIND")]
    geocoder: Option<String>,
    /// Log filter, such as warn or debug
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
}

impl Flags {
    fn given(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        [
            ("api_addr", &self.api_addr),
            ("database_url", &self.database_url),
            ("data_dir", &self.data_dir),
            ("environment", &self.environment),
            ("geocoder", &self.geocoder),
            ("log", &self.log),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.clone()?)))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the API
    Serve {
        /// Serve a small made-up city: no credentials, no network
        #[arg(long)]
        sample: bool,
    },
    /// Open, suspend and restore accounts
    #[command(subcommand)]
    Account(accounts::AccountCommand),
    /// Raise or lower the ceilings of an account
    #[command(subcommand)]
    Limits(accounts::LimitsCommand),
    /// The audit trail
    #[command(subcommand)]
    Audit(accounts::AuditCommand),
    /// Make, list, rotate and revoke API keys
    #[command(subcommand)]
    Key(accounts::KeyCommand),
    /// Import what the city publishes as files
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Fetch now what is otherwise fetched when it is due
    #[command(subcommand)]
    Sync(sync::SyncCommand),
    /// Look an address up in the terminal; no server, no budget
    Lookup {
        /// An address, a BBL or a BIN
        address: String,
        /// The whole report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Address to building alone; without an address, one per line from standard input
    Resolve {
        /// An address, a BBL or a BIN
        address: Option<String>,
        /// One JSON object for each address
        #[arg(long)]
        json: bool,
    },
    /// Value past sales by what was known before them, and print how wrong that was
    Backtest(backtest::BacktestArgs),
    /// The registered sources, one a line
    Sources {
        /// The page of all sources, as it stands in docs/sources.md
        #[arg(long)]
        page: bool,
    },
    /// Every metric and what it is: the page, as it stands in docs/operations/metrics.md
    Metrics,
    /// The OpenAPI document, as it stands in docs/openapi.json
    Openapi {
        /// In OpenAPI 3.0.3, as it stands in docs/openapi-3.0.json
        #[arg(long)]
        older: bool,
    },
    /// The page of all error codes, as it stands in docs/errors.md
    Errors,
    /// Print the configuration and where each value comes from, secrets hidden
    Config {
        /// Instead, a configuration file with every key, its default and what it is for
        #[arg(long)]
        example: bool,
    },
    /// Completions for a shell, to be put where it looks for them
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual page, for man -l
    Man,
    /// Copy the SQLite database, whole and consistent, while it is in use
    Backup {
        /// The new file; it must not exist
        path: PathBuf,
    },
    /// Bring the database's schema up to date
    Migrate,
    /// Check every part and say what to do
    Doctor {
        /// Ask each dataset for its columns, too, and name those that differ from the catalogue
        #[arg(long)]
        sources: bool,
    },
}

impl Cli {
    /// Whether it answers calls until it is told to end.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.command, Command::Serve { .. })
    }

    /// Carries the command out.
    ///
    /// # Errors
    /// What went wrong, for a person.
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let layers = self.layers()?;
        let config = Config::of(&layers)?;
        let logging = crate::logging::start(&layers, &config, !self.serves())?;
        match self.command {
            Command::Serve { sample } => {
                let file = self.config.as_deref();
                warn_of_an_open_file(file.unwrap_or(Path::new(DEFAULT_FILE)), &layers);
                if config.environment == Environment::Live {
                    refuse_weak(&layers)?;
                }
                let served = serve::serve(config, sample).await;
                logging.close().await;
                served?;
            }
            Command::Account(command) => command.run(&config).await?,
            Command::Limits(command) => command.run(&config).await?,
            Command::Audit(command) => return command.run(&config).await,
            Command::Key(command) => command.run(&config).await?,
            Command::Import(command) => command.run(&config).await?,
            Command::Sync(command) => return command.run(&config).await,
            Command::Lookup { address, json } => {
                return records::lookup(&config, address, json).await;
            }
            Command::Resolve { address, json } => {
                return records::resolve(&config, address, json).await;
            }
            Command::Sources { page } => records::sources(&config, page)?,
            Command::Openapi { older } => contract::openapi(&config, older)?,
            Command::Errors => say(brownstone_http::errors_page::markdown().trim_end()),
            Command::Backtest(args) => args.run()?,
            Command::Metrics => say(crate::metrics::page().trim_end()),
            Command::Config { example: true } => say(crate::config::example().trim_end()),
            Command::Config { example: false } => say(layers.describe().trim_end()),
            Command::Completions { shell } => {
                let mut command = Cli::command();
                let name = command.get_name().to_owned();
                clap_complete::generate(shell, &mut command, name, &mut std::io::stdout());
            }
            Command::Man => man(&mut std::io::stdout())?,
            Command::Backup { path } => {
                let store = crate::parts::patient_store(&config)?;
                store.backup(&path).await?;
                say(&format!("backed up to {}", path.display()));
            }
            Command::Migrate => {
                let store = crate::parts::patient_store(&config)?;
                let ran = store.migrate().await?;
                say(&format!("{ran} migrations ran"));
            }
            Command::Doctor { sources } => return doctor::doctor(&config, sources).await,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn layers(&self) -> anyhow::Result<Layers> {
        let file = match &self.config {
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?,
            ),
            None => match std::fs::read_to_string(DEFAULT_FILE) {
                Ok(text) => Some(text),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => return Err(error).context("cannot read brownstone.toml"),
            },
        };
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Layers::read(file.as_deref(), environment, self.flags.given())
    }
}

/// A line on standard output. A reader that went away is no fault of ours.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A line on standard error.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The manual page: the program, and each command with its options.
fn man(out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let mut program = Cli::command();
    program.build();
    let page = clap_mangen::Man::new(program.clone());
    page.render(out)?;
    for command in program.get_subcommands().filter(|c| !c.is_hide_set()) {
        for part in [command].into_iter().chain(command.get_subcommands()) {
            if part.get_name() == "help" {
                continue;
            }
            let part = clap_mangen::Man::new(part.clone().disable_help_subcommand(true));
            part.render_name_section(out)?;
            part.render_synopsis_section(out)?;
            part.render_options_section(out)?;
        }
    }
    Ok(())
}
