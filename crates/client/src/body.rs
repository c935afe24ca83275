//! Requests as JSON bodies: options that are not set are left out.

use brownstone_domain::{
    AreaQuery, Bounds, CompsRequest, LookupRequest, PropertyType, RatesRequest, SearchRequest,
    UpdatesRequest, rates::Occupancy, rentals::RentalsRequest,
};
use serde_json::{Map, Value, json};
use time::{Date, OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

use crate::Error;

/// A body under construction.
#[derive(Default)]
struct Body(Map<String, Value>);

impl Body {
    fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn may(&mut self, name: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.set(name, value);
        }
        self
    }

    fn bounds<T: Copy + Into<Value>>(
        &mut self,
        low: &str,
        high: &str,
        bounds: &Bounds<T>,
    ) -> &mut Self {
        self.may(low, bounds.min).may(high, bounds.max)
    }

    fn area(&mut self, area: &AreaQuery) -> &mut Self {
        match area {
            AreaQuery::Location(name) => self.set("location", name.as_str()),
            AreaQuery::ZipCodes(zips) => {
                let zips: Vec<String> = zips.iter().map(ToString::to_string).collect();
                self.set("zip_codes", zips)
            }
        }
    }

    fn several(&mut self, name: &str, values: Vec<&'static str>) -> &mut Self {
        if !values.is_empty() {
            self.set(name, values);
        }
        self
    }

    fn done(&mut self) -> Value {
        Value::Object(std::mem::take(&mut self.0))
    }
}

fn day(date: Option<Date>) -> Option<String> {
    let date = date?;
    Some(format!(
        "{:04}-{:02}-{:02}",
        date.year(),
        u8::from(date.month()),
        date.day()
    ))
}

/// A moment as text, in UTC: RFC 3339 has no text for an offset with seconds. It has none for some years either, and to leave such a bound
/// out would ask for something else.
fn moment(field: &'static str, at: Option<OffsetDateTime>) -> Result<Option<String>, Error> {
    let text = |at: OffsetDateTime| at.checked_to_offset(UtcOffset::UTC)?.format(&Rfc3339).ok();
    at.map(|at| text(at).ok_or(Error::Moment { field, at }))
        .transpose()
}

pub(crate) fn lookup(request: &LookupRequest) -> Value {
    json!({
        "address": request.address,
        "include_comps": request.include_comps,
        "include_rentals": request.include_rentals,
    })
}

pub(crate) fn search(request: &SearchRequest) -> Value {
    let filter = &request.filter;
    Body::default()
        .area(&request.area)
        .set("listing_type", filter.listing_type.as_str())
        .several(
            "status",
            filter.status.iter().map(|one| one.as_str()).collect(),
        )
        .several(
            "property_types",
            filter
                .property_types
                .iter()
                .map(|one| one.as_str())
                .collect(),
        )
        .bounds("min_price", "max_price", &filter.price)
        .bounds("min_bedrooms", "max_bedrooms", &filter.bedrooms)
        .bounds("min_bathrooms", "max_bathrooms", &filter.bathrooms)
        .bounds(
            "min_living_area_sqft",
            "max_living_area_sqft",
            &filter.living_area_sqft,
        )
        .bounds("min_year_built", "max_year_built", &filter.year_built)
        .may("max_days_on_market", filter.max_days_on_market)
        .may("price_reduced", filter.price_reduced)
        .may("new_construction", filter.new_construction)
        .may("no_fee", filter.no_fee)
        .may("pets_allowed", filter.pets_allowed)
        .may("furnished", filter.furnished)
        .may("has_open_house", filter.has_open_house)
        .may("available_from", day(filter.available.min))
        .may("available_to", day(filter.available.max))
        .set("sort", request.sort.as_str())
        .set("limit", request.limit)
        .set("offset", request.offset)
        .done()
}

