//! Where a street's name ends, and what stands after it.

use super::StreetText;
use crate::{
    fold::{Spelling, StreetName, fold, is_street_type},
    words::{ALONE, CROSS, DIRECTION, FLOOR, NEAR, NOISE, TYPE, Token, UNIT, UNIT_AFTER_STREET},
};

/// The street of these words, with less and less of what may be its own; the last one has no unit left in it.
///
/// `words` are those between the number and the next part of the text; `longer` are the same with words that were read
/// as a neighbourhood and may be the street's own (`7 AVENUE MALBA`).
pub(super) fn split(
    words: &[Token<'_>],
    longer: [Option<&[Token<'_>]>; 2],
    direction: Option<&'static str>,
) -> Vec<StreetText> {
    let words = before_cross(words);
    let lettered = words.first().is_some_and(Token::is_letter);
    let hard = hard_unit(words);
    let own = words.get(..hard).unwrap_or_default();
    let end = street_end(own);
    let mut streets = Vec::with_capacity(3);
    let named = |words: &[Token<'_>]| {
        let name = fold(words, Spelling::Typed);
        match direction {
            Some(direction) => name.with_first(direction),
            None => name,
        }
    };
    if hard == words.len() {
        for longer in longer.into_iter().flatten() {
            push(&mut streets, named(longer), None, lettered);
        }
    }
    let explicit = unit_text(words.get(hard..).unwrap_or_default());
    if end < own.len() {
        push(&mut streets, named(own), explicit.clone(), lettered);
        let left = words.get(end..).unwrap_or_default();
        if looks_like_unit(left) {
            push(
                &mut streets,
                named(words.get(..end).unwrap_or_default()),
                unit_text(left),
                lettered,
            );
            // `LONGWOOD AVENUE EAST WING`: the direction may be the unit's.
            let directed = end >= 3 && words.get(end - 1).is_some_and(|t| t.any(DIRECTION));
            if directed && left.first().is_some_and(|t| t.any(UNIT_AFTER_STREET)) {
                push(
                    &mut streets,
                    named(words.get(..end - 1).unwrap_or_default()),
                    unit_text(words.get(end - 1..).unwrap_or_default()),
                    lettered,
                );
            }
        } else {
            push(
                &mut streets,
                named(words.get(..end).unwrap_or_default()),
                explicit,
                lettered,
            );
            if let Some(last) = streets.last_mut() {
                last.dropped = text_of(own.get(end..).unwrap_or_default());
            }
        }
    } else {
        push(&mut streets, named(own), explicit, lettered);
    }
    streets
}

fn push(streets: &mut Vec<StreetText>, street: StreetName, unit: Option<String>, lettered: bool) {
    if !street.key.is_empty() {
        streets.push(StreetText {
            street,
            unit,
            dropped: None,
            lettered,
        });
    }
}

/// The words before `& ...`, `BETWEEN ...`, `CORNER OF ...`.
fn before_cross<'t, 'a>(words: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let at = words
        .iter()
        .skip(1)
        .position(|t| t.any(CROSS | NEAR))
        .map_or(words.len(), |at| at + 1);
    words.get(..at).unwrap_or_default()
}

/// Where the first word that can only start a unit stands; a floor's number stands before it.
fn hard_unit(words: &[Token<'_>]) -> usize {
    let Some(at) = words
        .iter()
        .enumerate()
        .skip(1)
        .find(|(_, t)| t.any(UNIT))
        .map(|(at, _)| at)
    else {
        return words.len();
    };
    let floor = words.get(at).is_some_and(|t| t.any(FLOOR));
    let numbered = at >= 2
        && words.get(at - 1).is_some_and(|t| {
            t.starts_with_digit() || t.any(crate::words::ORDINAL) || t.text == "TOP"
        });
    // `10 WEST 5TH FLOOR`: the number is the street's, since nothing else is.
    if floor && numbered && street_end(words.get(..at - 1).unwrap_or_default()) > 0 && at >= 3 {
        at - 1
    } else if floor && numbered && at == 2 && words.first().is_some_and(|t| t.any(ALONE)) {
        1
    } else {
        at
    }
}

/// Where the street's own words end: after its type and a direction, or after all words where it has none.
fn street_end(words: &[Token<'_>]) -> usize {
    let Some(first) = words.first() else {
        return 0;
    };
    if first.word.full == "AVENUE" {
        match words.get(1) {
            Some(letter) if letter.is_letter() => return 2,
            Some(of) if of.text == "OF" => {
                let last = words.iter().position(|t| {
                    matches!(
                        t.text,
                        "AMERICAS" | "AMERICA" | "FINEST" | "STRONGEST" | "BRAVEST" | "RICO"
                    )
                });
                return last.map_or(words.len(), |at| at + 1);
            }
            _ => {}
        }
    }
    let typed = |at: usize| {
        words.get(at).is_some_and(|t| {
            if t.text == "ST" {
                is_street_type(words, at)
            } else {
                t.any(TYPE | ALONE)
            }
        })
    };
    let skip = usize::from(!first.any(ALONE));
    let Some(at) = (skip..words.len()).find(|at| typed(*at)) else {
        return untyped_end(words);
    };
    let mut end = at + 1;
    loop {
        if typed(end) {
            end += 1;
            continue;
        }
        let follows = words.get(end + 1);
        // `NO. 4` is a unit's number, and no north.
        let numbered = follows.is_some_and(Token::starts_with_digit);
        let direction = words
            .get(end)
            .filter(|t| t.any(DIRECTION) && !(numbered && t.text == "NO"));
        let meant = direction.is_some_and(|t| t.text.len() > 2)
            || follows.is_none_or(|t| {
                t.any(UNIT_AFTER_STREET) || t.starts_with_digit() || typed(end + 1)
            });
        if direction.is_some() && meant {
            end += 1;
            continue;
        }
        return end;
    }
}

/// A name without a type ends before a word such as `3B`, which no name ends in, and before `FRNT 6`.
fn untyped_end(words: &[Token<'_>]) -> usize {
    let short = |t: &Token<'_>| t.text.len() <= 2 || t.starts_with_digit();
    let worded = words
        .iter()
        .enumerate()
        .skip(1)
        .find(|(at, t)| t.any(UNIT_AFTER_STREET) && words.get(at + 1).is_none_or(short))
        .map(|(at, _)| at);
    if let Some(at) = worded {
        return at;
    }
    let unit = words.len() >= 2
        && words.last().is_some_and(|t| {
            t.text.len() <= 4
                && t.text.bytes().any(|b| b.is_ascii_digit())
                && t.text.bytes().any(|b| b.is_ascii_uppercase())
                && !t.is_street_number()
        });
    words.len() - usize::from(unit)
}

/// Whether words after a street are a unit: `15J`, `302`, `6 EAST`, `1 & 2`, `STORE`.
pub(super) fn looks_like_unit(words: &[Token<'_>]) -> bool {
    words.first().is_some_and(|t| {
        t.starts_with_digit()
            || t.any(UNIT | UNIT_AFTER_STREET)
            || (t.any(NOISE) && words.get(1).is_some_and(Token::starts_with_digit))
            || (t.is_letter() && words.len() <= 2)
            || (words.len() == 1 && t.text.len() <= 4 && t.text.bytes().any(|b| b.is_ascii_digit()))
    }) && words.len() <= 8
        && !words.iter().any(|t| t.any(NEAR))
}

/// A unit as typed, without the noise of its designators: `4C` of `APT 4C`.
pub(super) fn unit_text(words: &[Token<'_>]) -> Option<String> {
    let mut out = String::new();
    for word in words {
        let noise = word.any(NOISE) || word.is_break() || word.text == "-";
        if noise && !(word.text == "NO" && out.is_empty() && words.len() == 1) {
            continue;
        }
        if out.len() + word.text.len() > 40 {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word.text);
    }
    (!out.is_empty()).then_some(out)
}

/// Words on one line; `None` where there are none.
pub(super) fn text_of(words: &[Token<'_>]) -> Option<String> {
    let mut text = String::new();
    for word in words.iter().filter(|t| !t.is_break()) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word.text);
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::words::tokens;

    #[rstest]
    #[case("5 AVENUE", "5 AVENUE", None)]
    #[case("BROADWAY STE 3102", "BROADWAY", Some("3102"))]
    #[case("E 72ND ST 15J", "EAST 72 STREET", Some("15J"))]
    #[case("QUEENS BLVD 302", "QUEENS BOULEVARD", Some("302"))]
    #[case("EAST 99TH STREET 99TH FLOOR", "EAST 99 STREET", Some("99TH FLOOR"))]
    #[case("HERKIMER ST 3FL", "HERKIMER STREET", Some("3FL"))]
    #[case("46TH STREET 6 EAST", "46 STREET", Some("6 EAST"))]
    #[case("SEAGIRT BOULEVARD 9 B", "SEAGIRT BOULEVARD", Some("9 B"))]
    #[case("7TH AVENUE STORE", "7 AVENUE", Some("STORE"))]
    #[case("PARK AVE S", "PARK AVENUE SOUTH", None)]
    #[case("AVENUE S APT 2", "AVENUE S", Some("2"))]
    #[case("AVENUE OF THE AMERICAS FL 2", "AVENUE OF THE AMERICAS", Some("FL 2"))]
    #[case("CENTRAL PARK WEST 4C", "CENTRAL PARK WEST", Some("4C"))]
    #[case(
        "WEST FARMS SQUARE PLAZA APT 5A",
        "WEST FARMS SQUARE PLAZA",
        Some("5A")
    )]
    #[case("ST MARKS PL # 4", "SAINT MARKS PLACE", Some("4"))]
    #[case("FRONT STREET", "FRONT STREET", None)]
    #[case("COENTIES SLIP", "COENTIES SLIP", None)]
    #[case("WALL STREET GRD FLOOR SPACE", "WALL STREET", Some("GRD FLOOR SPACE"))]
    #[case("GRAND STREET ROOM 4", "GRAND STREET", Some("4"))]
    #[case("BROADWAY PH", "BROADWAY", Some("PH"))]
    #[case("W 97TH # 5N", "WEST 97", Some("5N"))]
    #[case("MARCUS GARVEY 3B", "MARCUS GARVEY", Some("3B"))]
    #[case("WEST 15TH", "WEST 15", None)]
    #[case("HUDSON FRNT 6", "HUDSON", Some("FRNT 6"))]
    #[case("HUNTS POINT TERMINAL MARKET", "HUNTS POINT TERMINAL MARKET", None)]
    #[case("WORTH ST REAR", "WORTH STREET", Some("REAR"))]
    #[case("CENTRE ST BETWEEN WORTH AND PEARL", "CENTRE STREET", None)]
    #[case("73RD STREET SUITE NO 110", "73 STREET", Some("110"))]
    #[case("BROADWAY 3RD FLOOR", "BROADWAY", Some("3RD FLOOR"))]
    fn streets_end_and_units_begin(
        #[case] typed: &str,
        #[case] street: &str,
        #[case] unit: Option<&str>,
    ) {
        let words = tokens(typed);
        let streets = split(&words, [None; 2], None);
        let last = streets.last().unwrap();
        assert_eq!(last.street.name, street);
        assert_eq!(last.unit.as_deref(), unit);
    }
}
