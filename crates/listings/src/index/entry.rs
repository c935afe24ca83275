//! A listing in the index: what a search needs of it, in few bytes.

use brownstone_domain::{
    Bbl, Bin, Dollars, Listing, ListingFilter, ListingSort, ListingStatus, ListingType,
    PropertyType, PublishedDate, published::parse_day,
};
use time::Date;

use crate::{ListingKey, Row};

/// "Not known" in each column. Above every value, so that it sorts last and is within no upper bound.
const NO_PRICE: u64 = u64::MAX;
const NO_U32: u32 = u32::MAX;
const NO_U16: u16 = u16::MAX;
const NO_U8: u8 = u8::MAX;
/// For days, which are counted from the Julian epoch: below every day.
const NO_DAY: i32 = i32::MIN;

/// Facts that are yes, no or not known, by bit.
const REDUCED: u8 = 1;
const NEW: u8 = 1 << 1;
const NO_FEE: u8 = 1 << 2;
const PETS: u8 = 1 << 3;
const FURNISHED: u8 = 1 << 4;
const STABILIZED: u8 = 1 << 5;

/// One listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) key: u64,
    /// Cents.
    pub(crate) price: u64,
    /// Cents.
    net_rent: u32,
    per_sqft: u32,
    pub(crate) bbl: Option<Bbl>,
    pub(crate) bin: Option<Bin>,
    pub(crate) latitude: f32,
    pub(crate) longitude: f32,
    listed: i32,
    /// The day it left the market; unset while it is on.
    off: i32,
    available: i32,
    /// The last open house.
    open_house: i32,
    area: u32,
    year: u16,
    bedrooms: u8,
    /// Halves.
    bathrooms: u8,
    pub(crate) status: ListingStatus,
    kind: PropertyType,
    pub(crate) listing_type: ListingType,
    /// Which facts are known.
    known: u8,
    /// Which of them hold.
    holds: u8,
}

fn small<T: TryFrom<u32>>(value: Option<u32>, none: T) -> T {
    value
        .and_then(|value| T::try_from(value).ok())
        .unwrap_or(none)
}

fn cents(amount: Option<Dollars>) -> Option<u64> {
    u64::try_from(amount?.cents()?).ok()
}

fn day(date: Option<Date>) -> i32 {
    date.map_or(NO_DAY, Date::to_julian_day)
}

/// The day a listing was listed: as published, or reckoned back from the days the feed gave it when it was seen.
pub(crate) fn listed_on(listing: &Listing) -> Option<Date> {
    let published = listing.list_date.as_ref();
    published
        .and_then(|date| parse_day(date.as_str()))
        .or_else(|| {
            let days = time::Duration::days(i64::from(listing.days_on_market?));
            listing.last_seen_at.date().checked_sub(days)
        })
}

/// The day a listing left the market; `None` while it is on, or where nobody knows.
pub(crate) fn left_on(listing: &Listing) -> Option<Date> {
    if listing.status.on_market() {
        return None;
    }
    [&listing.off_market_date, &listing.close_date]
        .into_iter()
        .flatten()
        .find_map(|date| parse_day(date.as_str()))
}

/// Days from the list date until a listing left the market, or until `today`.
pub fn days_on_market(listing: &Listing, today: Date) -> Option<u32> {
    let end = left_on(listing).unwrap_or(today);
    let days = (end - listed_on(listing)?).whole_days();
    Some(u32::try_from(days).unwrap_or(0))
}

/// Whether a listing asks less than it did; `None` where it asks nothing.
pub fn price_reduced(listing: &Listing) -> Option<bool> {
    let price = listing.price()?;
    let change = listing.price_change;
    Some(match (change, listing.original_list_price) {
        (Some(change), _) => change.is_negative(),
        (None, Some(original)) => price < original,
        (None, None) => false,
    })
}

/// The day of a listing's last open house.
pub fn last_open_house(listing: &Listing) -> Option<Date> {
    let days = listing.open_houses.iter().filter_map(|open| {
        let text = open.date.as_ref().map(PublishedDate::as_str);
        parse_day(text.or(open.start_time.as_deref())?)
    });
    days.max()
}

