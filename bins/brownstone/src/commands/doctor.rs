//! `brownstone doctor`: checks every part and says what to do.

use std::{process::ExitCode, time::Duration};

use brownstone_domain::Limits;
use brownstone_store::Store;
use tokio::time::Instant;

use super::say;
use crate::{
    clock,
    config::Config,
    parts::{self, Origin},
    rates,
};

/// How long one check may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the look at every dataset's columns may take.
const CANARY: Duration = Duration::from_secs(120);

/// What the checks have found so far.
#[derive(Default)]
struct Findings {
    bad: usize,
}

impl Findings {
    fn good(what: &str, detail: &str) {
        say(&format!("ok    {what}: {detail}"));
    }

    fn note(what: &str, detail: &str) {
        say(&format!("note  {what}: {detail}"));
    }

    fn bad(&mut self, what: &str, detail: &str, advice: &str) {
        self.bad += 1;
        say(&format!("FAIL  {what}: {detail}"));
        say(&format!("      {advice}"));
    }
}

/// Runs the checks; `sources` asks each dataset for its columns, too.
pub(crate) async fn doctor(config: &Config, sources: bool) -> anyhow::Result<ExitCode> {
    let mut findings = Findings::default();
    database(config, &mut findings).await;
    let clock = clock::clock(config)?;
    let now = clock.now();
    if now.year() < 2026 {
        findings.bad(
            "clock",
            &now.to_string(),
            "Set the machine's clock; budgets and reports depend on it.",
        );
    } else {
        Findings::good("clock", &now.to_string());
    }
    Findings::good(
        "keys",
        &format!(
            "this deployment takes keys that begin {}",
            config.environment.key_prefix()
        ),
    );
    let city = parts::city(config, &clock, &Origin::Configured)?;
    Findings::good("addresses", city.geocoder.name());
    let (_, publishers_of_rates) = rates::feeds(config, &Origin::Configured)?;
    for upstream in city.upstreams.iter().chain(&publishers_of_rates) {
        let request = brownstone_upstream::Request::get(Vec::<String>::new());
        match upstream.get(request, Instant::now() + PATIENCE).await {
            Ok(response) => Findings::good(
                upstream.name(),
                &format!("{} answers {}", upstream.base_url(), response.status),
            ),
            Err(error) => findings.bad(
                upstream.name(),
                &error.to_string(),
                &format!("Check that this machine reaches {}.", upstream.base_url()),
            ),
        }
    }
    if sources {
        columns(&city, &mut findings).await?;
    }
    Ok(if findings.bad == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn database(config: &Config, findings: &mut Findings) {
    let store = match Store::open(&config.database_url) {
        Ok(store) => store,
        Err(error) => {
            findings.bad("database", &error.to_string(), "Check database_url.");
            return;
        }
    };
    match store.ping().await {
        Ok(()) => Findings::good("database", store.database_name()),
        Err(error) => findings.bad(
            "database",
            &error.to_string(),
            "Check that the database runs and that database_url names it; a new one wants `brownstone migrate` first.",
        ),
    }
    budgets(config, &store, findings).await;
}

/// Budgets that instances share must answer; those in the process need no check.
async fn budgets(config: &Config, store: &Store, findings: &mut Findings) {
    let shared = config.quota_url.is_some() || config.database_url.starts_with("postgres");
    if !shared {
        Findings::good(
            "budgets",
            "kept in the serving process, written ahead to the database",
        );
        return;
    }
    let asked = async {
        let clock = clock::clock(config)?;
        let budgets = parts::Budgets::open(config, store, &clock).await?;
        let view = budgets.quota.peek("doctor", Limits::default()).await;
        view.map_err(|error| anyhow::anyhow!("{}", error.detail()))
    };
    match asked.await {
        Ok(_) => Findings::good("budgets", "the shared store answers"),
        Err(error) => findings.bad(
            "budgets",
            &format!("{error:#}"),
            "Check quota_url, and that the store it names runs: calls answer 503 until it does.",
        ),
    }
}

/// Names each dataset whose columns differ from the catalogue.
async fn columns(city: &parts::City, findings: &mut Findings) -> anyhow::Result<()> {
    let drifts = brownstone_sources::canary::drifts(&city.deps, Instant::now() + CANARY).await?;
    for drift in &drifts {
        let what = format!("{} ({})", drift.source, drift.dataset);
        if let Some(why) = &drift.unreadable {
            findings.bad(&what, why, "The publisher may have moved it.");
        }
        for (problem, columns) in [
            ("key columns gone", &drift.keys_gone),
            ("columns gone", &drift.missing),
        ] {
            if !columns.is_empty() {
                let detail = format!("{problem}: {}", columns.join(", "));
                findings.bad(&what, &detail, "Update the source's file in the catalogue.");
            }
        }
        for (column, kind) in &drift.retyped {
            Findings::note(
                &what,
                &format!("{column} is now {kind}; asked the other way"),
            );
        }
        if !drift.unknown.is_empty() {
            Findings::note(&what, &format!("new columns: {}", drift.unknown.join(", ")));
        }
    }
    if drifts.is_empty() {
        Findings::good("columns", "every dataset is as the catalogue says");
    }
    Ok(())
}
