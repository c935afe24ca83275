//! The lookup: an address in, the building's report out.

use std::{collections::HashSet, sync::Arc};

use async_trait::async_trait;
use brownstone_accounts::Caller;
use brownstone_address::geocoder::Resolved;
use brownstone_domain::{
    Building, Clock, CompsRequest, Limits, LookupRequest, ReportKey, SourceEntry, SourceStatus,
    Units, rentals::RentalsRequest,
};
use brownstone_quota::{MemoryQuota, QuotaStore, View};
use brownstone_report_cache::{Assembler, Assembly, CacheError, ReadyReport, ReportCache, Wanted};
use brownstone_sources::{Deadlines, Directory, Registry, Subject};
use bytes::Bytes;
use serde::Deserialize;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{
    Failure,
    admission::{Place, TooManyWait},
    comps::Comps,
    directory::{PATIENCE, standing},
    rentals::Rentals,
    resolutions::Resolutions,
    service::{CALL_DEADLINE, Data, PackedPiece},
    units::{UnitLot, UnitLots},
};

mod beside;
mod kept;

pub use kept::Kept;

/// Live geocoder calls that one account may cause in a minute.
const LIVE_PER_MINUTE: u32 = 60;

/// Live geocoder calls that one account may cause in a day.
const LIVE_PER_DAY: u32 = 10_000;

/// What a sample deployment says in every `property.warnings`.
pub const SAMPLE_WARNING: &str = "Sample data: the records are invented.";

/// The source whose row carries a lot's coordinates.
const LOT_SOURCE: &str = "nyc_pluto";

/// The lookup and what it needs.
#[derive(Clone)]
pub struct Lookups {
    resolutions: Resolutions,
    reports: ReportCache,
    registry: Registry,
    directory: Arc<Directory>,
    live_calls: Arc<MemoryQuota>,
    clock: Arc<dyn Clock>,
    units: UnitLots,
    comps: Option<Comps>,
    rentals: Option<Rentals>,
    sample: bool,
}

impl Lookups {
    /// Puts the parts together; `sample` when the records behind the sources are invented.
    pub fn new(
        resolutions: Resolutions,
        reports: ReportCache,
        registry: Registry,
        directory: Arc<Directory>,
        clock: Arc<dyn Clock>,
        sample: bool,
    ) -> Self {
        Self {
            resolutions,
            reports,
            registry,
            units: UnitLots::new(Arc::clone(&directory)),
            directory,
            live_calls: Arc::new(MemoryQuota::new(Arc::clone(&clock))),
            clock,
            comps: None,
            rentals: None,
            sample,
        }
    }

    /// With comparable sales to answer with, and to put into a lookup that asks for them.
    #[must_use]
    pub fn with_comps(mut self, comps: Comps) -> Self {
        self.comps = Some(comps);
        self
    }

    /// With rentals to compare with, and to put into a lookup that asks for them.
    #[must_use]
    pub fn with_rentals(mut self, rentals: Rentals) -> Self {
        self.rentals = Some(rentals);
        self
    }

    /// `data` of the comparable rentals of an address.
    pub(crate) async fn rentals(
        &self,
        request: &RentalsRequest,
        caller: &Caller,
        view: &View,
    ) -> Result<Vec<Bytes>, Failure> {
        let rentals = self
            .rentals
            .as_ref()
            .ok_or_else(|| Failure::upstream("this build has no listings"))?;
        let resolved = self.resolve(&request.address, caller, view).await?;
        Ok(vec![rentals.bytes(request, &resolved).await?])
    }

    /// `data` of the comparable sales of an address.
    pub(crate) async fn comps(
        &self,
        request: &CompsRequest,
        caller: &Caller,
        view: &View,
    ) -> Result<Vec<Bytes>, Failure> {
        let comps = self
            .comps
            .as_ref()
            .ok_or_else(|| Failure::upstream("this build has no sales"))?;
        let resolved = self.resolve(&request.address, caller, view).await?;
        let unit_bbl = match self.unit_lot(&resolved).await {
            UnitLot::Known(unit_bbl) => Some(unit_bbl),
            // The building's other sales are answer enough when the unit's own lot is not known.
            UnitLot::None | UnitLot::NotOnRecord | UnitLot::Unanswered => None,
        };
        Ok(vec![comps.bytes(request, &resolved, unit_bbl).await?])
    }

