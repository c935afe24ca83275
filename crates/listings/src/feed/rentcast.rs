//! RentCast: documented JSON, one key in a header, at most 500 listings a page.
//!
//! A scan reads what is active. What left the market is known by its absence, as the feed's own word for it would cost a
//! request for each page of everything that ever was.

use async_trait::async_trait;
use brownstone_domain::{ListingType, PropertyType, PublishedDate, Zip, published::parse_day};
use brownstone_upstream::{Request, Response, Upstream};
use secrecy::SecretString;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use tokio::time::Instant;

use super::{
    FeedError, FeedPage, ListingFeed, blank, json, map_rows, moment, reso::web_address, words,
};
use crate::{
    Display, Row,
    clean::{Dropped, Facts, Rate, finish},
};

/// The name in `sources`.
const NAME: &str = "rentcast";

/// Listings a page.
const PAGE: usize = 500;

/// RentCast.
#[derive(Debug)]
pub struct RentCast {
    upstream: Upstream,
    key: Option<SecretString>,
}

impl RentCast {
    /// RentCast, whose `listings` lie below the upstream's base address.
    pub const fn new(upstream: Upstream, key: Option<SecretString>) -> Self {
        Self { upstream, key }
    }
}

/// How many there are, where it was asked for.
const TOTAL: &str = "x-total-count";

/// Where a page begins: sales first, then rentals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    listing_type: ListingType,
    offset: usize,
    /// How many of the type there were when its first page was read, where the feed said it.
    counted: Option<u64>,
}

impl Place {
    const FIRST: Self = Self {
        listing_type: ListingType::Sale,
        offset: 0,
        counted: None,
    };

    fn parse(cursor: &str) -> Option<Self> {
        let mut parts = cursor.split(':');
        let place = Self {
            listing_type: ListingType::from_name(parts.next()?)?,
            offset: parts.next()?.parse().ok()?,
            counted: parts.next().map(str::parse).transpose().ok()?,
        };
        parts.next().is_none().then_some(place)
    }

    fn cursor(self) -> String {
        let counted = self
            .counted
            .map_or(String::new(), |counted| format!(":{counted}"));
        format!("{}:{}{counted}", self.listing_type, self.offset)
    }

    /// Where it goes on after a page of so many rows.
    ///
    /// # Errors
    /// [`FeedError::Short`] where the type ends before all that were counted have come.
    fn after(self, rows: usize) -> Result<Option<Self>, FeedError> {
        let end = self.offset.saturating_add(rows);
        if rows >= PAGE {
            // A full page may be the last; the next one is empty then.
            return Ok(Some(Self {
                offset: end,
                ..self
            }));
        }
        let given = end as u64;
        if let Some(counted) = self.counted.filter(|counted| given < *counted) {
            return Err(FeedError::Short { counted, given });
        }
        Ok(match self.listing_type {
            ListingType::Sale => Some(Self {
                listing_type: ListingType::Rental,
                ..Self::FIRST
            }),
            ListingType::Rental => None,
        })
    }
}

#[async_trait]
impl ListingFeed for RentCast {
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
        let mut place = match cursor {
            None => Place::FIRST,
            Some(cursor) => Place::parse(cursor)
                .ok_or_else(|| FeedError::Unreadable("a place of another feed".into()))?,
        };
        let path: &[&str] = match place.listing_type {
            ListingType::Sale => &["listings", "sale"],
            ListingType::Rental => &["listings", "rental", "long-term"],
        };
        let mut request = Request::get(path.iter().copied())
            .header("accept", "application/json")
            .query("zipCode", zip.to_string())
            .query("status", "Active")
            .query("limit", PAGE.to_string())
            .query("offset", place.offset.to_string())
            .query("includeTotalCount", "true")
            .breaker("rentcast");
        if let Some(key) = &self.key {
            request = request.secret_header("x-api-key", key.clone());
        }
        let answer = self.upstream.get(request, deadline).await?;
        let body = if says_none(&answer) {
            Value::Array(vec![])
        } else {
            json(&answer)?
        };
        let Value::Array(rows) = body else {
            return Err(FeedError::Unreadable("no array".into()));
        };
        if place.offset == 0 {
            place.counted = answer
                .header(TOTAL)
                .and_then(|total| total.trim().parse().ok());
        }
        let next = place.after(rows.len())?;
        let mut dropped = Dropped::new();
        let mapped = map_rows(&rows, &mut dropped, |row, dropped| {
            map(row, place.listing_type, now, dropped)
        });
        Ok(FeedPage {
            rows: mapped,
            next: next.map(Place::cursor),
            dropped,
        })
    }
}

/// Whether RentCast says that nothing fits: a 404 in the form of its own errors, whose code is two words with a slash. A proxy's or a
/// wrong address's is another one, and taken for an empty area it would take every listing off the market.
fn says_none(answer: &Response) -> bool {
    answer.status == 404
        && serde_json::from_slice::<Value>(&answer.body).is_ok_and(|error| {
            let text = |field: &str| error[field].as_str().unwrap_or_default();
            error["status"] == 404 && text("error").contains('/') && !text("message").is_empty()
        })
}

