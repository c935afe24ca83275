//! The listings, made from the buildings. Dates are counted back from the day on which the city starts; all else is always
//! the same.

use serde_json::Value;
use time::{Date, Duration, OffsetDateTime, Time, format_description::well_known::Rfc3339};

use super::{
    address,
    fields::{home_fields, media, money_fields, open_house, remarks, rental_fields},
};
use crate::{
    buildings::{Building, BuildingKind, buildings},
    market::{self, Home, Kind, Place},
    odata::Entity,
    seed::Seed,
};

/// Offices that do not exist.
const OFFICES: [&str; 6] = [
    "Sample Realty",
    "Brownstone Sample Brokerage",
    "Five Borough Sample Homes",
    "Stoop & Cornice Sample Realty",
    "Harbor Sample Residential",
    "Sample Property Group",
];

/// What becomes of a listing: of a hundred, so many.
const FATES: [(u64, &str); 8] = [
    (64, "Active"),
    (5, "Coming Soon"),
    (7, "Active Under Contract"),
    (7, "Pending"),
    (10, "Closed"),
    (3, "Withdrawn"),
    (2, "Expired"),
    (2, "Canceled"),
];

/// All listings as of `now`, in the order of their keys.
pub(super) fn listings(now: OffsetDateTime) -> Vec<Entity> {
    let mut maker = Maker {
        now,
        made: Vec::new(),
    };
    for building in buildings() {
        if building.bin.is_some() && building.kind != BuildingKind::PlutoOnly {
            maker.building(building);
        }
    }
    maker.made
}

/// What is offered.
#[derive(Debug, Clone)]
pub(super) struct Offer<'a> {
    pub(super) building: &'a Building,
    pub(super) rental: bool,
    /// The type and the subtype of the Data Dictionary.
    pub(super) types: (&'static str, &'static str),
    pub(super) unit: Option<String>,
    pub(super) home: Home,
    pub(super) kind: Kind,
}

pub(super) struct Maker {
    now: OffsetDateTime,
    made: Vec<Entity>,
}

impl Maker {
    /// An offer with what became of it, and sometimes what came before it, or stands beside it under a second number.
    pub(super) fn slot(&mut self, offer: &Offer<'_>) {
        let number = self.made.len() as u64;
        let unit = offer.unit.as_deref().unwrap_or("");
        let id = offer.building.bbl.to_string();
        let mut seed = Seed::new(&[
            b"listing",
            id.as_bytes(),
            unit.as_bytes(),
            &[u8::from(offer.rental)],
        ]);
        let drawn = seed.below(100);
        let mut sum = 0;
        let fate = (FATES.iter())
            .find(|(share, _)| {
                sum += share;
                drawn < sum
            })
            .map_or("Active", |(_, fate)| fate);
        let age = 1 + seed.below(if fate == "Active" { 120 } else { 200 });
        if fate == "Active" && seed.below(100) < 14 {
            // Listed before: by the nearer half within ninety days of the new listing, by the others longer ago.
            let gap = if seed.below(2) == 0 {
                20 + seed.below(60)
            } else {
                130 + seed.below(200)
            };
            let end = if seed.below(2) == 0 {
                "Withdrawn"
            } else {
                "Expired"
            };
            let before = self.entity(offer, end, age + gap + 60, Some(age + gap), &mut seed);
            self.made.push(before);
        }
        let entity = self.entity(offer, fate, age, None, &mut seed);
        let twice = fate == "Active" && offer.unit.is_some() && number % 11 == 4;
        let second = twice.then(|| {
            let mut second = entity.clone();
            second.insert("UnitNumber".into(), format!("#{unit}").into());
            second.insert("ListOfficeName".into(), office(number + 1).into());
            second
        });
        self.made.push(entity);
        if let Some(mut second) = second {
            let key = self.key();
            rekey(&mut second, &key);
            self.made.push(second);
        }
    }

    fn key(&self) -> String {
        format!("SMP{}", 100_001 + self.made.len())
    }

