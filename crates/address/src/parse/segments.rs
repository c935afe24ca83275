//! The parts of a text between commas: which one holds the number and the street, and what the others are.

use super::{AddressText, Kind, Note, lead, number, place::Where, street, tail};
use crate::{
    area::{self, PlaceKind, ZipArea},
    fold::{Spelling, StreetName, ending_fits, fold, is_first},
    house::{Suffix, TypedNumber},
    words::{ALONE, CARDINAL, CROSS, DIRECTION, FLOOR, NEAR, NOISE, TYPE, Token, UNIT},
};

/// What the words of a text name. `all` are its words, `body` those before its city, state and ZIP. What `body` says of
/// where it is goes to `place`.
pub(super) fn kind(
    clean: &str,
    all: &[Token<'_>],
    body: &[Token<'_>],
    place: &mut Where,
    notes: &mut Vec<Note>,
) -> Kind {
    let body = before_also_known(body);
    if body.is_empty() {
        return Kind::Nothing;
    }
    if let Some(main) = main_part(body) {
        let kind = address(clean, (all, body), &main, place, notes);
        if !matches!(&kind, Kind::Address(readings) if readings.is_empty()) {
            return kind;
        }
    }
    if is_post_box(clean) {
        return Kind::PostBox;
    }
    if body.iter().any(|t| t.any(CROSS | NEAR)) {
        return Kind::Intersection;
    }
    let (first, rest) = first_part(body);
    let unit = other_parts(clean, &[], rest, place, notes);
    if let Some(mut readings) = reversed(first) {
        give_unit(unit, first, &mut readings, notes);
        return Kind::Address(readings);
    }
    // A place by its name is answered without a unit.
    notes.extend(unit.map(|unit| Note::Ignored(unit.text)));
    let mut names: Vec<StreetName> = Vec::new();
    for words in [first, body] {
        let name = fold(words, Spelling::Typed);
        if !name.key.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    // A place's name may end in its city's: `GOVERNORS ISLAND`, `CITY HALL MANHATTAN`.
    let whole = all
        .split(Token::is_break)
        .find(|part| !part.is_empty())
        .map(|words| fold(words, Spelling::Typed));
    if let Some(whole) = whole
        && !names.contains(&whole)
    {
        names.push(whole);
    }
    if names.is_empty() || body.iter().all(|t| t.starts_with_digit() || t.is_break()) {
        return Kind::Nothing;
    }
    Kind::Place(names)
}

/// Where the text may end if what follows is a unit or says nothing: before a designator, before the last parts.
pub(super) fn earlier_ends(tokens: &[Token<'_>]) -> Vec<usize> {
    /// A text with more parts is no address with something behind its city.
    const PARTS: usize = 4;
    let unit = tokens.iter().skip(2).position(|t| t.any(UNIT)).map(|at| {
        let at = at + 2;
        let floor = tokens.get(at).is_some_and(|t| t.any(FLOOR));
        let numbered = tokens.get(at - 1).is_some_and(Token::starts_with_digit);
        at - usize::from(floor && numbered && at > 2)
    });
    let breaks = tokens
        .iter()
        .enumerate()
        .rev()
        .filter(|(at, t)| *at >= 2 && t.is_break())
        .map(|(at, _)| at)
        .take(PARTS);
    unit.into_iter().chain(breaks).collect()
}

/// Text before `AKA`, `A/K/A`.
fn before_also_known<'t, 'a>(body: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let at = body.iter().enumerate().position(|(at, t)| {
        let next = body.get(at + 1).map(|t| t.text);
        at > 0
            && (matches!(t.text, "AKA" | "A/K/A" | "FKA" | "F/K/A")
                || (t.text == "A" && next == Some("K/A"))
                || (t.text == "A/K" && next == Some("A")))
    });
    let end = at.unwrap_or(body.len());
    let mut body = body.get(..end).unwrap_or_default();
    while let [rest @ .., last] = body
        && last.is_break()
    {
        body = rest;
    }
    body
}

/// Where the house number stands.
struct Main {
    /// Its first word.
    at: usize,
    read: number::Read,
}

/// The first part of the text that starts with a house number and goes on with a street; units and other words before
/// the number are passed over.
fn main_part(body: &[Token<'_>]) -> Option<Main> {
    let mut start = 0;
    let mut later = None;
    while start < body.len() {
        let part = body.get(start..)?;
        let length = part.iter().position(Token::is_break).unwrap_or(part.len());
        for skip in [prefix_unit(part.get(..length)?), 0] {
            let at = start + skip;
            if let Some(read) = body.get(at..).and_then(number::read)
                && !is_corner(body.get(at..)?)
            {
                return Some(Main { at, read });
            }
        }
        if later.is_none() {
            later = inner_number(part.get(..length)?).and_then(|at| {
                let at = start + at;
                let read = number::read(body.get(at..)?)?;
                Some(Main { at, read })
            });
        }
        start += length + 1;
    }
    later
}

/// `42 STREET & BROADWAY`, `5 AVENUE AND 42 STREET`: a numbered street before the joint, and so a corner.
fn is_corner(words: &[Token<'_>]) -> bool {
    let Some(joint) = words.iter().position(|t| t.any(CROSS | NEAR)) else {
        return false;
    };
    let before = words.get(..joint).unwrap_or_default();
    matches!(before, [number, kind] if number.is_street_number() && (kind.any(TYPE) || kind.text == "ST"))
}

/// How many words a unit before the number takes: `APT 4C 120 BROADWAY`, `4TH FLOOR 30-30 THOMSON AVENUE`, `# 6`.
fn prefix_unit(part: &[Token<'_>]) -> usize {
    match part {
        [mark, number, next, ..] if mark.any(UNIT) && !mark.any(FLOOR) => {
            if mark.text == "#"
                && !(next.starts_with_digit()
                    && number::read(part.get(2..).unwrap_or_default()).is_some())
            {
                return 1;
            }
            if number.text == "#" { 3 } else { 2 }
        }
        [number, floor, _, ..] if floor.any(FLOOR) && number.starts_with_digit() => 2,
        [floor, _, _, ..] if floor.any(FLOOR) => 2,
        [no, _, ..] if no.text == "NO" => 1,
        _ => 0,
    }
}

/// A number behind words that are no street: `C/O DOHMH 42-09 28 STREET`, `THE SHOP AT 223 WEST 14 STREET`.
fn inner_number(part: &[Token<'_>]) -> Option<usize> {
    let street_before = |at: usize| {
        part.get(..at).is_some_and(|before| {
            let before = match before {
                [rest @ .., at] if at.text == "AT" => rest,
                all => all,
            };
            before
                .iter()
                .any(|t| t.any(TYPE | ALONE | DIRECTION | CROSS) || t.text == "ST")
        })
    };
    (1..part.len()).find(|at| {
        let Some(words) = part.get(*at..) else {
            return false;
        };
        words
            .first()
            .is_some_and(|t| t.starts_with_digit() && !t.any(CARDINAL))
            && !street_before(*at)
            && number::read(words)
                .is_some_and(|read| words.get(read.taken..).is_some_and(number::is_whole_street))
    })
}

fn address(
    clean: &str,
    (all, body): (&[Token<'_>], &[Token<'_>]),
    main: &Main,
    place: &mut Where,
    notes: &mut Vec<Note>,
) -> Kind {
    let read = &main.read;
    if read.several {
        notes.push(Note::FirstOfSeveral);
    }
    let from = main.at + read.taken;
    let part_end = |words: &[Token<'_>]| {
        words
            .get(from..)
            .unwrap_or_default()
            .iter()
            .position(Token::is_break)
            .map_or(words.len(), |at| from + at)
    };
    let end = part_end(body);
    let words = body.get(from..end).unwrap_or_default();
    doubtful_ordinals(words, notes);
    // Words of the tail that follow the street without a comma: all of them (`7 AVENUE MALBA`), or a direction that
    // was read as part of a neighbourhood (`LORING PLACE SOUTH BRONX`).
    let after = all
        .get(end..part_end(all))
        .filter(|_| end == body.len())
        .unwrap_or_default();
    let taken = |count: usize| all.get(from..end + count);
    let names_only = !after
        .iter()
        .any(|t| t.starts_with_digit() || t.text == "NY");
    let whole = taken(after.len()).filter(|_| !after.is_empty() && names_only);
    let directed = taken(1).filter(|_| after.len() > 1 && after.first().is_some_and(is_direction));
    let mut readings = vec![AddressText {
        number: read.number,
        streets: street::split(words, [whole, directed], read.direction),
    }];
    if let Some(direction) = read.or_direction {
        let mut number = read.number;
        number.left_suffix = Suffix::NONE;
        readings.push(AddressText {
            number,
            streets: street::split(words, [None; 2], Some(direction)),
        });
    }
    if let Some((number, taken)) = read.or_only {
        let words = body.get(main.at + taken..end).unwrap_or_default();
        readings.push(AddressText {
            number,
            streets: street::split(words, [None; 2], None),
        });
    }
    readings.retain(|reading| !reading.streets.is_empty());
    let before = body.get(..main.at).unwrap_or_default();
    let unit = other_parts(
        clean,
        before,
        body.get(end..).unwrap_or_default(),
        place,
        notes,
    );
    give_unit(unit, words, &mut readings, notes);
    Kind::Address(readings)
}

fn is_direction(word: &Token<'_>) -> bool {
    word.any(DIRECTION)
}

/// The parts before and after the street's: a unit, where it is, or words that are ignored. None is passed over in
/// silence.
fn other_parts(
    clean: &str,
    before: &[Token<'_>],
    after: &[Token<'_>],
    place: &mut Where,
    notes: &mut Vec<Note>,
) -> Option<Unit> {
    let mut unit: Option<Unit> = None;
    let parts = |words| <[Token<'_>]>::split(words, Token::is_break).filter(|p| !p.is_empty());
    let before = parts(before).map(|part| (part, true, is_unit_in_front(part)));
    let after = parts(after).map(|part| (part, false, is_unit_behind(part)));
    for (part, in_front, is_unit) in before.chain(after) {
        if is_zip(part, place, notes) {
            continue;
        }
        if is_unit {
            let found = Unit::of(part, in_front);
            match (unit.as_mut(), found) {
                (_, None) => {}
                (Some(known), Some(found)) => known.or(found, notes),
                (None, found) => unit = found,
            }
            continue;
        }
        // `NO. 120 BROADWAY`.
        if part.iter().all(|t| t.any(NOISE)) || lead::whole(clean, part, place) {
            continue;
        }
        let Some(text) = street::text_of(part) else {
            continue;
        };
        match area::place(&text) {
            Some(known) if known.kind != PlaceKind::Outside => place.take(known),
            // A place outside leaves a doubt wherever it stands.
            None if in_front => notes.push(Note::InFront(text)),
            _ => notes.push(Note::Ignored(text)),
        }
    }
    unit
}

/// A unit that stands in a part of its own.
#[derive(Clone)]
struct Unit {
    text: String,
    /// Whether a designator says so: `APT 4C` more than `TOWER A`.
    explicit: bool,
    /// Whether only its place says so: a number in front, which may as well be a house's.
    guessed: bool,
}

impl Unit {
    fn of(part: &[Token<'_>], in_front: bool) -> Option<Self> {
        let lettered = |t: &Token<'_>| t.text.bytes().any(|b| b.is_ascii_uppercase());
        let number = matches!(part, [only] if only.starts_with_digit() && !lettered(only));
        Some(Self {
            text: street::unit_text(part)?,
            explicit: is_explicit(part),
            guessed: in_front && number,
        })
    }

    /// Keeps the one that says what it is, and notes the other.
    fn or(&mut self, mut other: Self, notes: &mut Vec<Note>) {
        if other.explicit && !self.explicit {
            std::mem::swap(self, &mut other);
        }
        if other.text != self.text {
            notes.push(Note::OtherUnit(other.text));
        }
    }
}

fn is_explicit(words: &[Token<'_>]) -> bool {
    words.iter().any(|t| t.any(UNIT) && t.any(NOISE))
}

/// `APT 4C`, `4TH FLOOR`, `4C`.
fn is_unit_in_front(part: &[Token<'_>]) -> bool {
    part.first()
        .is_some_and(|t| t.any(UNIT) || (part.len() == 1 && t.starts_with_digit()))
        || part.iter().any(|t| t.any(FLOOR))
}

/// What may be a unit behind a street, `APT 4C`, `GARDEN FLOOR`.
fn is_unit_behind(part: &[Token<'_>]) -> bool {
    street::looks_like_unit(part)
        || part.first().is_some_and(|t| t.any(UNIT))
        || part.last().is_some_and(|t| t.any(FLOOR))
}

/// A ZIP of the city in a part of its own: no unit has such a number. A second one is ignored.
fn is_zip(part: &[Token<'_>], place: &mut Where, notes: &mut Vec<Note>) -> bool {
    let [only] = part else {
        return false;
    };
    let Some(zip) = tail::zip_of(only.text) else {
        return false;
    };
    if !matches!(area::zip_area(zip), ZipArea::City(_) | ZipArea::Line(_)) {
        return false;
    }
    if *place.zip.get_or_insert(zip) != zip {
        notes.push(Note::Ignored(only.text.to_owned()));
    }
    true
}

/// Gives the readings the unit of a part of its own. One that stands right behind the street, among its `words`, goes
/// before, unless only the other says what it is.
fn give_unit(
    unit: Option<Unit>,
    words: &[Token<'_>],
    readings: &mut [AddressText],
    notes: &mut Vec<Note>,
) {
    let Some(unit) = unit else {
        return;
    };
    let own = readings
        .first()
        .and_then(AddressText::street)
        .and_then(|street| street.unit.clone());
    let explicit = is_explicit(words);
    let replaces = own.is_none() || (unit.explicit && !explicit);
    if let Some(text) = own {
        let mut own = Unit {
            text,
            explicit,
            guessed: false,
        };
        own.or(unit.clone(), notes);
    }
    if replaces && unit.guessed {
        notes.push(Note::ReadAsUnit(unit.text.clone()));
    }
    for street in readings.iter_mut().flat_map(|r| &mut r.streets) {
        if replaces || street.unit.is_none() {
            street.unit = Some(unit.text.clone());
        }
    }
}

fn doubtful_ordinals(words: &[Token<'_>], notes: &mut Vec<Note>) {
    for token in words.iter().filter(|t| t.starts_with_digit()) {
        let digits = token.text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, ending) = token.text.split_at_checked(digits).unwrap_or(("", ""));
        let doubtful = matches!(ending, "ND" | "RD") && !ending_fits(number, ending);
        if doubtful && !is_first(number) {
            notes.push(Note::DoubtfulOrdinal(token.text.to_owned()));
            return;
        }
    }
}

/// `BROADWAY 24`: the number after the street.
fn reversed(first: &[Token<'_>]) -> Option<Vec<AddressText>> {
    let (last, street) = first.split_last()?;
    let value: u32 = last.all_digits().then(|| last.text.parse().ok())??;
    if last.text.len() > 5 || !number::is_whole_street(street) {
        return None;
    }
    let streets = street::split(street, [None; 2], None);
    (!streets.is_empty()).then(|| {
        vec![AddressText {
            number: TypedNumber::plain(value, Suffix::NONE),
            streets,
        }]
    })
}

/// The first part that has words, and what follows it.
fn first_part<'t, 'a>(body: &'t [Token<'a>]) -> (&'t [Token<'a>], &'t [Token<'a>]) {
    let start = body.iter().take_while(|t| t.is_break()).count();
    let body = body.get(start..).unwrap_or_default();
    let end = body.iter().position(Token::is_break);
    body.split_at(end.unwrap_or(body.len()))
}

/// Takes what the parts beside a block and a lot say of where it is; the others are ignored, an address or a unit too.
pub(super) fn beside_a_lot(
    clean: &str,
    body: &[Token<'_>],
    place: &mut Where,
    notes: &mut Vec<Note>,
) {
    let of_the_lot = |t: &Token<'_>| matches!(t.text, "BLOCK" | "BLK" | "LOT");
    // `BLOCK: 835`: the number is a part of its own.
    let mut number_follows = false;
    for part in body.split(Token::is_break).filter(|part| !part.is_empty()) {
        let own = part.iter().any(of_the_lot) || (number_follows && is_number_alone(part));
        number_follows = part.last().is_some_and(of_the_lot);
        if own || lead::whole(clean, part, place) {
            continue;
        }
        notes.extend(street::text_of(part).map(Note::Ignored));
    }
}

/// `835`, `# 835`, `NO 835`.
fn is_number_alone(part: &[Token<'_>]) -> bool {
    match part {
        [only] => only.all_digits(),
        [mark, number] => matches!(mark.text, "#" | "NO") && number.all_digits(),
        _ => false,
    }
}

fn is_post_box(clean: &str) -> bool {
    ["PO BOX", "P O BOX", "POB ", "POST OFFICE BOX", "BOX "]
        .iter()
        .any(|name| clean.starts_with(name))
        || clean.contains(" PO BOX ")
        || clean.contains(" P O BOX ")
}
