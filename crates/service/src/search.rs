//! The listing search: the body's fields, and the answer's bytes.

use std::time::Duration;

use brownstone_domain::{
    AreaQuery, Bounds, Clock, ErrorCode, ListingFilter, ListingSort, ListingStatus, ListingType,
    PropertyType, SearchAnswer, SearchRequest, Zip,
};
use brownstone_listings::{Area, AreaError, Listings, store::ListingStoreError};
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{
    Failure,
    body::{BodyFault, kind},
    fields::Fields,
};

/// How long areas that are stale may be scanned while a caller waits.
pub(crate) const LIVE_WITHIN: Duration = Duration::from_secs(9);

/// The greatest page offset; beyond it nothing can be.
const MAX_OFFSET: i64 = 1_000_000_000;

/// The names of some values, for [`Fields::one_of`].
pub(crate) fn names<T: Copy>(
    values: &[T],
    name: impl Fn(T) -> &'static str,
) -> Vec<(&'static str, T)> {
    values.iter().map(|value| (name(*value), *value)).collect()
}

/// Reads the area: exactly one of `location` and `zip_codes`.
pub(crate) fn area(fields: &Fields<'_>) -> Result<AreaQuery, BodyFault> {
    let location = fields.text("location", SearchRequest::MAX_LOCATION_CHARS)?;
    match (location, fields.get("zip_codes")) {
        (Some(location), None) => Ok(AreaQuery::Location(location.to_owned())),
        (None, Some(zips)) => Ok(AreaQuery::ZipCodes(zip_codes(zips)?)),
        (Some(_), Some(_)) => Err(BodyFault(
            "location and zip_codes exclude each other; send exactly one of them.".into(),
        )),
        (None, None) => Err(BodyFault(
            "location or zip_codes is required: a ZIP or the name of a neighborhood or borough, or an array of 1 to 25 ZIPs."
                .into(),
        )),
    }
}

fn zip_codes(value: &Value) -> Result<Vec<Zip>, BodyFault> {
    const ALLOWED: &str = "an array of 1 to 25 strings of five digits";
    let Value::Array(items) = value else {
        return Err(BodyFault(format!(
            "zip_codes must be {ALLOWED}; got {}.",
            kind(value)
        )));
    };
    if !(1..=SearchRequest::MAX_ZIPS).contains(&items.len()) {
        return Err(BodyFault(format!(
            "zip_codes must be {ALLOWED}; got {} of them.",
            items.len()
        )));
    }
    items
        .iter()
        .map(|item| {
            item.as_str()
                .filter(|text| text.len() == 5)
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| {
                    BodyFault(format!("zip_codes must be {ALLOWED}; got {}.", kind(item)))
                })
        })
        .collect()
}

/// Two bounds on whole numbers, of which the lower is not above the upper.
pub(crate) fn whole<T: TryFrom<i64> + Copy + PartialOrd>(
    fields: &Fields<'_>,
    (low, high): (&str, &str),
    most: i64,
) -> Result<Bounds<T>, BodyFault> {
    let (min, max) = (
        fields.integer(low, 0..=most)?,
        fields.integer(high, 0..=most)?,
    );
    Fields::ordered((low, min), (high, max))?;
    let typed = |value: Option<i64>| value.and_then(|value| T::try_from(value).ok());
    Ok(Bounds {
        min: typed(min),
        max: typed(max),
    })
}

/// The bounds on the price, in whole dollars.
pub(crate) fn price(fields: &Fields<'_>) -> Result<Bounds<u64>, BodyFault> {
    let (min, max) = (fields.dollars("min_price")?, fields.dollars("max_price")?);
    Fields::ordered(("min_price", min), ("max_price", max))?;
    let typed = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    Ok(Bounds {
        min: typed(min),
        max: typed(max),
    })
}

fn bathrooms(fields: &Fields<'_>) -> Result<Bounds<f64>, BodyFault> {
    let halves = |field: &str| fields.halves(field, 100.0);
    let (min, max) = (halves("min_bathrooms")?, halves("max_bathrooms")?);
    Fields::ordered(("min_bathrooms", min), ("max_bathrooms", max))?;
    Ok(Bounds { min, max })
}

