//! A sale's address in parts: the table writes the unit behind the address, in its own column, or both.

/// Parts of an address, each a piece of what was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts<'a> {
    /// Without the unit.
    pub(crate) address: &'a [u8],
    /// The first word, when it begins with a digit.
    pub(crate) house_number: &'a [u8],
    /// What follows it.
    pub(crate) street: &'a [u8],
    /// The unit, from its column, else from behind the address.
    pub(crate) unit: &'a [u8],
    /// The unit stood behind the address and not in its column.
    pub(crate) unit_in_address: bool,
}

/// Words that say "unit" before one.
const UNIT_WORDS: [&[u8]; 6] = [b"#", b"APT.", b"APT", b"UNIT", b"STE", b"PH#"];

/// Takes address and unit column apart.
pub(crate) fn split<'a>(address: &'a [u8], unit: &'a [u8]) -> Parts<'a> {
    let address = address.trim_ascii();
    let unit = unit.trim_ascii();
    let (base, behind) = match address.iter().position(|b| *b == b',') {
        Some(comma) => (
            address.get(..comma).unwrap_or_default().trim_ascii(),
            address.get(comma + 1..).unwrap_or_default().trim_ascii(),
        ),
        None => worded_unit(address),
    };
    let behind = without_word(behind);
    let from_column = !unit.is_empty();
    let space = base.iter().position(|b| *b == b' ');
    let (house_number, street) = match (base.first(), space) {
        (Some(b'0'..=b'9'), Some(space)) => (
            base.get(..space).unwrap_or_default(),
            base.get(space..).unwrap_or_default().trim_ascii(),
        ),
        // What stands for the number of a lot without one.
        _ => (&[][..], base.strip_prefix(b"N/A ").unwrap_or(base)),
    };
    Parts {
        address: base,
        house_number,
        street,
        unit: if from_column { unit } else { behind },
        unit_in_address: !from_column && !behind.is_empty(),
    }
}

/// An address whose unit is announced by a word and no comma: `10 MAIN STREET #4C`, `10 MAIN STREET APT 4C`.
fn worded_unit(address: &[u8]) -> (&[u8], &[u8]) {
    if let Some(at) = address.iter().rposition(|b| *b == b'#') {
        let (base, unit) = address.split_at(at);
        return (base.trim_ascii(), unit);
    }
    for word in [&b" APT "[..], b" UNIT "] {
        if let Some(at) = address
            .windows(word.len())
            .rposition(|w| w.eq_ignore_ascii_case(word))
        {
            let (base, unit) = address.split_at(at);
            if !base.is_empty() {
                return (base.trim_ascii(), unit.trim_ascii());
            }
        }
    }
    (address, &[])
}

fn without_word(unit: &[u8]) -> &[u8] {
    for word in UNIT_WORDS {
        if let Some((start, rest)) = unit.split_at_checked(word.len())
            && start.eq_ignore_ascii_case(word)
            && (word == b"#" || matches!(rest.first(), Some(b' ' | b'#')))
        {
            return without_word(rest.trim_ascii());
        }
    }
    unit
}

/// A unit as it is compared: letters and digits alone, upper case, leading zeros dropped.
pub(crate) fn unit_key(unit: &[u8]) -> u64 {
    let kept = without_word(unit.trim_ascii())
        .iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_uppercase)
        .skip_while(|b| *b == b'0');
    super::fold(kept)
}

/// Words of a street that are written long or short, and numbers that are written as words.
const SAME: &[(&[u8], &[u8])] = &[
    (b"AVE", b"AVENUE"),
    (b"AV", b"AVENUE"),
    (b"ST", b"STREET"),
    (b"STR", b"STREET"),
    (b"PL", b"PLACE"),
    (b"RD", b"ROAD"),
    (b"DR", b"DRIVE"),
    (b"BLVD", b"BOULEVARD"),
    (b"LN", b"LANE"),
    (b"CT", b"COURT"),
    (b"PKWY", b"PARKWAY"),
    (b"TER", b"TERRACE"),
    (b"E", b"EAST"),
    (b"W", b"WEST"),
    (b"N", b"NORTH"),
    (b"S", b"SOUTH"),
    (b"FIRST", b"1"),
    (b"SECOND", b"2"),
    (b"THIRD", b"3"),
    (b"FOURTH", b"4"),
    (b"FIFTH", b"5"),
    (b"SIXTH", b"6"),
    (b"SEVENTH", b"7"),
    (b"EIGHTH", b"8"),
    (b"NINTH", b"9"),
    (b"TENTH", b"10"),
    (b"ELEVENTH", b"11"),
    (b"TWELFTH", b"12"),
];

