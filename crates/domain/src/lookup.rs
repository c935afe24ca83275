//! Request of the lookup. Its answer is spliced from a [`crate::Property`], the report's sources and a
//! [`crate::CacheInfo`].

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