/// A listing; `None` without an identifier.
pub(super) fn map(
    row: &Map<String, Value>,
    listing_type: ListingType,
    now: OffsetDateTime,
    dropped: &mut Dropped,
) -> Option<Row> {
    let mut facts = Facts::new(row, dropped);
    let id = facts.text("id")?;
    let updated_at = moment(facts.text("lastSeenDate"));
    let mut listing = blank(NAME, listing_type, &id, updated_at, now);
    listing.status_raw = facts.text("status");
    listing.status = words::status(listing.status_raw.as_deref());
    listing.property_type_raw = facts.text("propertyType");
    listing.property_type = words::kind(listing.property_type_raw.as_deref());
    listing.address = facts.first_text(&["formattedAddress", "addressLine1"]);
    if let Some((number, street)) = facts
        .text("addressLine1")
        .as_deref()
        .and_then(|line| line.split_once(' '))
        .filter(|(number, _)| number.starts_with(|c: char| c.is_ascii_digit()))
    {
        listing.house_number = Some(number.to_owned());
        listing.street = Some(street.trim().to_owned());
    }
    listing.unit = facts.text("addressLine2");
    listing.zip_code = facts.text("zipCode").and_then(|zip| zip.parse().ok());
    if let Some((latitude, longitude)) = facts.place("latitude", "longitude") {
        listing.latitude = Some(latitude);
        listing.longitude = Some(longitude);
    }
    match listing_type {
        ListingType::Sale => {
            listing.list_price = facts.price("price", "list_price", listing_type, Rate::MONTHLY);
        }
        ListingType::Rental => {
            listing.asking_rent = facts.price("price", "asking_rent", listing_type, Rate::MONTHLY);
        }
    }
    listing.list_date = date(&facts, "listedDate");
    listing.off_market_date = date(&facts, "removedDate");
    listing.days_on_market = facts.whole("daysOnMarket", "days_on_market", (0, 20_000));
    listing.bedrooms = facts.whole("bedrooms", "bedrooms", (0, 100));
    listing.bathrooms = facts.halves("bathrooms", "bathrooms");
    listing.living_area_sqft = facts.living_area("squareFootage", 1.0);
    listing.lot_size_sqft = facts.lot_size("lotSize", 1.0);
    listing.year_built = facts.whole(
        "yearBuilt",
        "year_built",
        (1600, i64::from(now.year()) + 10),
    );
    let word = facts.text("listingType");
    let new_construction = word.map(|word| word.eq_ignore_ascii_case("New Construction"));
    let coop = matches!(listing.property_type, PropertyType::Coop);
    if let Some(mut hoa) = facts.within("hoa") {
        if coop {
            listing.maintenance_monthly = hoa.charge("fee", "maintenance_monthly", Rate::MONTHLY);
        } else {
            listing.common_charges_monthly =
                hoa.charge("fee", "common_charges_monthly", Rate::MONTHLY);
        }
    }
    let inside = |name: &str, field: &str| -> Option<String> {
        let text = row.get(name)?.get(field)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    listing.broker_name = inside("listingAgent", "name");
    listing.office_name = inside("listingOffice", "name");
    listing.listing_url = web_address(inside("listingOffice", "listingUrl"));
    finish(&mut listing, dropped);
    Some(Row {
        listing,
        new_construction,
        display: Display::Whole,
    })
}

fn date(facts: &Facts<'_>, name: &str) -> Option<PublishedDate> {
    let text = facts.text(name)?;
    parse_day(&text)?;
    Some(text.as_str().into())
}

#[cfg(test)]
mod tests {
    use brownstone_domain::ListingStatus;
    use serde_json::json;
    use time::macros::datetime;

    use super::*;

    fn read(row: Value, listing_type: ListingType) -> (Row, Dropped) {
        let Value::Object(row) = row else { panic!() };
        let mut dropped = Dropped::new();
        let now = datetime!(2026-11-28 6:00 UTC);
        let row = map(&row, listing_type, now, &mut dropped).unwrap();
        (row, dropped)
    }

    #[test]
    fn a_listing_in_the_documented_shape_is_mapped() {
        let (row, dropped) = read(
            json!({
                "id": "120-Broadway,-Apt-4C,-New-York,-NY-10271",
                "formattedAddress": "120 Broadway, Apt 4C, New York, NY 10271",
                "addressLine1": "120 Broadway", "addressLine2": "Apt 4C",
                "city": "New York", "state": "NY", "zipCode": "10271",
                "latitude": 40.7086, "longitude": -74.0106,
                "propertyType": "Condo", "bedrooms": 2, "bathrooms": 1.5,
                "squareFootage": 1000, "lotSize": null, "yearBuilt": 1915,
                "hoa": {"fee": 1100}, "status": "Active", "price": 1_250_000,
                "listingType": "New Construction",
                "listedDate": "2026-10-01T00:00:00.000Z", "removedDate": null,
                "lastSeenDate": "2026-11-27T10:57:39.532Z", "daysOnMarket": 57,
                "listingOffice": {"name": "Sample Realty"}
            }),
            ListingType::Sale,
        );
        let listing = row.listing;
        assert_eq!(dropped, Dropped::new());
        assert_eq!(row.new_construction, Some(true));
        assert_eq!(listing.status, ListingStatus::Active);
        assert_eq!(listing.property_type, PropertyType::Condo);
        assert_eq!(listing.house_number.as_deref(), Some("120"));
        assert_eq!(listing.unit.as_deref(), Some("Apt 4C"));
        assert_eq!(listing.list_price.unwrap().to_string(), "1250000");
        assert_eq!(listing.price_per_sqft.unwrap().to_string(), "1250.00");
        assert_eq!(listing.common_charges_monthly.unwrap().to_string(), "1100");
        assert_eq!(
            listing.list_date.unwrap().as_str(),
            "2026-10-01T00:00:00.000Z"
        );
        assert!(listing.sources["rentcast"].updated_at.is_some());
    }

    #[test]
    fn what_cannot_be_is_not_known_and_counted() {
        let (row, dropped) = read(
            json!({
                "id": "x", "price": 2_147_483_647, "squareFootage": 2184.207862, "bathrooms": 2.3738608579684373,
                "yearBuilt": 0, "latitude": 0, "longitude": 0, "propertyType": "Castle", "status": "Dreaming"
            }),
            ListingType::Rental,
        );
        let listing = row.listing;
        assert_eq!(
            (listing.asking_rent, listing.living_area_sqft),
            (None, None)
        );
        assert_eq!((listing.bathrooms, listing.year_built), (None, None));
        assert_eq!(listing.property_type, PropertyType::Other);
        assert_eq!(listing.property_type_raw.as_deref(), Some("Castle"));
        assert_eq!(listing.status, ListingStatus::Other);
        assert_eq!(listing.status_raw.as_deref(), Some("Dreaming"));
        assert_eq!(dropped.values().sum::<u64>(), 5);
    }

    #[test]
    fn only_rentcasts_own_word_is_that_nothing_fits() {
        let says = |status: u16, body: &str| {
            says_none(&Response {
                status,
                body: body.to_owned().into(),
                ..Response::default()
            })
        };
        let none = r#"{"status": 404, "error": "resource/not-found", "message": "No data found."}"#;
        assert!(says(404, none));
        assert!(!says(200, none));
        for other in [
            "",
            "Not Found",
            "<html><body>404 page not found</body></html>",
            "[]",
            "{}",
            r#"{"message": "Not Found"}"#,
            r#"{"message": "no Route matched with those values"}"#,
            r#"{"status": 404, "error": "resource/not-found"}"#,
            r#"{"status": 404, "error": "Not Found", "message": "No message available", "path": "/v1"}"#,
            r#"{"status": 500, "error": "server/error", "message": "Later."}"#,
            r#"{"code": "dataset.missing", "error": true, "message": "Not found"}"#,
        ] {
            assert!(!says(404, other), "{other}");
        }
    }

    #[test]
    fn pages_are_sales_and_then_rentals() {
        let after = |cursor: &str, rows| {
            let next = Place::parse(cursor).unwrap().after(rows).unwrap();
            next.map(Place::cursor)
        };
        for (cursor, rows, next) in [
            ("sale:0", 500, Some("sale:500")),
            ("sale:500", 499, Some("rental:0")),
            ("sale:0:900", 500, Some("sale:500:900")),
            ("sale:500:900", 400, Some("rental:0")),
            // Some came meanwhile.
            ("sale:500:900", 402, Some("rental:0")),
            ("sale:500:1000", 500, Some("sale:1000:1000")),
            ("sale:1000:1000", 0, Some("rental:0")),
            ("rental:0", 500, Some("rental:500")),
            ("rental:500", 0, None),
            ("rental:0:0", 0, None),
        ] {
            assert_eq!(after(cursor, rows).as_deref(), next, "{cursor} {rows}");
        }
        for cursor in [
            "elsewhere",
            "sale",
            "sale:x",
            "sale:1:x",
            "sale:1:2:3",
            "barn:1",
        ] {
            assert_eq!(Place::parse(cursor), None, "{cursor}");
        }
    }

    #[test]
    fn a_type_that_ends_before_its_count_is_short() {
        for (cursor, rows, given) in [
            ("sale:500:900", 399, 899),
            ("rental:0:1", 0, 0),
            ("sale:0:900", 250, 250),
        ] {
            let short = Place::parse(cursor).unwrap().after(rows).unwrap_err();
            let FeedError::Short { given: got, .. } = short else {
                panic!("{cursor}: {short}")
            };
            assert_eq!(got, given, "{cursor}");
        }
    }
}
