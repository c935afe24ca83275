//! The listings as RentCast shows them: one record for each home, with the history of its listings.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};
use time::{Date, OffsetDateTime, macros::format_description};

use super::generate::written;
use crate::odata::Entity;

/// One of the two halves of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    Sale,
    Rental,
}

/// The dictionary's subtypes in the service's own words.
const TYPES: [(&str, &str); 11] = [
    ("Single Family Residence", "Single Family"),
    ("Condominium", "Condo"),
    ("Condop", "Condo"),
    ("Stock Cooperative", "Condo"),
    ("Townhouse", "Townhouse"),
    ("Duplex", "Multi-Family"),
    ("Triplex", "Multi-Family"),
    ("Quadruplex", "Multi-Family"),
    ("Multi Family", "Apartment"),
    ("Apartment", "Apartment"),
    ("Unimproved Land", "Land"),
];

const COUNTIES: [(&str, &str); 5] = [
    ("New York", "061"),
    ("Bronx", "005"),
    ("Kings", "047"),
    ("Queens", "081"),
    ("Richmond", "085"),
];

/// States in which the service calls a listing active.
const ACTIVE: [&str; 2] = ["Active", "Active Under Contract"];

/// The records of one half, by id.
pub(crate) fn records(offer: Offer, entities: &[Arc<Entity>], now: OffsetDateTime) -> Vec<Entity> {
    let mut homes: BTreeMap<String, Vec<&Entity>> = BTreeMap::new();
    for entity in entities {
        let rental = text(entity, "PropertyType") == "Residential Lease";
        // What may not be shown on the internet, or is not yet on the market, the service does not see.
        let seen = entity.get("InternetEntireListingDisplayYN") != Some(&Value::Bool(false))
            && text(entity, "StandardStatus") != "Coming Soon";
        if seen && rental == (offer == Offer::Rental) {
            homes.entry(id(entity)).or_default().push(entity);
        }
    }
    (homes.into_iter())
        .filter_map(|(id, mut listings)| {
            listings
                .sort_by_key(|entity| (text(entity, "OnMarketDate"), text(entity, "ListingKey")));
            let newest = *listings.last()?;
            Some(record(&id, newest, &listings, offer, now))
        })
        .collect()
}

fn text<'a>(entity: &'a Entity, field: &str) -> &'a str {
    entity.get(field).and_then(Value::as_str).unwrap_or("")
}

fn number(entity: &Entity, field: &str) -> Option<f64> {
    entity.get(field).and_then(Value::as_f64)
}

/// Street, unit, city, state and ZIP in one line.
fn formatted(entity: &Entity) -> String {
    let line = format!(
        "{} {}",
        text(entity, "StreetNumber"),
        text(entity, "StreetName")
    );
    let unit = unit(entity).map_or(String::new(), |unit| format!(" {unit},"));
    let city = text(entity, "City");
    format!("{line},{unit} {city}, NY {}", text(entity, "PostalCode"))
}

fn unit(entity: &Entity) -> Option<String> {
    let unit = text(entity, "UnitNumber");
    match unit.strip_prefix('#') {
        Some(unit) => Some(format!("Unit {unit}")),
        None if unit.is_empty() => None,
        None => Some(format!("Apt {unit}")),
    }
}

fn id(entity: &Entity) -> String {
    formatted(entity).replace(' ', "-")
}

/// A day as the service writes it.
fn midnight(day: &str) -> Value {
    if day.is_empty() {
        return Value::Null;
    }
    format!("{}T00:00:00.000Z", day.get(..10).unwrap_or(day)).into()
}

fn days(entity: &Entity, now: OffsetDateTime) -> i64 {
    let day = |field: &str| {
        Date::parse(
            text(entity, field),
            format_description!("[year]-[month]-[day]"),
        )
        .ok()
    };
    let from = day("OnMarketDate").unwrap_or(now.date());
    let to = day("OffMarketDate").unwrap_or(now.date());
    (to - from).whole_days().max(0) + 1
}

