//! Request and answer of `POST /v1/comps`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use time::{Date, OffsetDateTime};

use crate::{Bbl, PropertyType, Zip, listing::named};

time::serde::format_description!(day, Date, "[year]-[month]-[day]");

named! {
    /// What is asked for.
    CompsMode {
        /// The comparable sales.
        Comps = "comps",
        /// The comparable sales, and a value estimated from them.
        Valuation = "valuation",
    }
}

named! {
    /// Whether sales in the subject's own building count.
    SameBuilding {
        /// They are taken first.
        Prefer = "prefer",
        /// Only those are taken.
        Only = "only",
        /// They are left out.
        Exclude = "exclude",
    }
}

named! {
    /// What a value is of.
    ValueBasis {
        /// One unit of a building.
        Unit = "unit",
        /// A whole building.
        Building = "building",
    }
}

named! {
    /// How reliable a value is, compared with other values of this service.
    Confidence {
        /// In the most certain third.
        High = "high",
        /// In between.
        Medium = "medium",
        /// A rough guess.
        Low = "low",
    }
}

named! {
    /// Why there is no value.
    NoValueReason {
        /// Fewer than three usable sales were found.
        TooFewComps = "too_few_comps",
        /// The sales that were found disagree too much.
        CompsTooDispersed = "comps_too_dispersed",
        /// The kind of property is not valued.
        UnsupportedPropertyType = "unsupported_property_type",
    }
}

/// What `POST /v1/comps` accepts, read and checked field by field. Amounts are whole US dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct CompsRequest {
    /// The address text, as in a lookup.
    pub address: String,
    /// What is asked for.
    pub mode: CompsMode,
    /// What the caller knows about the subject better than the record does.
    pub overrides: SubjectOverrides,
    /// One distance instead of the steps.
    pub radius_miles: Option<f64>,
    /// How old a sale may be.
    pub lookback_months: Option<u32>,
    /// The most sales to list.
    pub limit: u32,
    /// Sales in the subject's own building.
    pub same_building: SameBuilding,
    /// The lowest price.
    pub min_sale_price: u64,
    /// The highest price.
    pub max_sale_price: Option<u64>,
    /// Whether sales that were not at arm's length count.
    pub include_non_arms_length: bool,
    /// Only sales dated before this day count; today when absent.
    pub as_of_date: Option<Date>,
}

impl CompsRequest {
    /// Lowest price where none is asked for: anything below it is not a market price.
    pub const DEFAULT_MIN_SALE_PRICE: u64 = 10_000;
    /// Sales listed where no limit is asked for.
    pub const DEFAULT_LIMIT: u32 = 10;
    /// The most sales listed.
    pub const MAX_LIMIT: u32 = 50;
    /// How far back a search can look, in months.
    pub const MAX_LOOKBACK_MONTHS: u32 = 60;
    /// The shortest and the longest distance, in miles.
    pub const RADIUS_MILES: (f64, f64) = (0.05, 5.0);

    /// The request of `address` with every default, as a lookup's `include_comps` makes it.
    pub fn of(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            mode: CompsMode::Comps,
            overrides: SubjectOverrides::default(),
            radius_miles: None,
            lookback_months: None,
            limit: Self::DEFAULT_LIMIT,
            same_building: SameBuilding::Prefer,
            min_sale_price: Self::DEFAULT_MIN_SALE_PRICE,
            max_sale_price: None,
            include_non_arms_length: false,
            as_of_date: None,
        }
    }
}

/// Facts of the subject that the caller knows better than the record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SubjectOverrides {
    /// Kind of property.
    pub property_type: Option<PropertyType>,
    /// Bedrooms; 0 is a studio.
    pub bedrooms: Option<u32>,
    /// Bathrooms, in halves.
    pub bathrooms: Option<f64>,
    /// Living area in square feet.
    pub living_area_sqft: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u32>,
    /// Dwellings.
    pub units: Option<u32>,
}

/// `data` of `POST /v1/comps`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CompsAnswer {
    /// What is compared.
    pub subject: CompsSubject,
    /// The request with its defaults filled in.
    pub query: CompsQuery,
    /// How far the search went.
    pub search_used: SearchUsed,
    /// The sales, the most similar first.
    pub comps: Vec<Comp>,
    /// How many there are.
    pub comp_count: u32,
    /// How many sales each rule left out.
    pub excluded_counts: ExcludedCounts,
    /// Figures over the listed sales.
    pub summary: CompsSummary,
    /// The value; null in `comps` mode.
    pub valuation: Option<Valuation>,
    /// When the answer was made.
    #[serde(with = "time::serde::rfc3339")]
    pub as_of_at: OffsetDateTime,
}

