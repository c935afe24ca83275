//! A unit's designation as a place in its building: which floor, and which line of apartments above each other.

use crate::clean::fold;

/// Where a unit is in its building, as far as its designation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitPlace {
    /// The designation itself, folded to letters and digits; 0 when there is none.
    pub key: u64,
    /// Floor: 12 of `12C`, 5 of `507`.
    pub floor: Option<u8>,
    /// The line: equal numbers are apartments above each other (`4C`, `5C`, `6C`); 0 when it is not known.
    pub line: u64,
    /// A penthouse.
    pub penthouse: bool,
}

/// No building of the city has more floors than this that anybody sleeps on.
const MOST_FLOORS: u32 = 110;

impl UnitPlace {
    /// Reads a designation as published: `12C`, `507`, `PH2`, `C`.
    ///
    /// ```
    /// use brownstone_valuation::estimate::UnitPlace;
    /// let (low, high) = (UnitPlace::read("4C"), UnitPlace::read("12-C"));
    /// assert_eq!((low.floor, high.floor), (Some(4), Some(12)));
    /// assert_eq!(low.line, high.line);
    /// assert_eq!(UnitPlace::read("507").floor, Some(5));
    /// ```
    pub fn read(text: &str) -> Self {
        let text: Vec<u8> = text
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|b| b.to_ascii_uppercase())
            .collect();
        let text = text.as_slice();
        let whole = text
            .iter()
            .position(|b| *b != b'0')
            .and_then(|at| text.get(at..))
            .unwrap_or_default();
        if whole.is_empty() || whole == b"NA" {
            return Self::default();
        }
        let key = fold(whole.iter().copied()).max(1);
        if let Some(rest) = text.strip_prefix(b"PH") {
            return Self {
                key,
                floor: None,
                line: line(b'p', rest),
                penthouse: true,
            };
        }
        let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
        let (head, tail) = text.split_at(digits);
        let (floor, line) = match (head, tail) {
            ([], letters) => {
                let ends = letters.iter().take_while(|b| !b.is_ascii_digit()).count();
                let (letters, number) = letters.split_at(ends);
                (floor_of(number), line(b'l', letters))
            }
            ([first, second], []) => (floor_of(&[*first]), line(b'n', &[b'0', *second])),
            ([_], []) => (floor_of(head), 0),
            (number @ [.., tens, ones], []) => (
                floor_of(number.get(..number.len() - 2).unwrap_or_default()),
                line(b'n', &[*tens, *ones]),
            ),
            (number, letters) => (floor_of(number), line(b'l', letters)),
        };
        Self {
            key,
            floor,
            line,
            penthouse: false,
        }
    }
}

fn line(sort: u8, text: &[u8]) -> u64 {
    fold(std::iter::once(sort).chain(text.iter().copied())).max(1)
}

fn floor_of(digits: &[u8]) -> Option<u8> {
    let number: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    // `1203B` is 3B of floor 12.
    let floor = if number > MOST_FLOORS {
        number / 100
    } else {
        number
    };
    (1..=MOST_FLOORS)
        .contains(&floor)
        .then(|| u8::try_from(floor).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn floors_and_lines() {
        let rows = [
            ("4C", Some(4)),
            ("12C", Some(12)),
            ("5-B", Some(5)),
            ("507", Some(5)),
            ("1204", Some(12)),
            ("5008", Some(50)),
            ("C12", Some(12)),
            ("PH1", None),
            ("C", None),
            ("2", Some(2)),
            ("", None),
            ("N/A", None),
        ];
        for (text, floor) in rows {
            assert_eq!(UnitPlace::read(text).floor, floor, "{text}");
        }
        assert_eq!(UnitPlace::read("4C").line, UnitPlace::read("15C").line);
        assert_eq!(UnitPlace::read("507").line, UnitPlace::read("1207").line);
        assert_ne!(UnitPlace::read("507").line, UnitPlace::read("508").line);
        assert_eq!(UnitPlace::read("04C").key, UnitPlace::read("4-c").key);
        assert!(UnitPlace::read("PH2A").penthouse);
        assert_eq!(UnitPlace::read("N/A"), UnitPlace::default());
    }

    proptest! {
        #[test]
        fn a_letter_and_a_floor_are_read_back(floor in 1_u8..99, letter in "[A-Z]") {
            prop_assume!(letter != "P");
            let unit = UnitPlace::read(&format!("{floor}{letter}"));
            prop_assert_eq!(unit.floor, Some(floor));
            prop_assert_eq!(unit.line, UnitPlace::read(&format!("1{letter}")).line);
        }

        #[test]
        fn nothing_panics(text in ".{0,12}") {
            let unit = UnitPlace::read(&text);
            prop_assert!(unit.floor.is_none_or(|floor| floor >= 1));
        }
    }
}
