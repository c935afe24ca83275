//! The answer of `POST /v1/comps`, made of what the search found.

use std::collections::HashMap;

use brownstone_domain::{
    Zip,
    comps::{
        Comp, CompsAnswer, CompsQuery, CompsRequest, CompsSubject, CompsSummary, SubjectOverrides,
        Valuation,
    },
};
use time::{Date, OffsetDateTime};

use super::{Found, Search, Subject};
use crate::{Flags, SaleId, SalesIndex, read::value::EPOCH};

/// A sale's part in an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// Its share of the estimate, 0 to 1.
    pub weight: f64,
    /// Its price as of the valuation's day.
    pub price: u64,
}

/// A value and what each sale had to do with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Valued {
    /// The value, or why there is none.
    pub valuation: Valuation,
    /// By sale.
    pub adjusted: HashMap<SaleId, Adjusted>,
}

/// What a value is asked of.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Sales and lots.
    pub index: &'a SalesIndex,
    /// What is valued.
    pub subject: &'a Subject,
    /// The comparable sales that were found.
    pub search: &'a Search,
    /// What the caller knows better, bedrooms among it.
    pub overrides: &'a SubjectOverrides,
    /// Nothing recorded on this day (counted from 1970-01-01) or later may be used.
    pub cutoff: i32,
    /// The day the value is for.
    pub as_of: Date,
}

/// Makes values. It uses nothing that was recorded on the day of the cutoff or later.
pub trait Valuer: Send + Sync {
    /// The value of the subject, or why there is none.
    fn value(&self, ask: &Ask<'_>) -> Valued;
}

fn rounded(number: f64, unit: f64) -> f64 {
    (number * unit).round() / unit
}

fn zip(number: Option<u32>) -> Option<Zip> {
    number?.to_string().parse().ok()
}

pub(super) fn day(days: i32) -> Date {
    Date::from_julian_day(days + EPOCH).unwrap_or(Date::MIN)
}

fn words(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Puts the answer together. `address` is the subject's one line; `valued` is absent in `comps` mode.
#[allow(clippy::too_many_arguments)] // Each is a different thing, and there is one caller.
pub fn answer(
    index: &SalesIndex,
    request: &CompsRequest,
    subject: &Subject,
    address: String,
    search: &Search,
    valued: Option<Valued>,
    publication_lag_days: u32,
    as_of_date: Date,
    now: OffsetDateTime,
) -> CompsAnswer {
    let as_of = as_of_date.to_julian_day() - EPOCH;
    let listed = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let comps: Vec<Comp> = search
        .found
        .iter()
        .take(listed)
        .map(|found| {
            let adjusted = valued
                .as_ref()
                .and_then(|valued| valued.adjusted.get(&found.sale.id));
            comp(index, found, as_of, adjusted)
        })
        .collect();
    CompsAnswer {
        subject: describe(index, request, subject, address),
        query: CompsQuery {
            mode: request.mode,
            radius_miles: request.radius_miles,
            lookback_months: search.lookback_months,
            limit: request.limit,
            same_building: request.same_building,
            min_sale_price: request.min_sale_price,
            max_sale_price: request.max_sale_price,
            include_non_arms_length: request.include_non_arms_length,
            as_of_date,
            publication_lag_days,
        },
        search_used: search.used.clone(),
        comp_count: u32::try_from(comps.len()).unwrap_or(u32::MAX),
        excluded_counts: search.excluded,
        summary: summary(&comps),
        comps,
        valuation: valued.map(|valued| valued.valuation),
        as_of_at: now,
    }
}

fn describe(
    index: &SalesIndex,
    request: &CompsRequest,
    subject: &Subject,
    address: String,
) -> CompsSubject {
    let number = subject.neighborhood;
    CompsSubject {
        address,
        unit: subject.unit.clone(),
        bbl: subject.bbl,
        unit_bbl: (subject.lot != subject.bbl).then_some(subject.lot),
        borough: subject.bbl.borough().name().to_owned(),
        neighborhood: number.and_then(|number| words(index.neighborhood(number))),
        zip_code: zip(subject.zip),
        latitude: subject.place.map(crate::Place::latitude),
        longitude: subject.place.map(crate::Place::longitude),
        property_type: subject.property_type(),
        building_class: words(subject.class.as_str()),
        bedrooms: request.overrides.bedrooms,
        bathrooms: request.overrides.bathrooms,
        living_area_sqft: subject.sqft,
        year_built: subject.year_built,
        units: subject.dwellings,
    }
}

fn comp(index: &SalesIndex, found: &Found, as_of: i32, adjusted: Option<&Adjusted>) -> Comp {
    let sale = &found.sale;
    let sqft = sale.unit_safe_sqft();
    Comp {
        sale_id: sale.id.to_string(),
        address: index.text(sale.address).to_owned(),
        unit: words(index.text(sale.unit)),
        bbl: sale.bbl,
        borough: sale.bbl.borough().name().to_owned(),
        neighborhood: words(index.neighborhood(sale.neighborhood)),
        zip_code: zip(sale.zip),
        latitude: sale.place.map(crate::Place::latitude),
        longitude: sale.place.map(crate::Place::longitude),
        sale_price: sale.price,
        sale_date: day(sale.date),
        building_class_at_sale: words(sale.class_at_sale.as_str()),
        property_type: sale.kind().property_type(),
        units: if sale.kind().is_unit() {
            Some(1)
        } else {
            sale.residential_units.or(sale.total_units)
        },
        year_built: sale.year_built.map(u32::from),
        living_area_sqft: sqft,
        price_per_sqft: sqft.map(|sqft| rounded(sale.price as f64 / f64::from(sqft), 100.0)),
        distance_miles: found.miles.map(|miles| rounded(miles, 1000.0)),
        same_building: found.same_building,
        days_since_sale: u32::try_from(as_of - sale.date).unwrap_or(0),
        similarity: rounded(found.similarity, 10_000.0),
        weight: adjusted.map(|adjusted| rounded(adjusted.weight, 10_000.0)),
        time_adjusted_price: adjusted.map(|adjusted| adjusted.price),
        arms_length: !sale.flags.has(Flags::NON_ARMS_LENGTH),
        flags: sale.flags.names().map(Into::into).collect(),
    }
}

/// The value that a share of sorted numbers lies below, between neighbours where it falls between them.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share * last as f64;
    // The cast is exact: `at` is at most the last place.
    let below = at.floor() as usize;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * at.fract())
}

fn summary(comps: &[Comp]) -> CompsSummary {
    let sorted = |mut numbers: Vec<f64>| {
        numbers.sort_unstable_by(f64::total_cmp);
        numbers
    };
    let prices = sorted(comps.iter().map(|comp| comp.sale_price as f64).collect());
    let by_sqft = sorted(
        comps
            .iter()
            .filter_map(|comp| comp.price_per_sqft)
            .collect(),
    );
    // The casts are exact: prices are whole dollars below 2^53.
    let dollars = |share| quantile(&prices, share).map(|price| price.round() as u64);
    CompsSummary {
        median_sale_price: dollars(0.5),
        median_price_per_sqft: quantile(&by_sqft, 0.5).map(|price| rounded(price, 100.0)),
        p25_sale_price: dollars(0.25),
        p75_sale_price: dollars(0.75),
        newest_sale_date: comps.iter().map(|comp| comp.sale_date).max(),
        oldest_sale_date: comps.iter().map(|comp| comp.sale_date).min(),
    }
}
