//! The words of feeds, each with what it means here. A word that is not in its table is `other`, and kept as it came.
//!
//! Feeds write an enumeration's value with or without blanks (`Active Under Contract`, `ActiveUnderContract`), so words are
//! compared by their letters and digits alone.

use brownstone_domain::{ListingStatus, ListingType, PropertyType};

use crate::clean::Rate;

/// A word as it is compared.
fn fold(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn look<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    let word = fold(word);
    table
        .iter()
        .find(|(known, _)| fold(known) == word)
        .map(|(_, meaning)| *meaning)
}

/// `StandardStatus` of the RESO Data Dictionary, and RentCast's two.
pub(crate) const STATUS: &[(&str, ListingStatus)] = &[
    ("Active", ListingStatus::Active),
    ("Active Under Contract", ListingStatus::ActiveUnderContract),
    ("Canceled", ListingStatus::Canceled),
    ("Cancelled", ListingStatus::Canceled),
    ("Closed", ListingStatus::Closed),
    ("Coming Soon", ListingStatus::ComingSoon),
    ("Delete", ListingStatus::OffMarket),
    ("Expired", ListingStatus::Expired),
    ("Hold", ListingStatus::Hold),
    ("Incomplete", ListingStatus::Other),
    ("Pending", ListingStatus::Pending),
    ("Withdrawn", ListingStatus::Withdrawn),
    ("Inactive", ListingStatus::OffMarket),
];

/// `PropertyType` of the Data Dictionary: what is offered.
pub(crate) const OFFER: &[(&str, ListingType)] = &[
    ("Residential", ListingType::Sale),
    ("Residential Income", ListingType::Sale),
    ("Residential Lease", ListingType::Rental),
    ("Land", ListingType::Sale),
    ("Farm", ListingType::Sale),
    ("Manufactured In Park", ListingType::Sale),
    ("Commercial Sale", ListingType::Sale),
    ("Commercial Lease", ListingType::Rental),
    ("Business Opportunity", ListingType::Sale),
];

/// `PropertySubType` of the Data Dictionary, RentCast's `propertyType`, and what the city's brokers write.
pub(crate) const KIND: &[(&str, PropertyType)] = &[
    ("Condominium", PropertyType::Condo),
    ("Condo", PropertyType::Condo),
    ("Stock Cooperative", PropertyType::Coop),
    ("Cooperative", PropertyType::Coop),
    ("Co-op", PropertyType::Coop),
    ("Own Your Own", PropertyType::Coop),
    ("Condop", PropertyType::Condop),
    ("Single Family Residence", PropertyType::SingleFamily),
    ("Single Family", PropertyType::SingleFamily),
    ("House", PropertyType::SingleFamily),
    ("Duplex", PropertyType::TwoFamily),
    ("Two Family", PropertyType::TwoFamily),
    ("2 Family", PropertyType::TwoFamily),
    ("Triplex", PropertyType::ThreeFamily),
    ("Three Family", PropertyType::ThreeFamily),
    ("3 Family", PropertyType::ThreeFamily),
    ("Quadruplex", PropertyType::MultiFamily),
    ("Multi Family", PropertyType::MultiFamily),
    ("Residential Income", PropertyType::MultiFamily),
    ("Townhouse", PropertyType::Townhouse),
    ("Mixed Use", PropertyType::MixedUse),
    ("Land", PropertyType::Land),
    ("Unimproved Land", PropertyType::Land),
    ("Agriculture", PropertyType::Land),
    ("Ranch", PropertyType::Land),
    ("Apartment", PropertyType::Other),
    ("Loft", PropertyType::Other),
    ("Cabin", PropertyType::Other),
    ("Boat Slip", PropertyType::Other),
    ("Deeded Parking", PropertyType::Other),
    ("Timeshare", PropertyType::Other),
    ("Manufactured Home", PropertyType::Other),
    ("Manufactured On Land", PropertyType::Other),
    ("Mobile Home", PropertyType::Other),
    ("Manufactured", PropertyType::Other),
];

/// `FeeFrequency`: how many in a month. `None` for what does not recur.
pub(crate) const FREQUENCY: &[(&str, Option<Rate>)] = &[
    ("Annually", Some(Rate::ANNUALLY)),
    ("Semi-Annually", Some(Rate(1, 6))),
    ("Quarterly", Some(Rate(1, 3))),
    ("Bi-Monthly", Some(Rate(1, 2))),
    ("Monthly", Some(Rate::MONTHLY)),
    ("Semi-Monthly", Some(Rate(2, 1))),
    ("Bi-Weekly", Some(Rate(26, 12))),
    ("Weekly", Some(Rate(52, 12))),
    ("Daily", Some(Rate(365, 12))),
    ("One Time", None),
    ("Seasonal", None),
];

/// `AreaUnits` and `LotSizeUnits`: square feet in one.
pub(crate) const AREA_UNITS: &[(&str, f64)] = &[
    ("Square Feet", 1.0),
    ("Sq Ft", 1.0),
    ("Square Meters", 10.763_910_416_7),
    ("Acres", 43_560.0),
    ("Hectares", 107_639.104_167),
];

/// `Furnished`. Partly is neither.
pub(crate) const FURNISHED: &[(&str, Option<bool>)] = &[
    ("Furnished", Some(true)),
    ("Turn Key", Some(true)),
    ("Unfurnished", Some(false)),
    ("Negotiable", None),
    ("Partially", None),
];

