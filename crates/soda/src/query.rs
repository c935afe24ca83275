//! A query, built from parts that cannot carry an injection: column names are checked, literals are quoted.

/// Four, dash, four lower-case letters or digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DatasetId(Box<str>);

/// A column name as the API spells it: lower-case letters, digits, underscores; or `:id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column(Box<str>);

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
    /// `column > literal`
    Gt(Column, Literal),
    /// `column is not null`
    NotNull(Column),
    /// All of them.
    And(Vec<Condition>),
    /// Any of them.
    Or(Vec<Condition>),
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

/// A query of one dataset.
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
