//! Typed steps, and what they yield for a row. Truth has three values: what compares with nothing is neither.

use std::{cmp::Ordering, sync::Arc};

use rust_decimal::Decimal;

use super::SoqlError;
use crate::table::{Table, Value, timestamp};

/// What an expression yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Checkbox,
    Floating,
    /// `:created_at`, `:updated_at`: with a Z.
    Fixed,
    RowId,
    /// A point or a multipolygon or an old location.
    Shape,
    Url,
    Null,
}

impl Kind {
    /// As the messages and `X-SODA2-Types` name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Null => "text",
            Self::Number => "number",
            Self::Checkbox => "boolean",
            Self::Floating => "floating_timestamp",
            Self::Fixed => "fixed_timestamp",
            Self::RowId => "row_identifier",
            Self::Shape => "point",
            Self::Url => "url",
        }
    }
}

/// A system column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Id,
    CreatedAt,
    UpdatedAt,
    Version,
}

pub(super) const SYSTEM_COLUMNS: [(&str, System, Kind); 4] = [
    (":id", System::Id, Kind::RowId),
    (":created_at", System::CreatedAt, Kind::Fixed),
    (":updated_at", System::UpdatedAt, Kind::Fixed),
    (":version", System::Version, Kind::RowId),
];

/// How two values must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cmp {
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
}

impl Cmp {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Eq => ordering.is_eq(),
            Self::Ne => ordering.is_ne(),
            Self::Lt => ordering.is_lt(),
            Self::Gt => ordering.is_gt(),
            Self::Le => ordering.is_le(),
            Self::Ge => ordering.is_ge(),
        }
    }
}

/// A step.
#[derive(Debug, Clone)]
pub(super) enum Code {
    Cell(usize),
    System(System),
    Const(Value),
    Compare(Cmp, Box<Code>, Box<Code>),
    And(Box<Code>, Box<Code>),
    Or(Box<Code>, Box<Code>),
    Not(Box<Code>),
    IsNull(Box<Code>, bool),
    In(Box<Code>, Vec<Code>, bool),
    Between(Box<Code>, Box<Code>, Box<Code>, bool),
    Like(Box<Code>, Box<Code>, bool),
    /// `case(condition, value, condition, value, ...)`
    Case(Vec<(Code, Code)>),
    Apply(fn(&[Value]) -> Value, Vec<Code>),
    Cast(Box<Code>, Kind),
}

impl Code {
    pub(super) fn eval(&self, table: &Table, row: u32) -> Result<Value, SoqlError> {
        let truth = |code: &Self| code.truth(table, row);
        Ok(match self {
            Self::Cell(column) => (table.rows.get(row as usize))
                .and_then(|cells| cells.get(*column))
                .cloned()
                .unwrap_or(Value::Null),
            Self::System(system) => system_value(*system, table, row),
            Self::Const(value) => value.clone(),
            Self::Compare(cmp, left, right) => {
                let (left, right) = (left.eval(table, row)?, right.eval(table, row)?);
                flag(compare(&left, &right).map(|ordering| cmp.holds(ordering)))
            }
            Self::And(left, right) => flag(match (truth(left)?, truth(right)?) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }),
            Self::Or(left, right) => flag(match (truth(left)?, truth(right)?) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }),
            Self::Not(inner) => flag(truth(inner)?.map(|flag| !flag)),
            Self::IsNull(inner, negated) => {
                let null = inner.eval(table, row)? == Value::Null;
                Value::Bool(null != *negated)
            }
            Self::In(inner, list, negated) => {
                let value = inner.eval(table, row)?;
                let mut found = (value != Value::Null).then_some(false);
                for entry in list {
                    let entry = entry.eval(table, row)?;
                    if compare(&value, &entry).is_some_and(Ordering::is_eq) {
                        found = Some(true);
                    }
                }
                flag(found.map(|found| found != *negated))
            }
            Self::Between(inner, low, high, negated) => {
                let value = inner.eval(table, row)?;
                let (low, high) = (low.eval(table, row)?, high.eval(table, row)?);
                let inside = match (compare(&low, &value), compare(&value, &high)) {
                    (Some(low), Some(high)) => Some(low.is_le() && high.is_le()),
                    _ => None,
                };
                flag(inside.map(|inside| inside != *negated))
            }
            Self::Like(inner, pattern, negated) => {
                match (inner.eval(table, row)?, pattern.eval(table, row)?) {
                    (Value::Text(text), Value::Text(pattern)) => {
                        Value::Bool(like(&text, &pattern) != *negated)
                    }
                    _ => Value::Null,
                }
            }
            Self::Case(arms) => {
                for (condition, value) in arms {
                    if truth(condition)? == Some(true) {
                        return value.eval(table, row);
                    }
                }
                Value::Null
            }
            Self::Apply(function, args) => {
                let args: Vec<Value> = (args.iter())
                    .map(|arg| arg.eval(table, row))
                    .collect::<Result<_, _>>()?;
                function(&args)
            }
            Self::Cast(inner, target) => cast(inner.eval(table, row)?, *target)?,
        })
    }

    /// Whether the row passes; `None` is neither.
    pub(super) fn truth(&self, table: &Table, row: u32) -> Result<Option<bool>, SoqlError> {
        Ok(match self.eval(table, row)? {
            Value::Bool(flag) => Some(flag),
            _ => None,
        })
    }
}

