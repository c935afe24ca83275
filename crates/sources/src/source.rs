//! A source of the report, whatever stands behind it.

use async_trait::async_trait;
use brownstone_domain::{MatchedBy, SourceEntry};
use tokio::time::Instant;

use crate::Subject;

/// One source: asked about a building, it gives the building's entry.
#[async_trait]
pub trait Source: Send + Sync {
    /// What the source is; the key of its entry stands here.
    fn info(&self) -> &SourceInfo;

    /// The key of its entry, `nyc_ecb`.
    fn key(&self) -> &str {
        &self.info().key
    }

    /// Whether this deployment lacks the credential or licence that the source needs. A gated source is never fetched.
    fn gated(&self) -> bool {
        false
    }

    /// Asks the publisher. It ends by `deadline`, and whatever goes wrong is the entry's status, not an error:
    /// `ok` and `not_found` are the publisher's own answers, all else is `error`.
    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry;
}

/// What a source is, for lists, documentation and the schema of its entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceInfo {
    /// Key in `sources`.
    pub key: String,
    /// Short name for people.
    pub title: String,
    /// What it tells about a building, one sentence.
    pub tells: String,
    /// The agency that publishes it.
    pub publisher: String,
    /// The datasets asked, the main one first.
    pub datasets: Vec<String>,
    /// The publisher's page.
    pub url: String,
    /// The keys of a building it can be asked by, in order of preference.
    pub matched_by: Vec<MatchedBy>,
    /// Which of a condominium's lots it wants.
    pub lot: LotKind,
    /// Days after which the publisher's own cadence makes it stale; `None` where it is published once or irregularly.
    pub cadence_days: Option<u32>,
    /// Columns of a record, in order.
    pub fields: Vec<FieldInfo>,
    /// Summary fields beside the general ones, in order.
    pub summary: Vec<FieldInfo>,
    /// Known traps of the data, and what is done about each.
    pub traps: Vec<String>,
    /// Whether it is asked before the others, since it takes longest.
    pub slow: bool,
}

/// A field of a record or of an entry's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldInfo {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: FieldKind,
    /// One sentence; empty for a publisher's column, which keeps the publisher's meaning.
    pub tells: String,
}

/// What a field holds in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Text as published.
    Text,
    /// A date as published.
    Date,
    /// Text that names something: never a number.
    Identifier,
    /// A number.
    Number,
    /// US dollars, a number.
    Money,
    /// `true` or `false`.
    Checkbox,
    /// A nested value.
    Json,
    /// A number of records, of ours: whole and never negative.
    Count,
    /// A number that we worked out, such as a sum or a distance.
    Figure,
    /// Values to counts.
    Counts,
}

/// Which of a condominium's lots a dataset knows. Elsewhere the three are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LotKind {
    /// The billing lot (7501 upward): the building.
    #[default]
    Billing,
    /// The unit lots (1001 to 6999): owners, bills, deeds.
    Unit,
    /// The lots the condominium was built on: zoning.
    Base,
    /// The billing lot and the lots it was built on: agencies that file a building under either.
    Building,
}
