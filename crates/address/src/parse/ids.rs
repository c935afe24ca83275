//! Identifiers that people paste in place of an address.

use brownstone_domain::{Bbl, Bin};

use super::Kind;
use crate::words::Token;

const NOT_AN_IDENTIFIER: &str = "A tax lot (BBL) has ten digits and a building (BIN) seven, the first of them the borough's, 1 to 5.";

/// A text that is nothing but an identifier, with or without its name before it.
pub(super) fn bare(tokens: &[Token<'_>]) -> Option<Kind> {
    let tokens = match tokens {
        [name, rest @ ..] if matches!(name.text, "BBL" | "BIN") && !rest.is_empty() => rest,
        all => all,
    };
    let tokens = match tokens {
        [mark, rest @ ..] if mark.is_break() || matches!(mark.text, "#" | "NO" | "NUMBER") => rest,
        all => all,
    };
    match tokens {
        [one] => single(one.text),
        [borough, block, lot] => {
            let parts = [borough, block, lot];
            if !parts.iter().all(|part| part.all_digits()) {
                return None;
            }
            Some(bbl(&format!(
                "{} {} {}",
                borough.text, block.text, lot.text
            )))
        }
        _ => None,
    }
}

fn single(text: &str) -> Option<Kind> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|b| b == b'0') {
        return None;
    }
    if whole.split(['-', '/']).count() == 3
        && whole
            .split(['-', '/'])
            .all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
    {
        return Some(bbl(whole));
    }
    if whole.is_empty() || !whole.bytes().all(|b| b.is_ascii_digit()) {
        // Ten or more characters, mostly digits: a mistyped identifier, and no word of an address.
        let digits = whole.bytes().filter(u8::is_ascii_digit).count();
        return (digits >= 6 && whole.bytes().all(|b| b.is_ascii_alphanumeric()))
            .then_some(Kind::BadIdentifier(NOT_AN_IDENTIFIER));
    }
    match whole.len() {
        10 => Some(bbl(whole)),
        7 => Some(match whole.parse::<Bin>() {
            Ok(bin) => Kind::Bin(bin),
            Err(_)
                if whole.ends_with("000000") && matches!(whole.as_bytes(), [b'1'..=b'5', ..]) =>
            {
                Kind::BadIdentifier(
                    "This BIN is the city's placeholder for \"no building\"; it names none.",
                )
            }
            Err(_) => Kind::BadIdentifier(NOT_AN_IDENTIFIER),
        }),
        // Five digits may be a ZIP, which is an area; fewer are a number alone.
        6 | 8.. => Some(Kind::BadIdentifier(NOT_AN_IDENTIFIER)),
        _ => None,
    }
}

fn bbl(text: &str) -> Kind {
    text.parse::<Bbl>()
        .map_or(Kind::BadIdentifier(NOT_AN_IDENTIFIER), Kind::Bbl)
}

/// `BLOCK 1889 LOT 1`, where no other number stands before it: in an address, `LOT` is a unit.
pub(super) fn block_and_lot(tokens: &[Token<'_>]) -> Option<(u32, u16)> {
    let first_number = tokens.iter().position(Token::starts_with_digit)?;
    let number_after = |names: &[&str]| -> Option<u32> {
        let at = tokens.iter().position(|t| names.contains(&t.text))?;
        if at > first_number && names.contains(&"BLOCK") {
            return None;
        }
        let value = tokens
            .get(at + 1..)?
            .iter()
            .find(|t| !t.is_break() && t.text != "#" && t.text != "NO")?;
        value.all_digits().then(|| value.text.parse().ok())?
    };
    let block = number_after(&["BLOCK", "BLK"])?;
    let lot = number_after(&["LOT"])?;
    Some((block, u16::try_from(lot).ok()?))
}
