//! What people type, taken apart: number, street, unit, and where.
//!
//! The parser decides nothing that needs the city's files. Where a text can be read in several ways it says so, in the
//! order of likelihood, and the resolver takes the first reading that exists.

mod ids;
mod lead;
mod number;
mod place;
mod segments;
mod several;
mod states;
mod street;
mod tail;

use brownstone_domain::{Bbl, Bin};

pub use self::place::{NewYork, Where};
use crate::{
    fold::StreetName,
    house::TypedNumber,
    words::{DIRECTION, Token},
};

/// A typed text, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed {
    /// What it names.
    pub kind: Kind,
    /// Where it says that is.
    pub place: Where,
    /// What was passed over or set right on the way; whole sentences.
    pub notes: Vec<Note>,
}

/// What a text names.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A house number and a street: one reading or more, the likeliest first.
    Address(Vec<AddressText>),
    /// Words without a number: a place's name, a street alone, or an area.
    Place(Vec<StreetName>),
    /// A tax lot by its ten digits, or by borough, block and lot.
    Bbl(Bbl),
    /// A block and lot whose borough the text leaves open.
    BlockLot(u32, u16),
    /// A building by its seven digits.
    Bin(Bin),
    /// Digits that are no identifier: too many, a wrong borough, a placeholder. The sentence says which.
    BadIdentifier(&'static str),
    /// A corner or a stretch between streets.
    Intersection,
    /// A post box.
    PostBox,
    /// Nothing that names a building.
    Nothing,
}

/// A house number and a street.
#[derive(Debug, Clone, PartialEq)]
pub struct AddressText {
    /// The number as typed; its readings are tried in order.
    pub number: TypedNumber,
    /// The street, with less and less of the words that may belong to it.
    pub streets: Vec<StreetText>,
}

/// A street, and what stood after it.
#[derive(Debug, Clone, PartialEq)]
pub struct StreetText {
    /// The folded name.
    pub street: StreetName,
    /// The unit, without its designator.
    pub unit: Option<String>,
    /// Words right after the name that are neither its own nor a unit.
    pub dropped: Option<String>,
    /// Whether the first word typed was one letter: `S` of `S AVENUE`, which folds to SOUTH and may be a letter's avenue.
    pub(crate) lettered: bool,
}

impl AddressText {
    /// The street with all that is not its own taken off.
    pub fn street(&self) -> Option<&StreetText> {
        self.streets.last()
    }
}

/// Something the caller should know about how the text was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A borough's or a city's name was misspelled.
    Misspelled {
        /// As typed.
        typed: String,
        /// As read.
        read: String,
    },
    /// Words in a part of their own that are no part of an address, and may be a city that we do not know.
    Ignored(String),
    /// Such words in front of the house number, where no city is looked for.
    InFront(String),
    /// A number alone in front of the house number.
    ReadAsUnit(String),
    /// A unit beside the one that was taken, or a tower or a floor that it is in.
    OtherUnit(String),
    /// Several house numbers, of which the first was taken.
    FirstOfSeveral,
    /// A number with an ending it cannot have, such as `8ND`.
    DoubtfulOrdinal(String),
}

impl Note {
    /// Whether it means that something typed was changed.
    pub(crate) const fn is_correction(&self) -> bool {
        matches!(self, Self::Misspelled { .. } | Self::DoubtfulOrdinal(_))
    }

    /// The sentence for the caller.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Misspelled { typed, read } => format!("\"{typed}\" was read as {read}."),
            Self::Ignored(text) | Self::InFront(text) => {
                format!("\"{text}\" is no part of the address and was ignored.")
            }
            Self::ReadAsUnit(text) => format!("\"{text}\" was read as a unit."),
            Self::OtherUnit(text) => format!("\"{text}\" stands beside the unit and was ignored."),
            Self::FirstOfSeveral => {
                "Several house numbers were typed; the first was taken.".to_owned()
            }
            Self::DoubtfulOrdinal(text) => {
                format!("\"{text}\" is not how a number ends; its ending was ignored.")
            }
        }
    }
}

