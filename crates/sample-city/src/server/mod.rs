//! The loopback server.

mod faults;
mod flood;
mod geosearch;
mod listing_switches;
mod oidc;
mod rates;
mod rentcast;
mod reso;
mod resource;
mod switches;
mod views;

use std::{io, net::SocketAddr, time::Duration};

use actix_web::{
    App, HttpServer,
    dev::{ServerHandle, Service as _},
    http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue},
    middleware::Compress,
    web,
};

use crate::{Control, FaultKind, city::City};

/// A body a test may load.
const MAX_LOAD_BYTES: usize = 64 << 20;

pub use oidc::{CLIENT_ID as OIDC_CLIENT_ID, CLIENT_SECRET as OIDC_CLIENT_SECRET};
pub use rentcast::KEY as RENTCAST_KEY;
pub use reso::{
    CLIENT_ID as RESO_CLIENT_ID, CLIENT_SECRET as RESO_CLIENT_SECRET, TOKEN as RESO_TOKEN,
};

/// A running city. It ends with [`SampleCity::stop`], or with its runtime.
#[derive(Debug)]
pub struct SampleCity {
    address: SocketAddr,
    control: Control,
    handle: ServerHandle,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

impl SampleCity {
    /// Starts the made-up city. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address cannot be bound.
    pub async fn start(bind: SocketAddr) -> io::Result<Self> {
        Self::serve(bind, City::made_up())
    }

    /// Starts a city whose datasets are all there, and empty.
    ///
    /// # Errors
    ///
    /// The address cannot be bound.
    pub async fn start_empty(bind: SocketAddr) -> io::Result<Self> {
        Self::serve(bind, City::empty())
    }

    fn serve(bind: SocketAddr, city: City) -> io::Result<Self> {
        let control = Control::new(city);
        let shared = control.clone();
        let server = HttpServer::new(move || {
            let faults = shared.clone();
            App::new()
                .app_data(web::Data::new(shared.clone()))
                .app_data(web::JsonConfig::default().limit(MAX_LOAD_BYTES))
                .wrap(Compress::default())
                .wrap_fn(move |mut request, service| {
                    let meets = faults.meets(resource::dataset_of(request.path()));
                    only_gzip(request.headers_mut(), meets);
                    service.call(request)
                })
                .configure(resource::routes)
                .configure(views::routes)
                .configure(geosearch::routes)
                .configure(flood::routes)
                .configure(rates::routes)
                .configure(oidc::routes)
                .configure(reso::routes)
                .configure(rentcast::routes)
                .configure(listing_switches::routes)
                .configure(switches::routes)
        })
        .workers(2)
        // A compressed body is a second small write: it must not wait for the client's delayed acknowledgement of the first.
        .tcp_nodelay(true)
        // Longer than a client keeps an idle connection, so that none is reused while it ends.
        .keep_alive(Duration::from_secs(120))
        // A starved client is not an attacker here.
        .client_request_timeout(Duration::from_secs(60))
        .disable_signals()
        .shutdown_timeout(0)
        .bind(bind)?;
        let address = server.addrs().first().copied().unwrap_or(bind);
        let server = server.run();
        let handle = server.handle();
        Ok(Self {
            address,
            control,
            handle,
            task: tokio::spawn(server),
        })
    }

    /// The base of every upstream: `/resource`, `/api/views`, `/v2`, `/reso/odata` and `/rentcast/v1` stand below it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The switches.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Ends it; calls that still wait are cut.
    pub async fn stop(self) {
        self.handle.stop(false).await;
        if let Ok(Err(error)) = self.task.await {
            tracing::warn!(%error, "the sample city ended with an error");
        }
    }
}

/// The publisher compresses with gzip and nothing else. What drips or is cut is sent as it is, so that it drips.
fn only_gzip(headers: &mut HeaderMap, meets: Option<FaultKind>) {
    let accepts = (headers.get(ACCEPT_ENCODING))
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("gzip"));
    let plain = matches!(
        meets,
        Some(
            FaultKind::SlowDrip | FaultKind::CutBody | FaultKind::HugeBody | FaultKind::Disconnect
        )
    );
    let encoding = if accepts && !plain {
        "gzip"
    } else {
        "identity"
    };
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
}
