//! A building's address as brokers write it: `350 5 AVENUE` is `350 5th Avenue`, or `350 5th Ave`.

use crate::buildings::Building;

/// Words that brokers shorten.
const SHORT: [(&str, &str); 9] = [
    ("Avenue", "Ave"),
    ("Street", "St"),
    ("Boulevard", "Blvd"),
    ("Place", "Pl"),
    ("Drive", "Dr"),
    ("Road", "Rd"),
    ("Parkway", "Pkwy"),
    ("East", "E"),
    ("West", "W"),
];

/// The street, in full or shortened.
pub(super) fn street(published: &str, short: bool) -> String {
    let words: Vec<&str> = published.split_whitespace().collect();
    let written: Vec<String> = (words.iter().enumerate())
        .map(|(at, word)| {
            let number = word.bytes().all(|byte| byte.is_ascii_digit());
            // `WEST 42 STREET`, but `PIER 90`.
            if number && at + 1 < words.len() {
                return ordinal(word);
            }
            let word = title(word);
            let shorter = SHORT.iter().find(|(long, _)| short && *long == word);
            shorter.map_or(word.clone(), |(_, short)| (*short).to_owned())
        })
        .collect();
    written.join(" ")
}

fn ordinal(number: &str) -> String {
    let end = match number.as_bytes() {
        [.., b'1', _] => "th",
        [.., b'1'] => "st",
        [.., b'2'] => "nd",
        [.., b'3'] => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

fn title(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => format!("{first}{}", chars.as_str().to_lowercase()),
        None => String::new(),
    }
}

/// Post offices of Queens by ZIP code; elsewhere the city is the borough's.
const QUEENS: [(&str, &str); 28] = [
    ("11101", "Long Island City"),
    ("11104", "Sunnyside"),
    ("11105", "Astoria"),
    ("11354", "Flushing"),
    ("11356", "College Point"),
    ("11358", "Flushing"),
    ("11363", "Little Neck"),
    ("11365", "Fresh Meadows"),
    ("11368", "Corona"),
    ("11372", "Jackson Heights"),
    ("11373", "Elmhurst"),
    ("11374", "Rego Park"),
    ("11375", "Forest Hills"),
    ("11385", "Ridgewood"),
    ("11413", "Springfield Gardens"),
    ("11414", "Howard Beach"),
    ("11415", "Kew Gardens"),
    ("11417", "Ozone Park"),
    ("11418", "Richmond Hill"),
    ("11420", "South Ozone Park"),
    ("11422", "Rosedale"),
    ("11432", "Jamaica"),
    ("11433", "Jamaica"),
    ("11434", "Jamaica"),
    ("11691", "Far Rockaway"),
    ("11692", "Arverne"),
    ("11693", "Far Rockaway"),
    ("11694", "Rockaway Park"),
];

/// The city of the postal address, and the county.
pub(super) fn city(building: &Building) -> (&'static str, &'static str) {
    match building.borough().digit() {
        1 => ("New York", "New York"),
        2 => ("Bronx", "Bronx"),
        3 => ("Brooklyn", "Kings"),
        4 => {
            let office = QUEENS.iter().find(|(zip, _)| *zip == building.zip);
            (office.map_or("Queens", |(_, office)| office), "Queens")
        }
        _ => ("Staten Island", "Richmond"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buildings::buildings;

    #[test]
    fn streets_are_written_as_brokers_write_them() {
        for (published, long, short) in [
            ("5 AVENUE", "5th Avenue", "5th Ave"),
            ("WEST 42 STREET", "West 42nd Street", "W 42nd St"),
            ("EAST 111 STREET", "East 111th Street", "E 111th St"),
            ("EAST 33 STREET", "East 33rd Street", "E 33rd St"),
            ("EAST 101 STREET", "East 101st Street", "E 101st St"),
            ("PENN PLAZA", "Penn Plaza", "Penn Plaza"),
        ] {
            assert_eq!(street(published, false), long);
            assert_eq!(street(published, true), short);
        }
    }

    #[test]
    fn every_building_has_a_post_office() {
        for building in buildings() {
            assert_ne!(city(building).0, "Queens", "{}", building.zip);
        }
    }
}
