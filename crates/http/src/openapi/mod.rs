//! The OpenAPI document: the domain's own types and tables, and the catalogue's fields, as one contract that machines can read.

mod components;
mod down;
mod examples;
mod operations;
pub mod published;
mod sources;
mod texts;

use brownstone_service::SourceInfo;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

pub use down::to_3_0;

/// The contract's version: the path prefix says the first number.
pub const VERSION: &str = "1.0.0";

/// Where a server of the defaults answers; in the committed document, which no deployment serves.
pub const DEFAULT_BASE_URL: &str = "http://127.0.0.1:8080";

/// The document in OpenAPI 3.1, for a deployment that answers at `base_url` and has these sources.
///
/// Listing sources stand in it whether they are configured or not, so that deployments differ in nothing but `servers`.
pub fn document(sources: &[SourceInfo], base_url: &str) -> Value {
    let mut schemas = components::schemas();
    sources::add(&mut schemas, sources);
    components::finish(&mut schemas);
    let paths = operations::paths(&schemas, sources);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Brownstone API",
            "version": VERSION,
            "summary": "What does the public record know about this New York City building?",
            "description": texts::ABOUT,
            "contact": {"name": "Support, on the deployment's web host"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url, "description": "The API host. The web host answers 404 for these paths."}],
        "security": [{"apiKey": []}],
        "tags": operations::tags(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": operations::failures(),
            "headers": operations::headers(),
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "svc_live_ or svc_test_, then 38 characters",
                    "description": texts::KEYS,
                },
            },
        },
    })
}

/// The document's bytes, made once, and what tells them from others.
#[derive(Debug, Clone)]
pub struct Ready {
    /// JSON.
    pub bytes: Bytes,
    /// The value of `ETag`, quotes included.
    pub etag: String,
}

impl Ready {
    /// The bytes of [`document`].
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn new(sources: &[SourceInfo], base_url: &str) -> Result<Self, serde_json::Error> {
        let bytes = serde_json::to_vec(&document(sources, base_url))?;
        let sum = Sha256::digest(&bytes);
        let mut etag = String::from("\"");
        for byte in sum.iter().take(16) {
            etag.push_str(&format!("{byte:02x}"));
        }
        etag.push('"');
        Ok(Self {
            bytes: bytes.into(),
            etag,
        })
    }
}

/// The object inside a value; an empty one for anything else.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// A reference to a schema of the document.
fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

#[cfg(test)]
mod tests;
