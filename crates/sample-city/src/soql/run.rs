//! Typed steps over a table's rows.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap, HashSet},
};

use super::{
    Output, SoqlError,
    aggregate::{Aggregate, Running},
    ast::{Expr, Node, Selection, Statement},
    check::{AGGREGATES, Checker},
    code::{Cmp, Code, Kind, SYSTEM_COLUMNS, in_order},
    query::{default_name, selects_all},
};
use crate::{
    seed,
    table::{Table, Value},
};

/// What a selected column is made of.
#[derive(Debug, Clone)]
enum Item {
    Scalar(Code),
    Aggregate(Aggregate, Option<Code>),
}

/// A selected column.
#[derive(Debug, Clone)]
struct Selected {
    name: String,
    kind: Kind,
    item: Item,
    /// The expression, to find it again in `$group` and `$order`.
    expr: Node,
}

pub(super) fn run(table: &Table, statement: &Statement) -> Result<Output, SoqlError> {
    let checker = Checker { table };
    let mut selected = select(&checker, statement)?;
    let visible = selected.len();
    let filter = (statement.filter.as_ref())
        .map(|filter| checker.condition(filter))
        .transpose()?;
    let grouped = !statement.group.is_empty()
        || selected
            .iter()
            .any(|selected| matches!(selected.item, Item::Aggregate(..)));
    // What is ordered by is evaluated as a hidden column, unless it is a selected one.
    let mut order = Vec::new();
    for (expr, descending) in &statement.order {
        order.push((
            position(&checker, &mut selected, expr, grouped)?,
            *descending,
        ));
    }
    let rows = matching(table, filter.as_ref())?;
    let lines = if grouped {
        let groups = (statement.group.iter())
            .map(|expr| group_key(&checker, &selected, expr))
            .collect::<Result<Vec<_>, _>>()?;
        check_groups(&selected, statement)?;
        let mut lines = group(table, &rows, &selected, &groups)?;
        lines.sort_by(|left, right| by(&order, left, right));
        page(lines, statement)
    } else {
        plain(table, rows, &selected, &order, statement)?
    };
    let shown = selected.get(..visible).unwrap_or(&selected);
    Ok(Output {
        fields: shown.iter().map(|column| column.name.clone()).collect(),
        types: shown
            .iter()
            .map(|column| type_name(table, column))
            .collect(),
        body: body(shown, &lines),
    })
}

/// The header's type of a column: the column's own, where it is one.
fn type_name(table: &Table, selected: &Selected) -> &'static str {
    match selected.item {
        Item::Scalar(Code::Cell(at)) => {
            (table.columns.get(at)).map_or(selected.kind.name(), |column| column.kind.header_name())
        }
        _ => match selected.kind {
            Kind::Checkbox => "checkbox",
            kind => kind.name(),
        },
    }
}

fn select(checker: &Checker<'_>, statement: &Statement) -> Result<Vec<Selected>, SoqlError> {
    let mut selected: Vec<Selected> = Vec::new();
    let all = |selected: &mut Vec<Selected>| {
        for (at, column) in checker.table.columns.iter().enumerate() {
            selected.push(Selected {
                name: column.name.clone(),
                kind: column.kind.into(),
                item: Item::Scalar(Code::Cell(at)),
                expr: Node::Column(column.name.clone()),
            });
        }
    };
    if selects_all(&statement.select) {
        if statement.group.is_empty() {
            all(&mut selected);
        } else {
            for expr in &statement.group {
                selected.push(one(checker, expr, None)?);
            }
        }
    }
    for selection in &statement.select {
        match selection {
            Selection::All => all(&mut selected),
            Selection::System => {
                for (name, system, kind) in SYSTEM_COLUMNS {
                    selected.push(Selected {
                        name: name.to_owned(),
                        kind,
                        item: Item::Scalar(Code::System(system)),
                        expr: Node::Column(name.to_owned()),
                    });
                }
            }
            Selection::Expr(expr, alias) => {
                selected.push(one(checker, expr, alias.as_deref())?);
            }
        }
    }
    let mut names = HashSet::new();
    for column in &selected {
        if !names.insert(column.name.as_str()) {
            return Err(SoqlError::duplicate_alias(&column.name, None));
        }
    }
    Ok(selected)
}

fn one(checker: &Checker<'_>, expr: &Expr, alias: Option<&str>) -> Result<Selected, SoqlError> {
    let (item, kind) = item(checker, expr)?;
    Ok(Selected {
        name: alias.map_or_else(|| default_name(expr), str::to_owned),
        kind,
        item,
        expr: expr.node.clone(),
    })
}

