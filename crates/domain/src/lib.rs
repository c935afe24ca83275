#![doc = include_str!("../README.md")]

pub mod arguments;
pub mod clock;
pub mod comps;
pub mod envelope;
pub mod error;
pub mod ids;
pub mod limits;
pub mod listing;
pub mod lookup;
pub mod money;
pub mod operation;
pub mod published;
pub mod rates;
pub mod record;
pub mod rentals;
pub mod report;
pub mod request_id;
#[cfg(feature = "openapi")]
mod schema;
pub mod search;
pub mod updates;
pub mod usage;

#[cfg(feature = "test-clock")]
pub use clock::ManualClock;
pub use clock::{Clock, SystemClock};
pub use comps::{CompsAnswer, CompsRequest};
pub use envelope::{Envelope, Meta, Surface};
pub use error::{ERROR_CODES, ErrorBody, ErrorCode, ErrorSpec};
pub use ids::{Bbl, Bin, Borough, IdError, Zip};
pub use limits::{LimitError, Limits, Units};
pub use listing::{
    Listing, ListingSource, ListingSourceStatus, ListingStatus, ListingType, OpenHouse,
    PropertyType,
};
pub use lookup::{LookupAnswer, LookupRequest};
pub use money::Dollars;
pub use operation::{Method, OPERATIONS, Operation, OperationSpec};
pub use published::PublishedDate;
pub use rates::{RatesAnswer, RatesRequest};
pub use record::{FieldValue, Record};
pub use report::{
    Building, CacheInfo, CacheStatus, Match, MatchedBy, Property, ReportKey, SourceData,
    SourceEntry, SourceStatus,
};
pub use request_id::RequestId;
pub use search::{AreaQuery, Bounds, ListingFilter, ListingSort, SearchAnswer, SearchRequest};
pub use updates::{
    ListingEventType, ListingUpdate, UpdatesAnswer, UpdatesCounts, UpdatesCoverage, UpdatesRequest,
    UpdatesWindow,
};
