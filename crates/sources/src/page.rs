//! The catalogue as a page for people.

use std::fmt::Write as _;

use brownstone_domain::MatchedBy;

use crate::{LotKind, SourceInfo};

/// A page with a chapter for each source: what it tells, who publishes it, how it is matched, what is summed up, its
/// traps and its cadence. Markdown.
///
/// The same sources give the same text, so that a copy kept elsewhere can be compared.
pub fn markdown(sources: &[SourceInfo]) -> String {
    let mut page = String::from(
        "# Sources\n\nGenerated from the catalogue: change that, not this page.\n\n| key | source | publisher |\n|---|---|---|\n",
    );
    // Writing to a String cannot fail.
    for source in sources {
        let _ = writeln!(
            page,
            "| [{key}](#{key}) | {} | {} |",
            source.title,
            source.publisher,
            key = source.key,
        );
    }
    for source in sources {
        let _ = write!(page, "\n{}", chapter(source));
    }
    page
}

fn chapter(source: &SourceInfo) -> String {
    let mut text = format!(
        "## {}\n\n{}: {}\n\n",
        source.key, source.title, source.tells
    );
    let ways: Vec<&str> = source
        .matched_by
        .iter()
        .map(|way| match way {
            MatchedBy::Bin => "BIN",
            MatchedBy::Bbl => "tax lot",
            MatchedBy::UnitBbl => "the unit's own lot",
            MatchedBy::Address => "place",
        })
        .collect();
    let lot = match source.lot {
        LotKind::Billing => "the billing lot",
        LotKind::Unit => "the unit's lot",
        LotKind::Base => "the lots it was built on",
        LotKind::Building => "the billing lot and the lots it was built on",
    };
    let cadence = source.cadence_days.map_or_else(
        || "none stated; it is never called stale".to_owned(),
        |days| format!("stale after {days} days without a change"),
    );
    let _ = writeln!(text, "- Publisher: {}", source.publisher);
    let _ = writeln!(
        text,
        "- Dataset: {} ([page]({}))",
        source.datasets.join(", "),
        source.url
    );
    let _ = writeln!(
        text,
        "- Matched by: {}; of a condominium it wants {lot}",
        ways.join(", then ")
    );
    let _ = writeln!(text, "- Cadence: {cadence}");
    if !source.summary.is_empty() {
        text.push_str("- Counted and summed up:\n");
        for field in &source.summary {
            let _ = writeln!(text, "  - `{}`: {}", field.name, field.tells);
        }
    }
    let own: Vec<_> = source
        .fields
        .iter()
        .filter(|field| !field.tells.is_empty())
        .collect();
    if !own.is_empty() {
        text.push_str("- Added to each record:\n");
        for field in own {
            let _ = writeln!(text, "  - `{}`: {}", field.name, field.tells);
        }
    }
    if !source.traps.is_empty() {
        text.push_str("- Known traps:\n");
        for trap in &source.traps {
            let _ = writeln!(text, "  - {trap}");
        }
    }
    text
}
