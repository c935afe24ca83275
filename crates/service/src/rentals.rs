//! Comparable rentals and rents: the body's fields, and the answer's bytes.

use std::sync::Arc;

use brownstone_address::geocoder::Resolved;
use brownstone_domain::{
    AreaQuery, Bounds, Building, Clock, Listing, ListingFilter, ListingType,
    comps::{SameBuilding, SearchStep},
    rentals::{
        RentEstimate, Rental, RentalSearchUsed, RentalsAnswer, RentalsMode, RentalsQuery,
        RentalsRequest, RentalsSubject,
    },
};
use brownstone_listings::{ListingKey, ListingView, Listings, area::is_city_zip};
use brownstone_valuation::{
    model::INTERVAL_PROBABILITY,
    rents::{self, Home, Offer, Step},
};
use bytes::Bytes;
use serde_json::{Map, Value};
use time::Date;
use tokio::time::Instant;

use crate::{
    Comps, Failure,
    body::BodyFault,
    fields::Fields,
    search::{LIVE_WITHIN, names},
};

/// Reads the request.
///
/// # Errors
/// Names the first field that is wrong.
pub fn fields(object: &Map<String, Value>) -> Result<RentalsRequest, BodyFault> {
    let fields = Fields(object);
    let defaults = RentalsRequest::of(fields.address()?);
    let whole = |field: &str, least: i64, most: i64| -> Result<Option<u32>, BodyFault> {
        let number = fields.integer(field, least..=most)?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
    };
    Ok(RentalsRequest {
        mode: fields
            .one_of("mode", &names(RentalsMode::ALL, RentalsMode::as_str))?
            .unwrap_or(defaults.mode),
        bedrooms: whole("bedrooms", 0, 50)?,
        bathrooms: fields.halves("bathrooms", 50.0)?,
        living_area_sqft: whole("living_area_sqft", 1, 1_000_000)?,
        furnished: fields.boolean("furnished")?,
        radius_miles: fields.number("radius_miles", 0.05..=5.0)?,
        max_age_days: whole("max_age_days", 1, i64::from(RentalsRequest::MAX_AGE_DAYS))?
            .unwrap_or(defaults.max_age_days),
        limit: whole("limit", 1, i64::from(RentalsRequest::MAX_LIMIT))?.unwrap_or(defaults.limit),
        same_building: fields
            .one_of(
                "same_building",
                &names(SameBuilding::ALL, SameBuilding::as_str),
            )?
            .unwrap_or(defaults.same_building),
        address: defaults.address,
    })
}

/// Rentals to compare with. Cheap to clone.
#[derive(Clone)]
pub struct Rentals {
    listings: Arc<Listings>,
    lots: Comps,
    clock: Arc<dyn Clock>,
}

impl Rentals {
    /// By these listings; `lots` places a building whose address came without coordinates.
    pub fn new(listings: Arc<Listings>, lots: Comps, clock: Arc<dyn Clock>) -> Self {
        Self {
            listings,
            lots,
            clock,
        }
    }

    /// Where a building stands, in degrees: by its address, else its lot, else what is listed in it. Addresses by PAD come without.
    fn place(&self, building: &Building) -> Option<(f64, f64)> {
        let by_address = building.latitude.zip(building.longitude);
        let by_lot = || self.lots.place_of(building.bbl?);
        let by_listing = || {
            let index = self.listings.index();
            let today = self.clock.now().date();
            [ListingType::Rental, ListingType::Sale]
                .map(ListingFilter::active)
                .iter()
                .flat_map(|filter| index.in_building(building.bbl, building.bin, filter, today))
                .find_map(|view| view.latitude.zip(view.longitude))
        };
        by_address.or_else(by_lot).or_else(by_listing)
    }

    /// Whether a building's area was ever scanned, so that nothing found there means that nothing is offered. One whose ZIP is not known,
    /// or is a neighbor's across the city's border, is in no area: then any will do.
    fn was_scanned(&self, building: &Building) -> bool {
        let index = self.listings.index();
        let area = building.zip.filter(|zip| is_city_zip(*zip));
        match area {
            Some(zip) => index.count(zip).is_some(),
            None => !index.versions().is_empty(),
        }
    }

    /// The answer for a building, as bytes.
    pub(crate) async fn bytes(
        &self,
        request: &RentalsRequest,
        resolved: &Resolved,
    ) -> Result<Bytes, Failure> {
        let answer = self.answer(request, resolved).await?;
        let bytes = serde_json::to_vec(&answer).map_err(Failure::internal)?;
        Ok(bytes.into())
    }