    async fn unit_lot(&self, resolved: &Resolved) -> UnitLot {
        match (resolved.unit_bbl, &resolved.unit, resolved.building.bbl) {
            (Some(unit_bbl), _, _) => UnitLot::Known(unit_bbl),
            (None, Some(unit), Some(bbl)) if bbl.is_billing_lot() => {
                Box::pin(self.units.find(bbl, unit)).await
            }
            (None, _, _) => UnitLot::None,
        }
    }

    /// The pieces of `data`. The call ends at `ends`.
    pub(crate) async fn lookup(
        &self,
        request: &LookupRequest,
        caller: &Caller,
        view: &View,
        place: &mut Place,
        ends: Instant,
    ) -> Result<Data, Failure> {
        let resolved = self.resolve(&request.address, caller, view).await?;
        self.report(request, &resolved, Some((place, view)), ends)
            .await
    }

    /// The pieces of `data` for an operator at the terminal, who has no budget.
    ///
    /// # Errors
    /// The same as of a call.
    pub async fn lookup_unmetered(&self, request: &LookupRequest) -> Result<Vec<Bytes>, Failure> {
        let ends = Instant::now() + CALL_DEADLINE;
        let resolved = self.resolutions.resolve(&request.address).await?;
        Ok(self.report(request, &resolved, None, ends).await?.pieces)
    }

    /// Sets the gauges of the reports in memory, for whoever is about to read them.
    pub fn observe(&self) {
        self.reports.observe();
    }

    /// Drops reports that expired; returns how many.
    ///
    /// # Errors
    /// When storage does not answer.
    pub async fn purge(&self) -> Result<u64, brownstone_report_cache::StorageError> {
        self.reports.purge().await
    }

    /// Forgets which text is which building; for when the address index is swapped.
    pub fn forget_addresses(&self) {
        self.resolutions.forget();
    }

    async fn report(
        &self,
        request: &LookupRequest,
        resolved: &Arc<Resolved>,
        metered: Option<(&mut Place, &View)>,
        ends: Instant,
    ) -> Result<Data, Failure> {
        let building = &resolved.building;
        let Some(bbl) = building.bbl else {
            return Err(Failure::new(
                brownstone_domain::ErrorCode::NotFound,
                "The address is in New York City but has no tax lot on record.",
            ));
        };
        let unit = self.unit_lot(resolved).await;
        let unit_bbl = match unit {
            UnitLot::Known(unit_bbl) => Some(unit_bbl),
            UnitLot::None | UnitLot::NotOnRecord | UnitLot::Unanswered => None,
        };
        let key = ReportKey {
            bbl: Some(bbl),
            bin: building.bin,
            unit_bbl,
        };
        let report = match self.reports.hot(&key) {
            Some(report) => report,
            None => Box::pin(self.waited_for(key, building, metered)).await?,
        };
        let mut warnings = resolved.warnings.clone();
        let mut tail = report.tail.clone();
        let mut packed = Some(Arc::clone(&report.packed));
        match unit {
            UnitLot::None | UnitLot::Known(_) => {}
            UnitLot::NotOnRecord => warnings.push(
                "No tax lot of its own is on record for this unit; this is the building's report."
                    .into(),
            ),
            UnitLot::Unanswered => {
                warnings.push(
                    "The unit's own tax lot could not be looked up; what belongs to the unit alone is missing here."
                        .into(),
                );
                let keys: HashSet<&str> = self.registry.unit_lot_keys().collect();
                tail = report
                    .with_errors(&keys, self.clock.now())
                    .map_err(Failure::internal)?;
                packed = None;
            }
        }
        if report.building.latitude.is_none() || report.building.longitude.is_none() {
            warnings.push("No coordinates are known for this building.".into());
        }
        let mut comps = None;
        if request.include_comps {
            let work = self.comps_of(&request.address, resolved, unit_bbl, ends);
            match Box::pin(work).await {
                Ok(bytes) => comps = Some(bytes),
                Err(warning) => warnings.push(warning.into()),
            }
        }
        let mut rentals = None;
        if request.include_rentals {
            match Box::pin(self.rentals_of(&request.address, resolved, ends)).await {
                Ok(bytes) => rentals = Some(bytes),
                Err(warning) => warnings.push(warning.into()),
            }
        }
        if self.sample {
            warnings.push(SAMPLE_WARNING.into());
        }
        let head = report
            .head(resolved.unit.as_deref(), resolved.matched, warnings)
            .map_err(Failure::internal)?;
        let mut foot = Vec::new();
        for (asked, name, data) in [
            (request.include_comps, "comps", comps),
            (request.include_rentals, "rentals", rentals),
        ] {
            if asked {
                foot.extend_from_slice(b",\"");
                foot.extend_from_slice(name.as_bytes());
                foot.extend_from_slice(b"\":");
                foot.extend_from_slice(data.as_deref().unwrap_or(b"null"));
            }
        }
        let foot = if foot.is_empty() {
            Bytes::from_static(b"}")
        } else {
            foot.push(b'}');
            foot.into()
        };
        Ok(Data {
            pieces: vec![head, tail, foot],
            packed: packed.map(|packed| PackedPiece { place: 1, packed }),
        })
    }

