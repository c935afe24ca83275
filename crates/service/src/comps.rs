//! Comparable sales and values: the body's fields, the market that answers, and the answer's bytes.

use std::sync::{Arc, PoisonError, RwLock};

use brownstone_address::geocoder::Resolved;
use brownstone_domain::{
    Bbl, Clock, ErrorCode, PropertyType,
    comps::{CompsAnswer, CompsMode, CompsRequest, SameBuilding, SubjectOverrides},
};
use brownstone_valuation::{
    SalesIndex,
    comps::{Ask, Subject, Target, Valuer, answer, search},
};
use bytes::Bytes;
use serde_json::{Map, Value};
use time::{Date, Duration};

use crate::{Failure, body::BodyFault, fields::Fields};

/// The names of an enumeration's values, for [`Fields::one_of`].
macro_rules! names {
    ($kind:ty) => {
        <$kind>::ALL
            .iter()
            .map(|value| (value.as_str(), *value))
            .collect::<Vec<_>>()
    };
}

/// Reads the request.
///
/// # Errors
/// Names the first field that is wrong.
pub fn fields(object: &Map<String, Value>) -> Result<CompsRequest, BodyFault> {
    let fields = Fields(object);
    let defaults = CompsRequest::of(fields.address()?);
    let count = |field: &str, most: i64| -> Result<Option<u32>, BodyFault> {
        let number = fields.integer(field, 0..=most)?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
    };
    let bounded = |field: &str, most: u32| -> Result<Option<u32>, BodyFault> {
        let number = fields.integer(field, 1..=i64::from(most))?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
    };
    let dollars = |field: &str| -> Result<Option<u64>, BodyFault> {
        let amount = fields.dollars(field)?;
        Ok(amount.and_then(|amount| u64::try_from(amount).ok()))
    };
    let (nearest, farthest) = CompsRequest::RADIUS_MILES;
    let request = CompsRequest {
        mode: fields
            .one_of("mode", &names!(CompsMode))?
            .unwrap_or(defaults.mode),
        overrides: SubjectOverrides {
            property_type: fields.one_of("property_type", &names!(PropertyType))?,
            bedrooms: count("bedrooms", 50)?,
            bathrooms: fields.halves("bathrooms", 50.0)?,
            living_area_sqft: bounded("living_area_sqft", 10_000_000)?,
            year_built: fields
                .integer("year_built", 1650..=2100)?
                .and_then(|year| u32::try_from(year).ok()),
            units: bounded("units", 20_000)?,
        },
        radius_miles: fields.number("radius_miles", nearest..=farthest)?,
        lookback_months: bounded("lookback_months", CompsRequest::MAX_LOOKBACK_MONTHS)?,
        limit: bounded("limit", CompsRequest::MAX_LIMIT)?.unwrap_or(defaults.limit),
        same_building: fields
            .one_of("same_building", &names!(SameBuilding))?
            .unwrap_or(defaults.same_building),
        min_sale_price: dollars("min_sale_price")?.unwrap_or(defaults.min_sale_price),
        max_sale_price: dollars("max_sale_price")?,
        include_non_arms_length: fields
            .boolean("include_non_arms_length")?
            .unwrap_or(defaults.include_non_arms_length),
        as_of_date: fields.date("as_of_date")?,
        address: defaults.address,
    };
    Fields::ordered(
        ("min_sale_price", Some(request.min_sale_price)),
        ("max_sale_price", request.max_sale_price),
    )?;
    Ok(request)
}

/// The sales that answer, and who values by them.
#[derive(Clone)]
pub struct Market {
    /// Sales and lots.
    pub index: SalesIndex,
    /// Makes values; without one no value is made, which is an outage.
    pub valuer: Option<Arc<dyn Valuer>>,
}

/// Comparable sales. Cheap to clone; all clones see a market that is taken up.
#[derive(Clone)]
pub struct Comps {
    market: Arc<RwLock<Option<Market>>>,
    clock: Arc<dyn Clock>,
    publication_lag_days: u32,
}

impl Comps {
    /// No sales yet. `publication_lag_days`: by how many days the city's publication trails; with an `as_of_date`, sales
    /// of so many days before it were not public and do not count.
    pub fn new(clock: Arc<dyn Clock>, publication_lag_days: u32) -> Self {
        Self {
            market: Arc::default(),
            clock,
            publication_lag_days,
        }
    }

    /// Answers from this market from now on; calls that run go on with what they have.
    pub fn take_up(&self, market: Market) {
        *self.market.write().unwrap_or_else(PoisonError::into_inner) = Some(market);
    }

