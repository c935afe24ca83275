//! Request and answer of `POST /v1/rentals`.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;
use time::{Date, OffsetDateTime};

use crate::{
    Bbl, Bin, Listing, Zip,
    comps::{Confidence, SameBuilding, SearchStep},
    listing::named,
};

time::serde::format_description!(day, Date, "[year]-[month]-[day]");

named! {
    /// What is asked for.
    RentalsMode {
        /// The comparable rentals.
        Rentals = "rentals",
        /// The comparable rentals, and a rent estimated from them.
        Estimate = "estimate",
    }
}

named! {
    /// Why there is no rent.
    NoEstimateReason {
        /// Fewer than three comparable rentals were found.
        TooFewRentals = "too_few_rentals",
        /// The asking rents that were found disagree too much.
        RentalsTooDispersed = "rentals_too_dispersed",
    }
}

/// What `POST /v1/rentals` accepts, read and checked field by field.
#[derive(Debug, Clone, PartialEq)]
pub struct RentalsRequest {
    /// The address text, as in a lookup.
    pub address: String,
    /// What is asked for.
    pub mode: RentalsMode,
    /// Bedrooms of the home; 0 is a studio.
    pub bedrooms: Option<u32>,
    /// Its bathrooms, in halves.
    pub bathrooms: Option<f64>,
    /// Its living area in square feet.
    pub living_area_sqft: Option<u32>,
    /// Only furnished homes, or only unfurnished ones.
    pub furnished: Option<bool>,
    /// One distance instead of the steps.
    pub radius_miles: Option<f64>,
    /// Oldest listing that counts, in days.
    pub max_age_days: u32,
    /// The most rentals to list.
    pub limit: u32,
    /// Rentals in the home's own building.
    pub same_building: SameBuilding,
}

impl RentalsRequest {
    /// Days a rental may have been listed where none are asked for.
    pub const DEFAULT_MAX_AGE_DAYS: u32 = 30;
    /// The most days that may be asked for.
    pub const MAX_AGE_DAYS: u32 = 365;
    /// Rentals listed where no limit is asked for.
    pub const DEFAULT_LIMIT: u32 = 15;
    /// The most rentals listed.
    pub const MAX_LIMIT: u32 = 50;

    /// The request of `address` with every default, as a lookup's `include_rentals` makes it.
    pub fn of(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            mode: RentalsMode::Rentals,
            bedrooms: None,
            bathrooms: None,
            living_area_sqft: None,
            furnished: None,
            radius_miles: None,
            max_age_days: Self::DEFAULT_MAX_AGE_DAYS,
            limit: Self::DEFAULT_LIMIT,
            same_building: SameBuilding::Prefer,
        }
    }
}

/// `data` of `POST /v1/rentals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentalsAnswer {
    /// The home that rentals are compared with.
    pub subject: RentalsSubject,
    /// The request with its defaults filled in.
    pub query: RentalsQuery,
    /// How far the search went.
    pub search_used: RentalSearchUsed,
    /// The rentals, the most similar first.
    pub rentals: Vec<Rental>,
    /// How many there are.
    pub rental_count: u32,
    /// Figures over all rentals of the step.
    pub statistics: RentStatistics,
    /// The rent; null in `rentals` mode.
    pub rent_estimate: Option<RentEstimate>,
    /// When the answer was made.
    #[serde(with = "time::serde::rfc3339")]
    pub as_of_at: OffsetDateTime,
}

/// The home that rentals are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentalsSubject {
    /// One line.
    pub address: String,
    /// The unit as typed.
    pub unit: Option<String>,
    /// The building's lot.
    pub bbl: Option<Bbl>,
    /// The building.
    pub bin: Option<Bin>,
    /// ZIP code.
    pub zip_code: Option<Zip>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Bedrooms, as the request says.
    pub bedrooms: Option<u32>,
    /// Bathrooms, as the request says.
    pub bathrooms: Option<f64>,
    /// Living area in square feet, as the request says.
    pub living_area_sqft: Option<u32>,
}

/// The request as it was understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentalsQuery {
    /// What was asked for.
    pub mode: RentalsMode,
    /// Only furnished homes, or only unfurnished ones.
    pub furnished: Option<bool>,
    /// The one distance, when one was asked for.
    pub radius_miles: Option<f64>,
    /// Oldest listing that counts, in days.
    pub max_age_days: u32,
    /// The most rentals to list.
    pub limit: u32,
    /// Rentals in the home's own building.
    pub same_building: SameBuilding,
}

