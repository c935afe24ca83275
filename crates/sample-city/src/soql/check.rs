//! Tree to typed steps: columns are found, functions chosen, and what does not fit is refused.

use super::{
    SoqlError,
    ast::{Expr, Node},
    code::{Cmp, Code, Kind, SYSTEM_COLUMNS},
    functions::{ARITHMETIC, FUNCTIONS, Function},
};
use crate::table::{ColumnType, Table, Value, timestamp};

/// The functions that speak of many rows.
pub(super) const AGGREGATES: [&str; 5] = ["count", "sum", "min", "max", "avg"];

impl From<ColumnType> for Kind {
    fn from(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Text => Self::Text,
            ColumnType::Number => Self::Number,
            ColumnType::Checkbox => Self::Checkbox,
            ColumnType::CalendarDate => Self::Floating,
            ColumnType::Point | ColumnType::Multipolygon | ColumnType::Location => Self::Shape,
            ColumnType::Url => Self::Url,
        }
    }
}

const COMPARISONS: [(&str, Cmp); 7] = [
    ("=", Cmp::Eq),
    ("!=", Cmp::Ne),
    ("<>", Cmp::Ne),
    ("<", Cmp::Lt),
    (">", Cmp::Gt),
    ("<=", Cmp::Le),
    (">=", Cmp::Ge),
];

/// The type checker.
pub(super) struct Checker<'a> {
    pub(super) table: &'a Table,
}

