//! Streets and house numbers as the city's address files write them.

/// Words that stand for others, in what people type and in what the files print.
const WORDS: [(&str, &str); 44] = [
    ("ST", "STREET"),
    ("STR", "STREET"),
    ("AVE", "AVENUE"),
    ("AV", "AVENUE"),
    ("RD", "ROAD"),
    ("BLVD", "BOULEVARD"),
    ("DR", "DRIVE"),
    ("PL", "PLACE"),
    ("LN", "LANE"),
    ("CT", "COURT"),
    ("PKWY", "PARKWAY"),
    ("PKY", "PARKWAY"),
    ("SQ", "SQUARE"),
    ("PLZ", "PLAZA"),
    ("TER", "TERRACE"),
    ("EXPY", "EXPRESSWAY"),
    ("CRES", "CRESCENT"),
    ("HWY", "HIGHWAY"),
    ("E", "EAST"),
    ("W", "WEST"),
    ("N", "NORTH"),
    ("S", "SOUTH"),
    ("FIRST", "1"),
    ("SECOND", "2"),
    ("THIRD", "3"),
    ("FOURTH", "4"),
    ("FIFTH", "5"),
    ("SIXTH", "6"),
    ("SEVENTH", "7"),
    ("EIGHTH", "8"),
    ("NINTH", "9"),
    ("TENTH", "10"),
    ("ELEVENTH", "11"),
    ("TWELFTH", "12"),
    ("SAINT", "STREET"),
    ("BX", "BRONX"),
    ("BK", "BROOKLYN"),
    ("BKLYN", "BROOKLYN"),
    ("QNS", "QUEENS"),
    ("SI", "STATEN"),
    ("NYC", "MANHATTAN"),
    ("GAR", "GARAGE"),
    ("MT", "MOUNT"),
    ("BLDG", "BUILDING"),
];

/// The words of a text in one spelling: capitals, no points, `5TH` as `5`, `AVE` as `AVENUE`. Saint and street become one
/// word, since one abbreviation stands for both.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.to_uppercase()
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let ordinal = matches!(word.get(digits.len()..), Some("ST" | "ND" | "RD" | "TH"));
            let word = if ordinal && !digits.is_empty() {
                digits
            } else {
                word
            };
            let long = WORDS.iter().find(|(short, _)| *short == word);
            long.map_or(word, |(_, long)| long).to_owned()
        })
        .collect()
}

/// A suffix and its code in the sort format. Letters follow a rule of their own.
const SUFFIXES: [(&str, &str); 6] = [
    ("", "AA"),
    ("FRONT", "AB"),
    ("REAR", "AC"),
    ("1/2", "AH"),
    ("GARAGE", "BH"),
    ("AIR RGTS", "BF"),
];

/// A house number, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HouseNumber {
    pub(crate) left: u32,
    /// Behind the hyphen.
    pub(crate) right: Option<u32>,
    pub(crate) suffix: String,
}

impl HouseNumber {
    /// `350`, `46-12A`, `1279 GARAGE`; `None` for what begins with no number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (number, word) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let digits_end = number
            .find(|c: char| !c.is_ascii_digit() && c != '-')
            .unwrap_or(number.len());
        let (digits, letters) = number.split_at_checked(digits_end)?;
        let (left, right) = match digits.split_once('-') {
            Some((left, right)) => (left, Some(right.parse().ok()?)),
            None => (digits, None),
        };
        Some(Self {
            left: left.parse().ok()?,
            right,
            suffix: if word.is_empty() {
                letters.to_owned()
            } else {
                word.to_owned()
            },
        })
    }

    /// The number whose parity counts: the right one where there are two.
    pub(crate) fn last(&self) -> u32 {
        self.right.unwrap_or(self.left)
    }

    /// The sort format: a hyphen's flag, five digits, three digits, two letters for the suffix.
    pub(crate) fn sort_key(&self) -> String {
        format!(
            "{}{:05}{:03}{}",
            u8::from(self.right.is_some()),
            self.left,
            self.right.unwrap_or(0),
            suffix_code(&self.suffix)
        )
    }

    /// Whether a range holds this number: from low to high in steps of two, and in steps of one letter where both have one.
    pub(crate) fn is_between(&self, low: &Self, high: &Self) -> bool {
        if low == high || (low.left, low.right) == (high.left, high.right) {
            return (self.left, self.right) == (low.left, low.right)
                && low.suffix <= self.suffix
                && self.suffix <= high.suffix;
        }
        self.suffix.is_empty()
            && self.right.is_some() == low.right.is_some()
            && (low.left, low.right) <= (self.left, self.right)
            && (self.left, self.right) <= (high.left, high.right)
            && self.last() % 2 == low.last() % 2
    }
}

/// The code of a suffix: letters jump from MJ to NB and from NJ to OC.
fn suffix_code(suffix: &str) -> String {
    if let Some((_, code)) = SUFFIXES.iter().find(|(word, _)| *word == suffix) {
        return (*code).to_owned();
    }
    let mut bytes = suffix.bytes();
    match (bytes.next(), bytes.next()) {
        (Some(letter @ b'A'..=b'I'), None) => format!("M{}", char::from(letter + 1)),
        (Some(letter @ b'J'..=b'R'), None) => format!("N{}", char::from(letter - 8)),
        (Some(letter @ b'S'..=b'Z'), None) => format!("O{}", char::from(letter - 16)),
        _ => "AA".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sort_format_is_the_directory_s() {
        for (number, key) in [
            ("46-12A", "100046012MB"),
            ("280", "000280000AA"),
            ("12R", "000012000NJ"),
            ("1279 GARAGE", "001279000BH"),
            ("5S", "000005000OC"),
            ("103-12", "100103012AA"),
        ] {
            let parsed = HouseNumber::parse(number).expect(number);
            assert_eq!(parsed.sort_key(), key, "{number}");
        }
    }

    #[test]
    fn a_range_steps_by_two() {
        let number = |text| HouseNumber::parse(text).expect("a number");
        let (low, high) = (number("327"), number("337"));
        assert!(number("331").is_between(&low, &high));
        assert!(!number("330").is_between(&low, &high));
        assert!(!number("339").is_between(&low, &high));
        assert!(number("508B").is_between(&number("508A"), &number("508B")));
        assert!(!number("508C").is_between(&number("508A"), &number("508B")));
        assert!(!number("1279").is_between(&number("1279 GARAGE"), &number("1279 GARAGE")));
    }

    #[test]
    fn what_people_type_is_what_the_files_print() {
        assert_eq!(words("350 Fifth Ave."), words("350 5 AVENUE"));
        assert_eq!(words("327 W 100th St"), words("327 WEST 100 STREET"));
        assert_eq!(words("38 St Pauls Avenue"), words("38 SAINT PAULS AVENUE"));
    }
}
