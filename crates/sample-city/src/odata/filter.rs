//! The words of a `$filter` to a condition whose types fit.

use super::{
    fields::{Edm, Resource},
    lexer::{Literal, Token, tokens},
    query::Refusal,
};

/// How two values must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cmp {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

const COMPARISONS: [(&str, Cmp); 6] = [
    ("eq", Cmp::Eq),
    ("ne", Cmp::Ne),
    ("gt", Cmp::Gt),
    ("ge", Cmp::Ge),
    ("lt", Cmp::Lt),
    ("le", Cmp::Le),
];

/// What may be done to a text before it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    AsItIs,
    Lower,
    Upper,
}

/// What a text may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Contains,
    StartsWith,
    EndsWith,
}

const PARTS: [(&str, Part); 3] = [
    ("contains", Part::Contains),
    ("startswith", Part::StartsWith),
    ("endswith", Part::EndsWith),
];

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Compare(Operand, Cmp, Literal),
    In(Operand, Vec<Literal>),
    Text(Part, Operand, String),
}

/// A field, perhaps in another case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operand {
    pub(super) field: String,
    pub(super) kind: Edm,
    pub(super) case: Case,
}

/// Conditions inside conditions; no client writes more.
const DEEPEST: usize = 64;

/// Reads a filter.
pub(super) fn parse(resource: &Resource, text: &str) -> Result<Condition, Refusal> {
    let mut parser = Parser {
        resource,
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    let condition = parser.or()?;
    match parser.next() {
        None => Ok(condition),
        Some(token) => Err(Refusal::filter(&format!("{token:?} is one word too many"))),
    }
}

struct Parser<'a> {
    resource: &'a Resource,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn takes(&mut self, token: &Token) -> bool {
        let here = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(here);
        here
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes(&Token::Word(word.to_owned()))
    }

    fn expects(&mut self, token: &Token) -> Result<(), Refusal> {
        if self.takes(token) {
            Ok(())
        } else {
            Err(Refusal::filter(&format!("{token:?} is missing")))
        }
    }

    fn or(&mut self) -> Result<Condition, Refusal> {
        let mut left = self.and()?;
        while self.takes_word("or") {
            left = Condition::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Condition, Refusal> {
        let mut left = self.not()?;
        while self.takes_word("and") {
            left = Condition::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Condition, Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refusal::filter("it is too deep"));
        }
        let condition = if self.takes_word("not") {
            Condition::Not(Box::new(self.not()?))
        } else if self.takes(&Token::Open) {
            let inner = self.or()?;
            self.expects(&Token::Close)?;
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Result<Condition, Refusal> {
        if let Some(Token::Word(word)) = self.tokens.get(self.at)
            && let Some((_, part)) = PARTS.into_iter().find(|(name, _)| name == word)
        {
            self.at += 1;
            self.expects(&Token::Open)?;
            let operand = self.operand()?;
            self.expects(&Token::Comma)?;
            let Some(Token::Literal(Literal::Text(text))) = self.next() else {
                return Err(Refusal::filter("a text is missing"));
            };
            self.expects(&Token::Close)?;
            operand.must_be_text()?;
            return Ok(Condition::Text(part, operand, text));
        }
        let operand = self.operand()?;
        let Some(Token::Word(operator)) = self.next() else {
            return Err(Refusal::filter("an operator is missing"));
        };
        if operator == "in" {
            self.expects(&Token::Open)?;
            let mut values = Vec::new();
            loop {
                values.push(self.literal(&operand)?);
                if !self.takes(&Token::Comma) {
                    break;
                }
            }
            self.expects(&Token::Close)?;
            return Ok(Condition::In(operand, values));
        }
        let Some((_, cmp)) = COMPARISONS.into_iter().find(|(name, _)| *name == operator) else {
            return Err(Refusal::filter(&format!("{operator} is no operator")));
        };
        let literal = self.literal(&operand)?;
        Ok(Condition::Compare(operand, cmp, literal))
    }

    fn operand(&mut self) -> Result<Operand, Refusal> {
        let Some(Token::Word(word)) = self.next() else {
            return Err(Refusal::filter("a field is missing"));
        };
        for (name, case) in [("tolower", Case::Lower), ("toupper", Case::Upper)] {
            if word == name {
                self.expects(&Token::Open)?;
                let mut operand = self.operand()?;
                self.expects(&Token::Close)?;
                operand.must_be_text()?;
                operand.case = case;
                return Ok(operand);
            }
        }
        match self.resource.field(&word) {
            None => Err(Refusal::no_field(self.resource, "$filter", &word)),
            Some(Edm::Lookups) => Err(Refusal::filter(&format!("{word} has several values"))),
            Some(kind) => Ok(Operand {
                field: word,
                kind,
                case: Case::AsItIs,
            }),
        }
    }

    /// A value of the field's own type.
    fn literal(&mut self, operand: &Operand) -> Result<Literal, Refusal> {
        let mut token = self.next();
        // `Namespace.Enumeration'Value'`
        if matches!(&token, Some(Token::Word(word)) if word.contains('.'))
            && operand.kind == Edm::Lookup
        {
            token = self.next();
        }
        let Some(Token::Literal(literal)) = token else {
            return Err(Refusal::filter("a value is missing"));
        };
        let fits = match (&literal, operand.kind) {
            (Literal::Null, _)
            | (Literal::Text(_), Edm::Text | Edm::Lookup)
            | (Literal::Number(_), Edm::Integer | Edm::Decimal)
            | (Literal::Boolean(_), Edm::Boolean)
            | (Literal::Date(_), Edm::Date)
            | (Literal::Moment(_), Edm::Moment) => true,
            (_, _) => false,
        };
        if fits {
            Ok(literal)
        } else {
            Err(Refusal::filter(&format!(
                "{literal:?} is no value of {}, which is {:?}",
                operand.field, operand.kind
            )))
        }
    }
}

impl Operand {
    fn must_be_text(&self) -> Result<(), Refusal> {
        match self.kind {
            Edm::Text | Edm::Lookup => Ok(()),
            _ => Err(Refusal::filter(&format!("{} is no text", self.field))),
        }
    }
}