/// Reads the request.
///
/// # Errors
/// Names the first field that is wrong.
pub fn fields(object: &Map<String, Value>) -> Result<SearchRequest, BodyFault> {
    let fields = Fields(object);
    let area = area(&fields)?;
    let listing_type = fields
        .one_of(
            "listing_type",
            &names(ListingType::ALL, ListingType::as_str),
        )?
        .unwrap_or(ListingType::Sale);
    let statuses = names(&ListingStatus::SEARCHABLE, ListingStatus::as_str);
    let kinds = names(PropertyType::ALL, PropertyType::as_str);
    let available = Bounds {
        min: fields.date("available_from")?,
        max: fields.date("available_to")?,
    };
    Fields::ordered(
        ("available_from", available.min),
        ("available_to", available.max),
    )?;
    let filter = ListingFilter {
        listing_type,
        status: fields
            .several_of("status", &statuses)?
            .unwrap_or_else(|| vec![ListingStatus::Active]),
        property_types: fields
            .several_of("property_types", &kinds)?
            .unwrap_or_default(),
        price: price(&fields)?,
        bedrooms: whole(&fields, ("min_bedrooms", "max_bedrooms"), 100)?,
        bathrooms: bathrooms(&fields)?,
        living_area_sqft: whole(
            &fields,
            ("min_living_area_sqft", "max_living_area_sqft"),
            1_000_000,
        )?,
        year_built: whole(&fields, ("min_year_built", "max_year_built"), 9_999)?,
        max_days_on_market: whole::<u32>(
            &fields,
            ("max_days_on_market", "max_days_on_market"),
            100_000,
        )?
        .max,
        price_reduced: fields.boolean("price_reduced")?,
        new_construction: fields.boolean("new_construction")?,
        no_fee: fields.boolean("no_fee")?,
        pets_allowed: fields.boolean("pets_allowed")?,
        furnished: fields.boolean("furnished")?,
        has_open_house: fields.boolean("has_open_house")?,
        available,
    };
    let limit = fields.integer("limit", 1..=i64::from(SearchRequest::MAX_LIMIT))?;
    let offset = fields.integer("offset", 0..=MAX_OFFSET)?;
    Ok(SearchRequest {
        area,
        filter,
        sort: fields
            .one_of("sort", &names(ListingSort::ALL, ListingSort::as_str))?
            .unwrap_or(ListingSort::Newest),
        limit: limit
            .and_then(|limit| u32::try_from(limit).ok())
            .unwrap_or(SearchRequest::DEFAULT_LIMIT),
        offset: offset
            .and_then(|offset| u64::try_from(offset).ok())
            .unwrap_or(0),
    })
}

/// The area's ZIPs that this deployment may show.
pub(crate) fn entitled(listings: &Listings, area: &Area) -> Vec<Zip> {
    let entitled = listings.entitled();
    let may = |zip: &&Zip| entitled.binary_search(zip).is_ok();
    area.zips.iter().filter(may).copied().collect()
}

/// Answers the operation.
///
/// # Errors
/// 500 when storage does not answer.
pub async fn answer(
    listings: &Listings,
    clock: &dyn Clock,
    request: &SearchRequest,
    area: &Area,
) -> Result<Vec<Bytes>, Failure> {
    let source_status = listings.ready(area, Instant::now() + LIVE_WITHIN).await;
    let zips = entitled(listings, area);
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let found = listings.index().search(
        &zips,
        &request.filter,
        request.sort,
        limit,
        request.offset,
        clock.now().date(),
    );
    let answer = SearchAnswer {
        results: listings.load(&found.keys).await?,
        has_more: found.has_more,
        source_status,
    };
    let data = serde_json::to_vec(&answer).map_err(Failure::internal)?;
    Ok(vec![data.into()])
}

impl From<AreaError> for Failure {
    fn from(error: AreaError) -> Self {
        match error {
            AreaError::Outside(message) => Self::new(ErrorCode::OutsideCoverage, message),
            AreaError::Unknown(message) => Self::new(ErrorCode::InvalidRequest, message),
        }
    }
}

