//! Spans of requests under the names that collectors know.

use std::time::Duration;

use opentelemetry::{
    KeyValue, Value,
    trace::{SpanKind, Status},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};

/// Fields of a request's span, and their names in OpenTelemetry's conventions.
const NAMES: &[(&str, &str)] = &[
    ("method", "http.request.method"),
    ("route", "http.route"),
    ("status", "http.response.status_code"),
];

/// Hands spans on. One that knows its route is a server's: it is called by method and route, and failed where its status says so.
#[derive(Debug)]
pub(crate) struct Requests<E>(pub(crate) E);

impl<E: SpanExporter> SpanExporter for Requests<E> {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        self.0.export(batch.into_iter().map(told).collect())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn field<'a>(span: &'a SpanData, name: &str) -> Option<&'a Value> {
    let found = span.attributes.iter().find(|one| one.key.as_str() == name);
    found.map(|one| &one.value)
}

fn told(mut span: SpanData) -> SpanData {
    let (Some(method), Some(route)) = (field(&span, "method"), field(&span, "route")) else {
        return span;
    };
    span.name = format!("{method} {route}").into();
    span.span_kind = SpanKind::Server;
    let status = field(&span, "status").and_then(|value| value.as_str().parse::<i64>().ok());
    if status.is_some_and(|status| status >= 500) {
        span.status = Status::error("");
    }
    for one in &mut span.attributes {
        let Some((_, name)) = NAMES.iter().find(|(ours, _)| one.key.as_str() == *ours) else {
            continue;
        };
        // A number, whatever the field was recorded as.
        let number = (one.key.as_str() == "status").then_some(status).flatten();
        let value = number.map_or_else(|| one.value.clone(), Value::I64);
        *one = KeyValue::new(*name, value);
    }
    span
}