    async fn answer(
        &self,
        request: &RentalsRequest,
        resolved: &Resolved,
    ) -> Result<RentalsAnswer, Failure> {
        if self.listings.source_name().is_none() {
            return Err(Failure::upstream("no listing source is configured"));
        }
        let building = &resolved.building;
        if let Some(zip) = building.zip {
            // The building's own area is scanned when it is stale; neighbours answer with what they have.
            if let Ok(area) = brownstone_listings::area::resolve(&AreaQuery::ZipCodes(vec![zip])) {
                self.listings
                    .ready(&area, Instant::now() + LIVE_WITHIN)
                    .await;
            }
        }
        let now = self.clock.now();
        let today = now.date();
        let place = self.place(building);
        let home = Home {
            bedrooms: request.bedrooms,
            bathrooms: request.bathrooms,
            sqft: request.living_area_sqft,
        };
        let step = rents::search(
            &home,
            &self.offers(request, building, place, today),
            request.same_building,
            request.radius_miles,
        );
        if step.offers.is_empty() && !self.was_scanned(building) {
            return Err(Failure::upstream("the building's area was never scanned"));
        }
        let (shares, rent) = rents::estimate(&home, &step.offers);
        let wants = request.mode == RentalsMode::Estimate;
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let keys: Vec<ListingKey> = step
            .offers
            .iter()
            .take(limit)
            .map(|offer| ListingKey(offer.id))
            .collect();
        let listed = self.listings.load(&keys).await?;
        let rentals: Vec<Rental> = listed
            .into_iter()
            .filter_map(|listing| rental(listing, &home, &step, wants.then_some(shares.as_slice())))
            .collect();
        Ok(RentalsAnswer {
            subject: RentalsSubject {
                address: building.one_line(),
                unit: resolved.unit.clone(),
                bbl: building.bbl,
                bin: building.bin,
                zip_code: building.zip,
                latitude: place.map(|(latitude, _)| latitude),
                longitude: place.map(|(_, longitude)| longitude),
                bedrooms: request.bedrooms,
                bathrooms: request.bathrooms,
                living_area_sqft: request.living_area_sqft,
            },
            query: RentalsQuery {
                mode: request.mode,
                furnished: request.furnished,
                radius_miles: request.radius_miles,
                max_age_days: request.max_age_days,
                limit: request.limit,
                same_building: request.same_building,
            },
            search_used: RentalSearchUsed {
                step: if step.miles.is_some() {
                    SearchStep::Radius
                } else {
                    SearchStep::SameBuilding
                },
                radius_miles: step.miles,
                step_number: step.number,
                usable_rentals: u32::try_from(step.offers.len()).unwrap_or(u32::MAX),
            },
            rental_count: u32::try_from(rentals.len()).unwrap_or(u32::MAX),
            rentals,
            statistics: rents::statistics(&step.offers),
            rent_estimate: wants.then(|| rent_estimate(rent, today)),
            as_of_at: now,
        })
    }

    /// Every active rental that may come into question, once.
    fn offers(
        &self,
        request: &RentalsRequest,
        building: &Building,
        place: Option<(f64, f64)>,
        today: Date,
    ) -> Vec<Offer> {
        let mut filter = ListingFilter::active(ListingType::Rental);
        filter.max_days_on_market = Some(request.max_age_days);
        filter.furnished = request.furnished;
        filter.price = Bounds {
            min: Some(1),
            max: None,
        };
        let index = self.listings.index();
        let mut offers: Vec<Offer> = index
            .in_building(building.bbl, building.bin, &filter, today)
            .iter()
            .filter_map(|view| offer(view, Some(0.0), true, today))
            .collect();
        if let Some((latitude, longitude)) = place {
            let widest = rents::STEPS_MILES.into_iter().fold(0.0, f64::max);
            let miles = request.radius_miles.unwrap_or(widest);
            let mine: Vec<u64> = offers.iter().map(|offer| offer.id).collect();
            let near = index.rentals_near(latitude, longitude, miles, &filter, today);
            offers.extend(
                near.iter()
                    .filter(|(view, _)| !mine.contains(&view.key.0))
                    .filter_map(|(view, miles)| offer(view, Some(*miles), false, today)),
            );
        }
        offers
    }
}

fn offer(
    view: &ListingView,
    miles: Option<f64>,
    same_building: bool,
    today: Date,
) -> Option<Offer> {
    let dollars =
        |amount: brownstone_domain::Dollars| amount.cents().map(|cents| cents as f64 / 100.0);
    Some(Offer {
        id: view.key.0,
        asking: view.price.and_then(dollars).filter(|rent| *rent > 0.0)?,
        net_effective: view
            .net_effective_rent
            .and_then(dollars)
            .filter(|rent| *rent > 0.0),
        home: Home {
            bedrooms: view.bedrooms,
            bathrooms: view.bathrooms,
            sqft: view.living_area_sqft,
        },
        stabilized: view.rent_stabilized == Some(true),
        same_building,
        miles,
        age_days: view
            .listed_on
            .and_then(|listed| u32::try_from((today - listed).whole_days()).ok()),
    })
}