fn item(checker: &Checker<'_>, expr: &Expr) -> Result<(Item, Kind), SoqlError> {
    let Node::Call {
        name,
        args,
        distinct,
        star,
    } = &expr.node
    else {
        let (code, kind) = checker.expr(expr)?;
        return Ok((Item::Scalar(code), kind));
    };
    if !AGGREGATES.contains(&name.as_str()) {
        let (code, kind) = checker.expr(expr)?;
        return Ok((Item::Scalar(code), kind));
    }
    let aggregate = match (name.as_str(), distinct) {
        ("count", false) => Aggregate::Count,
        ("count", true) => Aggregate::CountDistinct,
        ("sum", false) => Aggregate::Sum,
        ("min", _) => Aggregate::Min,
        ("max", _) => Aggregate::Max,
        ("avg", false) => Aggregate::Avg,
        _ => {
            return Err(SoqlError::no_such_function(
                &format!("{name}/distinct"),
                Some(expr.at),
            ));
        }
    };
    match args.as_slice() {
        [] if *star && aggregate == Aggregate::Count => {
            Ok((Item::Aggregate(aggregate, None), Kind::Number))
        }
        [arg] => {
            let (code, kind) = checker.expr(arg)?;
            let kind = match aggregate {
                Aggregate::Count | Aggregate::CountDistinct => Kind::Number,
                Aggregate::Min | Aggregate::Max => kind,
                Aggregate::Sum | Aggregate::Avg if kind == Kind::Number => kind,
                Aggregate::Sum | Aggregate::Avg => {
                    return Err(SoqlError::type_mismatch(name, kind.name(), Some(arg.at)));
                }
            };
            Ok((Item::Aggregate(aggregate, Some(code)), kind))
        }
        _ => Err(SoqlError::no_such_function(
            &format!("{name}/{}", args.len()),
            Some(expr.at),
        )),
    }
}

/// Where an expression of `$order` stands among the columns; added to them where it is none.
fn position(
    checker: &Checker<'_>,
    selected: &mut Vec<Selected>,
    expr: &Expr,
    grouped: bool,
) -> Result<usize, SoqlError> {
    if let Node::Column(name) = &expr.node
        && let Some(at) = selected.iter().position(|column| &column.name == name)
    {
        return Ok(at);
    }
    if let Some(at) = selected
        .iter()
        .position(|column| same(&column.expr, &expr.node))
    {
        return Ok(at);
    }
    let column = one(checker, expr, None)?;
    if !grouped && matches!(column.item, Item::Aggregate(..)) {
        return Err(SoqlError::aggregate_here(&column.name, Some(expr.at)));
    }
    selected.push(column);
    Ok(selected.len() - 1)
}

/// Whether two expressions are the same but for where they stand.
fn same(left: &Node, right: &Node) -> bool {
    let key = |node: &Node| {
        let expr = Expr {
            at: 0,
            node: node.clone(),
        };
        let statement = Statement {
            filter: Some(expr),
            ..Statement::default()
        };
        super::ast::Writer::line(&[], &statement, None).0
    };
    key(left) == key(right)
}

/// A key of `$group`: an expression, or the name of a selected one.
fn group_key(checker: &Checker<'_>, selected: &[Selected], expr: &Expr) -> Result<Code, SoqlError> {
    if let Node::Column(name) = &expr.node
        && checker.table.column(name).is_none()
        && let Some(column) = selected.iter().find(|column| &column.name == name)
        && let Item::Scalar(code) = &column.item
    {
        return Ok(code.clone());
    }
    Ok(checker.expr(expr)?.0)
}

/// Every column that is no aggregate must be grouped by.
fn check_groups(selected: &[Selected], statement: &Statement) -> Result<(), SoqlError> {
    for column in selected {
        let Item::Scalar(code) = &column.item else {
            continue;
        };
        let by_name = statement.group.iter().any(|expr| {
            same(&expr.node, &column.expr)
                || matches!(&expr.node, Node::Column(name) if *name == column.name)
        });
        if !by_name && !matches!(code, Code::Const(_)) {
            return Err(SoqlError::not_in_group_by(&column.name, None));
        }
    }
    Ok(())
}

