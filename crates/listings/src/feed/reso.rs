//! RESO Web API: OData 4 with the names of the Data Dictionary, as the country's multiple listing services speak it.
//!
//! Pages are the server's own: `@odata.nextLink` is followed, of which only the query is taken, so that a host or a path
//! never comes from an answer.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use brownstone_domain::{Dollars, ListingType, OpenHouse, PropertyType, Zip};
use brownstone_upstream::{Request, Upstream};
use secrecy::SecretString;
use serde_json::{Map, Value};
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::Instant;
use url::Url;

use super::{FeedError, FeedPage, ListingFeed, blank, json, map_rows, moment, words};
use crate::{
    Row,
    clean::{Dropped, Facts, Rate, finish},
};

/// The name in `sources`.
const NAME: &str = "reso";

/// Listings that nobody has touched for so long are not asked for: closed ones pile up over decades.
const REACH: Duration = Duration::days(3 * 366);

/// Rows asked for in a page; the server may give fewer.
const PAGE: &str = "odata.maxpagesize=500";

/// What comes with each listing, where the server has it.
const EXPAND: &str = "Media,OpenHouse";

/// Photographs and open houses kept of one listing.
const KEPT: usize = 50;

/// A multiple listing service.
#[derive(Debug)]
pub struct Reso {
    upstream: Upstream,
    token: Option<SecretString>,
    /// Whether the server refused to send media and open houses along.
    plain: AtomicBool,
}

impl Reso {
    /// A service whose `Property` resource lies below the upstream's base address, asked with a bearer token.
    pub const fn new(upstream: Upstream, token: Option<SecretString>) -> Self {
        Self {
            upstream,
            token,
            plain: AtomicBool::new(false),
        }
    }

    fn request(&self, query: Vec<(String, String)>) -> Request {
        let mut request = Request::get(["Property"])
            .header("accept", "application/json")
            .header("prefer", PAGE)
            .breaker("reso");
        for (name, value) in query {
            request = request.query(name, value);
        }
        if let Some(token) = &self.token {
            use secrecy::ExposeSecret as _;
            let bearer = format!("Bearer {}", token.expose_secret());
            request = request.secret_header("authorization", bearer.into());
        }
        request
    }

    fn first_page(&self, zip: Zip, now: OffsetDateTime) -> Vec<(String, String)> {
        let since = (now - REACH)
            .replace_nanosecond(0)
            .ok()
            .and_then(|since| since.format(&Rfc3339).ok())
            .unwrap_or_else(|| "2000-01-01T00:00:00Z".to_owned());
        let mut query = vec![
            (
                "$filter".to_owned(),
                format!("PostalCode eq '{zip}' and ModificationTimestamp ge {since}"),
            ),
            ("$orderby".to_owned(), "ListingKey".to_owned()),
        ];
        if !self.plain.load(Ordering::Relaxed) {
            query.push(("$expand".to_owned(), EXPAND.to_owned()));
        }
        query
    }
}

#[async_trait]
impl ListingFeed for Reso {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn page(
        &self,
        zip: Zip,
        cursor: Option<&str>,
        now: OffsetDateTime,
        deadline: Instant,
    ) -> Result<FeedPage, FeedError> {
        let mut answer = match cursor {
            Some(link) => {
                let query = query_of(link)?;
                self.upstream.get(self.request(query), deadline).await?
            }
            None => {
                let query = self.first_page(zip, now);
                self.upstream.get(self.request(query), deadline).await?
            }
        };
        if answer.status == 400 && cursor.is_none() && !self.plain.swap(true, Ordering::Relaxed) {
            // Not every server sends other resources along.
            let query = self.first_page(zip, now);
            answer = self.upstream.get(self.request(query), deadline).await?;
            if !answer.is_success() {
                self.plain.store(false, Ordering::Relaxed);
            }
        }
        let body = json(&answer)?;
        let Some(Value::Array(rows)) = body.get("value") else {
            return Err(FeedError::Unreadable("no array `value`".into()));
        };
        let next = match body.get("@odata.nextLink") {
            None | Some(Value::Null) => None,
            Some(Value::String(link)) => Some(link.clone()),
            Some(_) => return Err(FeedError::Unreadable("a next link that is no text".into())),
        };
        let mut dropped = Dropped::new();
        let rows = map_rows(rows, &mut dropped, |row, dropped| map(row, now, dropped));
        Ok(FeedPage {
            rows,
            next,
            dropped,
        })
    }
}

/// The query of a next link, absolute or relative.
fn query_of(link: &str) -> Result<Vec<(String, String)>, FeedError> {
    let unreadable = || FeedError::Unreadable("a next link that is no address".into());
    // The host does not matter: it is never asked.
    let base = Url::parse("https://feed.invalid/").map_err(|_| unreadable())?;
    let url = base.join(link).map_err(|_| unreadable())?;
    let query: Vec<_> = url.query_pairs().into_owned().collect();
    if query.is_empty() {
        return Err(unreadable());
    }
    Ok(query)
}

