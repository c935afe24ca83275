//! What a listing says of the home, with the faults that feeds have.

use serde_json::{Value, json};
use time::{Date, Duration};

use super::{
    address,
    generate::{Fields, Offer},
};
use crate::{
    market::{Home, Kind},
    seed::Seed,
};

/// Space, rooms and age, with the faults that feeds have.
pub(super) fn home_fields(offer: &Offer<'_>, number: u64, fields: &mut Fields) {
    let Home {
        floor,
        bedrooms,
        full_baths,
        half_baths,
        rooms,
        sqft,
    } = offer.home;
    let building = offer.building;
    fields.set(
        "BedroomsTotal",
        if number % 31 == 9 {
            Value::Null
        } else {
            bedrooms.into()
        },
    );
    fields.set("BathroomsTotalInteger", full_baths + half_baths);
    fields.set("BathroomsFull", full_baths);
    fields.set("BathroomsHalf", half_baths);
    fields.set("RoomsTotal", rooms);
    match number {
        // What a scraper fills a gap with: the mean of the column.
        _ if number % 23 == 5 => {
            fields.set("LivingArea", 2184.207862);
            fields.set("BathroomsTotalDecimal", 2.3738608579684373);
            fields.set("LivingAreaUnits", "Square Feet");
        }
        _ if number % 29 == 8 => {
            fields.set(
                "LivingArea",
                (sqft as f64 * 0.092_903_04 * 10.0).round() / 10.0,
            );
            fields.set("LivingAreaUnits", "Square Meters");
        }
        // Co-operatives seldom say.
        _ if offer.kind == Kind::Coop && number.is_multiple_of(3) => {
            fields.set("LivingArea", Value::Null);
        }
        _ => {
            fields.set("LivingArea", sqft);
            fields.set("LivingAreaUnits", "Square Feet");
        }
    }
    if offer.unit.is_none() {
        let lot = 1_800 + building.units.min(60) * 220;
        if number.is_multiple_of(2) {
            fields.set("LotSizeArea", (lot as f64 / 43_560.0 * 1e4).round() / 1e4);
            fields.set("LotSizeUnits", "Acres");
        } else {
            fields.set("LotSizeArea", lot);
            fields.set("LotSizeUnits", "Square Feet");
            fields.set("LotSizeSquareFeet", lot);
        }
        fields.set("NumberOfUnitsTotal", building.units);
    } else {
        fields.set("EntryLevel", floor);
    }
    fields.set("StoriesTotal", building.floors);
    fields.set(
        "YearBuilt",
        match number % 47 {
            13 => 0,
            29 => 1018,
            _ => building.year_built,
        },
    );
    fields.set(
        "NewConstructionYN",
        building.year_built >= 2005 && offer.kind == Kind::Condo,
    );
}

/// Charges and taxes.
pub(super) fn money_fields(
    offer: &Offer<'_>,
    number: u64,
    value: u64,
    today: Date,
    seed: &mut Seed,
    fields: &mut Fields,
) {
    if offer.rental {
        return;
    }
    let sqft = offer.home.sqft;
    let monthly = match offer.kind {
        Kind::Coop => sqft * (150 + seed.below(90)) / 100,
        Kind::Condo => sqft * (80 + seed.below(70)) / 100,
        Kind::House | Kind::Building => 0,
    };
    if monthly > 0 {
        let (fee, frequency) = match number % 13 {
            4 => (monthly * 3, "Quarterly"),
            9 => (monthly * 12, "Annually"),
            _ => (monthly, "Monthly"),
        };
        fields.set("AssociationFee", fee);
        fields.set("AssociationFeeFrequency", frequency);
    }
    if offer.kind != Kind::Coop {
        fields.set("TaxAnnualAmount", (value / 110) as f64 + 0.42);
        fields.set("TaxYear", today.year());
    }
}

/// What a tenant asks for.
pub(super) fn rental_fields(
    offer: &Offer<'_>,
    number: u64,
    rent: u64,
    today: Date,
    seed: &mut Seed,
    fields: &mut Fields,
) {
    let available = today.saturating_add(Duration::days(seed.below(75) as i64 - 15));
    fields.set("AvailabilityDate", available.to_string());
    let (term, months) = match number % 8 {
        3 => ("24 Months", 24),
        5 => ("6 Months", 6),
        6 => ("Month To Month", 0),
        _ => ("12 Months", 12),
    };
    fields.set("LeaseTerm", term);
    let furnished = [
        "Unfurnished",
        "Unfurnished",
        "Unfurnished",
        "Furnished",
        "Partially",
    ];
    fields.set("Furnished", furnished.get(seed.below(5) as usize).copied());
    let pets = [
        vec!["Yes"],
        vec!["No"],
        vec!["Cats OK", "Dogs OK"],
        vec!["Call"],
        vec!["Cats OK"],
    ];
    fields.set("PetsAllowed", pets.get(seed.below(5) as usize).cloned());
    fields.set("NoFeeYN", seed.below(2) == 0);
    let stabilised = offer.kind == Kind::Building && offer.building.year_built < 1974;
    fields.set("RentStabilizedYN", stabilised && seed.below(4) == 0);
    if months >= 12 && number % 6 == 1 {
        let free = 1 + seed.below(2);
        fields.set("MonthsFree", free);
        fields.set("NetEffectiveRent", rent * (months - free) / months);
    }
}

pub(super) fn remarks(offer: &Offer<'_>) -> String {
    let home = offer.home;
    let rooms = match home.bedrooms {
        0 => "A studio".to_owned(),
        1 => "One bedroom".to_owned(),
        many => format!("{many} bedrooms"),
    };
    let street = address::street(&offer.building.street, false);
    format!("Sample listing: {rooms} on {street}. Invented; nothing here is for sale or for rent.")
}

pub(super) fn media(key: &str, photos: u64, entered: &str) -> Value {
    let one = |order: u64| {
        json!({
            "MediaKey": format!("{key}-P{order}"),
            "ResourceName": "Property",
            "ResourceRecordKey": key,
            "MediaCategory": "Photo",
            "MediaURL": format!("https://photos.example.com/{key}/{order}.jpg"),
            "MimeType": "image/jpeg",
            "Order": order,
            "MediaModificationTimestamp": entered,
            "ModificationTimestamp": entered,
        })
    };
    (1..=photos).map(one).collect::<Vec<_>>().into()
}

pub(super) fn open_house(key: &str, today: Date, seed: &mut Seed, changed: &str) -> Value {
    let to_sunday = (7 - u64::from(today.weekday().number_days_from_sunday())) as i64;
    let day = today.saturating_add(Duration::days(to_sunday));
    let hour = 15 + seed.below(4);
    json!({
        "OpenHouseKey": format!("{key}-O1"),
        "ListingKey": key,
        "ListingId": key.replace("SMP", "RLS-"),
        "OpenHouseDate": day.to_string(),
        "OpenHouseStartTime": format!("{day}T{hour:02}:00:00Z"),
        "OpenHouseEndTime": format!("{day}T{:02}:30:00Z", hour + 1),
        "OpenHouseStatus": "Active",
        "OpenHouseType": "Public",
        "AppointmentRequiredYN": seed.below(3) == 0,
        "ModificationTimestamp": changed,
    })
}