/// Takes a text apart.
///
/// # Errors
/// A whole sentence where the text is empty, longer than 200 characters, or holds control characters. Everything else
/// is read as something, if only as [`Kind::Nothing`].
///
/// ```
/// use brownstone_address::parse::{Kind, parse};
/// let typed = parse("350 Fifth Avenue Apt 4C, NYC 10118-0110").unwrap();
/// let Kind::Address(readings) = &typed.kind else { panic!() };
/// assert_eq!(readings[0].number.to_string(), "350");
/// let street = readings[0].street().unwrap();
/// assert_eq!((street.street.name.as_str(), street.unit.as_deref()), ("5 AVENUE", Some("4C")));
/// assert_eq!(typed.place.zip, Some(10118));
/// ```
pub fn parse(text: &str) -> Result<Typed, &'static str> {
    crate::text::check(text)?;
    let clean = crate::text::clean(text);
    let mut tokens = crate::words::tokens(&clean);
    let mut notes = Vec::new();
    if let Some(kind) = ids::bare(&tokens) {
        return Ok(Typed {
            kind,
            place: Where::default(),
            notes,
        });
    }
    let mut tail = tail::read(&clean, &tokens, &mut notes);
    if !tail.place.says_city() && tail.place.outside.is_none() {
        // The city may stand before a unit, or before words that say nothing: `100 BROADWAY, BROOKLYN, APT 4C`.
        for at in segments::earlier_ends(tokens.get(..tail.end).unwrap_or_default()) {
            let (head, rest) = tokens.split_at_checked(at).unwrap_or((&tokens, &[]));
            let mut noticed = Vec::new();
            let earlier = tail::read(&clean, head, &mut noticed);
            if earlier.place.adds_to(&tail.place) {
                notes.append(&mut noticed);
                let kept = head.get(..earlier.end).unwrap_or_default();
                let unread = rest.get(..tail.end.saturating_sub(at)).unwrap_or_default();
                let place = earlier.place.with(tail.place);
                tokens = [kept, &[Token::new(",")], unread].concat();
                tail = tail::Read {
                    place,
                    end: tokens.len(),
                };
                break;
            }
        }
    }
    let mut place = tail.place;
    if !place.says_city()
        && let Some((words, first)) = lead::read(&clean, &tokens, &place)
    {
        // `BROOKLYN 100 BROADWAY`, `10118, 350 5 AVENUE`.
        tokens.drain(..words);
        tail.end = tail.end.saturating_sub(words);
        place = first.with(place);
    }
    if place.is_silent()
        && let Some(first) = lead::first_part(&tokens)
    {
        place.take(first);
    }
    let body = tokens.get(..tail.end).unwrap_or_default();
    let lot = ids::block_and_lot(&tokens);
    if lot.is_some() {
        segments::beside_a_lot(&clean, body, &mut place, &mut notes);
    }
    let mut kind = match lot {
        Some((block, lot)) => match place.borough().filter(|_| place.also.is_empty()) {
            Some(borough) => Bbl::new(borough, block, lot).map_or(
                Kind::BadIdentifier("The block or the lot is outside its range."),
                Kind::Bbl,
            ),
            None => Kind::BlockLot(block, lot),
        },
        None => segments::kind(&clean, &tokens, body, &mut place, &mut notes),
    };
    // `PELHAM PKWY SOUTH BRONX`: the direction may be the street's and not the neighbourhood's. A last resort.
    if let Kind::Address(readings) = &mut kind
        && tokens.get(tail.end).is_some_and(|next| next.any(DIRECTION))
    {
        let longer = tokens.get(..=tail.end).unwrap_or_default();
        let (mut place, mut notes) = (place.clone(), Vec::new());
        if let Kind::Address(more) = segments::kind(&clean, &tokens, longer, &mut place, &mut notes)
        {
            readings.extend(more);
        }
    }
    place.look_at_the_rest(body, &kind, &notes);
    Ok(Typed { kind, place, notes })
}

#[cfg(test)]
mod tests;
