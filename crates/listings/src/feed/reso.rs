//! RESO Web API: OData 4 with the names of the Data Dictionary, as the country's multiple listing services speak it.
//!
//! Pages are the server's own: `@odata.nextLink` is followed, of which only the query is taken, so that a host or a path
//! never comes from an answer. The first page is asked for the number of all rows (`$count`): a server whose last page comes
//! too early has not given the area whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use brownstone_domain::{Dollars, ListingType, OpenHouse, PropertyType, Zip};
use brownstone_upstream::{Request, Response, Upstream};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::Instant;
use url::Url;

use super::{Credential, FeedError, FeedPage, ListingFeed, blank, json, map_rows, moment, words};
use crate::{
    Display, Row,
    clean::{Dropped, Facts, Rate, finish},
    row::conceal,
};

/// The name in `sources`.
const NAME: &str = "reso";

/// Listings that nobody has touched for so long are not asked for: closed ones pile up over decades.
const REACH: Duration = Duration::days(3 * 366);

/// Rows asked for in a page; the server may give fewer.
const PAGE: &str = "odata.maxpagesize=500";

/// What comes with each listing, where the server has it.
const EXPAND: &str = "Media,OpenHouse";

/// What a first page is asked for beside the listings, the most first: a server that refuses one is asked for the next.
const FORMS: [Form; 4] = [
    Form {
        expand: true,
        count: true,
    },
    Form {
        expand: false,
        count: true,
    },
    Form {
        expand: true,
        count: false,
    },
    Form {
        expand: false,
        count: false,
    },
];

/// Whether a first page is asked for media and open houses, and for the number of all rows.
#[derive(Debug, Clone, Copy, Default)]
struct Form {
    expand: bool,
    count: bool,
}

/// Photographs and open houses kept of one listing.
const KEPT: usize = 50;

/// The fields by which who offers a home withholds it from the Internet, and what each takes away where it says no. Not said,
/// as many services leave it that send displayable listings alone, is a yes.
///
/// The first two are the Data Dictionary's: the seller has (or has not) allowed the listing, or its address, to be displayed
/// on Internet sites. The third is MLS Grid's, which tells its licensees so what they have to drop.
const PERMISSIONS: &[(&str, Display)] = &[
    ("InternetEntireListingDisplayYN", Display::Withheld),
    ("InternetAddressDisplayYN", Display::WithoutAddress),
    ("MlgCanView", Display::Withheld),
];

/// A multiple listing service.
#[derive(Debug)]
pub struct Reso {
    upstream: Upstream,
    credential: Credential,
    /// Which of [`FORMS`] the server takes.
    form: AtomicUsize,
}

impl Reso {
    /// A service whose `Property` resource lies below the upstream's base address, asked with this credential.
    pub const fn new(upstream: Upstream, credential: Credential) -> Self {
        Self {
            upstream,
            credential,
            form: AtomicUsize::new(0),
        }
    }

    /// Asks. A token that is refused is fetched anew, once, where it can be.
    async fn ask(
        &self,
        query: &[(String, String)],
        deadline: Instant,
    ) -> Result<Response, FeedError> {
        let token = self.credential.token(deadline).await?;
        let request = Self::request(query, &token);
        let answer = self.upstream.get(request, deadline).await?;
        if answer.status != 401 || !self.credential.renew(&token).await {
            return Ok(answer);
        }
        let token = self.credential.token(deadline).await?;
        let request = Self::request(query, &token);
        Ok(self.upstream.get(request, deadline).await?)
    }

    fn request(query: &[(String, String)], token: &SecretString) -> Request {
        let mut request = Request::get(["Property"])
            .header("accept", "application/json")
            .header("prefer", PAGE)
            .breaker("reso");
        for (name, value) in query {
            request = request.query(name, value);
        }
        let bearer = format!("Bearer {}", token.expose_secret());
        request.secret_header("authorization", bearer.into())
    }

    fn first_page(zip: Zip, now: OffsetDateTime, form: Form) -> Vec<(String, String)> {
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
        if form.expand {
            query.push(("$expand".to_owned(), EXPAND.to_owned()));
        }
        if form.count {
            query.push(("$count".to_owned(), "true".to_owned()));
        }
        query
    }

