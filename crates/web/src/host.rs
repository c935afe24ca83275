//! What the web host is made of; its routes and its listener.

use std::{net::TcpListener, sync::Arc};

use actix_web::{
    App, HttpRequest, HttpResponse,
    dev::ServerHandle,
    http::header,
    middleware::{Compress, from_fn},
    web,
};
use brownstone_accounts::{
    Accounts, RequestLog, UsageRecorder,
    sign_in::{SignIn, oidc::Oidc},
};
use brownstone_domain::{ErrorBody, ErrorCode};
use brownstone_edge::Limits;
use brownstone_service::Service;
use sha2::{Digest as _, Sha256};

use crate::{
    edge,
    page::Stop,
    pages::{self, reference::Reference},
};

/// Largest form.
pub(crate) const FORM_BYTES: usize = 64 * 1024;

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// The web host.
#[derive(Clone)]
pub struct Host {
    /// The pipeline and its operations.
    pub service: Service,
    /// Accounts and keys.
    pub accounts: Accounts,
    /// Passwords and sessions.
    pub sign_in: SignIn,
    /// By whom people sign in, beside passwords.
    pub oidc: Option<Oidc>,
    /// Counters of use.
    pub usage: Arc<UsageRecorder>,
    /// The newest requests of each account.
    pub requests: Arc<RequestLog>,
    /// The API's public address, without a slash at its end.
    pub base_url: String,
    /// The web host's own public address, without a slash at its end.
    pub web_url: String,
    /// The API reference, as its document has it.
    pub reference: Reference,
    /// Whether the records are invented.
    pub sample: bool,
}

impl Host {
    /// Whether browsers reach it over TLS: then cookies are for TLS alone.
    pub fn is_secure(&self) -> bool {
        self.web_url.starts_with("https://")
    }
}

/// Serves the web host on `listener` until the handle stops it. Must be called within a runtime.
///
/// # Errors
/// When the listener cannot be used.
pub fn serve(
    listener: TcpListener,
    host: Host,
    limits: &Limits,
    workers: usize,
) -> std::io::Result<(
    ServerHandle,
    impl Future<Output = std::io::Result<()>> + use<>,
)> {
    let secure = host.is_secure();
    brownstone_edge::serve(listener, limits, workers, move || {
        App::new()
            .wrap(Compress::default())
            .wrap(from_fn(move |request, next| {
                edge::edge(secure, request, next)
            }))
            .configure(|config| routes(config, &host))
    })
}

/// Registers every route; one setup for the server and for tests.
pub fn routes(config: &mut web::ServiceConfig, host: &Host) {
    config
        .app_data(web::Data::new(host.clone()))
        .app_data(web::PayloadConfig::new(FORM_BYTES))
        .route(
            &asset_path("style", STYLE, "css"),
            web::get().to(|| asset(STYLE, "text/css; charset=utf-8")),
        )
        .route(
            &asset_path("page", SCRIPT, "js"),
            web::get().to(|| asset(SCRIPT, "text/javascript; charset=utf-8")),
        )
        .route("/robots.txt", web::get().to(robots))
        .service(web::resource(["/v1", "/v1/{rest:.*}", "/mcp", "/mcp/{rest:.*}"]).to(elsewhere))
        .configure(pages::routes)
        .default_service(web::to(|req: HttpRequest| async move {
            Err::<HttpResponse, Stop>(Stop::not_found(&req))
        }));
}

/// The path of the style sheet. It changes with its content, so that it can be kept for good.
pub fn style_path() -> String {
    asset_path("style", STYLE, "css")
}

/// The path of the script.
pub fn script_path() -> String {
    asset_path("page", SCRIPT, "js")
}

fn asset_path(name: &str, content: &str, ending: &str) -> String {
    let sum: [u8; 32] = Sha256::digest(content.as_bytes()).into();
    let short = brownstone_accounts::sign_in::model::hex(sum.first_chunk::<6>().unwrap_or(&[0; 6]));
    format!("/assets/{name}-{short}.{ending}")
}

async fn asset(content: &'static str, kind: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(content)
}

async fn robots() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .body("User-agent: *\nDisallow: /property/\nDisallow: /dashboard\nDisallow: /support\nDisallow: /lookup\nDisallow: /search\n")
}

/// The API and MCP live on the other host.
async fn elsewhere(req: HttpRequest, host: web::Data<Host>) -> HttpResponse {
    HttpResponse::NotFound()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(ErrorBody {
            code: ErrorCode::NotFound,
            message: format!(
                "This is the web application host, which does not serve {}. The API lives at {}.",
                if req.path().starts_with("/mcp") {
                    "/mcp"
                } else {
                    "/v1/*"
                },
                host.base_url
            ),
            request_id: edge::request_id(&req),
        })
}
