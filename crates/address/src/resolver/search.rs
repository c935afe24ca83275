//! Which rows agree with a reading of an address.

use brownstone_domain::Borough;

use crate::{
    area::{self, Boroughs},
    fold::{StreetName, is_direction, is_type},
    fuzzy::Within,
    house::{HouseKey, Reading, ReadingKind, Suffix, TypedNumber},
    pad::{AddressKind, PadIndex, Posting, RowRecord},
    parse::{AddressText, StreetText},
    words::{ALONE, DIRECTIONS, STREET_TYPES, Token},
};

/// What was changed to make an address agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// A missing type was added: `22 READE`.
    TypeAdded,
    /// A missing direction was added: `212 146 STREET`.
    DirectionAdded,
    /// The name was spelled otherwise.
    Spelling,
    /// The dash was dropped: `10-22` for 1022.
    DashDropped,
    /// The suffix was dropped: there is no such `GARAGE`.
    SuffixDropped,
}

impl Change {
    /// Whether something typed was changed, and not only completed.
    pub(crate) const fn is_correction(self) -> bool {
        !matches!(self, Self::None | Self::TypeAdded)
    }
}

/// A row that agrees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) street: u32,
    /// The name typed is the one that the street displays.
    pub(crate) shown: bool,
    /// Its place in the index.
    pub(crate) at: u32,
    pub(crate) row: RowRecord,
    pub(crate) reading: Reading,
    /// What was done to the number.
    pub(crate) number: Change,
    /// What was done to the street.
    pub(crate) name: Change,
    /// Which of the texts for the street was taken.
    pub(crate) text: usize,
}

impl Hit {
    pub(crate) const fn is_corrected(&self) -> bool {
        self.number.is_correction() || self.name.is_correction()
    }
}

/// What a search found, and what it met on the way.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// A street of this name that has numbers.
    pub(crate) street: Option<Posting>,
    /// The lot of a made-up number.
    pub(crate) pseudo: Option<u64>,
    /// A stretch on which the street goes by another name.
    pub(crate) other_name: Option<(u32, u8)>,
}

impl Found {
    /// Keeps what a later search met, where this one met nothing.
    pub(crate) fn or(&mut self, later: Self) {
        if self.hits.is_empty() {
            self.hits = later.hits;
        }
        self.street = self.street.or(later.street);
        self.pseudo = self.pseudo.or(later.pseudo);
        self.other_name = self.other_name.or(later.other_name);
    }
}

/// Rows that agree with number and street as typed.
pub(crate) fn exact(index: &PadIndex, reading: &AddressText, boroughs: Boroughs) -> Found {
    let mut found = Found::default();
    for (at, text) in reading.streets.iter().enumerate() {
        for borough in boroughs.iter() {
            look(
                index,
                &text.street.key,
                borough,
                &reading.number,
                (Change::None, at),
                &mut found,
            );
        }
        if !found.hits.is_empty() {
            return found;
        }
    }
    found
}

/// Rows that agree once the street's name is completed: a type, a direction. For names that no street has.
pub(crate) fn completed(index: &PadIndex, reading: &AddressText, boroughs: Boroughs) -> Found {
    let mut found = Found::default();
    let Some(text) = reading.streets.last() else {
        return found;
    };
    let last = reading.streets.len() - 1;
    for (name, change) in variants(text) {
        for borough in boroughs.iter() {
            look(
                index,
                &name.key,
                borough,
                &reading.number,
                (change, last),
                &mut found,
            );
        }
    }
    // Completing is less of a change than correcting.
    if found.hits.iter().any(|hit| !hit.is_corrected()) {
        found.hits.retain(|hit| !hit.is_corrected());
    }
    found
}

/// Rows that agree once the street's name is spelled right. Digits, directions and type must be those typed.
///
/// Each name in each borough is a walk over the borough's names; `walks` are those that are left for one text.
pub(crate) fn respelled(
    index: &PadIndex,
    reading: &AddressText,
    boroughs: Boroughs,
    walks: &mut u8,
) -> Found {
    let mut found = Found::default();
    let Some(text) = reading.streets.last() else {
        return found;
    };
    let last = reading.streets.len() - 1;
    let typed = has_type(&text.street);
    let names: Vec<StreetName> = if typed {
        vec![text.street.clone()]
    } else {
        std::iter::once(text.street.clone())
            .chain(
                STREET_TYPES
                    .iter()
                    .take(5)
                    .map(|t| text.street.with_last(t)),
            )
            .collect()
    };
    for name in &names {
        for borough in boroughs.iter() {
            let Some(left) = walks.checked_sub(1) else {
                break;
            };
            *walks = left;
            for posting in near(index, name, borough) {
                look_at(
                    index,
                    &[(posting, Rows::All)],
                    &reading.number,
                    (Change::Spelling, last),
                    &mut found,
                );
            }
        }
    }
    // A street that is found but lacks the number was not meant.
    found.street = None;
    found.other_name = None;
    found
}

