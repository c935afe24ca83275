//! OData 4, as far as a RESO Web API server speaks it: entities in memory, and the query options over them.

mod evaluate;
mod fields;
mod filter;
mod lexer;
mod query;
#[cfg(test)]
mod tests;

pub(crate) use fields::{MEDIA, OPEN_HOUSE, PROPERTY, Resource, metadata};
pub(crate) use query::{Refusal, entity, page};

/// An entity: its fields by their names in the Data Dictionary.
pub(crate) type Entity = serde_json::Map<String, serde_json::Value>;
