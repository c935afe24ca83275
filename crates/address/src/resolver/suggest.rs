//! Addresses that go on as somebody has begun to type: the names of streets are walked by their beginnings, and of each street only the
//! row that holds the number is looked at. The work is bounded, whatever is typed and however large the city is.

use brownstone_domain::Borough;

use super::building;
use crate::{
    area::{self, Boroughs, PlaceKind},
    fold::{Spelling, fold_text},
    house::{HouseKey, TypedNumber},
    pad::{AddressKind, PadIndex, Posting, RowRecord},
    text,
};

/// Suggestions that are given at most.
pub const MOST: usize = 8;

/// Names that one walk reads at most. There are at most two walks for each of two spellings in each borough, and three tries.
const NAMES: usize = 48;

/// Rows of one street that are looked at.
const ROWS: usize = 16;

/// Letters that the beginning of a place's name needs: a shorter one says nothing.
const PLACE_LETTERS: usize = 3;

/// Where it is, as far as that was typed.
#[derive(Debug, Clone, Copy)]
struct Where<'a> {
    boroughs: Boroughs,
    /// The beginning of a ZIP code.
    zip: &'a str,
}

/// A row that fits, and how well.
struct Fit {
    /// The whole name before its beginning, letters before more digits, short names before long ones, boroughs in the city's order.
    rank: (u8, usize, u8),
    street: u32,
    row: RowRecord,
    number: Option<HouseKey>,
}