/// `PetsAllowed`, of which a listing may have several. `None` for what depends.
pub(crate) const PETS: &[(&str, Option<bool>)] = &[
    ("Yes", Some(true)),
    ("Cats OK", Some(true)),
    ("Dogs OK", Some(true)),
    ("Breed Restrictions", Some(true)),
    ("Number Limit", Some(true)),
    ("Size Limit", Some(true)),
    ("No", Some(false)),
    ("Building Yes", Some(true)),
    ("Building No", Some(false)),
    ("Call", None),
];

/// `LeaseTerm` in months. `None` for what is not a number of them.
pub(crate) const LEASE_TERM: &[(&str, Option<u32>)] = &[
    ("12 Months", Some(12)),
    ("24 Months", Some(24)),
    ("6 Months", Some(6)),
    ("18 Months", Some(18)),
    ("One Year", Some(12)),
    ("Two Years", Some(24)),
    ("Month To Month", Some(1)),
    ("Weekly", None),
    ("Short Term Lease", None),
    ("Negotiable", None),
    ("Renewal Option", None),
    ("None", None),
];

pub(crate) fn status(word: Option<&str>) -> ListingStatus {
    word.and_then(|word| look(STATUS, word))
        .unwrap_or(ListingStatus::Other)
}

/// Sale unless the word says otherwise.
pub(crate) fn offer(word: Option<&str>) -> ListingType {
    word.and_then(|word| look(OFFER, word))
        .unwrap_or(ListingType::Sale)
}

pub(crate) fn kind(word: Option<&str>) -> PropertyType {
    word.and_then(|word| look(KIND, word))
        .unwrap_or(PropertyType::Other)
}

/// How many of a charge there are in a month; a feed that does not say means each month. `None` where it does not recur, or
/// the word is not known.
pub(crate) fn frequency(word: Option<&str>) -> Option<Rate> {
    match word {
        None => Some(Rate::MONTHLY),
        Some(word) => look(FREQUENCY, word).flatten(),
    }
}

/// Square feet in a unit; a feed that does not say means square feet. `None` for a unit that is not known.
pub(crate) fn area_unit(word: Option<&str>) -> Option<f64> {
    match word {
        None => Some(1.0),
        Some(word) => look(AREA_UNITS, word),
    }
}

pub(crate) fn furnished(word: Option<&str>) -> Option<bool> {
    look(FURNISHED, word?).flatten()
}

/// Pets, of one or several words with commas: `No` counts only where nothing allows them.
pub(crate) fn pets(words: Option<&str>) -> Option<bool> {
    let said: Vec<bool> = words?
        .split(',')
        .filter_map(|word| look(PETS, word).flatten())
        .collect();
    if said.is_empty() {
        return None;
    }
    Some(said.contains(&true))
}

/// A lease's months: by a word, or a bare number of months.
pub(crate) fn lease_term(word: Option<&str>) -> Option<u32> {
    let word = word?;
    look(LEASE_TERM, word).flatten().or_else(|| {
        let months: u32 = word.trim().parse().ok()?;
        (1..=120).contains(&months).then_some(months)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value of a table is found as it stands there, without its blanks, and in capitals; no two stand for one word.
    fn every<T: Copy + PartialEq + std::fmt::Debug>(table: &[(&str, T)]) {
        let mut seen = std::collections::BTreeSet::new();
        for (word, meaning) in table {
            assert!(seen.insert(fold(word)), "{word} is there twice");
            for text in [
                (*word).to_owned(),
                word.replace([' ', '-'], ""),
                word.to_uppercase(),
            ] {
                assert_eq!(look(table, &text), Some(*meaning), "{text}");
            }
        }
        assert_eq!(look(table, "A word nobody uses"), None);
    }

    #[test]
    fn every_word_is_found_however_it_is_written() {
        every(STATUS);
        every(OFFER);
        every(KIND);
        every(FREQUENCY);
        every(AREA_UNITS);
        every(FURNISHED);
        every(PETS);
        every(LEASE_TERM);
    }

    #[test]
    fn every_status_of_the_data_dictionary_means_something() {
        for (word, meaning) in [
            ("Active", ListingStatus::Active),
            ("ActiveUnderContract", ListingStatus::ActiveUnderContract),
            ("Canceled", ListingStatus::Canceled),
            ("Closed", ListingStatus::Closed),
            ("ComingSoon", ListingStatus::ComingSoon),
            ("Delete", ListingStatus::OffMarket),
            ("Expired", ListingStatus::Expired),
            ("Hold", ListingStatus::Hold),
            ("Incomplete", ListingStatus::Other),
            ("Pending", ListingStatus::Pending),
            ("Withdrawn", ListingStatus::Withdrawn),
            ("Sold Subject To Board", ListingStatus::Other),
        ] {
            assert_eq!(status(Some(word)), meaning, "{word}");
        }
        assert_eq!(status(None), ListingStatus::Other);
    }

    #[test]
    fn what_is_not_said_has_its_usual_meaning_and_what_is_not_known_has_none() {
        assert_eq!(frequency(None), Some(Rate::MONTHLY));
        assert_eq!(frequency(Some("Every Full Moon")), None);
        assert_eq!(frequency(Some("One Time")), None);
        assert_eq!(area_unit(None), Some(1.0));
        assert_eq!(area_unit(Some("Tatami")), None);
        assert_eq!(kind(Some("Houseboat")), PropertyType::Other);
        assert_eq!(offer(Some("ResidentialLease")), ListingType::Rental);
        assert_eq!(pets(Some("No, Cats OK")), Some(true));
        assert_eq!(pets(Some("No")), Some(false));
        assert_eq!(pets(Some("Call")), None);
        assert_eq!(lease_term(Some("12")), Some(12));
        assert_eq!(furnished(Some("Partially")), None);
    }
}
