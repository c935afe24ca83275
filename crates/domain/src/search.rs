//! Request and answer of the listing search.

use serde::{Deserialize, Serialize};
use time::Date;

use crate::{
    Listing, ListingSourceStatus, ListingStatus, ListingType, PropertyType, Zip, listing::named,
};

/// Which part of the city is meant, as the caller named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AreaQuery {
    /// `location`: a ZIP, or the name of a neighbourhood or borough.
    Location(String),
    /// `zip_codes`: 1 to 25.
    ZipCodes(Vec<Zip>),
}

/// A lower and an upper bound, both inclusive; either may be absent.
///
/// ```
/// use brownstone_domain::Bounds;
/// let bounds = Bounds { min: Some(2), max: None };
/// assert!(bounds.allow(Some(2)) && !bounds.allow(Some(1)));
/// assert!(!bounds.allow(None), "an unknown value is within no bound");
/// assert!(Bounds::<u32>::default().allow(None), "without bounds everything passes");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds<T> {
    /// At least this.
    pub min: Option<T>,
    /// At most this.
    pub max: Option<T>,
}

impl<T> Default for Bounds<T> {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
        }
    }
}

impl<T: PartialOrd + Copy> Bounds<T> {
    /// Whether `value` is within both. An unknown value is within no bound.
    pub fn allow(&self, value: Option<T>) -> bool {
        match value {
            Some(value) => {
                self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
            }
            None => self.is_open(),
        }
    }

    /// Whether neither bound is set.
    pub const fn is_open(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }
}

/// Filters of a search. A filter on a fact that a listing does not state leaves the listing out.
#[derive(Debug, Clone, PartialEq)]
pub struct ListingFilter {
    /// For sale or for rent.
    pub listing_type: ListingType,
    /// One of these; never empty.
    pub status: Vec<ListingStatus>,
    /// One of these; empty for any.
    pub property_types: Vec<PropertyType>,
    /// Whole dollars: the price of a sale, the monthly rent of a rental.
    pub price: Bounds<u64>,
    /// Bedrooms; 0 is a studio.
    pub bedrooms: Bounds<u32>,
    /// Bathrooms, in halves.
    pub bathrooms: Bounds<f64>,
    /// Living area in square feet.
    pub living_area_sqft: Bounds<u32>,
    /// Year of construction.
    pub year_built: Bounds<u32>,
    /// Days on the market at most.
    pub max_days_on_market: Option<u32>,
    /// Whether its price was cut.
    pub price_reduced: Option<bool>,
    /// Whether it is newly built.
    pub new_construction: Option<bool>,
    /// Whether the tenant pays no broker's fee.
    pub no_fee: Option<bool>,
    /// Whether pets are allowed.
    pub pets_allowed: Option<bool>,
    /// Whether it is furnished.
    pub furnished: Option<bool>,
    /// Whether an open house is still to come.
    pub has_open_house: Option<bool>,
    /// From when it is available.
    pub available: Bounds<Date>,
}

impl ListingFilter {
    /// Active listings of a type, without other filters.
    pub fn active(listing_type: ListingType) -> Self {
        Self {
            listing_type,
            status: vec![ListingStatus::Active],
            property_types: vec![],
            price: Bounds::default(),
            bedrooms: Bounds::default(),
            bathrooms: Bounds::default(),
            living_area_sqft: Bounds::default(),
            year_built: Bounds::default(),
            max_days_on_market: None,
            price_reduced: None,
            new_construction: None,
            no_fee: None,
            pets_allowed: None,
            furnished: None,
            has_open_house: None,
            available: Bounds::default(),
        }
    }
}

named! {
    /// The order of a search's results. Ties are broken by `listing_key`, and unknown values come last.
    ListingSort {
        /// Most recently listed first.
        Newest = "newest",
        /// Cheapest first.
        PriceAsc = "price_asc",
        /// Most expensive first.
        PriceDesc = "price_desc",
        /// Cheapest per square foot first.
        PricePerSqftAsc = "price_per_sqft_asc",
        /// Largest first.
        LivingAreaDesc = "living_area_desc",
        /// Fewest days on the market first.
        DaysOnMarketAsc = "days_on_market_asc",
    }
}

/// What `POST /v1/search` accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// Where.
    pub area: AreaQuery,
    /// What.
    pub filter: ListingFilter,
    /// In which order.
    pub sort: ListingSort,
    /// How many, 1 to 100.
    pub limit: u32,
    /// How many to skip.
    pub offset: u64,
}

impl SearchRequest {
    /// The most ZIPs in a request.
    pub const MAX_ZIPS: usize = 25;
    /// The most results on a page.
    pub const MAX_LIMIT: u32 = 100;
    /// Results on a page where the request does not say.
    pub const DEFAULT_LIMIT: u32 = 25;
    /// The longest name of a place, in characters.
    pub const MAX_LOCATION_CHARS: usize = 100;
}

/// `data` of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchAnswer {
    /// One page.
    pub results: Vec<Listing>,
    /// Whether another page exists at `offset` + the number of results.
    pub has_more: bool,
    /// How it went, by kind of listing call.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, crate::SourceStatus>))]
    pub source_status: ListingSourceStatus,
}