/// A house number and street as they are compared: `368 THIRD AVE` and `368 3RD AVENUE` are one.
pub(crate) fn street_key(house_number: &[u8], street: &[u8]) -> u64 {
    let mut folded: Vec<u8> = Vec::with_capacity(64);
    folded.extend(house_number.iter().map(u8::to_ascii_uppercase));
    let mut words = street
        .split(|b| matches!(b, b' ' | b'.'))
        .filter(|word| !word.is_empty())
        .peekable();
    let mut first = true;
    while let Some(word) = words.next() {
        folded.push(b' ');
        let last = words.peek().is_none();
        let start = folded.len();
        folded.extend(word.iter().map(u8::to_ascii_uppercase));
        let upper = folded.get(start..).unwrap_or_default();
        // `AVENUE E` keeps its letter; `E 9 STREET` is east. `ST` before a name is a saint.
        let keeps = (word.len() == 1 && (last || !first)) || (first && upper == b"ST");
        let shorter = ordinal_digits(upper);
        if let Some(digits) = shorter {
            folded.truncate(start + digits);
        } else if !keeps && let Some((_, long)) = SAME.iter().find(|(short, _)| *short == upper) {
            folded.truncate(start);
            folded.extend_from_slice(long);
        }
        first = false;
    }
    super::fold(folded.into_iter())
}

/// How many digits an ordinal such as `178TH` starts with.
fn ordinal_digits(word: &[u8]) -> Option<usize> {
    let digits = word.iter().take_while(|b| b.is_ascii_digit()).count();
    let end = word.get(digits..)?;
    (digits > 0 && matches!(end, b"ST" | b"ND" | b"RD" | b"TH")).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(address: &str, unit: &str) -> (String, String, String, String, bool) {
        let parts = split(address.as_bytes(), unit.as_bytes());
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        (
            text(parts.address),
            text(parts.house_number),
            text(parts.street),
            text(parts.unit),
            parts.unit_in_address,
        )
    }

    #[test]
    fn units_inside_addresses() {
        let rows = [
            (
                "21-23 AVENUE C, 4C",
                "",
                "21-23 AVENUE C",
                "21-23",
                "AVENUE C",
                "4C",
                true,
            ),
            (
                "368 THIRD AVENUE, 3D",
                "3D",
                "368 THIRD AVENUE",
                "368",
                "THIRD AVENUE",
                "3D",
                false,
            ),
            (
                "441 EAST 178 STREET      ",
                "  ",
                "441 EAST 178 STREET",
                "441",
                "EAST 178 STREET",
                "",
                false,
            ),
            (
                "10 MAIN STREET #4C",
                "",
                "10 MAIN STREET",
                "10",
                "MAIN STREET",
                "4C",
                true,
            ),
            (
                "10 MAIN STREET APT 12",
                "",
                "10 MAIN STREET",
                "10",
                "MAIN STREET",
                "12",
                true,
            ),
            (
                "10 MAIN STREET,   APT. #12",
                "",
                "10 MAIN STREET",
                "10",
                "MAIN STREET",
                "12",
                true,
            ),
            (
                "N/A HYLAN BOULEVARD",
                "",
                "N/A HYLAN BOULEVARD",
                "",
                "HYLAN BOULEVARD",
                "",
                false,
            ),
            (
                "HYLAN BOULEVARD",
                "",
                "HYLAN BOULEVARD",
                "",
                "HYLAN BOULEVARD",
                "",
                false,
            ),
            ("", "", "", "", "", "", false),
            ("12", "", "12", "", "12", "", false),
        ];
        for (address, unit, base, house, street, is, inside) in rows {
            assert_eq!(
                parts(address, unit),
                (base.into(), house.into(), street.into(), is.into(), inside),
                "{address:?}"
            );
        }
    }

    #[test]
    fn one_building_in_several_spellings() {
        let key = |address: &str| {
            let parts = split(address.as_bytes(), b"");
            street_key(parts.house_number, parts.street)
        };
        for (a, b) in [
            ("368 THIRD AVENUE", "368 3RD AVE."),
            ("408 EAST 179TH STREET", "408 E 179 STREET"),
            ("264 EAST 7TH   STREET", "264 EAST 7 ST"),
        ] {
            assert_eq!(key(a), key(b), "{a} {b}");
        }
        for (a, b) in [
            ("368 THIRD AVENUE", "369 THIRD AVENUE"),
            ("1 AVENUE E", "1 EAST AVENUE"),
            ("1 ST JAMES PLACE", "1 STREET JAMES PLACE"),
            ("408 EAST 79 STREET", "408 WEST 79 STREET"),
        ] {
            assert_ne!(key(a), key(b), "{a} {b}");
        }
        assert_eq!(unit_key(b"#04-C"), unit_key(b"4c"));
        assert_ne!(unit_key(b"4C"), unit_key(b"4D"));
    }
}
