//! Street names as keys: every usual spelling of a name folds to the same one.
//!
//! The same function folds what is typed and what the address files hold, so that a rule applied to both sides can
//! never lose a street; at worst two names share a key, and then the rows decide.

use crate::words::{
    ALONE, CARDINAL, DIRECTION, INITIALS, ORDINAL, SPELLING, TYPE, Token, UNIT_AFTER_STREET,
};

/// Whose spelling is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// The city's files: directions and types are spelled out.
    Official,
    /// A person's: `E 4 ST`.
    Typed,
}

/// A street's name, normalised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreetName {
    /// Words in full, divided by blanks: `EAST 12 STREET`.
    pub name: String,
    /// The words without blanks, so that `DE KALB` and `DEKALB` are one: `EAST12STREET`.
    pub key: String,
}

impl StreetName {
    fn push(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if !self.name.is_empty() {
            self.name.push(' ');
        }
        self.name.push_str(word);
        self.push_key(word);
    }

    fn push_key(&mut self, word: &str) {
        let digit = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_digit());
        if digit(self.key.bytes().last()) && digit(word.bytes().next()) {
            // Keeps `1 1 AVENUE` apart from `11 AVENUE`.
            self.key.push('|');
        }
        self.key.push_str(word);
    }

    /// This name with a word put after it.
    pub(crate) fn with_last(&self, word: &str) -> Self {
        let mut longer = self.clone();
        longer.push(word);
        longer
    }

    /// This name with a word put before it.
    pub(crate) fn with_first(&self, word: &str) -> Self {
        let mut longer = Self::default();
        longer.push(word);
        for rest in self.name.split(' ') {
            longer.push(rest);
        }
        longer
    }

    /// The name of these words, each in full already.
    pub(crate) fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut name = Self::default();
        for word in words {
            name.push(word);
        }
        name
    }
}

/// The name that an address file or a person wrote, folded.
pub(crate) fn fold_text(text: &str, spelling: Spelling) -> StreetName {
    let clean = crate::text::clean(text);
    let tokens = crate::words::tokens(&clean);
    fold(&tokens, spelling)
}

/// Folds the words of a street's name.
pub(crate) fn fold(tokens: &[Token<'_>], spelling: Spelling) -> StreetName {
    let bytes: usize = tokens.iter().map(|t| t.text.len() + 6).sum();
    let mut out = StreetName {
        name: String::with_capacity(bytes),
        key: String::with_capacity(bytes),
    };
    if let [only] = tokens
        && let Some((_, whole)) = INITIALS.iter().find(|(short, _)| *short == only.text)
    {
        return StreetName::of_words(whole.split(' '));
    }
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += fold_word(&mut out, token, tokens, at, spelling);
    }
    out
}

