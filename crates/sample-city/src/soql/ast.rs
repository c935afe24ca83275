//! The tree of a query, and how the publisher writes it back in its errors.

use std::fmt::Write as _;

/// An expression. `at` tells it from every other of its query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expr {
    pub(super) at: u32,
    pub(super) node: Node,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Column(String),
    Text(String),
    Number(String),
    Bool(bool),
    Null,
    /// `left op right`; the operator in the publisher's spelling, keywords in capitals.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `NOT x`, `-x`.
    Prefix(&'static str, Box<Expr>),
    /// `x IS NULL`; true when negated.
    IsNull(Box<Expr>, bool),
    In(Box<Expr>, Vec<Expr>, bool),
    Between(Box<Expr>, Box<Expr>, Box<Expr>, bool),
    Like(Box<Expr>, Box<Expr>, bool),
    Cast(Box<Expr>, String),
    Call {
        name: String,
        args: Vec<Expr>,
        distinct: bool,
        /// `count(*)`.
        star: bool,
    },
}

/// One entry of `$select`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Selection {
    /// `*`
    All,
    /// `:*`
    System,
    Expr(Expr, Option<String>),
}

/// One entry of `$order`; true is descending.
pub(super) type Ordering = (Expr, bool);

/// A query, parsed.
#[derive(Debug, Clone, Default)]
pub(super) struct Statement {
    pub(super) select: Vec<Selection>,
    pub(super) filter: Option<Expr>,
    pub(super) group: Vec<Expr>,
    pub(super) order: Vec<Ordering>,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
}

/// Writes the query as the publisher's errors do, and finds the column (from 1) at which an expression begins.
pub(super) struct Writer {
    line: String,
    sought: Option<u32>,
    found: Option<usize>,
}

impl Writer {
    /// The line, and where `sought` stands in it; 1 when it does not.
    pub(super) fn line(
        columns: &[&str],
        statement: &Statement,
        sought: Option<u32>,
    ) -> (String, usize) {
        let mut writer = Self {
            line: String::from("SELECT "),
            sought,
            found: None,
        };
        let quoted: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
        writer.line.push_str(&quoted.join(", "));
        writer.statement(statement);
        (writer.line, writer.found.unwrap_or(1))
    }

    fn statement(&mut self, statement: &Statement) {
        if !statement.select.is_empty() {
            self.line.push_str(" |> SELECT ");
            for (at, selection) in statement.select.iter().enumerate() {
                if at > 0 {
                    self.line.push_str(", ");
                }
                match selection {
                    Selection::All => self.line.push('*'),
                    Selection::System => self.line.push_str(":*"),
                    Selection::Expr(expr, alias) => {
                        self.expr(expr);
                        if let Some(alias) = alias {
                            let _ = write!(self.line, " AS `{alias}`");
                        }
                    }
                }
            }
        }
        if let Some(filter) = &statement.filter {
            self.line.push_str(" WHERE ");
            self.expr(filter);
        }
        if !statement.group.is_empty() {
            self.line.push_str(" GROUP BY ");
            self.list(&statement.group);
        }
        for (at, (expr, descending)) in statement.order.iter().enumerate() {
            self.line
                .push_str(if at == 0 { " ORDER BY " } else { ", " });
            self.expr(expr);
            self.line.push_str(if *descending { " DESC" } else { "" });
        }
        if let Some(limit) = statement.limit {
            let _ = write!(self.line, " LIMIT {limit}");
        }
    }

    fn list(&mut self, exprs: &[Expr]) {
        for (at, expr) in exprs.iter().enumerate() {
            if at > 0 {
                self.line.push_str(", ");
            }
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        if self.sought == Some(expr.at) && self.found.is_none() {
            self.found = Some(self.line.chars().count() + 1);
        }
        match &expr.node {
            Node::Column(name) => {
                let _ = write!(self.line, "`{name}`");
            }
            Node::Text(text) => {
                let _ = write!(self.line, "\"{}\"", text.replace('"', "\\\""));
            }
            Node::Number(number) => self.line.push_str(number),
            Node::Bool(flag) => {
                let _ = write!(self.line, "{flag}");
            }
            Node::Null => self.line.push_str("NULL"),
            Node::Binary(op, left, right) => {
                self.expr(left);
                let _ = write!(self.line, " {op} ");
                self.expr(right);
            }
            Node::Prefix(op, inner) => {
                let _ = write!(self.line, "{op} ");
                self.expr(inner);
            }
            Node::IsNull(inner, negated) => {
                self.expr(inner);
                self.line
                    .push_str(if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            Node::In(inner, list, negated) => {
                self.expr(inner);
                self.line
                    .push_str(if *negated { " NOT IN (" } else { " IN (" });
                self.list(list);
                self.line.push(')');
            }
            Node::Between(inner, low, high, negated) => {
                self.expr(inner);
                self.line.push_str(if *negated { " NOT" } else { "" });
                self.line.push_str(" BETWEEN ");
                self.expr(low);
                self.line.push_str(" AND ");
                self.expr(high);
            }
            Node::Like(inner, pattern, negated) => {
                self.expr(inner);
                self.line
                    .push_str(if *negated { " NOT LIKE " } else { " LIKE " });
                self.expr(pattern);
            }
            Node::Cast(inner, kind) => {
                self.expr(inner);
                let _ = write!(self.line, " :: {kind}");
            }
            Node::Call {
                name,
                args,
                distinct,
                star,
            } => {
                let _ = write!(self.line, "{name}(");
                self.line.push_str(if *distinct { "DISTINCT " } else { "" });
                self.line.push_str(if *star { "*" } else { "" });
                self.list(args);
                self.line.push(')');
            }
        }
    }
}