pub(crate) fn comps(request: &CompsRequest) -> Value {
    let subject = &request.overrides;
    Body::default()
        .set("address", request.address.as_str())
        .set("mode", request.mode.as_str())
        .may(
            "property_type",
            subject.property_type.map(PropertyType::as_str),
        )
        .may("bedrooms", subject.bedrooms)
        .may("bathrooms", subject.bathrooms)
        .may("living_area_sqft", subject.living_area_sqft)
        .may("year_built", subject.year_built)
        .may("units", subject.units)
        .may("radius_miles", request.radius_miles)
        .may("lookback_months", request.lookback_months)
        .set("limit", request.limit)
        .set("same_building", request.same_building.as_str())
        .set("min_sale_price", request.min_sale_price)
        .may("max_sale_price", request.max_sale_price)
        .set("include_non_arms_length", request.include_non_arms_length)
        .may("as_of_date", day(request.as_of_date))
        .done()
}

pub(crate) fn rentals(request: &RentalsRequest) -> Value {
    Body::default()
        .set("address", request.address.as_str())
        .set("mode", request.mode.as_str())
        .may("bedrooms", request.bedrooms)
        .may("bathrooms", request.bathrooms)
        .may("living_area_sqft", request.living_area_sqft)
        .may("furnished", request.furnished)
        .may("radius_miles", request.radius_miles)
        .set("max_age_days", request.max_age_days)
        .set("limit", request.limit)
        .set("same_building", request.same_building.as_str())
        .done()
}

pub(crate) fn updates(request: &UpdatesRequest) -> Result<Value, Error> {
    let since = moment("since", request.since)?;
    let until = moment("until", request.until)?;
    let body = Body::default()
        .area(&request.area)
        .set("listing_type", request.listing_type.as_str())
        .several(
            "property_types",
            request
                .property_types
                .iter()
                .map(|one| one.as_str())
                .collect(),
        )
        .bounds("min_price", "max_price", &request.price)
        .bounds("min_bedrooms", "max_bedrooms", &request.bedrooms)
        .may("since", since)
        .may("until", until)
        .may("min_price_drop_percent", request.min_price_drop_percent)
        .set("limit", request.limit)
        .may("after_event_id", request.after_event_id)
        .done();
    Ok(body)
}

pub(crate) fn rates(request: &RatesRequest) -> Value {
    Body::default()
        .set("loan_purpose", request.loan_purpose.as_str())
        .may("home_price", request.home_price)
        .may("down_payment", request.down_payment)
        .may("loan_amount", request.loan_amount)
        .may("ltv_percent", request.ltv_percent)
        .may("credit_score", request.credit_score)
        .set("loan_type", request.loan_type.as_str())
        .set("loan_term_years", request.loan_term_years)
        .set("rate_type", request.rate_type.as_str())
        .may(
            "property_type",
            request.property_type.map(PropertyType::as_str),
        )
        .may("occupancy", request.occupancy.map(Occupancy::as_str))
        .may("zip_code", request.zip_code.map(|zip| zip.to_string()))
        .done()
}

#[cfg(test)]
mod tests {
    use brownstone_domain::{
        ListingFilter, ListingSort, ListingStatus, ListingType, Operation, comps::SubjectOverrides,
    };
    use time::macros::{date, datetime};

    use super::*;

    /// Asserts that a request with everything set has every field that the operation takes, but one of the two areas.
    fn complete(operation: Operation, body: &Value) {
        let sent: Vec<&str> = body
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let taken: Vec<&str> = operation
            .spec()
            .fields
            .iter()
            .copied()
            .filter(|name| *name != "zip_codes")
            .collect();
        assert_eq!(sent, taken);
    }

    fn both<T>(min: T, max: T) -> Bounds<T> {
        Bounds {
            min: Some(min),
            max: Some(max),
        }
    }

