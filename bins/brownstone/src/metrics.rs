//! The metrics: the recorder behind every counter, the page that lists them, the listener where they are read.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::TcpListener,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use brownstone_http::metrics::Render;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::config::{Config, Origin};

/// Upper bounds of every histogram, in seconds: from a warm lookup to a call's deadline.
const BUCKETS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 20.0,
];

/// How often what histograms took in is counted up; it lies in memory till then.
const UPKEEP: Duration = Duration::from_secs(5);

/// Tells the recorder in force what each metric is.
fn describe() {
    brownstone_http::metrics::describe();
    brownstone_service::metrics::describe();
    brownstone_report_cache::metrics::describe();
    brownstone_sources::metrics::describe();
    brownstone_upstream::metrics::describe();
}

/// Starts the count. To be called before any part is made: a handle taken earlier counts nothing.
pub(crate) fn start() -> anyhow::Result<PrometheusHandle> {
    let recorder = PrometheusBuilder::new()
        .set_buckets(&BUCKETS)?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("the metrics are recorded already")?;
    describe();
    let upkeep = handle.clone();
    tokio::spawn(async move {
        let mut next = tokio::time::interval(UPKEEP);
        loop {
            next.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}

/// Opens the listener. One that is nobody's choice is done without where another program has its port: a Prometheus of
/// this machine listens on the same by default.
pub(crate) fn listen(config: &Config) -> anyhow::Result<Option<TcpListener>> {
    match TcpListener::bind(config.metrics_addr) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if config.metrics_addr_origin == Origin::Default => {
            tracing::warn!(
                %error,
                "metrics cannot be read: {} is taken; set metrics_addr",
                config.metrics_addr
            );
            Ok(None)
        }
        Err(error) => Err(error)
            .with_context(|| format!("the metrics cannot be served on {}", config.metrics_addr)),
    }
}

/// The text of all metrics, after `observe` has set what is only known when it is asked for.
pub(crate) fn render(
    handle: PrometheusHandle,
    observe: impl Fn() + Send + Sync + 'static,
) -> Render {
    Arc::new(move || {
        observe();
        handle.render()
    })
}

/// The page that lists them all.
pub(crate) fn page() -> String {
    let list = List::default();
    metrics::with_local_recorder(&list, describe);
    let mut page = String::from(
        "# Metrics\n\n\
         Read at `GET /metrics` on `BROWNSTONE_METRICS_ADDR`, in the text format of Prometheus. Times are histograms in seconds, with the\n\
         suffixes `_bucket`, `_sum` and `_count`. Counters start at zero with the process. No label holds an account, a key or an address.\n\n\
         This page is printed by `brownstone metrics`.\n\n\
         | metric | kind | what it is |\n|---|---|---|\n",
    );
    let entries = list.0.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, (kind, tells)) in entries.iter() {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| `{name}` | {kind} | {tells} |");
    }
    page
}

/// A recorder that keeps what it is told about metrics, and counts nothing.
#[derive(Default)]
struct List(Mutex<BTreeMap<String, (&'static str, String)>>);

impl List {
    fn add(&self, kind: &'static str, name: &KeyName, tells: &SharedString) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(name.as_str().to_owned(), (kind, tells.to_string()));
    }
}

impl Recorder for List {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, tells: SharedString) {
        self.add("counter", &name, &tells);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, tells: SharedString) {
        self.add("gauge", &name, &tells);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, tells: SharedString) {
        self.add("histogram", &name, &tells);
    }

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