/// Streets of a borough whose names are near this one.
pub(crate) fn near(index: &PadIndex, name: &StreetName, borough: Borough) -> Vec<Posting> {
    /// Far more than one name has near it.
    const MOST: usize = 64;
    let letters: usize = name
        .name
        .split(' ')
        .filter(|w| !is_type(w) && !is_direction(w))
        .map(|w| w.bytes().filter(u8::is_ascii_alphabetic).count())
        .sum();
    let most = match letters {
        0..=4 => return Vec::new(),
        5..=7 => 1,
        _ => 2,
    };
    let Some(automaton) = Within::new(borough.digit(), &name.key, most) else {
        return Vec::new();
    };
    let mut postings = index.similar(borough, automaton, MOST);
    postings.retain(|posting| {
        let other = index.street_name(posting.street, posting.group);
        same_frame(&name.name, other)
    });
    postings.sort_unstable_by_key(|p| (p.street, p.group));
    postings.dedup();
    postings
}

/// Whether two names have the same digits, directions and types: only letters of the name itself may differ.
fn same_frame(typed: &str, other: &str) -> bool {
    fn frame(name: &str) -> impl Iterator<Item = &str> {
        // A park or a village is as often a part of the name.
        let kind = |w: &&str| is_type(w) && STREET_TYPES.contains(w);
        name.split(' ')
            .filter(move |w| kind(w) || is_direction(w) || w.bytes().any(|b| b.is_ascii_digit()))
    }
    let folded = crate::fold::fold_text(other, crate::fold::Spelling::Official);
    frame(typed).eq(frame(&folded.name))
}

fn has_type(name: &StreetName) -> bool {
    name.name.split(' ').skip(1).any(is_type)
}

/// Other names that a typed one may stand for.
pub(crate) fn variants(text: &StreetText) -> Vec<(StreetName, Change)> {
    let street = &text.street;
    let mut out = Vec::new();
    let words: Vec<&str> = street.name.split(' ').collect();
    // `D AVENUE` is AVENUE D; so may `EAST AVENUE` be, but only if it was typed `E AVENUE`.
    if let [first, "AVENUE"] = words.as_slice()
        && let Some(letter) = first.get(..1)
        && text.lettered
    {
        out.push((StreetName::of_words(["AVENUE", letter]), Change::TypeAdded));
    }
    if let [first, kind] = words.as_slice()
        && is_direction(first)
        && let Some(letter) = first.get(..1)
        && text.lettered
    {
        out.push((StreetName::of_words([letter, *kind]), Change::TypeAdded));
    }
    // `AVEUNE U`.
    if let [first, letter] = words.as_slice()
        && letter.len() == 1
        && first.len() >= 4
        && !is_type(first)
        && strsim::osa_distance(first, "AVENUE") <= 2
    {
        out.push((StreetName::of_words(["AVENUE", letter]), Change::Spelling));
    }
    if let [name @ .., last] = words.as_slice()
        && is_direction(last)
        && !name.is_empty()
    {
        match name {
            // `42 STREET WEST` is WEST 42 STREET.
            [number, _] if number.bytes().all(|b| b.is_ascii_digit()) => {
                let moved = std::iter::once(*last).chain(name.iter().copied());
                out.push((StreetName::of_words(moved), Change::TypeAdded));
            }
            // `ANDREWS SOUTH` is ANDREWS AVENUE SOUTH.
            _ if !name.iter().skip(1).any(|w| is_type(w))
                && !is_direction(name.first().unwrap_or(last)) =>
            {
                out.extend(STREET_TYPES.iter().map(|kind| {
                    let whole = name.iter().copied().chain([*kind, *last]);
                    (StreetName::of_words(whole), Change::TypeAdded)
                }));
            }
            _ => {}
        }
    }
    // `BROADWAY STREET`: the name has no type.
    if let [name, kind] = words.as_slice()
        && is_type(kind)
        && Token::new(name).any(ALONE)
    {
        out.push((StreetName::of_words([*name]), Change::Spelling));
    }
    // `HARBOR POINT S`: a direction behind a name without a type.
    if let [name @ .., letter] = words.as_slice()
        && !name.is_empty()
        && letter.len() == 1
        && let Some(direction) = DIRECTIONS.iter().find(|d| d.starts_with(letter))
    {
        let name = StreetName::of_words(name.iter().copied().chain([*direction]));
        out.push((name, Change::TypeAdded));
    }
    // `CENTRE S`, `28 S`.
    if let [name @ .., "S"] = words.as_slice()
        && !name.is_empty()
    {
        let name = StreetName::of_words(name.iter().copied().chain(["STREET"]));
        out.push((name, Change::Spelling));
    }
    // `BAY ST SOMETHING`, where ST was no Saint.
    if let Some(at) = words.iter().skip(1).position(|w| *w == "SAINT") {
        let name = words.iter().copied().take(at + 1).chain(["STREET"]);
        out.push((StreetName::of_words(name), Change::Spelling));
    }
    let last = words.last().copied().unwrap_or_default();
    let ends_in_direction = has_type(street) && is_direction(last);
    // `MORRIS PARK` may be MORRIS PARK AVENUE, `CRESCENT` CRESCENT STREET.
    let weak =
        matches!(last, "PARK" | "HEIGHTS" | "GARDENS" | "GREEN" | "VILLAGE") || words.len() == 1;
    let untyped = (weak || !is_type(last)) && !ends_in_direction;
    if untyped {
        out.extend(retyped(&words).map(|name| (name, Change::Spelling)));
        out.extend(
            STREET_TYPES
                .iter()
                .map(|kind| (street.with_last(kind), Change::TypeAdded)),
        );
    }
    let directed = words.first().is_some_and(|w| is_direction(w));
    if !directed && !untyped {
        out.extend(
            DIRECTIONS
                .iter()
                .map(|d| (street.with_first(d), Change::DirectionAdded)),
        );
    }
    out
}