/// The step of the search that found enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentalSearchUsed {
    /// The area that was searched.
    pub step: SearchStep,
    /// The distance, for `radius`.
    pub radius_miles: Option<f64>,
    /// Which step it was, from 1.
    pub step_number: u32,
    /// Rentals it found, listed or not.
    pub usable_rentals: u32,
}

/// An active rental, compared with the subject.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rental {
    /// The listing.
    #[serde(flatten)]
    pub listing: Listing,
    /// Distance from the subject, rounded to a thousandth.
    pub distance_miles: Option<f64>,
    /// Whether it is in the subject's building.
    pub same_building: bool,
    /// How similar it is, 0 to 1.
    pub similarity: f64,
    /// Its share of the estimate, 0 to 1; null in `rentals` mode, 0 for a stabilised unit.
    pub weight: Option<f64>,
}

impl<'de> Deserialize<'de> for Rental {
    /// Reads the two parts one after the other: what is flattened loses the digits of its amounts.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            distance_miles: Option<f64>,
            same_building: bool,
            similarity: f64,
            weight: Option<f64>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let listing = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
        let beside: Beside = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
        Ok(Self {
            listing,
            distance_miles: beside.distance_miles,
            same_building: beside.same_building,
            similarity: beside.similarity,
            weight: beside.weight,
        })
    }
}

/// Monthly rents of one kind, in dollars. With fewer than three rents only their number is given.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentSummary {
    /// How many rents these figures are based on.
    pub sample_size: u32,
    /// The median.
    pub median: Option<f64>,
    /// 25th percentile: a quarter is lower.
    pub p25: Option<f64>,
    /// 75th percentile: a quarter is higher.
    pub p75: Option<f64>,
    /// The lowest.
    pub min: Option<f64>,
    /// The highest.
    pub max: Option<f64>,
}

/// Figures over the rentals of the step that won. Asking rents and net effective rents are never mixed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentStatistics {
    /// Gross asking rents.
    #[serde(flatten)]
    pub asking: RentSummary,
    /// Median asking rent per month and square foot; null with fewer than three rentals that state an area.
    pub median_per_sqft: Option<f64>,
    /// How many rentals state an area.
    pub median_per_sqft_sample_size: u32,
    /// Asking rents by number of bedrooms, the fewest first.
    pub by_bedrooms: Vec<BedroomRents>,
    /// Rents with free months spread over the lease, of the rentals that say so.
    pub net_effective: RentSummary,
    /// How many of the rentals are rent-stabilised: their rents are set by law, and no estimate rests on them.
    pub rent_stabilized_count: u32,
}

/// Asking rents of homes with a given number of bedrooms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BedroomRents {
    /// Bedrooms; 0 is a studio.
    pub bedrooms: u32,
    /// Their asking rents.
    #[serde(flatten)]
    pub rents: RentSummary,
}

/// An estimate of what the home would be offered for. `rent`, `low` and `high` are null together, with a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RentEstimate {
    /// Whole dollars a month.
    pub rent: Option<u64>,
    /// Lower end of the interval.
    pub low: Option<u64>,
    /// Upper end of the interval.
    pub high: Option<u64>,
    /// How often the interval should contain the rent: 0.80. It is derived from how much the rentals differ, and was not measured.
    pub interval_probability: f64,
    /// `unit`.
    pub per: Cow<'static, str>,
    /// `gross`: free months are not deducted.
    pub basis: Cow<'static, str>,
    /// `asking`: what is asked, not what is paid.
    pub kind: Cow<'static, str>,
    /// How reliable it is.
    pub confidence: Option<Confidence>,
    /// How the rent was made.
    pub method: Cow<'static, str>,
    /// The day the estimate is for.
    #[serde(with = "day")]
    pub estimate_date: Date,
    /// Which rules made it.
    pub model_version: Cow<'static, str>,
    /// Always null: no public record has the rents that were paid, so nothing could be measured.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::comps::Accuracy>))]
    pub accuracy: Option<()>,
    /// Why there is no rent.
    pub no_estimate_reason: Option<NoEstimateReason>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rental_reads_back_with_every_digit() {
        let rental = Rental {
            listing: crate::listing::tests::listing(),
            distance_miles: Some(0.125),
            same_building: false,
            similarity: 0.5,
            weight: None,
        };
        let text = serde_json::to_string(&rental).unwrap();
        assert_eq!(serde_json::from_str::<Rental>(&text).unwrap(), rental);
    }
}
