//! A home for sale or for rent: what a licensed feed says of it, in this API's fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::{Bbl, Bin, Dollars, PublishedDate, SourceStatus, Zip};

/// Names of the values of an enumeration, as the contract writes them.
macro_rules! named {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $text:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[doc = $variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value, in the contract's order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The value as the contract writes it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value with this spelling; `None` for any other text.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                const VALUES: &[(&str, &str)] = &[$(($text, concat!($($variant_doc),*)),)*];
                crate::schema::one_of(concat!($($doc),*), VALUES)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    };
}
pub(crate) use named;

named! {
    /// Whether a home is offered for sale or for rent.
    ListingType {
        /// A home for sale.
        Sale = "sale",
        /// A home for rent.
        Rental = "rental",
    }
}

named! {
    /// The status of a listing, in the words of the RESO Data Dictionary.
    ListingStatus {
        /// On the market.
        Active = "active",
        /// Announced, not yet on the market.
        ComingSoon = "coming_soon",
        /// An offer was accepted and the home is still shown.
        ActiveUnderContract = "active_under_contract",
        /// An offer was accepted and the home is no longer on the market.
        Pending = "pending",
        /// Taken off the market for a while; the listing agreement is still in force.
        Hold = "hold",
        /// Taken off the market; the listing agreement is still in force.
        Withdrawn = "withdrawn",
        /// The listing agreement was ended.
        Canceled = "canceled",
        /// The listing agreement expired.
        Expired = "expired",
        /// Sold or rented.
        Closed = "closed",
        /// Gone from the feed, which does not say why.
        OffMarket = "off_market",
        /// The feed's word is not one that we know; `status_raw` has it.
        Other = "other",
    }
}

impl ListingStatus {
    /// What a search may ask for.
    pub const SEARCHABLE: [Self; 4] = [
        Self::Active,
        Self::ComingSoon,
        Self::ActiveUnderContract,
        Self::Pending,
    ];

    /// Whether the home is on offer: announced, active, or under contract and still shown. A pending one is off the market.
    pub const fn on_market(self) -> bool {
        matches!(
            self,
            Self::Active | Self::ComingSoon | Self::ActiveUnderContract
        )
    }
}

named! {
    /// The kind of home.
    PropertyType {
        /// A condominium unit.
        Condo = "condo",
        /// A co-operative apartment.
        Coop = "coop",
        /// A co-operative within a condominium.
        Condop = "condop",
        /// A house for one family.
        SingleFamily = "single_family",
        /// A house for two families.
        TwoFamily = "two_family",
        /// A house for three families.
        ThreeFamily = "three_family",
        /// A building of four or more homes.
        MultiFamily = "multi_family",
        /// A townhouse, in a row of houses.
        Townhouse = "townhouse",
        /// Homes and businesses in one building.
        MixedUse = "mixed_use",
        /// Land without a home.
        Land = "land",
        /// Anything else, and rental apartments about which no more is known; `property_type_raw` has the feed's word.
        Other = "other",
    }
}

impl PropertyType {
    /// Whether the listing is for a whole building, so that its address alone identifies it.
    pub const fn is_whole_building(self) -> bool {
        matches!(
            self,
            Self::SingleFamily
                | Self::TwoFamily
                | Self::ThreeFamily
                | Self::MultiFamily
                | Self::Townhouse
                | Self::MixedUse
                | Self::Land
        )
    }
}

/// A time at which a home can be seen. The feed's own texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OpenHouse {
    /// The day.
    pub date: Option<PublishedDate>,
    /// From when, as published.
    pub start_time: Option<String>,
    /// Until when, as published.
    pub end_time: Option<String>,
}

/// How one source identifies a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListingSource {
    /// The source's own identifier of the listing.
    pub listing_id: String,
    /// When the source last changed it.
    #[serde(with = "time::serde::rfc3339::option")]
    pub updated_at: Option<OffsetDateTime>,
}

