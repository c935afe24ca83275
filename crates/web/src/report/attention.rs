//! What needs attention first: one table of what the sources' summaries may say.

use indexmap::IndexMap;

use super::Entry;
use crate::text::{count, dollars};

/// How bad it is; the worst sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Danger to life, or the home is lost.
    Severe,
    /// Money or a case.
    Serious,
    /// To be looked at.
    Notable,
}

/// What a summary field says.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// So many.
    Count,
    /// Dollars owed; a credit is no fault.
    Owed,
    /// It is so.
    Flag,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// How bad.
    pub level: Level,
    /// The number or amount; empty for what merely is so.
    pub figure: String,
    /// What it is.
    pub text: &'static str,
    /// The source's key, where the records are.
    pub source: &'static str,
}

impl Attention {
    /// The level's name, for style and for readers who see none.
    pub const fn level_name(&self) -> &'static str {
        match self.level {
            Level::Severe => "severe",
            Level::Serious => "serious",
            Level::Notable => "notable",
        }
    }
}

/// Source, field of its summary, what it says, level, words.
const TABLE: &[(&str, &str, Kind, Level, &str)] = &[
    (
        "nyc_hpd_vacate_orders",
        "standing_orders",
        Kind::Count,
        Level::Severe,
        "standing vacate orders of the housing department",
    ),
    (
        "nyc_fdny_vacates",
        "standing_orders",
        Kind::Count,
        Level::Severe,
        "standing vacate orders of the fire department",
    ),
    (
        "nyc_hpd_violations",
        "open_class_c",
        Kind::Count,
        Level::Severe,
        "open housing violations of class C, immediately hazardous",
    ),
    (
        "nyc_dob_incidents",
        "fatalities",
        Kind::Count,
        Level::Severe,
        "deaths in construction-related incidents",
    ),
    (
        "nyc_hpd_no_harassment_list",
        "harassment_finding",
        Kind::Flag,
        Level::Severe,
        "a finding of harassment of tenants",
    ),
    (
        "nyc_hpd_litigation",
        "harassment_findings",
        Kind::Count,
        Level::Severe,
        "findings of harassment in court",
    ),
    (
        "nyc_hpd_alternative_enforcement",
        "active",
        Kind::Flag,
        Level::Serious,
        "in the alternative enforcement programme",
    ),
    (
        "nyc_tax_lien_notices",
        "record_count",
        Kind::Count,
        Level::Serious,
        "notices of a tax lien sale",
    ),
    (
        "nyc_dof_charges",
        "balance_total",
        Kind::Owed,
        Level::Serious,
        "property tax and charges open",
    ),
    (
        "nyc_ecb",
        "balance_due_total",
        Kind::Owed,
        Level::Serious,
        "due on summonses of the buildings department; some may be pending",
    ),
    (
        "nyc_fdny_violations",
        "balance_due_total",
        Kind::Owed,
        Level::Serious,
        "due on tickets of the fire department",
    ),
    (
        "nyc_oath_hearings",
        "balance_due_total",
        Kind::Owed,
        Level::Serious,
        "due on tickets of all agencies, heard by OATH",
    ),
    (
        "nyc_hpd_litigation",
        "open_cases",
        Kind::Count,
        Level::Serious,
        "open cases of the housing department in court",
    ),
    (
        "nyc_hpd_violations",
        "open_class_b",
        Kind::Count,
        Level::Serious,
        "open housing violations of class B, hazardous",
    ),
    (
        "nyc_ecb",
        "open_violations",
        Kind::Count,
        Level::Serious,
        "open summonses of the buildings department",
    ),
    (
        "nyc_dob",
        "open_violations",
        Kind::Count,
        Level::Serious,
        "open violations of the buildings department",
    ),
    (
        "nyc_dob_safety_violations",
        "open_violations",
        Kind::Count,
        Level::Serious,
        "open safety violations of the buildings department",
    ),
    (
        "nyc_evictions",
        "residential_evictions",
        Kind::Count,
        Level::Serious,
        "residential evictions carried out",
    ),
    (
        "nyc_dob_stalled_sites",
        "record_count",
        Kind::Count,
        Level::Notable,
        "listings as a stalled construction site",
    ),
    (
        "nyc_hpd_underlying_conditions",
        "record_count",
        Kind::Count,
        Level::Notable,
        "orders to mend underlying conditions",
    ),
    (
        "nyc_hpd_speculation_watch",
        "record_count",
        Kind::Count,
        Level::Notable,
        "listings on the speculation watch list",
    ),
    (
        "nyc_hpd_violations",
        "open_class_a",
        Kind::Count,
        Level::Notable,
        "open housing violations of class A",
    ),
    (
        "nyc_dob_complaints",
        "open_complaints",
        Kind::Count,
        Level::Notable,
        "open complaints at the buildings department",
    ),
    (
        "nyc_hpd_complaints",
        "open_problems",
        Kind::Count,
        Level::Notable,
        "open problems reported to the housing department",
    ),
    (
        "nyc_hpd_bedbugs",
        "filings_with_infestation",
        Kind::Count,
        Level::Notable,
        "yearly filings that report bedbugs",
    ),
    (
        "nyc_rodent_inspections",
        "failed_for_rats",
        Kind::Count,
        Level::Notable,
        "inspections failed for rats",
    ),
];

/// The lines that apply, the worst first, in the table's order within a level.
pub(super) fn attention(sources: &IndexMap<String, Entry>) -> Vec<Attention> {
    let mut lines: Vec<Attention> = TABLE
        .iter()
        .filter_map(|(source, field, kind, level, text)| {
            let figure = figure(sources.get(*source)?, field, *kind)?;
            Some(Attention {
                level: *level,
                figure,
                text,
                source,
            })
        })
        .collect();
    lines.sort_by_key(|line| line.level);
    lines
}

fn figure(entry: &Entry, field: &str, kind: Kind) -> Option<String> {
    match kind {
        Kind::Flag => entry.flag(field).then(String::new),
        Kind::Owed => entry.number(field).filter(|owed| *owed >= 1.0).map(dollars),
        Kind::Count => {
            let value = entry.data.as_ref()?.get(field)?.as_u64()?;
            (value > 0).then(|| count(value))
        }
    }
}