impl Entry {
    pub(crate) fn of(row: &Row) -> Self {
        let listing = &row.listing;
        let facts = [
            (REDUCED, price_reduced(listing)),
            (NEW, row.new_construction),
            (NO_FEE, listing.no_fee),
            (PETS, listing.pets_allowed),
            (FURNISHED, listing.furnished),
            (STABILIZED, listing.rent_stabilized),
        ];
        let (mut known, mut holds) = (0, 0);
        for (bit, fact) in facts {
            if let Some(fact) = fact {
                known |= bit;
                holds |= if fact { bit } else { 0 };
            }
        }
        let halves = listing.bathrooms.map(|bathrooms| (bathrooms * 2.0).round());
        Self {
            key: row.key().0,
            price: cents(listing.price()).unwrap_or(NO_PRICE),
            net_rent: cents(listing.net_effective_rent)
                .and_then(|cents| u32::try_from(cents).ok())
                .unwrap_or(NO_U32),
            per_sqft: cents(listing.price_per_sqft)
                .and_then(|cents| u32::try_from(cents).ok())
                .unwrap_or(NO_U32),
            bbl: listing.bbl,
            bin: listing.bin,
            // Six metres are near enough to tell which listings are around the corner.
            latitude: listing.latitude.map_or(f32::NAN, |degrees| degrees as f32),
            longitude: listing.longitude.map_or(f32::NAN, |degrees| degrees as f32),
            listed: day(listed_on(listing)),
            off: day(left_on(listing)),
            available: day(listing
                .available_date
                .as_ref()
                .and_then(|date| parse_day(date.as_str()))),
            open_house: day(last_open_house(listing)),
            area: listing.living_area_sqft.unwrap_or(NO_U32),
            year: small(listing.year_built, NO_U16),
            bedrooms: small(listing.bedrooms, NO_U8),
            // The cast saturates; a home has fewer than 127 bathrooms.
            bathrooms: halves.map_or(NO_U8, |halves| halves as u8),
            status: listing.status,
            kind: listing.property_type,
            listing_type: listing.listing_type,
            known,
            holds,
        }
    }

    fn days_on_market(&self, today: i32) -> u32 {
        if self.listed == NO_DAY {
            return NO_U32;
        }
        let end = if self.off == NO_DAY { today } else { self.off };
        u32::try_from(i64::from(end) - i64::from(self.listed)).unwrap_or(0)
    }

    /// Where it stands in an order: lowest first, what is not known last.
    pub(crate) fn rank(&self, sort: ListingSort, today: i32) -> u64 {
        match sort {
            ListingSort::Newest if self.listed == NO_DAY => u64::MAX,
            // Days are positive and far below the greatest.
            ListingSort::Newest => u64::from(i32::MAX.abs_diff(self.listed)),
            ListingSort::PriceAsc => self.price,
            ListingSort::PriceDesc if self.price == NO_PRICE => u64::MAX,
            ListingSort::PriceDesc => u64::MAX - 1 - self.price,
            ListingSort::PricePerSqftAsc if self.per_sqft == NO_U32 => u64::MAX,
            ListingSort::PricePerSqftAsc => self.per_sqft.into(),
            ListingSort::LivingAreaDesc if self.area == NO_U32 => u64::MAX,
            ListingSort::LivingAreaDesc => u64::from(NO_U32 - self.area),
            ListingSort::DaysOnMarketAsc => match self.days_on_market(today) {
                NO_U32 => u64::MAX,
                days => days.into(),
            },
        }
    }

    pub(crate) fn view(&self) -> ListingView {
        let amount = |cents: u64| i64::try_from(cents).ok().map(Dollars::from_cents);
        let known = |value: u32, none: u32| (value != none).then_some(value);
        ListingView {
            key: ListingKey(self.key),
            listing_type: self.listing_type,
            status: self.status,
            property_type: self.kind,
            price: (self.price != NO_PRICE)
                .then_some(self.price)
                .and_then(amount),
            net_effective_rent: known(self.net_rent, NO_U32).and_then(|cents| amount(cents.into())),
            bedrooms: known(self.bedrooms.into(), NO_U8.into()),
            bathrooms: (self.bathrooms != NO_U8).then(|| f64::from(self.bathrooms) / 2.0),
            living_area_sqft: known(self.area, NO_U32),
            year_built: known(self.year.into(), NO_U16.into()),
            bbl: self.bbl,
            bin: self.bin,
            latitude: (!self.latitude.is_nan()).then_some(self.latitude.into()),
            longitude: (!self.longitude.is_nan()).then_some(self.longitude.into()),
            listed_on: (self.listed != NO_DAY)
                .then(|| Date::from_julian_day(self.listed).ok())
                .flatten(),
            furnished: (self.known & FURNISHED != 0).then_some(self.holds & FURNISHED != 0),
            rent_stabilized: (self.known & STABILIZED != 0).then_some(self.holds & STABILIZED != 0),
        }
    }
}

/// What the index itself knows of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct ListingView {
    /// Its key, by which the whole listing is loaded.
    pub key: ListingKey,
    /// For sale or for rent.
    pub listing_type: ListingType,
    /// Where it stands.
    pub status: ListingStatus,
    /// The kind of home.
    pub property_type: PropertyType,
    /// The price of a sale, the asking rent of a rental.
    pub price: Option<Dollars>,
    /// Rent with free months spread over the lease.
    pub net_effective_rent: Option<Dollars>,
    /// Bedrooms; 0 is a studio.
    pub bedrooms: Option<u32>,
    /// Bathrooms.
    pub bathrooms: Option<f64>,
    /// Square feet.
    pub living_area_sqft: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u32>,
    /// Tax lot.
    pub bbl: Option<Bbl>,
    /// Building.
    pub bin: Option<Bin>,
    /// Degrees north, to a metre or so.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// The day it was listed.
    pub listed_on: Option<Date>,
    /// Whether it is furnished.
    pub furnished: Option<bool>,
    /// Whether the rent is stabilised.
    pub rent_stabilized: Option<bool>,
}