/// The rows that pass, found by the index where the condition names a cell.
fn matching(table: &Table, filter: Option<&Code>) -> Result<Vec<u32>, SoqlError> {
    let Some(filter) = filter else {
        return Ok((0..table.rows.len() as u32).collect());
    };
    let candidates =
        narrow(table, filter).unwrap_or_else(|| (0..table.rows.len() as u32).collect());
    let mut rows = Vec::new();
    for row in candidates {
        if filter.truth(table, row)? == Some(true) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Rows among which those that pass must be; `None` is all of them.
fn narrow(table: &Table, filter: &Code) -> Option<Vec<u32>> {
    match filter {
        Code::Compare(Cmp::Eq, left, right) => match (&**left, &**right) {
            (Code::Cell(at), Code::Const(value)) | (Code::Const(value), Code::Cell(at)) => {
                Some(table.rows_with(*at, value).to_vec())
            }
            _ => None,
        },
        Code::In(inner, list, false) => {
            let Code::Cell(at) = **inner else { return None };
            let mut rows = Vec::new();
            for entry in list {
                let Code::Const(value) = entry else {
                    return None;
                };
                rows.extend_from_slice(table.rows_with(at, value));
            }
            rows.sort_unstable();
            rows.dedup();
            Some(rows)
        }
        Code::And(left, right) => match (narrow(table, left), narrow(table, right)) {
            (Some(left), Some(right)) => Some(if left.len() <= right.len() {
                left
            } else {
                right
            }),
            (left, right) => left.or(right),
        },
        _ => None,
    }
}

fn by(order: &[(usize, bool)], left: &[Value], right: &[Value]) -> Ordering {
    for (at, descending) in order {
        let (Some(left), Some(right)) = (left.get(*at), right.get(*at)) else {
            continue;
        };
        let ordering = in_order(left, right);
        let ordering = if *descending {
            ordering.reverse()
        } else {
            ordering
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

fn page<T>(lines: Vec<T>, statement: &Statement) -> Vec<T> {
    let limit = statement.limit.unwrap_or(u64::MAX);
    (lines.into_iter())
        .skip(usize::try_from(statement.offset).unwrap_or(usize::MAX))
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .collect()
}

/// Rows without groups: sorted, then cut, then evaluated.
fn plain(
    table: &Table,
    mut rows: Vec<u32>,
    selected: &[Selected],
    order: &[(usize, bool)],
    statement: &Statement,
) -> Result<Vec<Vec<Value>>, SoqlError> {
    // Without an order, and among equals, rows come in none.
    rows.sort_by_cached_key(|row| table.scrambled(*row));
    let eval = |row: u32, at: usize| match selected.get(at).map(|column| &column.item) {
        Some(Item::Scalar(code)) => code.eval(table, row),
        _ => Ok(Value::Null),
    };
    if !order.is_empty() {
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows {
            let keys = (order.iter())
                .map(|(at, _)| eval(row, *at))
                .collect::<Result<Vec<_>, _>>()?;
            keyed.push((keys, row));
        }
        let places: Vec<(usize, bool)> = (order.iter().enumerate())
            .map(|(at, (_, descending))| (at, *descending))
            .collect();
        keyed.sort_by(|left, right| by(&places, &left.0, &right.0));
        rows = keyed.into_iter().map(|(_, row)| row).collect();
    }
    (page(rows, statement).into_iter())
        .map(|row| (0..selected.len()).map(|at| eval(row, at)).collect())
        .collect()
}

/// A group: the first row of it, which answers for what is grouped by, and its aggregates.
type Group = (u32, Vec<Running>);

fn group(
    table: &Table,
    rows: &[u32],
    selected: &[Selected],
    groups: &[Code],
) -> Result<Vec<Vec<Value>>, SoqlError> {
    let mut found: HashMap<Vec<Option<String>>, Group> = HashMap::new();
    for row in rows {
        let key = (groups.iter())
            .map(|code| Ok(code.eval(table, *row)?.key()))
            .collect::<Result<Vec<_>, SoqlError>>()?;
        let (_, running) = found
            .entry(key)
            .or_insert_with(|| (*row, vec![Running::default(); selected.len()]));
        for (column, running) in selected.iter().zip(running) {
            match &column.item {
                Item::Aggregate(_, Some(code)) => {
                    let value = code.eval(table, *row)?;
                    if value != Value::Null {
                        running.add(value);
                    }
                }
                Item::Aggregate(_, None) => running.count_row(),
                Item::Scalar(_) => {}
            }
        }
    }
    if found.is_empty() && groups.is_empty() {
        // Aggregates over no rows are one row.
        found.insert(Vec::new(), (0, vec![Running::default(); selected.len()]));
    }
    // Undefined order, the same at each call.
    let found: BTreeMap<u64, Group> = (found.into_iter())
        .map(|(key, group)| (seed::hash(&[format!("{key:?}").as_bytes()]), group))
        .collect();
    (found.into_values())
        .map(|(row, running)| {
            (selected.iter().zip(running))
                .map(|(column, running)| match &column.item {
                    Item::Aggregate(aggregate, _) => Ok(running.finish(*aggregate)),
                    Item::Scalar(code) => code.eval(table, row),
                })
                .collect()
        })
        .collect()
}

/// One row a line, the comma at the start of the next; what is absent is left out.
fn body(columns: &[Selected], lines: &[Vec<Value>]) -> String {
    let mut body = String::from("[");
    for (at, line) in lines.iter().enumerate() {
        body.push_str(if at == 0 { "{" } else { "\n,{" });
        let mut first = true;
        for (column, value) in columns.iter().zip(line) {
            let json = match value {
                Value::Null => continue,
                Value::Text(text) | Value::Number(text, _) | Value::Time(text) => {
                    serde_json::Value::from(text.as_ref()).to_string()
                }
                Value::Bool(flag) => flag.to_string(),
                Value::Json(value) => value.to_string(),
            };
            if !first {
                body.push(',');
            }
            first = false;
            body.push_str(&serde_json::Value::from(column.name.as_str()).to_string());
            body.push(':');
            body.push_str(&json);
        }
        body.push('}');
    }
    body.push_str("]\n");
    body
}