/// The name with its type spelled right, where the last word, or the one before a direction, is nearly one: `49 STRET`.
fn retyped<'w>(words: &'w [&str]) -> impl Iterator<Item = StreetName> + 'w {
    // Behind a type that was not recognised, a letter was not read as a direction.
    let direction = words.last().and_then(|last| {
        DIRECTIONS
            .iter()
            .find(|d| **d == *last || (last.len() == 1 && d.starts_with(last)))
    });
    let at = words
        .len()
        .saturating_sub(1 + usize::from(direction.is_some()));
    let written = words
        .get(at)
        .copied()
        .filter(|_| at > 0)
        .unwrap_or_default();
    STREET_TYPES
        .iter()
        .filter(move |kind| {
            let most = if kind.len() >= 8 { 2 } else { 1 };
            written.len() >= 4
                && written.len().abs_diff(kind.len()) <= most
                && strsim::osa_distance(written, kind) <= most
        })
        .map(move |kind| {
            let before = words.iter().copied().take(at);
            StreetName::of_words(before.chain([*kind]).chain(direction.copied()))
        })
}

/// Which rows of a street count.
#[derive(Debug, Clone, Copy)]
enum Rows {
    All,
    /// Those of lots in this borough by law, or in a ZIP that it shares: the street's code is another borough's.
    OfBorough(Borough),
}

/// Looks for a number on the streets of a borough with this name.
fn look(
    index: &PadIndex,
    key: &str,
    borough: Borough,
    number: &TypedNumber,
    name: (Change, usize),
    found: &mut Found,
) {
    let mut streets: Vec<(Posting, Rows)> = Vec::with_capacity(2);
    streets.extend(index.streets(borough, key).map(|posting| {
        let rows = if posting.across {
            Rows::OfBorough(borough)
        } else {
            Rows::All
        };
        (posting, rows)
    }));
    if !streets.is_empty() {
        look_at(index, &streets, number, name, found);
    }
}

