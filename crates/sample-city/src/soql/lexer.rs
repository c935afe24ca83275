//! Text to tokens.

use super::SoqlError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name: a column, a function, a keyword; system names keep their colon.
    Name(String),
    /// A name in backticks: never a keyword.
    Quoted(String),
    Text(String),
    Number(String),
    /// An operator or a mark of punctuation.
    Mark(&'static str),
    End,
}

impl Token {
    /// As the messages name it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Name(name) | Self::Quoted(name) => format!("`{name}'"),
            Self::Text(_) => "a string".to_owned(),
            Self::Number(number) => format!("`{number}'"),
            Self::Mark(mark) => format!("`{mark}'"),
            Self::End => "end of input".to_owned(),
        }
    }

    /// Whether this is the keyword, whatever its case.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Name(name) if name.eq_ignore_ascii_case(keyword))
    }
}

/// Longest first, so that `<=` is not `<` and then `=`.
const MARKS: [&str; 19] = [
    "<>", "!=", "<=", ">=", "==", "||", "::", ":*", "=", "<", ">", "(", ")", ",", "*", "+", "-",
    "/", "|",
];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SoqlError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '\'' | '"' => quoted(rest, first).map(|(text, after)| (Token::Text(text), after))?,
            '`' => quoted(rest, first).map(|(text, after)| (Token::Quoted(text), after))?,
            '0'..='9' => {
                let end = rest
                    .find(|c: char| !c.is_ascii_digit() && c != '.')
                    .unwrap_or(rest.len());
                let (number, after) = rest.split_at(end);
                (Token::Number(number.to_owned()), after)
            }
            _ if is_name_start(rest) => {
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|(_, c)| !c.is_ascii_alphanumeric() && *c != '_')
                    .map_or(rest.len(), |(at, _)| at);
                let (name, after) = rest.split_at(end);
                (Token::Name(name.to_owned()), after)
            }
            _ => {
                let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
                let Some(mark) = mark else {
                    return Err(SoqlError::unexpected_character(first));
                };
                (Token::Mark(mark), rest.get(mark.len()..).unwrap_or(""))
            }
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens.push(Token::End);
    Ok(tokens)
}

/// A letter, an underscore, or the colon of a system name (`:id`), which the `::` of a cast is not.
fn is_name_start(rest: &str) -> bool {
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some(first), _) if first.is_ascii_alphabetic() || first == '_' => true,
        (Some(':'), Some(second)) => second.is_ascii_alphabetic(),
        _ => false,
    }
}

/// The text between two marks, where a doubled mark stands for itself, and what follows.
fn quoted(rest: &str, mark: char) -> Result<(String, &str), SoqlError> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != mark {
            text.push(c);
        } else if chars.next_if(|(_, next)| *next == mark).is_some() {
            text.push(mark);
        } else {
            return Ok((text, rest.get(at + 1..).unwrap_or("")));
        }
    }
    Err(SoqlError::unterminated_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_names_and_texts_are_told_apart() {
        let read = tokens("a<=':x''y' AND :id::text").expect("tokens");
        assert_eq!(
            read,
            [
                Token::Name("a".into()),
                Token::Mark("<="),
                Token::Text(":x'y".into()),
                Token::Name("AND".into()),
                Token::Name(":id".into()),
                Token::Mark("::"),
                Token::Name("text".into()),
                Token::End,
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_named() {
        assert_eq!(
            tokens("a = 'x").expect_err("no end").code,
            "query.soql.unterminated-string"
        );
        assert_eq!(
            tokens("a = #").expect_err("no token").code,
            "query.soql.unexpected-character"
        );
    }
}