/// The property that sales are compared with, as the record has it and the request overrides it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CompsSubject {
    /// One line.
    pub address: String,
    /// The unit as typed.
    pub unit: Option<String>,
    /// The building's lot.
    pub bbl: Bbl,
    /// The unit's own lot.
    pub unit_bbl: Option<Bbl>,
    /// Borough name.
    pub borough: String,
    /// Neighbourhood, in the words of the sales table where a sale of the building or block names it.
    pub neighborhood: Option<String>,
    /// ZIP code.
    pub zip_code: Option<Zip>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Kind of property.
    pub property_type: PropertyType,
    /// The city's building class.
    pub building_class: Option<String>,
    /// Bedrooms, as the request says; the record has none.
    pub bedrooms: Option<u32>,
    /// Bathrooms, as the request says.
    pub bathrooms: Option<f64>,
    /// Floor area in square feet: the building's for a building, never for a unit.
    pub living_area_sqft: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u32>,
    /// Dwellings in the building.
    pub units: Option<u32>,
}

/// The request as it was understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CompsQuery {
    /// What was asked for.
    pub mode: CompsMode,
    /// The one distance, when one was asked for.
    pub radius_miles: Option<f64>,
    /// How old a sale may be.
    pub lookback_months: u32,
    /// The most sales to list.
    pub limit: u32,
    /// Sales in the subject's own building.
    pub same_building: SameBuilding,
    /// The lowest price.
    pub min_sale_price: u64,
    /// The highest price.
    pub max_sale_price: Option<u64>,
    /// Whether sales that were not at arm's length count.
    pub include_non_arms_length: bool,
    /// Only sales before this day count.
    #[serde(with = "day")]
    pub as_of_date: Date,
    /// How many days late the city publishes: with an `as_of_date`, sales from that many days before it do not count.
    pub publication_lag_days: u32,
}

/// The step of the search that found enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchUsed {
    /// The area that was searched.
    pub step: SearchStep,
    /// The distance, for `radius`.
    pub radius_miles: Option<f64>,
    /// Which step it was, from 1.
    pub step_number: u32,
    /// Usable sales it found, listed or not.
    pub usable_sales: u32,
}

named! {
    /// An area that a search looks through.
    SearchStep {
        /// The subject's own building.
        SameBuilding = "same_building",
        /// Everything within a distance.
        Radius = "radius",
        /// The tax block, where the subject's place is not known.
        Block = "block",
        /// The neighbourhood, where the place is not known.
        Neighborhood = "neighborhood",
        /// The ZIP code, where neither place nor neighbourhood is known.
        ZipCode = "zip_code",
        /// The part of the borough around the subject; the whole borough where the place is not known.
        BoroughPart = "borough_part",
    }
}

/// A closed sale, compared with the subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comp {
    /// Its identifier, the same in every release.
    pub sale_id: String,
    /// Address as published, without the unit.
    pub address: String,
    /// Unit as published.
    pub unit: Option<String>,
    /// Lot as sold: the building's for a co-operative apartment.
    pub bbl: Bbl,
    /// Borough name.
    pub borough: String,
    /// Neighbourhood as published.
    pub neighborhood: Option<String>,
    /// ZIP code.
    pub zip_code: Option<Zip>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Price in whole dollars.
    pub sale_price: u64,
    /// Day of the sale.
    #[serde(with = "day")]
    pub sale_date: Date,
    /// The city's building class when it was sold.
    pub building_class_at_sale: Option<String>,
    /// Kind of property.
    pub property_type: PropertyType,
    /// Dwellings that were sold; 1 for a unit.
    pub units: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u32>,
    /// Floor area in square feet; null where the city gives none, and for a unit.
    pub living_area_sqft: Option<u32>,
    /// Price per square foot of floor area.
    pub price_per_sqft: Option<f64>,
    /// Distance from the subject, rounded to a thousandth.
    pub distance_miles: Option<f64>,
    /// Whether it is in the subject's building.
    pub same_building: bool,
    /// Days from the sale to `as_of_date`.
    pub days_since_sale: u32,
    /// How similar it is, 0 to 1.
    pub similarity: f64,
    /// Its share of the estimate, 0 to 1; null in `comps` mode and where there is no estimate.
    pub weight: Option<f64>,
    /// The price adjusted to `as_of_date`; null where the market's movement is not known.
    pub time_adjusted_price: Option<u64>,
    /// Whether it was an arm's-length sale.
    pub arms_length: bool,
    /// Why the sale is suspect, as fixed words; empty if nothing is.
    pub flags: Vec<Cow<'static, str>>,
}

