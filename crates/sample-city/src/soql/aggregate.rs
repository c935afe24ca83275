//! What is said of many rows at once.

use std::{cmp::Ordering, collections::HashSet};

use rust_decimal::Decimal;

use super::code::in_order;
use crate::table::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Count,
    CountDistinct,
    Sum,
    Min,
    Max,
    Avg,
}

/// The running value of one aggregate.
#[derive(Debug, Default, Clone)]
pub(super) struct Running {
    count: u64,
    distinct: HashSet<String>,
    sum: Decimal,
    least: Option<Value>,
    greatest: Option<Value>,
}

impl Running {
    /// A row, whatever is in it: `count(*)`.
    pub(super) fn count_row(&mut self) {
        self.count += 1;
    }

    /// A value that is there.
    pub(super) fn add(&mut self, value: Value) {
        self.count += 1;
        if let Some(key) = value.key() {
            self.distinct.insert(key);
        }
        if let Value::Number(_, number) = value {
            self.sum = self.sum.checked_add(number).unwrap_or(Decimal::MAX);
        }
        let beats = |best: &Option<Value>, wanted: Ordering| {
            best.as_ref()
                .is_none_or(|best| in_order(&value, best) == wanted)
        };
        if beats(&self.least, Ordering::Less) {
            self.least = Some(value.clone());
        }
        if beats(&self.greatest, Ordering::Greater) {
            self.greatest = Some(value);
        }
    }

    pub(super) fn finish(self, aggregate: Aggregate) -> Value {
        match aggregate {
            Aggregate::Count => Value::number(self.count.into()),
            Aggregate::CountDistinct => Value::number((self.distinct.len() as u64).into()),
            _ if self.count == 0 => Value::Null,
            Aggregate::Sum => Value::number(self.sum),
            Aggregate::Avg => {
                (self.sum.checked_div(self.count.into())).map_or(Value::Null, Value::number)
            }
            Aggregate::Min => self.least.unwrap_or(Value::Null),
            Aggregate::Max => self.greatest.unwrap_or(Value::Null),
        }
    }
}
