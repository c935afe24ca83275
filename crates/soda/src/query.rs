//! A query, built from parts that cannot carry an injection: column names are checked, literals are quoted.

use std::fmt::{self, Display, Formatter};

pub use crate::name::{Column, DatasetId, QueryError, ROW_ID};

/// A literal of SoQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// Quoted, quotes inside doubled.
    Text(String),
    /// A bare integer.
    Number(i64),
    /// `true` or `false`.
    Bool(bool),
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Literal {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Literal {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Literal {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// A condition of `$where`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `column = literal`
    Eq(Column, Literal),
    /// `column in (...)`; never empty.
    In(Column, Vec<Literal>),
    /// `column between a and b`
    Between(Column, Literal, Literal),
    /// `starts_with(column, text)`
    StartsWith(Column, String),
    /// `column like '%text%'`. A `%` or `_` in the text stands for anything: never fewer rows, so look again.
    Contains(Column, String),
    /// `column > literal`
    Gt(Column, Literal),
    /// `column is not null`
    NotNull(Column),
    /// `column is null`
    Null(Column),
    /// All of them.
    And(Vec<Condition>),
    /// Any of them.
    Or(Vec<Condition>),
}

impl Condition {
    /// How many values one `in (...)` should carry at most: beyond that the address of the request grows too long for
    /// the publisher. A caller with more asks in several queries.
    pub const MAX_IN: usize = 200;

    /// `column = value`.
    pub fn eq(column: Column, value: impl Into<Literal>) -> Self {
        Self::Eq(column, value.into())
    }

    /// `column in (values)`; `None` when there is no value, since then nothing need be asked.
    pub fn any_of<L: Into<Literal>>(
        column: Column,
        values: impl IntoIterator<Item = L>,
    ) -> Option<Self> {
        let values: Vec<Literal> = values.into_iter().map(Into::into).collect();
        (!values.is_empty()).then_some(Self::In(column, values))
    }

    /// Both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut all) => {
                all.push(other);
                Self::And(all)
            }
            first => Self::And(vec![first, other]),
        }
    }

    /// Either condition.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut any) => {
                any.push(other);
                Self::Or(any)
            }
            first => Self::Or(vec![first, other]),
        }
    }
}

/// One expression of `$select`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Select {
    /// A column.
    Column(Column),
    /// `:*,*`-style: all columns.
    All,
    /// `:id`, the row's identifier, beside whatever else is selected.
    RowId,
    /// `count(*) as alias`
    Count(Column),
    /// `count(distinct column) as alias`
    CountDistinct(Column, Column),
    /// `sum(column) as alias`
    Sum(Column, Column),
    /// `min(column) as alias`
    Min(Column, Column),
    /// `max(column) as alias`
    Max(Column, Column),
}

impl Select {
    /// Whether it makes one value of many rows.
    pub const fn is_aggregate(&self) -> bool {
        !matches!(self, Self::Column(_) | Self::All | Self::RowId)
    }
}

/// A query of one dataset.
///
/// ```
/// use brownstone_soda::{Column, Condition, DatasetId, Query};
/// let query = Query::of(DatasetId::new("6bgk-3dad")?)
///     .filter(Condition::eq(Column::new("respondent_name")?, "O'BRIEN"))
///     .order_desc(Column::new("issue_date")?)
///     .limit(101);
/// assert_eq!(
///     query.params(),
///     [
///         ("$where", "respondent_name = 'O''BRIEN'".to_owned()),
///         ("$order", "issue_date desc".to_owned()),
///         ("$limit", "101".to_owned()),
///     ]
/// );
/// # Ok::<(), brownstone_soda::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Which dataset.
    pub dataset: DatasetId,
    /// Empty: all columns (no `$select` is sent).
    pub select: Vec<Select>,
    /// `$where`.
    pub filter: Option<Condition>,
    /// `$group`.
    pub group: Vec<Column>,
    /// `$order`; `true` is DESC.
    pub order: Vec<(Column, bool)>,
    /// `$limit`; the protocol's default of 1,000 is never relied on.
    pub limit: u32,
    /// `$offset`.
    pub offset: u32,
}

impl Query {
    /// The limit of a query that names none.
    pub const DEFAULT_LIMIT: u32 = 1_000;

    /// All columns of all rows of `dataset`, up to [`Query::DEFAULT_LIMIT`] of them, in no order.
    pub const fn of(dataset: DatasetId) -> Self {
        Self {
            dataset,
            select: Vec::new(),
            filter: None,
            group: Vec::new(),
            order: Vec::new(),
            limit: Self::DEFAULT_LIMIT,
            offset: 0,
        }
    }

    /// Selects these too.
    #[must_use]
    pub fn select(mut self, what: impl IntoIterator<Item = Select>) -> Self {
        self.select.extend(what);
        self
    }

    /// Selects these columns too.
    #[must_use]
    pub fn columns(self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.select(columns.into_iter().map(Select::Column))
    }

    /// Adds a condition: a row must meet it as well as those given before.
    #[must_use]
    pub fn filter(mut self, condition: Condition) -> Self {
        self.filter = Some(match self.filter {
            Some(before) => before.and(condition),
            None => condition,
        });
        self
    }