/// A listing beside the home; nothing when it left the step between two readings.
fn rental(listing: Listing, home: &Home, step: &Step, shares: Option<&[f64]>) -> Option<Rental> {
    let rounded = |number: f64| (number * 1000.0).round() / 1000.0;
    let at = step
        .offers
        .iter()
        .position(|offer| ListingKey(offer.id).to_string() == listing.listing_key)?;
    let offer = step.offers.get(at)?;
    Some(Rental {
        distance_miles: offer.miles.map(rounded),
        same_building: offer.same_building,
        similarity: rounded(rents::similarity(home, offer)),
        weight: shares
            .and_then(|shares| shares.get(at))
            .copied()
            .map(rounded),
        listing,
    })
}

fn rent_estimate(
    rent: Result<rents::Rent, brownstone_domain::rentals::NoEstimateReason>,
    today: Date,
) -> RentEstimate {
    let (rent, reason) = match rent {
        Ok(rent) => (Some(rent), None),
        Err(reason) => (None, Some(reason)),
    };
    // The cast saturates, and no rent is that high.
    let whole = |amount: f64| amount.round() as u64;
    RentEstimate {
        rent: rent.as_ref().map(|rent| whole(rent.rent)),
        low: rent.as_ref().map(|rent| whole(rent.low)),
        high: rent.as_ref().map(|rent| whole(rent.high)),
        interval_probability: INTERVAL_PROBABILITY,
        per: "unit".into(),
        basis: "gross".into(),
        kind: "asking".into(),
        confidence: rent.as_ref().map(|rent| rent.confidence),
        method: if rent.is_some() {
            "comparable_rentals"
        } else {
            "none"
        }
        .into(),
        estimate_date: today,
        model_version: rents::VERSION.into(),
        accuracy: None,
        no_estimate_reason: reason,
    }
}

#[cfg(test)]
#[path = "rentals_tests.rs"]
mod answers;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<RentalsRequest, String> {
        let Value::Object(object) = value else {
            panic!("an object is wanted")
        };
        fields(&object).map_err(|fault| fault.0)
    }

    #[test]
    fn a_request_is_read_with_its_defaults() {
        assert_eq!(
            read(json!({"address": "350 5 Avenue"})).unwrap(),
            RentalsRequest::of("350 5 Avenue")
        );
        let request = read(json!({
            "address": "x", "mode": "estimate", "bedrooms": 0, "bathrooms": 1.5, "living_area_sqft": 500,
            "furnished": false, "radius_miles": 0.4, "max_age_days": 60, "limit": 50, "same_building": "only",
        }))
        .unwrap();
        assert_eq!(
            (request.mode, request.bedrooms),
            (RentalsMode::Estimate, Some(0))
        );
        assert_eq!((request.furnished, request.max_age_days), (Some(false), 60));
        assert_eq!(request.same_building, SameBuilding::Only);
    }

    #[test]
    fn each_fault_names_its_field_what_came_and_what_is_allowed() {
        for (field, value, message) in [
            (
                "mode",
                json!("rent"),
                "mode must be one of rentals, estimate; got the string \"rent\".",
            ),
            (
                "limit",
                json!(51),
                "limit must be a whole number from 1 to 50; got the number 51.",
            ),
            (
                "max_age_days",
                json!(0),
                "max_age_days must be a whole number from 1 to 365; got the number 0.",
            ),
            (
                "bathrooms",
                json!(1.3),
                "bathrooms must be a number from 0 to 50 in halves; got the number 1.3.",
            ),
        ] {
            let mut body = json!({"address": "x"});
            body[field] = value;
            assert_eq!(read(body).unwrap_err(), message);
        }
    }

    #[test]
    fn no_rent_is_null_with_a_reason() {
        let today = time::macros::date!(2026 - 11 - 28);
        let none = rent_estimate(
            Err(brownstone_domain::rentals::NoEstimateReason::TooFewRentals),
            today,
        );
        let json = serde_json::to_value(&none).unwrap();
        assert_eq!(json["rent"], Value::Null);
        assert_eq!(json["no_estimate_reason"], "too_few_rentals");
        assert_eq!(
            (&json["per"], &json["basis"], &json["kind"]),
            (&json!("unit"), &json!("gross"), &json!("asking"))
        );
        assert_eq!(json["estimate_date"], "2026-11-28");
    }
}
