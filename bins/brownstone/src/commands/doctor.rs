//! `brownstone doctor`: checks every part and says what to do.

use std::{process::ExitCode, time::Duration};

use brownstone_soda::DatasetId;
use brownstone_store::Store;
use tokio::time::Instant;

use super::say;
use crate::{
    clock,
    config::Config,
    parts::{self, Origin},
};

/// How long one check may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the checks have found so far.
#[derive(Default)]
struct Findings {
    bad: usize,
}

impl Findings {
    fn good(what: &str, detail: &str) {
        say(&format!("ok    {what}: {detail}"));
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
    Findings::good("addresses", &city.geocoder_name);
    for upstream in &city.upstreams {
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
        columns(&city, &mut findings).await;
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
            "Check that the database runs and that database_url names it.",
        ),
    }
}

/// Names each dataset whose columns differ from the catalogue.
async fn columns(city: &parts::City, findings: &mut Findings) {
    for info in city.registry.describe() {
        let Some(id) = info.datasets.first() else {
            continue;
        };
        let Ok(dataset) = DatasetId::new(id) else {
            continue;
        };
        let what = format!("{} ({id})", info.key);
        match city
            .soda
            .metadata(&dataset, Instant::now() + PATIENCE)
            .await
        {
            Err(error) => findings.bad(
                &what,
                &error.to_string(),
                "The publisher may have moved it.",
            ),
            Ok(metadata) => {
                let missing: Vec<&str> = info
                    .fields
                    .iter()
                    .map(|field| field.name.as_str())
                    .filter(|name| !metadata.columns.iter().any(|(column, _)| column == name))
                    .collect();
                if missing.is_empty() {
                    Findings::good(&what, &format!("{} columns", metadata.columns.len()));
                } else {
                    findings.bad(
                        &what,
                        &format!("columns gone: {}", missing.join(", ")),
                        "Update the source's page in the catalogue.",
                    );
                }
            }
        }
    }
}
