//! The text of a `$filter` to its words.

use rust_decimal::Decimal;

use super::query::Refusal;
use crate::table::timestamp;

/// A word of a filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Open,
    Close,
    Comma,
    /// A field, an operator, a function.
    Word(String),
    Literal(Literal),
}

/// A value that stands in the filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Text(String),
    Number(Decimal),
    Boolean(bool),
    /// `2026-01-31`
    Date(String),
    /// A moment, in nanoseconds since 1970.
    Moment(i128),
}

/// A moment with its zone; `None` for anything else.
pub(super) fn moment(text: &str) -> Option<i128> {
    use time::{OffsetDateTime, format_description::well_known::Rfc3339};
    let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    Some(moment.unix_timestamp_nanos())
}

/// The words of a filter.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Refusal> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            '(' => tokens.push(Token::Open),
            ')' => tokens.push(Token::Close),
            ',' => tokens.push(Token::Comma),
            '\'' => {
                // A quote in a text is written twice.
                let mut value = String::new();
                loop {
                    match chars.next() {
                        None => return Err(Refusal::filter("a text is not closed")),
                        Some((_, '\'')) => match chars.next_if(|(_, next)| *next == '\'') {
                            Some(_) => value.push('\''),
                            None => break,
                        },
                        Some((_, c)) => value.push(c),
                    }
                }
                tokens.push(Token::Literal(Literal::Text(value)));
            }
            _ => {
                let mut end = at + c.len_utf8();
                while let Some((next, c)) =
                    chars.next_if(|(_, c)| !c.is_whitespace() && !"(),'".contains(*c))
                {
                    end = next + c.len_utf8();
                }
                tokens.push(word(text.get(at..end).unwrap_or("")));
            }
        }
    }
    Ok(tokens)
}

fn word(text: &str) -> Token {
    let literal = match text {
        "null" => Literal::Null,
        "true" => Literal::Boolean(true),
        "false" => Literal::Boolean(false),
        _ => {
            if let Ok(number) = text.parse::<Decimal>() {
                Literal::Number(number)
            } else if let Some(moment) = moment(text) {
                Literal::Moment(moment)
            } else if text.len() == 10 && timestamp(text).is_some() {
                Literal::Date(text.to_owned())
            } else {
                return Token::Word(text.to_owned());
            }
        }
    };
    Token::Literal(literal)
}