/// A filter made ready: every bound a range over the columns.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    pub(crate) listing_type: ListingType,
    statuses: u16,
    kinds: u16,
    pub(crate) price: (u64, u64),
    bedrooms: (u8, u8),
    bathrooms: (f64, f64),
    area: (u32, u32),
    year: (u16, u16),
    days: u32,
    /// Which facts must be known.
    want: u8,
    /// What they must be.
    be: u8,
    open_house: Option<bool>,
    available: (i32, i32),
    today: i32,
}

/// A range over a column whose greatest value is "not known".
fn range<T: Copy + Ord>(min: Option<T>, max: Option<T>, zero: T, known: T, none: T) -> (T, T) {
    match (min, max) {
        (None, None) => (zero, none),
        (min, max) => (min.unwrap_or(zero), max.map_or(known, |max| max.min(known))),
    }
}

impl Ready {
    pub(crate) fn new(filter: &ListingFilter, today: Date) -> Self {
        let wanted = [
            (REDUCED, filter.price_reduced),
            (NEW, filter.new_construction),
            (NO_FEE, filter.no_fee),
            (PETS, filter.pets_allowed),
            (FURNISHED, filter.furnished),
        ];
        let (mut want, mut be) = (0, 0);
        for (bit, fact) in wanted {
            if let Some(fact) = fact {
                want |= bit;
                be |= if fact { bit } else { 0 };
            }
        }
        let byte = |value: Option<u32>| value.map(|value| u8::try_from(value).unwrap_or(NO_U8));
        let short = |value: Option<u32>| value.map(|value| u16::try_from(value).unwrap_or(NO_U16));
        let dollars = |value: Option<u64>| value.map(|value| value.saturating_mul(100));
        let available = filter.available;
        Self {
            listing_type: filter.listing_type,
            statuses: filter
                .status
                .iter()
                .fold(0, |all, one| all | 1 << *one as u16),
            kinds: match filter.property_types.as_slice() {
                [] => u16::MAX,
                some => some.iter().fold(0, |all, one| all | 1 << *one as u16),
            },
            price: range(
                dollars(filter.price.min),
                dollars(filter.price.max),
                0,
                NO_PRICE - 1,
                NO_PRICE,
            ),
            bedrooms: range(
                byte(filter.bedrooms.min),
                byte(filter.bedrooms.max),
                0,
                NO_U8 - 1,
                NO_U8,
            ),
            bathrooms: match (filter.bathrooms.min, filter.bathrooms.max) {
                (None, None) => (0.0, f64::from(NO_U8)),
                (min, max) => (
                    min.unwrap_or(0.0) * 2.0,
                    (max.unwrap_or(f64::MAX) * 2.0).min(f64::from(NO_U8 - 1)),
                ),
            },
            area: range(
                filter.living_area_sqft.min,
                filter.living_area_sqft.max,
                0,
                NO_U32 - 1,
                NO_U32,
            ),
            year: range(
                short(filter.year_built.min),
                short(filter.year_built.max),
                0,
                NO_U16 - 1,
                NO_U16,
            ),
            days: filter
                .max_days_on_market
                .map_or(NO_U32, |days| days.min(NO_U32 - 1)),
            want,
            be,
            open_house: filter.has_open_house,
            available: match (available.min, available.max) {
                (None, None) => (NO_DAY, i32::MAX),
                (min, max) => (
                    min.map_or(NO_DAY + 1, Date::to_julian_day),
                    max.map_or(i32::MAX, Date::to_julian_day),
                ),
            },
            today: today.to_julian_day(),
        }
    }

    pub(crate) const fn today(&self) -> i32 {
        self.today
    }

    /// Whether a listing is what is looked for. Cheap and selective conditions first.
    pub(crate) fn takes(&self, entry: &Entry) -> bool {
        entry.listing_type == self.listing_type
            && self.statuses & 1 << entry.status as u16 != 0
            && self.kinds & 1 << entry.kind as u16 != 0
            && (self.price.0..=self.price.1).contains(&entry.price)
            && (self.bedrooms.0..=self.bedrooms.1).contains(&entry.bedrooms)
            && (self.area.0..=self.area.1).contains(&entry.area)
            && (self.year.0..=self.year.1).contains(&entry.year)
            && entry.known & self.want == self.want
            && (entry.holds ^ self.be) & self.want == 0
            && (self.available.0..=self.available.1).contains(&entry.available)
            && (self.bathrooms.0..=self.bathrooms.1).contains(&f64::from(entry.bathrooms))
            && (self.days == NO_U32 || entry.days_on_market(self.today) <= self.days)
            && self
                .open_house
                .is_none_or(|wanted| (entry.open_house >= self.today) == wanted)
    }
}
