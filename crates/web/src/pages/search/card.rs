//! One listing, in the words of people.

use brownstone_domain::{Listing, ListingType};

use crate::{
    form::encode,
    text::{count, money, visible, words},
};

/// A listing as it is shown.
pub(super) struct Card {
    pub(super) price: String,
    pub(super) per: &'static str,
    pub(super) address: String,
    /// Where the public record of its building is.
    pub(super) record: Option<String>,
    pub(super) place: String,
    pub(super) facts: Vec<String>,
    pub(super) costs: Vec<String>,
    pub(super) marks: Vec<String>,
    pub(super) status: &'static str,
    pub(super) listed: String,
    pub(super) by: String,
    /// The listing's own page; only an https address becomes a link.
    pub(super) url: Option<String>,
}

fn joined<'a>(parts: impl IntoIterator<Item = Option<&'a String>>, between: &str) -> String {
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .map(|part| visible(part))
        .collect();
    parts.join(between)
}

impl Card {
    /// What people read of it.
    pub(super) fn of(listing: &Listing) -> Self {
        let asks = listing.list_price.or(listing.asking_rent);
        let plural = |n: u32, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let bedrooms = listing.bedrooms.map(|n| match n {
            0 => "studio".to_owned(),
            n => plural(n, "bedroom"),
        });
        let monthly = [
            ("common charges", listing.common_charges_monthly),
            ("maintenance", listing.maintenance_monthly),
            ("property tax", listing.property_tax_monthly),
        ];
        let mut costs: Vec<String> = monthly
            .iter()
            .filter_map(|(name, amount)| Some(format!("{name} {} a month", money((*amount)?))))
            .collect();
        costs.extend(
            listing
                .net_effective_rent
                .map(|rent| format!("net effective rent {}", money(rent))),
        );
        let yes = [
            ("no fee", listing.no_fee),
            ("furnished", listing.furnished),
            ("pets allowed", listing.pets_allowed),
            ("rent stabilised", listing.rent_stabilized),
        ];
        let mut marks: Vec<String> = yes
            .iter()
            .filter(|(_, is)| *is == Some(true))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        marks.extend(
            listing
                .price_change
                .filter(|change| change.is_negative())
                .map(|change| format!("price cut {}", money(change))),
        );
        let subject = listing
            .bin
            .map(|bin| bin.to_string())
            .or_else(|| listing.bbl.map(|bbl| bbl.to_string()));
        let facts = [
            Some(words(listing.property_type.as_str())),
            bedrooms,
            listing.bathrooms.map(|n| format!("{n} bath")),
            listing
                .living_area_sqft
                .map(|area| format!("{} sq ft", count(area.into()))),
            listing
                .price_per_sqft
                .map(|price| format!("{} a sq ft", money(price))),
            listing.year_built.map(|year| format!("built {year}")),
            listing
                .available_date
                .as_ref()
                .map(|date| format!("available {}", visible(date.as_str()))),
        ];
        let listed = listing
            .list_date
            .as_ref()
            .map(|date| visible(date.as_str()));
        Self {
            price: asks.map_or_else(|| "Price not stated".to_owned(), money),
            per: match listing.listing_type {
                ListingType::Rental if asks.is_some() => "a month",
                _ => "",
            },
            address: listing
                .address
                .as_deref()
                .map_or_else(|| "Address not stated".to_owned(), visible),
            record: subject.map(|subject| format!("/lookup?address={}", encode(&subject))),
            place: joined(
                [listing.neighborhood.as_ref(), listing.borough.as_ref()],
                ", ",
            ),
            facts: facts.into_iter().flatten().collect(),
            costs,
            marks,
            status: listing.status.as_str(),
            listed: match (listed, listing.days_on_market) {
                (Some(date), Some(days)) => {
                    format!("listed {date}, {} on the market", plural(days, "day"))
                }
                (Some(date), None) => format!("listed {date}"),
                (None, Some(days)) => format!("{} on the market", plural(days, "day")),
                (None, None) => String::new(),
            },
            by: joined(
                [listing.broker_name.as_ref(), listing.office_name.as_ref()],
                ", ",
            ),
            url: listing
                .listing_url
                .clone()
                .filter(|url| url.starts_with("https://")),
        }
    }
}
