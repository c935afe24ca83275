//! Prints the page of all sources: `cargo run -p brownstone-sources --example sources_page > docs/sources.md`.
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use async_trait::async_trait;
use brownstone_domain::SystemClock;
use brownstone_soda::{DatasetId, Metadata, Query, Rows, Soda, SodaError};
use brownstone_sources::{Deps, Publisher, catalogue, page};
use tokio::time::Instant;

/// Nobody is asked to print a page.
struct Nobody;

#[async_trait]
impl Soda for Nobody {
    async fn rows(&self, _: &Query, _: Instant) -> Result<Rows, SodaError> {
        Err(SodaError::Unavailable("nobody is asked".to_owned()))
    }

    async fn metadata(&self, _: &DatasetId, _: Instant) -> Result<Metadata, SodaError> {
        Err(SodaError::Unavailable("nobody is asked".to_owned()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let publisher = Publisher::new(Arc::new(Nobody));
    let registry = catalogue(Deps {
        city: publisher.clone(),
        state: publisher,
        clock: Arc::new(SystemClock),
    })?;
    print!("{}", page::markdown(&registry.describe()));
    Ok(())
}
