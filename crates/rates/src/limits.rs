//! The conforming limits: a dated table, from a file.

use std::collections::BTreeMap;

use brownstone_domain::{Borough, PropertyType, Zip};
use serde::Deserialize;

/// The table that is built in.
const BUILT_IN: &str = include_str!("../data/conforming-limits.toml");

/// A county of the city with its borough, in the order of the boroughs' digits.
const COUNTIES: [(Borough, &str); 5] = [
    (Borough::Manhattan, "New York"),
    (Borough::Bronx, "Bronx"),
    (Borough::Brooklyn, "Kings"),
    (Borough::Queens, "Queens"),
    (Borough::StatenIsland, "Richmond"),
];

/// Which borough the post office's three-digit areas belong to, and Central Park's own ZIP. Of 110 only some ZIPs are the city's.
const ZIP_AREAS: [(&str, Borough); 10] = [
    ("00083", Borough::Manhattan),
    ("100", Borough::Manhattan),
    ("101", Borough::Manhattan),
    ("102", Borough::Manhattan),
    ("103", Borough::StatenIsland),
    ("104", Borough::Bronx),
    ("111", Borough::Queens),
    ("112", Borough::Brooklyn),
    ("113", Borough::Queens),
    ("114", Borough::Queens),
];

/// ZIPs of the city outside those areas: the Rockaways, and Queens along the county line, some of it mostly the next county's.
const OTHER_ZIPS: [&str; 13] = [
    "11001", "11003", "11004", "11005", "11040", "11096", "11690", "11691", "11692", "11693",
    "11694", "11695", "11697",
];

/// A table of limits that cannot be used. The text is for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// No TOML, or not of the table's form.
    #[error("the table of conforming limits cannot be read: {0}")]
    Form(String),
    /// No year in it.
    #[error("the table of conforming limits has no [[year]]")]
    Empty,
    /// A year stands twice.
    #[error("the table of conforming limits has the year {0} twice")]
    Twice(i32),
    /// A county of the city is missing, or one is not the city's.
    #[error(
        "the conforming limits of {year} must name New York, Bronx, Kings, Queens and Richmond; got {got}"
    )]
    Counties {
        /// The year.
        year: i32,
        /// The counties that are there.
        got: String,
    },
    /// Limits that do not rise with the number of homes, or are none.
    #[error(
        "the conforming limits of {county} in {year} must be four rising amounts, for one to four homes"
    )]
    Amounts {
        /// The year.
        year: i32,
        /// The county.
        county: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    year: Vec<YearRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct YearRow {
    year: i32,
    counties: BTreeMap<String, [i64; 4]>,
}

/// Limits in US dollars for one to four homes.
type Amounts = [i64; 4];

/// The conforming limits of the city's counties, by year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformingLimits {
    /// Amounts of each borough, by year.
    years: BTreeMap<i32, [Amounts; 5]>,
}

/// A limit, and what it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// US dollars.
    pub amount: i64,
    /// The year it was published for.
    pub year: i32,
}

impl ConformingLimits {
    /// The table that is built in.
    ///
    /// # Errors
    /// Never, as a test shows.
    pub fn built_in() -> Result<Self, LimitsError> {
        Self::parse(BUILT_IN)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`LimitsError`]: what to change.
    pub fn parse(text: &str) -> Result<Self, LimitsError> {
        let file: File =
            toml::from_str(text).map_err(|error| LimitsError::Form(error.message().to_owned()))?;
        let mut years = BTreeMap::new();
        for row in file.year {
            let year = row.year;
            let mut boroughs = [[0; 4]; 5];
            for (slot, (_, county)) in boroughs.iter_mut().zip(COUNTIES) {
                let amounts = row.counties.get(county).filter(|_| row.counties.len() == 5);
                *slot = *amounts.ok_or_else(|| LimitsError::Counties {
                    year,
                    got: row.counties.keys().cloned().collect::<Vec<_>>().join(", "),
                })?;
                let rising = slot.is_sorted_by(|one, more| one < more);
                if !rising || slot.iter().any(|amount| *amount <= 0) {
                    let county = county.to_owned();
                    return Err(LimitsError::Amounts { year, county });
                }
            }
            if years.insert(year, boroughs).is_some() {
                return Err(LimitsError::Twice(year));
            }
        }
        if years.is_empty() {
            return Err(LimitsError::Empty);
        }
        Ok(Self { years })
    }

    /// The limit in a year, for a kind of home, in the borough of `zip`; without a ZIP the city's lowest. A year that is not
    /// listed has the limits of the last one before it, the years before the first one its own.
    pub fn limit(&self, year: i32, home: Option<PropertyType>, zip: Option<Zip>) -> Limit {
        let listed = self.years.range(..=year).next_back();
        let Some((year, boroughs)) = listed.or_else(|| self.years.first_key_value()) else {
            // `parse` lets no empty table through.
            return Limit { amount: 0, year };
        };
        let homes = homes(home);
        let amounts = COUNTIES.iter().zip(boroughs);
        let borough = zip.and_then(borough_of);
        let amount = amounts
            .filter(|((here, _), _)| borough.is_none_or(|borough| borough == *here))
            .filter_map(|(_, amounts)| amounts.get(homes - 1).copied())
            .min()
            .unwrap_or(0);
        Limit {
            amount,
            year: *year,
        }
    }
}