fn look_at(
    index: &PadIndex,
    streets: &[(Posting, Rows)],
    number: &TypedNumber,
    name: (Change, usize),
    found: &mut Found,
) {
    let before = found.hits.len();
    let mut made_up = false;
    for reading in number.readings().iter() {
        let change = match reading.kind {
            ReadingKind::DashDropped => Change::DashDropped,
            _ => Change::None,
        };
        made_up |= collect(index, streets, reading, (change, name), found);
        let stands = found.hits.len() > before;
        // `13103` may be 131-03 and 13-103: where both stand, other parts of the text say which is meant, or no one. A
        // likelier one that was made up is no reason to take the other.
        let may_be_another = reading.kind == ReadingKind::HyphenAdded && stands;
        if !may_be_another && (stands || made_up) {
            return;
        }
    }
    if found.hits.len() > before || made_up {
        return;
    }
    let suffix = suffix_of(number);
    if !suffix.is_none() {
        without_suffix(index, streets, number, name, found);
    }
    for (posting, rows) in streets {
        if matches!(rows, Rows::All)
            && found.street.is_none()
            && index
                .rows_of(posting.street)
                .next_back()
                .is_some_and(|(_, row)| row.kind.is_numbered())
        {
            found.street = Some(*posting);
        }
    }
}

fn suffix_of(number: &TypedNumber) -> Suffix {
    match number.dash {
        Some(dash) if number.left_suffix.is_none() => dash.suffix,
        _ => number.left_suffix,
    }
}

/// Adds the rows that hold the number; says whether it is a made-up one.
fn collect(
    index: &PadIndex,
    streets: &[(Posting, Rows)],
    reading: Reading,
    (number, (name, text)): (Change, (Change, usize)),
    found: &mut Found,
) -> bool {
    let mut made_up = false;
    for (posting, rows) in streets {
        for (at, row) in index.rows_at(posting.street, reading.low) {
            if !counts(index, &row, *rows) {
                continue;
            }
            if row.kind == AddressKind::Pseudo {
                found.pseudo = Some(index.building(row.building).bbl);
                made_up = true;
            } else if !row.takes(posting.group) {
                found.other_name = Some((posting.street, row.group));
            } else {
                found.hits.push(Hit {
                    street: posting.street,
                    shown: posting.shown && posting.group == row.group,
                    at,
                    row,
                    reading,
                    number,
                    name,
                    text,
                });
            }
        }
    }
    made_up
}

fn counts(index: &PadIndex, row: &RowRecord, rows: Rows) -> bool {
    match rows {
        Rows::All => true,
        Rows::OfBorough(borough) => crate::pad::bbl_of(index.building(row.building).bbl)
            .is_some_and(|bbl| {
                let law = bbl.borough();
                law == borough
                    || area::typed_borough(law, bbl.block(), u32::from(row.zip)) == Some(borough)
            }),
    }
}

/// The main building where the number has no such suffix; none where its letters are buildings of their own.
fn without_suffix(
    index: &PadIndex,
    streets: &[(Posting, Rows)],
    number: &TypedNumber,
    name: (Change, usize),
    found: &mut Found,
) {
    let suffix = suffix_of(number);
    let mut bare = *number;
    bare.left_suffix = Suffix::NONE;
    if let Some(dash) = &mut bare.dash {
        dash.suffix = Suffix::NONE;
    }
    let before = found.hits.len();
    for reading in bare.readings().iter().take(1) {
        collect(
            index,
            streets,
            reading,
            (Change::SuffixDropped, name),
            found,
        );
        if suffix.is_letter() && found.hits.len() > before {
            let main: Vec<u32> = found
                .hits
                .iter()
                .skip(before)
                .map(|hit| hit.row.building)
                .collect();
            if lettered(index, streets, reading.low, &main) {
                found.hits.truncate(before);
            }
        }
    }
}

/// Whether letters of this number are other buildings than the number itself.
fn lettered(index: &PadIndex, streets: &[(Posting, Rows)], number: HouseKey, main: &[u32]) -> bool {
    ('A'..='Z').any(|letter| {
        let mut text = [0; 4];
        let Some(suffix) = Suffix::from_text(letter.encode_utf8(&mut text)) else {
            return false;
        };
        streets.iter().any(|(posting, _)| {
            index
                .rows_at(posting.street, number.with_suffix(suffix))
                .any(|(_, row)| !main.contains(&row.building))
        })
    })
}

/// The numbers next to one that a street does not have.
pub(crate) fn neighbours_of(
    index: &PadIndex,
    street: u32,
    number: HouseKey,
) -> (Option<HouseKey>, Option<HouseKey>) {
    let mut below = None;
    for (_, row) in index.rows_of(street) {
        if !row.kind.is_numbered()
            || row.kind == AddressKind::Pseudo
            || row.low.is_hyphenated() != number.is_hyphenated()
        {
            continue;
        }
        if row.low.base() > number.base() {
            return (below, Some(row.low));
        }
        below = Some(row.high).max(below);
    }
    (below, None)
}