/// A listing. `None` is "not known"; dates are as the feed published them; money is US dollars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Listing {
    /// Our own identifier of the listing, the same for as long as the source has it.
    pub listing_key: String,
    /// The source's identifier.
    pub source_listing_id: String,
    /// For sale or for rent.
    pub listing_type: ListingType,
    /// Its status.
    pub status: ListingStatus,
    /// The feed's word for that.
    pub status_raw: Option<String>,
    /// The kind of home.
    pub property_type: PropertyType,
    /// The feed's word or words for that.
    pub property_type_raw: Option<String>,
    /// The address on one line.
    pub address: Option<String>,
    /// House number.
    pub house_number: Option<String>,
    /// Street.
    pub street: Option<String>,
    /// Unit.
    pub unit: Option<String>,
    /// Borough name.
    pub borough: Option<String>,
    /// Neighbourhood.
    pub neighborhood: Option<String>,
    /// ZIP code.
    pub zip_code: Option<Zip>,
    /// Tax lot; the billing lot of a condominium.
    pub bbl: Option<Bbl>,
    /// Building.
    pub bin: Option<Bin>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east: negative here.
    pub longitude: Option<f64>,
    /// Asking price; null for a rental.
    pub list_price: Option<Dollars>,
    /// Asking rent per month; null for a sale.
    pub asking_rent: Option<Dollars>,
    /// The first asking price; monthly rent for a rental.
    pub original_list_price: Option<Dollars>,
    /// The asking price before the last change.
    pub previous_list_price: Option<Dollars>,
    /// The last change of the asking price: negative for a cut.
    pub price_change: Option<Dollars>,
    /// When the price last changed.
    #[serde(with = "time::serde::rfc3339::option")]
    pub price_changed_at: Option<OffsetDateTime>,
    /// When it was listed.
    pub list_date: Option<PublishedDate>,
    /// When it left the market.
    pub off_market_date: Option<PublishedDate>,
    /// When it was sold or rented.
    pub close_date: Option<PublishedDate>,
    /// The price it was sold or rented for.
    pub close_price: Option<Dollars>,
    /// Days from the list date until it left the market, or until today.
    pub days_on_market: Option<u32>,
    /// Bedrooms; 0 is a studio.
    pub bedrooms: Option<u32>,
    /// Bathrooms; a half bathroom counts 0.5.
    pub bathrooms: Option<f64>,
    /// Full bathrooms.
    pub bathrooms_full: Option<u32>,
    /// Half bathrooms.
    pub bathrooms_half: Option<u32>,
    /// Rooms.
    pub rooms: Option<u32>,
    /// Living area in square feet.
    pub living_area_sqft: Option<u32>,
    /// Lot size in square feet.
    pub lot_size_sqft: Option<u32>,
    /// Price or monthly rent per square foot of living area.
    pub price_per_sqft: Option<Dollars>,
    /// Year of construction.
    pub year_built: Option<u32>,
    /// Floor of the unit.
    pub floor: Option<u32>,
    /// Common charges of a condominium unit, per month.
    pub common_charges_monthly: Option<Dollars>,
    /// Maintenance of a co-operative apartment, per month.
    pub maintenance_monthly: Option<Dollars>,
    /// Property tax, per month.
    pub property_tax_monthly: Option<Dollars>,
    /// Net effective rent: rent per month with free months spread over the lease.
    pub net_effective_rent: Option<Dollars>,
    /// Free months.
    pub months_free: Option<f64>,
    /// Lease term in months.
    pub lease_term_months: Option<u32>,
    /// Whether the tenant pays no broker's fee.
    pub no_fee: Option<bool>,
    /// From when it is available.
    pub available_date: Option<PublishedDate>,
    /// Whether it is rented furnished.
    pub furnished: Option<bool>,
    /// Whether pets are allowed.
    pub pets_allowed: Option<bool>,
    /// Whether the rent is stabilised.
    pub rent_stabilized: Option<bool>,
    /// Open houses, past and to come.
    pub open_houses: Vec<OpenHouse>,
    /// Photographs.
    pub photo_urls: Vec<String>,
    /// The listing's public page.
    pub listing_url: Option<String>,
    /// The broker.
    pub broker_name: Option<String>,
    /// The broker's office.
    pub office_name: Option<String>,
    /// The broker's description.
    pub description: Option<String>,
    /// When we first saw it.
    #[serde(with = "time::serde::rfc3339")]
    pub first_seen_at: OffsetDateTime,
    /// When we last saw it.
    #[serde(with = "time::serde::rfc3339")]
    pub last_seen_at: OffsetDateTime,
    /// By source name, how the source identifies it.
    pub sources: BTreeMap<String, ListingSource>,
    /// Always empty for now: where sources differ, once there are two.
    pub discrepancies: Vec<String>,
}

