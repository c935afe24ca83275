//! What was typed, as upper-case ASCII words.
//!
//! Separators become words of their own, so that everything after this works on a list of words: `,` where a new part
//! starts, `-` for a dash that stands alone, `#`, `&` and `@`.

/// Most characters of an address, by the contract of the lookup.
pub(crate) const MAX_CHARS: usize = 200;

/// Why a text is not even an address to look for; the message is for the caller.
pub(crate) fn check(text: &str) -> Result<(), &'static str> {
    if text.chars().any(char::is_control) {
        return Err("The address contains control characters, such as a line break or a tab.");
    }
    // Counted only when the bytes leave a doubt: most texts are short ASCII.
    if text.len() > MAX_CHARS && text.chars().count() > MAX_CHARS {
        return Err("The address is longer than 200 characters.");
    }
    if text.trim().is_empty() {
        return Err("The address is empty.");
    }
    Ok(())
}

/// The text in upper-case ASCII, its words divided by single blanks.
pub(crate) fn clean(text: &str) -> String {
    let ascii = to_ascii(text);
    let mut out = Words::with_capacity(ascii.len() + 16);
    let mut at = 0;
    while let Some(&byte) = ascii.get(at) {
        let before = at.checked_sub(1).and_then(|i| ascii.get(i)).copied();
        let after = ascii.get(at + 1).copied();
        at += 1;
        match byte {
            b'A'..=b'Z' | b'0'..=b'9' => out.letter(byte),
            b'.' => out.dot(before, after, ascii.get(at + 1).copied()),
            b'\'' | b'`' | b'"' => {}
            b',' | b';' | b'|' | b':' | b'(' | b')' | b'[' | b']' => out.alone(b','),
            b'#' | b'&' | b'@' => out.alone(byte),
            b'+' => out.alone(b'&'),
            b'/' if is_word(before) && is_word(after) && out.takes_slash() => out.letter(byte),
            b'-' => at += out.dash(before, &ascii[at..]),
            _ => out.blank(),
        }
    }
    let words = out.finish();
    if words.split(' ').any(|word| glued(word).is_some()) {
        apart(&words)
    } else {
        words
    }
}

/// Where a house number ends that a street's name was glued to: `120BROADWAY`. Endings and units have fewer letters.
fn glued(word: &str) -> Option<usize> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (_, name) = word.split_at_checked(digits).filter(|_| digits > 0)?;
    let ordinal = ["ST", "ND", "RD", "TH"]
        .iter()
        .any(|ending| name.starts_with(ending));
    let letters = name.len() >= 4 && name.bytes().all(|b| b.is_ascii_uppercase());
    (letters && !ordinal).then_some(digits)
}

/// The words with a blank where numbers and names were glued.
fn apart(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + 4);
    for word in words.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        match glued(word).and_then(|at| word.split_at_checked(at)) {
            Some((number, name)) => {
                out.push_str(number);
                out.push(' ');
                out.push_str(name);
            }
            None => out.push_str(word),
        }
    }
    out
}

fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric())
}

/// Words in the making.
struct Words {
    text: String,
    /// Dots dropped within the word that is being written: `N.Y.` is one word.
    initials: usize,
    /// Where that word starts.
    start: usize,
}

impl Words {
    fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            initials: 0,
            start: 0,
        }
    }

    fn letter(&mut self, byte: u8) {
        self.text.push(char::from(byte));
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        self.start = self.text.len();
        self.initials = 0;
    }

    fn alone(&mut self, byte: u8) {
        self.blank();
        self.letter(byte);
        self.blank();
    }

    fn word(&self) -> &str {
        self.text.get(self.start..).unwrap_or_default()
    }

    /// A slash stays in numbers, units and `C/O`, and divides words.
    fn takes_slash(&self) -> bool {
        self.word().len() <= 3 || self.word().bytes().any(|b| b.is_ascii_digit())
    }

    /// A dot joins initials (`N.Y.C.`), keeps decimals (`1008350041.00`) and divides anything else (`E.1ST`).
    fn dot(&mut self, before: Option<u8>, after: Option<u8>, then: Option<u8>) {
        let digit = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_digit());
        let letter = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_uppercase());
        if digit(before) && digit(after) {
            self.letter(b'.');
        } else if letter(before)
            && letter(after)
            && !is_word(then)
            && self.word().len() == self.initials + 1
        {
            self.initials += 1;
        } else {
            self.blank();
        }
    }

    /// A dash stays where it belongs to a number, divides two words of letters, and stands alone between blanks.
    /// Returns how many bytes after it were used up.
    fn dash(&mut self, before: Option<u8>, rest: &[u8]) -> usize {
        let blanks = rest.iter().take_while(|b| **b == b' ').count();
        let next = rest.get(blanks).copied();
        if next.is_none() {
            // Nothing follows that it could join or divide.
            self.blank();
            return blanks;
        }
        let digit = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_digit());
        if !is_word(before) || blanks > 0 {
            let last = self.text.trim_end().bytes().last();
            let touches = is_word(before) || (blanks == 0 && is_word(next));
            if touches && digit(last) && digit(next) {
                // `46- 12` and `46 -12`.
                let kept = self.text.trim_end().len();
                self.text.truncate(kept);
                self.letter(b'-');
                return blanks;
            }
            if is_word(before) || blanks == 0 {
                self.blank();
            } else {
                self.alone(b'-');
            }
            return 0;
        }
        let numbered = self.word().bytes().any(|b| b.is_ascii_digit());
        let letters_after = rest
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        let keep = match next {
            Some(b'0'..=b'9') => numbered || self.word().len() == 1,
            Some(b'A'..=b'Z') => numbered && letters_after == 1,
            _ => false,
        };
        if keep {
            self.letter(b'-');
        } else {
            self.blank();
        }
        0
    }

    fn finish(mut self) -> String {
        let kept = self.text.trim_end().len();
        self.text.truncate(kept);
        self.text
    }
}

