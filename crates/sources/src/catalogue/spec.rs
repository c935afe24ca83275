//! A catalogue file as it is written. Unknown keys are errors.

use serde::Deserialize;

use crate::LotKind;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawEntry {
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) tells: String,
    pub(crate) publisher: String,
    pub(crate) dataset: String,
    #[serde(default)]
    pub(crate) host: Host,
    /// Further datasets that a module asks, by their role.
    #[serde(default)]
    pub(crate) also: Vec<RawAlso>,
    /// The publisher's page; by default the dataset's own.
    pub(crate) page: Option<String>,
    /// The Rust module that runs it; absent for the generic source.
    pub(crate) module: Option<String>,
    pub(crate) cadence_days: Option<u32>,
    #[serde(default)]
    pub(crate) slow: bool,
    #[serde(default)]
    pub(crate) lot: LotKind,
    #[serde(default)]
    pub(crate) fetch: Fetch,
    #[serde(default)]
    pub(crate) row_key: Vec<String>,
    /// Rows that are no business of the source are left out by the publisher.
    #[serde(default)]
    pub(crate) only: Vec<RawOnly>,
    /// Only rows with a date that can be believed are asked for: the dataset cannot be searched without.
    #[serde(default)]
    pub(crate) bounded: bool,
    /// Where extracts are stacked: the column that tells them apart. Only the newest is kept.
    pub(crate) latest_by: Option<String>,
    /// Where a lot's rows may be of several condominiums: the column that tells them apart.
    pub(crate) condominium: Option<String>,
    /// Columns that are not shown: shapes far larger than the rest of the row.
    #[serde(default)]
    pub(crate) leave_out: Vec<String>,
    /// Whether only the columns named here are shown, since others hold people's homes.
    #[serde(default)]
    pub(crate) private: bool,
    #[serde(default, rename = "match")]
    pub(crate) matches: Vec<RawMatch>,
    #[serde(default)]
    pub(crate) order: Vec<RawOrder>,
    /// `name` or `name: kind`.
    pub(crate) columns: Vec<String>,
    #[serde(default)]
    pub(crate) summary: Vec<RawSummary>,
    #[serde(default)]
    pub(crate) child: Vec<RawChild>,
    #[serde(default)]
    pub(crate) lookup: Vec<RawLookup>,
    #[serde(default)]
    pub(crate) traps: Vec<String>,
}

/// Which SODA host has the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Host {
    /// `data.cityofnewyork.us`.
    #[default]
    City,
    /// `data.ny.gov`.
    State,
}

/// How the rows of a building are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fetch {
    /// The publisher sorts: the newest are asked for, and counts where there are more.
    #[default]
    Newest,
    /// The publisher cannot sort (text dates), or the rule needs every row: all are fetched and sorted here.
    All,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAlso {
    pub(crate) role: String,
    pub(crate) dataset: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawOnly {
    pub(crate) column: String,
    #[serde(rename = "in")]
    pub(crate) one_of: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMatch {
    pub(crate) columns: Vec<RawPart>,
    /// Whether rows that are a building's may name its lot alone: the BIN is absent or a placeholder.
    #[serde(default)]
    pub(crate) gaps: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPart {
    pub(crate) column: String,
    pub(crate) part: Part,
    /// Type of the column in the API.
    #[serde(default, rename = "type")]
    pub(crate) literal: LiteralType,
    /// Zero-padded widths in use, all asked for; 0 is unpadded.
    #[serde(default)]
    pub(crate) widths: Vec<usize>,
    /// How the borough or the BBL is written.
    #[serde(default)]
    pub(crate) form: Form,
    /// Whether the column holds more text behind the value.
    #[serde(default)]
    pub(crate) starts_with: bool,
    /// Whether the column lists several values, this one among them.
    #[serde(default)]
    pub(crate) listed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Bin,
    Bbl,
    Borough,
    Block,
    Lot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LiteralType {
    #[default]
    Text,
    Number,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// A borough as its digit, a BBL as ten digits.
    #[default]
    Digits,
    /// `STATEN ISLAND`.
    NameUpper,
    /// `Staten Island`.
    NameTitle,
    /// `STATEN IS`, the other names in full.
    NameShort,
    /// `SI`.
    Letters,
    /// `1-00835-0041`.
    Dashed,
    /// `1` or `MANHATTAN`: the publisher changed from one to the other.
    DigitOrName,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawOrder {
    pub(crate) column: String,
    pub(crate) by: OrderBy,
    /// How a date is written; only for dates.
    pub(crate) layout: Option<Layout>,
    #[serde(default = "yes")]
    pub(crate) descending: bool,
    /// The oldest year that is believed.
    #[serde(default = "first_year")]
    pub(crate) from_year: i32,
    /// How many days ahead of today a date is believed.
    #[serde(default = "tomorrow")]
    pub(crate) days_ahead: u16,
    /// Whether the column's name is known from hearsay: without it the order is unknown, which is no fault.
    #[serde(default)]
    pub(crate) doubtful: bool,
}

/// New York has older buildings, but no older record in these sets.
const fn first_year() -> i32 {
    1900
}

/// New York's day may be one behind or, for a publisher ahead of its own clock, one before UTC's.
const fn tomorrow() -> u16 {
    1
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderBy {
    Date,
    Number,
    Text,
}

/// How a dataset writes its dates, as far as a condition must write them too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Layout {
    /// `YYYYMMDD`, text.
    Compact,
    /// A timestamp, or ISO text.
    Iso,
    /// Anything else: text order is not time order.
    Mixed,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSummary {
    pub(crate) name: String,
    pub(crate) of: SummaryOf,
    pub(crate) tells: String,
    pub(crate) column: Option<String>,
    /// `count_by`: the value up to this text.
    pub(crate) upto: Option<String>,
    #[serde(default, rename = "where")]
    pub(crate) conditions: Vec<RawWhere>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SummaryOf {
    Total,
    Truncated,
    Count,
    CountBy,
    Sum,
    Distinct,
    Newest,
    Oldest,
    First,
    Any,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawWhere {
    pub(crate) column: String,
    #[serde(rename = "in")]
    pub(crate) one_of: Option<Vec<String>>,
    pub(crate) not_in: Option<Vec<String>>,
    pub(crate) starts_with: Option<Vec<String>>,
    pub(crate) contains: Option<String>,
    pub(crate) lacks: Option<String>,
    pub(crate) null: Option<bool>,
    /// Whether the date is today or later.
    pub(crate) to_come: Option<bool>,
    /// Whether it is a number of at least this much.
    pub(crate) at_least: Option<i64>,
    /// Whether the date is in the newest fiscal year (July to June) of all of the building's.
    pub(crate) newest_fiscal_year: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawChild {
    pub(crate) field: String,
    pub(crate) tells: String,
    pub(crate) dataset: String,
    /// Column of the record.
    pub(crate) parent: String,
    /// Column of the child, and its type in the API.
    pub(crate) column: String,
    #[serde(default, rename = "type")]
    pub(crate) literal: LiteralType,
    pub(crate) order: Option<String>,
    pub(crate) columns: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawLookup {
    pub(crate) field: String,
    pub(crate) tells: String,
    /// Column of the record that holds the code.
    pub(crate) column: String,
    pub(crate) dataset: String,
    /// Columns of the code table.
    pub(crate) code: String,
    pub(crate) text: String,
}
