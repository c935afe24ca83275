use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use time::{Duration, OffsetDateTime, macros::datetime};

use super::*;
use crate::odata::{Entity, PROPERTY};

const NOW: OffsetDateTime = datetime!(2026-11-28 12:00 UTC);

fn listings() -> Listings {
    let listings = Listings::new(true);
    listings.set_now(NOW);
    listings
}

fn text<'a>(row: &'a Entity, field: &str) -> &'a str {
    row.get(field).and_then(Value::as_str).unwrap_or("")
}

fn is_rental(row: &Entity) -> bool {
    text(row, "PropertyType") == "Residential Lease"
}

fn fields(value: &Value) -> Entity {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn manhattan_has_more_than_twenty_of_each_and_most_have_a_price() {
    let all = listings().all();
    for rental in [false, true] {
        let active: Vec<&Entity> = (all.iter())
            .filter(|row| is_rental(row) == rental)
            .filter(|row| text(row, "StandardStatus") == "Active")
            .filter(|row| text(row, "CountyOrParish") == "New York")
            .collect();
        let homes: HashSet<String> = (active.iter())
            .map(|row| {
                let unit = text(row, "UnitNumber").trim_start_matches('#');
                format!(
                    "{} {} {unit}",
                    text(row, "StreetNumber"),
                    text(row, "StreetName")
                )
            })
            .collect();
        assert!(homes.len() > 25, "{} homes, rental: {rental}", homes.len());
        let priced = (active.iter())
            .filter(|row| {
                row["ListPrice"]
                    .as_u64()
                    .is_some_and(|price| price < 100_000_000)
            })
            .count();
        assert!(
            priced * 10 >= active.len() * 9,
            "{priced} of {}",
            active.len()
        );
    }
    let mut boroughs: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &all {
        *boroughs.entry(text(row, "CountyOrParish")).or_default() += 1;
    }
    assert_eq!(boroughs.len(), 5, "{boroughs:?}");
    assert!(boroughs.values().all(|count| *count >= 5), "{boroughs:?}");
}

#[test]
fn every_state_and_every_fault_of_a_feed_is_there() {
    let all = listings().all();
    let states: HashSet<&str> = all.iter().map(|row| text(row, "StandardStatus")).collect();
    for state in [
        "Active",
        "Coming Soon",
        "Active Under Contract",
        "Pending",
        "Closed",
        "Withdrawn",
        "Expired",
        "Canceled",
        "Bonus Showings",
    ] {
        assert!(states.contains(state), "{state}");
    }
    let has = |what: &str, test: &dyn Fn(&Entity) -> bool| {
        assert!(all.iter().any(test), "{what}");
    };
    has("a fill value", &|row| {
        row["LivingArea"] == json!(2184.207862)
    });
    has("another", &|row| {
        row.get("BathroomsTotalDecimal") == Some(&json!(2.3738608579684373))
    });
    has("an impossible price", &|row| {
        row["ListPrice"] == 2_147_483_647_u64
    });
    has("no price", &|row| row["ListPrice"].is_null());
    has("closed before it was listed", &|row| {
        let close = text(row, "CloseDate");
        !close.is_empty() && close < text(row, "OnMarketDate")
    });
    has("an unknown subtype", &|row| {
        text(row, "PropertySubType") == "Houseboat Slip"
    });
    has("square metres", &|row| {
        text(row, "LivingAreaUnits") == "Square Meters"
    });
    has("acres", &|row| text(row, "LotSizeUnits") == "Acres");
    has("an impossible year", &|row| row["YearBuilt"] == 1018);
    has("a quarterly fee", &|row| {
        text(row, "AssociationFeeFrequency") == "Quarterly"
    });
    has("a price cut", &|row| {
        row["OriginalListPrice"].as_u64() > row["ListPrice"].as_u64()
    });
    has("an open house", &|row| {
        row["OpenHouse"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    });
    has("one that may not be shown", &|row| {
        row["InternetEntireListingDisplayYN"] == false
    });
    has("a net effective rent", &|row| {
        row.get("NetEffectiveRent").is_some()
    });
    has("a second number", &|row| {
        text(row, "UnitNumber").starts_with('#')
    });
    has("a townhouse", &|row| {
        text(row, "PropertySubType") == "Townhouse"
    });
    has("a condop", &|row| text(row, "PropertySubType") == "Condop");
}

#[test]
fn relistings_are_near_and_far() {
    let all = listings().all();
    let mut homes: BTreeMap<String, Vec<&Entity>> = BTreeMap::new();
    for row in &all {
        let home = format!("{} {}", text(row, "UnparsedAddress"), is_rental(row));
        homes.entry(home).or_default().push(row);
    }
    let day = |text: &str| {
        time::Date::parse(
            text,
            time::macros::format_description!("[year]-[month]-[day]"),
        )
        .ok()
    };
    let gaps: Vec<i64> = (homes.values())
        .filter_map(|rows| {
            let ended = rows
                .iter()
                .find_map(|row| day(text(row, "OffMarketDate")))?;
            let begun = (rows.iter())
                .filter(|row| text(row, "StandardStatus") == "Active")
                .find_map(|row| day(text(row, "OnMarketDate")))?;
            Some((begun - ended).whole_days())
        })
        .collect();
    assert!(gaps.iter().any(|gap| (1..90).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap > 90), "{gaps:?}");
}

#[test]
fn fields_are_the_dictionary_s_keys_are_unique_and_nothing_is_still_to_come() {
    let all = listings().all();
    let keys: HashSet<&str> = all.iter().map(|row| text(row, "ListingKey")).collect();
    assert_eq!(keys.len(), all.len());
    let now = generate::written(NOW);
    for row in &all {
        for (name, value) in row {
            let known = PROPERTY.field(name).is_some() || PROPERTY.expands.contains(&name.as_str());
            assert!(known, "{name}");
            if name.ends_with("Timestamp") {
                assert!(
                    value.as_str().is_some_and(|at| at <= now.as_str()),
                    "{name} {value}"
                );
            }
        }
        assert_eq!(row["ListAgentFullName"], Value::Null, "no person is named");
        assert!(text(row, "ListOfficeName").contains("Sample"));
        let order = (
            text(row, "OriginalEntryTimestamp"),
            text(row, "ModificationTimestamp"),
        );
        assert!(order.0 <= order.1, "{order:?}");
    }
    assert_eq!(all, listings().all(), "always the same");
}

#[test]
fn a_change_is_stamped_by_the_city_s_clock() {
    let listings = listings();
    let all = listings.all();
    let row = (all.iter())
        .find(|row| text(row, "StandardStatus") == "Active" && row["ListPrice"].is_u64())
        .expect("an active one");
    let (key, price) = (text(row, "ListingKey"), row["ListPrice"].clone());
    let find = |key: &str| {
        let all = listings.all();
        all.into_iter().find(|row| text(row, "ListingKey") == key)
    };
    listings.advance(Duration::days(2));
    assert_eq!(
        find(key).expect("there")["DaysOnMarket"].as_i64(),
        row["DaysOnMarket"].as_i64().map(|days| days + 2)
    );
    listings
        .change(key, fields(&json!({"ListPrice": 1})))
        .expect("known");
    let cut = find(key).expect("there");
    assert_eq!(cut["PreviousListPrice"], price);
    for stamp in ["PriceChangeTimestamp", "ModificationTimestamp"] {
        assert_eq!(text(&cut, stamp), "2026-11-30T12:00:00Z", "{stamp}");
    }
    assert_eq!(cut["OriginalListPrice"], row["OriginalListPrice"]);
    listings
        .change(
            key,
            fields(&json!({"StandardStatus": "Closed", "ClosePrice": 7})),
        )
        .expect("known");
    let closed = find(key).expect("there");
    assert_eq!(
        (text(&closed, "CloseDate"), &closed["ClosePrice"]),
        ("2026-11-30", &json!(7))
    );
    assert_eq!(text(&closed, "OffMarketDate"), "2026-11-30");
    assert!(listings.remove(key) && !listings.remove(key));
    assert_eq!(find(key), None);
    assert_eq!(
        listings.change(key, Entity::new()),
        Err(ListingError::Unknown(key.to_owned()))
    );
    listings
        .put("NEW1", fields(&json!({"ListPrice": 5})), Some("SMP100030"))
        .expect("there");
    let new = find("NEW1").expect("there");
    assert_eq!(
        (text(&new, "OnMarketDate"), &new["DaysOnMarket"]),
        ("2026-11-30", &json!(0))
    );
    assert_eq!(text(&new, "StandardStatus"), "Active");
    assert!(!text(&new, "StreetName").is_empty());
    assert_eq!(
        listings.put("", Entity::new(), None),
        Err(ListingError::Keyless)
    );
    let keyless = vec![fields(&json!({"ListingKey": "A"})), Entity::new()];
    assert_eq!(listings.replace(keyless), Err(ListingError::Keyless));
    assert!(find("NEW1").is_some(), "nothing was changed");
    listings
        .replace(vec![fields(&json!({"ListingKey": "A"}))])
        .expect("a key");
    assert_eq!(listings.all().len(), 1);
    listings.reset();
    assert_eq!(listings.all().len(), all.len());
}

#[test]
fn rentcast_shows_a_home_once_with_its_history() {
    let listings = listings();
    let entities = listings.entities();
    let records = rentcast_records(Offer::Sale, &entities, NOW);
    let ids: HashSet<&str> = records.iter().map(|row| text(row, "id")).collect();
    assert_eq!(ids.len(), records.len());
    let long = |row: &&Entity| {
        row["history"]
            .as_object()
            .is_some_and(|history| history.len() > 1)
    };
    let relisted = records.iter().find(long).expect("a history");
    let event = (relisted["history"].as_object()).and_then(|history| history.values().next());
    assert_eq!(
        event.map(|event| &event["event"]),
        Some(&json!("Sale Listing"))
    );
    let kinds: HashSet<&str> = records
        .iter()
        .map(|row| text(row, "propertyType"))
        .collect();
    for kind in [
        "Single Family",
        "Condo",
        "Multi-Family",
        "Apartment",
        "Mixed Use",
    ] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
    for row in &records {
        let active = text(row, "status") == "Active";
        assert_eq!(active, row["removedDate"].is_null(), "{row:?}");
        assert!(text(row, "id").ends_with(text(row, "zipCode")));
    }
    let twice = (records.iter()).filter(|row| text(row, "addressLine2").starts_with("Unit "));
    assert!(
        twice.count() > 0,
        "the second number of a home is a second record"
    );
}