fn flag(flag: Option<bool>) -> Value {
    flag.map_or(Value::Null, Value::Bool)
}

fn system_value(system: System, table: &Table, row: u32) -> Value {
    match system {
        System::Id => {
            (table.row_ids.get(row as usize)).map_or(Value::Null, |id| Value::text(id.clone()))
        }
        System::Version => Value::text(format!("rv-{:08x}", table.scrambled(row) as u32)),
        System::CreatedAt | System::UpdatedAt => {
            let at = time::OffsetDateTime::from_unix_timestamp(table.updated_at)
                .unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
            Value::text(format!(
                "{}-{:02}-{:02}T{:02}:{:02}:{:02}.000Z",
                at.year(),
                at.month() as u8,
                at.day(),
                at.hour(),
                at.minute(),
                at.second()
            ))
        }
    }
}

/// How two values of one kind stand; `None` where one is absent or they are of two kinds.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) | (Value::Time(left), Value::Time(right)) => {
            Some(left.cmp(right))
        }
        (Value::Number(_, left), Value::Number(_, right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// How two values stand in `order by`: nothing is greater than everything, so it is last ascending, first descending.
pub(super) fn in_order(left: &Value, right: &Value) -> Ordering {
    match (left == &Value::Null, right == &Value::Null) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => compare(left, right).unwrap_or_else(|| left.key().cmp(&right.key())),
    }
}

/// `%` is any text, `_` any one character.
fn like(text: &str, pattern: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    // Which beginnings of the pattern the text so far can be; `%` may stand for nothing.
    let over_any = |mut reached: Vec<bool>| {
        let mut before = false;
        for (at, here) in reached.iter_mut().enumerate() {
            let any = at.checked_sub(1).and_then(|at| pattern.get(at)) == Some(&'%');
            *here |= any && before;
            before = *here;
        }
        reached
    };
    let mut reached = over_any((0..=pattern.len()).map(|at| at == 0).collect());
    for c in text.chars() {
        let mut next = vec![false];
        let places = reached.windows(2);
        next.extend(
            (pattern.iter().zip(places)).map(|(sign, places)| match (sign, places) {
                ('%', [_, here]) => *here,
                ('_', [before, _]) => *before,
                (sign, [before, _]) => *before && *sign == c,
                _ => false,
            }),
        );
        reached = over_any(next);
    }
    reached.last() == Some(&true)
}

fn cast(value: Value, target: Kind) -> Result<Value, SoqlError> {
    let refuse = |text: &str| Err(SoqlError::bad_cast(text, target.name()));
    match (value, target) {
        (Value::Null, _) => Ok(Value::Null),
        (value @ Value::Text(_), Kind::Text)
        | (value @ Value::Number(..), Kind::Number)
        | (value @ Value::Time(_), Kind::Floating) => Ok(value),
        (Value::Number(text, _) | Value::Time(text), Kind::Text) => Ok(Value::Text(text)),
        (Value::Bool(flag), Kind::Text) => Ok(Value::text(flag.to_string())),
        (Value::Text(text), Kind::Number) => match text.trim().parse::<Decimal>() {
            Ok(value) => Ok(Value::Number(Arc::from(text.trim()), value)),
            Err(_) => refuse(&text),
        },
        (Value::Text(text), Kind::Floating) => match timestamp(&text).or_else(|| us_date(&text)) {
            Some(time) => Ok(Value::Time(time.into())),
            None => refuse(&text),
        },
        (other, _) => refuse(&other.key().unwrap_or_default()),
    }
}

/// `MM/DD/YYYY`, which the publisher's cast reads too.
fn us_date(text: &str) -> Option<String> {
    let mut parts = text.trim().split('/');
    let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
    timestamp(&format!("{year}-{month}-{day}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_knows_its_two_signs() {
        for (text, pattern, fits) in [
            ("ELEVATOR", "ELEV%", true),
            ("ELEVATOR", "%VAT%", true),
            ("ELEVATOR", "E_EVATOR", true),
            ("ELEVATOR", "elev%", false),
            ("ELEVATOR", "ELEV", false),
            ("", "%", true),
            ("", "_", false),
            ("ab", "%%b", true),
        ] {
            assert_eq!(like(text, pattern), fits, "{text} like {pattern}");
        }
    }

    #[test]
    fn a_cast_over_rubbish_fails() {
        assert!(cast(Value::text("12.50"), Kind::Number).is_ok());
        assert!(cast(Value::text("$12.50"), Kind::Number).is_err());
        assert!(cast(Value::text("06/05/2020"), Kind::Floating).is_ok());
        assert!(cast(Value::text("Y9990120"), Kind::Floating).is_err());
    }
}