/// Addresses on one line each that go on as `typed` begins, the likeliest first, at most [`MOST`].
pub(super) fn suggest(index: &PadIndex, typed: &str) -> Vec<String> {
    if text::check(typed).is_err() {
        return Vec::new();
    }
    let clean = text::clean(typed);
    let (head, rest) = clean.split_once(',').unwrap_or((&clean, ""));
    let words: Vec<&str> = head.split_whitespace().collect();
    let place = places(rest);
    let found = tries(index, &words, place);
    if !found.is_empty() || !rest.is_empty() {
        return found;
    }
    // `350 5 AVE BROOKLYN`, without a comma.
    for last in 1..=2_usize {
        let Some((street, name)) = words
            .len()
            .checked_sub(last)
            .and_then(|at| words.split_at_checked(at))
        else {
            break;
        };
        let Some(boroughs) = boroughs_of(&name.join(" ")) else {
            continue;
        };
        let place = Where { boroughs, zip: "" };
        let found = tries(index, street, place);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// What stands behind the street: boroughs, cities and ZIP codes, whole or begun. What is not understood narrows nothing.
fn places(rest: &str) -> Where<'_> {
    let mut out = Where {
        boroughs: Boroughs::ALL,
        zip: "",
    };
    for part in rest.split(',') {
        let mut part = part.trim();
        if let Some(zip) = part.split(' ').next_back()
            && !zip.is_empty()
            && zip.len() <= 5
            && zip.bytes().all(|byte| byte.is_ascii_digit())
        {
            out.zip = zip;
            part = part.strip_suffix(zip).unwrap_or(part).trim();
        }
        let name = part.strip_suffix(" NY").unwrap_or(part);
        if let Some(boroughs) = boroughs_of(name) {
            out.boroughs = out.boroughs.and(boroughs);
        }
    }
    out
}

/// The boroughs of a place, by its name or by the beginning of a borough's.
fn boroughs_of(name: &str) -> Option<Boroughs> {
    const NAMES: [(&str, Borough); 6] = [
        ("MANHATTAN", Borough::Manhattan),
        ("NEW YORK", Borough::Manhattan),
        ("BRONX", Borough::Bronx),
        ("BROOKLYN", Borough::Brooklyn),
        ("QUEENS", Borough::Queens),
        ("STATEN ISLAND", Borough::StatenIsland),
    ];
    if let Some(place) = area::place(name) {
        return (place.kind != PlaceKind::Outside).then_some(place.boroughs);
    }
    let mut begun = NAMES.iter().filter(|(whole, _)| whole.starts_with(name));
    let (_, borough) = begun.next().filter(|_| name.len() >= PLACE_LETTERS)?;
    Some(Boroughs::only(*borough))
}

/// What goes on as these words of a number and a street, or of a place's name, begin.
fn tries(index: &PadIndex, words: &[&str], place: Where<'_>) -> Vec<String> {
    let Some((first, street)) = words.split_first() else {
        return Vec::new();
    };
    let mut fits = Vec::new();
    if first.starts_with(|c: char| c.is_ascii_digit()) && !street.is_empty() {
        let numbers = numbers(first);
        if !numbers.is_empty() {
            fit(index, street, &numbers, place, &mut fits);
        }
    } else if !first.starts_with(|c: char| c.is_ascii_digit())
        && first.len() + street.len() >= PLACE_LETTERS
    {
        fit(index, words, &[], place, &mut fits);
    }
    fits.sort_by_key(|fit| fit.rank);
    let mut lines: Vec<String> = Vec::with_capacity(MOST);
    for fit in fits {
        let number = fit.number.map(|number| number.to_string());
        let line = building::line(index, fit.street, &fit.row, number);
        if !lines.contains(&line) {
            lines.push(line);
        }
        if lines.len() == MOST {
            break;
        }
    }
    lines
}

/// The numbers that one typed word may be: as it stands, or with the hyphen that Queens writes.
fn numbers(word: &str) -> Vec<HouseKey> {
    let Some(number) = HouseKey::from_shown(word) else {
        return Vec::new();
    };
    if number.is_hyphenated() {
        return vec![number];
    }
    let typed = TypedNumber::plain(number.left(), number.suffix());
    typed.readings().iter().map(|reading| reading.low).collect()
}

fn fit(
    index: &PadIndex,
    words: &[&str],
    numbers: &[HouseKey],
    place: Where<'_>,
    fits: &mut Vec<Fit>,
) {
    for start in starts(words) {
        for borough in place.boroughs.iter() {
            let mut look = |class: u8, length: usize, posting: Posting| {
                let found = row_of(index, borough, posting, numbers, place.zip);
                if let Some((row, number)) = found {
                    fits.push(Fit {
                        rank: (class, length, borough.digit()),
                        street: posting.street,
                        row,
                        number,
                    });
                }
            };
            for posting in index.streets(borough, &start) {
                look(0, start.len(), posting);
            }
            // Digits sort first, and there are many numbered streets: `5` means 5 Avenue before it means 50 Street.
            index.beginning(borough, &start, b'A'..b'Z' + 1, NAMES, |length, posting| {
                look(1, length, posting);
            });
            index.beginning(borough, &start, b'0'..b'9' + 1, NAMES, |length, posting| {
                look(2, length, posting);
            });
        }
    }
}

/// The beginnings of folded names that these words may be: the last word as it would be read if it were whole, and as it stands.
fn starts(words: &[&str]) -> Vec<String> {
    let whole = fold_text(&words.join(" "), Spelling::Typed).key;
    let mut out = vec![whole];
    if let Some((last, before)) = words.split_last()
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
    {
        let mut begun = fold_text(&before.join(" "), Spelling::Typed).key;
        begun.push_str(last);
        if out.first() != Some(&begun) {
            out.push(begun);
        }
    }
    out.retain(|start| !start.is_empty());
    out
}

/// The street's row that has the number; of a place the row that is one.
fn row_of(
    index: &PadIndex,
    borough: Borough,
    posting: Posting,
    numbers: &[HouseKey],
    zip: &str,
) -> Option<(RowRecord, Option<HouseKey>)> {
    let fits = |row: &RowRecord| {
        let own = !posting.across
            || crate::pad::bbl_of(index.building(row.building).bbl)
                .is_some_and(|bbl| bbl.borough() == borough);
        own && row.kind != AddressKind::Pseudo
            && row.takes(posting.group)
            && (zip.is_empty() || format!("{:05}", building::zip_of(index, row)).starts_with(zip))
    };
    if numbers.is_empty() {
        let rows = index.rows_of(posting.street).take(ROWS);
        let mut places = rows.map(|(_, row)| row).filter(|row| row.kind.is_place());
        return places.find(fits).map(|row| (row, None));
    }
    numbers.iter().find_map(|number| {
        let rows = index.rows_at(posting.street, *number).take(ROWS);
        let row = rows.map(|(_, row)| row).find(fits)?;
        Some((row, Some(*number)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use proptest::prelude::*;

    use super::*;
    use crate::{pad::traps::traps, resolver::Resolver};

    static TRAPS: LazyLock<Resolver> = LazyLock::new(|| Resolver::new(Arc::new(traps().build())));

    /// Names that one text may make be read: three tries, two spellings, five boroughs, two walks and a look-up each.
    const LOOKUPS: usize = 3 * 2 * 5 * (2 * NAMES + 1);

    #[test]
    fn a_beginning_is_enough() {
        let first = |typed: &str| TRAPS.suggest(typed).into_iter().next().unwrap_or_default();
        let empire = "350 5 AVENUE, New York, NY 10118";
        for typed in [
            "350 5",
            "350 5th",
            "350 5 av",
            "350 5th ave",
            "350 fifth aven",
            "350 5th ave, man",
            "350 5th ave, new york, ny 101",
            "350 5th avenue manhattan",
        ] {
            assert_eq!(first(typed), empire, "{typed}");
        }
        assert_eq!(
            first("empire st"),
            "EMPIRE STATE BUILDING, New York, NY 10118"
        );
        assert_eq!(
            first("350 5th ave, brook"),
            "350 5 AVENUE, Brooklyn, NY 11215"
        );
        // No such number, nothing but a number, another borough, another ZIP.
        for typed in [
            "351 5th ave",
            "350",
            "",
            " , ",
            "350 5th ave, queens",
            "350 5th ave, 11201",
            "\u{7}",
        ] {
            assert_eq!(TRAPS.suggest(typed), [""; 0], "{typed}");
        }
    }

    proptest! {
        #[test]
        fn what_is_suggested_resolves(number in 1u32..400, street in prop::sample::select(vec![
            "5 AVENUE", "BROADWAY", "RIVERSIDE DRIVE", "WEST 100 STREET", "37 STREET", "EAST 37 STREET", "13 AVENUE", "46 STREET"
        ]), cut in 1usize..16) {
            let begun: String = street.chars().take(cut).collect();
            for line in TRAPS.suggest(&format!("{number} {begun}")) {
                prop_assert!(TRAPS.resolve(&line).is_ok(), "{line}");
            }
        }

        #[test]
        fn any_text_is_cheap_and_gives_few(text in "\\PC{0,200}") {
            let before = PadIndex::work();
            let found = TRAPS.suggest(&text);
            let after = PadIndex::work();
            prop_assert!(found.len() <= MOST);
            prop_assert!(after.0 - before.0 <= LOOKUPS, "{} names for {text}", after.0 - before.0);
        }
    }
}
