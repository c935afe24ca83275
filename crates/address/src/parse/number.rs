//! House numbers as people write them.

use super::several::more_numbers;
use crate::{
    house::{Dash, Suffix, TypedNumber},
    words::{ALONE, CARDINAL, CROSS, DIRECTION, HOUSE_SUFFIX, TYPE, Token, UNIT},
};

/// A house number at the start of some words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Read {
    pub(super) number: TypedNumber,
    /// How many words it took.
    pub(super) taken: usize,
    /// A direction that was glued to it: `110E 28 STREET`.
    pub(super) direction: Option<&'static str>,
    /// A direction that may have been glued to it, where its letter may as well be its suffix: `824E NEW YORK AVENUE`.
    pub(super) or_direction: Option<&'static str>,
    /// Whether more numbers were typed than this one.
    pub(super) several: bool,
    /// The other way to read it, with fewer words taken.
    pub(super) or_only: Option<(TypedNumber, usize)>,
}

/// The house number that these words start with, if they do and a street can follow.
pub(super) fn read(words: &[Token<'_>]) -> Option<Read> {
    let first = words.first()?;
    let mut read = Read {
        number: TypedNumber::plain(0, Suffix::NONE),
        taken: 1,
        direction: None,
        or_direction: None,
        several: false,
        or_only: None,
    };
    if first.any(CARDINAL) {
        let (value, taken) = spelled(words)?;
        read.number = TypedNumber::plain(value, Suffix::NONE);
        read.taken = taken;
        if taken > 1 {
            // `FIVE TEN EYCK STREET`: the second word may be the street's.
            let one = TypedNumber::plain(u32::from(first.word.number), Suffix::NONE);
            read.or_only = Some((one, 1));
        }
    } else if is_fraction(first.text) {
        read.number = TypedNumber::plain(0, Suffix::from_text(first.text)?);
    } else {
        let shape = shape(first.text)?;
        read.number = shape.number;
        read.several = shape.several;
    }
    glued_direction(&mut read, words);
    broken_digits(&mut read, words);
    if !more_numbers(&mut read, words) {
        return None;
    }
    suffix_words(&mut read, words);
    if !more_numbers(&mut read, words) {
        return None;
    }
    let rest = words.get(read.taken..).unwrap_or_default();
    // `72 CRESCENT` is a street; `27-12 CRESCENT` has a number.
    let hyphenated = first.text.contains('-') && read.taken == 1;
    let named = hyphenated
        && matches!(rest, [only] | [only, _] if only.any(TYPE) && rest.get(1).is_none_or(Token::is_break));
    if named || starts_a_street(rest) {
        Some(read)
    } else {
        // `350 5` and nothing after: the number alone may still have a street.
        let (number, taken) = read.or_only?;
        let rest = words.get(taken..).unwrap_or_default();
        starts_a_street(rest).then_some(Read {
            number,
            taken,
            direction: None,
            or_direction: None,
            several: false,
            or_only: None,
        })
    }
}

/// Whether a street's name can start here: not with a type alone, a unit, or the end.
pub(super) fn starts_a_street(rest: &[Token<'_>]) -> bool {
    match rest {
        [] => false,
        [first, ..] if first.is_break() || first.text == "-" || first.text == "#" => false,
        [first, ..] if first.any(UNIT | CROSS) => false,
        [first, second, ..] if first.text == "ST" || first.any(TYPE) => {
            // `AVENUE D`, `PARK PLACE`, `ST MARKS`, `PLAZA STREET`.
            let direction_alone = second.any(DIRECTION)
                && rest.len() == 2
                && first.word.full != "AVENUE"
                && follows_numbers(first);
            !second.is_break()
                && !second.any(UNIT | CROSS)
                && !second.starts_with_digit()
                && !direction_alone
        }
        [only] => !follows_numbers(only),
        _ => true,
    }
}

/// Whether a type is one that numbered streets have, so that `42 STREET` is a street and `4619 PARK` is not.
fn follows_numbers(word: &Token<'_>) -> bool {
    word.text == "ST"
        || matches!(
            word.word.full,
            "STREET"
                | "AVENUE"
                | "ROAD"
                | "PLACE"
                | "DRIVE"
                | "LANE"
                | "COURT"
                | "TERRACE"
                | "CRESCENT"
                | "BOULEVARD"
        )
}

pub(super) struct Shape {
    pub(super) number: TypedNumber,
    several: bool,
}

/// One word that is a house number: `350`, `350A`, `43-06`, `46-12A`, `91-57GAR`, `1476-A`, `508A-508B`.
pub(super) fn shape(text: &str) -> Option<Shape> {
    let (left, rest) = digits(text)?;
    let one = |number| {
        Some(Shape {
            number,
            several: false,
        })
    };
    if let Some(after) = rest.strip_prefix('/') {
        // `11/15 WEST 8 STREET`: two numbers of one building.
        digits(after)?;
        return Some(Shape {
            number: TypedNumber::plain(left.0, Suffix::NONE),
            several: true,
        });
    }
    let letters = rest.bytes().take_while(u8::is_ascii_uppercase).count();
    let (letters, rest) = rest.split_at_checked(letters)?;
    let left_suffix = if letters.is_empty() {
        Suffix::NONE
    } else if matches!(letters, "ST" | "ND" | "RD" | "TH") {
        return None;
    } else {
        suffix_of(letters)?
    };
    let Some(after) = rest.strip_prefix('-') else {
        return rest
            .is_empty()
            .then(|| one(TypedNumber::plain(left.0, left_suffix)))?;
    };
    let Some((value, rest)) = digits(after) else {
        // `1476-A`.
        return one(TypedNumber::plain(left.0, Suffix::from_text(after)?));
    };
    let letters = rest.bytes().take_while(u8::is_ascii_uppercase).count();
    let (letters, rest) = rest.split_at_checked(letters)?;
    let suffix = if letters.is_empty() {
        Suffix::NONE
    } else {
        suffix_of(letters)?
    };
    let mut number = TypedNumber::plain(left.0, left_suffix);
    number.dash = Some(Dash {
        value: value.0,
        digits: value.1,
        suffix,
        blank: false,
    });
    match rest.strip_prefix('-') {
        None => rest.is_empty().then(|| one(number))?,
        // `4-6-8`, `43-06-43-12`: the first of several.
        Some(more) => {
            digits(more)?;
            let hyphenated = more.contains('-');
            if !hyphenated {
                number.dash = None;
            }
            Some(Shape {
                number,
                several: true,
            })
        }
    }
}

/// How many digits a word starts with.
pub(super) fn digit_count(text: &str) -> u8 {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    u8::try_from(count).unwrap_or(u8::MAX)
}

/// Leading digits as a value and how many, with what follows them.
fn digits(text: &str) -> Option<((u32, u8), &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 || count > 6 {
        return None;
    }
    let (digits, rest) = text.split_at_checked(count)?;
    let value = digits.parse().ok()?;
    Some(((value, u8::try_from(count).ok()?), rest))
}

fn suffix_of(text: &str) -> Option<Suffix> {
    let text = match Token::new(text) {
        word if word.any(HOUSE_SUFFIX) => word.word.full,
        word => word.text,
    };
    Suffix::from_text(text)
}

pub(super) fn is_fraction(text: &str) -> bool {
    matches!(text, "1/2" | "1/3" | "2/3" | "1/4" | "3/4" | "1/5")
}

/// `ONE BRYANT PARK`, `TWENTY FIVE BROAD STREET`, `ONE HUNDRED TEN`, `ONE FIFTY`.
fn spelled(words: &[Token<'_>]) -> Option<(u32, usize)> {
    let cardinal = |at: usize| {
        words
            .get(at)
            .filter(|t| t.any(CARDINAL))
            .map(|t| u32::from(t.word.number))
    };
    // Below a hundred.
    let small = |at: usize| match (cardinal(at)?, cardinal(at + 1)) {
        (tens, Some(more)) if (20..100).contains(&tens) && more < 10 => Some((tens + more, 2)),
        (value, _) if value < 100 => Some((value, 1)),
        _ => None,
    };
    let (value, mut taken) = small(0)?;
    let hundred = words.get(taken).is_some_and(|t| t.text == "HUNDRED");
    if hundred {
        taken += 1;
        if words.get(taken).is_some_and(|t| t.text == "AND") {
            taken += 1;
        }
        let (more, words) = small(taken).unwrap_or((0, 0));
        return Some((value * 100 + more, taken + words));
    }
    // As it is spoken: `ONE FIFTY COURT STREET`.
    match small(taken) {
        Some((more, words)) if value < 10 && more >= 10 => {
            Some((value * 100 + more, taken + words))
        }
        _ => Some((value, taken)),
    }
}

/// `110E 28 STREET` is number 110; `423N EAST 137 STREET` has a suffix.
fn glued_direction(read: &mut Read, words: &[Token<'_>]) {
    let direction = match read.number.left_suffix.text() {
        "E" => "EAST",
        "W" => "WEST",
        "N" => "NORTH",
        "S" => "SOUTH",
        _ => return,
    };
    let glued = read.number.dash.is_none()
        && words.first().is_some_and(|t| !t.text.contains('-'))
        && words.get(1).is_some_and(Token::is_street_number);
    if glued {
        read.or_only = Some((read.number, 1));
        read.direction = Some(direction);
        read.number.left_suffix = Suffix::NONE;
    } else if read.number.dash.is_none()
        && words
            .get(1)
            .is_some_and(|t| !t.starts_with_digit() && !t.any(DIRECTION | TYPE))
    {
        read.or_direction = Some(direction);
    }
}

/// `103-0 3`, `112 30`, `1 1 1 AVE`: numbers that a form or a hand broke.
fn broken_digits(read: &mut Read, words: &[Token<'_>]) {
    let (Some(next), Some(after)) = (words.get(1), words.get(2)) else {
        return;
    };
    // The right part may have a letter: `31 07A STARR AVENUE`.
    let right = shape(next.text).filter(|right| right.number.dash.is_none() && !right.several);
    let Some(right) = right.filter(|_| read.taken == 1 && read.direction.is_none()) else {
        return;
    };
    let (value, suffix) = (right.number.left, right.number.left_suffix);
    let digits = digit_count(next.text);
    let rest = words.get(2..).unwrap_or_default();
    let street_next = is_type_of_before(after, rest) || after.is_break();
    match read.number.dash {
        Some(dash)
            if dash.digits == 1
                && next.text.len() == 1
                && suffix.is_none()
                && !street_next
                && dash.suffix.is_none()
                && read.number.to.is_none() =>
        {
            read.number.dash = Some(Dash {
                value: dash.value * 10 + value,
                digits: 2,
                suffix: Suffix::NONE,
                blank: false,
            });
            read.taken = 2;
        }
        None if !street_next
            && read.number.left_suffix.is_none()
            && read.number.left <= 999
            && (2..=3).contains(&digits)
            && !after.any(UNIT | CROSS) =>
        {
            read.or_only = Some((read.number, 1));
            read.number.dash = Some(Dash {
                value,
                digits,
                suffix,
                blank: true,
            });
            read.taken = 2;
        }
        None if next.text.len() == 1
            && words.first().is_some_and(|first| first.text == next.text)
            && after.is_street_number() =>
        {
            read.taken = 2;
        }
        _ => {}
    }
}

/// Suffixes that are words of their own: `46-12 A`, `120 1/2`, `1279 GARAGE`, `2B GAR`.
fn suffix_words(read: &mut Read, words: &[Token<'_>]) {
    if read.direction.is_some() || read.number.to.is_some() {
        return;
    }
    for _ in 0..3 {
        let Some(word) = words.get(read.taken) else {
            return;
        };
        let rest = words.get(read.taken + 1..).unwrap_or_default();
        let Some(next) = rest.first() else {
            return;
        };
        let before_type = is_type_of_before(next, rest);
        let before = (read.number, read.taken);
        if word.text == "CANOPY" {
            // A building department's word for where a permit's canopy is: no part of the number.
            read.taken += 1;
            continue;
        }
        let letter = word.is_letter()
            && (!next.is_letter() || next.any(DIRECTION))
            && (!word.any(DIRECTION) || next.any(DIRECTION));
        let letters =
            matches!(word.text, "AA" | "BB" | "BA" | "AF" | "AS" | "SF" | "ED") && rest.len() >= 2;
        let text = match word.text {
            fraction if is_fraction(fraction) => fraction,
            _ if before_type || next.is_break() => return,
            _ if word.any(HOUSE_SUFFIX) => word.word.full,
            text if letter || letters => text,
            _ => return,
        };
        if !add_suffix(&mut read.number, text) {
            return;
        }
        read.taken += 1;
        if word.is_letter() || word.text.len() == 2 {
            read.or_only.get_or_insert(before);
        }
    }
}

/// Whether the type that comes next ends the name of the word before it (`FRONT STREET`), and does not start a name of
/// its own (`REAR AVENUE S`, `REAR PARK PLACE`).
pub(super) fn is_type_of_before(next: &Token<'_>, rest: &[Token<'_>]) -> bool {
    let typed = |t: &Token<'_>| t.any(TYPE) || t.text == "ST";
    let lettered = next.word.full == "AVENUE"
        && rest
            .get(1)
            .is_some_and(|t| t.text == "OF" || (t.is_letter() && rest.len() == 2));
    let another = rest
        .iter()
        .skip(1)
        .take_while(|t| !t.is_break() && !t.any(UNIT))
        .any(typed);
    typed(next) && !lettered && !another
}

/// Adds a word to the suffix that a number has; `false` where the city has no such suffix.
fn add_suffix(number: &mut TypedNumber, word: &str) -> bool {
    let suffix = match &mut number.dash {
        Some(dash) => &mut dash.suffix,
        None => &mut number.left_suffix,
    };
    let combined = if suffix.is_none() {
        Suffix::from_text(word)
    } else {
        Suffix::from_text(&format!("{} {word}", suffix.text()))
    };
    match combined {
        Some(combined) => {
            *suffix = combined;
            true
        }
        None => false,
    }
}

/// Whether a street stands here alone, complete: `BROADWAY 24`.
pub(super) fn is_whole_street(words: &[Token<'_>]) -> bool {
    words
        .iter()
        .enumerate()
        .any(|(at, t)| t.any(ALONE) || (at > 0 && (t.any(TYPE) || t.text == "ST")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{text::clean, words::tokens};

    #[rstest]
    #[case("350 5 AVENUE", "350", "5 AVENUE")]
    #[case("350 5TH AVENUE", "350", "5TH AVENUE")]
    #[case("43-06 46 ST", "43-06", "46 ST")]
    #[case("46-012A 189 ST", "46-12A", "189 ST")]
    #[case("91-57GAR 109 STREET", "91-57 GARAGE", "109 STREET")]
    #[case("1279 garage 37 street", "1279 GARAGE", "37 STREET")]
    #[case("519 Front Street", "519", "FRONT STREET")]
    #[case("519 Front East 12 Street", "519 FRONT", "EAST 12 STREET")]
    #[case("625 Rear Smith Street", "625 REAR", "SMITH STREET")]
    #[case("470 A West 43 Street", "470A", "WEST 43 STREET")]
    #[case("1476-A 54 Street", "1476A", "54 STREET")]
    #[case("101 D Avenue", "101", "D AVENUE")]
    #[case("101 Avenue D", "101", "AVENUE D")]
    #[case("10 E 40TH Street", "10", "E 40TH STREET")]
    #[case("423N EAST 137 STREET", "423N", "EAST 137 STREET")]
    #[case("120 1/2 first ave", "120 1/2", "FIRST AVE")]
    #[case("1/2 fifth avenue", "0 1/2", "FIFTH AVENUE")]
    #[case("240-55 1/3 depew ave", "240-55 1/3", "DEPEW AVE")]
    #[case("2B GAR TAYLOR COURT", "2 B GARAGE", "TAYLOR COURT")]
    #[case("165 BA QUINCY STREET", "165 BA", "QUINCY STREET")]
    #[case("103-0 3 34 AVENUE", "103-03", "34 AVENUE")]
    #[case("102-4 0 - 67TH DRIVE", "102-40", "67TH DRIVE")]
    #[case("42 09 28 S", "42-09", "28 S")]
    #[case("30 9 Street", "30", "9 STREET")]
    #[case("1 1 1 AVE", "1", "1 AVE")]
    #[case("ONE BRYANT PARK", "1", "BRYANT PARK")]
    #[case("2 & 4 Main Street", "2", "MAIN STREET")]
    #[case("217, 219 Main Street", "217", "MAIN STREET")]
    #[case("1, 2 and 3 Main Street", "1", "MAIN STREET")]
    #[case("350, 5 Avenue", "350", "5 AVENUE")]
    #[case("350, 5th Avenue", "350", "5TH AVENUE")]
    #[case("4-6-8 Main Street", "4", "MAIN STREET")]
    #[case("11/15 West 8 Street", "11", "WEST 8 STREET")]
    #[case("508A-508B Brook Ave", "508A-508B", "BROOK AVE")]
    #[case("43-06 - 43-12 46 Street", "43-06 - 43-12", "46 STREET")]
    #[case("122 CANOPY WEST 145 STREET", "122", "WEST 145 STREET")]
    #[case("22-28 Reade", "22-28", "READE")]
    #[case("70 St Marks Place", "70", "ST MARKS PLACE")]
    #[case("216 Greenway S", "216", "GREENWAY S")]
    #[case("4619 Park", "4619", "PARK")]
    fn numbers_are_told_from_streets(
        #[case] typed: &str,
        #[case] number: &str,
        #[case] street: &str,
    ) {
        let clean = clean(typed);
        let words = tokens(&clean);
        let read = read(&words).unwrap();
        assert_eq!(read.number.to_string(), number);
        let rest: Vec<&str> = words[read.taken..].iter().map(|t| t.text).collect();
        assert_eq!(rest.join(" "), street);
    }

    #[test]
    fn a_glued_direction_goes_to_the_street() {
        let words = tokens("110E 28TH STREET");
        let read = read(&words).unwrap();
        assert_eq!(read.number.to_string(), "110");
        assert_eq!(read.direction, Some("EAST"));
    }

    #[rstest]
    #[case("5TH AVENUE")]
    #[case("42 ST & BROADWAY")]
    #[case("8 AVENUE")]
    #[case("72 CRESCENT")]
    #[case("69 PLACE")]
    #[case("BROADWAY")]
    #[case("350")]
    #[case("12345678 MAIN STREET")]
    #[case("100 APT 4")]
    fn what_is_no_house_number(#[case] typed: &str) {
        assert_eq!(read(&tokens(typed)), None);
    }
}
