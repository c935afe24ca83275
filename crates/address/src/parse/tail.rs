//! The end of an address: country, ZIP, state, city or borough or neighbourhood.

use super::{
    Note,
    place::{NewYork, Where},
    states::{IN_THE_CITY, STATES, UNMISTAKABLE, ends_a_state, title},
    street,
};
use crate::{
    area::{self, Place, PlaceKind, ZipArea},
    words::{ALONE, DIRECTION, SPELLING, TYPE, Token},
};

/// The end of a text.
pub(super) struct Read {
    pub(super) place: Where,
    /// Where what is before it ends.
    pub(super) end: usize,
}

/// Reads the end of a text.
pub(super) fn read(clean: &str, tokens: &[Token<'_>], notes: &mut Vec<Note>) -> Read {
    let mut tail = Tail {
        clean,
        tokens,
        end: tokens.len(),
        place: Where::default(),
        zip_at: None,
    };
    while tail.step(notes) {}
    if tail.place.new_yorks >= 2 {
        tail.place.new_york = NewYork::City;
    }
    Read {
        place: tail.place,
        end: tail.end,
    }
}

/// The text from one of its words to another.
pub(super) fn text_between<'a>(
    clean: &'a str,
    first: &Token<'a>,
    last: &Token<'a>,
) -> Option<&'a str> {
    // Both are slices of the text, so that the distance of their starts is a place in it.
    let base = clean.as_ptr() as usize;
    let start = (first.text.as_ptr() as usize).checked_sub(base)?;
    let stop = (last.text.as_ptr() as usize).checked_sub(base)? + last.text.len();
    clean.get(start..stop)
}

struct Tail<'t, 'a> {
    clean: &'a str,
    tokens: &'t [Token<'a>],
    end: usize,
    place: Where,
    /// Where the ZIP stands.
    zip_at: Option<usize>,
}

