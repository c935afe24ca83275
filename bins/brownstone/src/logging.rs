//! Where the log goes, and with the feature `otel` the spans.

use anyhow::Context as _;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::config::{Config, Layers, Origin};

/// What libraries say unasked; a filter that names them hears them. One would write an error for each malformed request, so that a client
/// could fill a disk.
const HUSHED: &str = "actix_http=off,actix_server=warn";

/// What must be closed at the end, so that the last spans are sent.
pub(crate) struct Logging {
    #[cfg(feature = "otel")]
    exporting: Option<brownstone_telemetry::Exporting>,
}

/// Logs go to standard error: standard output is for what was asked. Spans are the server's alone (`quiet` is any other command).
///
/// # Errors
/// A setting that cannot be met.
pub(crate) fn start(layers: &Layers, config: &Config, quiet: bool) -> anyhow::Result<Logging> {
    let filter = match (quiet, layers.origin("log")) {
        (true, Origin::Default) => "error",
        _ => layers.get("log"),
    };
    let filter = EnvFilter::try_new(format!("{HUSHED},{filter}"))
        .with_context(|| format!("log is {filter:?}"))?;
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match layers.get("log_format") {
        "pretty" => lines.with_ansi(false).boxed(),
        "json" => lines.json().boxed(),
        other => anyhow::bail!("log_format is {other:?}; pretty or json is expected"),
    };
    start_on(lines, filter, config, quiet)
}

#[cfg(feature = "otel")]
fn start_on(
    lines: Box<dyn Layer<Registry> + Send + Sync>,
    filter: EnvFilter,
    config: &Config,
    quiet: bool,
) -> anyhow::Result<Logging> {
    let (layer, exporting) = if quiet {
        (None, None)
    } else {
        let endpoint = config.otlp_endpoint.as_ref().map(url::Url::as_str);
        brownstone_telemetry::start(endpoint, env!("CARGO_PKG_VERSION"))
            .context("otlp_endpoint")?
            .unzip()
    };
    // Each with a filter of its own: what the log leaves out is still a span.
    let layers = vec![Some(lines.with_filter(filter).boxed()), layer];
    let layers: Vec<_> = layers.into_iter().flatten().collect();
    tracing_subscriber::registry().with(layers).init();
    Ok(Logging { exporting })
}

#[cfg(not(feature = "otel"))]
fn start_on(
    lines: Box<dyn Layer<Registry> + Send + Sync>,
    filter: EnvFilter,
    config: &Config,
    quiet: bool,
) -> anyhow::Result<Logging> {
    anyhow::ensure!(
        quiet || config.otlp_endpoint.is_none(),
        "otlp_endpoint is set, and this program was built without the feature otel"
    );
    tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .init();
    Ok(Logging {})
}

impl Logging {
    /// Sends what waits.
    pub(crate) async fn close(self) {
        #[cfg(feature = "otel")]
        if let Some(exporting) = self.exporting {
            // It waits for the collector.
            match tokio::task::spawn_blocking(move || exporting.close()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the last spans were not sent"),
                Err(error) => tracing::warn!(%error, "the last spans were not sent"),
            }
        }
    }
}