    #[test]
    fn every_field_of_every_operation_can_be_sent() {
        let area = || AreaQuery::Location("Park Slope".into());
        complete(
            Operation::LookupProperty,
            &lookup(&LookupRequest {
                address: "350 5 Avenue".into(),
                include_comps: true,
                include_rentals: false,
            }),
        );
        let filter = ListingFilter {
            status: vec![ListingStatus::Active],
            property_types: vec![PropertyType::Condo],
            price: both(1, 2),
            bedrooms: both(0, 3),
            bathrooms: both(1.0, 1.5),
            living_area_sqft: both(1, 2),
            year_built: both(1900, 2000),
            max_days_on_market: Some(9),
            price_reduced: Some(true),
            new_construction: Some(false),
            no_fee: Some(true),
            pets_allowed: Some(true),
            furnished: Some(true),
            has_open_house: Some(true),
            available: both(date!(2027 - 01 - 01), date!(2027 - 02 - 01)),
            ..ListingFilter::active(ListingType::Sale)
        };
        let body = search(&SearchRequest {
            area: area(),
            filter,
            sort: ListingSort::Newest,
            limit: 5,
            offset: 10,
        });
        complete(Operation::SearchListings, &body);
        assert_eq!(body["available_from"], "2027-01-01");
        complete(
            Operation::GetComps,
            &comps(&CompsRequest {
                overrides: SubjectOverrides {
                    property_type: Some(PropertyType::Coop),
                    bedrooms: Some(1),
                    bathrooms: Some(1.5),
                    living_area_sqft: Some(900),
                    year_built: Some(1931),
                    units: Some(2),
                },
                radius_miles: Some(0.5),
                lookback_months: Some(12),
                max_sale_price: Some(5_000_000),
                as_of_date: Some(date!(2026 - 06 - 30)),
                ..CompsRequest::of("350 5 Avenue")
            }),
        );
        complete(
            Operation::GetRentalEstimates,
            &rentals(&RentalsRequest {
                bedrooms: Some(1),
                bathrooms: Some(1.0),
                living_area_sqft: Some(700),
                furnished: Some(false),
                radius_miles: Some(1.0),
                ..RentalsRequest::of("350 5 Avenue")
            }),
        );
        let body = updates(&UpdatesRequest {
            area: area(),
            listing_type: ListingType::Rental,
            property_types: vec![PropertyType::Condo],
            price: both(1, 2),
            bedrooms: both(0, 3),
            since: Some(datetime!(2026-11-26 5:00 -5)),
            until: Some(datetime!(2026-11-27 5:00 UTC)),
            min_price_drop_percent: Some(5.0),
            limit: 20,
            after_event_id: Some(7),
        })
        .unwrap();
        complete(Operation::GetListingUpdates, &body);
        assert_eq!(body["since"], "2026-11-26T10:00:00Z");
        complete(
            Operation::GetMortgageRates,
            &rates(&RatesRequest {
                home_price: Some(900_000),
                down_payment: Some(180_000),
                loan_amount: Some(720_000),
                ltv_percent: Some(80.0),
                credit_score: Some(740),
                property_type: Some(PropertyType::TwoFamily),
                occupancy: Some(Occupancy::Investment),
                zip_code: Some("11201".parse().unwrap()),
                ..RatesRequest::default()
            }),
        );
    }

    #[test]
    fn a_moment_is_sent_in_utc_or_the_call_is_not_made() {
        let sent = |at| moment("since", Some(at));
        // New York's own time, before there were zones.
        let local = datetime!(2026-11-26 5:00 -4:56:02);
        assert_eq!(
            sent(local).unwrap().as_deref(),
            Some("2026-11-26T09:56:02Z")
        );
        assert_eq!(moment("since", None).unwrap(), None);
        let before = sent(datetime!(-0001-01-01 0:00 UTC)).unwrap_err();
        assert!(before.to_string().starts_with("since is "), "{before}");
        let beyond = datetime!(9999-12-31 23:00 -5);
        assert!(matches!(
            moment("until", Some(beyond)),
            Err(Error::Moment { field: "until", at }) if at == beyond
        ));
    }

    #[test]
    fn zips_are_text() {
        let area = AreaQuery::ZipCodes(vec!["11215".parse().unwrap()]);
        assert_eq!(
            Body::default().area(&area).done(),
            json!({"zip_codes": ["11215"]})
        );
    }
}