impl From<ListingStoreError> for Failure {
    fn from(error: ListingStoreError) -> Self {
        Self::internal(error)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<SearchRequest, String> {
        let Value::Object(object) = value else {
            panic!("an object is wanted")
        };
        fields(&object).map_err(|fault| fault.0)
    }

    #[test]
    fn the_defaults_are_the_contracts() {
        let request = read(json!({"location": "Chelsea"})).unwrap();
        assert_eq!(request.filter, ListingFilter::active(ListingType::Sale));
        assert_eq!(request.sort, ListingSort::Newest);
        assert_eq!((request.limit, request.offset), (25, 0));
    }

    #[test]
    fn every_field_is_read() {
        let request = read(json!({
            "zip_codes": ["10001", "10002"], "listing_type": "rental", "status": ["active", "pending"],
            "property_types": ["condo", "coop"], "min_price": 1000, "max_price": 5000, "min_bedrooms": 0,
            "max_bedrooms": 3, "min_bathrooms": 1, "max_bathrooms": 2.5, "min_living_area_sqft": 400,
            "max_living_area_sqft": 2000, "min_year_built": 1900, "max_year_built": 2020, "max_days_on_market": 30,
            "price_reduced": true, "new_construction": false, "no_fee": true, "pets_allowed": true,
            "furnished": false, "has_open_house": true, "available_from": "2026-12-01",
            "available_to": "2027-01-31", "sort": "price_asc", "limit": 100, "offset": 200
        }))
        .unwrap();
        let filter = &request.filter;
        assert_eq!(filter.status.len(), 2);
        assert_eq!(
            filter.price,
            Bounds {
                min: Some(1000),
                max: Some(5000)
            }
        );
        assert_eq!(
            filter.bathrooms,
            Bounds {
                min: Some(1.0),
                max: Some(2.5)
            }
        );
        assert_eq!(filter.max_days_on_market, Some(30));
        assert_eq!(filter.has_open_house, Some(true));
        assert_eq!((request.limit, request.offset), (100, 200));
    }

    #[test]
    fn faults_name_their_field_what_came_and_what_is_allowed() {
        let many: Vec<String> = (0..26).map(|n| format!("100{n:02}")).collect();
        for (body, message) in [
            (json!({}), "location or zip_codes is required"),
            (
                json!({"location": "x", "zip_codes": ["10001"]}),
                "exclude each other",
            ),
            (json!({"zip_codes": []}), "got 0 of them"),
            (json!({"zip_codes": many}), "got 26 of them"),
            (json!({"zip_codes": ["1001"]}), "got the string \"1001\""),
            (json!({"zip_codes": [10001]}), "got the number 10001"),
            (json!({"zip_codes": "10001"}), "zip_codes must be an array"),
            (
                json!({"location": "x", "min_price": 2, "max_price": 1}),
                "min_price must not be above max_price",
            ),
            (
                json!({"location": "x", "min_bathrooms": 2.5, "max_bathrooms": 2}),
                "min_bathrooms must not be above max_bathrooms",
            ),
            (
                json!({"location": "x", "available_from": "2027-01-02", "available_to": "2027-01-01"}),
                "available_from must not be above available_to",
            ),
            (
                json!({"location": "x", "min_bathrooms": 1.25}),
                "min_bathrooms must be a number from 0 to 100 in halves",
            ),
            (
                json!({"location": "x", "status": ["closed"]}),
                "status must be",
            ),
            (
                json!({"location": "x", "limit": 101}),
                "limit must be a whole number from 1 to 100",
            ),
            (
                json!({"location": "x", "offset": -1}),
                "offset must be a whole number from 0",
            ),
            (
                json!({"location": "x", "sort": "random"}),
                "sort must be one of newest",
            ),
            (
                json!({"location": "x", "max_days_on_market": -1}),
                "max_days_on_market must be",
            ),
        ] {
            let fault = read(body.clone()).unwrap_err();
            assert!(fault.contains(message), "{body}: {fault}");
        }
    }
}
