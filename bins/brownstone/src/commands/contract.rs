//! `brownstone openapi`

use brownstone_http::openapi;

use super::say;
use crate::{
    clock,
    config::Config,
    parts::{self, Origin},
};

/// The document for a server of the defaults.
pub(crate) fn openapi(config: &Config, older: bool) -> anyhow::Result<()> {
    let clock = clock::clock(config)?;
    let city = parts::city(config, &clock, &Origin::Configured)?;
    let document = openapi::document(&city.registry.describe(), openapi::DEFAULT_BASE_URL);
    let document = match older {
        true => openapi::to_3_0(&document),
        false => document,
    };
    say(&serde_json::to_string_pretty(&document)?);
    Ok(())
}
