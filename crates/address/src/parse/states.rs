//! The other states, by name and code.

use std::sync::LazyLock;

use crate::words::WordMap;

/// `New Jersey` of `NEW JERSEY`.
pub(super) fn title(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for word in name.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        let mut chars = word.chars();
        out.extend(chars.next());
        out.extend(chars.map(|c| c.to_ascii_lowercase()));
    }
    out
}

/// Whether a state's name ends in this word.
pub(super) fn ends_a_state(word: &str) -> bool {
    static LAST_WORDS: LazyLock<WordMap<()>> = LazyLock::new(|| {
        STATES
            .iter()
            .filter_map(|(name, _)| name.rsplit(' ').next())
            .map(|word| (word, ()))
            .collect()
    });
    LAST_WORDS.contains_key(word)
}

/// Codes that are no word of an address; the others (`CT`, `FL`, `LA`, ...) need a comma or a ZIP beside them.
pub(super) const UNMISTAKABLE: &[&str] = &[
    "NJ", "OH", "IL", "TX", "NH", "RI", "VT", "WI", "GA", "KY", "TN", "NV", "AZ", "UT", "DC",
];

/// Codes that mean something in the city even after a comma: Manhattan.
pub(super) const IN_THE_CITY: &[&str] = &["MN"];

/// Names and codes.
pub(super) const STATES: &[(&str, &str)] = &[
    ("ALABAMA", "AL"),
    ("ALASKA", "AK"),
    ("ARIZONA", "AZ"),
    ("ARKANSAS", "AR"),
    ("CALIFORNIA", "CA"),
    ("COLORADO", "CO"),
    ("CONNECTICUT", "CT"),
    ("DELAWARE", "DE"),
    ("DISTRICT OF COLUMBIA", "DC"),
    ("FLORIDA", "FL"),
    ("GEORGIA", "GA"),
    ("HAWAII", "HI"),
    ("IDAHO", "ID"),
    ("ILLINOIS", "IL"),
    ("INDIANA", "IN"),
    ("IOWA", "IA"),
    ("KANSAS", "KS"),
    ("KENTUCKY", "KY"),
    ("LOUISIANA", "LA"),
    ("MAINE", "ME"),
    ("MARYLAND", "MD"),
    ("MASSACHUSETTS", "MA"),
    ("MICHIGAN", "MI"),
    ("MINNESOTA", "MN"),
    ("MISSISSIPPI", "MS"),
    ("MISSOURI", "MO"),
    ("MONTANA", "MT"),
    ("NEBRASKA", "NE"),
    ("NEVADA", "NV"),
    ("NEW HAMPSHIRE", "NH"),
    ("NEW JERSEY", "NJ"),
    ("NEW MEXICO", "NM"),
    ("NORTH CAROLINA", "NC"),
    ("NORTH DAKOTA", "ND"),
    ("OHIO", "OH"),
    ("OKLAHOMA", "OK"),
    ("OREGON", "OR"),
    ("PENNSYLVANIA", "PA"),
    ("PUERTO RICO", "PR"),
    ("RHODE ISLAND", "RI"),
    ("SOUTH CAROLINA", "SC"),
    ("SOUTH DAKOTA", "SD"),
    ("TENNESSEE", "TN"),
    ("TEXAS", "TX"),
    ("UTAH", "UT"),
    ("VERMONT", "VT"),
    ("VIRGINIA", "VA"),
    ("WASHINGTON", "WA"),
    ("WEST VIRGINIA", "WV"),
    ("WISCONSIN", "WI"),
    ("WYOMING", "WY"),
];