    /// A listing that began `age` days ago and, where it has ended, did so `ended` days ago.
    fn entity(
        &self,
        offer: &Offer<'_>,
        fate: &str,
        age: u64,
        ended: Option<u64>,
        seed: &mut Seed,
    ) -> Entity {
        let number = self.made.len() as u64;
        let key = self.key();
        let building = offer.building;
        let today = self.now.date();
        let back = |days: u64| today.saturating_sub(Duration::days(days as i64));
        let coming = fate == "Coming Soon";
        let over = matches!(fate, "Closed" | "Withdrawn" | "Expired" | "Canceled");
        let ended = ended.or_else(|| over.then(|| seed.below(age.max(2) / 2)));
        let listed = back(age);
        let id = building.bbl.to_string();
        let place = Place {
            borough: building.borough(),
            neighborhood: &building.neighborhood,
            building: &id,
        };
        let unit = offer.unit.as_deref();
        let deal = format!("{id} {} {key}", unit.unwrap_or(""));
        let home = offer.home;
        let value = match offer.rental {
            true => market::rent(place, home.sqft, home.floor, &deal),
            // Sellers ask for some more than they get.
            false => {
                market::price(offer.kind, place, home.sqft, home.floor, listed, &deal) * 104
                    / 100
                    / 1_000
                    * 1_000
            }
        };
        let cut = !coming && seed.below(100) < 28;
        let first = if cut {
            rounded(value * (104 + seed.below(8)) / 100, offer.rental)
        } else {
            value
        };
        let cut_on = back(seed.below(age.max(2)));
        let mut fields = Fields(Entity::new());
        fields.set("ListingKey", key.as_str());
        fields.set("ListingId", key.replace("SMP", "RLS-"));
        fields.set("OriginatingSystemName", "Sample Listing Service");
        fields.set(
            "StandardStatus",
            if number % 67 == 41 {
                "Bonus Showings"
            } else {
                fate
            },
        );
        fields.set("MlsStatus", local_status(fate, offer.rental));
        fields.set("PropertyType", offer.types.0);
        fields.set(
            "PropertySubType",
            if number % 59 == 23 {
                "Houseboat Slip"
            } else {
                offer.types.1
            },
        );
        self.location(offer, number, &mut fields);
        // Some ask for no price, and one in a hundred for the largest that a column holds.
        match number {
            _ if number % 31 == 6 => fields.set("ListPrice", Value::Null),
            _ if number % 97 == 11 => fields.set("ListPrice", 2_147_483_647_u64),
            _ => fields.set("ListPrice", value),
        }
        fields.set("OriginalListPrice", first);
        if cut {
            fields.set("PreviousListPrice", first);
            fields.set("PriceChangeTimestamp", self.moment(cut_on, seed));
        }
        if offer.rental {
            fields.set("LeaseAmountFrequency", "Monthly");
        }
        fields.set("ListingContractDate", listed.to_string());
        fields.set(
            "OnMarketDate",
            if coming {
                back(0).saturating_add(Duration::days(5))
            } else {
                listed
            }
            .to_string(),
        );
        let mut touched = if cut { cut_on } else { listed };
        if let Some(ended) = ended {
            let end = back(ended);
            touched = touched.max(end);
            fields.set("OffMarketDate", end.to_string());
            if fate == "Closed" {
                // One in a few closed before it was listed: a slip of the keyboard.
                let slip = number % 5 == 2;
                let close = if slip {
                    listed.saturating_sub(Duration::days(12))
                } else {
                    end
                };
                fields.set("CloseDate", close.to_string());
                fields.set(
                    "ClosePrice",
                    rounded(value * (95 + seed.below(8)) / 100, offer.rental),
                );
            }
        }
        home_fields(offer, number, &mut fields);
        money_fields(offer, number, value, today, seed, &mut fields);
        if offer.rental {
            rental_fields(offer, number, value, today, seed, &mut fields);
        }
        fields.set("InternetEntireListingDisplayYN", number % 83 != 30);
        fields.set("InternetAddressDisplayYN", true);
        fields.set("ListOfficeName", office(number));
        fields.set("ListAgentFullName", Value::Null);
        fields.set("ListingURL", format!("https://listings.example.com/{key}"));
        fields.set("PublicRemarks", remarks(offer));
        let entered = self.moment(listed, seed);
        let changed = self.moment(touched, seed).max(entered.clone());
        let photos = seed.below(7);
        fields.set("PhotosCount", photos);
        fields.set("PhotosChangeTimestamp", entered.as_str());
        fields.set(
            "StatusChangeTimestamp",
            if ended.is_some() {
                changed.as_str()
            } else {
                entered.as_str()
            },
        );
        fields.set("OriginalEntryTimestamp", entered.as_str());
        fields.set("ModificationTimestamp", changed.as_str());
        fields.set("Media", media(&key, photos, &entered));
        let open = fate == "Active" && !offer.rental && seed.below(100) < 25;
        let houses = if open {
            vec![open_house(&key, today, seed, &changed)]
        } else {
            Vec::new()
        };
        fields.set("OpenHouse", houses);
        fields.0
    }