/// Upper-case ASCII; what has no likeness there becomes a blank.
fn to_ascii(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_ascii() {
            // The cast is exact: the character is ASCII.
            out.push((c as u8).to_ascii_uppercase());
        } else {
            out.extend_from_slice(likeness(c).as_bytes());
        }
    }
    out
}

fn likeness(c: char) -> &'static str {
    const FULL_WIDTH: &str = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => "-",
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' | '\u{b4}' | '\u{201c}' | '\u{201d}' => {
            "'"
        }
        '½' => " 1/2 ",
        '⅓' => " 1/3 ",
        '⅔' => " 2/3 ",
        '¼' => " 1/4 ",
        '¾' => " 3/4 ",
        '⅕' => " 1/5 ",
        '\u{2044}' | '\u{2215}' => "/",
        '№' => "#",
        'À'..='Å' | 'à'..='å' | 'Ā' | 'ā' | 'Ă' | 'ă' | 'Ą' | 'ą' => "A",
        'Ç' | 'ç' | 'Ć' | 'ć' | 'Č' | 'č' => "C",
        'È'..='Ë' | 'è'..='ë' | 'Ē' | 'ē' | 'Ę' | 'ę' | 'Ě' | 'ě' => "E",
        'Ì'..='Ï' | 'ì'..='ï' | 'Ī' | 'ī' | 'İ' | 'ı' => "I",
        'Ñ' | 'ñ' | 'Ń' | 'ń' | 'Ň' | 'ň' => "N",
        'Ò'..='Ö' | 'ò'..='ö' | 'Ø' | 'ø' | 'Ō' | 'ō' => "O",
        'Ù'..='Ü' | 'ù'..='ü' | 'Ū' | 'ū' | 'Ů' | 'ů' => "U",
        'Ý' | 'ý' | 'ÿ' => "Y",
        'Š' | 'š' | 'Ś' | 'ś' => "S",
        'Ž' | 'ž' | 'Ź' | 'ź' | 'Ż' | 'ż' => "Z",
        'Ł' | 'ł' => "L",
        'ß' => "SS",
        'Æ' | 'æ' => "AE",
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{301}' => "",
        '\u{ff01}'..='\u{ff5e}' => {
            let at = c as usize - 0xff01;
            // Small letters follow 32 places after the capitals.
            let at = if at >= 64 { at - 32 } else { at };
            FULL_WIDTH.get(at..=at).unwrap_or(" ")
        }
        _ => " ",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("  350  5th Ave., n.y.c. ", "350 5TH AVE , NYC")]
    #[case("1 E.1St", "1 E 1ST")]
    #[case("14W.23rd St.", "14W 23RD ST")]
    #[case("600 Saint Ann’s Ave", "600 SAINT ANNS AVE")]
    #[case("0½ 5 Ave", "0 1/2 5 AVE")]
    #[case("43–06 46 St", "43-06 46 ST")]
    #[case("43 -06 46 St", "43-06 46 ST")]
    #[case("43- 06 46 St", "43-06 46 ST")]
    #[case("102-4 0 - 67TH DR - APT. 2B", "102-4 0 - 67TH DR - APT 2B")]
    #[case("1476-A 54 St", "1476-A 54 ST")]
    #[case("123-Broadway", "123 BROADWAY")]
    #[case("Bedford-Stuyvesant", "BEDFORD STUYVESANT")]
    #[case("Apt-4C", "APT 4C")]
    #[case("#A-2", "# A-2")]
    #[case("A/ K/A 76 Beaver", "A K/A 76 BEAVER")]
    #[case("１２０ Ｂroadway", "120 BROADWAY")]
    #[case("Avenida Peña", "AVENIDA PENA")]
    #[case("1008350041.00", "1008350041.00")]
    #[case("120 Broadway -", "120 BROADWAY")]
    #[case("120 Broadway --  ", "120 BROADWAY")]
    #[case("Нью", "")]
    fn text_becomes_words(#[case] typed: &str, #[case] words: &str) {
        assert_eq!(clean(typed), words);
    }

    #[rstest]
    #[case("", "empty")]
    #[case(" \u{a0} ", "empty")]
    #[case("350 5\tAve", "control")]
    #[case("350 5 Ave\u{0}", "control")]
    fn what_is_no_text_is_refused(#[case] typed: &str, #[case] why: &str) {
        assert!(check(typed).unwrap_err().contains(why));
    }

    #[test]
    fn two_hundred_characters_are_allowed_whatever_their_bytes() {
        assert!(check(&"é".repeat(200)).is_ok());
        assert!(check(&"é".repeat(201)).is_err());
    }

    proptest! {
        #[test]
        fn words_are_ascii_with_single_blanks(text in "\\PC{0,200}") {
            let words = clean(&text);
            prop_assert!(words.is_ascii());
            prop_assert!(!words.contains("  "));
            prop_assert!(words.bytes().all(|b| !b.is_ascii_lowercase()));
        }
    }
}
