//! A condition over an entity, and the order of entities.

use std::cmp::Ordering;

use rust_decimal::Decimal;
use serde_json::Value;

use super::{
    Entity,
    fields::Edm,
    filter::{Case, Cmp, Condition, Operand, Part},
    lexer::{Literal, moment},
};

impl Condition {
    /// Whether the entity fits. Nothing is equal to nothing, and compares with nothing else.
    pub(super) fn holds(&self, entity: &Entity) -> bool {
        match self {
            Self::And(left, right) => left.holds(entity) && right.holds(entity),
            Self::Or(left, right) => left.holds(entity) || right.holds(entity),
            Self::Not(inner) => !inner.holds(entity),
            Self::Compare(operand, cmp, literal) => compare(operand.of(entity), *cmp, literal),
            Self::In(operand, literals) => {
                let value = operand.of(entity);
                (literals.iter()).any(|literal| compare(value.clone(), Cmp::Eq, literal))
            }
            Self::Text(part, operand, text) => match operand.of(entity) {
                Some(Comparable::Text(value)) => match part {
                    Part::Contains => value.contains(text),
                    Part::StartsWith => value.starts_with(text),
                    Part::EndsWith => value.ends_with(text),
                },
                _ => false,
            },
        }
    }
}

/// A field's value.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(super) enum Comparable {
    Text(String),
    /// A value of a list, without its blanks.
    Lookup(String),
    Number(Decimal),
    Boolean(bool),
    Date(String),
    Moment(i128),
}

/// A field's value as its type has it; a value that does not fit its type is none.
pub(super) fn comparable(kind: Edm, value: Option<&Value>) -> Option<Comparable> {
    Some(match (kind, value?) {
        (Edm::Text, Value::String(text)) => Comparable::Text(text.clone()),
        (Edm::Lookup, Value::String(text)) => Comparable::Lookup(close(text)),
        (Edm::Integer | Edm::Decimal, Value::Number(number)) => {
            Comparable::Number(number.to_string().parse().ok()?)
        }
        (Edm::Boolean, Value::Bool(flag)) => Comparable::Boolean(*flag),
        (Edm::Date, Value::String(text)) => Comparable::Date(text.clone()),
        (Edm::Moment, Value::String(text)) => Comparable::Moment(moment(text)?),
        _ => return None,
    })
}

/// A list's value without blanks.
fn close(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

impl Operand {
    fn of(&self, entity: &Entity) -> Option<Comparable> {
        let value = comparable(self.kind, entity.get(&self.field))?;
        Some(match (self.case, value) {
            (Case::AsItIs, value) => value,
            (case, Comparable::Text(text) | Comparable::Lookup(text)) => {
                Comparable::Text(match case {
                    Case::Upper => text.to_uppercase(),
                    _ => text.to_lowercase(),
                })
            }
            (_, value) => value,
        })
    }
}

fn compare(value: Option<Comparable>, cmp: Cmp, literal: &Literal) -> bool {
    let Some(value) = value else {
        return match cmp {
            Cmp::Eq => *literal == Literal::Null,
            Cmp::Ne => *literal != Literal::Null,
            _ => false,
        };
    };
    let other = match (literal, &value) {
        (Literal::Null, _) => return cmp == Cmp::Ne,
        (Literal::Text(text), Comparable::Lookup(_)) => Comparable::Lookup(close(text)),
        (Literal::Text(text), _) => Comparable::Text(text.clone()),
        (Literal::Number(number), _) => Comparable::Number(*number),
        (Literal::Boolean(flag), _) => Comparable::Boolean(*flag),
        (Literal::Date(day), _) => Comparable::Date(day.clone()),
        (Literal::Moment(moment), _) => Comparable::Moment(*moment),
    };
    let Some(ordering) = value.partial_cmp(&other) else {
        return false;
    };
    match cmp {
        Cmp::Eq => ordering.is_eq(),
        Cmp::Ne => ordering.is_ne(),
        Cmp::Gt => ordering.is_gt(),
        Cmp::Ge => ordering.is_ge(),
        Cmp::Lt => ordering.is_lt(),
        Cmp::Le => ordering.is_le(),
    }
}

/// How two entities stand by a field: nothing comes first.
pub(super) fn in_order(kind: Edm, field: &str, left: &Entity, right: &Entity) -> Ordering {
    let value = |entity: &Entity| comparable(kind, entity.get(field));
    (value(left).partial_cmp(&value(right))).unwrap_or(Ordering::Equal)
}
