//! Request and answer of the lookup. The server splices the answer from a [`crate::Property`], the report's sources and a
//! [`crate::CacheInfo`]; [`LookupAnswer`] is how a client reads it.

use serde::Deserialize;

use crate::{
    Bbl, Bin, CacheInfo, CompsAnswer, Property, SourceEntry, rentals::RentalsAnswer,
    usage::OrderedMap,
};

/// What `POST /v1/lookup` accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupRequest {
    /// The address text, 1 to 200 characters; also a BBL, a BIN or `borough block lot`.
    pub address: String,
    /// Adds comparable sales at their defaults.
    pub include_comps: bool,
    /// Adds comparable rentals at their defaults.
    pub include_rentals: bool,
}

impl LookupRequest {
    /// The longest address text, in characters.
    pub const MAX_ADDRESS_CHARS: usize = 200;
}

/// `data` of `POST /v1/lookup`, as a client reads it.
#[derive(Debug, Clone, Deserialize)]
pub struct LookupAnswer {
    /// The building's address, and what this request typed.
    pub property: Property,
    /// The tax lot; `None` when none resolves.
    pub bbl: Option<Bbl>,
    /// The building; `None` when the city's address files carry none, or the lot has several.
    pub bin: Option<Bin>,
    /// The stable path of the report's page on the web host.
    pub canonical_path: Option<String>,
    /// One entry for every source, in the order of the registry.
    pub sources: OrderedMap<SourceEntry>,
    /// When the report was assembled and when it can be refreshed.
    pub cache: CacheInfo,
    /// With `include_comps`; `None` without, and when they could not be found.
    #[serde(default)]
    pub comps: Option<CompsAnswer>,
    /// With `include_rentals`; `None` without, and when they could not be found.
    #[serde(default)]
    pub rentals: Option<RentalsAnswer>,
}

impl LookupAnswer {
    /// The entry of a source; `None` where the deployment has no source of that key.
    pub fn source(&self, key: &str) -> Option<&SourceEntry> {
        let entries = &self.sources.0;
        entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, entry)| entry)
    }
}
