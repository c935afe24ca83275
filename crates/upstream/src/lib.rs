#![doc = include_str!("../README.md")]

pub mod breaker;
pub mod client;
pub mod config;
pub mod error;
pub mod metrics;
pub mod request;
mod retry;
#[cfg(test)]
mod testing;

pub use breaker::{BreakerState, BreakerView};
pub use client::{Response, Upstream};
pub use config::{BreakerConfig, ConfigError, RetryConfig, UpstreamConfig};
pub use error::UpstreamError;
pub use request::Request;
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use secrecy::SecretString;
pub use url::Url;