    /// Groups by these columns too.
    #[must_use]
    pub fn group(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.group.extend(columns);
        self
    }

    /// Then orders by `column`, falling when `descending`.
    #[must_use]
    pub fn order(mut self, column: Column, descending: bool) -> Self {
        self.order.push((column, descending));
        self
    }

    /// Then orders by `column`, rising.
    #[must_use]
    pub fn order_asc(self, column: Column) -> Self {
        self.order(column, false)
    }

    /// Then orders by `column`, falling.
    #[must_use]
    pub fn order_desc(self, column: Column) -> Self {
        self.order(column, true)
    }

    /// Asks for at most `rows` rows.
    #[must_use]
    pub const fn limit(mut self, rows: u32) -> Self {
        self.limit = rows;
        self
    }

    /// Skips `rows` rows. Without an order by a unique column pages may overlap.
    #[must_use]
    pub const fn offset(mut self, rows: u32) -> Self {
        self.offset = rows;
        self
    }

    /// Whether an answer's rows carry `:id`.
    pub fn selects_row_id(&self) -> bool {
        self.select.iter().any(|what| match what {
            Select::RowId => true,
            Select::Column(column) => column.is_row_id(),
            _ => false,
        })
    }

    /// Whether a row of the answer stands for many of the dataset.
    pub fn is_aggregate(&self) -> bool {
        !self.group.is_empty() || self.select.iter().any(Select::is_aggregate)
    }

    /// The request's parameters, not yet percent-encoded. `$limit` is always among them.
    pub fn params(&self) -> Vec<(&'static str, String)> {
        let mut params = Vec::with_capacity(6);
        if !self.select.is_empty() {
            // The grammar wants the star before everything else.
            let stars = self.select.iter().filter(|what| **what == Select::All);
            let others = self.select.iter().filter(|what| **what != Select::All);
            params.push(("$select", joined(stars.take(1).chain(others), ",")));
        }
        if let Some(filter) = &self.filter {
            params.push(("$where", filter.to_string()));
        }
        if !self.group.is_empty() {
            params.push(("$group", joined(self.group.iter(), ",")));
        }
        if !self.order.is_empty() {
            params.push(("$order", joined(self.order.iter().map(Ordered), ",")));
        }
        params.push(("$limit", self.limit.to_string()));
        if self.offset > 0 {
            params.push(("$offset", self.offset.to_string()));
        }
        params
    }
}

/// One column of `$order`.
struct Ordered<'a>(&'a (Column, bool));

impl Display for Ordered<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (column, descending) = self.0;
        write!(f, "{column} {}", if *descending { "desc" } else { "asc" })
    }
}

fn joined<T: Display>(parts: impl Iterator<Item = T>, between: &str) -> String {
    let mut text = String::new();
    for (at, part) in parts.enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        // Writing to a String does not fail.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{part}"));
    }
    text
}

/// Text in SoQL's quotes: a quote inside is doubled, and there is no other escape.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for (at, part) in self.0.split('\'').enumerate() {
            if at > 0 {
                f.write_str("''")?;
            }
            f.write_str(part)?;
        }
        f.write_str("'")
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => Quoted(text).fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
        }
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => column.fmt(f),
            Self::All => f.write_str("*"),
            Self::RowId => f.write_str(ROW_ID),
            Self::Count(alias) => write!(f, "count(*) as {alias}"),
            Self::CountDistinct(column, alias) => {
                write!(f, "count(distinct {column}) as {alias}")
            }
            Self::Sum(column, alias) => write!(f, "sum({column}) as {alias}"),
            Self::Min(column, alias) => write!(f, "min({column}) as {alias}"),
            Self::Max(column, alias) => write!(f, "max({column}) as {alias}"),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eq(column, literal) => write!(f, "{column} = {literal}"),
            // No value matches no row; `in ()` would be refused.
            Self::In(_, literals) if literals.is_empty() => f.write_str("1 = 0"),
            Self::In(column, literals) => {
                write!(f, "{column} in (")?;
                for (at, literal) in literals.iter().enumerate() {
                    write!(f, "{}{literal}", if at > 0 { "," } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Between(column, from, to) => write!(f, "{column} between {from} and {to}"),
            Self::StartsWith(column, text) => write!(f, "starts_with({column}, {})", Quoted(text)),
            Self::Gt(column, literal) => write!(f, "{column} > {literal}"),
            Self::Contains(column, text) => {
                write!(f, "{column} like {}", Quoted(&format!("%{text}%")))
            }
            Self::NotNull(column) => write!(f, "{column} is not null"),
            Self::Null(column) => write!(f, "{column} is null"),
            Self::And(parts) => combined(f, parts, " and ", "1 = 1"),
            Self::Or(parts) => combined(f, parts, " or ", "1 = 0"),
        }
    }
}

/// Parts in brackets where they are compound or hold an `and` of their own, so that no precedence is relied on.
fn combined(f: &mut Formatter<'_>, parts: &[Condition], word: &str, none: &str) -> fmt::Result {
    if parts.is_empty() {
        return f.write_str(none);
    }
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(word)?;
        }
        match part {
            Condition::And(_) | Condition::Or(_) | Condition::Between(..) if parts.len() > 1 => {
                write!(f, "({part})")?;
            }
            plain => plain.fmt(f)?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
