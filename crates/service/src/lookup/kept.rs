//! A report as it is kept: for looking at it again, which asks no source for records and costs nothing.

use brownstone_accounts::Caller;
use brownstone_domain::{Property, ReportKey};
use brownstone_quota::View;
use bytes::Bytes;

use super::{Lookups, SAMPLE_WARNING};
use crate::{Failure, units::UnitLot};

/// What is known of a building without asking for its records.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its address on one line, with the unit of a condominium.
    pub address: String,
    /// The path of its report, where that is known.
    pub canonical_path: Option<String>,
    /// JSON of `data` as a lookup gives it, in pieces, where a report is kept and has not expired.
    pub data: Option<Vec<Bytes>>,
}

impl Lookups {
    /// The kept report of what `text` names. Where a condominium's unit is typed it is the unit's own, or none: the building's
    /// has no word of the unit.
    pub(crate) async fn kept(
        &self,
        text: &str,
        caller: &Caller,
        view: &View,
    ) -> Result<Kept, Failure> {
        let resolved = self.resolve(text, caller, view).await?;
        let building = &resolved.building;
        let condominium = building
            .bbl
            .is_some_and(brownstone_domain::Bbl::is_billing_lot);
        let unit = resolved.unit.as_deref().filter(|_| condominium);
        if unit.is_some() && resolved.unit_bbl.is_none() {
            // The table of units is the city's, too, and looking is free.
            self.bound_live_calls(caller, view).await?;
        }
        let (unit_bbl, is_known) = match self.unit_lot(&resolved).await {
            UnitLot::None => (None, true),
            UnitLot::Known(unit_bbl) => (Some(unit_bbl), true),
            UnitLot::NotOnRecord | UnitLot::Unanswered => (None, false),
        };
        let key = ReportKey {
            bbl: building.bbl,
            bin: building.bin,
            unit_bbl,
        };
        let report = if is_known {
            self.reports.kept(&key).await?
        } else {
            None
        };
        let Some(report) = report else {
            let mut address = building.one_line();
            if let Some(unit) = unit {
                address.push_str(", unit ");
                address.push_str(unit);
            }
            return Ok(Kept {
                address,
                canonical_path: building.canonical_path(unit_bbl),
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