fn record(id: &str, entity: &Entity, all: &[&Entity], offer: Offer, now: OffsetDateTime) -> Entity {
    let mut record = Map::new();
    let mut set = |name: &str, value: Value| {
        record.insert(name.to_owned(), value);
    };
    let county = text(entity, "CountyOrParish");
    let fips = COUNTIES.iter().find(|(name, _)| *name == county);
    set("id", id.into());
    set("formattedAddress", formatted(entity).into());
    let line = format!(
        "{} {}",
        text(entity, "StreetNumber"),
        text(entity, "StreetName")
    );
    set("addressLine1", line.into());
    set("addressLine2", unit(entity).into());
    set("city", text(entity, "City").into());
    set("state", "NY".into());
    set("stateFips", "36".into());
    set("zipCode", text(entity, "PostalCode").into());
    set("county", county.into());
    set("countyFips", fips.map(|(_, code)| *code).into());
    let same = |field: &str| entity.get(field).cloned().unwrap_or_default();
    let kind = text(entity, "PropertySubType");
    let kind = (TYPES.iter().find(|(name, _)| *name == kind)).map_or(kind, |(_, kind)| kind);
    let halves = number(entity, "BathroomsHalf").unwrap_or(0.0) / 2.0;
    let baths = number(entity, "BathroomsTotalDecimal")
        .or_else(|| Some(number(entity, "BathroomsFull")? + halves));
    let whole = |value: f64| match value.fract() == 0.0 {
        true => Value::from(value as i64),
        false => value.into(),
    };
    for (name, value) in [
        ("latitude", same("Latitude")),
        ("longitude", same("Longitude")),
        ("propertyType", kind.into()),
        ("bedrooms", same("BedroomsTotal")),
        ("bathrooms", baths.map(whole).unwrap_or_default()),
        (
            "squareFootage",
            area(entity, "LivingArea", "LivingAreaUnits"),
        ),
        ("lotSize", area(entity, "LotSizeArea", "LotSizeUnits")),
        ("yearBuilt", same("YearBuilt")),
        ("hoa", monthly_fee(entity)),
    ] {
        // What is not known is left out.
        if !value.is_null() {
            set(name, value);
        }
    }
    let active = ACTIVE.contains(&text(entity, "StandardStatus"));
    set("status", if active { "Active" } else { "Inactive" }.into());
    set("price", same("ListPrice"));
    set("listingType", listing_type(entity).into());
    set("listedDate", midnight(text(entity, "OnMarketDate")));
    let removed = text(entity, "OffMarketDate");
    // What is pending is taken down on the day it became so.
    let removed = if !active && removed.is_empty() {
        text(entity, "StatusChangeTimestamp")
    } else {
        removed
    };
    set("removedDate", midnight(removed));
    let first = all
        .iter()
        .map(|entity| text(entity, "OriginalEntryTimestamp"))
        .min();
    set("createdDate", midnight(first.unwrap_or("")));
    let seen = if active {
        written(now).into()
    } else {
        midnight(removed)
    };
    set("lastSeenDate", seen);
    set("daysOnMarket", days(entity, now).into());
    set("mlsName", "SampleMLS".into());
    set("mlsNumber", text(entity, "ListingId").into());
    set(
        "listingOffice",
        json!({ "name": text(entity, "ListOfficeName") }),
    );
    set("history", history(all, offer, now));
    record
}

fn listing_type(entity: &Entity) -> &'static str {
    match entity.get("NewConstructionYN") {
        Some(Value::Bool(true)) => "New Construction",
        _ => "Standard",
    }
}

/// Square feet, whatever the unit is.
fn area(entity: &Entity, field: &str, units: &str) -> Value {
    let Some(value) = number(entity, field) else {
        return Value::Null;
    };
    match text(entity, units) {
        "Square Meters" => ((value * 10.763_910_4).round() as i64).into(),
        "Acres" => ((value * 43_560.0).round() as i64).into(),
        _ => entity.get(field).cloned().unwrap_or_default(),
    }
}

fn monthly_fee(entity: &Entity) -> Value {
    let months = match text(entity, "AssociationFeeFrequency") {
        "Quarterly" => 3.0,
        "Annually" => 12.0,
        _ => 1.0,
    };
    match number(entity, "AssociationFee") {
        Some(fee) => json!({ "fee": (fee / months).round() as i64 }),
        None => Value::Null,
    }
}

/// The listings of the home by the day of each, price changes among them.
fn history(all: &[&Entity], offer: Offer, now: OffsetDateTime) -> Value {
    let event = match offer {
        Offer::Sale => "Sale Listing",
        Offer::Rental => "Rental Listing",
    };
    let mut history = Map::new();
    for entity in all {
        let listed = text(entity, "OnMarketDate");
        let mut add = |day: &str, price: &str| {
            let entry = json!({
                "event": event,
                "price": entity.get(price).cloned().unwrap_or_default(),
                "listingType": listing_type(entity),
                "listedDate": midnight(listed),
                "removedDate": midnight(text(entity, "OffMarketDate")),
                "daysOnMarket": days(entity, now),
            });
            history.insert(day.to_owned(), entry);
        };
        let changed = text(entity, "PriceChangeTimestamp").get(..10).unwrap_or("");
        if changed.is_empty() {
            add(listed, "ListPrice");
        } else {
            add(listed, "OriginalListPrice");
            add(changed, "ListPrice");
        }
    }
    history.into()
}