/// How many sales each rule left out. A sale is counted once, by the first rule that it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExcludedCounts {
    /// Cheaper than `min_sale_price`, or dearer than `max_sale_price`.
    pub below_price_floor: u32,
    /// A transfer without money or at a token price.
    pub non_arms_length: u32,
    /// One total price recorded for several lots.
    pub package_sale: u32,
    /// A repeat of a recording.
    pub duplicate_recording: u32,
    /// A price far from those of similar sales.
    pub price_outlier: u32,
    /// Another kind of property.
    pub different_type: u32,
    /// Sold before the period that was searched.
    pub too_old: u32,
    /// Within the widest step of the search, but not the step that won.
    pub too_far: u32,
    /// Without a floor area, where the subject is compared by it.
    pub no_size: u32,
}

/// Figures over the listed sales; null where none of them has the fact.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CompsSummary {
    /// Median price.
    pub median_sale_price: Option<u64>,
    /// Median price per square foot of floor area.
    pub median_price_per_sqft: Option<f64>,
    /// 25th percentile: a quarter sold for less.
    pub p25_sale_price: Option<u64>,
    /// 75th percentile: a quarter sold for more.
    pub p75_sale_price: Option<u64>,
    /// Day of the newest sale.
    #[serde(with = "day::option")]
    pub newest_sale_date: Option<Date>,
    /// Day of the oldest sale.
    #[serde(with = "day::option")]
    pub oldest_sale_date: Option<Date>,
}

/// An estimate of what the subject is worth. `value`, `low` and `high` are null together, and then there is a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Valuation {
    /// Whole dollars.
    pub value: Option<u64>,
    /// Lower end of the interval.
    pub low: Option<u64>,
    /// Upper end of the interval.
    pub high: Option<u64>,
    /// How often the interval contains the price: 0.80.
    pub interval_probability: f64,
    /// How reliable it is.
    pub confidence: Option<Confidence>,
    /// Forecast standard deviation: the usual error as a share of the value.
    pub fsd: Option<f64>,
    /// Whether a unit or a building is valued.
    pub basis: ValueBasis,
    /// How the value was made.
    pub method: String,
    /// Comparable sales it rests on.
    pub comp_count: u32,
    /// The day the estimate is for.
    #[serde(with = "day")]
    pub valuation_date: Date,
    /// Which tables and model made it.
    pub model_version: String,
    /// What the last back-test measured for this kind of subject.
    pub accuracy: Option<Accuracy>,
    /// Why there is no value.
    pub no_value_reason: Option<NoValueReason>,
}

/// How wrong values of one kind were in the last back-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Accuracy {
    /// Kind of subject.
    pub segment: String,
    /// Median absolute error, percent of the price.
    pub mdape: f64,
    /// Share of values within 10 percent of the price, in percent.
    pub ppe10: f64,
    /// Share of values within 20 percent of the price, in percent.
    pub ppe20: f64,
    /// Sales it was measured on.
    pub sample_size: u32,
    /// First and last day of those sales.
    pub period: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_contracts() {
        let request = CompsRequest::of("350 5 Avenue");
        assert_eq!(
            (request.mode, request.limit, request.same_building),
            (CompsMode::Comps, 10, SameBuilding::Prefer)
        );
        assert_eq!(request.min_sale_price, 10_000);
        assert!(!request.include_non_arms_length);
    }

    #[test]
    fn a_value_that_is_missing_says_why() {
        let valuation = Valuation {
            value: None,
            low: None,
            high: None,
            interval_probability: 0.8,
            confidence: None,
            fsd: None,
            basis: ValueBasis::Unit,
            method: "none".to_owned(),
            comp_count: 1,
            valuation_date: time::macros::date!(2024 - 01 - 31),
            model_version: "1".to_owned(),
            accuracy: None,
            no_value_reason: Some(NoValueReason::TooFewComps),
        };
        let json = serde_json::to_value(&valuation).unwrap();
        assert_eq!(json["value"], serde_json::Value::Null);
        assert_eq!(json["basis"], "unit");
        assert_eq!(json["valuation_date"], "2024-01-31");
        assert_eq!(json["no_value_reason"], "too_few_comps");
    }
}
