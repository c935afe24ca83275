//! What is counted of the wire, and the listener where all metrics are read.

use std::{net::TcpListener, sync::Arc, time::Duration};

use actix_web::{App, HttpResponse, dev::ServerHandle, web};
use brownstone_edge::Limits;
use metrics::{Counter, Histogram, Unit, describe_counter, describe_histogram};

const RESPONSES: &str = "brownstone_http_responses_total";
const SECONDS: &str = "brownstone_http_request_seconds";

/// The exposition format that Prometheus reads.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Tells the recorder what each metric of this crate is.
pub fn describe() {
    describe_counter!(
        RESPONSES,
        Unit::Count,
        "Answers of the API host, MCP and paths for machines included, by class of status: 2xx, 3xx, 4xx, 5xx."
    );
    describe_histogram!(
        SECONDS,
        Unit::Seconds,
        "Time from a request's head to its answer's, API host."
    );
}

/// Handles for the path of every request.
#[derive(Clone)]
pub struct Wire {
    classes: [Counter; 4],
    seconds: Histogram,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            classes: ["2xx", "3xx", "4xx", "5xx"]
                .map(|class| metrics::counter!(RESPONSES, "class" => class)),
            seconds: metrics::histogram!(SECONDS),
        }
    }
}

impl Wire {
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        self.seconds.record(took);
        let class = usize::from(status / 100).wrapping_sub(2);
        if let Some(counter) = self.classes.get(class) {
            counter.increment(1);
        }
    }
}

/// Renders every metric as text.
pub type Render = Arc<dyn Fn() -> String + Send + Sync>;

/// Serves `GET /metrics` on `listener` until the handle stops it. No key: the listener is for the operator's own network.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve_metrics(
    listener: TcpListener,
    render: Render,
) -> std::io::Result<(
    ServerHandle,
    impl Future<Output = std::io::Result<()>> + use<>,
)> {
    let limits = Limits {
        connections: 64,
        ..Limits::default()
    };
    brownstone_edge::serve(listener, &limits, 1, move || {
        let render = Arc::clone(&render);
        App::new().route(
            "/metrics",
            web::get().to(move || {
                let text = render();
                async move { HttpResponse::Ok().content_type(TEXT).body(text) }
            }),
        )
    })
}