    /// Some moment of a day, in working hours, and none that is still to come.
    fn moment(&self, day: Date, seed: &mut Seed) -> String {
        let hour = Time::from_hms(
            8 + seed.below(10) as u8,
            seed.below(60) as u8,
            seed.below(60) as u8,
        );
        let moment = day.with_time(hour.unwrap_or(Time::MIDNIGHT)).assume_utc();
        written(moment.min(self.now))
    }

    fn location(&self, offer: &Offer<'_>, number: u64, fields: &mut Fields) {
        let building = offer.building;
        let street = address::street(&building.street, number % 5 == 1);
        let (city, county) = address::city(building);
        let unit = offer.unit.as_deref();
        let line = match unit {
            Some(unit) => format!("{} {street} #{unit}", building.house_number),
            None => format!("{} {street}", building.house_number),
        };
        fields.set(
            "UnparsedAddress",
            format!("{line}, {city}, NY {}", building.zip),
        );
        fields.set("StreetNumber", building.house_number.as_str());
        fields.set("StreetName", street);
        fields.set("UnitNumber", unit);
        fields.set("City", city);
        fields.set("CountyOrParish", county);
        fields.set("StateOrProvince", "NY");
        fields.set("PostalCode", building.zip.as_str());
        fields.set("Country", "US");
        fields.set("SubdivisionName", building.neighborhood.as_str());
        let digits = building.bbl.to_string();
        let parcel = match number % 4 {
            0 => Some(digits.clone()),
            1 => Some(format!(
                "{}-{:05}-{:04}",
                building.borough().digit(),
                building.bbl.block(),
                building.bbl.lot()
            )),
            _ => None,
        };
        fields.set("ParcelNumber", parcel);
        let degrees = |text: &str| text.parse::<f64>().ok();
        fields.set("Latitude", degrees(&building.latitude));
        fields.set("Longitude", degrees(&building.longitude));
    }
}

/// Fields in the order in which they are set.
pub(super) struct Fields(Entity);

impl Fields {
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

/// The same listing under another number.
fn rekey(entity: &mut Entity, key: &str) {
    entity.insert("ListingKey".into(), key.into());
    entity.insert("ListingId".into(), key.replace("SMP", "RLS-").into());
    entity.insert(
        "ListingURL".into(),
        format!("https://listings.example.com/{key}").into(),
    );
    for (name, field) in [("Media", "ResourceRecordKey"), ("OpenHouse", "ListingKey")] {
        let Some(Value::Array(parts)) = entity.get_mut(name) else {
            continue;
        };
        for (at, part) in parts
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .enumerate()
        {
            part.insert(field.into(), key.into());
            let (own, letter) = if name == "Media" {
                ("MediaKey", 'P')
            } else {
                ("OpenHouseKey", 'O')
            };
            part.insert(own.into(), format!("{key}-{letter}{}", at + 1).into());
        }
    }
}

fn office(number: u64) -> &'static str {
    let at = (number % OFFICES.len() as u64) as usize;
    OFFICES.get(at).copied().unwrap_or("Sample Realty")
}

fn rounded(value: u64, rental: bool) -> u64 {
    let step = if rental { 25 } else { 1_000 };
    value / step * step
}

/// The word of the service itself.
fn local_status(fate: &str, rental: bool) -> &'static str {
    match (fate, rental) {
        ("Coming Soon", _) => "Coming Soon",
        ("Active Under Contract", false) => "Offer Accepted",
        ("Active Under Contract", true) => "Application Pending",
        ("Pending", false) => "Contract Signed",
        ("Pending", true) => "Lease Out",
        ("Closed", false) => "Sold",
        ("Closed", true) => "Leased",
        ("Withdrawn", _) => "Temporarily Off Market",
        ("Expired", _) => "Expired",
        ("Canceled", _) => "Permanently Off Market",
        _ => "Active",
    }
}

/// A moment as a feed writes it.
pub(super) fn written(moment: OffsetDateTime) -> String {
    let moment = moment
        .replace_millisecond(moment.millisecond())
        .unwrap_or(moment);
    moment.format(&Rfc3339).unwrap_or_default()
}
