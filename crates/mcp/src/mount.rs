//! The endpoint: `/mcp`, beside the REST paths.

use std::sync::Arc;

use actix_web::{
    HttpMessage as _,
    dev::ServiceRequest,
    middleware::{Compress, Next, from_fn},
    web,
};
use brownstone_service::{Service, body::MAX_BODY_BYTES};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp_actix_web::transport::StreamableHttpService;

use crate::{
    guard,
    handler::{Handler, Identity},
};

/// Where the endpoint stands on the API host.
pub const PATH: &str = "/mcp";

/// A configuration that would leave the endpoint open to web pages of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    /// An empty list would switch the check off.
    #[error("no host is allowed for MCP: name at least one")]
    NoHost,
    /// The same.
    #[error("no origin is allowed for MCP: name at least one, with its scheme")]
    NoOrigin,
}

/// The endpoint, made once and mounted in every worker.
#[derive(Clone)]
pub struct Mcp {
    service: Service,
    bridge: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Mcp {
    /// The endpoint over a service. `hosts` are the names, with or without a port, under which clients reach it; `origins`
    /// (`scheme://host:port`, or `:*` for any port) are the web pages that may call it. A request without `Origin` passes.
    ///
    /// # Errors
    /// [`MountError`] for an empty list.
    pub fn new(
        service: Service,
        hosts: Vec<String>,
        origins: Vec<String>,
    ) -> Result<Self, MountError> {
        if hosts.is_empty() {
            return Err(MountError::NoHost);
        }
        if origins.is_empty() {
            return Err(MountError::NoOrigin);
        }
        let handler = Handler {
            service: service.clone(),
        };
        let bridge = StreamableHttpService::builder()
            .service_factory(Arc::new(move || Ok(handler.clone())))
            .session_manager(Arc::new(NeverSessionManager::default()))
            .stateful_mode(false)
            .json_response(true)
            .max_request_body_bytes(MAX_BODY_BYTES)
            .allowed_hosts(hosts)
            .allowed_origins(origins)
            .on_request_fn(|request, extensions| {
                if let Some(identity) = request.extensions().get::<Identity>() {
                    extensions.insert(identity.clone());
                }
            })
            .build();
        Ok(Self { service, bridge })
    }

    /// Registers the endpoint.
    pub fn configure(&self, config: &mut web::ServiceConfig) {
        let service = self.service.clone();
        let guarded = from_fn(move |request: ServiceRequest, next: Next<_>| {
            guard::guard(service.clone(), request, next)
        });
        config.service(
            self.bridge
                .clone()
                .scope_with_path(PATH)
                .wrap(guarded)
                .wrap(Compress::default()),
        );
    }
}