    /// A report that is not in memory.
    async fn waited_for(
        &self,
        key: ReportKey,
        building: &Building,
        metered: Option<(&mut Place, &View)>,
    ) -> Result<Arc<ReadyReport>, Failure> {
        if let Some((place, view)) = metered {
            place.wait().map_err(|TooManyWait| {
                crate::metrics::shed("waiting");
                Failure::too_many_in_flight(view)
            })?;
        }
        let assembler = Arc::new(BuildingAssembler {
            registry: self.registry.clone(),
            directory: Arc::clone(&self.directory),
            building: building.clone(),
            unit_bbl: key.unit_bbl,
            span: tracing::Span::current(),
        });
        let report = self.reports.get_or_assemble(key, assembler).await;
        Ok(report.inspect_err(|error| {
            if matches!(error, CacheError::Crowded) {
                crate::metrics::shed("assemblies");
            }
        })?)
    }

    async fn resolve(
        &self,
        text: &str,
        caller: &Caller,
        view: &View,
    ) -> Result<Arc<Resolved>, Failure> {
        if let Some(known) = self.resolutions.remembered(text) {
            return known.map_err(Failure::from);
        }
        if self.resolutions.is_live() {
            self.bound_live_calls(caller, view).await?;
        }
        self.resolutions.resolve(text).await.map_err(Failure::from)
    }

    /// The city's geocoder serves everybody: one account may not work it without end, refunds or not.
    async fn bound_live_calls(&self, caller: &Caller, view: &View) -> Result<(), Failure> {
        let limits = Limits::new(LIVE_PER_MINUTE, LIVE_PER_DAY).unwrap_or_default();
        let decision = self
            .live_calls
            .charge(caller.account.as_str(), Units::new(1), limits)
            .await
            .map_err(|error| Failure::quota_unavailable(&error))?;
        match decision.retry_after_seconds() {
            None => Ok(()),
            Some(wait) => Err(Failure::too_many_new_addresses(wait, view)),
        }
    }
}

/// Asks the registered sources about one building.
struct BuildingAssembler {
    registry: Registry,
    directory: Arc<Directory>,
    building: Building,
    unit_bbl: Option<brownstone_domain::Bbl>,
    /// That of the call for which the assembly began.
    span: tracing::Span,
}

