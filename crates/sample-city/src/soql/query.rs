//! A request's parameters to an answer, or to a refusal that says where.

use serde_json::{Value as Json, json};

use super::{
    SoqlError,
    ast::{Expr, Node, Selection, Statement, Writer},
    parser::Parser,
    run,
};
use crate::table::{ColumnType, Table};

/// The publisher's own default.
const DEFAULT_LIMIT: u64 = 1_000;

/// An answer.
#[derive(Debug)]
pub(crate) struct Output {
    /// `X-SODA2-Fields`
    pub(crate) fields: Vec<String>,
    /// `X-SODA2-Types`
    pub(crate) types: Vec<&'static str>,
    /// The body: one row a line.
    pub(crate) body: String,
}

/// Runs the query that these parameters make; on refusal, the body of the 400.
pub(crate) fn answer(table: &Table, params: &[(String, String)]) -> Result<Output, Json> {
    let mut statement = Statement::default();
    let parsed = parse(table, params, &mut statement);
    let answer = parsed.and_then(|()| run::run(table, &statement));
    answer.map_err(|error| refusal(table, &statement, error))
}

fn parse(
    table: &Table,
    params: &[(String, String)],
    statement: &mut Statement,
) -> Result<(), SoqlError> {
    let mut parser = Parser::default();
    let mut filters = Vec::new();
    statement.limit = Some(DEFAULT_LIMIT);
    for (name, value) in params {
        match name.as_str() {
            "$select" => statement.select = parser.selections(value)?,
            "$where" => statement.filter = Some(parser.condition(value)?),
            "$group" => statement.group = parser.list(value)?,
            "$order" => statement.order = parser.orderings(value)?,
            "$limit" => statement.limit = Some(count(name, value)?),
            "$offset" => statement.offset = count(name, value)?,
            "$$app_token" => {}
            _ if name.starts_with('$') => return Err(SoqlError::bad_parameter(name)),
            column => filters.push(plain_filter(&mut parser, table, column, value)?),
        }
    }
    for filter in filters {
        statement.filter = Some(match statement.filter.take() {
            None => filter,
            Some(before) => parser.make(Node::Binary("AND", Box::new(before), Box::new(filter))),
        });
    }
    Ok(())
}

fn count(name: &str, value: &str) -> Result<u64, SoqlError> {
    (value.trim().parse()).map_err(|_| SoqlError::bad_parameter(name))
}

/// `column=value`: the value has the column's own type.
fn plain_filter(
    parser: &mut Parser,
    table: &Table,
    column: &str,
    value: &str,
) -> Result<Expr, SoqlError> {
    let left = parser.make(Node::Column(column.to_owned()));
    let kind = (table.column(column)).and_then(|at| Some(table.columns.get(at)?.kind));
    let right = match (kind, value) {
        (Some(ColumnType::Checkbox), "true") => Node::Bool(true),
        (Some(ColumnType::Checkbox), "false") => Node::Bool(false),
        (None, _) => return Err(SoqlError::no_such_column(column, Some(left.at))),
        _ => Node::Text(value.to_owned()),
    };
    let right = parser.make(right);
    Ok(parser.make(Node::Binary("=", Box::new(left), Box::new(right))))
}

/// The recorded shape: `message`, `errorCode`, `data`; message and position carry the rewritten query, all the columns
/// with it.
fn refusal(table: &Table, statement: &Statement, error: SoqlError) -> Json {
    let mut data = error.data;
    data.insert("dataset".into(), table.internal_name.clone().into());
    let mut message = format!("Query coordinator error: {}; {}", error.code, error.what);
    if error.at.is_some() || matches!(data.get("column"), Some(Json::String(_))) {
        let columns: Vec<&str> = (table.columns.iter())
            .map(|column| column.name.as_str())
            .collect();
        let (line, column) = Writer::line(&columns, statement, error.at);
        let line = format!("{line}\n{}^", " ".repeat(column.saturating_sub(1)));
        message.push_str(&format!(
            "; position: Map(row -> 1, column -> {column}, line -> {})",
            Json::from(line.as_str())
        ));
        data.insert(
            "position".into(),
            json!({ "row": 1, "column": column, "line": line }),
        );
    }
    json!({ "message": message, "errorCode": error.code, "data": data })
}

/// The name of a selected expression that was given none.
pub(super) fn default_name(expr: &Expr) -> String {
    match &expr.node {
        Node::Column(name) => name.clone(),
        Node::Call {
            name, star: true, ..
        } => name.clone(),
        Node::Call {
            name,
            args,
            distinct,
            ..
        } => {
            let mut parts = vec![name.clone()];
            if *distinct {
                parts.push("distinct".to_owned());
            }
            parts.extend(args.iter().map(default_name));
            parts.join("_")
        }
        Node::Cast(inner, _) | Node::Prefix(_, inner) => default_name(inner),
        Node::Text(text) | Node::Number(text) => text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect(),
        _ => format!("expression_{}", expr.at),
    }
}

/// Whether nothing is selected by name, so that every column comes.
pub(super) fn selects_all(select: &[Selection]) -> bool {
    select.is_empty()
}
