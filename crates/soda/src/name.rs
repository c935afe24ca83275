//! Names that a query may hold: checked when they are made, so that no later step has to.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Text that is no name of the protocol. It comes from the catalogue, so it may be shown to whoever wrote that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Not four, dash, four.
    #[error("{0:?} is no dataset id: four lower-case letters or digits, a dash, four more")]
    NotADataset(String),
    /// Not a column name as the API spells it.
    #[error(
        "{0:?} is no column name: lower-case letters, digits and underscores, no digit first; or :id"
    )]
    NotAColumn(String),
}

/// Four, dash, four lower-case letters or digits.
///
/// ```
/// use brownstone_soda::DatasetId;
/// assert_eq!(DatasetId::new("6bgk-3dad").unwrap().as_str(), "6bgk-3dad");
/// assert!(DatasetId::new("6bgk-3dad.json?$limit=1").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DatasetId(Box<str>);

impl DatasetId {
    /// The dataset called `text`.
    ///
    /// # Errors
    /// [`QueryError::NotADataset`] for any other form.
    pub fn new(text: &str) -> Result<Self, QueryError> {
        let sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let fits = text.len() == 9
            && text
                .bytes()
                .enumerate()
                .all(|(at, b)| if at == 4 { b == b'-' } else { sign(b) });
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(QueryError::NotADataset(shortened(text)))
        }
    }

    /// The nine characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A column name as the API spells it: lower-case letters, digits, underscores; or `:id`.
///
/// ```
/// use brownstone_soda::Column;
/// assert!(Column::new("pre__filing_date").is_ok());
/// assert!(Column::new("bin' or '1'='1").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Column(Box<str>);

/// The row identifier's name.
pub const ROW_ID: &str = ":id";

/// Words of the language. A column of that name is written in backquotes, which the language has for it.
pub(crate) const RESERVED: &[&str] = &[
    "and", "as", "asc", "between", "by", "case", "desc", "distinct", "else", "end", "false",
    "first", "full", "group", "having", "hint", "in", "inner", "is", "join", "last", "lateral",
    "left", "like", "limit", "minus", "not", "null", "nulls", "offset", "on", "or", "order",
    "outer", "over", "right", "search", "select", "then", "true", "union", "when", "where",
    "within",
];

impl Column {
    /// The longest name: well above any that the city uses.
    pub const MAX_LEN: usize = 128;

    /// The column called `text`.
    ///
    /// # Errors
    /// [`QueryError::NotAColumn`] for anything but a field name of the API or `:id`.
    pub fn new(text: &str) -> Result<Self, QueryError> {
        let name = |text: &str| {
            !text.is_empty()
                && text.len() <= Self::MAX_LEN
                && !text.starts_with(|c: char| c.is_ascii_digit())
                && text
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        if text == ROW_ID || name(text) {
            Ok(Self(text.into()))
        } else {
            Err(QueryError::NotAColumn(shortened(text)))
        }
    }

    /// `:id`, the row's identifier. It changes when the publisher replaces the table: never store it.
    pub fn row_id() -> Self {
        Self(ROW_ID.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `:id`.
    pub fn is_row_id(&self) -> bool {
        &*self.0 == ROW_ID
    }
}

/// Enough of a bad name to find it, never a page of it.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

macro_rules! checked_text {
    ($($name:ident),*) => {$(
        impl FromStr for $name {
            type Err = QueryError;

            fn from_str(text: &str) -> Result<Self, QueryError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = QueryError;

            fn try_from(text: String) -> Result<Self, QueryError> {
                Self::new(&text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = QueryError;

            fn try_from(text: &str) -> Result<Self, QueryError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.into()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    )*};
}

checked_text!(DatasetId, Column);

impl Display for DatasetId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As a query writes it: in backquotes where the name is a word of the language.
impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if RESERVED.binary_search(&&*self.0).is_ok() {
            write!(f, "`{}`", self.0)
        } else {
            f.write_str(&self.0)
        }
    }
}