/// A `Property` as a listing; `None` without an identifier.
fn map(row: &Map<String, Value>, now: OffsetDateTime, dropped: &mut Dropped) -> Option<Row> {
    let mut facts = Facts::new(row, dropped);
    let id = facts.first_text(&["ListingKey", "ListingKeyNumeric", "ListingId"])?;
    let offer_raw = facts.text("PropertyType");
    let listing_type = words::offer(offer_raw.as_deref());
    let updated_at = moment(facts.text("ModificationTimestamp"));
    let mut listing = blank(NAME, listing_type, &id, updated_at, now);
    if let Some(human) = facts.text("ListingId") {
        listing.source_listing_id = human;
    }

    listing.status_raw = facts.first_text(&["StandardStatus", "MlsStatus"]);
    listing.status = words::status(listing.status_raw.as_deref());
    let kind_raw = facts.text("PropertySubType");
    listing.property_type = match (words::kind(kind_raw.as_deref()), offer_raw.as_deref()) {
        // Without a known sub-type the type itself may say what it is: land, income property.
        (PropertyType::Other, Some(offer)) if kind_raw.is_none() => words::kind(Some(offer)),
        (kind, _) => kind,
    };
    listing.property_type_raw = match (offer_raw, kind_raw) {
        (Some(offer), Some(kind)) => Some(format!("{offer} / {kind}")),
        (one, other) => one.or(other),
    };

    address(&mut listing, &mut facts);
    money(&mut listing, &mut facts);

    listing.list_date = date(
        &facts,
        &[
            "ListingContractDate",
            "OnMarketDate",
            "OriginalEntryTimestamp",
        ],
    );
    listing.off_market_date = date(
        &facts,
        &["OffMarketDate", "WithdrawnDate", "CancellationDate"],
    );
    listing.close_date = date(&facts, &["CloseDate"]);
    listing.days_on_market = facts.whole("DaysOnMarket", "days_on_market", (0, 20_000));
    listing.bedrooms = facts.whole("BedroomsTotal", "bedrooms", (0, 100));
    listing.bathrooms_full = facts.whole("BathroomsFull", "bathrooms_full", (0, 100));
    listing.bathrooms_half = facts.whole("BathroomsHalf", "bathrooms_half", (0, 100));
    listing.bathrooms = facts
        .halves("BathroomsTotalDecimal", "bathrooms")
        .or_else(|| match (listing.bathrooms_full, listing.bathrooms_half) {
            (None, None) => None,
            (full, half) => Some(f64::from(full.unwrap_or(0)) + f64::from(half.unwrap_or(0)) / 2.0),
        })
        .or_else(|| facts.halves("BathroomsTotalInteger", "bathrooms"));
    listing.rooms = facts.whole("RoomsTotal", "rooms", (1, 200));
    let unit = words::area_unit(facts.text("LivingAreaUnits").as_deref());
    listing.living_area_sqft = unit.and_then(|unit| facts.living_area("LivingArea", unit));
    listing.lot_size_sqft = lot_size(&mut facts);
    listing.year_built = facts.whole(
        "YearBuilt",
        "year_built",
        (1600, i64::from(now.year()) + 10),
    );
    listing.floor = facts.whole("EntryLevel", "floor", (0, 150));
    listing.months_free = facts.halves("MonthsFree", "months_free");
    listing.lease_term_months = words::lease_term(facts.text("LeaseTerm").as_deref());
    listing.no_fee = facts
        .boolean("NoFeeYN")
        .or_else(|| facts.boolean("BrokerFeeYN").map(|fee| !fee));
    listing.available_date = date(&facts, &["AvailabilityDate"]);
    listing.furnished = words::furnished(facts.text("Furnished").as_deref());
    listing.pets_allowed = words::pets(facts.text("PetsAllowed").as_deref());
    listing.rent_stabilized = facts.boolean("RentStabilizedYN");
    listing.open_houses = open_houses(&facts);
    listing.photo_urls = photographs(&facts);
    listing.listing_url = web_address(facts.first_text(&["ListingURL", "ListingUrl"]));
    listing.broker_name = facts.text("ListAgentFullName");
    listing.office_name = facts.text("ListOfficeName");
    listing.description = facts.text("PublicRemarks");
    let new_construction = facts.boolean("NewConstructionYN");
    finish(&mut listing, dropped);
    Some(Row {
        listing,
        new_construction,
    })
}