impl Checker<'_> {
    /// A condition: what it yields must be a truth.
    pub(super) fn condition(&self, expr: &Expr) -> Result<Code, SoqlError> {
        match self.expr(expr)? {
            (code, Kind::Checkbox | Kind::Null) => Ok(code),
            (_, kind) => Err(SoqlError::type_mismatch(
                "where",
                kind.name(),
                Some(expr.at),
            )),
        }
    }

    /// The steps of an expression, and what it yields.
    pub(super) fn expr(&self, expr: &Expr) -> Result<(Code, Kind), SoqlError> {
        Ok(match &expr.node {
            Node::Column(name) => self.column(name, expr.at)?,
            Node::Text(text) => (Code::Const(Value::text(text.as_str())), Kind::Text),
            Node::Number(number) => match number.parse() {
                Ok(value) => (
                    Code::Const(Value::Number(number.as_str().into(), value)),
                    Kind::Number,
                ),
                Err(_) => return Err(SoqlError::bad_parse("a number", number)),
            },
            Node::Bool(flag) => (Code::Const(Value::Bool(*flag)), Kind::Checkbox),
            Node::Null => (Code::Const(Value::Null), Kind::Null),
            Node::Binary(op, left, right) => self.binary(op, left, right)?,
            Node::Prefix(_, inner) => {
                let inner = self.condition(inner)?;
                (Code::Not(Box::new(inner)), Kind::Checkbox)
            }
            Node::IsNull(inner, negated) => {
                let (inner, _) = self.expr(inner)?;
                (Code::IsNull(Box::new(inner), *negated), Kind::Checkbox)
            }
            Node::In(inner, list, negated) => {
                let first = self.expr(inner)?;
                let mut code = None;
                let mut entries = Vec::with_capacity(list.len());
                for entry in list {
                    let (left, right, _) = self.pair("#IN", first.clone(), entry)?;
                    code = Some(left);
                    entries.push(right);
                }
                let code = Box::new(code.unwrap_or(first.0));
                (Code::In(code, entries, *negated), Kind::Checkbox)
            }
            Node::Between(inner, low, high, negated) => {
                let first = self.expr(inner)?;
                let (_, low, _) = self.pair("#BETWEEN", first.clone(), low)?;
                let (code, high, _) = self.pair("#BETWEEN", first, high)?;
                let (code, low, high) = (Box::new(code), Box::new(low), Box::new(high));
                (Code::Between(code, low, high, *negated), Kind::Checkbox)
            }
            Node::Like(inner, pattern, negated) => {
                let code = Box::new(self.exactly(Kind::Text, "#LIKE", inner)?);
                let pattern = Box::new(self.exactly(Kind::Text, "#LIKE", pattern)?);
                (Code::Like(code, pattern, *negated), Kind::Checkbox)
            }
            Node::Cast(inner, target) => {
                const TARGETS: [(&str, Kind); 5] = [
                    ("text", Kind::Text),
                    ("number", Kind::Number),
                    ("floating_timestamp", Kind::Floating),
                    ("calendar_date", Kind::Floating),
                    ("checkbox", Kind::Checkbox),
                ];
                let Some((_, kind)) = TARGETS.into_iter().find(|(name, _)| name == target) else {
                    return Err(SoqlError::no_such_function(
                        &format!("cast${target}"),
                        Some(expr.at),
                    ));
                };
                let (inner, _) = self.expr(inner)?;
                (Code::Cast(Box::new(inner), kind), kind)
            }
            Node::Call { name, args, .. } => self.call(name, args, expr.at)?,
        })
    }

    fn column(&self, name: &str, at: u32) -> Result<(Code, Kind), SoqlError> {
        if let Some((_, system, kind)) = SYSTEM_COLUMNS.into_iter().find(|known| known.0 == name) {
            return Ok((Code::System(system), kind));
        }
        let column = self.table.column(name);
        let Some((at, column)) = column.and_then(|at| Some((at, self.table.columns.get(at)?)))
        else {
            return Err(SoqlError::no_such_column(name, Some(at)));
        };
        Ok((Code::Cell(at), column.kind.into()))
    }

    fn binary(&self, op: &str, left: &Expr, right: &Expr) -> Result<(Code, Kind), SoqlError> {
        if let "AND" | "OR" = op {
            let left = Box::new(self.condition(left)?);
            let right = Box::new(self.condition(right)?);
            let code = match op {
                "AND" => Code::And(left, right),
                _ => Code::Or(left, right),
            };
            return Ok((code, Kind::Checkbox));
        }
        let name = format!("op${op}");
        if let Some((_, cmp)) = COMPARISONS.into_iter().find(|(known, _)| *known == op) {
            let first = self.expr(left)?;
            let (left, right, kind) = self.pair(&name, first, right)?;
            if matches!(kind, Kind::Shape | Kind::Url) {
                return Err(SoqlError::type_mismatch(&name, kind.name(), None));
            }
            let code = Code::Compare(cmp, Box::new(left), Box::new(right));
            return Ok((code, Kind::Checkbox));
        }
        let table = ARITHMETIC.iter().chain(&FUNCTIONS);
        let Some(function) = table.into_iter().find(|function| function.name == name) else {
            return Err(SoqlError::no_such_function(&name, None));
        };
        self.apply(function, &[left, right])
    }

    /// Two sides of one kind. A text literal becomes what the other side is, when it can be read as that.
    fn pair(
        &self,
        function: &str,
        (left, left_kind): (Code, Kind),
        right: &Expr,
    ) -> Result<(Code, Code, Kind), SoqlError> {
        let (right_code, right_kind) = self.expr(right)?;
        if left_kind == right_kind || right_kind == Kind::Null {
            return Ok((left, right_code, left_kind));
        }
        if left_kind == Kind::Null {
            return Ok((left, right_code, right_kind));
        }
        if let Some(right_code) = as_kind(&right_code, left_kind) {
            return Ok((left, right_code, left_kind));
        }
        if let Some(left) = as_kind(&left, right_kind) {
            return Ok((left, right_code, right_kind));
        }
        Err(SoqlError::type_mismatch(
            function,
            right_kind.name(),
            Some(right.at),
        ))
    }

    fn exactly(&self, wanted: Kind, function: &str, expr: &Expr) -> Result<Code, SoqlError> {
        let (code, kind) = self.expr(expr)?;
        if kind == wanted || kind == Kind::Null {
            return Ok(code);
        }
        (as_kind(&code, wanted))
            .ok_or_else(|| SoqlError::type_mismatch(function, kind.name(), Some(expr.at)))
    }

    fn call(&self, name: &str, args: &[Expr], at: u32) -> Result<(Code, Kind), SoqlError> {
        if AGGREGATES.contains(&name) {
            return Err(SoqlError::aggregate_here(name, Some(at)));
        }
        if name == "case" {
            return self.case(args, at);
        }
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
            return Err(SoqlError::no_such_function(name, Some(at)));
        };
        if function.params.len() != args.len() {
            return Err(SoqlError::no_such_function(
                &format!("{name}/{}", args.len()),
                Some(at),
            ));
        }
        self.apply(function, &args.iter().collect::<Vec<_>>())
    }

    fn apply(&self, function: &Function, args: &[&Expr]) -> Result<(Code, Kind), SoqlError> {
        let args = (function.params.iter().zip(args))
            .map(|(kind, arg)| self.exactly(*kind, function.name, arg))
            .collect::<Result<_, _>>()?;
        Ok((Code::Apply(function.apply, args), function.result))
    }

    fn case(&self, args: &[Expr], at: u32) -> Result<(Code, Kind), SoqlError> {
        let mut arms = Vec::new();
        let mut result = Kind::Null;
        for arm in args.chunks(2) {
            let [condition, value] = arm else {
                return Err(SoqlError::no_such_function("case", Some(at)));
            };
            let condition = self.condition(condition)?;
            let (code, kind) = self.expr(value)?;
            if result == Kind::Null {
                result = kind;
            } else if kind != result && kind != Kind::Null {
                return Err(SoqlError::type_mismatch(
                    "case",
                    kind.name(),
                    Some(value.at),
                ));
            }
            arms.push((condition, code));
        }
        Ok((Code::Case(arms), result))
    }
}

/// A text literal read as another kind; `None` where it is no literal, or cannot be.
fn as_kind(code: &Code, kind: Kind) -> Option<Code> {
    let Code::Const(Value::Text(text)) = code else {
        return None;
    };
    let value = match kind {
        Kind::Number => match Value::of(ColumnType::Number, text) {
            number @ Value::Number(..) => number,
            _ => return None,
        },
        Kind::Floating => Value::Time(timestamp(text)?.into()),
        Kind::RowId => Value::Text(text.clone()),
        // With or without the zone's Z.
        Kind::Fixed => Value::text(format!("{}Z", timestamp(text.trim_end_matches('Z'))?)),
        _ => return None,
    };
    Some(Code::Const(value))
}
