//! A listing as it is kept: the contract's fields and what only the index needs.

use std::{fmt, str::FromStr};

use brownstone_domain::{Listing, ListingType, PropertyType};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Our own name of a listing: 64 bits of a hash over the feed, the listing type and the feed's identifier.
///
/// Written as 16 hexadecimal digits, so that texts sort as the numbers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListingKey(pub u64);

impl ListingKey {
    /// The key of a feed's listing.
    ///
    /// ```
    /// use brownstone_domain::ListingType;
    /// use brownstone_listings::ListingKey;
    /// let key = ListingKey::of("reso", ListingType::Sale, "RX-1");
    /// assert_eq!(key.to_string().parse(), Ok(key));
    /// assert_ne!(key, ListingKey::of("reso", ListingType::Rental, "RX-1"));
    /// ```
    pub fn of(feed: &str, listing_type: ListingType, id: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [feed, listing_type.as_str(), id] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let mut first = [0_u8; 8];
        for (to, from) in first.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        Self(u64::from_be_bytes(first))
    }
}

impl fmt::Display for ListingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Text that is no listing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a listing key is 16 hexadecimal digits")]
pub struct NotAKey;

impl FromStr for ListingKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NotAKey);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| NotAKey)
    }
}

/// What may be shown of a listing, by the word of who offers the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// All of it.
    #[default]
    Whole,
    /// All but where it is; see [`conceal`].
    WithoutAddress,
    /// Nothing: such a row tells whose listing to drop, and nothing else.
    Withheld,
}

/// Takes away everything that tells where a listing is more closely than its ZIP does: the address and its parts, the lot,
/// the building, the place, and the link, which often spells the address out.
pub fn conceal(listing: &mut Listing) {
    listing.address = None;
    listing.house_number = None;
    listing.street = None;
    listing.unit = None;
    listing.bbl = None;
    listing.bin = None;
    listing.latitude = None;
    listing.longitude = None;
    listing.listing_url = None;
}

/// A listing with what the contract does not show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The contract's fields. `days_on_market` is what the feed said; answers compute it anew.
    pub listing: Listing,
    /// Whether the home is newly built; `None` where the feed does not say.
    pub new_construction: Option<bool>,
    /// What of it may be shown. What may not is not in `listing` either.
    #[serde(default)]
    pub display: Display,
}

impl Row {
    /// The listing's key.
    pub fn key(&self) -> ListingKey {
        // A row that this crate made always has one; any other text still gets a stable key.
        self.listing.listing_key.parse().unwrap_or_else(|_| {
            ListingKey::of("", self.listing.listing_type, &self.listing.listing_key)
        })
    }

    /// What tells this home from others, over listings and identifiers: listing type, building and unit. `None` where that
    /// is not known: an apartment without its number could be any in the building.
    pub fn home(&self) -> Option<String> {
        let listing = &self.listing;
        let unit = listing.unit.as_deref().map(fold_unit).unwrap_or_default();
        if unit.is_empty() && !is_whole_building(listing) {
            return None;
        }
        Some(format!("{}|{}|{unit}", listing.listing_type, self.place()?))
    }

    /// What tells this offer from others in one scan: the home, or, where that is not known, everything it says.
    pub(crate) fn offer(&self) -> Option<String> {
        if let Some(home) = self.home() {
            return Some(home);
        }
        let listing = &self.listing;
        let price = listing.price()?;
        let size = (
            listing.bedrooms?,
            listing.bathrooms?,
            listing.floor,
            listing.living_area_sqft,
        );
        Some(format!(
            "{}|{}|?{price}|{}|{size:?}",
            listing.listing_type,
            self.place()?,
            listing.property_type
        ))
    }

    /// The building: by its number, its lot, or its address as published.
    fn place(&self) -> Option<String> {
        let listing = &self.listing;
        // A lot can have several houses; its number tells them apart only with the address.
        if let Some(bin) = listing.bin {
            return Some(bin.to_string());
        }
        let fold = |text: &str| -> String {
            text.split_whitespace()
                .map(str::to_uppercase)
                .collect::<Vec<_>>()
                .join(" ")
        };
        match (&listing.house_number, &listing.street, listing.zip_code) {
            (Some(number), Some(street), Some(zip)) => {
                Some(format!("{} {} {zip}", fold(number), fold(street)))
            }
            _ => None,
        }
    }
}

/// Whether a building is offered, and not an apartment in one. For rent that is a house for one family alone: of a building
/// with more homes one is let, and there may be others.
const fn is_whole_building(listing: &Listing) -> bool {
    match listing.listing_type {
        ListingType::Sale => listing.property_type.is_whole_building(),
        ListingType::Rental => matches!(
            listing.property_type,
            PropertyType::SingleFamily | PropertyType::Townhouse
        ),
    }
}

/// A unit as it is compared: `Apt. 4-C`, `#4C` and `4c` are one.
fn fold_unit(unit: &str) -> String {
    const NOISE: [&str; 6] = ["APARTMENT", "APT", "UNIT", "SUITE", "STE", "NO"];
    let upper = unit.to_uppercase();
    let words = upper
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !NOISE.contains(word));
    let joined: String = words.collect();
    // `APT4C`, without a blank.
    let bare = NOISE.iter().find_map(|noise| {
        joined
            .strip_prefix(noise)
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    bare.map_or(joined.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::row;

    #[test]
    fn a_unit_is_one_however_it_is_written() {
        for unit in ["4C", "4c", "#4C", "Apt. 4-C", "APT4C", "Unit 4 C", "No. 4C"] {
            assert_eq!(fold_unit(unit), "4C", "{unit}");
        }
        assert_eq!(fold_unit("PH-A"), "PHA");
        assert_eq!(fold_unit("  "), "");
    }

    #[test]
    fn a_home_is_a_building_and_a_unit() {
        let one = row(1);
        let mut other = row(2);
        other.listing.bin = one.listing.bin;
        other.listing.unit = Some(format!("Apt {}", one.listing.unit.clone().unwrap()));
        assert_eq!(one.home(), other.home());
        other.listing.listing_type = ListingType::Rental;
        assert_ne!(one.home(), other.home());
        other.listing.unit = None;
        assert_eq!(other.home(), None);
        other.listing.property_type = PropertyType::SingleFamily;
        assert!(other.home().is_some());
    }

    #[test]
    fn a_rental_in_a_building_of_several_homes_is_one_of_them() {
        use PropertyType::{
            Land, MixedUse, MultiFamily, SingleFamily, ThreeFamily, Townhouse, TwoFamily,
        };
        let mut of = row(1);
        of.listing.unit = None;
        for kind in PropertyType::ALL.iter().copied() {
            of.listing.property_type = kind;
            of.listing.listing_type = ListingType::Rental;
            let let_whole = matches!(kind, SingleFamily | Townhouse);
            assert_eq!(of.home().is_some(), let_whole, "{kind}");
            of.listing.listing_type = ListingType::Sale;
            let sold_whole = let_whole
                || matches!(
                    kind,
                    TwoFamily | ThreeFamily | MultiFamily | MixedUse | Land
                );
            assert_eq!(of.home().is_some(), sold_whole, "{kind}");
        }
    }
}