    /// The first page, in the fullest form that the server takes.
    async fn first(
        &self,
        zip: Zip,
        now: OffsetDateTime,
        deadline: Instant,
    ) -> Result<Response, FeedError> {
        let known = self.form.load(Ordering::Relaxed);
        let mut refused = None;
        for (number, form) in FORMS.into_iter().enumerate().skip(known) {
            let query = Self::first_page(zip, now, form);
            let answer = self.ask(&query, deadline).await?;
            if answer.status != 400 {
                if answer.is_success() {
                    self.form.store(number, Ordering::Relaxed);
                }
                return Ok(answer);
            }
            refused = Some(answer);
        }
        refused.ok_or_else(|| FeedError::Unreadable("no page was asked for".into()))
    }
}

/// Where a scan is, in the text of a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// The link of the next page.
    next: String,
    /// Rows that the server counted at the first page, where it counts.
    #[serde(default)]
    counted: Option<u64>,
    /// Rows that came so far.
    given: u64,
}

impl Place {
    fn parse(cursor: &str) -> Self {
        // A link alone is a scan that another release began, which did not count.
        serde_json::from_str(cursor).unwrap_or_else(|_| Self {
            next: cursor.to_owned(),
            counted: None,
            given: 0,
        })
    }

    fn cursor(&self) -> Result<String, FeedError> {
        serde_json::to_string(self).map_err(|error| FeedError::Unreadable(error.to_string()))
    }
}

/// Where to go on after a page, if anywhere; whether the pages hold as many rows as were counted.
fn after(
    before: Option<&Place>,
    counted: Option<u64>,
    rows: usize,
    next: Option<String>,
) -> Result<Option<Place>, FeedError> {
    let counted = before.map_or(counted, |before| before.counted);
    let given = before.map_or(0, |before| before.given) + rows as u64;
    match (next, counted) {
        (Some(next), _) if before.is_some_and(|before| before.next == next) => {
            Err(FeedError::Unreadable("a page leads to itself".into()))
        }
        (Some(next), counted) => Ok(Some(Place {
            next,
            counted,
            given,
        })),
        (None, Some(counted)) if given < counted => Err(FeedError::Short { counted, given }),
        // More than were counted: some came meanwhile.
        (None, _) => Ok(None),
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
        let place = cursor.map(Place::parse);
        let answer = match &place {
            Some(place) => {
                let query = query_of(&place.next)?;
                self.ask(&query, deadline).await?
            }
            None => self.first(zip, now, deadline).await?,
        };
        let body = json(&answer)?;
        let Some(Value::Array(rows)) = body.get("value") else {
            return Err(FeedError::Unreadable("no array `value`".into()));
        };
        let next = match body.get("@odata.nextLink") {
            None | Some(Value::Null) => None,
            Some(Value::String(link)) => Some(link.clone()),
            Some(_) => return Err(FeedError::Unreadable("a next link that is no text".into())),
        };
        let counted = body.get("@odata.count").and_then(Value::as_u64);
        let next = after(place.as_ref(), counted, rows.len(), next)?;
        let next = next.map(|place| place.cursor()).transpose()?;
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
pub(super) fn query_of(link: &str) -> Result<Vec<(String, String)>, FeedError> {
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
pub(super) fn map(
    row: &Map<String, Value>,
    now: OffsetDateTime,
    dropped: &mut Dropped,
) -> Option<Row> {
    let mut facts = Facts::new(row, dropped);
    let id = facts.first_text(&["ListingKey", "ListingKeyNumeric", "ListingId"])?;
    let offer_raw = facts.text("PropertyType");
    let listing_type = words::offer(offer_raw.as_deref());
    let updated_at = moment(facts.text("ModificationTimestamp"));
    let mut listing = blank(NAME, listing_type, &id, updated_at, now);
    let display = display(&facts);
    if display == Display::Withheld {
        // Nothing of it is read, so that nothing of it is kept.
        return Some(Row {
            listing,
            new_construction: None,
            display,
        });
    }
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
    if display == Display::WithoutAddress {
        conceal(&mut listing);
    }
    Some(Row {
        listing,
        new_construction,
        display,
    })
}

/// What may be shown. A permission that says something nobody understands is none.
fn display(facts: &Facts<'_>) -> Display {
    let refused = |name: &str| facts.text(name).is_some() && facts.boolean(name) != Some(true);
    let withheld = PERMISSIONS.iter().filter(|(name, _)| refused(name));
    withheld
        .map(|(_, display)| *display)
        .max()
        .unwrap_or_default()
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
