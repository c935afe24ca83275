//! A source that this deployment holds no credential or licence for: its entry says so, and nobody is asked.

use async_trait::async_trait;
use brownstone_domain::{SourceEntry, SourceStatus};
use tokio::time::Instant;

use crate::{Source, SourceInfo, Subject};

/// A registered source without a credential.
#[derive(Debug, Clone)]
pub struct GatedSource(SourceInfo);

impl GatedSource {
    /// The source that would stand here.
    pub const fn new(info: SourceInfo) -> Self {
        Self(info)
    }

    /// The listing source of a deployment that has no listing feed configured.
    pub fn listings() -> Self {
        Self(SourceInfo {
            key: "listings".to_owned(),
            title: "Listings".to_owned(),
            tells: "Homes for sale and for rent at the building, from a licensed feed.".to_owned(),
            publisher: "The deployment's listing feed".to_owned(),
            ..SourceInfo::default()
        })
    }
}

#[async_trait]
impl Source for GatedSource {
    fn info(&self) -> &SourceInfo {
        &self.0
    }

    fn gated(&self) -> bool {
        true
    }

    async fn fetch(&self, _: &Subject, _: Instant) -> SourceEntry {
        SourceEntry::without_data(SourceStatus::Gated)
    }
}
