//! What a test does to the city: faults, latencies, counted calls, rows of its own.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::{
    city::City,
    listings::Listings,
    seed,
    table::{ColumnType, Table},
};

/// The name of every dataset at once, for [`Control::set_fault`] and [`Control::set_latency`].
pub const EVERY_DATASET: &str = "*";
/// The name of the address search, among the datasets' ids.
pub const GEOSEARCH: &str = "geosearch";
/// The name of the datasets' metadata.
pub const VIEWS: &str = "views";

/// The name of the federal flood layer.
pub const FLOOD: &str = "flood";

/// The name of the listing service's data, in the manner of the RESO Web API.
pub const RESO: &str = "reso";
/// The name of that service's token endpoint.
pub const RESO_TOKENS: &str = "reso_tokens";
/// The name of the listings in the manner of RentCast.
pub const RENTCAST: &str = "rentcast";

/// The name of FRED's series at once; each answers to its own id, too.
pub const FRED: &str = "fred";
/// The name of the weekly mortgage survey's file.
pub const PMMS: &str = "pmms";

/// How many queries of a dataset are remembered.
const REMEMBERED: usize = 200;

/// In what way an upstream fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// 500, or [`Fault::status`].
    Error,
    /// Takes the request and never answers.
    Timeout,
    /// Answers 200 and a byte now and then, without end.
    SlowDrip,
    /// Ends the connection without an answer.
    Disconnect,
    /// The right answer, cut in the middle, the connection with it.
    CutBody,
    /// 200 and JSON that is not what was asked for.
    WrongJson,
    /// 200 and a maintenance page.
    Html,
    /// 200 and a body of a gigabyte.
    HugeBody,
    /// The same, in a few kilobytes of gzip.
    GzipBomb,
    /// 429, with [`Fault::retry_after`] where given.
    Throttle,
    /// 404 `dataset.missing`.
    Gone,
    /// 202: the answer is still being prepared.
    Preparing,
    /// The first half of the rows, and nothing that says there are more.
    ShortPage,
}

/// A fault that is switched on.
///
/// ```
/// use brownstone_sample_city::{Fault, FaultKind};
/// let twice = Fault::new(FaultKind::Throttle).retry_after(1).times(2);
/// let json = r#"{"kind": "throttle", "retry_after": 1, "count": 2}"#;
/// assert_eq!(serde_json::from_str::<Fault>(json).unwrap(), twice);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// In what way.
    pub kind: FaultKind,
    /// The status of [`FaultKind::Error`]; 500 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Seconds, the header of [`FaultKind::Throttle`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// For how many calls; until it is cleared where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// How many calls go well before it; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
}

impl Fault {
    /// A fault that stays until it is cleared.
    pub const fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            status: None,
            retry_after: None,
            count: None,
            after: None,
        }
    }

    /// With this status.
    #[must_use]
    pub const fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// With this `Retry-After`, in seconds.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// For this many calls; after them the upstream is well.
    #[must_use]
    pub const fn times(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    /// Not before so many calls went well.
    #[must_use]
    pub const fn after(mut self, calls: u32) -> Self {
        self.after = Some(calls);
        self
    }
}

/// What one call meets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plan {
    pub(crate) latency: Duration,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Default)]
struct Switches {
    faults: BTreeMap<String, Fault>,
    latencies: HashMap<String, Duration>,
    calls: BTreeMap<String, u64>,
    queries: HashMap<String, VecDeque<String>>,
    token: Option<String>,
    /// Tokens of the listing service that are valid.
    issued: Vec<String>,
    issues: u64,
}

/// The switches of a running city. Clones are the same switches.
///
/// A name is a dataset's id, [`GEOSEARCH`], [`VIEWS`], [`FLOOD`], [`RESO`], [`RESO_TOKENS`], [`RENTCAST`], or
/// [`EVERY_DATASET`]; of the mortgage rates a series' id, [`FRED`] or [`PMMS`].
#[derive(Debug, Clone)]
pub struct Control {
    city: Arc<City>,
    listings: Arc<Listings>,
    switches: Arc<Mutex<Switches>>,
    loaded: Arc<RwLock<HashMap<String, Arc<Table>>>>,
}