/// How many homes the limit counts for a kind of home, 1 to 4.
pub const fn homes(home: Option<PropertyType>) -> usize {
    match home {
        Some(PropertyType::TwoFamily) => 2,
        Some(PropertyType::ThreeFamily) => 3,
        Some(PropertyType::MultiFamily) => 4,
        _ => 1,
    }
}

/// The borough of a ZIP; `None` for one outside the city.
///
/// ```
/// use brownstone_domain::Borough;
/// use brownstone_rates::limits::borough_of;
/// assert_eq!(borough_of("11201".parse().unwrap()), Some(Borough::Brooklyn));
/// assert_eq!(borough_of("11694".parse().unwrap()), Some(Borough::Queens));
/// assert_eq!(borough_of("07030".parse().unwrap()), None);
/// ```
pub fn borough_of(zip: Zip) -> Option<Borough> {
    let text = zip.to_string();
    let area = ZIP_AREAS.iter().find(|(area, _)| text.starts_with(area));
    match area {
        Some((_, borough)) => Some(*borough),
        None => OTHER_ZIPS
            .contains(&text.as_str())
            .then_some(Borough::Queens),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn built_in() -> ConformingLimits {
        ConformingLimits::built_in().unwrap()
    }

    #[test]
    fn the_ceiling_is_one_and_a_half_baselines() {
        // Baselines as published: 2024, 2025, 2026.
        for (year, baseline) in [(2024, 766_550), (2025, 806_500), (2026, 832_750)] {
            let limit = built_in().limit(year, None, None);
            assert_eq!((limit.amount, limit.year), (baseline * 3 / 2, year));
        }
    }

    #[rstest]
    #[case(None, 1_249_125)]
    #[case(Some(PropertyType::Condo), 1_249_125)]
    #[case(Some(PropertyType::Coop), 1_249_125)]
    #[case(Some(PropertyType::TwoFamily), 1_599_375)]
    #[case(Some(PropertyType::ThreeFamily), 1_933_200)]
    #[case(Some(PropertyType::MultiFamily), 2_402_625)]
    fn homes_raise_the_limit(#[case] home: Option<PropertyType>, #[case] amount: i64) {
        assert_eq!(built_in().limit(2026, home, None).amount, amount);
    }

    #[test]
    fn a_year_not_listed_yet_has_the_last_one_and_says_so() {
        let limit = built_in().limit(2031, None, None);
        assert_eq!(limit.year, 2026);
        assert_eq!(built_in().limit(1999, None, None).year, 2024);
    }

    #[test]
    fn the_county_decides_where_the_table_tells_counties_apart() {
        let table = r#"
            [[year]]
            year = 2026
            [year.counties]
            "New York" = [10, 20, 30, 40]
            "Bronx" = [5, 20, 30, 40]
            "Kings" = [7, 20, 30, 40]
            "Queens" = [8, 20, 30, 40]
            "Richmond" = [9, 20, 30, 40]
        "#;
        let limits = ConformingLimits::parse(table).unwrap();
        let amount = |zip: Option<&str>| {
            limits
                .limit(2026, None, zip.map(|zip| zip.parse().unwrap()))
                .amount
        };
        assert_eq!(
            [
                Some("10001"),
                Some("10451"),
                Some("11201"),
                Some("11691"),
                Some("10301"),
                None
            ]
            .map(amount),
            [10, 5, 7, 8, 9, 5]
        );
    }

    #[test]
    fn the_rockaways_are_in_queens_their_post_office_boxes_too() {
        for zip in [
            "11690", "11691", "11692", "11693", "11694", "11695", "11697",
        ] {
            let borough = borough_of(zip.parse().unwrap());
            assert_eq!(borough, Some(Borough::Queens), "{zip}");
        }
        // Cedarhurst, in the next county, and one that nobody has.
        assert_eq!(borough_of("11516".parse().unwrap()), None);
        assert_eq!(borough_of("11696".parse().unwrap()), None);
    }

    #[rstest]
    #[case("", LimitsError::Empty)]
    #[case(
        "[[year]]\nyear = 2026\n[year.counties]\nKings = [1, 2, 3, 4]",
        LimitsError::Counties { year: 2026, got: "Kings".into() }
    )]
    fn a_table_that_cannot_be_used_says_why(#[case] text: &str, #[case] wanted: LimitsError) {
        assert_eq!(ConformingLimits::parse(text).unwrap_err(), wanted);
    }

    #[test]
    fn typing_errors_in_a_table_are_found() {
        let falling = BUILT_IN.replace("[1249125, 1599375", "[1599375, 1249125");
        assert!(matches!(
            ConformingLimits::parse(&falling),
            Err(LimitsError::Amounts { year: 2026, .. })
        ));
        let twice = BUILT_IN.replace("year = 2025", "year = 2026");
        assert_eq!(
            ConformingLimits::parse(&twice),
            Err(LimitsError::Twice(2026))
        );
        let renamed = BUILT_IN.replace("\"Kings\"", "\"Brooklyn\"");
        assert!(matches!(
            ConformingLimits::parse(&renamed),
            Err(LimitsError::Counties { .. })
        ));
        let form = ConformingLimits::parse("year = 5");
        assert!(matches!(form, Err(LimitsError::Form(_))));
    }
}