fn address(listing: &mut brownstone_domain::Listing, facts: &mut Facts<'_>) {
    listing.house_number = facts.first_text(&["StreetNumber", "StreetNumberNumeric"]);
    let parts = [
        "StreetDirPrefix",
        "StreetName",
        "StreetSuffix",
        "StreetDirSuffix",
    ];
    let street: Vec<String> = parts.iter().filter_map(|part| facts.text(part)).collect();
    listing.street = Some(street.join(" ")).filter(|street| !street.is_empty());
    listing.unit = facts.text("UnitNumber");
    listing.zip_code = facts.text("PostalCode").and_then(|zip| zip.parse().ok());
    let line = match (&listing.house_number, &listing.street) {
        (Some(number), Some(street)) => Some(match &listing.unit {
            Some(unit) => format!("{number} {street} {unit}"),
            None => format!("{number} {street}"),
        }),
        _ => None,
    };
    listing.address = facts.text("UnparsedAddress").or(line);
    if let Some((latitude, longitude)) = facts.place("Latitude", "Longitude") {
        listing.latitude = Some(latitude);
        listing.longitude = Some(longitude);
    }
}

fn money(listing: &mut brownstone_domain::Listing, facts: &mut Facts<'_>) {
    let listing_type = listing.listing_type;
    let rate = match listing_type {
        ListingType::Sale => Some(Rate::MONTHLY),
        ListingType::Rental => words::frequency(facts.text("LeaseAmountFrequency").as_deref()),
    };
    let mut price =
        |name, field| -> Option<Dollars> { facts.price(name, field, listing_type, rate?) };
    match listing_type {
        ListingType::Sale => listing.list_price = price("ListPrice", "list_price"),
        ListingType::Rental => {
            listing.asking_rent =
                price("ListPrice", "asking_rent").or_else(|| price("LeaseAmount", "asking_rent"));
        }
    }
    listing.original_list_price = price("OriginalListPrice", "original_list_price");
    listing.previous_list_price = price("PreviousListPrice", "previous_list_price");
    listing.close_price = price("ClosePrice", "close_price");
    listing.net_effective_rent = price("NetEffectiveRent", "net_effective_rent");
    listing.price_changed_at = moment(facts.text("PriceChangeTimestamp"));
    let fee_field = if matches!(
        listing.property_type,
        PropertyType::Coop | PropertyType::Condop
    ) {
        "maintenance_monthly"
    } else {
        "common_charges_monthly"
    };
    let fee = words::frequency(facts.text("AssociationFeeFrequency").as_deref())
        .and_then(|rate| facts.charge("AssociationFee", fee_field, rate));
    if fee_field == "maintenance_monthly" {
        listing.maintenance_monthly = fee;
    } else {
        listing.common_charges_monthly = fee;
    }
    listing.property_tax_monthly =
        facts.charge("TaxAnnualAmount", "property_tax_monthly", Rate::ANNUALLY);
}

fn lot_size(facts: &mut Facts<'_>) -> Option<u32> {
    if let Some(sqft) = facts.lot_size("LotSizeSquareFeet", 1.0) {
        return Some(sqft);
    }
    if let Some(sqft) = facts.lot_size("LotSizeAcres", 43_560.0) {
        return Some(sqft);
    }
    let unit = words::area_unit(facts.text("LotSizeUnits").as_deref())?;
    facts.lot_size("LotSizeArea", unit)
}

fn date(facts: &Facts<'_>, names: &[&str]) -> Option<brownstone_domain::PublishedDate> {
    let text = facts.first_text(names)?;
    // What is no date is no date of ours either.
    brownstone_domain::published::parse_day(&text)?;
    Some(text.as_str().into())
}

fn items<'a>(facts: &Facts<'a>, name: &str) -> &'a [Value] {
    match facts.value(name) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

fn field(item: &Value, name: &str) -> Option<String> {
    let text = item.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn open_houses(facts: &Facts<'_>) -> Vec<OpenHouse> {
    items(facts, "OpenHouse")
        .iter()
        .filter(|item| field(item, "OpenHouseStatus").is_none_or(|status| status == "Active"))
        .map(|item| OpenHouse {
            date: field(item, "OpenHouseDate").map(|date| date.as_str().into()),
            start_time: field(item, "OpenHouseStartTime"),
            end_time: field(item, "OpenHouseEndTime"),
        })
        .filter(|open| open.date.is_some() || open.start_time.is_some())
        .take(KEPT)
        .collect()
}

fn photographs(facts: &Facts<'_>) -> Vec<String> {
    let mut photographs: Vec<(i64, String)> = items(facts, "Media")
        .iter()
        .filter(|item| {
            field(item, "MediaCategory").is_none_or(|category| category.contains("Photo"))
        })
        .filter_map(|item| {
            let order = item
                .get("Order")
                .and_then(Value::as_i64)
                .unwrap_or(i64::MAX);
            Some((order, web_address(field(item, "MediaURL"))?))
        })
        .collect();
    photographs.sort();
    photographs
        .into_iter()
        .take(KEPT)
        .map(|(_, url)| url)
        .collect()
}

/// An address a reader may follow: nothing but the web's two schemes.
pub(super) fn web_address(text: Option<String>) -> Option<String> {
    let text = text?;
    let url = Url::parse(&text).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(text)
}

#[cfg(test)]
#[path = "reso_tests.rs"]
mod tests;