impl Control {
    pub(crate) fn new(city: City) -> Self {
        Self {
            listings: Arc::new(Listings::new(city.has_records())),
            city: Arc::new(city),
            switches: Arc::default(),
            loaded: Arc::default(),
        }
    }

    /// Switches a fault on.
    pub fn set_fault(&self, dataset: &str, fault: Fault) {
        self.with(|switches| switches.faults.insert(dataset.to_owned(), fault));
    }

    /// Switches one fault off.
    pub fn clear_fault(&self, dataset: &str) {
        self.with(|switches| switches.faults.remove(dataset));
    }

    /// Switches all faults off.
    pub fn clear_faults(&self) {
        self.with(|switches| switches.faults.clear());
    }

    /// The faults that are on.
    pub fn faults(&self) -> BTreeMap<String, Fault> {
        self.with(|switches| switches.faults.clone())
    }

    /// Makes each answer wait; zero is no wait.
    pub fn set_latency(&self, dataset: &str, latency: Duration) {
        self.with(|switches| switches.latencies.insert(dataset.to_owned(), latency));
    }

    /// Takes all waits away.
    pub fn clear_latencies(&self) {
        self.with(|switches| switches.latencies.clear());
    }

    /// How often the dataset was asked, failures included.
    pub fn calls(&self, dataset: &str) -> u64 {
        self.with(|switches| switches.calls.get(dataset).copied().unwrap_or(0))
    }

    /// How often each was asked.
    pub fn all_calls(&self) -> BTreeMap<String, u64> {
        self.with(|switches| switches.calls.clone())
    }

    /// Counts from zero again, and forgets the queries.
    pub fn reset_calls(&self) {
        self.with(|switches| {
            switches.calls.clear();
            switches.queries.clear();
        });
    }

    /// The last 200 query strings of a dataset, percent-decoded, oldest first.
    pub fn queries(&self, dataset: &str) -> Vec<String> {
        self.with(|switches| {
            (switches.queries.get(dataset).into_iter().flatten())
                .cloned()
                .collect()
        })
    }

    /// The one application token that is valid. A call with another one is refused; one without any is served, as the
    /// publisher does. `None`: every token is valid.
    pub fn require_app_token(&self, token: Option<String>) {
        self.with(|switches| switches.token = token);
    }

    /// Puts rows in place of the made-up ones. Values are as the publisher sends them: numbers as text, absent ones left
    /// out. Without `columns` those of the catalogue stand; a key that no column names becomes a column.
    pub fn load(
        &self,
        dataset: &str,
        columns: Vec<(String, ColumnType)>,
        rows: Vec<Map<String, serde_json::Value>>,
    ) {
        let known = self.city.table(dataset);
        let columns = match &known {
            Some(table) if columns.is_empty() => (table.columns.iter())
                .map(|column| (column.name.clone(), column.kind))
                .collect(),
            _ => columns,
        };
        let name = known.map_or_else(|| dataset.to_owned(), |table| table.name.clone());
        let table = Table::from_json(dataset, name, columns, rows, self.city.started());
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        loaded.insert(dataset.to_owned(), Arc::new(table));
    }

    /// Takes loaded rows away: the made-up ones stand again.
    pub fn unload(&self, dataset: &str) {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        loaded.remove(dataset);
    }

