//! The question this crate answers, and its answers.

use async_trait::async_trait;
use brownstone_domain::{Bbl, Bin, Building, Match};

/// A building that agrees with what was typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The building in its canonical form, the same for every spelling.
    pub building: Building,
    /// The unit as typed, without its designator's noise: `4C` of `APT 4C`.
    pub unit: Option<String>,
    /// The unit lot, where a unit-lot BBL was typed.
    pub unit_bbl: Option<Bbl>,
    /// How the address stands to what was typed.
    pub matched: Match,
    /// What was changed or assumed, in whole sentences.
    pub warnings: Vec<String>,
}

/// Why there is no one building.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Empty, over-long, or with control characters.
    #[error("{0}")]
    Invalid(String),
    /// Inside the city, or no building's address at all, and nothing is there.
    #[error("{0}")]
    NotFound(String),
    /// Outside the five boroughs.
    #[error("{0}")]
    OutsideCoverage(String),
    /// Several buildings fit: up to five candidates, each one line.
    #[error("{message}")]
    Ambiguous {
        /// A whole sentence that lists the candidates.
        message: String,
        /// The candidates.
        candidates: Vec<String>,
    },
    /// The geocoder could not be asked. For the log; never "not found".
    #[error("geocoder unavailable: {0}")]
    Unavailable(String),
}

/// Free text to one building.
#[async_trait]
pub trait Geocoder: Send + Sync {
    /// Resolves what a person typed: an address, a BBL, a BIN, or `borough block lot`.
    async fn resolve(&self, text: &str) -> Result<Resolved, ResolveError>;

    /// Whether a call leaves the machine, and so must be bounded for each account.
    fn is_live(&self) -> bool;

    /// Addresses that go on as a text begins, each on one line, the likeliest first: at once and on this machine, so that it can be asked
    /// at each key. Nothing where addresses are not resolved from an index.
    fn suggest(&self, _text: &str) -> Vec<String> {
        Vec::new()
    }
}

/// A lot or building as the city's own tables have it.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectoryEntry {
    /// The lot; the billing lot for a condominium.
    pub bbl: Bbl,
    /// The building; `None` for a lot that has none or several.
    pub bin: Option<Bin>,
    /// PLUTO's address of the lot, one line, such as `350 5 AVENUE`.
    pub address: Option<String>,
    /// ZIP code text.
    pub zip: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// All buildings of the lot.
    pub bins: Vec<Bin>,
}

/// The directory could not be asked. For the log.
#[derive(Debug, Clone, thiserror::Error)]
#[error("lot directory unavailable: {0}")]
pub struct DirectoryError(pub String);

/// BBL or BIN to building and coordinates, where no PAD index says it. `service` implements it over `sources`.
#[async_trait]
pub trait LotDirectory: Send + Sync {
    /// The lot, `None` when the city's tables have no such lot. A condominium unit lot leads to its billing lot.
    async fn by_bbl(&self, bbl: Bbl) -> Result<Option<DirectoryEntry>, DirectoryError>;

    /// The building's lot, with `bin` set; `None` when no such building stands.
    async fn by_bin(&self, bin: Bin) -> Result<Option<DirectoryEntry>, DirectoryError>;
}
