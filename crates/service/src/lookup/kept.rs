//! A report as it is kept: for looking at it again, which asks nobody and costs nothing.

use brownstone_accounts::Caller;
use brownstone_domain::{Property, ReportKey};
use brownstone_quota::View;
use bytes::Bytes;

use super::{Lookups, SAMPLE_WARNING};
use crate::Failure;

/// What is known of a building without asking for its records.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its address on one line.
    pub address: String,
    /// The path of its report, where that is known.
    pub canonical_path: Option<String>,
    /// JSON of `data` as a lookup gives it, in pieces, where a report is kept and has not expired.
    pub data: Option<Vec<Bytes>>,
}

impl Lookups {
    /// The kept report of what `text` names.
    pub(crate) async fn kept(
        &self,
        text: &str,
        caller: &Caller,
        view: &View,
    ) -> Result<Kept, Failure> {
        let resolved = self.resolve(text, caller, view).await?;
        let building = &resolved.building;
        let key = ReportKey {
            bbl: building.bbl,
            bin: building.bin,
            unit_bbl: resolved.unit_bbl,
        };
        let Some(report) = self.reports.kept(&key).await? else {
            return Ok(Kept {
                address: building.one_line(),
                canonical_path: building.canonical_path(resolved.unit_bbl),
                data: None,
            });
        };
        let mut warnings = resolved.warnings.clone();
        if self.sample {
            warnings.push(SAMPLE_WARNING.into());
        }
        let property = Property::of(
            &report.building,
            resolved.unit.clone(),
            report.unit_bbl,
            resolved.matched,
            warnings,
        );
        let mut head = b"{\"property\":".to_vec();
        serde_json::to_writer(&mut head, &property).map_err(Failure::internal)?;
        head.push(b',');
        Ok(Kept {
            address: report.building.one_line(),
            canonical_path: report.building.canonical_path(report.unit_bbl),
            data: Some(vec![
                head.into(),
                report.tail.clone(),
                Bytes::from_static(b"}"),
            ]),
        })
    }

    /// Addresses that go on as a text begins.
    pub(crate) fn suggest(&self, text: &str) -> Vec<String> {
        self.resolutions.suggest(text)
    }

    /// What each source is, in order.
    pub(crate) fn sources(&self) -> Vec<brownstone_sources::SourceInfo> {
        self.registry.describe()
    }
}