impl<'a> Tail<'_, 'a> {
    /// Takes one thing off the end.
    fn step(&mut self, notes: &mut Vec<Note>) -> bool {
        while self.end > 0
            && self
                .tokens
                .get(self.end - 1)
                .is_some_and(|t| t.is_break() || t.text == "-")
        {
            self.end -= 1;
        }
        if self.end < 2 {
            return false;
        }
        self.country()
            || self.zip()
            || self.new_york()
            || self.state()
            || self.area()
            || self.misspelled(notes)
    }

    /// The words from `from` to the end, as they stand in the text.
    fn words(&self, from: usize) -> Option<&'a str> {
        let first = self.tokens.get(from)?;
        let last = self.tokens.get(self.end.checked_sub(1)?)?;
        text_between(self.clean, first, last)
    }

    fn last(&self, back: usize) -> Option<&Token<'a>> {
        self.tokens.get(self.end.checked_sub(back)?)
    }

    fn country(&mut self) -> bool {
        const NAMES: &[(usize, &str)] = &[
            (1, "USA"),
            (1, "US"),
            (2, "U S"),
            (3, "U S A"),
            (2, "UNITED STATES"),
            (4, "UNITED STATES OF AMERICA"),
        ];
        let ends = self
            .last(1)
            .is_some_and(|t| matches!(t.text, "USA" | "US" | "S" | "A" | "STATES" | "AMERICA"));
        for (words, name) in NAMES.iter().filter(|_| ends) {
            if self.end > *words && self.words(self.end - words) == Some(name) {
                self.end -= words;
                return true;
            }
        }
        false
    }

    fn zip(&mut self) -> bool {
        let Some(zip) = self.last(1).and_then(|t| zip_of(t.text)) else {
            return false;
        };
        if self.zip_at.is_some() || !self.leaves_a_street(self.end - 1) {
            return false;
        }
        // Five digits before a city are a unit, unless they are a ZIP of the city's surroundings: `22716, QUEENS`.
        let at_end = !self.place.says_city() && self.place.new_yorks == 0;
        if !at_end && area::zip_area(zip) == ZipArea::Elsewhere {
            return false;
        }
        self.place.zip = Some(zip);
        self.zip_at = Some(self.end - 1);
        self.end -= 1;
        true
    }

    fn new_york(&mut self) -> bool {
        const NAMES: &[(usize, &str, u8)] = &[
            (3, "NEW YORK CITY", 2),
            (3, "NEW YORK STATE", 1),
            (3, "N Y C", 2),
            (2, "NY CITY", 2),
            (2, "N Y", 1),
            (1, "NYC", 2),
            (1, "NEWYORK", 2),
            (2, "NEW YROK", 2),
            (2, "NEW YOK", 2),
            (2, "NEW YOR", 2),
            (2, "NEW YOKR", 2),
            (2, "NEW YORKK", 2),
            (2, "NWE YORK", 2),
            (2, "NEW YOEK", 2),
            (1, "NY", 1),
            (1, "NYS", 1),
            (2, "NEW YORK", 2),
        ];
        let ends = self.last(1).is_some_and(|t| {
            matches!(
                t.text,
                "CITY"
                    | "STATE"
                    | "C"
                    | "Y"
                    | "NYC"
                    | "NY"
                    | "NYS"
                    | "YORK"
                    | "NEWYORK"
                    | "YROK"
                    | "YOK"
                    | "YOR"
                    | "YOKR"
                    | "YORKK"
                    | "YOEK"
            )
        });
        if !ends {
            return false;
        }
        for (words, name, weight) in NAMES {
            if self.end <= *words || self.words(self.end - words) != Some(name) {
                continue;
            }
            let start = self.end - words;
            // `WEST NEW YORK` and `EAST NEW YORK` are other places.
            let other = self
                .tokens
                .get(start.wrapping_sub(1))
                .is_some_and(|t| matches!(t.text, "EAST" | "WEST"));
            if !self.leaves_a_street(start) || (other && *name == "NEW YORK") {
                continue;
            }
            self.place.new_yorks = self.place.new_yorks.saturating_add(*weight);
            self.place.new_york = NewYork::State;
            self.end = start;
            return true;
        }
        false
    }

    fn state(&mut self) -> bool {
        let Some(last) = self.last(1) else {
            return false;
        };
        if last.starts_with_digit() || (last.text.len() != 2 && !ends_a_state(last.text)) {
            return false;
        }
        let outside_zip = matches!(self.place.zip_area(), Some(ZipArea::Elsewhere))
            && self.zip_at == Some(self.end);
        for (name, code) in STATES {
            let words = name.split(' ').count();
            for (words, text) in [(1, *code), (words, *name)] {
                if self.end <= words || self.words(self.end - words) != Some(text) {
                    continue;
                }
                let start = self.end - words;
                let own_part = self
                    .tokens
                    .get(start.wrapping_sub(1))
                    .is_some_and(Token::is_break);
                let certain = outside_zip
                    || (!IN_THE_CITY.contains(&text)
                        && (own_part || self.is_a_city(start))
                        && !self.is_of_an_address(start, own_part))
                    || (text == *code && UNMISTAKABLE.contains(code));
                if certain && self.leaves_a_street(start) {
                    self.place.outside.get_or_insert_with(|| title(name));
                    self.end = start;
                    return true;
                }
            }
        }
        false
    }

    /// Whether a state's code is a word of an address as well (`FL`, `CT`, `LA`), and the text says a place of the city:
    /// behind it, or in an earlier part. There `GARDEN FL` is a floor.
    fn is_of_an_address(&self, start: usize, own_part: bool) -> bool {
        let says = |place: &Where| {
            place.says_city() || place.new_yorks > 0 || !place.zip_boroughs().is_empty()
        };
        if self.tokens.get(start).is_none_or(|t| t.word.is == 0) || self.end != start + 1 {
            return false;
        }
        let before = self.tokens.get(..start).unwrap_or_default();
        let earlier = before.iter().rposition(Token::is_break);
        let part = before.rsplit(Token::is_break).next().unwrap_or_default();
        let elsewhere = street::text_of(part)
            .and_then(|name| area::place(&name))
            .is_some_and(|place| place.kind == PlaceKind::Outside);
        if elsewhere {
            return false;
        }
        says(&self.place)
            // `BROOKLYN, CT` is no Brooklyn of the city, `BROOKLYN, GARDEN FL` is.
            || (!own_part
                && earlier
                    .and_then(|at| before.get(..at))
                    .is_some_and(|words| says(&read(self.clean, words, &mut Vec::new()).place)))
    }

    /// Whether the words before `end` are a part of their own that looks like a city's name: `120 BROADWAY, CAMBRIDGE` of
    /// `120 BROADWAY, CAMBRIDGE MA`.
    fn is_a_city(&self, end: usize) -> bool {
        let before = self.tokens.get(..end).unwrap_or_default();
        let part = before.rsplit(Token::is_break).next().unwrap_or_default();
        let plain = |t: &Token<'_>| t.text.len() > 2 && t.word.is == 0 && !t.starts_with_digit();
        part.len() < before.len() && (1..=3).contains(&part.len()) && part.iter().all(plain)
    }

    fn area(&mut self) -> bool {
        let longest = self.last(1).map_or(0, |t| {
            area::longest_ending_in(t.text).max(area::longest_ending_in(t.word.full))
        });
        for words in (1..=longest.min(self.end.saturating_sub(1))).rev() {
            let start = self.end - words;
            let Some(place) = self.place_from(start) else {
                continue;
            };
            if !self.leaves_a_street(start) || !self.may_be(place, start) {
                continue;
            }
            self.place.take(place);
            self.end = start;
            return true;
        }
        false
    }

    /// The place that the words from `start` to the end name, as they stand or with their abbreviations written out:
    /// `FOREST HLS`, `KEW GDNS`.
    fn place_from(&self, start: usize) -> Option<Place> {
        if let Some(place) = self.words(start).and_then(area::place) {
            return Some(place);
        }
        let words = self.tokens.get(start..self.end)?;
        let short = |t: &Token<'_>| t.any(TYPE | SPELLING) && t.word.full != t.text;
        if words.len() < 2 || !words.iter().any(short) || words.iter().any(Token::is_break) {
            return None;
        }
        let full: Vec<&str> = words
            .iter()
            .map(|t| if short(t) { t.word.full } else { t.text })
            .collect();
        area::place(&full.join(" "))
    }

    /// A borough's or a city's name is taken wherever a street is left before it; any other only where a street, a unit
    /// or a part of the text has ended.
    fn may_be(&self, place: Place, start: usize) -> bool {
        let before = self.tokens.get(start.wrapping_sub(1));
        let typed = |t: &Token<'_>| t.text == "ST" || t.any(TYPE | ALONE | DIRECTION);
        // After a number a street must have ended before: `1497 OCEAN PARKWAY` is no 1497 in a neighbourhood.
        let part = self.tokens.get(..start).unwrap_or_default();
        let part = part.rsplit(Token::is_break).next().unwrap_or_default();
        let ended = before.is_some_and(|t| {
            t.is_break()
                || t.text == "-"
                || typed(t)
                || (t.starts_with_digit() && (!t.all_digits() || part.iter().any(typed)))
        });
        match place.kind {
            PlaceKind::Borough | PlaceKind::City => true,
            PlaceKind::Neighborhood | PlaceKind::Line | PlaceKind::Outside => ended,
        }
    }

    /// A borough's or a city's name with a letter or two wrong, one word or two, where the street has ended.
    fn misspelled(&mut self, notes: &mut Vec<Note>) -> bool {
        if self.place.says_city() || self.end < 3 {
            return false;
        }
        for words in 1..=3 {
            let Some(start) = self.end.checked_sub(words).filter(|start| *start > 0) else {
                return false;
            };
            let own = self.tokens.get(start..self.end).unwrap_or_default();
            let ended = self.tokens.get(start - 1);
            let own_part = ended.is_some_and(Token::is_break);
            let ended = own_part || ended.is_some_and(|t| t.text == "ST" || t.any(TYPE | ALONE));
            // A short word may be what was meant, but not all of them.
            let plain = own.iter().all(|t| !t.is_break() && !t.starts_with_digit())
                && own.iter().any(|t| t.word.is == 0);
            if !ended || !plain || !self.leaves_a_street(start) {
                continue;
            }
            let Some(typed) = self.words(start) else {
                continue;
            };
            if let Some(borough) = area::misspelled_borough(typed) {
                notes.push(Note::Misspelled {
                    typed: typed.to_owned(),
                    read: borough.name().to_owned(),
                });
                self.place.named = Some(borough);
                self.end = start;
                return true;
            }
            if own_part && let Some(place) = area::misspelled_city(typed) {
                notes.push(Note::Misspelled {
                    typed: typed.to_owned(),
                    read: title(place.label),
                });
                self.place.take(place);
                self.end = start;
                return true;
            }
        }
        false
    }

    /// Whether the words before `end` still hold a street, or a name: nothing is taken off an address that is its street.
    fn leaves_a_street(&self, end: usize) -> bool {
        let before = self.tokens.get(..end).unwrap_or_default();
        let part = before.rsplit(Token::is_break).next().unwrap_or_default();
        let starts_with_number =
            |words: &[Token<'_>]| words.iter().find(|t| is_word(t)).is_some_and(is_number);
        // A part that has a number must keep its street: `SCHOOL: 2800 OCEAN PARKWAY`. A ZIP alone is none: `10462 BRONX`.
        let is_zip = part.len() < before.len()
            && matches!(part, [zip] | [zip, _] if zip_of(zip.text).is_some() && part.get(1).is_none_or(|t| t.text == "-"));
        let words = if starts_with_number(part) && !is_zip {
            part
        } else {
            before
        };
        let skip = usize::from(starts_with_number(words));
        let mut names = words.iter().filter(|t| is_word(t)).skip(skip).peekable();
        // `SOUTH` may be all of a street's name, if a comma ends it: `1112 SOUTH, STATEN ISLAND`.
        let ended = before.last().is_some_and(Token::is_break);
        names.peek().is_some() && (ended || !names.all(|t| t.any(DIRECTION)))
    }
}

fn is_word(token: &&Token<'_>) -> bool {
    !token.is_break() && token.text != "-" && token.text != "#"
}

fn is_number(token: &Token<'_>) -> bool {
    token.starts_with_digit() && (token.all_digits() || !token.is_street_number())
}

/// `10118`, `10118-0110`, `101180110`.
pub(super) fn zip_of(text: &str) -> Option<u32> {
    let digits = |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
    let five = match text.split_once('-') {
        Some((five, four)) if digits(four, 4) => five,
        Some(_) => return None,
        None if digits(text, 9) => text.get(..5)?,
        None => text,
    };
    if digits(five, 5) {
        five.parse().ok()
    } else {
        None
    }
}
