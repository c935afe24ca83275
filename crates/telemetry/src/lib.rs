#![doc = include_str!("../README.md")]

mod requests;

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::{
    Layer,
    filter::{FilterExt as _, LevelFilter, filter_fn},
    registry::LookupSpan,
};

/// How the service is named where nobody named it.
const NAME: &str = "brownstone";

/// Spans of our crates have such a target.
const OURS: &str = "brownstone";

/// What a subscriber hands spans to.
pub type SpanLayer<S> = Box<dyn Layer<S> + Send + Sync>;

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("spans cannot be sent: {0}")]
pub struct TelemetryError(String);

/// What sends, until it is closed.
#[derive(Debug)]
pub struct Exporting(SdkTracerProvider);

impl Exporting {
    /// Sends what waits, and ends. Blocks for as long as the collector takes, ten seconds at most.
    ///
    /// # Errors
    /// Where the collector did not take it.
    pub fn close(&self) -> Result<(), TelemetryError> {
        let closed = self.0.shutdown();
        closed.map_err(|error| TelemetryError(error.to_string()))
    }
}

/// The layer of a subscriber that hands spans on, and what sends them; `None` where no collector is named or OpenTelemetry is switched off.
///
/// # Errors
/// An address that is none.
pub fn start<S>(
    endpoint: Option<&str>,
    version: &'static str,
) -> Result<Option<(SpanLayer<S>, Exporting)>, TelemetryError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let disabled =
        variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let named = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ]
    .iter()
    .any(|name| variable(name).is_some());
    if disabled || (endpoint.is_none() && !named) {
        return Ok(None);
    }
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary);
    if let Some(endpoint) = endpoint {
        exporter = exporter.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
    }
    let exporter = exporter
        .build()
        .map_err(|error| TelemetryError(error.to_string()))?;
    let mut resource = Resource::builder();
    if variable("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name(NAME);
    }
    let resource = resource.with_attribute(KeyValue::new("service.version", version));
    let provider = SdkTracerProvider::builder()
        .with_resource(resource.build())
        .with_batch_exporter(requests::Requests(exporter))
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer(NAME))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(is_ours).and(LevelFilter::DEBUG));
    Ok(Some((Box::new(layer), Exporting(provider))))
}

/// Spans alone: a line of the log may say more than a collector should hear.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with(OURS)
}
