//! More numbers than one before a street: `2 & 4 X STREET`, `217, 219 Y STREET`, `43-06 - 43-12 46 STREET`.

use super::number::{Read, digit_count, is_type_of_before, shape, starts_a_street};
use crate::{
    house::{Dash, TypedNumber},
    words::{Token, UNIT},
};

/// Takes the numbers that follow the first. `false` where the first is no house number: a unit, before the comma of
/// `4C, 120 BROADWAY`.
pub(super) fn more_numbers(read: &mut Read, words: &[Token<'_>]) -> bool {
    let mut last = read.number;
    let mut both_sides = false;
    while let Some(joint) = words.get(read.taken) {
        let next = words.get(read.taken + 1);
        let number = next.and_then(|t| shape(t.text));
        let rest = words.get(read.taken + 2..).unwrap_or_default();
        match (joint.text, number) {
            ("-", Some(end)) if starts_a_street(rest) && is_second(next, rest) => {
                match (read.number.dash, end.number.dash) {
                    (Some(_), Some(dash)) => read.number.to = Some((end.number.left, dash)),
                    (None, None) => {
                        read.number.dash = Some(Dash {
                            value: end.number.left,
                            digits: next.map_or(5, |t| digit_count(t.text)),
                            suffix: end.number.left_suffix,
                            blank: false,
                        });
                    }
                    _ => read.several = true,
                }
                read.taken += 2;
            }
            ("&" | "AND" | "," | "TO", Some(other))
                if (starts_a_street(rest) || goes_on(rest)) && is_second(next, rest) =>
            {
                both_sides |= has_both_sides(&other.number, rest);
                if joint.text == "," && !goes_with(&last, &other.number, both_sides) {
                    return false;
                }
                last = other.number;
                read.several = true;
                read.taken += 2;
            }
            ("-" | ",", _) if next.is_some_and(|t| !t.any(UNIT)) => read.taken += 1,
            _ => return true,
        }
    }
    true
}

/// Whether a list of numbers goes on: `& 124` of `120, 122 & 124 BROADWAY`.
fn goes_on(rest: &[Token<'_>]) -> bool {
    matches!(rest, [joint, number, ..]
        if matches!(joint.text, "&" | "AND" | ",") && shape(number.text).is_some())
}

/// Whether a list goes on with a number of the other side of the street: `2 AND 3` of `1, 2 AND 3 MAIN STREET`.
fn has_both_sides(number: &TypedNumber, rest: &[Token<'_>]) -> bool {
    let side = |number: &TypedNumber| number.dash.map_or(number.left, |dash| dash.value) % 2;
    let next = rest.get(1).filter(|_| goes_on(rest));
    is_second(next, rest.get(2..).unwrap_or_default())
        && next
            .and_then(|t| shape(t.text))
            .is_some_and(|next| side(&next.number) != side(number))
}

/// Whether a second number is one, and not a numbered street: `219 Y STREET`, not `5 AVENUE` nor `5TH AVENUE`.
fn is_second(number: Option<&Token<'_>>, rest: &[Token<'_>]) -> bool {
    let ordinal = number.is_some_and(|t| t.is_street_number() && !t.all_digits());
    let hyphenated = number.is_some_and(|t| t.text.contains('-'));
    let numbered = rest.first().is_some_and(|t| is_type_of_before(t, rest));
    !ordinal && (hyphenated || !numbered)
}

/// Whether a number after a comma goes on where the first ended: a building's numbers are near each other, and on one
/// side of the street, unless the list has both.
fn goes_with(first: &TypedNumber, second: &TypedNumber, both_sides: bool) -> bool {
    /// The widest gap in a list that people write out.
    const GAP: u32 = 20;
    let near = |a: u32, b: u32| (both_sides || a % 2 == b % 2) && a.abs_diff(b) <= GAP;
    let lettered = |number: &TypedNumber| {
        !number.left_suffix.is_none() || number.dash.is_some_and(|dash| !dash.suffix.is_none())
    };
    if lettered(first) {
        // `508A, 508B`, and no `4C, 120`.
        return lettered(second) && first.left == second.left;
    }
    match (first.dash, second.dash) {
        // `43-06, 43-08`, `31-99, 32-01`, `10-14, 16-18`.
        (Some(one), Some(other)) => match first.left.abs_diff(second.left) {
            0 => near(one.value, other.value),
            1 => true,
            _ => near(one.value, second.left),
        },
        // `10-14, 16`, `338-50, 352`.
        (Some(one), None) => near(one.value, second.left) || near(first.left, second.left),
        // `41, 43-06`: a unit, whose number says nothing of a block's.
        (None, Some(_)) => false,
        (None, None) => near(first.left, second.left),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::number::read;
    use crate::{text::clean, words::tokens};

    #[rstest]
    #[case("217, 219 Main Street", true)]
    #[case("120, 122 & 124 Main Street", true)]
    #[case("508A, 508B Brook Avenue", true)]
    #[case("43-06, 43-08 46 Street", true)]
    #[case("31-99, 32-01 Main Street", true)]
    #[case("10-14, 16 Main Street", true)]
    #[case("350, 5 Avenue", true)]
    #[case("1, 2 and 3 Main Street", true)]
    #[case("1, 2, 3 Main Street", true)]
    #[case("4C, 120 Broadway", false)]
    #[case("5, 120 Broadway", false)]
    #[case("12, 120 Broadway", false)]
    #[case("10271, 120 Broadway", false)]
    #[case("41, 43-06 46 Street", false)]
    #[case("41, 43-06 & 43-08 46 Street", false)]
    #[case("5, 12 & 14 Broadway", false)]
    #[case("5, 120 & 121 Broadway", false)]
    #[case("4, 5, 6 Avenue", false)]
    fn a_unit_before_a_comma_is_no_house_number(#[case] typed: &str, #[case] number: bool) {
        let clean = clean(typed);
        assert_eq!(read(&tokens(&clean)).is_some(), number);
    }
}