    pub(crate) fn table(&self, dataset: &str) -> Option<Arc<Table>> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        (loaded.get(dataset).cloned()).or_else(|| self.city.table(dataset))
    }

    /// The homes for sale and for rent.
    pub fn listings(&self) -> &Listings {
        &self.listings
    }

    /// A token of the listing service.
    pub(crate) fn issue_reso_token(&self) -> String {
        self.with(|switches| {
            switches.issues += 1;
            let bits = seed::hash(&[b"token", &switches.issues.to_le_bytes()]);
            let token = format!("issued-{bits:016x}");
            switches.issued.push(token.clone());
            token
        })
    }

    /// Whether the listing service gave this token out, and has not taken it back.
    pub(crate) fn issued(&self, token: &str) -> bool {
        self.with(|switches| switches.issued.iter().any(|known| known == token))
    }

    /// Ends every token that the listing service gave out.
    pub fn expire_reso_tokens(&self) {
        self.with(|switches| switches.issued.clear());
    }

    pub(crate) fn city(&self) -> &City {
        &self.city
    }

    /// Counts a call and says what it meets.
    pub(crate) fn begin(&self, name: &str, query: &str) -> Plan {
        self.with(|switches| {
            *switches.calls.entry(name.to_owned()).or_default() += 1;
            let queries = switches.queries.entry(name.to_owned()).or_default();
            if queries.len() == REMEMBERED {
                queries.pop_front();
            }
            queries.push_back(query.to_owned());
            let names = names(name);
            let latency = names.iter().find_map(|name| switches.latencies.get(*name));
            let faulty = names
                .iter()
                .find(|name| switches.faults.contains_key(**name));
            Plan {
                latency: latency.copied().unwrap_or_default(),
                fault: faulty.and_then(|name| spend(&mut switches.faults, name)),
            }
        })
    }

    /// Whether a call would meet this, without counting it.
    pub(crate) fn meets(&self, name: &str) -> Option<FaultKind> {
        self.with(|switches| {
            let mut names = names(name).into_iter();
            let fault = names.find_map(|name| switches.faults.get(name))?;
            fault
                .after
                .is_none_or(|calls| calls == 0)
                .then_some(fault.kind)
        })
    }

    /// Whether a token is wrong.
    pub(crate) fn refuses(&self, token: &str) -> bool {
        self.with(|switches| {
            switches
                .token
                .as_deref()
                .is_some_and(|valid| valid != token)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Switches) -> T) -> T {
        act(&mut self.switches.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The names a call answers to, the narrow one first.
fn names(name: &str) -> Vec<&str> {
    match name {
        GEOSEARCH | VIEWS | FLOOD | RESO | RESO_TOKENS | RENTCAST | PMMS => vec![name],
        _ if name.starts_with("OBMMI") || name.starts_with("MORTGAGE") => vec![name, FRED],
        _ => vec![name, EVERY_DATASET],
    }
}

/// The fault, one call less of it left.
fn spend(faults: &mut BTreeMap<String, Fault>, name: &str) -> Option<Fault> {
    let fault = *faults.get(name)?;
    if let Some(calls @ 1..) = fault.after {
        faults.insert(name.to_owned(), fault.after(calls - 1));
        return None;
    }
    match fault.count {
        None => {}
        Some(0) => {
            faults.remove(name);
            return None;
        }
        Some(1) => {
            faults.remove(name);
        }
        Some(left) => {
            faults.insert(name.to_owned(), fault.times(left - 1));
        }
    }
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_for_two_calls_meets_two() {
        let control = Control::new(City::empty());
        control.set_fault("6bgk-3dad", Fault::new(FaultKind::Error).times(2));
        let met: Vec<bool> = (0..3)
            .map(|_| control.begin("6bgk-3dad", "").fault.is_some())
            .collect();
        assert_eq!(met, [true, true, false]);
        assert_eq!(control.calls("6bgk-3dad"), 3);
        control.reset_calls();
        assert_eq!(control.calls("6bgk-3dad"), 0);
    }

    #[test]
    fn a_fault_may_wait_for_the_third_call() {
        let control = Control::new(City::empty());
        control.set_fault(RESO, Fault::new(FaultKind::Error).after(2).times(1));
        let met: Vec<bool> = (0..4)
            .map(|_| control.begin(RESO, "").fault.is_some())
            .collect();
        assert_eq!(met, [false, false, true, false]);
    }

    #[test]
    fn a_fault_for_every_dataset_leaves_the_address_search_alone() {
        let control = Control::new(City::empty());
        control.set_fault(EVERY_DATASET, Fault::new(FaultKind::Timeout));
        assert!(control.begin("6bgk-3dad", "").fault.is_some());
        assert!(control.begin(GEOSEARCH, "").fault.is_none());
        control.set_fault("6bgk-3dad", Fault::new(FaultKind::Html));
        let fault = control.begin("6bgk-3dad", "").fault;
        assert_eq!(fault.map(|fault| fault.kind), Some(FaultKind::Html));
    }
}