    /// The market that answers now.
    pub fn market(&self) -> Option<Market> {
        self.market
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The middle of a lot in degrees, latitude and longitude, where the lots that are loaded know it.
    pub(crate) fn place_of(&self, bbl: Bbl) -> Option<(f64, f64)> {
        let place = self.market()?.index.lot(bbl)?.place?;
        Some((place.latitude(), place.longitude()))
    }

    /// The version of the sales that answer now; `None` where none do.
    pub fn version(&self) -> Option<String> {
        self.market().map(|market| market.index.version())
    }

    /// The answer for a building, or the unit of it that has a lot of its own.
    pub(crate) async fn answer(
        &self,
        request: &CompsRequest,
        resolved: &Resolved,
        unit_bbl: Option<Bbl>,
    ) -> Result<CompsAnswer, Failure> {
        let market = self.market().filter(|market| !market.index.is_empty());
        let market = market.ok_or_else(|| Failure::upstream("no sales were loaded"))?;
        let (request, now) = (request.clone(), self.clock.now());
        let target = target(resolved, unit_bbl);
        let address = resolved.building.one_line();
        let today = now.date();
        let as_of = request.as_of_date.unwrap_or(today);
        if as_of > today {
            return Err(Failure::from(BodyFault(format!(
                "as_of_date must not be after today, {today}; got {as_of}."
            ))));
        }
        // Without a date of its own the request means what is known now, however late it was published.
        let lag = match request.as_of_date {
            Some(_) => self.publication_lag_days,
            None => 0,
        };
        // A search takes a millisecond or two; it must not hold up the calls beside it.
        let work = move || compare(&market, &request, &target, address, as_of, lag, now);
        tokio::task::spawn_blocking(work)
            .await
            .map_err(Failure::internal)?
    }

    /// The answer as bytes.
    pub(crate) async fn bytes(
        &self,
        request: &CompsRequest,
        resolved: &Resolved,
        unit_bbl: Option<Bbl>,
    ) -> Result<Bytes, Failure> {
        let answer = self.answer(request, resolved, unit_bbl).await?;
        let bytes = serde_json::to_vec(&answer).map_err(Failure::internal)?;
        Ok(bytes.into())
    }
}

fn target(resolved: &Resolved, unit_bbl: Option<Bbl>) -> Target {
    let building = &resolved.building;
    Target {
        bbl: building.bbl,
        unit_bbl: unit_bbl.or(resolved.unit_bbl),
        unit: resolved.unit.clone(),
        house_number: building.house_number.clone(),
        street: building.street.clone(),
        zip: building.zip.and_then(|zip| zip.to_string().parse().ok()),
        coordinates: building.latitude.zip(building.longitude),
    }
}

fn compare(
    market: &Market,
    request: &CompsRequest,
    target: &Target,
    address: String,
    as_of: Date,
    lag_days: u32,
    now: time::OffsetDateTime,
) -> Result<CompsAnswer, Failure> {
    let index = &market.index;
    let cutoff = as_of.saturating_sub(Duration::days(i64::from(lag_days)));
    let cutoff = brownstone_valuation::day_number(cutoff);
    let subject = Subject::find(index, target, &request.overrides, cutoff).ok_or_else(|| {
        Failure::new(
            ErrorCode::NotFound,
            "The address is in New York City but has no tax lot on record.",
        )
    })?;
    let search = search(index, &subject, request, cutoff);
    let valued = match request.mode {
        CompsMode::Comps => None,
        CompsMode::Valuation => {
            let valuer = market
                .valuer
                .as_ref()
                .ok_or_else(|| Failure::upstream("the valuation is not ready"))?;
            Some(valuer.value(&Ask {
                index,
                subject: &subject,
                search: &search,
                overrides: &request.overrides,
                cutoff,
                as_of,
            }))
        }
    };
    Ok(answer(
        index, request, &subject, address, &search, valued, lag_days, as_of, now,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<CompsRequest, String> {
        let Value::Object(object) = value else {
            panic!("an object is wanted")
        };
        fields(&object).map_err(|fault| fault.0)
    }

    #[test]
    fn a_request_is_read_with_its_defaults() {
        assert_eq!(
            read(json!({"address": "350 5 Avenue"})).unwrap(),
            CompsRequest::of("350 5 Avenue")
        );
        let request = read(json!({
            "address": "x", "mode": "valuation", "property_type": "condo", "bedrooms": 0, "bathrooms": 1.5,
            "living_area_sqft": 900, "year_built": 1931, "units": 4, "radius_miles": 0.05, "lookback_months": 60,
            "limit": 50, "same_building": "exclude", "min_sale_price": 0, "max_sale_price": 5_000_000,
            "include_non_arms_length": true, "as_of_date": "2023-07-01",
        }))
        .unwrap();
        assert_eq!(request.mode, CompsMode::Valuation);
        assert_eq!(request.overrides.bathrooms, Some(1.5));
        assert_eq!(request.same_building, SameBuilding::Exclude);
        assert_eq!(
            request.as_of_date,
            Some(time::macros::date!(2023 - 07 - 01))
        );
    }

    #[test]
    fn each_fault_names_its_field_what_came_and_what_is_allowed() {
        for (field, value, message) in [
            (
                "mode",
                json!("value"),
                "mode must be one of comps, valuation; got the string \"value\".",
            ),
            (
                "limit",
                json!(51),
                "limit must be a whole number from 1 to 50; got the number 51.",
            ),
            (
                "limit",
                json!(0),
                "limit must be a whole number from 1 to 50; got the number 0.",
            ),
            (
                "radius_miles",
                json!(6),
                "radius_miles must be a number from 0.05 to 5; got the number 6.",
            ),
            (
                "lookback_months",
                json!("12"),
                "lookback_months must be a whole number from 1 to 60; got the string \"12\".",
            ),
            (
                "bathrooms",
                json!(1.3),
                "bathrooms must be a number from 0 to 50 in halves; got the number 1.3.",
            ),
            (
                "as_of_date",
                json!("yesterday"),
                "as_of_date must be a date as YYYY-MM-DD; got the string \"yesterday\".",
            ),
            (
                "max_sale_price",
                json!(5),
                "min_sale_price must not be above max_sale_price; got 10000 and 5.",
            ),
        ] {
            let mut body = json!({"address": "x"});
            body[field] = value;
            assert_eq!(read(body).unwrap_err(), message);
        }
    }
}