impl Listing {
    /// The asking price of a sale, the monthly rent of a rental.
    pub fn price(&self) -> Option<Dollars> {
        match self.listing_type {
            ListingType::Sale => self.list_price,
            ListingType::Rental => self.asking_rent,
        }
    }
}

/// `source_status` of a search or a digest: by kind of listing call, the worst value of several areas.
pub type ListingSourceStatus = BTreeMap<String, SourceStatus>;

#[cfg(test)]
pub(crate) mod tests {
    use time::macros::datetime;

    use super::*;

    /// An invented listing with every field set.
    pub(crate) fn listing() -> Listing {
        Listing {
            listing_key: "sale-abc".into(),
            source_listing_id: "RX-1".into(),
            listing_type: ListingType::Sale,
            status: ListingStatus::Active,
            status_raw: Some("Active".into()),
            property_type: PropertyType::Condo,
            property_type_raw: Some("Residential / Condominium".into()),
            address: Some("120 BROADWAY 4C, New York, NY 10271".into()),
            house_number: Some("120".into()),
            street: Some("BROADWAY".into()),
            unit: Some("4C".into()),
            borough: Some("Manhattan".into()),
            neighborhood: Some("Financial District".into()),
            zip_code: Some("10271".parse().unwrap()),
            bbl: Some("1000477501".parse().unwrap()),
            bin: Some("1001026".parse().unwrap()),
            latitude: Some(40.7086),
            longitude: Some(-74.0106),
            list_price: Some("1250000".parse().unwrap()),
            asking_rent: None,
            original_list_price: Some("1300000".parse().unwrap()),
            previous_list_price: Some("1300000".parse().unwrap()),
            price_change: Some("-50000".parse().unwrap()),
            price_changed_at: Some(datetime!(2026-11-20 9:30 UTC)),
            list_date: Some("2026-10-01".into()),
            off_market_date: None,
            close_date: None,
            close_price: None,
            days_on_market: Some(58),
            bedrooms: Some(2),
            bathrooms: Some(1.5),
            bathrooms_full: Some(1),
            bathrooms_half: Some(1),
            rooms: Some(4),
            living_area_sqft: Some(1_000),
            lot_size_sqft: None,
            price_per_sqft: Some("1250.00".parse().unwrap()),
            year_built: Some(1915),
            floor: Some(4),
            common_charges_monthly: Some("1100.50".parse().unwrap()),
            maintenance_monthly: None,
            property_tax_monthly: Some("950".parse().unwrap()),
            net_effective_rent: None,
            months_free: None,
            lease_term_months: None,
            no_fee: None,
            available_date: None,
            furnished: None,
            pets_allowed: Some(true),
            rent_stabilized: None,
            open_houses: vec![OpenHouse {
                date: Some("2026-12-05".into()),
                start_time: Some("2026-12-05T17:00:00Z".into()),
                end_time: None,
            }],
            photo_urls: vec!["https://photos.example/1.jpg".into()],
            listing_url: None,
            broker_name: None,
            office_name: Some("Sample Realty".into()),
            description: Some("Two bedrooms.".into()),
            first_seen_at: datetime!(2026-10-01 8:00 UTC),
            last_seen_at: datetime!(2026-11-28 8:00 UTC),
            sources: [(
                "reso".to_owned(),
                ListingSource {
                    listing_id: "RX-1".into(),
                    updated_at: Some(datetime!(2026-11-20 9:30 UTC)),
                },
            )]
            .into(),
            discrepancies: vec![],
        }
    }

    #[test]
    fn a_listing_has_the_keys_of_the_contract_in_order() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&listing()).unwrap());
    }

    #[test]
    fn a_listing_reads_back_with_every_digit() {
        let text = serde_json::to_string(&listing()).unwrap();
        let back: Listing = serde_json::from_str(&text).unwrap();
        assert_eq!(back, listing());
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert!(
            text.contains("\"common_charges_monthly\":1100.50,"),
            "{text}"
        );
    }

    #[test]
    fn names_are_as_serialised() {
        for status in ListingStatus::ALL {
            assert_eq!(ListingStatus::from_name(status.as_str()), Some(*status));
            assert_eq!(
                serde_json::to_value(status).unwrap(),
                serde_json::Value::from(status.as_str())
            );
        }
        assert_eq!(PropertyType::ALL.len(), 11);
        assert_eq!(PropertyType::from_name("castle"), None);
    }
}