#[async_trait]
impl Assembler for BuildingAssembler {
    async fn assemble(&self, wanted: Wanted, kept: Option<&Building>) -> Assembly {
        let begun = Instant::now();
        let mut building = self.building.clone();
        if let Some(kept) = kept {
            building.latitude = building.latitude.or(kept.latitude);
            building.longitude = building.longitude.or(kept.longitude);
            building.buildings_on_lot = building.buildings_on_lot.or(kept.buildings_on_lot);
        }
        let lot_bins = self
            .lot_bins(&mut building)
            .instrument(self.span.clone())
            .await;
        let subject = Arc::new(Subject {
            bbl: building.bbl,
            bin: building.bin,
            unit_bbl: self.unit_bbl,
            lot_bins,
            buildings_on_lot: building.buildings_on_lot,
            house_number: building.house_number.clone(),
            street: building.street.clone(),
            borough: building.borough,
            zip: building.zip,
            latitude: building.latitude,
            longitude: building.longitude,
        });
        let only: Option<HashSet<String>> = match wanted {
            Wanted::All => None,
            Wanted::Only(some) => Some(some.into_iter().collect()),
        };
        // The report's time is that of all of this: a caller waits no longer for a publisher that is silent twice.
        let mut deadlines = Deadlines::default();
        deadlines.report = deadlines.report.saturating_sub(begun.elapsed());
        let mut entries = self
            .registry
            .assemble(subject, only.as_ref(), deadlines)
            .instrument(self.span.clone())
            .await;
        without_lone_listings(&mut entries);
        if (building.latitude.is_none() || building.longitude.is_none())
            && let Some((latitude, longitude)) = coordinates(&entries)
        {
            building.latitude = Some(latitude);
            building.longitude = Some(longitude);
        }
        Assembly { building, entries }
    }
}

impl BuildingAssembler {
    /// The buildings of the lot, asked only where something depends on it: how many there are is not known, or the
    /// report is of a lot and sources that know only buildings must be asked for each.
    async fn lot_bins(&self, building: &mut Building) -> Vec<brownstone_domain::Bin> {
        let Some(bbl) = building.bbl else {
            return vec![];
        };
        if building.bin.is_some() && building.buildings_on_lot.is_some() {
            return vec![];
        }
        let deadline = Instant::now() + PATIENCE;
        match self.directory.buildings_on(bbl, deadline).await {
            Ok(footprints) => {
                let bins = standing(&footprints, building.bin);
                if building.buildings_on_lot.is_none() {
                    building.buildings_on_lot = u32::try_from(bins.len()).ok();
                }
                bins
            }
            Err(error) => {
                tracing::warn!(%error, "the buildings of a lot are not known");
                vec![]
            }
        }
    }
}

/// Listings are answered by our own index. Where nobody else answered, they are not a report of the public record.
fn without_lone_listings(entries: &mut [(String, SourceEntry)]) {
    let is_listing = |key: &str| crate::listing_source::KEYS.contains(&key);
    let mut others = entries
        .iter()
        .filter(|(key, _)| !is_listing(key))
        .peekable();
    let silent = |(_, entry): &(String, SourceEntry)| {
        matches!(entry.status(), SourceStatus::Error | SourceStatus::Gated)
    };
    if others.peek().is_some() && others.all(silent) {
        for (_, entry) in entries.iter_mut().filter(|(key, _)| is_listing(key)) {
            *entry = SourceEntry::without_data(SourceStatus::Error);
        }
    }
}

/// The lot's coordinates out of the entries, where the lot source answered with them.
fn coordinates(entries: &[(String, SourceEntry)]) -> Option<(f64, f64)> {
    #[derive(Deserialize)]
    struct Data {
        records: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Row {
        latitude: Option<f64>,
        longitude: Option<f64>,
    }
    let (_, entry) = entries.iter().find(|(key, _)| key == LOT_SOURCE)?;
    let data: Data = serde_json::from_str(entry.data()?.get()).ok()?;
    let row = data.records.first()?;
    Some((row.latitude?, row.longitude?))
}
