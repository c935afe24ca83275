//! The main job in the terminal: lookup, resolve, and the list of sources.

use std::{io::BufRead as _, process::ExitCode};

use brownstone_address::geocoder::{Geocoder, ResolveError};
use brownstone_domain::{LookupRequest, Match};
use serde::Serialize;
use serde_json::{Value, json};

use super::{complain, say};
use crate::{
    addresses, clock,
    config::Config,
    parts::{self, Origin},
};

/// `brownstone lookup`
pub(crate) async fn lookup(
    config: &Config,
    address: String,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let clock = clock::clock(config)?;
    let store = parts::open_store(config).await?;
    addresses::bring_up_to_date(config, &store).await;
    let city = parts::city(config, &clock, &Origin::Configured)?;
    let listings = crate::listings::listings(config, &store, &clock, &city, &Origin::Configured)?;
    listings.refresh().await?;
    let lookups = parts::lookups(config, &store, &city, &clock, false);
    let fields = json!({"address": address});
    let request: LookupRequest = match fields.as_object().map(brownstone_service::fields::lookup) {
        Some(Ok(request)) => request,
        Some(Err(fault)) => {
            complain(&fault.to_string());
            return Ok(ExitCode::FAILURE);
        }
        None => return Ok(ExitCode::FAILURE),
    };
    let pieces = match lookups.lookup_unmetered(&request).await {
        Ok(pieces) => pieces,
        Err(failure) => {
            complain(&format!("{}: {}", failure.code, failure.message));
            return Ok(ExitCode::FAILURE);
        }
    };
    let bytes: Vec<u8> = pieces
        .iter()
        .flat_map(|piece| piece.iter().copied())
        .collect();
    if json {
        say(&String::from_utf8(bytes)?);
        return Ok(ExitCode::SUCCESS);
    }
    print_report(&serde_json::from_slice(&bytes)?);
    Ok(ExitCode::SUCCESS)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// A page for a person: the building, then a line a source.
fn print_report(data: &Value) {
    let property = &data["property"];
    say(text(&property["address"]));
    say(&format!(
        "BBL {}  BIN {}  {}",
        text(&data["bbl"]),
        text(&data["bin"]),
        text(&property["borough"])
    ));
    for warning in property["warnings"].as_array().into_iter().flatten() {
        say(&format!("note: {}", text(warning)));
    }
    say(&format!(
        "report of {}, {}",
        text(&data["cache"]["cached_at"]),
        text(&data["cache"]["status"])
    ));
    say("");
    for (key, entry) in data["sources"].as_object().into_iter().flatten() {
        let status = text(&entry["status"]);
        let count = match entry["data"]["record_count"].as_u64() {
            Some(count) => format!("{count:>8}"),
            None => format!("{:>8}", ""),
        };
        say(&format!("{key:<28} {status:<10} {count}"));
    }
}

/// One line of `resolve --json`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    input: &'a str,
    status: &'static str,
    address: Option<String>,
    bbl: Option<String>,
    bin: Option<String>,
    #[serde(rename = "match")]
    matched: Option<Match>,
    warnings: Vec<String>,
    candidates: Vec<String>,
}

impl<'a> Line<'a> {
    fn without_building(input: &'a str, status: &'static str, warning: String) -> Self {
        Self {
            input,
            status,
            address: None,
            bbl: None,
            bin: None,
            matched: None,
            warnings: vec![warning],
            candidates: vec![],
        }
    }
}

/// `brownstone resolve`
pub(crate) async fn resolve(
    config: &Config,
    address: Option<String>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let clock = clock::clock(config)?;
    if addresses::is_shared(config) {
        let store = parts::open_store(config).await?;
        addresses::bring_up_to_date(config, &store).await;
    }
    let city = parts::city(config, &clock, &Origin::Configured)?;
    let mut all_resolved = true;
    match address {
        Some(address) => {
            all_resolved &= resolve_one(city.geocoder.as_ref(), &address, json).await?;
        }
        None => {
            for line in std::io::stdin().lock().lines() {
                all_resolved &= resolve_one(city.geocoder.as_ref(), &line?, json).await?;
            }
        }
    }
    Ok(if all_resolved {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn resolve_one(geocoder: &dyn Geocoder, input: &str, json: bool) -> anyhow::Result<bool> {
    let line = match geocoder.resolve(input).await {
        Ok(resolved) => Line {
            input,
            status: "resolved",
            address: Some(resolved.building.one_line()),
            bbl: resolved.building.bbl.map(|bbl| bbl.to_string()),
            bin: resolved.building.bin.map(|bin| bin.to_string()),
            matched: Some(resolved.matched),
            warnings: resolved.warnings,
            candidates: vec![],
        },
        Err(ResolveError::NotFound(why)) => Line::without_building(input, "not_found", why),
        Err(ResolveError::OutsideCoverage(why)) => {
            Line::without_building(input, "outside_coverage", why)
        }
        Err(ResolveError::Invalid(why)) => Line::without_building(input, "invalid", why),
        Err(ResolveError::Ambiguous {
            message,
            candidates,
        }) => Line {
            candidates,
            ..Line::without_building(input, "ambiguous", message)
        },
        Err(error @ ResolveError::Unavailable(_)) => return Err(error.into()),
    };
    if json {
        say(&serde_json::to_string(&line)?);
    } else {
        match (&line.address, line.warnings.first()) {
            (Some(address), _) => say(&format!(
                "{address}  BBL {}  BIN {}",
                line.bbl.as_deref().unwrap_or("-"),
                line.bin.as_deref().unwrap_or("-")
            )),
            (None, Some(why)) => say(&format!("{}: {why}", line.status)),
            (None, None) => say(line.status),
        }
        if line.address.is_some() {
            for warning in &line.warnings {
                say(&format!("note: {warning}"));
            }
        }
    }
    Ok(line.status == "resolved")
}

/// `brownstone sources`
pub(crate) fn sources(config: &Config, page: bool) -> anyhow::Result<()> {
    let clock = clock::clock(config)?;
    let city = parts::city(config, &clock, &Origin::Configured)?;
    if page {
        say(brownstone_sources::page::markdown(&city.registry.describe()).trim_end());
        return Ok(());
    }
    for info in city.registry.describe() {
        say(&format!(
            "{:<28} {}  ({}, {})",
            info.key,
            info.title,
            info.publisher,
            info.datasets.join(" ")
        ));
    }
    Ok(())
}