/// Folds the word at `at`, and says how many words it took.
fn fold_word(
    out: &mut StreetName,
    token: &Token<'_>,
    tokens: &[Token<'_>],
    at: usize,
    spelling: Spelling,
) -> usize {
    let next = tokens.get(at + 1);
    let first = at == 0;
    if token.is_break() || token.text == "-" || token.text == "#" {
        return 1;
    }
    if first && token.text == "THE" && next.is_some() {
        return 1;
    }
    if token.starts_with_digit() {
        push_number(out, token.text, next);
        return 1;
    }
    if token.any(CARDINAL | ORDINAL)
        && let Some((number, taken)) = number_words(tokens, at)
    {
        out.push(&number.to_string());
        return taken;
    }
    if token.text == "ST" {
        out.push(if is_street_type(tokens, at) {
            "STREET"
        } else {
            "SAINT"
        });
        return 1;
    }
    if let Some((direction, number)) = glued_direction(token.text) {
        out.push(direction);
        push_number(out, number, next);
        return 1;
    }
    // `AV ENUE`, broken by a form's line.
    if let Some(next) = next
        && token.any(TYPE)
        && token.word.full.len() == token.text.len() + next.text.len()
        && token.word.full.starts_with(token.text)
        && token.word.full.ends_with(next.text)
    {
        out.push(token.word.full);
        return 2;
    }
    if token.text == "SR" && !first {
        // `EXPRESSWAY SR N`.
        out.push("SERVICE");
        if next.is_none_or(|t| t.word.full != "ROAD") {
            out.push("ROAD");
        }
        return 1;
    }
    // `CT ST` is Court Street: both words are types, and nothing else is there to be a name.
    if first
        && tokens.len() == 2
        && token.any(TYPE)
        && token.text != "LA"
        && next.is_some_and(|t| t.any(TYPE) || t.text == "ST")
    {
        out.push(token.word.full);
        return 1;
    }
    // `AVENUE OF AMERICAS`.
    if token.text == "OF"
        && next.is_some_and(|t| matches!(t.text, "AMERICAS" | "AMERICA" | "FINEST"))
        && tokens.first().is_some_and(|t| t.word.full == "AVENUE")
    {
        out.push("OF");
        out.push("THE");
        return 1;
    }
    if token.text == "AMERICA" && at >= 2 && tokens.first().is_some_and(|t| t.word.full == "AVENUE")
    {
        out.push("AMERICAS");
        return 1;
    }
    out.push(match token.text {
        "UN" if next.is_some_and(|t| t.word.full == "PLAZA") => "UNITED NATIONS",
        "DR" if first && next.is_some() => "DR",
        "DOCTOR" => "DR",
        "JUNIOR" => "JR",
        "FT" if fort_or_mount(tokens, at) => "FORT",
        "MT" if fort_or_mount(tokens, at) => "MOUNT",
        "&" | "+" => "AND",
        text if token.any(DIRECTION) => {
            if text.len() > 2 || direction_is_meant(tokens, at, spelling) {
                token.word.full
            } else {
                text
            }
        }
        // A type's abbreviation in front is a name (`LA GUARDIA`, `CT ...`), but for `AVE D`.
        text if token.any(TYPE)
            && first
            && !matches!(token.word.full, "AVENUE" | "BOULEVARD" | "PARK") =>
        {
            text
        }
        _ if token.any(TYPE | ALONE | SPELLING) && !token.word.full.is_empty() => token.word.full,
        text => text,
    });
    1
}

/// `212TH`, `212`, `212ST` before a name's end, `69DR`.
fn push_number(out: &mut StreetName, text: &str, next: Option<&Token<'_>>) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, ending) = text.split_at_checked(digits).unwrap_or((text, ""));
    let trimmed = number.trim_start_matches('0');
    let trimmed = if trimmed.is_empty() { "0" } else { trimmed };
    match ending {
        "" | "TH" | "ND" | "RD" => out.push(trimmed),
        "ST" => {
            out.push(trimmed);
            let typed = next.is_some_and(|n| n.any(TYPE) || n.text == "ST");
            if !typed && !is_first(number) {
                out.push("STREET");
            }
        }
        ending => {
            let word = Token::new(ending);
            if word.any(TYPE) {
                out.push(trimmed);
                out.push(word.word.full);
            } else {
                out.push(text);
            }
        }
    }
}

/// Whether `1ST` is how one writes this number: 1, 21, 101, but not 11 or 212.
pub(crate) fn is_first(number: &str) -> bool {
    number.ends_with('1') && !number.ends_with("11")
}

/// Whether an ending is one that the number can have; `TH` is written after any.
pub(crate) fn ending_fits(number: &str, ending: &str) -> bool {
    match ending {
        "ST" => true,
        "ND" => number.ends_with('2') && !number.ends_with("12"),
        "RD" => number.ends_with('3') && !number.ends_with("13"),
        _ => true,
    }
}

/// `E12`, `W23RD`.
fn glued_direction(text: &str) -> Option<(&'static str, &str)> {
    let direction = match text.bytes().next()? {
        b'E' => "EAST",
        b'W' => "WEST",
        b'N' => "NORTH",
        b'S' => "SOUTH",
        _ => return None,
    };
    let number = text.get(1..)?;
    Token::new(number)
        .is_street_number()
        .then_some((direction, number))
}

/// Number words that stand for a numbered street: before a type, or at the end.
fn number_words(tokens: &[Token<'_>], at: usize) -> Option<(u32, usize)> {
    let token = tokens.get(at)?;
    let mut number = u32::from(token.word.number);
    let mut taken = 1;
    let mut ordinal = token.any(ORDINAL);
    let hundreds = if number == 100 {
        Some(token)
    } else {
        tokens.get(at + 1)
    };
    if let Some(hundreds) = hundreds.filter(|t| t.word.number == 100) {
        if number != 100 {
            number *= 100;
            taken += 1;
        }
        ordinal = hundreds.any(ORDINAL);
        if tokens.get(at + taken).is_some_and(|t| t.text == "AND") {
            taken += 1;
        }
        let more = tokens
            .get(at + taken)
            .filter(|t| !ordinal && t.any(CARDINAL | ORDINAL) && t.word.number < 100);
        if let Some(more) = more {
            number += u32::from(more.word.number);
            ordinal = more.any(ORDINAL);
            taken += 1;
        }
    }
    if number.is_multiple_of(10)
        && number.rem_euclid(100) >= 20
        && let Some(more) = tokens
            .get(at + taken)
            .filter(|t| !ordinal && t.any(CARDINAL | ORDINAL) && t.word.number < 10)
    {
        number += u32::from(more.word.number);
        ordinal = more.any(ORDINAL);
        taken += 1;
    }
    let follows = tokens.get(at + taken);
    let typed = follows.is_none_or(|t| t.any(TYPE) || t.text == "ST");
    // `LOUIS NINE BOULEVARD` is a name, `EAST NINE STREET` a number.
    let leads = at == 0 || tokens.get(at - 1).is_some_and(|t| t.any(DIRECTION));
    (typed && (ordinal || leads)).then_some((number, taken))
}

/// Whether `ST` is Street here, and not Saint.
pub(crate) fn is_street_type(tokens: &[Token<'_>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|i| tokens.get(i)) else {
        return false;
    };
    if before.is_break() {
        return false;
    }
    if before.is_street_number() {
        return true;
    }
    match tokens.get(at + 1) {
        None => true,
        Some(next) if next.is_break() || next.any(TYPE) => true,
        Some(next) if next.any(DIRECTION) => tokens.get(at + 2).is_none_or(Token::is_break),
        Some(next) => {
            next.starts_with_digit()
                || next.any(crate::words::UNIT)
                || (next.any(UNIT_AFTER_STREET) && !next.any(TYPE))
                || (next.is_letter() && tokens.get(at + 2).is_none_or(Token::is_break))
        }
    }
}

fn fort_or_mount(tokens: &[Token<'_>], at: usize) -> bool {
    at + 1 < tokens.len() && (at == 0 || tokens.get(at - 1).is_some_and(|t| t.any(DIRECTION)))
}

/// Whether a short direction is one: `E 12 STREET`, `PARK AVENUE S`; not `AVENUE S`, `B Q E`.
fn direction_is_meant(tokens: &[Token<'_>], at: usize, spelling: Spelling) -> bool {
    let next = tokens.get(at + 1);
    if next.is_some_and(Token::is_street_number) {
        return true;
    }
    if at == 0 {
        return match next {
            None => false,
            Some(next) if next.is_letter() => false,
            // `S STREET` of the files is a letter; typed, it is tried both ways.
            Some(next) if tokens.len() == 2 && next.any(TYPE) => spelling == Spelling::Typed,
            Some(_) => true,
        };
    }
    let before = tokens.get(at - 1);
    let after_type = before.is_some_and(|t| t.any(TYPE | ALONE) || t.text == "ST");
    let letter_avenue = at == 1 && before.is_some_and(|t| t.word.full == "AVENUE");
    after_type && !letter_avenue && next.is_none_or(Token::is_break)
}

/// Whether a word of a folded name is a direction.
pub(crate) fn is_direction(word: &str) -> bool {
    Token::new(word).any(DIRECTION) && word.len() > 2
}

/// Whether a word of a folded name is a street type.
pub(crate) fn is_type(word: &str) -> bool {
    Token::new(word).any(TYPE)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("5th Ave", "5 AVENUE")]
    #[case("FIFTH AVENUE", "5 AVENUE")]
    #[case("Twenty-First Street", "21 STREET")]
    #[case("One Hundred Twenty Fifth Street", "125 STREET")]
    #[case("E 12 St", "EAST 12 STREET")]
    #[case("E12th St", "EAST 12 STREET")]
    #[case("212ST", "212 STREET")]
    #[case("51ST STREET", "51 STREET")]
    #[case("51ST ST", "51 STREET")]
    #[case("69DR", "69 DRIVE")]
    #[case("St Marks Pl", "SAINT MARKS PLACE")]
    #[case("ST. JOHNS ST", "SAINT JOHNS STREET")]
    #[case("Bay St Landing", "BAY STREET LANDING")]
    #[case("Worth St", "WORTH STREET")]
    #[case("39 St S", "39 STREET SOUTH")]
    #[case("Avenue S", "AVENUE S")]
    #[case("Ave D", "AVENUE D")]
    #[case("Park Ave S", "PARK AVENUE SOUTH")]
    #[case("Avenue of the Americas", "AVENUE OF THE AMERICAS")]
    #[case("Little W 12th Str", "LITTLE WEST 12 STREET")]
    #[case("Ft Hamilton Pkwy", "FORT HAMILTON PARKWAY")]
    #[case("Mt Hope Pl", "MOUNT HOPE PLACE")]
    #[case("Ten Eyck St", "TEN EYCK STREET")]
    #[case("Louis Nine Blvd", "LOUIS NINE BOULEVARD")]
    #[case("DR M L KING JR BOULEVARD", "DR M L KING JR BOULEVARD")]
    #[case("The Bowery", "BOWERY")]
    #[case("AV ENUE", "AVENUE")]
    #[case("RSD", "RIVERSIDE DRIVE")]
    #[case("F.D.R. Dr", "FDR DRIVE")]
    #[case("Union Square W", "UNION SQUARE WEST")]
    #[case(
        "Horace Harding Expwy SR N",
        "HORACE HARDING EXPRESSWAY SERVICE ROAD NORTH"
    )]
    #[case("CROSS ISLAND PKWY SR RD S", "CROSS ISLAND PARKWAY SERVICE ROAD SOUTH")]
    #[case("Dover Grn", "DOVER GREEN")]
    #[case("216 Greenway S", "216 GREENWAY SOUTH")]
    #[case("S Oxford St", "SOUTH OXFORD STREET")]
    #[case("N Y State Theater", "N Y STATE THEATER")]
    #[case("La Guardia Pl", "LA GUARDIA PLACE")]
    fn typed_names(#[case] typed: &str, #[case] name: &str) {
        assert_eq!(fold_text(typed, Spelling::Typed).name, name);
    }

    #[rstest]
    #[case("DE KALB AVENUE", "Dekalb Ave")]
    #[case("MC DONALD AVENUE", "McDonald Avenue")]
    #[case("F D R DRIVE", "FDR Dr")]
    #[case("ST NICHOLAS AVENUE", "Saint Nicholas Av")]
    #[case("WILLOWBROOK ROAD", "WILLOWBROOKROAD")]
    #[case("EAST NEW YORK AVENUE", "EAST NEW YORK AV ENUE")]
    #[case("NY STATE THEATER", "N Y State Theater")]
    #[case("BEACH   22 STREET", "Beach 22nd St")]
    fn two_spellings_share_a_key(#[case] official: &str, #[case] typed: &str) {
        assert_eq!(
            fold_text(official, Spelling::Official).key,
            fold_text(typed, Spelling::Typed).key
        );
    }

    #[test]
    fn a_lettered_street_of_the_files_stays_a_letter() {
        assert_eq!(fold_text("S STREET", Spelling::Official).name, "S STREET");
        assert_eq!(fold_text("S Street", Spelling::Typed).name, "SOUTH STREET");
    }

    #[test]
    fn numbers_side_by_side_stay_apart() {
        assert_ne!(
            fold_text("1 1 AVENUE", Spelling::Typed).key,
            fold_text("11 AVENUE", Spelling::Typed).key
        );
    }
}
