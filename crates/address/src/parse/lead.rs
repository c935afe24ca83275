//! A place before the address: `BROOKLYN 100 BROADWAY`, `10118, 350 5 AVENUE`, `NEW YORK NY: 350 5 AVENUE`.

use super::{number, place::Where, street};
use crate::{
    area::{self, Place, PlaceKind, ZipArea},
    words::Token,
};

/// Most words of a place that stands in front: a neighbourhood, the city, the state and a ZIP.
const WORDS: usize = 8;

/// The place that the first part is, where others follow: `BROOKLYN, 100 BROADWAY`.
pub(super) fn first_part(tokens: &[Token<'_>]) -> Option<Place> {
    let end = tokens.iter().position(Token::is_break)?;
    let first = street::text_of(tokens.get(..end)?)?;
    area::place(&first)
}

/// Takes what a part of the text says of where it is; `false` where it holds other words, and then nothing is taken.
pub(super) fn whole(clean: &str, part: &[Token<'_>], place: &mut Where) -> bool {
    let mut said = place.clone();
    let mut at = 0;
    while let Some(rest) = part.get(at..).filter(|rest| !rest.is_empty()) {
        match one(clean, rest, &Where::default(), &mut said) {
            Some(taken) => at += taken,
            None => return false,
        }
    }
    *place = said;
    true
}

/// Where the text says that it is before its house number, and how many words that takes: all words before the number
/// must say so, and a whole street must follow it.
pub(super) fn read(clean: &str, tokens: &[Token<'_>], known: &Where) -> Option<(usize, Where)> {
    let mut place = Where::default();
    let mut at = 0;
    while at <= WORDS {
        let rest = tokens.get(at..)?;
        let first = rest.first()?;
        let starts_a_part = at > 0 && tokens.get(at - 1).is_some_and(Token::is_break);
        if at > 0
            && !place.is_silent()
            && number::read(rest).is_some_and(|read| {
                starts_a_part
                    || first.starts_with_digit()
                        && rest
                            .get(read.taken..)
                            .is_some_and(|street| !street.is_empty())
            })
        {
            return Some((at, place));
        }
        at += one(clean, rest, known, &mut place)?;
    }
    None
}

/// Takes one thing off the front: a break, a ZIP of the city, `NY`, a place's name.
fn one(clean: &str, rest: &[Token<'_>], known: &Where, place: &mut Where) -> Option<usize> {
    let first = rest.first()?;
    if first.is_break() || first.text == "-" {
        return Some(1);
    }
    if first.all_digits() && first.text.len() == 5 {
        let zip = first.text.parse().ok()?;
        let ours = matches!(area::zip_area(zip), ZipArea::City(_) | ZipArea::Line(_));
        // Five digits may be a house number; a second number and its street must follow.
        let unknown = known.zip.is_none() && place.zip.is_none();
        return (ours && unknown).then(|| {
            place.zip = Some(zip);
            1
        });
    }
    for (name, weight) in [("NEW YORK CITY", 2), ("NEW YORK", 2), ("NYC", 2), ("NY", 1)] {
        let words = name.split(' ').count();
        if words_are(rest, name, words) {
            place.see_new_york(weight);
            return Some(words);
        }
    }
    (1..=4_usize).rev().find_map(|words| {
        let name = tail_text(clean, rest.get(..words)?)?;
        let found = area::place(name).filter(|p| {
            matches!(
                p.kind,
                PlaceKind::Borough | PlaceKind::City | PlaceKind::Neighborhood
            )
        })?;
        place.take(found);
        Some(words)
    })
}

fn words_are(rest: &[Token<'_>], name: &str, words: usize) -> bool {
    rest.get(..words)
        .is_some_and(|own| own.iter().map(|t| t.text).eq(name.split(' ')))
}

/// These words as they stand in the text; none where a break is among them.
fn tail_text<'a>(clean: &'a str, words: &[Token<'a>]) -> Option<&'a str> {
    if words.iter().any(Token::is_break) {
        return None;
    }
    super::tail::text_between(clean, words.first()?, words.last()?)
}
